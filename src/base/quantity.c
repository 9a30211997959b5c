/*
 * quantity.c - numbers with units, as people read and write them.
 *
 * Prefixes, units and dimensions are data.  A word such as "TFLOP/s" is
 * understood by a dimension when it is one of its units after one of its
 * prefixes, and each of the two may be absent.
 */
#include "base/quantity.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define LARGEST 1e30    /* more is a slip of the finger */
#define SMALLEST 1e-300 /* less is nothing: powers of ten end near */

/* What a prefix or a unit stands for; lists end with a NULL. */
struct scale {
    const char *name;
    double factor;
};

// clang-format off

/* Prefixes used when writing go up. */
static const struct scale si[] = {
    {"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15},
    {"E", 1e18}, {NULL, 0},
};
static const struct scale iec[] = {
    {"", 1}, {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40},
    {"Pi", 0x1p50}, {NULL, 0},
};
static const struct scale count[] = {
    {"", 1}, {"k", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}, {NULL, 0},
};
static const struct scale tokens[] = {
    {"", 1}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}, {NULL, 0},
};
static const struct scale seconds[] = {
    {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60},
    {"h", 3600}, {"d", 86400}, {NULL, 0},
};
static const struct scale percent[] = {{"%", 0.01}, {NULL, 0}};

/* Prefixes that are only read. */
static const struct scale plain[] = {{"K", 1e3}, {"G", 1e9}, {NULL, 0}};
static const struct scale binary_k[] = {{"k", 1024}, {"G", 1e9}, {NULL, 0}};
static const struct scale micro[] = {
    {"", 1}, {"\u00b5s", 1e-6}, {"\u03bcs", 1e-6}, {NULL, 0},
};
static const struct scale none[] = {{"", 1}, {NULL, 0}};

/* Units, the one that is written first; "" says that it may be left out. */
static const struct scale bytes[] = {{"B", 1}, {"", 1}, {NULL, 0}};
static const struct scale bytes_per_s[] = {
    {"B/s", 1}, {"", 1}, {"bit/s", 0.125}, {NULL, 0},
};
static const struct scale flop[] = {
    {"FLOP", 1}, {"", 1}, {"FLOPs", 1}, {"OP", 1}, {"OPs", 1}, {NULL, 0},
};
static const struct scale flop_per_s[] = {
    {"FLOP/s", 1}, {"", 1}, {"FLOPS", 1}, {"FLOPs/s", 1}, {"OP/s", 1},
    {"OPS", 1}, {"OPs/s", 1}, {NULL, 0},
};
static const struct scale hertz[] = {{"Hz", 1}, {"", 1}, {NULL, 0}};
static const struct scale watts[] = {{"W", 1}, {"", 1}, {NULL, 0}};

static const struct dimension {
    const char *unit;           /* the base unit, for scripts */
    const struct scale *units;
    const struct scale *out;    /* prefixes used when writing, and read */
    const struct scale *in;     /* prefixes that are only read */
    int digits;                 /* significant ones, when writing */
    bool in_full;               /* written in full below a million */
    bool any_case;              /* read in any case: no unit differs by it */
    const char *help;
} dims[MFU_DIM_END] = {
    [MFU_COUNT]       = {"",       none,        count,   plain,    4, true,  false, "a number such as 8 or 1.5k"},
    [MFU_PARAMS]      = {"",       none,        count,   plain,    4, true,  true,  "a parameter count such as 350M or 7B"},
    [MFU_TOKENS]      = {"",       none,        tokens,  binary_k, 4, true,  true,  "a token count such as 4096, 8k or 10B"},
    [MFU_BYTES]       = {"B",      bytes,       iec,     si,       4, false, true,  "a size such as 80GiB or 512MB"},
    [MFU_BYTES_PER_S] = {"B/s",    bytes_per_s, si,      iec,      4, false, false, "a bandwidth such as 3.35TB/s or 400Gbit/s"},
    [MFU_FLOP]        = {"FLOP",   flop,        si,      none,     4, false, true,  "an amount of work such as 850MFLOP"},
    [MFU_FLOP_PER_S]  = {"FLOP/s", flop_per_s,  si,      none,     4, false, true,  "a rate such as 989TFLOP/s"},
    [MFU_SECONDS]     = {"s",      none,        seconds, micro,    4, false, false, "a time such as 2.5ms, 40us or 3h"},
    [MFU_RATIO]       = {"",       none,        percent, none,     3, false, false, "a ratio such as 0.47 or 47%"},
    [MFU_HERTZ]       = {"Hz",     hertz,       si,      none,     4, false, false, "a frequency such as 2475MHz or 1.98GHz"},
    [MFU_WATTS]       = {"W",      watts,       si,      none,     4, false, false, "a power such as 450W"},
};

