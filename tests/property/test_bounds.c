/*
 * Any search: what a bound leaves out is none of the best.
 */
#include "any_scenario.h"
#include "owned.h"

#include "answer/search/sweep.h"

#define SEARCHES 50
#define SCENARIOS 400

static void add_axis(struct mfu_sweep *w, const struct mfu_scenario *s, const char *key, const char *values)
{
    if (mfu_axis_read(&w->axes[w->n_axes], s, key, values, NULL) == 0)
        w->n_axes++;
    else
        mfu_axis_free(&w->axes[w->n_axes]);
}

/* Micro-batches and micro-steps, and a few others, in any order. */
static void any_axes(struct mfu_sweep *w, const struct mfu_scenario *s)
{
    static const char *const batches[] = {"1..48", "1..512*2", "1,2,4,8,3", "1..96+5", NULL};
    static const char *const accums[] = {"1..40", "1..1024*2", "2..64", "8,4,2,1", "7", NULL};
    static const char *const others[][2] = {{"checkpoint", "none,selective,full"},
                                            {"seq", "512,1024,4096"},
                                            {"precision", "bf16,bf16-pure,fp32"},
                                            {"runtime", "eager,compile"},
                                            {"clock_mhz", "900,1400"},
                                            {"vram_reserved", "0,8GB,30GB"},
                                            {"optimizer", "adamw,sgd"},
                                            {"zero", "0..3"}};
    bool first = any(2);

    if (first)
        add_axis(w, s, "batch", pick(batches));
    for (uint64_t n = any(3); n > 0; n--) {
        const char *const *other = others[any(LENGTH(others))];
        bool there = false;

        for (size_t i = 0; i < w->n_axes; i++)
            there |= strcmp(w->axes[i].name, other[0]) == 0;
        if (!there)
            add_axis(w, s, other[0], other[1]);
    }
    add_axis(w, s, "accum", pick(accums));
    if (!first)
        add_axis(w, s, "batch", pick(batches));
}

/* The rows of a search that leaves out what it can are those of one that plans all. */
static void a_bounded_search_is_an_exhaustive_one(void **unused)
{
    static const char *const goals[] = {"tokens_per_s",    "mfu",           "step_time_s", "hfu", "samples_per_s",
                                        "tokens_per_step", "achieved_flops"};
    static const char *const wheres[] = {
        "fits", "fits", "fits", "fits and mfu > 20%", "fits and tokens_per_step > 9e4", "mfu > 1%"};
    PLAN p = {0};
    struct mfu_scenario s;
    size_t no_room = 0, outdone = 0;

    (void)unused;
    for (int i = 0; i < scenarios(SEARCHES); i++) {
        struct mfu_sweep w = {.scenario = &s, .threads = 1 + (int)any(2), .keep = 1 + any(12)};
        const char *goal = goals[any(LENGTH(goals))], *where = wheres[any(LENGTH(wheres))];
        struct mfu_sweep_result all = {0}, best = {0};

        next(&s, &p);
        any_axes(&w, &s);
        w.maximize = any(8) == 0 || strcmp(goal, "step_time_s") != 0;
        w.columns[0] = mfu_question_compile(&s, goal, NULL);
        w.columns[1] = mfu_question_compile(&s, "smi_used_bytes", NULL);
        w.where = mfu_question_compile(&s, where, NULL);
        w.room_first = strcmp(where, "fits") == 0;
        w.n_columns = 2;
        if (any(4) == 0) {
            w.shards = 3;
            w.shard = any(3);
        }
        w.weighs_all = 1e12;
        HOLDS(mfu_sweep_run(&w, &all, NULL) == 0 && all.complete);
        w.weighs_all = 1;
        HOLDS(mfu_sweep_run(&w, &best, NULL) == 0 && best.complete);
        HOLDS(all.no_room + all.outdone == 0 && all.evaluated + all.refused == all.combinations);
        HOLDS(best.combinations == all.combinations && best.n_rows == all.n_rows);
        for (size_t k = 0; k < all.n_rows && k < best.n_rows; k++)
            if (all.rows[k].combination != best.rows[k].combination
                || all.rows[k].columns[0] != best.rows[k].columns[0])
                breaks("%s %s where %s: row %zu is %zu (%.17g), not %zu (%.17g)\n  in: %s",
                       w.maximize ? "maximize" : "minimize", goal, where, k, best.rows[k].combination,
                       best.rows[k].columns[0], all.rows[k].combination, all.rows[k].columns[0], told);
        no_room += best.no_room;
        outdone += best.outdone;
        mfu_sweep_result_free(&all);
        mfu_sweep_result_free(&best);
        mfu_sweep_clear(&w);
    }
    assert_true(no_room > 0 && outdone > 0);
}

