/*
 * attribution.h - what makes the difference between two scenarios.
 *
 * When several keys differ, no single one can be credited with the whole.  The
 * way from one scenario to the other is therefore walked one key at a time, in
 * the order of `show` and in the reverse order, and each key is changed alone:
 * what the changes do together and none of them does alone is the interaction.
 *
 * Keys take one step together that only work together, and those that share the
 * tokens of an optimizer step among them (batch and accum): half of such a change
 * is another amount of work, and its time says nothing about speed.  For the same
 * reason time is compared per token.
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

/* Settings that differ since they follow from others (half_weights from zero);
 * not those that only repeat one (dp: gpus).  Returns how many. */
int mfu_followers(const struct mfu_scenario *const *, int n, struct mfu_difference *);

/* What a change adds: to a step, and to each of its tokens. */
struct mfu_added {
    double step_s, per_token_s;
};

/* A step of the way: one key, or several joined by " + ". */
struct mfu_credit {
    char keys[160];
    struct mfu_added forward; /* behind those listed before it */
    struct mfu_added reverse; /* behind those listed after it */
    struct mfu_added alone;   /* NAN: not possible alone */
};

struct mfu_attribution {
    int n;
    struct mfu_credit credits[MFU_DIFFERENCES];
    struct mfu_added first;       /* the time of the first scenario */
    struct mfu_added whole;       /* what all of them add to it */
    struct mfu_added interaction; /* the whole but for all of them alone; NAN: not known */
    double tokens[2];             /* of a step of either scenario */
};

/* From `a` to `b` over `d`; planned in session->plan.  -1: one of the two cannot
 * be planned. */
int mfu_attribute(struct mfu_session *, const struct mfu_scenario *a, const struct mfu_scenario *b,
                  const struct mfu_difference *d, int n, struct mfu_attribution *, struct mfu_error *err);

#endif
