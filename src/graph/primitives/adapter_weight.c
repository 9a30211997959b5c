/*
 * adapter_weight - y + W' x, where W' is as large as the frozen weight and built in every forward pass: LoHa, the product
 * (element by element) of two pairs' products, and LoKr, the Kronecker product of a small matrix and a larger one, which
 * is a pair's product itself where the rank is small.
 *
 * Backward needs W' and x.  LoHa's own backward builds both products again, in the weights' type.  peft 0.21.2
 * tuners/loha/layer.py, tuners/lokr/layer.py (factorization(), update_layer()).
 */
#include <math.h>
#include <stddef.h>

#include "graph/adapter_steps.h"

enum { KIND = MFU_ADAPTER_MORE, FACTOR }; /* attributes: enum mfu_adapter_form; lokr_factor */
enum { SAVED_X, SAVED_W };

static double shape(const struct mfu_operation *op)
{
    return op->attribute[MFU_ADAPTER_WIDTH];
}

/* The smaller of two factors of `width`: `factor` where it divides it, else the largest not above the square root (and
 * `factor`). */
static double small_factor(double width, double factor)
{
    double m = 1;

    if (factor > 0 && fmod(width, factor) == 0)
        return factor;
    for (double f = 2; f * f <= width && (factor == 0 || f <= factor); f++)
        if (fmod(width, f) == 0)
            m = f;
    return m;
}

struct kronecker {
    double rows, columns;       /* of the small matrix */
    double of_rows, of_columns; /* of the other one */
    bool pair;                  /* which is a product of two */
};

static struct kronecker kronecker(const struct mfu_operation *op)
{
    double in = op->in_width[MFU_ADAPTER_INPUT], width = op->attribute[MFU_ADAPTER_WIDTH];
    struct kronecker k = {small_factor(width, op->attribute[FACTOR]), small_factor(in, op->attribute[FACTOR]), 0, 0,
                          false};

    k.of_rows = width / k.rows;
    k.of_columns = in / k.columns;
    k.pair = op->attribute[MFU_ADAPTER_SIZE] < fmax(k.of_rows, k.of_columns) / 2;
    return k;
}

static bool is_hadamard(const struct mfu_operation *op)
{
    return op->attribute[KIND] == MFU_FORM_HADAMARD;
}

/* The weight is LoHa's first pair and LoKr's small matrix, the bias the other matrices. */
static struct mfu_weights params(const struct mfu_operation *op)
{
    double r = op->attribute[MFU_ADAPTER_SIZE];
    double one = r * (op->in_width[MFU_ADAPTER_INPUT] + op->attribute[MFU_ADAPTER_WIDTH]), other = one;
    struct kronecker k = kronecker(op);

    if (!is_hadamard(op)) {
        one = k.rows * k.columns;
        other = k.pair ? r * (k.of_rows + k.of_columns) : k.of_rows * k.of_columns;
    }
    return (struct mfu_weights){.weight = one, .bias = other, .active = one + other};
}

static int build(struct mfu_builder *s, struct mfu_node *n)
{
    double in = n->op->in_width[MFU_ADAPTER_INPUT], width = n->op->attribute[MFU_ADAPTER_WIDTH],
           r = n->op->attribute[MFU_ADAPTER_SIZE];
    enum mfu_type wide = mfu_adapter_type(s), type = s->numerics.autocast ? s->numerics.compute : wide;
    struct kronecker k = kronecker(n->op);
    int one, other = MFU_NO_VIEW, w;

    if (is_hadamard(n->op)) {
        one = mfu_adapter_small(s, "loha_1", type, width, in, r, mfu_node_weight(s, n, 0), MFU_NO_VIEW);
        other = mfu_adapter_small(s, "loha_2", type, width, in, r, mfu_node_weight(s, n, 1), MFU_NO_VIEW);
        w = mfu_adapter_pass(s, "loha_product", type, one, other);
        mfu_tensor_extend(s, one);
        mfu_tensor_extend(s, other);
        return mfu_adapter_pass(s, "loha_scale", type, w, MFU_NO_VIEW);
    }
    if (k.pair)
        other = mfu_adapter_small(s, "lokr_2", type, k.of_rows, k.of_columns, r, mfu_node_weight(s, n, 1), MFU_NO_VIEW);
    w = mfu_tensor_new(s, width, in, wide, MFU_PART_ACTIVATIONS);
    mfu_emit(s,
             &(struct mfu_emission){.suffix = "lokr_kron",
                                    .kind = MFU_POINTWISE,
                                    .traffic = MFU_C_DRAM_IRREGULAR,
                                    .fusion = MFU_MAP,
                                    .flops = width * in},
             1, &other, 1, &w);
    return mfu_adapter_pass(s, "lokr_scale", wide, w, MFU_NO_VIEW);
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    double in = n->op->in_width[MFU_ADAPTER_INPUT], width = n->op->attribute[MFU_ADAPTER_WIDTH];
    int w = build(s, n), given = mfu_emit_cast(s, mfu_node_input(s, n, MFU_ADAPTER_INPUT), mfu_view_type(s, w)),
        x = mfu_node_save(s, n, mfu_adapter_operand(s, given)), y;

    mfu_node_save(s, n, mfu_adapter_operand(s, w));
    if (mfu_last_recomputed(s, index))
        return;
    y = mfu_adapter_product(s, "adapter", x, n->saved[SAVED_W], width, in);
    mfu_tensor_extend(s, w);
    mfu_adapter_leave(s, n, y, given);
}

