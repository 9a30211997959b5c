/*
 * axis.c - reads the values of a key, and puts them into scenarios.
 */
#include "answer/search/axis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/expression.h"
#include "base/list.h"
#include "base/suggest.h"
#include "scenario/keys.h"
#include "scenario/setting.h"

/* Chosen. */
#define MOST_VALUES 100000 /* of one axis */
#define MOST_MENTIONED 16  /* keys in one value */
#define MOST_THINGS 256    /* GPUs or models */
#define MOST_ALL 20        /* numbers that `all` means */

/* ---- values -------------------------------------------------------------- */

static int append(struct mfu_axis *a, double value, struct mfu_error *err)
{
    if (a->n == MOST_VALUES)
        return mfu_fail(err, MFU_EINPUT, "%s: more than %d values", a->name, MOST_VALUES);
    if (!MFU_ROOM(a->values, a->n + 1, a->cap))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    a->values[a->n++] = value;
    return 0;
}

int mfu_axis_add(struct mfu_axis *a, double value, struct mfu_error *err)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->values[i] == value)
            return 0;
    return append(a, value, err);
}

void mfu_axis_start(struct mfu_axis *a, const struct mfu_scenario *s, struct mfu_key key)
{
    *a = (struct mfu_axis){.key = key, .model = s->model};
    snprintf(a->name, sizeof a->name, "%s", mfu_key_name(s, key));
}

static bool same_key(struct mfu_key a, struct mfu_key b)
{
    return a.kind == b.kind && a.id == b.id;
}

/* ---- expressions --------------------------------------------------------- */

/* The other keys that an expression mentions. */
struct mentioned {
    const struct mfu_scenario *scenario;
    struct mfu_key self, keys[MOST_MENTIONED];
    int n, names;
};

static int note_name(void *context, const char *name, struct mfu_error *err)
{
    struct mentioned *m = context;
    struct mfu_key key = mfu_scenario_key(m->scenario, name, err);

    if (key.kind == MFU_KEY_NONE)
        return -1;
    if (!same_key(key, m->self)) {
        if (m->n == MOST_MENTIONED)
            return mfu_fail(err, MFU_EINPUT, "more than %d keys in one value", MOST_MENTIONED);
        m->keys[m->n++] = key;
    }
    return m->names++;
}

/* None where the text is a plain value, a choice, or nothing that can be read. */
static struct mentioned mentioned_in(const struct mfu_axis *a, const struct mfu_scenario *s, const char *text)
{
    struct mentioned m = {.scenario = s, .self = a->key};
    struct mfu_arena arena = {0};

    if (a->key.kind != MFU_KEY_SETTING || !mfu_settings[a->key.id].choices)
        if (!mfu_expression_compile(&arena, text, MFU_COUNT, note_name, &m, NULL))
            m.n = 0;
    mfu_arena_free(&arena);
    return m;
}

int mfu_axis_add_text(struct mfu_axis *a, const char *text, struct mfu_error *err)
{
    bool first = !a->texts;
    char *copy;

    if (!MFU_ROOM(a->texts, a->n + 1, a->cap_texts))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (size_t i = 0; first && i < a->n; i++)
        a->texts[i] = NULL;
    if (!(copy = text ? strdup(text) : NULL) && text)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (append(a, NAN, err) < 0) {
        free(copy);
        return -1;
    }
    a->texts[a->n - 1] = copy;
    return 0;
}

/* A value behind one with a text has a place for one, too. */
static int append_value(struct mfu_axis *a, double value, struct mfu_error *err)
{
    if (!a->texts)
        return append(a, value, err);
    if (mfu_axis_add_text(a, NULL, err) < 0)
        return -1;
    a->values[a->n - 1] = value;
    return 0;
}

/* ---- reading ------------------------------------------------------------- */

/* One value as `set` reads it. */
static int read_value(const struct mfu_axis *a, const struct mfu_scenario *s, const char *text, double *value,
                      struct mfu_error *err)
{
    struct mfu_scenario copy = *s;

    if (mfu_scenario_set(&copy, a->name, text, err) < 0)
        return -1;
    *value = mfu_scenario_value(&copy, a->key);
    return 0;
}

