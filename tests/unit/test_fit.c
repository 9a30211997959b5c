/* test_fit.c - coefficients from measurements: known truth must come back. */
#include "near.h"
#include "scratch.h"

#include <gsl/gsl_errno.h>

#include "base/error.h"
#include "cost/fit.h"
#include "cost/sample.h"
#include "descriptor/calibration.h"
#include "descriptor/catalog.h"
#include "descriptor/gpu.h"

static struct mfu_catalog *catalog;
static const struct mfu_gpu *gpu;

static int set_up(void **state)
{
    struct mfu_error err = {0};

    (void)state;
    catalog = mfu_catalog_open(MFUPLAN_SOURCE_DIR, NULL, &err);
    gpu = catalog ? mfu_catalog_gpu(catalog, "h100-sxm", &err) : NULL;
    return gpu ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    mfu_catalog_free(catalog);
    return 0;
}

/* ---- a machine that is known --------------------------------------------- */

#define MOST 900

struct world {
    struct mfu_sample samples[MOST];
    struct mfu_fit_point points[MOST];
    size_t n;
    double truth[MFU_COEFFICIENT_COUNT];
    unsigned long long state;
};

static const struct mfu_fit_class classes[] = {{"gemm", 0.05, 0, 0}, {"stream", 0.05, 0, 0}};

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

static double predictions; /* so far */

static double predict(void *context, size_t i, const double value[MFU_COEFFICIENT_COUNT])
{
    struct world *w = context;
    struct mfu_machine m;

    predictions++;
    mfu_machine_of(gpu, value, &m);
    return mfu_sample_seconds(&m, &w->samples[i]);
}

static void add(struct world *w, struct mfu_kernel k, int kind, bool sustained)
{
    assert_true(w->n < MOST);
    w->samples[w->n] = (struct mfu_sample){.kernel = k, .sustained = sustained};
    w->points[w->n++].kind = kind;
}

static void add_gemms(struct world *w)
{
    static const double m[] = {512, 1024, 2048, 4096, 8192}, n[] = {768, 2304, 4096, 12288}, k[] = {768, 2048, 8192};

    for (size_t a = 0; a < LENGTH(m); a++)
        for (size_t b = 0; b < LENGTH(n); b++)
            for (size_t c = 0; c < LENGTH(k); c++)
                for (int hot = 0; hot < 2; hot++)
                    add(w, mfu_kernel_gemm(MFU_PEAK_BF16, m[a], n[b], k[c], 1, 2, 2, false), 0, hot);
}

static void add_streams(struct world *w)
{
    for (double bytes = 1e6; bytes < 4e9; bytes *= 1.4) {
        add(w, mfu_kernel_stream(MFU_COPY, MFU_C_DRAM_POINTWISE, 1, bytes, 0, bytes / 2, bytes / 2), 1, false);
        add(w, mfu_kernel_stream(MFU_NORM, MFU_C_DRAM_NORM, 1, bytes, 0, bytes / 2, bytes / 2), 1, false);
        add(w, mfu_kernel_stream(MFU_POINTWISE, MFU_C_DRAM_FUSED, 1, bytes, 0, bytes / 2, bytes / 2), 1, false);
    }
}

/* Measures everything with `noise`, and a share of it slow for other reasons. */
static void measure(struct world *w, double noise, double outliers)
{
    for (size_t i = 0; i < w->n; i++) {
        w->points[i].seconds = predict(w, i, w->truth) * exp(noise * normal(w));
        if (uniform(w) < outliers)
            w->points[i].seconds *= 1.5 + 2 * uniform(w);
    }
}

/* Another machine of this kind: some coefficients are not what we think. */
static void begin(struct world *w, unsigned seed)
{
    memset(w, 0, sizeof *w);
    w->state = seed * 2654435761ULL + 1;
    memcpy(w->truth, gpu->coefficients.value, sizeof w->truth);
    w->truth[MFU_C_GEMM_EFFICIENCY] *= 0.93;
    w->truth[MFU_C_GEMM_THROTTLE] *= 1.3;
    w->truth[MFU_C_GEMM_K0] *= 1.25;
    w->truth[MFU_C_DRAM_POINTWISE] *= 0.95;
    w->truth[MFU_C_DRAM_NORM_LONG] *= 1.2;
    w->truth[MFU_C_DRAM_FUSED] *= 1.07;
    w->truth[MFU_C_KERNEL_OVERHEAD] *= 1.4;
}

static void fit_by(struct world *w, bool dear, struct mfu_fit *f)
{
    struct mfu_fit_parameter parameters[MFU_COEFFICIENT_COUNT];
    struct mfu_fit_input in = {
        .points = w->points,
        .n_points = w->n,
        .classes = classes,
        .n_classes = LENGTH(classes),
        .parameters = parameters,
        .prior = &gpu->coefficients,
        .predict = predict,
        .context = w,
        .dear = dear,
    };
    struct mfu_error err = {0};

    in.n_parameters = mfu_fit_candidates(&in, parameters);
    if (mfu_fit_coefficients(&in, f, &err) < 0)
        fail_msg("%s", err.text);
}

static void fit(struct world *w, struct mfu_fit *f)
{
    fit_by(w, false, f);
}

static const struct mfu_fit_row *row_of(const struct mfu_fit *f, enum mfu_coefficient id)
{
    for (int i = 0; i < f->n_rows; i++)
        if (f->rows[i].id == id)
            return &f->rows[i];
    fail_msg("%s is not in the result", mfu_coefficient_rows[id].name);
    return NULL;
}

