/*
 * roofline.c - kernels below the roofs of the GPU.
 *
 * A disc's area is the kernel's share of the step.  On a page discs carry the
 * numbers of the table below it, in a picture the largest have names; labels
 * are beside the discs, placed where they cover nothing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/short.h"
#include "plan/gpu_activity.h"
#include "plan/roofline.h"
#include "report/draw/canvas.h"

#define NAMED 10
#define LEAST_NAMED_SHARE 0.008
#define LEAST_SHARE 0.001 /* smaller kernels do not widen the axes */
#define TOGETHER 16.      /* units: discs that share a label */
#define PI 3.14159265358979

struct box {
    double x0, y0, x1, y1;
};

struct disc {
    const struct mfu_kernel_row *row;
    int number; /* the longest has 1 */
    double x, y, r;
    bool labelled; /* or shares a label */
};

struct roofline {
    struct mfu_canvas *canvas;
    const struct mfu_plan *plan;
    double x0, x1, y0, y1;                   /* edges; y0 above */
    double least_x, most_x, least_y, most_y; /* log10 of them */
    double slopes[2], peak;                  /* log10 of the roofs; NaN: unknown */
    struct disc *discs;                      /* the largest first */
    int n;
    struct box taken[MFU_NUMBERED + 24];
    int n_taken;
};

/* ---- where things are ------------------------------------------------------- */

static double at_x(const struct roofline *g, double intensity)
{
    return g->x0 + (log10(intensity) - g->least_x) / (g->most_x - g->least_x) * (g->x1 - g->x0);
}

static double at_y(const struct roofline *g, double flops)
{
    return g->y1 - (log10(flops) - g->least_y) / (g->most_y - g->least_y) * (g->y1 - g->y0);
}

/* The peaks of the precisions that people train in, which a picture shows beside the plan's own. */
static const enum mfu_peak peaks[] = {MFU_PEAK_FP32, MFU_PEAK_TF32, MFU_PEAK_FP16, MFU_PEAK_BF16, MFU_PEAK_FP8};
enum { PEAKS = sizeof peaks / sizeof peaks[0] };

static double highest_roof(const struct roofline *g)
{
    double most = g->plan->mfu.peak_flops;

    for (int k = 0; k < PEAKS && g->canvas->picture; k++)
        most = fmax(most, isfinite(g->plan->machine.peak_flops[peaks[k]]) ? g->plan->machine.peak_flops[peaks[k]] : 0);
    return most;
}

/* Axes that hold the ridge and the kernels, within six decades each. */
static void choose_axes(struct roofline *g, const struct mfu_kernel_row *rows, int n)
{
    double peak = g->plan->mfu.peak_flops, ridge = mfu_ridge(&g->plan->machine, peak);
    double least = ridge / 30, most = ridge * (g->canvas->picture ? 200 : 10), slowest = peak / 300;

    for (int i = 0; i < n; i++)
        if (rows[i].flops > 0 && rows[i].share > LEAST_SHARE) {
            least = fmin(least, rows[i].intensity);
            most = fmax(most, rows[i].intensity);
            slowest = fmin(slowest, rows[i].flops_per_s);
        }
    g->least_x = fmax(log10(least) - 0.25, log10(ridge) - 4.5);
    g->most_x = fmin(log10(most) + 0.35, log10(ridge) + 3);
    g->most_y = log10(highest_roof(g)) + 0.5;
    g->least_y = fmax(log10(slowest) - 0.25, g->most_y - 6);
}

static void make_discs(struct roofline *g, const struct mfu_kernel_row *rows, int n)
{
    double largest = g->x1 - g->x0 > 400 ? 26 : 16, most = 0.02;

    g->n = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, rows[i].flops > 0 ? rows[i].share : 0);
    for (int i = 0; i < n; i++) {
        struct disc d = {.row = &rows[i], .number = i + 1};

        if (!(rows[i].flops > 0 && rows[i].share > 0) || at_x(g, rows[i].intensity) < g->x0
            || at_y(g, rows[i].flops_per_s) > g->y1)
            continue;
        d.x = fmin(at_x(g, rows[i].intensity), g->x1);
        d.y = fmax(at_y(g, rows[i].flops_per_s), g->y0);
        d.r = fmax(largest * sqrt(rows[i].share / most), 2.5);
        g->discs[g->n++] = d;
    }
}

