/*
 * canvas.c - drawing as SVG, and as a script of gnuplot.
 *
 * gnuplot's axes are those of the drawing: a unit is a pixel, y grows downwards.
 */
#include "report/draw/canvas.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "report/plot/gnuplot.h"
#include "report/text/text.h"
#include "report/words/markup.h"

const struct mfu_fill mfu_fills[] = {
    {"weights", "#332288", "#ffffff", "#9a8ee8"},     {"gradients", "#88ccee", "#1c2126", "#88ccee"},
    {"optimizer", "#44aa99", "#1c2126", "#44aa99"},   {"casts", "#117733", "#ffffff", "#4dab6c"},
    {"activations", "#ddcc77", "#1c2126", "#ddcc77"}, {"logits", "#cc6677", "#1c2126", "#e0838f"},
    {"workspace", "#999933", "#1c2126", "#b3b34a"},   {"communication", "#aa4499", "#ffffff", "#cf7cc2"},
    {"other", "#882255", "#ffffff", "#c9719a"},       {"cached", "#b9bec4", "#1c2126", "#868e97"},
    {"context", "#6b7178", "#ffffff", "#aeb6be"},     {"processes", "#444a50", "#ffffff", "#d0d6dc"},
    {"sort0", "#4477aa", "#ffffff", "#6fa3d8"},       {"sort1", "#aa3377", "#ffffff", "#d76ba7"},
    {"sort2", "#ccbb44", "#1c2126", "#d4c55e"},       {"sort3", "#ee6677", "#1c2126", "#f07f8d"},
    {"sort4", "#228833", "#ffffff", "#57b567"},
};
const int mfu_fill_count = sizeof mfu_fills / sizeof mfu_fills[0];

double mfu_label_width(const char *text)
{
    return 0.58 * MFU_CANVAS_FONT * mfu_text_width(text);
}

double mfu_axis_tick(double span, int most)
{
    double least = span / most, power = pow(10, floor(log10(least)));

    return least <= power ? power : least <= 2 * power ? 2 * power : least <= 5 * power ? 5 * power : 10 * power;
}

/* ---- gnuplot ---------------------------------------------------------------- */

/* Where the drawing is in the picture, and its keys on the right. */
#define LEFT 30.
#define TOP 92.
#define WIDTH 665.
#define HEIGHT 505.
#define KEYS 720.
#define LEAST_BORDERED 6. /* narrower, a white border takes a third of a block and it looks idle (chosen) */

#define INK "#333333"
#define FAINT "#767676"

/* The colour of the class's last word that has one; lines have a width and a style. */
static const char *color_of(const char *class, const char **line)
{
    static const struct {
        const char *class, *color, *line;
    } lines[] = {
        {"faint", FAINT, ""},
        {"track", "#d5dade", ""},
        {"grid", "#e3e3e3", "linewidth 1 back"},
        {"axis", FAINT, "linewidth 1 front"},
        {"phase", FAINT, "linewidth 1 dashtype 3 front"},
        {"leader", FAINT, "linewidth 0.8 front"},
        {"alarm", "#bb2233", "linewidth 2 front"},
        {"level", INK, "linewidth 1.5 front"},
        {"roof", INK, "linewidth 2.5"},
        {"thin", FAINT, "linewidth 1.2 dashtype 2"},
        {"tensor", "#4477aa", "linewidth 1.6"},
        {"dram", "#b8475b", "linewidth 1.6"},
        {"link", "#1c2126", "linewidth 1.6"},
    };
    const char *color = INK;

    *line = "linewidth 1.2 front";
    for (const char *word = class; *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        bool on = strncmp(word, "on-", 3) == 0;

        for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
            if (strlen(lines[i].class) == length && strncmp(word, lines[i].class, length) == 0)
                color = lines[i].color, *line = lines[i].line;
        for (int i = 0; i < mfu_fill_count; i++)
            if (strlen(mfu_fills[i].class) == length - 3 * on
                && strncmp(word + 3 * on, mfu_fills[i].class, length - 3 * on) == 0)
                color = on ? mfu_fills[i].on_day : mfu_fills[i].day, *line = NULL;
        word += length;
    }
    return color;
}

static void script_text(FILE *out, const char *text, double x, double y, const char *how, const char *color)
{
    fputs("set label ", out);
    mfu_gnuplot_text(out, text);
    fprintf(out, " at first %.6g,%.6g %s front textcolor '%s'\n", x, y, how, color);
}

