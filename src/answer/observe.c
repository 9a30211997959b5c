/*
 * observe.c - from a log or figures to a configuration and its prediction.
 */
#include "answer/observe.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/conventions.h"
#include "answer/metrics.h"
#include "base/error.h"
#include "base/suggest.h"
#include "descriptor/catalog.h"

void mfu_observe_note(struct mfu_observation *o, const char *format, ...)
{
    va_list args;

    if (o->n_notes == MFU_NOTES)
        return;
    va_start(args, format);
    vsnprintf(o->notes[o->n_notes++], sizeof o->notes[0], format, args);
    va_end(args);
}

/* All that is read in one go. */
struct reading {
    struct mfu_catalog *catalog;
    const struct mfu_scenario *current;
    const struct mfu_observe_request *request;
    struct mfu_log log, config, command; /* what each of them states */
    struct mfu_scenario scenario;
    struct mfu_observation *o;
};

/* ---- sources ------------------------------------------------------------- */

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The folder of a path, with its '/' or empty. */
static void folder_of(char *to, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');

    snprintf(to, size, "%.*s", slash ? (int)(slash - path + 1) : 0, path);
}

/* The only .py file of a folder. */
static bool only_config(char *to, size_t size, const char *folder)
{
    DIR *d = opendir(folder);
    const struct dirent *e;
    int found = 0;

    while (d && (e = readdir(d))) {
        size_t n = strlen(e->d_name);

        if (n > 3 && strcmp(e->d_name + n - 3, ".py") == 0 && e->d_name[0] != '.' && found++ == 0)
            snprintf(to, size, "%.200s/%.200s", folder, e->d_name);
    }
    if (d)
        closedir(d);
    return found == 1 && is_file(to);
}

/* A configuration beside a log of nanoGPT's: the one that it names, one of the
 * log's own name, the only one in config/. */
static bool find_config(const struct reading *r, char *to, size_t size)
{
    char folder[PATH_MAX / 4], path[PATH_MAX / 2], *dot;

    if (!r->request->log || !r->o->format || strcmp(r->o->format->name, "nanogpt-log") != 0)
        return false;
    folder_of(folder, sizeof folder, r->request->log);
    if (r->log.config_file[0] && r->log.config_file[0] != '/') {
        snprintf(to, size, "%s%s", folder, r->log.config_file);
        if (is_file(to))
            return true;
    }
    snprintf(path, sizeof path, "%.1000s", r->request->log);
    dot = strrchr(path, '.');
    if (dot && dot > path + strlen(folder))
        *dot = '\0';
    snprintf(to, size, "%.1000s.py", path);
    if (is_file(to))
        return true;
    snprintf(path, sizeof path, "%sconfig", folder);
    return only_config(to, size, path);
}

static int read_sources(struct reading *r, struct mfu_error *err)
{
    const struct mfu_observe_request *q = r->request;
    struct mfu_observation *o = r->o;
    char beside[PATH_MAX];

    mfu_log_start(&r->log, q->log ? q->log : "");
    mfu_log_start(&r->config, "");
    mfu_log_start(&r->command, "");
    if (q->log && mfu_log_read(&r->log, q->log, &o->format, err) < 0)
        return -1;
    if (q->figures && mfu_log_pairs(&r->command, q->figures, true, err) < 0)
        return -1;
    mfu_log_pairs_end(&r->command);
    for (int i = 0; i < r->command.n_settings; i++)
        r->command.settings[i].origin = "command";
    if (r->command.contradiction[0])
        return mfu_fail(err, MFU_EINPUT, "%s", r->command.contradiction);
    if (q->config) {
        if (mfu_log_read_config(&r->config, q->config, err) < 0)
            return -1;
    } else if (find_config(r, beside, sizeof beside)) {
        if (mfu_log_read_config(&r->config, beside, NULL) == 0)
            mfu_observe_note(o, "configuration file beside the log: %.200s", beside);
    }
    return 0;
}

