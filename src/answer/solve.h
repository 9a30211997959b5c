/*
 * solve.h - the largest (or smallest) value of one key for which a condition
 * holds: the largest batch that fits, the smallest accumulation for a budget.
 */
#ifndef MFU_SOLVE_H
#define MFU_SOLVE_H

#include "answer/results.h"
#include "answer/simulation.h"

struct mfu_solution {
    double value;
    const char *limited_by;     /* "memory", "target", "range" */
};

/* Doubles and bisects over whole multiples of `step`, so the condition must
 * hold up to some value and not beyond (largest) or the other way round.  With
 * `where` NULL the condition is that it fits, confirmed by the allocator's
 * replay.  `plan` and `simulation` hold the answer's plan at the end. */
int mfu_solve(const struct mfu_scenario *, struct mfu_key key, double step, bool largest,
              const struct mfu_question *where, struct mfu_plan *plan, struct mfu_simulation *simulation,
              struct mfu_solution *, struct mfu_error *);

#endif
