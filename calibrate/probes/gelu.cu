/*
 * gelu.cu - bias + GELU in one kernel, and its gradient.
 */
#include "check.h"
#include "device.cuh"
#include "reference.h"
#include "rows.h"

#include <stdlib.h>

#define THREADS 256
#define ROOT 0.7978845608f /* sqrt(2 / pi) */
#define CUBIC 0.044715f

enum { X, Y, DY, DX };
enum { BIAS }; /* a number per column */

__device__ static float gelu(float u)
{
    return 0.5f * u * (1 + tanhf(ROOT * (u + CUBIC * u * u * u)));
}

__device__ static float gelu_slope(float u)
{
    const float t = tanhf(ROOT * (u + CUBIC * u * u * u));

    return 0.5f * (1 + t) + 0.5f * u * (1 - t * t) * ROOT * (1 + 3 * CUBIC * u * u);
}

/* Eight elements for each thread; columns are a multiple of eight. */
template <bool BACK>
__global__ void pointwise(const bf16 *x, const bf16 *dy, const float *bias, bf16 *out, size_t n, int columns)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    wide<bf16> in, gradient;
    int column;

    if (i >= n / 8)
        return;
    column = (int)(i * 8 % columns);
    in = ((const wide<bf16> *)x)[i];
    if (BACK)
        gradient = ((const wide<bf16> *)dy)[i];
    for (int j = 0; j < 8; j++) {
        const float u = number(in.at[j]) + bias[column + j];

        in.at[j] = as<bf16>(BACK ? number(gradient.at[j]) * gelu_slope(u) : gelu(u));
    }
    ((wide<bf16> *)out)[i] = in;
}

template <bool BACK> static int run_pointwise(struct mfu_bench *b, const struct mfu_rows *r, int to)
{
    const size_t n = (size_t)r->rows * r->columns;

    return mfu_launch(b, pointwise<BACK>, dim3(wide_blocks<bf16>((double)n, THREADS)), THREADS, (bf16 *)r->array[X],
                      (bf16 *)r->array[DY], r->column[BIAS], (bf16 *)r->array[to], n, r->columns);
}

static int forward_fused(struct mfu_bench *b, const struct mfu_rows *r)
{
    return run_pointwise<false>(b, r, Y);
}

static int backward_fused(struct mfu_bench *b, const struct mfu_rows *r)
{
    return run_pointwise<true>(b, r, DX);
}

// clang-format off
static const struct mfu_rows_case cases[] = {
    /* kind, pass, launch, arrays X Y DY DX, bytes read, written, kernels */
    {"bias_gelu", "forward",  forward_fused,  {2, 2, 0, 0}, 2, 2, 1},
    {"bias_gelu", "backward", backward_fused, {2, 0, 2, 2}, 4, 2, 1},
};
// clang-format on

static const struct mfu_rows_table table = {"gelu", cases, sizeof cases / sizeof cases[0], NULL, 0};

static int check(struct mfu_bench *b)
{
    const int rows = 37, columns = 264;
    const int size[MFU_ROWS_ARRAYS] = {2, 2, 2, 2};
    const size_t n = (size_t)rows * columns;
    float *x = mfu_check_normal(n, 1, 1);
    float *dy = mfu_check_normal(n, 1, 2);
    float *bias = mfu_check_normal(columns, 1, 3);
    float *y = mfu_check_normal(n, 1, 4);
    float *dx = mfu_check_normal(n, 1, 5);
    struct mfu_rows r;
    int status = -1;

    if (!x || !dy || !bias || !y || !dx || mfu_rows_room(b, &r, rows, columns, size) < 0)
        goto done;
    r.array[X] = mfu_check_put(b, x, n, MFU_BF16);
    r.array[DY] = mfu_check_put(b, dy, n, MFU_BF16);
    r.column[BIAS] = (float *)mfu_check_put(b, bias, columns, MFU_FP32);
    mfu_ref_bias_gelu(x, bias, y, rows, columns);
    mfu_ref_bias_gelu_back(x, bias, dy, dx, rows, columns);
    if (!r.array[X] || !r.array[DY] || !r.column[BIAS] || forward_fused(b, &r) < 0
        || mfu_check_same(b, "bias + GELU", r.array[Y], MFU_BF16, y, n, MFU_BF16_TOLERANCE) < 0
        || backward_fused(b, &r) < 0)
        goto done;
    status = mfu_check_same(b, "bias + GELU backward", r.array[DX], MFU_BF16, dx, n, MFU_BF16_TOLERANCE);
done:
    free(x);
    free(dy);
    free(bias);
    free(y);
    free(dx);
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

MFU_PROBE(gelu) = {"gelu", "bias + GELU in one kernel, and its gradient", NULL, points, check, run};
