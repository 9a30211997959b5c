/*
 * simulation.c - unrolls a plan's step and runs it.
 */
#include "plan/simulation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/error.h"
#include "graph/graph.h"
#include "scenario/setting.h"

/* CUDA's launch queue (pending launches of a stream). */
#define QUEUE_DEPTH 1024

const struct mfu_program *mfu_simulation_program(const struct mfu_simulation *s)
{
    return s->later.n_launches > 0 ? &s->later : &s->first;
}

/* Whether it is the first, and maybe the only one: it gives back what it works with as soon as it can. */
static bool is_single(const struct mfu_simulation *s)
{
    return !s->again;
}

/* A step without its repetitions, and what is replayed of it. */
static int unroll_one(struct mfu_plan *plan, const struct mfu_config *c, bool record, const struct mfu_simulation *s,
                      struct mfu_program *program, struct mfu_allocations *replayed, struct mfu_error *err)
{
    enum mfu_unrolling unrolling = s->traces_layers ? MFU_LAYERS_TRACED
        : record                                    ? MFU_LAYERS_COPIED
                                                    : MFU_LAYERS_FOLDED;
    int built;

    program->once = is_single(s);
    program->workbench = plan->program.workbench; /* one is enough */
    plan->program.workbench = NULL;
    built = mfu_graph_build_stage(c, plan->shown_stage, unrolling, program, err);
    plan->program.workbench = program->workbench;
    program->workbench = NULL;
    if (built < 0)
        return -1;
    return mfu_allocations_take(replayed, program) < 0 ? mfu_fail(err, MFU_ENOMEM, "out of memory") : 0;
}

/* The step of the first micro-batch, where gradients are born, and of the
 * others, where they exist: one behind the other in the same memory where pictures do not need both. */
static int unroll(struct mfu_plan *plan, bool record, struct mfu_simulation *s, struct mfu_error *err)
{
    bool accumulates = plan->config.accum > 1;
    struct mfu_config alone = plan->config;

    s->first.n_launches = s->later.n_launches = 0;
    alone.accum = 1; /* the setting stays: whether gradients wait for others */
    if (unroll_one(plan, &alone, record, s, accumulates && !record ? &s->later : &s->first, &s->born, err) < 0)
        return -1;
    return accumulates ? unroll_one(plan, &plan->config, record, s, &s->later, &s->there, err) : 0;
}

static int run_in_time(struct mfu_plan *plan, bool record, struct mfu_simulation *s)
{
    const struct mfu_program *program = mfu_simulation_program(s);
    struct mfu_timeline_input in = {
        .program = program,
        .queue_depth = QUEUE_DEPTH,
        .latency_s = plan->machine.c[MFU_C_KERNEL_OVERHEAD],
        .loader_s = mfu_plan_micro_loader_s(plan),
        .step_constant_s = plan->machine.c[MFU_C_STEP_CONSTANT] + plan->late_s[MFU_FORWARD] + plan->late_s[MFU_BACKWARD]
            + plan->loop_s + plan->ranks_s + plan->paging_s,
        .record = record,
        .contention = plan->config.ranks > 1 ? plan->machine.c[MFU_C_LINK_CONTENTION] : 0,
    };
    int priced;

    s->pricing.known = plan->pricing.known; /* most kernels are the plan's */
    plan->pricing.known = NULL;
    priced = mfu_price_program(&plan->machine, program, &plan->config.experts, &s->pricing);
    plan->pricing.known = s->pricing.known;
    s->pricing.known = NULL;
    if (priced < 0)
        return -1;
    if (!MFU_ROOM(s->seconds, program->n_launches, s->cap_seconds))
        return -1;
    for (int i = 0; i < program->n_launches; i++)
        s->seconds[i] = mfu_price_at(&s->pricing, i)->time_s;
    in.seconds = s->seconds;
    for (int i = 0; i < MFU_PHASE_COUNT; i++)
        in.dispatch_s[i] = plan->dispatch_s[i];
    return mfu_timeline_run(&in, &s->timeline);
}

/* Batches that are as long as their longest document, in a random order, of which what the allocator reserves depends:
 * the median of so many orders is taken. */
#define LENGTHS 64
#define ORDERS 5

static void draw_lengths(const struct mfu_config *c, unsigned order, double lengths[LENGTHS])
{
    for (unsigned k = 0; k < LENGTHS; k++) {
        unsigned x = order * LENGTHS + k + 1; /* Wellons' lowbias32 */

        x = (x ^ x >> 16) * 0x21f0aaadu;
        x = (x ^ x >> 15) * 0x735a2d97u;
        x ^= x >> 15;
        lengths[k] =
            mfu_documents_quantile(&c->documents, c->seq, mfu_config_padded_together(c), (x + 0.5) / 0x1p32) / c->seq;
    }
}

