/*
 * memory.c - the memory of the card as one bar, its parts, and how they
 * change over a step.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/html.h"
#include "plan/simulation.h"
#include "plan/memory_timeline.h"
#include "report/plot/gnuplot.h"
#include "report/html/section.h"
#include "report/html/svg.h"
#include "scenario/setting.h"

#define GIB 0x1p30
#define MOST_POINTS 400
#define FAR 2.0 /* a capacity beyond that many times what is used is only named */

/* ---- pieces of the card ---------------------------------------------------- */

struct piece {
    const char *name, *class, *what;
    char key[32]; /* in the JSON answer; "": not there */
    double bytes;
};

enum { MOST_PIECES = MFU_PART_COUNT + 3 };

static int cut_up(const struct mfu_plan *p, struct piece *pieces)
{
    const struct mfu_memory_answer *m = &p->memory;
    const struct piece others[] = {
        {"cached", "cached", "free blocks that the allocator keeps", "", m->reserved_bytes - m->peak.bytes},
        {"CUDA context", "context", "context, loaded kernels, libraries", "memory.context_bytes", m->context_bytes},
        {"other processes", "processes", "the desktop and others: vram_reserved", "",
         p->config.setting[MFU_S_VRAM_RESERVED]}};
    int n = 0;

    for (int i = 0; i < MFU_PART_COUNT; i++) {
        enum mfu_part k = mfu_html_parts[i];

        if (m->peak.parts[k] < 0.5)
            continue;
        pieces[n] =
            (struct piece){mfu_part_title(k), mfu_html_part_class[k], mfu_part_meanings[k], "", m->peak.parts[k]};
        snprintf(pieces[n++].key, sizeof pieces[0].key, "memory.parts.%d.bytes", (int)k);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].bytes >= 0.5)
            pieces[n++] = others[i];
    return n;
}

/* ---- the bar ----------------------------------------------------------------- */

#define BAR_TOP 22.
#define BAR_HEIGHT 40.

static void segments(FILE *out, const struct piece *pieces, int n, double scale)
{
    double x = 0;

    for (int i = 0; i < n; i++) {
        double width = pieces[i].bytes * scale;
        char class[48], tip[96];
        const char *bytes = MFU_Q(pieces[i].bytes, MFU_BYTES);

        snprintf(class, sizeof class, "seg %s", pieces[i].class);
        snprintf(tip, sizeof tip, "%s %s", pieces[i].name, bytes);
        mfu_svg_rect(out, class, x, BAR_TOP, width, BAR_HEIGHT, tip);
        snprintf(class, sizeof class, "on-%s", pieces[i].class);
        if (fmax(mfu_svg_width(pieces[i].name), mfu_svg_width(bytes)) + 6 < width) {
            mfu_svg_text(out, class, x + width / 2, BAR_TOP + 17, MFU_SVG_MIDDLE, pieces[i].name);
            mfu_svg_text(out, class, x + width / 2, BAR_TOP + 32, MFU_SVG_MIDDLE, bytes);
        }
        x += width;
    }
}

/* What is measured from the left, below the bar: a line with an end. */
static void level(FILE *out, double y, double x, double width, const char *name, double bytes)
{
    char text[96];

    snprintf(text, sizeof text, "%s %s", name, MFU_Q(bytes, MFU_BYTES));
    mfu_svg_line(out, "axis", 0, y, x, y);
    mfu_svg_line(out, "level", x, y - 5, x, y + 5);
    if (x > mfu_svg_width(text) || x > width / 2)
        mfu_svg_text(out, "", x - 5, y - 4, MFU_SVG_END, text);
    else
        mfu_svg_text(out, "", x + 6, y + 4, MFU_SVG_START, text);
}

static void split(FILE *out, const struct mfu_plan *p, const struct mfu_html_frame *frame)
{
    const struct mfu_memory_answer *m = &p->memory;
    double others = p->config.setting[MFU_S_VRAM_RESERVED], used = m->smi_bytes + others;
    double most = fmax(m->capacity_bytes, used), scale = (frame->width - 2) / most, x = m->capacity_bytes * scale;
    struct piece pieces[MOST_PIECES];
    char text[96], class[32];

    snprintf(text, sizeof text, "memory as one bar: %s of %s used", MFU_Q(used, MFU_BYTES),
             MFU_Q(m->capacity_bytes, MFU_BYTES));
    snprintf(class, sizeof class, "%s split", frame->class);
    mfu_svg_begin(out, class, frame->width, 142, text);
    mfu_svg_rect(out, "track", 0, BAR_TOP, m->capacity_bytes * scale, BAR_HEIGHT, NULL);
    segments(out, pieces, cut_up(p, pieces), scale);
    mfu_svg_line(out, "alarm", x, 6, x, BAR_TOP + BAR_HEIGHT + 6);
    snprintf(text, sizeof text, "the card offers %s", MFU_Q(m->capacity_bytes, MFU_BYTES));
    if (x > mfu_svg_width(text) + 6)
        mfu_svg_text(out, "alarm", x - 6, 15, MFU_SVG_END, text);
    else
        mfu_svg_text(out, "alarm", x + 6, 15, MFU_SVG_START, text);
    level(out, 85, m->peak.bytes * scale, frame->width, "allocated by tensors", m->peak.bytes);
    level(out, 109, m->reserved_bytes * scale, frame->width, "reserved by PyTorch", m->reserved_bytes);
    level(out, 133, m->smi_bytes * scale, frame->width, "nvidia-smi", m->smi_bytes);
    mfu_svg_end(out);
}

