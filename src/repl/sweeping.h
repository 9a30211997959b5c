/*
 * sweeping.h - the words that `sweep`, `search` and `solve` share.
 *
 *     KEY=VALUES ...  where EXPR  columns NAME,NAME  top N  threads N  simulated
 */
#ifndef MFU_SWEEPING_H
#define MFU_SWEEPING_H

#include "answer/sweep.h"
#include "repl/session.h"

struct mfu_sweep_words {
    struct mfu_sweep sweep;
    const char *where, *columns;        /* texts, or NULL */
    double top, threads;
};

/* Reads words [from, argc); `text` is scratch that lives as long as the words.
 * Words that are none of these are refused. */
int mfu_sweep_words_read(struct mfu_session *, int from, int argc, char **argv, struct mfu_sweep_words *,
                         struct mfu_error *err);

/* Compiles a column and names it. */
int mfu_sweep_column(struct mfu_sweep *, const char *text, struct mfu_error *err);

#endif
