/*
 * attention - softmax(Q K^T / sqrt(d)) V, by a fused kernel or by its parts.
 *
 * Reads either one packed input [q | k | v] or three, whose keys and values may belong to another
 * sequence (cross-attention) and be as wide as they like; a fourth is a bias of the scores, one for all
 * sequences of the batch (T5), or one for each, which is scaled with them (Transformer-XL).  A fused kernel saves
 * q, k, v, the output and the logsumexp of each row.  The parts ("math") save
 * the probabilities of every pair of tokens, in fp32 and in the compute type
 * under autocast, and move them through memory several times.
 *
 * Over columns (XCiT) a head's columns attend to each other, and the tokens are what is summed over.  Scores may be scaled by a
 * learned number per head, or a product mixes the heads before and behind softmax (CaiT's talking heads).
 */
#include <math.h>
#include <stddef.h>

#include "graph/builder.h"
#include "scenario/setting.h"

enum {
    HEADS,
    KV_HEADS,
    HEAD_DIM,
    CAUSAL,
    WINDOW,
    DROPOUT,
    SOFTCAP,
    MASKING,
    SOFTMAX,
    VALUE_DIM,
    SINKS,
    COPIED,
    PARTS,
    CHUNK,
    JOINED,
    SCORED,
    OVER,
    LEARNED
};
enum { FILLED, ADDED, IN_PLACE, PADDED };
enum { SCORED_APART = 2 };
enum { AS_GIVEN, FP32 };
enum { TOKENS, COLUMNS };
enum { NOTHING, SCALES, TALKS };
static const char *const maskings[] = {"fill", "add", "in_place", "padding", NULL},
                         *const softmaxes[] = {"as_given", "fp32", NULL}, *const overs[] = {"tokens", "columns", NULL},
                         *const learnts[] = {"nothing", "scales", "talks", NULL};
enum { Q, K, V, OUT, LSE, BIAS };                                                     /* saved by fused kernels */
enum { MATH_Q, MATH_K, MATH_V, PROBABILITIES, FACTOR, MASK, CAPPED, SCORES, TALKED }; /* saved by the parts */

static double value_dim(const struct mfu_operation *op)
{
    return op->attribute[op->attribute[VALUE_DIM] > 0 ? VALUE_DIM : HEAD_DIM];
}

static double shape(const struct mfu_operation *op)
{
    return op->attribute[HEADS] * value_dim(op);
}

/* A number per head, or two products with biases. */
static struct mfu_weights params(const struct mfu_operation *op)
{
    double heads = op->attribute[HEADS],
           n = op->attribute[LEARNED] == TALKS ? 2 * heads * (heads + 1)
        : op->attribute[LEARNED] == SCALES     ? heads
                                               : 0;

    return (struct mfu_weights){.weight = n, .active = n};
}

static double key_elements(const struct mfu_operation *op)
{
    return op->attribute[KV_HEADS] * (op->attribute[HEAD_DIM] + value_dim(op));
}

/* Peft makes keys and values alike, for decoders (utils/other.py, _prepare_prompt_learning_config). */
static bool takes_prefix(const struct mfu_operation *op)
{
    return op->attribute[CAUSAL] > 0 && !(op->attribute[VALUE_DIM] > 0);
}

/* Whether one kernel computes it; some code multiplies the parts itself, whatever there is. */
static bool is_fused(const struct mfu_builder *s, const struct mfu_node *n)
{
    return (s->apart || mfu_attentions[s->config->attention].fused) && !(n->op->attribute[PARTS] > 0);
}

/* Whether a window reaches the kernel as a mask, as in transformers' call of SDPA, which knows none. */
static bool window_is_mask(struct mfu_builder *s, const struct mfu_node *n)
{
    const double *a = n->op->attribute;

    return !mfu_config_transformer_engine(s->config) && a[MASKING] == ADDED && a[WINDOW] > 0
        && mfu_compare(s, s->config->seq, a[WINDOW]) >= 0;
}

/* Whether a mask of the padding reaches the kernel: transformers leaves it out only where a batch has none
 * (masking_utils.py, _ignore_causal_mask_sdpa). */
static bool padding_is_mask(const struct mfu_builder *s, const struct mfu_node *n)
{
    return !mfu_config_transformer_engine(s->config) && n->op->attribute[MASKING] == ADDED
        && s->config->setting[MFU_S_PADDING_MASK] > 0;
}

/* The bias of the scores: of this kernel, not a look at the mask. */
static bool has_bias(const struct mfu_node *n)
{
    return n->source->n_in == 4 && n->in[3] != MFU_TOKENS_IN;
}

/* Whether that is a score of every pair of every sequence, of which one kernel makes sums with its own and scales them. */
static bool is_scored(const struct mfu_node *n)
{
    return n->op->attribute[SCORED] > 0;
}

/* Whether the model's code has laid out q, k and v head by head, and scaled the keys. */
static bool stands_apart(const struct mfu_node *n)
{
    return n->op->attribute[SCORED] == SCORED_APART;
}

