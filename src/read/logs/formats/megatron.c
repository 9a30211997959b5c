/*
 * megatron.c - NVIDIA/Megatron-LM's pretraining.
 *
 *     micro_batch_size ................................ 4
 *     [Rank 0] (after 10 iterations) memory (MB) | allocated: 9909.1 | max allocated: 50277.2 | reserved: ...
 *      validation loss at iteration 1000 | lm loss value: ...
 *     [...] iteration       10/     100 | consumed samples:  1280 | elapsed time per iteration (ms): 1234.5 |
 *      throughput per GPU (TFLOP/s/GPU): 150.2 | ... | global batch size:   128 | ...
 *
 * The time per iteration is an average since the last line; evaluation and
 * checkpoints are not in it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/logs/log_format.h"

/* Arguments that finish() puts together: log->sum. */
enum {
    GROUPED,
    GROUPS,
    HEADS,
    ZERO,
    SWIGLU,
    BF16,
    FP16,
    FP8,
    LATENT,
    EXPERTS,
    TOP_K,
    EXPERT_WIDTH,
    EP,
    ETP,
    FP8_WEIGHTS,
    BLOCK,
    RECOMPUTED,
    ARGUMENTS
};
_Static_assert(ARGUMENTS <= MFU_LOG_SUMS, "log_format.h: too few sums");

static bool recognise(const char *line)
{
    return strstr(line, "iteration ") && strstr(line, "elapsed time per iteration (ms):");
}

static void read_step(struct mfu_log *log, const char *line)
{
    struct mfu_log_record *r = mfu_log_step(log);
    double samples = mfu_number_after(line, "global batch size:");

    if (!r)
        return;
    mfu_log_figure(r->figure, MFU_FIGURE_STEP, mfu_number_after(line, "iteration "));
    mfu_log_figure(r->figure, MFU_FIGURE_LOSS, mfu_number_after(line, "lm loss:"));
    mfu_log_figure(r->figure, MFU_FIGURE_TIME, 1e-3 * mfu_number_after(line, "elapsed time per iteration (ms):"));
    mfu_log_figure(r->figure, MFU_FIGURE_FLOPS, 1e12 * mfu_number_after(line, "throughput per GPU (TFLOP/s/GPU):"));
    mfu_log_figure(r->figure, MFU_FIGURE_POWER, mfu_number_after(line, "power per GPU (W/GPU):"));
    if (samples > 0)
        r->samples = log->samples_per_step = samples; /* the last one: a ramp-up ends */
}

/* An argument that decides together with others, in finish(). */
static void flag(struct mfu_log *log, int which, const char *name, double value)
{
    if (value != log->sum[which])
        mfu_log_changed(log, name, value > 0 ? "on" : "off", log->sum[which] > 0 ? "on" : "off");
    log->sum[which] = value;
}

/* name ........ value */
static void read_argument(struct mfu_log *log, const char *line)
{
    // clang-format off
    static const struct { const char *name, *key; } rows[] = {
        {"micro_batch_size", "batch"}, {"seq_length", "seq"}, {"num_layers", "n_layer"}, {"hidden_size", "n_embd"},
        {"num_attention_heads", "n_head"}, {"ffn_hidden_size", "d_ff"}, {"padded_vocab_size", "vocab_size"},
        {"world_size", "gpus"}, {"tensor_model_parallel_size", "tp"}, {"pipeline_model_parallel_size", "pp"},
        {"context_parallel_size", "cp"}, {"hidden_dropout", "dropout"}};
    static const struct { const char *name; int flag; } flags[] = {
        {"group_query_attention", GROUPED}, {"use_distributed_optimizer", ZERO}, {"swiglu", SWIGLU},
        {"bf16", BF16}, {"fp16", FP16}, {"multi_latent_attention", LATENT}, {"fp8_param_gather", FP8_WEIGHTS}};
    // clang-format on
    const char *name = line + strspn(line, " \t"), *value;
    size_t n = strcspn(name, " .");
    double number;
    bool yes;

    if (!(value = strstr(name, " ...")) && !(value = strstr(name, " ..")))
        return;
    value += strspn(value, " .");
    number = mfu_number_at(value, NULL);
    yes = strncmp(value, "True", 4) == 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].name) == n && strncmp(name, rows[i].name, n) == 0)
            mfu_log_set_number(log, rows[i].key, number);
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strlen(flags[i].name) == n && strncmp(name, flags[i].name, n) == 0)
            flag(log, flags[i].flag, flags[i].name, yes);
    if (strncmp(name, "global_batch_size ", 18) == 0)
        log->samples_per_step = number;
    else if (strncmp(name, "num_attention_heads ", 20) == 0)
        log->sum[HEADS] = number;
    else if (strncmp(name, "num_query_groups ", 17) == 0)
        log->sum[GROUPS] = number;
    else if (strncmp(name, "fp8 ", 4) == 0)
        flag(log, FP8, "fp8", strncmp(value, "hybrid", 6) == 0 || strncmp(value, "e4m3", 4) == 0);
    else if (strncmp(name, "num_experts ", 12) == 0)
        flag(log, EXPERTS, "num_experts", number > 0 ? number : 0);
    else if (strncmp(name, "moe_router_topk ", 16) == 0)
        log->sum[TOP_K] = number;
    else if (strncmp(name, "expert_model_parallel_size ", 27) == 0)
        log->sum[EP] = number;
    else if (strncmp(name, "expert_tensor_parallel_size ", 28) == 0)
        log->sum[ETP] = number;
    else if (strncmp(name, "sequence_parallel ", 18) == 0)
        mfu_log_set(log, "sp", yes ? "on" : "off");
    else if (strncmp(name, "moe_ffn_hidden_size ", 20) == 0)
        log->sum[EXPERT_WIDTH] = number;
    else if (strncmp(name, "untie_embeddings_and_output_weights ", 36) == 0)
        mfu_log_set(log, "tied", yes ? "0" : "1");
    else if (strncmp(name, "recompute_granularity ", 22) == 0
             && (strncmp(value, "full", 4) == 0 || strncmp(value, "selective", 9) == 0))
        mfu_log_set(log, "checkpoint", *value == 'f' ? "full" : "selective");
    else if (strncmp(name, "recompute_method ", 17) == 0)
        flag(log, BLOCK, "recompute_method block", strncmp(value, "block", 5) == 0);
    else if (strncmp(name, "recompute_num_layers ", 21) == 0)
        log->sum[RECOMPUTED] = number;
}

