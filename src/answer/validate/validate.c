/*
 * validate.c - plans every row of a table and sums up the errors.
 */
#include "answer/validate/validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/search/solve.h"
#include "answer/validate/open_settings.h"
#include "base/extreme.h"
#include "read/runs/measured_rollout.h"
#include "plan/plan.h"
#include "plan/simulation.h"
#include "scenario/setting.h"
#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/suggest.h"

/* What a row has to be compared with; skipped without anything. */
static void take_measured(struct mfu_validated *v, const struct mfu_plan *p, struct mfu_measured_run *run)
{
    char why[sizeof run->skipped] = "";

    v->measured_step_s = mfu_measured_step_s(p, run, why, sizeof why);
    v->measured_allocated_bytes = run->allocated_bytes;
    v->measured_reserved_bytes = run->reserved_bytes;
    if (!isnan(v->measured_step_s) || !isnan(run->allocated_bytes) || !isnan(run->reserved_bytes) || run->ran >= 0) {
        if (why[0])
            mfu_run_note(run, why);
        return;
    }
    snprintf(run->skipped, sizeof run->skipped, "%s", why[0] ? why : "neither time, memory nor outcome is stated");
}

/* ---- what contradicts itself --------------------------------------------- */

/* A measured figure below what the stated run cannot do without, or above what its card can do; false
 * with the reason in `skipped`. */
static bool is_possible(const struct mfu_plan *p, const struct mfu_validated *v, struct mfu_measured_run *run)
{
    double states = mfu_states_of(p);
    double measured = fmin(v->measured_allocated_bytes, v->measured_reserved_bytes); /* whichever is stated */
    double rate = v->model_flops / v->measured_step_s;

    if (measured < MFU_CONTRADICTED * states) {
        snprintf(run->skipped, sizeof run->skipped,
                 "contradicts itself: %.4g GiB measured, weights and optimizer states alone take %.4g GiB",
                 measured / 0x1p30, states / 0x1p30);
        return false;
    }
    if (MFU_CONTRADICTED * rate > v->peak_flops) {
        snprintf(run->skipped, sizeof run->skipped,
                 "contradicts itself: %.4g TFLOP/s in %s, of which the card does %.4g at most", rate / 1e12,
                 mfu_precision_names[p->config.precision], v->peak_flops / 1e12);
        return false;
    }
    return true;
}

/* More FLOP/s than CUDA cores have: "fp32" was TF32, PyTorch's own word for both. */
static bool was_tf32(const struct mfu_plan *p, const struct mfu_validated *v)
{
    return p->mfu.peak == MFU_PEAK_FP32 && p->config.gpu->peak_flops[MFU_PEAK_TF32] > v->peak_flops
        && MFU_CONTRADICTED * v->model_flops / v->measured_step_s > v->peak_flops;
}

#define FAR_APART 4 /* possibilities that differ by more make no prediction (chosen) */

/* What other blocks of the same shape may take, relative: a gate more or less in the MLP, other norms (chosen). */
#define OTHER_BLOCKS 1.15

/* The share of all hours that steps have in a training: over .9 in Llama 3's (arXiv 2407.21783, 3.3.4) and MegaScale's (arXiv
 * 2402.15627, 6.3), where failures, restarts, checkpoints and evaluation are counted; all of it where the hours follow from a
 * rate; and at least (chosen: smaller sites start by hand, as OPT-175B did 35 times, arXiv 2205.01068, 2.5). */
#define GOODPUT 0.95
#define LEAST_GOODPUT 0.8

/* ---- one row ------------------------------------------------------------- */

/* Where nothing says how many GPUs there were and one holds the run, or nothing does. */
static void say_one_gpu(struct mfu_measured_run *run)
{
    if (run->gpus_open && run->scenario.setting[MFU_S_GPUS] == 1)
        mfu_run_note(run, "gpus=1");
}

