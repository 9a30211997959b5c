/*
 * topk_pareto.h - the rows of a sweep that are worth keeping, in bounded memory.
 */
#ifndef MFU_KEEP_H
#define MFU_KEEP_H

#include "answer/search/search.h"

struct mfu_kept {
    struct mfu_sweep_row *rows;
    size_t n, cap;
};

/* Rows that a search keeps so that those which fail in simulation can be
 * replaced; for a front, how many rows may beat one that is kept. */
size_t mfu_keep_reserve(const struct mfu_sweep *);
unsigned mfu_keep_depth(const struct mfu_sweep *);

/* Takes a row, or what is kept stays as it is; false: out of memory.  What is
 * kept in the end does not depend on the order. */
bool mfu_keep_row(const struct mfu_sweep *, struct mfu_kept *, const struct mfu_sweep_row *);

/* Better first; equal rows by combination. */
bool mfu_keep_better(const struct mfu_sweep *, const struct mfu_sweep_row *, const struct mfu_sweep_row *);

/* Column 0 in the direction of the search, all others: less is better. */
bool mfu_keep_dominates(const struct mfu_sweep *, const struct mfu_sweep_row *, const struct mfu_sweep_row *);

/* The best first, or by combination where every row is kept. */
void mfu_keep_sort(const struct mfu_sweep *, struct mfu_sweep_row *, size_t n);

#endif
