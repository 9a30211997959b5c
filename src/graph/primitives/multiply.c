/*
 * multiply - a b, element by element: the gate of SwiGLU and GeGLU.
 *
 * Backward needs both factors.
 */
#include <stddef.h>

#include "graph/builder.h"

static double shape(const struct mfu_operation *op)
{
    return op->in_width[0];
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int a = mfu_node_input(s, n, 0), b = mfu_node_input(s, n, 1);

    mfu_node_save(s, n, a);
    mfu_node_save(s, n, b);
    n->out = mfu_emit_pointwise(s, "", mfu_view_type(s, a), 1, a, b, MFU_NO_VIEW);
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    enum mfu_type type = mfu_view_type(s, n->gradient);
    int d[2] = {MFU_NO_VIEW, MFU_NO_VIEW};

    for (int i = 0; i < 2; i++)
        if (mfu_wants_gradient(s, n, i))
            d[i] = mfu_emit_pointwise(s, i ? "grad_b" : "grad_a", type, 1, n->gradient, n->saved[1 - i], MFU_NO_VIEW);
    mfu_tensor_extend(s, d[0]);
    for (int i = 0; i < 2; i++) /* what is saved goes when both are made */
        mfu_tensor_extend(s, n->saved[i]);
    for (int i = 1; i >= 0; i--)
        mfu_grad_add(s, n, i, d[i]);
}

const struct mfu_primitive mfu_primitive_multiply = {
    .name = "multiply",
    .summary = "product of two tensors, element by element",
    .least_inputs = 2,
    .most_inputs = 2,
    .traits = MFU_ELEMENTWISE | MFU_CHEAP,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
