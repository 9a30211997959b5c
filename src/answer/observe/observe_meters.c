/*
 * observe_meters.c - what the meters of a GPU say together, and what changed while the run went on.
 *
 * Each meter bounds the next: a kernel must run for an SM to have work, an SM must have work for its tensor
 * pipe to, and the pipe must work for FLOP to be done.  A reading above its bound is another GPU's, another
 * moment's or another definition's.  Where the first gap opens is where the time goes.
 */
#include <math.h>
#include <stdlib.h>

#include "answer/observe/observe.h"
#include "answer/observe/observe_reading.h"
#include "base/short.h"
#include "plan/metrics.h"

/* Chosen: what meters that are read at other moments may differ by, a gap that says something, a share of the
 * power that says that little is done, what is no drift. */
#define SLACK 1.05
#define GAP 0.75
#define LITTLE_POWER 0.5
#define DRIFT 0.05
#define QUARTER 6 /* steps, at the least */

struct readings {
    double busy, sm, tensor, dram, power, mfu;
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

static void contradict(struct mfu_observation *o, const char *upper, double most, const char *lower, double least)
{
    if (least > SLACK * most)
        mfu_observe_find(o, "meter-contradiction",
                         "%s %s is above %s %s, which bounds it: not of the same GPU, moment or definition", lower,
                         P(least), upper, P(most));
}

void mfu_observe_meters(struct mfu_observation *o)
{
    const double *f = o->figure;
    const struct readings r = {f[MFU_FIGURE_UTILIZATION], f[MFU_FIGURE_SM_ACTIVE], f[MFU_FIGURE_TENSOR_ACTIVE],
                               f[MFU_FIGURE_DRAM_ACTIVE], f[MFU_FIGURE_POWER],     o->mfu};

    contradict(o, "GPU utilisation", r.busy, "SM activity", r.sm);
    contradict(o, "SM activity", r.sm, "tensor activity", r.tensor);
    contradict(o, "tensor activity", r.tensor, "MFU", r.mfu);
    contradict(o, "GPU utilisation", r.busy, "MFU", r.mfu);
    for (size_t i = 0; i < sizeof symptoms / sizeof symptoms[0]; i++)
        if (symptoms[i].holds(&r, o->plan.config.gpu->power_w)) {
            mfu_observe_find(o, symptoms[i].code, "%s", symptoms[i].text);
            break;
        }
}

/* ---- drift ---------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double middle(double *values, size_t n)
{
    qsort(values, n, sizeof *values, ascending);
    return values[n / 2];
}

/* How much larger (or smaller, below 0) a figure is in the last quarter of a log's records than in the first after
 * the warm-up, and its value then; NAN: too few. */
static double drift_of(struct mfu_observation *o, const struct mfu_log *log, enum mfu_figure figure, double *from)
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
        drift = last / first - 1;
    }
    free(values);
    return drift;
}

void mfu_observe_drifts(struct mfu_observation *o, const struct mfu_log *log)
{
    double first = 0, drift = drift_of(o, log, MFU_FIGURE_TIME, &first);
    double clock_first = 0, clock = drift_of(o, log, MFU_FIGURE_CLOCK, &clock_first);

    if (isnan(o->drift))
        o->drift = drift;
    if (drift > DRIFT)
        mfu_observe_find(o, "slowing",
                         "steps take %.1f %% longer than at first: clocks fall as the card heats or meets its power "
                         "limit (nvidia-smi -q -d CLOCK,PERFORMANCE), or the loader falls behind",
                         100 * drift);
    if (clock < -DRIFT)
        mfu_observe_find(o, "throttling",
                         "the SM clock fell from %s by %.0f %%: the card is hot, or at its power limit",
                         Q(clock_first, MFU_HERTZ), -100 * clock);
}
