/*
 * transforms.c - methods of peft 0.21.2 (tuners/METHOD/layer.py): weights that are made by a transform: of a spectrum, of wavelets, of circulant blocks.
 */
#include "graph/methods/methods.h"

/* FourierFT: some numbers of a spectrum, whose transform is a weight.  The numbers' places are brought each time. */
int mfu_method_fourierft(struct mfu_tape *t)
{
    double in = mfu_tape_in(t), width = mfu_tape_width(t), n = mfu_tape_size(t);
    int dense = mfu_tape_map(t, "fourier_scatter", mfu_tape_weight(t, 0, 1, n), width, in, 2, 4 * n), w;

    mfu_tape_holds(t, width * in, n);
    w = mfu_tape_map(t, "fourier_complex", dense, width, 2 * in, 1, 0);
    w = mfu_tape_map(t, "fourier_transform", w, width, 2 * in, 2, 0);
    w = mfu_tape_map(t, "fourier_scale", w, width, in, 1, 0);
    mfu_tape_hold(t, dense);
    return mfu_tape_beside(t, w);
}

/* WaveFT: the same of a wavelet transform, which is a transposed convolution of four bands. */
int mfu_method_waveft(struct mfu_tape *t)
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
    return mfu_tape_beside(t, w);
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

int mfu_method_c3a(struct mfu_tape *t)
{
    static const struct mfu_tape_function convolution = {.forward = convolve, .backward = convolve_gradient};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), b = mfu_tape_size(t), rows = mfu_tape_rows(t);
    int base = mfu_tape_base(t), y;

    mfu_tape_divides(t, in, b);
    mfu_tape_divides(t, width, b);
    y = mfu_tape_call(t, &convolution, mfu_tape_cast(t, mfu_tape_input(t), MFU_F32),
                      mfu_tape_weight(t, 0, width / b, in), rows, 2 * width);
    y = mfu_tape_map(t, "c3a_scale", y, rows, width, 1, 0);
    return mfu_tape_plus(t, base, mfu_tape_like(t, y, base));
}
