/*
 * grid.h - the thread blocks that a kernel is launched with, on any GPU.
 *
 * What a scheduler needs to know: how many blocks, how many threads in each,
 * and what a block takes of an SM.  Shapes and tiles are those of the sources
 * named in grid.c; registers that no source states are typical ones.
 */
#ifndef MFU_GRID_H
#define MFU_GRID_H

#include "kernel/kernel.h"

struct mfu_grid {
    double blocks;       /* of one CUDA kernel; of a persistent one: tiles */
    double threads;      /* of a block */
    double registers;    /* of a thread */
    double shared_bytes; /* of a block */
    double padded_flops; /* of the kernel, over whole tiles */
    bool persistent;     /* no more blocks are launched than fit at once;
                                   each fetches one tile after the other */
};

/* A GEMM in tiles of tile_m x tile_n with K in `split` pieces; `persistent`:
 * as cuBLAS does on Hopper and data-centre Blackwell. */
struct mfu_grid mfu_grid_gemm(const struct mfu_kernel *, int tile_m, int tile_n, int split, bool persistent);

/* A fused attention, which chooses its tile by the most shared memory that a
 * block may have. */
struct mfu_grid mfu_grid_attention(const struct mfu_kernel *, double most_shared_bytes);

/* Everything else. */
struct mfu_grid mfu_grid_stream(const struct mfu_kernel *);

/* `blocks` blocks that do nothing in particular. */
struct mfu_grid mfu_grid_plain(double blocks, double threads);

#endif
