/*
 * observe_config.c - which configuration was run: GPU, model and settings by
 * who states them, and what a step is.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/observe/observe.h"
#include "answer/observe/observe_reading.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "read/config/import.h"
#include "scenario/keys.h"
#include "scenario/setting.h"

/* ---- settings ------------------------------------------------------------ */

/* "NVIDIA GeForce RTX 4070" and the like. */
static const struct mfu_gpu *gpu_called(struct mfu_catalog *catalog, const char *name)
{
    static const char *const prefixes[] = {"", "NVIDIA ", "NVIDIA GeForce ", "GeForce ", "Tesla "};

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t n = strlen(prefixes[i]);
        const struct mfu_gpu *gpu;

        if (strncmp(name, prefixes[i], n) == 0 && name[n] && !strchr(name, '/')
            && (gpu = mfu_catalog_gpu(catalog, name + n, NULL)))
            return gpu;
    }
    return NULL;
}

static int choose_gpu(struct mfu_observing *r, struct mfu_error *err)
{
    struct mfu_scenario *s = &r->scenario;
    const struct mfu_gpu *gpu;

    if (r->command.gpu[0]) {
        if (!(gpu = mfu_catalog_gpu(r->catalog, r->command.gpu, err)))
            return -1;
    } else if (r->log.gpu[0]) {
        if (!(gpu = gpu_called(r->catalog, r->log.gpu))) {
            mfu_observe_note(r->o, "the log names a GPU that is not known here, %.80s: %s is assumed", r->log.gpu,
                             s->gpu ? s->gpu->slug : "none");
            return 0;
        }
        if (s->gpu && gpu != s->gpu && r->current->gpu_given)
            mfu_observe_note(r->o, "the log names the GPU: %s, not %s of the scenario", gpu->slug, s->gpu->slug);
    } else if (!r->config.gpu[0] || !(gpu = gpu_called(r->catalog, r->config.gpu)))
        return 0;
    s->gpu = gpu;
    s->gpu_given = true;
    return 0;
}

static bool states_layers(const struct mfu_log *log)
{
    for (int i = 0; i < log->n_settings; i++)
        if (strcmp(log->settings[i].key, "n_layer") == 0)
            return true;
    return false;
}

static int choose_model(struct mfu_observing *r, struct mfu_error *err)
{
    const struct mfu_log_format *f = r->o->format;
    struct mfu_scenario *s = &r->scenario;
    const struct mfu_model *model = NULL;
    char beside[PATH_MAX];

    if (r->command.model[0]) {
        if (!(model = mfu_catalog_model(r->catalog, r->command.model, err)))
            return -1;
    } else if (r->log.model[0] && !strchr(r->log.model, '/'))
        model = mfu_catalog_model(r->catalog, r->log.model, NULL);
    if (!model && r->config.model[0])
        model = mfu_catalog_model(r->catalog, r->config.model, NULL);
    if (!model && f && strcmp(f->name, "huggingface-log") == 0) {
        mfu_observe_folder(beside, sizeof beside - 16, r->request->log);
        strcat(beside, "config.json");
        if (mfu_observe_is_file(beside)
            && (model = mfu_catalog_model(
                    r->catalog, beside[0] == '/' || beside[0] == '.' || strchr(beside, '/') ? beside : "./config.json",
                    NULL)))
            mfu_observe_note(r->o, "model: config.json beside the log");
    }
    if (!model && f && f->model && (!s->model || strcmp(s->model->family, f->family) != 0)) {
        if (r->current->model_given && s->model)
            mfu_observe_note(r->o, "%s usually trains %s and its like: your %s is kept", f->title, f->model,
                             s->model->slug);
        else if (!(model = mfu_catalog_model(r->catalog, f->model, err)))
            return -1;
    }
    r->o->model_unknown = !model && f && f->of_anything && !r->current->model_given && !states_layers(&r->log)
        && !states_layers(&r->config) && !states_layers(&r->command);
    if (model) {
        mfu_scenario_model(s, model);
        s->model_given = true;
    }
    return 0;
}

