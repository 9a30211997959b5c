/*
 * causal_conv - each channel's last tokens, weighted, and SiLU behind it: one kernel each way of the package causal-conv1d,
 * which keeps its input only (Dao-AILab/causal-conv1d, causal_conv1d_interface.py).  Autocast leaves its weight as it is.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { TAPS, BIAS };

static struct mfu_weights params(const struct mfu_operation *op)
{
    double n = op->in_width[0] * (op->attribute[TAPS] + (op->attribute[BIAS] > 0));

    return (struct mfu_weights){.weight = n, .active = n};
}

static void emit(struct mfu_builder *s, const struct mfu_node *n, const char *suffix, double passes, int n_in,
                 const int *in, int n_out, const int *out)
{
    MFU_EMIT(s, MFU_LIST(n_in, in), MFU_LIST(n_out, out), .suffix = suffix, .kind = MFU_POINTWISE,
             .flops = passes * (2 * n->op->attribute[TAPS] + 4) * mfu_view_elements(s, in[0]));
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_save(n, mfu_node_input(s, n, 0));

    n->out = mfu_tensor_like(s, x);
    emit(s, n, "", 1, 1, &x, 1, &n->out);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[0], in[] = {x, n->gradient}, out[2];

    out[0] = mfu_tensor_like(s, x);
    out[1] = mfu_tensor_new(s, 1, params(n->op).weight, MFU_F32, MFU_PART_ACTIVATIONS);
    emit(s, n, "grad", 3, 2, in, 2, out);
    if (mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0, mfu_emit_cast(s, out[1], s->numerics.weight));
    mfu_grad_add(s, n, 0, out[0]);
}

const struct mfu_primitive mfu_primitive_causal_conv = {
    .name = "causal_conv",
    .summary = "each channel's last tokens, weighted, and SiLU, in one kernel",
    .attributes = {[TAPS] = {"taps", "4", NULL, "tokens that are read", 1},
                   [BIAS] = {"bias", "0", NULL, "whether a bias is added"}},
    .inputs = {1, 1},
    .params = params,
    .forward = forward,
    .backward = backward,
};
