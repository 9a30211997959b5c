/*
 * attention.c - shapes of models' attention, small to large.
 */
#include "attention.h"

// clang-format off
static const struct mfu_attention_shape shapes[] = {
    /* batch, heads, kv_heads, seq, dim, causal, quick */
    {8,  12, 12, 1024,  64, true,  true},
    {16, 12, 12, 1024,  64, true,  false},
    {32, 12, 12,  512,  64, false, false},
    {4,  25, 25, 1024,  64, true,  false},
    {8,  12, 12, 1024,  64, false, false},
    {2,  32, 32, 2048, 128, true,  true},
    {2,  32, 32, 2048, 128, false, false},
    {1,  32, 32, 4096, 128, true,  false},
    {2,  32,  8, 2048, 128, true,  false},
    {1,  32,  8, 8192, 128, true,  false},
};
// clang-format on

size_t mfu_attention_shapes(const struct mfu_bench *b)
{
    size_t n = 0;

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        n += shapes[i].quick || !b->quick;
    return n;
}

const struct mfu_attention_shape *mfu_attention_at(const struct mfu_bench *b, size_t number)
{
    const struct mfu_attention_shape *s = shapes;

    for (;; s++)
        if ((s->quick || !b->quick) && number-- == 0)
            return s;
}

int mfu_attention_record(struct mfu_bench *b, const struct mfu_timing *timing, const struct mfu_attention_shape *s,
                         const char *kind, const char *pass)
{
    return mfu_bench_record(b, timing,
                            "probe: attention, kind: %s, batch: %d, heads: %d, kv_heads: %d, seq: %d, "
                            "head_dim: %d, causal: %d, pass: %s, dtype: bf16",
                            kind, s->batch, s->heads, s->kv_heads, s->seq, s->dim, s->causal, pass);
}
