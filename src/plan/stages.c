/*
 * stages.c - the ranks of a pipeline, one after the other, and their schedule.
 *
 * Ranks with the same layers and the same ends of the model are one program.  A rank's
 * program runs all its chunks once; the schedule runs them apart.
 */
#include "plan/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/list.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/stage.h"
#include "simulate/overlap.h"
#include "scenario/setting.h"

/* Gradients of weights alone, or sums into buffers that stay: what zero-bubble schedules put off. */
static bool makes_weight_gradients(const struct mfu_program *g, const struct mfu_launch *l)
{
    for (int i = 0; i < l->n_out; i++)
        if (g->tensors[g->views[l->out[i]].tensor].part != MFU_PART_GRADIENTS)
            return false;
    return l->work->collective.axes == 0;
}

/* What the messages of one microbatch cost the host, forward and backward. */
static double message_s(const struct mfu_plan *p)
{
    return mfu_trainers[p->config.trainer].synchronizes ? p->machine.c[MFU_C_HOST_MICRO] : 0;
}

/* Messages about messages that pass from host to host forward and backward: two, of the
 * tensor's kind and of its shape, before the hidden states and the mask, and before the
 * gradient.  Source: nanotron 67c5ebb6, pipeline_parallel/p2p.py (_send_meta, _recv_meta:
 * time.sleep), models/llama.py (module_input_keys). */
enum { FORWARD_MESSAGES = 4, BACKWARD_MESSAGES = 2 };

static double meets_s(const struct mfu_plan *p, double messages)
{
    return mfu_trainers[p->config.trainer].polls ? messages * p->machine.c[MFU_C_HOST_POLL] : 0;
}

/* Of a launch, in the mean of the micro-steps. */
static double mean_s(const struct mfu_plan *p, int launch)
{
    return p->stretches.seconds[launch] / mfu_launch_whole(&p->program.launches[launch], p->program.accum);
}

/* Behind the last backward: sums that nothing hid, also in `sums_s`, the optimizer, the step's constant.  In
 * `gathers_s` what the first forward did not hide of gathers, where there are others in no later one. */
static double after_s(const struct mfu_plan *p, double *sums_s, double *gathers_s)
{
    const struct mfu_program *g = &p->program;
    double gpu_s = 0, host_s = 0, beside_s = 0, in_the_way_s = 0, exposed_s;

    for (int k = 0; k < g->n_segments; k++)
        for (int i = g->segments[k].first; i < g->segments[k].first + g->segments[k].count; i++) {
            const struct mfu_launch *l = &g->launches[i];
            double seconds = mfu_plan_times(p, &g->segments[k]) * mean_s(p, i);

            if (g->segments[k].phase != MFU_OPTIMIZER_PHASE) {
                in_the_way_s += l->communicates && l->stream == MFU_STREAM_COMPUTE ? seconds : 0;
                continue;
            }
            *(l->communicates ? &beside_s : &gpu_s) += seconds;
            host_s += g->segments[k].repeat * l->work->kernel.launches * p->dispatch_s[mfu_launch_phase(l)];
        }
    exposed_s = fmax(beside_s, p->step.communication_exposed_s - in_the_way_s);
    *gathers_s = mfu_config_gathers_once(&p->config) ? exposed_s - beside_s : 0;
    *sums_s = exposed_s - *gathers_s;
    return fmax(gpu_s, host_s) + p->machine.c[MFU_C_STEP_CONSTANT] + *sums_s;
}

/* Adds the work of a pass to `all` and, of weight gradients, to `w`: kernels and what is in their way, and the
 * host.  What comes before the first layer in forward comes behind the last in backward. */
static void add_pass(const struct mfu_plan *p, enum mfu_phase phase, struct mfu_pass_work *all, struct mfu_pass_work *w)
{
    const struct mfu_program *g = &p->program;
    bool met = false;

    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];
        double times = mfu_plan_times(p, seg) / g->accum;
        bool first;

        if (seg->phase != phase)
            continue;
        met |= seg->layer;
        first = met == (phase == MFU_BACKWARD);
        for (int i = seg->first; i < seg->first + seg->count; i++) {
            const struct mfu_launch *l = &g->launches[i];
            struct mfu_pass_work *to = w && makes_weight_gradients(g, l) ? w : all;
            struct mfu_work_s *part = seg->layer ? &to->layers : first ? &to->before : &to->behind;

            if (l->stream != MFU_STREAM_COMPUTE)
                continue;
            part->gpu_s += times * mean_s(p, i);
            part->host_s += times * l->work->kernel.launches * p->dispatch_s[mfu_launch_phase(l)];
        }
    }
    if (p->late_s[phase] > 0)
        all->layers.gpu_s += p->far_s;
}

