/*
 * expr_scope.c - expressions over settings and the results of a plan.
 */
#include "repl/expr_scope.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/metric/path.h"
#include "base/arena.h"
#include "base/expression.h"
#include "base/suggest.h"
#include "repl/session.h"
#include "scenario/keys.h"
#include "scenario/setting.h"

/* ---- names in expressions ------------------------------------------------ */

struct scope {
    struct mfu_session *session;
    struct mfu_config config; /* resolved as far as it goes */
    struct mfu_evaluated *e;
    const struct mfu_scenario *planned; /* whose plan the session holds */
    struct mfu_figures figures;         /* of that plan */
    bool in_tokens;
    int setting;           /* named last; -1: none */
    const char *text, *at; /* of the expression: what of it is resolved */
};

/* bf16, compile, full ... as the right side of a comparison, or what limits a step. */
static bool find_word(const struct scope *scope, const char *name, struct mfu_named *n)
{
    int choice, setting = mfu_setting_of_choice(name, scope->setting, &choice);

    if (setting >= 0) {
        n->choice = mfu_settings[setting].choices[choice];
        n->value = mfu_setting_choice_number(setting, choice);
    } else if (mfu_bound_number(name, &n->value))
        n->choice = mfu_bound_word(n->value);
    return n->choice != NULL;
}

static int plan_of(struct scope *scope, const struct mfu_scenario *scenario, struct mfu_error *err)
{
    struct mfu_session *s = scope->session;

    if (scope->planned == scenario)
        return 0;
    mfu_figures_forget(&scope->figures);
    scope->planned = NULL;
    if (mfu_session_plan_of(s, scenario, err) < 0)
        return -1;
    scope->figures = (struct mfu_figures){.plan = &s->plan,
                                          .scratch = &s->plan,
                                          .simulation = &s->simulation,
                                          .studied = s->has_studied ? &s->studied : NULL};
    scope->planned = scenario;
    return 0;
}

/* 1 with a result or figure of a scenario, 0 if there is none, or -1. */
static int look_up_result(struct scope *scope, const struct mfu_scenario *scenario, const char *name,
                          struct mfu_named *n, struct mfu_error *err)
{
    struct mfu_result row;
    struct mfu_figure_value f;
    int found;

    if (mfu_result_find(name, &row)) {
        if (plan_of(scope, scenario, err) < 0)
            return -1;
        n->dim = row.dim;
        n->value = mfu_result_value(&row, &scope->session->plan);
        return 1;
    }
    if (!mfu_figure_known(name))
        return 0;
    if (strncmp(name, "kernel.", 7) != 0 && plan_of(scope, scenario, err) < 0)
        return -1;
    scope->figures.studied = scope->session->has_studied ? &scope->session->studied : NULL;
    found = mfu_figure_find(&scope->figures, name, &f, err);
    if (found > 0) {
        n->dim = f.dim;
        n->value = f.value;
        n->word = f.word;
    }
    return found;
}

static void look_up_key(struct scope *scope, struct mfu_key key, struct mfu_named *n)
{
    n->key = key;
    n->dim = mfu_key_dim(&scope->session->memory.now, key);
    n->value = mfu_config_value(&scope->config, key);
    if (mfu_key_choices(key))
        n->value = mfu_setting_choice_number(key.id, n->value);
    if (n->dim == MFU_TOKENS)
        scope->in_tokens = true;
}

/* before.mfu, before.batch: of a scenario that was kept. */
static int look_up_kept(struct scope *scope, const char *name, struct mfu_named *n, struct mfu_error *err)
{
    const char *dot = strchr(name, '.');
    char kept[sizeof scope->session->memory.kept[0].name];
    const struct mfu_scenario *scenario;
    struct mfu_config config;
    struct mfu_key key;
    int found;

    if (!dot || (size_t)(dot - name) >= sizeof kept)
        return 0;
    snprintf(kept, sizeof kept, "%.*s", (int)(dot - name), name);
    if (!(scenario = mfu_session_kept(scope->session, kept, NULL)))
        return 0;
    if ((found = look_up_result(scope, scenario, dot + 1, n, err)) != 0)
        return found;
    if ((key = mfu_scenario_key(scenario, dot + 1, err)).kind == MFU_KEY_NONE)
        return -1;
    mfu_scenario_resolve(scenario, &config, NULL);
    n->dim = mfu_key_dim(scenario, key);
    n->value = mfu_config_value(&config, key);
    if (mfu_key_choices(key)) {
        n->key = key;
        n->value = mfu_setting_choice_number(key.id, n->value);
    }
    return 1;
}

