/*
 * validation.c - how far predictions are from other people's runs.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "answer/validate/align_kernels.h"
#include "answer/trace/compare_trace.h"
#include "answer/validate/validate.h"
#include "report/report.h"
#include "report/text/text.h"
#include "base/short.h"

#define WORST 8

#define PERCENT(share, sign) mfu_text_percent((char[16]){0}, share, sign)

static void row(struct mfu_table *table, const char *name, const struct mfu_errors_summary *s)
{
    mfu_table_cells(table, "%s\t%zu\t%s\t%s\t%s\t%s\t%s\t%s", *name ? name : "not stated", s->n,
                    PERCENT(s->n ? s->mape : NAN, false), PERCENT(s->n ? s->median : NAN, false),
                    PERCENT(s->n ? s->bias : NAN, true), PERCENT(s->n ? s->p90 : NAN, false),
                    PERCENT(s->n ? s->coverage90 : NAN, false), s->n ? s->worst_id : "");
}

#define COLUMNS(what)                                                                                                  \
    {what, .left = true}, {"runs", .rank = 0}, {"MAPE", .rank = 0}, {"median", .rank = 2}, {"bias", .rank = 1},        \
        {"p90", .rank = 3}, {"in 90 %", .rank = 4},                                                                    \
    {                                                                                                                  \
        "worst", .left = true, .rank = 5                                                                               \
    }

static void overall(FILE *out, const struct mfu_term *t, const struct mfu_validation *v)
{
    static const struct mfu_column columns[] = {COLUMNS("all rows")};
    struct mfu_table table = MFU_TABLE(columns);

    row(&table, "step time", &v->step);
    row(&table, "memory allocated", &v->allocated);
    row(&table, "memory reserved", &v->reserved);
    if (v->seq.n > 0)
        row(&table, "longest sequence", &v->seq);
    mfu_table_rule(&table);
    row(&table, "step, one MFU per GPU", &v->baseline);
    mfu_table_print(out, t, &table);
}

/* One group of one table. */
struct group {
    const char *name;
    const struct mfu_errors_summary *summary;
};

static int more_runs(const void *a, const void *b)
{
    size_t x = ((const struct group *)a)->summary->n, y = ((const struct group *)b)->summary->n;

    return (x < y) - (x > y);
}

/* The groups of one kind, those with the most runs first. */
static void one_kind(FILE *out, const struct mfu_term *t, const struct mfu_validation *v, const char *what,
                     const char *by, bool memory, struct group *list)
{
    char title[48];
    struct mfu_column columns[] = {COLUMNS(title)};
    struct mfu_table table = MFU_TABLE(columns);
    size_t n = 0;

    snprintf(title, sizeof title, "%s by %s", what, by);
    for (size_t i = 0; i < v->n_groups; i++) {
        const struct mfu_errors_summary *s = memory ? &v->groups[i].allocated : &v->groups[i].step;

        if (s->n > 0 && strcmp(v->groups[i].by, by) == 0)
            list[n++] = (struct group){v->groups[i].value, s};
    }
    if (n == 0)
        return;
    qsort(list, n, sizeof *list, more_runs);
    for (size_t i = 0; i < n; i++)
        row(&table, list[i].name, list[i].summary);
    mfu_table_below(out, t, &table);
}

static void groups(FILE *out, const struct mfu_term *t, const struct mfu_validation *v)
{
    struct group *list = malloc((v->n_groups + 1) * sizeof *list);

    if (!list)
        return;
    for (int memory = 0; memory < 2; memory++)
        for (size_t i = 0; i < v->n_groups; i++) {
            bool seen = false;

            for (size_t k = 0; k < i; k++)
                seen |= strcmp(v->groups[k].by, v->groups[i].by) == 0;
            if (!seen)
                one_kind(out, t, v, memory ? "memory" : "step time", v->groups[i].by, memory, list);
        }
    free(list);
}

