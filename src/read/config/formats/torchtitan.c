/*
 * torchtitan.c - a job of pytorch/torchtitan: TOML, sections of name = value.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/config/import.h"
#include "scenario/setting.h"

static const char schedule[] = "how stages are scheduled", fsdp[] = "FSDP over the ranks that split the batch";
static const char float8[] = "details of float8", timeouts[] = "timeouts", step[] = "not part of a step";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"training.local_batch_size training.batch_size", .key = "batch"},
    {"training.seq_len", .key = "seq"},
    {"training.global_batch_size", .note = "follows from the batch and the ranks"},
    {"training.mixed_precision_param", .key = "precision", .values = "bfloat16=bf16 float16=fp16 float32=tf32"},
    {"training.mixed_precision_reduce", .key = "grad_reduce", .values = "float32=fp32 bfloat16=bf16"},
    {"training.dtype", .key = "precision", .values = "float32=- bfloat16=bf16-pure", .note = "the weights' alone"},
    {"training.compile compile.enable", .key = "runtime", .values = "true=compile false=eager"},
    {"compile.*", .note = "all of the model is taken"},
    {"training.max_norm", .key = "grad_clip"},
    {"training.enable_cpu_offload", .key = "offload_params", .values = "true=on false=off"},
    {"training.gc_*", .note = "Python's garbage collection"},
    {"training.enable_fp8_linear training.fp8_linear", .values = "=-", .note = float8, .unmodelled = true},
    {"training.data_parallel_degree training.data_parallel_shard_degree parallelism.data_parallel_shard_degree",
     .note = fsdp},
    {"training.data_parallel_replicate_degree parallelism.data_parallel_replicate_degree",
     .note = "taken with the shards"},
    {"training.tensor_parallel_degree parallelism.tensor_parallel_degree", .key = "tp"},
    {"training.pipeline_parallel_degree parallelism.pipeline_parallel_degree experimental.pipeline_parallel_degree",
     .key = "pp"},
    {"training.steps training.warmup_steps training.dataset* training.seed", .note = MFU_NOTE_TRAINING},
    {"training.deterministic", .note = "deterministic kernels", .unmodelled = true},
    {"parallelism.context_parallel_degree experimental.context_parallel_degree", .key = "cp"},
    {"parallelism.expert_parallel_degree", .key = "ep"},
    {"parallelism.expert_tensor_parallel_degree", .key = "etp"},
    {"parallelism.pipeline_parallel_*", .note = schedule},
    {"parallelism.context_parallel_rotate_method", .key = "cp_comm_type",
     .values = "allgather=all_gather alltoall=p2p"},
    {"parallelism.context_parallel_* experimental.pipeline_parallel_*", .note = schedule},
    {"parallelism.fsdp_reshard_after_forward", .key = "reshard_after_forward",
     .values = "default=- always=on never=off"},
    {"parallelism.enable_async_tensor_parallel experimental.enable_async_tensor_parallel", .key = "tp_overlap",
     .values = "true=products false=-"},
    {"parallelism.enable_compiled_autograd experimental.enable_compiled_autograd", .note = "compiled autograd",
     .unmodelled = true},
    {"parallelism.*", .note = "how ranks are arranged", .unmodelled = true},
    {"experimental.custom_import experimental.custom_args_module", .values = "=-", .note = "another program's parts",
     .unmodelled = true},
    {"activation_checkpoint.mode", .key = "checkpoint",
     .values = "none=none selective=selective full=full memory_budget=budget"},
    {"activation_checkpoint.memory_budget", .key = "checkpoint_budget"},
    {"activation_checkpoint.selective_ac_option", .values = "op=-",
     .note = "layers of which every so manieth is recomputed whole", .unmodelled = true},
    {"activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns*", .note = "routers of experts"},
    {"activation_checkpoint.*", .note = "details of checkpointing", .unmodelled = true},
    {"memory_estimation.* debug.* fault_tolerance.*", .note = step},
    {"optimizer.name", .key = "optimizer", .values = "AdamW=adamw Adam=adamw"},
    {"optimizer.implementation optimizer.fused", .note = "taken with the name"},
    {"optimizer.early_step_in_backward", .note = "the optimizer's steps within backward", .unmodelled = true},
    {"optimizer.* lr_scheduler.*", .note = MFU_NOTE_TRAINING},
    {"float8.* quantize.*", .note = float8, .unmodelled = true},
    {"model.converters", .values = "=-", .note = "layers that are replaced", .unmodelled = true},
    {"model.name", .note = "taken with the flavor"},
    {"model.flavor", .note = "no model of this name is known: choose one", .unmodelled = true},
    {"model.norm_type", .values = "rmsnorm=- fused_rmsnorm=- compiled_rmsnorm=-", .note = "another norm",
     .unmodelled = true},
    {"model.* job.* metrics.*", .note = MFU_NOTE_FILES},
    {"checkpoint.*", .note = "checkpoints are not part of a step"},
    {"profiling.*", .note = "profiling is not part of a step"},
    {"validation.*", .note = MFU_NOTE_EVALUATION},
    {"comm.*", .note = timeouts},
    {.names = NULL},
};

/* The program's own; behind a name those that it had in 2024. */
static const char *const defaults[] = {
    "training.local_batch_size training.batch_size", "8", "training.seq_len", "2048",
    "training.mixed_precision_param", "bfloat16",
    "activation_checkpoint.mode", "selective",
    "compile.enable training.compile", "false", "training.max_norm", "1.0", "optimizer.name", "AdamW",
    "parallelism.data_parallel_shard_degree training.data_parallel_shard_degree training.data_parallel_degree", "-1",
    NULL};
