/*
 * peft.c - adapter_config.json of peft: which adapters a model has.  Everything else
 * of the run is in other files.
 */
#include <string.h>

#include "read/config/import.h"

static bool recognise(const char *path, const char *text)
{
    (void)path;
    return strstr(text, "\"peft_type\"") != NULL;
}

static const char names[] = "names and files", learnt[] = "concerns what is learnt, not how fast";
static const char targets[] = "which modules";
static const char parts[] = "adapters of other ranks or in some layers only";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"peft_type", NULL, "LORA=-", "another kind of adapters", true},
    {"r", "lora", NULL, NULL, false},
    {"lora_dropout", "lora_dropout", NULL, NULL, false},
    {"use_dora", "dora", "true=on false=off", NULL, false},
    {"base_model_name_or_path", NULL, NULL, "no model of this name is known: choose one", true},
    {"target_modules*", NULL, NULL, targets, true},
    {"modules_to_save*", NULL, "=- null=-", targets, true},
    {"bias", NULL, "none=-", "biases that train: set trainable biases", true},
    {"rank_pattern.*", NULL, NULL, parts, true}, {"layers_to_transform*", NULL, "=- null=-", parts, true},
    {"layer_replication*", NULL, "=- null=-", parts, true}, {"target_parameters*", NULL, "=- null=-", parts, true},
    {"trainable_token_indices*", NULL, "=- null=-", parts, true}, {"exclude_modules*", NULL, "=- null=-", parts, true},
    {"use_qalora", NULL, "false=-", "another product", true},
    {"lora_bias", NULL, "false=-", "biases of adapters", true},
    {"auto_mapping*", NULL, NULL, names, false}, {"revision", NULL, NULL, names, false},
    {"peft_version", NULL, NULL, names, false}, {"task_type", NULL, NULL, names, false},
    {"inference_mode", NULL, NULL, names, false}, {"parent_library", NULL, NULL, names, false},
    {"lora_alpha", NULL, NULL, learnt, false},
    {"use_rslora", NULL, NULL, learnt, false}, {"init_lora_weights*", NULL, NULL, learnt, false},
    {"fan_in_fan_out", NULL, NULL, names, false}, {"megatron_*", NULL, NULL, names, false},
    {"alpha_pattern*", NULL, NULL, learnt, false}, {"loftq_config*", NULL, NULL, learnt, false},
    {"eva_config*", NULL, NULL, learnt, false}, {"corda_config*", NULL, NULL, learnt, false},
    {"rank_pattern", NULL, NULL, parts, false}, {"layers_pattern*", NULL, NULL, parts, false},
    {"qalora_group_size", NULL, NULL, learnt, false}, {"arrow_config*", NULL, NULL, learnt, false},
    {"ensure_weight_tying", NULL, "false=-", parts, true}, {"runtime_config*", NULL, NULL, names, false},
    {NULL, NULL, NULL, NULL, false},
};
// clang-format on

static void finish(struct mfu_import *m)
{
    struct mfu_entry *base = mfu_import_find(m, "base_model_name_or_path");

    if (base)
        mfu_import_model(m, base);
    mfu_import_list(m, "target_modules", "lora_targets", "linears that have adapters");
    mfu_import_list(m, "modules_to_save", "trainable", "train beside the adapters, as copies");
    mfu_import_assume(m, "lora_kernels", "peft", "");
}

const struct mfu_import_format mfu_import_format_peft = {
    .name = "peft",
    .title = "peft adapter configuration",
    .recognise = recognise,
    .take_apart = mfu_import_tree,
    .rows = rows,
    .finish = finish,
};