/* Replays in each order, and again with `lengths` of the median one. */
static int replay_orders(const struct mfu_plan *plan, struct mfu_replay_input *in, struct mfu_simulation *s,
                         double lengths[LENGTHS], struct mfu_error *err)
{
    struct {
        double bytes;
        unsigned order;
    } runs[ORDERS] = {{0}}, one = {0};
    bool record = in->record;

    in->lengths = lengths;
    in->n_lengths = LENGTHS;
    in->record = false;
    for (unsigned o = 0, at; o < ORDERS; o++) {
        draw_lengths(&plan->config, o, lengths);
        if (mfu_replay_run(in, &s->replay, err) < 0)
            return -1;
        one.order = o;
        one.bytes = (double)(s->replay.out_of_memory ? s->replay.wanted_bytes : s->replay.steady.peak_reserved_bytes);
        for (at = o; at > 0 && runs[at - 1].bytes > one.bytes; at--)
            runs[at] = runs[at - 1];
        runs[at] = one;
    }
    s->least_reserved_bytes = runs[0].bytes;
    s->most_reserved_bytes = runs[ORDERS - 1].bytes;
    draw_lengths(&plan->config, runs[ORDERS / 2].order, lengths);
    in->record = record;
    return mfu_replay_run(in, &s->replay, err);
}

static int run_in_memory(const struct mfu_plan *plan, bool record, struct mfu_simulation *s, struct mfu_error *err)
{
    double others = plan->memory.context_bytes + plan->config.setting[MFU_S_VRAM_RESERVED], lengths[LENGTHS];
    const struct mfu_program *program = mfu_simulation_program(s);
    struct mfu_replay_input in = {
        .first = &s->born,
        .later = s->later.n_launches > 0 ? &s->there : NULL,
        .program = program,
        .record = record,
        .card_bytes = (uint64_t)plan->memory.capacity_bytes,
        .context_bytes = (uint64_t)plan->memory.context_bytes,
        .allocator.capacity_bytes = (uint64_t)fmax(plan->memory.capacity_bytes - others, 1),
        .workspaces = mfu_runtimes[plan->config.runtime].c_program ? 1 : 2,
    };

    in.allocator.expandable_segments = plan->config.setting[MFU_S_EXPANDABLE_SEGMENTS] > 0;
    in.weight_share = s->born.constant_bytes[MFU_PART_WEIGHTS] / program->rank_bytes;
    if (mfu_config_reference(&plan->config) && mfu_config_reference(&plan->config)->weights)
        in.weight_share /= 2; /* the list has them twice */
    in.optimizer_state_elements_bytes = s->born.constant_bytes[MFU_PART_OPTIMIZER] / fmax(program->rank_trained, 1);
    in.workspace_bytes = s->born.constant_bytes[MFU_PART_WORKSPACE] / in.workspaces;
    s->least_reserved_bytes = s->most_reserved_bytes = NAN;
    if (mfu_config_pads_to_longest(&plan->config))
        return replay_orders(plan, &in, s, lengths, err);
    return mfu_replay_run(&in, &s->replay, err);
}

/* PyTorch counts blocks as allocated, which are larger than their tensors by
 * what is rounded up or not worth splitting off. */
static void take_blocks(struct mfu_peak_memory *peak, double allocated_bytes)
{
    if (allocated_bytes <= peak->bytes)
        return;
    peak->parts[MFU_PART_WORKSPACE] += allocated_bytes - peak->bytes;
    peak->bytes = allocated_bytes;
}

/* The first launch of a segment from `i` on that does not communicate: buckets of gradients end
 * elsewhere where layers are counted. */
static int kernel_from(const struct mfu_program *p, const struct mfu_segment *seg, int i)
{
    while (i < seg->first + seg->count && mfu_launch_in(p, seg, i)->communicates)
        i++;
    return i;
}

static int kernels_in(const struct mfu_program *p, const struct mfu_segment *seg)
{
    int n = 0;

    for (int i = kernel_from(p, seg, seg->first); i < seg->first + seg->count; i = kernel_from(p, seg, i + 1))
        n++;
    return n;
}

/* The number of segments of the unrolled program that `seg` stands for, from
 * `at` on; 0 where they do not match. */
