/*
 * fit_rows.c - a solution as its coefficients and residuals.
 */
#include <math.h>
#include <stdlib.h>

#include "cost/fit.h"
#include "cost/fit_problem.h"

/* How far the slowing of GEMMs may be from what a card's file says: a lower power limit or a
 * laptop's cooler costs some 5 to 15 % (chosen), and where the file says none, nothing is
 * known of it: cards differ by 9 % (standard deviation over gpus/). */
#define SLOWER_SIGMA 0.05
#define UNKNOWN_SIGMA 0.1

double mfu_fit_offset(int id)
{
    return id == MFU_C_GEMM_THROTTLE ? 1 : 0;
}

bool mfu_fit_can_vary(int id, double value)
{
    return isfinite(value) && value + mfu_fit_offset(id) > 0;
}

double mfu_fit_prior_sigma(const struct mfu_coefficients *c, int id)
{
    double offset = mfu_fit_offset(id), share = c->value[id] / (c->value[id] + offset);

    if (!(offset > 0))
        return c->sigma[id];
    return fmax(c->sigma[id] * share, share > 0 ? SLOWER_SIGMA : UNKNOWN_SIGMA);
}

/* The relative error of a value that is known with the offset to `sigma`; no more than
 * that of the value's own size where it is next to nothing. */
static double relative(int id, double value, double sigma)
{
    double offset = mfu_fit_offset(id);

    return offset > 0 ? fmin(sigma * (value + offset) / fmax(value, 1e-9), 1) : sigma;
}

int mfu_fit_ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double mfu_fit_median(double *list, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(list, n, sizeof *list, mfu_fit_ascending);
    return n % 2 ? list[n / 2] : (list[n / 2 - 1] + list[n / 2]) / 2;
}

static int add_row(struct mfu_fit *fit, const struct mfu_fit_problem *q, int parameter, int id, double sigma, bool kept)
{
    const struct mfu_coefficients *prior = q->in->prior;

    if (!mfu_fit_can_vary(id, prior->value[id]))
        return 0;
    fit->rows[fit->n_rows++] = (struct mfu_fit_row){
        .id = (enum mfu_coefficient)id,
        .value = fit->value[id],
        .sigma = kept ? relative(id, fit->value[id], sigma) : prior->sigma[id],
        .prior = prior->value[id],
        .prior_sigma = q->in->parameters[parameter].sigma > 0 ? q->in->parameters[parameter].sigma : prior->sigma[id],
        .kept = kept};
    fit->n_kept += kept;
    return 1;
}

static void list_rows(struct mfu_fit *fit, const struct mfu_fit_problem *q)
{
    for (int id = 0; id < MFU_COEFFICIENT_COUNT; id++)
        for (int k = 0; k < q->in->n_parameters; k++)
            for (int m = 0; m < q->in->parameters[k].n_members; m++) {
                double sigma = NAN;
                bool kept = false;

                if ((int)q->in->parameters[k].member[m] != id)
                    continue;
                for (int a = 0; a < q->p; a++)
                    if (q->use[a] == k) {
                        kept = true;
                        sigma = sqrt(gsl_matrix_get(q->cov, (size_t)a, (size_t)a));
                    }
                m = MFU_FIT_MEMBERS; /* a coefficient counts once */
                if (fit->n_rows < MFU_COEFFICIENT_COUNT)
                    add_row(fit, q, k, id, sigma, kept);
            }
}

/* Errors over the points of one class (-1: all). */
static struct mfu_fit_residuals sum_up(const struct mfu_fit_input *in, int kind, const double *before,
                                       const double *after, double *scratch)
{
    struct mfu_fit_residuals s = {.name = kind < 0 ? "all" : in->classes[kind].name};

    for (size_t i = 0; i < in->n_points; i++)
        if (kind < 0 || in->points[i].kind == kind) {
            double e = expm1(after[i]);

            scratch[s.n++] = fabs(e);
            s.mape += fabs(e);
            s.bias += e;
            s.before += fabs(expm1(before[i]));
        }
    s.mape /= (double)s.n;
    s.bias /= (double)s.n;
    s.before /= (double)s.n;
    s.median = mfu_fit_median(scratch, s.n);
    s.spread = MFU_FIT_OF_MEDIAN * s.median;
    return s;
}

static void list_residuals(struct mfu_fit *fit, const struct mfu_fit_problem *q, const double *before, double *scratch)
{
    for (int c = 0; c < q->in->n_classes && fit->n_classes < MFU_FIT_CLASSES; c++) {
        struct mfu_fit_residuals s = sum_up(q->in, c, before, q->r, scratch);

        if (s.n > 0)
            fit->classes[fit->n_classes++] = s;
    }
    fit->all = sum_up(q->in, -1, before, q->r, scratch);
}

void mfu_fit_fill(struct mfu_fit *fit, const struct mfu_fit_problem *q, const double *before, double *scratch)
{
    fit->doubt = q->doubt;
    list_rows(fit, q);
    list_residuals(fit, q, before, scratch);
}
