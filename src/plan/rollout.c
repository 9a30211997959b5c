/*
 * rollout.c - prefill and decode as forward passes of the training graph.
 */
#include "plan/rollout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/maker.h"
#include "scenario/adapter.h"
#include "scenario/runtime.h"
#include "scenario/setting.h"

const char *const mfu_held_names[] = {"bf16", "fp8", "int8", "int4", "fp4", NULL};
const char *const mfu_sender_names[] = {"engine", "generate", NULL};

/* Bytes per element with their scales: one of 16 bits per 128 (GPTQ, AWQ); of fp4 one of 8 bits per 16. */
static const struct {
    double bytes;
    enum mfu_peak math; /* of its products, where the GPU has it; else they are made 16 bits wide on the way */
} held[MFU_HELD_COUNT] = {
    [MFU_HELD_BF16] = {2, MFU_PEAK_BF16},
    [MFU_HELD_FP8] = {1, MFU_PEAK_FP8},
    [MFU_HELD_INT8] = {1 + 2. / 128, MFU_PEAK_BF16},
    [MFU_HELD_INT4] = {0.5 + 2. / 128, MFU_PEAK_BF16},
    [MFU_HELD_FP4] = {0.5 + 1. / 16, MFU_PEAK_NVFP4},
};

#define AT(field) offsetof(struct mfu_rollout_options, field)
// clang-format off
const struct mfu_command_option mfu_rollout_option_rows[] = {
    {"prompt",    MFU_TOKENS, 1,    1e7,  512,  AT(prompt),    "tokens of a prompt", NULL},
    {"new",       MFU_TOKENS, 1,    1e7,  512,  AT(answer),    "tokens of the longest answer", NULL},
    {"sequences", MFU_COUNT,  0,    1e6,  0,    AT(sequences), "at once; 0: as many as fit", NULL},
    {"weights",   MFU_COUNT,  0,    0,    MFU_HELD_BF16, AT(weights), "how they are held: bf16, fp8, int8, int4, fp4", mfu_held_names},
    {"kv",        MFU_COUNT,  0,    0,    MFU_HELD_BF16, AT(kv),      "how keys and values are held: bf16, fp8, int8, int4", mfu_held_names},
    {"by",        MFU_COUNT,  0,    0,    MFU_SENDER_ENGINE, AT(sender), "engine (CUDA graphs) or generate (transformers, eager)", mfu_sender_names},
    {"most",      MFU_COUNT,  1,    1e6,  2048, AT(most),      "sequences that the engine takes at once", NULL},
    {"share",     MFU_RATIO,  0.01, 1,    0.92, AT(share),     "of the memory that weights leave which the cache may fill", NULL},
    {"memory",    MFU_RATIO,  0,    1,    0,    AT(memory),    "of the card, which the engine takes in all (vLLM's gpu_memory_utilization); 0: as share says", NULL},
    {"shortest",  MFU_RATIO,  0,    1,    1,    AT(shortest),  "answer, of the longest: lengths lie evenly between", NULL},
};
// clang-format on
const size_t mfu_rollout_option_count = sizeof mfu_rollout_option_rows / sizeof *mfu_rollout_option_rows;

struct mfu_rollout_options mfu_rollout_defaults(void)
{
    struct mfu_rollout_options o;

    mfu_options_begin(mfu_rollout_option_rows, mfu_rollout_option_count, &o);
    return o;
}

/* Tokens that an engine takes through one prefill pass (vLLM's and TensorRT-LLM's max_num_batched_tokens, max_num_tokens: 8192). */
#define PASS_TOKENS 8192
#define PIECES 8 /* of an answer, over which sequences end (chosen) */

/* One forward pass: sequences of `seq` new tokens behind `cached` ones. */
struct pass {
    const struct mfu_rollout_options *o;
    double batch, seq, cached;
};

/* Weight and cache of a pass, which do not depend on its size. */
struct sizes {
    double product_elements; /* of the weights that are held as the options say */
    double kv_token_bytes;
    double kv_bytes;         /* of a whole sequence: a layer with a window keeps no more than that */
    double activation_bytes; /* per token, of the launch that reads and writes the most */
};

/* The scenario of a pass: of training no setting plays a part. */
static int scenario_of(const struct mfu_scenario *from, const struct pass *x, struct mfu_scenario *s,
                       struct mfu_error *err)
{
    bool eager = x->o->sender == MFU_SENDER_GENERATE;
    static const char *const none[] = {"dropout", "attn_dropout"};
    char batch[32], seq[32], tp[32];
    double ranks = from->setting_given[MFU_S_TP] ? from->setting[MFU_S_TP] : 1;
    const char *const set[][2] = {{"gpus", tp},
                                  {"tp", tp},
                                  {"sp", "off"},
                                  {"batch", batch},
                                  {"seq", seq},
                                  {"precision", "bf16-pure"},
                                  {"runtime", eager ? "eager" : "fused"},
                                  {"cuda_graphs", eager ? "off" : "on"}};

