/*
 * stream - kernels that are bound by memory: pointwise, casts, norms, softmax,
 * reductions, gathers, optimizers.  Their arithmetic runs on the CUDA cores.
 */
#include "kernel/kernel.h"

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
