/*
 * test_narrow.c - what would narrow an interval: no measurement widens it, all together leave no more than
 * each, and what a step does not have helps nobody.
 */
#include "scenarios.h"
#include "scratch.h"

#include "answer/fit/calibrate.h"
#include "answer/fit/narrow.h"
#include "descriptor/covariance.h"
#include "read/runs/measured_run.h"

static struct mfu_narrow narrow(const char *gpu, const char *model, const char *pairs)
{
    struct mfu_scenario s = scenario_of(gpu, model, pairs);
    struct mfu_narrow a;
    struct mfu_error err = {0};

    if (mfu_narrow(&s, &a, &err) < 0)
        fail_msg("%s", err.text);
    return a;
}

static const struct mfu_narrowing *option(const struct mfu_narrow *a, const char *measure)
{
    for (size_t i = 0; i < a->n_options; i++)
        if (strcmp(a->options[i].measure, measure) == 0)
            return &a->options[i];
    return NULL;
}

/* No measurement widens what is known, one after the other is no worse than each alone, and the second of a kind
 * brings less than it would have brought first. */
static void each_measurement_narrows_what_is_left(void **state)
{
    (void)state;
    for (size_t k = 0; k < LENGTH(steps); k++) {
        struct mfu_narrow a = narrow(steps[k].gpu, steps[k].model, steps[k].pairs);
        double low = a.low_s, high = a.high_s, first = high - low;

        assert_true(a.n_options > 4 && low < a.step_s && high > a.step_s);
        for (size_t i = 0; i < a.n_options; i++) {
            double width = a.options[i].high_s - a.options[i].low_s;

            assert_true(a.options[i].low_s < a.options[i].high_s && width <= (high - low) * (1 + 1e-9));
            assert_true(width <= 2 * a.options[i].alone_s * (1 + 1e-9)
                        && 2 * a.options[i].alone_s <= first * (1 + 1e-9));
            assert_near(a.options[i].narrower, 1 - width / (high - low), 1e-9);
            low = a.options[i].low_s;
            high = a.options[i].high_s;
        }
        for (size_t i = 0; i < a.n_options; i++)
            assert_true(high - low <= 2 * a.options[i].alone_s * (1 + 1e-9));
        for (size_t i = 1; i < a.n_doubtful; i++)
            assert_true(a.doubtful[i].share * a.doubtful[i].sigma <= a.doubtful[i - 1].share * a.doubtful[i - 1].sigma);
    }
}

static void what_a_step_does_not_have_brings_nothing(void **state)
{
    struct mfu_narrow math = narrow("h100-sxm", "gpt2", "batch 8 attention math");
    struct mfu_narrow big = narrow("h100-sxm", "llama-2-7b", "batch 1 precision bf16-pure checkpoint full");
    struct mfu_narrow huge = narrow("rtx4070", "llama-2-7b", "batch 1");
    double width = (math.high_s - math.low_s) / 2;

    (void)state;
    assert_near(option(&math, "attention")->alone_s, width, 1e-9);
    assert_near(option(&math, "links")->alone_s, width, 1e-9);
    assert_near(option(&math, "links")->narrower, 0, 1e-9);
    assert_true(option(&big, "a run of this plan")->narrower > 0.02);
    assert_true(option(&big, "matrix products")->alone_s < (big.high_s - big.low_s) / 2);
    assert_null(option(&huge, "a run of this plan")); /* it does not fit */
}

/* ---- coefficients that are known together -------------------------------- */

/* As many measurements as there are coefficients, of sums of some of them: the variance of anything stays between none and
 * what it was, of what was measured it is at most that of the measurement; without correlations it is the diagonal's. */
