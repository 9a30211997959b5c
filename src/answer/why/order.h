/*
 * order.h - the order of diagnosis: what to ask first, which meter answers, and what
 * it will read for this scenario.
 *
 * From the outside in: a question is worth asking only where those before it are
 * answered, since a GPU that waits for data says nothing about its kernels.  The
 * losses and what MFU counts add up to the step.
 */
#ifndef MFU_ORDER_H
#define MFU_ORDER_H

#include "answer/why/breakdown.h"

#define MFU_DIAGNOSIS_STEPS 6

struct mfu_diagnosis_step {
    const char *name, *asks, *meter, *see; /* see: the command that looks closer */
    enum mfu_dim dim;                      /* of what the meter reads: */
    double reads, fine;                    /* predicted, and where nobody needs to look further */
    bool at_least;                         /* fine is a lower bound; else an upper one */
    bool is_fine;
    double lost_s;  /* of the step */
    bool worst;     /* most is lost here */
    char most[448]; /* what adds most to it, in words; "": nothing does */
};

struct mfu_diagnosis {
    double step_s, counted_s; /* the step, and what its model FLOP take at the peak */
    struct mfu_diagnosis_step steps[MFU_DIAGNOSIS_STEPS];
};

/* Plans and simulates the scenario; both end as its own. */
int mfu_diagnose(const struct mfu_scenario *, struct mfu_plan *, struct mfu_simulation *, struct mfu_diagnosis *,
                 struct mfu_error *err);

#endif
