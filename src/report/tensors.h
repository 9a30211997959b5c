/*
 * tensors.h - the largest tensors at the peak of memory, equal ones of all
 * layers in one entry; for the memory answers.
 */
#ifndef MFU_REPORT_TENSORS_H
#define MFU_REPORT_TENSORS_H

#include <stddef.h>

struct mfu_alive;
struct mfu_plan;

/* Fills up to `max` entries, the largest first; returns how many, -1 when out
 * of memory. */
int mfu_report_tensors(const struct mfu_plan *, struct mfu_alive *, size_t max);

/* "h.attn.qkv": the launch that made it, into buf; returns buf. */
const char *mfu_report_tensor_name(const struct mfu_alive *, char *buf, size_t size);

#endif
