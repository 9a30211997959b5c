/*
 * sweep.h - plans every combination of a search, on all cores.
 *
 * Each takes the analytic path (microseconds) or the simulation (less than a millisecond); the
 * result does not depend on the number of threads.
 */
#ifndef MFU_SWEEP_H
#define MFU_SWEEP_H

#include "answer/search/combinations.h"
#include "answer/search/search.h"

/* What `search` varies without KEY=VALUES: micro-batch and accumulation, and
 * all that the levers change which keep the mathematics and the hardware. */
int mfu_sweep_usual(struct mfu_sweep *, struct mfu_error *);

/* What `search layout` varies; `own` becomes the scenario, with its GPUs and none of the
 * keys that vary, and lives as long as the sweep. */
int mfu_sweep_layouts(struct mfu_sweep *, struct mfu_scenario *own, struct mfu_error *);

int mfu_sweep_run(const struct mfu_sweep *, struct mfu_sweep_result *, struct mfu_error *);
void mfu_sweep_result_free(struct mfu_sweep_result *);
void mfu_sweep_clear(struct mfu_sweep *); /* axes and questions */

#endif
