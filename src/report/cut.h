/*
 * cut.h - micro-steps that the simulation did not follow, because they are like
 * the one before: what comes after them moves up.
 */
#ifndef MFU_CUT_H
#define MFU_CUT_H

struct mfu_event;
struct mfu_timeline;

struct mfu_cut {
    int after;                  /* the micro-step behind which some are left out, or -2 */
    long left_out;              /* micro-steps */
    double seconds;             /* that they take */
    double origin_s;            /* when the first thing happens */
};

struct mfu_cut mfu_cut_find(const struct mfu_timeline *);

/* Seconds from the beginning, with the cut taken out. */
double mfu_cut_moment(const struct mfu_cut *, const struct mfu_event *, double seconds);

#endif
