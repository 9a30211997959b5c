#include <math.h>
#include <string.h>

#include "repl/attribution.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/expr_scope.h"
#include "repl/output.h"
#include "report/text/text.h"
#include "answer/fields/fields.h"
#include "scenario/keys.h"

#define MOST 8 /* scenarios side by side */

struct comparison {
    struct mfu_session *session;
    int n, n_differences, n_followers;
    const char *names[MOST];
    const struct mfu_scenario *scenarios[MOST];
    struct mfu_difference differences[MFU_DIFFERENCES];
    struct mfu_difference followers[MFU_DIFFERENCES];
    struct mfu_attribution why; /* of two scenarios; else n is 0 */
};

/* ---- for programs -------------------------------------------------------- */

struct differing {
    const struct comparison *in;
    const struct mfu_difference *of;
};

struct value {
    const struct mfu_scenario *scenario;
    const struct mfu_difference *of;
};

static void put_value(const struct value *x, struct mfu_value *v)
{
    struct mfu_key k = mfu_scenario_key(x->scenario, x->of->key, NULL);
    struct mfu_config config;

    if (x->of->what == MFU_DIFFERENT_GPU)
        mfu_value_text(v, x->scenario->gpu->slug);
    else if (x->of->what == MFU_DIFFERENT_MODEL)
        mfu_value_text(v, x->scenario->model->slug);
    else if (k.kind == MFU_KEY_NONE)
        mfu_value_text(v, NULL);
    else {
        mfu_scenario_resolve(x->scenario, &config, NULL);
        if (mfu_key_choices(k))
            mfu_value_text(v, mfu_key_choices(k)[(int)mfu_config_value(&config, k)]);
        else
            mfu_value_number(v, mfu_config_value(&config, k));
    }
}

static void make_values(const struct differing *d, struct mfu_value *v)
{
    struct value *list = mfu_value_own(v, (size_t)d->in->n, sizeof *list);

    for (int i = 0; list && i < d->in->n; i++)
        list[i] = (struct value){d->in->scenarios[i], d->of};
}

static void make_differences(const struct comparison *c, const struct mfu_difference *of, int n, struct mfu_value *v)
{
    struct differing *list = mfu_value_own(v, (size_t)n, sizeof *list);

    for (int i = 0; list && i < n; i++)
        list[i] = (struct differing){c, &of[i]};
}

/* Each plan is made again when its turn comes: a session holds one. */
struct planned {
    struct mfu_session *session;
    const struct mfu_scenario *scenario;
};

static void make_planned(const struct comparison *c, struct mfu_value *v)
{
    struct planned *list = mfu_value_own(v, (size_t)c->n, sizeof *list);

    for (int i = 0; list && i < c->n; i++)
        list[i] = (struct planned){c->session, c->scenarios[i]};
}

static const struct mfu_plan *plan_again(const struct planned *p)
{
    return mfu_session_plan_of(p->session, p->scenario, NULL) == 0 ? &p->session->plan : NULL;
}

// clang-format off
#define VALUE(X) X(SCALAR, _, 0, put_value(x, v), "of one scenario; null: it has no such key")
MFU_FIELDS(compared_value, const struct value *x, VALUE)
static const struct mfu_record compared_value = MFU_RECORD(compared_value, .rows = NULL);

#define DIFFERING(X) \
    X(TEXT,      key,    0,      d->of->key,        "gpu, model or a key") \
    X(MADE_LIST, values, &compared_value, make_values(d, v), "in each scenario")
MFU_FIELDS(difference, const struct differing *d, DIFFERING)
static const struct mfu_record difference = MFU_RECORD(difference, .rows = NULL);

#define ADDED(X) \
    X(NUMBER, step_time_s,       MFU_SECONDS, a->step_s,      "added to a step") \
    X(NUMBER, seconds_per_token, MFU_SECONDS, a->per_token_s, "added to each token")
MFU_FIELDS(added, const struct mfu_added *a, ADDED)
static const struct mfu_record added = MFU_RECORD(added, .rows = NULL);