static void take_predicted(struct mfu_validated *v, const struct mfu_plan *p, const struct mfu_measured_run *run)
{
    snprintf(v->runtime, sizeof v->runtime, "%s", mfu_runtime_names[p->config.runtime]);
    snprintf(v->spread, sizeof v->spread, "%s",
             p->config.ranks <= 1                                      ? "one GPU"
                 : p->config.ranks <= mfu_config_unit_gpus(&p->config) ? "one node"
                                                                       : "several nodes");
    v->predicted_step_s = p->step.time_s;
    v->low_s = p->step.low_s;
    v->high_s = p->step.high_s;
    v->error = v->predicted_step_s / v->measured_step_s - 1;
    v->model_flops = p->mfu.model_flops / p->config.ranks;
    v->peak_flops = p->mfu.peak_flops;
    mfu_memory_as_measured(p, run, &v->predicted_allocated_bytes, &v->predicted_reserved_bytes);
    mfu_reserved_interval(p, run, &v->reserved_low_bytes, &v->reserved_high_bytes);
    v->fits = p->memory.fits;
    v->fits_known = run->card != MFU_CARD_OPEN && !run->memory_apart;
    v->fits_probability = p->memory.fits_probability;
}

#define SEQ_STEP 8   /* tokens between the lengths that are tried (chosen) */
#define SHORTEST "8" /* the first of them */

/* The longest sequence that fits beside the one that the row states; 0: not even the shortest does. */
static void predict_longest(struct mfu_plan *p, struct mfu_simulation *simulation, struct mfu_measured_run *run,
                            struct mfu_validated *v)
{
    struct mfu_error err = {0};
    struct mfu_key key = mfu_scenario_key(&run->scenario, "seq", &err);
    struct mfu_solution longest = {0};
    struct mfu_scenario other = run->scenario;
    bool found;

    say_one_gpu(run);
    take_predicted(v, p, run);
    v->measured_seq = run->seq;
    found = key.kind != MFU_KEY_NONE
        && mfu_solve(&run->scenario, key, SEQ_STEP, true, NULL, p, simulation, &longest, &err) == 0;
    if (found
        || (key.kind != MFU_KEY_NONE && err.code != MFU_ENOMEM && !*mfu_scenario_unpredicted(&run->scenario)
            && mfu_scenario_set(&other, "seq", SHORTEST, NULL) == 0 && mfu_run_suits(p, simulation, run, &other)))
        v->predicted_seq = longest.value;
    else
        snprintf(run->skipped, sizeof run->skipped, "%.190s", err.text);
}

#define ROUNDED 0.03  /* of FLOPs, relative, where rates of three figures say them (chosen) */
#define MOST_LAYERS 2 /* times the model's own (chosen) */

/* Where the row's FLOP/s and tokens say together that the model is another than the named one: that of as many layers as they
 * say, where these are not stated; else the row contradicts itself. */
static void settle_layers(struct mfu_plan *p, struct mfu_measured_run *run)
{
    const double *set = run->scenario.setting;
    double off, best = ROUNDED, layers = mfu_config_dim(&p->config, "n_layer"), unit = set[MFU_S_PP] * set[MFU_S_VPP];
    struct mfu_scenario found = run->scenario, other = found;
    struct mfu_error err = {0};
    char text[160];

    /* What programs count of layers without attention follows none of the conventions. */
    if (mfu_measured_counts(p, run, &off) || !mfu_model_has_attention(run->scenario.model))
        return;
    for (double n = unit; run->layers_open && n <= MOST_LAYERS * layers; n += unit) {
        if (mfu_scenario_set_number(&other, "n_layer", n, &err) < 0 || mfu_plan_make(p, &other, &err) < 0)
            continue;
        mfu_measured_counts(p, run, &off);
        if (off < best) {
            best = off;
            found = other;
        }
    }
    if (best == ROUNDED) {
        snprintf(run->skipped, sizeof run->skipped,
                 "contradicts itself: %.4g GFLOP a token by its rates, of another model than %s",
                 run->rate_flops / run->rate_tokens / 1e9, run->scenario.model->slug);
        return;
    }
    run->scenario = found;
    if (mfu_plan_make(p, &run->scenario, &err) == 0) {
        snprintf(text, sizeof text, "n_layer=%.0f: of as many are %.4g GFLOP a token, by the rates",
                 mfu_config_dim(&p->config, "n_layer"), run->rate_flops / run->rate_tokens / 1e9);
        mfu_run_note(run, text);
    }
}

