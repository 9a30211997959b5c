/*
 * carry - a second result that each layer hands to the one after it: `next` names the operation of this layer
 * that the following one reads, the first layer reads the input.  It launches nothing.
 */

#include "graph/builder.h"

const struct mfu_primitive mfu_primitive_carry = {
    .name = "carry",
    .summary = "what the layer before hands on beside its result",
    .inputs = {1, 1},
    .traits = MFU_CHOOSES,
};
