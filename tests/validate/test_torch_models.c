/*
 * Real model code as the judge: the classes of transformers and torchvision and nanoGPT's,
 * measured on fake CUDA tensors (tests/oracle/torch_models.py), against plans of the same
 * config.json files with nothing set but what the training loop chose.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "descriptor/catalog.h"
#include "near.h"
#include "oracle.h"

#define MOST 1200 /* rows of the table */

static int set_up(void **state)
{
    return oracle_open(state, MFUPLAN_SOURCE_DIR "/tests/oracle/torch_models.csv");
}

static const char *text(const struct oracle *f, size_t row, const char *column)
{
    return mfu_csv_get(&f->csv, row, column);
}

static double number(const struct oracle *f, size_t row, const char *column)
{
    return atof(text(f, row, column));
}

static bool is(const struct oracle *f, size_t row, const char *column, const char *value)
{
    return strcmp(text(f, row, column), value) == 0;
}

static void set(const struct oracle *f, size_t row, struct mfu_scenario *s, const char *key, const char *value)
{
    struct mfu_error err = {0};

    if (mfu_scenario_set(s, key, value, &err) < 0)
        fail_msg("%s: %s", text(f, row, "id"), err.text);
}

/* The model: a config.json, or one that has none, with the dims that its code was given. */
static const struct mfu_model *model_of(struct oracle *f, size_t row)
{
    struct mfu_error err = {0};
    const char *name = text(f, row, "model");
    const struct mfu_model *m;
    char path[400];

    snprintf(path, sizeof path, MFUPLAN_SOURCE_DIR "/tests/oracle/configs/%s.json", name);
    m = mfu_catalog_model(f->catalog,
                          strcmp(name, "nanogpt") == 0               ? "gpt2"
                              : strcmp(name, "torchvision-vit") == 0 ? "torchvision-vit-b-16"
                              : strncmp(name, "timm/", 5) == 0       ? name + 5
                                                                     : path,
                          &err);
    if (!m)
        fail_msg("%s: %s", text(f, row, "id"), err.text);
    return m;
}

/* Sets what the loop chose, and leaves out what the oracle does not count: cuBLAS workspaces. */
static void plan_row(struct oracle *f, size_t row)
{
    static const char *const keys[] = {"batch", "accum", "precision", "checkpoint", "optimizer", "runtime"};
    struct mfu_error err = {0};
    struct mfu_scenario s = mfu_scenario_start(model_of(f, row), mfu_catalog_gpu(f->catalog, "a100-80gb-sxm", &err));
    char dims[200], *rest = dims, *each;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        set(f, row, &s, keys[i], text(f, row, keys[i]));
    if (!is(f, row, "model", "torchvision-vit") && *text(f, row, "seq"))
        set(f, row, &s, "seq", text(f, row, "seq"));
    if (is(f, row, "attention", "eager"))
        set(f, row, &s, "attention", "math");
    if (is(f, row, "loop", "keep"))
        set(f, row, &s, "keep_logits", "1");
    if (is(f, row, "loop", "hooks"))
        set(f, row, &s, "optimizer_in_backward", "on");
    if (*text(f, row, "base"))
        set(f, row, &s, "base_precision", text(f, row, "base"));
    snprintf(dims, sizeof dims, "%s %s %s", text(f, row, "dims"), text(f, row, "adapter"), text(f, row, "trainable"));
    while ((each = strtok_r(rest, " ", &rest))) {
        char *value = strchr(each, '=');

        *value++ = '\0';
        set(f, row, &s, each, value);
    }
    set(f, row, &s, "memory.cublas_workspace", "0");
    if (mfu_plan_make(&f->plan, &s, &err) < 0)
        fail_msg("%s: %s", text(f, row, "id"), err.text);
}

/* Relative errors of one figure over the table. */
struct errors {
    const char *what;
    double error[MOST];
    int n;
};

static void add(struct errors *e, const char *id, double is, double should, double tell)
{
    double error = is / should - 1;

    if (fabs(error) > tell)
        fprintf(stderr, "%-32s %-16s %14.0f instead of %14.0f (%+.3f %%)\n", id, e->what, is, should, 100 * error);
    if (e->n < MOST)
        e->error[e->n++] = fabs(error);
}

static int upwards(const void *a, const void *b)
{
    double d = *(const double *)a - *(const double *)b;

    return d > 0 ? 1 : d < 0 ? -1 : 0;
}

/* The error that a share of the rows does not exceed. */
static double quantile(struct errors *e, double share)
{
    qsort(e->error, (size_t)e->n, sizeof e->error[0], upwards);
    return e->error[(int)fmin(e->n - 1, floor(share * e->n))];
}

static void say(struct errors *e)
{
    print_message("%-16s %3d rows: median %.3f %%, 95 %% within %.3f %%, worst %.3f %%\n", e->what, e->n,
                  100 * quantile(e, 0.5), 100 * quantile(e, 0.95), 100 * quantile(e, 1));
}

