/*
 * v_half.h - what v-half and v-min have in common: a building block of one microbatch in each period of six, and what
 * fills its gaps.
 */
#ifndef MFU_V_HALF_H
#define MFU_V_HALF_H

struct mfu_error;
struct mfu_order;
struct mfu_pipeline_layout;

/* When a rank runs what of the first microbatch, in passes of equal length: forwards of its two chunks, then the gradients
 * of their inputs, the second chunk's first. */
struct mfu_v_block {
    int forward[2], backward[2];
};

/* 0; -1 where the pipeline is too long for orders that are found by trying. */
int mfu_v_check(const struct mfu_pipeline_layout *, struct mfu_error *);

/* Appends the order of a rank: blocks of all microbatches, weight gradients in their gaps, all of it as early as the
 * first block's dependences and the memory that these blocks take allow. */
void mfu_v_order(const struct mfu_pipeline_layout *, int rank, struct mfu_v_block (*block)(int pp, int rank),
                 struct mfu_order *);

#endif
