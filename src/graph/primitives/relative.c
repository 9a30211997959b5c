/*
 * relative - a bias of attention's scores for each head and pair of positions (T5, Swin).
 *
 * A small table has a number per head and class of distance; the bias [heads, queries, keys] is looked up
 * once and shared by all layers that read it.  Without classes it is zeros that nothing trains.  With `hidden` the numbers are
 * what an MLP of so many makes of the distances' two coordinates (timm's RelPosMlp), which
 * a sigmoid may squash (Swin V2: the MLP's last layer has no bias then).  With `edge` products with two tables of zeros and ones
 * look it up, for a window of so many positions along an edge (MaxViT; timm 1.0.31 pos_embed_rel.py, RelPosBiasTf).
 */
#include <stddef.h>

#include "graph/builder.h"

enum { HEADS, CLASSES, QUERIES, KEYS, HIDDEN, SQUASHED, POINTS, EDGE, COMPUTED };
enum { SAVED_CLASSES, SAVED_COORDINATES, SAVED_ACT, SAVED_HIDDEN, SAVED_MASK, SAVED_SIGMOID };

static struct mfu_weights params(const struct mfu_operation *op)
{
    double hidden = op->attribute[HIDDEN], heads = op->attribute[HEADS];
    double n = hidden > 0 ? 3 * hidden + (hidden + (op->attribute[SQUASHED] > 0 ? 0 : 1)) * heads
                          : heads * op->attribute[CLASSES];

    return (struct mfu_weights){.weight = n, .active = n};
}

/* Two products of so many rows, a ReLU between them and, where nothing squashes, a dropout. */
static void mlp_forward(struct mfu_builder *s, struct mfu_node *n)
{
    double points = n->op->attribute[POINTS], hidden = n->op->attribute[HIDDEN], heads = n->op->attribute[HEADS];
    enum mfu_type type = s->numerics.compute;
    int x = mfu_tensor_new(s, points, 2, type, MFU_PART_ACTIVATIONS), w = mfu_node_weight(s, n, 0), mask = MFU_NO_VIEW;
    int out = mfu_tensor_new(s, points, hidden, type, MFU_PART_ACTIVATIONS);

    mfu_node_save(n, x);
    mfu_emit_matmul(s, "fc1", s->numerics.linear_math, points, hidden, 2, 1, x, w, out);
    out = mfu_node_save(n, mfu_emit_pointwise(s, "act", type, 1, out, MFU_NO_VIEW, MFU_NO_VIEW));
    if (!(n->op->attribute[SQUASHED] > 0))
        out = mfu_emit_dropout(s, "dropout", out, &mask);
    MFU_SAVE(n, out, mask);
    x = mfu_tensor_new(s, points, heads, type, MFU_PART_ACTIVATIONS);
    mfu_emit_matmul(s, "fc2", s->numerics.linear_math, points, heads, hidden, 1, out, w, x);
}

static void mlp_backward(struct mfu_builder *s, struct mfu_node *n, int g, int dw)
{
    double points = n->op->attribute[POINTS], hidden = n->op->attribute[HIDDEN], heads = n->op->attribute[HEADS];
    enum mfu_peak math = s->numerics.linear_math;
    int d = mfu_tensor_new(s, points, hidden, s->numerics.compute, MFU_PART_ACTIVATIONS);

    mfu_emit_matmul(s, "fc2.wgrad", math, heads, hidden, points, 1, g, n->saved[SAVED_HIDDEN], dw);
    mfu_emit_matmul(s, "fc2.dgrad", math, points, hidden, heads, 1, g, n->saved[SAVED_HIDDEN], d);
    d = mfu_emit_pointwise(s, "act.grad", mfu_view_type(s, d), 1, d, n->saved[SAVED_ACT], n->saved[SAVED_MASK]);
    mfu_emit_matmul(s, "fc1.wgrad", math, hidden, 2, points, 1, d, n->saved[SAVED_COORDINATES], dw);
}

/* A product for each of the two directions, and a copy into the order of scores. */
static void one_hot_forward(struct mfu_builder *s, struct mfu_node *n)
{
    double e = n->op->attribute[EDGE], heads = n->op->attribute[HEADS], places = 2 * e - 1;
    enum mfu_type type = s->numerics.compute;
    int table = mfu_node_weight(s, n, 0), lookup = mfu_tensor_new(s, e * e, places, type, MFU_PART_ACTIVATIONS), out,
        mid;

    mfu_node_save(n, lookup);
    mid = mfu_tensor_new(s, e * e, heads * places, type, MFU_PART_ACTIVATIONS);
    mfu_emit_matmul(s, "height", s->numerics.linear_math, e * e, heads * places, places, 1, lookup, table, mid);
    out = mfu_tensor_new(s, heads * e * e, e * e, type, MFU_PART_ACTIVATIONS);
    mfu_emit_matmul(s, "width", s->numerics.linear_math, heads * e * e, e * e, places, 1, mid, lookup, out);
    n->out = mfu_emit_pointwise(s, "copy", type, 1, out, MFU_NO_VIEW, MFU_NO_VIEW);
}

