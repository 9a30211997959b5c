/*
 * held - weights that lie in memory and that no step uses: the decoder of an autoencoder which only encodes.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { ELEMENTS };

static struct mfu_weights params(const struct mfu_operation *op)
{
    return (struct mfu_weights){.weight = op->attribute[ELEMENTS]};
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    n->out = mfu_node_input(s, n, 0);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    mfu_grad_add(s, n, 0, n->gradient);
}

const struct mfu_primitive mfu_primitive_held = {
    .name = "held",
    .summary = "weights that lie in memory and are not used",
    .attributes = {[ELEMENTS] = {"elements", NULL, NULL, "how many"}},
    .inputs = {1, 1},
    .params = params,
    .forward = forward,
    .backward = backward,
};
