/*
 * sweep.c - combinations over threads.
 *
 * Of a large search not every combination is planned.  A block of combinations shares its graph, or two:
 * that of one micro-step, and that of several.  What does not fit with some number of micro-steps does not
 * with another; if nothing of a block fits, nothing of one with larger micro-batches does (a law:
 * mfu_graph_grows_with_batch).  And once the list of the best is full, a combination is left out whose time
 * at the best (mfu_plan_bound) leaves it behind the last of them.  So the rows are those of planning all.
 */
#include "answer/search/topk_pareto.h"
#include "answer/search/sweep.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "answer/search/resimulate.h"
#include "plan/simulation.h"
#include "base/error.h"
#include "graph/graph.h"
#include "scenario/setting.h"
#include "base/workers.h"

/* Chosen. */
#define MOST_ROWS 4e6 /* that are kept */
#define CHUNK 64      /* combinations that a thread takes at once, at least */
#define MOST_CHUNK 4096
#define CHUNKS 8        /* for each thread, at least */
#define USUALLY_ALL 1e5 /* combinations of a search that are planned one by one */

/* ---- threads ------------------------------------------------------------ */

struct worker {
    const struct mfu_sweep *sweep;
    atomic_size_t *next;
    size_t begin, end, chunk;
    size_t order[MFU_AXES];
    bool bounds;            /* leaves combinations out, */
    bool timed;             /* by their time, too */
    size_t chunks;          /* for all threads, at least */
    size_t block, in_a_row; /* combinations of one graph, blocks whose graphs differ in the micro-batch alone */
    bool simulated, tells;
    bool sums;                                            /* what is asked for follows from sums, */
    bool fitting;                                         /* and only of what fits */
    bool accumulates;                                     /* the fastest axis is the number of micro-steps, */
    enum { UNKNOWN, PLANNED, REFUSED, OVERFULL } several; /* what became of the last combination, with several */
    struct mfu_plan plan[2]; /* of one micro-step, of several: other graphs, each with neighbours */
    struct mfu_program scratch;
    struct mfu_simulation simulation;
    struct mfu_sweep_row *rows; /* where each combination has its place, or NULL: */
    struct mfu_kept kept;
    size_t evaluated, refused, excluded, no_room, outdone;
    bool failed;
};

/* Every row is simulated where that was asked for, or takes no time. */
static bool simulates(const struct mfu_sweep *s)
{
    return s->simulated || (s->confirmed && !s->keep && !s->pareto && mfu_sweep_size(s) <= MFU_SWEEP_FEW);
}

/* A row that will be simulated needs only what ranks it. */
static size_t columns_needed(const struct worker *w)
{
    const struct mfu_sweep *s = w->sweep;

    return !w->simulated && s->confirmed && s->keep && s->keep <= MFU_SWEEP_FEW ? 1 : s->n_columns;
}

/* Whether the states of the parameters alone are more than the card has: nobody needs to plan that. */
static bool overfull(struct worker *w, const struct mfu_scenario *scenario)
{
    struct mfu_config c;
    double bytes;

    if (mfu_scenario_resolve(scenario, &c, NULL) < 0)
        return false;
    bytes = mfu_graph_state_bytes(&c, &w->scratch);
    return bytes + c.setting[MFU_S_VRAM_RESERVED] > mfu_capacity(c.gpu, NULL);
}

/* Whether all that is asked for follows from sums; or some of it is the interval. */
static bool asks_for_sums(const struct mfu_sweep *s)
{
    bool sums = !simulates(s) && (!s->where || mfu_question_of_sums(s->where));

    for (size_t c = 0; sums && c < s->n_columns; c++)
        sums = mfu_question_of_sums(s->columns[c]);
    return sums;
}

static bool asks_for_interval(const struct mfu_sweep *s)
{
    bool interval = s->where && mfu_question_of_interval(s->where);

    for (size_t c = 0; !interval && c < s->n_columns; c++)
        interval = mfu_question_of_interval(s->columns[c]);
    return interval;
}

/* Whether combinations that differ in the fastest axis alone differ in a number of micro-steps alone. */
static bool accumulates(const struct mfu_sweep *s, size_t fastest)
{
    const struct mfu_axis *a = &s->axes[fastest];

    for (size_t i = 0; i < s->n_axes; i++)
        if (s->axes[i].texts)
            return false;
    return s->n_axes > 0 && a->key.kind == MFU_KEY_SETTING && a->key.id == MFU_S_ACCUM;
}

