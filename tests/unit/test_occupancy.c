/* test_occupancy.c - blocks on SMs: CUDA's occupancy calculation, waves, grids. */
#include "descriptor/gpu.h"
#include "catalog.h"

#include <string.h>

#include "cost/occupancy.h"

/* Published with the calculation (NVIDIA's occupancy calculator). */
static const struct {
    const char *gpu;
    double threads, registers, shared_kib, resident, theoretical;
    const char *limit;
} known[] = {
    {"a100-40gb-sxm", 256, 32, 0, 8, 1, "warps"},
    {"rtx4090", 256, 32, 0, 6, 1, "warps"},
    {"rtx4090", 1024, 0, 0, 1, 32. / 48, "warps"},
    {"a100-40gb-sxm", 256, 128, 48, 2, 0.25, "registers"},
    {"h100-sxm", 384, 168, 200, 1, 12. / 64, "registers"},
    {"h100-sxm", 128, 0, 0, 16, 1, "warps"},
    {"h100-sxm", 32, 0, 0, 32, 0.5, "blocks"},
    {"a100-40gb-sxm", 128, 32, 80, 2, 8. / 64, "shared memory"},
    {"rtx4090", 128, 32, 99, 1, 4. / 48, "shared memory"},
    {"t4", 256, 32, 64, 1, 8. / 32, "shared memory"},   /* nothing kept before Ampere */
    {"h100-sxm", 256, 33, 0, 6, 48. / 64, "registers"}, /* in units of 256 */
    {"h100-sxm", 512, 255, 0, 0, 0, "registers"},       /* more than there are */
};

static void published_checks_of_the_calculation(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(known); i++) {
        const struct mfu_gpu *g = mfu_catalog_gpu(catalog, known[i].gpu, NULL);
        struct mfu_grid grid = {.blocks = 1,
                                .threads = known[i].threads,
                                .registers = known[i].registers,
                                .shared_bytes = known[i].shared_kib * 1024};
        struct mfu_occupancy o;

        mfu_occupancy(g, &grid, &o);
        assert_near(o.resident, known[i].resident, 0);
        assert_near(o.theoretical, known[i].theoretical, 1e-12);
        assert_string_equal(o.limit, known[i].limit);
    }
}

/* A file without these cells: the compute capability says them. */
static void unknown_cells_come_from_the_compute_capability(void **state)
{
    struct mfu_gpu gpu = {.compute_capability = 9.0,
                          .max_warps = NAN,
                          .max_threads = NAN,
                          .max_blocks = NAN,
                          .shared_bytes = NAN,
                          .registers_bytes = NAN};
    struct mfu_grid grid = {.blocks = 1, .threads = 384, .registers = 168, .shared_bytes = 200 * 1024};
    struct mfu_occupancy o;

    (void)state;
    mfu_occupancy(&gpu, &grid, &o);
    assert_near(o.resident, 1, 0);
    assert_near(o.most_warps, 64, 0);
    gpu.compute_capability = NAN;
    mfu_occupancy(&gpu, &grid, &o);
    assert_true(isnan(o.resident) && isnan(o.theoretical));
}

static void waves_and_tails(void **state)
{
    static const struct {
        double blocks, sms, resident, waves, active, efficiency;
    } cases[] = {
        {1, 132, 1, 1. / 132, 1. / 132, 1. / 132},
        {26, 132, 1, 26. / 132, 26. / 132, 26. / 132},
        {132, 132, 1, 1, 1, 1},
        {133, 132, 1, 133. / 132, (1 + 1. / 132) / 2, 133. / 264},
        {117, 108, 1, 117. / 108, (1 + 9. / 108) / 2, 117. / 216}, /* NVIDIA DU-09799: 9 x 13 tiles */
        {200, 132, 2, 200. / 264, 1, 200. / 264},
        {300, 132, 2, 300. / 264, (1 + 36. / 132) / 2, 300. / 528},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct mfu_waves w = mfu_waves(cases[i].blocks, cases[i].sms, cases[i].resident);

        assert_near(w.waves, cases[i].waves, 1e-12);
        assert_near(w.sm_active, cases[i].active, 1e-12);
        assert_near(w.efficiency, cases[i].efficiency, 1e-12);
    }
    assert_near(mfu_waves(0, 132, 1).sm_active, 0, 0);
    assert_near(mfu_waves(10, 0, 1).waves, 0, 0);
}

