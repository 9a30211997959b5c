/*
 * results.c - methods of peft 0.21.2 (tuners/METHOD/layer.py): columns of a product's result: factors, sums, directions that are taken out of it.
 */
#include "graph/methods/methods.h"

/* IA3: columns of the result or, where the setting says so, of the input, multiplied in the vector's type. */
int mfu_method_ia3(struct mfu_tape *t)
{
    bool front = mfu_tape_setting(t) > 0;
    int given = front ? mfu_tape_input(t) : mfu_tape_base(t), x = front ? mfu_tape_as_adapter(t, given) : given;

    return mfu_tape_like(t, mfu_tape_times(t, x, mfu_tape_weight(t, 0, 1, mfu_tape_width(t))), given);
}

/* BEFT: something is added to each column of the result. */
int mfu_method_beft(struct mfu_tape *t)
{
    int base = mfu_tape_base(t);

    return mfu_tape_added(t, base, mfu_tape_weight(t, 0, 1, mfu_tape_width(t)));
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

int mfu_method_deft(struct mfu_tape *t)
{
    bool injects = mfu_tape_method(t) == MFU_METHOD_DEFT;
    static const struct mfu_tape_function qr = {.forward = orthogonalise, .backward = orthogonal_gradient};
    double in = mfu_tape_in(t), width = mfu_tape_width(t), r = mfu_tape_size(t);
    int given = mfu_tape_base(t), base = mfu_tape_cast(t, given, MFU_F32),
        x = mfu_tape_cast(t, mfu_tape_input(t), MFU_F32),
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
