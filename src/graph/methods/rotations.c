/*
 * rotations.c - methods of peft 0.21.2 (tuners/METHOD/layer.py): what is turned: rows of the input by orthogonal blocks and reflections, columns of the result by angles.
 */
#include <math.h>

#include "graph/methods/methods.h"

/* RoAd: pairs of columns of the result, rotated and scaled; variant 1 has an angle and a factor of each pair, 2 of each
 * column. */
enum { ROAD_GROUP = 64 };

int mfu_method_road(struct mfu_tape *t)
{
    bool shares = mfu_tape_method(t) == MFU_METHOD_ROAD;
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

/* OFT: the input, rotated by orthogonal blocks, of which each is a sum of powers of a skew matrix. */
int mfu_method_oft(struct mfu_tape *t)
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

/* torch.block_diag() of unbound blocks copies one by one; its gradient is views of the whole, which unbind's stacks
 * (FunctionsManual.cpp: block_diag_backward, unbind_backward), as many at a time as a kernel of cat takes (cuda/Shape.cu:
 * CAT_ARRAY_BATCH_SIZE). */
#define STACKED 128

static int lay_out(struct mfu_tape *t, const int in[2], int keeps[2])
{
    (void)keeps;
    return mfu_tape_pass(t, "boft_diagonal", mfu_tape_in(t), mfu_tape_in(t), mfu_tape_in(t) / mfu_tape_block(t), in[0],
                         MFU_NO_VIEW);
}

static void lay_out_gradient(struct mfu_tape *t, int g, const int kept[2], int d[2])
{
    double in = mfu_tape_in(t), b = mfu_tape_block(t);

    (void)kept;
    d[0] = mfu_tape_pass(t, "boft_diagonal_grad", in, b, ceil(in / b / STACKED), g, MFU_NO_VIEW);
}

/* BOFT: the same with blocks of a Cayley transform, made a whole matrix, and factors of the result's columns. */
int mfu_method_boft(struct mfu_tape *t)
{
    static const struct mfu_tape_function cayley = {.forward = solve, .backward = solve_gradient},
                                          diagonal = {.forward = lay_out, .backward = lay_out_gradient};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), b = mfu_tape_block(t), n = in / b;
    int x = mfu_tape_input(t), eye = mfu_tape_fill(t, "boft_eye", in, in, mfu_tape_type(t, x)), turn, p, y;

    mfu_tape_divides(t, in, b);
    turn = mfu_tape_call(t, &cayley, mfu_tape_weight(t, 0, n * b, b), eye, n * b, b);
    turn = mfu_tape_like(t, mfu_tape_call(t, &diagonal, turn, turn, in, in), x);
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

int mfu_method_hra(struct mfu_tape *t)
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

/* PSOFT: between two fixed matrices, which are the weight's first singular vectors, a rotation of r columns, solved for,
 * with a factor of each of its rows and columns. */
int mfu_method_psoft(struct mfu_tape *t)
{
    static const struct mfu_tape_function cayley = {.forward = solve_one, .backward = one_gradient};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int base = mfu_tape_base(t), a = mfu_tape_fixed(t, r, in), b = mfu_tape_fixed(t, width, r),
        x = mfu_tape_cast(t, mfu_tape_input(t), MFU_F32), turn, y;

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
    y = mfu_tape_added(t, base, y);
    mfu_tape_hold(t, x);
    return y;
}
