/*
 * attention_graph.h - attention as a graph of plain operations, the form in
 * which cuDNN takes it.
 *
 * The graph is a table: tensors, and steps that compute one from others.  cuDNN
 * recognises the whole as attention and runs it as one kernel or a few, so only
 * the tensors that lie in memory ever exist; cudnn.c hands the table over, and
 * the tests compute it step by step.
 */
#ifndef MFU_ATTENTION_GRAPH_H
#define MFU_ATTENTION_GRAPH_H

#include <stdint.h>

#include "attention.h"

#ifdef __cplusplus
extern "C" {
#endif

enum mfu_graph_type { MFU_GRAPH_FP32, MFU_GRAPH_BF16, MFU_GRAPH_INT32, MFU_GRAPH_BOOLEAN };

enum mfu_graph_place {
    MFU_GRAPH_MEMORY,  /* in the GPU's memory: read or written */
    MFU_GRAPH_INSIDE,  /* only between two steps */
    MFU_GRAPH_CONSTANT /* one number, given at the launch */
};

enum mfu_graph_operation {
    MFU_GRAPH_MATMUL, /* y = x b, matrix by matrix; b may have fewer heads, shared by groups */
    MFU_GRAPH_VIEW,   /* y = x in memory order, with the sizes and strides of y */
    MFU_GRAPH_SUM,    /* y = the sum over what y has fewer of: columns, or heads of a group */
    MFU_GRAPH_MAX,    /* the same, the largest */
    MFU_GRAPH_ADD,    /* y = x + b, element by element; b may be a column or one number */
    MFU_GRAPH_SUBTRACT,
    MFU_GRAPH_MULTIPLY,
    MFU_GRAPH_DIVIDE,
    MFU_GRAPH_EXP,
    MFU_GRAPH_LOG,
    MFU_GRAPH_COPY,
    MFU_GRAPH_AT_LEAST, /* y = x >= b */
    MFU_GRAPH_ROW,      /* y = the number of the row, */
    MFU_GRAPH_COLUMN,   /* of the column: x gives the sizes only */
    MFU_GRAPH_SELECT,   /* y = where ? x : b */
    MFU_GRAPH_OPERATIONS
};

#define MFU_GRAPH_NONE -1

struct mfu_graph_tensor {
    int64_t size[4], stride[4]; /* batch, heads, rows, columns; strides in elements */
    enum mfu_graph_type type;
    enum mfu_graph_place place;
    float value; /* of a constant */
};

/* Tensors by number; MFU_GRAPH_NONE where the operation takes fewer. */
struct mfu_graph_step {
    enum mfu_graph_operation operation;
    int x, b, where, y;
};

struct mfu_graph {
    struct mfu_graph_tensor tensor[48];
    struct mfu_graph_step step[32];
    int tensors, steps;
};

/* The tensors in memory, first in every graph; a forward graph ends with the
 * sums.  q, k, v, o and their gradients are batch x heads x seq x dim of bf16. */
enum mfu_attention_tensor {
    MFU_ATTENTION_Q,
    MFU_ATTENTION_K,
    MFU_ATTENTION_V,
    MFU_ATTENTION_O,
    MFU_ATTENTION_SUMS, /* log of the sum of exponentials of each row, fp32 */
    MFU_ATTENTION_FORWARD_TENSORS,
    MFU_ATTENTION_D_O = MFU_ATTENTION_FORWARD_TENSORS,
    MFU_ATTENTION_DQ,
    MFU_ATTENTION_DK,
    MFU_ATTENTION_DV,
    MFU_ATTENTION_DQ_FP32, /* dq before it is rounded: blocks of keys add to it */
    MFU_ATTENTION_DOTS,    /* sum(o * d_o) of each row, fp32 */
    MFU_ATTENTION_TENSORS
};

/* `unseen` is the score of a key that a query does not see: -infinity, or the
 * lowest finite number. */
void mfu_attention_forward(struct mfu_graph *, const struct mfu_attention_shape *, float unseen);
void mfu_attention_backward(struct mfu_graph *, const struct mfu_attention_shape *, float unseen);

/* Elements and bytes of a tensor in memory. */
int64_t mfu_graph_elements(const struct mfu_graph_tensor *);
int64_t mfu_graph_bytes(const struct mfu_graph_tensor *);

#ifdef __cplusplus
}
#endif
#endif
