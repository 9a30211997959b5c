/*
 * advise.c - the levers, best first, and the best of them together.
 */
#include <math.h>

#include "answer/advise/advise.h"
#include "report/report.h"
#include "report/text/text.h"
#include "base/short.h"

/* Levers that are explained below the table. */
#define EXPLAINED 5

static const char *gain(char buf[32], const struct mfu_term *t, double speedup)
{
    snprintf(buf, 32, "%s %.2f", mfu_text_times(t), speedup);
    return buf;
}

static void headline(FILE *out, const struct mfu_term *t, const struct mfu_advice *a)
{
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    mfu_flow_words(&f, MFU_STRONG, "Now: %s per step of %s tokens, MFU %s, %s of memory%s.",
                   Q(a->base.step_s, MFU_SECONDS), Q(a->base.tokens, MFU_TOKENS), P(a->base.mfu),
                   Q(a->base.memory_bytes, MFU_BYTES), a->base.fits ? "" : ", which does not fit");
    if (*a->loop)
        mfu_flow_words(&f, MFU_WARN, "Mind: %s.", a->loop);
    mfu_flow_words(&f, MFU_PLAIN, "Every change below was planned and simulated; speed is per token.");
    mfu_flow_end(&f);
}

/* Full with cached blocks, it fits as `plan` says it does. */
static const char *fits(const struct mfu_outcome *o)
{
    return o->unsure  ? "whether it fits is unknown"
        : !o->fits    ? "does not fit"
        : o->fill > 1 ? "fits when cached memory is given back"
                      : "fits";
}

/* "other numerics" and the like; of what does not fit that is enough, and names have the room. */
static void notes(const struct mfu_lever *l, char *text, size_t size)
{
    const char *first = l->outcome.fits && l->outcome.fill <= 1 ? ""
        : l->outcome.fits                                       ? "without cache"
                                                                : "does not fit";
    bool numerics = l->changes_mathematics && l->outcome.fits;

    snprintf(text, size, "%s%s%s%s%s", first, *first && !l->keeps_tokens_per_step ? ", " : "",
             l->keeps_tokens_per_step ? "" : "more tokens/step",
             numerics && (*first || !l->keeps_tokens_per_step) ? ", " : "", numerics ? "other numerics" : "");
}

static void add_rows(struct mfu_table *tab, const struct mfu_term *t, const struct mfu_advice *a, bool hardware)
{
    for (int i = 0; i < a->n_levers; i++) {
        const struct mfu_lever *l = &a->levers[i];
        char buf[32], note[64];

        if (l->verdict == MFU_LEVER_USELESS || l->aside || l->hardware != hardware)
            continue;
        notes(l, note, sizeof note);
        mfu_table_cells(tab, "%s\t%s\t%s\t%s\t%s\t%s", l->change, gain(buf, t, l->speedup),
                        Q(l->outcome.step_s, MFU_SECONDS), P(l->outcome.mfu), Q(l->outcome.memory_bytes, MFU_BYTES),
                        note);
    }
}

/* What can be changed here, then what would have to be bought. */
static void table(FILE *out, const struct mfu_term *t, const struct mfu_advice *a)
{
    static const struct mfu_column columns[] = {{"change", .left = true}, {"speed", .rank = 0},
                                                {"step", .rank = 3},      {"MFU", .rank = 2},
                                                {"memory", .rank = 0},    {"", .left = true, .rank = 1}};
    struct mfu_table tab = MFU_TABLE(columns);
    int own;

    add_rows(&tab, t, a, false);
    own = tab.n_rows;
    add_rows(&tab, t, a, true);
    if (own > 0 && own < tab.n_rows)
        tab.rows[own].rule = true;
    if (tab.n_rows == 0)
        fputs("No lever gains 0.5 % here, or saves memory at little cost.\n", out);
    mfu_table_print(out, t, &tab);
}

