#include <math.h>
#include <string.h>

#include "repl/assign.h"
#include "repl/command.h"
#include "repl/describe.h"
#include "repl/completers.h"
#include "repl/output.h"
#include "report/text/text.h"
#include "scenario/keys.h"
#include "scenario/setting.h"

/* ---- settings ------------------------------------------------------------ */

#define MEANINGS 38 /* where they stand */
#define NARROW 64   /* where they get a line of their own */

static void put_row(struct mfu_session *s, const char *name, const char *value, const char *origin, const char *meaning)
{
    bool narrow = s->term.width < NARROW;
    int used = fprintf(s->out, narrow ? "%-14s %-13s %s" : "%-14s %-13s %-8s ", name, value, origin);

    if (narrow)
        used = fprintf(s->out, "\n    ") - 1;
    mfu_print_wrapped(s->out, &s->term, used, narrow ? 4 : MEANINGS, meaning);
}

static void put_key(struct mfu_session *s, const struct mfu_config *c, struct mfu_key k)
{
    char value[MFU_QUANTITY_MAX];

    put_row(s, mfu_key_name(c->scenario, k), mfu_key_format(value, c->scenario, k, mfu_config_value(c, k)),
            mfu_key_origin(c, k), mfu_key_meaning(c->scenario, k));
}

/* Coefficients are shown among the settings when they were set. */
static bool is_shown(const struct mfu_config *c, struct mfu_key k)
{
    return k.kind != MFU_KEY_COEFFICIENT || mfu_key_given(c->scenario, k);
}

/* All keys, or those that were named. */
struct shown {
    const struct mfu_config *config;
    int n;
    char **names; /* NULL: all */
};

struct shown_key {
    const struct mfu_config *config;
    struct mfu_key key;
};

static void put_value(const struct shown_key *s, struct mfu_value *v)
{
    double value = mfu_config_value(s->config, s->key);
    const char *word = mfu_key_word(v->buf, s->key, value);

    if (word)
        mfu_value_text(v, word);
    else
        mfu_value_number(v, value);
}

static void make_keys(const struct shown *s, struct mfu_value *v)
{
    const struct mfu_scenario *scenario = s->config->scenario;
    size_t most = s->names ? (size_t)s->n : MFU_SETTING_COUNT + MFU_COEFFICIENT_COUNT + MFU_MAX_DIMS;
    struct shown_key *list = mfu_value_own(v, most, sizeof *list);
    struct mfu_key k;

    v->n = 0;
    for (int i = 0; list && s->names && i < s->n; i++)
        list[v->n++] = (struct shown_key){s->config, mfu_scenario_key(scenario, s->names[i], NULL)};
    for (int i = 0; list && !s->names && (k = mfu_key_at(scenario, i)).kind != MFU_KEY_NONE; i++)
        if (is_shown(s->config, k))
            list[v->n++] = (struct shown_key){s->config, k};
}

// clang-format off
#define SHOWN_KEY(X) \
    X(TEXT,   key,    0, mfu_key_name(s->config->scenario, s->key),    "as it is set") \
    X(SCALAR, value,  0, put_value(s, v),                              "in the base unit; the name of a choice") \
    X(TEXT,   origin, 0, mfu_key_origin(s->config, s->key),            "default, model, gpu, derived, user ...") \
    X(TEXT,   group,  0, mfu_key_group(s->key),                        "architecture, batch, numerics ...") \
    X(TEXT,   help,   0, mfu_key_meaning(s->config->scenario, s->key), "what it means")
MFU_PART_RECORD(setting, const struct shown_key *s, SHOWN_KEY)

#define SHOWN(X) \
    X(MAYBE_TEXT, gpu,      0,        s->names ? NULL : s->config->gpu->slug,   "the chosen one") \
    X(MAYBE_TEXT, cluster,  0,        s->names || !s->config->cluster ? NULL : s->config->cluster->slug, "the machines") \
    X(MAYBE_TEXT, model,    0,        s->names ? NULL : s->config->model->slug, "the chosen one") \
    X(MADE_LIST,  settings, &setting, make_keys(s, v),                          "all keys, or those that were named")
MFU_FIELDS(show, const struct shown *s, SHOWN)
static const struct mfu_record record = MFU_RECORD(show, .command = "show", .rows = "settings");
// clang-format on

static void show_text(struct mfu_session *s, const struct mfu_config *c)
{
    const struct mfu_scenario *now = c->scenario;
    const char *group = "";
    struct mfu_key k;

    put_row(s, "gpu", now->gpu->slug, mfu_origin_names[now->gpu_given ? MFU_ORIGIN_USER : MFU_ORIGIN_DEFAULT],
            now->gpu->name);
    put_row(s, "cluster", c->cluster ? c->cluster->slug : "none",
            mfu_origin_names[now->cluster == c->cluster && c->cluster ? MFU_ORIGIN_USER : MFU_ORIGIN_GPU],
            c->cluster ? c->cluster->name : "one machine as the GPU's file says");
    put_row(s, "model", now->model->slug, mfu_origin_names[now->model_given ? MFU_ORIGIN_USER : MFU_ORIGIN_DEFAULT],
            now->model->name);
    for (int i = 0; (k = mfu_key_at(now, i)).kind != MFU_KEY_NONE; i++) {
        if (!is_shown(c, k))
            continue;
        if (strcmp(group, mfu_key_group(k)) != 0)
            fprintf(s->out, "\n%s\n", mfu_key_group(k));
        group = mfu_key_group(k);
        put_key(s, c, k);
    }
}

