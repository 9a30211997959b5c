/*
 * memory.c - the memory of the card as one bar, and its parts over a step.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/short.h"
#include "plan/memory_timeline.h"
#include "plan/simulation.h"
#include "report/draw/canvas.h"
#include "scenario/setting.h"

#define GIB 0x1p30
#define MOST_POINTS 400
#define FAR 2.0 /* a capacity beyond that many times what is used is only named */

/* From below: what stands all the time first. */
static const struct {
    enum mfu_part part;
    const char *class, *title;
} parts[MFU_PART_COUNT] = {
    {MFU_PART_WEIGHTS, "weights", "weights"},
    {MFU_PART_OPTIMIZER, "optimizer", "optimizer"},
    {MFU_PART_EMA, "other", "mean of weights"},
    {MFU_PART_COMMUNICATION, "communication", "communication"},
    {MFU_PART_GRADIENTS, "gradients", "gradients"},
    {MFU_PART_WEIGHT_CASTS, "casts", "weight casts"},
    {MFU_PART_ACTIVATIONS, "activations", "activations"},
    {MFU_PART_LOGITS_LOSS, "logits", "logits, loss"},
    {MFU_PART_OTHER, "other", "other"},
    {MFU_PART_WORKSPACE, "workspace", "workspace"},
};

/* The parts that take so many bytes, from below. */
static int memory_parts(const double bytes[MFU_PART_COUNT], struct mfu_memory_piece *pieces)
{
    int n = 0;

    for (int i = 0; i < MFU_PART_COUNT; i++) {
        enum mfu_part k = parts[i].part;

        if (bytes[k] < 0.5)
            continue;
        pieces[n] = (struct mfu_memory_piece){parts[i].title, parts[i].class, mfu_part_meanings[k], "", bytes[k]};
        snprintf(pieces[n++].key, sizeof pieces[0].key, "memory.parts.%d.bytes", (int)k);
    }
    return n;
}

int mfu_memory_pieces(const struct mfu_plan *p, struct mfu_memory_piece *pieces)
{
    const struct mfu_memory_answer *m = &p->memory;
    const struct mfu_memory_piece others[] = {
        {"cached", "cached", "free blocks that the allocator keeps", "", m->reserved_bytes - m->peak.bytes},
        {"CUDA context", "context", "context, loaded kernels, libraries", "memory.context_bytes", m->context_bytes},
        {"other processes", "processes", "the desktop and others: vram_reserved", "",
         p->config.setting[MFU_S_VRAM_RESERVED]}};
    int n = memory_parts(m->peak.parts, pieces);

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].bytes >= 0.5)
            pieces[n++] = others[i];
    return n;
}

/* What each colour stands for, and how much that is at most. */
static void keys(struct mfu_canvas *c, const struct mfu_memory_piece *pieces, int n)
{
    for (int i = n - 1; i >= 0; i--)
        mfu_canvas_key(c, pieces[i].class, false, "%s %s", pieces[i].name, Q(pieces[i].bytes, MFU_BYTES));
}

/* ---- the bar ----------------------------------------------------------------- */

#define BAR_TOP 22.
#define BELOW 80. /* for what is measured below the bar */
#define HIGHEST_BAR 280.

static void segments(struct mfu_canvas *c, const struct mfu_memory_piece *pieces, int n, double scale, double height)
{
    double x = 0, middle = BAR_TOP + height / 2;

    for (int i = 0; i < n; i++) {
        double width = pieces[i].bytes * scale;
        char class[48], tip[96];
        const char *bytes = Q(pieces[i].bytes, MFU_BYTES);

        snprintf(class, sizeof class, "seg %s", pieces[i].class);
        snprintf(tip, sizeof tip, "%s %s", pieces[i].name, bytes);
        mfu_draw_rect(c, class, x, BAR_TOP, width, height, tip);
        snprintf(class, sizeof class, "on-%s", pieces[i].class);
        if (fmax(mfu_label_width(pieces[i].name), mfu_label_width(bytes)) + 6 < width) {
            mfu_draw_text(c, class, x + width / 2, middle - 3, MFU_MIDDLE, pieces[i].name);
            mfu_draw_text(c, class, x + width / 2, middle + 12, MFU_MIDDLE, bytes);
        }
        x += width;
    }
}

/* What is measured from the left, below the bar: a line with an end. */
static void level(struct mfu_canvas *c, double y, double x, const char *name, double bytes)
{
    char text[96];

    snprintf(text, sizeof text, "%s %s", name, Q(bytes, MFU_BYTES));
    mfu_draw_line(c, "axis", 0, y, x, y);
    mfu_draw_line(c, "level", x, y - 5, x, y + 5);
    if (x > mfu_label_width(text) || x > c->width / 2)
        mfu_draw_text(c, "", x - 5, y - 4, MFU_END, text);
    else
        mfu_draw_text(c, "", x + 6, y + 4, MFU_START, text);
}

