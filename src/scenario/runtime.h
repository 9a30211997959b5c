/*
 * runtime.h - what distinguishes the software that runs a step, a row each.
 *
 * The operations are the same everywhere; a runtime decides in which types
 * weights and gradients are kept, which small kernels become one, what is
 * computed again in backward, and how gradients are accumulated.
 *
 * Sources: PyTorch's autocast and autograd (eager), AOTAutograd's min-cut
 * partitioner and Inductor's fusion (compile), Megatron-LM (fused) and TransformerEngine (te; AMD has ports of both, Apple
 * has none), llm.c train_gpt2.cu (llmc; anthonix/llm.c has it in HIP).
 */
#ifndef MFU_SCENARIO_RUNTIME_H
#define MFU_SCENARIO_RUNTIME_H

#include <stdbool.h>

#include "descriptor/coefficient.h"
#include "descriptor/maker.h"

/* X(identifier, name, fields of struct mfu_runtime) */
#define MFU_RUNTIMES(X)                                                                                                \
    X(EAGER, "eager", .meaning = "PyTorch, one kernel for each operation", .scopes = true, .narrow_loads = true,       \
      .gradient = MFU_GRADIENT_AS_WEIGHT, .dispatch_forward = MFU_C_DISPATCH_EAGER,                                    \
      .dispatch_backward = MFU_C_DISPATCH_BACKWARD, .reserved = MFU_C_RESERVED_EAGER, .live = MFU_C_MEMORY_SIGMA,      \
      .sigma = MFU_C_MODEL_SIGMA_EAGER, .excess = MFU_C_MODEL_EXCESS_EAGER, .torch_default_optimizer = true,           \
      .dispatch_optimizer = MFU_C_DISPATCH_BARE)                                                                       \
    X(COMPILE, "compile", .meaning = "torch.compile: small kernels become one", .fuse = true, .fuse_rows = true,       \
      .recompute = true, .one_cast = true, .gradients_at_end = true, .keeps_wide = true, .pads_matmuls = true,         \
      .gradient = MFU_GRADIENT_AS_WEIGHT, .dispatch_forward = MFU_C_DISPATCH_COMPILE,                                  \
      .dispatch_backward = MFU_C_DISPATCH_COMPILE, .reserved = MFU_C_RESERVED_COMPILE,                                 \
      .live = MFU_C_MEMORY_SIGMA_COMPILE, .compiled = true, .torch_default_optimizer = true,                           \
      .sigma = MFU_C_MODEL_SIGMA, .excess = MFU_C_MODEL_EXCESS, .least_capability = 7.0,                               \
      .lacking = "Triton needs compute capability 7.0", .dispatch_optimizer = MFU_C_DISPATCH_BARE,                     \
      .aliases = "torch.compile inductor dynamo max-autotune")                                                         \
    X(FUSED, "fused", .meaning = "Megatron-LM and TransformerEngine: hand-written fused kernels", .fuse = true,        \
      .whole_scans = true, .whole_norms = true, .recompute = true, .one_cast = true, .half_weights = true,             \
      .keeps_quantised = true, .weighs_early = true, .experts_apart = true, .gemm_accumulates = true,                  \
      .recompute_attention = true, .heads_in_place = true, .gradient = MFU_GRADIENT_FP32,                              \
      .dispatch_forward = MFU_C_DISPATCH_EAGER, .dispatch_backward = MFU_C_DISPATCH_BACKWARD,                          \
      .reserved = MFU_C_RESERVED_EAGER, .live = MFU_C_MEMORY_SIGMA_COMPILE, .sigma = MFU_C_MODEL_SIGMA,                \
      .excess = MFU_C_MODEL_EXCESS, .dispatch_optimizer = MFU_C_DISPATCH_BARE,                                         \
      .lacks = MFU_ON(MFU_METAL) | MFU_ON(MFU_XPU), .aliases = "megatron",                                             \
      .stands_for = "megatron+te megatron-deepspeed")                                                                  \
    X(TE, "te", .meaning = "PyTorch around TransformerEngine's layers", .fuse = true, .layers_only = true,             \
      .transformer_engine = true, .whole_scans = true, .whole_norms = true, .recompute = true, .one_cast = true,       \
      .experts_apart = true, .recompute_attention = true, .heads_in_place = true, .gradient = MFU_GRADIENT_AS_WEIGHT,  \
      .dispatch_forward = MFU_C_DISPATCH_EAGER, .dispatch_backward = MFU_C_DISPATCH_BACKWARD,                          \
      .reserved = MFU_C_RESERVED_EAGER, .live = MFU_C_MEMORY_SIGMA, .sigma = MFU_C_MODEL_SIGMA_EAGER,                  \
      .excess = MFU_C_MODEL_EXCESS_EAGER, .torch_default_optimizer = true, .dispatch_optimizer = MFU_C_DISPATCH_BARE,  \
      .lacks = MFU_ON(MFU_METAL) | MFU_ON(MFU_XPU), .aliases = "transformer-engine transformerengine")                 \
    X(LLMC, "llmc", .meaning = "llm.c: one program in C and CUDA, or HIP", .fuse = true, .fuse_rows = true,            \
      .whole_norms = true, .one_cast = true, .half_weights = true, .gemm_accumulates = true, .preallocates = true,     \
      .fused_loss = true, .recompute_ops = true, .gradient = MFU_GRADIENT_AS_WEIGHT,                                   \
      .dispatch_forward = MFU_C_DISPATCH_C, .dispatch_backward = MFU_C_DISPATCH_C, .reserved = MFU_COEFFICIENT_COUNT,  \
      .reserved_always = 1, .live = MFU_C_MEMORY_SIGMA, .c_program = true, .compiled = true,                           \
      .lacks = MFU_BUT(MFU_CUDA) & MFU_BUT(MFU_ROCM), .sigma = MFU_C_MODEL_SIGMA, .excess = MFU_C_MODEL_EXCESS,        \
      .dispatch_optimizer = MFU_C_DISPATCH_C, .since = "2024-06", .aliases = "llm.c", .stands_for = "llmq")

