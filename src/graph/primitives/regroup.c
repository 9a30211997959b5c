/*
 * regroup - the same elements in rows of another width, which takes a copy: neighbouring positions side by side (the merging of
 * Swin's patches), or channels as rows of positions (a mixer's transpose).
 */
#include <stddef.h>

#include "graph/builder.h"

enum { WIDTH };

static int copy(struct mfu_builder *s, const char *suffix, int x, double columns)
{
    double elements = mfu_view_elements(s, x);
    int out = mfu_tensor_new(s, elements / columns, columns, mfu_view_type(s, x), MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR);
    return out;
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    n->out = copy(s, "", mfu_node_input(s, n, 0), n->op->attribute[WIDTH]);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    mfu_grad_add(s, n, 0, copy(s, "grad", n->gradient, n->op->in_width[0]));
}

const struct mfu_primitive mfu_primitive_regroup = {
    .name = "regroup",
    .summary = "the same elements in rows of another width",
    .attributes = {[WIDTH] = {"width", NULL, NULL, "elements of an output row"}},
    .inputs = {1, 1},
    .width = MFU_WIDTH_OF(WIDTH),
    .forward = forward,
    .backward = backward,
};
