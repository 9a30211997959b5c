/*
 * delta - the gated delta rule over the tokens of a sequence, in chunks (Qwen3-Next's linear attention).
 *
 *     state_t = exp(g_t) state_t-1 + k_t beta_t (v_t - k_t' exp(g_t) state_t-1)        [key_dim, value_dim] per head
 *     y_t     = q_t state_t
 *
 * Within a chunk of L tokens a triangular system gives what each token adds; between chunks the state is passed on,
 * one after the other.  The first input has q, k and v of a token beside each other, the second beta and the decay
 * before their functions.  It is what transformers runs where no kernels of flash-linear-attention are installed
 * (modeling_qwen3_next.py, torch_chunk_gated_delta_rule(), 5.23): in fp32, each result kept that a product reads.  Where they
 * are, and in Megatron (ssm/gated_delta_net.py), they are those of linear_attention.h.
 */
#include <math.h>
#include <stddef.h>

#include "graph/builder.h"
#include "graph/linear_attention.h"

enum { KEY_HEADS, HEADS, KEY_DIM, VALUE_DIM, CHUNK };
enum { QKV, BA };
/* What backward of the parts reads. */
enum {
    BETA,
    STEP,
    Q,
    K,
    Q_ROOT,
    K_ROOT,
    WIDE_BETA,
    V,
    KEYS,
    K_BETA,
    QUERIES,
    PAIRS,
    PRODUCTS,
    SCORES,
    SYSTEM,
    WEIGHTS,
    ADDED,
    DECAYED,
    READER,
    WRITER,
    STATES,
    NEW,
    DECAYS
};

static double value_width(const struct mfu_operation *op)
{
    return op->attribute[HEADS] * op->attribute[VALUE_DIM];
}

/* The decay of each head, and its bias. */
static struct mfu_weights params(const struct mfu_operation *op)
{
    double n = 2 * op->attribute[HEADS];

    return (struct mfu_weights){.weight = n, .active = n};
}

/* Sizes of one call. */
struct sizes {
    double rows, padded;          /* tokens; with those that fill the last chunks */
    double chunks, length;        /* of a sequence; tokens of one */
    double heads, key, value;     /* heads of values, elements of their keys and values */
    double k, v, pairs, products; /* elements of a row: of keys, values and scores; batched products */
    double states;                /* elements of all states between chunks of a sequence */
};

static struct sizes measure(const struct mfu_builder *s, const struct mfu_node *n)
{
    const double *a = n->op->attribute;
    struct sizes z = {.rows = mfu_view_rows(s, mfu_node_input((struct mfu_builder *)s, n, QKV)),
                      .length = a[CHUNK],
                      .heads = a[HEADS],
                      .key = a[KEY_DIM],
                      .value = a[VALUE_DIM]};

    z.chunks = ceil(z.rows / s->config->batch / z.length);
    z.padded = z.chunks * z.length * s->config->batch;
    z.k = z.heads * z.key;
    z.v = z.heads * z.value;
    z.pairs = z.heads * z.length;
    z.products = s->config->batch * z.chunks * z.heads;
    z.states = z.chunks * z.k * z.value;
    return z;
}

/* A new fp32 tensor by `launches` kernels over a (and b). */
static int made(struct mfu_builder *s, const char *suffix, enum mfu_kind kind, enum mfu_fusion fusion, double rows,
                double columns, int launches, int a, int b)
{
    int in[] = {a, b}, out = mfu_tensor_new(s, rows, columns, MFU_F32, MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_LIST(2, in), MFU_VIEWS(out), .suffix = suffix, .kind = kind, .traffic = MFU_C_DRAM_IRREGULAR,
             .fusion = fusion, .launches = launches, .flops = rows * columns);
    return out;
}

/* The same for sums over a row, whole or so far. */
static int reduce(struct mfu_builder *s, const char *suffix, double rows, double columns, int launches, int a)
{
    return made(s, suffix, MFU_REDUCTION, MFU_ROW, rows, columns, launches, a, MFU_NO_VIEW);
}

static int put(struct mfu_builder *s, const char *suffix, double rows, double columns, int a, int b)
{
    return made(s, suffix, MFU_POINTWISE, MFU_MAP, rows, columns, 1, a, b);
}

static int like(struct mfu_builder *s, const char *suffix, int a, int b)
{
    return put(s, suffix, mfu_view_rows(s, a), mfu_view_columns(s, a), a, b);
}

static enum mfu_peak units(const struct mfu_builder *s)
{
    return s->numerics.compute == MFU_F32 ? s->numerics.math : MFU_PEAK_FP32;
}

