/*
 * dualpipev - DualPipe folded in the middle: half the ranks, no second copy of
 * the parameters.
 *
 * DeepSeek's dualpipe/dualpipev.py (3da1bbea); PyTorch's ScheduleDualPipeV
 * (torch/distributed/pipelining/schedules.py, 00722e64).
 */
#include "base/error.h"
#include "scenario/schedule.h"
#include "scenario/schedules/dualpipe.h"

static int check(const struct mfu_pipeline_layout *l, struct mfu_error *err)
{
    if (l->microbatches >= 2 * l->pp)
        return 0;
    return mfu_fail(err, MFU_EINPUT,
                    "schedule dualpipev needs 2 pp = %d microbatches or more, not %d; zb-v runs with any", 2 * l->pp,
                    l->microbatches);
}

static double merged(const struct mfu_pipeline_layout *l)
{
    return mfu_dualpipe_merged(l->pp, l->microbatches);
}

static void order(const struct mfu_pipeline_layout *l, int rank, struct mfu_order *o)
{
    mfu_dualpipe_order(o, l->pp, rank, 0, l->microbatches);
}

const struct mfu_schedule mfu_schedule_dualpipev = {
    .name = "dualpipev",
    .summary = "dualpipe folded in a V: two chunks per rank, forward merged with backward",
    .aliases = "dual-pipe-v",
    .placement = MFU_PLACE_V,
    .least_vpp = 2,
    .most_vpp = 2,
    .splits_backward = true,
    .sends_beside = true,
    .merged = merged,
    .merges = true,
    .check = check,
    .order = order,
};
