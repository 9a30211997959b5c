/*
 * metrics_over.c - what the meters read through the step.
 *
 * The timeline records the micro-steps up to a steady one, the last and the
 * optimizer.  Those between repeat the steady one; here they are laid out.
 */
#include "plan/metrics_over.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/quantity.h"
#include "scenario/setting.h"

struct strip {
    const struct mfu_plan *plan;
    const struct mfu_program *program;
    struct mfu_reading *readings;       /* of every launch */
    struct mfu_reading exchange;        /* of any collective, alone */
    const struct mfu_event **exchanges; /* in time */
    size_t n_exchanges;
    struct mfu_metrics_slice *slices;
    double (*phase_s)[MFU_PHASE_COUNT]; /* of every slice */
    int n;
    double slice_s, window_s, model_flops; /* flops counted by MFU over flops of kernels */
};

/* The micro-step that is repeated: how often more, and every how many seconds. */
struct repeated {
    int micro_step;
    double times, every_s;
};

static double first_start(const struct mfu_timeline *t, int micro_step)
{
    for (size_t i = 0; i < t->n_events; i++)
        if (t->events[i].micro_step == micro_step && t->events[i].stream == MFU_STREAM_COMPUTE)
            return t->events[i].start_s;
    return NAN;
}

static struct repeated find_repeated(const struct mfu_timeline *t, double accum)
{
    struct repeated r = {.micro_step = t->micro_steps_simulated - 2, .times = accum - t->micro_steps_simulated};

    if (r.times > 0 && r.micro_step >= 0)
        r.every_s = (first_start(t, (int)accum - 1) - first_start(t, r.micro_step)) / (r.times + 1);
    if (!(r.every_s > 0))
        r.times = 0;
    return r;
}

static void put(struct strip *s, const struct mfu_event *e, double start_s)
{
    const struct mfu_launch *l = &s->program->launches[e->launch];
    double end_s = fmin(start_s + e->end_s - e->start_s, s->window_s);
    double flops_per_s =
        l->recomputed || l->communicates ? 0 : l->work->kernel.flops * s->model_flops / (e->end_s - e->start_s);

    for (int i = (int)fmax(start_s / s->slice_s, 0); i < s->n && i * s->slice_s < end_s; i++) {
        double overlap_s = fmin(end_s, (i + 1) * s->slice_s) - fmax(start_s, i * s->slice_s);

        if (!(overlap_s > 0))
            continue;
        mfu_metrics_add(&s->slices[i].read, &s->readings[e->launch], overlap_s, s->plan->machine.c[MFU_C_DRAM_ATTAIN]);
        s->slices[i].read.mfu += overlap_s * flops_per_s;
        s->phase_s[i][l->phase] += overlap_s;
    }
}

/* Exchanges that run while no other kernel does, between two of them. */
static void put_alone(struct strip *s, double from_s, double to_s, double shift_s)
{
    for (size_t i = 0; i < s->n_exchanges && s->exchanges[i]->start_s < to_s; i++) {
        double start_s = fmax(s->exchanges[i]->start_s, from_s) + shift_s;
        double end_s = fmin(fmin(s->exchanges[i]->end_s, to_s) + shift_s, s->window_s);

        for (int k = (int)fmax(start_s / s->slice_s, 0); k < s->n && fmax(start_s, k * s->slice_s) < end_s; k++)
            mfu_metrics_add(&s->slices[k].read, &s->exchange,
                            fmin(end_s, (k + 1) * s->slice_s) - fmax(start_s, k * s->slice_s),
                            s->plan->machine.c[MFU_C_DRAM_ATTAIN]);
    }
}

static void lay_out(struct strip *s, const struct mfu_timeline *t)
{
    struct repeated again = find_repeated(t, s->program->accum);

    for (double step_s = 0; step_s < s->window_s; step_s += t->step_s) {
        double ended_s = 0;

        for (size_t i = 0; i < t->n_events; i++) {
            const struct mfu_event *e = &t->events[i];
            double times = e->micro_step == again.micro_step ? again.times : 0;

            if (e->stream != MFU_STREAM_COMPUTE || !(e->end_s > e->start_s))
                continue;
            for (double k = 0; k <= times && step_s + e->start_s + k * again.every_s < s->window_s; k++) {
                put(s, e, step_s + e->start_s + k * again.every_s);
                put_alone(s, ended_s, e->start_s, step_s + k * again.every_s);
            }
            ended_s = e->end_s;
        }
        put_alone(s, ended_s, t->step_s, step_s);
    }
}

