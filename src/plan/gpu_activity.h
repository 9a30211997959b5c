/*
 * gpu_activity.h - what the GPU does over one step, in slices of equal length: how
 * long kernels of each sort run in them, and what they compute and move.
 */
#ifndef MFU_GPU_ACTIVITY_H
#define MFU_GPU_ACTIVITY_H

#include "plan/simulation.h"

/* Sorts of kernels, as pictures tell them apart. */
enum mfu_sort {
    MFU_SORT_PRODUCTS,
    MFU_SORT_ATTENTION,
    MFU_SORT_STREAMS,
    MFU_SORT_LOSS,
    MFU_SORT_UPDATES,
    MFU_SORT_COUNT
};
extern const char *const mfu_sort_titles[MFU_SORT_COUNT]; /* "matrix products" */
enum mfu_sort mfu_sort_of(enum mfu_kind);

/* Shares of the time of a step in which kernels of each sort run, kernels beside
 * others left out; all micro-steps count.  -1: out of memory. */
int mfu_sort_shares(const struct mfu_plan *, double share[MFU_SORT_COUNT]);

#define MFU_SLICES 300   /* the most */
#define MFU_STRETCHES 64 /* the most; the simulation follows fewer */

struct mfu_gpu_activity {
    struct mfu_slice {
        double busy_s[MFU_SORT_COUNT], communication_s;
        double flops, bytes; /* of tensor arithmetic; of memory traffic */
    } slices[MFU_SLICES];
    int n_slices;
    struct mfu_stretch { /* of one phase of one micro-step */
        enum mfu_phase phase;
        int micro_step;
        double begin_s, end_s;
    } stretches[MFU_STRETCHES];
    int n_stretches;
    double seconds;                                 /* of all: a step without what is left out */
    double busy_s[MFU_SORT_COUNT], communication_s; /* of all */
    long left_out;                                  /* micro-steps that are like the one before */
};

/* Of a simulation that recorded, in at most MFU_SLICES slices. */
void mfu_gpu_activity_make(const struct mfu_simulation *, int n_slices, struct mfu_gpu_activity *);

#endif
