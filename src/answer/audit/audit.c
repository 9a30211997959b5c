/*
 * audit.c - whether all claims can be true, and which cannot be together.
 *
 * The smallest sets that contradict are found by leaving out one thing after the other
 * as long as the rest still contradicts (a deletion filter, as for the irreducible
 * infeasible sets of linear programs).  What was only assumed goes first.
 */
#include "answer/audit/audit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/catalog.h"
#include "descriptor/gpu.h"

#define KNOWN 1.75 /* an interval no wider than this factor is a figure; wider ones say too little to be shown */

#define NEAR 3 /* a bound further away than this factor says nothing of a figure */

/* Of runs that are published; a claim from which such an MFU follows can be. */
static const struct mfu_interval usual_mfu = {0.08, 0.75};

#define MFU_TURNED 3   /* figures that are read otherwise at once */
#define MFU_WAYS 2000  /* of that */
#define MFU_SLIGHT 1.4 /* what another way may cost that leaves a figure without others */
#define MFU_MOST 2.9   /* and what it may cost at all */
#define MFU_TRIED 100  /* the likeliest of them */

struct system {
    struct mfu_audit *audit;
    struct mfu_identity identities[MFU_IDENTITIES];
    int n;
    bool two_states;
    bool claim_on[MFU_CLAIMS], identity_on[MFU_IDENTITIES];
    bool used[MFU_IDENTITIES]; /* what narrowed anything when it was solved last */
    struct way {               /* some figures read otherwise than is likeliest */
        double cost;
        int n, claim[MFU_TURNED], reading[MFU_TURNED];
    } ways[MFU_WAYS];
    struct mfu_claim likeliest[MFU_CLAIMS]; /* the claims as they were read first */
};

/* What the claims and identities that are on leave of everything; false: nothing. */
static bool solve(struct system *s, struct mfu_box *b)
{
    memset(s->used, 0, sizeof s->used);
    mfu_box_start(b);
    for (int i = 0; i < s->audit->n_claims; i++) {
        const struct mfu_claim *c = &s->audit->claims[i];
        struct mfu_interval *x = &b->of[c->kind][c->state];

        if (!s->claim_on[i])
            continue;
        if (c->in.low > x->high * (1 + 1e-9) || c->in.high < x->low * (1 - 1e-9))
            return false;
        x->low = fmax(x->low, fmin(c->in.low, x->high));
        x->high = fmin(x->high, fmax(c->in.high, x->low));
    }
    return mfu_box_narrow(b, s->identities, s->n, s->identity_on, s->used);
}

struct place {
    int kind;
    enum mfu_claim_state state;
};

/* ---- what goes without saying -------------------------------------------------- */

bool mfu_audit_claims(const struct mfu_audit *a, int kind, enum mfu_claim_state state)
{
    for (int i = 0; i < a->n_claims; i++)
        if (a->claims[i].kind == kind && a->claims[i].state == state)
            return true;
    return false;
}

bool mfu_claim_has(const struct mfu_audit *a, int kind)
{
    return mfu_audit_claims(a, kind, MFU_BEFORE);
}

/* Whether one identity says that it is something else than what is usually assumed, from what is claimed. */
static bool said_otherwise(struct system *s, int kind)
{
    const double *usual = mfu_quantity_rows[kind].assumed;
    struct mfu_box start, b;
    enum mfu_claim_state state;
    bool said = false;

    for (int i = 0; i < s->audit->n_claims; i++) /* what follows does so without what is not told */
        if (s->audit->claims[i].follows && s->audit->claims[i].state == MFU_BEFORE)
            return false;
    memset(s->identity_on, 0, sizeof s->identity_on);
    if (solve(s, &start))
        for (int i = 0; i < s->n && !said; i++)
            if (mfu_identity_has(&s->identities[i], kind, &state) && state != MFU_CHANGE) {
                struct mfu_interval *x = &b.of[kind][state];

                b = start;
                mfu_identity_narrow(&s->identities[i], &b);
                said = mfu_interval_within(*x, KNOWN) && (x->low > usual[1] || x->high < usual[0]);
            }
    memset(s->identity_on, true, sizeof s->identity_on);
    return said;
}

static void assume(struct system *s, int kind, enum mfu_claim_state state, double low, double high, const char *text)
{
    if (mfu_claim_add(s->audit, kind, state, low, high, "assumed", "%s %s", mfu_quantity_rows[kind].name, text))
        s->claim_on[s->audit->n_claims - 1] = true;
}

/* Whether an identity consists of nothing that a run has as its outcome. */
static bool is_setup(const struct mfu_identity *x)
{
    for (int t = 0; t < x->n_terms; t++)
        for (int f = 0; f < x->term[t].n; f++)
            if (!(mfu_traits_of(x->term[t].of[f].kind) & MFU_Q_SETUP))
                return false;
    return true;
}

