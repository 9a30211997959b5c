/*
 * stages.h - a plan of several pipeline stages: each stage's program priced, and
 * the schedule that couples them.
 */
#ifndef MFU_STAGES_H
#define MFU_STAGES_H

#include "plan/plan.h"

/* One rank's part of the pipeline. */
struct mfu_stage {
    double layers;
    double forward_s, backward_s; /* of one microbatch, with the collectives in its way */
    double send_s;                /* of one message to the next stage */
    double after_s;               /* once a step: sums of gradients that do not hide, the optimizer */
    double flops;                 /* that MFU counts, of a step on all GPUs if all stages were like it */
    double hardware_flops;
    double in_flight;  /* microbatches whose activations it holds at most */
    double kept_bytes; /* of one of them */
    struct mfu_memory_answer memory;
    struct mfu_step_answer step; /* of this stage alone */
};

/* Plans a configuration with pp > 1: builds and reads the distinct stages, runs the
 * schedule, and leaves the busiest stage's program, the step's time and the memory
 * of the worst stage in the plan. */
int mfu_stages_plan(struct mfu_plan *, struct mfu_error *);

#endif
