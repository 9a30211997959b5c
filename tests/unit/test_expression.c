/* test_expression.c - what is written is computed as it is meant. */
#include "near.h"
#include "owned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/expression.h"

static const char *const names[] = {"n_embd", "seq", "mfu", "fits", "a.b", "z"};
static const double slots[] = {768, 1024, .41, 1, -2, NAN};

static int resolve(void *context, const char *name, struct mfu_error *err)
{
    (void)context;
    for (size_t i = 0; i < LENGTH(names); i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    mfu_fail(err, MFU_EINPUT, "no setting is called '%s'", name);
    return mfu_error_suggest(err, "seq");
}

static double value_of(const char *text)
{
    ARENA arena = {0};
    struct mfu_error err = {0};
    struct mfu_expression *e = mfu_expression_compile(&arena, text, MFU_COUNT, resolve, NULL, &err);
    double value;

    if (!e)
        fail_msg("'%s': %d: %s", text, err.column, err.text);
    value = mfu_expression_eval(e, slots);
    return value;
}

static void arithmetic_is_as_everywhere(void **state)
{
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"2*768", 1536},
        {" 1 + 2 * 3 ", 7},
        {"(1+2)*3", 9},
        {"7-4-2", 1},
        {"64/4/2", 8},
        {"2^3^2", 512},
        {"2**10", 1024},
        {"-2^2", -4},
        {"2^-1", .5},
        {"2*-3", -6},
        {"--3", 3},
        {"+3-+2", 1},
        {"10%3", 1},
        {"10 % 3 * 2", 2},
        {"4*n_embd", 3072},
        {"n_embd%64", 0},
        {"a.b*2", -4},
        {"abs(a.b)", 2},
        {"1<2", 1},
        {"2<=1", 0},
        {"2>1", 1},
        {"1>=2", 0},
        {"1==1", 1},
        {"1!=1", 0},
        {"1+1 < 2*2", 1},
        {"seq>n_embd", 1},
        {"0 or 1 and 0", 0},
        {"1 or 0 and 0", 1},
        {"not 1 == 2", 1},
        {"not 0 and 0", 0},
        {"not (0 and 0)", 1},
        {"1 == not 0", 1},
        {"1 && 0 || !0", 1},
        {"5 and -3", 1},
        {"fits and mfu > 40%", 1},
        {"mfu > 42% or 0", 0},
        {"mfu>40%&&fits", 1},
        {"50%*4", 2},
        {"50%", .5},
        {"24GB/8", 3e9},
        {"300ms*2", .6},
        {"24GiB > 24GB", 1},
        {"989TFLOP/s/989T", 1},
        {"log(1)", 0},
        {"min(3, 1, 2)", 1},
        {"max(3,seq,2)", 1024},
        {"min(4)", 4},
        {"ceil(2.1)", 3},
        {"floor(-2.1)", -3},
        {"round(2.5)", 3},
        {"sqrt(16)", 4},
        {"exp(0)", 1},
        {"log(exp(2))", 2},
        {"log2(1024)", 10},
        {"multiple(50257, 64)", 50304},
        {"multiple(8/3*4096, 256)", 11008},
        {"if(fits, 2, 3)", 2},
        {"if(0, 1/0, 3)", 3},
        {"min (1, 2) + (3)", 4},
        {"2 * (fits or 0)", 2},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_near(value_of(rows[i].text), rows[i].value, 1e-15);
}

static void what_is_not_known_stays_unknown(void **state)
{
    static const char *const unknown[] = {
        "z or 0", "0 or z", "z and 1",     "1 and z", "not z",  "not not z", "z < 1",       "z >= 1",        "1 > z",
        "z == z", "z != 1", "not (z > 0)", "z and z", "z or z", "1 <= z",    "if(z, 1, 2)", "not (z and 1)", "z = 0",
    };
    static const struct {
        const char *text;
        double value;
    } decided[] = {{"z or 1", 1},      {"-1 or z", 1},     {"z and 0", 0},    {"0 and z", 0},
                   {"not(z or 1)", 0}, {"if(0, z, 2)", 2}, {"if(1, 3, z)", 3}};

    (void)state;
    for (size_t i = 0; i < LENGTH(unknown); i++)
        if (!isnan(value_of(unknown[i])))
            fail_msg("%s is known", unknown[i]);
    for (size_t i = 0; i < LENGTH(decided); i++)
        assert_true(value_of(decided[i].text) == decided[i].value);
    assert_true(isnan(value_of("min(z, 1)")));
    assert_true(isnan(value_of("max(1, z)")));
    assert_true(isnan(value_of("0/0")));
    assert_true(isinf(value_of("1/0")));
}

