/*
 * roofline.c - kernels below the roofs of the GPU.
 *
 * A disc's area is the kernel's share of the step.  The largest have names,
 * placed where they cover nothing: all positions are computed here, in pixels
 * of a drawing whose margins are fixed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/kernels.h"
#include "plan/roofline.h"
#include "base/error.h"
#include "base/quantity.h"
#include "report/plot/gnuplot.h"
#include "report/plot/plot.h"
#include "base/short.h"

#define NAMED 10
#define LEAST_NAMED_SHARE 0.008
#define LEAST_SHARE 0.001  /* smaller kernels do not widen the axes */
#define LARGEST_RADIUS 34. /* pixels */
#define SMALLEST_RADIUS 3.5
#define LETTER 6.6 /* pixels of a letter of a label, and of its line */
#define LINE 16.
#define TOGETHER 20. /* pixels: discs that share a name */
#define PI 3.14159265358979

/* Edges of the drawing in pixels, from the lower left. */
static const double left = 120, right = MFU_PICTURE_WIDTH - 195, low = 74, high = MFU_PICTURE_HEIGHT - 86;

struct box {
    double x0, y0, x1, y1;
};

struct disc {
    const struct mfu_kernel_row *row;
    double x, y, r; /* pixels */
    int heap;       /* the disc that names it */
};

struct roofline {
    const struct mfu_plan *plan;
    double least_x, most_x, least_y, most_y; /* log10 of the edges */
    struct disc *discs;                      /* the largest first */
    int n;
    struct box taken[64]; /* by words */
    int n_taken;
    struct box leaders[NAMED]; /* lines from names to discs, end to end */
    int n_leaders;
    double flats[MFU_PEAK_COUNT]; /* y of the flat roofs, pixels */
    int n_flats;
};

/* ---- kinds --------------------------------------------------------------- */

/* ---- where things are ---------------------------------------------------- */

static double px(const struct roofline *g, double intensity)
{
    return left + (log10(intensity) - g->least_x) / (g->most_x - g->least_x) * (right - left);
}

static double py(const struct roofline *g, double flops)
{
    return low + (log10(flops) - g->least_y) / (g->most_y - g->least_y) * (high - low);
}

static int larger(const void *a, const void *b)
{
    const struct disc *x = a, *y = b;

    return (x->row->time_s < y->row->time_s) - (x->row->time_s > y->row->time_s);
}

static double highest_roof(const struct mfu_plan *p)
{
    double most = p->mfu.peak_flops;

    for (int k = 0; k < MFU_PEAK_COUNT; k++)
        if (k == MFU_PEAK_FP32 || k == MFU_PEAK_TF32 || k == MFU_PEAK_BF16 || k == MFU_PEAK_FP16 || k == MFU_PEAK_FP8)
            most = fmax(most, isfinite(p->machine.peak_flops[k]) ? p->machine.peak_flops[k] : 0);
    return most;
}

/* Axes that hold the ridge and the kernels, within six decades each. */
static void choose_axes(struct roofline *g, const struct mfu_kernel_row *rows, int n)
{
    const struct mfu_plan *p = g->plan;
    double ridge = mfu_ridge(&p->machine, p->mfu.peak_flops);
    double least = ridge / 30, most = ridge * 30, slowest = p->mfu.peak_flops / 300;

    for (int i = 0; i < n; i++)
        if (rows[i].flops > 0 && rows[i].share > LEAST_SHARE) {
            least = fmin(least, rows[i].intensity);
            most = fmax(most, rows[i].intensity);
            slowest = fmin(slowest, rows[i].flops_per_s);
        }
    g->least_x = fmax(log10(least) - 0.25, log10(ridge) - 4.5);
    g->most_x = fmin(log10(most) + 0.35, log10(ridge) + 3);
    g->most_y = log10(highest_roof(p)) + 0.35;
    g->least_y = fmax(log10(slowest) - 0.25, g->most_y - 6);
}

