/*
 * metrics.c - readings of a window as averages over its kernels.
 *
 * Definitions: NVML's nvmlUtilization_t, DCGM's profiling fields 1001 to 1005,
 * Kineto's docs/gpu_utilization.md.
 */
#include "plan/metrics.h"

#include <math.h>
#include <stddef.h>

#include "plan/exchanges.h"
#include "scenario/setting.h"

/* Seconds: between queued kernels a driver's sampling sees no pause that is
 * shorter (estimated). */
#define SHORT_GAP_S 10e-6

/* Idle power as a share of the board's limit, where no measurement exists
 * (estimated: 20 of 200 W, 40 of 400, 70 of 700). */
#define IDLE_SHARE 0.10

/* Shares of what lies between idle power and the limit, that full activity adds
 * (estimated: SMs, tensor cores and DRAM of a dense GEMM reach the limit). */
#define SM_POWER 0.35
#define TENSOR_POWER 0.45
#define DRAM_POWER 0.30

#define AT(field) offsetof(struct mfu_metrics, field)
// clang-format off
const struct mfu_meter mfu_meters[] = {
    {"gpu_utilization", "GPU utilization", "nvidia-smi, NVML, DCGM GR_ENGINE_ACTIVE", AT(gpu_utilization),
     "a kernel ran: not on how many SMs"},
    {"sm_efficiency", "est. SM efficiency", "PyTorch profiler", AT(sm_efficiency),
     "blocks per SM, at most 1: no tails"},
    {"sm_active", "SM activity", "DCGM SM_ACTIVE", AT(sm_active),
     "a warp is there, working or waiting"},
    {"sm_occupancy", "SM occupancy", "DCGM SM_OCCUPANCY", AT(sm_occupancy),
     "warps there: 12 to 25 % is fine in GEMMs"},
    {"achieved_occupancy", "est. occupancy", "PyTorch profiler", AT(achieved_occupancy),
     "busy time only: idling does not count"},
    {"tensor_active", "tensor pipe", "DCGM PIPE_TENSOR_ACTIVE", AT(tensor_active),
     "padding, recomputing count as work"},
    {"dram_active", "DRAM traffic", "DCGM DRAM_ACTIVE", AT(dram_active),
     "needed or not; 80 to 90 % is the most"},
    {"memory_utilization", "memory utilization", "nvidia-smi, NVML", AT(memory_utilization),
     "time with traffic: not fill, not rate"},
    {"memory_used_fill", "memory in use", "nvidia-smi", AT(memory_used_fill),
     "caches included; nothing about speed"},
    {"fabric_active", "links of the node", "DCGM NVLINK_TX_BYTES or PCIE_TX_BYTES", AT(fabric_active),
     "one direction; not who waits for it"},
    {"nic_active", "network", "port_xmit_data of the NICs", AT(nic_active),
     "averages: exchanges come in bursts"},
    {"hfu", "HFU", "FLOP computed over peak", AT(hfu),
     "recomputed FLOP count as well"},
    {"mfu", "MFU", "model FLOP over peak", AT(mfu),
     "how much, not where: see kernels"},
};
// clang-format on
const size_t mfu_meter_count = sizeof mfu_meters / sizeof mfu_meters[0];

double mfu_meter_value(const struct mfu_meter *row, const struct mfu_metrics *m)
{
    return *(const double *)((const char *)m + row->offset);
}

/* ---- a window ------------------------------------------------------------ */

void mfu_metrics_add(struct mfu_metrics *m, const struct mfu_reading *r, double seconds, double reachable)
{
    m->gpu_utilization += seconds;
    m->sm_efficiency += seconds * r->sm_efficiency;
    m->sm_active += seconds * r->sm_active;
    m->sm_occupancy += seconds * r->sm_occupancy;
    m->tensor_active += seconds * r->tensor_active;
    m->dram_active += seconds * r->dram_active;
    m->achieved_occupancy += seconds * r->achieved_occupancy;
    m->tensor_kernels += r->tensor ? seconds : 0;
    m->memory_utilization += seconds * fmin(1, r->dram_active / reachable);
}

static double share(double seconds, double whole_s)
{
    double x = whole_s > 0 ? seconds / whole_s : 0;

    return x > 1 ? 1 : x; /* unknown stays unknown */
}

/* P = idle + (board - idle) min(1, 0.35 SM + 0.45 tensor + 0.30 DRAM). */
static double power(const struct mfu_metrics *m)
{
    double active = SM_POWER * m->sm_active + TENSOR_POWER * m->tensor_active + DRAM_POWER * m->dram_active;

    return m->idle_w + (m->board_w - m->idle_w) * fmin(1, active);
}

void mfu_metrics_settle(struct mfu_metrics *m, double window_s, double board_w)
{
    double busy_s = m->gpu_utilization;

    m->window_s = window_s;
    m->gpu_utilization = share(busy_s, window_s);
    m->gpu_utilization_high = m->gpu_utilization;
    m->sm_efficiency = share(m->sm_efficiency, window_s);
    m->sm_active = share(m->sm_active, window_s);
    m->sm_occupancy = share(m->sm_occupancy, window_s);
    m->tensor_active = share(m->tensor_active, window_s);
    m->dram_active = share(m->dram_active, window_s);
    m->memory_utilization = share(m->memory_utilization, window_s);
    m->achieved_occupancy = share(m->achieved_occupancy, busy_s);
    m->tensor_kernels = share(m->tensor_kernels, busy_s);
    m->board_w = board_w;
    m->fabric_active = m->fabric_bytes > 0 ? m->fabric_active : NAN; /* no such way */
    m->nic_active = m->nic_bytes > 0 ? m->nic_active : NAN;
    m->idle_w = IDLE_SHARE * board_w;
    m->power_w = power(m);
}