/* `products` products [m, k] [k, n] of fp32. */
static int product(struct mfu_builder *s, const struct sizes *z, const char *suffix, double m, double n, double k,
                   int a, int b, double rows, double columns)
{
    return mfu_emit_matmul(s, suffix, units(s), m, n, k, z->products, a, b,
                           mfu_tensor_new(s, rows, columns, MFU_F32, MFU_PART_ACTIVATIONS));
}

/* The solution of the triangular systems of all chunks. */
static int solve(struct mfu_builder *s, const struct sizes *z, const char *suffix, int system, int b)
{
    int in[] = {system, b},
        out = mfu_tensor_new(s, mfu_view_rows(s, b), mfu_view_columns(s, b), MFU_F32, MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_LIST(2, in), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_REDUCTION,
             .traffic = MFU_C_DRAM_IRREGULAR, .launches = 2, .flops = mfu_view_elements(s, b) * z->length);
    return out;
}

/* x over the root of the sum of its squares, head by head. */
static int normalised(struct mfu_builder *s, struct mfu_node *n, const struct sizes *z, int x)
{
    int square = like(s, "square", x, MFU_NO_VIEW);
    int root = reduce(s, "rsqrt", z->rows, z->heads, 3, square);

    return like(s, "l2norm", x, mfu_node_save(n, root));
}

/* ---- the kernels of flash-linear-attention ---- */

static struct mfu_linear_sizes whole(const struct mfu_node *n)
{
    const double *a = n->op->attribute;

    return (struct mfu_linear_sizes){a[KEY_HEADS], a[HEADS], a[KEY_DIM], a[VALUE_DIM], a[CHUNK], true};
}

static void forward_whole(struct mfu_builder *s, struct mfu_node *n, int in, int ba)
{
    struct mfu_linear_sizes z = whole(n);
    double rows = mfu_view_rows(s, in);
    int q = mfu_view_slice(s, in, rows, z.key_heads * z.key), b = mfu_view_slice(s, ba, rows, z.heads);

    n->out = mfu_linear_forward(s, n, &z, (int[]){q, q, mfu_view_slice(s, in, rows, z.heads * z.value), b, b});
}

