/*
 * report.h - how answers look to people.  Computes
 * nothing that an answer does not hold.
 */
#ifndef MFU_REPORT_H
#define MFU_REPORT_H

#include <stdio.h>

#include "plan/plan.h"
#include "answer/search/sweep.h"
#include "report/text/term.h"

/* Text, for a terminal of any width and for pipes. */
void mfu_text_plan(FILE *, const struct mfu_term *, const struct mfu_plan *);
void mfu_text_memory(FILE *, const struct mfu_term *, const struct mfu_plan *);
int mfu_text_kernels(FILE *, const struct mfu_term *, const struct mfu_plan *);
int mfu_text_kernels_wide(FILE *, const struct mfu_term *, const struct mfu_plan *);
int mfu_text_roofline(FILE *, const struct mfu_term *, const struct mfu_plan *);
void mfu_text_stages(FILE *, const struct mfu_term *, const struct mfu_plan *); /* memory of each rank */
void mfu_text_step(FILE *, const struct mfu_term *, const struct mfu_plan *);
void mfu_text_mfu(FILE *, const struct mfu_term *, const struct mfu_plan *);
void mfu_text_metrics(FILE *, const struct mfu_term *, const struct mfu_plan *);

/* One kernel by itself. */
struct mfu_single_kernel;
void mfu_text_single_kernel(FILE *, const struct mfu_term *, const struct mfu_single_kernel *);

/* The same collective at n >= 1 sizes, a row for each as nccl-tests print them. */
void mfu_text_collectives(FILE *, const struct mfu_term *, const struct mfu_single_kernel *, size_t n);

/* A measured run beside its prediction. */
struct mfu_observation;
void mfu_text_observation(FILE *, const struct mfu_term *, const struct mfu_observation *);
/* The figures so far, each beside its prediction, behind `stamp`. */
void mfu_text_watched(FILE *, const struct mfu_term *, const struct mfu_observation *, const char *stamp);

/* Claims, one below the other. */
struct mfu_audits;
void mfu_text_audits(FILE *, const struct mfu_term *, const struct mfu_audits *);

/* Predictions beside measurements. */
struct mfu_alignment;
struct mfu_trace_comparison;
struct mfu_narrow;
struct mfu_validation;
void mfu_text_validation(FILE *, const struct mfu_term *, const struct mfu_validation *);
void mfu_text_alignment(FILE *, const struct mfu_term *, const struct mfu_alignment *);
void mfu_text_trace_comparison(FILE *, const struct mfu_term *, const struct mfu_trace_comparison *);

/* Rows of a sweep or search; text shows at most `most` of them. */
void mfu_text_sweep(FILE *, const struct mfu_term *, const struct mfu_sweep *, const struct mfu_sweep_result *,
                    size_t most);

/* A calibration, and the list of those that are kept. */
struct mfu_calibrated;
struct mfu_calibration;
void mfu_text_narrow(FILE *, const struct mfu_term *, const struct mfu_narrow *);
void mfu_text_calibrated(FILE *, const struct mfu_term *, const struct mfu_calibrated *);
void mfu_text_calibrations(FILE *, const struct mfu_term *, const struct mfu_calibration *, size_t n);

/* Explanations, levers, whole runs. */
struct mfu_why;
struct mfu_diagnosis;
struct mfu_advice;
struct mfu_training;
struct mfu_rollout;
struct mfu_iteration;
struct mfu_buckets;
void mfu_text_why(FILE *, const struct mfu_term *, const struct mfu_why *);
void mfu_text_order(FILE *, const struct mfu_term *, const struct mfu_diagnosis *);
void mfu_text_advice(FILE *, const struct mfu_term *, const struct mfu_advice *);
void mfu_text_training(FILE *, const struct mfu_term *, const struct mfu_plan *, const struct mfu_training *);
void mfu_text_rollout(FILE *, const struct mfu_term *, const struct mfu_rollout *);
void mfu_text_iteration(FILE *, const struct mfu_term *, const struct mfu_iteration *);
void mfu_text_buckets(FILE *, const struct mfu_term *, const struct mfu_plan *, const struct mfu_buckets *);

#endif
