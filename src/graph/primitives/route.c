/*
 * route - sends every token to its top_k experts (mixture of experts).
 *
 * A small linear scores the experts, softmax and top-k choose, and the chosen
 * rows are copied into the order of the experts: top_k rows leave for each that
 * enters.  The linears that follow carry `experts` and share these rows.  A second
 * input is what is sent where that is not what is scored.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { EXPERTS, TOP_K, BIAS, FP32, EARLY, GROUPS, TOP_GROUPS };
enum { SAVED_INPUT, SAVED_WEIGHT, SAVED_SCORES, SAVED_ROWS };

enum { SCORED, SENT };

/* The input whose rows are sent. */
static int sent(const struct mfu_operation *op)
{
    return op->in_width[SENT] > 0 ? SENT : SCORED;
}

static double shape(const struct mfu_operation *op)
{
    return op->in_width[sent(op)];
}

static struct mfu_weights params(const struct mfu_operation *op)
{
    double n = op->in_width[0] * op->attribute[EXPERTS];

    double bias = op->attribute[BIAS] > 0 ? op->attribute[EXPERTS] : 0;

    return (struct mfu_weights){.weight = n, .bias = bias, .active = n + bias};
}

/* In fp32 where the code makes its operands so. */
static enum mfu_peak router_math(const struct mfu_builder *s, int x)
{
    return mfu_view_type(s, x) == MFU_F32 && s->numerics.compute != MFU_F32 ? MFU_PEAK_FP32 : s->numerics.math;
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    double experts = n->op->attribute[EXPERTS], top_k = mfu_routed_rows(s, n->op->attribute[TOP_K]);
    bool wide = n->op->attribute[FP32] > 0;
    int given = mfu_node_input(s, n, SCORED), x = wide ? mfu_emit_cast(s, given, MFU_F32) : given;
    int w = mfu_node_weight(s, n, 0);
    double rows = mfu_view_rows(s, given), width = n->op->in_width[SCORED];
    int logits = mfu_tensor_new(s, rows, experts, wide ? MFU_F32 : s->numerics.compute, MFU_PART_ACTIVATIONS);
    int scores = mfu_tensor_new(s, rows, experts, MFU_F32, MFU_PART_ACTIVATIONS);

    if (!wide || s->numerics.widens)
        x = mfu_autocast(s, x); /* which takes fp32 back */
    else if (w != MFU_NO_VIEW)
        w = mfu_emit_cast(s, w, MFU_F32);
    if (n->op->attribute[BIAS] > 0)
        mfu_node_weight(s, n, 1);
    mfu_emit_matmul(s, "router", router_math(s, x), rows, experts, width, 1, x, w, logits);
    MFU_EMIT(s, MFU_VIEWS(logits), MFU_VIEWS(scores), .suffix = "top_k", .kind = MFU_REDUCTION,
             .traffic = MFU_C_DRAM_SOFTMAX, .flops = 8 * rows * experts, .launches = 6);
    given = mfu_node_input(s, n, sent(n->op));
    width = shape(n->op);
    n->out = mfu_tensor_new(s, rows * top_k, width, mfu_view_type(s, given), MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_VIEWS(given), MFU_VIEWS(n->out), .suffix = "permute", .kind = MFU_COPY,
             .traffic = MFU_C_DRAM_EMBEDDING, .launches = 2,
             .extra_read_bytes = (top_k - 1) * rows * width * mfu_type_bytes[mfu_view_type(s, given)]);
    MFU_SAVE(n, x, w, scores);
    if (n->op->attribute[EARLY] > 0) /* each row times its score */
        n->out = mfu_emit_broadcast(s, "weigh", mfu_view_type(s, given), 1, mfu_node_save(n, n->out), scores);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    double experts = n->op->attribute[EXPERTS], width = n->op->in_width[0];
    int x = n->saved[SAVED_INPUT], g = n->gradient;
    double rows = mfu_view_rows(s, x);
    int dx = mfu_tensor_new(s, rows, shape(n->op), mfu_view_type(s, g), MFU_PART_ACTIVATIONS);
    int dlogits = mfu_tensor_new(s, rows, experts, mfu_view_type(s, x), MFU_PART_ACTIVATIONS);
    int drouter, dw = MFU_NO_VIEW;

    if (n->op->attribute[EARLY] > 0) {
        int product = mfu_emit_pointwise(s, "dscore", mfu_view_type(s, g), 1, g, n->saved[SAVED_ROWS], MFU_NO_VIEW);

        g = mfu_emit_broadcast(s, "dweigh", mfu_view_type(s, g), 1, g, n->saved[SAVED_SCORES]);
        mfu_tensor_extend(s, product);
    }
    MFU_EMIT(s, MFU_VIEWS(g), MFU_VIEWS(dx), .suffix = "unpermute", .kind = MFU_COPY, .traffic = MFU_C_DRAM_EMBEDDING,
             .launches = 2);
    MFU_EMIT(s, MFU_VIEWS(n->saved[SAVED_SCORES]), MFU_VIEWS(dlogits), .suffix = "dscores", .kind = MFU_REDUCTION,
             .traffic = MFU_C_DRAM_SOFTMAX, .flops = 8 * rows * experts, .launches = 6);
    if (mfu_trains(s, n, 0)) {
        dw = mfu_tensor_new(s, 1, width * experts, mfu_view_type(s, x), MFU_PART_GRADIENTS);
        mfu_emit_weight_gradient(s, "router.wgrad", router_math(s, x), experts, width, rows, 1, dlogits, x, dw);
    }
    if (n->op->attribute[BIAS] > 0 && mfu_trains(s, n, 1))
        mfu_param_grad_add(s, n, 1, mfu_emit_columns_sum(s, "router.bias_grad", dlogits, experts, s->numerics.compute));
    drouter = mfu_tensor_new(s, rows, width, mfu_view_type(s, x), MFU_PART_ACTIVATIONS);
    mfu_emit_matmul(s, "router.dgrad", router_math(s, x), rows, width, experts, 1, dlogits, n->saved[SAVED_WEIGHT],
                    drouter);
    if (dw != MFU_NO_VIEW)
        mfu_param_grad_add(s, n, 0, dw);
    mfu_grad_add(s, n, sent(n->op), dx);
    mfu_grad_add(s, n, SCORED, drouter);
}

const struct mfu_primitive mfu_primitive_route = {
    .name = "route",
    .summary = "dispatch of tokens to experts (MoE)",
    .attributes =
        {
            [EXPERTS] = {"experts", "n_experts", NULL, "experts to choose from"},
            [TOP_K] = {"top_k", "top_k", NULL, "experts that one token visits", 1},
            [BIAS] = {"bias", "0", NULL, "whether a bias is added to the scores"},
            [FP32] = {"fp32", "0", NULL, "whether the code scores in fp32 (outside autocast)"},
            [EARLY] = {"early", "0", NULL, "whether rows are weighed on their way to the experts"},
            [GROUPS] = {"groups", "1", NULL, "groups of experts, side by side, of which a token first chooses"},
            [TOP_GROUPS] = {"top_groups", "1", NULL, "how many of these"},
        },
    .inputs = {1, 2},
    .traits = MFU_MULTIPLIES | MFU_ROUTES,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
