/*
 * adapter_sum - y + B (the sum of the pieces of x): MiSS, whose input row is cut into pieces of `rank` elements, which are
 * added up and multiplied.
 *
 * Backward needs the sums, not the input.  peft 0.21.2 tuners/miss/layer.py; its other forms (bat, mini) are not modelled.
 */
#include <stddef.h>

#include "graph/adapter_steps.h"

enum { SAVED_H, SAVED_B, SAVED_MASK };

static double shape(const struct mfu_operation *op)
{
    return op->attribute[MFU_ADAPTER_WIDTH];
}

static struct mfu_weights params(const struct mfu_operation *op)
{
    double n = op->attribute[MFU_ADAPTER_SIZE] * op->attribute[MFU_ADAPTER_WIDTH];

    return (struct mfu_weights){.weight = n, .active = n};
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    double width = n->op->attribute[MFU_ADAPTER_WIDTH], r = n->op->attribute[MFU_ADAPTER_SIZE];
    int cast, mask, x = mfu_adapter_enter(s, n, &cast, &mask), h;

    h = mfu_tensor_new(s, mfu_view_rows(s, x), r, mfu_adapter_type(s), MFU_PART_ACTIVATIONS);
    mfu_emit(s,
             &(struct mfu_emission){.suffix = "miss_sum",
                                    .kind = MFU_REDUCTION,
                                    .traffic = MFU_C_DRAM_REDUCTION,
                                    .fusion = MFU_ROW,
                                    .flops = mfu_view_rows(s, x) * mfu_view_columns(s, x)},
             1, &x, 1, &h);
    h = mfu_node_save(s, n, mfu_adapter_operand(s, h));
    mfu_node_save(s, n, mfu_node_weight(s, n, 0));
    mfu_node_save(s, n, mask);
    if (mfu_last_recomputed(s, index))
        return;
    mfu_adapter_leave(s, n, mfu_adapter_product(s, "miss", h, n->saved[SAVED_B], width, r), cast);
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    double in = n->op->in_width[MFU_ADAPTER_INPUT], width = n->op->attribute[MFU_ADAPTER_WIDTH],
           r = n->op->attribute[MFU_ADAPTER_SIZE];
    int h = n->saved[SAVED_H], g = mfu_adapter_gradient(s, n, mfu_view_type(s, h)), dh, dw;

    dw = mfu_adapter_weight_gradient(s, "miss_wgrad", g, h, width, r);
    if (mfu_wants_gradient(s, n, MFU_ADAPTER_INPUT)) {
        dh =
            mfu_emit_cast(s, mfu_adapter_product(s, "miss_dgrad", g, n->saved[SAVED_B], r, width), mfu_adapter_type(s));
        mfu_tensor_extend(s, dw);
        mfu_param_grad_add(s, n, 0, dw);
        mfu_adapter_input_gradient(s, n, mfu_emit_laid(s, "miss_spread", 1, mfu_view_rows(s, dh), in, 1, &dh),
                                   n->saved[SAVED_MASK]);
    } else {
        mfu_param_grad_add(s, n, 0, dw);
    }
}

const struct mfu_primitive mfu_primitive_adapter_sum = {
    .name = "adapter_sum",
    .summary = "a product with the sums of pieces of the input, beside one whose weight is frozen",
    .attributes = {MFU_ADAPTER_RANK_AND_WIDTH},
    .least_inputs = 2,
    .most_inputs = 2,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