/* ---- configuration ------------------------------------------------------- */

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

static int choose_gpu(struct reading *r, struct mfu_error *err)
{
    struct mfu_scenario *s = &r->scenario;
    const struct mfu_gpu *gpu;

    if (r->command.gpu[0]) {
        if (!(gpu = mfu_catalog_gpu(r->catalog, r->command.gpu, err)))
            return -1;
    } else if (r->log.gpu[0]) {
        if (!(gpu = gpu_called(r->catalog, r->log.gpu))) {
            mfu_observe_note(r->o, "the log names a GPU that is not known here, %.80s: %s is assumed",
                             r->log.gpu, s->gpu ? s->gpu->slug : "none");
            return 0;
        }
        if (s->gpu && gpu != s->gpu && r->current->gpu_given)
            mfu_observe_note(r->o, "the log names the GPU: %s, not %s of the scenario", gpu->slug,
                             s->gpu->slug);
    } else
        return 0;
    s->gpu = gpu;
    s->gpu_given = true;
    return 0;
}

static int choose_model(struct reading *r, struct mfu_error *err)
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
    if (!model && f && strcmp(f->name, "huggingface-log") == 0) {
        folder_of(beside, sizeof beside - 16, r->request->log);
        strcat(beside, "config.json");
        if (is_file(beside)
            && (model = mfu_catalog_model(
                    r->catalog,
                    beside[0] == '/' || beside[0] == '.' || strchr(beside, '/') ? beside : "./config.json",
                    NULL)))
            mfu_observe_note(r->o, "model: config.json beside the log");
    }
    if (!model && f && f->model && (!s->model || strcmp(s->model->family, f->family) != 0)) {
        model = mfu_catalog_model(r->catalog, f->model, err);
        if (!model)
            return -1;
        if (r->current->model_given && r->current->model)
            mfu_observe_note(r->o, "%s trains another family than %s: planned as %s", f->title,
                             r->current->model->slug, model->slug);
    }
    if (model && model != s->model) {
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

/* Whether a log, a file or the command says it (and not only the program). */
static bool stated(struct mfu_observation *o, const char *key)
{
    const struct mfu_understood *u = find_understood(o, key);

    return u && (!o->format || u->origin != o->format->title);
}

/* Reads the value back from the scenario and puts it down as understood. */
static void understand(struct reading *r, const char *name, const char *origin, int line)
{
    struct mfu_observation *o = r->o;
    struct mfu_key key = mfu_scenario_key(&r->scenario, name, NULL);
    const char *own = key.kind == MFU_KEY_SETTING ? mfu_settings[key.id].key
        : key.kind == MFU_KEY_DIM                 ? r->scenario.model->dims[key.id].name
                                                  : mfu_coefficient_rows[key.id].name;
    struct mfu_understood *u = find_understood(o, own);

    if (!u && o->n_understood < (int)(sizeof o->understood / sizeof o->understood[0]))
        u = &o->understood[o->n_understood++];
    if (!u)
        return;
    snprintf(u->key, sizeof u->key, "%s", own);
    u->value = key.kind == MFU_KEY_SETTING ? r->scenario.setting[key.id]
        : key.kind == MFU_KEY_DIM          ? r->scenario.dim[key.id]
                                           : r->scenario.coefficient[key.id];
    u->choice = key.kind == MFU_KEY_SETTING && mfu_settings[key.id].choices
        ? mfu_settings[key.id].choices[(int)u->value]
        : NULL;
    u->origin = origin;
    u->line = line;
}

static double value_of(const struct reading *r, const char *name)
{
    struct mfu_key key = mfu_scenario_key(&r->scenario, name, NULL);

    return key.kind == MFU_KEY_SETTING                             ? r->scenario.setting[key.id]
        : key.kind == MFU_KEY_DIM && r->scenario.dim_given[key.id] ? r->scenario.dim[key.id]
                                                                   : (double)NAN;
}

/* Applies one setting; the command must not contradict the log. */
static int apply(struct reading *r, const struct mfu_log_setting *s, const struct mfu_log *from,
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
    before = find_understood(r->o, key.kind == MFU_KEY_SETTING ? mfu_settings[key.id].key : s->key);
    if (command && before && strcmp(before->origin, "log") == 0 && old != value_of(r, s->key))
        return mfu_fail(err, MFU_EINPUT, "%s: %s here, but the log says %g in line %d", s->key, s->value, old,
                        before->line);
    understand(r, s->key, s->origin, s->line);
    return 0;
}

static int apply_all(struct reading *r, const struct mfu_log *from, struct mfu_error *err)
{
    for (int i = 0; i < from->n_settings; i++)
        if (apply(r, &from->settings[i], from, err) < 0)
            return -1;
    return 0;
}

/* What the program does when nobody says otherwise, and the user has not. */
static int apply_defaults(struct reading *r, struct mfu_error *err)
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

static void set_derived(struct reading *r, const char *key, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.0f", value);
    if (mfu_scenario_set(&r->scenario, key, text, NULL) == 0)
        understand(r, key, "derived", 0);
}

/* A whole number, as near as what it follows from is exact: logs round times and
 * rates, so that 0.6 % off, and never more than a third, still counts (chosen). */
static bool whole(double x, bool exact)
{
    return round(x) >= 1 && fabs(x - round(x)) <= (exact ? 1e-6 * x : fmin(0.35, 0.006 * x));
}

/* Tokens of a step as they are stated or follow from time and rate. */
static double tokens_stated(const struct reading *r, double seq, bool *exact)
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
    if (r->log.samples_per_step > 0)
        return r->log.samples_per_step * seq;
    *exact = false;
    return o->figure[MFU_FIGURE_TIME] * o->figure[MFU_FIGURE_TOKENS_PER_S]
        * (o->format && o->format->rate_per_gpu ? gpus : 1);
}

