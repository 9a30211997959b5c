/*
 * import.c - from a file of another program to settings of this one.
 */
#include "read/config/import.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/input_file.h"
#include "base/expression.h"
#include "base/suggest.h"
#include "descriptor/folder.h"
#include "descriptor/module_kinds.h"
#include "scenario/setting.h"

#define LARGEST (1 << 20) /* bytes of a file */

/* ---- entries ------------------------------------------------------------- */

int mfu_import_fail(const struct mfu_import *m, const char *path, struct mfu_error *err)
{
    return m->n == MFU_ENTRIES ? mfu_fail(err, MFU_EINPUT, "%s: more than %d entries", path, MFU_ENTRIES)
                               : mfu_fail(err, MFU_ENOMEM, "out of memory");
}

struct mfu_entry *mfu_import_add(struct mfu_import *m, const char *name, size_t length, const char *value, size_t size,
                                 int line)
{
    struct mfu_entry *e = &m->entries[m->n];

    if (m->n == MFU_ENTRIES) {
        m->failed = true;
        return NULL;
    }
    *e = (struct mfu_entry){.line = line, .fate = MFU_UNMODELLED, .note = ""};
    e->name = mfu_arena_copy(&m->arena, name, length);
    e->value = mfu_arena_copy(&m->arena, value, size);
    if (!e->name || !e->value) {
        m->failed = true;
        return NULL;
    }
    m->n++;
    return e;
}

struct mfu_entry *mfu_import_find(struct mfu_import *m, const char *name)
{
    for (int i = m->n - 1; i >= 0; i--)
        if (strcmp(m->entries[i].name, name) == 0)
            return &m->entries[i];
    return NULL;
}

bool mfu_import_is(struct mfu_import *m, const char *name, const char *value)
{
    const struct mfu_entry *e = mfu_import_find(m, name);

    return e && strcasecmp(e->value, value) == 0;
}

bool mfu_import_is_set(struct mfu_import *m, const char *name)
{
    const struct mfu_entry *e = mfu_import_find(m, name);

    return e && e->set;
}

static int no_names(void *context, const char *name, struct mfu_error *err)
{
    (void)context;
    return mfu_fail(err, MFU_EINPUT, "'%.40s' is not a number", name);
}

/* 8, 5 * 8, 1e-3; NAN. */
static double number(struct mfu_import *m, const char *text)
{
    struct mfu_error err = {0};
    struct mfu_expression *x = *text ? mfu_expression_compile(&m->arena, text, MFU_COUNT, no_names, NULL, &err) : NULL;

    m->failed |= err.code == MFU_ENOMEM;
    return x ? mfu_expression_eval(x, NULL) : NAN;
}

double mfu_import_number(struct mfu_import *m, const char *name)
{
    struct mfu_entry *e = mfu_import_find(m, name);

    return e ? number(m, e->value) : NAN;
}

void mfu_import_set(struct mfu_import *m, struct mfu_entry *e, const char *key, const char *note, const char *format,
                    ...)
{
    char text[128];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    e->set = mfu_arena_copy(&m->arena, text, strlen(text));
    e->key = key;
    e->note = note;
    if (e->fate != MFU_ASSUMED)
        e->fate = MFU_UNDERSTOOD;
    if (!e->set)
        m->failed = true;
}

void mfu_import_leave(struct mfu_entry *e, enum mfu_fate fate, const char *note)
{
    e->fate = fate;
    e->key = e->set = NULL;
    e->note = note;
}

void mfu_import_assume(struct mfu_import *m, const char *key, const char *value, const char *note)
{
    struct mfu_entry *e = mfu_import_add(m, key, strlen(key), value, strlen(value), 0);

    if (!e)
        return;
    e->fate = MFU_ASSUMED;
    mfu_import_set(m, e, key, note, "%s", value);
}

static bool is_one_of(const char *value, const char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(value, *words) == 0)
            return true;
    return false;
}

double mfu_import_gpus(const struct mfu_import *m)
{
    const struct mfu_scenario *s = m->start;

    return s->setting[s->setting_given[MFU_S_GPUS] || !s->setting_given[MFU_S_DP] ? MFU_S_GPUS : MFU_S_DP];
}

