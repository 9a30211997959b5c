/* test_metrics.c - readings of a step and of single kernels. */
#include "plans.h"
#include "owned.h"

#include <string.h>

#include "plan/kernels.h"
#include "plan/metrics.h"
#include "plan/single_kernel.h"

static struct mfu_single_kernel study(const char *gpu, const struct mfu_study_request *r)
{
    struct mfu_error err = {0};
    struct mfu_scenario s = mfu_scenario_start(NULL, mfu_catalog_gpu(catalog, gpu, NULL));
    struct mfu_single_kernel k;

    if (mfu_single_kernel(&s, r, &k, &err) < 0)
        fail_msg("%s", err.text);
    return k;
}

static void refused(const char *gpu, const struct mfu_study_request *r, const char *message)
{
    struct mfu_error err = {0};
    struct mfu_scenario s = mfu_scenario_start(NULL, mfu_catalog_gpu(catalog, gpu, NULL));
    struct mfu_single_kernel k;

    assert_int_equal(mfu_single_kernel(&s, r, &k, &err), -1);
    if (!strstr(err.text, message))
        fail_msg("'%s' does not say '%s'", err.text, message);
}

/* The published illustration: busy all the time on one SM of 132. */
static void utilization_is_not_activity(void **state)
{
    static const struct {
        double blocks, sm_active, sm_efficiency;
    } cases[] = {{1, 1. / 132, 1. / 132}, {26, 26. / 132, 26. / 132}, {132, 1, 1}, {133, (1 + 1. / 132) / 2, 1}};

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct mfu_study_request r = {.study = MFU_STUDY_BLOCKS, .size = {cases[i].blocks, 10}};
        struct mfu_single_kernel k = study("h100-sxm", &r);

        assert_near(k.row.time_s, 10, 0);
        assert_near(k.metrics.gpu_utilization, 1, 0);
        assert_near(k.metrics.sm_active, cases[i].sm_active, 1e-12);
        assert_near(k.metrics.sm_efficiency, cases[i].sm_efficiency, 1e-12);
        assert_near(k.metrics.tensor_active + k.metrics.dram_active + k.metrics.mfu, 0, 0);
        assert_true(k.metrics.power_w > 0.1 * 700 && k.metrics.power_w < 0.5 * 700);
    }
}

static void one_block_of_four_warps(void **state)
{
    struct mfu_study_request r = {.study = MFU_STUDY_BLOCKS, .size = {1, 1}};

    (void)state;
    assert_near(study("h100-sxm", &r).metrics.sm_occupancy, 4. / 64 / 132, 1e-12); /* 0.047 % */
    assert_near(study("h100-sxm", &r).metrics.achieved_occupancy, 4. / 64 / 132, 1e-12);
}

/* Half of the window idle: SM activity halves, Kineto's occupancy does not. */
static void idle_time_lowers_some_readings(void **state)
{
    struct mfu_reading r = {.sm_active = 1,
                            .sm_occupancy = 0.25,
                            .tensor_active = 0.9,
                            .dram_active = 0.4,
                            .sm_efficiency = 1,
                            .achieved_occupancy = 0.25,
                            .tensor = true};
    struct mfu_metrics m = {0};

    (void)state;
    mfu_metrics_add(&m, &r, 1, 0.8);
    mfu_metrics_add(&m, &r, 1, 0.8);
    mfu_metrics_settle(&m, 4, 400);
    assert_near(m.gpu_utilization, 0.5, 1e-12);
    assert_near(m.sm_active, 0.5, 1e-12);
    assert_near(m.sm_efficiency, 0.5, 1e-12);
    assert_near(m.sm_occupancy, 0.125, 1e-12);
    assert_near(m.achieved_occupancy, 0.25, 1e-12);
    assert_near(m.tensor_kernels, 1, 1e-12);
    assert_near(m.dram_active, 0.2, 1e-12);
    assert_near(m.memory_utilization, 0.25, 1e-12);
    assert_near(m.power_w, 40 + 360 * (0.35 * 0.5 + 0.45 * 0.45 + 0.30 * 0.2), 1e-12);
}

