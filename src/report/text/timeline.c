/*
 * timeline.c - memory over one steady step, drawn with characters.
 *
 * Columns are equal stretches of the GPU's work; a column is as high as the
 * highest moment in it.
 */
#include <math.h>
#include <string.h>

#include "plan/plan.h"
#include "base/quantity.h"
#include "plan/memory_timeline.h"
#include "report/text/text.h"
#include "report/timeline.h"
#include "scenario/setting.h"
#include "base/short.h"

#define ROWS 15
#define MOST_COLUMNS 112
#define MARGIN 11 /* of the labels on the left, with the axis */
#define FAR 2.0   /* a capacity beyond that many times what is used is only named */
#define GIB 0x1p30

struct chart {
    const struct mfu_memory_timeline *course;
    int columns;
    double top;      /* bytes at the upper edge */
    double capacity; /* for tensors; 0: not drawn */
    double high[MOST_COLUMNS], reserved[MOST_COLUMNS];
};

static int column_of(const struct chart *c, double time_s)
{
    int x = c->course->seconds > 0 ? (int)(time_s / c->course->seconds * c->columns) : 0;

    return x < 0 ? 0 : x >= c->columns ? c->columns - 1 : x;
}

/* A round number of GiB (or MiB) that does not lie below `most`. */
static double round_above(double most)
{
    double unit = pow(2, floor(log2(fmax(most, 1)) - 4));

    return ceil(most / unit) * unit;
}

static void fill_columns(struct chart *c)
{
    const struct mfu_memory_timeline *course = c->course;
    double level = course->points[0].allocated, reserved = course->points[0].reserved;
    size_t i = 0;

    for (int x = 0; x < c->columns; x++) {
        c->high[x] = level;
        c->reserved[x] = reserved;
        for (; i < course->n && column_of(c, course->points[i].time_s) <= x; i++) {
            level = course->points[i].allocated;
            reserved = course->points[i].reserved;
            c->high[x] = fmax(c->high[x], level);
            c->reserved[x] = fmax(c->reserved[x], reserved);
        }
    }
}

/* ---- cells --------------------------------------------------------------- */

static int row_of(const struct chart *c, double bytes)
{
    int row = ROWS - 1 - (int)floor(bytes / c->top * ROWS);

    return row < 0 ? 0 : row;
}

/* Where the capacity has its row, what is reserved goes below it. */
static int reserved_row(const struct chart *c, int x)
{
    int row = row_of(c, c->reserved[x]);

    return row + (c->capacity > 0 && row == row_of(c, c->capacity) && row < ROWS - 1);
}

/* How much of a cell is filled, in eighths. */
static int filled(const struct mfu_term *t, const struct chart *c, int row, int x)
{
    double floor_of_row = (double)(ROWS - 1 - row) / ROWS * c->top, share = (c->high[x] - floor_of_row) / c->top * ROWS;

    if (!t->utf8)
        return share >= 0.5 ? 8 : 0;
    return share >= 1 ? 8 : share <= 0 ? 0 : (int)(share * 8 + 0.5);
}

enum cell { BLANK, LEVEL, CAPACITY, RESERVED };

static enum cell cell_at(const struct mfu_term *t, const struct chart *c, int row, int x)
{
    return filled(t, c, row, x) > 0                        ? LEVEL
        : c->capacity > 0 && row == row_of(c, c->capacity) ? CAPACITY
        : row == reserved_row(c, x)                        ? RESERVED
                                                           : BLANK;
}

static void put_cell(FILE *out, const struct mfu_term *t, const struct chart *c, int row, int x)
{
    static const char *const eighths[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                          "\u2585", "\u2586", "\u2587", "\u2588"};

    switch (cell_at(t, c, row, x)) {
    case LEVEL: mfu_text_put(out, t, MFU_HUES, t->utf8 ? eighths[filled(t, c, row, x)] : "#"); break;
    case CAPACITY: mfu_text_put(out, t, MFU_BAD, t->utf8 ? "\u2501" : "="); break;
    case RESERVED: mfu_text_put(out, t, MFU_WARN, t->utf8 ? "\u2500" : "-"); break;
    case BLANK: fputc(' ', out); break;
    }
}

static const char *row_label(const struct chart *c, int row, char buf[MFU_QUANTITY_MAX])
{
    double unit = c->top >= GIB ? GIB : 0x1p20, bytes = (double)(ROWS - row) / ROWS * c->top;

    if (row % 3 != 0)
        return "";
    snprintf(buf, MFU_QUANTITY_MAX, bytes / unit < 10 ? "%.2f %s" : "%.1f %s", bytes / unit,
             c->top >= GIB ? "GiB" : "MiB");
    return buf;
}

static void print_rows(FILE *out, const struct mfu_term *t, const struct chart *c)
{
    for (int row = 0; row < ROWS; row++) {
        char label[MFU_QUANTITY_MAX];
        int last = c->columns - 1;

        fprintf(out, "%*s %s", MARGIN - 2, row_label(c, row, label),
                t->utf8 ? (row % 3 == 0 ? "\u2524" : "\u2502") : "|");
        while (last >= 0 && cell_at(t, c, row, last) == BLANK)
            last--;
        for (int x = 0; x <= last; x++)
            put_cell(out, t, c, row, x);
        fputc('\n', out);
    }
}

/* ---- the axis and its phases --------------------------------------------- */

