/*
 * softmax.cu - in one kernel that keeps the row in registers; the gradient
 * likewise.
 */
#include "check.h"
#include "device.cuh"
#include "reference.h"
#include "rows.h"

#include <stdlib.h>

#define MOST_THREADS 512
#define MOST_CHUNKS 4 /* 16384 columns */

enum { X, Y, DY, DX };

/* A thread's wide load number c of its row; false past the end. */
__device__ static bool load(const bf16 *x, int c, int columns, wide<bf16> *in)
{
    const int column = (c * blockDim.x + threadIdx.x) * 8;

    if (column >= columns)
        return false;
    *in = *(const wide<bf16> *)(x + (size_t)blockIdx.x * columns + column);
    return true;
}

__device__ static void store(bf16 *y, int c, int columns, const wide<bf16> &out)
{
    *(wide<bf16> *)(y + (size_t)blockIdx.x * columns + (c * blockDim.x + threadIdx.x) * 8) = out;
}

template <int CHUNKS> __global__ void __launch_bounds__(MOST_THREADS) fused(const bf16 *x, bf16 *y, int columns)
{
    float value[CHUNKS][8];
    float most = -INFINITY;
    wide<bf16> in;

    for (int c = 0; c < CHUNKS; c++) {
        const bool inside = load(x, c, columns, &in);

        for (int j = 0; j < 8; j++) {
            value[c][j] = inside ? number(in.at[j]) : -INFINITY;
            most = fmaxf(most, value[c][j]);
        }
    }
    const float factor = exponentials(value, most);
    for (int c = 0; c < CHUNKS; c++) {
        if ((int)(c * blockDim.x + threadIdx.x) * 8 >= columns)
            continue;
        for (int j = 0; j < 8; j++)
            in.at[j] = as<bf16>(value[c][j] * factor);
        store(y, c, columns, in);
    }
}

template <int CHUNKS>
__global__ void __launch_bounds__(MOST_THREADS) fused_back(const bf16 *y, const bf16 *dy, bf16 *dx, int columns)
{
    wide<bf16> p[CHUNKS], g[CHUNKS];
    float dot = 0;

    for (int c = 0; c < CHUNKS; c++)
        if (load(y, c, columns, &p[c]) && load(dy, c, columns, &g[c]))
            for (int j = 0; j < 8; j++)
                dot += number(p[c].at[j]) * number(g[c].at[j]);
    dot = block_sum(dot);
    for (int c = 0; c < CHUNKS; c++) {
        if ((int)(c * blockDim.x + threadIdx.x) * 8 >= columns)
            continue;
        for (int j = 0; j < 8; j++)
            p[c].at[j] = as<bf16>(number(p[c].at[j]) * (number(g[c].at[j]) - dot));
        store(dx, c, columns, p[c]);
    }
}

static bf16 *array(const struct mfu_rows *r, int which)
{
    return (bf16 *)r->array[which];
}

static int threads_for(int columns)
{
    const int threads = (columns / 8 + 31) / 32 * 32;

    return threads < MOST_THREADS ? threads : MOST_THREADS;
}

static int chunks_for(int columns)
{
    return (columns + threads_for(columns) * 8 - 1) / (threads_for(columns) * 8);
}

static int forward_fused(struct mfu_bench *b, const struct mfu_rows *r)
{
    const int chunks = chunks_for(r->columns);

    return mfu_launch(b,
                      chunks == 1       ? fused<1>
                          : chunks == 2 ? fused<2>
                                        : fused<MOST_CHUNKS>,
                      dim3(r->rows), threads_for(r->columns), array(r, X), array(r, Y), r->columns);
}

static int backward_fused(struct mfu_bench *b, const struct mfu_rows *r)
{
    const int chunks = chunks_for(r->columns);

    return mfu_launch(b,
                      chunks == 1       ? fused_back<1>
                          : chunks == 2 ? fused_back<2>
                                        : fused_back<MOST_CHUNKS>,
                      dim3(r->rows), threads_for(r->columns), array(r, Y), array(r, DY), array(r, DX), r->columns);
}

// clang-format off
static const struct mfu_rows_case cases[] = {
    /* kind, pass, launch, arrays X Y DY DX, bytes read, written, kernels */
    {"rows", "forward", forward_fused,  {2, 2, 0, 0}, 2, 2, 1},
    {"rows", "backward", backward_fused, {0, 2, 2, 2}, 4, 2, 1},
};

/* Attention scores of a batch, from many short rows to few long ones. */
static const struct mfu_rows_size sizes[] = {
    {98304, 1024, true},  {196608, 512, false}, {49152, 2048, false},
    {24576, 4096, true},  {12288, 8192, false}, {8192, 16384, false},
};
// clang-format on

static const struct mfu_rows_table table = {"softmax", cases, sizeof cases / sizeof cases[0], sizes,
                                            sizeof sizes / sizeof sizes[0]};

static int check_size(struct mfu_bench *b, int rows, int columns)
{
    const int size[MFU_ROWS_ARRAYS] = {2, 2, 2, 2};
    const size_t n = (size_t)rows * columns;
    float *x = mfu_check_normal(n, 3, 1);
    float *dy = mfu_check_normal(n, 1, 2);
    float *y = mfu_check_normal(n, 1, 3);
    float *dx = mfu_check_normal(n, 1, 4);
    struct mfu_rows r;
    int status = -1;

    if (!x || !dy || !y || !dx || mfu_rows_room(b, &r, rows, columns, size) < 0)
        goto done;
    r.array[X] = mfu_check_put(b, x, n, MFU_BF16);
    r.array[DY] = mfu_check_put(b, dy, n, MFU_BF16);
    mfu_ref_softmax(x, y, rows, columns);
    if (!r.array[X] || !r.array[DY] || forward_fused(b, &r) < 0
        || mfu_check_same(b, "softmax", r.array[Y], MFU_BF16, y, n, MFU_BF16_TOLERANCE) < 0)
        goto done;
    for (size_t i = 0; i < n; i++)
        y[i] = mfu_ref_round_bf16(y[i]);
    r.array[Y] = mfu_check_put(b, y, n, MFU_BF16);
    mfu_ref_softmax_back(y, dy, dx, rows, columns);
    if (!r.array[Y] || backward_fused(b, &r) < 0)
        goto done;
    status = mfu_check_same(b, "softmax backward", r.array[DX], MFU_BF16, dx, n, MFU_BF16_TOLERANCE);
done:
    free(x);
    free(dy);
    free(y);
    free(dx);
    return status;
}

static int check(struct mfu_bench *b)
{
    return check_size(b, 7, 264) < 0 || check_size(b, 3, 4104) < 0 ? -1 : check_size(b, 2, 8208);
}

static size_t points(const struct mfu_bench *b)
{
    return mfu_rows_points(b, &table);
}

static int run(struct mfu_bench *b, size_t point)
{
    return mfu_rows_run(b, &table, point);
}

MFU_PROBE(softmax) = {"softmax", "softmax of rows in one kernel", NULL, points, check, run};
