/*
 * memory_timeline.c - memory over the recorded step.
 */
#include "plan/memory_timeline.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/simulation.h"
#include "base/error.h"

#define ROUNDING 512. /* of the caching allocator */

double mfu_memory_timeline_block_bytes(double bytes)
{
    return fmax(1, ceil(bytes / ROUNDING)) * ROUNDING;
}

/* ---- when --------------------------------------------------------------- */

/* Launches of a program by phase. */
struct phases {
    int low[MFU_PHASE_COUNT], size[MFU_PHASE_COUNT];
};

static struct phases phases_of(const struct mfu_program *p)
{
    struct phases x = {0};

    for (int i = p->n_launches - 1; i >= 0; i--) {
        x.low[p->launches[i].phase] = i;
        x.size[p->launches[i].phase]++;
    }
    return x;
}

/* The moments at which the launches of one program begin, in a phase of the
 * program whose seconds are known: the same share of the way through. */
struct clock {
    double *begin_s; /* of the steady program's launches, and the end */
    struct phases steady, first;
    double phase_s[MFU_PHASE_COUNT];
};

static int start_clock(struct clock *c, const struct mfu_simulation *s)
{
    const struct mfu_program *p = mfu_simulation_program(s);
    double now = 0;

    if (!(c->begin_s = malloc(((size_t)p->n_launches + 1) * sizeof *c->begin_s)))
        return -1;
    c->steady = phases_of(p);
    c->first = phases_of(&s->first);
    for (int i = 0; i < p->n_launches; i++) {
        c->begin_s[i] = now;
        if (p->launches[i].stream != MFU_STREAM_COMPUTE)
            continue; /* beside the others */
        now += s->seconds[i];
        c->phase_s[p->launches[i].phase] += s->seconds[i];
    }
    c->begin_s[p->n_launches] = now;
    return 0;
}

/* Seconds from the beginning of its phase. */
static double within_phase(const struct clock *c, enum mfu_phase phase, int launch, bool steady)
{
    const struct phases *own = steady ? &c->steady : &c->first;
    int at = launch - own->low[phase], size = c->steady.size[phase];

    if (own->size[phase] != size && own->size[phase] > 0)
        at = (int)((double)at / own->size[phase] * size);
    if (at < 0 || size == 0)
        return 0;
    at = at > size ? size : at;
    return c->begin_s[c->steady.low[phase] + at] - c->begin_s[c->steady.low[phase]];
}

static int set_times(struct mfu_memory_timeline *c, const struct mfu_simulation *s)
{
    struct clock clock = {0};
    bool one_program = s->later.n_launches == 0;
    struct mfu_memory_timeline_span *span = NULL;
    double base_s = 0;

    if (start_clock(&clock, s) < 0)
        return -1;
    for (size_t i = 0; i < c->n; i++) {
        struct mfu_memory_timeline_point *x = &c->points[i];
        bool after = x->launch < 0; /* no launch any more: the end */

        if (!span || x->phase != span->phase || x->micro_step != span->micro_step) {
            if (span) {
                base_s += clock.phase_s[span->phase];
                span->end_s = base_s;
            }
            if (span && c->n_spans == MFU_MEMORY_TIMELINE_SPANS) { /* more than is replayed: all in the last */
                span->last = c->n - 1;
                break;
            }
            span = &c->spans[c->n_spans++];
            *span = (struct mfu_memory_timeline_span){
                .phase = x->phase, .micro_step = x->micro_step, .first = i, .begin_s = base_s};
        }
        span->last = i;
        x->time_s = base_s
            + (after ? clock.phase_s[x->phase]
                     : within_phase(&clock, x->phase, x->launch, one_program || x->micro_step > 0));
    }
    if (span) {
        span->end_s = base_s + clock.phase_s[span->phase];
        c->seconds = span->end_s;
    }
    free(clock.begin_s);
    return 0;
}

/* ---- how much ----------------------------------------------------------- */

