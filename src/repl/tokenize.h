/*
 * tokenize.h - a line as commands, and a command as words.
 *
 *     set seq 8k; plan            two commands
 *     save "my plan.mfu"          quotes group: '...' as it is, "..." with \" and \\
 *     plan  # and a comment       `#` at the beginning of a word
 *     kernels | head              what is behind a `|` is a line of the shell
 *     !ls                         ... and what is behind a `!` that begins a command
 */
#ifndef MFU_WORDS_H
#define MFU_WORDS_H

#include <stddef.h>

struct mfu_arena;
struct mfu_error;

struct mfu_words {
    int argc;
    char **argv;       /* argc of them and NULL; in the arena */
    int *columns;      /* where each begins in the line, from one */
    const char *shell; /* what is behind `|` or `!`, up to the end of the line; NULL: neither */
};

/* Reads the next command of `line` from *at, and moves *at behind it.  A command that
 * begins with `!` has no words.  Returns 1, 0 at the end of the line, or -1 with `err`
 * (a quote that is not closed). */
int mfu_words_next(struct mfu_arena *, const char *line, const char **at, struct mfu_words *, struct mfu_error *err);

/* The words [first, argc) as one text, in which every word stands as far from
 * the first as in the line: for expressions, whose errors have columns. */
char *mfu_words_join(struct mfu_arena *, int argc, char **argv, const int *columns, int first);

/* The beginning of the command that the end of `line` belongs to, when someone
 * is still typing: behind the last `;` outside of quotes. */
const char *mfu_words_last(const char *line);

#endif
