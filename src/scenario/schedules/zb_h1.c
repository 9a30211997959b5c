/*
 * zb-h1 - 1F1B whose weight gradients fill the bubble, within 1F1B's memory.
 *
 * W follows its B, on rank i by i microbatches later, so that every rank keeps
 * pp microbatches.  PyTorch's ScheduleInterleavedZeroBubble with one stage per
 * rank (torch/distributed/pipelining/schedules.py, 00722e64: ZB1P); Qi et al.,
 * Zero Bubble Pipeline Parallelism (arXiv 2401.10241).
 */
#include "scenario/schedule.h"

static int least(int a, int b)
{
    return a < b ? a : b;
}

static void order(const struct mfu_pipeline_layout *l, int rank, struct mfu_order *o)
{
    int m = l->microbatches, warm_up = least(l->pp - 1 - rank, m), late = least(rank, m);
    int pairs = least(late, m - warm_up), alone = late - pairs;

    MFU_REPEAT(o, warm_up, MFU_F(0));
    MFU_REPEAT(o, pairs, MFU_F(0), MFU_B(0));
    MFU_STEADY(o, m - warm_up - pairs, MFU_F(0), MFU_B(0), MFU_W(0));
    MFU_REPEAT(o, alone, MFU_B(0));
    MFU_REPEAT(o, warm_up - alone, MFU_B(0), MFU_W(0));
    MFU_REPEAT(o, late, MFU_W(0));
}

const struct mfu_schedule mfu_schedule_zb_h1 = {
    .name = "zb-h1",
    .summary = "1f1b with weight gradients put off into the bubble: a third of it remains, same memory",
    .aliases = "zb1p zb-1p zero-bubble zero-bubble-h1 zerobubble interleaved-zero-bubble",
    .placement = MFU_PLACE_LOOP,
    .least_vpp = 1,
    .most_vpp = 1,
    .splits_backward = true,
    .sends_beside = true,
    .norm_later = true,
    .order = order,
};
