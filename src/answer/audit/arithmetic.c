/*
 * arithmetic.c - amounts with all of their units, nouns among them: "3 GB/s", "512 KB/token", "16 shards".
 *
 * What is bytes over bytes per second is seconds, whatever it is about.  An amount per GPU often does not say so:
 * one counted noun may be left over.
 */
#include "answer/audit/reading.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define N(list) (sizeof(list) / sizeof(list)[0])
#define TERMS 16    /* of a claim that are looked at */
#define OPERANDS 64 /* of an equation, parentheses included */

/* Units and nouns; those from COUNTED on are what claims count, and leave out. */
enum {
    SECOND,
    BYTE,
    FLOP,
    JOULE,
    DOLLAR,
    GRAM,
    TOKEN,
    PARAMETER,
    SEQUENCE,
    COUNTED,
    GPU = COUNTED,
    STEP,
    EPOCH,
    NODE,
    LAYER,
    OTHERS
};
#define NOUNS (OTHERS + TERMS)

struct amount {
    const char *at, *end;              /* end: behind the unit */
    struct mfu_interval printed, base; /* as it is printed, and in base units */
    signed char of[NOUNS];             /* powers */
    bool share, times;                 /* a percentage, a factor */
    bool unit, rate;                   /* it has a unit, one of them below the line */
    bool foreign;                      /* nobody used it */
    bool idle;                         /* nothing can cancel what it has */
    bool factor;                       /* no unit, but a name: "a real-time factor of 0.1" */
};

struct nouns {
    const struct mfu_claim_text *t;
    const char *others[TERMS]; /* words that no table has */
    int n;
};

// clang-format off
static const struct { const char *word; int of; double factor; int second; } words[] = {
    {"s", SECOND, 1, 0}, {"ms", SECOND, 1e-3, 0}, {"minute", SECOND, 60, 0}, {"min", SECOND, 60, 0}, {"hour", SECOND, 3600, 0}, {"h", SECOND, 3600, 0}, {"day", SECOND, 86400, 0}, {"d", SECOND, 86400, 0},
    {"week", SECOND, 604800, 0}, {"month", SECOND, 2629800, 0}, {"year", SECOND, 31557600, 0}, {"byte", BYTE, 1, 0}, {"gb", BYTE, 1e9, 0},
    {"flop", FLOP, 1, 0}, {"joule", JOULE, 1, 0}, {"wh", JOULE, 3600, 0}, {"kwh", JOULE, 3.6e6, 0}, {"mwh", JOULE, 3.6e9, 0}, {"gwh", JOULE, 3.6e12, 0}, {"j", JOULE, 1, 0}, {"kj", JOULE, 1e3, 0}, {"mj", JOULE, 1e6, 0}, {"dollar", DOLLAR, 1, 0}, {"usd", DOLLAR, 1, 0},
    {"context", TOKEN, 1, 0}, {"g", GRAM, 1, 0}, {"gram", GRAM, 1, 0}, {"kg", GRAM, 1e3, 0}, {"ton", GRAM, 1e6, 0}, {"tonne", GRAM, 1e6, 0}, {"token", TOKEN, 1, 0}, {"million token", TOKEN, 1e6, 0}, {"1m token", TOKEN, 1e6, 0}, {"m token", TOKEN, 1e6, 0}, {"billion token", TOKEN, 1e9, 0}, {"trillion token", TOKEN, 1e12, 0}, {"parameter", PARAMETER, 1, 0}, {"model", PARAMETER, 1, 0}, {"weight", PARAMETER, 1, 0}, {"sequence", SEQUENCE, 1, 0},
    {"gpu hour", GPU, 3600, 1}, {"gpu day", GPU, 86400, 1}, {"gpu week", GPU, 604800, 1}, {"gpu month", GPU, 2629800, 1}, {"gpu year", GPU, 31557600, 1}, {"gpu", GPU, 1, 0}, {"rank", GPU, 1, 0}, {"step", STEP, 1, 0}, {"epoch", EPOCH, 1, 0}, {"node", NODE, 1, 0}, {"layer", LAYER, 1, 0}};
static const struct { enum mfu_dim dim; int of, second; } dims[] = {
    {MFU_BYTES, BYTE, 0}, {MFU_BYTES_PER_S, BYTE, -1}, {MFU_SECONDS, SECOND, 0}, {MFU_FLOP, FLOP, 0}, {MFU_FLOP_PER_S, FLOP, -1}, {MFU_WATTS, JOULE, -1}};
// clang-format on

static bool stands(const struct mfu_claim_text *t, const char *p, const char *word)
{
    return (p == t->text || !mfu_claim_letter(p[-1]) || mfu_digit(p[-1])) && mfu_claim_stands(p, word);
}

