/*
 * error.h - errors that explain themselves.
 *
 * A function that can fail takes a `struct mfu_error *` last and returns 0 or
 * -1 (or NULL).  The one who notices says what is wrong; each caller on the way
 * up may say what it was doing.  The finished message reads from the outside
 * in:
 *
 *     models/tiny.yaml:7:13: n_kv_head: 3 does not divide n_head (8)
 *     hint: did you mean '4'?
 *
 * Messages start in lower case, quote the subject, end without a full stop and
 * never blame the user.  Only the program prints them.
 */
#ifndef MFU_ERROR_H
#define MFU_ERROR_H

#include <stdbool.h>

enum mfu_code {
    MFU_OK,
    MFU_EINPUT, /* what the user wrote cannot be used */
    MFU_EIO,    /* a file cannot be read or written */
    MFU_ENOMEM, /* out of memory */
    MFU_EUNMET  /* a `check` was not satisfied */
};

#define MFU_ERROR_TEXT 640 /* bytes; longer messages are cut */

struct mfu_error {
    enum mfu_code code;
    int line, column;          /* counted from one; 0: not known */
    char text[MFU_ERROR_TEXT]; /* the message without its place */
    char file[256];            /* "" when the error is not in a file */
    char suggestion[96];       /* nearest known name, or "" */
};

#if defined(__GNUC__)
#define MFU_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define MFU_PRINTF(f, a)
#endif

/* Starts an error afresh: code and message; clears place and suggestion.
 * Returns -1, so that `return mfu_fail(...)` reads well.  `err` may be NULL. */
int mfu_fail(struct mfu_error *err, enum mfu_code code, const char *format, ...) MFU_PRINTF(3, 4);

/* Whether memory ran out where `err` was NULL, since this was asked last, on any thread: what asked
 * so takes it as not known or not there, and its answer may be another one. */
bool mfu_error_unheard(void);

/* Puts "CONTEXT: " in front of the message.  Returns -1. */
int mfu_within(struct mfu_error *err, const char *format, ...) MFU_PRINTF(2, 3);

/* Says where; keeps the innermost place when one is known already.  NULL and 0
 * mean not known.  A column without a line is one within a piece of text (an
 * expression, a command); the next caller says where that piece begins, and the
 * two are added up.  Returns -1. */
int mfu_error_at(struct mfu_error *err, const char *file, int line, int column);

/* Proposes a name ("did you mean ...?").  Returns -1. */
int mfu_error_suggest(struct mfu_error *err, const char *name);

/* What these return is -1: here for whoever compiles or analyses a caller alone. */
static inline int mfu_failed(int status)
{
    (void)status;
    return -1;
}
#define mfu_fail(...) mfu_failed(mfu_fail(__VA_ARGS__))
#define mfu_within(...) mfu_failed(mfu_within(__VA_ARGS__))
#define mfu_error_at(...) mfu_failed(mfu_error_at(__VA_ARGS__))
#define mfu_error_suggest(...) mfu_failed(mfu_error_suggest(__VA_ARGS__))

/* mfu_fail() of bad input, and the name that was meant, or the place in a file. */
#define mfu_fail_suggest(err, name, ...) (mfu_fail(err, MFU_EINPUT, __VA_ARGS__), mfu_error_suggest(err, name))
#define mfu_fail_at(err, file, line, column, ...)                                                                      \
    (mfu_fail(err, MFU_EINPUT, __VA_ARGS__), mfu_error_at(err, file, line, column))

/* Forgets everything. */
void mfu_error_clear(struct mfu_error *err);

#endif