void mfu_import_hybrid(struct mfu_import *m, struct mfu_entry *e, bool gradients_only)
{
    const struct mfu_scenario *s = m->start;
    struct mfu_cluster k;
    double gpus = mfu_import_gpus(m);

    for (int i = 0; i < m->n; i++)
        if (m->entries[i].set && strcmp(m->entries[i].key, "gpus") == 0)
            gpus = atof(m->entries[i].set);
    mfu_import_set(m, e, "zero", "hybrid: sharded within a node", "3");
    if (gradients_only)
        mfu_import_assume(m, "reshard_after_forward", "off", "HYBRID_SHARD_ZERO2");
    if (!s->gpu) {
        mfu_import_lack(m, "dp_shard", "", "set dp_shard to the GPUs of a node");
        return;
    }
    mfu_cluster_with(mfu_scenario_cluster(s), s->gpu, &k);
    if (gpus > k.node_gpus && fmod(gpus, k.node_gpus) == 0)
        mfu_import_assume_number(m, "dp_shard", k.node_gpus, "a copy for each node");
    else if (gpus > k.node_gpus)
        mfu_import_lack(m, "dp_shard", "", "the GPUs do not fill nodes: set dp_shard to those that share a copy");
}

/* Whether `gpus` GPUs of which `ranks` split the batch can be planned at all. */
static bool is_planned(const struct mfu_import *m, double gpus, double ranks)
{
    struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(m->catalog, "gpt2", NULL), m->start->gpu);
    const struct {
        enum mfu_setting_id id;
        double value;
    } given[] = {{MFU_S_GPUS, gpus}, {MFU_S_DP, ranks}, {MFU_S_TP, gpus / ranks}};
    struct mfu_config config;

    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        if (!(given[i].value >= 1) || given[i].value != floor(given[i].value))
            return false;
        s.setting[given[i].id] = given[i].value;
        s.setting_given[given[i].id] = true;
    }
    return mfu_scenario_resolve(&s, &config, NULL) == 0;
}

double mfu_import_planned_ranks(const struct mfu_import *m, double gpus, double ranks)
{
    return !m->start->gpu || is_planned(m, gpus, ranks) ? ranks : is_planned(m, gpus, gpus) ? gpus : mfu_import_gpus(m);
}

void mfu_import_drive(struct mfu_import *m, const char *name, const char *key)
{
    const struct mfu_entry *e = mfu_import_find(m, name);

    if (e && strcmp(e->value, "nvme") == 0)
        mfu_import_assume(m, key, "on", "the device is nvme");
}

void mfu_import_assume_number(struct mfu_import *m, const char *key, double value, const char *note)
{
    char text[32];

    snprintf(text, sizeof text, "%.10g", value);
    mfu_import_assume(m, key, text, note);
}

double mfu_import_set_number(const struct mfu_import *m, const char *key)
{
    for (int i = m->n - 1; i >= 0; i--)
        if (m->entries[i].set && strcmp(m->entries[i].key, key) == 0)
            return atof(m->entries[i].set);
    return NAN;
}

/* That the file sets, or that was chosen before; NULL: none. */
static const struct mfu_model *model_of(const struct mfu_import *m)
{
    const struct mfu_model *model = m->start->model_given ? m->start->model : NULL;

    for (int i = 0; i < m->n; i++)
        if (m->entries[i].set && strcmp(m->entries[i].key, "model") == 0)
            model = mfu_catalog_model(m->catalog, m->entries[i].set, NULL);
    return model;
}

static bool has_tower(const struct mfu_import *m)
{
    const struct mfu_model *model = model_of(m);

    for (int i = 0; model && i < model->n_ops; i++)
        if (model->ops[i].module_kind == MFU_MODULE_VISION)
            return true;
    return false;
}

