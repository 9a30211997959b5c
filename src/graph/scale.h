/*
 * scale.h - sizes as functions of the micro-batch: a neighbour's program without
 * tracing, fusing and sharding again.
 *
 * Every size of a program is a + b batch as long as nothing that was decided by
 * comparing sizes is decided differently: what a builder compares, it compares with
 * mfu_compare(), which notes the difference.  Two programs that were traced give a
 * and b; a third that was traced has to be what they predict.  Only then is the
 * next one scaled, and only if every noted difference keeps its sign.
 */
#ifndef MFU_SCALE_H
#define MFU_SCALE_H

#include "graph/program.h"

struct mfu_scale {
    struct mfu_program before;  /* another batch, traced; its memory is used in turns */
    double batch, batch_before; /* of the program at hand, of `before` */
    struct mfu_line *lines;     /* sizes that vary, and differences whose sign counts */
    int n_lines, cap_lines;
    int *rounded, n_rounded, cap_rounded; /* tensors whose bytes vary: their views' in whole blocks */
    enum {
        MFU_SCALE_TRACED,   /* the program at hand was traced */
        MFU_SCALE_PREDICTS, /* and the one before, which gave the lines */
        MFU_SCALE_HOLDS,    /* they led to a third */
        MFU_SCALE_FAILS     /* not all sizes are lines */
    } state;
    bool away; /* the program at hand was traced, where a line ends: the one that holds is `before` */
};

/* The program at hand is the first of its family: it was traced with this batch. */
void mfu_scale_start(struct mfu_scale *, double batch);
/* Makes the program at hand one of another batch.  False: it has to be traced. */
bool mfu_scale_to(struct mfu_scale *, struct mfu_program *, double batch);
/* `p` was traced at `batch`, after `before` was: learns from both, or checks what it had
 * learned; the program that is left in `p` is one at `batch`. */
void mfu_scale_learn(struct mfu_scale *, struct mfu_program *p, double batch);
void mfu_scale_release(struct mfu_scale *);

#endif
