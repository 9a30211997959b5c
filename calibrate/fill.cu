/*
 * fill.cu - random numbers, written by the GPU itself.
 */
#include "device.cuh"

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "random.h"

__global__ static void fill(void *to, size_t n, int dtype, float scale, unsigned seed)
{
    const size_t step = (size_t)gridDim.x * blockDim.x;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        float x = scale * mfu_random_normal(i, seed);

        if (dtype == MFU_BF16)
            static_cast<__nv_bfloat16 *>(to)[i] = __float2bfloat16(x);
        else if (dtype == MFU_FP16)
            static_cast<__half *>(to)[i] = __float2half(x);
        else if (dtype == MFU_FP8)
            static_cast<__nv_fp8_storage_t *>(to)[i] = __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
        else
            static_cast<float *>(to)[i] = x;
    }
}

extern "C" int mfu_bench_normal(struct mfu_bench *b, void *to, double n, enum mfu_dtype dtype, float scale,
                                unsigned seed)
{
    return mfu_launch(b, fill, 8 * b->gpu.multiProcessorCount, 256, to, (size_t)n, (int)dtype, scale, seed);
}