bool mfu_import_adapt_tower(struct mfu_import *m, bool vision, bool projector)
{
    bool adapters = false, listed = false;

    if (!has_tower(m))
        return true;
    for (int i = 0; i < m->n; i++) {
        struct mfu_entry *e = &m->entries[i];

        if (!e->set || strcmp(e->key, "lora_targets") != 0)
            continue;
        adapters = true;
        if (strcmp(e->set, "all-linear") == 0)
            mfu_import_set(m, e, "lora_targets", "of the image encoder, too, unless it is frozen", "all-linear%s%s",
                           vision ? ",vision" : "", projector ? ",projector" : "");
        else
            listed = true;
    }
    if (listed && vision)
        mfu_import_lack(m, "lora_targets", "",
                        "the image encoder's linears may have such names, too: set lora_targets");
    return adapters;
}

void mfu_import_need_length(struct mfu_import *m)
{
    if (isnan(mfu_import_set_number(m, "seq")))
        mfu_import_lack(m, "seq", "", "how long sequences are is not in the file: set seq");
}

double mfu_import_dim(const struct mfu_import *m, const char *dim)
{
    const struct mfu_model *model = model_of(m);
    double values[MFU_MAX_DIMS];
    int k;

    if (!model || (k = mfu_model_dim_find(model, dim, NULL)) < 0)
        return NAN;
    mfu_model_dim_values(model, values);
    return values[k];
}

void mfu_import_lack(struct mfu_import *m, const char *name, const char *value, const char *note)
{
    mfu_import_add(m, name, strlen(name), value, strlen(value), 0);
    if (!m->failed)
        mfu_import_leave(&m->entries[m->n - 1], MFU_UNMODELLED, note);
}

static bool is_unset(const char *value);

bool mfu_import_list(struct mfu_import *m, const char *name, const char *key, const char *note)
{
    size_t n = strlen(name), used = 0;
    struct mfu_entry *first = NULL;
    char words[256];

    for (int i = 0; i < m->n; i++) {
        struct mfu_entry *e = &m->entries[i];

        if (strncmp(e->name, name, n) != 0 || (e->name[n] && e->name[n] != '[') || is_unset(e->value) || !*e->value)
            continue;
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", first ? "," : "", e->value);
        if (used >= sizeof words) {
            mfu_import_leave(e, MFU_UNMODELLED, "a long list");
            return false;
        }
        if (first)
            mfu_import_leave(e, MFU_IGNORED, "see the first of the list");
        else
            first = e;
    }
    if (first)
        mfu_import_set(m, first, key, note, "%s", words);
    return first != NULL;
}

/* The config.json of a folder, from where the file is or from here; "": there is none. */
static const char *config_of_folder(const struct mfu_import *m, const char *folder, char path[MFU_PATH_MAX])
{
    const char *slash = m->path ? strrchr(m->path, '/') : NULL;
    int beside = slash && folder[0] != '/' ? (int)(slash + 1 - m->path) : 0;

    if (snprintf(path, MFU_PATH_MAX, "%.*s%s/config.json", beside, m->path ? m->path : "", folder) < MFU_PATH_MAX
        && access(path, R_OK) == 0)
        return path;
    return snprintf(path, MFU_PATH_MAX, "%s%s/config.json", strchr(folder, '/') ? "" : "./", folder) < MFU_PATH_MAX
            && access(path, R_OK) == 0
        ? path
        : "";
}

bool mfu_import_model(struct mfu_import *m, struct mfu_entry *e)
{
    struct mfu_error err = {0};
    const struct mfu_model *model = m->catalog ? mfu_catalog_hub_model(m->catalog, e->value, &err) : NULL;
    char path[MFU_PATH_MAX];

    if (model)
        mfu_import_set(m, e, "model", "", "%s", model->slug);
    else if (m->catalog && *config_of_folder(m, e->value, path)) {
        model = mfu_catalog_model(m->catalog, path, &err);
        if (model)
            mfu_import_set(m, e, "model", "its config.json", "%s", path);
        else
            mfu_import_leave(e, MFU_UNMODELLED, mfu_arena_copy(&m->arena, err.text, strlen(err.text)));
    } else if (m->start->model_given)
        mfu_import_leave(e, MFU_IGNORED, "the model that was chosen before");
    else
        e->key = "model";
    m->failed |= err.code == MFU_ENOMEM;
    return model != NULL;
}

