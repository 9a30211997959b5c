/*
 * cluster.h - the machines that GPUs stand in, and the network between them.
 *
 * A cluster is a file, gpus/clusters/NAME.yaml.  The program takes the usual one
 * of a GPU (`usual_for`) until the user names another.
 */
#ifndef MFU_CLUSTER_H
#define MFU_CLUSTER_H

#include <stdbool.h>
#include "descriptor/folder.h"

struct mfu_error;
struct mfu_gpu;
struct mfu_yaml;

/* How the GPUs of a machine reach each other. */
enum mfu_fabric {
    MFU_FABRIC_NVSWITCH,    /* every GPU has its full NVLink rate to every other */
    MFU_FABRIC_MESH,        /* NVLinks from GPU to GPU without a switch */
    MFU_FABRIC_CUBE,        /* eight GPUs in a hybrid cube mesh of six NVLinks each */
    MFU_FABRIC_BRIDGE,      /* NVLink bridges join pairs; beyond them PCIe */
    MFU_FABRIC_PCIE_SWITCH, /* peer to peer, all behind PCIe switches of one root */
    MFU_FABRIC_PCIE,        /* peer to peer across the root complexes of the host */
    MFU_FABRIC_HOST,        /* no peer access: every hop is a write and a read of host memory */
    MFU_FABRIC_OWN,         /* what the GPU's own file says */
    MFU_FABRIC_COUNT
};
extern const char *const mfu_fabric_names[MFU_FABRIC_COUNT + 1];

enum mfu_network {
    MFU_NETWORK_INFINIBAND,
    MFU_NETWORK_ROCE, /* RDMA over Ethernet */
    MFU_NETWORK_EFA,  /* Elastic Fabric Adapter */
    MFU_NETWORK_OMNI_PATH,
    MFU_NETWORK_TCPX,     /* GPUDirect-TCPX and TCPXO */
    MFU_NETWORK_ETHERNET, /* TCP sockets */
    MFU_NETWORK_COUNT
};
extern const char *const mfu_network_names[MFU_NETWORK_COUNT + 1];

/* A layer of switches: so many nodes reach each other below its uplinks, which
 * carry 1 / oversubscription of what enters from below. */
struct mfu_switch_level {
    double nodes, oversubscription;
};
#define MFU_SWITCH_LEVELS 4
#define MFU_CLUSTER_GPUS 12

/* Quantities are in base units; NAN (texts: "") means not known. */
struct mfu_cluster {
    char slug[48]; /* the file's name */
    char path[MFU_PATH_MAX];
    char name[64];
    char gpu[MFU_CLUSTER_GPUS][48]; /* slugs of the cards that it is built with, the first by default */
    int n_gpus;                     /* 0: any */

    double node_gpus;    /* that one machine holds; NAN: as many as the GPU's file says */
    double domain_gpus;  /* that the fabric joins: more than node_gpus in a rack such as NVL72 */
    double peers;        /* of a mesh: how many others a GPU has NVLinks to */
    double link_bytes_s; /* of one GPU, both directions; NAN: the GPU's own NVLink */
    enum mfu_fabric fabric;
    char host[96];
    double host_memory_bytes, host_bandwidth_bytes_s;
    double nvme_read_bytes_s, nvme_write_bytes_s; /* of its drives together */

    bool networked; /* the rest is known */
    enum mfu_network network;
    double nics;        /* of a node, for its GPUs */
    double nic_bytes_s; /* of one, one direction */
    double hop_s;       /* latency between two nodes; NAN: that of the technology */
    bool reduces;       /* switches add up (SHARP) */
    struct mfu_switch_level level[MFU_SWITCH_LEVELS];
    int n_levels;

    double gpu_mtbf_s;                  /* mean time between failures, of one GPU and its share of the rest */
    double write_bytes_s, read_bytes_s; /* of the storage for checkpoints, all writers together */
    char note[480];
};

/* Reads a cluster's file and checks what a slip would break: a domain that is not
 * whole machines, levels that do not grow, a network without NICs, a rate in the
 * wrong unit; every group has a source.  0, or -1 with file, line and column. */
int mfu_cluster_read(const char *path, struct mfu_cluster *, struct mfu_error *err);
int mfu_cluster_parse(struct mfu_yaml *, struct mfu_cluster *, struct mfu_error *err);

/* The cluster with this GPU: what it leaves to the GPU's own file is filled in, so
 * that node_gpus, domain_gpus, link_bytes_s and fabric are known.  `cluster` may be
 * NULL: one machine, no network. */
void mfu_cluster_with(const struct mfu_cluster *cluster, const struct mfu_gpu *, struct mfu_cluster *);

/* Whether the cluster is built with this GPU. */
bool mfu_cluster_has(const struct mfu_cluster *, const struct mfu_gpu *);

#endif
