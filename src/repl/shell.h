/*
 * shell.h - other programs at the prompt: `!COMMAND`, `ANSWER | COMMAND`, and answers
 * that go to a file: `ANSWER > FILE`, `>> FILE`, `>! FILE`.
 *
 * Programs are started for somebody who types, or with --shell; never by a script
 * that came from elsewhere.
 */
#ifndef MFU_SHELL_H
#define MFU_SHELL_H

#include "base/atomic_file.h"
#include "repl/session.h"

/* Where the answers of one command go instead. */
struct mfu_diversion {
    FILE *program, *added;         /* that reads them; to which they are added; NULL */
    struct mfu_atomic_file atomic; /* open where neither of them is */
    FILE *out;                     /* session->out as it was, and what it can show */
    struct mfu_term term;
    enum mfu_safe safe;
};

/* Whether programs may be started here: from the keyboard, or with --shell; -1 with `err`. */
int mfu_shell_check(const struct mfu_session *, struct mfu_error *err);

/* Runs a line of the shell, whose output is the user's.  -1 with `err` if it may not
 * run, or ends with another status than 0. */
int mfu_shell_run(struct mfu_session *, const char *line, struct mfu_error *err);

/* From here on session->out writes to a line of the shell, or to a file: `how` is ">"
 * (a new file, or one that mfuplan wrote), ">>" (at its end) or ">!" (any).  Nothing is
 * diverted on -1. */
int mfu_divert_to_program(struct mfu_session *, const char *line, struct mfu_diversion *, struct mfu_error *err);
int mfu_divert_to_file(struct mfu_session *, const char *how, const char *path, struct mfu_diversion *,
                       struct mfu_error *err);

/* Takes session->out back; waits for the program.  `failed`: a new file is given up.
 * Returns `status`, or -1 with `err` if something was not written. */
int mfu_divert_end(struct mfu_session *, struct mfu_diversion *, int status, struct mfu_error *err);

#endif
