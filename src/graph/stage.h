/*
 * stage.h - which layers a pipeline stage holds, and what it receives.
 *
 * The repeated section with the most layers is cut; what stands before it belongs
 * to the first stage, what follows to the last.
 */
#ifndef MFU_STAGE_H
#define MFU_STAGE_H

#include "graph/builder.h"

/* How often this stage runs a section: 0 when another one does. */
double mfu_stage_repeats(const struct mfu_builder *, int section);

/* Layers of stage `stage` of `stages`, from 0. */
double mfu_stage_layers(double layers, double stages, double stage);

/* Of all stages. */
double mfu_cut_layers(const struct mfu_builder *);

/* The node that stands for what the stage before sends; of the width that the
 * section's own layers leave.  Its index, or MFU_TOKENS_IN when out of memory. */
int mfu_stage_receive(struct mfu_builder *, int section);

/* The gradient that the stage after sends of this node's result. */
void mfu_stage_receive_gradient(struct mfu_builder *, int node);

#endif
