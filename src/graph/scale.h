/*
 * scale.h - sizes as functions of the batch, of the sequence or of 1 / data-parallel
 * ranks: a neighbour's program without tracing, fusing and sharding again.
 *
 * Every size of a program is a + b x + c x^2 as long as nothing that was decided by
 * comparing sizes is decided differently: what a builder compares, it compares with
 * mfu_compare(), which notes the difference.  Two programs that were traced give a
 * and b; a third that was traced has to be what they predict, or gives c, and a fourth
 * has to be that.  Only then is the next one scaled, and only if every noted difference
 * keeps its sign.
 */
#ifndef MFU_SCALE_H
#define MFU_SCALE_H

#include "graph/graph.h"

struct mfu_scale {
    struct mfu_program before; /* at another x, traced; its memory is used in turns */
    enum mfu_size_variable by; /* x */
    double x, known[3];        /* of the program traced last; of those that gave the lines */
    struct mfu_line *lines;    /* differences whose sign counts, then sizes that vary */
    int n_lines, cap_lines;
    int *rounded, n_rounded, cap_rounded; /* tensors whose bytes vary: their views' in whole blocks */
    enum {
        MFU_SCALE_TRACED,   /* the program at hand was traced */
        MFU_SCALE_PREDICTS, /* and the one before, which gave the lines */
        MFU_SCALE_BENDS,    /* and one before that: some are parabolas */
        MFU_SCALE_HOLDS,    /* they led to another */
        MFU_SCALE_FAILS     /* not all sizes are that */
    } state;
    bool away; /* the program at hand was traced, where a line ends: the one that holds is `before` */
};

/* The program at hand is the first of its family. */
void mfu_scale_start(struct mfu_scale *);
/* Makes the program at hand one of another x.  False: it has to be traced. */
bool mfu_scale_to(struct mfu_scale *, struct mfu_program *, const struct mfu_size_change *);
/* `p` was traced where mfu_scale_to() failed: learns from it, or checks what was learned; the
 * program that is left in `p` is the same. */
void mfu_scale_learn(struct mfu_scale *, struct mfu_program *p, const struct mfu_size_change *);
void mfu_scale_release(struct mfu_scale *);

#endif
