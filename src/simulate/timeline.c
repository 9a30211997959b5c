/*
 * timeline.c - host, queue and streams of one optimizer step.
 */
#include "simulate/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A micro-step is steady when it takes as long as the one before it, up to this
 * share; after so many the rest is counted in any case (both chosen). */
#define STEADY 1e-6
#define MOST_SIMULATED 12

struct sim_state {
    const struct mfu_timeline_input *in;
    struct mfu_timeline *out;
    double host_s;                  /* the host's clock */
    double compute_s, link_s;       /* when the streams are free */
    double loaded_s, consumed_s[2]; /* loader: batch ready, two batches ago */
    double *ends, *issued;          /* of the launches in the queue: end, kernels so far */
    int head, n;                    /* oldest still queued; all of this step */
    int cap;
    double kernels;   /* issued so far */
    double *needed_s; /* by launch: when what it waits for has come; or NULL */
    double wanted_s;  /* the same, of launches without a kernel */
    double micro_busy_s, micro_host_gap_s, micro_loader_s, micro_phase_s[MFU_PHASE_COUNT];
    double micro_communication_s, micro_exposed_s, micro_contention_s;
};

static bool queue_room(struct sim_state *c)
{
    int want = c->cap ? 2 * c->cap : 4096;
    double *ends, *issued;

    if (c->n < c->cap)
        return true;
    if (!(ends = realloc(c->ends, (size_t)want * sizeof *ends)))
        return false;
    c->ends = ends;
    if (!(issued = realloc(c->issued, (size_t)want * sizeof *issued)))
        return false;
    c->issued = issued;
    c->cap = want;
    return true;
}

static struct mfu_event *record(struct sim_state *c)
{
    struct mfu_timeline *t = c->out;

    if (!c->in->record)
        return NULL;
    if (t->n_events == t->cap_events) {
        size_t want = t->cap_events ? 2 * t->cap_events : 4096;
        struct mfu_event *more = realloc(t->events, want * sizeof *more);

        if (!more)
            return NULL;
        t->events = more;
        t->cap_events = want;
    }
    return &t->events[t->n_events++];
}

/* The host may be `queue_depth` kernels ahead of the GPU. */
static void wait_for_queue(struct sim_state *c)
{
    while (c->head < c->n && c->kernels - c->issued[c->head] >= c->in->queue_depth) {
        c->host_s = fmax(c->host_s, c->ends[c->head]);
        c->head++;
    }
}

/* When what launch `i` needs from other GPUs is there. */
static double needed(struct sim_state *c, int i)
{
    if (c->needed_s)
        c->wanted_s = fmax(c->wanted_s, c->needed_s[i]);
    return c->wanted_s;
}

static int run_launch(struct sim_state *c, int i, int micro)
{
    const struct mfu_timeline_input *in = c->in;
    const struct mfu_launch *l = &in->program->launches[i];
    double issue_s, ready_s, start_s, end_s, needed_s = needed(c, i);
    struct mfu_event *e;

    if (l->kernel.launches <= 0)
        return 0;
    if (!queue_room(c))
        return -1;
    wait_for_queue(c);
    issue_s = c->host_s;
    c->host_s += l->kernel.launches * in->dispatch_s[l->phase];
    c->kernels += l->kernel.launches;
    ready_s = issue_s + in->dispatch_s[l->phase]; /* its first kernel is in the queue */
    start_s = fmax(c->compute_s, ready_s + (ready_s > c->compute_s ? in->latency_s : 0));
    c->micro_host_gap_s += start_s - c->compute_s;
    c->micro_exposed_s += fmax(needed_s - start_s, 0);
    start_s = fmax(start_s, needed_s);
    /* The kernels of one launch follow each other, or wait for the host. */
    end_s = fmax(start_s + in->seconds[i], c->host_s);
    if (c->link_s > start_s) {
        double slower_s = in->contention * (fmin(end_s, c->link_s) - start_s);

        c->micro_contention_s += slower_s;
        end_s += slower_s;
    }
    c->micro_busy_s += in->seconds[i];
    c->micro_phase_s[l->phase] += end_s - c->compute_s;
    c->compute_s = end_s;
    c->ends[c->n] = end_s;
    c->issued[c->n++] = c->kernels;
    if ((e = record(c)))
        *e = (struct mfu_event){.launch = i,
                                .micro_step = micro,
                                .stream = MFU_STREAM_COMPUTE,
                                .issue_s = issue_s,
                                .issued_s = c->host_s,
                                .start_s = start_s,
                                .end_s = end_s};
    return 0;
}

