/*
 * evo_norm - a norm of an image's channels that is its own activation, operation by operation: FRN with its learned threshold,
 * EvoNorm-S0 and -B0.
 *
 *     frn   max(w x / rms(x) + b, t)                                         rms of a channel of one sample
 *     s0    w x sigmoid(v x) / std(x) + b                                    std of a group of channels of one sample
 *     b0    w x / max(std of the channel, v x + std of a sample's) + b
 *
 * Autograd keeps what each product, quotient and comparison read, and the squares are fp32 (timm 1.0.31, filter_response_norm.py,
 * evo_norm.py; Singh and Krishnan 2019, arXiv 1911.09737; Liu et al. 2020, arXiv 2004.02967).
 */
#include <stddef.h>

#include "graph/builder.h"

#define CHANNEL_GROUPS 32 /* of EvoNorm-S0 */

enum { KIND };
enum { NONE, FRN, S0, B0 };
static const char *const kinds[] = {"none", "frn", "s0", "b0", NULL};
enum { SAVED_X, SAVED_WIDE, SAVED_STATISTICS, SAVED_NORMALISED, SAVED_BEFORE, SAVED_GATE, SAVED_AGAIN };

/* A factor, a summand, and the threshold or the gate's factor of each channel. */
static struct mfu_weights params(const struct mfu_operation *op)
{
    double columns = op->attribute[KIND] > NONE ? op->in_width[0] : 0;

    return (struct mfu_weights){.weight = 2 * columns, .bias = columns, .active = 3 * columns};
}

/* One fp32 number for each channel of each sample, from one pass over the elements and some over the numbers. */
static int statistics(struct mfu_builder *s, const char *suffix, int x)
{
    int out = mfu_tensor_new(s, s->config->batch, mfu_view_columns(s, x), MFU_F32, MFU_PART_ACTIVATIONS);

    mfu_emit(s,
             &(struct mfu_emission){.suffix = suffix,
                                    .kind = MFU_REDUCTION,
                                    .traffic = MFU_C_DRAM_REDUCTION,
                                    .fusion = MFU_COLUMN,
                                    .flops = 3 * mfu_view_elements(s, x),
                                    .launches = 4},
             1, &x, 1, &out);
    return out;
}

static int map(struct mfu_builder *s, const char *suffix, int a, int b)
{
    return mfu_emit_pointwise(s, suffix, mfu_view_type(s, a), 1, a, b, MFU_NO_VIEW);
}

/* With a number of each channel, or of each channel of a sample. */
static int spread(struct mfu_builder *s, const char *suffix, int a, int numbers)
{
    return mfu_emit_broadcast(s, suffix, mfu_view_type(s, a), 1, a, numbers);
}

static int columns_sum(struct mfu_builder *s, int x)
{
    return mfu_emit_columns_sum(s, "wgrad", x, mfu_view_columns(s, x), s->numerics.weight);
}

/* What the factor is applied to; `wide` are the elements in fp32. */
static int frn_forward(struct mfu_builder *s, struct mfu_node *n, int x)
{
    int wide = s->numerics.widens ? mfu_emit_cast(s, x, MFU_F32) : x;
    int square = mfu_emit_cast(s, map(s, "square", wide, MFU_NO_VIEW), MFU_F32);

    n->saved[SAVED_WIDE] = wide;
    n->saved[SAVED_STATISTICS] = statistics(s, "mean", square);
    return spread(s, "mul", x, n->saved[SAVED_STATISTICS]);
}

static int s0_forward(struct mfu_builder *s, struct mfu_node *n, int x)
{
    int gate = map(s, "sigmoid", spread(s, "gate", x, MFU_NO_VIEW), MFU_NO_VIEW), gated = map(s, "mul", x, gate);
    int wide = mfu_emit_cast(s, x, MFU_F32);

    n->saved[SAVED_WIDE] = wide;
    n->saved[SAVED_GATE] = gate;
    n->saved[SAVED_BEFORE] = gated;
    n->saved[SAVED_STATISTICS] = statistics(s, "var", wide);
    if (mfu_view_columns(s, x) > CHANNEL_GROUPS) /* reshape() of numbers that are spread makes all elements of them */
        n->saved[SAVED_STATISTICS] = spread(s, "std", x, n->saved[SAVED_STATISTICS]);
    return spread(s, "div", gated, n->saved[SAVED_STATISTICS]);
}

static int b0_forward(struct mfu_builder *s, struct mfu_node *n, int x)
{
    int wide = mfu_emit_cast(s, x, MFU_F32), all = statistics(s, "var", wide), scaled, again;

    scaled = spread(s, "gate", x, MFU_NO_VIEW);
    again = mfu_emit_cast(s, x, MFU_F32);
    n->saved[SAVED_WIDE] = wide;
    n->saved[SAVED_AGAIN] = again;
    n->saved[SAVED_BEFORE] = spread(s, "add", scaled, statistics(s, "var", again));
    n->saved[SAVED_STATISTICS] = spread(s, "max", n->saved[SAVED_BEFORE], all);
    return map(s, "div", x, n->saved[SAVED_STATISTICS]);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int kind = (int)n->op->attribute[KIND], x = mfu_node_input(s, n, 0), out;
    int (*const ways[])(struct mfu_builder *, struct mfu_node *, int) = {NULL, frn_forward, s0_forward, b0_forward};

    if (kind == NONE) {
        n->out = x;
        return;
    }
    for (int i = 0; i <= SAVED_AGAIN; i++)
        n->saved[i] = MFU_NO_VIEW;
    n->saved[SAVED_NORMALISED] = ways[kind](s, n, x);
    n->saved[SAVED_X] = x;
    out = spread(s, "weight", n->saved[SAVED_NORMALISED], MFU_NO_VIEW);
    out = spread(s, "shift", out, MFU_NO_VIEW);
    if (kind == FRN) {
        n->saved[SAVED_BEFORE] = out;
        out = spread(s, "max", out, MFU_NO_VIEW);
    }
    n->n_saved = SAVED_AGAIN + 1;
    n->out = out;
}

