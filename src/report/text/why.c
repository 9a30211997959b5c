/*
 * why.c - an explanation: the parts of the whole, then what they mean.
 */
#include <math.h>

#include "answer/why/why.h"
#include "base/translation.h"
#include "report/report.h"
#include "report/text/text.h"
#include "base/short.h"

/* Parts below this share of the whole are left out. */
#define SHOWN 0.0005

static void parts(FILE *out, const struct mfu_term *t, const struct mfu_why *w)
{
    const struct mfu_column columns[] = {{mfu_translate("part"), .left = true},
                                         {mfu_translate("share"), .rank = 0},
                                         {"", .rank = 1},
                                         {"", .bar = true, .rank = 5},
                                         {mfu_translate("what it is"), .left = true, .rank = 3, .wraps = true},
                                         {mfu_translate("see"), .left = true, .rank = 2}};
    struct mfu_table table = MFU_TABLE(columns);
    double sum = 0, amount = 0;

    for (int i = 0; i < w->n_parts; i++) {
        const struct mfu_why_part *p = &w->parts[i];

        sum += p->leaf ? 0 : p->fraction;
        amount += p->leaf ? 0 : p->amount;
        if (fabs(p->fraction) < SHOWN && i > 0)
            continue;
        mfu_table_cells(&table, "%s%s\t%s\t%s%s\t%g\t%s\t%s", p->leaf ? "  " : "", mfu_translate(p->name),
                        P(p->fraction), p->amount < 0 ? "-" : "", Q(fabs(p->amount), w->dim),
                        p->leaf ? 0. : fmax(0, p->fraction), mfu_translate(p->says), p->command);
    }
    mfu_table_rule(&table);
    mfu_table_cells(&table, "%s\t%s\t%s\t0\t\t", mfu_translate(w->whole), P(sum), Q(amount, w->dim));
    mfu_table_print(out, t, &table);
}

static void rows(FILE *out, const struct mfu_term *t, const struct mfu_why *w)
{
    const struct mfu_column columns[] = {{mfu_translate("batch"), .rank = 0},
                                         {"accum", .rank = 2},
                                         {mfu_translate("step"), .rank = 3},
                                         {"tokens/s", .rank = 1},
                                         {"MFU", .rank = 0},
                                         {"", .bar = true, .rank = 5},
                                         {mfu_translate("memory"), .rank = 0},
                                         {"", .left = true, .rank = 0}};
    struct mfu_table table = MFU_TABLE(columns);

    for (int i = 0; i < w->n_rows; i++) {
        const struct mfu_why_row *r = &w->rows[i];

        mfu_table_cells(&table, "%s\t%s\t%s\t%s\t%s\t%g\t%s\t%s%s", Q(r->batch, MFU_COUNT), Q(r->accum, MFU_COUNT),
                        Q(r->step_s, MFU_SECONDS), Q(r->tokens_per_s, MFU_COUNT), P(r->mfu), r->mfu,
                        Q(r->memory_bytes, MFU_BYTES),
                        mfu_translate(r->unsure     ? "unknown"
                                          : r->fits ? "fits"
                                                    : "does not fit"),
                        r->now ? mfu_translate(", now") : "");
    }
    mfu_table_print(out, t, &table);
    fputc('\n', out);
}

void mfu_text_why(FILE *out, const struct mfu_term *t, const struct mfu_why *w)
{
    if (w->n_lines > 0)
        mfu_paragraph(out, t, "", 0, MFU_STRONG, "%s", w->lines[0]);
    fputc('\n', out);
    if (w->n_rows > 0)
        rows(out, t, w);
    parts(out, t, w);
    for (int i = 1; i < w->n_lines; i++) {
        if (i == 1)
            fputc('\n', out);
        mfu_paragraph(out, t, "", 0, MFU_PLAIN, "%s", w->lines[i]);
    }
    if (w->n_symptoms > 0)
        fputc('\n', out);
    for (int i = 0; i < w->n_symptoms; i++) {
        struct mfu_flow f = mfu_flow_start(out, t, "", 4);

        mfu_flow_words(&f, MFU_WARN, "%s:", w->symptoms[i].code);
        mfu_flow_words(&f, MFU_PLAIN, "%s", w->symptoms[i].text);
        mfu_flow_end(&f);
    }
}
