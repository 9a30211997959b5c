/*
 * recompute.h - what checkpointing runs again in backward.
 */
#ifndef MFU_RECOMPUTE_H
#define MFU_RECOMPUTE_H

#include "graph/layers.h"

/* Whether backward runs a layer again as a whole, but for what was kept. */
bool mfu_layer_recomputed(const struct mfu_builder *, const struct mfu_layer *);
/* The last node of it that has to run again. */
int mfu_last_saver(const struct mfu_builder *, const struct mfu_layer *);
/* What backward of a node reads and forward has not kept, where checkpoint names
 * single operations. */
void mfu_compute_missing(struct mfu_builder *, const struct mfu_layer *, int node);

#endif
