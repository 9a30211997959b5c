/*
 * carry - a second result that each layer hands to the one after it: `next` names the operation of this layer
 * that the following one reads, the first layer reads the input.  It launches nothing.
 */
#include <stddef.h>

#include "graph/builder.h"

static double shape(const struct mfu_operation *op)
{
    return op->in_width[0];
}

const struct mfu_primitive mfu_primitive_carry = {
    .name = "carry",
    .summary = "what the layer before hands on beside its result",
    .least_inputs = 1,
    .most_inputs = 1,
    .traits = MFU_CHOOSES,
    .shape = shape,
};
