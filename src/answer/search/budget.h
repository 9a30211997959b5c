/*
 * budget.h - which way of checkpointing brings a step within so much memory, and costs
 * the least time: none, selective, full, of all layers or of some, what fits a budget, or copies to the host.
 */
#ifndef MFU_BUDGET_H
#define MFU_BUDGET_H

#include "plan/simulation.h"

#define MFU_MOST_WAYS 10

/* One way, as `plan` says with its settings. */
struct mfu_way {
    const char *checkpoint; /* the setting's value */
    double budget;          /* of checkpoint_budget; NAN: it says nothing here */
    double layers;          /* of checkpoint_layers; NAN: all */
    bool offload;           /* of what is kept (offload_activations) */
    double memory_bytes;    /* as nvidia-smi shows the process */
    double time_s;          /* of a step */
    bool within;            /* the memory that was asked for */
    char recomputed[256];   /* products and attention of a layer that run twice: "q, k, mlp.gate"; "": none */
    char once[256];         /* the others: their results are kept, or backward needs none */
};

struct mfu_budget_answer {
    double target_bytes;
    struct mfu_way ways[MFU_MOST_WAYS];
    int n_ways;
    int best; /* the fastest within the target; -1: none is */
};

/* All that can be planned, simulated; of budgets the largest whose plan is within the target, in hundredths;
 * of layers the fewest.
 * `plan`, `simulation` and `best_of` (the settings) are those of the best way.  Fails if the scenario cannot be
 * planned; that no way suffices is an answer. */
int mfu_solve_memory(const struct mfu_scenario *, double target_bytes, struct mfu_plan *, struct mfu_simulation *,
                     struct mfu_scenario *best_of, struct mfu_budget_answer *, struct mfu_error *);

#endif
