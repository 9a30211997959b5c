/*
 * deepspeed.c - a DeepSpeed configuration: JSON.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "read/config/import.h"

static const char files[] = "logging";
static const char tuning[] = "tuning of communication";
static const char offloading[] = "details of offloading";
static const char quantised[] = "ZeRO++: quantised or hierarchical communication",
                  other[] = "another part of DeepSpeed";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"train_micro_batch_size_per_gpu", .key = "batch"},
    {"gradient_accumulation_steps", .key = "accum"},
    {"train_batch_size", .note = "follows from the others"},
    {"gradient_clipping", .key = "grad_clip"},
    {"zero_optimization", .key = "zero", .values = "true=1 false=0"},
    {"zero_optimization.stage", .key = "zero"},
    {"zero_optimization.offload_optimizer.device", .key = "offload_optimizer", .values = "cpu=on nvme=on none=off"},
    {"zero_optimization.offload_param.device", .key = "offload_params", .values = "cpu=on nvme=on none=off"},
    {"zero_optimization.offload_optimizer.buffer_count", .key = "nvme_buffers"},
    {"zero_optimization.offload_param.buffer_count", .key = "nvme_param_buffers"},
    {"zero_optimization.offload_param.buffer_size", .key = "nvme_param_buffer"},
    {"zero_optimization.offload_param.max_in_cpu", .key = "max_in_cpu"},
    {"zero_optimization.sub_group_size", .key = "sub_group_size"},
    {"zero_optimization.offload_optimizer.ratio", .values = "1=- 1.0=-",
     .note = "part of the states stays on the GPU (Twin-Flow)", .unmodelled = true},
    {"zero_optimization.offload_*", .note = offloading},
    {"zero_optimization.cpu_offload", .key = "offload_optimizer", .values = "true=on false=off"},
    {"zero_optimization.cpu_offload_params", .key = "offload_params", .values = "true=on false=off"},
    {"zero_optimization.cpu_offload_* aio.* zero_force_ds_cpu_optimizer", .note = offloading},
    {"zero_optimization.reduce_bucket_size", .key = "memory.engine_bucket"},
    {"zero_optimization.overlap_comm", .key = "overlap_grad_reduce", .values = "true=on false=off"},
    {"zero_optimization.memory_efficient_linear", .key = "memory_efficient_linear", .values = "true=on false=off"},
    {"zero_optimization.zero_hpz_partition_size", .values = "1=-", .note = quantised, .unmodelled = true},
    {"zero_optimization.zero_quantized_*", .note = quantised, .unmodelled = true},
    {"zero_optimization.mics_*", .values = "-1=-", .note = "MiCS: shards within groups", .unmodelled = true},
    {"zero_optimization.* prescale_gradients gradient_predivide_factor disable_allgather "
     "seq_parallel_communication_data_type", .note = tuning},
    {"bf16.enabled bfloat16.enabled", .key = "precision", .values = "true=bf16 false=-", .note = "off"},
    {"fp16.enabled", .key = "precision", .values = "true=fp16 false=-", .note = "off"},
    {"amp.enabled", .note = "apex's mixed precision", .unmodelled = true},
    {"amp.*", .note = "apex's mixed precision"},
    {"torch_autocast.*", .note = "autocast within the engine", .unmodelled = true},
    {"fp16.*", .note = "scaling of the loss"},
    {"bf16.*", .note = "details of bf16", .unmodelled = true},
    {"optimizer.type", .key = "optimizer",
     .values = "Adam=adamw AdamW=adamw FusedAdam=adamw OneBitAdam=adamw Lion=lion SGD=sgd Adafactor=adafactor "
     "Muon=muon"},
    {"optimizer.params.torch_adam", .note = "PyTorch's Adam: set optimizer adamw-foreach", .unmodelled = true},
    {"optimizer.* scheduler.* dataloader_drop_last seed", .note = MFU_NOTE_TRAINING},
    {"curriculum_learning.*", .note = "sequences that grow", .unmodelled = true},
    {"activation_checkpointing.number_checkpoints", .note = "it also takes calls in the model: set checkpoint"},
    {"activation_checkpointing.*", .note = "it also takes calls in the model: set checkpoint", .unmodelled = true},
    {"communication_data_type", .key = "grad_reduce", .values = "fp32=fp32 fp16=bf16 bf16=bf16"},
    {"data_types.grad_accum_dtype", .note = "type in which gradients are added", .unmodelled = true},
    {"sparse_attention*", .note = "sparse attention", .unmodelled = true},
    {"pipeline.* elasticity.* compression_training.* progressive_layer_drop.* data_efficiency.* compile.*",
     .note = other, .unmodelled = true},
    {"tensor_parallel.autotp_size", .values = "0=- 1=-", .note = other, .unmodelled = true},
    {"autotuning.enabled", .note = "tries settings", .unmodelled = true},
    {"autotuning.* flops_profiler.* wandb.* tensorboard.* csv_monitor.* comet.* monitor_config.* steps_per_print "
     "wall_clock_breakdown memory_breakdown dump_state zero_allow_untested_optimizer checkpoint.* comms_logger.*",
     .note = files},
    {"sparse_gradients", .note = "sparse gradients of embeddings", .unmodelled = true},
    {.names = NULL},
};
// clang-format on

static bool is_auto(const struct mfu_entry *e)
{
    return e && strcmp(e->value, "auto") == 0;
}

static void assume_ranks(struct mfu_import *m, double ranks)
{
    mfu_import_assume_number(m, "dp", ranks, "all ranks split the batch");
    if (ranks > 8)
        mfu_import_assume_number(m, "nodes", ceil(ranks / 8), "eight GPUs in a node");
}

/* train_batch_size is micro-batch x accumulation x ranks.  Where one of the three
 * is missing DeepSpeed works it out; the ranks are the scenario's then. */
