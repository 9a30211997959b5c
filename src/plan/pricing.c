/*
 * pricing.c - every launch of a program in seconds.
 */
#include "plan/pricing.h"
#include "base/extreme.h"
#include "base/hash.h"
#include "base/list.h"
#include "cost/law.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cost/collective.h"
#include "plan/expert_messages.h"
#include "scenario/scenario.h"

double mfu_segment_times(const struct mfu_program *g, const struct mfu_segment *seg)
{
    return seg->repeat * (seg->phase == MFU_OPTIMIZER_PHASE ? 1 : g->accum);
}

bool mfu_is_product(const struct mfu_launch *l)
{
    return mfu_kind_is_product(l->work->kernel.kind);
}

bool mfu_throttles(const struct mfu_machine *m, const struct mfu_launch *l)
{
    return m->throttle > 0 && mfu_law_of(&l->work->kernel)->throttles;
}

double mfu_tensor_share(const struct mfu_machine *m, const struct mfu_launch *l, const struct mfu_price *price)
{
    const struct mfu_kernel *k = &l->work->kernel;

    if (!mfu_law_of(k)->tensor || k->math == MFU_PEAK_FP32 || !(price->compute_s > price->memory_s))
        return 0;
    return mfu_kind_is_attention(k->kind) ? fmin(1, k->flops / (price->compute_s * m->gemm_flops[k->math])) : 1;
}

/* The share decides how far clocks fall; they fall, the share grows: a fixed point. */
double mfu_tensor_duty(const struct mfu_machine *m, double tensor_s, double other_s)
{
    double duty = tensor_s / (tensor_s + other_s + 1e-30);

    for (int round = 0; round < 4; round++) {
        double slow_s = tensor_s * (1 + m->throttle * duty);

        duty = slow_s / (slow_s + other_s + 1e-30);
    }
    return duty;
}

static void settle_clocks(const struct mfu_machine *m, const struct mfu_program *g, struct mfu_pricing *p)
{
    double tensor_s = 0, other_s = 0, duty;

    if (!(m->throttle > 0))
        return;
    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];
        double times = mfu_segment_times(g, seg);

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            const struct mfu_launch *l = mfu_launch_in(g, seg, i);
            const struct mfu_price *price = mfu_price_at(p, i);
            double share = mfu_tensor_share(m, l, price);

            if (l->communicates)
                continue;
            tensor_s += share * times * price->time_s;
            other_s += (1 - share) * times * price->time_s;
        }
    }
    duty = mfu_tensor_duty(m, tensor_s, other_s);
    for (int i = 0; i < (p->folded ? p->n_prices : g->n_launches); i++) {
        const struct mfu_launch *l = p->folded ? p->shared[i].example : &g->launches[i];

        if (mfu_throttles(m, l))
            mfu_price_throttle(m, &l->work->kernel, duty, &p->prices[i]);
    }
}

/* When a tensor was last in L2. */
struct mfu_touch {
    double moved_bytes, varying_bytes;
};

/* What an L2 that is written back lazily still holds. */
struct l2_state {
    double reach_bytes;   /* that it can hold */
    double moved_bytes;   /* traffic so far */
    double varying_bytes; /* by how much that grows with the share (accum - 1) / accum */
    double dirty_bytes;   /* written and not yet in DRAM */
};

/* An input is hot, or `over_bytes` are too many: up to which share, or above which, it stays so. */
static void bound(struct mfu_pricing *p, double share, double over_bytes, double varying_bytes)
{
    double changes = share - over_bytes / varying_bytes;

    if (varying_bytes == 0 || isinf(over_bytes))
        return;
    if ((over_bytes <= 0) == (varying_bytes > 0))
        p->most = mfu_least(p->most, changes);
    else
        p->least = mfu_most(p->least, changes);
}

/* The tensor of a view; `tensors` are those of all, as a folded program has them, or NULL. */
static inline int tensor_of(const struct mfu_program *g, const int *tensors, const int *views, int k)
{
    return tensors ? tensors[k] : g->views[views[k]].tensor;
}

/* Bytes of the inputs that an earlier kernel left in L2: less than its reach
 * has moved since they were touched. */
