/*
 * zb-v - zero bubble with two chunks per rank, the second on the way back up,
 * so that every rank keeps as much as 1F1B's first.
 *
 * PyTorch's ScheduleZBVZeroBubble (torch/distributed/pipelining/schedules.py,
 * 00722e64); sail-sg's zbv.py (39f2c186) finds the same order for equal F, B
 * and W.  With fewer than 2 pp - 1 microbatches it is the order of 2 pp - 1
 * without those that do not exist.
 */
#include "scenario/schedule.h"

struct clipped {
    struct mfu_order *order;
    int passes[2 * MFU_PASS_COUNT]; /* left of each action; used when `some` is set */
    bool some;                      /* not all microbatches exist */
};

static void add(struct clipped *c, int repeat, bool steady, const uint16_t *body, int length)
{
    if (!c->some) {
        mfu_order_add(c->order, repeat, steady, body, length);
        return;
    }
    for (int i = 0; i < repeat * length; i++)
        if (c->passes[body[i % length]]-- > 0)
            mfu_order_add(c->order, 1, false, &body[i % length], 1);
}

#define REPEAT(repeat, ...) add(&c, repeat, false, MFU_BODY_(__VA_ARGS__))

static void order(const struct mfu_pipeline_layout *l, int rank, struct mfu_order *o)
{
    int full = 2 * l->pp - 1, m = l->microbatches, up = l->pp - rank;
    struct clipped c = {.order = o, .some = m < full};

    for (int i = 0; i < 2 * MFU_PASS_COUNT; i++)
        c.passes[i] = m;
    m = c.some ? full : m;
    REPEAT(2 * up - 1, MFU_F(0));
    REPEAT(rank, MFU_F(1), MFU_F(0));
    REPEAT(up, MFU_F(1), MFU_B(1), MFU_W(1));
    /* 2 pp - 1 - rank forwards of chunk 0 are done, pp of chunk 1. */
    add(&c, m - (2 * up - 1 + rank), true, MFU_BODY_(MFU_F(0), MFU_B(0), MFU_W(0), MFU_F(1), MFU_B(1), MFU_W(1)));
    REPEAT(2 * up - 1 + rank - l->pp, MFU_B(0), MFU_W(0), MFU_F(1), MFU_B(1), MFU_W(1));
    REPEAT(rank, MFU_B(0), MFU_B(1));
    REPEAT(up, MFU_B(0), MFU_W(0));
    REPEAT(rank, MFU_W(1));
    REPEAT(rank, MFU_W(0));
}

const struct mfu_schedule mfu_schedule_zb_v = {
    .name = "zb-v",
    .summary = "zero bubble with two chunks per rank in a V: no bubble if F = B = W, 1f1b's memory on all ranks",
    .aliases = "zbv zbv-zero-bubble zbv-formatted zero-bubble-v",
    .placement = MFU_PLACE_V,
    .least_vpp = 2,
    .most_vpp = 2,
    .splits_backward = true,
    .sends_beside = true,
    .norm_later = true,
    .order = order,
};
