/*
 * rotary - rotates pairs of elements of each head by the token's position.
 *
 * Linear in its input, so that backward needs only the small tables of sines
 * and cosines.  Eager PyTorch, as Hugging Face writes it, runs
 * q*cos + cat(-q2, q1)*sin as five kernels with temporaries; compiled or
 * hand-written code runs it as one.
 */
#include <stddef.h>

#include "graph/step.h"

static double shape(const struct mfu_operation *op)
{
    return op->in_width[0];
}

static int rotate(struct mfu_step *s, int x, bool backward)
{
    enum mfu_type type = mfu_type_of(s, x);
    double rows = mfu_rows(s, x), columns = mfu_columns(s, x);
    int a, half, turned, b;

    if (s->runtime->whole_norms)
        return mfu_map(s, backward ? "grad" : "", type, 3, x, MFU_NO_VIEW, MFU_NO_VIEW);
    if (!backward) {
        a = mfu_map_broadcast(s, "cos", type, 1, x, MFU_NO_VIEW);
        half = mfu_map_broadcast(s, "neg", type, 1, mfu_part_of(s, x, rows, columns / 2), MFU_NO_VIEW);
        turned = mfu_map_broadcast(s, "cat", type, 0, x, half);
        b = mfu_map_broadcast(s, "sin", type, 1, turned, MFU_NO_VIEW);
        return mfu_map(s, "add", type, 1, a, b, MFU_NO_VIEW);
    }
    b = mfu_map_broadcast(s, "dsin", type, 1, x, MFU_NO_VIEW);
    half = mfu_map_broadcast(s, "neg", type, 1, mfu_part_of(s, b, rows, columns / 2), MFU_NO_VIEW);
    turned = mfu_map_broadcast(s, "slice", type, 1, b, half);       /* zeros, then half */
    b = mfu_map_broadcast(s, "slice", type, 1, b, MFU_NO_VIEW);
    b = mfu_map(s, "add", type, 1, b, turned, MFU_NO_VIEW);
    a = mfu_map_broadcast(s, "dcos", type, 1, x, MFU_NO_VIEW);
    return mfu_map(s, "add", type, 1, a, b, MFU_NO_VIEW);
}

static void forward(struct mfu_step *s, int index)
{
    struct mfu_step_node *n = mfu_node_at(s, index);

    n->out = rotate(s, mfu_input(s, n, 0), false);
}

static void backward(struct mfu_step *s, int index)
{
    struct mfu_step_node *n = mfu_node_at(s, index);

    mfu_give(s, n, 0, rotate(s, n->gradient, true));
}

const struct mfu_primitive mfu_primitive_rotary = {
    .name = "rotary",
    .summary = "rotary position embedding of queries or keys",
    .least_inputs = 1, .most_inputs = 1,
    .shape = shape, .forward = forward, .backward = backward,
};
