/*
 * roofline.c - kernels below the roofs of the GPU, and the longest of them
 * as a table.
 *
 * A disc's area is the kernel's share of the step.  Discs carry the numbers of
 * the table, beside them where they are small, placed where they cover nothing.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/html.h"
#include "plan/kernels.h"
#include "plan/roofline.h"
#include "plan/gpu_activity.h"
#include "report/html/section.h"
#include "report/html/svg.h"

#define NUMBERED 18
#define LEAST_SHARE 0.001 /* smaller kernels do not widen the axes */
#define TOGETHER 16.      /* units: discs that share a number's place */
#define PI 3.14159265358979

struct box {
    double x0, y0, x1, y1;
};

struct disc {
    const struct mfu_kernel_row *row;
    int number; /* in the table; 0: none */
    double x, y, r;
};

struct roofline {
    const struct mfu_plan *plan;
    double x0, x1, y0, y1;                   /* edges; y0 above */
    double least_x, most_x, least_y, most_y; /* log10 of them */
    struct disc *discs;                      /* the largest first */
    int n;
    struct box taken[NUMBERED + 16];
    int n_taken;
};

static int longer(const void *a, const void *b)
{
    const struct mfu_kernel_row *x = a, *y = b;

    return (x->time_s < y->time_s) - (x->time_s > y->time_s);
}

/* ---- where things are ------------------------------------------------------- */

static double at_x(const struct roofline *g, double intensity)
{
    return g->x0 + (log10(intensity) - g->least_x) / (g->most_x - g->least_x) * (g->x1 - g->x0);
}

static double at_y(const struct roofline *g, double flops)
{
    return g->y1 - (log10(flops) - g->least_y) / (g->most_y - g->least_y) * (g->y1 - g->y0);
}

/* Axes that hold the ridge and the kernels, within six decades each. */
static void choose_axes(struct roofline *g, const struct mfu_kernel_row *rows, int n)
{
    double peak = g->plan->mfu.peak_flops, ridge = mfu_ridge(&g->plan->machine, peak);
    double least = ridge / 30, most = ridge * 10, slowest = peak / 300;

    for (int i = 0; i < n; i++)
        if (rows[i].flops > 0 && rows[i].share > LEAST_SHARE) {
            least = fmin(least, rows[i].intensity);
            most = fmax(most, rows[i].intensity);
            slowest = fmin(slowest, rows[i].flops_per_s);
        }
    g->least_x = fmax(log10(least) - 0.25, log10(ridge) - 4.5);
    g->most_x = fmin(log10(most) + 0.35, log10(ridge) + 3);
    g->most_y = log10(peak) + 0.5;
    g->least_y = fmax(log10(slowest) - 0.25, g->most_y - 6);
}

static void make_discs(struct roofline *g, const struct mfu_kernel_row *rows, int n)
{
    double largest = g->x1 - g->x0 > 400 ? 26 : 16, most = 0.02;

    g->n = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, rows[i].flops > 0 ? rows[i].share : 0);
    for (int i = 0; i < n; i++) {
        struct disc d = {.row = &rows[i], .number = i < NUMBERED ? i + 1 : 0};

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
    double dx = fmax(fmax(b->x0 - d->x, d->x - b->x1), 0), dy = fmax(fmax(b->y0 - d->y, d->y - b->y1), 0);

    return fmax(d->r + 1 - hypot(dx, dy), 0);
}

/* A roof runs through the box. */
static bool on_a_roof(const struct roofline *g, const struct box *b)
{
    const struct mfu_machine *m = &g->plan->machine;
    const double slopes[] = {mfu_roof_dram(m), mfu_roof_l2(m)};

    for (int i = 0; i < 2; i++)
        for (double x = b->x0; slopes[i] > 0 && x <= b->x1; x += 3) {
            double intensity = pow(10, g->least_x + (x - g->x0) / (g->x1 - g->x0) * (g->most_x - g->least_x));
            double y = at_y(g, fmin(intensity * slopes[i], g->plan->mfu.peak_flops));

            if (y > b->y0 && y < b->y1)
                return true;
        }
    return false;
}

