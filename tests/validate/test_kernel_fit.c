/*
 * Published timings as if a probe had written them: what the fit makes of half
 * of them, tried on the other half; and runs of a few configurations, tried on
 * the others of their source and GPU.
 *
 * The kernel timings are not part of the repository: the environment's
 * MFUPLAN_KERNEL_TIMINGS names their folder, or those tests are skipped.
 */
#include "near.h"
#include "owned.h"
#include "published_timings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer/fit/calibrate.h"
#include "read/runs/measured_reading.h"
#include "read/runs/measured_run.h"
#include "scenario/setting.h"
#include "plan/plan.h"
#include "plan/simulation.h"
#include "answer/validate/validate.h"
#include "base/csv.h"
#include "base/error.h"
#include "cost/fit.h"
#include "cost/sample.h"
#include "descriptor/catalog.h"

#define RUNS MFUPLAN_SOURCE_DIR "/examples/measured/published.csv"

static struct mfu_catalog *catalog;

/* The folder of the timings; "" if none is named. */
static const char *timings(void)
{
    const char *folder = getenv("MFUPLAN_KERNEL_TIMINGS");

    return folder ? folder : "";
}

static int set_up(void **state)
{
    (void)state;
    catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, NULL);
    return catalog ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mfu_catalog_free(catalog);
    return 0;
}

static void need_kernels(void)
{
    if (access(timings(), R_OK) == 0)
        return;
    print_message("skipped: no folder of kernel timings is named: \"%s\"\n", timings());
    skip();
}

/* ---- kernels ------------------------------------------------------------- */

/* Half of the samples to fit to, half to try it on. */
struct halves {
    const struct mfu_gpu *gpu;
    struct mfu_samples all;
    struct mfu_sample *half[2];
    size_t n[2];
    int fitted; /* which one `predict` sees */
    struct mfu_machine machine;
    double machine_is_of[MFU_COEFFICIENT_COUNT];
};

static double predict(void *context, size_t i, const double value[MFU_COEFFICIENT_COUNT])
{
    struct halves *h = context;

    if (memcmp(h->machine_is_of, value, sizeof h->machine_is_of) != 0) {
        mfu_machine_of(h->gpu, value, &h->machine);
        memcpy(h->machine_is_of, value, sizeof h->machine_is_of);
    }
    return mfu_sample_seconds(&h->machine, &h->half[h->fitted][i]);
}

static void read_table(struct halves *h, const char *file, const char *gpu)
{
    struct mfu_error err = {0};
    char path[512];

    memset(h, 0, sizeof *h);
    snprintf(path, sizeof path, "%s/%s", timings(), file);
    h->gpu = mfu_catalog_gpu(catalog, gpu, &err);
    if (!h->gpu || read_published_timings(path, gpu, &h->all, &err) < 0)
        fail_msg("%s: %s", gpu, err.text);
    for (int k = 0; k < 2; k++)
        assert_non_null(h->half[k] = calloc(h->all.n + 1, sizeof *h->half[k]));
}

static void release(struct halves *h)
{
    mfu_samples_free(&h->all);
    free(h->half[0]);
    free(h->half[1]);
}

static void put(struct halves *h, int half, const struct mfu_sample *s)
{
    h->half[half][h->n[half]++] = *s;
}

/* What was tried on points that the fit had not seen. */
struct score {
    double before, after; /* sums of relative errors */
    size_t n;
};

/* Fits to one half and tries it on the other; both ways round. */
static struct score cross(struct halves *h)
{
    struct score s = {0};

