/*
 * adapter_method - methods of peft 0.21.2 beside or in place of a product whose weight is frozen, each written as the
 * operations of its forward pass (tuners/METHOD/layer.py); backward follows (graph/adapter_tape.h).
 */
#include <math.h>
#include <stddef.h>

#include "graph/adapter_tape.h"

#define METHOD MFU_ADAPTER_MORE /* attributes: enum mfu_adapter_method; MFU_ADAPTER_INNER: a setting */

static double shape(const struct mfu_operation *op)
{
    return op->attribute[MFU_ADAPTER_WIDTH];
}

static int x32(struct mfu_tape *t)
{
    return mfu_tape_cast(t, mfu_tape_input(t), MFU_F32);
}

/* The base's result and what is added to it, in its type. */
static int added(struct mfu_tape *t, int base, int y)
{
    return mfu_tape_like(t, mfu_tape_plus(t, base, y), base);
}

/* ... beside the product with a whole weight. */
static int beside(struct mfu_tape *t, int w)
{
    int base = mfu_tape_base(t), x = mfu_tape_like(t, mfu_tape_input(t), w), y;

    y = mfu_tape_linear(t, x, w, mfu_tape_width(t), mfu_tape_in(t));
    mfu_tape_hold(t, w);
    y = added(t, base, y);
    mfu_tape_hold(t, x);
    return y;
}

/* FourierFT: some numbers of a spectrum, whose transform is a weight.  The numbers' places are brought each time. */
static int fourierft(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), n = mfu_tape_size(t);
    int dense = mfu_tape_map(t, "fourier_scatter", mfu_tape_weight(t, 0, 1, n), width, in, 2, 4 * n), w;

    mfu_tape_holds(t, width * in, n);
    w = mfu_tape_map(t, "fourier_complex", dense, width, 2 * in, 1, 0);
    w = mfu_tape_map(t, "fourier_transform", w, width, 2 * in, 2, 0);
    w = mfu_tape_map(t, "fourier_scale", w, width, in, 1, 0);
    mfu_tape_hold(t, dense);
    return beside(t, w);
}

/* WaveFT: the same of a wavelet transform, which is a transposed convolution of four bands. */
static int waveft(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), n = mfu_tape_size(t);
    int spectrum = mfu_tape_map(t, "wave_valid", mfu_tape_weight(t, 0, 1, n), 1, n, 1, 0), dense, w;

    dense = mfu_tape_map(t, "wave_scatter", spectrum, width, in, 2, 4 * n);
    mfu_tape_divides(t, in, 2);
    mfu_tape_divides(t, width, 2);
    mfu_tape_holds(t, width * in, n);
    w = mfu_tape_map(t, "wave_bands", dense, width * in / 4, 4, 1, 0);
    w = mfu_tape_keep(t, mfu_tape_operand(t, w)); /* a convolution keeps what its filter does not need */
    w = mfu_tape_product(t, w, mfu_tape_fill(t, "wave_filter", 4, 4, MFU_F32), 1, width * in / 4, 4, 4);
    w = mfu_tape_map(t, "wave_scale", w, width, in, 1, 0);
    mfu_tape_hold(t, dense);
    return beside(t, w);
}

/* VB-LoRA: both matrices are weighted sums of vectors of one bank, of which topk are chosen for each piece. */
enum { VB_VECTORS = 256, VB_LENGTH = 256, VB_TOP = 2 };

static int vblora_matrix(struct mfu_tape *t, int parameter, int bank, double rows, double columns)
{
    double pieces = ceil(rows * columns / VB_LENGTH);
    int weights = mfu_tape_weight(t, parameter, pieces, VB_VECTORS), vectors;

    weights = mfu_tape_map(t, "vblora_top", weights, pieces, VB_TOP, 1, 2 * VB_TOP * pieces);
    weights = mfu_tape_map(t, "vblora_softmax", weights, pieces, VB_TOP, 1, VB_TOP * pieces);
    vectors = mfu_tape_map(t, "vblora_look_up", bank, pieces * VB_TOP, VB_LENGTH, 1, 0);
    vectors = mfu_tape_times(t, vectors, weights);
    return mfu_tape_map(t, "vblora_sum", vectors, rows, columns, 1, 0);
}

static int vblora(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int base = mfu_tape_base(t), bank = mfu_tape_shared(t, true, VB_VECTORS, VB_LENGTH), a, b, x, y;

    mfu_tape_divides(t, in, VB_LENGTH);
    mfu_tape_divides(t, width, VB_LENGTH);
    a = vblora_matrix(t, 0, bank, r, in);
    b = mfu_tape_map(t, "vblora_turn", vblora_matrix(t, 1, bank, width, r), width, r, 1, 0);
    x = mfu_tape_as_adapter(t, mfu_tape_input(t));
    y = mfu_tape_linear(t, mfu_tape_drop(t, x), a, r, in);
    y = added(t, base, mfu_tape_linear(t, y, b, width, r));
    mfu_tape_hold(t, x);
    return y;
}

/* RandLoRA: random bases of full rank, shared by all, whose sizes train: A * lambda * gamma, with a backward of its own. */
static int scale_bases(struct mfu_tape *t, const int in[2], int keeps[2])
{
    double least = fmin(mfu_tape_in(t), mfu_tape_width(t)), r = mfu_tape_size(t), rows = r * ceil(least / r);

    (void)in, (void)keeps;
    return mfu_tape_pass(t, "randlora_gamma", rows, least, 1,
                         mfu_tape_pass(t, "randlora_lambda", rows, least, 1, MFU_NO_VIEW, MFU_NO_VIEW), MFU_NO_VIEW);
}