/* Of LoHa: both products once more, each the factor of the other's gradient, which two products divide. */
static void hadamard_gradients(struct mfu_builder *s, struct mfu_node *n, int g)
{
    double in = n->op->in_width[MFU_ADAPTER_INPUT], width = n->op->attribute[MFU_ADAPTER_WIDTH],
           r = n->op->attribute[MFU_ADAPTER_SIZE];
    enum mfu_type wide = mfu_adapter_type(s);
    int scaled = mfu_adapter_pass(s, "loha_scale_grad", mfu_view_type(s, g), g, MFU_NO_VIEW), temp = MFU_NO_VIEW;

    for (int which = 0; which < 2; which++) {
        int dw = mfu_tensor_new(s, 1, r * (in + width), wide, MFU_PART_GRADIENTS);
        int again = mfu_adapter_small(s, "loha_again", wide, width, in, r, MFU_NO_VIEW, MFU_NO_VIEW), part[2];

        again = mfu_adapter_pass(s, "loha_product_grad", wide, scaled, again);
        mfu_tensor_extend(s, temp);
        temp = again;
        part[0] = mfu_view_slice(s, dw, width, r);
        part[1] = mfu_view_slice(s, dw, r, in);
        mfu_emit_matmul(s, "loha_wgrad_a", MFU_PEAK_FP32, width, r, in, 1, temp, MFU_NO_VIEW, part[0]);
        mfu_emit_matmul(s, "loha_wgrad_b", MFU_PEAK_FP32, r, in, width, 1, temp, MFU_NO_VIEW, part[1]);
        mfu_param_grad_add(s, n, which, dw);
    }
    mfu_tensor_extend(s, scaled);
    mfu_tensor_extend(s, g);
}

/* Of LoKr: the products with the other matrix, as large as the weight, and their sums. */
static void kronecker_gradients(struct mfu_builder *s, struct mfu_node *n, int g)
{
    double r = n->op->attribute[MFU_ADAPTER_SIZE];
    struct kronecker k = kronecker(n->op);
    enum mfu_type wide = mfu_adapter_type(s), type = s->numerics.autocast ? s->numerics.compute : wide;
    int part[2], sum[2], dw;

    g = mfu_adapter_pass(s, "lokr_scale_grad", wide, mfu_emit_cast(s, g, wide), MFU_NO_VIEW);
    for (int i = 0; i < 2; i++)
        part[i] = mfu_emit_broadcast(s, "lokr_kron_grad", wide, 1, g, MFU_NO_VIEW);
    mfu_tensor_extend(s, part[0]);
    for (int i = 0; i < 2; i++)
        sum[i] = mfu_emit_columns_sum(s, "lokr_sum", part[i], i ? k.of_rows * k.of_columns : k.rows * k.columns, wide);
    mfu_param_grad_add(s, n, 0, sum[0]);
    if (!k.pair) {
        mfu_param_grad_add(s, n, 1, sum[1]);
        return;
    }
    sum[1] = mfu_emit_cast(s, sum[1], type);
    dw = mfu_tensor_new(s, 1, r * (k.of_rows + k.of_columns), type, MFU_PART_GRADIENTS);
    part[0] = mfu_view_slice(s, dw, k.of_rows, r);
    part[1] = mfu_view_slice(s, dw, r, k.of_columns);
    mfu_emit_matmul(s, "lokr_wgrad_a", s->numerics.math, k.of_rows, r, k.of_columns, 1, sum[1], MFU_NO_VIEW, part[0]);
    mfu_emit_matmul(s, "lokr_wgrad_b", s->numerics.math, r, k.of_columns, k.of_rows, 1, sum[1], MFU_NO_VIEW, part[1]);
    mfu_param_grad_add(s, n, 1, dw);
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    double in = n->op->in_width[MFU_ADAPTER_INPUT], width = n->op->attribute[MFU_ADAPTER_WIDTH];
    int x = n->saved[SAVED_X], g = mfu_adapter_gradient(s, n, mfu_view_type(s, x)), dw, dx;

    dw = mfu_adapter_weight_gradient(s, "adapter_wgrad", g, x, width, in);
    mfu_tensor_of(s, dw)->part = MFU_PART_ACTIVATIONS; /* of what is built, not of a parameter */
    dw = mfu_view_slice(s, dw, width, in);
    if (mfu_wants_gradient(s, n, MFU_ADAPTER_INPUT)) {
        dx = mfu_adapter_product(s, "adapter_dgrad", g, n->saved[SAVED_W], in, width);
        mfu_tensor_extend(s, dw);
        mfu_adapter_input_gradient(s, n, dx, MFU_NO_VIEW);
    }
    if (is_hadamard(n->op))
        hadamard_gradients(s, n, dw);
    else
        kronecker_gradients(s, n, dw);
}

const struct mfu_primitive mfu_primitive_adapter_weight = {
    .name = "adapter_weight",
    .summary = "a product with a weight that is built of small ones, beside one whose weight is frozen",
    .attributes = {MFU_ADAPTER_RANK_AND_WIDTH, [KIND] = {"kind", NULL, NULL, "how the weight is built"},
                   [FACTOR] = {"factor", "0", NULL, "of LoKr's small matrix"}},
    .least_inputs = 2,
    .most_inputs = 2,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
