/*
 * distances - a score of each query for each distance: the product of queries with what positions are made of, shifted row by
 * row so that it stands with the keys (Transformer-XL's terms b and d), or looked up for each pair (DeBERTa's terms).
 *
 * Of every sequence, [sequences*heads*queries, keys]; attention adds it to its scores.  The shift puts a zero before each row in
 * a copy and looks at that otherwise.  NVIDIA's DeepLearningExamples 729963dd, mem_transformer.py, _rel_shift().  Where pairs
 * share classes of distances, whose rows are the second input, queries and classes stand head by head, the classes once for
 * each sequence, and the product is looked up and scaled (transformers 5.23, modeling_deberta_v2.py, disentangled_attention_bias()).
 */
#include <stddef.h>

#include "graph/builder.h"

enum { HEADS, HEAD_DIM, KEYS, LOOKED_UP };
enum { QUERY, POSITION, INDEX, SCORES };

/* [rows of all sequences, columns] of each head. */
static int per_head(struct mfu_builder *s, const struct mfu_node *n, double rows, double columns)
{
    return mfu_tensor_new(s, n->op->attribute[HEADS] * rows, columns, s->numerics.compute, MFU_PART_ACTIVATIONS);
}

/* One kernel from one shape to another, by an index that backward has, too. */
static int look_up(struct mfu_builder *s, const struct mfu_node *n, const char *suffix, int view, double rows,
                   double columns)
{
    int in[] = {view, n->saved[INDEX]},
        out = mfu_tensor_new(s, rows, columns, s->numerics.compute, MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_LIST(2, in), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_POINTWISE,
             .traffic = MFU_C_DRAM_IRREGULAR);
    if (n->gradient != MFU_NO_VIEW)
        mfu_tensor_extend(s, n->saved[SCORES]);
    return out;
}

static void look_up_forward(struct mfu_builder *s, struct mfu_node *n)
{
    double heads = n->op->attribute[HEADS], dim = n->op->attribute[HEAD_DIM], keys = n->op->attribute[KEYS];
    int q = mfu_node_save(n, mfu_autocast(s, mfu_node_input(s, n, QUERY)));
    int r = mfu_autocast(s, mfu_node_input(s, n, POSITION)), places, scores;
    double classes = mfu_view_rows(s, r), sequences = mfu_view_rows(s, q) / keys, rows = heads * mfu_view_rows(s, q);

    r = mfu_node_save(n, mfu_emit_laid(s, "repeat", 2, sequences * classes, heads * dim, 1, &r));
    scores = mfu_emit_matmul(s, "scores", s->numerics.math, keys, classes, dim, sequences * heads, q, r,
                             per_head(s, n, mfu_view_rows(s, q), classes));
    places = mfu_tensor_new(s, keys, keys, MFU_I64, MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(places), .suffix = "places", .kind = MFU_POINTWISE, .fusion = MFU_MAP,
             .launches = 2);
    mfu_node_save(n, places);
    mfu_node_save(n, scores); /* gather()'s, whose shape backward wants */
    scores = look_up(s, n, "gather", scores, rows, keys);
    n->out = mfu_emit_pointwise(s, "scale", s->numerics.compute, 1, scores, MFU_NO_VIEW, MFU_NO_VIEW);
}

static void look_up_backward(struct mfu_builder *s, struct mfu_node *n)
{
    double heads = n->op->attribute[HEADS], dim = n->op->attribute[HEAD_DIM], keys = n->op->attribute[KEYS];
    int q = n->saved[QUERY], r = n->saved[POSITION], g = mfu_autocast(s, n->gradient), dq, dr, sum;
    double queries = mfu_view_rows(s, q), sequences = queries / keys, classes = mfu_view_rows(s, r) / sequences;

    g = mfu_emit_pointwise(s, "dscale", s->numerics.compute, 1, g, MFU_NO_VIEW, MFU_NO_VIEW);
    g = look_up(s, n, "dgather", g, heads * queries, classes);
    if (mfu_wants_gradient(s, n, POSITION)) {
        dr = mfu_emit_weight_gradient(s, "dposition", s->numerics.math, classes, dim, keys, sequences * heads, g, q,
                                      per_head(s, n, sequences * classes, dim));
        sum = mfu_tensor_new(s, classes, dim * heads, s->numerics.compute, MFU_PART_ACTIVATIONS);
        MFU_EMIT(s, MFU_VIEWS(dr), MFU_VIEWS(sum), .suffix = "dposition_sum", .kind = MFU_REDUCTION,
                 .fusion = MFU_COLUMN, .flops = sequences * classes * dim * heads);
        mfu_grad_add(s, n, POSITION, sum);
    }
    if (mfu_wants_gradient(s, n, QUERY)) {
        dq = mfu_emit_matmul(s, "dquery", s->numerics.math, keys, dim, classes, sequences * heads, g, r,
                             per_head(s, n, queries, dim));
        mfu_grad_add(s, n, QUERY, mfu_view_slice(s, dq, queries, dim * heads));
    }
}

static void shift_forward(struct mfu_builder *s, struct mfu_node *n)
{
    int q = mfu_node_save(n, mfu_autocast(s, mfu_node_input(s, n, QUERY)));
    int r = mfu_node_save(n, mfu_autocast(s, mfu_node_input(s, n, POSITION)));
    double queries = mfu_view_rows(s, q), keys = mfu_view_rows(s, r);
    int scores = mfu_emit_matmul(s, "scores", s->numerics.math, queries, keys, n->op->attribute[HEAD_DIM],
                                 n->op->attribute[HEADS], q, r, per_head(s, n, queries, keys));

    n->out = mfu_emit_laid(s, "shift", 2, mfu_view_rows(s, scores), keys, 1, &scores); /* the zeros, and all */
}

static void shift_backward(struct mfu_builder *s, struct mfu_node *n)
{
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

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    (n->op->attribute[LOOKED_UP] > 0 ? look_up_forward : shift_forward)(s, n);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    (n->op->attribute[LOOKED_UP] > 0 ? look_up_backward : shift_backward)(s, n);
}

const struct mfu_primitive mfu_primitive_distances = {
    .name = "distances",
    .summary = "scores of queries for distances, which attention adds to its own",
    .attributes =
        {
            [HEADS] = {"heads", NULL, NULL, "query heads", 1},
            [HEAD_DIM] = {"head_dim", NULL, NULL, "width of one head", 1},
            [KEYS] = {"keys", NULL, NULL, "tokens that are attended to"},
            [LOOKED_UP] = {"looked_up", "0", NULL, "whether the second input has classes of distances, head by head"},
        },
    .inputs = {2, 2},
    .traits = MFU_READS_BESIDE, /* of a table that each rank has whole */
    .split_columns = 1u << HEADS,
    .width = MFU_WIDTH_OF(KEYS),
    .forward = forward,
    .backward = backward,
};
