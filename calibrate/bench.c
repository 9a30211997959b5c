/*
 * bench.c - timing as bench.h describes it, memory, and the list of samples.
 */
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nvml.h"

#define REPEATS 4096 /* most that are kept */
#define LEAST_REPEATS 7
#define CALM 0.01 /* spread, and change of clock and power, that is small enough */
#define EVENTS_APART_S 1e-3
#define SUSTAINED_APART_S 20e-3 /* so that waiting for the events gives no rest */
#define WARM_UP_S 0.05
#define PATIENCE_S 0.6 /* for the spread to become small */
#define QUICK_PATIENCE_S 0.2
#define WINDOW_S 1.0
#define SETTLE_LEAST_S 5.0
#define SETTLE_MOST_S 15.0
#define MOST_LAUNCHES 1000 /* in one graph */
#define MOST_SETS 512
#define SENSORS_BUSY_S 0.03 /* work queued while NVML is asked */

const char *const mfu_dtype_names[MFU_DTYPES] = {
    [MFU_FP32] = "fp32", [MFU_TF32] = "tf32", [MFU_FP16] = "fp16", [MFU_BF16] = "bf16", [MFU_FP8] = "fp8"};

volatile int mfu_interrupted;

size_t mfu_dtype_size(enum mfu_dtype dtype)
{
    return dtype == MFU_FP8 ? 1 : dtype == MFU_FP16 || dtype == MFU_BF16 ? 2 : 4;
}

int mfu_bench_cuda(struct mfu_bench *b, cudaError_t status, const char *call)
{
    if (status == cudaSuccess)
        return 0;
    return mfu_bench_fail(b, "%s (%.*s)", cudaGetErrorString(status), (int)strcspn(call, "("), call);
}

/* Memory. */

void *mfu_bench_room(struct mfu_bench *b, double bytes)
{
    void *p = b->room + b->room_used;

    if (bytes > (double)(b->room_size - b->room_used)) {
        mfu_bench_fail(b, "%.1f GB more do not fit into the GPU's memory", bytes / 1e9);
        return NULL;
    }
    b->room_used += ((size_t)bytes + 255) / 256 * 256;
    if (b->room_used > b->room_size)
        b->room_used = b->room_size;
    return p;
}

void mfu_bench_clear(struct mfu_bench *b)
{
    b->room_used = 0;
}

int mfu_bench_sets(const struct mfu_bench *b, double bytes)
{
    double padded = bytes + 4096;
    double sets = floor(2.0 * b->gpu.l2CacheSize / bytes) + 1;

    sets = fmin(sets, floor((double)(b->room_size - b->room_used) / padded));
    return sets < 1 ? 1 : sets > MOST_SETS ? MOST_SETS : (int)sets;
}

