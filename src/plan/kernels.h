/*
 * kernels.h - the launches of a plan as a table: equal kernels of all layers in
 * one row.
 */
#ifndef MFU_KERNELS_H
#define MFU_KERNELS_H

#include "plan/plan.h"
#include "cost/collective.h"
#include "cost/occupancy.h"

struct mfu_kernel_row {
    char name[96]; /* "h.attn.qkv", "h.attn.qkv.wgrad" */
    enum mfu_phase phase;
    enum mfu_kind kind;
    struct mfu_kernel kernel;         /* one of them: shape, math */
    struct mfu_price price;           /* of that one */
    struct mfu_reading reading;       /* of that one: grid, waves, counters */
    struct mfu_collective collective; /* of that one; kind MFU_NO_COLLECTIVE for kernels */
    double count;                     /* CUDA kernels launched in one optimizer step */
    double flops, bytes, time_s;      /* totals over the step */
    double intensity;                 /* FLOP per byte */
    double share;                     /* of the step's time */
    double flops_per_s, bytes_per_s;
    double sm_active, occupancy, tensor_active, dram_active; /* 0..1, while it runs */

    /* Of a collective: who takes part, how NCCL does it, and its rates as nccl-tests
     * print them. */
    struct mfu_group group;
    double ranks;
    enum mfu_algorithm algorithm;
    enum mfu_protocol protocol;
};

/* All rows, in the order of execution; the caller frees the list with free().
 * `total_s` (may be NULL) is the sum of their times: the busy time of the compute
 * stream, and what communication takes, beside it or not.
 * Returns the number of rows, or -1 when out of memory. */
int mfu_kernel_rows(const struct mfu_plan *, struct mfu_kernel_row **rows, double *total_s);

/* Adds `from` to the row `to`; readings are averaged over time.  Shape, price and grid are those of the
 * kernel that takes the most, *largest_s so far. */
void mfu_kernel_row_add(struct mfu_kernel_row *to, const struct mfu_kernel_row *from, double *largest_s);

/* One row per kind and phase instead, for an overview. */
int mfu_kernel_kinds(const struct mfu_plan *, struct mfu_kernel_row **rows, double *total_s);

#endif
