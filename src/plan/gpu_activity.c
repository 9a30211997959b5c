/*
 * gpu_activity.c - what the GPU does over one step, in slices.
 */
#include "plan/gpu_activity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/elided_steps.h"
#include "plan/kernels.h"

const char *const mfu_sort_titles[MFU_SORT_COUNT] = {
    [MFU_SORT_PRODUCTS] = "matrix products",
    [MFU_SORT_ATTENTION] = "attention",
    [MFU_SORT_STREAMS] = "pointwise, norms, casts",
    [MFU_SORT_LOSS] = "loss, embedding",
    [MFU_SORT_UPDATES] = "optimizer",
};

enum mfu_sort mfu_sort_of(enum mfu_kind kind)
{
    static const enum mfu_sort sorts[] = {
        [MFU_GROUP_PRODUCTS] = MFU_SORT_PRODUCTS, [MFU_GROUP_ATTENTION] = MFU_SORT_ATTENTION,
        [MFU_GROUP_ROWS] = MFU_SORT_STREAMS,      [MFU_GROUP_STREAMS] = MFU_SORT_STREAMS,
        [MFU_GROUP_LOSS] = MFU_SORT_LOSS,         [MFU_GROUP_UPDATES] = MFU_SORT_UPDATES,
    };
    _Static_assert(sizeof sorts / sizeof sorts[0] == MFU_GROUP_COUNT, "a group without a sort");

    return sorts[mfu_kinds[kind].group];
}

int mfu_sort_shares(const struct mfu_plan *plan, double share[MFU_SORT_COUNT])
{
    struct mfu_kernel_row *rows;
    int n = mfu_kernel_rows(plan, &rows, NULL);

    if (n < 0)
        return -1;
    for (int k = 0; k < MFU_SORT_COUNT; k++)
        share[k] = 0;
    for (int i = 0; i < n; i++)
        if (!mfu_kinds[rows[i].kind].beside)
            share[mfu_sort_of(rows[i].kind)] += rows[i].share;
    free(rows);
    return 0;
}

/* The part of an event that lies in each slice. */
static void spread(struct mfu_gpu_activity *a, const struct mfu_program *program, const struct mfu_event *e,
                   double from, double to)
{
    double width = a->seconds / a->n_slices;

    if (!(to > from) || from < 0)
        return;
    for (int i = (int)(from / width); i < a->n_slices && i * width < to; i++) {
        double inside = fmin(to, (i + 1) * width) - fmax(from, i * width);
        struct mfu_slice *s = &a->slices[i];

        if (inside <= 0)
            continue;
        if (program->launches[e->launch].communicates) {
            s->communication_s += inside;
            a->communication_s += inside;
        } else {
            const struct mfu_kernel *k = &program->launches[e->launch].work->kernel;
            double share = inside / (to - from);

            s->busy_s[mfu_sort_of(k->kind)] += inside;
            a->busy_s[mfu_sort_of(k->kind)] += inside;
            s->bytes += share * (k->read_bytes + k->write_bytes);
            if (mfu_kind_is_product(k->kind))
                s->flops += share * k->flops;
        }
    }
}

/* Goes on with the stretch that the event belongs to, or begins one. */
static void stretch(struct mfu_gpu_activity *a, enum mfu_phase phase, int micro_step, double from, double to)
{
    struct mfu_stretch *last = a->n_stretches > 0 ? &a->stretches[a->n_stretches - 1] : NULL;

    if (!last || last->phase != phase || last->micro_step != micro_step) {
        if (a->n_stretches == MFU_STRETCHES)
            return;
        last = &a->stretches[a->n_stretches++];
        *last = (struct mfu_stretch){phase, micro_step, from, to};
    }
    last->end_s = fmax(last->end_s, to);
}

void mfu_gpu_activity_make(const struct mfu_simulation *s, int n_slices, struct mfu_gpu_activity *a)
{
    const struct mfu_timeline *line = &s->timeline;
    const struct mfu_program *program = mfu_simulation_program(s);
    struct mfu_elided cut = mfu_elided_find(line);

    memset(a, 0, sizeof *a);
    a->n_slices = n_slices;
    a->left_out = cut.left_out;
    /* The host's work at the end of a step: the GPU is idle. */
    a->seconds = line->step_s - cut.seconds;
    for (size_t i = 0; i < line->n_events; i++)
        a->seconds = fmax(a->seconds, mfu_elided_moment(&cut, &line->events[i], line->events[i].end_s));
    for (size_t i = 0; i < line->n_events && a->seconds > 0; i++) {
        const struct mfu_event *e = &line->events[i];
        double from = mfu_elided_moment(&cut, e, e->start_s), to = mfu_elided_moment(&cut, e, e->end_s);

        spread(a, program, e, from, to);
        if (e->stream == MFU_STREAM_COMPUTE)
            stretch(a, program->launches[e->launch].phase, e->micro_step, from, to);
    }
}
