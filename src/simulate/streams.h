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
/* Moves the clock. */
void mfu_queue_jump(struct mfu_queue *, double seconds);

/* When the last of all streams but compute is free. */
double mfu_queues_free_s(const struct mfu_queue queues[MFU_STREAM_COUNT]);

#endif
