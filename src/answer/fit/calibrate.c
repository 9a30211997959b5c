/*
 * calibrate.c - samples and runs as points of one fit.
 */
#include "answer/fit/calibrate.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "answer/fit/calibrate_base.h"
#include "read/runs/measured_run.h"
#include "plan/plan.h"
#include "answer/observe/observe.h"
#include "plan/simulation.h"
#include "base/list.h"
#include "base/csv.h"
#include "base/error.h"
#include "cost/sample.h"
#include "descriptor/catalog.h"
#include "descriptor/covariance.h"
#include "scenario/setting.h"

#define MOST_RUNS 400 /* of one fit */
#define MOST_FILES 16 /* of measurements, in one call */

/* Runs of one machine and software scatter less around a model that is
 * calibrated to them than runs of all do (cost model 10: 3.6 % is left). */
static const struct mfu_fit_class run_kinds[] = {{"eager runs", 0.06, 0, 0}, {"runs", 0.03, 0, 0}};

/* What all runs of a source have in common, where there are several: two campaigns on the same kernels and type of card
 * differ by 3 to 9 % (docs/accuracy.md).  Thirty runs of one say no more of the card than that allows, and on many GPUs
 * nothing of another's `system`. */
#define SOURCES_DIFFER 0.06

struct run {
    struct mfu_plan plan;
    struct mfu_simulation simulation;
    bool given[MFU_COEFFICIENT_COUNT]; /* that the row itself sets */
    struct run *next;
};

struct point {
    const struct mfu_sample *sample; /* one of the two */
    struct run *run;
};

/* Everything while a calibration is worked out. */
struct work {
    const struct mfu_calibrate_input *in;
    struct mfu_calibrated *out;
    struct mfu_samples samples[MOST_FILES];
    int n_files;
    struct run *runs;
    struct mfu_fit_point *points;
    struct point *what;
    size_t n, cap;
    struct mfu_fit_class classes[MFU_FIT_CLASSES];
    int source_of[MFU_FIT_CLASSES]; /* of runs, as add_table numbers them */
    int n_classes;
    struct mfu_coefficients prior;
    struct mfu_machine machine;
    double machine_is_of[MFU_COEFFICIENT_COUNT];
};

/* ---- predictions --------------------------------------------------------- */

/* Of a pipeline, what is simulated is one stage: the schedule is planned again. */
static double run_seconds(struct run *r, const double *value)
{
    bool staged = r->plan.config.setting[MFU_S_PP] > 1;
    struct mfu_scenario with = r->plan.scenario, *s = staged ? &with : &r->plan.scenario;
    struct mfu_error problem = {0};

    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        if (!r->given[i]) {
            s->coefficient[i] = value[i];
            s->coefficient_given[i] = MFU_GIVEN_BY_FIT;
        }
    if (!staged)
        return mfu_simulate_again(&r->plan, &r->simulation);
    return mfu_plan_make(&r->plan, s, &problem) < 0 ? NAN : r->plan.step.time_s;
}

static double predict(void *context, size_t i, const double value[MFU_COEFFICIENT_COUNT])
{
    struct work *w = context;

    if (w->what[i].run)
        return run_seconds(w->what[i].run, value);
    if (memcmp(w->machine_is_of, value, sizeof w->machine_is_of) != 0) {
        mfu_machine_of(w->out->gpu, value, &w->machine);
        memcpy(w->machine_is_of, value, sizeof w->machine_is_of);
    }
    return mfu_sample_seconds(&w->machine, w->what[i].sample);
}

static int interrupted(void *context)
{
    struct work *w = context;

    return w->in->interrupted && w->in->interrupted(w->in->context);
}

/* ---- points -------------------------------------------------------------- */

static void leave_out(struct work *w, const char *why)
{
    w->out->n_left_out++;
    snprintf(w->out->why, sizeof w->out->why, "%.190s", why);
}

static int add_point(struct work *w, struct mfu_fit_point point, struct point what, struct mfu_error *err)
{
    size_t cap = w->cap;

    if (!MFU_ROOM(w->points, w->n + 1, cap) || !MFU_ROOM(w->what, w->n + 1, w->cap))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    w->points[w->n] = point;
    w->what[w->n++] = what;
    return 0;
}

/* The class of this name, source and systematic spread in the fit as a whole, since runs on many GPUs take nothing from
 * what those on one say; the last, with the larger spread of the two, when it is full. */
static int class_of(struct work *w, struct mfu_fit_class c, int source)
{
    int i = 0;

    while (i < w->n_classes
           && (strcmp(w->classes[i].name, c.name) != 0 || w->source_of[i] != source
               || w->classes[i].systematic != c.systematic))
        i++;
    if (i == w->n_classes && i < MFU_FIT_CLASSES) {
        w->source_of[i] = source;
        w->classes[w->n_classes++] = c;
    }
    i = i < w->n_classes ? i : w->n_classes - 1;
    w->classes[i].systematic = fmax(w->classes[i].systematic, c.systematic);
    return i;
}

