/*
 * observe.c - a measured run beside its prediction.
 */
#include <math.h>
#include <string.h>

#include "answer/observe/observe.h"
#include "report/report.h"
#include "report/text/text.h"
#include "base/short.h"
#include "scenario/setting.h"

/* What was read, and what of it was used. */
static void source(FILE *out, const struct mfu_term *t, const struct mfu_observation *o)
{
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    if (!o->format) {
        mfu_flow_words(&f, MFU_STRONG, "Figures given by hand.");
        mfu_flow_end(&f);
        return;
    }
    mfu_flow_words(&f, MFU_STRONG, "A log of %s.", o->format->title);
    if (o->lines_used > 1)
        mfu_flow_words(&f, MFU_PLAIN, "Used are %zu %s, in lines %d to %d%s", o->lines_used,
                       o->format->meters ? "readings" : "steps", o->first_line, o->last_line,
                       o->n_dropped ? "; dropped:" : ".");
    else
        mfu_flow_words(&f, MFU_PLAIN, "Used is line %d%s", o->first_line, o->n_dropped ? "; dropped:" : ".");
    for (int i = 0; i < o->n_dropped; i++)
        mfu_flow_words(&f, MFU_PLAIN, "%zu %s%s", o->dropped[i].count, o->dropped[i].reason,
                       i + 1 < o->n_dropped ? "," : ".");
    mfu_flow_end(&f);
}

static const char *value_text(char *buf, size_t size, const struct mfu_understood *u)
{
    if (u->word[0])
        snprintf(buf, size, "%s", u->word);
    else
        snprintf(buf, size, "%.10g", u->value);
    return buf;
}

/* The settings that were understood, by who says so. */
static void configuration(FILE *out, const struct mfu_term *t, const struct mfu_observation *o)
{
    const char *done[8];
    int n = 0;

    for (int i = 0; i < o->n_understood; i++) {
        const char *origin = o->understood[i].origin;
        struct mfu_flow f;
        bool seen = false;
        char label[48], text[MFU_QUANTITY_MAX];

        for (int k = 0; k < n; k++)
            seen |= strcmp(done[k], origin) == 0;
        if (seen || n == (int)(sizeof done / sizeof done[0]))
            continue;
        done[n++] = origin;
        snprintf(label, sizeof label, "%s", o->format && origin == o->format->title ? "default" : origin);
        f = mfu_flow_start(out, t, label, 11);
        for (int k = i; k < o->n_understood; k++)
            if (strcmp(o->understood[k].origin, origin) == 0)
                mfu_flow_piece(&f, MFU_PLAIN, "%s %s", o->understood[k].key,
                               value_text(text, sizeof text, &o->understood[k]));
        mfu_flow_end(&f);
    }
    {
        struct mfu_flow f = mfu_flow_start(out, t, "planned as", 11);
        const struct mfu_config *c = &o->plan.config;
        char gpus[32] = "";

        if (o->gpus > 1)
            snprintf(gpus, sizeof gpus, "%.0f x ", o->gpus);
        mfu_flow_words(&f, MFU_PLAIN, "%s on %s%s%s, %s, %s, batch %g, accum %g: %.0f tokens per step", c->model->name,
                       gpus, c->gpu->name, o->plan.scenario.gpu_given ? "" : " (nobody chose it)",
                       mfu_runtime_names[c->runtime], mfu_precision_names[c->precision], c->setting[MFU_S_BATCH],
                       c->accum, o->tokens_per_step);
        mfu_flow_end(&f);
    }
}

static const char *value(char buf[MFU_QUANTITY_MAX], double x, enum mfu_dim dim)
{
    if (dim == MFU_COUNT && x >= 1e4 && x < 1e6) /* not all digits of a rate */
        snprintf(buf, MFU_QUANTITY_MAX, "%.4g k", x / 1e3);
    else if (dim == MFU_RATIO)
        snprintf(buf, MFU_QUANTITY_MAX, "%.1f %%", 100 * x);
    else
        mfu_quantity_format(buf, x, dim);
    return buf;
}

static void cell(struct mfu_table *table, double x, enum mfu_dim dim)
{
    char buf[MFU_QUANTITY_MAX];

    mfu_table_cells(table, "%s", isfinite(x) ? value(buf, x, dim) : "-");
}

