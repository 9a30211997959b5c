/* test_kernels.c - the launches of a plan as a table. */
#include "plans.h"
#include "owned.h"

#include <stdlib.h>
#include <string.h>

#include "plan/kernels.h"

static const struct mfu_kernel_row *find(const struct mfu_kernel_row *rows, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    fail_msg("no row is called %s", name);
    return NULL;
}

static const struct {
    const char *gpu, *model, *settings[9];
} runs[] = {
    {"rtx4070", "gpt2", {"batch", "8", "accum", "64", "runtime", "compile"}},
    {"a100-40gb-sxm", "gpt2", {"batch", "4", "attention", "math"}},
    {"h100-sxm", "llama-2-7b", {"checkpoint", "full", "precision", "bf16-pure"}},
    {"a100-40gb-sxm", "gpt2", {"runtime", "llmc", "n_layer", "2"}},
    {"h100-sxm", "gpt2", {"n_layer", "1", "precision", "fp32"}},
};

static void rows_add_up_to_the_busy_time(void **state)
{
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(runs); i++) {
        struct mfu_kernel_row *rows, *kinds;
        double total, total_kinds, sum = 0, count = 0, share = 0, sum_kinds = 0;
        int n, n_kinds;

        plan(&p, runs[i].gpu, runs[i].model, runs[i].settings);
        n = mfu_kernel_rows(&p, &rows, &total);
        n_kinds = mfu_kernel_kinds(&p, &kinds, &total_kinds);
        assert_true(n > n_kinds && n_kinds > 5);
        for (int k = 0; k < n; k++) {
            sum += rows[k].time_s;
            count += rows[k].count;
            share += rows[k].share;
        }
        for (int k = 0; k < n_kinds; k++)
            sum_kinds += kinds[k].time_s;
        assert_near(total, p.step.busy_s + p.step.communication_s + p.step.copies_s, 1e-12);
        assert_near(sum, total, 1e-12);
        assert_near(sum_kinds, total, 1e-12);
        assert_near(total_kinds, total, 1e-12);
        assert_near(count, p.step.kernels, 1e-12);
        assert_near(share, total / p.step.time_s, 1e-12);
        free(rows);
        free(kinds);
    }
}

static void readings_are_shares(void **state)
{
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(runs); i++) {
        struct mfu_kernel_row *rows;
        int n;

        plan(&p, runs[i].gpu, runs[i].model, runs[i].settings);
        n = mfu_kernel_rows(&p, &rows, NULL);
        for (int k = 0; k < n; k++) {
            assert_true(rows[k].count > 0 && rows[k].time_s > 0);
            assert_true(rows[k].sm_active > 0 && rows[k].sm_active <= 1);
            assert_true(rows[k].tensor_active >= 0 && rows[k].tensor_active <= 1);
            assert_true(rows[k].dram_active >= 0 && rows[k].dram_active <= 1);
            assert_true(rows[k].name[0] != '.');
        }
        free(rows);
    }
}

/* Three layers are traced apart; nobody should see that. */
static void equal_kernels_of_all_layers_are_one_row(void **state)
{
    const char *const settings[] = {"batch", "8", "accum", "4", NULL};
    PLAN p = {0};
    struct mfu_kernel_row *rows;
    const struct mfu_kernel_row *qkv;
    int n;

    (void)state;
    plan(&p, "rtx4070", "gpt2", settings);
    n = mfu_kernel_rows(&p, &rows, NULL);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            assert_false(strcmp(rows[i].name, rows[k].name) == 0 && rows[i].phase == rows[k].phase
                         && rows[i].kind == rows[k].kind);
    qkv = find(rows, n, "h.attn.qkv");
    assert_int_equal(qkv->phase, MFU_FORWARD);
    assert_int_equal(qkv->kind, MFU_GEMM);
    assert_near(qkv->count, 12 * 4, 0);
    assert_near(qkv->flops, 48. * 2 * 8192 * 2304 * 768, 1e-12);
    assert_near(qkv->bytes, 48. * 2 * (8192. * 768 + 768 * 2304 + 8192. * 2304), 1e-12);
    assert_near(qkv->intensity, qkv->flops / qkv->bytes, 1e-12);
    assert_near(qkv->kernel.m * qkv->kernel.n * qkv->kernel.k, 8192. * 2304 * 768, 1e-12);
    assert_true(strcmp(rows[0].name, "embed.wte") == 0); /* order of execution */
    assert_int_equal(rows[n - 1].phase, MFU_OPTIMIZER_PHASE);
    assert_string_equal(rows[n - 1].name, "adamw");
    free(rows);
}

static void fp32_leaves_the_tensor_cores_idle(void **state)
{
    static const struct {
        const char *precision;
        int busy;
    } cases[] = {{"fp32", 0}, {"tf32", 1}, {"bf16", 1}};
    PLAN p = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const char *const settings[] = {"precision", cases[i].precision, "n_layer", "2", NULL};
        struct mfu_kernel_row *rows;
        int n;

        plan(&p, "a100-40gb-sxm", "gpt2", settings);
        n = mfu_kernel_rows(&p, &rows, NULL);
        assert_int_equal(find(rows, n, "head.lm_head")->tensor_active > 0.1, cases[i].busy);
        assert_near(find(rows, n, "h.ln_1")->tensor_active, 0, 0);
        free(rows);
    }
}