static const enum mfu_coefficient moved[] = {MFU_C_GEMM_EFFICIENCY, MFU_C_GEMM_THROTTLE,  MFU_C_GEMM_K0,
                                             MFU_C_DRAM_POINTWISE,  MFU_C_DRAM_NORM_LONG, MFU_C_DRAM_FUSED,
                                             MFU_C_KERNEL_OVERHEAD};

/* ---- tests --------------------------------------------------------------- */

static void truth_without_noise_comes_back(void **state)
{
    struct world *w = malloc(sizeof *w);
    struct mfu_fit f;

    (void)state;
    begin(w, 1);
    add_gemms(w);
    add_streams(w);
    measure(w, 0, 0);
    fit(w, &f);
    for (size_t i = 0; i < LENGTH(moved); i++)
        assert_near(f.value[moved[i]], w->truth[moved[i]], 0.01);
    assert_true(f.all.mape < 0.003);
    assert_true(f.all.before > 0.05);
    free(w);
}

static void truth_lies_within_the_error_bars(void **state)
{
    struct world *w = malloc(sizeof *w);
    int inside = 0, all = 0;

    (void)state;
    for (unsigned seed = 1; seed <= 12; seed++) {
        struct mfu_fit f;

        begin(w, seed);
        add_gemms(w);
        add_streams(w);
        measure(w, 0.02, 0);
        fit(w, &f);
        for (size_t i = 0; i < LENGTH(moved); i++) {
            const struct mfu_fit_row *r = row_of(&f, moved[i]);
            double off = fabs(log(r->value / w->truth[moved[i]])) / r->sigma;

            assert_true(r->kept);
            assert_true(r->sigma < r->prior_sigma);
            if (off > 4)
                fail_msg("%s: %g +- %.2g %%, truth %g (seed %u)", mfu_coefficient_rows[r->id].name, r->value,
                         100 * r->sigma, w->truth[r->id], seed);
            inside += off < 1;
            all++;
        }
        assert_near(f.mape_held_out, 0.016, 0.3); /* mean of |noise| */
    }
    print_message("%d of %d within one standard error\n", inside, all);
    assert_true(inside >= all / 2 && inside < all);
    free(w);
}

/* Where predictions are dear their tangents are fitted: to the same solution, from a fraction of the predictions. */
static void tangents_lead_to_the_same_solution(void **state)
{
    struct world *w = malloc(sizeof *w);
    struct mfu_fit all, dear;
    double calls;

    (void)state;
    begin(w, 1);
    add_gemms(w);
    add_streams(w);
    measure(w, 0.02, 0.05);
    predictions = 0;
    fit(w, &all);
    calls = predictions;
    predictions = 0;
    fit_by(w, true, &dear);
    assert_true(predictions < calls / 3);
    for (size_t i = 0; i < LENGTH(moved); i++) {
        assert_true(fabs(log(dear.value[moved[i]] / all.value[moved[i]])) < row_of(&all, moved[i])->sigma);
        assert_near(row_of(&dear, moved[i])->sigma, row_of(&all, moved[i])->sigma, 0.15);
    }
    assert_near(dear.all.mape, all.all.mape, 0.02);
    assert_near(dear.mape_held_out, all.mape_held_out, 0.05);
    free(w);
}

static void outliers_do_not_pull(void **state)
{
    struct world *w = malloc(sizeof *w);

    (void)state;
    for (unsigned seed = 1; seed <= 6; seed++) {
        struct mfu_fit f;

        begin(w, 100 + seed);
        add_gemms(w);
        add_streams(w);
        measure(w, 0.01, 0.05);
        fit(w, &f);
        for (size_t i = 0; i < LENGTH(moved); i++) {
            const struct mfu_fit_row *r = row_of(&f, moved[i]);

            assert_near(r->value, w->truth[r->id], fmax(0.01, 4 * r->sigma));
        }
        assert_true(f.all.median < 0.012);
    }
    free(w);
}

/* A card far from its file: what all measurements say wins over the priors. */
static void measurements_that_agree_win_however_far(void **state)
{
    static const double factors[] = {0.7, 0.5, 0.3, 0.15};
    struct world *w = malloc(sizeof *w);

    (void)state;
    for (size_t k = 0; k < LENGTH(factors); k++)
        for (unsigned seed = 1; seed <= 3; seed++) {
            struct mfu_fit f;

            begin(w, 200 + seed);
            w->truth[MFU_C_GEMM_EFFICIENCY] *= factors[k];
            w->truth[MFU_C_DRAM_POINTWISE] *= factors[k];
            w->truth[MFU_C_DRAM_NORM_LONG] *= factors[k];
            add_gemms(w);
            add_streams(w);
            measure(w, 0.02, 0.05);
            fit(w, &f);
            for (size_t i = 0; i < 1 + 2 * (factors[k] > 0.2); i++) {
                enum mfu_coefficient id =
                    (enum mfu_coefficient[]){MFU_C_GEMM_EFFICIENCY, MFU_C_DRAM_POINTWISE, MFU_C_DRAM_NORM_LONG}[i];
                const struct mfu_fit_row *r = row_of(&f, id);

                assert_true(r->kept);
                if (fabs(log(r->value / w->truth[id])) > fmax(4 * r->sigma, 0.01))
                    fail_msg("%s at %g times: %g +- %.2g %%, truth %g", mfu_coefficient_rows[id].name, factors[k],
                             r->value, 100 * r->sigma, w->truth[id]);
            }
            assert_true(f.all.median < 0.03);
        }
    free(w);
}

