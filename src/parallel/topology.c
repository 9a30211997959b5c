/*
 * topology.c - what a collective meets on its way: fabric, NICs, levels of switches.
 */
#include "parallel/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor/gpu.h"

const char *const mfu_collective_names[MFU_TRANSFER_COUNT] = {
    [MFU_NO_COLLECTIVE] = "",
    [MFU_ALL_REDUCE] = "all_reduce",
    [MFU_ALL_GATHER] = "all_gather",
    [MFU_REDUCE_SCATTER] = "reduce_scatter",
    [MFU_ALL_TO_ALL] = "all_to_all",
    [MFU_BROADCAST] = "broadcast",
    [MFU_SEND] = "send",
    [MFU_TO_HOST] = "to_host",
    [MFU_FROM_HOST] = "from_host",
    [MFU_TO_DRIVE] = "to_nvme",
    [MFU_FROM_DRIVE] = "from_nvme",
    [MFU_HOST_UPDATE] = "host_update",
};

enum way { NVLINK, PCIE, HOST };

/* Rings that NCCL finds among the first GPUs of a hybrid cube mesh, of the six that all eight
 * have; with five, one GPU has links to one other alone, and a third forwards.  Wiring: NVIDIA
 * DGX-1 with Tesla V100, System Architecture, figure 4; rates: vTrain's table of V100. */
#define CUBE 8
static const double cube_rings[CUBE + 1] = {0, 0, 1, 2, 4, 1.65, 2, 4, 6};

/* Of a link's rate of the data sheet NCCL counts on this part (NCCL 2.30.7, src/graph/topo.h: 20 GB/s
 * for each link of 25, 12 for a slot 3x16). */
#define COUNTED_NVLINK 0.8
#define COUNTED_PCIE 0.76

/* Where a slot is not stated. */
#define USUAL_SLOT "4x16"

/* How the data sheets of a GPU with a CPU of its own name the link: GB/s, both directions. */
#define COHERENT "NVLink-C2C "

/* Bytes per second of one direction of a PCIe slot such as "4x16"; 0 unknown. */
static double pcie_bytes_s(const char *text)
{
    /* Of one lane, by generation, after its line code (PCI-SIG). */
    static const double lane[] = {0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9};
    char *end;
    long generation = strtol(text, &end, 10);

    return generation < 1 || generation > 6 || *end != 'x' ? 0 : lane[generation] * (double)strtol(end + 1, NULL, 10);
}

/* What rules the NICs of each technology. */
static const struct {
    enum mfu_coefficient rate, hop;
    bool spreads; /* flows keep their paths and meet on some: the more nodes, the more */
} networks[MFU_NETWORK_COUNT] = {
    [MFU_NETWORK_INFINIBAND] = {MFU_C_NET_INFINIBAND, MFU_C_NET_INFINIBAND_HOP, true},
    [MFU_NETWORK_ROCE] = {MFU_C_NET_ROCE, MFU_C_NET_ROCE_HOP, true},
    [MFU_NETWORK_EFA] = {MFU_C_NET_EFA, MFU_C_NET_EFA_HOP, false},
    [MFU_NETWORK_OMNI_PATH] = {MFU_C_NET_OMNI_PATH, MFU_C_NET_OMNI_PATH_HOP, true},
    [MFU_NETWORK_TCPX] = {MFU_C_NET_TCPX, MFU_C_NET_TCPX_HOP, true},
    [MFU_NETWORK_ETHERNET] = {MFU_C_NET_ETHERNET, MFU_C_NET_ETHERNET_HOP, true},
};

enum mfu_coefficient mfu_network_rate(enum mfu_network network)
{
    return networks[network].rate;
}

static void add_network(const struct mfu_cluster *k, const double c[], const double sigma[], struct mfu_topology *t)
{
    double share = 1;

    t->nic_bytes_s = k->nic_bytes_s * c[mfu_network_rate(k->network)];
    if (k->network == MFU_NETWORK_ETHERNET)
        t->nic_bytes_s = fmin(t->nic_bytes_s, c[MFU_C_NET_SOCKETS]);
    t->net_sigma = sigma[mfu_network_rate(k->network)];
    t->gpu_nics = k->nics / k->node_gpus;
    t->unit_nics = t->gpu_nics * k->domain_gpus;
    t->hop_s = isnan(k->hop_s) ? c[networks[k->network].hop] : k->hop_s;
    t->spread = networks[k->network].spreads ? c[MFU_C_NET_SPREAD] : 0;
    t->spread_least = c[MFU_C_NET_SPREAD_LEAST];
    t->reduces = k->reduces;
    for (; t->n_levels < k->n_levels; t->n_levels++) {
        share /= k->level[t->n_levels].oversubscription;
        t->level[t->n_levels].gpus = k->level[t->n_levels].nodes * k->node_gpus;
        t->level[t->n_levels].share = share;
    }
}

void mfu_topology_make(const struct mfu_cluster *cluster, const struct mfu_gpu *gpu,
                       const double c[MFU_COEFFICIENT_COUNT], const double sigma[MFU_COEFFICIENT_COUNT],
                       struct mfu_topology *t)
{
    struct mfu_cluster k;
    double slot = pcie_bytes_s(gpu->pcie);