/* The host issues it when it has come this far. */
static void run_collective(struct sim_state *c, const struct mfu_collective *x, int micro)
{
    double start_s;
    struct mfu_event *e;

    c->compute_s += x->copies_s;
    start_s = fmax(c->link_s, fmax(c->compute_s, c->host_s));
    c->link_s = start_s + x->seconds;
    c->micro_communication_s += x->seconds;
    c->micro_exposed_s += x->copies_s;
    if (x->before_launch >= 0 && c->needed_s)
        c->needed_s[x->before_launch] = c->link_s;
    if ((e = record(c)))
        *e = (struct mfu_event){.launch = -1,
                                .micro_step = micro,
                                .stream = MFU_STREAM_COMMUNICATION,
                                .name = x->name,
                                .bytes = x->bytes,
                                .issue_s = c->host_s,
                                .issued_s = c->host_s,
                                .start_s = start_s,
                                .end_s = c->link_s};
}

/* Those of a micro-step that may start now that launch `after` has ended. */
static void run_collectives(struct sim_state *c, int after, size_t *next, int micro, bool last)
{
    for (; *next < c->in->n_collectives && c->in->collectives[*next].after_launch <= after; ++*next) {
        enum mfu_collective_when when = c->in->collectives[*next].when;

        if (when == MFU_EVERY_MICRO_STEP || (when == MFU_LAST_MICRO_STEP && last))
            run_collective(c, &c->in->collectives[*next], micro);
    }
}

/* The loader works two batches ahead, beside the GPU. */
static void take_batch(struct sim_state *c)
{
    double before = c->host_s;

    if (c->in->loader_s <= 0)
        return;
    c->loaded_s = fmax(c->loaded_s, c->consumed_s[0]) + c->in->loader_s;
    c->host_s = fmax(c->host_s, c->loaded_s);
    c->consumed_s[0] = c->consumed_s[1];
    c->consumed_s[1] = c->host_s;
    c->micro_loader_s += c->host_s - before;
}

static void clear_micro(struct sim_state *c)
{
    c->micro_busy_s = c->micro_host_gap_s = c->micro_loader_s = 0;
    c->micro_communication_s = c->micro_exposed_s = c->micro_contention_s = 0;
    memset(c->micro_phase_s, 0, sizeof c->micro_phase_s);
    c->wanted_s = 0;
}

