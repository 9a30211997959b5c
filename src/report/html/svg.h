/*
 * svg.h - small drawings inside a page.
 *
 * Lengths are those of the drawing, from its upper left; the page scales it.
 * Colours are the page's: everything has a class, nothing a colour.  Labels are
 * MFU_SVG_FONT high.
 *
 *     mfu_svg_begin(out, "wide", 720, 90, "memory as one bar");
 *     mfu_svg_rect(out, "weights", 0, 10, 100, 40, "weights 474 MiB");
 *     mfu_svg_text(out, "", 50, 34, MFU_SVG_MIDDLE, "weights");
 *     mfu_svg_end(out);
 */
#ifndef MFU_SVG_H
#define MFU_SVG_H

#include <stdio.h>

#define MFU_SVG_FONT 12.

enum mfu_svg_anchor { MFU_SVG_START, MFU_SVG_MIDDLE, MFU_SVG_END };

/* `title` is read aloud instead of the drawing. */
void mfu_svg_begin(FILE *, const char *class, double width, double height, const char *title);
void mfu_svg_end(FILE *);

/* `tip` is shown where a mouse points; NULL: none. */
void mfu_svg_rect(FILE *, const char *class, double x, double y, double width, double height, const char *tip);
void mfu_svg_circle(FILE *, const char *class, double x, double y, double r, const char *tip);
void mfu_svg_line(FILE *, const char *class, double x0, double y0, double x1, double y1);

/* On the line `y`; turned by `degrees`, clockwise, about its anchor. */
void mfu_svg_text(FILE *, const char *class, double x, double y, enum mfu_svg_anchor, const char *text);
void mfu_svg_turned(FILE *, const char *class, double x, double y, enum mfu_svg_anchor, double degrees,
                    const char *text);

/* What is drawn between begin and end: M, L, H, V, Z of SVG. */
void mfu_svg_path_begin(FILE *, const char *class);
void mfu_svg_move(FILE *, double x, double y);
void mfu_svg_to(FILE *, double x, double y);
void mfu_svg_to_x(FILE *, double x);
void mfu_svg_to_y(FILE *, double y);
void mfu_svg_path_end(FILE *, const char *tip);

/* How wide a label is, about: no font is known here.  Rather too much. */
double mfu_svg_width(const char *text);

/* A round distance between ticks, so that at most `most` of them lie in `span`. */
double mfu_svg_tick(double span, int most);

#endif
