/*
 * sweeping.h - the words that `sweep`, `search` and `solve` share.
 *
 *     KEY=VALUES ...  where EXPR  columns NAME,NAME  sort RESULT  top N [by RESULT]
 *     threads N  simulated  shard I/N
 *
 * KEY VALUES and `columns NAME NAME` are understood, too.
 */
#ifndef MFU_SWEEPING_H
#define MFU_SWEEPING_H

#include "answer/search/sweep.h"
#include "repl/session.h"

struct mfu_sweep_words {
    struct mfu_sweep sweep;
    struct mfu_scenario layouts; /* the scenario of `search layout` */
    double top, threads;
    int sort, sort_axis;  /* rows by this column, else by this axis; -1: as they come */
    bool descending, cut; /* the most first; only the first `top` rows are an answer */
};

/* What columns and conditions are about; the words begin so by themselves. */
void mfu_sweep_words_begin(struct mfu_session *, struct mfu_sweep_words *);

/* Reads words [from, argc); `text` is scratch that lives as long as the words.
 * Words that are none of these are refused. */
int mfu_sweep_words_read(struct mfu_session *, int from, int argc, char **argv, struct mfu_sweep_words *,
                         struct mfu_error *err);

/* What varies has a column of its own: leaves out a second one, of `columns` or `sort`. */
void mfu_sweep_words_drop_axes(struct mfu_sweep_words *);

/* Sorts the rows as the words say; equal ones stay as they are, unknown ones come last. */
void mfu_sweep_words_sort(const struct mfu_sweep_words *, struct mfu_sweep_result *);

/* Runs a sweep that shows on a terminal how far it is, and that Ctrl-C ends; frees
 * nothing. */
int mfu_sweep_words_run(struct mfu_session *, struct mfu_sweep_words *, struct mfu_sweep_result *,
                        struct mfu_error *err);

/* Compiles a column and names it. */
int mfu_sweep_column(struct mfu_sweep *, const char *text, struct mfu_error *err);

#endif
