/*
 * collective.c - seconds of NCCL collectives over a topology.
 */
#include "cost/collective.h"

#include <math.h>

const char *const mfu_algorithm_names[MFU_ALGORITHM_COUNT + 1] = {
    [MFU_RING] = "ring",           [MFU_TREE] = "tree",   [MFU_NVLS] = "nvls",
    [MFU_NVLS_TREE] = "nvls-tree", [MFU_SHARP] = "sharp", [MFU_PAIRS] = "pairs",
};
const char *const mfu_protocol_names[MFU_PROTOCOL_COUNT] = {
    [MFU_LL] = "LL", [MFU_LL128] = "LL128", [MFU_SIMPLE] = "Simple"};

/* Of 128 bytes that LL128 moves, 8 are flags, and NCCL counts on .92. */
#define LL128_SHARE 0.92

/* Between units, pairs are served side by side: this part of a hop counts for each
 * (estimated). */
#define PAIR_HOP 0.2

/* NCCL gives a peer fewer channels the more peers there are: measured on 8 to 64
 * nodes of B200, send and receive keep 5 / nodes of a NIC, at least .34. */
#define PEER_NODES 5
#define LEAST_PEER 0.34

double mfu_bus_factor(enum mfu_collective_kind op, double n)
{
    switch (op) {
    case MFU_ALL_REDUCE: return 2 * (n - 1) / n;
    case MFU_ALL_GATHER:
    case MFU_REDUCE_SCATTER:
    case MFU_ALL_TO_ALL: return (n - 1) / n;
    default: return 1;
    }
}

/* What is asked, and the best answer so far. */
struct question {
    const struct mfu_machine *m;
    const struct mfu_topology *t;
    const struct mfu_group *g;
    enum mfu_collective_kind op;
    double bytes;
    double passes;       /* around the ring: 2 for an all-reduce */
    double copy_s;       /* of a rank's own part */
    unsigned algorithms; /* a bit for each that may be taken */
    double in, out;      /* bytes per second of a rank in its unit; of the group's ranks of a unit, outside */
    struct mfu_collective_price best;
};

/* One way to do it. */
struct way {
    enum mfu_algorithm algorithm;
    enum mfu_protocol protocol;
    double start;   /* times link.latency */
    double steps_s; /* inside units */
    double hops_s;  /* between units */
    double wire_s;
    double ramp; /* times link.ramp x sqrt(bytes) */
    bool copies;
};

static void consider(struct question *q, const struct way *w)
{
    const double *c = q->m->c;
    double latency_s = c[MFU_C_LINK_LATENCY] * w->start + w->steps_s + w->hops_s;
    double ramp_s =
        w->ramp * c[MFU_C_LINK_RAMP] * sqrt(q->bytes) + 2 * c[MFU_C_NET_PIPELINE] * sqrt(w->hops_s * w->wire_s);
    double time_s = latency_s + w->wire_s + (w->copies ? q->copy_s : 0) + ramp_s;

    if (!(time_s < q->best.time_s) || !(q->algorithms >> w->algorithm & 1))
        return;
    q->best.time_s = time_s;
    q->best.latency_s = latency_s;
    q->best.wire_s = w->wire_s;
    q->best.algorithm = w->algorithm;
    q->best.protocol = w->protocol;
}

/* Ring, tree and pairs, once per protocol. */
static void with_protocols(struct question *q, struct way w)
{
    const double *c = q->m->c;
    const struct protocol {
        double start, step, share;
        bool copies;
    } protocols[MFU_PROTOCOL_COUNT] = {
        [MFU_LL] = {1, 1, c[MFU_C_LINK_LL], false},
        [MFU_LL128] = {c[MFU_C_LL128_START], c[MFU_C_LL128_STEP], LL128_SHARE, true},
        [MFU_SIMPLE] = {c[MFU_C_SIMPLE_START], c[MFU_C_SIMPLE_STEP], 1, true},
    };

    for (int i = 0; i < MFU_PROTOCOL_COUNT; i++) {
        struct way v = w;

        v.protocol = (enum mfu_protocol)i;
        v.start = protocols[i].start;
        v.steps_s *= protocols[i].step;
        v.wire_s /= protocols[i].share;
        v.ramp *= i == MFU_SIMPLE;
        v.copies = protocols[i].copies && w.copies;
        consider(q, &v);
    }
}