static void unknown_power_stays_unknown(void **state)
{
    struct mfu_metrics m = {0};

    (void)state;
    mfu_metrics_settle(&m, 1, NAN);
    assert_true(isnan(m.power_w));
    assert_near(m.gpu_utilization, 0, 0);
}

/* Naive softmax: busy, hardly any arithmetic, no tensor core. */
static void softmax_is_busy_but_empty(void **state)
{
    struct mfu_study_request r = {.study = MFU_STUDY_SOFTMAX, .size = {98304, 1024}};
    struct mfu_single_kernel k = study("h100-sxm", &r);

    (void)state;
    assert_near(k.metrics.gpu_utilization, 1, 0);
    assert_near(k.row.intensity, 1.25, 1e-12); /* 5 FLOP in 4 bytes */
    assert_near(k.metrics.tensor_active, 0, 0);
    assert_true(k.row.flops_per_s < 0.005 * 989e12);
    assert_true(k.metrics.dram_active > 0.5 && k.metrics.sm_active > 0.9);
    assert_int_equal(k.row.price.bound, MFU_BOUND_MEMORY);
}

static void gemms_are_products_of_their_sizes(void **state)
{
    struct mfu_study_request r = {.study = MFU_STUDY_GEMM, .size = {8192, 4096, 4096}};
    struct mfu_single_kernel k = study("h100-sxm", &r);

    (void)state;
    assert_near(k.row.flops, 2. * 8192 * 4096 * 4096, 0);
    assert_near(k.row.bytes, 2. * (2 * 8192. * 4096 + 4096. * 4096), 0);
    assert_near(k.metrics.mfu, k.row.flops / k.row.time_s / 989.4e12, 1e-12);
    assert_true(k.metrics.tensor_active >= k.metrics.mfu && k.metrics.tensor_active < 0.98);
    assert_near(k.row.reading.limit.theoretical, 12. / 64, 1e-12);
    r.given[MFU_SK_PASS] = true;
    r.value[MFU_SK_PASS] = 1;
    assert_near(study("h100-sxm", &r).row.flops, 2 * k.row.flops, 0);
    assert_near(study("h100-sxm", &r).row.count, 2, 0);
    r.value[MFU_SK_PASS] = 0;
    r.given[MFU_SK_DTYPE] = true;
    r.value[MFU_SK_DTYPE] = 0; /* fp32: no tensor cores */
    assert_near(study("h100-sxm", &r).metrics.tensor_active, 0, 0);
    r.value[MFU_SK_DTYPE] = 4;
    refused("a100-40gb-sxm", &r, "no fp8 tensor cores");
}

/* A100, 1024 x N x 3072 (measured): 96 tiles of 256x128 fill one wave. */
static void waves_of_a_measured_gemm(void **state)
{
    struct mfu_study_request r = {.study = MFU_STUDY_GEMM, .size = {1024, 3072, 3072}};
    struct mfu_single_kernel one = study("a100-80gb-sxm", &r), two;

    (void)state;
    r.size[1] = 4096;
    two = study("a100-80gb-sxm", &r);
    assert_near(one.row.price.waves, 96. / 108, 1e-12);
    assert_true(two.row.flops_per_s < 0.85 * one.row.flops_per_s);
    assert_true(two.row.sm_active < 0.8 && one.row.sm_active > 0.8);
}

