/*
 * scan - a state space's recurrence over the tokens of a sequence, in chunks (Mamba-2's SSD).
 *
 *     state_t = exp(A dt_t) state_t-1 + dt_t B_t x_t        [head_dim, state] per head
 *     y_t     = C_t state_t + D x_t
 *
 * Within a chunk of L tokens it is attention without softmax: (C B') masked and decayed, times dt x; between
 * chunks the states are passed on.  The first input has x, B and C of a token beside each other, the second its dt.
 * It is what transformers runs where no kernels are installed (modeling_mamba2.py, mamba2_chunk_scan,
 * 5.23): in fp32, each result kept that an einsum or a product reads.  Megatron runs mamba-ssm's kernels (e9594ce1,
 * ops/triton/ssd_combined.py), which keep what they read and give and compute the rest again in backward.
 */
#include <math.h>
#include <stddef.h>

#include "graph/builder.h"

enum { HEADS, HEAD_DIM, STATE, GROUPS, CHUNK };
enum { X, DT };
/* What backward of the parts reads. */
enum {
    BIASED,
    STEP,
    STEP_X,
    STEP_A,
    WIDE_X,
    PADDED_X,
    MASKS,
    DECAY,
    LEFT,
    RIGHT,
    SCORES,
    WEIGHTS,
    VALUES,
    PADDED_B,
    TO_END,
    ENDING,
    ENDING_X,
    BETWEEN,
    STATES,
    FROM_START,
    READER,
    STARTS,
    READ
};

static double inner(const struct mfu_operation *op)
{
    return op->attribute[HEADS] * op->attribute[HEAD_DIM];
}

static double mixed(const struct mfu_operation *op)
{
    return inner(op) + 2 * op->attribute[GROUPS] * op->attribute[STATE];
}

static double shape(const struct mfu_operation *op)
{
    return inner(op);
}

/* A, D and the bias of dt. */
static struct mfu_weights params(const struct mfu_operation *op)
{
    double n = 3 * op->attribute[HEADS];

    return (struct mfu_weights){.weight = n, .active = n};
}

/* Sizes of one call. */
struct sizes {
    double rows, padded;              /* tokens; with those that fill the last chunks */
    double chunks, each;              /* of all sequences, of one */
    double length, heads, dim, state; /* of a chunk; heads, their width and their state's */
    double x, bc, own, pairs;         /* elements of a row: of x, of B for all heads, of B, of all heads' scores */
};

static struct sizes measure(const struct mfu_builder *s, const struct mfu_node *n, int x)
{
    const double *a = n->op->attribute;
    struct sizes z = {.rows = mfu_view_rows(s, x), .length = a[CHUNK], .heads = a[HEADS], .dim = a[HEAD_DIM]};

    z.state = a[STATE];
    z.each = ceil(z.rows / s->config->batch / z.length);
    z.chunks = s->config->batch * z.each;
    z.padded = z.chunks * z.length;
    z.x = inner(n->op);
    z.own = a[GROUPS] * z.state;
    z.bc = z.heads * z.state;
    z.pairs = z.heads * z.length;
    return z;
}

/* A new tensor by one kernel over a (and b). */
static int made(struct mfu_builder *s, const char *suffix, enum mfu_kind kind, enum mfu_fusion fusion, double rows,
                double columns, enum mfu_type type, int a, int b)
{
    int in[] = {a, b}, out = mfu_tensor_new(s, rows, columns, type, MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_LIST(2, in), MFU_VIEWS(out), .suffix = suffix, .kind = kind, .traffic = MFU_C_DRAM_IRREGULAR,
             .fusion = fusion, .flops = rows * columns);
    return out;
}

static int put(struct mfu_builder *s, const char *suffix, enum mfu_kind kind, double rows, double columns,
               enum mfu_type type, int a, int b)
{
    return made(s, suffix, kind, MFU_MAP, rows, columns, type, a, b);
}

/* The same for sums over a row, whole or so far, in fp32. */
static int reduce(struct mfu_builder *s, const char *suffix, double rows, double columns, int a, int b)
{
    return made(s, suffix, MFU_REDUCTION, MFU_ROW, rows, columns, MFU_F32, a, b);
}

static int like(struct mfu_builder *s, const char *suffix, enum mfu_kind kind, int a, int b)
{
    return put(s, suffix, kind, mfu_view_rows(s, a), mfu_view_columns(s, a), mfu_view_type(s, a), a, b);
}

