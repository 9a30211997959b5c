/*
 * program.c - names and growth of a program's lists.
 */
#include "graph/program.h"

#include <math.h>
#include <stdio.h>

const char *const mfu_phase_names[MFU_PHASE_COUNT] = {"forward", "backward", "optimizer", "communication"};
const char *const mfu_stream_names[MFU_STREAM_COUNT] = {
    [MFU_STREAM_COMPUTE] = "compute stream",
    [MFU_STREAM_COMMUNICATION] = "communication stream",
    [MFU_STREAM_TO_HOST] = "to the host",
    [MFU_STREAM_FROM_HOST] = "from the host",
    [MFU_STREAM_DRIVE] = "NVMe",
};
const char *const mfu_part_names[MFU_PART_COUNT] = {"weights",       "gradients",   "optimizer",   "ema",
                                                    "weight_casts",  "activations", "logits_loss", "workspace",
                                                    "communication", "other"};
const char *const mfu_part_meanings[MFU_PART_COUNT] = {
    [MFU_PART_WEIGHTS] = "parameters",
    [MFU_PART_GRADIENTS] = "their gradients",
    [MFU_PART_OPTIMIZER] = "momenta, master weights",
    [MFU_PART_EMA] = "running mean of the weights",
    [MFU_PART_WEIGHT_CASTS] = "weights cast for products",
    [MFU_PART_ACTIVATIONS] = "kept for backward, in use",
    [MFU_PART_LOGITS_LOSS] = "logits, log-probabilities",
    [MFU_PART_WORKSPACE] = "scratch of kernels, ends of blocks",
    [MFU_PART_COMMUNICATION] = "buckets, gathered shards",
    [MFU_PART_OTHER] = "everything else",
};
const double mfu_type_bytes[MFU_TYPE_COUNT] = {[MFU_F32] = 4,
                                               [MFU_F16] = 2,
                                               [MFU_F8] = 1,
                                               [MFU_I64] = 8,
                                               [MFU_U8] = 1,
                                               [MFU_F8_BLOCK] = 1 + 1. / 32,
                                               [MFU_F4_16] = 0.5 + 1. / 16,
                                               [MFU_F4_32] = 0.5 + 1. / 32,
                                               [MFU_F8_BOTH] = 2 + 2. / 32};

void mfu_work_passes(struct mfu_work *w)
{
    w->kernel.launches = w->passes * (1 + ceil(w->kernel.n / (320 * 65536)));
}

/* Traffic and arithmetic of an accumulation in the mean of `accum` micro-steps,
 * of which the first only moves a pointer. */
static void share_out(struct mfu_work *w, double accum)
{
    double share = (accum - 1) / accum;

    w->kernel.read_bytes = share * (w->half_of_bytes + w->accumulated_bytes);
    w->kernel.write_bytes = share * w->accumulated_bytes;
    w->kernel.flops = share * (w->kernel.m * w->kernel.n);
    w->kernel.launches = share;
}

void mfu_work_accumulate(struct mfu_work *w, double accum)
{
    if (w->accumulated_bytes > 0)
        share_out(w, accum);
    if (w->when == MFU_EVERY_MICRO_STEP)
        return;
    w->kernel.flops = w->whole.flops / accum;
    w->kernel.read_bytes = w->whole.read_bytes / accum;
    w->kernel.write_bytes = w->whole.write_bytes / accum;
    w->kernel.launches = w->whole.launches / accum;
}

void mfu_work_once(struct mfu_work *w, enum mfu_occurrence when, double accum)
{
    w->when = when;
    w->whole = (struct mfu_amount){w->kernel.flops, w->kernel.read_bytes, w->kernel.write_bytes, w->kernel.launches};
    mfu_work_accumulate(w, accum);
}

const char *mfu_launch_name(const struct mfu_launch *l, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s%s%s", l->section, *l->section && *l->op ? "." : "", l->op, *l->suffix ? "." : "",
             l->suffix);
    return buf;
}
