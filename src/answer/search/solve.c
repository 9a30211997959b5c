/*
 * solve.c - a coarse grid, bisection, and a look around.
 */
#include "answer/search/solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/extreme.h"
#include "scenario/setting.h"

/* Chosen. */
#define OCTAVE 4         /* values of the grid from 1 to 2, 2 to 4 ... */
#define FINER 16         /* the same when nothing was found */
#define DENSE 32         /* below this every value is of the grid */
#define WINDOW 48        /* values that are looked at around an edge, at a time */
#define MOST_MOVES 64    /* of an edge */
#define MOST_VALUES 1024 /* of a grid */
#define MOST_DIVIDED 1e6 /* dimensions whose divisors are of the grid */

enum verdict { REFUSED, FAILS, HOLDS };

struct solver {
    const struct mfu_scenario *scenario;
    struct mfu_key key;
    double step, least, most; /* the last two in steps */
    bool largest;
    const struct mfu_question *where;
    struct mfu_plan *plan;
    struct mfu_simulation *simulation;
    struct mfu_error refusal; /* of the last value that was refused */
    bool no_memory;           /* for a value that was asked for */
    double grid[MOST_VALUES];
    int n;
};

/* ---- one value ----------------------------------------------------------- */

static struct mfu_scenario with(const struct solver *q, double steps)
{
    struct mfu_scenario s = *q->scenario;

    if (q->key.kind == MFU_KEY_SETTING) {
        s.setting[q->key.id] = steps * q->step;
        s.setting_given[q->key.id] = true;
        if (q->key.id == MFU_S_BATCH)
            mfu_scenario_keep_loader(&s, q->scenario->setting[MFU_S_BATCH]);
    } else {
        s.dim[q->key.id] = steps * q->step;
        s.dim_given[q->key.id] = true;
    }
    return s;
}

/* Why the plan at hand fails: if it would hold with more memory, that is missing. */
static const char *why_it_fails(struct solver *q)
{
    bool fits = q->plan->memory.fits, enough;

    if (!q->where)
        return "memory";
    q->plan->memory.fits = true;
    enough = !fits && mfu_question_ask(q->where, q->plan) > 0;
    q->plan->memory.fits = fits;
    return enough ? "memory" : "target";
}

static bool holds(const struct solver *q)
{
    return q->where ? mfu_question_ask(q->where, q->plan) > 0 : q->plan->memory.fits;
}

/* Running out of memory ourselves says nothing about the value. */
static enum verdict refused(struct solver *q)
{
    q->no_memory |= q->refusal.code == MFU_ENOMEM;
    return REFUSED;
}

/* A value that is too large by the analytic path is too large; that path takes
 * microseconds, the simulation up to a millisecond. */
static enum verdict ask(struct solver *q, double steps)
{
    struct mfu_scenario s = with(q, steps);

    if (mfu_plan_make(q->plan, &s, &q->refusal) < 0)
        return refused(q);
    if (!q->plan->memory.fits && !holds(q) && why_it_fails(q)[0] == 'm')
        return FAILS;
    if (mfu_simulate_plan(q->plan, q->simulation, &q->refusal) < 0)
        return refused(q);
    return holds(q) ? HOLDS : FAILS;
}

/* The same for values far apart: what fails by the analytic path is not near. */
static enum verdict ask_roughly(struct solver *q, double steps)
{
    struct mfu_scenario s = with(q, steps);

    if (mfu_plan_make(q->plan, &s, &q->refusal) < 0)
        return refused(q);
    return holds(q) ? ask(q, steps) : FAILS;
}

/* ---- the grid ------------------------------------------------------------ */

static void add(struct solver *q, double steps)
{
    if (q->n < MOST_VALUES && steps >= q->least && steps <= q->most && steps == floor(steps))
        q->grid[q->n++] = steps;
}

/* Heads divide widths: what divides a dimension may be all that is allowed. */
static void add_divisors(struct solver *q)
{
    struct mfu_config c;

    mfu_scenario_resolve(q->scenario, &c, NULL);
    for (int d = 0; q->key.kind == MFU_KEY_DIM && d < q->scenario->model->n_dims; d++)
        for (double x = 1; c.dim[d] <= MOST_DIVIDED && x * x <= c.dim[d]; x++)
            if (fmod(c.dim[d], x) == 0) {
                add(q, x / q->step);
                add(q, c.dim[d] / x / q->step);
            }
}

