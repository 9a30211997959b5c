/*
 * trace.h - a simulated step as a trace that Perfetto (ui.perfetto.dev) and
 * chrome://tracing open: the host, the streams of the GPU, memory.
 *
 * The object form of the Trace Event Format: complete events ("X") for slices,
 * flows ("s", "f") from a dispatch to its kernel, counters ("C") for memory,
 * metadata ("M") for names; times in microseconds, with three decimals.
 *
 * Micro-steps between the simulated ones, which are all alike, are left out and
 * what follows them moves up; where that is, an instant event says so.
 */
#ifndef MFU_TRACE_H
#define MFU_TRACE_H

struct mfu_error;
struct mfu_plan;
struct mfu_simulation;

struct mfu_trace_facts {
    long events;   /* written, metadata included */
    long kernels;  /* slices on the streams */
    long left_out; /* micro-steps */
    double span_s; /* first to last moment */
};

/* Needs a simulation that recorded.  The file appears when it is complete. */
int mfu_trace_write(const char *path, const struct mfu_plan *, const struct mfu_simulation *, struct mfu_trace_facts *,
                    struct mfu_error *);

#endif