/* ---- places for labels ------------------------------------------------------- */

static void take(struct roofline *g, struct box b)
{
    if (g->n_taken < (int)(sizeof g->taken / sizeof g->taken[0]))
        g->taken[g->n_taken++] = b;
}

static bool apart(const struct box *a, const struct box *b)
{
    return a->x1 <= b->x0 || b->x1 <= a->x0 || a->y1 <= b->y0 || b->y1 <= a->y0;
}

/* How far a disc reaches into a box. */
static double covers(const struct disc *d, const struct box *b)
{
    double left = b->x0 - d->x, right = d->x - b->x1, above = b->y0 - d->y, below = d->y - b->y1, reach = d->r + 1;

    if (left >= reach || right >= reach || above >= reach || below >= reach)
        return 0;
    return fmax(reach - hypot(fmax(fmax(left, right), 0), fmax(fmax(above, below), 0)), 0);
}

/* A roof runs through the box. */
static bool on_a_roof(const struct roofline *g, const struct box *b)
{
    double per_x = (g->most_x - g->least_x) / (g->x1 - g->x0), per_y = (g->y1 - g->y0) / (g->most_y - g->least_y);

    for (int i = 0; i < 2; i++)
        for (double x = b->x0; g->slopes[i] == g->slopes[i] && x <= b->x1; x += 3) {
            double flops = g->least_x + (x - g->x0) * per_x + g->slopes[i];
            double y = g->y1 - ((flops < g->peak ? flops : g->peak) - g->least_y) * per_y;

            if (y > b->y0 && y < b->y1)
                return true;
        }
    return false;
}

/* What it costs to have the label there; infinite: impossible, or no less than `most`. */
static double cost_of(const struct roofline *g, const struct box *b, double distance, double most)
{
    double cost = distance;

    if (distance >= most)
        return INFINITY;
    if (b->x0 < g->x0 || b->x1 > g->x1 || b->y0 < g->y0 || b->y1 > g->y1)
        return INFINITY;
    for (int i = 0; i < g->n_taken; i++)
        if (!apart(b, &g->taken[i]))
            return INFINITY;
    cost += on_a_roof(g, b) ? 30 : 0;
    for (int i = 0; i < g->n && cost < most; i++)
        cost += 4 * covers(&g->discs[i], b);
    return cost;
}

static void put_label(struct roofline *g, const struct disc *d, const char *text)
{
    double width = mfu_label_width(text) + 4, height = 15, least = INFINITY, where = 0;
    struct box best = {0};

    for (double away = 3; away < 120; away += 9)
        for (int i = 0; i < 16; i++) {
            double angle = i * PI / 8, x = d->x + (d->r + away + width / 2) * cos(angle);
            double y = d->y + (d->r + away + height / 2) * sin(angle), cost;
            struct box b = {x - width / 2, y - height / 2, x + width / 2, y + height / 2};

            if ((cost = cost_of(g, &b, 0.6 * away, least)) < least) {
                least = cost;
                best = b;
                where = away;
            }
        }
    if (!isfinite(least))
        return; /* its row is in the table */
    take(g, best);
    if (where > 10)
        mfu_draw_line(g->canvas, "leader", d->x, d->y, fmin(fmax(d->x, best.x0), best.x1),
                      fmin(fmax(d->y, best.y0), best.y1));
    mfu_draw_text(g->canvas, "", (best.x0 + best.x1) / 2, best.y1 - 3, MFU_MIDDLE, text);
}

/* "2–12, 15", of the discs here. */
static void number_label(char *buf, size_t size, const bool *here)
{
    *buf = '\0';
    for (int i = 1; i <= MFU_NUMBERED; i++) {
        int last = i;

        if (!here[i])
            continue;
        while (last < MFU_NUMBERED && here[last + 1])
            last++;
        snprintf(buf + strlen(buf), size - strlen(buf),
                 last == i           ? "%s%d"
                     : last == i + 1 ? "%s%d, %d"
                                     : "%s%d–%d",
                 *buf ? ", " : "", i, last);
        i = last;
    }
}

