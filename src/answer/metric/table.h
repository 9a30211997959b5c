/*
 * table.h - the results of a plan by name, for expressions and tables.
 *
 * A field of the plan's answers is a result: the names are those of the JSON answers.  Settings, dims
 * and coefficients are known by their keys and are not here.
 */
#ifndef MFU_RESULTS_H
#define MFU_RESULTS_H

#include "base/field.h"
#include "plan/plan.h"

struct mfu_result {
    const char *name, *meaning;
    enum mfu_dim dim;
    const struct mfu_record *record; /* whose field it is */
    size_t field;
};

#define MFU_RESULTS_MAX 128 /* no more than these */

/* The i-th result, the result of that name, and the value in a plan; false: there
 * is none. */
bool mfu_result_at(size_t i, struct mfu_result *);
size_t mfu_result_count(void);
bool mfu_result_find(const char *name, struct mfu_result *);
double mfu_result_value(const struct mfu_result *, const struct mfu_plan *);

/* Fails: neither a result nor a key of the scenario has that name; with the nearest
 * that has.  Returns -1. */
int mfu_result_unknown(const struct mfu_scenario *, const char *name, struct mfu_error *err);

/* An expression over settings, dims and results, compiled once and evaluated
 * for many plans: `fits and mfu > 40%`.  Choices are compared by name. */
struct mfu_question;

/* NULL with `err`; the names are those of this scenario's model.  Free with
 * mfu_question_free. */
struct mfu_question *mfu_question_compile(const struct mfu_scenario *, const char *text, struct mfu_error *err);
/* The same where more is known: train.seconds, train.cost ... of so many tokens, and names of another
 * source (path.h); either may be NULL. */
struct mfu_run;
struct mfu_figure_source {
    bool (*known)(const char *name);
    /* The value of a name that is known, in a plan, and its unit; NAN with `err` where there is none. */
    double (*value)(const struct mfu_plan *, const char *name, enum mfu_dim *dim, struct mfu_error *err);
};
struct mfu_question *mfu_question_compile_for(const struct mfu_scenario *, const struct mfu_run *,
                                              const struct mfu_figure_source *, const char *text,
                                              struct mfu_error *err);
void mfu_question_free(struct mfu_question *);

/* Its value for a plan, and the unit of the only result that it names.  The
 * scenario that it was compiled for must still be there. */
double mfu_question_ask(const struct mfu_question *, const struct mfu_plan *);
enum mfu_dim mfu_question_dim(const struct mfu_question *);
/* Whether a plan of sums answers it (mfu_plan_make_sums). */
bool mfu_question_of_sums(const struct mfu_question *);

/* Whether it is a result that a longer step makes larger: 1; smaller: -1; or nobody knows: 0. */
int mfu_question_with_time(const struct mfu_question *);

/* Whether it asks for the interval of the step's time. */
bool mfu_question_of_interval(const struct mfu_question *);
/* Whether it is a condition that no plan satisfies that does not fit; false where that takes
 * more than a look at it. */
bool mfu_question_wants_fit(const struct mfu_question *);

#endif