static void covariances_are_those_of_numbers(void **state)
{
    const struct mfu_gpu *gpu = mfu_catalog_gpu(catalog, "a100-80gb-sxm", NULL);
    struct mfu_coefficients c = gpu->coefficients;
    unsigned random = 1;

    (void)state;
    for (int round = 0; round < 200; round++) {
        double h[MFU_COEFFICIENT_COUNT] = {0}, g[MFU_COEFFICIENT_COUNT] = {0}, before, of_h, diagonal = 0, error;

        for (int i = 0; i < 6; i++) {
            random = random * 1664525 + 1013904223;
            h[(random >> 8) % 60] = (random >> 16) / 65536. - 0.5;
            g[(random >> 10) % 60] = (random >> 12) / 1048576. - 0.5;
        }
        if (round % 10 == 0)
            c = gpu->coefficients;
        for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
            diagonal += g[i] != 0 && c.sigma[i] > 0 ? pow(g[i] * c.sigma[i], 2) : 0;
        before = mfu_coefficients_variance(&c, g);
        of_h = mfu_coefficients_variance(&c, h);
        if (round % 10 == 0)
            assert_near(before, diagonal, 1e-12);
        error = pow(0.001 + random / 4294967296. / 5, 2);
        mfu_coefficients_learn(&c, h, error);
        assert_true(mfu_coefficients_variance(&c, g) >= 0);
        assert_true(mfu_coefficients_variance(&c, g) <= before * (1 + 1e-5) + 1e-12);
        assert_true(fabs(mfu_coefficients_variance(&c, h) - of_h * error / (of_h + error)) < 1e-5 * of_h + 1e-12);
    }
}

/* What a file says is what is read again; what no numbers can be is refused. */
static void correlations_are_kept(void **state)
{
    struct mfu_calibration c = {.name = "a", .gpu = "rtx4070", .date = "2026-11-20", .from = "runs"}, back;
    static const struct {
        const char *text, *problem;
    } wrong[] = {{"gemm.k0: {gemm.i0: 0.9, gemm.split: 0.9}, gemm.i0: {gemm.split: -0.9}", "no numbers"},
                 {"gemm.k0: {gemm.i0: 1.5}", "from -1 to 1"},
                 {"gemm.k0: [0.4]", "names of coefficients"},
                 {"gemm.k0: {gemm.k0: 1}", "another coefficient"},
                 {"gemm.k0: {gemm.i00: 0.1}", "no coefficient is called"},
                 {"gemm.k0: {gemm.throttle: 0.1}", "of gemm.throttle, of which there is no value"},
                 {"gemm.throttle: {gemm.k0: 0.1}", "of gemm.throttle, of which there is no value"}};
    struct mfu_error err = {0};
    SCRATCH s = scratch_new();

    (void)state;
    mfu_coefficients_clear(&c.coefficients);
    mfu_coefficients_clear(&c.base.coefficients);
    for (int i = 0; i < 4; i++) {
        c.coefficients.value[i] = 0.5;
        c.coefficients.sigma[i] = 0.1;
        for (int j = 0; j < i; j++)
            mfu_correlate(&c.coefficients, i, j, (i + j) % 2 ? -0.25 : 0.125);
    }
    assert_int_equal(mfu_calibration_write(s.folder, &c, &err), 0);
    assert_int_equal(mfu_calibration_read(s.folder, "a", &back, &err), 0);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 5; j++)
            assert_near(mfu_correlation(&back.coefficients, i, j), mfu_correlation(&c.coefficients, i, j), 1e-9);
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        char text[400];

        snprintf(text, sizeof text,
                 "gpu: rtx4070\ncoefficients: {gemm.k0: {value: 140, sigma: 1%%, source: x}, "
                 "gemm.i0: {value: 75, sigma: 1%%, source: x}, gemm.split: {value: 1us, sigma: 1%%, source: x}}\n"
                 "correlations: {%s}\n",
                 wrong[i].text);
        scratch_file(&s, "b.yaml", text);
        assert_int_equal(mfu_calibration_read(s.folder, "b", &back, &err), -1);
        if (!strstr(err.text, wrong[i].problem))
            fail_msg("%s: %s", wrong[i].text, err.text);
        assert_true(err.line == 3);
    }
    snprintf(back.name, sizeof back.name, "a.yaml");
    scratch_file(&s, "a.yaml", "");
}

