/*
 * test_compare_trace.c - a trace beside the plan: what was put into it is found again.
 *
 * tests/data/traces/make.py recorded the one on the CPU and made the other of it.
 */
#include "near.h"

#include <stdlib.h>
#include <string.h>

#include "answer/trace/compare_trace.h"
#include "base/error.h"
#include "scenarios.h"
#include "scratch.h"

#define TRACES MFUPLAN_SOURCE_DIR "/tests/data/traces/"
#define MODEL "n_layer 1 n_embd 64 n_head 2 seq 64 vocab_size 128 batch 2 precision fp32 grad_clip 0"

static struct mfu_plan plan;
static struct mfu_simulation simulation;
static struct mfu_trace_comparison c;

static int release(void **state)
{
    mfu_simulation_release(&simulation);
    mfu_plan_release(&plan);
    return close_catalog(state);
}

static void compare(const char *path)
{
    struct mfu_scenario s = scenario_of("h100-sxm", "gpt2", MODEL);
    struct mfu_error err = {0};

    if (mfu_compare_trace(&s, path, &plan, &simulation, &c, &err) < 0)
        fail_msg("%s: %s", path, err.text);
}

static const struct mfu_aligned *row(const struct mfu_aligned *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    fail_msg("no row %s", name);
    return NULL;
}

static const struct mfu_aligned *kernel(const char *name)
{
    return row(c.alignment->kernels, c.alignment->n_kernels, name);
}

/* The trace of the GPU with the last line that has `text` replaced: `by` NULL: left out; else what
 * stands there instead of `text`. */
static void compare_changed(const char *text, const char *by)
{
    char *all = calloc(1, 1 << 20), *changed = calloc(1, 1 << 20), *last = NULL;
    FILE *in = fopen(TRACES "gpu.json", "r");
    struct scratch s;

    assert_true(all && changed && in && fread(all, 1, (1 << 20) - 1, in) > 0);
    fclose(in);
    for (char *p = all; (p = strstr(p, text)); p++)
        last = p;
    assert_non_null(last);
    scratch_begin(&s);
    if (by)
        snprintf(changed, 1 << 20, "%.*s%s%s", (int)(last - all), all, by, last + strlen(text));
    else {
        char *line = last, *end = strchr(last, '\n') + 1;

        while (line[-1] != '\n')
            line--;
        snprintf(changed, 1 << 20, "%.*s%s", (int)(line - all), all, end);
    }
    compare(scratch_file(&s, "t.json", changed));
    scratch_end(&s);
    free(all);
    free(changed);
}

/* PyTorch's own trace: every product has its launch, and all but little of the time. */
static void test_cpu(void **state)
{
    const struct mfu_aligned *gemm;

    (void)state;
    compare(TRACES "cpu.json");
    assert_true(c.on_cpu && isnan(c.busy_s) && isnan(c.recoverable_s));
    assert_int_equal(c.steps, 2);
    gemm = row(c.alignment->kinds, c.alignment->n_kinds, "gemm");
    assert_true(gemm->count == gemm->measured_count && gemm->count == 15);
    assert_true(c.alignment->runs[0].matched > 0.9);
    for (size_t i = 0; i < c.alignment->n_kernels; i++)
        assert_true(c.alignment->kernels[i].recoverable_s == 0);
    mfu_trace_comparison_release(&c);
}

/* The gaps that were put in, by cause; with the kernels they are the step. */
static void test_gaps(void **state)
{
    double sum = 0;

    (void)state;
    compare(TRACES "gpu.json");
    assert_false(c.on_cpu);
    assert_string_equal(c.device, "NVIDIA H100 80GB HBM3");
    assert_near(c.gaps[MFU_GAP_LOADER].measured_s, 3e-3, 0.01);
    assert_near(c.gaps[MFU_GAP_SYNC].measured_s, 1e-3, 0.02);
    assert_near(c.gaps[MFU_GAP_HOST].measured_s, 2e-3, 0.02);
    assert_near(c.gaps[MFU_GAP_EXPOSED].measured_s, 500e-6, 0.001);
    for (int i = 0; i < MFU_GAP_EXPOSED; i++)
        sum += c.gaps[i].measured_s;
    assert_near(sum + c.busy_s, c.step_s, 1e-6);
    mfu_trace_comparison_release(&c);
}

static void test_kernels(void **state)
{
    double took, could;

    (void)state;
    compare(TRACES "gpu.json");
    assert_string_equal(kernel("h.mlp.gelu")->status, "slow"); /* 20 us each */
    took = c.busy_s;
    could = c.recoverable_s;
    mfu_trace_comparison_release(&c);

    compare_changed("void at::native::kernel<gelu>", NULL);
    assert_string_equal(kernel("h.mlp.gelu")->status, "missing");
    assert_near(c.busy_s, took - 20e-6, 1e-6);
    mfu_trace_comparison_release(&c);

    compare_changed("\"dur\":500.0", "\"dur\":900.0");      /* the collective */
    assert_near(c.recoverable_s, could + 2 * 400e-6, 1e-6); /* as a kernel that nobody planned, and exposed */
    mfu_trace_comparison_release(&c);

    compare_changed("\"cat\":\"kernel\",\"name\":\"nccl", "\"cat\":\"kernel\",\"name\":\"void something_else");
    assert_true(c.gaps[MFU_GAP_EXPOSED].measured_s == 0);
    mfu_trace_comparison_release(&c);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *text, *says;
        int line;
    } wrong[] = {{"{\"traceEvents\": [\n  {\"ph\": }]}", "no JSON", 2},
                 {"{}", "traceEvents", 0},
                 {"{\"traceEvents\": []}", "no kernel", 0},
                 {"7", "no JSON", 1}};
    struct mfu_scenario s = scenario_of("h100-sxm", "gpt2", MODEL " accum 2");
    struct mfu_error err = {0};

    (void)state;
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct scratch folder;
        struct mfu_kineto k;

        scratch_begin(&folder);
        err = (struct mfu_error){0};
        assert_int_equal(mfu_kineto_read(scratch_file(&folder, "t.json", wrong[i].text), &k, &err), -1);
        assert_non_null(strstr(err.text, wrong[i].says));
        assert_int_equal(err.line, wrong[i].line);
        mfu_kineto_release(&k);
        scratch_end(&folder);
    }
    assert_int_equal(mfu_compare_trace(&s, TRACES "gpu.json", &plan, &simulation, &c, &err), -1);
    assert_non_null(strstr(err.text, "accum 1"));
    mfu_trace_comparison_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_gaps),
                                       cmocka_unit_test(test_kernels), cmocka_unit_test(test_refusals)};

    return cmocka_run_group_tests(tests, open_catalog, release);
}