/* One unit or noun at `p`, to the power of `sign`; what is behind it, NULL: there is none that is known. */
static const char *read_word(const struct nouns *nouns, const char *p, int sign, struct amount *a)
{
    size_t best = N(words);

    for (size_t i = 0; i < N(words); i++)
        if (stands(nouns->t, p, words[i].word)
            && (best == N(words) || strlen(words[i].word) > strlen(words[best].word)))
            best = i;
    if (best == N(words))
        return NULL;
    a->of[words[best].of] += (signed char)sign;
    a->of[SECOND] += (signed char)(sign * words[best].second);
    a->base.low *= pow(words[best].factor, sign);
    a->base.high *= pow(words[best].factor, sign);
    a->unit = true;
    return p + strlen(words[best].word);
}

/* A word that is only counted: "16 shards". */
static const char *read_other(struct nouns *nouns, const char *p, int sign, struct amount *a)
{
    size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz");
    int i = 0;

    if (n < 3)
        return NULL;
    while (i < nouns->n && !(strncmp(nouns->others[i], p, n) == 0 && !mfu_alpha(nouns->others[i][n])))
        i++;
    if (i == TERMS)
        return NULL;
    nouns->others[i] = p;
    nouns->n = nouns->n > i ? nouns->n : i + 1;
    a->of[OTHERS + i] += (signed char)sign;
    return p + n;
}

/* The number at `p` with its units; false: there is none. */
static bool read_amount(struct nouns *nouns, const char *p, struct amount *a)
{
    struct mfu_claim_number n;
    const char *next;
    double half;

    if (!mfu_claim_number(nouns->t->text, p, &n))
        return false;
    half = n.whole && n.bare ? 0 : n.half;
    *a = (struct amount){.at = p,
                         .end = n.end,
                         .printed = {fmax(0, n.value - half), n.value + half},
                         .share = n.percent,
                         .times = n.times,
                         .foreign = !nouns->t->used[p - nouns->t->text]};
    a->base = (struct mfu_interval){a->printed.low * n.factor, a->printed.high * n.factor};
    if (n.dim == MFU_PARAMS || n.percent)
        a->printed = a->base;
    for (size_t i = 0; i < N(dims); i++)
        if (dims[i].dim == n.dim) {
            a->of[dims[i].of] = 1;
            a->of[SECOND] += (signed char)dims[i].second;
            a->unit = true;
        }
    if (n.energy) {
        a->of[JOULE] = 1;
        a->unit = true;
        a->base.low *= 3.6e6;
        a->base.high *= 3.6e6;
    }
    if (n.money) {
        a->of[DOLLAR] = 1;
        a->unit = true;
    }
    if (!a->unit && !n.percent && !n.times) {
        next = mfu_claim_blanks(a->end);
        if (!(next = read_word(nouns, next, 1, a)) && mfu_alpha(*mfu_claim_blanks(a->end))) {
            const char *second = mfu_claim_blanks(a->end); /* "52k alpaca sequences" */

            second = mfu_claim_blanks(second + strspn(second, "abcdefghijklmnopqrstuvwxyz"));
            if (!(next = read_word(nouns, second, 1, a)))
                next = read_other(nouns, mfu_claim_blanks(a->end), 1, a);
        }
        a->end = next ? next : a->end;
    }
    if (n.dim == MFU_WATTS && a->end - p > 4 && mfu_claim_stands(a->end - 4, "/day")) { /* those of a day */
        a->of[SECOND]++;
        a->base = (struct mfu_interval){86400 * a->base.low, 86400 * a->base.high};
    }
    while (*a->end == '/' && isalnum((unsigned char)a->end[1])
           && !mfu_digit(*mfu_claim_blanks(mfu_claim_word_end(a->end + 1))) /* "1.2M samples / batch 256" */
           && ((next = read_word(nouns, a->end + 1, -1, a)) || (next = read_other(nouns, a->end + 1, -1, a)))) {
        a->end = next;
        a->rate = true;
    }
    next = mfu_claim_subject(nouns->t, p);
    a->factor = n.bare
        && (stands(nouns->t, next, "factor") || stands(nouns->t, next, "rtf") || stands(nouns->t, next, "pue")
            || stands(nouns->t, mfu_claim_back(nouns->t, p), "every"));
    a->unit = false;
    for (int i = 0; i < NOUNS; i++) {
        a->rate |= a->of[i] < 0;
        a->unit |= a->of[i] > 0;
    }
    return true;
}

/* ---- what is told ---------------------------------------------------------------- */

struct computed {
    struct mfu_interval is, said;
    char left[80], right[80];
};

