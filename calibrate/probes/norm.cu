/*
 * norm.cu - residual + LayerNorm or RMSNorm: one kernel adds the residual and
 * normalises; backward one makes dx, adds the residual's gradient and sums
 * dgamma and dbeta.
 */
#include "check.h"
#include "device.cuh"
#include "reference.h"
#include "rows.h"

#include <stdlib.h>

#define MOST_THREADS 512
#define MOST_COLUMNS 8192 /* two wide loads for each of 512 threads */
#define EPSILON MFU_NORM_EPSILON

enum { X, RESIDUAL, SUM, Y, DY, DRESIDUAL, DX };
enum { GAMMA, BETA, DGAMMA, DBETA }; /* a number per column */
enum { MEAN, SCALE };                /* a number per row */

/* One block per row, kept in registers between the passes. */
template <int CHUNKS, bool CENTRED>
__global__ void __launch_bounds__(MOST_THREADS)
    forward(const bf16 *x, const bf16 *residual, const float *gamma, const float *beta, bf16 *sum, bf16 *y,
            float *means, float *scales, int columns)
{
    const size_t row = (size_t)blockIdx.x * columns;
    float value[CHUNKS][8];
    float total = 0;
    float square = 0;
    float mean = 0;
    float scale;

    for (int c = 0; c < CHUNKS; c++) {
        const int column = (c * blockDim.x + threadIdx.x) * 8;
        wide<bf16> in, other;

        if (column >= columns)
            continue;
        in = *(const wide<bf16> *)(x + row + column);
        other = *(const wide<bf16> *)(residual + row + column);
        for (int j = 0; j < 8; j++)
            in.at[j] = as<bf16>(number(in.at[j]) + number(other.at[j]));
        *(wide<bf16> *)(sum + row + column) = in;
        for (int j = 0; j < 8; j++) {
            value[c][j] = number(in.at[j]);
            total += value[c][j];
        }
    }
    if (CENTRED)
        mean = block_sum(total) / columns;
    for (int c = 0; c < CHUNKS; c++)
        for (int j = 0; j < 8; j++)
            if ((int)(c * blockDim.x + threadIdx.x) * 8 < columns)
                square += (value[c][j] - mean) * (value[c][j] - mean);
    scale = rsqrtf(block_sum(square) / columns + EPSILON);
    for (int c = 0; c < CHUNKS; c++) {
        const int column = (c * blockDim.x + threadIdx.x) * 8;
        wide<bf16> out;

        if (column >= columns)
            continue;
        for (int j = 0; j < 8; j++)
            out.at[j] = as<bf16>((value[c][j] - mean) * scale * gamma[column + j] + (CENTRED ? beta[column + j] : 0));
        *(wide<bf16> *)(y + row + column) = out;
    }
    if (threadIdx.x == 0) {
        means[blockIdx.x] = mean;
        scales[blockIdx.x] = scale;
    }
}

/* Each block walks over rows: makes dx plus the residual's gradient, and adds up
 * dgamma and dbeta of its rows for sum_partials. */
template <int CHUNKS, bool CENTRED>
__global__ void __launch_bounds__(MOST_THREADS)
    backward(const bf16 *x, const bf16 *dy, const bf16 *dresidual, const float *gamma, const float *means,
             const float *scales, bf16 *dx, float *partial, int rows, int columns)
{
    float dgamma[CHUNKS][8] = {};
    float dbeta[CHUNKS][8] = {};

    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        const size_t row = (size_t)r * columns;
        const float mean = CENTRED ? means[r] : 0;
        const float scale = scales[r];
        float hat[CHUNKS][8];
        float slope[CHUNKS][8]; /* dy gamma */
        float sum = 0;
        float product = 0;

        for (int c = 0; c < CHUNKS; c++) {
            const int column = (c * blockDim.x + threadIdx.x) * 8;
            wide<bf16> in, gradient;

            if (column >= columns)
                continue;
            in = *(const wide<bf16> *)(x + row + column);
            gradient = *(const wide<bf16> *)(dy + row + column);
            for (int j = 0; j < 8; j++) {
                hat[c][j] = (number(in.at[j]) - mean) * scale;
                slope[c][j] = number(gradient.at[j]) * gamma[column + j];
                sum += slope[c][j];
                product += slope[c][j] * hat[c][j];
                dgamma[c][j] += number(gradient.at[j]) * hat[c][j];
                dbeta[c][j] += number(gradient.at[j]);
            }
        }
        sum = CENTRED ? block_sum(sum) / columns : 0;
        product = block_sum(product) / columns;
        for (int c = 0; c < CHUNKS; c++) {
            const int column = (c * blockDim.x + threadIdx.x) * 8;
            wide<bf16> out, other;

            if (column >= columns)
                continue;
            other = *(const wide<bf16> *)(dresidual + row + column);
            for (int j = 0; j < 8; j++)
                out.at[j] = as<bf16>(scale * (slope[c][j] - sum - hat[c][j] * product) + number(other.at[j]));
            *(wide<bf16> *)(dx + row + column) = out;
        }
    }
    for (int c = 0; c < CHUNKS; c++) {
        const int column = (c * blockDim.x + threadIdx.x) * 8;

        for (int j = 0; j < 8 && column < columns; j++) {
            partial[(size_t)blockIdx.x * columns + column + j] = dgamma[c][j];
            partial[(size_t)(gridDim.x + blockIdx.x) * columns + column + j] = dbeta[c][j];
        }
    }
}

