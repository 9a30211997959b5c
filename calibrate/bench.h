/*
 * bench.h - what a probe stands on: memory, timing, and a list of samples.
 *
 * A probe is a list of points, each one kernel (or a short row of kernels) at
 * one size.  It neither prints nor fits nor reads options: it launches work,
 * has it timed, and records a sample.
 *
 * How everything is timed, said once:
 *
 *   - The work is launched `inner` times between two CUDA events, through a
 *     CUDA graph where it can be captured, so that the launch does not count;
 *     `inner` grows until the events are 1 ms apart (sustained: 20 ms).
 *   - Consecutive launches work on different buffers, together larger than
 *     twice the L2 cache (struct mfu_work.sets), so that each begins cold.
 *   - Buffers hold random-normal numbers: zeros would save power and flatter.
 *   - After a warm-up this repeats until the spread (interquartile range over
 *     median) is below 1 % or the time is up; the median is the result.
 *   - Sustained: repeats for at least 5 s, on until clock and power of two
 *     consecutive seconds agree within 1 %, at most 15 s; the result is the
 *     median of the last second.
 *   - Clock, power and temperature are read through NVML while the GPU works.
 */
#ifndef MFU_BENCH_H
#define MFU_BENCH_H

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MFU_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define MFU_PRINTF(f, a)
#endif

struct mfu_blas;
struct mfu_nvml;

enum mfu_dtype { MFU_FP32, MFU_TF32, MFU_FP16, MFU_BF16, MFU_FP8, MFU_DTYPES };

/* "fp32", "tf32", ... and the bytes of one element in memory. */
extern const char *const mfu_dtype_names[MFU_DTYPES];
size_t mfu_dtype_size(enum mfu_dtype);

/* One line of --shapes: the result is m x n, the inner dimension k. */
struct mfu_shape {
    int m, n, k;
    enum mfu_dtype dtype;
};

/* What NVML says while the GPU works; 0 where it does not say. */
struct mfu_sensors {
    double clock_mhz, power_w, temperature_c;
};

struct mfu_timing {
    double seconds; /* median, of one launch */
    double spread;  /* interquartile range / median */
    struct mfu_sensors sensors;
    bool sustained;
};

struct mfu_bench {
    int device; /* CUDA's number */
    struct cudaDeviceProp gpu;
    cudaStream_t stream;
    struct mfu_blas *blas;
    struct mfu_nvml *nvml;  /* NULL: no libnvidia-ml */
    struct mfu_ranks ranks; /* the other processes */
    bool quick;
    const struct mfu_shape *shapes; /* of the scenario, may be none */
    size_t n_shapes;

    char *room; /* device memory that points share out */
    size_t room_size, room_used;

    const char *probe; /* which is running */
    char **samples;    /* finished lines of YAML */
    size_t n_samples, cap_samples;
    char
        complete[256]; /* names of the probes whose points are all among the first n_complete samples: " gemm memory" */
    size_t n_complete;
    char error[512]; /* why something returned -1 */
};

/* What C++ needs so that an initialiser may leave the member out, as in C. */
#ifdef __cplusplus
#define MFU_FALSE = false
#else
#define MFU_FALSE
#endif

#define MFU_SKIPPED 1 /* a point that does not fit here; no sample */

struct mfu_probe {
    const char *name;    /* as in --probe, its file and its symbol */
    const char *summary; /* for --list */
    /* NULL if it can run here, else why not: "needs two GPUs". */
    const char *(*skip)(const struct mfu_bench *);
    size_t (*points)(const struct mfu_bench *);
    /* Compares the kernels with a CPU reference: 0, or -1 and b->error.  NULL:
     * there is nothing of ours to check. */
    int (*check)(struct mfu_bench *);
    /* Measures one point: 0, -1 with b->error, or MFU_SKIPPED. */
    int (*run)(struct mfu_bench *, size_t point);
    bool joint MFU_FALSE; /* several processes measure it together */
};

/* Defines a probe with C linkage: `MFU_PROBE(gemm) = {...};` */
#ifdef __cplusplus
#define MFU_PROBE(name)                                                                                                \
    extern "C" const struct mfu_probe mfu_probe_##name;                                                                \
    const struct mfu_probe mfu_probe_##name
#else
#define MFU_PROBE(name) const struct mfu_probe mfu_probe_##name
#endif

extern const struct mfu_probe *const mfu_probes[];
extern const size_t mfu_probe_count;

/* Work to be timed. */
struct mfu_work {
    /* Launches it once on the bench's stream, on buffers number `set`: 0 or -1. */
    int (*launch)(struct mfu_bench *, void *arg, int set);
    void *arg;
    int sets; /* buffers to rotate through, at least 1 */
    bool sustained;
};

/* Times it as described above: 0, or -1 (also when interrupted). */
int mfu_bench_measure(struct mfu_bench *, const struct mfu_work *, struct mfu_timing *);

/* How many sets of `bytes` exceed twice the L2 cache, and fit. */
int mfu_bench_sets(const struct mfu_bench *, double bytes);

/* Device memory until the next point begins, aligned to 256 bytes; NULL, and
 * b->error, if it does not fit. */
void *mfu_bench_room(struct mfu_bench *, double bytes);
void mfu_bench_clear(struct mfu_bench *);

/* `n` normal numbers of mean 0 and deviation `scale`, the same every time for
 * the same seed, written on the device as that type. */
int mfu_bench_normal(struct mfu_bench *, void *to, double n, enum mfu_dtype, float scale, unsigned seed);

/* Waits until the stream is idle, then copies. */
int mfu_bench_upload(struct mfu_bench *, void *to, const void *from, size_t bytes);
int mfu_bench_download(struct mfu_bench *, void *to, const void *from, size_t bytes);
int mfu_bench_zero(struct mfu_bench *, void *to, size_t bytes);

/* Records a sample: `format` gives the probe's own fields ("probe: stream,
 * kind: copy, bytes: 2e9"), the timing is added. */
int mfu_bench_record(struct mfu_bench *, const struct mfu_timing *, const char *format, ...) MFU_PRINTF(3, 4);

/* Adds a sample that is a finished line: 0, or -1 and b->error. */
int mfu_bench_keep(struct mfu_bench *, const char *line);

/* Fills b->error; returns -1. */
int mfu_bench_fail(struct mfu_bench *, const char *format, ...) MFU_PRINTF(2, 3);

/* 0 if the CUDA call went well; otherwise says which did not. */
int mfu_bench_cuda(struct mfu_bench *, cudaError_t, const char *call);
#define MFU_CUDA(b, call)                                                                                              \
    do {                                                                                                               \
        if (mfu_bench_cuda((b), (call), #call) < 0)                                                                    \
            return -1;                                                                                                 \
    } while (0)

/* Set by Ctrl-C; the bench stops at the next repeat. */
extern volatile int mfu_interrupted;

#ifdef __cplusplus
}
#endif
#endif
