/*
 * peak_tensors.h - the largest tensors at the peak of memory, equal ones of all
 * layers in one entry; for the memory answers.
 */
#ifndef MFU_PEAK_TENSORS_H
#define MFU_PEAK_TENSORS_H

#include <stddef.h>

struct mfu_alive;
struct mfu_plan;

/* Fills up to `max` entries, the largest first; returns how many, -1 when out
 * of memory.  None of a pipeline whose program at hand is not that of the stage
 * that holds the most (mfu_stages_show() puts it there); of several microbatches
 * in flight those of the one that is computed. */
int mfu_peak_tensors(const struct mfu_plan *, struct mfu_alive *, size_t max);

/* "h.attn.qkv": the launch that made it, into buf; returns buf. */
const char *mfu_peak_tensor_name(const struct mfu_alive *, char *buf, size_t size);

#endif
