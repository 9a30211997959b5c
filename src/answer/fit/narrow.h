/*
 * narrow.h - which measurements would shrink the interval of a plan, and by how much.
 *
 * What is known of the coefficients is their covariance.  Measuring a class of kernels tells each of its
 * coefficients, with what n samples of that spread and their common error leave; a run tells the sum of all as
 * its own step has them, and replaces the spread and the excess of everybody's runs by those of calibrated machines.
 */
#ifndef MFU_NARROW_H
#define MFU_NARROW_H

#include "plan/plan.h"

struct mfu_error;

struct mfu_narrowing {
    const char *measure;  /* "matrix products" */
    const char *with;     /* the command line that measures them */
    double minutes;       /* of GPU time, about */
    double alone_s;       /* half of the interval's width after this one */
    double low_s, high_s; /* the interval after it and those before */
    double narrower;      /* by that share of the width before */
};

/* What makes the interval wide: a coefficient, by its share of the step. */
struct mfu_doubtful {
    enum mfu_coefficient id;
    double share, sigma; /* relative */
};

#define MFU_NARROWINGS 8
#define MFU_DOUBTFUL 6
struct mfu_narrow {
    double step_s, low_s, high_s;
    struct mfu_narrowing options[MFU_NARROWINGS]; /* all, one after the other, each the best after those before it */
    struct mfu_doubtful doubtful[MFU_DOUBTFUL];   /* the largest first */
    size_t n_options, n_doubtful;
};

int mfu_narrow(const struct mfu_scenario *, struct mfu_narrow *, struct mfu_error *err);

#endif
