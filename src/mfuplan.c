/*
 * mfuplan.c - the public library; its first page is the path of one plan, read it first.
 *
 * A scenario (what the user says) is resolved into a configuration (every value worked out); the
 * graph of one training step is built from it (graph/), every launch priced (cost/), the peak of
 * memory read from the lifetimes of the tensors (graph/lifetime.h): that is the analytic path,
 * microseconds.  The simulation then sends the launches through the host's queue and the GPU's
 * streams, and the allocations through the caching allocator (simulate/).  Both are in plan/.
 */
#include "mfuplan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/fields/fields.h"
#include "answer/metric/path.h"
#include "answer/metric/table.h"
#include "answer/search/sweep.h"
#include "base/error.h"
#include "base/suggest.h"
#include "descriptor/catalog.h"
#include "plan/plan.h"
#include "plan/simulation.h"
#include "read/config/import.h"
#include "report/html/html.h"
#include "report/json/json.h"
#include "scenario/keys.h"

struct mfuplan_catalog {
    struct mfu_catalog *catalog;
};

struct mfuplan_scenario {
    struct mfu_catalog *catalog;
    struct mfu_scenario value;
};

struct mfuplan_plan {
    struct mfu_scenario scenario; /* that was planned; questions look at it */
    struct mfu_plan plan;
    struct mfu_simulation simulation;
    bool made;
};

struct mfuplan_sweep {
    struct mfu_catalog *catalog;
    struct mfu_scenario scenario;
    struct mfu_sweep sweep;
    struct mfu_sweep_result result;
};

/* ---- the path of one plan ----------------------------------------------- */

static int fail(mfuplan_error *to, const struct mfu_error *from);

int mfuplan_run(mfuplan_plan *p, const mfuplan_scenario *s, mfuplan_depth depth, mfuplan_error *err)
{
    struct mfu_error why = {0};

    p->scenario = s->value;
    p->made = mfu_plan_make(&p->plan, &p->scenario, &why) == 0
        && (depth == MFUPLAN_ANALYTIC || mfu_simulate(&p->plan, false, &p->simulation, &why) == 0);
    return p->made ? 0 : fail(err, &why);
}

mfuplan_plan *mfuplan_plan_new(void)
{
    return calloc(1, sizeof(mfuplan_plan));
}

void mfuplan_plan_free(mfuplan_plan *p)
{
    if (!p)
        return;
    mfu_simulation_release(&p->simulation);
    mfu_plan_release(&p->plan);
    free(p);
}

/* ---- errors ------------------------------------------------------------- */

/* Hands an error of the inside to the caller.  Returns -1. */
static int fail(mfuplan_error *to, const struct mfu_error *from)
{
    static const mfuplan_code codes[] = {[MFU_OK] = MFUPLAN_EINPUT,
                                         [MFU_EINPUT] = MFUPLAN_EINPUT,
                                         [MFU_EIO] = MFUPLAN_EIO,
                                         [MFU_ENOMEM] = MFUPLAN_ENOMEM,
                                         [MFU_EUNMET] = MFUPLAN_EINPUT};

    if (!to)
        return -1;
    *to = (mfuplan_error){.code = codes[from->code], .line = from->line, .column = from->column};
    snprintf(to->message, sizeof to->message, "%s", from->text);
    snprintf(to->file, sizeof to->file, "%s", from->file);
    snprintf(to->suggestion, sizeof to->suggestion, "%s", from->suggestion);
    return -1;
}

static void *no_memory(mfuplan_error *err)
{
    struct mfu_error why;

    mfu_fail(&why, MFU_ENOMEM, "out of memory");
    fail(err, &why);
    return NULL;
}

static int refuse(mfuplan_error *err, const char *message, const char *what)
{
    struct mfu_error why;

    mfu_fail(&why, MFU_EINPUT, message, what);
    return fail(err, &why);
}

/* ---- the catalog -------------------------------------------------------- */

const char *mfuplan_version(void)
{
    return MFUPLAN_VERSION;
}

