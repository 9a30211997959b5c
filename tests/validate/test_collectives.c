/*
 * Collectives that others measured, over the clusters that the program knows:
 * examples/measured/collectives.csv, an excerpt of published nccl-tests and the
 * like; or another table with the same columns, named as an argument.  Also each
 * machine's after a fit of the coefficients to all other machines.
 */
#include "near.h"
#include "owned.h"

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
    const struct mfu_gpu *gpu;
    const struct mfu_cluster *room;
    struct mfu_group group;
    enum mfu_collective_kind op;
    int algorithm;  /* that was forced; -1: none */
    bool several;   /* nodes */
    bool disturbed; /* the source says that hosts or skew between ranks rule short ones */
    int family;
    double bytes, time_s, error;
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

static void read_row(struct mfu_catalog *catalog, const struct mfu_csv *csv, size_t i, struct row *r)
{
    struct mfu_error err = {0};
    struct mfu_cluster k;

    *r = (struct row){.source = mfu_csv_get(csv, i, "source"),
                      .cluster = mfu_csv_get(csv, i, "cluster"),
                      .gpu = mfu_catalog_gpu(catalog, mfu_csv_get(csv, i, "gpu"), &err),
                      .op = (enum mfu_collective_kind)kind(mfu_csv_get(csv, i, "op")),
                      .algorithm = find(mfu_algorithm_names, mfu_csv_get(csv, i, "algorithm")),
                      .several = number(csv, i, "nodes") > 1,
                      .disturbed = *mfu_csv_get(csv, i, "condition") != 0,
                      .bytes = number(csv, i, "bytes"),
                      .time_s = 1e-6 * number(csv, i, "time_us")};
    r->room = mfu_catalog_cluster(catalog, r->cluster, &err);
    if (!r->gpu || !r->room || (int)r->op < 0)
        fail_msg("row %zu: %s", i, err.text);
    mfu_cluster_with(r->room, r->gpu, &k);
    r->group = mfu_group_on(number(csv, i, "gpus"), number(csv, i, "nodes"), k.node_gpus, k.domain_gpus);
}

static double predict(const struct row *r, const double c[MFU_COEFFICIENT_COUNT])
{
    static struct mfu_machine m;

    mfu_machine_of(r->gpu, c, &m);
    mfu_topology_make(r->room, r->gpu, c, r->gpu->coefficients.sigma, &m.topology);
    m.topology.reduces |= r->algorithm == MFU_SHARP;
    return r->algorithm < 0
        ? mfu_collective_s(&m, &r->group, r->op, r->bytes)
        : mfu_collective_price_by(&m, &r->group, r->op, r->bytes, (enum mfu_algorithm)r->algorithm).time_s;
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

static void of_nodes(const char *what, const struct row *rows, size_t n, bool several, double most)
{
    char text[80];
    double all;

    snprintf(text, sizeof text, "%s, below 100 kB", what);
    median(text, rows, n, several, NULL, NULL, 0, 1e5);
    snprintf(text, sizeof text, "%s, to 10 MB", what);
    median(text, rows, n, several, NULL, NULL, 1e5, 1e7);
    snprintf(text, sizeof text, "%s, above", what);
    median(text, rows, n, several, NULL, NULL, 1e7, INFINITY);
    all = median(what, rows, n, several, NULL, NULL, 0, INFINITY);
    assert_true(isnan(all) || all <= most); /* a table may have no rows of one kind */
}

static void by_machine(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool first = true;
        char what[120];

        for (size_t k = 0; k < i; k++)
            first &= strcmp(rows[k].source, rows[i].source) != 0 || strcmp(rows[k].cluster, rows[i].cluster) != 0
                || rows[k].several != rows[i].several;
        snprintf(what, sizeof what, "%.45s, %.16s", rows[i].source, rows[i].cluster);
        if (first)
            median(what, rows, n, rows[i].several, rows[i].source, rows[i].cluster, 0, INFINITY);
    }
}

/* ---- a fit ----------------------------------------------------------------- */

/* What all machines have in common, and what a family has of its own (of GPUs in one node, of networks between
 * several): logarithms, beside the mean over the families, with sigmas of what is known without any measurement. */
#define FAMILIES 16
#define OWN 4
#define PARAMETERS (16 + OWN * FAMILIES)
#define KNOWN 1.0
#define SPREAD 0.06 /* of what the model leaves; beyond, a row's pull fades */
static const enum mfu_coefficient of_links[] = {
    MFU_C_LINK_LL,   MFU_C_LINK_LL_FULL, MFU_C_LL128_STEP, MFU_C_SIMPLE_START, MFU_C_SIMPLE_STEP, MFU_C_NVLS_START,
    MFU_C_NVLS_RAMP, MFU_C_LINK_COPY,    MFU_C_LINK_RAMP,  MFU_C_LINK_PCIE,    MFU_C_LINK_SHARED,
};
static const enum mfu_coefficient of_networks[] = {MFU_C_NET_SPREAD, MFU_C_NET_PIPELINE, MFU_C_NET_TREE,
                                                   MFU_C_NET_SHARP};
