/*
 * split.h - tensor, sequence, context and expert parallelism: which operations are
 * split over the ranks of a group, and the collectives that follow.
 */
#ifndef MFU_SPLIT_H
#define MFU_SPLIT_H

#include "graph/builder.h"

/* After all operations were evaluated as one GPU would run them: lays them out over
 * the mesh; attributes, widths and parameters become those of one rank.
 * -1 where a norm would need what other ranks hold; `err` says which. */
int mfu_split_operations(struct mfu_builder *, struct mfu_error *err);

/* Collectives around one node: call them before and after its primitive's pass. */
void mfu_split_before_forward(struct mfu_builder *, struct mfu_node *);
void mfu_split_after_forward(struct mfu_builder *, struct mfu_node *);
void mfu_split_before_backward(struct mfu_builder *, struct mfu_node *);
void mfu_split_after_backward(struct mfu_builder *, struct mfu_node *);

/* Of an adapter's two products under tensor parallelism: what the first gives, as the second reads it, or its gradient
 * the other way; what the second gives, as it is added to the base's result, and that sum's gradient. */
int mfu_split_narrow(struct mfu_builder *, const struct mfu_node *adapter, int h, bool backward);
int mfu_split_adapted(struct mfu_builder *, const struct mfu_node *adapter, int y);
int mfu_split_adapted_gradient(struct mfu_builder *, const struct mfu_node *adapter, int g);

#endif
