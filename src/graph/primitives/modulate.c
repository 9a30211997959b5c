/*
 * modulate - a row of factors for each sequence, over all of its tokens: adaptive
 * layer norm, x (1 + scale) + shift, its gate, x gate (DiT), or a sum (the time of a U-Net).
 *
 * The second input has one row per sequence, of which this reads two pieces, or
 * one.  Backward sums their gradients over the tokens.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { KIND };
enum { SHIFT, GATE, SUM };
static const char *const kinds[] = {"shift", "gate", "sum", NULL};

/* So many of the columns; one number per row (an expert's gate) is read whole. */
static int piece(struct mfu_builder *s, int c, double columns)
{
    return mfu_view_columns(s, c) <= columns ? c : mfu_view_slice(s, c, mfu_view_rows(s, c), columns);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    if (n->op->attribute[KIND] == SUM) {
        int x = mfu_node_input(s, n, 0);

        n->out = mfu_emit_broadcast(s, "", mfu_view_type(s, x), 1, x, mfu_node_input(s, n, 1));
        return;
    }
    int x = mfu_node_save(n, mfu_node_input(s, n, 0)), c = mfu_node_save(n, mfu_node_input(s, n, 1));
    bool gate = n->op->attribute[KIND] == GATE;
    double pieces = gate ? 1 : 2;

    c = piece(s, c, pieces * mfu_view_columns(s, x));
    if (!gate) { /* x * (1 + scale), then + shift: two kernels */
        x = mfu_emit_broadcast(s, "scale", mfu_view_type(s, x), 1, x, c);
        n->out = mfu_emit_broadcast(s, "shift", mfu_view_type(s, x), 1, x, c);
    } else
        n->out = mfu_emit_broadcast(s, "", mfu_view_type(s, x), 1, x, c);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    if (n->op->attribute[KIND] == SUM) {
        mfu_grad_add(s, n, 1, n->gradient); /* summed over the tokens: it was spread over them */
        mfu_grad_add(s, n, 0, n->gradient);
        return;
    }
    int x = n->saved[0], c = n->saved[1], g = n->gradient, dx = MFU_NO_VIEW, dc;
    bool gate = n->op->attribute[KIND] == GATE;
    double elements = mfu_view_elements(s, x);

    if (mfu_wants_gradient(s, n, 0))
        dx = mfu_emit_broadcast(s, "grad", mfu_view_type(s, x), 1, g, piece(s, c, mfu_view_columns(s, x)));
    if (mfu_wants_gradient(s, n, 1)) {
        dc = mfu_tensor_like(s, c);
        MFU_EMIT(s, MFU_VIEWS(g, x), MFU_VIEWS(dc),
                 /* product, sums over the tokens, into its place */ .suffix = "factor_grad", .kind = MFU_REDUCTION,
                 .traffic = MFU_C_DRAM_REDUCTION, .fusion = MFU_COLUMN, .flops = (gate ? 2 : 3) * elements,
                 .temporary_bytes = elements * mfu_type_bytes[mfu_view_type(s, x)], .launches = gate ? 2 : 4);
        mfu_tensor_extend(s, dx);
        mfu_grad_add(s, n, 1, dc);
    }
    mfu_grad_add(s, n, 0, dx);
}

const struct mfu_primitive mfu_primitive_modulate = {
    .name = "modulate",
    .summary = "factors of a sequence over all its tokens (adaptive layer norm, DiT)",
    .attributes = {[KIND] = {"kind", "shift", kinds, "x (1 + scale) + shift, x gate, or a sum"}},
    .inputs = {2, 2},
    .traits = MFU_ELEMENTWISE,
    .forward = forward,
    .backward = backward,
};
