/*
 * accumulation.c - sums of a step as functions of its number of micro-steps.
 */
#include "plan/accumulation.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "cost/law.h"
#include "graph/graph.h"

/* Dirty bytes of L2 that differ by less are rounding: relative to what it can hold. */
#define ROUNDING 1e-12

/* Prices are steady up to this share where two ways of working them out meet (cost/price.c). */
#define SLACK 1e-8

static bool varies(const struct mfu_launch *l)
{
    return l->work->accumulated_bytes > 0 || l->work->when != MFU_EVERY_MICRO_STEP;
}

static double times_of(const struct mfu_often *t, double accum)
{
    return accum * t->micro + t->once;
}

static void add_seconds(struct mfu_often *sum, const struct mfu_often *times, double time_s)
{
    sum->micro += times->micro * time_s;
    sum->once += times->once * time_s;
}

static struct mfu_often times_in(const struct mfu_segment *s)
{
    bool once = s->phase == MFU_OPTIMIZER_PHASE;

    return (struct mfu_often){.micro = once ? 0 : s->repeat, .once = once ? s->repeat : 0};
}

/* ---- learning ------------------------------------------------------------ */

/* Products of a pass that take as long are the same to clocks. */
static bool same_product(const struct mfu_program *g, const struct mfu_price *prices, int a, int b)
{
    const struct mfu_kernel *x = &g->launches[a].work->kernel, *y = &g->launches[b].work->kernel;
    const struct mfu_price *of_x = &prices[a], *of_y = &prices[b];

    return g->launches[a].phase == g->launches[b].phase && x->kind == y->kind && x->math == y->math
        && x->traffic == y->traffic && of_x->compute_s == of_y->compute_s && of_x->memory_s == of_y->memory_s
        && of_x->overhead_s == of_y->overhead_s && of_x->waves == of_y->waves;
}

static bool add_product(struct mfu_accumulation *a, const struct mfu_program *g, const struct mfu_price *prices,
                        int launch, const struct mfu_often *times)
{
    int i = 0;

    while (i < a->n_throttled && !same_product(g, prices, a->throttled[i].first, launch))
        i++;
    if (i == a->n_throttled) {
        if (!MFU_ROOM(a->throttled, i + 1, a->cap_throttled))
            return false;
        a->throttled[a->n_throttled++] = (struct mfu_equal_launches){.first = launch};
    }
    a->seconds[launch].like = i;
    a->throttled[i].times.micro += times->micro;
    a->throttled[i].times.once += times->once;
    return true;
}

static bool same_varying(const struct mfu_program *g, const struct mfu_pricing *p, int a, int b)
{
    const struct mfu_launch *x = &g->launches[a], *y = &g->launches[b];

    return p->uses[a].hot_bytes == p->uses[b].hot_bytes && x->phase == y->phase && x->work->when == y->work->when
        && x->stream == y->stream && x->communicates == y->communicates
        && (x->work->accumulated_bytes > 0) == (y->work->accumulated_bytes > 0)
        && memcmp(&x->work->kernel, &y->work->kernel, sizeof x->work->kernel) == 0;
}

static bool add_varying(struct mfu_accumulation *a, const struct mfu_program *g, const struct mfu_pricing *p,
                        int launch, const struct mfu_often *times)
{
    int like = 0;

    if (!MFU_ROOM(a->varying, a->n_varying + 1, a->cap_varying))
        return false;
    while (like < a->n_varying && !same_varying(g, p, a->varying[like].launch, launch))
        like++;
    a->varying[a->n_varying++] = (struct mfu_varying_launch){
        .launch = launch, .like = like, .times = *times, .hot_bytes = p->uses[launch].hot_bytes};
    return true;
}

/* Whether collectives take as long whatever is beside them, and what varies leaves clocks alone. */
static bool adds_up(const struct mfu_machine *m, const struct mfu_program *g)
{
    for (int i = 0; i < g->n_launches; i++) {
        const struct mfu_launch *l = &g->launches[i];

        if (l->beside != 0 || l->work->collective.axes == MFU_AXIS_BIT(MFU_AXIS_EP)
            || (varies(l) && m->throttle > 0 && mfu_law_of(&l->work->kernel)->tensor))
            return false;
    }
    return m->c[MFU_C_SYSTEM] == 1 || mfu_mesh_ranks(&g->mesh) <= 1;
}