enum mfu_runtime_kind {
#define X(id, ...) MFU_##id,
    MFU_RUNTIMES(X)
#undef X
        MFU_RUNTIME_COUNT
};

struct mfu_runtime {
    const char *name;
    const char *meaning;          /* in a few words */
    const char *aliases;          /* of other programs, the same; separated by blanks, NULL: none */
    const char *stands_for;       /* others that are planned as this one; as aliases */
    const char *since;            /* month from which the program runs the kernels that are modelled; NULL: always */
    bool c_program;               /* no Python: launches in C, kernels of its own, no caching allocator */
    bool compiled;                /* its steps vary as those of compiled or hand-written loops do */
    bool torch_default_optimizer; /* "AdamW" means PyTorch's own, a multi-tensor loop */
    bool fuse;                    /* neighbouring pointwise kernels become one */
    bool fuse_rows;               /* norms and softmax join them */
    bool layers_only;         /* all this in layers alone: embedding, last norm, head and loss are eager PyTorch's, and
                                     autocast, which casts weights, has norms in 16 bits (TransformerEngine d0067d0d,
                                     pytorch/transformer.py: "For AMP", module/layernorm_linear.py: cast_if_needed()) */
    bool transformer_engine;  /* layers are TransformerEngine's, whatever the trainer */
    bool recompute;           /* backward recomputes what is cheap (min-cut) */
    bool narrow_loads;        /* four elements at a time, whatever their size */
    bool whole_norms;         /* RMSNorm and rotary are single kernels */
    bool whole_scans;         /* recurrences are mamba-ssm's and flash-linear-attention's */
    bool one_cast;            /* equal casts of one tensor are made once */
    bool half_weights;        /* 16-bit weights, fp32 master in the optimizer */
    bool keeps_quantised;     /* fp8 weights serve all micro-steps of a step */
    bool weighs_early;        /* an expert's rows take their weight in its activation (Megatron-LM d98e8a64,
                                     moe/experts.py: bias_act_func), not where they come back */
    bool experts_apart;       /* a kernel for each expert's product (TransformerEngine d0067d0, cublaslt_gemm.cu:
                                     multi_stream_cublas_gemm), where the host knows how many rows each has */
    bool keeps_wide;          /* fp8 quantises again in backward (torchao) */
    bool gemm_accumulates;    /* wgrad adds into the gradient buffer itself */
    bool gradients_at_end;    /* backward returns all new gradients at once */
    bool pads_matmuls;        /* misaligned operands are copied to aligned ones */
    bool scopes;              /* Python variables keep arguments alive */
    bool preallocates;        /* all memory is laid out before the first step */
    bool fused_loss;          /* loss and d logits in place (llm.c) */
    bool recompute_ops;       /* checkpoint means single operations (llm.c's -r), not layers */
    bool recompute_attention; /* checkpoint selective is attention alone (Megatron; checkpoint_core_attention) */
    bool heads_in_place;      /* attention's products, where no kernel is fused, read heads where they lie */
    enum mfu_type_of_gradient { MFU_GRADIENT_AS_WEIGHT, MFU_GRADIENT_FP32 } gradient;
    enum mfu_coefficient dispatch_forward, dispatch_backward, dispatch_optimizer;
    enum mfu_coefficient sigma, excess; /* of its measured runs */
    unsigned lacks;                     /* MFU_ON() software that it does not run on */
    double least_capability;            /* compute capability that it needs; 0: any */
    const char *lacking;                /* why, where a GPU has less */
    enum mfu_coefficient reserved;      /* reserved over allocated */
    enum mfu_coefficient live;          /* spread of its live memory */
    double reserved_always;             /* when there is no such coefficient */
};

