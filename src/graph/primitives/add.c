/*
 * add - a + b: a residual, or the sum of embeddings.
 *
 * The sum has the wider of the two types, or that of the first, in whose place it is written; nothing is saved, and the
 * gradient is the same memory for both, but for a cast.  Where a row is either the one or the other (torch.where), each has a gradient
 * of its own, with zeros in the other's rows.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { INTO, EITHER };

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int a = mfu_node_input(s, n, 0), b = mfu_node_input(s, n, 1);
    bool wide = mfu_view_type(s, a) == MFU_F32 || (mfu_view_type(s, b) == MFU_F32 && !(n->op->attribute[INTO] > 0));

    n->out = mfu_emit_pointwise(s, "", wide ? MFU_F32 : MFU_F16, 1, a, b, MFU_NO_VIEW);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int g = n->gradient;

    for (int i = 0; i < 2; i++)
        if (mfu_wants_gradient(s, n, i))
            mfu_grad_add(s, n, i, n->op->attribute[EITHER] > 0 ? mfu_emit_map(s, "where", 1, g, MFU_NO_VIEW) : g);
}

const struct mfu_primitive mfu_primitive_add = {
    .name = "add",
    .summary = "sum of two tensors (residual connection)",
    .attributes = {[INTO] = {"into", "0", NULL, "whether it has the type of the first (x += y)"},
                   [EITHER] = {"either", "0", NULL, "whether each row is that of the one or of the other"}},
    .inputs = {2, 2},
    .traits = MFU_ELEMENTWISE,
    .forward = forward,
    .backward = backward,
};
