/*
 * Any kernel on any GPU, under any coefficients that `set` accepts: nothing is
 * faster than its roof, and more work takes no less time.  The seed is printed;
 * MFUPLAN_SEED repeats a run.
 */
#include "near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cost/cost.h"
#include "cost/law.h"
#include "cost/sample.h"
#include "descriptor/catalog.h"
#include "scenario/scenario.h"

#define KERNELS 20000 /* of each test */
#define EXACT 1e-9    /* relative: rounding */

static uint64_t seed, state;
static struct mfu_catalog *catalog;
static const char *const *gpus;
static size_t n_gpus;

static uint64_t any(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 24) % below;
}

/* Between the two, evenly by magnitude where both are positive. */
static double between(double least, double most)
{
    double share = any(1u << 20) / (double)((1u << 20) - 1);

    return least > 0 ? least * pow(most / least, share) : least + (most - least) * share;
}

static double whole(double least, double most)
{
    return floor(between(least, most) + 0.5);
}

/* Some GPU; every coefficient is its own, or any that it may be. */
static const struct mfu_gpu *some_machine(struct mfu_machine *m)
{
    static struct mfu_scenario s; /* the config points at it */
    const struct mfu_gpu *g = mfu_catalog_gpu(catalog, gpus[any(n_gpus)], NULL);
    struct mfu_config c = {.gpu = g, .scenario = &s};

    assert_non_null(g);
    s = mfu_scenario_start(NULL, g);
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        if (any(2)) {
            const struct mfu_coefficient_row *row = &mfu_coefficient_rows[i];

            s.coefficient_given[i] = true;
            s.coefficient[i] = any(4) ? between(row->least, row->most) : any(2) ? row->least : row->most;
        }
    mfu_machine_make(&c, m);
    return g;
}

static struct mfu_attention some_attention(void)
{
    static const enum mfu_peak half[] = {MFU_PEAK_FP16, MFU_PEAK_BF16};
    struct mfu_attention a = {.math = half[any(2)],
                              .sequences = whole(1, 256),
                              .seq = whole(1, 65536),
                              .kv_heads = whole(1, 16),
                              .head_dim = whole(8, 1024),
                              .causal = any(2),
                              .element_bytes = 2};

    do
        a.kind = (enum mfu_attention_kind)any(MFU_ATTENTION_COUNT);
    while (!mfu_attentions[a.kind].fused);
    a.heads = a.kv_heads * whole(1, 8);
    a.window = any(4) ? 0 : whole(1, 8192);
    return a;
}

/* A kernel of any kind, and of any class of traffic that streams. */
static struct mfu_kernel some_kernel(void)
{
    static const enum mfu_peak maths[] = {MFU_PEAK_FP32, MFU_PEAK_TF32, MFU_PEAK_FP16, MFU_PEAK_BF16, MFU_PEAK_FP8};
    enum mfu_kind kind = (enum mfu_kind)any(MFU_KIND_COUNT);
    struct mfu_attention a = some_attention();
    struct mfu_kernel k;

    if (mfu_kind_is_attention(kind))
        k = mfu_kernel_attention(&a, any(2));
    else if (mfu_kind_is_gemm(kind))
        k = mfu_kernel_gemm(maths[any(LENGTH(maths))], whole(1, 65536), whole(1, 65536), whole(1, 65536), whole(1, 64),
                            2, 2, any(2));
    if (mfu_kind_is_gemm(kind) && any(2))
        mfu_kernel_set_apart(&k);
    if (!mfu_kind_is_attention(kind) && !mfu_kind_is_gemm(kind)) {
        double rows = whole(1, 1e6), columns = whole(1, 1e5);

        k = mfu_kernel_stream(kind, (enum mfu_coefficient)(MFU_C_DRAM_POINTWISE + any(9)), rows, columns,
                              between(0, 100) * rows * columns, between(0, 8) * rows * columns,
                              between(0, 8) * rows * columns);
        k.half_share = any(2);
    }
    k.kind = kind;
    return k;
}