    *s = mfu_scenario_start(from->model, from->gpu);
    s->cluster = from->cluster;
    memcpy(s->dim, from->dim, sizeof s->dim);
    memcpy(s->dim_given, from->dim_given, sizeof s->dim_given);
    memcpy(s->coefficient, from->coefficient, sizeof s->coefficient);
    memcpy(s->coefficient_given, from->coefficient_given, sizeof s->coefficient_given);
    snprintf(batch, sizeof batch, "%.0f", x->batch);
    snprintf(seq, sizeof seq, "%.0f", x->seq);
    snprintf(tp, sizeof tp, "%.0f", ranks);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (mfu_model_dim_find(from->model, none[i], NULL) >= 0 && mfu_scenario_set(s, none[i], "0", err) < 0)
            return -1;
    for (size_t i = ranks > 1 ? 0 : 3; i < sizeof set / sizeof *set; i++)
        if (mfu_scenario_set(s, set[i][0], set[i][1], err) < 0)
            return -1;
    return 0;
}

/* The tokens of so many that a layer keeps. */
static double kept(const struct mfu_kernel *k, double tokens)
{
    return k->window > 0 ? fmin(k->window, tokens) : tokens;
}

/* Attention of one new token over the cache: its own keys and values times their number.  transformers' generate
 * first copies the cache to its longer successor (torch.cat), then to as many heads as queries have (repeat_kv): of
 * one head that r queries share it reads and writes 3 + 2 r times the bytes (cache_utils.py, modeling_llama.py 4.46). */
static void read_cache(const struct pass *x, struct mfu_kernel *k, double kv_bytes)
{
    double q_bytes = k->read_bytes - kv_bytes, kv_heads = kv_bytes / 2 / x->batch / (2 * k->k), times = 1;
    double keys = kept(k, x->cached);

    if (x->o->sender == MFU_SENDER_GENERATE)
        times = 3 + 2 * k->n / kv_heads;
    else
        k->n = kv_heads; /* a block holds all query heads that share keys */
    k->read_bytes = q_bytes + kv_bytes * times * keys * held[(int)x->o->kv].bytes / 2;
    k->traffic = MFU_C_DRAM_CACHE;
    k->flops *= keys;
    k->pairs *= keys;
    k->causal = false;
}

/* The product of a weight that is held in fewer bits. */
static struct mfu_kernel product(const struct mfu_gpu *gpu, enum mfu_held w, const struct mfu_kernel *k)
{
    bool native = gpu->peak_flops[held[w].math] > 0;
    double elements = k->batch * k->n * k->k, read = native ? fmin(2, held[w].bytes) : 2;
    struct mfu_kernel made =
        mfu_kernel_gemm(native ? held[w].math : k->math, k->m, k->n, k->k, k->batch, read, 2, false);

    made.aligned = k->aligned;
    made.read_bytes += elements * (held[w].bytes - read);
    if (held[w].bytes < 2 && made.math == k->math)
        made.launches = 2; /* what splits of K add up, or the workspace that is cleared for it (Marlin, exllama, AWQ) */
    return made;
}

/* From the training step's launch to that of inference. */
static void adapt(const struct pass *x, const struct mfu_plan *p, const struct mfu_launch *l, struct mfu_work *w,
                  double times, struct sizes *z)
{
    struct mfu_kernel *k = &w->kernel;
    bool logits = l->n_out > 0 && p->program.tensors[p->program.views[l->out[0]].tensor].part == MFU_PART_LOGITS_LOSS;
    double tokens = x->batch * x->seq;

    if (w->collective.axes != 0)
        return;
    if (mfu_kind_is_attention(k->kind)) {
        double kv = k->causal ? k->read_bytes - 2 * tokens * k->n * k->k : 0;
        double bytes = times * kv / tokens * held[(int)x->o->kv].bytes / 2;

        z->kv_token_bytes += bytes;
        z->kv_bytes += bytes * kept(k, x->o->prompt + x->o->answer);
        if (x->cached > 0 && kv > 0)
            read_cache(x, k, kv);
    } else if (mfu_kind_is_gemm(k->kind) && logits) { /* of the last token of each sequence */
        *k = mfu_kernel_gemm(k->math, k->m / x->seq, k->n, k->k, k->batch, 2, 2, false);
    } else if (mfu_kind_is_gemm(k->kind)) {
        z->product_elements += times * k->batch * k->n * k->k;
        *k = product(p->config.gpu, (enum mfu_held)x->o->weights, k);
    } else if (logits) {
        k->m /= x->seq;
        k->flops /= x->seq;
        k->read_bytes /= x->seq;
        k->write_bytes /= x->seq;
        k->reread_bytes /= x->seq;
    }
    if (!mfu_kind_is_gemm(k->kind))
        z->activation_bytes = fmax(z->activation_bytes, (k->read_bytes + k->write_bytes) / tokens);
}

