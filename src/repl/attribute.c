/*
 * attribute.c - what makes the difference between two scenarios.
 */
#include "repl/attribute.h"

#include <math.h>
#include <string.h>

#include "repl/values.h"

/* ---- what differs -------------------------------------------------------- */

/* A value of a key in a scenario, and whether it only follows from others. */
static double value_in(const struct mfu_scenario *s, const char *name, bool *follows)
{
    struct mfu_config c;
    struct mfu_key k = mfu_scenario_key(s, name, NULL);

    *follows = true;
    if (k.kind == MFU_KEY_NONE)
        return NAN;
    mfu_scenario_resolve(s, &c, NULL);
    *follows = k.kind == MFU_KEY_COEFFICIENT ? !mfu_key_given(s, k)
        : k.kind == MFU_KEY_DIM ? c.dim_origin[k.id] == MFU_ORIGIN_DERIVED
        : c.setting_origin[k.id] == MFU_ORIGIN_DERIVED || c.setting_origin[k.id] == MFU_ORIGIN_GPU;
    return mfu_key_value(&c, k);
}

static bool differs(const struct mfu_scenario *const *s, int n, const char *name)
{
    bool follows, all_follow = true, different = false;
    double first = value_in(s[0], name, &all_follow);

    for (int i = 1; i < n; i++) {
        double value = value_in(s[i], name, &follows);

        different |= !(value == first || (isnan(value) && isnan(first)));
        all_follow &= follows;
    }
    return different && !all_follow;
}

static bool is_listed(const struct mfu_difference *d, int n, const char *key)
{
    for (int i = 0; i < n; i++)
        if (strcmp(d[i].key, key) == 0)
            return true;
    return false;
}

int mfu_differences(const struct mfu_scenario *const *s, int n, struct mfu_difference *d)
{
    bool gpu = false, model = false;
    int found = 0;

    for (int i = 1; i < n; i++) {
        gpu |= s[i]->gpu != s[0]->gpu;
        model |= s[i]->model != s[0]->model;
    }
    if (gpu)
        d[found++] = (struct mfu_difference){MFU_DIFFERENT_GPU, "gpu"};
    if (model)
        d[found++] = (struct mfu_difference){MFU_DIFFERENT_MODEL, "model"};
    for (int i = 0; i < n; i++) {
        struct mfu_key k;

        for (int j = 0; (k = mfu_key_at(s[i], j)).kind != MFU_KEY_NONE && found < MFU_DIFFERENCES; j++) {
            const char *name = mfu_key_name(s[i], k);

            if (is_listed(d, found, name) || !differs(s, n, name))
                continue;
            /* Dims that come with another model are the model. */
            if (model && k.kind == MFU_KEY_DIM && !mfu_key_given(s[i], k))
                continue;
            d[found].what = MFU_DIFFERENT_KEY;
            snprintf(d[found++].key, sizeof d->key, "%s", name);
        }
    }
    return found;
}

/* ---- the way ------------------------------------------------------------- */

/* Makes one key of `s` what it is in `b`. */
static void take(struct mfu_scenario *s, const struct mfu_scenario *b, const struct mfu_difference *d)
{
    struct mfu_key k;

    if (d->what == MFU_DIFFERENT_GPU) {
        s->gpu = b->gpu;
        return;
    }
    if (d->what == MFU_DIFFERENT_MODEL) {
        mfu_scenario_model(s, b->model);
        return;
    }
    k = mfu_scenario_key(s, d->key, NULL);
    if (k.kind == MFU_KEY_DIM && s->model == b->model) {
        s->dim[k.id] = b->dim[k.id];
        s->dim_given[k.id] = b->dim_given[k.id];
    } else if (k.kind == MFU_KEY_SETTING) {
        s->setting[k.id] = b->setting[k.id];
        s->setting_given[k.id] = b->setting_given[k.id];
    } else if (k.kind == MFU_KEY_COEFFICIENT) {
        s->coefficient[k.id] = b->coefficient[k.id];
        s->coefficient_given[k.id] = b->coefficient_given[k.id];
    }
}

int mfu_attribute(struct mfu_session *s, const struct mfu_scenario *a, const struct mfu_scenario *b,
                  const struct mfu_difference *d, int n, struct mfu_credit *credit,
                  struct mfu_error *err)
{
    struct mfu_scenario at = *a;
    double before;
    int steps = 0;

    if (mfu_session_plan_of(s, &at, err) < 0)
        return -1;
    before = s->plan.step.time_s;
    credit[0].keys[0] = '\0';
    for (int i = 0; i < n; i++) {
        size_t used = strlen(credit[steps].keys);

        take(&at, b, &d[i]);
        snprintf(credit[steps].keys + used, sizeof credit->keys - used, "%s%s", used ? " + " : "", d[i].key);
        if (i == n - 1)
            at = *b;                    /* arrived, whatever was left out */
        if (mfu_session_plan_of(s, &at, i == n - 1 ? err : NULL) < 0) {
            if (i == n - 1)
                return -1;
            continue;                   /* only together with the next */
        }
        credit[steps].step_time_s = s->plan.step.time_s - before;
        before = s->plan.step.time_s;
        if (++steps < n)
            credit[steps].keys[0] = '\0';
    }
    return steps;
}
