/*
 * resimulate.c - down the ranking, a few rows at a time, on all cores.
 *
 * Which rows are simulated does not depend on how many threads do it: they come
 * in batches of the same size, and what follows is decided between batches.
 */
#include "answer/search/resimulate.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "plan/simulation.h"
#include "answer/search/combinations.h"
#include "base/error.h"
#include "scenario/setting.h"
#include "base/workers.h"

/* Chosen.  Simulated, a row is better by less than SLACK in time, or EXCHANGE_SLACK
 * where GPUs wait for each other, and by HELD_SLACK in bytes, which the allocator may hold
 * fewer of than usual: a row so much behind
 * may turn out better than one that is shown.  How many of those are looked at. */
#define BATCH 32
#define BEST_BATCH 8 /* of a ranking, which soon knows enough */
#define SLACK 0.02
#define EXCHANGE_SLACK 0.05
#define HELD_SLACK 0.08
#define MOST_BEHIND 160
#define EXCHANGE_MOST_BEHIND 512

/* Figures that differ by less are the same to a reader, and no reason to change a
 * setting (chosen). */
#define SAME 1e-3
#define AS_GOOD 5e-5

struct confirmer {
    const struct mfu_sweep *sweep;
    struct mfu_sweep_result *result;
    struct mfu_sweep_row *batch[BATCH];
    bool good[BATCH];
    size_t n_batch;
    atomic_size_t next;
    atomic_bool failed; /* out of memory */
    int threads;
    bool exchange; /* several GPUs are among the combinations */
    struct worker {
        struct confirmer *of;
        struct mfu_plan plan;
        struct mfu_simulation simulation;
    } * workers;
};

bool mfu_sweep_take(const struct mfu_sweep *s, const struct mfu_plan *plan, struct mfu_sweep_row *row, size_t columns)
{
    bool ranked = s->keep || s->pareto;

    if (s->where && !(mfu_question_ask(s->where, plan) > 0))
        return false;
    row->tokens = plan->step.tokens;
    for (size_t c = 0; c < columns; c++)
        row->columns[c] = mfu_question_ask(s->columns[c], plan);
    row->best = row->columns[0];
    return !ranked || columns == 0 || !isnan(row->columns[0]);
}

/* Whether the row, simulated, is still one. */
static bool simulate(struct worker *h, struct mfu_sweep_row *row)
{
    const struct mfu_sweep *s = h->of->sweep;
    struct mfu_scenario scenario;
    struct mfu_error err = {0};

    if (mfu_sweep_make(s, row->combination, &scenario, &err) < 0 || mfu_plan_make(&h->plan, &scenario, &err) < 0
        || mfu_simulate_plan(&h->plan, &h->simulation, &err) < 0) {
        if (err.code == MFU_ENOMEM)
            h->of->failed = true;
        return false;
    }
    row->simulated = true;
    return mfu_sweep_take(s, &h->plan, row, s->n_columns);
}

static void work(void *context, int number)
{
    struct confirmer *c = context;
    size_t i;

    while ((i = atomic_fetch_add(&c->next, 1)) < c->n_batch)
        c->good[i] = simulate(&c->workers[number], c->batch[i]);
}

/* A stopped search shows the best so far: one batch is always simulated. */
static bool stopped(struct confirmer *c)
{
    const struct mfu_sweep *s = c->sweep;

    if (c->failed || c->result->tried == 0 || !(s->stopped && s->stopped()))
        return c->failed;
    c->result->complete = false;
    return true;
}

/* Simulates the rows of the batch. */
static void run(struct confirmer *c)
{
    c->next = 0;
    mfu_workers_run((size_t)c->threads < c->n_batch ? c->threads : (int)c->n_batch, work, c);
    c->result->tried += c->n_batch;
    for (size_t i = 0; i < c->n_batch; i++)
        c->result->dropped += !c->good[i];
}

/* The best that a row which is not simulated may be; flags and counts are known. */
static struct mfu_sweep_row hoped(const struct confirmer *c, const struct mfu_sweep_row *row)
{
    const struct mfu_sweep *s = c->sweep;
    struct mfu_sweep_row best = *row;