/* Products of chunks are computed in the type that autocast chooses. */
static enum mfu_type narrow(const struct mfu_builder *s)
{
    return s->numerics.autocast ? s->numerics.compute : MFU_F32;
}

static enum mfu_peak units(const struct mfu_builder *s)
{
    return mfu_type_bytes[narrow(s)] < mfu_type_bytes[MFU_F32] || s->numerics.compute == MFU_F32 ? s->numerics.math
                                                                                                 : MFU_PEAK_FP32;
}

/* An einsum: `batch` products [m, k] [k, n]; operands are put in order first, and kept so. */
struct einsum {
    double m, n, k, batch;
};

static int multiply(struct mfu_builder *s, const char *suffix, struct einsum e, int a, bool order_a, int b, double rows,
                    double columns, int kept[2])
{
    int cast[] = {mfu_emit_cast(s, a, narrow(s)), mfu_emit_cast(s, b, narrow(s))}, out;

    kept[0] = order_a ? like(s, "order", MFU_COPY, cast[0], MFU_NO_VIEW) : cast[0];
    kept[1] = like(s, "order", MFU_COPY, cast[1], MFU_NO_VIEW);
    out = mfu_tensor_new(s, rows, columns, narrow(s), MFU_PART_ACTIVATIONS);
    mfu_emit_matmul(s, suffix, units(s), e.m, e.n, e.k, e.batch, kept[0], kept[1], out);
    mfu_tensor_extend(s, cast[0]);
    mfu_tensor_extend(s, cast[1]);
    return out;
}

/* Gradients of both operands, the second's first, as autograd computes them. */
static void multiply_back(struct mfu_builder *s, const char *suffix, struct einsum e, int g, bool order, int a, int b,
                          int out[2])
{
    if (order)
        g = like(s, "order", MFU_COPY, g, MFU_NO_VIEW);
    out[1] = mfu_tensor_new(s, mfu_view_rows(s, b), mfu_view_columns(s, b), narrow(s), MFU_PART_ACTIVATIONS);
    mfu_emit_matmul(s, suffix, units(s), e.k, e.n, e.m, e.batch, a, g, out[1]);
    out[0] = mfu_tensor_new(s, mfu_view_rows(s, a), mfu_view_columns(s, a), narrow(s), MFU_PART_ACTIVATIONS);
    mfu_emit_matmul(s, suffix, units(s), e.m, e.k, e.n, e.batch, g, b, out[0]);
    mfu_tensor_extend(s, a);
}

/* exp of the sums between all pairs of positions in a chunk; the sums before it are dropped when it is made. */
static int between(struct mfu_builder *s, int x, double rows, double columns)
{
    int filled = put(s, "fill", MFU_POINTWISE, rows, columns, MFU_F32, x, MFU_NO_VIEW);
    int sums = reduce(s, "cumsum", rows, columns, filled, MFU_NO_VIEW);
    int masked = put(s, "mask", MFU_POINTWISE, rows, columns, MFU_F32, sums, MFU_NO_VIEW);

    mfu_tensor_extend(s, filled);
    return put(s, "exp", MFU_POINTWISE, rows, columns, MFU_F32, masked, MFU_NO_VIEW);
}

static int between_back(struct mfu_builder *s, int g, int x)
{
    int d = like(s, "dexp", MFU_POINTWISE, g, x);

    d = like(s, "dmask", MFU_POINTWISE, d, MFU_NO_VIEW);
    d = like(s, "flip", MFU_COPY, d, MFU_NO_VIEW);
    d = reduce(s, "dcumsum", mfu_view_rows(s, d), mfu_view_columns(s, d), d, MFU_NO_VIEW);
    d = like(s, "flip", MFU_COPY, d, MFU_NO_VIEW);
    return like(s, "dfill", MFU_POINTWISE, d, MFU_NO_VIEW);
}

/* The products of the parts. */
static struct einsum scores_of(const struct sizes *z)
{
    return (struct einsum){z->length, z->length, z->state, z->chunks * z->heads};
}
static struct einsum within_of(const struct sizes *z)
{
    return (struct einsum){z->length, z->dim, z->length, z->chunks * z->heads};
}
static struct einsum ending_of(const struct sizes *z)
{
    return (struct einsum){z->state, z->dim, z->length, z->chunks * z->heads};
}
static struct einsum passing_of(const struct sizes *z)
{
    return (struct einsum){z->each + 1, z->dim * z->state, z->each + 1, z->chunks / z->each * z->heads};
}
static struct einsum reading_of(const struct sizes *z)
{
    return (struct einsum){z->length, z->dim, z->state, z->chunks * z->heads};
}