/* Nobody states batch and accum, but so many sequences a step: the largest batch
 * up to the program's own that divides them. */
static bool guess_batch(struct reading *r, double sequences, double batch)
{
    for (double b = floor(fmin(batch, 4096)); b >= 1; b--)
        if (whole(sequences / b, true) && sequences / b <= 1e6) {
            set_derived(r, "batch", b);
            set_derived(r, "accum", round(sequences / b));
            mfu_observe_note(r->o, "batch and accum are guesses that give the tokens per step: state them");
            return true;
        }
    return false;
}

/* Makes batch, accum, GPUs and tokens per step agree, or says that they cannot. */
static int settle_tokens(struct reading *r, struct mfu_error *err)
{
    struct mfu_observation *o = r->o;
    struct mfu_scenario *s = &r->scenario;
    struct mfu_config c;
    double tokens, ranks, accum, expected, per_batch;
    bool exact;

    mfu_scenario_resolve(s, &c, NULL);
    ranks =
        s->setting[MFU_S_GPUS] / fmax(1, s->setting[MFU_S_TP] * s->setting[MFU_S_PP] * s->setting[MFU_S_CP]);
    if (o->format && o->format->accum_of_all && ranks > 1 && stated(o, "accum")
        && fmod(s->setting[MFU_S_ACCUM], ranks) == 0)
        set_derived(r, "accum", s->setting[MFU_S_ACCUM] / ranks);
    accum = s->setting[MFU_S_ACCUM];
    tokens = tokens_stated(r, c.seq, &exact);
    expected = tokens / (c.batch * c.seq * ranks);
    per_batch = expected * c.batch / accum;
    if (tokens > 0 && fabs(expected / accum - 1) > (exact ? 1e-6 : 0.02)) {
        if (!stated(o, "accum") && whole(expected, exact) && expected <= 1e6)
            set_derived(r, "accum", round(expected));
        else if (!stated(o, "batch") && whole(per_batch, exact) && per_batch <= 1e6)
            set_derived(r, "batch", round(per_batch));
        else if (exact && !stated(o, "gpus") && !s->setting_given[MFU_S_GPUS] && expected > accum
                 && whole(expected / accum, exact) && expected / accum <= 4096) {
            set_derived(r, "gpus", round(expected / accum));
            mfu_observe_note(o, "%.0f tokens per step are %.0f times batch, accum and seq: so many GPUs",
                             tokens, expected / accum);
        } else if (stated(o, "batch") && stated(o, "accum"))
            return mfu_fail(err, MFU_EINPUT,
                            "%.120s%scontradictory: batch %g, accum %g, seq %g on %g GPU%s are %.0f tokens "
                            "per step, but %.0f %s",
                            o->path, *o->path ? ": " : "", c.batch, accum, c.seq, ranks, ranks > 1 ? "s" : "",
                            c.batch * accum * c.seq * ranks, tokens,
                            exact ? "are stated" : "follow from step time and tokens/s");
        else if (!exact || stated(o, "batch") || stated(o, "accum")
                 || !guess_batch(r, tokens / (c.seq * ranks), c.batch))
            mfu_observe_note(
                o, "%.0f tokens per step do not follow from batch %g, accum %g and seq %g: state them",
                tokens, c.batch, accum, c.seq);
    }
    mfu_scenario_resolve(s, &c, NULL);
    ranks =
        s->setting[MFU_S_GPUS] / fmax(1, s->setting[MFU_S_TP] * s->setting[MFU_S_PP] * s->setting[MFU_S_CP]);
    o->tokens_per_step = c.batch * c.accum * c.seq * ranks;
    if (exact && tokens > 0)
        o->tokens_per_step = tokens;
    return 0;
}

