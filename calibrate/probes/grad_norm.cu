/*
 * grad_norm.cu - the norm of all gradients: a kernel for each tensor and one
 * more, or one for all and one more.
 */
#include "check.h"
#include "device.cuh"
#include "reference.h"
#include "tensors.h"

#include <math.h>
#include <stdlib.h>

#define THREADS 512
#define MOST_PARTS 65536 /* partial sums, one for each block or tensor */

struct work {
    struct mfu_tensors t;
    float *parts;
    float *norm;
};

__device__ static float squares(const struct mfu_tensor &t, size_t i)
{
    const wide<float> g = ((const wide<float> *)t.array[0])[i];

    return g.at[0] * g.at[0] + g.at[1] * g.at[1] + g.at[2] * g.at[2] + g.at[3] * g.at[3];
}

/* Few blocks, so that their sums can be added at once: part must be zero. */
__global__ static void one_tensor(struct mfu_tensor t, float *part)
{
    float sum = 0;

    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < t.n / 4; i += (size_t)gridDim.x * THREADS)
        sum += squares(t, i);
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd(part, sum);
}

__global__ static void all_tensors(const struct mfu_tensor *tensors, const struct mfu_chunk *chunks, float *parts)
{
    const struct mfu_chunk c = chunks[blockIdx.x];
    const struct mfu_tensor t = tensors[c.tensor];
    const size_t end = min((size_t)(c.number + 1) * MFU_CHUNK, t.n) / 4;
    float sum = 0;

    for (size_t i = (size_t)c.number * (MFU_CHUNK / 4) + threadIdx.x; i < end; i += THREADS)
        sum += squares(t, i);
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = sum;
}

__global__ static void finish(const float *parts, int n, float *norm)
{
    float sum = 0;

    for (int i = threadIdx.x; i < n; i += THREADS)
        sum += parts[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        *norm = sqrtf(sum);
}

static int launch_each(struct mfu_bench *b, void *arg, int)
{
    const struct work *w = (const struct work *)arg;

    if (mfu_bench_zero(b, w->parts, w->t.count * sizeof *w->parts) < 0)
        return -1;
    for (int i = 0; i < w->t.count; i++) {
        const unsigned blocks = wide_blocks<float>((double)w->t.tensor[i].n, THREADS);
        const unsigned most = 4 * b->gpu.multiProcessorCount;

        if (mfu_launch(b, one_tensor, dim3(blocks < most ? blocks : most), THREADS, w->t.tensor[i], w->parts + i) < 0)
            return -1;
    }
    return mfu_launch(b, finish, dim3(1), THREADS, w->parts, w->t.count, w->norm);
}

static int launch_all(struct mfu_bench *b, void *arg, int)
{
    const struct work *w = (const struct work *)arg;

    if (mfu_launch(b, all_tensors, dim3(w->t.chunks), THREADS, w->t.tensor_device, w->t.chunk_device, w->parts) < 0)
        return -1;
    return mfu_launch(b, finish, dim3(1), THREADS, w->parts, w->t.chunks, w->norm);
}

static int make_room(struct mfu_bench *b, struct work *w)
{
    w->parts = (float *)mfu_bench_room(b, MOST_PARTS * sizeof *w->parts);
    w->norm = (float *)mfu_bench_room(b, sizeof *w->norm);
    return w->parts && w->norm ? 0 : -1;
}

static int check(struct mfu_bench *b)
{
    const size_t n[] = {MFU_CHUNK + 1000, 400};
    struct mfu_tensor tensor[2] = {};
    struct work w = {{2, tensor, NULL, NULL, 0}, NULL, NULL};
    double sum = 0;
    float expected;

    for (int i = 0; i < 2; i++) {
        float *host = mfu_check_normal(n[i], 0.1f, i + 1);

        tensor[i].n = n[i];
        tensor[i].array[0] = (float *)mfu_check_put(b, host, n[i], MFU_FP32);
        sum += host ? mfu_ref_sum_of_squares(host, n[i]) : 0;
        free(host);
        if (!tensor[i].array[0])
            return -1;
    }
    expected = (float)sqrt(sum);
    if (make_room(b, &w) < 0 || mfu_tensors_cut(b, &w.t) < 0 || launch_each(b, &w, 0) < 0
        || mfu_check_same(b, "norm tensor by tensor", w.norm, MFU_FP32, &expected, 1, MFU_FP32_TOLERANCE) < 0
        || mfu_bench_zero(b, w.norm, sizeof *w.norm) < 0 || launch_all(b, &w, 0) < 0)
        return -1;
    return mfu_check_same(b, "norm of all tensors", w.norm, MFU_FP32, &expected, 1, MFU_FP32_TOLERANCE);
}

static size_t points(const struct mfu_bench *b)
{
    return 2 * mfu_tensors_points(b);
}

static int run(struct mfu_bench *b, size_t point)
{
    const struct mfu_tensors_size *size = mfu_tensors_point(b, point / 2);
    const bool all = point % 2;
    struct work w = {};
    struct mfu_work work = {all ? launch_all : launch_each, &w, 1, false};
    struct mfu_timing timing;
    int status = mfu_tensors_make(b, &w.t, size->count, size->n, 1);

    if (status == 0 && (make_room(b, &w) < 0 || w.t.chunks > MOST_PARTS))
        status = MFU_SKIPPED;
    if (status == 0)
        status = mfu_bench_measure(b, &work, &timing);
    if (status == 0)
        status = mfu_bench_record(b, &timing,
                                  "probe: grad_norm, kind: %s, fused: %d, rows: %d, columns: %zu, dtype: fp32, "
                                  "read_bytes: %.0f, write_bytes: 0, launches: %d",
                                  all ? "multi_tensor" : "per_tensor", all, size->count, size->n,
                                  4.0 * size->count * (double)size->n, all ? 2 : size->count + 2);
    mfu_tensors_free(&w.t);
    return status;
}

MFU_PROBE(grad_norm) = {"grad_norm", "norm of all gradients, tensor by tensor and at once", NULL, points, check, run};
