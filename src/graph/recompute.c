/*
 * recompute.c - what checkpointing runs again in backward: a layer as a whole,
 * or single operations of it.
 */
#include "graph/recompute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/builder_private.h"
#include "scenario/setting.h"

/* Whether checkpoint names single operations of a layer here. */
static bool recomputes_operations(const struct mfu_builder *s)
{
    const struct mfu_checkpoint_row *row = &mfu_checkpoints[s->config->checkpoint];

    return s->runtime->recompute_ops || (s->runtime->recompute_attention && row->keeps_products && !row->by_budget);
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

/* ---- a budget --------------------------------------------------------------- */

/* A set of choices that no other one beats: with fewer bytes none has its value. */
struct choice {
    double bytes, value;
    uint64_t members;
};

/* Sets that are looked at, at most; layers have a few sizes, and so a few dozen. */
#define MOST_SETS 512

static int by_bytes(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;

    return x->bytes != y->bytes ? (x->bytes > y->bytes) - (x->bytes < y->bytes)
                                : (x->value < y->value) - (x->value > y->value);
}

/* Sets are extended choice by choice, and those that are beaten dropped (Nemhauser and Ullmann). */
uint64_t mfu_keep_most_value(const double *bytes, const double *value, int n, double room)
{
    struct choice sets[2 * MOST_SETS] = {{0}};
    int n_sets = 1;

    for (int i = 0; i < n && i < MFU_MOST_CHOICES; i++) {
        int all = n_sets, best = 0;

        for (int k = 0; k < n_sets; k++)
            if (value[i] > 0 && sets[k].bytes + bytes[i] <= room)
                sets[all++] = (struct choice){sets[k].bytes + bytes[i], sets[k].value + value[i],
                                              sets[k].members | (uint64_t)1 << i};
        qsort(sets, (size_t)all, sizeof *sets, by_bytes);
        for (int k = 1; k < all; k++)
            if (sets[k].value > sets[best].value)
                sets[++best] = sets[k];
        n_sets = best + 1;
        while (n_sets > MOST_SETS) { /* every second, the best among them */
            for (int k = 0; 2 * k < n_sets; k++)
                sets[(n_sets - 1) / 2 - k] = sets[n_sets - 1 - 2 * k];
            n_sets = (n_sets + 1) / 2;
        }
    }
    return sets[n_sets - 1].members;
}

/* What a layer keeps without checkpointing, beside its input. */
static double saved_bytes(const struct mfu_builder *s, const struct mfu_layer *st)
{
    const struct mfu_program *p = s->program;
    int first = p->segments[p->n_segments - 1].first;
    double bytes = 0;

    for (int t = 1; t < p->n_tensors; t++) {
        bool saved = false;

        if (p->tensors[t].born < first || p->tensors[t].part != MFU_PART_ACTIVATIONS)
            continue;

        for (int i = st->first_node; i < st->first_node + st->n_nodes && !saved; i++)
            for (int k = 0; k < s->nodes[i].n_saved; k++)
                saved |= s->nodes[i].saved[k] != MFU_NO_VIEW && p->views[s->nodes[i].saved[k]].tensor == t;
        bytes += saved ? p->tensors[t].bytes : 0;
    }
    return bytes;
}

void mfu_choose_kept(struct mfu_builder *s, const struct mfu_layer *st)
{
    const struct mfu_program *p = s->program;
    double bytes[MFU_MOST_CHOICES], value[MFU_MOST_CHOICES], room;
    int last = mfu_last_saver(s, st), n = 0, before = -1;
    uint64_t members;

    if (!s->selective || !mfu_checkpoints[s->config->checkpoint].by_budget || s->failed)
        return;
    room = s->config->setting[MFU_S_CHECKPOINT_BUDGET] * saved_bytes(s, st);
    for (int i = st->first_kept; i < s->n_kept; i++) {
        const struct mfu_view *v = &p->views[s->kept[i].view];
        const struct mfu_kernel *k = &p->launches[v->producer].kernel;

        if (v->producer != before) { /* attention has two results */
            if (n == MFU_MOST_CHOICES)
                break;
            before = v->producer;
            bytes[n] = 0;
            value[n++] = s->kept[i].node < last || s->runtime->half_weights ? mfu_kernel_counted_flops(k) : 0;
        }
        if (n > 0)
            bytes[n - 1] += p->tensors[v->tensor].bytes;
    }
    members = mfu_keep_most_value(bytes, value, n, room);
    n = 0;
    before = -1;
    for (int i = st->first_kept; i < s->n_kept; i++) {
        int producer = p->views[s->kept[i].view].producer;

        n += n == 0 || producer != before;
        before = producer;
        if (n > MFU_MOST_CHOICES || !(members >> (n - 1) & 1))
            s->kept[i].view = MFU_NO_VIEW;
    }
}
