/*
 * plan.c - scenario, program, prices, lifetimes: the whole path, once.
 */
#include "plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/covariance.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "simulate/pipeline.h"
#include "cost/law.h"
#include "scenario/setting.h"

const char *const mfu_limit_names[] = {"compute", "memory", "latency", "launch", "communication", "input"};

double mfu_plan_times(const struct mfu_plan *p, const struct mfu_segment *seg)
{
    return mfu_segment_times(&p->program, seg);
}

/* ---- time --------------------------------------------------------------- */

/* Whether graphs replay whole layers: without experts, they do whatever their scope. */
static bool graphs_all(const struct mfu_plan *p)
{
    return p->config.setting[MFU_S_CUDA_GRAPHS] > 0
        && (p->config.setting[MFU_S_GRAPH_SCOPE] == MFU_GRAPHS_OF_ALL || !(p->program.expert_layers > 0));
}

/* Host time of one launch; compiled and captured code is cheaper.  What of forward runs again in backward is
 * forward's code. */
static double launch_s(const struct mfu_plan *p, enum mfu_phase phase)
{
    const struct mfu_runtime *r = &mfu_runtimes[p->config.runtime];
    const double *c = p->machine.c;
    double again = 0;

    if (phase == MFU_OPTIMIZER_PHASE)
        return c[r->dispatch_optimizer];
    if (graphs_all(p))
        return c[MFU_C_DISPATCH_GRAPH];
    if (phase == MFU_BACKWARD && p->sums.launches[phase] > 0)
        again = fmin(p->sums.again_kernels / p->sums.launches[phase], 1);
    return phase == MFU_BACKWARD ? again * c[r->dispatch_forward] + (1 - again) * c[r->dispatch_backward]
                                 : c[r->dispatch_forward];
}

/* The layers that the program holds. */
static double layers_of(const struct mfu_program *g)
{
    double layers = 0;

    for (int k = 0; k < g->n_segments; k++)
        if (g->segments[k].phase == MFU_FORWARD && g->segments[k].layer)
            layers += g->segments[k].repeat;
    return layers;
}

/* Products of experts in one pass: of two linears each, as gate and up are one; backward has two of each, and those of
 * forward that run again. */
static double expert_products(const struct mfu_plan *p, bool backward)
{
    double forward = p->sums.expert_kernels, again = forward > 0 ? p->sums.expert_again_kernels / forward : 0;

    return mfu_config_experts_apart(&p->config) ? (backward ? 4 + 2 * again : 2) * p->program.expert_layers
            * mfu_config_dim(&p->config, "n_experts") / p->config.setting[MFU_S_EP]
                                                : 0;
}

#define LAYER_MODULES 5 /* of a layer of GPT or Llama, which host times are of: four products and attention */

/* The trainer's own host time of one pass through the layers at hand. */
static double host_s(const struct mfu_plan *p, bool backward)
{
    enum mfu_coefficient own = mfu_config_host_layer(&p->config);
    double layer_s = own < MFU_COEFFICIENT_COUNT ? p->machine.c[own] : 0;
    double times = 1, experts_s = 0, products_s = 0;

    if (layer_s <= 0 || graphs_all(p))
        return 0;
    if (p->config.setting[MFU_S_CUDA_GRAPHS] > 0)
        layer_s = 0;
    if (backward) /* and what of forward runs again */
        times = p->machine.c[MFU_C_HOST_BACKWARD]
            + (p->sums.forward_kernels > 0 ? p->sums.again_kernels / p->sums.forward_kernels : 0);
    if (!mfu_config_fused_softmax(&p->config))
        layer_s += p->machine.c[MFU_C_HOST_SOFTMAX];
    if (mfu_config_transformer_engine(&p->config) && p->program.expert_layers > 0) {
        experts_s = p->program.expert_layers * p->machine.c[MFU_C_HOST_EXPERTS];
        products_s = expert_products(p, backward) * p->machine.c[MFU_C_HOST_PRODUCT];
    }
    return (p->program.layer_modules / LAYER_MODULES * layer_s + experts_s) * times + products_s
        + p->machine.c[MFU_C_HOST_MICRO] / 2;
}

/* What the messages of a tensor group that spans nodes take longer than their bytes, in one pass. */
static double far_s(const struct mfu_plan *p)
{
    const struct mfu_trainer *t = &mfu_trainers[p->config.trainer];

    return t->host_node == 0 ? 0
                             : layers_of(&p->program) * p->machine.c[t->host_node] / 2
            * (mfu_mesh_group(&p->program.mesh, MFU_AXIS_BIT(MFU_AXIS_TP), p->machine.topology.unit_gpus).units - 1);
}

