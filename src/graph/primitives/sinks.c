/*
 * sinks - one learned score per head that attention's softmax counts beside those of the keys (GPT-OSS).
 *
 * The queries pass through; what is added is the parameter and the sum that is its gradient.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { HEADS };

static double shape(const struct mfu_operation *op)
{
    return op->in_width[0];
}

static struct mfu_weights params(const struct mfu_operation *op)
{
    double n = op->attribute[HEADS];

    return (struct mfu_weights){.weight = n, .active = n};
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int x = mfu_node_input(s, n, 0);

    n->out = mfu_view_slice(s, x, mfu_view_rows(s, x), mfu_view_columns(s, x));
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int g = n->gradient;

    if (mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0, mfu_emit_columns_sum(s, "grad", g, n->op->attribute[HEADS], s->numerics.weight));
    mfu_grad_add(s, n, 0, g);
}

const struct mfu_primitive mfu_primitive_sinks = {
    .name = "sinks",
    .summary = "a learned score per head that takes part in the softmax",
    .attributes = {[HEADS] = {"heads", "n_head", NULL, "query heads", 1}},
    .least_inputs = 1,
    .most_inputs = 1,
    .split_columns = 1u << HEADS,
    .traits = MFU_ELEMENTWISE,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
