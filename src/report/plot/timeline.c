/*
 * timeline.c - what the GPU does over one step.
 *
 * Time is cut into slices of equal length.  Above: the share of each slice in
 * which kernels of a kind run; white is idle.  Below: how much of the peaks of
 * arithmetic and memory they use meanwhile.
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/quantity.h"
#include "plan/gpu_activity.h"
#include "report/plot/gnuplot.h"
#include "report/plot/plot.h"

#define SLICES 300

static const char *const sort_color[MFU_SORT_COUNT] = {[MFU_SORT_PRODUCTS] = "#4477aa",
                                                       [MFU_SORT_ATTENTION] = "#aa3377",
                                                       [MFU_SORT_STREAMS] = "#ccbb44",
                                                       [MFU_SORT_LOSS] = "#ee6677",
                                                       [MFU_SORT_UPDATES] = "#228833"};

struct picture {
    const struct mfu_plan *plan;
    struct mfu_gpu_activity activity;
    double width, unit;           /* of a slice, in seconds; what one unit of the axis is */
    double share[MFU_SORT_COUNT]; /* of the time of the whole step, also of what the drawing leaves out */
};

/* Time, sums of the sorts, rates: in percent. */
static void put_row(FILE *out, const struct picture *g, const struct mfu_slice *s, double time_s)
{
    double sum = 0;

    fprintf(out, "%.6g", time_s / g->unit);
    for (int k = 0; k < MFU_SORT_COUNT; k++) {
        sum += s->busy_s[k];
        fprintf(out, " %.2f", fmin(100 * sum / g->width, 100));
    }
    fprintf(out, " %.2f %.2f\n", fmin(100 * s->flops / g->width / g->plan->mfu.peak_flops, 100),
            fmin(100 * s->bytes / g->width / g->plan->machine.bandwidth_bytes_s, 100));
}

/* Steps: two rows for each slice. */
static void put_data(FILE *out, const struct picture *g)
{
    fputs("$slices << EOD\n", out);
    for (int i = 0; i < SLICES; i++) {
        put_row(out, g, &g->activity.slices[i], i * g->width);
        put_row(out, g, &g->activity.slices[i], (i + 1) * g->width);
    }
    fputs("EOD\n", out);
}

static void put_boundary(FILE *out, const struct picture *g, double from_s, double to_s, const char *name, bool first)
{
    if (!first)
        fprintf(out,
                "set arrow from first %.6g,graph 0 to first %.6g,graph 1.03 nohead linecolor '" MFU_INK_FAINT
                "' linewidth 1 dashtype 3 front\n",
                from_s / g->unit, from_s / g->unit);
    fputs("set label ", out);
    mfu_gnuplot_text(out, name);
    fprintf(out, " at first %.6g,graph 1.055 center textcolor '" MFU_INK "'\n", (from_s + to_s) / 2 / g->unit);
}

/* Stretches of a phase, named if there is room. */
static void put_phases(FILE *out, const struct picture *g)
{
    bool several = g->plan->config.accum > 1;

    for (int i = 0; i < g->activity.n_stretches; i++) {
        const struct mfu_stretch *x = &g->activity.stretches[i];
        char name[64];

        put_boundary(out, g, x->begin_s, x->end_s,
                     mfu_plot_phase(name, sizeof name, (int)x->phase, several ? x->micro_step : -1,
                                    (x->end_s - x->begin_s) / g->activity.seconds),
                     i == 0);
    }
}

static void put_legend(FILE *out, const char *text, const char *color, double y, bool line)
{
    if (line)
        fprintf(out, "set arrow from screen 0.758,%g to screen 0.778,%g nohead linecolor '%s' linewidth 3\n", y, y,
                color);
    else
        fprintf(out,
                "set object rectangle from screen 0.759,%g to screen 0.777,%g fillcolor rgb '%s' fillstyle solid "
                "noborder\n",
                y - 0.013, y + 0.015, color);
    fputs("set label ", out);
    mfu_gnuplot_text(out, text);
    fprintf(out, " at screen 0.787,%g left textcolor '" MFU_INK "'\n", y);
}

#define TENSOR_COLOR "#4477aa"
#define DRAM_COLOR "#cc6677"
#define LINK_COLOR "#222222"

/* Between the two drawings: when the links are busy. */
static void put_strip(FILE *out, const struct picture *g)
{
    for (int i = 0; i < SLICES; i++)
        if (g->activity.slices[i].communication_s > 0.02 * g->width)
            fprintf(out,
                    "set object rectangle from first %.6g,graph -0.055 to first %.6g,graph -0.03 noclip fillcolor rgb "
                    "'" LINK_COLOR "' fillstyle solid noborder\n",
                    i * g->width / g->unit,
                    (i * g->width + fmin(g->activity.slices[i].communication_s, g->width)) / g->unit);
}

