/*
 * why_batch.c - what a larger micro-batch brings at equal tokens per step.
 */
#include <math.h>

#include "answer/advise/advise.h"
#include "answer/why/why.h"
#include "scenario/setting.h"
#include "base/short.h"

/* A doubling that brings less, of tokens per second, has stopped helping (chosen). */
#define HELPS 0.02

static struct mfu_scenario with(const struct mfu_scenario *base, double batch, double accum)
{
    struct mfu_scenario s = *base;

    s.setting[MFU_S_BATCH] = batch;
    s.setting[MFU_S_ACCUM] = accum;
    s.setting_given[MFU_S_BATCH] = s.setting_given[MFU_S_ACCUM] = true;
    mfu_scenario_keep_loader(&s, base->setting[MFU_S_BATCH]);
    return s;
}

static int measure(const struct mfu_scenario *base, double batch, double accum, struct mfu_plan *p,
                   struct mfu_simulation *sim, struct mfu_why_row *row, struct mfu_error *err)
{
    struct mfu_scenario s = with(base, batch, accum);
    struct mfu_outcome o;

    if (mfu_outcome_of(&s, p, sim, &o, err) < 0)
        return -1;
    *row = (struct mfu_why_row){.batch = batch,
                                .accum = accum,
                                .step_s = o.step_s,
                                .tokens_per_s = o.tokens / o.step_s,
                                .mfu = o.mfu,
                                .memory_bytes = o.memory_bytes,
                                .fits = o.fits,
                                .unsure = o.unsure};
    return 0;
}

/* Powers of two with the present batch among them, a few steps beyond it. */
static int sizes(double batch, double list[MFU_WHY_ROWS])
{
    const int below = MFU_WHY_ROWS / 2;
    double first = fmax(1, exp2(floor(log2(batch)) - below)), most = fmax(4 * batch, 64);
    int n = 0;

    for (double b = first; n < MFU_WHY_ROWS && b <= most; b *= 2) {
        if (batch > b / 2 && batch < b && n > 0)
            list[n++] = batch;
        if (n < MFU_WHY_ROWS)
            list[n++] = b;
    }
    return n;
}

/* Tokens per step stay equal while the accumulation can follow; the list ends
 * with the second that does not fit. */
static int fill_rows(const struct mfu_plan *now, struct mfu_plan *p, struct mfu_simulation *sim, struct mfu_why *w,
                     struct mfu_error *err)
{
    double batch = now->config.setting[MFU_S_BATCH], list[MFU_WHY_ROWS];
    int n = sizes(batch, list), misses = 0;

    for (int i = 0; i < n && misses < 2; i++) {
        struct mfu_why_row *row = &w->rows[w->n_rows++];
        bool present = list[i] == batch;

        if (measure(&now->scenario, list[i],
                    present ? now->config.accum : fmax(1, round(batch * now->config.accum / list[i])), p, sim, row, err)
            < 0)
            return -1;
        row->now = present;
        misses += !row->fits && list[i] > batch;
    }
    return 0;
}

/* A micro-step in two: what grows with its sequences, and what is there once. */
static void tell_split(struct mfu_why *w, double batch, double micro_s, double fixed_s, double share)
{
    mfu_why_say(w,
                "A micro-step of %.0f sequences takes %s: %s for each sequence and %s whatever their number. The "
                "second part, %.1f %% of the step, is all that a larger micro-batch can save.",
                batch, Q(micro_s, MFU_SECONDS), Q((micro_s - fixed_s) / batch, MFU_SECONDS), Q(fixed_s, MFU_SECONDS),
                100 * share);
}

/* Twice the sequences take more than twice as long: nothing is there once. */
static void tell_growth(struct mfu_why *w, double batch, double micro_s, double twice_s)
{
    mfu_why_say(w,
                "A micro-step of %.0f sequences takes %s, %s for each; one of %.0f takes %s for each. The time grows "
                "faster than the batch, so that a larger micro-batch saves nothing.",
                batch, Q(micro_s, MFU_SECONDS), Q(micro_s / batch, MFU_SECONDS), 2 * batch,
                Q(twice_s / (2 * batch), MFU_SECONDS));
}

/* Time of a micro-step that does not grow with its sequences, from two plans. */
static int add_parts(const struct mfu_plan *now, struct mfu_plan *p, struct mfu_simulation *sim, struct mfu_why *w,
                     struct mfu_error *err)
{
    double batch = now->config.batch, accum = now->config.accum, optimizer_s = now->step.optimizer_s;
    double step_s = now->step.time_s, micro_s, twice_s, fixed_s;
    struct mfu_why_row twice;

