/*
 * resident.h - memory that is there all the time.
 */
#ifndef MFU_RESIDENT_H
#define MFU_RESIDENT_H

#include "graph/builder.h"

/* The program's constants: shards of weights, gradients and optimizer states,
 * inputs, workspaces. */
void mfu_resident_memory(struct mfu_builder *);
/* The weights one by one, as a framework allocates them. */
void mfu_list_weights(struct mfu_builder *, int n_layers);

#endif
