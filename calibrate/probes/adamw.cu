/*
 * adamw.cu - AdamW on fp32 parameters, gradients and moments: a kernel for
 * each tensor, or one for all (as PyTorch's fused=True).
 *
 * It reads four numbers and writes three for each parameter: 28 bytes.
 */
#include "check.h"
#include "device.cuh"
#include "reference.h"
#include "tensors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 512

enum { P, G, M, V, ARRAYS };

__device__ static void update(const struct mfu_adamw &a, const struct mfu_tensor &t, size_t i)
{
    wide<float> p = ((const wide<float> *)t.array[P])[i];
    wide<float> m = ((const wide<float> *)t.array[M])[i];
    wide<float> v = ((const wide<float> *)t.array[V])[i];
    const wide<float> g = ((const wide<float> *)t.array[G])[i];

    for (int j = 0; j < 4; j++) {
        m.at[j] = a.beta1 * m.at[j] + (1 - a.beta1) * g.at[j];
        v.at[j] = a.beta2 * v.at[j] + (1 - a.beta2) * g.at[j] * g.at[j];
        p.at[j] -=
            a.rate * (a.decay * p.at[j] + m.at[j] / a.correction1 / (sqrtf(v.at[j] / a.correction2) + a.epsilon));
    }
    ((wide<float> *)t.array[P])[i] = p;
    ((wide<float> *)t.array[M])[i] = m;
    ((wide<float> *)t.array[V])[i] = v;
}

__global__ static void one_tensor(struct mfu_adamw a, struct mfu_tensor t)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;

    if (i < t.n / 4)
        update(a, t, i);
}

__global__ static void all_tensors(struct mfu_adamw a, const struct mfu_tensor *tensors, const struct mfu_chunk *chunks)
{
    const struct mfu_chunk c = chunks[blockIdx.x];
    const struct mfu_tensor t = tensors[c.tensor];
    const size_t end = min((size_t)(c.number + 1) * MFU_CHUNK, t.n) / 4;

    for (size_t i = (size_t)c.number * (MFU_CHUNK / 4) + threadIdx.x; i < end; i += THREADS)
        update(a, t, i);
}

/* Step 10 of a usual run. */
static struct mfu_adamw usual(void)
{
    struct mfu_adamw a = {6e-4f, 0.9f, 0.95f, 1e-8f, 0.1f, 0, 0};

    a.correction1 = 1 - powf(a.beta1, 10);
    a.correction2 = 1 - powf(a.beta2, 10);
    return a;
}

static int launch_each(struct mfu_bench *b, void *arg, int)
{
    const struct mfu_tensors *t = (const struct mfu_tensors *)arg;

    for (int i = 0; i < t->count; i++)
        if (mfu_launch(b, one_tensor, dim3(wide_blocks<float>((double)t->tensor[i].n, THREADS)), THREADS, usual(),
                       t->tensor[i])
            < 0)
            return -1;
    return 0;
}

static int launch_all(struct mfu_bench *b, void *arg, int)
{
    const struct mfu_tensors *t = (const struct mfu_tensors *)arg;

    return mfu_launch(b, all_tensors, dim3(t->chunks), THREADS, usual(), t->tensor_device, t->chunk_device);
}

/* Two tensors, one of more than a chunk. */
static int check_launch(struct mfu_bench *b, int (*launch)(struct mfu_bench *, void *, int), const char *what)
{
    const size_t n[] = {MFU_CHUNK + 1000, 400};
    const struct mfu_adamw a = usual();
    struct mfu_tensor tensor[2] = {};
    struct mfu_tensors t = {2, tensor, NULL, NULL, 0};
    float *host[2][ARRAYS] = {};
    int status = 0;

    for (int i = 0; i < 2; i++) {
        tensor[i].n = n[i];
        for (int j = 0; j < ARRAYS; j++) {
            host[i][j] = mfu_check_normal(n[i], 0.1f, 4 * i + j);
            for (size_t k = 0; host[i][j] && j == V && k < n[i]; k++)
                host[i][j][k] *= host[i][j][k];
            tensor[i].array[j] = (float *)mfu_check_put(b, host[i][j], n[i], MFU_FP32);
            if (!tensor[i].array[j])
                status = -1;
        }
    }
    if (status == 0 && (mfu_tensors_cut(b, &t) < 0 || launch(b, &t, 0) < 0))
        status = -1;
    for (int i = 0; i < 2 && status == 0; i++) {
        mfu_ref_adamw(&a, host[i][P], host[i][G], host[i][M], host[i][V], n[i]);
        for (int j = 0; j < ARRAYS && status == 0; j++)
            status = mfu_check_same(b, what, tensor[i].array[j], MFU_FP32, host[i][j], n[i], MFU_FP32_TOLERANCE);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < ARRAYS; j++)
            free(host[i][j]);
    return status;
}

static int check(struct mfu_bench *b)
{
    return check_launch(b, launch_each, "AdamW for each tensor") < 0 ? -1
                                                                     : check_launch(b, launch_all, "AdamW for all");
}

static size_t points(const struct mfu_bench *b)
{
    return 2 * mfu_tensors_points(b);
}

static int run(struct mfu_bench *b, size_t point)
{
    const struct mfu_tensors_size *size = mfu_tensors_point(b, point / 2);
    const bool all = point % 2;
    const double n = (double)size->count * (double)size->n;
    struct mfu_tensors t;
    struct mfu_work work = {all ? launch_all : launch_each, &t, 1, false};
    struct mfu_timing timing;
    int status = mfu_tensors_make(b, &t, size->count, size->n, ARRAYS);

    if (status == 0)
        status = mfu_bench_measure(b, &work, &timing);
    if (status == 0)
        status = mfu_bench_record(b, &timing,
                                  "probe: adamw, kind: %s, fused: %d, rows: %d, columns: %zu, dtype: fp32, "
                                  "read_bytes: %.0f, write_bytes: %.0f, launches: %d",
                                  all ? "multi_tensor" : "per_tensor", all, size->count, size->n, 16 * n, 12 * n,
                                  all ? 1 : size->count);
    mfu_tensors_free(&t);
    return status;
}

MFU_PROBE(adamw) = {"adamw", "AdamW, a kernel for each tensor and one for all", NULL, points, check, run};
