/*
 * kineto.h - traces of PyTorch's profiler: the kernels of one step, and why the GPU
 * stood still between them.
 *
 * Chrome's trace format as kineto writes it (libkineto/src/output_json.cpp and
 * ActivityType.cpp at 002d9919): complete events ("ph": "X") with microseconds; `cat`
 * kernel, gpu_memcpy, gpu_memset on the GPU; cuda_runtime, cuda_driver, cpu_op and
 * user_annotation on the host.  A kernel has the operation that launched it by
 * args["External id"] and the launch itself by args["correlation"].
 */
#ifndef MFU_KINETO_H
#define MFU_KINETO_H

#include <stdbool.h>

#include "answer/validate/align_kernels.h"
#include "base/arena.h"

struct mfu_error;

enum mfu_gap_cause {
    MFU_GAP_LOADER,  /* the host waits for a batch */
    MFU_GAP_SYNC,    /* it waited for the GPU, and starts again from nothing */
    MFU_GAP_HOST,    /* it comes late with the next launch */
    MFU_GAP_LAUNCH,  /* launched in time; between two kernels */
    MFU_GAP_EXPOSED, /* no gap: collectives run, and nothing beside them */
    MFU_GAP_COUNT
};

struct mfu_kineto {
    struct mfu_arena arena;          /* of the texts */
    struct mfu_seen_kernel *kernels; /* of the last whole step, as they began */
    size_t n;
    double step_s, busy_s; /* of that step on the GPU, from the end of the one before; with a kernel running */
    double gap_s[MFU_GAP_COUNT], gap_n[MFU_GAP_COUNT];
    long steps;      /* in the trace, marked by ProfilerStep; 0: none, all of it is one */
    bool on_cpu;     /* no GPU was there: kernels are operations that call no other, and there are no gaps */
    char device[96]; /* "" */
};

/* -1 with `err`: no such file, no JSON (with the line), no trace of PyTorch's.  Release it in any case. */
int mfu_kineto_read(const char *path, struct mfu_kineto *, struct mfu_error *err);
void mfu_kineto_release(struct mfu_kineto *);

#endif
