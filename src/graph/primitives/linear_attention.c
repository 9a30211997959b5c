/*
 * linear_attention - attention without softmax, in chunks of tokens: a state for each head that keys write and queries read.
 *
 *     state_t = decay_t state_t-1 + k_t beta_t (v_t - k_t' decay_t state_t-1)    [key_dim, value_dim] per head; the delta rule
 *     state_t = decay_t state_t-1 + k_t v_t                                      without it
 *     y_t     = q_t state_t
 *
 * The decay is nothing, or a constant of the head (RetNet), a number for each token and head (Gated DeltaNet), or one for each
 * element of its key, too (GLA, Kimi Delta Attention).  Kernels are those of flash-linear-attention (linear_attention.h),
 * in Triton: of a chunk of L tokens the products of all pairs, with the delta rule a triangular system that is solved; one
 * kernel that goes along a sequence's chunks with the state; one that reads it.  Kept is what they read and the systems'
 * inverses; backward computes states again.
 */
#include "graph/linear_attention.h"

#include <math.h>
#include <stddef.h>

enum { KEY_HEADS, HEADS, KEY_DIM, VALUE_DIM, CHUNK, DECAY, BETA, WEIGHTS, NORMALISED };
#define GATES MFU_LINEAR_DECAY /* the input that decay and beta are parts of */
enum { SAVED_Q_ROOT = MFU_LINEAR_INPUTS, SAVED_K_ROOT, SAVED_SYSTEM };

/* A pass over the chunks of all heads. */
struct pass {
    struct mfu_builder *s;
    struct mfu_linear_sizes z;
    double rows, sequences, chunks; /* tokens; chunks of all sequences, the last of which may be short */
    enum mfu_type type;
    bool delta;
};

static struct pass pass_of(struct mfu_builder *s, const struct mfu_linear_sizes *z, int v, bool delta)
{
    struct pass p = {
        .s = s, .z = *z, .rows = mfu_view_rows(s, v), .sequences = s->config->batch, .type = mfu_view_type(s, v)};

    p.chunks = p.sequences * ceil(p.rows / p.sequences / z->length);
    p.delta = delta;
    return p;
}

static double bytes(const struct mfu_builder *s, int view)
{
    return view == MFU_NO_VIEW ? 0 : mfu_view_bytes(s, view);
}

/* One kernel of `batch` products [m, k] [k, n], that reads and writes these views. */
static void kernel(const struct pass *p, const char *suffix, double m, double n, double k, double batch, int n_in,
                   const int *in, int n_out, const int *out)
{
    struct mfu_kernel gemm =
        mfu_kernel_gemm(p->s->numerics.math, m, n, k, batch, mfu_type_bytes[p->type], mfu_type_bytes[p->type], false);

    gemm.read_bytes = gemm.write_bytes = 0;
    for (int i = 0; i < n_in; i++)
        gemm.read_bytes += bytes(p->s, in[i]);
    for (int i = 0; i < n_out; i++)
        gemm.write_bytes += bytes(p->s, out[i]);
    gemm.aligned = true;
    gemm.traffic = MFU_C_DRAM_CHUNKS;
    mfu_emit_kernel(p->s, &gemm, suffix, 0, n_in, in, n_out, out);
}

/* Of each chunk and head: `pairs` products with [tokens, tokens] for keys and for values, and `states` with the state.  Each
 * block has a chunk's tokens and a head's values. */
static void within(const struct pass *p, const char *suffix, double key_pairs, double value_pairs, double states,
                   int n_in, const int *in, int n_out, const int *out)
{
    double multiplied =
        p->z.length * (key_pairs * p->z.key + value_pairs * p->z.value) + states * p->z.key * p->z.value;

    kernel(p, suffix, p->z.length, p->z.value, multiplied / p->z.value, p->rows / p->z.length * p->z.heads, n_in, in,
           n_out, out);
}

/* Along the chunks of a sequence with the state, by so many products: a block has a part of a head's state. */
static void along(const struct pass *p, const char *suffix, double products, int n_in, const int *in, int n_out,
                  const int *out)
{
    kernel(p, suffix, p->z.key, p->z.value, products * p->rows / p->sequences, p->sequences * p->z.heads, n_in, in,
           n_out, out);
}

