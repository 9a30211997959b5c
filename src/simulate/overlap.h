/*
 * overlap.h - how long a step is with its communication.
 *
 * Walks once through the program as it is counted, with the clocks of the
 * streams and of the host: kernels wait for what they need, collectives for what is before
 * them, and slow down what they run beside.  The host runs ahead within a pass; no kernel has
 * ended before it is launched.  Whatever gets shorter, no clock is later for it.  Of layers that
 * stand for several, the first few are walked and the rest extrapolated, and so of micro-steps.
 */
#ifndef MFU_OVERLAP_H
#define MFU_OVERLAP_H

#include "cost/cost.h"
#include "graph/program.h"

/* The host in a pass. */
struct mfu_overlap_host {
    double dispatch_s; /* for each kernel */
    double far_s;      /* of the GPU: what messages between nodes take longer than their bytes */
    bool waits;        /* for the GPU, now and then, as that does for the host */
};

struct mfu_overlap_input {
    const struct mfu_program *program;
    const struct mfu_price *prices; /* of its launches */
    struct mfu_overlap_host hosts[MFU_PHASE_COUNT];
    double contention; /* share of the overlap that kernels lose */
};

/* Seconds of an optimizer step: kernels and host alone, and what communication adds. */
struct mfu_overlap {
    double alone_s, exposed_s;
};

/* Seconds of a pass that is late: host and GPU wait for each other now and then where they take about
 * as long, so that it takes their norm (p = 4). */
double mfu_overlap_late_s(double host_s, double gpu_s);

struct mfu_overlap mfu_overlap_run(const struct mfu_overlap_input *);

#endif
