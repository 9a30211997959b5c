/*
 * table.c - one row per result, and expressions over them.
 */
#include "answer/metric/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/fields/fields.h"
#include "plan/metrics.h"
#include "plan/train.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/expression.h"
#include "base/suggest.h"
#include "scenario/setting.h"

static double board_watts(const struct mfu_plan *p)
{
    struct mfu_metrics m;

    mfu_metrics_of_plan(p, &m);
    return m.power_w;
}

/* Seconds of all kernels of one kind. */
static double kind_s(const struct mfu_plan *p, enum mfu_kind kind)
{
    double sum = 0;

    for (int k = 0; k < p->program.n_segments; k++) {
        const struct mfu_segment *seg = &p->program.segments[k];

        for (int i = seg->first; i < seg->first + seg->count; i++)
            if (p->program.launches[i].work->kernel.kind == kind && p->program.launches[i].work->kernel.launches > 0)
                sum += mfu_plan_times(p, seg) * p->pricing.prices[i].time_s;
    }
    return sum;
}

// clang-format off

#define KIND_RESULT(X, id, name, result, ...) \
    X(NUMBER, result, MFU_SECONDS, kind_s(p, MFU_##id), "kernels of kind " name)

/* Results that no answer has under this name. */
#define MORE(X) \
    X(NUMBER, host_s,               MFU_SECONDS,    p->step.host_s,         "dispatching on the CPU, hidden or not") \
    X(NUMBER, predicted_w,          MFU_WATTS,      board_watts(p),         "board power over the step") \
    X(NUMBER, weights_bytes,        MFU_BYTES,      p->memory.peak.parts[MFU_PART_WEIGHTS], "of the peak: weights") \
    X(NUMBER, gradients_bytes,      MFU_BYTES,      p->memory.peak.parts[MFU_PART_GRADIENTS], "of the peak: gradients") \
    X(NUMBER, optimizer_bytes,      MFU_BYTES,      p->memory.peak.parts[MFU_PART_OPTIMIZER], "of the peak: states of the optimizer") \
    X(NUMBER, ema_bytes,            MFU_BYTES,      p->memory.peak.parts[MFU_PART_EMA], "of the peak: running mean of the weights") \
    X(NUMBER, weight_casts_bytes,   MFU_BYTES,      p->memory.peak.parts[MFU_PART_WEIGHT_CASTS], "of the peak: weights in another type") \
    X(NUMBER, activations_bytes,    MFU_BYTES,      p->memory.peak.parts[MFU_PART_ACTIVATIONS], "of the peak: activations") \
    X(NUMBER, logits_loss_bytes,    MFU_BYTES,      p->memory.peak.parts[MFU_PART_LOGITS_LOSS], "of the peak: logits, loss and their gradients") \
    X(NUMBER, workspace_bytes,      MFU_BYTES,      p->memory.peak.parts[MFU_PART_WORKSPACE], "of the peak: workspace of libraries") \
    X(NUMBER, communication_bytes,  MFU_BYTES,      p->memory.peak.parts[MFU_PART_COMMUNICATION], "of the peak: buffers of exchanges") \
    X(NUMBER, other_bytes,          MFU_BYTES,      p->memory.peak.parts[MFU_PART_OTHER], "of the peak: anything else") \
    X(NUMBER, params,               MFU_PARAMS,     p->program.params,      "parameters of the model") \
    X(NUMBER, trainable_params,     MFU_PARAMS,     p->program.trainable_params, "parameters that train") \
    X(NUMBER, unreached_params,     MFU_PARAMS,     p->program.unreached_params, "of a rank's: they may train, and no gradient reaches them") \
    X(NUMBER, non_embedding_params, MFU_PARAMS,     p->program.non_embedding_params, "parameters without embeddings") \
    X(NUMBER, active_params,        MFU_PARAMS,     p->program.active_params, "parameters that one token uses") \
    MFU_KERNEL_KINDS(KIND_RESULT, X) \
    X(NUMBER, tokens_per_s_gpu,     MFU_COUNT,      p->step.tokens_per_s / p->config.ranks, "tokens trained per second and GPU") \
    X(NUMBER, kernels,              MFU_COUNT,      p->step.kernels,        "CUDA kernels of one step") \
    X(NUMBER, bandwidth,            MFU_BYTES_PER_S, p->config.gpu->bandwidth_bytes_s, "memory bandwidth of the GPU") \
    X(NUMBER, sms,                  MFU_COUNT,      p->config.gpu->sms,     "streaming multiprocessors of the GPU") \
    X(NUMBER, l2_bytes,             MFU_BYTES,      p->config.gpu->l2_bytes, "L2 cache of the GPU")
MFU_PART_RECORD(more, const struct mfu_plan *p, MORE)
// clang-format on

/* All but the last are of a plan. */
static const struct mfu_record *const groups[] = {&mfu_record_step, &mfu_record_mfu, &mfu_record_memory, &more,
                                                  &mfu_record_reading};
#define N_GROUPS (sizeof groups / sizeof groups[0])

/* A number that is not known by that name already: power_w is a setting, and mfu no
 * other than that of the plan. */
static bool is_result(size_t group, size_t field)
{
    const struct mfu_record_field *f = &groups[group]->fields[field];

    if (f->kind != MFU_IS_NUMBER && f->kind != MFU_IS_FLAG)
        return false;
    if (groups[group] != &mfu_record_reading)
        return true;
    for (size_t i = 0; i < group; i++)
        if (mfu_field_find(groups[i], f->name) >= 0)
            return false;
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        if (strcmp(mfu_settings[i].key, f->name) == 0)
            return false;
    return true;
}

static bool put(size_t group, size_t field, struct mfu_result *r)
{
    const struct mfu_record_field *f = &groups[group]->fields[field];

    *r = (struct mfu_result){f->name, f->meaning, f->dim, groups[group], field};
    return true;
}

bool mfu_result_at(size_t i, struct mfu_result *r)
{
    for (size_t group = 0; group < N_GROUPS; group++)
        for (size_t field = 0; field < groups[group]->n; field++)
            if (is_result(group, field) && i-- == 0)
                return put(group, field, r);
    return false;
}

size_t mfu_result_count(void)
{
    size_t n = 0;

    for (size_t group = 0; group < N_GROUPS; group++)
        for (size_t field = 0; field < groups[group]->n; field++)
            n += is_result(group, field);
    return n;
}

bool mfu_result_find(const char *name, struct mfu_result *r)
{
    for (size_t group = 0; group < N_GROUPS; group++) {
        int field = mfu_field_find(groups[group], name);

        if (field >= 0 && is_result(group, (size_t)field))
            return put(group, (size_t)field, r);
    }
    return false;
}

double mfu_result_value(const struct mfu_result *r, const struct mfu_plan *p)
{
    struct mfu_metrics m;

    if (r->record != &mfu_record_reading)
        return mfu_field_number(r->record, p, r->field);
    mfu_metrics_of_plan(p, &m); /* worked out only if it is asked for */
    return mfu_field_number(r->record, &m, r->field);
}

/* ---- questions ----------------------------------------------------------- */

#define MOST_NAMES 32 /* of one expression */

struct name {
    struct mfu_result result; /* its name NULL: */
    const char *figure;       /* such as kernels.gemm.share, or NULL: */
    int trained;              /* field of mfu_record_train, or -1: */
    struct mfu_key key;       /* or MFU_KEY_NONE: */
    int choice;               /* a choice's own number */
};

struct mfu_question {
    struct mfu_arena arena;
    struct mfu_expression *expression;
    const struct mfu_scenario *scenario;
    const struct mfu_run *run;
    const struct mfu_figure_source *figures;
    struct name names[MOST_NAMES];
    int n;
    int setting;           /* named last; -1: none */
    const char *text, *at; /* of the expression: what of it is resolved */
    enum mfu_dim dim;      /* of the only name, else MFU_COUNT */
    bool wants_fit;
    bool alone; /* it is nothing but one name */
};

/* Whether `fits` is one of the terms that `and` joins; none of them is in brackets. */
static bool wants_fit(const char *text)
{
    bool wants = false, begins = true, was_fits = false;
    size_t length;

    if (strpbrk(text, "(|"))
        return false;
    for (text += strspn(text, " "); *text; text += length + strspn(text + length, " ")) {
        bool joins;

        length = strcspn(text, " ");
        joins = (length == 3 && strncmp(text, "and", 3) == 0) || (length == 2 && strncmp(text, "&&", 2) == 0);
        if (length == 2 && strncmp(text, "or", 2) == 0)
            return false;
        wants |= joins && was_fits;
        was_fits = begins && length == 4 && strncmp(text, "fits", 4) == 0;
        begins = joins;
    }
    return wants || was_fits;
}

/* Of one plan of the scenario: whether there is such a figure, and its unit. */
static int try_figure(struct mfu_question *q, const char *name, struct mfu_error *err)
{
    struct mfu_error wrong = {0};
    struct mfu_plan p = {0};

    if (mfu_plan_make(&p, q->scenario, NULL) == 0)
        q->figures->value(&p, name, &q->dim, &wrong);
    mfu_plan_release(&p);
    if (wrong.code)
        *err = wrong;
    return wrong.code ? -1 : 0;
}

/* 1 with train.seconds and the like, 0 if the name is another. */
static int find_trained(struct mfu_question *q, const char *name, struct name *n, struct mfu_error *err)
{
    const char *names[32];

    if (strncmp(name, "train.", 6) != 0)
        return 0;
    if (!q->run)
        return mfu_fail(err, MFU_EINPUT, "%.60s: how many tokens? `train 10B` says so first", name);
    n->trained = mfu_field_find(&mfu_record_train, name + 6);
    q->dim = n->trained >= 0 ? mfu_record_train.fields[n->trained].dim : MFU_COUNT;
    if (n->trained >= 0)
        return 1;
    for (size_t i = 0; i < mfu_record_train.n; i++)
        names[i] = mfu_record_train.fields[i].name;
    return mfu_fail_nearest(err, name + 6, names, mfu_record_train.n, "train: no figure is called '%.60s'", name + 6);
}

int mfu_result_unknown(const struct mfu_scenario *s, const char *name, struct mfu_error *err)
{
    const char *names[MFU_RESULTS_MAX];
    size_t n = 0;

    for (struct mfu_result r; n < MFU_RESULTS_MAX && mfu_result_at(n, &r); n++)
        names[n] = r.name;
    mfu_fail(err, MFU_EINPUT, "no setting or result is called '%.60s'", name);
    mfu_key_suggest(s->model, name, names, n, err);
    return -1;
}

static int resolve(void *context, const char *name, struct mfu_error *err)
{
    struct mfu_question *q = context;
    struct name *n = &q->names[q->n];
    int found;

    if (q->n == MOST_NAMES)
        return mfu_fail(err, MFU_EINPUT, "more than %d names in one expression", MOST_NAMES);
    *n = (struct name){.trained = -1};
    if (mfu_expression_compares(q->text, &q->at, name) && q->setting >= 0
        && mfu_setting_of_choice(name, q->setting, &n->choice) == q->setting)
        return q->n++; /* `lora` in `adapter == lora` */
    q->dim = mfu_result_find(name, &n->result) ? n->result.dim : MFU_COUNT;
    if (n->result.name)
        return q->n++;
    if (q->figures && q->figures->known(name)) {
        n->figure = mfu_arena_copy(&q->arena, name, strlen(name));
        if (!n->figure)
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        return try_figure(q, name, err) < 0 ? -1 : q->n++;
    }
    if ((found = find_trained(q, name, n, err)) != 0)
        return found < 0 ? -1 : q->n++;
    n->key = mfu_scenario_key(q->scenario, name, NULL);
    if (n->key.kind == MFU_KEY_SETTING)
        q->setting = n->key.id;
    if (n->key.kind != MFU_KEY_NONE || mfu_setting_of_choice(name, q->setting, &n->choice) >= 0)
        return q->n++;
    mfu_scenario_key(q->scenario, name, err); /* why a known name is none here */
    return mfu_key_known(name) ? -1 : mfu_result_unknown(q->scenario, name, err);
}

struct mfu_question *mfu_question_compile(const struct mfu_scenario *scenario, const char *text, struct mfu_error *err)
{
    return mfu_question_compile_for(scenario, NULL, NULL, text, err);
}

struct mfu_question *mfu_question_compile_for(const struct mfu_scenario *scenario, const struct mfu_run *run,
                                              const struct mfu_figure_source *figures, const char *text,
                                              struct mfu_error *err)
{
    struct mfu_question *q = calloc(1, sizeof *q);

    if (!q) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        return NULL;
    }
    q->scenario = scenario;
    q->text = q->at = text;
    q->setting = -1;
    q->run = run;
    q->figures = figures;
    q->wants_fit = wants_fit(text);
    q->expression = mfu_expression_compile(&q->arena, text, MFU_COUNT, resolve, q, err);
    q->alone = q->n == 1 && strcspn(text, "<>=!+-*/%^?:(), ") == strlen(text);
    if (q->n != 1 || strpbrk(text, "<>=!+-*/"))
        q->dim = MFU_COUNT;
    if (!q->expression) {
        mfu_question_free(q);
        return NULL;
    }
    return q;
}

void mfu_question_free(struct mfu_question *q)
{
    if (!q)
        return;
    mfu_arena_free(&q->arena);
    free(q);
}

static double trained(const struct mfu_question *q, const struct mfu_plan *p, int field)
{
    struct mfu_training t;

    return mfu_train(p, q->run->tokens, &q->run->options, &t, NULL) < 0
        ? (double)NAN
        : mfu_field_number(&mfu_record_train, &t, (size_t)field);
}

/* Dims have numbers of their own in every model: in another than that of the
 * question they go by name. */
static double dim_of(const struct mfu_question *q, const struct mfu_plan *p, const struct name *n)
{
    if (p->config.model == q->scenario->model)
        return p->config.dim[n->key.id];
    return mfu_config_dim(&p->config, q->scenario->model->dims[n->key.id].name);
}

double mfu_question_ask(const struct mfu_question *q, const struct mfu_plan *p)
{
    double slots[MOST_NAMES];

    for (int i = 0; i < q->n; i++) {
        const struct name *n = &q->names[i];

        slots[i] = n->result.name                ? mfu_result_value(&n->result, p)
            : n->figure                          ? q->figures->value(p, n->figure, NULL, NULL)
            : n->trained >= 0                    ? trained(q, p, n->trained)
            : n->key.kind == MFU_KEY_SETTING     ? p->config.setting[n->key.id]
            : n->key.kind == MFU_KEY_DIM         ? dim_of(q, p, n)
            : n->key.kind == MFU_KEY_COEFFICIENT ? p->machine.c[n->key.id]
                                                 : n->choice;
    }
    return mfu_expression_eval(q->expression, slots);
}

enum mfu_dim mfu_question_dim(const struct mfu_question *q)
{
    return q->dim;
}

bool mfu_question_wants_fit(const struct mfu_question *q)
{
    return q->wants_fit;
}

bool mfu_question_of_sums(const struct mfu_question *q)
{
    for (int i = 0; i < q->n; i++) {
        const struct name *n = &q->names[i];

        if (n->figure || n->trained >= 0 || n->result.record == &more || n->result.record == &mfu_record_reading)
            return false;
    }
    return true;
}

bool mfu_question_of_interval(const struct mfu_question *q)
{
    static const char *const ends[] = {"step_time_low_s", "step_time_high_s"};

    for (int i = 0; i < q->n; i++)
        for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++)
            if (q->names[i].result.name && strcmp(q->names[i].result.name, ends[k]) == 0)
                return true;
    return false;
}

int mfu_question_with_time(const struct mfu_question *q)
{
    static const char *const falling[] = {"tokens_per_s", "samples_per_s", "useful_tokens_per_s",
                                          "mfu",          "hfu",           "achieved_flops"};
    const char *name = q->alone ? q->names[0].result.name : NULL;

    for (size_t i = 0; name && i < sizeof falling / sizeof falling[0]; i++)
        if (strcmp(name, falling[i]) == 0)
            return -1;
    return name && strcmp(name, "step_time_s") == 0;
}
