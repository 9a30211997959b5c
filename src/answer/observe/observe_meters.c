/*
 * observe_meters.c - what the meters of a GPU say together, and what changed while the run went on.
 *
 * Each meter bounds the next: a kernel must run for an SM to have work, an SM must have work for its tensor
 * pipe to, and the pipe must work for FLOP to be done; what is allocated is reserved, and what is reserved is in
 * use; a wait is part of its step.  A reading above its bound is another GPU's, another moment's or another
 * definition's, and nothing follows from it.  Where the first gap opens is where the time goes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/observe/observe.h"
#include "answer/observe/observe_reading.h"
#include "base/extreme.h"
#include "base/short.h"

/* Chosen: what meters that are read at other moments may differ by, a gap that says something, a share of the
 * power that says that little is done, what is no drift. */
#define SLACK 1.05
#define ROUNDED 1.02 /* bytes of one card */
#define GAP 0.75
#define APART 1.5   /* times the predicted one, or as many times below it */
#define NOTICED 0.1 /* and a difference that one sees */
#define LITTLE_POWER 0.5
#define DRIFT 0.05
#define QUARTER 6 /* steps, at the least; and those that say what is now */
#define NOW 0.15  /* what steps differ by that were left out as outliers */

struct readings {
    double busy, sm, tensor, dram, power;
};

struct symptom {
    const char *code;
    bool (*holds)(const struct readings *, double power_w);
    const char *text;
};

static bool few_sms(const struct readings *r, double power_w)
{
    (void)power_w;
    return r->busy >= 0.9 && r->sm < GAP * r->busy;
}

static bool moves_data(const struct readings *r, double power_w)
{
    (void)power_w;
    return !few_sms(r, 0) && r->dram >= 0.5 && r->tensor < 0.5 * r->sm;
}

static bool waits_on_sms(const struct readings *r, double power_w)
{
    (void)power_w;
    return !few_sms(r, 0) && r->sm >= 0.7 && r->tensor < 0.4 * r->sm && r->dram < 0.5;
}

static bool little_power(const struct readings *r, double power_w)
{
    return r->busy >= 0.9 && r->power < LITTLE_POWER * power_w && isnan(r->sm);
}

/* In the order of the questions: the first that holds is the symptom. */
static const struct symptom symptoms[] = {
    {"few-sms", few_sms,
     "kernels run nearly all the time, on few SMs: small batches or shapes, collectives, tails; `kernels --wide` shows "
     "which launch fewer blocks than there are SMs"},
    {"memory-bound", moves_data,
     "SMs have work and DRAM is busy, the tensor pipe is not: kernels that only move data; compile, flash attention "
     "and fused loss and optimizer make them fewer"},
    {"tensor-idle", waits_on_sms,
     "SMs have work, and neither their tensor pipe nor DRAM is busy: fp32 or misaligned products, or kernels that "
     "wait for each other; a profile's kernel names show which"},
    {"little-power", little_power,
     "the GPU is busy and draws little power: what runs does little arithmetic; SM and tensor activity "
     "(dcgmi dmon -e 1002,1004,1005) would show where"},
};

/* ---- bounds --------------------------------------------------------------- */

double mfu_observe_trusted(const struct mfu_observation *o, enum mfu_figure figure)
{
    return o->contradicted[figure] ? (double)NAN : o->figure[figure];
}

/* A share, or a quantity; lives as long as its block. */
#define SHOWN(value, figure)                                                                                           \
    (mfu_figure_rows[figure].dim == MFU_RATIO ? P(value) : Q(value, mfu_figure_rows[figure].dim))

/* Of each figure the nearest bound first. */
static const struct bound {
    enum mfu_figure least, most;
} bounds[] = {
    {MFU_FIGURE_SM_ACTIVE, MFU_FIGURE_UTILIZATION}, {MFU_FIGURE_TENSOR_ACTIVE, MFU_FIGURE_SM_ACTIVE},
    {MFU_FIGURE_MFU, MFU_FIGURE_TENSOR_ACTIVE},     {MFU_FIGURE_MFU, MFU_FIGURE_SM_ACTIVE},
    {MFU_FIGURE_MFU, MFU_FIGURE_UTILIZATION},       {MFU_FIGURE_ALLOCATED, MFU_FIGURE_RESERVED},
    {MFU_FIGURE_RESERVED, MFU_FIGURE_SMI_USED},     {MFU_FIGURE_ALLOCATED, MFU_FIGURE_SMI_USED},
    {MFU_FIGURE_LOADER, MFU_FIGURE_TIME},           {MFU_FIGURE_COMMUNICATION, MFU_FIGURE_TIME},
};