static void add_part(struct mfu_work_s *sum, double share, const struct mfu_work_s *x)
{
    sum->gpu_s += share * x->gpu_s;
    sum->host_s += share * x->host_s;
}

/* A stage's part of its rank's work. */
struct part {
    double layers, before, behind;
};

static struct mfu_work_s part_of(const struct mfu_pass_work *x, const struct part *share)
{
    struct mfu_work_s sum = {0};

    add_part(&sum, share->layers, &x->layers);
    add_part(&sum, share->before, &x->before);
    add_part(&sum, share->behind, &x->behind);
    return sum;
}

/* Each waits for the other, or now and then both do. */
static double lasts_s(struct mfu_work_s x, bool late)
{
    return late ? mfu_overlap_late_s(x.host_s, x.gpu_s) : fmax(x.host_s, x.gpu_s);
}

/* Forward; backward, or, where gradients of weights are put off, these apart: a kernel is not longer for others
 * that are launched in the same time. */
struct lasts {
    double f_s, b_s, w_s;
};

static struct lasts part_lasts(const struct mfu_plan *p, const struct mfu_stage *r, const struct part *share,
                               bool splits)
{
    struct mfu_work_s f = part_of(&r->f, share), b = part_of(&r->b, share), w = part_of(&r->w, share);
    double message = message_s(p) / 2 * share->layers;

    if (!splits) {
        add_part(&b, 1, &w);
        w = (struct mfu_work_s){0};
    }
    return (struct lasts){lasts_s(f, r->late[0]) + message, lasts_s(b, r->late[1]) + message, lasts_s(w, r->late[1])};
}

/* What the s-th stage has of its rank's work. */
static struct part part_of_chunk(const struct mfu_plan *p, const struct mfu_stage *r, int rank, int s)
{
    const struct mfu_pipeline_layout *l = &p->config.pipeline;
    int end = mfu_pipeline_stages(l) - 1;
    double share = r->layers > 0 ? mfu_stage_layers(&p->config, p->program.layers, s) / r->layers
                                 : 1. / mfu_pipeline_chunks(l); /* an end of the model alone */

    return (struct part){share, mfu_rank_holds(&p->config, rank, 0) ? s == 0 : share,
                         mfu_rank_holds(&p->config, rank, end) ? s == end : share};
}

/* What the program at hand says about its rank. */
static void read_stage(const struct mfu_plan *p, struct mfu_stage *s)
{
    double unit_gpus = p->machine.topology.unit_gpus;
    struct mfu_group group = mfu_mesh_group(&p->program.mesh, MFU_AXIS_BIT(MFU_AXIS_PP), unit_gpus);
    struct mfu_group tensor = mfu_mesh_group(&p->program.mesh, MFU_AXIS_BIT(MFU_AXIS_TP), unit_gpus);
    bool scatters = mfu_trainers[p->config.trainer].scatters && p->config.setting[MFU_S_SP] == 0;
    double parts = scatters ? tensor.ranks : 1;
    const struct mfu_pipeline_layout *l = &p->config.pipeline;

    s->f = s->b = s->w = (struct mfu_pass_work){0};
    add_pass(p, MFU_FORWARD, &s->f, NULL);
    add_pass(p, MFU_BACKWARD, &s->b, &s->w);
    s->late[0] = p->late_s[MFU_FORWARD] > 0;
    s->late[1] = p->late_s[MFU_BACKWARD] > 0;
    s->forward_s = s->backward_s = 0;
    for (int chunk = 0; chunk < mfu_pipeline_chunks(l); chunk++) { /* each waits for its host */
        struct part part = part_of_chunk(p, s, s->number, mfu_pipeline_stage(l, s->number, chunk));
        struct lasts lasts = part_lasts(p, s, &part, l->schedule->splits_backward);

        s->forward_s += lasts.f_s;
        s->backward_s += lasts.b_s + lasts.w_s;
    }
    s->step = p->step;
    s->limit = p->limit;
    s->after_s = after_s(p, &s->sums_s, &s->gathers_s);
    s->send_bytes = p->program.boundary_bytes / parts;
    s->send_s = mfu_collective_s(&p->machine, &group, MFU_SEND, s->send_bytes);
    if (parts > 1)
        s->send_s += mfu_collective_s(&p->machine, &tensor, MFU_ALL_GATHER, p->program.boundary_bytes);
    s->withheld = mfu_plan_withheld(p);
    s->flops = p->mfu.model_flops;
    s->hardware_flops = p->mfu.hardware_flops;
}