/* Setups change with what they are made of, and something of which they are made does. */
static void spread_changes(const struct system *s, bool changed[MFU_Q_COUNT])
{
    bool said[MFU_Q_COUNT];

    memcpy(said, changed, sizeof said);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < s->n; i++) {
            const struct mfu_identity *x = &s->identities[i];
            int whole = x->term[0].of[0].kind;
            bool part = false;

            if (!is_setup(x))
                continue;
            for (int t = 1; t < x->n_terms; t++)
                for (int f = 0; f < x->term[t].n; f++) {
                    part |= changed[x->term[t].of[f].kind];
                    if (said[whole] && !changed[x->term[t].of[f].kind])
                        more = changed[x->term[t].of[f].kind] = true;
                }
            if (part && !changed[whole])
                more = changed[whole] = true;
        }
    }
}

/* One GPU, a dense model, a usual sequence; and what is not said to change, does not. */
static void assume_the_usual(struct system *s)
{
    bool changed[MFU_Q_COUNT] = {false}, several = s->audit->several;
    struct mfu_box b;

    for (int i = 0; i < s->audit->n_claims; i++) {
        const struct mfu_claim *c = &s->audit->claims[i];

        several |= (mfu_traits_of(c->kind) & MFU_Q_SEVERAL) != 0;
        changed[c->kind] |=
            c->state == MFU_AFTER || (c->state == MFU_CHANGE && (c->in.low > 1.01 || c->in.high < 0.99));
    }
    for (int k = 0; k < MFU_Q_COUNT; k++) {
        const struct mfu_quantity_row *row = &mfu_quantity_rows[k];

        for (enum mfu_claim_state x = MFU_BEFORE;
             row->assumed[1] > 0 && x <= (s->two_states && row->traits & MFU_Q_FIRM ? MFU_AFTER : MFU_BEFORE); x++)
            if (!mfu_audit_claims(s->audit, k, x) && !(several && row->traits & MFU_Q_SINGLE)
                && (row->traits & MFU_Q_FIRM || !said_otherwise(s, k)))
                assume(s, k, x, row->assumed[0], row->assumed[1], "as usual");
    }
    if (!s->two_states)
        return;
    changed[MFU_Q_SEQUENCE_BYTES] |= mfu_claim_has(s->audit, MFU_Q_RECOMPUTE); /* what is computed again is not kept */
    spread_changes(s, changed);
    for (size_t i = 0; i < 2; i++) /* the data are the same where their passes are compared */
        changed[(const int[]){MFU_Q_CORPUS, MFU_Q_SAMPLES}[i]] |=
            !mfu_audit_claims(s->audit, MFU_Q_EPOCH_TIME, MFU_AFTER)
            && !mfu_audit_claims(s->audit, MFU_Q_EPOCH_TIME, MFU_CHANGE);
    for (int k = 0; k < MFU_Q_COUNT; k++)
        if ((mfu_traits_of(k) & MFU_Q_KEPT) && !changed[k] && !mfu_audit_claims(s->audit, k, MFU_CHANGE))
            assume(s, k, MFU_CHANGE, 1, 1, "unchanged");
    for (int k = 0; k < MFU_Q_COUNT; k++) { /* the usual stays so, where it can */
        const struct mfu_quantity_row *row = &mfu_quantity_rows[k];
        int n = s->audit->n_claims;

        if (row->assumed[1] > 0 && !(row->traits & (MFU_Q_KEPT | MFU_Q_FIRM)) && !changed[k]
            && !mfu_audit_claims(s->audit, k, MFU_AFTER) && !mfu_audit_claims(s->audit, k, MFU_CHANGE)) {
            assume(s, k, MFU_CHANGE, 1, 1, "unchanged");
            s->audit->n_claims = solve(s, &b) ? s->audit->n_claims : n;
        }
    }
}

/* ---- in words --------------------------------------------------------------------- */

static const char *name_of(char buf[64], const struct system *s, int kind, enum mfu_claim_state state)
{
    static const char *const marks[] = {" before", " after", " after/before"};

    snprintf(buf, 64, "%s%s", mfu_quantity_rows[kind].name, s->two_states ? marks[state] : "");
    return buf;
}

static const char *figure(char buf[MFU_QUANTITY_MAX], double x, int kind, enum mfu_claim_state state)
{
    const struct mfu_quantity_row *row = &mfu_quantity_rows[kind];

    if (state == MFU_CHANGE)
        snprintf(buf, MFU_QUANTITY_MAX, "%.3g", x);
    else
        mfu_quantity_format(buf, x, row->dim);
    return buf;
}

const char *mfu_interval_format(char buf[MFU_INTERVAL_TEXT], struct mfu_interval in, int kind,
                                enum mfu_claim_state state)
{
    char low[MFU_QUANTITY_MAX], high[MFU_QUANTITY_MAX]; /* mostly much shorter */
    const char *times = state == MFU_CHANGE ? " times" : "";
    double most = state == MFU_CHANGE ? 1e3 : mfu_quantity_rows[kind].most;
    double least = state == MFU_CHANGE ? 1e-3 : mfu_quantity_rows[kind].least;