/* ---- prediction ----------------------------------------------------------- */

/* Plans the configuration; what is parallel beyond what can be planned so far
 * leaves a plan of one GPU for the conventions, and no prediction. */
static int predict(struct reading *r, struct mfu_error *err)
{
    static const int parallel[] = {MFU_S_GPUS, MFU_S_NODES, MFU_S_DP, MFU_S_TP, MFU_S_PP,
                                   MFU_S_VPP,  MFU_S_CP,    MFU_S_EP, MFU_S_SP, MFU_S_ZERO};
    struct mfu_observation *o = r->o;
    struct mfu_scenario one = r->scenario;
    struct mfu_error why = {0};

    if (mfu_plan_make(&o->plan, &r->scenario, &why) == 0
        && mfu_simulate(&o->plan, false, &o->simulation, &why) == 0) {
        o->predicted = true;
        return 0;
    }
    for (size_t i = 0; i < sizeof parallel / sizeof parallel[0]; i++) {
        one.setting[parallel[i]] = mfu_settings[parallel[i]].initial;
        one.setting_given[parallel[i]] = false;
    }
    if (memcmp(&one, &r->scenario, sizeof one) == 0 || mfu_plan_make(&o->plan, &one, NULL) < 0) {
        if (err)
            *err = why;
        return -1;
    }
    snprintf(o->why_not, sizeof o->why_not, "%.250s", why.text);
    return 0;
}

/* Step time and tokens/s, each from the other. */
static void complete_rates(struct reading *r)
{
    struct mfu_observation *o = r->o;
    double *time = &o->figure[MFU_FIGURE_TIME], *rate = &o->figure[MFU_FIGURE_TOKENS_PER_S];

    if (o->format && o->format->rate_per_gpu)
        *rate *= r->scenario.setting[MFU_S_GPUS];
    if (isnan(*time))
        *time = o->tokens_per_step / *rate;
    if (isnan(*rate))
        *rate = o->tokens_per_step / *time;
}

static void compare(struct mfu_observation *o, const char *name, enum mfu_dim dim, double measured,
                    double predicted, double low, double high)
{
    if (!isnan(measured) && o->n_compared < (int)(sizeof o->compared / sizeof o->compared[0]))
        o->compared[o->n_compared++] = (struct mfu_compared){name, dim, measured, predicted, low, high};
}