/* Whether the kernel that the step's attention has takes such heads in the type of a frozen model apart. */
static bool takes(const struct mfu_builder *s, double head_dim)
{
    const struct mfu_attention_row *row = &mfu_attentions[s->config->attention];

    return row->fused && (row->any_precision || s->numerics.compute == MFU_F16)
        && (!(row->most_head_dim > 0) || head_dim <= row->most_head_dim);
}

/* Learned keys before those of a sequence, which reach the kernel with a mask, too. */
static double prefix_tokens(const struct mfu_builder *s, const struct mfu_node *n)
{
    return mfu_has_prefix(s, n) ? s->config->setting[MFU_S_LORA] : 0;
}

/* With a mask (or a bias of its own) SDPA chooses the memory-efficient kernel, which computes all pairs and knows no
 * grouped heads; so it does for values of another width and for heads wider than the others take, whose mask it knows.  Transformer Engine knows windows, and
 * gives such values to cuDNN's (get_attention_backend). */
static struct mfu_attention describe(struct mfu_builder *s, const struct mfu_node *n)
{
    const double *a = n->op->attribute;
    double before = prefix_tokens(s, n);
    bool fused = is_fused(s, n),
         mask = fused && (window_is_mask(s, n) || padding_is_mask(s, n) || has_bias(n) || before > 0);
    const struct mfu_attention_row *row = &mfu_attentions[s->config->attention];
    bool wide = row->most_head_dim > 0 && a[HEAD_DIM] > row->most_head_dim;
    bool uneven = fused && (wide || value_dim(n->op) != a[HEAD_DIM]), unfit = s->apart && !takes(s, a[HEAD_DIM]);
    bool te = mfu_config_transformer_engine(s->config);
    const double *ranks = s->program->mesh.ranks, by_head = ranks[MFU_AXIS_CP_HEADS], ring = ranks[MFU_AXIS_CP];
    double rows = mfu_view_rows(s, mfu_node_input(s, n, 0));
    double keys = n->source->n_in > 1 ? mfu_view_rows(s, mfu_node_input(s, n, 1)) : rows;
    double seq = rows * by_head * ring / s->config->batch, seen = keys * by_head * ring / s->config->batch;
    /* Sequences of an image or a sound hold no documents. */
    bool packed = s->config->setting[MFU_S_PACKING] > 0 && (row->packs || (te && row->packs_by_te)) && !mask
        && mfu_compare(s, rows, s->config->tokens) == 0 && mfu_compare(s, keys, rows) == 0;

    bool columns = a[OVER] == COLUMNS;
    double pieces = a[CHUNK] > 0 && mfu_compare(s, seq, a[CHUNK]) > 0 ? ceil(seq / a[CHUNK]) : 1;

    if (a[JOINED] > 0)
        pieces = 1 / s->config->batch;
    mfu_compare(s, keys, rows); /* what mfu_attention_pairs() decides by */
    for (int i = 1; i <= 2 && a[WINDOW] > 0; i++)
        mfu_compare(s, seq, i * a[WINDOW]);
    return (struct mfu_attention){
        .kind = unfit || ((mask || uneven) && !te) ? MFU_MEMEFF
            : uneven                               ? MFU_CUDNN
            : a[PARTS] > 0                         ? MFU_MATH
                                                   : s->config->attention,
        .math = s->apart ? s->numerics.linear_math : s->numerics.math, /* TF32 is for convolutions there */
        .sequences = s->config->batch * pieces,
        .seq = columns ? a[HEAD_DIM] : seq / pieces,
        .keys = columns ? a[HEAD_DIM] : seen / pieces + before,
        .ranks = ring,
        .steps = mfu_contexts[(int)s->config->setting[MFU_S_CONTEXT]].ring ? ring : 1,
        .heads = a[HEADS] / by_head,
        .kv_heads = mask || (uneven && !te) ? a[HEADS] / by_head : ceil(a[KV_HEADS] / by_head),
        .head_dim = columns ? seq : a[HEAD_DIM],
        .value_dim = columns ? seq : value_dim(n->op),
        .window = mask ? 0 : a[WINDOW],
        .causal = a[CAUSAL] > 0 && !mask,
        .drops = a[DROPOUT] > 0,
        .element_bytes = mfu_type_bytes[s->numerics.compute],
        .documents = packed ? s->config->documents : (struct mfu_documents){0},
        .row = s->config->seq,
    };
}

/* Keys and values behind the learned ones, each in one tensor, which the cache of the model's code keeps. */
static void put_prefix(struct mfu_builder *s, struct mfu_node *n, int qkv[3])
{
    int learned = s->nodes[n->in[MFU_PREFIX]].out;

    for (int i = 1; i < 3; i++) {
        int in[] = {learned, qkv[i]}, *out = &n->saved[MFU_PREFIXED + i - 1];
        double rows = mfu_view_rows(s, qkv[i]) + s->config->batch * prefix_tokens(s, n);
        bool wide = mfu_view_type(s, learned) == MFU_F32 || mfu_view_type(s, qkv[i]) == MFU_F32;

        *out = mfu_tensor_new(s, rows, mfu_view_columns(s, qkv[i]), wide ? MFU_F32 : mfu_view_type(s, qkv[i]),
                              MFU_PART_ACTIVATIONS);
        in[0] = mfu_view_slice(s, learned, rows - mfu_view_rows(s, qkv[i]), mfu_view_columns(s, qkv[i]));
        mfu_emit_copy(s, "prefix", 1, 2, in, *out);
        qkv[i] = mfu_autocast(s, *out);
    }
}

