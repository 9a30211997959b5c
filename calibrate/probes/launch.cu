/*
 * launch.cu - what a kernel costs that does nothing: launched one after the
 * other into a stream, as a graph, and the time that the host spends on it.
 *
 * These points do not go through mfu_bench_measure, which hides just this.
 */
#include "device.cuh"

#include <stdlib.h>
#include <time.h>

#define KERNELS 1000 /* fewer than the driver's queue holds (1024) */
#define REPEATS 31

enum { STREAM, GRAPH, HOST, KINDS };

static const char *const kind_names[KINDS] = {"stream", "graph", "host"};

__global__ static void nothing()
{
}

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int launch_many(struct mfu_bench *b)
{
    for (int i = 0; i < KERNELS; i++)
        if (mfu_launch(b, nothing, dim3(1), 32) < 0)
            return -1;
    return 0;
}

static int make_graph(struct mfu_bench *b, cudaGraphExec_t *exec)
{
    cudaGraph_t graph;

    MFU_CUDA(b, cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeThreadLocal));
    if (launch_many(b) < 0)
        return -1;
    MFU_CUDA(b, cudaStreamEndCapture(b->stream, &graph));
    MFU_CUDA(b, cudaGraphInstantiateWithFlags(exec, graph, 0));
    MFU_CUDA(b, cudaGraphDestroy(graph));
    return 0;
}

/* Seconds of one kernel. */
static int time_once(struct mfu_bench *b, int kind, cudaGraphExec_t graph, cudaEvent_t start, cudaEvent_t stop,
                     double *seconds)
{
    float ms = 0;
    double host = now_s();

    MFU_CUDA(b, cudaEventRecord(start, b->stream));
    if (kind == GRAPH)
        MFU_CUDA(b, cudaGraphLaunch(graph, b->stream));
    else if (launch_many(b) < 0)
        return -1;
    host = now_s() - host;
    MFU_CUDA(b, cudaEventRecord(stop, b->stream));
    MFU_CUDA(b, cudaEventSynchronize(stop));
    MFU_CUDA(b, cudaEventElapsedTime(&ms, start, stop));
    *seconds = (kind == HOST ? host : ms * 1e-3) / KERNELS;
    return 0;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

static size_t points(const struct mfu_bench *)
{
    return KINDS;
}

static int run(struct mfu_bench *b, size_t kind)
{
    struct mfu_timing timing = {};
    cudaGraphExec_t graph = NULL;
    cudaEvent_t start, stop;
    double value[REPEATS];

    MFU_CUDA(b, cudaEventCreate(&start));
    MFU_CUDA(b, cudaEventCreate(&stop));
    if (kind == GRAPH && make_graph(b, &graph) < 0)
        return -1;
    for (int i = -3; i < REPEATS; i++) /* three to warm up */
        if (time_once(b, (int)kind, graph, start, stop, &value[i < 0 ? 0 : i]) < 0)
            return -1;
    if (graph)
        MFU_CUDA(b, cudaGraphExecDestroy(graph));
    MFU_CUDA(b, cudaEventDestroy(start));
    MFU_CUDA(b, cudaEventDestroy(stop));
    qsort(value, REPEATS, sizeof value[0], ascending);
    timing.seconds = value[REPEATS / 2];
    timing.spread = (value[3 * REPEATS / 4] - value[REPEATS / 4]) / timing.seconds;
    return mfu_bench_record(b, &timing, "probe: launch, kind: %s, kernels: %d", kind_names[kind], KERNELS);
}

MFU_PROBE(launch) = {"launch", "empty kernels: in a stream, in a graph, and the host's share", NULL, points, NULL, run};
