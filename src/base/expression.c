/*
 * expression.c - small arithmetic over named values, compiled once.
 *
 * Text becomes a postfix program in one pass, by operator precedence: parse()
 * reads an operand and then every operator that binds at least as strongly as
 * its caller's.  What has only numbers for arguments is computed at once.
 *
 *     1 + 2*x     1 2 x * +          stack:  1 | 1 2 | 1 2 x | 1 2x | 1+2x
 *
 * A program is checked for its depth when it is compiled, so that evaluating
 * needs no checks.
 */
#include "base/expression.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/suggest.h"

#define LONGEST_TEXT 4096 /* characters */
#define DEEPEST 64        /* brackets and signs; values on the stack */
#define LONGEST_NAME 64   /* with its final '\0' */

enum op {
    NUMBER,
    SLOT,
    OR,
    AND,
    NOT,
    LESS,
    LESS_EQUAL,
    MORE,
    MORE_EQUAL,
    EQUAL,
    UNEQUAL,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    REMAINDER,
    NEGATE,
    POWER,
    MIN,
    MAX,
    CEIL,
    FLOOR,
    ROUND,
    ABS,
    SQRT,
    EXP,
    LOG,
    LOG2,
    MULTIPLE,
    IF
};

/* Takes `arguments` values from the stack and leaves one. */
struct step {
    unsigned char op, arguments;
    int slot;     /* of SLOT */
    double value; /* of NUMBER */
};

struct mfu_expression {
    size_t n;
    struct step steps[];
};

/* How strongly an operator binds. */
enum { WEAKEST, AT_OR, AT_AND, AT_COMPARE, AT_ADD, AT_MULTIPLY, AT_POWER };

static const struct operator
{
    const char *text;
    enum op op;
    int strength;
}
operators[] = {
    /* One that begins with another stands before it. */
    {"or", OR, AT_OR},
    {"||", OR, AT_OR},
    {"and", AND, AT_AND},
    {"&&", AND, AT_AND},
    {"<=", LESS_EQUAL, AT_COMPARE},
    {"<", LESS, AT_COMPARE},
    {">=", MORE_EQUAL, AT_COMPARE},
    {">", MORE, AT_COMPARE},
    {"==", EQUAL, AT_COMPARE},
    {"=", EQUAL, AT_COMPARE},
    {"!=", UNEQUAL, AT_COMPARE},
    {"+", ADD, AT_ADD},
    {"-", SUBTRACT, AT_ADD},
    {"**", POWER, AT_POWER},
    {"*", MULTIPLY, AT_MULTIPLY},
    {"/", DIVIDE, AT_MULTIPLY},
    {"%", REMAINDER, AT_MULTIPLY},
    {"^", POWER, AT_POWER},
    {NULL, NUMBER, 0},
};

static const struct function {
    const char *name;
    enum op op;
    int arguments; /* 0: any number, taken two by two */
} functions[] = {
    {"min", MIN, 0},     {"max", MAX, 0},   {"ceil", CEIL, 1}, {"floor", FLOOR, 1},
    {"round", ROUND, 1}, {"abs", ABS, 1},   {"sqrt", SQRT, 1}, {"exp", EXP, 1},
    {"log", LOG, 1},     {"log2", LOG2, 1}, {"if", IF, 3},     {"multiple", MULTIPLE, 2},
};

#define N_FUNCTIONS (sizeof functions / sizeof functions[0])

struct parser {
    const char *text, *at; /* all of it, and what is still to be read */
    enum mfu_dim dim;
    mfu_resolve_fn *resolve;
    void *context;
    struct mfu_error *err;
    struct mfu_expression *program;
    int nested;
};

/* Values ----------------------------------------------------------------- */

/* Neither 0 nor nan. */
static inline bool is_true(double x)
{
    return x < 0 || x > 0;
}

/* Kleene's: what is not known stays so, unless the other one decides alone. */
static inline double either(double x, double y)
{
    return is_true(x) || is_true(y) ? 1 : x + y; /* 0, or nan */
}

static inline double both(double x, double y)
{
    return x == 0 || y == 0 ? 0 : isnan(x) || isnan(y) ? NAN : 1;
}

