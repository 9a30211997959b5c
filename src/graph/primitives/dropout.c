/*
 * dropout - zeroes elements at random and keeps a mask of one byte each.
 *
 * With probability 0 the operation disappears: no kernel, no mask.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { P };

static double shape(const struct mfu_operation *op)
{
    return op->in_width[0];
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int x = mfu_node_input(s, n, 0), out[2];
    double rows = mfu_view_rows(s, x), columns = mfu_view_columns(s, x);

    n->out = x;
    if (n->op->attribute[P] <= 0)
        return;
    out[0] = n->out = mfu_tensor_new(s, rows, columns, mfu_view_type(s, x), MFU_PART_ACTIVATIONS);
    out[1] = mfu_node_save(s, n, mfu_tensor_new(s, rows, columns, MFU_U8, MFU_PART_ACTIVATIONS));
    mfu_emit(s,
             &(struct mfu_emission){.suffix = "",
                                    .kind = MFU_POINTWISE,
                                    .traffic = MFU_C_DRAM_POINTWISE,
                                    .fusion = MFU_MAP,
                                    .random = true,
                                    .flops = 3 * rows * columns},
             1, &x, 2, out);
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);

    mfu_grad_add(s, n, 0,
                 n->n_saved == 0 ? n->gradient
                                 : mfu_emit_pointwise(s, "grad", mfu_view_type(s, n->gradient), 2, n->gradient,
                                                      n->saved[0], MFU_NO_VIEW));
}

const struct mfu_primitive mfu_primitive_dropout = {
    .name = "dropout",
    .summary = "random zeroing of elements",
    .attributes = {[P] = {"p", "dropout", NULL, "probability of zeroing an element"}},
    .least_inputs = 1,
    .most_inputs = 1,
    .traits = MFU_ELEMENTWISE,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
