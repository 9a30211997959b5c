/*
 * stream - kernels that are bound by memory: pointwise, casts, norms, softmax,
 * reductions, gathers, optimizers.  Their arithmetic runs on the CUDA cores.
 */
#include "kernel/kernel.h"

const char *const mfu_kind_names[MFU_KIND_COUNT] = {
    [MFU_GEMM] = "gemm",           [MFU_FUSED_ATTENTION] = "attention", [MFU_NORM] = "norm",
    [MFU_POINTWISE] = "pointwise", [MFU_REDUCTION] = "reduction",       [MFU_EMBEDDING] = "embedding",
    [MFU_LOSS] = "loss",           [MFU_OPTIMIZER_STEP] = "optimizer",  [MFU_CAST] = "cast",
    [MFU_COPY] = "copy",           [MFU_COLLECTIVE] = "collective",
};

struct mfu_kernel mfu_kernel_stream(enum mfu_kind kind, enum mfu_coefficient traffic, double rows, double columns,
                                    double flops, double read_bytes, double write_bytes)
{
    return (struct mfu_kernel){
        .kind = kind,
        .math = MFU_PEAK_FP32,
        .traffic = traffic,
        .m = rows,
        .n = columns,
        .batch = 1,
        .flops = flops,
        .read_bytes = read_bytes,
        .write_bytes = write_bytes,
        .launches = 1,
    };
}
