/*
 * pipeline.h - one step of a pipeline in time: stages coupled by messages under
 * a schedule.
 *
 * Given seconds of forward, backward and weight gradient of every stage and of
 * the messages between them, an event simulation follows the order of each rank:
 * an action begins when the one before it on its rank has ended and its message
 * has arrived.  Stages may differ, so no formula is used.  Microbatches in a
 * steady state are counted, not repeated: once everything repeats but for a
 * shift in time, the rest of the steady blocks is that shift times their number.
 *
 *     struct mfu_pipeline *pipeline = mfu_pipeline_new(&err);
 *     struct mfu_pipeline_step step;
 *     mfu_pipeline_run(pipeline, &layout, &costs, MFU_PIPELINE_COUNT, &step, &err);
 *     printf("%g s, bubble %.1f %%\n", step.makespan_s, 100 * step.bubble);
 *     mfu_pipeline_free(pipeline);
 *
 * A pipeline is a workspace of one thread: it keeps its memory, and the order of
 * the last layout, which costs a call that asks for the same layout nothing.
 */
#ifndef MFU_PIPELINE_H
#define MFU_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "scenario/schedule.h"

struct mfu_error;
struct mfu_pipeline;

/* Of every stage of the model, in its order: mfu_pipeline_stages() values of
 * seconds (0 or more) or bytes. */
struct mfu_pipeline_costs {
    const double *f_s; /* forward of one microbatch */
    const double *b_s; /* gradient of its input, recomputation included */
    const double *w_s; /* gradients of its weights; a backward in one takes b_s + w_s */
    /* One message between stage i and i + 1, either way; one value less.  NULL:
     * no time.  Within a rank it takes none. */
    const double *send_s;
    /* Sends run beside compute; otherwise the sender computes nothing until its
     * message has arrived (blocking point-to-point). */
    bool sends_overlap;
    /* For which a message forward and one backward keep both ranks, from its sending on where
     * the receiver is there. */
    double meets_s[2];
};

/* Of every stage of the model: what a forward leaves for its backward, until that is through, gradients of weights
 * included; and what of it is there before the backward begins that a forward is merged with: all, if it runs first. */
struct mfu_pipeline_kept {
    double *bytes, *ahead_bytes;
};

enum mfu_pipeline_mode {
    MFU_PIPELINE_COUNT, /* count what repeats */
    MFU_PIPELINE_WHOLE, /* simulate every action */
    MFU_PIPELINE_RECORD /* and keep begin and end of each */
};

struct mfu_pipeline_rank {
    double busy_s;         /* computing */
    double send_s;         /* blocked by its own sends */
    double idle_s;         /* the rest of the makespan */
    double first_s, end_s; /* begin of its first action, end of its last */
    /* Most chunks at a time for which a forward has begun and B not ended, or
     * the last part of backward not ended. */
    int in_flight, held;
    double peak_bytes; /* of mfu_pipeline_weigh(): the most that it keeps, with which some backward begins */
};

struct mfu_pipeline_event {
    int rank, chunk, stage;
    int microbatch; /* of the pass; MFU_PASS_FBW: of the forward */
    int backward;   /* MFU_PASS_FBW: microbatch of the backward; otherwise -1 */
    enum mfu_pass pass;
    double start_s, end_s;
    double turn_s; /* where its backward begins, if that comes after its forward */
};

/* Pointers lead into the pipeline and hold until its next run. */
struct mfu_pipeline_step {
    double makespan_s; /* from the first action of any rank to the end of the last */
    double span_s;     /* longest from a rank's own first action to its end: the period of steps in which
                          no rank waits for all others before the next one */
    double bubble;     /* share of the ranks' time in which they do not compute, 0..1 */
    int busiest;       /* rank that computes longest */
    long simulated;    /* actions followed; fewer than there are when some were counted */
    int n_ranks, n_chunks;
    const struct mfu_pipeline_rank *ranks;
    const int *chunk_in_flight;              /* as in_flight, [rank * n_chunks + chunk] */
    const struct mfu_pipeline_event *events; /* by rank, then by time; NULL unless recorded */
    size_t n_events;
};

struct mfu_pipeline *mfu_pipeline_new(struct mfu_error *err);
void mfu_pipeline_free(struct mfu_pipeline *);
/* Whether it keeps the order of that layout. */
bool mfu_pipeline_has(const struct mfu_pipeline *, const struct mfu_pipeline_layout *);

/* The ranks with what they keep at most, which follows from the order alone; NULL with `err`. */
const struct mfu_pipeline_rank *mfu_pipeline_weigh(struct mfu_pipeline *, const struct mfu_pipeline_layout *,
                                                   const struct mfu_pipeline_kept *, struct mfu_error *err);

/* 0, or -1 with `err`: the schedule does not run in this layout (see
 * mfu_pipeline_check()), a duration is negative or not a number, or out of
 * memory. */
int mfu_pipeline_run(struct mfu_pipeline *, const struct mfu_pipeline_layout *, const struct mfu_pipeline_costs *,
                     enum mfu_pipeline_mode, struct mfu_pipeline_step *, struct mfu_error *err);

#endif