/* Discs that lie together have one label: their numbers, or the name of the largest. */
static void put_labels(struct roofline *g)
{
    for (int i = 0, named = 0; i < g->n && named < (g->canvas->picture ? NAMED : MFU_NUMBERED); i++) {
        bool here[MFU_NUMBERED + 1] = {false};
        double share = 0;
        int members = 0;
        char text[160];

        if (g->discs[i].labelled || (!g->canvas->picture && g->discs[i].number > MFU_NUMBERED))
            continue;
        for (int k = i; k < g->n; k++) {
            struct disc *d = &g->discs[k];

            if (d->labelled || hypot(d->x - g->discs[i].x, d->y - g->discs[i].y) > TOGETHER)
                continue;
            d->labelled = true;
            share += d->row->share;
            members += d->row->share >= LEAST_SHARE;
            if (d->number <= MFU_NUMBERED)
                here[d->number] = true;
        }
        if (!g->canvas->picture)
            number_label(text, sizeof text, here);
        else if (share < LEAST_NAMED_SHARE && i >= 3)
            continue;
        else if (members > 1)
            snprintf(text, sizeof text, "%s and %d more: %s", g->discs[i].row->name, members - 1, P(share));
        else
            snprintf(text, sizeof text, "%s %s", g->discs[i].row->name, P(share));
        put_label(g, &g->discs[i], text);
        named++;
    }
}

/* ---- roofs and axes -------------------------------------------------------------- */

/* From the left or lower edge up to the flat roof, and along it if `flat`. */
static void roof(const struct roofline *g, const char *class, double bytes_s, bool flat)
{
    double peak = g->plan->mfu.peak_flops, least = pow(10, g->least_x);
    double from = fmax(least, pow(10, g->least_y) / bytes_s), ridge = peak / bytes_s;

    mfu_path_begin(g->canvas, class);
    mfu_path_to(g->canvas, at_x(g, fmin(from, ridge)), at_y(g, fmin(from, ridge) * bytes_s));
    mfu_path_to(g->canvas, at_x(g, fmax(ridge, least)), at_y(g, peak));
    if (flat)
        mfu_path_to(g->canvas, g->x1, at_y(g, peak));
    mfu_path_end(g->canvas, NULL);
}

/* A name along a slope, above it, where the fewest discs are below it. */
static void slope_name(struct roofline *g, double bytes_s, const char *text)
{
    double angle = atan2((g->y1 - g->y0) / (g->most_y - g->least_y), (g->x1 - g->x0) / (g->most_x - g->least_x));
    double end = log10(g->plan->mfu.peak_flops / bytes_s), begin = fmax(g->least_x, g->least_y - log10(bytes_s));
    double length = mfu_label_width(text), x = 0, y = 0, least = INFINITY;

    for (double share = 0.2; share < 0.9; share += 0.04) {
        double at = begin + share * (end - begin), cost = 20 * fabs(share - 0.5);
        double mx = at_x(g, pow(10, at)) - 7 * sin(angle), my = at_y(g, pow(10, at) * bytes_s) - 7 * cos(angle);

        for (int k = -4; k <= 4; k++) {
            double bx = mx + k * length / 8 * cos(angle), by = my - k * length / 8 * sin(angle);

            for (int i = 0; i < g->n_taken; i++)
                cost += apart(&g->taken[i], &(struct box){bx - 10, by - 14, bx + 10, by + 10}) ? 0 : 20;
            for (int i = 0; i < g->n; i++)
                cost += covers(&g->discs[i], &(struct box){bx - 6, by - 9, bx + 6, by + 5});
            cost += bx < g->x0 + 4 || bx > g->x1 || by < g->y0 || by > g->y1 - 4 ? 100 : 0;
        }
        if (cost < least)
            least = cost, x = mx, y = my;
    }
    if (least > 300)
        return;
    mfu_draw_turned(g->canvas, "", x, y, -angle * 180 / PI, text);
    for (int k = -3; k <= 3; k++) {
        double bx = x + k * length / 7 * cos(angle), by = y - k * length / 7 * sin(angle);

        take(g, (struct box){bx - length / 13, by - 12, bx + length / 13, by + 6});
    }
}

