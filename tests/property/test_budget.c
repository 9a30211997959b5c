/*
 * Laws of a budget for activations: the set that is kept is the best one; more room costs
 * no time; what `solve checkpoint memory` answers is what `plan` says of it.
 */
#include "../unit/any_scenario.h"

#include "answer/search/budget.h"
#include "graph/recompute.h"

static struct mfu_plan plan, other;
static struct mfu_simulation simulation, again;

/* Against all subsets. */
static void kept_sets_are_the_best(void **unused)
{
    (void)unused;
    for (int i = 0; i < 300; i++) {
        double bytes[12], value[12], room = (double)any(400), best = 0, has = 0, used = 0;
        int n = 1 + (int)any(12);
        uint64_t members;

        for (int k = 0; k < n; k++) {
            bytes[k] = (double)(1 + any(i % 2 ? 4 : 100));
            value[k] = (double)any(50);
        }
        for (uint64_t set = 0; set < (uint64_t)1 << n; set++) {
            double b = 0, v = 0;

            for (int k = 0; k < n; k++)
                if (set >> k & 1)
                    b += bytes[k], v += value[k];
            if (b <= room && v > best)
                best = v;
        }
        members = mfu_keep_most_value(bytes, value, n, room);
        for (int k = 0; k < n; k++)
            if (members >> k & 1)
                used += bytes[k], has += value[k];
        assert_true(used <= room);
        assert_true(has == best);
    }
}

/* No budget is full checkpointing; with more of it more is kept, and less runs again. */
static void more_room_costs_no_time(void **unused)
{
    int n = 0;

    (void)unused;
    for (int i = 0; i < 60; i++) {
        struct mfu_scenario s;
        double last_saved = 0, last_flops = INFINITY, full_saved, full_s;

        next(&s, &plan);
        s.setting[MFU_S_OFFLOAD_ACTIVATIONS] = 0;
        if (!replan_as(&other, &s, "checkpoint", "full"))
            continue;
        full_saved = mfu_saved_bytes(&other.program);
        full_s = other.step.busy_s;
        for (double budget = 0; budget <= 1; budget += 0.25) {
            char text[16];

            snprintf(text, sizeof text, "%g", budget);
            assert_int_equal(mfu_scenario_set(&s, "checkpoint_budget", text, NULL), 0);
            if (!replan_as(&other, &s, "checkpoint", "budget"))
                break; /* of llm.c */
            n++;
            HOLDS(mfu_saved_bytes(&other.program) >= last_saved * (1 - EXACT));
            HOLDS(other.mfu.hardware_flops <= last_flops * (1 + EXACT));
            if (budget == 0) {
                HOLDS_NEAR(mfu_saved_bytes(&other.program), full_saved, EXACT);
                HOLDS_NEAR(other.step.busy_s, full_s, EXACT);
            }
            last_saved = mfu_saved_bytes(&other.program);
            last_flops = other.mfu.hardware_flops;
        }
    }
    assert_true(n > 100);
}

static double memory_with(const struct mfu_scenario *scenario, double budget)
{
    struct mfu_scenario s = *scenario;
    char text[16];

    snprintf(text, sizeof text, "%g", budget);
    assert_int_equal(mfu_scenario_set(&s, "checkpoint", "budget", NULL), 0);
    assert_int_equal(mfu_scenario_set(&s, "checkpoint_budget", text, NULL), 0);
    assert_int_equal(mfu_plan_make(&other, &s, NULL), 0);
    assert_int_equal(mfu_simulate(&other, false, &again, NULL), 0);
    return other.memory.smi_bytes;
}

/* The best way is the fastest that is within the target, and a fresh plan of its settings says the same; the budget
 * is the largest of all hundredths; some layers are another way than all. */
static void what_is_answered_is_planned(void **unused)
{
    static const struct {
        const char *gpu, *model, *batch, *runtime, *pp;
        double target;
    } rows[] = {
        {"rtx4090", "gpt2", "8", "eager", "1", 10 * 0x1p30},
        {"h100-sxm", "llama-3.2-1b", "8", "compile", "1", 80 * 0x1p30},
        {"h100-sxm", "llama-3.2-1b", "4", "fused", "1", 50 * 0x1p30},
        {"h100-sxm", "llama-3.1-8b", "1", "eager", "4", 48.5 * 0x1p30},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mfu_scenario best,
            s = mfu_scenario_start(mfu_catalog_model(catalog, rows[i].model, NULL),
                                   mfu_catalog_gpu(catalog, rows[i].gpu, NULL));
        struct mfu_budget_answer a;
        const struct mfu_way *w;
        double largest = -1;

        assert_int_equal(mfu_scenario_set(&s, "batch", rows[i].batch, NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "runtime", rows[i].runtime, NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "gpus", rows[i].pp, NULL), 0);
        assert_int_equal(mfu_scenario_set(&s, "pp", rows[i].pp, NULL), 0);
        assert_int_equal(mfu_solve_memory(&s, rows[i].target, &plan, &simulation, &best, &a, NULL), 0);
        assert_true(a.n_ways > 4 && a.best >= 0);
        w = &a.ways[a.best];
        assert_true(w->memory_bytes <= rows[i].target);
        assert_int_equal(mfu_plan_make(&other, &best, NULL), 0);
        assert_int_equal(mfu_simulate(&other, false, &again, NULL), 0);
        assert_near(other.memory.smi_bytes, w->memory_bytes, EXACT);
        assert_near(other.step.time_s, w->time_s, EXACT);
        assert_near(plan.memory.smi_bytes, w->memory_bytes, EXACT);
        for (int k = 0; k < a.n_ways; k++)
            assert_true(!a.ways[k].within || a.ways[k].time_s >= w->time_s);
        for (int k = 1; k < a.n_ways; k++)
            assert_true(isnan(a.ways[k].layers) || a.ways[k].time_s < a.ways[k - 1].time_s);
        for (int k = 0; k <= 100; k += 5)
            if (memory_with(&s, k / 100.) <= rows[i].target)
                largest = k / 100.;
        for (int k = 0; k < a.n_ways; k++)
            if (!isnan(a.ways[k].budget)) {
                assert_true(a.ways[k].budget >= largest);
                assert_true(a.ways[k].budget == 1 || memory_with(&s, a.ways[k].budget + 0.01) > rows[i].target);
            }
    }
}

static int close_all(void **state_)
{
    mfu_plan_release(&plan);
    mfu_plan_release(&other);
    mfu_simulation_release(&simulation);
    mfu_simulation_release(&again);
    return close_any(state_);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_sets_are_the_best),
        cmocka_unit_test(more_room_costs_no_time),
        cmocka_unit_test(what_is_answered_is_planned),
    };

    return cmocka_run_group_tests(tests, open_any, close_all);
}