/* Every figure that was stated beside its prediction. */
static void compare_all(struct mfu_observation *o)
{
    const struct mfu_plan *p = &o->plan;
    const struct mfu_step_answer *s = &p->step;
    const double *f = o->figure;
    struct mfu_metrics m;
    double predicted[MFU_FIGURE_COUNT];

    for (int i = 0; i < MFU_FIGURE_COUNT; i++)
        predicted[i] = NAN;
    if (o->predicted) {
        mfu_metrics_of_plan(p, &m);
        predicted[MFU_FIGURE_ALLOCATED] = p->memory.peak.bytes;
        predicted[MFU_FIGURE_RESERVED] = p->memory.reserved_bytes;
        predicted[MFU_FIGURE_SMI_USED] = p->memory.smi_bytes + p->config.setting[MFU_S_VRAM_RESERVED];
        predicted[MFU_FIGURE_UTILIZATION] = m.gpu_utilization_high;
        predicted[MFU_FIGURE_SM_ACTIVE] = m.sm_active;
        predicted[MFU_FIGURE_TENSOR_ACTIVE] = m.tensor_active;
        predicted[MFU_FIGURE_DRAM_ACTIVE] = m.dram_active;
        predicted[MFU_FIGURE_POWER] = m.power_w;
        predicted[MFU_FIGURE_COMMUNICATION] = s->communication_exposed_s;
        predicted[MFU_FIGURE_LOADER] = 0;
        compare(o, "step time", MFU_SECONDS, f[MFU_FIGURE_TIME], s->time_s, s->low_s, s->high_s);
        compare(o, "tokens/s", MFU_COUNT, f[MFU_FIGURE_TOKENS_PER_S], s->tokens_per_s, s->tokens / s->high_s,
                s->tokens / s->low_s);
    } else {
        compare(o, "step time", MFU_SECONDS, f[MFU_FIGURE_TIME], NAN, NAN, NAN);
        compare(o, "tokens/s", MFU_COUNT, f[MFU_FIGURE_TOKENS_PER_S], NAN, NAN, NAN);
    }
    if (o->convention && o->peak_flops > 0) {
        double flops = mfu_convention_flops_per_token(p, o->convention), gpus = fmax(p->config.ranks, 1);
        double mfu = o->predicted ? flops * s->tokens_per_s / gpus / o->peak_flops : (double)NAN;

        compare(o, "MFU as logged", MFU_RATIO, f[MFU_FIGURE_MFU], mfu, mfu * s->time_s / s->high_s,
                mfu * s->time_s / s->low_s);
    }
    compare(o, "MFU, own peak", MFU_RATIO, o->mfu, o->predicted ? p->mfu.mfu : (double)NAN,
            p->mfu.mfu * s->time_s / s->high_s, p->mfu.mfu * s->time_s / s->low_s);
    if (o->convention && !isnan(f[MFU_FIGURE_FLOPS])) {
        double flops =
            mfu_convention_flops_per_token(p, o->convention) * s->tokens_per_s / fmax(p->config.ranks, 1);

        predicted[MFU_FIGURE_FLOPS] = o->predicted ? flops : (double)NAN;
    }
    for (int i = MFU_FIGURE_FLOPS; i < MFU_FIGURE_COUNT; i++)
        if (i != MFU_FIGURE_LOSS)
            compare(o, mfu_figure_rows[i].name, mfu_figure_rows[i].dim, f[i], predicted[i], NAN, NAN);
}

/* ---- the convention of a logged MFU -------------------------------------- */

