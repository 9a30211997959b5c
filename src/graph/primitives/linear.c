/*
 * linear - y = x W^T + b, for one weight or for each of several experts.
 *
 *     forward   [rows, width] = [rows, in] [in, width]
 *     dgrad     [rows, in]    = [rows, width] [width, in]
 *     wgrad     [width, in]   = [width, rows] [rows, in]
 *
 * Backward needs the input (wgrad) and the weight (dgrad), both in the type in
 * which they were multiplied.  With experts the rows are spread evenly.  A weight that is a table of which some rows train
 * (embedding.c) is copied, as there.
 */
#include <math.h>
#include <stddef.h>

#include "graph/builder.h"
#include "scenario/setting.h"
#include "scenario/trainer.h"

extern const struct mfu_primitive mfu_primitive_add, mfu_primitive_dropout;

enum { WIDTH, BIAS, EXPERTS, TIED, VISITS, TRAINED };
enum { SAVED_INPUT, SAVED_WEIGHT, SAVED_BOTH };

static struct mfu_weights params(const struct mfu_operation *op)
{
    double experts = op->attribute[EXPERTS] > 0 ? op->attribute[EXPERTS] : 1;
    double weight = op->in_width[0] * op->attribute[WIDTH];
    double bias = round(fmin(op->attribute[BIAS], 1) * op->attribute[WIDTH]);
    double visits = op->attribute[EXPERTS] > 0 ? op->attribute[VISITS] : 1;

    return (struct mfu_weights){.weight = experts * weight, .bias = experts * bias, .active = visits * (weight + bias)};
}

static double experts_of(const struct mfu_node *n)
{
    return n->op->attribute[EXPERTS] > 0 ? n->op->attribute[EXPERTS] : 1;
}

static enum mfu_peak math_of(const struct mfu_builder *s, const struct mfu_node *n)
{
    return mfu_makes_logits(s, n) ? s->numerics.math : s->numerics.linear_math;
}

/* The operands of forward: [0], [1] input and weight as they are multiplied, [2],
 * [3] as backward wants them. */
static void operands(struct mfu_builder *s, struct mfu_node *n, bool quantised, int out[4])
{
    int copies[2], given = mfu_node_input(s, n, 0), x = given;
    bool made = quantised && mfu_view_type(s, x) == s->numerics.operand; /* before it was gathered */

    if (!made)
        x = mfu_autocast(s, x);
    out[0] = out[2] = x;
    if (!quantised) {
        out[1] = out[3] = n->op->attribute[TRAINED] > 0
            ? mfu_autocast(s, mfu_emit_table(s, n, n->op->attribute[WIDTH], n->op->in_width[0]))
            : mfu_node_weight(s, n, 0);
        return;
    }
    if (!made) {
        mfu_emit_quantise(s, "quantise", x, mfu_trains(s, n, 0), copies);
        out[0] = copies[0];
        out[2] = s->numerics.activation != s->numerics.operand ? x : copies[1];
        if (mfu_result_dropped(s, n->in[0]))
            out[2] = given; /* not a copy that would stay (TransformerEngine, linear.py: save_original_input) */
    }
    mfu_node_weight_quantised(s, n, copies);
    out[1] = copies[0];
    out[3] = copies[1];
}

/* ---- biases of weighed rows ------------------------------------------------ */

/* Where the rows took their weights before the experts' last product, its bias takes them after it, expert by expert, in
 * Python: `t + b * p`, then all of them joined (Megatron-LM since a329dd6d of September 2025, d98e8a64
 * core/transformer/moe/experts.py, _apply_bias).  Weights are fp32 with a dispatcher that asks for it
 * (token_dispatcher.py: "only supports float32 probs"), and so is all that they touch. */
static bool weighs_bias(const struct mfu_builder *s, const struct mfu_node *n)
{
    const struct mfu_node *next = n + 1;

    return s->runtime->weighs_early && n->op->attribute[EXPERTS] > 0 && n->op->attribute[BIAS] > 0
        && next < s->nodes + s->n_nodes && mfu_is(next->op, MFU_COMBINES) && next->in[0] == n - s->nodes;
}

static enum mfu_type weights_type(const struct mfu_builder *s)
{
    return s->config->setting[MFU_S_DISPATCHER] >= MFU_DISPATCH_FLEX ? MFU_F32 : s->numerics.compute;
}

static int joined(struct mfu_builder *s, const char *suffix, int view)
{
    int out = mfu_tensor_like(s, view);

    MFU_EMIT(s, MFU_VIEWS(view), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_COPY);
    return out;
}

static int add_weighed_bias(struct mfu_builder *s, const struct mfu_node *n, int view)
{
    enum mfu_type type = weights_type(s);
    double product = mfu_view_elements(s, view) * mfu_type_bytes[type]; /* b * p, written and read */
    int sum = mfu_tensor_new(s, mfu_view_rows(s, view), mfu_view_columns(s, view), type, MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_VIEWS(view), MFU_VIEWS(sum), .suffix = "bias", .kind = MFU_POINTWISE,
             .flops = 2 * mfu_view_elements(s, view), .extra_read_bytes = 2 * product, .launches = 2 * experts_of(n));
    return mfu_emit_cast(s, joined(s, "bias_cat", sum), mfu_view_type(s, view));
}