/* Adds up n rows of each half of the partials: eight threads share a column. */
__global__ static void sum_partials(const float *partial, float *dgamma, float *dbeta, int n, int columns)
{
    __shared__ float part[8][32];
    const int lane = threadIdx.x % 32;
    const int line = threadIdx.x / 32;
    const int column = blockIdx.x * 32 + lane;
    const float *side = partial + (size_t)blockIdx.y * n * columns;
    float sum = 0;

    for (int i = line; i < n && column < columns; i += 8)
        sum += side[(size_t)i * columns + column];
    part[line][lane] = sum;
    __syncthreads();
    if (line > 0 || column >= columns)
        return;
    for (int i = 1; i < 8; i++)
        sum += part[i][lane];
    (blockIdx.y == 0 ? dgamma : dbeta)[column] = sum;
}

static bf16 *array(const struct mfu_rows *r, int which)
{
    return (bf16 *)r->array[which];
}

/* As few threads as hold a row at eight elements each, in whole warps. */
static int threads_for(int columns)
{
    const int threads = (columns / 8 + 31) / 32 * 32;

    return threads < MOST_THREADS ? threads : MOST_THREADS;
}

template <bool CENTRED> static int run_forward(struct mfu_bench *b, const struct mfu_rows *r)
{
    const int threads = threads_for(r->columns);
    const int chunks = (r->columns + threads * 8 - 1) / (threads * 8);

    return mfu_launch(b, chunks == 1 ? forward<1, CENTRED> : forward<2, CENTRED>, dim3(r->rows), threads, array(r, X),
                      array(r, RESIDUAL), r->column[GAMMA], r->column[BETA], array(r, SUM), array(r, Y), r->row[MEAN],
                      r->row[SCALE], r->columns);
}

template <bool CENTRED> static int run_backward(struct mfu_bench *b, const struct mfu_rows *r)
{
    const int threads = threads_for(r->columns);
    const int chunks = (r->columns + threads * 8 - 1) / (threads * 8);
    const int blocks = MFU_ROWS_PARTIALS;

    if (mfu_launch(b, chunks == 1 ? backward<1, CENTRED> : backward<2, CENTRED>, dim3(blocks), threads, array(r, SUM),
                   array(r, DY), array(r, DRESIDUAL), r->column[GAMMA], r->row[MEAN], r->row[SCALE], array(r, DX),
                   r->partial, r->rows, r->columns)
        < 0)
        return -1;
    return mfu_launch(b, sum_partials, dim3((r->columns + 31) / 32, CENTRED ? 2 : 1), 256, r->partial,
                      r->column[DGAMMA], r->column[DBETA], blocks, r->columns);
}

// clang-format off
static const struct mfu_rows_case cases[] = {
    /* kind, pass, launch, arrays X RESIDUAL SUM Y DY DRESIDUAL DX, bytes read, written, kernels */
    {"layer", "forward",  run_forward<true>,   {2, 2, 2, 2, 0, 0, 0}, 4, 4, 1},
    {"layer", "backward", run_backward<true>,  {0, 0, 2, 0, 2, 2, 2}, 6, 2, 2},
    {"rms",   "forward",  run_forward<false>,  {2, 2, 2, 2, 0, 0, 0}, 4, 4, 1},
    {"rms",   "backward", run_backward<false>, {0, 0, 2, 0, 2, 2, 2}, 6, 2, 2},
};
// clang-format on

static const struct mfu_rows_table table = {"norm", cases, sizeof cases / sizeof cases[0], NULL, 0};