static void find_convention(const struct reading *r)
{
    struct mfu_observation *o = r->o;
    const struct mfu_log_format *f = o->format;
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    size_t n = mfu_conventions(&o->plan, all), best = 0;
    double logged = o->figure[MFU_FIGURE_MFU], gpus = r->scenario.setting[MFU_S_GPUS];
    double rate = o->figure[MFU_FIGURE_TOKENS_PER_S] / gpus, stated_peak = NAN, least = INFINITY;

    stated_peak = r->command.peak_flops > 0 ? r->command.peak_flops : r->log.peak_flops;
    o->peak_flops = NAN;
    if (f && f->convention) {
        o->convention = f->convention;
        o->peak_flops = stated_peak > 0 ? stated_peak : f->peak_flops;
        for (size_t i = 0; i < n && !(o->peak_flops > 0); i++)
            if (strcmp(all[i].name, f->convention) == 0)
                o->peak_flops = all[i].peak_flops;
        return;
    }
    if (isnan(logged))
        return;
    if (isnan(rate))
        rate = o->predicted ? o->plan.step.tokens_per_s / o->plan.config.ranks : (double)NAN;
    for (size_t i = 0; i < n; i++) {
        double peak = stated_peak > 0 ? stated_peak : all[i].peak_flops;
        double off = fabs(log(all[i].flops_per_token * rate / peak / logged));

        if (off < least - 0.01) { /* the first of those that are as near */
            least = off;
            best = i;
        }
    }
    /* Within 5 % a formula is found, within 30 % it is the likeliest (chosen). */
    o->convention_assumed = !(least <= 0.05);
    if (o->convention_assumed && !(least <= 0.3))
        best = 0; /* nanoGPT's, which most figures are */
    o->convention = all[best].name;
    o->peak_flops = stated_peak > 0 ? stated_peak : all[best].peak_flops;
}

/* Nobody has said how wide the model is, and what was measured does: widths are
 * multiples of 64. */
static bool take_width(struct reading *r)
{
    double width = mfu_observe_width(r->o), n_embd = 64 * round(width / 64);
    struct mfu_scenario before = r->scenario;
    struct mfu_config c;

    if (!(n_embd >= 64) || fabs(width / n_embd - 1) > 0.02)
        return false;
    set_derived(r, "n_embd", n_embd);
    if (mfu_scenario_resolve(&r->scenario, &c, NULL) < 0) {
        r->scenario = before;
        r->o->n_understood--;
        return false;
    }
    mfu_observe_note(r->o, "n_embd %.0f follows from step time and MFU; the scenario has %.0f", n_embd,
                     mfu_config_dim(&r->o->plan.config, "n_embd"));
    return true;
}

/* Against the GPU's own peak: from the logged one, else from the time. */
static void own_mfu(const struct reading *r)
{
    struct mfu_observation *o = r->o;
    const struct mfu_plan *p = &o->plan;
    double ours = p->mfu.model_flops / p->step.tokens, gpus = r->scenario.setting[MFU_S_GPUS];

    if (o->convention && o->peak_flops > 0 && !isnan(o->figure[MFU_FIGURE_MFU]))
        o->mfu = o->figure[MFU_FIGURE_MFU] * o->peak_flops / p->mfu.peak_flops * ours
            / mfu_convention_flops_per_token(p, o->convention);
    else
        o->mfu = ours * o->figure[MFU_FIGURE_TOKENS_PER_S] / gpus / p->mfu.peak_flops;
}

/* ---- all of it ------------------------------------------------------------ */

static int check_figures(struct reading *r, struct mfu_error *err)
{
    const struct mfu_observation *o = r->o;

    for (int i = 0; i < MFU_FIGURE_COUNT; i++)
        if (i != MFU_FIGURE_STEP && i != MFU_FIGURE_LOSS && !isnan(o->figure[i]))
            return 0;
    if (!r->request->log)
        return mfu_fail(err, MFU_EINPUT,
                        "no figure is given: step_ms, tokens_per_s, mfu, memory_allocated ...");
    return mfu_fail(err, MFU_EINPUT, "%.160s: no usable step: %zu of %s%s%s", r->request->log,
                    r->log.n_records, o->format->title, r->log.note[0] ? "; " : ", none with a time",
                    r->log.note);
}

