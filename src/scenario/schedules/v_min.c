/*
 * v-min - two chunks per rank in a V, which keep a third of what 1F1B's first rank does.
 *
 * Qi et al., Pipeline Parallelism with Controllable Memory (arXiv 2405.15362), as Primus' zbv_greedy.py (fd1eeabb) lays it:
 * each microbatch goes down, up and back at full speed, which leaves gaps where passes are not equally long.
 */
#include "scenario/schedule.h"
#include "scenario/schedules/v_half.h"

static struct mfu_v_block block(int pp, int rank)
{
    int gap = pp % 3 == 0 ? 2 : 0; /* without it passes meet */

    return (struct mfu_v_block){{rank, 2 * pp - rank - 1}, {4 * pp + gap - rank - 1, 2 * pp + gap + rank}};
}

static void order(const struct mfu_pipeline_layout *l, int rank, struct mfu_order *o)
{
    mfu_v_order(l, rank, block, o);
}

const struct mfu_schedule mfu_schedule_v_min = {
    .name = "v-min",
    .summary = "two chunks per rank in a V that keep a third of 1f1b's activations, for more bubble than v-half",
    .aliases = "vmin zbv-min",
    .placement = MFU_PLACE_V,
    .least_vpp = 2,
    .most_vpp = 2,
    .splits_backward = true,
    .sends_beside = true,
    .check = mfu_v_check,
    .order = order,
};