static bool overlap(struct mfu_interval a, struct mfu_interval b)
{
    return a.low <= b.high * (1 + 1e-9) && b.low <= a.high * (1 + 1e-9);
}

/* Keeps one pair: what contradicts before what holds. */
static void tell(struct mfu_audit *a, const struct computed *c)
{
    int n = a->n_claims;

    if (!(c->is.low >= 0 && c->is.high >= c->is.low && c->said.low >= 0 && c->said.high >= c->said.low)
        || n + 2 > MFU_CLAIMS)
        return;
    for (int i = 0; i + 1 < n; i++)
        if (a->claims[i].kind == MFU_Q_COMPUTED) {
            if (!overlap(a->claims[i].in, a->claims[i + 1].in) || overlap(c->is, c->said))
                return;
            memmove(&a->claims[i], &a->claims[i + 2], (size_t)(n - i - 2) * sizeof a->claims[0]);
            a->n_claims -= 2;
            break;
        }
    mfu_claim_add(a, MFU_Q_COMPUTED, MFU_BEFORE, c->is.low, c->is.high, "stated", "%s", c->left);
    mfu_claim_add(a, MFU_Q_COMPUTED, MFU_BEFORE, c->said.low, c->said.high, "stated", "%s", c->right);
}

static struct mfu_interval widen(struct mfu_interval x, double factor)
{
    return (struct mfu_interval){x.low / factor, x.high * factor};
}

/* ---- equations ------------------------------------------------------------------- */

/* A value in the units that are printed, and in base units. */
struct value {
    struct mfu_interval as[2];
    int seconds; /* their power */
    bool unit;   /* it has any unit */
};

struct equation {
    struct nouns nouns;
    int operations, operands;
    const char *figures[OPERANDS]; /* all of them */
    bool factor[OPERANDS];         /* no quantity of its own */
    int n;
};

static const char *read_sum(struct equation *e, const char *p, struct value *v);

/* A number with its words, or a sum in parentheses; NULL: neither. */
static const char *read_operand(struct equation *e, const char *p, struct value *v)
{
    struct amount a;
    const char *before;
    bool said = false;

    p = mfu_claim_blanks(p);
    if (e->operands++ == OPERANDS)
        return NULL;
    if (*p == '(') {
        p = read_sum(e, p + 1, v);
        return p && *p == ')' ? mfu_claim_blanks(p + 1) : NULL;
    }
    for (int i = 0; i < 3 && e->operations > 0 && mfu_alpha(*p); i++) /* "+ weights 14 GB" */
        p = mfu_claim_blanks(mfu_claim_word_end(p));
    if (!(mfu_digit(*p) || *p == '$') || !read_amount(&e->nouns, p, &a) || (a.times && e->operations == 0))
        return NULL;
    *v = (struct value){{a.printed, a.base}, a.of[SECOND], a.unit};
    before = mfu_claim_back(e->nouns.t, p);
    e->figures[e->n] = p;
    p = a.end;
    if (*p == '^' && mfu_digit(p[1])) {
        for (int i = 0; i < 2; i++)
            v->as[i] = (struct mfu_interval){pow(v->as[i].low, p[1] - '0'), pow(v->as[i].high, p[1] - '0')};
        p += 2;
    }
    for (int i = 0; i < 4; i++) {
        const char *word = mfu_claim_blanks(p);

        if (*word == '/' && mfu_alpha(word[1]))
            word++;
        if (*word == '(' && strcspn(word, "0123456789") > strcspn(word, ")")) { /* "2 (K and V)" */
            p = word + strcspn(word, ")") + 1;
            continue;
        }
        if (!mfu_alpha(*word) || mfu_claim_stands(word, "x"))
            break;
        while (mfu_claim_letter(*word))
            word++;
        p = word;
        said = true;
    }
    p = mfu_claim_blanks(p);
    e->factor[e->n++] = !said && !a.unit && a.printed.low == a.printed.high
        && (e->operations > 0 || strchr(":(", *before)) && *p && strchr("x+-/=)", *p);
    return p;
}

static const char *read_product(struct equation *e, const char *p, struct value *v)
{
    struct value b;

    p = read_operand(e, p, v);
    while (p && (mfu_claim_stands(p, "x") || *p == '/')) {
        bool over = *p == '/';

        e->operations++;
        if (!(p = read_operand(e, p + 1, &b)) || (over && !(b.as[0].low > 0 && b.as[1].low > 0)))
            return NULL;
        v->seconds += over ? -b.seconds : b.seconds;
        v->unit |= b.unit;
        for (int i = 0; i < 2; i++) {
            v->as[i].low *= over ? 1 / b.as[i].high : b.as[i].low;
            v->as[i].high *= over ? 1 / b.as[i].low : b.as[i].high;
        }
    }
    return p;
}

