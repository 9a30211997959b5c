/*
 * fit.c - robust nonlinear least squares with GSL.
 *
 * Parameter: t = log(coefficient / prior), both plus one where none is possible, kept within the coefficient's range
 * by t = lo + (hi - lo) / (1 + exp(-u)).  With r = log(predicted / measured) / s,
 *
 *     minimize  sum  c^2 log(1 + (r/c)^2)  +  sum  (t / sigma)^2
 *
 * (Cauchy: a few per cent of measurements are slow for reasons of their own.)
 * That has a minimum wherever some measurements agree, and one at the priors, from
 * where a machine that is slow throughout looks like nothing but outliers.  So c
 * begins where it cuts off none but a few of a class and narrows from there, and
 * the sigmas of the priors widen where the measurements leave them far behind.
 * s is the spread of the class, found from the residuals and what was expected
 * together.  A coefficient of which the measurements say nothing (its error is its
 * prior's) goes back to its prior; one that they confirm keeps its smaller error.
 */
#include "cost/fit.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/cost.h"
#include "cost/fit_problem.h"

#define CAUCHY 2.385 /* spreads; 95 % efficient on normal residuals (the textbook's) */
#define STEP 1e-4    /* of t, for derivatives */
#define EDGE 1e-3    /* of t, left on either side of a prior */
/* The rest is chosen. */
#define ROUNDS 3           /* of the spreads */
#define ITERATIONS 60      /* of one least-squares fit, at most */
#define WORTH_OF_PRIOR 4   /* measurements that the expected spread counts for */
#define USUAL_SPREAD 0.05  /* relative; expected of a class that says nothing */
#define MOST_AGREE 0.9     /* of a class; the rest may be slow for reasons of their own */
#define NARROWER 4         /* from one cut to the next */
#define LEAST_SPREAD 0.002 /* relative; no class is trusted beyond that */
#define HARDLY 0.98        /* of the prior's sigma is left: nothing was learnt */
#define SURELY_ALIKE 2     /* standard errors of a correlation of none */
#define FOLDS 5            /* of the cross-validation */
#define FAR 60.            /* residual of what cannot be predicted */
#define TANGENTS 4         /* drawn where predictions are dear, at most */
#define SECANT 0.01        /* of t, for those: kinks within it are smoothed */
#define ARRIVED 0.005      /* of t: a solution so near to where its tangents were drawn */

/* ---- coefficients and parameters ----------------------------------------- */

/* How far t may go, so that every member stays within its range. */
static bool find_range(struct mfu_fit_problem *q, int k)
{
    const struct mfu_fit_parameter *a = &q->in->parameters[k];
    const struct mfu_coefficients *prior = q->in->prior;
    int n = 0;

    q->lo[k] = -12;
    q->hi[k] = 12;
    for (int i = 0; i < a->n_members; i++) {
        const struct mfu_coefficient_row *row = &mfu_coefficient_rows[a->member[i]];
        double value = prior->value[a->member[i]];
        double offset = mfu_fit_offset(a->member[i]), least = row->least + offset;

        if (!mfu_fit_can_vary(a->member[i], value))
            continue;
        n++;
        value += offset;
        if (least > 0)
            q->lo[k] = fmax(q->lo[k], log(least / value));
        q->hi[k] = fmin(q->hi[k], log((row->most + offset) / value));
        if (i == 0 && a->most > 0)
            q->hi[k] = fmin(q->hi[k], log((a->most + offset) / value));
    }
    q->lo[k] = fmin(q->lo[k], -EDGE); /* a prior at the edge of its range */
    q->hi[k] = fmax(q->hi[k], EDGE);
    q->sigma[k] = a->sigma > 0 ? a->sigma : n > 0 ? mfu_fit_prior_sigma(prior, a->member[0]) : 0;
    return n > 0 && q->sigma[k] > 0;
}

static double u_of(const struct mfu_fit_problem *q, int k, double t)
{
    double x = (t - q->lo[k]) / (q->hi[k] - q->lo[k]);

    x = fmin(fmax(x, 1e-9), 1 - 1e-9);
    return log(x / (1 - x));
}