/* Bytes of the traffic that stay in L2. */
static double inside(double hot_bytes, double absorbed_bytes, const struct mfu_kernel *k)
{
    return (hot_bytes < k->read_bytes ? hot_bytes : k->read_bytes) + absorbed_bytes;
}

/* Seconds of a launch if L2 takes all that it can of its results. */
static double least_s(const struct mfu_machine *m, const struct mfu_launch *l, const struct mfu_price *price,
                      const struct mfu_l2_use *use, double reach_bytes)
{
    double most = use->kept_bytes < reach_bytes ? use->kept_bytes : reach_bytes;
    struct mfu_price best = *price;

    if (use->absorbed_bytes < most)
        mfu_price_traffic(m, &l->work->kernel, inside(use->hot_bytes, most, &l->work->kernel), &best);
    return best.time_s;
}

/* False: out of memory. */
static bool learn_launch(struct mfu_accumulation *a, const struct mfu_machine *m, const struct mfu_program *g,
                         const struct mfu_pricing *p, int i, const struct mfu_often *times)
{
    const struct mfu_launch *l = &g->launches[i];
    struct mfu_sums *sums = times->micro > 0 ? &a->often : &a->once;
    double all = times->micro + times->once, tensor = mfu_tensor_share(m, l, &p->prices[i]);

    a->seconds[i] = (struct mfu_launch_seconds){p->prices[i].time_s * mfu_launch_whole(l, MFU_ACCUMULATED), -1, -1};
    a->stretches |= l->communicates;
    if (varies(l) && l->work->collective.axes != 0) { /* as much in each step */
        sums = &a->once;
        all = times_of(times, MFU_ACCUMULATED);
    } else if (varies(l)) {
        return add_varying(a, g, p, i, times);
    }
    if (!l->communicates) {
        add_seconds(&a->tensor_s, times, tensor * p->prices[i].time_s);
        add_seconds(&a->other_s, times, (1 - tensor) * p->prices[i].time_s);
    }
    mfu_sums_add_amount(sums, l, all);
    if (mfu_throttles(m, l))
        return add_product(a, g, p->prices, i, times);
    mfu_sums_add_time(sums, l, &p->prices[i], all, a->rules);
    return true;
}

int mfu_accumulation_learn(struct mfu_accumulation *a, const struct mfu_machine *m, struct mfu_program *g,
                           struct mfu_pricing *p, bool rules, bool stretches)
{
    a->state = MFU_ACCUMULATION_FAILS;
    a->rules = rules;
    a->stretches = stretches;
    a->cut = false;
    if (!adds_up(m, g))
        return 0;
    mfu_program_accumulate(g, MFU_ACCUMULATED);
    if (mfu_price_before_clocks(m, g, p) < 0)
        return -1;
    memset(&a->often, 0, sizeof a->often);
    memset(&a->once, 0, sizeof a->once);
    a->tensor_s = a->other_s = (struct mfu_often){0};
    a->least_known = false;
    a->reach_bytes = mfu_l2_reach(m);
    a->n_throttled = a->n_varying = a->n_firsts = 0;
    if (!MFU_ROOM(a->alike, g->n_launches, a->cap_alike) || !MFU_ROOM(a->firsts, g->n_launches, a->cap_firsts)
        || !MFU_ROOM(a->seconds, g->n_launches, a->cap_seconds))
        return -1;
    for (int i = 0; i < g->n_launches; i++)
        a->alike[i] = -1;
    a->least = p->least;
    a->most = p->most;
    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *s = &g->segments[k];
        const struct mfu_often times = times_in(s);

        for (int i = s->first; i < s->first + s->count; i++)
            if (!learn_launch(a, m, g, p, i, &times))
                return -1;
    }
    a->state = MFU_ACCUMULATION_HOLDS;
    return 0;
}

/* ---- another number ------------------------------------------------------ */

