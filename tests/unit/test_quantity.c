/* test_quantity.c - text to numbers and back. */
#include "near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/quantity.h"

struct row {
    const char *text;
    enum mfu_dim dim;
    double value;
};

static void people_are_read_as_they_mean_it(void **state)
{
    static const struct row rows[] = {
        {"8", MFU_COUNT, 8},
        {" +12 ", MFU_COUNT, 12},
        {"1.5k", MFU_COUNT, 1500},
        {"2G", MFU_COUNT, 2e9},
        {"-3", MFU_COUNT, -3},
        {".5", MFU_COUNT, .5},
        {"5.", MFU_COUNT, 5},
        {"1e3", MFU_COUNT, 1000},
        {"2E-1", MFU_COUNT, .2},
        {"007", MFU_COUNT, 7},
        {"7B", MFU_PARAMS, 7e9},
        {"350m", MFU_PARAMS, 350e6},
        {"4.126M", MFU_PARAMS, 4126000},
        {"1.5 B", MFU_PARAMS, 1.5e9},
        {"8k", MFU_TOKENS, 8192},
        {"128K", MFU_TOKENS, 131072},
        {"10B", MFU_TOKENS, 1e10},
        {"1.4T", MFU_TOKENS, 1.4e12},
        {"24GB", MFU_BYTES, 24e9},
        {"24 GiB", MFU_BYTES, 24 * 0x1p30},
        {"24gb", MFU_BYTES, 24e9},
        {"24gib", MFU_BYTES, 24 * 0x1p30},
        {"80G", MFU_BYTES, 80e9},
        {"16Ki", MFU_BYTES, 16384},
        {"512", MFU_BYTES, 512},
        {"7B", MFU_BYTES, 7},
        {"3.35TB/s", MFU_BYTES_PER_S, 3.35e12},
        {"504 GB/s", MFU_BYTES_PER_S, 504e9},
        {"400Gbit/s", MFU_BYTES_PER_S, 50e9},
        {"1GiB/s", MFU_BYTES_PER_S, 0x1p30},
        {"850MFLOP", MFU_FLOP, 850e6},
        {"6TOP", MFU_FLOP, 6e12},
        {"989TFLOP/s", MFU_FLOP_PER_S, 989e12},
        {"989T", MFU_FLOP_PER_S, 989e12},
        {"989TFLOPS", MFU_FLOP_PER_S, 989e12},
        {"989 tflops", MFU_FLOP_PER_S, 989e12},
        {"233TOP/s", MFU_FLOP_PER_S, 233e12},
        {"1.5EFLOP/s", MFU_FLOP_PER_S, 1.5e18},
        {"2.5ms", MFU_SECONDS, 2.5e-3},
        {"40us", MFU_SECONDS, 40e-6},
        {"40\u00b5s", MFU_SECONDS, 40e-6},
        {"40\u03bcs", MFU_SECONDS, 40e-6},
        {"7ns", MFU_SECONDS, 7e-9},
        {"3 h", MFU_SECONDS, 10800},
        {"2d", MFU_SECONDS, 172800},
        {"5min", MFU_SECONDS, 300},
        {"0.1", MFU_SECONDS, .1},
        {"47%", MFU_RATIO, .47},
        {"81.4 %", MFU_RATIO, .814},
        {"0.47", MFU_RATIO, .47},
        {"150%", MFU_RATIO, 1.5},
        {"2475MHz", MFU_HERTZ, 2475e6},
        {"1.98GHz", MFU_HERTZ, 1.98e9},
        {"450W", MFU_WATTS, 450},
        {"1.2kW", MFU_WATTS, 1200},
        {"450", MFU_WATTS, 450},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_error err = {0};
        double value = NAN;

        if (mfu_quantity_parse(rows[i].text, rows[i].dim, &value, &err) < 0)
            fail_msg("%s", err.text);
        if (rows[i].value == round(rows[i].value))
            assert_true(value == rows[i].value);
        assert_near(value, rows[i].value, 3e-16);
    }
}

