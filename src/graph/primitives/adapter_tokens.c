/*
 * adapter_tokens - learned tokens before those of each sequence: prompt tuning, and p-tuning, which sends them through
 * three linears as wide as the model; the result is repeated for each sequence of the batch.
 *
 * They make every later operation longer, the loss too.  peft 0.21.2 peft_model.py (forward, get_prompt), tuners/prompt_tuning/
 * model.py, tuners/p_tuning/model.py.
 */
#include <stddef.h>

#include "graph/adapter_steps.h"

enum { LINEARS = 3 };

static double shape(const struct mfu_operation *op)
{
    return op->in_width[0];
}

/* The weight is the tokens, the bias their encoder. */
static struct mfu_weights params(const struct mfu_operation *op)
{
    double width = op->in_width[0], tokens = op->attribute[MFU_ADAPTER_SIZE] * width,
           encoder = op->attribute[MFU_ADAPTER_MORE] > 0 ? LINEARS * width * (width + 1) : 0;

    return (struct mfu_weights){.weight = tokens, .bias = encoder, .active = tokens + encoder};
}

static int look_up(struct mfu_builder *s, const char *suffix, int n_in, int in, int out)
{
    mfu_emit(s,
             &(struct mfu_emission){
                 .suffix = suffix, .kind = MFU_EMBEDDING, .traffic = MFU_C_DRAM_EMBEDDING, .fusion = MFU_ALONE},
             n_in, &in, 1, &out);
    return out;
}

static int copy(struct mfu_builder *s, const char *suffix, int in, int out)
{
    mfu_emit(
        s,
        &(struct mfu_emission){.suffix = suffix, .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR, .fusion = MFU_MAP},
        1, &in, 1, &out);
    return out;
}

static void forward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    double width = n->op->in_width[0], tokens = n->op->attribute[MFU_ADAPTER_SIZE], rows = s->config->batch * tokens;
    int x = mfu_node_input(s, n, 0), in[2], weight;

    in[0] = look_up(s, "prompt", 0, MFU_NO_VIEW,
                    mfu_tensor_new(s, tokens, width, mfu_adapter_type(s), MFU_PART_ACTIVATIONS));
    weight = n->op->attribute[MFU_ADAPTER_MORE] > 0 ? mfu_node_weight(s, n, 1) : MFU_NO_VIEW;
    for (int i = 0; i < LINEARS && n->op->attribute[MFU_ADAPTER_MORE] > 0; i++) {
        in[0] = mfu_node_save(s, n, mfu_adapter_operand(s, in[0]));
        in[0] = mfu_adapter_product(s, "prompt_encoder", in[0], weight, width, width);
        if (i + 1 < LINEARS)
            in[0] = mfu_adapter_pass(s, "prompt_relu", mfu_view_type(s, in[0]), in[0], MFU_NO_VIEW);
    }
    in[0] =
        copy(s, "prompt_repeat", in[0], mfu_tensor_new(s, rows, width, mfu_view_type(s, in[0]), MFU_PART_ACTIVATIONS));
    in[0] = mfu_emit_cast(s, in[0], mfu_view_type(s, x));
    in[1] = x;
    n->out = mfu_tensor_new(s, mfu_view_rows(s, x) + rows, width, mfu_view_type(s, x), MFU_PART_ACTIVATIONS);
    mfu_emit(
        s,
        &(struct mfu_emission){.suffix = "cat", .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR, .fusion = MFU_MAP},
        2, in, 1, &n->out);
    mfu_tensor_extend(s, in[0]);
}

static void backward(struct mfu_builder *s, int index)
{
    struct mfu_node *n = mfu_node_at(s, index);
    double width = n->op->in_width[0], tokens = n->op->attribute[MFU_ADAPTER_SIZE];
    int g = mfu_view_slice(s, n->gradient, s->config->batch * tokens, width), dw[2] = {MFU_NO_VIEW, MFU_NO_VIEW}, dx;
    bool encoder = n->op->attribute[MFU_ADAPTER_MORE] > 0;

    if (mfu_wants_gradient(s, n, 0)) /* checkpointing asks for it */
        mfu_grad_add(s, n, 0,
                     mfu_view_slice(s, n->gradient, mfu_view_rows(s, n->gradient) - s->config->batch * tokens, width));
    g = copy(s, "prompt_sum", g,
             mfu_tensor_new(s, tokens, width,
                            encoder && s->numerics.autocast ? s->numerics.compute : mfu_adapter_type(s),
                            MFU_PART_ACTIVATIONS));
    if (encoder)
        dw[1] = mfu_tensor_new(s, LINEARS, width * (width + 1), mfu_adapter_type(s), MFU_PART_GRADIENTS);
    for (int i = LINEARS - 1; i >= 0 && encoder; i--) {
        if (i + 1 < LINEARS)
            g = mfu_adapter_pass(s, "prompt_relu_grad", mfu_view_type(s, g), g, n->saved[i + 1]);
        g = mfu_emit_cast(s, g, mfu_view_type(s, n->saved[i]));
        dx = mfu_adapter_product(s, "prompt_encoder_dgrad", g, MFU_NO_VIEW, width, width);
        mfu_adapter_weight_gradient(s, "prompt_encoder_wgrad", g, n->saved[i], width, width);
        g = dx;
    }
    g = mfu_emit_cast(s, g, mfu_adapter_type(s));
    dw[0] = look_up(s, "prompt_grad", 1, g, mfu_tensor_new(s, tokens, width, mfu_adapter_type(s), MFU_PART_GRADIENTS));
    for (int which = 0; which < 2; which++)
        if (dw[which] != MFU_NO_VIEW)
            mfu_param_grad_add(s, n, which, dw[which]);
}

const struct mfu_primitive mfu_primitive_adapter_tokens = {
    .name = "adapter_tokens",
    .summary = "learned tokens before those of each sequence",
    .attributes = {[MFU_ADAPTER_SIZE] = {"tokens", NULL, NULL, "learned tokens of a sequence"},
                   [MFU_ADAPTER_MORE] = {"encoder", "0", NULL, "whether they pass three linears"}},
    .least_inputs = 1,
    .most_inputs = 1,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
