/*
 * norm - LayerNorm or RMSNorm over the elements of a row.
 *
 * LayerNorm is one kernel forward, two backward (input gradient; a column
 * reduction for gamma and beta), and saves its input, mean and rstd.  Under
 * autocast it runs in fp32.  RMSNorm in eager PyTorch, as Hugging Face writes
 * it, is a chain of small kernels that saves an fp32 copy of its input and the
 * normalised row; a runtime with whole norms runs it as one kernel.  rms_fp32
 * is Gemma's: the weight, too, is multiplied with in fp32; layer_fp32 is Cohere's,
 * the same of a LayerNorm.  layer_by_hand is LayerNorm as code for teaching writes
 * it: (x - x.mean()) / sqrt(x.var() + eps), times scale, plus shift; rms_given is T5's, which multiplies its input
 * as it is; rms_whole is torch.nn.RMSNorm, one kernel; layer_1p is Nemotron's, whose weight is 1 more than what trains, and
 * which autocast lets compute in 16 bits.  batch normalises columns (channels) over all rows: it passes over them three times forward
 * (statistics, and again) and five times backward.  group does so over groups of channels of one sample: autocast runs it in
 * fp32, and PyTorch's kernel wants the channels of an image one after the other (torch 1.12 native/group_norm.cpp: contiguous()).
 * unit divides by the length alone (torch 2.15 nn/functional.py, normalize()): autocast makes that, and so the result, fp32.
 */
#include <stddef.h>

#include "graph/builder.h"

enum { KIND, BIAS, WEIGHT, GROUPS, CHANNELS_LAST };
enum { LAYER, RMS, RMS_FP32, LAYER_FP32, LAYER_BY_HAND, RMS_GIVEN, BATCH, RMS_WHOLE, LAYER_1P, GROUP, UNIT };
static const char *const kinds[] = {"layer", "rms",       "rms_fp32", "layer_fp32", "layer_by_hand", "rms_given",
                                    "batch", "rms_whole", "layer_1p", "group",      "unit",          NULL};
enum { SAVED_X, SAVED_STATISTICS, SAVED_NORMALISED, SAVED_CENTRED, SAVED_GIVEN };
enum { SAVED_SHIFTED = SAVED_NORMALISED, SAVED_LENGTH = SAVED_NORMALISED };

static struct mfu_weights params(const struct mfu_operation *op)
{
    double row = op->in_width[0] / op->attribute[GROUPS];
    double weight = op->attribute[WEIGHT] > 0 ? row : 0;
    double bias = op->attribute[BIAS] > 0 ? row : 0;

    return (struct mfu_weights){.weight = weight, .bias = bias, .active = weight + bias};
}

/* One fp32 number (or `columns` of them) per row and group. */
static int row_statistics(struct mfu_builder *s, const struct mfu_node *n, int x, double columns)
{
    return mfu_tensor_new(s, mfu_view_rows(s, x), columns * n->op->attribute[GROUPS], MFU_F32, MFU_PART_ACTIVATIONS);
}

static void whole_forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0);
    int kind = (int)n->op->attribute[KIND], shifted = MFU_NO_VIEW, out[2];

    if (kind == LAYER_1P) {
        shifted = mfu_tensor_new(s, 1, mfu_view_columns(s, x), s->numerics.compute, MFU_PART_ACTIVATIONS);
        MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(shifted), .suffix = "weight", .kind = MFU_POINTWISE, .fusion = MFU_MAP,
                 .flops = mfu_view_columns(s, x));
    }
    if (s->numerics.widens)
        x = mfu_emit_cast(s, x, kind == LAYER_1P ? s->numerics.compute : MFU_F32);
    out[0] = mfu_tensor_like(s, x);
    out[1] = row_statistics(s, n, x, kind == LAYER || kind == LAYER_1P ? 2 : 1);
    MFU_EMIT(s, MFU_VIEWS(x), MFU_LIST(2, out), .kind = MFU_NORM, .traffic = MFU_C_DRAM_NORM, .fusion = MFU_ROW,
             .flops = 8 * mfu_view_elements(s, x));
    mfu_node_save(n, x);
    mfu_node_save(n, out[1]);
    if (shifted != MFU_NO_VIEW)
        mfu_node_save(n, shifted);
    n->out = out[0];
}

