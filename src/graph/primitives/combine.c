/*
 * combine - brings the rows of the experts back to their tokens: the weighted
 * sum of top_k rows (mixture of experts).
 */
#include <stddef.h>

#include "graph/builder.h"

enum { TOP_K };

static double shape(const struct mfu_operation *op)
{
    return op->in_width[0];
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int x = mfu_node_save(s, n, mfu_node_input(s, n, 0));
    double rows = mfu_view_rows(s, x) / n->op->attribute[TOP_K];

    n->out = mfu_tensor_new(s, rows, mfu_view_columns(s, x), mfu_view_type(s, x), MFU_PART_ACTIVATIONS);
    mfu_emit(s,
             &(struct mfu_emission){.suffix = "",
                                    .kind = MFU_COPY,
                                    .traffic = MFU_C_DRAM_EMBEDDING,
                                    .fusion = MFU_ALONE,
                                    .launches = 2,
                                    .flops = 2 * mfu_view_rows(s, x) * mfu_view_columns(s, x)},
             1, &x, 1, &n->out);
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int x = n->saved[0], in[] = {n->gradient, x};
    int dx = mfu_tensor_new(s, mfu_view_rows(s, x), mfu_view_columns(s, x), mfu_view_type(s, x), MFU_PART_ACTIVATIONS);

    mfu_emit(s,
             &(struct mfu_emission){.suffix = "grad",
                                    .kind = MFU_COPY,
                                    .traffic = MFU_C_DRAM_EMBEDDING,
                                    .fusion = MFU_ALONE,
                                    .launches = 2,
                                    .flops = 4 * mfu_view_rows(s, x) * mfu_view_columns(s, x)},
             2, in, 1, &dx);
    mfu_grad_add(s, n, 0, dx);
}

const struct mfu_primitive mfu_primitive_combine = {
    .name = "combine",
    .summary = "weighted sum of the experts' rows (MoE)",
    .attributes = {[TOP_K] = {"top_k", "top_k", NULL, "rows that become one"}},
    .least_inputs = 1,
    .most_inputs = 1,
    .traits = MFU_COMBINES,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
