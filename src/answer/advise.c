/*
 * advise.c - pulls every lever, ranks them, and looks for the best of them
 * together.
 */
#include "answer/advise.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define Q(value, dim) mfu_quantity_format((char[MFU_QUANTITY_MAX]){0}, value, dim)

/* A gain below this is none: it is far below the uncertainty of a plan. */
#define WORTH 0.005

/* Memory is worth saving from this share of it on, and this share of the speed
 * may it cost (chosen). */
#define SAVES 0.03
#define COSTS 0.05

/* Levers that are tried in every combination, 2^9 analytic plans; combinations
 * that are simulated (chosen). */
#define TRIED 9
#define SIMULATED 6

double mfu_speedup(const struct mfu_outcome *a, const struct mfu_outcome *b)
{
    return (a->step_s / a->tokens) / (b->step_s / b->tokens);
}

int mfu_outcome_of(const struct mfu_scenario *scenario, struct mfu_plan *p, struct mfu_simulation *sim,
                   struct mfu_outcome *o, struct mfu_error *err)
{
    struct mfu_split split;

    if (mfu_plan_make(p, scenario, err) < 0 || mfu_simulate(p, false, sim, err) < 0
        || mfu_split_make(p, sim, false, &split, err) < 0)
        return -1;
    *o = (struct mfu_outcome){
        .step_s = p->step.time_s, .tokens = p->step.tokens, .mfu = p->mfu.mfu, .hfu = p->mfu.hfu,
        .memory_bytes = p->memory.smi_bytes, .fill = p->memory.fill, .fits = p->memory.fits,
        .cached_bytes = fmax(0, p->memory.reserved_bytes - p->memory.peak.bytes)};
    memcpy(o->group_s, split.group_s, sizeof o->group_s);
    memcpy(o->parts, p->memory.peak.parts, sizeof o->parts);
    return 0;
}

/* ---- words --------------------------------------------------------------- */

struct words {
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3)))
static void say(struct words *w, const char *format, ...)
{
    va_list arguments;
    int n;

    if (w->used >= w->size)
        return;
    va_start(arguments, format);
    n = vsnprintf(w->text + w->used, w->size - w->used, format, arguments);
    va_end(arguments);
    w->used += n > 0 ? (size_t)n : 0;
}

/* The part of the time that changes most, but for those `taken`; -1: none. */
static int largest(const double *change, int n, double least, unsigned taken)
{
    int best = -1;

    for (int i = 0; i < n; i++)
        if (!(taken >> i & 1) && fabs(change[i]) > least && (best < 0 || fabs(change[i]) > fabs(change[best])))
            best = i;
    return best;
}

/* "memory-bound kernels 612 ms less, loss 220 ms less; activations 2.5 GiB more" */
static void explain(const struct mfu_outcome *a, const struct mfu_outcome *b, char *text, size_t size)
{
    struct words w = {text, size, 0};
    double time[MFU_G_COUNT], bytes[MFU_PART_COUNT + 1], scale = a->tokens / b->tokens;
    unsigned taken = 0;
    int i;

    for (int g = 0; g < MFU_G_COUNT; g++)
        time[g] = scale * b->group_s[g] - a->group_s[g];
    time[MFU_G_ATTENTION] += time[MFU_G_MASK];          /* one thing, twice counted */
    time[MFU_G_MASK] = 0;
    for (int k = 0; k < MFU_PART_COUNT; k++)
        bytes[k] = b->parts[k] - a->parts[k];
    bytes[MFU_PART_COUNT] = b->cached_bytes - a->cached_bytes;
    text[0] = '\0';
    for (int n = 0; n < 3 && (i = largest(time, MFU_G_COUNT, 0.002 * a->step_s, taken)) >= 0; n++) {
        say(&w, "%s%s %s %s", n ? ", " : "", i == MFU_G_MFU ? "products at peak rate"
            : i == MFU_G_ATTENTION ? "attention" : mfu_split_groups[i].name, Q(fabs(time[i]), MFU_SECONDS), time[i] < 0 ? "less" : "more");
        taken |= 1u << i;
    }
    if (taken == 0)
        say(&w, "no part of the time changes by 0.2 %% of the step");
    if (scale != 1 && taken)
        say(&w, ", for as many tokens");
    taken = 0;
    for (int n = 0; n < 2 && (i = largest(bytes, MFU_PART_COUNT + 1, 0.01 * a->memory_bytes, taken)) >= 0; n++) {
        say(&w, "%s%s %s %s", n ? ", " : "; ", i == MFU_PART_COUNT ? "cached blocks" : mfu_part_names[i],
            Q(fabs(bytes[i]), MFU_BYTES), bytes[i] < 0 ? "less" : "more");
        taken |= 1u << i;
    }
}