    for (size_t i = 0; i < s->n_columns; i++) {
        enum mfu_dim dim = mfu_question_dim(s->columns[i]);
        double slack = dim == MFU_BYTES || dim == MFU_RATIO ? HELD_SLACK
            : i > 0 && dim == MFU_COUNT                     ? 0
            : c->exchange                                   ? EXCHANGE_SLACK
                                                            : SLACK;

        best.columns[i] += (i == 0 && s->maximize ? slack : -slack) * fabs(row->columns[i]);
    }
    return best;
}

/* How many rows are looked at that are behind. */
static size_t most_behind(const struct confirmer *c)
{
    return c->exchange ? EXCHANGE_MOST_BEHIND : MOST_BEHIND;
}

/* ---- the best ------------------------------------------------------------ */

/* Whether a row that is not simulated could be better than one that is. */
static bool promising(const struct confirmer *c, const struct mfu_sweep_row *row, const struct mfu_sweep_row *than)
{
    struct mfu_sweep_row best = *row;

    if (c->result->tried < c->sweep->keep + most_behind(c))
        best = hoped(c, row);
    return mfu_keep_better(c->sweep, &best, than);
}

static bool as_near(double a, double b, double share)
{
    return !(fabs(a - b) > share * fabs(b));
}

/* Whether a row prints the same as one that is shown, but for bytes that nobody looks for and for what longer steps take
 * longer for: both satisfy the condition. */
static bool same_figures(const struct mfu_sweep *s, const struct mfu_sweep_row *a, const struct mfu_sweep_row *b)
{
    if (!as_near(a->columns[0], b->best, SAME)) /* what stands for it is a little behind it as it is */
        return false;
    for (size_t c = 0; c < s->n_columns; c++) {
        enum mfu_dim dim = c > 0 ? mfu_question_dim(s->columns[c]) : MFU_COUNT;

        if (dim != MFU_BYTES && !as_near(a->columns[c], b->columns[c], SAME)
            && !(dim == MFU_SECONDS && as_near(a->columns[c] / a->tokens, b->columns[c] / b->tokens, SAME)))
            return false;
    }
    return true;
}

/* Whether a row is shown instead of one with the same figures: for the fewer tokens in its step, or as it is better; of two
 * that are as good the one nearer to what is set now. */
static bool rather(const struct mfu_sweep *s, const struct mfu_sweep_row *row, const struct mfu_sweep_row *than)
{
    return row->tokens != than->tokens                        ? row->tokens < than->tokens
        : as_near(row->columns[0], than->columns[0], AS_GOOD) ? row->combination < than->combination
                                                              : mfu_keep_better(s, row, than);
}

static void insert(const struct mfu_sweep *s, struct mfu_sweep_row *rows, size_t *n, const struct mfu_sweep_row *row)
{
    size_t k;

    for (k = 0; s->distinct && k < *n; k++)
        if (same_figures(s, row, &rows[k])) {
            double best = (s->maximize ? fmax : fmin)(row->best, rows[k].best);

            rows[k] = rather(s, row, &rows[k]) ? *row : rows[k];
            rows[k].best = best;
            return;
        }
    k = *n < s->keep ? (*n)++ : s->keep;
    if (k == s->keep && !mfu_keep_better(s, row, &rows[--k]))
        return;
    for (; k > 0 && mfu_keep_better(s, row, &rows[k - 1]); k--)
        rows[k] = rows[k - 1];
    rows[k] = *row;
}

static void confirm_best(struct confirmer *c, struct mfu_kept *k, struct mfu_sweep_row *rows, size_t *n)
{
    const struct mfu_sweep *s = c->sweep;
    size_t at = 0;

    mfu_keep_sort(s, k->rows, k->n);
    while (at < k->n && !stopped(c) && (*n < s->keep || promising(c, &k->rows[at], &rows[*n - 1]))) {
        for (c->n_batch = 0; c->n_batch < BEST_BATCH && at < k->n; at++)
            c->batch[c->n_batch++] = &k->rows[at];
        run(c);
        for (size_t i = 0; i < c->n_batch; i++)
            if (c->good[i])
                insert(s, rows, n, c->batch[i]);
    }
    c->result->exhausted =
        c->result->complete && *n < s->keep && c->result->evaluated - c->result->excluded + c->result->outdone > k->n;
}

/* ---- the front ----------------------------------------------------------- */

static bool on_front(const struct mfu_sweep *s, const struct mfu_kept *k, size_t i)
{
    for (size_t j = 0; j < k->n; j++)
        if (j != i && mfu_keep_dominates(s, &k->rows[j], &k->rows[i]))
            return false;
    return true;
}

