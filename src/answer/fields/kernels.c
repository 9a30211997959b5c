/*
 * kernels.c - fields of kernels, of the roofline, and of what meters read.
 */
#include <math.h>

#include "answer/fields/fields.h"
#include "descriptor/cluster.h"
#include "plan/kernels.h"
#include "plan/roofline.h"
#include "plan/single_kernel.h"

// clang-format off

static bool communicates(const struct mfu_kernel_row *r)
{
    return r->collective.kind != MFU_NO_COLLECTIVE;
}

#define KERNEL_ROW(X) \
    X(TEXT,   name,        0,               r->name,                         "where it comes from in the model") \
    X(TEXT,   phase,       0,               mfu_phase_names[r->phase],       "forward, backward, optimizer or communication") \
    X(TEXT,   kind,        0,               mfu_kind_names[r->kind],         "gemm, attention, norm ...") \
    X(NUMBER, count,       MFU_COUNT,       r->count,                        "CUDA kernels launched in one step") \
    X(NUMBER, m,           MFU_COUNT,       r->kernel.m,                     "rows of the result") \
    X(NUMBER, n,           MFU_COUNT,       r->kernel.n,                     "columns of the result") \
    X(NUMBER, k,           MFU_COUNT,       r->kernel.k,                     "length of the sums of a product") \
    X(NUMBER, batch,       MFU_COUNT,       r->kernel.batch,                 "products of one batched launch") \
    X(NUMBER, flops,       MFU_FLOP,        r->flops,                        "of all launches of a step") \
    X(NUMBER, bytes,       MFU_BYTES,       r->bytes,                        "DRAM traffic of all launches of a step") \
    X(NUMBER, intensity,   MFU_COUNT,       r->intensity,                    "FLOP per byte") \
    X(TEXT,   bound,       0,               mfu_bound_names[r->price.bound], "compute, memory, launch, latency or link") \
    X(NUMBER, time_s,      MFU_SECONDS,     r->time_s,                       "of all launches of a step") \
    X(NUMBER, share,       MFU_RATIO,       r->share,                        "of the step's time") \
    X(NUMBER, flops_per_s, MFU_FLOP_PER_S,  r->flops_per_s,                  "while it runs") \
    X(NUMBER, bytes_per_s, MFU_BYTES_PER_S, r->bytes_per_s,                  "while it runs") \
    X(NUMBER, waves,       MFU_COUNT,       r->price.waves,                  "rounds of resident blocks that it takes") \
    X(NUMBER, grid,        MFU_COUNT,       r->reading.grid.blocks,          "thread blocks of one launch") \
    X(NUMBER, threads,     MFU_COUNT,       r->reading.grid.threads,         "of a block") \
    X(NUMBER, registers,   MFU_COUNT,       r->reading.grid.registers,       "of a thread") \
    X(NUMBER, shared_bytes, MFU_BYTES,      r->reading.grid.shared_bytes,    "shared memory of a block") \
    X(NUMBER, blocks_per_sm, MFU_COUNT,     r->reading.limit.resident,       "that fit an SM at once") \
    X(NUMBER, theoretical_occupancy, MFU_RATIO, r->reading.limit.theoretical, "warps that fit over warps that an SM holds") \
    X(NUMBER, sm_active,   MFU_RATIO,       r->sm_active,                    "DCGM SM_ACTIVE while it runs") \
    X(NUMBER, occupancy,   MFU_RATIO,       r->occupancy,                    "DCGM SM_OCCUPANCY while it runs") \
    X(NUMBER, tensor_active, MFU_RATIO,     r->tensor_active,                "DCGM PIPE_TENSOR_ACTIVE while it runs") \
    X(NUMBER, dram_active, MFU_RATIO,       r->dram_active,                  "DCGM DRAM_ACTIVE while it runs") \
    X(MAYBE_TEXT,   collective, 0, communicates(r) ? mfu_collective_names[r->collective.kind] : NULL, "which collective it is") \
    X(MAYBE_TEXT,   group,  0, communicates(r) ? mfu_group_name(r->collective.axes) : NULL, "the axis of the mesh that it runs over") \
    X(MAYBE_TEXT,   algorithm, 0, r->group.ranks > 1 ? mfu_algorithm_names[r->algorithm] : NULL, "NCCL's, the fastest of those that apply") \
    X(MAYBE_TEXT,   protocol, 0, r->group.ranks > 1 ? mfu_protocol_names[r->protocol] : NULL, "NCCL's") \
    X(MAYBE_NUMBER, ranks,  MFU_COUNT,       communicates(r) ? r->ranks : NAN, "that take part") \
    X(MAYBE_NUMBER, algbw,  MFU_BYTES_PER_S, communicates(r) ? r->bytes_per_s : NAN, "bytes of the tensor per second, as nccl-tests count them") \
    X(MAYBE_NUMBER, busbw,  MFU_BYTES_PER_S, communicates(r) ? r->bytes_per_s * mfu_bus_factor(r->collective.kind, r->ranks) : NAN, "bytes per second of a link, as nccl-tests count them")