static void whole_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[SAVED_X], in[] = {n->gradient, x, n->saved[SAVED_STATISTICS]};
    double elements = mfu_view_elements(s, x);
    int dx, dgamma;

    in[0] = mfu_emit_cast(s, in[0], mfu_view_type(s, x));
    dx = mfu_tensor_like(s, x);
    MFU_EMIT(s, MFU_LIST(3, in), MFU_VIEWS(dx), .suffix = "dgrad", .kind = MFU_NORM,
             .traffic = MFU_C_DRAM_NORM_BACKWARD, .fusion = MFU_ROW, .flops = 14 * elements);
    if (n->op->attribute[KIND] == LAYER_1P)
        mfu_tensor_extend(s, n->saved[SAVED_SHIFTED]);
    if (n->op->attribute[WEIGHT] > 0 && mfu_trains(s, n, 0)) {
        bool beta = n->op->attribute[BIAS] > 0;

        dgamma = mfu_tensor_new(s, 1, (beta ? 2 : 1) * mfu_view_columns(s, x), s->numerics.weight, MFU_PART_GRADIENTS);
        MFU_EMIT(s, MFU_LIST(3, in), MFU_VIEWS(dgamma), .suffix = "wgrad", .kind = MFU_REDUCTION,
                 .traffic = MFU_C_DRAM_REDUCTION, .fusion = MFU_COLUMN, .flops = 4 * elements, .launches = 2);
        mfu_tensor_extend(s, dx);
        mfu_param_grad_add(s, n, 0, dgamma);
    }
    mfu_grad_add(s, n, 0, dx);
}

/* x minus the mean of its row. */
static int centre(struct mfu_builder *s, const struct mfu_node *n, int x)
{
    int mean = row_statistics(s, n, x, 1);

    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(mean), .suffix = "mean", .kind = MFU_REDUCTION, .traffic = MFU_C_DRAM_NORM,
             .fusion = MFU_ROW, .flops = mfu_view_elements(s, x));
    return mfu_emit_broadcast(s, "sub", MFU_F32, 1, x, mean);
}

/* x.float(), square, mean, rsqrt, multiply, back to the type, times weight. */
static void chain_forward(struct mfu_builder *s, struct mfu_node *n)
{
    int given = mfu_node_input(s, n, 0), x = mfu_emit_cast(s, given, MFU_F32);
    /* What is multiplied as it is stays fp32, unless the weight is not. */
    enum mfu_type type = n->op->attribute[KIND] == RMS_GIVEN ? s->numerics.weight : mfu_view_type(s, given);
    double rows = mfu_view_rows(s, x), columns = mfu_view_columns(s, x);
    int centred = n->op->attribute[KIND] == LAYER_FP32 ? centre(s, n, x) : x; /* for the variance */
    int square = mfu_emit_pointwise(s, "pow", MFU_F32, 1, centred, MFU_NO_VIEW, MFU_NO_VIEW);
    int mean = row_statistics(s, n, x, 1), rstd = row_statistics(s, n, x, 1), normalised;
    bool back = mfu_wants_gradient(s, n, 0);

    MFU_EMIT(s, MFU_VIEWS(square), MFU_VIEWS(mean), .suffix = "mean", .kind = MFU_REDUCTION, .traffic = MFU_C_DRAM_NORM,
             .fusion = MFU_ROW, .flops = rows * columns);
    MFU_EMIT(s, MFU_VIEWS(mean), MFU_VIEWS(rstd), .suffix = "rsqrt", .kind = MFU_POINTWISE, .fusion = MFU_MAP,
             .flops = 2 * rows, .launches = 2);
    if (centred != x) /* once more, for the result */
        x = mfu_emit_broadcast(s, "sub", MFU_F32, 1, x, MFU_NO_VIEW);
    normalised = mfu_emit_broadcast(s, "mul", MFU_F32, 1, x, rstd);
    if (n->op->attribute[KIND] == RMS || n->op->attribute[KIND] == RMS_GIVEN)
        normalised = mfu_emit_cast(s, normalised, type);
    MFU_SAVE(n, back ? x : MFU_NO_VIEW, back ? rstd : MFU_NO_VIEW,
             n->op->attribute[WEIGHT] > 0 ? normalised : MFU_NO_VIEW,
             back && n->op->attribute[KIND] == LAYER_FP32 ? centred : MFU_NO_VIEW,
             back && n->op->attribute[KIND] == RMS_GIVEN ? given : MFU_NO_VIEW);
    if (n->op->attribute[KIND] == RMS && n->op->attribute[WEIGHT] > 0 && s->parameters[n->parameter[0]].type == MFU_F32)
        type = MFU_F32; /* the weight's, which autocast leaves alone */
    if (n->op->attribute[WEIGHT] > 0)
        normalised = mfu_emit_broadcast(s, "weight", type == MFU_F32 ? type : mfu_view_type(s, normalised), 1,
                                        normalised, MFU_NO_VIEW);
    n->out = mfu_emit_cast(s, normalised, type);
}

