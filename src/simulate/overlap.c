/*
 * overlap.c - the clocks of a step, layer by layer.
 */
#include "simulate/overlap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/extreme.h"
#include "base/list.h"
#include "simulate/streams.h"

/* Of layers and micro-steps that are alike so many are walked at most (chosen; those that follow each other
 * as the ones before did are counted earlier). */
#define MOST_WALKED 64

/* Clocks repeat themselves when they move as far as in the round before, but for this share of a round. */
#define STEADY 1e-9

/* ---- stretches ----------------------------------------------------------- */

static bool goes_on(const struct mfu_overlap_stretch *s, const struct mfu_launch *before, const struct mfu_launch *l)
{
    return before->stream == MFU_STREAM_COMPUTE && l->stream == MFU_STREAM_COMPUTE && l->wait_behind < 0
        && l->work->when == before->work->when && mfu_launch_pass(l) == s->pass;
}

bool mfu_overlap_cut(struct mfu_overlap_stretches *all, const struct mfu_program *g)
{
    int n = 0;

    if (!MFU_ROOM(all->begin, g->n_segments + 1, all->cap_begin))
        return false;
    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];
        struct mfu_overlap_stretch *s = NULL;

        all->begin[k] = n;
        for (int i = seg->first; i < seg->first + seg->count; i++) {
            const struct mfu_launch *l = &g->launches[i];

            if (!(l->work->kernel.launches > 0))
                continue;
            if (!s || !goes_on(s, &g->launches[s->first], l)) {
                if (!MFU_ROOM(all->list, n + 1, all->cap_list))
                    return false;
                s = &all->list[n++];
                *s = (struct mfu_overlap_stretch){.first = i, .pass = mfu_launch_pass(l)};
            }
            s->count = i + 1 - s->first;
        }
    }
    all->begin[g->n_segments] = n;
    return true;
}

void mfu_overlap_sum(struct mfu_overlap_stretches *all, const struct mfu_program *g)
{
    for (int k = 0; k < all->begin[g->n_segments]; k++) {
        struct mfu_overlap_stretch *s = &all->list[k];

        s->seconds = s->way_s = s->kernels = 0;
        for (int i = s->first; i < s->first + s->count; i++) {
            s->seconds += all->seconds[i];
            if (g->launches[i].communicates)
                s->way_s += all->seconds[i];
            else
                s->kernels += g->launches[i].work->kernel.launches;
        }
        s->kernels *= mfu_launch_whole(&g->launches[s->first], g->accum);
    }
}

bool mfu_overlap_price(struct mfu_overlap_stretches *all, const struct mfu_program *g, const struct mfu_price *prices)
{
    if (!MFU_ROOM(all->seconds, g->n_launches, all->cap_seconds))
        return false;
    for (int i = 0; i < g->n_launches; i++)
        all->seconds[i] = prices[i].time_s * mfu_launch_whole(&g->launches[i], g->accum);
    if (!mfu_overlap_cut(all, g))
        return false;
    mfu_overlap_sum(all, g);
    return true;
}

void mfu_overlap_release(struct mfu_overlap_stretches *all)
{
    free(all->seconds);
    free(all->list);
    free(all->begin);
    memset(all, 0, sizeof *all);
}

/* ---- clocks -------------------------------------------------------------- */

/* A GPU that runs one kernel after the other, and the host that launches them, since a pass began. */
struct clocks {
    double begin_s, gpu_s, host_s;
};

/* All that passes, in seconds. */
struct moment {
    struct clocks all, alone; /* alone: nothing is waited for */
    double way_s;             /* of collectives in the compute stream */
    double free_s[MFU_STREAM_COUNT];
};

struct walk {
    const struct mfu_overlap_input *in;
    struct moment at;
    const struct mfu_overlap_host *host;
    struct mfu_queue queues[MFU_STREAM_COUNT];
    bool first, last; /* of the micro-steps */
};

/* No kernel has ended that was not launched; where both take about as long, each waits now and then. */
static double reached_s(const struct walk *w, const struct clocks *c)
{
    double gpu_s = c->gpu_s, host_s = c->host_s;

    return c->begin_s + (w->host->waits ? mfu_overlap_late_s(host_s, gpu_s) : mfu_most(gpu_s, host_s));
}