/* ---- what names mean ----------------------------------------------------- */

static bool matches(const char *names, const char *name)
{
    char one[96];

    while (mfu_next_word(&names, one, sizeof one)) {
        size_t n = strlen(one);

        if (one[n - 1] == '*' ? strncmp(one, name, n - 1) == 0 : mfu_same_name(one, name))
            return true;
    }
    return false;
}

/* Finds `value` among "theirs=ours ..."; copies ours.  Case does not matter. */
static bool translate(const char *values, const char *value, char *ours, size_t size)
{
    for (const char *p = values; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, "="), whole = strcspn(p, " ");

        if (n < whole && strlen(value) == n && strncasecmp(p, value, n) == 0) {
            snprintf(ours, size, "%.*s", (int)(whole - n - 1), p + n + 1);
            return true;
        }
        p += whole;
    }
    return false;
}

/* As if the name were not in the file; "none" is a value, and so is an empty list where a format says what it means. */
static bool is_unset(const char *value)
{
    return strcmp(value, "null") == 0 || strcmp(value, "[]") == 0 || strcmp(value, "None") == 0
        || strcmp(value, "~") == 0;
}

static bool is_off(const char *value)
{
    static const char *const words[] = {"false", "no", "off", "[]", "{}", NULL};

    return is_one_of(value, words);
}

/* An entry that sets nothing by itself.  Where what is planned is on, off is another thing. */
static void judge_keyless(struct mfu_entry *e, const struct mfu_import_row *row)
{
    char ours[64];

    if (row->values && translate(row->values, e->value, ours, sizeof ours))
        mfu_import_leave(e, MFU_IGNORED, "as it is planned");
    else if (row->unmodelled && is_off(e->value) && !(row->values && translate(row->values, "true", ours, sizeof ours)))
        mfu_import_leave(e, MFU_IGNORED, "off");
    else
        mfu_import_leave(e, row->unmodelled ? MFU_UNMODELLED : MFU_IGNORED, row->note ? row->note : "");
}

static void judge(struct mfu_import *m, struct mfu_entry *e)
{
    const struct mfu_import_row *row = m->format->rows;
    bool assumed = e->fate == MFU_ASSUMED;
    char ours[64];

    while (row->names && !matches(row->names, e->name))
        row++;
    if (!row->names) {
        mfu_import_leave(e, MFU_UNMODELLED, "not known here");
        return;
    }
    if (is_unset(e->value) && !(row->values && translate(row->values, e->value, ours, sizeof ours))) {
        mfu_import_leave(e, MFU_IGNORED, MFU_NOT_SET);
        return;
    }
    if (!row->key) {
        judge_keyless(e, row);
        return;
    }
    if (!row->values && !isfinite(number(m, e->value))) {
        mfu_import_leave(e, MFU_UNMODELLED, "its value is no number");
        e->key = row->key;
        return;
    }
    if (!row->values)
        snprintf(ours, sizeof ours, "%.10g", number(m, e->value));
    else if (!translate(row->values, e->value, ours, sizeof ours)) {
        mfu_import_leave(e, MFU_UNMODELLED, "nothing here is like this value");
        e->key = row->key; /* that answers it */
        return;
    }
    if (strcmp(ours, "-") == 0) {
        mfu_import_leave(e, MFU_IGNORED, row->note && !row->unmodelled ? row->note : "as it is here");
        e->key = row->note && !row->unmodelled ? NULL : row->key;
        return;
    }
    /* Where a value sets nothing, the note is about that one. */
    mfu_import_set(m, e, row->key, row->note && !(row->values && strstr(row->values, "=-")) ? row->note : "", "%s",
                   ours);
    if (assumed)
        e->fate = MFU_ASSUMED;
}

