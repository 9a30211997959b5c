/*
 * timeline.c - host, queue and streams of one optimizer step.
 */
#include "simulate/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/extreme.h"
#include "base/list.h"
#include "simulate/streams.h"

/* A micro-step is steady when it takes as long as the one before it, up to this
 * share; after so many the rest is counted in any case (both chosen). */
#define STEADY 1e-6
#define MOST_SIMULATED 12

struct sim_state {
    const struct mfu_timeline_input *in;
    struct mfu_timeline *out;
    double host_s;                             /* the host's clock */
    double compute_s;                          /* when the compute stream is free */
    struct mfu_queue queues[MFU_STREAM_COUNT]; /* the others */
    double loaded_s, consumed_s[2];            /* loader: batch ready, two batches ago */
    double *ends, *issued;                     /* of the launches in the queue: end, kernels so far */
    int head, n;                               /* oldest still queued; of this step, how many are remembered */
    int cap;
    double kernels; /* issued so far */
    double micro_busy_s, micro_host_gap_s, micro_loader_s, micro_phase_s[MFU_PHASE_COUNT];
    double micro_communication_s, micro_exposed_s, micro_contention_s;
};

/* Room for one more launch; those that have left the queue are forgotten. */
static bool queue_room(struct sim_state *c)
{
    int cap = c->cap;

    if (c->n == c->cap && c->head > c->n / 2) {
        memmove(c->ends, c->ends + c->head, (size_t)(c->n - c->head) * sizeof *c->ends);
        memmove(c->issued, c->issued + c->head, (size_t)(c->n - c->head) * sizeof *c->issued);
        c->n -= c->head;
        c->head = 0;
    }
    if (!MFU_ROOM(c->issued, c->n + 1, cap))
        return false;
    return MFU_ROOM(c->ends, c->n + 1, c->cap);
}

/* 0, or -1 without memory. */
static inline int record(struct sim_state *c, struct mfu_event e)
{
    struct mfu_timeline *t = c->out;

    if (!c->in->record)
        return 0;
    if (!MFU_ROOM(t->events, t->n_events + 1, t->cap_events))
        return -1;
    t->events[t->n_events++] = e;
    return 0;
}

/* The host may be `queue_depth` kernels ahead of the GPU. */
static void wait_for_queue(struct sim_state *c)
{
    while (c->head < c->n && c->kernels - c->issued[c->head] >= c->in->queue_depth) {
        c->host_s = mfu_most(c->host_s, c->ends[c->head]);
        c->head++;
    }
}

/* When what a launch needs from other GPUs is there. */
static double needed(const struct sim_state *c, const struct mfu_launch *l)
{
    return l->wait_behind >= 0 ? mfu_queue_ended_s(&c->queues[l->wait_stream], l->wait_behind) : -INFINITY;
}

/* The host issues it when it has come this far. */
static int run_collective(struct sim_state *c, int i, const struct mfu_launch *l, double seconds, int micro)
{
    struct mfu_queue *q = &c->queues[l->stream];
    double start_s = mfu_queue_issue(q, mfu_most(mfu_most(c->compute_s, c->host_s), needed(c, l)), seconds);

    c->micro_communication_s += seconds;
    return record(c,
                  (struct mfu_event){.launch = i,
                                     .micro_step = micro,
                                     .stream = l->stream,
                                     .issue_s = c->host_s,
                                     .issued_s = c->host_s,
                                     .start_s = start_s,
                                     .end_s = q->free_s});
}

