/*
 * attention.cu - causal and full attention, forward and backward.
 *
 * kind math: separate kernels as in llm.c and Megatron: two batched products
 * around a fused scale-mask-softmax forward, four around its gradient backward.
 * kind own: one kernel in the manner of FlashAttention, on the tensor cores but
 * simple (nothing in flight while it computes, K and V through the caches).
 * It shows what fusing alone brings and is no measure of a tuned library;
 * whoever fits attention.flash from it fits the wrong thing.
 *
 * q, k, v and the result are batch x heads x seq x dim of bf16.
 */
#include "attention.h"
#include "blas.h"
#include "check.h"
#include "device.cuh"
#include "reference.h"

#ifndef MFU_EMULATE
#include <mma.h>
#endif
#include <math.h>
#include <stdlib.h>

#define MOST_THREADS 256 /* of a softmax; with CHUNKS wide loads for each */

/* Arrays of one launch; those of the math kind also hold the scores. */
struct buffers {
    struct mfu_attention_shape s;
    bf16 *q, *k, *v, *o, *d_o, *dq, *dk, *dv;
    bf16 *scores, *d_scores;
};

/* Softmax of a row of scores times `scale`, over the keys that query
 * blockIdx.x % seq sees; zero for the others.  In place. */
template <int CHUNKS> __global__ void masked_softmax(bf16 *scores, int seq, float scale, bool causal)
{
    bf16 *row = scores + (size_t)blockIdx.x * seq;
    const int seen = causal ? blockIdx.x % seq + 1 : seq;
    float value[CHUNKS][8];
    float most = -INFINITY;

    for (int c = 0; c < CHUNKS; c++) {
        const int at = (c * (int)blockDim.x + (int)threadIdx.x) * 8;
        wide<bf16> in;

        if (at < seen)
            in = *(const wide<bf16> *)(row + at);
        for (int j = 0; j < 8; j++) {
            value[c][j] = at + j < seen ? number(in.at[j]) * scale : -INFINITY;
            most = fmaxf(most, value[c][j]);
        }
    }
    const float factor = exponentials(value, most);
    for (int c = 0; c < CHUNKS; c++) {
        const int at = (c * (int)blockDim.x + (int)threadIdx.x) * 8;
        wide<bf16> out;

        for (int j = 0; j < 8; j++)
            out.at[j] = as<bf16>(value[c][j] * factor);
        if (at < seq)
            *(wide<bf16> *)(row + at) = out;
    }
}

/* d_scores = p * (d_p - sum(p * d_p)) * scale, in place of d_p. */
template <int CHUNKS> __global__ void softmax_back(const bf16 *scores, bf16 *d_scores, int seq, float scale)
{
    const size_t row = (size_t)blockIdx.x * seq;
    wide<bf16> p[CHUNKS], g[CHUNKS];
    float dot = 0;

    for (int c = 0; c < CHUNKS; c++) {
        const int at = (c * (int)blockDim.x + (int)threadIdx.x) * 8;

        if (at >= seq)
            continue;
        p[c] = *(const wide<bf16> *)(scores + row + at);
        g[c] = *(const wide<bf16> *)(d_scores + row + at);
        for (int j = 0; j < 8; j++)
            dot += number(p[c].at[j]) * number(g[c].at[j]);
    }
    dot = block_sum(dot);
    for (int c = 0; c < CHUNKS; c++) {
        const int at = (c * (int)blockDim.x + (int)threadIdx.x) * 8;

        if (at >= seq)
            continue;
        for (int j = 0; j < 8; j++)
            p[c].at[j] = as<bf16>(number(p[c].at[j]) * (number(g[c].at[j]) - dot) * scale);
        *(wide<bf16> *)(d_scores + row + at) = p[c];
    }
}

/* One batched product over all heads. */
static int product(struct mfu_bench *b, const struct mfu_attention_shape *s, enum mfu_layout layout, int m, int n,
                   int k, const bf16 *x, const bf16 *y, bf16 *out)
{
    struct mfu_gemm g = {};

    g.m = m;
    g.n = n;
    g.k = k;
    g.batch = s->batch * s->heads;
    g.layout = layout;
    g.dtype = MFU_BF16;
    g.scale = 1;
    g.a = x;
    g.b = y;
    g.c = out;
    return mfu_blas_gemm(b, &g);
}

static int threads_for(int seq)
{
    return seq / 8 < MOST_THREADS ? (seq / 8 + 31) / 32 * 32 : MOST_THREADS;
}

