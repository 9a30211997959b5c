/*
 * copies.h - layers that are copied instead of traced.
 */
#ifndef MFU_COPIES_H
#define MFU_COPIES_H

#include "graph/layers.h"

/* Puts the copies of the n layers that were traced (mfu_layer.copies) into the program: what tracing each layer makes.
 * False: two neighbours are not alike, or others reach into what is copied, or memory ran out (s->failed); the
 * program is then no longer of use. */
bool mfu_copy_layers(struct mfu_builder *, int n);

#endif
