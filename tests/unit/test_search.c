/* test_search.c - what a search shows is what plans say, and no worse than the levers. */
#include "near.h"

#include <math.h>
#include <stdlib.h>

#include "answer/advise/advise.h"
#include "scenarios.h"
#include "sweeps.h"
#include "scenario/setting.h"

static struct mfu_plan plan;
static struct mfu_simulation simulation;

static int release(void **state)
{
    mfu_simulation_release(&simulation);
    mfu_plan_release(&plan);
    return close_catalog(state);
}

static void axis(struct mfu_sweep *sweep, const char *key, const char *values)
{
    struct mfu_error err = {0};

    if (mfu_axis_read(&sweep->axes[sweep->n_axes++], sweep->scenario, key, values, &err) < 0)
        fail_msg("%s", err.text);
}

static void column(struct mfu_sweep *sweep, const char *text)
{
    assert_non_null(sweep->columns[sweep->n_columns++] = mfu_question_compile(sweep->scenario, text, NULL));
}

/* Runs with little room to spare, where the allocator decides. */
static const struct {
    const char *gpu, *model, *pairs, *batch;
} tight[] = {
    {"rtx4070", "gpt2", "accum 64", "1..32"},
    {"h100-sxm", "llama-3-8b", "gpus 8 zero 3 accum 4", "1..6"},
    {"rtx4090", "llama-3.2-1b", "accum 32 seq 1k optimizer adam8bit loss_chunks 8", "1..4"},
    {"v100-32gb-sxm", "gpt2-medium", "accum 4", "1..32"},
};

static void read(struct mfu_sweep *sweep, struct mfu_scenario *s, size_t i)
{
    *s = scenario_of(tight[i].gpu, tight[i].model, tight[i].pairs);
    sweep->scenario = s;
    axis(sweep, "batch", tight[i].batch);
    axis(sweep, "runtime", "eager,compile");
    axis(sweep, "checkpoint", "all");
    column(sweep, "tokens_per_s");
    column(sweep, "smi_used_bytes");
    column(sweep, "fits");
}

static void rows_are_plans(const struct mfu_sweep *sweep, const struct mfu_sweep_result *r)
{
    for (size_t i = 0; i < r->n_rows; i++) {
        struct mfu_scenario s = mfu_sweep_scenario(sweep, r->rows[i].combination);

        plan_of(&s, &plan, &simulation);
        assert_true(r->rows[i].columns[0] == plan.step.tokens_per_s);
        assert_true(r->rows[i].columns[1] == rint(plan.memory.smi_bytes)); /* answers have whole bytes */
        assert_true(r->rows[i].columns[2] == plan.memory.fits);
    }
}

/* The best few, the front and all rows are those of plans, whatever the threads;
 * what does not fit is replaced; the best are those of a search that simulates
 * everything. */
static void what_is_shown_is_what_plan_says(void **state)
{
    static const struct {
        size_t keep;
        bool pareto;
    } ways[] = {{4, false}, {0, true}, {0, false}};
    size_t dropped = 0;

    (void)state;
    for (size_t i = 0; i < LENGTH(tight); i++)
        for (size_t w = 0; w < LENGTH(ways); w++) {
            struct mfu_scenario s;
            struct mfu_sweep sweep = {
                .keep = ways[w].keep, .pareto = ways[w].pareto, .maximize = true, .confirmed = true};
            struct mfu_sweep_result one, two, every;

            read(&sweep, &s, i);
            if (ways[w].keep || ways[w].pareto)
                assert_non_null(sweep.where = mfu_question_compile(&s, "fits", NULL));
            sweep.threads = 1;
            one = run(&sweep);
            sweep.threads = 2;
            two = run(&sweep);
            sweep.simulated = true;
            every = run(&sweep);
            dropped += one.dropped;
            assert_false(one.analytic);
            assert_true(one.n_rows > 0);
            assert_int_equal(one.n_rows, two.n_rows);
            assert_int_equal(one.n_rows, every.n_rows);
            rows_are_plans(&sweep, &one);
            for (size_t k = 0; k < one.n_rows; k++) {
                assert_int_equal(one.rows[k].combination, two.rows[k].combination);
                assert_int_equal(one.rows[k].combination, every.rows[k].combination);
                assert_memory_equal(one.rows[k].columns, two.rows[k].columns, 3 * sizeof(double));
                assert_true(!sweep.where || one.rows[k].columns[2] > 0);
            }
            mfu_sweep_result_free(&one);
            mfu_sweep_result_free(&two);
            mfu_sweep_result_free(&every);
            mfu_sweep_clear(&sweep);
        }
    assert_true(dropped > 0);
}

/* Where the analytic path says that it does not fit, it does not: nothing is
 * lost by asking it first. */
