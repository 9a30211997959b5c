/*
 * sweep.c - rows of a sweep or search, with a small curve of each column.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/text/text.h"
#include "scenario/setting.h"

/* More keys than this, and those that are the same in all rows leave the table. */
#define MOST_AXES 6

/* A value of an axis: a choice by its name, else a number. */
static void axis_value(const struct mfu_axis *a, double value, char *buf, size_t size)
{
    enum mfu_dim dim = a->key.kind == MFU_KEY_SETTING ? mfu_settings[a->key.id].dim
        : a->key.kind == MFU_KEY_COEFFICIENT          ? mfu_coefficient_rows[a->key.id].dim
                                                      : MFU_COUNT;
    char text[MFU_QUANTITY_MAX];
    const char *word = mfu_axis_word(text, a, value);

    snprintf(buf, size, "%s", word ? word : mfu_quantity_format(text, value, dim));
}

/* Axes that have a column of their own: where they are many, those that tell
 * rows apart, and the first two (micro-batch and accumulation, usually). */
static size_t axes_shown(const struct mfu_sweep *s, const struct mfu_sweep_result *r, size_t shown,
                         bool column[MFU_AXES])
{
    size_t n = 0;

    for (size_t a = 0; a < s->n_axes; a++) {
        column[a] = s->n_axes <= MOST_AXES || a < 2;
        for (size_t i = 1; !column[a] && i < shown; i++)
            column[a] = mfu_sweep_value(s, r->rows[i].combination, a) != mfu_sweep_value(s, r->rows[0].combination, a);
        column[a] = column[a] && n + s->n_columns < MFU_TABLE_COLUMNS;
        n += column[a];
    }
    return n;
}

static void tell_the_same(FILE *out, const struct mfu_term *t, const struct mfu_sweep *s,
                          const struct mfu_sweep_result *r, const bool column[MFU_AXES])
{
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);
    bool any = false;

    for (size_t a = 0; a < s->n_axes; a++)
        if (!column[a]) {
            char text[MFU_QUANTITY_MAX];

            axis_value(&s->axes[a], mfu_sweep_value(s, r->rows[0].combination, a), text, sizeof text);
            if (!any)
                mfu_flow_piece(&f, MFU_PLAIN, "the same in all rows:");
            any = true;
            mfu_flow_piece(&f, MFU_PLAIN, "%s %s", s->axes[a].name, text);
        }
    if (any)
        mfu_flow_end(&f);
}

/* What to type to have the first row, where the keys are many. */
static void tell_first(FILE *out, const struct mfu_term *t, const struct mfu_sweep *s, const struct mfu_sweep_result *r)
{
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);
    char text[MFU_QUANTITY_MAX];

    mfu_flow_words(&f, MFU_GOOD, "set");
    for (size_t a = 0; a < s->n_axes; a++) {
        double value = mfu_sweep_value(s, r->rows[0].combination, a);
        const char *word = mfu_axis_word(text, &s->axes[a], value);

        if (word)
            mfu_flow_words(&f, MFU_GOOD, "%s %s", s->axes[a].name, word);
        else
            mfu_flow_words(&f, MFU_GOOD, "%s %.15g", s->axes[a].name, value);
    }
    mfu_flow_words(&f, MFU_PLAIN, "gives the first row.");
    mfu_flow_end(&f);
}

static const char *column_value(const struct mfu_sweep *s, size_t c, double value, char buf[MFU_QUANTITY_MAX])
{
    if (strcmp(s->column_names[c], "fits") == 0)
        return isnan(value) ? "unknown" : value > 0 ? "yes" : "no";
    return mfu_quantity_format(buf, value, mfu_question_dim(s->columns[c]));
}

/* A column over the rows, eight heights, at most `cells` wide. */
static void sparkline(FILE *out, const struct mfu_term *t, const struct mfu_sweep_result *r, size_t c, int cells)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char ascii[] = "_.-=+*#@";
    double low = INFINITY, high = -INFINITY;
    size_t n = r->n_rows < (size_t)cells ? r->n_rows : (size_t)cells;

    for (size_t i = 0; i < r->n_rows; i++) {
        low = fmin(low, r->rows[i].columns[c]);
        high = fmax(high, r->rows[i].columns[c]);
    }
    for (size_t i = 0; i < n; i++) {
        double x = r->rows[i * r->n_rows / n].columns[c];
        int level = high > low && isfinite(x) ? (int)(7.999 * (x - low) / (high - low)) : 0;

        if (t->utf8)
            fputs(blocks[level], out);
        else
            fputc(ascii[level], out);
    }
}

