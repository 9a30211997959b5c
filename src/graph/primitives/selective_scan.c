/*
 * selective_scan - Mamba-1's state space: each channel has states of its own, and A, the step and what is read depend on the token.
 *
 *     state_t = exp(A dt_t) state_t-1 + dt_t B_t u_t        [state] per channel
 *     y_t     = (C_t state_t + D u_t) silu(z_t)
 *
 * Inputs: u, dt (before its bias and softplus), B and C beside each other, and the gate z.  One kernel each way
 * (mamba-ssm e9594ce1, csrc/selective_scan: fwd, bwd), which keeps no states but those at the ends of stretches of 2048 tokens:
 * backward computes them again in registers.  They want a channel's tokens beside each other, so that what comes as rows of
 * tokens is copied.  With `inner` it is MambaInnerFn (ops/selective_scan_interface.py), whose forward lets go of u, dt
 * and the result, and whose u and z are so laid out already.
 * transformers 5.23 without the package runs a loop over the tokens, and keeps [tokens, channels, state] twice in fp32.
 */
#include <math.h>
#include <stddef.h>

#include "graph/builder.h"

enum { STATE, INNER, NORMS };
enum { U, DT, BC, Z };
enum { SAVED_U, SAVED_DT, SAVED_BC, SAVED_Z, SAVED_A, SAVED_EXP, SAVED_D, SAVED_X, SAVED_Y, SAVED };
/* Tokens between states that are kept. */
#define STRETCH 2048
/* Operations of the CUDA cores per token, channel and state: an exponential (on a quarter of the lanes or fewer), the recurrence,
 * combined along the block's scan, and its product with C; backward runs them again, scans once more in reverse and has
 * four gradients of them. */
#define FLOPS 20
#define BACKWARD_FLOPS 50

/* A, D and the bias of dt: autocast leaves them. */
static struct mfu_weights params(const struct mfu_operation *op)
{
    double n = op->in_width[U] * (op->attribute[STATE] + 2);

    return (struct mfu_weights){.weight = n, .active = n};
}

static int copy(struct mfu_builder *s, const char *suffix, int x)
{
    int out = mfu_tensor_like(s, x);

    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR);
    return out;
}

/* One small kernel over the channels' parameters, in fp32. */
static int small(struct mfu_builder *s, const char *suffix, double rows, double columns, int x)
{
    int out = mfu_tensor_new(s, rows, columns, MFU_F32, MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_POINTWISE);
    return out;
}

/* Falcon's: norms without a weight over B, C and dt, as rows of tokens and back. */
static int normalised(struct mfu_builder *s, const char *suffix, int x)
{
    int rows = copy(s, "rows", x),
        out[2] = {MFU_NO_VIEW, mfu_tensor_new(s, mfu_view_rows(s, x), 1, MFU_F32, MFU_PART_ACTIVATIONS)};

    out[0] = mfu_tensor_like(s, x);
    MFU_EMIT(s, MFU_VIEWS(rows), MFU_LIST(2, out), .suffix = suffix, .kind = MFU_NORM, .traffic = MFU_C_DRAM_NORM);
    return copy(s, "channels", out[0]);
}

