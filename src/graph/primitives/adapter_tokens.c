/*
 * adapter_tokens - what is learned before the tokens of each sequence: tokens (prompt tuning, p-tuning), or the keys and
 * values of every layer (prefix tuning).  An MLP may make it.
 *
 * Tokens are repeated for each sequence of the batch, and make every later operation longer, the loss too.  Keys and
 * values are made for each sequence and handed to attention, which reads one more tensor; their gradients arrive layer
 * by layer in the tensor that graph.c makes.  peft 0.21.2 peft_model.py (forward, get_prompt), tuners/prompt_tuning/model.py,
 * tuners/p_tuning/model.py, tuners/prefix_tuning/model.py.
 */
#include <stddef.h>

#include "graph/adapter_steps.h"

enum { KEYS = MFU_ADAPTER_WIDTH, ENCODER = MFU_ADAPTER_MORE, LAYERS }; /* attributes */
enum { MOST_LINEARS = 3 };

static bool makes_keys(const struct mfu_operation *op)
{
    return op->attribute[KEYS] > 0;
}

/* Elements that are made of a learned token. */
static double made(const struct mfu_operation *op)
{
    return makes_keys(op) ? op->attribute[LAYERS] * op->attribute[KEYS] : op->in_width[0];
}

/* The linears of the MLP, and the widths before and behind each. */
static int encoder(const struct mfu_operation *op, double width[MOST_LINEARS + 1])
{
    double in = op->in_width[0], hidden = op->attribute[ENCODER];
    int n = hidden > 0 ? makes_keys(op) ? 2 : 3 : 0;

    width[0] = in;
    width[1] = width[2] = hidden;
    width[n] = made(op);
    return n;
}

/* The weight is what is learned, the bias the MLP. */
static struct mfu_weights params(const struct mfu_operation *op)
{
    double width[MOST_LINEARS + 1], linears = 0, learned;
    int n = encoder(op, width);

    for (int i = 0; i < n; i++)
        linears += width[i + 1] * (width[i] + 1);
    learned = op->attribute[MFU_ADAPTER_SIZE] * width[0];
    return (struct mfu_weights){.weight = learned, .bias = linears, .active = learned + linears};
}

static int look_up(struct mfu_builder *s, const char *suffix, int n_in, int in, int out)
{
    MFU_EMIT(s, MFU_LIST(n_in, &in), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_EMBEDDING,
             .traffic = MFU_C_DRAM_EMBEDDING);
    return out;
}

static int copy(struct mfu_builder *s, const char *suffix, double launches, int in, int out)
{
    mfu_emit_copy(s, suffix, launches, 1, &in, out);
    return out;
}

/* The learned part before the sequences. */
static void put_before(struct mfu_builder *s, struct mfu_node *n, int learned)
{
    double width = n->op->in_width[0], rows = s->config->batch * n->op->attribute[MFU_ADAPTER_SIZE];
    int x = mfu_node_input(s, n, 0), in[2] = {MFU_NO_VIEW, x};

    learned = copy(s, "prompt_repeat", 0, learned,
                   mfu_tensor_new(s, rows, width, mfu_view_type(s, learned), MFU_PART_ACTIVATIONS));
    in[0] = mfu_emit_cast(s, learned, mfu_view_type(s, x));
    n->out = mfu_emit_laid(s, "cat", 1, mfu_view_rows(s, x) + rows, width, 2, in);
    mfu_tensor_extend(s, in[0]);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    double width[MOST_LINEARS + 1],
        rows = n->op->attribute[MFU_ADAPTER_SIZE] * (makes_keys(n->op) ? s->config->batch : 1);
    int linears = encoder(n->op, width), x, weight;

    x = look_up(s, "prompt", 0, MFU_NO_VIEW,
                mfu_tensor_new(s, rows, width[0], mfu_adapter_type(s), MFU_PART_ACTIVATIONS));
    weight = linears ? mfu_node_weight(s, n, 1) : MFU_NO_VIEW;
    for (int i = 0; i < linears; i++) {
        x = mfu_node_save(n, mfu_adapter_operand(s, x));
        x = mfu_adapter_product(s, "prompt_encoder", x, weight, width[i + 1], width[i]);
        if (i + 1 < linears)
            x = mfu_adapter_pass(s, "prompt_act", mfu_view_type(s, x), x, MFU_NO_VIEW);
    }
    mfu_node_save(n, weight);
    if (!makes_keys(n->op)) {
        put_before(s, n, x);
        return;
    }
    x = mfu_emit_cast(s, x, s->numerics.weight);
    n->out = copy(s, "prefix_layers", 2 * n->op->attribute[LAYERS], x,
                  mfu_tensor_new(s, rows, made(n->op), mfu_view_type(s, x), MFU_PART_ACTIVATIONS));
}