    for (int k = 0; k < 2; k++) {
        struct mfu_fit_point *points = calloc(h->n[k] + 1, sizeof *points);
        struct mfu_fit_parameter parameters[MFU_COEFFICIENT_COUNT];
        struct mfu_fit_input in = {.points = points,
                                   .n_points = h->n[k],
                                   .classes = h->all.classes,
                                   .n_classes = h->all.n_classes,
                                   .parameters = parameters,
                                   .prior = &h->gpu->coefficients,
                                   .predict = predict,
                                   .context = h,
                                   .without_held_out = true};
        struct mfu_error err = {0};
        struct mfu_fit f;

        for (size_t i = 0; i < h->n[k]; i++)
            points[i] = (struct mfu_fit_point){.seconds = h->half[k][i].seconds, .kind = h->half[k][i].kind};
        h->fitted = k;
        in.n_parameters = mfu_fit_candidates(&in, parameters);
        if (mfu_fit_coefficients(&in, &f, &err) < 0)
            fail_msg("%s", err.text);
        h->fitted = 1 - k;
        for (size_t i = 0; i < h->n[1 - k]; i++) {
            double measured = h->half[1 - k][i].seconds;

            s.after += fabs(predict(h, i, f.value) / measured - 1);
            s.before += fabs(predict(h, i, h->gpu->coefficients.value) / measured - 1);
            s.n++;
        }
        free(points);
    }
    return s;
}

static double report(const char *gpu, const char *what, const struct score *s)
{
    print_message("%-18s %-40s %4zu unseen: MAPE %5.1f %%, %5.1f %% before\n", gpu, what, s->n,
                  100 * s->after / (double)s->n, 100 * s->before / (double)s->n);
    return s->after / (double)s->n;
}

/* Pairs (n, k) fall into halves as a whole: shapes of one layer. */
static void gemms_of_other_layers_are_predicted(void **state)
{
    static const struct {
        const char *gpu;
        double bar;
    } rows[] = {{"a100-80gb-sxm", 0.05}, {"h100-sxm", 0.05}, {"gb200", 0.08}, {"rtxpro6000-server", 0.05}};

    (void)state;
    need_kernels();
    for (size_t g = 0; g < LENGTH(rows); g++) {
        struct halves h;
        struct score s;

        read_table(&h, "gemm-bf16-sweep.csv", rows[g].gpu);
        for (size_t i = 0; i < h.all.n; i++) {
            const struct mfu_kernel *k = &h.all.rows[i].kernel;
            unsigned pair = (unsigned)k->n * 2654435761u ^ (unsigned)k->k * 40503u;

            pair ^= pair >> 15;
            pair *= 2246822519u;
            if (k->m >= 512 && k->n >= 512 && k->k >= 512)
                put(&h, (pair ^ pair >> 13) & 1, &h.all.rows[i]);
        }
        s = cross(&h);
        assert_true(report(rows[g].gpu, "bf16 GEMMs, all sides 512 and more", &s) <= rows[g].bar);
        release(&h);
    }
}

/* Every second sample of one kind on one GPU. */
static struct score every_second(struct halves *h, int kind, double gpus, double least_bytes, double least_s)
{
    int half = 0;

    h->n[0] = h->n[1] = 0;
    for (size_t i = 0; i < h->all.n; i++) {
        const struct mfu_sample *s = &h->all.rows[i];
        /* Rows as models have them; odd ones are read in pieces. */
        bool regular = s->form != MFU_SAMPLE_KERNEL || s->kernel.m <= 1 || fmod(s->kernel.n, 64) == 0;

        if (s->kind == kind && s->gpus == gpus && s->bytes >= least_bytes && s->seconds >= least_s && regular) {
            put(h, half, s);
            half = 1 - half;
        }
    }
    return h->n[0] >= 4 && h->n[1] >= 4 ? cross(h) : (struct score){.n = 0};
}

static void add_score(struct score *to, const struct score *s)
{
    to->before += s->before;
    to->after += s->after;
    to->n += s->n;
}