/* Three factors each: two are multiplied, then a batched product with the third (einsum). */
static void scale_bases_gradient(struct mfu_tape *t, int g, const int kept[2], int d[2])
{
    double least = fmin(mfu_tape_in(t), mfu_tape_width(t)), r = mfu_tape_size(t), bases = ceil(least / r);

    (void)kept;
    for (int i = 0; i < 2; i++) {
        int product = mfu_tape_pass(t, "randlora_product", r * bases, least, 1, g, MFU_NO_VIEW);

        d[i] = i == 0 ? mfu_tape_small(t, MFU_TAPE_FP32, bases, r, 1, least, product, MFU_NO_VIEW, MFU_NO_VIEW)
                      : mfu_tape_small(t, MFU_TAPE_FP32, bases, least, 1, r, product, MFU_NO_VIEW, MFU_NO_VIEW);
    }
}

static int randlora(struct mfu_tape *t)
{
    static const struct mfu_tape_function scaled = {.forward = scale_bases, .backward = scale_bases_gradient};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t), least = fmin(in, width),
           most = fmax(in, width), bases = ceil(least / r);
    int base = mfu_tape_base(t), lambda = mfu_tape_weight(t, 0, r, bases), gamma = mfu_tape_weight(t, 1, bases, least),
        a = mfu_tape_call(t, &scaled, lambda, gamma, r * bases, least), b, x, y;

    mfu_tape_shared(t, false, r, least);
    b = mfu_tape_shared(t, false, most, r * bases);
    x = mfu_tape_as_adapter(t, mfu_tape_input(t));
    y = mfu_tape_linear(t, mfu_tape_drop(t, x), least == in ? a : b, r * bases, in);
    y = mfu_tape_linear(t, y, least == in ? b : a, width, r * bases);
    y = mfu_tape_scale(t, y, false);
    mfu_tape_hold(t, a);
    y = added(t, base, y);
    mfu_tape_hold(t, x);
    return y;
}

/* RoAd: pairs of columns of the result, rotated and scaled; variant 1 has an angle and a factor of each pair, 2 of each
 * column. */
enum { ROAD_GROUP = 64 };

static int rotated(struct mfu_tape *t, bool shares)
{
    double width = mfu_tape_width(t), rows = mfu_tape_rows(t), own = shares ? width / 2 : width;
    int base = mfu_tape_base(t), y = mfu_tape_as_adapter(t, base), alpha = mfu_tape_weight(t, 1, 1, own),
        theta = mfu_tape_weight(t, 0, 1, own), column[2], turned;

    mfu_tape_divides(t, width, ROAD_GROUP);
    alpha = shares ? mfu_tape_map(t, "road_repeat", alpha, 1, width, 1, 0) : alpha;
    theta = shares ? mfu_tape_map(t, "road_repeat", theta, 1, width, 1, 0) : theta;
    column[1] = mfu_tape_times(t, alpha, mfu_tape_map(t, "road_sin", theta, 1, width, 1, 1));
    column[0] = mfu_tape_times(t, alpha, mfu_tape_map(t, "road_cos", theta, 1, width, 1, 1));
    turned = mfu_tape_map(t, "road_turn", y, rows, width, 2, 0);
    y = mfu_tape_plus(t, mfu_tape_times(t, y, column[0]), mfu_tape_times(t, turned, column[1]));
    return mfu_tape_like(t, y, base);
}

static int road(struct mfu_tape *t)
{
    return rotated(t, true);
}

static int road_2(struct mfu_tape *t)
{
    return rotated(t, false);
}

/* C3A: blocks of circulant matrices, multiplied as transforms; a function with a backward of its own. */
static int convolve(struct mfu_tape *t, const int in[2], int keeps[2])
{
    double rows = mfu_tape_rows(t), of = mfu_tape_in(t), width = mfu_tape_width(t), b = mfu_tape_size(t);
    int x = mfu_tape_pass(t, "c3a_transform", rows, 2 * of, 1, in[0], MFU_NO_VIEW),
        w = mfu_tape_pass(t, "c3a_transform", width / b, 2 * of, 1, MFU_NO_VIEW, MFU_NO_VIEW), y;

    y = mfu_tape_small(t, MFU_TAPE_COMPLEX, b, rows, width / b, of / b, x, w, MFU_NO_VIEW);
    keeps[0] = in[0];
    return mfu_tape_pass(t, "c3a_transform", rows, 2 * width, 1, y, MFU_NO_VIEW);
}

static void convolve_gradient(struct mfu_tape *t, int g, const int kept[2], int d[2])
{
    double rows = mfu_tape_rows(t), of = mfu_tape_in(t), width = mfu_tape_width(t), b = mfu_tape_size(t);
    struct mfu_builder *s = mfu_tape_builder(t);
    int y = mfu_tape_pass(t, "c3a_transform", rows, 2 * width, 1, g, MFU_NO_VIEW),
        w = mfu_tape_pass(t, "c3a_transform", width / b, 2 * of, 1, MFU_NO_VIEW, MFU_NO_VIEW), x, dx;

    x = mfu_tape_small(t, MFU_TAPE_COMPLEX, b, rows, of / b, width / b, y, w, MFU_NO_VIEW);
    dx = mfu_tape_pass(t, "c3a_transform", rows, 2 * of, 1, x, MFU_NO_VIEW);
    x = mfu_tape_pass(t, "c3a_transform", rows, 2 * of, 1, kept[0], MFU_NO_VIEW);
    w = mfu_tape_small(t, MFU_TAPE_COMPLEX, b, width / b, of / b, rows, y, x, MFU_NO_VIEW);
    d[1] = mfu_view_slice(s, mfu_tape_pass(t, "c3a_transform", width / b, 2 * of, 1, w, MFU_NO_VIEW), width / b, of);
    mfu_tensor_extend(s, dx);
    d[0] = mfu_view_slice(s, dx, rows, of);
}

