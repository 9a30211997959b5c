/*
 * script.h - a scenario as commands that make it again.
 */
#ifndef MFU_SCRIPT_H
#define MFU_SCRIPT_H

#include <stdio.h>

struct mfu_error;
struct mfu_session;

/* Writes the commands, one a line, for `source` and `mfuplan FILE`. */
void mfu_script_put(FILE *, struct mfu_session *);

/* The same as a file, which is whole or not there. */
int mfu_script_save(struct mfu_session *, const char *path, struct mfu_error *err);

/* Runs a script inside this conversation: one change for `undo`, or none if it fails. */
int mfu_script_source(struct mfu_session *, const char *path, struct mfu_error *err);

#endif