/* Removes what failed. */
static void sweep_out(struct confirmer *c, struct mfu_kept *k)
{
    size_t n = 0, failed = 0;

    for (size_t i = 0; i < k->n; i++) {
        while (failed < c->n_batch && (c->good[failed] || c->batch[failed] < &k->rows[i]))
            failed++;
        if (failed < c->n_batch && c->batch[failed] == &k->rows[i])
            continue;
        if (n != i)
            k->rows[n] = k->rows[i];
        n++;
    }
    k->n = n;
}

/* Whether a row could be on the front that those which are simulated make. */
static bool could_be(const struct confirmer *c, const struct mfu_kept *k, size_t i)
{
    struct mfu_sweep_row best = hoped(c, &k->rows[i]);

    for (size_t j = 0; j < k->n; j++)
        if (k->rows[j].simulated && mfu_keep_dominates(c->sweep, &k->rows[j], &best))
            return false;
    return true;
}

/* What is on the front by what is known of each row, simulated or not, is simulated
 * next; then what could be on it, the least beaten first, until all of the front is. */
static void confirm_front(struct confirmer *c, struct mfu_kept *k, struct mfu_sweep_row *rows, size_t *n)
{
    size_t before = k->n, depth = mfu_keep_depth(c->sweep), behind = 0;

    while (!stopped(c)) {
        c->n_batch = 0;
        for (size_t i = 0; i < k->n && c->n_batch < BATCH; i++)
            if (!k->rows[i].simulated && on_front(c->sweep, k, i))
                c->batch[c->n_batch++] = &k->rows[i];
        for (unsigned beaten = 0; c->n_batch == 0 && behind < most_behind(c) && beaten < depth; beaten++) {
            for (size_t i = 0; i < k->n && c->n_batch < BATCH; i++)
                if (!k->rows[i].simulated && k->rows[i].beaten == beaten && could_be(c, k, i))
                    c->batch[c->n_batch++] = &k->rows[i];
            behind += c->n_batch;
        }
        if (c->n_batch == 0)
            break;
        run(c);
        sweep_out(c, k);
    }
    for (size_t i = 0; i < k->n; i++)
        if (k->rows[i].simulated && on_front(c->sweep, k, i))
            rows[(*n)++] = k->rows[i];
    c->result->exhausted = c->result->complete && before >= depth && *n == k->n;
}

/* ---- all of them --------------------------------------------------------- */

static void confirm_all(struct confirmer *c, struct mfu_kept *k, struct mfu_sweep_row *rows, size_t *n)
{
    for (size_t at = 0; at < k->n && !stopped(c);) {
        for (c->n_batch = 0; c->n_batch < BATCH && at < k->n; at++)
            c->batch[c->n_batch++] = &k->rows[at];
        run(c);
        for (size_t i = 0; i < c->n_batch; i++)
            if (c->good[i])
                rows[(*n)++] = *c->batch[i];
    }
}

int mfu_confirm(const struct mfu_sweep *s, struct mfu_kept *k, struct mfu_sweep_result *r, struct mfu_error *err)
{
    struct confirmer c = {.sweep = s,
                          .result = r,
                          .threads = mfu_workers_count(s->threads),
                          .exchange = s->scenario->setting[MFU_S_GPUS] > 1 || mfu_sweep_varies(s, MFU_S_GPUS)};
    struct mfu_sweep_row *rows = malloc((k->n + 1) * sizeof *rows);
    size_t n = 0;

    c.workers = calloc((size_t)c.threads, sizeof *c.workers);
    for (int t = 0; c.workers && t < c.threads; t++)
        c.workers[t].of = &c;
    if (rows && c.workers)
        (s->pareto ? confirm_front : s->keep ? confirm_best : confirm_all)(&c, k, rows, &n);
    for (int t = 0; c.workers && t < c.threads; t++) {
        mfu_simulation_release(&c.workers[t].simulation);
        mfu_plan_release(&c.workers[t].plan);
    }
    mfu_keep_sort(s, rows, rows ? n : 0);
    if (!rows || !c.workers || c.failed) {
        free(rows);
        free(c.workers);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    free(c.workers);
    free(k->rows);
    *k = (struct mfu_kept){0};
    r->rows = rows;
    r->n_rows = n;
    return 0;
}
