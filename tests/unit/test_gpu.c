/* test_gpu.c - a data sheet as a struct, and the slips that it must not have. */
#include "near.h"
#include "scratch.h"

#include "base/error.h"
#include "descriptor/gpu.h"
#include "descriptor/yaml.h"

/* The GeForce RTX 4070, as NVIDIA prints it. */
static const char rtx4070[] = "name: GeForce RTX 4070\n"
                              "aliases: [geforce rtx 4070, \"4070\"]\n"
                              "architecture: Ada\n"
                              "family: ada\n"
                              "compute_capability: 8.9\n"
                              "sms: 46\n"
                              "clock: {base: 1920MHz, boost: 2475MHz, tensor: 2475MHz}\n"
                              "fma_per_clock_per_sm: {fp32: 128, bf16: 256, fp16: 256}\n"
                              "peak: {fp32: 29.1TFLOP/s, bf16: 58.3TFLOP/s}\n"
                              "memory: {type: GDDR6X, size: 12GB, smi_total: 12282MiB,\n"
                              "         capacity: 11770MiB, bandwidth: 504GB/s, l2: 36MiB}\n"
                              "board: {power: 200W, nvlink: 0GB/s, peer: \"no\"}\n"
                              "sources: {peak: p, clock: c, memory: m, capacity: d, board: b}\n";

/* Replaces the first `from` in the text by `to`. */
static char *with(const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    char *all = malloc(strlen(text) + strlen(to) + 1);

    assert_non_null(at);
    assert_non_null(all);
    memcpy(all, text, (size_t)(at - text));
    strcpy(all + (at - text), to);
    strcat(all, at + strlen(from));
    return all;
}

static int parse(const char *text, const char *families, struct mfu_gpu *gpu, struct mfu_error *err)
{
    struct mfu_yaml *yaml = mfu_yaml_parse("gpus/rtx4070.yaml", text, strlen(text), err);
    int result = yaml ? mfu_gpu_parse(yaml, families, gpu, err) : -1;

    mfu_yaml_free(yaml);
    return result;
}

static void what_is_printed_is_read_and_the_rest_is_unknown(void **state)
{
    struct mfu_gpu gpu;
    struct mfu_error err = {0};

    (void)state;
    assert_int_equal(parse(rtx4070, NULL, &gpu, &err), 0);
    assert_string_equal(gpu.slug, "rtx4070");
    assert_string_equal(gpu.path, "gpus/rtx4070.yaml");
    assert_string_equal(gpu.name, "GeForce RTX 4070");
    assert_string_equal(gpu.peer, "no");
    assert_near(gpu.sms, 46, 0);
    assert_near(gpu.boost_hz, 2.475e9, 1e-12);
    assert_near(gpu.peak_flops[MFU_PEAK_BF16], 58.3e12, 1e-12);
    assert_near(gpu.capacity_bytes, 11770 * 0x1p20, 1e-12);
    assert_near(gpu.bandwidth_bytes_s, 504e9, 1e-12);
    assert_near(gpu.power_w, 200, 0);
    assert_true(gpu.nvlink_bytes_s == 0);
    assert_true(isnan(gpu.peak_flops[MFU_PEAK_FP8]));
    assert_true(isnan(gpu.max_observed_hz));
    assert_true(isnan(gpu.mig_instances));
    assert_true(isnan(gpu.tensor_cores));
    assert_true(isnan(gpu.coefficients.value[MFU_C_GEMM_K0]));
    assert_string_equal(gpu.peak_capped, "");
    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        assert_non_null(mfu_peak_names[i]);
}

