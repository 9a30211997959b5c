/*
 * orders.h - the order of a rank, written out action by action.
 */
#ifndef MFU_ORDERS_H
#define MFU_ORDERS_H

#include <stdlib.h>

#include "scenario/schedule.h"
#include "scenario/setting.h"

/* The schedule of a name or alias; NULL: none. */
static inline const struct mfu_schedule *schedule_named(const char *name)
{
    int i = mfu_setting_choice(MFU_S_SCHEDULE, name, NULL);

    return i < 0 ? NULL : mfu_schedules[i];
}

/* Codes of all actions of a rank, which the caller frees; `n` of them. */
static inline uint16_t *mfu_written_out(const struct mfu_pipeline_layout *layout, int rank, int *n)
{
    struct mfu_order order = {0};
    uint16_t *all;
    int at = 0;

    layout->schedule->order(layout, rank, &order);
    *n = 0;
    for (int b = 0; b < order.n_blocks; b++)
        *n += order.blocks[b].length * order.blocks[b].repeat;
    all = malloc((size_t)*n * sizeof *all + 1);
    for (int b = 0; b < order.n_blocks; b++)
        for (int i = 0; i < order.blocks[b].length * order.blocks[b].repeat; i++)
            all[at++] = order.actions[order.blocks[b].first + i % order.blocks[b].length];
    free(order.actions);
    free(order.blocks);
    return all;
}

#endif