/* The checks of a phase's collectives; those of one micro-step alone are before the optimizer. */
static double checks_s(const struct mfu_plan *p, enum mfu_phase phase)
{
    const struct mfu_program *g = &p->program;
    double seconds = 0;

    if (p->config.setting[MFU_S_DISTRIBUTED_DEBUG] < MFU_DEBUG_DETAIL)
        return 0;
    for (int k = 0; k < g->n_segments; k++)
        for (int i = g->segments[k].first; i < g->segments[k].first + g->segments[k].count; i++) {
            const struct mfu_launch *l = &g->launches[i];

            if (l->communicates
                && (l->work->when == MFU_EVERY_MICRO_STEP ? g->segments[k].phase : MFU_OPTIMIZER_PHASE) == phase)
                seconds += mfu_plan_times(p, &g->segments[k]) * l->work->kernel.launches
                    * mfu_check_s(&p->machine,
                                  mfu_mesh_group(&g->mesh, l->work->collective.axes, p->machine.topology.unit_gpus));
        }
    return seconds;
}

/* Passes over modules in a phase: backward has those of the layers that it computes again, too (DeepSpeed 0.14,
 * runtime/zero/parameter_offload.py: hooks of each module, before and behind its forward and backward). */
static double passes_of(const struct mfu_plan *p, int phase)
{
    double layers = mfu_config_dim(&p->config, "n_layer"), again = p->config.setting[MFU_S_CHECKPOINT_LAYERS];

    if (phase != MFU_BACKWARD || !mfu_checkpoints[p->config.checkpoint].recomputes)
        return 1;
    return again > 0 && layers > 0 ? 1 + fmin(again / layers, 1) : 2;
}

/* Weights that ZeRO 3 gathers and lets go in one pass of each micro-step: those of the layers at hand. */
static double gathers_of(const struct mfu_plan *p)
{
    const struct mfu_program *g = &p->program;

    return g->weight_tensors * fmin(layers_of(g) / fmax(g->layers, 1), 1)
        * (mfu_config_gathers_once(&p->config) ? 1 : g->accum);
}

/* What transformers' Trainer does between two micro-steps of a step: behind its look whether the loss is a number, for
 * which it waits, it counts all parameters (floating_point_ops()) and sets all modules to train (transformers 4.32,
 * trainer.py: _inner_training_loop(), training_step()). */
static double loop_s(const struct mfu_plan *p)
{
    return p->config.setting[MFU_S_LOOP] * p->machine.c[MFU_C_HOST_LOOP] * p->program.weight_tensors * p->program.accum;
}

/* What ranks wait for the last of them in a step, where they sum gradients beside backward, whoever updates then: once, since
 * a rank that waited is no earlier than the others.  Stages of a pipeline wait for each other anyway. */
static double ranks_s(const struct mfu_plan *p)
{
    return p->config.setting[MFU_S_DP] > 1 && mfu_trainers[p->config.trainer].overlaps_reduce
            && !mfu_runtimes[p->config.runtime].c_program && p->config.setting[MFU_S_PP] <= 1
        ? p->machine.c[MFU_C_HOST_RANKS]
        : 0;
}

/* What host and GPU wait for each other in a phase, where the host is so many times slower. */
static double late_s(const struct mfu_plan *p, int phase, double slower)
{
    bool layers = phase == MFU_FORWARD || phase == MFU_BACKWARD;
    double host = p->sums.launches[phase] * p->dispatch_s[phase] * slower, gpu_s = p->sums.stream_s[phase];

    return mfu_overlap_late_s(host, gpu_s + (layers ? p->far_s * p->program.accum : 0)) - fmax(host, gpu_s);
}

/* Host time per launch of every phase.  ZeRO 3 gathers and releases
 * weights on its way through forward and backward, on the host even where one
 * GPU holds everything: that time, and the trainer's own, is spread over the
 * launches of the pass.  Where host and GPU take about as long, each waits for the
 * other now and then: the pass takes their norm (p = 4). */
static void find_dispatch(struct mfu_plan *p)
{
    const struct mfu_program *g = &p->program;

    p->host_rules = graphs_all(p) ? MFU_C_DISPATCH_GRAPH : mfu_runtimes[p->config.runtime].dispatch_forward;
    p->far_s = far_s(p);
    p->loop_s = loop_s(p);
    p->ranks_s = ranks_s(p);
    for (int i = 0; i < MFU_PHASE_COUNT; i++) {
        double launches = p->sums.launches[i], checks = checks_s(p, (enum mfu_phase)i);
        bool layers = i == MFU_FORWARD || i == MFU_BACKWARD;
        double host = layers ? host_s(p, i == MFU_BACKWARD) * g->accum : 0;

        p->dispatch_s[i] = i == MFU_COMMUNICATION ? 0 : launch_s(p, (enum mfu_phase)i);
        p->late_s[i] = 0;
        if (launches <= 0)
            continue;
        if (layers && p->config.setting[MFU_S_ZERO] >= 3)
            p->dispatch_s[i] += p->machine.c[MFU_C_DISPATCH_ZERO] * passes_of(p, i) * gathers_of(p) / launches;
        if (host <= 0 && checks <= 0)
            continue;
        if (checks > host)
            p->host_rules = MFU_C_HOST_CHECK;
        else if (host > p->dispatch_s[i] * launches)
            p->host_rules = mfu_config_host_layer(&p->config);
        host = fmax(host, p->dispatch_s[i] * launches) + checks;
        p->dispatch_s[i] = host / launches;
        p->late_s[i] = late_s(p, i, 1);
    }
}

