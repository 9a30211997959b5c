/*
 * deepspeed.c - DeepSpeed's own lines (deepspeed/utils/timer.py, runtime/config.py).
 *
 *     [INFO] [config.py:1003:print]   train_batch_size ............. 32
 *     [INFO] [timer.py:264:stop] epoch=0/micro_step=20/global_step=10, RunningAvgSamplesPerSec=37.1, CurrSamplesPerSec=37.2,
 *      MemAllocated=4.2GB, MaxMemAllocated=10.5GB
 *
 * A rate is in samples over all GPUs, and a step's time follows from the batch, which the configuration states; it holds
 * forward, backward and update.  GB are 2^30 bytes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/logs/log_format.h"

static bool recognise(const char *line)
{
    return strstr(line, "global_step=") && strstr(line, "CurrSamplesPerSec=");
}

static void read_step(struct mfu_log *log, const char *line)
{
    struct mfu_log_record *r = mfu_log_step(log);

    if (!r)
        return;
    mfu_log_figure(r->figure, MFU_FIGURE_STEP, mfu_number_after(line, "global_step="));
    mfu_log_figure(r->figure, MFU_FIGURE_TIME, log->samples_per_step / mfu_number_after(line, "CurrSamplesPerSec="));
    mfu_log_figure(r->figure, MFU_FIGURE_ALLOCATED, 0x1p30 * mfu_number_after(line, "MaxMemAllocated="));
}

/* name ...... value */
static void read_argument(struct mfu_log *log, const char *line)
{
    static const struct {
        const char *name, *key;
    } rows[] = {{"train_micro_batch_size_per_gpu", "batch"},
                {"gradient_accumulation_steps", "accum"},
                {"world_size", "gpus"},
                {"zero_optimization_stage", "zero"},
                {"gradient_clipping", "grad_clip"}};
    const char *p;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((p = strstr(line, rows[i].name)) && p[strlen(rows[i].name)] == ' ')
            mfu_log_set_number(log, rows[i].key,
                               mfu_number_at(p + strlen(rows[i].name) + strspn(p + strlen(rows[i].name), " ."), NULL));
    if ((p = strstr(line, " train_batch_size "))) {
        p += 18;
        mfu_log_fact(log, &log->samples_per_step, "train_batch_size", mfu_number_at(p + strspn(p, " ."), NULL));
    }
    if ((p = strstr(line, "bfloat16_enabled ")) && strstr(p, "True"))
        mfu_log_set(log, "precision", "bf16");
    if ((p = strstr(line, "fp16_enabled ")) && strstr(p, "True"))
        mfu_log_set(log, "precision", "fp16");
}

static void read(struct mfu_log *log, const char *line)
{
    if (recognise(line))
        read_step(log, line);
    else if (strstr(line, ":print] "))
        read_argument(log, line);
    else if (strstr(line, "Saving model checkpoint"))
        mfu_log_happened(log, MFU_EVENT_CHECKPOINT);
}

static void finish(struct mfu_log *log)
{
    if (isnan(log->samples_per_step))
        snprintf(log->note, sizeof log->note,
                 "its lines give samples/s, and no line the train_batch_size that a step's time follows from");
}

const struct mfu_log_format mfu_log_format_deepspeed = {
    .name = "deepspeed-log",
    .title = "DeepSpeed",
    .looks = "epoch=0/micro_step=20/global_step=10, RunningAvgSamplesPerSec=37.1, CurrSamplesPerSec=37.2, "
             "MemAllocated=4.2GB, ...",
    .of_anything = true,
    .defaults = (const char *const[]){"half_weights", "on", NULL},
    .recognise = recognise,
    .read = read,
    .finish = finish,
};
