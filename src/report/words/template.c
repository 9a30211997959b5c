/*
 * template.c - texts whose figures are computed from a plan.
 */
#include "report/words/template.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/metric/path.h"
#include "answer/metric/table.h"
#include "plan/simulation.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/expression.h"
#include "scenario/setting.h"

void mfu_subject_change(struct mfu_subject *s, const struct mfu_scenario *scenario, const struct mfu_plan *plan)
{
    s->scenario = scenario;
    s->plan = plan;
    s->resolved = false;
}

static const struct mfu_config *config(struct mfu_subject *s)
{
    if (!s->resolved)
        mfu_scenario_resolve(s->scenario, &s->config, NULL);
    s->resolved = true;
    return &s->config;
}

/* ---- names --------------------------------------------------------------- */

#define MOST_NAMES 32 /* of one expression */

/* A name of an expression. */
struct name {
    double value;
    enum mfu_dim dim;
    int setting; /* of a choice; -1: none */
};

static bool find_note(const struct mfu_subject *s, const char *word, struct name *n)
{
    for (int i = 0; i < s->n_notes; i++)
        if (strcmp(s->notes[i].name, word) == 0) {
            n->value = s->notes[i].value;
            n->dim = s->notes[i].dim;
            return true;
        }
    return false;
}

static bool find_result(const struct mfu_subject *s, const char *word, struct name *n)
{
    struct mfu_result r;

    if (!mfu_result_find(word, &r))
        return false;
    n->dim = r.dim;
    n->value = s->plan ? mfu_result_value(&r, s->plan) : NAN;
    return true;
}

/* mfu.nanogpt, flop_per_token.palm, kernels.gemm.share ...: what needs no more
 * than the plan.  1, 0 or -1 as mfu_figure_find says. */
static int find_figure(const struct mfu_subject *s, const char *word, struct name *n, struct mfu_error *err)
{
    struct mfu_figures figures = {.plan = s->plan};
    struct mfu_figure_value f = {.value = NAN, .dim = MFU_COUNT};
    int status = strchr(word, '.') == NULL || mfu_scenario_key(s->scenario, word, NULL).kind != MFU_KEY_NONE ? 0
        : s->plan ? mfu_figure_find(&figures, word, &f, err)
                  : 1;

    mfu_figures_forget(&figures);
    n->value = f.value;
    n->dim = f.dim;
    return status;
}

static bool find_key(struct mfu_subject *s, const char *word, struct name *n, struct mfu_error *err)
{
    struct mfu_key key = mfu_scenario_key(s->scenario, word, err);

    switch (key.kind) {
    case MFU_KEY_SETTING:
        n->dim = mfu_settings[key.id].dim;
        n->value = config(s)->setting[key.id];
        if (mfu_settings[key.id].choices) {
            n->setting = key.id;
            n->value = mfu_setting_choice_number(key.id, n->value);
        }
        return true;
    case MFU_KEY_DIM:
        n->dim = MFU_COUNT;
        n->value = config(s)->dim[key.id];
        return true;
    case MFU_KEY_COEFFICIENT:
        n->dim = mfu_coefficient_rows[key.id].dim;
        n->value = mfu_config_coefficient(config(s), key.id);
        return true;
    case MFU_KEY_NONE: break;
    }
    return false;
}

/* Whether the word is the very name of a setting or dimension, which wins over a choice that is called so. */
static bool is_key(const struct mfu_subject *s, const char *word)
{
    struct mfu_key key = mfu_scenario_key(s->scenario, word, NULL);

    return key.kind == MFU_KEY_DIM || (key.kind == MFU_KEY_SETTING && strcmp(mfu_settings[key.id].key, word) == 0);
}

struct names {
    struct mfu_subject *subject;
    struct name list[MOST_NAMES];
    int n;
    int setting; /* named last; -1: none */
};

static bool find_choice(const struct names *names, const char *word, double *value)
{
    int choice, setting = is_key(names->subject, word) ? -1 : mfu_setting_of_choice(word, names->setting, &choice);

    if (setting >= 0)
        *value = mfu_setting_choice_number(setting, choice);
    return setting >= 0;
}

static int resolve(void *context, const char *word, struct mfu_error *err)
{
    struct names *names = context;
    struct mfu_subject *s = names->subject;
    struct name *n = &names->list[names->n];
    int found;

    if (names->n == MOST_NAMES)
        return mfu_fail(err, MFU_EINPUT, "more than %d names in one expression", MOST_NAMES);
    *n = (struct name){.dim = MFU_COUNT, .setting = -1};
    if (find_note(s, word, n) || find_result(s, word, n))
        return names->n++;
    if ((found = find_figure(s, word, n, err)) != 0)
        return found < 0 ? -1 : names->n++;
    if (find_choice(names, word, &n->value))
        return names->n++;
    if (!find_key(s, word, n, err))
        return -1;
    names->setting = n->setting;
    return names->n++;
}

/* ---- figures ------------------------------------------------------------- */