/* The dense peak is printed for the tensor clock, or for boost. */
static double highest_peak(const struct mfu_gpu *g, enum mfu_peak math)
{
    double rated = g->tensor_hz > 0 ? g->tensor_hz : g->boost_hz;
    double most = g->max_observed_hz > 0 ? g->max_observed_hz : 1.3 * g->boost_hz;

    return g->peak_flops[math] * fmax(1, most / rated);
}

/* FLOP/s at the highest clock; bytes at the speed of L2, which lies above DRAM's. */
static void nothing_is_faster_than_its_roof(void **unused)
{
    (void)unused;
    for (int i = 0; i < KERNELS; i++) {
        struct mfu_machine m;
        const struct mfu_gpu *g = some_machine(&m);
        struct mfu_kernel k = some_kernel();
        struct mfu_price p;
        double peak = highest_peak(g, k.math), bytes = k.read_bytes + k.write_bytes;

        mfu_price_kernel(&m, &k, 0, 0, &p);
        if (peak > 0 && !(k.flops / p.time_s <= peak * (1 + EXACT)))
            fail_msg("%s, %s %g x %g x %g x %g: %g FLOP/s of %g", g->slug, mfu_kind_names[k.kind], k.batch, k.m, k.n,
                     k.k, k.flops / p.time_s, peak);
        if (!(bytes / p.time_s <= m.bandwidth_bytes_s * m.c[MFU_C_L2_SPEED] * (1 + EXACT)))
            fail_msg("%s, %s: %g B/s of %g", g->slug, mfu_kind_names[k.kind], bytes / p.time_s, m.bandwidth_bytes_s);
    }
}

static double attention_s(const struct mfu_machine *m, const struct mfu_attention *a, bool backward)
{
    struct mfu_kernel k = mfu_kernel_attention(a, backward);
    struct mfu_price p;

    mfu_price_kernel(m, &k, 0, 0, &p);
    return p.time_s;
}

/* One size grows, the others stay. */
static void a_larger_attention_takes_no_less_time(void **unused)
{
    (void)unused;
    for (int i = 0; i < KERNELS; i++) {
        struct mfu_machine m;
        const struct mfu_gpu *g = some_machine(&m);
        struct mfu_attention a = some_attention(), b = a;
        double *size[] = {&b.head_dim, &b.seq, &b.sequences, &b.heads};
        const char *const name[] = {"head_dim", "seq", "batch", "heads"};
        size_t which = any(LENGTH(size));
        bool backward = any(2);
        double before, after;

        if (!(g->peak_flops[a.math] > 0))
            continue;
        *size[which] += which == 3 ? a.kv_heads * whole(1, 4) : whole(1, any(2) ? 4 : 4096);
        before = attention_s(&m, &a, backward);
        after = attention_s(&m, &b, backward);
        if (!(after >= before * (1 - EXACT)))
            fail_msg("%s, %s%s, batch %g, heads %g, seq %g, head_dim %g: %s %g takes %g s, %g s before", g->slug,
                     mfu_attentions[a.kind].name, backward ? " backward" : "", a.sequences, a.heads, a.seq, a.head_dim,
                     name[which], *size[which], after, before);
    }
}

/* The curve of head sizes has no pole: one per cent of a coefficient is three of
 * the time at most (at head size 32, which the two sizes are extrapolated to). */
static void a_little_more_of_a_coefficient_changes_little(void **unused)
{
    (void)unused;
    for (int i = 0; i < KERNELS; i++) {
        struct mfu_machine m;
        const struct mfu_gpu *g = some_machine(&m);
        struct mfu_attention a = some_attention();
        const struct mfu_attention_row *row = &mfu_attentions[a.kind];
        double before, after;

        if (!(g->peak_flops[a.math] > 0))
            continue;
        if (any(2)) /* where the pole was */
            m.c[row->d128] = 2 * m.c[row->d64] * (1 + between(-1e-6, 1e-6));
        before = attention_s(&m, &a, false);
        m.c[any(2) ? row->d64 : row->d128] *= 1.01;
        after = attention_s(&m, &a, false);
        if (!(fabs(after / before - 1) < 0.031))
            fail_msg("%s, %s, head_dim %g: %g s becomes %g s", g->slug, row->name, a.head_dim, before, after);
    }
}

