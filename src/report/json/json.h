/*
 * json.h - the pieces that JSON answers share; for report/json_*.c.
 *
 * Everything takes and gives NULL for "out of memory", so that an answer is
 * written down without a check on every line.
 */
#ifndef MFU_REPORT_JSON_H
#define MFU_REPORT_JSON_H

#include <jansson.h>

#include "plan/plan.h"

struct mfu_kernel_row;

/* Adds a member and takes its reference; if that fails the object is released
 * and becomes NULL. */
void mfu_json_put(json_t **object, const char *key, json_t *value);
void mfu_json_put_number(json_t **object, const char *key, double value);
void mfu_json_put_text(json_t **object, const char *key, const char *text);

/* Appends to an array in the same way. */
void mfu_json_append(json_t **array, json_t *value);

/* {"command": NAME, "schema": 1}, or that in front of what there is. */
json_t *mfu_json_answer(const char *command);
json_t *mfu_json_command(const char *command, json_t *body);

/* The objects that stand inside of `plan`. */
json_t *mfu_json_memory_body(const struct mfu_plan *);
json_t *mfu_json_step_body(const struct mfu_plan *);
json_t *mfu_json_mfu_body(const struct mfu_plan *);

/* One row of `kernels`. */
json_t *mfu_json_kernel_row(const struct mfu_kernel_row *);

#endif
