/* test_train.c - whole runs: time, energy, money, and what comes of it. */
#include "near.h"

#include "plan/train.h"
#include "scenarios.h"

static struct mfu_plan plan;
static struct mfu_simulation simulation;

static int prepare(void **state)
{
    struct mfu_scenario s;

    if (open_catalog(state) < 0)
        return -1;
    s = scenario_of("h100-sxm", "gpt2", "batch 16 accum 4 gpus 8 runtime compile");
    plan_of(&s, &plan, &simulation);
    return 0;
}

static int release(void **state)
{
    mfu_simulation_release(&simulation);
    mfu_plan_release(&plan);
    return close_catalog(state);
}

static struct mfu_training run(double tokens, const struct mfu_train_options *o)
{
    struct mfu_training t;
    struct mfu_error err = {0};

    if (mfu_train(&plan, tokens, o, &t, &err) < 0)
        fail_msg("%s", err.text);
    return t;
}

static void time_is_steps(void **state)
{
    struct mfu_train_options o = mfu_train_defaults();
    struct mfu_training t = run(1000 * plan.step.tokens, &o);

    (void)state;
    assert_near(t.steps, 1000, 0);
    assert_near(t.seconds, 1000 * plan.step.time_s, 1e-12);
    assert_near(t.gpu_hours, 8 * t.seconds / 3600, 1e-12);
    assert_near(t.tokens_per_s, plan.step.tokens_per_s, 1e-9);
    assert_near(t.energy_j, t.power_w * t.seconds, 1e-12);
    assert_true(t.power_w > 8 * 70 && t.power_w <= 8 * 700);
    assert_true(isnan(t.cost) && t.goodput == 1 && t.useful_tokens == t.tokens);
    assert_near(run(1000 * plan.step.tokens + 1, &o).steps, 1001, 0);
}

static void only_some_tokens_are_useful(void **state)
{
    struct mfu_train_options o = mfu_train_defaults();
    struct mfu_training t;

    (void)state;
    o.pad_fraction = 0.2;
    o.acceptance = 0.5;
    o.price = 2.5;
    t = run(1e9, &o);
    assert_near(t.useful_tokens, 0.4e9, 1e-12);
    assert_near(t.useful_per_gpu_hour, 0.4e9 / t.gpu_hours, 1e-12);
    assert_near(t.useful_mfu, 0.4 * plan.mfu.mfu, 1e-12);
    assert_near(t.cost, 2.5 * t.gpu_hours, 1e-12);
}

/* 512 GPUs with a failure each 10 000 h fail every 19.5 h; here 8 of them. */
static void failures_cost_time(void **state)
{
    struct mfu_train_options o = mfu_train_defaults();
    struct mfu_training t;

    (void)state;
    o.mtbf_s = 8 * 20 * 3600.; /* one of the eight every 20 h */
    t = run(1e12, &o);
    assert_near(t.interval_s, sqrt(2 * 60 * 20 * 3600.), 1e-12);
    assert_true(t.goodput < 1 - t.options.checkpoint_s / t.interval_s);
    assert_near(t.goodput, t.interval_s / (t.interval_s + 60) * (1 - ((t.interval_s + 60) / 2 + 600) / 72000), 1e-12);
    assert_near(t.seconds, t.training_s / t.goodput, 1e-12);
    assert_near(t.failures, t.seconds / 72000, 1e-12);
    assert_true(t.energy_j < t.power_w * t.seconds);
    o.interval_s = 2 * t.interval_s;
    assert_true(run(1e12, &o).goodput < t.goodput);
    o.interval_s = t.interval_s / 2;
    assert_true(run(1e12, &o).goodput < t.goodput);
}

static void hopeless_runs_are_refused(void **state)
{
    struct mfu_train_options o = mfu_train_defaults();
    struct mfu_training t;
    struct mfu_error err = {0};

    (void)state;
    o.mtbf_s = 600;
    assert_int_equal(mfu_train(&plan, 1e9, &o, &t, &err), -1);
    assert_non_null(strstr(err.text, "mtbf"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_steps),
        cmocka_unit_test(only_some_tokens_are_useful),
        cmocka_unit_test(failures_cost_time),
        cmocka_unit_test(hopeless_runs_are_refused),
    };

    return cmocka_run_group_tests(tests, prepare, release);
}