/* Intervals vary the coefficient that is said to rule a kernel: a smaller one takes longer. */
static void what_rules_a_kernel_moves_it(void **unused)
{
    (void)unused;
    for (int i = 0; i < KERNELS; i++) {
        const struct mfu_gpu *g = mfu_catalog_gpu(catalog, gpus[any(n_gpus)], NULL);
        struct mfu_kernel k = some_kernel();
        double c[MFU_COEFFICIENT_COUNT];
        enum mfu_coefficient rule;
        struct mfu_machine m;
        struct mfu_price before, after;

        memcpy(c, g->coefficients.value, sizeof c);
        mfu_machine_of(g, c, &m);
        mfu_price_kernel(&m, &k, 0, 0, &before);
        rule = mfu_law_of(&k)->rule(&k, &before);
        if (!isfinite(before.time_s) || !(before.time_s > before.overhead_s) || !(c[rule] > 0)
            || (before.compute_s > before.memory_s
                && before.compute_s <= k.flops / m.roof_flops[k.math] * (1 + EXACT)) /* at its roof, */
            || (!mfu_law_of(&k)->tensor
                && before.compute_s > 10 * before.memory_s)) /* or CUDA cores', which have none */
            continue;
        c[rule] *= 0.9;
        mfu_machine_of(g, c, &m);
        mfu_price_kernel(&m, &k, 0, 0, &after);
        if (!(after.time_s > before.time_s))
            fail_msg("%s, %s of %gx%gx%g, math %d: %g s whatever %s is", g->slug, mfu_kind_names[k.kind], k.m, k.n, k.k,
                     k.math, before.time_s, mfu_coefficient_rows[rule].name);
    }
}

/* Rounds of thread blocks that one kernel shares among its products are not shared by kernels of a product each, and a
 * kernel of one product is that product. */
static void products_apart_take_no_less_than_at_once(void **unused)
{
    (void)unused;
    for (int i = 0; i < KERNELS; i++) {
        struct mfu_machine m;
        const struct mfu_gpu *g = some_machine(&m);
        struct mfu_kernel at_once, apart;
        struct mfu_price p[2];

        do
            at_once = some_kernel();
        while (!mfu_kind_is_gemm(at_once.kind) || at_once.apart || at_once.n == 1);
        apart = at_once;
        mfu_kernel_set_apart(&apart);
        mfu_price_kernel(&m, &at_once, 0, 0, &p[0]);
        mfu_price_kernel(&m, &apart, 0, 0, &p[1]);
        if (isfinite(p[0].time_s) && !(p[1].time_s >= p[0].time_s * (1 - EXACT)))
            fail_msg("%s: %g products of %gx%gx%g take %g s at once, %g s apart", g->slug, at_once.batch, at_once.m,
                     at_once.n, at_once.k, p[0].time_s, p[1].time_s);
        if (at_once.batch == 1)
            assert_true(p[1].time_s == p[0].time_s || !isfinite(p[0].time_s));
    }
}

static int start(void **unused)
{
    const char *given = getenv("MFUPLAN_SEED");

    (void)unused;
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    state = seed;
    printf("MFUPLAN_SEED=%llu\n", (unsigned long long)seed);
    catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, NULL);
    gpus = catalog ? mfu_catalog_gpus(catalog, &n_gpus) : NULL;
    return catalog && n_gpus > 0 ? 0 : -1;
}

static int stop(void **unused)
{
    (void)unused;
    mfu_catalog_free(catalog);
    return 0;
}