/* The program without backward and optimizer, as inference runs it; false: out of memory. */
static bool keep_forward(const struct pass *x, struct mfu_plan *p, struct sizes *z)
{
    struct mfu_program *g = &p->program;
    struct mfu_work *works;
    int n = 0;

    *z = (struct sizes){0};
    while (n < g->n_segments && g->segments[n].phase == MFU_FORWARD)
        n++;
    g->n_segments = n;
    g->n_launches = n > 0 ? g->segments[n - 1].first + g->segments[n - 1].count : 0;
    if (!(works = mfu_arena_alloc(&g->room, (size_t)g->n_launches, sizeof *works)))
        return false;
    for (int i = 0; i < n; i++)
        for (int k = g->segments[i].first; k < g->segments[i].first + g->segments[i].count; k++) {
            works[k] = *g->launches[k].work;
            adapt(x, p, &g->launches[k], &works[k], g->segments[i].repeat, z);
            g->launches[k].work = &works[k]; /* its own: logits change as others that do the same do not */
        }
    return true;
}

/* Prices one pass; its time and what limits it are those of plan->step. */
static int price(const struct mfu_scenario *from, const struct pass *x, struct mfu_plan *p, struct sizes *z,
                 struct mfu_error *err)
{
    struct mfu_scenario s;
    double *c = p->machine.c, kernels, layer_s;

    if (scenario_of(from, x, &s, err) < 0)
        return -1;
    p->built = false; /* the program at hand is no training step */
    if (mfu_plan_make(p, &s, err) < 0)
        return -1;
    p->built = false;
    if (!keep_forward(x, p, z)
        || mfu_price_program(&p->machine, &p->program, &(struct mfu_expert_waits){.load = 1, .fill = 1}, &p->pricing)
            < 0)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (mfu_plan_sum_up(p, err) < 0)
        return -1;
    kernels = p->sums.launches[MFU_FORWARD];
    layer_s = c[MFU_C_HOST_GENERATE] * (held[(int)x->o->weights].bytes < 2 ? c[MFU_C_HOST_QUANTISED] : 1);
    c[MFU_C_DISPATCH_EAGER] = fmax(c[MFU_C_DISPATCH_EAGER], layer_s * p->program.layers / kernels);
    c[MFU_C_STEP_CONSTANT] = x->o->sender == MFU_SENDER_ENGINE ? c[MFU_C_HOST_ENGINE] : 0;
    c[MFU_C_MODEL_UNSEEN] = c[MFU_C_MODEL_EXCESS] = c[MFU_C_MODEL_EXCESS_EAGER] = 0; /* of trainers */
    c[MFU_C_MODEL_SIGMA] = c[MFU_C_MODEL_SIGMA_EAGER] = c[MFU_C_MODEL_SIGMA_ROLLOUT];
    mfu_plan_add_up(p);
    mfu_plan_settle_time(p);
    return 0;
}

/* ---- memory ---------------------------------------------------------------- */

static void weigh(const struct mfu_plan *p, const struct sizes *z, struct mfu_rollout *r)
{
    const struct mfu_rollout_options *o = &r->options;
    double free_bytes, cache_bytes;

    r->capacity_bytes = mfu_capacity(p->config.gpu, NULL);
    r->context_bytes = p->memory.context_bytes;
    r->weight_bytes =
        2 * (p->program.rank_params - z->product_elements) + held[(int)o->weights].bytes * z->product_elements;
    r->kv_token_bytes = z->kv_token_bytes;
    r->activation_bytes = 2 * z->activation_bytes /* what it reads, and what another reads after it (chosen) */
        * (o->sender == MFU_SENDER_ENGINE ? PASS_TOKENS : o->prompt);
    free_bytes = r->capacity_bytes - r->weight_bytes - r->activation_bytes - r->context_bytes;
    cache_bytes = o->memory > 0 ? free_bytes - (1 - o->memory) * r->capacity_bytes : o->share * free_bytes;
    r->most_sequences = fmin(o->most, fmax(0, floor(cache_bytes / z->kv_bytes)));
    r->sequences = o->sequences > 0 ? o->sequences : fmax(1, r->most_sequences);
    r->fits = r->sequences <= r->most_sequences;
    r->kv_bytes = r->sequences * z->kv_bytes;
}