/* 1: it does not fit, and so is no row. */
static int make(struct worker *w, struct mfu_plan *plan, const struct mfu_scenario *scenario, struct mfu_error *err)
{
    if (w->sums)
        return mfu_plan_make_sums(plan, scenario, w->fitting, err);
    return w->fitting ? mfu_plan_make_fitting(plan, scenario, err) : mfu_plan_make(plan, scenario, err);
}

/* The same of a combination; 1, too, where nobody needs to plan it. */
static int make_at(struct worker *w, const size_t *at, struct mfu_plan **plan, struct mfu_error *err)
{
    struct mfu_scenario scenario;
    double accum;
    int made;

    w->several = UNKNOWN;
    if (mfu_sweep_make_at(w->sweep, at, &scenario, err) < 0)
        return -1;
    accum = scenario.setting[MFU_S_ACCUM];
    if (w->sweep->room_first && overfull(w, &scenario)) {
        w->several = accum > 1 ? OVERFULL : UNKNOWN;
        return 1;
    }
    *plan = &w->plan[accum > 1];
    if (!(*plan)->pricing.known) { /* most kernels are those of the other graph */
        (*plan)->pricing.known = w->plan[accum <= 1].pricing.known;
        w->plan[accum <= 1].pricing.known = NULL;
    }
    made = make(w, *plan, &scenario, err);
    if (accum > 1) /* only the schedule of a pipeline has an opinion on how many there are */
        w->several = made >= 0 ? PLANNED : scenario.setting[MFU_S_PP] <= 1 ? REFUSED : UNKNOWN;
    return made;
}

/* Whether the best are known, and a step of so many micro-steps of the plan before is none of them. */
static bool outdone(struct worker *w, double accum)
{
    const struct mfu_sweep *s = w->sweep;
    double x;

    if (!w->timed || w->kept.n < mfu_keep_reserve(s) || !mfu_plan_bound(&w->plan[1], accum))
        return false;
    x = mfu_question_ask(s->columns[0], &w->plan[1]);
    return s->maximize ? x < w->kept.rows[0].columns[0] : x > w->kept.rows[0].columns[0];
}

/* Plans a combination, of all at this place; `steps`: it differs from the one before in the fastest axis alone.
 * Whether it needs no less memory than there is, and would not with larger micro-batches. */
static bool plan_one(struct worker *w, const size_t *at, size_t place, bool steps)
{
    const struct mfu_sweep *s = w->sweep;
    struct mfu_sweep_row row = {.combination = mfu_sweep_number(s, at), .simulated = w->simulated};
    const struct mfu_axis *fastest = &s->axes[w->order[0]];
    struct mfu_error err = {0};
    struct mfu_plan *plan = NULL;
    int made;

    steps = steps && w->accumulates && fastest->values[at[w->order[0]]] > 1;
    if (steps && w->bounds && w->several == REFUSED) {
        w->refused++;
        return false;
    }
    if (steps && w->bounds && w->several == OVERFULL) {
        w->no_room++;
        return true;
    }
    if (steps && w->several == PLANNED) {
        double accum = fastest->values[at[w->order[0]]];

        plan = &w->plan[1];
        if (w->bounds && w->fitting && plan->peak_known && !plan->memory.fits) {
            w->no_room++;
            return mfu_graph_grows_with_batch(&plan->config);
        }
        if (w->bounds && outdone(w, accum)) {
            w->outdone++;
            return false;
        }
        made = mfu_plan_accumulate(plan, accum, w->fitting, &err);
    } else {
        made = make_at(w, at, &plan, &err);
    }
    if (made < 0 || (made == 0 && w->simulated && mfu_simulate_plan(plan, &w->simulation, &err) < 0)) {
        w->several = steps && w->several == PLANNED ? UNKNOWN : w->several;
        w->failed |= err.code == MFU_ENOMEM;
        w->refused++;
        return false;
    }
    w->evaluated++;
    row.taken = made == 0 && mfu_sweep_take(s, plan, &row, columns_needed(w));
    if (!row.taken)
        w->excluded++;
    else if (w->rows) /* by combination; those of a shard lie apart */
        w->rows[s->shards > 1 ? place : row.combination] = row;
    else
        w->failed |= !mfu_keep_row(s, &w->kept, &row);
    return made == 1
        && (!plan || mfu_graph_grows_with_batch(&plan->config)); /* without one, states alone are too much */
}