static int fresh(const struct pass *p, double rows, double columns, enum mfu_type type)
{
    return mfu_tensor_new(p->s, rows, columns, type, MFU_PART_ACTIVATIONS);
}

static int keys(const struct pass *p)
{
    return fresh(p, p->rows, p->z.heads * p->z.key, p->type);
}

static int values(const struct pass *p)
{
    return fresh(p, p->rows, p->z.heads * p->z.value, p->type);
}

static int states(const struct pass *p)
{
    return fresh(p, p->chunks, p->z.heads * p->z.key * p->z.value, p->type);
}

/* A kernel that streams. */
static int stream(const struct pass *p, const char *suffix, enum mfu_kind kind, int a, int b, int out)
{
    int in[] = {a, b};

    MFU_EMIT(p->s, MFU_LIST(2, in), MFU_VIEWS(out), .suffix = suffix, .kind = kind,
             .flops = mfu_view_elements(p->s, out));
    return out;
}

static int like(const struct pass *p, const char *suffix, enum mfu_kind kind, enum mfu_type type, int a, int b)
{
    return stream(p, suffix, kind, a, b, fresh(p, mfu_view_rows(p->s, a), mfu_view_columns(p->s, a), type));
}

/* The states that chunks start from, and what each token adds to them: with the delta rule from systems that are solved. */
struct passed {
    int states, added;
};

static struct passed pass_on(const struct pass *p, const int kept[])
{
    struct passed r = {MFU_NO_VIEW, kept[MFU_LINEAR_V]};
    int read[] = {kept[MFU_LINEAR_K], kept[MFU_LINEAR_V], kept[MFU_LINEAR_DECAY], MFU_NO_VIEW, MFU_NO_VIEW};

    if (p->delta) {
        int systems[] = {kept[MFU_LINEAR_K], kept[MFU_LINEAR_V], kept[MFU_LINEAR_BETA], kept[SAVED_SYSTEM]};
        int solved[] = {keys(p), values(p)};

        within(p, "solved", 1, 1, 0, 4, systems, 2, solved);
        read[1] = solved[0], read[3] = solved[1];
        r.added = values(p);
    }
    r.states = states(p);
    along(p, "states", p->delta ? 2 : 1, 5, read, p->delta ? 2 : 1, (int[]){r.states, r.added});
    return r;
}

int mfu_linear_forward(struct mfu_builder *s, struct mfu_node *n, const struct mfu_linear_sizes *z,
                       const int in[MFU_LINEAR_INPUTS])
{
    struct pass p = pass_of(s, z, in[MFU_LINEAR_V], in[MFU_LINEAR_BETA] != MFU_NO_VIEW);
    int root[2] = {MFU_NO_VIEW, MFU_NO_VIEW}, system = MFU_NO_VIEW, out, x;
    struct passed passed;

    for (int i = MFU_LINEAR_Q; i <= MFU_LINEAR_K; i++) {
        x = in[i];
        if (z->normalised) {
            int made[] = {fresh(&p, p.rows, mfu_view_columns(s, x), p.type), fresh(&p, p.rows, z->key_heads, MFU_F32)};

            MFU_EMIT(s, MFU_VIEWS(x), MFU_LIST(2, made), .suffix = "l2norm", .kind = MFU_NORM,
                     .traffic = MFU_C_DRAM_NORM);
            x = made[0], root[i] = made[1];
        }
        mfu_node_save(n, x);
    }
    mfu_node_save(n, in[MFU_LINEAR_V]);
    x = in[MFU_LINEAR_DECAY];
    MFU_SAVE(n, x == MFU_NO_VIEW ? x : like(&p, "cumsum", MFU_REDUCTION, MFU_F32, x, MFU_NO_VIEW), in[MFU_LINEAR_BETA],
             root[0], root[1]);
    if (p.delta) { /* keys by keys, and the inverse of what stands below the diagonal */
        int read[] = {n->saved[MFU_LINEAR_K], n->saved[MFU_LINEAR_DECAY], n->saved[MFU_LINEAR_BETA]};

        system = fresh(&p, p.rows, z->heads * z->length, p.type);
        within(&p, "systems", 1, z->length / 3 / z->value, 0, 3, read, 1, &system);
    }
    mfu_node_save(n, system);
    passed = pass_on(&p, n->saved);
    out = values(&p);
    within(&p, "", 1, 1, 1, 5,
           (int[]){n->saved[MFU_LINEAR_Q], n->saved[MFU_LINEAR_K], passed.added, passed.states,
                   n->saved[MFU_LINEAR_DECAY]},
           1, &out);
    return out;
}

