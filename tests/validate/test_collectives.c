/*
 * Collectives that others measured, over the clusters that the program knows:
 * examples/measured/collectives.csv, an excerpt of published nccl-tests and the
 * like; or another table with the same columns, named as an argument.
 */
#include "near.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/suggest.h"
#include "cost/collective.h"
#include "cost/sample.h"
#include "descriptor/catalog.h"
#include "descriptor/cluster.h"
#include "descriptor/gpu.h"

static const char *table = MFUPLAN_SOURCE_DIR "/examples/measured/collectives.csv";

struct row {
    const char *source, *cluster;
    bool several; /* nodes */
    double bytes, error;
};

static double number(const struct mfu_csv *csv, size_t i, const char *column)
{
    return strtod(mfu_csv_get(csv, i, column), NULL);
}

static int find(const char *const *names, const char *text)
{
    for (int i = 0; names[i]; i++)
        if (mfu_same_name(names[i], text))
            return i;
    return -1;
}

/* A pair's exchange is called send_recv by nccl-tests. */
static int kind(const char *text)
{
    for (int i = MFU_ALL_REDUCE; i < MFU_COLLECTIVE_COUNT; i++)
        if (mfu_same_name(mfu_collective_names[i], text) || (i == MFU_SEND && mfu_same_name(text, "send_recv")))
            return i;
    return -1;
}

static double predict(struct mfu_catalog *catalog, const struct mfu_csv *csv, size_t i)
{
    struct mfu_error err = {0};
    const struct mfu_gpu *gpu = mfu_catalog_gpu(catalog, mfu_csv_get(csv, i, "gpu"), &err);
    const struct mfu_cluster *cluster = mfu_catalog_cluster(catalog, mfu_csv_get(csv, i, "cluster"), &err);
    int op = kind(mfu_csv_get(csv, i, "op"));
    int algorithm = find(mfu_algorithm_names, mfu_csv_get(csv, i, "algorithm"));
    struct mfu_machine *m = malloc(sizeof *m);
    struct mfu_cluster k;
    struct mfu_group g;
    double time_s;

    if (!gpu || !cluster || op < 0 || !m)
        fail_msg("row %zu: %s", i, err.text);
    mfu_machine_of(gpu, gpu->coefficients.value, m);
    mfu_topology_make(cluster, gpu, gpu->coefficients.value, gpu->coefficients.sigma, &m->topology);
    m->topology.reduces |= algorithm == MFU_SHARP;
    mfu_cluster_with(cluster, gpu, &k);
    g = mfu_group_on(number(csv, i, "gpus"), number(csv, i, "nodes"), k.node_gpus, k.domain_gpus);
    time_s = algorithm < 0 ? mfu_collective_s(m, &g, (enum mfu_collective_kind)op, number(csv, i, "bytes"))
                           : mfu_collective_price_by(m, &g, (enum mfu_collective_kind)op, number(csv, i, "bytes"),
                                                     (enum mfu_algorithm)algorithm)
                                 .time_s;
    free(m);
    return time_s;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median error of the rows between two sizes, printed; NAN for none. */
static double median(const char *what, const struct row *rows, size_t n, bool several, const char *source,
                     const char *cluster, double from, double to)
{
    double *list = calloc(n + 1, sizeof *list), middle, sum = 0;
    size_t m = 0;

    for (size_t i = 0; i < n; i++)
        if (rows[i].several == several && rows[i].bytes >= from && rows[i].bytes < to
            && (!source || (strcmp(rows[i].source, source) == 0 && strcmp(rows[i].cluster, cluster) == 0))) {
            list[m++] = fabs(rows[i].error);
            sum += rows[i].error;
        }
    qsort(list, m, sizeof *list, ascending);
    middle = m ? list[m / 2] : NAN;
    if (m)
        print_message("%-64s %4zu rows: median %5.1f %%, mean %+6.1f %%\n", what, m, 100 * middle,
                      100 * sum / (double)m);
    free(list);
    return middle;
}

static void measured_collectives_are_predicted(void **state)
{
    struct mfu_catalog *catalog;
    struct mfu_arena arena = {0};
    struct mfu_csv csv;
    struct row *rows;

    (void)state;
    setenv("MFUPLAN_CALIBRATIONS", "", 1);
    assert_non_null(catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, NULL));
    assert_int_equal(mfu_csv_read(table, &arena, &csv, NULL), 0);
    assert_non_null(rows = calloc(csv.n_rows, sizeof *rows));
    for (size_t i = 0; i < csv.n_rows; i++) {
        rows[i] = (struct row){.source = mfu_csv_get(&csv, i, "source"),
                               .cluster = mfu_csv_get(&csv, i, "cluster"),
                               .several = number(&csv, i, "nodes") > 1,
                               .bytes = number(&csv, i, "bytes"),
                               .error = predict(catalog, &csv, i) / (1e-6 * number(&csv, i, "time_us")) - 1};
        assert_true(isfinite(rows[i].error));
    }
    for (size_t i = 0; i < csv.n_rows; i++) {
        bool first = true;
        char what[120];

        for (size_t k = 0; k < i; k++)
            first &= strcmp(rows[k].source, rows[i].source) != 0 || strcmp(rows[k].cluster, rows[i].cluster) != 0
                || rows[k].several != rows[i].several;
        snprintf(what, sizeof what, "%.45s, %.16s", rows[i].source, rows[i].cluster);
        if (first)
            median(what, rows, csv.n_rows, rows[i].several, rows[i].source, rows[i].cluster, 0, INFINITY);
    }
    median("one node, below 100 kB", rows, csv.n_rows, false, NULL, NULL, 0, 1e5);
    median("one node, to 10 MB", rows, csv.n_rows, false, NULL, NULL, 1e5, 1e7);
    median("one node, above", rows, csv.n_rows, false, NULL, NULL, 1e7, INFINITY);
    median("several nodes, below 100 kB", rows, csv.n_rows, true, NULL, NULL, 0, 1e5);
    median("several nodes, to 10 MB", rows, csv.n_rows, true, NULL, NULL, 1e5, 1e7);
    median("several nodes, above", rows, csv.n_rows, true, NULL, NULL, 1e7, INFINITY);
    assert_true(median("one node", rows, csv.n_rows, false, NULL, NULL, 0, INFINITY) <= 0.06);
    assert_true(median("several nodes", rows, csv.n_rows, true, NULL, NULL, 0, INFINITY) <= 0.09);
    free(rows);
    mfu_arena_free(&arena);
    mfu_catalog_free(catalog);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(measured_collectives_are_predicted)};

    if (argc > 1)
        table = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