static int run_softmax(struct mfu_bench *b, const struct buffers *x, bool back)
{
    const struct mfu_attention_shape *s = &x->s;
    const int threads = threads_for(s->seq);
    const int chunks = (s->seq + threads * 8 - 1) / (threads * 8);
    const dim3 rows(s->batch * s->heads * s->seq);
    const float scale = 1 / sqrtf((float)s->dim);

    if (back)
        return mfu_launch(b,
                          chunks == 1       ? softmax_back<1>
                              : chunks == 2 ? softmax_back<2>
                                            : softmax_back<4>,
                          rows, threads, x->scores, x->d_scores, s->seq, scale);
    return mfu_launch(b,
                      chunks == 1       ? masked_softmax<1>
                          : chunks == 2 ? masked_softmax<2>
                                        : masked_softmax<4>,
                      rows, threads, x->scores, s->seq, scale, s->causal);
}

static int math_forward(struct mfu_bench *b, void *arg, int)
{
    const struct buffers *x = (const struct buffers *)arg;
    const struct mfu_attention_shape *s = &x->s;

    if (product(b, s, MFU_TN, s->seq, s->seq, s->dim, x->q, x->k, x->scores) < 0 || run_softmax(b, x, false) < 0)
        return -1;
    return product(b, s, MFU_NN, s->seq, s->dim, s->seq, x->scores, x->v, x->o);
}

static int math_backward(struct mfu_bench *b, void *arg, int)
{
    const struct buffers *x = (const struct buffers *)arg;
    const struct mfu_attention_shape *s = &x->s;

    if (product(b, s, MFU_NT, s->seq, s->dim, s->seq, x->scores, x->d_o, x->dv) < 0
        || product(b, s, MFU_TN, s->seq, s->seq, s->dim, x->d_o, x->v, x->d_scores) < 0 || run_softmax(b, x, true) < 0
        || product(b, s, MFU_NN, s->seq, s->dim, s->seq, x->d_scores, x->k, x->dq) < 0)
        return -1;
    return product(b, s, MFU_NT, s->seq, s->dim, s->seq, x->d_scores, x->q, x->dk);
}

/* The own kernel.  A block has four warps; each has 16 queries to itself and
 * goes over the keys 64 at a time:
 *
 *     S = Q K^T          16 x 64, tensor cores, into shared memory
 *     m, l               running maximum and sum of each row; two lanes a row
 *     P = exp(S - m)     as bf16 over S
 *     O = O exp(m' - m) + P V      16 x DIM, in shared memory
 */
#define QUERIES 64
#define KEYS 64
#define OWN_THREADS 128

/* What a warp keeps in shared memory; P lies over S, row by row. */
template <int DIM> struct own_tile {
    float s[16][KEYS];
    float o[16][DIM];
};

#if defined(MFU_EMULATE) || !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define HAS_BF16_MMA 1
#endif