static void roofs(struct roofline *g)
{
    const struct mfu_machine *m = &g->plan->machine;
    char text[96];

    if (m->l2_bytes > 0 && m->l2_bytes_s > 0) {
        roof(g, "roof thin", m->l2_bytes_s, false);
        snprintf(text, sizeof text, "L2 %s", Q(m->l2_bytes_s, MFU_BYTES_PER_S));
        slope_name(g, m->l2_bytes_s, text);
    }
    roof(g, "roof", mfu_roof_dram(m), true);
    snprintf(text, sizeof text, "DRAM %s", Q(mfu_roof_dram(m), MFU_BYTES_PER_S));
    slope_name(g, mfu_roof_dram(m), text);
}

/* Above the flat roof, as near to it as discs allow. */
static void peak_name(struct roofline *g)
{
    double peak = g->plan->mfu.peak_flops, roof = at_y(g, peak), length, least = INFINITY;
    struct box best = {0};
    char text[96];

    snprintf(text, sizeof text, "%s %s", mfu_peak_names[g->plan->mfu.peak], Q(peak, MFU_FLOP_PER_S));
    length = mfu_label_width(text);
    for (double x = g->x1 - length; x > g->x1 - length - 90; x -= 6)
        for (double y = roof - 4; y - 14 > 0; y -= 4) {
            struct box b = {x, y - 14, x + length, y};
            double cost = (g->x1 - length - x) / 10 + (roof - y) / 4;

            for (int i = 0; i < g->n; i++)
                cost += 4 * covers(&g->discs[i], &b);
            for (int i = 0; i < g->n_taken; i++)
                cost += apart(&g->taken[i], &b) ? 0 : 100;
            if (cost < least)
                least = cost, best = b;
        }
    take(g, best);
    mfu_draw_text(g->canvas, "", best.x0, best.y1 - 3, MFU_START, text);
}

static void axes(const struct roofline *g)
{
    char text[MFU_QUANTITY_MAX];
    int every = g->most_x - g->least_x > 5.5 && g->x1 - g->x0 < 400 ? 2 : 1;

    for (int k = (int)ceil(g->least_x); k <= (int)floor(g->most_x); k++) {
        double x = at_x(g, pow(10, k));

        mfu_draw_line(g->canvas, "grid", x, g->y0, x, g->y1);
        snprintf(text, sizeof text, "%g", pow(10, k));
        if (k % every == 0)
            mfu_draw_text(g->canvas, "faint", x, g->y1 + 16, MFU_MIDDLE, text);
    }
    for (int k = (int)ceil(g->least_y); k <= (int)floor(g->most_y); k++) {
        double y = at_y(g, pow(10, k));
        char *unit;

        mfu_draw_line(g->canvas, "grid", g->x0, y, g->x1, y);
        mfu_quantity_format(text, pow(10, k), MFU_FLOP_PER_S);
        if ((unit = strstr(text, "FLOP/s")))
            *unit = '\0';
        mfu_draw_text(g->canvas, "faint", g->x0 - 6, y + 4, MFU_END, text);
    }
    mfu_draw_text(g->canvas, "faint", 0, 11, MFU_START, "FLOP/s");
    mfu_draw_text(g->canvas, "faint", (g->x0 + g->x1) / 2, g->y1 + 33, MFU_MIDDLE, "FLOP per byte of DRAM traffic");
}