/* 2/3*4*768 is 2047.9999999999998, 0.29*100 is 28.999999999999996, and
 * 1.1*1.1*100 is 121.00000000000001. */
static void rounding_errors_add_no_rows(void **state)
{
    (void)state;
    assert_true(value_of("multiple(2/3*4*768, 256)") == 2048);
    assert_true(value_of("floor(0.29*100)") == 29);
    assert_true(value_of("ceil(1.1*1.1*100)") == 121);
    assert_true(value_of("ceil(121.0001)") == 122);
    assert_true(value_of("ceil(1e-20)") == 1);
}

/* There is nothing to assign to in an expression. */
static void one_equals_sign_compares_too(void **state)
{
    (void)state;
    assert_true(value_of("3 = 2 + 1") == 1);
    assert_true(value_of("3=2") == 0);
    assert_true(value_of("2 >= 3 or 3=3") == 1);
}

static void the_error_says_where_and_what(void **state)
{
    static const struct {
        const char *text;
        int column;
        const char *message, *suggestion;
    } rows[] = {
        {"", 1, "a value is missing at the end", ""},
        {"4*", 3, "a value is missing at the end", ""},
        {"4*)", 3, "a value is missing before ')'", ""},
        {"(1+2", 5, "')' is missing at the end", ""},
        {"(1 2)", 4, "')' is missing before '2'", ""},
        {"1 2", 3, "an operator is missing before '2'", ""},
        {"2 seq", 3, "an operator is missing before 'seq'", ""},
        {"mfu > 42 %", 11, "a value is missing at the end", ""},
        {"2 min(3,4)", 3, "an operator is missing before 'min'", ""},
        {"1 and or 2", 7, "a value is missing before 'or'", ""},
        {"seq = = 3", 7, "a value is missing before '='", ""},
        {"3 + sequ", 5, "no setting is called 'sequ'", "seq"},
        {"1+ciel(2)", 3, "no function is called 'ciel'", "ceil"},
        {"seq(2)", 1, "no function is called 'seq'", ""},
        {"1+if(1,2)", 3, "'if' takes 3 arguments, not 2", ""},
        {"sqrt(1,2)", 1, "'sqrt' takes 1 argument, not 2", ""},
        {"min()", 5, "a value is missing before ')'", ""},
        {"1 < 2 < 3", 7, "comparisons do not chain: write 'a < b and b < c'", ""},
        {"1 + 8kk", 5, "'8kk': unknown unit 'kk'", ""},
        {"1 + 1e99", 5, "'1e99' is too large", ""},
        {"1 + 0x10", 5, "'0x10' is not a number", ""},
        {"1 \u20ac", 3, "an operator is missing before '\u20ac'", ""},
    };
    ARENA arena = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_error err = {0};

        assert_null(mfu_expression_compile(&arena, rows[i].text, MFU_COUNT, resolve, NULL, &err));
        assert_string_equal(err.text, rows[i].message);
        assert_string_equal(err.suggestion, rows[i].suggestion);
        assert_int_equal(err.column, rows[i].column);
        assert_int_equal(err.code, MFU_EINPUT);
        assert_null(mfu_expression_compile(&arena, rows[i].text, MFU_COUNT, resolve, NULL, NULL));
    }
}

/* A text of `n` times `begin`, then `middle`, then `n` times `end`. */
static char *repeated(const char *begin, const char *middle, const char *end, int n)
{
    static char text[8192];

    text[0] = '\0';
    for (int i = 0; i < n; i++)
        strcat(text, begin);
    strcat(text, middle);
    for (int i = 0; i < n; i++)
        strcat(text, end);
    return text;
}

static int compiles(const char *text)
{
    ARENA arena = {0};
    struct mfu_error err = {0};
    int good = !!mfu_expression_compile(&arena, text, MFU_COUNT, resolve, NULL, &err);

    assert_true(good == (err.text[0] == '\0'));
    return good;
}