static void what_is_not_understood_is_refused(void **state)
{
    static const struct row rows[] = {
        {"", MFU_COUNT, 0},
        {" ", MFU_COUNT, 0},
        {"lots", MFU_BYTES, 0},
        {"nan", MFU_COUNT, 0},
        {"inf", MFU_COUNT, 0},
        {"-inf", MFU_SECONDS, 0},
        {"0x10", MFU_COUNT, 0},
        {"-0X1p3", MFU_COUNT, 0},
        {"24gigs", MFU_BYTES, 0},
        {"1e99", MFU_BYTES, 0},
        {"1e999", MFU_COUNT, 0},
        {"1e30T", MFU_COUNT, 0},
        {"8kk", MFU_TOKENS, 0},
        {"8 k k", MFU_TOKENS, 0},
        {"8 9", MFU_COUNT, 0},
        {"1,5", MFU_COUNT, 0},
        {"--1", MFU_COUNT, 0},
        {"- 1", MFU_COUNT, 0},
        {".", MFU_COUNT, 0},
        {"k", MFU_COUNT, 0},
        {"5e", MFU_FLOP, 0},
        {"5 e", MFU_BYTES, 0},
        {"300ms", MFU_BYTES, 0},
        {"24GB", MFU_SECONDS, 0},
        {"400Gb/s", MFU_BYTES_PER_S, 0},
        {"24GB", MFU_BYTES_PER_S, 0},
        {"5M", MFU_SECONDS, 0},
        {"5m", MFU_SECONDS, 0},
        {"450mW", MFU_WATTS, 0},
        {"47%%", MFU_RATIO, 0},
        {"47%", MFU_COUNT, 0},
        {"5s5", MFU_SECONDS, 0},
        {"10B\n", MFU_TOKENS, 0},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_error err = {0};
        double value = 42;

        if (mfu_quantity_parse(rows[i].text, rows[i].dim, &value, &err) == 0)
            fail_msg("'%s' is read as %g", rows[i].text, value);
        assert_int_equal(err.code, MFU_EINPUT);
        assert_string_not_equal(err.text, "");
        assert_true(value == 42);
    }
}

static void the_message_shows_one_that_works(void **state)
{
    struct mfu_error err = {0};
    double value;

    (void)state;
    mfu_quantity_parse("eighty", MFU_BYTES, &value, &err);
    assert_string_equal(err.text, "'eighty' is not a size such as 80GiB or 512MB");
    mfu_quantity_parse("1e99", MFU_COUNT, &value, &err);
    assert_string_equal(err.text, "'1e99' is too large");
    mfu_quantity_scan("8kk*2", MFU_TOKENS, &value, &err);
    assert_string_equal(err.text, "'8kk': unknown unit 'kk'");
    assert_int_equal(mfu_quantity_parse("x", MFU_COUNT, &value, NULL), -1);
    assert_int_equal(mfu_quantity_scan("x", MFU_COUNT, &value, NULL), -1);
}

/* What every help text shows as an example is read. */
static void the_help_is_true(void **state)
{
    (void)state;
    for (int dim = 0; dim < MFU_DIM_END; dim++) {
        const char *help = strstr(mfu_dim_help(dim), "such as ");
        char example[32];
        struct mfu_error err;
        double value;
        int n;

        assert_non_null(help);
        help += strlen("such as ");
        while (sscanf(help, "%31[^, ]%n", example, &n) == 1) {
            assert_int_equal(mfu_quantity_parse(example, dim, &value, &err), 0);
            help += n;
            help += strspn(help, ", ");
            help += strncmp(help, "or ", 3) == 0 ? 3 : 0;
        }
    }
}

