/*
 * test_cost.c - kernels in seconds, against kernels that somebody measured.
 */
#include "catalog.h"

#include "base/error.h"
#include "cost/cost.h"
#include "scenario/key_names.h"
#include "scenario/scenario.h"
#include "scenario/setting.h"

/* The GPU in a scenario of which one more setting is given; "": none. */
static struct mfu_machine machine_with(const char *gpu, const char *key, double value)
{
    static struct mfu_scenario s; /* the config points at it */
    struct mfu_machine m;
    struct mfu_config c;

    s = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, gpu, NULL));
    if (*key) {
        struct mfu_key k = mfu_key_find(NULL, key, NULL);

        assert_int_equal(k.kind, MFU_KEY_SETTING);
        s.setting[k.id] = value;
        s.setting_given[k.id] = true;
    }
    assert_int_equal(mfu_scenario_resolve(&s, &c, NULL), 0);
    mfu_machine_make(&c, &m);
    return m;
}

static struct mfu_machine machine_of(const char *gpu)
{
    return machine_with(gpu, "", 0);
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

        mfu_price_kernel(&m, &k, 0, 0, &p);
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

        mfu_price_kernel(&m, &k, 0, 0, &p);
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
    mfu_price_kernel(&m, &even, 0, 0, &p);
    mfu_price_kernel(&m, &odd, 0, 0, &q);
    assert_true(q.time_s > 1.2 * p.time_s);
}

/* What is still in L2, or may stay there, does not cross the memory bus. */
static void l2_spares_traffic(void **state)
{
    struct mfu_machine m = machine_of("rtx4070");
    struct mfu_kernel k = mfu_kernel_stream(MFU_POINTWISE, MFU_C_DRAM_POINTWISE, 1, 1, 0, 8e6, 8e6);
    struct mfu_price cold, warm, hot;

    (void)state;
    mfu_price_kernel(&m, &k, 0, 0, &cold);
    mfu_price_kernel(&m, &k, 8e6, 0, &warm);
    mfu_price_kernel(&m, &k, 8e6, 8e6, &hot);
    assert_true(cold.memory_s > warm.memory_s && warm.memory_s > hot.memory_s);
    assert_near(hot.memory_s, 16e6 / m.l2_bytes_s, 1e-12);
    m.element_clock_hz = 0; /* wide loads */
    mfu_price_kernel(&m, &k, 0, 0, &cold);
    assert_near(cold.memory_s, 16e6 / (m.c[MFU_C_DRAM_ATTAIN] * m.c[MFU_C_DRAM_POINTWISE] * 504e9), 1e-9);
}

/* Watts buy clocks where power is what limits, to the 0.6th power and no more
 * than the pipe takes; boards that it does not limit lose less. */
static void power_is_a_limit(void **state)
{
    static const char *const gpus[] = {"h100-pcie", "l4", "a100-40gb-pcie", "rtx4080-laptop", "rtx4090", "h100-sxm"};
    double last, home;

    (void)state;
    for (size_t i = 0; i < LENGTH(gpus); i++) {
        double board_w = mfu_catalog_gpu(catalog, gpus[i], NULL)->power_w;
        struct mfu_machine m = machine_of(gpus[i]);

        last = 0;
        home = m.gemm_flops[MFU_PEAK_FP16];
        for (double share = 0.4; share < 1.5; share += 0.1) {
            double flops;

            m = machine_with(gpus[i], "power_w", share * board_w);
            flops = m.gemm_flops[MFU_PEAK_FP16];
            assert_true(flops >= last);
            assert_true(flops <= m.peak_flops[MFU_PEAK_FP16] * 1.25);
            if (share < 0.95)
                assert_true(flops <= home && flops >= home * pow(share, 0.6) * 0.999);
            last = flops;
        }
    }
    last = machine_of("h100-pcie").gemm_flops[MFU_PEAK_BF16];
    assert_near(machine_with("h100-pcie", "power_w", 175).gemm_flops[MFU_PEAK_BF16] / last, pow(0.5, 0.6), 1e-9);
}

/* A gradient of weights that is added up in fp32 against its layer's forward product (SimuMax @4dcaae5, two cards): over
 * 4096 tokens it is slower by what the sums move, over many it is not. */
static void wide_sums_take_as_long_as_measured(void **state)
{
    static const struct {
        const char *gpu;
        double tokens, out, in, slower;
    } rows[] = {
        {"a100-80gb-pcie", 4096, 102400, 5120, 1.057},
        {"a100-80gb-pcie", 4096, 36864, 7168, 1.059},
        {"a100-80gb-pcie", 4096, 24576, 5120, 1.047},
        {"a100-80gb-pcie", 4096, 14336, 4096, 1.052},
        {"a100-80gb-pcie", 24640, 5120, 1536, .970},
        {"a100-80gb-pcie", 33024, 4096, 7168, .994},
        {"b200", 4096, 57344, 8192, 1.073},
        {"b200", 4096, 128256, 8192, 1.072},
        {"b200", 4096, 64128, 8192, 1.082},
        {"b200", 4096, 106496, 16384, 1.087},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_machine m = machine_of(rows[i].gpu);
        struct mfu_kernel forward =
            mfu_kernel_gemm(MFU_PEAK_BF16, rows[i].tokens, rows[i].out, rows[i].in, 1, 2, 2, false);
        struct mfu_kernel sums =
            mfu_kernel_weight_gradient(MFU_PEAK_BF16, rows[i].out, rows[i].in, rows[i].tokens, 1, 2, 4, true);
        struct mfu_price p, q;

        mfu_price_kernel(&m, &forward, 0, 0, &p);
        mfu_price_kernel(&m, &sums, 0, 0, &q);
        mfu_price_throttle(&m, &forward, 1, &p);
        mfu_price_throttle(&m, &sums, 1, &q);
        if (fabs(q.time_s / p.time_s - rows[i].slower) > .04)
            fail_msg("%s %g x %g x %g: %.3f, measured %.3f", rows[i].gpu, rows[i].tokens, rows[i].out, rows[i].in,
                     q.time_s / p.time_s, rows[i].slower);
    }
}