/* What it costs to have the label there; infinite: impossible. */
static double cost_of(const struct roofline *g, const struct box *b, double distance)
{
    double cost = distance + (on_a_roof(g, b) ? 30 : 0);

    if (b->x0 < g->x0 || b->x1 > g->x1 || b->y0 < g->y0 || b->y1 > g->y1)
        return INFINITY;
    for (int i = 0; i < g->n_taken; i++)
        if (!apart(b, &g->taken[i]))
            return INFINITY;
    for (int i = 0; i < g->n; i++)
        cost += 4 * covers(&g->discs[i], b);
    return cost;
}

static void put_number(FILE *out, struct roofline *g, const struct disc *d, const char *text)
{
    double width = mfu_svg_width(text) + 4, height = 15, least = INFINITY, where = 0;
    struct box best = {0};

    for (double away = 3; away < 120; away += 9)
        for (int i = 0; i < 16; i++) {
            double angle = i * PI / 8, x = d->x + (d->r + away + width / 2) * cos(angle);
            double y = d->y + (d->r + away + height / 2) * sin(angle), cost;
            struct box b = {x - width / 2, y - height / 2, x + width / 2, y + height / 2};

            if ((cost = cost_of(g, &b, 0.6 * away)) < least) {
                least = cost;
                best = b;
                where = away;
            }
        }
    if (!isfinite(least))
        return; /* its row is in the table */
    take(g, best);
    if (where > 10)
        mfu_svg_line(out, "leader", d->x, d->y, fmin(fmax(d->x, best.x0), best.x1), fmin(fmax(d->y, best.y0), best.y1));
    mfu_svg_text(out, "", (best.x0 + best.x1) / 2, best.y1 - 3, MFU_SVG_MIDDLE, text);
}

/* "2–12, 15" */
static const char *ranges(char *buf, size_t size, const bool *there)
{
    *buf = '\0';
    for (int i = 1; i <= NUMBERED; i++) {
        int last = i;

        if (!there[i])
            continue;
        while (last < NUMBERED && there[last + 1])
            last++;
        snprintf(buf + strlen(buf), size - strlen(buf),
                 last == i           ? "%s%d"
                     : last == i + 1 ? "%s%d, %d"
                                     : "%s%d–%d",
                 *buf ? ", " : "", i, last);
        i = last;
    }
    return buf;
}

/* Numbers of discs that lie together stand together. */
static void put_numbers(FILE *out, struct roofline *g)
{
    bool done[NUMBERED + 1] = {false};

    for (int i = 0; i < g->n; i++) {
        bool here[NUMBERED + 1] = {false};
        char text[64];

        if (g->discs[i].number == 0 || done[g->discs[i].number])
            continue;
        for (int k = i; k < g->n; k++) {
            const struct disc *d = &g->discs[k];

            if (d->number == 0 || done[d->number] || hypot(d->x - g->discs[i].x, d->y - g->discs[i].y) > TOGETHER)
                continue;
            done[d->number] = here[d->number] = true;
        }
        put_number(out, g, &g->discs[i], ranges(text, sizeof text, here));
    }
}

/* ---- roofs and axes -------------------------------------------------------------- */

/* From the left or lower edge up to the flat roof, and along it if `flat`. */
static void roof(FILE *out, const struct roofline *g, const char *class, double bytes_s, bool flat)
{
    double peak = g->plan->mfu.peak_flops, least = pow(10, g->least_x);
    double from = fmax(least, pow(10, g->least_y) / bytes_s), ridge = peak / bytes_s;

    mfu_svg_path_begin(out, class);
    mfu_svg_move(out, at_x(g, fmin(from, ridge)), at_y(g, fmin(from, ridge) * bytes_s));
    mfu_svg_to(out, at_x(g, fmax(ridge, least)), at_y(g, peak));
    if (flat)
        mfu_svg_to_x(out, g->x1);
    mfu_svg_path_end(out, NULL);
}

/* A name along a slope, above it, where the fewest discs are below it. */
static void slope_name(FILE *out, struct roofline *g, double bytes_s, const char *text)
{
    double angle = atan2((g->y1 - g->y0) / (g->most_y - g->least_y), (g->x1 - g->x0) / (g->most_x - g->least_x));
    double end = log10(g->plan->mfu.peak_flops / bytes_s), begin = fmax(g->least_x, g->least_y - log10(bytes_s));
    double length = mfu_svg_width(text), x = 0, y = 0, least = INFINITY;

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
    mfu_svg_turned(out, "", x, y, MFU_SVG_MIDDLE, -angle * 180 / PI, text);
    for (int k = -3; k <= 3; k++) {
        double bx = x + k * length / 7 * cos(angle), by = y - k * length / 7 * sin(angle);

        take(g, (struct box){bx - length / 13, by - 12, bx + length / 13, by + 6});
    }
}

