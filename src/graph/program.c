/*
 * program.c - names and growth of a program's lists.
 */
#include "graph/program.h"

#include <stdio.h>

const char *const mfu_phase_names[MFU_PHASE_COUNT] = {"forward", "backward", "optimizer"};
const char *const mfu_part_names[MFU_PART_COUNT] = {"weights",      "gradients",     "optimizer",
                                                    "weight_casts", "activations",   "logits_loss",
                                                    "workspace",    "communication", "other"};
const char *const mfu_part_meanings[MFU_PART_COUNT] = {
    [MFU_PART_WEIGHTS] = "parameters",
    [MFU_PART_GRADIENTS] = "their gradients",
    [MFU_PART_OPTIMIZER] = "momenta, master weights",
    [MFU_PART_WEIGHT_CASTS] = "16-bit copies of weights",
    [MFU_PART_ACTIVATIONS] = "kept for backward, in use",
    [MFU_PART_LOGITS_LOSS] = "logits, log-probabilities",
    [MFU_PART_WORKSPACE] = "scratch of kernels, ends of blocks",
    [MFU_PART_COMMUNICATION] = "buckets, gathered shards",
    [MFU_PART_OTHER] = "everything else",
};
const double mfu_type_bytes[MFU_TYPE_COUNT] = {[MFU_F32] = 4, [MFU_F16] = 2, [MFU_F8] = 1, [MFU_I64] = 8, [MFU_U8] = 1};

const char *mfu_launch_name(const struct mfu_launch *l, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s%s%s", l->section, *l->section && *l->op ? "." : "", l->op, *l->suffix ? "." : "",
             l->suffix);
    return buf;
}