static void a_unit_in_an_expression_says_its_dimension(void **state)
{
    static const struct {
        struct row is;
        int used;
    } rows[] = {
        {{"24GB/8", MFU_COUNT, 24e9}, 4},   {{"24GB/s/8", MFU_COUNT, 24e9}, 6},
        {{"24GB/seq", MFU_COUNT, 24e9}, 4}, {{"10M/s", MFU_COUNT, 10e6}, 3},
        {{"300ms*2", MFU_COUNT, .3}, 5},    {{"989TFLOP/s)", MFU_COUNT, 989e12}, 10},
        {{"989T", MFU_COUNT, 989e12}, 4},   {{"7B", MFU_COUNT, 7e9}, 2},
        {{"7B", MFU_BYTES, 7}, 2},          {{"8k", MFU_COUNT, 8000}, 2},
        {{"8k", MFU_TOKENS, 8192}, 2},      {{"8k", MFU_SECONDS, 8000}, 2},
        {{"450W", MFU_COUNT, 450}, 4},      {{"2.5GHz", MFU_SECONDS, 2.5e9}, 6},
        {{"90%", MFU_COUNT, .9}, 3},        {{"40% and x", MFU_COUNT, .4}, 3},
        {{"40% or x", MFU_COUNT, .4}, 3},   {{"40%*2", MFU_COUNT, .4}, 3},
        {{"40%)", MFU_COUNT, .4}, 3},       {{"40%-1", MFU_COUNT, .4}, 3},
        {{"10%3", MFU_COUNT, 10}, 2},       {{"10% n", MFU_COUNT, 10}, 2},
        {{"10%(n)", MFU_COUNT, 10}, 2},     {{"10%order", MFU_COUNT, 10}, 2},
        {{"10 %", MFU_COUNT, 10}, 2},       {{"4 k", MFU_COUNT, 4}, 1},
        {{"1.5e3x", MFU_COUNT, 0}, -1},     {{"5x", MFU_COUNT, 0}, -1},
        {{"5m", MFU_SECONDS, 0}, -1},       {{"8k2", MFU_COUNT, 0}, -1},
        {{"2max(1)", MFU_COUNT, 0}, -1},    {{"0x10", MFU_COUNT, 0}, -1},
        {{"nan", MFU_COUNT, 0}, -1},        {{"1e40", MFU_COUNT, 0}, -1},
        {{"", MFU_COUNT, 0}, -1},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct row *r = &rows[i].is;
        struct mfu_error err;
        double value = 0;
        int used = mfu_quantity_scan(r->text, r->dim, &value, &err);

        if (used != rows[i].used || value != r->value)
            fail_msg("'%s': %g, %d characters", r->text, value, used);
    }
}

static void numbers_are_written_for_people(void **state)
{
    static const struct row rows[] = {
        {"0", MFU_COUNT, 0},
        {"0", MFU_COUNT, -0.},
        {"524288", MFU_COUNT, 524288},
        {"999999", MFU_PARAMS, 999999},
        {"1 M", MFU_COUNT, 1e6},
        {"1.235 M", MFU_COUNT, 1234567},
        {"-8", MFU_COUNT, -8},
        {"-1.5 B", MFU_COUNT, -1.5e9},
        {"55.2 k", MFU_COUNT, 55200.4},
        {"0.25", MFU_COUNT, .25},
        {"1 M", MFU_COUNT, 999999.7},
        {"123.6 M", MFU_PARAMS, 123587328},
        {"70 B", MFU_PARAMS, 70e9},
        {"1e+04 T", MFU_PARAMS, 1e16},
        {"8192", MFU_TOKENS, 8192},
        {"55200", MFU_TOKENS, 55200.4},
        {"1 M", MFU_TOKENS, 999999.7},
        {"10 B", MFU_TOKENS, 1e10},
        {"0 B", MFU_BYTES, 0},
        {"512 B", MFU_BYTES, 512},
        {"79.15 GiB", MFU_BYTES, 79.15 * 0x1p30},
        {"1023 KiB", MFU_BYTES, 1023 * 0x1p10},
        {"1 MiB", MFU_BYTES, 1023.98 * 0x1p10},
        {"1 TiB", MFU_BYTES, 1099e9},
        {"-1 min", MFU_SECONDS, -59.9999},
        {"7.48 GiB", MFU_BYTES, 7.48 * 0x1p30},
        {"999.9 GB/s", MFU_BYTES_PER_S, 999.94e9},
        {"1 TB/s", MFU_BYTES_PER_S, 999.96e9},
        {"1.002 TB/s", MFU_BYTES_PER_S, 1.002e12},
        {"850 MFLOP", MFU_FLOP, 850e6},
        {"58.3 TFLOP/s", MFU_FLOP_PER_S, 58.3e12},
        {"0 s", MFU_SECONDS, 0},
        {"1.2 ms", MFU_SECONDS, 1.2e-3},
        {"40 us", MFU_SECONDS, 40e-6},
        {"1 us", MFU_SECONDS, 999.96e-9},
        {"0.5 ns", MFU_SECONDS, .5e-9},
        {"1 min", MFU_SECONDS, 59.9999},
        {"9.5 s", MFU_SECONDS, 9.5},
        {"2.5 d", MFU_SECONDS, 216000},
        {"81.4 %", MFU_RATIO, .81436},
        {"100 %", MFU_RATIO, .9999},
        {"0.4 %", MFU_RATIO, .004},
        {"0 %", MFU_RATIO, 0},
        {"2.475 GHz", MFU_HERTZ, 2475e6},
        {"450 W", MFU_WATTS, 450},
        {"unknown", MFU_BYTES, NAN},
        {"unknown", MFU_SECONDS, -INFINITY},
        {"0", MFU_COUNT, 5e-324},
    };
    char buf[MFU_QUANTITY_MAX];

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_string_equal(mfu_quantity_format(buf, rows[i].value, rows[i].dim), rows[i].text);
}

