/*
 * svg.c - small drawings inside a page.
 */
#include "report/html/svg.h"

#include <math.h>

#include "report/words/markup.h"
#include "report/text/text.h"

static const char *const anchors[] = {
    [MFU_SVG_START] = "", [MFU_SVG_MIDDLE] = " text-anchor=\"middle\"", [MFU_SVG_END] = " text-anchor=\"end\""};

/* A tenth of a unit is finer than what a screen shows. */
static void number(FILE *out, double x)
{
    x = round(10 * x) / 10;
    fprintf(out, "%.6g", x == 0 ? 0 : x); /* no -0 */
}

static void attribute(FILE *out, const char *name, double x)
{
    fprintf(out, " %s=\"", name);
    number(out, x);
    putc('"', out);
}

static void close_element(FILE *out, const char *name, const char *tip)
{
    if (!tip) {
        fputs("/>\n", out);
        return;
    }
    fputs("><title>", out);
    mfu_markup_text(out, tip);
    fprintf(out, "</title></%s>\n", name);
}

void mfu_svg_begin(FILE *out, const char *class, double width, double height, const char *title)
{
    fprintf(out, "<svg class=\"%s\" viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"", class, width, height);
    mfu_markup_text(out, title);
    fputs("\">\n", out);
}

void mfu_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

void mfu_svg_rect(FILE *out, const char *class, double x, double y, double width, double height, const char *tip)
{
    fprintf(out, "<rect class=\"%s\"", class);
    attribute(out, "x", x);
    attribute(out, "y", y);
    attribute(out, "width", fmax(width, 0));
    attribute(out, "height", fmax(height, 0));
    close_element(out, "rect", tip);
}

void mfu_svg_circle(FILE *out, const char *class, double x, double y, double r, const char *tip)
{
    fprintf(out, "<circle class=\"%s\"", class);
    attribute(out, "cx", x);
    attribute(out, "cy", y);
    attribute(out, "r", r);
    close_element(out, "circle", tip);
}

void mfu_svg_line(FILE *out, const char *class, double x0, double y0, double x1, double y1)
{
    fprintf(out, "<line class=\"%s\"", class);
    attribute(out, "x1", x0);
    attribute(out, "y1", y0);
    attribute(out, "x2", x1);
    attribute(out, "y2", y1);
    close_element(out, "line", NULL);
}

static void text_at(FILE *out, const char *class, double x, double y, enum mfu_svg_anchor anchor)
{
    fprintf(out, "<text class=\"%s\"%s", class, anchors[anchor]);
    attribute(out, "x", x);
    attribute(out, "y", y);
}

void mfu_svg_text(FILE *out, const char *class, double x, double y, enum mfu_svg_anchor anchor, const char *text)
{
    text_at(out, class, x, y, anchor);
    putc('>', out);
    mfu_markup_text(out, text);
    fputs("</text>\n", out);
}

void mfu_svg_turned(FILE *out, const char *class, double x, double y, enum mfu_svg_anchor anchor, double degrees,
                    const char *text)
{
    text_at(out, class, x, y, anchor);
    fprintf(out, " transform=\"rotate(%.1f %.1f %.1f)\">", degrees, x, y);
    mfu_markup_text(out, text);
    fputs("</text>\n", out);
}

void mfu_svg_path_begin(FILE *out, const char *class)
{
    fprintf(out, "<path class=\"%s\" d=\"", class);
}

void mfu_svg_move(FILE *out, double x, double y)
{
    putc('M', out);
    number(out, x);
    putc(' ', out);
    number(out, y);
}

void mfu_svg_to(FILE *out, double x, double y)
{
    putc('L', out);
    number(out, x);
    putc(' ', out);
    number(out, y);
}

void mfu_svg_to_x(FILE *out, double x)
{
    putc('H', out);
    number(out, x);
}

void mfu_svg_to_y(FILE *out, double y)
{
    putc('V', out);
    number(out, y);
}

void mfu_svg_path_end(FILE *out, const char *tip)
{
    putc('"', out);
    close_element(out, "path", tip);
}

double mfu_svg_width(const char *text)
{
    return 0.58 * MFU_SVG_FONT * mfu_text_width(text);
}

double mfu_svg_tick(double span, int most)
{
    double least = span / most, power = pow(10, floor(log10(least)));

    return least <= power ? power : least <= 2 * power ? 2 * power : least <= 5 * power ? 5 * power : 10 * power;
}
