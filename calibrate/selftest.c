/*
 * selftest.c - the CPU references against finite differences and known values,
 * random numbers, the reader of shapes and the writer of samples.
 */
#include "selftest.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "library.h"
#include "output.h"
#include "random.h"
#include "reference.h"
#include "shapes.h"

enum { ROWS = 3, COLUMNS = 8, SIZE = ROWS * COLUMNS };

static void normal(float *x, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = mfu_random_normal(i, seed);
}

/* Whether dx is the derivative of sum(dy * f(x)) by central differences, the
 * larger error relative to the largest number in dx. */
static bool is_gradient(void (*f)(const float *x, float *y, const void *arg), const void *arg, const float *x,
                        size_t n_x, const float *dy, size_t n_y, const float *dx)
{
    const float step = 1e-2f;
    float *moved = malloc(n_x * sizeof *moved);
    float *y = malloc(n_y * sizeof *y);
    double most = 0;
    double worst = 0;

    if (!moved || !y)
        abort();
    for (size_t i = 0; i < n_x; i++) {
        double slope = 0;

        for (int side = -1; side <= 1; side += 2) {
            memcpy(moved, x, n_x * sizeof *moved);
            moved[i] += (float)side * step;
            f(moved, y, arg);
            for (size_t j = 0; j < n_y; j++)
                slope += side * (double)dy[j] * y[j] / (2 * (double)step);
        }
        most = fmax(most, fabs((double)dx[i]));
        worst = fmax(worst, fabs(slope - dx[i]));
    }
    free(moved);
    free(y);
    return worst < 2e-3 * (most + 0.1);
}

struct norm_arg {
    bool centred;
    const float *gamma, *beta;
};

static void norm_of(const float *x, float *y, const void *arg)
{
    const struct norm_arg *a = arg;

    mfu_ref_norm(a->centred, x, a->gamma, a->beta, y, ROWS, COLUMNS);
}

static bool check_norm(bool centred)
{
    float x[SIZE], dy[SIZE], dx[SIZE], y[SIZE], gamma[COLUMNS], beta[COLUMNS], dgamma[COLUMNS], dbeta[COLUMNS];
    struct norm_arg arg = {centred, gamma, beta};
    bool fine;

    normal(x, SIZE, 1);
    normal(dy, SIZE, 2);
    normal(gamma, COLUMNS, 3);
    normal(beta, COLUMNS, 4);
    mfu_ref_norm_back(centred, x, gamma, dy, dx, dgamma, dbeta, ROWS, COLUMNS);
    fine = is_gradient(norm_of, &arg, x, SIZE, dy, SIZE, dx);
    /* The result is linear in gamma and beta: sum(dy y) = dgamma gamma + dbeta beta. */
    norm_of(x, y, &arg);
    {
        double left = 0;
        double right = 0;

        for (int i = 0; i < SIZE; i++)
            left += (double)dy[i] * y[i];
        for (int i = 0; i < COLUMNS; i++)
            right += (double)dgamma[i] * gamma[i] + (double)dbeta[i] * beta[i];
        return fine && fabs(left - right) < 1e-4 * (1 + fabs(left));
    }
}

static bool layer_norm(void)
{
    return check_norm(true);
}

static bool rms_norm(void)
{
    const float x[4] = {3, 4, 3, 4};
    const float one[4] = {1, 1, 1, 1};
    float y[4];

    mfu_ref_norm(false, x, one, NULL, y, 1, 4);
    return check_norm(false) && fabs(y[0] - 3 / sqrt(12.5)) < 1e-5;
}

static void gelu_of(const float *x, float *y, const void *bias)
{
    mfu_ref_bias_gelu(x, bias, y, ROWS, COLUMNS);
}

static bool gelu(void)
{
    const float one = 1;
    const float none = 0;
    float x[SIZE], dy[SIZE], dx[SIZE], bias[COLUMNS], y;

    normal(x, SIZE, 1);
    normal(dy, SIZE, 2);
    normal(bias, COLUMNS, 3);
    mfu_ref_bias_gelu_back(x, bias, dy, dx, ROWS, COLUMNS);
    mfu_ref_bias_gelu(&one, &none, &y, 1, 1);
    return is_gradient(gelu_of, bias, x, SIZE, dy, SIZE, dx) && fabsf(y - 0.841192f) < 1e-5f;
}