    figure(low, in.low, kind, state);
    figure(high, in.high, kind, state);
    if (in.low == in.high)
        snprintf(buf, MFU_INTERVAL_TEXT, "%s%s", low, times);
    else if (in.low <= least && in.high >= most)
        snprintf(buf, MFU_INTERVAL_TEXT, "anything");
    else if (in.low <= least && in.high > least)
        snprintf(buf, MFU_INTERVAL_TEXT, "at most %s%s", high, times);
    else if (in.high >= most && in.low < most)
        snprintf(buf, MFU_INTERVAL_TEXT, "at least %s%s", low, times);
    else if (strcmp(low, high) == 0 || in.high <= 1.01 * in.low)
        snprintf(buf, MFU_INTERVAL_TEXT, "%s%s", figure(low, sqrt(in.low * in.high), kind, state), times);
    else
        snprintf(buf, MFU_INTERVAL_TEXT, "%s to %s%s", low, high, times);
    return buf;
}

/* Cards whose dense peak lies there: who divided by another's. */
static void name_peak(struct mfu_catalog *catalog, struct mfu_interval in, char *text, size_t size)
{
    size_t n, used = strlen(text);
    const char *const *names = mfu_catalog_gpus(catalog, &n);
    int found = 0;

    if (!mfu_interval_within(in, 1.3))
        return;
    for (size_t i = 0; i < n && found < 3; i++) {
        const struct mfu_gpu *g = mfu_catalog_gpu(catalog, names[i], NULL);

        if (g && g->peak_flops[MFU_PEAK_BF16] >= in.low && g->peak_flops[MFU_PEAK_BF16] <= in.high && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", found++ ? ", " : ", as of ", g->slug);
    }
}

/* ---- contradictions ----------------------------------------------------------------- */

typedef bool identities_do(struct system *, const struct mfu_claim *);

/* Leaves out identities `from` to `to`, the last first, as long as the others do it: what one by one would leave, by halves. */
static void leave_out(struct system *s, int from, int to, identities_do *others_do, const struct mfu_claim *c)
{
    memset(s->identity_on + from, false, (size_t)(to - from));
    if (others_do(s, c))
        return;
    memset(s->identity_on + from, true, (size_t)(to - from));
    if (to - from > 1) {
        leave_out(s, from + (to - from) / 2, to, others_do, c);
        leave_out(s, from, from + (to - from) / 2, others_do, c);
    }
}

static bool contradict(struct system *s, const struct mfu_claim *c)
{
    struct mfu_box b;

    (void)c;
    return !solve(s, &b);
}

/* Leaves on what is needed to contradict. */
static void shrink(struct system *s)
{
    struct mfu_audit *a = s->audit;
    struct mfu_box b;

    for (const char *const *from = (const char *const[]){"assumed", "catalog", "stated", NULL}; *from; from++)
        for (int i = 0; i < a->n_claims; i++)
            if (s->claim_on[i] && strcmp(a->claims[i].from, *from) == 0) {
                s->claim_on[i] = false;
                if (solve(s, &b))
                    s->claim_on[i] = true;
            }
    leave_out(s, 0, s->n, contradict, NULL);
}

static void add_text(char *text, size_t size, const char *between, const char *piece)
{
    size_t n = strlen(text);

    if (n + strlen(between) + strlen(piece) + 1 < size) {
        strcat(text, n > 0 ? between : "");
        strcat(text, piece);
    }
}

/* The claims of the set, and what each would have to be with the others, by all identities. */
static void tell(struct system *s, struct mfu_catalog *catalog)
{
    bool identities[MFU_IDENTITIES];
    struct mfu_audit *a = s->audit;
    struct mfu_contradiction *x = &a->contradictions[a->n_contradictions++];
    char piece[400], name[64], range[MFU_INTERVAL_TEXT];
    struct mfu_box b;

    memcpy(identities, s->identity_on, sizeof identities);
    memset(s->identity_on, true, sizeof s->identity_on);
    for (int i = 0; i < a->n_claims; i++)
        if (s->claim_on[i]) {
            struct mfu_claim *c = &a->claims[i];

            c->contradicts = c->matters = true;
            snprintf(piece, sizeof piece, "%s (%s)", c->text, mfu_interval_format(range, c->in, c->kind, c->state));
            add_text(x->text, sizeof x->text, ", ",
                     c->state == MFU_CHANGE && strcmp(c->from, "assumed") == 0 ? c->text : piece);
            s->claim_on[i] = false;
            if (solve(s, &b)) {
                struct mfu_interval in = b.of[c->kind][c->state];

                if (c->state != MFU_CHANGE && c->in.low > in.high && in.low <= mfu_quantity_rows[c->kind].least)
                    in.low = in.high; /* more than there can be, whatever else is told */
                snprintf(piece, sizeof piece, "%s would have to be %s%s", name_of(name, s, c->kind, c->state),
                         in.low == in.high ? "at most " : "", mfu_interval_format(range, in, c->kind, c->state));
                if (c->kind == MFU_Q_PEAK && c->state != MFU_CHANGE)
                    name_peak(catalog, in, piece, sizeof piece);
                add_text(x->needs, sizeof x->needs, "; ", piece);
            }
            s->claim_on[i] = true;
        }
    memcpy(s->identity_on, identities, sizeof identities);
}

static void add_finding(struct mfu_audit *a, const struct mfu_identity *x, double holds, const char *needs)
{
    struct mfu_audit_finding *f;

    if (a->n_findings == MFU_FINDINGS)
        return;
    f = &a->findings[a->n_findings++];
    f->row = x->row;
    f->state = x->state;
    f->holds = holds;
    memmove(f->needs, needs, strlen(needs) + 1);
}

/* Of a set that contradicts, the claim without which the search goes on: the last outcome. */
static int dispensable(const struct system *s)
{
    int best = -1, rank = -1;

    for (int i = 0; i < s->audit->n_claims; i++) {
        const struct mfu_claim *c = &s->audit->claims[i];
        int r = strcmp(c->from, "stated") != 0 ? 0 : mfu_traits_of(c->kind) & MFU_Q_SETUP ? 1 : 2;

        if (s->claim_on[i] && r >= rank) {
            rank = r;
            best = i;
        }
    }
    return best;
}

/* A claim of the set that may be of something else than it is taken for: what nothing but its unit says needs something
 * that is told, or known, to contradict; -1: none. */
static int doubtful(const struct system *s)
{
    int figures = 0, guess = -1;

    for (int i = 0; i < s->audit->n_claims; i++) {
        if (s->claim_on[i] && s->audit->claims[i].inferred)
            return i;
        figures += s->claim_on[i] && strcmp(s->audit->claims[i].from, "assumed") != 0;
        guess = s->claim_on[i] && s->audit->claims[i].guessed ? i : guess;
    }
    return figures < 2 ? guess : -1;
}

/* Of a set that contradicts, the claim that is something else: all its figures are those of one product that holds; -1:
 * they are not. */
static int explained(const struct system *s)
{
    unsigned relations = ~0U;
    int last = -1;

    for (int i = 0; i < s->audit->n_claims; i++)
        if (s->claim_on[i] && s->audit->claims[i].at > 0) {
            relations &= s->audit->claims[i].relations;
            last = i;
        }
    return last >= 0 && relations != 0 ? last : -1;
}

/* Set after set; what is left is in `s`. */
static void find_contradictions(struct system *s, struct mfu_catalog *catalog)
{
    bool claims[MFU_CLAIMS];
    struct mfu_box b;
    int without = 0;

    while (without >= 0 && s->audit->n_contradictions < MFU_CONTRADICTIONS && !solve(s, &b)) {
        memcpy(claims, s->claim_on, sizeof claims);
        shrink(s);
        if ((without = explained(s)) >= 0)
            claims[without] = false;
        else if ((without = doubtful(s)) >= 0
                 && (s->audit->n_contradictions == 0 || s->audit->claims[without].inferred))
            snprintf(s->audit->unread_figure, sizeof s->audit->unread_figure, "%s", s->audit->claims[without].text);
        else if (without < 0) {
            tell(s, catalog);
            for (int i = 0; i < s->n; i++)
                if (s->identity_on[i])
                    add_finding(s->audit, &s->identities[i], 0,
                                s->audit->contradictions[s->audit->n_contradictions - 1].needs);
            without = dispensable(s);
        }
        memcpy(s->claim_on, claims, sizeof claims);
        memset(s->identity_on, true, sizeof s->identity_on);
        if (without >= 0)
            s->claim_on[without] = false;
    }
}

/* ---- what holds, what follows ----------------------------------------------------- */

/* How many of its quantities are not known; two of them in `unknown`.  What is no narrower than it
 * always is counts where `strict`. */
static int unknowns(const struct mfu_identity *x, const struct mfu_box *b, bool strict, struct place unknown[2])
{
    int n = 0;

    for (int t = 0; t < x->n_terms; t++)
        for (int f = 0; f < x->term[t].n; f++) {
            int kind = x->term[t].of[f].kind;
            enum mfu_claim_state state = x->term[t].of[f].change ? MFU_CHANGE : x->state;
            struct mfu_interval in = b->of[kind][state];

            if (x->relation != '=' && mfu_quantity_rows[kind].least == 0) /* may be absent */
                continue;
            if (mfu_interval_within(in, KNOWN)
                && !(strict && in.low <= mfu_quantity_rows[kind].least && in.high >= mfu_quantity_rows[kind].most))
                continue;
            if (n < 2)
                unknown[n] = (struct place){kind, state};
            n++;
        }
    return n;
}

/* How many of the claims that hold are about its quantities: stated or known ones, or assumptions. */
static int claims_of(const struct system *s, const struct mfu_identity *x, bool assumed)
{
    int n = 0;

    for (int i = 0; i < s->audit->n_claims; i++) {
        struct mfu_claim *c = &s->audit->claims[i];
        enum mfu_claim_state state;

        n += s->claim_on[i] && mfu_identity_has(x, c->kind, &state) && state == c->state
            && (strcmp(c->from, "assumed") == 0) == assumed;
    }
    return n;
}

/* Of how many of its quantities something is known. */
static int knowns(const struct mfu_identity *x, const struct mfu_box *b)
{
    int n = 0;

    for (int t = 0; t < x->n_terms; t++)
        for (int f = 0; f < x->term[t].n; f++) {
            const struct mfu_quantity_row *row = &mfu_quantity_rows[x->term[t].of[f].kind];
            struct mfu_interval in = b->of[x->term[t].of[f].kind][x->state];

            n += row->least == 0 && in.low > 0 && mfu_interval_within(in, KNOWN);
        }
    return n;
}

static bool told(const struct mfu_audit *a, const struct mfu_identity *x)
{
    for (int i = 0; i < a->n_findings; i++)
        if (a->findings[i].row == x->row && a->findings[i].state == x->state)
            return true;
    return false;
}

static void mark(struct mfu_audit *a, const struct mfu_identity *x)
{
    enum mfu_claim_state state;

    for (int i = 0; i < a->n_claims; i++)
        if (mfu_identity_has(x, a->claims[i].kind, &state) && state == a->claims[i].state)
            a->claims[i].matters = true;
}

/* The quantity that is known with the identity only; its kind is -1 where there is none. */
static struct place given(const struct mfu_identity *x, const struct mfu_box *with, const struct mfu_box *without)
{
    for (int t = 0; t < x->n_terms; t++)
        for (int f = 0; f < x->term[t].n; f++) {
            struct place p = {x->term[t].of[f].kind, x->term[t].of[f].change ? MFU_CHANGE : x->state};

            if (*mfu_quantity_rows[p.kind].phrases && p.state != MFU_CHANGE
                && mfu_interval_within(with->of[p.kind][p.state], KNOWN)
                && !mfu_interval_within(without->of[p.kind][p.state], KNOWN))
                return p;
        }
    return (struct place){-1, MFU_BEFORE};
}

/* Whether nobody ever says one of its quantities, and nothing narrows it: what it then gives is too wide to be told. */
static bool guesses(const struct mfu_identity *x, const struct mfu_box *b)
{
    for (int t = 0; t < x->n_terms; t++)
        for (int f = 0; f < x->term[t].n; f++) {
            const struct mfu_quantity_row *row = &mfu_quantity_rows[x->term[t].of[f].kind];
            struct mfu_interval in = b->of[x->term[t].of[f].kind][x->state];

            if (!*row->phrases && in.low <= row->least && in.high >= row->most)
                return true;
        }
    return false;
}

/* What is known with an identity only. */
static void find_given(struct system *s)
{
    struct mfu_box with, without;
    bool used[MFU_IDENTITIES];

    if (!solve(s, &with))
        return;
    memcpy(used, s->used, sizeof used);
    for (int i = 0; i < s->n; i++) {
        const struct mfu_identity *x = &s->identities[i];
        int stated = claims_of(s, x, false), assumed = claims_of(s, x, true), factors = 0;
        struct place p;
        char needs[200], range[MFU_INTERVAL_TEXT], name[64];

        if (!used[i] || stated == 0 || told(s->audit, x) || guesses(x, &with))
            continue;
        for (int t = 0; t < x->n_terms; t++)
            factors += x->term[t].n;
        for (int k = 0; k < s->n; k++)
            s->identity_on[k] = s->identities[k].row != x->row;
        if (solve(s, &without)) {
            p = given(x, &with, &without);
            if (p.kind >= 0 && !(stated == 1 && assumed + 2 >= factors)) {
                snprintf(needs, sizeof needs, "%s is %s", name_of(name, s, p.kind, p.state),
                         mfu_interval_format(range, with.of[p.kind][p.state], p.kind, p.state));
                add_finding(s->audit, x, NAN, needs);
                mark(s->audit, x);
            }
        }
        memset(s->identity_on, true, sizeof s->identity_on);
    }
}

/* Whether the claims say how good the run was, and runs are as good as that. */
static bool is_usual(struct system *s)
{
    struct mfu_box b;
    struct mfu_interval mfu;

    if (mfu_claim_has(s->audit, MFU_Q_MFU) || !solve(s, &b))
        return false;
    mfu = b.of[MFU_Q_MFU][MFU_BEFORE];
    return mfu_interval_within(mfu, 3) && mfu.low >= usual_mfu.low && sqrt(mfu.low * mfu.high) <= usual_mfu.high;
}

/* Adds a name to a list, once. */
static void add_name(char *list, size_t size, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = list; (p = strstr(p, name)); p++)
        if ((p == list || p[-1] == ' ') && (p[n] == ';' || !p[n]))
            return;
    add_text(list, size, "; ", name);
}

