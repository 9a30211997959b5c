/*
 * loaded - rows as the loader brings them, which no weight has met: a prompt's tokens behind their encoder.  They need no gradient.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { WIDTH, LENGTH };

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    double rows = s->config->batch * n->op->attribute[LENGTH], width = n->op->attribute[WIDTH];

    n->out = mfu_tensor_loaded(s, rows, width, false);
}

const struct mfu_primitive mfu_primitive_loaded = {
    .name = "loaded",
    .summary = "rows as the loader brings them",
    .attributes = {[WIDTH] = {"width", NULL, NULL, "elements of a row"},
                   [LENGTH] = {"length", NULL, NULL, "rows of a sample", 1}},
    .width = MFU_WIDTH_OF(WIDTH),
    .forward = forward,
};