void mfu_linear_backward(struct mfu_builder *s, const struct mfu_node *n, const struct mfu_linear_sizes *z,
                         int d[MFU_LINEAR_INPUTS])
{
    const int *kept = n->saved;
    int q = kept[MFU_LINEAR_Q], k = kept[MFU_LINEAR_K], decay = kept[MFU_LINEAR_DECAY], g = n->gradient, dstates, dv;
    struct pass p = pass_of(s, z, kept[MFU_LINEAR_V], kept[MFU_LINEAR_BETA] != MFU_NO_VIEW);
    struct passed passed = pass_on(&p, kept);
    int local = values(&p), dkeys[2] = {keys(&p), keys(&p)}, ddecay = MFU_NO_VIEW, dw = MFU_NO_VIEW;

    within(&p, "dv_local", 1, 1, 0, 4, (int[]){q, k, g, decay}, 1, &local);
    dstates = states(&p);
    dv = p.delta ? values(&p) : local;
    along(&p, "dstates", p.delta ? 3 : 1, 5, (int[]){q, k, g, local, decay}, p.delta ? 2 : 1, (int[]){dstates, dv});
    if (decay != MFU_NO_VIEW)
        ddecay = fresh(&p, p.rows, mfu_view_columns(s, decay), MFU_F32);
    if (p.delta)
        dw = keys(&p);
    within(&p, "dqk", 2, 1, p.delta ? 3 : 2, 8, (int[]){q, k, passed.added, g, passed.states, dstates, dv, decay}, 4,
           (int[]){dkeys[0], dkeys[1], dw, ddecay});
    d[MFU_LINEAR_V] = dv;
    d[MFU_LINEAR_BETA] = MFU_NO_VIEW;
    if (p.delta) { /* through the systems: both products, the inverse's, and keys by keys */
        int out[] = {
            keys(&p), values(&p),
            fresh(&p, p.rows, mfu_view_columns(s, kept[MFU_LINEAR_BETA]), mfu_view_type(s, kept[MFU_LINEAR_BETA]))};

        within(&p, "dsystems", 4, 2 + 2 * z->length / z->value, 0, 7,
               (int[]){k, kept[MFU_LINEAR_V], kept[MFU_LINEAR_BETA], decay, kept[SAVED_SYSTEM], dw, dv}, 3, out);
        dkeys[1] = like(&p, "add", MFU_POINTWISE, p.type, dkeys[1], out[0]);
        d[MFU_LINEAR_V] = out[1];
        d[MFU_LINEAR_BETA] = out[2];
    }
    d[MFU_LINEAR_DECAY] =
        decay == MFU_NO_VIEW ? decay : like(&p, "dcumsum", MFU_REDUCTION, MFU_F32, ddecay, MFU_NO_VIEW);
    for (int i = MFU_LINEAR_Q; i <= MFU_LINEAR_K; i++) {
        if (z->heads > z->key_heads) /* sums over heads that share them */
            dkeys[i] = stream(&p, "dshared", MFU_REDUCTION, dkeys[i], MFU_NO_VIEW,
                              fresh(&p, p.rows, z->key_heads * z->key, p.type));
        if (z->normalised) {
            dkeys[i] = like(&p, "dl2norm", MFU_NORM, p.type, dkeys[i], i == MFU_LINEAR_Q ? q : k);
            mfu_tensor_extend(s, kept[i == MFU_LINEAR_Q ? SAVED_Q_ROOT : SAVED_K_ROOT]);
        }
        d[i] = dkeys[i];
    }
}

