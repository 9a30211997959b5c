/*
 * gpipe - all microbatches forward, then all backward.
 *
 * nanotron's default engine (pipeline_parallel/engine.py, 2411b022) and
 * PyTorch's ScheduleGPipe (torch/distributed/pipelining/schedules.py, 00722e64).
 */
#include "scenario/schedule.h"

static void order(const struct mfu_pipeline_layout *l, int rank, struct mfu_order *o)
{
    (void)rank;
    MFU_STEADY(o, l->microbatches, MFU_F(0));
    MFU_STEADY(o, l->microbatches, MFU_BW(0));
}

const struct mfu_schedule mfu_schedule_gpipe = {
    .name = "gpipe",
    .summary = "all microbatches forward, then all backward: every activation is kept",
    .aliases = "afab all-forward-all-backward",
    .placement = MFU_PLACE_LOOP,
    .least_vpp = 1,
    .most_vpp = 1,
    .order = order,
};
