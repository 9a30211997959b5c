/*
 * gemm.c - how long a matrix product computes.
 *
 * cuBLAS chooses a tile and may split K; taking the fastest of the candidates
 * gives wave quantization its real size.  For a tile tm x tn and s pieces of K:
 *
 *     e(tile) = I/(I + I0) (I256 + I0)/I256     I = tm tn/(tm + tn)
 *     time    = ceil(blocks/SMs) SMs tm tn 2 (K/s + K0) / (SMs-wide rate e)
 *             + (s > 1: reduction of the partial sums) + what a wide result moves
 *
 * `times` over where each product is a kernel of its own, whose last round nothing fills.
 * With the rate of a 256x128 tile.  Fitted to published bf16 sweeps
 * of nine GPUs: 3.5 to 5 % on shapes that the fit did not see (docs/cost-model.md).
 */
#include <math.h>

#include "base/extreme.h"
#include "cost/cost.h"

static const struct {
    int m, n;
} tiles[] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}, {16, 128}};
#define FEW 64 /* rows: a tile of fewer is for products that have no more (decoding) */
/* Numbers of pieces: cuBLAS takes any; more are worth their sums where K is as long as a batch has pixels. */
static const int splits[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32};
/* I256: products per element loaded, of the tile that the rate refers to. */
#define REFERENCE_INTENSITY (256. * 128 / (256 + 128))

/* Blocks end together, a wave at a time; K0 has the two bytes an element of the products that were measured. */
double mfu_gemm_epilogue_s(const struct mfu_machine *m, const struct mfu_kernel *k)
{
    double plain = 2 * k->m * k->n * k->batch, moved = k->write_bytes * (k->accumulates ? 2 : 1);

    if (k->math == MFU_PEAK_FP32 || k->math == MFU_PEAK_TF32)
        return 0;
    return m->c[MFU_C_GEMM_EPILOGUE] * fmax(0, moved - plain) / (m->c[MFU_C_GEMM_BANDWIDTH] * m->bandwidth_bytes_s);
}

struct mfu_tiling mfu_gemm_tiling(const struct mfu_machine *m, const struct mfu_kernel *k)
{
    /* K0 and I0 are measured in 16-bit multiply time: a slower pipe with wider
     * elements waits for its operands correspondingly less. */
    double slower = fmin(1, m->peak_flops[k->math] / m->peak_flops[MFU_PEAK_FP16]);
    double wider = k->math == MFU_PEAK_FP32 || k->math == MFU_PEAK_TF32 ? 2 : 1;
    double rate = m->gemm_flops[k->math];
    double i0 = m->c[MFU_C_GEMM_I0] * fmin(1, slower * wider), k0 = m->c[MFU_C_GEMM_K0] * slower;
    double reference;
    double at_once = mfu_kernel_at_once(k), times = k->batch / at_once;
    double partial_sums_s = 4 * k->m * k->n * at_once / (m->c[MFU_C_GEMM_BANDWIDTH] * m->bandwidth_bytes_s);
    struct mfu_tiling best = {.compute_s = INFINITY};

    if (!(slower > 0))
        i0 = m->c[MFU_C_GEMM_I0], k0 = m->c[MFU_C_GEMM_K0]; /* no tensor cores */
    reference = (REFERENCE_INTENSITY + i0) / REFERENCE_INTENSITY;
    if (!k->aligned && k->math != MFU_PEAK_FP32) /* loads of single elements, which TF32 needs half as often */
        rate = mfu_least(rate, m->c[MFU_C_GEMM_MISALIGNED] * m->gemm_flops[MFU_PEAK_FP16]);
    for (size_t t = 0; t < sizeof tiles / sizeof tiles[0]; t++) {
        double tm = tiles[t].m, tn = tiles[t].n, intensity = tm * tn / (tm + tn);
        double e = intensity / (intensity + i0) * reference;
        double per_split = at_once * ceil(k->m / tm) * ceil(k->n / tn);

        if (tm < FEW && k->m > tm)
            continue;
        for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
            double s = splits[i], blocks = per_split * s, waves = ceil(blocks / m->sms);
            double block_s = m->sms * tm * tn * 2 * (k->k / s + k0) / (e * rate);
            double sums_s = s > 1 ? m->c[MFU_C_GEMM_SPLIT] + s * partial_sums_s : 0;
            double seconds = waves * block_s + sums_s;

            if (blocks / m->sms * block_s + sums_s >= best.compute_s)
                break; /* not even full rounds of this many pieces are faster, nor are more */
            if (seconds < best.compute_s)
                best = (struct mfu_tiling){.tile_m = tiles[t].m,
                                           .tile_n = tiles[t].n,
                                           .split = splits[i],
                                           .blocks = blocks,
                                           .waves = blocks / m->sms,
                                           .compute_s = seconds};
            if (k->k / s < 256)
                break; /* pieces of K become too short */
        }
    }
    best.compute_s = best.compute_s * times + mfu_gemm_epilogue_s(m, k);
    return best;
}