static double slope(const struct mfu_fit_problem *q, int k, double u)
{
    double x = 1 / (1 + exp(-u));

    return (q->hi[k] - q->lo[k]) * x * (1 - x);
}

/* A coefficient that several parameters have moves with all of them. */
static void values_at(const struct mfu_fit_problem *q, const double *t, double *value)
{
    const double *prior = q->in->prior->value;
    double shift[MFU_COEFFICIENT_COUNT] = {0};

    memcpy(value, prior, MFU_COEFFICIENT_COUNT * sizeof *value);
    for (int i = 0; i < q->p; i++)
        for (int m = 0; m < q->in->parameters[q->use[i]].n_members; m++)
            shift[q->in->parameters[q->use[i]].member[m]] += t[q->use[i]];
    for (int id = 0; id < MFU_COEFFICIENT_COUNT; id++)
        if (shift[id] != 0 && mfu_fit_can_vary(id, prior[id]))
            value[id] = fmin(fmax((prior[id] + mfu_fit_offset(id)) * exp(shift[id]) - mfu_fit_offset(id),
                                  mfu_coefficient_rows[id].least),
                             mfu_coefficient_rows[id].most);
}

static bool is_hidden(const struct mfu_fit_problem *q, size_t i)
{
    return q->hidden && q->hidden[i];
}

/* log(predicted / measured), cut where nothing is predicted. */
static double residual(const struct mfu_fit_input *in, size_t i, const double *value)
{
    double x = log(in->predict(in->context, i, value) / in->points[i].seconds);

    return isfinite(x) ? x : FAR;
}

/* Residuals at t into `r`; tangents in place of predictions where they are drawn. */
static void residuals_at(const struct mfu_fit_problem *q, const double *t, double *r)
{
    double value[MFU_COEFFICIENT_COUNT];
    int all = q->in->n_parameters;

    values_at(q, t, value);
    for (size_t i = 0; i < q->n; i++) {
        r[i] = q->near_j ? q->near_r[i] : is_hidden(q, i) ? 0 : residual(q->in, i, value);
        for (int k = 0; q->near_j && k < all; k++)
            r[i] += q->near_j[i * (size_t)all + (size_t)k] * (t[k] - q->near_t[k]);
    }
}

/* ---- the problem as GSL sees it ------------------------------------------ */

/* Of the vector: the parameters, and q->b. */
static void take(struct mfu_fit_problem *q, const gsl_vector *u, double *t)
{
    memcpy(t, q->t, sizeof q->t);
    for (int i = 0; i < q->p; i++)
        t[q->use[i]] =
            q->lo[q->use[i]] + (q->hi[q->use[i]] - q->lo[q->use[i]]) / (1 + exp(-gsl_vector_get(u, (size_t)i)));
    for (int i = 0; i < q->n_shared; i++)
        q->b[q->shared[i]] = gsl_vector_get(u, (size_t)(q->p + i));
}

/* A residual without what its class has in common. */
static double own_residual(const struct mfu_fit_problem *q, size_t i, double r)
{
    return (r + q->b[q->in->points[i].kind]) / q->s[i];
}

/* sign(r) sqrt(c^2 log(1 + (r/c)^2)): its square is the loss. */
static double robust(double r, double c)
{
    return copysign(c * sqrt(log1p(r * r / (c * c))), r);
}

static double robust_slope(double r, double c)
{
    double f = fabs(robust(r, c));

    return f < 1e-8 ? 1 : fabs(r) / (1 + r * r / (c * c)) / f;
}

/* What a class has in common, in what is expected of that. */
static double shared_residual(const struct mfu_fit_problem *q, int k)
{
    const struct mfu_fit_class *c = &q->in->classes[q->shared[k]];

    return (q->b[q->shared[k]] - c->slower) / c->systematic;
}

/* The sigma of a prior that has been found doubtful. */
static double wide(const struct mfu_fit_problem *q, int k)
{
    return q->doubt * q->sigma[q->use[k]];
}

