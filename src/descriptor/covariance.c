/*
 * covariance.c - coefficients that are known together.
 */
#include "descriptor/covariance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/yaml.h"

_Static_assert(MFU_COEFFICIENT_COUNT < 256, "an identifier is a byte");

/* Where a pair of places, from 0, lies in the triangle. */
static size_t at(int a, int b)
{
    size_t high = (size_t)(a > b ? a : b), low = (size_t)(a > b ? b : a);

    return high * (high - 1) / 2 + low;
}

static int place(const struct mfu_correlations *k, int id)
{
    return k->place[id] - 1;
}

static int make_place(struct mfu_correlations *k, int id)
{
    if (k->place[id] == 0 && k->n < MFU_CORRELATED) {
        for (int i = 0; i < k->n; i++)
            k->of[at(i, k->n)] = 0;
        k->id[k->n++] = (unsigned char)id;
        k->place[id] = k->n;
    }
    return place(k, id);
}

double mfu_correlation(const struct mfu_coefficients *c, int i, int j)
{
    int a = place(&c->known_together, i), b = place(&c->known_together, j);

    return i == j ? 1 : a < 0 || b < 0 ? 0 : (double)c->known_together.of[at(a, b)];
}

void mfu_correlate(struct mfu_coefficients *c, int i, int j, double correlation)
{
    int a = make_place(&c->known_together, i), b = make_place(&c->known_together, j);

    if (a >= 0 && b >= 0 && a != b)
        c->known_together.of[at(a, b)] = (float)fmin(fmax(correlation, -1), 1);
}

void mfu_correlations_put_over(const struct mfu_coefficients *from, struct mfu_coefficients *to)
{
    struct mfu_correlations before = to->known_together;
    const struct mfu_correlations *sources[] = {&before, &from->known_together};

    to->known_together = (struct mfu_correlations){.n = 0};
    for (int s = 0; s < 2; s++)
        for (int a = 0; a < sources[s]->n; a++)
            for (int b = 0; b < a; b++) {
                int i = sources[s]->id[a], j = sources[s]->id[b];

                if ((s == 1 || (isnan(from->value[i]) && isnan(from->value[j]))) && sources[s]->of[at(a, b)] != 0)
                    mfu_correlate(to, i, j, (double)sources[s]->of[at(a, b)]);
            }
}

double mfu_coefficients_variance(const struct mfu_coefficients *c, const double g[MFU_COEFFICIENT_COUNT])
{
    const struct mfu_correlations *k = &c->known_together;
    double variance = 0, together = 0;

    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        if (g[i] != 0 && c->sigma[i] > 0)
            variance += pow(g[i] * c->sigma[i], 2);
    for (int a = 1; a < k->n; a++)
        for (int b = 0; b < a && g[k->id[a]] != 0; b++)
            if (g[k->id[b]] != 0 && c->sigma[k->id[a]] > 0 && c->sigma[k->id[b]] > 0)
                together +=
                    g[k->id[a]] * c->sigma[k->id[a]] * g[k->id[b]] * c->sigma[k->id[b]] * (double)k->of[at(a, b)];
    return fmax(variance + 2 * together, 0);
}

void mfu_coefficients_learn(struct mfu_coefficients *c, const double h[MFU_COEFFICIENT_COUNT], double variance)
{
    double gain[MFU_COEFFICIENT_COUNT] = {0}, sigma[MFU_COEFFICIENT_COUNT],
           all = mfu_coefficients_variance(c, h) + variance;
    const struct mfu_correlations *k = &c->known_together;

    if (!(all > 0))
        return;
    memcpy(sigma, c->sigma, sizeof sigma);
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        for (int j = 0; j < MFU_COEFFICIENT_COUNT && sigma[i] > 0; j++)
            if (h[j] != 0 && sigma[j] > 0)
                gain[i] += mfu_correlation(c, i, j) * sigma[i] * sigma[j] * h[j];
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        if (gain[i] != 0) {
            c->sigma[i] = sqrt(fmax(sigma[i] * sigma[i] - gain[i] * gain[i] / all, 0));
            for (int j = 0; j < i; j++)
                if (gain[j] != 0)
                    mfu_correlate(c, i, j, mfu_correlation(c, i, j));
        }
    for (int a = 1; a < k->n; a++)
        for (int b = 0; b < a; b++) {
            int i = k->id[a], j = k->id[b];
            double both = mfu_correlation(c, i, j) * sigma[i] * sigma[j] - gain[i] * gain[j] / all;

            if (gain[i] != 0 || gain[j] != 0)
                mfu_correlate(c, i, j, c->sigma[i] > 0 && c->sigma[j] > 0 ? both / (c->sigma[i] * c->sigma[j]) : 0);
        }
}

