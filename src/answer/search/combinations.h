/*
 * combinations.h - the combinations of a search's axes, by number: the first axis varies slowest.
 */
#ifndef MFU_COMBINATIONS_H
#define MFU_COMBINATIONS_H

#include "answer/search/search.h"

struct mfu_error;

/* Number of combinations; 0 when there are more than 10^12. */
double mfu_sweep_size(const struct mfu_sweep *);

/* The value of an axis in a combination. */
double mfu_sweep_value(const struct mfu_sweep *, size_t combination, size_t axis);

/* The scenario of a combination, and the same where values may not exist:
 * accum=512/batch at batch 3. */
struct mfu_scenario mfu_sweep_scenario(const struct mfu_sweep *, size_t combination);
int mfu_sweep_make(const struct mfu_sweep *, size_t combination, struct mfu_scenario *, struct mfu_error *);

/* The same of the numbers of the axes' values. */
int mfu_sweep_make_at(const struct mfu_sweep *, const size_t *at, struct mfu_scenario *, struct mfu_error *);

/* Whether a setting is one of the keys. */
bool mfu_sweep_varies(const struct mfu_sweep *, int setting);

/* The first number, in the order of planning, of a part of the sweep's `shards`; that behind the
 * last one is the number of combinations. */
size_t mfu_sweep_shard(const struct mfu_sweep *, size_t shard);

/* The order in which combinations are planned: the axes, those that vary fastest first, which are
 * those that leave the graph as it is, so that most plans find their graph built; returns how many
 * these are.  If the next only changes sizes, it is the one whose values are planned in a row. */
size_t mfu_sweep_order(const struct mfu_sweep *, size_t order[MFU_AXES]);

/* Of the combination that is planned as this number, the numbers of its values; those of the next
 * one, and the place in `order` of the last axis that moved; the number of the combination. */
void mfu_sweep_start_at(const struct mfu_sweep *, const size_t order[MFU_AXES], size_t number, size_t at[MFU_AXES]);
size_t mfu_sweep_next(const struct mfu_sweep *, const size_t order[MFU_AXES], size_t at[MFU_AXES]);
size_t mfu_sweep_number(const struct mfu_sweep *, const size_t at[MFU_AXES]);

#endif
