/*
 * runtime.c - the runtimes, a row each.
 *
 * Sources: PyTorch's autocast and autograd (eager), AOTAutograd's min-cut
 * partitioner and Inductor's fusion (compile), Megatron-LM and
 * TransformerEngine (fused), llm.c train_gpt2.cu (llmc).
 */
#include "graph/runtime.h"

const struct mfu_runtime mfu_runtimes[MFU_RUNTIME_COUNT] = {
    [MFU_EAGER] =
        {
            .name = "eager",
            .scopes = true,
            .narrow_loads = true,
            .gradient = MFU_GRADIENT_AS_WEIGHT,
            .dispatch_forward = MFU_C_DISPATCH_EAGER,
            .dispatch_backward = MFU_C_DISPATCH_BACKWARD,
            .reserved = MFU_C_RESERVED_EAGER,
        },
    [MFU_COMPILE] =
        {
            .name = "compile",
            .fuse = true,
            .fuse_rows = true,
            .recompute = true,
            .one_cast = true,
            .gradients_at_end = true,
            .pads_matmuls = true,
            .gradient = MFU_GRADIENT_AS_WEIGHT,
            .dispatch_forward = MFU_C_DISPATCH_COMPILE,
            .dispatch_backward = MFU_C_DISPATCH_COMPILE,
            .reserved = MFU_C_RESERVED_COMPILE,
        },
    [MFU_FUSED] =
        {
            .name = "fused",
            .fuse = true,
            .whole_norms = true,
            .recompute = true,
            .one_cast = true,
            .half_weights = true,
            .gemm_accumulates = true,
            .recompute_attention = true,
            .gradient = MFU_GRADIENT_FP32,
            .dispatch_forward = MFU_C_DISPATCH_EAGER,
            .dispatch_backward = MFU_C_DISPATCH_BACKWARD,
            .reserved = MFU_C_RESERVED_EAGER,
        },
    [MFU_LLMC] =
        {
            .name = "llmc",
            .fuse = true,
            .fuse_rows = true,
            .whole_norms = true,
            .one_cast = true,
            .half_weights = true,
            .gemm_accumulates = true,
            .one_arena = true,
            .fused_loss = true,
            .recompute_ops = true,
            .gradient = MFU_GRADIENT_AS_WEIGHT,
            .dispatch_forward = MFU_C_DISPATCH_C,
            .dispatch_backward = MFU_C_DISPATCH_C,
            .reserved = MFU_COEFFICIENT_COUNT,
            .reserved_always = 1,
        },
};
