/*
 * xielu - Apertus' activation: a x x + b x above zero, c (exp(x) - 1 - x) + b x below, with a and c learned and b fixed.
 *
 * Operation by operation, as transformers runs it where the CUDA kernels of its authors are not installed (5.23,
 * activations.py): backward needs the input, which side of zero it is on, and three of the results between.  Autocast
 * computes the exponential in fp32.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { SAVED_X, SAVED_ABOVE, SAVED_SCALED, SAVED_EXP, SAVED_BELOW };

static struct mfu_weights params(const struct mfu_operation *op)
{
    (void)op;
    return (struct mfu_weights){.weight = 2, .active = 2};
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0);
    enum mfu_type type = s->parameters[n->parameter[0]].type == MFU_F32 ? MFU_F32 : mfu_view_type(s, x);
    int above = mfu_emit_pointwise(s, "above", MFU_U8, 1, x, MFU_NO_VIEW, MFU_NO_VIEW);
    int scaled = mfu_emit_pointwise(s, "mul", type, 1, x, MFU_NO_VIEW, MFU_NO_VIEW);
    int square = mfu_emit_map(s, "mul", 1, scaled, x), part = mfu_emit_map(s, "mul", 1, x, MFU_NO_VIEW), least, wide,
        grown, below;

    square = mfu_emit_map(s, "add", 1, square, part);
    least = mfu_emit_map(s, "min", 1, x, MFU_NO_VIEW);
    wide = s->numerics.widens ? mfu_emit_cast(s, least, MFU_F32) : least; /* as autocast has exponentials */
    grown = mfu_emit_map(s, "expm1", 8, wide, MFU_NO_VIEW);
    below = mfu_emit_map(s, "sub", 1, grown, x);
    MFU_SAVE(n, x, above, scaled, grown, below);
    below = mfu_emit_pointwise(s, "mul", type == MFU_F32 ? type : mfu_view_type(s, below), 1, below, MFU_NO_VIEW,
                               MFU_NO_VIEW);
    below = mfu_emit_map(s, "add", 1, below, mfu_emit_map(s, "mul", 1, x, MFU_NO_VIEW));
    n->out = mfu_emit_pointwise(s, "", type, 1, above, square, below);
}

/* What one of the two numbers gets: the sum over all elements. */
static int number_grad(struct mfu_builder *s, int g, int by)
{
    return mfu_emit_columns_sum(s, "wgrad", mfu_emit_map(s, "dnumber", 1, g, by), 1, s->numerics.weight);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[SAVED_X], g = n->gradient, d[2], number = MFU_NO_VIEW;
    enum mfu_type type = mfu_view_type(s, x);

    for (int i = 0; i < 2; i++)
        d[i] = mfu_emit_pointwise(s, "dwhere", mfu_view_type(s, g), 1, g, n->saved[SAVED_ABOVE], MFU_NO_VIEW);
    mfu_grad_add(s, n, 0, mfu_emit_map(s, "dmul", 1, mfu_emit_cast(s, d[1], type), MFU_NO_VIEW));
    if (mfu_trains(s, n, 0))
        number = number_grad(s, d[1], n->saved[SAVED_BELOW]);
    d[1] = mfu_emit_cast(s, mfu_emit_map(s, "dmul", 1, d[1], MFU_NO_VIEW), mfu_view_type(s, n->saved[SAVED_BELOW]));
    mfu_grad_add(s, n, 0, mfu_emit_cast(s, mfu_emit_map(s, "neg", 1, d[1], MFU_NO_VIEW), type));
    d[1] = mfu_emit_map(s, "dexpm1", 1, d[1], mfu_emit_map(s, "add", 1, n->saved[SAVED_EXP], MFU_NO_VIEW));
    d[1] = mfu_emit_cast(s, d[1], type);
    mfu_grad_add(s, n, 0, mfu_emit_map(s, "dmin", 3, d[1], x));
    mfu_grad_add(s, n, 0, mfu_emit_map(s, "dmul", 1, mfu_emit_cast(s, d[0], type), MFU_NO_VIEW));
    mfu_grad_add(s, n, 0, mfu_emit_cast(s, mfu_emit_map(s, "dmul", 1, d[0], n->saved[SAVED_SCALED]), type));
    d[0] = mfu_emit_map(s, "dmul", 1, d[0], x);
    if (number != MFU_NO_VIEW) {
        mfu_tensor_extend(s, number);
        mfu_param_grad_add(s, n, 0, number_grad(s, d[0], x));
    }
    mfu_grad_add(s, n, 0, mfu_emit_cast(s, mfu_emit_map(s, "dmul", 1, d[0], MFU_NO_VIEW), type));
}

const struct mfu_primitive mfu_primitive_xielu = {
    .name = "xielu",
    .summary = "a square or an exponential of each element, with two learned numbers",
    .inputs = {1, 1},
    .traits = MFU_ELEMENTWISE,
    .params = params,
    .forward = forward,
    .backward = backward,
};
