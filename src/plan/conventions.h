/*
 * conventions.h - the MFU figures that different programs would print for one
 * and the same run.
 */
#ifndef MFU_CONVENTIONS_H
#define MFU_CONVENTIONS_H

#include <stddef.h>

#include "plan/plan.h"

struct mfu_convention {
    const char *name;    /* "nanogpt" */
    const char *counts;  /* "6 N + 12 L d T, N without positions" */
    const char *peak_of; /* "always an A100's 312 TFLOP/s" */
    double flops_per_token;
    double peak_flops;
    double mfu;
    bool printed; /* a trainer of this model prints it */
};

#define MFU_CONVENTIONS_MAX 12 /* no plan has more */

/* nanogpt, palm, causal (exact products, half the attention), llm.c, megatron
 * (current: causal), megatron-2021 (full attention), torchtitan, 6n, hfu.
 * Returns how many were filled. */
size_t mfu_conventions(const struct mfu_plan *, struct mfu_convention *);

/* Parameter counts and FLOPs per token of the resolved model as a convention
 * needs them; also used to turn a logged MFU back into time. */
double mfu_convention_flops_per_token(const struct mfu_plan *, const char *name);

/* What is really computed, without the pairs that a causal mask leaves out, over
 * the peak at the clock that the card keeps under a large GEMM: never above 1. */
double mfu_use_of_sustained_peak(const struct mfu_plan *);

/* Why the MFU or the HFU is above 100 %: a mask that it counts in full, a clock
 * above the rated one.  "" where neither is.  Returns `buf`; 320 bytes do. */
const char *mfu_above_one(const struct mfu_plan *, char *buf, size_t size);

#endif
