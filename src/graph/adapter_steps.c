/*
 * adapter_steps.c - what the primitives of adapters have in common.
 */
#include "graph/adapter_steps.h"

#include "scenario/setting.h"

enum mfu_type mfu_adapter_type(const struct mfu_builder *s)
{
    return s->config->setting[MFU_S_LORA_DTYPE] > 0 ? MFU_F16 : MFU_F32;
}

/* fp32 products outside autocast run on the CUDA cores. */
static enum mfu_peak math(const struct mfu_builder *s, int operand)
{
    return mfu_view_type(s, operand) == MFU_F32 ? MFU_PEAK_FP32 : s->numerics.math;
}

int mfu_adapter_product(struct mfu_builder *s, const char *suffix, int x, int weight, double width, double depth)
{
    int out = mfu_tensor_new(s, mfu_view_rows(s, x), width, mfu_view_type(s, x), MFU_PART_ACTIVATIONS);

    return mfu_emit_matmul(s, suffix, math(s, x), mfu_view_rows(s, x), width, depth, 1, x, weight, out);
}

int mfu_adapter_operand(struct mfu_builder *s, int view)
{
    return s->numerics.autocast ? mfu_autocast(s, view) : view;
}

int mfu_adapter_pass(struct mfu_builder *s, const char *suffix, enum mfu_type type, int a, int b)
{
    return mfu_emit_pointwise(s, suffix, type, 1, a, b, MFU_NO_VIEW);
}

int mfu_adapter_column_sum(struct mfu_builder *s, const char *suffix, int view)
{
    int out = mfu_emit_columns_sum(s, suffix, view, mfu_view_columns(s, view), MFU_F32);

    mfu_tensor_of(s, out)->part = MFU_PART_ACTIVATIONS; /* not always a gradient */
    return out;
}

/* dW = g^T x of one of the two. */
int mfu_adapter_weight_gradient(struct mfu_builder *s, const char *suffix, int g, int x, double width, double depth)
{
    int dw = mfu_tensor_new(s, 1, width * depth, mfu_view_type(s, x), MFU_PART_GRADIENTS);

    return mfu_emit_weight_gradient(s, suffix, math(s, x), width, depth, mfu_view_rows(s, x), 1, g, x, dw);
}

int mfu_adapter_small(struct mfu_builder *s, const char *suffix, enum mfu_type type, double rows, double columns,
                      double depth, int a, int b)
{
    int out = mfu_tensor_new(s, rows, columns, type, MFU_PART_ACTIVATIONS);

    if (a == MFU_NO_VIEW)
        a = mfu_view_as(s, 0, rows, depth, type); /* tensor 0: all weights */
    return mfu_emit_matmul(s, suffix, math(s, out), rows, columns, depth, 1, a, b, out);
}
