/* test_solve.c - a value that is found holds, those beyond do not, and reasons are true. */
#include "near.h"

#include <math.h>

#include "answer/search/solve.h"
#include "scenarios.h"

static struct mfu_plan plan, other;
static struct mfu_simulation simulation, other_simulation;

static int release(void **state)
{
    mfu_simulation_release(&simulation);
    mfu_simulation_release(&other_simulation);
    mfu_plan_release(&plan);
    mfu_plan_release(&other);
    return close_catalog(state);
}

static int try_solve(const struct mfu_scenario *s, const char *key, double step, bool largest, const char *where,
                     struct mfu_solution *x, struct mfu_error *err)
{
    struct mfu_question *q = where ? mfu_question_compile(s, where, err) : NULL;
    int status;

    assert_true(!where || q);
    status = mfu_solve(s, mfu_scenario_key(s, key, NULL), step, largest, q, &plan, &simulation, x, err);
    mfu_question_free(q);
    return status;
}

static struct mfu_solution solve(const struct mfu_scenario *s, const char *key, double step, bool largest,
                                 const char *where)
{
    struct mfu_solution x;
    struct mfu_error err = {0};

    if (try_solve(s, key, step, largest, where, &x, &err) < 0)
        fail_msg("%s: %s", key, err.text);
    return x;
}

static bool fits_at(const struct mfu_scenario *base, const char *key, double value)
{
    struct mfu_scenario s = *base;
    char text[MFU_QUANTITY_MAX];

    snprintf(text, sizeof text, "%.0f", value);
    assert_int_equal(mfu_scenario_set(&s, key, text, NULL), 0);
    if (mfu_plan_make(&other, &s, NULL) < 0)
        return false;
    assert_int_equal(mfu_simulate(&other, false, &other_simulation, NULL), 0);
    return other.memory.fits;
}

/* The value is one that `plan` calls fitting, and the next is not; with the
 * condition in words or without. */
static void what_is_found_fits(void **state)
{
    static const struct {
        const char *gpu, *model, *pairs;
    } starts[] = {
        {"rtx4070", "gpt2", ""},
        {"rtx4070", "gpt2", "accum 64 runtime compile"},
        {"rtx4090", "gpt2-medium", "accum 4"},
        {"h100-sxm", "llama-3-8b", "gpus 8 zero 3 checkpoint full runtime compile"},
        {"a100-40gb-sxm", "gpt2", "runtime llmc"},
    };
    static const struct {
        const char *key;
        double step;
    } keys[] = {{"batch", 1}, {"seq", 1}, {"n_layer", 1}, {"d_ff", 64}, {"vram_reserved", 0x1p20}};

    (void)state;
    for (size_t i = 0; i < LENGTH(starts); i++) {
        struct mfu_scenario s = scenario_of(starts[i].gpu, starts[i].model, starts[i].pairs);

        for (size_t k = 0; k < LENGTH(keys); k++) {
            struct mfu_solution x = solve(&s, keys[k].key, keys[k].step, true, NULL), y;

            assert_true(plan.memory.fits);
            assert_true(fits_at(&s, keys[k].key, x.value));
            assert_near(other.memory.smi_bytes, plan.memory.smi_bytes, 0);
            y = solve(&s, keys[k].key, keys[k].step, true, "fits");
            assert_near(x.value, y.value, 0);
            for (int more = 1; more <= 16; more++)
                if (fits_at(&s, keys[k].key, x.value + more * keys[k].step))
                    fail_msg("%s %s %s %s: %g fits, %d more do, too", starts[i].gpu, starts[i].model, starts[i].pairs,
                             keys[k].key, x.value, more);
            assert_string_equal(x.limited_by, "memory");
            assert_string_equal(y.limited_by, "memory");
        }
    }
}

/* Where the edge lies beyond the first window of values that are looked at. */
static void a_long_edge_is_followed(void **state)
{
    struct mfu_scenario s =
        scenario_of("rtx4070-gddr6", "gpt2-medium",
                    "precision fp16 runtime fused optimizer bertadam loss_chunks 128 seq 16 n_layer 1");
    struct mfu_solution x = solve(&s, "batch", 1, true, NULL);

    (void)state;
    assert_string_equal(x.limited_by, "memory");
    assert_true(fits_at(&s, "batch", x.value));
    for (int more = 1; more <= 16; more++)
        assert_false(fits_at(&s, "batch", x.value + more));
}

