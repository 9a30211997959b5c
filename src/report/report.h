/*
 * report.h - how answers look: text for people, JSON for programs.  Computes
 * nothing that an answer does not hold.
 */
#ifndef MFU_REPORT_H
#define MFU_REPORT_H

#include <jansson.h>
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
void mfu_text_step(FILE *, const struct mfu_term *, const struct mfu_plan *);
void mfu_text_mfu(FILE *, const struct mfu_term *, const struct mfu_plan *);
void mfu_text_metrics(FILE *, const struct mfu_term *, const struct mfu_plan *);

/* JSON objects of the interface, with "command" and "schema"; NULL when memory
 * is out.  The caller owns the reference. */
json_t *mfu_json_plan(const struct mfu_plan *);
json_t *mfu_json_scenario(const struct mfu_config *); /* without "command" */
json_t *mfu_json_memory(const struct mfu_plan *);
json_t *mfu_json_kernels(const struct mfu_plan *);
json_t *mfu_json_roofline(const struct mfu_plan *);
json_t *mfu_json_step(const struct mfu_plan *);
json_t *mfu_json_mfu(const struct mfu_plan *);
json_t *mfu_json_metrics(const struct mfu_plan *);

/* One kernel by itself. */
struct mfu_single_kernel;
void mfu_text_single_kernel(FILE *, const struct mfu_term *, const struct mfu_single_kernel *);
json_t *mfu_json_single_kernel(const struct mfu_single_kernel *);

/* The same collective at n >= 1 sizes, a row for each as nccl-tests print them. */
void mfu_text_collectives(FILE *, const struct mfu_term *, const struct mfu_single_kernel *, size_t n);
json_t *mfu_json_collectives(const struct mfu_single_kernel *, size_t n);

/* A measured run beside its prediction. */
struct mfu_observation;
void mfu_text_observation(FILE *, const struct mfu_term *, const struct mfu_observation *);
json_t *mfu_json_observation(const struct mfu_observation *);

/* The first form of validation: text and JSON. */
struct mfu_validation;
void mfu_text_validation(FILE *, const struct mfu_term *, const struct mfu_validation *);
json_t *mfu_json_validation(const struct mfu_validation *);

/* Rows of a sweep or search; text shows at most `most` of them. */
void mfu_text_sweep(FILE *, const struct mfu_term *, const struct mfu_sweep *, const struct mfu_sweep_result *,
                    size_t most);
json_t *mfu_json_sweep(const char *command, const struct mfu_sweep *, const struct mfu_sweep_result *);

/* A calibration, and the list of those that are kept. */
struct mfu_calibrated;
struct mfu_calibration;
void mfu_text_calibrated(FILE *, const struct mfu_term *, const struct mfu_calibrated *);
json_t *mfu_json_calibrated(const struct mfu_calibrated *);
void mfu_text_calibrations(FILE *, const struct mfu_term *, const struct mfu_calibration *, size_t n);
json_t *mfu_json_calibrations(const struct mfu_calibration *, size_t n);

/* Explanations, levers, whole runs. */
struct mfu_why;
struct mfu_advice;
struct mfu_training;
void mfu_text_why(FILE *, const struct mfu_term *, const struct mfu_why *);
json_t *mfu_json_why(const struct mfu_why *);
void mfu_text_advice(FILE *, const struct mfu_term *, const struct mfu_advice *);
json_t *mfu_json_advice(const struct mfu_advice *);
void mfu_text_training(FILE *, const struct mfu_term *, const struct mfu_plan *, const struct mfu_training *);
json_t *mfu_json_training(const struct mfu_training *);

/* The value of a key: a choice by its name, else a number. */
json_t *mfu_key_json(struct mfu_key, double value);

/* A number as JSON: an integer when it is whole and below 2^53, null when it
 * is not finite. */
json_t *mfu_json_number(double);

#endif