/* ---- mamba-ssm's kernels --------------------------------------------------- */

enum { WHOLE_IN, WHOLE_DT, WHOLE_OUT };

/* What both passes compute: a token's steps and their sums, the states at the ends of chunks, those that chunks start from, and
 * what their tokens are to each other. */
struct parts {
    int x, b, c;
    int steps, passed, scores;
};

static int product(struct mfu_builder *s, const char *suffix, struct einsum e, int a, int b, double rows,
                   double columns, enum mfu_type type)
{
    int out = mfu_tensor_new(s, rows, columns, type, MFU_PART_ACTIVATIONS);

    return mfu_emit_matmul(s, suffix, s->numerics.math, e.m, e.n, e.k, e.batch, a, b, out);
}

static struct parts parts_of(struct mfu_builder *s, const struct mfu_node *n, const struct sizes *z, int in, int dt)
{
    double all_states = z->dim * z->state * z->heads, groups = n->op->attribute[GROUPS];
    enum mfu_type type = mfu_view_type(s, in);
    struct parts p = {.x = mfu_view_slice(s, in, z->rows, z->x)};
    int states;

    p.b = mfu_view_slice(s, in, z->rows, z->own);
    p.c = mfu_view_slice(s, in, z->rows, z->own);
    p.steps = reduce(s, "cumsum", z->rows, 2 * z->heads, dt, MFU_NO_VIEW); /* beside the steps themselves */
    states = product(s, "states", ending_of(z), p.x, p.b, z->chunks, all_states, MFU_F32);
    p.passed = put(s, "passing", MFU_POINTWISE, z->chunks, all_states, type, states, p.steps);
    p.scores = product(s, "scores", (struct einsum){z->length, z->length, z->state, z->chunks * groups}, p.c, p.b,
                       z->padded, groups * z->length, MFU_F32);
    return p;
}

/* Of a chunk's tokens those before, half of all in the mean, and of the state it starts from: one kernel. */
static struct einsum mixing_of(const struct sizes *z)
{
    return (struct einsum){z->length, z->dim, z->length / 2 + z->state, z->chunks * z->heads};
}

static void forward_whole(struct mfu_builder *s, struct mfu_node *n, int in, int dt)
{
    struct sizes z = measure(s, n, in);
    struct parts p = parts_of(s, n, &z, in, dt);

    n->out = product(s, "", mixing_of(&z), p.scores, p.x, z.rows, z.x, mfu_view_type(s, in));
    mfu_tensor_extend(s, p.passed);
    MFU_SAVE(n, in, dt, n->out);
}