static void backward_whole(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_linear_sizes z = whole(n);
    int d[MFU_LINEAR_INPUTS], gates[2];

    mfu_linear_backward(s, n, &z, d);
    gates[0] = d[MFU_LINEAR_BETA], gates[1] = d[MFU_LINEAR_DECAY];
    mfu_grad_add(s, n, BA, mfu_emit_laid(s, "cat", 1, mfu_view_rows(s, d[0]), 2 * z.heads, 2, gates));
    if (mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0, mfu_emit_columns_sum(s, "wgrad", gates[1], 2 * z.heads, s->numerics.weight));
    mfu_grad_add(s, n, QKV, mfu_emit_laid(s, "cat", 1, mfu_view_rows(s, d[0]), n->op->in_width[QKV], 3, d));
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int in = mfu_node_input(s, n, QKV), ba = mfu_node_input(s, n, BA);
    struct sizes z = measure(s, n);
    double batch = s->config->batch, state = z.k * z.value;
    enum mfu_type type = mfu_view_type(s, in);
    int given[2], beta, step, q, k, v, sums, decays, pairs, system, scores, weights, k_beta, v_beta, decayed, added,
        reader, writer, made_new, states, between, out;

    if (s->whole_scans) {
        forward_whole(s, n, in, ba);
        return;
    }
    for (int i = 0; i < 2; i++) /* beta and the decay, out of pairs of heads */
        given[i] = mfu_emit_broadcast(s, "order", mfu_view_type(s, ba), 0, mfu_view_slice(s, ba, z.rows, z.heads),
                                      MFU_NO_VIEW);
    beta =
        mfu_node_save(n, mfu_emit_pointwise(s, "sigmoid", mfu_view_type(s, ba), 4, given[0], MFU_NO_VIEW, MFU_NO_VIEW));
    step = mfu_emit_cast(s, given[1], MFU_F32);
    step = mfu_node_save(n, like(s, "dt_bias", step, MFU_NO_VIEW));
    step = like(s, "decay", like(s, "softplus", step, MFU_NO_VIEW), MFU_NO_VIEW);
    q = made(s, "repeat", MFU_COPY, MFU_MAP, z.rows, z.k, 2, mfu_view_slice(s, in, z.rows, z.k), MFU_NO_VIEW);
    k = made(s, "repeat", MFU_COPY, MFU_MAP, z.rows, z.k, 2, mfu_view_slice(s, in, z.rows, z.k), MFU_NO_VIEW);
    v = made(s, "fp32", MFU_CAST, MFU_MAP, z.rows, z.v, 1, mfu_view_slice(s, in, z.rows, z.v), MFU_NO_VIEW);
    beta = mfu_emit_cast(s, beta, MFU_F32);
    MFU_SAVE(n, q, k);
    q = like(s, "scale", normalised(s, n, &z, q), MFU_NO_VIEW);
    k = normalised(s, n, &z, k);
    mfu_node_save(n, beta);
    q = put(s, "pad", z.padded, z.k, q, MFU_NO_VIEW);
    k = put(s, "pad", z.padded, z.k, k, MFU_NO_VIEW);
    v = mfu_node_save(n, put(s, "pad", z.padded, z.v, v, MFU_NO_VIEW));
    mfu_node_save(n, k);
    v_beta = like(s, "beta", v, beta);
    k_beta = mfu_node_save(n, like(s, "beta", k, beta));
    mfu_node_save(n, q);
    sums = reduce(s, "cumsum", z.padded, z.heads, 2, step);
    decays = put(s, "exp", z.padded, 3 * z.heads, sums, MFU_NO_VIEW); /* so far, twice, and to the end */
    pairs = put(s, "between", z.padded, z.pairs, sums, MFU_NO_VIEW);
    pairs = like(s, "mask", pairs, MFU_NO_VIEW);
    pairs = mfu_node_save(n, like(s, "exp", pairs, MFU_NO_VIEW));
    system = mfu_node_save(n, product(s, &z, "keys", z.length, z.length, z.key, k_beta, k, z.padded, z.pairs));
    system = like(s, "decayed", system, pairs);
    scores = mfu_node_save(n, product(s, &z, "scores", z.length, z.length, z.key, q, k, z.padded, z.pairs));
    mfu_node_save(n, system);
    weights = mfu_node_save(n, like(s, "decayed", scores, pairs));
    decayed = like(s, "decayed_k", k_beta, decays);
    added = mfu_node_save(n, solve(s, &z, "solve_v", system, v_beta));
    decayed = mfu_node_save(n, solve(s, &z, "solve_k", system, decayed));
    out = put(s, "zeros", z.padded, z.v, MFU_NO_VIEW, MFU_NO_VIEW);
    reader = like(s, "decayed_q", q, decays);
    writer = like(s, "decayed_k", k, decays);
    /* The state that the first chunk reads is zeros, what the last one writes nobody reads. */
    mfu_node_save(n, z.chunks > 1 ? reader : MFU_NO_VIEW);
    mfu_node_save(n, z.chunks > 1 ? writer : MFU_NO_VIEW);

    /* Chunk after chunk: what is new, what is read, the state. */
    states = mfu_node_save(n, mfu_tensor_new(s, batch, z.states, MFU_F32, MFU_PART_ACTIVATIONS));
    made_new = product(s, &z, "old", z.length, z.value, z.key, decayed, states, z.padded, z.v);
    made_new = mfu_node_save(n, made(s, "new", MFU_POINTWISE, MFU_MAP, z.padded, z.v, (int)z.chunks, added, made_new));
    mfu_node_save(n, decays);
    between = product(s, &z, "read", z.length, z.value, z.key, reader, states, z.padded, z.v);
    scores = product(s, &z, "within", z.length, z.value, z.length, weights, made_new, z.padded, z.v);
    made(s, "sum", MFU_POINTWISE, MFU_MAP, z.padded, z.v, (int)(2 * z.chunks), between, scores);
    mfu_tensor_extend(s, between);
    between = mfu_tensor_new(s, batch, state, MFU_F32, MFU_PART_ACTIVATIONS);
    mfu_emit_matmul(s, "write", units(s), z.key, z.value, z.length, z.products, writer, made_new, between);
    {
        int read[] = {states, between};

        MFU_EMIT(s, MFU_LIST(2, read), MFU_VIEWS(states), .suffix = "state", .kind = MFU_POINTWISE,
                 .traffic = MFU_C_DRAM_IRREGULAR, .launches = (int)(2 * z.chunks), .flops = 2 * batch * z.states);
    }
    n->out = mfu_tensor_new(s, z.rows, z.v, type, MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_VIEWS(out), MFU_VIEWS(n->out), .kind = MFU_CAST, .traffic = MFU_C_DRAM_IRREGULAR, .fusion = MFU_MAP,
             .flops = z.rows * z.v);
    { /* names of the function hold until it returns */
        const int names[] = {q, k, v_beta, k_beta, system, sums, pairs, out, beta};

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            mfu_tensor_extend(s, names[i]);
    }
}