static void ring(struct question *q)
{
    double n = q->g->ranks, hops = q->passes * (q->g->units - 1), rate = fmin(q->in, q->g->units > 1 ? q->out : q->in);

    if (q->op == MFU_BROADCAST)
        with_protocols(q,
                       (struct way){.algorithm = MFU_RING,
                                    .steps_s = (n - q->g->units) * q->m->c[MFU_C_LINK_STEP],
                                    .hops_s = hops * q->t->hop_s,
                                    .wire_s = q->bytes / rate,
                                    .ramp = 0.5});
    if (q->op > MFU_REDUCE_SCATTER)
        return;
    with_protocols(q,
                   (struct way){.algorithm = MFU_RING,
                                .steps_s = (q->passes * (n - 1) - hops) * q->m->c[MFU_C_LINK_STEP],
                                .hops_s = hops * q->t->hop_s,
                                .wire_s = q->passes * (n - 1) / n * q->bytes / rate,
                                .ramp = 1,
                                .copies = q->op != MFU_ALL_REDUCE});
}

/* How often a unit sends each byte in a tree: half of it up and half down between
 * two, the whole each way in the middle of more. */
static double tree_passes(const struct question *q)
{
    return q->g->units > 2 ? 2 : 1;
}

static void tree(struct question *q)
{
    const double *c = q->m->c;
    double cap = q->t->link_bytes_s > 0 ? c[MFU_C_LINK_TREE] * q->t->link_bytes_s : q->in;

    if (q->op != MFU_ALL_REDUCE || q->g->units <= 1)
        return;
    with_protocols(q,
                   (struct way){.algorithm = MFU_TREE,
                                .steps_s = 2 * (q->g->local - 1) * c[MFU_C_LINK_STEP],
                                .hops_s = 2 * log2(q->g->units) * q->t->hop_s,
                                .wire_s = q->bytes * fmax(2 / q->in, tree_passes(q) / fmin(q->out, cap)),
                                .ramp = 1});
}

/* NVLink switches add up and multicast: each GPU sends what the switch adds, and its
 * part of the result once. */
static double switch_s(const struct question *q)
{
    return q->bytes * (1 + 1 / q->g->local) / (q->m->c[MFU_C_LINK_NVLS] * q->t->link_bytes_s);
}

static bool switch_adds(const struct question *q)
{
    return q->t->fabric == MFU_FABRIC_NVSWITCH && q->m->c[MFU_C_LINK_NVLS] > 0 && q->g->local > 2;
}

static void nvls(struct question *q)
{
    const double *c = q->m->c;
    double hops_s = 2 * log2(q->g->units) * q->t->hop_s;

    if (q->op != MFU_ALL_REDUCE || !switch_adds(q))
        return;
    if (q->g->units <= 1)
        consider(q,
                 &(struct way){.algorithm = MFU_NVLS,
                               .protocol = MFU_SIMPLE,
                               .start = c[MFU_C_NVLS_START],
                               .wire_s = switch_s(q),
                               .ramp = 1});
    else
        consider(q,
                 &(struct way){
                     .algorithm = MFU_NVLS_TREE,
                     .protocol = MFU_SIMPLE,
                     .start = c[MFU_C_NVLS_START],
                     .hops_s = hops_s,
                     .ramp = 1,
                     .wire_s = fmax(switch_s(q), q->bytes * (q->g->units > 2 ? 2 / c[MFU_C_NET_TREE] : 1) / q->out)});
}

static void sharp(struct question *q)
{
    const double *c = q->m->c;
    double n = q->g->ranks, out = q->out / mfu_topology_spread(q->t, q->g), hops = 1, wire_s;

    if (!q->t->reduces || q->g->units <= 1 || !switch_adds(q) || q->op > MFU_REDUCE_SCATTER)
        return;
    if (q->op == MFU_ALL_REDUCE) {
        hops = 2;
        wire_s = fmax(switch_s(q), q->bytes / (out * c[MFU_C_NET_SHARP]));
    } else {
        wire_s = (n - 1) / n * q->bytes / fmin(q->in, out);
    }
    consider(q,
             &(struct way){.algorithm = MFU_SHARP,
                           .protocol = MFU_SIMPLE,
                           .start = c[MFU_C_NVLS_START],
                           .hops_s = hops * q->t->hop_s,
                           .wire_s = wire_s,
                           .ramp = 1,
                           .copies = true});
}

static void pairs(struct question *q)
{
    double n = q->g->ranks, local = q->g->local, step_s = q->m->c[MFU_C_LINK_STEP];
    double keeps = fmax(LEAST_PEER, fmin(1, PEER_NODES / q->g->units)), inside = q->bytes * (local - 1) / n / q->in;

    if (q->op == MFU_ALL_TO_ALL) {
        double outside = q->g->units > 1 ? local * q->bytes * (n - local) / n / (q->best.road.far_bytes_s * keeps) : 0;

        with_protocols(q,
                       (struct way){.algorithm = MFU_PAIRS,
                                    .steps_s = (n - 1) * step_s,
                                    .hops_s = (q->g->units - 1) * PAIR_HOP * q->t->hop_s,
                                    .wire_s = fmax(inside, outside),
                                    .ramp = 0.5,
                                    .copies = true});
    } else if (q->op == MFU_SEND) {
        bool far = q->g->units > 1;
        double nic = fmin(q->out, q->t->nic_bytes_s * fmax(1, q->t->gpu_nics)); /* one peer: no incast */

        with_protocols(q,
                       (struct way){.algorithm = MFU_PAIRS,
                                    .steps_s = far ? 0 : step_s,
                                    .hops_s = far ? q->t->hop_s : 0,
                                    .wire_s = q->bytes / (far ? nic : q->in),
                                    .ramp = 0.5});
    }
}

