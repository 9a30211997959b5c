/*
 * shard.h - what data parallelism adds to a program: layouts of the parameters,
 * and the collectives that follow from them.
 */
#ifndef MFU_SHARD_H
#define MFU_SHARD_H

#include "graph/builder.h"

/* The mesh of GPUs on which a scenario runs. */
struct mfu_mesh mfu_mesh_of(const struct mfu_config *);

/* Lays weights, gradients and optimizer states out on the mesh, before tracing. */
void mfu_shard_parameters(struct mfu_builder *);

/* Puts collectives and the copies around them between the launches of the whole
 * program, with their buffers; lifetimes and segments follow.  -1 when out of memory. */
int mfu_shard_program(struct mfu_builder *);

#endif