/* ---- one lever ----------------------------------------------------------- */

static void set_key(struct mfu_scenario *s, struct mfu_key key, double value)
{
    if (key.kind == MFU_KEY_SETTING) {
        s->setting[key.id] = value;
        s->setting_given[key.id] = true;
    } else if (key.kind == MFU_KEY_DIM) {
        s->dim[key.id] = value;
        s->dim_given[key.id] = true;
    }
}

static double value_of(const struct mfu_scenario *s, struct mfu_key key)
{
    return key.kind == MFU_KEY_SETTING ? s->setting[key.id] : s->dim[key.id];
}

/* A lever that follows from another one, such as dp from gpus, is in the way
 * when it was set by hand. */
static void forget(struct mfu_scenario *s, struct mfu_key key)
{
    if (key.kind == MFU_KEY_SETTING && key.id == MFU_S_GPUS) {
        s->setting_given[MFU_S_DP] = false;
        s->setting[MFU_S_DP] = mfu_settings[MFU_S_DP].initial;
    }
}

static void name_change(struct mfu_lever *l, const struct mfu_model *m)
{
    struct mfu_key key = l->set[0].key;
    char text[MFU_QUANTITY_MAX];

    if (key.kind == MFU_KEY_SETTING)
        snprintf(l->change, sizeof l->change, "%s %s", mfu_settings[key.id].key,
                 mfu_settings[key.id].choices ? mfu_settings[key.id].choices[(int)l->set[0].value]
                 : mfu_quantity_format(text, l->set[0].value, mfu_settings[key.id].dim));
    else
        snprintf(l->change, sizeof l->change, "%s %.0f", m->dims[key.id].name, l->set[0].value);
}

/* Sets the keys of a row; -1 when one of them takes no such value here. */
static int apply(const struct mfu_scenario *base, const struct mfu_lever_row *row, struct mfu_lever *l,
                 struct mfu_error *err)
{
    *l = (struct mfu_lever){.row = row, .scenario = *base, .changes_mathematics = row->flags & MFU_LEVER_MATHEMATICS,
                            .hardware = row->flags & MFU_LEVER_HARDWARE};
    for (int i = 0; i < MFU_LEVER_KEYS && row->set[i].key; i++) {
        struct mfu_key key = mfu_scenario_key(base, row->set[i].key, err);
        struct mfu_scenario one = *base;

        if (key.kind == MFU_KEY_NONE || mfu_scenario_set(&one, row->set[i].key, row->set[i].value, err) < 0)
            return -1;
        if (row->set[i].follows && value_of(&one, key) == value_of(base, key))
            continue;
        forget(&l->scenario, key);
        l->set[l->n_set].key = key;
        l->set[l->n_set].value = value_of(&one, key);
        l->set[l->n_set++].follows = row->set[i].follows;
        set_key(&l->scenario, key, value_of(&one, key));
    }
    name_change(l, base->model);
    return 0;
}

/* Whether the condition of a row holds; false, too, where the model has no such
 * dim. */
static bool holds(const struct mfu_plan *p, const char *condition)
{
    struct mfu_question *q = condition ? mfu_question_compile(&p->scenario, condition, NULL) : NULL;
    bool yes = !condition || (q && mfu_question_ask(q, p) > 0);

    mfu_question_free(q);
    return yes;
}

static bool applies_to_model(const struct mfu_scenario *s, const struct mfu_lever_row *row)
{
    return mfu_scenario_key(s, row->set[0].key, NULL).kind != MFU_KEY_NONE;
}

static void refuse(struct mfu_advice *a, const char *change, const char *reason)
{
    struct mfu_refusal *r = &a->refused[a->n_refused];

    if (a->n_refused == MFU_REFUSALS)
        return;
    snprintf(r->change, sizeof r->change, "%s", change);
    snprintf(r->reason, sizeof r->reason, "%.*s", (int)sizeof r->reason - 1, reason);
    a->n_refused++;
}

static enum mfu_lever_verdict judge(const struct mfu_outcome *base, const struct mfu_lever *l)
{
    double saved = 1 - l->outcome.memory_bytes / base->memory_bytes;
    bool faster = l->speedup > 1 + WORTH;

    if (l->outcome.fits && (faster || !base->fits))
        return faster ? MFU_LEVER_FASTER : MFU_LEVER_SMALLER;
    if (saved > SAVES && (!base->fits || l->speedup > 1 - COSTS))
        return MFU_LEVER_SMALLER;
    return faster ? MFU_LEVER_TOO_LARGE : MFU_LEVER_USELESS;
}

