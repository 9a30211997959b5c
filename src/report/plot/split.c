/*
 * split.c - the memory of the card as one bar.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "plan/plan.h"
#include "base/quantity.h"
#include "report/plot/gnuplot.h"
#include "report/plot/plot.h"
#include "scenario/setting.h"
#include "base/short.h"

#define GIB 0x1p30

enum { MOST = MFU_PART_COUNT + 4 };

struct piece {
    char name[48];
    const char *color;
    double bytes;
};

static const enum mfu_part order[MFU_PART_COUNT] = {MFU_PART_WEIGHTS,       MFU_PART_OPTIMIZER,   MFU_PART_GRADIENTS,
                                                    MFU_PART_WEIGHT_CASTS,  MFU_PART_ACTIVATIONS, MFU_PART_LOGITS_LOSS,
                                                    MFU_PART_COMMUNICATION, MFU_PART_WORKSPACE,   MFU_PART_OTHER};

static int add(struct piece *pieces, int n, const char *name, const char *color, double bytes)
{
    if (bytes < 0.5)
        return n;
    pieces[n] = (struct piece){.color = color, .bytes = bytes};
    snprintf(pieces[n].name, sizeof pieces[n].name, "%s", name);
    return n + 1;
}

static int cut_up(const struct mfu_plan *p, struct piece *pieces)
{
    const struct mfu_memory_answer *m = &p->memory;
    int n = 0;

    for (int k = 0; k < MFU_PART_COUNT; k++)
        n = add(pieces, n, mfu_part_title(order[k]), mfu_part_colors[order[k]], m->peak.parts[order[k]]);
    n = add(pieces, n, "cached", "#bbbbbb", m->reserved_bytes - m->peak.bytes);
    n = add(pieces, n, "CUDA context", "#777777", m->context_bytes);
    n = add(pieces, n, "other processes", "#444444", p->config.setting[MFU_S_VRAM_RESERVED]);
    return n;
}

static bool dark(const char *color)
{
    unsigned r = 0, g = 0, b = 0;

    return sscanf(color, "#%2x%2x%2x", &r, &g, &b) == 3 && 299 * r + 587 * g + 114 * b < 140000;
}

#define LOW 6.2 /* edges of the bar, of 10 */
#define HIGH 8.6

static void put_bar(FILE *out, const struct piece *pieces, int n, double whole)
{
    double at = 0;

    for (int i = 0; i < n; i++) {
        double width = pieces[i].bytes / GIB, middle = at + width / 2;
        int letters = (int)(width / whole * 118);

        fprintf(
            out,
            "set object rectangle from first %g,%g to first %g,%g fillcolor rgb '%s' fillstyle solid border linecolor "
            "rgb '#ffffff' linewidth 1.5\n",
            at, LOW, at + width, HIGH, pieces[i].color);
        at += width;
        if (letters < (int)strlen(Q(pieces[i].bytes, MFU_BYTES)) + 1)
            continue;
        fprintf(out, "set label '%s' at first %g,%g center front font ',12' textcolor '%s'\n",
                Q(pieces[i].bytes, MFU_BYTES), middle, letters > (int)strlen(pieces[i].name) + 1 ? 7.1 : 7.4,
                dark(pieces[i].color) ? "#ffffff" : "#222222");
        if (letters > (int)strlen(pieces[i].name) + 1)
            fprintf(out, "set label '%s' at first %g,%g center front font ',12' textcolor '%s'\n", pieces[i].name,
                    middle, 7.75, dark(pieces[i].color) ? "#ffffff" : "#222222");
    }
}

/* A bracket below the bar from its beginning, and what it measures. */
static void put_bracket(FILE *out, double y, double bytes, double whole, const char *text, const char *color)
{
    double end = bytes / GIB;
    bool inside = end > 0.55 * whole;

    fprintf(out, "set arrow from first 0,%g to first %g,%g heads size screen 0.004,90 linecolor '%s' linewidth 1.5\n",
            y, end, y, color);
    fputs("set label ", out);
    mfu_gnuplot_text(out, text);
    fprintf(out, " at first %g,%g %s offset character %s,0 front textcolor '%s'\n", end, y + 0.33,
            inside ? "right" : "left", inside ? "-0.6" : "0.6", color);
}

