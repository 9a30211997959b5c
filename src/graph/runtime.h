/*
 * runtime.h - what distinguishes the software that runs a step.
 *
 * The operations are the same everywhere; a runtime decides in which types
 * weights and gradients are kept, which small kernels become one, what is
 * computed again in backward, and how gradients are accumulated.
 */
#ifndef MFU_RUNTIME_H
#define MFU_RUNTIME_H

#include <stdbool.h>
#include "descriptor/coefficient.h"
#include "scenario/setting.h"

struct mfu_program;
struct mfu_builder;

struct mfu_runtime {
    const char *name;
    bool fuse;                /* neighbouring pointwise kernels become one */
    bool fuse_rows;           /* norms and softmax join them */
    bool recompute;           /* backward recomputes what is cheap (min-cut) */
    bool narrow_loads;        /* four elements at a time, whatever their size */
    bool whole_norms;         /* RMSNorm and rotary are single kernels */
    bool one_cast;            /* equal casts of one tensor are made once */
    bool half_weights;        /* 16-bit weights, fp32 master in the optimizer */
    bool gemm_accumulates;    /* wgrad adds into the gradient buffer itself */
    bool gradients_at_end;    /* backward returns all new gradients at once */
    bool pads_matmuls;        /* misaligned operands are copied to aligned ones */
    bool scopes;              /* Python variables keep arguments alive */
    bool one_arena;           /* all memory is laid out before the first step */
    bool fused_loss;          /* loss and d logits in place (llm.c) */
    bool recompute_ops;       /* checkpoint means single operations (llm.c's -r), not layers */
    bool recompute_attention; /* checkpoint selective is attention alone (Megatron) */
    enum mfu_type_of_gradient { MFU_GRADIENT_AS_WEIGHT, MFU_GRADIENT_FP32 } gradient;
    enum mfu_coefficient dispatch_forward, dispatch_backward;
    enum mfu_coefficient reserved; /* reserved over allocated */
    double reserved_always;        /* when there is no such coefficient */
};

extern const struct mfu_runtime mfu_runtimes[MFU_RUNTIME_COUNT];

/* Merges launches as the runtime's compiler does (fuse.c). */
int mfu_fuse(struct mfu_builder *);

#endif