static void fits(FILE *out, const struct mfu_term *t, const struct mfu_validation *v)
{
    char oom[80] = "";

    if (v->oom > 0)
        snprintf(oom, sizeof oom, "%s%zu of %zu that ran out of memory not to", v->ran > 0 ? ", " : "",
                 v->oom_called_oom, v->oom);
    if (v->ran > 0)
        mfu_paragraph(out, t, "", 0, MFU_PLAIN, "Fits or not: %zu of %zu runs that fitted were predicted to fit%s.",
                      v->ran_called_fit, v->ran, oom);
    else if (v->oom > 0)
        mfu_paragraph(out, t, "", 0, MFU_PLAIN, "Fits or not: %s.", oom);
    if (v->seq.n > 0)
        mfu_paragraph(out, t, "", 0, MFU_PLAIN,
                      "The longest sequence that fits: %zu of %zu were predicted within %.0f %% of what is stated.",
                      v->seq_near, v->seq.n, 100 * MFU_SEQ_NEAR);
    if (v->n_calibrated > 0)
        mfu_paragraph(out, t, "", 0, MFU_PLAIN,
                      "Your own calibration was used for %zu of the runs (%s): if it was fitted to "
                      "them, their errors say little.",
                      v->n_calibrated, v->calibrated_gpu);
}

/* Rows with the largest error of the step time. */
static int worse(const void *a, const void *b)
{
    double x = fabs((*(const struct mfu_validated *const *)a)->error);
    double y = fabs((*(const struct mfu_validated *const *)b)->error);

    return (x < y) - (x > y);
}

static void worst(FILE *out, const struct mfu_term *t, const struct mfu_validation *v)
{
    static const struct mfu_column columns[] = {{"worst rows", .left = true},
                                                {"gpu", .left = true, .rank = 2},
                                                {"runtime", .left = true, .rank = 3},
                                                {"sharding", .left = true, .rank = 4},
                                                {"measured", .rank = 1},
                                                {"predicted", .rank = 1},
                                                {"error", .rank = 0}};
    const struct mfu_validated **list = malloc((v->n_rows + 1) * sizeof *list);
    struct mfu_table table = MFU_TABLE(columns);
    size_t n = 0;

    if (!list)
        return;
    for (size_t i = 0; i < v->n_rows; i++)
        if (!v->rows[i].skipped[0] && isfinite(v->rows[i].error))
            list[n++] = &v->rows[i];
    qsort(list, n, sizeof *list, worse);
    for (size_t i = 0; i < n && i < WORST; i++) {
        mfu_table_cells(&table, "%s\t%s\t%s\t%s\t%s\t%s\t%+.0f %%", list[i]->id, list[i]->gpu, list[i]->runtime,
                        list[i]->sharding, Q(list[i]->measured_step_s, MFU_SECONDS),
                        Q(list[i]->predicted_step_s, MFU_SECONDS), 100 * list[i]->error);
    }
    mfu_table_below(out, t, &table);
    free(list);
}

/* Whether two reasons differ in their numbers only. */
static bool same_reason(const char *a, const char *b)
{
    while (*a && *b) {
        size_t x = strspn(a, "0123456789"), y = strspn(b, "0123456789");

        if ((x > 0) != (y > 0) || (x == 0 && *a != *b))
            return false;
        a += x ? x : 1;
        b += y ? y : 1;
    }
    return *a == *b;
}

/* "8 GPUs: ..." and "64 GPUs: ..." as "N GPUs: ...". */
static void generalise(char *to, size_t size, const char *reason)
{
    size_t n = 0;

    while (*reason && n + 1 < size) {
        size_t digits = strspn(reason, "0123456789");

        to[n++] = digits ? 'N' : *reason;
        reason += digits ? digits : 1;
    }
    to[n] = '\0';
}

