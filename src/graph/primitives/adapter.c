/*
 * adapter - y + s B A drop(x) beside a product y = x W^T whose weight is frozen (LoRA).
 *
 *     forward   [rows, r] = [rows, in] [in, r];  [rows, width] = [rows, r] [r, width]
 *     backward  the two of each, as of any linear
 *
 * peft casts the input to the type of its weights (fp32), drops, multiplies twice,
 * scales, adds, and casts the sum back: a kernel each, and each adapted linear keeps
 * its own copy of the input.  Under autocast both products run in 16 bits, on another
 * copy.  Plain adapters have the model's type and no casts; fused kernels scale and
 * add in one, and share the input.  DoRA builds the whole product of B and A in
 * every forward pass, for the norm of W + s B A.
 */
#include <stddef.h>

#include "graph/adapter_steps.h"
#include "graph/split.h"
#include "scenario/setting.h"

#define MAGNITUDE MFU_ADAPTER_MORE /* an attribute */
enum { SAVED_X, SAVED_A, SAVED_H, SAVED_B, SAVED_MASK, SAVED_NORM, SAVED_BASE, SAVED_Y };

/* The weight is A, the bias B and DoRA's magnitudes. */
static struct mfu_weights params(const struct mfu_operation *op)
{
    double a = op->attribute[MFU_ADAPTER_SIZE] * op->in_width[MFU_ADAPTER_INPUT],
           b = (op->attribute[MFU_ADAPTER_INNER] + op->attribute[MAGNITUDE]) * op->attribute[MFU_ADAPTER_WIDTH];

    return (struct mfu_weights){.weight = a, .bias = b, .active = a + b};
}

static const struct mfu_adapter_row *code(const struct mfu_builder *s)
{
    return &mfu_adapters[(int)s->config->setting[MFU_S_LORA_KERNELS]];
}

/* The norm of each row of W + s B A, which is built as B(A(identity)). */
static int build_norm(struct mfu_builder *s, struct mfu_node *n)
{
    double in = n->op->in_width[MFU_ADAPTER_INPUT], width = n->op->attribute[MFU_ADAPTER_WIDTH],
           r = n->op->attribute[MFU_ADAPTER_SIZE];
    enum mfu_type wide = mfu_adapter_type(s);
    const struct mfu_parameter *base = &s->parameters[s->nodes[n->in[MFU_ADAPTER_BASE]].parameter[0]];
    int eye = mfu_tensor_new(s, in, in, wide, MFU_PART_ACTIVATIONS), whole, weight, norm;

    MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(eye), .suffix = "dora_eye", .kind = MFU_POINTWISE);
    whole = mfu_adapter_operand(s, eye);
    whole = mfu_adapter_product(s, "dora_a", whole, mfu_node_weight(s, n, 0), r, in);
    whole = mfu_adapter_product(s, "dora_b", whole, mfu_node_weight(s, n, 1), width, r);
    mfu_tensor_extend(s, eye);
    whole = mfu_emit_cast(s, whole, wide);
    weight = base->packed ? mfu_node_weight(s, &s->nodes[n->in[MFU_ADAPTER_BASE]], 0)
                          : mfu_view_as(s, 0, in, width, base->type); /* tensor 0: all weights */
    weight = mfu_emit_cast(s, weight, wide);
    norm = mfu_adapter_pass(s, "dora_scale", wide, whole, MFU_NO_VIEW);
    norm = mfu_adapter_pass(s, "dora_add", wide, weight, norm);
    norm = mfu_adapter_column_sum(s, "dora_norm", norm);
    mfu_tensor_extend(s, weight);
    mfu_tensor_extend(s, whole);
    return norm;
}

/* y + (m / norm - 1) y + m / norm s B A x. */
static int add_magnitude(struct mfu_builder *s, struct mfu_node *n, int base, int y)
{
    enum mfu_type wide = mfu_adapter_type(s);
    int norm = n->saved[SAVED_NORM], again = n->saved[SAVED_BASE], sum, scaled;

    sum = mfu_emit_broadcast(s, "dora_base", wide, 1, again, norm);
    scaled = mfu_emit_broadcast(s, "dora_lora", wide, 1, y, norm);
    scaled = mfu_adapter_pass(s, "lora_scale", wide, scaled, MFU_NO_VIEW);
    return mfu_adapter_pass(s, "lora_add", wide, base, mfu_adapter_pass(s, "dora_sum", wide, sum, scaled));
}

