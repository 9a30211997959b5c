/*
 * fuzz_model.c - no text, however odd, does more than be refused with a reason.
 *
 * What is accepted can be worked out: dims come after those they need, ops read
 * what is above them, and every expression has a value.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/model.h"
#include "descriptor/yaml.h"
#include "yaml_leak.h"

static volatile double sink; /* what is stored here had to be computed */

static void check_dims(const struct mfu_model *m, double *values)
{
    int place[MFU_MAX_DIMS], needs[MFU_MAX_DIMS];

    if (m->n_dims < 1 || m->n_dims > MFU_MAX_DIMS)
        abort();
    memset(place, -1, sizeof place);
    for (int n = 0; n < m->n_dims; n++)
        place[m->dim_order[n]] = n;
    for (int i = 0; i < m->n_dims; i++) {
        size_t n = mfu_expression_slots(m->dims[i].value, needs, MFU_MAX_DIMS);

        if (place[i] < 0)
            abort();
        for (size_t k = 0; k < n; k++)
            if (place[needs[k]] >= place[i])
                abort();
    }
    mfu_model_dim_values(m, values);
    for (int i = 0; i < m->n_dims; i++)
        if (!isfinite(values[i]) || mfu_model_dim_find(m, m->dims[i].name, NULL) != i)
            abort();
}

static void check_op(const struct mfu_model *m, int op, const double *values)
{
    const struct mfu_model_op *o = &m->ops[op];
    const struct mfu_primitive *p = o->primitive;

    if (!p || !o->name || o->n_in < p->inputs[0] || o->n_in > p->inputs[1] || o->shares >= op)
        abort();
    for (int i = 0; i < o->n_in; i++)
        if (o->in[i] >= op || o->in[i] < MFU_SECTION_INPUT)
            abort();
    if (o->when)
        sink = mfu_expression_eval(o->when, values);
    for (int i = 0; i < MFU_ATTRIBUTES && p->attributes[i].name; i++)
        sink = mfu_expression_eval(o->attribute[i], values);
}

static void check(const struct mfu_model *m)
{
    double values[MFU_MAX_DIMS];
    int op = 0;

    check_dims(m, values);
    for (int s = 0; s < m->n_sections; s++) {
        if (m->sections[s].first != op || m->sections[s].count < 1)
            abort();
        for (int i = 0; i < m->sections[s].count; i++)
            check_op(m, op++, values);
    }
    if (op != m->n_ops)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mfu_error err = {0};
    struct mfu_yaml *yaml = mfu_yaml_parse("/nowhere/x.yaml", (const char *)data, size, &err);
    struct mfu_model *m = yaml ? mfu_model_parse(yaml, NULL, &err) : NULL;

    if (m)
        check(m);
    else if (err.code == MFU_OK || err.text[0] == '\0' || err.file[0] == '\0')
        abort(); /* refused without a reason or a place */
    mfu_model_free(m);
    mfu_yaml_free(yaml);
    return 0;
}
