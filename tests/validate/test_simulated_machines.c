/*
 * test_simulated_machines.c - calibration on machines that are known: coefficients drawn from
 * what is known of a card, samples and runs as files with noise, steps that were not measured.
 *
 * MFUPLAN_MACHINES says how many are drawn (3).
 */
#include "scenarios.h"
#include "owned.h"
#include "scratch.h"

#include "answer/fit/calibrate.h"
#include "base/arena.h"
#include "base/csv.h"
#include "cost/sample.h"
#include "read/runs/measured_run.h"

#define SAMPLES MFUPLAN_SOURCE_DIR "/tests/data/torch_kernels.yaml"
#define NOISE 0.03     /* of a kernel's time */
#define RUN_NOISE 0.02 /* of a step's */

static const char head[] = "gpu,model,n_gpus,seq_len,micro_batch,grad_accum,precision,compile,optimizer,attention,"
                           "sharding,step_time_ms\n";
static const char *const rows[] = {
    /* those that are measured, */
    "gpt2,1,512,1,1,bf16-amp,eager,adamw-fused,flash2", "gpt2,1,1024,4,8,bf16-amp,torch.compile,adamw-fused,flash2",
    "gpt2,1,1024,8,1,bf16-amp,eager,adamw-fused,flash2",
    /* and those that are predicted */
    "gpt2,1,1024,4,1,bf16-amp,eager,adamw-fused,flash2", "gpt2,1,1024,12,4,bf16-amp,torch.compile,adamw-fused,flash2",
    "gpt2,1,256,1,1,bf16-amp,eager,adamw-fused,flash2", "gpt2-medium,1,1024,2,4,bf16-amp,eager,adamw-fused,flash2",
    "gpt2-medium,1,1024,2,4,bf16-amp,torch.compile,adamw-fused,flash2",
    "gpt2,1,1024,8,4,bf16-amp,eager,adamw-foreach,math", "gpt2,1,512,8,2,tf32,eager,adamw-fused,memeff",
    "gpt2,1,1024,16,1,bf16-amp,eager,adamw-fused,cudnn"};
#define MEASURED 3

struct world {
    const struct mfu_gpu *gpu;
    double truth[MFU_COEFFICIENT_COUNT];
    struct mfu_measured_run runs[LENGTH(rows)];
    double steps[LENGTH(rows)]; /* what they take in truth */
    unsigned long long state;
};

static double uniform(struct world *w)
{
    w->state = w->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(w->state >> 11) / 9007199254740992.0;
}

static double normal(struct world *w)
{
    double u = fmax(uniform(w), 1e-12);

    return sqrt(-2 * log(u)) * cos(6.283185307179586 * uniform(w));
}

static double step_s(const struct mfu_scenario *scenario, const double *value)
{
    struct mfu_scenario s = *scenario;
    PLAN plan = {0};
    SIMULATION sim = {0};
    double seconds;

    for (int i = 0; i < MFU_C_NCCL_BYTES; i++) {
        s.coefficient[i] = value[i];
        s.coefficient_given[i] = true;
    }
    plan_of(&s, &plan, &sim);
    seconds = mfu_simulate_again(&plan, &sim);
    return seconds;
}

static const char *table(struct scratch *files, const char *name, const double *taken, size_t n)
{
    char text[4096];
    int used = snprintf(text, sizeof text, "%s", head);

    for (size_t i = 0; i < n; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "rtx4070,%s,none,%.9g\n", rows[i], 1e3 * taken[i]);
    return scratch_file(files, name, text);
}

/* Coefficients that others multiply: samples tell the product. */
static bool is_factor(int id)
{
    return id == MFU_C_DRAM_ATTAIN || id == MFU_C_GEMM_CLOCK || id == MFU_C_GEMM_POWER_CLOCK
        || id == MFU_C_GEMM_SETTLING;
}

/* Draws a machine; `factors`: those, too. */
static void draw(struct world *w, struct scratch *files, unsigned seed, bool factors)
{
    const struct mfu_coefficients *prior;
    ARENA arena = {0};
    struct mfu_csv csv;
    struct mfu_error err = {0};

    *w = (struct world){.gpu = mfu_catalog_gpu(catalog, "rtx4070", &err), .state = seed * 2654435761ULL + 1};
    prior = &w->gpu->coefficients;
    memcpy(w->truth, prior->value, sizeof w->truth);
    for (int i = 0; i < MFU_C_NCCL_BYTES; i++)
        if (prior->value[i] > 0 && prior->sigma[i] > 0 && (factors || !is_factor(i)))
            w->truth[i] = fmin(fmax(prior->value[i] * exp(prior->sigma[i] * normal(w)), mfu_coefficient_rows[i].least),
                               mfu_coefficient_rows[i].most);
    for (size_t i = 0; i < LENGTH(rows); i++)
        w->steps[i] = 1;
    assert_int_equal(mfu_csv_read(table(files, "scenarios.csv", w->steps, LENGTH(rows)), &arena, &csv, &err), 0);
    for (size_t i = 0; i < LENGTH(rows); i++) {
        mfu_measured_run(catalog, &csv, i, &w->runs[i]);
        assert_string_equal(w->runs[i].skipped, "");
        w->steps[i] = step_s(&w->runs[i].scenario, w->truth);
    }
}

/* What a point of `torch_kernels.py --quick` takes, and one that settles: loading kernels, warming up, repeats, sensors. */
#define POINT_S 0.6
#define SETTLED_S 15

/* The samples as that machine would have taken them, as far as `seconds` reach.  `misfit`: GEMMs and streams also have a
 * shape that no law knows, of that size, the same for neighbours. */
