/*
 * sweep.h - many plans of one scenario: all combinations of some keys' values.
 *
 * Every combination takes the analytic path (microseconds) or the simulation
 * (less than a millisecond), on all cores; the result does not depend on how
 * many there are.  `sweep` keeps every row, `search` the best and the Pareto
 * front, `solve` looks for one value.
 *
 * The analytic path does not see what the caching allocator wastes: a row that
 * fits by it may not.  So `confirmed` has the rows that are handed back
 * simulated at the end, those that fail then replaced by the next best.
 */
#ifndef MFU_SWEEP_H
#define MFU_SWEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "answer/search/axis.h"
#include "answer/metric/table.h"

#define MFU_AXES 16        /* the most */
#define MFU_COLUMNS 16     /* the most */
#define MFU_SWEEP_FEW 4096 /* so many rows can be simulated while one waits */

struct mfu_sweep {
    const struct mfu_scenario *scenario;
    const struct mfu_run *run; /* of train.seconds and the like in questions; NULL: none */
    struct mfu_axis axes[MFU_AXES];
    size_t n_axes;
    struct mfu_question *where; /* or NULL: all that can be planned */
    struct mfu_question *columns[MFU_COLUMNS];
    char column_names[MFU_COLUMNS][48];
    size_t n_columns;
    int threads;           /* 0: all cores */
    size_t keep;           /* 0: every row; else the best `keep` */
    bool maximize;         /* the first column, when keep > 0 */
    bool simulated;        /* every row, launch queue and allocator too, as `plan` does: slower */
    bool confirmed;        /* the rows handed back, where they are few */
    bool distinct;         /* of rows with the same figures only the best */
    bool pareto;           /* keep what no other row beats in every column */
    bool (*stopped)(void); /* asked now and then: end early; may be NULL */
    void (*tell)(void *context, double done, double total); /* now and then; may be NULL */
    void *context;
};

struct mfu_sweep_row {
    size_t combination; /* number: first axis slowest */
    bool simulated;
    unsigned beaten; /* rows that beat it in every column, while a front is looked for */
    double columns[MFU_COLUMNS];
};

struct mfu_sweep_result {
    struct mfu_sweep_row *rows; /* by combination, or best first; owned */
    size_t n_rows;
    size_t evaluated, refused, excluded; /* planned; contradictory; not `where` */
    size_t tried, dropped;               /* of the rows kept: simulated; not `where` after all */
    bool complete;                       /* false: stopped early */
    bool analytic;                       /* rows are not simulated */
    bool exhausted;                      /* rows may lack that a larger reserve would have held */
};

/* Number of combinations; 0 when there are more than 10^12. */
double mfu_sweep_size(const struct mfu_sweep *);

/* The value of an axis in a combination. */
double mfu_sweep_value(const struct mfu_sweep *, size_t combination, size_t axis);

/* The scenario of a combination, and the same where values may not exist:
 * accum=512/batch at batch 3. */
struct mfu_scenario mfu_sweep_scenario(const struct mfu_sweep *, size_t combination);
int mfu_sweep_make(const struct mfu_sweep *, size_t combination, struct mfu_scenario *, struct mfu_error *);

/* Whether a setting is one of the keys. */
bool mfu_sweep_varies(const struct mfu_sweep *, enum mfu_setting_id);

/* What `search` varies when nobody says what: micro-batch and accumulation, and
 * all that the levers change which keep the mathematics and the hardware. */
int mfu_sweep_usual(struct mfu_sweep *, struct mfu_error *);

int mfu_sweep_run(const struct mfu_sweep *, struct mfu_sweep_result *, struct mfu_error *);
void mfu_sweep_result_free(struct mfu_sweep_result *);
void mfu_sweep_clear(struct mfu_sweep *); /* axes and questions */

#endif
