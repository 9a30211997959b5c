/*
 * cross_entropy.cu - loss and gradient of logits: one kernel each way on bf16,
 * and naively as PyTorch does it under autocast: cast to fp32, log-softmax in
 * three kernels, pick; backward in fp32 and a cast.
 */
#include "check.h"
#include "device.cuh"
#include "reference.h"
#include "rows.h"

#include <stdlib.h>

#define THREADS 512

enum { X, DX, WIDE, LOGP }; /* bf16, bf16, and fp32 twice */
enum { LOSS, LSE, MOST, TOTAL };

/* One pass over the row: each thread keeps its maximum and the sum of
 * exponentials relative to it. */
__global__ static void fused(const bf16 *x, const int *target, float *loss, float *lse, int columns)
{
    const bf16 *row = x + (size_t)blockIdx.x * columns;
    float most = -INFINITY;
    float total = 0;
    float all;

    for (int column = threadIdx.x * 8; column < columns; column += THREADS * 8) {
        const wide<bf16> in = *(const wide<bf16> *)(row + column);
        float higher = most;

        for (int j = 0; j < 8; j++)
            higher = fmaxf(higher, number(in.at[j]));
        total *= __expf(most - higher);
        for (int j = 0; j < 8; j++)
            total += __expf(number(in.at[j]) - higher);
        most = higher;
    }
    all = block_max(most);
    total = block_sum(most == -INFINITY ? 0 : total * __expf(most - all));
    if (threadIdx.x == 0) {
        lse[blockIdx.x] = all + logf(total);
        loss[blockIdx.x] = lse[blockIdx.x] - number(row[target[blockIdx.x]]);
    }
}

__global__ static void fused_back(const bf16 *x, const int *target, const float *lse, bf16 *dx, float scale,
                                  int columns)
{
    const size_t row = (size_t)blockIdx.x * columns;
    const float total = lse[blockIdx.x];
    const int chosen = target[blockIdx.x];

    for (int column = threadIdx.x * 8; column < columns; column += THREADS * 8) {
        wide<bf16> in = *(const wide<bf16> *)(x + row + column);

        for (int j = 0; j < 8; j++)
            in.at[j] = as<bf16>((__expf(number(in.at[j]) - total) - (column + j == chosen)) * scale);
        *(wide<bf16> *)(dx + row + column) = in;
    }
}

template <class FROM, class TO> __global__ void cast(const FROM *x, TO *y, size_t n)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n / 4)
        return;
    for (int j = 0; j < 4; j++)
        y[4 * i + j] = as<TO>(number(x[4 * i + j]));
}

__global__ static void row_max(const float *x, float *mosts, int columns)
{
    const float *row = x + (size_t)blockIdx.x * columns;
    float most = -INFINITY;

    for (int column = threadIdx.x; column < columns; column += THREADS)
        most = fmaxf(most, row[column]);
    most = block_max(most);
    if (threadIdx.x == 0)
        mosts[blockIdx.x] = most;
}

__global__ static void row_total(const float *x, const float *mosts, float *totals, int columns)
{
    const float *row = x + (size_t)blockIdx.x * columns;
    const float most = mosts[blockIdx.x];
    float total = 0;

    for (int column = threadIdx.x; column < columns; column += THREADS)
        total += __expf(row[column] - most);
    total = block_sum(total);
    if (threadIdx.x == 0)
        totals[blockIdx.x] = total;
}

__global__ static void log_softmax(const float *x, const float *mosts, const float *totals, float *y, int columns)
{
    const size_t row = (size_t)blockIdx.x * columns;
    const float all = mosts[blockIdx.x] + logf(totals[blockIdx.x]);

    for (int column = threadIdx.x; column < columns; column += THREADS)
        y[row + column] = x[row + column] - all;
}

__global__ static void pick(const float *logp, const int *target, float *loss, int rows, int columns)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < rows)
        loss[row] = -logp[(size_t)row * columns + target[row]];
}

__global__ static void naive_back(const float *logp, const int *target, float *dx, float scale, int columns)
{
    const size_t row = (size_t)blockIdx.x * columns;
    const int chosen = target[blockIdx.x];

    for (int column = threadIdx.x; column < columns; column += THREADS)
        dx[row + column] = (__expf(logp[row + column]) - (column == chosen)) * scale;
}

static unsigned cast_blocks(const struct mfu_rows *r)
{
    return wide_blocks<float>((double)r->rows * r->columns, THREADS);
}

static int forward_fused(struct mfu_bench *b, const struct mfu_rows *r)
{
    return mfu_launch(b, fused, dim3(r->rows), THREADS, (bf16 *)r->array[X], r->target, r->row[LOSS], r->row[LSE],
                      r->columns);
}