/* The three inputs, packed or not, in the compute type. */
static void inputs(struct mfu_builder *s, struct mfu_node *n, int qkv[3])
{
    const double *a = n->op->attribute;
    double q = a[HEADS] * a[HEAD_DIM], kv = a[KV_HEADS] * a[HEAD_DIM];

    if (n->source->n_in >= 3) {
        for (int i = 0; i < 3; i++)
            qkv[i] = mfu_autocast(s, mfu_node_input(s, n, i));
    } else {
        int packed = mfu_autocast(s, mfu_node_input(s, n, 0));
        double rows = mfu_view_rows(s, packed);

        qkv[0] = mfu_view_slice(s, packed, rows, q);
        qkv[1] = mfu_view_slice(s, packed, rows, kv);
        qkv[2] = mfu_view_slice(s, packed, rows, a[KV_HEADS] * value_dim(n->op));
    }
    if (mfu_has_prefix(s, n))
        put_prefix(s, n, qkv);
}

/* Whether q (0), k (1) or v (2) needs a gradient. */
static bool wants(const struct mfu_builder *s, const struct mfu_node *n, int i)
{
    return mfu_wants_gradient(s, n, n->source->n_in >= 3 ? i : 0) || (i > 0 && mfu_has_prefix(s, n));
}

/* Gives dq, dk, dv to where they came from; packed inputs need one more copy. */
static void give_inputs(struct mfu_builder *s, struct mfu_node *n, int d[3])
{
    double columns = 0;

    for (int i = 1; i < 3 && mfu_has_prefix(s, n); i++) { /* the first of its rows are the learned ones' */
        double rows = mfu_view_rows(s, d[i]) - s->config->batch * prefix_tokens(s, n);

        n->saved[MFU_PREFIXED + i - 1] = d[i];
        d[i] = mfu_view_slice(s, d[i], rows, mfu_view_columns(s, d[i]));
    }
    if (n->source->n_in < 3 && !mfu_wants_gradient(s, n, 0))
        return;
    if (n->source->n_in >= 3) {
        for (int i = 2; i >= 0; i--)
            mfu_grad_add(s, n, i, d[i]);
        return;
    }
    for (int i = 0; i < 3; i++)
        columns += mfu_view_columns(s, d[i]);
    mfu_grad_add(s, n, 0, mfu_emit_laid(s, "cat", 1, mfu_view_rows(s, d[0]), columns, 3, d));
}

/* The gradient of the bias: the sum over the sequences of that of their scores. */
static void give_bias(struct mfu_builder *s, struct mfu_node *n, const struct mfu_attention *a, int scores)
{
    int sum;

    if (scores == MFU_NO_VIEW)
        return;
    sum = mfu_tensor_new(s, a->heads * a->seq / a->ranks, a->keys, mfu_view_type(s, scores), MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_VIEWS(scores), MFU_VIEWS(sum), .suffix = "bias_grad", .kind = MFU_REDUCTION, .fusion = MFU_COLUMN,
             .flops = mfu_view_rows(s, scores) * a->keys);
    mfu_grad_add(s, n, 3, sum);
}

/* ---- fused kernels ------------------------------------------------------ */

/* The width of a head that the kernel is given: SDPA pads q, k and v with zeros. */
static double padded(const struct mfu_attention *a, double width)
{
    double step = mfu_attentions[a->kind].head_step;

    return step > 0 ? ceil(width / step) * step : width;
}

/* A copy whose heads are `to` wide instead of `from`; the view itself if that is the same. */
static int resize_heads(struct mfu_builder *s, const char *suffix, int view, double from, double to)
{
    return from == to || view == MFU_NO_VIEW
        ? view
        : mfu_emit_laid(s, suffix, 1, mfu_view_rows(s, view), mfu_view_columns(s, view) / from * to, 1, &view);
}

/* Whether keys and values stand for all heads without a copy: one head repeats by a stride of 0, unless autocast copies
 * it (transformers' repeat_kv(), whose reshape() is then a view). */
static bool repeats_in_place(const struct mfu_builder *s, const struct mfu_node *n)
{
    return n->op->attribute[KV_HEADS] == 1 && !s->numerics.autocast;
}

/* Steps of a ring give a result each, of which the last rank's are whole.  When all are there, two kernels a step bring
 * them together: logsumexps, then outputs in the type of the sum (TransformerEngine: its own; PyTorch's _SDPAMerger
 * fp32). */
static void merge_steps(struct mfu_builder *s, const struct mfu_attention *a, int out[2])
{
    double passes = 2 * (a->steps - 1) * mfu_attention_share_of_step(a);
    int in[] = {out[0], out[1]};
    enum mfu_type sum = mfu_config_transformer_engine(s->config) ? s->numerics.compute : MFU_F32;

    if (a->steps <= 1)
        return;
    for (int i = 0; i < 2; i++)
        out[i] = mfu_tensor_new(s, mfu_view_rows(s, in[i]) / a->steps, mfu_view_columns(s, in[i]),
                                mfu_view_type(s, in[i]), MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_LIST(2, in), MFU_LIST(2, out), .suffix = "merge_steps", .kind = MFU_POINTWISE,
             .launches = 2 * a->steps - 1, .reread_bytes = passes * mfu_view_elements(s, out[0]) * mfu_type_bytes[sum],
             .flops = 2 * mfu_view_elements(s, in[0]));
}