mfuplan_catalog *mfuplan_open(const char *data_dir, const char *calibrations, mfuplan_error *err)
{
    mfuplan_catalog *c = calloc(1, sizeof *c);
    struct mfu_error why = {0};

    if (!c)
        return no_memory(err);
    if (!(c->catalog = mfu_catalog_open(data_dir, calibrations, &why))) {
        fail(err, &why);
        free(c);
        return NULL;
    }
    return c;
}

void mfuplan_close(mfuplan_catalog *c)
{
    if (c)
        mfu_catalog_free(c->catalog);
    free(c);
}

const char *const *mfuplan_models(mfuplan_catalog *c, size_t *n)
{
    return mfu_catalog_models(c->catalog, n ? n : &(size_t){0});
}

const char *const *mfuplan_gpus(mfuplan_catalog *c, size_t *n)
{
    return mfu_catalog_gpus(c->catalog, n ? n : &(size_t){0});
}

/* ---- the scenario ------------------------------------------------------- */

mfuplan_scenario *mfuplan_scenario_new(mfuplan_catalog *c, const char *model, const char *gpu, mfuplan_error *err)
{
    mfuplan_scenario *s = calloc(1, sizeof *s);

    if (!s)
        return no_memory(err);
    s->catalog = c->catalog;
    s->value = mfu_scenario_start(NULL, NULL);
    if (mfuplan_set(s, "gpu", gpu, err) < 0 || mfuplan_set(s, "model", model, err) < 0) {
        free(s);
        return NULL;
    }
    return s;
}

mfuplan_scenario *mfuplan_scenario_copy(const mfuplan_scenario *s)
{
    mfuplan_scenario *copy = malloc(sizeof *copy);

    if (copy)
        *copy = *s;
    return copy;
}

void mfuplan_scenario_free(mfuplan_scenario *s)
{
    free(s);
}

static int choose_gpu(mfuplan_scenario *s, const char *name, struct mfu_error *why)
{
    const struct mfu_gpu *gpu = mfu_catalog_gpu(s->catalog, name, why);

    if (!gpu)
        return -1;
    s->value.gpu = gpu;
    s->value.gpu_given = true;
    return 0;
}

static int choose_model(mfuplan_scenario *s, const char *name, struct mfu_error *why)
{
    const struct mfu_model *model = mfu_catalog_model(s->catalog, name, why);

    if (!model)
        return -1;
    mfu_scenario_model(&s->value, model);
    s->value.model_given = true;
    return 0;
}

int mfuplan_set(mfuplan_scenario *s, const char *key, const char *value, mfuplan_error *err)
{
    struct mfu_error why = {0};
    int status = mfu_same_name(key, "gpu") ? choose_gpu(s, value, &why)
        : mfu_same_name(key, "model")      ? choose_model(s, value, &why)
                                           : mfu_scenario_set(&s->value, key, value, &why);

    return status == 0 ? 0 : fail(err, &why);
}

int mfuplan_unset(mfuplan_scenario *s, const char *key, mfuplan_error *err)
{
    struct mfu_error why = {0};

    return mfu_scenario_unset(&s->value, key, &why) == 0 ? 0 : fail(err, &why);
}

/* The key and the scenario with everything worked out. */
static int look_up(const mfuplan_scenario *s, const char *name, struct mfu_key *key, struct mfu_config *config,
                   mfuplan_error *err)
{
    struct mfu_error why = {0};

    *key = mfu_scenario_key(&s->value, name, &why);
    if (key->kind == MFU_KEY_NONE || mfu_scenario_resolve(&s->value, config, &why) < 0)
        return fail(err, &why);
    return 0;
}

int mfuplan_value(const mfuplan_scenario *s, const char *name, double *value, mfuplan_error *err)
{
    struct mfu_config config;
    struct mfu_key key;

    if (look_up(s, name, &key, &config, err) < 0)
        return -1;
    *value = mfu_config_value(&config, key);
    return 0;
}

int mfuplan_text(const mfuplan_scenario *s, const char *name, char *buf, size_t size, mfuplan_error *err)
{
    char text[MFU_QUANTITY_MAX];
    struct mfu_config config;
    struct mfu_key key;

    if (look_up(s, name, &key, &config, err) < 0)
        return -1;
    snprintf(buf, size, "%s", mfu_key_exact(text, &s->value, key, mfu_config_value(&config, key)));
    return 0;
}