static const char *read_sum(struct equation *e, const char *p, struct value *v)
{
    struct value b;

    p = read_product(e, p, v);
    while (p && (*p == '+' || (*p == '-' && p[1] != '>'))) {
        bool less = *p == '-';

        e->operations++;
        if (!(p = read_product(e, p + 1, &b)))
            return NULL;
        for (int i = 0; i < 2; i++) {
            v->as[i].low += less ? -b.as[i].high : b.as[i].low;
            v->as[i].high += less ? -b.as[i].low : b.as[i].high;
        }
    }
    return p;
}

void mfu_claim_equations(struct mfu_audit *audit, struct mfu_claim_text *t)
{
    for (const char *p = t->text + 1; *p; p++) {
        struct equation e = {.nouns.t = t};
        struct value left, right;
        const char *equal, *end;
        const char *formula = mfu_claim_back(t, mfu_claim_back(t, p));
        struct computed c;
        bool about, times, bare;
        int way = -1;

        if ((*p != '(' && !mfu_digit(*p)) || mfu_claim_letter(p[-1]) || p[-1] == '.'
            || !(equal = read_sum(&e, p, &left)) || *equal != '=')
            continue;
        end = read_sum(&e, mfu_claim_skip_about(equal + 1, &about), &right);
        if (!end || e.operations == 0)
            continue;
        times = mfu_claim_formula(t, formula) > 0;
        bare = left.unit && left.seconds == 0 && !(*e.figures[0] == *formula && strchr(" x", e.figures[0][1]));
        for (int i = times && bare ? 4 : 0; i < 8 && way < 0; i++) { /* "6ND: 8B x 15T", "6ND = 6 x 8B x 15T" */
            for (int k = 0; k < 2 && i == 4 && times; k++) {
                left.as[k].low *= *formula - '0';
                left.as[k].high *= *formula - '0';
            }
            if (overlap(left.as[i / 2 % 2], widen(right.as[i % 2], about ? 1.1 : 1)))
                way = i % 4;
        }
        if (way < 0 && left.unit && right.unit && left.seconds != right.seconds) /* the left side begins before it */
            continue;
        c.is = left.as[way < 0 ? 1 : way / 2];
        c.said = widen(right.as[way < 0 ? 1 : way % 2], about ? 1.1 : 1);
        mfu_claim_text_quote(t, p, equal, c.left, sizeof c.left);
        mfu_claim_text_quote(t, mfu_claim_blanks(equal + 1), end, c.right, sizeof c.right);
        tell(audit, &c);
        for (int i = 0; i < e.n; i++) {
            t->used[e.figures[i] - t->text] = t->operand[e.figures[i] - t->text] = true;
            t->taken[e.figures[i] - t->text] |= e.factor[i];
        }
        mfu_claim_use(t, p, end);
        p = equal; /* what is right of it may be left of another */
    }
}

/* ---- units that cancel ---------------------------------------------------------------- */

struct terms {
    struct nouns nouns;
    struct amount list[TERMS];
    bool inert[NOUNS]; /* counted nouns of one amount only: nothing can cancel them */
    int n;
};

/* The counted noun of an amount above the line; NOUNS: none. */
static int noun_of(const struct amount *a)
{
    for (int k = NOUNS; k-- > TOKEN;)
        if (a->of[k] > 0)
            return k;
    return NOUNS;
}

/* Which noun that another amount counts stands at `p`; NOUNS: none. */
static int counted_noun(const struct terms *x, const char *p, int but)
{
    struct amount a = {.base = {1, 1}};
    struct nouns nouns = x->nouns;
    int noun, n = nouns.n;

    if (!read_word(&nouns, p, 1, &a) && !read_other(&nouns, p, 1, &a))
        return NOUNS;
    noun = noun_of(&a);
    for (int i = 0; i < x->n && nouns.n == n; i++)
        if (i != but && noun < NOUNS && x->list[i].of[noun] > 0)
            return noun;
    return NOUNS;
}

