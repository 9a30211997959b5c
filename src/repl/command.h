/*
 * command.h - a command is one file in commands/ that exports one constant
 * named after it; the build collects them.
 */
#ifndef MFU_COMMAND_H
#define MFU_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

struct mfu_command_option; /* plan/option.h */
struct mfu_error;
struct mfu_record;
struct mfu_session;
struct mfu_view_of; /* plan_view.h */

/* Candidates for an argument: the i-th, or NULL after the last. */
typedef const char *mfu_offer_fn(struct mfu_session *, size_t i);

struct mfu_command {
    const char *name, *usage;  /* "set", "KEY VALUE ..." */
    const char *group;         /* "describe", "plan", "look closer", "session" */
    const char *summary;       /* one line, lower case, no full stop */
    const char *help;          /* `help NAME`: text, then examples */
    int least_args, most_args; /* -1: any number */
    bool writes;               /* a file, so that it takes --force */
    const char *compares;      /* `>` is no redirection: "always", or behind this word; or NULL */
    mfu_offer_fn *offer[2];    /* what Tab proposes for odd and even arguments, */
    const char *word;          /* beside it for the first one, */
    struct {
        const struct mfu_command_option *rows;
        const size_t *n;
    } options;                               /* and behind those that there must be; NULL: none */
    const struct mfu_record *const *answers; /* to programs: a list that ends with NULL; NULL: none */
    bool pages;                              /* a long answer is shown a screen at a time */
    const struct mfu_view_of *view;          /* of the plan, that it shows; else */
    int (*run)(struct mfu_session *, int argc, char **argv, struct mfu_error *);
};
#define MFU_ANSWERS(...) ((const struct mfu_record *const[]){__VA_ARGS__, NULL})

extern const struct mfu_command *const mfu_commands[];
extern const size_t mfu_command_count;

#endif
