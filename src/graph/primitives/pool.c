/*
 * pool - the largest or the mean of neighbouring positions; of all: a sample becomes a row.  Or each position several times
 * (nearest): the stride is then below 1, and nothing is kept.
 *
 * Autocast runs the nearest in fp32 since 2024 (PyTorch issue #121072; 2.0.1 did not, 2.15 does).
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

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0), out[2];
    double stride = n->op->attribute[STRIDE];
    double rows =
        stride > 0 ? mfu_strided_rows(s, mfu_view_rows(s, x), stride, n->op->attribute[WHOLE] > 0) : s->config->batch;
    bool largest = n->op->attribute[KIND] == LARGEST;
    double year = s->config->setting[MFU_S_SOFTWARE];

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
    int dx = mfu_tensor_like(s, x);

    launch(s, "grad", n, 2, in, 1, &dx);
    if (n->n_saved) /* torch's backward takes what forward read, though it needs only the places */
        mfu_tensor_extend(s, n->saved[0]);
    mfu_grad_add(s, n, 0, dx);
}

const struct mfu_primitive mfu_primitive_pool = {
    .name = "pool",
    .summary = "the largest or the mean of neighbouring positions, or each several times",
    .attributes =
        {
            [KIND] = {"kind", "mean", kinds, "mean, max or nearest"},
            [STRIDE] = {"stride", "0", NULL, "positions read for one that is written; 0: all of a sample"},
            [WHOLE] = {"whole", "0", NULL, "whether a window that goes over the edge is left out"},
        },
    .inputs = {1, 1},
    .forward = forward,
    .backward = backward,
};