/* What the variance of the elements in fp32 gives them: 2 / n (x - mean) of its gradient. */
static void variance_grad(struct mfu_builder *s, struct mfu_node *n, int wide, int d)
{
    int centred = spread(s, "dvar", wide, statistics(s, "mean", wide));

    mfu_grad_add(s, n, 0, spread(s, "dvar", centred, d));
}

/* Of a quotient: its first gradient; the second, of all elements, is `*of_divisor`. */
static int quotient_grad(struct mfu_builder *s, int g, int a, int by, int *of_divisor)
{
    int da = spread(s, "ddiv", g, by), d = spread(s, "ddiv", spread(s, "ddiv", a, by), by);

    *of_divisor = mfu_emit_pointwise(s, "ddiv", mfu_view_type(s, g), 2, g, d, MFU_NO_VIEW);
    mfu_tensor_extend(s, da);
    return da;
}

/* The larger of two: where one was chosen its gradient is the result's. */
static int choice_grad(struct mfu_builder *s, int g, int a)
{
    int same = mfu_emit_pointwise(s, "equal", MFU_U8, 1, a, MFU_NO_VIEW, MFU_NO_VIEW);
    int half = map(s, "half", g, MFU_NO_VIEW),
        chosen = mfu_emit_pointwise(s, "where", mfu_view_type(s, g), 1, half, g, same);

    same = mfu_emit_pointwise(s, "less", MFU_U8, 1, a, MFU_NO_VIEW, MFU_NO_VIEW);
    return mfu_emit_pointwise(s, "fill", mfu_view_type(s, g), 1, chosen, same, MFU_NO_VIEW);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    if (n->op->attribute[KIND] == NONE) {
        mfu_grad_add(s, n, 0, n->gradient);
        return;
    }
    int kind = (int)n->op->attribute[KIND], x = n->saved[SAVED_X], wide = n->saved[SAVED_WIDE],
        of = n->saved[SAVED_STATISTICS];
    int before = n->saved[SAVED_BEFORE], gate = n->saved[SAVED_GATE], d;
    int g = mfu_emit_cast(s, n->gradient, mfu_view_type(s, x));
    bool weights = mfu_trains(s, n, 0);

    if (kind == FRN) {
        int threshold = weights ? choice_grad(s, g, before) : MFU_NO_VIEW;

        g = choice_grad(s, g, before);
        mfu_tensor_extend(s, before);
        if (weights)
            mfu_param_grad_add(s, n, 0, columns_sum(s, threshold));
    }
    if (mfu_trains(s, n, 1))
        mfu_param_grad_add(s, n, 1, columns_sum(s, g));
    d = weights ? map(s, "dweight", g, n->saved[SAVED_NORMALISED]) : MFU_NO_VIEW;
    g = spread(s, "dmul", g, MFU_NO_VIEW);
    if (weights) {
        mfu_tensor_extend(s, d);
        mfu_param_grad_add(s, n, 0, columns_sum(s, d));
    }
    if (kind == FRN) {
        d = map(s, "drms", g, x);
        mfu_grad_add(s, n, 0, spread(s, "dmul", g, of));
        d = statistics(s, "drms", d);
        d = mfu_emit_broadcast(s, "dmean", mfu_view_type(s, wide), 1, wide, d);
        d = map(s, "dsquare", map(s, "dsquare", wide, MFU_NO_VIEW), d);
        mfu_grad_add(s, n, 0, mfu_emit_cast(s, d, mfu_view_type(s, x)));
        return;
    }
    if (kind == S0) {
        g = quotient_grad(s, g, before, of, &d);
        variance_grad(s, n, wide, statistics(s, "dstd", d));
        mfu_grad_add(s, n, 0, map(s, "dmul", g, gate));
        d = map(s, "dsigmoid", map(s, "dmul", g, x), gate);
    } else {
        mfu_grad_add(s, n, 0, quotient_grad(s, g, x, of, &d));
        g = choice_grad(s, d, before);
        d = choice_grad(s, d, before);
        variance_grad(s, n, n->saved[SAVED_AGAIN], statistics(s, "dstd", d));
        variance_grad(s, n, wide, statistics(s, "dstd", g));
    }
    mfu_grad_add(s, n, 0, spread(s, "dgate", d, MFU_NO_VIEW));
    if (weights)
        mfu_param_grad_add(s, n, 0, columns_sum(s, map(s, "dgate", d, x)));
}

const struct mfu_primitive mfu_primitive_evo_norm = {
    .name = "evo_norm",
    .summary = "a norm of channels that is its own activation (FRN, EvoNorm)",
    .attributes = {[KIND] = {"kind", NULL, kinds, "none, frn (with its threshold), s0 or b0"}},
    .inputs = {1, 1},
    .traits = MFU_BY_ROW,
    .params = params,
    .forward = forward,
    .backward = backward,
};