/* The gradient of each step is added to what the steps before it gave: one pass over it and two over the sum. */
static void add_steps(struct mfu_builder *s, const struct mfu_attention *a, int n, const int *d)
{
    double bytes = 0;

    if (a->steps <= 1)
        return;
    for (int i = 0; i < n; i++)
        bytes += mfu_view_bytes(s, d[i]);
    MFU_EMIT(s, MFU_NO_VIEWS, MFU_NO_VIEWS, .suffix = "add_steps", .kind = MFU_POINTWISE,
             .launches = 2 * (a->steps - 1), .extra_read_bytes = 3 * 0.75 * (a->steps - 1) * bytes);
}

static void fused_forward(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_attention a = describe(s, n);
    double width[] = {a.head_dim, a.head_dim, a.value_dim}, value = padded(&a, a.value_dim);
    double rows = mfu_view_rows(s, mfu_node_input(s, n, 0)), heads = n->op->attribute[HEADS];
    double by_head = s->program->mesh.ranks[MFU_AXIS_CP_HEADS];
    struct mfu_kernel kernel;
    int qkv[3], out[2], bias = MFU_NO_VIEW, in[4];

    inputs(s, n, qkv);
    for (int i = 0; i < 3; i++)
        qkv[i] = resize_heads(s, "pad", qkv[i], width[i], padded(&a, width[i]));
    for (int i = 1; i < 3 && !repeats_in_place(s, n); i++)
        qkv[i] = resize_heads(s, "repeat", qkv[i], n->op->attribute[KV_HEADS], a.kv_heads * by_head);
    if (has_bias(n)) { /* made contiguous with the mask in it */
        bias = mfu_node_input(s, n, 3);
        if (n->op->attribute[JOINED] > 0)
            bias = mfu_emit_cast(s, bias, s->numerics.compute);
        else
            bias = mfu_emit_pointwise(s, "mask", mfu_view_type(s, bias), 1, bias, MFU_NO_VIEW, MFU_NO_VIEW);
        bias = mfu_autocast(s, bias);
    } else if (window_is_mask(s, n) || mfu_has_prefix(s, n)) { /* in rows of 16 bytes */
        bias = mfu_tensor_new(s, a.sequences * a.seq / a.ranks, ceil(a.keys / 8) * 8, s->numerics.compute,
                              MFU_PART_ACTIVATIONS);
        MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(bias), .suffix = "mask", .kind = MFU_POINTWISE);
    }
    a.head_dim = padded(&a, a.head_dim);
    a.value_dim = value;
    kernel = mfu_kernel_attention(&a, false);
    out[0] = mfu_kept_result(s);
    out[1] = mfu_kept_result(s);
    if (out[0] == MFU_NO_VIEW) {
        out[0] = mfu_tensor_new(s, rows * a.steps, heads * value, s->numerics.compute, MFU_PART_ACTIVATIONS);
        out[1] = mfu_tensor_new(s, rows * a.steps, heads, MFU_F32, MFU_PART_ACTIVATIONS);
        in[0] = qkv[0], in[1] = qkv[1], in[2] = qkv[2], in[3] = bias;
        mfu_emit_kernel(s, &kernel, "", 0, has_bias(n) ? 4 : 3, in, 2, out);
        merge_steps(s, &a, out);
        mfu_offer_result(s, out[0], false);
        mfu_offer_result(s, out[1], false);
    }
    for (int i = 0; i < 3; i++)
        mfu_node_save(n, qkv[i]);
    MFU_SAVE(n, out[0], out[1], bias);
    n->out = resize_heads(s, "slice", out[0], value, width[2]);
    if (n->op->attribute[COPIED] > 0 && mfu_attentions[a.kind].keeps_layout)
        n->out = mfu_emit_broadcast(s, "merge", mfu_view_type(s, n->out), 0, n->out, MFU_NO_VIEW);
}