/* Words of a remark, in lines of what the keys' column holds. */
static void script_remark(struct mfu_canvas *c, char *text)
{
    while (*text) {
        size_t n = strlen(text), room = 32;

        if (n > room)
            for (n = room; n > 0 && text[n] != ' '; n--)
                ;
        n = n ? n : strlen(text);
        if (text[n])
            text[n++] = '\0';
        script_text(c->out, text, KEYS, c->key_y, "left font ',12'", FAINT);
        c->key_y += 20;
        text += n;
    }
    c->key_y += 8;
}

static void script_end(struct mfu_canvas *c)
{
    const char *line;

    fputs("plot ", c->out);
    for (int i = 0; i < c->n_paths; i++) {
        const char *color = color_of(c->paths[i], &line);

        fprintf(c->out,
                line ? "%s$path%d with lines linecolor rgb '%s' %s"
                     : "%s$path%d with filledcurves closed fillcolor rgb '%s'",
                i ? ", \\\n     " : "", i, color, line);
    }
    fputs(c->n_paths ? "\n" : "NaN notitle\n", c->out);
}

/* ---- SVG -------------------------------------------------------------------- */

/* A tenth of a unit is finer than what a screen shows. */
static double tenths(double x)
{
    x = round(10 * x) / 10;
    return x == 0 ? 0 : x; /* no -0 */
}

/* A length in tenths of a unit, as "%.6g" writes it: a page has ten thousand of them. */
static void put_length(FILE *out, const char *before, double length, const char *after)
{
    double x = tenths(length), whole = trunc(x);
    int tenth = (int)lround(10 * fabs(x - whole));

    if (!(fabs(x) < 1e5))
        fprintf(out, "%s%.6g%s", before, x, after);
    else {
        char digits[8];
        int n = sizeof digits, rest = (int)fabs(whole);

        do
            digits[--n] = (char)('0' + rest % 10);
        while (rest /= 10);
        fputs(before, out);
        if (x < 0)
            putc('-', out);
        fwrite(&digits[n], 1, sizeof digits - (size_t)n, out);
        if (tenth > 0)
            putc('.', out), putc('0' + tenth, out);
        fputs(after, out);
    }
}

/* The attributes by name, each with its length. */
static void svg_element(struct mfu_canvas *c, const char *name, const char *class, const char *const *names,
                        const double *lengths, int n)
{
    fprintf(c->out, "<%s class=\"%s\"", name, class);
    for (int i = 0; i < n; i++) {
        putc(' ', c->out);
        fputs(names[i], c->out);
        put_length(c->out, "=\"", lengths[i], "\"");
    }
}

static void svg_close(struct mfu_canvas *c, const char *name, const char *tip)
{
    if (!tip) {
        fputs("/>\n", c->out);
        return;
    }
    fputs("><title>", c->out);
    mfu_markup_text(c->out, tip);
    fprintf(c->out, "</title></%s>\n", name);
}

/* ---- the canvas --------------------------------------------------------------- */

struct mfu_canvas mfu_canvas_page(FILE *out)
{
    return (struct mfu_canvas){.out = out};
}

struct mfu_canvas mfu_canvas_picture(FILE *out)
{
    fprintf(out,
            "set lmargin at screen 0\nset rmargin at screen 1\nset tmargin at screen 1\nset bmargin at screen 0\n"
            "set xrange [0:%d]\nset yrange [%d:0]\nunset border\nunset tics\nunset key\n",
            MFU_PICTURE_WIDTH, MFU_PICTURE_HEIGHT);
    return (struct mfu_canvas){.out = out, .picture = true, .key_y = TOP + 24};
}

bool mfu_canvas_next(struct mfu_canvas *c, const char *class, const char *title, double wide, double narrow)
{
    int frame = c->drawings++;

    if (c->picture) {
        c->width = WIDTH;
        c->height = HEIGHT;
        if (frame > 0)
            script_end(c);
        return frame == 0;
    }
    if (c->keys)
        fputs("</ul>\n", c->out);
    c->keys = false;
    if (frame > 0)
        fputs("</svg>\n", c->out);
    if (frame > 1)
        return false;
    c->width = frame ? 340 : 720;
    c->height = frame ? narrow : wide;
    fprintf(c->out, "<svg class=\"%s%s%s\" viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", frame ? "narrow" : "wide",
            *class ? " " : "", class, c->width, c->height);
    mfu_markup_text(c->out, title);
    fputs("\">\n", c->out);
    return true;
}