#define CREDIT(X) \
    X(TEXT,    key,     0,      x->keys,     "one key, or several joined by +") \
    X(MEMBERS, forward, &added, &x->forward, "changed in this order") \
    X(OBJECT,  reverse, &added, &x->reverse, "changed in the reverse order") \
    X(OBJECT,  alone,   &added, &x->alone,   "changed alone; null: not possible")
MFU_FIELDS(credit, const struct mfu_credit *x, CREDIT)
static const struct mfu_record credit = MFU_RECORD(credit, .rows = NULL);

#define PLANNED(X) X(OBJECT, _, &mfu_record_plan_inside, plan_again(p), "a plan")
MFU_FIELDS(compared_plan, const struct planned *p, PLANNED)
static const struct mfu_record planned = MFU_RECORD(compared_plan, .rows = NULL);

#define COMPARISON(X) \
    X(LIST,      scenarios,   &mfu_record_strings, (c->names, c->n), "their names") \
    X(MADE_LIST, differences, &difference, make_differences(c, c->differences, c->n_differences, v), "keys that differ") \
    X(MADE_LIST, follows,     &difference, make_differences(c, c->followers, c->n_followers, v), "keys that differ since others do") \
    X(MADE_LIST, results,     &planned,    make_planned(c, v), "the plan of each scenario") \
    X(LIST,      attribution, &credit,     (c->why.credits, c->why.n), "of two scenarios: what each change adds") \
    X(MAYBE_OBJECT, interaction, &added,   c->why.n > 0 ? &c->why.interaction : NULL, "what only all changes together do")
MFU_FIELDS(compare, const struct comparison *c, COMPARISON)
static const struct mfu_record record = MFU_RECORD(compare, .command = "compare", .rows = "results");
// clang-format on

/* ---- text ---------------------------------------------------------------- */

#define LABEL 16
#define CELL 16

static const char *const shown[] = {"tokens_per_step", "step_time_s", "tokens_per_s", "achieved_flops", "mfu",
                                    "smi_used_bytes",  "fill"};
static const char *const labels[] = {"tokens per step", "step", "tokens/s", "model FLOP/s", "MFU",
                                     "nvidia-smi",      "fill"};
#define N_SHOWN (sizeof shown / sizeof shown[0])

static void put_cell(struct mfu_session *s, const char *text, bool last)
{
    fprintf(s->out, "%-*s%s", last ? 0 : CELL, text, last ? "\n" : " ");
}

static void put_difference(struct mfu_session *s, const struct comparison *c, const struct mfu_difference *d)
{
    char text[MFU_QUANTITY_MAX];
    struct mfu_config config;

    fprintf(s->out, "%-*s ", LABEL, d->key);
    for (int i = 0; i < c->n; i++) {
        const struct mfu_scenario *it = c->scenarios[i];
        struct mfu_key k = mfu_scenario_key(it, d->key, NULL);

        mfu_scenario_resolve(it, &config, NULL);
        put_cell(s,
                 d->what == MFU_DIFFERENT_GPU         ? it->gpu->slug
                     : d->what == MFU_DIFFERENT_MODEL ? it->model->slug
                     : k.kind == MFU_KEY_NONE         ? "-"
                                                      : mfu_key_format(text, it, k, mfu_config_value(&config, k)),
                 i == c->n - 1);
    }
}

static bool all_equal(const double *x, int n)
{
    for (int i = 1; i < n; i++)
        if (x[i] != x[0])
            return false;
    return true;
}

/* One figure of every scenario; planned once, a column each.  Tokens per step only
 * where they differ: then steps cannot be compared. */
