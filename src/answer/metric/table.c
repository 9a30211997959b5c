/*
 * table.c - one row per result, and expressions over them.
 */
#include "answer/metric/table.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/metric/path.h"
#include "plan/metrics.h"
#include "plan/train.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/expression.h"
#include "base/suggest.h"
#include "scenario/setting.h"

/* What the meters read over a step is worked out only if it is asked for. */
static struct mfu_metrics meters(const struct mfu_plan *p)
{
    struct mfu_metrics m;

    mfu_metrics_of_plan(p, &m);
    return m;
}

/* Peaks are rated; cards may run faster. */
static double observed_peak(const struct mfu_plan *p)
{
    const struct mfu_gpu *g = p->config.gpu;

    return p->mfu.peak_flops * g->max_observed_hz / (g->tensor_hz > 0 ? g->tensor_hz : g->boost_hz);
}

/* Seconds of all kernels of one kind. */
static double kind_s(const struct mfu_plan *p, enum mfu_kind kind)
{
    double sum = 0;

    for (int k = 0; k < p->program.n_segments; k++) {
        const struct mfu_segment *seg = &p->program.segments[k];

        for (int i = seg->first; i < seg->first + seg->count; i++)
            if (p->program.launches[i].kernel.kind == kind && p->program.launches[i].kernel.launches > 0)
                sum += mfu_plan_times(p, seg) * p->pricing.prices[i].time_s;
    }
    return sum;
}

/* X(name, dimension, what it is of the plan p, meaning): adding a result is a
 * row. */