static int find_exchanges(struct strip *s, const struct mfu_timeline *t)
{
    if (!(s->exchanges = calloc(t->n_events + 1, sizeof *s->exchanges)))
        return -1;
    for (size_t i = 0; i < t->n_events; i++)
        if (t->events[i].stream != MFU_STREAM_COMPUTE)
            s->exchanges[s->n_exchanges++] = &t->events[i];
    if (s->n_exchanges > 0)
        mfu_read_exchange(s->plan, &s->exchange);
    return 0;
}

static int read_launches(struct strip *s, const struct mfu_simulation *simulation)
{
    double flops = 0;

    if (!(s->readings = calloc((size_t)s->program->n_launches + 1, sizeof *s->readings))
        || !(s->phase_s = calloc((size_t)s->n, sizeof *s->phase_s)))
        return -1;
    for (int k = 0; k < s->program->n_segments; k++) {
        const struct mfu_segment *seg = &s->program->segments[k];

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            const struct mfu_launch *l = &s->program->launches[i];

            if (!(l->work->kernel.launches > 0))
                continue;
            mfu_read_kernel(s->plan->config.gpu, &s->plan->machine, &l->work->kernel, &simulation->pricing.prices[i],
                            &s->readings[i]);
            if (!l->recomputed && !l->communicates)
                flops += mfu_segment_times(s->program, seg) * l->work->kernel.flops;
        }
    }
    s->model_flops = flops > 0 ? s->plan->mfu.model_flops / s->plan->config.ranks / flops : 0;
    return 0;
}

int mfu_metrics_over(const struct mfu_plan *plan, const struct mfu_simulation *simulation, double window_s,
                     struct mfu_metrics_slice *slices, int n, struct mfu_error *err)
{
    const struct mfu_timeline *t = &simulation->timeline;
    double limit_w = plan->config.setting[MFU_S_POWER_W], most_s = MFU_METRICS_MOST_STEPS * t->step_s;
    struct strip s = {.plan = plan,
                      .program = mfu_simulation_program(simulation),
                      .slices = slices,
                      .n = n,
                      .slice_s = window_s / n,
                      .window_s = window_s};
    char text[MFU_QUANTITY_MAX], most[MFU_QUANTITY_MAX];
    int status = -1;

    if (!(window_s > 0) || window_s > most_s)
        return mfu_fail(err, MFU_EINPUT, "expected a time above zero and at most %d steps (%s), found %s",
                        MFU_METRICS_MOST_STEPS, mfu_quantity_format(most, most_s, MFU_SECONDS),
                        mfu_quantity_format(text, window_s, MFU_SECONDS));
    if (read_launches(&s, simulation) < 0 || find_exchanges(&s, t) < 0) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        goto done;
    }
    for (int i = 0; i < n; i++)
        slices[i] = (struct mfu_metrics_slice){0};
    lay_out(&s, t);
    for (int i = 0; i < n; i++) {
        struct mfu_metrics *m = &slices[i].read;
        double flops = m->mfu;

        for (int phase = 1; phase < MFU_PHASE_COUNT; phase++)
            if (s.phase_s[i][phase] > s.phase_s[i][slices[i].phase])
                slices[i].phase = (enum mfu_phase)phase;
        slices[i].idle = !(m->gpu_utilization > 0);
        mfu_metrics_settle(m, s.slice_s, limit_w > 0 ? limit_w : plan->config.gpu->power_w);
        m->mfu = flops / (s.slice_s * plan->mfu.peak_flops);
        m->memory_used_fill = plan->memory.fill;
    }
    status = 0;
done:
    free(s.readings);
    free(s.exchanges);
    free(s.phase_s);
    return status;
}
