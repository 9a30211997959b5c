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

struct mfu_html_report;

/* Each writes the inside of one section. */
int mfu_html_plan(FILE *, const struct mfu_html_report *, struct mfu_error *);
int mfu_html_memory(FILE *, const struct mfu_html_report *, struct mfu_error *);
int mfu_html_pipeline(FILE *, const struct mfu_html_report *, struct mfu_error *);
int mfu_html_timeline(FILE *, const struct mfu_html_report *, struct mfu_error *);
int mfu_html_roofline(FILE *, const struct mfu_html_report *, struct mfu_error *);
int mfu_html_meters(FILE *, const struct mfu_html_report *, struct mfu_error *);
int mfu_html_levers(FILE *, const struct mfu_html_report *, struct mfu_error *);
int mfu_html_scenario(FILE *, const struct mfu_html_report *, struct mfu_error *);

/* The style sheet. */
void mfu_html_style(FILE *);

/* A paragraph's text, formatted as printf does, and escaped. */
void mfu_html_say(FILE *, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define MFU_Q(value, dim) mfu_quantity_format((char[MFU_QUANTITY_MAX]){0}, value, dim)
#define MFU_P(share) mfu_markup_share((char[16]){0}, share)

#endif
