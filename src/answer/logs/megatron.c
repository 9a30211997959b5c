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

#include "answer/log_format.h"

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
    mfu_log_figure(r->figure, MFU_FIGURE_TIME,
                   1e-3 * mfu_number_after(line, "elapsed time per iteration (ms):"));
    mfu_log_figure(r->figure, MFU_FIGURE_FLOPS,
                   1e12 * mfu_number_after(line, "throughput per GPU (TFLOP/s/GPU):"));
    mfu_log_figure(r->figure, MFU_FIGURE_POWER, mfu_number_after(line, "power per GPU (W/GPU):"));
    if (samples > 0)
        log->samples_per_step = samples; /* the last one: a ramp-up ends */
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
    // clang-format on
    const char *name = line + strspn(line, " \t"), *value;
    size_t n = strcspn(name, " .");

    if (!(value = strstr(name, " ...")) && !(value = strstr(name, " ..")))
        return;
    value += strspn(value, " .");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].name) == n && strncmp(name, rows[i].name, n) == 0)
            mfu_log_set_number(log, rows[i].key, mfu_number_at(value, NULL));
    if (strncmp(name, "global_batch_size ", 18) == 0)
        log->samples_per_step = mfu_number_at(value, NULL);
    else if (strncmp(name, "num_query_groups ", 17) == 0)
        log->sum[0] = mfu_number_at(value, NULL);
    else if (strncmp(name, "group_query_attention ", 22) == 0)
        log->sum[1] = strncmp(value, "True", 4) == 0;
    else if (strncmp(name, "swiglu ", 7) == 0 && strncmp(value, "True", 4) == 0)
        snprintf(log->model, sizeof log->model, "llama-2-7b");
    else if (strncmp(name, "bf16 ", 5) == 0 && strncmp(value, "True", 4) == 0)
        mfu_log_set(log, "precision", "bf16");
    else if (strncmp(name, "fp16 ", 5) == 0 && strncmp(value, "True", 4) == 0)
        mfu_log_set(log, "precision", "fp16");
    else if (strncmp(name, "recompute_granularity ", 22) == 0
             && (strncmp(value, "full", 4) == 0 || strncmp(value, "selective", 9) == 0))
        mfu_log_set(log, "checkpoint", *value == 'f' ? "full" : "selective");
    else if (strncmp(name, "use_distributed_optimizer ", 26) == 0 && strncmp(value, "True", 4) == 0)
        log->sum[2] = 1;
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
    } else if (log->n_records == 0 && strstr(line, " .."))
        read_argument(log, line);
}

static void finish(struct mfu_log *log)
{
    bool llama = log->model[0] != '\0';

    if (log->sum[1] > 0 && log->sum[0] > 0 && llama)
        mfu_log_set_number(log, "n_kv_head", log->sum[0]);
    if (log->sum[2] > 0)
        mfu_log_set(log, "zero", "1");
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
