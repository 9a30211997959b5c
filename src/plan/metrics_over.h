/*
 * metrics_over.h - what the meters read through the step, slice after slice.
 */
#ifndef MFU_METRICS_OVER_H
#define MFU_METRICS_OVER_H

#include "plan/metrics.h"
#include "plan/simulation.h"

struct mfu_error;

/* Steps that one picture may span. */
#define MFU_METRICS_MOST_STEPS 1000

struct mfu_metrics_slice {
    struct mfu_metrics read; /* as a tool that samples exactly this slice */
    enum mfu_phase phase;    /* of most of its work */
    bool idle;               /* nothing runs in it */
};

/* Reads `n` equal slices of the first `window_s` seconds of training in steady
 * state, from the beginning of a step; a longer window goes on into the steps
 * that follow.  The simulation must have been recorded.  0, or -1 with `err`:
 * a window that is not positive or spans too many steps, memory. */
int mfu_metrics_over(const struct mfu_plan *, const struct mfu_simulation *, double window_s,
                     struct mfu_metrics_slice *slices, int n, struct mfu_error *err);

#endif
