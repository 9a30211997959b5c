/*
 * multiply - a b, element by element: the gate of SwiGLU and GeGLU.
 *
 * Backward needs both factors.  Some packages apply the activation of the first one in the same kernel, and
 * write the gradients of both over what was kept.
 */
#include <stddef.h>

#include "graph/builder.h"

#define REACH 4           /* operations between the two, at most: the other factor is made there */
#define FLOPS 6           /* of the product, with an activation */
#define BACKWARD_FLOPS 12 /* of both gradients */

bool mfu_is_gate(const struct mfu_builder *s, const struct mfu_node *n)
{
    int index = (int)(n - s->nodes);

    for (int i = index + 1; s->whole_gates && i < s->n_nodes && i <= index + REACH; i++)
        if (mfu_is(s->nodes[i].op, MFU_GATES) && s->nodes[i].in[0] == index)
            return true;
    return false;
}

/* Whether it applies the activation before it as well, which passed its input on. */
static bool applies(struct mfu_builder *s, const struct mfu_node *n)
{
    const struct mfu_node *before = n->in[0] >= 0 ? &s->nodes[n->in[0]] : NULL;

    return s->whole_gates && before && mfu_is(before->op, MFU_CHEAP) && mfu_activation_gates(before->op)
        && before->in[0] >= 0 && before->out == mfu_node_input(s, before, 0);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    int a = mfu_node_input(s, n, 0), b = mfu_node_input(s, n, 1);

    MFU_SAVE(n, a, b);
    n->out = mfu_emit_pointwise(s, "", mfu_view_type(s, a), applies(s, n) ? FLOPS : 1, a, b, MFU_NO_VIEW);
}

static int over(struct mfu_builder *s, int view)
{
    return mfu_view_slice(s, view, mfu_view_rows(s, view), mfu_view_columns(s, view));
}

static void backward_in_place(struct mfu_builder *s, struct mfu_node *n)
{
    int a = n->saved[0], b = n->saved[1], d[2] = {over(s, a), over(s, b)};

    MFU_EMIT(s, MFU_VIEWS(n->gradient, a, b), MFU_LIST(2, d), .suffix = "grad", .kind = MFU_POINTWISE,
             .fusion = MFU_MAP, .flops = BACKWARD_FLOPS * mfu_view_elements(s, a));
    for (int i = 1; i >= 0; i--)
        mfu_grad_add(s, n, i, mfu_wants_gradient(s, n, i) ? d[i] : MFU_NO_VIEW);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    enum mfu_type type = mfu_view_type(s, n->gradient);
    int d[2] = {MFU_NO_VIEW, MFU_NO_VIEW};

    if (applies(s, n)) {
        backward_in_place(s, n);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (mfu_wants_gradient(s, n, i))
            d[i] = mfu_emit_pointwise(s, i ? "grad_b" : "grad_a", type, 1, n->gradient, n->saved[1 - i], MFU_NO_VIEW);
    mfu_tensor_extend(s, d[0]);
    for (int i = 0; i < 2; i++) /* what is saved goes when both are made */
        mfu_tensor_extend(s, n->saved[i]);
    for (int i = 1; i >= 0; i--)
        mfu_grad_add(s, n, i, d[i]);
}

const struct mfu_primitive mfu_primitive_multiply = {
    .name = "multiply",
    .summary = "product of two tensors, element by element",
    .inputs = {2, 2},
    .traits = MFU_ELEMENTWISE | MFU_CHEAP | MFU_GATES,
    .forward = forward,
    .backward = backward,
};
