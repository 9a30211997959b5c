/*
 * advise_together.c - the best of the levers together: the fastest, and the one
 * with the highest MFU.
 */
#include <math.h>
#include <string.h>

#include "answer/advise/advise.h"
#include "base/error.h"
#include "scenario/setting.h"

#define WORTH MFU_LEVER_WORTH
#define SAVES MFU_LEVER_SAVES

/* Levers that are tried in every combination, 2^9 analytic plans; combinations
 * that are simulated (chosen). */
#define TRIED 9
#define SIMULATED 6

/* Up to this times the time of the best, a plan may be faster when simulated (chosen). */
#define CLOSE 1.02

static bool clash(const struct mfu_lever *a, const struct mfu_lever *b)
{
    for (int i = 0; i < a->n_set; i++)
        for (int k = 0; k < b->n_set; k++)
            if (!a->set[i].follows && !b->set[k].follows && a->set[i].key.kind == b->set[k].key.kind
                && a->set[i].key.id == b->set[k].key.id)
                return true;
    return false;
}

/* What the best is the best of. */
struct aim {
    bool mathematics, tokens; /* may change; tokens: of a step */
    bool mfu;                 /* the highest MFU is wanted, not the shortest time */
};

static bool combines(const struct mfu_lever *l, const struct aim *aim)
{
    return !l->hardware && (aim->tokens || l->keeps_tokens_per_step) && (aim->mathematics || !l->changes_mathematics);
}

/* The less the better. */
static double cost_of(const struct aim *aim, const struct mfu_outcome *o)
{
    return aim->mfu ? 1 / o->mfu : o->step_s / o->tokens;
}

/* Looking for the best: the base, its levers, what is wanted, and room to plan in. */
struct search {
    const struct mfu_scenario *base;
    struct mfu_advice *a;
    struct aim aim;
    struct mfu_plan *p;
    struct mfu_simulation *sim;
    bool *lost; /* a set could not be planned for lack of memory */
};

/* A set of levers: indices of mfu_advice.levers. */
struct set {
    int n, levers[MFU_COMBINED];
};

/* The levers that are tried in every combination: the fastest, fitting or not,
 * and those that save memory, which may let the fast ones fit.  Of the many
 * micro-batches a few; extend() looks at the others. */
static int choose(const struct search *s, int chosen[TRIED])
{
    const struct mfu_advice *a = s->a;
    double now = cost_of(&s->aim, &a->base);
    bool in[256] = {false};
    int n = 0;

    for (int round = 0; round < 2; round++)
        for (int most = round ? TRIED : a->base.fits ? TRIED - 3 : TRIED / 2; n < most;) {
            int best = -1;

            for (int i = 0; i < a->n_levers && i < 256; i++) {
                const struct mfu_lever *l = &a->levers[i], *b = best < 0 ? NULL : &a->levers[best];

                if (in[i] || l->aside || !combines(l, &s->aim))
                    continue;
                if (round ? l->outcome.memory_bytes < (b ? b->outcome.memory_bytes : (1 - SAVES) * a->base.memory_bytes)
                          : cost_of(&s->aim, &l->outcome) < (b ? cost_of(&s->aim, &b->outcome) : now / 1.001))
                    best = i;
            }
            if (best < 0)
                break;
            in[best] = true;
            chosen[n++] = best;
        }
    return n;
}

/* Adds a lever; false if it is there, does not go with one that is, or one too
 * many. */
static bool add(const struct mfu_advice *a, struct set *set, int lever)
{
    if (set->n == MFU_COMBINED)
        return false;
    for (int i = 0; i < set->n; i++)
        if (set->levers[i] == lever || clash(&a->levers[set->levers[i]], &a->levers[lever]))
            return false;
    set->levers[set->n++] = lever;
    return true;
}

/* Adds a lever in place of those that do not go with it; false as above. */
static bool put_in(const struct mfu_advice *a, struct set *set, int lever)
{
    int n = 0;

    for (int i = 0; i < set->n; i++) {
        if (set->levers[i] == lever)
            return false;
        if (!clash(&a->levers[set->levers[i]], &a->levers[lever]))
            set->levers[n++] = set->levers[i];
    }
    set->n = n;
    return add(a, set, lever);
}

