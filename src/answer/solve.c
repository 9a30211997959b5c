/*
 * solve.c - doubling, then bisection.
 */
#include "answer/solve.h"

#include <math.h>

#include "base/error.h"

struct question {
    const struct mfu_scenario *scenario;
    struct mfu_key key;
    double step;
    const struct mfu_question *where;
    struct mfu_plan *plan;
    struct mfu_simulation *simulation;
    struct mfu_error *err;
    bool refused;               /* the last one could not be planned at all */
};

static bool holds(struct question *q, double steps)
{
    struct mfu_scenario s = *q->scenario;

    if (q->key.kind == MFU_KEY_SETTING)
        s.setting[q->key.id] = steps * q->step, s.setting_given[q->key.id] = true;
    else
        s.dim[q->key.id] = steps * q->step, s.dim_given[q->key.id] = true;
    q->refused = mfu_plan_make(q->plan, &s, q->err) < 0;
    if (q->refused)
        return false;
    if (q->where)
        return mfu_question_ask(q->where, q->plan) > 0;
    if (!q->plan->memory.fits)
        return false;
    q->refused = mfu_simulate(q->plan, false, q->simulation, q->err) < 0;
    return !q->refused && q->plan->memory.fits;
}

int mfu_solve(const struct mfu_scenario *scenario, struct mfu_key key, double step, bool largest,
              const struct mfu_question *where, struct mfu_plan *plan, struct mfu_simulation *simulation,
              struct mfu_solution *solution, struct mfu_error *err)
{
    struct question q = {.scenario = scenario, .key = key, .step = step, .where = where, .plan = plan,
                         .simulation = simulation, .err = err};
    double most = key.kind == MFU_KEY_SETTING ? floor(mfu_settings[key.id].most / step) : floor(1e9 / step);
    double good, bad, at = 1;
    bool first = holds(&q, 1);

    if (q.refused)
        return -1;
    solution->limited_by = where ? "target" : "memory";
    if (largest && !first)
        return mfu_fail(err, MFU_EINPUT, where ? "the condition does not hold even at %g" : "even %g does not fit", step);
    if (!largest && first) {
        solution->value = step;
        solution->limited_by = "range";
        return 0;
    }
    for (at = 2; at < most && holds(&q, at) == largest; at *= 2)
        ;
    if (at >= most && holds(&q, most) == largest) {
        if (!largest)
            return mfu_fail(err, MFU_EINPUT, "the condition does not hold up to %g", most * step);
        solution->value = most * step;
        solution->limited_by = "range";
        return 0;
    }
    at = fmin(at, most);
    good = largest ? floor(at / 2) : at;
    bad = largest ? at : floor(at / 2);
    while (fabs(good - bad) > 1) {
        double middle = floor((good + bad) / 2);

        *(holds(&q, middle) ? &good : &bad) = middle;
    }
    holds(&q, good);                    /* leaves its plan */
    if (where && mfu_simulate(plan, false, simulation, err) < 0)
        return -1;
    mfu_error_clear(err);
    solution->value = good * step;
    return 0;
}
