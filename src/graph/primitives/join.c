/*
 * join - the tokens of several inputs behind one another in each sequence: text and image, which attend together.
 *
 * `extra` learned tokens stand before them: a class token behind a convolutional network.
 * The gradient of a part is a look at that of the whole, of which whoever multiplies by it makes a copy.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { EXTRA };

static struct mfu_weights params(const struct mfu_operation *op)
{
    double n = op->attribute[EXTRA] * op->in_width[0];

    return (struct mfu_weights){.weight = n, .active = n};
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int in[MFU_INPUTS] = {0};
    double rows = s->config->batch * n->op->attribute[EXTRA];

    for (int i = 0; i < n->source->n_in; i++) {
        in[i] = mfu_node_input(s, n, i);
        rows += mfu_view_rows(s, in[i]);
    }
    n->out = mfu_emit_laid(s, "cat", 1, rows, mfu_view_columns(s, in[0]), n->source->n_in, in);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int g = n->gradient;
    double extra = n->op->attribute[EXTRA];

    if (extra > 0 && mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0,
                           mfu_emit_columns_sum(s, "wgrad",
                                                mfu_view_slice(s, g, s->config->batch, extra * n->op->in_width[0]),
                                                extra * n->op->in_width[0], s->numerics.weight));

    for (int i = n->source->n_in - 1; i >= 0; i--) {
        int x = mfu_node_input(s, n, i);

        if (mfu_wants_gradient(s, n, i))
            mfu_grad_add(s, n, i, mfu_emit_laid(s, "grad", 1, mfu_view_rows(s, x), mfu_view_columns(s, x), 1, &g));
    }
}

const struct mfu_primitive mfu_primitive_join = {
    .name = "join",
    .summary = "tokens of several inputs behind one another in each sequence",
    .attributes = {[EXTRA] = {"extra", "0", NULL, "learned tokens before them"}},
    .inputs = {1, MFU_INPUTS},
    .params = params,
    .forward = forward,
    .backward = backward,
};
