/*
 * calibration.c - what a calibration found, and those that are kept.
 */
#include <math.h>

#include "answer/fit/calibrate.h"
#include "answer/fit/narrow.h"
#include "report/report.h"
#include "report/text/text.h"
#include "base/short.h"

#define PERCENT(share, sign) mfu_text_percent((char[16]){0}, share, sign)

static void coefficients(FILE *out, const struct mfu_term *t, const struct mfu_calibrated *c)
{
    static const struct mfu_column columns[] = {{"coefficient", .left = true},
                                                {"value", .rank = 0},
                                                {"std error", .rank = 1},
                                                {"prior", .rank = 2},
                                                {"moved", .rank = 3}};
    struct mfu_table table = MFU_TABLE(columns);

    for (int i = 0; i < c->fit.n_rows; i++) {
        const struct mfu_fit_row *r = &c->fit.rows[i];
        enum mfu_dim dim = mfu_coefficient_rows[r->id].dim;

        if (!r->kept)
            continue;
        mfu_table_cells(&table, "%s\t%s", mfu_coefficient_rows[r->id].name, Q(r->value, dim));
        mfu_table_cells(&table, r->sigma < 0.1 ? "%.2g %%" : "%.0f %%", 100 * r->sigma);
        mfu_table_cells(&table, "%s\t%s", Q(r->prior, dim), PERCENT(r->value / r->prior - 1, true));
    }
    mfu_table_print(out, t, &table);
}

static void left_alone(FILE *out, const struct mfu_term *t, const struct mfu_calibrated *c)
{
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    if (c->fit.n_rows == c->fit.n_kept)
        return;
    mfu_flow_words(&f, MFU_PLAIN, "Left at their priors, since the measurements do not carry them:");
    for (int i = 0; i < c->fit.n_rows; i++)
        if (!c->fit.rows[i].kept)
            mfu_flow_words(&f, MFU_PLAIN, "%s", mfu_coefficient_rows[c->fit.rows[i].id].name);
    mfu_flow_end(&f);
}

static void residual(struct mfu_table *table, const struct mfu_fit_residuals *r)
{
    mfu_table_cells(table, "%s\t%zu\t%s\t%s\t%s\t%s", r->name, r->n, PERCENT(r->before, false), PERCENT(r->mape, false),
                    PERCENT(r->median, false), PERCENT(r->bias, true));
}

static void residuals(FILE *out, const struct mfu_term *t, const struct mfu_calibrated *c)
{
    static const struct mfu_column columns[] = {{"errors", .left = true}, {"n", .rank = 1},      {"before", .rank = 0},
                                                {"after", .rank = 0},     {"median", .rank = 2}, {"bias", .rank = 3}};
    struct mfu_table table = MFU_TABLE(columns);

    for (int i = 0; i < c->fit.n_classes; i++)
        residual(&table, &c->fit.classes[i]);
    if (c->fit.n_classes > 1) {
        mfu_table_rule(&table);
        residual(&table, &c->fit.all);
    }
    mfu_table_below(out, t, &table);
}

/* What becomes of the calibration that there was. */
static void earlier(FILE *out, const struct mfu_term *t, const struct mfu_calibrated *c)
{
    const struct mfu_calibration_base *base = &c->file.base;
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    if (base->from[0])
        mfu_flow_words(&f, MFU_PLAIN,
                       "Started from the calibration of %s (%s, %.0f measurements): what these do not move "
                       "stays as that has it.",
                       base->date, base->from, base->samples);
    if (c->replaces[0])
        mfu_flow_words(&f, MFU_PLAIN,
                       "The calibration of %s is replaced (%s): give its files too, to keep what it knew.",
                       c->replaces_date, c->replaces);
    mfu_flow_end(&f);
}

/* Doubt of the priors that is worth a word, and the median error beyond which a
 * class stays unexplained (chosen). */
#define CONTRADICTED 1.3
#define UNEXPLAINED 0.25

/* What a reader should not believe without a second look. */
static void doubts(FILE *out, const struct mfu_term *t, const struct mfu_calibrated *c)
{
    const struct mfu_fit_row *loader = mfu_calibrated_loader(c);
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    if (loader)
        mfu_flow_words(
            &f, MFU_PLAIN,
            "These runs wait for their loader, %s a sequence; of the GPU nothing is learnt.  Every later plan "
            "of it waits for this loader, too: `set dataloader_ms 0` plans without it, `calibrate forget` "
            "takes it back.",
            Q(loader->value, MFU_SECONDS));
    if (c->fit.doubt > CONTRADICTED)
        mfu_flow_words(&f, MFU_PLAIN,
                       "These measurements contradict what was known of this GPU, by up to %.0f of its "
                       "standard errors; they were believed.  Was it limited, shared, or another one?",
                       MFU_FIT_SURE * c->fit.doubt);
    for (int i = 0; i < c->fit.n_classes; i++)
        if (c->fit.classes[i].median > UNEXPLAINED)
            mfu_flow_words(&f, MFU_PLAIN, "%s stays %.0f %% off: no coefficient explains these measurements.",
                           c->fit.classes[i].name, 100 * c->fit.classes[i].median);
    mfu_flow_end(&f);
}

