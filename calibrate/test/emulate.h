/*
 * emulate.h - just enough of CUDA's device side to run our kernels on a CPU.
 *
 * Each thread of a block is a coroutine; barriers and shuffles wait for the
 * others.  Shared memory is static, blocks run one after the other.  Slow, and
 * silent about races between warps, but the arithmetic and the indices are
 * those of the kernel.  It is used where no GPU is at hand: test/emulated.cpp.
 */
#ifndef MFU_EMULATE_H
#define MFU_EMULATE_H

#include <algorithm>
#include <cmath>
#include <functional>

#include "bench.h"

struct mfu_emulated_place {
    uint3 thread, block;
    dim3 threads, blocks;
};

extern struct mfu_emulated_place mfu_emulated;

/* Runs `body` for every thread of every block. */
void mfu_emulate(dim3 blocks, int threads, const std::function<void()> &body);

void mfu_emulate_block_barrier();
void mfu_emulate_warp_barrier();
float *mfu_emulate_slots(); /* one float for each thread of the block */

#undef __shared__
#define __shared__ static
#undef __launch_bounds__
#define __launch_bounds__(threads)
#define threadIdx mfu_emulated.thread
#define blockIdx mfu_emulated.block
#define blockDim mfu_emulated.threads
#define gridDim mfu_emulated.blocks
#define __syncthreads mfu_emulate_block_barrier
#define __syncwarp mfu_emulate_warp_barrier
#define __expf expf

using std::min;

static inline float __shfl_xor_sync(unsigned, float x, int step)
{
    float *slot = mfu_emulate_slots();
    const int me = (int)threadIdx.x;

    slot[me] = x;
    mfu_emulate_warp_barrier();
    x = slot[me ^ step];
    mfu_emulate_warp_barrier();
    return x;
}

static inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}

static inline void atomicAdd(float *to, float x)
{
    *to += x;
}

template <class... P, class... A>
static int mfu_launch(struct mfu_bench *, void (*kernel)(P...), dim3 blocks, int threads, A... arguments)
{
    mfu_emulate(blocks, threads, [=] { kernel(static_cast<P>(arguments)...); });
    return 0;
}

#endif
