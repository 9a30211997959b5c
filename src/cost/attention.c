/*
 * attention.c - how long a fused attention kernel computes.
 *
 *     rate(S) = e(d) peak S/(S + S_half)       backward: times a ratio
 *
 * e depends on the kernel and on the head size (measured at 64 and 128); short
 * sequences and grids of fewer blocks than SMs run slower.  Published curves of
 * FlashAttention 2 and 3 and cuDNN follow this form within 5 %.
 */
#include <math.h>

#include "cost/cost.h"

static const struct {
    enum mfu_coefficient d64, d128, half, backward;
} of_kind[MFU_ATTENTION_COUNT] = {
    [MFU_FLASH1] = {MFU_C_FLASH1_D64, MFU_C_FLASH1_D128, MFU_C_FLASH1_HALF, MFU_C_FLASH1_BACKWARD},
    [MFU_TRITON] = {MFU_C_TRITON_D64, MFU_C_TRITON_D128, MFU_C_TRITON_HALF, MFU_C_TRITON_BACKWARD},
    [MFU_FLASH] = {MFU_C_FLASH_D64, MFU_C_FLASH_D128, MFU_C_FLASH_HALF, MFU_C_FLASH_BACKWARD},
    [MFU_FLASH3] = {MFU_C_FLASH3_D64, MFU_C_FLASH3_D128, MFU_C_FLASH3_HALF, MFU_C_FLASH3_BACKWARD},
    [MFU_CUDNN] = {MFU_C_CUDNN_D64, MFU_C_CUDNN_D128, MFU_C_CUDNN_HALF, MFU_C_CUDNN_BACKWARD},
    [MFU_MEMEFF] = {MFU_C_MEMEFF_D64, MFU_C_MEMEFF_D128, MFU_C_MEMEFF_HALF, MFU_C_MEMEFF_BACKWARD},
};

/* Rows of queries that one block works on (FlashAttention 2 launch templates). */
#define BLOCK 128.

/* Kernels are compiled for head sizes 32, 64, 96, 128, 192, 256: others pad. */
static double padded_head(double d)
{
    return d <= 32 ? 32 : d <= 64 ? 64 : d <= 96 ? 96 : d <= 128 ? 128 : d <= 192 ? 192 : 256;
}

enum mfu_coefficient mfu_attention_rule(enum mfu_attention_kind kind, double head_dim)
{
    return padded_head(head_dim) > 96 ? of_kind[kind].d128 : of_kind[kind].d64;
}

double mfu_attention_seconds(const struct mfu_machine *m, const struct mfu_kernel *k, struct mfu_price *p)
{
    double d64 = m->c[of_kind[k->attention].d64], d128 = m->c[of_kind[k->attention].d128];
    double padded = padded_head(k->k), e, d0, blocks, waves, causal;

    /* Each pair costs its products, in proportion to d, and a softmax that does
     * not depend on d: e(d) = e d/(d + d0), through the two measured points. */
    d0 = d128 > d64 ? 128 * (d128 - d64) / (2 * d64 - d128) : 0;
    e = padded >= 128 ? d128 : d128 * (128 + d0) / 128 * padded / (padded + d0);
    /* The half length is of causal attention; without a mask it is a quarter. */
    causal = k->flops / (k->backward ? 10 : 4) / (k->k * k->n * k->batch * k->m * k->m);
    e *= k->m / (k->m + m->c[of_kind[k->attention].half] * (causal > 0.9 ? 0.25 : 1));
    if (k->backward)
        e *= m->c[of_kind[k->attention].backward];
    blocks = k->batch * k->n * ceil(k->m / BLOCK);
    waves = blocks / m->sms;
    p->blocks = blocks;
    p->waves = waves;
    return k->flops * (padded / k->k) / (m->attention_flops * m->peak_flops[k->math] * e * sqrt(waves / ceil(waves)));
}
