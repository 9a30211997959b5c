/* test_conventions.c - the MFU figures of different programs.
 *
 * The figures are those of docs/mfu.md, worked out by hand from each program's
 * source and checked against what the programs print. */
#include "plans.h"
#include "owned.h"

#include <string.h>

#include "plan/conventions.h"

static struct mfu_convention find(const struct mfu_plan *p, const char *name)
{
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    size_t n = mfu_conventions(p, all);

    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i];
    fail_msg("no convention is called %s", name);
    return all[0];
}

static void each_counts_its_own_flops(void **state)
{
    static const char *const biased[] = {"bias", "1", NULL}, *const narrow[] = {"n_embd", "384", NULL};
    static const struct {
        const char *model;
        const char *const *settings;
        const char *name;
        double mflop;
    } rows[] = {
        {"gpt2", NULL, "nanogpt", 854.8},
        {"gpt2", NULL, "palm", 859.5},
        {"gpt2", NULL, "causal", 798.0},
        {"gpt2", NULL, "megatron", 798.0},
        {"gpt2", NULL, "megatron-2021", 854.7},
        {"gpt2", NULL, "torchtitan", 859.5},
        {"gpt2", NULL, "6n", 746.2},
        {"gpt2", biased, "llm.c", 803.5},
        {"gpt2", narrow, "nanogpt", 300.0},
        {"llama-3-8b", NULL, "palm", 61070},
        {"llama-3-8b", NULL, "nanogpt", 61070},
        {"llama-3-8b", NULL, "torchtitan", 57910},
        {"llama-3-8b", NULL, "megatron-2021", 57910},
        {"llama-3-8b", NULL, "llm.c", 54620},
        {"llama-3-8b", NULL, "causal", 51470},
        {"llama-3-8b", NULL, "6n", 48180},
    };
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        plan(&p, "a100-80gb-sxm", rows[i].model, rows[i].settings);
        assert_near(find(&p, rows[i].name).flops_per_token, rows[i].mflop * 1e6, 2e-4);
        assert_near(mfu_convention_flops_per_token(&p, rows[i].name), rows[i].mflop * 1e6, 2e-4);
    }
    assert_true(isnan(mfu_convention_flops_per_token(&p, "nanogtp")));
}

static void each_divides_by_its_own_peak(void **state)
{
    static const struct {
        const char *gpu, *name;
        double tflops;
    } rows[] = {
        {"rtx4070", "nanogpt", 312},     {"h100-sxm", "nanogpt", 312},     {"a100-40gb-sxm", "nanogpt", 312},
        {"rtx4070", "palm", 58.3},       {"rtx4070", "torchtitan", 312},   {"rtx4070", "llm.c", 58.3},
        {"h100-sxm", "torchtitan", 989}, {"h100-pcie", "torchtitan", 756}, {"h100-nvl", "torchtitan", 835},
        {"b200", "torchtitan", 2250},    {"h100-sxm", "llm.c", 989.4},     {"rtx-a6000", "llm.c", 77.42},
        {"h100-sxm", "hfu", 989.4},      {"h100-sxm", "6n", 989.4},
    };
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        plan(&p, rows[i].gpu, "gpt2", NULL);
        assert_near(find(&p, rows[i].name).peak_flops, rows[i].tflops * 1e12, 1e-3);
    }
}

/* claims.md A1: 15.4 % of an A100 are about 82 % of an RTX 4070. */
static void figures_are_one_run_seen_differently(void **state)
{
    static const char *const train1[] = {"batch", "8", "accum", "64", "runtime", "compile", NULL};
    PLAN p = {0};
    struct mfu_convention all[MFU_CONVENTIONS_MAX], nanogpt;
    size_t n;

    (void)state;
    plan(&p, "rtx4070", "gpt2", train1);
    nanogpt = find(&p, "nanogpt");
    n = mfu_conventions(&p, all);
    assert_true(n >= 9 && n <= MFU_CONVENTIONS_MAX);
    for (size_t i = 0; i < n; i++)
        assert_near(all[i].mfu * all[i].peak_flops / all[i].flops_per_token, p.step.tokens_per_s, 1e-9);
    assert_near(nanogpt.mfu * 312 / 58.3, find(&p, "megatron-2021").mfu, 2e-3);
    assert_near(find(&p, "megatron-2021").mfu, p.mfu.mfu, 1e-3);
    assert_near(find(&p, "hfu").flops_per_token * p.step.tokens, p.mfu.hardware_flops, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_counts_its_own_flops),
        cmocka_unit_test(each_divides_by_its_own_peak),
        cmocka_unit_test(figures_are_one_run_seen_differently),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