static void between_figures(struct mfu_observation *o)
{
    double value[MFU_FIGURE_COUNT];

    memcpy(value, o->figure, sizeof value);
    /* By time and configuration, against this card's own peak; a guessed step says nothing. */
    value[MFU_FIGURE_MFU] = mfu_observe_tokens_known(o) || !isnan(o->figure[MFU_FIGURE_MFU]) ? o->mfu : (double)NAN;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        enum mfu_figure least = bounds[i].least, most = bounds[i].most;

        if (!(value[least] > SLACK * value[most]))
            continue;
        if (!o->contradicted[least])
            mfu_observe_find(o, "meter-contradiction",
                             "%s (%s) is above %s (%s), which bounds it: not of the same GPU, moment or definition",
                             least == MFU_FIGURE_MFU ? "MFU" : mfu_figure_rows[least].name, SHOWN(value[least], least),
                             mfu_figure_rows[most].name, SHOWN(value[most], most));
        o->contradicted[least] = o->contradicted[most] = true;
    }
}

static bool beyond_card(struct mfu_observation *o, enum mfu_figure figure, double most, const char *why)
{
    if (!(o->figure[figure] > most))
        return false;
    mfu_observe_find(o, "meter-contradiction", "%s (%s): %s", mfu_figure_rows[figure].name,
                     SHOWN(o->figure[figure], figure), why);
    return o->contradicted[figure] = true;
}

void mfu_observe_contradictions(struct mfu_observation *o)
{
    const struct mfu_gpu *g = o->plan.config.gpu;
    double capacity = o->plan.memory.capacity_bytes;
    char why[200];

    between_figures(o);
    snprintf(why, sizeof why, "the %s offers %s to a process; this is another card, or several together", g->name,
             Q(capacity, MFU_BYTES));
    if (!beyond_card(o, MFU_FIGURE_ALLOCATED, ROUNDED * capacity, why))
        beyond_card(o, MFU_FIGURE_RESERVED, ROUNDED * capacity, why);
    snprintf(why, sizeof why, "the %s may draw %s; this is another card, several together, or a limit that was raised",
             g->name, Q(g->power_w, MFU_WATTS));
    beyond_card(o, MFU_FIGURE_POWER, SLACK * g->power_w, why);
    if (o->gpus <= 1)
        beyond_card(o, MFU_FIGURE_COMMUNICATION, 0, "one GPU waits for no other; state gpus");
}

/* ---- meters --------------------------------------------------------------- */

/* The work that a meter saw is its share of a step times the step, however long that is; without a time, the share
 * says how long it would be. */
static void far_from_predicted(struct mfu_observation *o)
{
    static const enum mfu_figure meters[] = {MFU_FIGURE_SM_ACTIVE, MFU_FIGURE_TENSOR_ACTIVE, MFU_FIGURE_DRAM_ACTIVE,
                                             MFU_FIGURE_POWER};
    double time_s = o->figure[MFU_FIGURE_TIME], longer = isnan(time_s) ? 1 : time_s / o->plan.step.time_s;

    for (int i = 0; o->predicted && i < o->n_compared; i++)
        for (size_t k = 0; k < sizeof meters / sizeof meters[0]; k++) {
            const struct mfu_compared *c = &o->compared[i];
            bool share = c->dim == MFU_RATIO;
            double value = mfu_observe_trusted(o, meters[k]), ratio = value / c->predicted * (share ? longer : 1);

            if (strcmp(c->name, mfu_figure_rows[meters[k]].name) != 0 || !(fabs(log(ratio)) > log(APART))
                || (share && !(fabs(value * longer - c->predicted) > NOTICED)))
                continue;
            mfu_observe_find(o, "meter-unlike-plan", "%s %s, predicted %s%s: %s", c->name, SHOWN(value, meters[k]),
                             SHOWN(c->predicted, meters[k]),
                             share && !isnan(time_s) ? ", with the step as long as measured" : "",
                             ratio > 1           ? "kernels do more there than those that are planned, or the meter "
                                                   "is of another GPU, moment or definition"
                                 : isnan(time_s) ? "the step takes longer than predicted (step_ms would say), or "
                                                   "the meter is of another GPU, moment or definition"
                                                 : "kernels do less there than those that are planned, or the meter "
                                                   "is of another GPU, moment or definition");
        }
}