static int draw_split(struct mfu_canvas *c, const struct mfu_plan *p, const struct mfu_simulation *s,
                      struct mfu_error *err)
{
    const struct mfu_memory_answer *m = &p->memory;
    double others = p->config.setting[MFU_S_VRAM_RESERVED], used = m->smi_bytes + others;
    struct mfu_memory_piece pieces[MFU_MEMORY_PIECES];
    int n = mfu_memory_pieces(p, pieces);
    char title[96], text[96];

    (void)s, (void)err;
    if (c->picture)
        keys(c, pieces, n);
    snprintf(title, sizeof title, "memory as one bar: %s of %s used", Q(used, MFU_BYTES),
             Q(m->capacity_bytes, MFU_BYTES));
    snprintf(text, sizeof text, "the card offers %s", Q(m->capacity_bytes, MFU_BYTES));
    while (mfu_canvas_next(c, "split", title, 142, 142)) {
        double scale = (c->width - 2) / fmax(m->capacity_bytes, used), x = m->capacity_bytes * scale;
        double height = fmin(c->height - BAR_TOP - BELOW, HIGHEST_BAR), y = BAR_TOP + height;

        mfu_draw_rect(c, "track", 0, BAR_TOP, x, height, NULL);
        segments(c, pieces, n, scale, height);
        mfu_draw_line(c, "alarm", x, 6, x, y + 6);
        if (x > mfu_label_width(text) + 6)
            mfu_draw_text(c, "alarm", x - 6, 15, MFU_END, text);
        else
            mfu_draw_text(c, "alarm", x + 6, 15, MFU_START, text);
        level(c, y + 23, m->peak.bytes * scale, "allocated by tensors", m->peak.bytes);
        level(c, y + 47, m->reserved_bytes * scale, "reserved by PyTorch", m->reserved_bytes);
        level(c, y + 71, m->smi_bytes * scale, "nvidia-smi", m->smi_bytes);
    }
    return 0;
}

const struct mfu_figure mfu_figure_split = {.name = "split",
                                            .summary = "the memory of the card as one bar",
                                            .title = "Memory at its highest moment",
                                            .draw = draw_split};

/* ---- over a step ------------------------------------------------------------- */

struct chart {
    struct mfu_canvas *canvas;
    const struct mfu_plan *plan;
    const struct mfu_memory_timeline *course;
    size_t *chosen, n;     /* points that are drawn */
    double x0, x1, y0, y1; /* edges; y0 above */
    double top;            /* bytes at y0 */
};

static double at_x(const struct chart *g, double time_s)
{
    return g->x0 + time_s / g->course->seconds * (g->x1 - g->x0);
}

static double at_y(const struct chart *g, double bytes)
{
    return g->y1 - bytes / g->top * (g->y1 - g->y0);
}

/* The sum of the lowest `count` parts, as an area; levels hold until the next point. */
static void area(const struct chart *g, int count)
{
    double last = g->y1;

    mfu_path_begin(g->canvas, parts[count - 1].class);
    mfu_path_to(g->canvas, g->x0, g->y1);
    for (size_t i = 0; i < g->n; i++) {
        const struct mfu_memory_timeline_point *p = &g->course->points[g->chosen[i]];
        double bytes = 0, x = i > 0 ? at_x(g, p->time_s) : g->x0;

        for (int k = 0; k < count; k++)
            bytes += p->parts[parts[k].part];
        if (fabs(at_y(g, bytes) - last) < 0.05)
            continue;
        mfu_path_to(g->canvas, x, last);
        mfu_path_to(g->canvas, x, last = at_y(g, bytes));
    }
    mfu_path_to(g->canvas, g->x1, last);
    mfu_path_to(g->canvas, g->x1, g->y1);
    mfu_path_end(g->canvas, parts[count - 1].title);
}

static void byte_axis(const struct chart *g)
{
    double unit = g->top < 2 * GIB ? 0x1p20 : GIB, step = mfu_axis_tick(g->top / unit, 5);
    char text[48];

    for (int i = 0; i * step * unit <= g->top; i++) {
        double y = at_y(g, i * step * unit);

        snprintf(text, sizeof text, "%g", i * step);
        mfu_draw_line(g->canvas, "grid", g->x0, y, g->x1, y);
        mfu_draw_text(g->canvas, "faint", g->x0 - 6, y + 4, MFU_END, text);
    }
    mfu_draw_text(g->canvas, "faint", 0, 10, MFU_START, unit < GIB ? "MiB" : "GiB");
}