/* Figures of the command beside those of a log: they fill what it leaves open. */
static void take_command_figures(struct reading *r)
{
    struct mfu_observation *o = r->o, *by_hand;

    if (r->command.n_records == 0)
        return;
    if (!o->format) {
        mfu_observe_steady(&r->command, o);
        o->first_line = o->last_line = 0;
        return;
    }
    if (!(by_hand = calloc(1, sizeof *by_hand)))
        return;
    mfu_observe_steady(&r->command, by_hand);
    for (int i = 0; i < MFU_FIGURE_COUNT; i++)
        if (!isnan(by_hand->figure[i]) && isnan(o->figure[i]))
            o->figure[i] = by_hand->figure[i];
        else if (!isnan(by_hand->figure[i]))
            mfu_observe_note(o, "%s: the log's is used, not the one given", mfu_figure_rows[i].name);
    free(by_hand);
}

static int work(struct reading *r, struct mfu_error *err)
{
    struct mfu_observation *o = r->o;

    if (read_sources(r, err) < 0)
        return -1;
    o->source = o->format ? o->format->name : "figures";
    snprintf(o->path, sizeof o->path, "%s", r->request->log ? r->request->log : "");
    mfu_observe_steady(&r->log, o);
    take_command_figures(r);
    if (check_figures(r, err) < 0)
        return -1;
    if (r->log.truncated)
        mfu_observe_note(o, "only the first %d MiB of the file were read",
                         o->format && o->format->fallback ? 32 : 256);
    if (r->log.long_lines)
        mfu_observe_note(o, "%zu lines longer than 64 KiB were passed over", r->log.long_lines);
    if (r->log.too_many)
        mfu_observe_note(o, "the first %d steps were used, %zu were not", MFU_LOG_RECORDS, r->log.too_many);
    if (r->log.note[0])
        mfu_observe_note(o, "%s", r->log.note);
    o->params = isnan(r->command.params) ? r->log.params : r->command.params;
    r->scenario = *r->current;
    if (choose_gpu(r, err) < 0 || choose_model(r, err) < 0 || apply_defaults(r, err) < 0
        || apply_all(r, &r->config, err) < 0 || apply_all(r, &r->log, err) < 0
        || apply_all(r, &r->command, err) < 0 || settle_tokens(r, err) < 0)
        return -1;
    complete_rates(r);
    if (predict(r, err) < 0)
        return -1;
    if (!isnan(o->figure[MFU_FIGURE_MFU]) || (o->format && o->format->convention))
        find_convention(r);
    if (take_width(r))
        predict(r, NULL);
    own_mfu(r);
    compare_all(o);
    if (o->format && o->format->mfu_note && !isnan(o->figure[MFU_FIGURE_MFU]))
        mfu_observe_note(o, "%s", o->format->mfu_note);
    mfu_observe_explain(isnan(r->command.params) ? &r->log : &r->command, o);
    return 0;
}

struct mfu_observation *mfu_observe(struct mfu_catalog *catalog, const struct mfu_scenario *current,
                                    const struct mfu_observe_request *request, struct mfu_error *err)
{
    struct reading *r = calloc(1, sizeof *r);
    struct mfu_observation *o = calloc(1, sizeof *o);
    int status = -1;

    if (r && o) {
        *r = (struct reading){.catalog = catalog, .current = current, .request = request, .o = o};
        status = work(r, err);
        mfu_log_release(&r->log);
        mfu_log_release(&r->config);
        mfu_log_release(&r->command);
    } else
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    free(r);
    if (status == 0)
        return o;
    mfu_observation_free(o);
    return NULL;
}

void mfu_observation_free(struct mfu_observation *o)
{
    if (!o)
        return;
    mfu_plan_release(&o->plan);
    mfu_simulation_release(&o->simulation);
    free(o);
}