static int by_address(const void *a, const void *b, void *lives)
{
    const struct mfu_block_life *x = (const struct mfu_block_life *)lives + *(const int *)a;
    const struct mfu_block_life *y = (const struct mfu_block_life *)lives + *(const int *)b;

    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->born_sample > y->born_sample) - (x->born_sample < y->born_sample);
}

/* Where the backward pass of the next micro-step begins: the logits of the one
 * before are gone. */
static int next_backward(const struct mfu_memory_timeline *c, int sample)
{
    int micro = sample < (int)c->n ? c->points[sample < 0 ? 0 : sample].micro_step : -1;

    for (int k = 0; k < c->n_spans && micro >= 0; k++)
        if (c->spans[k].micro_step == micro + 1 && c->spans[k].phase == MFU_BACKWARD)
            return (int)c->spans[k].first;
    return (int)c->n;
}

/* Tensors that outlive their micro-step have no recorded end: gradients go with
 * the optimizer step, the others with the next forward pass, and at the latest
 * when something takes their place. */
static int find_deaths(struct mfu_memory_timeline *c, const struct mfu_replay *r)
{
    int *order = malloc((r->n_lives + 1) * sizeof *order);

    if (!order)
        return -1;
    for (size_t i = 0; i < r->n_lives; i++) {
        const struct mfu_block_life *x = &r->lives[i];

        order[i] = (int)i;
        c->died[i] = x->died_sample >= 0                                                  ? x->died_sample
            : x->part == MFU_PART_GRADIENTS && c->n > 0 && c->points[c->n - 1].launch < 0 ? (int)c->n - 1
            : x->part == MFU_PART_GRADIENTS                                               ? (int)c->n
                                            : next_backward(c, x->born_sample);
    }
    qsort_r(order, r->n_lives, sizeof *order, by_address, r->lives);
    for (size_t i = 0; i < r->n_lives; i++) {
        const struct mfu_block_life *x = &r->lives[order[i]];
        uint64_t end = x->address + (uint64_t)mfu_memory_timeline_block_bytes((double)x->bytes);

        for (size_t k = i + 1; x->died_sample < 0 && k < r->n_lives && r->lives[order[k]].address < end; k++) {
            const struct mfu_block_life *y = &r->lives[order[k]];

            if (y->born_sample >= x->born_sample && y->born_sample < c->died[order[i]])
                c->died[order[i]] = y->born_sample;
        }
        for (size_t k = i; x->died_sample < 0 && k-- > 0;) { /* begins before, reaches into it */
            const struct mfu_block_life *y = &r->lives[order[k]];

            if (y->address + (uint64_t)mfu_memory_timeline_block_bytes((double)y->bytes) > x->address
                && y->born_sample > x->born_sample && y->born_sample < c->died[order[i]])
                c->died[order[i]] = y->born_sample;
            if (i - k > 4096) /* far away */
                break;
        }
    }
    free(order);
    return 0;
}

/* What the step before left behind (its logits) until the first forward pass
 * is through: beyond all that is known there, and not later. */
static void set_remains(struct mfu_memory_timeline *c)
{
    double rest[2] = {INFINITY, INFINITY}, remains;

    for (size_t i = 0; i < c->n; i++) {
        double *least = &rest[i > c->spans[0].last], sum = 0;

        for (int k = 0; k < MFU_PART_COUNT; k++)
            sum += c->points[i].parts[k];
        *least = fmin(*least, c->points[i].allocated - sum);
    }
    remains = rest[0] - fmax(rest[1], 0);
    for (size_t i = 0; isfinite(remains) && remains > 0 && i <= c->spans[0].last; i++)
        c->points[i].parts[MFU_PART_LOGITS_LOSS] += remains;
}

/* What is left over are temporaries of the launch. */
static void set_rest(struct mfu_memory_timeline_point *x)
{
    double sum = 0;

    for (int k = 0; k < MFU_PART_COUNT; k++)
        sum += x->parts[k];
    if (sum <= x->allocated)
        x->parts[MFU_PART_WORKSPACE] += x->allocated - sum;
    else /* a few bytes that rounding makes */
        for (int k = 0; k < MFU_PART_COUNT; k++)
            x->parts[k] *= x->allocated / sum;
}