static int c3a(struct mfu_tape *t)
{
    static const struct mfu_tape_function convolution = {.forward = convolve, .backward = convolve_gradient};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), b = mfu_tape_size(t), rows = mfu_tape_rows(t);
    int base = mfu_tape_base(t), y;

    mfu_tape_divides(t, in, b);
    mfu_tape_divides(t, width, b);
    y = mfu_tape_call(t, &convolution, x32(t), mfu_tape_weight(t, 0, width / b, in), rows, 2 * width);
    y = mfu_tape_map(t, "c3a_scale", y, rows, width, 1, 0);
    return mfu_tape_plus(t, base, mfu_tape_like(t, y, base));
}

/* OFT: the input, rotated by orthogonal blocks, of which each is a sum of powers of a skew matrix. */
static int oft(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), b = mfu_tape_block(t), n = in / b, rows = mfu_tape_rows(t);
    int given = mfu_tape_input(t), x = mfu_tape_as_adapter(t, given), skew, power, rotation, y;

    mfu_tape_divides(t, in, b);
    mfu_tape_fixed(t, 4, b * (b - 1) / 2); /* places of a triangle, of 8 bytes */
    skew = mfu_tape_map(t, "oft_skew", mfu_tape_weight(t, 0, n, b * (b - 1) / 2), n * b, b, 3, 0);
    rotation = mfu_tape_plus(t, mfu_tape_fill(t, "oft_eye", n * b, b, MFU_F32), skew);
    power = skew;
    for (int i = 2; i < 5; i++) {
        power = mfu_tape_product(t, power, skew, n, b, b, b);
        rotation = mfu_tape_plus(t, rotation, power);
    }
    y = mfu_tape_product(t, x, rotation, n, rows, b, b);
    y = mfu_tape_map(t, "oft_fold", y, rows, in, 1, 0);
    y = mfu_tape_like(t, y, given);
    mfu_tape_hold(t, x);
    return y;
}

/* A Cayley transform of n rows of blocks of b: the solution of a linear system, whose backward solves another and
 * multiplies. */
static int solve_blocks(struct mfu_tape *t, double n, double b, int keeps[2])
{
    keeps[0] = mfu_tape_pass(t, "cayley_solve", n, 2 * b, 6, MFU_NO_VIEW, MFU_NO_VIEW); /* and its factors */
    return mfu_view_slice(mfu_tape_builder(t), keeps[0], n, b);
}

static void blocks_gradient(struct mfu_tape *t, double n, double b, int g, int kept, int d[2])
{
    int again = mfu_tape_pass(t, "cayley_solve_grad", n, b, 4, g, kept);

    again = mfu_tape_small(t, MFU_TAPE_FP32, n / b, b, b, b, again, kept, MFU_NO_VIEW);
    d[0] = mfu_tape_pass(t, "cayley_skew_grad", n, b, 5, again, MFU_NO_VIEW);
}

static int solve(struct mfu_tape *t, const int in[2], int keeps[2])
{
    (void)in;
    return solve_blocks(t, mfu_tape_in(t), mfu_tape_block(t), keeps);
}

static void solve_gradient(struct mfu_tape *t, int g, const int kept[2], int d[2])
{
    blocks_gradient(t, mfu_tape_in(t), mfu_tape_block(t), g, kept[0], d);
}

static int solve_one(struct mfu_tape *t, const int in[2], int keeps[2])
{
    (void)in;
    return solve_blocks(t, mfu_tape_size(t), mfu_tape_size(t), keeps);
}

static void one_gradient(struct mfu_tape *t, int g, const int kept[2], int d[2])
{
    blocks_gradient(t, mfu_tape_size(t), mfu_tape_size(t), g, kept[0], d);
}

/* BOFT: the same with blocks of a Cayley transform, made a whole matrix, and factors of the result's columns. */
static int boft(struct mfu_tape *t)
{
    static const struct mfu_tape_function cayley = {.forward = solve, .backward = solve_gradient};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), b = mfu_tape_block(t), n = in / b;
    int x = mfu_tape_input(t), eye = mfu_tape_fill(t, "boft_eye", in, in, mfu_tape_type(t, x)), turn, p, y;

    mfu_tape_divides(t, in, b);
    turn = mfu_tape_call(t, &cayley, mfu_tape_weight(t, 0, n * b, b), eye, n * b, b);
    turn = mfu_tape_like(t, mfu_tape_map(t, "boft_diagonal", turn, in, in, n, 0), x);
    p = mfu_tape_like(t, mfu_tape_fixed(t, in, in), x);
    turn = mfu_tape_product(t, turn, p, 1, in, in, in);
    turn = mfu_tape_product(t, p, turn, 1, in, in, in);
    turn = mfu_tape_product(t, turn, eye, 1, in, in, in);
    y = mfu_tape_linear(t, x, turn, in, in);
    y = mfu_tape_linear(t, y, mfu_tape_frozen(t), width, in);
    y = mfu_tape_times(t, y, mfu_tape_weight(t, 1, width, 1));
    return mfu_tape_like(t, y, x);
}

/* HRA: reflections, each a product of rank 1 with all before. */
static int reflect(struct mfu_tape *t, const int in[2], int keeps[2])
{
    double n = mfu_tape_in(t), r = mfu_tape_size(t);
    struct mfu_builder *s = mfu_tape_builder(t);
    int doubled, h, out;

    (void)in;
    mfu_tape_pass(t, "hra_double", n, n, r, MFU_NO_VIEW, MFU_NO_VIEW);
    doubled = keeps[0] =
        mfu_tensor_new(s, r * n, n, s->numerics.autocast ? s->numerics.compute : MFU_F32, MFU_PART_ACTIVATIONS);
    mfu_emit_copy(s, "hra_double", s->numerics.autocast ? r : 1, 0, NULL, doubled);
    h = keeps[1] = mfu_tape_small(t, MFU_TAPE_AUTOCAST, r, n, 1, n, doubled, MFU_NO_VIEW, MFU_NO_VIEW);
    out = mfu_tape_pass(t, "hra_eye", n, n, 1, MFU_NO_VIEW, MFU_NO_VIEW);
    mfu_tape_small(t, MFU_TAPE_AUTOCAST, r, n, n, 1, h, MFU_NO_VIEW, out);
    return mfu_tape_pass(t, "hra_minus", n, n, r, out, MFU_NO_VIEW);
}