/* Its gradients: of y, which it returns, of the base's result, of the magnitude. */
static int magnitude_gradients(struct mfu_builder *s, struct mfu_node *n, int g, int *base_gradient)
{
    enum mfu_type wide = mfu_view_type(s, g);
    int norm = n->saved[SAVED_NORM], y = n->saved[SAVED_Y], base = n->saved[SAVED_BASE], scaled, dy;

    scaled = mfu_adapter_pass(s, "lora_scale_grad", wide, g, MFU_NO_VIEW);
    mfu_adapter_column_sum(s, "dora_wgrad", mfu_adapter_pass(s, "dora_product", wide, scaled, y));
    dy = mfu_emit_broadcast(s, "dora_lora_grad", wide, 1, scaled, norm);
    dy = mfu_emit_cast(s, dy, mfu_view_type(s, y));
    mfu_adapter_column_sum(s, "dora_wgrad", mfu_adapter_pass(s, "dora_product", wide, g, base));
    *base_gradient = mfu_emit_broadcast(s, "dora_base_grad", wide, 1, g, norm);
    return dy;
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    double in = n->op->in_width[MFU_ADAPTER_INPUT], width = n->op->attribute[MFU_ADAPTER_WIDTH],
           r = n->op->attribute[MFU_ADAPTER_SIZE], inner = n->op->attribute[MFU_ADAPTER_INNER];
    int given = mfu_node_input(s, n, MFU_ADAPTER_INPUT), base = mfu_node_input(s, n, MFU_ADAPTER_BASE),
        mask = MFU_NO_VIEW, norm = MFU_NO_VIEW;
    int x, h, y;
    bool dora = n->op->attribute[MAGNITUDE] > 0, fused = code(s)->fused,
         drops = s->config->setting[MFU_S_LORA_DROPOUT] > 0;
    int cast = code(s)->casts ? mfu_emit_cast(s, given, mfu_adapter_type(s)) : given;

    x = cast;
    if (drops)
        x = mfu_emit_dropout(s, "lora_dropout", x, &mask);
    if (dora)
        norm = build_norm(s, n);
    x = mfu_adapter_operand(s, x);
    MFU_SAVE(n, x, mfu_node_weight(s, n, 0));
    h = mfu_split_narrow(s, n, mfu_adapter_product(s, "lora_a", x, n->saved[SAVED_A], r, in), false);
    MFU_SAVE(n, h, mfu_node_weight(s, n, 1), mask);
    if (mfu_last_recomputed(s, n))
        return;
    y = mfu_split_adapted(s, n, mfu_adapter_product(s, "lora_b", h, n->saved[SAVED_B], width, inner));
    if (dora) {
        mfu_node_save(n, norm);
        /* Of dropped input the base's result is another one. */
        MFU_SAVE(n, drops ? mfu_adapter_product(s, "dora_base_again", x, MFU_NO_VIEW, width, in) : base, y);
        n->out = add_magnitude(s, n, base, y);
    } else {
        if (!fused)
            y = mfu_adapter_pass(s, "lora_scale", mfu_view_type(s, y), y, MFU_NO_VIEW);
        n->out =
            mfu_adapter_pass(s, "lora_add", mfu_view_type(s, y) == MFU_F32 ? MFU_F32 : mfu_view_type(s, base), base, y);
    }
    n->out = mfu_emit_cast(s, n->out, mfu_view_type(s, base));
    if (code(s)->casts)
        mfu_tensor_extend(s, cast); /* a variable of the module */
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    double in = n->op->in_width[MFU_ADAPTER_INPUT], width = n->op->attribute[MFU_ADAPTER_WIDTH],
           r = n->op->attribute[MFU_ADAPTER_SIZE], inner = n->op->attribute[MFU_ADAPTER_INNER];
    int x = n->saved[SAVED_X], h = n->saved[SAVED_H], mask = n->saved[SAVED_MASK];
    enum mfu_type type = mfu_view_type(s, x);
    bool dora = n->op->attribute[MAGNITUDE] > 0, again = dora && mask != MFU_NO_VIEW;
    /* The sum was as wide as its wider term. */
    enum mfu_type sum = dora ? mfu_adapter_type(s) : type == MFU_F32 ? type : mfu_view_type(s, n->gradient);
    int g = mfu_emit_cast(s, n->gradient, sum), gy = g, gbase = MFU_NO_VIEW, dh, dx, dw;

    mfu_grad_add(s, n, MFU_ADAPTER_BASE, g);
    if (dora)
        gy = magnitude_gradients(s, n, g, &gbase);
    else if (!code(s)->fused)
        gy = mfu_adapter_pass(s, "lora_scale_grad", sum, g, MFU_NO_VIEW);
    if (dora && !again)
        mfu_grad_add(s, n, MFU_ADAPTER_BASE, gbase);
    gy = mfu_split_adapted_gradient(s, n, mfu_emit_cast(s, gy, type));
    dw = mfu_adapter_weight_gradient(s, "lora_b_wgrad", gy, h, width, inner);
    dh = mfu_split_narrow(s, n, mfu_adapter_product(s, "lora_b_dgrad", gy, n->saved[SAVED_B], inner, width), true);
    mfu_tensor_extend(s, dw);
    mfu_param_grad_add(s, n, 1, dw);
    dw = mfu_adapter_weight_gradient(s, "lora_a_wgrad", dh, x, r, in);
    if (mfu_wants_gradient(s, n, MFU_ADAPTER_INPUT)) {
        dx = mfu_adapter_product(s, "lora_a_dgrad", dh, n->saved[SAVED_A], in, r);
        mfu_tensor_extend(s, dw);
        mfu_param_grad_add(s, n, 0, dw);
        if (again) {
            int more = mfu_adapter_product(s, "dora_base_dgrad", mfu_emit_cast(s, gbase, type), MFU_NO_VIEW, in, width);

            dx = mfu_adapter_pass(s, "add", type, dx, more);
        }
        if (s->numerics.autocast && code(s)->casts)
            dx = mfu_emit_cast(s, dx, mfu_adapter_type(s));
        if (mask != MFU_NO_VIEW)
            dx = mfu_emit_pointwise(s, "lora_dropout_grad", mfu_view_type(s, dx), 2, dx, mask, MFU_NO_VIEW);
        mfu_grad_add(s, n, MFU_ADAPTER_INPUT, dx);
    } else {
        mfu_param_grad_add(s, n, 0, dw);
    }
}

const struct mfu_primitive mfu_primitive_adapter = {
    .name = "adapter",
    .summary = "two small products beside one whose weight is frozen",
    .attributes =
        {
            MFU_ADAPTER_RANK_AND_WIDTH,
            [MAGNITUDE] = {"magnitude", "0", NULL, "whether each output has a trained magnitude (DoRA)"},
            [MFU_ADAPTER_INNER] = {"inner", "rank", NULL, "columns that the second product reads"},
        },
    .inputs = {2, 2},
    .width = MFU_WIDTH_OF_INPUT(MFU_ADAPTER_BASE),
    .params = params,
    .forward = forward,
    .backward = backward,
};
