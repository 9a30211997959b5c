/*
 * resimulate.h - simulates the rows of a sweep that are going to be shown.
 */
#ifndef MFU_CONFIRM_H
#define MFU_CONFIRM_H

#include "answer/search/topk_pareto.h"

struct mfu_error;
struct mfu_plan;

/* Whether a row that was planned is excluded; if not, its columns. */
bool mfu_sweep_take(const struct mfu_sweep *, const struct mfu_plan *, struct mfu_sweep_row *, size_t columns);

/* Works down the ranking of what was kept until every row to be shown is a
 * simulated one that still satisfies the condition.  Takes the rows out of
 * `kept`. */
int mfu_confirm(const struct mfu_sweep *, struct mfu_kept *, struct mfu_sweep_result *, struct mfu_error *);

#endif