static void explain(FILE *out, const struct mfu_term *t, const struct mfu_advice *a)
{
    int shown = 0;

    for (int i = 0; i < a->n_levers && shown < EXPLAINED; i++) {
        const struct mfu_lever *l = &a->levers[i];
        struct mfu_flow f;

        if (l->verdict == MFU_LEVER_USELESS || l->aside || (l->hardware && l->row))
            continue;
        if (shown++ == 0)
            fputc('\n', out);
        f = mfu_flow_start(out, t, "", 4);
        mfu_flow_words(&f, MFU_STRONG, "%s:", l->change);
        mfu_flow_words(&f, MFU_PLAIN, "%s.", l->why);
        if (l->row && l->row->risk[0])
            mfu_flow_words(&f, MFU_FAINT, "Mind: %s.", l->row->risk);
        mfu_flow_end(&f);
    }
}

static void together(FILE *out, const struct mfu_term *t, const struct mfu_advice *a, const struct mfu_combination *c,
                     const char *what)
{
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    if (c->n == 0) {
        mfu_flow_words(&f, MFU_STRONG, "%s:", what);
        mfu_flow_words(&f, MFU_PLAIN, "as it is; no combination is better.");
        mfu_flow_end(&f);
        return;
    }
    mfu_flow_words(&f, MFU_STRONG, "%s:", what);
    for (int i = 0; i < c->n; i++)
        mfu_flow_words(&f, MFU_GOOD, "%s%s", a->levers[c->levers[i]].change, i + 1 < c->n ? "," : ".");
    mfu_flow_words(&f, MFU_PLAIN, "%.2f times as fast, %s per step, MFU %s, %s of memory, %s: %s.", c->speedup,
                   Q(c->outcome.step_s, MFU_SECONDS), P(c->outcome.mfu), Q(c->outcome.memory_bytes, MFU_BYTES),
                   fits(&c->outcome), c->why);
    mfu_flow_end(&f);
}

static bool same(const struct mfu_combination *a, const struct mfu_combination *b)
{
    bool equal = a->n == b->n;

    for (int i = 0; equal && i < a->n; i++)
        equal = a->levers[i] == b->levers[i];
    return equal;
}

/* What was tried and is not worth it, and what cannot be. */
static void rest(FILE *out, const struct mfu_term *t, const struct mfu_advice *a)
{
    struct mfu_flow f;
    bool any = false;
    char last[96] = "";

    for (int i = 0; i < a->n_levers; i++) {
        const struct mfu_lever *l = &a->levers[i];

        if (l->verdict != MFU_LEVER_USELESS || l->aside)
            continue;
        if (!any) {
            fputc('\n', out);
            f = mfu_flow_start(out, t, "", 4);
            mfu_flow_words(&f, MFU_STRONG, "Not worth it here:");
        }
        if (any)
            mfu_flow_words(&f, MFU_PLAIN, "%s;", last);
        snprintf(last, sizeof last, "%s (%s%.2f%s)", l->change, mfu_text_times(t), l->speedup,
                 l->outcome.fits ? "" : ", does not fit");
        any = true;
    }
    if (any) {
        mfu_flow_words(&f, MFU_PLAIN, "%s.", last);
        mfu_flow_end(&f);
    }
    if (a->n_refused > 0) {
        f = mfu_flow_start(out, t, "", 4);
        mfu_flow_words(&f, MFU_STRONG, "Not possible:");
        for (int i = 0; i < a->n_refused && i < 6; i++)
            mfu_flow_words(&f, MFU_FAINT, "%s (%s)%s", a->refused[i].change, a->refused[i].reason,
                           i + 1 < a->n_refused ? ";" : ".");
        if (a->n_refused > 6)
            mfu_flow_words(&f, MFU_FAINT, "and %d more.", a->n_refused - 6);
        mfu_flow_end(&f);
    }
}

void mfu_text_advice(FILE *out, const struct mfu_term *t, const struct mfu_advice *a)
{
    headline(out, t, a);
    fputc('\n', out);
    table(out, t, a);
    explain(out, t, a);
    if (a->n_levers > 0 && a->levers[0].row) {
        fputc('\n', out);
        together(out, t, a, &a->best, "Best together");
        if (!same(&a->best, &a->best_any))
            together(out, t, a, &a->best_any, "With other numerics, too");
        if (a->highest.outcome.fits && !same(&a->highest, &a->best) && !same(&a->highest, &a->best_any))
            together(out, t, a, &a->highest,
                     a->highest.keeps_tokens_per_step ? "Highest MFU" : "Highest MFU, other tokens per step");
    }
    rest(out, t, a);
}
