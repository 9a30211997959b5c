/*
 * outlook - attention in which a position says by itself, not by products of queries and keys, how the positions of the window
 * around it look at one another (VOLO):
 *
 *     y = fold(softmax(a) unfold(v))      a: [taps, taps] per head and window; windows overlap, and fold adds them up
 *
 * Operation by operation (timm 1.0.31 volo.py, OutlookAttention): the windows of v are written once by unfold() and once more
 * for the product, whose result is laid out anew for fold().  Backward keeps the softmax, in fp32 and the type of the product
 * under autocast, and the windows.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { HEADS, TAPS };
enum { VALUES, SCORES };
enum { SAVED_SOFTMAX, SAVED_SHARES, SAVED_WINDOWS };

/* One kernel from a view to a new one of so many rows and columns. */
static int turned(struct mfu_builder *s, const char *suffix, enum mfu_kind kind, double rows, double columns, int x)
{
    int out = mfu_tensor_new(s, rows, columns, mfu_view_type(s, x), MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(out), .suffix = suffix, .kind = kind, .traffic = MFU_C_DRAM_IRREGULAR);
    return out;
}

static int copied(struct mfu_builder *s, const char *suffix, int x)
{
    return mfu_emit_broadcast(s, suffix, mfu_view_type(s, x), 0, x, MFU_NO_VIEW);
}

/* [taps, columns] of each head and window. */
static int product(struct mfu_builder *s, const struct mfu_node *n, const char *suffix, double windows, double columns,
                   double k, int a, int b)
{
    double taps = n->op->attribute[TAPS], heads = n->op->attribute[HEADS];
    int out = mfu_tensor_new(s, windows, taps * heads * columns, s->numerics.compute, MFU_PART_ACTIVATIONS);

    return mfu_emit_matmul(s, suffix, s->numerics.math, taps, columns, k, windows * heads, a, b, out);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int v = mfu_autocast(s, mfu_node_input(s, n, VALUES)), scores = mfu_node_input(s, n, SCORES), shares;
    double taps = n->op->attribute[TAPS], windows = mfu_view_rows(s, scores), columns = mfu_view_columns(s, v);
    int unfolded = turned(s, "unfold", MFU_COPY, windows, taps * columns, v);

    scores = mfu_emit_map(s, "scale", 1, scores, MFU_NO_VIEW);
    if (s->numerics.widens)
        scores = mfu_emit_cast(s, scores, MFU_F32);
    shares = mfu_node_save(n, mfu_tensor_like(s, scores));
    MFU_EMIT(s, MFU_VIEWS(scores), MFU_VIEWS(shares), .suffix = "softmax", .kind = MFU_REDUCTION,
             .flops = 5 * mfu_view_elements(s, scores));
    shares = mfu_node_save(n, mfu_autocast(s, shares));
    v = mfu_node_save(n, copied(s, "heads", unfolded));
    n->out = product(s, n, "", windows, columns / n->op->attribute[HEADS], taps, shares, v);
    n->out = turned(s, "fold", MFU_REDUCTION, mfu_view_rows(s, mfu_node_input(s, n, VALUES)), columns,
                    copied(s, "merge", n->out));
    n->out = copied(s, "turn", n->out);
    mfu_tensor_extend(s, unfolded);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int shares = n->saved[SAVED_SHARES], softmax = n->saved[SAVED_SOFTMAX], v = n->saved[SAVED_WINDOWS], g, d;
    double taps = n->op->attribute[TAPS], windows = mfu_view_rows(s, v), rows = mfu_view_rows(s, n->gradient);
    double columns = mfu_view_columns(s, n->gradient), width = columns / n->op->attribute[HEADS];

    g = turned(s, "dfold", MFU_COPY, windows, taps * columns, mfu_autocast(s, n->gradient));
    g = copied(s, "dheads", g);
    d = mfu_emit_cast(s, product(s, n, "dscores", windows, taps, width, g, v), mfu_view_type(s, softmax));
    g = product(s, n, "dvalues", windows, width, taps, shares, g);
    mfu_grad_add(s, n, VALUES,
                 copied(s, "dturn", turned(s, "dunfold", MFU_REDUCTION, rows, columns, copied(s, "dmerge", g))));
    g = mfu_tensor_like(s, d);
    MFU_EMIT(s, MFU_VIEWS(d, softmax), MFU_VIEWS(g), .suffix = "dsoftmax", .kind = MFU_REDUCTION,
             .flops = 4 * mfu_view_elements(s, d));
    g = mfu_emit_map(s, "dscale", 1, mfu_emit_cast(s, g, s->numerics.compute), MFU_NO_VIEW);
    mfu_grad_add(s, n, SCORES, copied(s, "dlaid", g));
}

const struct mfu_primitive mfu_primitive_outlook = {
    .name = "outlook",
    .summary = "attention within the window around each position, whose scores are given",
    .attributes = {[HEADS] = {"heads", "n_head", NULL, "of the scores and the values", 1},
                   [TAPS] = {"taps", NULL, NULL, "positions of a window", 1}},
    .inputs = {2, 2},
    .traits = MFU_READS_BESIDE,
    .forward = forward,
    .backward = backward,
};