    mfu_cluster_with(cluster, gpu, &k);
    *t = (struct mfu_topology){.fabric = k.fabric, .unit_gpus = k.domain_gpus, .pcie_known = slot > 0};
    if (slot <= 0)
        slot = pcie_bytes_s(USUAL_SLOT);
    t->link_bytes_s = k.link_bytes_s > 0 ? k.link_bytes_s / 2 : 0;
    t->peers = k.fabric == MFU_FABRIC_MESH ? k.peers : 1;
    t->nvlink = t->link_bytes_s * c[MFU_C_LINK_NVLINK];
    t->pcie = slot * c[MFU_C_LINK_PCIE];
    t->host = slot * c[MFU_C_LINK_HOST];
    t->coherent = strncmp(gpu->pcie, COHERENT, strlen(COHERENT)) == 0;
    t->host_memory = k.host_bandwidth_bytes_s > 0 ? k.host_bandwidth_bytes_s : c[MFU_C_HOST_BANDWIDTH];
    t->nvme_read = k.nvme_read_bytes_s > 0 ? k.nvme_read_bytes_s : c[MFU_C_NVME_READ];
    t->nvme_write = k.nvme_write_bytes_s > 0 ? k.nvme_write_bytes_s : c[MFU_C_NVME_WRITE];
    t->pinned = c[MFU_C_LINK_PINNED] * (t->coherent ? strtod(gpu->pcie + strlen(COHERENT), NULL) * 1e9 / 2 : slot);
    t->paged = c[MFU_C_LINK_PAGED] / c[MFU_C_LINK_PINNED] * t->pinned;
    t->counted[NVLINK] = COUNTED_NVLINK / c[MFU_C_LINK_NVLINK];
    t->counted[PCIE] = COUNTED_PCIE / c[MFU_C_LINK_PCIE];
    t->counted[HOST] = COUNTED_PCIE / c[MFU_C_LINK_HOST];
    t->capability = gpu->compute_capability;
    t->shared = k.fabric == MFU_FABRIC_PCIE_SWITCH ? 1 : c[MFU_C_LINK_SHARED];
    t->sigma[NVLINK] = sigma[MFU_C_LINK_NVLINK];
    t->sigma[PCIE] = sigma[MFU_C_LINK_PCIE];
    t->sigma[HOST] = sigma[MFU_C_LINK_HOST];
    if (k.networked)
        add_network(&k, c, sigma, t);
}

/* The rate of one GPU between the group's ranks of a unit. */
static double fabric_bytes_s(const struct mfu_topology *t, const struct mfu_group *g, struct mfu_road *r)
{
    enum way way = NVLINK;
    double rate = t->nvlink, ranks = g->local;

    r->shared = 1;
    if (ranks <= 1)
        return INFINITY;
    if (t->fabric == MFU_FABRIC_MESH) { /* links to GPUs outside the group lie idle */
        rate *= fmin(1, (ranks - 1) / t->peers);
    } else if (t->fabric == MFU_FABRIC_CUBE) {
        rate *= cube_rings[(int)fmin(ranks, CUBE)] / cube_rings[CUBE];
    } else if (t->fabric != MFU_FABRIC_NVSWITCH && !(t->fabric == MFU_FABRIC_BRIDGE && ranks <= 2)) {
        way = t->fabric == MFU_FABRIC_HOST ? HOST : PCIE;
        rate = way == HOST ? t->host : t->pcie;
        /* Of a bridged pair, one sends over PCIe and one receives. */
        if (ranks * g->sharing > (t->fabric == MFU_FABRIC_BRIDGE ? 4 : 2))
            rate *= r->shared = t->shared;
    }
    r->nvlink = way == NVLINK;
    r->sigma = t->sigma[way];
    r->counted_bytes_s = rate * t->counted[way];
    return rate;
}

double mfu_topology_spread(const struct mfu_topology *t, const struct mfu_group *g)
{
    return fmax(t->spread_least, 1 - t->spread * log2(g->units));
}

/* The rate of a group's NICs in one unit: its part of those, and no less than one of
 * them where nobody else needs it; what the uplinks of the switches leave.  Below a switch
 * that is left, only the last of neighbours sends upwards; where all send to all, all do. */
static double network_bytes_s(const struct mfu_topology *t, const struct mfu_group *g, int *level, double *far_bytes_s)
{
    double nics = fmin(t->unit_nics / g->sharing, fmax(1, t->gpu_nics * g->local));
    double rate = t->nic_bytes_s * nics * mfu_topology_spread(t, g);

    for (*level = 1; *level <= t->n_levels && g->extent > t->level[*level - 1].gpus;)
        ++*level;
    *far_bytes_s = rate;
    if (*level <= 1)
        return rate;
    *far_bytes_s = rate * t->level[*level - 2].share;
    return fmin(rate, *far_bytes_s * fmax(1, floor(t->level[*level - 2].gpus * (g->ranks - 1) / (g->extent - 1))));
}

struct mfu_road mfu_road_of(const struct mfu_topology *t, const struct mfu_group *g)
{
    struct mfu_road r = {0};

    r.fabric_bytes_s = fabric_bytes_s(t, g, &r);
    if (g->units > 1) {
        r.network_bytes_s = network_bytes_s(t, g, &r.level, &r.far_bytes_s);
        if (r.network_bytes_s < r.fabric_bytes_s)
            r.sigma = t->net_sigma;
    }
    return r;
}

const char *mfu_road_name(const struct mfu_topology *t, const struct mfu_road *r)
{
    if (r->level > 0)
        return "network";
    if (r->nvlink)
        return "NVLink";
    return t->fabric == MFU_FABRIC_HOST ? "PCIe through the host" : "PCIe peer to peer";
}
