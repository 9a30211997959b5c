/*
 * relu_attention - attention without softmax over queries and keys that passed through ReLU, by two products:
 *
 *     s = [v 1]' k    [head_dim + 1, head_dim] per head and sequence
 *     y = s q         whose last row divides the others
 *
 * Operation by operation, as Sana (diffusers 0.42.1, attention_processor.py, SanaLinearAttnProcessor2_0) writes it: in fp32, which
 * autocast takes back where it multiplies.  The products' operands are copied head by head, and backward keeps them and the
 * result before it is divided.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { HEADS, HEAD_DIM };
enum { SAVED_Q, SAVED_K, SAVED_V, SAVED_STATE, SAVED_RESULT };

static double heads(const struct mfu_builder *s, const struct mfu_node *n)
{
    return s->config->batch * n->op->attribute[HEADS];
}

/* In fp32 and head by head, in the type of the products. */
static int operand(struct mfu_builder *s, const struct mfu_node *n, int i, bool padded)
{
    int x = mfu_emit_cast(s, mfu_node_input(s, n, i), MFU_F32);

    if (padded) { /* a column of ones for each head */
        int wide = mfu_tensor_new(s, mfu_view_rows(s, x), mfu_view_columns(s, x) + n->op->attribute[HEADS], MFU_F32,
                                  MFU_PART_ACTIVATIONS);

        mfu_emit(s, &(struct mfu_emission){.suffix = "pad", .kind = MFU_COPY, .fusion = MFU_MAP}, 1, &x, 1, &wide);
        x = wide;
    }
    if (s->numerics.autocast)
        x = mfu_autocast(s, x);
    return padded ? x : mfu_emit_broadcast(s, "heads", mfu_view_type(s, x), 0, x, MFU_NO_VIEW);
}

static enum mfu_peak math(const struct mfu_builder *s, int x)
{
    return mfu_view_type(s, x) == MFU_F32 && s->numerics.compute != MFU_F32 ? MFU_PEAK_FP32 : s->numerics.math;
}

static int product(struct mfu_builder *s, const struct mfu_node *n, const char *suffix, double m, double k,
                   double columns, int a, int b)
{
    double batch = heads(s, n);
    int out = mfu_tensor_new(s, m * s->config->batch, n->op->attribute[HEADS] * columns, mfu_view_type(s, a),
                             MFU_PART_ACTIVATIONS);

    mfu_emit_matmul(s, suffix, math(s, a), m, columns, k, batch, a, b, out);
    return out;
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    double d = n->op->attribute[HEAD_DIM], tokens = mfu_view_rows(s, mfu_node_input(s, n, 0)) / s->config->batch;
    int q, k, v, state, result;

    v = mfu_node_save(n, operand(s, n, 2, true));
    k = mfu_node_save(n, operand(s, n, 1, false));
    state = mfu_node_save(n, product(s, n, "state", d, tokens, d + 1, k, v));
    q = mfu_node_save(n, operand(s, n, 0, false));
    result = mfu_node_save(n, product(s, n, "", tokens, d, d + 1, q, state));
    n->saved[SAVED_Q] = q;
    n->saved[SAVED_K] = k;
    n->saved[SAVED_V] = v;
    n->saved[SAVED_STATE] = state;
    n->saved[SAVED_RESULT] = result;
    q = mfu_view_slice(s, result, mfu_view_rows(s, result), d * n->op->attribute[HEADS]);
    q = mfu_emit_broadcast(s, "div", mfu_view_type(s, q), 1, q, MFU_NO_VIEW);
    n->out = mfu_emit_cast(s, q, s->numerics.widens ? MFU_F32 : s->numerics.compute);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    double d = n->op->attribute[HEAD_DIM];
    int q = n->saved[SAVED_Q], k = n->saved[SAVED_K], v = n->saved[SAVED_V], result = n->saved[SAVED_RESULT];
    enum mfu_type type = mfu_view_type(s, q), given = mfu_view_type(s, mfu_node_input(s, n, 0));
    double tokens = mfu_view_rows(s, q) / s->config->batch;
    int g = mfu_emit_cast(s, n->gradient, type), dd, dresult, dstate, dx;

    dd = mfu_emit_broadcast(s, "ddiv", type, 3, g, result); /* of what divides: summed over a head */
    g = mfu_emit_broadcast(s, "ddiv", type, 1, g, MFU_NO_VIEW);
    mfu_tensor_extend(s, dd);
    dresult = mfu_tensor_like(s, result);
    mfu_emit(s, &(struct mfu_emission){.suffix = "dslice", .kind = MFU_COPY, .fusion = MFU_MAP, .launches = 4}, 1, &g,
             1, &dresult);
    dstate = product(s, n, "dstate", d, tokens, d + 1, q, dresult);
    dx = product(s, n, "dq", tokens, d + 1, d, dresult, n->saved[SAVED_STATE]);
    mfu_grad_add(s, n, 0, mfu_emit_cast(s, mfu_emit_cast(s, dx, MFU_F32), given));
    dx = product(s, n, "dv", tokens, d, d + 1, k, dstate);
    dd = product(s, n, "dk", tokens, d + 1, d, v, dstate);
    mfu_grad_add(s, n, 1, mfu_emit_cast(s, mfu_emit_cast(s, dd, MFU_F32), given));
    dx = mfu_view_slice(s, dx, mfu_view_rows(s, dx), d * n->op->attribute[HEADS]);
    mfu_grad_add(s, n, 2, mfu_emit_cast(s, mfu_emit_cast(s, dx, MFU_F32), given));
}

const struct mfu_primitive mfu_primitive_relu_attention = {
    .name = "relu_attention",
    .summary = "attention without softmax, by a state of each head",
    .attributes = {[HEADS] = {"heads", "n_head", NULL, "of queries, keys and values", 1},
                   [HEAD_DIM] = {"head_dim", "head_dim", NULL, "width of one", 1}},
    .inputs = {3, 3},
    .traits = MFU_READS_BESIDE,
    .forward = forward,
    .backward = backward,
};