static void backward_whole(struct mfu_builder *s, struct mfu_node *n)
{
    int in = n->saved[WHOLE_IN], dt = n->saved[WHOLE_DT], g = n->gradient;
    struct sizes z = measure(s, n, in);
    enum mfu_type type = mfu_view_type(s, in);
    double all_states = z.dim * z.state * z.heads, groups = n->op->attribute[GROUPS];
    struct einsum own = {z.length, z.state, z.dim, z.chunks * z.heads};
    struct einsum chunk = {z.length, z.length, z.dim, z.chunks * z.heads};
    struct einsum back = {z.length, z.state, z.length, z.chunks * groups};
    struct parts p = parts_of(s, n, &z, in, dt);
    int dstates, dpassed, dscores, parts[3], d;

    dstates = product(s, "dstates", ending_of(&z), g, p.c, z.chunks, all_states, MFU_F32);
    dpassed = put(s, "dpassing", MFU_POINTWISE, z.chunks, all_states, type, dstates, p.passed);
    parts[0] = product(s, "dx", mixing_of(&z), p.scores, g, z.rows, z.x, type);
    parts[1] = product(s, "db", own, p.x, dpassed, z.rows, z.own, MFU_F32);
    parts[2] = product(s, "dc", own, g, p.passed, z.rows, z.own, MFU_F32);
    dscores = product(s, "dscores", chunk, g, p.x, z.padded, groups * z.length, MFU_F32);
    parts[1] = put(s, "add", MFU_POINTWISE, z.rows, z.own, type,
                   product(s, "dscores_b", back, dscores, p.c, z.rows, z.own, MFU_F32), parts[1]);
    parts[2] = put(s, "add", MFU_POINTWISE, z.rows, z.own, type,
                   product(s, "dscores_c", back, dscores, p.b, z.rows, z.own, MFU_F32), parts[2]);
    d = product(s, "dsteps", chunk, g, p.x, z.rows, z.heads, MFU_F32);
    mfu_tensor_extend(s, n->saved[WHOLE_OUT]);
    d = put(s, "dcumsum", MFU_REDUCTION, z.rows, z.heads, mfu_view_type(s, dt), d, p.steps);
    mfu_grad_add(s, n, DT, d);
    if (mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0, mfu_emit_columns_sum(s, "wgrad", d, 3 * z.heads, s->numerics.weight));
    mfu_grad_add(s, n, X, mfu_emit_laid(s, "cat", 1, z.rows, mixed(n->op), 3, parts));
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int in = mfu_node_input(s, n, X), dt = mfu_node_input(s, n, DT);
    struct sizes z = measure(s, n, in);
    enum mfu_type step_type = s->numerics.autocast ? MFU_F32 : mfu_view_type(s, dt);
    double all_states = z.dim * z.state * z.heads, batch = s->config->batch;
    int biased, step, x, b, c, padded_x, skip, step_x, step_a, given[4], a, pb, pc, sums, masks, decay, kept[2];
    int scores, weights, within, to_end, ending, states, zeros, chained, gaps, passed, from_start, read, off, sum;

    if (s->whole_scans) {
        forward_whole(s, n, in, dt);
        return;
    }
    biased = put(s, "dt_bias", MFU_POINTWISE, z.rows, z.heads, step_type, dt, MFU_NO_VIEW);
    step = like(s, "softplus", MFU_POINTWISE, biased, MFU_NO_VIEW);
    MFU_SAVE(n, biased, step);
    step = like(s, "clamp", MFU_POINTWISE, step, MFU_NO_VIEW);
    x = mfu_emit_cast(s, mfu_view_slice(s, in, z.rows, z.x), MFU_F32);
    b = mfu_emit_cast(s, mfu_view_slice(s, in, z.rows, z.own), MFU_F32);
    b = put(s, "repeat", MFU_COPY, z.rows, z.bc, MFU_F32, b, MFU_NO_VIEW);
    c = mfu_emit_cast(s, mfu_view_slice(s, in, z.rows, z.own), MFU_F32);
    c = put(s, "repeat", MFU_COPY, z.rows, z.bc, MFU_F32, c, MFU_NO_VIEW);
    padded_x = put(s, "pad", MFU_COPY, z.padded, z.x, MFU_F32, x, MFU_NO_VIEW);
    skip = like(s, "skip", MFU_POINTWISE, padded_x, MFU_NO_VIEW);
    step_x = mfu_emit_cast(s, step, MFU_F32);
    given[0] = like(s, "mul_dt", MFU_POINTWISE, x, step_x);
    step_a = mfu_emit_cast(s, step, MFU_F32);
    given[1] = like(s, "mul_a", MFU_POINTWISE, step_a, MFU_NO_VIEW);
    given[2] = b, given[3] = c;
    MFU_SAVE(n, step_x, step_a, x, padded_x);
    x = put(s, "pad", MFU_COPY, z.padded, z.x, MFU_F32, given[0], MFU_NO_VIEW);
    a = put(s, "pad", MFU_COPY, z.padded, z.heads, MFU_F32, given[1], MFU_NO_VIEW);
    pb = put(s, "pad", MFU_COPY, z.padded, z.bc, MFU_F32, b, MFU_NO_VIEW);
    pc = put(s, "pad", MFU_COPY, z.padded, z.bc, MFU_F32, c, MFU_NO_VIEW);
    for (int i = 0; i < 4; i++)
        mfu_tensor_extend(s, given[i]);
    sums = reduce(s, "cumsum", mfu_view_rows(s, a), mfu_view_columns(s, a), a, MFU_NO_VIEW);
    masks = put(s, "masks", MFU_POINTWISE, 2 * z.length, z.length, MFU_U8, MFU_NO_VIEW, MFU_NO_VIEW);
    decay = between(s, a, z.padded, z.pairs);
    MFU_SAVE(n, masks, decay);

    scores = multiply(s, "scores", scores_of(&z), pc, true, pb, z.padded, z.pairs, kept);
    MFU_SAVE(n, kept[0], kept[1], scores);
    weights = put(s, "decayed", MFU_POINTWISE, z.padded, z.pairs, MFU_F32, scores, decay);
    within = multiply(s, "within", within_of(&z), weights, false, x, z.padded, z.x, kept);
    MFU_SAVE(n, kept[0], kept[1]);

    to_end = like(s, "to_end", MFU_POINTWISE, sums, MFU_NO_VIEW);
    to_end = like(s, "to_end", MFU_POINTWISE, to_end, MFU_NO_VIEW);
    ending = like(s, "decayed_b", MFU_POINTWISE, pb, to_end);
    MFU_SAVE(n, pb, to_end);
    states = multiply(s, "states", ending_of(&z), ending, true, x, z.chunks, all_states, kept);
    MFU_SAVE(n, kept[0], kept[1]);

    zeros = put(s, "zeros", MFU_POINTWISE, batch, all_states, narrow(s), MFU_NO_VIEW, MFU_NO_VIEW);
    chained = put(s, "cat", MFU_COPY, z.chunks + batch, all_states, narrow(s), zeros, states);
    gaps = between(s, sums, batch * z.heads * (z.each + 1), z.each + 1);
    passed = multiply(s, "passing", passing_of(&z), gaps, false, chained, z.chunks + batch, all_states, kept);
    MFU_SAVE(n, kept[0], kept[1]);
    from_start = like(s, "from_start", MFU_POINTWISE, sums, MFU_NO_VIEW);
    mfu_node_save(n, from_start);
    passed = mfu_view_slice(s, passed, z.chunks, all_states);
    read = multiply(s, "read", reading_of(&z), pc, true, passed, z.padded, z.x, kept);
    MFU_SAVE(n, kept[0], kept[1], read);
    off = put(s, "decayed_y", MFU_POINTWISE, z.padded, z.x, MFU_F32, read, from_start);
    sum = put(s, "sum", MFU_POINTWISE, z.padded, z.x, MFU_F32, within, off);
    sum = like(s, "order", MFU_COPY, sum, MFU_NO_VIEW);
    n->out = put(s, "", MFU_POINTWISE, z.padded, z.x, MFU_F32, sum, skip);
    if (z.padded > z.rows)
        n->out = put(s, "cut", MFU_COPY, z.rows, z.x, MFU_F32, n->out, MFU_NO_VIEW);
    { /* names of the function hold until it returns */
        const int names[] = {a, pc, x, weights, ending, zeros, passed, within, off, step, in};

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            mfu_tensor_extend(s, names[i]);
    }
}

