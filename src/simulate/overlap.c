/*
 * overlap.c - the clocks of a step, layer by layer.
 */
#include "simulate/overlap.h"

#include <math.h>

#include "simulate/streams.h"

/* Layers (and micro-steps) that are walked before the rest is extrapolated
 * (chosen: what they wait for was issued one layer before). */
#define WALKED 3

struct walk {
    const struct mfu_overlap_input *in;
    double compute_s;
    double alone_s; /* what the kernels would take alone */
    struct mfu_queue queues[MFU_STREAM_COUNT];
    bool first, last; /* of the micro-steps */
};

/* The clocks at a moment. */
struct moment {
    double compute_s, alone_s, free_s[MFU_STREAM_COUNT];
};

static struct moment now(const struct walk *w)
{
    struct moment m = {.compute_s = w->compute_s, .alone_s = w->alone_s};

    for (int i = 0; i < MFU_STREAM_COUNT; i++)
        m.free_s[i] = w->queues[i].free_s;
    return m;
}

/* Goes on `times` times as it went since `before`. */
static void jump(struct walk *w, double times, const struct moment *before)
{
    for (int i = 0; i < MFU_STREAM_COUNT; i++)
        mfu_queue_jump(&w->queues[i], times, before->free_s[i], before->compute_s);
    w->compute_s += times * (w->compute_s - before->compute_s);
    w->alone_s += times * (w->alone_s - before->alone_s);
}

static bool happens(const struct walk *w, const struct mfu_launch *l)
{
    return l->kernel.launches > 0 && (l->when != MFU_LAST_MICRO_STEP || w->last)
        && (l->when != MFU_FIRST_MICRO_STEP || w->first);
}

static void run(struct walk *w, int i)
{
    const struct mfu_launch *l = &w->in->program->launches[i];
    double seconds = w->in->prices[i].time_s * mfu_launch_whole(l, w->in->program->accum), beside_s,
           needed_s = -INFINITY;

    if (!happens(w, l))
        return;
    if (l->wait_behind >= 0)
        needed_s = mfu_queue_ended_s(&w->queues[l->wait_stream], l->wait_behind);
    if (l->stream != MFU_STREAM_COMPUTE) {
        mfu_queue_issue(&w->queues[l->stream], fmax(w->compute_s, needed_s), seconds);
        return;
    }
    w->compute_s = fmax(w->compute_s, needed_s);
    if (!l->communicates) {
        seconds *= w->in->stretch[l->phase];
        w->alone_s += seconds;
    }
    beside_s = fmin(w->queues[MFU_STREAM_COMMUNICATION].free_s - w->compute_s, seconds); /* copy engines take nothing */
    w->compute_s += seconds + (beside_s > 0 ? w->in->contention * beside_s : 0);
}

static void run_segment(struct walk *w, const struct mfu_segment *seg)
{
    int times = (int)fmin(seg->repeat, WALKED);
    struct moment before = {0};

    for (int r = 0; r < times; r++) {
        before = now(w);
        for (int i = seg->first; i < seg->first + seg->count; i++)
            run(w, i);
    }
    if (seg->repeat > times) /* all the same: what a queue holds is caught up with seldom within a pass */
        jump(w, seg->repeat - times, &before);
}

static void run_pass(struct walk *w, bool optimizer)
{
    const struct mfu_program *p = w->in->program;

    for (int k = 0; k < p->n_segments; k++)
        if ((p->segments[k].phase == MFU_OPTIMIZER_PHASE) == optimizer)
            run_segment(w, &p->segments[k]);
}

double mfu_overlap_exposed_s(const struct mfu_overlap_input *in)
{
    struct walk w = {.in = in, .first = true};
    double left = in->program->accum - 1;

    for (int walked = 1; left > 0; walked++) {
        struct moment before = now(&w);
        double times;

        run_pass(&w, false);
        w.first = false;
        left--;
        if (walked < WALKED)
            continue;
        times = fmin(left, mfu_queues_alike(w.queues, before.free_s, before.compute_s, w.compute_s));
        times = walked < 4 * WALKED ? times : left;
        jump(&w, times, &before);
        left -= times;
    }
    w.last = true;
    run_pass(&w, false);
    run_pass(&w, true);
    return fmax(fmax(w.compute_s, mfu_queues_free_s(w.queues)) - w.alone_s, 0);
}
