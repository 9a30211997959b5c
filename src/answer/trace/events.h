/*
 * events.h - what a profiler recorded, of any format: between the readers of formats and what makes a step of it.
 */
#ifndef MFU_TRACE_EVENTS_H
#define MFU_TRACE_EVENTS_H

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "answer/trace/recording.h"

struct mfu_error;

struct mfu_event {
    const char *name;
    double begin, end; /* seconds */
    double thread;
    double correlation;           /* that a kernel shares with its launch; NAN */
    double external;              /* and they with the operation that wanted them; NAN */
    const json_t *shapes, *types; /* of an operation's tensors, lists of lists and of texts; NULL */
    const char *sizes;            /* or "2x64;64"; NULL */
    const json_t *own; /* args of a kernel that mfuplan wrote, whose name, kind and sizes are the plan's; NULL */
    bool calls;        /* another operation, inside of it */
};

struct mfu_events {
    struct mfu_event *list;
    size_t n, cap;
};

#define MFU_EVENT_LISTS 6
#define MFU_TIMED_LISTS 3 /* of them, the first: an unmarked step lasts from their first event to their last */
struct mfu_trace_events {
    union {
        struct {
            struct mfu_events kernels, ops, launches, waits, steps, autograd;
        };
        struct mfu_events lists[MFU_EVENT_LISTS];
    };
    json_t *document;        /* where the events' texts are; NULL: in the recording's arena */
    double begin, end;       /* of the step, on the host */
    double backward, behind; /* where backward begins in it and ends; not in order: nowhere */
    struct mfu_event **by_id, **by_correlation;
};

/* Takes an event into a list.  -1: out of memory. */
int mfu_event_keep(struct mfu_events *, struct mfu_event);

/* Takes an event into the list of its category (kineto's words, or "nvtx"), or into none.  -1: out of memory. */
int mfu_event_sort(struct mfu_trace_events *, const char *category, struct mfu_event);

/* Readers of formats.  -1 with `err`. */
int mfu_kineto_read(FILE *, const char *path, struct mfu_trace_events *, struct mfu_recording *, struct mfu_error *err);
int mfu_nsys_read(const char *path, struct mfu_trace_events *, struct mfu_recording *, struct mfu_error *err);

#endif
