/*
 * adaptive_embedding - rows of tables in clusters, narrower for rarer classes, each multiplied to the model's width
 * (Baevski & Auli 2019).
 *
 * Rows of a cluster are taken out by their indices, multiplied and put where they belong; in backward each of these is a pass over
 * all rows.  Clusters as wide as the model are one table, and nothing of that.
 */
#include <stddef.h>

#include "graph/clusters.h"

enum { ROWS, WEIGHT = MFU_CLUSTERS };

static struct mfu_weights params(const struct mfu_operation *op)
{
    return (struct mfu_weights){.weight = mfu_cluster_elements(op), .active = mfu_cluster_elements(op)};
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    double all = s->config->tokens, width = n->op->attribute[MFU_CLUSTER_WIDTH];
    int weight;

    if (!mfu_clusters_apart(n->op)) {
        n->out = mfu_emit_gather(s, all, width, s->numerics.weight);
        return;
    }
    n->out = mfu_cluster_emit(s, "zeros", false, s->numerics.weight, all, width, 1, 1, 0, NULL);
    weight = mfu_node_weight(s, n, 0);
    for (int i = 0; i < MFU_CLUSTERS; i++) {
        double rows = mfu_cluster_rows(n->op, i, all), narrow = mfu_cluster_width(n->op, i);
        int y = mfu_tensor_new(s, rows, width, s->numerics.compute, MFU_PART_ACTIVATIONS), few;

        mfu_cluster_indices(s, all);
        n->saved[ROWS + i] = few = mfu_autocast(s, mfu_emit_gather(s, rows, narrow, s->numerics.weight));
        mfu_emit_matmul(s, "project", s->numerics.linear_math, rows, width, narrow, 1, few, weight, y);
        y = mfu_emit_cast(s, y, s->numerics.weight);
        mfu_emit_copy(s, "put", 1, 1, &y, mfu_view_slice(s, n->out, rows, width));
    }
    n->saved[WEIGHT] = weight;
    n->n_saved = WEIGHT + 1;
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    double all = mfu_view_rows(s, n->gradient), width = n->op->attribute[MFU_CLUSTER_WIDTH];
    int g = n->gradient, whole;

    if (!mfu_trains(s, n, 0))
        return;
    whole = mfu_tensor_new(s, 1, mfu_cluster_elements(n->op), s->numerics.weight, MFU_PART_GRADIENTS);
    if (!mfu_clusters_apart(n->op))
        mfu_emit_scatter(s, all, g, whole);
    for (int i = MFU_CLUSTERS - 1; i >= 0 && mfu_clusters_apart(n->op); i--) {
        double rows = mfu_cluster_rows(n->op, i, all), narrow = mfu_cluster_width(n->op, i);
        int d = mfu_emit_cast(s, mfu_emit_rows(s, "take", rows, g, MFU_NO_VIEW), s->numerics.compute), part;

        if (i > 0) /* what was there before: a copy with zeros in their places */
            g = mfu_cluster_emit(s, "clear", false, mfu_view_type(s, g), all, width, 2, 1, 1, &g);
        part = mfu_tensor_new(s, width, narrow, s->numerics.compute, MFU_PART_GRADIENTS);
        mfu_emit_weight_gradient(s, "wgrad", s->numerics.linear_math, width, narrow, rows, 1, d, n->saved[ROWS + i],
                                 part);
        mfu_cluster_gradient(s, part, whole);
        part = mfu_tensor_new(s, rows, narrow, s->numerics.compute, MFU_PART_ACTIVATIONS);
        mfu_emit_matmul(s, "dgrad", s->numerics.linear_math, rows, narrow, width, 1, d, n->saved[WEIGHT], part);
        mfu_emit_scatter(s, rows, mfu_emit_cast(s, part, s->numerics.weight),
                         mfu_view_slice(s, whole, mfu_cluster_classes(n->op, i), narrow));
    }
    mfu_param_grad_add(s, n, 0, whole);
}

const struct mfu_primitive mfu_primitive_adaptive_embedding = {
    .name = "adaptive_embedding",
    .summary = "rows of tables in clusters, narrower for rarer classes",
    .attributes = {MFU_CLUSTER_ATTRIBUTES},
    .traits = MFU_LOOKS_UP,
    .width = MFU_WIDTH_OF(MFU_CLUSTER_WIDTH),
    .params = params,
    .forward = forward,
    .backward = backward,
};
