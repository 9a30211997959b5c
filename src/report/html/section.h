/*
 * section.h - the sections of a page and what they share; for
 * report/html*.c.
 */
#ifndef MFU_HTML_SECTION_H
#define MFU_HTML_SECTION_H

#include <stdio.h>

#include "plan/plan.h"
#include "base/error.h"
#include "report/words/markup.h"

struct mfu_html_page;

/* Each writes the inside of one section. */
int mfu_html_plan(FILE *, const struct mfu_html_page *, struct mfu_error *);
int mfu_html_memory(FILE *, const struct mfu_html_page *, struct mfu_error *);
int mfu_html_timeline(FILE *, const struct mfu_html_page *, struct mfu_error *);
int mfu_html_roofline(FILE *, const struct mfu_html_page *, struct mfu_error *);
int mfu_html_meters(FILE *, const struct mfu_html_page *, struct mfu_error *);
int mfu_html_levers(FILE *, const struct mfu_html_page *, struct mfu_error *);
int mfu_html_scenario(FILE *, const struct mfu_html_page *, struct mfu_error *);

/* The style sheet. */
void mfu_html_style(FILE *);

/* A figure is drawn once for screens and paper, once for telephones. */
struct mfu_html_frame {
    const char *class; /* "wide", "narrow" */
    double width;
};
#define MFU_HTML_FRAMES 2
extern const struct mfu_html_frame mfu_html_frames[MFU_HTML_FRAMES];

/* Parts of memory, in the order in which they are drawn, and the class of each
 * in the style sheet. */
extern const enum mfu_part mfu_html_parts[MFU_PART_COUNT];
extern const char *const mfu_html_part_class[MFU_PART_COUNT];

/* Stretches of the phases of a step: lines at their beginnings from y0 to y1,
 * names above where they fit. */
struct mfu_html_phase {
    enum mfu_phase phase;
    int micro_step; /* -1: not said */
    double x0, x1;
};
void mfu_html_phases(FILE *, const struct mfu_html_phase *, int n, double y0, double y1);

/* Ticks and their numbers below a drawing whose axis of time goes from x0 to x1. */
void mfu_html_time_axis(FILE *, double x0, double x1, double y, double seconds, const char *what);

/* A paragraph's text, formatted as printf does, and escaped. */
void mfu_html_say(FILE *, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define MFU_Q(value, dim) mfu_quantity_format((char[MFU_QUANTITY_MAX]){0}, value, dim)
#define MFU_P(share) mfu_markup_share((char[16]){0}, share)

#endif