// clang-format off
/* clang-format off: a table */
#define KIND_RESULT(X, id, name, result, ...) X(result, MFU_SECONDS, kind_s(p, MFU_##id), "kernels of kind " name)
#define RESULTS(X) \
    X(step_time_s,          MFU_SECONDS,    p->step.time_s,         "one optimizer step") \
    X(step_time_low_s,      MFU_SECONDS,    p->step.low_s,          "lower end of its 90 % interval") \
    X(step_time_high_s,     MFU_SECONDS,    p->step.high_s,         "upper end of its 90 % interval") \
    X(forward_s,            MFU_SECONDS,    p->step.forward_s,      "kernels of the forward passes of a step") \
    X(backward_s,           MFU_SECONDS,    p->step.backward_s,     "kernels of the backward passes of a step") \
    X(optimizer_s,          MFU_SECONDS,    p->step.optimizer_s,    "kernels of the optimizer") \
    X(communication_exposed_s, MFU_SECONDS, p->step.communication_exposed_s, "what exchanges add to the step: unhidden, or slowing kernels beside them") \
    X(idle_s,               MFU_SECONDS,    p->step.idle_s,         "time in which no kernel runs") \
    X(busy_s,               MFU_SECONDS,    p->step.busy_s,         "sum of all kernels") \
    X(host_s,               MFU_SECONDS,    p->step.host_s,         "dispatching on the CPU, hidden or not") \
    X(communication_s,      MFU_SECONDS,    p->step.communication_s, "exchanges, hidden or not") \
    X(matmul_s,             MFU_SECONDS,    p->matmul_seconds,      "matrix products and attention") \
    X(tokens_per_step,      MFU_TOKENS,     p->step.tokens,         "tokens of one optimizer step") \
    X(tokens_per_s,         MFU_COUNT,      p->step.tokens_per_s,   "tokens trained per second") \
    X(samples_per_s,        MFU_COUNT,      p->step.samples_per_s,  "sequences trained per second") \
    X(mfu,                  MFU_RATIO,      p->mfu.mfu,             "model FLOPs over the dense peak of this GPU") \
    X(hfu,                  MFU_RATIO,      p->mfu.hfu,             "the same with recomputed FLOPs") \
    X(peak_flops,           MFU_FLOP_PER_S, p->mfu.peak_flops,      "dense peak that MFU divides by") \
    X(observed_peak_flops,  MFU_FLOP_PER_S, observed_peak(p),       "the same at the highest clock seen of such cards") \
    X(achieved_flops,       MFU_FLOP_PER_S, p->mfu.achieved_flops,  "model FLOPs per second") \
    X(model_flops_per_step, MFU_FLOP,       p->mfu.model_flops,     "model FLOPs of one step") \
    X(hardware_flops_per_step, MFU_FLOP,    p->mfu.hardware_flops,  "FLOPs that one step really computes") \
    X(fits,                 MFU_COUNT,      p->memory.fits,         "1 if the memory suffices, else 0") \
    X(capacity_bytes,       MFU_BYTES,      p->memory.capacity_bytes, "memory that the card offers to a process") \
    X(peak_allocated_bytes, MFU_BYTES,      p->memory.peak.bytes,   "as torch.cuda.max_memory_allocated() says") \
    X(peak_reserved_bytes,  MFU_BYTES,      p->memory.reserved_bytes, "as torch.cuda.max_memory_reserved() says") \
    X(context_bytes,        MFU_BYTES,      p->memory.context_bytes, "CUDA context, kernels and libraries") \
    X(smi_used_bytes,       MFU_BYTES,      p->memory.smi_bytes,    "what nvidia-smi shows for the process") \
    X(fill,                 MFU_RATIO,      p->memory.fill,         "share of the capacity in use") \
    X(cached_bytes,         MFU_BYTES,      p->memory.reserved_bytes - p->memory.peak.bytes, "reserved beyond allocated: free blocks kept") \
    X(missing_bytes,        MFU_BYTES,      p->memory.missing_bytes, "that do not fit; negative: left over") \
    X(weights_bytes,        MFU_BYTES,      p->memory.peak.parts[MFU_PART_WEIGHTS], "of the peak: weights") \
    X(gradients_bytes,      MFU_BYTES,      p->memory.peak.parts[MFU_PART_GRADIENTS], "of the peak: gradients") \
    X(optimizer_bytes,      MFU_BYTES,      p->memory.peak.parts[MFU_PART_OPTIMIZER], "of the peak: states of the optimizer") \
    X(weight_casts_bytes,   MFU_BYTES,      p->memory.peak.parts[MFU_PART_WEIGHT_CASTS], "of the peak: weights in another type") \
    X(activations_bytes,    MFU_BYTES,      p->memory.peak.parts[MFU_PART_ACTIVATIONS], "of the peak: activations") \
    X(logits_loss_bytes,    MFU_BYTES,      p->memory.peak.parts[MFU_PART_LOGITS_LOSS], "of the peak: logits, loss and their gradients") \
    X(workspace_bytes,      MFU_BYTES,      p->memory.peak.parts[MFU_PART_WORKSPACE], "of the peak: workspace of libraries") \
    X(communication_bytes,  MFU_BYTES,      p->memory.peak.parts[MFU_PART_COMMUNICATION], "of the peak: buffers of exchanges") \
    X(other_bytes,          MFU_BYTES,      p->memory.peak.parts[MFU_PART_OTHER], "of the peak: anything else") \
    X(params,               MFU_PARAMS,     p->program.params,      "parameters of the model") \
    X(non_embedding_params, MFU_PARAMS,     p->program.non_embedding_params, "parameters without embeddings") \
    X(active_params,        MFU_PARAMS,     p->program.active_params, "parameters that one token uses") \
    MFU_KERNEL_KINDS(KIND_RESULT, X) \
    X(gpu_utilization,      MFU_RATIO,      meters(p).gpu_utilization, "nvidia-smi: time with a kernel running") \
    X(sm_efficiency,        MFU_RATIO,      meters(p).sm_efficiency, "PyTorch profiler: blocks per SM, at most 1") \
    X(sm_active,            MFU_RATIO,      meters(p).sm_active, "DCGM SM_ACTIVE") \
    X(sm_occupancy,         MFU_RATIO,      meters(p).sm_occupancy, "DCGM SM_OCCUPANCY") \
    X(achieved_occupancy,   MFU_RATIO,      meters(p).achieved_occupancy, "PyTorch profiler: occupancy over busy time") \
    X(tensor_active,        MFU_RATIO,      meters(p).tensor_active, "DCGM PIPE_TENSOR_ACTIVE") \
    X(dram_active,          MFU_RATIO,      meters(p).dram_active, "DCGM DRAM_ACTIVE") \
    X(memory_utilization,   MFU_RATIO,      meters(p).memory_utilization, "nvidia-smi: time with memory traffic") \
    X(tensor_kernels,       MFU_RATIO,      meters(p).tensor_kernels, "share of busy time in tensor-core kernels") \
    X(memory_used_fill,     MFU_RATIO,      p->memory.fill,         "nvidia-smi: memory in use; fill") \
    X(predicted_w,          MFU_WATTS,      meters(p).power_w,      "board power over the step") \
    X(kernels,              MFU_COUNT,      p->step.kernels,        "CUDA kernels of one step") \
    X(bandwidth,            MFU_BYTES_PER_S, p->config.gpu->bandwidth_bytes_s, "memory bandwidth of the GPU") \
    X(sms,                  MFU_COUNT,      p->config.gpu->sms,     "streaming multiprocessors of the GPU") \
    X(l2_bytes,             MFU_BYTES,      p->config.gpu->l2_bytes, "L2 cache of the GPU") \
    X(board_w,              MFU_WATTS,      p->config.gpu->power_w, "board power of the GPU")
