/*
 * adapter_svd - y + s B (E * A) x / r: AdaLoRA, with E the trained singular values.
 *
 * The result is added in place.  The loss has the distance of A A^T and B^T B from I, which this computes beside them:
 * at the end of the model's forward, of matrices of rank * rank.  peft 0.21.2 tuners/adalora/layer.py and model.py.
 */
#include <stddef.h>

#include "graph/adapter_steps.h"

enum { SAVED_X, SAVED_A, SAVED_H, SAVED_B, SAVED_MASK };

static double shape(const struct mfu_operation *op)
{
    return op->attribute[MFU_ADAPTER_WIDTH];
}

/* The weight is A and E, the bias B. */
static struct mfu_weights params(const struct mfu_operation *op)
{
    double r = op->attribute[MFU_ADAPTER_SIZE], a = r * (op->in_width[MFU_ADAPTER_INPUT] + 1),
           b = r * op->attribute[MFU_ADAPTER_WIDTH];

    return (struct mfu_weights){.weight = a, .bias = b, .active = a + b};
}

/* |P P^T - I| of one of the two, with rows of `length`. */
static void regularise(struct mfu_builder *s, double r, double length)
{
    enum mfu_type type = s->numerics.autocast ? s->numerics.compute : mfu_adapter_type(s);
    int square = mfu_adapter_small(s, "adalora_square", type, r, r, length, MFU_NO_VIEW, MFU_NO_VIEW);

    mfu_adapter_column_sum(s, "adalora_norm", mfu_adapter_pass(s, "adalora_minus_eye", type, square, MFU_NO_VIEW));
}

static void regularise_gradient(struct mfu_builder *s, double r, double length)
{
    enum mfu_type type = s->numerics.autocast ? s->numerics.compute : mfu_adapter_type(s);

    for (int i = 0; i < 2; i++)
        mfu_adapter_small(s, "adalora_square_grad", type, r, length, r, MFU_NO_VIEW, MFU_NO_VIEW);
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    double in = n->op->in_width[MFU_ADAPTER_INPUT], width = n->op->attribute[MFU_ADAPTER_WIDTH],
           r = n->op->attribute[MFU_ADAPTER_SIZE];
    enum mfu_type wide = mfu_adapter_type(s);
    int base = mfu_node_input(s, n, MFU_ADAPTER_BASE), cast, mask, x = mfu_adapter_enter(s, n, &cast, &mask), h, y;

    x = mfu_node_save(s, n, mfu_adapter_operand(s, x));
    y = mfu_emit_broadcast(s, "adalora_e", wide, 1, mfu_view_as(s, 0, r, in, wide), MFU_NO_VIEW);
    mfu_node_save(s, n, mfu_adapter_operand(s, y));
    h = mfu_node_save(s, n, mfu_adapter_product(s, "lora_a", x, n->saved[SAVED_A], r, in));
    mfu_node_save(s, n, mfu_node_weight(s, n, 1));
    mfu_node_save(s, n, mask);
    y = mfu_adapter_product(s, "lora_b", h, n->saved[SAVED_B], width, r);
    y = mfu_adapter_pass(s, "lora_scale", mfu_view_type(s, y), y, MFU_NO_VIEW);
    if (mfu_last_recomputed(s, index))
        return; /* the division saves what it divides by */
    y = mfu_adapter_pass(s, "adalora_rank", wide, y, MFU_NO_VIEW);
    n->out = mfu_view_slice(s, base, mfu_view_rows(s, base), width);
    mfu_emit(s,
             &(struct mfu_emission){.suffix = "adapter_add",
                                    .kind = MFU_POINTWISE,
                                    .traffic = MFU_C_DRAM_POINTWISE,
                                    .fusion = MFU_MAP,
                                    .flops = mfu_view_rows(s, base) * width},
             2, (int[]){base, y}, 1, &n->out);
    mfu_tensor_extend(s, cast);
    if (!s->recomputing) {
        regularise(s, r, in);
        regularise(s, r, width);
    }
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    double in = n->op->in_width[MFU_ADAPTER_INPUT], width = n->op->attribute[MFU_ADAPTER_WIDTH],
           r = n->op->attribute[MFU_ADAPTER_SIZE];
    enum mfu_type wide = mfu_adapter_type(s), type = mfu_view_type(s, n->saved[SAVED_H]);
    int g = n->gradient, dh, dw, whole;

    regularise_gradient(s, r, in);
    regularise_gradient(s, r, width);
    mfu_grad_add(s, n, MFU_ADAPTER_BASE, g);
    g = mfu_adapter_pass(s, "adalora_rank_grad", wide, mfu_emit_cast(s, g, wide), MFU_NO_VIEW);
    g = mfu_adapter_pass(s, "lora_scale_grad", type, mfu_emit_cast(s, g, type), MFU_NO_VIEW);
    dw = mfu_adapter_weight_gradient(s, "lora_b_wgrad", g, n->saved[SAVED_H], width, r);
    dh = mfu_adapter_product(s, "lora_b_dgrad", g, n->saved[SAVED_B], r, width);
    mfu_tensor_extend(s, dw);
    mfu_param_grad_add(s, n, 1, dw);
    dw = mfu_adapter_weight_gradient(s, "lora_a_wgrad", dh, n->saved[SAVED_X], r, in);
    if (mfu_wants_gradient(s, n, MFU_ADAPTER_INPUT))
        mfu_adapter_input_gradient(s, n, mfu_adapter_product(s, "lora_a_dgrad", dh, n->saved[SAVED_A], in, r),
                                   n->saved[SAVED_MASK]);
    dw = mfu_emit_cast(s, dw, wide);
    whole = mfu_tensor_new(s, r, in + 1, wide, MFU_PART_GRADIENTS); /* of A, and of E the sums of its rows */
    mfu_emit(s,
             &(struct mfu_emission){.suffix = "adalora_e_grad",
                                    .kind = MFU_POINTWISE,
                                    .traffic = MFU_C_DRAM_POINTWISE,
                                    .fusion = MFU_MAP,
                                    .launches = 3,
                                    .flops = 3 * r * in},
             1, &dw, 1, &whole);
    mfu_param_grad_add(s, n, 0, whole);
}

const struct mfu_primitive mfu_primitive_adapter_svd = {
    .name = "adapter_svd",
    .summary = "two small products with singular values between them, beside one whose weight is frozen",
    .attributes = {MFU_ADAPTER_RANK_AND_WIDTH},
    .least_inputs = 2,
    .most_inputs = 2,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