/* 1, 0, or nan where one of the two is not known. */
static inline double compared(const double *x, bool holds)
{
    return isnan(x[0]) || isnan(x[1]) ? NAN : holds;
}

/* 2/3*4*d may miss a whole number by its rounding, and ceil() would then add
 * one: a value that close to a whole number is that number. */
static double settled(double x)
{
    double whole = round(x);

    return fabs(x - whole) <= 1e-12 * fabs(x) ? whole : x;
}

/* The operation itself, on its arguments from left to right. */
static inline double apply(enum op op, const double *x)
{
    switch (op) {
    case OR: return either(x[0], x[1]);
    case AND: return both(x[0], x[1]);
    case NOT: return isnan(x[0]) ? NAN : !is_true(x[0]);
    case LESS: return compared(x, x[0] < x[1]);
    case LESS_EQUAL: return compared(x, x[0] <= x[1]);
    case MORE: return compared(x, x[0] > x[1]);
    case MORE_EQUAL: return compared(x, x[0] >= x[1]);
    case EQUAL: return compared(x, x[0] == x[1]);
    case UNEQUAL: return compared(x, x[0] != x[1]);
    case ADD: return x[0] + x[1];
    case SUBTRACT: return x[0] - x[1];
    case MULTIPLY: return x[0] * x[1];
    case DIVIDE: return x[0] / x[1];
    case REMAINDER: return fmod(x[0], x[1]);
    case NEGATE: return -x[0];
    case POWER: return pow(x[0], x[1]);
    case MIN: return x[0] < x[1] || isnan(x[0]) ? x[0] : x[1];
    case MAX: return x[0] > x[1] || isnan(x[0]) ? x[0] : x[1];
    case CEIL: return ceil(settled(x[0]));
    case FLOOR: return floor(settled(x[0]));
    case ROUND: return round(x[0]);
    case ABS: return fabs(x[0]);
    case SQRT: return sqrt(x[0]);
    case EXP: return exp(x[0]);
    case LOG: return log(x[0]);
    case LOG2: return log2(x[0]);
    case MULTIPLE: return ceil(settled(x[0] / x[1])) * x[1];
    case IF: return isnan(x[0]) ? NAN : is_true(x[0]) ? x[1] : x[2];
    case NUMBER:
    case SLOT: break; /* these have no arguments */
    }
    return NAN;
}

/* Writing the program ---------------------------------------------------- */

static void add_number(struct parser *p, double value)
{
    p->program->steps[p->program->n++] = (struct step){.op = NUMBER, .value = value};
}

static void add_slot(struct parser *p, int slot)
{
    p->program->steps[p->program->n++] = (struct step){.op = SLOT, .slot = slot};
}

/* When all arguments are numbers, so is the result. */
static void add_op(struct parser *p, enum op op, int arguments)
{
    struct mfu_expression *e = p->program;
    struct step *args = &e->steps[e->n - (size_t)arguments];
    double x[3] = {0};

    for (int i = 0; i < arguments; i++) {
        if (args[i].op != NUMBER) {
            e->steps[e->n++] = (struct step){
                .op = (unsigned char)op,
                .arguments = (unsigned char)arguments,
            };
            return;
        }
        x[i] = args[i].value;
    }
    e->n -= (size_t)arguments;
    add_number(p, apply(op, x));
}

/* The most values that are ever on the stack. */
static int depth(const struct mfu_expression *e)
{
    int now = 0, most = 0;

    for (size_t i = 0; i < e->n; i++) {
        now += 1 - e->steps[i].arguments;
        most = now > most ? now : most;
    }
    return most;
}

/* Reading the text ------------------------------------------------------- */