int mfu_bench_upload(struct mfu_bench *b, void *to, const void *from, size_t bytes)
{
    MFU_CUDA(b, cudaStreamSynchronize(b->stream));
    MFU_CUDA(b, cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    return 0;
}

int mfu_bench_download(struct mfu_bench *b, void *to, const void *from, size_t bytes)
{
    MFU_CUDA(b, cudaStreamSynchronize(b->stream));
    MFU_CUDA(b, cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
    return 0;
}

int mfu_bench_zero(struct mfu_bench *b, void *to, size_t bytes)
{
    MFU_CUDA(b, cudaMemsetAsync(to, 0, bytes, b->stream));
    return 0;
}

/* Timing. */

/* A row of launches between two events: a graph, or launches one by one where
 * they cannot be captured. */
struct row {
    const struct mfu_work *work;
    int launches;
    cudaGraphExec_t graph; /* NULL: one by one */
    cudaEvent_t start, stop;
};

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int launch_each(struct mfu_bench *b, const struct row *r)
{
    for (int i = 0; i < r->launches; i++)
        if (r->work->launch(b, r->work->arg, i % r->work->sets) < 0)
            return -1;
    return 0;
}

static int launch_row(struct mfu_bench *b, const struct row *r)
{
    if (!r->graph)
        return launch_each(b, r);
    MFU_CUDA(b, cudaGraphLaunch(r->graph, b->stream));
    return 0;
}

/* Seconds of one launch, from one row. */
static int time_row(struct mfu_bench *b, const struct row *r, double *seconds)
{
    float ms = 0;

    MFU_CUDA(b, cudaEventRecord(r->start, b->stream));
    if (launch_row(b, r) < 0)
        return -1;
    MFU_CUDA(b, cudaEventRecord(r->stop, b->stream));
    MFU_CUDA(b, cudaEventSynchronize(r->stop));
    MFU_CUDA(b, cudaEventElapsedTime(&ms, r->start, r->stop));
    *seconds = ms * 1e-3 / r->launches;
    return mfu_interrupted ? mfu_bench_fail(b, "interrupted") : 0;
}

/* Captures the row; where that is not possible it stays without a graph. */
static int capture(struct mfu_bench *b, struct row *r)
{
    cudaGraph_t graph = NULL;
    int launched;

    if (cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
        cudaGetLastError();
        return 0;
    }
    launched = launch_each(b, r);
    if (cudaStreamEndCapture(b->stream, &graph) != cudaSuccess || launched < 0
        || cudaGraphInstantiateWithFlags(&r->graph, graph, 0) != cudaSuccess)
        r->graph = NULL;
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError();
    if (r->graph)
        MFU_CUDA(b, cudaGraphUpload(r->graph, b->stream));
    return 0;
}

/* How many launches lie between the events: whole rounds of the sets if those
 * are not too long. */
static int size_row(struct mfu_bench *b, struct row *r)
{
    const double apart = r->work->sustained ? SUSTAINED_APART_S : EVENTS_APART_S;
    double seconds;

    r->launches = r->work->sets;
    for (int i = 0; i < 2; i++) /* the first time loads kernels */
        if (time_row(b, r, &seconds) < 0)
            return -1;
    if (seconds * r->launches < apart) {
        double rounds = ceil(apart / (seconds * r->launches));

        r->launches = (int)fmin(rounds * r->launches, fmax(MOST_LAUNCHES, r->launches));
    }
    return 0;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the values. */
static void summarise(double *value, size_t n, struct mfu_timing *t)
{
    qsort(value, n, sizeof *value, ascending);
    t->seconds = n % 2 ? value[n / 2] : (value[n / 2 - 1] + value[n / 2]) / 2;
    t->spread = n < 4 ? (value[n - 1] - value[0]) / t->seconds : (value[(3 * n) / 4] - value[n / 4]) / t->seconds;
}

static int read_sensors(struct mfu_bench *b, const struct row *r, double seconds, struct mfu_sensors *sensors)
{
    int rows = (int)fmin(ceil(SENSORS_BUSY_S / (seconds * r->launches)), 100);

    if (!b->nvml)
        return 0;
    for (int i = 0; i < rows; i++)
        if (launch_row(b, r) < 0)
            return -1;
    *sensors = mfu_nvml_read(b->nvml);
    MFU_CUDA(b, cudaStreamSynchronize(b->stream));
    return 0;
}

static int measure_short(struct mfu_bench *b, const struct row *r, double *value, struct mfu_timing *t)
{
    double patience = b->quick ? QUICK_PATIENCE_S : PATIENCE_S;
    double seconds = 0;
    double sorted[REPEATS];
    size_t n = 0;

    for (double start = now_s(); now_s() < start + WARM_UP_S;)
        if (time_row(b, r, &seconds) < 0)
            return -1;
    for (double start = now_s(); n < REPEATS;) {
        if (time_row(b, r, &value[n++]) < 0)
            return -1;
        if (n < 3 || (n < LEAST_REPEATS && now_s() < start + patience))
            continue;
        memcpy(sorted, value, n * sizeof *value);
        summarise(sorted, n, t);
        if (t->spread < CALM || now_s() >= start + patience)
            break;
    }
    return read_sensors(b, r, t->seconds, &t->sensors);
}

static bool settled(struct mfu_sensors a, struct mfu_sensors b)
{
    return fabs(a.clock_mhz - b.clock_mhz) <= CALM * a.clock_mhz && fabs(a.power_w - b.power_w) <= CALM * a.power_w;
}

static int measure_sustained(struct mfu_bench *b, const struct row *r, double *value, struct mfu_timing *t)
{
    const double start = now_s();
    struct mfu_sensors before = {0};

    for (;;) {
        const double window = now_s();
        size_t n = 0;

        do {
            if (time_row(b, r, &value[n]) < 0)
                return -1;
            n++;
        } while (n < REPEATS && now_s() < window + WINDOW_S);
        summarise(value, n, t);
        if (read_sensors(b, r, t->seconds, &t->sensors) < 0)
            return -1;
        if (now_s() > start + SETTLE_MOST_S || (now_s() > start + SETTLE_LEAST_S && settled(before, t->sensors)))
            break;
        before = t->sensors;
    }
    t->sustained = true;
    return 0;
}

int mfu_bench_measure(struct mfu_bench *b, const struct mfu_work *work, struct mfu_timing *t)
{
    struct row r = {.work = work};
    double *value = malloc(REPEATS * sizeof *value);
    int status = -1;

    *t = (struct mfu_timing){0};
    if (!value) {
        mfu_bench_fail(b, "out of memory");
        goto done;
    }
    if (mfu_bench_cuda(b, cudaEventCreate(&r.start), "cudaEventCreate") < 0
        || mfu_bench_cuda(b, cudaEventCreate(&r.stop), "cudaEventCreate") < 0)
        goto done;
    if (size_row(b, &r) < 0 || capture(b, &r) < 0)
        goto done;
    status = work->sustained ? measure_sustained(b, &r, value, t) : measure_short(b, &r, value, t);
done:
    if (r.graph)
        cudaGraphExecDestroy(r.graph);
    if (r.start)
        cudaEventDestroy(r.start);
    if (r.stop)
        cudaEventDestroy(r.stop);
    free(value);
    return status;
}

/* Samples. */

int mfu_bench_keep(struct mfu_bench *b, const char *line)
{
    if (b->n_samples == b->cap_samples) {
        size_t want = b->cap_samples ? 2 * b->cap_samples : 256;
        char **more = realloc(b->samples, want * sizeof *more);

        if (!more)
            return mfu_bench_fail(b, "out of memory");
        b->samples = more;
        b->cap_samples = want;
    }
    b->samples[b->n_samples] = strdup(line);
    if (!b->samples[b->n_samples])
        return mfu_bench_fail(b, "out of memory");
    b->n_samples++;
    return 0;
}

int mfu_bench_record(struct mfu_bench *b, const struct mfu_timing *t, const char *format, ...)
{
    char line[768];
    va_list args;
    size_t n;

    va_start(args, format);
    n = (size_t)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    n += (size_t)snprintf(line + n, sizeof line - n, ", seconds: %.6g, spread: %.2f%%", t->seconds, 100 * t->spread);
    if (t->sensors.clock_mhz > 0)
        n += (size_t)snprintf(line + n, sizeof line - n, ", clock_mhz: %.0f, power_w: %.0f, temperature_c: %.0f",
                              t->sensors.clock_mhz, t->sensors.power_w, t->sensors.temperature_c);
    snprintf(line + n, sizeof line - n, ", sustained: %d", t->sustained);
    return mfu_bench_keep(b, line);
}
