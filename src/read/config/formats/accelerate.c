/*
 * accelerate.c - what `accelerate config` writes: how a run of Hugging Face's
 * accelerate is spread over GPUs.  Batch and model are in other files.
 */
#include <stdlib.h>
#include <string.h>

#include "read/config/import.h"

static bool recognise(const char *path, const char *text)
{
    (void)path;
    return strstr(text, "distributed_type") && strstr(text, "num_processes");
}

static const char launcher[] = "how processes find each other";
static const char wrapping[] = "how FSDP wraps and fetches", compiler[] = "details of the compiler";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"num_processes", "gpus", NULL, NULL, false},
    {"num_machines", "nodes", NULL, NULL, false},
    {"mixed_precision", "precision", "no=fp32 bf16=bf16 fp16=fp16 fp8=fp8", NULL, false},
    {"gradient_accumulation_steps", "accum", NULL, NULL, false},
    {"distributed_type", NULL, "NO=- MULTI_GPU=- FSDP=- DEEPSPEED=-", "another kind of distribution", true},
    {"fsdp_config.fsdp_sharding_strategy", "zero", "FULL_SHARD=3 1=3 SHARD_GRAD_OP=3 2=3 NO_SHARD=0 3=0 HYBRID_SHARD=- 4=- HYBRID_SHARD_ZERO2=- 5=-", NULL, false},
    {"fsdp_config.fsdp_reshard_after_forward", "reshard_after_forward", "true=on FULL_SHARD=on false=off SHARD_GRAD_OP=off", NULL, false},
    {"fsdp_config.fsdp_activation_checkpointing", "checkpoint", "true=full false=-", "off", false},
    {"fsdp_config.fsdp_offload_params", "offload_params", "true=on false=off", NULL, false},
    {"fsdp_config.*", NULL, NULL, wrapping, false},
    {"deepspeed_config.zero_stage", "zero", NULL, NULL, false},
    {"deepspeed_config.gradient_accumulation_steps", "accum", NULL, NULL, false},
    {"deepspeed_config.gradient_clipping", "grad_clip", NULL, NULL, false},
    {"deepspeed_config.offload_optimizer_device", "offload_optimizer", "cpu=on nvme=on none=off", NULL, false},
    {"deepspeed_config.offload_param_device", "offload_params", "cpu=on nvme=on none=off", NULL, false},
    {"deepspeed_config.deepspeed_config_file", NULL, NULL, "import that file, too", true},
    {"deepspeed_config.*", NULL, NULL, launcher, false},
    {"dynamo_config.dynamo_backend", "runtime", "NO=eager INDUCTOR=compile", NULL, false},
    {"dynamo_backend", "runtime", "NO=eager INDUCTOR=compile", NULL, false},
    {"dynamo_config.*", NULL, "default=-", compiler, true},
    {"megatron_lm_config.*", NULL, NULL, "Megatron-LM below accelerate", true},
    {"fp8_config.*", NULL, NULL, "details of fp8", true},
    {"use_cpu", NULL, NULL, "training on the CPU", true},
    {"ipex_config.*", NULL, NULL, "another device", true}, {"mpirun_config.*", NULL, NULL, launcher, false},
    {"compute_environment", NULL, NULL, launcher, false}, {"machine_rank", NULL, NULL, launcher, false},
    {"main_*", NULL, NULL, launcher, false}, {"rdzv_backend", NULL, NULL, launcher, false},
    {"same_network", NULL, NULL, launcher, false}, {"gpu_ids", NULL, NULL, launcher, false},
    {"debug", NULL, NULL, launcher, false}, {"downcast_bf16", NULL, NULL, "another device", false},
    {"tpu_*", NULL, NULL, "another device", false}, {"enable_cpu_affinity", NULL, NULL, launcher, false},
    {NULL, NULL, NULL, NULL, false},
};
// clang-format on

static bool is(struct mfu_import *m, const char *name, const char *value)
{
    struct mfu_entry *e = mfu_import_find(m, name);

    return e && strcmp(e->value, value) == 0;
}

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
    bool fsdp = is(m, "distributed_type", "FSDP"), deepspeed = is(m, "distributed_type", "DEEPSPEED");

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
        && (is(m, "mixed_precision", "bf16") || is(m, "mixed_precision", "fp16")))
        mfu_import_assume(m, "half_weights", "1", "DeepSpeed keeps 16-bit weights and fp32 masters");
}

const struct mfu_import_format mfu_import_format_accelerate = {
    .name = "accelerate",
    .title = "accelerate configuration",
    .recognise = recognise,
    .take_apart = mfu_import_tree,
    .rows = rows,
    .finish = finish,
};
