/*
 * deepspeed.c - a DeepSpeed configuration: JSON.
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "read/config/import.h"

static bool recognise(const char *path, const char *text)
{
    (void)path;
    return strstr(text, "zero_optimization") || strstr(text, "train_micro_batch_size_per_gpu");
}

static const char training[] = "concerns what is learnt, not how fast", files[] = "logging";
static const char tuning[] = "tuning of communication";
static const char offloading[] = "details of offloading";
static const char quantised[] = "ZeRO++: quantised or hierarchical communication",
                  other[] = "another part of DeepSpeed";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"train_micro_batch_size_per_gpu", "batch", NULL, NULL, false},
    {"gradient_accumulation_steps", "accum", NULL, NULL, false},
    {"train_batch_size", NULL, NULL, "follows from the others", false},
    {"gradient_clipping", "grad_clip", NULL, NULL, false},
    {"zero_optimization", "zero", "true=1 false=0", NULL, false},
    {"zero_optimization.stage", "zero", NULL, NULL, false},
    {"zero_optimization.offload_optimizer.device", "offload_optimizer", "cpu=on nvme=on none=off", NULL, false},
    {"zero_optimization.offload_param.device", "offload_params", "cpu=on nvme=on none=off", NULL, false},
    {"zero_optimization.offload_optimizer.buffer_count", "nvme_buffers", NULL, NULL, false},
    {"zero_optimization.offload_param.buffer_count", "nvme_param_buffers", NULL, NULL, false},
    {"zero_optimization.offload_param.buffer_size", "nvme_param_buffer", NULL, NULL, false},
    {"zero_optimization.offload_param.max_in_cpu", "max_in_cpu", NULL, NULL, false},
    {"zero_optimization.sub_group_size", "sub_group_size", NULL, NULL, false},
    {"zero_optimization.offload_optimizer.ratio", NULL, "1=- 1.0=-", "part of the states stays on the GPU (Twin-Flow)", true},
    {"zero_optimization.offload_*", NULL, NULL, offloading, false},
    {"zero_optimization.cpu_offload", "offload_optimizer", "true=on false=off", NULL, false},
    {"zero_optimization.cpu_offload_params", "offload_params", "true=on false=off", NULL, false},
    {"zero_optimization.cpu_offload_*", NULL, NULL, offloading, false},
    {"zero_optimization.reduce_bucket_size", "memory.engine_bucket", NULL, NULL, false},
    {"zero_optimization.overlap_comm", "overlap_grad_reduce", "true=on false=off", NULL, false},
    {"zero_optimization.memory_efficient_linear", "memory_efficient_linear", "true=on false=off", NULL, false},
    {"zero_optimization.zero_hpz_partition_size", NULL, "1=-", quantised, true},
    {"zero_optimization.zero_quantized_*", NULL, NULL, quantised, true},
    {"zero_optimization.mics_*", NULL, "-1=-", "MiCS: shards within groups", true},
    {"zero_optimization.*", NULL, NULL, tuning, false},
    {"bf16.enabled", "precision", "true=bf16 false=-", "off", false},
    {"fp16.enabled", "precision", "true=fp16 false=-", "off", false},
    {"bfloat16.enabled", "precision", "true=bf16 false=-", "off", false},
    {"amp.enabled", NULL, NULL, "apex's mixed precision", true}, {"amp.*", NULL, NULL, "apex's mixed precision", false},
    {"torch_autocast.*", NULL, NULL, "autocast within the engine", true},
    {"fp16.*", NULL, NULL, "scaling of the loss", false},
    {"bf16.*", NULL, NULL, "details of bf16", true},
    {"optimizer.type", "optimizer", "Adam=adamw AdamW=adamw FusedAdam=adamw OneBitAdam=adamw Lion=lion SGD=sgd "
     "Adafactor=adafactor Muon=muon", NULL, false},
    {"optimizer.params.torch_adam", NULL, NULL, "PyTorch's Adam: set optimizer adamw-foreach", true},
    {"optimizer.*", NULL, NULL, training, false},
    {"scheduler.*", NULL, NULL, training, false}, {"curriculum_learning.*", NULL, NULL, "sequences that grow", true},
    {"activation_checkpointing.number_checkpoints", NULL, NULL, "it also takes calls in the model: set checkpoint",
     false},
    {"activation_checkpointing.*", NULL, NULL, "it also takes calls in the model: set checkpoint", true},
    {"communication_data_type", "grad_reduce", "fp32=fp32 fp16=bf16 bf16=bf16", NULL, false},
    {"data_types.grad_accum_dtype", NULL, NULL, "type in which gradients are added", true},
    {"sparse_attention*", NULL, NULL, "sparse attention", true},
    {"pipeline.*", NULL, NULL, other, true}, {"tensor_parallel.autotp_size", NULL, "0=- 1=-", other, true},
    {"elasticity.*", NULL, NULL, other, true}, {"autotuning.enabled", NULL, NULL, "tries settings", true},
    {"autotuning.*", NULL, NULL, files, false}, {"compression_training.*", NULL, NULL, other, true},
    {"progressive_layer_drop.*", NULL, NULL, other, true}, {"data_efficiency.*", NULL, NULL, other, true},
    {"compile.*", NULL, NULL, other, true}, {"aio.*", NULL, NULL, offloading, false},
    {"flops_profiler.*", NULL, NULL, files, false}, {"wandb.*", NULL, NULL, files, false},
    {"tensorboard.*", NULL, NULL, files, false}, {"csv_monitor.*", NULL, NULL, files, false},
    {"comet.*", NULL, NULL, files, false}, {"monitor_config.*", NULL, NULL, files, false},
    {"steps_per_print", NULL, NULL, files, false}, {"wall_clock_breakdown", NULL, NULL, files, false},
    {"memory_breakdown", NULL, NULL, files, false}, {"dump_state", NULL, NULL, files, false},
    {"zero_allow_untested_optimizer", NULL, NULL, files, false},
    {"zero_force_ds_cpu_optimizer", NULL, NULL, offloading, false},
    {"prescale_gradients", NULL, NULL, tuning, false}, {"gradient_predivide_factor", NULL, NULL, tuning, false},
    {"sparse_gradients", NULL, NULL, "sparse gradients of embeddings", true},
    {"disable_allgather", NULL, NULL, tuning, false},
    {"seq_parallel_communication_data_type", NULL, NULL, tuning, false}, {"checkpoint.*", NULL, NULL, files, false},
    {"dataloader_drop_last", NULL, NULL, training, false}, {"seed", NULL, NULL, training, false},
    {"comms_logger.*", NULL, NULL, files, false},
    {NULL, NULL, NULL, NULL, false},
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
    .recognise = recognise,
    .take_apart = mfu_import_tree,
    .rows = rows,
    .finish = finish,
};
