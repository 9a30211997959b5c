/*
 * gelu.cu - bias + GELU in one kernel and in two, its gradient, and the sum
 * over rows that is the gradient of a bias.
 */
#include "check.h"
#include "device.cuh"
#include "reference.h"
#include "rows.h"

#include <stdlib.h>

#define THREADS 256
#define ROOT 0.7978845608f /* sqrt(2 / pi) */
#define CUBIC 0.044715f

enum { X, Y, U, DY, DX }; /* arrays: U = X + bias */
enum { BIAS, DBIAS };     /* vectors of a number per column */

__device__ static float gelu(float u)
{
    return 0.5f * u * (1 + tanhf(ROOT * (u + CUBIC * u * u * u)));
}

__device__ static float gelu_slope(float u)
{
    const float t = tanhf(ROOT * (u + CUBIC * u * u * u));

    return 0.5f * (1 + t) + 0.5f * u * (1 - t * t) * ROOT * (1 + 3 * CUBIC * u * u);
}

enum { BIAS_GELU, ADD_BIAS, GELU, BIAS_GELU_BACK, GELU_BACK };

/* Eight elements for each thread; columns are a multiple of eight. */
template <int WHAT>
__global__ void pointwise(const bf16 *x, const bf16 *dy, const float *bias, bf16 *out, size_t n, int columns)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    const bool biased = WHAT == BIAS_GELU || WHAT == ADD_BIAS || WHAT == BIAS_GELU_BACK;
    const bool back = WHAT == BIAS_GELU_BACK || WHAT == GELU_BACK;
    wide<bf16> in, gradient;
    int column;

    if (i >= n / 8)
        return;
    column = (int)(i * 8 % columns);
    in = ((const wide<bf16> *)x)[i];
    if (back)
        gradient = ((const wide<bf16> *)dy)[i];
    for (int j = 0; j < 8; j++) {
        const float u = number(in.at[j]) + (biased ? bias[column + j] : 0);

        in.at[j] = as<bf16>(back ? number(gradient.at[j]) * gelu_slope(u) : WHAT == ADD_BIAS ? u : gelu(u));
    }
    ((wide<bf16> *)out)[i] = in;
}

/* Block (i, p) sums rows p, p + P, ... of 32 x 8 columns; eight threads above
 * each other share the work. */
__global__ static void sum_rows(const bf16 *x, float *partial, int rows, int columns)
{
    __shared__ float part[THREADS / 32][32 * 8];
    const int lane = threadIdx.x % 32;
    const int line = threadIdx.x / 32;
    const int column = (blockIdx.x * 32 + lane) * 8;
    float sum[8] = {};

    for (int row = blockIdx.y * (THREADS / 32) + line; row < rows && column < columns;
         row += gridDim.y * (THREADS / 32)) {
        const wide<bf16> in = *(const wide<bf16> *)(x + (size_t)row * columns + column);

        for (int j = 0; j < 8; j++)
            sum[j] += number(in.at[j]);
    }
    for (int j = 0; j < 8; j++)
        part[line][lane * 8 + j] = sum[j];
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * 8; i += THREADS) {
        float total = 0;

        for (int j = 0; j < THREADS / 32; j++)
            total += part[j][i];
        if ((int)blockIdx.x * 32 * 8 + i < columns)
            partial[(size_t)blockIdx.y * columns + blockIdx.x * 32 * 8 + i] = total;
    }
}

__global__ static void sum_partials(const float *partial, float *out, int n, int columns)
{
    const int column = blockIdx.x * THREADS + threadIdx.x;
    float sum = 0;

    for (int i = 0; i < n && column < columns; i++)
        sum += partial[(size_t)i * columns + column];
    if (column < columns)
        out[column] = sum;
}

template <int WHAT> static int run_pointwise(struct mfu_bench *b, const struct mfu_rows *r, int from, int to)
{
    const size_t n = (size_t)r->rows * r->columns;

    return mfu_launch(b, pointwise<WHAT>, dim3(wide_blocks<bf16>((double)n, THREADS)), THREADS, (bf16 *)r->array[from],
                      (bf16 *)r->array[DY], r->column[BIAS], (bf16 *)r->array[to], n, r->columns);
}

static int forward_fused(struct mfu_bench *b, const struct mfu_rows *r)
{
    return run_pointwise<BIAS_GELU>(b, r, X, Y);
}

static int forward_unfused(struct mfu_bench *b, const struct mfu_rows *r)
{
    return run_pointwise<ADD_BIAS>(b, r, X, U) < 0 ? -1 : run_pointwise<GELU>(b, r, U, Y);
}