static void upper(FILE *out, const struct picture *g)
{
    const struct mfu_step_answer *step = &g->plan->step;
    double y = 0.80;
    char text[96];

    snprintf(text, sizeof text, "links (strip), exposed %.0f %%", 100 * step->communication_exposed_s / step->time_s);
    if (g->activity.communication_s > 0) {
        put_legend(out, text, LINK_COLOR, y, false);
        put_strip(out, g);
        y -= 0.055;
    }
    for (int k = MFU_SORT_COUNT - 1; k >= 0; k--)
        if (g->share[k] > 0) {
            snprintf(text, sizeof text, "%s %.0f %%", mfu_sort_titles[k], 100 * g->share[k]);
            put_legend(out, text, sort_color[k], y, false);
            y -= 0.055;
        }
    snprintf(text, sizeof text, "idle %.1f %%", 100 * step->idle_s / step->time_s);
    fputs("set label ", out);
    mfu_gnuplot_text(out, text);
    fprintf(out, " at screen 0.787,%g left textcolor '" MFU_INK_FAINT "'\n", y);
    fputs("set tmargin at screen 0.815\nset bmargin at screen 0.42\nset ylabel 'kernels run, %' offset 1.2,0 textcolor "
          "'" MFU_INK "'\n"
          "set format x ''\nunset xlabel\n",
          out);
    put_phases(out, g);
    fputs("plot ", out);
    for (int k = MFU_SORT_COUNT - 1; k >= 0; k--)
        fprintf(out, "$slices using 1:%d with filledcurves y1=0 linecolor rgb '%s'%s", k + 2, sort_color[k],
                k > 0 ? ", \\\n     " : "\n");
    fputs("unset label\nunset object\nunset arrow\n", out);
}

static void lower(FILE *out, const struct picture *g)
{
    char text[160], peak[MFU_QUANTITY_MAX];

    put_legend(out, "tensor arithmetic", TENSOR_COLOR, 0.335, true);
    snprintf(text, sizeof text, "of %s", mfu_quantity_format(peak, g->plan->mfu.peak_flops, MFU_FLOP_PER_S));
    fprintf(out, "set label '%s' at screen 0.787,0.295 left textcolor '" MFU_INK_FAINT "'\n", text);
    put_legend(out, "memory traffic", DRAM_COLOR, 0.235, true);
    snprintf(text, sizeof text, "of %s",
             mfu_quantity_format(peak, g->plan->machine.bandwidth_bytes_s, MFU_BYTES_PER_S));
    fprintf(out, "set label '%s' at screen 0.787,0.195 left textcolor '" MFU_INK_FAINT "'\n", text);
    fprintf(out, "set label 'MFU of the step %.1f %%' at screen 0.787,0.135 left textcolor '" MFU_INK "'\n",
            100 * g->plan->mfu.mfu);
    fputs("set tmargin at screen 0.375\nset bmargin at screen 0.115\nset ylabel 'of the peak, %' offset 1.2,0 "
          "textcolor '" MFU_INK "'\n"
          "set format x '%g'\n",
          out);
    fprintf(out, "set xlabel 'time, %s%s' textcolor '" MFU_INK "'\n", g->unit < 1 ? "ms" : "s",
            g->activity.left_out > 0 ? " (equal micro-steps in the middle left out)" : "");
    fputs("plot $slices using 1:7 with filledcurves y1=0 linecolor rgb '#b9cbe0', \\\n"
          "     $slices using 1:7 with lines linecolor rgb '" TENSOR_COLOR "' linewidth 1.5, \\\n"
          "     $slices using 1:8 with lines linecolor rgb '" DRAM_COLOR "' linewidth 1.5\n",
          out);
}

static int script(FILE *out, const struct mfu_plan *p, const struct mfu_simulation *s, struct mfu_error *err)
{
    struct picture *g = calloc(1, sizeof *g);

    if (!g || mfu_sort_shares(p, g->share) < 0) {
        free(g);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    g->plan = p;
    mfu_gpu_activity_make(s, SLICES, &g->activity);
    g->width = g->activity.seconds / SLICES;
    g->unit = g->activity.seconds < 2 ? 1e-3 : 1;
    put_data(out, g);
    fputs("set multiplot\n", out);
    mfu_plot_title(out, p, "What the GPU does over one step");
    fprintf(out,
            "set lmargin at screen 0.075\nset rmargin at screen 0.735\nunset key\nset grid noxtics ytics front\n"
            "set xrange [0:%.6g]\nset yrange [0:100]\nset ytics 25\n",
            g->activity.seconds / g->unit);
    upper(out, g);
    lower(out, g);
    fputs("unset multiplot\n", out);
    free(g);
    return 0;
}

const struct mfu_plot mfu_plot_timeline = {
    .name = "timeline", .summary = "what the GPU does over one step", .simulated = true, .script = script};
