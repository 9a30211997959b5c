/*
 * distances - a score of each query for each distance: the product of queries with what positions are made of, shifted row by
 * row so that it stands with the keys (Transformer-XL's terms b and d).
 *
 * Of every sequence, [sequences*heads*queries, keys]; attention adds it to its scores.  The shift puts a zero before each row in
 * a copy and looks at that otherwise.  NVIDIA's DeepLearningExamples 729963dd, mem_transformer.py, _rel_shift().
 */
#include <stddef.h>

#include "graph/builder.h"

enum { HEADS, HEAD_DIM, KEYS };
enum { QUERY, POSITION };

static double shape(const struct mfu_operation *op)
{
    return op->attribute[KEYS];
}

/* [rows of all sequences, columns] of each head. */
static int per_head(struct mfu_builder *s, const struct mfu_node *n, double rows, double columns)
{
    return mfu_tensor_new(s, n->op->attribute[HEADS] * rows, columns, s->numerics.compute, MFU_PART_ACTIVATIONS);
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int q = mfu_node_save(s, n, mfu_autocast(s, mfu_node_input(s, n, QUERY)));
    int r = mfu_node_save(s, n, mfu_autocast(s, mfu_node_input(s, n, POSITION)));
    double queries = mfu_view_rows(s, q), keys = mfu_view_rows(s, r);
    int scores = mfu_emit_matmul(s, "scores", s->numerics.math, queries, keys, n->op->attribute[HEAD_DIM],
                                 n->op->attribute[HEADS], q, r, per_head(s, n, queries, keys));

    n->out = mfu_emit_laid(s, "shift", 2, mfu_view_rows(s, scores), keys, 1, &scores); /* the zeros, and all */
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int q = n->saved[QUERY], r = n->saved[POSITION], g = mfu_autocast(s, n->gradient), dq, dr;
    double queries = mfu_view_rows(s, q), keys = mfu_view_rows(s, r), rows = mfu_view_rows(s, g);
    double dim = n->op->attribute[HEAD_DIM], heads = n->op->attribute[HEADS];

    g = mfu_emit_laid(s, "dshift", 2, rows, keys, 1, &g); /* zeros, and the rows among them; */
    g = mfu_emit_laid(s, "dmerge", 1, rows, keys, 1, &g); /* head by head */
    if (mfu_wants_gradient(s, n, POSITION)) {
        dr = mfu_emit_weight_gradient(s, "dposition", s->numerics.math, keys, dim, queries, heads, g, q,
                                      per_head(s, n, keys, dim));
        mfu_grad_add(s, n, POSITION, mfu_emit_laid(s, "dposition_merge", 1, keys, dim * heads, 1, &dr));
    }
    if (mfu_wants_gradient(s, n, QUERY)) {
        dq = mfu_emit_matmul(s, "dquery", s->numerics.math, queries, dim, keys, heads, g, r,
                             per_head(s, n, queries, dim));
        mfu_grad_add(s, n, QUERY, mfu_emit_laid(s, "dquery_merge", 1, queries, dim * heads, 1, &dq));
    }
}

const struct mfu_primitive mfu_primitive_distances = {
    .name = "distances",
    .summary = "scores of queries for distances, which attention adds to its own",
    .attributes =
        {
            [HEADS] = {"heads", NULL, NULL, "query heads", 1},
            [HEAD_DIM] = {"head_dim", NULL, NULL, "width of one head", 1},
            [KEYS] = {"keys", NULL, NULL, "tokens that are attended to"},
        },
    .least_inputs = 2,
    .most_inputs = 2,
    .split_columns = 1u << HEADS,
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
