/* test_documents.c - lengths of documents against documents that were drawn, and what packing makes of them. */
#include "near.h"

#include <stdlib.h>

#include "kernel/kernel.h"

#define DRAWN 20000

static double drawn[DRAWN];

static double chance(void)
{
    static unsigned long long state = 88172645463325252ull;

    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 0x1p53;
}

/* The share of them that is kept. */
static double draw(const struct mfu_documents *d, double row)
{
    int all = 0;

    for (int i = 0; i < DRAWN; i++) {
        double tokens;

        do {
            double z = sqrt(-2 * log(chance())) * cos(2 * M_PI * chance());

            tokens = fmax(1, d->mean * exp(d->sigma * z - d->sigma * d->sigma / 2));
            all++;
        } while (d->drops > 0 && tokens > row);
        drawn[i] = fmin(row, tokens);
    }
    return (double)DRAWN / all;
}

static const struct mfu_documents all[] = {{300, 0, 1, 0},   {300, 0.5, 1, 0},  {300, 1, 1, 0},
                                           {300, 1.5, 1, 0}, {1500, 0.8, 1, 0}, {3000, 0.7, 1, 1}};
#define KINDS (sizeof all / sizeof all[0])
#define ROW 2048.

static void means_are_those_of_drawn_documents(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        struct mfu_attention a = {.sequences = 1,
                                  .seq = ROW,
                                  .heads = 1,
                                  .kv_heads = 1,
                                  .head_dim = 64,
                                  .causal = true,
                                  .element_bytes = 2,
                                  .documents = all[k],
                                  .row = ROW};
        double tokens = 0, pairs = 0, squares = 0, longest = 0;

        assert_near(mfu_documents_kept(&all[k], ROW), draw(&all[k], ROW), 0.03);
        for (int i = 0; i < DRAWN; i++) {
            double of_8 = 0;

            tokens += drawn[i];
            pairs += drawn[i] * (drawn[i] + 1) / 2;
            squares += drawn[i] * drawn[i];
            for (int j = 0; j < 8 && i % 8 == 0; j++)
                of_8 = fmax(of_8, drawn[i + j]);
            longest += of_8;
        }
        assert_near(mfu_documents_mean(&all[k], ROW, NULL, NULL), tokens / DRAWN, 0.03);
        assert_near(mfu_documents_longest(&all[k], ROW, 8), longest / (DRAWN / 8), 0.03);
        longest = 0;
        for (int i = 0; i < 1000; i++)
            longest += mfu_documents_quantile(&all[k], ROW, 8, (i + 0.5) / 1000) / 1000;
        assert_near(mfu_documents_longest(&all[k], ROW, 8), longest, 0.01);
        assert_near(mfu_attention_pairs(&a), pairs / tokens * ROW, 0.05);
        assert_near(mfu_kernel_attention(&a, false).pairs, squares / tokens * ROW, 0.05);
        assert_near(mfu_kernel_attention(&a, true).flops, 2.5 * mfu_kernel_attention(&a, false).flops, 1e-12);
    }
}

static int longer_first(const void *a, const void *b)
{
    return (*(const double *)a < *(const double *)b) - (*(const double *)a > *(const double *)b);
}

/* First fit of two thousand of them, the longest first. */
static double packed(void)
{
    static double room[2000];
    double tokens = 0;
    int rows = 0;

    qsort(drawn, 2000, sizeof *drawn, longer_first);
    for (int i = 0; i < 2000; i++) {
        int k = 0;

        while (k < rows && room[k] < drawn[i])
            k++;
        if (k == rows)
            room[rows++] = ROW;
        room[k] -= drawn[i];
        tokens += drawn[i];
    }
    return tokens / (rows * ROW);
}

static void rows_are_as_full_as_those_of_drawn_documents(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        draw(&all[k], ROW);
        assert_near(mfu_documents_fill(&all[k], ROW, true), packed(), 0.03);
        assert_near(mfu_documents_fill(&all[k], ROW, false), mfu_documents_mean(&all[k], ROW, NULL, NULL) / ROW, 1e-12);
    }
    for (double mean = 1; mean <= 1e9; mean *= 1.5) { /* one length, and none above a row */
        struct mfu_documents d = {floor(mean), 0, 1, 0};
        double whole = fmin(ROW, d.mean), rest = fmod(ROW, whole) / ROW;

        assert_near(mfu_documents_fill(&d, ROW, true), ROW / whole < 256 ? 1 - rest : 1, 1e-9);
        for (d.sigma = 0; d.sigma <= 3; d.sigma += 0.5)
            assert_true(mfu_documents_fill(&d, ROW, true) <= 1 && mfu_documents_fill(&d, ROW, false) <= 1);
    }
}

/* Sums over a lognormal distribution that is cut, in closed form. */
static double moment(const struct mfu_documents *d, double row, int k)
{
    double m = log(d->mean) - d->sigma * d->sigma / 2, z = (log(row) - m) / d->sigma;

    return exp(k * m + k * k * d->sigma * d->sigma / 2) * 0.5 * erfc(-(z - k * d->sigma) / sqrt(2))
        + pow(row, k) * 0.5 * erfc(z / sqrt(2));
}

static double square(double tokens, const void *unused)
{
    (void)unused;
    return tokens * tokens;
}

/* The longest documents have most of the pairs. */
static void tails_count(void **state)
{
    (void)state;
    for (double sigma = 0.25; sigma <= 3; sigma += 0.25)
        for (double row = 1024; row <= 0x1p20; row *= 4) {
            struct mfu_documents d = {5000, sigma, 1, 0};

            assert_near(mfu_documents_mean(&d, row, NULL, NULL), moment(&d, row, 1), 0.005);
            assert_near(mfu_documents_mean(&d, row, square, NULL), moment(&d, row, 2), 0.005);
        }
}

/* Whole documents of one length: sums that are known. */
static void equal_documents_are_sequences(void **state)
{
    (void)state;
    for (double n = 1; n <= 16; n *= 2) {
        struct mfu_attention one = {.sequences = n,
                                    .seq = ROW / n,
                                    .heads = 8,
                                    .kv_heads = 2,
                                    .head_dim = 64,
                                    .causal = true,
                                    .element_bytes = 2},
                             rows = one;

        rows.sequences = 1, rows.seq = rows.row = ROW;
        rows.documents = (struct mfu_documents){
            ROW / n, 0, mfu_documents_fill(&(struct mfu_documents){.mean = ROW / n}, ROW, true), 0};
        for (int backward = 0; backward < 2; backward++) {
            struct mfu_kernel a = mfu_kernel_attention(&one, backward), b = mfu_kernel_attention(&rows, backward);

            assert_near(a.flops, b.flops, 1e-12);
            assert_near(a.read_bytes, b.read_bytes, 1e-12);
            assert_near(mfu_kernel_counted_flops(&a), mfu_kernel_counted_flops(&b), 1e-12);
        }
        rows.window = one.window = 100;
        assert_near(mfu_kernel_attention(&one, false).flops, mfu_kernel_attention(&rows, false).flops, 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(means_are_those_of_drawn_documents),
        cmocka_unit_test(rows_are_as_full_as_those_of_drawn_documents),
        cmocka_unit_test(tails_count),
        cmocka_unit_test(equal_documents_are_sequences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