/* Where nothing binds anything: what one would have to know. */
static void ask(struct system *s)
{
    struct mfu_box b;
    int missing = 0;

    if (!solve(s, &b))
        return;
    for (int i = 0; i < s->n; i++) {
        const struct mfu_identity *x = &s->identities[i];
        struct place unknown[2];
        char needs[200], name[64], other[64];

        if (x->relation != '=' || x->state == MFU_CHANGE || claims_of(s, x, false) == 0
            || unknowns(x, &b, true, unknown) != 2 || !*mfu_quantity_rows[unknown[0].kind].phrases
            || !*mfu_quantity_rows[unknown[1].kind].phrases)
            continue;
        for (int k = 0; k < 2; k++)
            if (mfu_traits_of(unknown[k].kind) & MFU_Q_SETUP && unknown[k].state == MFU_BEFORE && missing++ < 4)
                add_name(s->audit->missing, sizeof s->audit->missing, mfu_quantity_rows[unknown[k].kind].name);
        snprintf(needs, sizeof needs, "would bind %s and %s", name_of(name, s, unknown[0].kind, unknown[0].state),
                 name_of(other, s, unknown[1].kind, unknown[1].state));
        add_finding(s->audit, x, MFU_OPEN, needs);
    }
}

/* Whether what the others say of a claim is a figure, and not what is always so. */
static bool is_figure(const struct mfu_claim *c, struct mfu_interval in)
{
    return mfu_interval_within(in, 3)
        && (in.low > mfu_quantity_rows[c->kind].least || in.high < mfu_quantity_rows[c->kind].most);
}

