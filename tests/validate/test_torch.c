/*
 * PyTorch itself as the judge: what it keeps for backward, its highest level of
 * live memory and its FLOPs, on the configurations of tests/oracle (measured
 * on fake CUDA tensors, see the README there).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "near.h"
#include "oracle.h"

#define CLAIMED 0.02 /* relative error of every memory figure */

static int set_up(void **state)
{
    return oracle_open(state, MFUPLAN_SOURCE_DIR "/tests/oracle/torch_oracle.csv");
}

static double number(const struct oracle *f, size_t row, const char *column)
{
    return atof(mfu_csv_get(&f->csv, row, column));
}

/* Plans the configuration of one row, without what the oracle does not count:
 * cuBLAS workspaces. */
static void plan_row(struct oracle *f, size_t row)
{
    static const char *const keys[][2] = {{"n_layer", "n_layer"},
                                          {"n_head", "n_head"},
                                          {"n_embd", "n_embd"},
                                          {"d_ff", "d_ff"},
                                          {"n_kv_head", "n_kv_head"},
                                          {"vocab", "vocab_size"},
                                          {"seq", "seq"},
                                          {"batch", "batch"},
                                          {"accum", "accum"},
                                          {"precision", "precision"},
                                          {"attention", "attention"},
                                          {"checkpoint", "checkpoint"},
                                          {"dropout", "dropout"}};
    struct mfu_error err = {0};
    bool gpt = strcmp(mfu_csv_get(&f->csv, row, "model"), "gpt2") == 0;
    struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(f->catalog, gpt ? "gpt2" : "llama-2-7b", &err),
                                               mfu_catalog_gpu(f->catalog, "a100-80gb-sxm", &err));

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (mfu_scenario_set(&s, keys[i][1], mfu_csv_get(&f->csv, row, keys[i][0]), &err) < 0)
            fail_msg("%s: %s", mfu_csv_get(&f->csv, row, "id"), err.text);
    mfu_scenario_set(&s, "tied", mfu_csv_get(&f->csv, row, "tied"), &err);
    mfu_scenario_set(&s, "bias", mfu_csv_get(&f->csv, row, "bias"), &err);
    mfu_scenario_set(&s, "keep_logits", "1", &err);
    mfu_scenario_set(&s, "memory.cublas_workspace", "0", &err);
    if (mfu_plan_make(&f->plan, &s, &err) < 0)
        fail_msg("%s: %s", mfu_csv_get(&f->csv, row, "id"), err.text);
}

static void report(const char *id, const char *what, double is, double should, double *worst, int *failures)
{
    double e = is / should - 1;

    if (fabs(e) > CLAIMED) {
        fprintf(stderr, "%-40s %-14s %14.0f instead of %14.0f (%+.2f %%)\n", id, what, is, should, 100 * e);
        ++*failures;
    }
    *worst = fmax(*worst, fabs(e));
}

static void live_memory_is_pytorchs(void **state)
{
    struct oracle *f = *state;
    double saved = 0, peak = 0, forward = 0, end = 0;
    int failures = 0;

    for (size_t row = 0; row < f->csv.n_rows; row++) {
        const char *id = mfu_csv_get(&f->csv, row, "id");
        double buffers = number(f, row, "buffer_bytes");

        plan_row(f, row);
        report(id, "saved", mfu_saved_bytes(&f->plan.program), number(f, row, "saved_bytes"), &saved, &failures);
        report(id, "peak", f->plan.memory.peak.bytes + buffers, number(f, row, "peak_flash_bytes"), &peak, &failures);
        report(id, "forward peak", f->plan.memory.peak.forward_peak_bytes + buffers,
               number(f, row, "forward_peak_bytes"), &forward, &failures);
        report(id, "end", f->plan.memory.peak.end_bytes + buffers, number(f, row, "end_bytes"), &end, &failures);
    }
    print_message("%zu configurations; worst error: saved %.2f %%, peak %.2f %%, forward peak %.2f %%, end %.2f %%\n",
                  f->csv.n_rows, 100 * saved, 100 * peak, 100 * forward, 100 * end);
    assert_true(f->csv.n_rows >= 20);
    assert_int_equal(failures, 0);
}

static void flops_are_pytorchs(void **state)
{
    struct oracle *f = *state;

    for (size_t row = 0; row < f->csv.n_rows; row++) {
        plan_row(f, row);
        if (fabs(oracle_flops(&f->plan, MFU_FORWARD) / number(f, row, "flops_forward") - 1) > 1e-9
            || fabs(oracle_flops(&f->plan, MFU_BACKWARD) / number(f, row, "flops_backward") - 1) > 1e-9)
            fail_msg("%s: forward %.0f, not %.0f; backward %.0f, not %.0f", mfu_csv_get(&f->csv, row, "id"),
                     oracle_flops(&f->plan, MFU_FORWARD), number(f, row, "flops_forward"),
                     oracle_flops(&f->plan, MFU_BACKWARD), number(f, row, "flops_backward"));
    }
}

static void parameters_are_counted_alike(void **state)
{
    struct oracle *f = *state;

    for (size_t row = 0; row < f->csv.n_rows; row++) {
        plan_row(f, row);
        assert_near(f->plan.program.params, number(f, row, "params"), 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(live_memory_is_pytorchs),
        cmocka_unit_test(flops_are_pytorchs),
        cmocka_unit_test(parameters_are_counted_alike),
    };

    return cmocka_run_group_tests(tests, set_up, oracle_close);
}
