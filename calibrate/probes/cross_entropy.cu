/*
 * cross_entropy.cu - loss and gradient of logits: one kernel each way on bf16.
 */
#include "check.h"
#include "device.cuh"
#include "reference.h"
#include "rows.h"

#include <stdlib.h>

#define THREADS 512

enum { X, DX };
enum { LOSS, LSE };

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

// clang-format off
static const struct mfu_rows_case cases[] = {
    /* kind, pass, launch, arrays X DX, bytes read, written, kernels */
    {"logits", "forward", forward_fused, {2, 0}, 2, 0, 1},
    {"logits", "backward", backward_fused, {2, 2}, 2, 2, 1},
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
    const int size[MFU_ROWS_ARRAYS] = {2, 2};
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
    if (forward_fused(b, &r) < 0 || mfu_check_same(b, "cross-entropy", r.row[LOSS], MFU_FP32, loss, rows, 1e-3) < 0
        || backward_fused(b, &r) < 0)
        goto done;
    status = mfu_check_same(b, "cross-entropy backward", r.array[DX], MFU_BF16, dx, n, MFU_BF16_TOLERANCE);
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

MFU_PROBE(cross_entropy) = {"cross_entropy", "cross-entropy of logits and its gradient", NULL, points, check, run};
