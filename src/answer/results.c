/*
 * results.c - one row per result, and expressions over them.
 */
#include "answer/results.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/expression.h"
#include "base/suggest.h"

/* X(name, dimension, what it is of the plan p, meaning): adding a result is a
 * row. */
// clang-format off
#define RESULTS(X) \
    X(step_time_s,          MFU_SECONDS,    p->step.time_s,         "one optimizer step") \
    X(step_time_low_s,      MFU_SECONDS,    p->step.low_s,          "lower end of its 90 % interval") \
    X(step_time_high_s,     MFU_SECONDS,    p->step.high_s,         "upper end of its 90 % interval") \
    X(forward_s,            MFU_SECONDS,    p->step.forward_s,      "kernels of the forward passes of a step") \
    X(backward_s,           MFU_SECONDS,    p->step.backward_s,     "kernels of the backward passes of a step") \
    X(optimizer_s,          MFU_SECONDS,    p->step.optimizer_s,    "kernels of the optimizer") \
    X(communication_exposed_s, MFU_SECONDS, p->step.communication_exposed_s, "communication that nothing hides") \
    X(idle_s,               MFU_SECONDS,    p->step.idle_s,         "time in which no kernel runs") \
    X(tokens_per_step,      MFU_TOKENS,     p->step.tokens,         "tokens of one optimizer step") \
    X(tokens_per_s,         MFU_COUNT,      p->step.tokens_per_s,   "tokens trained per second") \
    X(samples_per_s,        MFU_COUNT,      p->step.samples_per_s,  "sequences trained per second") \
    X(mfu,                  MFU_RATIO,      p->mfu.mfu,             "model FLOPs over the dense peak of this GPU") \
    X(hfu,                  MFU_RATIO,      p->mfu.hfu,             "the same with recomputed FLOPs") \
    X(peak_flops,           MFU_FLOP_PER_S, p->mfu.peak_flops,      "dense peak that MFU divides by") \
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
    X(params,               MFU_PARAMS,     p->program.params,      "parameters of the model") \
    X(non_embedding_params, MFU_PARAMS,     p->program.non_embedding_params, "parameters without embeddings") \
    X(active_params,        MFU_PARAMS,     p->program.active_params, "parameters that one token uses") \
    X(kernels,              MFU_COUNT,      p->step.kernels,        "CUDA kernels of one step") \
    X(bandwidth,            MFU_BYTES_PER_S, p->config.gpu->bandwidth_bytes_s, "memory bandwidth of the GPU") \
    X(sms,                  MFU_COUNT,      p->config.gpu->sms,     "streaming multiprocessors of the GPU") \
    X(l2_bytes,             MFU_BYTES,      p->config.gpu->l2_bytes, "L2 cache of the GPU") \
    X(board_w,              MFU_WATTS,      p->config.gpu->power_w, "board power of the GPU")
// clang-format on

#define X(name, dim, value, meaning) \
    static double get_##name(const struct mfu_plan *p) { return value; }
RESULTS(X)
#undef X

const struct mfu_result mfu_results[] = {
#define X(name, dim, value, meaning) {#name, dim, get_##name, meaning},
    RESULTS(X)
#undef X
};
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

#define MOST_NAMES 32

struct name {
    const struct mfu_result *result;    /* or NULL: */
    struct mfu_key key;                 /* or MFU_KEY_NONE: */
    double choice;                      /* a choice's own number */
};

struct mfu_question {
    struct mfu_arena arena;
    struct mfu_expression *expression;
    const struct mfu_scenario *scenario;
    struct name names[MOST_NAMES];
    int n;
    enum mfu_dim dim;                   /* of the only name, else MFU_COUNT */
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

static int resolve(void *context, const char *name, struct mfu_error *err)
{
    struct mfu_question *q = context;
    struct name *n = &q->names[q->n];

    if (q->n == MOST_NAMES)
        return mfu_fail(err, MFU_EINPUT, "more than %d names in one expression", MOST_NAMES);
    *n = (struct name){.result = mfu_result_find(name)};
    q->dim = n->result ? n->result->dim : MFU_COUNT;
    if (n->result)
        return q->n++;
    n->key = mfu_scenario_key(q->scenario, name, err);
    if (n->key.kind != MFU_KEY_NONE || find_choice(name, &n->choice))
        return q->n++;
    return -1;
}

struct mfu_question *mfu_question_compile(const struct mfu_scenario *scenario, const char *text,
                                          struct mfu_error *err)
{
    struct mfu_question *q = calloc(1, sizeof *q);

    if (!q) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        return NULL;
    }
    q->scenario = scenario;
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

double mfu_question_ask(const struct mfu_question *q, const struct mfu_plan *p)
{
    double slots[MOST_NAMES];

    for (int i = 0; i < q->n; i++) {
        const struct name *n = &q->names[i];

        slots[i] = n->result ? n->result->get(p)
            : n->key.kind == MFU_KEY_SETTING ? p->config.setting[n->key.id]
            : n->key.kind == MFU_KEY_DIM ? p->config.dim[n->key.id]
            : n->key.kind == MFU_KEY_COEFFICIENT ? p->machine.c[n->key.id] : n->choice;
    }
    return mfu_expression_eval(q->expression, slots);
}

enum mfu_dim mfu_question_dim(const struct mfu_question *q)
{
    return q->dim;
}
