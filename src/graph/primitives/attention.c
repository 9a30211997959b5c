/*
 * attention - softmax(Q K^T / sqrt(d)) V, by a fused kernel or by its parts.
 *
 * Reads either one packed input [q | k | v] or three.  A fused kernel saves
 * q, k, v, the output and the logsumexp of each row.  The parts ("math") save
 * the probabilities of every pair of tokens, in fp32 and in the compute type
 * under autocast, and move them through memory several times.
 */
#include <math.h>
#include <stddef.h>

#include "graph/builder.h"
#include "scenario/setting.h"

enum { HEADS, KV_HEADS, HEAD_DIM, CAUSAL, WINDOW, DROPOUT, SOFTCAP, MASKING, SOFTMAX };
enum { FILLED, ADDED };
enum { AS_GIVEN, FP32 };
static const char *const maskings[] = {"fill", "add", NULL}, *const softmaxes[] = {"as_given", "fp32", NULL};
enum { Q, K, V, OUT, LSE, BIAS };                                     /* saved by fused kernels */
enum { MATH_Q, MATH_K, MATH_V, PROBABILITIES, FACTOR, MASK, CAPPED }; /* saved by the parts */

static double shape(const struct mfu_operation *op)
{
    return op->attribute[HEADS] * op->attribute[HEAD_DIM];
}

static double key_elements(const struct mfu_operation *op)
{
    return 2 * op->attribute[KV_HEADS] * op->attribute[HEAD_DIM];
}

/* Whether a window reaches the kernel as a mask, as in transformers' call of SDPA, which knows none. */
static bool window_is_mask(const struct mfu_builder *s, const struct mfu_node *n)
{
    const double *a = n->op->attribute;

    return a[MASKING] == ADDED && a[WINDOW] > 0 && s->config->seq >= a[WINDOW];
}

/* With a mask SDPA chooses the memory-efficient kernel, which computes all pairs and knows no grouped heads. */
static struct mfu_attention describe(struct mfu_builder *s, const struct mfu_node *n)
{
    const double *a = n->op->attribute;
    bool mask = mfu_attentions[s->config->attention].fused && window_is_mask(s, n);

    return (struct mfu_attention){
        .kind = mask ? MFU_MEMEFF : s->config->attention,
        .math = s->numerics.math,
        /* Along a context group each rank meets the keys of all, a part at a time. */
        .sequences = s->config->batch * s->config->setting[MFU_S_CP],
        .seq = s->config->seq / s->config->setting[MFU_S_CP],
        .heads = a[HEADS],
        .kv_heads = mask ? a[HEADS] : a[KV_HEADS],
        .head_dim = a[HEAD_DIM],
        .window = mask ? 0 : a[WINDOW],
        .causal = a[CAUSAL] > 0 && !mask,
        .element_bytes = mfu_type_bytes[s->numerics.compute],
    };
}

/* The three inputs, packed or not, in the compute type. */
static void inputs(struct mfu_builder *s, struct mfu_node *n, int qkv[3])
{
    const double *a = n->op->attribute;
    double q = a[HEADS] * a[HEAD_DIM], kv = a[KV_HEADS] * a[HEAD_DIM];

    if (n->source->n_in == 3) {
        for (int i = 0; i < 3; i++)
            qkv[i] = mfu_autocast(s, mfu_node_input(s, n, i));
    } else {
        int packed = mfu_autocast(s, mfu_node_input(s, n, 0));
        double rows = mfu_view_rows(s, packed);

        qkv[0] = mfu_view_slice(s, packed, rows, q);
        qkv[1] = mfu_view_slice(s, packed, rows, kv);
        qkv[2] = mfu_view_slice(s, packed, rows, kv);
    }
}

/* Whether q (0), k (1) or v (2) needs a gradient. */
static bool wants(const struct mfu_builder *s, const struct mfu_node *n, int i)
{
    return mfu_wants_gradient(s, n, n->source->n_in == 3 ? i : 0);
}

