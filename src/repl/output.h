/*
 * output.h - what commands say: answers to stdout, everything else to stderr.
 */
#ifndef MFU_TALK_H
#define MFU_TALK_H

#include "base/field.h"
#include "base/printable.h"
#include "repl/session.h"

/* A line that confirms what was understood; silent with --json and -q. */
void mfu_print_note(struct mfu_session *, const char *format, ...) MFU_PRINTF(2, 3);

/* The answer of a command to a program: with --json one object on one line, with
 * --csv a table. */
int mfu_answer(struct mfu_session *, const struct mfu_record *, const void *object, struct mfu_error *err);

/* A file is complete that `>` of this conversation wrote. */
void mfu_has_written(struct mfu_session *, const char *path);

/* Whether a command may write this file: it does not exist, is no regular file, or mfuplan
 * wrote it (it says so near its beginning or its end, or did so just now), or the user said --force.  -1 with
 * `err`, which ends with `instead`: what else to type. */
int mfu_may_replace(const struct mfu_session *, const char *path, bool force, const char *instead,
                    struct mfu_error *err);

#define MFU_FORCE "--force replaces it"

/* Takes the word --force, if it is there, out of the words of a command. */
bool mfu_take_force(int *argc, char **argv, int *columns);

extern const struct mfu_record mfu_record_error;

/* Tells the user what failed, on session->errors, and with --json on stdout, too. */
void mfu_complain(struct mfu_session *, const struct mfu_error *err);

/* Something that will fail later, while the command has succeeded. */
void mfu_warn(struct mfu_session *, const struct mfu_error *err);

/* Tells of a calibration that the catalog could not read. */
void mfu_warn_calibration(struct mfu_session *);

/* Says which word of the command that runs is meant; a column that `err` has
 * already is one within that word.  Errors in files keep their place.
 * Returns -1. */
int mfu_error_caret(struct mfu_session *, struct mfu_error *err, int word);

/* What is wrong with such a word, as mfu_fail() takes it.  -1. */
#define mfu_fail_word(session, err, word, ...)                                                                         \
    (mfu_fail(err, MFU_EINPUT, __VA_ARGS__), mfu_error_caret(session, err, word))

#endif
