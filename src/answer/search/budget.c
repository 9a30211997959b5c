/*
 * budget.c - each way of checkpointing is planned and simulated; the budget is
 * solved for.
 */
#include "answer/search/budget.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/search/solve.h"
#include "base/error.h"
#include "graph/stage.h"
#include "scenario/setting.h"

#define STEP 0.01 /* of budgets */

static void set(struct mfu_scenario *s, enum mfu_setting_id id, double value)
{
    s->setting[id] = value;
    s->setting_given[id] = true;
}

/* Whether `list` names it already. */
static bool names(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
        if ((at == list || at[-1] == ' ') && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

static void add_name(char *list, size_t size, const char *name)
{
    size_t used = strlen(list);

    if (!names(list, name) && used + strlen(name) + 3 < size)
        snprintf(list + used, size - used, "%s%s", used ? ", " : "", name);
}

/* Products and attention of repeated layers: which run again in backward, and which do not. */
static void find_policy(const struct mfu_program *p, struct mfu_way *w)
{
    for (int again = 1; again >= 0; again--)
        for (int k = 0; k < p->n_segments; k++)
            for (int i = p->segments[k].first; p->segments[k].layer && i < p->segments[k].first + p->segments[k].count;
                 i++) {
                const struct mfu_launch *l = &p->launches[i];

                if (!mfu_kind_is_product(l->work->kernel.kind) || *l->suffix)
                    continue;
                if (again && l->recomputed)
                    add_name(w->recomputed, sizeof w->recomputed, l->op);
                else if (!again && l->phase == MFU_FORWARD && !names(w->recomputed, l->op))
                    add_name(w->once, sizeof w->once, l->op);
            }
}

static bool is_better(const struct mfu_way *a, const struct mfu_way *b)
{
    return a->within && (!b->within || a->time_s < b->time_s);
}

/* Plans one way; false: it cannot be, or there is no room for it. */
static bool try_way(const struct mfu_scenario *s, struct mfu_way w, struct mfu_plan *plan, struct mfu_simulation *x,
                    struct mfu_scenario *best_of, struct mfu_budget_answer *a, struct mfu_error *err)
{
    if (a->n_ways == MFU_MOST_WAYS || mfu_plan_make(plan, s, err) < 0 || mfu_simulate_plan(plan, x, err) < 0)
        return false;
    w.memory_bytes = plan->memory.smi_bytes;
    w.time_s = plan->step.time_s;
    w.within = w.memory_bytes <= a->target_bytes;
    find_policy(&plan->program, &w);
    a->ways[a->n_ways] = w;
    if (w.within && (a->best < 0 || is_better(&w, &a->ways[a->best]))) {
        a->best = a->n_ways;
        *best_of = *s;
    }
    a->n_ways++;
    return true;
}

/* The largest budget within the target. */
static bool find_budget(struct mfu_scenario *s, double target_bytes, struct mfu_plan *plan, struct mfu_simulation *x,
                        double *budget, struct mfu_error *err)
{
    struct mfu_key key = {MFU_KEY_SETTING, MFU_S_CHECKPOINT_BUDGET};
    struct mfu_solution found;
    struct mfu_question *where;
    char text[64];
    bool ok;

    snprintf(text, sizeof text, "smi_used_bytes <= %.0f", target_bytes);
    where = mfu_question_compile(s, text, err);
    ok = where && mfu_solve(s, key, STEP, true, where, plan, x, &found, err) == 0;
    mfu_question_free(where);
    *budget = ok ? found.value : 0;
    return ok;
}

/* The fewest layers that `checkpoint` has to be of, by halving; false: it takes all, or all do not suffice. */
static bool find_layers(struct mfu_scenario *s, double target_bytes, struct mfu_plan *plan, struct mfu_simulation *x,
                        double *layers, struct mfu_error *err)
{
    double few = 0, enough;

    if (mfu_plan_make(plan, s, err) < 0)
        return false;
    enough = *layers = mfu_chunk_layers(&plan->config);
    while (enough - few > 1) {
        double middle = floor((few + enough) / 2);

        set(s, MFU_S_CHECKPOINT_LAYERS, middle);
        if (mfu_plan_make(plan, s, err) < 0 || mfu_simulate_plan(plan, x, err) < 0)
            return false;
        *(plan->memory.smi_bytes <= target_bytes ? &enough : &few) = middle;
    }
    if (enough == *layers)
        return false;
    *layers = enough;
    set(s, MFU_S_CHECKPOINT_LAYERS, enough);
    return true;
}

int mfu_solve_memory(const struct mfu_scenario *scenario, double target_bytes, struct mfu_plan *plan,
                     struct mfu_simulation *x, struct mfu_scenario *best_of, struct mfu_budget_answer *a,
                     struct mfu_error *err)
{
    struct mfu_error unseen = {0};
    struct mfu_scenario s;
    bool whole_fits = false; /* without checkpoints */

    err = err ? err : &unseen;
    *a = (struct mfu_budget_answer){.target_bytes = target_bytes, .best = -1};
    *best_of = *scenario;
    for (int k = 0; k < MFU_CHECKPOINT_COUNT; k++)
        for (int offload = 0; offload < 2; offload++) {
            struct mfu_way w = {
                .checkpoint = mfu_checkpoint_names[k], .budget = NAN, .layers = NAN, .offload = offload};

            s = *scenario;
            set(&s, MFU_S_CHECKPOINT, k);
            set(&s, MFU_S_CHECKPOINT_LAYERS, 0);
            set(&s, MFU_S_OFFLOAD_ACTIVATIONS, offload);
            if (mfu_checkpoints[k].by_budget) {
                if (offload)
                    continue;
                if (find_budget(&s, target_bytes, plan, x, &w.budget, err))
                    set(&s, MFU_S_CHECKPOINT_BUDGET, w.budget);
            }
            if (w.budget != 0)
                try_way(&s, w, plan, x, best_of, a, err);
            if (!offload && !whole_fits && mfu_checkpoints[k].recomputes && !mfu_checkpoints[k].by_budget
                && find_layers(&s, target_bytes, plan, x, &w.layers, err))
                try_way(&s, w, plan, x, best_of, a, err);
            whole_fits |= !mfu_checkpoints[k].recomputes && !offload && a->best >= 0;
            if (err->code == MFU_ENOMEM)
                return -1;
        }
    if (a->n_ways == 0)
        return -1;
    if (mfu_plan_make(plan, best_of, err) < 0 || mfu_simulate_plan(plan, x, err) < 0)
        return -1;
    mfu_error_clear(err);
    return 0;
}
