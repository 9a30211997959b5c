/*
 * gnuplot.h - pictures, drawn by the program gnuplot.
 *
 * A picture is a gnuplot script with all that it draws inside, so that it can be
 * kept and changed.  The script is collected, then gnuplot runs once; the picture
 * appears when it is complete.
 *
 *     struct mfu_gnuplot g;
 *     if (mfu_gnuplot_begin(&g, "roofline.svg", keep, err) < 0)
 *         return -1;
 *     fprintf(g.script, "plot ...\n");
 *     return mfu_gnuplot_end(&g, err);
 */
#ifndef MFU_GNUPLOT_H
#define MFU_GNUPLOT_H

#include <stdio.h>

#include "base/atomic_file.h"

/* Size of every picture in units of an SVG; PNGs have two pixels for each. */
#define MFU_PICTURE_WIDTH 1000
#define MFU_PICTURE_HEIGHT 620
#define MFU_PICTURE_FONT 14 /* height of the labels */

struct mfu_gnuplot {
    FILE *script; /* what to draw: write here */
    char *text;   /* of it, once it is complete */
    size_t size;
    const char *keep; /* file for the script, or NULL */
    const char *terminal;
    struct mfu_atomic_file picture;
};

/* FILE.svg, FILE.png or FILE.pdf. */
int mfu_gnuplot_begin(struct mfu_gnuplot *, const char *file, const char *keep, struct mfu_error *err);
int mfu_gnuplot_end(struct mfu_gnuplot *, struct mfu_error *err);
void mfu_gnuplot_drop(struct mfu_gnuplot *);

/* Text within single quotes of a script; labels know no markup. */
void mfu_gnuplot_text(FILE *, const char *text);

#endif
