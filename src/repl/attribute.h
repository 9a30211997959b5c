/*
 * attribute.h - what makes the difference between two scenarios.
 *
 * When several keys differ, no single one can be credited with the whole.  The
 * way from one scenario to the other is therefore walked one key at a time, in
 * the order of `show`; keys that only work together take one step together.
 */
#ifndef MFU_ATTRIBUTE_H
#define MFU_ATTRIBUTE_H

#include "repl/session.h"

#define MFU_DIFFERENCES 64

/* A key that differs; `gpu` and `model` are among them. */
struct mfu_difference {
    enum { MFU_DIFFERENT_GPU, MFU_DIFFERENT_MODEL, MFU_DIFFERENT_KEY } what;
    char key[48];
};

/* Keys whose resolved values differ among the `n` scenarios and do not merely
 * follow from others.  Returns how many. */
int mfu_differences(const struct mfu_scenario *const *, int n, struct mfu_difference *);

/* A step of the way: one key, or several joined by " + ". */
struct mfu_credit {
    char keys[160];
    double step_time_s;         /* what it adds */
};

/* From `a` to `b` over `d`; planned in session->plan.  Returns how many steps,
 * or -1. */
int mfu_attribute(struct mfu_session *, const struct mfu_scenario *a, const struct mfu_scenario *b,
                  const struct mfu_difference *d, int n, struct mfu_credit *, struct mfu_error *err);

#endif