static const enum mfu_coefficient of_network[MFU_NETWORK_COUNT][OWN] = {
    [MFU_NETWORK_INFINIBAND] = {MFU_C_NET_INFINIBAND, MFU_C_NET_INFINIBAND_HOP},
    [MFU_NETWORK_ROCE] = {MFU_C_NET_ROCE, MFU_C_NET_ROCE_HOP},
    [MFU_NETWORK_EFA] = {MFU_C_NET_EFA, MFU_C_NET_EFA_HOP},
    [MFU_NETWORK_OMNI_PATH] = {MFU_C_NET_OMNI_PATH, MFU_C_NET_OMNI_PATH_HOP},
    [MFU_NETWORK_TCPX] = {MFU_C_NET_TCPX, MFU_C_NET_TCPX_HOP},
    [MFU_NETWORK_ETHERNET] = {MFU_C_NET_ETHERNET, MFU_C_NET_ETHERNET_HOP},
};
static const enum mfu_coefficient of_family[OWN] = {MFU_C_LINK_LATENCY, MFU_C_LINK_STEP, MFU_C_LINK_NVLINK,
                                                    MFU_C_LINK_NVLS};

static const struct scope {
    bool several;
    const enum mfu_coefficient *shared;
    size_t n_shared, n_own;
    double sigma[OWN];
} one_node = {false, of_links, LENGTH(of_links), OWN, {0.6, 0.15, 0.08, 0.08}},
  nodes = {true, of_networks, LENGTH(of_networks), 2, {0.08, 1.5}};

struct fit {
    const struct scope *of;
    double centre[PARAMETERS]; /* from which logarithms count */
    double t[PARAMETERS];
};

/* What a row's family has of its own. */
static enum mfu_coefficient own(const struct row *r, size_t i)
{
    return r->several ? of_network[r->room->network][i] : of_family[i];
}

/* All that counts, and what of it a family has no part in. */
static size_t common(const struct scope *of)
{
    return of->n_shared + of->n_own;
}

static size_t parameters(const struct scope *of)
{
    return common(of) + of->n_own * FAMILIES;
}

static double with(const struct row *r, const struct fit *f)
{
    const struct scope *of = f->of;
    double c[MFU_COEFFICIENT_COUNT];

    memcpy(c, r->gpu->coefficients.value, sizeof c);
    if (of->several) /* one table's alone */
        c[MFU_C_NET_SOCKETS] = INFINITY;
    for (size_t i = 0; i < of->n_shared; i++)
        c[of->shared[i]] = f->centre[i] * exp(f->t[i]);
    for (size_t i = 0; i < of->n_own; i++)
        if (c[own(r, i)] > 0)
            c[own(r, i)] = f->centre[of->n_shared + i]
                * exp(f->t[of->n_shared + i] + f->t[common(of) + of->n_own * (size_t)r->family + i]);
    return predict(r, c);
}

static bool same_machine(const struct row *a, const struct row *b)
{
    return strcmp(a->source, b->source) == 0 && strcmp(a->cluster, b->cluster) == 0 && a->several == b->several;
}

static bool learns(const struct scope *of, const struct row *r, const struct row *without)
{
    return r->several == of->several && !(r->disturbed && r->bytes < 8e6) && !(without && same_machine(r, without));
}

/* Solves a x = b in place, without pivots: `a` is positive definite. */
static void solve(size_t n, double a[PARAMETERS][PARAMETERS], double b[PARAMETERS])
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            double x = a[k][i] / a[i][i];

            for (size_t j = i; x != 0 && j < n; j++)
                a[k][j] -= x * a[i][j];
            b[k] -= x * b[i];
        }
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++)
            b[i] -= a[i][j] * b[j];
        b[i] /= a[i][i];
    }
}