/* Takes the steps for a part of the hours that were measured. */
static void count_hours(struct mfu_measured_run *run, struct mfu_validated *v)
{
    char text[96];

    if (!run->whole || isnan(v->measured_step_s))
        return;
    snprintf(text, sizeof text, "goodput=%g: the hours of a whole training, of which steps are a part", GOODPUT);
    mfu_run_note(run, text);
    v->high_s =
        v->predicted_step_s / GOODPUT * exp(hypot(log(v->high_s / v->predicted_step_s), log(GOODPUT / LEAST_GOODPUT)));
    v->predicted_step_s /= GOODPUT;
    v->error = v->predicted_step_s / v->measured_step_s - 1;
}

static void predict(struct mfu_plan *p, struct mfu_simulation *simulation, struct mfu_measured_run *run,
                    struct mfu_validated *v)
{
    struct mfu_error err = {0};
    struct mfu_possible all;
    char why[160];
    bool settled;

    if (mfu_plan_make(p, &run->scenario, &err) == 0) {
        mfu_measured_check_size(run, p->program.params, p->program.trainable_params);
    } else {
        snprintf(run->skipped, sizeof run->skipped, "%.190s", err.text);
        if (!run->targets_open || !(run->trainable_m > 0))
            return;
        run->trains_other = true; /* others may suit */
    }
    for (size_t i = 0; mfu_measured_usual_targets(run, i, p->program.trainable_params); i++)
        if (mfu_plan_make(p, &run->scenario, &err) == 0)
            mfu_measured_check_size(run, p->program.params, p->program.trainable_params);
    if (!run->skipped[0])
        settle_layers(p, run);
    if (run->skipped[0])
        return;
    if (run->limit) {
        if (mfu_simulate_plan(p, simulation, &err) < 0)
            snprintf(run->skipped, sizeof run->skipped, "%.190s", err.text);
        else
            predict_longest(p, simulation, run, v);
        return;
    }
    settled = mfu_choose_open(p, simulation, run);
    if (run->skipped[0])
        return;
    if (!settled && mfu_replan(p, simulation, &run->scenario, &err) < 0) {
        snprintf(run->skipped, sizeof run->skipped, "%.190s", err.text);
        return;
    }
    say_one_gpu(run);
    if (run->layout_open && run->ran == 1 && mfu_states_of(p) > p->memory.capacity_bytes) {
        snprintf(run->skipped, sizeof run->skipped,
                 "not predictable: tp, pp and sharding are not stated, and no GPU holds the whole model");
        return;
    }
    take_measured(v, p, run);
    if (run->skipped[0] && run->batch_open)
        snprintf(run->skipped, sizeof run->skipped, "the micro-batch is not stated");
    if (run->skipped[0])
        return;
    take_predicted(v, p, run);
    if (was_tf32(p, v) && mfu_scenario_set(&run->scenario, "precision", "tf32", &err) == 0
        && mfu_replan(p, simulation, &run->scenario, &err) == 0) {
        mfu_run_note(run, "precision=tf32: fp32 is slower than what was measured");
        take_predicted(v, p, run);
    }
    for (int i = run->shape_alone + run->other_compiler; i > 0; i--) {
        v->low_s /= OTHER_BLOCKS;
        v->high_s *= OTHER_BLOCKS;
    }
    run->most_count *= 1 + run->rounding; /* who counts more measured a longer time */
    run->least_count *= 1 - run->rounding;
    v->low_s /= run->most_count;
    v->high_s /= run->least_count;
    if (!is_possible(p, v, run) || (run->n_open == 0 && !run->batch_open && !run->fill_open))
        return;
    all = mfu_look_around(p, simulation, run);
    v->low_s = fmin(v->low_s, all.low_s / run->most_count);
    v->high_s = fmax(v->high_s, all.high_s / run->least_count);
    v->reserved_low_bytes = all.low_bytes;
    v->reserved_high_bytes = all.high_bytes;
    if (all.most_s > FAR_APART * all.least_s && !isnan(v->measured_step_s)) {
        snprintf(why, sizeof why, "not predictable: %s is not stated, and a step takes from %.3g to %.3g s", all.widest,
                 all.least_s, all.most_s);
        if (run->ran < 0) {
            snprintf(run->skipped, sizeof run->skipped, "%s", why);
            return;
        }
        mfu_run_note(run, why); /* whether it fits is known */
        v->measured_step_s = v->error = NAN;
    }
}

