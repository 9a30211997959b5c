/*
 * stage.h - which layers a rank of a pipeline holds, and what it receives.
 *
 * The repeated section with the most layers is cut into stages; what stands before it
 * belongs to the first stage, what follows to the last.  A rank holds the stages that
 * its schedule places there: one or more chunks of the model.
 */
#ifndef MFU_STAGE_H
#define MFU_STAGE_H

#include "graph/builder.h"

/* How often this rank runs a section: 0 when others do. */
double mfu_stage_repeats(const struct mfu_builder *, int section);

/* Of that many layers, those of a stage of the model, from 0; of a rank, in all its chunks. */
double mfu_stage_layers(const struct mfu_config *, double layers, int stage);
double mfu_rank_layers(const struct mfu_config *, double layers, int rank);
/* The most layers of a rank, of all sections that repeat, for each of its chunks: so many checkpoint_layers are all. */
double mfu_chunk_layers(const struct mfu_config *);
/* Layers of a rank that `checkpoint` computes again: the first, in all its chunks; INFINITY: all that there are. */
double mfu_checkpointed_layers(const struct mfu_config *);
/* Those of a rank that are among the model's first n. */
double mfu_rank_layers_below(const struct mfu_config *, double layers, int rank, double n);

/* Whether that many layers, and what counts as one at the ends, are one for each stage of the model. */
bool mfu_layers_suffice(const struct mfu_config *, double layers);

/* Whether a rank holds a stage of the model. */
bool mfu_rank_holds(const struct mfu_config *, int rank, int stage);

/* Whether the rank at hand holds the end of the model, where the loss is. */
bool mfu_stage_is_last(const struct mfu_builder *);

/* Whether a section follows the one that is cut. */
bool mfu_is_behind_cut(const struct mfu_builder *, const struct mfu_model_section *);

/* What layers behind those that are cut read beside what they are given, as a decoder's read what its encoder made; its name,
 * or NULL. */
const char *mfu_read_behind_cut(const struct mfu_builder *);

/* The name of the section that is cut, or would be. */
const char *mfu_cut_name(const struct mfu_config *);

/* Of all stages. */
double mfu_cut_layers(const struct mfu_builder *);

/* Rows that a stage gets from the one before: its tokens, or this tensor rank's part of them. */
double mfu_stage_rows(const struct mfu_builder *);

/* The node that stands for what the stage before sends; of the width that the
 * section's own layers leave.  Its index, or MFU_TOKENS_IN when out of memory. */
int mfu_stage_receive(struct mfu_builder *, int section);

/* The gradient that the stage after sends of this node's result. */
void mfu_stage_receive_gradient(struct mfu_builder *, int node);

#endif
