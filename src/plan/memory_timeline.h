/*
 * memory_timeline.h - memory over the recorded step: what every part holds after each
 * event, and when that is; for pictures and snapshots.
 *
 * Time is that of the GPU's work: each launch begins when those before it in
 * the replayed micro-steps and the optimizer have taken what they take.
 */
#ifndef MFU_MEMORY_TIMELINE_H
#define MFU_MEMORY_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/program.h"

struct mfu_error;
struct mfu_plan;
struct mfu_scenario;
struct mfu_simulation;

struct mfu_memory_timeline_point {
    double time_s;
    int launch, micro_step; /* of the sample; -1: none, optimizer */
    enum mfu_phase phase;
    double allocated, reserved;
    double parts[MFU_PART_COUNT]; /* sums to `allocated` */
};

/* A stretch of one phase. */
struct mfu_memory_timeline_span {
    enum mfu_phase phase;
    int micro_step;
    size_t first, last; /* points */
    double begin_s, end_s;
};
#define MFU_MEMORY_TIMELINE_SPANS 16

struct mfu_memory_timeline {
    struct mfu_memory_timeline_point *points; /* one for each sample; owned */
    size_t n;
    struct mfu_memory_timeline_span spans[MFU_MEMORY_TIMELINE_SPANS];
    int n_spans;
    int *died;      /* of every life: the sample before which it is gone; n: never */
    double seconds; /* of all */
    double highest_allocated, highest_reserved;
};

/* Fails when nothing was recorded (llm.c allocates once). */
int mfu_memory_timeline_make(const struct mfu_simulation *, struct mfu_memory_timeline *, struct mfu_error *);

/* That of a plan with pp > 1: of the stage that holds the most, with the microbatches that are in flight, over a whole
 * step.  It has points alone: no spans, no deaths. */
int mfu_memory_timeline_of_pipeline(const struct mfu_plan *, struct mfu_memory_timeline *, struct mfu_error *);

/* The one or the other.  Of a pipeline nothing needs to be recorded. */
int mfu_memory_timeline_of(const struct mfu_plan *, const struct mfu_simulation *, struct mfu_memory_timeline *,
                           struct mfu_error *);
bool mfu_memory_timeline_records(const struct mfu_scenario *);
void mfu_memory_timeline_release(struct mfu_memory_timeline *);

/* "forward", or "forward of a later micro-step": into buf. */
const char *mfu_memory_timeline_span_name(const struct mfu_memory_timeline *, int span, char *buf, size_t size);

/* Bytes that a tensor takes in the caching allocator. */
double mfu_memory_timeline_block_bytes(double bytes);

/* At most `most` points; where several fall together the highest stays.
 * Fills `chosen` with numbers of points; returns how many. */
size_t mfu_memory_timeline_thin(const struct mfu_memory_timeline *, size_t most, size_t *chosen);

#endif