static int loss(const gsl_vector *u, void *context, gsl_vector *f)
{
    struct mfu_fit_problem *q = context;
    double t[MFU_COEFFICIENT_COUNT];

    if (q->in->interrupted && q->in->interrupted(q->in->context))
        return GSL_EBADFUNC;
    take(q, u, t);
    residuals_at(q, t, q->r);
    for (size_t i = 0; i < q->n; i++)
        gsl_vector_set(f, i, is_hidden(q, i) ? 0 : robust(own_residual(q, i, q->r[i]), q->cut[i]));
    for (int k = 0; k < q->p; k++)
        gsl_vector_set(f, q->n + (size_t)k, t[q->use[k]] / wide(q, k));
    for (int k = 0; k < q->n_shared; k++)
        gsl_vector_set(f, q->n + (size_t)(q->p + k), shared_residual(q, k));
    return GSL_SUCCESS;
}

/* d log(prediction) / dt of every point for `n` parameters, into `j` (n columns); q->r. */
static void draw(struct mfu_fit_problem *q, const double *t, const int *use, int n, double step, double *j)
{
    double moved[MFU_COEFFICIENT_COUNT], at[MFU_COEFFICIENT_COUNT];

    memcpy(at, t, sizeof at);
    residuals_at(q, t, q->r);
    for (int k = 0; k < n; k++) {
        int a = use[k];
        double h = t[a] + step > q->hi[a] ? -step : step;

        at[a] = t[a] + h;
        values_at(q, at, moved);
        at[a] = t[a];
        for (size_t i = 0; i < q->n; i++)
            j[i * (size_t)n + (size_t)k] = is_hidden(q, i) ? 0 : (residual(q->in, i, moved) - q->r[i]) / h;
    }
}

/* The same of the parameters in use, into q->j. */
static void derive(struct mfu_fit_problem *q, const double *t)
{
    if (!q->near_j) {
        draw(q, t, q->use, q->p, STEP, q->j);
        return;
    }
    residuals_at(q, t, q->r);
    for (size_t i = 0; i < q->n; i++)
        for (int k = 0; k < q->p; k++)
            q->j[i * (size_t)q->p + (size_t)k] =
                is_hidden(q, i) ? 0 : q->near_j[i * (size_t)q->in->n_parameters + (size_t)q->use[k]];
}

static int derivatives(const gsl_vector *u, void *context, gsl_matrix *out)
{
    struct mfu_fit_problem *q = context;
    double t[MFU_COEFFICIENT_COUNT];

    if (q->in->interrupted && q->in->interrupted(q->in->context))
        return GSL_EBADFUNC;
    take(q, u, t);
    derive(q, t);
    gsl_matrix_set_zero(out);
    for (int k = 0; k < q->p; k++) {
        double by_u = slope(q, q->use[k], gsl_vector_get(u, (size_t)k));

        for (size_t i = 0; i < q->n; i++)
            gsl_matrix_set(out, i, (size_t)k,
                           robust_slope(own_residual(q, i, q->r[i]), q->cut[i]) / q->s[i]
                               * q->j[i * (size_t)q->p + (size_t)k] * by_u);
        gsl_matrix_set(out, q->n + (size_t)k, (size_t)k, by_u / wide(q, k));
    }
    for (int k = 0; k < q->n_shared; k++) {
        size_t column = (size_t)(q->p + k);

        for (size_t i = 0; i < q->n; i++)
            if (q->in->points[i].kind == q->shared[k] && !is_hidden(q, i))
                gsl_matrix_set(out, i, column, robust_slope(own_residual(q, i, q->r[i]), q->cut[i]) / q->s[i]);
        gsl_matrix_set(out, q->n + column, column, 1 / q->in->classes[q->shared[k]].systematic);
    }
    return GSL_SUCCESS;
}