/* The gradient of a product's operands, the second's first; in `of_b` of the chunks the second has one. */
static void product_back(struct mfu_builder *s, const struct sizes *z, const char *suffix, double m, double n, double k,
                         int g, int a, int b, double of_b, int out[2])
{
    struct sizes some = *z;

    some.products *= of_b;
    out[1] = of_b > 0 ? product(s, &some, suffix, k, n, m, a, g, mfu_view_rows(s, b), mfu_view_columns(s, b))
                      : like(s, "zeros", b, MFU_NO_VIEW);
    out[0] = product(s, z, suffix, m, k, n, g, b, mfu_view_rows(s, a), mfu_view_columns(s, a));
}

/* Gradients of a decayed tensor and of its decay, a number for each row and head. */
static int decay_back(struct mfu_builder *s, const struct sizes *z, const char *suffix, int g, int x)
{
    int d = like(s, suffix, g, x);

    reduce(s, "sum", z->padded, z->heads, 1, d);
    return like(s, suffix, g, MFU_NO_VIEW);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    const int *kept = n->saved;
    struct sizes z = measure(s, n), later = z;
    double passed = (z.chunks - 1) / z.chunks; /* of the chunks: the first reads a state of zeros */
    enum mfu_type type = mfu_view_type(s, mfu_node_input(s, n, QKV));
    int g, two[2], dnew, dq, dk, dv, dweights, dsystem, ddecayed, dba, d, parts[3];

    if (s->whole_scans) {
        backward_whole(s, n);
        return;
    }
    later.products *= passed;
    g = mfu_emit_cast(s, n->gradient, MFU_F32);
    if (mfu_view_type(s, n->gradient) == MFU_F32 || z.padded > z.rows)
        g = put(s, "pad", z.padded, z.v, g, MFU_NO_VIEW);
    /* Chunk after chunk, from the last: autograd adds the gradient of each slice to zeros of the whole. */
    product_back(s, &z, "dwithin", z.length, z.value, z.length, g, kept[WEIGHTS], kept[NEW], 1, two);
    dweights = two[0], dnew = two[1];
    product_back(s, &z, "dread", z.length, z.value, z.key, g, passed > 0 ? kept[READER] : kept[QUERIES], kept[STATES],
                 passed, two);
    dq = two[0], d = two[1];
    if (passed > 0) { /* what the last chunk writes nobody reads */
        dk = product(s, &later, "dwrite", z.key, z.length, z.value, d, kept[NEW], z.padded, z.k);
        dnew = like(s, "dnew", dnew,
                    product(s, &later, "dwrite", z.length, z.value, z.key, kept[WRITER], d, z.padded, z.v));
    } else {
        dk = put(s, "zeros", z.padded, z.k, MFU_NO_VIEW, MFU_NO_VIEW);
    }
    product_back(s, &z, "dold", z.length, z.value, z.key, dnew, kept[DECAYED], kept[STATES], passed, two);
    ddecayed = two[0];
    made(s, "dstate", MFU_POINTWISE, MFU_MAP, s->config->batch, z.states, (int)(4 * z.chunks), d, two[1]);
    {
        const int of[] = {dq, dk, dnew, ddecayed, dweights}; /* zeros of the whole, a slice, a sum, for each chunk */

        for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
            int whole =
                mfu_tensor_new(s, mfu_view_rows(s, of[i]), mfu_view_columns(s, of[i]), MFU_F32, MFU_PART_ACTIVATIONS);

            MFU_EMIT(s, MFU_VIEWS(of[i]), MFU_VIEWS(whole), .suffix = "dslice", .kind = MFU_POINTWISE,
                     .launches = (int)(3 * z.chunks),
                     .extra_read_bytes = 4 * (z.chunks - 1) * mfu_view_elements(s, of[i]) * mfu_type_bytes[MFU_F32]);
        }
    }
    dk = decay_back(s, &z, "dwriter", dk, kept[KEYS]);
    dq = decay_back(s, &z, "dreader", dq, kept[QUERIES]);
    /* The systems. */
    ddecayed = solve(s, &z, "dsolve_k", kept[SYSTEM], ddecayed);
    dsystem = product(s, &z, "dsolve_k", z.length, z.length, z.key, ddecayed, kept[DECAYED], z.padded, z.pairs);
    dsystem = like(s, "tril", dsystem, MFU_NO_VIEW);
    dnew = solve(s, &z, "dsolve_v", kept[SYSTEM], dnew);
    d = product(s, &z, "dsolve_v", z.length, z.length, z.value, dnew, kept[ADDED], z.padded, z.pairs);
    dsystem = like(s, "add", dsystem, like(s, "tril", d, MFU_NO_VIEW));
    ddecayed = decay_back(s, &z, "ddecayed", ddecayed, kept[K_BETA]);
    /* Scores of queries, then of keys. */
    d = like(s, "ddecay", dweights, kept[SCORES]);
    dweights = like(s, "dscores", dweights, kept[PAIRS]);
    product_back(s, &z, "dscores", z.length, z.length, z.key, dweights, kept[QUERIES], kept[KEYS], 1, two);
    dq = like(s, "add", dq, two[0]);
    dk = like(s, "add", dk, two[1]);
    d = like(s, "add", d, like(s, "ddecay", dsystem, kept[PRODUCTS]));
    dsystem = like(s, "dkeys", dsystem, kept[PAIRS]);
    product_back(s, &z, "dkeys", z.length, z.length, z.key, dsystem, kept[K_BETA], kept[KEYS], 1, two);
    ddecayed = like(s, "add", ddecayed, two[0]);
    dk = like(s, "add", dk, two[1]);
    d = like(s, "dexp", d, kept[PAIRS]);
    d = like(s, "dmask", d, MFU_NO_VIEW);
    d = reduce(s, "dcumsum", z.padded, z.heads, 6, d);
    dk = like(s, "add", dk, like(s, "dbeta", ddecayed, MFU_NO_VIEW));
    dv = decay_back(s, &z, "dbeta", dnew, kept[V]);
    dba = mfu_tensor_new(s, z.rows, 2 * z.heads, mfu_view_type(s, mfu_node_input(s, n, BA)), MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_VIEWS(d, kept[STEP]), MFU_VIEWS(dba), .suffix = "dba", .kind = MFU_POINTWISE,
             .traffic = MFU_C_DRAM_IRREGULAR, .fusion = MFU_MAP, .launches = 8);
    mfu_grad_add(s, n, BA, dba);
    if (mfu_trains(s, n, 0))
        mfu_param_grad_add(s, n, 0, mfu_emit_columns_sum(s, "wgrad", dba, 2 * z.heads, s->numerics.weight));
    for (int i = 0; i < 3; i++) { /* norms of q and k, and the sums over heads that share them */
        int x = i == 0 ? dq : i == 1 ? dk : dv;

        x = put(s, "cut", z.rows, mfu_view_columns(s, x), x, MFU_NO_VIEW);
        if (i < 2) {
            int of = like(s, "dl2norm", x, kept[i == 0 ? Q : K]);

            x = like(s, "add", like(s, "dl2norm", x, MFU_NO_VIEW), of);
        }
        parts[i] = mfu_emit_cast(s, x, type);
        if (i < 2) {
            int sum = mfu_tensor_new(s, z.rows, n->op->attribute[KEY_HEADS] * z.key, type, MFU_PART_ACTIVATIONS);

            MFU_EMIT(s, MFU_VIEWS(parts[i]), MFU_VIEWS(sum), .suffix = "drepeat", .kind = MFU_REDUCTION,
                     .traffic = MFU_C_DRAM_IRREGULAR, .fusion = MFU_ROW, .flops = z.rows * z.k);
            parts[i] = sum;
        }
    }
    mfu_grad_add(s, n, QKV, mfu_emit_laid(s, "cat", 1, z.rows, n->op->in_width[QKV], 3, parts));
    { /* numbers per row that the parts read on the way */
        const int read[] = {BETA, Q_ROOT, K_ROOT, WIDE_BETA, DECAYS};

        for (size_t i = 0; i < sizeof read / sizeof read[0]; i++)
            mfu_tensor_extend(s, kept[read[i]]);
    }
}

const struct mfu_primitive mfu_primitive_delta = {
    .name = "delta",
    .summary = "the gated delta rule over tokens, in chunks (Qwen3-Next)",
    .attributes =
        {
            [KEY_HEADS] = {"key_heads", "n_head", NULL, "of queries and keys"},
            [HEADS] = {"heads", "n_head", NULL, "of values", 1},
            [KEY_DIM] = {"key_dim", "head_dim", NULL, "elements of a head's key", 1},
            [VALUE_DIM] = {"value_dim", "head_dim", NULL, "elements of a head's value"},
            [CHUNK] = {"chunk", "64", NULL, "tokens that are computed together"},
        },
    .inputs = {2, 2},
    .traits = MFU_PASSES_STATES,
    .shape = value_width,
    .params = params,
    .forward = forward,
    .backward = backward,
};