/* clang-format on */
// clang-format on

#define X(name, dim, value, meaning)                                                                                   \
    static double get_##name(const struct mfu_plan *p)                                                                 \
    {                                                                                                                  \
        return value;                                                                                                  \
    }
RESULTS(X)
#undef X

const struct mfu_result mfu_results[] = {
#define X(name, dim, value, meaning) {#name, dim, get_##name, meaning},
    RESULTS(X)
#undef X
};
static_assert(sizeof mfu_results / sizeof mfu_results[0] <= MFU_RESULTS_MAX, "more results than fit");
const size_t mfu_result_count = sizeof mfu_results / sizeof mfu_results[0];

const struct mfu_result *mfu_result_find(const char *name)
{
    for (size_t i = 0; i < mfu_result_count; i++)
        if (strcmp(mfu_results[i].name, name) == 0)
            return &mfu_results[i];
    for (size_t i = 0; i < mfu_result_count; i++)
        if (mfu_same_name(mfu_results[i].name, name))
            return &mfu_results[i];
    return NULL;
}

/* ---- questions ----------------------------------------------------------- */

#define MOST_NAMES 32 /* of one expression */

struct name {
    const struct mfu_result *result;        /* or NULL: */
    const char *figure;                     /* such as kernels.gemm.share, or NULL: */
    const struct mfu_train_figure *trained; /* such as train.seconds, or NULL: */
    struct mfu_key key;                     /* or MFU_KEY_NONE: */
    double choice;                          /* a choice's own number */
};

struct mfu_question {
    struct mfu_arena arena;
    struct mfu_expression *expression;
    const struct mfu_scenario *scenario;
    const struct mfu_run *run;
    struct name names[MOST_NAMES];
    int n;
    enum mfu_dim dim; /* of the only name, else MFU_COUNT */
};

/* The right side of `runtime == compile`; settings keep choices as numbers. */
static bool find_choice(const char *name, double *value)
{
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        for (int k = 0; mfu_settings[i].choices && mfu_settings[i].choices[k]; k++)
            if (mfu_same_name(mfu_settings[i].choices[k], name)) {
                *value = k;
                return true;
            }
    return false;
}

static double figure(const struct mfu_plan *p, const char *name, enum mfu_dim *dim, struct mfu_error *err)
{
    struct mfu_figures figures = {.plan = p};
    struct mfu_figure_value f = {.value = NAN, .dim = MFU_COUNT};

    if (mfu_figure_find(&figures, name, &f, err) > 0 && f.word)
        mfu_fail(err, MFU_EINPUT, "a word, no number: for print and check only");
    mfu_figures_forget(&figures);
    if (dim)
        *dim = f.dim;
    return f.value;
}