static int run_kernels(struct sim_state *c, int i, const struct mfu_launch *l, double whole, int micro)
{
    const struct mfu_timeline_input *in = c->in;
    double seconds = whole * in->seconds[i], kernels = whole * l->work->kernel.launches, slower_s = 0;
    double issue_s, ready_s, start_s, end_s, needed_s = needed(c, l),
                                             free_s = c->queues[MFU_STREAM_COMMUNICATION].free_s;
    double dispatch_s = in->dispatch_s[mfu_launch_phase(l)];

    if (!queue_room(c))
        return -1;
    wait_for_queue(c);
    issue_s = c->host_s;
    c->host_s += kernels * dispatch_s;
    c->kernels += kernels;
    ready_s = issue_s + dispatch_s; /* its first kernel is in the queue */
    start_s = mfu_most(c->compute_s, ready_s + (ready_s > c->compute_s ? in->latency_s : 0));
    c->micro_host_gap_s += start_s - c->compute_s;
    c->micro_exposed_s += mfu_most(needed_s - start_s, 0);
    start_s = mfu_most(start_s, needed_s);
    /* The kernels of one launch follow each other, or wait for the host. */
    end_s = mfu_most(start_s + seconds, c->host_s);
    if (free_s > start_s) {
        slower_s = in->contention * (fmin(end_s, free_s) - start_s);
        c->micro_contention_s += slower_s;
        end_s += slower_s;
    }
    *(l->communicates ? &c->micro_exposed_s : &c->micro_busy_s) += seconds;
    if (l->work->collective.axes != 0)
        c->micro_communication_s += seconds;
    c->micro_phase_s[mfu_launch_pass(l)] += end_s - c->compute_s;
    c->compute_s = end_s;
    c->ends[c->n] = end_s;
    c->issued[c->n++] = c->kernels;
    return record(c,
                  (struct mfu_event){.launch = i,
                                     .micro_step = micro,
                                     .stream = MFU_STREAM_COMPUTE,
                                     .issue_s = issue_s,
                                     .issued_s = c->host_s,
                                     .start_s = end_s - seconds - slower_s, /* as if one behind the other, at the end */
                                     .end_s = end_s});
}

/* `micro` is -1 in the optimizer. */
static int run_launch(struct sim_state *c, int i, const struct mfu_launch *l, int micro, bool last)
{
    double whole = mfu_launch_whole(l, c->in->program->accum);

    if (l->work->kernel.launches <= 0 || (l->work->when == MFU_FIRST_MICRO_STEP && micro > 0)
        || (l->work->when == MFU_LAST_MICRO_STEP && !last))
        return 0;
    if (l->stream == MFU_STREAM_COMPUTE)
        return run_kernels(c, i, l, whole, micro);
    return run_collective(c, i, l, whole * c->in->seconds[i], micro);
}

/* The loader works two batches ahead, beside the GPU. */
static void take_batch(struct sim_state *c)
{
    double before = c->host_s;

    if (c->in->loader_s <= 0)
        return;
    c->loaded_s = mfu_most(c->loaded_s, c->consumed_s[0]) + c->in->loader_s;
    c->host_s = mfu_most(c->host_s, c->loaded_s);
    c->consumed_s[0] = c->consumed_s[1];
    c->consumed_s[1] = c->host_s;
    c->micro_loader_s += c->host_s - before;
}

static void clear_micro(struct sim_state *c)
{
    c->micro_busy_s = c->micro_host_gap_s = c->micro_loader_s = 0;
    c->micro_communication_s = c->micro_exposed_s = c->micro_contention_s = 0;
    memset(c->micro_phase_s, 0, sizeof c->micro_phase_s);
}

static int run_micro_step(struct sim_state *c, int micro, bool last)
{
    const struct mfu_program *p = c->in->program;

    clear_micro(c);
    take_batch(c);
    for (int k = 0; k < p->n_segments; k++) {
        const struct mfu_segment *seg = &p->segments[k];

        for (int r = 0; seg->phase != MFU_OPTIMIZER_PHASE && r < (int)seg->repeat; r++)
            for (int i = seg->first; i < seg->first + seg->count; i++)
                if (run_launch(c, i, mfu_launch_in(p, seg, i), micro, last) < 0)
                    return -1;
    }
    c->out->micro_steps_simulated++;
    return 0;
}

static void add_micro(struct sim_state *c, double times)
{
    struct mfu_timeline *t = c->out;

    t->busy_s += times * c->micro_busy_s;
    t->communication_s += times * c->micro_communication_s;
    t->communication_exposed_s += times * c->micro_exposed_s;
    t->contention_s += times * c->micro_contention_s;
    t->host_bound_s += times * (c->micro_host_gap_s - fmin(c->micro_host_gap_s, c->micro_loader_s));
    t->loader_wait_s += times * fmin(c->micro_host_gap_s, c->micro_loader_s);
    for (int i = 0; i < MFU_PHASE_COUNT; i++)
        t->phase_s[i] += times * c->micro_phase_s[i];
}

/* All clocks jump over `times` micro-steps like the one since `before_s`, when the
 * queues were free at free_s. */
static void skip(struct sim_state *c, double times, double before_s, const double free_s[MFU_STREAM_COUNT])
{
    double jump = times * (c->compute_s - before_s);

    for (int i = 0; i < MFU_STREAM_COUNT; i++)
        mfu_queue_jump(&c->queues[i], times * (c->queues[i].free_s - free_s[i]));
    c->host_s += jump;
    c->compute_s += jump;
    c->loaded_s += jump;
    c->consumed_s[0] += jump;
    c->consumed_s[1] += jump;
    for (int i = c->head; i < c->n; i++)
        c->ends[i] += jump;
    add_micro(c, times);
}

