/*
 * mask - what keeps the images of a batch apart whose tokens are one long sequence (Pixtral): a number for each pair.
 *
 * It is made once, in the type of what attends, and all layers read it; autocast makes a copy for each.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { LENGTH };

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    double tokens = s->config->batch * n->op->attribute[LENGTH];

    n->out = mfu_tensor_new(s, tokens, tokens, s->numerics.residual, MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(n->out), .kind = MFU_POINTWISE,
             .launches = 1 + s->config->batch /* whole, then each image's part */);
}

const struct mfu_primitive mfu_primitive_mask = {
    .name = "mask",
    .summary = "a mask that keeps the images of a batch apart",
    .attributes = {[LENGTH] = {"length", NULL, NULL, "tokens of an image", .some = true}},
    .width = MFU_WIDTH_OF(LENGTH),
    .forward = forward,
};
