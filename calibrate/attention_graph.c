/*
 * attention_graph.c - the two graphs.
 *
 * cuDNN has kernels for certain graphs only.  These are the ones, in order,
 * types and strides, that NVIDIA's cudnn-frontend composes for training without
 * dropout; what looks roundabout here (sums times one, dq in two types) is what
 * cuDNN looks for.
 */
#include "attention_graph.h"

#include <assert.h>
#include <math.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* A tensor of `rows` x `columns`, row after row. */
static int tensor(struct mfu_graph *g, int batch, int heads, int rows, int columns, enum mfu_graph_type type,
                  enum mfu_graph_place place)
{
    struct mfu_graph_tensor *t = &g->tensor[g->tensors];

    assert(g->tensors < LENGTH(g->tensor));
    *t = (struct mfu_graph_tensor){.size = {batch, heads, rows, columns}, .type = type, .place = place};
    t->stride[3] = 1;
    for (int i = 2; i >= 0; i--)
        t->stride[i] = t->stride[i + 1] * t->size[i + 1];
    return g->tensors++;
}

/* Rows become columns, without anything being moved. */
static void transpose(struct mfu_graph_tensor *t)
{
    const int64_t size = t->size[2];
    const int64_t stride = t->stride[2];

    t->size[2] = t->size[3];
    t->size[3] = size;
    t->stride[2] = t->stride[3];
    t->stride[3] = stride;
}

static int constant(struct mfu_graph *g, float value)
{
    const int number = tensor(g, 1, 1, 1, 1, MFU_GRAPH_FP32, MFU_GRAPH_CONSTANT);

    g->tensor[number].value = value;
    return number;
}

/* Between two steps: as large as the scores, and one number for each row. */
static int inside(struct mfu_graph *g, const struct mfu_attention_shape *s, enum mfu_graph_type type)
{
    return tensor(g, s->batch, s->heads, s->seq, s->seq, type, MFU_GRAPH_INSIDE);
}

static int column(struct mfu_graph *g, const struct mfu_attention_shape *s)
{
    return tensor(g, s->batch, s->heads, s->seq, 1, MFU_GRAPH_FP32, MFU_GRAPH_INSIDE);
}

/* Appends a step; returns y. */
static int step(struct mfu_graph *g, enum mfu_graph_operation operation, int x, int b, int y)
{
    assert(g->steps < LENGTH(g->step));
    g->step[g->steps++] = (struct mfu_graph_step){operation, x, b, MFU_GRAPH_NONE, y};
    return y;
}

/* The same, where y is an fp32 tensor as large as the scores. */
static int scores_step(struct mfu_graph *g, const struct mfu_attention_shape *s, enum mfu_graph_operation operation,
                       int x, int b)
{
    return step(g, operation, x, b, inside(g, s, MFU_GRAPH_FP32));
}

/* The tensors in memory, in the order of their names. */
static void arrays(struct mfu_graph *g, const struct mfu_attention_shape *s, bool backward)
{
    const struct {
        int heads, columns;
        enum mfu_graph_type type;
    } all[MFU_ATTENTION_TENSORS] = {
        [MFU_ATTENTION_Q] = {s->heads, s->dim, MFU_GRAPH_BF16},
        [MFU_ATTENTION_K] = {s->kv_heads, s->dim, MFU_GRAPH_BF16},
        [MFU_ATTENTION_V] = {s->kv_heads, s->dim, MFU_GRAPH_BF16},
        [MFU_ATTENTION_O] = {s->heads, s->dim, MFU_GRAPH_BF16},
        [MFU_ATTENTION_SUMS] = {s->heads, 1, MFU_GRAPH_FP32},
        [MFU_ATTENTION_D_O] = {s->heads, s->dim, MFU_GRAPH_BF16},
        [MFU_ATTENTION_DQ] = {s->heads, s->dim, MFU_GRAPH_BF16},
        [MFU_ATTENTION_DK] = {s->kv_heads, s->dim, MFU_GRAPH_BF16},
        [MFU_ATTENTION_DV] = {s->kv_heads, s->dim, MFU_GRAPH_BF16},
        [MFU_ATTENTION_DQ_FP32] = {s->heads, s->dim, MFU_GRAPH_FP32},
        [MFU_ATTENTION_DOTS] = {s->heads, 1, MFU_GRAPH_FP32},
    };
    const int n = backward ? MFU_ATTENTION_TENSORS : MFU_ATTENTION_FORWARD_TENSORS;

    g->tensors = g->steps = 0;
    for (int i = 0; i < n; i++)
        tensor(g, s->batch, all[i].heads, s->seq, all[i].columns, all[i].type, MFU_GRAPH_MEMORY);
    transpose(&g->tensor[MFU_ATTENTION_K]);
    if (backward)
        transpose(&g->tensor[MFU_ATTENTION_V]);
}

/* Scores of the keys that come after the query become `unseen`. */
static int mask(struct mfu_graph *g, const struct mfu_attention_shape *s, int scores, float unseen)
{
    const int row = step(g, MFU_GRAPH_ROW, scores, MFU_GRAPH_NONE, inside(g, s, MFU_GRAPH_INT32));
    const int col = step(g, MFU_GRAPH_COLUMN, scores, MFU_GRAPH_NONE, inside(g, s, MFU_GRAPH_INT32));
    const int seen = step(g, MFU_GRAPH_AT_LEAST, row, col, inside(g, s, MFU_GRAPH_BOOLEAN));
    const int masked = scores_step(g, s, MFU_GRAPH_SELECT, scores, constant(g, unseen));

    g->step[g->steps - 1].where = seen;
    return masked;
}

