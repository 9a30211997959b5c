/*
 * collective.c - all-reduce, all-gather and reduce-scatter with NCCL.
 *
 * Alone, this process drives all GPUs of the machine, 2, 4, 8 ... of them.
 * Started once per GPU by a launcher, on one machine or several, each process
 * drives its own (ranks.h).
 *
 * `bytes` is the size of the whole buffer, as nccl-tests counts it: what is
 * reduced, what all have after a gather, what is scattered.  Timed by the host
 * over many calls in a row; the slowest process counts.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "nccl.h"

#define MOST_GPUS 16 /* of one process */
#define REPEATS 9
#define LEAST_S 0.02   /* of calls in a row */
#define PATIENCE_S 120 /* until all processes have come */

enum { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, KINDS };

static const char *const kind_names[KINDS] = {"all_reduce", "all_gather", "reduce_scatter"};
static const double sizes[] = {32e3, 1e6, 16e6, 64e6, 256e6, 1e9};
static const int least_gpus = 2;

#define SIZES (sizeof sizes / sizeof sizes[0])

/* The GPUs that talk to each other, and those of them that are ours. */
struct world {
    struct mfu_nccl nccl;
    int gpus, own;
    bool joint; /* of several processes */
    mfu_nccl_comm communicator[MOST_GPUS];
    cudaStream_t stream[MOST_GPUS];
    void *from[MOST_GPUS], *to[MOST_GPUS];
    double *verdict; /* on the device: what the processes agree on */
};

static int gpu_count(void)
{
    int count = 0;

    cudaGetDeviceCount(&count);
    return count < MOST_GPUS ? count : MOST_GPUS;
}

static const char *skip(const struct mfu_bench *b)
{
    struct mfu_nccl n;

    if (b->ranks.size < least_gpus && gpu_count() < least_gpus)
        return "needs two GPUs";
    if (mfu_nccl_open(&n) < 0)
        return "libnccl.so.2 was not found";
    mfu_nccl_close(&n);
    return NULL;
}

/* Worlds of 2, 4, 8 ... and all GPUs; over several processes one, of all. */
static size_t worlds(const struct mfu_bench *b, int *gpus)
{
    const int count = gpu_count();
    size_t n = 0;

    for (int g = least_gpus; g < count && b->ranks.size <= 1; g *= 2)
        gpus[n++] = g;
    gpus[n++] = b->ranks.size > 1 ? b->ranks.size : count;
    return n;
}

static size_t points(const struct mfu_bench *b)
{
    int gpus[MOST_GPUS];

    return worlds(b, gpus);
}

/* ---- timing -------------------------------------------------------------- */

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int call(struct mfu_bench *b, const struct world *w, int kind, size_t bytes)
{
    const size_t all = bytes / 2 / (size_t)w->gpus * (size_t)w->gpus; /* bf16 elements */
    const size_t share = all / (size_t)w->gpus;
    int failed = w->nccl.start();

    for (int i = 0; i < w->own && !failed; i++) {
        const void *from = w->from[i];
        void *to = w->to[i];

        if (kind == ALL_REDUCE)
            failed = w->nccl.all_reduce(from, to, all, MFU_NCCL_BF16, MFU_NCCL_SUM, w->communicator[i], w->stream[i]);
        else if (kind == ALL_GATHER)
            failed = w->nccl.all_gather(from, to, share, MFU_NCCL_BF16, w->communicator[i], w->stream[i]);
        else
            failed =
                w->nccl.reduce_scatter(from, to, share, MFU_NCCL_BF16, MFU_NCCL_SUM, w->communicator[i], w->stream[i]);
    }
    failed = w->nccl.end() || failed;
    return failed ? mfu_bench_fail(b, "NCCL failed at %s of %zu bytes", kind_names[kind], bytes) : 0;
}

static int wait_for_all(struct mfu_bench *b, const struct world *w)
{
    for (int i = 0; i < w->own; i++)
        MFU_CUDA(b, cudaStreamSynchronize(w->stream[i]));
    return 0;
}

/* The longest time of all processes, and whether any was interrupted: each must
 * do the same next, or the others wait for ever. */
static int agree(struct mfu_bench *b, const struct world *w, double *seconds)
{
    double verdict[2] = {*seconds, mfu_interrupted};

    if (w->joint) {
        MFU_CUDA(b, cudaMemcpy(w->verdict, verdict, sizeof verdict, cudaMemcpyHostToDevice));
        if (w->nccl.all_reduce(w->verdict, w->verdict, 2, MFU_NCCL_FLOAT64, MFU_NCCL_MAX, w->communicator[0],
                               w->stream[0]))
            return mfu_bench_fail(b, "NCCL failed at an exchange between the processes");
        MFU_CUDA(b, cudaStreamSynchronize(w->stream[0]));
        MFU_CUDA(b, cudaMemcpy(verdict, w->verdict, sizeof verdict, cudaMemcpyDeviceToHost));
    }
    *seconds = verdict[0];
    return verdict[1] > 0 ? mfu_bench_fail(b, "interrupted") : 0;
}