static int show_keys(struct mfu_session *s, const struct mfu_config *c, int argc, char **argv, struct mfu_error *err)
{
    for (int i = 1; i < argc; i++)
        if (mfu_scenario_key(c->scenario, argv[i], err).kind == MFU_KEY_NONE)
            return mfu_error_caret(s, err, i);
    if (s->json)
        return mfu_answer(s, &record, &(struct shown){c, argc - 1, argv + 1}, err);
    for (int i = 1; i < argc; i++)
        put_key(s, c, mfu_scenario_key(c->scenario, argv[i], NULL));
    return 0;
}

/* ---- coefficients -------------------------------------------------------- */

#define WIDE 110 /* where sources stand behind their numbers */

/* The words of the interface for where a coefficient is from. */
static const char *source_word(const char *origin, const char *citation)
{
    if (strcmp(origin, "calibration") == 0)
        return strncmp(citation, "runs", 4) == 0 ? "runs" : "probe";
    return strcmp(origin, "user") == 0 ? "user" : "default";
}

struct coefficient {
    const struct mfu_coefficients *known;
    const struct mfu_config *config;
    const struct mfu_catalog *catalog;
    int id;
    bool given;
};

static double value_of(const struct coefficient *c)
{
    return mfu_config_value(c->config, (struct mfu_key){MFU_KEY_COEFFICIENT, c->id});
}

static const char *origin_of(const struct coefficient *c)
{
    return mfu_key_origin(c->config, (struct mfu_key){MFU_KEY_COEFFICIENT, c->id});
}

/* What it was before it was set or measured; else NAN. */
static double prior_of(const struct coefficient *c)
{
    if (c->given)
        return c->known->value[c->id];
    if (strcmp(origin_of(c), "calibration") == 0)
        return mfu_catalog_prior(c->catalog, c->config->gpu)->value[c->id];
    return NAN;
}

static void make_coefficients(const struct coefficient *any, struct mfu_value *v)
{
    struct coefficient *list = mfu_value_own(v, MFU_COEFFICIENT_COUNT, sizeof *list);

    for (int i = 0; list && i < MFU_COEFFICIENT_COUNT; i++) {
        list[i] = *any;
        list[i].id = i;
        list[i].given = any->config->scenario->coefficient_given[i];
    }
}

// clang-format off
#define COEFFICIENT(X) \
    X(TEXT,   name,     0,         mfu_coefficient_rows[c->id].name,                                  "as it is set") \
    X(NUMBER, value,    MFU_COUNT, value_of(c),                                                       "in its unit") \
    X(NUMBER, stderr,   MFU_COUNT, c->given ? (double)NAN : value_of(c) * c->known->sigma[c->id],     "standard error, in its unit") \
    X(NUMBER, sigma,    MFU_RATIO, c->given ? (double)NAN : c->known->sigma[c->id],                   "standard error, relative") \
    X(TEXT,   unit,     0,         mfu_dim_unit(mfu_coefficient_rows[c->id].dim),                     "unit; empty: a number") \
    X(NUMBER, prior,    MFU_COUNT, prior_of(c),                                                       "before it was set or measured") \
    X(TEXT,   source,   0,         source_word(origin_of(c), c->known->source[c->id]),                "probe, runs, user or default") \
    X(TEXT,   origin,   0,         origin_of(c),                                                      "family, gpu, calibration or user") \
    X(TEXT,   citation, 0,         c->given ? "" : c->known->source[c->id],                           "where its value is from") \
    X(TEXT,   meaning,  0,         mfu_coefficient_rows[c->id].meaning,                               "what it is")
MFU_PART_RECORD(coefficient, const struct coefficient *c, COEFFICIENT)

#define COEFFICIENTS(X) \
    X(TEXT,      gpu,          0,            c->config->gpu->slug,    "the chosen one") \
    X(MADE_LIST, coefficients, &coefficient, make_coefficients(c, v), "of its cost model")
MFU_FIELDS(coefficients, const struct coefficient *c, COEFFICIENTS)
static const struct mfu_record coefficients_record = MFU_RECORD(coefficients, .command = "show", .rows = "coefficients");

#define SHOWN_GPU(X) X(OBJECT, gpu, &mfu_record_gpu, g, "what is known about the chosen GPU")
MFU_FIELDS(show_gpu, const struct mfu_gpu *g, SHOWN_GPU)
static const struct mfu_record gpu_record = MFU_RECORD(show_gpu, .command = "show");

