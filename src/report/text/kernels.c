/*
 * kernels.c - the kernels of a step, the longest first.
 */
#include <math.h>
#include <stdlib.h>

#include "plan/roofline.h"
#include "report/report.h"
#include "report/text/text.h"
#include "base/short.h"

#define SHOWN 20
#define SHAPE 3 /* the column */

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

/* FLOP per byte; "" where no bytes move. */
static const char *intensity(char buf[16], const struct mfu_kernel_row *row)
{
    snprintf(buf, 16, row->bytes <= 0 ? "" : row->intensity < 9.95 ? "%.1f" : "%.0f", row->intensity);
    return buf;
}

/* A kernel, or several together: without phase, shape and bound. */
static void put_row(struct mfu_table *table, const struct mfu_kernel_row *row, const char *phase, const char *shape,
                    const char *bound)
{
    mfu_table_cells(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", row->name, phase, Q(round(row->count), MFU_COUNT),
                    shape, Q(row->flops, MFU_FLOP), Q(row->bytes, MFU_BYTES), intensity((char[16]){0}, row), bound,
                    Q(row->time_s, MFU_SECONDS), P(row->share));
}

static void one(struct mfu_table *table, const struct mfu_term *t, const struct mfu_kernel_row *row)
{
    char text[64];

    shape(text, sizeof text, t, &row->kernel);
    put_row(table, row, mfu_phase_names[row->phase], text, mfu_bound_names[row->price.bound]);
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
    snprintf(sum.name, sizeof sum.name, "%s", name);
    put_row(table, &sum, "", "", "");
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
    mfu_kernels_by_time(rows, n);
    for (int i = 0; i < shown; i++)
        one(&table, t, &rows[i]);
    if (n > shown) {
        snprintf(name, sizeof name, "%d others", n - shown);
        several(&table, name, rows + shown, n - shown);
    }
    mfu_table_rule(&table);
    several(&table, "all: GPU busy", rows, n);
    mfu_table_print(out, t, &table);
    free(rows);
    f = mfu_flow_start(out, t, "", 0);
    mfu_flow_words(&f, MFU_FAINT, "One optimizer step of %s; %s of it idle.", Q(p->step.time_s, MFU_SECONDS),
                   P(p->step.idle_s / p->step.time_s));
    if (table.shown[SHAPE])
        mfu_flow_words(&f, MFU_FAINT, "Shapes: rows %s columns %s length of the products.", mfu_text_times(t),
                       mfu_text_times(t));
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
    mfu_kernels_by_time(rows, n);
    for (int i = 0; i < n; i++) {
        const struct mfu_reading *r = &rows[i].reading;
        bool known = isfinite(r->limit.resident);

        char waves[16], resident[16], occupancy[16];

        snprintf(waves, sizeof waves, r->waves < 9.95 ? "%.2f" : "%.0f", r->waves);
        snprintf(resident, sizeof resident, known ? "%.0f" : "?", r->limit.resident);
        snprintf(occupancy, sizeof occupancy, known ? "%.0f %%" : "?", 100 * rows[i].occupancy);
        mfu_table_cells(&table, "%s\t%s\t%s\t%.0f\t%.0f\t%s\t%s\t%s\t%s\t%.0f %%\t%.0f %%\t%.0f %%", rows[i].name,
                        mfu_phase_names[rows[i].phase], Q(rows[i].time_s, MFU_SECONDS), r->grid.blocks, r->grid.threads,
                        waves, resident, known ? r->limit.limit : "unknown", occupancy, 100 * rows[i].sm_active,
                        100 * rows[i].tensor_active, 100 * rows[i].dram_active);
    }
    mfu_table_print(out, t, &table);
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
