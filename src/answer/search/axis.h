/*
 * axis.h - one key of a sweep and the values that it takes.
 *
 * A value that mentions other keys (accum=512/batch) is worked out in every row,
 * as `set` would do there.  A whole GPU or model can be an axis, too.
 */
#ifndef MFU_AXIS_H
#define MFU_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/quantity.h"
#include "descriptor/catalog.h"
#include "scenario/scenario.h"

struct mfu_error;

struct mfu_axis {
    struct mfu_key key; /* of this model's; MFU_KEY_NONE: gpu or model, */
    const struct mfu_model *model;
    const struct mfu_gpu **gpus; /* these: values are indices */
    const struct mfu_model **models;
    char name[48];
    double *values; /* owned; choices by their number; NAN where there is a text */
    char **texts;   /* expressions over other keys, NULL where there is a value; NULL: no such */
    size_t n, cap, cap_texts;
    struct mfu_key bounds[8]; /* keys that the ends of ranges mention */
    size_t n_bounds;
};

/* Reads "1,2,4", "1..8", "1..64*2" (factor 2), "0..1+0.25" (step), "eager,compile",
 * "512/batch", "all" (every choice).  Values are checked against the key's range. */
int mfu_axis_read(struct mfu_axis *, const struct mfu_scenario *, const char *key, const char *values,
                  struct mfu_error *err);

/* The same for GPUs and models: "h100-sxm,rtx4090". */
int mfu_axis_read_gpus(struct mfu_axis *, struct mfu_catalog *, const char *names, struct mfu_error *err);
int mfu_axis_read_models(struct mfu_axis *, struct mfu_catalog *, const char *names, struct mfu_error *err);

/* An axis of a key without values, and one more value unless it is there. */
void mfu_axis_start(struct mfu_axis *, const struct mfu_scenario *, struct mfu_key);
int mfu_axis_add(struct mfu_axis *, double value, struct mfu_error *err);
int mfu_axis_add_text(struct mfu_axis *, const char *text, struct mfu_error *err); /* worked out in every row */

/* Refuses what no order of evaluation makes sense of: a value that depends on a
 * key of which a later axis works out the values, a range that depends on another. */
int mfu_axes_check(const struct mfu_axis *, size_t n, const struct mfu_scenario *, struct mfu_error *err);

/* Puts one value of each axis into a scenario; `at` holds their numbers.  -1 if
 * an expression has no value that its key takes. */
int mfu_axes_apply(const struct mfu_axis *, size_t n, const size_t *at, struct mfu_scenario *, struct mfu_error *err);

/* A value of an axis in a scenario that was made so, and its word where it has
 * one (a choice, a set, a GPU; in `buf` or constant), else NULL. */
double mfu_axis_value(const struct mfu_axis *, const struct mfu_scenario *);
const char *mfu_axis_word(char buf[MFU_QUANTITY_MAX], const struct mfu_axis *, double value);

/* Whether it is this setting, with ever larger values. */
bool mfu_axis_grows(const struct mfu_axis *, int setting);

void mfu_axis_free(struct mfu_axis *);

#endif