/* A step where the host is so many times slower in each phase. */
static struct mfu_overlap overlap(const struct mfu_plan *p, const double slower[MFU_PHASE_COUNT])
{
    struct mfu_overlap_input in = {.program = &p->program,
                                   .stretches = &p->stretches,
                                   .contention = p->config.ranks > 1 ? p->machine.c[MFU_C_LINK_CONTENTION] : 0};

    for (int i = 0; i < MFU_PHASE_COUNT; i++) {
        bool waits = p->late_s[i] > 0 && i != MFU_OPTIMIZER_PHASE;

        in.hosts[i] = (struct mfu_overlap_host){p->dispatch_s[i] * slower[i], waits ? p->far_s : 0, waits};
    }
    return mfu_overlap_run(&in);
}

bool mfu_plan_states_loader(const struct mfu_plan *p)
{
    return p->config.setting_origin[MFU_S_DATALOADER_MS] != MFU_ORIGIN_DEFAULT;
}

/* Whether the loader's workers decode photographs. */
static bool decodes(const struct mfu_plan *p)
{
    return (int)p->config.setting[MFU_S_DATALOADER] == MFU_LOADER_JPEG;
}

double mfu_plan_micro_loader_s(const struct mfu_plan *p)
{
    if (mfu_plan_states_loader(p))
        return p->config.setting[MFU_S_DATALOADER_MS] * 1e-3;
    return p->config.batch
        * (decodes(p) ? p->machine.c[MFU_C_HOST_JPEG] / p->config.setting[MFU_S_LOADER_WORKERS]
                      : p->machine.c[MFU_C_HOST_LOADER]);
}

double mfu_plan_loader_s(const struct mfu_plan *p)
{
    return mfu_plan_micro_loader_s(p) * p->config.accum;
}

/* What a phase takes where the host, which runs ahead within it, is so many times slower: of the GPU and the host the
 * longer, less what it can do while collectives stand in the way. */
static double span_s(const struct mfu_plan *p, int phase, double slower)
{
    const struct mfu_sums *sums = &p->sums;
    double host_s = sums->launches[phase] * p->dispatch_s[phase] * slower;

    return fmax(sums->time_s[phase], host_s - fmax(sums->stream_s[phase] - sums->time_s[phase], 0));
}

/* Kernels, host and what communication adds, where the host is so many times slower in each phase. */
static struct mfu_overlap beside_host(const struct mfu_plan *p, const double slower[MFU_PHASE_COUNT])
{
    struct mfu_overlap with = {0};

    if (p->step.communication_s > 0)
        return overlap(p, slower);
    for (int i = 0; i < MFU_PHASE_COUNT; i++) {
        bool waits = p->late_s[i] > 0 && i != MFU_OPTIMIZER_PHASE;

        with.alone_s += span_s(p, i, slower[i]) + (waits ? late_s(p, i, slower[i]) : 0);
    }
    return with;
}

double mfu_plan_fixed_s(const struct mfu_plan *p)
{
    return p->machine.c[MFU_C_STEP_CONSTANT] + p->loop_s + p->ranks_s;
}

static void add_up_time(struct mfu_plan *p)
{
    static const double as_it_is[MFU_PHASE_COUNT] = {1, 1, 1, 1};
    const struct mfu_sums *sums = &p->sums;
    struct mfu_step_answer *s = &p->step;
    struct mfu_overlap with;
    double fixed_s = mfu_plan_fixed_s(p), gpu_s,
           loader_s = p->config.setting[MFU_S_PP] > 1 ? 0 : mfu_plan_loader_s(p); /* else the schedule waits */

    s->kernels = sums->kernels;
    s->communication_s = sums->communication_s;
    s->copies_s = sums->copies_s;
    s->forward_s = sums->time_s[MFU_FORWARD];
    s->backward_s = sums->time_s[MFU_BACKWARD];
    s->optimizer_s = sums->time_s[MFU_OPTIMIZER_PHASE];
    s->busy_s = s->forward_s + s->backward_s + s->optimizer_s;
    s->host_s = 0;
    for (int i = 0; i < MFU_PHASE_COUNT; i++)
        s->host_s += sums->launches[i] * p->dispatch_s[i];
    with = beside_host(p, as_it_is);
    s->beside_host_s = with.alone_s + with.exposed_s;
    /* More than it takes are moments at which the host is late: of no whole pass, but between two collectives. */
    s->communication_exposed_s =
        fmin(with.exposed_s, s->communication_s * (1 + p->machine.c[MFU_C_LINK_CONTENTION]) + s->copies_s);
    s->contention_s = 0;
    gpu_s = s->beside_host_s + fixed_s + p->paging_s;
    s->time_s = fmax(gpu_s, loader_s);
    p->loader_wait_s = s->time_s - gpu_s;
    s->idle_s = s->time_s - s->busy_s - s->communication_exposed_s - p->paging_s;
    p->limit = loader_s > gpu_s                                             ? MFU_LIMIT_INPUT
        : s->communication_exposed_s + p->paging_s > 0.5 * gpu_s            ? MFU_LIMIT_COMMUNICATION
        : s->host_s > s->busy_s                                             ? MFU_LIMIT_LAUNCH
        : sums->latency_s + fixed_s > fmax(sums->compute_s, sums->memory_s) ? MFU_LIMIT_LATENCY
        : sums->compute_s >= sums->memory_s                                 ? MFU_LIMIT_COMPUTE
                                                                            : MFU_LIMIT_MEMORY;
}

