/*
 * deepspeed.c - a DeepSpeed configuration: JSON.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/import.h"

static bool recognise(const char *path, const char *text)
{
    (void)path;
    return strstr(text, "zero_optimization") || strstr(text, "train_micro_batch_size_per_gpu");
}

static const char training[] = "concerns what is learnt, not how fast", files[] = "logging";
static const char tuning[] = "tuning of communication";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"train_micro_batch_size_per_gpu", "batch", NULL, NULL, false},
    {"gradient_accumulation_steps", "accum", NULL, NULL, false},
    {"train_batch_size", NULL, NULL, "follows from the others", false},
    {"gradient_clipping", "grad_clip", NULL, NULL, false},
    {"zero_optimization.stage", "zero", NULL, NULL, false},
    {"zero_optimization.offload*", NULL, NULL, "offloading to CPU or NVMe", true},
    {"zero_optimization.*", NULL, NULL, tuning, false},
    {"bf16.enabled", "precision", "true=bf16 false=-", "off", false},
    {"fp16.enabled", "precision", "true=fp16 false=-", "off", false},
    {"bfloat16.enabled", "precision", "true=bf16 false=-", "off", false},
    {"fp16.*", NULL, NULL, "scaling of the loss", false},
    {"bf16.*", NULL, NULL, "details of bf16", true},
    {"optimizer.type", "optimizer", "Adam=adamw AdamW=adamw FusedAdam=adamw OneBitAdam=adamw Lion=lion SGD=sgd Adafactor=adafactor Muon=muon", NULL, false},
    {"optimizer.params.*", NULL, NULL, training, false},
    {"optimizer.params*", NULL, NULL, training, false},
    {"scheduler.*", NULL, NULL, training, false},
    {"activation_checkpointing.*", NULL, NULL, "it also takes calls in the model: set checkpoint", true},
    {"communication_data_type", NULL, NULL, "type of the sums of gradients", true},
    {"sparse_attention*", NULL, NULL, "sparse attention", true},
    {"flops_profiler.*", NULL, NULL, files, false}, {"wandb.*", NULL, NULL, files, false},
    {"tensorboard.*", NULL, NULL, files, false}, {"csv_monitor.*", NULL, NULL, files, false},
    {"steps_per_print", NULL, NULL, files, false}, {"wall_clock_breakdown", NULL, NULL, files, false},
    {"dump_state", NULL, NULL, files, false}, {"zero_allow_untested_optimizer", NULL, NULL, files, false},
    {"prescale_gradients", NULL, NULL, tuning, false}, {"gradient_predivide_factor", NULL, NULL, tuning, false},
    {"comms_logger.*", NULL, NULL, files, false},
    {NULL, NULL, NULL, NULL, false},
};
// clang-format on

static void finish(struct mfu_import *m)
{
    struct mfu_entry *all = mfu_import_find(m, "train_batch_size"), *accum = mfu_import_find(m, "gradient_accumulation_steps");
    struct mfu_entry *half = mfu_import_find(m, "bf16.enabled");
    double global = mfu_import_number(m, "train_batch_size"), steps = mfu_import_number(m, "gradient_accumulation_steps");
    double batch = mfu_import_number(m, "train_micro_batch_size_per_gpu"), ranks;
    char text[32];

    for (int i = 0; i < m->n; i++)
        if (strcmp(m->entries[i].value, "auto") == 0)
            mfu_import_leave(&m->entries[i], MFU_IGNORED, "\"auto\": the Trainer fills it in");
    if (isnan(steps) && !accum)
        steps = 1;
    ranks = global / (batch * steps);
    if (all && ranks >= 1 && ranks == floor(ranks)) {
        mfu_import_set(m, all, "gpus", "over the micro-batch and the accumulation", "%.0f", ranks);
        snprintf(text, sizeof text, "%.0f", ranks);
        mfu_import_assume(m, "dp", text, "all ranks split the batch");
        snprintf(text, sizeof text, "%.0f", ceil(ranks / 8));
        mfu_import_assume(m, "nodes", text, "eight GPUs in a node");
    } else if (all && isnan(batch))
        mfu_import_leave(all, MFU_UNMODELLED, "without the micro-batch it says nothing of one GPU");
    if (half && half->set)
        mfu_import_assume(m, "half_weights", "1", "DeepSpeed keeps 16-bit weights and fp32 masters");
}

const struct mfu_import_format mfu_import_format_deepspeed = {
    .name = "deepspeed",
    .title = "DeepSpeed configuration",
    .recognise = recognise,
    .take_apart = mfu_import_tree,
    .rows = rows,
    .finish = finish,
};
