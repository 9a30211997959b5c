/*
 * observe_gap.c - what could explain a step time outside of the interval: other
 * settings, each planned, a clock, and waits that were measured.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/observe/observe.h"
#include "answer/observe/observe_reading.h"
#include "scenario/setting.h"

/* Both chosen. */
#define SMALLEST 0.15 /* share of the gap worth telling */
#define LARGEST 2.5   /* and beyond that it would be too much */

// clang-format off
static const struct change {
    enum mfu_setting_id id;
    const char *value;
    int faster;                 /* worth a try when the run is faster: 1, slower: -1, both: 0 */
    const char *confirm;
} changes[] = {
    {MFU_S_RUNTIME, "eager", -1, "TORCH_LOGS=recompiles,graph_breaks; a profile shows unfused pointwise kernels"},
    {MFU_S_RUNTIME, "compile", 1, "a profile shows triton_ kernels"},
    {MFU_S_RUNTIME, "fused", 1, "a profile shows fused norm, bias and GELU kernels"},
    {MFU_S_ATTENTION, "math", -1, "a profile shows softmax kernels between two products"},
    {MFU_S_ATTENTION, "memeff", -1, "a profile shows fmha_cutlass kernels"},
    {MFU_S_ATTENTION, "flash", 1, "a profile shows flash_fwd and flash_bwd kernels"},
    {MFU_S_PRECISION, "fp32", -1, "a profile shows sgemm kernels; is TF32 allowed, autocast on?"},
    {MFU_S_PRECISION, "tf32", -1, "a profile shows tf32 kernels; is autocast on?"},
    {MFU_S_PRECISION, "bf16", 1, "a profile shows bf16 kernels"},
    {MFU_S_PRECISION, "bf16-pure", 1, "print(next(model.parameters()).dtype)"},
    {MFU_S_CHECKPOINT, "full", -1, "a profile shows forward kernels again in backward"},
    {MFU_S_CHECKPOINT, "selective", -1, "does the program recompute by itself?"},
    {MFU_S_CHECKPOINT, "none", 1, "is checkpointing switched on in the model itself?"},
    {MFU_S_OPTIMIZER, "adamw-loop", -1, "AdamW(..., foreach=False, fused=False)?"},
    {MFU_S_ZERO, "3", -1, "is the model wrapped by FSDP or DeepSpeed?"},
    {MFU_S_ZERO, "0", 1, "is the model wrapped by DDP only?"},
    {MFU_S_CUDA_GRAPHS, "on", 1, "a profile shows cudaGraphLaunch"},
    {MFU_S_EXPANDABLE_SEGMENTS, "on", 0, "PYTORCH_CUDA_ALLOC_CONF"},
};
// clang-format on

struct search {
    struct mfu_observation *o;
    struct mfu_plan plan; /* of what is tried */
    struct mfu_simulation simulation;
    double predicted_s, gap_s;
    int measured; /* candidates that were measured: they stay in front */
};

static void add(struct search *s, double time_s, double share, const char *confirm, const char *text)
{
    struct mfu_observation *o = s->o;
    int at = o->n_candidates;

    if (!(share >= SMALLEST && share <= LARGEST))
        return;
    while (at > s->measured && fabs(log(share)) < fabs(log(o->candidates[at - 1].share)))
        at--; /* the nearest to the whole gap first */
    if (at == MFU_CANDIDATES)
        return;
    if (o->n_candidates < MFU_CANDIDATES)
        o->n_candidates++;
    memmove(&o->candidates[at + 1], &o->candidates[at], (size_t)(o->n_candidates - 1 - at) * sizeof *o->candidates);
    o->candidates[at] = (struct mfu_candidate){.step_time_s = time_s, .share = share, .confirm = confirm};
    snprintf(o->candidates[at].change, sizeof o->candidates[at].change, "%s", text);
}

static double time_with(struct search *s, const struct mfu_scenario *scenario)
{
    if (mfu_plan_make(&s->plan, scenario, NULL) < 0 || mfu_simulate(&s->plan, false, &s->simulation, NULL) < 0)
        return NAN;
    return s->plan.step.time_s;
}

static struct search *start(struct mfu_observation *o)
{
    struct search *s = calloc(1, sizeof *s);

    o->lost |= !s;
    if (s) {
        s->o = o;
        s->predicted_s = o->plan.step.time_s;
        s->gap_s = o->figure[MFU_FIGURE_TIME] - s->predicted_s;
    }
    return s;
}

static void end(struct search *s)
{
    mfu_plan_release(&s->plan);
    mfu_simulation_release(&s->simulation);
    free(s);
}

/* "checkpoint full, not none" */
static void name_change(char *text, size_t size, const struct change *c, double was)
{
    const struct mfu_setting *setting = &mfu_settings[c->id];
    char number[24];

    snprintf(number, sizeof number, "%g", was);
    snprintf(text, size, "%s %s, not %s", setting->key, c->value,
             setting->choices ? setting->choices[(int)was] : number);
}

void mfu_observe_memory_gap(struct mfu_observation *o, double measured, double predicted, char *text, size_t size)
{
    struct search *s = start(o);
    double nearest = 0.5 * fabs(log(measured / predicted));

    *text = '\0';
    for (size_t i = 0; s && i < sizeof changes / sizeof changes[0]; i++) {
        struct mfu_scenario other = o->plan.scenario;
        double was = o->plan.config.setting[changes[i].id], off;

        if (mfu_scenario_set(&other, mfu_settings[changes[i].id].key, changes[i].value, NULL) < 0
            || other.setting[changes[i].id] == was || isnan(time_with(s, &other)))
            continue;
        off = fabs(log(measured / (predicted * s->plan.memory.reserved_bytes / o->plan.memory.reserved_bytes)));
        if (off < nearest) {
            nearest = off;
            name_change(text, size, &changes[i], was);
        }
    }
    if (s)
        end(s);
}