static void the_filter_loses_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(tight); i++) {
        struct mfu_scenario s;
        struct mfu_sweep sweep = {0};
        struct mfu_sweep_result analytic, simulated;

        read(&sweep, &s, i);
        analytic = run(&sweep);
        assert_true(analytic.analytic);
        sweep.simulated = true;
        simulated = run(&sweep);
        assert_int_equal(analytic.n_rows, simulated.n_rows);
        for (size_t k = 0; k < analytic.n_rows; k++)
            assert_true(analytic.rows[k].columns[2] >= simulated.rows[k].columns[2]);
        mfu_sweep_result_free(&analytic);
        mfu_sweep_result_free(&simulated);
        mfu_sweep_clear(&sweep);
    }
}

static double usual_best(const struct mfu_scenario *s, double tokens)
{
    struct mfu_sweep sweep = {.scenario = s, .keep = 10, .maximize = true, .confirmed = true};
    struct mfu_sweep_result r;
    struct mfu_error err = {0};
    char where[96];
    double best;

    snprintf(where, sizeof where, "fits and tokens_per_step = %.0f", tokens);
    assert_non_null(sweep.where = mfu_question_compile(s, where, NULL));
    column(&sweep, "tokens_per_s");
    if (mfu_sweep_usual(&sweep, &err) < 0)
        fail_msg("%s", err.text);
    r = run(&sweep);
    best = r.n_rows ? r.rows[0].columns[0] : 0;
    mfu_sweep_result_free(&r);
    mfu_sweep_clear(&sweep);
    return best;
}

static const enum mfu_setting_id environment[] = {MFU_S_VRAM_RESERVED, MFU_S_DATALOADER_MS, MFU_S_CLOCK_MHZ,
                                                  MFU_S_POWER_W};

/* A search leaves the machine as it is. */
static void the_environment_is_no_choice(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "batch 8 vram_reserved 1GiB power_w 150 dataloader_ms 500");
    struct mfu_sweep sweep = {.scenario = &s};
    struct mfu_error err = {0};

    (void)state;
    if (mfu_sweep_usual(&sweep, &err) < 0)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < sweep.n_axes; i++)
        for (size_t e = 0; e < LENGTH(environment); e++)
            if (sweep.axes[i].key.kind == MFU_KEY_SETTING && sweep.axes[i].key.id == (int)environment[e])
                fail_msg("%s varies", sweep.axes[i].name);
    mfu_sweep_clear(&sweep);
}

/* A search that is told nothing ends no slower than the levers together, at the
 * same mathematics, the same tokens per step and in the environment that they
 * propose. */
static void a_search_reaches_the_levers(void **state)
{
    static const struct {
        const char *gpu, *model, *pairs;
    } starts[] = {
        {"rtx4090", "llama-3.2-1b", "batch 1 accum 32 seq 2k"},
        {"rtx4090", "gpt2", "batch 8 accum 2 gpus 8 runtime compile"},
        {"a100-80gb-sxm", "gpt2-large", "batch 4 accum 4 attention math"},
        {"h100-sxm", "llama-3-8b", "batch 1 accum 4 gpus 8 zero 3"},
        {"rtx4070", "gpt2", "batch 8 accum 64 runtime compile"},
        {"a100-40gb-sxm", "gpt2", "batch 12 accum 5 gpus 8"},
        {"h100-sxm", "gpt2", "batch 1 accum 8 seq 256 optimizer adamw-loop"},
        {"a100-80gb-sxm", "vit-l-16", "batch 32 accum 4"},
        {"h100-sxm", "gpt2-xl", "batch 4 accum 4 checkpoint full"},
        {"p100-pcie-16gb", "gpt2", "batch 2 accum 6"},
        {"rtx4070", "gpt2", "batch 24 accum 3 vram_reserved 2GiB power_w 150"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(starts); i++) {
        struct mfu_scenario s = scenario_of(starts[i].gpu, starts[i].model, starts[i].pairs);
        struct mfu_advice advice;
        struct mfu_error err = {0};
        double together, best;

        if (mfu_advise(&s, &plan, &simulation, &advice, &err) < 0)
            fail_msg("%s", err.text);
        together = advice.best.outcome.fits ? advice.best.outcome.tokens / advice.best.outcome.step_s : 0;
        for (size_t e = 0; e < LENGTH(environment); e++)
            if (advice.best.scenario.setting[environment[e]] == 0)
                s.setting[environment[e]] = 0;
        best = usual_best(&s, advice.base.tokens);
        if (!(best >= 0.9999 * together))
            fail_msg("%s %s %s: search %g, levers %g tokens/s", starts[i].gpu, starts[i].model, starts[i].pairs, best,
                     together);
        mfu_advice_free(&advice);
    }
}

/* Values that follow from other keys follow in every row. */
static void values_may_follow_from_other_keys(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "batch 8"), x;
    struct mfu_sweep sweep = {.scenario = &s, .confirmed = true};
    struct mfu_sweep_result r;
    struct mfu_error err = {0};

    (void)state;
    axis(&sweep, "accum", "512/batch,2*batch,7");
    axis(&sweep, "batch", "3..8");
    column(&sweep, "accum");
    r = run(&sweep);
    assert_int_equal(r.refused, 4); /* 512 is divisible by 4 and 8 only */
    assert_int_equal(r.n_rows, 2 + 6 + 6);
    assert_near(r.rows[0].columns[0], 512 / 4, 0);
    assert_near(r.rows[1].columns[0], 512 / 8, 0);
    for (size_t i = 2; i < 8; i++)
        assert_near(r.rows[i].columns[0], 2 * mfu_sweep_value(&sweep, r.rows[i].combination, 1), 0);
    assert_near(mfu_sweep_value(&sweep, r.rows[0].combination, 0), 512 / 4, 0);
    assert_int_equal(mfu_sweep_make(&sweep, 0, &x, &err), -1);
    mfu_sweep_result_free(&r);
    mfu_sweep_clear(&sweep);

    sweep = (struct mfu_sweep){.scenario = &s}; /* its own key is that of now */
    axis(&sweep, "batch", "batch,2*batch");
    assert_near(mfu_sweep_value(&sweep, 1, 0), 16, 0);
    mfu_sweep_clear(&sweep);
}

