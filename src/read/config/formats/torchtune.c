/*
 * torchtune.c - a recipe's YAML: model._component_ names a builder with its size, and
 * whether it has adapters (lora_, qlora_).
 *
 * torchtune computes in the model's own type (dtype: bf16), with plain adapters;
 * qlora_ builders hold torchao's NF4.  Sources: torchtune recipes/configs, modules/peft/lora.py.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "read/config/import.h"

static const char targets[] = "which modules";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"model._component_", .note = "no model of this name is known: choose one", .unmodelled = true},
    {"model.lora_attn_modules*", .note = targets, .unmodelled = true},
    {"model.apply_lora_to_mlp", .note = targets},
    {"model.apply_lora_to_output", .values = "false=-", .note = "adapters of the head", .unmodelled = true},
    {"model.lora_rank", .key = "lora"},
    {"model.lora_dropout", .key = "lora_dropout"},
    {"model.lora_alpha", .note = MFU_NOTE_TRAINING},
    {"model.use_dora", .key = "dora", .values = "true=on false=off"},
    {"batch_size", .key = "batch"},
    {"gradient_accumulation_steps", .key = "accum"},
    {"tokenizer.max_seq_len", .key = "seq"},
    {"tokenizer*", .note = MFU_NOTE_LOADING},
    {"dtype", .key = "precision", .values = "bf16=bf16-pure fp32=fp32"},
    {"compile", .key = "runtime", .values = "true=compile false=eager"},
    {"enable_activation_checkpointing", .key = "checkpoint", .values = "true=full false=none"},
    {"enable_activation_offloading", .key = "offload_activations", .values = "true=on false=off"},
    {"optimizer_in_bwd", .key = "optimizer_in_backward", .values = "true=on false=off"},
    {"optimizer._component_", .key = "optimizer",
     .values = "torch.optim.AdamW=adamw-foreach torch.optim.SGD=sgd bitsandbytes.optim.PagedAdamW8bit=paged-adam8bit "
     "bitsandbytes.optim.PagedAdamW=paged-adamw bitsandbytes.optim.AdamW8bit=adam8bit torchao.optim.AdamW8bit=adam8bit"},
    {"optimizer.* lr_scheduler* seed epochs max_steps_per_epoch", .note = MFU_NOTE_TRAINING},
    {"clip_grad_norm", .key = "grad_clip"},
    {"loss._component_", .key = "loss_chunks",
     .values = "torchtune.modules.loss.CEWithChunkedOutputLoss=8 torchtune.modules.loss.LinearCrossEntropyLoss=8 "
     "torch.nn.CrossEntropyLoss=1"},
    {"loss*", .note = "the loss"},
    {"fsdp_cpu_offload", .key = "offload_params", .values = "true=on false=off"},
    {"custom_sharded_layers*", .note = "how FSDP wraps"},
    {"tensor_parallel_dim", .key = "tp"},
    {"context_parallel_dim", .key = "cp"},
    {"fsdp_reshard_after_forward", .key = "reshard_after_forward", .values = "true=- false=off"},
    {"dataset.packed", .key = "packing", .values = "true=on false=-", .note = "off"},
    {"dataset* shuffle", .note = MFU_NOTE_LOADING},
    {"checkpointer* profiler* metric_logger* output_dir resume_from_checkpoint log_* save_* run_val*", .note = MFU_NOTE_FILES},
    {"device", .values = "cuda=-", .note = "another device", .unmodelled = true},
    {.names = NULL},
};

static const char *const defaults[] = {"batch_size", "2", "gradient_accumulation_steps", "1",
                                       "optimizer._component_", "torch.optim.AdamW", "clip_grad_norm", "0", NULL};
static const struct { const char *theirs, *ours; } models[] = {
    {"llama2_7b", "llama-2-7b"}, {"llama2_13b", "llama-2-13b"}, {"llama2_70b", "llama-2-70b"},
    {"llama3_8b", "llama-3-8b"}, {"llama3_70b", "llama-3-70b"}, {"llama3_1_8b", "llama-3-8b"},
    {"llama3_1_70b", "llama-3-70b"}, {"llama3_3_70b", "llama-3-70b"},
    {"llama3_2_1b", "llama-3.2-1b"}, {"llama3_2_3b", "llama-3.2-3b"}, {"mistral_7b", "mistral-7b"},
    {"qwen2_5_0_5b", "qwen2.5-0.5b"}, {"qwen2_5_1_5b_base", "qwen2.5-1.5b"}, {"qwen2_5_1_5b_instruct", "qwen2.5-1.5b"},
    {"qwen2_5_3b", "qwen2.5-3b"}, {"qwen2_5_7b_base", "qwen2.5-7b"}, {"qwen2_5_7b_instruct", "qwen2.5-7b"},
    {"qwen3_8b_base", "qwen3-8b"}, {"qwen3_8b_instruct", "qwen3-8b"}, {"gemma_2b", "gemma-2b"},
    {"gemma2_2b", "gemma-2-2b"}};
// clang-format on

/* Forward in the model's type; AdamW with fused=True is the fused one. */
static void finish(struct mfu_import *m)
{
    struct mfu_entry *e = mfu_import_find(m, "model._component_"), *optimizer, *fused;
    const char *name = e ? strrchr(e->value, '.') : NULL;
    bool quantised, lora;
    char words[160] = "";

    mfu_import_need_length(m);
    if (!name)
        return;
    name++;
    quantised = strncmp(name, "qlora_", 6) == 0;
    lora = quantised || strncmp(name, "lora_", 5) == 0;
    name += quantised ? 6 : lora ? 5 : 0;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(name, models[i].theirs) == 0)
            mfu_import_set(m, e, "model", "", "%s", models[i].ours);
    if (!e->set)
        e->key = "model";
    optimizer = mfu_import_find(m, "optimizer._component_");
    fused = mfu_import_find(m, "optimizer.fused");
    if (optimizer && fused && strcasecmp(fused->value, "true") == 0)
        mfu_import_set(m, optimizer, "optimizer", "", "adamw");
    if (!lora)
        return;
    if (mfu_import_list(m, "model.lora_attn_modules", "lora_targets", "")
        && (e = mfu_import_find(m, "model.apply_lora_to_mlp")) && strcasecmp(e->value, "true") == 0)
        for (int i = 0; i < m->n; i++)
            if (m->entries[i].key && strcmp(m->entries[i].key, "lora_targets") == 0) {
                snprintf(words, sizeof words, "%.150s,mlp", m->entries[i].set);
                mfu_import_set(m, &m->entries[i], "lora_targets", "and of the MLP", "%s", words);
                break;
            }
    mfu_import_assume(m, "lora_kernels", "plain", "two linears in the model's type");
    if (quantised)
        mfu_import_assume(m, "base_precision", "torchao-nf4", "qlora_ builders quantise it");
}

const struct mfu_import_format mfu_import_format_torchtune = {
    .name = "torchtune",
    .title = "torchtune recipe",
    .marks = "_component_: torchtune.models.",
    .take_apart = mfu_import_tree,
    .rows = rows,
    .defaults = defaults,
    .finish = finish,
};
