/*
 * selftest.c - the CPU references against finite differences and known values,
 * random numbers, the reader of shapes and the writer of samples, and whether
 * cuDNN takes the graphs of attention where it is there.
 */
#include "selftest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention_graph.h"
#include "bench.h"
#include "cudnn.h"
#include "output.h"
#include "random.h"
#include "reference.h"
#include "shapes.h"

/* Why the check that ran last could not tell; empty if it could. */
static char left_out[400];

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

static bool rotary(void)
{
    const float x[4] = {1, 2, 3, 4};
    const float cos[2] = {0, 1};
    const float sin[2] = {1, 0};
    const float expected[4] = {-3, 2, 1, 4};
    float y[4];

    mfu_ref_rotary(x, cos, sin, y, 1, 1, 4);
    return memcmp(y, expected, sizeof y) == 0;
}

/* The first step moves by the rate against the sign of the gradient. */
static bool adamw(void)
{
    const struct mfu_adamw a = {0.01f, 0.9f, 0.95f, 1e-8f, 0.1f, 1 - 0.9f, 1 - 0.95f};
    const float g = -3;
    float p = 2;
    float m = 0;
    float v = 0;

    mfu_ref_adamw(&a, &p, &g, &m, &v, 1);
    return fabs(p - (2 * (1 - 0.001) + 0.01)) < 1e-5 && fabs(m + 0.3) < 1e-5 && fabs(v - 0.45) < 1e-5;
}

enum { SEQ = 5, DIM = 4, HEAD = SEQ * DIM };

struct attention_arg {
    const float *q, *k, *v;
    int which; /* of q, k and v is the variable */
    bool causal;
};

static void attention_of(const float *x, float *o, const void *arg)
{
    const struct attention_arg *a = arg;

    mfu_ref_attention(a->which == 0 ? x : a->q, a->which == 1 ? x : a->k, a->which == 2 ? x : a->v, o, SEQ, DIM,
                      a->causal);
}

static bool attention(void)
{
    float x[3][HEAD], d_o[HEAD], dx[3][HEAD], o[HEAD];
    bool fine = true;

    normal(d_o, HEAD, 4);
    for (unsigned i = 0; i < 3; i++)
        normal(x[i], HEAD, i + 1);
    for (int causal = 0; causal < 2; causal++) {
        mfu_ref_attention_back(x[0], x[1], x[2], d_o, dx[0], dx[1], dx[2], SEQ, DIM, causal);
        for (int i = 0; i < 3; i++) {
            struct attention_arg arg = {x[0], x[1], x[2], i, causal};

            fine = fine && is_gradient(attention_of, &arg, x[i], HEAD, d_o, HEAD, dx[i]);
        }
    }
    mfu_ref_attention(x[0], x[1], x[2], o, SEQ, DIM, true);
    return fine && memcmp(o, x[2], DIM * sizeof *o) == 0; /* the first query sees only itself */
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

/* FNV-1a of "a", from its authors. */
static bool hash(void)
{
    char text[17];

    mfu_output_hash("a", 1, text);
    return strcmp(text, "af63dc4c8601ec8c") == 0;
}

/* cuDNN checks types, sizes and strides of a graph without a GPU; whether it has
 * kernels for it is another matter, and the test calibrate.cudnn's. */
static bool cudnn(void)
{
    static const struct mfu_attention_shape tried[] = {
        {8, 12, 12, 1024, 64, true, true}, {2, 32, 8, 2048, 128, true, true}, {1, 2, 2, 64, 128, false, true}};
    struct mfu_cudnn *c = mfu_cudnn_open(left_out, sizeof left_out);
    bool fine = true;

    if (!c)
        return true;
    for (size_t i = 0; i < sizeof tried / sizeof tried[0] && fine; i++) {
        struct mfu_graph g;

        mfu_attention_forward(&g, &tried[i], -INFINITY);
        fine = mfu_cudnn_accepts(c, &g) == 0;
        mfu_attention_backward(&g, &tried[i], -INFINITY);
        fine = fine && mfu_cudnn_accepts(c, &g) == 0;
    }
    /* Newer versions do not start without the NVIDIA driver. */
    if (!fine && strstr(mfu_cudnn_error(c), "SUBLIBRARY_LOADING_FAILED")) {
        snprintf(left_out, sizeof left_out, "%s", mfu_cudnn_error(c));
        fine = true;
    }
    mfu_cudnn_close(c);
    return fine;
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
    {"rotary position embedding", rotary},
    {"AdamW", adamw},
    {"attention and its gradients", attention},
    {"products in three layouts", gemm},
    {"shapes are read", shapes},
    {"samples are written", samples},
    {"a GPU is hashed", hash},
    {"cuDNN takes the graphs of attention", cudnn},
    {"probes have points", probes},
};

int mfu_self_test(void)
{
    int failed = 0;

    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        bool holds;

        *left_out = '\0';
        holds = checks[i].holds();
        if (holds && *left_out)
            printf("%-6s %s: %s\n", "skip", checks[i].name, left_out);
        else
            printf("%-6s %s\n", holds ? "ok" : "FAILED", checks[i].name);
        failed += !holds;
    }
    return failed ? 1 : 0;
}