static void find_batch(struct mfu_import *m)
{
    struct mfu_entry *all = mfu_import_find(m, "train_batch_size");
    struct mfu_entry *accum = mfu_import_find(m, "gradient_accumulation_steps");
    struct mfu_entry *micro = mfu_import_find(m, "train_micro_batch_size_per_gpu");
    double global = mfu_import_number(m, "train_batch_size"), gpus = mfu_import_gpus(m);
    double steps = mfu_import_number(m, "gradient_accumulation_steps");
    double batch = mfu_import_number(m, "train_micro_batch_size_per_gpu");
    double missing;

    if (is_auto(accum) || is_auto(micro) || is_auto(all) || isnan(global)) {
        if (!accum)
            mfu_import_assume(m, "accum", "1", "DeepSpeed's default");
        return;
    }
    if (isnan(steps) && isnan(batch)) {
        mfu_import_assume(m, "accum", "1", "DeepSpeed's default");
        steps = 1;
    }
    missing = global / ((isnan(steps) ? 1 : steps) * (isnan(batch) ? 1 : batch));
    if (isnan(steps) || isnan(batch))
        missing /= gpus;
    if (!(missing >= 1 && missing == floor(missing))) {
        mfu_import_leave(all, MFU_UNMODELLED, "is no multiple of the others and the GPUs");
        return;
    }
    if (isnan(steps))
        mfu_import_set(m, all, "accum", "over the micro-batch and the GPUs of the scenario", "%.0f", missing);
    else if (isnan(batch))
        mfu_import_set(m, all, "batch", "over the accumulation and the GPUs of the scenario", "%.0f", missing);
    else {
        mfu_import_set(m, all, "gpus", "over the micro-batch and the accumulation", "%.0f", missing);
        assume_ranks(m, missing);
    }
}

/* The engine's own weights are 16-bit; without a 16-bit precision all is fp32. */
static void find_precision(struct mfu_import *m)
{
    static const char *const names[] = {"bf16.enabled", "bfloat16.enabled", "fp16.enabled"};
    bool half = false, unknown = false;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct mfu_entry *e = mfu_import_find(m, names[i]);

        half |= e && e->set;
        unknown |= is_auto(e);
    }
    if (half)
        mfu_import_assume(m, "half_weights", "1", "DeepSpeed keeps 16-bit weights and fp32 masters");
    else if (!unknown)
        mfu_import_assume(m, "precision", "fp32", "no 16-bit precision is switched on");
}

static bool is_true(const struct mfu_entry *e)
{
    return e && strcasecmp(e->value, "true") == 0;
}

/* Sums beside backward are stage 3's default alone (runtime/zero/config.py: overlap_comm_valid); "auto" buckets have as many
 * elements as the hidden size squared (transformers 5.23, integrations/deepspeed.py: trainer_config_finalize). */
static void find_buckets(struct mfu_import *m)
{
    struct mfu_entry *bucket = mfu_import_find(m, "zero_optimization.reduce_bucket_size");
    double stage = mfu_import_number(m, "zero_optimization.stage"), width = mfu_import_dim(m, "n_embd");

    if ((stage == 1 || stage == 2) && !mfu_import_find(m, "zero_optimization.overlap_comm"))
        mfu_import_assume(m, "overlap_grad_reduce", "off", "DeepSpeed's default below stage 3");
    if (is_auto(bucket) && width > 0)
        mfu_import_set(m, bucket, "memory.engine_bucket", "the hidden size squared", "%.0f", width * width);
}

static void find_pipeline(struct mfu_import *m)
{
    static const char *const names[] = {"none", "read", "write", "both"};
    struct mfu_entry *read = mfu_import_find(m, "zero_optimization.offload_optimizer.pipeline_read");
    struct mfu_entry *write = mfu_import_find(m, "zero_optimization.offload_optimizer.pipeline_write");

    if (is_true(read) || is_true(write))
        mfu_import_set(m, is_true(read) ? read : write, "nvme_pipeline", "", "%s",
                       names[is_true(read) + 2 * is_true(write)]);
}

static void finish(struct mfu_import *m)
{
    find_pipeline(m);
    mfu_import_drive(m, "zero_optimization.offload_optimizer.device", "nvme_optimizer");
    mfu_import_drive(m, "zero_optimization.offload_param.device", "nvme_params");
    for (int i = 0; i < m->n; i++)
        if (is_auto(&m->entries[i]))
            mfu_import_leave(&m->entries[i], MFU_IGNORED, "\"auto\": the Trainer fills it in");
    find_buckets(m);
    find_batch(m);
    find_precision(m);
    mfu_import_assume(m, "trainer", "deepspeed", "its engine runs the loop");
    if (!mfu_import_find(m, "gradient_clipping"))
        mfu_import_assume(m, "grad_clip", "0", "DeepSpeed's default");
    if (!mfu_import_find(m, "zero_optimization.stage") && !mfu_import_find(m, "zero_optimization"))
        mfu_import_assume(m, "zero", "0", "DeepSpeed's default");
}

const struct mfu_import_format mfu_import_format_deepspeed = {
    .name = "deepspeed",
    .title = "DeepSpeed configuration",
    .marks = "zero_optimization|train_micro_batch_size_per_gpu",
    .take_apart = mfu_import_tree,
    .rows = rows,
    .finish = finish,
};
