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

/* One loop of a channel's LL kernel sends so many bytes to each rank: 512 threads of 8. */
#define LL_LOOP 4096

/* NCCL sends pairs' messages with LL up to here (NCCL_P2P_LL_THRESHOLD), for each channel. */
#define PAIR_LL 16384

/* Pairs are served side by side: this part of a step and, between units, of a hop counts for
 * each; they keep this part of a ring's rate (fits to published nccl-tests). */
#define PAIR_STEP 0.78
#define PAIR_HOP 0.2
#define PAIR_RATE 0.94
#define PAIR_SIMPLE 0.56

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
    unsigned algorithms; /* a bit for each that may be taken */
    double in, out;      /* bytes per second of a rank in its unit; of the group's ranks of a unit, outside */
    double expected_s;   /* of the best */
    struct mfu_collective_price best;
};

/* One way to do it. */
struct way {
    double expected_s; /* by NCCL, which takes the way of which it expects least; 0: not known, then the fastest */
    enum mfu_algorithm algorithm;
    enum mfu_protocol protocol;
    double start;   /* times link.latency */
    double steps_s; /* inside units */
    double hops_s;  /* between units */
    double wire_s;
    double ramp; /* times link.ramp x sqrt(bytes) */
};
#define WAY(...)                                                                                                       \
    (struct way)                                                                                                       \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static void consider(struct question *q, const struct way *w)
{
    const double *c = q->m->c;
    double latency_s = c[MFU_C_LINK_LATENCY] * w->start + w->steps_s + w->hops_s;
    double ramp_s =
        w->ramp * c[MFU_C_LINK_RAMP] * sqrt(q->bytes) + 2 * c[MFU_C_NET_PIPELINE] * sqrt(w->hops_s * w->wire_s);
    double time_s = latency_s + w->wire_s + ramp_s, expected_s = w->expected_s > 0 ? w->expected_s : time_s;

    if (!(expected_s < q->expected_s) || !(q->algorithms >> w->algorithm & 1))
        return;
    q->expected_s = expected_s;
    q->best.time_s = time_s;
    q->best.latency_s = latency_s;
    q->best.wire_s = w->wire_s;
    q->best.algorithm = w->algorithm;
    q->best.protocol = w->protocol;
}

/* What NCCL expects of a ring in one machine, and of its switch.  Source: NCCL 2.30.7, src/graph/tuning.cc,
 * ncclTunerConstantsDefaults (base and hardware latencies, llMaxBws, nvlsEfficiency), ncclTopoTuneModel;
 * src/graph/search.cc, speedArrayIntra: the most that a GPU pulls for one other. */
static const struct {
    double base_s, nvlink_s, pcie_s, share;
} tuned[MFU_PROTOCOL_COUNT] = {
    [MFU_LL] = {6.6e-6, 0.6e-6, 1e-6, 0.5},
    [MFU_LL128] = {14e-6, 1.9e-6, 2.5e-6, LL128_SHARE},
    [MFU_SIMPLE] = {8.4e-6, 3.4e-6, 5.7e-6, 1},
};
#define TUNED_NVLS 25e-6
static const struct generation {
    double capability, ll_bytes_s, nvls, nvls_bytes_s;
} generations[] = {{10, 282e9, 0.74, 90e9}, {9, 141e9, 0.85, 60e9}, {8, 87.7e9, 0, 0}, {7, 39e9, 0, 0}, {0, 0, 0, 0}};

/* NULL: NCCL's choice is not known (other makers, several nodes). */
static const struct generation *generation_of(const struct question *q)
{
    const struct generation *g = generations;

    if (q->g->units > 1 || q->op > MFU_REDUCE_SCATTER || !(q->t->capability >= 7))
        return NULL;
    while (q->t->capability < g->capability)
        g++;
    return g;
}