static int read_bound(struct mfu_axis *a, const struct mfu_scenario *s, const char *text, double *value,
                      struct mfu_error *err)
{
    struct mentioned m = mentioned_in(a, s, text);

    for (int i = 0; i < m.n && a->n_bounds < sizeof a->bounds / sizeof a->bounds[0]; i++)
        a->bounds[a->n_bounds++] = m.keys[i];
    return read_value(a, s, text, value, err);
}

/* "1..64*2" or "0..1+0.25" or "1..8". */
static int read_range(struct mfu_axis *a, const struct mfu_scenario *s, const char *text, const char *dots,
                      struct mfu_error *err)
{
    const char *how = strpbrk(dots + 2, "*+");
    char low_text[64], high_text[64];
    double low, high, step = 1;
    size_t high_length = how ? (size_t)(how - dots - 2) : strlen(dots + 2);

    if ((size_t)(dots - text) >= sizeof low_text || high_length >= sizeof high_text)
        return mfu_fail(err, MFU_EINPUT, "%s: '%.40s' is too long for a range", a->name, text);
    snprintf(low_text, sizeof low_text, "%.*s", (int)(dots - text), text);
    snprintf(high_text, sizeof high_text, "%.*s", (int)high_length, dots + 2);
    if (read_bound(a, s, low_text, &low, err) < 0 || read_bound(a, s, high_text, &high, err) < 0)
        return -1;
    if (how && mfu_quantity_parse(how + 1, MFU_COUNT, &step, err) < 0)
        return mfu_within(err, "%s", a->name);
    if (how && *how == '*' ? step <= 1 : step <= 0)
        return mfu_fail(err, MFU_EINPUT,
                        "%s: a range needs a factor above 1 or a step above 0, such as 1..64*2 "
                        "or 0..1+0.25",
                        a->name);
    if (how && *how == '*' && low <= 0)
        return mfu_fail(err, MFU_EINPUT, "%s: a range by factors starts above 0", a->name);
    for (double x = low; x <= high * (1 + 1e-12) + 1e-300; x = how && *how == '*' ? x * step : x + step)
        if (append_value(a, x, err) < 0)
            return -1;
    return 0;
}

static int read_word(struct mfu_axis *a, const struct mfu_scenario *s, const char *word, struct mfu_error *err)
{
    const char *dots = strstr(word, "..");
    double value;

    if (dots)
        return read_range(a, s, word, dots, err);
    if (mentioned_in(a, s, word).n > 0)
        return mfu_axis_add_text(a, word, err);
    return read_value(a, s, word, &value, err) < 0 ? -1 : append_value(a, value, err);
}

/* Up to the next comma that is not in brackets: max(1, 64/batch),8. */
static size_t word_length(const char *text)
{
    size_t n = 0;

    for (int depth = 0; text[n] && (text[n] != ',' || depth > 0); n++)
        depth += (text[n] == '(') - (text[n] == ')');
    return n;
}

/* Adds what a word means. */
typedef int take_fn(struct mfu_axis *, void *context, const char *word, struct mfu_error *);

/* Calls `take` for each word of a list. */
static int each_word(struct mfu_axis *a, const char *values, take_fn *take, void *context, struct mfu_error *err)
{
    char word[128];

    for (const char *p = values; *p;) {
        size_t n = word_length(p);

        if (n == 0 || n >= sizeof word)
            return mfu_fail(err, MFU_EINPUT, "%s: '%.60s': expected values such as 1,2,4 or 1..64*2", a->name, values);
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        if (take(a, context, word, err) < 0)
            return -1;
        p += n;
        if (*p == ',' && *++p == '\0')
            return mfu_fail(err, MFU_EINPUT, "%s: nothing follows the last comma", a->name);
    }
    return a->n ? 0 : mfu_fail(err, MFU_EINPUT, "%s: no values", a->name);
}

static int take_value(struct mfu_axis *a, void *scenario, const char *word, struct mfu_error *err)
{
    return read_word(a, scenario, word, err);
}

/* Choices, switches, and the few numbers of keys such as zero. */
static bool has_few(const struct mfu_scenario *s, struct mfu_key key)
{
    struct mfu_range r = mfu_scenario_range(s, key);

    return r.whole && r.most - r.least < MOST_ALL;
}