/* ---- use of the GPU ----------------------------------------------------- */

/* Model FLOPs: the products of forward and backward, three times those of forward
 * where all weights train (a frozen weight has no gradient: two times, 4 N), for every token
 * and all its experts.  Hardware FLOPs: and those that checkpointing runs again, or every tensor rank, less
 * those that Winograd saves. */
static void add_up_flops(struct mfu_plan *p)
{
    const struct mfu_program *g = &p->program;
    const struct mfu_config *c = &p->config;
    struct mfu_mfu_answer *a = &p->mfu;
    double forward = p->sums.forward_flops, backward = p->sums.backward_flops;
    /* Of places that experts compute, those that no token fills; less than none where tokens find no place. */
    double empty = 1 - 1 / c->experts.fill, again = 1 - 1 / c->setting[MFU_S_TP];
    double unneeded_forward = empty * p->sums.padded_forward + again * p->sums.same_forward;
    double unneeded_backward = empty * p->sums.padded_backward + again * p->sums.same_backward;

    p->matmul_seconds = p->sums.product_s;
    a->peak = mfu_precisions[c->precision].linear_math;
    a->peak_flops = c->gpu->peak_flops[a->peak];
    forward -= unneeded_forward;
    backward -= unneeded_backward;
    if (g->trainable_params == g->params - g->apart_params)
        backward = 2 * forward; /* as conventions have it, whatever fused kernels compute again */
    a->model_flops = (forward + backward + p->sums.reference_flops) * c->ranks;
    a->hardware_flops = a->model_flops
        + (p->sums.again_flops + unneeded_forward + unneeded_backward - p->sums.winograd_flops) * c->ranks;
}

/* ---- memory ------------------------------------------------------------- */

/* What nvidia-smi's total is of the size on the box, where no card of the kind
 * was seen: the known ones have 0.93 to 1 of it (chosen between). */
#define OF_THE_BOX 0.98

/* The driver's own reserve, where no device report of this card is known: the
 * median of the known ones is 2.5 % of the total, at least 300 MiB. */
#define DRIVER_SHARE 0.025
#define DRIVER_LEAST_BYTES (300 * 0x1p20)

double mfu_capacity(const struct mfu_gpu *g, bool *assumed)
{
    double total = g->smi_total_bytes > 0 ? g->smi_total_bytes : g->size_bytes * 0x1p30 / 1e9 * OF_THE_BOX;

    if (assumed)
        *assumed = !(g->capacity_bytes > 0);
    return g->capacity_bytes > 0 ? g->capacity_bytes : total - fmax(DRIVER_LEAST_BYTES, DRIVER_SHARE * total);
}

static void name_moment(struct mfu_plan *p)
{
    const struct mfu_peak_memory *peak = &p->memory.peak;
    const struct mfu_launch *l;
    char *text = p->memory.peak_at;
    char name[80];

    if (peak->launch < 0) {
        snprintf(text, sizeof p->memory.peak_at, "all the time");
        return;
    }
    l = &p->program.launches[peak->launch];
    snprintf(name, sizeof name, "%s", l->op[0] ? l->op : l->suffix);
    snprintf(text, sizeof p->memory.peak_at, "%s of %s", mfu_phase_names[l->phase], name);
}

/* The first year whose PyTorch loads kernels when they are first launched (CUDA 11.7, lazy by default in 2.0). */
#define LAZY_LOADING 2023

static enum mfu_coefficient modules_of(const struct mfu_plan *p)
{
    double year = p->config.setting[MFU_S_SOFTWARE];

    return year > 0 && year < LAZY_LOADING && !mfu_runtimes[p->config.runtime].c_program ? MFU_C_MODULES_AT_ONCE
                                                                                         : MFU_C_MODULE_BYTES;
}

/* The host's part: every process of a machine has as much. */
static void weigh_host(struct mfu_plan *p)
{
    struct mfu_memory_answer *m = &p->memory;
    struct mfu_cluster k;

    mfu_cluster_with(p->config.cluster, p->config.gpu, &k);
    m->host_bytes = m->evicted_bytes;
    m->drive_bytes = 0;
    for (int i = 0; i < MFU_PART_COUNT; i++) {
        m->host_bytes += p->program.host_bytes[i];
        m->drive_bytes += p->program.drive_bytes[i];
    }
    m->pinned_bytes = p->program.pinned_bytes;
    m->host_node_bytes = m->host_bytes * p->config.ranks / p->config.setting[MFU_S_NODES];
    m->host_capacity_bytes = k.host_memory_bytes;
}

