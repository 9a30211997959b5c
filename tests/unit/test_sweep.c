/*
 * Sweeps: axes, and rows that do not depend on threads or order.
 */
#include "answer/search/topk_pareto.h"
#include "sweeps.h"

#include <stdlib.h>
#include <string.h>

static struct mfu_scenario start(void)
{
    return mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, "rtx4070", NULL));
}

static void values_are_read(void **state)
{
    static const struct {
        const char *key, *text;
        size_t n;
        double first, last;
    } good[] = {{"batch", "1,2,4", 3, 1, 4},
                {"batch", "1..8", 8, 1, 8},
                {"batch", "1..64*2", 7, 1, 64},
                {"accum", "3", 1, 3, 3},
                {"dropout", "0..0.5+0.25", 3, 0, 0.5},
                {"runtime", "eager,compile", 2, MFU_EAGER, MFU_COMPILE},
                {"checkpoint", "all", MFU_CHECKPOINT_COUNT, MFU_NONE, MFU_BUDGET},
                {"zero", "all", 4, 0, 3},
                {"tied", "all", 2, 0, 1},
                {"cuda_graphs", "all", 2, 0, 1}};
    static const struct {
        const char *key, *text, *says;
    } bad[] = {{"batch", "1,,2", "expected values"}, {"batch", "1,", "last comma"},     {"batch", "0..4", "batch"},
               {"batch", "1..1e30", "batch"},        {"runtime", "eagre", "eager"},     {"bacth", "1,2", "no setting"},
               {"batch", "all", "not a number"},     {"dropout", "all", "not a number"}};
    struct mfu_scenario s = start();

    (void)state;
    for (size_t i = 0; i < LENGTH(good); i++) {
        struct mfu_sweep sweep = {.scenario = &s, .n_axes = 1};
        struct mfu_axis *a = &sweep.axes[0];

        assert_int_equal(mfu_axis_read(a, &s, good[i].key, good[i].text, NULL), 0);
        assert_int_equal(a->n, good[i].n);
        assert_near(a->values[0], good[i].first, 1e-12);
        assert_near(a->values[a->n - 1], good[i].last, 1e-12);
        mfu_sweep_clear(&sweep);
    }
    for (size_t i = 0; i < LENGTH(bad); i++) {
        struct mfu_sweep sweep = {.scenario = &s, .n_axes = 1};
        struct mfu_error err = {0};

        assert_int_equal(mfu_axis_read(&sweep.axes[0], &s, bad[i].key, bad[i].text, &err), -1);
        if (!strstr(err.text, bad[i].says))
            fail_msg("%s=%s: '%s' does not say '%s'", bad[i].key, bad[i].text, err.text, bad[i].says);
        mfu_sweep_clear(&sweep);
    }
}

/* Cheap axes before and behind those that change the graph. */
static void fill(struct mfu_sweep *sweep, const struct mfu_scenario *s)
{
    static const struct {
        const char *key, *values;
    } axes[] = {{"accum", "1,2,7"},
                {"batch", "1..8*2"},
                {"step.constant", "4ms,40ms"},
                {"runtime", "all"},
                {"power_w", "0,120"}};

    for (size_t i = 0; i < LENGTH(axes); i++)
        assert_int_equal(mfu_axis_read(&sweep->axes[sweep->n_axes++], s, axes[i].key, axes[i].values, NULL), 0);
    sweep->scenario = s;
    assert_non_null(sweep->columns[0] = mfu_question_compile(s, "step_time_s/tokens_per_step", NULL));
    assert_non_null(sweep->columns[1] = mfu_question_compile(s, "smi_used_bytes", NULL));
    sweep->n_columns = 2;
}

static void rows_are_plans(void **state)
{
    struct mfu_scenario s = start();
    struct mfu_sweep sweep = {.threads = 2};
    struct mfu_sweep_result r;

    (void)state;
    fill(&sweep, &s);
    r = run(&sweep);
    assert_int_equal(r.n_rows, 3 * 4 * 2 * MFU_RUNTIME_COUNT * 2);
    for (size_t i = 0; i < r.n_rows; i++) {
        struct mfu_scenario one = mfu_sweep_scenario(&sweep, r.rows[i].combination);
        struct mfu_plan plan = {0};

        assert_int_equal(r.rows[i].combination, i);
        assert_int_equal(mfu_plan_make(&plan, &one, NULL), 0);
        assert_true(r.rows[i].columns[0] == plan.step.time_s / plan.step.tokens);
        assert_true(r.rows[i].columns[1] == round(plan.memory.smi_bytes));
        mfu_plan_release(&plan);
    }
    mfu_sweep_result_free(&r);
    mfu_sweep_clear(&sweep);
}