/* Finds q->t from where it is.  GSL's status. */
static int descend(struct mfu_fit_problem *q)
{
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    size_t p = (size_t)(q->p + q->n_shared), n = q->n + p;
    gsl_multifit_nlinear_fdf fdf = {.f = loss, .df = derivatives, .n = n, .p = p, .params = q};
    gsl_multifit_nlinear_workspace *w;
    gsl_vector *u;
    int status = GSL_ENOMEM, info;

    if (q->p == 0)
        return GSL_SUCCESS;
    how.solver = gsl_multifit_nlinear_solver_cholesky;
    w = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, n, p);
    u = gsl_vector_alloc(p);
    if (w && u) {
        for (int k = 0; k < q->p; k++)
            gsl_vector_set(u, (size_t)k, u_of(q, q->use[k], q->t[q->use[k]]));
        for (int k = 0; k < q->n_shared; k++)
            gsl_vector_set(u, (size_t)(q->p + k), q->b[q->shared[k]]);
        status = gsl_multifit_nlinear_init(u, &fdf, w);
        if (status == GSL_SUCCESS)
            status = gsl_multifit_nlinear_driver(ITERATIONS, 1e-6, 1e-8, 0, NULL, NULL, &info, w);
        if (status != GSL_EBADFUNC && status != GSL_ENOMEM) { /* no progress: as good as it gets */
            double t[MFU_COEFFICIENT_COUNT];

            take(q, gsl_multifit_nlinear_position(w), t);
            memcpy(q->t, t, sizeof q->t);
            status = GSL_SUCCESS;
        }
    }
    if (u)
        gsl_vector_free(u);
    if (w)
        gsl_multifit_nlinear_free(w);
    return status;
}

/* ---- spreads ------------------------------------------------------------- */

/* How far the points of a class scatter around what is common to them.  That is
 * no scatter: it is what the priors hold the solution away from. */
static double scatter(const struct mfu_fit_problem *q, int kind, double *scratch)
{
    size_t n = 0;
    double middle;

    for (size_t i = 0; i < q->n; i++)
        if (q->in->points[i].kind == kind && !is_hidden(q, i))
            scratch[n++] = q->r[i];
    middle = mfu_fit_median(scratch, n);
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(scratch[i] - middle);
    return MFU_FIT_OF_MEDIAN * mfu_fit_median(scratch, n);
}

static double members(const struct mfu_fit_problem *q, int kind)
{
    double n = 0;

    for (size_t i = 0; i < q->n; i++)
        n += q->in->points[i].kind == kind && !is_hidden(q, i);
    return n;
}

/* The spread of each class by the residuals in q->r, or (first) as expected. */
static void find_spreads(struct mfu_fit_problem *q, bool first, double *scratch)
{
    for (int c = 0; c < q->in->n_classes; c++) {
        const struct mfu_fit_class *kind = &q->in->classes[c];
        double s = kind->spread > 0 ? kind->spread : USUAL_SPREAD, n = members(q, c);

        if (!first && n > 0)
            s = sqrt((WORTH_OF_PRIOR * s * s + n * pow(scatter(q, c, scratch), 2)) / (WORTH_OF_PRIOR + n));
        s = fmax(s, LEAST_SPREAD);
        for (size_t i = 0; i < q->n; i++)
            if (q->in->points[i].kind == c)
                q->s[i] = fmax(s, q->in->points[i].spread);
    }
}

/* ---- what is known afterwards -------------------------------------------- */

/* How many neighbours of a class err alike: where the residuals of a sweep follow each
 * other (a shape of the machine that the law lacks), n of them count for fewer, as many
 * as an autoregressive series of that correlation is worth. */
static void find_alike(struct mfu_fit_problem *q)
{
    for (int c = 0; c < q->in->n_classes; c++) {
        double before = 0, both = 0, square = 0, n = 0, rho;

        for (size_t i = 0; i < q->n; i++)
            if (q->in->points[i].kind == c && !is_hidden(q, i)) {
                double r = own_residual(q, i, q->r[i]);

                r = copysign(fmin(fabs(r), CAUCHY), r);
                both += r * before;
                square += r * r;
                before = r;
                n++;
            }
        rho = square > 0 ? both / square : 0;
        q->alike[c] = rho > SURELY_ALIKE / sqrt(n) ? fmin((1 + rho) / (1 - rho), n) : 1;
    }
}

