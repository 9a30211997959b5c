/*
 * activation - a function of each element: y = f(x).
 *
 * Backward needs the input (of tanh: the output; of scaling: nothing).
 */
#include <stddef.h>

#include "graph/builder.h"

enum { KIND };
enum { GELU, GELU_TANH, SILU, RELU, TANH, SCALE };
static const char *const kinds[] = {"gelu", "gelu_tanh", "silu", "relu", "tanh", "scale", NULL};
static const double forward_flops[] = {10, 12, 5, 1, 6, 1}, backward_flops[] = {20, 24, 9, 1, 3, 1};

static double shape(const struct mfu_operation *op)
{
    return op->in_width[0];
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int kind = (int)n->op->attribute[KIND], x = mfu_node_input(s, n, 0);

    n->out = mfu_emit_pointwise(s, "", mfu_view_type(s, x), forward_flops[kind], x, MFU_NO_VIEW, MFU_NO_VIEW);
    if (kind != SCALE)
        mfu_node_save(s, n, kind == TANH || kind == RELU ? n->out : x);
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int kind = (int)n->op->attribute[KIND];
    int saved = n->n_saved ? n->saved[0] : MFU_NO_VIEW;

    mfu_grad_add(s, n, 0,
                 mfu_emit_pointwise(s, "grad", mfu_view_type(s, n->gradient), backward_flops[kind], n->gradient, saved,
                                    MFU_NO_VIEW));
}

const struct mfu_primitive mfu_primitive_activation = {
    .name = "activation",
    .summary = "a function of each element",
    .attributes = {[KIND] = {"kind", NULL, kinds, "gelu, gelu_tanh, silu, relu, tanh or scale (by a constant)"}},
    .least_inputs = 1,
    .most_inputs = 1,
    .traits = MFU_ELEMENTWISE | MFU_CHEAP,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