void mfu_plan_page(struct mfu_plan *p)
{
    struct mfu_memory_answer *m = &p->memory;
    double others = p->config.setting[MFU_S_VRAM_RESERVED], room;

    m->smi_bytes = m->reserved_bytes + m->context_bytes;
    m->paged_bytes = p->program.paged_bytes;
    room = fmax(m->capacity_bytes - m->smi_bytes - others, 0);
    m->evicted_bytes = fmax(m->paged_bytes - room, 0);
    m->smi_bytes += m->paged_bytes - m->evicted_bytes;
    m->fill = (m->smi_bytes + others) / m->capacity_bytes;
    /* Each step goes through all of them in the same order, and the driver evicts what was used longest ago: where one
     * page is missing, each is (derived). */
    p->paging_s = m->evicted_bytes > 0 ? m->paged_bytes / p->machine.topology.paged : 0;
    weigh_host(p);
}

int mfu_plan_weigh(struct mfu_plan *p, bool of_passes, struct mfu_error *err)
{
    struct mfu_memory_answer *m = &p->memory;
    const struct mfu_runtime *r = &mfu_runtimes[p->config.runtime];
    double factor = r->reserved < MFU_COEFFICIENT_COUNT ? p->machine.c[r->reserved] : r->reserved_always;
    double others = p->config.setting[MFU_S_VRAM_RESERVED];

    if (!p->peak_known || of_passes) {
        if (mfu_lifetime_peak(&p->program, of_passes, &m->peak) < 0)
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        name_moment(p);
    }
    p->peak_known = p->built && !of_passes;
    m->returned_bytes = 0;
    m->capacity_bytes = mfu_capacity(p->config.gpu, &m->capacity_assumed);
    m->reserved_bytes = ceil(m->peak.bytes * factor / (2 * 0x1p20)) * 2 * 0x1p20;
    m->context_bytes = p->machine.c[MFU_C_CONTEXT_BYTES] + p->machine.c[modules_of(p)]
        + (p->config.ranks > 1 ? p->machine.c[MFU_C_NCCL_BYTES] : 0);
    mfu_plan_page(p);
    /* The caching allocator gives back what it only caches before it fails. */
    m->missing_bytes = m->peak.bytes + m->context_bytes + others - m->capacity_bytes;
    m->fits = m->missing_bytes <= 0;
    m->fragmented = false;
    m->loose_bytes = 0;
    m->least_reserved_bytes = m->most_reserved_bytes = NAN;
    m->withheld_bytes = m->least_withheld_bytes = m->most_withheld_bytes = 0;
    m->failed_in[0] = m->message[0] = '\0';
    return 0;
}

/* ---- how sure ----------------------------------------------------------- */

/* Relative variance that several GPUs add, by what they exchange, hidden or not
 * (how much hides is the loop's doing), and what is added to the excess: where
 * PyTorch's DistributedDataParallel sums gradients, ranks wait for each other
 * in one micro-step of `accum`. */
static double spread_of_ranks(const struct mfu_plan *p, double *excess)
{
    const double *c = p->machine.c;
    double share = p->step.communication_s / p->step.time_s, waits = 0;
    struct mfu_group all;
    double link;

    if (p->config.ranks <= 1)
        return 0;
    all = mfu_group_of(p->config.ranks, p->machine.topology.unit_gpus);
    link = mfu_road_of(&p->machine.topology, &all).sigma;
    if (p->config.setting[MFU_S_ZERO] == 0 && !mfu_runtimes[p->config.runtime].c_program)
        waits = 1 / p->program.accum;
    *excess += waits * c[MFU_C_MODEL_EXCESS_DDP];
    return share * share * (pow(c[MFU_C_MODEL_SIGMA_RANKS], 2) + link * link)
        + pow(waits * c[MFU_C_MODEL_SIGMA_DDP], 2);
}

void mfu_plan_slopes(const struct mfu_plan *p, double slope[MFU_COEFFICIENT_COUNT])
{
    struct mfu_group all = mfu_group_of(p->config.ranks, p->machine.topology.unit_gpus);
    bool alike = p->config.ranks <= 1
        || (all.units <= 1 && p->config.setting[MFU_S_DP] == p->config.ranks); /* each does what one would */

    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++) /* of communication, see spread_of_ranks() */
        slope[i] = (mfu_coefficient_rows[i].dim == MFU_SECONDS ? 1 : -1) * p->sums.rules_s[i] / p->step.time_s;
    slope[p->host_rules] =
        p->limit == MFU_LIMIT_LAUNCH ? 1 : fmax(p->step.idle_s - p->loader_wait_s - p->ranks_s, 0) / p->step.time_s;
    if (p->limit == MFU_LIMIT_INPUT && !mfu_plan_states_loader(p))
        slope[decodes(p) ? MFU_C_HOST_JPEG : MFU_C_HOST_LOADER] = 1;
    slope[MFU_C_LINK_PAGED] = -p->paging_s / p->step.time_s;
    slope[MFU_C_HOST_LOOP] = p->loop_s / p->step.time_s;
    slope[MFU_C_HOST_RANKS] = p->ranks_s / p->step.time_s;
    slope[MFU_C_SYSTEM] = alike ? 0 : 1;
}

