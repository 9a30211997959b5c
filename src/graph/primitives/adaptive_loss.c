/*
 * adaptive_loss - cross-entropy over classes in clusters: frequent ones and a class for each cluster of rare ones by one product of
 * all rows, those of a cluster by one of the few rows whose target is in it (Grave et al. 2017).
 *
 * Rows are taken out by their indices, whose gradients are as large as what they are taken of.  Clusters as wide as the model are
 * slices of one table, whose gradients are as large as the table; narrower ones have tables and projections of their own, of which
 * all but the first are the embedding's.
 */
#include <stddef.h>

#include "graph/clusters.h"

enum { WEIGHT, JOINED, TAKEN, LOGS, INPUTS = LOGS + MFU_CLUSTERS, NARROW = INPUTS + MFU_CLUSTERS };

/* The classes of the clusters, their biases, and of apart ones the first projection are the bias. */
static struct mfu_weights params(const struct mfu_operation *op)
{
    double width = op->attribute[MFU_CLUSTER_WIDTH], rare = (MFU_CLUSTERS - 1) * (width + 1);
    double bias = rare + (mfu_clusters_apart(op) ? width * width : 0);

    for (int i = 0; i < MFU_CLUSTERS; i++)
        bias += mfu_cluster_classes(op, i);
    return (struct mfu_weights){
        .weight = mfu_cluster_elements(op), .bias = bias, .active = mfu_cluster_classes(op, 0) * width + bias};
}

/* Classes that the i-th product tells apart. */
static double told(const struct mfu_node *n, int i)
{
    return mfu_cluster_classes(n->op, i) + (i ? 0 : MFU_CLUSTERS - 1);
}

static int gradient_product(struct mfu_builder *s, const char *suffix, double m, double columns, double k, int a, int b)
{
    return mfu_emit_weight_gradient(s, suffix, s->numerics.math, m, columns, k, 1, a, b,
                                    mfu_tensor_new(s, m, columns, s->numerics.compute, MFU_PART_GRADIENTS));
}

static int product(struct mfu_builder *s, const char *suffix, double m, double columns, double k, int a, int b,
                   enum mfu_part part)
{
    return mfu_emit_matmul(s, suffix, s->numerics.math, m, columns, k, 1, a, b,
                           mfu_tensor_new(s, m, columns, s->numerics.compute, part));
}

/* log_softmax of the i-th product; autocast makes fp32 of what it reads. */
static void log_probabilities(struct mfu_builder *s, struct mfu_node *n, int i, int x)
{
    double rows = mfu_view_rows(s, x), classes = told(n, i), width = mfu_cluster_width(n->op, i);
    int logits, weight = n->saved[WEIGHT];

    n->saved[INPUTS + i] = x;
    if (mfu_clusters_apart(n->op))
        x = product(s, "project", rows, width, mfu_view_columns(s, x), x, weight, MFU_PART_LOGITS_LOSS);
    n->saved[NARROW + i] = x;
    logits = product(s, i ? "tail" : "", rows, classes, width, x, weight, MFU_PART_LOGITS_LOSS);
    if (mfu_clusters_apart(n->op))
        logits = mfu_cluster_emit(s, "bias", true, s->numerics.compute, rows, classes, 1, 1, 1, &logits);
    if (s->numerics.widens)
        logits = mfu_emit_cast(s, logits, MFU_F32);
    n->saved[LOGS + i] =
        mfu_cluster_emit(s, "log_softmax", true, mfu_view_type(s, logits), rows, classes, 1, 3, 1, &logits);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int given = mfu_node_input(s, n, 0), x = mfu_autocast(s, given);
    double all = mfu_view_rows(s, given), width = mfu_view_columns(s, given);

    n->out = mfu_tensor_new(s, all, 1, MFU_F32, MFU_PART_LOGITS_LOSS);
    n->saved[JOINED] = mfu_cluster_emit(s, "weight_cat", false, s->numerics.weight, told(n, 0), width, 1, 2, 0, NULL);
    n->saved[WEIGHT] = mfu_node_weight(s, n, 0);
    n->saved[JOINED] = s->numerics.widens ? MFU_NO_VIEW : n->saved[JOINED]; /* autocast's copy is kept */
    log_probabilities(s, n, 0, x);
    for (int i = 0; i < MFU_CLUSTERS; i++) {
        double rows = mfu_cluster_rows(n->op, i, all);
        enum mfu_type type = mfu_view_type(s, n->saved[LOGS]);
        int picked;

        mfu_cluster_indices(s, all);
        picked = mfu_cluster_emit(s, "take", true, type, rows, told(n, 0), 1, 2, 0, NULL);
        if (i > 0)
            log_probabilities(s, n, i, mfu_autocast(s, mfu_emit_rows(s, "take_rows", rows, given, MFU_NO_VIEW)));
        mfu_tensor_extend(s, n->saved[LOGS]);
        mfu_cluster_emit(s, "pick", true, type, rows, 1, i > 0 ? 5 : 2, 1, 0, NULL);
        mfu_tensor_extend(s, picked);
        n->saved[TAKEN] = i > 0 ? n->saved[TAKEN] : picked; /* whose gradient asks for its shape */
    }
    n->n_saved = NARROW + MFU_CLUSTERS;
    mfu_tensor_retain(s, n->out);
}

