/*
 * linear_attention.h - attention without softmax over the tokens of a sequence, in chunks, as the kernels of
 * flash-linear-attention run it (fla-org/flash-linear-attention bc3b101d: ops/gated_delta_rule/chunk.py, ops/gla/chunk.py,
 * ops/kda/chunk.py, ops/common).
 */
#ifndef MFU_LINEAR_ATTENTION_H
#define MFU_LINEAR_ATTENTION_H

#include <stdbool.h>

#include "graph/builder.h"

/* What a call reads, views of [tokens, numbers]; MFU_NO_VIEW: there is none. */
enum mfu_linear_input {
    MFU_LINEAR_Q,
    MFU_LINEAR_K,
    MFU_LINEAR_V,
    MFU_LINEAR_DECAY, /* of the state, as logarithms before their function */
    MFU_LINEAR_BETA,  /* how much of a key's old value is taken out: the delta rule */
    MFU_LINEAR_INPUTS
};

/* Sizes of one call. */
struct mfu_linear_sizes {
    double key_heads, heads;   /* of queries and keys; of values */
    double key, value, length; /* elements of a head's key and value; tokens of a chunk */
    bool normalised;           /* queries and keys over the roots of their squares' sums, in kernels of their own */
};

/* Appends the forward pass, keeps in the node what backward reads, and returns the view of the result. */
int mfu_linear_forward(struct mfu_builder *, struct mfu_node *, const struct mfu_linear_sizes *,
                       const int in[MFU_LINEAR_INPUTS]);
/* Appends the backward pass; `d` becomes the gradients of what forward read, or MFU_NO_VIEW. */
void mfu_linear_backward(struct mfu_builder *, const struct mfu_node *, const struct mfu_linear_sizes *,
                         int d[MFU_LINEAR_INPUTS]);

#endif
