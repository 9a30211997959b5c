/*
 * exchanges.h - what the GPUs of a plan send each other in a step, by who talks to whom.
 */
#ifndef MFU_EXCHANGES_H
#define MFU_EXCHANGES_H

#include "plan/plan.h"

#define MFU_MOST_EXCHANGES 16

/* Collectives over one kind of group, or the messages of a pipeline: seconds and bytes
 * of the busiest stage's GPU in one optimizer step. */
struct mfu_exchange {
    const char *group; /* "tp", "dp" ...: the axis that the group runs along */
    const char *level; /* the slowest thing in its way: "NVLink", "PCIe peer to peer", "network", "uplinks" */
    bool off_gpu;      /* "host" and "nvme": no other GPU, but this one's host, and that with its drives */
    double ranks;      /* of one group */
    double nodes;      /* units of GPUs with one fabric that it spans; 1: it stays inside */
    double calls;
    double time_s;       /* beside kernels or not */
    double exposed_s;    /* of the step; what runs beside kernels has its part of what they do not hide, by its time;
                            copies that are made for it are not in it */
    double fabric_bytes; /* that a GPU sends over NVLink or PCIe, as DCGM's NVLINK_TX_BYTES counts */
    double nic_bytes;    /* that it sends over the network */
    double drive_bytes;  /* that its host reads and writes */
};

/* At most MFU_MOST_EXCHANGES rows, those that add the most to the step first; returns how many. */
int mfu_exchanges(const struct mfu_plan *, struct mfu_exchange *list);

#endif