static const struct {
    const char *unit;
    enum mfu_dim dim;
} units[] = {{"%", MFU_RATIO},   {"B", MFU_BYTES},   {"B/s", MFU_BYTES_PER_S},
             {"s", MFU_SECONDS}, {"FLOP", MFU_FLOP}, {"FLOP/s", MFU_FLOP_PER_S},
             {"W", MFU_WATTS},   {"Hz", MFU_HERTZ},  {"tokens", MFU_TOKENS}};

/* Words that are no numbers. */
static const char *word_of(const struct mfu_subject *s, const char *name)
{
    const struct mfu_plan *p = s->plan;

    if (strcmp(name, "gpu") == 0)
        return s->scenario->gpu->name;
    if (strcmp(name, "model") == 0)
        return s->scenario->model->name;
    if (strcmp(name, "bound") == 0)
        return p ? mfu_limit_names[p->limit] : "unknown";
    if (strcmp(name, "peak_at") == 0)
        return p ? p->memory.peak_at : "unknown";
    return NULL;
}

static int find_unit(const char *unit, struct mfu_figured *f, struct mfu_error *err)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(units[i].unit, unit) == 0) {
            f->dim = units[i].dim;
            return 0;
        }
    return mfu_fail(err, MFU_EINPUT, "'%.20s' is no unit: %%, B, B/s, s, FLOP, FLOP/s, W, Hz, tokens", unit);
}

/* Blanks at both ends do not count. */
static void trim(char *text)
{
    size_t n = strlen(text), first = strspn(text, " \n");

    while (n > first && isspace((unsigned char)text[n - 1]))
        n--;
    text[n] = '\0';
    memmove(text, text + first, n - first + 1);
}

static int compute(struct mfu_subject *s, const char *text, struct mfu_figured *f, int *setting, struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    struct names names = {.subject = s, .setting = -1};
    struct mfu_expression *x = mfu_expression_compile(&arena, text, MFU_COUNT, resolve, &names, err);
    double slots[MOST_NAMES];
    bool alone =
        names.n == 1 && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")] == '\0';

    for (int i = 0; i < names.n; i++)
        slots[i] = names.list[i].value;
    if (x)
        f->value = mfu_expression_eval(x, slots);
    f->dim = alone ? names.list[0].dim : MFU_COUNT;
    *setting = alone ? names.list[0].setting : -1;
    f->condition = strpbrk(text, "<>") || strstr(text, "==") || strstr(text, "!=") || strstr(text, " and ")
        || strstr(text, " or ") || strncmp(text, "not ", 4) == 0 || strcmp(text, "fits") == 0;
    mfu_arena_free(&arena);
    return x ? 0 : -1;
}

/* "zero=2 gpus=8" in turn, each over what the ones before it made. */
static int set_keys(struct mfu_scenario *s, char *keys, struct mfu_error *err)
{
    for (char *pair; (pair = strsep(&keys, " "));) {
        char *value = strchr(pair, '=');

        if (*pair == '\0')
            continue;
        if (!value)
            return mfu_fail(err, MFU_EINPUT, "'%.40s': expected KEY=VALUE behind `with`", pair);
        *value++ = '\0';
        if (mfu_scenario_set(s, pair, value, err) < 0)
            return -1;
    }
    return 0;
}

/* The same with some keys changed; what cannot be planned so is unknown. */
static int compute_with(struct mfu_subject *s, const char *text, char *keys, struct mfu_figured *f, int *setting,
                        struct mfu_error *err)
{
    struct mfu_scenario changed = *s->scenario;
    struct mfu_subject *other = malloc(sizeof *other);
    struct mfu_plan plan = {0};
    struct mfu_simulation simulation = {0};
    struct mfu_error problem = {0};
    int status;

    if (!other)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    *other = *s;
    status = set_keys(&changed, keys, err);
    if (status == 0) {
        bool planned = s->plan && mfu_plan_make(&plan, &changed, &problem) == 0
            && mfu_simulate(&plan, false, &simulation, &problem) == 0;

        mfu_subject_change(other, &changed, planned ? &plan : NULL);
        status = problem.code == MFU_ENOMEM ? mfu_fail(err, MFU_ENOMEM, "out of memory")
                                            : compute(other, text, f, setting, err);
    }
    mfu_simulation_release(&simulation);
    mfu_plan_release(&plan);
    free(other);
    return status;
}