static void read(struct mfu_log *log, const char *line)
{
    if (recognise(line))
        read_step(log, line);
    else if (strstr(line, "memory (MB) | allocated:")) {
        mfu_log_figure(log->stated, MFU_FIGURE_ALLOCATED, 0x1p20 * mfu_number_after(line, "max allocated:"));
        mfu_log_figure(log->stated, MFU_FIGURE_RESERVED, 0x1p20 * mfu_number_after(line, "max reserved:"));
    } else if (strstr(line, "validation loss at iteration"))
        mfu_log_happened(log, MFU_EVENT_EVALUATION);
    else if (strstr(line, "saved checkpoint") || strstr(line, "saving checkpoint at iteration"))
        mfu_log_happened(log, MFU_EVENT_CHECKPOINT);
    else if (strstr(line, "Total number of parameters in billions:")) {
        log->params = 1e9 * mfu_number_after(line, "in billions:");
        log->params_digit = 1e7;
    } else if (strstr(line, " ..")) /* again where another run begins */
        read_argument(log, line);
}

/* Experts that each token visits some of: Mixtral's block, if it is one. */
static void finish_experts(struct mfu_log *log)
{
    if (!(log->sum[SWIGLU] > 0)) {
        snprintf(log->unplanned, sizeof log->unplanned, "experts without SwiGLU are not planned");
        return;
    }
    snprintf(log->model, sizeof log->model, "mixtral-8x7b");
    mfu_log_set_number(log, "n_experts", log->sum[EXPERTS]);
    mfu_log_set_number(log, "top_k", log->sum[TOP_K] > 0 ? log->sum[TOP_K] : 2);
    if (log->sum[EXPERT_WIDTH] > 0)
        mfu_log_set_number(log, "d_ff", log->sum[EXPERT_WIDTH]);
    if (log->sum[EP] >= 1 && log->sum[ETP] >= 1) {
        mfu_log_set_number(log, "ep", log->sum[EP]);
        mfu_log_set_number(log, "etp", log->sum[ETP]);
    }
}

static void finish(struct mfu_log *log)
{
    const double *is = log->sum;
    double kv_heads = is[GROUPED] > 0 && is[GROUPS] > 0 ? is[GROUPS] : is[HEADS];

    if (is[SWIGLU] > 0)
        snprintf(log->model, sizeof log->model, "llama-2-7b");
    if (is[EXPERTS] > 1)
        finish_experts(log);
    if (kv_heads > 0)
        mfu_log_set_number(log, "n_kv_head", kv_heads);
    if (is[FP8] > 0 || is[BF16] > 0 || is[FP16] > 0)
        mfu_log_set(log, "precision", is[FP8] > 0 ? "fp8" : is[BF16] > 0 ? "bf16" : "fp16");
    if (is[ZERO] > 0)
        mfu_log_set(log, "zero", "1");
    if (is[ZERO] > 0 && is[FP8] > 0 && is[FP8_WEIGHTS] > 0)
        mfu_log_set(log, "fp8_param_gather", "on");
    if (is[BLOCK] > 0 && is[RECOMPUTED] > 0)
        mfu_log_set_number(log, "checkpoint_layers", is[RECOMPUTED]);
    if (is[LATENT] > 0)
        snprintf(log->unplanned, sizeof log->unplanned, "multi-latent attention is not planned");
}

const struct mfu_log_format mfu_log_format_megatron = {
    .name = "megatron-log",
    .title = "Megatron-LM",
    .looks = "iteration 10/ 100 | consumed samples: 1280 | elapsed time per iteration (ms): 1234.5 | ...",
    .convention = "megatron",
    .family = "gpt2",
    .model = "gpt2",
    .defaults = (const char *const[]){"runtime", "fused", NULL},
    .recognise = recognise,
    .read = read,
    .finish = finish,
};
