/*
 * interleaved - 1F1B over several chunks of the model on each rank.
 *
 * A chunk runs a group of microbatches, then the next chunk does; backward goes
 * through the chunks the other way.  Megatron-LM
 * megatron/core/pipeline_parallel/schedules.py (00611e6e): get_schedule_table,
 * get_pp_rank_microbatches.  PyTorch's ScheduleInterleaved1F1B has groups of m
 * / max(1, m / pp) microbatches, so that pp need not divide m.
 *
 * One forward more at the beginning makes each later one independent of the backward beside it, so that the two can be
 * merged layer by layer (core/pipeline_parallel/combined_1f1b.py, d98e8a64: overlap_moe_expert_parallel_comm).
 */
#include "base/error.h"
#include "scenario/schedule.h"

static int group_of(const struct mfu_pipeline_layout *l)
{
    return l->group ? l->group : l->pp;
}

static int check(const struct mfu_pipeline_layout *l, struct mfu_error *err)
{
    int group = group_of(l), down = l->microbatches / group * group;

    if (group < l->pp && group != l->microbatches)
        return mfu_fail(err, MFU_EINPUT,
                        "schedule interleaved lets a chunk run at least pp (%d) microbatches in a row, not %d", l->pp,
                        group);
    if (l->microbatches % group == 0)
        return 0;
    if (down == 0)
        return mfu_fail(err, MFU_EINPUT,
                        "schedule interleaved needs a multiple of %d microbatches, not %d: %d, or vpp 1", group,
                        l->microbatches, group);
    return mfu_fail(err, MFU_EINPUT,
                    "schedule interleaved needs a multiple of %d microbatches, not %d: %d or %d, or vpp 1", group,
                    l->microbatches, down, down + group);
}

/* The chunk of the k-th forward. */
static int chunk_of(const struct mfu_pipeline_layout *l, int k)
{
    return k / group_of(l) % l->vpp;
}

static void pair(const struct mfu_pipeline_layout *l, int forward, int backward, uint16_t at[2])
{
    at[0] = MFU_F(chunk_of(l, forward));
    at[1] = MFU_BW(l->vpp - 1 - chunk_of(l, backward));
}

/* Forwards of a rank before its first backward. */
static int first_forwards(const struct mfu_pipeline_layout *l, int rank)
{
    int all = l->microbatches * l->vpp, first = 2 * (l->pp - 1 - rank) + (l->vpp - 1) * group_of(l) + l->ahead;

    return first < all ? first : all;
}

static double merged(const struct mfu_pipeline_layout *l)
{
    double first = 0;

    for (int rank = 0; rank < l->pp; rank++)
        first += first_forwards(l, rank);
    return 1 - first / ((double)l->microbatches * l->vpp * l->pp);
}

static void order(const struct mfu_pipeline_layout *l, int rank, struct mfu_order *o)
{
    int all = l->microbatches * l->vpp, period = group_of(l) * l->vpp;
    int warm_up = first_forwards(l, rank), repeat = (all - warm_up) / period, k = 0;
    uint16_t two[2];

    for (int f = 0; f < warm_up; f++)
        MFU_REPEAT(o, 1, MFU_F(chunk_of(l, f)));
    mfu_order_add(o, repeat, true, two, 0);
    for (; k < period && repeat > 0; k++) {
        pair(l, warm_up + k, k, two);
        mfu_order_lengthen(o, two, 2);
    }
    for (k = repeat * period; k < all - warm_up; k++) {
        pair(l, warm_up + k, k, two);
        mfu_order_add(o, 1, false, two, 2);
    }
    for (; k < all; k++)
        MFU_REPEAT(o, 1, MFU_BW(l->vpp - 1 - chunk_of(l, k)));
}

const struct mfu_schedule mfu_schedule_interleaved = {
    .name = "interleaved",
    .summary = "1f1b over vpp chunks per rank: the bubble shrinks vpp-fold, messages grow vpp-fold",
    .aliases = "interleaved-1f1b 1f1b-interleaved 1f1b-i vpp",
    .usual = true,
    .placement = MFU_PLACE_LOOP,
    .least_vpp = 2,
    .most_vpp = MFU_MOST_CHUNKS,
    .sends_beside = true,
    .sends_beside_since = 2024, /* Megatron-LM 4eeff55d, October 2023: overlap_p2p_comm by default */
    .merged = merged,
    .check = check,
    .order = order,
};
