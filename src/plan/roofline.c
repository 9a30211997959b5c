/*
 * roofline.c - the roofs of a GPU and the place of a kernel below them.
 */
#include "plan/roofline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double mfu_roof_dram(const struct mfu_machine *m)
{
    return m->bandwidth_bytes_s;
}

double mfu_roof_l2(const struct mfu_machine *m)
{
    return m->l2_bytes > 0 ? m->l2_bytes_s : 0;
}

double mfu_ridge(const struct mfu_machine *m, double flops_per_s)
{
    return flops_per_s / m->bandwidth_bytes_s;
}

double mfu_ridge_l2(const struct mfu_machine *m, double flops_per_s)
{
    return m->l2_bytes > 0 ? flops_per_s / m->l2_bytes_s : (double)NAN;
}

double mfu_roof_at(const struct mfu_machine *m, double flops_per_s, double intensity)
{
    return fmin(flops_per_s, intensity * m->bandwidth_bytes_s);
}

double mfu_dram_share(const struct mfu_machine *m, double bytes_per_s)
{
    return bytes_per_s / m->bandwidth_bytes_s;
}

double mfu_roofline_without(const struct mfu_kernel_row *rows, int n)
{
    double share = 0;

    for (int i = 0; i < n; i++)
        share += rows[i].flops > 0 ? 0 : rows[i].share;
    return share;
}

static int longer(const void *a, const void *b)
{
    const struct mfu_kernel_row *x = a, *y = b;

    return (x->time_s < y->time_s) - (x->time_s > y->time_s);
}

void mfu_kernels_by_time(struct mfu_kernel_row *rows, int n)
{
    qsort(rows, (size_t)n, sizeof *rows, longer);
}

static size_t put(struct mfu_roof *roofs, size_t n, const char *of, const char *what, double flops_per_s,
                  double bytes_per_s)
{
    roofs[n] = (struct mfu_roof){.flops_per_s = flops_per_s, .bytes_per_s = bytes_per_s};
    snprintf(roofs[n].name, sizeof roofs[n].name, "%s%s", of, what);
    return n + 1;
}

size_t mfu_roofs(const struct mfu_plan *p, struct mfu_roof *roofs)
{
    const struct mfu_machine *m = &p->machine;
    const char *peak = mfu_peak_names[p->mfu.peak];
    size_t n = put(roofs, 0, peak, " dense peak", p->mfu.peak_flops, NAN);

    n = put(roofs, n, peak, " sustained by large matmuls", m->sustained_flops[p->mfu.peak], NAN);
    if (p->mfu.peak != MFU_PEAK_FP32)
        n = put(roofs, n, "fp32", " peak", m->peak_flops[MFU_PEAK_FP32], NAN);
    n = put(roofs, n, "DRAM", "", NAN, mfu_roof_dram(m));
    if (mfu_roof_l2(m) > 0)
        n = put(roofs, n, "L2", "", NAN, mfu_roof_l2(m));
    return n;
}