static int make_discs(struct roofline *g, const struct mfu_kernel_row *rows, int n)
{
    double most = 1e-9;

    if (!(g->discs = malloc(((size_t)n + 1) * sizeof *g->discs)))
        return -1;
    for (int i = 0; i < n; i++)
        most = fmax(most, rows[i].flops > 0 ? rows[i].share : 0);
    for (int i = 0; i < n; i++)
        if (rows[i].flops > 0 && rows[i].share > 0 && px(g, rows[i].intensity) > left
            && py(g, rows[i].flops_per_s) > low)
            g->discs[g->n++] =
                (struct disc){.row = &rows[i],
                              .x = fmin(px(g, rows[i].intensity), right),
                              .y = fmin(py(g, rows[i].flops_per_s), high),
                              .r = fmax(LARGEST_RADIUS * sqrt(rows[i].share / fmax(most, 0.02)), SMALLEST_RADIUS)};
    qsort(g->discs, (size_t)g->n, sizeof *g->discs, larger);
    return 0;
}

/* ---- places for names ---------------------------------------------------- */

static bool apart(const struct box *a, const struct box *b)
{
    return a->x1 <= b->x0 || b->x1 <= a->x0 || a->y1 <= b->y0 || b->y1 <= a->y0;
}

/* How far a disc reaches into a box, in pixels. */
static double covers(const struct disc *d, const struct box *b)
{
    double dx = fmax(fmax(b->x0 - d->x, d->x - b->x1), 0), dy = fmax(fmax(b->y0 - d->y, d->y - b->y1), 0);

    return fmax(d->r + 1 - hypot(dx, dy), 0);
}

static void take(struct roofline *g, struct box b)
{
    if (g->n_taken < (int)(sizeof g->taken / sizeof g->taken[0]))
        g->taken[g->n_taken++] = b;
}

/* A roof of DRAM, L2 or arithmetic runs through the box. */
static bool on_a_roof(const struct roofline *g, const struct box *b)
{
    const double peak = g->plan->mfu.peak_flops;
    const double slopes[] = {mfu_roof_dram(&g->plan->machine), mfu_roof_l2(&g->plan->machine)};

    for (int i = 0; i < 2; i++)
        for (double x = b->x0; slopes[i] > 0 && x <= b->x1; x += 4) {
            double intensity = pow(10, g->least_x + (x - left) / (right - left) * (g->most_x - g->least_x));
            double y = py(g, fmin(intensity * slopes[i], peak));

            if (y > b->y0 && y < b->y1)
                return true;
        }
    for (int i = 0; i < g->n_flats; i++)
        if (g->flats[i] > b->y0 && g->flats[i] < b->y1)
            return true;
    return false;
}

/* Whether two lines cross. */
static double side(const struct box *l, double x, double y)
{
    return (l->x1 - l->x0) * (y - l->y0) - (l->y1 - l->y0) * (x - l->x0);
}

static bool cross(const struct box *a, const struct box *b)
{
    return side(a, b->x0, b->y0) * side(a, b->x1, b->y1) < 0 && side(b, a->x0, a->y0) * side(b, a->x1, a->y1) < 0;
}

/* Whether a line runs through a box. */
static bool runs_through(const struct box *line, const struct box *b)
{
    struct box up = {b->x0, b->y0, b->x1, b->y1}, down = {b->x0, b->y1, b->x1, b->y0};

    return cross(line, &up) || cross(line, &down);
}

/* From the edge of the name that is nearest to the disc to its middle. */
static struct box leader_of(const struct disc *d, const struct box *b)
{
    return (struct box){fmin(fmax(d->x, b->x0), b->x1), fmin(fmax(d->y, b->y0), b->y1), d->x, d->y};
}

