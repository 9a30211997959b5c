/*
 * attention_kinds.h - the kernels that compute attention, a row each.
 *
 * A row is all that makes a kind: `set attention` and `kernel attention` offer
 * it, its four coefficients attention.NAME.* exist, files of other programs
 * are read by its aliases.  What the fields mean is at struct
 * mfu_attention_row (kernel/attention_kind.h).
 *
 * Sources: PyTorch's sdp_utils.cpp (of ROCm: flash and memory-efficient attention, by AOTriton), its attention.cpp
 * (of MPS: the parts, wherever a gradient is wanted), FlashAttention's and cuDNN's release notes.
 */
#ifndef MFU_ATTENTION_KINDS_H
#define MFU_ATTENTION_KINDS_H

/* X(argument, identifier, name, title, fields) */
#define MFU_FUSED_ATTENTION_KINDS(X, argument)                                                                         \
    X(argument, FLASH1, "flash1", "FlashAttention 1", .also_on = MFU_ON(MFU_ROCM), .packs = true,                      \
      .tiles = MFU_TILES_FLASH, .launches_backward = 3, .most_head_dim = 256, .least_capability = 7.5,                 \
      .lacking = "FlashAttention needs compute capability 7.5")                                                        \
    X(argument, TRITON, "triton", "attention written in Triton (FlashAttention 1's algorithm)",                        \
      .also_on = MFU_ON(MFU_ROCM), .tiles = MFU_TILES_FLASH, .launches_backward = 3, .most_head_dim = 256,             \
      .least_capability = 7.5, .lacking = "FlashAttention needs compute capability 7.5",                               \
      .stands_for = "flex flex-attention")                                                                             \
    X(argument, FLASH, "flash", "FlashAttention 2", .also_on = MFU_ON(MFU_ROCM) | MFU_ON(MFU_XPU) | MFU_ON(MFU_HPU),   \
      .packs = true, .tiles = MFU_TILES_FLASH, .launches_backward = 3, .keeps_layout = true, .most_head_dim = 256,     \
      .head_step = 8, .least_capability = 8.0, .lacking = "it needs compute capability 8.0 (Ampere)", .preference = 3, \
      .aliases = "flash2 fa2 fa fa-v2 flash-attn flash-attn-2 flash-attention flash-attention-2 flash-attention-v2 "   \
                 "sdpa-flash",                                                                                         \
      .stands_for = "te-flash aiter ck")                                                                               \
    X(argument, FLASH3, "flash3", "FlashAttention 3", .packs = true, .tiles = MFU_TILES_HOPPER,                        \
      .launches_backward = 3, .most_head_dim = 256, .least_capability = 9.0, .below_capability = 10.0,                 \
      .lacking = "FlashAttention 3 is written for Hopper (compute capability 9.0)",                                    \
      .aliases = "fa3 fa-v3 flash-attn-3 flash-attention-3 flash-attention-v3")                                        \
    X(argument, MEMEFF, "memeff", "memory-efficient attention (CUTLASS)", .also_on = MFU_ON(MFU_ROCM),                 \
      .tiles = MFU_TILES_MEMEFF, .launches_backward = 3, .registers = 128, .any_precision = true, .preference = 1,     \
      .aliases = "mem-efficient memory-efficient efficient sdpa-efficient", .stands_for = "xformers")                  \
    X(argument, CUDNN, "cudnn", "cuDNN's fused attention", .packs_by_te = true, .tiles = MFU_TILES_FLASH_OR_HOPPER,    \
      .launches_backward = 3, .most_head_dim = 256, .least_capability = 8.0,                                           \
      .lacking = "it needs compute capability 8.0 (Ampere)", .preference = 2, .te_capability = 9.0,                    \
      .in_c_programs = true, .aliases = "te-cudnn te-fused sdpa-cudnn", .stands_for = "thunderkittens")

/* Math attention writes the scores to memory: two products and a softmax. */
#define MFU_UNFUSED_ATTENTION_KINDS(X, argument)                                                                       \
    X(argument, MATH, "math", "unfused attention", .any_precision = true, .any_scores = true, .in_c_programs = true,   \
      .aliases = "eager naive unfused te-unfused vanilla standard sdpa-math", .stands_for = "llm.c")

#define MFU_ATTENTION_KINDS(X, argument)                                                                               \
    MFU_UNFUSED_ATTENTION_KINDS(X, argument)                                                                           \
    MFU_FUSED_ATTENTION_KINDS(X, argument)

enum mfu_attention_kind {
#define X(argument, id, ...) MFU_##id,
    MFU_ATTENTION_KINDS(X, )
#undef X
        MFU_ATTENTION_COUNT
};

#endif