/* Packages of kernels that stand in for the model's own code, whatever the runtime.  X(identifier, name, fields)
 *
 * flash-attention's ops/rms_norm.py and layers/rotary.py (2.3), which the code of Qwen and others imports where it finds
 * them.  Liger 0.6 (ops/rms_norm.py, rope.py, swiglu.py, geglu.py) and unsloth (kernels/swiglu.py, geglu.py,
 * rms_layernorm.py, rope_embedding.py): the gate's gradients are written over what forward kept.
 * flash-linear-attention (bc3b101d, modules/: rotary.py, fused_norm_gate.py, mlp.py). */
#define MFU_PACKAGES(X)                                                                                                \
    X(PACKAGE_NONE, "none")                                                                                            \
    X(PACKAGE_FLASH_ATTN, "flash-attn", .whole_norms = true)                                                           \
    X(PACKAGE_LIGER, "liger", .whole_norms = true, .whole_gates = true, .loss_in_pieces = true,                        \
      .aliases = "liger-kernel unsloth")                                                                               \
    X(PACKAGE_FLA, "fla", .whole_norms = true, .whole_gates = true, .whole_scans = true,                               \
      .aliases = "flash-linear-attention")

enum mfu_package_kind {
#define X(id, ...) MFU_##id,
    MFU_PACKAGES(X)
#undef X
        MFU_PACKAGE_COUNT
};

struct mfu_package {
    const char *name;
    const char *aliases, *stands_for;
    bool whole_norms;    /* RMSNorm and rotary are single kernels */
    bool loss_in_pieces; /* it brings a loss of its own, mfu_liger_loss_chunks() */
    bool whole_scans;    /* recurrences over tokens are a few kernels (mamba-ssm, flash-linear-attention) */
    bool whole_gates;    /* the activation of a gate and the product are one kernel, backward in place */
};
extern const struct mfu_package mfu_packages[MFU_PACKAGE_COUNT];

/* Pieces of Liger's loss, which computes head and loss for as many rows at once as make logits about as large as its input
 * (Liger 0.6, ops/fused_linear_cross_entropy.py): the next power of 2 of rows * width / vocabulary.  All at least 1. */
double mfu_liger_loss_chunks(double rows, double width, double vocabulary);
extern const char *const mfu_package_names[MFU_PACKAGE_COUNT + 1]; /* and NULL */

extern const struct mfu_runtime mfu_runtimes[MFU_RUNTIME_COUNT];
extern const char *const mfu_runtime_names[MFU_RUNTIME_COUNT + 1]; /* and NULL */

#endif