static double dirty_behind(double dirty_bytes, double absorbed_bytes, double flushed_bytes)
{
    struct mfu_l2_use use = {
        .dirty_bytes = dirty_bytes, .absorbed_bytes = absorbed_bytes, .flushed_bytes = flushed_bytes};

    return mfu_l2_dirty_behind(&use);
}

static void take_times(struct mfu_often *all, const struct mfu_often *times)
{
    all->micro += times->micro;
    all->once += times->once;
}

/* The first launch of the same kernel in the same state of L2: layers are equal. */
static int first_alike(struct mfu_accumulation *a, const struct mfu_program *g, const struct mfu_pricing *p, int launch)
{
    const struct mfu_launch *l = &g->launches[launch];

    for (int i = 0; i < a->n_firsts && a->alike[launch] < 0; i++) {
        int first = a->firsts[i];

        if (l->phase == g->launches[first].phase && l->communicates == g->launches[first].communicates
            && l->stream == g->launches[first].stream && p->uses[launch].hot_bytes == p->uses[first].hot_bytes
            && p->uses[launch].absorbed_bytes == p->uses[first].absorbed_bytes
            && memcmp(&l->work->kernel, &g->launches[first].work->kernel, sizeof l->work->kernel) == 0)
            a->alike[launch] = first;
    }
    if (a->alike[launch] < 0)
        a->alike[launch] = a->firsts[a->n_firsts++] = launch;
    return a->alike[launch];
}

/* A place for launches at a new price; NULL: out of memory. */
static struct mfu_priced_launches *new_price(struct mfu_accumulation *a, int launch, int like, bool varies,
                                             const struct mfu_often *times, double absorbed_bytes)
{
    struct mfu_priced_launches *c;

    if (!MFU_ROOM(a->priced, a->n_priced + 1, a->cap_priced))
        return NULL;
    c = &a->priced[a->n_priced++];
    c->launch = launch;
    c->like = like;
    c->varies = varies;
    c->all = *times;
    c->absorbed_bytes = absorbed_bytes;
    return c;
}

static void flush(const struct mfu_machine *m, const struct mfu_kernel *k, struct mfu_priced_launches *c)
{
    struct mfu_l2_use use = {0};

    mfu_l2_flush(m->bandwidth_bytes_s, k, &c->price, &use);
    c->flushed_bytes = use.flushed_bytes;
}

/* What a launch that varies does when so many bytes of L2 are dirty; returns how many are behind it,
 * or -1 when out of memory. */
static double vary(struct mfu_accumulation *a, const struct mfu_machine *m, struct mfu_program *g, double reach_bytes,
                   const struct mfu_varying_launch *v, double accum, double dirty_bytes)
{
    struct mfu_varying_launch *like = &a->varying[v->like];
    const struct mfu_kernel *k = &g->launches[like->launch].work->kernel;
    double room = reach_bytes - dirty_bytes, kept, absorbed;
    struct mfu_priced_launches *c;

    if (like == v) {
        mfu_work_accumulate(g->works[g->launches[v->launch].work->number], accum);
        like->price = -1;
    }
    kept = k->cold ? 0 : k->write_bytes;
    absorbed = k->cold ? 0 : kept < room ? kept : room;
    if (like->price >= 0 && a->priced[like->price].absorbed_bytes == absorbed) {
        c = &a->priced[like->price];
        take_times(&c->all, &v->times);
    } else {
        if (!(c = new_price(a, like->launch, v->like, true, &v->times, absorbed)))
            return -1;
        like->price = a->n_priced - 1;
        mfu_price_kernel(m, k, inside(v->hot_bytes, absorbed, k) - absorbed, absorbed, &c->price);
        flush(m, k, c);
    }
    a->seconds[v->launch].priced = (int)(c - a->priced);
    return dirty_behind(dirty_bytes, absorbed, c->flushed_bytes);
}