void mfu_canvas_key(struct mfu_canvas *c, const char *class, bool line, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (c->picture && class) {
        const char *style, *color = color_of(class, &style);

        fprintf(c->out,
                "set object rectangle from first %g,%g to first %g,%g fillcolor rgb '%s' fillstyle solid noborder\n",
                KEYS, c->key_y - (line ? 1 : 8), KEYS + 18, c->key_y + (line ? 2 : 8), color);
        script_text(c->out, text, KEYS + 27, c->key_y, "left font ',12'", INK);
        c->key_y += 30;
    } else if (c->picture) {
        script_remark(c, text);
    } else {
        fputs(c->keys ? "" : "<ul class=\"keys\">\n", c->out);
        c->keys = true;
        if (class)
            fprintf(c->out, "<li><span class=\"key %s%s\"></span>", line ? "line-" : "", class);
        else
            fputs("<li class=\"faint\">", c->out);
        mfu_markup_text(c->out, text);
        fputs("</li>\n", c->out);
    }
}

void mfu_draw_rect(struct mfu_canvas *c, const char *class, double x, double y, double width, double height,
                   const char *tip)
{
    const char *line;

    if (c->picture) {
        fprintf(c->out,
                "set object rectangle from first %.6g,%.6g to first %.6g,%.6g fillcolor rgb '%s' fillstyle solid %s\n",
                LEFT + x, TOP + y, LEFT + x + fmax(width, 0), TOP + y + fmax(height, 0), color_of(class, &line),
                width < LEAST_BORDERED ? "noborder" : "border linecolor rgb '#ffffff'");
        return;
    }
    svg_element(c, "rect", class, (const char *const[]){"x", "y", "width", "height"},
                (const double[]){x, y, fmax(width, 0), fmax(height, 0)}, 4);
    svg_close(c, "rect", tip);
}

void mfu_draw_circle(struct mfu_canvas *c, const char *class, double x, double y, double r, const char *tip)
{
    const char *line;

    if (c->picture) {
        fprintf(c->out,
                "set object circle at first %.6g,%.6g size first %.6g front fillcolor rgb '%s' fillstyle transparent "
                "solid 0.75 border linecolor rgb '#ffffff'\n",
                LEFT + x, TOP + y, r, color_of(class, &line));
        return;
    }
    svg_element(c, "circle", class, (const char *const[]){"cx", "cy", "r"}, (const double[]){x, y, r}, 3);
    svg_close(c, "circle", tip);
}

void mfu_draw_line(struct mfu_canvas *c, const char *class, double x0, double y0, double x1, double y1)
{
    const char *line, *color;

    if (c->picture) {
        color = color_of(class, &line);
        fprintf(c->out, "set arrow from first %.6g,%.6g to first %.6g,%.6g nohead linecolor '%s' %s\n", LEFT + x0,
                TOP + y0, LEFT + x1, TOP + y1, color, line ? line : "front");
        return;
    }
    svg_element(c, "line", class, (const char *const[]){"x1", "y1", "x2", "y2"}, (const double[]){x0, y0, x1, y1}, 4);
    svg_close(c, "line", NULL);
}

static void text_at(struct mfu_canvas *c, const char *class, double x, double y, enum mfu_anchor anchor, double degrees,
                    const char *text)
{
    static const char *const names[] = {[MFU_START] = "left", [MFU_MIDDLE] = "center", [MFU_END] = "right"};
    static const char *const anchors[] = {
        [MFU_START] = "", [MFU_MIDDLE] = " text-anchor=\"middle\"", [MFU_END] = " text-anchor=\"end\""};
    const char *line;
    char how[64];

    if (c->picture) { /* y is the middle of the letters */
        double angle = degrees * 3.14159265358979 / 180;

        snprintf(how, sizeof how, "%s rotate by %.1f font ',12'", names[anchor], -degrees);
        script_text(c->out, text, LEFT + x + 4 * sin(angle), TOP + y - 4 * cos(angle), how, color_of(class, &line));
        return;
    }
    fprintf(c->out, "<text class=\"%s\"%s", class, anchors[anchor]);
    put_length(c->out, " x=\"", x, "\"");
    put_length(c->out, " y=\"", y, "\"");
    if (degrees != 0)
        fprintf(c->out, " transform=\"rotate(%.1f %.1f %.1f)\"", degrees, x, y);
    putc('>', c->out);
    mfu_markup_text(c->out, text);
    fputs("</text>\n", c->out);
}

