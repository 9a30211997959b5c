/*
 * timeline.h - one optimizer step in time: the host that dispatches, the queue,
 * the streams of the GPU.
 *
 * A discrete-event simulation.  The host issues one launch after another, each
 * at its cost; it runs ahead of the GPU by at most the depth of the launch
 * queue and waits at synchronisation points.  The compute stream starts a
 * kernel when it was issued and the one before has ended; collectives run on
 * streams of their own when what stands before them in the program has ended, and
 * slow down what they run beside.  Micro-steps are simulated until one takes as long as the one before
 * it; the rest are counted.
 */
#ifndef MFU_TIMELINE_H
#define MFU_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/program.h"

/* A launch that ran. */
struct mfu_event {
    int launch;     /* index into program.launches */
    int micro_step; /* from 0; -1: optimizer */
    enum mfu_stream stream;
    double issue_s, issued_s; /* host: begin and end of dispatching it */
    double start_s, end_s;    /* GPU */
};

struct mfu_timeline_input {
    const struct mfu_program *program;  /* unrolled */
    const double *seconds;              /* busy time of every launch, overheads included */
    double dispatch_s[MFU_PHASE_COUNT]; /* host time of one CUDA kernel */
    double queue_depth;                 /* launches that the host may run ahead: 1024 */
    double latency_s;                   /* from issue to start on an idle GPU */
    double loader_s;                    /* to prepare one micro-batch, beside the GPU */
    double step_constant_s;             /* host work at the end of a step */
    double contention;                  /* share of the overlap that compute loses */
    bool record;                        /* keep events (of the micro-steps simulated) */
};

struct mfu_timeline {
    double step_s;                   /* steady state */
    double busy_s;                   /* compute stream, per step */
    double idle_s;                   /* compute stream waits for host, loader, data */
    double phase_s[MFU_PHASE_COUNT]; /* wall time from first to last kernel of each */
    double host_s;                   /* dispatching, per step */
    double host_bound_s;             /* gaps because the host was late */
    double loader_wait_s;
    double communication_s, communication_exposed_s; /* exposed: with copies made for it */
    double contention_s;                             /* that kernels beside collectives take longer */
    int micro_steps_simulated;
    struct mfu_event *events; /* by start; owned */
    size_t n_events, cap_events;
};

/* Runs the simulation; `timeline` was zeroed or used before.  0, or -1 when
 * out of memory. */
int mfu_timeline_run(const struct mfu_timeline_input *, struct mfu_timeline *);
void mfu_timeline_release(struct mfu_timeline *);

#endif
