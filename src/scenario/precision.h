/*
 * precision.h - the precisions of a run, a row each.
 *
 * What is narrower than 16 bits are operands of linears: each is quantised for the
 * product that reads it, by rows and, for the product of backward, by columns.
 * Sources: TransformerEngine @000b637 common/recipe/__init__.py (DelayedScaling,
 * Float8CurrentScaling, Float8BlockScaling with 1 x 128 and 128 x 128, MXFP8BlockScaling
 * with 1 x 32, NVFP4BlockScaling with 1 x 16 and an fp32 scale for the tensor) and its
 * documentation of kernels; AMD's CDNA4 instruction set (V_MFMA_SCALE: a scale for 32);
 * torchao float8/float8_linear.py @024fe94, and its int8 training (a scale for a row).
 */
#ifndef MFU_PRECISION_H
#define MFU_PRECISION_H

#include <stdbool.h>

#include "descriptor/peak.h"

/* What quantised operands are: with their scales 1, 1 + 1/32 (or 4/128), 1/2 + 1/16 and 1/2 + 1/32 bytes. */
enum mfu_operand {
    MFU_OPERAND_AS_COMPUTED,
    MFU_OPERAND_F8,
    MFU_OPERAND_F8_BLOCK,
    MFU_OPERAND_F4_16,
    MFU_OPERAND_F4_32,
    MFU_OPERAND_COUNT
};

/* How ranks send one another weights that lie quantised (Megatron's distributed optimizer). */
enum mfu_gathers {
    MFU_GATHERS_NONE,      /* none do */
    MFU_GATHERS_QUANTISED, /* as they lie: by rows they say what they are by columns */
    MFU_GATHERS_HALVES     /* in 16 bits, which each makes both of */
};

/* X(identifier, name, fields) */
#define MFU_PRECISIONS(X)                                                                                              \
    X(FP32, "fp32", .meaning = "fp32 throughout", .math = MFU_PEAK_FP32, .linear_math = MFU_PEAK_FP32,                 \
      .instead = "fp32", .no_half_weights = "nothing has 16 bits", .aliases = "float32 32-true")                       \
    X(TF32, "tf32", .meaning = "fp32, whose products round their operands to TF32", .math = MFU_PEAK_TF32,             \
      .linear_math = MFU_PEAK_TF32, .instead = "fp32", .no_half_weights = "nothing has 16 bits")                       \
    X(FP16, "fp16", .meaning = "autocast: fp32 weights, fp16 products, a loss scaler", .math = MFU_PEAK_FP16,          \
      .linear_math = MFU_PEAK_FP16, .instead = "fp32", .half = true, .scaler = true, .preference = 1,                  \
      .aliases = "float16 fp16-amp amp-fp16 16-mixed fp16-mixed mixed-fp16 fp16-o1 o1",                                \
      .stands_for = "amp autocast half")                                                                               \
    X(BF16, "bf16", .meaning = "autocast: fp32 weights, bf16 products", .math = MFU_PEAK_BF16,                         \
      .linear_math = MFU_PEAK_BF16, .instead = "fp16", .half = true, .preference = 2,                                  \
      .aliases = "bfloat16 bf16-amp amp-bf16 bf16-mixed mixed-bf16", .stands_for = "bf16-fsdp")                        \
    X(BF16_PURE, "bf16-pure", .meaning = "weights, gradients and moments in bf16", .math = MFU_PEAK_BF16,              \
      .linear_math = MFU_PEAK_BF16, .instead = "fp16", .half = true, .pure = true,                                     \
      .no_half_weights = "the weights have 16 bits anyway, without masters",                                           \
      .aliases = "bf16-true pure-bf16 full-bf16 bf16-full")                                                            \
    X(FP8, "fp8", .meaning = "linears in fp8, delayed scales", .math = MFU_PEAK_BF16, .linear_math = MFU_PEAK_FP8,     \
      .instead = "bf16", .half = true, .operand = MFU_OPERAND_F8, .kernels = 1, .delayed = true,                       \
      .gathers = MFU_GATHERS_QUANTISED, .aliases = "fp8-delayed delayed fp8-hybrid hybrid fp8-e4m3 fp8-ds")            \
    X(BF16_SR, "bf16-sr", .meaning = "bf16-pure, whose updates round stochastically", .math = MFU_PEAK_BF16,           \
      .linear_math = MFU_PEAK_BF16, .instead = "fp16", .half = true, .pure = true,                                     \
      .no_half_weights = "the weights have 16 bits anyway, without masters",                                           \
      .aliases = "bf16-stochastic bf16-stochastic-rounding")                                                           \
    X(FP8_CURRENT, "fp8-current", .meaning = "linears in fp8, scales of the tensor at hand", .math = MFU_PEAK_BF16,    \
      .linear_math = MFU_PEAK_FP8, .instead = "bf16", .half = true, .operand = MFU_OPERAND_F8, .kernels = 3,           \
      .scans = 1, .gathers = MFU_GATHERS_QUANTISED,                                                                    \
      .aliases = "fp8-tensorwise tensorwise float8 float8-tensorwise fp8-cs",                                          \
      .stands_for = "fp8-rowwise float8-rowwise rowwise")                                                              \
    X(FP8_BLOCK, "fp8-block", .meaning = "linears in fp8, scales of 1 x 128 and 128 x 128", .math = MFU_PEAK_BF16,     \
      .linear_math = MFU_PEAK_FP8, .instead = "bf16", .half = true, .operand = MFU_OPERAND_F8_BLOCK, .kernels = 1,     \
      .both_ways = true, .gathers = MFU_GATHERS_QUANTISED,                                                             \
      .aliases = "fp8-blockwise blockwise deepseek float8-blockwise fp8-sc")                                           \
    X(MXFP8, "mxfp8", .meaning = "linears in fp8, a scale for 32 elements", .math = MFU_PEAK_BF16,                     \
      .linear_math = MFU_PEAK_FP8, .instead = "fp8-block", .half = true, .operand = MFU_OPERAND_F8_BLOCK,              \
      .kernels = 2, .both_ways = true, .gathers = MFU_GATHERS_HALVES, .least_capability = 10, .isa = "gfx950",         \
      .aliases = "fp8-mx mx-fp8 mxfp8-e4m3")                                                                           \
    X(NVFP4, "nvfp4", .meaning = "linears in fp4, a scale for 16 elements", .math = MFU_PEAK_BF16,                     \
      .linear_math = MFU_PEAK_NVFP4, .instead = "fp8", .half = true, .operand = MFU_OPERAND_F4_16, .kernels = 3,       \
      .scans = 1, .both_ways = true, .aliases = "fp4")                                                                 \
    X(MXFP4, "mxfp4", .meaning = "linears in fp4, a scale for 32 elements", .math = MFU_PEAK_BF16,                     \
      .linear_math = MFU_PEAK_NVFP4, .instead = "fp8", .half = true, .operand = MFU_OPERAND_F4_32, .kernels = 2,       \
      .both_ways = true)                                                                                               \
    X(INT8, "int8", .meaning = "products of linears in int8 (torchao)", .math = MFU_PEAK_BF16,                         \
      .linear_math = MFU_PEAK_INT8, .instead = "fp16", .half = true, .operand = MFU_OPERAND_F8, .kernels = 2,          \
      .scans = 1, .both_ways = true, .aliases = "int8-mixed")

