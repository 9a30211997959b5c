/*
 * mesh.h - how ranks are laid out: axes of parallelism over the GPUs of a cluster.
 *
 * Ranks are numbered so that the first axis of the order varies fastest, and rank r
 * runs on GPU r: neighbours along the first axis stand side by side in a machine,
 * those along the last are machines apart.
 *
 * The same ranks of a pipeline stage are laid out twice: for the experts of a model, and for
 * all else (Megatron-LM d98e8a64, core/parallel_state.py: expert_decoder_rank_generator).
 */
#ifndef MFU_MESH_H
#define MFU_MESH_H

#include <stdbool.h>

enum mfu_mesh_axis {
    MFU_AXIS_DP,       /* the batch: data-parallel ranks that share one copy of the states */
    MFU_AXIS_TP,       /* hidden, heads, ff, vocabulary */
    MFU_AXIS_CP_HEADS, /* the sequence, but in attention the heads (Ulysses) */
    MFU_AXIS_CP,       /* the sequence */
    MFU_AXIS_REPLICA,  /* the batch: copies of what the axes before shard */
    MFU_AXIS_PP,       /* layers */
    MFU_AXIS_ETP,      /* of experts: their ff, */
    MFU_AXIS_EP,       /* which of them a rank holds, */
    MFU_AXIS_EDP,      /* and the batch: ranks that share one copy of the states of the same experts */
    MFU_AXIS_COUNT
};
extern const char *const mfu_axis_names[MFU_AXIS_COUNT]; /* "tp" ... */

/* Sets of axes: ranks that hold the same weights are MFU_AXES_DATA, for instance. */
#define MFU_AXIS_BIT(axis) (1u << (axis))
#define MFU_AXES_SHARD (MFU_AXIS_BIT(MFU_AXIS_CP_HEADS) | MFU_AXIS_BIT(MFU_AXIS_CP) | MFU_AXIS_BIT(MFU_AXIS_DP))
#define MFU_AXES_DATA (MFU_AXES_SHARD | MFU_AXIS_BIT(MFU_AXIS_REPLICA))
#define MFU_AXES_EXPERT_DATA (MFU_AXIS_BIT(MFU_AXIS_EDP) | MFU_AXIS_BIT(MFU_AXIS_REPLICA))
#define MFU_AXES_EXPERTS (MFU_AXIS_BIT(MFU_AXIS_ETP) | MFU_AXIS_BIT(MFU_AXIS_EP) | MFU_AXIS_BIT(MFU_AXIS_EDP))
#define MFU_AXES_ALL ((1u << MFU_AXIS_COUNT) - 1)
#define MFU_AXES_HOST (1u << MFU_AXIS_COUNT) /* no axis: each rank with the memory of its own machine, */
#define MFU_AXES_DRIVE (MFU_AXES_HOST << 1)  /* that with its drives */

#define MFU_MESH_AXES 6 /* of a layout, at most */

struct mfu_mesh {
    double ranks[MFU_AXIS_COUNT]; /* along each; 1: the axis is not there */
    /* Axes, the one that varies fastest first, up to COUNT: of all but the experts, of the experts. */
    unsigned char order[2][MFU_MESH_AXES];
};

/* All sizes 1, in Megatron's order tp-cp-ep-dp-pp, dp with its copies behind it. */
struct mfu_mesh mfu_mesh_start(void);

/* Ranks in all: the product of the sizes. */
double mfu_mesh_ranks(const struct mfu_mesh *);

/* Ranks that communicate with each other, one of the equal groups of a set of axes.
 * Every rank of the cluster is in one such group, and all groups talk at once. */
struct mfu_group {
    double ranks;
    double stride;  /* GPUs between neighbours; 1: side by side */
    double local;   /* its ranks in one unit of GPUs that the fabric joins (a node) */
    double units;   /* units that it spans: ranks / local */
    double sharing; /* groups that have ranks in the same unit, and share its NICs */
    double extent;  /* GPUs from its first rank to its last, both counted */
};

/* The groups along a set of axes, where the fabric joins unit_gpus GPUs.  A set with one of MFU_AXES_EXPERTS is of
 * their layout. */
struct mfu_group mfu_mesh_group(const struct mfu_mesh *, unsigned axes, double unit_gpus);

/* `ranks` GPUs side by side, alone on their machines. */
struct mfu_group mfu_group_of(double ranks, double unit_gpus);

/* `ranks` GPUs, the same number on each of `nodes` machines of node_gpus, alone on
 * those; the fabric joins unit_gpus, a machine or more. */
struct mfu_group mfu_group_on(double ranks, double nodes, double node_gpus, double unit_gpus);

#endif