/* What it costs to have the name there; negative: impossible. */
static double price_of(const struct roofline *g, const struct disc *d, const struct box *b, double distance)
{
    struct box leader = leader_of(d, b);
    double cost = distance;

    if (b->x0 < left + 4 || b->x1 > right + 4 || b->y0 < low + 4 || b->y1 > high - 2)
        return -1;
    for (int i = 0; i < g->n_taken; i++)
        if (!apart(b, &g->taken[i]))
            return -1;
    for (int i = 0; i < g->n; i++)
        cost += covers(&g->discs[i], b) * (g->discs[i].row->share > 0.002 ? 40 : 6);
    for (int i = 0; i < g->n_leaders; i++)
        cost += (cross(&leader, &g->leaders[i]) ? 60 : 0) + (runs_through(&g->leaders[i], b) ? 90 : 0);
    for (int i = 0; i < g->n_taken; i++)
        cost += runs_through(&leader, &g->taken[i]) ? 90 : 0;
    return cost + (on_a_roof(g, b) ? 45 : 0);
}

static bool find_place(const struct roofline *g, const struct disc *d, double width, struct box *best)
{
    static const double away[] = {3, 12, 24, 40, 56, 72, 90, 110, 130, 155};
    double least = INFINITY;

    for (size_t k = 0; k < sizeof away / sizeof away[0]; k++)
        for (int i = 0; i < 24; i++) {
            double angle = 2 * PI * i / 24, dx = cos(angle), dy = sin(angle), reach = d->r + away[k];
            /* The middle of the label, so that its nearest edge is that far away. */
            double x = d->x + dx * reach + (dx > 0.1 ? width / 2 : dx < -0.1 ? -width / 2 : 0);
            double y = d->y + dy * reach + (dy > 0.1 ? LINE / 2 : dy < -0.1 ? -LINE / 2 : 0);
            struct box b = {x - width / 2, y - LINE / 2, x + width / 2, y + LINE / 2};
            double cost = price_of(g, d, &b, away[k] + (i % 12 == 0 ? 0 : 2));

            if (cost >= 0 && cost < least) {
                least = cost;
                *best = b;
            }
        }
    return isfinite(least);
}

/* Discs of the same kind around a larger one make a heap, which has one name. */
static void make_heaps(struct roofline *g)
{
    for (int i = 0; i < g->n; i++) {
        struct disc *d = &g->discs[i];

        d->heap = i;
        for (int k = 0; k < i; k++)
            if (g->discs[k].heap == k && hypot(g->discs[k].x - d->x, g->discs[k].y - d->y) < TOGETHER
                && mfu_kinds[g->discs[k].row->kind].group == mfu_kinds[d->row->kind].group) {
                d->heap = k;
                break;
            }
    }
}

/* "h.mlp.fc 4.1 %", "h.mlp.fc and 3 more: 12.0 %"; returns the share. */
static double name_heap(const struct roofline *g, int first, char *buf, size_t size)
{
    double share = 0;
    int members = 0;

    for (int i = first; i < g->n; i++)
        if (g->discs[i].heap == first) {
            share += g->discs[i].row->share;
            members += g->discs[i].row->share >= LEAST_SHARE;
        }
    if (members > 1)
        snprintf(buf, size, "%s and %d more: %.1f %%", g->discs[first].row->name, members - 1, 100 * share);
    else
        snprintf(buf, size, "%s %.1f %%", g->discs[first].row->name, 100 * share);
    return share;
}