/* Gives dq, dk, dv to where they came from; packed inputs need one more copy. */
static void give_inputs(struct mfu_builder *s, struct mfu_node *n, const int d[3])
{
    double columns = 0;
    int packed;

    if (n->source->n_in == 3) {
        for (int i = 2; i >= 0; i--)
            mfu_grad_add(s, n, i, d[i]);
        return;
    }
    for (int i = 0; i < 3; i++)
        columns += mfu_view_columns(s, d[i]);
    packed = mfu_tensor_new(s, mfu_view_rows(s, d[0]), columns, mfu_view_type(s, d[0]), MFU_PART_ACTIVATIONS);
    mfu_emit(
        s,
        &(struct mfu_emission){.suffix = "cat", .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR, .fusion = MFU_MAP},
        3, d, 1, &packed);
    mfu_grad_add(s, n, 0, packed);
}

/* ---- fused kernels ------------------------------------------------------ */

/* The width of a head that the kernel is given: SDPA pads q, k and v with zeros. */
static double padded(const struct mfu_attention *a)
{
    double step = mfu_attentions[a->kind].head_step;

    return step > 0 ? ceil(a->head_dim / step) * step : a->head_dim;
}

/* A copy whose heads are `to` wide instead of `from`; the view itself if that is the same. */
static int resize_heads(struct mfu_builder *s, const char *suffix, int view, double from, double to)
{
    int out;

    if (from == to || view == MFU_NO_VIEW)
        return view;
    out = mfu_tensor_new(s, mfu_view_rows(s, view), mfu_view_columns(s, view) / from * to, mfu_view_type(s, view),
                         MFU_PART_ACTIVATIONS);
    mfu_emit(
        s,
        &(struct mfu_emission){.suffix = suffix, .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR, .fusion = MFU_MAP},
        1, &view, 1, &out);
    return out;
}

static void fused_forward(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_attention a = describe(s, n);
    double head_dim = a.head_dim, wide = padded(&a), rows = s->config->tokens;
    struct mfu_kernel kernel;
    int qkv[3], out[2], bias = MFU_NO_VIEW;

    inputs(s, n, qkv);
    for (int i = 0; i < 3; i++)
        qkv[i] = resize_heads(s, "pad", qkv[i], head_dim, wide);
    for (int i = 1; i < 3; i++)
        qkv[i] = resize_heads(s, "repeat", qkv[i], n->op->attribute[KV_HEADS], a.kv_heads);
    if (window_is_mask(s, n)) {
        bias = mfu_tensor_new(s, a.seq, a.seq, s->numerics.compute, MFU_PART_ACTIVATIONS);
        mfu_emit(s,
                 &(struct mfu_emission){
                     .suffix = "mask", .kind = MFU_POINTWISE, .traffic = MFU_C_DRAM_POINTWISE, .fusion = MFU_ALONE},
                 0, NULL, 1, &bias);
    }
    a.head_dim = wide;
    kernel = mfu_kernel_attention(&a, false);
    if ((out[0] = mfu_kept_result(s)) != MFU_NO_VIEW) {
        out[1] = mfu_kept_result(s);
    } else {
        out[0] = mfu_tensor_new(s, rows, a.heads * wide, s->numerics.compute, MFU_PART_ACTIVATIONS);
        out[1] = mfu_tensor_new(s, rows, a.heads, MFU_F32, MFU_PART_ACTIVATIONS);
        mfu_emit_kernel(s, &kernel, "", 0, 3, qkv, 2, out);
        mfu_offer_result(s, out[0], false);
        mfu_offer_result(s, out[1], false);
    }
    for (int i = 0; i < 3; i++)
        mfu_node_save(s, n, qkv[i]);
    mfu_node_save(s, n, out[0]);
    mfu_node_save(s, n, out[1]);
    mfu_node_save(s, n, bias);
    n->out = resize_heads(s, "slice", out[0], wide, head_dim);
}

