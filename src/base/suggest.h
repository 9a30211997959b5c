/*
 * suggest.h - "did you mean": the nearest known names.
 *
 * It serves commands, settings, choices, models, GPUs and YAML keys alike.
 * Only close names are offered, unfinished words first: a wrong hint is worse
 * than none.
 */
#ifndef MFU_SUGGEST_H
#define MFU_SUGGEST_H

#include <stddef.h>

/* Fills `best` with up to `max` of the `n` names, nearest first; returns how
 * many.  Case, '-', '_' and blanks do not matter. */
size_t mfu_suggest(const char *typed, const char *const *names, size_t n, const char **best, size_t max);

/* Whether two names are the same but for case, '-', '_' and blanks. */
int mfu_same_name(const char *a, const char *b);

#endif
