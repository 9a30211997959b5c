/*
 * repeat.h - a pass through a layer as the same pass through its neighbour was traced.
 *
 * What a layer's operations append to the program depends on their shapes, and on the type and size of what comes in.  Where
 * a layer is like the one traced just before, its pass is that one's, with the numbers of its own tensors.
 */
#ifndef MFU_REPEAT_H
#define MFU_REPEAT_H

#include "graph/layers.h"

/* Around the forward or backward pass of layer k, whose segment is open: before it, and behind it. */
void mfu_repeat_begin(struct mfu_builder *, int k, enum mfu_phase);
void mfu_repeat_end(struct mfu_builder *, int k, enum mfu_phase);

/* Appends the pass of layer k, which has begun, by that of its neighbour: the layer before in forward, behind in backward.
 * False, and nothing has changed: they differ, or what they name is not known to be alike, and the layer is to be traced. */
bool mfu_repeat_pass(struct mfu_builder *, int k, enum mfu_phase);

#endif
