/*
 * observe.c - from a log or figures to a configuration and its prediction.
 */
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/observe/observe.h"
#include "answer/observe/observe_reading.h"
#include "base/error.h"
#include "read/config/import.h"

void mfu_observe_note(struct mfu_observation *o, const char *format, ...)
{
    va_list args;

    if (o->n_notes == MFU_NOTES)
        return;
    va_start(args, format);
    vsnprintf(o->notes[o->n_notes++], sizeof o->notes[0], format, args);
    va_end(args);
}

/* ---- sources ------------------------------------------------------------- */

bool mfu_observe_is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The folder of a path, with its '/' or empty. */
void mfu_observe_folder(char *to, size_t size, const char *path)
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
    return found == 1 && mfu_observe_is_file(to);
}

/* A configuration beside a log of nanoGPT's: the one that it names, one of the
 * log's own name, the only one in config/. */
static bool find_config(const struct mfu_observing *r, char *to, size_t size)
{
    char folder[PATH_MAX / 4], path[PATH_MAX / 2], *dot;

    if (!r->request->log || !r->o->format || strcmp(r->o->format->name, "nanogpt-log") != 0)
        return false;
    mfu_observe_folder(folder, sizeof folder, r->request->log);
    if (r->log.config_file[0] && r->log.config_file[0] != '/') {
        snprintf(to, size, "%s%s", folder, r->log.config_file);
        if (mfu_observe_is_file(to))
            return true;
    }
    snprintf(path, sizeof path, "%.1000s", r->request->log);
    dot = strrchr(path, '.');
    if (dot && dot > path + strlen(folder))
        *dot = '\0';
    snprintf(to, size, "%.1000s.py", path);
    if (mfu_observe_is_file(to))
        return true;
    snprintf(path, sizeof path, "%sconfig", folder);
    return only_config(to, size, path);
}

/* What `import` makes of the file: settings, model and GPU, and what is not modelled, as notes, too.
 * 1, or 0 if no format is recognised; -1 with `err`. */
static int take_import(struct mfu_observing *r, const char *path, struct mfu_error *err)
{
    struct mfu_import *m = calloc(1, sizeof *m);
    struct mfu_scenario tried = *r->current; /* what it refuses is not modelled */
    struct mfu_error unknown;
    int status = 1;

    if (!m)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    m->catalog = r->catalog;
    m->start = r->current;
    if (mfu_import_read(m, path, NULL, &unknown) < 0)
        status = unknown.code == MFU_ENOMEM ? mfu_fail(err, MFU_ENOMEM, "out of memory") : 0;
    if (status > 0 && mfu_import_apply(m, &tried, err) < 0)
        status = -1;
    for (int i = 0; status > 0 && i < m->n; i++) {
        const struct mfu_entry *e = &m->entries[i];
        struct mfu_log *c = &r->config;

        c->line = e->line;
        if (e->fate == MFU_UNMODELLED)
            mfu_observe_note(r->o, "not modelled: %.60s %.60s", e->name, e->value ? e->value : "");
        else if (e->fate == MFU_IGNORED || !e->key)
            continue;
        else if (strcmp(e->key, "model") == 0)
            snprintf(c->model, sizeof c->model, "%s", e->set);
        else if (strcmp(e->key, "gpu") == 0)
            snprintf(c->gpu, sizeof c->gpu, "%s", e->set);
        else
            mfu_log_set(c, e->key, e->set);
    }
    if (status > 0)
        r->import = m;
    else {
        mfu_import_release(m);
        free(m);
    }
    return status;
}

/* A file that `import` reads, or any lines NAME = VALUE. */
static int read_config(struct mfu_observing *r, const char *path, struct mfu_error *err)
{
    int status = take_import(r, path, err);

    if (status == 0)
        status = mfu_log_read_config(&r->config, path, err);
    for (int i = 0; i < r->config.n_settings; i++)
        r->config.settings[i].origin = "config";
    return status < 0 ? -1 : 0;
}

static double step_time(const struct mfu_log *log, bool *lost)
{
    struct mfu_observation *o = calloc(1, sizeof *o);
    double time = NAN;

    if (o)
        mfu_observe_steady(log, o);
    *lost |= !o || o->lost;
    if (o)
        time = isnan(o->figure[MFU_FIGURE_TIME]) ? 1 / o->figure[MFU_FIGURE_TOKENS_PER_S] : o->figure[MFU_FIGURE_TIME];
    free(o);
    return time;
}