/* Of one plan of the scenario: whether there is such a figure, and its unit. */
static int try_figure(struct mfu_question *q, const char *name, struct mfu_error *err)
{
    struct mfu_error wrong = {0};
    struct mfu_plan p = {0};

    if (mfu_plan_make(&p, q->scenario, NULL) == 0)
        figure(&p, name, &q->dim, &wrong);
    mfu_plan_release(&p);
    if (wrong.code)
        *err = wrong;
    return wrong.code ? -1 : 0;
}

/* 1 with train.seconds and the like, 0 if the name is another. */
static int find_trained(struct mfu_question *q, const char *name, struct name *n, struct mfu_error *err)
{
    const char *names[32], *best;

    if (strncmp(name, "train.", 6) != 0)
        return 0;
    if (!q->run)
        return mfu_fail(err, MFU_EINPUT, "%.60s: how many tokens? `train 10B` says so first", name);
    for (size_t i = 0; i < mfu_train_figure_count; i++) {
        names[i] = mfu_train_figures[i].name;
        if (mfu_same_name(names[i], name + 6))
            n->trained = &mfu_train_figures[i];
    }
    q->dim = n->trained ? n->trained->dim : MFU_COUNT;
    if (n->trained)
        return 1;
    mfu_fail(err, MFU_EINPUT, "train: no figure is called '%.60s'", name + 6);
    if (mfu_suggest(name + 6, names, mfu_train_figure_count, &best, 1))
        mfu_error_suggest(err, best);
    return -1;
}

int mfu_result_unknown(const struct mfu_scenario *s, const char *name, struct mfu_error *err)
{
    const char *names[MFU_RESULTS_MAX];
    size_t n = 0;

    for (; n < mfu_result_count && n < MFU_RESULTS_MAX; n++)
        names[n] = mfu_results[n].name;
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
    *n = (struct name){.result = mfu_result_find(name)};
    q->dim = n->result ? n->result->dim : MFU_COUNT;
    if (n->result)
        return q->n++;
    if (mfu_figure_known(name)) {
        n->figure = mfu_arena_copy(&q->arena, name, strlen(name));
        if (!n->figure)
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        return try_figure(q, name, err) < 0 ? -1 : q->n++;
    }
    if ((found = find_trained(q, name, n, err)) != 0)
        return found < 0 ? -1 : q->n++;
    n->key = mfu_scenario_key(q->scenario, name, NULL);
    if (n->key.kind != MFU_KEY_NONE || find_choice(name, &n->choice))
        return q->n++;
    mfu_scenario_key(q->scenario, name, err); /* why a known name is none here */
    return mfu_key_known(name) ? -1 : mfu_result_unknown(q->scenario, name, err);
}

struct mfu_question *mfu_question_compile(const struct mfu_scenario *scenario, const char *text, struct mfu_error *err)
{
    return mfu_question_compile_for(scenario, NULL, text, err);
}

struct mfu_question *mfu_question_compile_for(const struct mfu_scenario *scenario, const struct mfu_run *run,
                                              const char *text, struct mfu_error *err)
{
    struct mfu_question *q = calloc(1, sizeof *q);

    if (!q) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        return NULL;
    }
    q->scenario = scenario;
    q->run = run;
    q->expression = mfu_expression_compile(&q->arena, text, MFU_COUNT, resolve, q, err);
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

static double trained(const struct mfu_question *q, const struct mfu_plan *p, const struct mfu_train_figure *figure)
{
    struct mfu_training t;

    return mfu_train(p, q->run->tokens, &q->run->options, &t, NULL) < 0 ? NAN : mfu_train_figure(&t, figure);
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

        slots[i] = n->result                     ? n->result->get(p)
            : n->figure                          ? figure(p, n->figure, NULL, NULL)
            : n->trained                         ? trained(q, p, n->trained)
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
