/*
 * checkpoint.h - what activation checkpointing recomputes, a row each; and the modules of a layer that Megatron's
 * selective recomputation may name.
 */
#ifndef MFU_CHECKPOINT_H
#define MFU_CHECKPOINT_H

#include <stdbool.h>

/* X(identifier, name, fields) */
#define MFU_CHECKPOINTS(X)                                                                                             \
    X(NONE, "none", .meaning = "backward keeps all that it needs", .recomputes = false, .aliases = "off no false 0")   \
    X(SELECTIVE, "selective", .meaning = "products keep their results, the rest is computed again",                    \
      .recomputes = true, .keeps_products = true, .aliases = "sac op selective-op")                                    \
    X(FULL, "full", .meaning = "a layer keeps its input and is computed again", .recomputes = true,                    \
      .recomputes_all = true, .aliases = "on yes true 1 all layer block")                                              \
    X(BUDGET, "budget", .meaning = "keeps as many results as checkpoint_budget allows", .recomputes = true,            \
      .keeps_products = true, .by_budget = true, .aliases = "memory_budget")

enum mfu_checkpoint {
#define X(id, ...) MFU_##id,
    MFU_CHECKPOINTS(X)
#undef X
        MFU_CHECKPOINT_COUNT
};

struct mfu_checkpoint_row {
    const char *name;
    const char *meaning;    /* in a few words */
    const char *aliases;    /* of other programs, the same; separated by blanks, NULL: none */
    const char *stands_for; /* others that are planned as this one; as aliases */
    bool recomputes;        /* runs a part of forward again in backward */
    bool keeps_products;    /* but not every library call */
    bool recomputes_all;    /* all of a layer */
    bool by_budget;         /* which calls keep their results, so many bytes decide (checkpoint_budget) */
};
extern const struct mfu_checkpoint_row mfu_checkpoints[MFU_CHECKPOINT_COUNT];
extern const char *const mfu_checkpoint_names[MFU_CHECKPOINT_COUNT + 1]; /* and NULL */

/* Megatron-LM d98e8a64, transformer_config.py: recompute_modules.  tensor_parallel.checkpoint (`whole`) runs a module
 * again, its last product too, and keeps its input; CheckpointWithoutOutput drops a result that the next module has
 * saved and makes it anew before that one's backward.  Which operations each is stands in graph/recompute.c.
 *
 * X(identifier, name, fields) */
#define MFU_RECOMPUTED_MODULES(X)                                                                                      \
    X(AGAIN_CORE_ATTN, "core_attn", .whole = true)                                                                     \
    X(AGAIN_NORMS, "layernorm", .wants_scales = true)                                                                  \
    X(AGAIN_ACTIVATION, "moe_act", .wants_scales = true)                                                               \
    X(AGAIN_UP_PROJECTION, "mla_up_proj")                                                                              \
    X(AGAIN_MLP, "mlp", .whole = true)                                                                                 \
    X(AGAIN_SHARED_EXPERTS, "shared_experts", .whole = true)                                                           \
    X(AGAIN_EXPERTS, "moe", .whole = true)

enum mfu_recomputed_module {
#define X(id, ...) MFU_##id,
    MFU_RECOMPUTED_MODULES(X)
#undef X
        MFU_RECOMPUTED_MODULE_COUNT
};
#define MFU_RECOMPUTED_BIT(id) (1u << MFU_##id)

struct mfu_recomputed_module_row {
    const char *name;
    bool whole;        /* all of it runs again; else its result alone is dropped, and its input kept */
    bool wants_scales; /* refused with fp8 whose scales come from steps before */
};
extern const struct mfu_recomputed_module_row mfu_recomputed_modules[MFU_RECOMPUTED_MODULE_COUNT];
extern const char *const mfu_recomputed_module_names[MFU_RECOMPUTED_MODULE_COUNT + 1]; /* and NULL */

#endif