static void chain_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[SAVED_X], rstd = n->saved[SAVED_STATISTICS], normalised = n->saved[SAVED_NORMALISED];
    enum mfu_type type = normalised != MFU_NO_VIEW                             ? mfu_view_type(s, normalised)
        : n->op->attribute[KIND] == RMS || n->op->attribute[KIND] == RMS_GIVEN ? mfu_view_type(s, n->out)
                                                                               : MFU_F32;
    int g = mfu_emit_cast(s, n->gradient, type), dn = g, product, drstd, dsum, dx, square, power, dmean;
    double rows = mfu_view_rows(s, g), columns = mfu_view_columns(s, g);

    if (n->op->attribute[WEIGHT] > 0) {
        int dw = MFU_NO_VIEW;

        if (mfu_trains(s, n, 0)) {
            dw = mfu_tensor_new(s, 1, columns, s->numerics.weight, MFU_PART_GRADIENTS);
            product = mfu_emit_pointwise(s, "dweight", mfu_view_type(s, g), 1, g, normalised, MFU_NO_VIEW);
            MFU_EMIT(s, MFU_VIEWS(product), MFU_VIEWS(dw), .suffix = "wgrad", .kind = MFU_REDUCTION,
                     .traffic = MFU_C_DRAM_REDUCTION, .fusion = MFU_COLUMN, .flops = rows * columns);
        }
        if (mfu_wants_gradient(s, n, 0))
            dn = mfu_emit_broadcast(s, "dmul", mfu_view_type(s, g), 1, g, MFU_NO_VIEW);
        mfu_tensor_extend(s, dw);
        if (dw != MFU_NO_VIEW)
            mfu_param_grad_add(s, n, 0, dw);
    }
    if (!mfu_wants_gradient(s, n, 0))
        return;
    dn = mfu_emit_cast(s, dn, MFU_F32);
    product = mfu_emit_pointwise(s, "dmul", MFU_F32, 1, dn,
                                 n->op->attribute[KIND] == RMS_GIVEN ? n->saved[SAVED_GIVEN] : x, MFU_NO_VIEW);
    drstd = row_statistics(s, n, x, 1);
    dsum = mfu_emit_broadcast(s, "dmul", MFU_F32, 1, dn, rstd);
    MFU_EMIT(s, MFU_VIEWS(product), MFU_VIEWS(drstd), .suffix = "sum", .kind = MFU_REDUCTION,
             .traffic = MFU_C_DRAM_NORM_BACKWARD, .fusion = MFU_ROW, .flops = rows * columns,
             .launches = 4 /* and rsqrt', mean' */);
    dmean = mfu_emit_broadcast(s, "dmean", MFU_F32, 1, x, drstd);
    if (n->saved[SAVED_CENTRED] != MFU_NO_VIEW)
        x = n->saved[SAVED_CENTRED];
    power = mfu_emit_pointwise(s, "dpow", MFU_F32, 1, x, MFU_NO_VIEW, MFU_NO_VIEW);
    square = mfu_emit_pointwise(s, "dpow", MFU_F32, 1, power, MFU_NO_VIEW, MFU_NO_VIEW);
    square = mfu_emit_pointwise(s, "dpow", MFU_F32, 1, square, dmean, MFU_NO_VIEW);
    mfu_tensor_extend(s, x); /* one expression in one function of autograd */
    mfu_tensor_extend(s, power);
    dx = mfu_view_slice(s, dsum, rows, columns);
    MFU_EMIT(s, MFU_VIEWS(dsum, square), MFU_VIEWS(dx), .suffix = "add", .kind = MFU_POINTWISE, .fusion = MFU_MAP,
             .flops = rows * columns);
    if (n->saved[SAVED_CENTRED] != MFU_NO_VIEW) { /* and of the mean */
        int sum = row_statistics(s, n, x, 1);

        MFU_EMIT(s, MFU_VIEWS(dx), MFU_VIEWS(sum), .suffix = "sum", .kind = MFU_REDUCTION,
                 .traffic = MFU_C_DRAM_NORM_BACKWARD, .fusion = MFU_ROW, .flops = rows * columns, .launches = 3);
        dx = mfu_emit_broadcast(s, "add", MFU_F32, 1, dx, sum);
    }
    mfu_grad_add(s, n, 0, dx);
}

