/* claim_number.c - digits, a scale and a unit. */
#include "answer/audit/reading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FLOPS 1e22 /* no cluster computes more in a second: what does is said of a run */
#define N(list) (sizeof(list) / sizeof(list)[0])

// clang-format off
/* Of a count: so many times as many. */
static const struct unit { const char *name; enum mfu_dim dim; double factor; } units[] = {
    {"kwh/day", MFU_WATTS, 1e3 / 24}, {"mwh/day", MFU_WATTS, 1e6 / 24}, {"kwh/month", MFU_WATTS, 3.6e6 / 2629800}, {"mwh/month", MFU_WATTS, 3.6e9 / 2629800}, {"mwh/year", MFU_WATTS, 3.6e9 / 31557600}, {"gwh/year", MFU_WATTS, 3.6e12 / 31557600}, /* drawn on average */
    {"wh", MFU_COUNT, 1e-3}, {"kwh", MFU_COUNT, 1}, {"mwh", MFU_COUNT, 1e3}, {"gwh", MFU_COUNT, 1e6},
    {"%", MFU_RATIO, 0.01}, {"percent", MFU_RATIO, 0.01}, {"pct", MFU_RATIO, 0.01},
    {"x", MFU_COUNT, 1}, {"time", MFU_COUNT, 1}, {"fold", MFU_COUNT, 1},
    {"byte", MFU_BYTES, 1}, {"kb", MFU_BYTES, 1e3}, {"mb", MFU_BYTES, 1e6}, {"gb", MFU_BYTES, 1e9}, {"tb", MFU_BYTES, 1e12},
    {"kib", MFU_BYTES, 0x1p10}, {"mib", MFU_BYTES, 0x1p20}, {"gib", MFU_BYTES, 0x1p30}, {"tib", MFU_BYTES, 0x1p40},
    {"kbit", MFU_BYTES, 125}, {"mbit", MFU_BYTES, 125e3}, {"gbit", MFU_BYTES, 125e6}, {"tbit", MFU_BYTES, 125e9},
    {"us", MFU_SECONDS, 1e-6}, {"ms", MFU_SECONDS, 1e-3}, {"s", MFU_SECONDS, 1},
    {"min", MFU_SECONDS, 60}, {"minute", MFU_SECONDS, 60}, {"h", MFU_SECONDS, 3600}, {"hour", MFU_SECONDS, 3600},
    {"d", MFU_SECONDS, 86400}, {"day", MFU_SECONDS, 86400}, {"week", MFU_SECONDS, 604800}, {"month", MFU_SECONDS, 2629800}, {"year", MFU_SECONDS, 31557600},
    {"flop/s day", MFU_FLOP, 86400}, {"flop/s", MFU_FLOP_PER_S, 1}, {"flops/s", MFU_FLOP_PER_S, 1}, {"flops", MFU_FLOP_PER_S, 1}, {"flop", MFU_FLOP, 1},
    {"w", MFU_WATTS, 1}, {"kw", MFU_WATTS, 1e3}, {"mw", MFU_WATTS, 1e6}};
static const struct { const char *name; double factor; } prefixes[] = {
    {"kilo", 1e3}, {"mega", 1e6}, {"giga", 1e9}, {"tera", 1e12}, {"peta", 1e15}, {"exa", 1e18}, {"zetta", 1e21}, {"yotta", 1e24}};
static const struct { const char *name; double factor; } numerals[] = {
    {"k", 1e3}, {"m", 1e6}, {"mn", 1e6}, {"b", 1e9}, {"bn", 1e9}, {"t", 1e12}, {"hundred", 1e2}, {"thousand", 1e3}, {"million", 1e6}, {"billion", 1e9}, {"trillion", 1e12}};
// clang-format on

const char *mfu_claim_blanks(const char *p)
{
    return p + strspn(p, " ");
}

/* "T" and "tera" before FLOP. */
static size_t read_prefix(const char *p, enum mfu_dim dim, double *factor)
{
    *factor = 1;
    for (size_t k = 0; k < N(prefixes) && (dim == MFU_FLOP || dim == MFU_FLOP_PER_S); k++)
        for (size_t n = strlen(prefixes[k].name); n > 0; n = n > 1 ? 1 : 0)
            if (strncmp(p, prefixes[k].name, n) == 0) {
                size_t blank = n > 1 && p[n] == ' ';

                if (strncmp(p + n + blank, "flop", 4) == 0) {
                    *factor = prefixes[k].factor;
                    return n + blank;
                }
            }
    return 0;
}

