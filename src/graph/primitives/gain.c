/*
 * gain - a learned factor for each column: LayerScale (DINOv2, ConvNeXt); with `bias` a summand, too, in the same kernel (ResMLP's Affine).
 *
 * Backward needs the input for the factors' gradient, and the factors.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { BIAS, SCALAR };

static struct mfu_weights params(const struct mfu_operation *op)
{
    double weight = op->attribute[SCALAR] > 0 ? 1 : op->in_width[0], bias = op->attribute[BIAS] > 0 ? weight : 0;

    return (struct mfu_weights){.weight = weight, .bias = bias, .active = weight + bias};
}

/* In fp32 where the factors are: autocast leaves a product of elements alone; one number changes no type. */
static enum mfu_type product_type(const struct mfu_builder *s, const struct mfu_node *n, int x)
{
    return s->numerics.widens && !(n->op->attribute[SCALAR] > 0) ? MFU_F32 : mfu_view_type(s, x);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_save(n, mfu_node_input(s, n, 0));

    n->out = mfu_emit_broadcast(s, "", product_type(s, n, x), 1, x, MFU_NO_VIEW);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[0], product;

    if (mfu_trains(s, n, 0)) {
        product = mfu_emit_pointwise(s, "dgain", product_type(s, n, x), 1, n->gradient, x, MFU_NO_VIEW);
        mfu_param_grad_add(s, n, 0,
                           mfu_emit_columns_sum(s, "wgrad", product, params(n->op).weight, s->numerics.weight));
    }
    if (n->op->attribute[BIAS] > 0 && mfu_trains(s, n, 1))
        mfu_param_grad_add(s, n, 1,
                           mfu_emit_columns_sum(s, "bias_grad", n->gradient, n->op->in_width[0], s->numerics.weight));
    if (mfu_wants_gradient(s, n, 0))
        mfu_grad_add(s, n, 0, mfu_emit_broadcast(s, "grad", product_type(s, n, x), 1, n->gradient, MFU_NO_VIEW));
}

const struct mfu_primitive mfu_primitive_gain = {
    .name = "gain",
    .summary = "a learned factor for each column",
    .attributes = {[BIAS] = {"bias", "0", NULL, "whether a learned row is added"},
                   [SCALAR] = {"scalar", "0", NULL, "whether one factor is that of all"}},
    .inputs = {1, 1},
    .traits = MFU_ELEMENTWISE,
    .params = params,
    .forward = forward,
    .backward = backward,
};
