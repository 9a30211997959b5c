/*
 * frozen.h - which weights train, in which form the others are held, and which
 * operations have adapters.
 */
#ifndef MFU_FROZEN_H
#define MFU_FROZEN_H

#include "graph/builder.h"

/* How a weight (0) or bias (1) of a model's operation is held; `frozen`: in a layer
 * that does not train. */
struct mfu_held {
    enum mfu_type type;                /* as it is used, unless it is quantised */
    const struct mfu_base_row *packed; /* NULL: it is not */
    double packed_bytes;               /* of one weight then */
    bool trains;
};
struct mfu_held mfu_held(const struct mfu_builder *, int op, int which, bool frozen);

/* Whether an adapter stands beside the operation. */
bool mfu_adapted(const struct mfu_builder *, int op, bool frozen);
/* Whether it stands in front of it instead. */
bool mfu_adapter_in_front(const struct mfu_builder *, int op);
/* Whether an adapter stands in place of its product. */
bool mfu_adapter_replaces(const struct mfu_builder *);
/* Whether what is learned are keys and values before those of each layer. */
bool mfu_adapts_keys(const struct mfu_builder *);
/* Works out the adapters' operations; fails where none of the targets, or of the layers that train, exists. */
int mfu_evaluate_adapters(struct mfu_builder *, struct mfu_error *);

/* Layers of a section that do not train, before and behind those that do: of the model's, or of those that this rank has. */
struct mfu_frozen_layers {
    double before, behind, all;
};
struct mfu_frozen_layers mfu_frozen_layers(const struct mfu_builder *, const char *section, bool of_rank);

/* Parameters of an operation that are its own, with its adapter. */
struct mfu_op_size {
    double params, trained;
    double bytes;         /* of them as they are held */
    double trained_bytes; /* of those that train */
    double tensors, trained_tensors;
    double summed;          /* of those that train, whose gradients tensor ranks sum */
    double largest_trained; /* elements of a tensor */
    double large_trained;   /* parameters that train, in tensors whose optimizer states may be paged */
};
struct mfu_op_size mfu_op_size(const struct mfu_builder *, int op, bool shares, bool frozen);

#endif