static void slips_are_refused_where_they_stand(void **state)
{
    // clang-format off
    static const struct { const char *from, *to, *part, *suggestion; int line, column; } rows[] = {
        {"bf16: 58.3", "bf16: 116.6", "peak.bf16: 116.6 TFLOP/s is not 2 * sms * fma_per_clock_per_sm * tensor clock (58.29 TFLOP/s); is it the sparse", "", 9, 33},
        {"bf16: 58.3", "bf16: 40", "peak.capped must name it", "", 9, 33},
        {"fp32: 29.1", "fp32: 14.6", "boost clock", "", 9, 14},
        {"smi_total", "smi_totl", "memory: unknown key 'smi_totl'", "smi_total", 10, 36},
        {"sms: 46", "sms: 46k", "sms: '46k' is outside 1..4096", "", 6, 6},
        {"sms: 46", "vendor: Nvidja\nsms: 46", "vendor: no maker of cards is called 'Nvidja': NVIDIA, AMD, Apple, Intel or Habana is", "NVIDIA", 6, 9},
        {"504GB/s", "504GB", "memory: bandwidth: '504GB' is not a bandwidth", "", 11, 41},
        {"11770MiB", "12300MiB", "memory.capacity: 12.01 GiB is more than smi_total (11.99 GiB)", "", 11, 20},
        {"12282MiB", "24564MiB", "memory.smi_total: 23.99 GiB is more than its size allows", "", 10, 47},
        {"size: 12GB", "size: 24GB", "memory.size: 22.35 GiB, but smi_total is only 11.99 GiB", "", 10, 30},
        {"1920MHz", "2500MHz", "clock.base: 2.5 GHz is more than boost (2.475 GHz)", "", 7, 15},
        {", capacity: d", "", "sources.capacity is missing", "", 13, 10},
        {"peak: p, ", "", "sources.peak is missing", "", 13, 10},
        {"peak: p", "peak:", "sources.peak: expected a text", "", 13, 11},
        {"sources:", "note: x\nconfidence: A\nsources: {}\nvendor: AMD\ncoefficients:", "sources", "", 15, 10},
        {"name: GeForce RTX 4070\n", "", "'name' is missing", "", 1, 1},
        {"bandwidth: 504GB/s, ", "", "memory: 'bandwidth' is missing", "", 10, 9},
        {"[geforce rtx 4070, \"4070\"]", "{a: b}", "aliases: expected names", "", 2, 10},
        {"board:", "bord:", "unknown key 'bord'", "board", 12, 1},
    };
    // clang-format on
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char *text = with(rtx4070, rows[i].from, rows[i].to);
        struct mfu_error err = {0};
        struct mfu_gpu gpu;

        if (parse(text, NULL, &gpu, &err) == 0 || !strstr(err.text, rows[i].part) || err.line != rows[i].line
            || err.column != rows[i].column)
            fail_msg("%s -> %s: %d:%d: %s", rows[i].from, rows[i].to, err.line, err.column, err.text);
        assert_string_equal(err.suggestion, rows[i].suggestion);
        assert_string_equal(err.file, "gpus/rtx4070.yaml");
        free(text);
    }
}

static void a_peak_may_be_capped_when_the_file_says_which(void **state)
{
    struct mfu_error err = {0};
    struct mfu_gpu gpu;
    char *one = with(rtx4070, "bf16: 58.3TFLOP/s", "bf16: 40T, capped: bf16 by name");
    char *other = with(rtx4070, "bf16: 58.3TFLOP/s", "bf16: 40T, capped: fp16 by name");

    (void)state;
    assert_int_equal(parse(one, NULL, &gpu, &err), 0);
    assert_string_equal(gpu.peak_capped, "bf16 by name");
    assert_int_equal(parse(other, NULL, &gpu, &err), -1);
    free(one);
    free(other);
}

/* Coefficients ----------------------------------------------------------- */

/* A family with every coefficient but `without`, at some believable value. */
static char *family(const char *begin, const char *without)
{
    static char text[16384];
    size_t used = (size_t)snprintf(text, sizeof text, "%scoefficients:\n", begin);

    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++) {
        const struct mfu_coefficient_row *row = &mfu_coefficient_rows[i];

        if (strcmp(row->name, without) != 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "  %s: {value: %g, sigma: 10%%, source: test}\n",
                                     row->name, (row->least + row->most) / 2);
    }
    assert_true(used < sizeof text);
    return text;
}

static void the_family_speaks_first_and_the_file_last(void **state)
{
    struct mfu_error err = {0};
    SCRATCH s = scratch_new();
    struct mfu_gpu gpu;
    char *text = with(rtx4070, "board:",
                      "coefficients:\n"
                      "  gemm.k0: {value: 77, sigma: 1%, source: own}\n"
                      "board:");

    (void)state;
    scratch_file(&s, "common.yaml", family("description: all\n", "l2.speed"));
    scratch_file(&s, "ada.yaml",
                 "extends: common\n"
                 "coefficients:\n"
                 "  gemm.i0: {value: 11, sigma: 0, source: ada}\n"
                 "  gemm.k0: {value: 12, sigma: 0, source: ada}\n"
                 "  l2.speed: {value: 4, sigma: 20%, source: ada}\n");
    if (parse(text, s.folder, &gpu, &err) < 0)
        fail_msg("%s:%d: %s", err.file, err.line, err.text);
    assert_near(gpu.coefficients.value[MFU_C_GEMM_K0], 77, 0);
    assert_near(gpu.coefficients.sigma[MFU_C_GEMM_K0], 0.01, 1e-12);
    assert_int_equal(gpu.coefficients.origin[MFU_C_GEMM_K0], MFU_FROM_GPU);
    assert_string_equal(gpu.coefficients.source[MFU_C_GEMM_K0], "own");
    assert_near(gpu.coefficients.value[MFU_C_GEMM_I0], 11, 0);
    assert_near(gpu.coefficients.value[MFU_C_L2_SPEED], 4, 0);
    assert_int_equal(gpu.coefficients.origin[MFU_C_GEMM_I0], MFU_FROM_FAMILY);
    assert_int_equal(gpu.coefficients.origin[MFU_C_STEP_CONSTANT], MFU_FROM_FAMILY);
    free(text);
}