static void name_discs(FILE *out, struct roofline *g)
{
    make_heaps(g);
    for (int i = 0; i < g->n && g->n_leaders < NAMED; i++) {
        const struct disc *d = &g->discs[i];
        char text[160] = "";
        struct box b = {0}, leader;

        if (d->heap != i || (name_heap(g, i, text, sizeof text) < LEAST_NAMED_SHARE && i >= 3))
            continue;
        if (!find_place(g, d, LETTER * (double)strlen(text) + 4, &b))
            continue;
        take(g, b);
        fputs("set label ", out);
        mfu_gnuplot_text(out, text);
        fprintf(out, " at screen %.5f,%.5f center front font ',12' textcolor '" MFU_INK "'\n",
                (b.x0 + b.x1) / 2 / MFU_PICTURE_WIDTH, (b.y0 + b.y1) / 2 / MFU_PICTURE_HEIGHT);
        leader = g->leaders[g->n_leaders++] = leader_of(d, &b);
        if (hypot(leader.x0 - d->x, leader.y0 - d->y) > d->r + 7)
            fprintf(out,
                    "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead front linecolor '" MFU_INK_FAINT
                    "' linewidth 0.8\n",
                    leader.x0 / MFU_PICTURE_WIDTH, leader.y0 / MFU_PICTURE_HEIGHT, d->x / MFU_PICTURE_WIDTH,
                    d->y / MFU_PICTURE_HEIGHT);
    }
}

/* ---- the roofs ----------------------------------------------------------- */

static void segment(FILE *out, const struct roofline *g, double x0, double y0, double x1, double y1, const char *style)
{
    double edge = pow(10, g->least_x);

    if (x0 < edge) { /* slopes begin at the edge */
        y0 *= y1 > y0 ? edge / x0 : 1;
        x0 = edge;
    }
    if (y0 < pow(10, g->least_y)) {
        x0 *= pow(10, g->least_y) / y0;
        y0 = pow(10, g->least_y);
    }
    fprintf(out, "set arrow from first %.6g,%.6g to first %.6g,%.6g nohead %s\n", x0, y0, x1, y1, style);
}

/* A text along a slope, above it; it keeps its place free. */
static void along_slope(FILE *out, struct roofline *g, double bytes_s, double peak, const char *text)
{
    double angle = atan2((high - low) / (g->most_y - g->least_y), (right - left) / (g->most_x - g->least_x));
    double end = log10(peak / bytes_s), begin = fmax(g->least_x, g->least_y - log10(bytes_s));
    double length = LETTER * (double)strlen(text), x = 0, y = 0, least = INFINITY;

    for (double share = 0.3; share < 0.9; share += 0.04) { /* where no disc is below it */
        double at = begin + share * (end - begin), cost = 20 * fabs(share - 0.5);
        double tx = px(g, pow(10, at)) - 12 * sin(angle), ty = py(g, pow(10, at) * bytes_s) + 12 * cos(angle);

        for (int k = -4; k <= 4; k++) {
            double mx = tx + k * length / 8 * cos(angle), my = ty + k * length / 8 * sin(angle);

            for (int i = 0; i < g->n; i++)
                cost += covers(&g->discs[i], &(struct box){mx - 6, my - 8, mx + 6, my + 8});
        }
        if (cost < least) {
            least = cost;
            x = tx, y = ty;
        }
    }
    fputs("set label ", out);
    mfu_gnuplot_text(out, text);
    fprintf(out, " at screen %.5f,%.5f center rotate by %.1f font ',12' textcolor '" MFU_INK "'\n",
            x / MFU_PICTURE_WIDTH, y / MFU_PICTURE_HEIGHT, angle * 180 / PI);
    for (int i = -3; i <= 3; i++) {
        double mx = x + i * length / 7 * cos(angle), my = y + i * length / 7 * sin(angle);

        take(g, (struct box){mx - length / 12, my - 8, mx + length / 12, my + 8});
    }
}

/* Named in the margin on the right. */
static void flat_roof(FILE *out, struct roofline *g, double flops, const char *text, bool used)
{
    double l2 = mfu_roof_l2(&g->plan->machine), bandwidth = l2 > 0 ? l2 : mfu_roof_dram(&g->plan->machine);
    double y = py(g, flops);

    segment(out, g, flops / bandwidth, flops, pow(10, g->most_x), flops,
            used ? "linecolor '" MFU_INK "' linewidth 2.5" : "linecolor '" MFU_INK_FAINT "' linewidth 1.2 dashtype 2");
    fputs("set label ", out);
    mfu_gnuplot_text(out, text);
    fprintf(out, " at screen %.5f,%.5f left font ',12' textcolor '%s'\n", (right + 8) / MFU_PICTURE_WIDTH,
            y / MFU_PICTURE_HEIGHT, used ? MFU_INK : MFU_INK_FAINT);
    g->flats[g->n_flats++] = y;
}

