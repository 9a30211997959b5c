/*
 * scenario.c - what the user set: a value under each key, read from text and checked against that key's range.
 *
 * What follows from all of them together is resolve.c's.
 */
#include "scenario/scenario.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/expression.h"
#include "base/suggest.h"
#include "descriptor/module_kinds.h"
#include "scenario/setting.h"

_Static_assert(MFU_SETTING_COUNT <= MFU_MAX_SETTINGS, "more settings than a scenario has room for");

const char *const mfu_origin_names[] = {"default", "model", "gpu", "derived", "user"};

const char *mfu_dim_meaning(const char *name)
{
    const struct mfu_dim_row *row = mfu_dim_row(name);

    return row ? row->meaning : NULL;
}

struct mfu_range mfu_scenario_range(const struct mfu_scenario *s, struct mfu_key key)
{
    const struct mfu_setting *row = key.kind == MFU_KEY_SETTING ? &mfu_settings[key.id] : NULL;
    const struct mfu_dim_row *m = key.kind == MFU_KEY_DIM ? mfu_dim_row(s->model->dims[key.id].name) : NULL;

    if (key.kind == MFU_KEY_COEFFICIENT)
        return (struct mfu_range){mfu_coefficient_rows[key.id].least, mfu_coefficient_rows[key.id].most, false};
    if (row && row->choices) { /* as many as there are */
        int n = 0;

        while (row->choices[n])
            n++;
        return (struct mfu_range){0, n - 1, true};
    }
    if (row)
        return (struct mfu_range){row->least, row->most, row->dim == MFU_COUNT && !row->fractional};
    return m ? (struct mfu_range){m->least, m->most, m->whole} : (struct mfu_range){0, 1e12, false};
}

struct mfu_key mfu_scenario_key(const struct mfu_scenario *s, const char *name, struct mfu_error *err)
{
    return mfu_key_find(s->model, name, err);
}

struct mfu_scenario mfu_scenario_start(const struct mfu_model *model, const struct mfu_gpu *gpu)
{
    struct mfu_scenario s = {.gpu = gpu, .model = model};

    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        s.setting[i] = mfu_settings[i].initial;
    return s;
}

void mfu_scenario_model(struct mfu_scenario *s, const struct mfu_model *model)
{
    s->model = model;
    memset(s->dim, 0, sizeof s->dim);
    memset(s->dim_given, 0, sizeof s->dim_given);
    mfu_scenario_answer_model(s);
}

/* The values that an expression on the right of `set` may use. */
struct names {
    const struct mfu_scenario *scenario;
    const struct mfu_config *config;
    double values[64];
    int n;
};

double mfu_scenario_value(const struct mfu_scenario *s, struct mfu_key key)
{
    switch (key.kind) {
    case MFU_KEY_DIM: return s->dim[key.id];
    case MFU_KEY_SETTING: return s->setting[key.id];
    case MFU_KEY_COEFFICIENT: return s->coefficient[key.id];
    case MFU_KEY_NONE: break;
    }
    return NAN;
}

double mfu_config_value(const struct mfu_config *c, struct mfu_key key)
{
    switch (key.kind) {
    case MFU_KEY_DIM: return c->dim[key.id];
    case MFU_KEY_SETTING: return c->setting[key.id];
    case MFU_KEY_COEFFICIENT: return mfu_config_coefficient(c, (enum mfu_coefficient)key.id);
    case MFU_KEY_NONE: break;
    }
    return NAN;
}

static int resolve_name(void *context, const char *name, struct mfu_error *err)
{
    struct names *names = context;
    struct mfu_key key = mfu_scenario_key(names->scenario, name, err);

    if (key.kind == MFU_KEY_NONE)
        return -1;
    if (names->n == (int)(sizeof names->values / sizeof names->values[0]))
        return mfu_fail(err, MFU_EINPUT, "more than %d names in one expression", names->n);
    names->values[names->n] = mfu_config_value(names->config, key);
    return names->n++;
}

#define MOST_LISTED 32 /* choices that a message names: of more the nearest */

