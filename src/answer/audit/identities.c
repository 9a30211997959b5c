/*
 * identities.c - interval arithmetic over sums of products, solved for every quantity
 * in turn (the HC4 contraction: Benhamou et al., Revising hull and box consistency,
 * ICLP 1999).
 */
#include "answer/audit/identities.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDING 1e-9 /* relative: of doubles, much less than any printed figure */
#define NOTICED 1e-4  /* relative: what is worth another pass */
#define PASSES 60     /* far more than any chain of identities is long */

/* ---- reading the table ----------------------------------------------------- */

static const char *skip(const char *p)
{
    return p + strspn(p, " ");
}

static int kind_of(const char *name, size_t n)
{
    for (int k = 0; k < MFU_Q_COUNT; k++)
        if (strlen(mfu_quantity_rows[k].name) == n && strncmp(mfu_quantity_rows[k].name, name, n) == 0)
            return k;
    abort(); /* the table names what it has not: seen by the first audit of any test */
}

static const char *read_term(const char *p, struct mfu_term_of *t)
{
    int power = 1;

    *t = (struct mfu_term_of){.factor = 1};
    for (p = skip(p);; p = skip(p + 1)) {
        if (isdigit((unsigned char)*p)) {
            char *end;
            double number = strtod(p, &end);

            t->factor *= power > 0 ? number : 1 / number;
            p = end;
        } else {
            size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz_");

            t->of[t->n].kind = kind_of(p, n);
            t->of[t->n].power = power;
            p += n;
            if ((t->of[t->n].change = *p == '\''))
                p++;
            if (*p == '^') {
                t->of[t->n].power *= p[1] - '0';
                p += 2;
            }
            t->n++;
        }
        p = skip(p);
        if (*p != '*' && *p != '/')
            return p;
        power = *p == '/' ? -1 : 1;
    }
}

static void read_identity(const struct mfu_identity_row *row, struct mfu_identity *i)
{
    const char *p = read_term(row->text, &i->term[0]);

    i->row = row;
    i->relation = *p;
    i->n_terms = 1;
    p += strcspn(p, " ");
    do
        p = read_term(p + 1, &i->term[i->n_terms++]);
    while (*p == '+');
}

static bool any_change(const struct mfu_identity *i)
{
    for (int t = 0; t < i->n_terms; t++)
        for (int f = 0; f < i->term[t].n; f++)
            if (i->term[t].of[f].change)
                return true;
    return false;
}

int mfu_identities(struct mfu_identity *list, bool two_states)
{
    int n = 0;

    for (size_t r = 0; r < mfu_identity_row_count && n + MFU_CLAIM_STATES <= MFU_IDENTITIES; r++) {
        struct mfu_identity i = {0};
        bool product;

        read_identity(&mfu_identity_rows[r], &i);
        if (any_change(&i) && !two_states)
            continue;
        i.state = any_change(&i) ? MFU_AFTER : MFU_BEFORE;
        list[n++] = i;
        if (any_change(&i) || !two_states)
            continue;
        product = i.relation == '=' && i.n_terms == 2 && i.term[0].n > 0;
        i.state = MFU_AFTER;
        list[n++] = i;
        i.state = MFU_CHANGE;
        i.term[0].factor = i.term[1].factor = 1;
        if (product)
            list[n++] = i;
    }
    return n;
}

bool mfu_identity_has(const struct mfu_identity *i, int kind, enum mfu_claim_state *state)
{
    for (int t = 0; t < i->n_terms; t++)
        for (int f = 0; f < i->term[t].n; f++)
            if (i->term[t].of[f].kind == kind) {
                *state = i->term[t].of[f].change ? MFU_CHANGE : i->state;
                return true;
            }
    return false;
}

/* ---- intervals --------------------------------------------------------------- */

static struct mfu_interval start_of(int kind, enum mfu_claim_state state)
{
    return state == MFU_CHANGE ? (struct mfu_interval){0, INFINITY}
                               : (struct mfu_interval){mfu_quantity_rows[kind].least, mfu_quantity_rows[kind].most};
}

void mfu_box_start(struct mfu_box *b)
{
    for (int k = 0; k < MFU_Q_COUNT; k++)
        for (enum mfu_claim_state state = 0; state < MFU_CLAIM_STATES; state++)
            b->of[k][state] = start_of(k, state);
}

bool mfu_interval_within(struct mfu_interval i, double factor)
{
    return i.high <= factor * i.low || (i.low == 0 && i.high == 0);
}

/* 0 * infinity is anything, of which 0 is the lower end and infinity the upper. */
static double times(double a, double b, double otherwise)
{
    double x = a * b;

    return isnan(x) ? otherwise : x;
}

static struct mfu_interval power(struct mfu_interval x, double e)
{
    double a, b;

    if (e == 1)
        return x;
    a = e == -1 ? 1 / x.low : pow(x.low, e);
    b = e == -1 ? 1 / x.high : pow(x.high, e);
    return e < 0 ? (struct mfu_interval){b, a} : (struct mfu_interval){a, b};
}

static struct mfu_interval *place(const struct mfu_identity *i, struct mfu_box *b, int t, int f)
{
    return &b->of[i->term[t].of[f].kind][i->term[t].of[f].change ? MFU_CHANGE : i->state];
}

/* The product of a term's factors but for one (-1: of all). */
static struct mfu_interval product(const struct mfu_identity *i, struct mfu_box *b, int t, int without)
{
    struct mfu_interval p = {i->term[t].factor, i->term[t].factor};