static int copies_of(const struct mfu_program *counted, const struct mfu_segment *seg,
                     const struct mfu_program *unrolled, int at)
{
    double times = 0;
    int n = 0, kernels = kernels_in(counted, seg);

    for (; times < seg->repeat && at + n < unrolled->n_segments; n++) {
        const struct mfu_segment *copy = &unrolled->segments[at + n];

        if (copy->phase != seg->phase
            || (!(n > 0 && mfu_unfolds_alike(copy)) && kernels_in(unrolled, copy) != kernels)) /* as the one before */
            return 0;
        times += copy->repeat;
    }
    return times == seg->repeat ? n : 0;
}

static void add_prices(struct mfu_plan *plan, const struct mfu_segment *seg, const struct mfu_simulation *s,
                       const struct mfu_segment *copy, bool first)
{
    const struct mfu_program *g = &plan->program, *unrolled = mfu_simulation_program(s);
    double share = copy->repeat / seg->repeat;

    for (int i = kernel_from(g, seg, seg->first), k = kernel_from(unrolled, copy, copy->first);
         i < seg->first + seg->count; i = kernel_from(g, seg, i + 1), k = kernel_from(unrolled, copy, k + 1)) {
        struct mfu_price *mean = &plan->pricing.prices[i];
        const struct mfu_price *one = mfu_price_at(&s->pricing, k);

        mean->time_s = (first ? 0 : mean->time_s) + share * one->time_s;
        mean->compute_s = (first ? 0 : mean->compute_s) + share * one->compute_s;
        mean->memory_s = (first ? 0 : mean->memory_s) + share * one->memory_s;
    }
}

/* The price of a launch that stands for many is their mean: what L2 still holds
 * differs between layers that are otherwise the same.  So that tables of kernels,
 * phases and the simulated step are one sum.  False: the two programs differ (a compiler that fuses every
 * other layer alike), and each keeps its own. */
static bool take_prices(struct mfu_plan *plan, const struct mfu_simulation *s)
{
    const struct mfu_program *g = &plan->program, *unrolled = mfu_simulation_program(s);
    int at = 0, n;

    for (int k = 0; k < g->n_segments; k++, at += n)
        if ((n = copies_of(g, &g->segments[k], unrolled, at)) == 0)
            return false;
    at = 0;
    for (int k = 0; k < g->n_segments; k++)
        for (double times = 0; times < g->segments[k].repeat; times += unrolled->segments[at++].repeat)
            add_prices(plan, &g->segments[k], s, &unrolled->segments[at], times == 0);
    return true;
}

/* The phases of the step as the simulation priced them; what is neither they nor
 * communication is idleness. */
static void add_up_phases(struct mfu_plan *plan, const struct mfu_simulation *simulation)
{
    bool taken = take_prices(plan, simulation);
    const struct mfu_program *g = taken ? &plan->program : mfu_simulation_program(simulation);
    const struct mfu_timeline *t = &simulation->timeline;
    struct mfu_step_answer *s = &plan->step;
    double phase_s[MFU_PHASE_COUNT] = {0};

    for (int k = 0; k < g->n_segments; k++)
        for (int i = g->segments[k].first; i < g->segments[k].first + g->segments[k].count; i++)
            phase_s[mfu_launch_phase(mfu_launch_in(g, &g->segments[k], i))] += mfu_segment_times(g, &g->segments[k])
                * (taken ? &plan->pricing.prices[i] : mfu_price_at(&simulation->pricing, i))->time_s;
    s->forward_s = phase_s[MFU_FORWARD];
    s->backward_s = phase_s[MFU_BACKWARD];
    s->optimizer_s = phase_s[MFU_OPTIMIZER_PHASE];
    s->busy_s = s->forward_s + s->backward_s + s->optimizer_s;
    s->contention_s = t->contention_s;
    s->communication_exposed_s =
        fmax(fmin(t->communication_exposed_s + t->contention_s, s->time_s - s->busy_s - plan->paging_s), 0);
    s->idle_s = s->time_s - s->busy_s - s->communication_exposed_s - plan->paging_s;
}

/* Where the allocator fails, it needs what it holds and the segment that it finds no
 * room for: the numbers say that it does not fit, as the verdict does. */