void mfu_observe_meters(struct mfu_observation *o)
{
    const struct readings r = {
        mfu_observe_trusted(o, MFU_FIGURE_UTILIZATION), mfu_observe_trusted(o, MFU_FIGURE_SM_ACTIVE),
        mfu_observe_trusted(o, MFU_FIGURE_TENSOR_ACTIVE), mfu_observe_trusted(o, MFU_FIGURE_DRAM_ACTIVE),
        mfu_observe_trusted(o, MFU_FIGURE_POWER)};

    for (size_t i = 0; i < sizeof symptoms / sizeof symptoms[0]; i++)
        if (symptoms[i].holds(&r, o->plan.config.gpu->power_w)) {
            mfu_observe_find(o, symptoms[i].code, "%s", symptoms[i].text);
            return;
        }
    far_from_predicted(o);
}

/* ---- drift ---------------------------------------------------------------- */

static double middle(double *values, size_t n)
{
    qsort(values, n, sizeof *values, mfu_ascending);
    return values[n / 2];
}

/* How much larger (or smaller, below 0) a figure is in the last quarter of a log's records than in the first after
 * the warm-up, and its value then; NAN: too few. */
static double drift_of(struct mfu_observation *o, const struct mfu_log *log, enum mfu_figure figure, double *from,
                       double *recent)
{
    double *values = malloc((log->n_records + 1) * sizeof *values), drift = NAN;
    size_t n = 0, skip, quarter;

    o->lost |= !values;
    for (size_t i = 0; values && i < log->n_records; i++) {
        const struct mfu_log_record *r = &log->records[i];
        double value = r->figure[figure];

        if (figure == MFU_FIGURE_TIME && isnan(value))
            value = 1 / r->figure[MFU_FIGURE_TOKENS_PER_S];
        if (!isnan(value) && r->event == MFU_EVENT_NONE && !r->resumed)
            values[n++] = value;
    }
    skip = n / 10; /* warm-up */
    quarter = (n - skip) / 4;
    if (values && quarter >= QUARTER) {
        double first = middle(values + skip, quarter), last = middle(values + n - quarter, quarter);

        *from = first;
        *recent = middle(values + n - QUARTER, QUARTER);
        drift = last / first - 1;
    }
    free(values);
    return drift;
}

void mfu_observe_drifts(struct mfu_observation *o, const struct mfu_log *log)
{
    double first = 0, recent = NAN, drift = drift_of(o, log, MFU_FIGURE_TIME, &first, &recent);
    double clock_first = 0, ignored, clock = drift_of(o, log, MFU_FIGURE_CLOCK, &clock_first, &ignored);
    double usual = o->figure[MFU_FIGURE_TIME];

    if (isnan(o->drift))
        o->drift = drift;
    if (!isnan(recent) && !isnan(log->records[log->n_records - 1].figure[MFU_FIGURE_TIME]))
        o->recent_s = recent;
    else
        recent = NAN;
    if (drift > DRIFT)
        mfu_observe_find(o, "slowing",
                         "steps take %.1f %% longer than at first: clocks fall as the card heats or meets its power "
                         "limit (nvidia-smi -q -d CLOCK,PERFORMANCE), or the loader falls behind",
                         100 * drift);
    else if (recent > (1 + NOW) * usual && !(o->stalled > 0))
        mfu_observe_find(o, "slowing",
                         "the last steps take %s, the others %s: clocks fell, the loader falls behind, or something "
                         "else began to use the GPU or the host",
                         Q(recent, MFU_SECONDS), Q(usual, MFU_SECONDS));
    if (clock < -DRIFT)
        mfu_observe_find(o, "throttling",
                         "the SM clock fell from %s by %.0f %%: the card is hot, or at its power limit",
                         Q(clock_first, MFU_HERTZ), -100 * clock);
}