/* Fragments make fitting anything but monotone: against every value. */
static void the_largest_batch_is_the_largest(void **state)
{
    static const char *const pairs[] = {"runtime eager", "runtime compile", "runtime eager accum 4",
                                        "runtime compile checkpoint full", "runtime eager seq 512"};

    (void)state;
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        struct mfu_scenario s = scenario_of("rtx4070", "gpt2", pairs[i]);
        double largest = 0;

        for (double batch = 1; batch <= 256; batch++)
            if (fits_at(&s, "batch", batch))
                largest = batch;
        assert_near(solve(&s, "batch", 1, true, NULL).value, largest, 0);
    }
}

/* Too small and too large a value both fail. */
static void both_ends_of_an_interval_are_found(void **state)
{
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "runtime compile");
    const char *where = "fits and mfu > 70%";
    double low = 0, high = 0;

    (void)state;
    for (double batch = 1; batch <= 32; batch++)
        if (fits_at(&s, "batch", batch) && other.mfu.mfu > 0.7) {
            low = low > 0 ? low : batch;
            high = batch;
        }
    assert_true(low > 1 && high > low);
    assert_near(solve(&s, "batch", 1, true, where).value, high, 0);
    assert_near(solve(&s, "batch", 1, false, where).value, low, 0);
    assert_string_equal(solve(&s, "batch", 1, true, where).limited_by, "memory");
    assert_string_equal(solve(&s, "batch", 1, false, where).limited_by, "target");
}

static void reasons_are_true(void **state)
{
    static const struct {
        const char *key;
        double value;
        const char *limited_by, *reason;
    } rows[] = {
        {"n_kv_head", 12, "range", "does not divide"},
        {"zero", 3, "range", ""},
        {"batch", 8, "memory", ""},
        {"dropout", 0, "range", "outside"},
    };
    struct mfu_scenario s = scenario_of("rtx4070", "gpt2", "");
    struct mfu_solution x;
    struct mfu_error err = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        x = solve(&s, rows[i].key, 1, true, NULL);
        assert_near(x.value, rows[i].value, 0);
        assert_string_equal(x.limited_by, rows[i].limited_by);
        if (!strstr(x.reason, rows[i].reason) || (!rows[i].reason[0] && x.reason[0]))
            fail_msg("%s: '%s' does not say '%s'", rows[i].key, x.reason, rows[i].reason);
    }
    assert_int_equal(try_solve(&s, "batch", 1, true, "mfu > 100%", &x, &err), -1);
    assert_non_null(strstr(err.text, "at no value that was tried"));
    s = scenario_of("rtx4070", "gpt2-xl", "");
    assert_int_equal(try_solve(&s, "batch", 1, true, NULL, &x, &err), -1);
    assert_non_null(strstr(err.text, "even 1 does not fit"));
    assert_int_equal(try_solve(&s, "batch", 1, true, "fits", &x, &err), -1);
    assert_non_null(strstr(err.text, "memory"));
}

/* The least is what the key allows, 0 with it. */
static void the_smallest_may_be_0(void **state)
{
    static const struct {
        const char *key;
        double step, value;
    } rows[] = {
        {"zero", 1, 0},       {"dataloader_ms", 1, 0}, {"vram_reserved", 0x1p20, 0},
        {"dropout", 0.01, 0}, {"train_metrics", 1, 0}, {"tied", 1, 0},
        {"batch", 1, 1},      {"loss_chunks", 1, 1},   {"n_layer", 1, 1},
        {"clock_mhz", 1, 1},  {"power_w", 1, 1},
    };
    struct mfu_scenario s = scenario_of("h100-sxm", "gpt2", "gpus 8");

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_solution x = solve(&s, rows[i].key, rows[i].step, false, "fits");

        if (x.value != rows[i].value || strcmp(x.limited_by, "range") != 0)
            fail_msg("%s: %g, limited by %s", rows[i].key, x.value, x.limited_by);
    }
    assert_near(solve(&s, "zero", 1, false, "fits and zero > 1").value, 2, 0);
    assert_near(solve(&s, "dropout", 0.01, true, "fits").value, 0.99, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_found_fits),      cmocka_unit_test(the_largest_batch_is_the_largest),
        cmocka_unit_test(a_long_edge_is_followed), cmocka_unit_test(both_ends_of_an_interval_are_found),
        cmocka_unit_test(reasons_are_true),        cmocka_unit_test(the_smallest_may_be_0),
    };

    return cmocka_run_group_tests(tests, open_catalog, release);
}
