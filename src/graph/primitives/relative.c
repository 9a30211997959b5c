/*
 * relative - a bias of attention's scores for each head and pair of positions (T5, Swin).
 *
 * A small table has a number per head and class of distance; the bias [heads, queries, keys] is looked up
 * once and shared by all layers that read it.  Without classes it is zeros that nothing trains.  With `hidden` the numbers are
 * what an MLP of so many makes of the distances' two coordinates (timm's RelPosMlp).
 */
#include <stddef.h>

#include "graph/builder.h"

enum { HEADS, CLASSES, QUERIES, KEYS, HIDDEN };

static double shape(const struct mfu_operation *op)
{
    return op->attribute[KEYS];
}

static struct mfu_weights params(const struct mfu_operation *op)
{
    double hidden = op->attribute[HIDDEN], heads = op->attribute[HEADS];
    double n = hidden > 0 ? 3 * hidden + (hidden + 1) * heads : heads * op->attribute[CLASSES];

    return (struct mfu_weights){.weight = n, .active = n};
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    double heads = n->op->attribute[HEADS], rows = n->op->attribute[QUERIES], keys = n->op->attribute[KEYS];
    bool learned = n->op->attribute[CLASSES] > 0;
    int distances = MFU_NO_VIEW;

    if (learned) { /* whole numbers: differences, logarithms, classes */
        distances = mfu_tensor_new(s, rows, keys, MFU_I64, MFU_PART_ACTIVATIONS);
        mfu_emit(s,
                 &(struct mfu_emission){.suffix = "classes",
                                        .kind = MFU_POINTWISE,
                                        .traffic = MFU_C_DRAM_POINTWISE,
                                        .fusion = MFU_MAP,
                                        .flops = 10 * rows * keys,
                                        .launches = 16},
                 0, NULL, 1, &distances);
        mfu_node_save(s, n, distances);
    }
    n->out =
        mfu_tensor_new(s, heads * rows, keys, n->op->attribute[HIDDEN] > 0 ? s->numerics.compute : s->numerics.residual,
                       MFU_PART_ACTIVATIONS);
    mfu_emit(
        s,
        &(struct mfu_emission){
            .suffix = "", .kind = MFU_EMBEDDING, .traffic = MFU_C_DRAM_EMBEDDING, .fusion = MFU_ALONE, .random = true},
        learned, &distances, 1, &n->out);
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int table;

    if (!(n->op->attribute[CLASSES] > 0) || !mfu_trains(s, n, 0)) { /* a leaf's, which is there until backward ends */
        mfu_emit_kernel(s, &(struct mfu_kernel){.kind = MFU_POINTWISE}, "scope", 0, 1, &n->gradient, 0, NULL);
        return;
    }
    table = mfu_tensor_new(s, 1, params(n->op).weight, s->numerics.weight, MFU_PART_GRADIENTS);
    mfu_emit_scatter(s, n->op->attribute[QUERIES] * n->op->attribute[KEYS], n->gradient, table);
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
        },
    .traits = MFU_LOOKS_UP,
    .split_columns = 1u << HEADS,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