/* Whether the file gives a value to one of these names, separated by blanks. */
static bool is_given(struct mfu_import *m, const char *names)
{
    char one[96];

    while (mfu_next_word(&names, one, sizeof one))
        for (int i = 0; i < m->n; i++)
            if (strcmp(m->entries[i].name, one) == 0 && !is_unset(m->entries[i].value))
                return true;
    return false;
}

/* What the program does where its file says nothing. */
static void add_defaults(struct mfu_import *m)
{
    for (const char *const *d = m->format->defaults; d && d[0]; d += 2) {
        struct mfu_entry *e =
            is_given(m, d[0]) ? NULL : mfu_import_add(m, d[0], strcspn(d[0], " "), d[1], strlen(d[1]), 0);

        if (e)
            e->fate = MFU_ASSUMED;
    }
}

/* ---- reading ------------------------------------------------------------- */

static char *read_text(struct mfu_arena *arena, const char *path, struct mfu_error *err)
{
    FILE *in = mfu_input_open(path, err);
    char *room = in ? malloc(LARGEST + 1) : NULL;
    size_t n = room ? fread(room, 1, LARGEST + 1, in) : 0;
    bool failed = in && ferror(in);
    char *text = room ? mfu_arena_alloc(arena, n + 1, 1) : NULL;

    if (text)
        memcpy(text, room, n);
    free(room);

    if (in)
        fclose(in);
    if (!in)
        ; /* the reason is known */
    else if (!text)
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    else if (failed)
        mfu_fail(err, MFU_EIO, "cannot be read: %s", strerror(errno));
    else if (n > LARGEST)
        mfu_fail(err, MFU_EINPUT, "is larger than 1 MiB");
    else if (memchr(text, '\0', n))
        mfu_fail(err, MFU_EINPUT, "a byte 0: this is not a text file");
    else
        return text;
    mfu_error_at(err, path, 0, 0);
    return NULL;
}

bool mfu_import_marked(const char *text, const char *marks)
{
    bool all = true;

    for (char part[64]; *marks; marks += *marks != '\0') {
        int n = (int)strcspn(marks, "&|");

        snprintf(part, sizeof part, "%.*s", n, marks);
        all = all && strstr(text, part);
        marks += n;
        if (*marks == '&')
            continue;
        if (all)
            return true;
        all = true;
    }
    return false;
}

/* Whether a file looks like one of the format's. */
static bool is_of(const struct mfu_import_format *f, const char *path, const char *text)
{
    size_t n = strlen(path), end = f->ending ? strlen(f->ending) : 0;

    return (end == 0 || (n > end && strcmp(path + n - end, f->ending) == 0)) && mfu_import_marked(text, f->marks);
}

static int find_format(struct mfu_import *m, const char *path, const char *text, const char *name,
                       struct mfu_error *err)
{
    const char *names[32];
    size_t n = 0;

    for (; n < mfu_import_format_count && n < sizeof names / sizeof names[0]; n++) {
        const struct mfu_import_format *f = mfu_import_formats[n];

        names[n] = f->name;
        if (name ? mfu_same_name(f->name, name) : is_of(f, path, text)) {
            m->format = f, m->title = f->title;
            return 0;
        }
    }
    if (!name)
        return mfu_fail_at(err, path, 0, 0,
                           strstr(text, "\"model_type\"") || strstr(text, "\"architectures\"")
                               ? "this is a model's configuration: `model FILE` takes it"
                               : "no known program writes such a file; `help import` lists them");
    return mfu_fail_nearest(err, name, names, n, "no format is called '%.40s'", name);
}

/* Many files leave the model to others: what is planned then is said. */
static void name_model(struct mfu_import *m)
{
    for (int i = 0; i < m->n; i++)
        if (m->entries[i].set && strcmp(m->entries[i].key, "model") == 0)
            return;
    if (!m->start->model_given)
        mfu_import_lack(m, "model", m->start->model ? m->start->model->slug : "",
                        "no model that is known is in the file: choose one");
}