static int measure(struct mfu_advice *a, struct mfu_lever *l, struct mfu_plan *p, struct mfu_simulation *sim,
                   struct mfu_error *err)
{
    if (mfu_outcome_of(&l->scenario, p, sim, &l->outcome, err) < 0)
        return -1;
    a->simulated++;
    l->speedup = mfu_speedup(&a->base, &l->outcome);
    l->keeps_tokens_per_step = l->outcome.tokens == a->base.tokens;
    l->verdict = judge(&a->base, l);
    explain(&a->base, &l->outcome, l->why, sizeof l->why);
    if (l->outcome.fits && !l->hardware)
        a->ceiling = fmax(a->ceiling, l->outcome.mfu);
    return 0;
}

/* ---- ranking ------------------------------------------------------------- */

/* Where nothing fits, what does comes first; then what gains, what saves. */
static int class_of(const struct mfu_advice *a, const struct mfu_lever *l)
{
    if (!a->base.fits)
        return l->outcome.fits ? 0 : 1;
    return l->verdict == MFU_LEVER_FASTER ? 0 : l->verdict == MFU_LEVER_SMALLER ? 1
        : l->verdict == MFU_LEVER_TOO_LARGE ? 2 : 3;
}

static bool before(const struct mfu_advice *a, const struct mfu_lever *x, const struct mfu_lever *y)
{
    int cx = class_of(a, x), cy = class_of(a, y);
    bool by_memory = cx == 1;

    if (cx != cy)
        return cx < cy;
    return by_memory ? x->outcome.memory_bytes < y->outcome.memory_bytes : x->speedup > y->speedup;
}

/* A few dozen: insertion is enough, and stable. */
static void rank(struct mfu_advice *a)
{
    for (int i = 1; i < a->n_levers; i++) {
        struct mfu_lever l = a->levers[i];
        int k = i;

        for (; k > 0 && before(a, &l, &a->levers[k - 1]); k--)
            a->levers[k] = a->levers[k - 1];
        a->levers[k] = l;
    }
}

/* ---- together ------------------------------------------------------------ */

static bool clash(const struct mfu_lever *a, const struct mfu_lever *b)
{
    for (int i = 0; i < a->n_set; i++)
        for (int k = 0; k < b->n_set; k++)
            if (!a->set[i].follows && !b->set[k].follows && a->set[i].key.kind == b->set[k].key.kind
                && a->set[i].key.id == b->set[k].key.id)
                return true;
    return false;
}

static bool combines(const struct mfu_lever *l, bool mathematics)
{
    return !l->hardware && l->keeps_tokens_per_step && (mathematics || !l->changes_mathematics);
}

/* A set of levers: indices of mfu_advice.levers. */
struct set {
    int n, levers[MFU_COMBINED];
};

/* The levers that are tried in every combination: the fastest, fitting or not,
 * and those that save memory, which may let the fast ones fit. */
