/*
 * expert_messages.h - all-to-all exchanges with experts on other ranks, as they are in the way of a step.
 */
#ifndef MFU_EXPERT_MESSAGES_H
#define MFU_EXPERT_MESSAGES_H

#include "cost/cost.h"
#include "graph/program.h"
#include "scenario/scenario.h"

/* Of each launch; with `which`, of launch i that of number which[i], and no two exchanges have one. */
struct mfu_launch_prices {
    struct mfu_price *list;
    const int *which;
};

/* Changes the prices of these exchanges in a program that is priced, in seconds: from what each takes
 * by itself to what the compute stream waits for it, with ranks whose experts have more tokens than others and with passes
 * of two microbatches merged. */
void mfu_price_expert_messages(const struct mfu_machine *, const struct mfu_program *, const struct mfu_expert_waits *,
                               struct mfu_launch_prices);

#endif