static int put_results(struct mfu_session *s, const struct comparison *c, struct mfu_error *err)
{
    double values[N_SHOWN][MOST];
    struct mfu_result r[N_SHOWN];
    bool fits[MOST];
    char text[MFU_QUANTITY_MAX];

    for (int i = 0; i < c->n; i++) {
        if (mfu_session_plan_of(s, c->scenarios[i], err) < 0)
            return -1;
        for (size_t k = 0; k < N_SHOWN; k++)
            values[k][i] = mfu_result_find(shown[k], &r[k]) ? mfu_result_value(&r[k], &s->plan) : NAN;
        fits[i] = s->plan.memory.fits;
    }
    for (size_t k = all_equal(values[0], c->n); k < N_SHOWN; k++) {
        fprintf(s->out, "%-*s ", LABEL, labels[k]);
        for (int i = 0; i < c->n; i++)
            put_cell(s, mfu_quantity_format(text, values[k][i], r[k].dim), i == c->n - 1);
    }
    fprintf(s->out, "%-*s ", LABEL, "fits");
    for (int i = 0; i < c->n; i++)
        put_cell(s, fits[i] ? "yes" : "no", i == c->n - 1);
    return 0;
}

/* "half_weights (off, on)": what differs since something else does. */
static void name_followers(const struct comparison *c, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < c->n_followers && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s (", i ? ", " : "", c->followers[i].key);
        for (int k = 0; k < c->n && used < size; k++) {
            struct mfu_key key = mfu_scenario_key(c->scenarios[k], c->followers[i].key, NULL);
            struct mfu_config config;
            char value[MFU_QUANTITY_MAX];

            mfu_scenario_resolve(c->scenarios[k], &config, NULL);
            used += (size_t)snprintf(text + used, size - used, "%s%s", k ? ", " : "",
                                     mfu_key_format(value, c->scenarios[k], key, mfu_config_value(&config, key)));
        }
        used += used < size ? (size_t)snprintf(text + used, size - used, ")") : 0;
    }
}

static void put_paragraph(struct mfu_session *s, const char *text)
{
    fputc('\n', s->out);
    mfu_print_wrapped(s->out, &s->term, 0, 0, text);
}

/* The only step of the way. */
static void put_whole(struct mfu_session *s, const struct comparison *c, const char *follows)
{
    const struct mfu_credit *x = &c->why.credits[0];
    bool several = strstr(x->keys, " + ") != NULL, together = *follows != '\0';
    char text[1024];
    size_t used;

    used = (size_t)snprintf(text, sizeof text, "Only %s %s", x->keys, several ? "differ" : "differs");
    if (together)
        used += (size_t)snprintf(text + used, sizeof text - used, "; %s follows from it", follows);
    used += (size_t)snprintf(text + used, sizeof text - used, "%s the whole difference.",
                             together      ? ", and together they make"
                                 : several ? ": together they make"
                                           : ": it makes");
    if (c->why.tokens[0] != c->why.tokens[1] && used < sizeof text)
        snprintf(text + used, sizeof text - used,
                 "  A step has other tokens, too: the time of a token changes by %+.1f %%.",
                 100 * c->why.whole.per_token_s / c->why.first.per_token_s);
    put_paragraph(s, text);
}

/* Seconds for the tokens of the first one's step. */
static void put_seconds(struct mfu_session *s, double seconds, bool last)
{
    char text[MFU_QUANTITY_MAX], number[MFU_QUANTITY_MAX];

    if (isnan(seconds))
        snprintf(text, sizeof text, "-");
    else
        snprintf(text, sizeof text, "%s%s", seconds < 0 ? "-" : "+",
                 mfu_quantity_format(number, fabs(seconds), MFU_SECONDS));
    put_cell(s, text, last);
}