/* The instructions of plain passes of 16 bits leave a memory at least half idle on no card: H20 has the fewest SMs beside its
 * bandwidth.  What stands for an SM elsewhere has other rates. */
static void no_card_is_too_slow_for_its_memory(void **unused)
{
    struct mfu_kernel k = mfu_kernel_stream(MFU_POINTWISE, MFU_C_DRAM_POINTWISE, 1, 1e9, 0, 2e9, 2e9);

    (void)unused;
    for (size_t i = 0; i < n_gpus; i++) {
        const struct mfu_gpu *g = mfu_catalog_gpu(catalog, gpus[i], NULL);
        struct mfu_scenario s = mfu_scenario_start(NULL, g);
        struct mfu_config c = {.gpu = g, .scenario = &s, .runtime = MFU_EAGER};
        struct mfu_machine m;
        struct mfu_price p;

        mfu_machine_make(&c, &m);
        mfu_price_kernel(&m, &k, 0, 0, &p);
        if (p.time_s > 2 * 4e9 / mfu_dram_bytes_s(&m, MFU_C_DRAM_POINTWISE))
            fail_msg("%s: %g of %g B/s", g->slug, 4e9 / p.time_s, mfu_dram_bytes_s(&m, MFU_C_DRAM_POINTWISE));
    }
}

/* Random numbers of a pair take as long whatever the width of a head, forward and backward. */
static void dropout_takes_its_time_by_pairs(void **unused)
{
    (void)unused;
    for (int i = 0; i < KERNELS / 10; i++) {
        struct mfu_attention a = some_attention();
        bool backward = any(2);
        struct mfu_kernel plain = mfu_kernel_attention(&a, backward), drops;
        struct mfu_machine m;
        struct mfu_price p, q;
        double rate, more_s;

        a.drops = true;
        drops = mfu_kernel_attention(&a, backward);
        some_machine(&m);
        mfu_price_kernel(&m, &plain, 0, 0, &p);
        mfu_price_kernel(&m, &drops, 0, 0, &q);
        if (!isfinite(p.compute_s))
            continue; /* no such units */
        rate = m.c[MFU_C_RATE_DROPOUT] * m.sm_clock_hz;
        more_s = rate > 0 ? a.sequences * a.heads * mfu_attention_pairs(&a) / rate : 0;
        assert_true(q.compute_s >= fmax(p.compute_s, more_s) * (1 - EXACT));
        assert_true(q.compute_s <= (p.compute_s + more_s) * (1 + EXACT));
    }
}

/* What its own instructions or single loads hold up gains no more by L2 or bandwidth; dequantising, whatever runs the
 * step.  Casts to fewer bytes have wide loads where there are such. */
static void no_kernel_is_faster_than_its_elements(void **unused)
{
    static const struct {
        enum mfu_kind kind;
        enum mfu_coefficient traffic, rate;
        double read, write; /* bytes of an element */
        bool always, wider;
    } kinds[] = {{MFU_CAST, MFU_C_DRAM_DEQUANTISE, MFU_C_RATE_DEQUANTISE, 0.5, 2, true, true},
                 {MFU_CAST, MFU_C_DRAM_POINTWISE, MFU_C_RATE_CAST, 2, 4, false, false},
                 {MFU_POINTWISE, MFU_C_DRAM_DROPOUT, MFU_C_RATE_POINTWISE, 2, 3, false, true},
                 {MFU_COPY, MFU_C_DRAM_IRREGULAR, MFU_C_RATE_COPIED, 2, 2, false, false},
                 {MFU_POINTWISE, MFU_C_DRAM_IRREGULAR, MFU_C_RATE_STRIDED, 2, 2, false, false}};

    (void)unused;
    for (int i = 0; i < KERNELS / 10; i++) {
        int which = whole(0, (int)(sizeof kinds / sizeof *kinds) - 1);
        double elements = whole(1, 1e9), read = kinds[which].read * elements, write = kinds[which].write * elements;
        struct mfu_kernel k = mfu_kernel_stream(kinds[which].kind, kinds[which].traffic, 1, elements, 0, read, write);
        struct mfu_kernel back =
            mfu_kernel_stream(kinds[which].kind, kinds[which].traffic, 1, elements, 0, write, read);
        struct mfu_machine m;
        struct mfu_price p, down;
        double rate;

        some_machine(&m);
        rate = m.c[kinds[which].rate] * (kinds[which].wider ? m.loads : 1);
        m.element_clock_hz *= whole(0, 1);
        rate *= kinds[which].always ? m.sm_clock_hz : m.element_clock_hz;
        m.bandwidth_bytes_s *= between(1, 100);
        m.l2_bytes_s *= between(1, 100);
        mfu_price_kernel(&m, &k, 0, between(0, 1) * (read + write), &p);
        assert_true(!(rate > 0) || p.memory_s * rate >= elements * (1 - EXACT));
        mfu_price_kernel(&m, &k, 0, 0, &p);
        mfu_price_kernel(&m, &back, 0, 0, &down);
        if (m.c[MFU_C_RATE_CAST] > 0 && m.c[MFU_C_RATE_POINTWISE] * m.loads >= m.c[MFU_C_RATE_CAST])
            assert_true(down.time_s <= p.time_s * (1 + EXACT));
    }
}