static void softmax_of(const float *x, float *y, const void *arg)
{
    (void)arg;
    mfu_ref_softmax(x, y, ROWS, COLUMNS);
}

static bool softmax(void)
{
    const float large[2] = {1000, 1000};
    float x[SIZE], y[SIZE], dy[SIZE], dx[SIZE], half[2];

    normal(x, SIZE, 1);
    normal(dy, SIZE, 2);
    softmax_of(x, y, NULL);
    mfu_ref_softmax_back(y, dy, dx, ROWS, COLUMNS);
    mfu_ref_softmax(large, half, 1, 2);
    return is_gradient(softmax_of, NULL, x, SIZE, dy, SIZE, dx) && fabsf(half[1] - 0.5f) < 1e-6f;
}

static void loss_of(const float *x, float *loss, const void *target)
{
    float dx[SIZE];

    mfu_ref_cross_entropy(x, target, loss, dx, 1, ROWS, COLUMNS);
}

static bool cross_entropy(void)
{
    const int target[ROWS] = {2, 7, 0};
    const float ones[ROWS] = {0.5f, 0.5f, 0.5f};
    const float same[COLUMNS] = {0};
    float x[SIZE], loss[ROWS], dx[SIZE];

    normal(x, SIZE, 1);
    mfu_ref_cross_entropy(x, target, loss, dx, 0.5f, ROWS, COLUMNS);
    if (!is_gradient(loss_of, target, x, SIZE, ones, ROWS, dx))
        return false;
    mfu_ref_cross_entropy(same, target, loss, dx, 1, 1, COLUMNS);
    return fabs(loss[0] - log(COLUMNS)) < 1e-6;
}

/* All three layouts of one product. */
static bool gemm(void)
{
    const float a[6] = {1, 2, 3, 4, 5, 6}; /* 2 x 3 */
    const float a_turned[6] = {1, 4, 2, 5, 3, 6};
    const float b[6] = {7, 8, 9, 10, 11, 12}; /* 3 x 2 */
    const float b_turned[6] = {7, 9, 11, 8, 10, 12};
    const float expected[4] = {58, 64, 139, 154};
    float c[3][4] = {{0}};

    mfu_ref_gemm(0, a, b_turned, c[0], 2, 2, 3, false);
    mfu_ref_gemm(1, a, b, c[1], 2, 2, 3, false);
    mfu_ref_gemm(2, a_turned, b, c[2], 2, 2, 3, true);
    return memcmp(c[0], expected, sizeof expected) == 0 && memcmp(c[1], expected, sizeof expected) == 0
        && memcmp(c[2], expected, sizeof expected) == 0;
}

static bool bf16(void)
{
    return mfu_ref_round_bf16(1.0f) == 1.0f && mfu_ref_round_bf16(1.00390625f) == 1.0f /* a tie, to even */
        && mfu_ref_round_bf16(1.01171875f) == 1.015625f && mfu_ref_round_bf16(-3.14159f) == -3.140625f
        && isnan(mfu_ref_round_bf16(NAN)) && isinf(mfu_ref_round_bf16(INFINITY));
}

static bool random_numbers(void)
{
    enum { N = 100000 };
    double sum = 0;
    double square = 0;
    double fourth = 0;

    for (int i = 0; i < N; i++) {
        double x = mfu_random_normal((uint64_t)i, 5);

        sum += x;
        square += x * x;
        fourth += x * x * x * x;
    }
    return fabs(sum / N) < 0.02 && fabs(square / N - 1) < 0.02 && fabs(fourth / N - 3) < 0.15
        && mfu_random_normal(0, 1) != mfu_random_normal(0, 2);
}

