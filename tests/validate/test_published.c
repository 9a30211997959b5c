/*
 * Other people's runs as the judge: errors over examples/measured/published.csv
 * must not get worse than what the README claims.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "answer/validate/validate.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "near.h"

static struct mfu_catalog *catalog;
static struct mfu_validation *all;

static int set_up(void **state)
{
    struct mfu_error err = {0};

    (void)state;
    catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, &err);
    all = catalog ? mfu_validate(catalog, MFUPLAN_SOURCE_DIR "/examples/measured/published.csv", &err) : NULL;
    if (!all)
        fprintf(stderr, "%s\n", err.text);
    return all ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mfu_validation_free(all);
    mfu_catalog_free(catalog);
    return 0;
}

static void report(const char *what, const struct mfu_errors_summary *s)
{
    print_message("%-18s %3zu rows  MAPE %5.1f %%  median %5.1f %%  bias %+6.1f %%  90th %5.1f %%  worst %s\n", what,
                  s->n, 100 * s->mape, 100 * s->median, 100 * s->bias, 100 * s->p90, s->worst_id);
}

static void step_times_are_as_close_as_we_say(void **state)
{
    (void)state;
    report("step time", &all->step);
    report("one MFU per GPU", &all->baseline);
    assert_true(all->step.n >= 170);
    assert_true(all->step.median <= 0.115);
    assert_true(all->step.mape <= 0.165);
    assert_true(all->step.mape < 0.4 * all->baseline.mape);
    assert_true(all->step.coverage90 >= 0.85 && all->step.coverage90 <= 0.95);
    for (size_t i = 0; i < all->n_groups; i++)
        if (strcmp(all->groups[i].by, "sharding") == 0 && strcmp(all->groups[i].value, "none") == 0) {
            report("on one GPU", &all->groups[i].step);
            assert_true(all->groups[i].step.n >= 65);
            assert_true(all->groups[i].step.median <= 0.07);
            assert_true(all->groups[i].step.mape <= 0.12);
            return;
        }
    fail_msg("no runs on one GPU");
}

static void memory_is_as_close_as_we_say(void **state)
{
    (void)state;
    report("memory allocated", &all->allocated);
    report("memory reserved", &all->reserved);
    assert_true(all->allocated.median <= 0.05);
    assert_true(all->reserved.median <= 0.10);
}

static void what_ran_is_called_fit(void **state)
{
    (void)state;
    assert_true((double)all->ran_called_fit >= 0.95 * (double)all->ran);
}

static void every_row_is_answered(void **state)
{
    (void)state;
    for (size_t i = 0; i < all->n_rows; i++) {
        const struct mfu_validated *v = &all->rows[i];

        if (v->skipped[0])
            fail_msg("%s: %s", v->id, v->skipped);
        assert_true(v->predicted_step_s > 0 && isfinite(v->predicted_step_s));
        assert_true(v->low_s < v->predicted_step_s && v->predicted_step_s < v->high_s);
    }
}

/* Logged by two runs on a 12 GB card of the RTX 4070 class. */
static void the_two_runs_on_a_4070_are_met(void **state)
{
    static const struct {
        const char *n_embd, *batch, *accum;
        double step_s, mfu_of_312;
    } runs[] = {{"768", "8", "64", 9.340, 0.154}, {"384", "16", "32", 3.910, 0.129}};
    struct mfu_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        struct mfu_scenario s =
            mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", &err), mfu_catalog_gpu(catalog, "rtx4070", &err));
        struct mfu_plan plan = {0};

        mfu_scenario_set(&s, "n_embd", runs[i].n_embd, &err);
        mfu_scenario_set(&s, "batch", runs[i].batch, &err);
        mfu_scenario_set(&s, "accum", runs[i].accum, &err);
        mfu_scenario_set(&s, "runtime", "compile", &err);
        assert_int_equal(mfu_plan_make(&plan, &s, &err), 0);
        assert_near(plan.step.time_s, runs[i].step_s, 0.10);
        assert_near(plan.mfu.model_flops / plan.step.time_s / 312e12, runs[i].mfu_of_312, 0.10);
        mfu_plan_release(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_times_are_as_close_as_we_say),
        cmocka_unit_test(memory_is_as_close_as_we_say),
        cmocka_unit_test(what_ran_is_called_fit),
        cmocka_unit_test(every_row_is_answered),
        cmocka_unit_test(the_two_runs_on_a_4070_are_met),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
