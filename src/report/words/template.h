/*
 * template.h - texts whose figures are computed from a plan.
 *
 *     One step takes {step_time_s}; {optimizer_s/step_time_s|%} is the optimizer.
 *     {fits ? It fits. : {smi_used_bytes - capacity_bytes|B} are missing.}
 *
 * Between braces stands an expression over results, settings and dims, and over
 * other named values of a plan: what the meters read (sm_active ...), parts of
 * the memory (weights_bytes ...), the time of each kind of kernel (gemm_s ...),
 * conventions and kernels (mfu.nanogpt, kernels.gemm.share: figures.h) and what the text itself has noted
 * before.  {gpu}, {model}, {bound} and {peak_at} are words.
 *
 * {EXPRESSION with zero=2 gpus=8} is computed from a plan of its own, of the same
 * scenario with these keys changed; each value is an expression without blanks.
 *
 * A name alone is written in its own unit; behind `|` stands the unit of an
 * expression: %, B, B/s, s, FLOP, FLOP/s, W, Hz or tokens.  Without one it is a
 * plain number.  In `{CONDITION ? text : text}` the texts may hold braces again.
 */
#ifndef MFU_PAGE_H
#define MFU_PAGE_H

#include <stdio.h>

#include "plan/plan.h"

struct mfu_error;

#define MFU_NOTES 32 /* that one text can keep */

/* A figure that a text keeps for later: {mfu/before}. */
struct mfu_note {
    char name[32];
    double value;
    enum mfu_dim dim;
};

/* What a page is about.  Fill in the first two. */
struct mfu_subject {
    const struct mfu_scenario *scenario;
    const struct mfu_plan *plan; /* of it; NULL: it cannot be planned, and
                                           results are unknown */
    struct mfu_note notes[MFU_NOTES];
    int n_notes;
    struct mfu_config config; /* of the scenario, once it was needed */
    bool resolved;
};

/* What an expression came to. */
struct mfu_figured {
    double value;
    enum mfu_dim dim; /* of the only name; else MFU_COUNT */
    bool condition;   /* it compares: 1 or 0 */
    char text[96];    /* as a page writes it */
};

/* Another plan (of another scenario): what was noted stays. */
void mfu_subject_change(struct mfu_subject *, const struct mfu_scenario *, const struct mfu_plan *);

/* Computes `expression`, or `expression|unit`. */
int mfu_subject_figure(struct mfu_subject *, const char *expression, struct mfu_figured *, struct mfu_error *err);

/* Keeps the figure under a name; the same name again replaces it. */
int mfu_subject_note(struct mfu_subject *, const char *name, const char *expression, struct mfu_error *err);

/* The blank between a number and its unit, as pages write it (U+00A0). */
#define MFU_NO_BREAK "\xC2\xA0"

/* Writes `text` with its figures. */
int mfu_page_fill(struct mfu_subject *, const char *text, FILE *out, struct mfu_error *err);

#endif