static void roofs(FILE *out, struct roofline *g)
{
    const struct mfu_machine *m = &g->plan->machine;
    char text[96];

    if (m->l2_bytes > 0 && m->l2_bytes_s > 0) {
        roof(out, g, "roof thin", m->l2_bytes_s, false);
        snprintf(text, sizeof text, "L2 %s", MFU_Q(m->l2_bytes_s, MFU_BYTES_PER_S));
        slope_name(out, g, m->l2_bytes_s, text);
    }
    roof(out, g, "roof", mfu_roof_dram(m), true);
    snprintf(text, sizeof text, "DRAM %s", MFU_Q(mfu_roof_dram(m), MFU_BYTES_PER_S));
    slope_name(out, g, mfu_roof_dram(m), text);
}

/* Above the flat roof, as near to it as discs allow. */
static void peak_name(FILE *out, struct roofline *g)
{
    double peak = g->plan->mfu.peak_flops, roof = at_y(g, peak), length, least = INFINITY;
    struct box best = {0};
    char text[96];

    snprintf(text, sizeof text, "%s %s", mfu_peak_names[g->plan->mfu.peak], MFU_Q(peak, MFU_FLOP_PER_S));
    length = mfu_svg_width(text);
    for (double x = g->x1 - length; x > g->x1 - length - 90; x -= 6)
        for (double y = roof - 4; y - 14 > 0; y -= 4) {
            struct box b = {x, y - 14, x + length, y};
            double cost = (g->x1 - length - x) / 10 + (roof - y) / 4;

            for (int i = 0; i < g->n; i++)
                cost += 4 * covers(&g->discs[i], &b);
            if (cost < least)
                least = cost, best = b;
        }
    take(g, best);
    mfu_svg_text(out, "", best.x0, best.y1 - 3, MFU_SVG_START, text);
}

static void axes(FILE *out, const struct roofline *g)
{
    char text[MFU_QUANTITY_MAX];
    int every = g->most_x - g->least_x > 5.5 && g->x1 - g->x0 < 400 ? 2 : 1;

    for (int k = (int)ceil(g->least_x); k <= (int)floor(g->most_x); k++) {
        double x = at_x(g, pow(10, k));

        mfu_svg_line(out, "grid", x, g->y0, x, g->y1);
        snprintf(text, sizeof text, "%g", pow(10, k));
        if (k % every == 0)
            mfu_svg_text(out, "faint", x, g->y1 + 16, MFU_SVG_MIDDLE, text);
    }
    for (int k = (int)ceil(g->least_y); k <= (int)floor(g->most_y); k++) {
        double y = at_y(g, pow(10, k));
        char *unit;

        mfu_svg_line(out, "grid", g->x0, y, g->x1, y);
        mfu_quantity_format(text, pow(10, k), MFU_FLOP_PER_S);
        if ((unit = strstr(text, "FLOP/s")))
            *unit = '\0';
        mfu_svg_text(out, "faint", g->x0 - 6, y + 4, MFU_SVG_END, text);
    }
    mfu_svg_text(out, "faint", 0, 11, MFU_SVG_START, "FLOP/s");
    mfu_svg_text(out, "faint", (g->x0 + g->x1) / 2, g->y1 + 33, MFU_SVG_MIDDLE, "FLOP per byte of DRAM traffic");
}

static void draw(FILE *out, struct roofline *g, const struct mfu_html_frame *frame, const struct mfu_kernel_row *rows,
                 int n)
{
    double height = frame->width > 500 ? 440 : 360;

    g->x0 = 50, g->x1 = frame->width - 8, g->y0 = 20, g->y1 = height - 40;
    g->n_taken = 0;
    choose_axes(g, rows, n);
    make_discs(g, rows, n);
    mfu_svg_begin(out, frame->class, frame->width, height, "kernels below the roofs of the GPU");
    axes(out, g);
    roofs(out, g);
    for (int i = 0; i < g->n; i++) {
        const struct disc *d = &g->discs[i];
        char class[24], tip[192];

        snprintf(class, sizeof class, "disc sort%d", (int)mfu_sort_of(d->row->kind));
        snprintf(tip, sizeof tip, "%s: %s, %s", d->row->name, MFU_P(d->row->share),
                 MFU_Q(d->row->flops_per_s, MFU_FLOP_PER_S));
        mfu_svg_circle(out, class, d->x, d->y, d->r, tip);
    }
    peak_name(out, g);
    put_numbers(out, g);
    mfu_svg_end(out);
}