static void twelve(struct world *w, unsigned seed, double factor)
{
    begin(w, seed);
    memcpy(w->truth, gpu->coefficients.value, sizeof w->truth);
    w->truth[MFU_C_GEMM_EFFICIENCY] *= factor;
    for (int i = 0; i < 12; i++)
        add(w,
            mfu_kernel_gemm(MFU_PEAK_BF16, i % 2 ? 2048 : 8192, 2048 << i % 3, i % 4 < 2 ? 1024 : 4096, 1, 2, 2, false),
            0, false);
    measure(w, 0.03, 0);
}

/* The same with a dozen, of which one may be slow for a reason of its own. */
static void a_dozen_is_enough_and_one_of_them_is_not(void **state)
{
    struct world *w = malloc(sizeof *w);
    struct mfu_fit f;

    (void)state;
    for (unsigned seed = 1; seed <= 4; seed++) {
        for (int outliers = 0; outliers < 2; outliers++) {
            double truth;

            twelve(w, 300 + seed, 0.45);
            truth = w->truth[MFU_C_GEMM_EFFICIENCY];
            if (outliers)
                w->points[5].seconds *= 4;
            fit(w, &f);
            assert_near(f.value[MFU_C_GEMM_EFFICIENCY], truth,
                        fmax(0.03, 3 * row_of(&f, MFU_C_GEMM_EFFICIENCY)->sigma));
            assert_true(f.all.median < 0.06 && f.doubt > 1);
        }
        twelve(w, 300 + seed, 1);
        w->points[5].seconds *= 4;
        fit(w, &f);
        assert_near(f.value[MFU_C_GEMM_EFFICIENCY], gpu->coefficients.value[MFU_C_GEMM_EFFICIENCY], 0.03);
    }
    free(w);
}

static void what_the_data_cannot_carry_stays(void **state)
{
    static const enum mfu_coefficient extra[] = {MFU_C_DRAM_SOFTMAX, MFU_C_STEP_CONSTANT, MFU_C_LINK_LATENCY};
    struct mfu_fit_parameter parameters[8] = {{.member = {MFU_C_GEMM_EFFICIENCY}, .n_members = 1},
                                              {.member = {MFU_C_GEMM_SPLIT}, .n_members = 1}};
    struct world *w = malloc(sizeof *w);
    struct mfu_fit_input in;
    struct mfu_fit f;
    struct mfu_error err = {0};

    (void)state;
    begin(w, 7);
    memcpy(w->truth, gpu->coefficients.value, sizeof w->truth);
    w->truth[MFU_C_GEMM_EFFICIENCY] *= 0.9;
    w->truth[MFU_C_GEMM_SPLIT] *= 1.02; /* too little to matter */
    add_gemms(w);
    measure(w, 0.02, 0);
    for (size_t i = 0; i < LENGTH(extra); i++)
        parameters[2 + i] = (struct mfu_fit_parameter){.member = {extra[i]}, .n_members = 1};
    in = (struct mfu_fit_input){.points = w->points,
                                .n_points = w->n,
                                .classes = classes,
                                .n_classes = LENGTH(classes),
                                .parameters = parameters,
                                .n_parameters = 2 + LENGTH(extra),
                                .prior = &gpu->coefficients,
                                .predict = predict,
                                .context = w};
    assert_int_equal(mfu_fit_coefficients(&in, &f, &err), 0);
    assert_int_equal(f.n_rows, 5);
    assert_true(row_of(&f, MFU_C_GEMM_EFFICIENCY)->kept);
    assert_near(f.value[MFU_C_GEMM_EFFICIENCY], w->truth[MFU_C_GEMM_EFFICIENCY], 0.01);
    for (size_t i = 0; i < LENGTH(extra); i++) {
        const struct mfu_fit_row *r = row_of(&f, extra[i]);

        assert_false(r->kept);
        assert_true(r->value == r->prior && f.value[extra[i]] == r->prior);
        assert_true(r->sigma == r->prior_sigma);
    }
    assert_false(row_of(&f, MFU_C_GEMM_SPLIT)->kept);
    free(w);
}

static void one_point_moves_but_does_not_decide(void **state)
{
    struct world *w = malloc(sizeof *w);
    struct mfu_fit f;

    (void)state;
    begin(w, 3);
    add(w, mfu_kernel_gemm(MFU_PEAK_BF16, 8192, 8192, 8192, 1, 2, 2, false), 0, true);
    measure(w, 0, 0);
    w->points[0].seconds *= 1.1;
    fit(w, &f);
    assert_true(f.value[MFU_C_GEMM_EFFICIENCY] <= gpu->coefficients.value[MFU_C_GEMM_EFFICIENCY]);
    assert_true(f.all.mape < f.all.before);
    assert_true(isnan(f.mape_held_out));
    free(w);
}

