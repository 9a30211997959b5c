/*
 * torchtitan.c - a job of pytorch/torchtitan: TOML, sections of name = value.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/import.h"

static bool recognise(const char *path, const char *text)
{
    size_t n = strlen(path);

    return n > 5 && strcmp(path + n - 5, ".toml") == 0 && strstr(text, "[training]")
        && (strstr(text, "[model]") || strstr(text, "[parallelism]") || strstr(text, "[job]"));
}

static const char training[] = "concerns what is learnt, not how fast", files[] = "files and logging";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"training.local_batch_size", "batch", NULL, NULL, false},
    {"training.batch_size", "batch", NULL, NULL, false},
    {"training.seq_len", "seq", NULL, NULL, false},
    {"training.global_batch_size", NULL, NULL, "follows from the batch and the ranks", false},
    {"training.mixed_precision_param", "precision", "bfloat16=bf16 float16=fp16 float32=tf32", NULL, false},
    {"training.mixed_precision_reduce", NULL, NULL, "gradients are summed in fp32", false},
    {"training.compile", "runtime", "true=compile false=eager", NULL, false},
    {"compile.enable", "runtime", "true=compile false=eager", NULL, false},
    {"compile.components*", NULL, NULL, "all of the model is taken", false},
    {"training.max_norm", "grad_clip", NULL, NULL, false},
    {"training.data_parallel_shard_degree", NULL, NULL, "see below", true},
    {"training.steps", NULL, NULL, training, false},
    {"training.warmup_steps", NULL, NULL, training, false},
    {"training.dataset*", NULL, NULL, training, false},
    {"training.enable_cpu_offload", NULL, "false=-", "offloading to the CPU", true},
    {"parallelism.data_parallel_replicate_degree", "dp", "-1=- 1=-", "one replica", false},
    {"parallelism.data_parallel_shard_degree", NULL, NULL, "FSDP over all ranks: how many is not in the file; set gpus, zero 3", true},
    {"parallelism.tensor_parallel_degree", "tp", NULL, NULL, false},
    {"parallelism.pipeline_parallel_degree", "pp", NULL, NULL, false},
    {"parallelism.context_parallel_degree", "cp", NULL, NULL, false},
    {"parallelism.expert_parallel_degree", "ep", NULL, NULL, false},
    {"parallelism.fsdp_reshard_after_forward", NULL, NULL, "when FSDP drops weights", true},
    {"parallelism.enable_async_tensor_parallel", NULL, NULL, "overlap of tensor parallelism", true},
    {"parallelism.*", NULL, NULL, "how ranks are arranged", true},
    {"activation_checkpoint.mode", "checkpoint", "none=none selective=selective full=full", NULL, false},
    {"activation_checkpoint.selective_ac_option", NULL, NULL, "which operators: ours is attention", true},
    {"activation_checkpoint.*", NULL, NULL, "details of checkpointing", true},
    {"optimizer.name", "optimizer", "AdamW=adamw Adam=adamw", NULL, false},
    {"optimizer.implementation", NULL, NULL, "taken with the name", false},
    {"optimizer.fused", NULL, NULL, "fused is assumed", false},
    {"optimizer.*", NULL, NULL, training, false},
    {"lr_scheduler.*", NULL, NULL, training, false},
    {"float8.*", NULL, NULL, "float8 of single layers: set precision fp8 to plan all of them so", true},
    {"quantize.*", NULL, NULL, "quantised layers: set precision fp8 to plan all of them so", true},
    {"model.converters", NULL, NULL, "layers that are replaced (float8)", true},
    {"model.name", NULL, NULL, "taken with the flavor", false},
    {"model.flavor", NULL, NULL, "no model of this name is known: choose one", true},
    {"model.*", NULL, NULL, files, false},
    {"job.*", NULL, NULL, files, false},
    {"metrics.*", NULL, NULL, files, false},
    {"checkpoint.*", NULL, NULL, "checkpoints are not part of a step", false},
    {"profiling.*", NULL, NULL, "profiling is not part of a step", false},
    {"validation.*", NULL, NULL, "evaluation is not part of a step", false},
    {"comm.*", NULL, NULL, "timeouts", false},
    {"fault_tolerance.*", NULL, NULL, "not part of a step", false},
    {NULL, NULL, NULL, NULL, false},
};

/* The program's own. */
static const char *const defaults[] = {
    "training.local_batch_size", "8", "training.seq_len", "2048", "training.mixed_precision_param", "bfloat16",
    "activation_checkpoint.mode", "selective", "compile.enable", "false", "training.max_norm", "1.0", NULL};
// clang-format on

static void find_model(struct mfu_import *m)
{
    // clang-format off
    static const struct { const char *name, *flavor, *ours; } models[] = {
        {"llama3", "8B", "llama-3-8b"}, {"llama3", "70B", "llama-3-70b"}, {"llama2", "7B", "llama-2-7b"},
        {"llama2", "13B", "llama-2-13b"}, {"llama2", "70B", "llama-2-70b"}, {"qwen3", "8B", "qwen3-8b"}};
    // clang-format on
    struct mfu_entry *name = mfu_import_find(m, "model.name"), *flavor = mfu_import_find(m, "model.flavor");

    for (size_t i = 0; name && flavor && i < sizeof models / sizeof models[0]; i++)
        if (strcmp(name->value, models[i].name) == 0 && strcmp(flavor->value, models[i].flavor) == 0)
            mfu_import_set(m, flavor, "model", "", "%s", models[i].ours);
}

static void finish(struct mfu_import *m)
{
    struct mfu_entry *old = mfu_import_find(m, "training.batch_size");
    struct mfu_entry *batch = mfu_import_find(m, "training.local_batch_size");
    struct mfu_entry *all = mfu_import_find(m, "training.global_batch_size");
    struct mfu_entry *compile = mfu_import_find(m, "training.compile");
    struct mfu_entry *optimizer = mfu_import_find(m, "optimizer.name");
    struct mfu_entry *how = mfu_import_find(m, "optimizer.implementation");
    double ranks = m->start->setting[MFU_S_GPUS], global = mfu_import_number(m, "training.global_batch_size");
    double local = mfu_import_number(m, old ? "training.batch_size" : "training.local_batch_size");

    if (old && batch && batch->fate == MFU_ASSUMED)
        mfu_import_leave(batch, MFU_IGNORED, "an older name is in the file");
    if (compile && mfu_import_find(m, "compile.enable")->fate == MFU_ASSUMED)
        mfu_import_leave(mfu_import_find(m, "compile.enable"), MFU_IGNORED, "an older name is in the file");
    if (optimizer && optimizer->set && how && strcmp(how->value, "foreach") == 0)
        mfu_import_set(m, optimizer, "optimizer", "foreach, not fused", "adamw-foreach");
    if (optimizer && optimizer->set && how && strcmp(how->value, "for-loop") == 0)
        mfu_import_set(m, optimizer, "optimizer", "a loop, not fused", "adamw-loop");
    if (all && global > 0 && fmod(global, local * ranks) == 0)
        mfu_import_set(m, all, "accum", "over the local batch and the GPUs of the scenario", "%.0f", global / (local * ranks));
    find_model(m);
}

const struct mfu_import_format mfu_import_format_torchtitan = {
    .name = "torchtitan",
    .title = "torchtitan job",
    .recognise = recognise,
    .take_apart = mfu_import_assignments,
    .rows = rows,
    .defaults = defaults,
    .finish = finish,
};