/* "A sample is 110 kB", "16 shards of 2 GB", "25 requests/s, 400 tokens each": of what one has it; NOUNS: not said. */
static int one_has(const struct terms *x, int i)
{
    const struct mfu_claim_text *t = x->nouns.t;
    const struct amount *a = &x->list[i];
    const char *p = mfu_claim_back(t, a->at);
    int noun;

    if (i > 0 && (stands(t, p, "of") || stands(t, p, "with")) && x->list[i - 1].end >= mfu_claim_back(t, p)
        && x->list[i - 1].end <= p) {
        p = mfu_claim_back(t, p);
        return p[-1] == '/' && !stands(t, p, "s") ? counted_noun(x, p, i) : noun_of(&x->list[i - 1]);
    }
    if (i > 0 && stands(t, mfu_claim_blanks(a->end), "each"))
        return noun_of(&x->list[i - 1]);
    for (p = a->at; p > t->text;) { /* back to where the sentence begins */
        const char *word = mfu_claim_back(t, p), *before = mfu_claim_back(t, word);
        bool one = stands(t, mfu_claim_word_end(word) + 1, "average");

        if (word >= p || strchr(".;:,(", *word) || mfu_digit(*word))
            break;
        for (int k = 0; k < 2 && !one && !mfu_digit(*before); k++, before = mfu_claim_back(t, before))
            one |= mfu_claim_one_of("a|an|one|1|each|every|single|average|mean|typical", before) > 0;
        if (one && (noun = counted_noun(x, word, i)) < NOUNS)
            return noun;
        p = word;
    }
    return NOUNS;
}

/* How many of the counted nouns are left over where all the other units cancel; -1: they do not. */
static int left_over(const struct terms *x, const int power[TERMS])
{
    int n = 0;

    for (int k = 0; k < NOUNS; k++) {
        int sum = 0;

        for (int i = 0; i < x->n; i++)
            sum += power[i] * x->list[i].of[k];
        if (x->inert[k])
            continue;
        if (sum != 0 && (k < COUNTED || sum * sum > 1))
            return -1;
        n += sum != 0;
    }
    return n > 1 ? -1 : n;
}

/* Whether one sentence says all of it. */
static bool one_sentence(const struct terms *x, const int power[TERMS])
{
    const char *from = NULL, *to = NULL;

    for (int i = 0; i < x->n; i++)
        if (power[i] != 0) {
            from = from ? from : x->list[i].end;
            to = x->list[i].at;
        }
    for (; from && from < to; from++)
        if (*from == ';' || (*from == '.' && from[1] == ' '))
            return false;
    return true;
}

static bool follows(const struct terms *x, int a, int b)
{
    for (const char *p = x->list[a].end; p < x->list[b].at; p++)
        if (!mfu_claim_letter(p[-1]) && mfu_claim_role(p) & (MFU_W_HENCE | MFU_W_EQUALS))
            return true;
    return false;
}

/* What the last of them is by the others. */
static struct computed compute(const struct terms *x, const int power[TERMS])
{
    struct computed c = {.is = {1, 1}};
    int last = x->n - 1;
    bool about;
    size_t n = 0;

    while (power[last] == 0)
        last--;
    for (int over = 0; over < 2; over++)
        for (int i = 0; i < last; i++) {
            struct mfu_interval in = x->list[i].base;
            char said[40];

            if (power[i] * power[last] != (over ? 1 : -1))
                continue;
            c.is.low *= over ? 1 / in.high : in.low;
            c.is.high *= over ? 1 / in.low : in.high;
            mfu_claim_text_quote(x->nouns.t, x->list[i].at, x->list[i].end, said, sizeof said);
            if (n < sizeof c.left)
                n += (size_t)snprintf(c.left + n, sizeof c.left - n, "%s%s", over ? " / " : n > 0 ? " x " : "", said);
        }
    mfu_claim_skip_about(mfu_claim_back(x->nouns.t, x->list[last].at), &about);
    c.said = widen(x->list[last].base, about ? 1.1 : 1);
    if (mfu_claim_roles_before(x->nouns.t, x->list[last].at) & MFU_W_LEAST)
        c.said.high = INFINITY;
    if (mfu_claim_roles_before(x->nouns.t, x->list[last].at) & MFU_W_MOST)
        c.said.low = 0;
    mfu_claim_text_quote(x->nouns.t, x->list[last].at, x->list[last].end, c.right, sizeof c.right);
    return c;
}

/* Whether only its unit says what the claim takes it for. */
static bool guessed(const struct mfu_audit *a, const struct mfu_claim_text *t, const struct amount *x)
{
    for (int i = 0; i < a->n_claims; i++)
        if ((a->claims[i].guessed || a->claims[i].inferred) && t->text + a->claims[i].at == x->at)
            return true;
    return false;
}

/* Whether it explains every figure of its sentence that nothing else does (strict: every one). */
static bool is_all(const struct mfu_audit *a, const struct terms *x, const int power[TERMS], bool strict)
{
    int between[TERMS] = {0};

    for (int i = 0; i < x->n; i++) {
        const struct amount *t = &x->list[i];

        if (noun_of(t) >= OTHERS && (t->idle || (noun_of(t) < NOUNS && x->inert[noun_of(t)])))
            continue; /* "the two sites", "at 24 fps" */
        for (int k = 0; k < x->n && power[i] == 0 && (strict || t->foreign || guessed(a, x->nouns.t, t)); k++)
            if (power[k] != 0 && t->unit && t->of[PARAMETER] == 0) {
                memset(between, 0, sizeof between);
                between[i] = between[k] = 1;
                if (one_sentence(x, between))
                    return false;
            }
    }
    return true;
}

