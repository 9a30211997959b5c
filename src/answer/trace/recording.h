/*
 * recording.h - a step that a profiler recorded: its kernels, and why the GPU stood still
 * between them.
 */
#ifndef MFU_RECORDING_H
#define MFU_RECORDING_H

#include <stdbool.h>

#include "answer/validate/align_kernels.h"
#include "base/arena.h"

enum mfu_gap_cause {
    MFU_GAP_LOADER,  /* the host waits for a batch */
    MFU_GAP_SYNC,    /* it waited for the GPU, and starts again from nothing */
    MFU_GAP_HOST,    /* it comes late with the next launch */
    MFU_GAP_LAUNCH,  /* launched in time; between two kernels */
    MFU_GAP_EXPOSED, /* no gap: collectives run, and nothing beside them */
    MFU_GAP_COUNT
};

struct mfu_recording {
    struct mfu_arena arena;          /* of the texts */
    struct mfu_seen_kernel *kernels; /* of the last whole step, as they began */
    size_t n;
    double step_s, busy_s; /* of that step on the GPU, from the end of the one before; with a kernel running */
    double gap_s[MFU_GAP_COUNT], gap_n[MFU_GAP_COUNT];
    long steps;      /* in the trace that are marked; 0: none, all of it is one */
    bool on_cpu;     /* no GPU was there: kernels are operations that call no other, and there are no gaps */
    char device[96]; /* "" */
};

#endif