/* A number per row from a tensor, or from the numbers of rows (where `launches` of them follow each other). */
static int reduce_rows(struct mfu_builder *s, const struct mfu_node *n, const char *suffix, int x, double launches)
{
    int out = row_statistics(s, n, x, 1);
    bool of_rows = mfu_view_columns(s, x) <= n->op->attribute[GROUPS];

    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(out), .suffix = suffix, .kind = of_rows ? MFU_POINTWISE : MFU_REDUCTION,
             .traffic = of_rows ? MFU_C_DRAM_POINTWISE : MFU_C_DRAM_NORM, .fusion = of_rows ? MFU_MAP : MFU_ROW,
             .flops = mfu_view_elements(s, x), .launches = launches);
    return out;
}

static void by_hand_forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0), mean = reduce_rows(s, n, "mean", x, 1), var = reduce_rows(s, n, "var", x, 1);
    enum mfu_type type = mfu_view_type(s, x);
    int centred = mfu_emit_broadcast(s, "sub", type, 1, x, mean), std = reduce_rows(s, n, "sqrt", var, 2);
    int normalised = mfu_emit_broadcast(s, "div", type, 1, centred, std);

    MFU_SAVE(n, x, std, normalised, centred);
    n->out = normalised;
    if (n->op->attribute[WEIGHT] > 0)
        n->out = mfu_emit_broadcast(s, "scale", type, 1, n->out, MFU_NO_VIEW);
    if (n->op->attribute[BIAS] > 0)
        n->out = mfu_emit_broadcast(s, "shift", type, 1, n->out, MFU_NO_VIEW);
}

/* The sum over rows that a parameter's gradient is. */
static int sum_columns(struct mfu_builder *s, int x)
{
    int out = mfu_tensor_new(s, 1, mfu_view_columns(s, x), s->numerics.weight, MFU_PART_GRADIENTS);

    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(out), .suffix = "wgrad", .kind = MFU_REDUCTION, .traffic = MFU_C_DRAM_REDUCTION,
             .fusion = MFU_COLUMN, .flops = mfu_view_elements(s, x));
    return out;
}

