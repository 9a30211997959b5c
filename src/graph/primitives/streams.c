/*
 * streams - several streams of residuals beside each other, of which a layer reads one and writes all: alternating updates
 * (AltUp, Gemma 3n; transformers 5.23, modeling_gemma3n.py, Gemma3nTextAltUp).
 *
 * A row has the columns of all streams.  mix adds to them what a matrix of each token, the second input, makes of them; correct adds
 * to the first input what the second has over its first stream, times a factor of each token and stream, the third; spread adds the
 * second input to all but the first, in their place; mean is that of all.  length is the root of a row's mean square, and match
 * gives the first input the length that the second says.
 *
 * What is written into a part of a tensor has the gradient of the whole copied, twice where an assignment follows
 * (x[1:] += y; autograd's CopySlices).
 */
#include <stddef.h>

#include "graph/builder.h"

enum { KIND, STREAMS };
enum { MIX, CORRECT, SPREAD, MEAN, LENGTH, MATCH };
static const char *const kinds[] = {"mix", "correct", "spread", "mean", "length", "match", NULL};

static double shape(const struct mfu_operation *op)
{
    int kind = (int)op->attribute[KIND];

    return kind == LENGTH ? 1 : kind == MEAN ? op->in_width[0] / op->attribute[STREAMS] : op->in_width[0];
}

/* Numbers of each row, from a tensor or from as many. */
static int of_rows(struct mfu_builder *s, const char *suffix, double columns, int x, double launches)
{
    int out = mfu_tensor_new(s, mfu_view_rows(s, x), columns, mfu_view_type(s, x), MFU_PART_ACTIVATIONS);
    bool small = mfu_view_columns(s, x) <= columns;

    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(out), .suffix = suffix, .kind = small ? MFU_POINTWISE : MFU_REDUCTION,
             .traffic = small ? MFU_C_DRAM_POINTWISE : MFU_C_DRAM_NORM, .fusion = small ? MFU_MAP : MFU_ROW,
             .flops = mfu_view_elements(s, x), .launches = launches);
    return out;
}

/* A sum that stands in the place of its first summand. */
static int add_into(struct mfu_builder *s, int into, int x)
{
    int out = mfu_view_slice(s, into, mfu_view_rows(s, into), mfu_view_columns(s, into));

    MFU_EMIT(s, MFU_VIEWS(into, x), MFU_VIEWS(out), .suffix = "add", .kind = MFU_POINTWISE, .fusion = MFU_MAP,
             .flops = mfu_view_elements(s, x));
    return out;
}

static int copy(struct mfu_builder *s, const char *suffix, int x)
{
    return mfu_emit_broadcast(s, suffix, mfu_view_type(s, x), 0, x, MFU_NO_VIEW);
}

/* ---- the streams of a layer ------------------------------------------------------ */

static int product(struct mfu_builder *s, const struct mfu_node *n, const char *suffix, double m, double k, int a,
                   int b, int out)
{
    mfu_emit_matmul(s, suffix, s->numerics.math, m, n->op->attribute[STREAMS], k, mfu_view_rows(s, a), a, b, out);
    return out;
}

static void mix(struct mfu_builder *s, struct mfu_node *n)
{
    double streams = n->op->attribute[STREAMS];
    int given = mfu_node_input(s, n, 0), coefficients = mfu_node_save(n, mfu_autocast(s, mfu_node_input(s, n, 1)));
    int x = mfu_node_save(n, mfu_autocast(s, given)), out;

    out = product(s, n, "", mfu_view_columns(s, x) / streams, streams, x, coefficients, mfu_tensor_like(s, x));
    n->out = mfu_emit_cast(s, copy(s, "copy", add_into(s, out, given)), mfu_view_type(s, given));
}

static void mix_backward(struct mfu_builder *s, struct mfu_node *n)
{
    double streams = n->op->attribute[STREAMS], width = n->op->in_width[0] / streams;
    int coefficients = n->saved[0], x = n->saved[1], of_product, d;

    of_product = copy(s, "copy_grad", mfu_emit_cast(s, n->gradient, mfu_view_type(s, x)));
    mfu_grad_add(s, n, 0, copy(s, "add_grad", of_product));
    d = product(s, n, "coefficients_grad", streams, width, x, of_product, mfu_tensor_like(s, coefficients));
    mfu_grad_add(s, n, 1, copy(s, "coefficients_copy", d));
    mfu_grad_add(s, n, 0, product(s, n, "grad", width, streams, of_product, coefficients, mfu_tensor_like(s, x)));
}

static void correct(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0), made = mfu_node_input(s, n, 1);
    int factors = mfu_node_save(n, mfu_node_input(s, n, 2)), d = mfu_emit_map(s, "sub", 1, made, MFU_NO_VIEW);

    d = mfu_emit_laid(s, "repeat", 1, mfu_view_rows(s, x), mfu_view_columns(s, x), 1, &d);
    mfu_node_save(n, d);
    n->out = add_into(s, mfu_emit_broadcast(s, "", mfu_view_type(s, d), 1, d, factors), x);
}

static void correct_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int g = n->gradient, d = mfu_emit_broadcast(s, "grad", mfu_view_type(s, g), 1, g, n->saved[0]), product;
    double width = n->op->in_width[0] / n->op->attribute[STREAMS];

    mfu_grad_add(s, n, 0, g);
    product = mfu_emit_pointwise(s, "factors_grad", mfu_view_type(s, g), 1, g, n->saved[1], MFU_NO_VIEW);
    mfu_grad_add(s, n, 2, of_rows(s, "factors_sum", n->op->attribute[STREAMS], product, 1));
    d = of_rows(s, "sum", width, d, 1);
    product = mfu_emit_map(s, "neg", 1, d, MFU_NO_VIEW);
    mfu_grad_add(s, n, 0, mfu_emit_laid(s, "active_grad", 2, mfu_view_rows(s, g), mfu_view_columns(s, g), 1, &product));
    mfu_grad_add(s, n, 1, d);
}

