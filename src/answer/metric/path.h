/*
 * path.h - results that need a name of their own: of one kernel, one lever,
 * one part of the step.
 *
 *     mfu.nanogpt                         what a convention would print
 *     kernels.attn.core.softmax.bytes     a row of `kernels`, or several together
 *     why.gemm_inefficiency.waves         a part of the step
 *     finds.launch_bound                  a symptom; 0: not there
 *     advise.runtime.compile.speedup      a lever; unknown where it is not offered
 *     kernel.sm_active                    the kernel studied last
 *
 * Names and fields are those of the JSON answers, with _ for blanks and hyphens.
 * A family is a row of the table in figures.c.  What a figure needs is worked out
 * when it is first asked for and kept until the plan changes.
 */
#ifndef MFU_FIGURES_H
#define MFU_FIGURES_H

#include "answer/advise/advise.h"
#include "answer/metric/table.h"
#include "plan/conventions.h"
#include "plan/kernels.h"
#include "plan/single_kernel.h"
#include "answer/why/why.h"

#define MFU_FIGURE_NAME 128

struct mfu_figures {
    const struct mfu_plan *plan;
    struct mfu_plan *scratch;                /* the same, where it may be made again, */
    struct mfu_simulation *simulation;       /* with its simulation; NULL: analytic path */
    const struct mfu_single_kernel *studied; /* NULL: none yet */
    struct mfu_kernel_row *rows;             /* from here on its own */
    int n_rows;
    bool have_why, have_advice;
    struct mfu_breakdown split;
    struct mfu_why why;
    struct mfu_advice advice;
};

struct mfu_figure_value {
    double value;
    enum mfu_dim dim;
    const char *word; /* "memory" where it is no number, else NULL */
};

/* 1 with the figure, 0 if no family is called so, -1 with `err`. */
int mfu_figure_find(struct mfu_figures *, const char *name, struct mfu_figure_value *, struct mfu_error *err);

/* Whether a family is called so: a plan is only needed if one is. */
bool mfu_figure_known(const char *name);

/* The figures as names of questions. */
extern const struct mfu_figure_source mfu_figure_names;

/* What was worked out belongs to another plan now. */
void mfu_figures_forget(struct mfu_figures *);

/* The number by which a word such as `memory` or `latency` is compared, and the
 * word that a number stands for; what limits a kernel or a step. */
bool mfu_bound_number(const char *word, double *number);
const char *mfu_bound_word(double number);

/* "kernels.NAME.FIELD" and what it is, for help; NULL behind the last. */
const char *mfu_figure_family(size_t i, const char **meaning);

/* Names that can be told without a plan, for Tab; NULL behind the last. */
const char *mfu_figure_offer(size_t i, char name[MFU_FIGURE_NAME]);
size_t mfu_figure_offer_count(void);

#endif
