/*
 * line.h - a line of a conversation: editing, completion, history, Ctrl-C.
 *
 * Readline is behind this, and only in use between _open and _close.
 */
#ifndef MFU_LINE_H
#define MFU_LINE_H

#include <stdbool.h>

struct mfu_session;
struct sigaction;

void mfu_line_open(struct mfu_session *);

/* The next line without its end, for free(); NULL at Ctrl-D. */
char *mfu_line_read(void);

/* The line that was typed so many lines ago, 0 the last one; NULL: none is remembered.  Good until the next is read. */
const char *mfu_line_past(int ago);

/* Ends it; every line is in the history by now, readable by its owner alone. */
void mfu_line_close(void);

/* Ctrl-C is noticed from now on, as below, and cuts no write short; before: what it did until now, or NULL. */
void mfu_line_catch(struct sigaction *before);

/* Whether Ctrl-C was pressed since the last call. */
bool mfu_line_interrupted(void);
/* The same without forgetting it: for loops that end early. */
bool mfu_line_stopping(void);

/* Marks a column of the line that was read last, on stderr, if it is still
 * seen right above. */
void mfu_line_point(struct mfu_session *, int column);

/* The signal that ends the conversation, or 0. */
int mfu_line_ending(void);

#endif