/* nccl-tests, from 100 kB; NVLink switches and PCIe (not V100's mesh). */
static void all_reduces_of_other_sizes_are_predicted(void **state)
{
    static const char *const gpus[] = {"a100-80gb-sxm", "h100-sxm", "gb200", "rtxpro6000-server"};
    struct score all = {0};

    (void)state;
    need_kernels();
    for (size_t g = 0; g < LENGTH(gpus); g++) {
        struct halves h;

        read_table(&h, "comm.csv", gpus[g]);
        for (int c = 0; c < h.all.n_classes; c++)
            for (int n = 2; n <= 8 && strstr(h.all.classes[c].name, "nccl-tests"); n++) {
                struct score s = every_second(&h, c, n, 1e5, 0);
                char what[80];

                if (s.n == 0)
                    continue;
                snprintf(what, sizeof what, "%s, %d GPUs", h.all.classes[c].name, n);
                report(gpus[g], what, &s);
                add_score(&all, &s);
            }
        release(&h);
    }
    assert_true(report("all", "all_reduce", &all) <= 0.10);
}

/* From 100 us on, where the time of the launch does not count. */
static void kernels_that_stream_are_predicted_at_other_sizes(void **state)
{
    static const char *const files[] = {"elementwise.csv", "norm.csv", "softmax.csv"};
    static const char *const gpus[] = {"a100-80gb-sxm",     "a100-80gb",      "a100-40gb-pcie",
                                       "a100-80gb-pcie",    "h100-sxm",       "gb200",
                                       "rtxpro6000-server", "v100-32gb-pcie", "t4"};
    struct score all = {0};

    (void)state;
    need_kernels();
    for (size_t f = 0; f < LENGTH(files); f++)
        for (size_t g = 0; g < LENGTH(gpus); g++) {
            struct halves h;

            read_table(&h, files[f], gpus[g]);
            for (int c = 0; c < h.all.n_classes; c++) {
                struct score s = every_second(&h, c, 0, 0, 100e-6);

                /* "unfused" are several kernels, and nobody says which. */
                if (s.n == 0 || strstr(h.all.classes[c].name, "_unf"))
                    continue;
                report(gpus[g], h.all.classes[c].name, &s);
                add_score(&all, &s);
            }
            release(&h);
        }
    assert_true(report("all", "memory-bound kernels", &all) <= 0.10);
}

/* ---- runs ---------------------------------------------------------------- */

#define TAKEN 3
#define TRIED 12 /* of the others, so that no large table of one source decides */
#define DRAWS 3
#define ONE_NODE 8 /* GPUs; runs whose layout decides are left out: no coefficient fits a layout */

