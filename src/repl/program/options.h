/*
 * options.h - the options of the command line: one table, from which `--help`, getopt,
 * the manual page and the completions of shells follow.
 */
#ifndef MFU_OPTIONS_H
#define MFU_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum mfu_option_id {
    MFU_OPTION_EVAL,
    MFU_OPTION_JSON,
    MFU_OPTION_CSV,
    MFU_OPTION_SCHEMA,
    MFU_OPTION_QUIET,
    MFU_OPTION_NO_CALIBRATION,
    MFU_OPTION_FORCE,
    MFU_OPTION_SHELL,
    MFU_OPTION_NO_COLOR,
    MFU_OPTION_ASCII,
    MFU_OPTION_DATA_DIR,
    MFU_OPTION_TRANSCRIPT,
    MFU_OPTION_MANUAL,
    MFU_OPTION_COMPLETION,
    MFU_OPTION_VERSION,
    MFU_OPTION_HELP,
    MFU_OPTION_COUNT
};

struct mfu_option {
    const char *name;     /* "eval", behind two hyphens */
    char letter;          /* 'e'; 0: none */
    const char *argument; /* "COMMANDS", "DIR", "FILE", "SHELL"; NULL: takes none */
    const char *meaning;  /* one sentence or two, without a full stop */
};
extern const struct mfu_option mfu_options[MFU_OPTION_COUNT];
extern const char mfu_options_purpose[]; /* what the program does, a sentence */

/* `--help`, for a terminal of 80 columns. */
void mfu_options_usage(FILE *);

/* The next option of the command line, with its argument (NULL: none); MFU_OPTION_COUNT with
 * what is no option; -1 behind the last.  -2: a wrong one, which it has said on standard error. */
int mfu_options_next(int argc, char **argv, const char **argument);

#endif
