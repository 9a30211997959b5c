/*
 * attention - softmax(Q K^T) V without ever writing the scores (Dao 2022).
 *
 *     forward   4 d FLOP per pair of query and key (Q K^T and P V)
 *     backward  10 d (recomputed Q K^T, dV, dP, dQ, dK)
 *
 * per head; a causal mask leaves half of the pairs (published rates count so;
 * the half-empty blocks on the diagonal are part of the kernels' efficiency).  Per token forward reads q, k, v and writes out and the
 * logsumexp; backward reads q, k, v, out, d out and writes dq, dk, dv.
 */
#include "kernel/attention.h"

#include <math.h>

#include "kernel/kernel.h"

#define BLOCK 128 /* query rows of one thread block, FlashAttention 2 */

const struct mfu_attention_row mfu_attentions[MFU_ATTENTION_COUNT] = {
#define OF_ANY(argument, id, label, text, ...) .name = label, .title = text, __VA_ARGS__
#define MATH_ROW(...) [MFU_MATH] = {OF_ANY(__VA_ARGS__)},
#define X(argument, id, ...)                                                                                           \
    [MFU_##id] = {.fused = true,                                                                                       \
                  .d64 = MFU_C_##id##_D64,                                                                             \
                  .d128 = MFU_C_##id##_D128,                                                                           \
                  .half = MFU_C_##id##_HALF,                                                                           \
                  .backward = MFU_C_##id##_BACKWARD,                                                                   \
                  OF_ANY(argument, id, __VA_ARGS__)},
    MFU_UNFUSED_ATTENTION_KINDS(MATH_ROW, ) MFU_FUSED_ATTENTION_KINDS(X, )
#undef X
};

const char *const mfu_attention_names[MFU_ATTENTION_COUNT + 1] = {
#define X(argument, id, label, ...) [MFU_##id] = label,
    MFU_ATTENTION_KINDS(X, )
#undef X
};

double mfu_attention_pairs(const struct mfu_attention *a)
{
    double s = a->seq, w = a->window > 0 && a->window < s ? a->window : s;

    if (!a->causal)
        return s * fmin(s, 2 * w);
    return w * (w + 1) / 2 + (s - w) * w; /* a triangle, then full rows */
}

double mfu_attention_backward_bytes(const struct mfu_attention *a)
{
    double rounded_d = a->head_dim <= 128 ? ceil(a->head_dim / 32) * 32 : ceil(a->head_dim / 64) * 64;
    double rows = a->sequences * a->heads * ceil(a->seq / BLOCK) * BLOCK;
    /* GQA: dK and dV are first written for every query head. */
    double expanded =
        a->kv_heads < a->heads ? 2 * a->sequences * a->seq * a->heads * a->head_dim * a->element_bytes : 0;

    return rows * (4 * rounded_d + 4) + expanded;
}

double mfu_attention_padded_head(double d)
{
    return d <= 128 ? ceil(d / 32) * 32 : d <= 256 ? ceil(d / 64) * 64 : ceil(d / 128) * 128;
}

const char *mfu_attention_refusal(enum mfu_attention_kind kind, const struct mfu_attention_needs *n)
{
    const struct mfu_attention_row *row = &mfu_attentions[kind];

    if (isnan(n->head_dim))
        return NULL;
    if (n->softcap && !row->any_scores)
        return "this model caps its attention scores, which only math attention does";
    if (n->c_program && !row->in_c_programs)
        return "llm.c has its own kernels (math) or cuDNN's";
    if (!n->half && !row->any_precision)
        return "fused attention needs a 16-bit precision (memeff runs in fp32)";
    if (row->most_head_dim > 0 && n->head_dim > row->most_head_dim)
        return "fused attention needs head_dim <= 256";
    if (n->capability < row->least_capability || (row->below_capability > 0 && n->capability >= row->below_capability))
        return row->lacking;
    return NULL;
}

enum mfu_attention_kind mfu_attention_default(const struct mfu_attention_needs *n)
{
    enum mfu_attention_kind best = MFU_MATH;

    for (int i = 0; i < MFU_ATTENTION_COUNT; i++)
        if (mfu_attentions[i].preference > mfu_attentions[best].preference
            && !mfu_attention_refusal((enum mfu_attention_kind)i, n))
            best = (enum mfu_attention_kind)i;
    return best;
}

double mfu_kernel_counted_flops(const struct mfu_kernel *k)
{
    return mfu_kind_is_attention(k->kind) ? 4 * k->batch * k->n * k->k * k->m * k->m : k->flops;
}

struct mfu_kernel mfu_kernel_attention(const struct mfu_attention *a, bool backward)
{
    double tokens = a->sequences * a->seq, e = a->element_bytes;
    double q = a->heads * a->head_dim, kv = a->kv_heads * a->head_dim;
    double flops = 4 * a->head_dim * a->heads * a->sequences * mfu_attention_pairs(a);
    double lse = 4 * a->heads * tokens;

    return (struct mfu_kernel){
        .kind = MFU_FUSED_ATTENTION,
        .math = a->math,
        .traffic = MFU_C_DRAM_FUSED,
        .attention = a->kind,
        .backward = backward,
        .causal = a->causal,
        .m = a->seq,
        .n = a->heads,
        .k = a->head_dim,
        .batch = a->sequences,
        .flops = backward ? 2.5 * flops : flops,
        .read_bytes = backward ? tokens * e * (3 * q + 2 * kv) + 2 * lse + 4 * tokens * q : tokens * e * (q + 2 * kv),
        .write_bytes = backward ? tokens * e * (q + 2 * kv) + 4 * tokens * q : tokens * e * q + lse,
        .launches = backward ? 3 : 1, /* dot(dO, O), main, convert dQ */
    };
}
