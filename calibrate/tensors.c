/*
 * tensors.c - tensors and chunks on the device.
 */
#include "tensors.h"

#include <stdlib.h>

// clang-format off
static const struct mfu_tensors_size sizes[] = {
    {148,   840704, true},      /* as many as GPT-2 124M has, of its mean size */
    {146,  7536640, false},     /* a billion parameters */
    {16,  16777216, false},
    {1000,   16384, false},     /* small ones: launches dominate */
};
// clang-format on

size_t mfu_tensors_points(const struct mfu_bench *b)
{
    size_t points = 0;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        points += sizes[i].quick || !b->quick;
    return points;
}

const struct mfu_tensors_size *mfu_tensors_point(const struct mfu_bench *b, size_t point)
{
    const struct mfu_tensors_size *s = sizes;

    for (;; s++)
        if ((s->quick || !b->quick) && point-- == 0)
            return s;
}

int mfu_tensors_cut(struct mfu_bench *b, struct mfu_tensors *t)
{
    struct mfu_chunk *chunk;
    int status = -1;
    int at = 0;

    t->chunks = 0;
    for (int i = 0; i < t->count; i++)
        t->chunks += (int)((t->tensor[i].n + MFU_CHUNK - 1) / MFU_CHUNK);
    chunk = malloc((size_t)t->chunks * sizeof *chunk);
    if (!chunk)
        return mfu_bench_fail(b, "out of memory");
    for (int i = 0; i < t->count; i++)
        for (int j = 0; (size_t)j * MFU_CHUNK < t->tensor[i].n; j++)
            chunk[at++] = (struct mfu_chunk){i, j};
    t->tensor_device = mfu_bench_room(b, (double)t->count * sizeof *t->tensor);
    t->chunk_device = mfu_bench_room(b, (double)t->chunks * sizeof *chunk);
    if (t->tensor_device && t->chunk_device
        && mfu_bench_upload(b, t->tensor_device, t->tensor, (size_t)t->count * sizeof *t->tensor) == 0)
        status = mfu_bench_upload(b, t->chunk_device, chunk, (size_t)t->chunks * sizeof *chunk);
    free(chunk);
    return status;
}

int mfu_tensors_make(struct mfu_bench *b, struct mfu_tensors *t, int count, size_t n, int arrays)
{
    *t = (struct mfu_tensors){.count = count, .tensor = calloc((size_t)count, sizeof *t->tensor)};
    if (!t->tensor)
        return mfu_bench_fail(b, "out of memory");
    for (int i = 0; i < count; i++) {
        t->tensor[i].n = n;
        for (int j = 0; j < arrays; j++) {
            float *array = mfu_bench_room(b, (double)n * sizeof *array);

            if (!array)
                return MFU_SKIPPED;
            if (j == 3 ? mfu_bench_zero(b, array, n * sizeof *array) < 0
                       : mfu_bench_normal(b, array, (double)n, MFU_FP32, 0.02f, (unsigned)(4 * i + j)) < 0)
                return -1;
            t->tensor[i].array[j] = array;
        }
    }
    return mfu_tensors_cut(b, t);
}

void mfu_tensors_free(struct mfu_tensors *t)
{
    free(t->tensor);
    t->tensor = NULL;
}