/* The same for another, of whose results L2 takes more or less, which changes its price. */
static double follow(struct mfu_accumulation *a, const struct mfu_machine *m, const struct mfu_program *g,
                     const struct mfu_pricing *p, int launch, int *segment, double dirty_bytes, double absorbed_bytes)
{
    const struct mfu_kernel *k = &g->launches[launch].work->kernel;
    struct mfu_often times;
    struct mfu_priced_launches *c = NULL;
    int like = first_alike(a, g, p, launch);

    while (launch >= g->segments[*segment].first + g->segments[*segment].count)
        ++*segment;
    times = times_in(&g->segments[*segment]);
    for (int i = 0; i < a->n_priced && !c; i++)
        if (!a->priced[i].varies && a->priced[i].like == like && a->priced[i].absorbed_bytes == absorbed_bytes)
            c = &a->priced[i];
    if (c) {
        take_times(&c->all, &times);
    } else {
        if (!(c = new_price(a, launch, like, false, &times, absorbed_bytes)))
            return -1;
        c->price = p->prices[launch];
        mfu_price_traffic(m, k, inside(p->uses[launch].hot_bytes, absorbed_bytes, k), &c->price);
        flush(m, k, c);
    }
    a->seconds[launch].priced = (int)(c - a->priced);
    return dirty_behind(dirty_bytes, absorbed_bytes, c->flushed_bytes);
}

/* Prices what varies, and what changes behind it.  False: out of memory. */
static bool walk(struct mfu_accumulation *a, const struct mfu_machine *m, struct mfu_program *g,
                 const struct mfu_pricing *p, double accum)
{
    double reach = a->reach_bytes, rounding = ROUNDING * reach;
    int segment = 0, at = 0;
    double dirty = 0;

    a->n_priced = 0;
    for (int i = 0; i < a->n_varying && dirty >= 0; i++) {
        const struct mfu_varying_launch *v = &a->varying[i];
        int next = i + 1 < a->n_varying ? v[1].launch : g->n_launches;

        if (at != v->launch) /* L2 was as before in between */
            dirty = p->uses[v->launch].dirty_bytes;
        dirty = vary(a, m, g, reach, v, accum, dirty);
        for (at = v->launch + 1; at < next && dirty >= 0 && fabs(dirty - p->uses[at].dirty_bytes) > rounding; at++) {
            const struct mfu_l2_use *learned = &p->uses[at];
            double room = reach - dirty, absorbed = learned->kept_bytes < room ? learned->kept_bytes : room;

            if (g->launches[at].work->collective.axes != 0) /* L2 is not asked for it */
                continue;
            dirty = absorbed == learned->absorbed_bytes ? dirty_behind(dirty, absorbed, learned->flushed_bytes)
                                                        : follow(a, m, g, p, at, &segment, dirty, absorbed);
        }
    }
    return dirty >= 0;
}

/* Returns the seconds of one. */
static double add_throttled(const struct mfu_accumulation *a, const struct mfu_machine *m, const struct mfu_launch *l,
                            const struct mfu_price *before, double duty, double times, struct mfu_sums *sums)
{
    struct mfu_price price = *before;

    mfu_price_throttle(m, &l->work->kernel, duty, &price);
    mfu_sums_add_time(sums, l, &price, times, a->rules);
    return price.time_s;
}

/* The program at this number, and how long each of its launches takes when it happens, in stretches. */
static bool stretch(struct mfu_accumulation *a, struct mfu_program *g, double accum, struct mfu_overlap_stretches *all)
{
    if (!MFU_ROOM(all->seconds, g->n_launches, all->cap_seconds))
        return false;
    mfu_program_accumulate(g, accum);
    for (int i = 0; i < g->n_launches; i++) {
        struct mfu_launch_seconds *s = &a->seconds[i];

        all->seconds[i] = s->priced >= 0 ? a->priced[s->priced].time_s * mfu_launch_whole(&g->launches[i], accum)
            : s->like >= 0               ? a->throttled[s->like].time_s
                                         : s->base_s;
        s->priced = -1;
    }
    a->cut = a->cut || mfu_overlap_cut(all, g);
    if (a->cut)
        mfu_overlap_sum(all, g);
    return a->cut;
}

/* Whether inputs are as hot as where that was learned; nobody knows of a share at which they change, but for rounding. */
static bool is_between(const struct mfu_accumulation *a, double share)
{
    return share > a->least + ROUNDING && share < a->most - ROUNDING;
}

