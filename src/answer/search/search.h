/*
 * search.h - what is asked of many plans of one scenario, and the rows that answer it.
 *
 * All combinations of some keys' values are planned.  `sweep` keeps every row, `search` the best
 * or the Pareto front.
 *
 * The analytic path does not see what the caching allocator wastes: a row that fits by it may not.
 * So `confirmed` has the rows that are handed back simulated at the end, and those that fail
 * replaced by the next best.
 */
#ifndef MFU_SEARCH_H
#define MFU_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "answer/search/axis.h"
#include "answer/metric/table.h"

#define MFU_AXES 16        /* the most */
#define MFU_COLUMNS 16     /* the most */
#define MFU_SHARDS 1000000 /* the most */
#define MFU_SWEEP_FEW 4096 /* so many rows can be simulated while one waits */

struct mfu_sweep {
    const struct mfu_scenario *scenario;
    bool *lost; /* set where memory ran out while a row's values were worked out again; NULL: nobody asks */
    const struct mfu_run *run; /* of train.seconds and the like in questions; NULL: none */
    struct mfu_axis axes[MFU_AXES];
    size_t n_axes;
    struct mfu_question *where; /* or NULL: all that can be planned */
    struct mfu_question *columns[MFU_COLUMNS];
    char column_names[MFU_COLUMNS][48];
    size_t n_columns;
    int threads;           /* 0: all cores */
    size_t shard, shards;  /* this of so many equal parts, from 0, and nothing else; 0 parts: all */
    size_t keep;           /* 0: every row; else the best `keep` */
    bool maximize;         /* the first column, when keep > 0 */
    bool room_first;       /* `where` asks that it fits: what states alone overfill is not planned */
    bool simulated;        /* every row, launch queue and allocator too, as `plan` does: slower */
    bool confirmed;        /* the rows handed back, where they are few */
    double weighs_all;     /* up to so many combinations each is planned; of more, a search leaves out those
                            * of which a bound says that they are no row; 0: the usual number */
    bool distinct;         /* of rows with the same figures, but for bytes beside the goal and for seconds that are the
                            * same per token, only the one with the fewest tokens per step, or the best of those */
    bool pareto;           /* keep what no other row beats in every column */
    bool (*stopped)(void); /* called between batches: true ends the run; may be NULL */
    void (*tell)(void *context, double done, double total); /* progress, between batches; may be NULL */
    void *context;
};

struct mfu_sweep_row {
    size_t combination;    /* number: first axis slowest */
    bool simulated, taken; /* taken: satisfies the condition */
    unsigned beaten;       /* rows that beat it in every column, while a front is looked for */
    double tokens;         /* per step */
    double best;           /* column 0 of the best row that this one stands for */
    double columns[MFU_COLUMNS];
};

struct mfu_sweep_result {
    struct mfu_sweep_row *rows; /* by combination, or best first; owned */
    size_t n_rows;
    size_t combinations;                 /* of all or of the shard: */
    size_t evaluated, refused, excluded; /* planned; contradictory; not `where` */
    size_t no_room, outdone; /* left out: need no less memory than one that does not fit; cannot be among the
                                            best, in no more time than is provably least */
    size_t tried, dropped;   /* of the rows kept: simulated; not `where` after all */
    bool complete;           /* false: stopped early */
    bool analytic;           /* rows are not simulated */
    bool exhausted;          /* rows may lack that a larger reserve would have held */
};

#endif