static void reflect_gradient(struct mfu_tape *t, int g, const int kept[2], int d[2])
{
    double n = mfu_tape_in(t), r = mfu_tape_size(t);
    int minus = mfu_tape_pass(t, "hra_minus_grad", n, n, r, g, MFU_NO_VIEW), h;

    mfu_tape_small(t, MFU_TAPE_AUTOCAST, r, 1, n, n, kept[1], minus, MFU_NO_VIEW);
    h = mfu_tape_small(t, MFU_TAPE_AUTOCAST, r, n, 1, n, minus, MFU_NO_VIEW, MFU_NO_VIEW);
    d[0] = mfu_tape_small(t, MFU_TAPE_AUTOCAST, r, n, 1, n, kept[0], h, MFU_NO_VIEW);
    mfu_tape_small(t, MFU_TAPE_AUTOCAST, r - 1, n, n, 1, h, MFU_NO_VIEW, minus);
    mfu_tape_pass(t, "hra_double_grad", n, n, 2 * r, minus, g);
}

static int hra(struct mfu_tape *t)
{
    static const struct mfu_tape_function reflections = {.forward = reflect, .backward = reflect_gradient};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int given = mfu_tape_input(t), eye = mfu_tape_fill(t, "hra_eye", in, in, MFU_F32), u = mfu_tape_weight(t, 0, in, r),
        w, x, y;

    w = mfu_tape_call(t, &reflections, u, eye, in, in);
    w = mfu_tape_product(t, eye, w, 1, in, in, in);
    w = mfu_tape_product(t, mfu_tape_like(t, mfu_tape_frozen(t), w), w, 1, width, in, in);
    x = mfu_tape_like(t, given, w);
    y = mfu_tape_like(t, mfu_tape_linear(t, x, w, width, in), given);
    mfu_tape_hold(t, x);
    mfu_tape_hold(t, w);
    return y;
}

/* SHiRA: some elements of the weight train, added to a copy of it. */
static int shira(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), n = mfu_tape_size(t) * (in + width);
    int values = mfu_tape_map(t, "shira_scale", mfu_tape_weight(t, 0, 1, n), 1, n, 1, 0), w = mfu_tape_frozen(t), y;

    mfu_tape_holds(t, width * in, n);
    mfu_tape_fixed(t, 2, n); /* their places */
    w = mfu_tape_like(t, mfu_tape_map(t, "shira_add", values, width, in, 2, 0), w);
    y = mfu_tape_linear(t, mfu_tape_input(t), w, width, in);
    mfu_tape_hold(t, w);
    return y;
}

/* DeLoRA: LoRA with an input scaled by the weight's norms, and rows scaled by those of both matrices. */
static int delora(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t), rows = mfu_tape_rows(t);
    int base = mfu_tape_base(t), a = mfu_tape_weight(t, 0, r, in), b = mfu_tape_weight(t, 1, width, r), h, y, norms;

    mfu_tape_weight(t, 1, 1, 1);
    y = mfu_tape_fill(t, "delora_zeros", rows, width, mfu_tape_type(t, base));
    h = mfu_tape_times(t, mfu_tape_drop(t, mfu_tape_input(t)), mfu_tape_fixed(t, 1, in));
    h = mfu_tape_linear(t, h, a, r, in);
    norms = mfu_tape_map(t, "delora_norm", a, 1, r, 5, 2 * r);
    h = mfu_tape_times(t, h, norms);
    y = mfu_tape_like(t, mfu_tape_linear(t, h, b, width, r), y);
    return mfu_tape_plus(t, base, y);
}

/* HiRA: the frozen weight times, element by element, a pair's product. */
static int hira(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int pair = mfu_tape_product(t, mfu_tape_weight(t, 0, r, in), mfu_tape_weight(t, 1, width, r), 1, in, width, r), x,
        w, base, y;

    base = mfu_tape_base(t);
    x = mfu_tape_as_adapter(t, mfu_tape_input(t));
    w = mfu_tape_times(t, pair, mfu_tape_frozen(t));
    y = added(t, base, mfu_tape_linear(t, mfu_tape_drop(t, x), w, width, in));
    mfu_tape_hold(t, pair);
    mfu_tape_hold(t, x);
    return y;
}

/* GraLoRA: blocks of LoRA, whose narrow results change places. */
enum { GRA_BLOCKS = 2 };

static int gralora(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t), rows = mfu_tape_rows(t),
           k = GRA_BLOCKS;
    int base = mfu_tape_base(t), x = mfu_tape_drop(t, mfu_tape_as_adapter(t, mfu_tape_input(t))), y;

    mfu_tape_divides(t, in, k);
    mfu_tape_divides(t, width, k);
    mfu_tape_divides(t, r, k);
    y = mfu_tape_product(t, x, mfu_tape_weight(t, 0, in, r), k, rows, r, in / k);
    y = mfu_tape_map(t, "gralora_turn", y, k * rows, r, 1, 0);
    y = mfu_tape_product(t, y, mfu_tape_weight(t, 1, k * r, width / k), k, rows, width / k, r);
    y = mfu_tape_like(t, mfu_tape_map(t, "gralora_turn", y, rows, width, 1, 0), base);
    y = mfu_tape_scale(t, y, false);
    return mfu_tape_plus(t, base, y);
}

/* VeRA: random matrices, one pair for all, between two vectors that train; PVeRA has a mean and a variance between them,
 * which are sampled. */