/* ---- a step -------------------------------------------------------------- */

/* Time between kernels that is too short to be seen: where the host issues
 * them more slowly than they run, it is spread over all kernels of a phase. */
static double short_gaps(const struct mfu_plan *p)
{
    double busy_s[MFU_PHASE_COUNT] = {0}, kernels[MFU_PHASE_COUNT] = {0}, gaps_s = 0;
    const struct mfu_program *g = &p->program;

    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            enum mfu_phase phase = mfu_launch_phase(&g->launches[i]);

            busy_s[phase] += mfu_plan_times(p, seg) * p->pricing.prices[i].time_s;
            kernels[phase] += mfu_plan_times(p, seg) * g->launches[i].work->kernel.launches;
        }
    }
    for (int i = 0; i < MFU_PHASE_COUNT; i++) {
        double gap_s = kernels[i] > 0 ? p->dispatch_s[i] - busy_s[i] / kernels[i] : 0;

        if (gap_s > 0 && gap_s < SHORT_GAP_S)
            gaps_s += gap_s * kernels[i];
    }
    return fmin(gaps_s, p->step.idle_s);
}

void mfu_read_exchange(const struct mfu_plan *p, struct mfu_reading *r)
{
    const struct mfu_topology *t = &p->machine.topology;
    struct mfu_group all = mfu_group_of(p->config.ranks, t->unit_gpus);
    double rate = mfu_road_of(t, &all).fabric_bytes_s;
    struct mfu_kernel k = mfu_kernel_stream(MFU_COLLECTIVE, MFU_C_DRAM_POINTWISE, 1, rate, 0, rate, rate);
    struct mfu_price second = {.time_s = 1};

    mfu_read_kernel(p->config.gpu, &p->machine, &k, &second, r);
}

/* What the counters of the links count; `whole` is what they sustain. */
static void count_bytes(const struct mfu_plan *p, struct mfu_metrics *m)
{
    const struct mfu_topology *t = &p->machine.topology;
    struct mfu_exchange list[MFU_MOST_EXCHANGES];
    struct mfu_group unit = mfu_group_of(fmin(p->config.ranks, t->unit_gpus), t->unit_gpus);
    double nic = t->nic_bytes_s * t->gpu_nics;

    for (int i = 0, n = mfu_exchanges(p, list); i < n; i++) {
        m->fabric_bytes += list[i].fabric_bytes;
        m->nic_bytes += list[i].nic_bytes;
    }
    m->fabric_active = share(m->fabric_bytes / mfu_road_of(t, &unit).fabric_bytes_s, p->step.time_s);
    if (nic > 0)
        m->nic_active = share(m->nic_bytes / nic, p->step.time_s);
}

/* What several GPUs exchange is kernels as well: alone on the GPU where nothing
 * hides them; where they slow others, those are there for longer.  Whoever waits for
 * another stage of a pipeline waits inside NCCL's kernel. */
static void add_exchange(const struct mfu_plan *p, struct mfu_metrics *m)
{
    double longer = m->gpu_utilization > 0 ? 1 + p->step.contention_s / m->gpu_utilization : 1;
    struct mfu_reading r;

    if (p->config.ranks <= 1)
        return;
    m->gpu_utilization *= longer;
    m->sm_efficiency *= longer;
    m->sm_active *= longer;
    m->sm_occupancy *= longer;
    m->achieved_occupancy *= longer;
    m->tensor_kernels *= longer;
    m->memory_utilization *= longer;
    mfu_read_exchange(p, &r);
    mfu_metrics_add(m, &r, p->step.communication_exposed_s - p->step.contention_s, p->machine.c[MFU_C_DRAM_ATTAIN]);
    if (p->n_stages > 0) {
        r.dram_active = 0;
        mfu_metrics_add(m, &r, fmin(p->stages[p->shown_stage].idle_s, p->step.idle_s), 1);
    }
    count_bytes(p, m);
}

void mfu_metrics_of_plan(const struct mfu_plan *p, struct mfu_metrics *m)
{
    const struct mfu_program *g = &p->program;
    double limit_w = p->config.setting[MFU_S_POWER_W];

    *m = (struct mfu_metrics){0};
    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            struct mfu_reading r;

            if (!(g->launches[i].work->kernel.launches > 0) || g->launches[i].communicates) /* the end of a scope */
                continue;
            mfu_read_kernel(p->config.gpu, &p->machine, &g->launches[i].work->kernel, &p->pricing.prices[i], &r);
            mfu_metrics_add(m, &r, mfu_plan_times(p, seg) * p->pricing.prices[i].time_s,
                            p->machine.c[MFU_C_DRAM_ATTAIN]);
        }
    }
    add_exchange(p, m);
    mfu_metrics_settle(m, p->step.time_s, limit_w > 0 ? limit_w : p->config.gpu->power_w);
    m->gpu_utilization_high = fmin(1, m->gpu_utilization + short_gaps(p) / p->step.time_s);
    m->memory_used_fill = p->memory.fill;
    m->mfu = p->mfu.mfu;
    m->hfu = p->mfu.hfu;
}