static double weight(const struct mfu_fit_problem *q, size_t i)
{
    double r = own_residual(q, i, q->r[i]);

    return is_hidden(q, i)
        ? 0
        : 1 / (1 + r * r / (CAUCHY * CAUCHY)) / (q->s[i] * q->s[i]) / q->alike[q->in->points[i].kind];
}

/* The inverse of J' W J + 1/sigma^2, of the parameters and then of what classes share.
 * -1 when it has none. */
static int covariance(const struct mfu_fit_problem *q, gsl_matrix *out)
{
    int p = q->p, n = p + q->n_shared;

    gsl_matrix_set_zero(out);
    for (size_t i = 0; i < q->n; i++) {
        const double *row = q->j + i * (size_t)p;
        double w = weight(q, i);
        int s = 0;

        while (s < q->n_shared && q->shared[s] != q->in->points[i].kind)
            s++;
        for (int a = 0; w > 0 && a < n; a++)
            for (int b = 0; b <= a; b++) {
                double x = a < p ? row[a] : a == p + s, y = b < p ? row[b] : b == p + s;

                if (x != 0 && y != 0)
                    *gsl_matrix_ptr(out, (size_t)a, (size_t)b) += w * x * y;
            }
    }
    for (int a = 0; a < n; a++) {
        double sigma = a < p ? wide(q, a) : q->in->classes[q->shared[a - p]].systematic;

        *gsl_matrix_ptr(out, (size_t)a, (size_t)a) += 1 / (sigma * sigma);
    }
    if (gsl_linalg_cholesky_decomp1(out) != GSL_SUCCESS || gsl_linalg_cholesky_invert(out) != GSL_SUCCESS)
        return -1;
    return 0;
}

/* The parameter about which the measurements say least, if that is nothing; or -1.  No
 * more is asked of one: where measurements agree with a prior, it is confirmed. */
static int useless(const struct mfu_fit_problem *q)
{
    double most = HARDLY;
    int worst = -1;

    for (int a = 0; a < q->p; a++) {
        double left = sqrt(gsl_matrix_get(q->cov, (size_t)a, (size_t)a)) / wide(q, a);

        if (left > most) {
            most = left;
            worst = a;
        }
    }
    return worst;
}

/* ---- the fit ------------------------------------------------------------- */

static int fail(const struct mfu_fit_input *in, int status, struct mfu_error *err)
{
    if (status == GSL_EBADFUNC && in->interrupted)
        return mfu_fail(err, MFU_EUNMET, "interrupted");
    if (status == GSL_ENOMEM)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    return mfu_fail(err, MFU_EINPUT, "the measurements cannot be fitted: %s", gsl_strerror(status));
}

/* The largest residual of a class at q->r but for a few, in spreads. */
static double reach(const struct mfu_fit_problem *q, int kind, double *scratch)
{
    size_t n = 0;

    for (size_t i = 0; i < q->n; i++)
        if (q->in->points[i].kind == kind)
            scratch[n++] = fabs(q->r[i]) / q->s[i];
    if (n == 0)
        return 0;
    qsort(scratch, n, sizeof *scratch, mfu_fit_ascending);
    return scratch[(size_t)ceil(MOST_AGREE * (double)n) - 1];
}

/* Cuts off none but a few of each class; whether that is beyond the last cut. */
static bool widen(struct mfu_fit_problem *q, double *scratch)
{
    bool far = false;

    for (int c = 0; c < q->in->n_classes; c++) {
        double cut = fmax(CAUCHY, reach(q, c, scratch));

        for (size_t i = 0; i < q->n; i++)
            if (q->in->points[i].kind == c)
                q->cut[i] = cut;
        far |= cut > CAUCHY;
    }
    return far;
}

/* Nearer to the last cut; false when there already. */
static bool narrow(struct mfu_fit_problem *q)
{
    bool far = false;

    for (size_t i = 0; i < q->n; i++) {
        q->cut[i] = fmax(CAUCHY, q->cut[i] / NARROWER);
        far |= q->cut[i] > CAUCHY;
    }
    return far;
}

