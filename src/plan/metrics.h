/*
 * metrics.h - what the tools that watch a GPU would read over a window of time.
 *
 * nvidia-smi (NVML), DCGM, PyTorch's profiler (Kineto) and MFU look at the same
 * work and say different things; each hides what the next one shows.
 */
#ifndef MFU_METRICS_H
#define MFU_METRICS_H

#include <stddef.h>

#include "plan/plan.h"
#include "cost/occupancy.h"

struct mfu_metrics {
    double window_s;
    double gpu_utilization;      /* time with a kernel running: lower bound, */
    double gpu_utilization_high; /* and when short gaps count as busy */
    double sm_efficiency;        /* Kineto's estimate */
    double sm_active, sm_occupancy, tensor_active, dram_active;
    double achieved_occupancy; /* Kineto's estimate: over busy time only */
    double tensor_kernels;     /* share of the busy time in tensor-core kernels */
    double memory_used_fill;   /* of what the card offers */
    double memory_utilization; /* NVML's: time with traffic */
    double mfu, hfu;
    double power_w, idle_w, board_w;  /* predicted, and between which it lies */
    double fabric_bytes, nic_bytes;   /* that this GPU sends in the window, over NVLink or PCIe and over the network; */
    double fabric_active, nic_active; /* shares of what those sustain in one direction */
};

/* A reading of the window, for reports and help. */
struct mfu_meter {
    const char *key;   /* of the JSON answer */
    const char *name;  /* "SM activity" */
    const char *tool;  /* "DCGM SM_ACTIVE" */
    size_t offset;     /* of a double in struct mfu_metrics: 0..1 */
    const char *hides; /* what it does not tell */
};
extern const struct mfu_meter mfu_meters[];
extern const size_t mfu_meter_count;
double mfu_meter_value(const struct mfu_meter *, const struct mfu_metrics *);

/* One optimizer step of a plan. */
void mfu_metrics_of_plan(const struct mfu_plan *, struct mfu_metrics *);

/* What a collective between the plan's GPUs reads as while it runs alone. */
void mfu_read_exchange(const struct mfu_plan *, struct mfu_reading *);

/* By hand: zero the metrics, add kernels that run for `seconds`, settle.
 * `reachable`: the share of the DRAM bandwidth that traffic can reach; `board_w`:
 * what the board may draw. */
void mfu_metrics_add(struct mfu_metrics *, const struct mfu_reading *, double seconds, double reachable);
void mfu_metrics_settle(struct mfu_metrics *, double window_s, double board_w);

#endif