// clang-format on

/* The one of these names, of this year or 2024, that the file has. */
static struct mfu_entry *either(struct mfu_import *m, const char *name, const char *older)
{
    struct mfu_entry *e = mfu_import_find(m, name);

    return e ? e : mfu_import_find(m, older);
}

static double degree(struct mfu_import *m, const char *name)
{
    static const char *const sections[] = {"parallelism", "training", "experimental"};

    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        char full[100];

        snprintf(full, sizeof full, "%s.%s", sections[i], name);
        if (mfu_import_find(m, full))
            return mfu_import_number(m, full);
    }
    return 1;
}

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

/* foreach unless it was asked for in 2024, fused since. */
static void find_optimizer(struct mfu_import *m)
{
    struct mfu_entry *e = mfu_import_find(m, "optimizer.name"), *how = mfu_import_find(m, "optimizer.implementation");
    struct mfu_entry *fused = mfu_import_find(m, "optimizer.fused");
    bool older = either(m, "training.data_parallel_shard_degree", "training.data_parallel_degree") != NULL;

    if (!e->set)
        return;
    if (how && strcmp(how->value, "for-loop") == 0)
        mfu_import_set(m, e, "optimizer", "a loop, not fused", "adamw-loop");
    else if (how ? strcmp(how->value, "foreach") == 0 : fused ? strcmp(fused->value, "true") != 0 : older)
        mfu_import_set(m, e, "optimizer", "foreach, not fused", "adamw-foreach");
}

/* The ranks that split the batch, as they are planned; says how they share the
 * weights. */
static double find_ranks(struct mfu_import *m)
{
    struct mfu_entry *e = either(m, "parallelism.data_parallel_shard_degree", "training.data_parallel_shard_degree");
    struct mfu_entry *copies =
        either(m, "parallelism.data_parallel_replicate_degree", "training.data_parallel_replicate_degree");
    double replicas = degree(m, "data_parallel_replicate_degree"), shards, gpus = mfu_import_gpus(m), ranks;
    double split = degree(m, "tensor_parallel_degree") * degree(m, "pipeline_parallel_degree")
        * degree(m, "context_parallel_degree");
    bool all;

    e = e ? e : mfu_import_find(m, "training.data_parallel_degree");
    shards = mfu_import_number(m, e->name);
    all = shards < 0 || isnan(shards);
    ranks = all ? gpus / split : replicas * shards;
    if (!all && ranks * split > 1) {
        mfu_import_assume_number(m, "gpus", ranks * split, "all degrees together");
        mfu_import_assume_number(m, "dp", ranks, "shards times replicas");
    } else if (all && split > 1 && ranks >= 1)
        mfu_import_assume_number(m, "dp", ranks, "the GPUs over tp, pp and cp");
    if (shards == 1 || (all && gpus == 1 && m->start->setting_given[MFU_S_GPUS]))
        mfu_import_set(m, e, "zero", "one shard: nothing is split", "0");
    else
        mfu_import_set(m, e, "zero", all && gpus == 1 ? "FSDP over all ranks: set gpus to how many there are" : fsdp,
                       "3");
    if (copies && replicas > 1 && shards != 1 && (!all || fmod(ranks, replicas) == 0))
        mfu_import_set(m, copies, "dp_shard", "so many copies of what is sharded", "%.0f",
                       all ? ranks / replicas : shards);
    return mfu_import_planned_ranks(m, all ? gpus : ranks * split, ranks);
}