static void fused_backward(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_attention a = describe(s, n);
    double width[] = {a.head_dim, a.head_dim, a.value_dim}, wide[3];
    double by_head = s->program->mesh.ranks[MFU_AXIS_CP_HEADS];
    int in[] = {mfu_autocast(s, n->gradient),
                n->saved[Q],
                n->saved[K],
                n->saved[V],
                n->saved[OUT],
                n->saved[LSE],
                n->saved[BIAS]};
    struct mfu_kernel kernel;
    int d[3], dbias = MFU_NO_VIEW;

    for (int i = 0; i < 3; i++)
        wide[i] = padded(&a, width[i]);
    in[0] = resize_heads(s, "pad", in[0], width[2], wide[2]);
    a.head_dim = wide[0];
    a.value_dim = wide[2];
    kernel = mfu_kernel_attention(&a, true);
    for (int i = 0; i < 3; i++)
        d[i] = mfu_tensor_new(s, mfu_view_rows(s, in[1 + i]),
                              mfu_view_columns(s, in[1 + i]) * (i && repeats_in_place(s, n) ? a.kv_heads * by_head : 1),
                              s->numerics.compute, MFU_PART_ACTIVATIONS);
    if (has_bias(n) && mfu_wants_gradient(s, n, 3)) /* of every sequence, in the width of a mask */
        dbias = mfu_tensor_new(s, a.sequences * a.heads * a.seq / a.ranks, a.keys, s->numerics.compute,
                               MFU_PART_ACTIVATIONS);
    mfu_emit_kernel(s, &kernel, "grad", mfu_attention_backward_bytes(&a), 7, in, dbias == MFU_NO_VIEW ? 3 : 4,
                    (int[]){d[0], d[1], d[2], dbias});
    add_steps(s, &a, 3, d);
    give_bias(s, n, &a, dbias);
    for (int i = 0; i < 3; i++)
        d[i] = resize_heads(s, "slice", d[i], wide[i], width[i]);
    for (int i = 1; i < 3; i++)
        d[i] = resize_heads(s, "sum_heads", d[i], a.kv_heads * by_head, n->op->attribute[KV_HEADS]);
    give_inputs(s, n, d);
}

/* ---- the parts, one by one ---------------------------------------------- */

/* [sequences*heads*m, n] = [., m, k] [., k, n]. */
static int product(struct mfu_builder *s, const struct mfu_attention *a, const char *suffix, double m, double n,
                   double k, int x, int y)
{
    double batch = a->sequences * a->heads;
    int out = mfu_tensor_new(s, batch * m, n, s->numerics.compute, MFU_PART_ACTIVATIONS);

    return mfu_emit_matmul(s, suffix, a->math, m, n, k, batch, x, y, out);
}

/* Head by head, as batched products want it. */
static int per_head(struct mfu_builder *s, const struct mfu_attention *a, const char *suffix, int view, double tokens,
                    double width)
{
    return mfu_emit_laid(s, suffix, 1, a->sequences * a->heads * tokens, width, 1, &view);
}

/* Whether the scores are made fp32 for softmax: autocast does that, or the model's code. */
static bool upcasts(const struct mfu_builder *s, const struct mfu_node *n)
{
    return s->numerics.compute != MFU_F32 && (s->numerics.widens || n->op->attribute[SOFTMAX] == FP32);
}

/* masked_fill of eager PyTorch fills a copy (torch native/TensorAdvancedIndexing.cpp), also as its own gradient. */
static int filled(struct mfu_builder *s, const char *copy, int scores)
{
    return s->runtime->fuse
        ? scores
        : mfu_emit_pointwise(s, copy, mfu_view_type(s, scores), 0, scores, MFU_NO_VIEW, MFU_NO_VIEW);
}

/* Whether scores are filled in: of later tokens, of those beyond a window, or, whatever is there, of padding. */
static bool fills(const struct mfu_node *n, const struct mfu_attention *a)
{
    return n->op->attribute[MASKING] == PADDED || (n->op->attribute[MASKING] != ADDED && (a->causal || a->window > 0));
}

/* A mask that is added has the type of the embeddings, which makes the scores
 * fp32 under autocast; its gradient passes through.  Inductor's partitioner
 * saves what is masked, since the mask is far away. */
static int masked(struct mfu_builder *s, const struct mfu_node *n, const struct mfu_attention *a, int scores)
{
    bool added = n->op->attribute[MASKING] == ADDED;
    enum mfu_type type = added && s->numerics.residual == MFU_F32 ? MFU_F32 : s->numerics.compute;
    double rows = mfu_view_rows(s, scores), columns = mfu_view_columns(s, scores);
    int out;

    if (!fills(n, a) && !added)
        return scores;
    if (n->op->attribute[MASKING] != ADDED && n->op->attribute[MASKING] != IN_PLACE)
        scores = filled(s, "mask_copy", scores);
    out = n->op->attribute[MASKING] == IN_PLACE || (!added && !s->runtime->fuse)
        ? mfu_view_slice(s, scores, rows, columns)
        : mfu_tensor_new(s, rows, columns, type, MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_VIEWS(scores), MFU_VIEWS(out), .suffix = "mask", .kind = MFU_POINTWISE,
             .traffic = added ? MFU_C_DRAM_POINTWISE : MFU_C_DRAM_IRREGULAR, .fusion = MFU_MAP, .random = true,
             .flops = rows * columns);
    return out;
}

/* Whether scale, mask and softmax are one kernel, which takes the product's scores as they are. */
static bool is_one_kernel(const struct mfu_builder *s, const struct mfu_node *n)
{
    return s->whole_softmax && mfu_config_fused_softmax(s->config) && !has_bias(n)
        && !(n->op->attribute[SOFTCAP] > 0 || n->op->attribute[SINKS] > 0);
}

/* Scores times a learned number of fp32, which autocast leaves alone. */
static enum mfu_type scaled_type(const struct mfu_builder *s)
{
    return s->numerics.autocast ? MFU_F32 : s->numerics.compute;
}

