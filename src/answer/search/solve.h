/*
 * solve.h - the largest (or smallest) value of one key for which a condition
 * holds: the largest batch that fits, the smallest accumulation for a budget.
 */
#ifndef MFU_SOLVE_H
#define MFU_SOLVE_H

#include "answer/metric/table.h"
#include "plan/simulation.h"

struct mfu_solution {
    double value;
    const char *limited_by; /* "memory", "target"; "range": other values are not allowed */
    double beyond;          /* the next value that was asked in vain; NAN: none */
    char reason[256];       /* the rule that refuses it; "": none */
};

/* Looks over whole multiples of `step`: at a coarse grid and what divides the
 * model's dimensions, then by bisection between a value that holds and one that
 * does not, then at values near the edge, since neither memory nor the rules of
 * a key need to be monotone.  A value holds when a simulated plan says so, as
 * `plan` will.  With `where` NULL the condition is that it fits.  `plan` and
 * `simulation` hold the answer's plan at the end. */
int mfu_solve(const struct mfu_scenario *, struct mfu_key key, double step, bool largest,
              const struct mfu_question *where, struct mfu_plan *plan, struct mfu_simulation *simulation,
              struct mfu_solution *, struct mfu_error *);

#endif