/* How sure the rows are, and how they were found. */
static void tell_how(FILE *out, const struct mfu_term *t, const struct mfu_sweep *s, const struct mfu_sweep_result *r)
{
    char excluded[64] = "", refused[64] = "", tried[64] = "", dropped[64] = "", of[64] = "", left_out[192] = "";
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    if (r->excluded)
        snprintf(excluded, sizeof excluded, ", %zu of them excluded by `where`", r->excluded);
    if (r->refused)
        snprintf(refused, sizeof refused, ", %zu refused as contradictory", r->refused);
    if (r->tried)
        snprintf(tried, sizeof tried, ", %zu simulated", r->tried);
    if (r->dropped)
        snprintf(dropped, sizeof dropped, " (%zu fail the condition then)", r->dropped);
    if (r->no_room + r->outdone > 0) {
        snprintf(of, sizeof of, " of %zu", r->combinations);
        snprintf(left_out, sizeof left_out,
                 "; left out: %zu that need no less memory than others which do not fit, %zu that a bound of their "
                 "time puts behind the best",
                 r->no_room, r->outdone);
    }
    mfu_flow_words(&f, MFU_PLAIN, "%zu%s configurations planned%s%s%s%s%s%s", r->evaluated, of, excluded, refused,
                   tried, dropped, left_out, r->complete ? "" : "; stopped early: the best so far");
    if (r->analytic) {
        mfu_flow_break(&f);
        mfu_flow_words(&f, MFU_PLAIN,
                       "Analytic rows: launch queue and allocator are not followed as in `plan`; what fits "
                       "here may not fit there.");
    }
    if (r->exhausted) {
        mfu_flow_break(&f);
        mfu_flow_words(&f, MFU_PLAIN,
                       "All %s that were kept have been simulated: there may be others, which a narrower "
                       "search would find.",
                       s->pareto ? "near the front" : "of the best");
    }
    mfu_flow_end(&f);
}

void mfu_text_sweep(FILE *out, const struct mfu_term *t, const struct mfu_sweep *s, const struct mfu_sweep_result *r,
                    size_t most)
{
    struct mfu_column columns[MFU_TABLE_COLUMNS];
    struct mfu_table table = {.columns = columns};
    size_t shown = r->n_rows < most ? r->n_rows : most, axes;
    bool column[MFU_AXES] = {false};

    axes = axes_shown(s, r, shown, column);
    for (size_t a = 0; a < s->n_axes; a++)
        if (column[a])
            columns[table.n_columns++] = (struct mfu_column){.title = s->axes[a].name};
    for (size_t c = 0; c < s->n_columns && table.n_columns < MFU_TABLE_COLUMNS; c++)
        columns[table.n_columns++] = (struct mfu_column){.title = s->column_names[c], .rank = s->pareto ? 0 : (int)c};
    for (size_t i = 0; i < shown; i++) {
        char text[MFU_QUANTITY_MAX];

        for (size_t a = 0; a < s->n_axes; a++)
            if (column[a]) {
                axis_value(&s->axes[a], mfu_sweep_value(s, r->rows[i].combination, a), text, sizeof text);
                mfu_table_cells(&table, "%s", text);
            }
        for (size_t c = 0; c < s->n_columns && axes + c < MFU_TABLE_COLUMNS; c++)
            mfu_table_cells(&table, "%s", column_value(s, c, r->rows[i].columns[c], text));
    }
    mfu_table_print(out, t, &table);
    if (shown)
        tell_the_same(out, t, s, r, column);
    for (size_t c = 0; !s->keep && !s->pareto && r->n_rows >= 4 && c < s->n_columns; c++) {
        fprintf(out, "%-22s ", s->column_names[c]);
        sparkline(out, t, r, c, mfu_text_columns(t) - 24);
        fputc('\n', out);
    }
    if (shown < r->n_rows)
        fprintf(out, "%zu more rows; --json or `top N` shows them\n", r->n_rows - shown);
    tell_how(out, t, s, r);
    if (s->keep && s->n_axes > MOST_AXES && shown)
        tell_first(out, t, s, r);
}
