/*
 * fit_rows.c - a solution as its coefficients and residuals.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/fit.h"
#include "cost/fit_problem.h"
#include "descriptor/covariance.h"

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

static bool has(const struct mfu_fit_parameter *p, int id)
{
    for (int m = 0; m < p->n_members; m++)
        if ((int)p->member[m] == id)
            return true;
    return false;
}

/* Which of the parameters in use has the place k; -1: none. */
static int place_of(const struct mfu_fit_problem *q, int k)
{
    for (int a = 0; a < q->p; a++)
        if (q->use[a] == k)
            return a;
    return -1;
}

/* Of two coefficients, that of the parameters which move them; of one, its variance. */
static double covariance_of(const struct mfu_fit_problem *q, int i, int j)
{
    double sum = 0;

    for (int k = 0; k < q->in->n_parameters; k++) {
        int a = place_of(q, k);

        if (!has(&q->in->parameters[k], i))
            continue;
        sum += a < 0 && has(&q->in->parameters[k], j) ? pow(q->doubt * q->sigma[k], 2) : 0;
        for (int b = 0; a >= 0 && b < q->p; b++)
            if (has(&q->in->parameters[q->use[b]], j))
                sum += gsl_matrix_get(q->cov, (size_t)a, (size_t)b);
    }
    return sum;
}

/* The row of a coefficient that some parameters move. */
static void add_row(struct mfu_fit *fit, const struct mfu_fit_problem *q, int id)
{
    const struct mfu_coefficients *prior = q->in->prior;
    double before = 0;
    bool any = false, kept = false;

    for (int k = 0; k < q->in->n_parameters; k++)
        if (has(&q->in->parameters[k], id)) {
            any = true;
            kept |= place_of(q, k) >= 0;
            before += q->sigma[k] * q->sigma[k];
        }
    if (!any || !mfu_fit_can_vary(id, prior->value[id]))
        return;
    fit->rows[fit->n_rows++] = (struct mfu_fit_row){
        .id = (enum mfu_coefficient)id,
        .value = fit->value[id],
        .sigma = kept ? relative(id, fit->value[id], sqrt(covariance_of(q, id, id))) : prior->sigma[id],
        .prior = prior->value[id],
        .prior_sigma = mfu_fit_offset(id) > 0 ? prior->sigma[id] : sqrt(before),
        .kept = kept};
    fit->n_kept += kept;
}

/* What was fitted, as coefficients. */
static void list_fitted(struct mfu_fit *fit, const struct mfu_fit_problem *q)
{
    mfu_coefficients_clear(&fit->fitted);
    for (int a = 0; a < fit->n_rows; a++) {
        int i = fit->rows[a].id;

        if (!fit->rows[a].kept)
            continue;
        fit->fitted.value[i] = fit->rows[a].value;
        fit->fitted.sigma[i] = fit->rows[a].sigma;
        for (int b = 0; b < a; b++)
            if (fit->rows[b].kept)
                mfu_correlate(&fit->fitted, i, fit->rows[b].id,
                              covariance_of(q, i, fit->rows[b].id)
                                  / sqrt(covariance_of(q, i, i) * covariance_of(q, fit->rows[b].id, fit->rows[b].id)));
    }
}

/* Errors over the points of the classes that are called as this one (-1: of all). */
static struct mfu_fit_residuals sum_up(const struct mfu_fit_input *in, int kind, const double *before,
                                       const double *after, double *scratch)
{
    struct mfu_fit_residuals s = {.name = kind < 0 ? "all" : in->classes[kind].name};

    for (size_t i = 0; i < in->n_points; i++)
        if (kind < 0 || strcmp(in->classes[in->points[i].kind].name, s.name) == 0) {
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
        bool listed = false;

        for (int k = 0; k < fit->n_classes; k++)
            listed |= strcmp(fit->classes[k].name, s.name) == 0;
        if (s.n > 0 && !listed)
            fit->classes[fit->n_classes++] = s;
    }
    fit->all = sum_up(q->in, -1, before, q->r, scratch);
}

void mfu_fit_fill(struct mfu_fit *fit, const struct mfu_fit_problem *q, const double *before, double *scratch)
{
    fit->doubt = q->doubt;
    for (int id = 0; id < MFU_COEFFICIENT_COUNT; id++)
        add_row(fit, q, id);
    list_fitted(fit, q);
    list_residuals(fit, q, before, scratch);
}
