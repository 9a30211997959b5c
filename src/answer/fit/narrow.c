/*
 * narrow.c - a plan again, with coefficients as sure as measurements would make them.
 */
#include "answer/fit/narrow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/gpu.h"
#include "plan/simulation.h"

/* Spread of a sample around its law and what all of a class share (cost/sample.c), and how
 * many samples of one coefficient the quick list has. */
static const struct {
    const char *measure, *with, *coefficients; /* whose names begin so; "": runs */
    double n, spread, shared, minutes;
} rows[] = {
    {"matrix products", "torch_kernels.py --quick", "gemm.", 20, 0.05, 0.02, 1},
    {"attention", "torch_kernels.py --quick", "attention.", 8, 0.08, 0.03, 1},
    {"kernels that stream", "torch_kernels.py --quick", "dram.", 4, 0.05, 0.02, 2},
    {"the host's launches", "torch_kernels.py --quick", "dispatch.", 1, 0.1, 0.1, 0.5},
    {"links", "mfuplan-calibrate on all GPUs", "link.", 8, 0.1, 0.02, 2},
    {"a run of this plan", "ground-truth, or your own log", "", 1, 0, 0, 1},
};
#define N_ROWS (sizeof rows / sizeof rows[0])
#define LEAST_HELP 0.02 /* of the width */
#define CALIBRATED_EAGER 0.06
#define CALIBRATED 0.05 /* what calibrated machines leave of whole runs (calibrate.c) */

/* The variance that is left of one when measurements of another are added. */
static double left_of(double variance, double measured)
{
    return variance > 0 ? 1 / (1 / variance + 1 / measured) : variance;
}

static void learn_from_runs(struct mfu_coefficients *c, const struct mfu_runtime *runtime, const double *share,
                            double n)
{
    double spread = runtime->sigma == MFU_C_MODEL_SIGMA_EAGER ? CALIBRATED_EAGER : CALIBRATED, variance = 0, left;

    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        variance += share[i] > 0 ? pow(share[i] * c->sigma[i], 2) : 0;
    left = variance > 0 ? sqrt(left_of(variance, spread * spread / n) / variance) : 1;
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        c->sigma[i] *= share[i] > 0 ? left : 1;
    c->value[runtime->sigma] = fmin(c->value[runtime->sigma], spread);
    c->value[runtime->excess] = c->value[MFU_C_MODEL_UNSEEN] = 0;
}

static int predict(struct mfu_plan *p, struct mfu_simulation *sim, const struct mfu_scenario *s, struct mfu_error *err)
{
    return mfu_plan_make(p, s, err) < 0 ? -1 : mfu_simulate(p, false, sim, err);
}

static void find_doubtful(const struct mfu_coefficients *c, const double *share, struct mfu_narrow *out)
{
    bool listed[MFU_COEFFICIENT_COUNT] = {false};

    while (out->n_doubtful < MFU_DOUBTFUL) {
        int worst = -1;

        for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
            if (!listed[i] && share[i] * c->sigma[i] > 0
                && (worst < 0 || share[i] * c->sigma[i] > share[worst] * c->sigma[worst]))
                worst = i;
        if (worst < 0)
            return;
        listed[worst] = true;
        out->doubtful[out->n_doubtful++] =
            (struct mfu_doubtful){(enum mfu_coefficient)worst, share[worst], c->sigma[worst]};
    }
}

/* The coefficients after measurement `i`. */
static void learn(struct mfu_coefficients *c, size_t i, const struct mfu_plan *plan, const double *share)
{
    double measured = rows[i].shared * rows[i].shared + rows[i].spread * rows[i].spread / rows[i].n;

    if (!rows[i].coefficients[0])
        learn_from_runs(c, &mfu_runtimes[plan->config.runtime], share, rows[i].n);
    else
        for (int k = 0; k < MFU_COEFFICIENT_COUNT; k++)
            if (strncmp(mfu_coefficient_rows[k].name, rows[i].coefficients, strlen(rows[i].coefficients)) == 0)
                c->sigma[k] = sqrt(left_of(pow(c->sigma[k], 2), measured));
}

int mfu_narrow(const struct mfu_scenario *scenario, struct mfu_narrow *out, struct mfu_error *err)
{
    double share[MFU_COEFFICIENT_COUNT], width;
    bool taken[N_ROWS] = {false};
    struct mfu_scenario s = *scenario;
    struct mfu_gpu *gpu = malloc(2 * sizeof *gpu), *known = gpu + 1;
    struct mfu_plan plan = {0};
    struct mfu_simulation sim = {0};
    int status = gpu ? predict(&plan, &sim, scenario, err) : mfu_fail(err, MFU_ENOMEM, "out of memory");

    *out = (struct mfu_narrow){.step_s = plan.step.time_s, .low_s = plan.step.low_s, .high_s = plan.step.high_s};
    if (status == 0) {
        *known = *scenario->gpu;
        mfu_plan_shares(&plan, share);
        find_doubtful(&known->coefficients, share, out);
        s.gpu = gpu;
    }
    width = out->high_s - out->low_s;
    while (status == 0 && out->n_options < MFU_NARROWINGS) {
        struct mfu_narrowing *best = &out->options[out->n_options];
        size_t which = N_ROWS;

        best->narrower = LEAST_HELP;
        for (size_t i = 0; i < N_ROWS && status == 0; i++) {
            double narrower;

            if (taken[i])
                continue;
            *gpu = *known;
            learn(&gpu->coefficients, i, &plan, share);
            status = predict(&plan, &sim, &s, err);
            narrower = 1 - (plan.step.high_s - plan.step.low_s) / width;
            if (status == 0 && narrower > best->narrower) {
                which = i;
                *best = (struct mfu_narrowing){rows[i].measure, rows[i].with,     rows[i].minutes,
                                               plan.step.low_s, plan.step.high_s, narrower};
            }
        }
        if (which == N_ROWS)
            break;
        taken[which] = true;
        learn(&known->coefficients, which, &plan, share);
        width = best->high_s - best->low_s;
        out->n_options++;
    }
    mfu_plan_release(&plan);
    mfu_simulation_release(&sim);
    free(gpu);
    return status;
}
