/*
 * audit.c - a claim: the verdict, what contradicts, what binds what.
 */
#include <math.h>
#include <string.h>

#include "answer/audit/audit.h"
#include "base/short.h"
#include "report/report.h"
#include "report/text/text.h"

static const char *mark(double holds)
{
    return isnan(holds) ? "gives" : holds < 0 ? "open" : holds > 0 ? "holds" : "contradicts";
}

static const char *of_state(enum mfu_claim_state state, bool changes)
{
    static const char *const words[] = {"before", "after", "change"};

    return changes ? words[state] : "";
}

static void claims(FILE *out, const struct mfu_term *t, const struct mfu_audit *a, bool changes)
{
    const struct mfu_column columns[] = {{"claim", .left = true, .rank = 2}, {"is", .left = true, .rank = 0},
                                         {"", .left = true, .rank = 1},      {"value", .rank = 0},
                                         {"others say", .rank = 1},          {"", .left = true, .rank = 3}};
    struct mfu_table table = MFU_TABLE(columns);

    for (int i = 0; i < a->n_claims; i++) {
        const struct mfu_claim *c = &a->claims[i];
        char range[MFU_INTERVAL_TEXT], others[MFU_INTERVAL_TEXT] = "";
        bool stated = strcmp(c->from, "stated") == 0;

        if (!stated && !c->matters)
            continue;
        if (isfinite(c->others.low) && mfu_interval_within(c->others, 3))
            mfu_interval_format(others, c->others, c->kind, c->state);
        mfu_table_cells(&table, "%s\t%s\t%s", stated ? c->text : "", mfu_quantity_rows[c->kind].name,
                        of_state(c->state, changes));
        if (stated && isfinite(c->value) && c->state != MFU_CHANGE)
            mfu_table_cells(&table, "%s", Q(c->value, mfu_quantity_rows[c->kind].dim));
        else
            mfu_table_cells(&table, "%s", mfu_interval_format(range, c->in, c->kind, c->state));
        mfu_table_cells(&table, "%s\t%s", others, stated ? "" : c->from);
    }
    mfu_table_print(out, t, &table);
}

static void identities(FILE *out, const struct mfu_term *t, const struct mfu_audit *a, bool changes)
{
    const struct mfu_column columns[] = {{"identity", .left = true, .rank = 0},
                                         {"", .left = true, .rank = 1},
                                         {"", .left = true, .rank = 0},
                                         {"", .left = true, .rank = 2}};
    struct mfu_table table = MFU_TABLE(columns);

    for (int i = 0; i < a->n_findings; i++) {
        const struct mfu_audit_finding *f = &a->findings[i];

        mfu_table_cells(&table, "%s\t%s\t%s\t%s", f->row->text, of_state(f->state, changes), mark(f->holds),
                        f->holds == 0 ? "" : f->needs);
    }
    mfu_table_print(out, t, &table);
}

static void one(FILE *out, const struct mfu_term *t, const struct mfu_audit *a)
{
    bool changes = false;

    for (int i = 0; i < a->n_claims; i++)
        changes |= a->claims[i].state != MFU_BEFORE;
    for (int i = 0; i < a->n_contradictions; i++) {
        mfu_paragraph(out, t, "", 2, MFU_BAD, "Cannot all be true: %s.", a->contradictions[i].text);
        for (const char *p = a->contradictions[i].needs; *p;) {
            size_t n = strcspn(p, ";");

            mfu_paragraph(out, t, "", 6, MFU_PLAIN, "  %s%.*s", p == a->contradictions[i].needs ? "" : "or ", (int)n,
                          p);
            p += n + (p[n] ? 2 : 0);
        }
    }
    if (strcmp(a->verdict, "open") == 0 && a->unread_figure[0])
        mfu_paragraph(out, t, "", 2, MFU_WARN, "Unknown: not every figure is understood: %s.", a->unread_figure);
    else if (strcmp(a->verdict, "open") == 0)
        mfu_paragraph(out, t, "", 2, MFU_WARN,
                      a->missing[0] ? "Unknown: nothing else in it binds %s; %s: not told."
                                    : "Unknown: nothing else in it binds %s.",
                      a->loose[0] ? a->loose : "a figure", a->missing);
    if (strcmp(a->verdict, "open") == 0 && mfu_audit_claims(a, MFU_Q_FILL, MFU_BEFORE))
        mfu_paragraph(out, t, "", 2, MFU_PLAIN,
                      "What a run needs is predicted, not told by these figures: set it and `check fits`.");
    if (strcmp(a->verdict, "holds") == 0)
        mfu_paragraph(out, t, "", 2, MFU_GOOD, "Holds: the figures go together.");
    fputc('\n', out);
    claims(out, t, a, changes);
    if (a->n_findings > 0)
        fputc('\n', out);
    identities(out, t, a, changes);
    if (a->unread[0])
        mfu_paragraph(out, t, "", 2, MFU_FAINT, "Not understood: %s.", a->unread);
}

void mfu_text_audits(FILE *out, const struct mfu_term *t, const struct mfu_audits *all)
{
    for (size_t i = 0; i < all->n; i++) {
        if (all->n > 1)
            mfu_paragraph(out, t, "", 2, MFU_STRONG, "%s%zu. %s", i > 0 ? "\n" : "", i + 1, all->list[i].text);
        one(out, t, &all->list[i]);
    }
}
