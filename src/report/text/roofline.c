/*
 * roofline.c - kernels below the roofs of the GPU, drawn with characters.
 *
 * Both axes are logarithmic: FLOP per byte to the right, FLOP/s upwards.  A
 * kernel is a letter, a capital one when it takes 3 % of the step or more.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/kernels.h"
#include "plan/roofline.h"
#include "report/report.h"
#include "report/text/text.h"
#include "base/short.h"

#define LETTERS 16
#define LARGE_SHARE 0.03
#define ROWS 16
#define MOST_COLUMNS 112
#define MARGIN 13 /* of the labels on the left */

struct plot {
    char at[ROWS][MOST_COLUMNS]; /* letters and roofs */
    int columns;
    double left, right, bottom, top; /* log10 */
};

enum { EMPTY = ' ', FLAT = '-', SLOPE = '/', L2_SLOPE = ':' };

static int column_of(const struct plot *g, double intensity)
{
    return (int)floor((log10(intensity) - g->left) / (g->right - g->left) * (g->columns - 1) + 0.5);
}

static int row_of(const struct plot *g, double flops)
{
    return (int)floor((g->top - log10(flops)) / (g->top - g->bottom) * (ROWS - 1) + 0.5);
}

static void put(struct plot *g, int row, int column, char c)
{
    if (row >= 0 && row < ROWS && column >= 0 && column < g->columns)
        g->at[row][column] = c;
}

static double power_below(double x)
{
    return floor(log10(x));
}
static double power_above(double x)
{
    return ceil(log10(x));
}

/* Axes that hold the ridge and every kernel that computes; kernels that hardly
 * do are put on the edge. */
static void choose_axes(struct plot *g, const struct mfu_plan *p, const struct mfu_kernel_row *rows, int n)
{
    double ridge = mfu_ridge(&p->machine, p->mfu.peak_flops);
    double least = ridge, most = ridge, slowest = p->mfu.peak_flops;

    for (int i = 0; i < n; i++)
        if (rows[i].flops > 0 && rows[i].intensity > 0) {
            least = fmin(least, rows[i].intensity);
            most = fmax(most, rows[i].intensity);
            slowest = fmin(slowest, rows[i].flops_per_s);
        }
    g->left = fmax(power_below(least), -2);
    g->right = fmin(fmax(power_above(most), power_above(4 * ridge)), 5);
    g->top = log10(p->mfu.peak_flops) + 0.25;
    g->bottom = fmax(power_below(slowest), g->top - 6);
}

static void draw_roofs(struct plot *g, const struct mfu_plan *p)
{
    for (int c = 0; c < g->columns; c++) {
        double intensity = pow(10, g->left + (g->right - g->left) * c / (g->columns - 1));
        double dram = intensity * mfu_roof_dram(&p->machine), l2 = intensity * mfu_roof_l2(&p->machine);

        if (l2 > 0 && l2 < p->mfu.peak_flops)
            put(g, row_of(g, l2), c, L2_SLOPE);
        put(g, row_of(g, fmin(dram, p->mfu.peak_flops)), c, dram < p->mfu.peak_flops ? SLOPE : FLAT);
        if (l2 >= p->mfu.peak_flops && dram < p->mfu.peak_flops)
            put(g, row_of(g, p->mfu.peak_flops), c, FLAT);
    }
}

static int clamp(int x, int most)
{
    return x < 0 ? 0 : x > most ? most : x;
}

static char letter(const struct mfu_kernel_row *rows, int i)
{
    return rows[i].flops > 0 ? (char)((rows[i].share >= LARGE_SHARE ? 'A' : 'a') + i) : ' ';
}

/* The longest first; where a letter stands already, right beside it. */
static void draw_kernels(struct plot *g, const struct mfu_kernel_row *rows, int n)
{
    static const int beside[] = {0, 1, -1, 2, -2, 3, -3, 4, -4};

    for (int i = 0; i < n; i++) {
        char *line;
        int column;

        if (!(rows[i].flops > 0 && rows[i].intensity > 0))
            continue; /* its logarithms are none */
        line = g->at[clamp(row_of(g, rows[i].flops_per_s), ROWS - 1)];
        column = clamp(column_of(g, rows[i].intensity), g->columns - 1);
        for (size_t k = 0; k < sizeof beside / sizeof beside[0]; k++) {
            int c = clamp(column + beside[k], g->columns - 1);

            if (!isalpha((unsigned char)line[c])) {
                line[c] = letter(rows, i);
                break;
            }
        }
    }
}

/* Letters stand out; roofs are drawn in lines where the terminal has them. */
static void print_cell(FILE *out, const struct mfu_term *t, char c)
{
    char text[2] = {c, '\0'};

    if (c == FLAT && t->utf8)
        mfu_text_put(out, t, MFU_FAINT, "\u2500");
    else if (c == SLOPE && t->utf8)
        mfu_text_put(out, t, MFU_FAINT, "\u2571");
    else if (c == L2_SLOPE && t->utf8)
        mfu_text_put(out, t, MFU_FAINT, "\u00b7");
    else if (isalpha((unsigned char)c))
        mfu_text_put(out, t, isupper((unsigned char)c) ? MFU_STRONG : MFU_PLAIN, text);
    else
        fputs(text, out);
}

