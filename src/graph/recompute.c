/*
 * recompute.c - what checkpointing runs again in backward: a layer as a whole,
 * or single operations of it.
 */
#include "graph/recompute.h"

#include "graph/builder_private.h"
#include "scenario/setting.h"

/* Whether checkpoint names single operations of a layer here. */
static bool recomputes_operations(const struct mfu_builder *s)
{
    return s->runtime->recompute_ops
        || (s->runtime->recompute_attention && mfu_checkpoints[s->config->checkpoint].keeps_products);
}

/* Whether backward runs a stretch again as a whole, but for what was kept. */
bool mfu_layer_recomputed(const struct mfu_builder *s, const struct mfu_layer *st)
{
    return st->section->repeat && mfu_checkpoints[s->config->checkpoint].recomputes && !recomputes_operations(s);
}

/* llm.c's -r 1 (selective) computes the activation again, -r 2 (full) the norms
 * as well; Megatron's selective recomputation is that of attention. */
static bool recomputed_alone(const struct mfu_builder *s, const struct mfu_layer *st, const struct mfu_node *n)
{
    unsigned what = n->op->primitive->traits;

    if (!st->section->repeat || n->again || !mfu_checkpoints[s->config->checkpoint].recomputes
        || !recomputes_operations(s))
        return false;
    if (s->runtime->recompute_attention)
        return (what & MFU_MIXES_ROWS) != 0;
    return (what & MFU_CHEAP) != 0
        || ((what & MFU_BY_ROW) != 0 && mfu_checkpoints[s->config->checkpoint].recomputes_all);
}

/* In llm.c by a kernel of its own; operations that saved the old result read the new one. */
static void compute_again(struct mfu_builder *s, const struct mfu_layer *st, int node)
{
    struct mfu_node *n = &s->nodes[node];
    int old = n->out, first = s->program->n_launches;

    n->again = true;
    for (int k = 0; k < n->source->n_in; k++)
        if (n->in[k] >= st->first_node && recomputed_alone(s, st, &s->nodes[n->in[k]]))
            compute_again(s, st, n->in[k]);
    s->node = node;
    s->recomputing = true;
    n->n_saved = 0;
    n->op->primitive->forward(s, node);
    s->recomputing = false;
    for (int i = first; i < s->program->n_launches && s->runtime->recompute_ops; i++)
        s->program->launches[i].fusion = MFU_ALONE;
    for (int i = st->first_node; i < st->first_node + st->n_nodes; i++)
        for (int k = 0; k < s->nodes[i].n_saved; k++)
            if (s->nodes[i].saved[k] == old)
                s->nodes[i].saved[k] = n->out;
}

/* What backward of a node reads and forward has not kept: of llm.c its inputs; of
 * attention what is within, since the next operation keeps the result. */
void mfu_compute_missing(struct mfu_builder *s, const struct mfu_layer *st, int node)
{
    const struct mfu_node *n = &s->nodes[node];

    if (!recomputes_operations(s))
        return;
    if (s->runtime->recompute_attention && recomputed_alone(s, st, n))
        compute_again(s, st, node);
    for (int i = st->first_node; i < node && s->runtime->recompute_ops; i++)
        for (int k = 0; k < n->n_saved; k++)
            if (n->saved[k] == s->nodes[i].out && recomputed_alone(s, st, &s->nodes[i]))
                compute_again(s, st, i);
}

/* torch's checkpoint stops recomputing at the last tensor that was saved. */
int mfu_last_saver(const struct mfu_builder *s, const struct mfu_layer *st)
{
    int last = st->first_node + st->n_nodes - 1;

    if (s->runtime->half_weights)
        return last; /* Megatron runs the whole layer again */
    while (last > st->first_node && s->nodes[last].n_saved == 0)
        last--;
    return last;
}
