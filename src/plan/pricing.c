/*
 * pricing.c - every launch of a program in seconds.
 */
#include "plan/pricing.h"
#include "base/list.h"
#include "cost/law.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cost/collective.h"
#include "scenario/scenario.h"

double mfu_segment_times(const struct mfu_program *g, const struct mfu_segment *seg)
{
    return seg->repeat * (seg->phase == MFU_OPTIMIZER_PHASE ? 1 : g->accum);
}

bool mfu_is_product(const struct mfu_launch *l)
{
    return mfu_kind_is_product(l->kernel.kind);
}

/* The share of the time in which tensor cores draw their full power decides
 * how far clocks fall; they fall, the share grows: a fixed point. */
static void settle_clocks(const struct mfu_machine *m, const struct mfu_program *g, struct mfu_price *prices)
{
    double tensor_s = 0, other_s = 0, duty, slowdown = 1;

    if (!(m->throttle > 0))
        return;
    for (int k = 0; k < g->n_segments; k++)
        for (int i = g->segments[k].first; i < g->segments[k].first + g->segments[k].count; i++) {
            bool tensor = mfu_law_of(&g->launches[i].kernel)->throttles && g->launches[i].kernel.math != MFU_PEAK_FP32
                && prices[i].compute_s > prices[i].memory_s;

            if (!g->launches[i].communicates)
                *(tensor ? &tensor_s : &other_s) += mfu_segment_times(g, &g->segments[k]) * prices[i].time_s;
        }
    duty = tensor_s / (tensor_s + other_s + 1e-30);
    for (int round = 0; round < 4; round++) {
        slowdown = 1 + m->throttle * duty;
        duty = tensor_s * slowdown / (tensor_s * slowdown + other_s + 1e-30);
    }
    for (int i = 0; i < g->n_launches; i++)
        if (mfu_law_of(&g->launches[i].kernel)->throttles)
            mfu_price_throttle(m, &g->launches[i].kernel, duty, &prices[i]);
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

/* What an L2 that is written back lazily still holds. */
struct l2_state {
    double reach_bytes; /* that it can hold */
    double moved_bytes; /* traffic so far */
    double dirty_bytes; /* written and not yet in DRAM */
};

/* Bytes of the inputs that an earlier kernel left in L2: less than its reach
 * has moved since they were touched. */
static double still_hot(const struct mfu_program *g, const double *touched, const struct l2_state *l2,
                        const struct mfu_launch *l)
{
    double hot = 0;

    for (int k = 0; k < l->n_in; k++) {
        const struct mfu_view *v = &g->views[l->in[k]];
        double bytes = v->rows * v->columns * mfu_type_bytes[v->type];

        if (l2->moved_bytes - touched[v->tensor] + bytes <= l2->reach_bytes)
            hot += bytes;
    }
    return least(hot, l->kernel.read_bytes);
}

/* Dirty lines go to DRAM when others need their place; under a kernel that is
 * bound by arithmetic that costs no time. */
static void write_back(struct l2_state *l2, const struct mfu_kernel *k, const struct mfu_price *price, double absorbed,
                       double bandwidth_bytes_s)
{
    double moved = k->read_bytes + k->write_bytes;
    double spare = price->time_s > price->memory_s ? (price->time_s - price->memory_s) * bandwidth_bytes_s : 0;

    l2->moved_bytes += moved;
    l2->dirty_bytes += absorbed;
    l2->dirty_bytes -= least(l2->dirty_bytes, least(moved, spare));
}

/* Kernels that are remembered: a power of two, more than a program has different ones. */
#define KNOWN_BITS 10
#define WAYS 4 /* of one hash */

static int make_room(const struct mfu_program *g, struct mfu_pricing *p)
{
    if (!MFU_ROOM(p->prices, g->n_launches, p->cap_prices) || !MFU_ROOM(p->touched, g->n_tensors, p->cap_touched))
        return -1;
    if (!p->known)
        p->known = calloc(1u << KNOWN_BITS, sizeof *p->known);
    return p->known ? 0 : -1;
}

static uint64_t bits(double x)
{
    uint64_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

/* The price of a kernel: one that is known; else in place of another of its hash, with the
 * arithmetic of the same kernel where that is known. */
static const struct mfu_price *price_of(struct mfu_pricing *p, const struct mfu_kernel *k, double inside_bytes)
{
    uint64_t mixed = (bits(k->read_bytes) * 3 + bits(k->write_bytes) * 5 + bits(k->n) * 7 + bits(k->flops) + k->traffic)
        * 0x9e3779b97f4a7c15;
    struct mfu_known_price *set = &p->known[mixed >> (64 - KNOWN_BITS) & ~(uint64_t)(WAYS - 1)], *known = NULL,
                           *same = NULL;

    for (int i = 0; i < WAYS; i++) {
        if (set[i].of != p->number)
            known = &set[i];
        else if (set[i].hash == mixed && set[i].inside_bytes == inside_bytes
                 && memcmp(&set[i].kernel, k, sizeof *k) == 0)
            return &set[i].price;
        else if (set[i].hash == mixed)
            same = &set[i];
    }
    if (!known)
        known = &set[p->turn++ % WAYS];
    if (same && memcmp(&same->kernel, k, sizeof *k) == 0)
        known->price = same->price;
    else
        mfu_price_arithmetic(&p->machine, k, &known->price);
    mfu_price_traffic(&p->machine, k, inside_bytes, &known->price);
    known->kernel = *k;
    known->inside_bytes = inside_bytes;
    known->hash = mixed;
    known->of = p->number;
    return &known->price;
}

void mfu_pricing_release(struct mfu_pricing *p)
{
    free(p->prices);
    free(p->touched);
    free(p->known);
    memset(p, 0, sizeof *p);
}

/* A collective by itself: `launches` calls, or a share of one. */
static void price_collective(const struct mfu_machine *m, const struct mfu_program *g, const struct mfu_launch *l,
                             struct mfu_price *price)
{
    struct mfu_group group = mfu_mesh_group(&g->mesh, l->collective.axes, m->topology.unit_gpus);
    struct mfu_collective_price once = mfu_collective_price(m, &group, l->collective.kind, l->collective.bytes);

    *price = (struct mfu_price){.time_s = l->kernel.launches * once.time_s,
                                .memory_s = l->kernel.launches * once.time_s,
                                .bound = once.wire_s < once.latency_s ? MFU_BOUND_LATENCY : MFU_BOUND_LINK};
}

/* Prices the launches in order, with an eye on L2. */
int mfu_price_program(const struct mfu_machine *m, const struct mfu_program *g, struct mfu_pricing *p)
{
    struct l2_state l2 = {.reach_bytes = mfu_l2_reach(m)};

    if (make_room(g, p) < 0)
        return -1;
    if (memcmp(&p->machine, m, sizeof *m) != 0) {
        p->machine = *m;
        p->number++;
    }
    for (int t = 0; t < g->n_tensors; t++)
        p->touched[t] = -INFINITY;
    for (int i = 0; i < g->n_launches; i++) {
        const struct mfu_launch *l = &g->launches[i];
        double absorbed;

        if (l->collective.axes != 0) {
            price_collective(m, g, l, &p->prices[i]);
            continue;
        }
        absorbed = l->kernel.cold ? 0 : least(l->kernel.write_bytes, l2.reach_bytes - l2.dirty_bytes);
        p->prices[i] = *price_of(p, &l->kernel, still_hot(g, p->touched, &l2, l) + absorbed);
        write_back(&l2, &l->kernel, &p->prices[i], absorbed, m->bandwidth_bytes_s);
        for (int k = 0; k < l->n_in; k++)
            if (g->views[l->in[k]].tensor != 0) /* not the weights as a whole */
                p->touched[g->views[l->in[k]].tensor] = l2.moved_bytes;
        for (int k = 0; k < l->n_out; k++)
            p->touched[g->views[l->out[k]].tensor] = l2.moved_bytes;
    }
    settle_clocks(m, g, p->prices);
    return 0;
}
