/*
 * validate.c - plans every row of a table and sums up the errors.
 */
#include "answer/validate/validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/search/solve.h"
#include "read/runs/measured_rollout.h"
#include "read/runs/measured_run.h"
#include "plan/plan.h"
#include "plan/simulation.h"
#include "scenario/setting.h"
#include "base/field.h"
#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"

double mfu_measured_step_s(const struct mfu_plan *p, struct mfu_measured_run *run)
{
    char why[200];

    return isnan(run->step_s) ? mfu_step_from_mfu(p, run, why, sizeof why) : run->step_s;
}

static void note(struct mfu_validated *v, const char *text)
{
    mfu_words_add(v->assumed, sizeof v->assumed, text);
}

/* What a row has to be compared with; skipped without anything. */
static void take_measured(struct mfu_validated *v, const struct mfu_plan *p, struct mfu_measured_run *run)
{
    char why[sizeof v->skipped] = "";

    v->measured_step_s = isnan(run->step_s) ? mfu_step_from_mfu(p, run, why, sizeof why) : run->step_s;
    v->measured_allocated_bytes = run->allocated_bytes;
    v->measured_reserved_bytes = run->reserved_bytes;
    if (!isnan(v->measured_step_s) || !isnan(run->allocated_bytes) || !isnan(run->reserved_bytes) || run->ran >= 0) {
        if (why[0])
            note(v, why);
        return;
    }
    snprintf(v->skipped, sizeof v->skipped, "%s", why[0] ? why : "neither time, memory nor outcome is stated");
}

/* ---- what is not stated -------------------------------------------------- */

/* The step times of what the run may have been, where its row leaves something open. */
struct possible {
    double least_s, most_s;       /* predicted */
    double low_s, high_s;         /* all intervals together */
    double low_bytes, high_bytes; /* reserved, likewise */
    const char *widest;           /* the column that makes the most difference */
};

#define FAR_APART 4 /* possibilities that differ by more make no prediction (chosen) */

static int plan(struct mfu_plan *p, struct mfu_simulation *simulation, const struct mfu_scenario *scenario,
                struct mfu_error *err)
{
    return mfu_plan_make(p, scenario, err) < 0 || mfu_simulate_plan(p, simulation, err) < 0 ? -1 : 0;
}

/* Figures that contradict others by less are rounded or of another unit (chosen). */
#define CONTRADICTED 0.97

static double states_of(const struct mfu_plan *p)
{
    return p->program.constant_bytes[MFU_PART_WEIGHTS] + p->program.constant_bytes[MFU_PART_OPTIMIZER];
}

/* Whether less was measured than what is planned cannot do without. */
static bool holds_too_much(const struct mfu_plan *p, const struct mfu_measured_run *run)
{
    return fmin(run->allocated_bytes, run->reserved_bytes) < CONTRADICTED * states_of(p); /* whichever is stated */
}

/* Whether it ran: as stated, else by what was measured. */
static bool did_run(const struct mfu_measured_run *run)
{
    return run->ran == 1
        || (run->ran < 0 && run->card != MFU_CARD_OPEN
            && !(isnan(run->step_s) && isnan(run->mfu) && isnan(run->hfu) && isnan(run->rate_flops)));
}

/* Whether the run may have been so: it can be planned and, where the run ran, fits. */
static bool suits(struct mfu_plan *p, struct mfu_simulation *simulation, const struct mfu_measured_run *run,
                  const struct mfu_scenario *other)
{
    struct mfu_error err = {0};

    return plan(p, simulation, other, &err) == 0 && (p->memory.fits || !did_run(run)) && !holds_too_much(p, run);
}

/* The 90 % interval of what the row has measured: with the context or without. */
static void reserved_interval(const struct mfu_plan *p, const struct mfu_measured_run *run, double *low, double *high)
{
    double context = run->reserved_is_smi ? 0 : p->memory.context_bytes;

    *low = p->memory.smi_low_bytes - context;
    *high = p->memory.smi_high_bytes - context;
}

/* ---- what is not stated: a micro-batch --------------------------------------- */