/* Takes another of the ranks' programs for the plan's, and puts that away; most kernels are those of the other. */
static void take_program(struct mfu_plan *p, int number)
{
    struct mfu_rank_program at_hand = {p->program, p->pricing, p->accumulation, p->stretches};
    const struct mfu_rank_program *next = &p->programs[number];
    struct mfu_known_prices *known = p->pricing.known;

    if (p->at_hand == number)
        return;
    at_hand.pricing.known = next->pricing.known;
    p->program = next->program;
    p->accumulation = next->accumulation;
    p->stretches = next->stretches;
    p->pricing = next->pricing;
    p->pricing.known = known;
    p->programs[number] = p->programs[p->at_hand];
    p->programs[p->at_hand] = at_hand;
    p->at_hand = number;
}

/* The first rank with the same program as `i`: as many layers, and the same ends. */
static int like(const struct mfu_config *c, const struct mfu_stage *stages, int i)
{
    int last = mfu_pipeline_stages(&c->pipeline) - 1;

    for (int k = 0; k < i; k++)
        if (stages[k].layers == stages[i].layers && mfu_rank_holds(c, k, 0) == mfu_rank_holds(c, i, 0)
            && mfu_rank_holds(c, k, last) == mfu_rank_holds(c, i, last))
            return k;
    return i;
}

/* A program for each number up to this. */
static bool program_room(struct mfu_plan *p, int number)
{
    int had = p->cap_programs;

    if (!MFU_ROOM(p->programs, number + 1, p->cap_programs))
        return false;
    memset(p->programs + had, 0, (size_t)(p->cap_programs - had) * sizeof *p->programs);
    return true;
}

/* The programs of these ranks, and their memory with one microbatch.  1: `fitting`, and one has no room for that. */
static int weigh_ranks(struct mfu_plan *p, int from, int to, bool fitting, struct mfu_error *err)
{
    int n = p->n_stages, programs = from;

    for (int i = from; i < to; i++) {
        struct mfu_stage *s = &p->stages[i];
        struct mfu_saved saved;

        s->number = i;
        s->same = i > 0 ? like(&p->config, p->stages, i) : 0;
        if (s->same < i)
            continue;
        s->program = programs++;
        if (!program_room(p, s->program))
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        take_program(p, s->program);
        p->accumulation.state = MFU_ACCUMULATION_UNKNOWN;
        if (mfu_graph_build_stage(&p->config, i, MFU_LAYERS_COUNTED, &p->program, err) < 0)
            return -1;
        for (int k = 0; i == 0 && k < n; k++)
            p->stages[k].layers = mfu_rank_layers(&p->config, p->program.layers, k);
        if (mfu_plan_weigh(p, false, err) < 0)
            return -1;
        if (fitting && !p->memory.fits)
            return 1;
        saved = mfu_saved_by_place(&p->program);
        s->updates = s->alone = p->memory;
        if (p->memory.peak.optimizer_peak_bytes >= p->memory.peak.bytes) {
            if (mfu_plan_weigh(p, true, err) < 0)
                return -1;
            s->alone = p->memory;
        }
        s->withheld = (struct mfu_withheld){0}; /* the host's lead is known when all is priced */
        s->kept_before = saved.before;
        s->kept_behind = saved.behind;
        s->kept_bytes = saved.layers + saved.before + saved.behind;
    }
    return 0;
}

/* The rank's program, priced, is the plan's. */
static int show(struct mfu_plan *p, const struct mfu_stage *s, bool sums, struct mfu_error *err)
{
    take_program(p, s->program);
    p->shown_stage = s->same;
    return mfu_plan_price(p, sums, err);
}

/* A rank that is like another one, but for its place. */
static void follow(struct mfu_plan *p, struct mfu_stage *s)
{
    int number = s->number;
    double in_flight = s->in_flight;

    if (s->same == number)
        return;
    *s = p->stages[s->same];
    s->number = number;
    s->in_flight = in_flight;
}

