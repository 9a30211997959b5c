/*
 * response - x + b + w * x * n, with n what a channel's length over all positions of a sample is to the mean of all channels':
 * global response normalisation (ConvNeXt V2).
 *
 * Backward needs x and the product with n; under autocast lengths are fp32, and so is what is multiplied by them.
 * timm 1.0.31 layers/grn.py.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { SAVED_X, SAVED_LENGTHS, SAVED_SHARE, SAVED_PRODUCT };

static struct mfu_weights params(const struct mfu_operation *op)
{
    double n = op->in_width[0];

    return (struct mfu_weights){.weight = n, .bias = n, .active = 2 * n};
}

static enum mfu_type wide(const struct mfu_builder *s, int x)
{
    return s->numerics.widens ? MFU_F32 : mfu_view_type(s, x);
}

/* A row of each sample, from all its positions. */
static int of_samples(struct mfu_builder *s, const char *suffix, int x)
{
    int out = mfu_tensor_new(s, s->config->batch, mfu_view_columns(s, x), wide(s, x), MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_REDUCTION, .traffic = MFU_C_DRAM_REDUCTION,
             .flops = 2 * mfu_view_elements(s, x));
    return out;
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_save(n, mfu_node_input(s, n, 0)), lengths = mfu_node_save(n, of_samples(s, "length", x)),
        share = mfu_node_save(
            n, mfu_emit_pointwise(s, "share", mfu_view_type(s, lengths), 3, lengths, MFU_NO_VIEW, MFU_NO_VIEW)),
        product = mfu_node_save(n, mfu_emit_broadcast(s, "times", wide(s, x), 1, x, share));

    if (mfu_last_recomputed(s, n))
        return;
    n->out = mfu_emit_pointwise(s, "add", wide(s, x), 1, x,
                                mfu_emit_broadcast(s, "gain", wide(s, x), 2, product, MFU_NO_VIEW), MFU_NO_VIEW);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[SAVED_X], g = n->gradient, product, dx, dn;
    double width = n->op->in_width[0];
    enum mfu_type type = wide(s, x);

    mfu_grad_add(s, n, 0, g);
    if (mfu_trains(s, n, 1))
        mfu_param_grad_add(s, n, 1, mfu_emit_columns_sum(s, "bias_grad", g, width, s->numerics.weight));
    if (mfu_trains(s, n, 0)) {
        product = mfu_emit_pointwise(s, "dgain", type, 1, g, n->saved[SAVED_PRODUCT], MFU_NO_VIEW);
        mfu_param_grad_add(s, n, 0, mfu_emit_columns_sum(s, "wgrad", product, width, s->numerics.weight));
    }
    if (!mfu_wants_gradient(s, n, 0))
        return;
    g = mfu_emit_broadcast(s, "gain_grad", type, 1, g, MFU_NO_VIEW);
    dn = of_samples(s, "share_grad", mfu_emit_pointwise(s, "times_share", type, 1, g, x, MFU_NO_VIEW));
    dx = mfu_emit_broadcast(s, "times_grad", type, 1, g, n->saved[SAVED_SHARE]);
    mfu_grad_add(s, n, 0, dx);
    dn = mfu_emit_pointwise(s, "length_grad", mfu_view_type(s, dn), 4, dn, n->saved[SAVED_LENGTHS], MFU_NO_VIEW);
    mfu_grad_add(s, n, 0, mfu_emit_broadcast(s, "grad", mfu_view_type(s, x), 2, x, dn));
}

const struct mfu_primitive mfu_primitive_response = {
    .name = "response",
    .summary = "channels weighed by their lengths over a sample",
    .attributes = {{NULL}},
    .inputs = {1, 1},
    .params = params,
    .forward = forward,
    .backward = backward,
};