/* Pairs, and heads beside each other, for a product that mixes them; and back. */
static int mixed(struct mfu_builder *s, const struct mfu_attention *a, const char *suffix, int x, int weight, int *kept)
{
    double pairs = mfu_view_elements(s, x) / a->heads;
    int rows = mfu_emit_laid(s, "talk.layout", 1, pairs, a->heads, 1, &x), out;

    *kept = rows;
    out = mfu_tensor_new(s, pairs, a->heads, s->numerics.compute, MFU_PART_ACTIVATIONS);
    out = mfu_emit_matmul(s, suffix, a->math, pairs, a->heads, a->heads, 1, rows, weight, out);
    out = mfu_emit_broadcast(s, "talk.bias", mfu_view_type(s, out), 1, out, MFU_NO_VIEW);
    return mfu_emit_laid(s, "talk.layout", 1, mfu_view_rows(s, x), mfu_view_columns(s, x), 1, &out);
}

/* The gradient of what was mixed; the first to come makes room for those of both products. */
static int unmixed(struct mfu_builder *s, struct mfu_node *n, const struct mfu_attention *a, int g, int kept, int *dw)
{
    int rows = mfu_emit_laid(s, "talk.layout", 1, mfu_view_rows(s, kept), a->heads, 1, &g), out;
    double pairs = mfu_view_rows(s, rows);
    bool first = *dw == MFU_NO_VIEW;

    if (first)
        *dw = mfu_tensor_new(s, 1, params(n->op).weight, s->numerics.compute, MFU_PART_GRADIENTS);
    mfu_emit_columns_sum(s, "talk.bias_grad", rows, a->heads, s->numerics.compute);
    mfu_emit_matmul(s, "talk.wgrad", a->math, a->heads, a->heads, pairs, 1, rows, kept, *dw);
    out = mfu_tensor_new(s, pairs, a->heads, s->numerics.compute, MFU_PART_ACTIVATIONS);
    out = mfu_emit_matmul(s, "talk.dgrad", a->math, pairs, a->heads, a->heads, 1, rows, kept, out);
    return mfu_emit_laid(s, "talk.layout", 1, mfu_view_rows(s, g), mfu_view_columns(s, g), 1, &out);
}

static void math_forward(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_attention a = describe(s, n);
    bool one_kernel = is_one_kernel(s, n);
    double pairs = a.sequences * a.heads * a.seq * a.keys;
    int learnt = (int)n->op->attribute[LEARNED], weight = learnt == TALKS ? mfu_node_weight(s, n, 0) : MFU_NO_VIEW;
    int qkv[3], scores, probabilities, factor, mask = MFU_NO_VIEW, capped = MFU_NO_VIEW, y, given = MFU_NO_VIEW,
                                               named = MFU_NO_VIEW, talked = MFU_NO_VIEW;

    inputs(s, n, qkv);
    for (int i = 0; i < 3; i++)
        if (!(s->runtime->heads_in_place || stands_apart(n)
              || (i > 0 && mfu_has_prefix(s, n))) /* which stand head by head */
            || (i > 0 && a.kv_heads < a.heads))   /* keys are repeated for their queries */
            qkv[i] = per_head(s, &a, "contiguous", qkv[i], i ? a.keys : a.seq, i == 2 ? a.value_dim : a.head_dim);
    scores = product(s, &a, "scores", a.seq, a.keys, a.head_dim, qkv[0], qkv[1]);
    if (!one_kernel) {
        if (learnt == SCALES)
            given = scores;
        scores = mfu_emit_pointwise(s, "scale", learnt == SCALES ? scaled_type(s) : s->numerics.compute, 1, scores,
                                    is_scored(n) ? mfu_node_input(s, n, 3) : MFU_NO_VIEW, MFU_NO_VIEW);
        if (learnt == TALKS)
            scores = mixed(s, &a, "talk", scores, weight, &given);
        if (n->op->attribute[SOFTCAP] > 0)
            for (int i = 0; i < 3; i++) { /* divide, tanh (saved), multiply */
                scores = mfu_emit_pointwise(s, "softcap", s->numerics.compute, i == 1 ? 6 : 1, scores, MFU_NO_VIEW,
                                            MFU_NO_VIEW);
                capped = i == 1 ? scores : capped;
            }
        if (has_bias(n) && !is_scored(n))
            scores = mfu_emit_broadcast(
                s, "bias", mfu_view_type(s, mfu_node_input(s, n, 3)) == MFU_F32 ? MFU_F32 : mfu_view_type(s, scores), 1,
                scores, mfu_node_input(s, n, 3));
        scores = masked(s, n, &a, scores);
        if (n->op->attribute[SINKS] > 0) /* beside the scores; minus their maximum */
            for (int i = 0; i < 2; i++)
                scores =
                    mfu_emit_broadcast(s, i ? "shift" : "cat_sinks", mfu_view_type(s, scores), 1, scores, MFU_NO_VIEW);
        named = scores;
        if (upcasts(s, n) && (!mfu_precisions[s->config->precision].scaler || mfu_view_type(s, scores) == MFU_F32))
            scores = mfu_emit_cast(s, scores, MFU_F32); /* fp16 softmax reads halves itself */
    }
    probabilities = mfu_tensor_new(s, mfu_view_rows(s, scores), mfu_view_columns(s, scores),
                                   upcasts(s, n) ? MFU_F32 : s->numerics.compute, MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_VIEWS(scores), MFU_VIEWS(probabilities), .suffix = "softmax", .kind = MFU_REDUCTION,
             .traffic = MFU_C_DRAM_SOFTMAX, .fusion = MFU_ROW, .flops = 5 * pairs);
    factor = n->op->attribute[SOFTMAX] == FP32 ? mfu_emit_cast(s, probabilities, s->numerics.compute) : probabilities;
    if (n->op->attribute[DROPOUT] > 0)
        factor = mfu_emit_dropout(s, "dropout", factor, &mask);
    factor = mfu_autocast(s, factor);
    if (learnt == TALKS)
        factor = mixed(s, &a, "talk_back", factor, weight, &talked);
    y = product(s, &a, "values", a.seq, a.value_dim, a.keys, factor, qkv[2]);
    n->out = mfu_emit_laid(s, "merge", 1, mfu_view_rows(s, mfu_node_input(s, n, 0)),
                           n->op->attribute[HEADS] * value_dim(n->op), 1, &y);
    if (is_scored(n)
        && s->runtime->scopes) { /* variables (transformers 5.23, modeling_deberta_v2.py: rel_att, attention_scores) */
        mfu_tensor_extend(s, mfu_node_input(s, n, 3));
        mfu_tensor_extend(s, named);
    }
    for (int i = 0; i < 3; i++)
        mfu_node_save(n, qkv[i]);
    MFU_SAVE(n, probabilities, factor, mask, capped, given, talked);
}

