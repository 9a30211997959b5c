/*
 * read_options.h - OPTION VALUE and OPTION=VALUE behind a command, by rows of plan/option.h.
 */
#ifndef MFU_READ_OPTIONS_H
#define MFU_READ_OPTIONS_H

#include "plan/option.h"
#include "repl/session.h"

/* A quantity, or an expression over settings and results. */
int mfu_read_number(struct mfu_session *, const char *text, enum mfu_dim, double *value, struct mfu_error *err);

/* How many, from 1 to 1 000 000. */
int mfu_read_count(struct mfu_session *, const char *text, int *count, struct mfu_error *err);

/* Reads the words [first, argc) into `options`, the struct that the `n` rows are of.  What cannot be read is
 * marked in the error, with the nearest option's name. */
int mfu_read_options(struct mfu_session *, int argc, char **argv, int first, const struct mfu_command_option *rows,
                     size_t n, void *options, struct mfu_error *err);

#endif
