/*
 * dualpipe.h - what DualPipe and DualPipeV have in common.
 */
#ifndef MFU_DUALPIPE_H
#define MFU_DUALPIPE_H

struct mfu_order;

/* Appends the order of a rank: the `place`-th, from 0, of `half` that lead from
 * the outside to the turn; `passes` microbatches pass each of its two chunks,
 * the nearer end of the model is in chunk `near`. */
void mfu_dualpipe_order(struct mfu_order *, int half, int place, int near, int passes);

/* Of the forwards of such ranks, those merged with a backward. */
double mfu_dualpipe_merged(double half, double passes);

#endif