static void families_that_are_wrong_are_refused(void **state)
{
    // clang-format off
    static const struct { const char *text, *part, *suggestion, *file; int line; } rows[] = {
        {"extends: comon\n", "extends: no family is called 'comon'", "common", "/ada.yaml", 1},
        {"extends: ../x\n", "extends: '../x' cannot be the name of a family", "", "/ada.yaml", 1},
        {"extends: ada\n", "chain of more than 4", "", "/ada.yaml", 1},
        {"extend: common\n", "unknown key 'extend'", "extends", "/ada.yaml", 1},
        {"coefficients: [1]\n", "expected a mapping", "", "/ada.yaml", 1},
        {"coefficients:\n  gemm.k1: {value: 1, sigma: 0, source: x}\n", "unknown coefficient 'gemm.k1'", "gemm.k0", "/ada.yaml", 2},
        {"coefficients:\n  gemm.k0: {value: 1, source: x}\n", "gemm.k0: 'sigma' is missing", "", "/ada.yaml", 2},
        {"coefficients:\n  gemm.k0: {value: 1e9, sigma: 0, source: x}\n", "gemm.k0: value: '1e9' is outside 0..4096", "", "/ada.yaml", 2},
        {"coefficients:\n  gemm.k0: 12\n", "gemm.k0: expected a mapping", "", "/ada.yaml", 2},
        {"coefficients:\n  gemm.k0: {value: 1, sigma: 0, source: x}\n", "family: neither 'ada' nor this file gives a value for the coefficient 'gemm.efficiency'", "", "gpus/rtx4070.yaml", 4},
    };
    // clang-format on
    struct scratch s;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct mfu_error err = {0};
        struct mfu_gpu gpu;

        scratch_begin(&s);
        scratch_file(&s, "common.yaml", family("", ""));
        scratch_file(&s, "ada.yaml", rows[i].text);
        if (parse(rtx4070, s.folder, &gpu, &err) == 0 || !strstr(err.text, rows[i].part)
            || !strstr(err.file, rows[i].file) || err.line != rows[i].line)
            fail_msg("%s: %s:%d: %s", rows[i].text, err.file, err.line, err.text);
        assert_string_equal(err.suggestion, rows[i].suggestion);
        scratch_end(&s);
    }
}

static void a_family_that_is_not_there_is_named(void **state)
{
    struct mfu_error err = {0};
    SCRATCH s = scratch_new();
    struct mfu_gpu gpu;

    (void)state;
    scratch_file(&s, "adda.yaml", "");
    assert_int_equal(parse(rtx4070, s.folder, &gpu, &err), -1);
    assert_non_null(strstr(err.text, "family: no family is called 'ada' in "));
    assert_string_equal(err.suggestion, "adda");
    assert_string_equal(err.file, "gpus/rtx4070.yaml");
    assert_int_equal(err.line, 4);
}

static void coefficients_are_found_by_name(void **state)
{
    struct mfu_error err = {0};

    (void)state;
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++) {
        const struct mfu_coefficient_row *row = &mfu_coefficient_rows[i];

        assert_int_equal(mfu_coefficient_find(row->name, &err), i);
        assert_true(row->least < row->most);
        assert_true(row->meaning[0] != '\0');
    }
    assert_int_equal(mfu_coefficient_find("gemm.eficiency", &err), -1);
    assert_string_equal(err.text, "no coefficient is called 'gemm.eficiency'");
    assert_string_equal(err.suggestion, "gemm.efficiency");
}

static void a_file_finds_its_families_beside_it(void **state)
{
    struct mfu_error err = {0};
    SCRATCH s = scratch_new();
    struct mfu_gpu gpu;
    const char *path;

    (void)state;
    scratch_folder(&s, "families");
    scratch_file(&s, "families/ada.yaml", family("", ""));
    path = scratch_file(&s, "mine.yaml", rtx4070);
    assert_int_equal(mfu_gpu_read(path, NULL, &gpu, &err), 0);
    assert_string_equal(gpu.slug, "mine");
    assert_int_equal(mfu_gpu_read(s.folder, NULL, &gpu, &err), -1);
    assert_int_equal(mfu_gpu_read("/nowhere/x.yaml", NULL, &gpu, &err), -1);
    assert_string_equal(err.file, "/nowhere/x.yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_is_read_and_the_rest_is_unknown),
        cmocka_unit_test(slips_are_refused_where_they_stand),
        cmocka_unit_test(a_peak_may_be_capped_when_the_file_says_which),
        cmocka_unit_test(the_family_speaks_first_and_the_file_last),
        cmocka_unit_test(families_that_are_wrong_are_refused),
        cmocka_unit_test(a_family_that_is_not_there_is_named),
        cmocka_unit_test(coefficients_are_found_by_name),
        cmocka_unit_test(a_file_finds_its_families_beside_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
