/*
 * activation - a function of each element: y = f(x).
 *
 * Of a gate that is one kernel (multiply.c) it is a part.  silu_parts is x sigmoid(a x), operation by operation; GPT-OSS clamps its input first.
 * Backward needs the input (of tanh, sigmoid and ReLU: the output; of scaling and copying: nothing).
 * gelu_new is GELU as OpenAI's and Google's first code wrote it, operation by
 * operation: 0.5 x (1 + tanh(c (x + 0.044715 x^3))).  PyTorch then keeps 0.5 x,
 * x for the power, the tanh and 1 + tanh; autocast computes powers in fp32, and
 * with it all that follows.  A second input is what the code still names while it runs.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { KIND };
enum {
    GELU,
    GELU_TANH,
    SILU,
    RELU,
    TANH,
    SCALE,
    GELU_NEW,
    COPY,
    CLAMP,
    SILU_PARTS,
    FP32,
    AS_WEIGHT,
    RELU2,
    SIGMOID,
    AS_COMPUTED,
    GELU_ERF
};
enum { SAVED_HALF, SAVED_X, SAVED_TANH, SAVED_FACTOR }; /* of gelu_new */
static const char *const kinds[] = {"gelu",     "gelu_tanh", "silu",        "relu",       "tanh", "scale",
                                    "gelu_new", "copy",      "clamp",       "silu_parts", "fp32", "as_weight",
                                    "relu2",    "sigmoid",   "as_computed", "gelu_erf",   NULL};
static const double forward_flops[] = {10, 12, 5, 1, 6, 1, 14, 0, 2, 6, 0, 0, 2, 4, 0, 12},
                    backward_flops[] = {20, 24, 9, 1, 3, 1, 12, 0, 1, 7, 0, 0, 4, 3, 0, 14};

static bool changes_type(int kind)
{
    return kind == FP32 || kind == AS_WEIGHT || kind == AS_COMPUTED;
}

bool mfu_activation_gates(const struct mfu_operation *op)
{
    return op->attribute[KIND] <= SILU;
}

static void gelu_new_forward(struct mfu_builder *s, struct mfu_node *n, int x)
{
    int half = mfu_emit_map(s, "half", 1, x, MFU_NO_VIEW), inner, factor;
    int base = s->numerics.widens ? mfu_emit_cast(s, x, MFU_F32) : x;

    inner = mfu_emit_map(s, "pow", 2, base, MFU_NO_VIEW);
    inner = mfu_emit_map(s, "mul", 1, inner, MFU_NO_VIEW);
    inner = mfu_emit_map(s, "add", 1, inner, x);
    inner = mfu_emit_map(s, "mul", 1, inner, MFU_NO_VIEW);
    inner = mfu_emit_map(s, "tanh", 6, inner, MFU_NO_VIEW);
    factor = mfu_emit_map(s, "add", 1, inner, MFU_NO_VIEW);
    MFU_SAVE(n, half, base, inner, factor);
    n->out = mfu_emit_map(s, "", 1, factor, half);
}

static void gelu_new_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int g = n->gradient, x = n->saved[SAVED_X], d, square;
    int dhalf = mfu_emit_map(s, "dhalf", 1, g, n->saved[SAVED_FACTOR]);
    enum mfu_type type = mfu_view_type(s, n->saved[SAVED_HALF]);

    d = mfu_emit_map(s, "dfactor", 1, g, n->saved[SAVED_HALF]);
    mfu_tensor_extend(s, n->saved[SAVED_FACTOR]); /* both products are of one node, which lets go at its end */
    dhalf = mfu_emit_cast(s, dhalf, type);
    d = mfu_emit_map(s, "dtanh", 3, d, n->saved[SAVED_TANH]);
    d = mfu_emit_map(s, "dmul", 1, d, MFU_NO_VIEW);
    mfu_grad_add(s, n, 0, mfu_emit_cast(s, d, type));
    d = mfu_emit_map(s, "dmul", 1, d, MFU_NO_VIEW);
    square = mfu_emit_map(s, "pow", 1, x, MFU_NO_VIEW);
    d = mfu_emit_map(s, "dpow", 1, d, mfu_emit_map(s, "mul", 1, square, MFU_NO_VIEW));
    mfu_tensor_extend(s, square); /* one expression, whose parts live until its end */
    mfu_grad_add(s, n, 0, mfu_emit_cast(s, d, type));
    mfu_grad_add(s, n, 0, mfu_emit_map(s, "mul", 1, dhalf, MFU_NO_VIEW));
}