/* Widens all priors until none is left by more than MFU_FIT_SURE of its standard errors:
 * measurements that agree on more say that this is not the machine which the
 * priors are of, so that all of them hold less. */
static void find_doubt(struct mfu_fit_problem *q)
{
    q->doubt = 1;
    for (int k = 0; k < q->p; k++)
        q->doubt = fmax(q->doubt, fabs(q->t[q->use[k]]) / q->sigma[q->use[k]] / MFU_FIT_SURE);
}

/* From where few residuals are far to where those that stay far do not count. */
static int approach(struct mfu_fit_problem *q, double *scratch)
{
    int status = GSL_SUCCESS;

    for (bool far = widen(q, scratch); far && status == GSL_SUCCESS; far = narrow(q))
        for (int i = 0; i < ROUNDS && status == GSL_SUCCESS; i++) {
            status = descend(q);
            find_doubt(q);
        }
    return status;
}

/* Solves, finds spreads and solves again. */
static int settle(struct mfu_fit_problem *q, int rounds, double *scratch)
{
    int status = GSL_SUCCESS;

    for (int i = 0; i < rounds && status == GSL_SUCCESS; i++) {
        status = descend(q);
        derive(q, q->t);
        find_spreads(q, false, scratch);
    }
    if (q->cov)
        gsl_matrix_free(q->cov);
    q->cov = NULL;
    if (q->p > 0 && status == GSL_SUCCESS) {
        size_t n = (size_t)(q->p + q->n_shared);

        if (!(q->cov = gsl_matrix_alloc(n, n)))
            return GSL_ENOMEM;
        find_alike(q);
        if (covariance(q, q->cov) < 0)
            return GSL_ESING;
    }
    return status;
}

static void drop(struct mfu_fit_problem *q, int a)
{
    q->t[q->use[a]] = 0;
    memmove(q->use + a, q->use + a + 1, (size_t)(q->p - a - 1) * sizeof *q->use);
    q->p--;
}

/* In which fold a point is: a stretch of its class, since neighbours of a sweep know each other. */
static size_t fold_of(const struct mfu_fit_problem *q, size_t i, size_t folds)
{
    size_t before = 0, all = 0, kind = (size_t)q->in->points[i].kind;

    for (size_t k = 0; k < q->n; k++)
        if (q->in->points[k].kind == (int)kind) {
            before += k < i;
            all++;
        }
    return (before * folds / all + kind) % folds;
}

/* The error on points of a fold that the other folds predict. */
static int hold_out(struct mfu_fit_problem *q, struct mfu_fit *fit)
{
    size_t folds = q->n < FOLDS ? q->n : FOLDS;
    double sum = 0, value[MFU_COEFFICIENT_COUNT], solution[MFU_COEFFICIENT_COUNT];
    int status = GSL_SUCCESS;

    if (q->n < 2 || q->in->without_held_out)
        return status;
    if (!(q->hidden = calloc(q->n, sizeof *q->hidden)))
        return GSL_ENOMEM;
    memcpy(solution, q->t, sizeof solution);
    for (size_t f = 0; f < folds && status == GSL_SUCCESS; f++) {
        for (size_t i = 0; i < q->n; i++)
            q->hidden[i] = fold_of(q, i, folds) == f;
        memcpy(q->t, solution, sizeof solution);
        status = descend(q);
        values_at(q, q->t, value);
        for (size_t i = 0; i < q->n; i++)
            sum += q->hidden[i] ? fabs(expm1(residual(q->in, i, value))) : 0;
    }
    memcpy(q->t, solution, sizeof solution);
    free(q->hidden);
    q->hidden = NULL;
    fit->mape_held_out = sum / (double)q->n;
    return status;
}

/* The solution from the priors on, by what stands for predictions. */
static int from_priors(struct mfu_fit_problem *q, const double *before, double *scratch)
{
    int status, worst;

    memset(q->t, 0, sizeof q->t);
    memcpy(q->r, before, q->n * sizeof *before);
    q->doubt = 1;
    find_spreads(q, true, scratch);
    status = approach(q, scratch);
    if (status == GSL_SUCCESS)
        status = settle(q, ROUNDS, scratch);
    while (status == GSL_SUCCESS && q->p > 0 && (worst = useless(q)) >= 0) {
        drop(q, worst);
        status = settle(q, 1, scratch);
    }
    return status;
}

