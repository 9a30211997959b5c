/*
 * checkpoint.h - what activation checkpointing recomputes, a row each.
 */
#ifndef MFU_CHECKPOINT_H
#define MFU_CHECKPOINT_H

#include <stdbool.h>

/* X(identifier, name, fields) */
#define MFU_CHECKPOINTS(X)                                                                                             \
    X(NONE, "none", .recomputes = false)                                                                               \
    X(SELECTIVE, "selective", .recomputes = true, .keeps_products = true)                                              \
    X(FULL, "full", .recomputes = true, .recomputes_all = true)                                                        \
    X(BUDGET, "budget", .recomputes = true, .keeps_products = true, .by_budget = true, .aliases = "memory_budget")

enum mfu_checkpoint {
#define X(id, ...) MFU_##id,
    MFU_CHECKPOINTS(X)
#undef X
        MFU_CHECKPOINT_COUNT
};

struct mfu_checkpoint_row {
    const char *name;
    const char *aliases;    /* of other programs, the same; separated by blanks, NULL: none */
    const char *stands_for; /* others that are planned as this one; as aliases */
    bool recomputes;        /* runs a part of forward again in backward */
    bool keeps_products;    /* but not every library call */
    bool recomputes_all;    /* all of a layer */
    bool by_budget;         /* which calls keep their results, so many bytes decide (checkpoint_budget) */
};
extern const struct mfu_checkpoint_row mfu_checkpoints[MFU_CHECKPOINT_COUNT];
extern const char *const mfu_checkpoint_names[MFU_CHECKPOINT_COUNT + 1]; /* and NULL */

#endif
