/*
 * recall - what stood here in the batch before, in front of what stands here now: segment recurrence (Transformer-XL).
 *
 * What is here now is copied for the next batch, without gradients, and stays until that has been; the gradient of the whole is
 * read where the rows of this batch lie in it.  NVIDIA's DeepLearningExamples 729963dd, mem_transformer.py, _update_mems().
 */
#include <stddef.h>

#include "graph/builder.h"

enum { TOKENS };

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0);
    double old = n->op->attribute[TOKENS] * s->config->batch, width = mfu_view_columns(s, x), rows;

    n->out = x;
    if (!(old > 0))
        return;
    if (!s->recomputing) {
        /* A part of both batches is a look at all of them, which stays whole. */
        rows = mfu_view_rows(s, x) + (mfu_compare(s, old, mfu_view_rows(s, x)) == 0 ? 0 : old);
        mfu_tensor_retain(s, mfu_emit_rows(s, "keep", rows, x, MFU_NO_VIEW));
    }
    n->out = mfu_tensor_new(s, old + mfu_view_rows(s, x), width, mfu_view_type(s, x), MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_VIEWS(x), MFU_VIEWS(n->out), .suffix = "cat", .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR,
             .fusion = MFU_MAP, .extra_read_bytes = old * width * mfu_type_bytes[mfu_view_type(s, x)]);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    int x = mfu_node_input(s, n, 0);

    mfu_grad_add(s, n, 0, mfu_view_slice(s, n->gradient, mfu_view_rows(s, x), mfu_view_columns(s, x)));
}

const struct mfu_primitive mfu_primitive_recall = {
    .name = "recall",
    .summary = "rows of the batch before in front of this one's",
    .attributes = {[TOKENS] = {"tokens", NULL, NULL, "tokens of each sequence that are kept"}},
    .inputs = {1, 1},
    .traits = MFU_PASSES_STATES | MFU_READS_BESIDE | MFU_RECALLS,
    .forward = forward,
    .backward = backward,
};
