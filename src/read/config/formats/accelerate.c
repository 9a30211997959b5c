/*
 * accelerate.c - what `accelerate config` writes: how a run of Hugging Face's
 * accelerate is spread over GPUs.  Batch and model are in other files.
 */
#include <stdlib.h>
#include <string.h>

#include "read/config/import.h"

static const char wrapping[] = "how FSDP wraps and fetches", compiler[] = "details of the compiler";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"num_processes", .key = "gpus"},
    {"num_machines", .key = "nodes"},
    {"mixed_precision", .key = "precision", .values = "no=fp32 bf16=bf16 fp16=fp16 fp8=fp8"},
    {"gradient_accumulation_steps deepspeed_config.gradient_accumulation_steps", .key = "accum"},
    {"distributed_type", .values = "NO=- MULTI_GPU=- FSDP=- DEEPSPEED=-", .note = "another kind of distribution",
     .unmodelled = true},
    {"fsdp_config.fsdp_sharding_strategy", .key = "zero",
     .values = "FULL_SHARD=3 1=3 SHARD_GRAD_OP=3 2=3 NO_SHARD=0 3=0 HYBRID_SHARD=- 4=- HYBRID_SHARD_ZERO2=- 5=-"},
    {"fsdp_config.fsdp_reshard_after_forward", .key = "reshard_after_forward",
     .values = "true=on FULL_SHARD=on false=off SHARD_GRAD_OP=off"},
    {"fsdp_config.fsdp_activation_checkpointing", .key = "checkpoint", .values = "true=full false=-", .note = "off"},
    {"fsdp_config.fsdp_offload_params", .key = "offload_params", .values = "true=on false=off"},
    {"fsdp_config.*", .note = wrapping},
    {"deepspeed_config.zero_stage", .key = "zero"},
    {"deepspeed_config.gradient_clipping", .key = "grad_clip"},
    {"deepspeed_config.offload_optimizer_device", .key = "offload_optimizer", .values = "cpu=on nvme=on none=off"},
    {"deepspeed_config.offload_param_device", .key = "offload_params", .values = "cpu=on nvme=on none=off"},
    {"deepspeed_config.deepspeed_config_file", .note = "import that file, too", .unmodelled = true},
    {"deepspeed_config.* mpirun_config.* compute_environment machine_rank main_* rdzv_backend same_network gpu_ids "
     "debug enable_cpu_affinity", .note = MFU_NOTE_LAUNCHER},
    {"dynamo_config.dynamo_backend dynamo_backend", .key = "runtime", .values = "NO=eager INDUCTOR=compile"},
    {"dynamo_config.*", .values = "default=-", .note = compiler, .unmodelled = true},
    {"megatron_lm_config.*", .note = "Megatron-LM below accelerate", .unmodelled = true},
    {"fp8_config.*", .note = "details of fp8", .unmodelled = true},
    {"use_cpu", .note = "training on the CPU", .unmodelled = true},
    {"ipex_config.*", .note = "another device", .unmodelled = true},
    {"downcast_bf16 tpu_*", .note = "another device"},
    {.names = NULL},
};
// clang-format on

/* Sections of what is not in use stay in the file. */
static void leave_section(struct mfu_import *m, const char *section)
{
    for (int i = 0; i < m->n; i++)
        if (strncmp(m->entries[i].name, section, strlen(section)) == 0)
            mfu_import_leave(&m->entries[i], MFU_IGNORED, "not in use");
}

static void finish(struct mfu_import *m)
{
    struct mfu_entry *precision = mfu_import_find(m, "mixed_precision"), *strategy;
    bool fsdp = mfu_import_is(m, "distributed_type", "FSDP"),
         deepspeed = mfu_import_is(m, "distributed_type", "DEEPSPEED");

    for (int i = 0; i < m->n; i++)
        if (strcmp(m->entries[i].value, "auto") == 0)
            mfu_import_leave(&m->entries[i], MFU_IGNORED, "\"auto\": the program fills it in");
    if (!fsdp)
        leave_section(m, "fsdp_config.");
    if (!deepspeed)
        leave_section(m, "deepspeed_config.");
    mfu_import_drive(m, "deepspeed_config.offload_optimizer_device", "nvme_optimizer");
    mfu_import_drive(m, "deepspeed_config.offload_param_device", "nvme_params");
    strategy = mfu_import_find(m, "fsdp_config.fsdp_sharding_strategy");
    if (fsdp && strategy && (strcmp(strategy->value, "SHARD_GRAD_OP") == 0 || strcmp(strategy->value, "2") == 0))
        mfu_import_assume(m, "reshard_after_forward", "off", "SHARD_GRAD_OP");
    if (fsdp && !strategy) {
        mfu_import_assume(m, "zero", "3", "FSDP's default");
        strategy = mfu_import_find(m, "fsdp_config.fsdp_reshard_after_forward");
    }
    if (fsdp && strategy && (strncmp(strategy->value, "HYBRID", 6) == 0 || atoi(strategy->value) >= 4))
        mfu_import_hybrid(m, strategy, strstr(strategy->value, "ZERO2") || atoi(strategy->value) == 5);
    if (!fsdp && !deepspeed)
        mfu_import_assume(m, "zero", "0", "plain data parallelism");
    if (deepspeed)
        mfu_import_assume(m, "trainer", "deepspeed", "its engine runs the loop");
    if (deepspeed && precision && precision->set
        && (mfu_import_is(m, "mixed_precision", "bf16") || mfu_import_is(m, "mixed_precision", "fp16")))
        mfu_import_assume(m, "half_weights", "1", "DeepSpeed keeps 16-bit weights and fp32 masters");
}

const struct mfu_import_format mfu_import_format_accelerate = {
    .name = "accelerate",
    .title = "accelerate configuration",
    .marks = "distributed_type&num_processes",
    .take_apart = mfu_import_tree,
    .rows = rows,
    .finish = finish,
};
