/*
 * nanogpt.c - karpathy/nanoGPT's train.py.
 *
 *     Overriding: batch_size = 8
 *     tokens per iteration will be: 524,288
 *     Initializing from OpenAI GPT-2 weights: gpt2-xl
 *     number of parameters: 123.59M
 *     step 2000: train loss 3.1234, val loss 3.1345
 *     saving checkpoint to out
 *     iter 1631: loss 3.1042, time 561.94ms, mfu 15.38%
 *
 * The time of an iteration holds the evaluation and the checkpoint before it.
 * The MFU is 0.9 times the last one plus 0.1 times this step's, and -100 % for
 * the first five: an evaluation stays in it for dozens of lines, so this step's
 * is worked out from two of them.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "read/logs/log_format.h"

enum { LAST_MFU }; /* the running average of the line before; 0: none */

static const char *iteration(const char *line)
{
    const char *p = mfu_log_after(line, "iter ");

    return p && isdigit((unsigned char)*p) && strstr(p, ": loss ") && strstr(p, ", time ") ? p : NULL;
}

static bool recognise(const char *line)
{
    return iteration(line) != NULL;
}

/* This step's own share of the running average. */
static double own_mfu(struct mfu_log *log, const char *p)
{
    double average = 1e-2 * mfu_number_at(p, NULL), last = log->sum[LAST_MFU];

    log->sum[LAST_MFU] = average > 0 ? average : 0;
    return last > 0 ? 10 * (average - 0.9 * last) : average;
}

static void read_step(struct mfu_log *log, const char *p)
{
    struct mfu_log_record *r = mfu_log_step(log);
    const char *mfu = mfu_log_after(p, ", mfu ");

    if (!r)
        return;
    mfu_log_figure(r->figure, MFU_FIGURE_STEP, mfu_number_at(p, NULL));
    mfu_log_figure(r->figure, MFU_FIGURE_LOSS, mfu_number_after(p, "loss "));
    mfu_log_figure(r->figure, MFU_FIGURE_TIME, 1e-3 * mfu_number_after(p, "time "));
    if (mfu) {
        mfu_log_figure(r->figure, MFU_FIGURE_MFU, own_mfu(log, mfu));
        log->mfu_digit = fmax(log->mfu_digit, 1e-2 * mfu_digit_at(mfu));
    }
}

/* Fine-tuning: from_pretrained() takes all dimensions from there. */
static void read_pretrained(struct mfu_log *log, const char *name)
{
    if (strncmp(name, "gpt2", 4) != 0)
        return;
    mfu_copy_until(log->model, sizeof log->model, name, " ,");
    mfu_log_set(log, "bias", "1");
    mfu_log_set(log, "vocab_size", "50257");
}

static void read(struct mfu_log *log, const char *line)
{
    const char *p;

    if ((p = iteration(line)))
        read_step(log, p);
    else if (strncmp(line, "step ", 5) == 0 && strstr(line, "val loss "))
        mfu_log_happened(log, MFU_EVENT_EVALUATION);
    else if (strstr(line, "saving checkpoint to"))
        mfu_log_happened(log, MFU_EVENT_CHECKPOINT);
    else if ((p = mfu_log_after(line, "Overriding config with ")))
        mfu_copy_until(log->config_file, sizeof log->config_file, p, ":");
    else if ((p = mfu_log_after(line, "Overriding: ")))
        mfu_log_assignment(log, p);
    else if ((p = mfu_log_after(line, "tokens per iteration will be:")))
        mfu_log_fact(log, &log->tokens_per_step, "tokens per iteration", mfu_number_at(p, NULL));
    else if ((p = mfu_log_after(line, "Initializing from OpenAI GPT-2 weights: ")))
        read_pretrained(log, p);
    else if ((p = mfu_log_after(line, "number of parameters: "))) {
        log->params = 1e6 * mfu_number_at(p, NULL);
        log->params_digit = 1e6 * mfu_digit_at(p);
    } else if ((p = mfu_log_after(line, "using fused AdamW: ")))
        mfu_log_set(log, "optimizer", strncmp(p, "True", 4) == 0 ? "adamw" : "adamw-foreach");
    else if (strstr(line, "compiling the model"))
        mfu_log_set(log, "runtime", "compile");
    else if ((p = mfu_log_after(line, "found vocab_size = "))
             || (p = mfu_log_after(line, "defaulting to vocab_size of GPT-2 to ")))
        mfu_log_set_number(log, "vocab_size", mfu_number_at(p, NULL));
    else if (log->n_records == 0)
        mfu_log_assignment(log, line); /* the configuration file, as it is printed */
}

const struct mfu_log_format mfu_log_format_nanogpt = {
    .name = "nanogpt-log",
    .title = "nanoGPT",
    .looks = "iter 1631: loss 3.1042, time 561.94ms, mfu 15.38%",
    .convention = "nanogpt",
    .peak_flops = 312e12,
    .mfu_note = "nanoGPT's MFU is a running average (0.9 of the last, 0.1 of this step) that starts after 5 "
                "iterations; the steps' own, worked out from it, are used",
    .accum_of_all = true,
    .events_in_time = true,
    .family = "gpt2",
    .model = "gpt2",
    .defaults = (const char *const[]){"batch", "12", "accum", "40", "runtime", "compile", NULL},
    .recognise = recognise,
    .read = read,
};