/* Whether it can be one of a product. */
static bool is_term(const struct amount *a)
{
    return !a->share && !a->times && !a->idle && (a->unit || a->factor);
}

/* Whether no other amount could stand for one of them, and the last is told as what follows. */
static bool is_clear(const struct terms *x, const int power[TERMS])
{
    int last = x->n - 1, before;

    while (power[last] == 0)
        last--;
    for (int i = 0; i < x->n; i++)
        for (int k = 0; power[i] != 0 && k < x->n; k++)
            if (k != i && is_term(&x->list[k]) && memcmp(x->list[i].of, x->list[k].of, sizeof x->list[i].of) == 0)
                return false;
    for (before = last - 1; before > 0 && power[before] == 0;)
        before--;
    return follows(x, before, last);
}

struct search {
    const struct mfu_audit *audit;
    struct terms *x;
    int power[TERMS], found_power[TERMS], best, factors;
    bool exact;      /* no noun may be left over */
    bool strict;     /* and it must hold */
    bool collective; /* the traffic is up to twice the data, and of all GPUs */
    struct computed found;
};

/* All products of up to four of the terms, `from` on. */
static void search(struct search *s, int from)
{
    struct terms *x = s->x;
    int rates = 0, left;

    if (s->factors >= 2 && (left = left_over(x, s->power)) >= 0 && !(left > 0 && s->exact)) {
        for (int i = 0; i < x->n; i++)
            rates += s->power[i] != 0 && (x->list[i].rate || x->list[i].factor);
        for (int i = 0; i < x->n && s->collective; i++)
            rates = s->power[i] != 0 && x->list[i].of[GPU] > 0 && !x->list[i].rate ? INT_MIN : rates;
        if (rates > 0 && s->factors > 2) {
            struct computed c = compute(x, s->power);
            bool holds = overlap(c.is, c.said);

            for (int i = 0; i < x->n && !holds; i++) /* "for 2 epochs" */
                if (x->list[i].idle && x->list[i].of[EPOCH] > 0 && left == 0) {
                    struct mfu_interval all = {c.is.low * x->list[i].base.low, c.is.high * x->list[i].base.high};

                    if ((holds = overlap(all, c.said)))
                        c.is = all;
                }
            if (s->collective && !holds && overlap(widen(c.is, 2.2), c.said))
                return;
            bool bound = isinf(c.said.high) || c.said.low == 0;
            int rank = 100 * holds - 10 * left - s->factors;

            if (((holds && !bound)
                 || (!s->strict && (one_sentence(x, s->power) || (left == 0 && is_clear(x, s->power)))
                     && is_all(s->audit, x, s->power, bound && holds)))
                && rank > s->best) {
                s->best = rank;
                s->found = c;
                memcpy(s->found_power, s->power, sizeof s->power);
            }
        }
    }
    if (s->factors == 4)
        return;
    for (int i = from; i < x->n; i++) {
        if (s->power[i] != 0 || !is_term(&x->list[i]))
            continue;
        for (int p = -1; p <= 1; p += 2) {
            s->power[i] = p;
            s->factors++;
            search(s, i + 1);
            s->factors--;
        }
        s->power[i] = 0;
    }
}

/* "1.6B tokens/hour, i.e. 444k tokens/s": the same twice. */
static void search_same(struct search *s, int i)
{
    for (int a = i > 0 ? i - 1 : 0; a <= i && a + 1 < s->x->n && s->best == INT_MIN; a++) {
        int power[TERMS] = {0};

        power[a] = 1;
        power[a + 1] = -1;
        if (left_over(s->x, power) != 0) /* "50 tokens/s, i.e. 20 ms/token" */
            power[a + 1] = 1;
        if (left_over(s->x, power) != 0 || !s->x->list[a].rate || !(s->x->n == 2 || follows(s->x, a, a + 1)))
            continue;
        s->found = compute(s->x, power);
        s->power[a] = s->power[a + 1] = 1;
        s->best = 0;
    }
}

/* Whether it is more than a count. */
static bool physical(const struct amount *a)
{
    for (int k = 0; k < COUNTED; k++)
        if (a->of[k] > 0)
            return true;
    return false;
}