static void level_line(const struct chart *g, const char *class, const char *name, double bytes, bool above)
{
    double y = at_y(g, bytes);
    char text[96];

    snprintf(text, sizeof text, "%s %s", name, Q(bytes, MFU_BYTES));
    mfu_draw_line(g->canvas, class, g->x0, y, g->x1, y);
    mfu_draw_text(g->canvas, strcmp(class, "alarm") == 0 ? "alarm" : "", g->x0 + 6, above ? y - 5 : y + 14, MFU_START,
                  text);
}

/* The most of each part in the picture. */
static int most_of_parts(const struct mfu_memory_timeline *course, struct mfu_memory_piece *pieces)
{
    double most[MFU_PART_COUNT] = {0};

    for (size_t i = 0; i < course->n; i++)
        for (int k = 0; k < MFU_PART_COUNT; k++)
            most[k] = fmax(most[k], course->points[i].parts[k]);
    return memory_parts(most, pieces);
}

static void chart_phases(const struct chart *g)
{
    struct mfu_phase_span phases[MFU_MEMORY_TIMELINE_SPANS];
    int n = g->course->n_spans;

    for (int i = 0; i < n; i++) {
        const struct mfu_memory_timeline_span *s = &g->course->spans[i];

        phases[i] =
            (struct mfu_phase_span){s->phase, n > 3 ? s->micro_step : -1, at_x(g, s->begin_s), at_x(g, s->end_s)};
    }
    mfu_draw_phases(g->canvas, phases, n, 0, g->y1);
}

static void chart(struct chart *g)
{
    const struct mfu_memory_answer *m = &g->plan->memory;
    double room = m->capacity_bytes - m->context_bytes - g->plan->config.setting[MFU_S_VRAM_RESERVED];
    double most = fmax(g->course->highest_reserved, g->course->highest_allocated);
    bool near = room > 0 && room < FAR * most;

    g->x0 = 34, g->x1 = g->canvas->width - 4, g->y0 = 18, g->y1 = g->canvas->height - 42;
    g->top = 1.1 * (near ? fmax(most, room) : most);
    byte_axis(g);
    for (int k = MFU_PART_COUNT; k > 0; k--)
        area(g, k);
    chart_phases(g);
    if (near)
        level_line(g, "alarm", "room for tensors", room, true);
    /* Between two lines that are close there is no place for a name. */
    level_line(g, "level", "reserved", g->course->highest_reserved,
               !near || room < g->course->highest_reserved
                   || at_y(g, g->course->highest_reserved) - at_y(g, room) > 20);
    mfu_draw_line(g->canvas, "axis", g->x0, g->y1, g->x1, g->y1);
    mfu_draw_time_axis(g->canvas, g->x0, g->x1, g->y1, g->course->seconds,
                       g->plan->n_stages > 0 ? "time" : "work of the GPU");
}

static int draw_memory(struct mfu_canvas *c, const struct mfu_plan *p, const struct mfu_simulation *s,
                       struct mfu_error *err)
{
    struct mfu_memory_timeline course;
    struct chart g = {.canvas = c, .plan = p, .course = &course, .chosen = malloc(MOST_POINTS * sizeof *g.chosen)};
    struct mfu_memory_piece pieces[MFU_MEMORY_PIECES];
    int status = g.chosen ? mfu_memory_timeline_of(p, s, &course, err) : mfu_fail(err, MFU_ENOMEM, "out of memory");

    if (status == 0) {
        g.n = mfu_memory_timeline_thin(&course, MOST_POINTS, g.chosen);
        if (c->picture) /* a page has a table beside it */
            keys(c, pieces, most_of_parts(&course, pieces));
        if (p->n_stages > 0)
            mfu_canvas_key(c, NULL, false, "Stage %d, which holds the most; within a pass memory is drawn as a line",
                           p->worst_stage + 1);
        else if (p->config.accum > 2)
            mfu_canvas_key(c, NULL, false,
                           "The first micro-step of a steady step, the later ones, which are alike, once, and the "
                           "optimizer");
        while (mfu_canvas_next(c, "", "memory over one step, by part", 300, 260))
            if (course.seconds > 0)
                chart(&g);
        mfu_memory_timeline_release(&course);
    }
    free(g.chosen);
    return status;
}

const struct mfu_figure mfu_figure_memory = {.name = "memory",
                                             .summary = "memory over one step, by part",
                                             .title = "Memory over one step",
                                             .records = mfu_memory_timeline_records,
                                             .draw = draw_memory};