// clang-format on

/* Reading ---------------------------------------------------------------- */

static size_t blanks(const char *text)
{
    return strspn(text, " \t");
}

/* Letters of units and names; bytes beyond ASCII count, for the Greek mu. */
static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Reads a decimal number at the start of `text`; returns its length, or 0.
 *
 * strtod() obeys the decimal point of the locale, and that is always '.': the
 * program never sets LC_NUMERIC.  What strtod() also reads, nan, inf and
 * hexadecimal, does not begin with a digit or begins with "0x". */
static size_t read_number(const char *text, double *value)
{
    const char *digits = text + (*text == '-' || *text == '+');
    char *end;

    if (!isdigit((unsigned char)digits[digits[0] == '.']))
        return 0;
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
        return 0;
    *value = strtod(text, &end);
    return (size_t)(end - text);
}

static bool same(const char *a, const char *b, size_t n, bool any_case)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i] && !(any_case && tolower((unsigned char)a[i]) == tolower((unsigned char)b[i])))
            return false;
    return true;
}

/* The factor of the entry that is word[0..n) and nothing else, or 0. */
static double look_up(const struct scale *list, const char *word, size_t n, bool any_case)
{
    for (; list->name; list++)
        if (strlen(list->name) == n && same(list->name, word, n, any_case))
            return list->factor;
    return 0;
}

/* What word[0..n) multiplies a number by in this dimension; 0: not a unit. */
static double factor_of(const struct dimension *d, const char *word, size_t n, bool any_case)
{
    for (const struct scale *u = d->units; u->name; u++) {
        size_t tail = strlen(u->name);
        double f;

        if (tail > n || !same(u->name, word + n - tail, tail, any_case))
            continue;
        f = look_up(d->out, word, n - tail, any_case);
        if (f == 0)
            f = look_up(d->in, word, n - tail, any_case);
        if (f != 0)
            return f * u->factor;
    }
    return 0;
}

/* The same, first letter by letter, then in any case where that is safe.  A
 * small 'e' is no exa but an exponent that was not finished. */
static double understand(const struct dimension *d, const char *word, size_t n)
{
    double f = factor_of(d, word, n, false);

    if (f == 0 && d->any_case && !(n > 0 && word[0] == 'e'))
        f = factor_of(d, word, n, true);
    return f;
}

/* `number` times `factor`, as exactly as it was meant.  A factor below one is
 * the inverse of a whole number, and dividing by that rounds but once: 47 / 100
 * is 0.47, 47 * 0.01 is not.  4.126 * 1e6 is not quite 4126000: a product that
 * misses a whole number by no more than its own rounding is that number. */
static double scaled(double number, double factor)
{
    double product = number * factor, whole = round(product);

    if (factor < 1)
        return number / round(1 / factor);
    if (fabs(product - whole) <= 2 * DBL_EPSILON * fabs(product))
        return whole;
    return product;
}

int mfu_quantity_parse(const char *text, enum mfu_dim dim, double *value, struct mfu_error *err)
{
    const struct dimension *d = &dims[dim];
    const char *unit, *begin = text + blanks(text);
    size_t n = strlen(begin), used;
    double number = 0, factor;

    while (n > 0 && (begin[n - 1] == ' ' || begin[n - 1] == '\t'))
        n--;
    used = read_number(begin, &number);
    if (used == 0)
        return mfu_fail(err, MFU_EINPUT, "'%.80s' is not %s", text, d->help);
    used += blanks(begin + used);
    unit = begin + (used < n ? used : n);
    n = (size_t)(begin + n - unit);
    factor = n > 0 ? understand(d, unit, n) : 1;
    if (factor == 0)
        return mfu_fail(err, MFU_EINPUT, "'%.80s' is not %s", text, d->help);
    number = scaled(number, factor);
    if (!(fabs(number) <= LARGEST))
        return mfu_fail(err, MFU_EINPUT, "'%.80s' is too large", text);
    *value = number;
    return 0;
}

/* The word may belong to any dimension, and that which is expected goes first;
 * elsewhere the case of letters matters: "5m" is no million of seconds. */
static double understand_any(enum mfu_dim dim, const char *word, size_t n)
{
    double f = understand(&dims[dim], word, n);

    for (int i = 0; i < MFU_DIM_END && f == 0; i++)
        f = factor_of(&dims[i], word, n, false);
    return f;
}

