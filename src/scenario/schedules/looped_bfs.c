/*
 * looped-bfs - GPipe over several chunks per rank: all microbatches through a
 * chunk, then the next.
 *
 * PyTorch's ScheduleLoopedBFS (torch/distributed/pipelining/schedules.py,
 * 00722e64); Lamy-Poirier, Breadth-First Pipeline Parallelism (arXiv
 * 2211.05953).  PyTorch runs the backwards of a chunk from the last microbatch
 * to the first: the same times, other numbers.
 */
#include "scenario/schedule.h"

static void order(const struct mfu_pipeline_layout *l, int rank, struct mfu_order *o)
{
    (void)rank;
    for (int c = 0; c < l->vpp; c++)
        MFU_STEADY(o, l->microbatches, MFU_F(c));
    for (int c = l->vpp - 1; c >= 0; c--)
        MFU_STEADY(o, l->microbatches, MFU_BW(c));
}

const struct mfu_schedule mfu_schedule_looped_bfs = {
    .name = "looped-bfs",
    .summary = "gpipe over vpp chunks per rank: every activation is kept",
    .aliases = "breadth-first",
    .placement = MFU_PLACE_LOOP,
    .least_vpp = 1,
    .most_vpp = MFU_MOST_CHUNKS,
    .sends_beside = true,
    .order = order,
};