static int choice_of(enum mfu_setting_id id, const char *text, double *value, struct mfu_error *err)
{
    const struct mfu_setting *row = &mfu_settings[id];
    size_t n = mfu_names_count(row->choices);
    const char *near[MOST_LISTED];
    char list[256], pair[2 * MFU_KEY_NAME];

    *value = mfu_setting_choice(id, text, NULL);
    if (*value >= 0)
        return 0;
    if (n > MOST_LISTED) {
        size_t n_near = mfu_suggest(text, row->choices, n, near, 5);

        return mfu_fail(err, MFU_EINPUT, "%s: '%.40s': none of %zu%s%s (help %s)", row->key, text, n,
                        n_near ? "; the nearest: " : "", mfu_names_list(list, sizeof list, near, n_near), row->key);
    }
    mfu_fail(err, MFU_EINPUT, "%s: '%.40s': expected %s", row->key, text,
             mfu_names_list(list, sizeof list, row->choices, n));
    mfu_error_nearest(err, text, row->choices, n);
    return mfu_key_said_by(text, pair) ? mfu_error_suggest(err, pair) : -1;
}

/* A set of kinds of weights, by their names. */
static int modules_of(const char *key, const char *text, double *value, struct mfu_error *err)
{
    const char *words[48], *best;
    char unknown[48];
    unsigned set;
    size_t n = 0;

    if (mfu_modules_parse(text, &set, unknown, sizeof unknown) == 0) {
        *value = set;
        return 0;
    }
    while (n < sizeof words / sizeof words[0] && (words[n] = mfu_modules_word(n)))
        n++;
    mfu_fail(err, MFU_EINPUT, "%s: '%s': expected kinds of weights: all-linear, attention, mlp, norms, ...", key,
             unknown);
    if (mfu_suggest(unknown, words, n, &best, 1))
        mfu_error_suggest(err, best);
    return -1;
}

/* A set of names, as lists of other programs write it: a,b or [a, b] or "a b". */
static int set_of(const struct mfu_setting *row, const char *text, double *value, struct mfu_error *err)
{
    static const char apart[] = ",+|[]'\" ";
    char list[256], word[48];
    unsigned set = 0;

    for (const char *p = text + strspn(text, apart); *p; p += strspn(p, apart)) {
        size_t n = strcspn(p, apart);
        int i = 0;

        snprintf(word, sizeof word, "%.*s", (int)n, p);
        while (row->set_of[i] && !mfu_same_name(row->set_of[i], word))
            i++;
        if (!row->set_of[i] && !mfu_same_name(word, "none"))
            return mfu_fail_nearest(err, word, row->set_of, (size_t)i, "%s: '%s': expected some of %s", row->key, word,
                                    mfu_names_list(list, sizeof list, row->set_of, (size_t)i));
        set |= row->set_of[i] ? 1u << i : 0;
        p += n;
    }
    *value = set;
    return 0;
}

/* A number with a unit, or else an expression over the current values. */
static int number_of(const struct mfu_scenario *s, const char *key, const char *text, enum mfu_dim dim, double *value,
                     struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    struct mfu_config config;
    struct names names = {.scenario = s, .config = &config};
    struct mfu_expression *e;
    char pair[2 * MFU_KEY_NAME];
    int status = -1;

    if (mfu_quantity_parse(text, dim, value, err) == 0)
        return 0;
    mfu_scenario_resolve(s, &config, NULL); /* what can be known, is */
    e = mfu_expression_compile(&arena, text, dim, resolve_name, &names, err);
    if (e) {
        *value = mfu_expression_eval(e, names.values);
        status = 0;
        if (!isfinite(*value))
            status = mfu_fail(err, MFU_EINPUT, "'%.60s' has no finite value", text);
    } else if (mfu_key_said_by(text, pair)) {
        mfu_fail(err, MFU_EINPUT, "'%.40s' is not a number", text);
        mfu_error_suggest(err, pair);
    } else if (strpbrk(text, "+-*/()<>") == NULL) {
        struct mfu_error plain;

        mfu_quantity_parse(text, dim, value, &plain); /* say what was expected */
        if (err && !err->suggestion[0])
            mfu_fail(err, MFU_EINPUT, "%s", plain.text);
    }
    mfu_arena_free(&arena);
    return status < 0 ? mfu_within(err, "%s", key) : 0;
}

static int check_range(const char *key, double value, double least, double most, bool whole, enum mfu_dim dim,
                       struct mfu_error *err)
{
    char lo[MFU_QUANTITY_MAX], hi[MFU_QUANTITY_MAX], is[MFU_QUANTITY_MAX];