/* The gradient of one factor, and of the other where its rows were spread: [rows, heads]. */
static int factor(struct mfu_builder *s, const char *suffix, int g, int by, int own, enum mfu_type type, int *small)
{
    int d = like(s, suffix, MFU_POINTWISE, g, by), product = like(s, suffix, MFU_POINTWISE, g, own);

    d = mfu_emit_cast(s, d, type);
    *small = reduce(s, "sum", mfu_view_rows(s, by), mfu_view_columns(s, by), product, MFU_NO_VIEW);
    mfu_tensor_extend(s, own);
    return d;
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    const int *kept = n->saved;
    struct sizes z = measure(s, n, mfu_node_input(s, n, X));
    enum mfu_type type = mfu_view_type(s, mfu_node_input(s, n, X));
    double all_states = z.dim * z.state * z.heads, batch = s->config->batch;
    int g = n->gradient, gy, d, two[2], small, dx, db, dc, da, ds, dt, parts[3], own;

    if (s->whole_scans) {
        backward_whole(s, n);
        return;
    }
    if (z.padded > z.rows)
        g = put(s, "pad", MFU_COPY, z.padded, z.x, MFU_F32, g, MFU_NO_VIEW);
    gy = mfu_emit_cast(s, g, narrow(s)); /* of what is within chunks */
    d = factor(s, "dread", g, kept[FROM_START], kept[READ], narrow(s), &da);
    multiply_back(s, "dread", reading_of(&z), d, true, kept[READER], kept[STARTS], two);
    dc = mfu_emit_cast(s, two[0], MFU_F32);
    ds = two[1];
    d = put(s, "dslice", MFU_COPY, z.chunks + batch, all_states, narrow(s), ds, MFU_NO_VIEW);
    multiply_back(s, "dpassing", passing_of(&z), d, true, kept[BETWEEN], kept[STATES], two);
    between_back(s, mfu_emit_cast(s, two[0], MFU_F32), mfu_emit_cast(s, kept[BETWEEN], MFU_F32));
    ds = mfu_view_slice(s, two[1], z.chunks, all_states);
    multiply_back(s, "dstates", ending_of(&z), ds, true, kept[ENDING], kept[ENDING_X], two);
    dx = mfu_emit_cast(s, two[1], MFU_F32);
    d = mfu_emit_cast(s, two[0], MFU_F32);
    db = factor(s, "ddecayed_b", d, kept[TO_END], kept[PADDED_B], MFU_F32, &small);
    multiply_back(s, "dwithin", within_of(&z), gy, true, kept[WEIGHTS], kept[VALUES], two);
    d = mfu_emit_cast(s, two[1], MFU_F32);
    dx = like(s, "add", MFU_POINTWISE, dx, d);
    mfu_tensor_extend(s, d);
    d = mfu_emit_cast(s, two[0], MFU_F32);
    ds = like(s, "ddecay", MFU_POINTWISE, d, kept[DECAY]);
    d = like(s, "ddecay", MFU_POINTWISE, d, kept[SCORES]);
    ds = mfu_emit_cast(s, ds, narrow(s));
    multiply_back(s, "dscores", scores_of(&z), ds, false, kept[LEFT], kept[RIGHT], two);
    db = like(s, "add", MFU_POINTWISE, mfu_emit_cast(s, two[1], MFU_F32), db);
    dc = like(s, "add", MFU_POINTWISE, mfu_emit_cast(s, two[0], MFU_F32), dc);
    d = between_back(s, d, kept[DECAY]);
    mfu_tensor_extend(s, kept[MASKS]);
    d = reduce(s, "sum", z.padded, z.heads, d, MFU_NO_VIEW);
    da = reduce(s, "dcumsum", mfu_view_rows(s, da), mfu_view_columns(s, da), da, small);
    da = like(s, "add", MFU_POINTWISE, da, d);

    parts[0] = dx, parts[1] = db, parts[2] = dc;
    for (int i = 2; i >= 0; i--) {
        parts[i] = like(s, "order", MFU_COPY, parts[i], MFU_NO_VIEW);
        parts[i] = put(s, "dpad", MFU_COPY, z.rows, mfu_view_columns(s, parts[i]), MFU_F32, parts[i], MFU_NO_VIEW);
    }
    da = like(s, "dmul_a", MFU_POINTWISE, da, kept[STEP_A]);
    d = factor(s, "dmul_dt", parts[0], kept[STEP_X], kept[WIDE_X], MFU_F32, &dt);
    dt = like(s, "add", MFU_POINTWISE, dt, da);
    own = put(s, "dskip", MFU_POINTWISE, z.padded, z.x, MFU_F32, g, MFU_NO_VIEW);
    like(s, "dskip", MFU_POINTWISE, g, kept[PADDED_X]);
    dx = put(s, "dpad", MFU_COPY, z.rows, z.x, MFU_F32, own, MFU_NO_VIEW);
    dx = like(s, "add", MFU_POINTWISE, d, dx);
    for (int i = 2; i >= 1; i--) {
        parts[i] = reduce(s, "drepeat", z.rows, z.own, parts[i], MFU_NO_VIEW);
        parts[i] = mfu_emit_cast(s, parts[i], type);
    }
    parts[0] = mfu_emit_cast(s, dx, type);
    dt = like(s, "dclamp", MFU_POINTWISE, mfu_emit_cast(s, dt, mfu_view_type(s, kept[STEP])), kept[STEP]);
    dt = like(s, "dsoftplus", MFU_POINTWISE, dt, kept[BIASED]);
    mfu_grad_add(s, n, DT, dt);
    if (mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0, mfu_emit_columns_sum(s, "wgrad", dt, 3 * z.heads, s->numerics.weight));
    mfu_grad_add(s, n, X, mfu_emit_laid(s, "cat", 1, z.rows, mixed(n->op), 3, parts));
}

const struct mfu_primitive mfu_primitive_scan = {
    .name = "scan",
    .summary = "a state space's recurrence over tokens, in chunks (Mamba-2)",
    .attributes =
        {
            [HEADS] = {"heads", "n_head", NULL, "of x", 1},
            [HEAD_DIM] = {"head_dim", "head_dim", NULL, "elements of a head", 1},
            [STATE] = {"state", NULL, NULL, "numbers kept for each element of a head", 1},
            [GROUPS] = {"groups", "1", NULL, "of heads that share B and C", 1},
            [CHUNK] = {"chunk", "256", NULL, "tokens that are computed together", 1},
        },
    .inputs = {2, 2},
    .traits = MFU_PASSES_STATES,
    .split_columns = 1u << HEADS | 1u << GROUPS,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