/* Sums of a program say of any number of micro-steps what its launches say, whatever they leave
 * in L2, and however clocks fall: every field of the step. */
static void micro_steps_follow_from_sums(void **state)
{
    static const struct {
        const char *model, *gpu, *batch, *also, *values;
    } sweeps[] = {{"gpt2", "rtx4070", "1,2,8", "checkpoint", "all"},
                  {"llama-3-8b", "h100-sxm", "1,2", "seq", "128,1024"},
                  {"mixtral-8x7b", "b200", "1,4", "precision", "bf16,bf16-pure,fp8"},
                  {"bert-base", "rtx4090", "4,16", "gemm.throttle", "0,0.2"},
                  {"gpt2-xl", "h100-sxm", "1,4", "gpus", "1,8"}};

    (void)state;
    for (size_t k = 0; k < LENGTH(sweeps); k++) {
        struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, sweeps[k].model, NULL),
                                                   mfu_catalog_gpu(catalog, sweeps[k].gpu, NULL));
        struct mfu_sweep sweep = {.scenario = &s, .n_axes = 4, .threads = 1};
        struct mfu_sweep_result r;
        struct mfu_result of[MFU_COLUMNS];
        struct mfu_plan plan = {0};

        assert_int_equal(mfu_axis_read(&sweep.axes[0], &s, "accum", "1..9,33,512", NULL), 0);
        assert_int_equal(mfu_axis_read(&sweep.axes[1], &s, "batch", sweeps[k].batch, NULL), 0);
        assert_int_equal(mfu_axis_read(&sweep.axes[2], &s, sweeps[k].also, sweeps[k].values, NULL), 0);
        assert_int_equal(mfu_axis_read(&sweep.axes[3], &s, "runtime", "all", NULL), 0);
        while (sweep.n_columns < MFU_COLUMNS && mfu_result_at(sweep.n_columns, &of[sweep.n_columns])) {
            sweep.columns[sweep.n_columns] = mfu_question_compile(&s, of[sweep.n_columns].name, NULL);
            assert_true(mfu_question_of_sums(sweep.columns[sweep.n_columns++]));
        }
        r = run(&sweep);
        assert_true(r.n_rows > r.refused);
        for (size_t i = 0; i < r.n_rows; i++) {
            struct mfu_scenario one = mfu_sweep_scenario(&sweep, r.rows[i].combination);

            assert_int_equal(mfu_plan_make(&plan, &one, NULL), 0);
            for (size_t c = 0; c < sweep.n_columns; c++)
                assert_true(r.rows[i].columns[c] == mfu_result_value(&of[c], &plan));
        }
        mfu_plan_release(&plan);
        mfu_sweep_result_free(&r);
        mfu_sweep_clear(&sweep);
    }
}

static void same(const struct mfu_sweep_result *a, const struct mfu_sweep_result *b)
{
    assert_int_equal(a->n_rows, b->n_rows);
    assert_int_equal(a->evaluated, b->evaluated);
    for (size_t i = 0; i < a->n_rows; i++) {
        assert_int_equal(a->rows[i].combination, b->rows[i].combination);
        assert_memory_equal(a->rows[i].columns, b->rows[i].columns, 2 * sizeof(double));
    }
}

static void threads_do_not_matter(void **state)
{
    static const struct {
        size_t keep;
        bool pareto, simulated;
    } ways[] = {{0}, {.keep = 7}, {.pareto = true}, {.simulated = true}};
    struct mfu_scenario s = start();

    (void)state;
    for (size_t i = 0; i < LENGTH(ways); i++) {
        struct mfu_sweep sweep = {.keep = ways[i].keep, .pareto = ways[i].pareto, .simulated = ways[i].simulated};
        struct mfu_sweep_result one, two, five;

        fill(&sweep, &s);
        sweep.threads = 1;
        one = run(&sweep);
        sweep.threads = 2;
        two = run(&sweep);
        sweep.threads = 5;
        five = run(&sweep);
        assert_true(one.n_rows > 0);
        same(&one, &two);
        same(&one, &five);
        mfu_sweep_result_free(&one);
        mfu_sweep_result_free(&two);
        mfu_sweep_result_free(&five);
        mfu_sweep_clear(&sweep);
    }
}