/* ---- summing up --------------------------------------------------------- */

typedef double error_fn(const struct mfu_validated *);

static double step_error(const struct mfu_validated *v)
{
    return v->error;
}

static double allocated_error(const struct mfu_validated *v)
{
    return v->predicted_allocated_bytes / v->measured_allocated_bytes - 1;
}

static double reserved_error(const struct mfu_validated *v)
{
    return v->predicted_reserved_bytes / v->measured_reserved_bytes - 1;
}

static double seq_error(const struct mfu_validated *v)
{
    return v->predicted_seq / v->measured_seq - 1;
}

/* What rows are grouped by. */
static const struct grouping {
    const char *by;
    size_t at; /* of the text in a row */
} groupings[] = {{"gpu", offsetof(struct mfu_validated, gpu)},
                 {"runtime", offsetof(struct mfu_validated, runtime)},
                 {"sharding", offsetof(struct mfu_validated, sharding)},
                 {"gpus", offsetof(struct mfu_validated, spread)},
                 {"source", offsetof(struct mfu_validated, source)}};

/* Over all rows (group NULL) or those of one group; `errors` is scratch. */
static struct mfu_errors_summary sum_up(const struct mfu_validation *all, error_fn *error, const struct grouping *group,
                                        const char *value, double *errors)
{
    struct mfu_errors_summary s = {.coverage90 = NAN};
    double sum = 0, bias = 0, worst = -1, inside = 0;

    for (size_t i = 0; i < all->n_rows; i++) {
        const struct mfu_validated *v = &all->rows[i];
        double e = error(v);

        if (v->skipped[0] || !isfinite(e) || (group && strcmp((const char *)v + group->at, value) != 0))
            continue;
        errors[s.n++] = fabs(e);
        sum += fabs(e);
        bias += e;
        if (fabs(e) > worst) {
            worst = fabs(e);
            snprintf(s.worst_id, sizeof s.worst_id, "%s", v->id);
        }
        inside += error == reserved_error ? v->measured_reserved_bytes >= v->reserved_low_bytes
                && v->measured_reserved_bytes <= v->reserved_high_bytes
                                          : v->measured_step_s >= v->low_s && v->measured_step_s <= v->high_s;
    }
    if (s.n == 0) {
        s.mape = s.median = s.bias = s.p90 = NAN;
        return s;
    }
    qsort(errors, s.n, sizeof *errors, mfu_ascending);
    s.mape = sum / (double)s.n;
    s.bias = bias / (double)s.n;
    s.median = s.n % 2 ? errors[s.n / 2] : (errors[s.n / 2 - 1] + errors[s.n / 2]) / 2;
    s.p90 = errors[(size_t)ceil(0.9 * (double)s.n) - 1];
    if (error == step_error || error == reserved_error)
        s.coverage90 = inside / (double)s.n;
    return s;
}

/* What a spreadsheet does: one MFU per GPU, the median of its other rows (of
 * all other rows where it has none). */
static struct mfu_errors_summary baseline(const struct mfu_validation *all, double *scratch)
{
    struct mfu_validation copy = *all;
    struct mfu_errors_summary s;

