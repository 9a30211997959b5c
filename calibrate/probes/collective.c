/*
 * collective.c - all-reduce, all-gather and reduce-scatter over all GPUs of
 * this process, with NCCL loaded at run time.
 *
 * `bytes` is the size of the whole buffer, as nccl-tests counts it: what is
 * reduced, what all have after a gather, what is scattered.  Timed by the host
 * over many calls in a row.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

#define MOST_GPUS 16
#define REPEATS 9
#define LEAST_S 0.02            /* of calls in a row */

enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, KINDS };
enum { NCCL_BF16 = 9, NCCL_SUM = 0 };

static const char *const kind_names[KINDS] = {"all_reduce", "all_gather", "reduce_scatter"};
static const double sizes[] = {32e3, 1e6, 16e6, 64e6, 256e6, 1e9};
static const int least_gpus = 2;

#define SIZES (sizeof sizes / sizeof sizes[0])

/* The declarations of nccl.h that we need, unchanged since NCCL 2.10. */
struct nccl {
    void *library;
    int (*init)(void **, int, const int *);
    int (*destroy)(void *);
    int (*start)(void);
    int (*end)(void);
    int (*all_reduce)(const void *, void *, size_t, int, int, void *, cudaStream_t);
    int (*all_gather)(const void *, void *, size_t, int, void *, cudaStream_t);
    int (*reduce_scatter)(const void *, void *, size_t, int, int, void *, cudaStream_t);
};

struct world {
    struct nccl nccl;
    int gpus;
    void *communicator[MOST_GPUS];
    cudaStream_t stream[MOST_GPUS];
    void *from[MOST_GPUS], *to[MOST_GPUS];
};

static int open_nccl(struct nccl *n)
{
    memset(n, 0, sizeof *n);
    n->library = dlopen("libnccl.so.2", RTLD_NOW);
    if (!n->library)
        return -1;
    *(void **)&n->init = dlsym(n->library, "ncclCommInitAll");
    *(void **)&n->destroy = dlsym(n->library, "ncclCommDestroy");
    *(void **)&n->start = dlsym(n->library, "ncclGroupStart");
    *(void **)&n->end = dlsym(n->library, "ncclGroupEnd");
    *(void **)&n->all_reduce = dlsym(n->library, "ncclAllReduce");
    *(void **)&n->all_gather = dlsym(n->library, "ncclAllGather");
    *(void **)&n->reduce_scatter = dlsym(n->library, "ncclReduceScatter");
    if (n->init && n->destroy && n->start && n->end && n->all_reduce && n->all_gather && n->reduce_scatter)
        return 0;
    dlclose(n->library);
    return -1;
}

static int gpu_count(void)
{
    int count = 0;

    cudaGetDeviceCount(&count);
    return count < MOST_GPUS ? count : MOST_GPUS;
}

static const char *skip(const struct mfu_bench *b)
{
    struct nccl n;

    (void)b;
    if (gpu_count() < least_gpus)
        return "needs two GPUs";
    if (open_nccl(&n) < 0)
        return "libnccl.so.2 was not found";
    dlclose(n.library);
    return NULL;
}

/* Worlds of 2, 4, 8 ... and all GPUs. */
static size_t worlds(int *gpus)
{
    const int count = gpu_count();
    size_t n = 0;

    for (int g = least_gpus; g < count; g *= 2)
        gpus[n++] = g;
    gpus[n++] = count;
    return n;
}

