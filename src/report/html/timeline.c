/*
 * timeline.c - what the GPU does over one step: which kernels run, and
 * how much of the peaks they use meanwhile.
 */
#include <math.h>
#include <stdlib.h>

#include "report/html/html.h"
#include "plan/kernels.h"
#include "plan/gpu_activity.h"
#include "report/html/section.h"
#include "report/html/svg.h"

#define SLICES 240

static const char *const sort_class[MFU_SORT_COUNT] = {"sort0", "sort1", "sort2", "sort3", "sort4"};

struct chart {
    const struct mfu_plan *plan;
    const struct mfu_gpu_activity *activity;
    double x0, x1;
};

static double at_x(const struct chart *c, int slice)
{
    return c->x0 + (c->x1 - c->x0) * slice / c->activity->n_slices;
}

/* Shares of a slice: steps of one height each. */
typedef double share_fn(const struct chart *, const struct mfu_slice *, int k);

static double busy(const struct chart *c, const struct mfu_slice *s, int sorts)
{
    double sum = 0;

    for (int k = 0; k < sorts; k++)
        sum += s->busy_s[k];
    return sum / c->activity->seconds * c->activity->n_slices;
}

static double communication(const struct chart *c, const struct mfu_slice *s, int k)
{
    (void)k;
    return s->communication_s / c->activity->seconds * c->activity->n_slices;
}

static double tensor(const struct chart *c, const struct mfu_slice *s, int k)
{
    (void)k;
    return s->flops / c->activity->seconds * c->activity->n_slices / c->plan->mfu.peak_flops;
}

static double dram(const struct chart *c, const struct mfu_slice *s, int k)
{
    (void)k;
    return s->bytes / c->activity->seconds * c->activity->n_slices / c->plan->machine.bandwidth_bytes_s;
}

static void steps(FILE *out, const struct chart *c, const char *class, share_fn *share, int k, double y0, double y1,
                  bool filled)
{
    double last = NAN;

    mfu_svg_path_begin(out, class);
    for (int i = 0; i < c->activity->n_slices; i++) {
        double y = y1 - fmin(share(c, &c->activity->slices[i], k), 1) * (y1 - y0);

        y = round(10 * y) / 10;
        if (i == 0)
            mfu_svg_move(out, c->x0, filled ? y1 : y);
        if (i == 0 && filled)
            mfu_svg_to_y(out, y);
        if (i > 0 && y != last) {
            mfu_svg_to_x(out, at_x(c, i));
            mfu_svg_to_y(out, y);
        }
        last = y;
    }
    mfu_svg_to_x(out, c->x1);
    if (filled)
        mfu_svg_to_y(out, y1);
    mfu_svg_path_end(out, NULL);
}

static void percent_axis(FILE *out, const struct chart *c, double y0, double y1)
{
    for (int i = 0; i <= 100; i += 50) {
        double y = y1 - i / 100. * (y1 - y0);
        char text[16];

        snprintf(text, sizeof text, "%d %%", i);
        mfu_svg_line(out, i ? "grid" : "axis", c->x0, y, c->x1, y);
        mfu_svg_text(out, "faint", c->x0 - 6, y + 4, MFU_SVG_END, text);
    }
}

static void put_phases(FILE *out, const struct chart *c, double y1)
{
    const struct mfu_gpu_activity *a = c->activity;
    struct mfu_html_phase phases[MFU_STRETCHES];
    double scale = (c->x1 - c->x0) / a->seconds;

    for (int i = 0; i < a->n_stretches; i++)
        phases[i] =
            (struct mfu_html_phase){a->stretches[i].phase, c->plan->config.accum > 1 ? a->stretches[i].micro_step : -1,
                                    c->x0 + a->stretches[i].begin_s * scale, c->x0 + a->stretches[i].end_s * scale};
    mfu_html_phases(out, phases, a->n_stretches, 0, y1);
}

static void chart(FILE *out, struct chart *c, const struct mfu_html_frame *frame)
{
    c->x0 = 46, c->x1 = frame->width - 10;
    mfu_svg_begin(out, frame->class, frame->width, 350, "what the GPU does over one step");
    percent_axis(out, c, 38, 158);
    for (int k = MFU_SORT_COUNT; k > 0; k--)
        steps(out, c, sort_class[k - 1], busy, k, 38, 158, true);
    if (c->activity->communication_s > 0)
        steps(out, c, "link", communication, 0, 38, 158, false);
    percent_axis(out, c, 194, 308);
    steps(out, c, "tensor", tensor, 0, 194, 308, false);
    steps(out, c, "dram", dram, 0, 194, 308, false);
    put_phases(out, c, 308);
    mfu_svg_text(out, "faint", c->x0, 31, MFU_SVG_START, "share of the time in which kernels run");
    mfu_svg_text(out, "faint", c->x0, 187, MFU_SVG_START, "share of the peak that they reach");
    mfu_html_time_axis(out, c->x0, c->x1, 308, c->activity->seconds, "time");
    mfu_svg_end(out);
}

/* Shares of the whole step, also of what the drawing leaves out. */
static int keys(FILE *out, const struct chart *c, struct mfu_error *err)
{
    double share[MFU_SORT_COUNT];

    if (mfu_sort_shares(c->plan, share) < 0)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    fputs("<ul class=\"keys\">\n", out);
    for (int k = 0; k < MFU_SORT_COUNT; k++)
        if (share[k] > 0)
            fprintf(out, "<li><span class=\"key %s\"></span>%s %s</li>\n", sort_class[k], mfu_sort_titles[k],
                    MFU_P(share[k]));
    fprintf(out, "<li class=\"faint\">idle %s</li>\n</ul>\n<ul class=\"keys\">\n",
            MFU_P(c->plan->step.idle_s / c->plan->step.time_s));
    if (c->activity->communication_s > 0)
        fputs("<li><span class=\"key line-link\"></span>communication, beside</li>\n", out);
    fprintf(out, "<li><span class=\"key line-tensor\"></span>tensor arithmetic, of %s</li>\n",
            MFU_Q(c->plan->mfu.peak_flops, MFU_FLOP_PER_S));
    fprintf(out, "<li><span class=\"key line-dram\"></span>memory traffic, of %s</li>\n</ul>\n",
            MFU_Q(c->plan->machine.bandwidth_bytes_s, MFU_BYTES_PER_S));
    return 0;
}

int mfu_html_timeline(FILE *out, const struct mfu_html_page *page, struct mfu_error *err)
{
    struct mfu_gpu_activity *a = malloc(sizeof *a);
    struct chart c = {.plan = page->plan, .activity = a};
    int status = 0;

    if (!a)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    mfu_gpu_activity_make(page->simulation, SLICES, a);
    if (a->seconds > 0) {
        status = keys(out, &c, err);
        for (int i = 0; i < MFU_HTML_FRAMES; i++)
            chart(out, &c, &mfu_html_frames[i]);
    }
    if (a->left_out > 0)
        fprintf(
            out,
            "<p class=\"note\">%ld micro-steps that are like the one before are left out; numbers of micro-steps count "
            "from 1.</p>\n",
            a->left_out);
    free(a);
    return status;
}