static double still_hot(const struct mfu_program *g, struct mfu_pricing *p, const struct l2_state *l2,
                        const struct mfu_launch *l, const int *tensors)
{
    const struct mfu_touch *all = p->known->touched;
    double hot = 0;

    for (int k = 0; k < l->n_in; k++) {
        const struct mfu_view *v = &g->views[l->in[k]];
        const struct mfu_touch *touched = &all[tensor_of(g, tensors, l->in, k)];
        double bytes = v->rows * v->columns * mfu_type_bytes[v->type];
        double since = l2->moved_bytes - touched->moved_bytes + bytes;

        if (since <= l2->reach_bytes)
            hot += bytes;
        if (l2->varying_bytes != touched->varying_bytes)
            bound(p, (g->accum - 1) / g->accum, since - l2->reach_bytes, l2->varying_bytes - touched->varying_bytes);
    }
    return hot;
}

/* By how much a launch's traffic grows with the share (accum - 1) / accum. */
static double varying_bytes(const struct mfu_launch *l, double accum)
{
    double bytes = l->work->kernel.read_bytes + l->work->kernel.write_bytes;

    if (l->work->when != MFU_EVERY_MICRO_STEP)
        return -bytes * accum;
    return l->work->accumulated_bytes > 0 && accum > 1 ? bytes * accum / (accum - 1) : 0;
}

/* Nothing is known of this machine. */
static void forget(struct mfu_known_prices *known)
{
    memset(known->newest, 0, sizeof known->newest);
    known->n = 0;
}

static int make_room(const struct mfu_program *g, struct mfu_pricing *p)
{
    p->folded = g->fold != NULL;
    p->n_prices = 0;
    if (p->folded
            ? !MFU_ROOM(p->which, g->n_launches, p->cap_which)
            : !MFU_ROOM(p->prices, g->n_launches, p->cap_prices) || !MFU_ROOM(p->uses, g->n_launches, p->cap_uses))
        return -1;
    if (!p->known && (p->known = malloc(sizeof *p->known))) {
        p->known->touched = NULL, p->known->cap_touched = 0;
        p->known->n = -1, p->known->run = 0;
    }
    return p->known && MFU_ROOM(p->known->touched, g->n_tensors, p->known->cap_touched) ? 0 : -1;
}

/* The price of a kernel: one that is known, or a new one, with the arithmetic of the same kernel where that is known. */
static struct mfu_known_price *price_of(struct mfu_known_prices *p, const struct mfu_kernel *k, double inside_bytes)
{
    uint64_t sum = mfu_hash_bits(k->read_bytes) * 3 + mfu_hash_bits(k->write_bytes) * 5 + mfu_hash_bits(k->n) * 7
        + mfu_hash_bits(k->flops) + k->traffic;
    unsigned short *newest = &p->newest[mfu_hash_fold(sum, MFU_KNOWN_BITS)];
    struct mfu_known_price *known;
    const struct mfu_known_price *same = NULL;

    for (int i = *newest; i > 0; i = p->list[i - 1].older) {
        known = &p->list[i - 1];
        if (known->hash == sum && known->inside_bytes == inside_bytes && memcmp(&known->kernel, k, sizeof *k) == 0)
            return known;
    }
    for (int i = *newest; i > 0 && !same; i = p->list[i - 1].older)
        if (p->list[i - 1].hash == sum && memcmp(&p->list[i - 1].kernel, k, sizeof *k) == 0)
            same = &p->list[i - 1];
    if (p->n == 1 << MFU_KNOWN_BITS) {
        forget(p);
        same = NULL;
    }
    known = &p->list[p->n++];
    if (same)
        known->price = same->price;
    else
        mfu_price_arithmetic(&p->machine, k, &known->price);
    mfu_price_traffic(&p->machine, k, inside_bytes, &known->price);
    known->kernel = *k;
    known->inside_bytes = inside_bytes;
    known->hash = sum;
    known->older = *newest;
    known->run = 0;
    *newest = (unsigned short)p->n;
    return known;
}

/* The number of one more price of a folded program; -1: out of memory. */
static int new_price(struct mfu_pricing *p, const struct mfu_launch *example, double inside_bytes)
{
    if (!MFU_ROOM(p->prices, p->n_prices + 1, p->cap_prices) || !MFU_ROOM(p->shared, p->n_prices + 1, p->cap_shared))
        return -1;
    p->shared[p->n_prices] = (struct mfu_shared_price){example, inside_bytes};
    return p->n_prices++;
}

/* The price of a launch of a folded program, which many may share, most often that of the layer before (`layer` launches
 * ago; 0: none); NULL when out of memory. */