static size_t points(const struct mfu_bench *b)
{
    int gpus[MOST_GPUS];

    (void)b;
    return worlds(gpus) * KINDS;
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int call(struct mfu_bench *b, const struct world *w, int kind, size_t bytes)
{
    const size_t all = bytes / 2 / (size_t)w->gpus * (size_t)w->gpus;   /* bf16 elements */
    const size_t own = all / (size_t)w->gpus;
    int failed = w->nccl.start();

    for (int i = 0; i < w->gpus && !failed; i++) {
        if (kind == ALL_REDUCE)
            failed = w->nccl.all_reduce(w->from[i], w->to[i], all, NCCL_BF16, NCCL_SUM, w->communicator[i],
                                        w->stream[i]);
        else if (kind == ALL_GATHER)
            failed =
                w->nccl.all_gather(w->from[i], w->to[i], own, NCCL_BF16, w->communicator[i], w->stream[i]);
        else
            failed = w->nccl.reduce_scatter(w->from[i], w->to[i], own, NCCL_BF16, NCCL_SUM,
                                            w->communicator[i], w->stream[i]);
    }
    failed = w->nccl.end() || failed;
    return failed ? mfu_bench_fail(b, "NCCL failed at %s of %zu bytes", kind_names[kind], bytes) : 0;
}

static int wait_for_all(struct mfu_bench *b, const struct world *w)
{
    for (int i = 0; i < w->gpus; i++)
        MFU_CUDA(b, cudaStreamSynchronize(w->stream[i]));
    return 0;
}

/* Seconds of one call, from `n` in a row. */
static int time_calls(struct mfu_bench *b, const struct world *w, int kind, size_t bytes, int n,
                      double *seconds)
{
    double start;

    if (wait_for_all(b, w) < 0)
        return -1;
    start = now_s();
    for (int i = 0; i < n; i++)
        if (call(b, w, kind, bytes) < 0)
            return -1;
    if (wait_for_all(b, w) < 0)
        return -1;
    *seconds = (now_s() - start) / n;
    return mfu_interrupted ? mfu_bench_fail(b, "interrupted") : 0;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

static int measure(struct mfu_bench *b, const struct world *w, int kind, size_t bytes, struct mfu_timing *t)
{
    double value[REPEATS];
    double once = 0;
    int n;

    for (int i = 0; i < 3; i++)
        if (time_calls(b, w, kind, bytes, 1, &once) < 0)
            return -1;
    n = once > LEAST_S ? 1 : once * 1000 < LEAST_S ? 1000 : (int)(LEAST_S / once) + 1;
    for (int i = 0; i < REPEATS; i++)
        if (time_calls(b, w, kind, bytes, n, &value[i]) < 0)
            return -1;
    qsort(value, REPEATS, sizeof value[0], ascending);
    *t = (struct mfu_timing){.seconds = value[REPEATS / 2]};
    t->spread = (value[3 * REPEATS / 4] - value[REPEATS / 4]) / t->seconds;
    return 0;
}

/* This bench's own GPU comes first; its buffers lie beside the others'. */
static int open_world(struct mfu_bench *b, struct world *w, size_t bytes)
{
    int device[MOST_GPUS];
    int n = 0;

    if (open_nccl(&w->nccl) < 0)
        return mfu_bench_fail(b, "libnccl.so.2 was not found");
    device[n++] = b->device;
    for (int i = 0; n < w->gpus; i++)
        if (i != b->device)
            device[n++] = i;
    for (int i = 0; i < w->gpus; i++) {
        MFU_CUDA(b, cudaSetDevice(device[i]));
        MFU_CUDA(b, cudaStreamCreate(&w->stream[i]));
        if (cudaMalloc(&w->from[i], bytes) != cudaSuccess || cudaMalloc(&w->to[i], bytes) != cudaSuccess) {
            cudaGetLastError();
            return MFU_SKIPPED;
        }
        MFU_CUDA(b, cudaMemset(w->from[i], 1, bytes));
    }
    MFU_CUDA(b, cudaSetDevice(b->device));
    if (w->nccl.init(w->communicator, w->gpus, device) != 0)
        return mfu_bench_fail(b, "NCCL could not start on %d GPUs", w->gpus);
    return 0;
}

static void close_world(struct mfu_bench *b, struct world *w)
{
    for (int i = 0; i < w->gpus; i++) {
        if (w->communicator[i])
            w->nccl.destroy(w->communicator[i]);
        if (w->stream[i])
            cudaStreamDestroy(w->stream[i]);
        cudaFree(w->from[i]);
        cudaFree(w->to[i]);
    }
    if (w->nccl.library)
        dlclose(w->nccl.library);
    cudaSetDevice(b->device);
}

/* A point is a collective at all sizes: starting NCCL takes seconds. */
static int run(struct mfu_bench *b, size_t point)
{
    const int kind = (int)(point % KINDS);
    int gpus[MOST_GPUS];
    struct world w = {0};
    struct mfu_timing timing;
    int status;

    worlds(gpus);
    w.gpus = gpus[point / KINDS];
    status = open_world(b, &w, (size_t)sizes[SIZES - 1]);
    for (size_t i = 0; i < SIZES && status == 0; i++) {
        const size_t bytes = (size_t)sizes[i];

        status = measure(b, &w, kind, bytes, &timing);
        if (status == 0)
            status = mfu_bench_record(b, &timing, "probe: %s, gpus: %d, bytes: %zu", kind_names[kind], w.gpus,
                                      bytes);
    }
    close_world(b, &w);
    return status;
}

MFU_PROBE(collective) = {
    .name = "collective",
    .summary = "all-reduce, all-gather, reduce-scatter over the GPUs of this machine",
    .skip = skip,
    .points = points,
    .run = run,
};