/* The gradient of what is learned, where the MLP ends. */
static int arrived(struct mfu_builder *s, struct mfu_node *n)
{
    double width = n->op->in_width[0], tokens = n->op->attribute[MFU_ADAPTER_SIZE], rows = s->config->batch * tokens;
    bool halves = n->op->attribute[ENCODER] > 0 && s->numerics.autocast;
    int g = n->gradient;

    for (int i = 0; i < 2 && makes_keys(n->op); i++) /* of all layers together, then by token */
        g = copy(s, i ? "prefix_permute" : "prefix_cat", 0, g,
                 mfu_tensor_new(s, rows, made(n->op), mfu_view_type(s, g), MFU_PART_ACTIVATIONS));
    if (makes_keys(n->op))
        return g;
    if (mfu_wants_gradient(s, n, 0)) /* checkpointing asks for it */
        mfu_grad_add(s, n, 0, mfu_view_slice(s, g, mfu_view_rows(s, g) - rows, width));
    return copy(
        s, "prompt_sum", 0, mfu_view_slice(s, g, rows, width),
        mfu_tensor_new(s, tokens, width, halves ? s->numerics.compute : mfu_adapter_type(s), MFU_PART_ACTIVATIONS));
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    double width[MOST_LINEARS + 1];
    int linears = encoder(n->op, width), g = arrived(s, n), dw[2] = {MFU_NO_VIEW, MFU_NO_VIEW}, dx;

    if (linears)
        dw[1] = mfu_tensor_new(s, 1, params(n->op).bias, mfu_adapter_type(s), MFU_PART_GRADIENTS);
    for (int i = linears - 1; i >= 0; i--) {
        if (i + 1 < linears)
            g = mfu_adapter_pass(s, "prompt_act_grad", mfu_view_type(s, g), g, n->saved[i + 1]);
        g = mfu_emit_cast(s, g, mfu_view_type(s, n->saved[i]));
        dx = mfu_adapter_product(s, "prompt_encoder_dgrad", g, n->saved[linears], width[i], width[i + 1]);
        mfu_adapter_weight_gradient(s, "prompt_encoder_wgrad", g, n->saved[i], width[i + 1], width[i]);
        g = dx;
    }
    g = mfu_emit_cast(s, g, mfu_adapter_type(s));
    dw[0] = look_up(
        s, "prompt_grad", 1, g,
        mfu_tensor_new(s, n->op->attribute[MFU_ADAPTER_SIZE], width[0], mfu_adapter_type(s), MFU_PART_GRADIENTS));
    for (int which = 0; which < 2; which++)
        if (dw[which] != MFU_NO_VIEW)
            mfu_param_grad_add(s, n, which, dw[which]);
}

const struct mfu_primitive mfu_primitive_adapter_tokens = {
    .name = "adapter_tokens",
    .summary = "learned tokens before those of each sequence, or learned keys and values",
    .attributes = {[MFU_ADAPTER_SIZE] = {"tokens", NULL, NULL, "learned tokens of a sequence"},
                   [KEYS] = {"keys", "0", NULL, "elements of a layer's keys and values for each; 0: a token"},
                   [ENCODER] = {"encoder", "0", NULL, "width inside the MLP that makes them; 0: there is none"},
                   [LAYERS] = {"layers", "0", NULL, "layers whose keys and values they are"}},
    .inputs = {1, 1},
    .params = params,
    .forward = forward,
    .backward = backward,
};