/* Draws tangents of all parameters at q->t. */
static void draw_tangents(struct mfu_fit_problem *q, const int *use, int n, double *room)
{
    int all = q->in->n_parameters;

    q->near_j = NULL;
    draw(q, q->t, use, n, SECANT, room);
    memcpy(q->near_r, q->r, q->n * sizeof *q->r);
    q->near_j = room + q->n * (size_t)n;
    for (size_t i = 0; i < q->n; i++)
        for (int k = 0; k < n; k++)
            q->near_j[i * (size_t)all + (size_t)use[k]] = room[i * (size_t)n + (size_t)k];
    memcpy(q->near_t, q->t, sizeof q->t);
}

static double moved(const struct mfu_fit_problem *q)
{
    double most = 0;

    for (int k = 0; k < q->in->n_parameters; k++)
        most = fmax(most, fabs(q->t[k] - q->near_t[k]));
    return most;
}

/* Solves tangents at the priors, then at what they give, until that stays. */
static int by_tangents(struct mfu_fit_problem *q, const double *before, double *scratch)
{
    int use[MFU_COEFFICIENT_COUNT], n = q->p, status = GSL_SUCCESS;
    double *room = calloc(q->n * (size_t)(n + q->in->n_parameters), sizeof *room);

    if (!room)
        return GSL_ENOMEM;
    q->tangents = room;
    memcpy(use, q->use, sizeof use);
    for (int i = 0; i < TANGENTS && status == GSL_SUCCESS && (i == 0 || moved(q) > ARRIVED); i++) {
        memcpy(q->use, use, sizeof use);
        q->p = n;
        draw_tangents(q, use, n, room);
        status =
            q->in->interrupted && q->in->interrupted(q->in->context) ? GSL_EBADFUNC : from_priors(q, before, scratch);
    }
    return status;
}

static int solve(struct mfu_fit_problem *q, struct mfu_fit *fit, double *scratch, double *before)
{
    int status;

    residuals_at(q, q->t, before);
    status = q->in->dear ? by_tangents(q, before, scratch) : from_priors(q, before, scratch);
    values_at(q, q->t, fit->value);
    for (size_t i = 0; i < q->n && q->near_j; i++)
        q->r[i] = residual(q->in, i, fit->value);
    if (status == GSL_SUCCESS && q->p == 0) /* nothing was learnt */
        memcpy(q->r, before, q->n * sizeof *before);
    if (status != GSL_SUCCESS)
        return status;
    mfu_fit_fill(fit, q, before, scratch);
    return hold_out(q, fit);
}

static int check(const struct mfu_fit_input *in, struct mfu_error *err)
{
    if (in->n_points == 0)
        return mfu_fail(err, MFU_EINPUT, "there is nothing to fit to");
    if (in->n_parameters > MFU_COEFFICIENT_COUNT || in->n_classes > MFU_FIT_CLASSES)
        return mfu_fail(err, MFU_EINPUT, "more parameters or classes than a fit has room for");
    for (size_t i = 0; i < in->n_points; i++)
        if (!(in->points[i].seconds > 0) || !isfinite(in->points[i].seconds) || in->points[i].kind < 0
            || in->points[i].kind >= in->n_classes)
            return mfu_fail(err, MFU_EINPUT, "measurement %zu is not a time", i + 1);
    return 0;
}