int mfu_axis_read(struct mfu_axis *a, const struct mfu_scenario *s, const char *key, const char *values,
                  struct mfu_error *err)
{
    struct mfu_key found = mfu_scenario_key(s, key, err);
    struct mfu_scenario copy = *s;

    memset(a, 0, sizeof *a);
    if (found.kind == MFU_KEY_NONE)
        return -1;
    mfu_axis_start(a, s, found);
    if (mfu_same_name(values, "all") && has_few(s, found)) {
        struct mfu_range r = mfu_scenario_range(s, found);

        for (double x = r.least; x <= r.most; x++)
            if (append(a, x, err) < 0)
                return -1;
        return 0;
    }
    return each_word(a, values, take_value, &copy, err);
}

/* ---- GPUs and models ----------------------------------------------------- */

static int take_gpu(struct mfu_axis *a, void *catalog, const char *word, struct mfu_error *err)
{
    const struct mfu_gpu *g = a->n < MOST_THINGS ? mfu_catalog_gpu(catalog, word, err) : NULL;

    if (!g)
        return a->n < MOST_THINGS ? -1 : mfu_fail(err, MFU_EINPUT, "gpu: more than %d", MOST_THINGS);
    a->gpus[a->n] = g;
    return append(a, (double)a->n, err);
}

static int take_model(struct mfu_axis *a, void *catalog, const char *word, struct mfu_error *err)
{
    const struct mfu_model *m = a->n < MOST_THINGS ? mfu_catalog_model(catalog, word, err) : NULL;

    if (!m)
        return a->n < MOST_THINGS ? -1 : mfu_fail(err, MFU_EINPUT, "model: more than %d", MOST_THINGS);
    a->models[a->n] = m;
    return append(a, (double)a->n, err);
}

/* "all": whatever of the catalog can be read. */
static int take_all(struct mfu_axis *a, struct mfu_catalog *catalog, const char *const *names, size_t n, take_fn *take,
                    struct mfu_error *err)
{
    for (size_t i = 0; i < n && i < MOST_THINGS; i++)
        if (take(a, catalog, names[i], err) < 0 && err && err->code == MFU_ENOMEM)
            return -1;
    return a->n ? 0 : -1;
}

int mfu_axis_read_gpus(struct mfu_axis *a, struct mfu_catalog *catalog, const char *names, struct mfu_error *err)
{
    size_t n;
    const char *const *all = mfu_catalog_gpus(catalog, &n);

    *a = (struct mfu_axis){.name = "gpu", .gpus = calloc(MOST_THINGS, sizeof *a->gpus)};
    if (!a->gpus)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    return mfu_same_name(names, "all") ? take_all(a, catalog, all, n, take_gpu, err)
                                       : each_word(a, names, take_gpu, catalog, err);
}

int mfu_axis_read_models(struct mfu_axis *a, struct mfu_catalog *catalog, const char *names, struct mfu_error *err)
{
    size_t n;
    const char *const *all = mfu_catalog_models(catalog, &n);

    *a = (struct mfu_axis){.name = "model", .models = calloc(MOST_THINGS, sizeof *a->models)};
    if (!a->models)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    return mfu_same_name(names, "all") ? take_all(a, catalog, all, n, take_model, err)
                                       : each_word(a, names, take_model, catalog, err);
}

/* ---- rows ---------------------------------------------------------------- */

static bool has_texts(const struct mfu_axis *a)
{
    return a->texts != NULL;
}

/* The first axis, other than `self`, that is one of these keys; -1: none. */
static int axis_among(const struct mfu_axis *axes, size_t from, size_t n, size_t self, const struct mfu_key *keys,
                      size_t n_keys, bool (*which)(const struct mfu_axis *))
{
    for (size_t i = from; i < n; i++)
        for (size_t k = 0; k < n_keys && i != self; k++)
            if (same_key(axes[i].key, keys[k]) && (!which || which(&axes[i])))
                return (int)i;
    return -1;
}

