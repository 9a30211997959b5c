/*
 * add_rows - rows of the second input added to some of the first's: what a layer of a tower says of an image, behind a layer of the
 * language model (Qwen3-VL's DeepStack, transformers 5.23, _deepstack_process()).
 *
 * The first input is copied, its rows are taken out, and their sums put back; nonzero() makes a mask two columns of indices, once
 * for each of both.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { INTO, ROWS };
enum { SAVED_FROM, SAVED_TO };

static int indices(struct mfu_builder *s, struct mfu_node *n, double rows)
{
    int out = mfu_tensor_new(s, rows, 2, MFU_I64, MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(out), .suffix = "nonzero", .kind = MFU_REDUCTION,
             .traffic = MFU_C_DRAM_REDUCTION, .launches = 3);
    return mfu_node_save(n, out);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int into = mfu_node_input(s, n, INTO), rows = mfu_emit_cast(s, mfu_node_input(s, n, ROWS), mfu_view_type(s, into));
    int whole = mfu_emit_rows(s, "clone", mfu_view_rows(s, into), into, MFU_NO_VIEW), taken, sum;
    double few = mfu_view_rows(s, rows);

    taken = mfu_emit_rows(s, "take", few, into, indices(s, n, few));
    sum = mfu_emit_pointwise(s, "add", mfu_view_type(s, into), 1, taken, rows, MFU_NO_VIEW);
    indices(s, n, few);
    MFU_EMIT(s, MFU_VIEWS(sum), MFU_VIEWS(whole), .suffix = "put", .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR);
    n->out = whole;
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int g = n->gradient, rows = mfu_node_input(s, n, ROWS);
    double few = mfu_view_rows(s, rows);
    int d = mfu_emit_rows(s, "dtake", few, g, n->saved[SAVED_TO]);

    if (mfu_wants_gradient(s, n, INTO)) {
        mfu_grad_add(s, n, INTO, mfu_emit_rows(s, "fill", mfu_view_rows(s, g), g, MFU_NO_VIEW));
        mfu_grad_add(s, n, INTO, mfu_emit_rows(s, "dput", mfu_view_rows(s, g), d, n->saved[SAVED_FROM]));
    }
    if (mfu_wants_gradient(s, n, ROWS))
        mfu_grad_add(s, n, ROWS, mfu_emit_cast(s, d, mfu_view_type(s, rows)));
}

const struct mfu_primitive mfu_primitive_add_rows = {
    .name = "add_rows",
    .summary = "rows of the second input added to some of the first's",
    .inputs = {2, 2},
    .width = MFU_WIDTH_OF_INPUT(INTO),
    .forward = forward,
    .backward = backward,
};
