/*
 * copies.h - layers that are copied instead of traced.
 */
#ifndef MFU_COPIES_H
#define MFU_COPIES_H

#include "graph/layers.h"

/* Of layers that are alike so many are traced where others are copied, and this one of them, from 0, is the one that
 * copies are made of: it and the next have neighbours on either side that are neither the first nor the last. */
#define MFU_TRACED_LAYERS 6
#define MFU_COPIED_LAYER 2

/* Puts the copies of the n layers that were traced (mfu_layer.copies) into the program: what tracing each layer makes.
 * False: two neighbours are not alike, or others reach into what is copied, or memory ran out (s->failed); the
 * program is then no longer of use. */
bool mfu_copy_layers(struct mfu_builder *, int n);

#endif