/* Autograd's functions one by one: MulBackward, DivBackward, VarBackward, SubBackward, MeanBackward. */
static void by_hand_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[SAVED_X], std = n->saved[SAVED_STATISTICS], centred = n->saved[SAVED_CENTRED];
    enum mfu_type type = mfu_view_type(s, x);
    int g = mfu_emit_cast(s, n->gradient, type), product, dcentred, dmean;

    if (n->op->attribute[BIAS] > 0 && mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0, sum_columns(s, g));
    if (n->op->attribute[WEIGHT] > 0) {
        if (mfu_trains(s, n, 0)) {
            product = mfu_emit_pointwise(s, "dscale", type, 1, g, n->saved[SAVED_NORMALISED], MFU_NO_VIEW);
            mfu_param_grad_add(s, n, 0, sum_columns(s, product));
        }
        g = mfu_emit_broadcast(s, "dmul", type, 1, g, MFU_NO_VIEW);
    }
    dcentred = mfu_emit_broadcast(s, "ddiv", type, 1, g, std);
    product = mfu_emit_broadcast(s, "ddiv", type, 1, centred, std);
    product = mfu_emit_broadcast(s, "ddiv", type, 1, product, std);
    product = mfu_emit_pointwise(s, "ddiv", type, 2, g, product, MFU_NO_VIEW);
    product = reduce_rows(s, n, "dstd", product, 1);
    product = reduce_rows(s, n, "dvar", product, 4);
    dmean = mfu_emit_broadcast(s, "dvar", type, 1, x, reduce_rows(s, n, "mean", x, 1));
    dmean = mfu_emit_broadcast(s, "dvar", type, 1, dmean, product);
    mfu_grad_add(s, n, 0, dmean);
    mfu_grad_add(s, n, 0, dcentred);
    dmean = mfu_emit_pointwise(s, "neg", type, 1, dcentred, MFU_NO_VIEW, MFU_NO_VIEW);
    dmean = reduce_rows(s, n, "dmean", dmean, 1);
    mfu_grad_add(s, n, 0, mfu_emit_broadcast(s, "dmean", type, 1, x, dmean));
}

/* x / x.norm().clamp_min() */
static void unit_forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0), length = reduce_rows(s, n, "norm", x, 1);
    int least = reduce_rows(s, n, "clamp", length, 1);

    MFU_SAVE(n, x, least, length);
    n->out = mfu_emit_broadcast(s, "", s->numerics.widens ? MFU_F32 : mfu_view_type(s, x), 1, x, least);
}

static void unit_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[SAVED_X], least = n->saved[SAVED_STATISTICS], dx, product;
    enum mfu_type type = mfu_view_type(s, n->gradient), given = mfu_view_type(s, x);

    dx = mfu_emit_cast(s, mfu_emit_broadcast(s, "ddiv", type, 1, n->gradient, least), given);
    product = mfu_emit_broadcast(s, "ddiv", type, 2, x, least); /* -x / length / length, times the gradient */
    product = mfu_emit_pointwise(s, "ddiv", type, 1, n->gradient, product, MFU_NO_VIEW);
    product = reduce_rows(s, n, "sum", product, 1);
    product = reduce_rows(s, n, "dclamp", product, 3);
    mfu_grad_add(s, n, 0, dx);
    mfu_grad_add(s, n, 0, mfu_emit_cast(s, mfu_emit_broadcast(s, "dnorm", type, 1, x, product), given));
    mfu_tensor_extend(s, n->saved[SAVED_LENGTH]);
}

/* Of GroupNorm: 32 in all code that is known. */
#define CHANNEL_GROUPS 32

/* To the layout of group norm's kernel, and back to that of convolutions. */
static void change_layout(struct mfu_builder *s, const struct mfu_node *n, const char *suffix, int x)
{
    double bytes = mfu_view_bytes(s, x);

    if (n->op->attribute[KIND] == GROUP && n->op->attribute[CHANNELS_LAST] > 0)
        MFU_EMIT(s, MFU_NO_VIEWS, MFU_NO_VIEWS, .suffix = suffix, .kind = MFU_COPY, .extra_read_bytes = 4 * bytes,
                 .launches = 2);
}

/* PyTorch's batch norm: the type of its input, two numbers per column kept. */
static void batch_forward(struct mfu_builder *s, struct mfu_node *n)
{
    bool group = n->op->attribute[KIND] == GROUP;
    int given = mfu_node_input(s, n, 0), out[2];
    int x = mfu_node_save(n, group && s->numerics.widens ? mfu_emit_cast(s, given, MFU_F32) : given);
    double elements = mfu_view_elements(s, x);
    double kept = group ? s->config->batch * CHANNEL_GROUPS : mfu_view_columns(s, x);

    out[0] = n->out = mfu_tensor_like(s, x);
    out[1] = mfu_node_save(n, mfu_tensor_new(s, 1, 2 * kept, MFU_F32, MFU_PART_ACTIVATIONS));
    change_layout(s, n, "layout", x);
    MFU_EMIT(s, MFU_VIEWS(x), MFU_LIST(2, out), .kind = MFU_NORM, .flops = 6 * elements,
             .extra_read_bytes = elements * mfu_type_bytes[mfu_view_type(s, x)], .launches = 2);
}

