/*
 * select - a few rows of each sequence: the first token for a pooler, the
 * masked ones for a language-model head.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { ROWS, COPIED };

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0);
    double few = n->op->attribute[ROWS], all = mfu_view_rows(s, x) / s->config->batch,
           rows = s->config->batch * (mfu_compare(s, few, all) < 0 ? few : all);

    n->out = mfu_view_slice(s, x, rows, mfu_view_columns(s, x));
    if (n->op->attribute[COPIED] > 0
        && mfu_compare(s, s->config->batch, 1) > 0) /* rows of one sequence lie together as they are */
        n->out = mfu_emit_broadcast(s, "copy", mfu_view_type(s, x), 0, n->out, MFU_NO_VIEW);
    else if (s->runtime->gradients_at_end) /* a graph keeps the rows themselves, not what they are of */
        n->out = mfu_emit_pointwise(s, "", mfu_view_type(s, x), 0, n->out, MFU_NO_VIEW, MFU_NO_VIEW);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0);
    int full = mfu_tensor_like(s, x);

    MFU_EMIT(s, MFU_VIEWS(n->gradient), MFU_VIEWS(full), .suffix = "grad", .kind = MFU_COPY, .fusion = MFU_MAP,
             .launches = 2 /* zeros, then the rows */);
    mfu_grad_add(s, n, 0, full);
}

const struct mfu_primitive mfu_primitive_select = {
    .name = "select",
    .summary = "a few rows of each sequence",
    .attributes = {[ROWS] = {"rows", "1", NULL, "rows per sequence"},
                   [COPIED] = {"copied", "0", NULL, "whether those of several sequences are copied, for a product"}},
    .inputs = {1, 1},
    .forward = forward,
    .backward = backward,
};