static void tied_coefficients_scale_together(void **state)
{
    struct mfu_fit_parameter tied = {
        .member = {MFU_C_DRAM_POINTWISE, MFU_C_DRAM_NORM_LONG, MFU_C_DRAM_FUSED}, .n_members = 3, .sigma = 0.5};
    struct world *w = malloc(sizeof *w);
    struct mfu_fit_input in;
    struct mfu_fit f;
    struct mfu_error err = {0};

    (void)state;
    begin(w, 5);
    memcpy(w->truth, gpu->coefficients.value, sizeof w->truth);
    for (int i = 0; i < tied.n_members; i++)
        w->truth[tied.member[i]] *= 0.8;
    add_streams(w);
    measure(w, 0.01, 0);
    in = (struct mfu_fit_input){.points = w->points,
                                .n_points = w->n,
                                .classes = classes,
                                .n_classes = LENGTH(classes),
                                .parameters = &tied,
                                .n_parameters = 1,
                                .prior = &gpu->coefficients,
                                .predict = predict,
                                .context = w};
    assert_int_equal(mfu_fit_coefficients(&in, &f, &err), 0);
    assert_int_equal(f.n_kept, 3);
    for (int i = 0; i < tied.n_members; i++)
        assert_near(f.value[tied.member[i]] / gpu->coefficients.value[tied.member[i]], 0.8, 0.01);
    free(w);
}

static void values_stay_in_their_range(void **state)
{
    struct world *w = malloc(sizeof *w);
    struct mfu_fit f;

    (void)state;
    begin(w, 6);
    add_streams(w);
    measure(w, 0, 0);
    for (size_t i = 0; i < w->n; i++)
        w->points[i].seconds /= 20; /* no DRAM is as fast */
    fit(w, &f);
    for (int i = 0; i < f.n_rows; i++)
        assert_true(f.rows[i].value >= mfu_coefficient_rows[f.rows[i].id].least
                    && f.rows[i].value <= mfu_coefficient_rows[f.rows[i].id].most);
    free(w);
}

static int handler_calls;

static void own_handler(const char *reason, const char *file, int line, int code)
{
    (void)reason, (void)file, (void)line, (void)code;
    handler_calls++;
}

static int stop(void *context)
{
    (void)context;
    return 1;
}

static void nonsense_is_refused_and_gsl_left_as_it_was(void **state)
{
    struct mfu_fit_parameter p = {.member = {MFU_C_GEMM_EFFICIENCY}, .n_members = 1};
    struct world *w = malloc(sizeof *w);
    struct mfu_fit_input in;
    struct mfu_fit f;
    struct mfu_error err = {0};
    double sober;

    (void)state;
    begin(w, 8);
    add_gemms(w);
    measure(w, 0.01, 0);
    in = (struct mfu_fit_input){.points = w->points,
                                .n_points = 0,
                                .classes = classes,
                                .n_classes = LENGTH(classes),
                                .parameters = &p,
                                .n_parameters = 1,
                                .prior = &gpu->coefficients,
                                .predict = predict,
                                .context = w};
    gsl_set_error_handler(own_handler);
    assert_int_equal(mfu_fit_coefficients(&in, &f, &err), -1);
    assert_string_equal(err.text, "there is nothing to fit to");
    in.n_points = w->n;
    w->points[3].seconds = -1;
    assert_int_equal(mfu_fit_coefficients(&in, &f, &err), -1);
    assert_string_equal(err.text, "measurement 4 is not a time");
    w->points[3].seconds = predict(w, 3, w->truth);
    assert_int_equal(mfu_fit_coefficients(&in, &f, &err), 0);
    sober = f.value[MFU_C_GEMM_EFFICIENCY];
    w->points[3].seconds = 1e9; /* absurd, but a time */
    assert_int_equal(mfu_fit_coefficients(&in, &f, &err), 0);
    assert_near(f.value[MFU_C_GEMM_EFFICIENCY], sober, 0.005);
    in.interrupted = stop;
    assert_int_equal(mfu_fit_coefficients(&in, &f, &err), -1);
    assert_string_equal(err.text, "interrupted");
    assert_int_equal(handler_calls, 0);
    assert_ptr_equal(gsl_set_error_handler(NULL), own_handler);
    free(w);
}

/* ---- samples ------------------------------------------------------------- */

static const char head[] =
    "mfuplan_samples: 1\n"
    "gpu: {name: NVIDIA H100 80GB HBM3, uuid_hash: ab12, compute_capability: 9.0, sms: 132, memory_bytes: 85e9,\n"
    "  l2_bytes: 52428800, clock_mhz: 1755, power_w: 690}\n"
    "driver: \"580.1\"\ncuda: \"13.0\"\ncublas: \"13.0.2\"\ndate: 2026-11-20\n";

static int read_text(const char *text, struct mfu_samples *s, struct mfu_error *err)
{
    SCRATCH folder = scratch_new();
    int status;

    status = mfu_samples_read(scratch_file(&folder, "samples.yaml", text), s, err);
    return status;
}

