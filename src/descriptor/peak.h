/*
 * peak.h - the kinds of arithmetic whose peak a GPU has.
 *
 * FP16, BF16 and FP8 accumulate in fp32, as training does; *_ACC16 is what
 * GeForce cards reach with fp16 accumulation, shown but never used for training.
 */
#ifndef MFU_PEAK_H
#define MFU_PEAK_H

/* X(identifier, name) */
#define MFU_PEAKS(X)                                                                                                   \
    X(FP32, "fp32")                                                                                                    \
    X(TF32, "tf32")                                                                                                    \
    X(FP16, "fp16")                                                                                                    \
    X(FP16_ACC16, "fp16_acc16")                                                                                        \
    X(BF16, "bf16")                                                                                                    \
    X(FP8, "fp8")                                                                                                      \
    X(FP8_ACC16, "fp8_acc16")                                                                                          \
    X(INT8, "int8")                                                                                                    \
    X(NVFP4, "nvfp4")

enum mfu_peak {
#define X(id, name) MFU_PEAK_##id,
    MFU_PEAKS(X)
#undef X
        MFU_PEAK_COUNT
};
extern const char *const mfu_peak_names[MFU_PEAK_COUNT]; /* "fp32" ... */

#endif