/* Embeddings that are a module: variables that die with it are no part of the highest moment in forward. */
static bool has_modules(const struct mfu_model *m)
{
    for (int i = 0; i < m->n_sections; i++)
        if (m->sections[i].module)
            return true;
    return false;
}

static void memory_is_that_of_real_models(void **state)
{
    struct oracle *f = *state;
    struct errors saved = {"saved", {0}, 0}, compiled = {"saved, compiled", {0}, 0}, peak = {"peak", {0}, 0};
    struct errors forward = {"forward peak", {0}, 0}, partly = {"adapters", {0}, 0}, unets = {"U-Nets", {0}, 0};
    struct errors modules = {"of modules", {0}, 0};

    for (size_t row = 0; row < f->csv.n_rows; row++) {
        const char *id = text(f, row, "id");
        double buffers = number(f, row, "buffer_bytes");

        plan_row(f, row);
        if (is(f, row, "runtime", "compile")) {
            add(&compiled, id, mfu_saved_bytes(&f->plan.program), number(f, row, "saved_bytes"), 0.03);
            continue;
        }
        if (number(f, row, "saved_bytes") > 0)
            add(&saved, id, mfu_saved_bytes(&f->plan.program), number(f, row, "saved_bytes"), 0.01);
        add(&forward, id, f->plan.memory.peak.forward_peak_bytes + buffers, number(f, row, "forward_peak_bytes"), 0.02);
        if (has_modules(f->plan.config.model))
            add(&modules, id, f->plan.memory.peak.forward_peak_bytes + buffers, number(f, row, "forward_peak_bytes"),
                1);
        if (*text(f, row, "adapter") || *text(f, row, "trainable"))
            add(&partly, id, f->plan.memory.peak.bytes + buffers, number(f, row, "peak_bytes"), 0.005);
        if (is(f, row, "model", "sd15") || is(f, row, "model", "sdxl")) /* prompts are read by weights nothing saves */
            add(&unets, id, f->plan.memory.peak.bytes + buffers, number(f, row, "peak_bytes"), 0.01);
        add(&peak, id, f->plan.memory.peak.bytes + buffers, number(f, row, "peak_bytes"), 0.01);
    }
    say(&saved);
    say(&compiled);
    say(&forward);
    say(&peak);
    say(&partly);
    say(&unets);
    say(&modules);
    assert_true(modules.n >= 30 && quantile(&modules, 0.5) <= 0.0001 && quantile(&modules, 0.8) <= 0.003);
    assert_true(quantile(&forward, 0.5) <= 0.001 && quantile(&forward, 0.95) <= 0.01);
    assert_true(unets.n >= 18 && quantile(&unets, 0.5) <= 0.001 && quantile(&unets, 1) <= 0.01);
    assert_true(partly.n >= 30);
    assert_true(quantile(&partly, 0.5) <= 0.001);
    assert_true(quantile(&partly, 1) <= 0.01);
    assert_true(peak.n + compiled.n >= 120);
    assert_true(quantile(&peak, 0.5) <= 0.0005);
    assert_true(quantile(&peak, 0.95) <= 0.0075);
    assert_true(quantile(&peak, 1) <= 0.03);
    assert_true(quantile(&compiled, 0.95) <= 0.02);
    assert_true(quantile(&compiled, 1) <= 0.03);
}

static void flops_and_parameters_are_those_of_real_models(void **state)
{
    struct oracle *f = *state;
    int failures = 0;

    for (size_t row = 0; row < f->csv.n_rows; row++) {
        const char *id = text(f, row, "id");
        const struct {
            const char *what;
            double is;
        } each[] = {{"params", 0}, {"trained", 0}, {"flops_forward", 0}, {"flops_backward", 0}};
        double found[4];

        plan_row(f, row);
        found[0] = f->plan.program.params;
        found[1] = f->plan.program.trainable_params;
        found[2] = oracle_flops(&f->plan, MFU_FORWARD);
        found[3] = oracle_flops(&f->plan, MFU_BACKWARD);
        for (int i = 0; i < 4; i++) {
            double should = number(f, row, each[i].what);

            if (i == 3 && is(f, row, "loop", "hooks") && mfu_optimizers[f->plan.config.optimizer].matrices)
                continue; /* products of the update are counted */
            if (fabs(found[i] / should - 1) > 1e-9) {
                fprintf(stderr, "%-32s %-16s %16.0f instead of %16.0f (%+.4f %%)\n", id, each[i].what, found[i], should,
                        100 * (found[i] / should - 1));
                failures++;
            }
        }
    }
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_that_of_real_models),
        cmocka_unit_test(flops_and_parameters_are_those_of_real_models),
    };

    return cmocka_run_group_tests(tests, set_up, oracle_close);
}