/* Seconds of one call, from `n` in a row. */
static int time_calls(struct mfu_bench *b, const struct world *w, int kind, size_t bytes, int n, double *seconds)
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
    return agree(b, w, seconds);
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

/* ---- the world ----------------------------------------------------------- */

/* One communicator for this process, through the others' first rank. */
static int join(struct mfu_bench *b, struct world *w)
{
    struct mfu_nccl_id id = {{0}};
    char why[sizeof b->error];

    if (b->ranks.rank == 0 && w->nccl.new_id(&id) != 0)
        return mfu_bench_fail(b, "NCCL could not start");
    if (mfu_ranks_meet(&b->ranks, &id, sizeof id, PATIENCE_S, &mfu_interrupted, why, sizeof why) < 0)
        return mfu_bench_fail(b, "%s", why);
    if (w->nccl.init_rank(&w->communicator[0], w->gpus, id, b->ranks.rank) != 0)
        return mfu_bench_fail(b, "NCCL could not start among %d processes", w->gpus);
    mfu_ranks_part(&b->ranks);
    return 0;
}

static int start_nccl(struct mfu_bench *b, struct world *w, const int *device)
{
    if (w->joint)
        return join(b, w);
    if (w->nccl.init_all(w->communicator, w->gpus, device) != 0)
        return mfu_bench_fail(b, "NCCL could not start on %d GPUs", w->gpus);
    return 0;
}

/* This bench's own GPU comes first; its buffers lie beside the others'. */
static int open_world(struct mfu_bench *b, struct world *w, int gpus, size_t bytes)
{
    int device[MOST_GPUS];
    int n = 0;

    w->gpus = gpus;
    w->joint = b->ranks.size > 1;
    w->own = w->joint ? 1 : gpus;
    if (mfu_nccl_open(&w->nccl) < 0)
        return mfu_bench_fail(b, "libnccl.so.2 was not found");
    device[n++] = b->device;
    for (int i = 0; n < w->own; i++)
        if (i != b->device)
            device[n++] = i;
    for (int i = 0; i < w->own; i++) {
        MFU_CUDA(b, cudaSetDevice(device[i]));
        MFU_CUDA(b, cudaStreamCreate(&w->stream[i]));
        if (cudaMalloc(&w->from[i], bytes) != cudaSuccess || cudaMalloc(&w->to[i], bytes) != cudaSuccess) {
            cudaGetLastError();
            return w->joint ? mfu_bench_fail(b, "two buffers of %zu bytes do not fit", bytes) : MFU_SKIPPED;
        }
        MFU_CUDA(b, cudaMemset(w->from[i], 1, bytes));
    }
    MFU_CUDA(b, cudaSetDevice(b->device));
    MFU_CUDA(b, cudaMalloc((void **)&w->verdict, 2 * sizeof *w->verdict));
    return start_nccl(b, w, device);
}

static void close_world(struct mfu_bench *b, struct world *w)
{
    for (int i = 0; i < w->own; i++) {
        if (w->communicator[i])
            w->nccl.destroy(w->communicator[i]);
        if (w->stream[i])
            cudaStreamDestroy(w->stream[i]);
        cudaFree(w->from[i]);
        cudaFree(w->to[i]);
    }
    cudaFree(w->verdict);
    mfu_nccl_close(&w->nccl);
    cudaSetDevice(b->device);
}

/* A point is a world with all collectives and sizes: starting NCCL takes
 * seconds. */
static int run(struct mfu_bench *b, size_t point)
{
    int gpus[MOST_GPUS];
    struct world w = {0};
    struct mfu_timing timing;
    int status;

    worlds(b, gpus);
    status = open_world(b, &w, gpus[point], (size_t)sizes[SIZES - 1]);
    for (size_t i = 0; i < SIZES * KINDS && status == 0; i++) {
        const int kind = (int)(i / SIZES);
        const size_t bytes = (size_t)sizes[i % SIZES];

        status = measure(b, &w, kind, bytes, &timing);
        if (status == 0)
            status = mfu_bench_record(b, &timing, "probe: %s, gpus: %d, nodes: %d, bytes: %zu", kind_names[kind],
                                      w.gpus, b->ranks.nodes, bytes);
    }
    close_world(b, &w);
    return status;
}

MFU_PROBE(collective) = {
    .name = "collective",
    .summary = "all-reduce, all-gather, reduce-scatter over the GPUs of this machine, or over a launcher's processes",
    .joint = true,
    .skip = skip,
    .points = points,
    .run = run,
};