static void depth_and_length_are_bounded(void **state)
{
    (void)state;
    assert_true(compiles(repeated("(", "1", ")", 64)));
    assert_false(compiles(repeated("(", "1", ")", 65)));
    assert_false(compiles(repeated("(", "1", ")", 2000)));
    assert_true(compiles(repeated("-", "1", "", 64)));
    assert_false(compiles(repeated("-", "1", "", 4000)));
    assert_false(compiles(repeated("2^", "1", "", 1500)));
    assert_false(compiles(repeated("not ", "1", "", 900)));
    assert_false(compiles(repeated("min(1,", "1", ")", 500)));
    assert_true(compiles(repeated("seq+(", "1", ")", 63)));
    assert_false(compiles(repeated("fits or seq+(", "1", ")", 63)));
    assert_true(compiles(repeated("1+", "1", "", 2047)));
    assert_true(compiles(repeated("fits+", "1", "", 800)));
    assert_false(compiles(repeated("1+", "11", "", 2048)));
    assert_false(compiles(repeated("x", "", "", 200)));
}

static void a_plain_number_is_known_as_such(void **state)
{
    ARENA arena = {0};
    struct mfu_expression *e;
    double value = 0;

    (void)state;
    e = mfu_expression_compile(&arena, "8k * 2", MFU_TOKENS, NULL, NULL, NULL);
    assert_int_equal(mfu_expression_constant(e, &value), 1);
    assert_true(value == 16384);
    assert_true(mfu_expression_eval(e, NULL) == 16384);
    e = mfu_expression_compile(&arena, "seq", MFU_COUNT, resolve, NULL, NULL);
    assert_int_equal(mfu_expression_constant(e, &value), 0);
}

static void the_slots_that_are_read_are_counted_once(void **state)
{
    ARENA arena = {0};
    struct mfu_expression *e =
        mfu_expression_compile(&arena, "seq*n_embd + seq*if(fits, seq, 2)", MFU_COUNT, resolve, NULL, NULL);
    int read[3] = {-1, -1, -1};

    (void)state;
    assert_int_equal(mfu_expression_slots(e, NULL, 0), 3);
    assert_int_equal(mfu_expression_slots(e, read, 2), 3);
    assert_int_equal(read[0], 1);
    assert_int_equal(read[1], 0);
    assert_int_equal(read[2], -1);
}

/* Writes a random expression, fully bracketed; returns its value. */
static double any(char *text, int depth)
{
    static const char *const ops[] = {"+", "-", "*", "/", "<", ">=", "=="};
    char a[2048], b[2048];
    double x, y;
    int op = rand() % (int)LENGTH(ops);

    if (depth == 0 || rand() % 4 == 0) {
        int i = rand() % 10;

        if (i < 5)
            sprintf(text, "%d", i);
        else
            strcpy(text, names[i - 5]);
        return i < 5 ? i : slots[i - 5];
    }
    x = any(a, depth - 1);
    y = any(b, depth - 1);
    sprintf(text, "(%.900s %s %.900s)", a, ops[op], b);
    switch (op) {
    case 0: return x + y;
    case 1: return x - y;
    case 2: return x * y;
    case 3: return x / y;
    case 4: return isnan(x) || isnan(y) ? NAN : x < y;
    case 5: return isnan(x) || isnan(y) ? NAN : x >= y;
    default: return isnan(x) || isnan(y) ? NAN : x == y;
    }
}

/* What C computes from the same expression, step by step. */
static void evaluating_agrees_with_c(void **state)
{
    (void)state;
    for (int i = 0; i < 20000; i++) {
        char text[2048];
        double value = any(text, 5), got = value_of(text);

        if (got != value && !(isnan(got) && isnan(value)))
            fail_msg("%s is %.17g, not %.17g", text, value, got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_is_as_everywhere),     cmocka_unit_test(what_is_not_known_stays_unknown),
        cmocka_unit_test(rounding_errors_add_no_rows),     cmocka_unit_test(one_equals_sign_compares_too),
        cmocka_unit_test(the_error_says_where_and_what),   cmocka_unit_test(depth_and_length_are_bounded),
        cmocka_unit_test(a_plain_number_is_known_as_such), cmocka_unit_test(the_slots_that_are_read_are_counted_once),
        cmocka_unit_test(evaluating_agrees_with_c),
    };
    const char *seed = getenv("MFUPLAN_SEED");
    unsigned used = seed ? (unsigned)strtoul(seed, NULL, 10) : 1;

    print_message("MFUPLAN_SEED=%u\n", used);
    srand(used);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
