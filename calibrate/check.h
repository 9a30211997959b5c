/*
 * check.h - holding a kernel's result against the CPU reference.
 */
#ifndef MFU_CHECK_H
#define MFU_CHECK_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `n` normal numbers that bf16 can hold, to be freed; NULL when out of memory. */
float *mfu_check_normal(size_t n, float scale, unsigned seed);

/* Copies to the room on the device, as fp32 or bf16; NULL and b->error on
 * failure. */
void *mfu_check_put(struct mfu_bench *, const float *, size_t n, enum mfu_dtype);

/* Compares `n` numbers on the device with the expected ones: the difference
 * may be `tolerance` times (the root mean square of all + the number itself).
 * 0, or -1 and a b->error that starts with `what`. */
int mfu_check_same(struct mfu_bench *, const char *what, const void *device, enum mfu_dtype, const float *expected,
                   size_t n, double tolerance);

#define MFU_BF16_TOLERANCE 0.01 /* 2.5 units in the last of 8 bits */
#define MFU_FP32_TOLERANCE 1e-4

#ifdef __cplusplus
}
#endif
#endif
