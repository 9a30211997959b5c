/*
 * session.h - one conversation (or script): what commands act on.
 */
#ifndef MFU_SESSION_H
#define MFU_SESSION_H

#include <stdbool.h>
#include <stdio.h>

#include "answer/plan.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "report/term.h"
#include "scenario/scenario.h"

#define MFU_UNDO 64
#define MFU_KEPT 32

struct mfu_session {
    struct mfu_catalog *catalog;
    struct mfu_scenario now;
    struct mfu_scenario past[MFU_UNDO], future[MFU_UNDO];       /* undo, redo */
    int n_past, n_future;
    struct { char name[48]; struct mfu_scenario scenario; } kept[MFU_KEPT];
    int n_kept;
    struct mfu_plan plan;       /* reused by every answer */
    struct mfu_term term;       /* of stdout */
    FILE *out;
    bool json, quiet, interactive, quit;
    int depth;                  /* of `source` in `source` */
};

/* Runs one line: several commands separated by `;`, `#` starts a comment.
 * Returns 0, or -1 with `err`; the scenario is then as it was before the
 * failing command. */
int mfu_eval(struct mfu_session *, const char *line, struct mfu_error *err);

/* Runs a script; stops at the first error and says where. */
int mfu_run_file(struct mfu_session *, const char *path, struct mfu_error *err);

/* Replaces the scenario, remembering the old one for undo. */
void mfu_session_change(struct mfu_session *, const struct mfu_scenario *);

/* Plans the current scenario into session->plan. */
int mfu_session_plan(struct mfu_session *, struct mfu_error *err);

/* Completion: the i-th word that could end this line, or NULL. */
const char *mfu_complete(struct mfu_session *, const char *line, size_t i);

#endif
