/*
 * sweep.c - combinations over threads.
 */
#include "answer/search/sweep.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "answer/search/resimulate.h"
#include "plan/simulation.h"
#include "base/error.h"
#include "graph/builder.h"

/* Chosen. */
#define MOST_COMBINATIONS 1e12 /* nobody waits for more */
#define MOST_ROWS 4e6          /* that are kept */
#define CHUNK 64               /* combinations that a thread takes at once */

/* ---- combinations ------------------------------------------------------- */

double mfu_sweep_size(const struct mfu_sweep *s)
{
    double n = 1;

    for (size_t i = 0; i < s->n_axes; i++)
        n *= (double)s->axes[i].n;
    return n <= MOST_COMBINATIONS ? n : 0;
}

bool mfu_sweep_varies(const struct mfu_sweep *s, enum mfu_setting_id id)
{
    for (size_t i = 0; i < s->n_axes; i++)
        if (s->axes[i].key.kind == MFU_KEY_SETTING && s->axes[i].key.id == (int)id)
            return true;
    return false;
}

int mfu_sweep_make(const struct mfu_sweep *s, size_t combination, struct mfu_scenario *x, struct mfu_error *err)
{
    size_t at[MFU_AXES];

    for (size_t i = s->n_axes; i-- > 0;) {
        at[i] = combination % s->axes[i].n;
        combination /= s->axes[i].n;
    }
    *x = *s->scenario;
    if (mfu_axes_apply(s->axes, s->n_axes, at, x, err) < 0)
        return -1;
    if (mfu_sweep_varies(s, MFU_S_BATCH) && !mfu_sweep_varies(s, MFU_S_DATALOADER_MS))
        mfu_scenario_keep_loader(x, s->scenario->setting[MFU_S_BATCH]);
    return 0;
}

struct mfu_scenario mfu_sweep_scenario(const struct mfu_sweep *s, size_t combination)
{
    struct mfu_scenario x;

    mfu_sweep_make(s, combination, &x, NULL);
    return x;
}

double mfu_sweep_value(const struct mfu_sweep *s, size_t combination, size_t axis)
{
    struct mfu_scenario x = mfu_sweep_scenario(s, combination);

    return mfu_axis_value(&s->axes[axis], &x);
}

/* Whether a step along this axis leaves the graph of the plan before. */
static bool is_cheap(const struct mfu_axis *a)
{
    return a->key.kind == MFU_KEY_COEFFICIENT
        || (a->key.kind == MFU_KEY_SETTING && mfu_setting_keeps_graph((enum mfu_setting_id)a->key.id));
}

/* The combination that is planned as number i: cheap axes vary fastest, so that
 * most plans find their graph built; rows are told by combination, whatever
 * the order. */
static size_t in_order(const struct mfu_sweep *s, size_t i)
{
    size_t at[MFU_AXES] = {0}, combination = 0;

    for (int cheap = 1; cheap >= 0; cheap--)
        for (size_t k = s->n_axes; k-- > 0;)
            if (is_cheap(&s->axes[k]) == cheap) {
                at[k] = i % s->axes[k].n;
                i /= s->axes[k].n;
            }
    for (size_t k = 0; k < s->n_axes; k++)
        combination = combination * s->axes[k].n + at[k];
    return combination;
}

/* ---- threads ------------------------------------------------------------ */

struct worker {
    const struct mfu_sweep *sweep;
    atomic_size_t *next;
    size_t end;
    bool simulated, tells;
    struct mfu_plan plan;
    struct mfu_simulation simulation;
    struct mfu_kept kept;
    size_t evaluated, refused, excluded;
    bool failed;
    pthread_t thread;
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

static void plan_one(struct worker *w, size_t combination)
{
    const struct mfu_sweep *s = w->sweep;
    struct mfu_sweep_row row = {.combination = combination, .simulated = w->simulated};
    struct mfu_scenario scenario;
    struct mfu_error err = {0};

    if (mfu_sweep_make(s, combination, &scenario, &err) < 0 || mfu_plan_make(&w->plan, &scenario, &err) < 0
        || (w->simulated && mfu_simulate(&w->plan, false, &w->simulation, &err) < 0)) {
        w->failed |= err.code == MFU_ENOMEM;
        w->refused++;
        return;
    }
    w->evaluated++;
    if (mfu_sweep_take(s, &w->plan, &row, columns_needed(w)))
        w->failed |= !mfu_keep_row(s, &w->kept, &row);
    else
        w->excluded++;
}

static void *work(void *context)
{
    struct worker *w = context;
    const struct mfu_sweep *s = w->sweep;
    size_t chunk = w->simulated ? 1 : CHUNK;

    while (!w->failed && !(s->stopped && s->stopped())) {
        size_t from = atomic_fetch_add(w->next, chunk), to = from + chunk < w->end ? from + chunk : w->end;

        if (from >= w->end)
            break;
        if (w->tells)
            s->tell(s->context, (double)from, (double)w->end);
        for (size_t i = from; i < to; i++)
            plan_one(w, in_order(s, i));
    }
    mfu_simulation_release(&w->simulation);
    mfu_plan_release(&w->plan);
    return NULL;
}

/* The rows of all workers, each the best of its own. */
static int merge(const struct mfu_sweep *s, struct worker *workers, int n, struct mfu_kept *all)
{
    bool ok = true;

    for (int t = 0; t < n; t++)
        for (size_t i = 0; i < workers[t].kept.n; i++)
            ok = ok && mfu_keep_row(s, all, &workers[t].kept.rows[i]);
    mfu_keep_sort(s, all->rows, all->n);
    return ok ? 0 : -1;
}

static int plan_all(const struct mfu_sweep *s, struct worker *workers, int n, struct mfu_kept *all,
                    struct mfu_sweep_result *r, struct mfu_error *err)
{
    size_t size = (size_t)mfu_sweep_size(s);
    atomic_size_t next = 0;
    bool failed = false;
    int started = 0;

    for (int t = 0; t < n; t++) {
        workers[t] = (struct worker){
            .sweep = s, .next = &next, .end = size, .simulated = simulates(s), .tells = t == 0 && s->tell};
        if (t > 0 && pthread_create(&workers[t].thread, NULL, work, &workers[t]) != 0)
            break;
        started++;
    }
    work(&workers[0]);
    for (int t = 1; t < started; t++)
        pthread_join(workers[t].thread, NULL);
    for (int t = 0; t < started; t++) {
        r->evaluated += workers[t].evaluated;
        r->refused += workers[t].refused;
        r->excluded += workers[t].excluded;
        failed |= workers[t].failed;
    }
    r->complete = r->evaluated + r->refused == size;
    failed |= merge(s, workers, started, all) < 0;
    for (int t = 0; t < started; t++)
        free(workers[t].kept.rows);
    return failed ? mfu_fail(err, MFU_ENOMEM, "out of memory") : 0;
}

/* Simulates the rows that are handed back, where they are few; takes them over
 * as they are elsewhere. */
static int hand_back(const struct mfu_sweep *s, struct mfu_kept *all, struct mfu_sweep_result *r, struct mfu_error *err)
{
    bool few = s->keep ? s->keep <= MFU_SWEEP_FEW : s->pareto || all->n <= MFU_SWEEP_FEW;

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
    int n = mfu_sweep_threads(s), status;
    struct worker *workers;
    struct mfu_kept all = {0};

    memset(r, 0, sizeof *r);
    if (size <= 0)
        return mfu_fail(err, MFU_EINPUT, "more than %g combinations", MOST_COMBINATIONS);
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