static double expected_ring_s(const struct question *q, enum mfu_protocol protocol)
{
    const struct generation *g = generation_of(q);
    double k = q->passes * (q->g->ranks - 1), rate = q->best.road.counted_bytes_s * tuned[protocol].share;

    if (!g)
        return 0;
    if (protocol == MFU_LL)
        rate = fmin(rate, g->ll_bytes_s);
    return tuned[protocol].base_s + k * (q->best.road.nvlink ? tuned[protocol].nvlink_s : tuned[protocol].pcie_s)
        + k / q->g->ranks * q->bytes / rate;
}

static double expected_nvls_s(const struct question *q)
{
    const struct generation *g = generation_of(q);
    double n = q->g->ranks;

    return !g ? 0
              : TUNED_NVLS
            + q->passes * (n - 1) / n * q->bytes
                / (2 * g->nvls * (n - 1) / n * fmin(q->best.road.counted_bytes_s, n * g->nvls_bytes_s));
}

/* Ring and tree, once per protocol.  LL and LL128 go around in loops, whose last step hands nothing on:
 * a pass more; with Simple it overlaps but for link.copy. */
static void with_protocols(struct question *q, struct way w, double last_s)
{
    const double *c = q->m->c;
    const struct protocol {
        double start, step, share, last;
    } protocols[MFU_PROTOCOL_COUNT] = {
        [MFU_LL] = {1, 1, c[MFU_C_LINK_LL], 1},
        [MFU_LL128] = {1, c[MFU_C_LL128_STEP], LL128_SHARE, 1},
        [MFU_SIMPLE] = {c[MFU_C_SIMPLE_START], c[MFU_C_SIMPLE_STEP], 1, c[MFU_C_LINK_COPY]},
    };
    double full = 1 + c[MFU_C_LINK_LL_FULL] * q->bytes / (q->bytes + LL_LOOP * q->g->ranks);

    for (int i = 0; i < MFU_PROTOCOL_COUNT; i++) {
        struct way v = w;

        if (i == MFU_LL128 && q->g->units <= 1 && !q->best.road.nvlink)
            continue; /* NCCL trusts NVLink alone not to tear 128 bytes apart */
        v.protocol = (enum mfu_protocol)i;
        v.start = protocols[i].start * (i == MFU_LL ? full : 1);
        v.steps_s *= protocols[i].step * (i == MFU_LL ? full : 1);
        v.wire_s = (v.wire_s + protocols[i].last * last_s) / protocols[i].share;
        v.ramp *= i == MFU_SIMPLE;
        v.expected_s = w.algorithm == MFU_RING ? expected_ring_s(q, (enum mfu_protocol)i) : 0;
        consider(q, &v);
    }
}

static void ring(struct question *q)
{
    double n = q->g->ranks, hops = q->passes * (q->g->units - 1), rate = fmin(q->in, q->g->units > 1 ? q->out : q->in);
    double step_s = q->m->c[MFU_C_LINK_STEP] / q->best.road.shared;

    if (q->op == MFU_BROADCAST)
        with_protocols(q,
                       WAY(.algorithm = MFU_RING, .steps_s = (n - q->g->units) * step_s, .hops_s = hops * q->t->hop_s,
                           .wire_s = q->bytes / rate, .ramp = 1),
                       0);
    if (q->op > MFU_REDUCE_SCATTER)
        return;
    with_protocols(q,
                   WAY(.algorithm = MFU_RING, .steps_s = (q->passes * (n - 1) - hops) * step_s,
                       .hops_s = hops * q->t->hop_s, .wire_s = q->passes * (n - 1) / n * q->bytes / rate, .ramp = 1),
                   q->bytes / n / q->in);
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
                   WAY(.algorithm = MFU_TREE, .steps_s = 2 * (q->g->local - 1) * c[MFU_C_LINK_STEP],
                       .hops_s = 2 * log2(q->g->units) * q->t->hop_s,
                       .wire_s = q->bytes * fmax(2 / q->in, tree_passes(q) / fmin(q->out, cap)), .ramp = 1),
                   0);
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
                 &WAY(.algorithm = MFU_NVLS, .protocol = MFU_SIMPLE, .start = c[MFU_C_NVLS_START],
                      .wire_s = switch_s(q), .ramp = c[MFU_C_NVLS_RAMP], .expected_s = expected_nvls_s(q)));
    else
        consider(q,
                 &WAY(.algorithm = MFU_NVLS_TREE, .protocol = MFU_SIMPLE, .start = c[MFU_C_NVLS_START],
                      .hops_s = hops_s, .ramp = c[MFU_C_NVLS_RAMP],
                      .wire_s = fmax(switch_s(q), q->bytes * (q->g->units > 2 ? 2 / c[MFU_C_NET_TREE] : 1) / q->out)));
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
             &WAY(.algorithm = MFU_SHARP, .protocol = MFU_SIMPLE, .start = c[MFU_C_NVLS_START],
                  .hops_s = hops * q->t->hop_s, .wire_s = wire_s, .ramp = c[MFU_C_NVLS_RAMP]));
}

