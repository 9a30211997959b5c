/*
 * price.c - seconds of any kernel.
 */
#include <math.h>

#include "base/extreme.h"
#include "cost/cost.h"
#include "cost/law.h"

const char *const mfu_bound_names[] = {"compute", "memory", "launch", "latency", "link"};

/* Below this many rounds of thread blocks a GEMM waits for latencies (chosen;
 * it names the bound, seconds do not depend on it). */
#define LATENCY_WAVES 0.5

double mfu_l2_reach(const struct mfu_machine *m)
{
    return m->c[MFU_C_L2_SHARE] * m->l2_bytes;
}

/* A smooth larger-of-two: p-norm with p = 4. */
static inline double larger(double a, double b)
{
    double x = mfu_most(a, b), y = mfu_least(a, b), r, z;

    if (!(x > 0) || y == 0)
        return x;
    r = y / x;
    z = r * r * r * r;
    if (z > 0.03)
        return x * sqrt(sqrt(1 + z));
    return x * (1 + z * (1. / 4 - z * (3. / 32 - z * (7. / 128 - z * (77. / 2048))))); /* its series: up to 1e-9 */
}

static inline void settle(const struct mfu_kernel *k, struct mfu_price *p)
{
    double busy = larger(p->compute_s, p->memory_s);

    p->time_s = busy + p->overhead_s;
    p->bound = busy < p->overhead_s                             ? MFU_BOUND_LAUNCH
        : p->compute_s < p->memory_s                            ? MFU_BOUND_MEMORY
        : mfu_kind_is_gemm(k->kind) && p->waves < LATENCY_WAVES ? MFU_BOUND_LATENCY
                                                                : MFU_BOUND_COMPUTE;
}

/* Rows up to which softmax keeps them in registers, and up to which a norm finds
 * them in L1 when it reads them for the second time (PyTorch's kernels). */
#define SOFTMAX_SHORT 1024
#define NORM_SHORT 2048

static enum mfu_coefficient class_of(const struct mfu_kernel *k)
{
    return k->traffic == MFU_C_DRAM_NORM && k->n > NORM_SHORT       ? MFU_C_DRAM_NORM_LONG
        : k->traffic == MFU_C_DRAM_SOFTMAX && k->n <= SOFTMAX_SHORT ? MFU_C_DRAM_SOFTMAX_SHORT
                                                                    : k->traffic;
}

/* The coefficient that says how many elements such a kernel gets through per clock and SM, whatever their size;
 * MFU_COEFFICIENT_COUNT: no law is known.  Eager PyTorch's kernels keep so many in flight (Little's law), strided ones by
 * one load.  Plain casts look up both types for each element (torch native/cuda/MemoryAccess.cuh, LoadWithCast), but those to
 * fewer bytes since 2.6 (#137053).  Weights that are dequantised are held up by instructions, in any runtime: a tree of
 * branches each, a table from 2025 on (bitsandbytes, pull request 1746). */
static enum mfu_coefficient rate_of(const struct mfu_machine *m, const struct mfu_kernel *k)
{
    bool loaded_wide = !mfu_kinds[k->kind].casts || k->flops > 0 || (m->loads > 1 && k->write_bytes < k->read_bytes);

    switch (k->traffic) {
    case MFU_C_DRAM_DROPOUT: return MFU_C_RATE_POINTWISE;
    case MFU_C_DRAM_POINTWISE: return loaded_wide ? MFU_C_RATE_POINTWISE : MFU_C_RATE_CAST;
    case MFU_C_DRAM_IRREGULAR: return mfu_kinds[k->kind].lays_out ? MFU_C_RATE_COPIED : MFU_C_RATE_STRIDED;
    case MFU_C_DRAM_NORM: return MFU_C_RATE_NORM;
    case MFU_C_DRAM_DEQUANTISE: return MFU_C_RATE_DEQUANTISE;
    default: return MFU_COEFFICIENT_COUNT;
    }
}

