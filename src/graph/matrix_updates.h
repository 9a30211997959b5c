/*
 * matrix_updates.h - what some optimizers do to the gradient of each matrix of the layers before they update it
 * (enum mfu_matrix_update, scenario/optimizer.h).
 */
#ifndef MFU_MATRIX_UPDATES_H
#define MFU_MATRIX_UPDATES_H

#include <stdbool.h>

#include "scenario/optimizer.h"

struct mfu_builder;

/* Parameters in matrices of the layers, which embeddings and head are not; into `state_bytes` what the optimizer keeps
 * of them. */
double mfu_matrix_params(const struct mfu_builder *, double *state_bytes);

/* Appends what is done to their gradients, matrix by matrix; without the passes over all of their elements. */
void mfu_matrices_emit(struct mfu_builder *);

/* The same for the matrix whose gradient is `view`; false, nothing appended: it is none of the layers. */
bool mfu_matrix_emit_one(struct mfu_builder *, int view);

/* Bytes of an optimizer's states for a parameter where it keeps them for each. */
double mfu_element_state_bytes(const struct mfu_builder *, enum mfu_optimizer_kind);

#endif
