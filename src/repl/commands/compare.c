#include <math.h>
#include <string.h>

#include "repl/attribute.h"
#include "repl/command.h"
#include "repl/offers.h"
#include "repl/quantities.h"
#include "repl/talk.h"
#include "repl/values.h"
#include "report/report.h"

#define MOST 8                  /* scenarios side by side */

struct comparison {
    int n, n_differences, n_credits;
    const char *names[MOST];
    const struct mfu_scenario *scenarios[MOST];
    struct mfu_difference differences[MFU_DIFFERENCES];
    struct mfu_credit credits[MFU_DIFFERENCES];         /* of two scenarios */
};

/* ---- JSON ---------------------------------------------------------------- */

static json_t *value_json(const struct mfu_scenario *s, const struct mfu_difference *d)
{
    struct mfu_config config;
    struct mfu_key k;

    if (d->what == MFU_DIFFERENT_GPU)
        return mfu_json_text(s->gpu->slug);
    if (d->what == MFU_DIFFERENT_MODEL)
        return mfu_json_text(s->model->slug);
    k = mfu_scenario_key(s, d->key, NULL);
    mfu_scenario_resolve(s, &config, NULL);
    return k.kind == MFU_KEY_NONE ? json_null() : mfu_key_json(k, mfu_key_value(&config, k));
}

static int answer(struct mfu_session *s, const struct comparison *c, struct mfu_error *err)
{
    json_t *names = json_array(), *differences = json_array(), *results = json_array();
    json_t *attribution = json_array();

    for (int i = 0; i < c->n; i++) {
        json_array_append_new(names, mfu_json_text(c->names[i]));
        if (mfu_session_plan_of(s, c->scenarios[i], err) == 0)         /* it was made before */
            json_array_append_new(results, mfu_json_plan(&s->plan));
    }
    for (int i = 0; i < c->n_differences; i++) {
        json_t *values = json_array();

        for (int k = 0; k < c->n; k++)
            json_array_append_new(values, value_json(c->scenarios[k], &c->differences[i]));
        json_array_append_new(differences, json_pack("{s:s, s:o}", "key", c->differences[i].key, "values", values));
    }
    for (int i = 0; i < c->n_credits; i++)
        json_array_append_new(attribution, json_pack("{s:s, s:o}", "key", c->credits[i].keys, "step_time_s",
                                                     mfu_json_number(c->credits[i].step_time_s)));
    return mfu_answer(s, json_pack("{s:s, s:i, s:o, s:o, s:o, s:o}", "command", "compare", "schema", 1,
                                   "scenarios", names, "differences", differences, "results", results,
                                   "attribution", attribution), err);
}

/* ---- text ---------------------------------------------------------------- */

#define LABEL 16
#define CELL 16

static const char *const shown[] = {"step_time_s", "tokens_per_s", "achieved_flops", "mfu",
                                    "smi_used_bytes", "fill"};
static const char *const labels[] = {"step", "tokens/s", "model FLOP/s", "MFU", "nvidia-smi", "fill"};
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
        put_cell(s, d->what == MFU_DIFFERENT_GPU ? it->gpu->slug
                 : d->what == MFU_DIFFERENT_MODEL ? it->model->slug
                 : k.kind == MFU_KEY_NONE ? "-"
                 : mfu_key_format(text, it, k, mfu_key_value(&config, k)), i == c->n - 1);
    }
}

/* One figure of every scenario; planned once, a column each. */
static int put_results(struct mfu_session *s, const struct comparison *c, struct mfu_error *err)
{
    double values[N_SHOWN][MOST];
    bool fits[MOST];
    char text[MFU_QUANTITY_MAX];

    for (int i = 0; i < c->n; i++) {
        if (mfu_session_plan_of(s, c->scenarios[i], err) < 0)
            return -1;
        for (size_t k = 0; k < N_SHOWN; k++)
            values[k][i] = mfu_result_find(shown[k])->get(&s->plan);
        fits[i] = s->plan.memory.fits;
    }
    for (size_t k = 0; k < N_SHOWN; k++) {
        fprintf(s->out, "%-*s ", LABEL, labels[k]);
        for (int i = 0; i < c->n; i++)
            put_cell(s, mfu_quantity_format(text, values[k][i], mfu_result_find(shown[k])->dim), i == c->n - 1);
    }
    fprintf(s->out, "%-*s ", LABEL, "fits");
    for (int i = 0; i < c->n; i++)
        put_cell(s, fits[i] ? "yes" : "no", i == c->n - 1);
    return 0;
}

/* A gain belongs to a key only if that key alone was changed. */
static void put_credits(struct mfu_session *s, const struct comparison *c)
{
    char text[MFU_QUANTITY_MAX];

    if (c->n_credits == 1) {
        fprintf(s->out, "\nOnly %s differs: it makes the whole difference.\n", c->credits[0].keys);
        return;
    }
    fprintf(s->out, "\n%d keys differ, so no single one can be credited. One by one, from %s to %s:\n",
            c->n_differences, c->names[0], c->names[1]);
    for (int i = 0; i < c->n_credits; i++) {
        double seconds = c->credits[i].step_time_s;

        fprintf(s->out, "%-*s %s%s\n", LABEL, c->credits[i].keys, seconds < 0 ? "-" : "+",
                mfu_quantity_format(text, fabs(seconds), MFU_SECONDS));
    }
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
    if (c->n_credits > 0)
        put_credits(s, c);
    return 0;
}

/* ---- the command --------------------------------------------------------- */

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_scenario now = s->memory.now;
    struct comparison c = {0};

    for (int i = 1; i < argc; i++) {
        c.names[c.n] = argv[i];
        c.scenarios[c.n] = strcmp(argv[i], "now") == 0 ? &now : mfu_session_kept(s, argv[i], err);
        if (!c.scenarios[c.n++])
            return mfu_point(s, err, i);
    }
    if (c.n == 1) {
        c.names[c.n] = "now";
        c.scenarios[c.n++] = &now;
    }
    for (int i = 0; i < c.n; i++)
        if (mfu_session_plan_of(s, c.scenarios[i], err) < 0)
            return mfu_within(err, "%s", c.names[i]);
    c.n_differences = mfu_differences(c.scenarios, c.n, c.differences);
    if (c.n == 2 && c.n_differences > 0) {
        c.n_credits = mfu_attribute(s, c.scenarios[0], c.scenarios[1], c.differences, c.n_differences,
                                    c.credits, err);
        if (c.n_credits < 0)
            return -1;
    }
    return s->json ? answer(s, &c, err) : show(s, &c, err);
}

const struct mfu_command mfu_command_compare = {
    .name = "compare",
    .usage = "NAME [NAME ...]",
    .group = "look closer",
    .summary = "scenarios side by side",
    .help =
        "Puts kept scenarios side by side: the keys that differ, and the results.  `now`\n"
        "is the present scenario, and is meant when only one name is given.  When several\n"
        "keys differ, none is credited with the gain: the way from the first to the second\n"
        "is walked one key at a time.\n"
        "\n"
        "    keep before; set batch 8 runtime compile; compare before",
    .least_args = 1,
    .most_args = MOST,
    .offer = {mfu_offer_kept, mfu_offer_kept},
    .run = run,
};
