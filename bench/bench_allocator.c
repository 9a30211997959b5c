/*
 * bench_allocator - how long the simulated allocator takes for a malloc and a
 * free: a training step replayed, and blocks of any size freed in any order.
 * Prints JSON lines; the first is the yardstick of this machine (a sorted
 * array), so that runs can be compared as ratios.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "simulate/allocator.h"
#include "measure.h"

#define LIVE_MAX 8192

static struct mfu_allocator *allocator;
static int n_live; /* blocks alive in the benchmark in any order */

/* Prints the least and the spread, per piece of work. */
static double bench(const char *name, double (*work)(long rounds), double pieces, double per)
{
    double spread, ns = measure(work, &spread) / pieces;

    printf("{\"name\": \"%s\", \"ns\": %.4g, \"spread\": %.2g, \"yardsticks\": %.3g}\n", name, ns, spread,
           per > 0 ? ns / per : 1);
    return ns;
}

/* A step as the allocator sees it: bytes > 0 puts a block into a slot, 0 takes
 * it out. */
struct event {
    uint64_t bytes;
    int slot;
};

static struct event *events;
static int n_events, n_slots, room_events;
static int *slots;

static int made(uint64_t bytes)
{
    if (n_events == room_events) {
        struct event *more;

        room_events = room_events ? 2 * room_events : 1024;
        more = realloc(events, (size_t)room_events * sizeof *events);
        if (!more)
            exit(1);
        events = more;
    }
    events[n_events++] = (struct event){bytes, n_slots};
    return n_slots++;
}

static void dropped(int slot)
{
    made(0);
    n_slots--;
    events[n_events - 1].slot = slot;
}

/* Backward of a linear: two gradients, of which the input's is returned; the
 * weight's is cast and added. */
static int linear_backward(uint64_t in, uint64_t weight, int out)
{
    int half = made(weight), input = made(in), full = made(2 * weight);

    dropped(out);
    dropped(half);
    dropped(full);
    return input;
}

/* Forward and backward of `layers` GPT blocks of this width and so many tokens:
 * 19 tensors of each are kept, as many come and go. */
static void training_step(int layers, uint64_t h, uint64_t tokens)
{
    const uint64_t x = 2 * h * tokens; /* a 16-bit activation */
    int kept[256][19], grad, head, norm;

    for (int i = 0; i < layers; i++) {
        int *k = kept[i], y;

        norm = made(2 * x);
        k[0] = made(4 * tokens), k[1] = made(4 * tokens), k[2] = made(6 * h * h), k[3] = made(x);
        k[4] = made(3 * x), k[5] = made(x), k[6] = made(4 * tokens), k[7] = made(2 * h * h);
        y = made(x);
        dropped(norm);
        k[8] = made(2 * x);
        dropped(y);
        norm = made(2 * x);
        k[9] = made(4 * tokens), k[10] = made(4 * tokens), k[11] = made(8 * h * h), k[12] = made(x);
        k[13] = made(4 * x), k[14] = made(4 * x), k[15] = made(8 * h * h);
        y = made(x);
        dropped(norm);
        k[16] = made(2 * x);
        dropped(y);
        k[17] = made(512), k[18] = made(512);
    }
    head = made(64 * x);
    grad = made(2 * x);
    dropped(head);
    for (int i = layers - 1; i >= 0; i--) {
        int g = linear_backward(4 * x, 8 * h * h, made(x)), t;

        t = made(4 * x);
        dropped(g);
        t = linear_backward(x, 8 * h * h, t);
        g = made(2 * x);
        dropped(t);
        dropped(g);
        t = linear_backward(x, 2 * h * h, made(x));
        g = made(3 * x);
        dropped(t);
        t = linear_backward(x, 6 * h * h, g);
        g = made(2 * x);
        dropped(t);
        dropped(g);
        for (int k = 18; k >= 0; k--)
            dropped(kept[i][k]);
    }
    dropped(grad);
    slots = calloc((size_t)n_slots, sizeof *slots);
    if (!slots)
        exit(1);
}

static double replay(long rounds)
{
    for (long i = 0; i < rounds; i++)
        for (int e = 0; e < n_events; e++)
            if (events[e].bytes)
                slots[events[e].slot] = mfu_allocator_malloc(allocator, events[e].bytes, 0);
            else
                mfu_allocator_free(allocator, slots[events[e].slot]);
    return (double)mfu_allocator_stats(allocator)->peak_reserved_bytes;
}

/* A new allocator and a step, as a planner does it that asks once. */
static double replay_afresh(long rounds)
{
    double sum = 0;

    for (long i = 0; i < rounds; i++) {
        struct mfu_allocator *kept = allocator;
        struct mfu_error err;

        allocator = mfu_allocator_new(&(struct mfu_allocator_options){0}, &err);
        if (!allocator)
            exit(1);
        sum += replay(1);
        mfu_allocator_release(allocator);
        allocator = kept;
    }
    return sum;
}

/* One of n_live blocks is freed and another of some other size made. */
static double any_order(long rounds)
{
    static int live[LIVE_MAX];
    static uint64_t state = 1;

    for (long i = 0; i < rounds; i++) {
        uint64_t r;
        int slot;

        state = state * 6364136223846793005u + 1442695040888963407u;
        r = state >> 33;
        slot = (int)(r % (uint64_t)n_live);
        mfu_allocator_free(allocator, live[slot]);
        live[slot] = mfu_allocator_malloc(allocator, (r >> 13 & 1023) << (r >> 23 & 15), 0);
    }
    return (double)mfu_allocator_stats(allocator)->allocated_bytes;
}

static void afresh(bool expandable)
{
    struct mfu_error err;

    mfu_allocator_release(allocator);
    allocator = mfu_allocator_new(&(struct mfu_allocator_options){.expandable_segments = expandable}, &err);
    if (!allocator) {
        fprintf(stderr, "bench_allocator: %s\n", err.text);
        exit(1);
    }
}

int main(void)
{
    double per = bench("yardstick: sorting 1000 numbers", yardstick, 1, 0);

    training_step(48, 1600, 4096);
    for (int e = 0; e < 2; e++) {
        static const int counts[] = {300, 3000, LIVE_MAX};
        const char *how = e ? ", expandable segments" : "";
        char name[80];

        afresh(e);
        snprintf(name, sizeof name, "step of 48 layers, a pair of %d%s", n_events / 2, how);
        bench(name, replay, n_events / 2.0, per);
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            afresh(e);
            n_live = counts[i];
            any_order(20L * n_live);
            snprintf(name, sizeof name, "any order, %d alive, a pair%s", n_live, how);
            bench(name, any_order, 1, per);
        }
    }
    bench("step of 48 layers, new allocator", replay_afresh, 1, per);
    mfu_allocator_release(allocator);
    free(events);
    free(slots);
    return 0;
}