/* Goes on `times` times as it went since `before`. */
static void jump(struct walk *w, double times, const struct moment *before)
{
    double *at = (double *)&w->at;
    const double *was = (const double *)before;

    if (times == 0)
        return;
    for (int i = 0; i < MFU_STREAM_COUNT; i++)
        mfu_queue_jump(&w->queues[i], times * (w->queues[i].free_s - before->free_s[i]));
    for (size_t i = 0; i < sizeof w->at / sizeof *at; i++)
        at[i] += times * (at[i] - was[i]);
}

/* The GPU's clock goes on to where that much is reached. */
static void wait_for(struct walk *w, double needed_s)
{
    struct clocks *c = &w->at.all;
    double since_s = needed_s - c->begin_s, since = since_s * since_s, host = c->host_s * c->host_s;

    if (!w->host->waits)
        c->gpu_s = mfu_most(c->gpu_s, since_s);
    else if (needed_s > reached_s(w, c))
        c->gpu_s = sqrt(sqrt(since * since - host * host)); /* the other way round: mfu_overlap_late_s() */
}

/* For how long there is communication beside kernels; copy engines take nothing. */
static double beside_s(const struct walk *w)
{
    return w->queues[MFU_STREAM_COMMUNICATION].free_s - w->at.all.begin_s - w->at.all.gpu_s;
}

/* By how much communication beside them slows these kernels down: each as far as there is some when it begins. */
static double slowed_s(const struct walk *w, const struct mfu_overlap_stretch *s)
{
    const double *seconds = w->in->stretches->seconds;
    double contention = w->in->contention, beside = contention > 0 ? beside_s(w) : 0, slowed = 0;

    if (beside <= 0)
        return 0;
    if (beside >= (1 + contention) * s->seconds)
        return contention * s->seconds;
    for (int i = s->first; i < s->first + s->count && beside > 0; i++) {
        double more = contention * mfu_least(beside, seconds[i]);

        slowed += more;
        beside -= seconds[i] + more;
    }
    return slowed;
}

/* `times` one after the other: more than one where nothing interrupts them or slows them down. */
static void run(struct walk *w, const struct mfu_overlap_stretch *s, double times)
{
    const struct mfu_launch *l = &w->in->program->launches[s->first];
    double host_s, needed_s = -INFINITY;

    if (l->work->when != MFU_EVERY_MICRO_STEP && !(l->work->when == MFU_LAST_MICRO_STEP ? w->last : w->first))
        return;
    if (l->wait_behind >= 0)
        needed_s = mfu_queue_ended_s(&w->queues[l->wait_stream], l->wait_behind);
    if (l->stream != MFU_STREAM_COMPUTE) {
        mfu_queue_issue(&w->queues[l->stream], mfu_most(reached_s(w, &w->at.all), needed_s), s->seconds);
        return;
    }
    if (l->wait_behind >= 0)
        wait_for(w, needed_s);
    w->at.all.gpu_s += times * s->seconds + slowed_s(w, s);
    w->at.alone.gpu_s += times * s->seconds;
    w->at.way_s += times * s->way_s;
    host_s = times * s->kernels * w->in->hosts[s->pass].dispatch_s;
    w->at.all.host_s += host_s;
    w->at.alone.host_s += host_s;
}

static void run_segment(struct walk *w, int k)
{
    const struct mfu_overlap_stretches *all = w->in->stretches;

    for (int i = all->begin[k]; i < all->begin[k + 1]; i++)
        run(w, &all->list[i], 1);
}

/* The host, which was ahead, waits for a pass to end. */
static void begin_pass(struct walk *w, enum mfu_phase phase)
{
    const struct mfu_overlap_host *host = &w->in->hosts[phase];

    w->at.all = (struct clocks){.begin_s = reached_s(w, &w->at.all), .gpu_s = host->far_s};
    w->at.alone = (struct clocks){.begin_s = reached_s(w, &w->at.alone), .gpu_s = host->far_s};
    w->host = host;
}

/* ---- rounds that are alike ------------------------------------------------ */

enum { GPU = MFU_STREAM_COUNT, HOST, CLOCKS };

/* The clocks that are compared with each other. */
static void read_clocks(const struct walk *w, double s[CLOCKS])
{
    for (int i = 0; i < MFU_STREAM_COUNT; i++)
        s[i] = w->queues[i].free_s;
    s[MFU_STREAM_COMPUTE] = reached_s(w, &w->at.all);
    s[GPU] = w->at.all.begin_s + w->at.all.gpu_s;
    s[HOST] = w->at.all.begin_s + w->at.all.host_s;
}

