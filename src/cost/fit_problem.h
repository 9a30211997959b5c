/*
 * fit_problem.h - a fit while it is worked on; for fit.c and fit_rows.c.
 */
#ifndef MFU_FIT_PROBLEM_H
#define MFU_FIT_PROBLEM_H

#include <gsl/gsl_matrix.h>

#include "descriptor/coefficient.h"

struct mfu_fit;
struct mfu_fit_input;

#define MFU_FIT_OF_MEDIAN 1.4826 /* a normal spread over the median of absolute residuals */

struct mfu_fit_problem {
    const struct mfu_fit_input *in;
    size_t n;                       /* points */
    int p;                          /* parameters in use */
    int use[MFU_COEFFICIENT_COUNT]; /* which of in->parameters */
    double lo[MFU_COEFFICIENT_COUNT], hi[MFU_COEFFICIENT_COUNT], sigma[MFU_COEFFICIENT_COUNT];
    double t[MFU_COEFFICIENT_COUNT]; /* the solution, by in->parameters */
    double *s;                       /* spread of each point */
    int *shared, n_shared;           /* classes whose points may be off by something in common, */
    double *b;                       /* which is that, of the logarithm */
    double *alike;                   /* neighbours that err together */
    double doubt;                    /* of the priors: how many times their sigmas */
    double *cut;                     /* its residual, in spreads, beyond which its pull fades */
    bool *hidden;                    /* left out of this fit; NULL: none */
    gsl_matrix *cov;                 /* of t, p x p */
    double *j;                       /* d log(prediction) / dt, n x p */
    /* Where predictions are dear, what stands for them: residuals and derivatives (n x all in->parameters) at one t. */
    double *near_r, *near_j, near_t[MFU_COEFFICIENT_COUNT], *tangents;
    double *r; /* log(predicted / measured) at the solution */
};

/* What is fitted is the logarithm of a coefficient plus this: 0, or 1 for a share by which
 * something gets slower, which may be none. */
double mfu_fit_offset(int id);

/* Whether a coefficient of this value can be fitted: with its offset it scales. */
bool mfu_fit_can_vary(int id, double value);

/* The sigma of that logarithm by a prior's relative one. */
double mfu_fit_prior_sigma(const struct mfu_coefficients *, int id);

/* For qsort. */
int mfu_fit_ascending(const void *, const void *);

/* The rows and residuals of a solution.  `before`: residuals of the priors;
 * `scratch`: room for all points. */
void mfu_fit_fill(struct mfu_fit *, const struct mfu_fit_problem *, const double *before, double *scratch);

#endif