int mfuplan_import(mfuplan_scenario *s, const char *path, const char *format,
                   void (*unmodelled)(void *context, const char *name, const char *value, const char *why),
                   void *context, mfuplan_error *err)
{
    struct mfu_scenario next = s->value;
    struct mfu_import *m = calloc(1, sizeof *m);
    struct mfu_error why = {0};
    int status;

    if (!m) {
        no_memory(err);
        return -1;
    }
    m->catalog = s->catalog;
    m->start = &s->value;
    status = mfu_import_read(m, path, format, &why);
    if (status == 0)
        status = mfu_import_apply(m, &next, &why);
    for (int i = 0; status == 0 && unmodelled && i < m->n; i++)
        if (m->entries[i].fate == MFU_UNMODELLED)
            unmodelled(context, m->entries[i].name, m->entries[i].value ? m->entries[i].value : "",
                       m->entries[i].note ? m->entries[i].note : "");
    mfu_import_release(m);
    free(m);
    if (status < 0)
        return fail(err, &why);
    s->value = next;
    return 0;
}

/* ---- results ------------------------------------------------------------ */

int mfuplan_result(const mfuplan_plan *p, const char *name, double *value, mfuplan_error *err)
{
    struct mfu_result r;
    struct mfu_error why = {0};

    if (!p->made)
        return refuse(err, "%s", "nothing has been planned");
    if (!mfu_result_find(name, &r)) {
        mfu_result_unknown(&p->scenario, name, &why);
        return fail(err, &why);
    }
    *value = mfu_result_value(&r, &p->plan);
    return 0;
}

const char *mfuplan_result_name(size_t i, const char **meaning)
{
    struct mfu_result r;

    if (!mfu_result_at(i, &r))
        return NULL;
    if (meaning)
        *meaning = r.meaning;
    return r.name;
}

int mfuplan_ask(const mfuplan_plan *p, const char *expression, double *value, mfuplan_error *err)
{
    struct mfu_error why = {0};
    struct mfu_question *q;

    if (!p->made)
        return refuse(err, "%s", "nothing has been planned");
    if (!(q = mfu_question_compile_for(&p->scenario, NULL, &mfu_figure_names, expression, &why)))
        return fail(err, &why);
    *value = mfu_question_ask(q, &p->plan);
    mfu_question_free(q);
    return 0;
}

char *mfuplan_json(const mfuplan_plan *p, const char *answer, mfuplan_error *err)
{
    static const struct mfu_record *const answers[] = {&mfu_record_plan,    &mfu_record_memory, &mfu_record_kernels,
                                                       &mfu_record_step,    &mfu_record_mfu,    &mfu_record_metrics,
                                                       &mfu_record_roofline};

    if (!p->made) {
        refuse(err, "%s", "nothing has been planned");
        return NULL;
    }
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        if (strcmp(answers[i]->command, answer) == 0) {
            size_t length;
            char *text = mfu_json_write(answers[i], &p->plan, &length);

            return text ? text : no_memory(err);
        }
    refuse(err, "no answer is called '%.60s'", answer);
    return NULL;
}

char *mfuplan_html(mfuplan_plan *p, mfuplan_error *err)
{
    const struct mfu_html_report page = {.plan = &p->plan, .simulation = &p->simulation, .version = mfuplan_version()};
    struct mfu_error why = {0};
    char *text = NULL;
    size_t size;
    FILE *out;
    int status;

    if (!p->made) {
        refuse(err, "%s", "nothing has been planned");
        return NULL;
    }
    if (!(out = open_memstream(&text, &size)))
        return no_memory(err);
    status = mfu_simulate(&p->plan, true, &p->simulation, &why);
    if (status == 0)
        status = mfu_html_put_page(out, &page, &why);
    if (fclose(out) != 0 && status == 0)
        status = mfu_fail(&why, MFU_ENOMEM, "out of memory");
    if (status == 0)
        return text;
    free(text);
    fail(err, &why);
    return NULL;
}

/* ---- many plans --------------------------------------------------------- */

