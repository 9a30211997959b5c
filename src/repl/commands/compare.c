#include <math.h>
#include <string.h>

#include "base/short.h"
#include "repl/attribution.h"
#include "repl/command.h"
#include "repl/completers.h"
#include "repl/expr_scope.h"
#include "repl/output.h"
#include "answer/fields/fields.h"
#include "report/text/text.h"
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
        const char *word;

        mfu_scenario_resolve(x->scenario, &config, NULL);
        if ((word = mfu_key_word(v->buf, k, mfu_config_value(&config, k))))
            mfu_value_text(v, word);
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
MFU_PART_RECORD(compared_value, const struct value *x, VALUE)

#define DIFFERING(X) \
    X(TEXT,      key,    0,      d->of->key,        "gpu, model or a key") \
    X(MADE_LIST, values, &compared_value, make_values(d, v), "in each scenario")
MFU_PART_RECORD(difference, const struct differing *d, DIFFERING)

#define ADDED(X) \
    X(NUMBER, step_time_s,       MFU_SECONDS, a->step_s,      "added to a step") \
    X(NUMBER, seconds_per_token, MFU_SECONDS, a->per_token_s, "added to each token")
MFU_PART_RECORD(added, const struct mfu_added *a, ADDED)

#define CREDIT(X) \
    X(TEXT,    key,     0,      x->keys,     "one key, or several joined by +") \
    X(MEMBERS, forward, &added, &x->forward, "changed in this order") \
    X(OBJECT,  reverse, &added, &x->reverse, "changed in the reverse order") \
    X(OBJECT,  alone,   &added, &x->alone,   "changed alone; null: not possible")
MFU_PART_RECORD(credit, const struct mfu_credit *x, CREDIT)

#define PLANNED(X) X(OBJECT, _, &mfu_record_plan_inside, plan_again(p), "a plan")
MFU_PART_RECORD(compared_plan, const struct planned *p, PLANNED)

#define COMPARISON(X) \
    X(LIST,      scenarios,   &mfu_record_strings, (c->names, c->n), "their names") \
    X(MADE_LIST, differences, &difference, make_differences(c, c->differences, c->n_differences, v), "keys that differ") \
    X(MADE_LIST, follows,     &difference, make_differences(c, c->followers, c->n_followers, v), "keys that differ since others do") \
    X(MADE_LIST, results,     &compared_plan,    make_planned(c, v), "the plan of each scenario") \
    X(LIST,      attribution, &credit,     (c->why.credits, c->why.n), "of two scenarios: what each change adds") \
    X(MAYBE_OBJECT, interaction, &added,   c->why.n > 0 ? &c->why.interaction : NULL, "what only all changes together do")
MFU_FIELDS(compare, const struct comparison *c, COMPARISON)
static const struct mfu_record record = MFU_RECORD(compare, .command = "compare", .rows = "results");
// clang-format on

/* ---- text ---------------------------------------------------------------- */

static const struct {
    const char *label, *result;
} shown[] = {{"tokens per step", "tokens_per_step"},
             {"step", "step_time_s"},
             {"tokens/s", "tokens_per_s"},
             {"model FLOP/s", "achieved_flops"},
             {"MFU", "mfu"},
             {"nvidia-smi", "smi_used_bytes"},
             {"fill", "fill"}};
enum { N_SHOWN = sizeof shown / sizeof shown[0] };

/* What is set and chosen in the i-th scenario under a key. */
static const char *value_text(char text[MFU_QUANTITY_MAX], const struct comparison *c, const struct mfu_difference *d,
                              int i)
{
    const struct mfu_scenario *it = c->scenarios[i];
    struct mfu_key k = mfu_scenario_key(it, d->key, NULL);
    struct mfu_config config;

    mfu_scenario_resolve(it, &config, NULL);
    return d->what == MFU_DIFFERENT_GPU  ? it->gpu->slug
        : d->what == MFU_DIFFERENT_MODEL ? it->model->slug
        : k.kind == MFU_KEY_NONE         ? "-"
                                         : mfu_key_format(text, it, k, mfu_config_value(&config, k));
}

/* Keys that differ and the results, a column for each scenario, which is planned once.  Tokens per step
 * only where they differ: then steps cannot be compared. */
