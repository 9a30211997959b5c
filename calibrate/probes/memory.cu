/*
 * memory.cu - copy, triad and read-modify-write, through L2 into DRAM.
 *
 * All launches of a point use the same buffers, so that small ones show the L2
 * cache and large ones DRAM.
 */
#include "check.h"
#include "device.cuh"

#include <stdlib.h>

#define THREADS 512
#define FACTOR 0.9375f

enum { COPY, TRIAD, UPDATE, KINDS };

static const char *const kind_names[KINDS] = {"copy", "triad", "update"};
static const int arrays[KINDS] = {2, 3, 2}; /* bytes moved, in arrays */

static const double sizes[] = {1e6, 2e6, 4e6, 8e6, 16e6, 32e6, 64e6, 128e6, 256e6, 512e6, 1e9, 2e9, 4e9};
static const double quick_sizes[] = {4e6, 64e6, 2e9};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

struct buffers {
    float *a, *b, *c;
    size_t n; /* floats, a multiple of 4 */
    int kind;
};

/* c = a, c = a + FACTOR b, or c = 1 - c, which stays random however often; four
 * floats for each thread. */
template <int KIND> __global__ void stream(const float *a, const float *b, float *c, size_t n)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    wide<float> x, y;

    if (i >= n / 4)
        return;
    x = ((const wide<float> *)(KIND == UPDATE ? c : a))[i];
    if (KIND == TRIAD)
        y = ((const wide<float> *)b)[i];
    for (int j = 0; j < 4; j++)
        x.at[j] = KIND == COPY ? x.at[j] : KIND == TRIAD ? x.at[j] + FACTOR * y.at[j] : 1 - x.at[j];
    ((wide<float> *)c)[i] = x;
}

static int launch(struct mfu_bench *bench, void *arg, int)
{
    const struct buffers *s = (const struct buffers *)arg;
    const dim3 grid(wide_blocks<float>((double)s->n, THREADS));

    if (s->kind == COPY)
        return mfu_launch(bench, stream<COPY>, grid, THREADS, s->a, s->b, s->c, s->n);
    if (s->kind == TRIAD)
        return mfu_launch(bench, stream<TRIAD>, grid, THREADS, s->a, s->b, s->c, s->n);
    return mfu_launch(bench, stream<UPDATE>, grid, THREADS, s->a, s->b, s->c, s->n);
}

static int check_kind(struct mfu_bench *bench, int kind, const float *a, const float *b, float *expected, size_t n)
{
    struct buffers s = {};

    for (size_t i = 0; i < n; i++)
        expected[i] = kind == COPY ? a[i] : kind == TRIAD ? a[i] + FACTOR * b[i] : 1 - b[i];
    s.a = (float *)mfu_check_put(bench, a, n, MFU_FP32);
    s.b = (float *)mfu_check_put(bench, b, n, MFU_FP32);
    s.c = (float *)mfu_check_put(bench, b, n, MFU_FP32);
    s.n = n;
    s.kind = kind;
    if (!s.a || !s.b || !s.c || launch(bench, &s, 0) < 0)
        return -1;
    return mfu_check_same(bench, kind_names[kind], s.c, MFU_FP32, expected, n, MFU_FP32_TOLERANCE);
}

static int check(struct mfu_bench *bench)
{
    const size_t n = 10000;
    float *a = mfu_check_normal(n, 1, 1);
    float *b = mfu_check_normal(n, 1, 2);
    float *expected = mfu_check_normal(n, 1, 3);
    int status = a && b && expected ? 0 : mfu_bench_fail(bench, "out of memory");

    for (int kind = 0; kind < KINDS && status == 0; kind++)
        status = check_kind(bench, kind, a, b, expected, n);
    free(a);
    free(b);
    free(expected);
    return status;
}

/* The last points are sustained: copy and update of 2 GB. */
static size_t points(const struct mfu_bench *b)
{
    return KINDS * (b->quick ? COUNT(quick_sizes) : COUNT(sizes)) + (b->quick ? 0 : 2);
}

static int run(struct mfu_bench *bench, size_t point)
{
    const bool sustained = !bench->quick && point >= KINDS * COUNT(sizes);
    struct buffers s = {};
    struct mfu_work work = {launch, &s, 1, sustained};
    struct mfu_timing timing;
    double bytes;

    s.kind = sustained ? (point % 2 ? UPDATE : COPY) : (int)(point % KINDS);
    bytes = sustained ? 2e9 : bench->quick ? quick_sizes[point / KINDS] : sizes[point / KINDS];
    s.n = (size_t)(bytes / arrays[s.kind] / sizeof(float)) / 4 * 4;
    bytes = (double)s.n * arrays[s.kind] * sizeof(float);
    s.c = (float *)mfu_bench_room(bench, (double)s.n * sizeof(float));
    s.a = s.kind == UPDATE ? s.c : (float *)mfu_bench_room(bench, (double)s.n * sizeof(float));
    s.b = s.kind != TRIAD ? s.c : (float *)mfu_bench_room(bench, (double)s.n * sizeof(float));
    if (!s.a || !s.b || !s.c)
        return MFU_SKIPPED;
    if (mfu_bench_normal(bench, s.a, (double)s.n, MFU_FP32, 1, 1) < 0
        || mfu_bench_normal(bench, s.b, (double)s.n, MFU_FP32, 1, 2) < 0
        || mfu_bench_measure(bench, &work, &timing) < 0)
        return -1;
    return mfu_bench_record(bench, &timing, "probe: stream, kind: %s, bytes: %.0f, warm: 1", kind_names[s.kind], bytes);
}

MFU_PROBE(memory) = {"memory", "copy, triad and update, 1 MB to 4 GB", NULL, points, check, run};