static void figures(FILE *out, const struct mfu_term *t, const struct mfu_observation *o)
{
    static const struct mfu_column columns[] = {{"figure", .left = true},
                                                {"measured", .rank = 0},
                                                {"predicted", .rank = 0},
                                                {"90 %", .left = true, .rank = 2},
                                                {"", .left = true, .rank = 1}};
    struct mfu_table table = MFU_TABLE(columns);

    for (int i = 0; i < o->n_compared; i++) {
        const struct mfu_compared *c = &o->compared[i];
        char low[MFU_QUANTITY_MAX], high[MFU_QUANTITY_MAX];

        mfu_table_cells(&table, "%s", c->name);
        cell(&table, c->measured, c->dim);
        cell(&table, c->predicted, c->dim);
        if (isfinite(c->low))
            mfu_table_cells(&table, "%s to %s", value(low, c->low, c->dim), value(high, c->high, c->dim));
        else
            mfu_table_cells(&table, "%s", "");
        if (isfinite(c->low))
            mfu_table_cells(&table, "%s", c->measured < c->low ? "below" : c->measured > c->high ? "above" : "within");
        else if (c->predicted > 0 && c->dim != MFU_RATIO)
            mfu_table_cells(&table, "%+.0f %%", 100 * (c->measured / c->predicted - 1));
        else
            mfu_table_cells(&table, "%s", "");
    }
    mfu_table_below(out, t, &table);
    if (o->spread > 0)
        mfu_paragraph(out, t, "", 0, MFU_FAINT, "Measured: %s of the steps used; the step time varies by %.2g %%.",
                      o->stalled > 0 ? "means" : "medians", 100 * o->spread);
    if (!o->predicted) {
        mfu_paragraph(out, t, "", 0, MFU_WARN, "Not predicted: %s.", o->why_not);
    }
}

static void candidates(FILE *out, const struct mfu_term *t, const struct mfu_observation *o)
{
    struct mfu_flow f = mfu_flow_start(out, t, "", 2);

    if (o->n_candidates == 0) {
        mfu_flow_words(&f, MFU_PLAIN,
                       "No single setting or clock accounts for the difference; calibrate on this card, and "
                       "compare `kernels` with a profile.");
        mfu_flow_end(&f);
        return;
    }
    mfu_flow_words(&f, MFU_PLAIN, "What could explain it alone, how much of the gap, and what would show it:");
    mfu_flow_end(&f);
    for (int i = 0; i < o->n_candidates; i++) {
        const struct mfu_candidate *c = &o->candidates[i];

        f = mfu_flow_start(out, t, "", 4);
        mfu_flow_words(&f, MFU_STRONG, "%s", c->change);
        mfu_flow_words(&f, MFU_PLAIN, "(%s, %.0f %% of the gap):", Q(c->step_time_s, MFU_SECONDS), 100 * c->share);
        mfu_flow_words(&f, MFU_FAINT, "%s", c->confirm);
        mfu_flow_end(&f);
    }
}

static void findings(FILE *out, const struct mfu_term *t, const struct mfu_observation *o)
{
    bool outside = false;

    for (int i = 0; i < o->n_findings; i++) {
        const struct mfu_finding *x = &o->findings[i];
        struct mfu_flow f;

        fputc('\n', out);
        f = mfu_flow_start(out, t, "", 2);
        mfu_flow_words(&f, MFU_STRONG, "%s:", x->code);
        mfu_flow_words(&f, MFU_PLAIN, "%s.", x->message);
        mfu_flow_end(&f);
        if (strstr(x->code, "-than-predicted") || (strcmp(x->code, "batch-unstated") == 0 && o->n_candidates > 0))
            candidates(out, t, o);
    }
    for (int i = 0; i < o->n_compared; i++)
        outside |= o->compared[i].measured < o->compared[i].low || o->compared[i].measured > o->compared[i].high;
    if (o->n_findings == 0 && o->predicted && !outside)
        mfu_paragraph(out, t, "", 0, MFU_GOOD, "Nothing stands out: the run does what is predicted.");
}

void mfu_text_observation(FILE *out, const struct mfu_term *t, const struct mfu_observation *o)
{
    source(out, t, o);
    configuration(out, t, o);
    figures(out, t, o);
    findings(out, t, o);
    if (o->n_notes)
        fputc('\n', out);
    for (int i = 0; i < o->n_notes; i++)
        mfu_paragraph(out, t, "", 2, MFU_FAINT, "Note: %s.", o->notes[i]);
}

/* "step time 1.02 s (1.1 s)": a figure beside its prediction. */
void mfu_text_watched(FILE *out, const struct mfu_term *t, const struct mfu_observation *o, const char *stamp)
{
    struct mfu_flow f = mfu_flow_start(out, t, stamp, 10);

    for (int i = 0; i < o->n_compared; i++) {
        const struct mfu_compared *c = &o->compared[i];
        bool beside = c->measured >= c->low && c->measured <= c->high, known = !isnan(c->low);

        mfu_flow_piece(&f, known && !beside ? MFU_WARN : MFU_PLAIN, "%s %s%s%s%s", c->name,
                       c->dim == MFU_RATIO ? P(c->measured) : Q(c->measured, c->dim), isnan(c->predicted) ? "" : " (",
                       isnan(c->predicted)       ? ""
                           : c->dim == MFU_RATIO ? P(c->predicted)
                                                 : Q(c->predicted, c->dim),
                       isnan(c->predicted) ? "" : ")");
    }
    if (fabs(o->recent_s / o->figure[MFU_FIGURE_TIME] - 1) >= 0.05)
        mfu_flow_piece(&f, MFU_WARN, "the last steps %s", Q(o->recent_s, MFU_SECONDS));
    if (fabs(o->drift) >= 0.005)
        mfu_flow_piece(&f, MFU_PLAIN, "drift %+.1f %%", 100 * o->drift);
    mfu_flow_end(&f);
}