void mfu_attention_forward(struct mfu_graph *g, const struct mfu_attention_shape *s, float unseen)
{
    int scores, largest, power, sum, log_sum, weights;

    arrays(g, s, false);
    scores = scores_step(g, s, MFU_GRAPH_MATMUL, MFU_ATTENTION_Q, MFU_ATTENTION_K);
    scores = scores_step(g, s, MFU_GRAPH_MULTIPLY, scores, constant(g, 1 / sqrtf((float)s->dim)));
    if (s->causal)
        scores = mask(g, s, scores, unseen);

    largest = step(g, MFU_GRAPH_MAX, scores, MFU_GRAPH_NONE, column(g, s));
    power = scores_step(g, s, MFU_GRAPH_SUBTRACT, scores, largest);
    power = scores_step(g, s, MFU_GRAPH_EXP, power, MFU_GRAPH_NONE);
    sum = step(g, MFU_GRAPH_SUM, power, MFU_GRAPH_NONE, column(g, s));
    log_sum = step(g, MFU_GRAPH_LOG, sum, MFU_GRAPH_NONE, column(g, s));
    step(g, MFU_GRAPH_ADD, largest, log_sum, MFU_ATTENTION_SUMS);

    weights = step(g, MFU_GRAPH_DIVIDE, power, sum, inside(g, s, MFU_GRAPH_BF16));
    step(g, MFU_GRAPH_MATMUL, weights, MFU_ATTENTION_V, MFU_ATTENTION_O);
}

/* y = x^T b, where x is as large as the scores; y is summed over the heads of a
 * group where they share it. */
static void transposed_product(struct mfu_graph *g, const struct mfu_attention_shape *s, int x, int b, int y)
{
    const int turned = inside(g, s, MFU_GRAPH_BF16);

    transpose(&g->tensor[turned]);
    step(g, MFU_GRAPH_VIEW, x, MFU_GRAPH_NONE, turned);
    if (s->heads == s->kv_heads) {
        step(g, MFU_GRAPH_MATMUL, turned, b, y);
        return;
    }
    const int each = tensor(g, s->batch, s->heads, s->seq, s->dim, MFU_GRAPH_BF16, MFU_GRAPH_INSIDE);

    step(g, MFU_GRAPH_MATMUL, turned, b, each);
    step(g, MFU_GRAPH_SUM, each, MFU_GRAPH_NONE, y);
}

void mfu_attention_backward(struct mfu_graph *g, const struct mfu_attention_shape *s, float unseen)
{
    int scale, dots, scores, weights, d_scores, k;

    arrays(g, s, true);
    scale = constant(g, 1 / sqrtf((float)s->dim));

    dots = tensor(g, s->batch, s->heads, s->seq, s->dim, MFU_GRAPH_FP32, MFU_GRAPH_INSIDE);
    step(g, MFU_GRAPH_MULTIPLY, MFU_ATTENTION_D_O, MFU_ATTENTION_O, dots);
    dots = step(g, MFU_GRAPH_SUM, dots, MFU_GRAPH_NONE, column(g, s));
    step(g, MFU_GRAPH_MULTIPLY, dots, constant(g, 1), MFU_ATTENTION_DOTS);

    scores = scores_step(g, s, MFU_GRAPH_MATMUL, MFU_ATTENTION_Q, MFU_ATTENTION_K);
    scores = scores_step(g, s, MFU_GRAPH_MULTIPLY, scores, scale);
    scores = scores_step(g, s, MFU_GRAPH_SUBTRACT, scores, MFU_ATTENTION_SUMS);
    if (s->causal)
        scores = mask(g, s, scores, unseen);
    weights = scores_step(g, s, MFU_GRAPH_EXP, scores, MFU_GRAPH_NONE);
    transposed_product(g, s, weights, MFU_ATTENTION_D_O, MFU_ATTENTION_DV);

    d_scores = scores_step(g, s, MFU_GRAPH_MATMUL, MFU_ATTENTION_D_O, MFU_ATTENTION_V);
    d_scores = scores_step(g, s, MFU_GRAPH_SUBTRACT, d_scores, MFU_ATTENTION_DOTS);
    d_scores = scores_step(g, s, MFU_GRAPH_MULTIPLY, d_scores, weights);
    d_scores = scores_step(g, s, MFU_GRAPH_MULTIPLY, d_scores, scale);
    transposed_product(g, s, d_scores, MFU_ATTENTION_Q, MFU_ATTENTION_DK);

    k = tensor(g, s->batch, s->kv_heads, s->seq, s->dim, MFU_GRAPH_BF16, MFU_GRAPH_INSIDE);
    step(g, MFU_GRAPH_VIEW, MFU_ATTENTION_K, MFU_GRAPH_NONE, k);
    step(g, MFU_GRAPH_MATMUL, d_scores, k, MFU_ATTENTION_DQ_FP32);
    step(g, MFU_GRAPH_COPY, MFU_ATTENTION_DQ_FP32, MFU_GRAPH_NONE, MFU_ATTENTION_DQ);
}

int64_t mfu_graph_elements(const struct mfu_graph_tensor *t)
{
    return t->size[0] * t->size[1] * t->size[2] * t->size[3];
}

int64_t mfu_graph_bytes(const struct mfu_graph_tensor *t)
{
    return mfu_graph_elements(t) * (t->type == MFU_GRAPH_BF16 ? 2 : 4);
}