static int backward_fused(struct mfu_bench *b, const struct mfu_rows *r)
{
    return mfu_launch(b, fused_back, dim3(r->rows), THREADS, (bf16 *)r->array[X], r->target, r->row[LSE],
                      (bf16 *)r->array[DX], 1.0f / r->rows, r->columns);
}

static int forward_naive(struct mfu_bench *b, const struct mfu_rows *r)
{
    const size_t n = (size_t)r->rows * r->columns;
    float *x = (float *)r->array[WIDE];
    float *logp = (float *)r->array[LOGP];

    if (mfu_launch(b, cast<bf16, float>, dim3(cast_blocks(r)), THREADS, (bf16 *)r->array[X], x, n) < 0
        || mfu_launch(b, row_max, dim3(r->rows), THREADS, x, r->row[MOST], r->columns) < 0
        || mfu_launch(b, row_total, dim3(r->rows), THREADS, x, r->row[MOST], r->row[TOTAL], r->columns) < 0
        || mfu_launch(b, log_softmax, dim3(r->rows), THREADS, x, r->row[MOST], r->row[TOTAL], logp, r->columns) < 0)
        return -1;
    return mfu_launch(b, pick, dim3((r->rows + 255) / 256), 256, logp, r->target, r->row[LOSS], r->rows, r->columns);
}

static int backward_naive(struct mfu_bench *b, const struct mfu_rows *r)
{
    float *dx = (float *)r->array[WIDE];

    if (mfu_launch(b, naive_back, dim3(r->rows), THREADS, (float *)r->array[LOGP], r->target, dx, 1.0f / r->rows,
                   r->columns)
        < 0)
        return -1;
    return mfu_launch(b, cast<float, bf16>, dim3(cast_blocks(r)), THREADS, dx, (bf16 *)r->array[DX],
                      (size_t)r->rows * r->columns);
}

// clang-format off
static const struct mfu_rows_case cases[] = {
    /* kind, pass, fused, launch, arrays X DX WIDE LOGP, bytes read, written, kernels, probe */
    {"logits", "forward",  1, forward_fused,  {2, 0, 0, 0},  2, 0, 1, NULL},
    {"logits", "backward", 1, backward_fused, {2, 2, 0, 0},  2, 2, 1, NULL},
    {"logits", "forward",  0, forward_naive,  {2, 0, 4, 4}, 14, 8, 5, NULL},
    {"logits", "backward", 0, backward_naive, {0, 2, 4, 4},  8, 6, 2, NULL},
};

static const struct mfu_rows_size sizes[] = {
    {8192, 50304, true}, {4096, 50304, false}, {8192, 32000, false}, {4096, 128256, false},
};
// clang-format on

static const struct mfu_rows_table table = {"cross_entropy", cases, sizeof cases / sizeof cases[0], sizes,
                                            sizeof sizes / sizeof sizes[0]};

static int check(struct mfu_bench *b)
{
    const int rows = 5, columns = 4360;
    const int size[MFU_ROWS_ARRAYS] = {2, 2, 4, 4};
    const size_t n = (size_t)rows * columns;
    float *x = mfu_check_normal(n, 3, 1);
    float *dx = mfu_check_normal(n, 1, 2);
    float loss[5];
    int target[5];
    struct mfu_rows r;
    int status = -1;

    if (!x || !dx || mfu_rows_room(b, &r, rows, columns, size) < 0
        || mfu_bench_download(b, target, r.target, sizeof target) < 0
        || !(r.array[X] = mfu_check_put(b, x, n, MFU_BF16)))
        goto done;
    mfu_ref_cross_entropy(x, target, loss, dx, 1.0f / rows, rows, columns);
    if (forward_fused(b, &r) < 0
        || mfu_check_same(b, "fused cross-entropy", r.row[LOSS], MFU_FP32, loss, rows, 1e-3) < 0
        || backward_fused(b, &r) < 0
        || mfu_check_same(b, "fused cross-entropy backward", r.array[DX], MFU_BF16, dx, n, MFU_BF16_TOLERANCE) < 0
        || mfu_bench_zero(b, r.row[LOSS], sizeof loss) < 0 || forward_naive(b, &r) < 0
        || mfu_check_same(b, "naive cross-entropy", r.row[LOSS], MFU_FP32, loss, rows, 1e-3) < 0
        || mfu_bench_zero(b, r.array[DX], n * 2) < 0 || backward_naive(b, &r) < 0)
        goto done;
    status = mfu_check_same(b, "naive cross-entropy backward", r.array[DX], MFU_BF16, dx, n, MFU_BF16_TOLERANCE);
done:
    free(x);
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

MFU_PROBE(cross_entropy) = {
    "cross_entropy", "cross-entropy of logits, fused and as PyTorch does it", NULL, points, check, run};
