/*
 * nanotron.c - huggingface/nanotron (src/nanotron/trainer.py, logging/base.py).
 *
 *     [...]: iteration: 10 / 100 | consumed_tokens: 10.5M | elapsed_time_per_iteration_ms: 1.23K | tokens_per_sec: 853K |
 *      tokens_per_sec_per_gpu: 107K | global_batch_size: 512 | lm_loss: 9.1 | lr: 0.0003 | model_tflops_per_gpu: 120 | ...
 *
 * Three digits with K, M, B (human_format): tokens/s is better known than time.  A step's time is that of the step alone.
 */
#include <math.h>
#include <string.h>

#include "read/logs/log_format.h"

static bool recognise(const char *line)
{
    return strstr(line, "iteration: ") && strstr(line, "time_per_iteration_ms: ") && strstr(line, "tokens_per_sec: ");
}

/* "1.23K", "8.53E+05". */
static double human(const char *text)
{
    static const char units[] = "KMBTPE";
    const char *end, *unit;
    double value = mfu_number_at(text, &end);

    if (end > text && *end && (unit = strchr(units, *end)))
        value *= pow(1000, (double)(unit - units + 1));
    return value;
}

static void read_step(struct mfu_log *log, const char *line)
{
    const char *p = strstr(line, "iteration: ");

    log->loose.line = log->line;
    for (; p && *p; p = strstr(p, "| ") ? strstr(p, "| ") + 2 : NULL) {
        char name[64];
        size_t n = strcspn(p, ":");

        if (!p[n] || n >= sizeof name)
            continue;
        memcpy(name, p, n);
        name[n] = '\0';
        mfu_log_scalar(log, name, human(p + n + 1 + strspn(p + n + 1, " ")));
    }
    mfu_log_scalars_end(log);
}

static void read(struct mfu_log *log, const char *line)
{
    static const struct {
        const char *label, *key;
    } rows[] = {{"mbs: ", "batch"},
                {"grad_accum: ", "accum"},
                {"sequence_length: ", "seq"},
                {"micro_batch_size=", "batch"},
                {"batch_accumulation_per_replica=", "accum"},
                {"sequence_length=", "seq"},
                {"num_hidden_layers=", "n_layer"},
                {"hidden_size=", "n_embd"},
                {"num_attention_heads=", "n_head"},
                {"num_key_value_heads=", "n_kv_head"},
                {"intermediate_size=", "d_ff"},
                {" vocab_size=", "vocab_size"},
                {"tp=", "tp"},
                {"pp=", "pp"}};
    const char *p;

    if (recognise(line)) {
        read_step(log, line);
        return;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((p = strstr(line, rows[i].label)) && (p == line || strchr(" (,:", p[-1]) || rows[i].label[0] == ' ')
            && mfu_number_at(p + strlen(rows[i].label), NULL) > 0)
            mfu_log_set_number(log, rows[i].key, mfu_number_at(p + strlen(rows[i].label), NULL));
    if (strstr(line, "Saving checkpoint"))
        mfu_log_happened(log, MFU_EVENT_CHECKPOINT);
}

const struct mfu_log_format mfu_log_format_nanotron = {
    .name = "nanotron-log",
    .title = "nanotron",
    .looks = "iteration: 10 / 100 | consumed_tokens: 10.5M | elapsed_time_per_iteration_ms: 1.23K | tokens_per_sec: "
             "853K | ...",
    .convention = "megatron",
    .family = "llama",
    .model = "llama-2-7b",
    .defaults = (const char *const[]){"trainer", "nanotron", NULL},
    .recognise = recognise,
    .read = read,
    .finish = mfu_log_scalars_finish,
};