    if (!(value >= least && value <= most))
        return mfu_fail(err, MFU_EINPUT, "%s: %s is outside %s..%s", key, mfu_quantity_format(is, value, dim),
                        mfu_quantity_format(lo, least, dim), mfu_quantity_format(hi, most, dim));
    if (whole && value != floor(value))
        return mfu_fail(err, MFU_EINPUT, "%s: %g is not a whole number", key, value);
    return 0;
}

static int set(struct mfu_scenario *s, struct mfu_key key, const char *name, const char *text, struct mfu_error *err)
{
    char ours[MFU_KEY_NAME];
    double value;

    if (key.kind != MFU_KEY_NONE && !(text = mfu_key_value(name, text, ours, err)))
        return -1;
    switch (key.kind) {
    case MFU_KEY_NONE: return -1;
    case MFU_KEY_SETTING: {
        const struct mfu_setting *row = &mfu_settings[key.id];
        enum mfu_dim dim = row->dim;

        if (row->choices ? choice_of((enum mfu_setting_id)key.id, text, &value, err) < 0 : 0)
            return -1;
        if (row->modules && modules_of(row->key, text, &value, err) < 0)
            return -1;
        if (row->set_of && set_of(row, text, &value, err) < 0)
            return -1;
        if (!row->choices && !row->modules && !row->set_of) {
            if (row->unit != MFU_COUNT && mfu_quantity_parse(text, row->unit, &value, NULL) == 0)
                dim = row->unit; /* 320W */
            else if (number_of(s, row->key, text, dim, &value, err) < 0)
                return -1;
        }
        if (check_range(row->key, value, row->least, row->most, mfu_scenario_range(s, key).whole, dim, err) < 0)
            return -1;
        if (value > 0 && value < row->least_but_0)
            return mfu_fail(err, MFU_EINPUT, "%s: %g is less than %g; 0 leaves it open", row->key, value,
                            row->least_but_0);
        s->setting[key.id] = value;
        s->setting_given[key.id] = true;
        return 0;
    }
    case MFU_KEY_DIM: {
        const char *dim = s->model->dims[key.id].name;
        struct mfu_range range = mfu_scenario_range(s, key);

        if (mfu_same_name(text, "on") || mfu_same_name(text, "true"))
            text = "1";
        if (mfu_same_name(text, "off") || mfu_same_name(text, "false"))
            text = "0";
        if (number_of(s, dim, text, strcmp(dim, "seq") == 0 ? MFU_TOKENS : MFU_COUNT, &value, err) < 0)
            return -1;
        if (check_range(dim, value, range.least, range.most, range.whole, MFU_COUNT, err) < 0)
            return -1;
        s->dim[key.id] = value;
        s->dim_given[key.id] = true;
        return 0;
    }
    case MFU_KEY_COEFFICIENT: {
        const struct mfu_coefficient_row *row = &mfu_coefficient_rows[key.id];

        if (number_of(s, row->name, text, row->dim, &value, err) < 0)
            return -1;
        if (check_range(row->name, value, row->least, row->most, false, row->dim, err) < 0)
            return -1;
        s->coefficient[key.id] = mfu_coefficient_value(row, value);
        s->coefficient_given[key.id] = MFU_GIVEN_BY_USER;
        return 0;
    }
    }
    return -1;
}

/* "optimizer+params" of a name whose values choose among keys; "none" of all of them. */
static int set_parts(struct mfu_scenario *s, const char *name, const char *text, struct mfu_error *err)
{
    size_t n = strcspn(text, "+");
    char word[MFU_KEY_NAME];

    if (mfu_same_name(text, "none") || mfu_same_name(text, "off"))
        for (size_t i = 0; mfu_key_part(name, i, word); i++)
            if (mfu_scenario_set(s, word, "off", err) < 0)
                return -1;
    snprintf(word, sizeof word, "%.*s", (int)n, text);
    if (text[n] == '+' && mfu_scenario_set(s, name, word, err) < 0)
        return -1;
    return text[n] == '+' ? mfu_scenario_set(s, name, text + n + 1, err) : 0;
}