static int random_pair(struct mfu_tape *t, bool samples)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t), rows = mfu_tape_rows(t),
           narrow = samples ? 2 * r : r;
    int base = mfu_tape_base(t), x = mfu_tape_as_adapter(t, mfu_tape_input(t)),
        h = mfu_tape_linear(t, mfu_tape_drop(t, x), mfu_tape_shared(t, false, narrow, in), narrow, in), y;

    h = mfu_tape_times(t, h, mfu_tape_weight(t, 0, 1, narrow));
    if (samples)
        h = mfu_tape_map(t, "pvera_sample", h, rows, r, 4, 2 * rows * r);
    y = mfu_tape_linear(t, h, mfu_tape_shared(t, false, width, r), width, r);
    y = added(t, base, mfu_tape_times(t, y, mfu_tape_weight(t, 1, 1, width)));
    mfu_tape_hold(t, x);
    return y;
}

static int vera(struct mfu_tape *t)
{
    return random_pair(t, false);
}

static int pvera(struct mfu_tape *t)
{
    return random_pair(t, true);
}

/* MiSS: pieces of `rank` elements of an input row are added up, and one product follows; its other forms (bat, mini) are
 * not modelled. */
static int miss(struct mfu_tape *t)
{
    double r = mfu_tape_size(t), width = mfu_tape_width(t);
    int base = mfu_tape_base(t), x = mfu_tape_as_adapter(t, mfu_tape_input(t)), y;

    mfu_tape_holds(t, mfu_tape_in(t), r);
    y = mfu_tape_map(t, "miss_sum", mfu_tape_drop(t, x), mfu_tape_rows(t), r, 1, 0);
    y = added(t, base, mfu_tape_linear(t, y, mfu_tape_weight(t, 0, width, r), width, r));
    mfu_tape_hold(t, x);
    return y;
}

/* AdaLoRA: LoRA with trained singular values E between its matrices.  The loss has the distance of A A^T and B^T B from I,
 * which is computed here, beside them, though at the end of the model's forward (tuners/adalora/model.py). */
static int regularise(struct mfu_tape *t, const int in[2], int keeps[2])
{
    double length[] = {mfu_tape_in(t), mfu_tape_width(t)}, r = mfu_tape_size(t);
    enum mfu_type type = mfu_tape_product_type(t);
    struct mfu_builder *s = mfu_tape_builder(t);

    (void)keeps;
    for (int i = 0; i < 2 && !s->recomputing; i++) {
        int square = mfu_adapter_small(s, "adalora_square", type, r, r, length[i], MFU_NO_VIEW, MFU_NO_VIEW);

        mfu_adapter_column_sum(s, "adalora_norm", mfu_adapter_pass(s, "adalora_minus_eye", type, square, MFU_NO_VIEW));
    }
    return in[0];
}

static void regularise_gradient(struct mfu_tape *t, int g, const int kept[2], int d[2])
{
    double length[] = {mfu_tape_in(t), mfu_tape_width(t)}, r = mfu_tape_size(t);

    (void)kept;
    for (int i = 0; i < 4; i++)
        mfu_adapter_small(mfu_tape_builder(t), "adalora_square_grad", mfu_tape_product_type(t), r, length[i / 2], r,
                          MFU_NO_VIEW, MFU_NO_VIEW);
    d[0] = g;
}

static int adalora(struct mfu_tape *t)
{
    static const struct mfu_tape_function regularised = {
        .forward = regularise, .backward = regularise_gradient, .autocast = true};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t), rows = mfu_tape_rows(t);
    int base = mfu_tape_base(t), a, x, y;

    mfu_tape_kept(t, 1, 1);                                                          /* the rank */
    a = mfu_tape_map(t, "adalora_e", mfu_tape_weight(t, 0, r, in + 1), r, in, 2, 0); /* once, and thrice in backward */
    x = mfu_tape_as_adapter(t, mfu_tape_input(t));
    y = mfu_tape_linear(t, mfu_tape_drop(t, x), a, r, in);
    y = mfu_tape_call(t, &regularised, y, y, rows, r);
    y = mfu_tape_linear(t, y, mfu_tape_weight(t, 1, width, r), width, r);
    y = mfu_tape_scale(t, mfu_tape_scale(t, y, false), true); /* divided by the rank */
    y = mfu_tape_add_in_place(t, base, y);
    mfu_tape_hold(t, x);
    return y;
}

/* Of a pair's product of [rows, columns]: both gradients, in one place. */
static int pair_gradient(struct mfu_tape *t, enum mfu_type type, double rows, double columns, int g)
{
    double r = mfu_tape_size(t);
    struct mfu_builder *s = mfu_tape_builder(t);
    int dw = mfu_tensor_new(s, 1, r * (rows + columns), type, MFU_PART_GRADIENTS);
    enum mfu_peak math = type == MFU_F32 ? MFU_PEAK_FP32 : s->numerics.math;

    mfu_emit_matmul(s, "adapter_wgrad", math, rows, r, columns, 1, g, MFU_NO_VIEW, mfu_view_slice(s, dw, rows, r));
    mfu_emit_matmul(s, "adapter_wgrad", math, r, columns, rows, 1, g, MFU_NO_VIEW, mfu_view_slice(s, dw, r, columns));
    return dw;
}

/* LoHa: the product, element by element, of two pairs' products; a function that builds both again in backward, in the
 * weights' type, for each is a factor of the other's gradient. */
static int multiply_pairs(struct mfu_tape *t, const int in[2], int keeps[2])
{
    double of = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    enum mfu_type type = mfu_tape_product_type(t);
    struct mfu_builder *s = mfu_tape_builder(t);
    int one = mfu_adapter_small(s, "loha_1", type, width, of, r, in[0], MFU_NO_VIEW),
        other = mfu_adapter_small(s, "loha_2", type, width, of, r, in[1], MFU_NO_VIEW),
        w = mfu_adapter_pass(s, "loha_product", type, one, other);

    (void)keeps;
    mfu_tensor_extend(s, one);
    mfu_tensor_extend(s, other);
    return mfu_adapter_pass(s, "loha_scale", type, w, MFU_NO_VIEW);
}

