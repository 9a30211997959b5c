/*
 * vector - a learned row by itself, which operations of several layers add or multiply by (Transformer-XL's u and v).
 *
 * It launches nothing: its result is the parameter.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { WIDTH };

static struct mfu_weights params(const struct mfu_operation *op)
{
    return (struct mfu_weights){.weight = op->attribute[WIDTH], .active = op->attribute[WIDTH]};
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    n->out = mfu_view_as(s, 0, 1, n->op->attribute[WIDTH], s->numerics.weight);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    if (mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0, n->gradient);
}

const struct mfu_primitive mfu_primitive_vector = {
    .name = "vector",
    .summary = "a learned row by itself, for operations that read it",
    .attributes = {[WIDTH] = {"width", NULL, NULL, "its elements", 1}},
    .traits = MFU_LOOKS_UP,
    .width = MFU_WIDTH_OF(WIDTH),
    .params = params,
    .forward = forward,
    .backward = backward,
};
