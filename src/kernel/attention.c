/*
 * attention - softmax(Q K^T) V without ever writing the scores (Dao 2022).
 *
 *     forward   4 d FLOP per pair of query and key (Q K^T and P V)
 *     backward  10 d (recomputed Q K^T, dV, dP, dQ, dK)
 *
 * with values as wide as keys (else 2 and 6 times the one width, 2 and 4 times the other),
 *
 * per head; a causal mask leaves half of the pairs (published rates count so;
 * the half-empty blocks on the diagonal are part of the kernels' efficiency).  Per token forward reads q, k, v and writes out and the
 * logsumexp; backward reads q, k, v, out, d out and writes dq, dk, dv.
 */
#include "kernel/attention_kind.h"
#include "kernel/kernel.h"

#include <math.h>

#define BLOCK 128 /* query rows of one thread block, FlashAttention 2 */

/* Of a sequence of s tokens that all see each other, but for the mask. */
static double masked_pairs(double s, const void *attention)
{
    const struct mfu_attention *a = attention;
    double w = a->window > 0 && a->window < s ? a->window : s;

    if (!a->causal)
        return s * fmin(s, 2 * w);
    return w * (w + 1) / 2 + (s - w) * w; /* a triangle, then full rows */
}

static double all_pairs(double s, const void *attention)
{
    (void)attention;
    return s * s;
}

/* What documents leave of the pairs of a row: the sum over them, of that of the whole row. */
static double share_of_pairs(const struct mfu_attention *a, double (*pairs)(double, const void *))
{
    const struct mfu_documents *d = &a->documents;

    if (!(d->mean > 0))
        return 1;
    return mfu_documents_mean(d, a->row, pairs, a) * d->fill * a->row / mfu_documents_mean(d, a->row, NULL, NULL)
        / pairs(a->row, a);
}

double mfu_attention_pairs(const struct mfu_attention *a)
{
    if (a->keys > 0 && a->keys != a->seq)
        return a->seq * a->keys;
    return masked_pairs(a->seq, a) * share_of_pairs(a, masked_pairs);
}

/* Tokens of a sequence that this rank asks for. */
static double queries(const struct mfu_attention *a)
{
    return a->seq / fmax(1, a->ranks);
}

static double keys(const struct mfu_attention *a)
{
    return a->keys > 0 ? a->keys : a->seq;
}

double mfu_attention_share_of_step(const struct mfu_attention *a)
{
    double steps = fmax(1, a->steps);

    return a->causal ? (1 + 0.75 * (steps - 1)) / steps : 1;
}

double mfu_attention_backward_bytes(const struct mfu_attention *a)
{
    double rounded_d = a->head_dim <= 128 ? ceil(a->head_dim / 32) * 32 : ceil(a->head_dim / 64) * 64;
    double rows = a->sequences * a->heads * ceil(queries(a) / BLOCK) * BLOCK;
    /* GQA: dK and dV are first written for every query head. */
    double expanded = a->kv_heads < a->heads
        ? 2 * a->sequences * keys(a) / fmax(1, a->steps) * a->heads * a->head_dim * a->element_bytes
        : 0;

    return rows * (4 * rounded_d + 4) + expanded;
}

double mfu_kernel_counted_flops(const struct mfu_kernel *k)
{
    return mfu_kind_is_attention(k->kind) ? 4 * k->batch * k->n * k->k * k->pairs
        : k->winograd                     ? k->flops * 36 / 16
                                          : k->flops;
}

struct mfu_kernel mfu_kernel_attention(const struct mfu_attention *a, bool backward)
{
    double steps = fmax(1, a->steps), ranks = fmax(1, a->ranks), met = mfu_attention_share_of_step(a);
    /* Queries are read in every step, keys in one of them. */
    double tokens = a->sequences * queries(a) * steps * met, others = a->sequences * keys(a);
    double d = a->head_dim, v = a->value_dim > 0 ? a->value_dim : d, e = a->element_bytes;
    double q = tokens * a->heads * d, out = tokens * a->heads * v, kv = others * met * a->kv_heads * (d + v);
    double products = 2 * a->heads * a->sequences * mfu_attention_pairs(a) / ranks; /* 1 wide */
    double lse = 4 * a->heads * tokens;

    return (struct mfu_kernel){
        .kind = MFU_FUSED_ATTENTION,
        .math = a->math,
        .traffic = MFU_C_DRAM_FUSED,
        .attention = a->kind,
        .backward = backward,
        .causal = a->causal,
        .drops = a->drops,
        .m = queries(a),
        .n = a->heads,
        .k = (d + v) / 2,
        .batch = a->sequences * steps,
        .window = a->window,
        .pairs = queries(a) * keys(a) / steps * share_of_pairs(a, all_pairs),
        .flops = products * (backward ? 3 * d + 2 * v : d + v),
        .read_bytes = backward ? e * (q + 2 * out + kv) + 2 * lse + 4 * q : e * (q + kv),
        .write_bytes = backward ? e * (q + kv) + 4 * q : e * out + lse,
        .launches = steps * (backward ? mfu_attentions[a->kind].launches_backward : 1),
    };
}
