/*
 * manual.h - the manual page and the completions of shells, from the program's own tables.
 */
#ifndef MFU_MANUAL_H
#define MFU_MANUAL_H

#include <stdbool.h>
#include <stdio.h>

/* Writes mfuplan(1): options, commands, settings, topics, exit status. */
void mfu_manual_write(FILE *);

/* Writes what bash, zsh or fish reads to complete the words behind `mfuplan`: options, files,
 * and inside -e '...' what Tab offers in a conversation.  False: no shell that it knows. */
bool mfu_completion_write(FILE *, const char *shell);
extern const char *const mfu_completion_shells[]; /* NULL-terminated */

#endif