/* Where a span ends on the axis. */
static void print_axis(FILE *out, const struct mfu_term *t, const struct chart *c)
{
    const struct mfu_memory_timeline *course = c->course;

    fprintf(out, "%*s %s", MARGIN - 2, "0", t->utf8 ? "\u2514" : "+");
    for (int x = 0, k = 0; x < c->columns; x++) {
        bool ends = false;

        for (; k < course->n_spans - 1 && column_of(c, course->spans[k].end_s) <= x; k++)
            ends = true;
        fputs(t->utf8 ? (ends ? "\u2534" : "\u2500") : ends ? "+" : "-", out);
    }
    fputc('\n', out);
}

/* The name that fits: "backward 2", "backward", "bwd". */
static const char *fitting(const struct mfu_memory_timeline *course, int span, int room, char *buf, size_t size)
{
    static const char *const brief[MFU_PHASE_COUNT] = {
        [MFU_FORWARD] = "fwd", [MFU_BACKWARD] = "bwd", [MFU_OPTIMIZER_PHASE] = "opt"};

    if ((int)strlen(mfu_memory_timeline_span_name(course, span, buf, size)) <= room)
        return buf;
    snprintf(buf, size, "%s", mfu_phase_names[course->spans[span].phase]);
    if ((int)strlen(buf) <= room)
        return buf;
    snprintf(buf, size, "%s", room >= 3 ? brief[course->spans[span].phase] : "");
    return buf;
}

/* A name in the middle of its stretch; the optimizer, often too short for one,
 * may begin further left. */
static void print_phases(FILE *out, const struct chart *c)
{
    const struct mfu_memory_timeline *course = c->course;
    char line[MOST_COLUMNS + 1];
    int used = 0;

    memset(line, ' ', sizeof line);
    for (int k = 0; k < course->n_spans; k++) {
        int from = column_of(c, course->spans[k].begin_s),
            to = column_of(c, course->spans[k].end_s) + (k == course->n_spans - 1);
        bool last = k == course->n_spans - 1 && course->spans[k].micro_step < 0;
        char name[48];
        int n, at;

        fitting(course, k, to - from - 1, name, sizeof name);
        if (!*name && last)
            snprintf(name, sizeof name, "opt");
        n = (int)strlen(name);
        at = from + (to - from - n + 1) / 2;
        if (at + n > c->columns)
            at = c->columns - n;
        if (at <= used && used > 0)
            at = used + 1;
        if (n == 0 || at + n > c->columns)
            continue;
        memcpy(line + at, name, (size_t)n);
        used = at + n;
    }
    for (used = c->columns; used > 0 && line[used - 1] == ' '; used--)
        ;
    fprintf(out, "%*s%.*s\n", MARGIN, "", used, line);
}

/* ---- what it says -------------------------------------------------------- */

static void print_words(FILE *out, const struct mfu_term *t, const struct mfu_plan *p, const struct chart *c)
{
    const struct mfu_memory_timeline *course = c->course;
    double room = p->memory.capacity_bytes - p->memory.context_bytes - p->config.setting[MFU_S_VRAM_RESERVED];
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);
    size_t peak = 0;
    char name[64] = "";

    for (size_t i = 0; i < course->n; i++)
        if (course->points[i].allocated > course->points[peak].allocated)
            peak = i;
    for (int k = 0; k < course->n_spans; k++)
        if (peak >= course->spans[k].first && peak <= course->spans[k].last)
            mfu_memory_timeline_span_name(course, k, name, sizeof name);
    mfu_flow_piece(&f, MFU_PLAIN, "%s allocated %s at most%s%s", t->utf8 ? "\u2588" : "#",
                   Q(course->highest_allocated, MFU_BYTES), *name ? ", in " : "", name);
    mfu_flow_piece(&f, MFU_PLAIN, "%s reserved %s", t->utf8 ? "\u2500" : "-", Q(course->highest_reserved, MFU_BYTES));
    mfu_flow_piece(&f, MFU_PLAIN, "%s room for it %s%s", t->utf8 ? "\u2501" : "=", Q(room, MFU_BYTES),
                   c->capacity > 0 ? "" : " (above the drawing)");
    mfu_flow_end(&f);
    if (p->n_stages > 0)
        mfu_paragraph(out, t, "", 0, MFU_FAINT,
                      "Across: a step of %s of stage %d of %d, which holds the most, with the microbatches that are in "
                      "flight. Within a pass memory is drawn as a line.",
                      Q(course->seconds, MFU_SECONDS), p->worst_stage + 1, p->n_stages);
    else
        mfu_paragraph(out, t, "", 0, MFU_FAINT, "Across: %s of work on the GPU%s.", Q(course->seconds, MFU_SECONDS),
                      p->config.accum > 1
                          ? ", the first micro-steps and the optimizer step; micro-steps after the second "
                            "are all alike"
                          : "");
}

void mfu_text_timeline(FILE *out, const struct mfu_term *t, const struct mfu_plan *p,
                       const struct mfu_memory_timeline *course)
{
    double room = p->memory.capacity_bytes - p->memory.context_bytes - p->config.setting[MFU_S_VRAM_RESERVED];
    struct chart c = {.course = course, .columns = mfu_text_columns(t) - MARGIN};
    double most = fmax(course->highest_reserved, course->highest_allocated);

    if (c.columns > MOST_COLUMNS)
        c.columns = MOST_COLUMNS;
    if (room < FAR * most && room > 0) {
        c.capacity = room;
        most = fmax(most, room);
    }
    c.top = round_above(most * 1.04);
    fill_columns(&c);
    print_rows(out, t, &c);
    print_axis(out, t, &c);
    if (course->n_spans > 0)
        print_phases(out, &c);
    print_words(out, t, p, &c);
}
