/*
 * huggingface.c - TrainingArguments of Hugging Face's Trainer, as JSON or YAML.
 */
#include <math.h>
#include <string.h>

#include "answer/import.h"

static bool recognise(const char *path, const char *text)
{
    (void)path;
    return strstr(text, "per_device_train_batch_size") || strstr(text, "gradient_checkpointing")
        || strstr(text, "per_gpu_train_batch_size");
}

static const char training[] = "concerns what is learnt, not how fast", files[] = "files and logging";
static const char evaluation[] = "evaluation is not part of a step", loading[] = "the loader: set dataloader_ms";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"per_device_train_batch_size", "batch", NULL, NULL, false},
    {"per_gpu_train_batch_size", "batch", NULL, NULL, false},
    {"gradient_accumulation_steps", "accum", NULL, NULL, false},
    {"max_seq_length", "seq", NULL, NULL, false},
    {"max_length", "seq", NULL, NULL, false},
    {"block_size", "seq", NULL, NULL, false},
    {"cutoff_len", "seq", NULL, NULL, false},
    {"bf16", "precision", "true=bf16 false=-", "off", false},
    {"fp16", "precision", "true=fp16 false=-", "off", false},
    {"tf32", "precision", "true=tf32 false=-", "off", false},
    {"torch_compile", "runtime", "true=compile false=eager", NULL, false},
    {"torch_compile_*", NULL, NULL, "details of the compiler", true},
    {"gradient_checkpointing", "checkpoint", "true=full false=none", NULL, false},
    {"gradient_checkpointing_kwargs*", NULL, NULL, "details of checkpointing", true},
    {"max_grad_norm", "grad_clip", NULL, NULL, false},
    {"optim", "optimizer", "adamw_torch=adamw-foreach adamw_torch_fused=adamw adamw_hf=adamw-loop adamw_bnb_8bit=adam8bit "
     "adamw_8bit=adam8bit paged_adamw_8bit=adam8bit adafactor=adafactor sgd=sgd-momentum lion_32bit=lion", NULL, false},
    {"attn_implementation", "attention", "flash_attention_2=flash sdpa=flash eager=math flash_attention_3=flash3", NULL, false},
    {"use_liger_kernel", NULL, "false=-", "Liger's fused kernels: set loss_chunks for its loss", true},
    {"deepspeed", NULL, NULL, "import that file, too", true},
    {"fsdp", NULL, NULL, "sharding: set gpus and zero 3", true},
    {"fsdp_*", NULL, NULL, "details of FSDP", true},
    {"ddp_*", NULL, NULL, "details of DDP", true},
    {"lora*", NULL, NULL, "adapters: only part of the weights is trained", true},
    {"load_in_*", NULL, NULL, "quantised weights", true},
    {"use_peft", NULL, NULL, "adapters: only part of the weights is trained", true},
    {"packing", NULL, NULL, "how full sequences are: pad_fraction of `train`", true},
    {"group_by_length", NULL, NULL, "how full sequences are: pad_fraction of `train`", true},
    {"auto_find_batch_size", NULL, NULL, "halves the batch until it fits: `solve batch`", true},
    {"neftune_noise_alpha", NULL, NULL, training, false},
    {"model_name_or_path", NULL, NULL, "no model of this name is known: choose one", true},
    {"torch_empty_cache_steps", NULL, NULL, "empties the allocator's cache", true},
    {"dataloader_*", NULL, NULL, loading, false}, {"dataset*", NULL, NULL, loading, false},
    {"preprocessing_num_workers", NULL, NULL, loading, false}, {"remove_unused_columns", NULL, NULL, loading, false},
    {"per_device_eval_batch_size", NULL, NULL, evaluation, false}, {"eval*", NULL, NULL, evaluation, false},
    {"do_*", NULL, NULL, evaluation, false}, {"prediction_loss_only", NULL, NULL, evaluation, false},
    {"load_best_model_at_end", NULL, NULL, evaluation, false}, {"metric_for_best_model", NULL, NULL, evaluation, false},
    {"greater_is_better", NULL, NULL, evaluation, false}, {"batch_eval_metrics", NULL, NULL, evaluation, false},
    {"learning_rate", NULL, NULL, training, false}, {"weight_decay", NULL, NULL, training, false},
    {"adam_*", NULL, NULL, training, false}, {"lr_scheduler*", NULL, NULL, training, false},
    {"warmup_*", NULL, NULL, training, false}, {"num_train_epochs", NULL, NULL, training, false},
    {"max_steps", NULL, NULL, training, false}, {"seed", NULL, NULL, training, false},
    {"data_seed", NULL, NULL, training, false}, {"label_*", NULL, NULL, training, false},
    {"output_dir", NULL, NULL, files, false}, {"overwrite_output_dir", NULL, NULL, files, false},
    {"logging*", NULL, NULL, files, false}, {"log_*", NULL, NULL, files, false}, {"save*", NULL, NULL, files, false},
    {"report_to", NULL, NULL, files, false}, {"report_to[*", NULL, NULL, files, false}, {"run_name", NULL, NULL, files, false},
    {"push_to_hub*", NULL, NULL, files, false}, {"hub_*", NULL, NULL, files, false},
    {"disable_tqdm", NULL, NULL, files, false}, {"resume_from_checkpoint", NULL, NULL, files, false},
    {NULL, NULL, NULL, NULL, false},
};

static const char *const defaults[] = {
    "per_device_train_batch_size", "8", "gradient_accumulation_steps", "1", "optim", "adamw_torch",
    "max_grad_norm", "1.0", "gradient_checkpointing", "false", "torch_compile", "false", NULL};
// clang-format on

/* "meta-llama/Meta-Llama-3-8B" is llama-3-8b, if the catalog has it. */
static void find_model(struct mfu_import *m, struct mfu_entry *e)
{
    const char *name = strrchr(e->value, '/') ? strrchr(e->value, '/') + 1 : e->value;

    if (strncasecmp(name, "meta-", 5) == 0)
        name += 5;
    if (m->catalog && mfu_catalog_model(m->catalog, name, NULL))
        mfu_import_set(m, e, "model", "", "%s", name);
}

static void finish(struct mfu_import *m)
{
    struct mfu_entry *model = mfu_import_find(m, "model_name_or_path");
    struct mfu_entry *bf16 = mfu_import_find(m, "bf16"), *fp16 = mfu_import_find(m, "fp16");
    struct mfu_entry *tf32 = mfu_import_find(m, "tf32");
    bool half = (bf16 && bf16->set) || (fp16 && fp16->set);

    if (model)
        find_model(m, model);
    if (half && tf32 && tf32->set)
        mfu_import_leave(tf32, MFU_IGNORED, "beside 16-bit autocast nothing large is left in fp32");
    if (!half && (!tf32 || !tf32->set))
        mfu_import_assume(m, "precision", "fp32", "no 16-bit precision is switched on");
}

const struct mfu_import_format mfu_import_format_huggingface = {
    .name = "huggingface",
    .title = "Hugging Face TrainingArguments",
    .recognise = recognise,
    .take_apart = mfu_import_tree,
    .rows = rows,
    .defaults = defaults,
    .finish = finish,
};
