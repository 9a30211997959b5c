/*
 * fit.h - coefficients from measurements, with how well they are known.
 *
 * A robust least-squares fit of seconds, in logarithms of both the seconds and
 * the coefficients.  What is known already is a prior: a coefficient that the
 * measurements do not determine stays where it was, and the result says so.
 * Kernels and whole training steps are fitted by the same function; it only
 * asks for the seconds that a set of coefficients predicts.
 *
 *     struct mfu_fit_input in = {
 *         .points = points, .n_points = n, .classes = classes, .n_classes = 2,
 *         .parameters = parameters, .n_parameters = 3,
 *         .prior = &gpu->coefficients, .predict = seconds_of, .context = &mine,
 *     };
 *     struct mfu_fit fit;
 *
 *     if (mfu_fit_coefficients(&in, &fit, &err) == 0)
 *         ... fit.value[MFU_C_GEMM_EFFICIENCY], fit.rows[0].sigma ...
 */
#ifndef MFU_FIT_H
#define MFU_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "descriptor/coefficient.h"

struct mfu_error;

#define MFU_FIT_CLASSES 64 /* the most */
#define MFU_FIT_SURE 3     /* standard errors from its prior that a coefficient may be (chosen) */

/* Beyond this doubt of what is known (3 standard errors each), the measurements are
 * more likely wrong, or of another GPU, than it (chosen). */
#define MFU_FIT_INCREDIBLE 2

struct mfu_fit_point {
    double seconds; /* measured */
    double spread;  /* relative, of its repeats; 0: not known */
    int kind;       /* its class */
};

/* Measurements of one kind, for residuals and weights. */
struct mfu_fit_class {
    const char *name;
    double spread;     /* relative, that the model is expected to leave */
    double systematic; /* relative, that all of the class share, since what
                                   is measured is not quite what will run */
    double slower;     /* relative, by how much that is usually above the prediction */
};

/* One number of the fit: a coefficient, or several that scale together. */
#define MFU_FIT_MEMBERS 16 /* the most */
struct mfu_fit_parameter {
    enum mfu_coefficient member[MFU_FIT_MEMBERS];
    int n_members;
    double sigma; /* of the prior, of the logarithm; 0: its member's */
    double most;  /* that its first member may become; 0: the end of its range */
};

/* The seconds of point `i` with these coefficients; not finite if it has none. */
typedef double mfu_predict_fn(void *context, size_t i, const double value[MFU_COEFFICIENT_COUNT]);

struct mfu_fit_input {
    const struct mfu_fit_point *points;
    size_t n_points;
    const struct mfu_fit_class *classes;
    int n_classes;
    const struct mfu_fit_parameter *parameters;
    int n_parameters;
    const struct mfu_coefficients *prior;
    mfu_predict_fn *predict;
    void *context;
    /* Called before each of its steps; a result that is not 0 ends the fit. */
    int (*interrupted)(void *context);
    bool without_held_out; /* do not estimate the error on unseen points */
    bool dear; /* a prediction takes milliseconds: tangents of it are fitted, and drawn anew at their solution */
};

struct mfu_fit_row {
    enum mfu_coefficient id;
    double value;
    double sigma; /* relative standard error; stderr = value * sigma */
    double prior, prior_sigma;
    bool kept; /* fitted; else left at its prior */
};

struct mfu_fit_residuals {
    const char *name; /* of the class */
    size_t n;
    double before, mape, median, bias; /* before: MAPE of the priors */
    double spread;                     /* robust standard deviation */
};

struct mfu_fit {
    double value[MFU_COEFFICIENT_COUNT];            /* prior, with what was fitted */
    struct mfu_fit_row rows[MFU_COEFFICIENT_COUNT]; /* what could be fitted */
    struct mfu_coefficients fitted; /* those that are kept, with how their errors correlate; the others are unknown */
    int n_rows, n_kept;
    struct mfu_fit_residuals classes[MFU_FIT_CLASSES];
    int n_classes;
    struct mfu_fit_residuals all;
    double doubt;         /* how many times their sigmas the priors were widened, since the
                                   measurements contradict them; 1: they do not */
    double mape_held_out; /* of points that a fit did not see; NAN: not tried */
};

/* Parameters for every coefficient that changes a prediction, each on its own;
 * `parameters` has room for MFU_COEFFICIENT_COUNT.  Returns their number. */
int mfu_fit_candidates(const struct mfu_fit_input *, struct mfu_fit_parameter *parameters);

/* Adds a parameter that all host times have in common, where some of the `n` have one, and
 * narrows those; there is room for MFU_COEFFICIENT_COUNT.  Returns the new number. */
int mfu_fit_share_host(const struct mfu_coefficients *prior, struct mfu_fit_parameter *parameters, int n);

/* Sorts the list; NAN for none. */
double mfu_fit_median(double *list, size_t n);

/* 0, or -1 with `err`.  Fewer points than parameters are fine: priors remain. */
int mfu_fit_coefficients(const struct mfu_fit_input *, struct mfu_fit *, struct mfu_error *);

#endif