/* What the sources' launch code does with shapes of GPT-2. */
static void grids_follow_the_launch_templates(void **state)
{
    struct mfu_attention a = {.kind = MFU_FLASH,
                              .math = MFU_PEAK_BF16,
                              .sequences = 8,
                              .seq = 1024,
                              .heads = 12,
                              .kv_heads = 12,
                              .head_dim = 64,
                              .causal = true,
                              .element_bytes = 2};
    struct mfu_kernel k = mfu_kernel_attention(&a, false);
    struct mfu_grid g = mfu_grid_attention(&k, 163 * 1024);

    (void)state;
    assert_near(g.blocks, 8 * 12 * 8, 0); /* 128 rows */
    assert_near(g.threads, 128, 0);
    assert_near(g.shared_bytes, 48 * 1024, 0);
    assert_true(g.padded_flops > k.flops && g.padded_flops < 1.2 * k.flops);
    k = mfu_kernel_attention(&a, true);
    assert_near(mfu_grid_attention(&k, 163 * 1024).threads, 256, 0);
    assert_near(mfu_grid_attention(&k, 163 * 1024).shared_bytes, 144 * 1024, 0);
    assert_true(mfu_grid_attention(&k, 99 * 1024).shared_bytes < 99 * 1024);

    k = mfu_kernel_stream(MFU_POINTWISE, MFU_C_DRAM_POINTWISE, 8192, 768, 0, 1, 1);
    assert_near(mfu_grid_stream(&k).blocks, 8192. * 768 / 512, 0);
    k = mfu_kernel_stream(MFU_NORM, MFU_C_DRAM_NORM, 8192, 768, 0, 1, 1);
    assert_near(mfu_grid_stream(&k).blocks, 8192, 0);
    k = mfu_kernel_stream(MFU_REDUCTION, MFU_C_DRAM_SOFTMAX, 98304, 1024, 0, 1, 1);
    assert_near(mfu_grid_stream(&k).blocks, 98304 / 4, 0); /* a warp per row */
    k.n = 50304;
    assert_near(mfu_grid_stream(&k).threads, 1024, 0); /* a block per row */
    assert_near(mfu_grid_stream(&k).blocks, 98304, 0);
    k = mfu_kernel_stream(MFU_OPTIMIZER_STEP, MFU_C_DRAM_OPTIMIZER, 1, 124e6, 0, 1, 1);
    assert_near(mfu_grid_stream(&k).blocks, ceil(124e6 / 65536), 0);

    k = mfu_kernel_gemm(MFU_PEAK_BF16, 8192, 2304, 768, 1, 2, 2, false);
    g = mfu_grid_gemm(&k, 128, 128, 1, false);
    assert_near(g.blocks, 64 * 18, 0);
    assert_near(g.registers, 128, 0);
    assert_near(g.shared_bytes, 48 * 1024, 0);
    assert_near(g.padded_flops, k.flops, 0);
    k.n = 2305;
    assert_near(mfu_grid_gemm(&k, 128, 128, 1, false).padded_flops, k.flops / 2304 * 2432, 1e-12);
    assert_near(mfu_grid_gemm(&k, 256, 128, 2, true).threads, 384, 0);
}

/* A block of every grid fits on every card that can run its kernel. */
static void every_block_fits(void **state)
{
    static const struct {
        const char *gpu;
        enum mfu_attention_kind kind;
    } cases[] = {{"rtx4070", MFU_FLASH},  {"rtx3090", MFU_FLASH},   {"a100-40gb-sxm", MFU_FLASH},
                 {"h100-sxm", MFU_FLASH}, {"h100-sxm", MFU_FLASH3}, {"h100-sxm", MFU_CUDNN},
                 {"b200", MFU_FLASH},     {"rtx5090", MFU_CUDNN},   {"t4", MFU_MEMEFF},
                 {"rtx4070", MFU_MEMEFF}};

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++)
        for (double head = 32; head <= 256; head += 32)
            for (int backward = 0; backward < 2; backward++) {
                const struct mfu_gpu *g = mfu_catalog_gpu(catalog, cases[i].gpu, NULL);
                struct mfu_attention a = {.kind = cases[i].kind,
                                          .math = MFU_PEAK_FP16,
                                          .sequences = 1,
                                          .seq = 512,
                                          .heads = 4,
                                          .kv_heads = 4,
                                          .head_dim = head,
                                          .causal = true,
                                          .element_bytes = 2};
                struct mfu_kernel k = mfu_kernel_attention(&a, backward);
                struct mfu_grid grid = mfu_grid_attention(&k, g->shared_block_bytes);
                struct mfu_occupancy o;

                mfu_occupancy(g, &grid, &o);
                if (!(o.resident >= 1))
                    fail_msg("%s %d head %g backward %d: %s", cases[i].gpu, (int)cases[i].kind, head, backward,
                             o.limit);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_checks_of_the_calculation),
        cmocka_unit_test(unknown_cells_come_from_the_compute_capability),
        cmocka_unit_test(waves_and_tails),
        cmocka_unit_test(grids_follow_the_launch_templates),
        cmocka_unit_test(every_block_fits),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