static void every_probe_is_read_and_predicted(void **state)
{
    static const char *const lines[] = {
        "{probe: gemm, dtype: bf16, m: 4096, n: 4096, k: 4096, batch: 1, layout: TN, accumulate: 0, seconds: 1.9e-4, "
        "spread: 0.4%, clock_mhz: 1755, power_w: 690, sustained: 0}",
        "{probe: gemm, dtype: fp8, m: 4096, n: 4096, k: 4096, seconds: 1e-4, sustained: 1}",
        "{probe: stream, kind: copy, bytes: 2e9, seconds: 700us, spread: 0.1%}",
        "{probe: norm, kind: rms, pass: backward, fused: 1, rows: 8192, columns: 4096, dtype: bf16, "
        "read_bytes: 134217728, write_bytes: 67108864, seconds: 8e-5}",
        "{probe: softmax, fused: 0, rows: 8192, columns: 4096, read_bytes: 134217728, write_bytes: 67108864, seconds: "
        "8e-5}",
        "{probe: cross_entropy, fused: 1, rows: 8192, columns: 50304, read_bytes: 8e8, write_bytes: 0, seconds: 3e-4}",
        "{probe: gelu, read_bytes: 1e8, write_bytes: 1e8, seconds: 8e-5}",
        "{probe: irregular, kind: broadcast, by: torch, half_share: 1, read_bytes: 1e8, write_bytes: 1e8, seconds: "
        "1.2e-4}",
        "{probe: adamw, fused: 1, read_bytes: 2e9, write_bytes: 1.4e9, seconds: 1.3e-3}",
        "{probe: reduction, kind: column_sum, by: torch, read_bytes: 1e9, write_bytes: 0, seconds: 4e-4}",
        "{probe: attention, kind: flash, batch: 8, heads: 12, kv_heads: 12, seq: 1024, head_dim: 64, causal: 1, "
        "pass: forward, dtype: bf16, seconds: 6e-5}",
        "{probe: attention, kind: cudnn, batch: 8, heads: 12, kv_heads: 4, seq: 1024, head_dim: 128, causal: 1, "
        "pass: backward, dtype: bf16, seconds: 4e-4}",
        "{probe: attention, kind: math, batch: 8, heads: 12, seq: 1024, head_dim: 64, pass: forward, dtype: bf16, "
        "seconds: 9e-4}",
        "{probe: launch, kind: stream, kernels: 1000, seconds: 2.6e-6}",
        "{probe: launch, kind: graph, kernels: 1000, seconds: 1.2e-6}",
        "{probe: launch, kind: host, kernels: 1000, seconds: 2e-6}",
        "{probe: launch, kind: eager, kernels: 120, by: torch, seconds: 9e-6}",
        "{probe: launch, kind: backward, kernels: 200, by: torch, seconds: 6e-6}",
        "{probe: launch, kind: compile, kernels: 96, by: torch, seconds: 4e-6}",
        "{probe: all_reduce, gpus: 8, nodes: 1, bytes: 1e8, seconds: 6e-4}",
        "{probe: all_gather, gpus: 8, nodes: 1, bytes: 1e8, seconds: 3e-4}",
        "{probe: reduce_scatter, gpus: 8, bytes: 1e8, seconds: 3e-4}",
    };
    char text[8192];
    size_t used = (size_t)snprintf(text, sizeof text, "%ssamples:\n", head);
    struct mfu_error err = {0};
    struct mfu_samples s;
    struct mfu_machine m;

    (void)state;
    for (size_t i = 0; i < LENGTH(lines); i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "  - %s\n", lines[i]);
    snprintf(text + used, sizeof text - used,
             "  - {probe: teleport, seconds: 1}\n"
             "  - {probe: all_reduce, gpus: 16, nodes: 2, bytes: 1e8, seconds: 6e-4}\n");
    if (read_text(text, &s, &err) < 0)
        fail_msg("%s:%d: %s", err.file, err.line, err.text);
    assert_string_equal(s.gpu, "NVIDIA H100 80GB HBM3");
    assert_string_equal(s.cublas, "13.0.2");
    assert_string_equal(s.date, "2026-11-20");
    assert_true(s.sms == 132 && s.compute_capability == 9);
    assert_int_equal(s.n, LENGTH(lines));
    assert_int_equal(s.n_unknown, 2);
    assert_string_equal(s.unknown, "no law of a network: 'all_reduce' over 2 nodes");
    mfu_machine_of(gpu, gpu->coefficients.value, &m);
    for (size_t i = 0; i < s.n; i++) {
        double seconds = mfu_sample_seconds(&m, &s.rows[i]);

        if (!(seconds > s.rows[i].seconds / 3 && seconds < s.rows[i].seconds * 3))
            fail_msg("%s: %g s for %g s", lines[i], seconds, s.rows[i].seconds);
    }
    assert_near(s.rows[0].spread, 0.004, 1e-9);
    assert_true(s.rows[1].sustained && s.rows[1].kernel.math == MFU_PEAK_FP8);
    assert_true(s.rows[3].kernel.traffic == MFU_C_DRAM_FUSED_NORM_BACKWARD
                && s.rows[4].kernel.traffic == MFU_C_DRAM_SOFTMAX);
    assert_true(s.rows[11].kernel.backward && s.rows[11].kernel.attention == MFU_CUDNN);
    mfu_samples_free(&s);
}

/* ---- a file of torch_kernels.py ------------------------------------------ */

/* How that machine differs from an RTX 4070 (tests/data/torch_kernels.yaml). */
static const struct {
    enum mfu_coefficient id;
    double times;
} differences[] = {
    {MFU_C_GEMM_EFFICIENCY, 0.95}, {MFU_C_DRAM_POINTWISE, 0.93}, {MFU_C_DRAM_IRREGULAR, 0.75},
    {MFU_C_DRAM_FUSED, 1.06},      {MFU_C_DRAM_NORM, 0.7},       {MFU_C_DRAM_NORM_BACKWARD, 1.2},
    {MFU_C_DRAM_SOFTMAX, 0.9},     {MFU_C_DRAM_REDUCTION, 0.8},  {MFU_C_DRAM_EMBEDDING, 0.7},
    {MFU_C_DRAM_OPTIMIZER, 0.92},  {MFU_C_DRAM_HALF, 0.92},      {MFU_C_FLASH_D64, 1.1},
    {MFU_C_FLASH_D128, 1.08},      {MFU_C_MEMEFF_D64, 0.9},      {MFU_C_CUDNN_D64, 0.9},
};