MFU_FIELDS(kernel_row, const struct mfu_kernel_row *r, KERNEL_ROW)
const struct mfu_record mfu_record_kernel_row = MFU_RECORD(kernel_row, .rows = NULL);

static void make_rows(const struct mfu_plan *p, struct mfu_value *v)
{
    struct mfu_kernel_row *rows;
    int n = mfu_kernel_rows(p, &rows, NULL);

    v->failed = n < 0;
    if (n < 0)
        return;
    v->object = v->own = rows;
    v->n = (size_t)n;
    v->stride = sizeof *rows;
}

#define KERNELS(X) \
    X(MADE_LIST, kernels, &mfu_record_kernel_row, make_rows(p, v), "equal kernels of all layers in one row") \
    X(NUMBER, total_time_s, MFU_SECONDS, p->step.busy_s + p->step.communication_s, "sum of their times: the busy time of the GPU, and communication, beside it or not")
MFU_FIELDS(kernels, const struct mfu_plan *p, KERNELS)
const struct mfu_record mfu_record_kernels = MFU_RECORD(kernels, .command = "kernels", .rows = "kernels");

/* ---- roofline -------------------------------------------------------------- */

#define ROOF(X) \
    X(TEXT,         name,        0,               r->name,        "what limits there") \
    X(MAYBE_NUMBER, flops_per_s, MFU_FLOP_PER_S,  r->flops_per_s, "of a flat roof") \
    X(MAYBE_NUMBER, bytes_per_s, MFU_BYTES_PER_S, r->bytes_per_s, "of a slope")
MFU_PART_RECORD(roof, const struct mfu_roof *r, ROOF)

static void make_roofs(const struct mfu_plan *p, struct mfu_value *v)
{
    struct mfu_roof *list = mfu_value_own(v, MFU_ROOFS, sizeof *list);

    if (list)
        v->n = mfu_roofs(p, list);
}

#define POINT(X) \
    X(TEXT,   name,        0,              r->name,                         "the kernel") \
    X(TEXT,   phase,       0,              mfu_phase_names[r->phase],       "forward, backward, optimizer or communication") \
    X(NUMBER, intensity,   MFU_COUNT,      r->intensity,                    "FLOP per byte") \
    X(NUMBER, flops_per_s, MFU_FLOP_PER_S, r->flops_per_s,                  "while it runs") \
    X(NUMBER, share,       MFU_RATIO,      r->share,                        "of the step's time") \
    X(TEXT,   bound,       0,              mfu_bound_names[r->price.bound], "compute, memory, launch, latency or link")
MFU_PART_RECORD(roofline_kernel, const struct mfu_kernel_row *r, POINT)

#define ROOFLINE(X) \
    X(MADE_LIST, ceilings, &roof,     make_roofs(p, v), "roofs of the GPU") \
    X(NUMBER,    ridge,    MFU_COUNT, mfu_ridge(&p->machine, p->mfu.peak_flops), "FLOP per byte where DRAM and the dense peak meet") \
    X(MADE_LIST, kernels,  &roofline_kernel,    make_rows(p, v),  "kernels below the roofs")