static struct mfu_understood *find_understood(struct mfu_observation *o, const char *key)
{
    for (int i = 0; i < o->n_understood; i++)
        if (strcmp(o->understood[i].key, key) == 0)
            return &o->understood[i];
    return NULL;
}

const struct mfu_understood *mfu_observe_understood(const struct mfu_observation *o, const char *key)
{
    return find_understood((struct mfu_observation *)o, key);
}

/* Whether a log, a file or the command says it (and not only the program). */
static bool stated(struct mfu_observation *o, const char *key)
{
    const struct mfu_understood *u = find_understood(o, key);

    return u && (!o->format || u->origin != o->format->title);
}

/* Whether somebody says it, the scenario included, and not only the program. */
static bool known(const struct mfu_observing *r, const char *key)
{
    return find_understood(r->o, key) ? stated(r->o, key)
                                      : mfu_key_given(&r->scenario, mfu_scenario_key(&r->scenario, key, NULL));
}

/* Reads the value back from the scenario and puts it down as understood. */
static void understand(struct mfu_observing *r, const char *name, const char *origin, int line)
{
    struct mfu_observation *o = r->o;
    struct mfu_key key = mfu_scenario_key(&r->scenario, name, NULL);
    const char *own = mfu_key_name(&r->scenario, key);
    struct mfu_understood *u = find_understood(o, own);
    char text[MFU_QUANTITY_MAX];
    const char *word;

    if (!u && o->n_understood < (int)(sizeof o->understood / sizeof o->understood[0]))
        u = &o->understood[o->n_understood++];
    if (!u)
        return;
    snprintf(u->key, sizeof u->key, "%s", own);
    u->value = mfu_scenario_value(&r->scenario, key);
    word = key.kind == MFU_KEY_SETTING ? mfu_setting_word(text, (enum mfu_setting_id)key.id, u->value) : NULL;
    snprintf(u->word, sizeof u->word, "%s", word ? word : "");
    u->origin = origin;
    u->line = line;
}

static double value_of(const struct mfu_observing *r, const char *name)
{
    struct mfu_key key = mfu_scenario_key(&r->scenario, name, NULL);

    return key.kind == MFU_KEY_SETTING                             ? r->scenario.setting[key.id]
        : key.kind == MFU_KEY_DIM && r->scenario.dim_given[key.id] ? r->scenario.dim[key.id]
                                                                   : (double)NAN;
}

/* Applies one setting; the command must not contradict the log. */
static int apply(struct mfu_observing *r, const struct mfu_log_setting *s, const struct mfu_log *from,
                 struct mfu_error *err)
{
    struct mfu_key key = mfu_scenario_key(&r->scenario, s->key, NULL);
    bool command = from == &r->command;
    const struct mfu_understood *before;
    double old = value_of(r, s->key);

    if (key.kind == MFU_KEY_NONE) {
        if (command)
            return mfu_scenario_key(&r->scenario, s->key, err).kind == MFU_KEY_NONE ? -1 : 0;
        mfu_observe_note(r->o, "%s %s is stated, but %s has no such dimension", s->key, s->value,
                         r->scenario.model ? r->scenario.model->slug : "no model");
        return 0;
    }
    if (mfu_scenario_set(&r->scenario, s->key, s->value, err) < 0)
        return command ? -1 : mfu_error_at(err, from->path, s->line, 0);
    before = find_understood(r->o, mfu_key_name(&r->scenario, key));
    if (command && before && strcmp(before->origin, "log") == 0 && old != value_of(r, s->key))
        return mfu_fail(err, MFU_EINPUT, "%s: %s here, but the log says %g in line %d", s->key, s->value, old,
                        before->line);
    understand(r, s->key, s->origin, s->line);
    return 0;
}

static int apply_all(struct mfu_observing *r, const struct mfu_log *from, struct mfu_error *err)
{
    for (int i = 0; i < from->n_settings; i++)
        if (apply(r, &from->settings[i], from, err) < 0)
            return -1;
    return 0;
}

