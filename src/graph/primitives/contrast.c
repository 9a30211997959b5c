/*
 * contrast - the loss of two towers: every row of one is compared with every row of the other.
 *
 * Rows are divided by their length; their products times a learned factor are the scores.  A row belongs to
 * the row of the same number: cross-entropy along both sides (CLIP), or, with a learned bias, a yes or no for each
 * pair (SigLIP).  Further inputs are returned beside the loss, so that they stay until then.  As transformers 5.23 writes it (modeling_clip.py, modeling_siglip.py): the rows of one GPU.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { BIAS };
enum { TEXT, IMAGE, LENGTH, UNIT = LENGTH + 2, SCORES = UNIT + 2, OF_TEXTS, OF_IMAGES }; /* saved */

static struct mfu_weights params(const struct mfu_operation *op)
{
    bool bias = op->attribute[BIAS] > 0;

    return (struct mfu_weights){.weight = 1, .bias = bias, .active = 1 + bias};
}

/* A kernel over rows of a view, whose result has so many columns. */
static int rows(struct mfu_builder *s, const char *suffix, int view, double columns, double flops)
{
    int out = mfu_tensor_new(s, mfu_view_rows(s, view), columns, mfu_view_type(s, view), MFU_PART_LOGITS_LOSS);

    MFU_EMIT(s, MFU_VIEWS(view), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_LOSS, .fusion = MFU_ROW,
             .flops = flops * mfu_view_elements(s, view));
    return out;
}

static int product(struct mfu_builder *s, const char *suffix, double m, double n, double k, int a, int b)
{
    int out = mfu_tensor_new(s, m, n, s->numerics.compute, MFU_PART_LOGITS_LOSS), in[] = {a, b};
    double bytes = mfu_type_bytes[s->numerics.compute];
    struct mfu_kernel gemm = mfu_kernel_gemm(s->numerics.math, m, n, k, 1, bytes, bytes, false);

    gemm.aligned = true; /* of a batch that is a multiple of eight */
    mfu_emit_kernel(s, &gemm, suffix, 0, 2, in, 1, &out);
    return out;
}

/* The rows of a tower divided by their lengths, for a product. */
static int unit(struct mfu_builder *s, struct mfu_node *n, int i, int saved[2])
{
    int x = mfu_node_input(s, n, i), wide = s->numerics.widens ? mfu_emit_cast(s, x, MFU_F32) : x;

    saved[0] = rows(s, "length", mfu_emit_map(s, "square", 1, wide, MFU_NO_VIEW), 1, 1);
    saved[1] = wide;
    return mfu_autocast(s, mfu_emit_broadcast(s, "divide", mfu_view_type(s, wide), 1, x, saved[0]));
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int kept[2][2], units[2], scores, scaled;
    double b = mfu_view_rows(s, mfu_node_input(s, n, 0)), k = mfu_view_columns(s, mfu_node_input(s, n, 0));

    for (int i = 1; i >= 0; i--)
        units[i] = unit(s, n, i, kept[i]);
    scores = product(s, "scores", b, b, k, units[0], units[1]);
    scaled = mfu_emit_map(s, "scale", 1, scores, MFU_NO_VIEW);
    for (int i = 0; i < 2; i++)
        mfu_node_save(n, kept[i][1]);
    for (int i = 0; i < 2; i++)
        mfu_node_save(n, kept[i][0]);
    for (int i = 0; i < 2; i++)
        mfu_node_save(n, units[i]);
    mfu_node_save(n, scores);
    if (n->op->attribute[BIAS] > 0) {
        mfu_node_weight(s, n, 1);
        scaled = mfu_emit_map(s, "bias", 1, scaled, MFU_NO_VIEW);
        mfu_node_save(n, mfu_emit_map(s, "signed", 1, scaled, MFU_NO_VIEW));
        n->out = rows(s, "log_sigmoid", n->saved[OF_TEXTS], 1, 6);
    } else {
        for (int i = 0; i < 2; i++) /* along both sides */
            mfu_node_save(n,
                          rows(s, i ? "log_softmax_images" : "log_softmax_texts",
                               s->numerics.widens ? mfu_emit_cast(s, scaled, MFU_F32) : scaled, b, 5));
        n->out = rows(s, "nll", n->saved[OF_IMAGES], 1, 0);
    }
    mfu_node_weight(s, n, 0);
    mfu_tensor_retain(s, n->out);
    for (int i = 2; i < n->source->n_in; i++)
        mfu_tensor_extend(s, mfu_node_input(s, n, i));
}

/* A gradient of one number, of a factor or of what is added to all. */
static void give_parameter(struct mfu_builder *s, struct mfu_node *n, int which, int view)
{
    int sum;

    if (!mfu_trains(s, n, which))
        return;
    sum = mfu_tensor_new(s, 1, 1, s->numerics.weight, MFU_PART_GRADIENTS);
    MFU_EMIT(s, MFU_VIEWS(view), MFU_VIEWS(sum), .suffix = which ? "bias_grad" : "factor_grad", .kind = MFU_REDUCTION,
             .traffic = MFU_C_DRAM_REDUCTION, .flops = 2 * mfu_view_elements(s, view));
    mfu_param_grad_add(s, n, which, sum);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int of_texts = n->saved[OF_TEXTS], scores = n->saved[SCORES], d;
    double b = mfu_view_rows(s, scores), k = mfu_view_columns(s, n->saved[TEXT]);
    bool pairs = n->op->attribute[BIAS] > 0;

    if (pairs)
        d = mfu_emit_map(s, "log_sigmoid_grad", 6, of_texts, MFU_NO_VIEW);
    else
        d = mfu_emit_map(s, "add", 1, rows(s, "log_softmax_images_grad", n->saved[OF_IMAGES], b, 4),
                         rows(s, "log_softmax_texts_grad", of_texts, b, 4));
    d = mfu_emit_cast(s, d, mfu_view_type(s, scores));
    if (pairs)
        give_parameter(s, n, 1, d);
    give_parameter(s, n, 0, mfu_emit_map(s, "factor_grads", 1, d, scores));
    d = mfu_emit_map(s, "scale_grad", 1, d, MFU_NO_VIEW);
    for (int i = 1; i >= 0; i--) {
        int g = product(s, i ? "images_grad" : "texts_grad", b, k, b, d, n->saved[UNIT + 1 - i]);
        int wide = n->saved[i ? IMAGE : TEXT];

        g = mfu_emit_cast(s, g, mfu_view_type(s, wide));
        g = mfu_emit_broadcast(s, "divide_grad", mfu_view_type(s, g), 6, g, n->saved[LENGTH + i]);
        mfu_tensor_extend(s, wide);
        mfu_grad_add(s, n, i, mfu_emit_cast(s, g, mfu_view_type(s, mfu_node_input(s, n, i))));
    }
}

const struct mfu_primitive mfu_primitive_contrast = {
    .name = "contrast",
    .summary = "loss of two towers, over all pairs of a batch",
    .attributes = {[BIAS] = {"bias", "0", NULL, "whether scores have a learned bias, and each pair is a yes or no"}},
    .inputs = {2, MFU_INPUTS},
    .traits = MFU_ENDS_IN_LOSS | MFU_COMPARES,
    .width = MFU_WIDTH_ONE,
    .params = params,
    .forward = forward,
    .backward = backward,
};
