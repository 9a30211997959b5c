/*
 * memory.c - memory over a step, as areas by part.
 */
#include <math.h>
#include <stdlib.h>

#include "plan/simulation.h"
#include "base/error.h"
#include "base/quantity.h"
#include "plan/memory_timeline.h"
#include "report/plot/gnuplot.h"
#include "report/plot/plot.h"
#include "scenario/setting.h"
#include "base/short.h"

#define MOST 700 /* points */
#define GIB 0x1p30
#define FAR 2.0 /* a capacity beyond that many times what is used is only named */

/* From below: what stands all the time first. */
static const enum mfu_part order[MFU_PART_COUNT] = {MFU_PART_WEIGHTS,     MFU_PART_OPTIMIZER,    MFU_PART_COMMUNICATION,
                                                    MFU_PART_GRADIENTS,   MFU_PART_WEIGHT_CASTS, MFU_PART_ACTIVATIONS,
                                                    MFU_PART_LOGITS_LOSS, MFU_PART_OTHER,        MFU_PART_WORKSPACE};

struct scales {
    double second, byte; /* what one unit of an axis is */
    const char *second_name, *byte_name;
    double top; /* in units */
};

/* Time, then the sums of the parts up to each. */
static void put_row(FILE *out, const struct mfu_memory_timeline_point *p, double time_s, const struct scales *x)
{
    double sum = 0;

    fprintf(out, "%.6g", time_s / x->second);
    for (int k = 0; k < MFU_PART_COUNT; k++) {
        sum += p->parts[order[k]];
        fprintf(out, " %.5g", sum / x->byte);
    }
    putc('\n', out);
}

/* Levels hold until the next point: steps, two rows for each. */
static int put_data(FILE *out, const struct mfu_memory_timeline *c, const struct scales *x, struct mfu_error *err)
{
    size_t *chosen = malloc(MOST * sizeof *chosen), n;

    if (!chosen)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    n = mfu_memory_timeline_thin(c, MOST, chosen);
    fputs("$memory << EOD\n", out);
    for (size_t i = 0; i < n; i++) {
        const struct mfu_memory_timeline_point *p = &c->points[chosen[i]];

        put_row(out, p, p->time_s, x);
        put_row(out, p, i + 1 < n ? c->points[chosen[i + 1]].time_s : c->seconds, x);
    }
    fputs("EOD\n", out);
    free(chosen);
    return 0;
}

static size_t highest(const struct mfu_memory_timeline *c)
{
    size_t best = 0;

    for (size_t i = 0; i < c->n; i++)
        if (c->points[i].allocated > c->points[best].allocated)
            best = i;
    return best;
}

/* Names above the drawing, thin lines between. */
static void put_phases(FILE *out, const struct mfu_memory_timeline *c, const struct scales *x)
{
    for (int k = 0; k < c->n_spans; k++) {
        const struct mfu_memory_timeline_span *s = &c->spans[k];
        double share = c->seconds > 0 ? (s->end_s - s->begin_s) / c->seconds : 0;
        char name[64];

        if (k > 0)
            fprintf(out,
                    "set arrow from first %g,graph 0 to first %g,graph 1.02 nohead linecolor '" MFU_INK_FAINT
                    "' linewidth 1 dashtype 3 front\n",
                    s->begin_s / x->second, s->begin_s / x->second);
        fputs("set label ", out);
        mfu_gnuplot_text(out, mfu_plot_phase(name, sizeof name, s->phase, c->n_spans > 3 ? s->micro_step : -1, share));
        fprintf(out, " at first %g,graph 1.035 center textcolor '" MFU_INK "'\n",
                (s->begin_s + s->end_s) / 2 / x->second);
    }
}

static void put_line(FILE *out, const char *text, double level, const struct scales *x, const char *color, bool above)
{
    fprintf(out,
            "set arrow from graph 0,first %g to graph 1,first %g nohead linecolor '%s' linewidth 2 front\nset label ",
            level / x->byte, level / x->byte, color);
    mfu_gnuplot_text(out, text);
    fprintf(out, " at graph 0.008,first %g offset 0,character %s left textcolor '%s' front\n", level / x->byte,
            above ? "0.55" : "-0.6", color);
}

