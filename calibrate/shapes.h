/*
 * shapes.h - the file of --shapes: one product per line, `m n k dtype`.
 *
 *     # tokens, outputs, inputs of a layer
 *     8192 2304 768 bf16
 */
#ifndef MFU_SHAPES_H
#define MFU_SHAPES_H

#include <stdio.h>

#include "bench.h"

/* Reads them into *shapes, to be freed.  Returns 0, or -1 and in `why`
 * "line 3: expected 'm n k dtype', such as '8192 2304 768 bf16'". */
int mfu_shapes_read(FILE *, struct mfu_shape **shapes, size_t *n, char *why, size_t size);

#endif