/* Sizes that are tried. */
static const int micro_batches[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
#define MICRO_BATCHES (sizeof micro_batches / sizeof *micro_batches)

/* Tokens of a micro-batch beyond which nothing gets faster, so that nobody needs a larger one (chosen). */
#define ENOUGH_TOKENS 16384

/* Microbatches for each stage that a pipeline may have. */
static const double fills[] = {2, 32};

/* The scenario with micro-batches of this size; false where a rank's step has no whole number of them. */
static bool with_batch(const struct mfu_measured_run *run, const struct mfu_scenario *of, int micro,
                       struct mfu_scenario *other)
{
    double accum = run->rank_batch / micro * run->scenario.setting[MFU_S_GPUS]
        / of->setting[MFU_S_GPUS]; /* where these are open */
    char text[32];

    *other = *of;
    snprintf(text, sizeof text, "%d", micro);
    if (mfu_scenario_set(other, "batch", text, NULL) < 0)
        return false;
    if (isnan(accum))
        return true;
    snprintf(text, sizeof text, "%.0f", accum);
    return accum == floor(accum) && mfu_scenario_set(other, "accum", text, NULL) == 0;
}

static double samples(const struct mfu_scenario *s)
{
    return s->setting[MFU_S_BATCH] * s->setting[MFU_S_ACCUM];
}

/* How far the planned memory is from what was measured, as a logarithm; NAN: none was measured. */
static double memory_off(const struct mfu_plan *p, const struct mfu_measured_run *run)
{
    double context = run->reserved_is_smi ? p->memory.context_bytes : 0;

    return !isnan(run->reserved_bytes) ? fabs(log((p->memory.reserved_bytes + context) / run->reserved_bytes))
                                       : fabs(log(p->memory.peak.bytes / run->allocated_bytes));
}

/* What decided on a micro-batch. */
enum settled { UNFIT, STATED, ONE_ALONE, IN_PIPELINE, BY_MEMORY, FILLED, ENOUGH };

/* Chooses the micro-batch where it is open: of a pipeline one sequence, since so its stages idle least; else the size that
 * takes the memory that was measured, or what fits, up to enough tokens.  Leaves the plan of it. */
static enum settled settle(struct mfu_plan *p, struct mfu_simulation *simulation, const struct mfu_measured_run *run,
                           struct mfu_scenario *s)
{
    const struct mfu_scenario as_read = *s;
    bool pipeline = s->setting[MFU_S_PP] > 1, larger = false;
    enum settled by = ENOUGH;
    struct mfu_error err = {0};
    struct mfu_scenario other;
    double off;

    if (run->batch_open && with_batch(run, &as_read, 1, &other))
        *s = other;
    if (!suits(p, simulation, run, s))
        return UNFIT;
    if (!run->batch_open || run->ran == 0)
        return STATED;
    off = memory_off(p, run);
    for (size_t i = 1; i < MICRO_BATCHES; i++) {
        if (!with_batch(run, &as_read, micro_batches[i], &other) || plan(p, simulation, &other, &err) < 0)
            continue;
        if (!p->memory.fits) {
            by = larger ? FILLED : ONE_ALONE;
            break;
        }
        larger = true;
        if (pipeline || (!isnan(off) ? memory_off(p, run) >= off : micro_batches[i] * run->seq > ENOUGH_TOKENS))
            break;
        off = memory_off(p, run);
        *s = other;
    }
    plan(p, simulation, s, &err);
    return !larger ? ONE_ALONE : pipeline ? IN_PIPELINE : !isnan(off) ? BY_MEMORY : by;
}

/* Says which it is. */
static void note_batch(struct mfu_measured_run *run, struct mfu_validated *v, enum settled by)
{
    char text[160];

    if (by == UNFIT || by == STATED)
        return;
    if (by == ONE_ALONE) {
        run->batch_open = false;
        note(v, "batch=1: no usual larger one fits");
        return;
    }
    snprintf(text, sizeof text, "batch=%.0f, accum=%.0f: not stated, %s", run->scenario.setting[MFU_S_BATCH],
             run->scenario.setting[MFU_S_ACCUM],
             by == IN_PIPELINE     ? "usual in pipelines"
                 : by == BY_MEMORY ? "nearest to the memory that was measured"
                                   : "it fits, and more is not faster");
    note(v, text);
    if (!isnan(fmin(run->allocated_bytes, run->reserved_bytes)))
        note(v, "memory is not compared: it follows the micro-batch");
    run->allocated_bytes = run->reserved_bytes = NAN;
}

/* ---- what is not stated: settings -------------------------------------------- */

/* What a row leaves open is chosen by how surprising each value would be (struct mfu_open) and how long a sequence takes
 * with it, since who trains looks for what is fast: as much longer as makes a run e times less likely (chosen). */
#define SPEED_COUNTS 5

#define MOST_CHANGES 4    /* of what is assumed otherwise, together */
#define SURPRISE_STEP 0.5 /* in rounds of so much, the least surprising first */
#define MOST_SURPRISE 6.0
#define WORTH_A_LOOK 1.0 /* more surprise than the first that suits: by more speed it could not pay (chosen) */
#define FEW_TOKENS 1024  /* of a micro-batch keep a GPU slow, so that memory for more is looked for (chosen) */
#define MEMORY_OFF 0.25  /* a standard deviation of planned memory by what is not stated, as a logarithm (chosen) */

struct search {
    struct mfu_plan *p;
    struct mfu_simulation *simulation;
    struct mfu_measured_run *run;
    double above, most; /* surprise of the round */
    const struct mfu_open_value *now[MFU_OPEN_KEYS], *taken[MFU_OPEN_KEYS];
    struct mfu_scenario best;
    double surprise, score; /* of the best, INFINITY: none suits */
    enum settled by;
};

/* Sets a value of a key that was left open; false where that cannot be. */
static bool set_open(const struct mfu_measured_run *run, int i, const struct mfu_open_value *v, struct mfu_scenario *s)
{
    if (run->open[i].card) {
        s->gpu = run->open[i].card;
        return true;
    }
    return mfu_scenario_set(s, run->open[i].key, v->value, NULL) == 0
        && (!run->open[i].with_key || mfu_scenario_set(s, run->open[i].with_key, run->open[i].with_value, NULL) == 0);
}

static void consider(struct search *t, struct mfu_scenario *s, double surprise)
{
    enum settled by = settle(t->p, t->simulation, t->run, s);
    double score = surprise + SPEED_COUNTS * log(t->p->step.time_s / samples(s)), off = memory_off(t->p, t->run);

    if (!t->run->batch_open && !isnan(off))
        score += off * off / (2 * MEMORY_OFF * MEMORY_OFF);
    if (by == UNFIT || !(score < t->score))
        return;
    t->surprise = surprise;
    t->score = score;
    t->best = *s;
    t->by = by;
    memcpy(t->taken, t->now, sizeof t->taken);
}

/* Tries what differs from the scenario in keys from the first on. */
static void try_others(struct search *t, int first, const struct mfu_scenario *s, double surprise, int changes)
{
    for (int i = first; i < t->run->n_open && changes < MOST_CHANGES; i++) {
        for (const struct mfu_open_value *v = t->run->open[i].values; v->value; v++) {
            double all = surprise + v->surprise;
            struct mfu_scenario other = *s, whole;

            if (all > t->most || !set_open(t->run, i, v, &other))
                continue;
            t->now[i] = v;
            whole = other;
            if (all > t->above)
                consider(t, &whole, all);
            try_others(t, i + 1, &other, all, changes + 1);
        }
        t->now[i] = NULL;
    }
}

/* Tries what is chosen for its speed alone beside the best. */
static void try_faster(struct search *t)
{
    const struct mfu_scenario best = t->best;
    double surprise = t->surprise;

    memcpy(t->now, t->taken, sizeof t->now);
    for (int i = 0; i < t->run->n_open; i++) {
        for (const struct mfu_open_value *v = t->run->open[i].values; t->run->open[i].for_speed && v->value; v++) {
            struct mfu_scenario other = best;

            t->now[i] = v;
            if (set_open(t->run, i, v, &other))
                consider(t, &other, surprise + v->surprise);
        }
        t->now[i] = t->taken[i];
    }
}

/* Chooses what is open.  What is assumed where nothing is said stays where it suits and memory does not keep it slow; what
 * ran out of memory did so with it and one sequence, or nothing follows. */
static void choose(struct mfu_plan *p, struct mfu_simulation *simulation, struct mfu_measured_run *run,
                   struct mfu_validated *v)
{
    struct search t = {p, simulation, run, 0, 0, {0}, {0}, run->scenario, 0, INFINITY, UNFIT};
    const struct mfu_scenario as_read = run->scenario;
    struct mfu_scenario first = as_read;
    struct mfu_error err = {0};
    double found;
    bool fits;

    if (run->ran == 0 && run->batch_open) {
        if (p->memory.fits)
            snprintf(v->skipped, sizeof v->skipped, "the micro-batch is not stated, and one sequence fits");
        else
            note(v, "batch=1: no larger one fits");
        return;
    }
    consider(&t, &first, 0);
    fits = t.by != UNFIT;
    for (int i = 0; i < run->n_open && p->memory.fits; i++) /* on one GPU */
        if (strcmp(run->open[i].key, "gpus") == 0)
            run->open[i] = run->open[--run->n_open];
    found = fits ? 0 : INFINITY;
    if (!fits
        || ((t.by == FILLED || t.by == ONE_ALONE) && first.setting[MFU_S_BATCH] * run->seq < FEW_TOKENS
            && run->rank_batch != 1))
        for (; t.above < fmin(MOST_SURPRISE, found + WORTH_A_LOOK); t.above = t.most) {
            t.most = t.above + SURPRISE_STEP;
            try_others(&t, 0, &as_read, 0, 0);
            if (isinf(found) && t.by != UNFIT)
                found = t.most;
        }
    if (t.by == UNFIT) {
        if (run->batch_open) /* what fits may be more than was measured */
            note_batch(run, v,
                       with_batch(run, &as_read, 2, &first) && plan(p, simulation, &first, &err) == 0 && p->memory.fits
                           ? BY_MEMORY
                           : ONE_ALONE);
        return;
    }
    try_faster(&t);
    run->scenario = t.best;
    for (int i = 0; i < run->n_open; i++) {
        const struct mfu_open *open = &run->open[i];
        char text[120];

        if (!t.taken[i])
            continue;
        snprintf(text, sizeof text, "%s=%s%s%s%s%s: not stated, and without it the run would %s", open->key,
                 t.taken[i]->value, open->with_key ? ", " : "", open->with_key ? open->with_key : "",
                 open->with_key ? "=" : "", open->with_key ? open->with_value : "",
                 fits || open->for_speed ? "be slower" : "not have fitted");
        note(v, text);
        if (strcmp(open->key, "gpus") == 0 && run->share_open && !run->by_rate)
            run->step_s = NAN; /* of a batch that as many share as are not known */
    }
    if (!fits && t.by == STATED && !isnan(memory_off(p, run))) {
        note(v, "memory is not compared: the settings follow it");
        run->allocated_bytes = run->reserved_bytes = NAN;
    }
    if (run->by_rate)
        run->step_s *= samples(&run->scenario) / samples(&as_read);
    note_batch(run, v, t.by);
}

/* Where nothing says how many GPUs there were and one holds the run, or nothing does. */
static void say_one_gpu(const struct mfu_measured_run *run, struct mfu_validated *v)
{
    if (run->gpus_open && run->scenario.setting[MFU_S_GPUS] == 1)
        note(v, "gpus=1");
}

/* ---- what else it may have been ---------------------------------------------- */

/* Takes in what another value of the column gives, for as many sequences of a step. */
static void widen(struct possible *all, const struct mfu_plan *p, const struct mfu_measured_run *run,
                  const struct mfu_validated *v, double scale, const char *column, double *most)
{
    double difference = fabs(log(scale * p->step.time_s / v->predicted_step_s)), low_bytes, high_bytes;

    if (difference > *most) {
        *most = difference;
        all->widest = column;
    }
    all->least_s = fmin(all->least_s, scale * p->step.time_s);
    all->most_s = fmax(all->most_s, scale * p->step.time_s);
    all->low_s = fmin(all->low_s, scale * p->step.low_s);
    all->high_s = fmax(all->high_s, scale * p->step.high_s);
    reserved_interval(p, run, &low_bytes, &high_bytes);
    all->low_bytes = fmin(all->low_bytes, low_bytes);
    all->high_bytes = fmax(all->high_bytes, high_bytes);
}

#define MOST_UNLIKELY 4 /* what is more so is outside of a 90 % interval: surprise, with its time (chosen) */

static struct possible look_around(struct mfu_plan *p, struct mfu_simulation *simulation,
                                   const struct mfu_measured_run *run, const struct mfu_validated *v)
{
    struct possible all = {v->predicted_step_s,
                           v->predicted_step_s,
                           p->step.low_s,
                           p->step.high_s,
                           v->reserved_low_bytes,
                           v->reserved_high_bytes,
                           ""};
    struct mfu_error err = {0};
    struct mfu_scenario other;
    double most = 0, scale;

    for (int i = 0; i < run->n_open; i++)
        for (const struct mfu_open_value *value = run->open[i].values; value->value; value++) {
            bool chosen_for_speed = isfinite(value->surprise);

            other = run->scenario;
            if (!set_open(run, i, value, &other)
                || !(chosen_for_speed ? settle(p, simulation, run, &other) != UNFIT
                                      : suits(p, simulation, run, &other)))
                continue;
            scale = run->by_rate ? samples(&run->scenario) / samples(&other) : 1;
            if (!chosen_for_speed
                || value->surprise + SPEED_COUNTS * log(scale * p->step.time_s / v->predicted_step_s) < MOST_UNLIKELY)
                widen(&all, p, run, v, scale, run->open[i].column, &most);
        }
    for (size_t i = 0; i < MICRO_BATCHES && run->batch_open && run->ran != 0; i++) {
        if (!with_batch(run, &run->scenario, micro_batches[i], &other) || plan(p, simulation, &other, &err) < 0)
            continue;
        if (did_run(run) && !p->memory.fits)
            break;
        widen(&all, p, run, v, run->by_rate ? samples(&run->scenario) / samples(&other) : 1, "micro_batch", &most);
        if (micro_batches[i] * run->seq > ENOUGH_TOKENS)
            break;
    }
    for (size_t i = 0; i < 2 && run->fill_open; i++) {
        double accum = fills[i] * run->scenario.setting[MFU_S_PP];
        char text[32];

        other = run->scenario;
        snprintf(text, sizeof text, "%.0f", accum);
        if (mfu_scenario_set(&other, "accum", text, &err) == 0 && plan(p, simulation, &other, &err) == 0)
            widen(&all, p, run, v, samples(&run->scenario) / samples(&other), "global_batch", &most);
    }
    return all;
}

/* ---- what contradicts itself --------------------------------------------- */

/* A measured figure below what the stated run cannot do without, or above what its card can do; false
 * with the reason in `skipped`. */
static bool is_possible(const struct mfu_plan *p, struct mfu_validated *v)
{
    double states = states_of(p);
    double measured = fmin(v->measured_allocated_bytes, v->measured_reserved_bytes); /* whichever is stated */
    double rate = v->model_flops / v->measured_step_s;

    if (measured < CONTRADICTED * states) {
        snprintf(v->skipped, sizeof v->skipped,
                 "contradicts itself: %.4g GiB measured, weights and optimizer states alone take %.4g GiB",
                 measured / 0x1p30, states / 0x1p30);
        return false;
    }
    if (CONTRADICTED * rate > v->peak_flops) {
        snprintf(v->skipped, sizeof v->skipped,
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
        && CONTRADICTED * v->model_flops / v->measured_step_s > v->peak_flops;
}

/* What other blocks of the same shape may take, relative: a gate more or less in the MLP, other norms (chosen). */
#define OTHER_BLOCKS 1.15

/* ---- one row ------------------------------------------------------------- */

/* Memory of the rank that the row is of: the one that needs most, where nothing says which. */
static const struct mfu_memory_answer *memory_of(const struct mfu_plan *p, const struct mfu_measured_run *run)
{
    if (p->n_stages && run->of_last_rank)
        return &p->stages[p->n_stages - 1].memory;
    return p->n_stages && mfu_trainers[p->config.trainer].of_first_rank ? &p->stages[0].memory : &p->memory;
}

static void take_predicted(struct mfu_validated *v, const struct mfu_plan *p, const struct mfu_measured_run *run)
{
    const struct mfu_memory_answer *memory = memory_of(p, run);

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
    v->predicted_allocated_bytes = memory->peak.bytes;
    if (mfu_trainers[p->config.trainer].prints_resident)
        v->predicted_allocated_bytes = memory->peak.optimizer_peak_bytes;
    v->predicted_reserved_bytes = run->reserved_is_smi ? memory->smi_bytes : memory->reserved_bytes;
    reserved_interval(p, run, &v->reserved_low_bytes, &v->reserved_high_bytes);
    v->fits = p->memory.fits;
    v->fits_known = run->card != MFU_CARD_OPEN;
    v->fits_probability = p->memory.fits_probability;
}

#define SEQ_STEP 8   /* tokens between the lengths that are tried (chosen) */
#define SHORTEST "8" /* the first of them */

/* The longest sequence that fits beside the one that the row states; 0: not even the shortest does. */
static void predict_longest(struct mfu_plan *p, struct mfu_simulation *simulation, const struct mfu_measured_run *run,
                            struct mfu_validated *v)
{
    struct mfu_error err = {0};
    struct mfu_key key = mfu_scenario_key(&run->scenario, "seq", &err);
    struct mfu_solution longest = {0};
    struct mfu_scenario other = run->scenario;
    bool found;

    snprintf(v->assumed, sizeof v->assumed, "%s", run->assumed);
    say_one_gpu(run, v);
    take_predicted(v, p, run);
    v->measured_seq = run->seq;
    found = key.kind != MFU_KEY_NONE
        && mfu_solve(&run->scenario, key, SEQ_STEP, true, NULL, p, simulation, &longest, &err) == 0;
    if (found
        || (key.kind != MFU_KEY_NONE && err.code != MFU_ENOMEM && !*mfu_scenario_unpredicted(&run->scenario)
            && mfu_scenario_set(&other, "seq", SHORTEST, NULL) == 0 && suits(p, simulation, run, &other)))
        v->predicted_seq = longest.value;
    else
        snprintf(v->skipped, sizeof v->skipped, "%.190s", err.text);
}

static void predict(struct mfu_plan *p, struct mfu_simulation *simulation, struct mfu_measured_run *run,
                    struct mfu_validated *v)
{
    struct mfu_error err = {0};
    struct possible all;

    if (plan(p, simulation, &run->scenario, &err) == 0) {
        mfu_measured_check_size(run, p->program.params, p->program.trainable_params);
    } else if (run->targets_open && run->trainable_m > 0) { /* others may suit */
        snprintf(run->skipped, sizeof run->skipped, "%.190s", err.text);
        run->trains_other = true;
    } else {
        snprintf(v->skipped, sizeof v->skipped, "%.190s", err.text);
        return;
    }
    for (size_t i = 0; mfu_measured_usual_targets(run, i, p->program.trainable_params); i++)
        if (plan(p, simulation, &run->scenario, &err) == 0)
            mfu_measured_check_size(run, p->program.params, p->program.trainable_params);
    if (run->skipped[0]) {
        snprintf(v->skipped, sizeof v->skipped, "%.190s", run->skipped);
        v->trains_other = run->trains_other;
        return;
    }
    if (run->limit) {
        predict_longest(p, simulation, run, v);
        return;
    }
    snprintf(v->assumed, sizeof v->assumed, "%s", run->assumed);
    choose(p, simulation, run, v);
    if (v->skipped[0])
        return;
    if (plan(p, simulation, &run->scenario, &err) < 0) { /* the last trial was another */
        snprintf(v->skipped, sizeof v->skipped, "%.190s", err.text);
        return;
    }
    say_one_gpu(run, v);
    if (run->layout_open && run->ran == 1 && states_of(p) > p->memory.capacity_bytes) {
        snprintf(v->skipped, sizeof v->skipped,
                 "not predictable: tp, pp and sharding are not stated, and no GPU holds the whole model");
        return;
    }
    take_measured(v, p, run);
    if (v->skipped[0] && run->batch_open)
        snprintf(v->skipped, sizeof v->skipped, "the micro-batch is not stated");
    if (v->skipped[0])
        return;
    take_predicted(v, p, run);
    if (was_tf32(p, v) && mfu_scenario_set(&run->scenario, "precision", "tf32", &err) == 0
        && plan(p, simulation, &run->scenario, &err) == 0) {
        note(v, "precision=tf32: fp32 is slower than what was measured");
        take_predicted(v, p, run);
    }
    if (run->shape_alone) {
        v->low_s /= OTHER_BLOCKS;
        v->high_s *= OTHER_BLOCKS;
    }
    v->low_s /= run->most_count; /* who counts more measured a longer time */
    v->high_s /= run->least_count;
    if (!is_possible(p, v) || (run->n_open == 0 && !run->batch_open && !run->fill_open))
        return;
    all = look_around(p, simulation, run, v);
    v->low_s = fmin(v->low_s, all.low_s / run->most_count);
    v->high_s = fmax(v->high_s, all.high_s / run->least_count);
    v->reserved_low_bytes = all.low_bytes;
    v->reserved_high_bytes = all.high_bytes;
    if (all.most_s > FAR_APART * all.least_s && !isnan(v->measured_step_s))
        snprintf(v->skipped, sizeof v->skipped,
                 "not predictable: %s is not stated, and a step takes from %.3g to %.3g s", all.widest, all.least_s,
                 all.most_s);
}

/* ---- summing up --------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

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

static const char *gpu_of(const struct mfu_validated *v)
{
    return v->gpu;
}
static const char *runtime_of(const struct mfu_validated *v)
{
    return v->runtime;
}
static const char *sharding_of(const struct mfu_validated *v)
{
    return v->sharding;
}
static const char *spread_of(const struct mfu_validated *v)
{
    return v->spread;
}
static const char *source_of(const struct mfu_validated *v)
{
    return v->source;
}

typedef const char *group_fn(const struct mfu_validated *);

/* Over all rows (group NULL) or those of one group; `errors` is scratch. */
static struct mfu_errors_summary sum_up(const struct mfu_validation *all, error_fn *error, group_fn *group,
                                        const char *value, double *errors)
{
    struct mfu_errors_summary s = {.coverage90 = NAN};
    double sum = 0, bias = 0, worst = -1, inside = 0;

    for (size_t i = 0; i < all->n_rows; i++) {
        const struct mfu_validated *v = &all->rows[i];
        double e = error(v);

        if (v->skipped[0] || !isfinite(e) || (group && strcmp(group(v), value) != 0))
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
    qsort(errors, s.n, sizeof *errors, ascending);
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
            qsort(scratch, n, sizeof *scratch, ascending);
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

static int group_by(struct mfu_validation *all, const char *by, group_fn *group, double *scratch)
{
    for (size_t i = 0; i < all->n_rows; i++) {
        const char *value = group(&all->rows[i]);
        size_t k = 0;
        void *more;

        if (all->rows[i].skipped[0])
            continue;
        while (k < all->n_groups && !(strcmp(all->groups[k].by, by) == 0 && strcmp(all->groups[k].value, value) == 0))
            k++;
        if (k < all->n_groups)
            continue;
        if (!(more = realloc(all->groups, (k + 1) * sizeof *all->groups)))
            return -1;
        all->groups = more;
        all->n_groups++;
        memset(&all->groups[k], 0, sizeof all->groups[k]);
        all->groups[k].by = by;
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
    int status = -1;

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
    if (group_by(all, "gpu", gpu_of, scratch) == 0 && group_by(all, "runtime", runtime_of, scratch) == 0
        && group_by(all, "sharding", sharding_of, scratch) == 0 && group_by(all, "gpus", spread_of, scratch) == 0)
        status = group_by(all, "source", source_of, scratch);
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

        snprintf(v->id, sizeof v->id, "%s", mfu_csv_get(&csv, i, "id"));
        snprintf(v->source, sizeof v->source, "%s", mfu_csv_get(&csv, i, "source"));
        snprintf(v->gpu, sizeof v->gpu, "%s", mfu_csv_get(&csv, i, "gpu"));
        snprintf(v->sharding, sizeof v->sharding, "%s", mfu_csv_get(&csv, i, "sharding"));
        v->measured_step_s = v->predicted_step_s = v->low_s = v->high_s = v->error = NAN;
        v->measured_allocated_bytes = v->predicted_allocated_bytes = NAN;
        v->measured_reserved_bytes = v->predicted_reserved_bytes = NAN;
        v->reserved_low_bytes = v->reserved_high_bytes = v->fits_probability = NAN;
        v->measured_seq = v->predicted_seq = NAN;
        if (mfu_is_rollout_row(&csv, i)) {
            predict_rollout(catalog, &csv, i, &plan, v);
            continue;
        }
        mfu_measured_run(catalog, &csv, i, &run);
        snprintf(v->assumed, sizeof v->assumed, "%s", run.assumed);
        snprintf(v->skipped, sizeof v->skipped, "%s", run.skipped);
        v->ran = run.ran;
        if (!v->skipped[0]) {
            predict(&plan, &simulation, &run, v);
            snprintf(v->gpu, sizeof v->gpu, "%s", run.scenario.gpu->slug);
            if (is_calibrated(run.scenario.gpu)) {
                all->n_calibrated++;
                snprintf(all->calibrated_gpu, sizeof all->calibrated_gpu, "%s", v->gpu);
            }
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

void mfu_validation_free(struct mfu_validation *all)
{
    if (!all)
        return;
    free(all->rows);
    free(all->groups);
    free(all);
}