static const char *probe(struct world *w, struct scratch *files, double misfit, double patience_s)
{
    struct mfu_samples s;
    struct mfu_machine m;
    struct mfu_error err = {0};
    char *text = calloc(1, 1 << 18), line[512];
    FILE *f = fopen(SAMPLES, "r");
    const char *path;
    size_t n = 0;

    assert_true(text && f && mfu_samples_read(SAMPLES, &s, &err) == 0);
    mfu_machine_of(w->gpu, w->truth, &m);
    while (fgets(line, sizeof line, f)) {
        char *seconds = strstr(line, ", seconds: ");

        if (!seconds) {
            strcat(text, line);
            continue;
        }
        assert_true(n < s.n);
        patience_s -= strstr(line, "sustained: 1") ? SETTLED_S : POINT_S;
        n += patience_s < 0;
        if (patience_s < 0)
            continue;
        sprintf(text + strlen(text), "%.*s, seconds: %.9g}\n", (int)(seconds - line), line,
                mfu_sample_seconds(&m, &s.rows[n]) * exp(NOISE * normal(w) + misfit * sin((double)n / 3)));
        n++;
    }
    assert_int_equal(n, s.n);
    fclose(f);
    mfu_samples_free(&s);
    path = scratch_file(files, "samples.yaml", text);
    free(text);
    return path;
}

static struct mfu_calibrated *calibrate(struct world *w, const char *const *paths, int n)
{
    struct mfu_calibrate_input in = {.catalog = catalog, .gpu = w->gpu, .paths = paths, .n_paths = n};
    struct mfu_error err = {0};
    struct mfu_calibrated *c = mfu_calibrate(&in, &err);

    if (!c)
        fail_msg("%s", err.text);
    return c;
}

/* The mean error of the steps that nobody measured. */
static double error_of(const struct world *w, const double *value)
{
    double sum = 0;

    for (size_t i = MEASURED; i < LENGTH(rows); i++)
        sum += fabs(step_s(&w->runs[i].scenario, value) / w->steps[i] - 1);
    return sum / (LENGTH(rows) - MEASURED);
}

static int machines(void)
{
    const char *n = getenv("MFUPLAN_MACHINES");

    return n && atoi(n) > 0 ? atoi(n) : 5;
}

static void unseen_steps_are_predicted(void **state)
{
    double before = 0, minute = 0, probed = 0, with_runs = 0;
    struct world *w = malloc(sizeof *w);
    int n = machines();

    (void)state;
    for (int seed = 1; seed <= n; seed++) {
        struct mfu_calibrated *c;
        struct scratch files;
        const char *paths[2];
        double measured[MEASURED];

        scratch_begin(&files);
        draw(w, &files, (unsigned)seed, true);
        paths[0] = probe(w, &files, 0, 60);
        c = calibrate(w, paths, 1);
        minute += error_of(w, c->fit.value) / n;
        mfu_calibrated_free(c);
        paths[0] = probe(w, &files, 0, INFINITY);
        for (size_t i = 0; i < MEASURED; i++)
            measured[i] = w->steps[i] * exp(RUN_NOISE * normal(w));
        paths[1] = table(&files, "runs.csv", measured, MEASURED);
        before += error_of(w, w->gpu->coefficients.value) / n;
        c = calibrate(w, paths, 1);
        probed += error_of(w, c->fit.value) / n;
        mfu_calibrated_free(c);
        c = calibrate(w, paths, 2);
        with_runs += error_of(w, c->fit.value) / n;
        mfu_calibrated_free(c);
        scratch_end(&files);
    }
    print_message(
        "steps off by %.1f %% before, %.1f %% after a minute, %.1f %% after the probe, %.1f %% with three runs\n",
        100 * before, 100 * minute, 100 * probed, 100 * with_runs);
    assert_true(minute < 0.8 * before); /* interrupted, it helps already */
    assert_true(probed < 0.6 * before && probed <= 0.03);
    assert_true(with_runs <= 0.02);
    free(w);
}

/* Standard errors, of coefficients whose samples fit and of such as have a misfit in common. */
static void errors_are_stated_as_they_are(void **state)
{
    static const double misfits[] = {0, 0.06};
    struct world *w = malloc(sizeof *w);

    (void)state;
    for (size_t k = 0; k < LENGTH(misfits); k++) {
        int inside = 0, all = 0;

        for (int seed = 1; seed <= machines(); seed++) {
            struct mfu_calibrated *c;
            struct scratch files;
            const char *path;

            scratch_begin(&files);
            draw(w, &files, 50 + (unsigned)seed, false);
            path = probe(w, &files, misfits[k], INFINITY);
            c = calibrate(w, &path, 1);
            for (int i = 0; i < c->fit.n_rows; i++) {
                const struct mfu_fit_row *r = &c->fit.rows[i];

                if (!r->kept || !(r->sigma < 0.5 * r->prior_sigma) || !(w->truth[r->id] > 0))
                    continue;
                all++;
                inside += fabs(log(r->value / w->truth[r->id])) < 1.645 * r->sigma;
            }
            mfu_calibrated_free(c);
            scratch_end(&files);
        }
        print_message("misfit %g: %d of %d inside of 90 %%\n", misfits[k], inside, all);
        assert_true(inside >= 0.8 * all && all > 60);
    }
    free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unseen_steps_are_predicted),
        cmocka_unit_test(errors_are_stated_as_they_are),
    };

    return cmocka_run_group_tests(tests, open_catalog, close_catalog);
}