/* Busy tensor cores draw the power that lowers clocks; products on the CUDA
 * cores are no part of it. */
static void only_tensor_products_are_throttled(void **state)
{
    struct mfu_machine m = machine_of("h100-sxm");
    struct mfu_kernel half = mfu_kernel_gemm(MFU_PEAK_BF16, 8192, 8192, 8192, 1, 2, 2, false);
    struct mfu_kernel single = mfu_kernel_gemm(MFU_PEAK_FP32, 8192, 8192, 8192, 1, 4, 4, false);
    struct mfu_price p, q;

    (void)state;
    mfu_price_kernel(&m, &half, 0, 0, &p);
    mfu_price_kernel(&m, &single, 0, 0, &q);
    double half_s = p.compute_s, single_s = q.compute_s;

    mfu_price_throttle(&m, &half, 1, &p);
    mfu_price_throttle(&m, &single, 1, &q);
    assert_near(p.compute_s, half_s * (1 + m.throttle), 1e-12);
    assert_near(q.compute_s, single_s, 0);
    assert_near(m.sustained_flops[MFU_PEAK_FP32], m.gemm_flops[MFU_PEAK_FP32], 0);
}

/* Eager PyTorch keeps elements in flight, not bytes: with a memory as fast as
 * one likes, 16-bit and fp32 kernels take the same time, and with a slow one
 * half; compiled kernels load wide and always take half. */
static void elements_in_flight_bound_eager_kernels(void **state)
{
    struct mfu_kernel full =
        mfu_kernel_stream(MFU_POINTWISE, MFU_C_DRAM_POINTWISE, 8192, 8192, 0, 4 * 0x1p26, 4 * 0x1p26);
    struct mfu_kernel half =
        mfu_kernel_stream(MFU_POINTWISE, MFU_C_DRAM_POINTWISE, 8192, 8192, 0, 2 * 0x1p26, 2 * 0x1p26);
    double last = 0;

    (void)state;
    half.half_share = 1;
    for (double bandwidth = 0.01; bandwidth < 1000; bandwidth *= 3) {
        struct mfu_machine eager = machine_of("b200"), compiled = machine_with("b200", "runtime", MFU_COMPILE);
        struct mfu_price p, q;

        eager.bandwidth_bytes_s *= bandwidth, eager.l2_bytes_s *= bandwidth;
        compiled.bandwidth_bytes_s *= bandwidth, compiled.l2_bytes_s *= bandwidth;
        mfu_price_kernel(&eager, &full, 0, 0, &p);
        mfu_price_kernel(&eager, &half, 0, 0, &q);
        assert_true(q.memory_s / p.memory_s >= last && q.memory_s / p.memory_s > 0.4999
                    && q.memory_s / p.memory_s <= 1);
        last = q.memory_s / p.memory_s;
        mfu_price_kernel(&compiled, &full, 0, 0, &p);
        assert_true(p.memory_s * 0.999 <= full.read_bytes * 2 / mfu_dram_bytes_s(&compiled, MFU_C_DRAM_POINTWISE));
    }
    assert_true(last > 0.99);
}

/* Libraries of 2023 and before were no faster, for 16-bit products alone; the
 * year of today's is the same as none. */
static void older_libraries_are_not_faster(void **state)
{
    static const char *const gpus[] = {"a100-80gb-sxm", "h100-sxm", "rtx4090", "mi300x"};

    (void)state;
    for (size_t i = 0; i < LENGTH(gpus); i++) {
        struct mfu_machine now = machine_of(gpus[i]);
        struct mfu_machine then = machine_with(gpus[i], "software", now.c[MFU_C_GEMM_SOFTWARE_UNTIL]);
        struct mfu_machine later = machine_with(gpus[i], "software", now.c[MFU_C_GEMM_SOFTWARE_UNTIL] + 1);
        struct mfu_machine year = machine_with(gpus[i], "software", 2026);

        assert_near(then.gemm_flops[MFU_PEAK_BF16] * now.c[MFU_C_GEMM_SOFTWARE], now.gemm_flops[MFU_PEAK_BF16], 1);
        assert_true(now.c[MFU_C_GEMM_SOFTWARE] >= 1);
        assert_near(then.gemm_flops[MFU_PEAK_TF32], now.gemm_flops[MFU_PEAK_TF32], 0);
        assert_near(year.gemm_flops[MFU_PEAK_BF16], now.gemm_flops[MFU_PEAK_BF16], 0);
        assert_near(later.gemm_flops[MFU_PEAK_BF16], now.gemm_flops[MFU_PEAK_BF16], 0);
        assert_near(year.loads, now.loads, 0);
        assert_true(then.loads < now.loads);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_take_as_long_as_measured),
        cmocka_unit_test(streams_take_as_long_as_measured),
        cmocka_unit_test(tiles_cover_the_product),
        cmocka_unit_test(misaligned_products_are_slower),
        cmocka_unit_test(l2_spares_traffic),
        cmocka_unit_test(power_is_a_limit),
        cmocka_unit_test(wide_sums_take_as_long_as_measured),
        cmocka_unit_test(only_tensor_products_are_throttled),
        cmocka_unit_test(elements_in_flight_bound_eager_kernels),
        cmocka_unit_test(older_libraries_are_not_faster),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
