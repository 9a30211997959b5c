/*
 * simulation.h - the full path: a plan's step executed in time and in memory.
 *
 * A plan alone prices every kernel and reads the peak from lifetimes.  The
 * simulation follows each launch through the host's queue and each allocation
 * through the caching allocator, over unrolled layers.
 */
#ifndef MFU_SIMULATION_H
#define MFU_SIMULATION_H

#include "plan/plan.h"
#include "simulate/replay.h"
#include "simulate/timeline.h"

struct mfu_simulation {
    bool traces_layers;                 /* rather than copies them: the same, in more time */
    bool again;                         /* not the first one: what it works with, tensors too, is kept */
    struct mfu_program first, later;    /* unrolled; one is empty: later if accum is 1, else first unless recorded */
    struct mfu_allocations born, there; /* what is replayed of them: where gradients are born, and where they exist */
    struct mfu_pricing pricing;         /* of the steady program's launches */
    double *seconds;
    int cap_seconds;
    struct mfu_timeline timeline;
    struct mfu_replay replay;
    double least_reserved_bytes, most_reserved_bytes; /* of orders of batches that differ in length; NAN: all alike */
};

/* The program that `timeline.events` and steady samples refer to. */
const struct mfu_program *mfu_simulation_program(const struct mfu_simulation *);

/* Simulates the plan's scenario and puts reserved memory, step time, gaps and
 * idle time into the plan.  `record` keeps events and samples for pictures and
 * traces.  `simulation` was zeroed or used before. */
int mfu_simulate(struct mfu_plan *, bool record, struct mfu_simulation *, struct mfu_error *);

/* The same for who asks the plan alone, without what was recorded: a stage of a pipeline changes nothing there,
 * and is not simulated. */
int mfu_simulate_plan(struct mfu_plan *, struct mfu_simulation *, struct mfu_error *);

/* Seconds of a step that was simulated before, now that coefficients of
 * plan->scenario have changed; nothing but time is worked out again, and the
 * plan's answers stay as they were.  NAN when out of memory. */
double mfu_simulate_again(struct mfu_plan *, struct mfu_simulation *);

void mfu_simulation_release(struct mfu_simulation *);

#endif