static int choose(const struct mfu_advice *a, bool mathematics, int chosen[TRIED])
{
    bool in[256] = {false};
    int n = 0;

    for (int round = 0; round < 2; round++)
        for (int most = round ? TRIED : a->base.fits ? TRIED - 3 : TRIED / 2; n < most;) {
            int best = -1;

            for (int i = 0; i < a->n_levers && i < 256; i++) {
                const struct mfu_lever *l = &a->levers[i], *b = best < 0 ? NULL : &a->levers[best];

                if (in[i] || !combines(l, mathematics))
                    continue;
                if (round ? l->outcome.memory_bytes < (b ? b->outcome.memory_bytes : (1 - SAVES) * a->base.memory_bytes)
                    : l->speedup > (b ? b->speedup : 1.001))
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

static struct mfu_scenario combine(const struct mfu_scenario *base, const struct mfu_advice *a, const struct set *set)
{
    struct mfu_scenario s = *base;

    for (int follows = 1; follows >= 0; follows--)      /* what was chosen has the last word */
        for (int i = 0; i < set->n; i++) {
            const struct mfu_lever *l = &a->levers[set->levers[i]];

            for (int k = 0; k < l->n_set; k++)
                if (l->set[k].follows == follows) {
                    forget(&s, l->set[k].key);
                    set_key(&s, l->set[k].key, l->set[k].value);
                }
        }
    return s;
}

struct candidate {
    struct set set;
    double seconds, bytes;      /* per token; of the analytic plan */
    bool fits;
};

/* What fits before what does not; then the faster, or where neither fits the
 * smaller; then the one with fewer levers. */
static bool better(const struct candidate *x, const struct candidate *y)
{
    if (x->fits != y->fits)
        return x->fits;
    if (!x->fits && fabs(x->bytes - y->bytes) > 1e-3 * y->bytes)
        return x->bytes < y->bytes;
    if (fabs(x->seconds - y->seconds) > 1e-4 * y->seconds)
        return x->seconds < y->seconds;
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
static bool estimate(const struct mfu_scenario *base, const struct mfu_advice *a, struct mfu_plan *p, struct candidate *c)
{
    struct mfu_scenario s = combine(base, a, &c->set);

    if (mfu_plan_make(p, &s, NULL) < 0)
        return false;
    c->seconds = p->step.time_s / p->step.tokens;
    c->bytes = p->memory.smi_bytes;
    c->fits = p->memory.fits;
    return true;
}

static void put(struct mfu_combination *c, const struct mfu_advice *a, const struct set *set,
                const struct mfu_scenario *s, const struct mfu_outcome *o)
{
    *c = (struct mfu_combination){.scenario = *s, .outcome = *o, .speedup = mfu_speedup(&a->base, o), .n = set->n,
                                  .keeps_tokens_per_step = o->tokens == a->base.tokens};
    for (int i = 0; i < set->n; i++) {
        c->changes_mathematics |= a->levers[set->levers[i]].changes_mathematics;
        c->levers[i] = set->levers[i];
    }
    explain(&a->base, o, c->why, sizeof c->why);
}

static bool improves(const struct mfu_outcome *o, const struct mfu_outcome *than)
{
    if (o->fits != than->fits)
        return o->fits;
    if (!o->fits)
        return o->memory_bytes < 0.999 * than->memory_bytes;
    return mfu_speedup(than, o) > 1.0005;
}

/* Simulates a set and takes it if it is better; 1 if so, -1 on failure. */
static int settle(const struct mfu_scenario *base, struct mfu_advice *a, const struct set *set, struct mfu_plan *p,
                  struct mfu_simulation *sim, struct mfu_combination *best, struct mfu_error *err)
{
    struct mfu_scenario s = combine(base, a, set);
    struct mfu_outcome o;

    if (mfu_outcome_of(&s, p, sim, &o, err) < 0)
        return -1;
    a->simulated++;
    if (o.fits)
        a->ceiling = fmax(a->ceiling, o.mfu);
    if (!improves(&o, &best->outcome))
        return 0;
    put(best, a, set, &s, &o);
    return 1;
}

/* Every combination of the chosen levers by the analytic path, the best few by
 * simulation. */
static int try_all(const struct mfu_scenario *base, struct mfu_advice *a, bool mathematics, struct mfu_plan *p,
                   struct mfu_simulation *sim, struct mfu_combination *best, struct mfu_error *err)
{
    struct candidate list[SIMULATED];
    int chosen[TRIED] = {0}, n = choose(a, mathematics, chosen), n_list = 0;

    for (unsigned bits = 1; bits < 1u << n; bits++) {
        struct candidate c = {0};
        bool possible = true;

        for (int i = 0; i < n; i++)
            possible = possible && (!(bits >> i & 1) || add(a, &c.set, chosen[i]));
        if (possible && c.set.n > 1 && estimate(base, a, p, &c))
            keep(list, &n_list, SIMULATED, &c);
    }
    for (int i = 0; i < n_list; i++)
        if (settle(base, a, &list[i].set, p, sim, best, err) < 0)
            return -1;
    return 0;
}

/* One lever more while that helps: alone it may have been useless. */
static int extend(const struct mfu_scenario *base, struct mfu_advice *a, bool mathematics, struct mfu_plan *p,
                  struct mfu_simulation *sim, struct mfu_combination *best, struct mfu_error *err)
{
    int status = 1;

    while (status == 1) {
        struct candidate now = {.set.n = best->n}, top = {0};

        memcpy(now.set.levers, best->levers, sizeof now.set.levers);
        if (!estimate(base, a, p, &now))
            return 0;
        top = now;
        for (int i = 0; i < a->n_levers; i++) {
            struct candidate c = {.set = now.set};

            if (combines(&a->levers[i], mathematics) && add(a, &c.set, i) && estimate(base, a, p, &c)
                && (c.fits != now.fits || !c.fits || c.seconds < (1 - WORTH) * now.seconds) && better(&c, &top))
                top = c;
        }
        if (top.set.n == now.set.n)
            return 0;
        status = settle(base, a, &top.set, p, sim, best, err);
    }
    return status;
}

/* The best lever alone, then together with others. */
static int look_for_best(const struct mfu_scenario *base, struct mfu_advice *a, bool mathematics, struct mfu_plan *p,
                         struct mfu_simulation *sim, struct mfu_combination *best, struct mfu_error *err)
{
    put(best, a, &(struct set){0}, base, &a->base);
    for (int i = 0; i < a->n_levers; i++)
        if (combines(&a->levers[i], mathematics) && improves(&a->levers[i].outcome, &best->outcome))
            put(best, a, &(struct set){1, {i}}, &a->levers[i].scenario, &a->levers[i].outcome);
    if (try_all(base, a, mathematics, p, sim, best, err) < 0)
        return -1;
    return extend(base, a, mathematics, p, sim, best, err);
}

/* ---- all of it ----------------------------------------------------------- */

static int pull_all(const struct mfu_scenario *base, struct mfu_plan *p, struct mfu_simulation *sim,
                    struct mfu_advice *a, struct mfu_error *err)
{
    bool apply_here[128] = {false};

    for (size_t i = 0; i < mfu_lever_row_count && i < 128; i++)        /* while `p` is the base's */
        if (applies_to_model(base, &mfu_lever_rows[i])) {
            apply_here[i] = holds(p, mfu_lever_rows[i].when);
            if (!apply_here[i] && mfu_lever_rows[i].unless)
                refuse(a, mfu_lever_rows[i].name, mfu_lever_rows[i].unless);
        }
    for (size_t i = 0; i < mfu_lever_row_count && i < 128; i++) {
        struct mfu_lever *l = &a->levers[a->n_levers];
        struct mfu_error why_not = {0};

        if (!apply_here[i])
            continue;
        if (apply(base, &mfu_lever_rows[i], l, &why_not) == 0 && measure(a, l, p, sim, &why_not) == 0)
            a->n_levers++;
        else if (why_not.code == MFU_ENOMEM)
            return mfu_fail(err, MFU_ENOMEM, "out of memory");
        else
            refuse(a, l->change[0] ? l->change : mfu_lever_rows[i].name, why_not.text);
    }
    return 0;
}

static int start(const struct mfu_scenario *base, size_t most, struct mfu_plan *p, struct mfu_simulation *sim,
                 struct mfu_advice *a, struct mfu_error *err)
{
    *a = (struct mfu_advice){0};
    if (mfu_outcome_of(base, p, sim, &a->base, err) < 0)
        return -1;
    a->simulated = 1;
    a->ceiling = a->base.mfu;
    a->levers = calloc(most + 1, sizeof *a->levers);
    return a->levers ? 0 : mfu_fail(err, MFU_ENOMEM, "out of memory");
}

int mfu_advise(const struct mfu_scenario *scenario, struct mfu_plan *p, struct mfu_simulation *sim,
               struct mfu_advice *a, struct mfu_error *err)
{
    struct mfu_scenario base = *scenario;       /* it may be the plan's own */
    struct mfu_outcome again;

    if (start(&base, mfu_lever_row_count, p, sim, a, err) < 0)
        return -1;
    if (pull_all(&base, p, sim, a, err) < 0)
        goto fail;
    rank(a);
    if (look_for_best(&base, a, false, p, sim, &a->best, err) < 0
        || look_for_best(&base, a, true, p, sim, &a->best_any, err) < 0
        || mfu_outcome_of(&base, p, sim, &again, err) < 0)
        goto fail;
    return 0;
fail:
    mfu_advice_free(a);
    return -1;
}

int mfu_advise_gpus(const struct mfu_scenario *scenario, const struct mfu_gpu *const *gpus, size_t n,
                    struct mfu_plan *p, struct mfu_simulation *sim, struct mfu_advice *a, struct mfu_error *err)
{
    struct mfu_scenario base = *scenario;
    struct mfu_outcome again;

    if (start(&base, n, p, sim, a, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct mfu_lever *l = &a->levers[a->n_levers];
        struct mfu_error why_not = {0};

        if (gpus[i] == base.gpu)
            continue;
        *l = (struct mfu_lever){.scenario = base, .hardware = true};
        l->scenario.gpu = gpus[i];
        snprintf(l->change, sizeof l->change, "gpu %s", gpus[i]->slug);
        if (measure(a, l, p, sim, &why_not) == 0)
            a->n_levers++;
        else
            refuse(a, l->change, why_not.text);
    }
    rank(a);
    a->best = a->best_any = (struct mfu_combination){.scenario = base, .outcome = a->base, .speedup = 1,
                                                     .keeps_tokens_per_step = true};
    if (mfu_outcome_of(&base, p, sim, &again, err) == 0)
        return 0;
    mfu_advice_free(a);
    return -1;
}

void mfu_advice_free(struct mfu_advice *a)
{
    free(a->levers);
    *a = (struct mfu_advice){0};
}
