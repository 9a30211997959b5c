/*
 * pairs.c - methods of peft 0.21.2 (tuners/METHOD/layer.py): two narrow matrices, as LoRA has them: scaled, looked up, in blocks, of which not all trains.
 */
#include <math.h>

#include "graph/methods/methods.h"

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

int mfu_method_vblora(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int base = mfu_tape_base(t), bank = mfu_tape_shared(t, true, VB_VECTORS, VB_LENGTH), a, b, x, y;

    mfu_tape_divides(t, in, VB_LENGTH);
    mfu_tape_divides(t, width, VB_LENGTH);
    a = vblora_matrix(t, 0, bank, r, in);
    b = mfu_tape_map(t, "vblora_turn", vblora_matrix(t, 1, bank, width, r), width, r, 1, 0);
    x = mfu_tape_as_adapter(t, mfu_tape_input(t));
    y = mfu_tape_linear(t, mfu_tape_drop(t, x), a, r, in);
    y = mfu_tape_added(t, base, mfu_tape_linear(t, y, b, width, r));
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

int mfu_method_randlora(struct mfu_tape *t)
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
    y = mfu_tape_added(t, base, y);
    mfu_tape_hold(t, x);
    return y;
}

/* DeLoRA: LoRA with an input scaled by the weight's norms, and rows scaled by those of both matrices. */
int mfu_method_delora(struct mfu_tape *t)
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

/* GraLoRA: blocks of LoRA, whose narrow results change places. */
enum { GRA_BLOCKS = 2 };

int mfu_method_gralora(struct mfu_tape *t)
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
int mfu_method_vera(struct mfu_tape *t)
{
    bool samples = mfu_tape_method(t) == MFU_METHOD_PVERA;
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t), rows = mfu_tape_rows(t),
           narrow = samples ? 2 * r : r;
    int base = mfu_tape_base(t), x = mfu_tape_as_adapter(t, mfu_tape_input(t)),
        h = mfu_tape_linear(t, mfu_tape_drop(t, x), mfu_tape_shared(t, false, narrow, in), narrow, in), y;

    h = mfu_tape_times(t, h, mfu_tape_weight(t, 0, 1, narrow));
    if (samples)
        h = mfu_tape_map(t, "pvera_sample", h, rows, r, 4, 2 * rows * r);
    y = mfu_tape_linear(t, h, mfu_tape_shared(t, false, width, r), width, r);
    y = mfu_tape_added(t, base, mfu_tape_times(t, y, mfu_tape_weight(t, 1, 1, width)));
    mfu_tape_hold(t, x);
    return y;
}

/* MiSS: pieces of `rank` elements of an input row are added up, and one product follows, of whose matrix the form "mini" repeats
 * a square block (mini_r is r); the form "bat" is not modelled. */
int mfu_method_miss(struct mfu_tape *t)
{
    bool mini = mfu_tape_method(t) == MFU_METHOD_MISS_MINI;
    double r = mfu_tape_size(t), width = mfu_tape_width(t);
    int base = mfu_tape_base(t), w = mfu_tape_weight(t, 0, mini ? r : width, r), x, y;

    mfu_tape_holds(t, mfu_tape_in(t), r);
    if (mini)
        mfu_tape_divides(t, width, r);
    w = mini ? mfu_tape_map(t, "miss_repeat", w, width, r, 1, 0) : w;
    x = mfu_tape_as_adapter(t, mfu_tape_input(t));
    y = mfu_tape_map(t, "miss_sum", mfu_tape_drop(t, x), mfu_tape_rows(t), r, 1, 0);
    y = mfu_tape_added(t, base, mfu_tape_linear(t, y, w, width, r));
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

int mfu_method_adalora(struct mfu_tape *t)
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

/* LoRA-FA and MiCA: LoRA of which one factor stays as it is. */
int mfu_method_half_pair(struct mfu_tape *t)
{
    bool first_trains = mfu_tape_method(t) == MFU_METHOD_MICA;
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int base = mfu_tape_base(t), a = first_trains ? mfu_tape_weight(t, 0, r, in) : mfu_tape_kept(t, r, in),
        b = first_trains ? mfu_tape_kept(t, width, r) : mfu_tape_weight(t, 1, width, r),
        x = mfu_tape_as_adapter(t, mfu_tape_input(t)), y;

    y = mfu_tape_linear(t, mfu_tape_drop(t, x), a, r, in);
    y = mfu_tape_added(t, base, mfu_tape_scale(t, mfu_tape_linear(t, y, b, width, r), false));
    mfu_tape_hold(t, x);
    return y;
}

/* TinyLoRA: between two fixed matrices one of r columns that is a weighted sum of random ones: the weights alone train,
 * those of each product, or the same of all. */
enum { TINY_WEIGHTS = 64 };

int mfu_method_tinylora(struct mfu_tape *t)
{
    bool tied = mfu_tape_method(t) == MFU_METHOD_TINYLORA_TIED;
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int base = mfu_tape_base(t), a = mfu_tape_fixed(t, r, in), b = mfu_tape_fixed(t, width, r),
        all = mfu_tape_fixed(t, TINY_WEIGHTS, r * r),
        v = tied ? mfu_tape_shared(t, true, 1, TINY_WEIGHTS) : mfu_tape_weight(t, 0, 1, TINY_WEIGHTS), x, y;

    v = mfu_tape_product(t, v, all, 1, 1, r * r, TINY_WEIGHTS);
    x = mfu_tape_as_adapter(t, mfu_tape_drop(t, mfu_tape_input(t)));
    y = mfu_tape_linear(t, mfu_tape_linear(t, x, a, r, in), v, r, r);
    return mfu_tape_added(t, base, mfu_tape_linear(t, y, b, width, r));
}

/* Uni-LoRA: both of LoRA's matrices are looked up in one vector, and scaled. */
enum { UNI_LENGTH = 256 };

static int look_up(struct mfu_tape *t, int vector, double rows, double columns)
{
    int m = mfu_tape_map(t, "unilora_look_up", vector, rows, columns, 1, 0);

    mfu_tape_fixed(t, 2 * rows, columns); /* places, of 8 bytes */
    return mfu_tape_times(t, m, mfu_tape_fixed(t, rows, columns));
}

int mfu_method_unilora(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int base = mfu_tape_base(t), vector = mfu_tape_shared(t, true, 1, UNI_LENGTH), a = look_up(t, vector, r, in),
        b = look_up(t, vector, width, r), x = mfu_tape_as_adapter(t, mfu_tape_input(t)), y;

    y = mfu_tape_linear(t, mfu_tape_drop(t, x), a, r, in);
    y = mfu_tape_added(t, base, mfu_tape_linear(t, y, b, width, r));
    mfu_tape_hold(t, x);
    return y;
}