MFU_FIELDS(roofline, const struct mfu_plan *p, ROOFLINE)
const struct mfu_record mfu_record_roofline = MFU_RECORD(roofline, .command = "roofline", .rows = "kernels");

/* ---- meters ---------------------------------------------------------------- */

#define READING(X) \
    X(NUMBER, gpu_utilization,    MFU_RATIO, m->gpu_utilization,    "nvidia-smi: time with a kernel running") \
    X(NUMBER, sm_efficiency,      MFU_RATIO, m->sm_efficiency,      "PyTorch profiler: blocks per SM, at most 1") \
    X(NUMBER, sm_active,          MFU_RATIO, m->sm_active,          "DCGM SM_ACTIVE") \
    X(NUMBER, sm_occupancy,       MFU_RATIO, m->sm_occupancy,       "DCGM SM_OCCUPANCY") \
    X(NUMBER, achieved_occupancy, MFU_RATIO, m->achieved_occupancy, "PyTorch profiler: occupancy over busy time") \
    X(NUMBER, tensor_active,      MFU_RATIO, m->tensor_active,      "DCGM PIPE_TENSOR_ACTIVE") \
    X(NUMBER, dram_active,        MFU_RATIO, m->dram_active,        "DCGM DRAM_ACTIVE") \
    X(NUMBER, memory_utilization, MFU_RATIO, m->memory_utilization, "nvidia-smi: time with memory traffic") \
    X(NUMBER, memory_used_fill,   MFU_RATIO, m->memory_used_fill,   "nvidia-smi: memory in use; fill") \
    X(NUMBER, hfu,                MFU_RATIO, m->hfu,                "FLOP computed over the dense peak") \
    X(NUMBER, mfu,                MFU_RATIO, m->mfu,                "model FLOP over the dense peak") \
    X(NUMBER, gpu_utilization_high, MFU_RATIO, m->gpu_utilization_high, "the same where short gaps count as busy") \
    X(NUMBER, tensor_kernels,     MFU_RATIO, m->tensor_kernels,     "share of busy time in tensor-core kernels") \
    X(NUMBER, power_w,            MFU_WATTS, m->power_w,            "board power, predicted") \
    X(NUMBER, idle_w_assumed,     MFU_WATTS, m->idle_w,             "board power of an idle GPU, assumed") \
    X(NUMBER, board_w,            MFU_WATTS, m->board_w,            "board power of the GPU") \
    X(NUMBER, fabric_active,      MFU_RATIO, m->fabric_active,      "bytes sent in the node over what NVLink or PCIe sustains") \
    X(NUMBER, nic_active,         MFU_RATIO, m->nic_active,         "bytes sent over the network over what the NICs sustain") \
    X(NUMBER, fabric_tx_bytes,    MFU_BYTES, m->fabric_bytes,       "DCGM NVLINK_TX_BYTES, or those of PCIe: that a GPU sends in the window") \
    X(NUMBER, nic_tx_bytes,       MFU_BYTES, m->nic_bytes,          "port_xmit_data of its NICs: that a GPU sends in the window") \
    X(NUMBER, window_s,           MFU_SECONDS, m->window_s,         "time over which the meters read")
MFU_FIELDS(reading, const struct mfu_metrics *m, READING)
const struct mfu_record mfu_record_reading = MFU_RECORD(reading, .rows = NULL);

static void make_reading(const struct mfu_plan *p, struct mfu_value *v)
{
    struct mfu_metrics *m = mfu_value_own(v, 1, sizeof *m);

    if (m)
        mfu_metrics_of_plan(p, m);
}

#define METRICS(X) X(MADE_MEMBERS, metrics, &mfu_record_reading, make_reading(p, v), "over one step")
MFU_FIELDS(metrics, const struct mfu_plan *p, METRICS)
const struct mfu_record mfu_record_metrics = MFU_RECORD(metrics, .command = "metrics");

