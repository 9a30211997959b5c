/*
 * Recipes of narrow operands: what is kept, what quantising launches, who has the units.
 */
#include "catalog.h"

#include <string.h>

#include "base/error.h"
#include "graph/graph.h"
#include "plan/plan.h"
#include "scenario/setting.h"

static struct mfu_plan plan;

static int make(const char *gpu, const char *precision, const char *runtime, struct mfu_error *err)
{
    struct mfu_scenario s =
        mfu_scenario_start(mfu_catalog_model(catalog, "llama-3.2-1b", NULL), mfu_catalog_gpu(catalog, gpu, NULL));

    assert_int_equal(mfu_scenario_set(&s, "precision", precision, err), 0);
    assert_int_equal(mfu_scenario_set(&s, "runtime", runtime, err), 0);
    assert_int_equal(mfu_scenario_set(&s, "seq", "2048", err), 0);
    return mfu_plan_make(&plan, &s, err);
}

/* Bytes that a step's launches of this suffix write, and CUDA kernels of them. */
static double quantised(const char *suffix, double *kernels, double *read)
{
    double bytes = 0;

    *kernels = *read = 0;
    for (int k = 0; k < plan.program.n_segments; k++)
        for (int i = plan.program.segments[k].first;
             i < plan.program.segments[k].first + plan.program.segments[k].count; i++) {
            const struct mfu_launch *l = &plan.program.launches[i];
            double times = plan.program.segments[k].repeat;

            if (strcmp(l->suffix, suffix) != 0 || l->recomputed)
                continue;
            bytes += times * l->work->kernel.write_bytes;
            *kernels += times * l->work->kernel.launches;
            *read += times * l->work->kernel.read_bytes;
        }
    return bytes;
}

/* What TransformerEngine's documentation prints for one element, rows and columns. */
static void operands_have_the_bytes_of_their_recipe(void **state)
{
    static const struct {
        const char *gpu, *precision;
        double bytes, kernels, reads;
    } rows[] = {
        {"h100-sxm", "fp8", 2, 1, 1},         {"b200", "fp8", 1, 1, 1},
        {"h100-sxm", "fp8-current", 2, 3, 2}, {"h100-sxm", "fp8-block", 2.0625, 1, 1},
        {"b200", "mxfp8", 2.0625, 2, 1},      {"b200", "nvfp4", 1.125, 3, 2},
        {"b200", "mxfp4", 1.0625, 2, 1},      {"a100-80gb-sxm", "int8", 2, 2, 2},
    };
    /* Inputs that are quantised, in layers of q, k, v, o, gate, up, down: each for itself, or once for who shares it. */
    static const struct {
        const char *runtime;
        double inputs, widths;
    } runtimes[] = {{"eager", 7, 6}, {"fused", 4, 3}};
    struct mfu_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t r = 0; r < sizeof runtimes / sizeof runtimes[0]; r++) {
            double kernels, read, bytes, layers, elements;

            assert_int_equal(make(rows[i].gpu, rows[i].precision, runtimes[r].runtime, &err), 0);
            layers = mfu_config_dim(&plan.config, "n_layer");
            bytes = quantised("quantise", &kernels, &read);
            elements = plan.config.tokens * layers
                * (runtimes[r].widths * mfu_config_dim(&plan.config, "n_embd") + mfu_config_dim(&plan.config, "d_ff"));
            assert_near(kernels, rows[i].kernels * runtimes[r].inputs * layers, 1e-9);
            assert_near(bytes, rows[i].bytes * elements, 1e-9);
            assert_near(read, 2 * rows[i].reads * elements, 1e-9);
        }
}

