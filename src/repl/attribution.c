/*
 * attribution.c - what makes the difference between two scenarios.
 */
#include "repl/attribution.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scenario/keys.h"
#include "scenario/setting.h"

/* ---- what differs -------------------------------------------------------- */

/* A value of a key in a scenario, and whether it only follows from others: what
 * nobody set differs since something else does. */
static double value_in(const struct mfu_scenario *s, const char *name, bool *follows)
{
    struct mfu_config c;
    struct mfu_key k = mfu_scenario_key(s, name, NULL);

    *follows = true;
    if (k.kind == MFU_KEY_NONE)
        return NAN;
    mfu_scenario_resolve(s, &c, NULL);
    *follows = !mfu_key_given(s, k);
    return mfu_config_value(&c, k);
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

int mfu_followers(const struct mfu_scenario *const *s, int n, struct mfu_difference *d)
{
    int found = 0;

    for (int id = 0; id < MFU_SETTING_COUNT && found < MFU_DIFFERENCES; id++) {
        const char *name = mfu_settings[id].key;
        bool follows, different = false;
        double first = value_in(s[0], name, &follows);

        for (int i = 1; i < n; i++)
            different |= value_in(s[i], name, &follows) != first;
        if (!different || differs(s, n, name) || strcmp(mfu_settings[id].group, "parallel") == 0)
            continue;
        d[found].what = MFU_DIFFERENT_KEY;
        snprintf(d[found++].key, sizeof d->key, "%s", name);
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

/* With the keys that differ as they are, whether that was said or follows: each
 * then changes when its turn comes, not along with another. */
static struct mfu_scenario pinned(const struct mfu_scenario *s, bool same_model, const struct mfu_difference *d, int n)
{
    struct mfu_scenario x = *s;
    struct mfu_config c;

    mfu_scenario_resolve(s, &c, NULL);
    for (int i = 0; i < n; i++) {
        struct mfu_key k = d[i].what == MFU_DIFFERENT_KEY ? mfu_scenario_key(s, d[i].key, NULL) : (struct mfu_key){0};

        if (k.kind == MFU_KEY_SETTING) {
            x.setting[k.id] = c.setting[k.id];
            x.setting_given[k.id] = true;
        } else if (k.kind == MFU_KEY_DIM && same_model) {
            x.dim[k.id] = c.dim[k.id];
            x.dim_given[k.id] = true;
        }
    }
    return x;
}

/* The differences in groups: what takes one step together. */
struct way {
    const struct mfu_scenario *a, *b;
    const struct mfu_difference *d;
    int n, group[MFU_DIFFERENCES], groups; /* of each difference, from 0 */
};

static int find(const struct way *w, const char *key)
{
    for (int i = 0; i < w->n; i++)
        if (strcmp(w->d[i].key, key) == 0)
            return i;
    return -1;
}

/* Makes one group of two; the others move up. */
static void join(struct way *w, int x, int y)
{
    int low = x < y ? x : y, high = x < y ? y : x;

    if (low == high)
        return;
    for (int i = 0; i < w->n; i++)
        w->group[i] = w->group[i] == high ? low : w->group[i] - (w->group[i] > high);
    w->groups--;
}

static void join_keys(struct way *w, const char *const *keys, int n)
{
    int first = -1;

    for (int i = 0; i < n; i++) {
        int at = find(w, keys[i]);

        if (at >= 0 && first >= 0)
            join(w, w->group[first], w->group[at]);
        first = first < 0 ? at : first;
    }
}

/* A model and the dims that it was given belong together; so do the keys that
 * share the tokens of a step among them, and the loader's time with the
 * micro-batch that it is for. */
static void form_groups(struct way *w, bool equal_tokens)
{
    static const char *const sharing[] = {"batch", "accum", "seq", "gpus", "dp"},
                             *const loading[] = {"batch", "dataloader_ms"};
    int model = find(w, "model");

    w->groups = w->n;
    for (int i = 0; i < w->n; i++)
        w->group[i] = i;
    for (int i = 0; model >= 0 && i < w->n; i++)
        if (w->d[i].what == MFU_DIFFERENT_KEY && mfu_scenario_key(w->b, w->d[i].key, NULL).kind != MFU_KEY_SETTING
            && mfu_scenario_key(w->b, w->d[i].key, NULL).kind != MFU_KEY_COEFFICIENT)
            join(w, w->group[model], w->group[i]);
    join_keys(w, sharing, equal_tokens ? 5 : 2);
    join_keys(w, loading, 2);
}

static void take_group(const struct way *w, int group, struct mfu_scenario *s)
{
    for (int i = 0; i < w->n; i++)
        if (w->group[i] == group)
            take(s, w->b, &w->d[i]);
}

static void name_group(const struct way *w, int group, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < w->n && used < size; i++)
        if (w->group[i] == group)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " + " : "", w->d[i].key);
}

static int time_of(struct mfu_session *s, const struct mfu_scenario *scenario, struct mfu_added *time,
                   struct mfu_error *err)
{
    if (mfu_session_plan_of(s, scenario, err) < 0)
        return -1;
    *time = (struct mfu_added){s->plan.step.time_s, s->plan.step.time_s / s->plan.step.tokens};
    return 0;
}

/* Rounding is no difference. */
static double minus(double x, double y)
{
    return fabs(x - y) <= 1e-12 * fmax(fabs(x), fabs(y)) ? 0 : x - y;
}

static struct mfu_added less(struct mfu_added x, struct mfu_added y)
{
    return (struct mfu_added){minus(x.step_s, y.step_s), minus(x.per_token_s, y.per_token_s)};
}

/* One group after the other, in either order.  Groups that cannot be planned
 * without the next are joined with it: 0 then, 1 when the way was walked. */
static int walk(struct mfu_session *s, struct way *w, bool reverse, struct mfu_added first, struct mfu_added last,
                struct mfu_attribution *out)
{
    struct mfu_scenario at = *w->a;
    struct mfu_added before = first, now;

    for (int i = 0; i < w->groups; i++) {
        int group = reverse ? w->groups - 1 - i : i;
        bool arrived = i == w->groups - 1;

        take_group(w, group, &at);
        if (arrived)
            now = last; /* whatever was left out */
        else if (time_of(s, &at, &now, NULL) < 0) {
            join(w, group, reverse ? group - 1 : group + 1);
            return 0;
        }
        *(reverse ? &out->credits[group].reverse : &out->credits[group].forward) = less(now, before);
        before = now;
    }
    return 1;
}

/* Each group alone, and what none of them does alone. */
static void change_alone(struct mfu_session *s, const struct way *w, struct mfu_added first,
                         struct mfu_attribution *out)
{
    out->interaction = out->whole;
    for (int i = 0; i < w->groups; i++) {
        struct mfu_scenario one = *w->a;
        struct mfu_added now, *alone = &out->credits[i].alone;

        take_group(w, i, &one);
        *alone = w->groups == 1                 ? out->whole
            : time_of(s, &one, &now, NULL) == 0 ? less(now, first)
                                                : (struct mfu_added){NAN, NAN};
        out->interaction = less(out->interaction, *alone);
    }
}

int mfu_attribute(struct mfu_session *s, const struct mfu_scenario *a, const struct mfu_scenario *b,
                  const struct mfu_difference *d, int n, struct mfu_attribution *out, struct mfu_error *err)
{
    struct mfu_scenario from = pinned(a, a->model == b->model, d, n), to = pinned(b, a->model == b->model, d, n);
    struct way w = {.a = &from, .b = &to, .d = d, .n = n};
    struct mfu_added first, last;

    *out = (struct mfu_attribution){.n = 0};
    if (time_of(s, a, &first, err) < 0)
        return -1;
    out->tokens[0] = s->plan.step.tokens;
    if (time_of(s, b, &last, err) < 0)
        return -1;
    out->tokens[1] = s->plan.step.tokens;
    out->first = first;
    out->whole = less(last, first);
    form_groups(&w, out->tokens[0] == out->tokens[1]);
    while (!walk(s, &w, false, first, last, out) || !walk(s, &w, true, first, last, out))
        ; /* fewer groups each time, at last one */
    out->n = w.groups;
    for (int i = 0; i < w.groups; i++)
        name_group(&w, i, out->credits[i].keys, sizeof out->credits[i].keys);
    change_alone(s, &w, first, out);
    return 0;
}