/* No lever sets the loader to anything but nothing, of which another micro-batch
 * makes nothing again. */
static struct mfu_scenario combine(const struct search *s, const struct set *set)
{
    struct mfu_scenario all = *s->base;

    for (int i = 0; i < set->n; i++)
        mfu_lever_choose(&s->a->levers[set->levers[i]], &all);
    mfu_scenario_keep_loader(&all, s->base->setting[MFU_S_BATCH]);
    return all;
}

struct candidate {
    struct set set;
    double cost, bytes; /* of the analytic plan */
    bool fits;
};

/* What fits before what does not; then the better one, or where neither fits the
 * smaller; then the one with fewer levers. */
static bool better(const struct candidate *x, const struct candidate *y)
{
    if (x->fits != y->fits)
        return x->fits;
    if (!x->fits && fabs(x->bytes - y->bytes) > 1e-3 * y->bytes)
        return x->bytes < y->bytes;
    if (fabs(x->cost - y->cost) > 1e-4 * y->cost)
        return x->cost < y->cost;
    return x->set.n < y->set.n;
}

static void keep(struct candidate *list, int *n, int most, const struct candidate *c)
{
    int k = *n < most ? (*n)++ : most;

    if (k == most) {
        if (!better(c, &list[most - 1]))
            return;
        k = most - 1;
    }
    for (; k > 0 && better(c, &list[k - 1]); k--)
        list[k] = list[k - 1];
    list[k] = *c;
}

/* The analytic path: tens of microseconds. False if the set contradicts itself. */
static bool estimate(const struct search *s, struct candidate *c)
{
    struct mfu_scenario all = combine(s, &c->set);
    struct mfu_plan *p = s->p;
    struct mfu_error err = {0};

    if (mfu_plan_make(p, &all, &err) < 0) {
        *s->lost |= err.code == MFU_ENOMEM;
        return false;
    }
    c->cost = s->aim.mfu ? 1 / p->mfu.mfu : p->step.time_s / p->step.useful_tokens;
    c->bytes = p->memory.smi_bytes;
    c->fits = p->memory.fits && mfu_plan_fits(p) != 0;
    return true;
}

static void put(struct mfu_combination *c, const struct mfu_advice *a, const struct set *set,
                const struct mfu_scenario *s, const struct mfu_outcome *o)
{
    *c = (struct mfu_combination){.scenario = *s,
                                  .outcome = *o,
                                  .speedup = mfu_speedup(&a->base, o),
                                  .n = set->n,
                                  .keeps_tokens_per_step = o->tokens == a->base.tokens,
                                  .changes_mathematics = !mfu_same_numerics(&a->base, o)};
    for (int i = 0; i < set->n; i++) {
        c->changes_mathematics |= a->levers[set->levers[i]].changes_mathematics;
        c->levers[i] = set->levers[i];
    }
    mfu_outcome_explain(&a->base, o, c->why, sizeof c->why);
}

static bool improves(const struct aim *aim, const struct mfu_outcome *o, const struct mfu_outcome *than)
{
    if (o->fits != than->fits)
        return o->fits;
    if (!o->fits)
        return o->memory_bytes < 0.999 * than->memory_bytes;
    return cost_of(aim, than) / cost_of(aim, o) > 1.0005;
}

/* Simulates a set and takes it if it is better; 1 if so, -1 on failure. */
static int settle(const struct search *s, const struct set *set, struct mfu_combination *best, struct mfu_error *err)
{
    struct mfu_scenario all = combine(s, set);
    struct mfu_outcome o;

    if (mfu_outcome_of(&all, s->p, s->sim, &o, err) < 0)
        return -1;
    s->a->simulated++;
    if (!improves(&s->aim, &o, &best->outcome))
        return 0;
    put(best, s->a, set, &all, &o);
    return 1;
}

/* Every combination of the chosen levers by the analytic path, the best few by
 * simulation. */