/* "20..31", "[20, 21]", "20": layers by their numbers. */
static int set_layers(struct mfu_scenario *s, const char *key, const char *text, struct mfu_error *err)
{
    static const char apart[] = ",+|[]'\" ";
    long first = LONG_MAX, last = -1, n = 0;
    char number[24];

    for (const char *p = text + strspn(text, apart); *p; p += strspn(p, apart)) {
        char *end;
        long a = strtol(p, &end, 10), b = strncmp(end, "..", 2) == 0 ? strtol(end + 2, &end, 10) : a;

        if (end == p || !strchr(apart, *end) || a < 0 || b < a)
            return mfu_fail(err, MFU_EINPUT, "%s: '%.40s': expected numbers of layers such as 20..31", key, text);
        first = a < first ? a : first;
        last = b > last ? b : last;
        n += b - a + 1;
        p = end;
    }
    if (n != last - first + 1)
        return mfu_fail(err, MFU_EINPUT, "%s: '%.40s': only layers that follow one another are modelled", key, text);
    snprintf(number, sizeof number, "%ld", first);
    if (mfu_scenario_set(s, mfu_settings[MFU_S_TRAINABLE_FROM].key, number, err) < 0)
        return -1;
    snprintf(number, sizeof number, "%ld", n);
    return mfu_scenario_set(s, mfu_settings[MFU_S_TRAINABLE_LAYERS].key, number, err);
}

/* Whether a name goes on with a layer's number: "layers.20", "h.20", but not "to_out.0" or "net.0.proj". */
static bool numbers_layers(const char *text, const char *p)
{
    return (p - text >= 7 && strncmp(p - 7, "layers.", 7) == 0)
        || (p - text >= 2 && strncmp(p - 2, "h.", 2) == 0 && (p - text == 2 || strchr(".,[ ", p[-3])));
}

/* Takes the layers' numbers out of names such as "model.layers.20.mlp.up_proj", each of the same weights; whether they
 * had some.  Both have the room of `text` and of a character. */
static bool take_numbers(const char *text, char *kinds, char *numbers)
{
    size_t had = 0;

    for (const char *p = text; *p; p++) {
        size_t n = numbers_layers(text, p) ? strspn(p, "0123456789") : 0;

        if (n > 0 && strchr(".,]'\" ", p[n])) {
            had += (size_t)sprintf(numbers + had, "%.*s,", (int)n, p);
            *kinds++ = '*';
            p += n - 1;
        } else {
            *kinds++ = *p;
        }
    }
    *kinds = numbers[had] = '\0';
    return had > 0;
}

/* What of weights is the same in each word. */
static bool are_alike(const char *words)
{
    char word[256], unknown[48];
    unsigned set, first = 0;
    size_t n;

    for (const char *p = words; *p; p += n + strspn(p + n, ", ")) {
        n = strcspn(p, ", ");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        if (mfu_modules_parse(word, &set, unknown, sizeof unknown) < 0 || (first && set != first))
            return false;
        first = set;
    }
    return true;
}

/* Weights of layers that are told by number. */
static int set_in_layers(struct mfu_scenario *s, const char *name, const char *kinds, const char *numbers,
                         struct mfu_error *err)
{
    const unsigned within = MFU_MODULE_ALL_LINEAR | MFU_MODULE_BIT(EXPERTS);
    enum mfu_setting_id id = (enum mfu_setting_id)mfu_key_find(s->model, name, NULL).id;
    unsigned set = MFU_MODULES_ALL;
    char unknown[48];

    if (!are_alike(kinds))
        return mfu_fail(err, MFU_EINPUT, "%s: only the same weights of each layer are modelled", name);
    mfu_modules_parse(kinds, &set, unknown, sizeof unknown);
    if (id == MFU_S_TRAINABLE && set != MFU_MODULES_ALL && set & ~within)
        return mfu_fail(err, MFU_EINPUT,
                        "%s: of single layers all weights, or linears, are modelled (set trainable_layers 20..31)",
                        name);
    if (set_layers(s, name, numbers, err) < 0)
        return -1;
    return set == MFU_MODULES_ALL && id == MFU_S_TRAINABLE ? mfu_scenario_unset(s, name, err)
                                                           : mfu_scenario_set(s, name, kinds, err);
}

/* Takes a choice back, or one that it begins the name of (nf4-double is nf4, too). */
static int deny(struct mfu_scenario *s, struct mfu_key key, const char *choice, struct mfu_error *err)
{
    const struct mfu_setting *row = &mfu_settings[key.id];

    mfu_scenario_answer_key(s, key);
    return strncmp(row->choices[(int)s->setting[key.id]], choice, strlen(choice)) == 0
        ? mfu_scenario_unset(s, row->key, err)
        : 0;
}

