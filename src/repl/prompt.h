/*
 * prompt.h - a question to the user, in the middle of a command.
 */
#ifndef MFU_ASK_H
#define MFU_ASK_H

/* What was typed, without blanks at its ends, for free(); NULL at Ctrl-D.  Only
 * in a conversation (session->interactive); it is kept in no history. */
char *mfu_ask(const char *prompt);

#endif