/* The gradient of an index: zeros, a copy of them and the rows added there, all to what is there. */
static int put(struct mfu_builder *s, int sum, int few, double rows, bool loss)
{
    double columns = mfu_view_columns(s, few);
    int zeros = mfu_cluster_emit(s, "zeros", loss, mfu_view_type(s, few), rows, columns, 1, 1, 0, NULL);

    return mfu_grad_sum(
        s, sum, mfu_cluster_emit(s, "put", loss, mfu_view_type(s, few), rows, columns, 2, 2, 2, (int[]){zeros, few}));
}

/* The gradients of the i-th product, from that of its log_softmax: that of its input, those of its part of the weight and of the
 * projection before it. */
static int product_gradients(struct mfu_builder *s, const struct mfu_node *n, int i, int d, int part[2])
{
    int x = n->saved[INPUTS + i], narrow = n->saved[NARROW + i], weight = n->saved[WEIGHT], g;
    double rows = mfu_view_rows(s, x), width = mfu_cluster_width(n->op, i), model = mfu_view_columns(s, x);
    bool trains = mfu_trains(s, n, 0);

    g = mfu_emit_cast(s, d, s->numerics.compute);
    mfu_emit_columns_sum(s, "bias_grad", g, told(n, i), s->numerics.compute);
    if (trains)
        part[0] = gradient_product(s, "wgrad", told(n, i), width, rows, g, narrow);
    g = product(s, "dgrad", rows, width, told(n, i), g, weight, MFU_PART_ACTIVATIONS);
    if (!mfu_clusters_apart(n->op))
        return g;
    if (trains)
        part[1] = gradient_product(s, "project_wgrad", model, width, rows, x, g);
    return product(s, "project_dgrad", rows, model, width, g, weight, MFU_PART_ACTIVATIONS);
}

/* The weight's gradient: of slices, which were cut first and so come last, sums of zeros with one of them each; of clusters apart
 * their own. */
static int weight_gradient(struct mfu_builder *s, const struct mfu_node *n, int part[MFU_CLUSTERS][2])
{
    bool apart = mfu_clusters_apart(n->op);
    double classes = mfu_cluster_elements(n->op) / n->op->attribute[MFU_CLUSTER_WIDTH]; /* of a table that is cut */
    int dw = MFU_NO_VIEW, wide;

    if (apart)
        dw = mfu_tensor_new(s, 1, mfu_cluster_elements(n->op), s->numerics.weight, MFU_PART_GRADIENTS);
    for (int i = MFU_CLUSTERS - 1; i >= 0; i--)
        for (int k = 0; k < 1 + apart; k++) {
            if (apart) {
                mfu_cluster_gradient(s, part[i][k], dw);
                continue;
            }
            wide = mfu_emit_cast(s, part[i][k], s->numerics.weight);
            dw = mfu_grad_sum(s, dw,
                              mfu_cluster_emit(s, "slice_grad", false, s->numerics.weight, classes,
                                               mfu_view_columns(s, wide), 2, 1, 1, &wide));
        }
    return dw;
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int given = mfu_node_input(s, n, 0), dx = MFU_NO_VIEW, dhead = MFU_NO_VIEW, d;
    int part[MFU_CLUSTERS][2];
    double all = mfu_view_rows(s, given);
    enum mfu_type type = mfu_view_type(s, n->saved[LOGS]);

    for (int i = MFU_CLUSTERS - 1; i >= 0; i--) {
        double rows = mfu_cluster_rows(n->op, i, all);

        if (i > 0) {
            int in[] = {mfu_cluster_emit(s, "pick_grad", true, type, rows, told(n, i), 2, 1, 0, NULL),
                        n->saved[LOGS + i]};

            d = mfu_cluster_emit(s, "log_softmax_grad", true, type, rows, told(n, i), 1, 2, 2, in);
            d = mfu_emit_cast(s, product_gradients(s, n, i, d, part[i]), mfu_view_type(s, given));
            dx = put(s, dx, d, all, false);
        }
        d = mfu_cluster_emit(s, "pick_grad", true, type, rows, told(n, 0), 2, 1, 0, NULL);
        if (i == 0)
            mfu_tensor_extend(s, n->saved[TAKEN]);
        dhead = put(s, dhead, d, all, true);
    }
    d = mfu_cluster_emit(s, "log_softmax_grad", true, type, all, told(n, 0), 1, 2, 2, (int[]){dhead, n->saved[LOGS]});
    d = mfu_emit_cast(s, product_gradients(s, n, 0, d, part[0]), mfu_view_type(s, given));
    mfu_tensor_extend(s, n->saved[JOINED]);
    dx = mfu_grad_sum(s, dx, d);
    if (mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0, weight_gradient(s, n, part));
    if (mfu_trains(s, n, 1))
        mfu_param_grad_add(s, n, 1, mfu_tensor_new(s, 1, params(n->op).bias, s->numerics.weight, MFU_PART_GRADIENTS));
    mfu_grad_add(s, n, 0, dx);
}

const struct mfu_primitive mfu_primitive_adaptive_loss = {
    .name = "adaptive_loss",
    .summary = "cross-entropy over clusters of classes, of which few rows reach the rare ones",
    .attributes = {MFU_CLUSTER_ATTRIBUTES},
    .inputs = {1, 1},
    .traits = MFU_ENDS_IN_LOSS | MFU_MULTIPLIES,
    .width = MFU_WIDTH_ONE,
    .params = params,
    .forward = forward,
    .backward = backward,
};