int mfu_scenario_set(struct mfu_scenario *s, const char *name, const char *text, struct mfu_error *err)
{
    char other[MFU_KEY_NAME], kinds[256], numbers[512];
    bool is_part = mfu_key_part(name, 0, other);
    struct mfu_key key = mfu_key_find_set(s->model, name, text, err), beside;
    const char *also = mfu_key_also(name), *how = also ? also + strcspn(also, "=-+") : "";
    double before = key.kind == MFU_KEY_SETTING && s->setting_given[key.id] ? s->setting[key.id] : 0;

    if (key.kind == MFU_KEY_SETTING && mfu_settings[key.id].modules && strlen(text) < sizeof kinds
        && take_numbers(text, kinds, numbers))
        return set_in_layers(s, name, kinds, numbers, err);
    if (key.kind == MFU_KEY_SETTING && key.id == MFU_S_TRAINABLE_LAYERS && (strstr(text, "..") || strpbrk(text, ",[")))
        return set_layers(s, name, text, err);
    if (is_part && strchr(text, '+'))
        return set_parts(s, name, text, err);
    if (is_part && set_parts(s, name, text, err) < 0)
        return -1;
    if (mfu_key_denies(name, text, other))
        return deny(s, key, other, err);
    if (set(s, key, name, text, err) < 0)
        return -1;
    mfu_scenario_answer_key(s, key);
    for (size_t i = 0; mfu_key_instead(name, i, other); i++)
        if (mfu_key_find(s->model, other, NULL).id != key.id && mfu_scenario_unset(s, other, err) < 0)
            return -1;
    if (*how == '+' && before > 0 && s->setting[key.id] > 0)
        s->setting[key.id] = before;
    if (!*how || *how == '+')
        return 0;
    snprintf(other, sizeof other, "%.*s", (int)(how - also), also);
    if (*how == '=')
        return mfu_scenario_set(s, other, how + 1, err);
    beside = mfu_key_find(s->model, other, NULL);
    return beside.id != key.id /* which the value has just said */
            && mfu_setting_choice((enum mfu_setting_id)beside.id, how + 1, NULL) == (int)s->setting[beside.id]
        ? mfu_scenario_unset(s, other, err)
        : 0;
}

int mfu_scenario_set_number(struct mfu_scenario *s, const char *key, double value, struct mfu_error *err)
{
    char text[32];

    snprintf(text, sizeof text, "%.17g", value);
    return mfu_scenario_set(s, key, text, err);
}

int mfu_scenario_unset(struct mfu_scenario *s, const char *name, struct mfu_error *err)
{
    struct mfu_key key = mfu_scenario_key(s, name, err);

    switch (key.kind) {
    case MFU_KEY_NONE: return -1;
    case MFU_KEY_SETTING:
        s->setting[key.id] = mfu_settings[key.id].initial;
        s->setting_given[key.id] = false;
        break;
    case MFU_KEY_DIM: s->dim_given[key.id] = false; break;
    case MFU_KEY_COEFFICIENT: s->coefficient_given[key.id] = MFU_GIVEN_NOT; break;
    }
    return 0;
}

void mfu_scenario_keep_loader(struct mfu_scenario *s, double batch)
{
    double *loader_ms = &s->setting[MFU_S_DATALOADER_MS];

    *loader_ms = fmin(*loader_ms * s->setting[MFU_S_BATCH] / batch, mfu_settings[MFU_S_DATALOADER_MS].most);
}

double mfu_config_coefficient(const struct mfu_config *c, enum mfu_coefficient id)
{
    if (c->scenario && c->scenario->coefficient_given[id])
        return c->scenario->coefficient[id];
    return c->gpu ? c->gpu->coefficients.value[id] : NAN;
}

double mfu_config_dim(const struct mfu_config *c, const char *name)
{
    int i = c->model ? mfu_model_dim_find(c->model, name, NULL) : -1;

    return i < 0 ? NAN : c->dim[i];
}

bool mfu_config_has(const struct mfu_config *c, unsigned trait)
{
    const struct mfu_model *m = c->model;

    for (int k = 0; k < m->n_sections; k++)
        for (int i = m->sections[k].first; !m->sections[k].apart && i < m->sections[k].first + m->sections[k].count;
             i++)
            if (m->ops[i].primitive->traits & trait
                && (!m->ops[i].when || mfu_expression_eval(m->ops[i].when, c->dim) > 0)
                && (!m->sections[k].repeat || mfu_expression_eval(m->sections[k].repeat, c->dim) > 0))
                return true;
    return false;
}