/* Copies between a GPU and its host at the rate of the link; the CPU's work at that of its memory. */
static struct mfu_collective_price with_host(const struct mfu_machine *m, enum mfu_collective_kind op, double bytes)
{
    const struct mfu_topology *t = &m->topology;
    double rate = op == MFU_HOST_UPDATE ? t->host_memory * m->c[MFU_C_HOST_ADAM] : t->pinned;
    struct mfu_collective_price p = {.latency_s = m->c[MFU_C_LINK_LATENCY], .wire_s = bytes / rate};

    p.time_s = bytes > 0 ? p.latency_s + p.wire_s : 0;
    return p;
}

static struct mfu_collective_price price(const struct mfu_machine *m, const struct mfu_group *g,
                                         enum mfu_collective_kind op, double bytes, unsigned algorithms)
{
    static void (*const all[])(struct question *) = {ring, tree, nvls, sharp, pairs};
    struct question q = {.m = m,
                         .t = &m->topology,
                         .g = g,
                         .op = op,
                         .bytes = bytes,
                         .passes = op == MFU_ALL_REDUCE ? 2 : 1,
                         .copy_s = bytes / g->ranks / (m->c[MFU_C_LINK_COPY] * m->bandwidth_bytes_s),
                         .algorithms = algorithms};

    if (op >= MFU_TO_HOST)
        return with_host(m, op, bytes);
    if (g->ranks <= 1 || bytes <= 0)
        return q.best;
    q.best.road = mfu_road_of(q.t, g);
    q.best.time_s = INFINITY;
    q.in = q.best.road.fabric_bytes_s;
    q.out = q.best.road.network_bytes_s;
    if (g->units <= 1 || q.out > 0)
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            all[i](&q);
    if (isinf(q.best.time_s))
        q.best.time_s = NAN;
    return q.best;
}

struct mfu_collective_price mfu_collective_price(const struct mfu_machine *m, const struct mfu_group *g,
                                                 enum mfu_collective_kind op, double bytes)
{
    return price(m, g, op, bytes, ~0u);
}

struct mfu_collective_price mfu_collective_price_by(const struct mfu_machine *m, const struct mfu_group *g,
                                                    enum mfu_collective_kind op, double bytes,
                                                    enum mfu_algorithm algorithm)
{
    return price(m, g, op, bytes, 1u << algorithm);
}

double mfu_collective_s(const struct mfu_machine *m, const struct mfu_group *g, enum mfu_collective_kind op,
                        double bytes)
{
    return mfu_collective_price(m, g, op, bytes).time_s;
}

/* Around a ring, one of a unit's ranks sends to the next unit; pairs send to all alike; where
 * the switch adds up, each rank gives it its message once, and a part of the result. */
struct mfu_traffic mfu_collective_traffic(const struct mfu_machine *m, const struct mfu_group *g,
                                          enum mfu_collective_kind op, double bytes)
{
    double n = g->ranks, sent = mfu_bus_factor(op, n) * bytes, nic = g->units > 1 ? sent / g->local : 0;
    enum mfu_algorithm by = mfu_collective_price(m, g, op, bytes).algorithm;

    if (op >= MFU_TO_HOST)
        return (struct mfu_traffic){.fabric_bytes = op == MFU_HOST_UPDATE ? 0 : bytes};
    if (n <= 1)
        return (struct mfu_traffic){0};
    if (op == MFU_SEND)
        return g->units > 1 ? (struct mfu_traffic){.nic_bytes = bytes} : (struct mfu_traffic){.fabric_bytes = bytes};
    if (op == MFU_ALL_TO_ALL)
        return (struct mfu_traffic){bytes * (g->local - 1) / n, bytes * (n - g->local) / n};
    if (op == MFU_ALL_REDUCE && (by == MFU_NVLS || by == MFU_NVLS_TREE || by == MFU_SHARP))
        return (struct mfu_traffic){bytes * (1 + 1 / g->local), nic};
    return (struct mfu_traffic){sent - nic, nic};
}

double mfu_check_s(const struct mfu_machine *m, struct mfu_group g)
{
    return g.local * m->c[MFU_C_HOST_CHECK] + (g.ranks - g.local) * m->c[MFU_C_HOST_CHECK_FAR];
}