/* "936 GB/s, of which 200 are used, 21 %": a percentage or a factor of the two like amounts beside it. */
static void search_ratio(struct search *s, int i)
{
    const struct mfu_claim_text *t = s->x->nouns.t;
    struct amount *n = &s->x->list[i], *a, *b;
    int first = i >= 2 ? i - 2 : i == 1 && s->x->n > 2 ? 0 : -1;
    bool change = false, share = stands(t, mfu_claim_blanks(n->end), "of"),
         of = share && i + 2 < s->x->n; /* "67 % of 96, so 64" */
    struct mfu_interval r, ways[3];

    if (share && i > 0 && i + 1 < s->x->n /* "0.99 GB/s, half of the 2 GB/s" */
        && memcmp(s->x->list[i - 1].of, s->x->list[i + 1].of, sizeof n->of) == 0 && s->x->list[i - 1].unit)
        first = i - 1, of = false;
    first = of ? i + 1 : first;
    if (first < 0)
        return;
    a = &s->x->list[first];
    b = &s->x->list[first + 1 == i ? i + 1 : first + 1];
    if (!b->unit && !b->share && !b->times && b->base.low * 20 > a->printed.low && b->base.low < a->printed.low * 20) {
        double factor = a->base.high / a->printed.high; /* "1979 TFLOP/s, twice the 989 of BF16" */

        b->base = (struct mfu_interval){b->printed.low * factor, b->printed.high * factor};
        memcpy(b->of, a->of, sizeof b->of);
    }
    if (!a->unit || !(a->base.low > 0 && b->base.low > 0)
        || memcmp(a->of, b->of, of || !physical(a) ? sizeof a->of : COUNTED) != 0)
        return;
    memset(s->power, 0, sizeof s->power);
    s->power[first] = s->power[i] = s->power[b - s->x->list] = 1;
    memcpy(s->found_power, s->power, sizeof s->power);
    for (const char *p = a->at; p < n->end + 16 && *p; p = mfu_claim_word_end(p))
        change |= (mfu_claim_role(p) & (MFU_W_MORE | MFU_W_LESS | MFU_W_UP | MFU_W_DOWN)) != 0;
    r = (struct mfu_interval){a->base.low / b->base.high, a->base.high / b->base.low};
    if (r.high < 1)
        r = (struct mfu_interval){1 / r.high, 1 / r.low};
    ways[0] = r;                                                     /* so many times */
    ways[1] = (struct mfu_interval){1 / r.high, 1 / r.low};          /* a share */
    ways[2] = (struct mfu_interval){fmax(0, r.low - 1), r.high - 1}; /* so much more */
    if (n->share && change)
        ways[0] = (struct mfu_interval){fmax(0, 1 - ways[1].high), 1 - ways[1].low};
    s->found = (struct computed){.is = n->times ? ways[0] : ways[1], .said = n->base};
    for (int k = 0; k < 3 && n->share && change; k++)
        if (overlap(ways[k], n->base))
            s->found.is = ways[k];
    s->best = 0;
    mfu_claim_text_quote(t, a->at < b->at ? a->at : b->at, a->at < b->at ? b->end : a->end, s->found.left,
                         sizeof s->found.left);
    mfu_claim_text_quote(t, n->at, n->end, s->found.right, sizeof s->found.right);
}

/* Its claims are those of one relation that holds, if that says of what one has an amount: who took it for all was
 * wrong. */
static void relate(struct mfu_audit *a, const struct search *s, const struct mfu_claim_text *t, unsigned relation)
{
    bool each = false;

    for (int i = 0; i < s->x->n; i++)
        for (int k = TOKEN; k < NOUNS; k++)
            each |= s->found_power[i] != 0 && k != GPU && s->x->list[i].of[k] < 0;
    if (!each)
        return;
    for (int i = 0; i < a->n_claims; i++)
        for (int k = 0; k < s->x->n; k++)
            if (s->found_power[k] != 0 && a->claims[i].at > 0 && t->text + a->claims[i].at == s->x->list[k].at)
                a->claims[i].relations |= relation;
}

/* What the units explain was not what its unit alone was taken for; what more says stays, and is bound. */
static void drop_guesses(struct mfu_audit *a, const struct search *s, const struct mfu_claim_text *t)
{
    int n = 0;

    for (int i = 0; i < a->n_claims; i++) {
        bool drop = false;

        for (int k = 0; k < s->x->n; k++) {
            bool here = t->text + a->claims[i].at == s->x->list[k].at;

            a->claims[i].computed |= here && (s->found_power[k] != 0 || s->power[k] != 0);
            drop |= here && s->found_power[k] != 0 && (a->claims[i].guessed || a->claims[i].inferred)
                && !(a->claims[i].kind == MFU_Q_PARAMS && s->x->list[k].of[PARAMETER] > 0)
                && !(a->claims[i].kind == MFU_Q_TOKENS && s->x->list[k].of[TOKEN] > 0);
        }
        if (!drop)
            a->claims[n++] = a->claims[i];
    }
    a->n_claims = n;
}

