/*
 * NVIDIA's Transformer-XL as the judge of segment recurrence and of clusters of classes: parameters, and the highest level of live
 * memory of a forward and a backward pass in fp32 (tests/oracle/transformer_xl.py).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "base/csv.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "near.h"
#include "oracle.h"

static int set_up(void **state)
{
    return oracle_open(state, MFUPLAN_SOURCE_DIR "/tests/oracle/transformer_xl.csv");
}

static void memory_is_what_the_code_keeps(void **state)
{
    static const char *const keys[] = {"n_layer", "n_embd", "n_head", "d_ff", "seq", "divisor", "batch"};
    static const char *const fixed[][2] = {{"precision", "fp32"},
                                           {"optimizer", "sgd"},
                                           {"dropout", "0"},
                                           {"attn_dropout", "0"},
                                           {"memory.cublas_workspace", "0"}};
    struct oracle *f = *state;
    struct mfu_error err = {0};

    assert_true(f->csv.n_rows >= 4);
    for (size_t row = 0; row < f->csv.n_rows; row++) {
        struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(f->catalog, "transformer-xl", &err),
                                                   mfu_catalog_gpu(f->catalog, "a100-80gb-sxm", &err));

        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            assert_int_equal(mfu_scenario_set(&s, keys[i], mfu_csv_get(&f->csv, row, keys[i]), &err), 0);
        for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
            assert_int_equal(mfu_scenario_set(&s, fixed[i][0], fixed[i][1], &err), 0);
        assert_int_equal(mfu_plan_make(&f->plan, &s, &err), 0);
        assert_true(f->plan.program.params == atof(mfu_csv_get(&f->csv, row, "params")));
        assert_near(f->plan.memory.peak.bytes, atof(mfu_csv_get(&f->csv, row, "peak_bytes")), 0.02);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(memory_is_what_the_code_keeps, set_up, oracle_close)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
