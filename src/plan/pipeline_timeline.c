/*
 * pipeline_timeline.c - memory of a pipeline's stage over one step.
 *
 * The schedule says when a pass begins and ends; what a forward pass keeps stays until the backward pass that needs it
 * ends.  A backward pass begins with all that its stage has beside that when it holds the most with one microbatch.
 * The highest level is that of mfu_pipeline_weigh(), which needs no times: all that is kept at any moment is there, and
 * maybe more, where the next backward pass begins.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/memory_timeline.h"
#include "plan/stages.h"
#include "scenario/setting.h"

/* Within a pass memory is drawn as a line: so many levels (chosen). */
#define LEVELS 6

struct course {
    struct mfu_memory_timeline *to;
    struct mfu_pipeline_kept kept;                            /* of each stage of the model, one microbatch */
    double standing[MFU_PART_COUNT], passing[MFU_PART_COUNT]; /* all the time; in a backward pass */
    double keeping[MFU_PART_COUNT], keeping_bytes; /* what forward of one microbatch keeps; others' are activations */
    double held_bytes, reserved_bytes;
};

/* Memory at a moment: `passes`: the share of what passes that is there. */
static void point(struct course *c, double time_s, enum mfu_phase phase, double held_bytes, double passes)
{
    struct mfu_memory_timeline_point *x = &c->to->points[c->to->n++];
    double one = c->keeping_bytes > 0 ? fmin(held_bytes / c->keeping_bytes, 1) : 0; /* of what one keeps */

    *x = (struct mfu_memory_timeline_point){
        .time_s = time_s, .launch = -1, .micro_step = -1, .phase = phase, .reserved = c->reserved_bytes};
    for (int k = 0; k < MFU_PART_COUNT; k++) {
        x->parts[k] = c->standing[k] + passes * c->passing[k] + one * c->keeping[k]
            + (k == MFU_PART_ACTIVATIONS ? held_bytes - one * c->keeping_bytes : 0);
        x->allocated += x->parts[k];
    }
    c->to->highest_allocated = fmax(c->to->highest_allocated, x->allocated);
}

/* Moves bytes of parts, in this order, from one sum to another; returns what is not found. */
static double move(double *from, double *to, const enum mfu_part *order, size_t n, double bytes)
{
    for (size_t i = 0; i < n; i++) {
        double some = fmax(fmin(from[order[i]], bytes), 0);

        from[order[i]] -= some;
        to[order[i]] += some;
        bytes -= some;
    }
    return bytes;
}

/* Parts the highest moment with one microbatch into what stands all the time, as much as after the pass, what forward
 * keeps, and what passes. */
static void learn(struct course *c, const struct mfu_stage *s)
{
    static const enum mfu_part kept[] = {MFU_PART_ACTIVATIONS, MFU_PART_LOGITS_LOSS, MFU_PART_OTHER,
                                         MFU_PART_WEIGHT_CASTS},
                               passing[] = {MFU_PART_ACTIVATIONS, MFU_PART_LOGITS_LOSS,   MFU_PART_WORKSPACE,
                                            MFU_PART_OTHER,       MFU_PART_COMMUNICATION, MFU_PART_WEIGHT_CASTS,
                                            MFU_PART_GRADIENTS,   MFU_PART_OPTIMIZER,     MFU_PART_EMA,
                                            MFU_PART_WEIGHTS};
    double rest;

    memcpy(c->standing, s->alone.peak.parts, sizeof c->standing);
    rest = move(c->standing, c->keeping, kept, sizeof kept / sizeof kept[0], s->kept_bytes);
    c->keeping_bytes = s->kept_bytes - rest;
    move(c->standing, c->passing, passing, sizeof passing / sizeof passing[0],
         s->alone.peak.bytes - s->kept_bytes + rest - s->alone.peak.end_bytes);
    c->passing[MFU_PART_ACTIVATIONS] -= rest; /* is gone at that moment */
}

