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

static bool recognise(const char *path, const char *text)
{
    (void)path;
    return strstr(text, "_component_: torchtune.models.") != NULL;
}

static const char files[] = "files and logging", training[] = "concerns what is learnt, not how fast";
static const char loading[] = "the loader: set dataloader_ms", targets[] = "which modules";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"model._component_", NULL, NULL, "no model of this name is known: choose one", true},
    {"model.lora_attn_modules*", NULL, NULL, targets, true},
    {"model.apply_lora_to_mlp", NULL, NULL, targets, false},
    {"model.apply_lora_to_output", NULL, "false=-", "adapters of the head", true},
    {"model.lora_rank", "lora", NULL, NULL, false}, {"model.lora_dropout", "lora_dropout", NULL, NULL, false},
    {"model.lora_alpha", NULL, NULL, training, false}, {"model.use_dora", "dora", "true=on false=off", NULL, false},
    {"batch_size", "batch", NULL, NULL, false}, {"gradient_accumulation_steps", "accum", NULL, NULL, false},
    {"tokenizer.max_seq_len", "seq", NULL, NULL, false}, {"tokenizer*", NULL, NULL, loading, false},
    {"dtype", "precision", "bf16=bf16-pure fp32=fp32", NULL, false},
    {"compile", "runtime", "true=compile false=eager", NULL, false},
    {"enable_activation_checkpointing", "checkpoint", "true=full false=none", NULL, false},
    {"enable_activation_offloading", "offload_activations", "true=on false=off", NULL, false},
    {"optimizer_in_bwd", "optimizer_in_backward", "true=on false=off", NULL, false},
    {"optimizer._component_", "optimizer",
     "torch.optim.AdamW=adamw-foreach torch.optim.SGD=sgd bitsandbytes.optim.PagedAdamW8bit=paged-adam8bit "
     "bitsandbytes.optim.PagedAdamW=paged-adamw bitsandbytes.optim.AdamW8bit=adam8bit torchao.optim.AdamW8bit=adam8bit",
     NULL, false},
    {"optimizer.*", NULL, NULL, training, false},
    {"clip_grad_norm", "grad_clip", NULL, NULL, false},
    {"loss._component_", "loss_chunks",
     "torchtune.modules.loss.CEWithChunkedOutputLoss=8 torchtune.modules.loss.LinearCrossEntropyLoss=8 "
     "torch.nn.CrossEntropyLoss=1", NULL, false}, {"loss*", NULL, NULL, "the loss", false},
    {"fsdp_cpu_offload", "offload_params", "true=on false=off", NULL, false},
    {"custom_sharded_layers*", NULL, NULL, "how FSDP wraps", false},
    {"tensor_parallel_dim", "tp", NULL, NULL, false}, {"context_parallel_dim", "cp", NULL, NULL, false},
    {"fsdp_reshard_after_forward", "reshard_after_forward", "true=- false=off", NULL, false},
    {"dataset.packed", "packing", "true=on false=-", "off", false},
    {"dataset*", NULL, NULL, loading, false}, {"shuffle", NULL, NULL, loading, false},
    {"checkpointer*", NULL, NULL, files, false}, {"profiler*", NULL, NULL, files, false},
    {"metric_logger*", NULL, NULL, files, false}, {"lr_scheduler*", NULL, NULL, training, false},
    {"output_dir", NULL, NULL, files, false}, {"device", NULL, "cuda=-", "another device", true},
    {"seed", NULL, NULL, training, false}, {"epochs", NULL, NULL, training, false},
    {"max_steps_per_epoch", NULL, NULL, training, false}, {"resume_from_checkpoint", NULL, NULL, files, false},
    {"log_*", NULL, NULL, files, false}, {"save_*", NULL, NULL, files, false}, {"run_val*", NULL, NULL, files, false},
    {NULL, NULL, NULL, NULL, false},
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
    .recognise = recognise,
    .take_apart = mfu_import_tree,
    .rows = rows,
    .defaults = defaults,
    .finish = finish,
};