/* observe.implied_params, train.cost: of the last of these answers. */
static int look_up_noted(struct scope *scope, const char *name, struct mfu_named *n, struct mfu_error *err)
{
    static const char *const commands[] = {"observe.", "train.", "solve."};
    const struct mfu_session *s = scope->session;
    const char *names[MFU_NOTED];
    bool is_one = false;

    for (int i = 0; i < s->n_noted; i++) {
        names[i] = s->noted[i].name;
        if (!mfu_same_name(s->noted[i].name, name))
            continue;
        n->value = s->noted[i].value;
        n->dim = s->noted[i].dim;
        return 1;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        is_one |= strncmp(name, commands[i], strlen(commands[i])) == 0;
    if (!is_one)
        return 0;
    return mfu_fail_nearest(err, name, names, (size_t)s->n_noted, "no `%.*s` has answered '%.60s' yet",
                            (int)strcspn(name, "."), name, name);
}

/* `lora` in `adapter == lora` is a choice of adapter, whatever else is called so. */
static bool is_own_choice(struct scope *scope, const char *name)
{
    int choice;

    return mfu_expression_compares(scope->text, &scope->at, name) && scope->setting >= 0
        && mfu_setting_of_choice(name, scope->setting, &choice) == scope->setting;
}

/* The name's place among those that were looked up, if it means the same here; -1. */
static int known(const struct scope *scope, const char *name, bool is_choice)
{
    for (int i = 0; i < scope->e->n_names; i++) {
        const struct mfu_named *n = &scope->e->names[i];
        struct mfu_named here = {.choice = NULL};

        if (strcmp(n->name, name) == 0 && !is_choice == !n->choice
            && (!n->choice || (find_word(scope, name, &here) && here.value == n->value)))
            return i;
    }
    return -1;
}

static int look_up(struct scope *scope, const char *name, struct mfu_error *err)
{
    struct mfu_evaluated *e = scope->e;
    struct mfu_named *n = &e->names[e->n_names];
    const struct mfu_scenario *now = &scope->session->memory.now;
    struct mfu_key key;
    bool is_choice = is_own_choice(scope, name);
    int found;

    if ((found = known(scope, name, is_choice)) >= 0)
        return found;
    if (e->n_names == MFU_NAMES_MAX)
        return mfu_fail(err, MFU_EINPUT, "more than %d names in one expression", MFU_NAMES_MAX);
    *n = (struct mfu_named){.key = {MFU_KEY_NONE, -1}};
    snprintf(n->name, sizeof n->name, "%s", name);
    if (is_choice && find_word(scope, name, n))
        return e->n_names++;
    if ((found = look_up_result(scope, now, name, n, err)) != 0)
        return found < 0 ? -1 : e->n_names++;
    if ((key = mfu_scenario_key(now, name, NULL)).kind != MFU_KEY_NONE) {
        look_up_key(scope, key, n);
        return e->n_names++;
    }
    if ((found = look_up_noted(scope, name, n, err)) != 0 || (found = look_up_kept(scope, name, n, err)) != 0)
        return found < 0 ? -1 : e->n_names++;
    if (!find_word(scope, name, n))
        return mfu_result_unknown(now, name, err);
    return e->n_names++;
}

static int resolve(void *context, const char *name, struct mfu_error *err)
{
    struct scope *scope = context;
    int i = look_up(scope, name, err);

    if (i >= 0 && scope->e->names[i].key.kind == MFU_KEY_SETTING)
        scope->setting = scope->e->names[i].key.id;
    return i;
}

int mfu_evaluate(struct mfu_session *s, const char *text, struct mfu_evaluated *e, struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    struct scope scope = {.session = s, .e = e, .setting = -1, .text = text, .at = text};
    struct mfu_expression *x;
    double slots[MFU_NAMES_MAX];
    int status = -1;

    e->n_names = 0;
    mfu_scenario_resolve(&s->memory.now, &scope.config, NULL);
    x = mfu_expression_compile(&arena, text, MFU_COUNT, resolve, &scope, err);
    scope.at = text;
    if (x && scope.in_tokens) /* beside a sequence length 8k is 8192 */
        x = mfu_expression_compile(&arena, text, MFU_TOKENS, resolve, &scope, err);
    if (x) {
        for (int i = 0; i < e->n_names; i++)
            slots[i] = e->names[i].value;
        e->value = mfu_expression_eval(x, slots);
        e->alone = e->n_names == 1 && mfu_same_name(e->names[0].name, text);
        status = e->alone && e->names[0].choice
            ? mfu_fail(err, MFU_EINPUT, "'%.60s' is a word to compare with, such as in `precision == bf16`", text)
            : 0;
    }
    mfu_figures_forget(&scope.figures);
    mfu_arena_free(&arena);
    return status;
}

const char *mfu_named_format(char buf[MFU_QUANTITY_MAX], const struct mfu_session *s, const struct mfu_named *n)
{
    if (n->word)
        return strcpy(buf, n->word);
    if (n->key.kind == MFU_KEY_NONE)
        return mfu_quantity_format(buf, n->value, n->dim);
    return mfu_key_format(buf, &s->memory.now, n->key,
                          n->value - (mfu_key_choices(n->key) ? mfu_setting_choice_number(n->key.id, 0) : 0));
}
