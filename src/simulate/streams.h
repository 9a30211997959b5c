/*
 * streams.h - the GPU's queues beside the compute stream: first in, first out.
 */
#ifndef MFU_STREAMS_H
#define MFU_STREAMS_H

#include "graph/program.h"

#define MFU_STREAM_RECENT 32 /* launches whose ends are remembered */

struct mfu_queue {
    double free_s;                    /* when what was issued last has ended */
    double ends_s[MFU_STREAM_RECENT]; /* of the latest, in turn */
    int n;                            /* issued so far */
};

/* Issues what may start at `ready_s` and takes `seconds`; returns when it starts. */
double mfu_queue_issue(struct mfu_queue *, double ready_s, double seconds);
/* When all but the latest `behind` have ended. */
double mfu_queue_ended_s(const struct mfu_queue *, int behind);
/* All its clocks are so much later. */
void mfu_queue_jump(struct mfu_queue *, double seconds);

/* How often the compute stream can go on as since `before_s`, when the queues were free at free_s,
 * until it has caught up with one of them. */
double mfu_queues_alike(const struct mfu_queue queues[MFU_STREAM_COUNT], const double free_s[MFU_STREAM_COUNT],
                        double before_s, double compute_s);

/* When the last of all streams but compute is free. */
double mfu_queues_free_s(const struct mfu_queue queues[MFU_STREAM_COUNT]);

#endif