static void one_hot_backward(struct mfu_builder *s, struct mfu_node *n)
{
    double e = n->op->attribute[EDGE], heads = n->op->attribute[HEADS], places = 2 * e - 1;
    enum mfu_type type = s->numerics.compute;
    int g = mfu_emit_pointwise(s, "copy.grad", type, 1, n->gradient, MFU_NO_VIEW, MFU_NO_VIEW);
    int mid = mfu_tensor_new(s, e * e, heads * places, type, MFU_PART_ACTIVATIONS), table;

    mfu_emit_matmul(s, "width.dgrad", s->numerics.linear_math, heads * e * e, places, e * e, 1, g, n->saved[0], mid);
    table = mfu_tensor_new(s, 1, params(n->op).weight, s->numerics.weight, MFU_PART_GRADIENTS);
    mfu_emit_matmul(s, "height.dgrad", s->numerics.linear_math, places, heads * places, e * e, 1, mid, n->saved[0],
                    table);
    mfu_param_grad_add(s, n, 0, table);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    double heads = n->op->attribute[HEADS], rows = n->op->attribute[QUERIES], keys = n->op->attribute[KEYS];
    bool learned = n->op->attribute[CLASSES] > 0;
    int distances = MFU_NO_VIEW;

    if (n->op->attribute[EDGE] > 0) {
        one_hot_forward(s, n);
        return;
    }
    if (learned && n->op->attribute[COMPUTED] > 0) { /* whole numbers: differences, logarithms, classes */
        distances = mfu_tensor_new(s, rows, keys, MFU_I64, MFU_PART_ACTIVATIONS);
        MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(distances), .suffix = "classes", .kind = MFU_POINTWISE, .fusion = MFU_MAP,
                 .flops = 10 * rows * keys, .launches = 16);
    }
    mfu_node_save(n, distances);
    if (n->op->attribute[POINTS] > 0)
        mlp_forward(s, n);
    n->out =
        mfu_tensor_new(s, heads * rows, keys, n->op->attribute[HIDDEN] > 0 ? s->numerics.compute : s->numerics.residual,
                       MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_VIEWS(distances), MFU_VIEWS(n->out), .kind = MFU_EMBEDDING, .traffic = MFU_C_DRAM_EMBEDDING,
             .random = true);
    for (int i = 0; i < 2 && n->op->attribute[SQUASHED] > 0; i++) { /* its result is kept; times 16 */
        n->out = mfu_emit_pointwise(s, i ? "scale" : "sigmoid", mfu_view_type(s, n->out), 1, n->out, MFU_NO_VIEW,
                                    MFU_NO_VIEW);
        if (i == 0)
            mfu_node_save(n, n->out);
    }
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    double points = n->op->attribute[POINTS];
    int table, g, given = n->gradient;

    if (!(n->op->attribute[CLASSES] > 0) || !mfu_trains(s, n, 0)) { /* a leaf's, which is there until backward ends */
        mfu_emit_kernel(s, &(struct mfu_kernel){.kind = MFU_POINTWISE}, "scope", 0, 1, &n->gradient, 0, NULL);
        return;
    }
    if (n->op->attribute[EDGE] > 0) {
        one_hot_backward(s, n);
        return;
    }
    table = mfu_tensor_new(s, 1, params(n->op).weight, s->numerics.weight, MFU_PART_GRADIENTS);
    g = points > 0 ? mfu_tensor_new(s, points, n->op->attribute[HEADS], s->numerics.compute, MFU_PART_ACTIVATIONS)
                   : table;
    for (int i = 1; i >= 0 && n->op->attribute[SQUASHED] > 0; i--)
        given = mfu_emit_pointwise(s, i ? "scale.grad" : "sigmoid.grad", mfu_view_type(s, given), 1, given,
                                   i ? MFU_NO_VIEW : n->saved[SAVED_SIGMOID], MFU_NO_VIEW);
    mfu_emit_scatter(s, n->op->attribute[QUERIES] * n->op->attribute[KEYS], given, g);
    mfu_tensor_extend(s, n->saved[SAVED_CLASSES]);
    if (points > 0)
        mlp_backward(s, n, g, table);
    mfu_param_grad_add(s, n, 0, table);
}

const struct mfu_primitive mfu_primitive_relative = {
    .name = "relative",
    .summary = "a learned bias of scores by head and distance (T5)",
    .attributes =
        {
            [HEADS] = {"heads", "n_head", NULL, "query heads", 1},
            [CLASSES] = {"classes", "0", NULL, "of distances; 0: no bias is learned"},
            [QUERIES] = {"queries", NULL, NULL, "tokens that attend"},
            [KEYS] = {"keys", NULL, NULL, "tokens that are attended to"},
            [HIDDEN] = {"hidden", "0", NULL, "of an MLP that makes the numbers; 0: a table has them"},
            [SQUASHED] = {"squashed", "0", NULL, "whether a sigmoid ends it"},
            [POINTS] = {"points", "0", NULL, "of which it makes numbers"},
            [EDGE] = {"edge", "0", NULL,
                      "of a window whose numbers products with zeros and ones look up; 0: none does"},
            [COMPUTED] = {"computed", "0", NULL,
                          "whether forward works out the class of each pair; else a buffer has them"},
        },
    .traits = MFU_LOOKS_UP,
    .split_columns = 1u << HEADS,
    .width = MFU_WIDTH_OF(KEYS),
    .params = params,
    .forward = forward,
    .backward = backward,
};
