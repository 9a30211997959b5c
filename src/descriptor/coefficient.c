/*
 * coefficient.c - the numbers that a data sheet does not print.
 */
#include "descriptor/coefficient.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "descriptor/yaml.h"

const struct mfu_coefficient_row mfu_coefficient_rows[MFU_COEFFICIENT_COUNT] = {
#define X(id, name, dim, least, most, meaning) [MFU_C_##id] = {name, dim, least, most, meaning},
    MFU_COEFFICIENTS(X)
#undef X
};

/* The names alone, as mfu_suggest() wants them. */
static const char *const names[MFU_COEFFICIENT_COUNT] = {
#define X(id, name, ...) [MFU_C_##id] = name,
    MFU_COEFFICIENTS(X)
#undef X
};

/* The row of a name; files name them in the order of the table, so that it is looked for from `row` on. */
static int look_up(const char *name, int row)
{
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++, row++) {
        row = row < MFU_COEFFICIENT_COUNT ? row : 0;
        if (strcmp(names[row], name) == 0)
            return row;
    }
    return -1;
}

bool mfu_coefficient_is_withdrawn(const char *name)
{
    static const char *const withdrawn[] = {"host.peft"}; /* peft's launches take what others take */

    for (size_t i = 0; i < sizeof withdrawn / sizeof *withdrawn; i++)
        if (strcmp(withdrawn[i], name) == 0)
            return true;
    return false;
}

int mfu_coefficient_find(const char *name, struct mfu_error *err)
{
    int i = look_up(name, 0);

    if (i >= 0 || !err)
        return i;
    return mfu_fail_nearest(err, name, names, MFU_COEFFICIENT_COUNT, "no coefficient is called '%.80s'", name);
}

double mfu_coefficient_value(const struct mfu_coefficient_row *row, double given)
{
    return given < row->most * 1e-12 ? 0 : given;
}

void mfu_coefficients_clear(struct mfu_coefficients *c)
{
    *c = (struct mfu_coefficients){0};
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        c->value[i] = c->sigma[i] = NAN;
}

/* One entry as it stands in a file. */
struct entry {
    double value, sigma;
    char source[sizeof((struct mfu_coefficients *)NULL)->source[0]];
};

/* The row of the table decides what the value may be. */
static int read_entry(struct mfu_yaml *yaml, struct mfu_yaml_node *node, const struct mfu_coefficient_row *row,
                      struct entry *e, struct mfu_error *err)
{
    const struct mfu_field fields[] = {
        {"value", .dim = row->dim, .least = row->least, .most = row->most, .offset = offsetof(struct entry, value),
         .required = 1},
        {"sigma", .dim = MFU_RATIO, .least = 0, .most = 10, .offset = offsetof(struct entry, sigma), .required = 1},
        {"source", MFU_FIELD_TEXT, .offset = offsetof(struct entry, source), .size = sizeof e->source, .required = 1},
        {.key = NULL},
    };

    return mfu_node_fields(yaml, node, fields, NULL, e, err);
}

int mfu_coefficients_read(struct mfu_yaml *yaml, struct mfu_yaml_node *mapping, enum mfu_coefficient_origin origin,
                          struct mfu_coefficients *c, struct mfu_error *err)
{
    int row = -1;

    if (mfu_node_type(mapping) != MFU_MAPPING)
        return mfu_node_fail(yaml, mapping, err,
                             "expected a mapping such as "
                             "gemm.k0: {value: 128, sigma: 20%%, source: a paper}");
    for (size_t i = 0; i < mfu_node_count(mapping); i++) {
        const char *name = mfu_node_key(mapping, i);
        struct entry e = {.source = ""};
        int k = look_up(name, row + 1);

        if (k < 0 && mfu_coefficient_is_withdrawn(name))
            continue;
        if (k < 0)
            return mfu_key_unknown(yaml, mapping, i, "coefficient", names, MFU_COEFFICIENT_COUNT, err);
        row = k;
        if (read_entry(yaml, mfu_node_value(mapping, i), &mfu_coefficient_rows[k], &e, err) < 0)
            return mfu_within(err, "%s", name);
        c->value[k] = mfu_coefficient_value(&mfu_coefficient_rows[k], e.value);
        c->sigma[k] = e.sigma;
        c->origin[k] = (unsigned char)origin;
        memcpy(c->source[k], e.source, sizeof c->source[k]);
    }
    return 0;
}

int mfu_coefficients_complete(const struct mfu_coefficients *c, int *missing)
{
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        if (isnan(c->value[i])) {
            *missing = i;
            return 0;
        }
    return 1;
}
