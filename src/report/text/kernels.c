/*
 * kernels.c - the kernels of a step, the longest first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/kernels.h"
#include "report/report.h"
#include "report/text/text.h"
#include "base/short.h"

#define SHOWN 20

static int longer(const void *a, const void *b)
{
    const struct mfu_kernel_row *x = a, *y = b;

    return (x->time_s < y->time_s) - (x->time_s > y->time_s);
}

/* "8192x2304x768", "96x 1024x64x1024". */
static void shape(char *text, size_t size, const struct mfu_term *t, const struct mfu_kernel *k)
{
    const char *x = mfu_text_times(t);

    if (mfu_kind_is_attention(k->kind))
        snprintf(text, size, "%.0f%s%.0f heads, %.0f%s%.0f", k->batch, x, k->n, k->m, x, k->k);
    else if (mfu_kind_is_gemm(k->kind) && k->batch != 1)
        snprintf(text, size, "%.0f%s %.0f%s%.0f%s%.0f", k->batch, x, k->m, x, k->n, x, k->k);
    else if (mfu_kind_is_gemm(k->kind))
        snprintf(text, size, "%.0f%s%.0f%s%.0f", k->m, x, k->n, x, k->k);
    else
        snprintf(text, size, "%.0f%s%.0f", k->m, x, k->n);
}

static void figures(struct mfu_table *table, const struct mfu_kernel_row *row)
{
    mfu_table_cell(table, "%s", Q(row->flops, MFU_FLOP));
    mfu_table_cell(table, "%s", Q(row->bytes, MFU_BYTES));
    if (row->bytes > 0)
        mfu_table_cell(table, row->intensity < 9.95 ? "%.1f" : "%.0f", row->intensity);
    else
        mfu_table_cell(table, "%s", "");
}

static void times(struct mfu_table *table, double time_s, double share)
{
    mfu_table_cell(table, "%s", Q(time_s, MFU_SECONDS));
    mfu_table_cell(table, "%s", P(share));
}

static void one(struct mfu_table *table, const struct mfu_term *t, const struct mfu_kernel_row *row)
{
    char text[64];

    shape(text, sizeof text, t, &row->kernel);
    mfu_table_cell(table, "%s", row->name);
    mfu_table_cell(table, "%s", mfu_phase_names[row->phase]);
    mfu_table_cell(table, "%s", Q(round(row->count), MFU_COUNT));
    mfu_table_cell(table, "%s", text);
    figures(table, row);
    mfu_table_cell(table, "%s", mfu_bound_names[row->price.bound]);
    times(table, row->time_s, row->share);
}

static void several(struct mfu_table *table, const char *name, const struct mfu_kernel_row *rows, int n)
{
    struct mfu_kernel_row sum = {0};

    for (int i = 0; i < n; i++) {
        sum.count += rows[i].count;
        sum.flops += rows[i].flops;
        sum.bytes += rows[i].bytes;
        sum.time_s += rows[i].time_s;
        sum.share += rows[i].share;
    }
    sum.intensity = sum.bytes > 0 ? sum.flops / sum.bytes : 0;
    mfu_table_cell(table, "%s", name);
    mfu_table_cell(table, "%s", "");
    mfu_table_cell(table, "%s", Q(round(sum.count), MFU_COUNT));
    mfu_table_cell(table, "%s", "");
    figures(table, &sum);
    mfu_table_cell(table, "%s", "");
    times(table, sum.time_s, sum.share);
}

