/*
 * join - the tokens of several inputs behind one another in each sequence: text and image, which attend together.
 *
 * `extra` learned tokens stand before them: a class token behind a convolutional network.
 * The gradient of a part is a look at that of the whole, of which whoever multiplies by it makes a copy.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { EXTRA };

static double shape(const struct mfu_operation *op)
{
    return op->in_width[0];
}

static struct mfu_weights params(const struct mfu_operation *op)
{
    double n = op->attribute[EXTRA] * op->in_width[0];

    return (struct mfu_weights){.weight = n, .active = n};
}

static int copy(struct mfu_builder *s, const char *suffix, int n, const int *in, int out)
{
    mfu_emit(
        s,
        &(struct mfu_emission){.suffix = suffix, .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR, .fusion = MFU_MAP},
        n, in, 1, &out);
    return out;
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int in[MFU_INPUTS] = {0};
    double rows = s->config->batch * n->op->attribute[EXTRA];

    for (int i = 0; i < n->source->n_in; i++) {
        in[i] = mfu_node_input(s, n, i);
        rows += mfu_view_rows(s, in[i]);
    }
    n->out = mfu_tensor_new(s, rows, mfu_view_columns(s, in[0]), mfu_view_type(s, in[0]), MFU_PART_ACTIVATIONS);
    copy(s, "cat", n->source->n_in, in, n->out);
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int g = n->gradient;
    double extra = n->op->attribute[EXTRA];

    if (extra > 0 && mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0,
                           mfu_emit_columns_sum(s, "wgrad",
                                                mfu_view_slice(s, g, s->config->batch, extra * n->op->in_width[0]),
                                                extra * n->op->in_width[0], s->numerics.weight));

    for (int i = n->source->n_in - 1; i >= 0; i--) {
        int x = mfu_node_input(s, n, i);
        double rows = mfu_view_rows(s, x), columns = mfu_view_columns(s, x);

        if (mfu_wants_gradient(s, n, i))
            mfu_grad_add(
                s, n, i,
                copy(s, "grad", 1, &g, mfu_tensor_new(s, rows, columns, mfu_view_type(s, g), MFU_PART_ACTIVATIONS)));
    }
}

const struct mfu_primitive mfu_primitive_join = {
    .name = "join",
    .summary = "tokens of several inputs behind one another in each sequence",
    .attributes = {[EXTRA] = {"extra", "0", NULL, "learned tokens before them"}},
    .least_inputs = 1,
    .most_inputs = MFU_INPUTS,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
