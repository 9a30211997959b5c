/*
 * sweep.c - combinations over threads.
 */
#include "answer/sweep.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/simulation.h"
#include "base/error.h"
#include "base/suggest.h"
#include "graph/step.h"

/* Chosen. */
#define MOST_VALUES 100000      /* of one axis */
#define MOST_COMBINATIONS 1e12  /* nobody waits for more */
#define MOST_ROWS 4000000       /* that are kept: 544 MB */
#define CHUNK 64                /* combinations that a thread takes at once */
#define MOST_THREADS 64

/* ---- axes --------------------------------------------------------------- */

static int add_value(struct mfu_axis *a, double value, struct mfu_error *err)
{
    double *more;

    if (a->n == MOST_VALUES)
        return mfu_fail(err, MFU_EINPUT, "%s: more than %d values", a->name, MOST_VALUES);
    if ((a->n & (a->n + 1)) == 0 || a->n < 8) {         /* room for 8, 15, 31 ... */
        if (!(more = realloc(a->values, (2 * a->n + 8) * sizeof *more)))
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        a->values = more;
    }
    a->values[a->n++] = value;
    return 0;
}

/* One value as `set` reads it. */
static int read_value(const struct mfu_axis *a, const struct mfu_scenario *s, const char *text, double *value,
                      struct mfu_error *err)
{
    struct mfu_scenario copy = *s;

    if (mfu_scenario_set(&copy, a->name, text, err) < 0)
        return -1;
    *value = a->key.kind == MFU_KEY_SETTING ? copy.setting[a->key.id]
        : a->key.kind == MFU_KEY_DIM ? copy.dim[a->key.id] : copy.coefficient[a->key.id];
    return 0;
}

/* "1..64*2" or "0..1+0.25" or "1..8". */
static int read_range(struct mfu_axis *a, const struct mfu_scenario *s, const char *text, const char *dots,
                      struct mfu_error *err)
{
    const char *how = strpbrk(dots + 2, "*+");
    char low_text[64], high_text[64];
    double low, high, step = 1;
    size_t high_length = how ? (size_t)(how - dots - 2) : strlen(dots + 2);

    if ((size_t)(dots - text) >= sizeof low_text || high_length >= sizeof high_text)
        return mfu_fail(err, MFU_EINPUT, "%s: '%.40s' is too long for a range", a->name, text);
    snprintf(low_text, sizeof low_text, "%.*s", (int)(dots - text), text);
    snprintf(high_text, sizeof high_text, "%.*s", (int)high_length, dots + 2);
    if (read_value(a, s, low_text, &low, err) < 0 || read_value(a, s, high_text, &high, err) < 0)
        return -1;
    if (how && mfu_quantity_parse(how + 1, MFU_COUNT, &step, err) < 0)
        return mfu_within(err, "%s", a->name);
    if (how && *how == '*' ? step <= 1 : step <= 0)
        return mfu_fail(err, MFU_EINPUT, "%s: a range needs a factor above 1 or a step above 0, such as 1..64*2 or 0..1+0.25", a->name);
    if (how && *how == '*' && low <= 0)
        return mfu_fail(err, MFU_EINPUT, "%s: a range by factors starts above 0", a->name);
    for (double x = low; x <= high * (1 + 1e-12) + 1e-300; x = how && *how == '*' ? x * step : x + step)
        if (add_value(a, x, err) < 0)
            return -1;
    return 0;
}

int mfu_axis_read(struct mfu_axis *a, const struct mfu_scenario *s, const char *key, const char *values,
                  struct mfu_error *err)
{
    char word[128];

    memset(a, 0, sizeof *a);
    a->key = mfu_scenario_key(s, key, err);
    if (a->key.kind == MFU_KEY_NONE)
        return -1;
    snprintf(a->name, sizeof a->name, "%s",
             a->key.kind == MFU_KEY_SETTING ? mfu_settings[a->key.id].key
             : a->key.kind == MFU_KEY_DIM ? s->model->dims[a->key.id].name : mfu_coefficient_rows[a->key.id].name);
    if (a->key.kind == MFU_KEY_SETTING && mfu_settings[a->key.id].choices && mfu_same_name(values, "all")) {
        for (int i = 0; mfu_settings[a->key.id].choices[i]; i++)
            if (add_value(a, i, err) < 0)
                return -1;
        return 0;
    }
    for (const char *p = values; *p;) {
        size_t n = strcspn(p, ",");
        const char *dots;
        double value;

        if (n == 0 || n >= sizeof word)
            return mfu_fail(err, MFU_EINPUT, "%s: '%.60s': expected values such as 1,2,4 or 1..64*2", a->name, values);
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        dots = strstr(word, "..");
        if (dots ? read_range(a, s, word, dots, err) < 0
                 : read_value(a, s, word, &value, err) < 0 || add_value(a, value, err) < 0)
            return -1;
        p += n;
        if (*p == ',' && *++p == '\0')
            return mfu_fail(err, MFU_EINPUT, "%s: nothing follows the last comma", a->name);
    }
    if (a->n == 0)
        return mfu_fail(err, MFU_EINPUT, "%s: no values", a->name);
    return 0;
}