/* The peaks of the precisions that people train in; equal ones share a line. */
static void flat_roofs(FILE *out, struct roofline *g)
{
    static const enum mfu_peak shown[] = {MFU_PEAK_FP32, MFU_PEAK_TF32, MFU_PEAK_FP16, MFU_PEAK_BF16, MFU_PEAK_FP8};
    const int n = sizeof shown / sizeof shown[0];
    const double *peak = g->plan->machine.peak_flops;

    for (int i = 0; i < n; i++) {
        char text[128] = "";
        bool used = false, before = false;
        int names = 0;

        for (int k = 0; k < n; k++) {
            if (!(peak[shown[k]] > 0) || fabs(peak[shown[k]] - peak[shown[i]]) > 0.01 * peak[shown[i]])
                continue;
            before |= k < i;
            used |= shown[k] == g->plan->mfu.peak;
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", names++ ? ", " : "",
                     mfu_peak_names[shown[k]]);
        }
        if (before || names == 0)
            continue;
        snprintf(text + strlen(text), sizeof text - strlen(text), " %s", Q(peak[shown[i]], MFU_FLOP_PER_S));
        flat_roof(out, g, peak[shown[i]], text, used);
    }
}

static void slopes(FILE *out, struct roofline *g)
{
    const struct mfu_machine *m = &g->plan->machine;
    double peak = g->plan->mfu.peak_flops, top = highest_roof(g->plan);
    char text[96];

    if (m->l2_bytes > 0 && m->l2_bytes_s > 0) {
        segment(out, g, 1e-9, 1e-9 * m->l2_bytes_s, top / m->l2_bytes_s, top,
                "linecolor '" MFU_INK_FAINT "' linewidth 1.2 dashtype 2");
        snprintf(text, sizeof text, "L2 %s", Q(m->l2_bytes_s, MFU_BYTES_PER_S));
        along_slope(out, g, m->l2_bytes_s, peak, text);
    }
    segment(out, g, 1e-9, 1e-9 * mfu_roof_dram(m), mfu_ridge(m, peak), peak, "linecolor '" MFU_INK "' linewidth 2.5");
    snprintf(text, sizeof text, "DRAM %s", Q(mfu_roof_dram(m), MFU_BYTES_PER_S));
    along_slope(out, g, mfu_roof_dram(m), peak, text);
}

/* ---- the rest ------------------------------------------------------------ */

/* In the upper left, above the roofs. */
static void legend(FILE *out, struct roofline *g)
{
    double y = high - 16, x = left + 20;
    bool there[MFU_GROUP_COUNT] = {false};

    for (int i = 0; i < g->n; i++)
        there[mfu_kinds[g->discs[i].row->kind].group] = true;
    for (int k = 0; k < MFU_GROUP_COUNT; k++) {
        if (!there[k])
            continue;
        fprintf(out,
                "set object circle at screen %.5f,%.5f size screen 0.0065 fillcolor rgb '%s' fillstyle solid 0.8 "
                "noborder\n",
                x / MFU_PICTURE_WIDTH, y / MFU_PICTURE_HEIGHT, mfu_kind_groups[k].color);
        fprintf(out, "set label '%s' at screen %.5f,%.5f left font ',12' textcolor '" MFU_INK "'\n",
                mfu_kind_groups[k].name, (x + 16) / MFU_PICTURE_WIDTH, y / MFU_PICTURE_HEIGHT);
        y -= 22;
    }
    fprintf(out,
            "set label 'area: share of the step' at screen %.5f,%.5f left font ',12' textcolor '" MFU_INK_FAINT "'\n",
            (x - 7) / MFU_PICTURE_WIDTH, y / MFU_PICTURE_HEIGHT);
    fprintf(out,
            "set object rectangle from screen %.5f,%.5f to screen %.5f,%.5f behind fillcolor rgb '#ffffff' fillstyle "
            "solid noborder\n",
            (left + 4) / MFU_PICTURE_WIDTH, (y - 12) / MFU_PICTURE_HEIGHT, (left + 205) / MFU_PICTURE_WIDTH,
            (high - 2) / MFU_PICTURE_HEIGHT);
    take(g, (struct box){left, y - 12, left + 210, high});
}

