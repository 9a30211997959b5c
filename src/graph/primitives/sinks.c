/*
 * sinks - one learned score per head that attention's softmax counts beside those of the keys (GPT-OSS).
 *
 * The queries pass through; what is added is the parameter and the sum that is its gradient.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { HEADS };

static struct mfu_weights params(const struct mfu_operation *op)
{
    double n = op->attribute[HEADS];

    return (struct mfu_weights){.weight = n, .active = n};
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0);

    n->out = mfu_view_slice(s, x, mfu_view_rows(s, x), mfu_view_columns(s, x));
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int g = n->gradient;

    if (mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0, mfu_emit_columns_sum(s, "grad", g, n->op->attribute[HEADS], s->numerics.weight));
    mfu_grad_add(s, n, 0, g);
}

const struct mfu_primitive mfu_primitive_sinks = {
    .name = "sinks",
    .summary = "a learned score per head that takes part in the softmax",
    .attributes = {[HEADS] = {"heads", "n_head", NULL, "query heads", 1}},
    .inputs = {1, 1},
    .split_columns = 1u << HEADS,
    .traits = MFU_ELEMENTWISE,
    .params = params,
    .forward = forward,
    .backward = backward,
};
