/*
 * sweep.h - many plans of one scenario: all combinations of some keys' values.
 *
 * Every combination takes the analytic path (microseconds) or the simulation
 * (less than a millisecond), on all cores; the result does not depend on how many there are.  `sweep` keeps every
 * row, `search` the best and the Pareto front, `solve` looks for one value.
 */
#ifndef MFU_SWEEP_H
#define MFU_SWEEP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "answer/results.h"

#define MFU_AXES 8              /* the most */
#define MFU_COLUMNS 16          /* the most */

/* One key and the values that it takes. */
struct mfu_axis {
    struct mfu_key key;
    char name[48];
    double *values;             /* owned; choices by their number */
    size_t n;
};

/* Reads "1,2,4", "1..8", "1..64*2" (factor 2), "0..1+0.25" (step), "eager,compile",
 * "all" (every choice).  Values are checked against the key's range. */
int mfu_axis_read(struct mfu_axis *, const struct mfu_scenario *, const char *key, const char *values,
                  struct mfu_error *err);

struct mfu_sweep {
    const struct mfu_scenario *scenario;
    struct mfu_axis axes[MFU_AXES];
    size_t n_axes;
    struct mfu_question *where;         /* or NULL: all that can be planned */
    struct mfu_question *columns[MFU_COLUMNS];
    char column_names[MFU_COLUMNS][48];
    size_t n_columns;
    int threads;                        /* 0: all cores */
    size_t keep;                        /* 0: every row; else the best `keep` */
    bool maximize;                      /* the first column, when keep > 0 */
    bool simulated;                     /* launch queue and allocator too, as `plan` does: slower */
    bool pareto;                        /* keep what no other row beats in every column */
    bool (*stopped)(void);              /* asked now and then: end early; may be NULL */
    atomic_size_t *done;                /* counts combinations; may be NULL */
};

struct mfu_sweep_row {
    size_t combination;         /* number: first axis slowest */
    double columns[MFU_COLUMNS];
};

struct mfu_sweep_result {
    struct mfu_sweep_row *rows; /* by combination, or best first; owned */
    size_t n_rows;
    size_t evaluated, refused, excluded;        /* planned; contradictory; not `where` */
    bool complete;              /* false: stopped early */
};

/* Number of combinations; 0 when there are more than 10^12. */
double mfu_sweep_size(const struct mfu_sweep *);

/* The value of an axis in a combination. */
double mfu_sweep_value(const struct mfu_sweep *, size_t combination, size_t axis);

/* The scenario of a combination. */
struct mfu_scenario mfu_sweep_scenario(const struct mfu_sweep *, size_t combination);

int mfu_sweep_run(const struct mfu_sweep *, struct mfu_sweep_result *, struct mfu_error *);
void mfu_sweep_result_free(struct mfu_sweep_result *);
void mfu_sweep_clear(struct mfu_sweep *);       /* axes and questions */

#endif