static void print_plot(FILE *out, const struct mfu_term *t, const struct plot *g)
{
    int labelled = g->bottom - 1;
    char axis[MOST_COLUMNS + 16];

    for (int r = 0; r < ROWS; r++) {
        const char *label = "";
        char text[MFU_QUANTITY_MAX];
        int last = g->columns - 1;

        for (int power = (int)ceil(g->bottom); power <= (int)floor(g->top); power++)
            if (row_of(g, pow(10, power)) == r && power != labelled) {
                label = mfu_quantity_format(text, pow(10, power), MFU_FLOP_PER_S);
                labelled = power;
            }
        fprintf(out, "%*s %s", MARGIN - 2, label, t->utf8 ? "\u2502" : "|");
        while (last >= 0 && g->at[r][last] == EMPTY)
            last--;
        for (int c = 0; c <= last; c++)
            print_cell(out, t, g->at[r][c]);
        fputc('\n', out);
    }
    fprintf(out, "%*s %s", MARGIN - 2, "", t->utf8 ? "\u2514" : "+");
    for (int c = 0; c < g->columns; c++)
        fputs(t->utf8 ? "\u2500" : "-", out);
    fputc('\n', out);
    memset(axis, ' ', sizeof axis);
    axis[g->columns] = '\0';
    for (int power = (int)g->left; power <= (int)g->right; power++) {
        char text[16];
        int at = column_of(g, pow(10, power)), n = snprintf(text, sizeof text, "%g", pow(10, power));

        if (at + n > g->columns)
            at = g->columns - n;
        if (at >= 0)
            memcpy(axis + at, text, (size_t)n);
    }
    for (int c = g->columns; c > 0 && axis[c - 1] == ' '; c--)
        axis[c - 1] = '\0';
    fprintf(out, "%*s%s\n%*s%*s\n", MARGIN, "", axis, MARGIN, "", g->columns, "FLOP/byte");
}

static void legend(FILE *out, const struct mfu_term *t, const struct mfu_kernel_row *rows, int n)
{
    static const struct mfu_column columns[] = {
        {"", .left = true},  {"kernel", .left = true}, {"phase", .left = true, .rank = 4}, {"FLOP/B", .rank = 2},
        {"rate", .rank = 1}, {"share", .rank = 0},     {"bound", .left = true, .rank = 3}};
    struct mfu_table table = MFU_TABLE(columns);

    for (int i = 0; i < n; i++) {
        mfu_table_cells(&table, "%c\t%s\t%s", letter(rows, i), rows[i].name, mfu_phase_names[rows[i].phase]);
        mfu_table_cells(&table, rows[i].intensity < 9.95 ? "%.1f" : "%.0f", rows[i].intensity);
        mfu_table_cells(&table, "%s\t%s\t%s", Q(rows[i].flops_per_s, MFU_FLOP_PER_S), P(rows[i].share),
                        mfu_bound_names[rows[i].price.bound]);
    }
    mfu_table_print(out, t, &table);
}

static void ridges(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    const struct mfu_machine *m = &p->machine;
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);

    mfu_flow_words(&f, MFU_PLAIN, "Roofs: %s (%s, dense), DRAM %s%s.", Q(p->mfu.peak_flops, MFU_FLOP_PER_S),
                   mfu_peak_names[p->mfu.peak], Q(mfu_roof_dram(m), MFU_BYTES_PER_S),
                   mfu_roof_l2(m) > 0 ? (t->utf8 ? ", L2 dotted" : ", L2 as ':'") : "");
    mfu_flow_words(&f, MFU_PLAIN, "Ridge: %.0f FLOP per byte from DRAM", mfu_ridge(m, p->mfu.peak_flops));
    if (mfu_roof_l2(m) > 0)
        mfu_flow_words(&f, MFU_PLAIN, "(%.0f from L2)", mfu_ridge_l2(m, p->mfu.peak_flops));
    mfu_flow_words(&f, MFU_PLAIN, "for %s, %.0f for fp32: kernels to the left of it wait for memory.",
                   mfu_peak_names[p->mfu.peak], mfu_ridge(m, m->peak_flops[MFU_PEAK_FP32]));
    mfu_flow_end(&f);
}

int mfu_text_roofline(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    struct mfu_kernel_row *rows;
    struct plot g = {.columns = mfu_text_columns(t) - MARGIN - 1};
    int n = mfu_kernel_rows(p, &rows, NULL), shown = n < LETTERS ? n : LETTERS;
    double without;

    if (n < 0)
        return -1;
    if (g.columns > MOST_COLUMNS)
        g.columns = MOST_COLUMNS;
    memset(g.at, EMPTY, sizeof g.at);
    mfu_kernels_by_time(rows, n);
    choose_axes(&g, p, rows, shown);
    draw_roofs(&g, p);
    draw_kernels(&g, rows, shown);
    print_plot(out, t, &g);
    legend(out, t, rows, shown);
    without = mfu_roofline_without(rows, shown);
    ridges(out, t, p);
    if (without > 0.0005)
        mfu_paragraph(out, t, "", 0, MFU_FAINT, "Not drawn: kernels that only move data, %s of the step.", P(without));
    free(rows);
    return 0;
}