/* ---- time ------------------------------------------------------------------ */

/* All decode steps: sequences end evenly between the shortest answer and the longest, the cache grows. */
static int decode(const struct mfu_scenario *from, struct mfu_plan *p, struct mfu_rollout *r, struct mfu_error *err)
{
    const struct mfu_rollout_options *o = &r->options;
    double shortest = o->shortest * o->answer, steps, tokens = 0, seconds = 0, low = 0, high = 0;
    int pieces = o->shortest < 1 ? PIECES : 1;
    struct sizes z;

    steps = o->answer / pieces;
    for (int i = 0; i < pieces; i++) {
        double at = (i + 0.5) * steps, alive = at > shortest ? (o->answer - at) / (o->answer - shortest) : 1;
        struct pass x = {o, fmax(1, round(r->sequences * alive)), 1, o->prompt + at};

        if (price(from, &x, p, &z, err) < 0)
            return -1;
        seconds += steps * p->step.time_s;
        low += steps * p->step.low_s;
        high += steps * p->step.high_s;
        tokens += steps * x.batch;
        if (i == 0)
            r->decode_limit = p->limit;
    }
    r->token_s = seconds / o->answer;
    r->decode_tokens_per_s = tokens / seconds;
    r->answer_tokens = tokens;
    r->seconds += seconds;
    r->low_s += low;
    r->high_s += high;
    return 0;
}

static int prefill(const struct mfu_scenario *from, struct mfu_plan *p, struct mfu_rollout *r, struct mfu_error *err)
{
    const struct mfu_rollout_options *o = &r->options;
    double together = fmax(1, fmin(r->sequences, floor(PASS_TOKENS / o->prompt))), passes = r->sequences / together;
    struct pass x = {o, together, o->prompt, 0};
    struct sizes z;

    if (together > 1 && price(from, &x, p, &z, err) < 0)
        return -1;
    r->seconds = r->prefill_s = passes * p->step.time_s;
    r->low_s = passes * p->step.low_s;
    r->high_s = passes * p->step.high_s;
    r->prefill_tokens_per_s = r->sequences * o->prompt / r->prefill_s;
    r->prefill_limit = p->limit;
    return 0;
}

int mfu_rollout(const struct mfu_scenario *from, const struct mfu_rollout_options *o, struct mfu_plan *p,
                struct mfu_rollout *r, struct mfu_error *err)
{
    const struct mfu_maker *maker = mfu_maker(from->gpu->vendor);
    struct pass step = {o, 1, 1, o->prompt}, prompt = {o, 1, o->prompt, 0};
    struct sizes z, first;

    *r = (struct mfu_rollout){.options = *o, .unsure = *mfu_scenario_unpredicted(from) != '\0'};
    if (!mfu_model_writes(from->model))
        return mfu_fail(err, MFU_EINPUT, "%s writes no text", from->model->name);
    if (from->setting_given[MFU_S_PP] && from->setting[MFU_S_PP] > 1)
        return mfu_fail(err, MFU_EINPUT, "a rollout over a pipeline (pp) is not modelled; tp is");
    if (from->setting_given[MFU_S_ADAPTER] && mfu_method_precedes(&mfu_methods[(int)from->setting[MFU_S_ADAPTER]]))
        return mfu_fail(err, MFU_EINPUT, "a rollout with learned tokens is not modelled");
    if (o->sender == MFU_SENDER_ENGINE && mfu_runtimes[MFU_FUSED].lacks & MFU_ON(maker->software))
        return mfu_fail(err, MFU_EINPUT, "an engine (vLLM) on cards of %s is not modelled", maker->vendor);
    if (price(from, &step, p, &z, err) < 0)
        return -1;
    if (!(z.kv_token_bytes > 0))
        return mfu_fail(err, MFU_EINPUT,
                        "%s has no fused causal attention here, whose keys and values a cache would hold",
                        from->model->name);
    if (price(from, &prompt, p, &first, err) < 0)
        return -1;
    z.activation_bytes = first.activation_bytes;
    r->first_token_s = p->step.time_s;
    r->gpus = p->config.ranks;
    weigh(p, &z, r);
    if (prefill(from, p, r, err) < 0 || decode(from, p, r, err) < 0)
        return -1;
    r->tokens_per_s = r->answer_tokens / r->seconds;
    r->tokens_per_s_gpu = r->tokens_per_s / r->gpus;
    return 0;
}