static void fused_backward(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_attention a = describe(s, n);
    double head_dim = a.head_dim, wide = padded(&a);
    int in[] = {mfu_autocast(s, n->gradient),
                n->saved[Q],
                n->saved[K],
                n->saved[V],
                n->saved[OUT],
                n->saved[LSE],
                n->saved[BIAS]};
    struct mfu_kernel kernel;
    int d[3];

    in[0] = resize_heads(s, "pad", in[0], head_dim, wide);
    a.head_dim = wide;
    kernel = mfu_kernel_attention(&a, true);
    for (int i = 0; i < 3; i++)
        d[i] = mfu_tensor_new(s, mfu_view_rows(s, in[1 + i]), mfu_view_columns(s, in[1 + i]), s->numerics.compute,
                              MFU_PART_ACTIVATIONS);
    mfu_emit_kernel(s, &kernel, "grad", mfu_attention_backward_bytes(&a), 7, in, 3, d);
    for (int i = 0; i < 3; i++)
        d[i] = resize_heads(s, "slice", d[i], wide, head_dim);
    for (int i = 1; i < 3; i++)
        d[i] = resize_heads(s, "sum_heads", d[i], a.kv_heads, n->op->attribute[KV_HEADS]);
    give_inputs(s, n, d);
}

/* ---- the parts, one by one ---------------------------------------------- */

/* [sequences*heads*seq, seq] = [., seq, d] [., d, seq] or the like. */
static int product(struct mfu_builder *s, const struct mfu_attention *a, const char *suffix, double n, double k, int x,
                   int y)
{
    double batch = a->sequences * a->heads;
    int out = mfu_tensor_new(s, batch * a->seq, n, s->numerics.compute, MFU_PART_ACTIVATIONS);

    return mfu_emit_matmul(s, suffix, a->math, a->seq, n, k, batch, x, y, out);
}

/* A contiguous copy per head, as batched products want it. */
static int per_head(struct mfu_builder *s, const struct mfu_attention *a, const char *suffix, int view)
{
    double rows = a->sequences * a->heads * a->seq;
    int out = mfu_tensor_new(s, rows, a->head_dim, mfu_view_type(s, view), MFU_PART_ACTIVATIONS);

    mfu_emit(
        s,
        &(struct mfu_emission){.suffix = suffix, .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR, .fusion = MFU_MAP},
        1, &view, 1, &out);
    return out;
}

/* Whether the scores are made fp32 for softmax: autocast does that, or the model's code. */
static bool upcasts(const struct mfu_builder *s, const struct mfu_node *n)
{
    return s->numerics.compute != MFU_F32 && (s->numerics.autocast || n->op->attribute[SOFTMAX] == FP32);
}

/* A mask that is added has the type of the embeddings, which makes the scores
 * fp32 under autocast; its gradient passes through.  Inductor's partitioner
 * saves what is masked, since the mask is far away. */
static int masked(struct mfu_builder *s, const struct mfu_node *n, const struct mfu_attention *a, int scores)
{
    bool added = n->op->attribute[MASKING] == ADDED;
    enum mfu_type type = added && s->numerics.residual == MFU_F32 ? MFU_F32 : s->numerics.compute;
    int out;

    if (!added && !a->causal && !(a->window > 0))
        return scores;
    out = mfu_tensor_new(s, mfu_view_rows(s, scores), mfu_view_columns(s, scores), type, MFU_PART_ACTIVATIONS);
    mfu_emit(s,
             &(struct mfu_emission){.suffix = "mask",
                                    .kind = MFU_POINTWISE,
                                    .traffic = added ? MFU_C_DRAM_POINTWISE : MFU_C_DRAM_IRREGULAR,
                                    .fusion = MFU_MAP,
                                    .random = true,
                                    .flops = mfu_view_rows(s, scores) * mfu_view_columns(s, scores)},
             1, &scores, 1, &out);
    return out;
}

