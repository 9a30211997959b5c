/*
 * narrow.c - a plan again, with coefficients as sure as measurements would make them.
 */
#include "answer/fit/narrow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/covariance.h"
#include "descriptor/gpu.h"
#include "plan/simulation.h"
#include "scenario/setting.h"

/* Spread of a sample around its law and what all of a class share (cost/sample.c), and how
 * many samples of one coefficient the quick list has. */
static const struct measurement {
    const char *measure, *with, *coefficients; /* whose names begin so; "": a run, */
    int run;                                   /* 1: of this plan, 2: of another batch */
    double n, spread, shared, minutes;
} rows[] = {
#define THIS_RUN 0
    {"a run of this plan", "export scenarios plan.jsonl; ground-truth --part 1 --scenarios plan.jsonl DIR", "", 1, 1, 0,
     0, 1},
    {"a run of another batch", "the same after set batch N", "", 2, 1, 0, 0, 1},
    {"matrix products", "torch_kernels.py --quick --only products samples.yaml", "gemm.", 0, 20, 0.05, 0.02, 1},
    {"attention", "torch_kernels.py --quick --only attention samples.yaml", "attention.", 0, 8, 0.08, 0.03, 1},
    {"optimizers", "torch_kernels.py --quick --only optimizers samples.yaml", "dram.optimizer", 0, 4, 0.05, 0.02, 0.5},
    {"kernels that stream", "torch_kernels.py --quick --only streams samples.yaml", "dram.", 0, 4, 0.05, 0.02, 2},
    {"the host's launches", "torch_kernels.py --quick --only host samples.yaml", "dispatch.", 0, 1, 0.1, 0.1, 0.5},
    {"links", "mfuplan-calibrate --probe collective --output link.yaml", "link.", 0, 8, 0.1, 0.02, 2},
};
#define N_ROWS (sizeof rows / sizeof rows[0])
_Static_assert(N_ROWS <= MFU_NARROWINGS, "room for all");
#define AS_GOOD 0.99 /* of a width: the one further up in the list is taken (chosen) */
#define CALIBRATED_EAGER 0.06
#define RUNS 0.03       /* between runs of a machine and coefficients that are fitted to them, but for eager ones */
#define CALIBRATED 0.05 /* what calibrated machines leave of whole runs (calibrate.c) */

/* While measurements are tried out. */
struct work {
    const struct mfu_scenario *scenario;
    struct mfu_plan plan;
    double longer;                               /* the simulated step, relative to the plan's */
    double slope[N_ROWS][MFU_COEFFICIENT_COUNT]; /* of the step of each run */
    bool possible[N_ROWS];
};

static void find_doubtful(const struct mfu_coefficients *c, const double *slope, struct mfu_narrow *out)
{
    bool listed[MFU_COEFFICIENT_COUNT] = {false};

    while (out->n_doubtful < MFU_DOUBTFUL) {
        int worst = -1;

        for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
            if (!listed[i] && fabs(slope[i]) * c->sigma[i] > 0
                && (worst < 0 || fabs(slope[i]) * c->sigma[i] > fabs(slope[worst]) * c->sigma[worst]))
                worst = i;
        if (worst < 0)
            return;
        listed[worst] = true;
        out->doubtful[out->n_doubtful++] =
            (struct mfu_doubtful){(enum mfu_coefficient)worst, fabs(slope[worst]), c->sigma[worst]};
    }
}

/* The measurement of a coefficient: the first whose name fits; N_ROWS: none. */
static size_t measures(int id)
{
    size_t i = 0;

    while (i < N_ROWS
           && (rows[i].run
               || strncmp(mfu_coefficient_rows[id].name, rows[i].coefficients, strlen(rows[i].coefficients)) != 0))
        i++;
    return i;
}

/* The coefficients after measurement `row`. */
static void learn(struct mfu_coefficients *c, size_t row, const struct work *w)
{
    const struct measurement *m = &rows[row];
    const struct mfu_runtime *runtime = &mfu_runtimes[w->plan.config.runtime];
    bool eager = runtime->sigma == MFU_C_MODEL_SIGMA_EAGER;
    double run = eager ? CALIBRATED_EAGER : RUNS, left = eager ? CALIBRATED_EAGER : CALIBRATED;

    if (m->run) {
        mfu_coefficients_learn(c, w->slope[row], run * run);
        c->value[runtime->sigma] = fmin(c->value[runtime->sigma], left);
        c->value[runtime->excess] = c->value[MFU_C_MODEL_UNSEEN] = 0;
        return;
    }
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        if (measures(i) == row) {
            double itself[MFU_COEFFICIENT_COUNT] = {0};

            itself[i] = 1;
            mfu_coefficients_learn(c, itself, m->shared * m->shared + m->spread * m->spread / m->n);
        }
}

