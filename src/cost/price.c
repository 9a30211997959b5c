/*
 * price.c - seconds of any kernel.
 */
#include <math.h>

#include "cost/cost.h"

const char *const mfu_bound_names[] = {"compute", "memory", "launch", "latency"};

/* Arithmetic on the CUDA cores next to memory traffic: half of the fp32 peak,
 * since most of it is not multiply-adds. */
#define VECTOR_SHARE 0.5

/* Below this many rounds of thread blocks a GEMM waits for latencies. */
#define LATENCY_WAVES 0.5

double mfu_l2_reach(const struct mfu_machine *m)
{
    return m->c[MFU_C_L2_SHARE] * m->l2_bytes;
}

/* What is still in L2 is read from there; what is written stays there only when
 * the whole working set is small. */
static double memory_seconds(const struct mfu_machine *m, const struct mfu_kernel *k, double hot_bytes,
                             double dram_bytes_s)
{
    double cold_bytes = k->read_bytes + k->write_bytes - hot_bytes, reach = mfu_l2_reach(m);

    if (reach > 0 && !k->cold && k->read_bytes + k->write_bytes <= reach) {
        hot_bytes += k->write_bytes;
        cold_bytes -= k->write_bytes;
    }
    return fmax(cold_bytes, 0) / dram_bytes_s + hot_bytes / m->l2_bytes_s;
}

/* A smooth larger-of-two: p-norm with p = 4 (kernel-model notes 2d). */
static double larger(double a, double b)
{
    double x = fmax(a, b), r = x > 0 ? fmin(a, b) / x : 0;

    return x * sqrt(sqrt(1 + r * r * r * r));
}

void mfu_price_kernel(const struct mfu_machine *m, const struct mfu_kernel *k, double hot_bytes,
                      struct mfu_price *p)
{
    double busy;

    *p = (struct mfu_price){.overhead_s = k->launches * m->c[MFU_C_KERNEL_OVERHEAD]};
    if (k->launches <= 0)
        return;
    if (k->kind == MFU_GEMM) {
        struct mfu_tiling t = mfu_gemm_tiling(m, k);

        p->compute_s = t.compute_s;
        p->blocks = t.blocks;
        p->waves = t.waves;
    } else {
        if (k->kind == MFU_FUSED_ATTENTION)
            p->compute_s = mfu_attention_seconds(m, k, p);
        else
            p->compute_s = k->flops / (VECTOR_SHARE * m->peak_flops[MFU_PEAK_FP32]);
    }
    p->memory_s = memory_seconds(m, k, hot_bytes, m->c[k->traffic] * m->bandwidth_bytes_s);
    busy = larger(p->compute_s, p->memory_s);
    p->time_s = busy + p->overhead_s;
    p->bound = busy < p->overhead_s ? MFU_BOUND_LAUNCH
        : p->compute_s < p->memory_s ? MFU_BOUND_MEMORY
        : k->kind == MFU_GEMM && p->waves < LATENCY_WAVES ? MFU_BOUND_LATENCY : MFU_BOUND_COMPUTE;
}