    if (measure(&now->scenario, 2 * now->config.setting[MFU_S_BATCH], accum, p, sim, &twice, err) < 0)
        return -1;
    micro_s = (step_s - optimizer_s) / accum;
    twice_s = (twice.step_s - optimizer_s) / accum;
    fixed_s = fmax(0, 2 * micro_s - twice_s);
    mfu_why_add(w, "per sequence", (micro_s - fixed_s) * accum / step_s, (micro_s - fixed_s) * accum, false,
                "grows with the batch", "kernels");
    mfu_why_add(w, "per micro-step", fixed_s * accum / step_s, fixed_s * accum, false, "casts, launches, waves",
                "why mfu");
    mfu_why_add(w, "optimizer", optimizer_s / step_s, optimizer_s, false, "once per step", "step");
    if (fixed_s > 0)
        tell_split(w, batch, micro_s, fixed_s, fixed_s * accum / step_s);
    else
        tell_growth(w, batch, micro_s, twice_s);
    if (mfu_plan_micro_loader_s(now) > 0)
        mfu_why_say(w,
                    "The loader takes %s for a micro-batch, %s for each sequence, and as much for each in every row.",
                    Q(mfu_plan_micro_loader_s(now), MFU_SECONDS), Q(mfu_plan_micro_loader_s(now) / batch, MFU_SECONDS));
    return 0;
}

/* What grows and what does not, around the present batch, of samples of so many sequences. */
static void tell_memory(struct mfu_why *w, double sequences)
{
    for (int i = 0; i + 1 < w->n_rows; i++)
        if (w->rows[i].now) {
            const struct mfu_why_row *a = &w->rows[i], *b = a + 1;
            double each = (b->memory_bytes - a->memory_bytes) / (b->batch - a->batch);
            double fixed = a->memory_bytes - each * a->batch;

            if (fixed < 0) { /* other blocks, other slack */
                mfu_why_say(w, "Memory at micro-batch %.0f, %s; %.0f takes %s.", a->batch,
                            Q(a->memory_bytes, MFU_BYTES), b->batch, Q(b->memory_bytes, MFU_BYTES));
                return;
            }
            mfu_why_say(w,
                        "Memory at micro-batch %.0f, %s: %s for each sequence, and %s, %.0f %%, whatever their number.",
                        a->batch, Q(a->memory_bytes, MFU_BYTES), Q(each / sequences, MFU_BYTES), Q(fixed, MFU_BYTES),
                        100 * fixed / a->memory_bytes);
        }
}

/* What a doubling brings, from two rows of any distance. */
static double doubling(const struct mfu_why_row *a, const struct mfu_why_row *b)
{
    return pow(b->tokens_per_s / a->tokens_per_s, 1 / log2(b->batch / a->batch)) - 1;
}

static void tell(struct mfu_why *w)
{
    const struct mfu_why_row *fastest = NULL, *stop = NULL, *best = NULL, *bad = NULL;

    for (int i = 0; i < w->n_rows; i++) {
        if (w->rows[i].fits)
            fastest = !fastest || w->rows[i].tokens_per_s > fastest->tokens_per_s ? &w->rows[i] : fastest;
        else if (!bad)
            bad = &w->rows[i];
        best = !best || w->rows[i].tokens_per_s > best->tokens_per_s ? &w->rows[i] : best;
        if (!stop && i + 1 < w->n_rows && doubling(&w->rows[i], &w->rows[i + 1]) < HELPS)
            stop = &w->rows[i];
    }
    if (stop && stop[1].tokens_per_s < stop->tokens_per_s)
        mfu_why_say(w, "From micro-batch %.0f on, a doubling brings nothing: %.0f is %.1f %% slower.", stop->batch,
                    stop[1].batch, 100 * (1 - stop[1].tokens_per_s / stop->tokens_per_s));
    else if (stop)
        mfu_why_say(w, "From micro-batch %.0f on, a doubling brings less than %.0f %%: %.0f gives %+.1f %%.",
                    stop->batch, 100 * HELPS, stop[1].batch, 100 * (stop[1].tokens_per_s / stop->tokens_per_s - 1));
    else
        mfu_why_say(w, "Up to micro-batch %.0f a doubling still brings more than %.0f %%.",
                    w->rows[w->n_rows - 1].batch, 100 * HELPS);
    if (fastest && !best->fits)
        mfu_why_say(w, "Micro-batch %.0f would be the fastest, but does not fit; of those that fit, %.0f is.",
                    best->batch, fastest->batch);
    if (bad)
        mfu_why_say(w, "Of those tried, micro-batch %.0f is the first that does not fit.", bad->batch);
}

int mfu_why_batch(struct mfu_plan *p, struct mfu_simulation *sim, struct mfu_why *w, struct mfu_error *err)
{
    struct mfu_plan other = {0};
    int status;

    w->whole = "step";
    status = fill_rows(p, &other, sim, w, err) < 0 || add_parts(p, &other, sim, w, err) < 0 ? -1 : 0;
    if (status == 0) {
        tell(w);
        tell_memory(w, p->config.batch / p->config.setting[MFU_S_BATCH]);
    }
    mfu_plan_release(&other);
    return status;
}