/* Whether the others leave a bound no choice. */
static bool is_implied(const struct mfu_claim *c, struct mfu_interval in)
{
    const struct mfu_quantity_row *row = &mfu_quantity_rows[c->kind];

    if (c->in.low <= row->least && c->in.high >= row->most)
        return false;
    return (c->in.low <= row->least && in.high <= c->in.high && in.high < row->most)
        || (c->in.high >= row->most && in.low >= c->in.low && in.low > row->least);
}

/* Whether they say of the claim what the others do. */
static bool say(struct system *s, const struct mfu_claim *c)
{
    struct mfu_box b;

    return solve(s, &b) && (is_figure(c, b.of[c->kind][c->state]) || is_implied(c, b.of[c->kind][c->state]));
}

/* The identities by which the other claims say what this one does. */
static void find_support(struct system *s, struct mfu_claim *c)
{
    leave_out(s, 0, s->n, say, c);
    for (int i = 0; i < s->n; i++)
        if (s->identity_on[i] && !told(s->audit, &s->identities[i])) {
            add_finding(s->audit, &s->identities[i], 1, "");
            mark(s->audit, &s->identities[i]);
        }
    memset(s->identity_on, true, sizeof s->identity_on);
}

/* What the other claims say of each; a bound holds where it is between claims. */
static int judge_claims(struct system *s)
{
    struct mfu_box b;
    struct place unknown[2];
    int held = 0;

    for (int i = 0; i < s->audit->n_claims; i++) {
        struct mfu_claim *c = &s->audit->claims[i];
        bool was = s->claim_on[i];

        c->others = (struct mfu_interval){NAN, NAN};
        s->claim_on[i] = false;
        if (was && solve(s, &b)) {
            c->others = b.of[c->kind][c->state];
            if (strcmp(c->from, "stated") == 0 && *mfu_quantity_rows[c->kind].phrases
                && (is_figure(c, c->others) || is_implied(c, c->others))) {
                find_support(s, c);
                held++;
            }
        }
        s->claim_on[i] = was;
    }
    if (solve(s, &b))
        for (int i = 0; i < s->n; i++)
            if (s->identities[i].relation != '='
                && (claims_of(s, &s->identities[i], false) >= 2
                    || knowns(&s->identities[i], &b) >= (s->identities[i].n_terms > 2 ? 2 : 3))
                && unknowns(&s->identities[i], &b, false, unknown) == 0 && !told(s->audit, &s->identities[i])) {
                add_finding(s->audit, &s->identities[i], 1, "");
                mark(s->audit, &s->identities[i]);
                held++;
            }
    return held;
}

