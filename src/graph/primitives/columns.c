/*
 * columns - rows put together from columns of others, or a part of one: the heads' halves of multi-head
 * latent attention, q, k and v of one product.
 *
 * With `fold` so many rows that follow each other become one, which is a look, too.
 *
 * A part is a look at the tensor, and its gradient a part of that tensor's (of code that slices, rather than splits,
 * a tensor of zeros with the part's in it); what is joined, repeated over
 * heads or padded is copied, and its gradient is copied (summed over heads) apart again.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { WIDTH, FOLD, SLICED, LOOKS };

static double shape(const struct mfu_operation *op)
{
    double width = op->attribute[WIDTH];

    for (int i = 0; i < MFU_INPUTS && !(op->attribute[WIDTH] > 0); i++)
        width += op->in_width[i];
    return width;
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    double width = shape(n->op);
    int x = mfu_node_input(s, n, 0), in[MFU_INPUTS];

    if (n->op->attribute[FOLD] > 1) {
        n->out = mfu_view_slice(s, x, mfu_view_rows(s, x) / n->op->attribute[FOLD], width);
        return;
    }
    if (n->source->n_in == 1 && width <= mfu_view_columns(s, x)) {
        n->out = mfu_view_slice(s, x, mfu_view_rows(s, x), width);
        return;
    }
    for (int i = 0; i < n->source->n_in; i++)
        in[i] = mfu_node_input(s, n, i);
    n->out = mfu_emit_laid(s, "cat", 1, mfu_view_rows(s, x), width, n->source->n_in, in);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int dx, g = n->gradient;
    bool sliced = n->op->attribute[SLICED] > 0;

    if (n->op->attribute[FOLD] > 1) {
        mfu_grad_add(s, n, 0, mfu_view_slice(s, g, mfu_view_rows(s, g) * n->op->attribute[FOLD], n->op->in_width[0]));
        return;
    }
    for (int i = 0; i < n->source->n_in; i++) {
        double columns = n->op->in_width[i];

        if (!mfu_wants_gradient(s, n, i))
            continue;
        if (!sliced && n->source->n_in == 1 && columns >= n->op->out_width
            && s->nodes[n->in[0]].gradient != MFU_NO_VIEW) {
            dx = mfu_view_slice(s, s->nodes[n->in[0]].gradient, mfu_view_rows(s, g), columns);
            mfu_emit_copy(s, "grad", 1, 1, &g, dx); /* beside the other parts' */
            s->nodes[n->in[0]].gradient = dx;
            continue;
        }
        if (i < n->op->attribute[LOOKS]) {
            mfu_grad_add(s, n, i, mfu_view_slice(s, g, mfu_view_rows(s, g), columns));
            continue;
        }
        mfu_grad_add(s, n, i, /* zeros before it */
                     mfu_emit_laid(s, "grad", 1 + sliced, mfu_view_rows(s, g), columns, 1, &g));
    }
}

const struct mfu_primitive mfu_primitive_columns = {
    .name = "columns",
    .summary = "a part of a row, or several parts joined",
    .attributes = {[WIDTH] = {"width", NULL, NULL, "elements of an output row; 0: of all inputs"},
                   [FOLD] = {"fold", "1", NULL, "rows that become one", 1},
                   [SLICED] = {"sliced", "0", NULL, "whether the part is a slice, not of a split"},
                   [LOOKS] = {"looks", "0", NULL,
                              "parts, from the first on, whose gradients are looks at that of the whole"}},
    .inputs = {1, MFU_INPUTS},
    .traits = MFU_TAKES_COLUMNS,
    .split_columns = 1u << WIDTH,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
