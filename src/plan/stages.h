/*
 * stages.h - a plan of several pipeline stages: each stage's program priced, and
 * the schedule that couples them.
 */
#ifndef MFU_STAGES_H
#define MFU_STAGES_H

#include "plan/plan.h"
#include "simulate/pipeline.h"

/* Plans a configuration with pp > 1: builds and reads the distinct stages, runs the
 * schedule, and leaves the busiest stage's program, the step's time and the memory
 * of the worst stage in the plan.  1: it is to be `fitting` and does not, and only that is known. */
int mfu_stages_plan(struct mfu_plan *, bool fitting, bool sums, struct mfu_error *);

/* What of the ranks of a plan's pipeline holds in another configuration: all where only the schedule differs, but prices
 * where the number of microbatches does, several in both. */
enum mfu_stages_known mfu_stages_keep(const struct mfu_plan *, const struct mfu_config *next,
                                      const struct mfu_scenario *);

/* Puts another rank's program into a plan with pp > 1, which answers as before; nothing
 * without a pipeline. */
int mfu_stages_show(struct mfu_plan *, int stage, struct mfu_error *);

/* What one microbatch keeps for its backward pass in each stage of the model.  A forward that is merged with a backward
 * runs before it, so do PyTorch's pipelines (schedules.py, 00722e64, OVERLAP_F_B) and DeepSeek's DualPipe (dualpipe.py,
 * bb214e82, _forward_backward_compute_chunk), or, where messages of experts are hidden so, beside it, a layer ahead
 * (torchtitan, distributed/dual_pipe_v.py, 02ef790c: two threads that wait for each other in each layer).  `bytes` is
 * owned and NULL with `err`; `ahead_bytes` leads into it. */
struct mfu_pipeline_kept mfu_stages_kept(const struct mfu_plan *, struct mfu_error *);

/* Runs the schedule of a plan with pp > 1 once more, for its figures or, recorded, for
 * pictures; as mfu_pipeline_run(). */
int mfu_stages_run(const struct mfu_plan *, struct mfu_pipeline *, enum mfu_pipeline_mode, struct mfu_pipeline_step *,
                   struct mfu_error *);

#endif