void mfu_draw_text(struct mfu_canvas *c, const char *class, double x, double y, enum mfu_anchor anchor,
                   const char *text)
{
    text_at(c, class, x, y, anchor, 0, text);
}

void mfu_draw_turned(struct mfu_canvas *c, const char *class, double x, double y, double degrees, const char *text)
{
    text_at(c, class, x, y, MFU_MIDDLE, degrees, text);
}

void mfu_path_begin(struct mfu_canvas *c, const char *class)
{
    c->empty = true;
    if (!c->picture)
        fprintf(c->out, "<path class=\"%s\" d=\"", class);
    else
        fprintf(c->out, "$path%d << EOD\n", c->n_paths);
    if (c->picture)
        snprintf(c->paths[c->n_paths], sizeof c->paths[0], "%s", class);
}

void mfu_path_to(struct mfu_canvas *c, double x, double y)
{
    x = tenths(x), y = tenths(y);
    if (c->picture)
        fprintf(c->out, "%.6g %.6g\n", LEFT + x, TOP + y);
    else if (c->empty || (x != c->x && y != c->y)) {
        put_length(c->out, c->empty ? "M" : "L", x, " ");
        put_length(c->out, "", y, "");
    } else if (x != c->x)
        put_length(c->out, "H", x, "");
    else if (y != c->y)
        put_length(c->out, "V", y, "");
    c->empty = false;
    c->x = x, c->y = y;
}

void mfu_path_end(struct mfu_canvas *c, const char *tip)
{
    if (c->picture) {
        fputs("EOD\n", c->out);
        c->n_paths += c->n_paths + 1 < MFU_CANVAS_PATHS;
        return;
    }
    putc('"', c->out);
    svg_close(c, "path", tip);
}

/* ---- what figures share --------------------------------------------------------- */

/* The longest name that fits: "backward 2", "bwd 2", "bwd". */
static void phase_name(char *buf, size_t size, const struct mfu_phase_span *p)
{
    static const char *const brief[MFU_PHASE_COUNT] = {
        [MFU_FORWARD] = "fwd", [MFU_BACKWARD] = "bwd", [MFU_OPTIMIZER_PHASE] = "opt"};
    bool number = p->micro_step >= 0 && p->phase != MFU_OPTIMIZER_PHASE;
    double room = p->x1 - p->x0 - 4;

    for (int i = 0; i < 4; i++) {
        snprintf(buf, size, "%s", i % 2 == 0 && i < 2 ? mfu_phase_names[p->phase] : brief[p->phase]);
        if (i < 2 && number)
            snprintf(buf, size, "%s %d", i == 0 ? mfu_phase_names[p->phase] : brief[p->phase], p->micro_step + 1);
        if (mfu_label_width(buf) <= room)
            return;
    }
    *buf = '\0';
}

void mfu_draw_phases(struct mfu_canvas *c, const struct mfu_phase_span *phases, int n, double y0, double y1)
{
    char name[48];

    for (int i = 0; i < n; i++) {
        if (i > 0)
            mfu_draw_line(c, "phase", phases[i].x0, y0, phases[i].x0, y1);
        phase_name(name, sizeof name, &phases[i]);
        if (*name)
            mfu_draw_text(c, "", (phases[i].x0 + phases[i].x1) / 2, y0 + 10, MFU_MIDDLE, name);
    }
}

void mfu_draw_time_axis(struct mfu_canvas *c, double x0, double x1, double y, double seconds, const char *what)
{
    double unit = seconds < 2 ? 1e-3 : 1, step = mfu_axis_tick(seconds / unit, x1 - x0 > 400 ? 8 : 4);
    char text[64];

    for (int i = 0; i * step <= seconds / unit * 1.0001; i++) {
        double x = x0 + i * step * unit / seconds * (x1 - x0);

        snprintf(text, sizeof text, "%g", i * step);
        mfu_draw_line(c, "axis", x, y, x, y + 4);
        mfu_draw_text(c, "faint", x, y + 17, MFU_MIDDLE, text);
    }
    snprintf(text, sizeof text, "%s, %s", what, unit < 1 ? "ms" : "s");
    mfu_draw_text(c, "faint", (x0 + x1) / 2, y + 34, MFU_MIDDLE, text);
}
