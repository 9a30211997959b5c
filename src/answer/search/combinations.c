/*
 * combinations.c - from the number of a combination to its scenario.
 */
#include "answer/search/combinations.h"

#include "base/error.h"
#include "graph/graph.h"
#include "scenario/setting.h"

#define MOST_COMBINATIONS 1e12 /* more would take days (chosen) */

double mfu_sweep_size(const struct mfu_sweep *s)
{
    double n = 1;

    for (size_t i = 0; i < s->n_axes; i++)
        n *= (double)s->axes[i].n;
    return n <= MOST_COMBINATIONS ? n : 0;
}

size_t mfu_sweep_shard(const struct mfu_sweep *s, size_t shard)
{
    size_t size = (size_t)mfu_sweep_size(s), parts = s->shards ? s->shards : 1;

    return size / parts * shard + size % parts * shard / parts;
}

bool mfu_sweep_varies(const struct mfu_sweep *s, int setting)
{
    for (size_t i = 0; i < s->n_axes; i++)
        if (s->axes[i].key.kind == MFU_KEY_SETTING && s->axes[i].key.id == setting)
            return true;
    return false;
}

int mfu_sweep_make(const struct mfu_sweep *s, size_t combination, struct mfu_scenario *x, struct mfu_error *err)
{
    size_t at[MFU_AXES];

    for (size_t i = s->n_axes; i-- > 0;) {
        at[i] = combination % s->axes[i].n;
        combination /= s->axes[i].n;
    }
    return mfu_sweep_make_at(s, at, x, err);
}

int mfu_sweep_make_at(const struct mfu_sweep *s, const size_t *at, struct mfu_scenario *x, struct mfu_error *err)
{
    *x = *s->scenario;
    if (mfu_axes_apply(s->axes, s->n_axes, at, x, err) < 0)
        return -1;
    if (mfu_sweep_varies(s, MFU_S_BATCH) && !mfu_sweep_varies(s, MFU_S_DATALOADER_MS))
        mfu_scenario_keep_loader(x, s->scenario->setting[MFU_S_BATCH]);
    return 0;
}

struct mfu_scenario mfu_sweep_scenario(const struct mfu_sweep *s, size_t combination)
{
    struct mfu_scenario x;
    struct mfu_error err = {0};

    if (mfu_sweep_make(s, combination, &x, &err) < 0 && err.code == MFU_ENOMEM && s->lost)
        *s->lost = true;
    return x;
}

double mfu_sweep_value(const struct mfu_sweep *s, size_t combination, size_t axis)
{
    const struct mfu_axis *a = &s->axes[axis];
    struct mfu_scenario x;
    size_t below = 1, at;

    for (size_t i = axis + 1; i < s->n_axes; i++)
        below *= s->axes[i].n;
    at = combination / below % a->n;
    if (!a->texts || !a->texts[at])
        return a->values[at];
    x = mfu_sweep_scenario(s, combination);
    return mfu_axis_value(a, &x);
}

/* What a step along this axis leaves of the plan before: its graph; its graph, scaled;
 * or nothing. */
enum step { KEEPS, SCALES, TRACES };

static enum step step_of(const struct mfu_axis *a)
{
    if (a->key.kind == MFU_KEY_COEFFICIENT || (a->key.kind == MFU_KEY_SETTING && mfu_settings[a->key.id].keeps_graph))
        return KEEPS;
    return mfu_graph_scales_by(a->model, a->key) ? SCALES : TRACES;
}

/* The longest axis that scales: sizes are functions of one key at a time (graph/scale.h). */
static const struct mfu_axis *scaling_axis(const struct mfu_sweep *s)
{
    const struct mfu_axis *longest = NULL;

    for (size_t k = s->n_axes; k-- > 0;)
        if (step_of(&s->axes[k]) == SCALES && (!longest || s->axes[k].n > longest->n))
            longest = &s->axes[k];
    return longest;
}

/* Of the axes that keep the graph, that of micro-steps varies fastest: only sums follow it. */
static bool is_fastest(const struct mfu_axis *a)
{
    return a->key.kind == MFU_KEY_SETTING && a->key.id == MFU_S_ACCUM;
}

size_t mfu_sweep_order(const struct mfu_sweep *s, size_t order[MFU_AXES])
{
    const struct mfu_axis *scales = scaling_axis(s);
    size_t n = 0, keeps = 0;

    for (int fastest = 1; fastest >= 0; fastest--)
        for (int step = KEEPS; step <= TRACES; step++)
            for (size_t k = s->n_axes; k-- > 0;) {
                const struct mfu_axis *a = &s->axes[k];
                enum step own = a == scales ? SCALES : step_of(a) == KEEPS ? KEEPS : TRACES;

                if (own != (enum step)step || is_fastest(a) != fastest)
                    continue;
                order[n++] = k;
                keeps += own == KEEPS;
            }
    return keeps;
}

void mfu_sweep_start_at(const struct mfu_sweep *s, const size_t order[MFU_AXES], size_t number, size_t at[MFU_AXES])
{
    for (size_t k = 0; k < s->n_axes; k++) {
        at[order[k]] = number % s->axes[order[k]].n;
        number /= s->axes[order[k]].n;
    }
}

size_t mfu_sweep_next(const struct mfu_sweep *s, const size_t order[MFU_AXES], size_t at[MFU_AXES])
{
    size_t k = 0;

    while (k + 1 < s->n_axes && at[order[k]] + 1 == s->axes[order[k]].n)
        at[order[k++]] = 0;
    at[order[k]]++;
    return k;
}

size_t mfu_sweep_number(const struct mfu_sweep *s, const size_t at[MFU_AXES])
{
    size_t combination = 0;

    for (size_t k = 0; k < s->n_axes; k++)
        combination = combination * s->axes[k].n + at[k];
    return combination;
}
