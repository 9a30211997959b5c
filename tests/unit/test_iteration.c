/* test_iteration.c - a turn of GRPO: its phases are those of rollout and plan, and what its options change. */
#include "near.h"

#include <string.h>

#include "plan/iteration.h"
#include "scenarios.h"

static struct mfu_plan plan;
static struct mfu_simulation simulation;

static int release(void **state)
{
    mfu_simulation_release(&simulation);
    mfu_plan_release(&plan);
    return close_catalog(state);
}

static struct mfu_iteration iterate(const char *pairs, const struct mfu_iteration_options *o)
{
    struct mfu_scenario s = scenario_of("h100-sxm", "llama-3.2-1b", pairs);
    struct mfu_iteration it;
    struct mfu_error err = {0};

    if (mfu_iterate(&s, o, &plan, &simulation, &it, &err) < 0)
        fail_msg("%s: %s", pairs, err.text);
    return it;
}

static struct mfu_iteration_options options(void)
{
    struct mfu_iteration_options o = mfu_iteration_defaults();

    o.rollout.prompt = 256;
    o.rollout.answer = 256;
    return o;
}

#define START "batch 4 accum 4 precision bf16-pure runtime eager reference none"

static void phases_add_up(void **state)
{
    struct mfu_iteration_options o = options();
    struct mfu_iteration it = iterate(START, &o);
    double sum = 0;
    struct mfu_scenario s;
    struct mfu_rollout r;

    (void)state;
    for (int i = 0; i < MFU_IT_PHASE_COUNT; i++) {
        assert_true(it.seconds[i] > 0 && it.seconds[i] <= it.seconds[it.rules]);
        sum += it.seconds[i];
    }
    assert_near(it.total_s, sum, 1e-12);
    assert_true(it.low_s < it.total_s && it.total_s < it.high_s);
    assert_near(it.sequences, 16, 0);
    assert_near(it.answer_tokens, 16 * 256, 1e-12);
    assert_near(it.accepted_per_gpu_hour, 16 / it.total_s * 3600, 1e-12);
    /* What `plan` says of a step on such sequences, and `rollout` of such answers. */
    s = scenario_of("h100-sxm", "llama-3.2-1b", START " seq 512 objective grpo completion 256");
    assert_int_equal(mfu_plan_make(&plan, &s, NULL), 0);
    assert_int_equal(mfu_simulate(&plan, false, &simulation, NULL), 0);
    assert_near(it.seconds[MFU_IT_UPDATE], plan.step.time_s, 1e-12);
    assert_near(it.moved_bytes, 2 * plan.program.params, 1e-12);
    o.rollout.sequences = 16;
    assert_int_equal(mfu_rollout(&s, &o.rollout, &plan, &r, NULL), 0);
    assert_near(it.seconds[MFU_IT_ROLLOUT], r.seconds, 1e-12);
}

static void options_change_their_phase(void **state)
{
    struct mfu_iteration_options o = options();
    struct mfu_iteration it = iterate(START, &o), other;

    (void)state;
    o.acceptance = 0.25;
    assert_near(iterate(START, &o).accepted_per_gpu_hour, it.accepted_per_gpu_hour / 4, 1e-12);
    o = options();
    o.num_iterations = 3;
    assert_near(iterate(START, &o).seconds[MFU_IT_UPDATE], 3 * it.seconds[MFU_IT_UPDATE], 1e-12);
    o = options();
    o.steps_per_generation = 8; /* twice accum: twice the answers, learnt from in two steps */
    other = iterate(START, &o);
    assert_near(other.sequences, 2 * it.sequences, 0);
    assert_near(other.seconds[MFU_IT_SCORING], 2 * it.seconds[MFU_IT_SCORING], 1e-12);
    assert_true(other.seconds[MFU_IT_ROLLOUT] < 2 * it.seconds[MFU_IT_ROLLOUT]);
    o = options();
    o.critic = 1;
    other = iterate(START, &o);
    assert_true(other.seconds[MFU_IT_UPDATE] > 1.5 * it.seconds[MFU_IT_UPDATE]);
    assert_true(other.update_bytes - it.engine_bytes > 1.5 * (it.update_bytes - it.engine_bytes));
    assert_true(other.rollout_bytes > it.rollout_bytes);
    o = options();
    other = iterate("batch 4 accum 4 precision bf16-pure runtime eager", &o); /* and a reference */
    assert_near(other.seconds[MFU_IT_SCORING], 2 * it.seconds[MFU_IT_SCORING], 0.01);
    assert_near(other.seconds[MFU_IT_UPDATE], it.seconds[MFU_IT_UPDATE], 0.01);
    assert_true(other.update_bytes > it.update_bytes);
}

static void engines_share_a_card_or_not(void **state)
{
    struct mfu_iteration_options o = options();
    struct mfu_iteration awake = iterate(START, &o), asleep, server, own;

    (void)state;
    o.sleep = 1;
    asleep = iterate(START, &o);
    assert_near(awake.update_bytes - asleep.update_bytes, awake.engine_bytes, 1e-9);
    assert_near(awake.rollout_bytes, asleep.rollout_bytes, 1e-12);
    o = options();
    o.engine = MFU_ENGINE_SERVER;
    o.engine_gpus = 2;
    server = iterate(START, &o);
    assert_near(server.gpus, 3, 0);
    assert_near(server.engines, 2, 0);
    assert_near(server.update_bytes, asleep.update_bytes, 1e-12);
    assert_true(server.rollout_bytes < asleep.rollout_bytes);
    o = options();
    o.engine = MFU_ENGINE_GENERATE;
    own = iterate(START, &o);
    assert_near(own.moved_bytes, 0, 0);
    assert_near(own.passes, 0, 0); /* its own log-probabilities are those of the step */
    assert_true(own.seconds[MFU_IT_ROLLOUT] > awake.seconds[MFU_IT_ROLLOUT]);
}

/* A step that learns from its own answers is told apart from the iteration that it is a part of. */
static void a_step_names_what_rules_its_iteration(void **state)
{
    static const char grpo[] = START " seq 512 objective grpo completion 256";
    struct mfu_iteration_options o = mfu_iteration_defaults();
    struct mfu_iteration it = iterate(grpo, &o);
    struct mfu_scenario s = scenario_of("h100-sxm", "llama-3.2-1b", grpo);
    char text[320];

    (void)state;
    assert_int_equal(mfu_plan_make(&plan, &s, NULL), 0);
    mfu_iteration_says(&plan, text, sizeof text);
    assert_non_null(strstr(text, mfu_iteration_phase_names[it.rules]));
    assert_non_null(strstr(text, mfu_iteration_levers[it.rules]));
    s = scenario_of("h100-sxm", "llama-3.2-1b", START " seq 512");
    assert_int_equal(mfu_plan_make(&plan, &s, NULL), 0);
    mfu_iteration_says(&plan, text, sizeof text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_add_up),
        cmocka_unit_test(options_change_their_phase),
        cmocka_unit_test(engines_share_a_card_or_not),
        cmocka_unit_test(a_step_names_what_rules_its_iteration),
    };

    return cmocka_run_group_tests(tests, open_catalog, release);
}
