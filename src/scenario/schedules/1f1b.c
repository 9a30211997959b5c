/*
 * 1f1b - one forward, one backward, so that rank i keeps pp - i microbatches.
 *
 * Megatron-LM megatron/core/pipeline_parallel/schedules.py (00611e6e),
 * forward_backward_pipelining_without_interleaving; PyTorch's Schedule1F1B and
 * DeepSpeed's TrainSchedule run the same order.
 */
#include "scenario/schedule.h"

static void order(const struct mfu_pipeline_layout *l, int rank, struct mfu_order *o)
{
    int m = l->microbatches, ahead = l->pp - 1 - rank, warm_up = ahead < m ? ahead : m;

    MFU_REPEAT(o, warm_up, MFU_F(0));
    MFU_STEADY(o, m - warm_up, MFU_F(0), MFU_BW(0));
    MFU_REPEAT(o, warm_up, MFU_BW(0));
}

const struct mfu_schedule mfu_schedule_1f1b = {
    .name = "1f1b",
    .summary = "one forward, one backward: rank i keeps at most pp - i microbatches",
    .aliases = "one-forward-one-backward pipedream-flush",
    .usual = true,
    .placement = MFU_PLACE_LOOP,
    .least_vpp = 1,
    .most_vpp = 1,
    .order = order,
};