/* Defaults of the program, for keys that neither the log nor the user states. */
static int apply_defaults(struct mfu_observing *r, struct mfu_error *err)
{
    const struct mfu_log_format *f = r->o->format;

    for (const char *const *pair = f ? f->defaults : NULL; pair && *pair; pair += 2) {
        struct mfu_key key = mfu_scenario_key(&r->scenario, pair[0], NULL);
        bool given = key.kind == MFU_KEY_SETTING ? r->scenario.setting_given[key.id]
            : key.kind == MFU_KEY_DIM            ? r->scenario.dim_given[key.id]
                                                 : true;

        if (given)
            continue;
        if (mfu_scenario_set(&r->scenario, pair[0], pair[1], err) < 0)
            return -1;
        understand(r, pair[0], f->title, 0);
    }
    return 0;
}

/* ---- tokens per step ------------------------------------------------------ */

void mfu_observe_derive(struct mfu_observing *r, const char *key, double value)
{
    if (mfu_scenario_set_number(&r->scenario, key, round(value), NULL) == 0)
        understand(r, key, "derived", 0);
}

/* A whole number, as near as what it follows from is exact: logs round times and
 * rates, so that 0.6 % off, and never more than a third, still counts (chosen). */
static bool whole(double x, bool exact)
{
    return round(x) >= 1 && fabs(x - round(x)) <= (exact ? 1e-6 * x : fmin(0.35, 0.006 * x));
}

/* Tokens of a step as they are stated or follow from time and rate. */
static double tokens_stated(const struct mfu_observing *r, double seq, bool *exact)
{
    const struct mfu_observation *o = r->o;
    double gpus = r->scenario.setting[MFU_S_GPUS];

    *exact = true;
    if (r->command.tokens_per_step > 0)
        return r->command.tokens_per_step;
    if (r->log.tokens_per_step > 0)
        return r->log.tokens_per_step;
    if (r->command.samples_per_step > 0)
        return r->command.samples_per_step * seq;
    *exact = !r->log.samples_rough;
    if (r->log.samples_per_step > 0)
        return r->log.samples_per_step * seq;
    *exact = false;
    return o->figure[MFU_FIGURE_TIME] * o->figure[MFU_FIGURE_TOKENS_PER_S] * (o->rate_per_gpu ? gpus : 1);
}

static void note_guess(struct mfu_observing *r)
{
    r->o->batch_guessed = true;
    mfu_observe_note(r->o, "batch and accum are guesses that give the tokens per step: state them");
}

/* Nobody states batch and accum, but so many sequences a step: the largest batch
 * up to the program's own that divides them. */
static bool guess_batch(struct mfu_observing *r, double sequences, double batch)
{
    for (double b = floor(fmin(batch, 4096)); b >= 1; b--)
        if (whole(sequences / b, true) && sequences / b <= 1e6) {
            mfu_observe_derive(r, "batch", b);
            mfu_observe_derive(r, "accum", round(sequences / b));
            note_guess(r);
            return true;
        }
    return false;
}

/* GPUs that work on other sequences than each other. */
static double ranks_of(const struct mfu_scenario *s)
{
    return s->setting[MFU_S_GPUS] / fmax(1, s->setting[MFU_S_TP] * s->setting[MFU_S_PP] * s->setting[MFU_S_CP]);
}

/* The unstated setting with which they agree; false: there is none. */
static bool derive_tokens(struct mfu_observing *r, const struct mfu_config *c, double tokens, bool exact)
{
    struct mfu_observation *o = r->o;
    const struct mfu_scenario *s = &r->scenario;
    double ranks = ranks_of(s), accum = s->setting[MFU_S_ACCUM];
    double expected = tokens / (c->batch * c->seq * ranks), batch = c->setting[MFU_S_BATCH],
           per_batch = expected * batch / accum;

    if (!stated(o, "accum") && whole(expected, exact) && expected <= 1e6) {
        if (!known(r, "batch"))
            note_guess(r);
        mfu_observe_derive(r, "accum", round(expected));
    } else if (!stated(o, "batch") && whole(per_batch, exact) && per_batch <= 1e6)
        mfu_observe_derive(r, "batch", round(per_batch));
    else if (exact && !stated(o, "gpus") && !s->setting_given[MFU_S_GPUS] && expected > accum
             && whole(expected / accum, exact) && expected / accum <= 4096) {
        mfu_observe_derive(r, "gpus", round(expected / accum));
        mfu_observe_note(o, "%.0f tokens per step are %.0f times batch, accum and seq: so many GPUs", tokens,
                         expected / accum);
    } else if (exact && stated(o, "batch") && stated(o, "accum") && !known(r, "seq")
               && whole(expected * c->seq / accum, true)) {
        mfu_observe_derive(r, "seq", round(expected * c->seq / accum));
        mfu_observe_note(o, "seq %.0f follows from %.0f tokens per step", round(expected * c->seq / accum), tokens);
    } else
        return exact && !stated(o, "batch") && !stated(o, "accum") && guess_batch(r, expected * batch, batch);
    return true;
}