#define SHOWN_CLUSTER(X) X(OBJECT, cluster, &mfu_record_cluster, a, "the machines and their network")
MFU_FIELDS(show_cluster, const struct mfu_cluster_answer *a, SHOWN_CLUSTER)
static const struct mfu_record cluster_record = MFU_RECORD(show_cluster, .command = "show");

#define SHOWN_MODEL(X) X(OBJECT, model, &mfu_record_model, m, "what is known about the chosen model")
MFU_FIELDS(show_model, const struct mfu_model_answer *m, SHOWN_MODEL)
static const struct mfu_record model_record = MFU_RECORD(show_model, .command = "show");
// clang-format on

static void put_coefficient(struct mfu_session *s, const struct mfu_config *c, int i)
{
    const struct mfu_coefficients *known = &c->gpu->coefficients;
    struct mfu_key k = {MFU_KEY_COEFFICIENT, i};
    char value[MFU_QUANTITY_MAX], sigma[16] = "", safe[128];
    const char *source = c->scenario->coefficient_given[i] ? "" : known->source[i];
    int used;

    if (!c->scenario->coefficient_given[i] && isfinite(known->sigma[i]))
        snprintf(sigma, sizeof sigma, "%.3g %%", 100 * known->sigma[i]);
    used = fprintf(s->out, "%-26s%-12s %7s  %-7s ", mfu_coefficient_rows[i].name,
                   mfu_key_format(value, c->scenario, k, mfu_config_value(c, k)), sigma, mfu_key_origin(c, k));
    mfu_printable(safe, sizeof safe, source);
    if (*safe && s->term.width < WIDE)
        used = fprintf(s->out, "\n    ") - 1;
    mfu_print_wrapped(s->out, &s->term, used, s->term.width < WIDE ? 4 : 59, safe);
}

static int show_coefficients(struct mfu_session *s, const struct mfu_config *c, struct mfu_error *err)
{
    if (s->json)
        return mfu_answer(s, &coefficients_record,
                          &(struct coefficient){.known = &c->gpu->coefficients, .config = c, .catalog = s->catalog},
                          err);
    fprintf(s->out, "%-26s%-12s %7s  %s\n", "coefficient", "value", "sigma", "origin, source");
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        put_coefficient(s, c, i);
    return 0;
}

/* ---- the command --------------------------------------------------------- */

static int show_thing(struct mfu_session *s, char what, struct mfu_error *err)
{
    const struct mfu_scenario *now = &s->memory.now;

    if (s->json && what == 'g')
        return mfu_answer(s, &gpu_record, now->gpu, err);
    if (s->json && what == 'm') {
        struct mfu_model_answer model = mfu_model_answer(s);

        return mfu_answer(s, &model_record, &model, err);
    }
    if (s->json) {
        struct mfu_cluster_answer cluster = mfu_cluster_answer(now);

        return mfu_answer(s, &cluster_record, &cluster, err);
    }
    if (what == 'g')
        mfu_show_gpu(s, now->gpu);
    else if (what == 'm')
        mfu_show_model(s, now->model);
    else
        mfu_show_cluster(s, now);
    return 0;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_config config;
    struct mfu_error problem = {0};

    if (argc == 2 && strcmp(argv[1], "all") == 0)
        argc = 1;
    if (argc == 2 && mfu_parse_subject(argv[1]))
        return show_thing(s, mfu_parse_subject(argv[1]), err);
    if (mfu_scenario_resolve(&s->memory.now, &config, &problem) < 0 && argc == 1)
        mfu_warn(s, &problem); /* what contradicts itself is shown, too */
    if (argc == 2 && strcmp(argv[1], "coefficients") == 0)
        return show_coefficients(s, &config, err);
    if (argc > 1)
        return show_keys(s, &config, argc, argv, err);
    if (s->json)
        return mfu_answer(s, &record, &(struct shown){&config, 0, NULL}, err);
    show_text(s, &config);
    return 0;
}

const struct mfu_command mfu_command_show = {
    .name = "show",
    .usage = "[KEY ... | gpu | model | coefficients]",
    .group = "describe",
    .summary = "values and their origin",
    .help = "Prints settings with their value, where it comes from (default, model, gpu,\n"
            "derived from others, user) and what it means: all of them, or those named.\n"
            "`show gpu` and `show model` print what is known about the chosen ones, with the\n"
            "sources; `show coefficients` what a data sheet does not say: efficiencies and\n"
            "overheads with their uncertainty and source.\n"
            "\n"
            "    show batch seq\n"
            "    show gpu\n"
            "    show coefficients",
    .most_args = -1,
    .offer = {mfu_offer_shown, mfu_offer_shown},
    .answers = MFU_ANSWERS(&record, &coefficients_record, &gpu_record, &model_record, &cluster_record),
    .pages = true,
    .run = run,
};
