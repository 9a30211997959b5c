/*
 * patches - rows of raw input times a weight: the patches of an image (a
 * convolution whose stride is its size), or features of the whole sequence.
 *
 *     forward   [rows, width] = [rows, features] [features, width]
 *     wgrad     [width, features]
 *
 * The input comes from the loader and needs no gradient.  `extra` tokens without
 * a patch (a class token) have parameters of their own and stand before the
 * others, which takes a copy.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { WIDTH, FEATURES, BIAS, EXTRA, PER, LENGTH, IMAGES, RESIZED };
static const char *const rows_of[] = {"token", "sequence", NULL};
enum { SAVED_INPUT, SAVED_WEIGHT };

static struct mfu_weights params(const struct mfu_operation *op)
{
    double weight = op->attribute[FEATURES] * op->attribute[WIDTH];
    double bias = ((op->attribute[BIAS] > 0) + op->attribute[EXTRA]) * op->attribute[WIDTH];

    return (struct mfu_weights){.weight = weight, .bias = bias, .active = weight + bias};
}

/* Rows of the whole sequence; the extra tokens among them are not computed. */
static double tokens(const struct mfu_builder *s, const struct mfu_node *n)
{
    double length = n->op->attribute[LENGTH];

    return length > 0 ? s->config->batch * length : s->config->tokens;
}

static double rows(const struct mfu_builder *s, const struct mfu_node *n)
{
    return n->op->attribute[PER] ? s->config->batch
                                 : tokens(s, n) - s->config->batch * n->op->attribute[IMAGES] * n->op->attribute[EXTRA];
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    double features = n->op->attribute[FEATURES], width = n->op->attribute[WIDTH];
    int x = mfu_autocast(s, mfu_tensor_loaded(s, rows(s, n), features, n->op->attribute[RESIZED] > 0));
    int w = mfu_node_weight(s, n, 0), all;

    if (rows(s, n) < 1)
        s->image_tokens = 0;
    if (n->op->attribute[BIAS] > 0 || n->op->attribute[EXTRA] > 0)
        mfu_node_weight(s, n, 1);
    mfu_node_save(n, x);
    mfu_node_save(n, w); /* as a convolution does, though nobody wants the gradient of pixels */
    n->out = mfu_tensor_new(s, mfu_view_rows(s, x), width, s->numerics.compute, MFU_PART_ACTIVATIONS);
    mfu_emit_matmul(s, "", s->numerics.math, mfu_view_rows(s, x), width, features, 1, x, w, n->out);
    if (n->op->attribute[EXTRA] > 0) {
        all = mfu_tensor_new(s, tokens(s, n), width, s->numerics.residual, MFU_PART_ACTIVATIONS);
        MFU_EMIT(s, MFU_VIEWS(n->out), MFU_VIEWS(all), .suffix = "cat", .kind = MFU_COPY, .fusion = MFU_MAP);
        n->out = all;
    }
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    double features = n->op->attribute[FEATURES], width = n->op->attribute[WIDTH];
    int x = n->saved[SAVED_INPUT], g = mfu_autocast(s, n->gradient), dw;

    if (mfu_trains(s, n, 1) && (n->op->attribute[BIAS] > 0 || n->op->attribute[EXTRA] > 0)) {
        int db = mfu_tensor_new(s, 1, ((n->op->attribute[BIAS] > 0) + n->op->attribute[EXTRA]) * width,
                                s->numerics.compute, MFU_PART_GRADIENTS);

        MFU_EMIT(s, MFU_VIEWS(g), MFU_VIEWS(db), .suffix = "bias_grad", .kind = MFU_REDUCTION,
                 .traffic = MFU_C_DRAM_REDUCTION, .fusion = MFU_COLUMN, .flops = mfu_view_rows(s, g) * width);
        mfu_param_grad_add(s, n, 1, db);
    }
    if (!mfu_trains(s, n, 0))
        return;
    dw = mfu_tensor_new(s, 1, features * width, s->numerics.compute, MFU_PART_GRADIENTS);
    mfu_emit_weight_gradient(s, "wgrad", s->numerics.math, width, features, mfu_view_rows(s, x), 1, g, x, dw);
    mfu_tensor_extend(s, n->saved[SAVED_WEIGHT]);
    mfu_param_grad_add(s, n, 0, dw);
}

const struct mfu_primitive mfu_primitive_patches = {
    .name = "patches",
    .summary = "raw input, such as patches of an image, times a weight",
    .attributes =
        {
            [WIDTH] = {"width", NULL, NULL, "elements of an output row"},
            [FEATURES] = {"features", NULL, NULL, "elements of an input row: pixels of a patch, all channels"},
            [BIAS] = {"bias", "1", NULL, "whether a bias is added"},
            [EXTRA] = {"extra", "0", NULL, "tokens of a sequence that have no patch (class token)"},
            [PER] = {"per", "token", rows_of, "what has a row: every token, or a sequence as a whole"},
            [LENGTH] = {"length", "0", NULL, "tokens of its sequence; 0: seq", .some = true},
            [RESIZED] = {"resized", "0", NULL, "whether the model's code makes the raw input of the loaded one"},
            [IMAGES] = {"images", "1", NULL, "of a sequence, each of which has the extra tokens"},
        },
    .traits = MFU_MULTIPLIES,
    .width = MFU_WIDTH_OF(WIDTH),
    .params = params,
    .forward = forward,
    .backward = backward,
};