/* ---- readings ------------------------------------------------------------------------- */

/* From the first `n` claims, what is assumed with them. */
static void prepare(struct system *s, int n)
{
    s->audit->n_claims = n;
    s->two_states = false;
    for (int i = 0; i < n; i++) {
        s->claim_on[i] = true;
        s->two_states |= s->audit->claims[i].state != MFU_BEFORE;
    }
    s->n = mfu_identities(s->identities, s->two_states);
    memset(s->identity_on, true, sizeof s->identity_on);
    assume_the_usual(s);
}

/* The claim's next reading; what it was takes its place. */
static void turn(struct mfu_claim *c, int reading)
{
    struct mfu_claim_reading was = {c->kind, c->state, c->in, c->value, c->readings[reading].cost};

    c->kind = c->readings[reading].kind;
    c->state = c->readings[reading].state;
    c->in = c->readings[reading].in;
    c->value = c->readings[reading].value;
    c->readings[reading] = was;
}

static int by_cost(const void *a, const void *b)
{
    const struct way *x = a, *y = b;

    return x->cost < y->cost ? -1 : x->cost > y->cost ? 1 : x->n - y->n;
}

/* Figures of one quantity before and after, and how it changes, stay those of one quantity; not what was only taken
 * to be one afterwards. */
static void turn_all(struct system *s, const struct way *w)
{
    for (int i = 0; i < w->n; i++) {
        struct mfu_claim *c = &s->audit->claims[w->claim[i]];
        int from = c->kind, to = c->readings[w->reading[i]].kind;
        bool both = to != from && !c->inferred;

        turn(c, w->reading[i]);
        for (int k = 0; both && k < s->audit->n_claims; k++) {
            struct mfu_claim *x = &s->audit->claims[k];

            for (int m = 0; x != c && !x->inferred && x->state != c->state && x->kind == from && m < x->n_readings; m++)
                if (x->readings[m].kind == to && x->readings[m].state == x->state) {
                    turn(x, m);
                    break;
                }
        }
    }
}

