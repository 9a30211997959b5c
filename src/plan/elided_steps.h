/*
 * elided_steps.h - micro-steps that the simulation did not follow, because they are like
 * the one before: what comes after them moves up.
 */
#ifndef MFU_ELIDED_STEPS_H
#define MFU_ELIDED_STEPS_H

struct mfu_event;
struct mfu_timeline;

struct mfu_elided {
    int after;       /* the micro-step behind which some are left out, or -2 */
    long left_out;   /* micro-steps */
    double seconds;  /* that they take */
    double origin_s; /* when the first thing happens */
};

struct mfu_elided mfu_elided_find(const struct mfu_timeline *);

/* Seconds from the beginning, with the cut taken out. */
double mfu_elided_moment(const struct mfu_elided *, const struct mfu_event *, double seconds);

#endif
