/*
 * suggest.h - "did you mean": the nearest known names.
 *
 * It serves commands, settings, choices, models, GPUs and YAML keys alike.
 * Only close names are offered, unfinished words first: a wrong hint is worse
 * than none.
 */
#ifndef MFU_SUGGEST_H
#define MFU_SUGGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Fills `best` with up to `max` of the `n` names, nearest first; returns how
 * many.  Case, '-', '_' and blanks do not matter. */
size_t mfu_suggest(const char *typed, const char *const *names, size_t n, const char **best, size_t max);

/* Whether what was typed is nearer to `name` than to `than`: as near is not nearer. */
bool mfu_suggests_rather(const char *typed, const char *name, const char *than);

/* Puts the nearest of the names into the error, if one is near.  Returns -1. */
int mfu_error_nearest(struct mfu_error *, const char *typed, const char *const *names, size_t n);
#define mfu_error_nearest(...) mfu_failed(mfu_error_nearest(__VA_ARGS__))
#define mfu_fail_nearest(err, typed, names, n, ...)                                                                    \
    (mfu_fail(err, MFU_EINPUT, __VA_ARGS__), mfu_error_nearest(err, typed, names, n))

/* "fp32, bf16 or fp8" into `text`, which is returned; where it has no room for all, whole names and ", ...". */
const char *mfu_names_list(char *text, size_t size, const char *const *names, size_t n);

/* How many names stand before the NULL. */
size_t mfu_names_count(const char *const *names);

/* Whether two names are the same but for case, '-', '_' and blanks. */
int mfu_same_name(const char *a, const char *b);

/* The next of words separated by blanks, or as much of it as has room; false behind the last. */
bool mfu_next_word(const char **words, char *word, size_t size);

/* Whether a name is one of such words, as mfu_same_name() has it; of NULL none is. */
bool mfu_is_among(const char *words, const char *name);

#endif