/* Of workers whose number is not stated: 3 to 14 (chosen). */
#define WORKERS_SIGMA 0.5

/* How far the time of a loader that decodes is known: logarithmic. */
static double loader_sigma(const struct mfu_plan *p)
{
    bool stated = p->config.setting_origin[MFU_S_LOADER_WORKERS] == MFU_ORIGIN_USER;

    return hypot(p->config.gpu->coefficients.sigma[MFU_C_HOST_JPEG], stated ? 0 : WORKERS_SIGMA);
}

/* A 90 % interval: coefficients vary as they are known, alone or together, each moving the share of
 * the step that it rules.  What they cannot explain is the spread of published
 * runs, by runtime, and wider where several GPUs have to agree; real loops
 * also do what no graph of the model holds (loaders, logging, callbacks), so
 * that the interval lies higher than the prediction by model.excess, and reaches up
 * to model.unseen further, of which nothing else knows. */
static void interval(struct mfu_plan *p)
{
    const struct mfu_coefficients *known = &p->config.gpu->coefficients;
    double slope[MFU_COEFFICIENT_COUNT], variance, coefficients, excess, unseen = 0, workers = 0, above_s, late_s,
                                                                         total = p->step.time_s;
    double slower[MFU_PHASE_COUNT];
    struct mfu_overlap late;
    double host = mfu_host_sigma(&p->config, p->host_rules);
    const struct mfu_runtime *runtime = &mfu_runtimes[p->config.runtime];

    mfu_plan_slopes(p, slope);
    if (known->sigma[p->host_rules] > 0) /* less is open where the processor is known */
        slope[p->host_rules] *= host / known->sigma[p->host_rules];
    coefficients = mfu_coefficients_variance(known, slope);
    variance = pow(p->machine.c[runtime->sigma], 2) + coefficients;
    excess = p->machine.c[runtime->excess];
    variance += spread_of_ranks(p, &excess);
    if (p->config.setting[MFU_S_LORA] > 0)
        variance += pow(p->machine.c[MFU_C_MODEL_SIGMA_ADAPTERS], 2);
    if (mfu_model_samples(p->config.model) != NULL)
        variance += pow(p->machine.c[MFU_C_MODEL_SIGMA_IMAGES], 2);
    if (slope[MFU_C_HOST_JPEG] > 0)
        workers = pow(loader_sigma(p), 2) - pow(known->sigma[MFU_C_HOST_JPEG], 2);
    variance += workers;
    p->step.low_s = total * exp(fmin(excess - MFU_SIGMAS * sqrt(variance), 0));
    if (!runtime->c_program)
        unseen = p->machine.c[MFU_C_MODEL_UNSEEN];
    above_s = total * exp(excess) * expm1(MFU_SIGMAS * sqrt(variance));
    p->step.high_s =
        total * exp(excess) + sqrt(above_s * above_s + unseen * unseen); /* hypot() differs between libraries */
    /* A host that just keeps up may be one that does not; */
    for (int i = 0; i < MFU_PHASE_COUNT; i++)
        slower[i] = exp(MFU_SIGMAS * host);
    late = beside_host(p, slower);
    late_s = fmax(late.alone_s + late.exposed_s - p->step.beside_host_s - p->loader_wait_s, 0);
    p->step.high_s = fmax(p->step.high_s, (total + late_s) * exp(excess));
    if (decodes(p) && !mfu_plan_states_loader(p)) /* nor a loader that just keeps up */
        p->step.high_s = fmax(p->step.high_s, mfu_plan_loader_s(p) * exp(MFU_SIGMAS * loader_sigma(p)));
    /* however fast they are, the kernels take their time. */
    slope[p->host_rules] = slope[MFU_C_HOST_LOADER] = slope[MFU_C_HOST_JPEG] = 0;
    variance += mfu_coefficients_variance(known, slope) - coefficients - workers;
    p->step.low_s = fmax(p->step.low_s, p->step.busy_s * exp(fmin(excess - MFU_SIGMAS * sqrt(variance), 0)));
}

/* Cards of a size differ by this much in what they offer, where none of the kind has reported it (DRIVER_SHARE,
 * OF_THE_BOX: chosen between .93 and 1). */
#define CAPACITY_SIGMA 0.02

