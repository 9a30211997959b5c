/*
 * html.h - a plan as a page: one file, with everything in it.
 *
 * No script, nothing from the network; light and dark, on a telephone and on
 * paper.  Figures are SVG within the page, drawn twice, for wide and for narrow
 * screens.  Elements <data> hold the exact figures under their names in the
 * JSON answers; the page is well-formed XML, too.
 */
#ifndef MFU_HTML_H
#define MFU_HTML_H

#include <stddef.h>
#include <stdio.h>

struct mfu_advice;
struct mfu_error;
struct mfu_plan;
struct mfu_simulation;

struct mfu_html_report {
    const struct mfu_plan *plan;
    const struct mfu_simulation *simulation; /* of the plan; it recorded */
    const struct mfu_advice *advice;         /* for the plan's scenario; NULL: no section */
    const char *commands;                    /* a script that makes the scenario again; NULL: no section */
    const char *version;                     /* of the program */
};

/* The name of the i-th section of this plan's page; NULL behind the last. */
const char *mfu_html_section(const struct mfu_plan *, size_t i);

/* Writes that section; of the levers' alone, `advice` is needed. */
int mfu_html_put_section(FILE *, const struct mfu_html_report *, size_t i, struct mfu_error *);

/* All of the page. */
int mfu_html_put_page(FILE *, const struct mfu_html_report *, struct mfu_error *);

/* The file appears when it is complete. */
int mfu_html_write(const char *path, const struct mfu_html_report *, struct mfu_error *);

#endif