/* Whether an operand of `%` follows, so that it divides: 10%3, 10 % n.  After
 * 40% comes an operator, a bracket or nothing. */
static bool operand_follows(const char *text)
{
    size_t n = 0;

    text += blanks(text);
    if (*text == '(' || *text == '.')
        return true;
    while (in_word(text[n]))
        n++;
    return n > 0 && !(n == 2 && memcmp(text, "or", 2) == 0) && !(n == 3 && memcmp(text, "and", 3) == 0);
}

int mfu_quantity_scan(const char *text, enum mfu_dim dim, double *value, struct mfu_error *err)
{
    double number = 0, factor = 0;
    size_t used = read_number(text, &number), n = 0;
    const char *word = text + used;

    if (used == 0)
        return mfu_fail(err, MFU_EINPUT, "'%.40s' is not a number", text);
    while (in_word(word[n]))
        n++;
    if (n > 0 && strncmp(word + n, "/s", 2) == 0 && !in_word(word[n + 2])) {
        factor = understand_any(dim, word, n + 2);
        if (factor != 0)
            n += 2;
    }
    if (n == 0 && *word == '%' && !operand_follows(word + 1)) {
        factor = 0.01;
        n = 1;
    }
    if (factor == 0)
        factor = n > 0 ? understand_any(dim, word, n) : 1;
    if (factor == 0)
        return mfu_fail(err, MFU_EINPUT, "'%.*s': unknown unit '%.*s'", (int)(used + n < 40 ? used + n : 40), text,
                        (int)(n < 40 ? n : 40), word);
    number = scaled(number, factor);
    if (!(fabs(number) <= LARGEST))
        return mfu_fail(err, MFU_EINPUT, "'%.*s' is too large", (int)(used + n < 40 ? used + n : 40), text);
    *value = number;
    return (int)(used + n);
}

/* Writing ---------------------------------------------------------------- */

/* Rounds to that many significant digits, so that 1023.98 KiB becomes 1 MiB. */
static double rounded(double x, int digits)
{
    double unit;

    if (fabs(x) < SMALLEST)
        return 0;
    unit = pow(10, floor(log10(fabs(x))) + 1 - digits);
    return round(x / unit) * unit;
}

/* The largest scale that leaves a number of at least one after rounding, so
 * that there is never a 1000 GB/s beside a 1.002 TB/s.  Nothing is counted in
 * the base unit. */
static const struct scale *choose(const struct dimension *d, double value)
{
    const struct scale *s = d->out;

    if (fabs(value) < SMALLEST) {
        while (s->factor < 1 && s[1].name)
            s++;
        return s;
    }
    for (; s[1].name; s++) {
        double next = s[1].factor / s->factor;

        /* A millionth of slack, as 1e-9 and its like are not exact. */
        if (fabs(rounded(value / s->factor, d->digits)) < next * (1 - 1e-6))
            break;
    }
    return s;
}

const char *mfu_quantity_format(char buf[MFU_QUANTITY_MAX], double value, enum mfu_dim dim)
{
    const struct dimension *d = &dims[dim];
    const char *unit = d->units[0].name;
    const struct scale *s;

    if (!isfinite(value)) {
        snprintf(buf, MFU_QUANTITY_MAX, "unknown");
        return buf;
    }
    /* Half a token says nothing in thousands, and k would be read as 1024. */
    if (dim == MFU_TOKENS && fabs(value) >= 1e3)
        value = round(value);
    if (d->in_full && fabs(value) < 1e6 && value == round(value)) {
        snprintf(buf, MFU_QUANTITY_MAX, "%.0f", value == 0 ? 0 : value);
        return buf;
    }
    s = choose(d, value);
    value = rounded(value / s->factor, d->digits);
    /* 1023.52 GiB is rounded up to a TiB, of which it would be 0.9995. */
    if (s > d->out && value != 0 && fabs(value) < 1)
        value = copysign(1, value);
    snprintf(buf, MFU_QUANTITY_MAX, "%.4g%s%s%s", value == 0 ? 0 : value, s->name[0] || unit[0] ? " " : "", s->name,
             unit);
    return buf;
}

const char *mfu_dim_help(enum mfu_dim dim)
{
    return dims[dim].help;
}

const char *mfu_dim_unit(enum mfu_dim dim)
{
    return dims[dim].unit;
}

const char *mfu_percent_format(char buf[16], double share)
{
    if (isfinite(share) && fabs(share) < 1e6)
        snprintf(buf, 16, "%.1f %%", 100 * share);
    else
        snprintf(buf, 16, "unknown");
    return buf;
}
