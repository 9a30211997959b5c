/*
 * expr_scope.h - expressions over settings, dims, coefficients and results, for
 * `print` and `check`.
 */
#ifndef MFU_QUANTITIES_H
#define MFU_QUANTITIES_H

#include "plan/plan.h"
#include "answer/metric/table.h"

struct mfu_session;

/* A name that was used in an expression, and its value. */
#define MFU_NAMES_MAX 64

struct mfu_named {
    char name[128];
    enum mfu_dim dim;
    struct mfu_key key; /* MFU_KEY_NONE: a result or a choice */
    const char *choice; /* a choice by its name, or NULL */
    const char *word;   /* its value is no number: "memory" */
    double value;
};

struct mfu_evaluated {
    double value;
    int n_names;
    struct mfu_named names[MFU_NAMES_MAX];
    bool alone; /* the expression is one name, and nothing else */
};

/* Evaluates over settings, dims, coefficients, choices and results; plans only
 * if a result is asked for.  The column of an error is one within `text`. */
int mfu_evaluate(struct mfu_session *, const char *text, struct mfu_evaluated *, struct mfu_error *err);

/* A named value for people: "81.4 %", "bf16". */
const char *mfu_named_format(char buf[MFU_QUANTITY_MAX], const struct mfu_session *, const struct mfu_named *);

#endif