#define SINGLE(X) \
    X(TEXT,   gpu,     0, k->gpu->slug, "the GPU") \
    X(MAYBE_TEXT,   cluster, 0, k->cluster ? k->cluster->slug : NULL, "the machines, of a collective") \
    X(MAYBE_NUMBER, nodes, MFU_COUNT, k->nodes > 0 ? k->nodes : NAN, "that hold the GPUs of a collective") \
    X(OBJECT, kernel,  &mfu_record_kernel_row, &k->row,     "the kernel, by itself") \
    X(OBJECT, metrics, &mfu_record_reading,    &k->metrics, "what meters read while it runs again and again")
MFU_FIELDS(single_kernel, const struct mfu_single_kernel *k, SINGLE)
const struct mfu_record mfu_record_single_kernel = MFU_RECORD(single_kernel, .command = "kernel");

static void make_sizes(const struct mfu_collectives *c, struct mfu_value *v)
{
    struct mfu_kernel_row *rows = mfu_value_own(v, c->n, sizeof *rows);

    for (size_t i = 0; rows && i < c->n; i++)
        rows[i] = c->list[i].row;
    v->n = rows ? c->n : 0;
}

#define COLLECTIVES(X) \
    X(TEXT,       gpu,     0, c->list->gpu->slug, "the GPU") \
    X(MAYBE_TEXT, cluster, 0, c->list->cluster ? c->list->cluster->slug : NULL, "the machines") \
    X(NUMBER,     nodes,   MFU_COUNT, c->list->nodes, "that hold the GPUs") \
    X(MADE_LIST,  kernels, &mfu_record_kernel_row, make_sizes(c, v), "the collective at each size")
MFU_FIELDS(collectives, const struct mfu_collectives *c, COLLECTIVES)
const struct mfu_record mfu_record_collectives = MFU_RECORD(collectives, .command = "kernel", .rows = "kernels");

struct slice {
    double begin_s;
    const struct mfu_metrics_slice *of;
};
#define SLICE(X) \
    X(NUMBER, begin_s,         MFU_SECONDS, s->begin_s,                  "from the beginning of a step") \
    X(TEXT,   phase,           0,           s->of->idle ? "idle" : mfu_phase_names[s->of->phase], "of most of its work") \
    X(NUMBER, gpu_utilization, MFU_RATIO,   s->of->read.gpu_utilization, "nvidia-smi: time with a kernel running") \
    X(NUMBER, sm_active,       MFU_RATIO,   s->of->read.sm_active,       "DCGM SM_ACTIVE") \
    X(NUMBER, sm_occupancy,    MFU_RATIO,   s->of->read.sm_occupancy,    "DCGM SM_OCCUPANCY") \
    X(NUMBER, tensor_active,   MFU_RATIO,   s->of->read.tensor_active,   "DCGM PIPE_TENSOR_ACTIVE") \
    X(NUMBER, dram_active,     MFU_RATIO,   s->of->read.dram_active,     "DCGM DRAM_ACTIVE") \
    X(NUMBER, mfu,             MFU_RATIO,   s->of->read.mfu,             "model FLOP over the dense peak") \
    X(NUMBER, power_w,         MFU_WATTS,   s->of->read.power_w,         "board power, predicted")
MFU_PART_RECORD(slice, const struct slice *s, SLICE)

static void make_slices(const struct mfu_metrics_over_answer *a, struct mfu_value *v)
{
    struct slice *list = mfu_value_own(v, (size_t)a->n, sizeof *list);

    for (int i = 0; list && i < a->n; i++)
        list[i] = (struct slice){i * a->window_s / a->n, &a->slices[i]};
}

#define OVER(X) \
    X(NUMBER, window_s,    MFU_SECONDS, a->window_s,          "time over which the meters read") \
    X(NUMBER, slice_s,     MFU_SECONDS, a->window_s / a->n,   "of it in one slice") \
    X(NUMBER, step_time_s, MFU_SECONDS, a->plan->step.time_s, "one optimizer step") \
    X(MADE_LIST, slices,   &slice,      make_slices(a, v),    "slice after slice")
MFU_FIELDS(metrics_over, const struct mfu_metrics_over_answer *a, OVER)
const struct mfu_record mfu_record_metrics_over = MFU_RECORD(metrics_over, .command = "metrics", .rows = "slices");
// clang-format on