/* Plans some combinations in a row, block by block. */
static void plan_blocks(struct worker *w, size_t from, size_t to)
{
    const struct mfu_sweep *s = w->sweep;
    size_t at[MFU_AXES] = {0}, i = from;

    while (i < to && !w->failed && !(w->bounds && s->stopped && s->stopped())) {
        size_t begin = i, end = i - i % w->block + w->block, moved = s->n_axes, behind;
        bool full = true;

        if (w->bounds && w->tells) /* there may be hours in one chunk */
            s->tell(s->context, (double)(i - w->begin), (double)(w->end - w->begin));
        mfu_sweep_start_at(s, w->order, i, at);
        for (; i < end && i < to; i++, moved = mfu_sweep_next(s, w->order, at))
            full &= plan_one(w, at, i - w->begin, moved == 0);
        if (!w->bounds || !full || i - begin < w->block)
            continue;
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): an axis has a value at least */
        behind = (w->in_a_row - 1 - begin / w->block % w->in_a_row) * w->block;
        behind = behind < to - i ? behind : to - i;
        w->no_room += behind;
        i += behind;
    }
}

static void work(void *workers, int number)
{
    struct worker *w = &((struct worker *)workers)[number];
    const struct mfu_sweep *s = w->sweep;

    while (!w->failed && !(s->stopped && s->stopped())) {
        size_t from = atomic_fetch_add(w->next, w->chunk), to = from + w->chunk < w->end ? from + w->chunk : w->end;

        if (from >= w->end)
            break;
        from = from < w->begin ? w->begin : from;
        if (w->tells)
            s->tell(s->context, (double)(from - w->begin), (double)(w->end - w->begin));
        plan_blocks(w, from, to);
    }
    mfu_simulation_release(&w->simulation);
    mfu_plan_release(&w->plan[0]);
    mfu_plan_release(&w->plan[1]);
    mfu_program_free(&w->scratch);
}

/* The rows of all workers: those that were taken, or each the best of its own. */
static int merge(const struct mfu_sweep *s, struct worker *workers, int n, struct mfu_kept *all)
{
    bool sorted = all->rows && s->shards <= 1, ok = true;

    for (size_t i = 0; i < all->cap; i++)
        if (all->rows[i].taken)
            all->rows[all->n++] = all->rows[i];
    for (int t = 0; t < n; t++)
        for (size_t i = 0; i < workers[t].kept.n; i++)
            ok = ok && mfu_keep_row(s, all, &workers[t].kept.rows[i]);
    if (!sorted)
        mfu_keep_sort(s, all->rows, all->n);
    return ok ? 0 : -1;
}

/* Whether more than the usual number is to be searched, for the best; how its combinations hang together. */
static void find_blocks(struct worker *w)
{
    const struct mfu_sweep *s = w->sweep;
    double all = s->weighs_all > 0 ? s->weighs_all : USUALLY_ALL, size = mfu_sweep_size(s);
    size_t keeps = mfu_sweep_order(s, w->order), chunk;
    int with_time = s->n_columns > 0 ? mfu_question_with_time(s->columns[0]) : 0;

    w->block = w->in_a_row = 1;
    for (size_t i = 0; i < keeps; i++)
        w->block *= s->axes[w->order[i]].n;
    w->accumulates = w->sums && accumulates(s, w->order[0]);
    for (size_t i = 0; i < s->n_axes; i++)
        if (s->axes[i].texts)
            return;
    if (!s->keep || s->pareto || w->simulated || size <= all)
        return;
    w->timed = with_time == (s->maximize ? -1 : 1);
    w->bounds = w->fitting || w->timed;
    if (keeps < s->n_axes && mfu_axis_grows(&s->axes[w->order[keeps]], MFU_S_BATCH))
        w->in_a_row = s->axes[w->order[keeps]].n;
    chunk = w->block * w->in_a_row; /* as many in a row as leave enough for every thread */
    if ((double)chunk > size / (double)w->chunks)
        chunk = w->block * (1 + (size_t)(size / (double)w->chunks / (double)w->block));
    w->chunk = chunk;
}