/* A forward, or a backward with what passes in it. */
static void stretch(struct course *c, enum mfu_phase phase, double from_s, double to_s, double more_bytes)
{
    for (int i = 0; i <= LEVELS; i++) {
        double share = (double)i / LEVELS;

        point(c, from_s + share * (to_s - from_s), phase, c->held_bytes + share * more_bytes,
              phase == MFU_FORWARD ? 0 : 1 - share);
    }
    c->held_bytes += more_bytes;
}

static void pass(struct course *c, const struct mfu_pipeline_event *e, const struct mfu_config *config)
{
    bool merged = e->pass == MFU_PASS_FBW, beside = merged && config->experts.merged > 0;
    bool ends = e->pass == MFU_PASS_BW || e->pass == MFU_PASS_W || merged;
    int other = merged ? mfu_pipeline_stage(&config->pipeline, e->rank, !e->chunk) : e->stage;
    double turn_s = beside ? e->start_s : e->turn_s;
    double ahead_bytes = (merged ? c->kept.ahead_bytes : c->kept.bytes)[e->stage];

    if (e->pass == MFU_PASS_F || merged)
        stretch(c, MFU_FORWARD, e->start_s, turn_s, ahead_bytes);
    if (e->pass != MFU_PASS_F)
        stretch(c, MFU_BACKWARD, turn_s, e->end_s,
                (merged ? c->kept.bytes[e->stage] - ahead_bytes : 0) - (ends ? c->kept.bytes[other] : 0));
}

static int follow(struct course *c, const struct mfu_plan *p, const struct mfu_pipeline_step *step,
                  struct mfu_error *err)
{
    const struct mfu_peak_memory *updates = &p->stages[p->worst_stage].updates.peak;
    double seconds = fmax(step->makespan_s, p->step.time_s); /* a step's first passes may begin in the one before */
    bool known = updates->optimizer_peak_bytes >= updates->bytes; /* the optimizer's moment */
    size_t n = 0;

    for (size_t i = 0; i < step->n_events; i++)
        n += step->events[i].rank == p->worst_stage;
    if (!(c->to->points = malloc((2 * n * (LEVELS + 1) + 3) * sizeof *c->to->points)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    point(c, 0, MFU_FORWARD, 0, 0);
    for (size_t i = 0; i < step->n_events; i++)
        if (step->events[i].rank == p->worst_stage)
            pass(c, &step->events[i], &p->config);
    for (int k = 0; k < MFU_PART_COUNT; k++)
        c->passing[k] = updates->parts[k] - c->standing[k];
    point(c, step->makespan_s, MFU_OPTIMIZER_PHASE, 0, known);
    point(c, seconds, MFU_OPTIMIZER_PHASE, 0, 0);
    c->to->seconds = seconds;
    return 0;
}

int mfu_memory_timeline_of_pipeline(const struct mfu_plan *p, struct mfu_memory_timeline *to, struct mfu_error *err)
{
    struct course c = {.to = to, .reserved_bytes = p->memory.reserved_bytes};
    struct mfu_pipeline *pipeline = mfu_pipeline_new(err);
    struct mfu_pipeline_step step;
    int status = -1;

    memset(to, 0, sizeof *to);
    to->highest_reserved = c.reserved_bytes;
    if (pipeline)
        c.kept = mfu_stages_kept(p, err);
    if (c.kept.bytes && mfu_stages_run(p, pipeline, MFU_PIPELINE_RECORD, &step, err) == 0) {
        learn(&c, &p->stages[p->worst_stage]);
        status = follow(&c, p, &step, err);
    }
    free(c.kept.bytes);
    mfu_pipeline_free(pipeline);
    return status;
}

int mfu_memory_timeline_of(const struct mfu_plan *p, const struct mfu_simulation *s, struct mfu_memory_timeline *to,
                           struct mfu_error *err)
{
    return p->n_stages > 0 ? mfu_memory_timeline_of_pipeline(p, to, err) : mfu_memory_timeline_make(s, to, err);
}

bool mfu_memory_timeline_records(const struct mfu_scenario *s)
{
    return !(s->setting[MFU_S_PP] > 1);
}