/* Returns the gradient of the product's rows.  That of a bias is the sum of g * p over its rows, that of a weight of g * b
 * over a row. */
static int add_weighed_bias_gradient(struct mfu_builder *s, struct mfu_node *n, int g)
{
    double experts = experts_of(n);
    int wide = mfu_emit_cast(s, g, weights_type(s)), bias;

    bias = mfu_tensor_new(s, 1, experts * n->op->attribute[WIDTH], s->numerics.compute, MFU_PART_GRADIENTS);
    MFU_EMIT(s, MFU_VIEWS(wide), MFU_VIEWS(bias), .suffix = "bias_grad", .kind = MFU_REDUCTION,
             .traffic = MFU_C_DRAM_REDUCTION, .flops = 4 * mfu_view_elements(s, wide),
             .extra_read_bytes = 5 * mfu_view_elements(s, wide) * mfu_type_bytes[weights_type(s)],
             .launches = 4 * experts);
    if (mfu_trains(s, n, 1))
        mfu_param_grad_add(s, n, 1, bias);
    return joined(s, "split_grad", mfu_emit_cast(s, wide, mfu_view_type(s, g)));
}

/* ---- Megatron-core in a loop of one's own ----------------------------------- */

/* Its products leave the bias to the kernel behind them, but that of q, k and v (Megatron-LM d98e8a64, core/transformer/
 * mlp.py and attention.py: skip_bias_add), which then adds it in eager PyTorch. */
static bool skips_bias(const struct mfu_builder *s, const struct mfu_node *n)
{
    const struct mfu_node *next = n + 1;

    return mfu_config_plain_core(s->config) && n->op->attribute[BIAS] > 0 && next < s->nodes + s->n_nodes
        && next->in[0] == n - s->nodes
        && (mfu_is(next->op, MFU_CHEAP) || next->op->primitive == &mfu_primitive_dropout
            || next->op->primitive == &mfu_primitive_add);
}

/* The gradient of logits in the order of their rows: matmul() folds what is not contiguous in a copy, and the product for
 * the weight makes another (PyTorch 2.9 native/LinearAlgebra.cpp: should_fold(); core/utils.py:
 * prepare_input_tensors_for_wgrad_compute). */
static int in_order(struct mfu_builder *s, const struct mfu_node *n, const char *suffix, int g)
{
    return mfu_makes_logits(s, n) && mfu_tokens_first(s)
        ? mfu_emit_laid(s, suffix, 1, mfu_view_rows(s, g), mfu_view_columns(s, g), 1, &g)
        : g;
}

/* ---- passes -------------------------------------------------------------- */

/* C = A B, of experts with the rows that they have places for. */
static void emit_product(struct mfu_builder *s, const struct mfu_node *n, struct mfu_kernel gemm, const char *suffix,
                         int a, int b, int c)
{
    int in[] = {a, b, b == n->saved[SAVED_WEIGHT] ? n->saved[SAVED_BOTH] : MFU_NO_VIEW};

    if (n->op->attribute[EXPERTS] > 0 && mfu_config_experts_apart(s->config))
        mfu_kernel_set_apart(&gemm);
    mfu_gemm_align(s, &gemm);
    mfu_emit_kernel(s, &gemm, suffix, 0, in[2] == MFU_NO_VIEW ? 2 : 3, in, 1, &c);
    if (n->op->attribute[EXPERTS] > 0 && s->config->experts.fill != 1 && !s->failed)
        s->program->launches[s->program->n_launches - 1].padded = true;
}