static void pairs_gradient(struct mfu_tape *t, int g, const int kept[2], int d[2])
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    struct mfu_builder *s = mfu_tape_builder(t);
    enum mfu_type wide = mfu_adapter_type(s);
    int scaled = mfu_adapter_pass(s, "loha_scale_grad", mfu_view_type(s, g), g, MFU_NO_VIEW), before = MFU_NO_VIEW;

    (void)kept;
    for (int i = 0; i < 2; i++) {
        int again = mfu_adapter_small(s, "loha_again", wide, width, in, r, MFU_NO_VIEW, MFU_NO_VIEW);

        again = mfu_adapter_pass(s, "loha_product_grad", wide, scaled, again);
        mfu_tensor_extend(s, before);
        before = again;
        d[i] = pair_gradient(t, wide, width, in, again);
    }
    mfu_tensor_extend(s, scaled);
    mfu_tensor_extend(s, g);
}

static int loha(struct mfu_tape *t)
{
    static const struct mfu_tape_function product = {
        .forward = multiply_pairs, .backward = pairs_gradient, .autocast = true};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), n = mfu_tape_size(t) * (in + width);

    return beside(t, mfu_tape_call(t, &product, mfu_tape_weight(t, 0, 1, n), mfu_tape_weight(t, 1, 1, n), width, in));
}

/* The rows of LoKr's smaller factor of `width`: `factor` where it divides it, else the largest not above the square root
 * (and `factor`). */
static double small_factor(double width, double factor)
{
    double m = 1;

    if (factor > 0 && fmod(width, factor) == 0)
        return factor;
    for (double f = 2; f * f <= width && (factor == 0 || f <= factor); f++)
        if (fmod(width, f) == 0)
            m = f;
    return m;
}

/* Rows and columns of both factors. */
struct factors {
    double rows, columns, of_rows, of_columns;
};

static struct factors factors_of(const struct mfu_tape *t)
{
    double width = mfu_tape_width(t), in = mfu_tape_in(t), rows = small_factor(width, mfu_tape_setting(t)),
           columns = small_factor(in, mfu_tape_setting(t));

    return (struct factors){rows, columns, width / rows, in / columns};
}

static int multiply_pair(struct mfu_tape *t, const int in[2], int keeps[2])
{
    struct factors f = factors_of(t);

    (void)keeps;
    return mfu_adapter_small(mfu_tape_builder(t), "lokr_2", mfu_tape_product_type(t), f.of_rows, f.of_columns,
                             mfu_tape_size(t), in[0], MFU_NO_VIEW);
}

static void one_pair_gradient(struct mfu_tape *t, int g, const int kept[2], int d[2])
{
    struct factors f = factors_of(t);

    (void)kept;
    d[0] = pair_gradient(t, mfu_tape_product_type(t), f.of_rows, f.of_columns, g);
}

/* LoKr: the Kronecker product of a small matrix and a larger one, which is a pair's product where the rank is small. */
static int lokr(struct mfu_tape *t)
{
    static const struct mfu_tape_function product = {
        .forward = multiply_pair, .backward = one_pair_gradient, .autocast = true};
    struct factors f = factors_of(t);
    double r = mfu_tape_size(t);
    int small = mfu_tape_weight(t, 0, f.rows, f.columns), other;

    if (r < fmax(f.of_rows, f.of_columns) / 2) {
        other = mfu_tape_weight(t, 1, 1, r * (f.of_rows + f.of_columns));
        other = mfu_tape_call(t, &product, other, other, f.of_rows, f.of_columns);
    } else {
        other = mfu_tape_weight(t, 1, f.of_rows, f.of_columns);
    }
    return beside(t, mfu_tape_scale(t, mfu_tape_kron(t, small, other), false));
}

/* IA3: columns of the result or, where the setting says so, of the input, multiplied in the vector's type. */
static int ia3(struct mfu_tape *t)
{
    bool front = mfu_tape_setting(t) > 0;
    int given = front ? mfu_tape_input(t) : mfu_tape_base(t), x = front ? mfu_tape_as_adapter(t, given) : given;

    return mfu_tape_like(t, mfu_tape_times(t, x, mfu_tape_weight(t, 0, 1, mfu_tape_width(t))), given);
}

/* LoRA-FA and MiCA: LoRA of which one factor stays as it is. */
static int half_pair(struct mfu_tape *t, bool first_trains)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int base = mfu_tape_base(t), a = first_trains ? mfu_tape_weight(t, 0, r, in) : mfu_tape_kept(t, r, in),
        b = first_trains ? mfu_tape_kept(t, width, r) : mfu_tape_weight(t, 1, width, r),
        x = mfu_tape_as_adapter(t, mfu_tape_input(t)), y;

    y = mfu_tape_linear(t, mfu_tape_drop(t, x), a, r, in);
    y = added(t, base, mfu_tape_scale(t, mfu_tape_linear(t, y, b, width, r), false));
    mfu_tape_hold(t, x);
    return y;
}

static int lora_fa(struct mfu_tape *t)
{
    return half_pair(t, false);
}

static int mica(struct mfu_tape *t)
{
    return half_pair(t, true);
}

/* BEFT: something is added to each column of the result. */
static int beft(struct mfu_tape *t)
{
    int base = mfu_tape_base(t);

    return added(t, base, mfu_tape_weight(t, 0, 1, mfu_tape_width(t)));
}

/* DEFT: what the result has in r directions is taken out of it, and another product stands there, in fp32; PaRa has none,
 * and makes the directions orthogonal. */