/* One to one, or each with each: messages up to PAIR_LL go by LL, longer ones by Simple. */
static void pairs(struct question *q)
{
    const double *c = q->m->c;
    double n = q->g->ranks, local = q->g->local, units = q->g->units, in = q->in * PAIR_RATE;
    double keeps = fmax(LEAST_PEER, fmin(1, PEER_NODES / units)), steps = n - 1, hops = (units - 1) * PAIR_HOP;
    double each = q->bytes / n, inside = each * (local - 1 + c[MFU_C_LINK_COPY]) / in, outside = 0;

    if (q->op == MFU_SEND) {
        each = q->bytes;
        steps = units <= 1;
        hops = units > 1;
        if (units > 1) { /* one peer: no incast */
            inside = 0;
            outside = each / fmin(q->out, q->t->nic_bytes_s * fmax(1, q->t->gpu_nics));
        } else {
            inside = each / in;
        }
    } else if (q->op != MFU_ALL_TO_ALL) {
        return;
    } else if (units > 1) {
        outside = local * each * (n - local) / (q->best.road.far_bytes_s * keeps);
    }
    double simple = 1 + PAIR_SIMPLE * each / (each + PAIR_LL);

    consider(q,
             &WAY(.algorithm = MFU_PAIRS, .protocol = each > PAIR_LL ? MFU_SIMPLE : MFU_LL, .start = simple,
                  .steps_s = steps * simple * PAIR_STEP * c[MFU_C_LINK_STEP] / q->best.road.shared,
                  .hops_s = hops * q->t->hop_s, .wire_s = fmax(inside, outside), .ramp = q->op == MFU_ALL_TO_ALL));
}

/* Copies between a GPU and its host at the rate of the link, and between that and its drives at theirs; the CPU's work
 * at that of its memory. */
static struct mfu_collective_price with_host(const struct mfu_machine *m, enum mfu_collective_kind op, double bytes)
{
    const struct mfu_topology *t = &m->topology;
    double rate = op == MFU_HOST_UPDATE ? t->host_memory * m->c[MFU_C_HOST_ADAM]
        : op == MFU_TO_DRIVE            ? t->nvme_write
        : op == MFU_FROM_DRIVE          ? t->nvme_read
                                        : t->pinned;
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
                         .expected_s = INFINITY,
                         .algorithms = algorithms};

    if (op >= MFU_TO_HOST)
        return with_host(m, op, bytes);
    if (g->ranks <= 1 || bytes <= 0)
        return q.best;
    q.best.road = mfu_road_of(q.t, g);
    q.best.time_s = NAN;
    q.in = q.best.road.fabric_bytes_s;
    q.out = q.best.road.network_bytes_s;
    if (g->units <= 1 || q.out > 0)
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
            all[i](&q);
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
        return (struct mfu_traffic){.fabric_bytes = op <= MFU_FROM_HOST ? bytes : 0};
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