static void math_backward(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_attention a = describe(s, n);
    bool one_kernel = is_one_kernel(s, n);
    double pairs = a.sequences * a.heads * a.seq * a.keys, by_head = s->program->mesh.ranks[MFU_AXIS_CP_HEADS];
    static const char *const back[] = {"dq_merge", "dk_merge", "dv_merge"};
    bool copies = !s->runtime->heads_in_place, apart = stands_apart(n), packed = n->source->n_in < 3;
    int p = n->saved[PROBABILITIES], g = mfu_autocast(s, n->gradient), dp, dscores, in[2];
    int d[3] = {MFU_NO_VIEW, MFU_NO_VIEW, MFU_NO_VIEW}, dw = MFU_NO_VIEW, given = n->saved[SCORES];

    if (copies)
        g = per_head(s, &a, "dmerge", g, a.seq, a.value_dim);
    if (wants(s, n, 2))
        d[2] = product(s, &a, "dvalues", a.keys, a.value_dim, a.seq, n->saved[FACTOR], g);
    dp = product(s, &a, "dprobabilities", a.seq, a.keys, a.value_dim, g, n->saved[MATH_V]);
    if (n->saved[TALKED] != MFU_NO_VIEW)
        dp = unmixed(s, n, &a, dp, n->saved[TALKED], &dw);
    if (n->op->attribute[SINKS] > 0) /* zeros beside it */
        dp = mfu_emit_broadcast(s, "dslice", mfu_view_type(s, dp), 0, dp, MFU_NO_VIEW);
    if (n->saved[MASK] != MFU_NO_VIEW)
        dp = mfu_emit_pointwise(s, "ddropout", mfu_view_type(s, dp), 2, dp, n->saved[MASK], MFU_NO_VIEW);
    if (!one_kernel)
        dp = mfu_emit_cast(s, dp, mfu_view_type(s, p));
    in[0] = dp, in[1] = p;
    if (!s->runtime->fuse
        && !one_kernel) /* eager PyTorch multiplies first (torch native/cuda/SoftMax.cu, softmax_backward_cuda_out) */
        in[0] = mfu_emit_pointwise(s, "dsoftmax_product", mfu_view_type(s, p), 1, dp, p, MFU_NO_VIEW);
    dscores =
        mfu_tensor_new(s, mfu_view_rows(s, p), mfu_view_columns(s, p),
                       one_kernel || s->numerics.math == MFU_PEAK_FP16 ? s->numerics.compute : mfu_view_type(s, p),
                       MFU_PART_ACTIVATIONS); /* fp16 softmax writes halves itself */
    MFU_EMIT(s, MFU_LIST(2, in), MFU_VIEWS(dscores), .suffix = "dsoftmax", .kind = MFU_REDUCTION,
             .traffic = MFU_C_DRAM_SOFTMAX, .fusion = MFU_ROW, .flops = 5 * pairs);
    if (!one_kernel) {
        dscores = mfu_emit_cast(s, dscores, s->numerics.compute);
        if (fills(n, &a))
            dscores = mfu_emit_broadcast(s, "dmask", mfu_view_type(s, dscores), 1, filled(s, "dmask_copy", dscores),
                                         MFU_NO_VIEW);
        if (has_bias(n) && !is_scored(n) && mfu_wants_gradient(s, n, 3))
            give_bias(s, n, &a, dscores);
        if (n->op->attribute[SOFTCAP] > 0)
            for (int i = 0; i < 3; i++)
                dscores = mfu_emit_pointwise(s, "dsoftcap", mfu_view_type(s, dscores), 3, dscores,
                                             i == 1 ? n->saved[CAPPED] : MFU_NO_VIEW, MFU_NO_VIEW);
        if (n->op->attribute[LEARNED] == TALKS)
            dscores = unmixed(s, n, &a, dscores, given, &dw);
        else if (given != MFU_NO_VIEW) {
            int product = mfu_emit_pointwise(s, "dgain", mfu_view_type(s, p), 1, dscores, given, MFU_NO_VIEW);

            dw = mfu_emit_columns_sum(s, "wgrad", product, a.heads, s->numerics.weight);
        }
        if (dw != MFU_NO_VIEW && mfu_trains(s, n, 0))
            mfu_param_grad_add(s, n, 0, dw);
        if (!stands_apart(n))
            dscores = mfu_emit_pointwise(s, "dscale", mfu_view_type(s, dscores), 1, dscores, MFU_NO_VIEW, MFU_NO_VIEW);
        if (is_scored(n))
            mfu_grad_add(s, n, 3, dscores);
    }
    for (int i = 0; i < 2; i++)
        if (wants(s, n, i))
            d[i] = product(s, &a, i ? "dk" : "dq", i ? a.keys : a.seq, a.head_dim, i ? a.seq : a.keys, dscores,
                           n->saved[i ? MATH_Q : MATH_K]);
    for (int i = 0; i < 3; i++) {
        double columns = by_head * (i ? a.kv_heads : a.heads) * (i == 2 ? a.value_dim : a.head_dim);
        double rows = a.sequences * (i ? a.keys : a.seq) / by_head;

        if (d[i] == MFU_NO_VIEW)
            continue;
        if (i && a.kv_heads < a.heads) { /* sum over the repeated heads */
            int sum = mfu_tensor_new(s, rows, columns, mfu_view_type(s, d[i]), MFU_PART_ACTIVATIONS);

            MFU_EMIT(s, MFU_VIEWS(d[i]), MFU_VIEWS(sum), .suffix = "sum_heads", .kind = MFU_REDUCTION,
                     .fusion = MFU_MAP, .flops = mfu_view_elements(s, d[i]));
            d[i] = sum;
        } else {
            d[i] = mfu_view_slice(s, d[i], rows, columns);
        }
        if (copies && !apart && !(packed && i == 1)) /* packed keys lie as cat reads them */
            d[i] = mfu_emit_laid(s, back[i], 1, rows, columns, 1, &d[i]);
    }
    give_inputs(s, n, d);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    (is_fused(s, n) ? fused_forward : math_forward)(s, n);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    (is_fused(s, n) ? fused_backward : math_backward)(s, n);
}

