/*
 * scenarios.h - scenarios by name and settings, for tests of answers.
 */
#ifndef MFU_SCENARIOS_H
#define MFU_SCENARIOS_H

#include <stdio.h>
#include <string.h>

#include "catalog.h"

#include "plan/simulation.h"
#include "base/error.h"

/* "batch 8 accum 64 runtime compile" */
static inline void set_all(struct mfu_scenario *s, const char *pairs)
{
    char key[48], value[48];
    int used;

    for (; sscanf(pairs, "%47s %47s%n", key, value, &used) == 2; pairs += used) {
        struct mfu_error err = {0};

        if (mfu_scenario_set(s, key, value, &err) < 0)
            fail_msg("%s %s: %s", key, value, err.text);
    }
}

static inline struct mfu_scenario scenario_of(const char *gpu, const char *model, const char *pairs)
{
    const struct mfu_gpu *g = mfu_catalog_gpu(catalog, gpu, NULL);
    const struct mfu_model *m = mfu_catalog_model(catalog, model, NULL);
    struct mfu_scenario s;

    assert_non_null(g);
    assert_non_null(m);
    s = mfu_scenario_start(m, g);
    set_all(&s, pairs);
    return s;
}

/* A plan and its simulation of their own. */
static inline void plan_of(const struct mfu_scenario *s, struct mfu_plan *p, struct mfu_simulation *sim)
{
    struct mfu_error err = {0};

    if (mfu_plan_make(p, s, &err) < 0 || mfu_simulate(p, false, sim, &err) < 0)
        fail_msg("%s", err.text);
}

/* What a step is like: all that explanations meet. */
static const struct {
    const char *gpu, *model, *pairs, *symptom;
} steps[] = {
    {"rtx4070", "gpt2", "batch 8 accum 64 runtime compile", NULL},
    {"rtx4070", "gpt2", "n_embd 384 n_head 6 batch 16 accum 32 runtime compile", NULL},
    {"h100-sxm", "gpt2", "batch 16 accum 4 attention math", "C1"},
    {"h100-sxm", "gpt2-medium", "batch 8 optimizer adamw-loop", "C2"},
    {"a100-80gb-sxm", "gpt2", "batch 16 accum 4 precision fp32", "C3"},
    {"a100-80gb-sxm", "gpt2", "n_embd 320 n_head 4 vocab 50257 batch 4 accum 16", "C4"},
    {"h100-sxm", "gpt2", "batch 1 seq 256", "C5"},
    {"rtx4090", "gpt2-medium", "runtime compile", "C6"},
    {"h100-sxm", "mixtral-8x7b", "n_layer 4 seq 512", "C7"},
    {"rtx4090", "gpt2", "batch 8 gpus 4 runtime compile", "C8"},
    {"h100-sxm", "gpt2", "batch 16 accum 4 runtime compile dataloader_ms 200", "C9"},
    {"rtx4070", "gpt2", "batch 12 accum 4 runtime compile", "C10"},
    {"rtx4090", "llama-3.2-1b", "optimizer paged_adamw_8bit precision bf16-pure seq 1024 vram_reserved 14GiB", NULL},
    {"h100-sxm", "gpt2-xl", "batch 4 accum 4 checkpoint full", NULL},
    {"a100-40gb-sxm", "gpt2", "batch 16 accum 32 runtime llmc", NULL},
    {"h100-sxm", "llama-3.2-1b", "batch 2 accum 4 loss_chunks 8 precision fp8", NULL},
    {"p100-pcie-16gb", "gpt2", "batch 2 accum 4", NULL},
    {"a100-80gb-sxm", "llama-3.2-1b", "batch 1 accum 2 gpus 8 zero 3 runtime compile", NULL},
};

#endif
