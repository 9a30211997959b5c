/*
 * adapter_vectors - y + b * (B (d * (A x))): VeRA, whose A and B are random, frozen and one pair for all products; the
 * vectors d and b train.
 *
 * A frozen product needs no input in backward; the vectors need what they multiplied.  peft 0.21.2 tuners/vera/layer.py.
 */
#include <stddef.h>

#include "graph/adapter_steps.h"

enum { SAVED_H, SAVED_A, SAVED_Y, SAVED_B, SAVED_MASK };

static double shape(const struct mfu_operation *op)
{
    return op->attribute[MFU_ADAPTER_WIDTH];
}

/* The weight is d, the bias b. */
static struct mfu_weights params(const struct mfu_operation *op)
{
    double r = op->attribute[MFU_ADAPTER_SIZE], width = op->attribute[MFU_ADAPTER_WIDTH];

    return (struct mfu_weights){.weight = r, .bias = width, .active = r + width};
}

/* A part of the shared matrices, which autocast copies for each product: its cache is for weights that train. */
static int shared(struct mfu_builder *s, double rows, double columns)
{
    return s->numerics.autocast
        ? mfu_emit_cast(s, mfu_view_as(s, 0, rows, columns, mfu_adapter_type(s)), s->numerics.compute)
        : MFU_NO_VIEW;
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    double in = n->op->in_width[MFU_ADAPTER_INPUT], width = n->op->attribute[MFU_ADAPTER_WIDTH],
           r = n->op->attribute[MFU_ADAPTER_SIZE];
    enum mfu_type wide = mfu_adapter_type(s);
    int cast, mask, x = mfu_adapter_enter(s, n, &cast, &mask), h, y;

    x = mfu_adapter_operand(s, x);
    h = mfu_adapter_product(s, "vera_a", x, mfu_node_save(s, n, shared(s, r, in)), r, in);
    n->saved[SAVED_A] = n->saved[SAVED_H];
    n->saved[SAVED_H] = h;
    n->n_saved = SAVED_Y;
    h = mfu_adapter_operand(s, mfu_emit_broadcast(s, "vera_d", wide, 1, h, MFU_NO_VIEW));
    n->saved[SAVED_B] = shared(s, width, r);
    n->saved[SAVED_Y] = y = mfu_adapter_product(s, "vera_b", h, n->saved[SAVED_B], width, r);
    n->saved[SAVED_MASK] = mask;
    n->n_saved = SAVED_MASK + 1;
    if (mfu_last_recomputed(s, index))
        return;
    mfu_adapter_leave(s, n, mfu_emit_broadcast(s, "vera_scale", wide, 1, y, MFU_NO_VIEW), cast);
}

/* Both gradients of v * x: of v the sum over rows, which is made when both products are. */
static int vector_gradients(struct mfu_builder *s, struct mfu_node *n, int which, int g, int x)
{
    enum mfu_type wide = mfu_adapter_type(s);
    int product = mfu_adapter_pass(s, "vera_product", wide, g, x),
        dx = mfu_emit_broadcast(s, "vera_scale_grad", wide, 1, g, MFU_NO_VIEW);

    mfu_param_grad_add(s, n, which, mfu_adapter_column_sum(s, "vera_wgrad", product));
    return mfu_emit_cast(s, dx, mfu_view_type(s, x));
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    double in = n->op->in_width[MFU_ADAPTER_INPUT], width = n->op->attribute[MFU_ADAPTER_WIDTH],
           r = n->op->attribute[MFU_ADAPTER_SIZE];
    int g = mfu_adapter_gradient(s, n, mfu_adapter_type(s)), dy, dh;

    dy = vector_gradients(s, n, 1, g, n->saved[SAVED_Y]);
    dh = mfu_adapter_product(s, "vera_b_dgrad", dy, n->saved[SAVED_B], r, width);
    dh = vector_gradients(s, n, 0, mfu_emit_cast(s, dh, mfu_adapter_type(s)), n->saved[SAVED_H]);
    if (mfu_wants_gradient(s, n, MFU_ADAPTER_INPUT))
        mfu_adapter_input_gradient(s, n, mfu_adapter_product(s, "vera_a_dgrad", dh, n->saved[SAVED_A], in, r),
                                   n->saved[SAVED_MASK]);
}

const struct mfu_primitive mfu_primitive_adapter_vectors = {
    .name = "adapter_vectors",
    .summary = "two frozen products beside one whose weight is frozen, with trained factors of their columns",
    .attributes = {MFU_ADAPTER_RANK_AND_WIDTH},
    .least_inputs = 2,
    .most_inputs = 2,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
