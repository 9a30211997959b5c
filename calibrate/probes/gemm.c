/*
 * gemm.c - matrix products: the scenario's shapes, and a spread over size, K,
 * tile boundaries and alignment.
 *
 * A shape m n k is a layer's forward product Y[m,n] = X[m,k] W[n,k]^T; where
 * it stands for training, its backward products follow: dX[m,k] = dY W, and
 * dW[n,k] = dY^T X, the latter in the type and added up in fp32.
 */
#include "blas.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "reference.h"

#define MOST_SETS 512
#define MOST_POINTS 4096

/* What is done with a shape. */
enum { FORWARD = 1, BACKWARD = 2, SUSTAINED = 4, QUICK = 8 };

struct family {
    enum mfu_dtype dtype;
    int m, n, k;
    int what;
};

/* Training at 8192 tokens: GPT-2 124M and XL, Llama 8B; and one of each for
 * --quick. */
// clang-format off
#define LAYERS(dtype) \
    {dtype,  8192,  2304,   768, FORWARD | BACKWARD}, \
    {dtype,  8192,   768,   768, FORWARD | BACKWARD}, \
    {dtype,  8192,  3072,   768, FORWARD | BACKWARD | QUICK}, \
    {dtype,  8192,   768,  3072, FORWARD | BACKWARD}, \
    {dtype,  8192, 50304,   768, FORWARD | BACKWARD}, \
    {dtype,  8192,  6144,  4096, FORWARD | BACKWARD}, \
    {dtype,  8192, 14336,  4096, FORWARD | BACKWARD | QUICK}, \
    {dtype,  8192,  4096, 14336, FORWARD | BACKWARD}
#define SQUARES(dtype) \
    {dtype,  1024,  1024,  1024, FORWARD}, \
    {dtype,  2048,  2048,  2048, FORWARD}, \
    {dtype,  4096,  4096,  4096, FORWARD | QUICK}, \
    {dtype,  8192,  8192,  8192, FORWARD}

static const struct family families[] = {
    LAYERS(MFU_BF16),
    {MFU_BF16,  8192,  4800,  1600, FORWARD | BACKWARD},
    {MFU_BF16,  8192,  6400,  1600, FORWARD | BACKWARD},
    {MFU_BF16,  8192,  1152,   384, FORWARD | BACKWARD},
    {MFU_BF16,  8192,   384,   384, FORWARD | BACKWARD},
    SQUARES(MFU_BF16),
    /* size */
    {MFU_BF16,   256,   256,   256, FORWARD},
    {MFU_BF16,   512,   512,   512, FORWARD},
    {MFU_BF16,  3072,  3072,  3072, FORWARD},
    {MFU_BF16,  6144,  6144,  6144, FORWARD},
    {MFU_BF16, 16384, 16384,  4096, FORWARD},
    {MFU_BF16, 32768,  4096,  4096, FORWARD},
    {MFU_BF16,  2048,  4096,  4096, FORWARD},
    {MFU_BF16,  1024,  4096,  4096, FORWARD},
    {MFU_BF16,   512,  4096,  4096, FORWARD},
    {MFU_BF16,   128,  4096,  4096, FORWARD},
    /* K */
    {MFU_BF16,  4096,  4096,    64, FORWARD},
    {MFU_BF16,  4096,  4096,   128, FORWARD},
    {MFU_BF16,  4096,  4096,   256, FORWARD},
    {MFU_BF16,  4096,  4096,   512, FORWARD},
    {MFU_BF16,  4096,  4096,  1024, FORWARD},
    {MFU_BF16,  4096,  4096,  2048, FORWARD},
    {MFU_BF16,  4096,  4096,  8192, FORWARD},
    {MFU_BF16,  4096,  4096, 16384, FORWARD},
    {MFU_BF16,   768,   768, 32768, FORWARD},
    /* tile boundaries */
    {MFU_BF16,  1152,  1024,  4096, FORWARD},
    {MFU_BF16,  1280,  1024,  4096, FORWARD},
    {MFU_BF16,  1536,  1536,  4096, FORWARD},
    {MFU_BF16,  2176,  2048,  4096, FORWARD},
    {MFU_BF16,  2560,  2560,  4096, FORWARD},
    {MFU_BF16,  3328,  3072,  4096, FORWARD},
    {MFU_BF16,  4224,  4096,  4096, FORWARD},
    {MFU_BF16,  5120,  5120,  4096, FORWARD},
    {MFU_BF16,  4104,  4104,  4096, FORWARD},
    /* misaligned: the vocabulary of GPT-2, and odd K and M */
    {MFU_BF16,  8192, 50257,   768, FORWARD | BACKWARD},
    {MFU_BF16,  4096,  4100,  4096, FORWARD},
    {MFU_BF16,  4096,  4097,  4096, FORWARD},
    {MFU_BF16,  4096,  4096,  4095, FORWARD},
    {MFU_BF16,  4095,  4096,  4096, FORWARD},
    /* hot */
    {MFU_BF16,  8192,  8192,  8192, FORWARD | SUSTAINED | QUICK},
    {MFU_BF16,  8192,  3072,   768, FORWARD | SUSTAINED},
    {MFU_BF16,  8192, 14336,  4096, FORWARD | SUSTAINED},
    LAYERS(MFU_FP16),
    SQUARES(MFU_FP16),
    SQUARES(MFU_TF32),
    {MFU_TF32,  8192,  3072,   768, FORWARD | BACKWARD | QUICK},
    {MFU_TF32,  8192, 50304,   768, FORWARD | BACKWARD},
    SQUARES(MFU_FP32),
    {MFU_FP32,  8192,  3072,   768, FORWARD | BACKWARD},
    {MFU_FP32,  8192,   768,  3072, FORWARD},
    SQUARES(MFU_FP8),
    LAYERS(MFU_FP8),
    {MFU_FP8,   8192,  8192,  8192, FORWARD | SUSTAINED},
};
// clang-format on

