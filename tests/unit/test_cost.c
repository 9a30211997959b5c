/*
 * test_cost.c - kernels in seconds, against kernels that somebody measured.
 */
#include "catalog.h"

#include "base/error.h"
#include "cost/cost.h"
#include "scenario/scenario.h"

static struct mfu_machine machine_of(const char *gpu)
{
    static struct mfu_scenario s; /* the config points at it */
    struct mfu_machine m;
    struct mfu_config c;

    s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, gpu, NULL));
    assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
    mfu_machine_make(&c, &m);
    return m;
}

/* Tensor cores are busy for that share of the step that was measured. */
#define DUTY 0.7

/* llm.c's GPT-2 124M on an RTX 5090, 64 sequences of 1024 tokens: the products
 * of one layer and of the head, in microseconds without the launch.  Two
 * that are split along K are the known misses. */
static void products_take_as_long_as_measured(void **state)
{
    enum { T = 65536, C = 768, V = 50304 };
    static const struct {
        const char *name;
        double m, n, k, measured_us, within;
    } rows[] = {
        {"qkv", T, 3 * C, C, 1095, .08},        {"out", T, C, C, 395, .08},
        {"up", T, 4 * C, C, 1473, .08},         {"down", T, C, 4 * C, 1370, .08},
        {"head", T, V, C, 22427, .08},          {"qkv dgrad", T, C, 3 * C, 1051, .08},
        {"down dgrad", T, 4 * C, C, 1367, .08}, {"head dgrad", T, C, V, 21187, .08},
        {"qkv wgrad", 3 * C, C, T, 1068, .13},  {"out wgrad", C, C, T, 329, .25},
        {"up wgrad", 4 * C, C, T, 1410, .08},   {"head wgrad", V, C, T, 21216, .08},
    };
    struct mfu_machine m = machine_of("rtx5090");

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_kernel k = mfu_kernel_gemm(MFU_PEAK_BF16, rows[i].m, rows[i].n, rows[i].k, 1, 2, 2, false);
        struct mfu_price p;

        mfu_price_kernel(&m, &k, 0, 0, NULL, &p);
        mfu_price_throttle(&m, &k, DUTY, &p);
        if (fabs((p.time_s - p.overhead_s) * 1e6 / rows[i].measured_us - 1) > rows[i].within)
            fail_msg("%s: %.4g us, measured %g us", rows[i].name, (p.time_s - p.overhead_s) * 1e6, rows[i].measured_us);
    }
}

/* The same run's kernels that stream: bytes over the DRAM bandwidth. */
static void streams_take_as_long_as_measured(void **state)
{
    enum { T = 65536, C = 768 };
    static const double tc = 2. * T * C, params = 124475904;
    const struct {
        const char *name;
        enum mfu_coefficient traffic;
        double bytes, measured_us, within;
    } rows[] = {
        {"norm", MFU_C_DRAM_FUSED, 2 * tc, 140, .15},
        {"residual and norm", MFU_C_DRAM_FUSED, 4 * tc, 280, .15},
        {"norm backward", MFU_C_DRAM_FUSED, 4 * tc, 290, .15},
        {"bias", MFU_C_DRAM_FUSED, 8 * tc, 538, .15},
        {"gelu", MFU_C_DRAM_FUSED, 8 * tc, 555, .15},
        {"gelu backward", MFU_C_DRAM_FUSED, 12 * tc, 791, .15},
        {"adamw", MFU_C_DRAM_OPTIMIZER, 22 * params, 1816, .15},
        {"gradient norm", MFU_C_DRAM_OPTIMIZER, 2 * params, 186, .2},
        {"copy", MFU_C_DRAM_POINTWISE, 2 * tc, 134, .15},
    };
    struct mfu_machine m = machine_of("rtx5090");

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_kernel k =
            mfu_kernel_stream(MFU_POINTWISE, rows[i].traffic, 1, 1, 0, rows[i].bytes / 2, rows[i].bytes / 2);
        struct mfu_price p;

        mfu_price_kernel(&m, &k, 0, 0, NULL, &p);
        if (fabs(p.memory_s * 1e6 / rows[i].measured_us - 1) > rows[i].within)
            fail_msg("%s: %.4g us, measured %g us", rows[i].name, p.memory_s * 1e6, rows[i].measured_us);
        assert_int_equal(p.bound, MFU_BOUND_MEMORY);
    }
}

/* A tile needs data that the next one reuses; a row more than a multiple of the
 * tile costs a row of tiles. */
static void tiles_cover_the_product(void **state)
{
    struct mfu_machine m = machine_of("a100-80gb-sxm");

    (void)state;
    for (double n = 64; n <= 16384; n *= 2)
        for (double k = 64; k <= 16384; k *= 4) {
            struct mfu_kernel g = mfu_kernel_gemm(MFU_PEAK_BF16, n, n, k, 1, 2, 2, false), one_more;
            struct mfu_tiling t = mfu_gemm_tiling(&m, &g), u;

            assert_near(t.blocks, ceil(n / t.tile_m) * ceil(n / t.tile_n) * t.split, 0);
            assert_near(t.waves, t.blocks / m.sms, 1e-12);
            assert_true(g.flops / t.compute_s <= m.gemm_flops[MFU_PEAK_BF16] * (1 + 1e-9));
            one_more = mfu_kernel_gemm(MFU_PEAK_BF16, n + 1, n, k, 1, 2, 2, false);
            u = mfu_gemm_tiling(&m, &one_more);
            assert_true(u.compute_s >= t.compute_s);
        }
}

/* A row of 50257 half-precision numbers is no multiple of 16 bytes. */
static void misaligned_products_are_slower(void **state)
{
    struct mfu_machine m = machine_of("a100-80gb-sxm");
    struct mfu_kernel even = mfu_kernel_gemm(MFU_PEAK_BF16, 8192, 50304, 768, 1, 2, 2, false);
    struct mfu_kernel odd = mfu_kernel_gemm(MFU_PEAK_BF16, 8192, 50257, 768, 1, 2, 2, false);
    struct mfu_price p, q;

    (void)state;
    assert_true(even.aligned && !odd.aligned);
    mfu_price_kernel(&m, &even, 0, 0, NULL, &p);
    mfu_price_kernel(&m, &odd, 0, 0, NULL, &q);
    assert_true(q.time_s > 1.2 * p.time_s);
}

/* What is still in L2, or may stay there, does not cross the memory bus. */
static void l2_spares_traffic(void **state)
{
    struct mfu_machine m = machine_of("rtx4070");
    struct mfu_kernel k = mfu_kernel_stream(MFU_POINTWISE, MFU_C_DRAM_POINTWISE, 1, 1, 0, 8e6, 8e6);
    struct mfu_price cold, warm, hot;

    (void)state;
    mfu_price_kernel(&m, &k, 0, 0, NULL, &cold);
    mfu_price_kernel(&m, &k, 8e6, 0, NULL, &warm);
    mfu_price_kernel(&m, &k, 8e6, 8e6, NULL, &hot);
    assert_true(cold.memory_s > warm.memory_s && warm.memory_s > hot.memory_s);
    assert_near(hot.memory_s, 16e6 / m.l2_bytes_s, 1e-12);
    assert_near(cold.memory_s, 16e6 / (m.c[MFU_C_DRAM_POINTWISE] * 504e9), 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_take_as_long_as_measured),
        cmocka_unit_test(streams_take_as_long_as_measured),
        cmocka_unit_test(tiles_cover_the_product),
        cmocka_unit_test(misaligned_products_are_slower),
        cmocka_unit_test(l2_spares_traffic),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