void mfu_plan_memory_spread(const struct mfu_plan *p, struct mfu_memory_answer *m)
{
    const enum mfu_coefficient outside[] = {MFU_C_CONTEXT_BYTES, modules_of(p), MFU_C_NCCL_BYTES};
    const struct mfu_runtime *r = &mfu_runtimes[p->config.runtime];
    const double *sigma = p->config.gpu->coefficients.sigma, *c = p->machine.c;
    double ranks = p->config.ranks > 1 ? c[MFU_C_MEMORY_SIGMA_RANKS] : 0;
    double adapters = p->config.setting[MFU_S_LORA] > 0 ? c[MFU_C_MEMORY_SIGMA_ADAPTERS] : 0;
    double live = m->peak.bytes * sqrt(c[r->live] * c[r->live] + ranks * ranks + adapters * adapters);
    double beside = m->context_bytes + m->paged_bytes - m->evicted_bytes;
    double variance = 0, cached = 0, missing = m->missing_bytes;

    for (int i = 0; i < (p->config.ranks > 1 ? 3 : 2); i++)
        variance += pow(c[outside[i]] * sigma[outside[i]], 2);
    m->smi_low_bytes = m->smi_bytes + m->returned_bytes - m->withheld_bytes + m->least_withheld_bytes;
    m->smi_low_bytes = fmax(m->smi_low_bytes - MFU_SIGMAS * sqrt(variance + live * live), m->context_bytes);
    m->smi_low_bytes = fmin(fmin(m->smi_low_bytes, m->smi_bytes), beside + m->least_reserved_bytes);
    m->smi_high_bytes = fmax(m->smi_bytes, beside + m->most_reserved_bytes);
    if (r->reserved < MFU_COEFFICIENT_COUNT) { /* longer runs keep more than two steps do */
        cached = m->peak.bytes * c[r->reserved] * sigma[r->reserved];
        m->smi_high_bytes = fmax(m->smi_high_bytes, beside + m->peak.bytes * c[r->reserved]);
    }
    m->smi_high_bytes += m->most_withheld_bytes - m->withheld_bytes;
    m->smi_high_bytes += MFU_SIGMAS * sqrt(variance + live * live + cached * cached);
    if (m->fits) /* what is cached is given back before the card is full */
        m->smi_high_bytes = fmax(fmin(m->smi_high_bytes, m->capacity_bytes), m->smi_bytes);
    if (m->loose_bytes > 0) { /* of a pipeline */
        missing += (m->fragmented ? -1 : 1) * m->loose_bytes / 2;
        variance += m->loose_bytes * m->loose_bytes / 12;
    } else if (m->fragmented) { /* between nothing and the whole segment is missing, nobody knows where */
        missing = m->missing_bytes / 2;
        variance += missing * missing / 3;
    }
    variance += live * live + pow(m->capacity_assumed ? CAPACITY_SIGMA * m->capacity_bytes : 0, 2);
    m->fits_probability = 0.5 * erfc(missing / sqrt(2 * variance));
}

void mfu_plan_refresh(struct mfu_plan *p)
{
    mfu_machine_make(&p->config, &p->machine);
    mfu_sums_of(&p->program, p->pricing.prices, &p->sums);
    find_dispatch(p);
}

void mfu_plan_add_up_amounts(struct mfu_plan *p)
{
    p->step.tokens = p->config.tokens * p->config.accum * p->config.replicas;
    add_up_flops(p);
}

void mfu_plan_add_up(struct mfu_plan *p)
{
    find_dispatch(p);
    add_up_time(p);
    mfu_plan_add_up_amounts(p);
}

int mfu_plan_sum_up(struct mfu_plan *p, struct mfu_error *err)
{
    mfu_sums_of(&p->program, p->pricing.prices, &p->sums);
    if ((p->sums.communication_s > 0 || p->config.setting[MFU_S_PP] > 1)
        && !mfu_overlap_price(&p->stretches, &p->program, p->pricing.prices))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    return 0;
}

/* The step of so many micro-steps, from the sums; false if they do not say it. */
static bool from_sums(struct mfu_plan *p, double accum)
{
    if (!mfu_accumulation_sums(&p->accumulation, &p->machine, &p->program, &p->pricing, accum, &p->sums, &p->stretches))
        return false;
    p->program.accum = accum;
    mfu_plan_add_up(p);
    return true;
}

int mfu_plan_price(struct mfu_plan *p, bool sums, struct mfu_error *err)
{
    struct mfu_accumulation *a = &p->accumulation;
    double accum = mfu_graph_accum(&p->config);
    bool added = false;

    if (accum > 1) {
        if (a->state == MFU_ACCUMULATION_UNKNOWN
            && mfu_accumulation_learn(a, &p->machine, &p->program, &p->pricing, !p->without_interval,
                                      p->config.setting[MFU_S_PP] > 1)
                < 0)
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        added = a->state == MFU_ACCUMULATION_HOLDS && from_sums(p, accum);
        if (added && sums)
            return 0;
        if (a->state == MFU_ACCUMULATION_HOLDS)
            a->state = MFU_ACCUMULATION_UNKNOWN; /* its prices go */
    }
    mfu_program_accumulate(&p->program, accum);
    if (mfu_price_program(&p->machine, &p->program, &p->config.experts, &p->pricing) < 0)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (!added) {
        if (mfu_plan_sum_up(p, err) < 0)
            return -1;
        mfu_plan_add_up(p);
    }
    return 0;
}

