/*
 * test_narrow.c - what would narrow an interval: each measurement does, the next one less of
 * what is left, and what a step does not have helps nobody.
 */
#include "scenarios.h"

#include "answer/fit/narrow.h"

static struct mfu_narrow narrow(const char *gpu, const char *model, const char *pairs)
{
    struct mfu_scenario s = scenario_of(gpu, model, pairs);
    struct mfu_narrow a;
    struct mfu_error err = {0};

    if (mfu_narrow(&s, &a, &err) < 0)
        fail_msg("%s", err.text);
    return a;
}

static bool has(const struct mfu_narrow *a, const char *measure)
{
    for (size_t i = 0; i < a->n_options; i++)
        if (strcmp(a->options[i].measure, measure) == 0)
            return true;
    return false;
}

static void each_measurement_narrows_what_is_left(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(steps); k++) {
        struct mfu_narrow a = narrow(steps[k].gpu, steps[k].model, steps[k].pairs);
        double low = a.low_s, high = a.high_s;

        assert_true(a.n_options > 0 && low < a.step_s && high > a.step_s);
        for (size_t i = 0; i < a.n_options; i++) {
            double width = a.options[i].high_s - a.options[i].low_s;

            assert_true(a.options[i].low_s < a.options[i].high_s && width < high - low);
            assert_near(a.options[i].narrower, 1 - width / (high - low), 1e-9);
            low = a.options[i].low_s;
            high = a.options[i].high_s;
        }
        for (size_t i = 1; i < a.n_doubtful; i++)
            assert_true(a.doubtful[i].share * a.doubtful[i].sigma <= a.doubtful[i - 1].share * a.doubtful[i - 1].sigma);
    }
}

static void what_a_step_does_not_have_is_not_measured(void **state)
{
    struct mfu_narrow math = narrow("h100-sxm", "gpt2", "batch 8 attention math");
    struct mfu_narrow big = narrow("h100-sxm", "llama-2-7b", "batch 1 precision bf16-pure checkpoint full");

    (void)state;
    assert_false(has(&math, "attention"));
    assert_false(has(&math, "links"));
    assert_true(has(&big, "a run of this plan"));
    assert_true(has(&big, "matrix products"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_measurement_narrows_what_is_left),
        cmocka_unit_test(what_a_step_does_not_have_is_not_measured),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