/* Whether `import` gave the value, which is that of one rank. */
static bool imported(struct mfu_observing *r, const char *key)
{
    const struct mfu_understood *u = find_understood(r->o, key);

    return u && strcmp(u->origin, "config") == 0;
}

/* Makes batch, accum, GPUs and tokens per step agree, or says that they cannot:
 * what was measured is then no measurement of this plan. */
static int settle_tokens(struct mfu_observing *r, struct mfu_error *err)
{
    struct mfu_observation *o = r->o;
    struct mfu_scenario *s = &r->scenario;
    struct mfu_config c;
    double tokens, ranks = ranks_of(s), accum;
    bool exact, settled;

    mfu_scenario_resolve(s, &c, NULL);
    if (o->format && o->format->accum_of_all && ranks > 1 && stated(o, "accum") && !imported(r, "accum")
        && fmod(s->setting[MFU_S_ACCUM], ranks) == 0)
        mfu_observe_derive(r, "accum", s->setting[MFU_S_ACCUM] / ranks);
    accum = s->setting[MFU_S_ACCUM];
    tokens = tokens_stated(r, c.seq, &exact);
    settled = !(fabs(tokens / (c.batch * accum * c.seq * ranks) - 1) > (exact                      ? 1e-6
                                                                            : r->log.samples_rough ? 0.05
                                                                                                   : 0.02))
        || derive_tokens(r, &c, tokens, exact);
    if (!settled && stated(o, "batch") && stated(o, "accum"))
        return mfu_fail(err, MFU_EINPUT,
                        "%.120s%scontradictory: batch %g, accum %g, seq %g on %g GPU%s are %.0f tokens "
                        "per step, but %.0f %s",
                        o->path, *o->path ? ": " : "", c.batch, accum, c.seq, ranks, ranks > 1 ? "s" : "",
                        c.batch * accum * c.seq * ranks, tokens,
                        exact ? "are stated" : "follow from step time and tokens/s");
    if (!settled)
        snprintf(o->why_not, sizeof o->why_not,
                 "%.0f tokens per step do not follow from batch %g, accum %g and seq %g: state them", tokens, c.batch,
                 accum, c.seq);
    mfu_scenario_resolve(s, &c, NULL);
    o->tokens_per_step = tokens > 0 && (exact || !settled) ? tokens : c.batch * c.accum * c.seq * ranks_of(s);
    o->tokens_stated = settled
        && (r->command.tokens_per_step > 0 || r->log.tokens_per_step > 0 || r->command.samples_per_step > 0
            || r->log.samples_per_step > 0);
    o->gpus = fmax(s->setting[MFU_S_GPUS], 1);
    return 0;
}

int mfu_observe_configure(struct mfu_observing *r, struct mfu_error *err)
{
    if (choose_gpu(r, err) < 0 || choose_model(r, err) < 0)
        return -1;
    if (r->import)
        mfu_import_take_back(r->import, &r->scenario);
    if (apply_defaults(r, err) < 0 || apply_all(r, &r->config, err) < 0)
        return -1;
    if (r->import)
        mfu_import_pass_on(r->import, &r->scenario);
    return apply_all(r, &r->log, err) < 0 || apply_all(r, &r->command, err) < 0 || settle_tokens(r, err) < 0 ? -1 : 0;
}