/* ---- the table ------------------------------------------------------------- */

static void bytes_cell(FILE *out, const char *key, double bytes)
{
    fputs("<td class=\"n\">", out);
    if (*key)
        mfu_markup_figure(out, key, bytes, MFU_BYTES);
    else
        mfu_markup_text(out, MFU_Q(bytes, MFU_BYTES));
    fputs("</td>", out);
}

static void sum(FILE *out, const char *name, const char *key, double bytes, double whole, const char *what)
{
    fprintf(out, "<tr class=\"sum\"><th scope=\"row\">%s</th>", name);
    bytes_cell(out, key, bytes);
    fprintf(out, "<td class=\"n\">%s</td><td class=\"faint more\">%s</td></tr>\n", MFU_P(bytes / whole), what);
}

static void table(FILE *out, const struct mfu_plan *p)
{
    const struct mfu_memory_answer *m = &p->memory;
    struct piece pieces[MOST_PIECES];
    int n = cut_up(p, pieces);
    double whole = m->capacity_bytes;

    fputs("<div class=\"scroll\"><table>\n<tr><th>part</th><th class=\"n\">bytes</th><th class=\"n\">of the card</th>"
          "<th class=\"more\">what it is</th></tr>\n",
          out);
    for (int i = 0; i < n; i++) {
        fprintf(out, "<tr><td class=\"part\"><span class=\"key %s\"></span>%s</td>", pieces[i].class, pieces[i].name);
        bytes_cell(out, pieces[i].key, pieces[i].bytes);
        fprintf(out, "<td class=\"n\">%s</td><td class=\"faint more\">%s</td></tr>\n", MFU_P(pieces[i].bytes / whole),
                pieces[i].what);
        if (i + 1 < n && strcmp(pieces[i + 1].class, "cached") == 0)
            sum(out, "allocated", "memory.peak_allocated_bytes", m->peak.bytes, whole,
                "torch.cuda.max_memory_allocated()");
        if (strcmp(pieces[i].class, "cached") == 0)
            sum(out, "reserved", "memory.peak_reserved_bytes", m->reserved_bytes, whole,
                "torch.cuda.max_memory_reserved()");
        if (strcmp(pieces[i].class, "context") == 0)
            sum(out, "nvidia-smi", "memory.smi_used_bytes", m->smi_bytes, whole, "in use by the process");
    }
    sum(out, "the card", "memory.capacity_bytes", m->capacity_bytes, whole,
        m->capacity_assumed ? "offered to a process, estimated" : "offered to a process");
    fputs("</table></div>\n", out);
}

/* ---- over a step ------------------------------------------------------------- */

struct chart {
    const struct mfu_plan *plan;
    const struct mfu_memory_timeline *course;
    size_t *chosen, n;     /* points that are drawn */
    double x0, x1, y0, y1; /* edges; y0 above */
    double top;            /* bytes at y0 */
};

static double at_x(const struct chart *c, double time_s)
{
    return c->x0 + time_s / c->course->seconds * (c->x1 - c->x0);
}

static double at_y(const struct chart *c, double bytes)
{
    return c->y1 - bytes / c->top * (c->y1 - c->y0);
}

/* The sum of the lowest `parts` of them, as an area; levels hold until the next
 * point. */
static void area(FILE *out, const struct chart *c, int parts)
{
    double last = NAN;

    mfu_svg_path_begin(out, mfu_html_part_class[mfu_html_parts[parts - 1]]);
    mfu_svg_move(out, c->x0, c->y1);
    for (size_t i = 0; i < c->n; i++) {
        const struct mfu_memory_timeline_point *p = &c->course->points[c->chosen[i]];
        double bytes = 0, y;

        for (int k = 0; k < parts; k++)
            bytes += p->parts[mfu_html_parts[k]];
        y = round(10 * at_y(c, bytes)) / 10;
        if (y == last)
            continue;
        if (i > 0)
            mfu_svg_to_x(out, at_x(c, p->time_s));
        mfu_svg_to_y(out, y);
        last = y;
    }
    mfu_svg_to_x(out, c->x1);
    mfu_svg_to_y(out, c->y1);
    mfu_svg_path_end(out, mfu_part_title(mfu_html_parts[parts - 1]));
}

