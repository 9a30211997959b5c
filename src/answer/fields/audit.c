/*
 * audit.c - fields of a claim taken apart.
 */
#include <math.h>

#include "answer/audit/audit.h"
#include "answer/fields/fields.h"

static const char *const states[] = {"before", "after", "change"};

/* An element of one of the audits, with the number of its row. */
struct element {
    size_t row;
    const void *of;
};

static const char *whether(double holds)
{
    return isnan(holds) ? "gives" : holds < 0 ? "open" : holds > 0 ? "holds" : "contradicts";
}

/* The members of all audits, in order. */
#define MAKE_ALL(name, member, count)                                                                                  \
    static void name(const struct mfu_audits *a, struct mfu_value *v)                                                  \
    {                                                                                                                  \
        size_t n = 0;                                                                                                  \
        struct element *all;                                                                                           \
                                                                                                                       \
        for (size_t i = 0; i < a->n; i++)                                                                              \
            n += (size_t)a->list[i].count;                                                                             \
        if (!(all = mfu_value_own(v, n, sizeof *all)))                                                                 \
            return;                                                                                                    \
        n = 0;                                                                                                         \
        for (size_t i = 0; i < a->n; i++)                                                                              \
            for (int k = 0; k < a->list[i].count; k++)                                                                 \
                all[n++] = (struct element){i + 1, &a->list[i].member[k]};                                             \
    }
MAKE_ALL(make_claims, claims, n_claims)
MAKE_ALL(make_identities, findings, n_findings)
MAKE_ALL(make_contradictions, contradictions, n_contradictions)

#define C(e) ((const struct mfu_claim *)(e)->of)
#define I(e) ((const struct mfu_audit_finding *)(e)->of)
#define X_(e) ((const struct mfu_contradiction *)(e)->of)
static double finite_or(double x)
{
    return isfinite(x) ? x : (double)NAN;
}

// clang-format off
#define CLAIM(X) \
    X(NUMBER, row,         MFU_COUNT, (double)e->row,                    "of a table, from 1; of a single claim 1") \
    X(TEXT,   text,        0,         C(e)->text,                        "the words that say it") \
    X(TEXT,   quantity,    0,         mfu_quantity_rows[C(e)->kind].name, "what it is, as identities call it") \
    X(TEXT,   state,       0,         states[C(e)->state],               "before, after, or change: after over before") \
    X(TEXT,   from,        0,         C(e)->from,                        "stated, catalog, or assumed since nothing else is said") \
    X(NUMBER, value,       MFU_COUNT, C(e)->value,                       "in base units; null: an interval only") \
    X(NUMBER, low,         MFU_COUNT, C(e)->in.low,                      "of what the printed figure may stand for") \
    X(NUMBER, high,        MFU_COUNT, finite_or(C(e)->in.high),          "null: no end") \
    X(NUMBER, others_low,  MFU_COUNT, finite_or(C(e)->others.low),       "of what the other claims leave; null: they contradict") \
    X(NUMBER, others_high, MFU_COUNT, finite_or(C(e)->others.high),      "null: no end") \
    X(FLAG,   contradicts, 0,         C(e)->contradicts,                 "whether it is part of a contradiction")
MFU_PART_RECORD(audit_claim, const struct element *e, CLAIM)

#define IDENTITY(X) \
    X(NUMBER, row,   MFU_COUNT, (double)e->row,          "of a table, from 1") \
    X(TEXT,   text,  0,         I(e)->row->text,         "a mark ' is after over before") \
    X(TEXT,   says,  0,         I(e)->row->says,         "why") \
    X(TEXT,   state, 0,         states[I(e)->state],     "of which figures: before, after, change") \
    X(TEXT,   result, 0,        whether(I(e)->holds),    "holds, contradicts, gives a figure that is not stated, or open") \
    X(MAYBE_FLAG, holds, 0,     I(e)->holds < 0 ? (double)NAN : I(e)->holds, "missing: it gives a figure, or nothing") \
    X(TEXT,   needs, 0,         I(e)->needs,             "what it gives, or what would have to be true")
MFU_PART_RECORD(audit_identity, const struct element *e, IDENTITY)

#define CONTRADICTION(X) \
    X(NUMBER, row,   MFU_COUNT, (double)e->row, "of a table, from 1") \
    X(TEXT,   text,  0,         X_(e)->text,    "claims that cannot all be true") \
    X(WORDS,  needs, 0,         X_(e)->needs,   "what would have to be true instead, one by one")
MFU_PART_RECORD(audit_contradiction, const struct element *e, CONTRADICTION)

#define ROW(X) \
    X(TEXT,  text,    0, r->text,    "as it was given, or made of a table") \
    X(WORDS, unread,  0, r->unread,  "words and numbers that were not understood") \
    X(WORDS, missing, 0, r->missing, "where it is open: quantities that are not told") \
    X(TEXT,  verdict, 0, r->verdict, "holds, contradicts, or open: nothing in it binds anything else")
MFU_PART_RECORD(audit_row, const struct mfu_audit *r, ROW)

#define AUDIT(X) \
    X(LIST,      rows,           &audit_row, (a->list, a->n),                       "the claim, or the rows of a table") \
    X(MADE_LIST, claims,         &audit_claim, make_claims(a, v),                   "figures that are stated, known or assumed") \
    X(MADE_LIST, identities,     &audit_identity, make_identities(a, v),            "what binds them") \
    X(MADE_LIST, contradictions, &audit_contradiction, make_contradictions(a, v),   "sets of which no claim can be left out") \
    X(TEXT,      verdict,        0, a->verdict,                                     "contradicts where a row does, open where one is, else holds")
MFU_FIELDS(audit, const struct mfu_audits *a, AUDIT)
const struct mfu_record mfu_record_audit = MFU_RECORD(audit, .command = "audit", .rows = "claims");
// clang-format on
