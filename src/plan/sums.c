/*
 * sums.c - one walk over the launches, for all that is added up.
 */
#include "plan/sums.h"

#include <stddef.h>
#include <string.h>

#include "plan/pricing.h"

void mfu_sums_add(struct mfu_sums *sums, const struct mfu_sums *more, double times, bool rules)
{
    double *to = (double *)sums;
    const double *from = (const double *)more;

    for (size_t i = 0; i < (rules ? sizeof *sums : offsetof(struct mfu_sums, rules_s)) / sizeof *to; i++)
        to[i] += times * from[i];
}

void mfu_sums_of(const struct mfu_program *g, const struct mfu_price *prices, struct mfu_sums *sums)
{
    memset(sums, 0, sizeof *sums);
    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];
        double times = mfu_segment_times(g, seg);

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            mfu_sums_add_amount(sums, &g->launches[i], times);
            mfu_sums_add_time(sums, &g->launches[i], &prices[i], times, true);
        }
    }
}
