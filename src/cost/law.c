/*
 * law.c - the laws of arithmetic, a row each.
 */
#include "cost/law.h"

#include "descriptor/gpu.h"

/* ---- products ------------------------------------------------------------ */

static double stream_s(const struct mfu_machine *m, const struct mfu_kernel *k, struct mfu_price *p);

/* Products that the kernels of depthwise convolutions do in a clock on an SM: indices, bounds and loads hold them up, not
 * the multiplier (torch native/cuda/DepthwiseConv2d.cu). */
static enum mfu_coefficient depthwise_rate(const struct mfu_kernel *k)
{
    return k->depthwise == MFU_DEPTHWISE_HALF    ? MFU_C_RATE_DEPTHWISE_HALF
        : k->depthwise == MFU_DEPTHWISE_GRADIENT ? MFU_C_RATE_DEPTHWISE_GRADIENT
                                                 : MFU_C_RATE_DEPTHWISE;
}

/* How much faster a window is that the compiler unrolls (pytorch#1708). */
#define UNROLLED 2

/* A vector for each of many channels fills no tile. */
static double product_s(const struct mfu_machine *m, const struct mfu_kernel *k, struct mfu_price *p)
{
    struct mfu_tiling t;
    double rate = m->c[depthwise_rate(k)] * (k->depthwise == MFU_DEPTHWISE_UNROLLED ? UNROLLED : 1) * m->sm_clock_hz;

    if (k->depthwise != MFU_NOT_DEPTHWISE && rate > 0)
        return k->m * k->n * k->k * k->batch / rate;
    if (k->n == 1 && k->batch > 1)
        return stream_s(m, k, p);
    t = mfu_gemm_tiling(m, k);

    p->blocks = t.blocks;
    p->waves = t.waves;
    return t.compute_s;
}

/* cuBLAS's kernels are persistent on Hopper and data-centre Blackwell. */
static struct mfu_grid product_grid(const struct mfu_gpu *g, const struct mfu_machine *m, const struct mfu_kernel *k,
                                    struct mfu_tiling *t)
{
    bool persistent = g->compute_capability >= 9.0 && g->compute_capability < 12.0 && k->math != MFU_PEAK_FP32;

    *t = mfu_gemm_tiling(m, k);
    if (t->tile_m <= 0) /* a machine without rates */
        return (struct mfu_grid){.blocks = 1, .threads = 128, .padded_flops = k->flops};
    return mfu_grid_gemm(k, t->tile_m, t->tile_n, t->split, persistent);
}

static enum mfu_coefficient product_rule(const struct mfu_kernel *k, const struct mfu_price *p)
{
    return p->compute_s <= p->memory_s      ? p->of_memory
        : k->depthwise != MFU_NOT_DEPTHWISE ? depthwise_rate(k)
        : k->math == MFU_PEAK_FP32          ? MFU_C_GEMM_FP32
                                            : MFU_C_GEMM_EFFICIENCY;
}

/* ---- attention ----------------------------------------------------------- */

static struct mfu_grid attention_grid(const struct mfu_gpu *g, const struct mfu_machine *m, const struct mfu_kernel *k,
                                      struct mfu_tiling *t)
{
    (void)m, (void)t;
    return mfu_grid_attention(k, g->shared_block_bytes);
}

static enum mfu_coefficient attention_rule(const struct mfu_kernel *k, const struct mfu_price *p)
{
    return p->compute_s > p->memory_s ? mfu_attention_rule(k->attention, k->k) : p->of_memory;
}

/* ---- streams ------------------------------------------------------------- */

/* Arithmetic on the CUDA cores next to memory traffic: half of the fp32 peak,
 * since most of it is not multiply-adds (chosen; few kernels depend on it). */
#define VECTOR_SHARE 0.5

static double stream_s(const struct mfu_machine *m, const struct mfu_kernel *k, struct mfu_price *p)
{
    (void)p;
    return k->flops / (VECTOR_SHARE * m->peak_flops[MFU_PEAK_FP32]);
}

static struct mfu_grid stream_grid(const struct mfu_gpu *g, const struct mfu_machine *m, const struct mfu_kernel *k,
                                   struct mfu_tiling *t)
{
    (void)g, (void)m, (void)t;
    return mfu_grid_stream(k);
}

static enum mfu_coefficient stream_rule(const struct mfu_kernel *k, const struct mfu_price *p)
{
    (void)k;
    return p->of_memory;
}

/* -------------------------------------------------------------------------- */

const struct mfu_law_row mfu_laws[] = {
    [MFU_LAW_STREAM] = {stream_s, stream_grid, stream_rule},
    [MFU_LAW_PRODUCT] = {product_s, product_grid, product_rule, .tells_blocks = true, .throttles = true,
                         .tensor = true},
    [MFU_LAW_ATTENTION] = {mfu_attention_seconds, attention_grid, attention_rule, .tensor = true},
};
_Static_assert(sizeof mfu_laws / sizeof mfu_laws[0] == MFU_LAW_COUNT, "a law without a row");