/* ---- the table ----------------------------------------------------------------- */

static void keys(FILE *out, const struct mfu_kernel_row *rows, int n)
{
    bool there[MFU_SORT_COUNT] = {false};
    double without = 0;

    for (int i = 0; i < n; i++) {
        there[mfu_sort_of(rows[i].kind)] |= rows[i].flops > 0;
        without += rows[i].flops > 0 ? 0 : rows[i].share;
    }
    fputs("<ul class=\"keys\">\n", out);
    for (int k = 0; k < MFU_SORT_COUNT; k++)
        if (there[k])
            fprintf(out, "<li><span class=\"key sort%d\"></span>%s</li>\n", k, mfu_sort_titles[k]);
    fputs("<li class=\"faint\">area: share of the step", out);
    if (without > 0.0005)
        fprintf(out, "; kernels that only move data, %s of it, are not drawn", MFU_P(without));
    fputs("</li>\n</ul>\n", out);
}

/* May go on in a new line after a point. */
static void kernel_name(FILE *out, const char *name)
{
    while (*name) {
        int length = (int)strcspn(name, ".") + (strchr(name, '.') != NULL);

        mfu_html_say(out, "%.*s", length, name);
        name += length;
        if (*name)
            fputs("<wbr/>", out);
    }
}

static void table(FILE *out, const struct mfu_kernel_row *rows, int n)
{
    fputs("<div class=\"scroll\"><table>\n<tr><th class=\"n\"></th><th>kernel</th><th class=\"more\">phase</th>"
          "<th class=\"n\">of the step</th><th class=\"n more\">time</th><th class=\"n more\">FLOP/byte</th><th "
          "class=\"n more\">reaches</th>"
          "<th>bound</th></tr>\n",
          out);
    for (int i = 0; i < n && i < NUMBERED; i++) {
        const struct mfu_kernel_row *r = &rows[i];

        fprintf(out, "<tr><td class=\"n\">%d</td><td class=\"name\">", i + 1);
        kernel_name(out, r->name);
        fprintf(
            out,
            "</td><td class=\"more\">%s</td><td class=\"n\">%s</td><td class=\"n more\">%s</td><td class=\"n more\">",
            mfu_phase_names[r->phase], MFU_P(r->share), MFU_Q(r->time_s, MFU_SECONDS));
        if (r->flops > 0)
            fprintf(out, r->intensity < 10 ? "%.2g" : "%.0f", r->intensity);
        fprintf(out, "</td><td class=\"n more\">%s</td><td>%s</td></tr>\n",
                r->price.bound == MFU_BOUND_COMPUTE ? MFU_Q(r->flops_per_s, MFU_FLOP_PER_S)
                                                    : MFU_Q(r->bytes_per_s, MFU_BYTES_PER_S),
                mfu_bound_names[r->price.bound]);
    }
    fputs("</table></div>\n", out);
}

int mfu_html_roofline(FILE *out, const struct mfu_html_page *page, struct mfu_error *err)
{
    struct roofline g = {.plan = page->plan};
    struct mfu_kernel_row *rows;
    int n = mfu_kernel_rows(page->plan, &rows, NULL);

    if (n < 0)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (!(g.discs = malloc(((size_t)n + 1) * sizeof *g.discs))) {
        free(rows);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    qsort(rows, (size_t)n, sizeof *rows, longer);
    keys(out, rows, n);
    for (int i = 0; i < MFU_HTML_FRAMES; i++)
        draw(out, &g, &mfu_html_frames[i], rows, n);
    fprintf(out, "<p>Numbers are those of the longest kernels, all layers and micro-steps of a step together:</p>\n");
    table(out, rows, n);
    free(g.discs);
    free(rows);
    return 0;
}