static int try_all(const struct search *s, struct mfu_combination *best, struct mfu_error *err)
{
    struct candidate list[SIMULATED];
    int chosen[TRIED] = {0}, n = choose(s, chosen), n_list = 0;

    for (unsigned bits = 1; bits < 1u << n; bits++) {
        struct candidate c = {0};
        bool possible = true;

        for (int i = 0; i < n; i++)
            possible = possible && (!(bits >> i & 1) || add(s->a, &c.set, chosen[i]));
        if (possible && c.set.n > 1 && estimate(s, &c))
            keep(list, &n_list, SIMULATED, &c);
    }
    for (int i = 0; i < n_list; i++)
        if (settle(s, &list[i].set, best, err) < 0)
            return -1;
    return 0;
}

/* Sets next to the best, and their plans; the better ones are kept. */
struct neighbours {
    struct candidate now, list[SIMULATED];
    int n;
};

/* One lever more has to be worth it; another in its place, or one less, is left to
 * the simulation where the plans are close. */
static void look_at(const struct search *s, struct neighbours *x, struct candidate *c)
{
    double least = c->set.n > x->now.set.n ? 1 - WORTH : CLOSE;

    if (estimate(s, c) && (x->now.fits && c->fits ? c->cost < least * x->now.cost : better(c, &x->now)))
        keep(x->list, &x->n, SIMULATED, c);
}

/* One lever more, another one of its kind or one less, while that helps: alone it
 * may have been useless, or too large. */
static int extend(const struct search *s, struct mfu_combination *best, struct mfu_error *err)
{
    int status = 1;

    while (status == 1) {
        struct neighbours x = {.now.set.n = best->n};

        memcpy(x.now.set.levers, best->levers, sizeof x.now.set.levers);
        if (!estimate(s, &x.now))
            return 0;
        for (int i = 0; i < s->a->n_levers; i++) {
            struct candidate c = {.set = x.now.set};

            if (combines(&s->a->levers[i], &s->aim) && put_in(s->a, &c.set, i))
                look_at(s, &x, &c);
        }
        for (int i = 0; i < x.now.set.n; i++) {
            struct candidate c = {.set = x.now.set};

            c.set.levers[i] = c.set.levers[--c.set.n];
            look_at(s, &x, &c);
        }
        status = 0;
        for (int i = 0; i < x.n && status == 0; i++)
            status = settle(s, &x.list[i].set, best, err);
    }
    return status;
}

/* The best lever alone, then together with others. */
static int look_for_best(const struct search *s, struct mfu_combination *best, struct mfu_error *err)
{
    const struct mfu_advice *a = s->a;

    put(best, a, &(struct set){0}, s->base, &a->base);
    for (int i = 0; i < a->n_levers; i++)
        if (combines(&a->levers[i], &s->aim) && improves(&s->aim, &a->levers[i].outcome, &best->outcome))
            put(best, a, &(struct set){1, {i}}, &a->levers[i].scenario, &a->levers[i].outcome);
    if (try_all(s, best, err) < 0)
        return -1;
    return extend(s, best, err);
}

/* What one search reached is reached, too, where another one missed it. */
static void lift(struct mfu_combination *c, const struct mfu_combination *to, const struct aim *aim)
{
    if (improves(aim, &to->outcome, &c->outcome))
        *c = *to;
}

int mfu_advise_together(const struct mfu_scenario *base, struct mfu_advice *a, struct mfu_plan *p,
                        struct mfu_simulation *sim, struct mfu_error *err)
{
    const struct {
        struct aim aim;
        struct mfu_combination *best;
    } wanted[] = {
        {{.mathematics = false}, &a->best},
        {{.mathematics = true}, &a->best_any},
        {{.mathematics = true, .tokens = true, .mfu = true}, &a->highest},
    };

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        bool lost = false;
        const struct search s = {base, a, wanted[i].aim, p, sim, &lost};

        if (look_for_best(&s, wanted[i].best, err) < 0)
            return -1;
        if (lost)
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    lift(&a->best_any, &a->best, &wanted[1].aim);
    lift(&a->highest, &a->best_any, &wanted[2].aim);
    a->ceiling = a->highest.outcome.fits ? a->highest.outcome.mfu : NAN;
    return 0;
}
