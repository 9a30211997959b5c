/*
 * precision.h - the precisions of a run, a row each.
 */
#ifndef MFU_PRECISION_H
#define MFU_PRECISION_H

#include <stdbool.h>

#include "descriptor/peak.h"

/* X(identifier, name, fields) */
#define MFU_PRECISIONS(X)                                                                                              \
    X(FP32, "fp32", .math = MFU_PEAK_FP32, .linear_math = MFU_PEAK_FP32, .instead = "fp32",                            \
      .no_half_weights = "nothing has 16 bits", .aliases = "float32 32-true")                                          \
    X(TF32, "tf32", .math = MFU_PEAK_TF32, .linear_math = MFU_PEAK_TF32, .instead = "fp32",                            \
      .no_half_weights = "nothing has 16 bits")                                                                        \
    X(FP16, "fp16", .math = MFU_PEAK_FP16, .linear_math = MFU_PEAK_FP16, .instead = "fp32", .half = true,              \
      .scaler = true, .preference = 1, .aliases = "float16 fp16-amp 16-mixed fp16-mixed")                              \
    X(BF16, "bf16", .math = MFU_PEAK_BF16, .linear_math = MFU_PEAK_BF16, .instead = "fp16", .half = true,              \
      .preference = 2, .aliases = "bfloat16 bf16-amp bf16-mixed", .stands_for = "bf16-fsdp")                           \
    X(BF16_PURE, "bf16-pure", .math = MFU_PEAK_BF16, .linear_math = MFU_PEAK_BF16, .instead = "fp16", .half = true,    \
      .pure = true, .no_half_weights = "the weights have 16 bits anyway, without masters", .aliases = "bf16-true")     \
    X(FP8, "fp8", .math = MFU_PEAK_BF16, .linear_math = MFU_PEAK_FP8, .instead = "bf16", .half = true,                 \
      .no_half_weights = "its weights are planned in fp32, unless the runtime is fused", .stands_for = "mxfp8")

enum mfu_precision {
#define X(id, ...) MFU_##id,
    MFU_PRECISIONS(X)
#undef X
        MFU_PRECISION_COUNT
};

struct mfu_precision_row {
    const char *name;
    const char *aliases;         /* of other programs, the same; separated by blanks, NULL: none */
    const char *stands_for;      /* others that are planned as this one; as aliases */
    enum mfu_peak math;          /* of attention */
    enum mfu_peak linear_math;   /* of linears; what the GPU must have and MFU is a fraction of */
    const char *instead;         /* the next precision down */
    bool half;                   /* matrix products read 16 bits or fewer */
    bool pure;                   /* weights and states have 16 bits, without fp32 masters */
    bool scaler;                 /* gradients are scaled and unscaled (GradScaler) */
    const char *no_half_weights; /* why half_weights cannot be on; NULL: it can */
    int preference;              /* the highest that a GPU has is its default; 0: the last resort, or by name only */
};
extern const struct mfu_precision_row mfu_precisions[MFU_PRECISION_COUNT];
extern const char *const mfu_precision_names[MFU_PRECISION_COUNT + 1]; /* and NULL */

#endif