static int run_micro_step(struct sim_state *c, int micro, bool last)
{
    const struct mfu_program *p = c->in->program;
    size_t next = 0;

    clear_micro(c);
    take_batch(c);
    run_collectives(c, -1, &next, micro, last);
    for (int k = 0; k < p->n_segments; k++) {
        const struct mfu_segment *seg = &p->segments[k];

        for (int r = 0; seg->phase != MFU_OPTIMIZER_PHASE && r < (int)seg->repeat; r++)
            for (int i = seg->first; i < seg->first + seg->count; i++) {
                if (run_launch(c, i, micro) < 0)
                    return -1;
                run_collectives(c, i, &next, micro, last);
            }
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

/* All clocks jump over `times` micro-steps of `delta_s` each. */
static void skip(struct sim_state *c, double times, double delta_s)
{
    double jump = times * delta_s;

    c->host_s += jump;
    c->compute_s += jump;
    c->link_s += jump;
    c->loaded_s += jump;
    c->consumed_s[0] += jump;
    c->consumed_s[1] += jump;
    for (int i = c->head; i < c->n; i++)
        c->ends[i] += jump;
    add_micro(c, times);
}

/* The optimizer needs all sums; the next step all weights. */
static void wait_for_link(struct sim_state *c)
{
    c->micro_exposed_s += fmax(c->link_s - c->compute_s, 0);
    c->compute_s = fmax(c->compute_s, c->link_s);
}

static int run_step(struct sim_state *c)
{
    const struct mfu_timeline_input *in = c->in;
    const struct mfu_program *p = in->program;
    int accum = (int)fmin(p->accum, 1e9);
    double before_s = c->compute_s, delta_s = -1;

    c->head = c->n = 0;
    c->kernels = 0;
    for (int micro = 0; micro < accum; micro++) {
        double last_delta_s = delta_s;

        if (run_micro_step(c, micro, micro == accum - 1) < 0)
            return -1;
        add_micro(c, 1);
        delta_s = c->compute_s - before_s;
        before_s = c->compute_s;
        if (micro > 0 && micro < accum - 2
            && (fabs(delta_s - last_delta_s) <= STEADY * delta_s || micro >= MOST_SIMULATED)) {
            skip(c, accum - 2 - micro, delta_s); /* the last one has the collectives */
            before_s = c->compute_s;
            micro = accum - 2;
        }
    }
    clear_micro(c);
    wait_for_link(c);
    for (int k = 0; k < p->n_segments; k++)
        if (p->segments[k].phase == MFU_OPTIMIZER_PHASE)
            for (int r = 0; r < (int)p->segments[k].repeat; r++)
                for (int i = p->segments[k].first; i < p->segments[k].first + p->segments[k].count; i++)
                    if (run_launch(c, i, -1) < 0)
                        return -1;
    for (size_t i = 0; i < in->n_collectives; i++)
        if (in->collectives[i].when == MFU_AFTER_OPTIMIZER)
            run_collective(c, &in->collectives[i], -1);
    wait_for_link(c);
    add_micro(c, 1);
    if (in->sync_each_step)
        c->host_s = fmax(c->host_s, c->compute_s);
    c->host_s += in->step_constant_s;
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

    for (int k = 0; k < p->n_segments; k++)
        for (int i = p->segments[k].first; i < p->segments[k].first + p->segments[k].count; i++)
            host += p->segments[k].repeat * (p->segments[k].phase == MFU_OPTIMIZER_PHASE ? 1 : p->accum)
                * p->launches[i].kernel.launches * in->dispatch_s[p->segments[k].phase];
    return host;
}

/* Room for what launches wait for, where any does. */
static int mark_needs(struct sim_state *c)
{
    for (size_t i = 0; i < c->in->n_collectives && !c->needed_s; i++)
        if (c->in->collectives[i].before_launch >= 0
            && !(c->needed_s = calloc((size_t)c->in->program->n_launches + 1, sizeof *c->needed_s)))
            return -1;
    return 0;
}

int mfu_timeline_run(const struct mfu_timeline_input *in, struct mfu_timeline *t)
{
    struct sim_state c = {.in = in, .out = t};
    double begin_s = 0;
    int status = mark_needs(&c);

    /* The first step fills the loader's and the host's lead; the second is
     * like all that follow. */
    for (int step = 0; step < 2 && status == 0; step++) {
        clear(t);
        begin_s = fmax(c.host_s, c.compute_s);
        if (in->sync_each_step)
            c.compute_s = fmax(c.compute_s, 0);
        status = run_step(&c);
    }
    t->step_s = fmax(c.host_s, c.compute_s) - begin_s;
    t->idle_s = fmax(t->step_s - t->busy_s, 0);
    t->host_s = dispatching(in);
    for (size_t i = 0; i < t->n_events; i++) { /* the step begins at 0 */
        t->events[i].issue_s -= begin_s;
        t->events[i].issued_s -= begin_s;
        t->events[i].start_s -= begin_s;
        t->events[i].end_s -= begin_s;
    }
    free(c.ends);
    free(c.issued);
    free(c.needed_s);
    return status;
}

void mfu_timeline_release(struct mfu_timeline *t)
{
    free(t->events);
    memset(t, 0, sizeof *t);
}
