/*
 * adapter_method - a method of peft beside or in place of a product whose weight is frozen; each is a function of
 * graph/methods/.
 */
#include <stddef.h>

#include "graph/methods/methods.h"

#define METHOD MFU_ADAPTER_MORE /* attributes: enum mfu_adapter_method; MFU_ADAPTER_INNER: a setting */

static mfu_adapter_method_fn *const methods[MFU_METHOD_COUNT] = {
#define X(id, name) [MFU_METHOD_##id] = mfu_method_##name,
    MFU_METHOD_STEPS(X)
#undef X
};

static mfu_adapter_method_fn *method_of(const struct mfu_operation *op)
{
    return methods[(int)op->attribute[METHOD]];
}

struct mfu_tape_weights mfu_adapter_method_weights(const struct mfu_operation *op)
{
    return mfu_tape_count(method_of(op), op);
}

static struct mfu_weights params(const struct mfu_operation *op)
{
    struct mfu_tape_weights w = mfu_adapter_method_weights(op);

    return (struct mfu_weights){.weight = w.weight[0], .bias = w.weight[1], .active = w.weight[0] + w.weight[1]};
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    mfu_tape_forward(method_of(n->op), s, n);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    mfu_tape_backward(method_of(n->op), s, n);
}

const struct mfu_primitive mfu_primitive_adapter_method = {
    .name = "adapter_method",
    .summary = "a method of fine-tuning beside, before or in place of a product whose weight is frozen",
    .attributes = {MFU_ADAPTER_RANK_AND_WIDTH, [METHOD] = {"method", NULL, NULL, "which"},
                   [MFU_ADAPTER_INNER] = {"setting", "0", NULL,
                                          "blocks of an input row (0: rank says their size), LoKr's factor, or whether "
                                          "IA3 stands in front"}},
    .inputs = {2, 2},
    .width = MFU_WIDTH_OF(MFU_ADAPTER_WIDTH),
    .params = params,
    .forward = forward,
    .backward = backward,
};