static int add_samples(struct work *w, const struct mfu_samples *s, struct mfu_error *err)
{
    const struct mfu_coefficients *prior = mfu_catalog_prior(w->in->catalog, w->out->gpu);

    w->out->n_left_out += s->n_unknown;
    if (s->n_unknown > 0)
        snprintf(w->out->why, sizeof w->out->why, "%s", s->unknown);
    mfu_machine_of(w->out->gpu, prior->value, &w->machine);
    for (size_t i = 0; i < s->n; i++) {
        const struct mfu_sample *row = &s->rows[i];

        if (!isfinite(mfu_sample_seconds(&w->machine, row))) {
            leave_out(w, "what the GPU's file says it does not have was measured");
            continue;
        }
        if (add_point(w, (struct mfu_fit_point){row->seconds, row->spread, class_of(w, s->classes[row->kind], 0)},
                      (struct point){.sample = row}, err)
            < 0)
            return -1;
        w->out->n_samples++;
    }
    return 0;
}

/* `source`: 0 where all are of one. */
static int add_run(struct work *w, const struct mfu_measured_run *measured, int source, struct mfu_error *err)
{
    struct mfu_error problem = {0};
    struct mfu_fit_class class;
    struct mfu_scenario scenario = measured->scenario;
    struct mfu_measured_run stated = *measured;
    double measured_s;
    struct run *r;
    char why[200];

    if (stated.batch_open || stated.fill_open || stated.other_program || stated.shape_alone) {
        leave_out(w,
                  stated.other_program     ? "the program is not known"
                      : stated.shape_alone ? "nothing is known of the model but its shape"
                                           : "the micro-batch is not stated");
        return 0;
    }
    if (w->out->n_runs == MOST_RUNS) {
        leave_out(w, "more than 400 runs");
        return 0;
    }
    if (!(r = calloc(1, sizeof *r)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    r->next = w->runs;
    w->runs = r;
    scenario.gpu = w->out->gpu;
    memcpy(r->given, scenario.coefficient_given, sizeof r->given);
    if (mfu_plan_make(&r->plan, &scenario, &problem) < 0
        || mfu_simulate(&r->plan, false, &r->simulation, &problem) < 0) {
        leave_out(w, problem.text);
        return 0;
    }
    measured_s = mfu_measured_step_s(&r->plan, &stated, why, sizeof why);
    if (!(measured_s > 0)) {
        leave_out(w, "no step time is stated, or it does not follow");
        return 0;
    }
    if (stated.least_count < stated.most_count) {
        leave_out(w, "an MFU without its mfu_convention");
        return 0;
    }
    w->out->n_runs++;
    class = run_kinds[mfu_runtimes[r->plan.config.runtime].sigma != MFU_C_MODEL_SIGMA_EAGER];
    if (source > 0) {
        const struct mfu_coefficients *prior = mfu_catalog_prior(w->in->catalog, w->out->gpu);

        class.systematic = hypot(SOURCES_DIFFER, r->plan.config.ranks > 1 ? prior->sigma[MFU_C_SYSTEM] : 0);
        class.slower = prior->value[class.name == run_kinds[0].name ? MFU_C_MODEL_EXCESS_EAGER : MFU_C_MODEL_EXCESS];
    }
    return add_point(w, (struct mfu_fit_point){measured_s, 0, class_of(w, class, source)}, (struct point){.run = r},
                     err);
}

/* The number of a row's source, from 1 on; 0 where the table has but one. */
static int source_of(const struct mfu_csv *csv, size_t row)
{
    size_t first = 0;
    bool several = false;

    for (size_t i = 1; i < csv->n_rows && !several; i++)
        several = strcmp(mfu_csv_get(csv, i, "source"), mfu_csv_get(csv, 0, "source")) != 0;
    while (several && strcmp(mfu_csv_get(csv, first, "source"), mfu_csv_get(csv, row, "source")) != 0)
        first++;
    return several ? (int)first + 1 : 0;
}

static int add_table(struct work *w, const char *path, struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    struct mfu_csv csv;
    int status = mfu_csv_read(path, &arena, &csv, err) < 0 ? -1 : mfu_measured_columns(&csv, path, err);
    size_t before = w->out->n_runs;
    char other[48] = "";

    for (size_t i = 0; status == 0 && i < csv.n_rows && !interrupted(w); i++) {
        struct mfu_measured_run run;

        mfu_measured_run(w->in->catalog, &csv, i, &run);
        if (run.skipped[0])
            leave_out(w, run.skipped);
        else if (strcmp(run.scenario.gpu->slug, w->out->gpu->slug) != 0) {
            snprintf(other, sizeof other, "%s", run.scenario.gpu->slug);
            leave_out(w, "runs of other GPUs");
        } else
            status = add_run(w, &run, source_of(&csv, i), err);
    }
    if (status == 0 && w->out->n_runs == before) {
        status = mfu_fail(err, MFU_EINPUT, "%.120s has no run of %s with a step time%s%s", path, w->out->gpu->slug,
                          w->out->why[0] ? "; others: " : "", w->out->why);
        if (other[0])
            mfu_error_suggest(err, (snprintf(w->out->why, sizeof w->out->why, "gpu %s", other), w->out->why));
    }
    mfu_arena_free(&arena);
    return status;
}

/* Whether the run cannot have been what is planned: by that it did not fit, and
 * no figure of its own says how much it took. */
static bool is_impossible(const struct mfu_observation *o)
{
    return o->predicted && !o->plan.memory.fits && isnan(o->figure[MFU_FIGURE_RESERVED])
        && isnan(o->figure[MFU_FIGURE_SMI_USED]);
}

/* A training log, as `observe` reads it: its steady step time is one run. */
static int add_log(struct work *w, const char *path, struct mfu_error *err)
{
    struct mfu_observe_request request = {.log = path};
    struct mfu_observation *o = w->in->scenario ? mfu_observe(w->in->catalog, w->in->scenario, &request, err) : NULL;
    size_t before = w->out->n_runs;
    const char *problem = NULL;
    int status = -1;

    if (!w->in->scenario)
        return mfu_fail(err, MFU_EINPUT, "%.120s: a log needs a scenario beside it", path);
    if (!o)
        return -1;
    for (int i = 0; i < o->n_findings; i++)
        if (strcmp(o->findings[i].code, "size-contradiction") == 0
            || (strcmp(o->findings[i].code, "memory-pressure") == 0 && is_impossible(o)))
            problem = o->findings[i].message;
    if (!o->predicted)
        problem = problem ? problem : o->why_not;
    else if (o->batch_guessed)
        problem = "nobody states batch and accum, which it was guessed from; `set` them";
    else if (o->stalled > 0)
        problem = "its steps stall again and again, which no coefficient of the GPU explains; see `observe`";
    else if (!(o->figure[MFU_FIGURE_TIME] > 0))
        problem = "it states no step time";
    else if (o->plan.config.gpu != w->out->gpu)
        problem = "it is of another GPU than the current one";
    if (!problem) {
        struct mfu_measured_run run = {
            .scenario = o->plan.scenario, .step_s = o->figure[MFU_FIGURE_TIME], .mfu = NAN, .ran = 1};

        status = add_run(w, &run, 0, err);
        if (status == 0 && w->out->n_runs == before)
            problem = w->out->why;
    }
    if (problem)
        status = mfu_fail(err, MFU_EINPUT, "%.120s: %s", path, problem);
    mfu_observation_free(o);
    return status;
}

/* ---- which GPU ----------------------------------------------------------- */

/* The catalog's name for what the driver calls a GPU. */
static const struct mfu_gpu *named(struct mfu_catalog *catalog, const char *name)
{
    static const char *const brands[] = {"", "NVIDIA ", "NVIDIA GeForce ", "Tesla ", "GeForce ", "Quadro "};

    for (size_t i = 0; i < sizeof brands / sizeof brands[0]; i++) {
        size_t n = strlen(brands[i]);
        const struct mfu_gpu *gpu =
            strncasecmp(name, brands[i], n) == 0 && name[n] ? mfu_catalog_gpu(catalog, name + n, NULL) : NULL;

        if (gpu)
            return gpu;
    }
    return NULL;
}

/* Memory may differ so much from the size on the box, relative: less than between two sizes of one card (chosen). */
#define SAME_SIZE 0.12

/* Whether what the samples say of their card is so of this one. */
static bool agrees(const struct mfu_gpu *g, const struct mfu_samples *s)
{
    double size = g->smi_total_bytes > 0 ? g->smi_total_bytes : g->size_bytes;

    return (isnan(s->sms) || s->sms == g->sms)
        && (isnan(s->compute_capability) || !(g->compute_capability > 0)
            || s->compute_capability == g->compute_capability)
        && (isnan(s->memory_bytes) || fabs(log(s->memory_bytes / size)) < SAME_SIZE);
}

/* The only card of the catalog that agrees with all figures, where all are stated. */
static const struct mfu_gpu *only_one(struct mfu_catalog *catalog, const struct mfu_samples *s)
{
    const struct mfu_gpu *found = NULL;
    const char *const *names;
    size_t n, agree = 0;

    if (isnan(s->sms) || isnan(s->compute_capability) || isnan(s->memory_bytes))
        return NULL;
    names = mfu_catalog_gpus(catalog, &n);
    for (size_t i = 0; names && i < n; i++) {
        const struct mfu_gpu *g = mfu_catalog_gpu(catalog, names[i], NULL);

        if (g && agrees(g, s)) {
            found = g;
            agree++;
        }
    }
    return agree == 1 ? found : NULL;
}

/* The GPU that samples are of: by its name; else the one whose figures are the same, which two sizes of
 * one name differ in. */
static const struct mfu_gpu *gpu_of(const struct work *w, const struct mfu_samples *s, struct mfu_error *err)
{
    const struct mfu_gpu *gpu = named(w->in->catalog, s->gpu), *now = w->in->gpu, *only;

    if (gpu && agrees(gpu, s))
        return gpu;
    if (!gpu && (isnan(s->sms) || isnan(s->compute_capability) || agrees(now, s)))
        return now;
    if ((only = only_one(w->in->catalog, s)))
        return only;
    if (gpu)
        mfu_fail(err, MFU_EINPUT,
                 "the samples are of a %s with %.0f SMs and %.0f GB, which %s is not: a part of one, or another",
                 s->gpu, s->sms, s->memory_bytes / 1e9, gpu->slug);
    else
        mfu_fail(err, MFU_EINPUT,
                 "the samples are of a GPU that no file describes: %.60s (%.0f SMs, compute capability %.1f); "
                 "the current one, %s, is another",
                 s->gpu, s->sms, s->compute_capability, now->slug);
    return NULL;
}

/* ---- what may be fitted -------------------------------------------------- */

/* The next number of the fit; `sigma` is relative, how far it may be from what is
 * known before there are runs (estimates, wider where software decides). */
static struct mfu_fit_parameter *one(struct mfu_fit_parameter *list, int *n, double sigma)
{
    list[*n] = (struct mfu_fit_parameter){.sigma = sigma};
    return &list[(*n)++];
}

static void tie(struct mfu_fit_parameter *p, int from, int to)
{
    for (; from <= to && p->n_members < MFU_FIT_MEMBERS; from++)
        p->member[p->n_members++] = (enum mfu_coefficient)from;
}

/* Whether a prediction would be another if this were half of what it is. */
static bool matters(struct work *w, int id)
{
    double value[MFU_COEFFICIENT_COUNT];

    memcpy(value, w->prior.value, sizeof value);
    value[id] /= 2;
    for (size_t i = 0; i < w->n; i++)
        if (predict(w, i, value) != predict(w, i, w->prior.value))
            return true;
    return false;
}

/* Trainers with callbacks, logging or streaming data take up to this long between
 * two steps (published runs: 40-100 ms); what takes longer is no hand-over. */
#define LONGEST_HAND_OVER 0.1
/* Steps whose times differ less than this many times cannot tell what every step
 * takes from what grows with it (chosen). */
#define OTHER_SIZE 1.3

static void tie_constant(struct mfu_fit_parameter *p)
{
    tie(p, MFU_C_STEP_CONSTANT, MFU_C_STEP_CONSTANT);
    p->most = LONGEST_HAND_OVER;
}

/* Of a step of one rank. */
static double sequences(const struct run *r)
{
    return r->plan.config.accum * r->plan.config.batch;
}

/* Whether this coefficient, what a step takes, or a sequence, can be told from the rest at all. */
static bool sizes_differ(struct work *w, enum mfu_coefficient id)
{
    double least = INFINITY, most = 0;

    for (size_t i = 0; i < w->n; i++) {
        const struct run *r = w->what[i].run;
        double s = r && !r->given[id] ? predict(w, i, w->prior.value) : NAN;

        if (r && id == MFU_C_HOST_LOADER)
            s /= sequences(r);
        least = fmin(least, s);
        most = fmax(most, s);
    }
    return most > OTHER_SIZE * least;
}

/* Of whole runs, the few that matter (cost model 10), with their sigmas. */
static int parameters_of_runs(struct work *w, bool constant, struct mfu_fit_parameter *list)
{
    bool used[MFU_ATTENTION_COUNT] = {false}, several = false, own = true, eager = false, compiled = false;
    struct mfu_fit_parameter *p;
    bool fp32 = false;
    int n = 0;

    for (size_t i = 0; i < w->n; i++) {
        const struct mfu_config *c = &w->what[i].run->plan.config;

        used[c->attention] = true;
        several |= c->ranks > 1;
        own &= !(w->classes[w->points[i].kind].systematic > 0);
        eager |= !mfu_runtimes[c->runtime].compiled;
        compiled |= mfu_runtimes[c->runtime].compiled;
        fp32 |= mfu_precisions[c->precision].linear_math == MFU_PEAK_FP32;
    }
    p = one(list, &n, 0.10);
    tie(p, MFU_C_GEMM_EFFICIENCY, MFU_C_GEMM_EFFICIENCY);
    if (fp32)
        tie(p, MFU_C_GEMM_FP32, MFU_C_GEMM_FP32);
    for (int k = 0; k < MFU_ATTENTION_COUNT; k++)
        if (used[k] && mfu_attentions[k].fused)
            tie(one(list, &n, 0.12), mfu_attentions[k].d64, mfu_attentions[k].d128);
    /* One board may be slow; boards in general follow the law of their memory (dram.attain: sigma 3 to 8 % of most families). */
    p = one(list, &n, own ? 0.20 : 0.07);
    tie(p, MFU_C_DRAM_POINTWISE, MFU_C_DRAM_OPTIMIZER);
    tie(p, MFU_C_RATE_POINTWISE, MFU_C_RATE_NORM); /* which rules where loads are narrow */
    if (constant)
        tie_constant(one(list, &n, 1));
    if (eager)
        tie(one(list, &n, 0.4), MFU_C_DISPATCH_EAGER, MFU_C_DISPATCH_BACKWARD);
    if (compiled)
        tie(one(list, &n, 0.4), MFU_C_DISPATCH_COMPILE, MFU_C_DISPATCH_C);
    if (several && own)
        tie(one(list, &n, 0), MFU_C_SYSTEM, MFU_C_SYSTEM);
    if (several) {
        p = one(list, &n, 0.25);
        for (int id = MFU_C_LINK_NVLINK; id <= MFU_C_LINK_HOST; id++)
            if (matters(w, id))
                tie(p, id, id);
    }
    return mfu_fit_share_host(&w->prior, list, n);
}

/* Whether a GEMM was repeated until clocks had settled: without one, a card that slows down
 * and one that is slow look the same. */
static bool settled(const struct work *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->what[i].sample && w->what[i].sample->sustained)
            return true;
    return false;
}

static bool by_runs_alone(const struct work *w)
{
    return w->out->n_samples == 0 && !w->out->file.base.from[0];
}

static int choose_parameters(struct work *w, const struct mfu_fit_input *in, bool constant,
                             struct mfu_fit_parameter *list)
{
    int n, kept = 0;

    if (by_runs_alone(w))
        return parameters_of_runs(w, constant, list);
    n = mfu_fit_candidates(in, list);
    for (int i = 0; i < n; i++) {
        bool is_constant = list[i].member[0] == MFU_C_STEP_CONSTANT;

        /* From there on a coefficient sizes memory, or says how sure a prediction is. */
        if (list[i].member[0] >= MFU_C_NCCL_BYTES || (is_constant && !constant))
            continue;
        if (list[i].member[0] == MFU_C_GEMM_THROTTLE && !(w->prior.value[MFU_C_GEMM_THROTTLE] > 0) && !settled(w))
            continue;
        if (is_constant)
            list[i].most = LONGEST_HAND_OVER;
        list[kept++] = list[i];
    }
    return kept;
}

/* Where steps of several sizes agree better with a longer constant than with the
 * rest alone, that; a single step, which any constant explains, does not move it. */
static int fit_with_or_without_constant(struct work *w, struct mfu_fit_input *in, struct mfu_fit_parameter *list,
                                        struct mfu_error *err)
{
    struct mfu_fit *with = NULL;
    int status;

    in->parameters = list;
    in->n_parameters = choose_parameters(w, in, false, list);
    if (mfu_fit_coefficients(in, &w->out->fit, err) < 0)
        return -1;
    if (!sizes_differ(w, MFU_C_STEP_CONSTANT))
        return 0;
    if (!(with = malloc(sizeof *with)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    in->n_parameters = choose_parameters(w, in, true, list);
    status = mfu_fit_coefficients(in, with, err);
    if (status == 0 && with->all.mape < w->out->fit.all.mape)
        w->out->fit = *with;
    free(with);
    return status;
}

/* Beyond these errors, measurements are hardly of the GPU that they name, or do
 * not agree (chosen bounds: published kernels of known GPUs are within 0.2). */
#define HARDLY_OF_IT 0.5 /* in the mean, of samples; of runs that the others predict */
#define HARDLY_AGREE 0.3 /* in the mean, of runs */
#define HALF_OFF 0.25    /* in the median */

/* How far a loader that all runs wait for may be from the median of what a sequence took (chosen). */
#define LOADER_SIGMA 0.5

/* Whether coefficients explain the runs, and what is known of them bears it. */
static bool explains(const struct mfu_fit *fit)
{
    return fit->all.mape <= HARDLY_AGREE && fit->all.median <= HALF_OFF && fit->doubt <= MFU_FIT_INCREDIBLE;
}

/* Runs that nothing else explains may wait for their data: a sequence then takes what the loader takes, whatever else
 * it would take.  Where several agree on that, it is what was measured, and nothing is learnt of the GPU. */
static int fit_loader(struct work *w, struct mfu_fit_input *in, struct mfu_fit_parameter *list, struct mfu_error *err)
{
    double before = w->prior.value[MFU_C_HOST_LOADER], *each_s;
    struct mfu_fit *waits;
    int n = 0, status;

    if (!by_runs_alone(w) || explains(&w->out->fit) || !sizes_differ(w, MFU_C_HOST_LOADER))
        return 0;
    each_s = malloc(w->n * sizeof *each_s);
    waits = malloc(sizeof *waits);
    if (!each_s || !waits) {
        free(each_s);
        free(waits);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < w->n; i++)
        each_s[i] = w->points[i].seconds / sequences(w->what[i].run);
    w->prior.value[MFU_C_HOST_LOADER] = mfu_fit_median(each_s, w->n);
    tie(one(list, &n, LOADER_SIGMA), MFU_C_HOST_LOADER, MFU_C_HOST_LOADER);
    in->n_parameters = n;
    status = mfu_fit_coefficients(in, waits, err);
    w->prior.value[MFU_C_HOST_LOADER] = before;
    if (status == 0 && waits->n_kept > 0 && explains(waits)) {
        waits->rows[0].prior = before;
        w->out->fit = *waits;
    }
    free(each_s);
    free(waits);
    return status;
}

/* How well the few numbers of whole runs are known.  They move many coefficients at once and further than each of
 * these alone would be believed to be off; but what was known of each, and what the runs say of their sum, still
 * holds.  Only what has moved further than its error allows was known less well. */
static void know_by_runs(struct work *w)
{
    struct mfu_fit *fit = &w->out->fit;
    struct mfu_coefficients all = w->prior;

    for (int i = 0; i < fit->n_rows; i++) {
        const struct mfu_fit_row *r = &fit->rows[i];

        if (r->kept)
            all.sigma[r->id] = fmax(all.sigma[r->id], fabs(log(r->value / r->prior)) / MFU_FIT_SURE);
    }
    for (size_t i = 0; i < w->n; i++) {
        const struct mfu_fit_class *class = &w->classes[w->points[i].kind];
        double slope[MFU_COEFFICIENT_COUNT], s = class->spread, alike = 0;

        for (size_t k = 0; k < w->n; k++)
            alike += w->points[k].kind == w->points[i].kind;

        predict(w, i, fit->value);
        mfu_plan_slopes(&w->what[i].run->plan, slope);
        for (int k = 0; k < MFU_COEFFICIENT_COUNT; k++)
            slope[k] = w->what[i].run->given[k] ? 0 : slope[k];
        mfu_coefficients_learn(&all, slope, s * s + alike * class->systematic * class->systematic);
    }
    for (int i = 0; i < fit->n_rows; i++) {
        int id = fit->rows[i].id;

        if (!fit->rows[i].kept)
            continue;
        fit->rows[i].sigma = fit->fitted.sigma[id] = all.sigma[id];
        for (int j = 0; j < i; j++)
            if (fit->rows[j].kept)
                mfu_correlate(&fit->fitted, id, fit->rows[j].id, mfu_correlation(&all, id, fit->rows[j].id));
    }
}

/* ---- the result ---------------------------------------------------------- */

const char *mfu_calibrated_source(const struct mfu_calibrated *c, const struct mfu_fit_row *row)
{
    if (!row->kept)
        return isnan(c->file.base.coefficients.value[row->id]) ? "default" : c->file.base.from;
    return c->n_samples == 0 ? "runs" : c->n_runs == 0 ? "probe" : "probe, runs";
}

const struct mfu_fit_row *mfu_calibrated_loader(const struct mfu_calibrated *c)
{
    return c->fit.n_rows == 1 && c->fit.rows[0].id == MFU_C_HOST_LOADER ? &c->fit.rows[0] : NULL;
}

static void today(char *text, size_t size)
{
    time_t now = time(NULL);
    struct tm tm;

    if (!gmtime_r(&now, &tm) || strftime(text, size, "%Y-%m-%d", &tm) == 0)
        *text = '\0';
}

/* What is left between prediction and measurement on this machine, instead of
 * what is left of everybody's runs. */
static void fill_model(const struct work *w, const char *kind, double expected, enum mfu_coefficient spread,
                       enum mfu_coefficient excess)
{
    struct mfu_coefficients *to = &w->out->file.coefficients;
    const struct mfu_fit *fit = &w->out->fit;

    expected = fmin(expected, w->prior.value[spread]); /* what is left of everybody's */

    for (int i = 0; i < fit->n_classes; i++) {
        const struct mfu_fit_residuals *r = &fit->classes[i];
        /* A normal spread is 1.25 mean absolute errors. */
        double n = (double)r->n, found = 1.25 * fmax(fit->mape_held_out, r->mape);

        if (strcmp(r->name, kind) != 0)
            continue;
        to->value[spread] = isfinite(found) ? sqrt((4 * expected * expected + n * found * found) / (4 + n)) : expected;
        to->value[excess] = to->value[MFU_C_MODEL_UNSEEN] = 0;
        to->sigma[spread] = to->sigma[excess] = to->sigma[MFU_C_MODEL_UNSEEN] = 0;
        snprintf(to->source[spread], sizeof to->source[0], "runs: residuals of %zu", r->n);
        snprintf(to->source[excess], sizeof to->source[0], "runs: taken up by the coefficients");
        snprintf(to->source[MFU_C_MODEL_UNSEEN], sizeof to->source[0], "runs: taken up by the coefficients");
    }
}

static void fill_file(struct work *w)
{
    struct mfu_calibrated *out = w->out;
    struct mfu_calibration *c = &out->file;
    const struct mfu_samples *s = w->n_files > 0 ? &w->samples[0] : NULL;

    snprintf(c->gpu, sizeof c->gpu, "%s", out->gpu->slug);
    if (s && s->date[0])
        snprintf(c->date, sizeof c->date, "%s", s->date);
    else
        today(c->date, sizeof c->date);
    if (s && (s->cuda[0] || s->cublas[0] || s->key.driver[0]))
        snprintf(c->software, sizeof c->software, "CUDA %s, cuBLAS %s, driver %s%s%s", s->cuda, s->cublas,
                 s->key.driver, s->torch[0] ? ", PyTorch " : "", s->torch);
    c->mape = out->fit.all.mape;
    c->mape_held_out = out->fit.mape_held_out;
    mfu_calibrate_keep_base(out);
    mfu_calibration_put_over(&out->fit.fitted, &c->coefficients);
    for (int i = 0; i < out->fit.n_rows; i++) {
        const struct mfu_fit_row *row = &out->fit.rows[i];

        if (!row->kept)
            continue;
        snprintf(c->coefficients.source[row->id], sizeof c->coefficients.source[0], "%s of %s, %zu measurements",
                 mfu_calibrated_source(out, row), c->date[0] ? c->date : "an unknown day",
                 out->n_samples + out->n_runs);
    }
    if (mfu_calibrated_loader(out)) /* of the rest it says nothing */
        return;
    fill_model(w, run_kinds[0].name, 0.06, MFU_C_MODEL_SIGMA_EAGER, MFU_C_MODEL_EXCESS_EAGER);
    fill_model(w, run_kinds[1].name, 0.05, MFU_C_MODEL_SIGMA, MFU_C_MODEL_EXCESS);
}

static struct work *begin(const struct mfu_calibrate_input *in, struct mfu_error *err)
{
    struct work *w = calloc(1, sizeof *w);

    if (w)
        w->out = calloc(1, sizeof *w->out);
    if (!w || !w->out) {
        free(w);
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        return NULL;
    }
    w->in = in;
    w->out->gpu = in->gpu;
    w->out->file.base.samples = NAN;
    mfu_coefficients_clear(&w->out->file.base.coefficients);
    return w;
}

static void end(struct work *w)
{
    for (int i = 0; i < w->n_files; i++)
        mfu_samples_free(&w->samples[i]);
    while (w->runs) {
        struct run *next = w->runs->next;

        mfu_plan_release(&w->runs->plan);
        mfu_simulation_release(&w->runs->simulation);
        free(w->runs);
        w->runs = next;
    }
    free(w->points);
    free(w->what);
    free(w);
}

/* The names of classes live in the samples, which go: keep copies. */
static int keep_names(struct mfu_calibrated *c)
{
    size_t size = 64;
    char *names = calloc(MFU_FIT_CLASSES, size);

    if (!(c->own = names))
        return -1;
    for (int i = 0; i < c->fit.n_classes; i++, names += size) {
        snprintf(names, size, "%s", c->fit.classes[i].name);
        c->fit.classes[i].name = names;
    }
    return 0;
}

/* More than this many times its sigmas, a single measurement cannot doubt all that
 * is known: it does not say which of the coefficients is another (chosen). */
#define ALONE 2

static int refuse_what_explains_nothing(const struct work *w, struct mfu_error *err)
{
    const struct mfu_fit_residuals *all = &w->out->fit.all;
    const char *slug = w->out->gpu->slug;

    if (w->out->n_samples > 0 && all->mape > HARDLY_OF_IT)
        return mfu_fail(err, MFU_EINPUT,
                        "these can hardly be measurements of a %s: fitted as well as can be, "
                        "predictions are %.0f %% off in the mean; nothing was kept",
                        slug, 100 * all->mape);
    if (w->n == 1 && (w->out->fit.doubt > ALONE || all->median > HALF_OFF))
        return mfu_fail(err, MFU_EINPUT,
                        "a %s is predicted %.0f %% off, more than one measurement can explain: check what "
                        "it states, or give two more, of other sizes; nothing was kept",
                        slug, 100 * all->before);
    if (all->median > HALF_OFF)
        return mfu_fail(err, MFU_EINPUT,
                        "fitted as well as can be, half of these measurements are more than %.0f %% off: "
                        "they are hardly all of a %s, or do not agree; nothing was kept",
                        100 * all->median, slug);
    if (w->out->n_samples == 0 && all->mape > HARDLY_AGREE)
        return mfu_fail(err, MFU_EINPUT,
                        "fitted as well as can be, these measurements are %.0f %% off in the mean: "
                        "they are hardly all of a %s, or do not agree; nothing was kept",
                        100 * all->mape, slug);
    if (w->out->n_samples == 0 && w->out->fit.mape_held_out > HARDLY_OF_IT)
        return mfu_fail(err, MFU_EINPUT,
                        "these measurements do not agree: each is predicted %.0f %% off in the mean by "
                        "the others; check what they state; nothing was kept",
                        100 * w->out->fit.mape_held_out);
    return 0;
}

static int fit(struct work *w, struct mfu_error *err)
{
    struct mfu_fit_parameter parameters[MFU_COEFFICIENT_COUNT];
    struct mfu_fit_input in = {
        .points = w->points,
        .n_points = w->n,
        .classes = w->classes,
        .n_classes = w->n_classes,
        .parameters = parameters,
        .prior = &w->prior,
        .predict = predict,
        .context = w,
        .interrupted = interrupted,
        .dear = w->out->n_runs > 0,
    };

    if (w->n == 0 && w->out->why[0])
        return mfu_fail(err, MFU_EINPUT, "there is nothing to calibrate from: %zu left out; the last: %s",
                        w->out->n_left_out, w->out->why);
    if (w->n == 0)
        return mfu_fail(err, MFU_EINPUT, "there is nothing to calibrate from");
    w->prior = *mfu_catalog_prior(w->in->catalog, w->out->gpu);
    if (w->n_files > 0)
        w->out->file.key = w->samples[0].key;
    mfu_calibrate_start(w->out, w->in->catalog, &w->prior);
    if (fit_with_or_without_constant(w, &in, parameters, err) < 0 || fit_loader(w, &in, parameters, err) < 0)
        return -1;
    if (refuse_what_explains_nothing(w, err) < 0)
        return -1;
    if (by_runs_alone(w) && !mfu_calibrated_loader(w->out))
        know_by_runs(w);
    fill_file(w);
    return keep_names(w->out) < 0 ? mfu_fail(err, MFU_ENOMEM, "out of memory") : 0;
}

static struct mfu_calibrated *finish(struct work *w, int status, struct mfu_error *err)
{
    struct mfu_calibrated *out = w->out;

    if (status == 0)
        status = fit(w, err);
    end(w);
    if (status == 0)
        return out;
    mfu_calibrated_free(out);
    return NULL;
}

enum file_kind { SAMPLES, TABLE, LOG };

static enum file_kind kind_of(const char *path)
{
    const char *dot = strrchr(path, '.');

    return !dot                                                         ? LOG
        : strcasecmp(dot, ".csv") == 0                                  ? TABLE
        : strcasecmp(dot, ".yaml") == 0 || strcasecmp(dot, ".yml") == 0 ? SAMPLES
                                                                        : LOG;
}

/* Files, and what a folder of calibrate/ground-truth has of them. */
struct files {
    char own[MOST_FILES][PATH_MAX];
    const char *paths[MOST_FILES];
    int n, n_own;
};

static int add_file(struct files *f, const char *path, struct mfu_error *err)
{
    static const char *const inside[] = {"machine.yaml", "samples.yaml", "runs.csv"};
    struct stat about;
    int before = f->n;

    if (stat(path, &about) < 0 || !S_ISDIR(about.st_mode)) {
        if (f->n == MOST_FILES)
            return mfu_fail(err, MFU_EINPUT, "more than %d files", MOST_FILES);
        f->paths[f->n++] = path;
        return 0;
    }
    for (size_t i = 0; i < sizeof inside / sizeof inside[0] && f->n < MOST_FILES; i++) {
        char *name = f->own[f->n_own];

        snprintf(name, sizeof f->own[0], "%.*s/%s", PATH_MAX - 32, path, inside[i]);
        if (stat(name, &about) == 0) {
            f->paths[f->n++] = name;
            f->n_own++;
        }
    }
    if (f->n > before)
        return 0;
    return mfu_fail_at(err, path, 0, 0, "this folder has neither samples.yaml nor runs.csv");
}

static int read_files(struct work *w, const struct files *f, struct mfu_error *err)
{
    int status = 0;

    for (int i = 0; i < f->n && status == 0; i++) /* samples say which GPU it is */
        if (kind_of(f->paths[i]) == SAMPLES) {
            struct mfu_samples *s = &w->samples[w->n_files];
            const struct mfu_gpu *gpu;

            if ((status = mfu_samples_read(f->paths[i], s, err)) < 0)
                break;
            w->n_files++;
            if (!(gpu = gpu_of(w, s, err)))
                status = mfu_error_at(err, f->paths[i], 0, 0);
            else if (w->n_files > 1 && gpu != w->out->gpu)
                status =
                    mfu_fail(err, MFU_EINPUT, "the files are of two GPUs, %s and %s", w->out->gpu->slug, gpu->slug);
            else
                w->out->gpu = gpu;
        }
    for (int i = 0; i < w->n_files && status == 0; i++)
        status = add_samples(w, &w->samples[i], err);
    for (int i = 0; i < f->n && status == 0; i++)
        if (kind_of(f->paths[i]) != SAMPLES)
            status = kind_of(f->paths[i]) == TABLE ? add_table(w, f->paths[i], err) : add_log(w, f->paths[i], err);
    return status;
}

struct mfu_calibrated *mfu_calibrate(const struct mfu_calibrate_input *in, struct mfu_error *err)
{
    struct work *w = begin(in, err);
    struct files *files = w ? calloc(1, sizeof *files) : NULL;
    int status = 0;

    if (!w)
        return NULL;
    if (!files)
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (int i = 0; i < in->n_paths && status == 0; i++)
        status = add_file(files, in->paths[i], err);
    if (status == 0)
        status = read_files(w, files, err);
    free(files);
    return finish(w, status, err);
}

struct mfu_calibrated *mfu_calibrate_runs(struct mfu_catalog *catalog, const struct mfu_gpu *gpu,
                                          const struct mfu_measured_run *runs, size_t n, struct mfu_error *err)
{
    struct mfu_calibrate_input in = {.catalog = catalog, .gpu = gpu};
    struct work *w = begin(&in, err);
    int status = 0;

    for (size_t i = 0; w && i < n && status == 0; i++)
        status = add_run(w, &runs[i], 0, err);
    return w ? finish(w, status, err) : NULL;
}

void mfu_calibrated_free(struct mfu_calibrated *c)
{
    if (!c)
        return;
    free(c->own);
    free(c);
}