static int plan_all(const struct mfu_sweep *s, struct worker *workers, int n, struct mfu_kept *all,
                    struct mfu_sweep_result *r, struct mfu_error *err)
{
    size_t begin = mfu_sweep_shard(s, s->shard), end = mfu_sweep_shard(s, s->shard + 1);
    size_t chunk = (end - begin) / (size_t)(n * CHUNKS);
    atomic_size_t next = begin;
    bool failed = false, every = !s->keep && !s->pareto;
    int started;

    if (every && !(all->rows = calloc(end - begin + 1, sizeof *all->rows)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (int t = 0; t < n; t++) {
        struct worker *w = &workers[t];

        workers[t] = (struct worker){.sweep = s,
                                     .next = &next,
                                     .begin = begin,
                                     .end = end,
                                     .chunk = simulates(s)    ? 1
                                         : chunk < CHUNK      ? CHUNK
                                         : chunk < MOST_CHUNK ? chunk
                                                              : MOST_CHUNK,
                                     .chunks = (size_t)(n * CHUNKS),
                                     .simulated = simulates(s),
                                     .sums = asks_for_sums(s),
                                     .fitting = !simulates(s) && s->where && mfu_question_wants_fit(s->where),
                                     .tells = t == 0 && s->tell,
                                     .rows = all->rows};
        find_blocks(w);
        if (w->bounds)
            next = begin - begin % w->block; /* nobody works yet */
        w->plan[0].without_interval = w->plan[1].without_interval = w->sums && !asks_for_interval(s);
    }
    started = mfu_workers_run(n, work, workers);
    for (int t = 0; t < started; t++) {
        r->evaluated += workers[t].evaluated;
        r->refused += workers[t].refused;
        r->excluded += workers[t].excluded;
        r->no_room += workers[t].no_room;
        r->outdone += workers[t].outdone;
        failed |= workers[t].failed;
    }
    r->combinations = end - begin;
    r->complete = r->evaluated + r->refused + r->no_room + r->outdone == r->combinations;
    all->cap = every ? end - begin : 0;
    failed |= merge(s, workers, started, all) < 0;
    for (int t = 0; t < started; t++)
        free(workers[t].kept.rows);
    return failed ? mfu_fail(err, MFU_ENOMEM, "out of memory") : 0;
}

/* Simulates the rows that are handed back, where they are few, which no shard knows; takes
 * them over as they are elsewhere. */
static int hand_back(const struct mfu_sweep *s, struct mfu_kept *all, struct mfu_sweep_result *r, struct mfu_error *err)
{
    bool few = s->keep ? s->keep <= MFU_SWEEP_FEW : s->pareto || (all->n <= MFU_SWEEP_FEW && s->shards <= 1);

    if (!simulates(s) && s->confirmed && few)
        return mfu_confirm(s, all, r, err);
    r->analytic = !simulates(s);
    r->rows = all->rows;
    r->n_rows = all->n;
    *all = (struct mfu_kept){0};
    return 0;
}

int mfu_sweep_run(const struct mfu_sweep *s, struct mfu_sweep_result *r, struct mfu_error *err)
{
    double size = mfu_sweep_size(s);
    int n = mfu_workers_count(s->threads), status;
    struct worker *workers;
    struct mfu_kept all = {0};

    memset(r, 0, sizeof *r);
    if (size <= 0)
        return mfu_fail(err, MFU_EINPUT, "too many combinations: more than 10^12");
    if (s->shards > 1)
        size /= (double)s->shards;
    if (!s->keep && !s->pareto && size > MOST_ROWS)
        return mfu_fail(err, MFU_EINPUT, "%.0f combinations are more rows than can be kept; search keeps the best",
                        size);
    if (mfu_axes_check(s->axes, s->n_axes, s->scenario, err) < 0)
        return -1;
    if (!(workers = malloc((size_t)n * sizeof *workers)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    status = plan_all(s, workers, n, &all, r, err);
    if (status == 0)
        status = hand_back(s, &all, r, err);
    free(workers);
    free(all.rows);
    return status;
}

void mfu_sweep_result_free(struct mfu_sweep_result *r)
{
    free(r->rows);
    memset(r, 0, sizeof *r);
}

void mfu_sweep_clear(struct mfu_sweep *s)
{
    for (size_t i = 0; i < s->n_axes; i++)
        mfu_axis_free(&s->axes[i]);
    for (size_t i = 0; i < s->n_columns; i++)
        mfu_question_free(s->columns[i]);
    mfu_question_free(s->where);
    memset(s, 0, sizeof *s);
}