struct point {
    struct mfu_gemm gemm;
    bool sustained;
};

/* cuBLAS has no tensor-core products of that type below this capability. */
static bool has_dtype(const struct mfu_bench *b, enum mfu_dtype dtype)
{
    const int capability = 10 * b->gpu.major + b->gpu.minor;

    return dtype == MFU_FP8 ? capability >= 89 : dtype == MFU_BF16 || dtype == MFU_TF32 ? capability >= 80 : true;
}

static bool same(const struct point *x, const struct point *y)
{
    return x->gemm.m == y->gemm.m && x->gemm.n == y->gemm.n && x->gemm.k == y->gemm.k
        && x->gemm.layout == y->gemm.layout && x->gemm.dtype == y->gemm.dtype
        && x->gemm.fp32_result == y->gemm.fp32_result && x->gemm.accumulate == y->gemm.accumulate
        && x->sustained == y->sustained;
}

/* Adds a point that is not there yet. */
static void add(struct point *list, size_t *n, enum mfu_layout layout, int m, int n_, int k, enum mfu_dtype dtype,
                bool accumulate, bool sustained)
{
    struct point p = {.sustained = sustained};

    p.gemm = (struct mfu_gemm){.m = m,
                               .n = n_,
                               .k = k,
                               .layout = layout,
                               .dtype = dtype,
                               .fp32_result = accumulate,
                               .accumulate = accumulate,
                               .scale = 1};
    for (size_t i = 0; i < *n; i++)
        if (same(&list[i], &p))
            return;
    if (*n < MOST_POINTS)
        list[(*n)++] = p;
}

static void add_family(struct point *list, size_t *n, const struct family *f)
{
    if (f->what & FORWARD)
        add(list, n, MFU_TN, f->m, f->n, f->k, f->dtype, false, f->what & SUSTAINED);
    if (!(f->what & BACKWARD) || f->dtype == MFU_FP8)
        return;
    add(list, n, MFU_NN, f->m, f->k, f->n, f->dtype, false, false);
    add(list, n, MFU_NT, f->n, f->k, f->m, f->dtype, false, false);
    add(list, n, MFU_NT, f->n, f->k, f->m, f->dtype, true, false);
}

static void list_points(const struct mfu_bench *b, struct point *list, size_t *n)
{
    double most = 0;
    const struct mfu_shape *largest = NULL;

    *n = 0;
    for (size_t i = 0; i < b->n_shapes; i++) {
        const struct mfu_shape *s = &b->shapes[i];
        const double flop = 2.0 * s->m * s->n * s->k;

        if (!has_dtype(b, s->dtype))
            continue;
        add_family(list, n, &(struct family){s->dtype, s->m, s->n, s->k, FORWARD | BACKWARD});
        if (flop > most)
            most = flop, largest = s;
    }
    if (largest)
        add(list, n, MFU_TN, largest->m, largest->n, largest->k, largest->dtype, false, true);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (has_dtype(b, families[i].dtype) && (families[i].what & QUICK || !b->quick))
            add_family(list, n, &families[i]);
}

static size_t points(const struct mfu_bench *b)
{
    static struct point list[MOST_POINTS];
    size_t n;

    list_points(b, list, &n);
    return n;
}

struct rotation {
    struct mfu_gemm set[MOST_SETS];
};

static int launch(struct mfu_bench *b, void *arg, int set)
{
    const struct rotation *r = arg;

    return mfu_blas_gemm(b, &r->set[set]);
}

