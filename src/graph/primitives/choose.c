/*
 * choose - one of its inputs, which is settled before anything runs: by it a graph says that one family
 * reads here what another reads there.  It launches nothing; what was not chosen is left out by `when`.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { WHICH };

static double shape(const struct mfu_operation *op)
{
    return op->in_width[0];
}

const struct mfu_primitive mfu_primitive_choose = {
    .name = "choose",
    .summary = "one of its inputs, settled beforehand",
    .attributes = {[WHICH] = {"which", NULL, NULL, "number of the input that is passed through, from 0"}},
    .least_inputs = 2,
    .most_inputs = MFU_INPUTS,
    .traits = MFU_CHOOSES,
    .shape = shape,
};