/* The other peaks, named at their right end; equal ones share a line. */
static void other_peaks(struct roofline *g)
{
    const double *peak = g->plan->machine.peak_flops;

    for (int i = 0; i < PEAKS; i++) {
        double from = peak[peaks[i]] / fmax(mfu_roof_dram(&g->plan->machine), mfu_roof_l2(&g->plan->machine));
        double y = at_y(g, peak[peaks[i]]);
        char text[128] = "";
        bool done = false;

        for (int k = 0; k < PEAKS; k++) {
            if (!(peak[peaks[k]] > 0) || fabs(peak[peaks[k]] - peak[peaks[i]]) > 0.01 * peak[peaks[i]])
                continue;
            done |= k < i || peaks[k] == g->plan->mfu.peak;
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? ", " : "",
                     mfu_peak_names[peaks[k]]);
        }
        if (done || !*text || y > g->y1)
            continue;
        snprintf(text + strlen(text), sizeof text - strlen(text), " %s", Q(peak[peaks[i]], MFU_FLOP_PER_S));
        mfu_path_begin(g->canvas, "roof thin");
        mfu_path_to(g->canvas, fmax(at_x(g, from), g->x0), y);
        mfu_path_to(g->canvas, g->x1, y);
        mfu_path_end(g->canvas, NULL);
        mfu_draw_text(g->canvas, "faint", g->x1, y - 4, MFU_END, text);
        take(g, (struct box){g->x1 - mfu_label_width(text), y - 16, g->x1, y});
    }
}

static void chart(struct roofline *g, const struct mfu_kernel_row *rows, int n)
{
    g->slopes[0] = log10(mfu_roof_dram(&g->plan->machine));
    g->slopes[1] = mfu_roof_l2(&g->plan->machine) > 0 ? log10(mfu_roof_l2(&g->plan->machine)) : NAN;
    g->peak = log10(g->plan->mfu.peak_flops);
    g->x0 = 50, g->x1 = g->canvas->width - 8, g->y0 = 20, g->y1 = g->canvas->height - 40;
    g->n_taken = 0;
    choose_axes(g, rows, n);
    make_discs(g, rows, n);
    axes(g);
    roofs(g);
    if (g->canvas->picture)
        other_peaks(g);
    for (int i = 0; i < g->n; i++) {
        const struct disc *d = &g->discs[i];
        char class[24], tip[192];

        snprintf(class, sizeof class, "disc sort%d", (int)mfu_sort_of(d->row->kind));
        snprintf(tip, sizeof tip, "%s: %s, %s", d->row->name, P(d->row->share), Q(d->row->flops_per_s, MFU_FLOP_PER_S));
        mfu_draw_circle(g->canvas, class, d->x, d->y, d->r, tip);
    }
    peak_name(g);
    put_labels(g);
}

static void keys(struct mfu_canvas *c, const struct mfu_kernel_row *rows, int n)
{
    bool there[MFU_SORT_COUNT] = {false};
    double without = mfu_roofline_without(rows, n);
    char class[] = "sort0";

    for (int i = 0; i < n; i++)
        there[mfu_sort_of(rows[i].kind)] |= rows[i].flops > 0;
    for (int k = 0; k < MFU_SORT_COUNT; k++) {
        class[4] = (char)('0' + k);
        if (there[k])
            mfu_canvas_key(c, class, false, "%s", mfu_sort_titles[k]);
    }
    if (without > 0.0005)
        mfu_canvas_key(c, NULL, false, "area: share of the step; kernels that only move data, %s of it, are not drawn",
                       P(without));
    else
        mfu_canvas_key(c, NULL, false, "area: share of the step");
}

static int draw(struct mfu_canvas *c, const struct mfu_plan *p, const struct mfu_simulation *s, struct mfu_error *err)
{
    struct roofline g = {.canvas = c, .plan = p};
    struct mfu_kernel_row *rows;
    int n = mfu_kernel_rows(p, &rows, NULL);

    (void)s;
    if (n < 0 || !(g.discs = malloc(((size_t)n + 1) * sizeof *g.discs))) {
        if (n >= 0)
            free(rows);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    mfu_kernels_by_time(rows, n);
    keys(c, rows, n);
    while (mfu_canvas_next(c, "", "kernels below the roofs of the GPU", 440, 360))
        chart(&g, rows, n);
    free(g.discs);
    free(rows);
    return 0;
}

const struct mfu_figure mfu_figure_roofline = {.name = "roofline",
                                               .summary = "kernels below the roofs of the GPU",
                                               .title = "Kernels on the roofline",
                                               .draw = draw};
