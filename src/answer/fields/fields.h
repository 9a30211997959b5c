/*
 * fields.h - the records of the answers: what JSON, CSV, the schema, `print` and
 * `check` know of them.  See base/field.h.
 */
#ifndef MFU_ANSWER_FIELDS_H
#define MFU_ANSWER_FIELDS_H

#include "base/field.h"
#include "plan/metrics_over.h"
#include "plan/plan.h"

struct mfu_memory_timeline;
struct mfu_sweep;
struct mfu_sweep_result;

/* Of a struct mfu_plan. */
extern const struct mfu_record mfu_record_plan, mfu_record_memory, mfu_record_step, mfu_record_mfu, mfu_record_kernels,
    mfu_record_metrics, mfu_record_roofline, mfu_record_stages;
extern const struct mfu_record mfu_record_plan_inside; /* the plan as part of an answer, with "command" */

/* Of a struct mfu_config: every setting and dim as it was resolved. */
extern const struct mfu_record mfu_record_scenario;

extern const struct mfu_record mfu_record_reading;       /* struct mfu_metrics */
extern const struct mfu_record mfu_record_kernel_row;    /* struct mfu_kernel_row */
extern const struct mfu_record mfu_record_single_kernel; /* struct mfu_single_kernel */

/* A collective at several sizes. */
struct mfu_single_kernel;
struct mfu_collectives {
    const struct mfu_single_kernel *list;
    size_t n;
};
extern const struct mfu_record mfu_record_collectives; /* struct mfu_collectives */
extern const struct mfu_record mfu_record_why, mfu_record_order, mfu_record_advise, mfu_record_train,
    mfu_record_observe, mfu_record_validate, mfu_record_imported_run, mfu_record_audit, mfu_record_trace_comparison,
    mfu_record_alignment, mfu_record_calibrate, mfu_record_narrow, mfu_record_rollout, mfu_record_iteration,
    mfu_record_buckets;

struct mfu_timeline_answer {
    const struct mfu_plan *plan;
    const struct mfu_memory_timeline *timeline;
};
extern const struct mfu_record mfu_record_timeline;

struct mfu_metrics_over_answer {
    const struct mfu_plan *plan;
    double window_s;
    const struct mfu_metrics_slice *slices;
    int n;
};
extern const struct mfu_record mfu_record_metrics_over;

/* Of a struct mfu_stage, a struct mfu_exchange. */
extern const struct mfu_record mfu_record_stage, mfu_record_exchange;

/* The same of `sweep` and `search`. */
struct mfu_sweep_answer {
    const struct mfu_sweep *sweep;
    const struct mfu_sweep_result *result;
};
extern const struct mfu_record mfu_record_sweep, mfu_record_search;

struct mfu_calibrations_answer {
    const struct mfu_calibration *list;
    size_t n;
};
extern const struct mfu_record mfu_record_calibrations;

#endif