/* A run's config.yaml of wandb has the program's settings, each as {desc, value}, and some of its own. */
static void unwrap(struct mfu_import *m)
{
    static const char wrapped[] = ".value";
    int n = 0;

    for (int i = 0; i < m->n; i++) {
        struct mfu_entry e = m->entries[i];
        size_t length = strlen(e.name), end = sizeof wrapped - 1;
        char *name;

        if (strncmp(e.name, "_wandb", 6) == 0 || strncmp(e.name, "wandb_version", 13) == 0
            || (length > 5 && strcmp(e.name + length - 5, ".desc") == 0))
            continue;
        if (length > end && strcmp(e.name + length - end, wrapped) == 0
            && (name = mfu_arena_copy(&m->arena, e.name, length - end)))
            e.name = name;
        m->entries[n++] = e;
    }
    m->n = n;
}

int mfu_import_read(struct mfu_import *m, const char *path, const char *format, struct mfu_error *err)
{
    char *text = read_text(&m->arena, path, err);

    m->n = 0;
    m->failed = !(m->path = mfu_arena_copy(&m->arena, path, strlen(path)));
    if (!text || find_format(m, path, text, format, err) < 0 || m->format->take_apart(m, path, text, err) < 0)
        return -1;
    if (strstr(text, "\n_wandb:") || strncmp(text, "_wandb:", 7) == 0)
        unwrap(m);
    add_defaults(m);
    for (int i = 0; i < m->n; i++)
        judge(m, &m->entries[i]);
    for (int i = 0; i < m->n; i++) /* the last of a name counts */
        if (mfu_import_find(m, m->entries[i].name) != &m->entries[i] && !is_unset(m->entries[i].value))
            mfu_import_leave(&m->entries[i], MFU_IGNORED, "is set again below");
    if (m->format->finish)
        m->format->finish(m);
    name_model(m);
    for (int i = 0; i < m->n; i++)
        m->entries[i].name = m->entries[i].said ? m->entries[i].said : m->entries[i].name;
    return m->failed ? mfu_import_fail(m, path, err) : 0;
}

void mfu_import_release(struct mfu_import *m)
{
    mfu_arena_free(&m->arena);
}

/* ---- applying ------------------------------------------------------------ */

static int set_it(struct mfu_import *m, struct mfu_scenario *next, const struct mfu_entry *e, struct mfu_error *err)
{
    const struct mfu_model *model;
    const struct mfu_gpu *gpu;

    if (strcmp(e->key, "model") == 0) {
        if (!(model = mfu_catalog_model(m->catalog, e->set, err)))
            return -1;
        mfu_scenario_model(next, model);
        next->model_given = true;
        return 0;
    }
    if (strcmp(e->key, "gpu") == 0) {
        if (!(gpu = mfu_catalog_gpu(m->catalog, e->set, err)))
            return -1;
        next->gpu = gpu;
        next->gpu_given = true;
        return 0;
    }
    return mfu_scenario_set(next, e->key, e->set, err);
}

/* Out of memory is no property of the entry. */
static int set_one(struct mfu_import *m, struct mfu_scenario *next, const struct mfu_entry *e, struct mfu_error *err)
{
    struct mfu_error problem = {0};

    if (set_it(m, next, e, &problem) == 0)
        return 0;
    m->failed |= problem.code == MFU_ENOMEM;
    if (err)
        *err = problem;
    return -1;
}

/* Tries on a copy: whether the scenario with it can still be planned. */
static bool try_one(struct mfu_import *m, struct mfu_scenario *next, const struct mfu_entry *e, struct mfu_error *err)
{
    struct mfu_scenario copy = *next;
    struct mfu_config config;

    if (set_one(m, &copy, e, err) < 0 || mfu_scenario_resolve(&copy, &config, err) < 0)
        return false;
    *next = copy;
    return true;
}

/* All that belong to a group at once (heads and width, GPUs and ranks), from a
 * scenario that may be contradictory in between. */
static bool try_all(struct mfu_import *m, struct mfu_scenario *next, const bool *waiting)
{
    struct mfu_scenario copy = *next;
    struct mfu_config config;

    for (int i = 0; i < m->n; i++)
        if (waiting[i] && set_one(m, &copy, &m->entries[i], NULL) < 0)
            return false;
    if (mfu_scenario_resolve(&copy, &config, NULL) < 0)
        return false;
    *next = copy;
    return true;
}