int mfu_subject_figure(struct mfu_subject *s, const char *expression, struct mfu_figured *f, struct mfu_error *err)
{
    char text[512], number[MFU_QUANTITY_MAX], *bar, *with;
    const char *word;
    int setting = -1;

    *f = (struct mfu_figured){.value = NAN, .dim = MFU_COUNT};
    if (strlen(expression) >= sizeof text)
        return mfu_fail(err, MFU_EINPUT, "an expression of a page has at most %zu letters", sizeof text - 1);
    strcpy(text, expression);
    bar = strrchr(text, '|');
    if (bar && (bar == text || bar[-1] != '|'))
        *bar = '\0';
    else
        bar = NULL;
    trim(text);
    if ((word = word_of(s, text))) {
        snprintf(f->text, sizeof f->text, "%s", word);
        return 0;
    }
    if ((with = strstr(text, " with "))) {
        *with = '\0';
        trim(text);
    }
    if ((with ? compute_with(s, text, with + strlen(" with "), f, &setting, err) : compute(s, text, f, &setting, err))
        < 0)
        return -1;
    if (bar) {
        trim(bar + 1);
        if (find_unit(bar + 1, f, err) < 0)
            return -1;
    }
    if (setting >= 0 && isfinite(f->value))
        mfu_setting_format(number, setting, f->value - mfu_setting_choice_number(setting, 0));
    else
        mfu_quantity_format(number, f->value, f->dim);
    snprintf(f->text, sizeof f->text, "%s", number);
    return 0;
}

int mfu_subject_note(struct mfu_subject *s, const char *name, const char *expression, struct mfu_error *err)
{
    struct mfu_figured f;
    int i = 0;

    if (mfu_subject_figure(s, expression, &f, err) < 0)
        return -1;
    while (i < s->n_notes && strcmp(s->notes[i].name, name) != 0)
        i++;
    if (i == MFU_NOTES)
        return mfu_fail(err, MFU_EINPUT, "more than %d notes", MFU_NOTES);
    if (i == s->n_notes)
        s->n_notes++;
    snprintf(s->notes[i].name, sizeof s->notes[i].name, "%s", name);
    s->notes[i].value = f.value;
    s->notes[i].dim = f.dim;
    return 0;
}

/* ---- texts --------------------------------------------------------------- */

/* The place of `c` outside of inner braces before `end`, or NULL; with blanks
 * on both sides, so that a colon in a sentence is none. */
static const char *outside(const char *p, const char *end, char c)
{
    for (int depth = 0; p < end; p++) {
        depth += *p == '{';
        depth -= *p == '}';
        if (depth == 0 && *p == c && p[-1] == ' ' && (p[1] == ' ' || p[1] == '\n' || p + 1 == end))
            return p;
    }
    return NULL;
}

/* The brace that closes the one before `p`, or NULL. */
static const char *closing(const char *p)
{
    for (int depth = 1; *p; p++) {
        depth += *p == '{';
        depth -= *p == '}';
        if (depth == 0)
            return p;
    }
    return NULL;
}

/* `out` NULL: reads it, writes nothing. */
static int fill(struct mfu_subject *s, const char *text, const char *end, FILE *out, struct mfu_error *err);

static int evaluate(struct mfu_subject *s, const char *from, const char *to, struct mfu_figured *f,
                    struct mfu_error *err)
{
    char *text = strndup(from, (size_t)(to - from));
    int status = text ? mfu_subject_figure(s, text, f, err) : mfu_fail(err, MFU_ENOMEM, "out of memory");

    if (status < 0 && err && *from)
        mfu_within(err, "{%.80s}", text ? text : "");
    free(text);
    return status;
}

/* A number and its unit stay together: with a blank that does not break. */
static void put_figure(const char *text, FILE *out)
{
    for (; out && *text; text++)
        if (*text == ' ')
            fputs(MFU_NO_BREAK, out);
        else
            putc(*text, out);
}

/* {CONDITION ? text : text}; says nothing when nothing is known.  Both sides are
 * read, so that a mistake in either comes to light. */
static int choose(struct mfu_subject *s, const char *from, const char *question, const char *to, FILE *out,
                  struct mfu_error *err)
{
    const char *colon = outside(question + 1, to, ':');
    struct mfu_figured f;
    bool first, second;

    if (evaluate(s, from, question, &f, err) < 0)
        return -1;
    first = s->plan && f.value > 0;
    second = s->plan && !first;
    if (fill(s, question + 2, colon ? colon - 1 : to, first ? out : NULL, err) < 0)
        return -1;
    return colon && colon + 2 < to ? fill(s, colon + 2, to, second ? out : NULL, err) : 0;
}

static int fill(struct mfu_subject *s, const char *text, const char *end, FILE *out, struct mfu_error *err)
{
    struct mfu_figured f;

    for (const char *p = text; p < end; p++) {
        const char *close, *question;

        if (*p != '{') {
            if (out)
                putc(*p, out);
            continue;
        }
        if (!(close = closing(p + 1)) || close >= end)
            return mfu_fail(err, MFU_EINPUT, "a '{' is not closed: %.40s", p);
        if ((question = outside(p + 1, close, '?'))) {
            if (choose(s, p + 1, question, close, out, err) < 0)
                return -1;
        } else {
            if (evaluate(s, p + 1, close, &f, err) < 0)
                return -1;
            put_figure(f.text, out);
        }
        p = close;
    }
    return 0;
}

int mfu_page_fill(struct mfu_subject *s, const char *text, FILE *out, struct mfu_error *err)
{
    return fill(s, text, text + strlen(text), out, err);
}