bool mfu_claim_is_factor(const char *p)
{
    return p[-1] == ' ' && p[-2] == 'x' && p[-3] == ' ';
}

/* What stands between a number and FLOP/s, behind it; `p` where nothing does: "756 dense bf16 TFLOPS". */
static const char *skip_adjectives(const char *p)
{
    const char *behind = p;
    double factor;

    for (size_t n; (n = mfu_claim_one_of("dense|sparse|bf16|fp16|fp8|tf32|fp32|training|total|model", behind)) > 0;)
        behind = mfu_claim_blanks(behind + n);
    return strncmp(behind + read_prefix(behind, MFU_FLOP, &factor), "flop", 4) == 0 ? behind : p;
}

static void read_unit(struct mfu_claim_number *n)
{
    const char *p = skip_adjectives(mfu_claim_blanks(n->end));

    for (size_t i = 0; i < N(units); i++) {
        double factor;
        size_t length = strlen(units[i].name), before = read_prefix(p, units[i].dim, &factor);
        const char *end = p + before + length;

        if (!mfu_claim_stands(p + before, units[i].name) || *end == '^' /* 12 d^2 */
            || (units[i].dim == MFU_COUNT && length == 1                /* 4 x 16 */
                && (mfu_digit(*mfu_claim_blanks(end)) || *mfu_claim_blanks(end) == '(' || mfu_claim_is_factor(n->at))))
            continue;
        n->end = end;
        n->dim = units[i].dim;
        n->factor = factor * units[i].factor;
        if (n->dim == MFU_BYTES && mfu_claim_stands(end, "/s")) { /* no memory */
            n->dim = MFU_BYTES_PER_S;
            n->end = end + 2;
        }
        n->percent = n->dim == MFU_RATIO;
        n->energy = n->dim == MFU_COUNT && end[-1] == 'h';
        n->times = n->dim == MFU_COUNT && !n->energy;
        n->any_flop = (n->dim == MFU_FLOP || n->dim == MFU_FLOP_PER_S) && !memchr(p, '/', before + length);
        if (n->any_flop && n->value * n->factor > MOST_FLOPS)
            n->dim = MFU_FLOP;
        n->bare = false;
        return;
    }
    for (size_t i = 0; i < N(numerals); i++)
        if (mfu_claim_stands(p, numerals[i].name)) {
            n->end = p + strlen(numerals[i].name);
            n->factor = numerals[i].factor;
            n->dim = MFU_PARAMS;
            n->kilo = numerals[i].factor == 1e3;
            n->whole = n->bare = false;
            n->half = fmin(n->half, 0.1 * n->value); /* 1T is not half of one */
            return;
        }
}

/* "3 min 20 s": a number of a lesser unit belongs to it. */
static void add_rest(const char *text, struct mfu_claim_number *n)
{
    const char *p = mfu_claim_blanks(n->end);
    struct mfu_claim_number rest;

    if (mfu_claim_stands(p, "and"))
        p = mfu_claim_blanks(p + 3);
    if (!mfu_claim_number(text, p, &rest) || rest.dim != MFU_SECONDS || rest.factor >= n->factor)
        return;
    n->value += rest.value * rest.factor / n->factor;
    n->half = rest.half * rest.factor / n->factor;
    n->end = rest.end;
}

