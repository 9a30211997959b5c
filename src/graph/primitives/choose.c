/*
 * choose - one of its inputs, which is settled before anything runs: by it a graph says that one family
 * reads here what another reads there.  It launches nothing; what was not chosen is left out by `when`.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { WHICH };

const struct mfu_primitive mfu_primitive_choose = {
    .name = "choose",
    .summary = "one of its inputs, settled beforehand",
    .attributes = {[WHICH] = {"which", NULL, NULL, "number of the input that is passed through, from 0"}},
    .inputs = {2, MFU_INPUTS},
    .traits = MFU_CHOOSES,
};