int mfu_axes_check(const struct mfu_axis *axes, size_t n, const struct mfu_scenario *s, struct mfu_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int other = axis_among(axes, 0, n, i, axes[i].bounds, axes[i].n_bounds, NULL);

        if (other >= 0)
            return mfu_fail(err, MFU_EINPUT,
                            "%s: a range cannot depend on %s, which varies; a single value such as "
                            "%s=512/%s can",
                            axes[i].name, axes[other].name, axes[i].name, axes[other].name);
        for (size_t k = 0; axes[i].texts && k < axes[i].n; k++) {
            struct mentioned m = {.n = 0};

            if (axes[i].texts[k])
                m = mentioned_in(&axes[i], s, axes[i].texts[k]);
            other = axis_among(axes, i + 1, n, i, m.keys, (size_t)m.n, has_texts);
            if (other >= 0)
                return mfu_fail(err, MFU_EINPUT,
                                "%s: '%s' depends on %s, whose values follow from other keys: "
                                "name that first, or give it numbers",
                                axes[i].name, axes[i].texts[k], axes[other].name);
        }
    }
    return 0;
}

static int put(const struct mfu_axis *a, double value, struct mfu_scenario *x, struct mfu_error *err)
{
    struct mfu_key key = a->key;

    switch (key.kind) {
    case MFU_KEY_SETTING:
        x->setting[key.id] = value;
        x->setting_given[key.id] = true;
        break;
    case MFU_KEY_DIM: /* numbers of dims are the model's own */
        if (x->model != a->model)
            key = mfu_scenario_key(x, a->name, err);
        if (key.kind != MFU_KEY_DIM)
            return -1;
        x->dim[key.id] = value;
        x->dim_given[key.id] = true;
        break;
    case MFU_KEY_COEFFICIENT:
        x->coefficient[key.id] = value;
        x->coefficient_given[key.id] = MFU_GIVEN_BY_USER;
        break;
    case MFU_KEY_NONE: break;
    }
    return 0;
}

int mfu_axes_apply(const struct mfu_axis *axes, size_t n, const size_t *at, struct mfu_scenario *x,
                   struct mfu_error *err)
{
    bool texts = false;

    for (size_t i = 0; i < n; i++) {
        if (axes[i].gpus)
            x->gpu = axes[i].gpus[at[i]];
        if (axes[i].models && x->model != axes[i].models[at[i]])
            mfu_scenario_model(x, axes[i].models[at[i]]);
    }
    for (size_t i = 0; i < n; i++) {
        bool text = axes[i].texts && axes[i].texts[at[i]];

        texts |= text;
        if (!text && put(&axes[i], axes[i].values[at[i]], x, err) < 0)
            return -1;
    }
    for (size_t i = 0; texts && i < n; i++)
        if (axes[i].texts && axes[i].texts[at[i]] && mfu_scenario_set(x, axes[i].name, axes[i].texts[at[i]], err) < 0)
            return -1;
    return 0;
}

double mfu_axis_value(const struct mfu_axis *a, const struct mfu_scenario *x)
{
    bool other = a->key.kind == MFU_KEY_DIM && x->model != a->model;
    struct mfu_key key = other ? mfu_scenario_key(x, a->name, NULL) : a->key;

    for (size_t i = 0; i < a->n && key.kind == MFU_KEY_NONE; i++)
        if (a->gpus ? a->gpus[i] == x->gpu : a->models && a->models[i] == x->model)
            return (double)i;
    return mfu_scenario_value(x, key);
}

const char *mfu_axis_word(char buf[MFU_QUANTITY_MAX], const struct mfu_axis *a, double value)
{
    if (isnan(value))
        return NULL;
    return a->gpus  ? a->gpus[(size_t)value]->slug
        : a->models ? a->models[(size_t)value]->slug
                    : mfu_key_word(buf, a->key, value);
}

bool mfu_axis_grows(const struct mfu_axis *a, int setting)
{
    bool grows = a->key.kind == MFU_KEY_SETTING && a->key.id == setting && !a->texts;

    for (size_t i = 1; grows && i < a->n; i++)
        grows = a->values[i] > a->values[i - 1];
    return grows;
}

void mfu_axis_free(struct mfu_axis *a)
{
    for (size_t i = 0; a->texts && i < a->n; i++)
        free(a->texts[i]);
    free(a->texts);
    free(a->values);
    free(a->gpus);
    free(a->models);
    memset(a, 0, sizeof *a);
}