/* Blocks on 132 SMs, one per SM at a time: full rounds and a tail. */
static void sm_active_knows_rounds_and_tails(void **state)
{
    static const struct {
        double blocks, active;
    } cases[] = {
        {1, 1. / 132}, {26, 26. / 132}, {132, 1}, {133, (1 + 1. / 132) / 2}, {264, 1}, {13200, 1},
    };
    struct mfu_work work = {.kernel = {.kind = MFU_GEMM,
                                       .math = MFU_PEAK_BF16,
                                       .m = 64,
                                       .n = 64,
                                       .k = 64,
                                       .batch = 1,
                                       .flops = 2 * 64 * 64 * 64,
                                       .read_bytes = 16384,
                                       .write_bytes = 8192,
                                       .launches = 1}};
    struct mfu_launch launch = {.work = &work, .section = "", .op = "one", .suffix = ""};
    struct mfu_segment segment = {.section = "", .phase = MFU_FORWARD, .count = 1, .repeat = 1};
    struct mfu_gpu gpu = {.tensor_cores = 528};
    struct mfu_price price = {.time_s = 1e-6};
    struct mfu_plan p = {
        .config.gpu = &gpu,
        .program = {.launches = &launch, .segments = &segment, .n_launches = 1, .n_segments = 1, .accum = 1},
        .pricing.prices = &price,
        .machine = {.sms = 132, .bandwidth_bytes_s = 3.35e12},
        .step.time_s = 2e-6};

    (void)state;
    p.machine.peak_flops[MFU_PEAK_BF16] = 989e12;
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct mfu_kernel_row *rows;

        price.blocks = cases[i].blocks;
        assert_int_equal(mfu_kernel_rows(&p, &rows, NULL), 1);
        assert_near(rows[0].sm_active, cases[i].active, 1e-12);
        assert_near(rows[0].tensor_active, 2 * 64. * 64 * 64 / 1e-6 / 989e12, 1e-12);
        assert_near(rows[0].dram_active, 24576 / 1e-6 / 3.35e12, 1e-12);
        assert_near(rows[0].share, 0.5, 1e-12);
        free(rows);
    }
    work.kernel.launches = 0; /* the end of a scope is no kernel */
    for (int i = 0; i < 1; i++) {
        struct mfu_kernel_row *rows;

        assert_int_equal(mfu_kernel_rows(&p, &rows, NULL), 0);
        free(rows);
    }
}

static const struct mfu_launch *first_attention(const struct mfu_program *g)
{
    for (int i = 0; i < g->n_launches; i++)
        if (g->launches[i].work->kernel.kind == MFU_FUSED_ATTENTION)
            return &g->launches[i];
    fail_msg("no fused attention");
    return NULL;
}

/* A mask of padding takes SDPA to the memory-efficient kernel and all pairs; TransformerEngine's attention has none. */
static void padding_is_a_mask(void **state)
{
    static const char *const open[] = {"batch", "2", NULL},
                             *const masked[] = {"batch", "2", "padding_mask", "on", NULL},
                             *const te[] = {"trainer", "megatron-te", "padding_mask", "on", NULL};
    PLAN p = {0};
    double pairs;

    (void)state;
    plan(&p, "rtx3090", "llama-3.2-1b", open);
    assert_int_equal(first_attention(&p.program)->work->kernel.attention, MFU_FLASH);
    pairs = first_attention(&p.program)->work->kernel.flops;
    plan(&p, "rtx3090", "llama-3.2-1b", masked);
    assert_int_equal(first_attention(&p.program)->work->kernel.attention, MFU_MEMEFF);
    assert_near(first_attention(&p.program)->work->kernel.flops, 2 * pairs, 0.002 * pairs);
    plan(&p, "h100-sxm", "llama-3.2-1b", te);
    assert_int_equal(first_attention(&p.program)->work->kernel.attention, MFU_CUDNN);
}

/* Clocks do not recover while attention runs: its tensor cores work, too, as far as it uses them. */
static void attention_keeps_tensor_cores_busy(void **state)
{
    static const char *const settings[] = {"seq", "8192", "precision", "bf16-pure", "checkpoint", "full", NULL};
    double share = 0, seen = 0, product = 0;
    PLAN p = {0};

    (void)state;
    plan(&p, "h100-sxm", "llama-3.2-1b", settings);
    for (int i = 0; i < p.program.n_launches; i++) {
        const struct mfu_launch *l = &p.program.launches[i];
        double of = mfu_tensor_share(&p.machine, l, mfu_price_at(&p.pricing, i));

        if (l->work->kernel.kind == MFU_FUSED_ATTENTION)
            share += of, seen++;
        else if (l->work->kernel.kind == MFU_GEMM)
            product = fmax(product, of);
        else
            assert_near(of, 0, 0);
    }
    assert_near(product, 1, 0);
    assert_true(seen > 0 && share / seen > 0.2 && share / seen < 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_is_a_mask),
        cmocka_unit_test(attention_keeps_tensor_cores_busy),
        cmocka_unit_test(rows_add_up_to_the_busy_time),
        cmocka_unit_test(readings_are_shares),
        cmocka_unit_test(equal_kernels_of_all_layers_are_one_row),
        cmocka_unit_test(fp32_leaves_the_tensor_cores_idle),
        cmocka_unit_test(sm_active_knows_rounds_and_tails),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
