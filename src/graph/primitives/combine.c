/*
 * combine - brings the rows of the experts back to their tokens: the weighted
 * sum of top_k rows (mixture of experts).
 *
 * The gradient of a weight needs its row, unless the runtime weighs before the experts' last linear.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { TOP_K, WEIGHTED };

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0);
    double rows = mfu_view_rows(s, x) / mfu_routed_rows(s, n->op->attribute[TOP_K]);

    if (!s->runtime->weighs_early && n->op->attribute[WEIGHTED] > 0)
        mfu_node_save(n, x);
    n->out = mfu_tensor_new(s, rows, mfu_view_columns(s, x), mfu_view_type(s, x), MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(n->out), .kind = MFU_COPY, .traffic = MFU_C_DRAM_EMBEDDING, .launches = 2,
             .flops = 2 * mfu_view_elements(s, x));
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int g = n->gradient, in[] = {g, n->n_saved ? n->saved[0] : MFU_NO_VIEW};
    double rows = mfu_view_rows(s, g) * mfu_routed_rows(s, n->op->attribute[TOP_K]), columns = mfu_view_columns(s, g);
    int dx = mfu_tensor_new(s, rows, columns, mfu_view_type(s, g), MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_LIST(n->n_saved ? 2 : 1, in), MFU_VIEWS(dx), .suffix = "grad", .kind = MFU_COPY,
             .traffic = MFU_C_DRAM_EMBEDDING, .launches = 2, .flops = (n->n_saved ? 4 : 0) * rows * columns);
    mfu_grad_add(s, n, 0, dx);
}

const struct mfu_primitive mfu_primitive_combine = {
    .name = "combine",
    .summary = "weighted sum of the experts' rows (MoE)",
    .attributes = {[TOP_K] = {"top_k", "top_k", NULL, "rows that become one", 1},
                   [WEIGHTED] = {"weighted", "1", NULL, "whether they are weighed here, not before the experts"}},
    .inputs = {1, 1},
    .traits = MFU_COMBINES,
    .forward = forward,
    .backward = backward,
};