static const struct mfu_price *share_price(struct mfu_pricing *p, const struct mfu_launch *l, int i, int layer,
                                           double inside_bytes)
{
    int at = layer > 0 ? p->which[i - layer] : 0;
    struct mfu_known_price *known;

    if (layer == 0 || p->shared[at].inside_bytes != inside_bytes) {
        known = price_of(p->known, &l->work->kernel, inside_bytes);
        if (known->run != p->known->run) {
            if ((known->at = new_price(p, l, inside_bytes)) < 0)
                return NULL;
            known->run = p->known->run;
            p->prices[known->at] = known->price;
        }
        at = known->at;
    }
    p->which[i] = at;
    return &p->prices[at];
}

void mfu_pricing_forget(struct mfu_pricing *p)
{
    free(p->uses);
    p->uses = NULL, p->cap_uses = 0;
    if (p->known) {
        free(p->known->touched);
        p->known->touched = NULL, p->known->cap_touched = 0;
    }
    mfu_unfolding_release(&p->unfolding);
}

void mfu_pricing_release(struct mfu_pricing *p)
{
    mfu_pricing_forget(p);
    free(p->prices);
    free(p->known);
    free(p->which);
    free(p->shared);
    memset(p, 0, sizeof *p);
}

/* A collective by itself: `launches` calls, or a share of one.  No two share a price: what is beside them differs.  As
 * that of the layer before, `layer` launches ago (0: none); false: out of memory. */
static bool price_collective(const struct mfu_machine *m, const struct mfu_program *g, const struct mfu_launch *l,
                             int i, int layer, struct mfu_pricing *p)
{
    struct mfu_group group;
    struct mfu_collective_price once;

    if (p->folded && (p->which[i] = new_price(p, l, 0)) < 0)
        return false;
    if (layer > 0) {
        *mfu_price_of(p, i) = *mfu_price_at(p, i - layer);
        return true;
    }
    group = mfu_mesh_group(&g->mesh, l->work->collective.axes, m->topology.unit_gpus);
    once = mfu_collective_price(m, &group, l->work->collective.kind, l->work->collective.bytes);
    *mfu_price_of(p, i) =
        (struct mfu_price){.time_s = l->work->kernel.launches * once.time_s,
                           .memory_s = l->work->kernel.launches * once.time_s,
                           .bound = once.wire_s < once.latency_s ? MFU_BOUND_LATENCY : MFU_BOUND_LINK};
    return true;
}

/* What stays in the way of a collective beside a product: all that takes longer, and
 * what each slows the other down. */
static void hide_beside(const struct mfu_machine *m, const struct mfu_program *g, struct mfu_pricing *p)
{
    for (int k = 0; k < g->n_segments && mfu_mesh_ranks(&g->mesh) > 1; k++) {
        const struct mfu_segment *seg = &g->segments[k];
        int first = seg->first, end = first + seg->count;

        for (int i = first; i < end; i++) {
            const struct mfu_launch *l = mfu_launch_in(g, seg, i);
            struct mfu_price *price = mfu_price_of(p, i);
            int step = l->beside, at = i + step;

            while (step != 0 && at >= first && at < end && !mfu_is_product(mfu_launch_in(g, seg, at)))
                at += step;
            if (step == 0 || at < first || at >= end)
                continue;
            price->time_s -= (1 - m->c[MFU_C_LINK_CONTENTION])
                * mfu_least(l->work->beside_share * price->time_s, mfu_price_at(p, at)->time_s);
            price->memory_s = price->time_s;
        }
    }
}

/* What machines of many GPUs lose, or gain, on everything. */
static void scale_by_system(const struct mfu_machine *m, const struct mfu_program *g, struct mfu_pricing *p)
{
    double factor = m->c[MFU_C_SYSTEM];

    if (factor == 1 || mfu_mesh_ranks(&g->mesh) <= 1)
        return;
    for (int i = 0; i < (p->folded ? p->n_prices : g->n_launches); i++) {
        p->prices[i].time_s *= factor;
        p->prices[i].compute_s *= factor;
        p->prices[i].memory_s *= factor;
    }
}

/* Prices launch `i` by what it finds in L2, and changes what is dirty there.  False: out of memory. */
static bool price_launch(const struct mfu_machine *m, const struct mfu_program *g, const struct mfu_launch *l, int i,
                         int layer, const int *tensors, struct l2_state *l2, struct mfu_pricing *p)
{
    struct mfu_l2_use alone = {0}, *use = g->fold ? &alone : &p->uses[i];
    const struct mfu_price *price;
    double inside_bytes;

    use->hot_bytes = still_hot(g, p, l2, l, tensors);
    use->dirty_bytes = l2->dirty_bytes;
    mfu_l2_absorb(l2->reach_bytes, &l->work->kernel, use);
    inside_bytes = mfu_least(use->hot_bytes, l->work->kernel.read_bytes) + use->absorbed_bytes;
    if (!g->fold) {
        p->prices[i] = price_of(p->known, &l->work->kernel, inside_bytes)->price;
        price = &p->prices[i];
    } else if (!(price = share_price(p, l, i, layer, inside_bytes))) {
        return false;
    }
    mfu_l2_flush(m->bandwidth_bytes_s, &l->work->kernel, price, use);
    l2->dirty_bytes = mfu_l2_dirty_behind(use);
    return true;
}