struct run {
    struct mfu_measured_run run;
    char group[160]; /* source and GPU */
    double measured_s, before_s;
    bool done;
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static size_t read_runs(struct run *runs, const struct mfu_csv *csv)
{
    SIMULATION simulation = {0};
    PLAN plan = {0};
    size_t n = 0;

    for (size_t i = 0; i < csv->n_rows; i++) {
        struct run *r = &runs[n];
        char why[200];

        mfu_measured_run(catalog, csv, i, &r->run);
        if (r->run.scenario.setting[MFU_S_GPUS] > ONE_NODE
            || mfu_row_replicas(r->run.scenario.setting) < r->run.scenario.setting[MFU_S_GPUS])
            continue;
        if (r->run.skipped[0] || mfu_plan_make(&plan, &r->run.scenario, NULL) < 0
            || mfu_simulate(&plan, false, &simulation, NULL) < 0)
            continue;
        r->measured_s = mfu_measured_step_s(&plan, &r->run, why, sizeof why);
        r->before_s = plan.step.time_s;
        snprintf(r->group, sizeof r->group, "%.100s|%s", mfu_csv_get(csv, i, "source"), r->run.scenario.gpu->slug);
        n += r->measured_s > 0;
    }
    return n;
}

struct errors {
    double *before, *after;
    size_t n, inside, refused;
};

/* Calibrates with the first TAKEN of the list and tries it on the others. */
static void try_group(const struct run *runs, const size_t *list, size_t n, struct errors *to)
{
    const struct mfu_gpu *gpu = runs[list[0]].run.scenario.gpu;
    struct mfu_measured_run *taken = calloc(TAKEN, sizeof *taken);
    struct mfu_gpu *own = malloc(sizeof *own);
    SIMULATION simulation = {0};
    PLAN plan = {0};
    struct mfu_calibrated *c;
    struct mfu_error err = {0};

    assert_true(taken && own);
    for (int i = 0; i < TAKEN; i++)
        taken[i] = runs[list[i]].run;
    c = mfu_calibrate_runs(catalog, gpu, taken, TAKEN, &err);
    *own = *gpu; /* which stays where the runs are refused: they do not agree */
    to->refused += !c;
    for (int i = 0; c && i < MFU_COEFFICIENT_COUNT; i++)
        if (!isnan(c->file.coefficients.value[i])) {
            own->coefficients.value[i] = c->file.coefficients.value[i];
            own->coefficients.sigma[i] = c->file.coefficients.sigma[i];
        }
    for (size_t i = TAKEN; i < n && i < TAKEN + TRIED; i++) {
        const struct run *r = &runs[list[i]];
        struct mfu_scenario scenario = r->run.scenario;

        scenario.gpu = own;
        assert_int_equal(mfu_plan_make(&plan, &scenario, &err), 0);
        assert_int_equal(mfu_simulate(&plan, false, &simulation, &err), 0);
        to->before[to->n] = fabs(r->before_s / r->measured_s - 1);
        to->after[to->n++] = fabs(plan.step.time_s / r->measured_s - 1);
        to->inside += r->measured_s >= plan.step.low_s && r->measured_s <= plan.step.high_s;
    }
    mfu_calibrated_free(c);
    free(taken);
    free(own);
}

static double mean(const double *list, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += list[i];
    return sum / (double)n;
}

static void three_runs_improve_the_others(void **state)
{
    ARENA arena = {0};
    struct mfu_csv csv;
    struct errors e = {0};
    struct run *runs;
    size_t n, *list;
    unsigned dice = 1;
    double before, after;

    (void)state;
    assert_int_equal(mfu_csv_read(RUNS, &arena, &csv, NULL), 0);
    runs = calloc(csv.n_rows + 1, sizeof *runs);
    list = calloc(csv.n_rows + 1, sizeof *list);
    e.before = calloc(DRAWS * csv.n_rows + 1, sizeof *e.before);
    e.after = calloc(DRAWS * csv.n_rows + 1, sizeof *e.after);
    assert_true(runs && list && e.before && e.after);
    n = read_runs(runs, &csv);
    for (size_t first = 0; first < n; first++) {
        size_t m = 0;

        for (size_t i = first; i < n; i++)
            if (!runs[i].done && strcmp(runs[i].group, runs[first].group) == 0) {
                runs[i].done = true;
                list[m++] = i;
            }
        for (int draw = 0; draw < DRAWS && m > TAKEN; draw++) {
            for (size_t i = m - 1; i > 0; i--) {
                size_t k = (dice = dice * 1664525u + 1013904223u, dice >> 8) % (i + 1), t = list[i];

                list[i] = list[k];
                list[k] = t;
            }
            try_group(runs, list, m, &e);
        }
    }
    assert_true(e.n > 0);
    before = mean(e.before, e.n);
    after = mean(e.after, e.n);
    qsort(e.before, e.n, sizeof *e.before, ascending);
    qsort(e.after, e.n, sizeof *e.after, ascending);
    print_message("calibrated from %d runs per source and GPU, tried %zu times: MAPE %.1f %%, median %.1f %%, "
                  "%.0f %% in the interval, %zu draws refused\n",
                  TAKEN, e.n, 100 * after, 100 * e.after[e.n / 2], 100 * (double)e.inside / (double)e.n, e.refused);
    print_message("                                       the same before: MAPE %.1f %%, median %.1f %%\n",
                  100 * before, 100 * e.before[e.n / 2]);
    assert_true(after < before);
    free(runs);
    free(list);
    free(e.before);
    free(e.after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemms_of_other_layers_are_predicted),
        cmocka_unit_test(all_reduces_of_other_sizes_are_predicted),
        cmocka_unit_test(kernels_that_stream_are_predicted_at_other_sizes),
        cmocka_unit_test(three_runs_improve_the_others),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