    for (int f = 0; f < i->term[t].n; f++)
        if (f != without) {
            struct mfu_interval x = power(*place(i, b, t, f), i->term[t].of[f].power);

            p.low = times(p.low, x.low, 0);
            p.high = times(p.high, x.high, INFINITY);
        }
    return p;
}

/* What a term may be, as far as the others say. */
static struct mfu_interval allowed(const struct mfu_identity *i, struct mfu_box *b, int t)
{
    struct mfu_interval left = product(i, b, 0, -1), rest = {0, 0};

    if (i->relation == '<')
        left.high = t > 0 ? INFINITY : left.high;
    else if (i->relation == '>')
        left.low = t > 0 ? 0 : left.low;
    for (int k = 1; k < i->n_terms; k++)
        if (k != t) {
            struct mfu_interval x = product(i, b, k, -1);

            rest.low += x.low;
            rest.high += x.high;
        }
    if (t == 0)
        return (struct mfu_interval){i->relation == '<' ? 0 : rest.low, i->relation == '>' ? INFINITY : rest.high};
    return (struct mfu_interval){isinf(rest.high) ? 0 : fmax(0, left.low - rest.high), left.high - rest.low};
}

/* Keeps of `x` what `y` allows, too; `more` where that is noticeably less. */
static bool meet(struct mfu_interval *x, struct mfu_interval y, bool *more)
{
    if (!(y.high >= 0) || x->low > y.high * (1 + ROUNDING) || y.low > x->high * (1 + ROUNDING))
        return false;
    *more |= y.low > x->low * (1 + NOTICED) + 1e-30 || y.high < x->high * (1 - NOTICED);
    x->low = fmin(fmax(x->low, y.low), x->high);
    x->high = fmax(fmin(x->high, y.high), x->low);
    return true;
}

static bool revise(const struct mfu_identity *i, struct mfu_box *b, bool *more)
{
    for (int t = 0; t < i->n_terms; t++)
        for (int f = 0; f < i->term[t].n; f++) {
            struct mfu_interval all = allowed(i, b, t), others = product(i, b, t, f), x;

            if (!(all.high >= 0))
                return false;
            x.low = others.high > 0 ? times(all.low, 1 / others.high, 0) : 0;
            x.high = others.low > 0 ? times(all.high, 1 / others.low, INFINITY) : INFINITY;
            if (!meet(place(i, b, t, f), power(x, 1. / i->term[t].of[f].power), more))
                return false;
        }
    return true;
}

/* after = before * change */
static bool bind_states(struct mfu_interval of[MFU_CLAIM_STATES], bool *more)
{
    struct mfu_interval a = of[MFU_BEFORE], b = of[MFU_AFTER], r = of[MFU_CHANGE];

    return meet(&of[MFU_AFTER], (struct mfu_interval){times(a.low, r.low, 0), times(a.high, r.high, INFINITY)}, more)
        && meet(&of[MFU_BEFORE],
                (struct mfu_interval){times(b.low, 1 / r.high, 0), r.low > 0 ? b.high / r.low : INFINITY}, more)
        && meet(&of[MFU_CHANGE], (struct mfu_interval){b.low / a.high, a.low > 0 ? b.high / a.low : INFINITY}, more);
}

bool mfu_identity_narrow(const struct mfu_identity *i, struct mfu_box *b)
{
    return revise(i, b, &(bool){false});
}

/* Whether one of its quantities is among them. */
static bool touches(const struct mfu_identity *i, const bool before[MFU_Q_COUNT], const bool now[MFU_Q_COUNT])
{
    for (int t = 0; t < i->n_terms; t++)
        for (int f = 0; f < i->term[t].n; f++)
            if (before[i->term[t].of[f].kind] || now[i->term[t].of[f].kind])
                return true;
    return false;
}

bool mfu_box_narrow(struct mfu_box *b, const struct mfu_identity *list, int n, const bool *on, bool *used)
{
    bool moved[2][MFU_Q_COUNT] = {{false}}; /* in the last pass, in this one */
    bool more = true;

    for (int k = 0; k < MFU_Q_COUNT; k++) /* nothing new follows from what may be anything */
        for (int state = 0; state < MFU_CLAIM_STATES; state++)
            moved[0][k] |=
                b->of[k][state].low > start_of(k, state).low || b->of[k][state].high < start_of(k, state).high;
    for (int pass = 0; pass < PASSES && more; pass++) {
        bool *before = moved[pass % 2], *now = moved[1 - pass % 2];

        more = false;
        memset(now, false, sizeof moved[0]);
        for (int i = 0; i < n; i++) {
            bool changed = false;

            if ((on && !on[i]) || !touches(&list[i], before, now))
                continue;
            if (!revise(&list[i], b, &changed)) {
                used[i] = true;
                return false;
            }
            used[i] |= changed;
            for (int t = 0; changed && t < list[i].n_terms; t++)
                for (int f = 0; f < list[i].term[t].n; f++)
                    now[list[i].term[t].of[f].kind] = true;
            more |= changed;
        }
        for (int k = 0; k < MFU_Q_COUNT; k++) {
            bool changed = false;

            if ((before[k] || now[k]) && !bind_states(b->of[k], &changed))
                return false;
            now[k] |= changed;
            more |= changed;
        }
    }
    return true;
}
