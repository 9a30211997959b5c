/*
 * overlap.h - how much longer a step is for its communication, without a host.
 *
 * Walks once through the program as it is counted, with the clocks of the
 * streams: kernels wait for what they need, collectives for what is before
 * them, and slow down what they run beside.  Of layers that stand for several,
 * the first few are walked and the rest extrapolated, and so of micro-steps.
 */
#ifndef MFU_OVERLAP_H
#define MFU_OVERLAP_H

#include "cost/cost.h"
#include "graph/program.h"

struct mfu_overlap_input {
    const struct mfu_program *program;
    const struct mfu_price *prices;  /* of its launches */
    double stretch[MFU_PHASE_COUNT]; /* of a phase's kernels, where the host is slower than they are */
    double contention;               /* share of the overlap that kernels lose */
};

/* Seconds that communication adds to an optimizer step. */
double mfu_overlap_exposed_s(const struct mfu_overlap_input *);

#endif