/* The rows of all parts, merged, are those of the whole, whatever is asked for and however many parts there are:
 * each combination is in one of them. */
static void parts_make_the_whole(void **state)
{
    static const struct {
        const char *where;
        bool layouts;
        struct mfu_sweep asked;
    } ways[] = {{0},
                {"fits and mfu > 1%", .asked = {.confirmed = true}},
                {"batch > 1", .asked = {.keep = 7}},
                {.asked = {.pareto = true}},
                {.asked = {.simulated = true}},
                {"fits", .layouts = true, .asked = {.keep = 5, .maximize = true}}};
    static const size_t parts[] = {2, 7, 1000};
    struct mfu_scenario s = start();

    (void)state;
    for (size_t i = 0; i < LENGTH(ways); i++)
        for (size_t n = 0; n < LENGTH(parts); n++) {
            struct mfu_sweep sweep = ways[i].asked;
            struct mfu_sweep_result whole, sum = {0};
            struct mfu_scenario x = s, own;
            struct mfu_kept all = {0};

            if (ways[i].layouts) {
                assert_int_equal(mfu_scenario_set(&x, "gpus", "8", NULL), 0);
                sweep.scenario = &x;
                sweep.columns[sweep.n_columns++] = mfu_question_compile(&x, "tokens_per_s", NULL);
                assert_int_equal(mfu_sweep_layouts(&sweep, &own, NULL), 0);
            } else {
                fill(&sweep, &x);
            }
            if (ways[i].where)
                assert_non_null(sweep.where = mfu_question_compile(&x, ways[i].where, NULL));
            whole = run(&sweep);
            assert_true(whole.n_rows > 0);
            sweep.shards = parts[n];
            for (sweep.shard = 0; sweep.shard < sweep.shards; sweep.shard++) {
                struct mfu_sweep_result r = run(&sweep);

                assert_true(r.n_rows == 0 || r.analytic == whole.analytic);
                sum.evaluated += r.evaluated;
                sum.refused += r.refused;
                for (size_t k = 0; k < r.n_rows; k++)
                    assert_true(mfu_keep_row(&sweep, &all, &r.rows[k]));
                mfu_sweep_result_free(&r);
            }
            mfu_keep_sort(&sweep, all.rows, all.n);
            assert_int_equal(sum.evaluated, whole.evaluated);
            assert_int_equal(sum.refused, whole.refused);
            assert_int_equal(all.n, whole.n_rows);
            for (size_t k = 0; k < all.n; k++) {
                assert_int_equal(all.rows[k].combination, whole.rows[k].combination);
                assert_memory_equal(all.rows[k].columns, whole.rows[k].columns, sweep.n_columns * sizeof(double));
            }
            free(all.rows);
            mfu_sweep_result_free(&whole);
            mfu_sweep_clear(&sweep);
        }
}

/* Against all rows: the best are the best, the front is what nothing beats. */
static void the_best_are_the_best(void **state)
{
    struct mfu_scenario s = start();
    struct mfu_sweep every = {0}, best = {.keep = 5}, front = {.pareto = true};
    struct mfu_sweep_result all, top, pareto;
    size_t unbeaten = 0;

    (void)state;
    fill(&every, &s);
    fill(&best, &s);
    fill(&front, &s);
    all = run(&every);
    top = run(&best);
    pareto = run(&front);
    assert_int_equal(top.n_rows, 5);
    for (size_t i = 0; i < all.n_rows; i++) {
        size_t better = 0, beaten = 0;

        for (size_t k = 0; k < all.n_rows; k++) {
            const double *x = all.rows[k].columns, *y = all.rows[i].columns;

            better += x[0] < y[0] || (x[0] == y[0] && k < i);
            beaten += x[0] <= y[0] && x[1] <= y[1] && (x[0] < y[0] || x[1] < y[1] || k < i);
        }
        if (better < 5)
            assert_int_equal(top.rows[better].combination, i);
        unbeaten += beaten == 0;
    }
    assert_int_equal(pareto.n_rows, unbeaten);
    mfu_sweep_result_free(&all);
    mfu_sweep_result_free(&top);
    mfu_sweep_result_free(&pareto);
    mfu_sweep_clear(&every);
    mfu_sweep_clear(&best);
    mfu_sweep_clear(&front);
}

/* Rows as they come, and the rows kept by hand: an unknown value is worse than any,
 * a row of unknown values is beaten by every other. */