/* Names its place in the error; keeps a place that is already known. */
static int fail_at(struct parser *p, const char *at)
{
    return mfu_error_at(p->err, NULL, 0, 1 + (int)(at - p->text));
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Letters, digits and _; a dot only between those. */
static size_t part_length(const char *at)
{
    size_t n = 0;

    while (in_name(at[n]) || (n > 0 && at[n] == '.' && in_name(at[n + 1])))
        n++;
    return n;
}

static size_t name_length(const char *at)
{
    return isdigit((unsigned char)*at) ? 0 : part_length(at);
}

static void skip_blanks(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

/* Complains about what comes next: a word, a character, or the end. */
static int expected(struct parser *p, const char *what)
{
    int n = (int)name_length(p->at);

    if (*p->at == '\0') {
        mfu_fail(p->err, MFU_EINPUT, "%s is missing at the end", what);
        return fail_at(p, p->at);
    }
    if (n == 0) /* one character, all its bytes */
        do
            n++;
        while (((unsigned char)p->at[n] & 0xC0) == 0x80);
    mfu_fail(p->err, MFU_EINPUT, "%s is missing before '%.*s'", what, n < LONGEST_NAME ? n : LONGEST_NAME, p->at);
    return fail_at(p, p->at);
}

static bool accept(struct parser *p, const char *text)
{
    size_t n;

    skip_blanks(p);
    if (*p->at != *text || strncmp(p->at, text, n = strlen(text)) != 0)
        return false;
    if (in_name(*text) && in_name(p->at[n]))
        return false; /* "order" does not begin with "or" */
    p->at += n;
    return true;
}

static const struct operator* accept_operator(struct parser *p, int weakest)
{
    const char *begin = p->at;

    for (const struct operator* o = operators; o->text; o++)
        if (accept(p, o->text)) {
            if (o->strength >= weakest)
                return o;
            break;
        }
    p->at = begin; /* it belongs to a caller */
    return NULL;
}

static int nested(struct parser *p, int weakest);

static int closing_bracket(struct parser *p)
{
    return accept(p, ")") ? 0 : expected(p, "')'");
}

static int call(struct parser *p, const char *name, size_t length)
{
    const struct function *f = functions, *end = functions + N_FUNCTIONS;
    const char *names[N_FUNCTIONS], *near;
    int n = 0;

    while (f < end && (strlen(f->name) != length || memcmp(f->name, name, length) != 0))
        f++;
    if (f == end) {
        char word[LONGEST_NAME] = "";

        for (size_t i = 0; i < N_FUNCTIONS; i++)
            names[i] = functions[i].name;
        memcpy(word, name, length);
        mfu_fail(p->err, MFU_EINPUT, "no function is called '%s'", word);
        if (mfu_suggest(word, names, N_FUNCTIONS, &near, 1))
            mfu_error_suggest(p->err, near);
        return fail_at(p, name);
    }
    do {
        if (nested(p, WEAKEST) < 0)
            return -1;
        if (++n > 1 && f->arguments == 0)
            add_op(p, f->op, 2);
    } while (accept(p, ","));
    if (closing_bracket(p) < 0)
        return -1;
    if (f->arguments == 0)
        return 0;
    if (n != f->arguments) {
        mfu_fail(p->err, MFU_EINPUT, "'%s' takes %d argument%s, not %d", f->name, f->arguments,
                 f->arguments == 1 ? "" : "s", n);
        return fail_at(p, name);
    }
    add_op(p, f->op, n);
    return 0;
}

/* Whether ==, = or != stands before `at`. */
static bool compares(const char *text, const char *at)
{
    while (at > text && at[-1] == ' ')
        at--;
    return at >= text + 2 && at[-1] == '=' && at[-2] != '<' && at[-2] != '>';
}

bool mfu_expression_compares(const char *text, const char **at, const char *name)
{
    const char *found = *at;
    size_t length = strlen(name);

    while ((found = strstr(found, name))
           && (in_name(found[length]) || (found > text && (found[-1] == '.' || in_name(found[-1])))))
        found++;
    if (!found)
        return false;
    *at = found + length;
    return compares(text, found);
}

/* advise.precision.bf16-pure.mfu: parts of a name may have hyphens, where what
 * stands before the hyphen is no name by itself.  The slot, or -1. */
static int hyphenated(struct parser *p, char name[LONGEST_NAME], const char *begin, size_t length)
{
    size_t more;
    int slot = -1;

    while (slot < 0 && (begin[length] == '-' || begin[length] == '+') && (more = part_length(begin + length + 1)) > 0
           && length + 1 + more < LONGEST_NAME) {
        length += 1 + more;
        memcpy(name, begin, length);
        slot = p->resolve(p->context, name, NULL);
    }
    if (slot >= 0)
        p->at = begin + length;
    return slot;
}

/* A name is a function when '(' follows, else the caller resolves it. */
static int named(struct parser *p, size_t length)
{
    const char *begin = p->at;
    char name[LONGEST_NAME] = "";
    int slot;

    if (length >= sizeof name) {
        mfu_fail(p->err, MFU_EINPUT, "the name '%.20s...' is too long", begin);
        return fail_at(p, begin);
    }
    p->at += length;
    if (accept(p, "("))
        return call(p, begin, length);
    memcpy(name, begin, length);
    if (compares(p->text, begin) && (slot = hyphenated(p, name, begin, length)) >= 0) { /* precision == bf16-pure */
        add_slot(p, slot);
        return 0;
    }
    memset(name, 0, sizeof name);
    memcpy(name, begin, length);
    slot = p->resolve(p->context, name, p->err);
    if (slot < 0 && strchr(name, '.') && begin[length] == '-') {
        struct mfu_error first = p->err ? *p->err : (struct mfu_error){0};

        slot = hyphenated(p, name, begin, length);
        if (p->err && slot >= 0)
            mfu_error_clear(p->err);
        else if (p->err)
            *p->err = first;
    }
    if (slot < 0) {
        if (p->err && p->err->text[0] == '\0')
            mfu_fail(p->err, MFU_EINPUT, "'%s' is not known", name);
        return fail_at(p, begin);
    }
    add_slot(p, slot);
    return 0;
}

/* "2 GiB": the word behind a bare number if it is a unit, and what both are. */
static int unit_apart(struct parser *p, int used, double *value)
{
    const char *word = p->at + used + strspn(p->at + used, " ");
    size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
    char text[64];
    double both;

    if (word == p->at + used || n == 0 || n > 8 || used > 40 || isalnum((unsigned char)word[n]) || word[n] == '_'
        || word[n] == '.' || word[n] == '(' || !isdigit((unsigned char)p->at[used - 1]))
        return used;
    if (strncmp(word + n, "/s", 2) == 0 && !isalnum((unsigned char)word[n + 2]))
        n += 2;
    snprintf(text, sizeof text, "%.*s%.*s", used, p->at, (int)n, word);
    if (mfu_quantity_scan(text, p->dim, &both, NULL) != (int)strlen(text))
        return used;
    *value = both;
    return (int)(word + n - p->at);
}

static int literal(struct parser *p)
{
    double value;
    int used = mfu_quantity_scan(p->at, p->dim, &value, p->err);

    if (used < 0)
        return fail_at(p, p->at);
    used = unit_apart(p, used, &value);
    add_number(p, value);
    p->at += used;
    return 0;
}

/* lora_dtype == 16bit: a word that begins with a digit, if the caller knows it. */
static bool word_of_digits(struct parser *p)
{
    size_t length = part_length(p->at);
    char name[LONGEST_NAME] = "";
    int slot = -1;

    if (compares(p->text, p->at) && length < sizeof name && !isdigit((unsigned char)p->at[length - 1])) {
        memcpy(name, p->at, length);
        slot = p->resolve(p->context, name, NULL);
    }
    if (slot < 0)
        return false;
    p->at += length;
    add_slot(p, slot);
    return true;
}

/* An operand with the signs before it.  `not` reaches over comparisons, as in
 * `not a < b`; a minus only over powers: -x^2 is -(x^2). */
static int operand(struct parser *p)
{
    size_t length;

    if (accept(p, "(")) {
        if (nested(p, WEAKEST) < 0)
            return -1;
        return closing_bracket(p);
    }
    if (accept(p, "-") || accept(p, "not") || accept(p, "!")) {
        enum op op = p->at[-1] == '-' ? NEGATE : NOT;

        if (nested(p, op == NEGATE ? AT_POWER : AT_COMPARE) < 0)
            return -1;
        add_op(p, op, 1);
        return 0;
    }
    if (accept(p, "+"))
        return nested(p, AT_POWER);
    if (isdigit((unsigned char)*p->at) && p->resolve && word_of_digits(p))
        return 0;
    if (isdigit((unsigned char)*p->at) || *p->at == '.')
        return literal(p);
    length = name_length(p->at);
    if (length == 0 || (length == 2 && memcmp(p->at, "or", 2) == 0) || (length == 3 && memcmp(p->at, "and", 3) == 0))
        return expected(p, "a value");
    return named(p, length);
}

/* Operands and the operators that bind at least as strongly as `weakest`.
 * From left to right, except ^; comparisons do not stand in a row. */
static int parse(struct parser *p, int weakest)
{
    const struct operator* o;

    if (operand(p) < 0)
        return -1;
    while ((o = accept_operator(p, weakest))) {
        const char *next;

        if ((o->op == POWER ? nested(p, AT_POWER) : parse(p, o->strength + 1)) < 0)
            return -1;
        add_op(p, o->op, 2);
        skip_blanks(p);
        next = p->at;
        if (o->strength == AT_COMPARE && accept_operator(p, AT_COMPARE)) {
            mfu_fail(p->err, MFU_EINPUT, "comparisons do not chain: write 'a < b and b < c'");
            return fail_at(p, next);
        }
    }
    return 0;
}

/* The same, one level deeper. */
static int nested(struct parser *p, int weakest)
{
    if (++p->nested > DEEPEST) {
        mfu_fail(p->err, MFU_EINPUT, "the expression is nested too deeply");
        return fail_at(p, p->at);
    }
    if (parse(p, weakest) < 0)
        return -1;
    p->nested--;
    return 0;
}

struct mfu_expression *mfu_expression_compile(struct mfu_arena *arena, const char *text, enum mfu_dim dim,
                                              mfu_resolve_fn *resolve, void *context, struct mfu_error *err)
{
    struct parser p = {text, text, dim, resolve, context, err, NULL, 0};
    size_t length = strlen(text), bytes;

    mfu_error_clear(err);
    if (length > LONGEST_TEXT) {
        mfu_fail(err, MFU_EINPUT, "the expression has more than %d characters", LONGEST_TEXT);
        return NULL;
    }
    /* No step without a character of its own. */
    bytes = sizeof *p.program + (length + 1) * sizeof(struct step);
    p.program = mfu_arena_alloc(arena, 1, bytes);
    if (!p.program) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        return NULL;
    }
    if (parse(&p, WEAKEST) < 0)
        return NULL;
    skip_blanks(&p);
    if (*p.at != '\0') {
        expected(&p, "an operator");
        return NULL;
    }
    if (depth(p.program) > DEEPEST) {
        mfu_fail(err, MFU_EINPUT, "the expression is nested too deeply");
        fail_at(&p, text);
        return NULL;
    }
    mfu_arena_trim(arena, p.program, bytes, sizeof *p.program + p.program->n * sizeof(struct step));
    return p.program;
}

/* Using the program ------------------------------------------------------ */

double mfu_expression_eval(const struct mfu_expression *e, const double *slots)
{
    const struct step *end = e->steps + e->n;
    double stack[DEEPEST], *top = stack;

    for (const struct step *s = e->steps; s < end; s++) {
        if (s->op == NUMBER) {
            *top++ = s->value;
        } else if (s->op == SLOT) {
            *top++ = slots[s->slot];
        } else {
            top -= s->arguments;
            *top = apply(s->op, top);
            top++;
        }
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.UndefReturn): a compiled expression leaves one value */
    return stack[0];
}

int mfu_expression_constant(const struct mfu_expression *e, double *value)
{
    if (e->n != 1 || e->steps[0].op != NUMBER)
        return 0;
    *value = e->steps[0].value;
    return 1;
}

bool mfu_expression_is_smooth(const struct mfu_expression *e)
{
    const unsigned smooth = 1u << NUMBER | 1u << SLOT | 1u << ADD | 1u << SUBTRACT | 1u << MULTIPLY | 1u << DIVIDE
        | 1u << NEGATE | 1u << POWER;

    for (size_t i = 0; i < e->n; i++)
        if (!(smooth >> e->steps[i].op & 1))
            return false;
    return true;
}

/* Whether an earlier step reads the same slot. */
static bool repeated(const struct mfu_expression *e, size_t step)
{
    for (size_t i = 0; i < step; i++)
        if (e->steps[i].op == SLOT && e->steps[i].slot == e->steps[step].slot)
            return true;
    return false;
}

size_t mfu_expression_slots(const struct mfu_expression *e, int *slots, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < e->n; i++)
        if (e->steps[i].op == SLOT && !repeated(e, i)) {
            if (n < max)
                slots[n] = e->steps[i].slot;
            n++;
        }
    return n;
}