/* Gauss-Newton with weights that fade (Cauchy), over all rows but those of one machine. */
static void fit_without(const struct row *without, const struct row *rows, size_t n, struct fit *f)
{
    static double a[PARAMETERS][PARAMETERS], b[PARAMETERS], slope[PARAMETERS];
    const struct scope *of = f->of;
    size_t all = parameters(of);

    for (int round = 0; round < 10; round++) {
        memset(a, 0, sizeof a);
        for (size_t i = 0; i < all; i++) {
            double sigma = i < common(of) ? KNOWN : of->sigma[(i - common(of)) % of->n_own];

            a[i][i] = 1 / (sigma * sigma);
            b[i] = -f->t[i] * a[i][i];
        }
        for (size_t k = 0; k < n; k++) {
            double e, weight;

            if (!learns(of, &rows[k], without))
                continue;
            e = log(with(&rows[k], f) / rows[k].time_s);
            weight = 1 / (SPREAD * SPREAD + e * e);
            for (size_t i = 0; i < all; i++) {
                double t = f->t[i];

                slope[i] = 0;
                if (i >= common(of) && (i - common(of)) / of->n_own != (size_t)rows[k].family)
                    continue;
                f->t[i] += 1e-4;
                slope[i] = (log(with(&rows[k], f) / rows[k].time_s) - e) / 1e-4;
                f->t[i] = t;
            }
            for (size_t i = 0; i < all; i++) {
                b[i] -= weight * slope[i] * e;
                for (size_t j = 0; slope[i] != 0 && j < all; j++)
                    a[i][j] += weight * slope[i] * slope[j];
            }
        }
        solve(all, a, b);
        for (size_t i = 0; i < all; i++)
            f->t[i] += fmax(-0.3, fmin(0.3, b[i]));
    }
}

/* The rows of each machine after a fit to all others. */
static void leave_machines_out(const struct scope *of, struct row *rows, size_t n)
{
    struct fit all = {.of = of}, f;

    for (size_t i = 0; i < common(of); i++) {
        double sum = 0, count = 0;

        for (size_t k = 0; k < n; k++) {
            double value = i < of->n_shared      ? rows[k].gpu->coefficients.value[of->shared[i]]
                : rows[k].several == of->several ? rows[k].gpu->coefficients.value[own(&rows[k], i - of->n_shared)]
                                                 : 0;
            if (value > 0) {
                sum += log(value);
                count++;
            }
        }
        all.centre[i] = exp(sum / count);
    }
    fit_without(NULL, rows, n, &all);
    for (size_t i = 0; i < n; i++) {
        bool first = rows[i].several == of->several;

        for (size_t k = 0; k < i; k++)
            first &= !same_machine(&rows[k], &rows[i]);
        if (!first)
            continue;
        f = all;
        fit_without(&rows[i], rows, n, &f);
        for (size_t k = i; k < n; k++)
            if (same_machine(&rows[k], &rows[i]))
                rows[k].error = with(&rows[k], &f) / rows[k].time_s - 1;
    }
}

/* ---- */

static void measured_collectives_are_predicted(void **state)
{
    struct mfu_catalog *catalog;
    ARENA arena = {0};
    struct mfu_csv csv;
    struct row *rows;

    (void)state;
    setenv("MFUPLAN_CALIBRATIONS", "", 1);
    assert_non_null(catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, NULL));
    assert_int_equal(mfu_csv_read(table, &arena, &csv, NULL), 0);
    assert_non_null(rows = calloc(csv.n_rows, sizeof *rows));
    for (size_t i = 0; i < csv.n_rows; i++) {
        read_row(catalog, &csv, i, &rows[i]);
        rows[i].error = predict(&rows[i], rows[i].gpu->coefficients.value) / rows[i].time_s - 1;
        assert_true(isfinite(rows[i].error));
        for (size_t k = 0; k <= i; k++) { /* the first of its family numbers it */
            if (rows[i].several) {
                rows[i].family = rows[i].room->network;
                break;
            }
            if (rows[k].several)
                continue;
            if (strcmp(rows[k].gpu->family, rows[i].gpu->family) == 0) {
                rows[i].family = k == i ? rows[i].family : rows[k].family;
                break;
            }
            rows[i].family = (int)fmax(rows[i].family, rows[k].family + 1);
        }
        assert_true(rows[i].family < FAMILIES);
    }
    by_machine(rows, csv.n_rows);
    of_nodes("one node", rows, csv.n_rows, false, 0.06);
    of_nodes("several nodes", rows, csv.n_rows, true, 0.09);

    leave_machines_out(&one_node, rows, csv.n_rows);
    leave_machines_out(&nodes, rows, csv.n_rows);
    print_message("after a fit to the other machines:\n");
    by_machine(rows, csv.n_rows);
    of_nodes("one node, left out", rows, csv.n_rows, false, 0.10);
    of_nodes("several nodes, left out", rows, csv.n_rows, true, 0.20);
    free(rows);
    mfu_catalog_free(catalog);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(measured_collectives_are_predicted)};

    if (argc > 1)
        table = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