/* The parts at the peak, in the order in which they lie upon each other. */
static void put_legend(FILE *out, const struct mfu_memory_timeline *c, size_t peak)
{
    double y = 0.80;

    fprintf(out, "set label 'at the peak: %s' at screen 0.762,%g left textcolor '" MFU_INK "'\n",
            Q(c->points[peak].allocated, MFU_BYTES), y);
    for (int k = MFU_PART_COUNT - 1; k >= 0; k--) {
        double most = 0;

        for (size_t i = 0; i < c->n; i++)
            most = fmax(most, c->points[i].parts[order[k]]);
        if (most < 0.0005 * c->highest_allocated)
            continue;
        y -= 0.058;
        fprintf(out,
                "set object rectangle from screen 0.762,%g to screen 0.780,%g fillcolor rgb '%s' fillstyle solid "
                "noborder\n",
                y - 0.013, y + 0.015, mfu_part_colors[order[k]]);
        fputs("set label ", out);
        mfu_gnuplot_text(out, mfu_part_title(order[k]));
        fprintf(out, " at screen 0.790,%g left textcolor '" MFU_INK "'\n", y);
        fprintf(out, "set label '%s' at screen 0.985,%g right textcolor '" MFU_INK_FAINT "'\n",
                Q(c->points[peak].parts[order[k]], MFU_BYTES), y);
    }
}

static int draw(FILE *out, const struct mfu_plan *p, const struct mfu_memory_timeline *c, struct mfu_error *err)
{
    double room = p->memory.capacity_bytes - p->memory.context_bytes - p->config.setting[MFU_S_VRAM_RESERVED];
    double most = fmax(c->highest_reserved, c->highest_allocated);
    struct scales x = {.byte = GIB, .byte_name = "GiB", .second = 1, .second_name = "s"};
    size_t peak = highest(c);
    bool near = room > 0 && room < FAR * most;
    char text[96];

    if (near)
        most = fmax(most, room);
    if (most < 2 * GIB)
        x.byte = 0x1p20, x.byte_name = "MiB";
    if (c->seconds < 2)
        x.second = 1e-3, x.second_name = "ms";
    x.top = most / x.byte * 1.07;
    if (put_data(out, c, &x, err) < 0)
        return -1;
    mfu_plot_title(out, p, "Memory over one step");
    fputs("set lmargin at screen 0.075\nset rmargin at screen 0.735\nset tmargin at screen 0.825\nset bmargin at "
          "screen 0.115\n",
          out);
    fprintf(out, "set xrange [0:%g]\nset yrange [0:%g]\n", c->seconds / x.second, x.top);
    fprintf(out, "set xlabel 'work of the GPU, %s' textcolor '" MFU_INK "'\nset ylabel '%s' textcolor '" MFU_INK "'\n",
            x.second_name, x.byte_name);
    fputs("unset key\nset grid noxtics ytics\n", out);
    put_phases(out, c, &x);
    put_legend(out, c, peak);
    if (near) {
        snprintf(text, sizeof text, "room for tensors %s", Q(room, MFU_BYTES));
        put_line(out, text, room, &x, MFU_ALARM, true);
    }
    snprintf(text, sizeof text, "reserved by the allocator %s", Q(c->highest_reserved, MFU_BYTES));
    put_line(out, text, c->highest_reserved, &x, MFU_INK,
             !(near && fabs(room - c->highest_reserved) < 0.06 * x.top * x.byte) || room < c->highest_reserved);
    fprintf(out,
            "set object circle at first %g,first %g size screen 0.005 fillcolor rgb '" MFU_INK
            "' fillstyle solid front\n",
            c->points[peak].time_s / x.second, c->points[peak].allocated / x.byte);
    fputs("plot ", out);
    for (int k = MFU_PART_COUNT - 1; k >= 0; k--)
        fprintf(out, "$memory using 1:%d with filledcurves y1=0 linecolor rgb '%s'%s", k + 2, mfu_part_colors[order[k]],
                k > 0 ? ", \\\n     " : "\n");
    return 0;
}

static int script(FILE *out, const struct mfu_plan *p, const struct mfu_simulation *s, struct mfu_error *err)
{
    struct mfu_memory_timeline course;
    int status;

    if (mfu_memory_timeline_make(s, &course, err) < 0)
        return -1;
    status = draw(out, p, &course, err);
    mfu_memory_timeline_release(&course);
    return status;
}

const struct mfu_plot mfu_plot_memory = {
    .name = "memory", .summary = "memory over one step, by part", .simulated = true, .script = script};