static void scripts_are_told_the_base_unit(void **state)
{
    (void)state;
    assert_string_equal(mfu_dim_unit(MFU_BYTES), "B");
    assert_string_equal(mfu_dim_unit(MFU_SECONDS), "s");
    assert_string_equal(mfu_dim_unit(MFU_FLOP_PER_S), "FLOP/s");
    assert_string_equal(mfu_dim_unit(MFU_RATIO), "");
}

/* A magnitude from 1e-6 to 1e15, each as likely. */
static double any(void)
{
    return pow(10, -6 + 21 * (rand() / (double)RAND_MAX));
}

/* What format() writes, parse() reads back, to the digits shown. */
static void format_then_parse_is_identity(void **state)
{
    (void)state;
    for (int dim = 0; dim < MFU_DIM_END; dim++)
        for (int i = 0; i < 20000; i++) {
            double x = any(), back;
            char text[MFU_QUANTITY_MAX];
            struct mfu_error err;

            mfu_quantity_format(text, x, dim);
            assert_int_equal(mfu_quantity_parse(text, dim, &back, &err), 0);
            assert_near(back, x, dim == MFU_RATIO ? 5.1e-3 : 5.1e-4);
        }
}

/* A larger number is never written as a smaller one. */
static void format_is_monotonic(void **state)
{
    (void)state;
    for (int dim = 0; dim < MFU_DIM_END; dim++)
        for (int i = 0; i < 20000; i++) {
            double x = any(), more = x * (1 + 1e-3 * rand() / RAND_MAX), a, b;
            char text[MFU_QUANTITY_MAX];
            struct mfu_error err;

            mfu_quantity_format(text, x, dim);
            assert_int_equal(mfu_quantity_parse(text, dim, &a, &err), 0);
            mfu_quantity_format(text, more, dim);
            assert_int_equal(mfu_quantity_parse(text, dim, &b, &err), 0);
            assert_true(b >= a * (1 - 1e-12));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(people_are_read_as_they_mean_it),
        cmocka_unit_test(what_is_not_understood_is_refused),
        cmocka_unit_test(the_message_shows_one_that_works),
        cmocka_unit_test(the_help_is_true),
        cmocka_unit_test(a_unit_in_an_expression_says_its_dimension),
        cmocka_unit_test(numbers_are_written_for_people),
        cmocka_unit_test(scripts_are_told_the_base_unit),
        cmocka_unit_test(format_then_parse_is_identity),
        cmocka_unit_test(format_is_monotonic),
    };
    const char *seed = getenv("MFUPLAN_SEED");
    unsigned used = seed ? (unsigned)strtoul(seed, NULL, 10) : 1;

    print_message("MFUPLAN_SEED=%u\n", used);
    srand(used);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