/* "weights 14 GB, gradients 14 GB and Adam 56 GB: 84 GB in all": three or more like amounts and their sum. */
static void find_sums(struct mfu_audit *audit, struct mfu_claim_text *t, struct terms *x)
{
    for (int i = 3; i < x->n; i++) {
        struct search s = {.audit = audit, .x = x, .power = {0}};
        struct amount *all = &x->list[i];
        struct computed c = {.said = all->base};
        const char *before = mfu_claim_back(t, all->at);
        int from = i;

        if (!physical(all) || all->rate || !strchr(":=", *before) || !stands(t, mfu_claim_blanks(all->end), "total"))
            continue;
        s.power[i] = 1;
        for (; from > 0; from--) {
            s.power[from - 1] = 1;
            if (memcmp(x->list[from - 1].of, all->of, sizeof all->of) != 0 || !one_sentence(x, s.power))
                break;
            c.is.low += x->list[from - 1].base.low;
            c.is.high += x->list[from - 1].base.high;
        }
        s.power[from > 0 ? from - 1 : 0] = from == 0;
        if (i - from < 3)
            continue;
        mfu_claim_text_quote(t, x->list[from].at, x->list[i - 1].end, c.left, sizeof c.left);
        mfu_claim_text_quote(t, all->at, all->end, c.right, sizeof c.right);
        memcpy(s.found_power, s.power, sizeof s.power);
        tell(audit, &c);
        drop_guesses(audit, &s, t);
        for (int k = from; k <= i; k++) {
            x->list[k].foreign = false;
            mfu_claim_use(t, x->list[k].at, x->list[k].end);
        }
    }
}

void mfu_claim_units(struct mfu_audit *audit, struct mfu_claim_text *t)
{
    struct terms x = {.nouns.t = t};
    int relations = 0;
    bool collective = mfu_claim_is_collective(t);

    for (const char *p = t->text + 1; *p && x.n < TERMS;) {
        if ((mfu_digit(*p) || *p == '$') && !(t->taken[p - t->text] && !t->operand[p - t->text])
            && read_amount(&x.nouns, p, &x.list[x.n]))
            p = x.list[x.n++].end;
        else
            p++;
    }
    for (int i = 0; i < x.n; i++) {
        int noun = one_has(&x, i);

        if (noun < NOUNS && x.list[i].of[noun] == 0 && x.list[i].unit && !x.list[i].share && !x.list[i].times) {
            x.list[i].of[noun] = -1;
            x.list[i].rate = true;
        }
    }
    for (int k = SEQUENCE; k < NOUNS; k++) {
        int n = 0;

        for (int i = 0; i < x.n; i++)
            n += x.list[i].of[k] != 0;
        x.inert[k] = n == 1 && k != GPU; /* an amount per GPU often does not say so */
    }
    for (int i = 0; i < x.n; i++) { /* what has nothing but such is a term of nothing */
        bool live = false;

        for (int k = 0; k < NOUNS; k++)
            live |= x.list[i].of[k] != 0 && !x.inert[k];
        x.list[i].idle = !live && !x.list[i].factor;
    }
    find_sums(audit, t, &x);
    for (int i = 0; i < x.n; i++) {
        struct search s = {.audit = audit, .x = &x, .best = INT_MIN};
        bool ratio = x.list[i].share || x.list[i].times, guess = guessed(audit, t, &x.list[i]);

        if (!(ratio ? x.list[i].foreign || guess : x.list[i].unit && !x.list[i].idle))
            continue;
        s.strict = (!x.list[i].foreign && !guess);
        s.collective = collective;
        s.exact = guess || s.strict;
        s.power[i] = 1;
        s.factors = 1;
        if (ratio)
            search_ratio(&s, i);
        else
            search(&s, 0);
        if (s.best == INT_MIN && !ratio && !s.strict) {
            memset(s.power, 0, sizeof s.power);
            search_same(&s, i);
        }
        if (s.best == INT_MIN || (guess && !overlap(s.found.is, s.found.said)))
            continue;
        tell(audit, &s.found);
        if (overlap(s.found.is, s.found.said) && relations < 32)
            relate(audit, &s, t, 1U << relations++);
        drop_guesses(audit, &s, t);
        for (int k = 0; k < x.n; k++)
            if (s.found_power[k] != 0 || s.power[k] != 0 || k == i)
                mfu_claim_use(t, x.list[k].at, x.list[k].end);
    }
}