/* How many rows were skipped for each reason, the commonest first. */
static void skipped(FILE *out, const struct mfu_term *t, const struct mfu_validation *v)
{
    static const struct mfu_column columns[] = {{"skipped because", .left = true}, {"rows", .rank = 0}};
    struct {
        const char *reason;
        size_t n;
        bool several;
    } *all = calloc(v->n_rows + 1, sizeof *all);
    struct mfu_table table = MFU_TABLE(columns);
    size_t n = 0;

    if (!all)
        return;
    for (size_t i = 0; i < v->n_rows; i++) {
        size_t k = 0;

        if (!v->rows[i].skipped[0] || v->rows[i].trains_other)
            continue;
        while (k < n && !same_reason(all[k].reason, v->rows[i].skipped))
            k++;
        all[k].several |= all[k].reason && strcmp(all[k].reason, v->rows[i].skipped) != 0;
        all[k].reason = v->rows[i].skipped;
        all[k].n++;
        n += k == n;
    }
    for (size_t done = 0; done < n; done++) {
        char text[sizeof v->rows->skipped];
        size_t best = 0;

        for (size_t k = 0; k < n; k++)
            if (all[k].n > all[best].n)
                best = k;
        generalise(text, sizeof text, all[best].reason);
        mfu_table_cells(&table, "%s\t%zu", all[best].several ? text : all[best].reason, all[best].n);
        all[best].n = 0;
    }
    mfu_table_below(out, t, &table);
    free(all);
}

/* Rows whose adapter is not the one that their columns state, each by itself. */
static void other_weights(FILE *out, const struct mfu_term *t, const struct mfu_validation *v)
{
    static const struct mfu_column columns[] = {{"train other weights", .left = true}, {"because", .left = true}};
    struct mfu_table table = MFU_TABLE(columns);

    for (size_t i = 0; i < v->n_rows; i++)
        if (v->rows[i].trains_other)
            mfu_table_cells(&table, "%s\t%s", v->rows[i].id, v->rows[i].skipped);
    mfu_table_below(out, t, &table);
}

void mfu_text_validation(FILE *out, const struct mfu_term *t, const struct mfu_validation *v)
{
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    mfu_flow_words(&f, MFU_STRONG, "%zu rows: %zu predicted, %zu skipped.", v->n_rows, v->n_rows - v->n_skipped,
                   v->n_skipped);
    mfu_flow_words(&f, MFU_PLAIN,
                   "Errors are relative to what was measured; bias: + is predicted too long or too large.");
    mfu_flow_end(&f);
    fputc('\n', out);
    overall(out, t, v);
    fits(out, t, v);
    groups(out, t, v);
    worst(out, t, v);
    skipped(out, t, v);
    other_weights(out, t, v);
}

/* ---- kernel by kernel ------------------------------------------------------ */

#define SHOWN 25 /* kernels of a run */

static void aligned(FILE *out, const struct mfu_term *t, const char *title, const struct mfu_aligned *rows, size_t n,
                    const char *run, size_t most)
{
    const struct mfu_column columns[] = {{title, .left = true},    {"phase", .left = true, .rank = 4},
                                         {"launches", .rank = 3},  {"seen", .rank = 3},
                                         {"predicted", .rank = 0}, {"measured", .rank = 0},
                                         {"ratio", .rank = 1},     {"share", .rank = 2},
                                         {"won back", .rank = 1},  {"", .left = true, .rank = 0}};
    struct mfu_table table = MFU_TABLE(columns);

    for (size_t i = 0; i < n && most > 0; i++)
        if (strcmp(rows[i].run, run) == 0) {
            const struct mfu_aligned *r = &rows[i];

            mfu_table_cells(&table, "%s\t%s\t%.0f\t%.0f\t%s\t%s", r->name, r->phase, r->count, r->measured_count,
                            Q(r->predicted_s, MFU_SECONDS), Q(r->measured_s, MFU_SECONDS));
            mfu_table_cells(&table, r->measured_s > 0 && r->predicted_s > 0 ? "%.2f" : "",
                            r->predicted_s / r->measured_s);
            mfu_table_cells(&table, "%s\t%s\t%s", PERCENT(r->share, false),
                            r->recoverable_s > 0 ? Q(r->recoverable_s, MFU_SECONDS) : "", r->status);
            most--;
        }
    mfu_table_print(out, t, &table);
}

