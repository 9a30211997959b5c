/*
 * compare_trace.h - a recorded step beside the predicted one: kernels, gaps, and what could be won.
 */
#ifndef MFU_COMPARE_TRACE_H
#define MFU_COMPARE_TRACE_H

#include "answer/trace/recording.h"
#include "plan/simulation.h"

struct mfu_trace_gap {
    const char *cause, *says; /* "data loader" */
    double count, measured_s, predicted_s;
};

struct mfu_trace_comparison {
    struct mfu_alignment *alignment; /* of one run; owned */
    struct mfu_trace_gap gaps[MFU_GAP_COUNT];
    double step_s, predicted_step_s, busy_s, predicted_busy_s;
    double recoverable_s; /* of kernels that are slow or extra, and of gaps longer than predicted; NAN on a CPU */
    long steps;           /* in the trace */
    bool on_cpu;          /* times are those of a CPU: only what runs is compared */
    char device[96];
};

/* Plans and simulates the scenario, whose accum is 1; release the comparison in any case. */
int mfu_compare_trace(const struct mfu_scenario *, const char *path, struct mfu_plan *, struct mfu_simulation *,
                      struct mfu_trace_comparison *, struct mfu_error *err);
void mfu_trace_comparison_release(struct mfu_trace_comparison *);

#endif
