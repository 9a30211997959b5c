#include <math.h>
#include <string.h>

#include "repl/assign.h"
#include "repl/command.h"
#include "repl/describe.h"
#include "repl/completers.h"
#include "repl/pager.h"
#include "repl/output.h"
#include "scenario/keys.h"
#include "report/report.h"

/* ---- settings ------------------------------------------------------------ */

static json_t *row_json(const struct mfu_config *c, struct mfu_key k)
{
    return json_pack("{s:s, s:o, s:s, s:s, s:s}", "key", mfu_key_name(c->scenario, k), "value",
                     mfu_key_json(k, mfu_config_value(c, k)), "origin", mfu_key_origin(c, k), "group", mfu_key_group(k),
                     "help", mfu_key_meaning(c->scenario, k));
}

#define MEANINGS 38 /* where they stand */
#define NARROW 64   /* where they get a line of their own */

static void put_row(struct mfu_session *s, const char *name, const char *value, const char *origin, const char *meaning)
{
    bool narrow = s->term.width < NARROW;
    int used = fprintf(s->out, narrow ? "%-14s %-13s %s" : "%-14s %-13s %-8s ", name, value, origin);

    if (narrow)
        used = fprintf(s->out, "\n    ") - 1;
    mfu_wrap(s->out, &s->term, used, narrow ? 4 : MEANINGS, meaning);
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

static int show_json(struct mfu_session *s, const struct mfu_config *c, struct mfu_error *err)
{
    json_t *rows = json_array();
    struct mfu_key k;

    for (int i = 0; (k = mfu_key_at(c->scenario, i)).kind != MFU_KEY_NONE; i++)
        if (is_shown(c, k))
            json_array_append_new(rows, row_json(c, k));
    return mfu_answer(s,
                      json_pack("{s:s, s:i, s:o, s:o, s:o, s:o}", "command", "show", "schema", 1, "gpu",
                                mfu_json_text(c->gpu->slug), "cluster",
                                c->cluster ? mfu_json_text(c->cluster->slug) : json_null(), "model",
                                mfu_json_text(c->model->slug), "settings", rows),
                      err);
}

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
    json_t *rows = s->json ? json_array() : NULL;

    for (int i = 1; i < argc; i++)
        if (mfu_scenario_key(c->scenario, argv[i], err).kind == MFU_KEY_NONE) {
            json_decref(rows);
            return mfu_error_caret(s, err, i);
        }
    for (int i = 1; i < argc; i++) {
        struct mfu_key k = mfu_scenario_key(c->scenario, argv[i], NULL);

        if (rows)
            json_array_append_new(rows, row_json(c, k));
        else
            put_key(s, c, k);
    }
    return rows ? mfu_answer(s, json_pack("{s:s, s:i, s:o}", "command", "show", "schema", 1, "settings", rows), err)
                : 0;
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

static json_t *coefficient_json(const struct mfu_catalog *catalog, const struct mfu_config *c, int i)
{
    const struct mfu_coefficients *known = &c->gpu->coefficients;
    struct mfu_key k = {MFU_KEY_COEFFICIENT, i};
    double value = mfu_config_value(c, k);
    bool given = c->scenario->coefficient_given[i];
    const char *origin = mfu_key_origin(c, k);
    bool measured = strcmp(origin, "calibration") == 0;

    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:s, s:s, s:o, s:s}", "name", mfu_coefficient_rows[i].name,
                     "value", mfu_json_number(value), "stderr", mfu_json_number(given ? NAN : value * known->sigma[i]),
                     "sigma", mfu_json_number(given ? NAN : known->sigma[i]), "unit",
                     mfu_dim_unit(mfu_coefficient_rows[i].dim), "prior",
                     mfu_json_number(given          ? known->value[i]
                                         : measured ? mfu_catalog_prior(catalog, c->gpu)->value[i]
                                                    : NAN),
                     "source", source_word(origin, known->source[i]), "origin", origin, "citation",
                     mfu_json_text(given ? "" : known->source[i]), "meaning", mfu_coefficient_rows[i].meaning);
}

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
    mfu_wrap(s->out, &s->term, used, s->term.width < WIDE ? 4 : 59, safe);
}

static int show_coefficients(struct mfu_session *s, const struct mfu_config *c, struct mfu_error *err)
{
    json_t *rows = s->json ? json_array() : NULL;

    if (!rows)
        fprintf(s->out, "%-26s%-12s %7s  %s\n", "coefficient", "value", "sigma", "origin, source");
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        if (rows)
            json_array_append_new(rows, coefficient_json(s->catalog, c, i));
        else
            put_coefficient(s, c, i);
    return rows ? mfu_answer(s,
                             json_pack("{s:s, s:i, s:o, s:o}", "command", "show", "schema", 1, "gpu",
                                       mfu_json_text(c->gpu->slug), "coefficients", rows),
                             err)
                : 0;
}

/* ---- the command --------------------------------------------------------- */

static int show_thing(struct mfu_session *s, char what, const char *name, struct mfu_error *err)
{
    const struct mfu_scenario *now = &s->memory.now;

    if (s->json)
        return mfu_answer(s,
                          json_pack("{s:s, s:i, s:o}", "command", "show", "schema", 1, name,
                                    what == 'g'       ? mfu_gpu_json(now->gpu)
                                        : what == 'm' ? mfu_model_json(s, now->model)
                                                      : mfu_cluster_json(now)),
                          err);
    if (what == 'g')
        mfu_show_gpu(s, now->gpu);
    else if (what == 'm')
        mfu_show_model(s, now->model);
    else
        mfu_show_cluster(s, now);
    return 0;
}

static int show(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    struct mfu_config config;
    struct mfu_error problem = {0};

    if (argc == 2 && mfu_parse_subject(argv[1]))
        return show_thing(s, mfu_parse_subject(argv[1]), argv[1], err);
    if (mfu_scenario_resolve(&s->memory.now, &config, &problem) < 0 && argc == 1)
        mfu_warn(s, &problem); /* what contradicts itself is shown, too */
    if (argc == 2 && strcmp(argv[1], "coefficients") == 0)
        return show_coefficients(s, &config, err);
    if (argc > 1)
        return show_keys(s, &config, argc, argv, err);
    if (s->json)
        return show_json(s, &config, err);
    show_text(s, &config);
    return 0;
}

static int run(struct mfu_session *s, int argc, char **argv, struct mfu_error *err)
{
    int status;

    mfu_pager_begin(s);
    status = show(s, argc, argv, err);
    mfu_pager_end(s);
    return status;
}

const struct mfu_command mfu_command_show = {
    .name = "show",
    .usage = "[KEY ... | gpu | cluster | model | coefficients]",
    .group = "describe",
    .summary = "values and their origin",
    .help = "Prints settings with their value, where it comes from (default, model, gpu,\n"
            "derived from others, user) and what it means: all of them, or those named.\n"
            "`show gpu`, `show cluster` and `show model` print what is known about the chosen\n"
            "ones, with the sources; `show coefficients` what a data sheet does not say: efficiencies and\n"
            "overheads with their uncertainty and source.\n"
            "\n"
            "    show batch seq\n"
            "    show gpu\n"
            "    show coefficients",
    .most_args = -1,
    .offer = {mfu_offer_shown, mfu_offer_shown},
    .run = run,
};