static int read_text(const char *text, struct mfu_shape **shapes, size_t *n, char *why, size_t size)
{
    FILE *f = fmemopen((void *)text, strlen(text), "r");
    int status;

    if (!f)
        return -1;
    status = mfu_shapes_read(f, shapes, n, why, size);
    fclose(f);
    return status;
}

static bool shapes(void)
{
    static const char *const wrong[] = {"8 8 8\n", "8 8 8 int8\n", "8 0 8 bf16\n", "8 8 8 bf16 more\n", "a 8 8 bf16"};
    struct mfu_shape *list;
    char why[160];
    size_t n;
    bool fine;

    if (read_text("# of a scenario\n\n8192 2304 768 bf16\n 1 2 3 fp8 # small\n", &list, &n, why, sizeof why) < 0)
        return false;
    fine = n == 2 && list[0].n == 2304 && list[0].dtype == MFU_BF16 && list[1].k == 3 && list[1].dtype == MFU_FP8;
    free(list);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        fine = fine && read_text(wrong[i], &list, &n, why, sizeof why) < 0 && strncmp(why, "line 1:", 7) == 0 && !list;
    return fine;
}

/* What a file looks like, sample by sample. */
static bool samples(void)
{
    static const char wanted[] = "  - {probe: stream, kind: copy, bytes: 2000000000, seconds: 0.00125, "
                                 "spread: 0.40%, clock_mhz: 1755, "
                                 "power_w: 690, temperature_c: 61, sustained: 1}\n";
    const struct mfu_timing t = {.seconds = 1.25e-3,
                                 .spread = 0.004,
                                 .sustained = true,
                                 .sensors = {.clock_mhz = 1755, .power_w = 690, .temperature_c = 61}};
    struct mfu_bench b = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    bool fine;

    if (!f)
        return false;
    strcpy(b.gpu.name, "NVIDIA: {H200}");
    fine = mfu_bench_record(&b, &t, "probe: stream, kind: copy, bytes: %.0f", 2e9) == 0;
    mfu_output_print(&b, f, "2026-11-20");
    fclose(f);
    fine = fine && strstr(text, "\nmfuplan_samples: 1\n") && strstr(text, "gpu: {name: NVIDIA   H200 , uuid_hash: \"")
        && strstr(text, "\ndate: 2026-11-20\nsamples:\n") && strstr(text, wanted);
    free(text);
    free(b.samples[0]);
    free(b.samples);
    return fine;
}

/* Samples of probes that were whole are taken up, others not; those of another GPU, of other sizes and
 * those that no line counts are refused. */
static bool resumes(void)
{
    const struct mfu_timing t = {.seconds = 1e-3};
    char path[40] = "/tmp/mfuplan-samples-XXXXXX";
    struct mfu_bench was = {0}, now = {0}, other = {0}, quick = {.quick = true}, older = {0};
    int file = mkstemp(path);
    bool fine = file >= 0;
    FILE *f;

    other.gpu.uuid.bytes[3] = 7;
    fine = fine && mfu_bench_record(&was, &t, "probe: gemm, m: 8") == 0
        && mfu_bench_record(&was, &t, "probe: stream, kind: copy") == 0;
    mfu_output_complete(&was, "gemm");
    mfu_output_complete(&was, "memory");
    fine = fine && mfu_bench_record(&was, &t, "probe: norm, kind: layer") == 0 && mfu_output_write(&was, path) == 0;
    fine = fine && mfu_output_resume(&now, path) == 0 && now.n_samples == 2 && mfu_output_has(&now, "gemm")
        && mfu_output_has(&now, "memory") && !mfu_output_has(&now, "mem") && !mfu_output_has(&now, "norm")
        && strcmp(now.samples[1], was.samples[1]) == 0;
    fine = fine && mfu_output_resume(&other, path) < 0 && strstr(other.error, "not samples of this GPU");
    fine = fine && mfu_output_resume(&quick, path) < 0 && strstr(quick.error, "without --quick")
        && mfu_output_write(&quick, path) == 0 && mfu_output_resume(&older, path) < 0
        && strstr(older.error, "with --quick");
    if (fine && (f = fopen(path, "w"))) {
        fputs("mfuplan_samples: 1\nsamples:\n  - {probe: gemm, m: 8}\n", f);
        fine =
            fclose(f) == 0 && mfu_output_resume(&older, path) < 0 && strstr(older.error, "how many probes are whole");
    }
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    fine = fine && mfu_output_resume(&other, path) == 0; /* no file: from the start */
    for (struct mfu_bench *const all[] = {&was, &now, &other, &quick, &older}, *const *b = all; b < all + 5; b++) {
        for (size_t i = 0; i < (*b)->n_samples; i++)
            free((*b)->samples[i]);
        free((*b)->samples);
    }
    return fine;
}

