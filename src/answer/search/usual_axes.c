/*
 * usual_axes.c - what a search varies without KEY=VALUES.
 *
 * The keys and values are those of the levers that keep the mathematics and the
 * hardware, so that a search sees every combination of what `advise` proposes.
 * How long the loader takes, what others hold and a power limit are as they are:
 * a search that planned without them would answer for another machine.
 */
#include <math.h>

#include "answer/advise/advise.h"
#include "answer/search/sweep.h"
#include "base/error.h"
#include "scenario/setting.h"

#define MOST_POWER 512   /* batch and accum: 1, 2, 4 ... (chosen) */
#define MOST_DIVISORS 32 /* of the sequences of a step (chosen) */

/* The axis of a key, which begins with the value that the key has now. */
static struct mfu_axis *axis_of(struct mfu_sweep *s, const struct mfu_config *now, struct mfu_key key,
                                struct mfu_error *err)
{
    struct mfu_axis *a;

    for (size_t i = 0; i < s->n_axes; i++)
        if (s->axes[i].key.kind == key.kind && s->axes[i].key.id == key.id)
            return &s->axes[i];
    if (s->n_axes == MFU_AXES) {
        mfu_fail(err, MFU_EINPUT, "more than %d keys", MFU_AXES);
        return NULL;
    }
    a = &s->axes[s->n_axes++];
    mfu_axis_start(a, s->scenario, key);
    return mfu_axis_add(a, mfu_config_value(now, key), err) < 0 ? NULL : a;
}

/* Powers of two, and whatever divides the sequences of a step now: so that they
 * can be parted in other ways. */
static int add_splits(struct mfu_sweep *s, const struct mfu_config *now, enum mfu_setting_id id, struct mfu_error *err)
{
    struct mfu_axis *a = axis_of(s, now, (struct mfu_key){MFU_KEY_SETTING, id}, err);
    double sequences = now->setting[MFU_S_BATCH] * now->accum;
    int divisors = 0;

    for (double x = 1; a && x <= MOST_POWER; x *= 2)
        if (mfu_axis_add(a, x, err) < 0)
            return -1;
    for (double x = 1; a && x * x <= sequences && divisors < MOST_DIVISORS; x++) {
        double other = fmin(sequences / x, mfu_settings[id].most);

        if (fmod(sequences, x) != 0)
            continue;
        divisors++;
        if (mfu_axis_add(a, x, err) < 0 || mfu_axis_add(a, other, err) < 0)
            return -1;
    }
    return a ? 0 : -1;
}

/* Batch and accumulation have values enough, and move together. */
static bool moves_tokens(const struct mfu_scenario *s, const struct mfu_lever_row *row)
{
    for (int i = 0; i < MFU_LEVER_KEYS && row->set[i].key; i++) {
        struct mfu_key key = mfu_scenario_key(s, row->set[i].key, NULL);

        if (key.kind == MFU_KEY_SETTING && (key.id == MFU_S_BATCH || key.id == MFU_S_ACCUM))
            return true;
    }
    return false;
}

/* Whether a lever can be planned here and leaves numbers as wide as they are,
 * which ZeRO and fused runtimes may not. */
static bool keeps_numerics(const struct mfu_plan *p, const struct mfu_lever_row *row, struct mfu_plan *changed)
{
    struct mfu_scenario x = p->scenario;

    for (int i = 0; i < MFU_LEVER_KEYS && row->set[i].key; i++)
        if (mfu_scenario_set(&x, row->set[i].key, row->set[i].value, NULL) < 0)
            return false;
    return mfu_plan_make(changed, &x, NULL) == 0 && changed->program.weight_bytes == p->program.weight_bytes
        && changed->program.gradient_bytes == p->program.gradient_bytes;
}

/* What a lever sets. */
static int add_lever(struct mfu_sweep *s, const struct mfu_plan *p, const struct mfu_lever_row *row,
                     struct mfu_error *err)
{
    struct mfu_plan changed = {0};
    int status = 0;

    bool keeps = keeps_numerics(p, row, &changed);

    for (int i = 0; keeps && status == 0 && i < MFU_LEVER_KEYS && row->set[i].key; i++) {
        struct mfu_key key = mfu_scenario_key(s->scenario, row->set[i].key, NULL);
        struct mfu_axis *a = axis_of(s, &p->config, key, err);

        status = a ? mfu_axis_add(a, mfu_config_value(&changed.config, key), err) : -1;
    }
    mfu_plan_release(&changed);
    return status < 0 ? -1 : 0;
}

static int add_all(struct mfu_sweep *s, const struct mfu_plan *p, struct mfu_error *err)
{
    if (add_splits(s, &p->config, MFU_S_BATCH, err) < 0 || add_splits(s, &p->config, MFU_S_ACCUM, err) < 0)
        return -1;
    for (size_t i = 0; i < mfu_lever_row_count; i++) {
        const struct mfu_lever_row *row = &mfu_lever_rows[i];
        int holds;

        if (!(row->flags & (MFU_LEVER_MATHEMATICS | MFU_LEVER_HARDWARE | MFU_LEVER_ENVIRONMENT))
            && !moves_tokens(s->scenario, row)
            && mfu_scenario_key(s->scenario, row->set[0].key, NULL).kind != MFU_KEY_NONE
            && (holds = mfu_lever_row_holds(row, p)) != 0
            && (holds < 0 ? mfu_fail(err, MFU_ENOMEM, "out of memory") : add_lever(s, p, row, err)) < 0)
            return -1;
    }
    return 0;
}

int mfu_sweep_usual(struct mfu_sweep *s, struct mfu_error *err)
{
    struct mfu_plan p = {0};
    int status = mfu_plan_make(&p, s->scenario, err);

    if (status == 0)
        status = add_all(s, &p, err);
    mfu_plan_release(&p);
    return status;
}