int mfu_fit_coefficients(const struct mfu_fit_input *in, struct mfu_fit *fit, struct mfu_error *err)
{
    double b[MFU_FIT_CLASSES] = {0}, alike[MFU_FIT_CLASSES], *room;
    int shared[MFU_FIT_CLASSES];
    struct mfu_fit_problem q = {.in = in, .n = in->n_points, .doubt = 1, .shared = shared, .b = b, .alike = alike};
    int status;
    gsl_error_handler_t *handler;

    *fit = (struct mfu_fit){.mape_held_out = NAN};
    if (check(in, err) < 0)
        return -1;
    for (int k = 0; k < in->n_parameters; k++)
        if (find_range(&q, k))
            q.use[q.p++] = k;
    room = calloc(q.n * (size_t)(6 + q.p), sizeof *room);
    if (!room)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    q.s = room;
    q.r = room + q.n;
    q.cut = room + 4 * q.n;
    q.near_r = room + 5 * q.n;
    q.j = room + 6 * q.n;
    for (int c = 0; c < in->n_classes; c++)
        if (in->classes[c].systematic > 0)
            q.shared[q.n_shared++] = c;
    handler = gsl_set_error_handler_off(); /* it would end the program */
    status = solve(&q, fit, room + 2 * q.n, room + 3 * q.n);
    gsl_set_error_handler(handler);
    if (q.cov)
        gsl_matrix_free(q.cov);
    free(q.hidden);
    free(q.tangents);
    free(room);
    return status == GSL_SUCCESS ? 0 : fail(in, status, err);
}

/* Coefficients that others multiply, of which samples tell the product, and how
 * fast a board reacts, which samples that have settled do not tell. */
static bool another_says_it(enum mfu_coefficient id)
{
    return id == MFU_C_DRAM_ATTAIN || id == MFU_C_GEMM_CLOCK || id == MFU_C_GEMM_POWER_CLOCK
        || id == MFU_C_GEMM_SETTLING;
}

int mfu_fit_candidates(const struct mfu_fit_input *in, struct mfu_fit_parameter *parameters)
{
    double value[MFU_COEFFICIENT_COUNT];
    int n = 0;

    for (int id = 0; id < MFU_COEFFICIENT_COUNT; id++) {
        bool matters = false;

        memcpy(value, in->prior->value, sizeof value);
        double with = value[id] + mfu_fit_offset(id);

        if (!mfu_fit_can_vary(id, value[id]) || !(mfu_fit_prior_sigma(in->prior, id) > 0)
            || another_says_it((enum mfu_coefficient)id))
            continue;
        value[id] += (with * 1.2 - with + value[id] <= mfu_coefficient_rows[id].most ? 0.2 : -0.2) * with;
        for (size_t i = 0; i < in->n_points && !matters; i++)
            matters = in->predict(in->context, i, value) != in->predict(in->context, i, in->prior->value);
        if (matters)
            parameters[n++] = (struct mfu_fit_parameter){.member = {(enum mfu_coefficient)id}, .n_members = 1};
    }
    return mfu_fit_share_host(in->prior, parameters, n);
}

static bool is_host(int id)
{
    return id >= MFU_C_DISPATCH_EAGER && id <= MFU_C_DISPATCH_ZERO && id != MFU_C_DISPATCH_GRAPH;
}

int mfu_fit_share_host(const struct mfu_coefficients *prior, struct mfu_fit_parameter *parameters, int n)
{
    struct mfu_fit_parameter host = {.sigma = MFU_HOST_SIGMA};
    bool own[MFU_COEFFICIENT_COUNT] = {false}, any = false;

    for (int i = 0; i < n; i++) {
        int first = parameters[i].member[0];

        for (int m = 0; m < parameters[i].n_members; m++)
            own[parameters[i].member[m]] = true;
        if (!is_host(first))
            continue;
        parameters[i].sigma = mfu_host_own_sigma(parameters[i].sigma > 0 ? parameters[i].sigma : prior->sigma[first]);
        any = true;
    }
    for (int id = MFU_C_DISPATCH_EAGER; any && id <= MFU_C_DISPATCH_ZERO; id++) {
        if (!is_host(id) || !mfu_fit_can_vary(id, prior->value[id]) || !(prior->sigma[id] > 0))
            continue;
        host.member[host.n_members++] = (enum mfu_coefficient)id;
        if (!own[id])
            parameters[n++] = (struct mfu_fit_parameter){
                .member = {(enum mfu_coefficient)id}, .n_members = 1, .sigma = mfu_host_own_sigma(prior->sigma[id])};
    }
    if (any)
        parameters[n++] = host;
    return n;
}