void mfu_text_alignment(FILE *out, const struct mfu_term *t, const struct mfu_alignment *a)
{
    for (size_t i = 0; i < a->n_runs; i++) {
        const struct mfu_aligned_run *r = &a->runs[i];
        struct mfu_flow f = mfu_flow_start(out, t, "", 0);

        if (i > 0)
            fputc('\n', out);
        if (r->skipped[0])
            mfu_flow_words(&f, MFU_PLAIN, "%s is not compared: %s.", r->run, r->skipped);
        else
            mfu_flow_words(
                &f, MFU_PLAIN,
                "%s: kernels of a step take %s, predicted %s; %s of that time has a launch of ours. The step "
                "took %s, predicted %s.",
                r->run, Q(r->measured_s, MFU_SECONDS), Q(r->predicted_s, MFU_SECONDS), P(r->matched),
                Q(r->measured_step_s, MFU_SECONDS), Q(r->predicted_step_s, MFU_SECONDS));
        mfu_flow_end(&f);
        if (r->skipped[0])
            continue;
        aligned(out, t, "kind", a->kinds, a->n_kinds, r->run, SIZE_MAX);
        fputc('\n', out);
        aligned(out, t, "furthest off", a->kernels, a->n_kernels, r->run, SHOWN);
    }
}

/* ---- a trace --------------------------------------------------------------- */

static void gaps(FILE *out, const struct mfu_term *t, const struct mfu_trace_comparison *c)
{
    const struct mfu_column columns[] = {{"gap", .left = true},
                                         {"gaps", .rank = 2},
                                         {"predicted", .rank = 0},
                                         {"measured", .rank = 0},
                                         {"", .left = true, .rank = 3}};
    struct mfu_table table = MFU_TABLE(columns);

    for (int i = 0; i < MFU_GAP_COUNT; i++)
        mfu_table_cells(&table, "%s\t%.0f\t%s\t%s\t%s", c->gaps[i].cause, c->gaps[i].count,
                        Q(c->gaps[i].predicted_s, MFU_SECONDS), Q(c->gaps[i].measured_s, MFU_SECONDS), c->gaps[i].says);
    mfu_table_print(out, t, &table);
}

void mfu_text_trace_comparison(FILE *out, const struct mfu_term *t, const struct mfu_trace_comparison *c)
{
    const struct mfu_aligned_run *r = &c->alignment->runs[0];

    if (c->on_cpu)
        mfu_paragraph(
            out, t, "", 0, MFU_PLAIN,
            "The trace is of a CPU: its times say nothing of the GPU, and only what runs is compared. %s of its "
            "time has a launch of ours.",
            P(r->matched));
    else
        mfu_paragraph(
            out, t, "", 0, MFU_PLAIN,
            "%s%sThe step takes %s, predicted %s; kernels run for %s of it, predicted %s. %s of their time has a "
            "launch of ours. %s of the step could be won back.",
            c->device, c->device[0] ? ". " : "", Q(c->step_s, MFU_SECONDS), Q(c->predicted_step_s, MFU_SECONDS),
            Q(c->busy_s, MFU_SECONDS), Q(c->predicted_busy_s, MFU_SECONDS), P(r->matched),
            Q(c->recoverable_s, MFU_SECONDS));
    if (r->other_shape_s > 0.5 * r->products_s)
        mfu_paragraph(out, t, "", 0, MFU_WARN,
                      "%s of the products' time is of other shapes than those planned: another model, batch or length "
                      "of sequences was recorded, and times beside each other say little.",
                      P(r->other_shape_s / r->products_s));
    fputc('\n', out);
    if (!c->on_cpu) {
        gaps(out, t, c);
        fputc('\n', out);
    }
    aligned(out, t, "kind", c->alignment->kinds, c->alignment->n_kinds, r->run, SIZE_MAX);
    fputc('\n', out);
    aligned(out, t, "furthest off", c->alignment->kernels, c->alignment->n_kernels, r->run, SHOWN);
}