static int price_all(struct mfu_plan *p, bool sums, struct mfu_error *err)
{
    for (int i = 0; i < p->n_stages; i++) {
        struct mfu_stage *s = &p->stages[i];

        if (s->same == i) {
            if (show(p, s, sums, err) < 0)
                return -1;
            read_stage(p, s);
        }
        follow(p, s);
    }
    return 0;
}

/* ---- the schedule --------------------------------------------------------- */

enum { F_S, B_S, W_S, SEND_S, COSTS };

enum { KEPT, AHEAD, KEPT_ROWS };

/* A rank's seconds (COSTS rows), or its bytes (KEPT_ROWS), go to its stages by their layers; so does what stands before
 * and behind these where that is no end of the model: weights that are cast all at once.  Owned; NULL with `err`. */
static double *divide(const struct mfu_plan *p, bool bytes, struct mfu_error *err)
{
    const struct mfu_pipeline_layout *l = &p->config.pipeline;
    int stages = mfu_pipeline_stages(l), chunks = mfu_pipeline_chunks(l);
    double *all = malloc((size_t)stages * (bytes ? KEPT_ROWS : COSTS) * sizeof *all);
    bool beside = p->config.experts.merged > 0;

    if (!all)
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (int rank = 0; all && rank < l->pp; rank++) {
        const struct mfu_stage *r = &p->stages[p->stages[rank].same];
        for (int chunk = 0; chunk < chunks; chunk++) {
            int s = mfu_pipeline_stage(l, rank, chunk);
            struct part part = part_of_chunk(p, r, rank, s);
            struct lasts lasts;

            if (bytes) {
                double layers = part.layers * (r->kept_bytes - r->kept_before - r->kept_behind);

                all[KEPT * stages + s] = layers + part.before * r->kept_before + part.behind * r->kept_behind;
                all[AHEAD * stages + s] = beside
                    ? part.before * r->kept_before + layers / fmax(part.layers * r->layers, 1)
                    : all[KEPT * stages + s];
                continue;
            }
            lasts = part_lasts(p, r, &part, l->schedule->splits_backward);
            all[F_S * stages + s] = lasts.f_s;
            all[B_S * stages + s] = lasts.b_s;
            all[W_S * stages + s] = lasts.w_s;
            all[SEND_S * stages + s] = r->send_s;
        }
    }
    return all;
}

struct mfu_pipeline_kept mfu_stages_kept(const struct mfu_plan *p, struct mfu_error *err)
{
    double *all = divide(p, true, err);
    int stages = mfu_pipeline_stages(&p->config.pipeline);

    return (struct mfu_pipeline_kept){all, all ? all + (size_t)AHEAD * (size_t)stages : NULL};
}

int mfu_stages_run(const struct mfu_plan *p, struct mfu_pipeline *pipeline, enum mfu_pipeline_mode mode,
                   struct mfu_pipeline_step *step, struct mfu_error *err)
{
    int stages = mfu_pipeline_stages(&p->config.pipeline), status;
    double *all;

    if (p->n_stages == 0)
        return mfu_fail(err, MFU_EINPUT, "there is no pipeline (set pp 4 accum 16, for instance)");
    if (!(all = divide(p, false, err)))
        return -1;
    status = mfu_pipeline_run(
        pipeline, &p->config.pipeline,
        &(struct mfu_pipeline_costs){.f_s = all + F_S * stages,
                                     .b_s = all + B_S * stages,
                                     .w_s = all + W_S * stages,
                                     .send_s = all + SEND_S * stages,
                                     .meets_s = {meets_s(p, FORWARD_MESSAGES), meets_s(p, BACKWARD_MESSAGES)},
                                     .sends_overlap = p->config.setting[MFU_S_OVERLAP_P2P] > 0},
        mode, step, err);
    free(all);
    return status;
}

/* What a stage does not hide of gathers and sums that come once a step, where the stages that wait for it have to wait
 * longer; the rest of its sums. */
static double chained_s(const struct mfu_plan *p, const struct mfu_stage *s, double *sums_s)
{
    *sums_s =
        (mfu_config_sums_first(&p->config) ? 0 : s->sums_s) + (mfu_config_gathers_ahead(&p->config) ? s->gathers_s : 0);
    return s->sums_s + s->gathers_s - *sums_s;
}