/* A gain belongs to a key only if that key alone was changed. */
static void put_credits(struct mfu_session *s, const struct comparison *c)
{
    const struct mfu_attribution *why = &c->why;
    double tokens = why->tokens[0];
    int label = LABEL;
    char follows[256], text[1024], number[MFU_QUANTITY_MAX];

    name_followers(c, follows, sizeof follows);
    if (why->n == 1) {
        put_whole(s, c, follows);
        return;
    }
    snprintf(text, sizeof text,
             "%d keys differ, so no single one can be credited. From %s to %s one by one, in this order "
             "and in the reverse one, and each alone; %s %s tokens:",
             c->n_differences, c->names[0], c->names[1],
             why->tokens[0] == why->tokens[1] ? "a step has" : "steps have other tokens, so this is the time of",
             mfu_quantity_format(number, tokens, MFU_TOKENS));
    put_paragraph(s, text);
    for (int i = 0; i < why->n; i++)
        label = (int)strlen(why->credits[i].keys) > label ? (int)strlen(why->credits[i].keys) : label;
    fprintf(s->out, "%-*s ", label, "");
    put_cell(s, "in order", false);
    put_cell(s, "reverse", false);
    put_cell(s, "alone", true);
    for (int i = 0; i < why->n; i++) {
        const struct mfu_credit *x = &why->credits[i];

        fprintf(s->out, "%-*s ", label, x->keys);
        put_seconds(s, tokens * x->forward.per_token_s, false);
        put_seconds(s, tokens * x->reverse.per_token_s, false);
        put_seconds(s, tokens * x->alone.per_token_s, true);
    }
    fprintf(s->out, "%-*s ", label, "interaction");
    put_cell(s, "", false);
    put_cell(s, "", false);
    put_seconds(s, tokens * why->interaction.per_token_s, true);
    fprintf(s->out, "%-*s ", label, "together");
    for (int i = 0; i < 3; i++)
        put_seconds(s, tokens * why->whole.per_token_s, i == 2);
    if (*follows)
        fprintf(s->out, "%s: follows from what differs.\n", follows);
}

static int show(struct mfu_session *s, const struct comparison *c, struct mfu_error *err)
{
    fprintf(s->out, "%-*s ", LABEL, "");
    for (int i = 0; i < c->n; i++)
        put_cell(s, c->names[i], i == c->n - 1);
    for (int i = 0; i < c->n_differences; i++)
        put_difference(s, c, &c->differences[i]);
    if (c->n_differences == 0)
        fprintf(s->out, "no key differs\n");
    fprintf(s->out, "\n");
    if (put_results(s, c, err) < 0)
        return -1;
    if (c->why.n > 0)
        put_credits(s, c);
    return 0;
}

/* ---- the command --------------------------------------------------------- */

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario now = s->memory.now;
    struct comparison c = {.session = s};

    for (int i = 1; i < argc; i++) {
        c.names[c.n] = argv[i];
        c.scenarios[c.n] = strcmp(argv[i], "now") == 0 ? &now : mfu_session_kept(s, argv[i], err);
        if (!c.scenarios[c.n++])
            return mfu_error_caret(s, err, i);
    }
    if (c.n == 1) {
        c.names[c.n] = "now";
        c.scenarios[c.n++] = &now;
    }
    for (int i = 0; i < c.n; i++)
        if (mfu_session_plan_of(s, c.scenarios[i], err) < 0)
            return mfu_within(err, "%s", c.names[i]);
    c.n_differences = mfu_differences(c.scenarios, c.n, c.differences);
    c.n_followers = mfu_followers(c.scenarios, c.n, c.followers);
    if (c.n == 2 && c.n_differences > 0
        && mfu_attribute(s, c.scenarios[0], c.scenarios[1], c.differences, c.n_differences, &c.why, err) < 0)
        return -1;
    return s->json ? mfu_answer(s, &record, &c, err) : show(s, &c, err);
}

const struct mfu_command mfu_command_compare = {
    .name = "compare",
    .usage = "NAME [NAME ...]",
    .group = "look closer",
    .summary = "scenarios side by side",
    .help = "Puts kept scenarios side by side: the keys that differ, and the results.  `now`\n"
            "is the present scenario, and is meant when only one name is given.  When several\n"
            "keys differ, none is credited with the gain: the way from the first to the second\n"
            "is walked one key at a time, in both orders, and each key is changed alone; what\n"
            "only all of them together do is the interaction.  Keys that share the tokens of a\n"
            "step among them, such as batch and accum, take one step together.\n"
            "\n"
            "    keep before; set batch 8 runtime compile; compare before",
    .least_args = 1,
    .most_args = MOST,
    .offer = {mfu_offer_kept, mfu_offer_kept},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
