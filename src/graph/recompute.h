/*
 * recompute.h - what checkpointing runs again in backward.
 */
#ifndef MFU_RECOMPUTE_H
#define MFU_RECOMPUTE_H

#include <stdint.h>

#include "graph/layers.h"

/* Whether backward runs a layer again as a whole, but for what was kept. */
bool mfu_layer_recomputed(const struct mfu_builder *, const struct mfu_layer *);
/* Whether it runs all of it again, and so reads nothing that autograd has of the forward pass. */
bool mfu_layer_runs_anew(const struct mfu_builder *, const struct mfu_layer *);
/* Before n nodes run again: checkpointed modules run without gradients in forward, which keeps no copies of weights. */
void mfu_forget_casts(struct mfu_builder *, int first, int n);
/* The last node of it that has to run again. */
int mfu_last_saver(const struct mfu_builder *, const struct mfu_layer *);
/* The set with the most `value` whose bytes are within `room`, a bit for each of n <= MFU_MOST_CHOICES: exact. */
#define MFU_MOST_CHOICES 64
uint64_t mfu_keep_most_value(const double *bytes, const double *value, int n, double room);
/* Of what a layer's forward offered for keeping: by budget, what has most FLOPs to compute again.  torch's
 * activation_memory_budget chooses so (torch/_functorch/partitioners.py 2.15, choose_saved_values_set with
 * dp_knapsack; config.py: activation_memory_budget_runtime_estimator is "flops"), over a whole graph; here each
 * layer has its share, and what is not a product or attention is always computed again. */
void mfu_choose_kept(struct mfu_builder *, const struct mfu_layer *);
/* Notes in a layer's nodes what is computed again where checkpoint names modules or single operations of it; modules
 * that it lacks change nothing. */
void mfu_mark_recomputed(struct mfu_builder *, const struct mfu_layer *);
/* What backward of a node reads and forward has not kept, where checkpoint names
 * single operations. */
void mfu_compute_missing(struct mfu_builder *, const struct mfu_layer *, int node);

#endif
