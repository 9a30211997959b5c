/*
 * roofline.h - the roofs of a GPU and the place of a kernel below them.
 *
 * Williams, Waterman, Patterson 2009: a kernel of intensity I FLOP/byte runs at
 * most at min(peak, I * bandwidth); where the two meet is the ridge.
 */
#ifndef MFU_ROOFLINE_H
#define MFU_ROOFLINE_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/kernels.h"
#include "plan/plan.h"

/* A roof: flat (FLOP/s) or a slope (bytes/s); the other is NAN. */
struct mfu_roof {
    char name[64]; /* "bf16 dense peak", "DRAM" */
    double flops_per_s, bytes_per_s;
};
#define MFU_ROOFS 5 /* no plan has more */

/* The roofs of a plan: dense peak, what large matmuls sustain, fp32, DRAM, L2.
 * Returns how many were filled. */
size_t mfu_roofs(const struct mfu_plan *, struct mfu_roof *);

/* Bytes/s of the slopes; 0 where no L2 is known. */
double mfu_roof_dram(const struct mfu_machine *);
double mfu_roof_l2(const struct mfu_machine *);

/* FLOP per byte at which a flat roof meets the slope of DRAM, or of L2 (NAN without). */
double mfu_ridge(const struct mfu_machine *, double flops_per_s);
double mfu_ridge_l2(const struct mfu_machine *, double flops_per_s);

/* FLOP/s that DRAM and a flat roof allow at an intensity. */
double mfu_roof_at(const struct mfu_machine *, double flops_per_s, double intensity);

/* Share of the DRAM bandwidth that a rate is: 0..1, beyond for what L2 serves. */
double mfu_dram_share(const struct mfu_machine *, double bytes_per_s);

/* Share of the step in kernels that compute nothing: they are on no roofline. */
double mfu_roofline_without(const struct mfu_kernel_row *, int n);

/* Sorts rows: what takes the most time first. */
void mfu_kernels_by_time(struct mfu_kernel_row *, int n);

#endif