static void silu_parts_forward(struct mfu_builder *s, struct mfu_node *n, int x)
{
    int sigmoid = mfu_emit_map(s, "sigmoid", 4, mfu_emit_map(s, "scale", 1, x, MFU_NO_VIEW), MFU_NO_VIEW);

    MFU_SAVE(n, x, sigmoid);
    n->out = mfu_emit_map(s, "", 1, x, sigmoid);
}

static void silu_parts_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int g = n->gradient, x = n->saved[0], sigmoid = n->saved[1];
    int dx = mfu_emit_map(s, "dmul", 1, g, sigmoid), d = mfu_emit_map(s, "dmul", 1, g, x);

    d = mfu_emit_map(s, "dsigmoid", 3, d, sigmoid);
    mfu_grad_add(s, n, 0, dx);
    mfu_grad_add(s, n, 0, mfu_emit_map(s, "dscale", 1, d, MFU_NO_VIEW));
}

/* GELU as ESM writes it (transformers 5.23, modeling_esm.py): 0.5 x (1 + erf(x / sqrt 2)). */
static void gelu_erf_forward(struct mfu_builder *s, struct mfu_node *n, int x)
{
    int half = mfu_node_save(n, mfu_emit_map(s, "half", 1, x, MFU_NO_VIEW)),
        inner = mfu_node_save(n, mfu_emit_map(s, "div", 1, x, MFU_NO_VIEW)), factor;

    factor = mfu_emit_map(s, "add", 1, mfu_emit_map(s, "erf", 8, inner, MFU_NO_VIEW), MFU_NO_VIEW);
    mfu_node_save(n, factor);
    n->out = mfu_emit_map(s, "", 1, half, factor);
}

static void gelu_erf_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int g = n->gradient, dhalf = mfu_emit_map(s, "dhalf", 1, g, n->saved[2]),
        d = mfu_emit_map(s, "dfactor", 1, g, n->saved[0]), square = mfu_emit_map(s, "pow", 1, n->saved[1], MFU_NO_VIEW),
        minus = mfu_emit_map(s, "neg", 1, square, MFU_NO_VIEW), slope = mfu_emit_map(s, "exp", 5, minus, MFU_NO_VIEW),
        scaled = mfu_emit_map(s, "mul", 1, slope, MFU_NO_VIEW);

    d = mfu_emit_map(s, "derf", 1, scaled, d); /* one expression, whose parts live until its end */
    mfu_tensor_extend(s, square);
    mfu_tensor_extend(s, minus);
    mfu_tensor_extend(s, slope);
    mfu_tensor_extend(s, n->saved[1]); /* as long as its function runs */
    mfu_grad_add(s, n, 0, mfu_emit_map(s, "ddiv", 1, d, MFU_NO_VIEW));
    mfu_grad_add(s, n, 0, mfu_emit_map(s, "mul", 1, dhalf, MFU_NO_VIEW));
}

/* ReLU, then its square, a power that autocast computes in fp32. */
static void relu2_forward(struct mfu_builder *s, struct mfu_node *n, int x)
{
    int relu = mfu_node_save(n, mfu_emit_map(s, "relu", 1, x, MFU_NO_VIEW));

    n->out = mfu_emit_map(s, "", 1, mfu_node_save(n, s->numerics.widens ? mfu_emit_cast(s, relu, MFU_F32) : relu),
                          MFU_NO_VIEW);
}

static void relu2_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int relu = n->saved[0], base = n->saved[1], d = mfu_emit_map(s, "dpow", 1, base, MFU_NO_VIEW);

    d = mfu_emit_map(s, "dpow", 1, d, MFU_NO_VIEW);
    d = mfu_emit_cast(s, mfu_emit_map(s, "dpow", 1, d, n->gradient), mfu_view_type(s, relu));
    mfu_grad_add(s, n, 0, mfu_emit_map(s, "drelu", 1, d, relu));
}

/* ---- halves that are clamped in front of a fused kernel --------------------- */

/* Megatron chunks what the experts' first product gives, clamps either half in eager PyTorch and joins them for the fused
 * kernel of activation and gate (Megatron-LM since 2e29a5e1 of September 2025, d98e8a64 core/fusions/fused_bias_geglu.py,
 * weighted_bias_quick_geglu_impl): each half is read and written twice, and so are its gradients. */
