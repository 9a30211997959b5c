/*
 * adapter_scale - x * v, with v trained: IA3, which multiplies the result of a product or, in the MLP, its input.
 *
 * peft casts to the vector's type (fp32), multiplies, and casts back; an input is kept as it was cast, a result as it was.
 * peft 0.21.2 tuners/ia3/layer.py.
 */
#include <stddef.h>

#include "graph/adapter_steps.h"

static double shape(const struct mfu_operation *op)
{
    return op->in_width[0];
}

static struct mfu_weights params(const struct mfu_operation *op)
{
    return (struct mfu_weights){.weight = op->in_width[0], .active = op->in_width[0]};
}

/* Whether it stands in front of its product. */
static bool in_front(const struct mfu_operation *op)
{
    return op->attribute[MFU_ADAPTER_MORE] > 0;
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    enum mfu_type wide = mfu_adapter_type(s);
    int given = mfu_node_input(s, n, 0), x = in_front(n->op) ? mfu_emit_cast(s, given, wide) : given, out;

    mfu_node_save(s, n, x);
    if (mfu_last_recomputed(s, index))
        return;
    out = mfu_emit_broadcast(s, "ia3", wide, 1, x, MFU_NO_VIEW);
    n->out = mfu_emit_cast(s, out, mfu_view_type(s, given));
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    enum mfu_type wide = mfu_adapter_type(s);
    int g = mfu_emit_cast(s, n->gradient, wide), dx = MFU_NO_VIEW,
        product = mfu_adapter_pass(s, "ia3_product", wide, g, n->saved[0]);

    if (mfu_wants_gradient(s, n, 0))
        dx = mfu_emit_broadcast(s, "ia3_grad", wide, 1, g, MFU_NO_VIEW);
    mfu_param_grad_add(s, n, 0, mfu_adapter_column_sum(s, "ia3_wgrad", product));
    if (dx != MFU_NO_VIEW)
        mfu_grad_add(s, n, 0, dx);
}

const struct mfu_primitive mfu_primitive_adapter_scale = {
    .name = "adapter_scale",
    .summary = "a trained factor of each column, of the result or the input of a product whose weight is frozen",
    .attributes = {[MFU_ADAPTER_MORE] = {"in_front", "0", NULL, "whether it stands in front of the product"}},
    .least_inputs = 1,
    .most_inputs = 1,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
