/*
 * price.c - seconds of any kernel.
 */
#include <math.h>

#include "cost/cost.h"
#include "cost/law.h"

const char *const mfu_bound_names[] = {"compute", "memory", "launch", "latency"};

/* Below this many rounds of thread blocks a GEMM waits for latencies (chosen;
 * it names the bound, seconds do not depend on it). */
#define LATENCY_WAVES 0.5

double mfu_l2_reach(const struct mfu_machine *m)
{
    return m->c[MFU_C_L2_SHARE] * m->l2_bytes;
}

/* A smooth larger-of-two: p-norm with p = 4. */
static double larger(double a, double b)
{
    double x = fmax(a, b), r = x > 0 ? fmin(a, b) / x : 0;

    double z = r * r * r * r;

    if (z > 0.03)
        return x * sqrt(sqrt(1 + z));
    return x * (1 + z * (1. / 4 - z * (3. / 32 - z * (7. / 128 - z * (77. / 2048))))); /* its series: up to 1e-9 */
}

static void settle(const struct mfu_kernel *k, struct mfu_price *p)
{
    double busy = larger(p->compute_s, p->memory_s);

    p->time_s = busy + p->overhead_s;
    p->bound = busy < p->overhead_s                             ? MFU_BOUND_LAUNCH
        : p->compute_s < p->memory_s                            ? MFU_BOUND_MEMORY
        : mfu_kind_is_gemm(k->kind) && p->waves < LATENCY_WAVES ? MFU_BOUND_LATENCY
                                                                : MFU_BOUND_COMPUTE;
}

/* What a kernel of this class draws from DRAM; loads of four elements leave
 * too few bytes in flight when these are 16-bit ones. */
static double dram_bytes_s(const struct mfu_machine *m, const struct mfu_kernel *k)
{
    double slower = k->half_share > 0 ? 1 + k->half_share * (1 / m->c[MFU_C_DRAM_HALF] - 1) : 1;

    return fmin(m->c[k->traffic] * m->bandwidth_bytes_s / slower, m->l2_bytes_s);
}

/* Later passes over a row find it in L2 if the rows in flight fit there: two
 * blocks of 1024 threads on every SM, a row each. */
static double reread_seconds(const struct mfu_machine *m, const struct mfu_kernel *k)
{
    double row_bytes = k->read_bytes / fmax(k->m, 1);

    if (k->reread_bytes <= 0)
        return 0;
    return k->reread_bytes / (2 * m->sms * row_bytes <= m->l2_bytes ? m->l2_bytes_s : dram_bytes_s(m, k));
}

void mfu_price_kernel(const struct mfu_machine *m, const struct mfu_kernel *k, double hot_bytes, double absorbed_bytes,
                      struct mfu_tilings *tilings, struct mfu_price *p)
{
    double inside_bytes = hot_bytes + absorbed_bytes;

    *p = (struct mfu_price){.overhead_s = k->launches * m->c[MFU_C_KERNEL_OVERHEAD]};
    if (k->launches <= 0)
        return;
    p->compute_s = mfu_law_of(k)->compute_s(m, k, tilings, p);
    if (k->flops > 0 && m->roof_flops[k->math] > 0)
        p->compute_s = fmax(p->compute_s, k->flops / m->roof_flops[k->math]);
    p->memory_s = fmax(k->read_bytes + k->write_bytes - inside_bytes, 0) / dram_bytes_s(m, k)
        + inside_bytes / m->l2_bytes_s + reread_seconds(m, k);
    settle(k, p);
}

void mfu_price_throttle(const struct mfu_machine *m, const struct mfu_kernel *k, double duty, struct mfu_price *p)
{
    if (!(p->compute_s * m->throttle * duty > 0))
        return;
    p->compute_s *= 1 + m->throttle * duty;
    settle(k, p);
}