/* Other files of the run: of each step the slowest rank counts; which one that is, is said. */
static int read_more(struct mfu_observing *r, struct mfu_error *err)
{
    const struct mfu_log_format *format;
    const char *slowest = r->request->log;
    double least = step_time(&r->log, &r->o->lost), most = least;
    struct mfu_log *other = malloc(sizeof *other);
    int n = 1, status = other ? 0 : mfu_fail(err, MFU_ENOMEM, "out of memory");

    for (const char *const *path = r->request->more; status == 0 && *path; path++, n++) {
        double time;

        status = mfu_log_read(other, *path, &format, err);
        if (status == 0 && format != r->o->format)
            status = mfu_fail(err, MFU_EINPUT, "%.200s: %s, and %.200s is %s: not of one run", *path, format->title,
                              r->request->log, r->o->format->title);
        if (status == 0) {
            time = step_time(other, &r->o->lost);
            slowest = time > most ? *path : slowest;
            most = fmax(most, time);
            least = fmin(least, time);
            mfu_log_append(&r->log, other);
        }
        mfu_log_release(other);
    }
    free(other);
    if (status < 0)
        return -1;
    mfu_log_settle(&r->log);
    if (r->log.contradiction[0])
        return mfu_fail(err, MFU_EINPUT, "%s", r->log.contradiction);
    if (most > 1.02 * least)
        mfu_observe_note(r->o, "of %d files %.120s has the longest steps: %.1f %% longer than the shortest", n, slowest,
                         100 * (most / least - 1));
    return 0;
}

static int read_sources(struct mfu_observing *r, struct mfu_error *err)
{
    const struct mfu_observe_request *q = r->request;
    struct mfu_observation *o = r->o;
    char beside[PATH_MAX];

    mfu_log_start(&r->log, q->log ? q->log : "");
    mfu_log_start(&r->config, "");
    mfu_log_start(&r->command, "");
    if (q->log && mfu_log_read(&r->log, q->log, &o->format, err) < 0)
        return -1;
    if (q->log && q->more && q->more[0] && read_more(r, err) < 0)
        return -1;
    if (q->figures && mfu_log_pairs(&r->command, q->figures, true, err) < 0)
        return -1;
    mfu_log_pairs_end(&r->command);
    for (int i = 0; i < r->command.n_settings; i++)
        r->command.settings[i].origin = "command";
    if (r->command.contradiction[0])
        return mfu_fail(err, MFU_EINPUT, "%s", r->command.contradiction);
    if (q->config) {
        if (read_config(r, q->config, err) < 0)
            return -1;
    } else if (find_config(r, beside, sizeof beside)) {
        if (read_config(r, beside, NULL) == 0)
            mfu_observe_note(o, "configuration file beside the log: %.200s", beside);
    }
    return 0;
}

/* ---- all of it ------------------------------------------------------------ */

#define EVERY_WINDOW "every line's time holds an evaluation or a checkpoint: log more often than that (log_interval)"

static int check_figures(struct mfu_observing *r, struct mfu_error *err)
{
    const struct mfu_observation *o = r->o;

    for (int i = 0; i < MFU_FIGURE_COUNT; i++)
        if (i != MFU_FIGURE_STEP && i != MFU_FIGURE_LOSS && !isnan(o->figure[i]))
            return 0;
    if (!r->request->log)
        return mfu_fail(err, MFU_EINPUT, "no figure is given: step_ms, tokens_per_s, mfu, memory_allocated ...");
    if (o->only_windows)
        return mfu_fail(err, MFU_EINPUT, "%.160s: no usable step: %s", r->request->log, EVERY_WINDOW);
    return mfu_fail(err, MFU_EINPUT, "%.160s: no usable step: %zu of %s%s%s", r->request->log, r->log.n_records,
                    o->format->title, r->log.note[0] ? "; " : ", none with a time", r->log.note);
}

