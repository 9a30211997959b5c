/*
 * transcript.h - a test, its expected output and a tutorial in one file.
 *
 *     Text between is prose.
 *
 *     > set batch 8
 *     batch 1 -> 8
 *     tokens per step: 1024 -> 8192
 *
 * Lines that begin with "> " are run as in a conversation; what they print
 * takes the place of the lines behind them, up to an empty one.  An empty line
 * of an answer is written as ".".  The output is the file again, when nothing
 * has changed.
 */
#ifndef MFU_TRANSCRIPT_H
#define MFU_TRANSCRIPT_H

#include "repl/session.h"

int mfu_transcript(struct mfu_session *, const char *path, struct mfu_error *err);

#endif
