/*
 * canvas.h - figures of a plan, drawn once: as SVG within a page, or as a
 * picture by gnuplot.
 *
 * Lengths are those of the drawing, from its upper left.  Colours are the
 * canvas's: everything has a class (words with blanks between), nothing a
 * colour.  Labels are MFU_CANVAS_FONT high.
 *
 *     struct mfu_canvas c = mfu_canvas_page(out);
 *     mfu_canvas_key(&c, "weights", false, "weights");
 *     while (mfu_canvas_next(&c, "", "memory as one bar", 90, 90)) {
 *         mfu_draw_rect(&c, "weights", 0, 10, 100, 40, "weights 474 MiB");
 *         mfu_draw_text(&c, "", 50, 34, MFU_MIDDLE, "weights");
 *     }
 */
#ifndef MFU_CANVAS_H
#define MFU_CANVAS_H

#include <stdbool.h>
#include <stdio.h>

#include "graph/program.h"

struct mfu_error;
struct mfu_plan;
struct mfu_scenario;
struct mfu_simulation;
struct mfu_term;

#define MFU_CANVAS_FONT 12.
#define MFU_CANVAS_PATHS 24 /* of a picture, the most */

enum mfu_anchor { MFU_START, MFU_MIDDLE, MFU_END };

struct mfu_canvas {
    FILE *out;
    bool picture;         /* a picture by itself, no part of a page */
    double width, height; /* of the drawing */
    /* The canvas's own. */
    int drawings; /* begun */
    bool keys;    /* a list of keys is open */
    double key_y; /* where the next goes */
    double x, y;  /* the last point of the path */
    bool empty;   /* the path has none yet */
    int n_paths;  /* of the picture */
    char paths[MFU_CANVAS_PATHS][24];
};

struct mfu_canvas mfu_canvas_page(FILE *);    /* twice, for wide and for narrow screens */
struct mfu_canvas mfu_canvas_picture(FILE *); /* a script of gnuplot */

/* Begins the drawing on the next frame; false: there is no more, all is written. `title` is read
 * aloud instead; heights are those of wide and narrow screens. */
bool mfu_canvas_next(struct mfu_canvas *, const char *class, const char *title, double wide, double narrow);

/* Before the drawing: what a colour stands for; class NULL: a remark.  `line`: it is that of a line. */
void mfu_canvas_key(struct mfu_canvas *, const char *class, bool line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* `tip` is shown where a mouse points; NULL: none. */
void mfu_draw_rect(struct mfu_canvas *, const char *class, double x, double y, double width, double height,
                   const char *tip);
void mfu_draw_circle(struct mfu_canvas *, const char *class, double x, double y, double r, const char *tip);
void mfu_draw_line(struct mfu_canvas *, const char *class, double x0, double y0, double x1, double y1);

/* On the line `y`; turned by `degrees`, clockwise, about its anchor. */
void mfu_draw_text(struct mfu_canvas *, const char *class, double x, double y, enum mfu_anchor, const char *text);
void mfu_draw_turned(struct mfu_canvas *, const char *class, double x, double y, double degrees, const char *text);

/* An area or a line, by its class, through the points between begin and end. */
void mfu_path_begin(struct mfu_canvas *, const char *class);
void mfu_path_to(struct mfu_canvas *, double x, double y);
void mfu_path_end(struct mfu_canvas *, const char *tip);

/* How wide a label is, about: no font is known here.  Rather too much. */
double mfu_label_width(const char *text);

/* A round distance between ticks, so that at most `most` of them lie in `span`. */
double mfu_axis_tick(double span, int most);

/* Ticks and their numbers below a drawing whose axis of time goes from x0 to x1. */
void mfu_draw_time_axis(struct mfu_canvas *, double x0, double x1, double y, double seconds, const char *what);

/* Stretches of the phases of a step: lines at their beginnings from y0 to y1,
 * names above where they fit. */
struct mfu_phase_span {
    enum mfu_phase phase;
    int micro_step; /* -1: not said */
    double x0, x1;
};
void mfu_draw_phases(struct mfu_canvas *, const struct mfu_phase_span *, int n, double y0, double y1);

/* Colours of areas by their class: ink on them by day, and themselves by night. */
extern const struct mfu_fill {
    const char *class, *day, *on_day, *night;
} mfu_fills[];
extern const int mfu_fill_count;

/* ---- figures -------------------------------------------------------------- */

struct mfu_figure {
    const char *name, *summary;
    const char *title;
    bool (*records)(const struct mfu_scenario *); /* whether it needs what a simulation recorded; NULL: never */
    int (*draw)(struct mfu_canvas *, const struct mfu_plan *, const struct mfu_simulation *, struct mfu_error *);
    /* In characters, where no file is named; NULL: it needs one. */
    int (*text)(FILE *, const struct mfu_term *, const struct mfu_plan *, struct mfu_error *);
};
extern const struct mfu_figure mfu_figure_memory, mfu_figure_pipeline, mfu_figure_roofline, mfu_figure_split,
    mfu_figure_timeline;
extern const struct mfu_figure *const mfu_figures[]; /* ends with NULL */

/* The figure with a title, as a script of gnuplot (report/plot/gnuplot.h runs it). */
int mfu_figure_picture(FILE *script, const struct mfu_figure *, const struct mfu_plan *, const struct mfu_simulation *,
                       struct mfu_error *);

/* Kernels that have a number in the roofline of a page: the longest of a step. */
#define MFU_NUMBERED 18

/* The memory of the card in pieces, from the bottom. */
struct mfu_memory_piece {
    const char *name, *class, *what;
    char key[32]; /* in the JSON answer; "": not there */
    double bytes;
};
enum { MFU_MEMORY_PIECES = MFU_PART_COUNT + 3 };
int mfu_memory_pieces(const struct mfu_plan *, struct mfu_memory_piece *);

#endif