static double elements_per_s(const struct mfu_machine *m, const struct mfu_kernel *k)
{
    enum mfu_coefficient rate = rate_of(m, k);
    bool eager = k->half_share > 0; /* whatever runs the rest */
    double hz = eager || rate == MFU_C_RATE_DEQUANTISE ? m->sm_clock_hz : m->element_clock_hz;
    bool one_by_one = rate == MFU_C_RATE_STRIDED || rate == MFU_C_RATE_COPIED || rate == MFU_C_RATE_CAST;

    return rate == MFU_COEFFICIENT_COUNT ? 0 : m->c[rate] * (one_by_one ? 1 : m->loads) * hz;
}

/* What a kernel of this class draws from DRAM.  Loads of four elements leave too
 * few bytes in flight when these are 16-bit ones; where the law of elements in
 * flight is known, it says so itself. */
static double dram_bytes_s(const struct mfu_machine *m, const struct mfu_kernel *k, bool known)
{
    double slower = k->half_share > 0 && !known ? 1 + k->half_share * (1 / m->c[MFU_C_DRAM_HALF] - 1) : 1;

    if (k->traffic == MFU_C_DRAM_CACHE)
        slower = 1 + m->c[MFU_C_CACHE_HALF] / (k->batch * k->n);
    return mfu_least(mfu_dram_bytes_s(m, class_of(k)) / slower, m->l2_bytes_s);
}

/* Later passes over a row find it in L2 if the rows in flight fit there: two
 * blocks of 1024 threads on every SM, a row each. */
static double reread_seconds(const struct mfu_machine *m, const struct mfu_kernel *k, double dram_bytes_s)
{
    double row_bytes;

    if (k->reread_bytes <= 0)
        return 0;
    row_bytes = k->read_bytes / mfu_most(k->m, 1);
    return k->reread_bytes / (2 * m->sms * row_bytes <= m->l2_bytes ? m->l2_bytes_s : dram_bytes_s);
}

void mfu_price_arithmetic(const struct mfu_machine *m, const struct mfu_kernel *k, struct mfu_price *p)
{
    *p = (struct mfu_price){0};
    if (k->launches <= 0)
        return;
    p->compute_s = mfu_law_of(k)->compute_s(m, k, p);
    if (k->flops > 0 && m->roof_flops[k->math] > 0)
        p->compute_s = mfu_most(p->compute_s, k->flops / m->roof_flops[k->math]);
}

void mfu_price_traffic(const struct mfu_machine *m, const struct mfu_kernel *k, double inside_bytes,
                       struct mfu_price *p)
{
    double bytes = k->read_bytes + k->write_bytes, rate, dram, elements_s;

    p->overhead_s = k->launches * m->c[MFU_C_KERNEL_OVERHEAD];
    if (k->launches <= 0)
        return;
    rate = elements_per_s(m, k);
    dram = dram_bytes_s(m, k, rate > 0);
    p->memory_s = mfu_most(bytes - inside_bytes, 0) / dram + inside_bytes / m->l2_bytes_s + reread_seconds(m, k, dram);
    elements_s = rate > 0 ? k->m * k->n * k->batch / rate : 0;
    p->of_memory = elements_s > p->memory_s ? rate_of(m, k) : class_of(k);
    p->memory_s = larger(p->memory_s, elements_s);
    if (!mfu_kind_is_gemm(k->kind) && bytes > inside_bytes)
        p->overhead_s += k->launches * m->c[MFU_C_KERNEL_RAMP] * (1 - inside_bytes / bytes);
    settle(k, p);
}

void mfu_price_kernel(const struct mfu_machine *m, const struct mfu_kernel *k, double hot_bytes, double absorbed_bytes,
                      struct mfu_price *p)
{
    mfu_price_arithmetic(m, k, p);
    mfu_price_traffic(m, k, hot_bytes + absorbed_bytes, p);
}

void mfu_price_throttle(const struct mfu_machine *m, const struct mfu_kernel *k, double duty, struct mfu_price *p)
{
    double moved_s;

    if (k->math == MFU_PEAK_FP32 || !(p->compute_s * m->throttle * duty > 0))
        return;
    moved_s = mfu_kind_is_gemm(k->kind) ? mfu_gemm_epilogue_s(m, k) : 0; /* memory keeps its clock */
    p->compute_s += (p->compute_s - moved_s) * m->throttle * duty;
    settle(k, p);
}
