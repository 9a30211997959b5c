/*
 * lesson.h - a guided session: text, real commands, and questions before they
 * are answered.
 *
 * A lesson is a page (report/words/pages/lessons/<language>/<name>.md) of these lines:
 *
 *     > plan                              runs the command
 *     = before mfu                        keeps a figure: {before}
 *     ? What is the MFU? | mfu | 20%      asks for a guess; right within 20 %
 *     ? Does it fit? | fits               yes or no
 *     ...                                 waits for Enter
 *     ---                                 from here on: the reader's own scenario
 *     anything else                       text with {figures}
 *
 * In a conversation it waits where it asks; anywhere else it goes on and tells
 * the answer.  It starts from the first scenario (`reset`), and when it ends,
 * however it ends, the session is as it was.
 */
#ifndef MFU_LESSON_H
#define MFU_LESSON_H

#include "base/field.h"
#include "repl/session.h"
#include "report/words/pages.h"

/* 0 at its end, 1 when the reader has left it. */
int mfu_lesson(struct mfu_session *, const struct mfu_page *, struct mfu_error *err);

extern const struct mfu_record mfu_record_lesson;

#endif