static void spread_backward(struct mfu_builder *s, struct mfu_node *n)
{
    double others = 1 - 1 / n->op->attribute[STREAMS];
    int g = n->gradient, copied = mfu_tensor_like(s, g), summed = mfu_tensor_like(s, g);

    MFU_EMIT(s, MFU_VIEWS(g), MFU_VIEWS(copied), .suffix = "assignment_grad", .kind = MFU_COPY,
             .temporary_bytes = 2 * others * mfu_view_bytes(s, g), .launches = 6);
    MFU_EMIT(s, MFU_VIEWS(copied), MFU_VIEWS(summed), .suffix = "grad", .kind = MFU_COPY,
             .temporary_bytes = others * mfu_view_bytes(s, g), .launches = 2);
    mfu_grad_add(s, n, 1, of_rows(s, "sum", n->op->in_width[1], summed, 1));
    mfu_grad_add(s, n, 0, summed);
}

static void mean_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int dx = mfu_tensor_new(s, mfu_view_rows(s, n->gradient), n->op->in_width[0], mfu_view_type(s, n->gradient),
                            MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_VIEWS(n->gradient), MFU_VIEWS(dx), .suffix = "grad", .kind = MFU_POINTWISE,
             .traffic = MFU_C_DRAM_IRREGULAR, .flops = mfu_view_elements(s, dx));
    mfu_grad_add(s, n, 0, dx);
}

/* ---- lengths of rows --------------------------------------------------------------- */

/* The mean of squares, and its root. */
static int length(struct mfu_builder *s, struct mfu_node *n, int x, double launches)
{
    int mean = of_rows(s, "mean", 1, mfu_emit_map(s, "pow", 1, mfu_node_save(n, x), MFU_NO_VIEW), 1);

    return mfu_node_save(n, of_rows(s, "sqrt", 1, mean, launches));
}

/* From the gradient of the mean of squares to that of the row; saved[0] is the row. */
static void length_backward(struct mfu_builder *s, struct mfu_node *n, int dmean)
{
    int x = n->saved[0], spread, power, twice;

    spread = mfu_emit_broadcast(s, "dmean", mfu_view_type(s, x), 1, x, dmean);
    power = mfu_emit_map(s, "dpow", 1, x, MFU_NO_VIEW);
    twice = mfu_emit_map(s, "dpow", 1, power, MFU_NO_VIEW);
    mfu_tensor_extend(s, power);
    mfu_grad_add(s, n, 0, mfu_emit_map(s, "dpow", 1, twice, spread));
}

static void match(struct mfu_builder *s, struct mfu_node *n)
{
    int to = mfu_node_input(s, n, 1), x = mfu_emit_cast(s, mfu_node_input(s, n, 0), mfu_view_type(s, to));
    int is = length(s, n, x, 2), times = mfu_node_save(n, mfu_emit_broadcast(s, "mul", mfu_view_type(s, x), 1, x, to));

    n->out = mfu_emit_broadcast(s, "", mfu_view_type(s, x), 1, times, is);
}

static void match_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[0], is = n->saved[1], to = mfu_node_input(s, n, 1), dtimes, d;
    enum mfu_type type = mfu_view_type(s, x);

    dtimes = mfu_emit_broadcast(s, "ddiv", type, 1, n->gradient, is);
    d = mfu_emit_broadcast(s, "ddiv", type, 2, n->saved[2], is); /* twice, as -g (x / length) / length */
    d = mfu_emit_map(s, "ddiv", 2, n->gradient, d);
    d = of_rows(s, "dlength", 1, d, 1);
    mfu_grad_add(s, n, 0, mfu_emit_broadcast(s, "dmul", type, 1, dtimes, to));
    mfu_grad_add(s, n, 1, of_rows(s, "dto", 1, mfu_emit_map(s, "dmul", 1, dtimes, x), 1));
    length_backward(s, n, of_rows(s, "dsqrt", 1, d, 5));
}

/* ---- passes -------------------------------------------------------------------------- */

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    switch ((int)n->op->attribute[KIND]) {
    case MIX: mix(s, n); return;
    case CORRECT: correct(s, n); return;
    case SPREAD: n->out = add_into(s, mfu_node_input(s, n, 0), mfu_node_input(s, n, 1)); return;
    case MEAN: n->out = of_rows(s, "", n->op->out_width, mfu_node_input(s, n, 0), 1); return;
    case LENGTH: n->out = length(s, n, mfu_node_input(s, n, 0), 1); return;
    default: match(s, n);
    }
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    switch ((int)n->op->attribute[KIND]) {
    case MIX: mix_backward(s, n); return;
    case CORRECT: correct_backward(s, n); return;
    case SPREAD: spread_backward(s, n); return;
    case MEAN: mean_backward(s, n); return;
    case LENGTH: length_backward(s, n, mfu_emit_map(s, "dsqrt", 3, n->gradient, n->saved[1])); return;
    default: match_backward(s, n);
    }
}

const struct mfu_primitive mfu_primitive_streams = {
    .name = "streams",
    .summary = "several streams of residuals, of which a layer reads one (AltUp)",
    .attributes = {[KIND] = {"kind", NULL, kinds, "mix, correct, spread, mean, length or match"},
                   [STREAMS] = {"n", "1", NULL, "so many, of all but lengths", 1}},
    .inputs = {1, 3},
    .shape = shape,
    .forward = forward,
    .backward = backward,
};