static double result_size(const struct mfu_gemm *g)
{
    return g->fp32_result ? 4 : g->dtype == MFU_FP8 ? 2 : (double)mfu_dtype_size(g->dtype);
}

static int make_set(struct mfu_bench *b, struct mfu_gemm *g)
{
    const double e = (double)mfu_dtype_size(g->dtype);
    const double a = (double)g->m * g->k;
    const double w = (double)g->n * g->k;
    const double c = (double)g->m * g->n * result_size(g);
    void *room_a = mfu_bench_room(b, e * a);
    void *room_b = mfu_bench_room(b, e * w);

    g->c = mfu_bench_room(b, c);
    if (!room_a || !room_b || !g->c)
        return MFU_SKIPPED;
    g->a = room_a;
    g->b = room_b;
    if (mfu_bench_normal(b, room_a, a, g->dtype, 1, 1) < 0 || mfu_bench_normal(b, room_b, w, g->dtype, 0.02f, 2) < 0)
        return -1;
    return mfu_bench_zero(b, g->c, (size_t)c);
}

static int run(struct mfu_bench *b, size_t point)
{
    static struct point list[MOST_POINTS];
    static struct rotation r;
    struct mfu_work work = {.launch = launch, .arg = &r};
    struct mfu_timing timing;
    struct mfu_gemm g;
    double bytes;
    size_t n;

    list_points(b, list, &n);
    g = list[point].gemm;
    bytes =
        ((double)g.m * g.k + (double)g.n * g.k) * (double)mfu_dtype_size(g.dtype) + (double)g.m * g.n * result_size(&g);
    work.sustained = list[point].sustained;
    work.sets = mfu_bench_sets(b, bytes);
    if (work.sets > MOST_SETS)
        work.sets = MOST_SETS;
    for (int i = 0; i < work.sets; i++) {
        int status;

        r.set[i] = g;
        status = make_set(b, &r.set[i]);
        if (status == MFU_SKIPPED && i > 0)
            work.sets = i;
        else if (status != 0)
            return status;
    }
    if (mfu_bench_measure(b, &work, &timing) < 0)
        return -1;
    return mfu_bench_record(b, &timing,
                            "probe: gemm, dtype: %s, m: %d, n: %d, k: %d, batch: 1, layout: %s, accumulate: %d, "
                            "out_bytes: %.0f",
                            mfu_dtype_names[g.dtype], g.m, g.n, g.k, mfu_layout_names[g.layout], g.accumulate,
                            result_size(&g));
}

/* cuBLAS is not ours; that we call it as we mean to is checked all the same. */
static int check_layout(struct mfu_bench *b, enum mfu_dtype dtype, int layout, bool accumulate)
{
    const int m = 48, n = 80, k = 112;
    const size_t size = (size_t)m * n;
    float *x = mfu_check_normal((size_t)m * k, 1, 1);
    float *y = mfu_check_normal((size_t)n * k, 1, 2);
    float *c = mfu_check_normal(size, 1, 3);
    enum mfu_dtype result = accumulate ? MFU_FP32 : dtype;
    struct mfu_gemm g = {.m = m,
                         .n = n,
                         .k = k,
                         .layout = (enum mfu_layout)layout,
                         .dtype = dtype,
                         .fp32_result = accumulate,
                         .accumulate = accumulate,
                         .scale = 1};
    char what[64];
    int status = -1;

    snprintf(what, sizeof what, "cuBLAS %s %s", mfu_dtype_names[dtype], mfu_layout_names[layout]);
    g.a = mfu_check_put(b, x, (size_t)m * k, dtype);
    g.b = mfu_check_put(b, y, (size_t)n * k, dtype);
    g.c = mfu_check_put(b, c, size, result);
    if (g.a && g.b && g.c && mfu_blas_gemm(b, &g) == 0) {
        mfu_ref_gemm(layout, x, y, c, m, n, k, accumulate);
        status =
            mfu_check_same(b, what, g.c, result, c, size, dtype == MFU_FP32 ? MFU_FP32_TOLERANCE : MFU_BF16_TOLERANCE);
    }
    free(x);
    free(y);
    free(c);
    return status;
}

static int check(struct mfu_bench *b)
{
    const enum mfu_dtype dtypes[] = {MFU_FP32, MFU_BF16};

    for (int d = 0; d < 2; d++)
        for (int layout = MFU_TN; has_dtype(b, dtypes[d]) && layout <= MFU_NT; layout++)
            for (int accumulate = 0; accumulate < 2; accumulate++)
                if (check_layout(b, dtypes[d], layout, accumulate) < 0)
                    return -1;
    return 0;
}

MFU_PROBE(gemm) = {
    .name = "gemm",
    .summary = "matrix products through cuBLAS, forward and backward",
    .points = points,
    .check = check,
    .run = run,
};