template <int DIM>
__global__ void own_forward(const bf16 *q, const bf16 *k, const bf16 *v, bf16 *o, int heads, int kv_heads, int seq,
                            float scale, bool causal)
{
#ifdef HAS_BF16_MMA
    using namespace nvcuda;
    __shared__ own_tile<DIM> tiles[4];

    const int lane = threadIdx.x % 32;
    const int head = blockIdx.y % heads;
    const size_t group = (size_t)(blockIdx.y / heads * kv_heads + head / (heads / kv_heads)) * seq * DIM;
    const int first = blockIdx.x * QUERIES + threadIdx.x / 32 * 16; /* query of this warp */
    const size_t out = ((size_t)blockIdx.y * seq + first) * DIM;
    own_tile<DIM> &tile = tiles[threadIdx.x / 32];
    const int row = lane / 2;
    const int side = lane % 2; /* which half of the row this lane has */
    const int end = causal ? first + 16 : seq;
    float most = -INFINITY;
    float total = 0;

    wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> queries[DIM / 16];

    for (int d = 0; d < DIM / 16; d++)
        wmma::load_matrix_sync(queries[d], q + out + d * 16, DIM);
    for (int d = 0; d < DIM / 2; d++)
        tile.o[row][side * (DIM / 2) + d] = 0;

    for (int key = 0; key < end; key += KEYS) {
        bf16 *p = (bf16 *)tile.s; /* 16 rows of KEYS, as far apart as those of s */
        float value[KEYS / 2];
        float higher = most;
        float shrink;
        float sum = 0;

        for (int j = 0; j < KEYS / 16; j++) {
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;

            wmma::fill_fragment(sums, 0.0f);
            for (int d = 0; d < DIM / 16; d++) {
                wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::col_major> keys;

                wmma::load_matrix_sync(keys, k + group + (size_t)(key + j * 16) * DIM + d * 16, DIM);
                wmma::mma_sync(sums, queries[d], keys, sums);
            }
            wmma::store_matrix_sync(&tile.s[0][j * 16], sums, KEYS, wmma::mem_row_major);
        }
        __syncwarp();

        for (int j = 0; j < KEYS / 2; j++) {
            const int at = key + side * (KEYS / 2) + j;

            value[j] = causal && at > first + row ? -INFINITY : tile.s[row][side * (KEYS / 2) + j] * scale;
            higher = fmaxf(higher, value[j]);
        }
        higher = fmaxf(higher, __shfl_xor_sync(0xffffffffu, higher, 1));
        shrink = __expf(most - higher);
        most = higher;
        for (int j = 0; j < KEYS / 2; j++) {
            value[j] = __expf(value[j] - most);
            sum += value[j];
        }
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        total = total * shrink + sum;
        __syncwarp(); /* S has been read by all before P overwrites it */
        for (int j = 0; j < KEYS / 2; j++)
            p[row * 2 * KEYS + side * (KEYS / 2) + j] = as<bf16>(value[j]);
        for (int d = 0; d < DIM / 2; d++)
            tile.o[row][side * (DIM / 2) + d] *= shrink;
        __syncwarp();

        for (int d = 0; d < DIM / 16; d++) {
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;

            wmma::load_matrix_sync(sums, &tile.o[0][d * 16], DIM, wmma::mem_row_major);
            for (int j = 0; j < KEYS / 16; j++) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> weights;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::row_major> values;

                wmma::load_matrix_sync(weights, p + j * 16, 2 * KEYS);
                wmma::load_matrix_sync(values, v + group + (size_t)(key + j * 16) * DIM + d * 16, DIM);
                wmma::mma_sync(sums, weights, values, sums);
            }
            wmma::store_matrix_sync(&tile.o[0][d * 16], sums, DIM, wmma::mem_row_major);
        }
        __syncwarp();
    }
    for (int d = 0; d < DIM / 2; d++)
        o[out + (size_t)row * DIM + side * (DIM / 2) + d] = as<bf16>(tile.o[row][side * (DIM / 2) + d] / total);
#endif
}

static int own(struct mfu_bench *b, void *arg, int)
{
    const struct buffers *x = (const struct buffers *)arg;
    const struct mfu_attention_shape *s = &x->s;

    return mfu_launch(b, s->dim == 64 ? own_forward<64> : own_forward<128>, dim3(s->seq / QUERIES, s->batch * s->heads),
                      OWN_THREADS, x->q, x->k, x->v, x->o, s->heads, s->kv_heads, s->seq, 1 / sqrtf((float)s->dim),
                      s->causal);
}

// clang-format off
static const struct {
    const char *kind, *pass;
    int (*launch)(struct mfu_bench *, void *, int);
} cases[] = {
    {"math", "forward",  math_forward},
    {"math", "backward", math_backward},
    {"own",  "forward",  own},
};
// clang-format on

#define CASES (sizeof cases / sizeof cases[0])

static size_t points(const struct mfu_bench *b)
{
    return mfu_attention_shapes(b) * CASES;
}

/* Room for all arrays; the scores only where they are asked for. */
static int make_room(struct mfu_bench *b, struct buffers *x, const struct mfu_attention_shape *s, bool scores)
{
    const double n = (double)s->batch * s->heads * s->seq * s->dim;
    bf16 **all[] = {&x->q, &x->k, &x->v, &x->o, &x->d_o, &x->dq, &x->dk, &x->dv};
    unsigned seed = 1;

    x->s = *s;
    for (bf16 **array : all) {
        *array = (bf16 *)mfu_bench_room(b, 2 * n);
        if (!*array)
            return MFU_SKIPPED;
        if (mfu_bench_normal(b, *array, n, MFU_BF16, 1, seed++) < 0)
            return -1;
    }
    if (!scores)
        return 0;
    x->scores = (bf16 *)mfu_bench_room(b, 2 * n / s->dim * s->seq);
    x->d_scores = (bf16 *)mfu_bench_room(b, 2 * n / s->dim * s->seq);
    return x->scores && x->d_scores ? 0 : MFU_SKIPPED;
}

