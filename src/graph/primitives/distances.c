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

static int copied(struct mfu_builder *s, const char *suffix, double launches, int view, double rows, double columns)
{
    int out = mfu_tensor_new(s, rows, columns, mfu_view_type(s, view), MFU_PART_ACTIVATIONS);

    mfu_emit_copy(s, suffix, launches, 1, &view, out);
    return out;
}

/* For each head: [rows of all sequences, columns]. */
static int product(struct mfu_builder *s, const struct mfu_node *n, const char *suffix, double rows, double columns,
                   double inner, int a, int b)
{
    double heads = n->op->attribute[HEADS];
    int out = mfu_tensor_new(s, heads * rows, columns, s->numerics.compute, MFU_PART_ACTIVATIONS);

    return mfu_emit_matmul(s, suffix, s->numerics.math, rows, columns, inner, heads, a, b, out);
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int q = mfu_node_save(s, n, mfu_autocast(s, mfu_node_input(s, n, QUERY)));
    int r = mfu_node_save(s, n, mfu_autocast(s, mfu_node_input(s, n, POSITION)));
    double queries = mfu_view_rows(s, q), keys = mfu_view_rows(s, r);
    int scores = product(s, n, "scores", queries, keys, n->op->attribute[HEAD_DIM], q, r);

    n->out = copied(s, "shift", 2, scores, mfu_view_rows(s, scores), keys); /* the zeros, and all */
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    int q = n->saved[QUERY], r = n->saved[POSITION], g = mfu_autocast(s, n->gradient), dq, dr;
    double queries = mfu_view_rows(s, q), keys = mfu_view_rows(s, r), rows = mfu_view_rows(s, g);
    double dim = n->op->attribute[HEAD_DIM];

    g = copied(s, "dshift", 2, g, rows, keys); /* zeros, and the rows among them; */
    g = copied(s, "dmerge", 1, g, rows, keys); /* head by head */
    if (mfu_wants_gradient(s, n, POSITION)) {
        dr = product(s, n, "dposition", keys, dim, queries, g, q);
        mfu_grad_add(s, n, POSITION, copied(s, "dposition_merge", 1, dr, keys, dim * n->op->attribute[HEADS]));
    }
    if (mfu_wants_gradient(s, n, QUERY)) {
        dq = product(s, n, "dquery", queries, dim, keys, g, r);
        mfu_grad_add(s, n, QUERY, copied(s, "dquery_merge", 1, dq, queries, dim * n->op->attribute[HEADS]));
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