/* What a search shows first of rows as good is the one of the fewest tokens per step: nothing is gained by more. */
static void no_more_tokens_for_nothing(void **unused)
{
    PLAN p = {0};
    struct mfu_scenario s;
    size_t fewer = 0;

    (void)unused;
    for (int i = 0; i < scenarios(SEARCHES); i++) {
        struct mfu_sweep w = {.scenario = &s, .keep = 64, .maximize = true, .confirmed = true, .n_columns = 3};
        struct mfu_sweep_result all = {0}, shown = {0};
        const struct mfu_sweep_row *first;

        next(&s, &p);
        add_axis(&w, &s, "batch", "1..8*2");
        add_axis(&w, &s, "accum", "1..512*2");
        w.columns[0] = mfu_question_compile(&s, "tokens_per_s", NULL);
        w.columns[1] = mfu_question_compile(&s, "step_time_s", NULL);
        w.columns[2] = mfu_question_compile(&s, "tokens_per_step", NULL);
        HOLDS(mfu_sweep_run(&w, &all, NULL) == 0);
        mfu_question_free(w.columns[--w.n_columns]);
        w.columns[2] = NULL;
        w.distinct = true;
        HOLDS(mfu_sweep_run(&w, &shown, NULL) == 0 && (shown.n_rows > 0) == (all.n_rows > 0));
        first = shown.rows;
        for (size_t k = 0; shown.n_rows > 0 && k < all.n_rows; k++) {
            HOLDS(first->columns[0] >= all.rows[k].columns[0] * (1 - 1.001e-3));
            HOLDS(all.rows[k].columns[2] >= first->tokens
                  || all.rows[k].columns[0] < all.rows[0].columns[0] * (1 - 0.999e-3));
        }
        fewer += shown.n_rows > 0 && first->tokens < all.rows[0].columns[2];
        mfu_sweep_result_free(&all);
        mfu_sweep_result_free(&shown);
        mfu_sweep_clear(&w);
    }
    assert_true(fewer > 0);
}

/* No step takes less than the bound of its time, and none has a better share of the peak. */
static void no_step_beats_its_bound(void **unused)
{
    PLAN p = {0}, bound = {0};
    struct mfu_scenario s;
    int bounded = 0;

    (void)unused;
    for (int i = 0; i < scenarios(SCENARIOS); i++) {
        double accum = 2 + (double)any(300);

        next(&s, &p);
        if (!replan(&p, &s, "accum", 2 + (double)any(300)) || mfu_plan_make_sums(&bound, &p.scenario, false, NULL) != 0
            || !mfu_plan_bound(&bound, accum) || !replan(&p, &s, "accum", accum))
            continue;
        bounded++;
        HOLDS(bound.step.time_s > 0 && bound.step.time_s <= p.step.time_s);
        HOLDS(bound.step.tokens_per_s >= p.step.tokens_per_s && bound.step.tokens == p.step.tokens);
        HOLDS(bound.mfu.mfu >= p.mfu.mfu && bound.mfu.hfu >= p.mfu.hfu);
    }
    assert_true(bounded > 0);
}

/* Whether a scenario is refused does not hang on its number of micro-steps, but in a pipeline. */
static void a_refusal_holds_for_any_number_of_micro_steps(void **unused)
{
    PLAN p = {0};
    int refused = 0;

    (void)unused;
    for (int i = 0; i < 4 * scenarios(SCENARIOS); i++) {
        struct pairs pairs = any_pairs();
        struct mfu_scenario s;
        bool made[2];

        for (int k = 0; k < 2; k++) {
            add_number(&pairs, "accum", 2 + any(600));
            s = scenario_of(&pairs);
            remember(&pairs);
            made[k] = mfu_plan_make(&p, &s, NULL) == 0;
        }
        HOLDS(made[0] == made[1]);
        refused += !made[0];
    }
    assert_true(refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bounded_search_is_an_exhaustive_one),
        cmocka_unit_test(no_more_tokens_for_nothing),
        cmocka_unit_test(no_step_beats_its_bound),
        cmocka_unit_test(a_refusal_holds_for_any_number_of_micro_steps),
    };

    return RUN_LAWS(tests);
}