static void make_grid(struct solver *q, int octave)
{
    int n = 0;

    q->n = 0;
    for (double x = q->least; x < DENSE; x++)
        add(q, x);
    for (int i = 0; q->n < MOST_VALUES && DENSE * exp2((double)i / octave) <= q->most; i++)
        add(q, floor(DENSE * exp2((double)i / octave)));
    add(q, floor(q->most));
    add_divisors(q);
    qsort(q->grid, (size_t)q->n, sizeof *q->grid, mfu_ascending);
    for (int i = 0; i < q->n; i++)
        if (n == 0 || q->grid[i] != q->grid[n - 1])
            q->grid[n++] = q->grid[i];
    q->n = n;
}

/* ---- the edge ------------------------------------------------------------ */

/* Of `good`, which holds, and `bad`, which does not: moves both to neighbours. */
static void bisect(struct solver *q, double *good, double *bad)
{
    while (fabs(*good - *bad) > 1) {
        double middle = floor((*good + *bad) / 2);

        *(ask(q, middle) == HOLDS ? good : bad) = middle;
    }
}

/* Beyond an edge other values may hold: fragments of memory come and go.  Tries
 * at most WINDOW values on the way to `end`, from the far end, and follows the first
 * that holds. */
static bool look_beyond(struct solver *q, double *good, double end)
{
    double stride = fmax(1, ceil(fabs(end - *good) / WINDOW)), way = end > *good ? 1 : -1;

    for (double x = end; way * (x - *good) >= 1; x -= way * stride)
        if (x >= q->least && x <= q->most && ask(q, x) == HOLDS) {
            double bad = x + way * stride; /* asked before, or beyond `end` */

            *good = x;
            if (x != end)
                bisect(q, good, &bad);
            return true;
        }
    return false;
}

/* First the neighbour on the grid, then what is within an eighth, then windows that
 * double while they move the edge.  At the end the next value does not hold. */
static void find_edge(struct solver *q, double *good, double end)
{
    double way = end > *good ? 1 : -1, bad = end, far, window = WINDOW;

    bisect(q, good, &bad);
    far = way > 0 ? fmax(end, ceil(*good * 1.125)) : fmin(end, floor(*good / 1.125));
    look_beyond(q, good, fmin(fmax(far, q->least - 1), q->most + 1));
    for (int i = 0; i < MOST_MOVES; i++) {
        bool moved = look_beyond(q, good, fmin(fmax(*good + way * window, q->least - 1), q->most + 1));

        if (!moved && window == WINDOW)
            break;
        window = moved ? 2 * window : WINDOW;
    }
    while (*good + way >= q->least && *good + way <= q->most && ask(q, *good + way) == HOLDS)
        *good += way;
}

/* What is in the way beyond a value: the nearest that is planned and fails, or
 * else a rule. */
static void give_reason(struct solver *q, double good, struct mfu_solution *x)
{
    double way = q->largest ? 1 : -1, at = good + way;
    enum verdict v = at >= q->least && at <= q->most ? ask(q, at) : REFUSED;

    x->beyond = NAN;
    x->reason[0] = '\0';
    if (at < q->least || at > q->most) {
        x->limited_by = "range";
        return;
    }
    if (v == REFUSED)
        snprintf(x->reason, sizeof x->reason, "%.*s", (int)sizeof x->reason - 1, q->refusal.text);
    for (int i = q->largest ? 0 : q->n - 1; v == REFUSED && i >= 0 && i < q->n; i += (int)way)
        if (way * (q->grid[i] - good) > 1)
            v = ask_roughly(q, at = q->grid[i]);
    x->limited_by = v == REFUSED ? "range" : v == FAILS ? why_it_fails(q) : "target";
    x->beyond = v == REFUSED ? (good + way) * q->step : at * q->step;
    if (v != REFUSED)
        x->reason[0] = '\0';
}

/* ---- all of it ----------------------------------------------------------- */