mfuplan_sweep *mfuplan_sweep_new(const mfuplan_scenario *scenario)
{
    mfuplan_sweep *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->catalog = scenario->catalog;
    s->scenario = scenario->value;
    s->sweep.scenario = &s->scenario;
    return s;
}

void mfuplan_sweep_free(mfuplan_sweep *s)
{
    if (!s)
        return;
    mfu_sweep_result_free(&s->result);
    mfu_sweep_clear(&s->sweep);
    free(s);
}

int mfuplan_sweep_axis(mfuplan_sweep *s, const char *key, const char *values, mfuplan_error *err)
{
    struct mfu_axis *a = &s->sweep.axes[s->sweep.n_axes];
    struct mfu_error why = {0};
    int status;

    if (s->sweep.n_axes == MFU_AXES)
        return refuse(err, "%s: too many axes", key);
    status = mfu_same_name(key, "gpu") ? mfu_axis_read_gpus(a, s->catalog, values, &why)
        : mfu_same_name(key, "model")  ? mfu_axis_read_models(a, s->catalog, values, &why)
                                       : mfu_axis_read(a, &s->scenario, key, values, &why);
    if (status < 0) {
        mfu_axis_free(a);
        *a = (struct mfu_axis){0};
        return fail(err, &why);
    }
    s->sweep.n_axes++;
    return 0;
}

int mfuplan_sweep_where(mfuplan_sweep *s, const char *expression, mfuplan_error *err)
{
    struct mfu_error why = {0};
    struct mfu_question *q = mfu_question_compile_for(&s->scenario, NULL, &mfu_figure_names, expression, &why);

    if (!q)
        return fail(err, &why);
    mfu_question_free(s->sweep.where);
    s->sweep.where = q;
    return 0;
}

int mfuplan_sweep_column(mfuplan_sweep *s, const char *expression, mfuplan_error *err)
{
    struct mfu_error why = {0};

    if (s->sweep.n_columns == MFU_COLUMNS)
        return refuse(err, "%s: too many columns", expression);
    if (!(s->sweep.columns[s->sweep.n_columns] =
              mfu_question_compile_for(&s->scenario, NULL, &mfu_figure_names, expression, &why)))
        return fail(err, &why);
    snprintf(s->sweep.column_names[s->sweep.n_columns], sizeof s->sweep.column_names[0], "%s", expression);
    s->sweep.n_columns++;
    return 0;
}

void mfuplan_sweep_best(mfuplan_sweep *s, size_t n, bool largest)
{
    s->sweep.keep = n;
    s->sweep.maximize = largest;
}

int mfuplan_sweep_shard(mfuplan_sweep *s, size_t shard, size_t shards, mfuplan_error *err)
{
    if (shard >= shards || shards > MFU_SHARDS)
        return refuse(err, "%s: parts are numbered from 0, and not more than a million", "shard");
    s->sweep.shard = shard;
    s->sweep.shards = shards;
    return 0;
}

int mfuplan_sweep_run(mfuplan_sweep *s, mfuplan_depth depth, int threads, mfuplan_error *err)
{
    struct mfu_error why = {0};

    mfu_sweep_result_free(&s->result);
    s->sweep.simulated = depth == MFUPLAN_SIMULATED;
    s->sweep.threads = threads;
    return mfu_sweep_run(&s->sweep, &s->result, &why) == 0 ? 0 : fail(err, &why);
}

size_t mfuplan_sweep_rows(const mfuplan_sweep *s)
{
    return s->result.n_rows;
}

double mfuplan_sweep_get(const mfuplan_sweep *s, size_t row, size_t column)
{
    return row < s->result.n_rows && column < s->sweep.n_columns ? s->result.rows[row].columns[column] : NAN;
}

size_t mfuplan_sweep_combination(const mfuplan_sweep *s, size_t row)
{
    return row < s->result.n_rows ? s->result.rows[row].combination : 0;
}

mfuplan_scenario *mfuplan_sweep_scenario(const mfuplan_sweep *s, size_t row)
{
    mfuplan_scenario *x = row < s->result.n_rows ? malloc(sizeof *x) : NULL;

    if (x) {
        x->catalog = s->catalog;
        x->value = mfu_sweep_scenario(&s->sweep, s->result.rows[row].combination);
    }
    return x;
}
