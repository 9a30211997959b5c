/*
 * cutoff - what an element has over the mean of its row and so many standard deviations, 0 where it has less: the largest share of
 * a row by a normal distribution (Gemma 3n; transformers 5.23, modeling_gemma3n.py, _gaussian_topk()).
 *
 * Operation by operation: two numbers of each row, subtracted, ReLU.  Backward needs the input for the deviation, and the result.
 * Tensor ranks take the mean and the deviation of the columns that they have, as transformers' plan makes them (tp_plan: colwise).
 */
#include <stddef.h>

#include "graph/builder.h"

enum { SAVED_X, SAVED_OUT, SAVED_DEVIATION };

static int of_rows(struct mfu_builder *s, const char *suffix, int x, double launches)
{
    int out = mfu_tensor_new(s, mfu_view_rows(s, x), 1, mfu_view_type(s, x), MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_REDUCTION, .traffic = MFU_C_DRAM_NORM,
             .fusion = MFU_ROW, .flops = 2 * mfu_view_elements(s, x), .launches = launches);
    return out;
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_save(n, mfu_node_input(s, n, 0)), mean = of_rows(s, "mean", x, 1),
        deviation = of_rows(s, "std", x, 3), over;

    mfu_tensor_extend(s, mean);
    over = mfu_emit_broadcast(s, "sub", mfu_view_type(s, x), 1, x, deviation);
    n->out = mfu_node_save(n, mfu_emit_map(s, "relu", 1, over, MFU_NO_VIEW));
    mfu_node_save(n, deviation);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[SAVED_X], g = mfu_emit_map(s, "drelu", 1, n->gradient, n->saved[SAVED_OUT]), sum, centred, spread;
    enum mfu_type type = mfu_view_type(s, x);

    mfu_grad_add(s, n, 0, g);
    sum = of_rows(s, "dsub", mfu_emit_map(s, "neg", 1, g, MFU_NO_VIEW), 4);
    centred = mfu_emit_broadcast(s, "dstd", type, 1, x, of_rows(s, "mean", x, 2));
    spread = mfu_emit_broadcast(s, "dstd", type, 1, centred, n->saved[SAVED_DEVIATION]);
    mfu_grad_add(s, n, 0, spread);
    mfu_grad_add(s, n, 0, mfu_emit_broadcast(s, "dmean", type, 1, x, sum));
}

const struct mfu_primitive mfu_primitive_cutoff = {
    .name = "cutoff",
    .summary = "what is over a row's mean and so many deviations",
    .inputs = {1, 1},
    .traits = MFU_ELEMENTWISE,
    .forward = forward,
    .backward = backward,
};