static int run(struct mfu_bench *b, size_t point)
{
    const struct mfu_attention_shape *s = mfu_attention_at(b, point / CASES);
    const bool math = point % CASES < 2;
    struct buffers x = {};
    struct mfu_work work = {cases[point % CASES].launch, &x, 1, false};
    struct mfu_timing timing;
    int status;

    if (math && s->kv_heads != s->heads)
        return MFU_SKIPPED; /* grouped heads are not one batched product */
    if (!math && b->gpu.major < 8)
        return MFU_SKIPPED;
    status = make_room(b, &x, s, math);
    if (status == 0 && math)
        status = math_forward(b, &x, 0); /* probabilities for the backward pass */
    if (status == 0)
        status = mfu_bench_measure(b, &work, &timing);
    if (status == 0)
        status = mfu_attention_record(b, &timing, s, cases[point % CASES].kind, cases[point % CASES].pass);
    return status;
}

struct expected {
    float *q, *k, *v, *o, *d_o, *dq, *dk, *dv;
};

/* Head by head; heads of a group share k and v, whose gradients are not
 * compared then. */
static void reference(const struct mfu_attention_shape *s, const struct expected *e)
{
    const size_t head = (size_t)s->seq * s->dim;

    for (int i = 0; i < s->batch * s->heads; i++) {
        const size_t at = i * head;
        const size_t kv = (size_t)(i / s->heads * s->kv_heads + i % s->heads / (s->heads / s->kv_heads)) * head;

        mfu_ref_attention(e->q + at, e->k + kv, e->v + kv, e->o + at, s->seq, s->dim, s->causal);
        if (s->heads == s->kv_heads)
            mfu_ref_attention_back(e->q + at, e->k + at, e->v + at, e->d_o + at, e->dq + at, e->dk + at, e->dv + at,
                                   s->seq, s->dim, s->causal);
    }
}

static int check_math(struct mfu_bench *b, struct buffers *x, const struct expected *e, size_t n)
{
    if (math_forward(b, x, 0) < 0
        || mfu_check_same(b, "attention in kernels", x->o, MFU_BF16, e->o, n, 4 * MFU_BF16_TOLERANCE) < 0
        || math_backward(b, x, 0) < 0
        || mfu_check_same(b, "attention in kernels: dv", x->dv, MFU_BF16, e->dv, n, 6 * MFU_BF16_TOLERANCE) < 0
        || mfu_check_same(b, "attention in kernels: dq", x->dq, MFU_BF16, e->dq, n, 6 * MFU_BF16_TOLERANCE) < 0)
        return -1;
    return mfu_check_same(b, "attention in kernels: dk", x->dk, MFU_BF16, e->dk, n, 6 * MFU_BF16_TOLERANCE);
}

static int check_shape(struct mfu_bench *b, const struct mfu_attention_shape *s)
{
    const size_t n = (size_t)s->batch * s->heads * s->seq * s->dim;
    struct expected e;
    float **all[] = {&e.q, &e.k, &e.v, &e.o, &e.d_o, &e.dq, &e.dk, &e.dv};
    struct buffers x = {};
    unsigned seed = 1;
    int status = make_room(b, &x, s, s->heads == s->kv_heads);

    for (float **array : all)
        *array = mfu_check_normal(n, 1, seed++);
    for (float **array : all)
        if (!*array)
            status = mfu_bench_fail(b, "out of memory");
    if (status != 0)
        goto done;
    reference(s, &e);
    x.q = (bf16 *)mfu_check_put(b, e.q, n, MFU_BF16);
    x.k = (bf16 *)mfu_check_put(b, e.k, n, MFU_BF16);
    x.v = (bf16 *)mfu_check_put(b, e.v, n, MFU_BF16);
    x.d_o = (bf16 *)mfu_check_put(b, e.d_o, n, MFU_BF16);
    status = x.q && x.k && x.v && x.d_o ? 0 : -1;
    if (status == 0 && s->heads == s->kv_heads)
        status = check_math(b, &x, &e, n);
    if (status == 0 && b->gpu.major >= 8 && own(b, &x, 0) == 0)
        status = mfu_check_same(b, "attention in one kernel", x.o, MFU_BF16, e.o, n, 2 * MFU_BF16_TOLERANCE);
done:
    for (float **array : all)
        free(*array);
    return status < 0 ? -1 : 0;
}

static int check(struct mfu_bench *b)
{
    static const struct mfu_attention_shape small[] = {
        {1, 2, 2, 128, 64, true, false},
        {1, 2, 2, 64, 128, false, false},
        {2, 4, 2, 64, 64, true, false},
    };

    for (const struct mfu_attention_shape &s : small)
        if (check_shape(b, &s) < 0)
            return -1;
    return 0;
}

static const char *skip(const struct mfu_bench *b)
{
    return b->gpu.major < 8 ? "needs compute capability 8.0 for bf16" : NULL;
}

MFU_PROBE(attention) = {"attention", "attention as separate kernels and as one simple one", skip, points, check, run};
