/*
 * add - a + b: a residual, or the sum of embeddings.
 *
 * The sum has the wider of the two types; nothing is saved, and the gradient is
 * the same memory for both, but for a cast.
 */
#include <stddef.h>

#include "graph/step.h"

static double shape(const struct mfu_operation *op)
{
    return op->in_width[0];
}

static void forward(struct mfu_step *s, int index)
{
    struct mfu_step_node *n = mfu_node_at(s, index);
    int a = mfu_input(s, n, 0), b = mfu_input(s, n, 1);
    enum mfu_type wider = mfu_type_of(s, a) == MFU_F32 || mfu_type_of(s, b) == MFU_F32 ? MFU_F32 : MFU_F16;

    n->out = mfu_map(s, "", wider, 1, a, b, MFU_NO_VIEW);
}

static void backward(struct mfu_step *s, int index)
{
    struct mfu_step_node *n = mfu_node_at(s, index);
    int g = n->gradient;

    mfu_give(s, n, 0, g);
    mfu_give(s, n, 1, g);
}

const struct mfu_primitive mfu_primitive_add = {
    .name = "add",
    .summary = "sum of two tensors (residual connection)",
    .least_inputs = 2, .most_inputs = 2,
    .shape = shape, .forward = forward, .backward = backward,
};