static void attention_counts_what_it_computes(void **state)
{
    struct mfu_study_request r = {.study = MFU_STUDY_ATTENTION, .size = {8, 32, 4096, 128}};
    struct mfu_single_kernel k = study("h100-sxm", &r);
    double pairs = 4096. * 4097 / 2;

    (void)state;
    assert_near(k.row.flops, 4 * 128. * 8 * 32 * pairs, 1e-12);
    assert_near(k.metrics.mfu, k.metrics.hfu, 1e-12);
    r.given[MFU_SK_PASS] = true;
    r.value[MFU_SK_PASS] = 1;
    k = study("h100-sxm", &r);
    assert_near(k.row.flops, 10 * 128. * 8 * 32 * pairs, 1e-12);
    assert_near(k.metrics.mfu, 0.8 * k.metrics.hfu, 1e-12); /* Q K^T again */
    r.given[MFU_SK_KV_HEADS] = true;
    r.value[MFU_SK_KV_HEADS] = 5;
    refused("h100-sxm", &r, "does not divide");
    r.given[MFU_SK_KV_HEADS] = false;
    r.given[MFU_SK_KIND] = true;
    r.value[MFU_SK_KIND] = MFU_FLASH3;
    refused("a100-40gb-sxm", &r, "written for Hopper");
    r.given[MFU_SK_KIND] = false;
    r.size[3] = 512;
    assert_int_equal(study("h100-sxm", &r).row.kernel.attention, MFU_MEMEFF);
}

static void blocks_that_do_not_fit_are_refused(void **state)
{
    struct mfu_study_request r = {.study = MFU_STUDY_BLOCKS, .size = {10, 1}};

    (void)state;
    r.given[MFU_SK_SHARED] = true;
    r.value[MFU_SK_SHARED] = 300 * 1024;
    refused("h100-sxm", &r, "does not fit");
    r.value[MFU_SK_SHARED] = 100 * 1024;
    assert_near(study("h100-sxm", &r).row.reading.limit.resident, 2, 0);
    r.given[MFU_SK_RESIDENT] = true;
    r.value[MFU_SK_RESIDENT] = 3;
    refused("h100-sxm", &r, "holds 2 such blocks");
}

/* ---- a step -------------------------------------------------------------- */

static const struct {
    const char *gpu, *model, *settings[9];
} runs[] = {
    {"rtx4070", "gpt2", {"batch", "8", "accum", "4", "runtime", "compile"}},
    {"h100-sxm", "gpt2", {"batch", "4", "attention", "math"}},
    {"h100-sxm", "llama-2-7b", {"checkpoint", "full", "precision", "bf16-pure"}},
    {"a100-40gb-sxm", "gpt2", {"runtime", "llmc", "n_layer", "2"}},
    {"t4", "gpt2", {"n_layer", "2", "precision", "fp16"}},
    {"h100-sxm", "gpt2", {"n_layer", "1", "precision", "fp32"}},
};

static void readings_are_shares_in_their_order(void **state)
{
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(runs); i++) {
        struct mfu_metrics m;

        plan(&p, runs[i].gpu, runs[i].model, runs[i].settings);
        mfu_metrics_of_plan(&p, &m);
        for (size_t k = 0; k < mfu_meter_count; k++) {
            double value = mfu_meter_value(&mfu_meters[k], &m);

            if (isnan(value) && m.fabric_bytes + m.nic_bytes == 0)
                continue; /* one GPU has no links to read */
            if (strcmp(mfu_meters[k].key, "memory_used_fill") != 0 && !(value >= 0 && value <= 1))
                fail_msg("%s is %g", mfu_meters[k].key, value);
        }
        assert_near(m.gpu_utilization, fmin(1, p.step.busy_s / p.step.time_s), 1e-9);
        assert_true(m.gpu_utilization_high >= m.gpu_utilization && m.gpu_utilization_high <= 1);
        assert_true(m.sm_active <= m.gpu_utilization && m.sm_occupancy <= m.sm_active);
        assert_true(m.tensor_active <= m.gpu_utilization && m.dram_active <= m.gpu_utilization);
        assert_true(m.power_w >= m.idle_w && m.power_w <= m.board_w);
        assert_near(m.mfu, p.mfu.mfu, 0);
        assert_near(m.memory_used_fill, p.memory.fill, 0);
        assert_int_equal(m.tensor_active > 0, p.config.precision != MFU_FP32);
    }
}

