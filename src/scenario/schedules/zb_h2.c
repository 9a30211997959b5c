/*
 * zb-h2 - no bubble between the first and the last pass of a rank, for twice
 * 1F1B's memory.
 *
 * Rank i starts with 2 (pp - i) - 1 forwards, so that its first B arrives when
 * they end; at the end it puts 2 i weight gradients off, so that B goes up the
 * ranks without a gap.  Ranks begin and end one after another: the whole
 * gain needs a next step that starts without waiting for all of them (Qi et
 * al., arXiv 2401.10241, figure 3 and section 4).  sail-sg's zb.py (39f2c186)
 * finds such orders by search, with a limit of 2 pp microbatches.
 */
#include "base/error.h"
#include "scenario/schedule.h"

static int check(const struct mfu_pipeline_layout *l, struct mfu_error *err)
{
    if (l->microbatches >= 2 * l->pp - 1)
        return 0;
    return mfu_fail(err, MFU_EINPUT,
                    "schedule zb-h2 needs 2 pp - 1 = %d microbatches or more, not %d; zb-h1 runs with any",
                    2 * l->pp - 1, l->microbatches);
}

static void order(const struct mfu_pipeline_layout *l, int rank, struct mfu_order *o)
{
    int warm_up = 2 * (l->pp - rank) - 1;

    MFU_REPEAT(o, warm_up, MFU_F(0));
    MFU_STEADY(o, l->microbatches - (2 * l->pp - 1), MFU_B(0), MFU_W(0), MFU_F(0));
    MFU_REPEAT(o, 2 * rank, MFU_B(0), MFU_F(0));
    MFU_REPEAT(o, warm_up, MFU_B(0), MFU_W(0));
    MFU_REPEAT(o, 2 * rank, MFU_W(0));
}

const struct mfu_schedule mfu_schedule_zb_h2 = {
    .name = "zb-h2",
    .summary = "weight gradients fill the bubble wholly, for twice the activations of 1f1b",
    .aliases = "zb2p zb-2p zero-bubble-h2",
    .placement = MFU_PLACE_LOOP,
    .least_vpp = 1,
    .most_vpp = 1,
    .splits_backward = true,
    .sends_beside = true,
    .norm_later = true,
    .check = check,
    .order = order,
};
