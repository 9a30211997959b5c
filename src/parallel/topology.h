/*
 * topology.h - what a collective meets on its way: fabric, NICs, levels of switches.
 *
 * Numbers only, made once per scenario from a cluster, a GPU and coefficients; the
 * prices in cost/collective.h read nothing else.
 */
#ifndef MFU_TOPOLOGY_H
#define MFU_TOPOLOGY_H

#include "descriptor/cluster.h"
#include "descriptor/coefficient.h"
#include "parallel/mesh.h"

struct mfu_gpu;

enum mfu_collective_kind {
    MFU_NO_COLLECTIVE,
    MFU_ALL_REDUCE,
    MFU_ALL_GATHER,     /* bytes: of the gathered result */
    MFU_REDUCE_SCATTER, /* bytes: of what each rank brings */
    MFU_ALL_TO_ALL,     /* bytes: of what each rank sends, its own part included */
    MFU_BROADCAST,
    MFU_SEND, /* to one other rank; bytes: that each rank sends, and receives */
    MFU_COLLECTIVE_COUNT,
    MFU_TO_HOST = MFU_COLLECTIVE_COUNT, /* a copy by the GPU's engines, to pinned memory; */
    MFU_FROM_HOST,                      /* from there */
    MFU_TO_DRIVE,                       /* from pinned memory of the host to its NVMe drives, */
    MFU_FROM_DRIVE,                     /* and back */
    MFU_HOST_UPDATE,                    /* the CPU's optimizer; bytes: that it reads and writes */
    MFU_TRANSFER_COUNT
};
extern const char *const mfu_collective_names[MFU_TRANSFER_COUNT]; /* "all_reduce" ... */

#define MFU_TOPOLOGY_LEVELS (MFU_SWITCH_LEVELS + 1)

/* Rates are bytes per second of one direction; sigmas are relative. */
struct mfu_topology {
    enum mfu_fabric fabric;
    double unit_gpus;             /* that the fabric joins */
    double link_bytes_s;          /* of one GPU's NVLink, as the data sheet says; 0 without */
    double peers;                 /* of a mesh */
    double nvlink, pcie, host;    /* sustained by a GPU over each way */
    double shared;                /* what more than two GPUs keep of pcie and host */
    double sigma[3];              /* of nvlink, pcie, host */
    double counted[3];            /* what NCCL counts on, relative to them */
    double capability;            /* compute capability; NAN: not NVIDIA's */
    bool pcie_known;              /* else a slot was assumed */
    bool coherent;                /* NVLink-C2C to the CPU instead of a slot */
    double pinned;                /* between a GPU and pinned memory of its host, one direction */
    double paged;                 /* the same of pages that the driver moves */
    double host_memory;           /* bandwidth of the host's DRAM, of all processes on it */
    double nvme_read, nvme_write; /* of its drives, of all processes */

    double nic_bytes_s; /* sustained by one NIC; 0 without a network */
    double unit_nics;   /* of all GPUs that the fabric joins */
    double gpu_nics;    /* of one GPU: less than one where GPUs share them */
    double net_sigma;
    double hop_s;        /* latency from one unit to another */
    double spread;       /* share of the rate lost with each doubling of units, */
    double spread_least; /* down to this */
    bool reduces;
    int n_levels;
    struct {
        double gpus;  /* that it joins without its uplinks */
        double share; /* of a NIC's rate that is left beyond it */
    } level[MFU_TOPOLOGY_LEVELS];
};

/* The coefficient of what a technology's NICs sustain of their rate. */
enum mfu_coefficient mfu_network_rate(enum mfu_network);

/* `cluster` NULL: one machine as the GPU's file describes it. */
void mfu_topology_make(const struct mfu_cluster *cluster, const struct mfu_gpu *, const double c[MFU_COEFFICIENT_COUNT],
                       const double sigma[MFU_COEFFICIENT_COUNT], struct mfu_topology *);

/* The road of a group. */
struct mfu_road {
    double fabric_bytes_s;  /* per GPU inside a unit; INFINITY where no two ranks share one */
    double network_bytes_s; /* of all of the group's ranks in a unit together; 0: it does not leave the unit */
    double far_bytes_s;     /* the same where all of them send beyond the highest switch that is passed */
    int level;              /* 0: inside the fabric; 1: NICs and the first switches; 2 ... beyond their uplinks */
    double counted_bytes_s; /* that NCCL expects of the fabric */
    double shared;          /* what the GPU keeps of a PCIe root that others use; else 1 */
    bool nvlink;            /* inside a unit; else PCIe */
    double sigma;           /* of the slower of the two */
};

/* The share of its rate that a network keeps where a group's flows meet. */
double mfu_topology_spread(const struct mfu_topology *, const struct mfu_group *);

struct mfu_road mfu_road_of(const struct mfu_topology *, const struct mfu_group *);

/* What a road is called: "NVLink", "PCIe peer to peer", "PCIe through the host" ... */
const char *mfu_road_name(const struct mfu_topology *, const struct mfu_road *);

#endif
