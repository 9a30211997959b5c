/*
 * pool - the largest or the mean of neighbouring positions; of all: a sample becomes a row.  Or each position several times
 * (nearest): the stride is then below 1, and nothing is kept.
 *
 * Autocast runs the nearest in fp32 since 2024 (PyTorch issue #121072; 2.0.1 did not, 2.15 does).
 *
 * A second input has a score for each position: of all, their softmax weighs the mean (timm 1.0.31 layers/global_context.py).
 *
 * Neighbours' keep their input, as PyTorch's do, and the largest remembers where it was (an int64 per result).
 */
#include <stddef.h>

#include "graph/builder.h"
#include "scenario/setting.h"

#define FIRST_WIDE_NEAREST 2025 /* year in which PyTorch has that throughout */

enum { KIND, STRIDE, WHOLE };
enum { MEAN, LARGEST, NEAREST };
static const char *const kinds[] = {"mean", "max", "nearest", NULL};

static void launch(struct mfu_builder *s, const char *suffix, const struct mfu_node *n, int n_in, const int *in,
                   int n_out, const int *out)
{
    (void)n;
    MFU_EMIT(s, MFU_LIST(n_in, in), MFU_LIST(n_out, out), .suffix = suffix, .kind = MFU_REDUCTION);
}

enum { WEIGHED, SHARES, SHARES_IN }; /* saved: in the type of softmax, and in that of the product */

static int product(struct mfu_builder *s, const char *suffix, double rows, double columns, double k, int a, int b)
{
    int out = mfu_tensor_new(s, s->config->batch * rows, columns, s->numerics.compute, MFU_PART_ACTIVATIONS);

    return mfu_emit_matmul(s, suffix, s->numerics.math, rows, columns, k, s->config->batch, a, b, out);
}

static int softmax(struct mfu_builder *s, const char *suffix, int scores, int other)
{
    int out = mfu_tensor_new(s, mfu_view_rows(s, scores), 1, mfu_view_type(s, scores), MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_VIEWS(scores, other), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_REDUCTION);
    return out;
}

static void weighed_forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_save(n, mfu_autocast(s, mfu_node_input(s, n, 0))), scores = mfu_node_input(s, n, 1), shares;

    if (s->numerics.widens)
        scores = mfu_emit_cast(s, scores, MFU_F32);
    shares = mfu_node_save(n, softmax(s, "softmax", scores, MFU_NO_VIEW));
    shares = mfu_node_save(n, mfu_autocast(s, shares));
    n->out = product(s, "", 1, mfu_view_columns(s, x), mfu_view_rows(s, x) / s->config->batch, shares, x);
}

static void weighed_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[WEIGHED], g = mfu_autocast(s, n->gradient), d;
    double positions = mfu_view_rows(s, x) / s->config->batch;

    mfu_grad_add(s, n, 0, product(s, "grad", positions, mfu_view_columns(s, x), 1, n->saved[SHARES_IN], g));
    d = mfu_emit_cast(s, product(s, "dshares", positions, 1, mfu_view_columns(s, x), x, g),
                      mfu_view_type(s, n->saved[SHARES]));
    mfu_grad_add(s, n, 1, softmax(s, "dsoftmax", d, n->saved[SHARES]));
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0), out[2];
    double stride = n->op->attribute[STRIDE];
    double rows =
        stride > 0 ? mfu_strided_rows(s, mfu_view_rows(s, x), stride, n->op->attribute[WHOLE] > 0) : s->config->batch;
    bool largest = n->op->attribute[KIND] == LARGEST;
    double year = s->config->setting[MFU_S_SOFTWARE];

    if (n->source->n_in > 1) {
        weighed_forward(s, n);
        return;
    }
    if (n->op->attribute[KIND] == NEAREST && s->numerics.widens && !(year > 0 && year < FIRST_WIDE_NEAREST))
        x = mfu_emit_cast(s, x, MFU_F32);

    out[0] = n->out = mfu_tensor_new(s, rows, mfu_view_columns(s, x), mfu_view_type(s, x), MFU_PART_ACTIVATIONS);
    if (largest)
        out[1] = mfu_tensor_new(s, rows, mfu_view_columns(s, x), MFU_I64, MFU_PART_ACTIVATIONS);
    if (stride > 0 && n->op->attribute[KIND] != NEAREST)
        mfu_node_save(n, x);
    if (largest)
        mfu_node_save(n, out[1]);
    launch(s, "", n, 1, &x, 1 + largest, out);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0), in[] = {n->gradient, n->n_saved > 1 ? n->saved[1] : MFU_NO_VIEW};
    int dx;

    if (n->source->n_in > 1) {
        weighed_backward(s, n);
        return;
    }
    dx = mfu_tensor_like(s, x);
    launch(s, "grad", n, 2, in, 1, &dx);
    if (n->n_saved) /* torch's backward takes what forward read, though it needs only the places */
        mfu_tensor_extend(s, n->saved[0]);
    mfu_grad_add(s, n, 0, dx);
}

const struct mfu_primitive mfu_primitive_pool = {
    .name = "pool",
    .summary = "the largest or the mean of neighbouring positions, or each several times; of all, weighed by scores",
    .attributes =
        {
            [KIND] = {"kind", "mean", kinds, "mean, max or nearest"},
            [STRIDE] = {"stride", "0", NULL, "positions read for one that is written; 0: all of a sample"},
            [WHOLE] = {"whole", "0", NULL, "whether a window that goes over the edge is left out"},
        },
    .inputs = {1, 2},
    .forward = forward,
    .backward = backward,
};
