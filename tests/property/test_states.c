/*
 * Laws of states in types of their own: their bytes are those of the types, whatever else the scenario says; two bf16
 * moments save traffic, what needs fp32 copies costs time and room for them.  And of quantised weights.
 */
#include "../unit/any_scenario.h"

#define TRIES 150

static struct mfu_plan plan, other;

static double states_of(const struct mfu_plan *p)
{
    return p->program.constant_bytes[MFU_PART_OPTIMIZER] / (p->program.rank_trained / p->config.replicas);
}

static void states_have_the_bytes_of_their_types(void **unused)
{
    static const double bytes[MFU_STATE_TYPE_COUNT] = {4, 4, 2, 2, 1};
    int n = 0;

    (void)unused;
    for (int i = 0; i < TRIES; i++) {
        int m = i % MFU_STATE_TYPE_COUNT, v = i / MFU_STATE_TYPE_COUNT % MFU_STATE_TYPE_COUNT;
        struct mfu_scenario s;
        double had;

        next(&s, &plan);
        mfu_scenario_set(&s, "gpus", "1", NULL);
        mfu_scenario_set(&s, "optimizer", "adamw", NULL);
        if (mfu_plan_make(&plan, &s, NULL) < 0 || !replan_as(&other, &s, "exp_avg_dtype", mfu_state_type_names[m])
            || !replan_as(&other, &other.scenario, "exp_avg_sq_dtype", mfu_state_type_names[v])
            || plan.program.rank_trained == 0)
            continue;
        n++;
        had = states_of(&plan) >= 8 ? 4 : 2; /* pure 16 bits have moments like weights */
        HOLDS_NEAR(states_of(&plan) - states_of(&other),
                   2 * had - (m == MFU_STATE_OWN ? had : bytes[m]) - (v == MFU_STATE_OWN ? had : bytes[v]), 1e-6);
        if (had == 4 && m == MFU_STATE_BF16 && v == MFU_STATE_BF16)
            HOLDS(other.step.optimizer_s < plan.step.optimizer_s);
        if (had == 4 && (m == MFU_STATE_FP8 || v == MFU_STATE_FP16))
            HOLDS(other.step.optimizer_s > plan.step.optimizer_s);
        HOLDS(other.memory.peak.bytes >= other.program.constant_bytes[MFU_PART_OPTIMIZER]);
    }
    assert_true(n > 20);
}

/* Masters of two bytes. */
static void masters_are_halved(void **unused)
{
    static const char *const types[] = {"remainders", "fp16"};

    (void)unused;
    for (int i = 0; i < 2; i++) {
        struct mfu_scenario s =
            mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, "h100-sxm", NULL));

        assert_int_equal(mfu_scenario_set(&s, "runtime", "fused", NULL), 0);
        assert_int_equal(mfu_plan_make(&plan, &s, NULL), 0);
        assert_true(replan_as(&other, &s, "main_params_dtype", types[i]));
        HOLDS_NEAR(states_of(&plan), 12, 1e-6);
        HOLDS_NEAR(states_of(&other), 10, 1e-6);
        HOLDS((other.step.optimizer_s < plan.step.optimizer_s) == (i == 0));
        assert_int_equal(mfu_scenario_set(&s, "runtime", "eager", NULL), 0);
        assert_false(replan_as(&other, &s, "main_params_dtype", types[i])); /* no masters */
    }
}

/* A block has one scale, whatever its length: bytes of frozen linears are code + scale / block of each of the two formats,
 * and what dequantises reads them. */
static void blocks_have_the_bytes_of_their_scales(void **unused)
{
    static const struct {
        const char *base;
        double code, scale;
    } forms[] = {{"nf4", .5, 4}, {"fp4", .5, 4}, {"nf4-double", .5, 1 + 4. / 256}, {"torchao-nf4", .5, 1 + 2. / 256}};
    static const char *const blocks[] = {"32", "128", "1024", "4096"};

    (void)unused;
    for (int i = 0; i < 16; i++) {
        struct mfu_scenario s =
            mfu_scenario_start(mfu_catalog_model(catalog, "llama-3.2-1b", NULL), mfu_catalog_gpu(catalog, "l4", NULL));
        double linears = 16 * (2 * 2048. * 2048 + 2 * 2048. * 512 + 3 * 2048. * 8192), had, has;

        assert_int_equal(mfu_scenario_set(&s, "lora", "8", NULL), 0);
        assert_false(replan_as(&other, &s, "quant_block", "128")); /* of 16 bits */
        assert_int_equal(mfu_scenario_set(&s, "base_precision", forms[i / 4].base, NULL), 0);
        assert_int_equal(mfu_plan_make(&plan, &s, NULL), 0);
        assert_false(replan_as(&other, &s, "quant_block", "96"));
        assert_true(replan_as(&other, &s, "bnb_4bit_blocksize", blocks[i % 4]));
        had = plan.program.rank_bytes, has = other.program.rank_bytes;
        HOLDS_NEAR(has - had, linears * forms[i / 4].scale * (1 / atof(blocks[i % 4]) - 1. / 64), 1e-9);
        HOLDS((other.step.time_s < plan.step.time_s) == (has < had));
    }
}

static int close_all(void **state_)
{
    mfu_plan_release(&plan);
    mfu_plan_release(&other);
    return close_any(state_);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_have_the_bytes_of_their_types),
        cmocka_unit_test(masters_are_halved),
        cmocka_unit_test(blocks_have_the_bytes_of_their_scales),
    };

    return cmocka_run_group_tests(tests, open_any, close_all);
}