/* ---- in a file ----------------------------------------------------------- */

/* Figures are rounded: so much of a variance below none is no contradiction. */
#define ROUNDED 0.01

/* Whether numbers can be correlated so: the matrix has a root (Cholesky). */
static int is_possible(const struct mfu_correlations *k, struct mfu_error *err)
{
    size_t n = k->n;
    double *l = calloc(n * n + 1, sizeof *l);
    int status = l ? 0 : mfu_fail(err, MFU_ENOMEM, "out of memory");

    for (size_t i = 0; i < n && status == 0; i++)
        for (size_t j = 0; j <= i && status == 0; j++) {
            double sum = i == j ? 1 + ROUNDED : (double)k->of[at((int)i, (int)j)];

            for (size_t m = 0; m < j; m++)
                sum -= l[i * n + m] * l[j * n + m];
            if (i == j && !(sum > 0))
                status = mfu_fail(err, MFU_EINPUT, "no numbers can be correlated so");
            l[i * n + j] = i == j ? sqrt(fmax(sum, 0)) : sum / l[j * n + j];
        }
    free(l);
    return status;
}

static int expect_mapping(struct mfu_yaml *yaml, struct mfu_yaml_node *node, struct mfu_error *err)
{
    if (node && mfu_node_type(node) == MFU_MAPPING)
        return 0;
    return mfu_node_fail(yaml, node, err, "expected names of coefficients with values");
}

/* The coefficient that an entry of a mapping names; -1 if there is none, or the file has no value of it: an error that
 * belongs to another file's value says nothing of this one. */
static int read_name(struct mfu_yaml *yaml, struct mfu_yaml_node *mapping, size_t i, const struct mfu_coefficients *c,
                     struct mfu_error *err)
{
    int id = mfu_coefficient_find(mfu_node_key(mapping, i), err);

    if (id >= 0 && isnan(c->value[id])) {
        mfu_fail(err, MFU_EINPUT, "a correlation of %s, of which there is no value here",
                 mfu_coefficient_rows[id].name);
        id = -1;
    }
    return id >= 0 ? id : mfu_key_error(yaml, mapping, i, err);
}

static int read_row(struct mfu_yaml *yaml, struct mfu_yaml_node *row, int id, struct mfu_coefficients *c,
                    struct mfu_error *err)
{
    if (expect_mapping(yaml, row, err) < 0)
        return -1;
    for (size_t i = 0; i < mfu_node_count(row); i++) {
        int other;
        double x;

        if (mfu_coefficient_is_withdrawn(mfu_node_key(row, i)))
            continue;
        if ((other = read_name(yaml, row, i, c, err)) < 0)
            return -1;
        if (mfu_node_quantity(yaml, mfu_node_value(row, i), MFU_COUNT, &x, err) < 0)
            return -1;
        if (!(fabs(x) <= 1) || other == id)
            return mfu_node_fail(yaml, mfu_node_value(row, i), err,
                                 "expected a correlation with another coefficient, from -1 to 1");
        mfu_correlate(c, id, other, x);
    }
    return 0;
}

int mfu_correlations_read(struct mfu_yaml *yaml, struct mfu_yaml_node *mapping, struct mfu_coefficients *c,
                          struct mfu_error *err)
{
    if (mapping && expect_mapping(yaml, mapping, err) < 0)
        return -1;
    for (size_t i = 0; mapping && i < mfu_node_count(mapping); i++) {
        int id;

        if (mfu_coefficient_is_withdrawn(mfu_node_key(mapping, i)))
            continue;
        if ((id = read_name(yaml, mapping, i, c, err)) < 0)
            return -1;
        if (read_row(yaml, mfu_node_value(mapping, i), id, c, err) < 0)
            return -1;
    }
    return !mapping || is_possible(&c->known_together, err) == 0 ? 0 : mfu_node_error(yaml, mapping, err);
}

void mfu_correlations_write(FILE *out, const char *indent, const struct mfu_coefficients *c)
{
    const struct mfu_correlations *k = &c->known_together;

    if (k->n < 2)
        return;
    fprintf(out, "%scorrelations:\n", indent);
    for (int a = 1; a < k->n; a++) {
        fprintf(out, "%s  %s: {", indent, mfu_coefficient_rows[k->id[a]].name);
        for (int b = 0, n = 0; b < a; b++)
            if (k->of[at(a, b)] != 0)
                fprintf(out, "%s%s: %.4g", n++ ? ", " : "", mfu_coefficient_rows[k->id[b]].name,
                        (double)k->of[at(a, b)]);
        fputs("}\n", out);
    }
}