static double states(const struct mfu_builder *s, const struct mfu_node *n, int u)
{
    return mfu_view_elements(s, u) * n->op->attribute[STATE]
        * (s->phase == MFU_FORWARD || s->recomputing ? FLOPS : BACKWARD_FLOPS);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    bool inner = n->op->attribute[INNER] > 0;
    int u = mfu_node_input(s, n, U), dt = mfu_node_input(s, n, DT), bc = mfu_node_input(s, n, BC);
    int z = mfu_node_input(s, n, Z), in[6], out[3];
    double rows = mfu_view_rows(s, u), width = mfu_view_columns(s, u), state = n->op->attribute[STATE];
    enum mfu_type type = mfu_view_type(s, u);

    if (n->again) { /* backward's kernel writes it beside the gradients, later: it is the next of the model's */
        n->n_saved = SAVED;
        n->out = mfu_tensor_new(s, rows, width, type, MFU_PART_ACTIVATIONS);
        MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(n->out), .suffix = "again", .kind = MFU_POINTWISE);
        return;
    }
    if (n->op->attribute[NORMS] > 0) {
        bc = normalised(s, "bc_norm", copy(s, "order", bc));
        dt = normalised(s, "dt_norm", dt);
    } else if (inner) {
        bc = copy(s, "order", bc);
    } else {
        u = copy(s, "order", u);
        dt = copy(s, "order", dt);
        z = copy(s, "order", z);
    }
    MFU_SAVE(n, inner ? mfu_node_input(s, n, U) : u, inner ? mfu_node_input(s, n, DT) : dt, bc, z);
    mfu_node_save(n, small(s, "neg", state, width, MFU_NO_VIEW));
    mfu_node_save(n, small(s, "exp", state, width, MFU_NO_VIEW));
    /* The bias of dt and D in fp32: copies unless they are. */
    mfu_node_save(n, s->numerics.weight != MFU_F32 ? small(s, "float", 2, width, MFU_NO_VIEW) : MFU_NO_VIEW);
    out[0] = mfu_tensor_new(s, rows, width, type, MFU_PART_ACTIVATIONS);
    out[1] = mfu_tensor_new(s, s->config->batch * width, ceil(rows / s->config->batch / STRETCH) * 2 * state, MFU_F32,
                            MFU_PART_ACTIVATIONS);
    out[2] = mfu_tensor_new(s, rows, width, type, MFU_PART_ACTIVATIONS);
    in[0] = u, in[1] = dt, in[2] = bc, in[3] = z, in[4] = n->saved[SAVED_A], in[5] = n->saved[SAVED_D];
    MFU_EMIT(s, MFU_LIST(6, in), MFU_LIST(3, out), .kind = MFU_REDUCTION, .flops = states(s, n, u));
    MFU_SAVE(n, out[1], out[0]);
    n->out = out[2];
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    const int *kept = n->saved;
    bool inner = n->op->attribute[INNER] > 0;
    int u = kept[SAVED_U], dt = kept[SAVED_DT], bc = kept[SAVED_BC], g = n->gradient, d[4], in[9], dw;
    double rows = mfu_view_rows(s, u), width = mfu_view_columns(s, u), state = n->op->attribute[STATE];
    enum mfu_type type = mfu_view_type(s, u);

    if (n->op->attribute[NORMS] > 0) {
        dt = normalised(s, "dt_norm", dt);
        bc = normalised(s, "bc_norm", bc);
    }
    if (!inner)
        g = copy(s, "order", g);
    d[U] = mfu_tensor_new(s, rows, width, type, MFU_PART_ACTIVATIONS);
    d[DT] = mfu_tensor_new(s, rows, width, type, MFU_PART_ACTIVATIONS);
    d[BC] = mfu_tensor_new(s, rows, 2 * state, MFU_F32, MFU_PART_ACTIVATIONS);
    d[Z] = mfu_tensor_new(s, rows, width, type, MFU_PART_ACTIVATIONS);
    dw = mfu_tensor_new(s, state + 2, width, MFU_F32, MFU_PART_ACTIVATIONS);
    in[0] = u, in[1] = dt, in[2] = bc, in[3] = kept[SAVED_Z], in[4] = kept[SAVED_A], in[5] = kept[SAVED_X];
    in[6] = kept[SAVED_Y], in[7] = g, in[8] = kept[SAVED_D];
    MFU_EMIT(s, MFU_LIST(9, in), MFU_VIEWS(d[U], d[DT], d[BC], d[Z], dw), .suffix = "grad", .kind = MFU_REDUCTION,
             .flops = states(s, n, u));
    if (n->again)
        mfu_tensor_extend(s, n->out);
    d[BC] = mfu_emit_cast(s, d[BC], type);
    for (int i = Z; i >= U; i--)
        if (mfu_wants_gradient(s, n, i))
            mfu_grad_add(s, n, i, d[i]);
    if (mfu_trains(s, n, 0)) { /* through the negative and the exponential */
        int a = small(s, "dneg", state, width, dw);

        a = small(s, "dexp", state, width, a);
        mfu_tensor_extend(s, kept[SAVED_EXP]);
        mfu_tensor_extend(s, dw);
        mfu_param_grad_add(s, n, 0, mfu_emit_cast(s, dw, s->numerics.weight));
        mfu_tensor_extend(s, a);
    }
}

const struct mfu_primitive mfu_primitive_selective_scan = {
    .name = "selective_scan",
    .summary = "a state space's recurrence over tokens whose parameters depend on the token (Mamba-1)",
    .attributes =
        {
            [STATE] = {"state", NULL, NULL, "numbers kept for each channel", 1},
            [INNER] = {"inner", "0", NULL, "whether convolution, products and scan are one function, which keeps less"},
            [NORMS] = {"norms", "0", NULL, "whether B, C and dt are normalised, without weights"},
        },
    .inputs = {4, 4},
    .traits = MFU_PASSES_STATES,
    .width = MFU_WIDTH_OF_INPUT(U),
    .params = params,
    .forward = forward,
    .backward = backward,
};