/* Figures of the command beside those of a log: they fill what it leaves open. */
static void take_command_figures(struct mfu_observing *r)
{
    struct mfu_observation *o = r->o, *by_hand;

    if (r->command.n_records == 0)
        return;
    if (!o->format) {
        mfu_observe_steady(&r->command, o);
        o->first_line = o->last_line = 0;
        return;
    }
    if (!(by_hand = calloc(1, sizeof *by_hand))) {
        o->lost = true;
        return;
    }
    mfu_observe_steady(&r->command, by_hand);
    o->lost |= by_hand->lost;
    for (int i = 0; i < MFU_FIGURE_COUNT; i++)
        if (!isnan(by_hand->figure[i]) && isnan(o->figure[i]))
            o->figure[i] = by_hand->figure[i];
        else if (!isnan(by_hand->figure[i]))
            mfu_observe_note(o, "%s: the log's is used, not the one given", mfu_figure_rows[i].name);
    free(by_hand);
}

/* What there is to know about how the sources were read. */
static void note_reading(struct mfu_observing *r)
{
    struct mfu_observation *o = r->o;

    if (r->log.truncated)
        mfu_observe_note(o, "only the first %d MiB of the file were read", o->format && o->format->fallback ? 32 : 256);
    if (r->log.long_lines)
        mfu_observe_note(o, "%zu lines longer than 64 KiB were passed over", r->log.long_lines);
    if (r->log.too_many)
        mfu_observe_note(o, "the first %d steps were used, %zu were not", MFU_LOG_RECORDS, r->log.too_many);
    if (r->log.note[0])
        mfu_observe_note(o, "%s", r->log.note);
    if (r->command.note[0])
        mfu_observe_note(o, "%s", r->command.note);
    if (o->only_windows)
        mfu_observe_note(o, "%s", EVERY_WINDOW);
}

/* Step time and tokens/s, each from the other. */
static void complete_rates(struct mfu_observation *o)
{
    double *time = &o->figure[MFU_FIGURE_TIME], *rate = &o->figure[MFU_FIGURE_TOKENS_PER_S];

    if (o->rate_per_gpu)
        *rate *= o->gpus;
    if (isnan(*time))
        *time = o->tokens_per_step / *rate;
    if (isnan(*rate))
        *rate = o->tokens_per_step / *time;
}

static int work(struct mfu_observing *r, struct mfu_error *err)
{
    struct mfu_observation *o = r->o;
    const struct mfu_log *stated;

    r->scenario = *r->current;
    if (read_sources(r, err) < 0)
        return -1;
    o->rate_per_gpu = o->format && (o->format->rate_per_gpu || r->log.rate_per_gpu);
    o->source = o->format ? o->format->name : "figures";
    snprintf(o->path, sizeof o->path, "%s", r->request->log ? r->request->log : "");
    mfu_observe_steady(&r->log, o);
    take_command_figures(r);
    if (check_figures(r, err) < 0)
        return -1;
    note_reading(r);
    stated = isnan(r->command.params) ? &r->log : &r->command;
    o->params = stated->params;
    o->params_digit = stated->params_digit;
    if (mfu_observe_configure(r, err) < 0)
        return -1;
    complete_rates(o);
    if (mfu_observe_predict(r, err) < 0 || mfu_observe_own_mfu(r, err) < 0)
        return -1;
    mfu_observe_compare(o);
    if (o->format && o->format->mfu_note && !isnan(o->figure[MFU_FIGURE_MFU]))
        mfu_observe_note(o, "%s", o->format->mfu_note);
    mfu_observe_explain(o);
    o->drift = o->recent_s = NAN;
    mfu_observe_drifts(o, &r->log);
    return 0;
}

struct mfu_observation *mfu_observe(struct mfu_catalog *catalog, const struct mfu_scenario *current,
                                    const struct mfu_observe_request *request, struct mfu_error *err)
{
    struct mfu_observing *r = calloc(1, sizeof *r);
    struct mfu_observation *o = calloc(1, sizeof *o);
    int status = -1;

    if (r && o) {
        *r = (struct mfu_observing){.catalog = catalog, .current = current, .request = request, .o = o};
        status = work(r, err);
        if (o->lost)
            status = mfu_fail(err, MFU_ENOMEM, "out of memory");
        mfu_log_release(&r->log);
        mfu_log_release(&r->config);
        mfu_log_release(&r->command);
        if (r->import)
            mfu_import_release(r->import);
        free(r->import);
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