/* All seconds but the loader's: ranks end at different times, each sums up its gradients, and the optimizer
 * follows where the norm of all is known. */
static int run_schedule(struct mfu_plan *p, double *time_s, struct mfu_error *err)
{
    struct mfu_pipeline_step step;
    double summed_s = 0, update_s = 0, first_s = INFINITY, chain_s = 0;
    bool norm_later =
        p->config.pipeline.schedule->norm_later && !mfu_trainers[p->config.trainer].torch_fsdp; /* which clips first */
    int status;

    status = mfu_stages_run(p, p->pipelines[0], MFU_PIPELINE_COUNT, &step, err);
    for (int i = 0; status == 0 && i < p->n_stages; i++) {
        struct mfu_stage *s = &p->stages[i];

        s->waits_s = step.ranks[i].send_s;
        s->idle_s = step.ranks[i].idle_s;
        first_s = fmin(first_s, step.ranks[i].first_s);
    }
    for (int i = 0; status == 0 && i < p->n_stages; i++) {
        const struct mfu_stage *s = &p->stages[i];
        const struct mfu_pipeline_rank *r = &step.ranks[i];
        double sums_s;

        chain_s += chained_s(p, s, &sums_s);
        summed_s = fmax(summed_s, r->end_s - (norm_later ? r->first_s : first_s) + sums_s);
        update_s = fmax(update_s, s->after_s - s->sums_s);
    }
    if (status == 0) {
        *time_s = summed_s + chain_s + update_s;
        p->bubble = step.bubble;
    }
    return status;
}

/* Activations of the other microbatches that a rank holds in its passes. */
static double more_bytes(const struct mfu_stage *s, double in_flight)
{
    return fmax(in_flight - 1, 0) * s->kept_bytes;
}

/* The workspace that has the layout at hand, else the one that was not used for the longest, comes first. */
static bool take_pipeline(struct mfu_plan *p, struct mfu_error *err)
{
    struct mfu_pipeline *taken;
    int i = 0;

    while (i < MFU_PIPELINES - 1 && p->pipelines[i] && !mfu_pipeline_has(p->pipelines[i], &p->config.pipeline))
        i++;
    if (!p->pipelines[i] && !(p->pipelines[i] = mfu_pipeline_new(err)))
        return false;
    taken = p->pipelines[i];
    memmove(p->pipelines + 1, p->pipelines, (size_t)i * sizeof taken);
    p->pipelines[0] = taken;
    return true;
}

/* Microbatches in flight; the rank that holds the most with all of them, or -1. */
static int weigh_schedule(struct mfu_plan *p, struct mfu_error *err)
{
    const struct mfu_pipeline_rank *ranks = NULL;
    struct mfu_pipeline_kept kept = mfu_stages_kept(p, err);
    double most_bytes = 0;
    int worst = -1;

    if (kept.bytes && take_pipeline(p, err))
        ranks = mfu_pipeline_weigh(p->pipelines[0], &p->config.pipeline, &kept, err);
    for (int i = 0; ranks && i < p->n_stages; i++) {
        const struct mfu_stage *same = &p->stages[p->stages[i].same];
        double bytes;

        p->stages[i].in_flight = same->kept_bytes > 0 ? ranks[i].peak_bytes / same->kept_bytes : ranks[i].in_flight;
        bytes = fmax(same->updates.peak.bytes, same->alone.peak.bytes + more_bytes(same, p->stages[i].in_flight));
        if (worst < 0 || bytes > most_bytes) {
            most_bytes = bytes;
            worst = i;
        }
    }
    free(kept.bytes);
    return worst;
}

/* ---- the plan ------------------------------------------------------------- */