static void put_legend(FILE *out, const struct piece *pieces, int n, double whole)
{
    int rows = (n + 2) / 3;

    for (int i = 0; i < n; i++) {
        double x = 0.075 + 0.305 * (i / rows), y = 0.255 - 0.055 * (i % rows);

        fprintf(out,
                "set object rectangle from screen %g,%g to screen %g,%g fillcolor rgb '%s' fillstyle solid noborder\n",
                x, y - 0.013, x + 0.018, y + 0.015, pieces[i].color);
        fputs("set label ", out);
        mfu_gnuplot_text(out, pieces[i].name);
        fprintf(out, " at screen %g,%g left textcolor '" MFU_INK "'\n", x + 0.027, y);
        fprintf(out, "set label '%s, %.1f %%' at screen %g,%g right textcolor '" MFU_INK_FAINT "'\n",
                Q(pieces[i].bytes, MFU_BYTES), 100 * pieces[i].bytes / whole, x + 0.285, y);
    }
}

static int script(FILE *out, const struct mfu_plan *p, const struct mfu_simulation *s, struct mfu_error *err)
{
    const struct mfu_memory_answer *m = &p->memory;
    double used = m->smi_bytes + p->config.setting[MFU_S_VRAM_RESERVED], most = fmax(m->capacity_bytes, used);
    struct piece pieces[MOST];
    int n = cut_up(p, pieces);
    char text[160];

    (void)s, (void)err;
    snprintf(text, sizeof text, "Memory at its highest moment: %s", m->peak_at);
    mfu_plot_title(out, p, text);
    fputs("set lmargin at screen 0.075\nset rmargin at screen 0.965\nset tmargin at screen 0.87\nset bmargin at screen "
          "0.37\n"
          "set border 1\nunset ytics\nunset grid\nunset key\nset yrange [0:10]\n",
          out);
    fprintf(out, "set xrange [0:%g]\nset format x '%%g GiB'\n", most / GIB * 1.02);
    put_bar(out, pieces, n, most / GIB);
    snprintf(text, sizeof text, "allocated by tensors %s", Q(m->peak.bytes, MFU_BYTES));
    put_bracket(out, 4.7, m->peak.bytes, most / GIB, text, MFU_INK);
    snprintf(text, sizeof text, "reserved by PyTorch %s", Q(m->reserved_bytes, MFU_BYTES));
    put_bracket(out, 3.1, m->reserved_bytes, most / GIB, text, MFU_INK);
    snprintf(text, sizeof text, "nvidia-smi %s", Q(m->smi_bytes, MFU_BYTES));
    put_bracket(out, 1.5, m->smi_bytes, most / GIB, text, MFU_INK);
    fprintf(out, "set arrow from first %g,0 to first %g,9.1 nohead linecolor '" MFU_ALARM "' linewidth 2 front\n",
            m->capacity_bytes / GIB, m->capacity_bytes / GIB);
    snprintf(text, sizeof text, "%s: %s of %s%s", m->fits ? "fits" : "does not fit", Q(used, MFU_BYTES),
             Q(m->capacity_bytes, MFU_BYTES), m->fits ? "" : " are needed");
    fputs("set label ", out);
    mfu_gnuplot_text(out, text);
    fprintf(out, " at first %g,9.55 right front textcolor '%s'\n", m->capacity_bytes / GIB,
            m->fits ? MFU_INK : MFU_ALARM);
    put_legend(out, pieces, n, m->capacity_bytes);
    fputs("plot NaN notitle\n", out);
    return 0;
}

const struct mfu_plot mfu_plot_split = {
    .name = "split", .summary = "the memory of the card as one bar", .simulated = true, .script = script};