/* Whatever the memory: a depthwise convolution takes what its kernel's instructions do, a loop no less than what is
 * unrolled. */
static void no_depthwise_convolution_is_faster_than_its_kernel(void **unused)
{
    static const struct {
        enum mfu_depthwise depthwise;
        enum mfu_coefficient rate;
        double faster; /* the most */
    } kinds[] = {{MFU_DEPTHWISE_HALF, MFU_C_RATE_DEPTHWISE_HALF, 1},
                 {MFU_DEPTHWISE_LOOPED, MFU_C_RATE_DEPTHWISE, 1},
                 {MFU_DEPTHWISE_UNROLLED, MFU_C_RATE_DEPTHWISE, 2},
                 {MFU_DEPTHWISE_GRADIENT, MFU_C_RATE_DEPTHWISE_GRADIENT, 1}};

    (void)unused;
    for (int i = 0; i < KERNELS / 10; i++) {
        int which = whole(0, (int)(sizeof kinds / sizeof *kinds) - 1);
        struct mfu_kernel k =
            mfu_kernel_gemm(MFU_PEAK_FP32, whole(1, 1e6), 1, whole(1, 121), whole(2, 4096), 4, 4, false);
        struct mfu_machine m;
        struct mfu_price p, looped;
        double rate;

        some_machine(&m);
        m.bandwidth_bytes_s *= between(1, 100);
        k.depthwise = kinds[which].depthwise;
        mfu_price_kernel(&m, &k, 0, 0, &p);
        rate = m.c[kinds[which].rate] * kinds[which].faster * m.sm_clock_hz;
        assert_true(!(rate > 0) || p.time_s * rate >= k.m * k.k * k.batch * (1 - EXACT));
        k.depthwise = MFU_DEPTHWISE_LOOPED;
        mfu_price_kernel(&m, &k, 0, 0, &looped);
        if (kinds[which].depthwise == MFU_DEPTHWISE_UNROLLED)
            assert_true(p.time_s <= looped.time_s * (1 + EXACT));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_faster_than_its_roof),
        cmocka_unit_test(a_larger_attention_takes_no_less_time),
        cmocka_unit_test(no_card_is_too_slow_for_its_memory),
        cmocka_unit_test(no_kernel_is_faster_than_its_elements),
        cmocka_unit_test(dropout_takes_its_time_by_pairs),
        cmocka_unit_test(no_depthwise_convolution_is_faster_than_its_kernel),
        cmocka_unit_test(products_apart_take_no_less_than_at_once),
        cmocka_unit_test(a_little_more_of_a_coefficient_changes_little),
        cmocka_unit_test(what_rules_a_kernel_moves_it),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
