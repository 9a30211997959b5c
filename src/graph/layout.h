/*
 * layout.h - how a tensor lies on the mesh of GPUs.
 *
 * A mesh has an axis per kind of parallelism, each of a number of ranks.  Along
 * every axis a tensor is replicated, sharded along one of its dimensions, or a
 * partial sum that is still to be added up.  (Words of PyTorch's DTensor.)
 */
#ifndef MFU_LAYOUT_H
#define MFU_LAYOUT_H

#include "parallel/mesh.h"

/* What a dimension counts. */
enum mfu_role {
    MFU_DIM_NONE,
    MFU_DIM_BATCH,
    MFU_DIM_SEQUENCE,
    MFU_DIM_HIDDEN, /* the residual stream */
    MFU_DIM_HEADS,  /* heads x head size */
    MFU_DIM_FF,     /* between two products of an MLP */
    MFU_DIM_VOCABULARY,
    MFU_DIM_EXPERT,
    MFU_DIM_ELEMENT, /* of a parameter, whatever its shape */
    MFU_DIM_ROLE_COUNT
};

enum mfu_distribution { MFU_REPLICATED, MFU_SHARDED, MFU_PARTIAL };

struct mfu_layout {
    unsigned char placement[MFU_AXIS_COUNT]; /* enum mfu_distribution */
    unsigned char dim[MFU_AXIS_COUNT];       /* enum mfu_role: of what is sharded */
};

/* What the ranks of a group split: the name of its axis; those that hold the same
 * weights are "dp". */
const char *mfu_group_name(unsigned axes);

/* The share of such a tensor that one rank holds. */
double mfu_layout_share(const struct mfu_layout *, const struct mfu_mesh *);

#endif