static const struct {
    enum mfu_coefficient id;
    double times;
} of_the_host[] = {{MFU_C_DISPATCH_EAGER, 1.5},
                   {MFU_C_DISPATCH_BACKWARD, 1.4},
                   {MFU_C_DISPATCH_COMPILE, 1.3},
                   {MFU_C_DISPATCH_GRAPH, 1.8}};

struct file_of_samples {
    struct mfu_samples samples;
    const struct mfu_gpu *gpu;
    struct mfu_fit_point points[MOST];
};

static double predict_file(void *context, size_t i, const double value[MFU_COEFFICIENT_COUNT])
{
    struct file_of_samples *f = context;
    struct mfu_machine m;

    mfu_machine_of(f->gpu, value, &m);
    return mfu_sample_seconds(&m, &f->samples.rows[i]);
}

static struct file_of_samples *read_file(void)
{
    struct file_of_samples *file = calloc(1, sizeof *file);
    struct mfu_error err = {0};

    assert_non_null(file);
    file->gpu = mfu_catalog_gpu(catalog, "rtx4070", &err);
    assert_non_null(file->gpu);
    if (mfu_samples_read(MFUPLAN_SOURCE_DIR "/tests/data/torch_kernels.yaml", &file->samples, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(file->samples.n_unknown, 0);
    assert_true(file->samples.n > 200 && file->samples.n < MOST);
    for (size_t i = 0; i < file->samples.n; i++)
        file->points[i] = (struct mfu_fit_point){file->samples.rows[i].seconds, file->samples.rows[i].spread,
                                                 file->samples.rows[i].kind};
    return file;
}

/* The seconds of another machine in place of those of the file. */
static void measure_file(struct file_of_samples *file, const double *truth, double noise)
{
    struct world *w = calloc(1, sizeof *w);

    assert_non_null(w);
    w->state = 77;
    for (size_t i = 0; i < file->samples.n; i++)
        file->points[i].seconds = predict_file(file, i, truth) * exp(noise * normal(w));
    free(w);
}

static void fit_file(struct file_of_samples *file, struct mfu_fit *f)
{
    struct mfu_fit_parameter parameters[MFU_COEFFICIENT_COUNT];
    struct mfu_error err = {0};
    struct mfu_fit_input in = {.points = file->points,
                               .n_points = file->samples.n,
                               .classes = file->samples.classes,
                               .n_classes = file->samples.n_classes,
                               .parameters = parameters,
                               .prior = &file->gpu->coefficients,
                               .predict = predict_file,
                               .context = file,
                               .without_held_out = true};

    in.n_parameters = mfu_fit_candidates(&in, parameters);
    if (mfu_fit_coefficients(&in, f, &err) < 0)
        fail_msg("%s", err.text);
}

static void free_file(struct file_of_samples *file)
{
    mfu_samples_free(&file->samples);
    free(file);
}

static void kernels_of_pytorch_tell_each_class(void **state)
{
    struct file_of_samples *file = read_file();
    double other[MFU_COEFFICIENT_COUNT];
    struct mfu_fit f;

    (void)state;
    memcpy(other, file->gpu->coefficients.value, sizeof other);
    for (size_t i = 0; i < LENGTH(differences); i++)
        other[differences[i].id] *= differences[i].times;
    for (size_t i = 0; i < LENGTH(of_the_host); i++)
        other[of_the_host[i].id] *= of_the_host[i].times;
    measure_file(file, other, 0.02);
    fit_file(file, &f);
    for (size_t i = 0; i < LENGTH(differences); i++) {
        double truth = differences[i].times * file->gpu->coefficients.value[differences[i].id];

        if (fabs(log(f.value[differences[i].id] / truth)) > 0.05)
            fail_msg("%s: %g, not %g", mfu_coefficient_rows[differences[i].id].name, f.value[differences[i].id], truth);
    }
    /* One measurement of its own each: it counts against the prior as both are known. */
    for (size_t i = 0; i < LENGTH(of_the_host); i++) {
        const struct mfu_fit_row *r = row_of(&f, of_the_host[i].id);
        double truth = of_the_host[i].times * r->prior;

        assert_true(r->kept && r->sigma < 0.5 * r->prior_sigma);
        if (fabs(log(r->value / truth)) > 2 * r->sigma)
            fail_msg("%s: %g, not %g", mfu_coefficient_rows[r->id].name, r->value, truth);
    }
    free_file(file);
}

/* A host that is twice as slow in what was measured is so in what was not, less surely. */
static void hosts_share_their_speed(void **state)
{
    struct file_of_samples *file = read_file();
    double other[MFU_COEFFICIENT_COUNT];
    const struct mfu_fit_row *c, *eager;
    struct mfu_fit f;

    (void)state;
    memcpy(other, file->gpu->coefficients.value, sizeof other);
    for (int id = MFU_C_DISPATCH_EAGER; id <= MFU_C_DISPATCH_ZERO; id++)
        other[id] *= 2;
    measure_file(file, other, 0.02);
    fit_file(file, &f);
    c = row_of(&f, MFU_C_DISPATCH_C);
    eager = row_of(&f, MFU_C_DISPATCH_EAGER);
    assert_true(c->kept && c->value > 1.4 * c->prior && c->value < 2.2 * c->prior);
    assert_true(c->sigma < 0.9 * c->prior_sigma && c->sigma > 1.5 * eager->sigma);
    free_file(file);
}

/* A card whose GEMMs slow down, which its file says none of its kind does; and one which
 * does not. */
static void what_is_none_by_the_file_can_be_learnt(void **state)
{
    static const double throttles[] = {0.15, 0};
    struct file_of_samples *file = read_file();
    double truth[MFU_COEFFICIENT_COUNT];

    (void)state;
    for (size_t i = 0; i < LENGTH(throttles); i++) {
        const struct mfu_fit_row *r;
        struct mfu_fit f;

        memcpy(truth, file->gpu->coefficients.value, sizeof truth);
        assert_true(truth[MFU_C_GEMM_THROTTLE] == 0);
        truth[MFU_C_GEMM_THROTTLE] = throttles[i];
        measure_file(file, truth, 0.02);
        fit_file(file, &f);
        r = row_of(&f, MFU_C_GEMM_THROTTLE);
        assert_true(r->kept || throttles[i] == r->prior); /* that it is as its file says may be no news */
        if (fabs(r->value - throttles[i]) > fmax(0.03, r->sigma * r->value)) /* one standard error */
            fail_msg("gemm.throttle: %g +- %g (prior %g), not %g", r->value, r->sigma, r->prior, throttles[i]);
        r = row_of(&f, MFU_C_GEMM_EFFICIENCY);
        if (fabs(log(r->value / truth[r->id])) > fmax(3 * r->sigma, 0.02))
            fail_msg("gemm.efficiency: %g, not %g", r->value, truth[r->id]);
    }
    free_file(file);
}

/* How much of L2 a working set may fill is where copies on one buffer become slow. */
static void the_reach_of_l2_is_found(void **state)
{
    static const double times[] = {0.7, 1.4};
    struct world *w = malloc(sizeof *w);

    (void)state;
    for (size_t i = 0; i < LENGTH(times); i++) {
        const struct mfu_fit_row *r;
        struct mfu_fit f;

        begin(w, 30 + (unsigned)i);
        memcpy(w->truth, gpu->coefficients.value, sizeof w->truth);
        w->truth[MFU_C_L2_SHARE] *= times[i];
        for (double bytes = 1e6; bytes < 4e9; bytes *= 1.4) {
            add(w, mfu_kernel_stream(MFU_COPY, MFU_C_DRAM_POINTWISE, 1, bytes, 0, bytes / 2, bytes / 2), 1, false);
            w->samples[w->n - 1].warm = true;
        }
        measure(w, 0.02, 0);
        fit(w, &f);
        r = row_of(&f, MFU_C_L2_SHARE);
        assert_true(r->kept && r->sigma < r->prior_sigma);
        assert_near(r->value, w->truth[MFU_C_L2_SHARE], 0.1);
    }
    free(w);
}

/* A machine that is as its file says: what is known gets surer, and nothing is refused. */
static void what_agrees_with_its_prior_is_confirmed(void **state)
{
    static const enum mfu_coefficient confirmed[] = {MFU_C_GEMM_EFFICIENCY, MFU_C_DRAM_POINTWISE, MFU_C_DRAM_NORM_LONG,
                                                     MFU_C_DRAM_FUSED};
    struct world *w = malloc(sizeof *w);
    struct mfu_fit f;

    (void)state;
    begin(w, 21);
    memcpy(w->truth, gpu->coefficients.value, sizeof w->truth);
    add_gemms(w);
    add_streams(w);
    measure(w, 0.02, 0);
    fit(w, &f);
    for (size_t i = 0; i < LENGTH(confirmed); i++) {
        const struct mfu_fit_row *r = row_of(&f, confirmed[i]);

        assert_true(r->kept && r->sigma < 0.5 * r->prior_sigma);
        assert_near(r->value, r->prior, fmax(4 * r->sigma, 0.005));
    }
    free(w);
}

static void broken_samples_are_refused_where_they_are_broken(void **state)
{
    static const struct {
        const char *rest, *message;
        int line;
    } rows[] = {
        {"samples:\n  - {probe: gemm, m: x, seconds: 1}\n", "m: ", 9},
        {"samples:\n  - {probe: gemm, m: 5}\n", "'seconds' is missing", 9},
        {"samples:\n  - {probe: gemm, seconds: -1}\n", "is outside", 9},
        {"samples:\n  - gemm\n", "expected a sample", 9},
        {"samples: 3\n", "'samples' is missing", 8},
        {"", "'samples' is missing", 1},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        char text[2048];
        struct mfu_error err = {0};
        struct mfu_samples s;

        snprintf(text, sizeof text, "%s%s", head, rows[i].rest);
        assert_int_equal(read_text(text, &s, &err), -1);
        if (!strstr(err.text, rows[i].message) || err.line != rows[i].line)
            fail_msg("%zu: line %d: %s", i, err.line, err.text);
    }
    {
        struct mfu_error err = {0};
        struct mfu_samples s;

        assert_int_equal(read_text("gpu: rtx4070\n", &s, &err), -1);
        assert_non_null(strstr(err.text, "no file of samples"));
        assert_int_equal(mfu_samples_read("/nonexistent.yaml", &s, &err), -1);
    }
}

/* ---- what is kept -------------------------------------------------------- */

static void a_calibration_is_used_until_it_is_forgotten(void **state)
{
    struct mfu_error err = {0}, warning;
    struct mfu_calibration c = {.name = "h100-sxm",
                                .gpu = "h100-sxm",
                                .date = "2026-11-20",
                                .from = "runs",
                                .software = "a \"quoted\" one \\",
                                .samples = 3,
                                .mape = 0.02,
                                .mape_held_out = NAN};
    struct mfu_calibration back;
    const struct mfu_gpu *plain, *measured;
    struct mfu_catalog *mine;
    SCRATCH s = scratch_new();
    char folder[160], file[220];
    FILE *out;

    (void)state;
    snprintf(folder, sizeof folder, "%s/a/b", s.folder);
    mine = mfu_catalog_open(MFUPLAN_SOURCE_DIR, folder, &err);
    plain = mfu_catalog_gpu(mine, "h100-sxm", &err);
    assert_non_null(plain);
    mfu_coefficients_clear(&c.coefficients);
    c.coefficients.value[MFU_C_GEMM_EFFICIENCY] = 0.8;
    c.coefficients.sigma[MFU_C_GEMM_EFFICIENCY] = 0.01;
    snprintf(c.coefficients.source[MFU_C_GEMM_EFFICIENCY], 128, "runs of today");
    if (mfu_calibration_write(folder, &c, &err) < 0 || mfu_calibration_read(folder, "h100-sxm", &back, &err) < 0)
        fail_msg("%s:%d: %s", err.file, err.line, err.text);
    assert_string_equal(back.software, c.software);
    assert_true(back.samples == 3 && isnan(back.mape_held_out));
    mfu_catalog_refresh(mine);
    measured = mfu_catalog_gpu(mine, "H100", &err);
    assert_ptr_not_equal(plain, measured);
    assert_true(measured->coefficients.value[MFU_C_GEMM_EFFICIENCY] == 0.8);
    assert_int_equal(measured->coefficients.origin[MFU_C_GEMM_EFFICIENCY], MFU_FROM_CALIBRATION);
    assert_true(mfu_catalog_prior(mine, measured)->value[MFU_C_GEMM_EFFICIENCY]
                == plain->coefficients.value[MFU_C_GEMM_EFFICIENCY]);
    assert_false(mfu_catalog_warning(mine, &warning));

    snprintf(file, sizeof file, "%s/other.yaml", folder); /* a broken one is left out */
    out = fopen(file, "w");
    fputs("gpu: h100-sxm\ncoefficients: {gemm.eficiency: {value: 1, sigma: 1%, source: x}}\n", out);
    fclose(out);
    mfu_catalog_refresh(mine);
    measured = mfu_catalog_gpu(mine, "h100-sxm", &err);
    assert_non_null(measured);
    assert_true(measured->coefficients.value[MFU_C_GEMM_EFFICIENCY] == 0.8);
    assert_true(mfu_catalog_warning(mine, &warning));
    assert_non_null(strstr(warning.file, "other.yaml"));
    assert_int_equal(warning.line, 2);
    assert_false(mfu_catalog_warning(mine, &warning));

    assert_int_equal(mfu_calibration_forget(folder, "h100-sxn", &err), -1);
    assert_string_equal(err.suggestion, "h100-sxm");
    assert_int_equal(mfu_calibration_forget(folder, "../h100-sxm", &err), -1);
    assert_int_equal(mfu_calibration_forget(folder, "h100-sxm", &err), 0);
    assert_int_equal(mfu_calibration_forget(folder, "other", &err), 0);
    mfu_catalog_refresh(mine);
    assert_int_equal(mfu_catalog_gpu(mine, "h100-sxm", &err)->coefficients.origin[MFU_C_GEMM_EFFICIENCY],
                     plain->coefficients.origin[MFU_C_GEMM_EFFICIENCY]);
    mfu_catalog_free(mine);
    rmdir(folder);
    snprintf(folder, sizeof folder, "%s/a", s.folder);
    rmdir(folder);
    assert_int_equal(mfu_calibration_write(NULL, &c, &err), -1);
    assert_non_null(strstr(err.text, "switched off"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truth_without_noise_comes_back),
        cmocka_unit_test(truth_lies_within_the_error_bars),
        cmocka_unit_test(tangents_lead_to_the_same_solution),
        cmocka_unit_test(outliers_do_not_pull),
        cmocka_unit_test(measurements_that_agree_win_however_far),
        cmocka_unit_test(a_dozen_is_enough_and_one_of_them_is_not),
        cmocka_unit_test(what_the_data_cannot_carry_stays),
        cmocka_unit_test(one_point_moves_but_does_not_decide),
        cmocka_unit_test(tied_coefficients_scale_together),
        cmocka_unit_test(values_stay_in_their_range),
        cmocka_unit_test(nonsense_is_refused_and_gsl_left_as_it_was),
        cmocka_unit_test(every_probe_is_read_and_predicted),
        cmocka_unit_test(the_reach_of_l2_is_found),
        cmocka_unit_test(what_agrees_with_its_prior_is_confirmed),
        cmocka_unit_test(kernels_of_pytorch_tell_each_class),
        cmocka_unit_test(what_is_none_by_the_file_can_be_learnt),
        cmocka_unit_test(hosts_share_their_speed),
        cmocka_unit_test(broken_samples_are_refused_where_they_are_broken),
        cmocka_unit_test(a_calibration_is_used_until_it_is_forgotten),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
