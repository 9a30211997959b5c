/*
 * choices.c - the tables of what settings choose from.
 */
#include "scenario/choices.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "kernel/attention_kind.h"
#include "scenario/adapter.h"
#include "scenario/checkpoint.h"
#include "scenario/objective.h"
#include "scenario/optimizer.h"
#include "scenario/precision.h"
#include "scenario/runtime.h"
#include "scenario/schedule.h"
#include "scenario/trainer.h"

#define NAME(id, label, ...) [MFU_##id] = label,
#define ROW(id, label, ...) [MFU_##id] = {.name = label, __VA_ARGS__},
#define OPTIMIZER_ROW(id, label, update, ...) [MFU_##id] = {.name = label, .kernel = update, __VA_ARGS__},

const struct mfu_precision_row mfu_precisions[MFU_PRECISION_COUNT] = {MFU_PRECISIONS(ROW)};
const char *const mfu_precision_names[MFU_PRECISION_COUNT + 1] = {MFU_PRECISIONS(NAME)};

const struct mfu_checkpoint_row mfu_checkpoints[MFU_CHECKPOINT_COUNT] = {MFU_CHECKPOINTS(ROW)};
const char *const mfu_checkpoint_names[MFU_CHECKPOINT_COUNT + 1] = {MFU_CHECKPOINTS(NAME)};
const struct mfu_recomputed_module_row mfu_recomputed_modules[] = {MFU_RECOMPUTED_MODULES(ROW)};
const char *const mfu_recomputed_module_names[MFU_RECOMPUTED_MODULE_COUNT + 1] = {MFU_RECOMPUTED_MODULES(NAME)};

const struct mfu_runtime mfu_runtimes[MFU_RUNTIME_COUNT] = {MFU_RUNTIMES(ROW)};
const char *const mfu_runtime_names[MFU_RUNTIME_COUNT + 1] = {MFU_RUNTIMES(NAME)};

const struct mfu_context_row mfu_contexts[MFU_CONTEXT_KIND_COUNT] = {MFU_CONTEXT_KINDS(ROW)};
const char *const mfu_context_names[MFU_CONTEXT_KIND_COUNT + 1] = {MFU_CONTEXT_KINDS(NAME)};

#define TRAINER_NAME(id, label, ...) [MFU_TRAINER_##id] = label,
#define TRAINER_ROW(id, label, ...) [MFU_TRAINER_##id] = {.name = label, __VA_ARGS__},

const struct mfu_trainer mfu_trainers[MFU_TRAINER_COUNT] = {MFU_TRAINERS(TRAINER_ROW)};
const char *const mfu_trainer_names[MFU_TRAINER_COUNT + 1] = {MFU_TRAINERS(TRAINER_NAME)};

const struct mfu_optimizer_row mfu_optimizers[MFU_OPTIMIZER_COUNT] = {MFU_OPTIMIZERS(OPTIMIZER_ROW)};
const char *const mfu_optimizer_names[MFU_OPTIMIZER_COUNT + 1] = {MFU_OPTIMIZERS(NAME)};

const struct mfu_base_row mfu_bases[MFU_BASE_COUNT] = {MFU_BASES(ROW)};
const char *const mfu_base_names[MFU_BASE_COUNT + 1] = {MFU_BASES(NAME)};
const struct mfu_method_row mfu_methods[MFU_METHOD_COUNT] = {MFU_ADAPTER_METHODS(ROW)};
const char *const mfu_method_names[MFU_METHOD_COUNT + 1] = {MFU_ADAPTER_METHODS(NAME)};

const struct mfu_package mfu_packages[MFU_PACKAGE_COUNT] = {MFU_PACKAGES(ROW)};
const char *const mfu_package_names[MFU_PACKAGE_COUNT + 1] = {MFU_PACKAGES(NAME)};
const struct mfu_adapter_row mfu_adapters[MFU_ADAPTER_KIND_COUNT] = {MFU_ADAPTER_KERNELS(ROW)};
const char *const mfu_adapter_names[MFU_ADAPTER_KIND_COUNT + 1] = {MFU_ADAPTER_KERNELS(NAME)};

const struct mfu_objective_row mfu_objectives[MFU_OBJECTIVE_COUNT] = {MFU_OBJECTIVES(ROW)};
const char *const mfu_objective_names[MFU_OBJECTIVE_COUNT + 1] = {MFU_OBJECTIVES(NAME)};
const struct mfu_reference_row mfu_references[MFU_REFERENCE_COUNT] = {MFU_REFERENCES(ROW)};
const char *const mfu_reference_names[MFU_REFERENCE_COUNT + 1] = {MFU_REFERENCES(NAME)};

const char *const mfu_adapter_types[] = {"fp32", "16bit", NULL};

#define OTHERS(rows, i) ((struct mfu_other_names){(rows)[i].aliases, (rows)[i].stands_for})

struct mfu_other_names mfu_choice_other_names(const char *const *names, int i)
{
    return names == mfu_precision_names ? OTHERS(mfu_precisions, i)
        : names == mfu_runtime_names    ? OTHERS(mfu_runtimes, i)
        : names == mfu_attention_names  ? OTHERS(mfu_attentions, i)
        : names == mfu_checkpoint_names ? OTHERS(mfu_checkpoints, i)
        : names == mfu_base_names       ? OTHERS(mfu_bases, i)
        : names == mfu_method_names     ? OTHERS(mfu_methods, i)
        : names == mfu_package_names    ? OTHERS(mfu_packages, i)
        : names == mfu_adapter_names    ? OTHERS(mfu_adapters, i)
        : names == mfu_optimizer_names  ? OTHERS(mfu_optimizers, i)
        : names == mfu_objective_names  ? OTHERS(mfu_objectives, i)
        : names == mfu_reference_names  ? OTHERS(mfu_references, i)
        : names == mfu_context_names    ? OTHERS(mfu_contexts, i)
        : names == mfu_trainer_names    ? OTHERS(mfu_trainers, i)
        : names == mfu_schedule_names
        ? (struct mfu_other_names){mfu_schedules[i]->aliases, mfu_schedules[i]->stands_for}
        : (struct mfu_other_names){NULL, NULL};
}

const char *mfu_choice_meaning(const char *const *names, const char *word)
{
    const char *text;
    int i = 0;

    while (names[i] && strcmp(names[i], word) != 0)
        i++;
    if (!names[i])
        return "";
    text = names == mfu_precision_names ? mfu_precisions[i].meaning
        : names == mfu_runtime_names    ? mfu_runtimes[i].meaning
        : names == mfu_attention_names  ? mfu_attentions[i].title
        : names == mfu_checkpoint_names ? mfu_checkpoints[i].meaning
        : names == mfu_optimizer_names  ? mfu_optimizers[i].meaning
        : names == mfu_base_names       ? mfu_bases[i].meaning
                                        : NULL;
    return text ? text : "";
}

double mfu_liger_loss_chunks(double rows, double width, double vocabulary)
{
    double at_once = 1;

    while (at_once < ceil(rows / ceil(vocabulary / width)))
        at_once *= 2;
    return ceil(rows / at_once);
}