bool mfu_accumulation_sums(struct mfu_accumulation *a, const struct mfu_machine *m, struct mfu_program *g,
                           const struct mfu_pricing *p, double accum, struct mfu_sums *sums,
                           struct mfu_overlap_stretches *stretches)
{
    double share = (accum - 1) / accum, duty;
    double tensor_s = times_of(&a->tensor_s, accum), other_s = times_of(&a->other_s, accum);

    if (!(is_between(a, share)) || !walk(a, m, g, p, accum))
        return false;
    memcpy(sums, &a->once, a->rules ? sizeof *sums : offsetof(struct mfu_sums, rules_s));
    mfu_sums_add(sums, &a->often, accum, a->rules);
    for (int i = 0; i < a->n_priced; i++) {
        struct mfu_priced_launches *c = &a->priced[i];
        const struct mfu_launch *l = &g->launches[c->launch];
        const struct mfu_price *before = &p->prices[c->launch];
        double times = times_of(&c->all, accum), before_s = times * before->time_s, now_s = times * c->price.time_s;
        double tensor_before = mfu_tensor_share(m, l, before), tensor_now = mfu_tensor_share(m, l, &c->price);

        if (c->varies) {
            mfu_sums_add_amount(sums, l, times);
            mfu_sums_add_time(sums, l, &c->price, times, a->rules);
            c->time_s = c->price.time_s;
        }
        if (l->communicates)
            continue;
        if (c->varies) {
            other_s += times * c->price.time_s;
            continue;
        }
        tensor_s += tensor_now * now_s - tensor_before * before_s;
        other_s += (1 - tensor_now) * now_s - (1 - tensor_before) * before_s;
    }
    duty = mfu_tensor_duty(m, tensor_s, other_s);
    for (int i = 0; i < a->n_throttled; i++)
        a->throttled[i].time_s =
            add_throttled(a, m, &g->launches[a->throttled[i].first], &p->prices[a->throttled[i].first], duty,
                          times_of(&a->throttled[i].times, accum), sums);
    for (int i = 0; i < a->n_priced; i++) {
        struct mfu_priced_launches *c = &a->priced[i];
        const struct mfu_launch *l = &g->launches[c->launch];
        double times = times_of(&c->all, accum), falls = mfu_throttles(m, l) ? duty : 0;

        if (c->varies)
            continue;
        add_throttled(a, m, l, &p->prices[c->launch], falls, -times, sums);
        c->time_s = add_throttled(a, m, l, &c->price, falls, times, sums);
    }
    return !a->stretches || stretch(a, g, accum, stretches);
}

/* Only searches ask. */
static void learn_least(struct mfu_accumulation *a, const struct mfu_machine *m, const struct mfu_program *g,
                        const struct mfu_pricing *p)
{
    a->least_known = true;
    a->least_s = (struct mfu_often){0};
    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *s = &g->segments[k];
        const struct mfu_often times = times_in(s);

        for (int i = s->first; i < s->first + s->count; i++)
            if (!varies(&g->launches[i]) && !g->launches[i].communicates)
                add_seconds(&a->least_s, &times,
                            least_s(m, &g->launches[i], &p->prices[i], &p->uses[i], a->reach_bytes));
    }
}

bool mfu_accumulation_least(struct mfu_accumulation *a, const struct mfu_machine *m, const struct mfu_program *g,
                            const struct mfu_pricing *p, double accum, struct mfu_sums *sums, double *least)
{
    double share = (accum - 1) / accum;

    if (a->state != MFU_ACCUMULATION_HOLDS || !(is_between(a, share)))
        return false;
    if (!a->least_known)
        learn_least(a, m, g, p);
    memcpy(sums, &a->once, offsetof(struct mfu_sums, rules_s));
    mfu_sums_add(sums, &a->often, accum, false);
    *least = times_of(&a->least_s, accum) * (1 - SLACK);
    return true;
}

void mfu_accumulation_release(struct mfu_accumulation *a)
{
    free(a->throttled);
    free(a->varying);
    free(a->priced);
    free(a->alike);
    free(a->firsts);
    free(a->seconds);
    memset(a, 0, sizeof *a);
}
