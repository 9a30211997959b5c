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
};

static void jump(struct walk *w, double seconds, double alone_s)
{
    w->compute_s += seconds;
    w->alone_s += alone_s;
    for (int i = 0; i < MFU_STREAM_COUNT; i++)
        mfu_queue_jump(&w->queues[i], seconds);
}

static bool happens(const struct mfu_launch *l, bool last)
{
    return l->kernel.launches > 0 && (l->when != MFU_LAST_MICRO_STEP || last);
}

static void run(struct walk *w, int i, bool last)
{
    const struct mfu_launch *l = &w->in->program->launches[i];
    double whole = l->when == MFU_LAST_MICRO_STEP ? mfu_launch_whole(l, w->in->program->accum) : 1;
    double seconds = w->in->prices[i].time_s * whole, beside_s;

    if (!happens(l, last))
        return;
    if (l->wait_behind >= 0)
        w->compute_s = fmax(w->compute_s, mfu_queue_ended_s(&w->queues[l->wait_stream], l->wait_behind));
    if (l->stream != MFU_STREAM_COMPUTE) {
        mfu_queue_issue(&w->queues[l->stream], w->compute_s, seconds);
        return;
    }
    if (!l->communicates) {
        seconds *= w->in->stretch[l->phase];
        w->alone_s += seconds;
    }
    beside_s = fmin(mfu_queues_free_s(w->queues) - w->compute_s, seconds);
    w->compute_s += seconds + (beside_s > 0 ? w->in->contention * beside_s : 0);
}

static void run_segment(struct walk *w, const struct mfu_segment *seg, bool last)
{
    int times = (int)fmin(seg->repeat, WALKED);
    double before_s = w->compute_s, before_alone_s = w->alone_s;

    for (int r = 0; r < times; r++) {
        before_s = w->compute_s;
        before_alone_s = w->alone_s;
        for (int i = seg->first; i < seg->first + seg->count; i++)
            run(w, i, last);
    }
    if (seg->repeat > times)
        jump(w, (seg->repeat - times) * (w->compute_s - before_s),
             (seg->repeat - times) * (w->alone_s - before_alone_s));
}

static void run_pass(struct walk *w, bool optimizer, bool last)
{
    const struct mfu_program *p = w->in->program;

    for (int k = 0; k < p->n_segments; k++)
        if ((p->segments[k].phase == MFU_OPTIMIZER_PHASE) == optimizer)
            run_segment(w, &p->segments[k], last);
}

double mfu_overlap_exposed_s(const struct mfu_overlap_input *in)
{
    struct walk w = {.in = in};
    double before_s = 0, before_alone_s = 0, accum = in->program->accum;

    for (int micro = 0; micro < fmin(accum - 1, WALKED); micro++) {
        before_s = w.compute_s;
        before_alone_s = w.alone_s;
        run_pass(&w, false, false);
    }
    if (accum - 1 > WALKED)
        jump(&w, (accum - 1 - WALKED) * (w.compute_s - before_s), (accum - 1 - WALKED) * (w.alone_s - before_alone_s));
    run_pass(&w, false, true);
    run_pass(&w, true, true);
    return fmax(fmax(w.compute_s, mfu_queues_free_s(w.queues)) - w.alone_s, 0);
}
