/*
 * preallocated.c - llm.c's activations (train_gpt2.cu, fill_in_activation_sizes).
 *
 * Every result that backward reads has its own place: the sum of embeddings,
 * of each layer the norms (unless recomputed), packed qkv, attention and its
 * statistics, the residual sums, the MLP's hidden layer before and after the
 * activation (unless recomputed).  Projections back into the residual stream
 * are written over scratch.  Logits share their place with the widest scratch.
 * `checkpoint selective` recomputes the activation (llm.c -r 1), `full` the
 * norms as well (-r 2).
 */
#include "graph/preallocated.h"

#include <math.h>
#include <string.h>

#include "graph/builder.h"

static bool is(const struct mfu_operation *op, const char *primitive)
{
    return strcmp(op->primitive->name, primitive) == 0;
}

/* Whether the only reader of op `i` adds it to the residual stream. */
static bool only_added(const struct mfu_builder *s, int i)
{
    const struct mfu_model *m = s->config->model;

    for (int k = i + 1; k < m->n_ops; k++) {
        if (s->left_out[k])
            continue;
        for (int j = 0; j < m->ops[k].n_in; j++)
            if (m->ops[k].in[j] == i
                || (is(&s->operations[m->ops[k].in[j] > 0 ? m->ops[k].in[j] : 0], "dropout")
                    && m->ops[k].in[j] == i + 1))
                return is(&s->operations[k], "add") || is(&s->operations[k], "dropout");
    }
    return false;
}

/* Whether op `i` is only a factor of a product. */
static bool gated(const struct mfu_builder *s, int i)
{
    const struct mfu_model *m = s->config->model;

    for (int k = i + 1; k < m->n_ops; k++)
        for (int j = 0; j < m->ops[k].n_in; j++)
            if (m->ops[k].in[j] == i)
                return is(&s->operations[k], "multiply");
    return false;
}

static double larger(struct mfu_builder *s, double a, double b)
{
    return mfu_compare(s, a, b) > 0 ? a : b;
}

void mfu_preallocate(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    const struct mfu_config *c = s->config;
    const struct mfu_model *m = c->model;
    double e = mfu_type_bytes[s->numerics.compute], n = c->tokens;
    bool fused = mfu_attentions[c->attention].fused;
    double per_token = 0, widest = 0, hidden = 0, shared = 0, embedded = 0, residual = 0;

    for (int k = 0; k < m->n_sections; k++) {
        const struct mfu_model_section *sec = &m->sections[k];
        double times = sec->repeat ? mfu_expression_eval(sec->repeat, c->dim) : 1;
        double own = 0;

        for (int i = sec->first; i < sec->first + sec->count; i++) {
            const struct mfu_operation *op = &s->operations[i];
            bool recomputable = sec->repeat != NULL;

            if (s->left_out[i])
                continue;
            if (is(op, "embedding")) {
                embedded = e * op->out_width;
                residual = op->out_width;
            } else if (is(op, "norm")) {
                own += 8 + (recomputable && mfu_checkpoints[c->checkpoint].recomputes_all ? 0 : e * op->out_width);
            } else if (is(op, "linear") && sec->name == s->logits_section && op->out_width == s->logits_width) {
                widest = larger(s, widest, op->out_width);
            } else if (is(op, "linear")) { /* rotary works in place */
                widest =
                    larger(s, widest, op->out_width != residual && !only_added(s, i) && !hidden ? op->out_width : 0);
                own += only_added(s, i) ? 0 : e * op->out_width;
            } else if (is(op, "activation") && i + 1 < m->n_ops && gated(s, i)) {
                continue; /* one kernel with the gate's product */
            } else if (is(op, "activation") || is(op, "multiply")) {
                hidden = fmax(hidden, op->out_width);
                if (recomputable && mfu_checkpoints[c->checkpoint].recomputes)
                    shared = fmax(shared, e * op->out_width);
                else
                    own += e * op->out_width;
            } else if (is(op, "attention")) {
                own += e * op->out_width + (fused ? 4 * op->attribute[0] : e * op->attribute[0] * c->seq);
                if (!fused)
                    widest = larger(s, widest, op->attribute[0] * c->seq);
            } else if (is(op, "add") && recomputable) {
                own += e * op->out_width;
            } else if (is(op, "loss")) {
                own += 4;
            }
        }
        per_token += times * own;
    }
    per_token += embedded + shared + e * widest + e * (hidden + residual);
    p->constant_bytes[MFU_PART_ACTIVATIONS] = n * (per_token - e * widest);
    p->constant_bytes[MFU_PART_LOGITS_LOSS] = n * e * widest;
    p->constant_bytes[MFU_PART_WORKSPACE] = p->next_batch_bytes = 0;
    for (int t = 0; t < p->n_tensors; t++)
        p->tensors[t].bytes = 0;
    for (int i = 0; i < p->n_works; i++)
        p->works[i]->temporary_bytes = 0;
}