static void batch_backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = n->saved[0], in[] = {n->gradient, x, n->saved[1]}, out[2] = {MFU_NO_VIEW, MFU_NO_VIEW};
    double elements = mfu_view_elements(s, x);

    if (n->op->attribute[KIND] == GROUP)
        in[0] = mfu_emit_cast(s, in[0], mfu_view_type(s, x));
    change_layout(s, n, "grad.layout", x);
    out[0] = mfu_tensor_like(s, x);
    if (n->op->attribute[WEIGHT] > 0 && mfu_trains(s, n, 0))
        out[1] = mfu_tensor_new(s, 1, (n->op->attribute[BIAS] > 0 ? 2 : 1) * mfu_view_columns(s, x), s->numerics.weight,
                                MFU_PART_GRADIENTS);
    MFU_EMIT(s, MFU_LIST(3, in), MFU_LIST(2, out), .suffix = "grad", .kind = MFU_NORM, .flops = 10 * elements,
             .extra_read_bytes = 2 * elements * mfu_type_bytes[mfu_view_type(s, x)], .launches = 2);
    if (out[1] != MFU_NO_VIEW)
        mfu_param_grad_add(s, n, 0, out[1]);
    mfu_grad_add(s, n, 0, out[0]);
}

/* How each kind runs: as one kernel where the runtime has it (batch norm has no other way), or by its own chain. */
static const struct {
    void (*forward)(struct mfu_builder *, struct mfu_node *);
    void (*backward)(struct mfu_builder *, struct mfu_node *);
} whole = {whole_forward, whole_backward},
  passes[] = {[LAYER] = {whole_forward, whole_backward},
              [RMS_WHOLE] = {whole_forward, whole_backward},
              [LAYER_1P] = {whole_forward, whole_backward},
              [RMS] = {chain_forward, chain_backward},
              [RMS_FP32] = {chain_forward, chain_backward},
              [LAYER_FP32] = {chain_forward, chain_backward},
              [LAYER_BY_HAND] = {by_hand_forward, by_hand_backward},
              [RMS_GIVEN] = {chain_forward, chain_backward},
              [BATCH] = {batch_forward, batch_backward},
              [GROUP] = {batch_forward, batch_backward},
              [UNIT] = {unit_forward, unit_backward}};

/* Whether its statistics are those of more rows than one. */
static bool over_rows(int kind)
{
    return kind == BATCH || kind == GROUP;
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int kind = (int)n->op->attribute[KIND];

    (s->whole_norms && !over_rows(kind) ? whole.forward : passes[kind].forward)(s, n);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int kind = (int)n->op->attribute[KIND];

    (s->whole_norms && !over_rows(kind) ? whole.backward : passes[kind].backward)(s, n);
}

const struct mfu_primitive mfu_primitive_norm = {
    .name = "norm",
    .summary = "LayerNorm or RMSNorm over a row",
    .attributes =
        {
            [KIND] = {"kind", "layer", kinds,
                      "layer, rms, rms_fp32 or layer_fp32 (their weight applied in fp32, as in Gemma and Cohere), "
                      "layer_by_hand, rms_given, batch, rms_whole, layer_1p, group or unit (its length)"},
            [BIAS] = {"bias", "0", NULL, "whether it has a bias (beta)"},
            [WEIGHT] = {"weight", "1", NULL, "whether it has a weight (gamma)"},
            [GROUPS] = {"groups", "1", NULL, "equal parts of a row that are normalised by themselves (heads)", 1},
            [CHANNELS_LAST] = {"channels_last", "0", NULL, "of group: whether the convolutions around it want them so"},
        },
    .inputs = {1, 1},
    .traits = MFU_BY_ROW,
    .split_columns = 1u << GROUPS,
    .params = params,
    .forward = forward,
    .backward = backward,
};