/* ---- combinations ------------------------------------------------------- */

double mfu_sweep_size(const struct mfu_sweep *s)
{
    double n = 1;

    for (size_t i = 0; i < s->n_axes; i++)
        n *= (double)s->axes[i].n;
    return n <= MOST_COMBINATIONS ? n : 0;
}

double mfu_sweep_value(const struct mfu_sweep *s, size_t combination, size_t axis)
{
    for (size_t i = s->n_axes; i-- > axis + 1;)
        combination /= s->axes[i].n;
    return s->axes[axis].values[combination % s->axes[axis].n];
}

/* Whether a step along this axis leaves the graph of the plan before. */
static bool is_cheap(const struct mfu_axis *a)
{
    return a->key.kind == MFU_KEY_COEFFICIENT
        || (a->key.kind == MFU_KEY_SETTING && mfu_beside_the_graph((enum mfu_setting_id)a->key.id));
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

struct mfu_scenario mfu_sweep_scenario(const struct mfu_sweep *s, size_t combination)
{
    struct mfu_scenario x = *s->scenario;

    for (size_t i = s->n_axes; i-- > 0;) {
        const struct mfu_axis *a = &s->axes[i];
        double value = a->values[combination % a->n];

        combination /= a->n;
        switch (a->key.kind) {
        case MFU_KEY_SETTING:
            x.setting[a->key.id] = value;
            x.setting_given[a->key.id] = true;
            break;
        case MFU_KEY_DIM:
            x.dim[a->key.id] = value;
            x.dim_given[a->key.id] = true;
            break;
        case MFU_KEY_COEFFICIENT:
            x.coefficient[a->key.id] = value;
            x.coefficient_given[a->key.id] = true;
            break;
        case MFU_KEY_NONE:
            break;
        }
    }
    return x;
}

/* ---- what is kept ------------------------------------------------------- */

/* Better first; equal rows by combination, so that threads do not matter. */
static bool better(const struct mfu_sweep *s, const struct mfu_sweep_row *a, const struct mfu_sweep_row *b)
{
    double x = a->columns[0], y = b->columns[0];

    if (x != y)
        return s->maximize ? x > y : x < y;
    return a->combination < b->combination;
}

/* Column 0 in the direction of the search, all others: less is better. */
static bool dominates(const struct mfu_sweep *s, const struct mfu_sweep_row *a, const struct mfu_sweep_row *b)
{
    bool strictly = false;

    for (size_t i = 0; i < s->n_columns; i++) {
        double x = a->columns[i], y = b->columns[i];

        if (i == 0 && s->maximize)
            x = -x, y = -y;
        if (x > y)
            return false;
        strictly |= x < y;
    }
    return strictly || a->combination < b->combination;
}

struct kept {
    struct mfu_sweep_row *rows;
    size_t n, cap;
};

static bool append(struct kept *k, const struct mfu_sweep_row *row)
{
    if (k->n == k->cap) {
        size_t want = k->cap ? 2 * k->cap : 256;
        struct mfu_sweep_row *more = k->n >= MOST_ROWS ? NULL : realloc(k->rows, want * sizeof *more);

        if (!more)
            return false;
        k->rows = more;
        k->cap = want;
    }
    k->rows[k->n++] = *row;
    return true;
}

static bool keep_front(const struct mfu_sweep *s, struct kept *k, const struct mfu_sweep_row *row)
{
    size_t n = 0;

    for (size_t i = 0; i < k->n; i++)
        if (dominates(s, &k->rows[i], row))
            return true;
    for (size_t i = 0; i < k->n; i++)
        if (!dominates(s, row, &k->rows[i]))
            k->rows[n++] = k->rows[i];
    k->n = n;
    return append(k, row);
}

/* The best so far in a heap with the worst on top. */
static bool keep_best(const struct mfu_sweep *s, struct kept *k, const struct mfu_sweep_row *row)
{
    size_t i;

    if (k->n < s->keep) {
        if (!append(k, row))
            return false;
        for (i = k->n - 1; i > 0 && better(s, &k->rows[(i - 1) / 2], &k->rows[i]); i = (i - 1) / 2) {
            struct mfu_sweep_row swap = k->rows[i];

            k->rows[i] = k->rows[(i - 1) / 2];
            k->rows[(i - 1) / 2] = swap;
        }
        return true;
    }
    if (!better(s, row, &k->rows[0]))
        return true;
    k->rows[0] = *row;
    for (i = 0;;) {
        size_t worst = i;

        for (size_t c = 2 * i + 1; c <= 2 * i + 2 && c < k->n; c++)
            if (better(s, &k->rows[worst], &k->rows[c]))
                worst = c;
        if (worst == i)
            return true;
        struct mfu_sweep_row swap = k->rows[i];

        k->rows[i] = k->rows[worst];
        k->rows[worst] = swap;
        i = worst;
    }
}

static bool keep_row(const struct mfu_sweep *s, struct kept *k, const struct mfu_sweep_row *row)
{
    return s->pareto ? keep_front(s, k, row) : s->keep ? keep_best(s, k, row) : append(k, row);
}

/* ---- threads ------------------------------------------------------------ */

struct worker {
    const struct mfu_sweep *sweep;
    atomic_size_t *next;
    size_t end;
    struct kept kept;
    size_t evaluated, refused, excluded;
    bool failed;
    pthread_t thread;
};

static void *work(void *context)
{
    struct worker *w = context;
    const struct mfu_sweep *s = w->sweep;
    struct mfu_plan plan = {0};
    struct mfu_simulation simulation = {0};

    while (!w->failed && !(s->stopped && s->stopped())) {
        size_t from = atomic_fetch_add(w->next, CHUNK), to = from + CHUNK < w->end ? from + CHUNK : w->end;

        if (from >= w->end)
            break;
        for (size_t i = from; i < to; i++) {
            struct mfu_sweep_row row = {.combination = in_order(s, i)};
            struct mfu_scenario scenario = mfu_sweep_scenario(s, row.combination);
            struct mfu_error err;

            if (mfu_plan_make(&plan, &scenario, &err) < 0
                || (s->simulated && mfu_simulate(&plan, false, &simulation, &err) < 0)) {
                w->failed |= err.code == MFU_ENOMEM;
                w->refused++;
                continue;
            }
            w->evaluated++;
            if (s->where && !(mfu_question_ask(s->where, &plan) > 0)) {
                w->excluded++;
                continue;
            }
            for (size_t c = 0; c < s->n_columns; c++)
                row.columns[c] = mfu_question_ask(s->columns[c], &plan);
            w->failed |= !keep_row(s, &w->kept, &row);
        }
        if (s->done)
            atomic_fetch_add(s->done, to - from);
    }
    mfu_simulation_release(&simulation);
    mfu_plan_release(&plan);
    return NULL;
}

static int by_combination(const void *a, const void *b)
{
    const struct mfu_sweep_row *x = a, *y = b;

    return (x->combination > y->combination) - (x->combination < y->combination);
}

/* Insertion by merging: the rows of all workers, each the best of its own. */
static int merge(const struct mfu_sweep *s, struct worker *workers, int n, struct mfu_sweep_result *r)
{
    struct kept all = {0};
    bool ok = true;

    for (int t = 0; t < n; t++)
        for (size_t i = 0; i < workers[t].kept.n; i++)
            ok = ok && keep_row(s, &all, &workers[t].kept.rows[i]);
    if (all.n)
        qsort(all.rows, all.n, sizeof *all.rows, by_combination);
    for (size_t i = 1; s->keep && i < all.n; i++) {     /* the best first; few rows */
        struct mfu_sweep_row row = all.rows[i];
        size_t k = i;

        for (; k > 0 && better(s, &row, &all.rows[k - 1]); k--)
            all.rows[k] = all.rows[k - 1];
        all.rows[k] = row;
    }
    r->rows = all.rows;
    r->n_rows = all.n;
    return ok ? 0 : -1;
}

int mfu_sweep_run(const struct mfu_sweep *s, struct mfu_sweep_result *r, struct mfu_error *err)
{
    double size = mfu_sweep_size(s);
    long cores = s->threads > 0 ? s->threads : sysconf(_SC_NPROCESSORS_ONLN);
    int n = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (int)cores, status, started = 0;
    struct worker workers[MOST_THREADS] = {0};
    atomic_size_t next = 0;
    bool failed = false;

    memset(r, 0, sizeof *r);
    if (size <= 0)
        return mfu_fail(err, MFU_EINPUT, "more than %g combinations", MOST_COMBINATIONS);
    if (!s->keep && !s->pareto && size > MOST_ROWS)
        return mfu_fail(err, MFU_EINPUT, "%.0f combinations are more rows than can be kept; search keeps the best", size);
    for (int t = 0; t < n; t++) {
        workers[t].sweep = s;
        workers[t].next = &next;
        workers[t].end = (size_t)size;
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
    r->complete = r->evaluated + r->refused == (size_t)size;
    status = merge(s, workers, started, r);
    for (int t = 0; t < started; t++)
        free(workers[t].kept.rows);
    if (failed || status < 0) {
        mfu_sweep_result_free(r);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    return 0;
}

void mfu_sweep_result_free(struct mfu_sweep_result *r)
{
    free(r->rows);
    memset(r, 0, sizeof *r);
}

void mfu_sweep_clear(struct mfu_sweep *s)
{
    for (size_t i = 0; i < s->n_axes; i++)
        free(s->axes[i].values);
    for (size_t i = 0; i < s->n_columns; i++)
        mfu_question_free(s->columns[i]);
    mfu_question_free(s->where);
    memset(s, 0, sizeof *s);
}