static int backward_fused(struct mfu_bench *b, const struct mfu_rows *r)
{
    return run_pointwise<BIAS_GELU_BACK>(b, r, X, DX);
}

static int backward_unfused(struct mfu_bench *b, const struct mfu_rows *r)
{
    return run_pointwise<GELU_BACK>(b, r, U, DX);
}

static int bias_gradient(struct mfu_bench *b, const struct mfu_rows *r)
{
    const int partials = 64;
    const dim3 grid((r->columns + 255) / 256, partials);

    if (mfu_launch(b, sum_rows, grid, THREADS, (bf16 *)r->array[DX], r->partial, r->rows, r->columns) < 0)
        return -1;
    return mfu_launch(b, sum_partials, dim3((r->columns + THREADS - 1) / THREADS), THREADS, r->partial,
                      r->column[DBIAS], partials, r->columns);
}

// clang-format off
static const struct mfu_rows_case cases[] = {
    /* kind, pass, fused, launch, arrays X Y U DY DX, bytes read, written, kernels, probe */
    {"bias_gelu", "forward",  1, forward_fused,    {2, 2, 0, 0, 0}, 2, 2, 1, NULL},
    {"bias_gelu", "forward",  0, forward_unfused,  {2, 2, 2, 0, 0}, 4, 4, 2, NULL},
    {"bias_gelu", "backward", 1, backward_fused,   {2, 0, 0, 2, 2}, 4, 2, 1, NULL},
    {"gelu",      "backward", 1, backward_unfused, {0, 0, 2, 2, 2}, 4, 2, 1, NULL},
    {"bias_grad", "backward", 1, bias_gradient,    {0, 0, 0, 0, 2}, 2, 0, 2, "column_sum"},
};
// clang-format on

static const struct mfu_rows_table table = {"gelu", cases, sizeof cases / sizeof cases[0], NULL, 0};

static int check(struct mfu_bench *b)
{
    const int rows = 37, columns = 264;
    const int size[MFU_ROWS_ARRAYS] = {2, 2, 2, 2, 2};
    const size_t n = (size_t)rows * columns;
    float *x = mfu_check_normal(n, 1, 1);
    float *dy = mfu_check_normal(n, 1, 2);
    float *bias = mfu_check_normal(columns, 1, 3);
    float *y = mfu_check_normal(n, 1, 4);
    float *dx = mfu_check_normal(n, 1, 5);
    float *dbias = (float *)calloc(columns, sizeof *dbias);
    struct mfu_rows r;
    int status = -1;

    if (!x || !dy || !bias || !y || !dx || !dbias || mfu_rows_room(b, &r, rows, columns, size) < 0)
        goto done;
    r.array[X] = mfu_check_put(b, x, n, MFU_BF16);
    r.array[DY] = mfu_check_put(b, dy, n, MFU_BF16);
    r.column[BIAS] = (float *)mfu_check_put(b, bias, columns, MFU_FP32);
    mfu_ref_bias_gelu(x, bias, y, rows, columns);
    mfu_ref_bias_gelu_back(x, bias, dy, dx, rows, columns);
    for (size_t i = 0; i < n; i++)
        dbias[i % columns] += dx[i];
    if (!r.array[X] || !r.array[DY] || !r.column[BIAS] || forward_fused(b, &r) < 0
        || mfu_check_same(b, "bias + GELU in one kernel", r.array[Y], MFU_BF16, y, n, MFU_BF16_TOLERANCE) < 0
        || forward_unfused(b, &r) < 0
        || mfu_check_same(b, "bias + GELU in two kernels", r.array[Y], MFU_BF16, y, n, 2 * MFU_BF16_TOLERANCE) < 0
        || backward_unfused(b, &r) < 0
        || mfu_check_same(b, "GELU backward", r.array[DX], MFU_BF16, dx, n, 2 * MFU_BF16_TOLERANCE) < 0
        || backward_fused(b, &r) < 0
        || mfu_check_same(b, "bias + GELU backward", r.array[DX], MFU_BF16, dx, n, MFU_BF16_TOLERANCE) < 0
        || bias_gradient(b, &r) < 0)
        goto done;
    status = mfu_check_same(b, "bias gradient", r.column[DBIAS], MFU_FP32, dbias, columns, MFU_BF16_TOLERANCE);
done:
    free(x);
    free(dy);
    free(bias);
    free(y);
    free(dx);
    free(dbias);
    return status;
}

static size_t points(const struct mfu_bench *b)
{
    return mfu_rows_points(b, &table);
}

static int run(struct mfu_bench *b, size_t point)
{
    return mfu_rows_run(b, &table, point);
}

MFU_PROBE(gelu) = {"gelu", "bias + GELU in one kernel and in two, and bias gradients", NULL, points, check, run};
