/*
 * device.cuh - what the kernels share: wide loads, sums over a block, launching.
 *
 * The kernels use only what test/emulate.h can imitate on a CPU: shuffles and
 * barriers that all threads of a warp or block reach.
 */
#ifndef MFU_DEVICE_CUH
#define MFU_DEVICE_CUH

#include "bench.h"

#include <cuda_bf16.h>

#ifdef MFU_EMULATE
#include "test/emulate.h"
#else

/* Launches on the bench's stream and notices a launch that failed. */
template <class... P, class... A>
static int mfu_launch(struct mfu_bench *b, void (*kernel)(P...), dim3 grid, int threads, A... arguments)
{
    kernel<<<grid, threads, 0, b->stream>>>(static_cast<P>(arguments)...);
    MFU_CUDA(b, cudaGetLastError());
    return 0;
}

#endif

typedef __nv_bfloat16 bf16;

/* 16 bytes of T, one load or store. */
template <class T> struct alignas(16) wide {
    static constexpr int N = 16 / sizeof(T);
    T at[N];
};

__device__ inline float number(float x)
{
    return x;
}

__device__ inline float number(bf16 x)
{
    return __bfloat162float(x);
}

template <class T> __device__ inline T as(float x);

template <> __device__ inline float as<float>(float x)
{
    return x;
}

template <> __device__ inline bf16 as<bf16>(float x)
{
    return __float2bfloat16(x);
}

__device__ inline float warp_sum(float x)
{
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

__device__ inline float warp_max(float x)
{
    for (int step = 16; step > 0; step /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
    return x;
}

/* Over all threads of the block, whose number is a multiple of 32; every
 * thread gets the result. */
__device__ inline float block_sum(float x)
{
    __shared__ float part[32];
    const int lane = threadIdx.x % 32;

    x = warp_sum(x);
    __syncthreads(); /* part may still be read from the last time */
    if (lane == 0)
        part[threadIdx.x / 32] = x;
    __syncthreads();
    return warp_sum(lane < (int)blockDim.x / 32 ? part[lane] : 0.0f);
}

__device__ inline float block_max(float x)
{
    __shared__ float part[32];
    const int lane = threadIdx.x % 32;

    x = warp_max(x);
    __syncthreads();
    if (lane == 0)
        part[threadIdx.x / 32] = x;
    __syncthreads();
    return warp_max(lane < (int)blockDim.x / 32 ? part[lane] : -INFINITY);
}

/* The middle of a softmax whose row the block's threads hold in registers:
 * `value` becomes exp(value - the row's largest); returns 1 / the row's sum of
 * these.  `most` is the largest that this thread holds. */
template <int CHUNKS> __device__ inline float exponentials(float (&value)[CHUNKS][8], float most)
{
    float total = 0;

    most = block_max(most);
    for (int c = 0; c < CHUNKS; c++)
        for (int j = 0; j < 8; j++) {
            value[c][j] = __expf(value[c][j] - most);
            total += value[c][j];
        }
    return 1 / block_sum(total);
}

/* Blocks of `threads` that cover n wide loads of T once. */
template <class T> static unsigned wide_blocks(double n, int threads)
{
    return (unsigned)((n / wide<T>::N + threads - 1) / threads);
}

#endif
