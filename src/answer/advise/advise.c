/*
 * advise.c - pulls every lever and ranks them; what is best together is in
 * advise_together.c.
 */
#include "answer/advise/advise.h"
#include "plan/iteration.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "scenario/setting.h"
#include "base/short.h"

#define WORTH MFU_LEVER_WORTH
#define SAVES MFU_LEVER_SAVES
#define COSTS 0.05 /* share of the speed that saved memory may cost (chosen) */

double mfu_speedup(const struct mfu_outcome *a, const struct mfu_outcome *b)
{
    return (a->step_s / a->tokens) / (b->step_s / b->tokens);
}

int mfu_outcome_of(const struct mfu_scenario *scenario, struct mfu_plan *p, struct mfu_simulation *sim,
                   struct mfu_outcome *o, struct mfu_error *err)
{
    struct mfu_breakdown split;

    if (mfu_plan_make(p, scenario, err) < 0 || mfu_simulate(p, false, sim, err) < 0
        || mfu_breakdown_make(p, sim, false, &split, err) < 0)
        return -1;
    *o = (struct mfu_outcome){.step_s = p->step.time_s,
                              .tokens = p->step.useful_tokens,
                              .mfu = p->mfu.mfu,
                              .hfu = p->mfu.hfu,
                              .memory_bytes = p->memory.smi_bytes,
                              .fill = p->memory.fill,
                              .fits = p->memory.fits && mfu_plan_fits(p) != 0,
                              .unsure = isnan(mfu_plan_fits(p)),
                              .cached_bytes = fmax(0, p->memory.reserved_bytes - p->memory.peak.bytes),
                              .weight_bytes = p->program.weight_bytes,
                              .gradient_bytes = p->program.gradient_bytes,
                              .masters = p->program.weight_bytes < 4 && !mfu_precisions[p->config.precision].pure};
    memcpy(o->group_s, split.group_s, sizeof o->group_s);
    memcpy(o->parts, p->memory.peak.parts, sizeof o->parts);
    return 0;
}

/* ---- words --------------------------------------------------------------- */