static void math_forward(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_attention a = describe(s, n);
    bool one_kernel = s->whole_norms && mfu_config_fused_softmax(s->config); /* scale, mask, softmax */
    double pairs = a.sequences * a.heads * a.seq * a.seq;
    int qkv[3], scores, probabilities, factor, mask = MFU_NO_VIEW, capped = MFU_NO_VIEW, y;

    inputs(s, n, qkv);
    for (int i = 0; i < 3; i++)
        qkv[i] = per_head(s, &a, "contiguous", qkv[i]);
    scores = product(s, &a, "scores", a.seq, a.head_dim, qkv[0], qkv[1]);
    if (!one_kernel) {
        scores = mfu_emit_pointwise(s, "scale", s->numerics.compute, 1, scores, MFU_NO_VIEW, MFU_NO_VIEW);
        if (n->op->attribute[SOFTCAP] > 0)
            for (int i = 0; i < 3; i++) { /* divide, tanh (saved), multiply */
                scores = mfu_emit_pointwise(s, "softcap", s->numerics.compute, i == 1 ? 6 : 1, scores, MFU_NO_VIEW,
                                            MFU_NO_VIEW);
                capped = i == 1 ? scores : capped;
            }
        scores = masked(s, n, &a, scores);
        if (upcasts(s, n) && (!mfu_precisions[s->config->precision].scaler || mfu_view_type(s, scores) == MFU_F32))
            scores = mfu_emit_cast(s, scores, MFU_F32); /* fp16 softmax reads halves itself */
    }
    probabilities = mfu_tensor_new(s, mfu_view_rows(s, scores), mfu_view_columns(s, scores),
                                   upcasts(s, n) ? MFU_F32 : s->numerics.compute, MFU_PART_ACTIVATIONS);
    mfu_emit(s,
             &(struct mfu_emission){.suffix = "softmax",
                                    .kind = MFU_REDUCTION,
                                    .traffic = MFU_C_DRAM_SOFTMAX,
                                    .fusion = MFU_ROW,
                                    .flops = 5 * pairs},
             1, &scores, 1, &probabilities);
    factor = n->op->attribute[SOFTMAX] == FP32 ? mfu_emit_cast(s, probabilities, s->numerics.compute) : probabilities;
    if (n->op->attribute[DROPOUT] > 0) {
        int out[2];

        out[0] = mfu_tensor_new(s, mfu_view_rows(s, scores), mfu_view_columns(s, scores), mfu_view_type(s, factor),
                                MFU_PART_ACTIVATIONS);
        out[1] = mask =
            mfu_tensor_new(s, mfu_view_rows(s, scores), mfu_view_columns(s, scores), MFU_U8, MFU_PART_ACTIVATIONS);
        mfu_emit(s,
                 &(struct mfu_emission){.suffix = "dropout",
                                        .kind = MFU_POINTWISE,
                                        .traffic = MFU_C_DRAM_POINTWISE,
                                        .fusion = MFU_MAP,
                                        .random = true,
                                        .flops = 3 * pairs},
                 1, &factor, 2, out);
        factor = out[0];
    }
    factor = mfu_autocast(s, factor);
    y = product(s, &a, "values", a.head_dim, a.seq, factor, qkv[2]);
    n->out = mfu_tensor_new(s, s->config->tokens, a.heads * a.head_dim, s->numerics.compute, MFU_PART_ACTIVATIONS);
    mfu_emit(
        s,
        &(struct mfu_emission){.suffix = "merge", .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR, .fusion = MFU_MAP},
        1, &y, 1, &n->out);
    for (int i = 0; i < 3; i++)
        mfu_node_save(s, n, qkv[i]);
    mfu_node_save(s, n, probabilities);
    mfu_node_save(s, n, factor);
    mfu_node_save(s, n, mask);
    mfu_node_save(s, n, capped);
}