/* What a launch reads and writes is the latest in L2.  The tensors of the next launch. */
static const int *touch(const struct mfu_program *g, const struct mfu_launch *l, const int *tensors,
                        struct l2_state *l2, struct mfu_pricing *p)
{
    struct mfu_touch now, *touched = p->known->touched;

    l2->moved_bytes += l->work->kernel.read_bytes + l->work->kernel.write_bytes;
    if (!g->fold) /* nobody asks of a folded one */
        l2->varying_bytes += varying_bytes(l, g->accum);
    now = (struct mfu_touch){l2->moved_bytes, l2->varying_bytes};
    for (int k = 0; k < l->n_in; k++) {
        int tensor = tensor_of(g, tensors, l->in, k);

        if (tensor != 0) /* not the weights as a whole */
            touched[tensor] = now;
    }
    tensors = tensors ? tensors + l->n_in : NULL;
    for (int k = 0; k < l->n_out; k++)
        touched[tensor_of(g, tensors, l->out, k)] = now;
    return tensors ? tensors + l->n_out : NULL;
}

/* Prices the launches in order, with an eye on L2.  Copies of a layer name each what is as much further on as the one
 * before did.  Where one of them has driven out of L2 all that is older, and leaves as much dirty as it found, the next
 * finds the same, and takes as long. */
int mfu_price_before_clocks(const struct mfu_machine *m, const struct mfu_program *g, struct mfu_pricing *p)
{
    struct l2_state l2 = {.reach_bytes = mfu_l2_reach(m)}, before = {0};
    int even = 0;

    if (make_room(g, p) < 0)
        return -1;
    if (p->known->n < 0 || memcmp(&p->known->machine, m, sizeof *m) != 0) {
        p->known->machine = *m;
        forget(p->known);
    }
    p->least = -INFINITY;
    p->most = INFINITY;
    for (int t = 0; t < g->n_tensors; t++)
        p->known->touched[t] = (struct mfu_touch){-INFINITY, 0};
    p->known->run += g->fold != NULL;
    for (int s = 0; s < g->n_segments; s++) {
        const struct mfu_segment *seg = &g->segments[s];
        const int *tensors = g->fold ? mfu_unfold_ends(g, seg, &p->unfolding) : NULL;
        int layer = g->fold && mfu_unfolds_alike(seg) ? seg->count : 0;
        bool settled;

        if (g->fold && !tensors)
            return -1;
        even = g->fold && mfu_unfolds_evenly(g, seg) ? even + 1 : 0;
        settled =
            even > 1 && l2.dirty_bytes == before.dirty_bytes && l2.moved_bytes - before.moved_bytes >= l2.reach_bytes;
        before = l2;
        for (int i = seg->first; i < seg->first + seg->count; i++) {
            const struct mfu_launch *l = mfu_launch_in(g, seg, i);

            if (l->work->collective.axes != 0) {
                if (!price_collective(m, g, l, i, layer, p))
                    return -1;
                if (!g->fold)
                    p->uses[i] = (struct mfu_l2_use){.dirty_bytes = l2.dirty_bytes};
                tensors = tensors ? tensors + l->n_in + l->n_out : NULL;
                continue;
            }
            if (settled)
                p->which[i] = p->which[i - seg->count];
            else if (!price_launch(m, g, l, i, layer, tensors, &l2, p))
                return -1;
            tensors = touch(g, l, tensors, &l2, p);
        }
    }
    return 0;
}

int mfu_price_program(const struct mfu_machine *m, const struct mfu_program *g, const struct mfu_expert_waits *experts,
                      struct mfu_pricing *p)
{
    if (mfu_price_before_clocks(m, g, p) < 0)
        return -1;
    settle_clocks(m, g, p);
    hide_beside(m, g, p);
    mfu_price_expert_messages(m, g, experts, (struct mfu_launch_prices){p->prices, p->folded ? p->which : NULL});
    scale_by_system(m, g, p);
    return 0;
}