static int add_ways(const struct mfu_audit *a, struct way *list, int n, struct way from, int claim)
{
    for (int i = claim; from.n < MFU_TURNED && i < a->n_claims; i++)
        for (int k = 0; k < a->claims[i].n_readings && n < MFU_WAYS; k++) {
            struct way w = from;

            w.cost += 0.3 + a->claims[i].readings[k].cost;
            w.claim[w.n] = i;
            w.reading[w.n++] = k;
            list[n++] = w;
            n = add_ways(a, list, n, w, i + 1);
        }
    return n;
}

/* Whether the others bound it from one side, and are near. */
static bool is_bounded(const struct mfu_claim *c)
{
    const struct mfu_quantity_row *row = &mfu_quantity_rows[c->kind];

    return (c->others.low > row->least && c->in.low < NEAR * c->others.low)
        || (c->others.high < row->most && c->in.high * NEAR > c->others.high);
}

/* Whether every figure of an outcome, and each that is read otherwise, is bound by others. */
static bool is_complete(struct system *s, const struct way *w)
{
    struct mfu_box b;

    for (int i = 0; i < s->audit->n_claims; i++) {
        struct mfu_claim *c = &s->audit->claims[i];
        bool bound = false, turned = false;

        for (int k = 0; k < w->n; k++)
            turned |= w->claim[k] == i;
        if (!turned && (c->at == 0 || c->computed || mfu_traits_of(c->kind) & (MFU_Q_SETUP | MFU_Q_WHOLE)))
            continue;
        for (int k = 0; k < s->audit->n_claims && !bound; k++) { /* in any of its states */
            struct mfu_claim *x = &s->audit->claims[k];

            if (x->kind != c->kind)
                continue;
            s->claim_on[k] = false;
            if (solve(s, &b)) {
                x->others = b.of[x->kind][x->state];
                bound = is_figure(x, x->others) || is_implied(x, x->others)
                    || (is_bounded(x)
                        && (!turned
                            || ((!x->guessed || x->kind == MFU_Q_ACHIEVED)
                                && x->others.high < mfu_quantity_rows[x->kind].most)));
            }
            s->claim_on[k] = true;
        }
        if (!bound)
            return false;
    }
    return true;
}

/* The likeliest way to read the figures in which all of it can be and every figure is bound, else in which it can be
 * and is nearly as likely as the likeliest. */
static void choose_readings(struct system *s)
{
    struct mfu_audit *a = s->audit;
    struct mfu_box box;
    int n = a->n_claims, ways = add_ways(a, s->ways, 1, s->ways[0], 0), found = -1;

    memcpy(s->likeliest, a->claims, sizeof s->likeliest);
    qsort(s->ways, (size_t)ways, sizeof *s->ways, by_cost);
    for (int i = 0; i < ways && i < MFU_TRIED && s->ways[i].cost < MFU_MOST; i++) {
        a->n_claims = n;
        turn_all(s, &s->ways[i]);
        prepare(s, n);
        if (solve(s, &box)) {
            found = found < 0 ? i : found;
            if (is_complete(s, &s->ways[i]))
                return;
        }
        memcpy(a->claims, s->likeliest, sizeof a->claims);
    }
    a->n_claims = n;
    if (found > 0 && s->ways[found].cost <= MFU_SLIGHT) {
        turn_all(s, &s->ways[found]);
        if (!a->unread_figure[0])
            snprintf(a->unread_figure, sizeof a->unread_figure, "%s", a->claims[s->ways[found].claim[0]].text);
    }
    prepare(s, n);
}

