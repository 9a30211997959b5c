/*
 * Products of experts as TransformerEngine's grouped linear runs them, a cuBLAS kernel each, against timings of it.
 *
 * tests/data/kernels/experts.csv: 40 calls of general_grouped_gemm in a row on a B200, TransformerEngine 2.11
 * (MooreThreads/SimuMax at 4dcaae51, configs/system/b200_bf16_ceperm.json, simu_tools/efficency_test/
 * test_grouped_gemm_efficiency.py; Apache 2.0).  The box is slower than others in long products, too: its median error is
 * taken off.
 */
#include "catalog.h"
#include "owned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"
#include "cost/cost.h"
#include "scenario/scenario.h"

#define TABLE MFUPLAN_SOURCE_DIR "/tests/data/kernels/experts.csv"
#define ROWS 256

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, ascending);
    return (x[n / 2] + x[(n - 1) / 2]) / 2;
}

static double number(const struct mfu_csv *csv, size_t row, const char *column)
{
    return strtod(mfu_csv_get(csv, row, column), NULL);
}

/* Seconds of one call among many: clocks have fallen, and the host launches a product at a time. */
static double seconds(const struct mfu_machine *m, const struct mfu_csv *csv, size_t row, bool apart)
{
    const char *pass = mfu_csv_get(csv, row, "pass");
    bool adds = strcmp(pass, "weight_gradient") == 0;
    double m_ = number(csv, row, "m"), n = number(csv, row, "n"), k_ = number(csv, row, "k");
    double experts = number(csv, row, "experts");
    double result_bytes = strcmp(mfu_csv_get(csv, row, "result"), "fp32") == 0 ? 4 : 2;
    struct mfu_kernel k = adds ? mfu_kernel_weight_gradient(MFU_PEAK_BF16, m_, n, k_, experts, 2, result_bytes, true)
                               : mfu_kernel_gemm(MFU_PEAK_BF16, m_, n, k_, experts, 2, result_bytes, false);
    struct mfu_price p;

    if (apart)
        mfu_kernel_set_apart(&k);
    mfu_price_kernel(m, &k, 0, 0, &p);
    mfu_price_throttle(m, &k, 1, &p);
    return apart ? fmax(p.time_s, experts * m->c[MFU_C_HOST_PRODUCT]) : p.time_s;
}

/* Mean of |log error|, less what is common to all. */
static double error(const struct mfu_machine *m, const struct mfu_csv *csv, bool apart)
{
    double logs[ROWS] = {0}, sorted[ROWS] = {0}, sum = 0, middle;
    int n = 0;

    assert_true(csv->n_rows <= ROWS);
    for (size_t i = 0; i < csv->n_rows; i++)
        logs[n++] = log(seconds(m, csv, i, apart) / (number(csv, i, "time_us") * 1e-6));
    for (int i = 0; i < n; i++)
        sorted[i] = logs[i];
    middle = median(sorted, n);
    for (int i = 0; i < n; i++)
        sum += fabs(logs[i] - middle);
    print_message("%s: median %+.1f %%, apart from that %.1f %% in the mean\n", apart ? "a kernel each" : "one kernel",
                  100 * expm1(middle), 100 * sum / n);
    return sum / n;
}

static void a_kernel_each_is_what_was_measured(void **state)
{
    const struct mfu_gpu *gpu = mfu_catalog_gpu(catalog, "b200", NULL);
    struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), gpu);
    ARENA arena = {0};
    struct mfu_error err = {0};
    struct mfu_machine m;
    struct mfu_config c;
    struct mfu_csv csv;
    double apart, at_once;

    (void)state;
    if (mfu_csv_read(TABLE, &arena, &csv, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
    mfu_machine_make(&c, &m);
    apart = error(&m, &csv, true);
    at_once = error(&m, &csv, false);
    assert_true(apart < 0.12 && apart < at_once / 1.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_each_is_what_was_measured),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
