/*
 * streams.c - clocks of streams.
 */
#include "simulate/streams.h"

#include <math.h>

#include "base/extreme.h"

double mfu_queue_issue(struct mfu_queue *q, double ready_s, double seconds)
{
    double start_s = mfu_most(q->free_s, ready_s);

    q->free_s = start_s + seconds;
    q->ends_s[q->n++ % MFU_STREAM_RECENT] = q->free_s;
    return start_s;
}

double mfu_queue_ended_s(const struct mfu_queue *q, int behind)
{
    int at = q->n - 1 - behind;

    if (behind < 0 || at < 0 || behind >= MFU_STREAM_RECENT)
        return -INFINITY;
    return q->ends_s[at % MFU_STREAM_RECENT];
}

void mfu_queue_jump(struct mfu_queue *q, double seconds)
{
    q->free_s += seconds;
    for (int i = 0; i < MFU_STREAM_RECENT; i++)
        q->ends_s[i] += seconds;
}

double mfu_queues_alike(const struct mfu_queue queues[MFU_STREAM_COUNT], const double free_s[MFU_STREAM_COUNT],
                        double before_s, double compute_s)
{
    double times = INFINITY;

    for (int i = 0; i < MFU_STREAM_COUNT; i++) {
        double behind_s = queues[i].free_s - compute_s;
        double nearer_s = compute_s - before_s - mfu_most(queues[i].free_s - mfu_most(free_s[i], before_s), 0);

        if (behind_s > 0 && nearer_s > 0)
            times = mfu_least(times, floor(behind_s / nearer_s));
    }
    return times;
}

double mfu_queues_free_s(const struct mfu_queue queues[MFU_STREAM_COUNT])
{
    double free_s = -INFINITY;

    for (int i = 0; i < MFU_STREAM_COUNT; i++)
        if (i != MFU_STREAM_COMPUTE && queues[i].n > 0)
            free_s = mfu_most(free_s, queues[i].free_s);
    return free_s;
}