void mfu_text_calibrated(FILE *out, const struct mfu_term *t, const struct mfu_calibrated *c)
{
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    mfu_flow_words(&f, MFU_PLAIN, "%s, from", c->gpu->name);
    if (c->n_samples > 0)
        mfu_flow_words(&f, MFU_PLAIN, "%zu samples%s", c->n_samples, c->n_runs > 0 ? " and" : "");
    if (c->n_runs > 0)
        mfu_flow_words(&f, MFU_PLAIN, "%zu run%s", c->n_runs, c->n_runs == 1 ? "" : "s");
    if (c->n_left_out > 0)
        mfu_flow_words(&f, MFU_PLAIN, "(%zu left out%s%s)", c->n_left_out, c->why[0] ? "; the last: " : "", c->why);
    mfu_flow_end(&f);
    earlier(out, t, c);
    fputc('\n', out);
    coefficients(out, t, c);
    left_alone(out, t, c);
    residuals(out, t, c);
    doubts(out, t, c);
    if (isfinite(c->fit.mape_held_out))
        mfu_paragraph(out, t, "", 0, MFU_PLAIN, "On measurements that the fit had not seen the mean error is %.1f %%.",
                      100 * c->fit.mape_held_out);
}

void mfu_text_calibrations(FILE *out, const struct mfu_term *t, const struct mfu_calibration *list, size_t n)
{
    static const struct mfu_column columns[] = {{"calibration", .left = true},
                                                {"gpu", .left = true, .rank = 1},
                                                {"from", .left = true, .rank = 2},
                                                {"date", .left = true, .rank = 1},
                                                {"in force", .left = true, .rank = 1},
                                                {"host", .left = true, .rank = 3},
                                                {"n", .rank = 3},
                                                {"error", .rank = 2},
                                                {"software", .left = true, .rank = 4}};
    struct mfu_table table = MFU_TABLE(columns);

    for (size_t i = 0; i < n; i++) {
        mfu_table_cells(&table, "%s\t%s\t%s\t%s\t%s\t%s\t%.0f\t%s\t%s", list[i].name, list[i].gpu, list[i].from,
                        list[i].date, list[i].in_force ? "yes" : "", list[i].key.host, list[i].samples,
                        PERCENT(isfinite(list[i].mape_held_out) ? list[i].mape_held_out : list[i].mape, false),
                        list[i].software);
    }
    mfu_table_print(out, t, &table);
}

/* Of the width, that is worth a line. */
#define LEAST_HELP 0.02

void mfu_text_narrow(FILE *out, const struct mfu_term *t, const struct mfu_narrow *a)
{
    static const struct mfu_column columns[] = {{"measure", .left = true}, {"GPU time", .rank = 2},
                                                {"alone ±", .rank = 1},    {"then from", .rank = 0},
                                                {"to", .rank = 0},         {"narrower by", .rank = 0}};
    struct mfu_table table = MFU_TABLE(columns);
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    mfu_flow_words(&f, MFU_PLAIN, "One optimizer step of %s, in 90 %% of what is possible %s to %s. Least known:",
                   Q(a->step_s, MFU_SECONDS), Q(a->low_s, MFU_SECONDS), Q(a->high_s, MFU_SECONDS));
    for (size_t i = 0; i < a->n_doubtful; i++)
        mfu_flow_words(&f, MFU_PLAIN, "%s (%s of the step, known to %s)%s",
                       mfu_coefficient_rows[a->doubtful[i].id].name, P(a->doubtful[i].share), P(a->doubtful[i].sigma),
                       i + 1 < a->n_doubtful ? "," : ".");
    mfu_flow_end(&f);
    for (size_t i = 0; i < a->n_options; i++) {
        const struct mfu_narrowing *n = &a->options[i];

        if (n->narrower >= LEAST_HELP)
            mfu_table_cells(&table, "%s\t%s\t%s\t%s\t%s\t%s", n->measure, Q(60 * n->minutes, MFU_SECONDS),
                            Q(n->alone_s, MFU_SECONDS), Q(n->low_s, MFU_SECONDS), Q(n->high_s, MFU_SECONDS),
                            PERCENT(n->narrower, false));
    }
    mfu_table_below(out, t, &table);
    fputc('\n', out);
    for (size_t i = 0; i < a->n_options; i++)
        if (a->options[i].narrower >= LEAST_HELP)
            mfu_paragraph(out, t, "", 0, MFU_PLAIN, "%s: %s", a->options[i].measure, a->options[i].with);
}