/* A file of an earlier version, with a coefficient that is no more, says all else that it said. */
static void a_coefficient_that_was_withdrawn_is_passed_over(void **state)
{
    struct mfu_calibration read;
    struct mfu_error err = {0};
    SCRATCH s = scratch_new();

    (void)state;
    assert_int_equal(mfu_coefficient_find("host.peft", NULL), -1);
    scratch_file(&s, "b.yaml",
                 "gpu: rtx4070\ncoefficients: {gemm.k0: {value: 140, sigma: 1%, source: x}, "
                 "host.peft: {value: 1.6, sigma: 30%, source: x}, gemm.i0: {value: 75, sigma: 1%, source: x}}\n"
                 "correlations: {gemm.i0: {host.peft: 0.3, gemm.k0: 0.25}, host.peft: {gemm.k0: 0.5}}\n");
    assert_int_equal(mfu_calibration_read(s.folder, "b", &read, &err), 0);
    assert_near(read.coefficients.value[mfu_coefficient_find("gemm.i0", NULL)], 75, 1e-9);
    assert_near(mfu_correlation(&read.coefficients, mfu_coefficient_find("gemm.k0", NULL),
                                mfu_coefficient_find("gemm.i0", NULL)),
                0.25, 1e-9);
}

/* A run that took what was predicted, or what coefficients explain, leaves its own interval no wider, and about as wide as was promised.
 * (Of several GPUs, slower links make the share larger of which everybody's spread is taken.) */
static void a_run_that_was_measured_is_known_no_worse(void **state)
{
    static const double times[] = {0.93, 1, 1.1};

    (void)state;
    for (size_t k = 0; k < LENGTH(steps); k++) {
        struct mfu_narrow a = narrow(steps[k].gpu, steps[k].model, steps[k].pairs);

        for (size_t i = 0; i < LENGTH(times); i++) {
            struct mfu_measured_run run = {.mfu = NAN, .hfu = NAN, .ran = 1};
            struct mfu_plan plan = {0};
            struct mfu_simulation sim = {0};
            struct mfu_gpu *gpu;
            struct mfu_error err = {0};
            struct mfu_calibrated *c;
            double before, promised;

            if (times[i] != 1 && strstr(steps[k].pairs, "gpus"))
                continue;
            promised = option(&a, "a run of this plan") ? option(&a, "a run of this plan")->alone_s : NAN;
            run.scenario = scenario_of(steps[k].gpu, steps[k].model, steps[k].pairs);
            plan_of(&run.scenario, &plan, &sim);
            run.step_s = times[i] * plan.step.time_s;
            before = plan.step.high_s / plan.step.low_s;
            c = mfu_calibrate_runs(catalog, run.scenario.gpu, &run, 1, &err);
            if (!c)
                fail_msg("%s %s: %s", steps[k].model, steps[k].pairs, err.text);
            gpu = malloc(sizeof *gpu);
            *gpu = *run.scenario.gpu;
            mfu_calibration_put_over(&c->file.coefficients, &gpu->coefficients);
            run.scenario.gpu = gpu;
            plan_of(&run.scenario, &plan, &sim);
            if (plan.step.high_s / plan.step.low_s > before * (times[i] == 1 ? 1 + 1e-9 : 1.02)
                && c->fit.all.mape < 0.03)
                fail_msg("%s %s %s, %g times: %g after %g", steps[k].gpu, steps[k].model, steps[k].pairs, times[i],
                         plan.step.high_s / plan.step.low_s, before);
            if (times[i] == 1 && promised > 0
                && !(fabs(log((plan.step.high_s - plan.step.low_s) / 2 / promised)) < 0.15))
                fail_msg("%s %s %s: half a width of %g, promised %g", steps[k].gpu, steps[k].model, steps[k].pairs,
                         (plan.step.high_s - plan.step.low_s) / 2, promised);
            mfu_plan_release(&plan);
            mfu_simulation_release(&sim);
            mfu_calibrated_free(c);
            free(gpu);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_measurement_narrows_what_is_left),
        cmocka_unit_test(what_a_step_does_not_have_brings_nothing),
        cmocka_unit_test(covariances_are_those_of_numbers),
        cmocka_unit_test(correlations_are_kept),
        cmocka_unit_test(a_coefficient_that_was_withdrawn_is_passed_over),
        cmocka_unit_test(a_run_that_was_measured_is_known_no_worse),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