/* Narrower operands are kept in fewer bytes, and so are copies in one order only. */
static void what_is_kept_follows_the_operand(void **state)
{
    struct mfu_error err = {0};
    double fp8, mxfp8, nvfp4;

    (void)state;
    assert_int_equal(make("b200", "fp8", "fused", &err), 0);
    fp8 = mfu_saved_bytes(&plan.program);
    assert_int_equal(make("b200", "mxfp8", "fused", &err), 0);
    mxfp8 = mfu_saved_bytes(&plan.program);
    assert_int_equal(make("b200", "nvfp4", "fused", &err), 0);
    nvfp4 = mfu_saved_bytes(&plan.program);
    assert_true(nvfp4 < fp8 && fp8 < mxfp8);
}

/* Who has no units is told what would work. */
static void peaks_that_a_card_lacks_are_refused(void **state)
{
    static const struct {
        const char *gpu, *precision, *instead;
    } rows[] = {
        {"a100-80gb-sxm", "fp8", "bf16"},     {"h100-sxm", "mxfp8", "fp8-block"}, {"h100-sxm", "nvfp4", "fp8"},
        {"v100-32gb-sxm", "bf16-sr", "fp16"}, {"rtx4090", "mxfp4", "fp8"},        {"quadro-rtx8000", "int8", "fp16"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mfu_error err = {0};

        assert_int_equal(make(rows[i].gpu, rows[i].precision, "eager", &err), -1);
        assert_string_equal(err.suggestion, rows[i].instead);
    }
}

/* What is not known of a card (no compute capability) is not taken for granted; what runs on one maker's cards alone is
 * refused on the others', and nowhere else. */
static void software_runs_where_it_exists(void **state)
{
    static const struct {
        const char *gpu, *key, *value, *instead; /* NULL: it runs */
    } rows[] = {
        {"mi300x", "precision", "mxfp8", "fp8-block"}, {"mi355x", "precision", "mxfp8", NULL},
        {"mi300x", "precision", "fp8", NULL},          {"b200", "precision", "mxfp8", NULL},
        {"mi300x", "runtime", "llmc", NULL},           {"m3-max", "runtime", "llmc", "eager"},
        {"h100-sxm", "runtime", "llmc", NULL},         {"m3-max", "runtime", "fused", "eager"},
        {"mi300x", "runtime", "fused", NULL},          {"m3-max", "optimizer", "adam8bit", "adamw"},
        {"mi300x", "optimizer", "adam8bit", NULL},     {"h100-sxm", "optimizer", "adam8bit", NULL},
        {"gaudi2", "runtime", "llmc", "eager"},        {"gaudi2", "runtime", "te", NULL},
        {"gaudi2", "precision", "fp8", NULL},          {"gaudi2", "optimizer", "adam8bit", "adamw"},
        {"arc-b580", "runtime", "te", "eager"},        {"arc-b580", "runtime", "compile", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct mfu_scenario s =
            mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, rows[i].gpu, NULL));
        struct mfu_error err = {0};
        int status = mfu_scenario_set(&s, rows[i].key, rows[i].value, &err);

        if (status == 0)
            status = mfu_plan_make(&plan, &s, &err);
        if (status != (rows[i].instead ? -1 : 0))
            fail_msg("%s %s on %s: %s", rows[i].key, rows[i].value, rows[i].gpu, err.text);
        assert_string_equal(err.suggestion, rows[i].instead ? rows[i].instead : "");
    }
}

/* fp8 means what the trainer means by it, wherever it is set. */
static void a_trainer_has_its_own_fp8(void **state)
{
    struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "llama-3.2-1b", NULL),
                                               mfu_catalog_gpu(catalog, "h100-sxm", NULL));
    struct mfu_error err = {0};
    struct mfu_config c;

    (void)state;
    assert_int_equal(mfu_scenario_set(&s, "precision", "fp8", &err), 0);
    assert_int_equal(mfu_scenario_set(&s, "trainer", "torchtitan", &err), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, &err), 0);
    assert_int_equal(c.precision, MFU_FP8_CURRENT);
    assert_int_equal(mfu_scenario_set(&s, "trainer", "megatron-te", &err), 0);
    assert_int_equal(mfu_scenario_resolve(&s, &c, &err), 0);
    assert_int_equal(c.precision, MFU_FP8);
}