static void byte_axis(FILE *out, const struct chart *c)
{
    double unit = c->top < 2 * GIB ? 0x1p20 : GIB, step = mfu_svg_tick(c->top / unit, 5);
    char text[48];

    for (int i = 0; i * step * unit <= c->top; i++) {
        double y = at_y(c, i * step * unit);

        snprintf(text, sizeof text, "%g", i * step);
        mfu_svg_line(out, "grid", c->x0, y, c->x1, y);
        mfu_svg_text(out, "faint", c->x0 - 6, y + 4, MFU_SVG_END, text);
    }
    mfu_svg_text(out, "faint", 0, 10, MFU_SVG_START, unit < GIB ? "MiB" : "GiB");
}

static void level_line(FILE *out, const struct chart *c, const char *class, const char *name, double bytes, bool above)
{
    double y = at_y(c, bytes);
    char text[96];

    snprintf(text, sizeof text, "%s %s", name, MFU_Q(bytes, MFU_BYTES));
    mfu_svg_line(out, class, c->x0, y, c->x1, y);
    mfu_svg_text(out, strcmp(class, "alarm") == 0 ? "alarm" : "", c->x0 + 6, above ? y - 5 : y + 14, MFU_SVG_START,
                 text);
}

static void chart_phases(FILE *out, const struct chart *c)
{
    struct mfu_html_phase phases[MFU_MEMORY_TIMELINE_SPANS];
    int n = c->course->n_spans;

    for (int i = 0; i < n; i++) {
        const struct mfu_memory_timeline_span *s = &c->course->spans[i];

        phases[i] =
            (struct mfu_html_phase){s->phase, n > 3 ? s->micro_step : -1, at_x(c, s->begin_s), at_x(c, s->end_s)};
    }
    mfu_html_phases(out, phases, n, 0, c->y1);
}

static void chart(FILE *out, struct chart *c, const struct mfu_html_frame *frame)
{
    const struct mfu_memory_answer *m = &c->plan->memory;
    double room = m->capacity_bytes - m->context_bytes - c->plan->config.setting[MFU_S_VRAM_RESERVED];
    double most = fmax(c->course->highest_reserved, c->course->highest_allocated),
           height = frame->width > 500 ? 300 : 260;
    bool near = room > 0 && room < FAR * most;

    c->x0 = 34, c->x1 = frame->width - 4, c->y0 = 18, c->y1 = height - 42;
    c->top = 1.1 * (near ? fmax(most, room) : most);
    mfu_svg_begin(out, frame->class, frame->width, height, "memory over one step, by part");
    byte_axis(out, c);
    for (int k = MFU_PART_COUNT; k > 0; k--)
        area(out, c, k);
    chart_phases(out, c);
    if (near)
        level_line(out, c, "alarm", "room for tensors", room, true);
    /* Between two lines that are close there is no place for a name. */
    level_line(out, c, "level", "reserved", c->course->highest_reserved,
               !near || room < c->course->highest_reserved
                   || at_y(c, c->course->highest_reserved) - at_y(c, room) > 20);
    mfu_svg_line(out, "axis", c->x0, c->y1, c->x1, c->y1);
    mfu_html_time_axis(out, c->x0, c->x1, c->y1, c->course->seconds, "work of the GPU");
    mfu_svg_end(out);
}

static int over_time(FILE *out, const struct mfu_html_page *page, struct mfu_error *err)
{
    struct mfu_memory_timeline course;
    struct chart c = {.plan = page->plan, .course = &course};
    struct mfu_error why = {0};

    fputs("<h3>Over a step</h3>\n", out);
    if (mfu_memory_timeline_make(page->simulation, &course, &why) < 0) {
        if (why.code == MFU_ENOMEM)
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        fputs("<p>Not drawn: ", out);
        mfu_markup_text(out, why.text);
        fputs(".</p>\n", out);
        return 0;
    }
    if (!(c.chosen = malloc(MOST_POINTS * sizeof *c.chosen))) {
        mfu_memory_timeline_release(&course);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    c.n = mfu_memory_timeline_thin(&course, MOST_POINTS, c.chosen);
    for (int i = 0; i < MFU_HTML_FRAMES && course.seconds > 0; i++)
        chart(out, &c, &mfu_html_frames[i]);
    if (page->plan->config.accum > 2)
        fputs("<p class=\"note\">The first micro-step of a steady step, the later ones, which are alike, once, and the "
              "optimizer. Colours as in the table.</p>\n",
              out);
    free(c.chosen);
    mfu_memory_timeline_release(&course);
    return 0;
}

int mfu_html_memory(FILE *out, const struct mfu_html_page *page, struct mfu_error *err)
{
    fputs("<p>At its highest moment: ", out);
    mfu_markup_text(out, page->plan->memory.peak_at);
    fputs(".</p>\n", out);
    for (int i = 0; i < MFU_HTML_FRAMES; i++)
        split(out, page->plan, &mfu_html_frames[i]);
    table(out, page->plan);
    return over_time(out, page, err);
}