/* Naive attention: as busy, with less of the chip at work. */
/* Stages that wait for others do so inside NCCL's kernels: nvidia-smi sees them busy. */
static void a_bubble_reads_as_busy(void **state)
{
    static const char *const set[] = {"pp", "4", "accum", "4", "zero", "1", NULL};
    PLAN p = {0};
    struct mfu_metrics m;

    (void)state;
    plan(&p, "h100-sxm", "llama-3-8b", set);
    mfu_metrics_of_plan(&p, &m);
    assert_true(p.bubble > 0.3 && m.gpu_utilization > 0.9);
    assert_true(m.sm_active < m.gpu_utilization - 0.6 * p.bubble && m.tensor_active < 1 - p.bubble);
    assert_true(m.fabric_bytes > 0 && m.fabric_active > 0 && m.fabric_active < 1);
}

static void naive_attention_starves_the_tensor_cores(void **state)
{
    const char *const naive[] = {"batch", "8", "attention", "math", NULL};
    const char *const fused[] = {"batch", "8", "attention", "flash", "runtime", "compile", NULL};
    PLAN p = {0};
    struct mfu_metrics a, b;

    (void)state;
    plan(&p, "h100-sxm", "gpt2-xl", naive);
    mfu_metrics_of_plan(&p, &a);
    plan(&p, "h100-sxm", "gpt2-xl", fused);
    mfu_metrics_of_plan(&p, &b);
    assert_true(a.gpu_utilization > 0.95 && b.gpu_utilization > 0.95);
    assert_true(a.mfu < 0.6 * b.mfu && a.tensor_active < 0.6 * b.tensor_active);
}

/* Studied alone: kernel by kernel, the whole square of scores through memory. */
static void naive_attention_can_be_studied_alone(void **state)
{
    static const double sizes[][4] = {{8, 12, 1024, 64}, {1, 32, 4096, 128}, {2, 16, 512, 80}};

    (void)state;
    for (size_t i = 0; i < LENGTH(sizes); i++)
        for (int backward = 0; backward < 2; backward++)
            for (int causal = 0; causal < 2; causal++) {
                const double *z = sizes[i];
                struct mfu_study_request r = {.study = MFU_STUDY_ATTENTION};
                struct mfu_single_kernel naive, fused;
                double scores = z[0] * z[1] * z[2] * z[2], products = (backward ? 8 : 4) * scores * z[3];

                memcpy(r.size, z, sizeof r.size);
                r.given[MFU_SK_PASS] = r.given[MFU_SK_CAUSAL] = r.given[MFU_SK_KIND] = true;
                r.value[MFU_SK_PASS] = backward;
                r.value[MFU_SK_CAUSAL] = causal;
                r.value[MFU_SK_KIND] = MFU_FLASH;
                fused = study("h100-sxm", &r);
                r.value[MFU_SK_KIND] = MFU_MATH;
                naive = study("h100-sxm", &r);
                assert_int_equal(naive.kernels, (backward ? 6 : 4) + causal);
                assert_true(naive.row.flops > products && naive.row.flops < 1.2 * products); /* nothing is skipped */
                assert_true(naive.row.bytes > (backward ? 14 : 12) * scores);
                assert_true(naive.row.time_s > 1.5 * fused.row.time_s);
                assert_true(naive.metrics.mfu < fused.metrics.mfu);
                assert_near(naive.metrics.mfu * naive.row.time_s, fused.metrics.mfu * fused.row.time_s, 1e-9);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utilization_is_not_activity),
        cmocka_unit_test(one_block_of_four_warps),
        cmocka_unit_test(idle_time_lowers_some_readings),
        cmocka_unit_test(unknown_power_stays_unknown),
        cmocka_unit_test(softmax_is_busy_but_empty),
        cmocka_unit_test(gemms_are_products_of_their_sizes),
        cmocka_unit_test(waves_of_a_measured_gemm),
        cmocka_unit_test(attention_counts_what_it_computes),
        cmocka_unit_test(blocks_that_do_not_fit_are_refused),
        cmocka_unit_test(readings_are_shares_in_their_order),
        cmocka_unit_test(a_bubble_reads_as_busy),
        cmocka_unit_test(naive_attention_starves_the_tensor_cores),
        cmocka_unit_test(naive_attention_can_be_studied_alone),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