static int orthogonalise(struct mfu_tape *t, const int in[2], int keeps[2])
{
    double width = mfu_tape_width(t), r = mfu_tape_size(t);

    (void)in;
    keeps[0] = mfu_tape_pass(t, "para_qr", width + r, r, 4, MFU_NO_VIEW, MFU_NO_VIEW); /* and R */
    return mfu_view_slice(mfu_tape_builder(t), keeps[0], width, r);
}

static void orthogonal_gradient(struct mfu_tape *t, int g, const int kept[2], int d[2])
{
    double width = mfu_tape_width(t), r = mfu_tape_size(t);

    mfu_tape_small(t, MFU_TAPE_FP32, 1, r, r, width, kept[0], g, MFU_NO_VIEW);
    d[0] = mfu_tape_small(t, MFU_TAPE_FP32, 1, width, r, r, kept[0], g, MFU_NO_VIEW);
    d[0] = mfu_tape_pass(t, "para_qr_grad", width, r, 8, d[0], kept[0]);
}

static int directions(struct mfu_tape *t, bool injects)
{
    static const struct mfu_tape_function qr = {.forward = orthogonalise, .backward = orthogonal_gradient};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int given = mfu_tape_base(t), base = mfu_tape_cast(t, given, MFU_F32), x = x32(t),
        p = mfu_tape_cast(t, mfu_tape_weight(t, 0, width, r), MFU_F32), right, y;

    if (!injects)
        p = mfu_tape_call(t, &qr, p, p, width, r);
    right = injects ? mfu_tape_map(t, "deft_relu", p, width, r, 1, 0) : p;
    y = mfu_tape_linear(t, mfu_tape_linear(t, base, right, r, width), p, width, r);
    y = mfu_tape_plus(t, base, y);
    if (injects) {
        int injection = mfu_tape_cast(t, mfu_tape_weight(t, 1, r, in), MFU_F32), other;

        injection = mfu_tape_map(t, "deft_scale", injection, r, in, 1, 0);
        other = mfu_tape_linear(t, mfu_tape_drop(t, x), injection, r, in);

        y = mfu_tape_plus(t, y, mfu_tape_linear(t, other, p, width, r));
        mfu_tape_hold(t, injection);
    }
    mfu_tape_hold(t, x);
    return mfu_tape_like(t, y, given);
}

static int deft(struct mfu_tape *t)
{
    return directions(t, true);
}

static int para(struct mfu_tape *t)
{
    return directions(t, false);
}

/* GLoRA of products without a bias: W + W A + B multiplies the input, beside the base's product that is taken off again;
 * A and B are pairs' products, or a factor of each row. */
static int prepared(struct mfu_tape *t, bool pairs)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int base = mfu_tape_base(t), frozen = mfu_tape_frozen(t), path[2], w, y;

    for (int i = 0; i < 2; i++) {
        int first = mfu_tape_weight(t, i, width, pairs ? r : 1);

        path[i] = pairs ? mfu_tape_product(t, first, mfu_tape_weight(t, i, r, in), 1, width, in, r) : first;
        path[i] = mfu_tape_like(t, path[i], frozen);
    }
    w = mfu_tape_plus(t, mfu_tape_plus(t, frozen, mfu_tape_times(t, frozen, path[0])), path[1]);
    y = mfu_tape_linear(t, mfu_tape_input(t), w, width, in);
    y = mfu_tape_plus(t, mfu_tape_plus(t, base, y), mfu_tape_scale(t, base, false));
    mfu_tape_hold(t, w);
    return mfu_tape_like(t, y, base);
}

static int glora(struct mfu_tape *t)
{
    return prepared(t, true);
}

static int glora_vector(struct mfu_tape *t)
{
    return prepared(t, false);
}

/* PEANuT: a small network of the frozen weight makes what is added to it; of its usual depth, 0, with two matrices. */
static int peanut(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int base = mfu_tape_base(t), frozen = mfu_tape_as_adapter(t, mfu_tape_frozen(t)), w, x, y;

    w = mfu_tape_product(t, frozen, mfu_tape_weight(t, 0, r, width), 1, in, r, width);
    w = mfu_tape_map(t, "peanut_relu", w, in, r, 1, 0);
    w = mfu_tape_scale(t, mfu_tape_product(t, w, mfu_tape_weight(t, 1, width, r), 1, in, width, r), false);
    x = mfu_tape_like(t, mfu_tape_input(t), w);
    y = mfu_tape_like(t, mfu_tape_linear(t, x, w, width, in), base);
    y = mfu_tape_plus(t, base, y);
    mfu_tape_hold(t, w);
    return y;
}

/* PSOFT: between two fixed matrices, which are the weight's first singular vectors, a rotation of r columns, solved for,
 * with a factor of each of its rows and columns. */
static int psoft(struct mfu_tape *t)
{
    static const struct mfu_tape_function cayley = {.forward = solve_one, .backward = one_gradient};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int base = mfu_tape_base(t), a = mfu_tape_fixed(t, r, in), b = mfu_tape_fixed(t, width, r), x = x32(t), turn, y;

    mfu_tape_holds(t, fmin(in, width), r);
    mfu_tape_fixed(t, fmin(in, width) - r, in); /* the first matrix is a view of all singular vectors */
    mfu_tape_fixed(t, 4, r * (r - 1) / 2);      /* places of a triangle, of 8 bytes */
    a = mfu_tape_linear(t, mfu_tape_drop(t, x), a, r, in);
    turn = mfu_tape_map(t, "psoft_skew", mfu_tape_weight(t, 0, 1, r * (r - 1) / 2), r, r, 3, 0);
    turn = mfu_tape_call(t, &cayley, turn, turn, r, r);
    turn = mfu_tape_times(t, turn, mfu_tape_weight(t, 1, r, 1));
    turn = mfu_tape_times(t, turn, mfu_tape_weight(t, 1, 1, r));
    y = mfu_tape_plus(t, mfu_tape_linear(t, a, turn, r, r), a);
    y = mfu_tape_scale(t, mfu_tape_linear(t, y, b, width, r), false);
    y = added(t, base, y);
    mfu_tape_hold(t, x);
    return y;
}

