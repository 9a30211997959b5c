/*
 * attention.h - the shapes at which attention is measured, and its samples.
 */
#ifndef MFU_ATTENTION_H
#define MFU_ATTENTION_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* q, o and their gradients have `heads` heads of seq x dim, k and v kv_heads. */
struct mfu_attention_shape {
    int batch, heads, kv_heads, seq, dim;
    bool causal, quick;
};

/* How many shapes there are for this bench, and one of them. */
size_t mfu_attention_shapes(const struct mfu_bench *);
const struct mfu_attention_shape *mfu_attention_at(const struct mfu_bench *, size_t number);

/* Records a sample: kind "math", pass "forward". */
int mfu_attention_record(struct mfu_bench *, const struct mfu_timing *, const struct mfu_attention_shape *,
                         const char *kind, const char *pass);

#ifdef __cplusplus
}
#endif
#endif