static void what_makes_no_sense_is_refused(void **state)
{
    static const struct {
        const char *key[2], *values[2], *says;
    } bad[] = {
        {{"accum", "batch"}, {"512/batch", "512/accum"}, "name that first"},
        {{"accum", "batch"}, {"1..batch", "1,2"}, "a range cannot depend on batch"},
    };
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "batch 8");

    (void)state;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        struct mfu_sweep sweep = {.scenario = &s};
        struct mfu_sweep_result r;
        struct mfu_error err = {0};

        axis(&sweep, bad[i].key[0], bad[i].values[0]);
        axis(&sweep, bad[i].key[1], bad[i].values[1]);
        assert_int_equal(mfu_sweep_run(&sweep, &r, &err), -1);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
        mfu_sweep_clear(&sweep);
    }
}

/* Whole GPUs and models are values, too; dims go by name from model to model. */
static void gpus_and_models_vary(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "batch 2");
    struct mfu_sweep sweep = {.scenario = &s, .confirmed = true};
    struct mfu_sweep_result r;
    struct mfu_error err = {0};

    (void)state;
    assert_int_equal(mfu_axis_read_gpus(&sweep.axes[0], catalog, "rtx4090,h100-sxm", &err), 0);
    assert_int_equal(mfu_axis_read_models(&sweep.axes[1], catalog, "gpt2,llama-3-8b", &err), 0);
    sweep.n_axes = 2;
    axis(&sweep, "n_layer", "2,3");
    column(&sweep, "step_time_s");
    column(&sweep, "n_layer*seq");
    r = run(&sweep);
    assert_int_equal(r.n_rows, 8);
    for (size_t i = 0; i < r.n_rows; i++) {
        const char *gpu = i < 4 ? "rtx4090" : "h100-sxm", *model = i / 2 % 2 ? "llama-3-8b" : "gpt2";
        struct mfu_scenario x = scenario_of(gpu, model, i % 2 ? "batch 2 n_layer 3" : "batch 2 n_layer 2");
        char word[MFU_QUANTITY_MAX];

        plan_of(&x, &plan, &simulation);
        assert_true(r.rows[i].columns[0] == plan.step.time_s);
        assert_near(r.rows[i].columns[1], (i % 2 ? 3 : 2) * plan.config.seq, 0);
        assert_string_equal(mfu_axis_word(word, &sweep.axes[0], mfu_sweep_value(&sweep, r.rows[i].combination, 0)),
                            gpu);
        assert_string_equal(mfu_axis_word(word, &sweep.axes[1], mfu_sweep_value(&sweep, r.rows[i].combination, 1)),
                            model);
    }
    mfu_sweep_result_free(&r);
    mfu_sweep_clear(&sweep);
    assert_int_equal(mfu_axis_read_gpus(&sweep.axes[0], catalog, "rtx4090,rtx4907", &err), -1);
    mfu_axis_free(&sweep.axes[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shown_is_what_plan_says),
        cmocka_unit_test(the_filter_loses_nothing),
        cmocka_unit_test(the_environment_is_no_choice),
        cmocka_unit_test(a_search_reaches_the_levers),
        cmocka_unit_test(values_may_follow_from_other_keys),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(gpus_and_models_vary),
    };

    return cmocka_run_group_tests(tests, open_catalog, release);
}