static void put_discs(FILE *out, const struct roofline *g)
{
    for (int i = 0; i < g->n; i++) {
        const struct disc *d = &g->discs[i];

        fprintf(out,
                "set object circle at screen %.5f,%.5f size screen %.5f fillcolor rgb '%s' fillstyle transparent solid "
                "0.75 "
                "border linecolor rgb '#ffffff' linewidth 1\n",
                d->x / MFU_PICTURE_WIDTH, d->y / MFU_PICTURE_HEIGHT, d->r / MFU_PICTURE_WIDTH,
                mfu_kind_groups[mfu_kinds[d->row->kind].group].color);
    }
}

static void axes(FILE *out, const struct roofline *g)
{
    fprintf(out,
            "set lmargin at screen %.5f\nset rmargin at screen %.5f\nset bmargin at screen %.5f\nset tmargin at screen "
            "%.5f\n",
            left / MFU_PICTURE_WIDTH, right / MFU_PICTURE_WIDTH, low / MFU_PICTURE_HEIGHT, high / MFU_PICTURE_HEIGHT);
    fprintf(out,
            "set logscale xy\nset xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\nunset key\nunset mxtics\nunset mytics\n",
            pow(10, g->least_x), pow(10, g->most_x), pow(10, g->least_y), pow(10, g->most_y));
    fputs("set tics font ',12'\nset xlabel 'FLOP per byte of DRAM traffic' textcolor '" MFU_INK "'\nset xtics (", out);
    for (int k = (int)ceil(g->least_x), first = k; k <= (int)floor(g->most_x); k++)
        fprintf(out, "%s'%g' 1e%d", k > first ? ", " : "", pow(10, k), k);
    fputs(")\nset ytics (", out);
    for (int k = (int)ceil(g->least_y), first = k; k <= (int)floor(g->most_y); k++)
        fprintf(out, "%s'%s' 1e%d", k > first ? ", " : "", Q(pow(10, k), MFU_FLOP_PER_S), k);
    fputs(")\n", out);
}

static void caption(FILE *out, const struct mfu_kernel_row *rows, int n)
{
    double without = 0;

    for (int i = 0; i < n; i++)
        without += rows[i].flops > 0 ? 0 : rows[i].share;
    if (without > 0.0005)
        fprintf(out,
                "set label 'not drawn: kernels that only move data, %.1f %% of the step' at screen 0.97,0.026 right "
                "font ',12' textcolor '" MFU_INK_FAINT "'\n",
                100 * without);
}

static int script(FILE *out, const struct mfu_plan *p, const struct mfu_simulation *s, struct mfu_error *err)
{
    struct roofline g = {.plan = p};
    struct mfu_kernel_row *rows;
    int n = mfu_kernel_rows(p, &rows, NULL);

    (void)s;
    if (n < 0)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    choose_axes(&g, rows, n);
    if (make_discs(&g, rows, n) < 0) {
        free(rows);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    mfu_plot_title(out, p, "Kernels on the roofline");
    axes(out, &g);
    slopes(out, &g);
    flat_roofs(out, &g);
    legend(out, &g);
    put_discs(out, &g);
    name_discs(out, &g);
    caption(out, rows, n);
    fputs("plot NaN notitle\n", out);
    free(g.discs);
    free(rows);
    return 0;
}

const struct mfu_plot mfu_plot_roofline = {
    .name = "roofline", .summary = "kernels below the roofs of the GPU", .script = script};