static void math_backward(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_attention a = describe(s, n);
    bool one_kernel = s->whole_norms && mfu_config_fused_softmax(s->config);
    double pairs = a.sequences * a.heads * a.seq * a.seq;
    int p = n->saved[PROBABILITIES], g = mfu_autocast(s, n->gradient), dp, dscores, in[2];
    int d[3] = {MFU_NO_VIEW, MFU_NO_VIEW, MFU_NO_VIEW};
    double rows = a.sequences * a.seq;

    if (wants(s, n, 2))
        d[2] = product(s, &a, "dvalues", a.head_dim, a.seq, n->saved[FACTOR], g);
    dp = product(s, &a, "dprobabilities", a.seq, a.head_dim, g, n->saved[MATH_V]);
    if (n->saved[MASK] != MFU_NO_VIEW)
        dp = mfu_emit_pointwise(s, "ddropout", mfu_view_type(s, dp), 2, dp, n->saved[MASK], MFU_NO_VIEW);
    if (!one_kernel)
        dp = mfu_emit_cast(s, dp, mfu_view_type(s, p));
    in[0] = dp, in[1] = p;
    dscores =
        mfu_tensor_new(s, mfu_view_rows(s, p), mfu_view_columns(s, p),
                       one_kernel || s->numerics.math == MFU_PEAK_FP16 ? s->numerics.compute : mfu_view_type(s, p),
                       MFU_PART_ACTIVATIONS); /* fp16 softmax writes halves itself */
    mfu_emit(s,
             &(struct mfu_emission){.suffix = "dsoftmax",
                                    .kind = MFU_REDUCTION,
                                    .traffic = MFU_C_DRAM_SOFTMAX,
                                    .fusion = MFU_ROW,
                                    .flops = 5 * pairs},
             2, in, 1, &dscores);
    if (!one_kernel) {
        dscores = mfu_emit_cast(s, dscores, s->numerics.compute);
        if (n->op->attribute[MASKING] == FILLED && (a.causal || a.window > 0))
            dscores = mfu_emit_broadcast(s, "dmask", mfu_view_type(s, dscores), 1, dscores, MFU_NO_VIEW);
        if (n->op->attribute[SOFTCAP] > 0)
            for (int i = 0; i < 3; i++)
                dscores = mfu_emit_pointwise(s, "dsoftcap", mfu_view_type(s, dscores), 3, dscores,
                                             i == 1 ? n->saved[CAPPED] : MFU_NO_VIEW, MFU_NO_VIEW);
        dscores = mfu_emit_pointwise(s, "dscale", mfu_view_type(s, dscores), 1, dscores, MFU_NO_VIEW, MFU_NO_VIEW);
    }
    for (int i = 0; i < 2; i++)
        if (wants(s, n, i))
            d[i] = product(s, &a, i ? "dk" : "dq", a.head_dim, a.seq, dscores, n->saved[i ? MATH_Q : MATH_K]);
    for (int i = 0; i < 3; i++) {
        double columns = (i ? a.kv_heads : a.heads) * a.head_dim;

        if (d[i] == MFU_NO_VIEW)
            continue;
        if (i && a.kv_heads < a.heads) { /* sum over the repeated heads */
            int sum = mfu_tensor_new(s, rows, columns, mfu_view_type(s, d[i]), MFU_PART_ACTIVATIONS);

            mfu_emit(s,
                     &(struct mfu_emission){.suffix = "sum_heads",
                                            .kind = MFU_REDUCTION,
                                            .traffic = MFU_C_DRAM_POINTWISE,
                                            .fusion = MFU_MAP,
                                            .flops = rows * a.heads * a.head_dim},
                     1, &d[i], 1, &sum);
            d[i] = sum;
        } else {
            d[i] = mfu_view_slice(s, d[i], rows, columns);
        }
    }
    give_inputs(s, n, d);
}

static void forward(struct mfu_builder *s, int index)
{
    (!mfu_attentions[s->config->attention].fused ? math_forward : fused_forward)(s, mfu_node_at(s, index));
}

static void backward(struct mfu_builder *s, int index)
{
    (!mfu_attentions[s->config->attention].fused ? math_backward : fused_backward)(s, mfu_node_at(s, index));
}

const struct mfu_primitive mfu_primitive_attention = {
    .name = "attention",
    .summary = "softmax(Q K^T) V over the tokens of a sequence",
    .attributes =
        {
            [HEADS] = {"heads", "n_head", NULL, "query heads"},
            [KV_HEADS] = {"kv_heads", "n_kv_head", NULL, "key/value heads"},
            [HEAD_DIM] = {"head_dim", "head_dim", NULL, "width of one head"},
            [CAUSAL] = {"causal", "1", NULL, "whether a token sees only earlier ones"},
            [WINDOW] = {"window", "0", NULL, "tokens that a query sees; 0: all"},
            [DROPOUT] = {"dropout", "0", NULL, "dropout of the probabilities (math only)"},
            [SOFTCAP] = {"softcap", "0", NULL, "whether scores are capped by tanh"},
            [MASKING] = {"masking", "fill", maskings, "whether a mask is filled in or added (math only)"},
            [SOFTMAX] = {"softmax", "as_given", softmaxes, "whether the code makes scores fp32 itself (math only)"},
        },
    .least_inputs = 1,
    .most_inputs = 3,
    .traits = MFU_MIXES_ROWS,
    .split_columns = 1u << HEADS | 1u << KV_HEADS,
    .key_elements = key_elements,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