/* Host copies of what the check compares. */
struct expected {
    float *x, *residual, *sum, *y, *dy, *dresidual, *dx, *gamma, *beta, *dgamma, *dbeta;
};

template <bool CENTRED>
static int check_kind(struct mfu_bench *b, const struct mfu_rows *r, const struct expected *e, const char *what)
{
    const size_t n = (size_t)r->rows * r->columns;

    mfu_ref_norm(CENTRED, e->sum, e->gamma, CENTRED ? e->beta : NULL, e->y, r->rows, r->columns);
    mfu_ref_norm_back(CENTRED, e->sum, e->gamma, e->dy, e->dx, e->dgamma, e->dbeta, r->rows, r->columns);
    for (size_t i = 0; i < n; i++)
        e->dx[i] += e->dresidual[i];
    if (run_forward<CENTRED>(b, r) < 0
        || mfu_check_same(b, what, r->array[SUM], MFU_BF16, e->sum, n, MFU_BF16_TOLERANCE) < 0
        || mfu_check_same(b, what, r->array[Y], MFU_BF16, e->y, n, MFU_BF16_TOLERANCE) < 0
        || run_backward<CENTRED>(b, r) < 0
        || mfu_check_same(b, what, r->array[DX], MFU_BF16, e->dx, n, 2 * MFU_BF16_TOLERANCE) < 0
        || mfu_check_same(b, what, r->column[DGAMMA], MFU_FP32, e->dgamma, r->columns, 1e-3) < 0)
        return -1;
    return CENTRED ? mfu_check_same(b, what, r->column[DBETA], MFU_FP32, e->dbeta, r->columns, 1e-3) : 0;
}

static_assert(MOST_COLUMNS == 2 * 8 * MOST_THREADS, "kernels have one or two wide loads for each thread");

static int check_size(struct mfu_bench *b, int rows, int columns)
{
    const int size[MFU_ROWS_ARRAYS] = {2, 2, 2, 2, 2, 2, 2};
    const size_t n = (size_t)rows * columns;
    struct expected e;
    float **all[] = {&e.x, &e.residual, &e.sum, &e.y, &e.dy, &e.dresidual, &e.dx};
    float **vectors[] = {&e.gamma, &e.beta, &e.dgamma, &e.dbeta};
    struct mfu_rows r;
    int status = 0;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        *all[i] = mfu_check_normal(n, 1, (unsigned)i + 1);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        *vectors[i] = mfu_check_normal(columns, 1, (unsigned)i + 20);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!*all[i] || (i < sizeof vectors / sizeof vectors[0] && !*vectors[i]))
            status = mfu_bench_fail(b, "out of memory");
    if (status < 0 || mfu_rows_room(b, &r, rows, columns, size) < 0)
        goto done;
    for (size_t i = 0; i < n; i++)
        e.sum[i] = mfu_ref_round_bf16(e.x[i] + e.residual[i]);
    r.array[X] = mfu_check_put(b, e.x, n, MFU_BF16);
    r.array[RESIDUAL] = mfu_check_put(b, e.residual, n, MFU_BF16);
    r.array[DY] = mfu_check_put(b, e.dy, n, MFU_BF16);
    r.array[DRESIDUAL] = mfu_check_put(b, e.dresidual, n, MFU_BF16);
    r.column[GAMMA] = (float *)mfu_check_put(b, e.gamma, columns, MFU_FP32);
    r.column[BETA] = (float *)mfu_check_put(b, e.beta, columns, MFU_FP32);
    status = -1;
    if (r.array[X] && r.array[RESIDUAL] && r.array[DY] && r.array[DRESIDUAL] && r.column[GAMMA] && r.column[BETA]
        && check_kind<true>(b, &r, &e, "LayerNorm") == 0)
        status = check_kind<false>(b, &r, &e, "RMSNorm");
done:
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(*all[i]);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        free(*vectors[i]);
    return status;
}

/* One and two wide loads for each thread. */
static int check(struct mfu_bench *b)
{
    return check_size(b, 5, 264) < 0 ? -1 : check_size(b, 3, 4104);
}

static size_t points(const struct mfu_bench *b)
{
    return mfu_rows_points(b, &table);
}

static int run(struct mfu_bench *b, size_t point)
{
    return mfu_rows_run(b, &table, point);
}

MFU_PROBE(norm) = {"norm", "residual + LayerNorm and RMSNorm, forward and backward", NULL, points, check, run};