static void unknown_values_are_the_worst(void **state)
{
    static const struct mfu_sweep_row rows[] = {
        {.combination = 0, .columns = {NAN, 1}}, {.combination = 1, .columns = {5, NAN}},
        {.combination = 2, .columns = {5, 2}},   {.combination = 3, .columns = {NAN, NAN}},
        {.combination = 4, .columns = {4, 1}},   {.combination = 5, .columns = {NAN, 3}},
    };

    (void)state;
    for (int maximize = 0; maximize < 2; maximize++) {
        struct mfu_sweep front = {.pareto = true, .n_columns = 2, .maximize = maximize};
        struct mfu_sweep best = {.keep = 3, .n_columns = 2, .maximize = maximize};
        struct mfu_kept unbeaten = {0}, top = {0};

        for (size_t i = 0; i < LENGTH(rows); i++) {
            assert_true(mfu_keep_row(&front, &unbeaten, &rows[i]));
            assert_true(mfu_keep_row(&best, &top, &rows[i]));
        }
        for (size_t i = 0; i < LENGTH(rows); i++)
            for (size_t k = 0; k < LENGTH(rows); k++)
                assert_true(
                    i == k || mfu_keep_better(&best, &rows[i], &rows[k]) != mfu_keep_better(&best, &rows[k], &rows[i]));
        for (size_t i = 0; i < top.n; i++)
            assert_false(isnan(top.rows[i].columns[0]));
        assert_int_equal(top.n, 3);
        assert_int_equal(unbeaten.n, maximize ? 2 : 1); /* 5 for 2 and 4 for 1; 4 for 1 is both smaller */
        for (size_t i = 0; i < unbeaten.n; i++)
            assert_false(isnan(unbeaten.rows[i].columns[0]) || isnan(unbeaten.rows[i].columns[1]));
        free(unbeaten.rows);
        free(top.rows);
    }
}

/* A condition that wants `fits` has rows excluded before they are priced; the same
 * condition in other words does not. */
static void what_does_not_fit_is_excluded_early(void **state)
{
    static const struct {
        const char *early, *late;
    } conditions[] = {{"fits", "fits > 0"},
                      {"fits and mfu > 20%", "(fits) and mfu > 20%"},
                      {"mfu > 20% and fits", "mfu > 20% and fits > 0"},
                      {"batch > 2 && fits", "batch > 2 && fits > 0"}};
    static const char *const others[] = {"fits or mfu > 20%", "not fits", "not fits and mfu > 20%", "fits > 0", "mfu"};
    struct mfu_scenario s = start();

    (void)state;
    for (size_t i = 0; i < LENGTH(conditions); i++) {
        struct mfu_sweep_result r[2];

        for (int k = 0; k < 2; k++) {
            struct mfu_sweep sweep = {.scenario = &s, .n_columns = 1};

            sweep.n_axes = 2;
            assert_int_equal(mfu_axis_read(&sweep.axes[0], &s, "batch", "1..64*2", NULL), 0);
            assert_int_equal(mfu_axis_read(&sweep.axes[1], &s, "accum", "1,8", NULL), 0);
            sweep.columns[0] = mfu_question_compile(&s, "step_time_s", NULL);
            sweep.where = mfu_question_compile(&s, k ? conditions[i].late : conditions[i].early, NULL);
            assert_int_equal(mfu_question_wants_fit(sweep.where), !k);
            r[k] = run(&sweep);
            mfu_sweep_clear(&sweep);
        }
        assert_true(r[0].excluded > 0 && r[0].n_rows > 0);
        assert_int_equal(r[0].excluded, r[1].excluded);
        assert_int_equal(r[0].n_rows, r[1].n_rows);
        for (size_t k = 0; k < r[0].n_rows; k++)
            assert_true(r[0].rows[k].combination == r[1].rows[k].combination
                        && r[0].rows[k].columns[0] == r[1].rows[k].columns[0]);
        mfu_sweep_result_free(&r[0]);
        mfu_sweep_result_free(&r[1]);
    }
    for (size_t i = 0; i < LENGTH(others); i++) {
        struct mfu_question *q = mfu_question_compile(&s, others[i], NULL);

        assert_non_null(q);
        assert_false(mfu_question_wants_fit(q));
        mfu_question_free(q);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_excluded_early),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(rows_are_plans),
        cmocka_unit_test(micro_steps_follow_from_sums),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(parts_make_the_whole),
        cmocka_unit_test(the_best_are_the_best),
        cmocka_unit_test(unknown_values_are_the_worst),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