static bool sets(const struct mfu_entry *e, const char *key)
{
    return e->key && e->set && (!key || strcmp(e->key, key) == 0);
}

void mfu_import_take_back(const struct mfu_import *m, struct mfu_scenario *next)
{
    static const enum mfu_setting_id of_shards[] = {MFU_S_RESHARD, MFU_S_EFFICIENT_LINEAR};
    bool shards = false, trains = false;

    for (int i = 0; i < m->n; i++) {
        const struct mfu_entry *e = &m->entries[i];

        if (e->fate == MFU_IGNORED && e->key)
            mfu_scenario_unset(next, e->key, NULL);
        shards |= sets(e, "zero");
        trains |= sets(e, "trainer");
    }
    for (size_t i = 0; shards && i < sizeof of_shards / sizeof *of_shards; i++)
        mfu_scenario_unset(next, mfu_settings[of_shards[i]].key, NULL);
    if (shards && !trains && next->setting[MFU_S_TRAINER] == MFU_TRAINER_DEEPSPEED)
        mfu_scenario_unset(next, mfu_settings[MFU_S_TRAINER].key, NULL);
}

static int apply(struct mfu_import *m, struct mfu_scenario *next, struct mfu_error *err)
{
    bool waiting[MFU_ENTRIES] = {false};
    int left = 0, before;
    struct mfu_error problem = {0};

    mfu_import_take_back(m, next);
    for (int pass = 0; pass < 2; pass++) /* what dims belong to comes first */
        for (int i = 0; i < m->n; i++) {
            struct mfu_entry *e = &m->entries[i];

            if (pass == 0 && (sets(e, "model") || sets(e, "gpu")) && set_one(m, next, e, &problem) < 0) {
                mfu_import_leave(e, MFU_UNMODELLED, mfu_arena_copy(&m->arena, problem.text, strlen(problem.text)));
                mfu_error_clear(&problem);
            } else if (pass == 1 && sets(e, NULL) && !sets(e, "model") && !sets(e, "gpu"))
                left += waiting[i] = true;
        }
    if (left > 0 && try_all(m, next, waiting))
        left = 0;
    if (m->failed)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (left == 0)
        return 0;
    do { /* one needs another: until nothing moves */
        before = left;
        for (int i = 0; i < m->n; i++)
            if (waiting[i] && try_one(m, next, &m->entries[i], NULL)) {
                waiting[i] = false;
                left--;
            }
    } while (left > 0 && left < before && !try_all(m, next, waiting));
    for (int i = 0; i < m->n && left > 0; i++) {
        const char *why;

        if (!waiting[i])
            continue;
        mfu_error_clear(&problem);
        if (try_one(m, next, &m->entries[i], &problem))
            continue;
        if (!(why = mfu_arena_copy(&m->arena, problem.text, strlen(problem.text))))
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        mfu_import_leave(&m->entries[i], MFU_UNMODELLED, why);
    }
    return m->failed ? mfu_fail(err, MFU_ENOMEM, "out of memory") : 0;
}

void mfu_import_pass_on(const struct mfu_import *m, struct mfu_scenario *next)
{
    mfu_scenario_answer_file(next, m->path);
    for (int i = 0; i < m->n; i++) {
        const struct mfu_entry *e = &m->entries[i];
        char name[64], value[64];

        bool open = e->line == 0 && !(e->value && *e->value); /* what a file leaves to others */

        if (e->fate == MFU_UNMODELLED && e->name[0] != '$')
            mfu_scenario_leave_out(next, m->path, mfu_printable(name, sizeof name, e->key ? e->key : e->name),
                                   open ? "(not said)" : mfu_printable(value, sizeof value, e->value ? e->value : ""));
    }
}

int mfu_import_apply(struct mfu_import *m, struct mfu_scenario *next, struct mfu_error *err)
{
    if (apply(m, next, err) < 0)
        return -1;
    mfu_import_pass_on(m, next);
    return 0;
}