static double value_width(const struct mfu_operation *op)
{
    return op->attribute[HEADS] * op->attribute[VALUE_DIM];
}

static struct mfu_weights params(const struct mfu_operation *op)
{
    return (struct mfu_weights){.weight = op->attribute[WEIGHTS], .active = op->attribute[WEIGHTS]};
}

static struct mfu_linear_sizes sizes(const struct mfu_node *n)
{
    const double *a = n->op->attribute;

    return (struct mfu_linear_sizes){.key_heads = a[KEY_HEADS],
                                     .heads = a[HEADS],
                                     .key = a[KEY_DIM],
                                     .value = a[VALUE_DIM],
                                     .length = a[CHUNK],
                                     .normalised = a[NORMALISED] > 0};
}

/* A part of the gates of so many numbers, or none. */
static int part(struct mfu_builder *s, int gates, double width)
{
    return width > 0 ? mfu_view_slice(s, gates, mfu_view_rows(s, gates), width) : MFU_NO_VIEW;
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_linear_sizes z = sizes(n);
    int gates = mfu_node_input(s, n, GATES);

    n->out = mfu_linear_forward(s, n, &z,
                                (int[]){mfu_node_input(s, n, MFU_LINEAR_Q), mfu_node_input(s, n, MFU_LINEAR_K),
                                        mfu_node_input(s, n, MFU_LINEAR_V), part(s, gates, n->op->attribute[DECAY]),
                                        part(s, gates, n->op->attribute[BETA])});
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_linear_sizes z = sizes(n);
    double decay = n->op->attribute[DECAY], beta = n->op->attribute[BETA];
    int d[MFU_LINEAR_INPUTS], gates[2];

    mfu_linear_backward(s, n, &z, d);
    for (int i = MFU_LINEAR_Q; i <= MFU_LINEAR_V; i++)
        mfu_grad_add(s, n, i, d[i]);
    if (decay > 0 && beta > 0) {
        gates[0] = d[MFU_LINEAR_BETA], gates[1] = d[MFU_LINEAR_DECAY];
        mfu_grad_add(s, n, GATES, mfu_emit_laid(s, "cat", 1, mfu_view_rows(s, gates[0]), decay + beta, 2, gates));
    } else if (decay + beta > 0) {
        mfu_grad_add(s, n, GATES, d[decay > 0 ? MFU_LINEAR_DECAY : MFU_LINEAR_BETA]);
    }
    if (n->op->attribute[WEIGHTS] > 0 && mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0,
                           mfu_emit_columns_sum(s, "wgrad", d[decay > 0 ? MFU_LINEAR_DECAY : MFU_LINEAR_K],
                                                n->op->attribute[WEIGHTS], s->numerics.weight));
}

const struct mfu_primitive mfu_primitive_linear_attention = {
    .name = "linear_attention",
    .summary = "attention without softmax over tokens, in chunks (GLA, RetNet, DeltaNet, Gated DeltaNet)",
    .attributes =
        {
            [KEY_HEADS] = {"key_heads", "n_head", NULL, "of queries and keys", 1},
            [HEADS] = {"heads", "n_head", NULL, "of values", 1},
            [KEY_DIM] = {"key_dim", "head_dim", NULL, "elements of a head's key", 1},
            [VALUE_DIM] = {"value_dim", "head_dim", NULL, "elements of a head's value", 1},
            [CHUNK] = {"chunk", "64", NULL, "tokens that are computed together", 1},
            [DECAY] = {"decay", "0", NULL, "numbers of a token's decay, of the fourth input"},
            [BETA] = {"beta", "0", NULL, "numbers of a token's rule to take out old values, of the fourth input, too"},
            [WEIGHTS] = {"weights", "0", NULL, "elements of its parameters"},
            [NORMALISED] = {"normalised", "0", NULL, "whether queries and keys are, to unit length"},
        },
    .inputs = {4, 4},
    .traits = MFU_PASSES_STATES | MFU_HAND_FUSED,
    .shape = value_width,
    .params = params,
    .forward = forward,
    .backward = backward,
};