/* The memory of a rank like `s` with so many microbatches in flight. */
static void hold(const struct mfu_plan *p, const struct mfu_stage *s, double in_flight, struct mfu_memory_answer *m)
{
    double more = more_bytes(s, in_flight), factor = s->alone.reserved_bytes / s->alone.peak.bytes;
    double others = p->config.setting[MFU_S_VRAM_RESERVED];
    bool updates = s->updates.peak.bytes > s->alone.peak.bytes + more; /* the optimizer takes the most */
    /* The first stage waits for nobody before its first backward pass. */
    bool waits = s->number > 0 && mfu_trainers[p->config.trainer].synchronizes;

    *m = updates ? s->updates : s->alone;
    more = updates ? 0 : more;
    m->peak.bytes += more;
    m->peak.parts[MFU_PART_ACTIVATIONS] += more;
    m->reserved_bytes += factor * more;
    m->missing_bytes += more;
    /* Blocks of so many microbatches are not replayed: what splinters of the cached memory stays is anything up to the
     * whole.  What NCCL still reads comes back before the card is full, but others were cut in its place. */
    m->loose_bytes = m->reserved_bytes - m->peak.bytes;
    m->loose_bytes += mfu_withhold(&s->withheld, waits ? 1 : fmax(in_flight, 1), others, m);
    m->fits = m->missing_bytes + m->loose_bytes / 2 <= 0;
    if (m->fits) /* what is cached is given back before the card is full */
        m->returned_bytes = fmax(m->reserved_bytes + m->context_bytes + others - m->capacity_bytes, 0);
    m->reserved_bytes -= m->returned_bytes;
    m->smi_bytes = m->reserved_bytes + m->context_bytes;
    m->fill = (m->smi_bytes + others) / m->capacity_bytes;
    m->fragmented = !m->fits && m->missing_bytes <= 0;
    if (m->fragmented)
        m->missing_bytes += m->loose_bytes;
}

static int make_room(struct mfu_plan *p, int n)
{
    struct mfu_stage *more = realloc(p->stages, (size_t)n * sizeof *more);

    if (!more)
        return -1;
    memset(more, 0, (size_t)n * sizeof *more);
    p->stages = more;
    p->n_stages = n;
    return 0;
}

/* In one microbatch. */
static double computes_s(const struct mfu_stage *s)
{
    return s->forward_s + s->backward_s;
}

/* Takes what weighing some ranks came to; 1: nobody needs to know more. */
static int weighed(struct mfu_plan *p, int status, enum mfu_stages_known known)
{
    p->known = status == 0 ? known : status > 0 ? MFU_STAGES_OVERFULL : MFU_STAGES_UNKNOWN;
    return status;
}

/* Programs and memory of all ranks; 1: `fitting`, and one has no room.  The first is usually the one that holds the
 * most, so it is asked before the others have programs. */
static int weigh_all(struct mfu_plan *p, bool fitting, struct mfu_error *err)
{
    int status;

    if (p->known == MFU_STAGES_OVERFULL && fitting)
        return 1;
    if (p->known <= MFU_STAGES_OVERFULL) {
        p->known = MFU_STAGES_UNKNOWN;
        if (make_room(p, (int)p->config.setting[MFU_S_PP]) < 0)
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        if ((status = weighed(p, weigh_ranks(p, 0, 1, fitting, err), MFU_STAGES_BEGUN)) != 0)
            return status;
    }
    if (p->known > MFU_STAGES_BEGUN)
        return 0;
    if (fitting) {
        if (weigh_schedule(p, err) < 0)
            return -1;
        hold(p, &p->stages[0], p->stages[0].in_flight, &p->memory);
        if (!p->memory.fits)
            return 1;
    }
    return weighed(p, weigh_ranks(p, 1, p->n_stages, fitting, err), MFU_STAGES_WEIGHED);
}