/* Four bits are faster than eight where operands are large; a scan costs time. */
static void time_follows_units_and_kernels(void **state)
{
    struct mfu_error err = {0};
    double delayed_s, current_s;

    (void)state;
    assert_int_equal(make("h100-sxm", "fp8", "fused", &err), 0);
    delayed_s = plan.step.busy_s;
    assert_int_equal(make("h100-sxm", "fp8-current", "fused", &err), 0);
    current_s = plan.step.busy_s;
    assert_true(current_s > delayed_s);
    assert_int_equal(make("b200", "bf16-sr", "eager", &err), 0);
    delayed_s = plan.memory.peak.bytes;
    assert_int_equal(make("b200", "bf16-pure", "eager", &err), 0);
    assert_near(plan.memory.peak.bytes, delayed_s, 0);
    assert_true(plan.machine.gemm_flops[MFU_PEAK_NVFP4] > plan.machine.gemm_flops[MFU_PEAK_FP8]);
}

static int release(void **state)
{
    mfu_plan_release(&plan);
    return close_catalog(state);
}

/* Whatever is shared, sent in pieces or kept for all micro-steps: an operand of half the bytes leaves no more for backward,
 * and tensor ranks divide it. */
static void narrow_operands_keep_no_more(void **state)
{
    static const char *const settings[][2] = {
        {"trainer", "megatron-te"}, {"gpus", "8"}, {"accum", "4"}, {"tp", "2"}, {"pp", "2"}};
    double kept[2][2];
    struct mfu_error err = {0};

    (void)state;
    for (int narrow = 0; narrow < 2; narrow++)
        for (int sp = 0; sp < 2; sp++) {
            struct mfu_scenario s = mfu_scenario_start(mfu_catalog_model(catalog, "llama-3-8b", NULL),
                                                       mfu_catalog_gpu(catalog, "h100-sxm", NULL));

            for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
                assert_int_equal(mfu_scenario_set(&s, settings[i][0], settings[i][1], &err), 0);
            assert_int_equal(mfu_scenario_set(&s, "precision", narrow ? "fp8-current" : "bf16", &err), 0);
            assert_int_equal(mfu_scenario_set(&s, "sp", sp ? "on" : "off", &err), 0);
            assert_int_equal(mfu_plan_make(&plan, &s, &err), 0);
            kept[narrow][sp] = plan.stages[1].kept_bytes;
        }
    for (int sp = 0; sp < 2; sp++)
        assert_true(kept[1][sp] < kept[0][sp]);
    for (int narrow = 0; narrow < 2; narrow++)
        assert_true(kept[narrow][1] < kept[narrow][0]);
}

/* A plan of Llama 3.2 1B on 8 GPUs, four micro-steps a step; `settings` are keys and values in turn, then NULL. */
static int make_on_8(const char *gpu, const char *precision, const char *const *settings, struct mfu_error *err)
{
    struct mfu_scenario s =
        mfu_scenario_start(mfu_catalog_model(catalog, "llama-3.2-1b", NULL), mfu_catalog_gpu(catalog, gpu, NULL));

    assert_int_equal(mfu_scenario_set(&s, "gpus", "8", err), 0);
    assert_int_equal(mfu_scenario_set(&s, "accum", "4", err), 0);
    assert_int_equal(mfu_scenario_set(&s, "precision", precision, err), 0);
    for (; settings[0]; settings += 2)
        assert_int_equal(mfu_scenario_set(&s, settings[0], settings[1], err), 0);
    return mfu_plan_make(&plan, &s, err);
}

/* Bytes of all collectives of a kind, in the mean over micro-steps. */
static double sent(enum mfu_collective_kind kind)
{
    double bytes = 0;

    for (int k = 0; k < plan.program.n_segments; k++)
        for (int i = plan.program.segments[k].first;
             i < plan.program.segments[k].first + plan.program.segments[k].count; i++) {
            const struct mfu_launch *l = &plan.program.launches[i];

            if (l->work->collective.axes != 0 && l->work->collective.kind == kind)
                bytes += plan.program.segments[k].repeat * l->work->kernel.launches * l->work->collective.bytes;
        }
    return bytes;
}