enum mfu_precision {
#define X(id, ...) MFU_##id,
    MFU_PRECISIONS(X)
#undef X
        MFU_PRECISION_COUNT
};

struct mfu_precision_row {
    const char *name;
    const char *meaning;         /* in a few words */
    const char *aliases;         /* of other programs, the same; separated by blanks, NULL: none */
    const char *stands_for;      /* others that are planned as this one; as aliases */
    enum mfu_peak math;          /* of attention */
    enum mfu_peak linear_math;   /* of linears; what the GPU must have and MFU is a fraction of */
    const char *instead;         /* the next precision down */
    bool half;                   /* matrix products read 16 bits or fewer */
    bool pure;                   /* weights and states have 16 bits, without fp32 masters */
    bool scaler;                 /* gradients are scaled and unscaled (GradScaler) */
    const char *no_half_weights; /* why half_weights cannot be on; NULL: it can */
    enum mfu_operand operand;    /* of linears, forward and backward */
    double kernels, scans;    /* of one quantisation; of them, those that read the tensor before: its largest value */
    bool delayed;             /* scales are those of steps before */
    bool both_ways;           /* scales go along rows or columns: both copies exist, whatever the GPU can transpose */
    enum mfu_gathers gathers; /* weights that lie quantised */
    double least_capability;  /* of a GPU whose tensor cores read such scales; 0: any that has the peak */
    const char *isa;          /* where there is no compute capability: the instruction set that reads them */
    int preference;           /* the highest that a GPU has is its default; 0: the last resort, or by name only */
};
extern const struct mfu_precision_row mfu_precisions[MFU_PRECISION_COUNT];
extern const char *const mfu_precision_names[MFU_PRECISION_COUNT + 1]; /* and NULL */

#endif
