/*
 * setting.c - the table of settings, and finding a row by name.
 */
#include "scenario/setting.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "descriptor/module_kinds.h"
#include "kernel/attention_kind.h"
#include "scenario/adapter.h"
#include "scenario/checkpoint.h"
#include "scenario/choices.h"
#include "scenario/objective.h"
#include "scenario/optimizer.h"
#include "scenario/precision.h"
#include "scenario/processor.h"
#include "scenario/runtime.h"
#include "scenario/schedule.h"
#include "scenario/trainer.h"

// clang-format off
const char *const mfu_switch_names[] = {"off", "on", NULL};
const char *const mfu_state_type_names[] = {"own", "fp32", "bf16", "fp16", "fp8", NULL};
const char *const mfu_master_names[] = {"fp32", "fp16", "remainders", NULL};
const char *const mfu_nvme_pipeline_names[] = {"none", "read", "write", "both", NULL};
const char *const mfu_too_long_names[] = {"cut", "drop", NULL};
const char *const mfu_padding_names[] = {"seq", "longest", "alike", NULL};
const char *const mfu_tp_overlap_names[] = {"off", "gradients", "products", NULL};
const char *const mfu_graph_scope_names[] = {"all", "attention", NULL};
const char *const mfu_loss_fusion_names[] = {"off", "native", "te", "flash-attn", NULL};
const char *const mfu_dispatcher_names[] = {"alltoall", "flex", NULL};
const char *const mfu_reduce_names[] = {"as-added", "fp32", "bf16", NULL};
const char *const mfu_zero_grad_names[] = {"free", "fill", NULL};
const char *const mfu_ema_names[] = {"off", "lerp", "foreach", "loop", NULL};
const char *const mfu_dataloader_names[] = {"nothing", "jpeg", NULL};
const char *const mfu_debug_names[] = {"off", "info", "detail", NULL};
const char *const mfu_loop_names[] = {"plain", "transformers", NULL};
const char *const mfu_rank_order_names[] = {"tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp", NULL};

const struct mfu_setting mfu_settings[MFU_SETTING_COUNT] = {
#define X(id, ...) [MFU_S_##id] = {__VA_ARGS__},
    MFU_SETTINGS(X)
#undef X
};
// clang-format on

int mfu_switch_in(const char *text)
{
    return mfu_is_among("on 1 true yes", text) ? 1 : mfu_is_among("off 0 false no", text) ? 0 : -1;
}

int mfu_setting_choice(enum mfu_setting_id id, const char *text, bool *stands_for)
{
    const char *const *choices = mfu_settings[id].choices;
    bool other;

    if (!stands_for)
        stands_for = &other;
    *stands_for = false;
    for (int i = 0; choices && choices[i]; i++)
        if (mfu_same_name(choices[i], text))
            return i;
    if (choices == mfu_switch_names)
        return mfu_switch_in(text);
    if (choices == mfu_processor_names && mfu_processor_find(text) != MFU_CPU_UNKNOWN)
        return mfu_processor_find(text);
    for (int i = 0; choices && choices[i]; i++) {
        struct mfu_other_names names = mfu_choice_other_names(choices, i);

        *stands_for = mfu_is_among(names.stands_for, text);
        if (*stands_for || mfu_is_among(names.aliases, text))
            return i;
    }
    return -1;
}

/* "core_attn,mlp"; "none" of the empty set. */
static const char *set_format(char buf[MFU_QUANTITY_MAX], const char *const *names, unsigned set)
{
    size_t n = 0;

    snprintf(buf, MFU_QUANTITY_MAX, "none");
    for (int i = 0; names[i] && n < MFU_QUANTITY_MAX; i++)
        if (set >> i & 1)
            n += (size_t)snprintf(buf + n, MFU_QUANTITY_MAX - n, "%s%s", n ? "," : "", names[i]);
    return buf;
}

int mfu_setting_of_choice(const char *word, int before, int *choice)
{
    for (int i = before < 0 ? 0 : -1; i < MFU_SETTING_COUNT; i++) {
        int setting = i < 0 ? before : i;

        for (int k = 0; mfu_settings[setting].choices && mfu_settings[setting].choices[k]; k++)
            if (mfu_same_name(mfu_settings[setting].choices[k], word)) {
                *choice = k;
                return setting;
            }
    }
    return -1;
}

double mfu_setting_choice_number(int setting, double choice)
{
    return mfu_settings[setting].choices == mfu_switch_names ? choice : 1000 * (setting + 1) + choice;
}

const char *mfu_setting_word(char buf[MFU_QUANTITY_MAX], enum mfu_setting_id id, double value)
{
    const struct mfu_setting *row = &mfu_settings[id];

    if (row->modules)
        return mfu_modules_format(buf, MFU_QUANTITY_MAX, (unsigned)value);
    if (row->set_of)
        return set_format(buf, row->set_of, (unsigned)value);
    return row->choices ? row->choices[(int)value] : NULL;
}

const char *mfu_setting_format(char *buf, enum mfu_setting_id id, double value)
{
    char text[MFU_QUANTITY_MAX];
    const char *word = mfu_setting_word(text, id, value);

    if (!word)
        return mfu_quantity_format(buf, value, mfu_settings[id].dim);
    snprintf(buf, MFU_QUANTITY_MAX, "%s", word);
    return buf;
}
