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
                                               [MFU_F4_32] = 0.5 + 1. / 32};

void mfu_launch_passes(struct mfu_launch *l)
{
    l->kernel.launches = l->passes * (1 + ceil(l->kernel.n / (320 * 65536)));
}

void mfu_launch_share(struct mfu_launch *l, double accum)
{
    l->kernel.flops = l->whole.flops / accum;
    l->kernel.read_bytes = l->whole.read_bytes / accum;
    l->kernel.write_bytes = l->whole.write_bytes / accum;
    l->kernel.launches = l->whole.launches / accum;
}

void mfu_launch_once(struct mfu_launch *l, enum mfu_occurrence when, double accum)
{
    l->when = when;
    l->whole = (struct mfu_amount){l->kernel.flops, l->kernel.read_bytes, l->kernel.write_bytes, l->kernel.launches};
    mfu_launch_share(l, accum);
}

const char *mfu_launch_name(const struct mfu_launch *l, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s%s%s", l->section, *l->section && *l->op ? "." : "", l->op, *l->suffix ? "." : "",
             l->suffix);
    return buf;
}
