/*
 * dropout - zeroes elements at random and keeps a mask of one byte each.
 *
 * With probability 0 the operation disappears: no kernel, no mask.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { P };

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int mask;

    n->out = mfu_node_input(s, n, 0);
    if (n->op->attribute[P] <= 0)
        return;
    n->out = mfu_emit_dropout(s, "", n->out, &mask);
    mfu_node_save(n, mask);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    mfu_grad_add(s, n, 0,
                 n->n_saved == 0 ? n->gradient
                                 : mfu_emit_pointwise(s, "grad", mfu_view_type(s, n->gradient), 2, n->gradient,
                                                      n->saved[0], MFU_NO_VIEW));
}

const struct mfu_primitive mfu_primitive_dropout = {
    .name = "dropout",
    .summary = "random zeroing of elements",
    .attributes = {[P] = {"p", "dropout", NULL, "probability of zeroing an element"}},
    .inputs = {1, 1},
    .traits = MFU_ELEMENTWISE,
    .forward = forward,
    .backward = backward,
};