struct words {
    char *text;
    size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void say(struct words *w, const char *format, ...)
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

bool mfu_same_numerics(const struct mfu_outcome *a, const struct mfu_outcome *b)
{
    return a->weight_bytes == b->weight_bytes && a->gradient_bytes == b->gradient_bytes;
}

/* "16-bit weights and gradients, fp32 masters: ": so that what comes from narrower
 * numbers is not taken for what the lever is named after. */
static void say_numerics(struct words *w, const struct mfu_outcome *a, const struct mfu_outcome *b)
{
    if (mfu_same_numerics(a, b))
        return;
    if (b->weight_bytes == b->gradient_bytes)
        say(w, "%.0f-bit weights and gradients", 8 * b->weight_bytes);
    else
        /* A quantised base and what stays beside it. */
        say(w,
            fmod(8 * b->weight_bytes, 4) == 0 ? "%.0f-bit weights, %.0f-bit gradients"
                                              : "weights of %.1f bits in the mean, %.0f-bit gradients",
            8 * b->weight_bytes, 8 * b->gradient_bytes);
    say(w, "%s: ", b->masters ? ", fp32 masters" : "");
}

/* "memory-bound kernels 612 ms less, loss 220 ms less; activations 2.5 GiB more" */
void mfu_outcome_explain(const struct mfu_outcome *a, const struct mfu_outcome *b, char *text, size_t size)
{
    struct words w = {text, size, 0};
    double time[MFU_G_COUNT], bytes[MFU_PART_COUNT + 1], scale = a->tokens / b->tokens;
    unsigned taken = 0;
    int i;

    for (int g = 0; g < MFU_G_COUNT; g++)
        time[g] = scale * b->group_s[g] - a->group_s[g];
    time[MFU_G_ATTENTION] += time[MFU_G_MASK]; /* one thing, twice counted */
    time[MFU_G_MASK] = 0;
    for (int k = 0; k < MFU_PART_COUNT; k++)
        bytes[k] = b->parts[k] - a->parts[k];
    bytes[MFU_PART_COUNT] = b->cached_bytes - a->cached_bytes;
    text[0] = '\0';
    say_numerics(&w, a, b);
    for (int n = 0; n < 3 && (i = largest(time, MFU_G_COUNT, 0.002 * a->step_s, taken)) >= 0; n++) {
        say(&w, "%s%s %s %s", n ? ", " : "",
            i == MFU_G_MFU             ? "products at peak rate"
                : i == MFU_G_ATTENTION ? "attention"
                                       : mfu_breakdown_groups[i].name,
            Q(fabs(time[i]), MFU_SECONDS), time[i] < 0 ? "less" : "more");
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

/* A lever that follows from another one, such as dp from gpus, is in the way
 * when it was set by hand. */
static void forget(struct mfu_scenario *s, struct mfu_key key)
{
    if (key.kind == MFU_KEY_SETTING && key.id == MFU_S_GPUS) {
        s->setting_given[MFU_S_DP] = false;
        s->setting[MFU_S_DP] = mfu_settings[MFU_S_DP].initial;
    }
}

/* "batch 16", "zero 1 half_weights off": what is chosen, but for the accumulation
 * that keeps the tokens of a step. */
static void name_change(struct mfu_lever *l, const struct mfu_model *m)
{
    size_t used = 0;

    for (int i = 0; i < l->n_set && used < sizeof l->change; i++) {
        struct mfu_key key = l->set[i].key;
        char text[MFU_QUANTITY_MAX];

        if (l->set[i].follows || (i > 0 && key.kind == MFU_KEY_SETTING && key.id == MFU_S_ACCUM))
            continue;
        if (key.kind == MFU_KEY_SETTING)
            mfu_setting_format(text, (enum mfu_setting_id)key.id, l->set[i].value);
        else
            snprintf(text, sizeof text, "%.0f", l->set[i].value);
        used += (size_t)snprintf(l->change + used, sizeof l->change - used, "%s%s %s", i ? " " : "",
                                 key.kind == MFU_KEY_SETTING ? mfu_settings[key.id].key : m->dims[key.id].name, text);
    }
}

static void add_key(struct mfu_lever *l, struct mfu_key key, double value, bool follows)
{
    l->set[l->n_set].key = key;
    l->set[l->n_set].value = value;
    l->set[l->n_set++].follows = follows;
}

void mfu_lever_choose(const struct mfu_lever *l, struct mfu_scenario *s)
{
    for (int i = 0; i < l->n_set; i++)
        if (!l->set[i].follows) {
            forget(s, l->set[i].key);
            set_key(s, l->set[i].key, l->set[i].value);
        }
}

/* Sets the keys of a row; -1 when one of them takes no such value here. */
static int apply(const struct mfu_scenario *base, const struct mfu_lever_row *row, struct mfu_lever *l,
                 struct mfu_error *err)
{
    static const struct mfu_key loader = {MFU_KEY_SETTING, MFU_S_DATALOADER_MS};

    *l = (struct mfu_lever){.row = row,
                            .scenario = *base,
                            .changes_mathematics = row->flags & MFU_LEVER_MATHEMATICS,
                            .hardware = row->flags & MFU_LEVER_HARDWARE};
    for (int i = 0; i < MFU_LEVER_KEYS && row->set[i].key; i++) {
        struct mfu_key key = mfu_scenario_key(base, row->set[i].key, err);
        struct mfu_scenario one = *base;

        if (key.kind == MFU_KEY_NONE || mfu_scenario_set(&one, row->set[i].key, row->set[i].value, err) < 0)
            return -1;
        add_key(l, key, mfu_scenario_value(&one, key), false);
    }
    mfu_lever_choose(l, &l->scenario);
    mfu_scenario_keep_loader(&l->scenario, base->setting[MFU_S_BATCH]);
    if (mfu_scenario_value(&l->scenario, loader) != mfu_scenario_value(base, loader)
        && mfu_scenario_value(&l->scenario, loader) > 0)
        add_key(l, loader, mfu_scenario_value(&l->scenario, loader), true);
    name_change(l, base->model);
    return 0;
}

int mfu_lever_row_holds(const struct mfu_lever_row *row, const struct mfu_plan *p)
{
    struct mfu_error err = {0};
    struct mfu_question *q = row->when ? mfu_question_compile(&p->scenario, row->when, &err) : NULL;
    int yes = err.code == MFU_ENOMEM ? -1 : !row->when || (q && mfu_question_ask(q, p) > 0);

    mfu_question_free(q);
    return yes;
}

/* Whether the width of a head follows from how many there are; if not, their number is that of states, or makes the model wider. */
static bool divides_heads(const struct mfu_model *m)
{
    int width = mfu_model_dim_find(m, "head_dim", NULL), heads = mfu_model_dim_find(m, "n_head", NULL),
        slots[MFU_MAX_DIMS];
    size_t n = width < 0 ? 0 : mfu_expression_slots(m->dims[width].value, slots, MFU_MAX_DIMS);

    for (size_t i = 0; i < n; i++)
        if (slots[i] == heads)
            return true;
    return false;
}

static bool applies_to_model(const struct mfu_scenario *s, const struct mfu_lever_row *row)
{
    return mfu_scenario_key(s, row->set[0].key, NULL).kind != MFU_KEY_NONE
        && (strcmp(row->set[0].key, "n_head") != 0 || divides_heads(s->model));
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
    l->changes_mathematics |= !mfu_same_numerics(&a->base, &l->outcome);
    mfu_outcome_explain(&a->base, &l->outcome, l->why, sizeof l->why);
    return 0;
}

/* ---- ranking ------------------------------------------------------------- */

/* Where nothing fits, what does comes first; then what gains, what saves. */
static int class_of(const struct mfu_advice *a, const struct mfu_lever *l)
{
    if (!a->base.fits)
        return l->outcome.fits ? 0 : 1;
    return l->verdict == MFU_LEVER_FASTER   ? 0
        : l->verdict == MFU_LEVER_SMALLER   ? 1
        : l->verdict == MFU_LEVER_TOO_LARGE ? 2
                                            : 3;
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

/* Micro-batches of a verdict that are shown (chosen). */
#define SHOWN 3

static bool is_micro_batch(const struct mfu_lever *l)
{
    return l->set[0].key.kind == MFU_KEY_SETTING && l->set[0].key.id == MFU_S_BATCH && l->keeps_tokens_per_step;
}

/* Of the micro-batches that fit the best few of a verdict, of the larger ones that
 * do not fit the smallest: the others are there to be combined. */
static void thin_out(const struct mfu_scenario *base, struct mfu_advice *a)
{
    int n[MFU_LEVER_USELESS + 1] = {0};
    double batch = base->setting[MFU_S_BATCH], smallest = INFINITY;

    for (int i = 0; i < a->n_levers; i++) {
        const struct mfu_lever *l = &a->levers[i];

        if (is_micro_batch(l) && !l->outcome.fits && l->set[0].value > batch)
            smallest = fmin(smallest, l->set[0].value);
    }
    for (int i = 0; i < a->n_levers; i++) {
        struct mfu_lever *l = &a->levers[i];

        if (is_micro_batch(l) && (l->outcome.fits || l->set[0].value < batch))
            l->aside = n[l->verdict]++ >= SHOWN;
        else if (is_micro_batch(l))
            l->aside = l->set[0].value > smallest;
    }
}

/* ---- all of it ----------------------------------------------------------- */

/* Whether a lever changes what one before it does: its other keys are so already. */
static bool is_another(const struct mfu_advice *a, const struct mfu_lever *l)
{
    for (int i = 0; i < a->n_levers; i++) {
        const struct mfu_scenario *x = &a->levers[i].scenario, *y = &l->scenario;

        if (memcmp(x->setting, y->setting, sizeof x->setting) == 0 && memcmp(x->dim, y->dim, sizeof x->dim) == 0
            && memcmp(x->setting_given, y->setting_given, sizeof x->setting_given) == 0
            && memcmp(x->dim_given, y->dim_given, sizeof x->dim_given) == 0)
            return false;
    }
    return true;
}

static int pull_all(const struct mfu_scenario *base, struct mfu_plan *p, struct mfu_simulation *sim,
                    struct mfu_advice *a, struct mfu_error *err)
{
    bool apply_here[128] = {false};

    for (size_t i = 0; i < mfu_lever_row_count && i < 128; i++) /* while `p` is the base's */
        if (applies_to_model(base, &mfu_lever_rows[i])) {
            int holds = mfu_lever_row_holds(&mfu_lever_rows[i], p);

            if (holds < 0)
                return mfu_fail(err, MFU_ENOMEM, "out of memory");
            apply_here[i] = holds;
            if (!apply_here[i] && mfu_lever_rows[i].unless)
                refuse(a, mfu_lever_rows[i].name, mfu_lever_rows[i].unless);
        }
    for (size_t i = 0; i < mfu_lever_row_count && i < 128; i++) {
        struct mfu_lever *l = &a->levers[a->n_levers];
        struct mfu_error why_not = {0};

        if (!apply_here[i])
            continue;
        if (apply(base, &mfu_lever_rows[i], l, &why_not) == 0 && measure(a, l, p, sim, &why_not) == 0)
            a->n_levers += is_another(a, l);
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
    a->ceiling = a->base.fits ? a->base.mfu : NAN;
    a->levers = calloc(most + 1, sizeof *a->levers);
    return a->levers ? 0 : mfu_fail(err, MFU_ENOMEM, "out of memory");
}

int mfu_advise(const struct mfu_scenario *scenario, struct mfu_plan *p, struct mfu_simulation *sim,
               struct mfu_advice *a, struct mfu_error *err)
{
    struct mfu_scenario base = *scenario; /* it may be the plan's own */
    struct mfu_outcome again;

    if (start(&base, mfu_lever_row_count, p, sim, a, err) < 0)
        return -1;
    if (pull_all(&base, p, sim, a, err) < 0)
        goto fail;
    rank(a);
    thin_out(&base, a);
    if (mfu_advise_together(&base, a, p, sim, err) < 0 || mfu_outcome_of(&base, p, sim, &again, err) < 0)
        goto fail;
    mfu_iteration_says(p, a->loop, sizeof a->loop);
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
    a->best = a->best_any = a->highest =
        (struct mfu_combination){.scenario = base, .outcome = a->base, .speedup = 1, .keeps_tokens_per_step = true};
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