    copy.rows = malloc(all->n_rows * sizeof *copy.rows + 1);
    if (!copy.rows)
        return (struct mfu_errors_summary){.mape = NAN, .median = NAN};
    memcpy(copy.rows, all->rows, all->n_rows * sizeof *copy.rows);
    for (size_t i = 0; i < all->n_rows; i++) {
        const struct mfu_validated *v = &all->rows[i];

        for (int own = 1; own >= 0; own--) {
            size_t n = 0;

            for (size_t k = 0; k < all->n_rows; k++) {
                const struct mfu_validated *o = &all->rows[k];

                if (k != i && !o->skipped[0] && isfinite(o->error) && o->model_flops > 0
                    && (!own || strcmp(o->gpu, v->gpu) == 0))
                    scratch[n++] = o->model_flops / o->measured_step_s / o->peak_flops;
            }
            copy.rows[i].error = NAN;
            if (n == 0)
                continue;
            qsort(scratch, n, sizeof *scratch, mfu_ascending);
            copy.rows[i].error = isfinite(v->error) && v->model_flops > 0
                ? v->model_flops / (scratch[n / 2] * v->peak_flops) / v->measured_step_s - 1
                : NAN;
            break;
        }
    }
    s = sum_up(&copy, step_error, NULL, NULL, scratch);
    s.coverage90 = NAN;
    free(copy.rows);
    return s;
}

static int group_by(struct mfu_validation *all, const struct grouping *group, double *scratch)
{
    for (size_t i = 0; i < all->n_rows; i++) {
        const char *value = (const char *)&all->rows[i] + group->at;
        size_t k = 0;
        void *more;

        if (all->rows[i].skipped[0])
            continue;
        while (k < all->n_groups
               && !(strcmp(all->groups[k].by, group->by) == 0 && strcmp(all->groups[k].value, value) == 0))
            k++;
        if (k < all->n_groups)
            continue;
        if (!(more = realloc(all->groups, (k + 1) * sizeof *all->groups)))
            return -1;
        all->groups = more;
        all->n_groups++;
        memset(&all->groups[k], 0, sizeof all->groups[k]);
        all->groups[k].by = group->by;
        snprintf(all->groups[k].value, sizeof all->groups[k].value, "%s", value);
        all->groups[k].step = sum_up(all, step_error, group, value, scratch);
        all->groups[k].allocated = sum_up(all, allocated_error, group, value, scratch);
        all->groups[k].reserved = sum_up(all, reserved_error, group, value, scratch);
    }
    return 0;
}

static int summarize(struct mfu_validation *all)
{
    double *scratch = malloc((all->n_rows + 1) * sizeof *scratch);
    int status = 0;

    if (!scratch)
        return -1;
    for (size_t i = 0; i < all->n_rows; i++) {
        const struct mfu_validated *v = &all->rows[i];

        if (v->skipped[0]) {
            all->n_skipped++;
            continue;
        }
        all->n_assumed += v->assumed[0] != '\0';
        all->ran += v->ran == 1;
        all->ran_called_fit += v->ran == 1 && v->fits;
        all->oom += v->ran == 0;
        all->oom_called_oom += v->ran == 0 && !v->fits;
        all->seq_near += fabs(seq_error(v)) <= MFU_SEQ_NEAR;
    }
    all->step = sum_up(all, step_error, NULL, NULL, scratch);
    all->allocated = sum_up(all, allocated_error, NULL, NULL, scratch);
    all->reserved = sum_up(all, reserved_error, NULL, NULL, scratch);
    all->seq = sum_up(all, seq_error, NULL, NULL, scratch);
    all->baseline = baseline(all, scratch);
    for (size_t i = 0; i < sizeof groupings / sizeof *groupings && status == 0; i++)
        status = group_by(all, &groupings[i], scratch);
    free(scratch);
    return status;
}

static bool is_calibrated(const struct mfu_gpu *g)
{
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        if (g->coefficients.origin[i] == MFU_FROM_CALIBRATION)
            return true;
    return false;
}