static int put_table(struct mfu_session *s, const struct comparison *c, struct mfu_error *err)
{
    struct mfu_column columns[1 + MOST] = {{"", .left = true}};
    struct mfu_table table = {.columns = columns, .n_columns = 1 + c->n};
    double values[N_SHOWN][MOST] = {{0}};
    struct mfu_result r[N_SHOWN];
    double fits[MOST];
    bool same_tokens = true;
    char text[MFU_QUANTITY_MAX];

    for (int i = 0; i < c->n; i++) {
        columns[1 + i] = (struct mfu_column){c->names[i], .left = true};
        if (mfu_session_plan_of(s, c->scenarios[i], err) < 0)
            return -1;
        for (int k = 0; k < N_SHOWN; k++)
            values[k][i] = mfu_result_find(shown[k].result, &r[k]) ? mfu_result_value(&r[k], &s->plan) : NAN;
        same_tokens &= values[0][i] == values[0][0];
        fits[i] = mfu_plan_fits(&s->plan);
    }
    for (int d = 0; d < c->n_differences; d++) {
        mfu_table_cells(&table, "%s", c->differences[d].key);
        for (int i = 0; i < c->n; i++)
            mfu_table_cells(&table, "%s", value_text(text, c, &c->differences[d], i));
    }
    if (c->n_differences == 0)
        fprintf(s->out, "no key differs\n");
    else
        mfu_table_rule(&table);
    for (int k = same_tokens; k < N_SHOWN; k++) {
        mfu_table_cells(&table, "%s", shown[k].label);
        for (int i = 0; i < c->n; i++)
            /* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): every scenario fills all results */
            mfu_table_cells(&table, "%s", mfu_quantity_format(text, values[k][i], r[k].dim));
    }
    mfu_table_cells(&table, "fits");
    for (int i = 0; i < c->n; i++)
        mfu_table_cells(&table, "%s", isnan(fits[i]) ? "unknown" : fits[i] > 0 ? "yes" : "no");
    mfu_table_print(s->out, &s->term, &table);
    return 0;
}

/* "half_weights (off, on)": what differs since something else does. */
static void name_followers(const struct comparison *c, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < c->n_followers && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s (", i ? ", " : "", c->followers[i].key);
        for (int k = 0; k < c->n && used < size; k++)
            used += (size_t)snprintf(text + used, size - used, "%s%s", k ? ", " : "",
                                     value_text((char[MFU_QUANTITY_MAX]){0}, c, &c->followers[i], k));
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

/* What is added to the time of so many tokens: "+3 ms". */
static const char *added_text(char text[MFU_QUANTITY_MAX + 1], double seconds)
{
    snprintf(text, MFU_QUANTITY_MAX + 1,
             isnan(seconds)    ? "-"
                 : seconds < 0 ? "-%s"
                               : "+%s",
             Q(fabs(seconds), MFU_SECONDS));
    return text;
}
#define ADDED_TEXT(seconds) added_text((char[MFU_QUANTITY_MAX + 1]){0}, seconds)

/* A gain belongs to a key only if that key alone was changed. */
static void put_credits(struct mfu_session *s, const struct comparison *c)
{
    const struct mfu_attribution *why = &c->why;
    static const struct mfu_column columns[] = {
        {"", .left = true}, {"in order", .rank = 0}, {"reverse", .rank = 0}, {"alone", .rank = 0}};
    struct mfu_table table = MFU_TABLE(columns);
    double tokens = why->tokens[0], whole_s = tokens * why->whole.per_token_s;
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
    for (int i = 0; i < why->n; i++) {
        const struct mfu_credit *x = &why->credits[i];

        mfu_table_cells(&table, "%s\t%s\t%s\t%s", x->keys, ADDED_TEXT(tokens * x->forward.per_token_s),
                        ADDED_TEXT(tokens * x->reverse.per_token_s), ADDED_TEXT(tokens * x->alone.per_token_s));
    }
    mfu_table_cells(&table, "interaction\t\t\t%s", ADDED_TEXT(tokens * why->interaction.per_token_s));
    mfu_table_rule(&table);
    mfu_table_cells(&table, "together\t%s\t%s\t%s", ADDED_TEXT(whole_s), ADDED_TEXT(whole_s), ADDED_TEXT(whole_s));
    mfu_table_print(s->out, &s->term, &table);
    if (*follows)
        fprintf(s->out, "%s: follows from what differs.\n", follows);
}

static int show(struct mfu_session *s, const struct comparison *c, struct mfu_error *err)
{
    if (put_table(s, c, err) < 0)
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
            "keys differ, none is credited with the gain: the way from the first to the\n"
            "second is walked one key at a time, in both orders, and each key is changed\n"
            "alone; what only all of them together do is the interaction.  Keys that share\n"
            "the tokens of a step among them, such as batch and accum, take one step\n"
            "together.\n"
            "\n"
            "    keep before; set batch 8 runtime compile; compare before",
    .least_args = 1,
    .most_args = MOST,
    .offer = {mfu_offer_kept, mfu_offer_kept},
    .answers = MFU_ANSWERS(&record),
    .run = run,
};
