/*
 * stages.c - the stages of a pipeline, one after the other, and their schedule.
 *
 * Stages with the same layers are one program.  The first holds the embedding, the
 * last the head; those between differ by a layer where the layers do not divide.
 */
#include "plan/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/collective.h"
#include "graph/graph.h"
#include "graph/stage.h"
#include "scenario/setting.h"
#include "simulate/pipeline.h"

/* Seconds of one microbatch in a pass: kernels and what is in their way, or the host. */
static double pass_s(const struct mfu_plan *p, enum mfu_phase phase)
{
    const struct mfu_program *g = &p->program;
    double gpu_s = 0, host_s = 0, beside_s = 0;

    for (int k = 0; k < g->n_segments; k++)
        for (int i = g->segments[k].first; i < g->segments[k].first + g->segments[k].count; i++) {
            const struct mfu_launch *l = &g->launches[i];
            double times = mfu_plan_times(p, &g->segments[k]) / g->accum;

            if (g->segments[k].phase != phase || l->stream != MFU_STREAM_COMPUTE)
                continue;
            *(l->communicates ? &beside_s : &gpu_s) += times * p->pricing.prices[i].time_s;
            host_s += times * l->kernel.launches * p->dispatch_s[mfu_launch_phase(l)];
        }
    return fmax(gpu_s, host_s) + beside_s;
}

/* What the program at hand says about its stage. */
static void read_stage(const struct mfu_plan *p, struct mfu_stage *s)
{
    struct mfu_group group = mfu_mesh_group(&p->program.mesh, MFU_AXIS_BIT(MFU_AXIS_PP), p->machine.topology.unit_gpus);
    double passes_s;

    s->forward_s = pass_s(p, MFU_FORWARD);
    s->backward_s = pass_s(p, MFU_BACKWARD);
    passes_s = p->program.accum * (s->forward_s + s->backward_s);
    s->memory = p->memory;
    s->after_s = fmax(p->step.time_s - passes_s, 0);
    s->send_s = mfu_collective_s(&p->machine, &group, MFU_SEND, p->program.boundary_bytes);
    s->kept_bytes = p->program.saved_bytes;
    s->flops = p->mfu.model_flops;
    s->hardware_flops = p->mfu.hardware_flops;
}

/* The stage of the same program as `i`: the first, the last, one between with as many
 * layers, which comes first of its kind. */
static int like(const struct mfu_stage *stages, int n, int i)
{
    for (int k = 1; k < i && i < n - 1; k++)
        if (stages[k].layers == stages[i].layers)
            return k;
    return i;
}

static int read_all(struct mfu_plan *p, struct mfu_stage *stages, int n, struct mfu_error *err)
{
    for (int i = 0; i < n; i++) {
        int same;

        stages[i].layers = i > 0 ? mfu_stage_layers(p->program.layers, n, i) : 0;
        same = like(stages, n, i);
        if (same < i) {
            stages[i] = stages[same];
            continue;
        }
        if (mfu_graph_build_stage(&p->config, i, false, &p->program, err) < 0 || mfu_plan_read(p, err) < 0)
            return -1;
        stages[i].layers = mfu_stage_layers(p->program.layers, n, i);
        read_stage(p, &stages[i]);
    }
    return 0;
}

/* ---- the schedule --------------------------------------------------------- */

struct costs {
    double f[MFU_MOST_STAGES], b[MFU_MOST_STAGES], w[MFU_MOST_STAGES], send[MFU_MOST_STAGES];
};

static int run_schedule(const struct mfu_plan *p, struct mfu_stage *stages, int n, double *makespan_s,
                        struct mfu_error *err)
{
    int vpp = (int)p->config.setting[MFU_S_VPP];
    struct mfu_pipeline_layout layout = {.schedule = mfu_schedule_named(vpp > 1 ? "interleaved" : "1f1b", err),
                                         .pp = n,
                                         .vpp = vpp,
                                         .microbatches = (int)fmin(p->config.accum, 1e6)};
    struct costs *c = calloc(1, sizeof *c);
    struct mfu_pipeline *pipeline = mfu_pipeline_new(err);
    struct mfu_pipeline_step step;
    int status = -1;

    if (!c || !pipeline || !layout.schedule)
        goto done;
    for (int i = 0; i < n * vpp; i++) { /* a rank's layers in equal chunks */
        c->f[i] = stages[i % n].forward_s / vpp;
        c->b[i] = stages[i % n].backward_s / vpp;
        c->send[i] = stages[i % n].send_s;
    }
    if (mfu_pipeline_run(pipeline, &layout,
                         &(struct mfu_pipeline_costs){
                             .f_s = c->f, .b_s = c->b, .w_s = c->w, .send_s = c->send, .sends_overlap = vpp > 1},
                         MFU_PIPELINE_COUNT, &step, err)
        < 0)
        goto done;
    for (int i = 0; i < n; i++) {
        stages[i].in_flight = (double)step.ranks[i].in_flight / vpp;
        stages[i].waits_s = step.ranks[i].send_s;
    }
    *makespan_s = step.makespan_s;
    status = 0;
done:
    free(c);
    mfu_pipeline_free(pipeline);
    return status;
}

/* ---- the plan ------------------------------------------------------------- */

/* Activations of the other microbatches that a stage holds. */
static void hold(const struct mfu_plan *p, struct mfu_stage *s)
{
    struct mfu_memory_answer *m = &s->memory;
    double more = fmax(s->in_flight - 1, 0) * s->kept_bytes, factor = m->reserved_bytes / m->peak.bytes;

    m->peak.bytes += more;
    m->peak.parts[MFU_PART_ACTIVATIONS] += more;
    m->reserved_bytes += factor * more;
    m->smi_bytes = m->reserved_bytes + m->context_bytes;
    m->fill = (m->smi_bytes + p->config.setting[MFU_S_VRAM_RESERVED]) / m->capacity_bytes;
    m->missing_bytes += more;
    m->fits = m->missing_bytes <= 0;
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

int mfu_stages_plan(struct mfu_plan *p, struct mfu_error *err)
{
    int n = (int)p->config.setting[MFU_S_PP], busiest = 0, worst = 0;
    double makespan_s, after_s = 0, flops = 0, hardware = 0;
    struct mfu_stage *stages;

    if (make_room(p, n) < 0)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    stages = p->stages;
    if (read_all(p, stages, n, err) < 0 || run_schedule(p, stages, n, &makespan_s, err) < 0)
        return -1;
    for (int i = 0; i < n; i++) {
        hold(p, &stages[i]);
        if (stages[i].forward_s + stages[i].backward_s > stages[busiest].forward_s + stages[busiest].backward_s)
            busiest = i;
        if (stages[i].memory.peak.bytes > stages[worst].memory.peak.bytes)
            worst = i;
        after_s = fmax(after_s, stages[i].after_s);
        flops += stages[i].flops / n;
        hardware += stages[i].hardware_flops / n;
    }
    if (mfu_graph_build_stage(&p->config, busiest, false, &p->program, err) < 0 || mfu_plan_read(p, err) < 0)
        return -1;
    p->memory = stages[worst].memory;
    p->shown_stage = busiest;
    p->worst_stage = worst;
    p->step.time_s = makespan_s + after_s;
    p->step.communication_exposed_s += stages[busiest].waits_s;
    p->step.idle_s = p->step.time_s - p->step.busy_s - p->step.communication_exposed_s;
    p->mfu.model_flops = flops;
    p->mfu.hardware_flops = hardware;
    mfu_plan_settle(p);
    return 0;
}