void mfu_plan_settle_time(struct mfu_plan *p)
{
    struct mfu_mfu_answer *a = &p->mfu;

    p->step.tokens_per_s = p->step.tokens / p->step.time_s;
    p->step.useful_tokens = p->step.tokens * p->config.documents.fill;
    p->step.samples_per_s = p->step.tokens_per_s / mfu_config_document_tokens(&p->config);
    a->achieved_flops = a->model_flops / p->config.ranks / p->step.time_s;
    a->mfu = a->achieved_flops / a->peak_flops;
    a->hfu = a->hardware_flops / p->config.ranks / p->step.time_s / a->peak_flops;
    if (!p->without_interval)
        interval(p);
}

double mfu_plan_longest_document(const struct mfu_plan *p)
{
    const struct mfu_config *c = &p->config;

    return c->documents.mean > 0 ? mfu_documents_longest(&c->documents, c->seq, mfu_config_padded_together(c)) : c->seq;
}

/* PyTorch 01386103, distributed/pipelining/schedules.py: _add_unshard_reshard (max_active_stages). */
#define MOST_GATHERED 3

const char *mfu_plan_left_out(const struct mfu_plan *p, size_t i)
{
    static const struct {
        enum mfu_setting_id id;
        const char *what;
        unsigned trait; /* of some operation; 0: of any */
    } all[] = {
        {MFU_S_EP, "ep: memory of experts that get more tokens than others", 0},
        {MFU_S_PP, "pp: the host's waits between microbatches; memory block by block", 0},
        {MFU_S_CP, "cp: states that pass from one part of a sequence to the next", MFU_PASSES_STATES},
        {MFU_S_TP,
         "tp: a scan whose heads or groups the ranks do not divide, or what passes from batch to batch; each rank "
         "computes all of it",
         MFU_PASSES_STATES},
    };

    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
        if (p->config.setting[all[k].id] > 1 && (!all[k].trait || mfu_config_has(&p->config, all[k].trait))
            && (all[k].id != MFU_S_TP || p->program.repeats_scans) && i-- == 0)
            return all[k].what;
    if (p->config.setting[MFU_S_CP] > 1 && mfu_model_dim_find(p->config.model, "image", NULL) >= 0 && i-- == 0)
        return "cp: images and what stands beside them are no part of the sequence that is split; each rank computes "
               "all of them";
    if (p->config.accum > 1 && mfu_config_has(&p->config, MFU_RECALLS) && i-- == 0)
        return "accum: what each of the other microbatches keeps for the next step";
    if (mfu_config_gathers_ahead(&p->config) && p->config.setting[MFU_S_VPP] > MOST_GATHERED && i-- == 0)
        return "vpp: weights of more than three stages a rank, which torch's schedule frees and gathers again";
    if (mfu_config_pads_to_longest(&p->config) && i-- == 0)
        return "padding: the time of batches that are shorter than seq, which the command buckets adds up";
    if (mfu_scenario_adapters_unpredicted(&p->scenario) && i-- == 0)
        return mfu_scenario_adapters_unpredicted(&p->scenario);
    if (p->scenario.not_modelled[0] && i-- == 0)
        return p->scenario.not_modelled;
    return i < (size_t)p->config.model->n_not_modelled ? p->config.model->not_modelled[i] : NULL;
}

const char *mfu_plan_unpredicted(const struct mfu_plan *p)
{
    return mfu_scenario_unpredicted(&p->scenario);
}

const char *mfu_plan_fits_because(const struct mfu_plan *p)
{
    return *mfu_plan_unpredicted(p) ? mfu_plan_unpredicted(p) : NULL;
}

double mfu_plan_fits(const struct mfu_plan *p)
{
    if (*mfu_plan_unpredicted(p))
        return NAN;
    return p->memory.fits && !(p->memory.host_node_bytes > p->memory.host_capacity_bytes);
}

void mfu_plan_forget(struct mfu_plan *p)
{
    if (p->config.setting[MFU_S_PP] > 1 || p->accumulation.state == MFU_ACCUMULATION_HOLDS)
        return;
    mfu_accumulation_release(&p->accumulation);
    mfu_overlap_release(&p->stretches);
    mfu_pricing_forget(&p->pricing);
}

void mfu_plan_release(struct mfu_plan *p)
{
    mfu_program_free(&p->program);
    mfu_scale_release(&p->scale);
    mfu_pricing_release(&p->pricing);
    mfu_accumulation_release(&p->accumulation);
    mfu_overlap_release(&p->stretches);
    for (int i = 0; i < p->cap_programs; i++) {
        mfu_program_free(&p->programs[i].program);
        mfu_pricing_release(&p->programs[i].pricing);
        mfu_accumulation_release(&p->programs[i].accumulation);
        mfu_overlap_release(&p->programs[i].stretches);
    }
    free(p->programs);
    free(p->stages);
    for (int i = 0; i < MFU_PIPELINES; i++)
        mfu_pipeline_free(p->pipelines[i]);
    memset(p, 0, sizeof *p);
}
