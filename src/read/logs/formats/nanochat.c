/*
 * nanochat.c - karpathy/nanochat's base_train.py and its relatives.
 *
 *     num_layers: 20                       (newer: the configuration as JSON)
 *     Tokens / micro-batch / rank: 32 x 2048 = 65,536
 *     Total batch size 524,288 => gradient accumulation steps: 1
 *     Estimated FLOPs per token: 3.491758e+09
 *     Step 00250 | Validation bpb: 0.9012
 *     step 00010/21400 (0.05%) | loss: 8.9 | lrm: 1.00 | dt: 490.12ms | tok/sec: 1,069,713 | mfu: 48.10 | ...
 *
 * Time is that of the step alone.  MFU divides by the H100's 989 TFLOP/s per
 * GPU unless the log names another peak.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/logs/log_format.h"

/* build-nanogpt's lines look alike, but have neither a total nor lrm. */
static bool recognise(const char *line)
{
    const char *p = mfu_log_after(line, "step ");

    return p && strstr(p, "| dt: ") && strstr(p, "| tok/sec: ")
        && (p[strspn(p, "0123456789")] == '/' || strstr(p, "| lrm: "));
}

static void read_step(struct mfu_log *log, const char *line)
{
    struct mfu_log_record *r = mfu_log_step(log);
    const char *mfu = mfu_log_after(line, "mfu: ");

    if (!r)
        return;
    mfu_log_figure(r->figure, MFU_FIGURE_STEP, mfu_number_after(line, "step "));
    mfu_log_figure(r->figure, MFU_FIGURE_LOSS, mfu_number_after(line, "loss: "));
    mfu_log_figure(r->figure, MFU_FIGURE_TIME, 1e-3 * mfu_number_after(line, "| dt: "));
    mfu_log_figure(r->figure, MFU_FIGURE_TOKENS_PER_S, mfu_number_after(line, "| tok/sec: "));
    mfu_log_figure(r->figure, MFU_FIGURE_LOADER, 1e-3 * mfu_number_after(line, "| data_wait: "));
    if (mfu) {
        mfu_log_figure(r->figure, MFU_FIGURE_MFU, 1e-2 * mfu_number_at(mfu, NULL));
        log->mfu_digit = fmax(log->mfu_digit, 1e-2 * mfu_digit_at(mfu));
    }
}

/* 32 x 2048 = 65,536, and over all ranks. */
static void read_batch(struct mfu_log *log, const char *p)
{
    const char *x = strstr(p, " x ");

    mfu_log_set_number(log, "batch", mfu_number_at(p, NULL));
    if (x) {
        mfu_log_set_number(log, "seq", mfu_number_at(x + 3, NULL));
        log->sum[0] = mfu_number_after(x, "= ");
    }
}

static void read(struct mfu_log *log, const char *line)
{
    // clang-format off
    static const struct { const char *label, *key; } rows[] = {
        {"Vocab size: ", "vocab_size"}, {"num_layers: ", "n_layer"}, {"model_dim: ", "n_embd"},
        {"num_heads: ", "n_head"}, {"num_kv_heads: ", "n_kv_head"}, {"gradient accumulation steps: ", "accum"}};
    // clang-format on
    const char *p;

    if (recognise(line)) {
        read_step(log, line);
        return;
    }
    if (strstr(line, "| Validation bpb:") || strstr(line, "CORE metric:"))
        mfu_log_happened(log, MFU_EVENT_EVALUATION);
    else if (strstr(line, "Saved model") || strstr(line, "Saved optimizer"))
        mfu_log_happened(log, MFU_EVENT_CHECKPOINT);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((p = mfu_log_after(line, rows[i].label)))
            mfu_log_set_number(log, rows[i].key, mfu_number_at(p, NULL));
    if ((p = mfu_log_after(line, "Total batch size ")))
        mfu_log_fact(log, &log->tokens_per_step, "total batch size", mfu_number_at(p, NULL));
    if ((p = mfu_log_after(line, "Estimated FLOPs per token: ")))
        mfu_log_fact(log, &log->flops_per_token, "FLOP per token", mfu_number_at(p, NULL));
    if ((p = mfu_log_after(line, "Tokens / micro-batch / rank: ")))
        read_batch(log, p);
    else if ((p = mfu_log_after(line, "Tokens / micro-batch: ")) && log->sum[0] > 0)
        mfu_log_set_number(log, "gpus", round(mfu_number_at(p, NULL) / log->sum[0]));
    if ((p = mfu_log_after(line, "Number of parameters: "))) {
        log->params = mfu_number_at(p, NULL);
        log->params_digit = 1;
    }
    if ((p = mfu_log_after(line, "GPU: ")) && strstr(p, "| Peak FLOPS (BF16): ")) {
        mfu_copy_until(log->gpu, sizeof log->gpu, p, "|");
        log->peak_flops = mfu_number_after(p, "Peak FLOPS (BF16): ");
    }
    if (strncmp(line, "  \"", 3) == 0)
        mfu_log_assignment(log, line);
}

static void finish(struct mfu_log *log)
{
    snprintf(log->note, sizeof log->note,
             "nanochat's blocks (rotary, squared ReLU) are planned as GPT-2's with an untied head");
}

const struct mfu_log_format mfu_log_format_nanochat = {
    .name = "nanochat-log",
    .title = "nanochat",
    .looks = "step 00010/21400 (0.05%) | loss: 8.9 | lrm: 1.00 | dt: 490.12ms | tok/sec: 1,069,713 | mfu: 48.10",
    .convention = "torchtitan",
    .peak_flops = 989e12,
    .approximated = true,
    .family = "gpt2",
    .model = "gpt2",
    .defaults = (const char *const[]){"runtime", "compile", "tied", "0", "vocab_size", "65536", "seq", "2048",
                                      "optimizer", "muon", NULL},
    .recognise = recognise,
    .read = read,
    .finish = finish,
};