/* How often clocks that moved by move[] go on so: while one that comes nearer to another is further than a round
 * from it. */
static double alike(const double at[CLOCKS], const double move[CLOCKS])
{
    double times = INFINITY, round_s = move[MFU_STREAM_COMPUTE];

    for (int i = 0; i < CLOCKS; i++)
        for (int j = 0; j < CLOCKS; j++) {
            double ahead_s = at[i] - at[j], nearer_s = move[j] - move[i];

            if (ahead_s > -round_s && nearer_s > STEADY * round_s)
                times = mfu_least(times, floor(mfu_most(ahead_s - round_s, 0) / nearer_s));
        }
    return times;
}

/* Whether they moved as they had; how far has been reached follows from the others. */
static bool steady(const double move[CLOCKS], const double moved[CLOCKS])
{
    for (int i = 0; i < CLOCKS; i++)
        if (i != MFU_STREAM_COMPUTE && fabs(move[i] - moved[i]) > STEADY * move[MFU_STREAM_COMPUTE])
            return false;
    return true;
}

/* Runs `times` rounds: segments of a layer, or all of a micro-step. */
static void repeat(struct walk *w, double times, void (*round)(struct walk *, int), int segment)
{
    double at[CLOCKS], move[CLOCKS] = {0};

    if (times == 1) {
        round(w, segment);
        return;
    }
    for (int walked = 1; times > 0; walked++) {
        struct moment before = w->at;
        double was[CLOCKS], moved[CLOCKS], more = 0;

        for (int i = 0; i < MFU_STREAM_COUNT; i++)
            before.free_s[i] = w->queues[i].free_s;
        memcpy(moved, move, sizeof moved);
        read_clocks(w, was);
        round(w, segment);
        read_clocks(w, at);
        for (int i = 0; i < CLOCKS; i++)
            move[i] = at[i] - was[i];
        times--;
        if (walked > 1 && times > 0 && steady(move, moved))
            more = mfu_least(times, alike(at, move));
        jump(w, walked < MOST_WALKED ? more : times, &before);
        times -= walked < MOST_WALKED ? more : times;
    }
}

/* The one stretch of a segment that nothing interrupts or slows down, or NULL. */
static const struct mfu_overlap_stretch *only_kernels(const struct walk *w, int k)
{
    const struct mfu_overlap_stretches *all = w->in->stretches;
    const struct mfu_overlap_stretch *s = &all->list[all->begin[k]];
    const struct mfu_launch *l;

    if (all->begin[k + 1] - all->begin[k] != 1 || (w->in->contention > 0 && beside_s(w) > 0))
        return NULL;
    l = &w->in->program->launches[s->first];
    return l->stream == MFU_STREAM_COMPUTE && l->wait_behind < 0 ? s : NULL;
}

static void run_passes(struct walk *w, bool optimizer)
{
    const struct mfu_program *p = w->in->program;
    const struct mfu_overlap_stretch *s;

    for (int k = 0; k < p->n_segments; k++) {
        if ((p->segments[k].phase == MFU_OPTIMIZER_PHASE) != optimizer)
            continue;
        if (k == 0 || p->segments[k].phase != p->segments[k - 1].phase)
            begin_pass(w, p->segments[k].phase);
        if ((s = only_kernels(w, k)))
            run(w, s, p->segments[k].repeat);
        else
            repeat(w, p->segments[k].repeat, run_segment, k);
    }
}

static void run_micro_step(struct walk *w, int unused)
{
    (void)unused;
    run_passes(w, false);
    w->first = false;
}

double mfu_overlap_late_s(double host_s, double gpu_s)
{
    double host = host_s * host_s, gpu = gpu_s * gpu_s;

    return sqrt(sqrt(host * host + gpu * gpu)); /* hypot() and pow() differ between libraries */
}

struct mfu_overlap mfu_overlap_run(const struct mfu_overlap_input *in)
{
    struct walk w = {.in = in, .host = &in->hosts[MFU_FORWARD], .first = true};
    double alone_s;

    repeat(&w, in->program->accum - 1, run_micro_step, 0);
    w.last = true;
    run_passes(&w, false);
    run_passes(&w, true);
    alone_s = reached_s(&w, &w.at.alone) - w.at.way_s;
    return (struct mfu_overlap){alone_s,
                                mfu_most(mfu_most(reached_s(&w, &w.at.all), mfu_queues_free_s(w.queues)) - alone_s, 0)};
}