/* Weights of linears but the head, of Llama: q and o, k and v, gate, up and down. */
static double linear_weights(void)
{
    double width = mfu_config_dim(&plan.config, "n_embd");
    double keys = width * mfu_config_dim(&plan.config, "n_kv_head") / mfu_config_dim(&plan.config, "n_head");

    return mfu_config_dim(&plan.config, "n_layer") * width
        * (2 * width + 2 * keys + 3 * mfu_config_dim(&plan.config, "d_ff"));
}

/* Held and gathered in 8 bits with their scales, never quantised in forward, transposed where the GPU needs both orders; or held
 * in both, and gathered in 16 bits, of which each rank makes them. */
static void primary_weights_take_the_bytes_of_operands(void **state)
{
    static const struct {
        const char *gpu, *precision;
        double bytes, sent, transposed;
        bool quantised;
    } rows[] = {{"h100-sxm", "fp8", 1, 1, 1, false},
                {"h100-sxm", "fp8-current", 1, 1, 1, false},
                {"h100-sxm", "fp8-block", 1 + 1. / 32, 1 + 1. / 32, 1 + 1. / 32, false},
                {"b200", "fp8", 1, 1, 0, false},
                {"b200", "mxfp8", 2 + 2. / 32, 2, 0, true}};
    static const char *const off[] = {"trainer", "megatron-te", "zero", "1", NULL};
    static const char *const on[] = {"trainer", "megatron-te", "zero", "1", "fp8_param_gather", "on", NULL};
    struct mfu_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double weights, states, gradients, gathered, reduced, kernels, read, linears;

        assert_int_equal(make_on_8(rows[i].gpu, rows[i].precision, off, &err), 0);
        linears = linear_weights();
        weights = plan.program.constant_bytes[MFU_PART_WEIGHTS];
        states = plan.program.constant_bytes[MFU_PART_OPTIMIZER];
        gradients = plan.program.constant_bytes[MFU_PART_GRADIENTS];
        gathered = sent(MFU_ALL_GATHER);
        reduced = sent(MFU_REDUCE_SCATTER);
        assert_near(weights, 2 * plan.program.params, 1e-12);
        assert_near(gathered, 2 * plan.program.params, 1e-12);
        assert_true(quantised("quantise_weight", &kernels, &read) > 0);
        assert_int_equal(make_on_8(rows[i].gpu, rows[i].precision, on, &err), 0);
        assert_near(plan.program.constant_bytes[MFU_PART_WEIGHTS], weights - (2 - rows[i].bytes) * linears, 1e-12);
        assert_near(sent(MFU_ALL_GATHER), gathered - (2 - rows[i].sent) * linears, 1e-12);
        assert_near(plan.program.constant_bytes[MFU_PART_OPTIMIZER], states, 0);
        assert_near(plan.program.constant_bytes[MFU_PART_GRADIENTS], gradients, 0);
        assert_near(sent(MFU_REDUCE_SCATTER), reduced, 0);
        assert_near(quantised("quantise_weight", &kernels, &read), 0, 0); /* nothing beside the weights themselves */
        assert_int_equal(kernels > 0, rows[i].quantised);
        assert_near(quantised("transpose_weight", &kernels, &read), rows[i].transposed * linears / 4, 1e-9);
        assert_near(read, rows[i].transposed * linears / 4, 1e-9);
    }
}