int mfu_stages_plan(struct mfu_plan *p, bool fitting, bool sums, struct mfu_error *err)
{
    int n = (int)p->config.setting[MFU_S_PP], busiest = 0, worst, status = weigh_all(p, fitting, err);
    int passes = mfu_pipeline_passes(&p->config.pipeline);
    enum mfu_stages_known known;
    double time_s = 0, flops = 0, hardware = 0;
    struct mfu_stage *stages;

    if (status != 0)
        return status;
    known = p->known;
    p->known = MFU_STAGES_UNKNOWN; /* until all is well */
    stages = p->stages;
    if ((worst = weigh_schedule(p, err)) < 0)
        return -1;
    hold(p, &stages[known == MFU_STAGES_PRICED ? worst : stages[worst].same], stages[worst].in_flight, &p->memory);
    if (fitting && !p->memory.fits) {
        p->known = known;
        return 1;
    }
    if ((known == MFU_STAGES_WEIGHED && price_all(p, sums, err) < 0) || run_schedule(p, &time_s, err) < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        hold(p, &stages[i], stages[i].in_flight, &stages[i].memory);
        mfu_plan_memory_spread(p, &stages[i].memory);
        if (computes_s(&stages[i]) > computes_s(&stages[busiest]))
            busiest = i;
        flops += stages[i].flops / n;
        hardware += stages[i].hardware_flops / n;
    }
    for (int i = 0; i < n; i++)
        stages[i].imbalance_s =
            fmin(stages[i].idle_s, passes * (computes_s(&stages[busiest]) - computes_s(&stages[i])));
    /* Prices of its launches may still be those of another number. */
    if ((p->shown_stage != stages[busiest].same || (!sums && p->accumulation.state == MFU_ACCUMULATION_HOLDS))
        && show(p, &stages[busiest], sums, err) < 0)
        return -1;
    p->step = stages[busiest].step;
    p->memory = stages[worst].memory;
    p->worst_stage = worst;
    p->step.time_s = fmax(time_s, mfu_plan_loader_s(p));
    p->loader_wait_s = p->step.time_s - time_s;
    p->limit = p->step.time_s > time_s ? MFU_LIMIT_INPUT : stages[busiest].limit;
    p->step.communication_exposed_s += stages[busiest].waits_s;
    p->step.idle_s = p->step.time_s - p->step.busy_s - p->step.communication_exposed_s;
    p->mfu.model_flops = flops;
    p->mfu.hardware_flops = hardware;
    mfu_plan_settle_time(p);
    p->known = MFU_STAGES_PRICED;
    return fitting && !p->memory.fits;
}

enum mfu_stages_known mfu_stages_keep(const struct mfu_plan *p, const struct mfu_config *next,
                                      const struct mfu_scenario *scenario)
{
    const struct mfu_config *now = &p->config;
    bool several = mfu_graph_accum(now) > 1 && mfu_graph_accum(next) > 1;
    int last[2] = {mfu_pipeline_stages(&now->pipeline) - 1, mfu_pipeline_stages(&next->pipeline) - 1};

    if (p->known == MFU_STAGES_UNKNOWN || next->model != now->model || next->gpu != now->gpu
        || next->cluster != now->cluster || mfu_config_unit_gpus(next) != mfu_config_unit_gpus(now)
        || next->experts.merged != now->experts.merged
        || memcmp(scenario->coefficient, p->scenario.coefficient, sizeof scenario->coefficient) != 0
        || memcmp(scenario->coefficient_given, p->scenario.coefficient_given, sizeof scenario->coefficient_given) != 0
        || memcmp(next->dim, now->dim, (size_t)now->model->n_dims * sizeof *now->dim) != 0)
        return MFU_STAGES_UNKNOWN;
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        if (next->setting[i] != now->setting[i] && i != MFU_S_VPP && i != MFU_S_SCHEDULE && i != MFU_S_OVERLAP_P2P
            && !(i == MFU_S_ACCUM && several))
            return MFU_STAGES_UNKNOWN;
    for (int i = 0; i < p->n_stages; i++)
        if (mfu_rank_layers(next, p->program.layers, i) != p->stages[i].layers
            || mfu_rank_holds(next, i, 0) != mfu_rank_holds(now, i, 0)
            || mfu_rank_holds(next, i, last[1]) != mfu_rank_holds(now, i, last[0]))
            return MFU_STAGES_UNKNOWN;
    if (mfu_checkpointed_layers(next) != mfu_checkpointed_layers(now) || !mfu_layers_suffice(next, p->program.layers)
        || mfu_pipeline_chunks(&next->pipeline) * now->pipeline.vpp
            != mfu_pipeline_chunks(&now->pipeline) * next->pipeline.vpp)
        return MFU_STAGES_UNKNOWN;
    return next->accum != now->accum && p->known == MFU_STAGES_PRICED ? MFU_STAGES_WEIGHED : p->known;
}

int mfu_stages_show(struct mfu_plan *p, int stage, struct mfu_error *err)
{
    struct mfu_step_answer step = p->step;
    struct mfu_mfu_answer mfu = p->mfu;
    enum mfu_limit limit = p->limit;

    if (p->n_stages == 0 || stage == p->shown_stage)
        return 0;
    if (show(p, &p->stages[stage], false, err) < 0)
        return -1;
    p->step = step;
    p->mfu = mfu;
    p->limit = limit;
    p->shown_stage = stage;
    return 0;
}
