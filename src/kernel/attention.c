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
#include "kernel/attention_kind.h"
#include "kernel/kernel.h"

#include <math.h>

#define BLOCK 128 /* query rows of one thread block, FlashAttention 2 */

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
        .launches = backward ? mfu_attentions[a->kind].launches_backward : 1,
    };
}
