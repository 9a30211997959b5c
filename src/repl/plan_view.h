/*
 * plan_view.h - commands that plan and show one side of the plan.
 */
#ifndef MFU_VIEW_H
#define MFU_VIEW_H

#include "answer/fields/fields.h"
#include "report/report.h"
#include "repl/session.h"

/* A way to look at a plan: one of `text` and `table` (which may fail). */
struct mfu_view_of {
    const struct mfu_record *record; /* of a struct mfu_plan */
    void (*text)(FILE *, const struct mfu_term *, const struct mfu_plan *);
    int (*table)(FILE *, const struct mfu_term *, const struct mfu_plan *);
    bool worst; /* of a pipeline: the rank that holds the most memory; else the busiest */
};

int mfu_view(struct mfu_session *, const struct mfu_view_of *, struct mfu_error *err);

#endif
