/*
 * rotary.cu - rotary position embedding in one kernel, and as the four that
 * x * cos + rotate_half(x) * sin becomes.
 *
 * A row is a token, its columns all heads of q and k; cos and sin repeat every
 * POSITIONS tokens.
 */
#include "check.h"
#include "device.cuh"
#include "reference.h"
#include "rows.h"

#include <math.h>
#include <stdlib.h>

#define THREADS 256
#define DIM 128
#define HALF (DIM / 2)
#define POSITIONS 2048 /* both tables fit into mfu_rows.partial from 512 columns on */

enum { X, Y, TURNED, LEFT, RIGHT };

/* Four pairs for each thread. */
__global__ static void fused(const bf16 *x, const float *cosines, const float *sines, bf16 *y, int rows, int columns)
{
    const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    const size_t per_row = columns / 8;
    const int row = (int)(i / per_row);
    const int pair = (int)(i % per_row) * 4; /* number of the first pair in the row */
    const size_t at = (size_t)row * columns + pair / HALF * DIM + pair % HALF;
    const int angle = row % POSITIONS * HALF + pair % HALF;

    if (row >= rows)
        return;
    for (int j = 0; j < 4; j++) {
        const float left = number(x[at + j]);
        const float right = number(x[at + HALF + j]);

        y[at + j] = as<bf16>(left * cosines[angle + j] - right * sines[angle + j]);
        y[at + HALF + j] = as<bf16>(right * cosines[angle + j] + left * sines[angle + j]);
    }
}

/* (a, b) becomes (-b, a). */
__global__ static void rotate_half(const bf16 *x, bf16 *y, size_t n)
{
    const size_t at = ((size_t)blockIdx.x * THREADS + threadIdx.x) * 8;
    const bool first = at % DIM < HALF;
    wide<bf16> in;

    if (at >= n)
        return;
    in = *(const wide<bf16> *)(first ? x + at + HALF : x + at - HALF);
    for (int j = 0; j < 8 && first; j++)
        in.at[j] = as<bf16>(-number(in.at[j]));
    *(wide<bf16> *)(y + at) = in;
}

__global__ static void times_table(const bf16 *x, const float *table, bf16 *y, size_t n, int columns)
{
    const size_t at = ((size_t)blockIdx.x * THREADS + threadIdx.x) * 8;
    const float *angle = table + at / columns % POSITIONS * HALF + at % HALF;
    wide<bf16> in;

    if (at >= n)
        return;
    in = *(const wide<bf16> *)(x + at);
    for (int j = 0; j < 8; j++)
        in.at[j] = as<bf16>(number(in.at[j]) * angle[j]);
    *(wide<bf16> *)(y + at) = in;
}

__global__ static void add(const bf16 *x, const bf16 *y, bf16 *out, size_t n)
{
    const size_t at = ((size_t)blockIdx.x * THREADS + threadIdx.x) * 8;
    wide<bf16> a, b;

    if (at >= n)
        return;
    a = *(const wide<bf16> *)(x + at);
    b = *(const wide<bf16> *)(y + at);
    for (int j = 0; j < 8; j++)
        a.at[j] = as<bf16>(number(a.at[j]) + number(b.at[j]));
    *(wide<bf16> *)(out + at) = a;
}

static bf16 *array(const struct mfu_rows *r, int which)
{
    return (bf16 *)r->array[which];
}

static int forward_fused(struct mfu_bench *b, const struct mfu_rows *r)
{
    const dim3 grid(wide_blocks<bf16>((double)r->rows * r->columns, THREADS));

    return mfu_launch(b, fused, grid, THREADS, array(r, X), r->partial, r->partial + POSITIONS * HALF, array(r, Y),
                      r->rows, r->columns);
}

static int forward_unfused(struct mfu_bench *b, const struct mfu_rows *r)
{
    const size_t n = (size_t)r->rows * r->columns;
    const dim3 grid(wide_blocks<bf16>((double)n, THREADS));
    const float *cosines = r->partial;
    const float *sines = r->partial + POSITIONS * HALF;

    if (mfu_launch(b, rotate_half, grid, THREADS, array(r, X), array(r, TURNED), n) < 0
        || mfu_launch(b, times_table, grid, THREADS, array(r, X), cosines, array(r, LEFT), n, r->columns) < 0
        || mfu_launch(b, times_table, grid, THREADS, array(r, TURNED), sines, array(r, RIGHT), n, r->columns) < 0)
        return -1;
    return mfu_launch(b, add, grid, THREADS, array(r, LEFT), array(r, RIGHT), array(r, Y), n);
}

// clang-format off
static const struct mfu_rows_case cases[] = {
    /* kind, pass, fused, launch, arrays X Y TURNED LEFT RIGHT, bytes read, written, kernels, probe */
    {"half", "forward", 1, forward_fused,   {2, 2, 0, 0, 0},  2, 2, 1, NULL},
    {"half", "forward", 0, forward_unfused, {2, 2, 2, 2, 2}, 10, 8, 4, NULL},
};

/* Columns of q and k together. */
static const struct mfu_rows_size sizes[] = {
    {8192, 5120, true}, {8192, 8192, false}, {32768, 2560, false}, {4096, 4096, false},
};
// clang-format on

static const struct mfu_rows_table table = {"rotary", cases, sizeof cases / sizeof cases[0], sizes,
                                            sizeof sizes / sizeof sizes[0]};

/* Compares with the reference at more tokens than POSITIONS, so that the
 * tables repeat. */
static int check(struct mfu_bench *b)
{
    const int rows = POSITIONS + 3, heads = 4, columns = heads * DIM;
    const int size[MFU_ROWS_ARRAYS] = {2, 2, 2, 2, 2};
    const size_t n = (size_t)rows * columns;
    const size_t angles = (size_t)rows * HALF;
    float *x = mfu_check_normal(n, 1, 1);
    float *y = mfu_check_normal(n, 1, 2);
    float *cosines = (float *)malloc(2 * angles * sizeof *cosines);
    float *sines = cosines + angles;
    struct mfu_rows r;
    int status = -1;

    if (!x || !y || !cosines || mfu_rows_room(b, &r, rows, columns, size) < 0)
        goto done;
    for (size_t i = 0; i < angles; i++) {
        const double angle = (double)(i / HALF % POSITIONS) * pow(10000, -(double)(i % HALF) / HALF);

        cosines[i] = (float)cos(angle);
        sines[i] = (float)sin(angle);
    }
    mfu_ref_rotary(x, cosines, sines, y, rows, heads, DIM);
    r.array[X] = mfu_check_put(b, x, n, MFU_BF16);
    if (!r.array[X] || mfu_bench_upload(b, r.partial, cosines, POSITIONS * HALF * sizeof *cosines) < 0
        || mfu_bench_upload(b, r.partial + POSITIONS * HALF, sines, POSITIONS * HALF * sizeof *sines) < 0
        || forward_fused(b, &r) < 0
        || mfu_check_same(b, "rotary in one kernel", r.array[Y], MFU_BF16, y, n, MFU_BF16_TOLERANCE) < 0
        || mfu_bench_zero(b, r.array[Y], n * 2) < 0 || forward_unfused(b, &r) < 0)
        goto done;
    status = mfu_check_same(b, "rotary in four kernels", r.array[Y], MFU_BF16, y, n, 2 * MFU_BF16_TOLERANCE);
done:
    free(x);
    free(y);
    free(cosines);
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

MFU_PROBE(rotary) = {"rotary", "rotary position embedding in one kernel and in four", NULL, points, check, run};
