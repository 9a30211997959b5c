/*
 * collective.h - seconds of NCCL collectives over a topology.
 *
 * NCCL knows several algorithms and, for some, three protocols, and takes the way of which
 * its own table of latencies and rates expects the least time, which is not always the fastest:
 * inside one machine of NVIDIA's GPUs this file asks that table.  Elsewhere it takes the least of
 *
 *     t = start + steps + (w + c) S / B + ramp         of all ways that apply
 *
 *     start, steps: latency of the kernel, and of each hop that a byte makes, inside
 *       a unit (link.step) and between two (the network's hop); LL128 and Simple take
 *       longer over them than LL, which moves only link.ll of the rate
 *     w: how often each byte of the message S passes the slowest link
 *     c: a rank's own part: with LL and LL128 the last step of a loop sends nothing, 1/n;
 *       with Simple it overlaps but for link.copy / n
 *     ramp: until the pipeline is full; over a network 2 sqrt(hops' latency x S w/B),
 *       the optimum of cutting the message in pieces
 *
 *     algorithm    what moves                            steps              w
 *     ring         a part each, from rank to rank        k (n-1)            k (n-1)/n
 *     tree         up and down a tree of units           2 log2 units       1 (2 units), 2
 *     NVLS         the switch adds up and sends out      -                  1 + 1/n
 *     NVLS tree    NVLS in a unit, a tree of units       2 log2 units       1, 2
 *     SHARP        NVLS in a unit, the network adds up   2                  1
 *     pairs        each with each                        n - 1              (n-1)/n
 *
 * with k = 2 for an all-reduce, else 1.  Sources: NCCL's src/graph/tuning.cc for
 * algorithms, protocols and their steps; rates and latencies are coefficients,
 * fitted to published nccl-tests (gpus/families/).
 */
#ifndef MFU_COLLECTIVE_H
#define MFU_COLLECTIVE_H

#include "cost/cost.h"
#include "parallel/topology.h"

enum mfu_algorithm { MFU_RING, MFU_TREE, MFU_NVLS, MFU_NVLS_TREE, MFU_SHARP, MFU_PAIRS, MFU_ALGORITHM_COUNT };
enum mfu_protocol { MFU_LL, MFU_LL128, MFU_SIMPLE, MFU_PROTOCOL_COUNT };
extern const char *const mfu_algorithm_names[MFU_ALGORITHM_COUNT + 1]; /* "ring" ...; then NULL */
extern const char *const mfu_protocol_names[MFU_PROTOCOL_COUNT];       /* "LL" ... */

struct mfu_collective_price {
    double time_s;    /* NAN: the group spans units and the cluster has no network */
    double latency_s; /* of that: start and steps */
    double wire_s;    /* S w / B */
    enum mfu_algorithm algorithm;
    enum mfu_protocol protocol;
    struct mfu_road road;
};

/* One collective of `bytes` (as mfu_collective_kind counts them) over one of the equal
 * groups, all groups at once.  0 s for one rank or no bytes. */
struct mfu_collective_price mfu_collective_price(const struct mfu_machine *, const struct mfu_group *,
                                                 enum mfu_collective_kind, double bytes);

/* The same with one algorithm alone (NCCL_ALGO); NAN where it does not apply. */
struct mfu_collective_price mfu_collective_price_by(const struct mfu_machine *, const struct mfu_group *,
                                                    enum mfu_collective_kind, double bytes, enum mfu_algorithm);

/* Seconds of the host in which all ranks of a group are heard, one after the other, before a
 * collective that is checked.  Source: PyTorch 017943b7, torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp
 * (runCollectiveChecks); messages between two ranks are not checked. */
double mfu_check_s(const struct mfu_machine *, struct mfu_group);

/* Its seconds. */
double mfu_collective_s(const struct mfu_machine *, const struct mfu_group *, enum mfu_collective_kind, double bytes);

/* Bytes that one rank sends in such a collective, on average over the group: over the
 * fabric of its unit, and through its NICs. */
struct mfu_traffic {
    double fabric_bytes, nic_bytes;
};
struct mfu_traffic mfu_collective_traffic(const struct mfu_machine *, const struct mfu_group *,
                                          enum mfu_collective_kind, double bytes);

/* What nccl-tests print: bytes per second as the caller sees them, and as the
 * links do (nccl-tests, doc/PERFORMANCE.md). */
double mfu_bus_factor(enum mfu_collective_kind, double ranks);

#endif