/* TinyLoRA: between two fixed matrices one of r columns that is a weighted sum of random ones: the weights alone train,
 * those of each product, or the same of all. */
enum { TINY_WEIGHTS = 64 };

static int weighted(struct mfu_tape *t, bool tied)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int base = mfu_tape_base(t), a = mfu_tape_fixed(t, r, in), b = mfu_tape_fixed(t, width, r),
        all = mfu_tape_fixed(t, TINY_WEIGHTS, r * r),
        v = tied ? mfu_tape_shared(t, true, 1, TINY_WEIGHTS) : mfu_tape_weight(t, 0, 1, TINY_WEIGHTS), x, y;

    v = mfu_tape_product(t, v, all, 1, 1, r * r, TINY_WEIGHTS);
    x = mfu_tape_as_adapter(t, mfu_tape_drop(t, mfu_tape_input(t)));
    y = mfu_tape_linear(t, mfu_tape_linear(t, x, a, r, in), v, r, r);
    return added(t, base, mfu_tape_linear(t, y, b, width, r));
}

static int tinylora(struct mfu_tape *t)
{
    return weighted(t, false);
}

static int tinylora_tied(struct mfu_tape *t)
{
    return weighted(t, true);
}

/* Uni-LoRA: both of LoRA's matrices are looked up in one vector, and scaled. */
enum { UNI_LENGTH = 256 };

static int look_up(struct mfu_tape *t, int vector, double rows, double columns)
{
    int m = mfu_tape_map(t, "unilora_look_up", vector, rows, columns, 1, 0);

    mfu_tape_fixed(t, 2 * rows, columns); /* places, of 8 bytes */
    return mfu_tape_times(t, m, mfu_tape_fixed(t, rows, columns));
}

static int unilora(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int base = mfu_tape_base(t), vector = mfu_tape_shared(t, true, 1, UNI_LENGTH), a = look_up(t, vector, r, in),
        b = look_up(t, vector, width, r), x = mfu_tape_as_adapter(t, mfu_tape_input(t)), y;

    y = mfu_tape_linear(t, mfu_tape_drop(t, x), a, r, in);
    y = added(t, base, mfu_tape_linear(t, y, b, width, r));
    mfu_tape_hold(t, x);
    return y;
}

static mfu_adapter_method_fn *const methods[MFU_METHOD_COUNT] = {
    [MFU_METHOD_FOURIERFT] = fourierft,
    [MFU_METHOD_WAVEFT] = waveft,
    [MFU_METHOD_VBLORA] = vblora,
    [MFU_METHOD_RANDLORA] = randlora,
    [MFU_METHOD_ROAD] = road,
    [MFU_METHOD_C3A] = c3a,
    [MFU_METHOD_OFT] = oft,
    [MFU_METHOD_BOFT] = boft,
    [MFU_METHOD_HRA] = hra,
    [MFU_METHOD_SHIRA] = shira,
    [MFU_METHOD_DELORA] = delora,
    [MFU_METHOD_HIRA] = hira,
    [MFU_METHOD_GRALORA] = gralora,
    [MFU_METHOD_PVERA] = pvera,
    [MFU_METHOD_VERA] = vera,
    [MFU_METHOD_MISS] = miss,
    [MFU_METHOD_ADALORA] = adalora,
    [MFU_METHOD_LOHA] = loha,
    [MFU_METHOD_LOKR] = lokr,
    [MFU_METHOD_IA3] = ia3,
    [MFU_METHOD_ROAD_2] = road_2,
    [MFU_METHOD_LORA_FA] = lora_fa,
    [MFU_METHOD_MICA] = mica,
    [MFU_METHOD_BEFT] = beft,
    [MFU_METHOD_DEFT] = deft,
    [MFU_METHOD_PARA] = para,
    [MFU_METHOD_GLORA] = glora,
    [MFU_METHOD_GLORA_VECTOR] = glora_vector,
    [MFU_METHOD_PEANUT] = peanut,
    [MFU_METHOD_PSOFT] = psoft,
    [MFU_METHOD_TINYLORA] = tinylora,
    [MFU_METHOD_TINYLORA_TIED] = tinylora_tied,
    [MFU_METHOD_UNILORA] = unilora,
};

static mfu_adapter_method_fn *method_of(const struct mfu_operation *op)
{
    return methods[(int)op->attribute[METHOD]];
}

struct mfu_tape_weights mfu_adapter_method_weights(const struct mfu_operation *op)
{
    return mfu_tape_count(method_of(op), op);
}

static struct mfu_weights params(const struct mfu_operation *op)
{
    struct mfu_tape_weights w = mfu_adapter_method_weights(op);

    return (struct mfu_weights){.weight = w.weight[0], .bias = w.weight[1], .active = w.weight[0] + w.weight[1]};
}

static void forward(struct mfu_builder *s, int index)
{
    mfu_tape_forward(method_of(mfu_node_at(s, index)->op), s, index);
}

static void backward(struct mfu_builder *s, int index)
{
    mfu_tape_backward(method_of(mfu_node_at(s, index)->op), s, index);
}

const struct mfu_primitive mfu_primitive_adapter_method = {
    .name = "adapter_method",
    .summary = "a method of fine-tuning beside, before or in place of a product whose weight is frozen",
    .attributes = {MFU_ADAPTER_RANK_AND_WIDTH, [METHOD] = {"method", NULL, NULL, "which"},
                   [MFU_ADAPTER_INNER] = {"setting", "0", NULL,
                                          "blocks of an input row (0: rank says their size), LoKr's factor, or whether "
                                          "IA3 stands in front"}},
    .least_inputs = 2,
    .most_inputs = 2,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