/* What each run would tell, where it can be. */
static void find_slopes(struct work *w)
{
    struct mfu_plan other = {0};
    double batch = w->plan.config.setting[MFU_S_BATCH];

    for (size_t i = 0; i < N_ROWS; i++) {
        struct mfu_scenario s = *w->scenario;

        w->possible[i] = !rows[i].run || w->plan.memory.fits;
        if (rows[i].run == 1)
            mfu_plan_slopes(&w->plan, w->slope[i]);
        if (rows[i].run != 2)
            continue;
        s.setting_given[MFU_S_BATCH] = true;
        s.setting[MFU_S_BATCH] = 2 * batch;
        if (mfu_plan_make(&other, &s, NULL) < 0 || !other.memory.fits) {
            s.setting[MFU_S_BATCH] = ceil(batch / 2);
            w->possible[i] = batch > 1 && mfu_plan_make(&other, &s, NULL) == 0 && other.memory.fits;
        } else
            w->possible[i] = true;
        if (w->possible[i])
            mfu_plan_slopes(&other, w->slope[i]);
    }
    mfu_plan_release(&other);
}

/* The plan with these coefficients, whose values are the same, and one more measurement (N_ROWS: none). */
static int try_out(struct work *w, const struct mfu_gpu *known, size_t row, struct mfu_gpu *gpu, struct mfu_error *err)
{
    struct mfu_scenario s = *w->scenario;

    *gpu = *known;
    if (row < N_ROWS)
        learn(&gpu->coefficients, row, w);
    s.gpu = gpu;
    if (mfu_plan_make(&w->plan, &s, err) < 0)
        return -1;
    w->plan.step.low_s *= w->longer;
    w->plan.step.high_s *= w->longer;
    return 0;
}

/* ground-truth runs on one GPU. */
static const char *commands(const struct work *w, size_t row)
{
    return rows[row].run && w->plan.config.ranks > 1 ? "train some steps with a log; calibrate from LOG"
                                                     : rows[row].with;
}

static int rank(struct work *w, struct mfu_gpu *known, struct mfu_gpu *next, struct mfu_narrow *out,
                struct mfu_error *err)
{
    double width = out->high_s - out->low_s, alone_s[N_ROWS];
    bool taken[N_ROWS] = {false};
    size_t which;

    for (size_t i = 0; i < N_ROWS; i++) {
        taken[i] = !w->possible[i];
        if (try_out(w, known, i, next, err) < 0)
            return -1;
        alone_s[i] = (w->plan.step.high_s - w->plan.step.low_s) / 2;
    }
    do {
        struct mfu_narrowing *best = &out->options[out->n_options];

        which = N_ROWS;
        for (size_t i = 0; i < N_ROWS; i++) {
            double now;

            if (taken[i])
                continue;
            if (try_out(w, known, i, next, err) < 0)
                return -1;
            now = w->plan.step.high_s - w->plan.step.low_s;
            if (which < N_ROWS && now >= AS_GOOD * (best->high_s - best->low_s))
                continue;
            which = i;
            *best = (struct mfu_narrowing){rows[i].measure,    commands(w, i),      rows[i].minutes, alone_s[i],
                                           w->plan.step.low_s, w->plan.step.high_s, 1 - now / width};
        }
        if (which < N_ROWS) {
            taken[which] = true;
            learn(&known->coefficients, which, w);
            width = best->high_s - best->low_s;
            out->n_options++;
        }
    } while (which < N_ROWS);
    return 0;
}

int mfu_narrow(const struct mfu_scenario *scenario, struct mfu_narrow *out, struct mfu_error *err)
{
    struct mfu_gpu *gpus = malloc(2 * sizeof *gpus);
    struct work *w = calloc(1, sizeof *w);
    struct mfu_simulation sim = {0};
    double planned_s;
    int status = -1;

    *out = (struct mfu_narrow){.n_options = 0};
    if (!gpus || !w)
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    else if (mfu_plan_make(&w->plan, scenario, err) == 0) {
        w->scenario = scenario;
        gpus[0] = *scenario->gpu;
        planned_s = w->plan.step.time_s;
        find_slopes(w);
        find_doubtful(&gpus[0].coefficients, w->slope[THIS_RUN], out);
        if (mfu_simulate(&w->plan, false, &sim, err) == 0) {
            w->longer = w->plan.step.time_s / planned_s;
            out->step_s = w->plan.step.time_s;
            out->low_s = w->plan.step.low_s;
            out->high_s = w->plan.step.high_s;
            status = rank(w, &gpus[0], &gpus[1], out, err);
        }
    }
    if (w)
        mfu_plan_release(&w->plan);
    mfu_simulation_release(&sim);
    free(w);
    free(gpus);
    return status;
}
