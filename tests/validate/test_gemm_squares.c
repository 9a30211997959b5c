/*
 * The best square matrix product of every card that somebody measured, as its
 * file predicts it, and as the other cards of its family say.
 *
 * tests/data/kernels/gemm-squares.csv: best of torch.matmul squares of 1024 to
 * 10240, 10 launches to warm up and 30 timed (zzc0721/torch-performance-test-data,
 * database.md at 9d82827); a row is one box; `broken` says why a row cannot be right.
 */
#include "catalog.h"
#include "owned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"
#include "cost/cost.h"
#include "scenario/scenario.h"

#define TABLE MFUPLAN_SOURCE_DIR "/tests/data/kernels/gemm-squares.csv"
#define CARDS 128

struct card {
    const struct mfu_gpu *gpu;
    double boxes[16]; /* FLOP/s */
    int n;
    double error; /* log of predicted over the median box */
};

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

static double best_square(const struct mfu_gpu *gpu, enum mfu_peak math, double element_bytes)
{
    static const double sizes[] = {1024, 2048, 4096, 8192, 10240};
    struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), gpu);
    struct mfu_machine m;
    struct mfu_config c;
    double best = 0;

    assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
    mfu_machine_make(&c, &m);
    for (size_t i = 0; i < LENGTH(sizes); i++) {
        struct mfu_kernel k =
            mfu_kernel_gemm(math, sizes[i], sizes[i], sizes[i], 1, element_bytes, element_bytes, false);
        struct mfu_price p;

        mfu_price_kernel(&m, &k, 0, 0, &p);
        mfu_price_throttle(&m, &k, p.compute_s / (p.compute_s + m.c[MFU_C_GEMM_SETTLING]), &p);
        best = fmax(best, k.flops / p.time_s);
    }
    return best;
}

/* Cards with at least one good box of this column. */
static int read_cards(const char *column, enum mfu_peak math, double element_bytes, struct card *cards)
{
    ARENA arena = {0};
    struct mfu_error err = {0};
    struct mfu_csv csv;
    int n = 0;

    if (mfu_csv_read(TABLE, &arena, &csv, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < csv.n_rows; i++) {
        const struct mfu_gpu *gpu = mfu_catalog_gpu(catalog, mfu_csv_get(&csv, i, "gpu"), &err);
        double tflops = strtod(mfu_csv_get(&csv, i, column), NULL);
        int k = 0;

        if (!gpu)
            fail_msg("%s", err.text);
        if (!(tflops > 0) || *mfu_csv_get(&csv, i, "broken"))
            continue;
        while (k < n && cards[k].gpu != gpu)
            k++;
        assert_true(k < CARDS && cards[k].n < (int)LENGTH(cards[k].boxes));
        cards[k].gpu = gpu;
        cards[k].boxes[cards[k].n++] = tflops * 1e12;
        n = k == n ? n + 1 : n;
    }
    for (int k = 0; k < n; k++) {
        const struct mfu_gpu *g = cards[k].gpu;

        cards[k].error = log(
            best_square(g, math == MFU_PEAK_BF16 && !(g->peak_flops[math] > 0) ? MFU_PEAK_FP16 : math, element_bytes)
            / median(cards[k].boxes, cards[k].n));
    }
    return n;
}

/* Errors as the files stand, and of each card after its family's error, that of
 * the family's other cards, is taken off: what a card without measurements sees. */
static void judge(const char *column, enum mfu_peak math, double element_bytes, double middle, double most)
{
    struct card cards[CARDS] = {0};
    double as_is[CARDS], left_out[CARDS], others[CARDS];
    int n = read_cards(column, math, element_bytes, cards), n_left_out = 0;

    assert_true(n >= 15);
    for (int i = 0; i < n; i++) {
        int n_others = 0;

        as_is[i] = fabs(cards[i].error);
        for (int k = 0; k < n; k++)
            if (k != i && strcmp(cards[k].gpu->family, cards[i].gpu->family) == 0)
                others[n_others++] = cards[k].error;
        if (n_others > 0)
            left_out[n_left_out++] = fabs(cards[i].error - median(others, n_others));
        if (as_is[i] > most)
            fail_msg("%s %s: %+.0f %%", cards[i].gpu->slug, column, 100 * expm1(cards[i].error));
    }
    qsort(left_out, (size_t)n_left_out, sizeof *left_out, ascending);
    print_message("%-12s %2d cards: median %.1f %%; left out %.1f %%, worst %.1f %%\n", column, n,
                  100 * median(as_is, n), 100 * median(left_out, n_left_out), 100 * left_out[n_left_out - 1]);
    assert_true(median(as_is, n) <= middle && median(left_out, n_left_out) <= middle);
    assert_true(left_out[n_left_out - 1] <= most);
}

static void tensor_products_are_as_fast_as_measured(void **state)
{
    (void)state;
    judge("bf16_tflops", MFU_PEAK_BF16, 2, 0.05, 0.15);
}

/* fp32 of one generation differs by a quarter between cards, whatever their file says. */
static void products_on_the_cuda_cores_too(void **state)
{
    (void)state;
    judge("fp32_tflops", MFU_PEAK_FP32, 4, 0.07, 0.25);
}

static void tf32_too(void **state)
{
    (void)state;
    judge("tf32_tflops", MFU_PEAK_TF32, 4, 0.07, 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_products_are_as_fast_as_measured),
        cmocka_unit_test(products_on_the_cuda_cores_too),
        cmocka_unit_test(tf32_too),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