/* A row of inference: its "step" is one token of the answers over all sequences, or the first token. */
static void predict_rollout(struct mfu_catalog *catalog, const struct mfu_csv *csv, size_t row,
                            struct mfu_plan *scratch, struct mfu_validated *v)
{
    struct mfu_rollout_options o;
    struct mfu_measured_run run;
    struct mfu_error err = {0};
    struct mfu_rollout out;
    double scale;
    bool first;

    mfu_measured_rollout(catalog, csv, row, &run, &o, &first);
    v->ran = run.ran;
    snprintf(v->sharding, sizeof v->sharding, "%.23s", mfu_csv_get(csv, row, "weight_dtype"));
    snprintf(v->assumed, sizeof v->assumed, "%s", run.assumed);
    snprintf(v->skipped, sizeof v->skipped, "%s", run.skipped);
    if (v->skipped[0])
        return;
    if (mfu_rollout(&run.scenario, &o, scratch, &out, &err) < 0) {
        snprintf(v->skipped, sizeof v->skipped, "%.190s", err.text);
        return;
    }
    snprintf(v->spread, sizeof v->spread, "%s", out.gpus > 1 ? "one node" : "one GPU");
    snprintf(v->gpu, sizeof v->gpu, "%s", run.scenario.gpu->slug);
    snprintf(v->runtime, sizeof v->runtime, "%s", mfu_sender_names[(int)o.sender]);
    v->measured_step_s = run.step_s;
    v->predicted_step_s = first ? out.prefill_s : 1 / out.tokens_per_s;
    scale = v->predicted_step_s / out.seconds;
    v->low_s = scale * out.low_s;
    v->high_s = scale * out.high_s;
    v->error = v->predicted_step_s / v->measured_step_s - 1;
    v->fits = out.fits;
    v->fits_known = true;
}

/* Plans row `i`; `run` is what was read of it.  Of a rollout the answer alone is known. */
static void validate_row(struct mfu_catalog *catalog, const struct mfu_csv *csv, size_t i, struct mfu_plan *plan,
                         struct mfu_simulation *simulation, struct mfu_measured_run *run, struct mfu_validated *v)
{
    snprintf(v->id, sizeof v->id, "%s", mfu_csv_get(csv, i, "id"));
    snprintf(v->source, sizeof v->source, "%s", mfu_csv_get(csv, i, "source"));
    snprintf(v->gpu, sizeof v->gpu, "%s", mfu_csv_get(csv, i, "gpu"));
    snprintf(v->sharding, sizeof v->sharding, "%s", mfu_csv_get(csv, i, "sharding"));
    v->measured_step_s = v->predicted_step_s = v->low_s = v->high_s = v->error = NAN;
    v->measured_allocated_bytes = v->predicted_allocated_bytes = NAN;
    v->measured_reserved_bytes = v->predicted_reserved_bytes = NAN;
    v->reserved_low_bytes = v->reserved_high_bytes = v->fits_probability = NAN;
    v->measured_seq = v->predicted_seq = NAN;
    if (mfu_is_rollout_row(csv, i)) {
        predict_rollout(catalog, csv, i, plan, v);
        return;
    }
    mfu_measured_run(catalog, csv, i, run);
    snprintf(v->assumed, sizeof v->assumed, "%s", run->assumed);
    v->ran = run->ran;
    if (!run->skipped[0]) {
        v->read = true;
        predict(plan, simulation, run, v);
        if (!run->skipped[0])
            count_hours(run, v);
        snprintf(v->gpu, sizeof v->gpu, "%s", run->scenario.gpu->slug);
    }
    if (!(v->trains_other = run->trains_other)) /* else without what was tried */
        snprintf(v->assumed, sizeof v->assumed, "%s", run->assumed);
    snprintf(v->skipped, sizeof v->skipped, "%s", run->skipped);
}

