/*
 * scatter - rows of the second input in place of some of the first's: the patches of an image where a
 * sequence has placeholders for them.
 *
 * A mask says where, of a byte per token; masked_scatter() takes the sums of the mask so far, of all elements, in
 * int64 (aten/src/ATen/native/cuda/IndexKernel.cpp).  Backward fills zeros there, and takes the rows out.
 */
#include <math.h>
#include <stddef.h>

#include "graph/builder.h"

enum { INTO, ROWS };
enum { SAVED_MASK };

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int into = mfu_node_input(s, n, INTO), rows = mfu_node_input(s, n, ROWS);
    double tokens = mfu_view_rows(s, rows) / s->config->batch;
    int mask = mfu_tensor_new(s, mfu_view_rows(s, into), 1, MFU_U8, MFU_PART_ACTIVATIONS);

    if (mfu_compare(s, tokens, s->config->seq) > 0 || tokens < 1 || tokens != floor(tokens))
        s->image_tokens = tokens;
    rows = mfu_emit_rows(s, "cat", mfu_view_rows(s, rows), rows, MFU_NO_VIEW);
    rows = mfu_emit_cast(s, rows, mfu_view_type(s, into));
    MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(mask), .suffix = "mask", .kind = MFU_POINTWISE, .fusion = MFU_MAP);
    mfu_node_save(n, mask);
    n->out = mfu_emit_rows(s, "", mfu_view_rows(s, into), into, rows);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int g = n->gradient, mask = n->saved[SAVED_MASK], rows = mfu_node_input(s, n, ROWS), d;

    if (mfu_wants_gradient(s, n, INTO))
        mfu_grad_add(s, n, INTO, mfu_emit_rows(s, "fill", mfu_view_rows(s, g), g, mask));
    if (!mfu_wants_gradient(s, n, ROWS))
        return;
    d = mfu_emit_rows(s, "gather", mfu_view_rows(s, rows), g, mask);
    d = mfu_emit_cast(s, d, mfu_view_type(s, rows));
    mfu_grad_add(s, n, ROWS, d);
}

const struct mfu_primitive mfu_primitive_scatter = {
    .name = "scatter",
    .summary = "rows of one input in place of some of another's (patches of an image in a text)",
    .inputs = {2, 2},
    .width = MFU_WIDTH_OF_INPUT(INTO),
    .forward = forward,
    .backward = backward,
};