/* The next step needs all weights. */
static void wait_for_others(struct sim_state *c)
{
    double free_s = mfu_queues_free_s(c->queues);

    c->micro_exposed_s += mfu_most(free_s - c->compute_s, 0);
    c->compute_s = mfu_most(c->compute_s, free_s);
}

static int run_step(struct sim_state *c)
{
    const struct mfu_timeline_input *in = c->in;
    const struct mfu_program *p = in->program;
    int accum = (int)fmin(p->accum, 1e9);
    double before_s = c->compute_s, delta_s = -1, free_s[MFU_STREAM_COUNT];

    c->head = c->n = 0;
    c->kernels = 0;
    for (int micro = 0; micro < accum; micro++) {
        double last_delta_s = delta_s;

        for (int i = 0; i < MFU_STREAM_COUNT; i++)
            free_s[i] = c->queues[i].free_s;
        if (run_micro_step(c, micro, micro == accum - 1) < 0)
            return -1;
        add_micro(c, 1);
        delta_s = c->compute_s - before_s;
        if (micro > 0 && micro < accum - 2
            && (fabs(delta_s - last_delta_s) <= STEADY * delta_s || micro >= MOST_SIMULATED)) {
            double times =
                micro >= MOST_SIMULATED ? INFINITY : mfu_queues_alike(c->queues, free_s, before_s, c->compute_s);

            times = fmin(times, accum - 2 - micro); /* the last one has the collectives */
            skip(c, times, before_s, free_s);
            micro += (int)times;
        }
        before_s = c->compute_s;
    }
    clear_micro(c);
    for (int k = 0; k < p->n_segments; k++) {
        const struct mfu_segment *seg = &p->segments[k];

        for (int r = 0; seg->phase == MFU_OPTIMIZER_PHASE && r < (int)seg->repeat; r++)
            for (int i = seg->first; i < seg->first + seg->count; i++)
                if (run_launch(c, i, mfu_launch_in(p, seg, i), -1, true) < 0)
                    return -1;
    }
    wait_for_others(c);
    add_micro(c, 1);
    c->host_s = mfu_most(c->host_s, c->compute_s) + in->step_constant_s; /* it waits for the GPU */
    return 0;
}

static void clear(struct mfu_timeline *t)
{
    struct mfu_event *events = t->events;
    size_t cap = t->cap_events;

    memset(t, 0, sizeof *t);
    t->events = events;
    t->cap_events = cap;
}

static double dispatching(const struct mfu_timeline_input *in)
{
    const struct mfu_program *p = in->program;
    double host = 0;

    for (int k = 0; k < p->n_segments; k++) {
        const struct mfu_segment *seg = &p->segments[k];

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            const struct mfu_launch *l = mfu_launch_in(p, seg, i);

            host += seg->repeat * (seg->phase == MFU_OPTIMIZER_PHASE ? 1 : p->accum) * l->work->kernel.launches
                * in->dispatch_s[mfu_launch_phase(l)];
        }
    }
    return host;
}

int mfu_timeline_run(const struct mfu_timeline_input *in, struct mfu_timeline *t)
{
    struct sim_state c = {.in = in, .out = t};
    double begin_s = 0;
    int status = 0;

    /* A step begins where all of the one before it has ended, but for a constant that the host takes.  Only a loader is
     * ahead of it: its lead is filled in a first step, the second is like all that follow. */
    if (in->loader_s <= 0)
        c.host_s = in->step_constant_s;
    for (int step = in->loader_s <= 0; step < 2 && status == 0; step++) {
        clear(t);
        begin_s = mfu_most(c.host_s, c.compute_s);
        status = run_step(&c);
    }
    t->step_s = mfu_most(c.host_s, c.compute_s) - begin_s;
    t->idle_s = mfu_most(t->step_s - t->busy_s, 0);
    t->host_s = dispatching(in);
    for (size_t i = 0; i < t->n_events; i++) { /* the step begins at 0 */
        t->events[i].issue_s -= begin_s;
        t->events[i].issued_s -= begin_s;
        t->events[i].start_s -= begin_s;
        t->events[i].end_s -= begin_s;
    }
    free(c.ends);
    free(c.issued);
    return status;
}

void mfu_timeline_release(struct mfu_timeline *t)
{
    free(t->events);
    memset(t, 0, sizeof *t);
}
