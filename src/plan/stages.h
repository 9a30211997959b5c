/*
 * stages.h - a plan of several pipeline stages: each stage's program priced, and
 * the schedule that couples them.
 */
#ifndef MFU_STAGES_H
#define MFU_STAGES_H

#include "plan/plan.h"

/* Plans a configuration with pp > 1: builds and reads the distinct stages, runs the
 * schedule, and leaves the busiest stage's program, the step's time and the memory
 * of the worst stage in the plan. */
int mfu_stages_plan(struct mfu_plan *, struct mfu_error *);

#endif
