/*
 * llmc.c - karpathy/llm.c's train_gpt2cu.
 *
 *     | micro batch size B    | 64                                          |
 *     | device                | NVIDIA A100-SXM4-80GB                       |
 *     device memory usage: 56376 MiB / 81050 MiB
 *     step    2/18865 | loss 11.0 (+nanz)| norm 15.1 (+nanz)| lr 1.71e-06 | 2391.52 ms | 31.1% bf16 MFU | 191824 tok/s
 *
 * Time is that of the step alone.
 */
#include <math.h>
#include <string.h>

#include "read/logs/log_format.h"

static bool recognise(const char *line)
{
    const char *p = mfu_log_after(line, "step ");

    return p && strchr(p, '/') && strstr(p, " ms |") && strstr(p, "tok/s");
}

/* The number that stands before `label`. */
static const char *before(const char *line, const char *label)
{
    const char *p = strstr(line, label);

    while (p && p > line && p[-1] == ' ')
        p--;
    while (p && p > line && strchr("0123456789.,-", p[-1]))
        p--;
    return p;
}

static void read_step(struct mfu_log *log, const char *line)
{
    struct mfu_log_record *r = mfu_log_step(log);
    const char *ms = before(line, "ms |"), *mfu = strstr(line, "MFU"), *rate = before(line, "tok/s");

    if (!r)
        return;
    mfu_log_figure(r->figure, MFU_FIGURE_STEP, mfu_number_after(line, "step "));
    mfu_log_figure(r->figure, MFU_FIGURE_LOSS, mfu_number_after(line, "loss "));
    mfu_log_figure(r->figure, MFU_FIGURE_TIME, 1e-3 * mfu_number_at(ms, NULL));
    mfu_log_figure(r->figure, MFU_FIGURE_TOKENS_PER_S, mfu_number_at(rate, NULL));
    if (mfu && (mfu = before(line, "%"))) {
        mfu_log_figure(r->figure, MFU_FIGURE_MFU, 1e-2 * mfu_number_at(mfu, NULL));
        log->mfu_digit = fmax(log->mfu_digit, 1e-2 * mfu_digit_at(mfu));
    }
}

/* A row of the table of settings. */
static void read_row(struct mfu_log *log, const char *line)
{
    // clang-format off
    static const struct { const char *label, *key; } rows[] = {
        {"| micro batch size B", "batch"}, {"| sequence length T", "seq"}, {"| padded_vocab_size Vp", "vocab_size"},
        {"| num_layers L", "n_layer"}, {"| num_heads NH", "n_head"}, {"| channels C", "n_embd"},
        {"| num_processes", "gpus"}};
    // clang-format on
    const char *value = strchr(line + 1, '|');

    if (!value)
        return;
    value += 1 + strspn(value + 1, " ");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strncmp(line, rows[i].label, strlen(rows[i].label)) == 0)
            mfu_log_set_number(log, rows[i].key, mfu_number_at(value, NULL));
    if (strncmp(line, "| total batch size", 18) == 0)
        mfu_log_fact(log, &log->tokens_per_step, "total batch size", mfu_number_at(value, NULL));
    else if (strncmp(line, "| num_parameters", 16) == 0) {
        log->params = mfu_number_at(value, NULL);
        log->params_digit = 1;
    } else if (strncmp(line, "| peak TFlops", 13) == 0 && mfu_number_at(value, NULL) > 0)
        log->peak_flops = 1e12 * mfu_number_at(value, NULL);
    else if (strncmp(line, "| device ", 9) == 0)
        mfu_copy_until(log->gpu, sizeof log->gpu, value, "|");
    else if (strncmp(line, "| precision", 11) == 0)
        mfu_log_set(log, "precision",
                    strncmp(value, "BF16", 4) == 0       ? "bf16"
                        : strncmp(value, "FP16", 4) == 0 ? "fp16"
                                                         : "tf32");
    else if (strncmp(line, "| zero_stage", 12) == 0)
        mfu_log_set_number(log, "zero", mfu_number_at(value, NULL));
}

static void read(struct mfu_log *log, const char *line)
{
    const char *p;

    if (recognise(line))
        read_step(log, line);
    else if (line[0] == '|')
        read_row(log, line);
    else if ((p = mfu_log_after(line, "device memory usage: ")))
        mfu_log_figure(log->stated, MFU_FIGURE_SMI_USED, 0x1p20 * mfu_number_at(p, NULL));
    else if (strncmp(line, "val loss ", 9) == 0 || strncmp(line, "HellaSwag:", 10) == 0)
        mfu_log_happened(log, MFU_EVENT_EVALUATION);
    else if (strncmp(line, "Writing ", 8) == 0)
        mfu_log_happened(log, MFU_EVENT_CHECKPOINT);
}

const struct mfu_log_format mfu_log_format_llmc = {
    .name = "llmc-log",
    .title = "llm.c",
    .looks = "step    2/18865 | loss 11.0 (+nanz)| norm 15.1 (+nanz)| lr 1.71e-06 | 2391.52 ms | 31.1% bf16 "
             "MFU | 191824 tok/s",
    .convention = "llm.c",
    .family = "gpt2",
    .model = "gpt2",
    .defaults = (const char *const[]){"runtime", "llmc", "bias", "1", NULL},
    .recognise = recognise,
    .read = read,
};