static void multiply(struct mfu_builder *s, const struct mfu_node *n, const char *suffix, double rows, double width,
                     double in_width, int a, int b, int c)
{
    double experts = experts_of(n);

    emit_product(s, n,
                 mfu_kernel_gemm(math_of(s, n), rows / experts, width, in_width, experts,
                                 mfu_type_bytes[mfu_view_type(s, a)], mfu_type_bytes[mfu_view_type(s, c)], false),
                 suffix, a, b, c);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    double in_width = n->op->in_width[0], width = n->op->attribute[WIDTH];
    bool back = mfu_wants_gradient(s, n, 0); /* which the weight is for */
    int operand[4];
    double rows;
    enum mfu_part part = mfu_makes_logits(s, n) ? MFU_PART_LOGITS_LOSS : MFU_PART_ACTIVATIONS;

    operands(s, n, mfu_quantises(s, n), operand);
    rows = mfu_view_rows(s, operand[0]);
    if (n->op->attribute[BIAS] > 0)
        mfu_node_weight(s, n, 1);
    MFU_SAVE(n, operand[2], back ? operand[3] : MFU_NO_VIEW,
             back && mfu_config_transformer_engine(s->config) ? operand[1] : MFU_NO_VIEW); /* one tensor holds both */
    if (mfu_last_recomputed(s, n))
        return; /* only its input was needed */
    if ((n->out = mfu_kept_result(s)) == MFU_NO_VIEW) {
        n->out = mfu_tensor_new(s, rows / mfu_logits_chunks(s, n), width, s->numerics.compute, part);
        multiply(s, n, "", rows, width, in_width, operand[0], operand[1], n->out);
        mfu_offer_result(s, n->out, true);
    }
    if (skips_bias(s, n))
        n->out = mfu_emit_pointwise(s, "bias", mfu_view_type(s, n->out), 1, n->out, MFU_NO_VIEW, MFU_NO_VIEW);
    if (weighs_bias(s, n))
        n->out = add_weighed_bias(s, n, n->out);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    double experts = experts_of(n), in_width = n->op->in_width[0], width = n->op->attribute[WIDTH];
    int x = n->saved[SAVED_INPUT], w = n->saved[SAVED_WEIGHT];
    int g[2], dx, dw = MFU_NO_VIEW, again[2];
    double rows = mfu_view_rows(s, x);
    enum mfu_type operand = mfu_quantises(s, n) ? s->numerics.operand : s->numerics.compute;
    bool rows_train = n->op->attribute[TRAINED] > 0 && mfu_trains(s, n, 1);
    bool into_buffer = mfu_products_add(s) && !rows_train, trains = rows_train || mfu_trains(s, n, 0);

    g[0] = g[1] = mfu_autocast(s, n->gradient);
    if (weighs_bias(s, n))
        g[0] = g[1] = add_weighed_bias_gradient(s, n, g[0]);
    else if (n->op->attribute[BIAS] > 0 && mfu_trains(s, n, 1))
        mfu_param_grad_add(s, n, 1,
                           mfu_emit_columns_sum(s, "bias_grad", g[0], params(n->op).bias, s->numerics.compute));
    if (mfu_quantises(s, n)) {
        mfu_emit_quantise(s, "quantise_grad", g[0], trains, g);
        if (trains && mfu_view_type(s, x) != operand) { /* it was kept as it is */
            mfu_emit_quantise(s, "quantise", mfu_autocast(s, x), true, again);
            x = again[1];
        }
    }
    if (trains && !into_buffer)
        dw = mfu_tensor_new(s, 1, experts * in_width * width, s->numerics.compute, MFU_PART_GRADIENTS);
    if (trains) {
        emit_product(s, n,
                     mfu_kernel_weight_gradient(
                         math_of(s, n), width, in_width, rows / experts, experts, mfu_type_bytes[operand],
                         mfu_type_bytes[into_buffer ? s->numerics.gradient : s->numerics.compute], into_buffer),
                     "wgrad", in_order(s, n, "wgrad_order", g[1]), x, dw);
        if (into_buffer)
            mfu_gradient_in_place(s, n);
    }
    if (mfu_wants_gradient(s, n, 0)) {
        w = mfu_node_weight_again(s, n, w);
        dx = mfu_tensor_new(s, rows, in_width, s->numerics.compute, MFU_PART_ACTIVATIONS);
        multiply(s, n, "dgrad", rows, in_width, width, in_order(s, n, "dgrad_order", g[0]), w, dx);
        mfu_tensor_extend(s, dw == MFU_NO_VIEW ? g[0] : dw);
        if (trains && !s->runtime->fuse)
            mfu_tensor_extend(s, x); /* autograd lets go of what was saved when the node is done */
        mfu_grad_add(s, n, 0, dx);
    }
    if (rows_train)
        mfu_emit_table_gradient(s, n, n->op->attribute[TRAINED], dw);
    else if (dw != MFU_NO_VIEW)
        mfu_param_grad_add(s, n, 0, dw);
}

const struct mfu_primitive mfu_primitive_linear = {
    .name = "linear",
    .summary = "matrix product with a weight",
    .attributes =
        {
            [WIDTH] = {"width", NULL, NULL, "elements of an output row", 1},
            [BIAS] = {"bias", "0", NULL,
                      "whether a bias is added; between 0 and 1: of which part of the columns it is learned"},
            [EXPERTS] = {"experts", "0", NULL, "number of weights that share the rows (MoE); 0: one weight"},
            [VISITS] = {"visits", "1", NULL, "with experts: how many of them one token visits"},
            [TIED] = {"tied", "1", NULL, "with `shares`: whether the weight really is shared"},
            [TRAINED] = {MFU_TRAINED_ROWS, "0", NULL, "with `shares`: rows of it that train where it does not"},
        },
    .inputs = {1, 1},
    .traits = MFU_MULTIPLIES | MFU_ADAPTABLE,
    .split_columns = 1u << WIDTH,
    .split_experts = 1u << EXPERTS,
    .width = MFU_WIDTH_OF(WIDTH),
    .params = params,
    .forward = forward,
    .backward = backward,
};