static void take_memory(struct mfu_plan *plan, const struct mfu_simulation *s)
{
    const struct mfu_replay *r = &s->replay;
    struct mfu_memory_answer *m = &plan->memory;
    double others = plan->config.setting[MFU_S_VRAM_RESERVED], sum_bytes;
    struct mfu_withheld withheld = mfu_plan_withheld(plan);

    if (r->out_of_memory) {
        snprintf(m->failed_in, sizeof m->failed_in, "%s", r->failed_in);
        snprintf(m->message, sizeof m->message, "%s", r->message);
        m->reserved_bytes = fmax(m->reserved_bytes, (double)r->wanted_bytes);
    } else {
        take_blocks(&m->peak, (double)r->steady.peak_allocated_bytes);
        plan->peak_known = false; /* the next plan finds the graph's own again */
        m->reserved_bytes = (double)r->steady.peak_reserved_bytes;
        mfu_withhold(&withheld, 1, others, m);
    }
    m->least_reserved_bytes = s->least_reserved_bytes;
    m->most_reserved_bytes = s->most_reserved_bytes;
    sum_bytes = m->peak.bytes + m->context_bytes + others;
    mfu_plan_page(plan);
    m->fits = !r->out_of_memory;
    m->fragmented = !m->fits && sum_bytes <= m->capacity_bytes;
    m->missing_bytes = (m->fragmented ? m->reserved_bytes + m->context_bytes + others : sum_bytes) - m->capacity_bytes;
}

/* Results of the simulation replace those of the analytic path. */
static void put_into_plan(struct mfu_plan *plan, const struct mfu_simulation *s)
{
    double step_s = s->timeline.step_s, scale = step_s / plan->step.time_s;

    plan->step.time_s = step_s;
    plan->step.low_s *= scale;
    plan->step.high_s *= scale;
    add_up_phases(plan, s);
    plan->step.tokens_per_s /= scale;
    plan->step.samples_per_s /= scale;
    plan->mfu.achieved_flops /= scale;
    plan->mfu.mfu /= scale;
    plan->mfu.hfu /= scale;
    if (s->timeline.loader_wait_s > 0.5 * s->timeline.step_s)
        plan->limit = MFU_LIMIT_INPUT;
    else if (s->timeline.host_bound_s - plan->paging_s - mfu_plan_fixed_s(plan) > 0.5 * s->timeline.step_s)
        plan->limit = MFU_LIMIT_LAUNCH;
    mfu_plan_memory_spread(plan, &plan->memory);
}

/* Whether every layer is there: beyond a thousand they are only counted, and
 * no allocator sees them. */
static bool is_whole(const struct mfu_program *p)
{
    for (int i = 0; i < p->n_segments; i++)
        if (p->segments[i].repeat != 1)
            return false;
    return true;
}

/* Else it is one stage, without the waits of the schedule. */
static bool is_whole_step(const struct mfu_plan *plan)
{
    return plan->config.setting[MFU_S_PP] <= 1;
}

/* Once what is replayed has been taken over, nobody asks for them. */
static void forget_tensors(struct mfu_program *p)
{
    free(p->tensors);
    p->tensors = NULL;
    p->cap_tensors = 0;
}

int mfu_simulate(struct mfu_plan *plan, bool record, struct mfu_simulation *s, struct mfu_error *err)
{
    bool replayed = !mfu_runtimes[plan->config.runtime].preallocates;
    bool whole = is_whole_step(plan);

    if (is_single(s))
        mfu_plan_forget(plan);
    if (unroll(plan, record, s, err) < 0)
        return -1;
    if (is_single(s)) {
        forget_tensors(&s->first);
        forget_tensors(&s->later);
    }
    replayed = replayed && is_whole(mfu_simulation_program(s));
    if (replayed && run_in_memory(plan, record, s, err) < 0)
        return -1;
    if (is_single(s)) {
        mfu_replay_forget(&s->replay);
        mfu_allocations_release(&s->born);
        mfu_allocations_release(&s->there);
    }
    if (replayed && whole) /* what waits for pages depends on it */
        take_memory(plan, s);
    if (run_in_time(plan, record, s) < 0)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    s->again = true;
    if (whole)
        put_into_plan(plan, s);
    return 0;
}

int mfu_simulate_plan(struct mfu_plan *plan, struct mfu_simulation *s, struct mfu_error *err)
{
    return is_whole_step(plan) ? mfu_simulate(plan, false, s, err) : 0;
}

double mfu_simulate_again(struct mfu_plan *plan, struct mfu_simulation *s)
{
    mfu_plan_refresh(plan);
    return run_in_time(plan, false, s) < 0 ? NAN : s->timeline.step_s;
}

void mfu_simulation_release(struct mfu_simulation *s)
{
    mfu_program_free(&s->first);
    mfu_program_free(&s->later);
    mfu_allocations_release(&s->born);
    mfu_allocations_release(&s->there);
    mfu_pricing_release(&s->pricing);
    mfu_timeline_release(&s->timeline);
    mfu_replay_release(&s->replay);
    free(s->seconds);
    memset(s, 0, sizeof *s);
}