/* In steps.  0 is no clock and no power: it leaves them to the GPU. */
static double least_of(const struct solver *q)
{
    double least = ceil(mfu_scenario_range(q->scenario, q->key).least / q->step);
    bool given_by_gpu = q->key.kind == MFU_KEY_SETTING && (q->key.id == MFU_S_CLOCK_MHZ || q->key.id == MFU_S_POWER_W);

    return given_by_gpu ? 1 : least;
}

/* What is known of the values that did not hold. */
struct failure {
    double low, high;         /* that could be planned; NAN: none */
    bool memory;              /* was missing at the lowest */
    struct mfu_error refusal; /* of the lowest that could not */
    double refused;
};

static void note_failure(struct solver *q, struct failure *f, double at, enum verdict v)
{
    if (v == REFUSED && !(f->refused <= at)) {
        f->refusal = q->refusal;
        f->refused = at;
    }
    if (v == REFUSED)
        return;
    if (!(f->low <= at))
        f->memory = why_it_fails(q)[0] == 'm';
    f->low = fmin(f->low, at);
    f->high = fmax(f->high, at);
}

/* The grid from the end that is wanted: the first value that holds, and the one
 * before it, which does not (one too few, or one too many, if there is none). */
static bool scan(struct solver *q, int octave, double *good, double *end, struct failure *f)
{
    make_grid(q, octave);
    *end = q->largest ? q->most + 1 : q->least - 1;
    for (int i = 0; i < q->n; i++) {
        double at = q->grid[q->largest ? q->n - 1 - i : i];
        enum verdict v = ask_roughly(q, at);

        if (v == HOLDS) {
            *good = at;
            return true;
        }
        note_failure(q, f, at, v);
        *end = at;
    }
    return false;
}

/* Nothing holds: because of a rule, of memory, or of the condition. */
static int fail(const struct solver *q, const struct failure *f, struct mfu_error *err)
{
    const char *unpredicted = mfu_scenario_unpredicted(q->scenario);

    if (isnan(f->low)) {
        if (err)
            *err = f->refusal;
        return -1;
    }
    if (!q->where)
        return mfu_fail(err, MFU_EINPUT, "even %g does not fit; `advise` tells what makes room", f->low * q->step);
    return mfu_fail(err, MFU_EINPUT, "the condition holds at no value that was tried, from %g to %g%s%s%s",
                    f->low * q->step, f->high * q->step,
                    *unpredicted    ? "; whether any fits is unknown, not modelled: "
                        : f->memory ? ": memory does not suffice"
                                    : "",
                    unpredicted, *unpredicted ? " (unset not_modelled)" : "");
}

int mfu_solve(const struct mfu_scenario *scenario, struct mfu_key key, double step, bool largest,
              const struct mfu_question *where, struct mfu_plan *plan, struct mfu_simulation *simulation,
              struct mfu_solution *solution, struct mfu_error *err)
{
    struct solver q = {.scenario = scenario,
                       .key = key,
                       .step = step,
                       .where = where,
                       .plan = plan,
                       .simulation = simulation,
                       .largest = largest};
    struct failure f = {.low = NAN, .high = NAN, .refused = NAN};
    double good = NAN, end;
    enum verdict last;

    if (!where && *mfu_scenario_unpredicted(scenario))
        return mfu_fail(err, MFU_EINPUT, "whether anything fits is unknown, not modelled: %.200s (unset not_modelled)",
                        mfu_scenario_unpredicted(scenario));
    q.most = key.kind == MFU_KEY_SETTING ? floor(mfu_settings[key.id].most / step) : floor(1e9 / step);
    q.least = least_of(&q);
    if (!scan(&q, OCTAVE, &good, &end, &f) && !scan(&q, FINER, &good, &end, &f))
        return q.no_memory ? mfu_fail(err, MFU_ENOMEM, "out of memory") : fail(&q, &f, err);
    if (end >= q.least && end <= q.most)
        find_edge(&q, &good, end);
    *solution = (struct mfu_solution){.value = good * step};
    give_reason(&q, good, solution);
    last = ask(&q, good); /* leaves its plan */
    if (q.no_memory)
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    if (last != HOLDS)
        return mfu_fail(err, MFU_EINPUT, "%g does not hold twice", good * step);
    mfu_error_clear(err);
    return 0;
}
