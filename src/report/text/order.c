/*
 * order.c - the order of diagnosis: a question, its meter, what that reads, what it costs.
 */
#include "answer/why/order.h"
#include "base/short.h"
#include "report/report.h"
#include "report/text/text.h"

void mfu_text_order(FILE *out, const struct mfu_term *t, const struct mfu_diagnosis *o)
{
    const struct mfu_column columns[] = {{"", .rank = 1},
                                         {"", .left = true, .rank = 0},
                                         {"asks", .left = true, .rank = 2},
                                         {"meter", .left = true, .rank = 0},
                                         {"reads", .rank = 0},
                                         {"fine", .rank = 1},
                                         {"lost", .rank = 0},
                                         {"", .left = true, .rank = 0}};
    struct mfu_table table = MFU_TABLE(columns);
    const struct mfu_diagnosis_step *worst = NULL;

    mfu_paragraph(out, t, "", 0, MFU_PLAIN,
                  "What to ask of a slow run, from the outside in, and what the meters will read for this scenario. "
                  "A question counts once those above it are answered.");
    fputc('\n', out);
    for (int i = 0; i < MFU_DIAGNOSIS_STEPS; i++) {
        const struct mfu_diagnosis_step *s = &o->steps[i];

        worst = s->worst ? s : worst;
        mfu_table_cells(&table, "%d\t%s\t%s\t%s", i + 1, s->name, s->asks, s->meter);
        mfu_table_cells(&table, "%s\t%s %s\t%s\t%s", s->dim == MFU_RATIO ? P(s->reads) : Q(s->reads, s->dim),
                        s->at_least ? ">=" : "<=", Q(s->fine, s->dim), P(s->lost_s / o->step_s),
                        s->worst         ? "<- most"
                            : s->is_fine ? ""
                                         : "here, too");
    }
    mfu_table_rule(&table);
    mfu_table_cells(&table, "\tmodel FLOP\t\tat the peak\t\t\t%s\t", P(o->counted_s / o->step_s));
    mfu_table_print(out, t, &table);
    if (worst)
        mfu_paragraph(out, t, "", 0, MFU_PLAIN, "\nMost of it, %s of a step of %s: %s. `%s` looks closer.",
                      Q(worst->lost_s, MFU_SECONDS), Q(o->step_s, MFU_SECONDS), worst->most, worst->see);
}