/* FNV-1a of "a", from its authors. */
static bool hash(void)
{
    char text[17];

    mfu_output_hash("a", 1, text);
    return strcmp(text, "af63dc4c8601ec8c") == 0;
}

/* cuBLAS of the active Python environment comes first, wherever CUDA 12's and 13's wheels
 * put it; libc stands in for it. */
static bool libraries(void)
{
    static const struct {
        const char *folder, *major;
    } wheels[] = {{"cublas", "12"}, {"cu13", "13"}};
    char top[24] = "/tmp/mfuplan-XXXXXX", folder[100], command[8192];
    Dl_info libc;
    bool fine = mkdtemp(top) && dladdr(stdout, &libc) && setenv("VIRTUAL_ENV", top, 1) == 0;

    for (size_t i = 0; i < sizeof wheels / sizeof wheels[0] && fine; i++) {
        const char *major = wheels[i].major;
        struct mfu_cublas c;

        snprintf(folder, sizeof folder, "%s/lib/python3.%zu/site-packages/nvidia/%s/lib", top, 10 + i,
                 wheels[i].folder);
        snprintf(command, sizeof command,
                 "rm -rf %s/lib; mkdir -p %s && ln -s %s %s/libcublas.so.%s && ln -s %s %s/libcublasLt.so.%s", top,
                 folder, libc.dli_fname, folder, major, libc.dli_fname, folder, major);
        fine = system(command) == 0 && mfu_cublas_find(&c) == 0;
        fine = fine && strncmp(c.path, folder, strlen(folder)) == 0 && strcmp(strrchr(c.path, '.') + 1, major) == 0;
        if (fine)
            dlclose(c.blas), dlclose(c.lt);
    }
    unsetenv("VIRTUAL_ENV");
    snprintf(command, sizeof command, "rm -rf %s", top);
    return system(command) == 0 && fine;
}

/* Every probe has points, with and without --quick, on a GPU of today. */
static bool probes(void)
{
    struct mfu_bench b = {0};

    b.gpu.major = 9;
    for (size_t i = 0; i < mfu_probe_count; i++) {
        const struct mfu_probe *p = mfu_probes[i];
        const char *why = p->skip ? p->skip(&b) : NULL;
        size_t all, quick;

        if (why)
            continue;
        b.quick = false;
        all = p->points(&b);
        b.quick = true;
        quick = p->points(&b);
        if (quick == 0 || all < quick)
            return false;
    }
    return mfu_probe_count > 0;
}

static const struct {
    const char *name;
    bool (*holds)(void);
} checks[] = {
    {"bf16 rounds to nearest even", bf16},
    {"random numbers are normal", random_numbers},
    {"bias + GELU and its gradient", gelu},
    {"LayerNorm and its gradient", layer_norm},
    {"RMSNorm and its gradient", rms_norm},
    {"softmax and its gradient", softmax},
    {"cross-entropy and its gradient", cross_entropy},
    {"products in three layouts", gemm},
    {"shapes are read", shapes},
    {"samples are written", samples},
    {"samples are taken up again", resumes},
    {"a GPU is hashed", hash},
    {"cuBLAS is found in Python's packages", libraries},
    {"probes have points", probes},
};

int mfu_self_test(void)
{
    int failed = 0;

    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        const bool holds = checks[i].holds();

        printf("%-6s %s\n", holds ? "ok" : "FAILED", checks[i].name);
        failed += !holds;
    }
    return failed ? 1 : 0;
}
