/*
 * layout.h - how a tensor lies on the mesh of GPUs.
 *
 * A mesh has an axis per kind of parallelism, each of a number of ranks.  Along
 * every axis a tensor is replicated, sharded along one of its dimensions, or a
 * partial sum that is still to be added up.  (Words of PyTorch's DTensor.)
 */
#ifndef MFU_LAYOUT_H
#define MFU_LAYOUT_H

/* The axes of the mesh: what the ranks along each of them split. */
enum mfu_mesh_axis {
    MFU_AXIS_DP, /* the batch */
    MFU_AXIS_TP, /* hidden, heads, ff, vocabulary */
    MFU_AXIS_CP, /* the sequence */
    MFU_AXIS_EP, /* experts */
    MFU_AXIS_PP, /* layers */
    MFU_AXIS_COUNT
};
extern const char *const mfu_axis_names[MFU_AXIS_COUNT];

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
extern const char *const mfu_role_names[MFU_DIM_ROLE_COUNT];

enum mfu_placement { MFU_REPLICATED, MFU_SHARDED, MFU_PARTIAL };

struct mfu_layout {
    unsigned char placement[MFU_AXIS_COUNT]; /* enum mfu_placement */
    unsigned char dim[MFU_AXIS_COUNT];       /* enum mfu_role: of what is sharded */
};

struct mfu_mesh {
    double ranks[MFU_AXIS_COUNT]; /* 1: the axis is not there */
};

/* The share of such a tensor that one rank holds. */
double mfu_layout_share(const struct mfu_layout *, const struct mfu_mesh *);

#endif
