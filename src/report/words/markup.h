/*
 * markup.h - text and figures within a page: escaped, and exact where a
 * program reads them back.
 */
#ifndef MFU_MARKUP_H
#define MFU_MARKUP_H

#include <stdio.h>

#include "base/quantity.h"

/* Text as content or within double quotes.  Control characters are left out and
 * bytes that are no UTF-8 become '?', so that any page stays well-formed. */
void mfu_markup_text(FILE *, const char *text);

/* A figure for people, with its exact value and what it is called in the JSON
 * answers: <data data-key="step.step_time_s" value="10.21...">10.21 s</data>. */
void mfu_markup_figure(FILE *, const char *key, double value, enum mfu_dim dim);
void mfu_markup_named(FILE *, const char *key, double value, const char *text); /* in other words */

/* A share as "54.3 %", small ones as "0.76 %"; returns buf. */
const char *mfu_markup_share(char buf[16], double share);

#endif
