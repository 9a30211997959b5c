/*
 * multiply - a b, element by element: the gate of SwiGLU and GeGLU.
 *
 * Backward needs both factors.
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

    mfu_save(s, n, a);
    mfu_save(s, n, b);
    n->out = mfu_map(s, "", mfu_type_of(s, a), 1, a, b, MFU_NO_VIEW);
}

static void backward(struct mfu_step *s, int index)
{
    struct mfu_step_node *n = mfu_node_at(s, index);
    enum mfu_type type = mfu_type_of(s, n->gradient);
    int da = mfu_map(s, "grad_a", type, 1, n->gradient, n->saved[1], MFU_NO_VIEW);
    int db = mfu_map(s, "grad_b", type, 1, n->gradient, n->saved[0], MFU_NO_VIEW);

    mfu_hold(s, da);
    mfu_give(s, n, 1, db);
    mfu_give(s, n, 0, da);
}

const struct mfu_primitive mfu_primitive_multiply = {
    .name = "multiply",
    .summary = "product of two tensors, element by element",
    .least_inputs = 2, .most_inputs = 2,
    .shape = shape, .forward = forward, .backward = backward,
};