/* Whether it is a figure of an outcome that nothing else in the claim binds. */
static bool is_loose(const struct mfu_audit *a, const struct mfu_claim *c)
{
    if (c->at == 0 || c->computed || mfu_traits_of(c->kind) & (MFU_Q_SETUP | MFU_Q_WHOLE))
        return false;
    for (int i = 0; i < a->n_claims; i++) /* in any of its states */
        if ((a->claims[i].kind == c->kind && (a->claims[i].matters || is_bounded(&a->claims[i])))
            || (a->claims[i].kind == MFU_Q_COMPUTED && a->claims[i].in.low <= c->value
                && a->claims[i].in.high >= c->value))
            return false;
    return true;
}

/* Finds contradictions, what holds and what follows. */
static int judge(struct mfu_catalog *catalog, struct mfu_audit *a, struct mfu_error *err)
{
    struct system *s = calloc(1, sizeof *s);
    int held = 0;

    if (!s)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    s->audit = a;
    choose_readings(s);
    find_contradictions(s, catalog);
    held = judge_claims(s);
    find_given(s);
    held += is_usual(s);
    for (int i = 0; i < a->n_claims; i++) {
        if (a->claims[i].inferred && !a->unread_figure[0] && mfu_claim_has(a, a->claims[i].kind))
            snprintf(a->unread_figure, sizeof a->unread_figure, "%s", a->claims[i].text);
        if (!a->loose[0] && is_loose(a, &a->claims[i]))
            snprintf(a->loose, sizeof a->loose, "%s", a->claims[i].text);
    }
    held = a->loose[0] ? 0 : held;
    if (held == 0 && a->n_contradictions == 0)
        ask(s);
    a->verdict = a->n_contradictions > 0 && !a->unread_figure[0] ? "contradicts"
        : held > 0 && !a->unread_figure[0]                       ? "holds"
                                                                 : "open";
    free(s);
    return 0;
}

/* ---- claims, and tables of them ------------------------------------------------------ */

static int add_audit(struct mfu_audits *all, struct mfu_catalog *catalog, const struct mfu_scenario *start,
                     const char *text, struct mfu_error *err)
{
    struct mfu_audit *list = realloc(all->list, (all->n + 1) * sizeof *list), *a;
    int status;

    if (!list)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    all->list = list;
    a = &list[all->n++];
    *a = (struct mfu_audit){.text = strdup(text)};
    status = !a->text ? mfu_fail(err, MFU_ENOMEM, "out of memory") : mfu_claim_read(catalog, start, text, a, err);
    return status < 0 ? status : judge(catalog, a, err);
}

static bool is_open(const struct mfu_audits *all)
{
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->list[i].verdict, "open") != 0)
            return false;
    return true;
}

static void forget(struct mfu_audits *all)
{
    while (all->n > 0)
        free(all->list[--all->n].text);
}

/* A text, or the rows of the table in its line; where none of them binds anything, what changes between them. */
static int add_text_or_rows(struct mfu_audits *all, struct mfu_catalog *catalog, const struct mfu_scenario *start,
                            const char *text, struct mfu_error *err)
{
    struct mfu_error unread = {0};
    int status = 0;

    for (int pair = 0; pair < 2 && status == 0 && is_open(all); pair++) {
        char *told = mfu_table_spell(text, 1 + pair, pair, &unread);

        if (told)
            forget(all);
        for (int row = 1 + pair; told && status == 0; told = mfu_table_spell(text, ++row, pair, &unread)) {
            status = add_audit(all, catalog, start, told, err);
            free(told);
        }
        if (unread.code == MFU_ENOMEM)
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    return status == 0 && all->n == 0 ? add_audit(all, catalog, start, text, err) : status;
}

struct mfu_audits *mfu_audit(struct mfu_catalog *catalog, const struct mfu_scenario *start, const char *text,
                             struct mfu_error *err)
{
    struct mfu_audits *all = calloc(1, sizeof *all);
    int status;

    if (!all) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        return NULL;
    }
    status = add_text_or_rows(all, catalog, start, text + strspn(text, " \t\r\n"), err);
    if (status < 0) {
        mfu_audits_free(all);
        return NULL;
    }
    all->verdict = "holds";
    for (size_t i = 0; i < all->n; i++)
        if (strcmp(all->verdict, "contradicts") != 0 && strcmp(all->list[i].verdict, "holds") != 0)
            all->verdict = all->list[i].verdict;
    if (all->n == 0)
        all->verdict = "open";
    return all;
}

void mfu_audits_free(struct mfu_audits *all)
{
    if (!all)
        return;
    forget(all);
    free(all->list);
    free(all);
}