int mfu_text_kernels(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    static const struct mfu_column columns[] = {{"kernel", .left = true}, {"phase", .left = true, .rank = 8},
                                                {"count", .rank = 3},     {"shape", .left = true, .rank = 7},
                                                {"FLOP", .rank = 6},      {"bytes", .rank = 5},
                                                {"FLOP/B", .rank = 4},    {"bound", .left = true, .rank = 2},
                                                {"time", .rank = 0},      {"share", .rank = 1}};
    struct mfu_table table = MFU_TABLE(columns);
    struct mfu_kernel_row *rows;
    int n = mfu_kernel_rows(p, &rows, NULL), shown = n < SHOWN ? n : SHOWN;
    struct mfu_flow f;
    char name[48];

    if (n < 0)
        return -1;
    qsort(rows, (size_t)n, sizeof *rows, longer);
    for (int i = 0; i < shown; i++)
        one(&table, t, &rows[i]);
    if (n > shown) {
        snprintf(name, sizeof name, "%d others", n - shown);
        several(&table, name, rows + shown, n - shown);
    }
    mfu_table_rule(&table);
    several(&table, "all: GPU busy", rows, n);
    mfu_table_print(out, t, &table, 0);
    mfu_table_free(&table);
    free(rows);
    f = mfu_flow_start(out, t, "", 0);
    mfu_flow_words(
        &f, MFU_FAINT, "One optimizer step of %s; %s of it idle. Shapes: rows %s columns %s length of the products.",
        Q(p->step.time_s, MFU_SECONDS), P(p->step.idle_s / p->step.time_s), mfu_text_times(t), mfu_text_times(t));
    mfu_flow_end(&f);
    return 0;
}

/* ---- how they fill the SMs ----------------------------------------------- */

int mfu_text_kernels_wide(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    static const struct mfu_column columns[] = {{"kernel", .left = true}, {"phase", .left = true, .rank = 9},
                                                {"time", .rank = 0},      {"blocks", .rank = 4},
                                                {"threads", .rank = 7},   {"waves", .rank = 3},
                                                {"on SM", .rank = 6},     {"limit", .left = true, .rank = 8},
                                                {"warps", .rank = 2},     {"SM", .rank = 1},
                                                {"tensor", .rank = 1},    {"DRAM", .rank = 1}};
    struct mfu_table table = MFU_TABLE(columns);
    struct mfu_kernel_row *rows;
    int n = mfu_kernel_rows(p, &rows, NULL);
    struct mfu_flow f;

    if (n < 0)
        return -1;
    qsort(rows, (size_t)n, sizeof *rows, longer);
    for (int i = 0; i < n; i++) {
        const struct mfu_reading *r = &rows[i].reading;
        bool known = isfinite(r->limit.resident);

        mfu_table_cell(&table, "%s", rows[i].name);
        mfu_table_cell(&table, "%s", mfu_phase_names[rows[i].phase]);
        mfu_table_cell(&table, "%s", Q(rows[i].time_s, MFU_SECONDS));
        mfu_table_cell(&table, "%.0f", r->grid.blocks);
        mfu_table_cell(&table, "%.0f", r->grid.threads);
        mfu_table_cell(&table, r->waves < 9.95 ? "%.2f" : "%.0f", r->waves);
        mfu_table_cell(&table, known ? "%.0f" : "?", r->limit.resident);
        mfu_table_cell(&table, "%s", known ? r->limit.limit : "unknown");
        mfu_table_cell(&table, known ? "%.0f %%" : "?", 100 * rows[i].occupancy);
        mfu_table_cell(&table, "%.0f %%", 100 * rows[i].sm_active);
        mfu_table_cell(&table, "%.0f %%", 100 * rows[i].tensor_active);
        mfu_table_cell(&table, "%.0f %%", 100 * rows[i].dram_active);
    }
    mfu_table_print(out, t, &table, 0);
    mfu_table_free(&table);
    free(rows);
    f = mfu_flow_start(out, t, "", 0);
    mfu_flow_words(
        &f, MFU_FAINT,
        "blocks, threads: of one launch. waves: rounds of blocks on %.0f SMs. on SM: blocks that fit at once, and what "
        "limits them. warps: of those that an SM could hold. SM, tensor, DRAM: active while it runs.",
        p->machine.sms);
    mfu_flow_end(&f);
    return 0;
}
