/*
 * weights.c - methods of peft 0.21.2 (tuners/METHOD/layer.py): a whole weight that is made anew in every pass.
 */
#include <math.h>

#include "graph/methods/methods.h"

/* SHiRA: some elements of the weight train, added to a copy of it. */
int mfu_method_shira(struct mfu_tape *t)
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

/* HiRA: the frozen weight times, element by element, a pair's product. */
int mfu_method_hira(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int pair = mfu_tape_product(t, mfu_tape_weight(t, 0, r, in), mfu_tape_weight(t, 1, width, r), 1, in, width, r), x,
        w, base, y;

    base = mfu_tape_base(t);
    x = mfu_tape_as_adapter(t, mfu_tape_input(t));
    w = mfu_tape_times(t, pair, mfu_tape_frozen(t));
    y = mfu_tape_added(t, base, mfu_tape_linear(t, mfu_tape_drop(t, x), w, width, in));
    mfu_tape_hold(t, pair);
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

int mfu_method_loha(struct mfu_tape *t)
{
    static const struct mfu_tape_function product = {
        .forward = multiply_pairs, .backward = pairs_gradient, .autocast = true};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), n = mfu_tape_size(t) * (in + width);

    return mfu_tape_beside(
        t, mfu_tape_call(t, &product, mfu_tape_weight(t, 0, 1, n), mfu_tape_weight(t, 1, 1, n), width, in));
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
int mfu_method_lokr(struct mfu_tape *t)
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
    return mfu_tape_beside(t, mfu_tape_scale(t, mfu_tape_kron(t, small, other), false));
}

/* GLoRA of products without a bias: W + W A + B multiplies the input, beside the base's product that is taken off again;
 * A and B are pairs' products, or a factor of each row. */
int mfu_method_glora(struct mfu_tape *t)
{
    bool pairs = mfu_tape_method(t) == MFU_METHOD_GLORA;
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

/* PEANuT: a small network of the frozen weight makes what is added to it; of its usual depth, 0, with two matrices. */
int mfu_method_peanut(struct mfu_tape *t)
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