/* FSDP gathers them as they lie, for both passes, and nothing of them stays in between. */
static void sharded_primary_weights_are_gathered_as_they_lie(void **state)
{
    static const char *const off[] = {"trainer", "megatron-te", "zero", "3", NULL};
    static const char *const on[] = {"trainer", "megatron-te", "zero", "3", "fp8_param_gather", "on", NULL};
    struct mfu_error err = {0};
    double gathered, peak, kernels, read;

    (void)state;
    assert_int_equal(make_on_8("h100-sxm", "fp8", off, &err), 0);
    gathered = sent(MFU_ALL_GATHER);
    peak = plan.memory.peak.bytes;
    assert_true(quantised("quantise_weight", &kernels, &read) > 0);
    assert_int_equal(make_on_8("h100-sxm", "fp8", on, &err), 0);
    assert_near(sent(MFU_ALL_GATHER), gathered - 2 * linear_weights(), 1e-3 * gathered);
    assert_near(quantised("quantise_weight", &kernels, &read), 0, 0);
    assert_true(plan.memory.peak.bytes < peak);
}

/* Frozen weights lie so, too, beside adapters that do not. */
static void frozen_weights_are_operands(void **state)
{
    static const char *const halves[] = {"trainer", "megatron-bridge",  "zero", "1", "lora",
                                         "8",       "fp8_param_gather", "off",  NULL};
    static const char *const bytes[] = {"trainer", "megatron-bridge", "zero", "1", "lora", "8", NULL};
    struct mfu_error err = {0};
    double weights;

    (void)state;
    assert_int_equal(make_on_8("h100-sxm", "fp8", halves, &err), 0);
    weights = plan.program.constant_bytes[MFU_PART_WEIGHTS];
    assert_int_equal(make_on_8("h100-sxm", "fp8", bytes, &err), 0);
    assert_near(plan.program.constant_bytes[MFU_PART_WEIGHTS], weights - linear_weights(), 1e-9);
}

static void primary_weights_are_megatrons(void **state)
{
    static const struct {
        const char *precision, *settings[4], *says;
    } rows[] = {{"bf16", {"trainer", "megatron-te", "zero", "1"}, "no weight has 8 bits"},
                {"nvfp4", {"trainer", "megatron-te", "zero", "1"}, "not modelled"},
                {"fp8", {"trainer", "fsdp", "zero", "1"}, "megatron-te"},
                {"fp8", {"trainer", "megatron-te", "zero", "0"}, "set zero 1"}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *settings[7] = {rows[i].settings[0], rows[i].settings[1], rows[i].settings[2],
                                   rows[i].settings[3], "fp8_param_gather",  "on"};
        struct mfu_error err = {0};

        assert_true(make_on_8("b200", rows[i].precision, settings, &err) < 0);
        assert_non_null(strstr(err.text, "fp8_param_gather"));
        assert_non_null(strstr(err.text, rows[i].says));
    }
}

/* FSDP's reduce-scatter moves the type that grad_reduce says, whatever weights have. */
static void sums_of_gradients_have_the_type_that_is_said(void **state)
{
    static const struct {
        const char *type;
        double bytes;
    } rows[] = {{"as-added", 2}, {"bf16", 2}, {"fp32", 4}};
    struct mfu_error err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *settings[] = {"trainer", "torchtitan", "zero", "3", "grad_reduce", rows[i].type, NULL};

        assert_int_equal(make_on_8("h100-sxm", "bf16", settings, &err), 0);
        assert_near(sent(MFU_REDUCE_SCATTER), rows[i].bytes * plan.program.params, 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_have_the_bytes_of_their_recipe),
        cmocka_unit_test(what_is_kept_follows_the_operand),
        cmocka_unit_test(narrow_operands_keep_no_more),
        cmocka_unit_test(primary_weights_take_the_bytes_of_operands),
        cmocka_unit_test(sharded_primary_weights_are_gathered_as_they_lie),
        cmocka_unit_test(frozen_weights_are_operands),
        cmocka_unit_test(primary_weights_are_megatrons),
        cmocka_unit_test(sums_of_gradients_have_the_type_that_is_said),
        cmocka_unit_test(peaks_that_a_card_lacks_are_refused),
        cmocka_unit_test(software_runs_where_it_exists),
        cmocka_unit_test(a_trainer_has_its_own_fp8),
        cmocka_unit_test(time_follows_units_and_kernels),
    };

    return cmocka_run_group_tests(tests, open_catalog, release);
}