static void try_settings(struct search *s)
{
    const struct mfu_plan *p = &s->o->plan;

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct mfu_scenario other = p->scenario;
        enum mfu_setting_id id = changes[i].id;
        const char *key = mfu_settings[id].key;
        char text[96];
        double time_s, was = p->config.setting[id];

        if ((changes[i].faster > 0 && s->gap_s > 0) || (changes[i].faster < 0 && s->gap_s < 0)
            || mfu_scenario_set(&other, key, changes[i].value, NULL) < 0 || other.setting[id] == was)
            continue;
        time_s = time_with(s, &other);
        if (isnan(time_s))
            continue;
        name_change(text, sizeof text, &changes[i], was);
        add(s, time_s, (time_s - s->predicted_s) / s->gap_s, changes[i].confirm, text);
    }
}

/* The batch that comes nearest, with the accum that leaves the tokens of a step as
 * they are: 2^k and 3 2^k. */
static void try_batch(struct search *s)
{
    const struct mfu_plan *p = &s->o->plan;
    double batch = p->config.setting[MFU_S_BATCH], all = batch * p->config.accum, best = NAN, best_s = NAN;
    double measured = s->predicted_s + s->gap_s;
    char text[96];

    for (int k = 0; k < 22; k++) {
        double b = (k % 2 ? 1.5 : 1) * (double)(1 << (k / 2)), time_s;
        struct mfu_scenario other = p->scenario;

        if (b < 1 || b != floor(b) || b > all || fmod(all, b) != 0 || b == batch)
            continue;
        other.setting[MFU_S_BATCH] = b;
        other.setting[MFU_S_ACCUM] = all / b;
        other.setting_given[MFU_S_BATCH] = other.setting_given[MFU_S_ACCUM] = true;
        time_s = time_with(s, &other);
        if (isnan(time_s) || !s->plan.memory.fits)
            break;
        if (!(fabs(time_s - measured) >= fabs(best_s - measured))) {
            best = b;
            best_s = time_s;
        }
    }
    if (isnan(best))
        return;
    snprintf(text, sizeof text, "batch %.0f (accum %.0f), not %.0f", best, all / best, batch);
    add(s, best_s, (best_s - s->predicted_s) / s->gap_s, "the training script or its configuration says it", text);
}

/* The SM clock at which the measured time would be the predicted one. */
static void try_clock(struct search *s)
{
    const struct mfu_plan *p = &s->o->plan;
    const struct mfu_gpu *g = p->config.gpu;
    double measured = s->predicted_s + s->gap_s, high = fmax(g->max_observed_hz, g->boost_hz) * 1e-6, low = 0.5 * high;
    double middle = NAN, time_s = NAN;
    char text[96];

    if (!(high > 0))
        return;
    for (int i = 0; i < 9; i++) {
        struct mfu_scenario other = p->scenario;

        middle = i == 0 ? high : (low + high) / 2;
        other.setting[MFU_S_CLOCK_MHZ] = round(middle);
        other.setting_given[MFU_S_CLOCK_MHZ] = true;
        time_s = time_with(s, &other);
        if (isnan(time_s) || (i == 0 && time_s > measured * 1.01))
            return; /* not even the highest clock is fast enough */
        *(time_s > measured ? &low : &high) = middle;
    }
    if (fabs(time_s / measured - 1) > 0.03)
        return;
    snprintf(text, sizeof text, "SM clock of %.0f MHz under load", round(middle / 10) * 10);
    add(s, time_s, (time_s - s->predicted_s) / s->gap_s,
        "nvidia-smi --query-gpu=clocks.sm,power.draw,temperature.gpu -l 1", text);
}

static void try_waits(struct search *s)
{
    const struct mfu_observation *o = s->o;
    double loader = mfu_observe_trusted(o, MFU_FIGURE_LOADER),
           comm = mfu_observe_trusted(o, MFU_FIGURE_COMMUNICATION) - o->plan.step.communication_exposed_s;
    char text[96], time[MFU_QUANTITY_MAX];

    if (s->gap_s < 0)
        return;
    if (loader > 0) {
        snprintf(text, sizeof text, "%s of waiting for the loader", mfu_quantity_format(time, loader, MFU_SECONDS));
        add(s, s->predicted_s + loader, loader / s->gap_s, "train on one batch over and over: the step time falls",
            text);
    }
    if (s->o->stalled > 0) {
        double stalled = s->o->stalled * o->figure[MFU_FIGURE_TIME];

        snprintf(text, sizeof text, "%s a step in steps that stall", mfu_quantity_format(time, stalled, MFU_SECONDS));
        add(s, s->predicted_s + stalled, stalled / s->gap_s, "train on one batch over and over: they are gone", text);
    }
    if (comm > 0) {
        snprintf(text, sizeof text, "%s more of waiting for communication",
                 mfu_quantity_format(time, comm, MFU_SECONDS));
        add(s, s->predicted_s + comm, comm / s->gap_s, "nccl-tests on the same GPUs; a step without no_sync()", text);
    }
}

void mfu_observe_gap_of_batch(struct mfu_observation *o)
{
    struct search *s = start(o);

    if (!s)
        return;
    try_batch(s);
    end(s);
}

void mfu_observe_gap(struct mfu_observation *o)
{
    struct search *s = start(o);

    if (!s)
        return;
    try_waits(s);
    s->measured = o->n_candidates;
    if (o->batch_guessed)
        try_batch(s);
    try_settings(s);
    try_clock(s);
    end(s);
}
