/*
 * show_page.h - showing the glossary's and the lessons' texts.
 */
#ifndef MFU_REPL_PAGE_H
#define MFU_REPL_PAGE_H

#include "report/words/template.h"
#include "repl/session.h"

/* The subject of the current scenario, planned and simulated; one that cannot
 * be planned has no results, and `problem` says why; out of memory, the answer is lost.  `subject` is large. */
void mfu_subject_of_session(struct mfu_session *, struct mfu_subject *subject, struct mfu_error *problem);

/* Blanks that do not break become plain ones, in place. */
void mfu_plain_blanks(char *text);

/* Writes paragraphs broken at the width of the window: lists ("- ") with their
 * indent, lines that begin with four blanks as they are.  Out of memory, they are lost (struct mfu_term). */
void mfu_put_page(FILE *, const struct mfu_term *, const char *text);

#endif
