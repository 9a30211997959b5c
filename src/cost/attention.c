/*
 * attention.c - how long a fused attention kernel computes.
 *
 *     rate(S) = e(d) peak S/(S + S_half)       backward: times a ratio
 *
 * e depends on the kernel and on the head size (measured at 64 and 128); short
 * sequences and grids of fewer blocks than SMs run slower.  Published curves of
 * FlashAttention 2 and 3 and cuDNN follow this form within 5 %.  Dropout adds pairs/rate.
 */
#include <math.h>

#include "cost/cost.h"

/* Rows of queries that one block works on (FlashAttention 2 launch templates). */
#define BLOCK 128.

enum mfu_coefficient mfu_attention_rule(enum mfu_attention_kind kind, double head_dim)
{
    return mfu_attention_padded_head(head_dim) > 96 ? mfu_attentions[kind].d128 : mfu_attentions[kind].d64;
}

/* The fraction of the peak at a (padded) head size.
 *
 * Each pair of tokens costs its products, in proportion to d, and a softmax that
 * does not depend on d: e(d) is proportional to d/(d + d0), through the points
 * e64 and e128; beyond 128 the softmax is negligible.  Two cannot be: e128 below
 * e64 (d0 would be negative; then the rate is e128 at every size), and e128
 * above 2 e64 (the larger head would take less time than the smaller one; then
 * it takes as much). */
static double fraction(double e64, double e128, double d)
{
    double a = fmin(e64, e128), b = fmin(e128, 2 * a);

    return d >= 128 ? b : a * b * d / (a * (2 * d - 128) + b * (128 - d));
}

/* Random numbers of the CUDA cores (FlashAttention 2.8, csrc/flash_attn/src/dropout.h, philox.cuh: seven rounds for sixteen
 * pairs, about 4 instructions a pair in forward and 8 in backward), which products hardly hide: softmax waits for the same
 * units.  What it adds does not depend on the head size (xformers#587: .3 ms of 537 million pairs with 64 and with 128). */
static double dropout_seconds(const struct mfu_machine *m, const struct mfu_kernel *k, double pairs)
{
    double rate = m->c[MFU_C_RATE_DROPOUT] * m->sm_clock_hz;

    return k->drops && rate > 0 ? pairs / rate : 0;
}

double mfu_attention_seconds(const struct mfu_machine *m, const struct mfu_kernel *k, struct mfu_price *p)
{
    const struct mfu_attention_row *row = &mfu_attentions[k->attention];
    double padded = mfu_attention_padded_head(k->k), e = fraction(m->c[row->d64], m->c[row->d128], padded);
    /* In blocks' worth of work: one that is filled in part takes its part. */
    double waves = k->batch * k->n * fmax(1, k->m / BLOCK) / m->sms;
    /* What counts is how many keys a query has on average; the half length is
     * of causal attention, without a mask it is a quarter. */
    double pairs = k->flops / (k->backward ? 10 : 4) / (k->k * k->n * k->batch);
    double keys = fmin(pairs / k->m, k->pairs / k->m / (k->causal ? 2 : 1));

    e *= keys / (keys + m->c[row->half] * (k->causal ? 0.5 : 0.25));
    if (k->backward)
        e *= m->c[row->backward];
    p->blocks = k->batch * k->n * ceil(k->m / BLOCK);
    p->waves = p->blocks / m->sms;
    return k->flops * (padded / k->k) / (m->attention_flops * m->peak_flops[k->math] * e * sqrt(waves / ceil(waves)))
        + dropout_seconds(m, k, pairs * k->n * k->batch);
}
