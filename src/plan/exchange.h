/*
 * exchange.h - what data-parallel GPUs exchange in a step, when, and how long
 * it takes: sums of gradients, gathered weights, shards.
 */
#ifndef MFU_EXCHANGE_H
#define MFU_EXCHANGE_H

#include "plan/plan.h"
#include "simulate/timeline.h"

/* What the exchange adds to the plan's step, in seconds, by a rule of thumb for
 * what hides; also sets plan->step.communication_s.  span_s: how long each
 * phase lasts in all micro-steps, on the GPU or the host, whichever is later. */
double mfu_exchange_exposed_s(struct mfu_plan *plan, const double span_s[MFU_PHASE_COUNT]);

struct mfu_exchange {
    struct mfu_collective *collectives; /* in the order of issue; owned */
    size_t n, cap;
};

/* The same exchange piece by piece, for an unrolled step of the plan's scenario:
 * what waits for which launch, and which launch waits for it.  `exchange` was
 * zeroed or used before.  0, or -1 when out of memory. */
int mfu_exchange_list(const struct mfu_plan *, const struct mfu_program *unrolled, struct mfu_exchange *);
void mfu_exchange_release(struct mfu_exchange *);

#endif