static void find_accumulation(struct mfu_import *m)
{
    struct mfu_entry *all = mfu_import_find(m, "training.global_batch_size");
    double global = mfu_import_number(m, "training.global_batch_size"), ranks = find_ranks(m);
    double local = mfu_import_number(m, either(m, "training.local_batch_size", "training.batch_size")->name);
    double steps = global / (local * ranks);

    if (!all || global < 0)
        mfu_import_assume(m, "accum", "1", "without a global batch");
    else if (steps >= 1 && steps == floor(steps))
        mfu_import_set(m, all, "accum", "over the local batch and the ranks that split it", "%.0f", steps);
    else
        mfu_import_leave(all, MFU_UNMODELLED, "is no multiple of the local batch and the ranks that split it");
}

/* float8 of all linears but the head is what precision fp8 means here, with scales of the tensor at hand (pytorch/ao
 * @36027d8 float8/config.py: CastConfig). */
static void find_precision(struct mfu_import *m)
{
    struct mfu_entry *converters = mfu_import_find(m, "model.converters"), *pure = mfu_import_find(m, "training.dtype");
    struct mfu_entry *older = mfu_import_find(m, "float8.enable_float8_linear");
    struct mfu_entry *mixed = mfu_import_find(m, "training.mixed_precision_param"), *e = NULL;

    if (converters && strstr(converters->value, "float8"))
        e = converters;
    else if (older && strcmp(older->value, "true") == 0)
        e = older;
    for (int i = 0; !e && i < m->n; i++)
        if (strncmp(m->entries[i].name, "float8.", 7) == 0 || strncmp(m->entries[i].name, "quantize.", 9) == 0)
            mfu_import_leave(&m->entries[i], MFU_IGNORED, "float8 is not switched on");
    if (e) {
        mfu_import_set(m, e, "precision", "all linears but the head", "fp8-current");
        mfu_import_leave(mixed, MFU_IGNORED, "what is not float8");
    } else if (pure && pure->set)
        mfu_import_leave(mixed, MFU_IGNORED, "the weights are so already");
}

static void find_checkpointing(struct mfu_import *m)
{
    struct mfu_entry *mode = mfu_import_find(m, "activation_checkpoint.mode");
    struct mfu_entry *option = mfu_import_find(m, "activation_checkpoint.selective_ac_option");
    double every = mfu_import_number(m, "activation_checkpoint.selective_ac_option"),
           layers = mfu_import_dim(m, "n_layer") / fmax(1, mfu_import_set_number(m, "pp"));

    if (strcmp(mode->value, "selective") != 0) {
        if (option)
            mfu_import_leave(option, MFU_IGNORED, "not with this mode");
    } else if (!option)
        mfu_import_lack(m, "activation_checkpoint.selective_ac_option", "2",
                        "the default: every second layer whole; planned by operators");
    else if (strcmp(option->value, "1") == 0)
        mfu_import_set(m, mode, "checkpoint", "every layer", "full");
    else if (every > 1 && layers >= every) { /* of those, as many of the first are planned */
        mfu_import_set(m, mode, "checkpoint", "every so manieth layer", "full");
        mfu_import_set(m, option, "checkpoint_layers", "", "%.0f", floor(layers / every));
    }
}

static void finish(struct mfu_import *m)
{
    find_model(m);
    find_optimizer(m);
    find_accumulation(m);
    find_precision(m);
    find_checkpointing(m);
    mfu_import_assume(m, "trainer", "torchtitan", "whose loop it is");
    mfu_import_assume(m, "expandable_segments", "on", "run_train.sh sets it");
}

const struct mfu_import_format mfu_import_format_torchtitan = {
    .name = "torchtitan",
    .title = "torchtitan job",
    .marks = "[training]&[model]|[training]&[parallelism]|[training]&[job]",
    .ending = ".toml",
    .take_apart = mfu_import_assignments,
    .rows = rows,
    .defaults = defaults,
    .finish = finish,
};
