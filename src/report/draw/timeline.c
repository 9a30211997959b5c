/*
 * timeline.c - what the GPU does over one step: which kernels run, and
 * how much of the peaks they use meanwhile.
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/short.h"
#include "plan/gpu_activity.h"
#include "report/draw/canvas.h"

#define SLICES 240

struct chart {
    struct mfu_canvas *canvas;
    const struct mfu_plan *plan;
    const struct mfu_gpu_activity *activity;
    double x0, x1;
};

static double at_x(const struct chart *g, int slice)
{
    return g->x0 + (g->x1 - g->x0) * slice / g->activity->n_slices;
}

/* Shares of a slice: steps of one height each. */
typedef double share_fn(const struct chart *, const struct mfu_slice *, int k);

static double busy(const struct chart *g, const struct mfu_slice *s, int sorts)
{
    double sum = 0;

    for (int k = 0; k < sorts; k++)
        sum += s->busy_s[k];
    return sum / g->activity->seconds * g->activity->n_slices;
}

static double communication(const struct chart *g, const struct mfu_slice *s, int k)
{
    (void)k;
    return s->communication_s / g->activity->seconds * g->activity->n_slices;
}

static double tensor(const struct chart *g, const struct mfu_slice *s, int k)
{
    (void)k;
    return s->flops / g->activity->seconds * g->activity->n_slices / g->plan->mfu.peak_flops;
}

static double dram(const struct chart *g, const struct mfu_slice *s, int k)
{
    (void)k;
    return s->bytes / g->activity->seconds * g->activity->n_slices / g->plan->machine.bandwidth_bytes_s;
}

static void steps(const struct chart *g, const char *class, share_fn *share, int k, double y0, double y1, bool filled)
{
    double last = y1;

    mfu_path_begin(g->canvas, class);
    if (filled)
        mfu_path_to(g->canvas, g->x0, y1);
    for (int i = 0; i < g->activity->n_slices; i++) {
        double y = y1 - fmin(share(g, &g->activity->slices[i], k), 1) * (y1 - y0);

        if (i > 0 && fabs(y - last) < 0.05)
            continue;
        if (i > 0)
            mfu_path_to(g->canvas, at_x(g, i), last);
        mfu_path_to(g->canvas, at_x(g, i), last = y);
    }
    mfu_path_to(g->canvas, g->x1, last);
    if (filled)
        mfu_path_to(g->canvas, g->x1, y1);
    mfu_path_end(g->canvas, NULL);
}

static void percent_axis(const struct chart *g, double y0, double y1, const char *what)
{
    mfu_draw_text(g->canvas, "faint", g->x0, y0 - 7, MFU_START, what);
    for (int i = 0; i <= 100; i += 50) {
        double y = y1 - i / 100. * (y1 - y0);
        char text[16];

        snprintf(text, sizeof text, "%d %%", i);
        mfu_draw_line(g->canvas, i ? "grid" : "axis", g->x0, y, g->x1, y);
        mfu_draw_text(g->canvas, "faint", g->x0 - 6, y + 4, MFU_END, text);
    }
}

static void put_phases(const struct chart *g, double y1)
{
    const struct mfu_gpu_activity *a = g->activity;
    struct mfu_phase_span phases[MFU_STRETCHES];
    double scale = (g->x1 - g->x0) / a->seconds;

    for (int i = 0; i < a->n_stretches; i++)
        phases[i] =
            (struct mfu_phase_span){a->stretches[i].phase, g->plan->config.accum > 1 ? a->stretches[i].micro_step : -1,
                                    g->x0 + a->stretches[i].begin_s * scale, g->x0 + a->stretches[i].end_s * scale};
    mfu_draw_phases(g->canvas, phases, a->n_stretches, 0, y1);
}

static void chart(struct chart *g)
{
    double y1 = g->canvas->height - 42, height = (y1 - 74) / 2; /* of each of the two */
    char class[] = "sort0";

    g->x0 = 46, g->x1 = g->canvas->width - 10;
    percent_axis(g, 38, 38 + height, "share of the time in which kernels run");
    for (int k = MFU_SORT_COUNT; k > 0; k--) {
        class[4] = (char)('0' + k - 1);
        steps(g, class, busy, k, 38, 38 + height, true);
    }
    if (g->activity->communication_s > 0)
        steps(g, "link", communication, 0, 38, 38 + height, false);
    percent_axis(g, y1 - height, y1, "share of the peak that they reach");
    steps(g, "tensor", tensor, 0, y1 - height, y1, false);
    steps(g, "dram", dram, 0, y1 - height, y1, false);
    put_phases(g, y1);
    mfu_draw_time_axis(g->canvas, g->x0, g->x1, y1, g->activity->seconds, "time");
}

/* Shares of the whole step, also of what the drawing leaves out. */
static int keys(const struct chart *g, struct mfu_error *err)
{
    const struct mfu_step_answer *step = &g->plan->step;
    double share[MFU_SORT_COUNT];
    char class[] = "sort0";

    if (mfu_sort_shares(g->plan, share) < 0)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (int k = 0; k < MFU_SORT_COUNT; k++) {
        class[4] = (char)('0' + k);
        if (share[k] > 0)
            mfu_canvas_key(g->canvas, class, false, "%s %s", mfu_sort_titles[k], P(share[k]));
    }
    mfu_canvas_key(g->canvas, NULL, false, "idle %s", P(step->idle_s / step->time_s));
    if (g->activity->communication_s > 0)
        mfu_canvas_key(g->canvas, "link", true, "communication, exposed %s",
                       P(step->communication_exposed_s / step->time_s));
    mfu_canvas_key(g->canvas, "tensor", true, "tensor arithmetic, of %s", Q(g->plan->mfu.peak_flops, MFU_FLOP_PER_S));
    mfu_canvas_key(g->canvas, "dram", true, "memory traffic, of %s",
                   Q(g->plan->machine.bandwidth_bytes_s, MFU_BYTES_PER_S));
    mfu_canvas_key(g->canvas, NULL, false, "MFU of the step %s", P(g->plan->mfu.mfu));
    if (g->activity->left_out > 0)
        mfu_canvas_key(g->canvas, NULL, false,
                       "%ld micro-steps that are like the one before are left out; numbers of micro-steps count "
                       "from 1",
                       g->activity->left_out);
    return 0;
}

static int draw(struct mfu_canvas *c, const struct mfu_plan *p, const struct mfu_simulation *s, struct mfu_error *err)
{
    struct mfu_gpu_activity *a = malloc(sizeof *a);
    struct chart g = {.canvas = c, .plan = p, .activity = a};
    int status = 0;

    if (!a)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    mfu_gpu_activity_make(s, SLICES, a);
    if (a->seconds > 0 && (status = keys(&g, err)) == 0)
        while (mfu_canvas_next(c, "", "what the GPU does over one step", 350, 350))
            chart(&g);
    free(a);
    return status;
}

static bool always(const struct mfu_scenario *s)
{
    (void)s;
    return true;
}

const struct mfu_figure mfu_figure_timeline = {.name = "timeline",
                                               .summary = "what the GPU does over one step",
                                               .title = "What the GPU does over one step",
                                               .records = always,
                                               .draw = draw};