bool mfu_claim_number(const char *text, const char *p, struct mfu_claim_number *n)
{
    const char *digits = p + (*p == '$');
    size_t whole = strspn(digits, "0123456789"), decimals = 0, length = whole, zeros = 0;
    double scale = 1;
    bool fraction = false;
    char *end;

    if (p > text && (mfu_claim_letter(p[-1]) || p[-1] == '.' || p[-1] == '$'))
        return false;
    if (whole == 0 || whole > 18 || (p > text && p[-1] == '^'))
        return false;
    *n = (struct mfu_claim_number){.at = p, .money = *p == '$', .factor = 1, .bare = true, .dim = MFU_COUNT};
    n->value = strtod(digits, &end);
    if (digits[whole] == '.' && mfu_digit(digits[whole + 1])) {
        decimals = strspn(digits + whole + 1, "0123456789");
        length = whole + 1 + decimals;
    }
    n->whole = decimals == 0;
    n->end = digits + length;
    if (decimals > 0 && *n->end == '.' && mfu_digit(n->end[1])) /* 2.5.1 */
        return false;
    if (end > n->end && mfu_digit(end[-1]) && !mfu_claim_letter(*end)) { /* 3.8e25 */
        scale = pow(10, strtol(n->end + 1, NULL, 10));
        n->end = end;
        n->whole = false;
    } else {
        char text_of[40];

        snprintf(text_of, sizeof text_of, "%.*s", (int)length, digits);
        n->value = strtod(text_of, NULL);
        p = mfu_claim_blanks(n->end);
        if (*p == 'x' && strncmp(p = mfu_claim_blanks(p + 1), "10^", 3) == 0 && mfu_digit(p[3])) {
            scale = pow(10, strtol(p + 3, &end, 10));
            n->value *= scale;
            n->end = end;
            n->whole = false;
        }
    }
    if (!(fabs(n->value) < 1e30))
        return false;
    if (*n->end == '/' && n->whole && mfu_digit(n->end[1])) { /* 3/11 */
        double below = strtod(n->end + 1, &end);

        if (below > n->value && !mfu_claim_letter(*end) && !strchr("./", *end ? *end : ' ')) {
            n->value /= below;
            n->end = end;
            n->whole = false;
            fraction = true;
        }
    }
    while (decimals == 0 && zeros + 2 < whole && digits[whole - 1 - zeros] == '0')
        zeros++;
    n->half = fraction ? 0.005 * n->value : 0.5 * scale * pow(10, (double)zeros - (double)decimals);
    p = mfu_claim_blanks(n->end);
    if (strncmp(p, "x ", 2) == 0 && mfu_alpha(p[2]) && !mfu_claim_letter(p[3])
        && !mfu_claim_letter(*mfu_claim_blanks(p + 3) == 'x' ? ' ' : *mfu_claim_blanks(p + 3))) /* 12 x l */
        return false;
    read_unit(n);
    n->half = n->dim == MFU_BYTES && n->factor == 1 && n->whole
        ? 0
        : fmin(n->half, 0.2 * n->value); /* 2x is not one and a half */
    if (n->bare && mfu_claim_letter(*n->end) && !(mfu_claim_letter(n->end[1]) && mfu_claim_letter(n->end[2])))
        return false; /* 6ND, 2nd: a formula, or which one */
    if (n->percent)
        n->half = 0.5 * pow(10, -(double)decimals);
    if (n->dim == MFU_SECONDS && n->factor >= 60)
        add_rest(text, n);
    p = mfu_claim_blanks(n->end);
    if (n->bare && mfu_claim_letter(*p)
        && (p[1] == '^'
            || (mfu_claim_stands(p, "x") && mfu_alpha(p[2]) && !mfu_claim_letter(p[3])))) /* 12 d^2, 12 x l */
        return false;
    if (mfu_claim_stands(p, "dollar")) {
        n->money = true;
        n->end = p + 6;
    } else if (n->bare && (mfu_claim_stands(p, "cent") || mfu_claim_stands(p, "ct"))) {
        n->money = true;
        n->factor = 0.01;
        n->end = p + (p[1] == 'e' ? 4 : 2);
    }
    n->of_sequences = mfu_claim_stands(p, "sequence") && p[8] != '/' && !n->percent && !n->times;
    n->of_tokens = mfu_claim_stands(p, "token") && p[5] != '/' && !n->percent && !n->times;
    return true;
}

bool mfu_claim_same_unit(struct mfu_claim_number *a, struct mfu_claim_number *b)
{
    if (a->bare && !b->bare) {
        a->factor = b->factor;
        a->dim = b->dim;
        a->percent = b->percent;
        a->times = b->times;
        a->any_flop = b->any_flop;
        a->kilo = b->kilo;
        a->bare = false;
        a->whole = b->whole;
        if (a->percent)
            a->half = fmin(a->half, 0.5);
    }
    return a->dim == b->dim && a->bare == b->bare && a->times == b->times;
}