static int beside_fused(struct mfu_builder *s, const char *suffix, bool joins, int a, int b)
{
    int in[] = {a, b}, out;

    out = mfu_tensor_like(s, a);
    MFU_EMIT(s, MFU_LIST(b == MFU_NO_VIEW ? 1 : 2, in), MFU_VIEWS(out), .suffix = suffix,
             .kind = joins ? MFU_COPY : MFU_POINTWISE, .traffic = joins ? MFU_C_DRAM_POINTWISE : MFU_C_DRAM_IRREGULAR,
             .flops = joins ? 0 : mfu_view_elements(s, a));
    return out;
}

static bool clamps_halves(const struct mfu_builder *s, const struct mfu_node *n)
{
    return (int)n->op->attribute[KIND] == CLAMP && mfu_experts_of(s->nodes[n->in[0]].op) > 0
        && mfu_config_experts_apart(s->config);
}

static void clamp_half(struct mfu_builder *s, struct mfu_node *n, int x)
{
    mfu_node_save(n, x);
    n->out = beside_fused(s, "cat", true, beside_fused(s, "", false, x, MFU_NO_VIEW), MFU_NO_VIEW);
}

static void clamp_half_backward(struct mfu_builder *s, struct mfu_node *n)
{
    mfu_grad_add(
        s, n, 0,
        beside_fused(s, "cat_grad", true, beside_fused(s, "grad", false, n->gradient, n->saved[0]), MFU_NO_VIEW));
}

/* ---- passes -------------------------------------------------------------- */

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int kind = (int)n->op->attribute[KIND], x = mfu_node_input(s, n, 0);

    if (mfu_activation_gates(n->op) && mfu_is_gate(s, n)) {
        n->out = x;
        return;
    }
    if (clamps_halves(s, n)) {
        clamp_half(s, n, x);
        return;
    }
    if (kind == GELU_NEW) {
        gelu_new_forward(s, n, x);
        return;
    }
    if (kind == GELU_ERF) {
        gelu_erf_forward(s, n, x);
        return;
    }
    if (kind == SILU_PARTS) {
        silu_parts_forward(s, n, x);
        return;
    }
    if (kind == RELU2) {
        relu2_forward(s, n, x);
        return;
    }
    if (changes_type(kind)) { /* a change of type, or nothing */
        n->out = mfu_emit_cast(s, x,
                               kind == FP32            ? MFU_F32
                                   : kind == AS_WEIGHT ? s->numerics.weight
                                                       : s->numerics.compute);
        return;
    }
    n->out = mfu_emit_pointwise(s, "", mfu_view_type(s, x), forward_flops[kind], x, MFU_NO_VIEW, MFU_NO_VIEW);
    if (n->source->n_in > 1)
        mfu_tensor_extend(s, mfu_node_input(s, n, 1));
    if (kind != SCALE && kind != COPY)
        mfu_node_save(n, kind == TANH || kind == RELU || kind == SIGMOID ? n->out : x);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int kind = (int)n->op->attribute[KIND];
    int saved = n->n_saved ? n->saved[0] : MFU_NO_VIEW;

    if (clamps_halves(s, n)) {
        clamp_half_backward(s, n);
        return;
    }
    if (kind == GELU_NEW) {
        gelu_new_backward(s, n);
        return;
    }
    if (kind == GELU_ERF) {
        gelu_erf_backward(s, n);
        return;
    }
    if (kind == SILU_PARTS) {
        silu_parts_backward(s, n);
        return;
    }
    if (kind == RELU2) {
        relu2_backward(s, n);
        return;
    }
    if (changes_type(kind) || (mfu_activation_gates(n->op) && mfu_is_gate(s, n))) {
        mfu_grad_add(s, n, 0, n->gradient);
        return;
    }
    mfu_grad_add(s, n, 0,
                 mfu_emit_pointwise(s, "grad", mfu_view_type(s, n->gradient), backward_flops[kind], n->gradient, saved,
                                    MFU_NO_VIEW));
}

const struct mfu_primitive mfu_primitive_activation = {
    .name = "activation",
    .summary = "a function of each element",
    .attributes =
        {[KIND] =
             {"kind", NULL, kinds,
              "gelu, gelu_tanh, silu, relu, tanh, scale (by a constant), gelu_new, copy (to another layout), clamp, "
              "silu_parts, fp32 or as_weight (in that type), relu2 (its square), sigmoid, gelu_erf (operation by "
              "operation)"}},
    .inputs = {1, 2},
    .traits = MFU_ELEMENTWISE | MFU_CHEAP,
    .forward = forward,
    .backward = backward,
};