struct mfu_validation *mfu_validate(struct mfu_catalog *catalog, const char *path, struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    struct mfu_csv csv;
    struct mfu_plan plan = {0};
    struct mfu_simulation simulation = {0};
    struct mfu_validation *all = calloc(1, sizeof *all);

    if (!all || mfu_csv_read(path, &arena, &csv, err) < 0 || mfu_measured_columns(&csv, path, err) < 0) {
        mfu_arena_free(&arena);
        free(all);
        return NULL;
    }
    all->rows = calloc(csv.n_rows + 1, sizeof *all->rows);
    for (size_t i = 0; all->rows && i < csv.n_rows; i++) {
        struct mfu_validated *v = &all->rows[all->n_rows++];
        struct mfu_measured_run run;

        validate_row(catalog, &csv, i, &plan, &simulation, &run, v);
        if (v->read && is_calibrated(run.scenario.gpu)) {
            all->n_calibrated++;
            snprintf(all->calibrated_gpu, sizeof all->calibrated_gpu, "%s", v->gpu);
        }
    }
    mfu_plan_release(&plan);
    mfu_simulation_release(&simulation);
    mfu_arena_free(&arena);
    if (!all->rows || summarize(all) < 0) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        mfu_validation_free(all);
        return NULL;
    }
    return all;
}

/* The row of this id; n_rows without, with the nearest in `err`, or where several have it. */
static size_t find_row(const struct mfu_csv *csv, const char *path, const char *id, struct mfu_arena *arena,
                       struct mfu_error *err)
{
    const char **ids = mfu_arena_alloc(arena, csv->n_rows + 1, sizeof *ids);
    size_t n = 0, row = csv->n_rows;

    if (!ids)
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (size_t i = 0; ids && i < csv->n_rows; i++) {
        const char *own = mfu_csv_get(csv, i, "id");

        if (*own)
            ids[n++] = own;
        if (!*own || !id || strcmp(own, id) != 0)
            continue;
        if (row < csv->n_rows) {
            mfu_fail(err, MFU_EINPUT, "the row of line %d has the id '%.60s', too", csv->lines[row], id);
            mfu_error_at(err, path, csv->lines[i], 0);
            return csv->n_rows;
        }
        row = i;
    }
    if (!ids || row < csv->n_rows)
        return row;
    if (n == 0)
        mfu_fail(err, MFU_EINPUT, "%.200s: no row has an id (column id)", path);
    else if (!id || !*id)
        mfu_fail(err, MFU_EINPUT, "a table of runs: expected the id of a row behind it, such as %.60s", ids[0]);
    else {
        mfu_fail(err, MFU_EINPUT, "no row has the id '%.60s'", id);
        mfu_error_nearest(err, id, ids, n);
    }
    return csv->n_rows;
}

int mfu_validate_row(struct mfu_catalog *catalog, const char *path, const char *id, struct mfu_measured_run *run,
                     struct mfu_validated *v, struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    struct mfu_csv csv;
    struct mfu_plan plan = {0};
    struct mfu_simulation simulation = {0};
    size_t row;
    int status = -1;

    memset(v, 0, sizeof *v);
    if (mfu_csv_read(path, &arena, &csv, err) == 0 && mfu_measured_columns(&csv, path, err) == 0
        && (row = find_row(&csv, path, id, &arena, err)) < csv.n_rows) {
        validate_row(catalog, &csv, row, &plan, &simulation, run, v);
        status = v->read                    ? 0
            : mfu_is_rollout_row(&csv, row) ? mfu_fail(err, MFU_EINPUT, "%.60s is a rollout, no training", v->id)
                                            : mfu_fail(err, MFU_EINPUT, "%.60s: %.200s", v->id, v->skipped);
        if (status < 0)
            mfu_error_at(err, path, csv.lines[row], 0);
    }
    mfu_plan_release(&plan);
    mfu_simulation_release(&simulation);
    mfu_arena_free(&arena);
    return status;
}

void mfu_validation_free(struct mfu_validation *all)
{
    if (!all)
        return;
    free(all->rows);
    free(all->groups);
    free(all);
}
