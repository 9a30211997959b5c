/*
 * overlap.h - how long a step is with its communication.
 *
 * Walks once through the program as it is counted, in stretches that no wait interrupts, with the clocks of the
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

/* Launches in a row of one segment that happen in the same micro-steps: those of the compute stream, of which the
 * first may wait; or one of another stream. */
struct mfu_overlap_stretch {
    int first, count;
    enum mfu_phase pass;
    double seconds, way_s, kernels; /* each time; way_s: of collectives in the compute stream */
};

/* A program, cut so. */
struct mfu_overlap_stretches {
    double *seconds; /* of each launch, each time that it happens: 0 where it never does; owned */
    struct mfu_overlap_stretch *list;
    int *begin; /* of each segment, and of one behind the last: in the list */
    int cap_seconds, cap_list, cap_begin;
};

/* Cuts a program that is priced, and adds up its stretches.  False: out of memory. */
bool mfu_overlap_price(struct mfu_overlap_stretches *, const struct mfu_program *, const struct mfu_price *);
/* In two steps: of the same program with several micro-steps, however many they are; from `seconds`, for which there
 * is room. */
bool mfu_overlap_cut(struct mfu_overlap_stretches *, const struct mfu_program *);
void mfu_overlap_sum(struct mfu_overlap_stretches *, const struct mfu_program *);
void mfu_overlap_release(struct mfu_overlap_stretches *);

struct mfu_overlap_input {
    const struct mfu_program *program;
    const struct mfu_overlap_stretches *stretches; /* of it */
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