/* Parts of what is alive, with what is there all the time. */
static int set_parts(struct mfu_memory_timeline *c, const struct mfu_simulation *s)
{
    const struct mfu_replay *r = &s->replay;
    double(*change)[MFU_PART_COUNT] = calloc(c->n + 1, sizeof *change), now[MFU_PART_COUNT];

    if (!change)
        return -1;
    memcpy(now, s->first.constant_bytes, sizeof now);
    for (size_t i = 0; i < r->n_lives; i++) {
        const struct mfu_block_life *x = &r->lives[i];
        double bytes = mfu_memory_timeline_block_bytes((double)x->bytes);

        if (x->born_sample >= (int)c->n)
            continue;
        change[x->born_sample > 0 ? x->born_sample : 0][x->part] += bytes;
        change[c->died[i]][x->part] -= bytes;
    }
    for (size_t i = 0; i < c->n; i++) {
        for (int k = 0; k < MFU_PART_COUNT; k++) {
            now[k] += change[i][k];
            c->points[i].parts[k] = fmax(now[k], 0);
        }
    }
    set_remains(c);
    for (size_t i = 0; i < c->n; i++)
        set_rest(&c->points[i]);
    free(change);
    return 0;
}

int mfu_memory_timeline_make(const struct mfu_simulation *s, struct mfu_memory_timeline *c, struct mfu_error *err)
{
    const struct mfu_replay *r = &s->replay;

    memset(c, 0, sizeof *c);
    if (r->out_of_memory)
        return mfu_fail(err, MFU_EINPUT, "the step runs out of memory in %s: there is no steady step to show",
                        r->failed_in);
    if (r->n_samples == 0)
        return mfu_fail(err, MFU_EINPUT,
                        "memory does not change over a step of this runtime: it is allocated once, before the first");
    c->n = r->n_samples;
    c->points = calloc(c->n, sizeof *c->points);
    c->died = malloc((r->n_lives + 1) * sizeof *c->died);
    if (!c->points || !c->died)
        goto out_of_memory;
    for (size_t i = 0; i < c->n; i++) {
        const struct mfu_memory_sample *x = &r->samples[i];

        c->points[i] = (struct mfu_memory_timeline_point){.launch = x->launch,
                                                          .micro_step = x->micro_step,
                                                          .phase = x->phase,
                                                          .allocated = (double)x->allocated,
                                                          .reserved = (double)x->reserved};
        c->highest_allocated = fmax(c->highest_allocated, c->points[i].allocated);
        c->highest_reserved = fmax(c->highest_reserved, c->points[i].reserved);
    }
    if (set_times(c, s) < 0 || find_deaths(c, r) < 0 || set_parts(c, s) < 0)
        goto out_of_memory;
    return 0;
out_of_memory:
    mfu_memory_timeline_release(c);
    return mfu_fail(err, MFU_ENOMEM, "out of memory");
}

void mfu_memory_timeline_release(struct mfu_memory_timeline *c)
{
    free(c->points);
    free(c->died);
    memset(c, 0, sizeof *c);
}

const char *mfu_memory_timeline_span_name(const struct mfu_memory_timeline *c, int span, char *buf, size_t size)
{
    const struct mfu_memory_timeline_span *x = &c->spans[span];

    if (x->micro_step < 0 || c->n_spans <= 3)
        snprintf(buf, size, "%s", mfu_phase_names[x->phase]);
    else
        snprintf(buf, size, "%s %d", mfu_phase_names[x->phase], x->micro_step + 1);
    return buf;
}

size_t mfu_memory_timeline_thin(const struct mfu_memory_timeline *c, size_t most, size_t *chosen)
{
    size_t n = c->n < most ? c->n : most, used = 0;

    for (size_t bin = 0; bin < n; bin++) {
        size_t from = c->n * bin / n, to = c->n * (bin + 1) / n, best = from;

        for (size_t i = from; i < to; i++)
            if (c->points[i].allocated > c->points[best].allocated)
                best = i;
        chosen[used++] = best;
    }
    return used;
}
