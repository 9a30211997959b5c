/*
 * observe_steady.c - which steps of a log are steady state.
 *
 * Dropped are the warm-up (compilation, caches; until times settle around the
 * median of what follows), steps of a smaller batch before the last one's, steps
 * with an evaluation or a checkpoint before them, and what stands out without a
 * word; at equal distances that is worth a note.  Where a step in four or more
 * stands out, that is how the run is: means are taken then, and what the slow steps
 * cost is reported.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/observe/observe.h"
#include "base/extreme.h"

/* Shares of the median step (chosen). */
#define SETTLED 0.03 /* so near: that is steady */
#define OUTSIDE 0.15 /* so far: that is not */
#define STALLS 0.24  /* share of slow steps that are no outliers any more */

/* Sorts them. */
static double median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(values, n, sizeof *values, mfu_ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* Seconds, or anything proportional to them. */
static double time_of(const struct mfu_log_record *r)
{
    return isnan(r->figure[MFU_FIGURE_TIME]) ? 1 / r->figure[MFU_FIGURE_TOKENS_PER_S] : r->figure[MFU_FIGURE_TIME];
}

enum verdict { USED, WARM_UP, RAMP_UP, EVALUATION, CHECKPOINT, OUTLIER, UNUSABLE, VERDICTS };
static const char *const reasons[VERDICTS] = {"",           "warm-up", "batch ramp-up", "evaluation",
                                              "checkpoint", "outlier", "unusable"};

struct steps {
    const struct mfu_log *log;
    unsigned char *verdict;
    double *scratch;
    double middle, spread; /* of the later ones */
    double slow;           /* what a stalled step takes; 0: steps do not stall */
    double stalls;         /* their share */
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

/* A batch that grows (Megatron's ramp-up) ends with the last line's. */
static void drop_ramp_up(struct steps *s)
{
    const struct mfu_log *log = s->log;
    double last = 0;

    for (size_t i = 0; i < log->n_records; i++)
        if (log->records[i].samples > 0)
            last = log->records[i].samples;
    for (size_t i = 0; i < log->n_records; i++)
        if (s->verdict[i] == USED && log->records[i].samples > 0 && log->records[i].samples != last)
            s->verdict[i] = RAMP_UP;
}

/* Steps between which nothing is said to have happened, the first ones left out. */
static bool plain(const struct steps *s, size_t i)
{
    return i >= s->log->n_records / 10 && s->verdict[i] == USED && s->log->records[i].event == MFU_EVENT_NONE;
}

/* Whether slow steps come back again and again (a loader that falls behind), and
 * not once (a card that grew hot): then they are more than outliers. */
static void find_stalls(struct steps *s)
{
    const struct mfu_log *log = s->log;
    size_t n = 0, slow = 0, changes = 0;
    double limit, sum = 0;
    bool was_slow = false;

    for (size_t i = 0; i < log->n_records; i++)
        if (plain(s, i))
            s->scratch[n++] = time_of(&log->records[i]);
    if (n < 8)
        return;
    qsort(s->scratch, n, sizeof *s->scratch, mfu_ascending);
    limit = (1 + OUTSIDE) * s->scratch[n / 4];
    for (size_t i = 0; i < log->n_records; i++)
        if (plain(s, i)) {
            bool is_slow = time_of(&log->records[i]) > limit;

            changes += is_slow != was_slow;
            slow += is_slow;
            sum += is_slow ? time_of(&log->records[i]) : 0;
            was_slow = is_slow;
        }
    if ((double)slow < STALLS * (double)n || slow < 4 || 2 * changes < slow)
        return;
    s->stalls = (double)slow / (double)n;
    s->slow = sum / (double)slow;
    s->middle = median(s->scratch, n - slow); /* they are sorted: of the others */
}

static bool settled(const struct steps *s, size_t i)
{
    double usual = fmax(s->middle, s->slow);

    return time_of(&s->log->records[i]) <= usual + fmax(SETTLED * usual, 4 * s->spread);
}

/* The next one that may count, or n. */
static size_t after(const struct steps *s, size_t i)
{
    for (i++; i < s->log->n_records; i++)
        if (s->verdict[i] == USED && s->log->records[i].event == MFU_EVENT_NONE)
            break;
    return i;
}

static int first_resumed(const struct mfu_log *log)
{
    size_t i = 0;

    while (!log->records[i].resumed)
        i++;
    return log->records[i].line;
}

static void drop_warm_up(struct steps *s, size_t usable, struct mfu_observation *o)
{
    const struct mfu_log *log = s->log;
    size_t n = log->n_records, dropped = 0, resumes = 0;
    bool has_mfu = n > 0 && !isnan(log->records[n - 1].figure[MFU_FIGURE_MFU]);

    for (size_t i = 0; i < n; i++)
        if (log->records[i].resumed) {
            resumes++;
            s->verdict[i] = s->verdict[i] == USED ? WARM_UP : s->verdict[i];
        }
    if (resumes > 0)
        mfu_observe_note(o, "the run was resumed %zu time%s: steps go back in line %d", resumes, resumes > 1 ? "s" : "",
                         first_resumed(log));
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

/* Steps after an event; if those are most of them, only the slow ones.  Without
 * any other, whether they count depends on what their time holds. */
static void drop_windows(struct steps *s, struct mfu_observation *o)
{
    const struct mfu_log *log = s->log;
    size_t others = 0, windows = 0;

    for (size_t i = 0; i < log->n_records; i++)
        if (s->verdict[i] == USED)
            *(log->records[i].event == MFU_EVENT_NONE ? &others : &windows) += 1;
    if (others == 0 && !(o->format && o->format->events_in_time))
        return;
    o->only_windows = others == 0 && windows > 0;
    for (size_t i = 0; i < log->n_records; i++) {
        enum mfu_log_event event = log->records[i].event;

        if (s->verdict[i] == USED && event != MFU_EVENT_NONE && (windows <= others || others == 0 || !settled(s, i)))
            s->verdict[i] = event == MFU_EVENT_EVALUATION ? EVALUATION : CHECKPOINT;
    }
}

/* Slow steps at equal distances are evaluations that the lines do not mention, or
 * a loader that falls behind: their times do not say which. */
static void drop_outliers(struct steps *s, struct mfu_observation *o)
{
    const struct mfu_log *log = s->log;
    double period = 0, stride = INFINITY, last = NAN, usual = s->slow > 0 ? 1.5 * s->slow : s->middle;
    double used_s = 0, slow_s = 0;
    size_t n = 0, used = 0;

    for (size_t i = 0; i < log->n_records; i++) {
        double step = log->records[i].figure[MFU_FIGURE_STEP];

        if (step > last)
            stride = fmin(stride, step - last);
        last = step;
        if (s->verdict[i] != USED)
            continue;
        if (time_of(&log->records[i]) <= usual + fmax(OUTSIDE * usual, 8 * s->spread)) {
            used_s += time_of(&log->records[i]);
            used++;
            continue;
        }
        s->verdict[i] = OUTLIER;
        slow_s += time_of(&log->records[i]);
        n++;
        for (double a = step; a > 0;) { /* the greatest common divisor */
            double rest = fmod(period, a);

            period = a;
            a = rest;
        }
    }
    if (n >= 2 && used > 0 && period >= 5 * stride)
        mfu_observe_note(o,
                         "%zu steps, each at a multiple of %.0f, are slow and left out: evaluations, checkpoints "
                         "or a loader that falls behind; with them a mean step is %.1f %% longer",
                         n, period, 100 * ((slow_s + used_s) / (double)(n + used) * (double)used / used_s - 1));
}

/* Of a time the mean, of a rate the one that goes with it. */
static double mean(const double *values, size_t n, bool rate)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += rate ? 1 / values[i] : values[i];
    return n == 0 ? (double)NAN : rate ? (double)n / sum : sum / (double)n;
}

/* MFU times seconds is a step's work, whatever its time is: over what the figures
 * of the run make of it, which are of different steps where times vary. */
static double work_of_steps(struct steps *s, const struct mfu_observation *o)
{
    const struct mfu_log *log = s->log;
    double of_figures = o->figure[MFU_FIGURE_MFU]
        * (isnan(o->figure[MFU_FIGURE_TIME]) ? 1 / o->figure[MFU_FIGURE_TOKENS_PER_S] : o->figure[MFU_FIGURE_TIME]);
    size_t n = 0;

    for (size_t i = 0; i < log->n_records; i++)
        if (s->verdict[i] == USED && !isnan(log->records[i].figure[MFU_FIGURE_MFU] * time_of(&log->records[i])))
            s->scratch[n++] = log->records[i].figure[MFU_FIGURE_MFU] * time_of(&log->records[i]);
    if (n == 0 || isnan(of_figures))
        return 1;
    return (s->slow > 0 ? mean(s->scratch, n, false) : median(s->scratch, n)) / of_figures;
}

/* Medians of the steps that are used, means if some of them stall; of memory the
 * largest. */
static void sum_up(struct steps *s, struct mfu_observation *o)
{
    const struct mfu_log *log = s->log;

    for (int f = 0; f < MFU_FIGURE_COUNT; f++) {
        bool memory = f == MFU_FIGURE_ALLOCATED || f == MFU_FIGURE_RESERVED || f == MFU_FIGURE_SMI_USED;
        bool rate = f == MFU_FIGURE_TOKENS_PER_S || f == MFU_FIGURE_MFU || f == MFU_FIGURE_FLOPS;
        size_t n = 0;

        for (size_t i = 0; i < log->n_records; i++)
            if (s->verdict[i] == USED && !isnan(log->records[i].figure[f]))
                s->scratch[n++] = log->records[i].figure[f];
        o->figure[f] =
            s->slow > 0 && (rate || f == MFU_FIGURE_TIME) ? mean(s->scratch, n, rate) : median(s->scratch, n);
        if (f == MFU_FIGURE_TIME && n > 2)
            o->spread = spread_of(s->scratch, n, o->figure[f]) / o->figure[f];
        else if (memory && n > 0)
            o->figure[f] = s->scratch[n - 1];
        if (isnan(o->figure[f]))
            o->figure[f] = log->stated[f];
    }
    o->work = work_of_steps(s, o);
    o->stalls = s->stalls;
    if (s->slow > 0)
        o->stalled = 1 - s->middle / ((1 - s->stalls) * s->middle + s->stalls * s->slow);
}

void mfu_observe_steady(const struct mfu_log *log, struct mfu_observation *o)
{
    size_t n = log->n_records, usable = 0, count[VERDICTS] = {0};
    struct steps s = {.log = log, .verdict = calloc(n + 1, 1), .scratch = malloc((n + 1) * sizeof(double))};

    for (int f = 0; f < MFU_FIGURE_COUNT; f++)
        o->figure[f] = NAN;
    o->spread = NAN;
    o->work = 1;
    o->lost |= !s.verdict || !s.scratch;
    if (s.verdict && s.scratch) {
        for (size_t i = 0; i < n; i++)
            usable += !isnan(time_of(&log->records[i]));
        if (usable > 0) {
            for (size_t i = 0; i < n; i++)
                if (isnan(time_of(&log->records[i])))
                    s.verdict[i] = UNUSABLE;
            drop_ramp_up(&s);
            find_middle(&s);
            find_stalls(&s);
            drop_warm_up(&s, usable, o);
            drop_windows(&s, o);
            drop_outliers(&s, o);
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
