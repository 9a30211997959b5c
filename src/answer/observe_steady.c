/*
 * observe_steady.c - which steps of a log are steady state.
 *
 * Dropped are the warm-up (compilation, caches; until times settle around the
 * median of what follows), steps with an evaluation or a checkpoint before
 * them, and what stands out without a word.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/observe.h"

/* Shares of the median step (chosen). */
#define SETTLED 0.03 /* so near: that is steady */
#define OUTSIDE 0.15 /* so far: that is not */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts them. */
static double median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(values, n, sizeof *values, ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Seconds, or anything proportional to them. */
static double time_of(const struct mfu_log_record *r)
{
    return isnan(r->figure[MFU_FIGURE_TIME]) ? 1 / r->figure[MFU_FIGURE_TOKENS_PER_S]
                                             : r->figure[MFU_FIGURE_TIME];
}

enum verdict { USED, WARM_UP, EVALUATION, CHECKPOINT, OUTLIER, UNUSABLE, VERDICTS };
static const char *const reasons[VERDICTS] = {"",           "warm-up", "evaluation",
                                              "checkpoint", "outlier", "unusable"};

struct steps {
    const struct mfu_log *log;
    unsigned char *verdict;
    double *scratch;
    double middle, spread; /* of the later ones */
};

static double spread_of(double *values, size_t n, double middle)
{
    for (size_t i = 0; i < n; i++)
        values[i] = fabs(values[i] - middle);
    return 1.4826 * median(values, n); /* of a normal distribution */
}

static void find_middle(struct steps *s)
{
    const struct mfu_log *log = s->log;
    size_t n = 0;

    for (int plain = 1; plain >= 0 && n == 0; plain--)
        for (size_t i = log->n_records / 3; i < log->n_records; i++)
            if (s->verdict[i] == USED && (!plain || log->records[i].event == MFU_EVENT_NONE))
                s->scratch[n++] = time_of(&log->records[i]);
    s->middle = median(s->scratch, n);
    s->spread = spread_of(s->scratch, n, s->middle);
}

static bool settled(const struct steps *s, size_t i)
{
    return time_of(&s->log->records[i]) <= s->middle + fmax(SETTLED * s->middle, 4 * s->spread);
}

/* The next one that may count, or n. */
static size_t after(const struct steps *s, size_t i)
{
    for (i++; i < s->log->n_records; i++)
        if (s->verdict[i] == USED && s->log->records[i].event == MFU_EVENT_NONE)
            break;
    return i;
}

static void drop_warm_up(struct steps *s, size_t usable)
{
    const struct mfu_log *log = s->log;
    size_t n = log->n_records, dropped = 0;
    bool has_mfu = n > 0 && !isnan(log->records[n - 1].figure[MFU_FIGURE_MFU]);

    if (usable < 4)
        return;
    for (size_t i = 0; i < n && dropped < usable / 2; i++) {
        size_t next = after(s, i);

        if (s->verdict[i] != USED)
            continue;
        if (!(i == 0 && log->records[i].figure[MFU_FIGURE_STEP] <= 1) /* compiles */
            && !(has_mfu && isnan(log->records[i].figure[MFU_FIGURE_MFU])) && settled(s, i)
            && (next == n || settled(s, next)))
            return;
        s->verdict[i] = WARM_UP;
        dropped++;
    }
}

/* Steps after an event; if those are most of them, only the slow ones. */
static void drop_windows(struct steps *s)
{
    const struct mfu_log *log = s->log;
    size_t plain = 0, windows = 0;

    for (size_t i = 0; i < log->n_records; i++)
        if (s->verdict[i] == USED)
            *(log->records[i].event == MFU_EVENT_NONE ? &plain : &windows) += 1;
    for (size_t i = 0; i < log->n_records; i++) {
        enum mfu_log_event event = log->records[i].event;

        if (s->verdict[i] == USED && event != MFU_EVENT_NONE && (windows <= plain || !settled(s, i))
            && plain > 0)
            s->verdict[i] = event == MFU_EVENT_EVALUATION ? EVALUATION : CHECKPOINT;
    }
}

/* Slow steps at equal distances are evaluations that the lines do not mention. */
static void drop_outliers(struct steps *s)
{
    const struct mfu_log *log = s->log;
    double period = 0, stride = INFINITY, last = NAN;
    size_t n = 0;

    for (size_t i = 0; i < log->n_records; i++) {
        double step = log->records[i].figure[MFU_FIGURE_STEP];

        if (step > last)
            stride = fmin(stride, step - last);
        last = step;
        if (s->verdict[i] != USED
            || time_of(&log->records[i]) <= s->middle + fmax(OUTSIDE * s->middle, 8 * s->spread))
            continue;
        s->verdict[i] = OUTLIER;
        n++;
        for (double a = step; a > 0;) { /* the greatest common divisor */
            double rest = fmod(period, a);

            period = a;
            a = rest;
        }
    }
    if (n >= 2 && period >= 5 * stride)
        for (size_t i = 0; i < log->n_records; i++)
            if (s->verdict[i] == OUTLIER)
                s->verdict[i] = EVALUATION;
}

/* Medians of the steps that are used; of memory the largest. */
static void sum_up(struct steps *s, struct mfu_observation *o)
{
    const struct mfu_log *log = s->log;

    for (int f = 0; f < MFU_FIGURE_COUNT; f++) {
        bool memory = f == MFU_FIGURE_ALLOCATED || f == MFU_FIGURE_RESERVED || f == MFU_FIGURE_SMI_USED;
        size_t n = 0;

        for (size_t i = 0; i < log->n_records; i++)
            if (s->verdict[i] == USED && !isnan(log->records[i].figure[f]))
                s->scratch[n++] = log->records[i].figure[f];
        o->figure[f] = median(s->scratch, n);
        if (f == MFU_FIGURE_TIME && n > 2)
            o->spread = spread_of(s->scratch, n, o->figure[f]) / o->figure[f];
        else if (memory && n > 0)
            o->figure[f] = s->scratch[n - 1];
        if (isnan(o->figure[f]))
            o->figure[f] = log->stated[f];
    }
}

void mfu_observe_steady(const struct mfu_log *log, struct mfu_observation *o)
{
    size_t n = log->n_records, usable = 0, count[VERDICTS] = {0};
    struct steps s = {.log = log, .verdict = calloc(n + 1, 1), .scratch = malloc((n + 1) * sizeof(double))};

    for (int f = 0; f < MFU_FIGURE_COUNT; f++)
        o->figure[f] = NAN;
    o->spread = NAN;
    if (s.verdict && s.scratch) {
        for (size_t i = 0; i < n; i++)
            usable += !isnan(time_of(&log->records[i]));
        if (usable > 0) {
            for (size_t i = 0; i < n; i++)
                if (isnan(time_of(&log->records[i])))
                    s.verdict[i] = UNUSABLE;
            find_middle(&s);
            drop_warm_up(&s, usable);
            drop_windows(&s);
            drop_outliers(&s);
        }
        sum_up(&s, o);
        for (size_t i = 0; i < n; i++) {
            count[s.verdict[i]]++;
            if (s.verdict[i] != USED)
                continue;
            if (!o->first_line)
                o->first_line = log->records[i].line;
            o->last_line = log->records[i].line;
        }
        o->lines_used = count[USED];
        for (int v = USED + 1; v < VERDICTS; v++)
            if (count[v] > 0) {
                o->dropped[o->n_dropped].reason = reasons[v];
                o->dropped[o->n_dropped++].count = count[v];
            }
    }
    free(s.verdict);
    free(s.scratch);
}