const struct mfu_primitive mfu_primitive_attention = {
    .name = "attention",
    .summary = "softmax(Q K^T) V over the tokens of a sequence",
    .attributes =
        {
            [HEADS] = {"heads", "n_head", NULL, "query heads", 1},
            [KV_HEADS] = {"kv_heads", "n_kv_head", NULL, "key/value heads", 1},
            [HEAD_DIM] = {"head_dim", "head_dim", NULL, "width of one head", 1},
            [CAUSAL] = {"causal", "1", NULL, "whether a token sees only earlier ones"},
            [WINDOW] = {"window", "0", NULL, "tokens that a query sees; 0: all"},
            [DROPOUT] = {"dropout", "0", NULL, "dropout of the probabilities"},
            [SOFTCAP] = {"softcap", "0", NULL, "whether scores are capped by tanh"},
            [MASKING] = {"masking", "fill", maskings, "whether a mask is filled in (in place) or added (math only)"},
            [SOFTMAX] = {"softmax", "as_given", softmaxes, "whether the code makes scores fp32 itself (math only)"},
            [VALUE_DIM] = {"value_dim", "0", NULL, "width of one head's values; 0: head_dim"},
            [SINKS] = {"sinks", "0", NULL, "whether a learned score per head takes part (math only)"},
            [COPIED] = {"copied", "0", NULL,
                        "whether q lies head by head: a kernel's result then does, too, and is copied"},
            [PARTS] = {"parts", "0", NULL, "whether the code multiplies the parts itself, whatever kernels there are"},
            [CHUNK] = {"chunk", "0", NULL, "tokens that attend among themselves alone; 0: all of a sequence"},
            [JOINED] = {"joined", "0", NULL,
                        "whether a batch is one sequence, whose parts a mask (the fourth input) keeps apart"},
            [SCORED] =
                {"scored", "0", NULL,
                 "1: the fourth input is a score of each pair of each sequence, scaled with the others; 2: added to "
                 "products of keys that are scaled, head by head"},
            [OVER] = {"over", "tokens", overs, "what attends: tokens, or the columns of a head (math only)"},
            [LEARNED] = {"learned", "nothing", learnts,
                         "what of the scores is: nothing, a scale per head, or products that mix heads (math only)"},
        },
    .inputs = {1, 4},
    .traits = MFU_MIXES_ROWS,
    .split_columns = 1u << HEADS | 1u << KV_HEADS,
    .key_elements = key_elements,
    .takes_prefix = takes_prefix,
    .shape = shape,
    .params = params,
    .forward = forward,
    .backward = backward,
};
