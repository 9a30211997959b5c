/*
 * rotary - rotates pairs of elements of each head by the token's position.
 *
 * Linear in its input, so that backward needs only the small tables of sines
 * and cosines.  Where only a share of each head is rotated, the rest is put beside it again.  Eager PyTorch, as Hugging Face writes it, runs
 * q*cos + cat(-q2, q1)*sin as five kernels with temporaries; compiled or
 * hand-written code runs it as one.
 */
#include <stddef.h>

#include "graph/builder.h"
#include "scenario/trainer.h"

enum { SHARE, UPCAST };
enum { AS_GIVEN, PAIRS, HALVES, COMPLEX };
static const char *const types[] = {"as_given", "pairs", "halves", "complex", NULL};

/* Whether code of its own rotates, in one kernel. */
static bool is_whole(const struct mfu_builder *s)
{
    return s->whole_norms && !mfu_config_plain_core(s->config);
}

static int rotate_all(struct mfu_builder *s, int x, bool backward)
{
    enum mfu_type type = mfu_view_type(s, x);
    double rows = mfu_view_rows(s, x), columns = mfu_view_columns(s, x);
    int a, half, turned, b;

    if (is_whole(s))
        return mfu_emit_pointwise(s, backward ? "grad" : "", type, 3, x, MFU_NO_VIEW, MFU_NO_VIEW);
    if (!backward) {
        a = mfu_emit_broadcast(s, "cos", type, 1, x, MFU_NO_VIEW);
        half = mfu_emit_broadcast(s, "neg", type, 1, mfu_view_slice(s, x, rows, columns / 2), MFU_NO_VIEW);
        turned = mfu_emit_broadcast(s, "cat", type, 0, x, half);
        b = mfu_emit_broadcast(s, "sin", type, 1, turned, MFU_NO_VIEW);
        return mfu_emit_pointwise(s, "add", type, 1, a, b, MFU_NO_VIEW);
    }
    b = mfu_emit_broadcast(s, "dsin", type, 1, x, MFU_NO_VIEW);
    half = mfu_emit_broadcast(s, "neg", type, 1, mfu_view_slice(s, b, rows, columns / 2), MFU_NO_VIEW);
    turned = mfu_emit_broadcast(s, "slice", type, 1, b, half); /* zeros, then half */
    b = mfu_emit_broadcast(s, "slice", type, 1, b, MFU_NO_VIEW);
    b = mfu_emit_pointwise(s, "add", type, 1, b, turned, MFU_NO_VIEW);
    a = mfu_emit_broadcast(s, "dcos", type, 1, x, MFU_NO_VIEW);
    return mfu_emit_pointwise(s, "add", type, 1, a, b, MFU_NO_VIEW);
}

/* In fp32, pair by pair, as diffusers does (0.42.1, embeddings.py, apply_rotary_emb()). */
static int rotate_wide(struct mfu_builder *s, int x, bool backward)
{
    enum mfu_type type = mfu_view_type(s, x);
    double rows = mfu_view_rows(s, x), columns = mfu_view_columns(s, x);
    int wide = backward ? mfu_emit_cast(s, x, MFU_F32) : MFU_NO_VIEW, a, b = x;

    if (backward) { /* the turned part first, as autograd does */
        b = mfu_emit_cast(s, mfu_emit_broadcast(s, "dsin", MFU_F32, 1, wide, MFU_NO_VIEW), type);
        a = mfu_emit_cast(s, mfu_emit_broadcast(s, "dcos", MFU_F32, 1, wide, MFU_NO_VIEW), type);
    }
    b = mfu_emit_broadcast(s, "stack", type, 0, b,
                           mfu_emit_broadcast(s, "neg", type, 1, mfu_view_slice(s, b, rows, columns / 2), MFU_NO_VIEW));
    if (backward)
        return mfu_emit_pointwise(s, "add", type, 1, a, b, MFU_NO_VIEW);
    a = mfu_emit_broadcast(s, "cos", MFU_F32, 1, mfu_emit_cast(s, x, MFU_F32), MFU_NO_VIEW);
    b = mfu_emit_broadcast(s, "sin", MFU_F32, 1, mfu_emit_cast(s, b, MFU_F32), MFU_NO_VIEW);
    return mfu_emit_cast(s, mfu_emit_pointwise(s, "add", MFU_F32, 1, a, b, MFU_NO_VIEW), type);
}

/* A product of complex numbers, which Inductor leaves to a kernel of its own (torch 2.15 _inductor/lowering.py:
 * "does not support code generation for complex operators"). */
static int rotate_complex(struct mfu_builder *s, int x)
{
    int in = mfu_emit_cast(s, x, MFU_F32);
    double rows = mfu_view_rows(s, in), columns = mfu_view_columns(s, in);
    int out = mfu_tensor_new(s, rows, columns, MFU_F32, MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_VIEWS(in), MFU_VIEWS(out), .suffix = "complex", .kind = MFU_POINTWISE, .flops = 3 * rows * columns);
    return mfu_emit_cast(s, out, mfu_view_type(s, x));
}

static int rotate(struct mfu_builder *s, const struct mfu_node *n, int x, bool backward)
{
    double rows = mfu_view_rows(s, x), columns = mfu_view_columns(s, x), share = n->op->attribute[SHARE];
    enum mfu_type type = mfu_view_type(s, x);
    int turned;

    if (n->op->attribute[UPCAST] == PAIRS && !is_whole(s))
        return rotate_wide(s, x, backward);
    if (n->op->attribute[UPCAST] == HALVES && !is_whole(s))
        return mfu_emit_cast(s, rotate_all(s, mfu_emit_cast(s, x, MFU_F32), backward), type);
    if (!is_whole(s)
        && (n->op->attribute[UPCAST] == COMPLEX
            || (n->op->attribute[UPCAST] == AS_GIVEN && share >= 1 && mfu_trainers[s->config->trainer].complex_rotary)))
        return rotate_complex(s, x);
    if (share >= 1)
        return rotate_all(s, x, backward);
    turned = rotate_all(s, mfu_view_slice(s, x, rows, share * columns), backward);
    return mfu_emit_broadcast(s, "cat", mfu_view_type(s, x), 0, x, turned);
}

static void forward(struct mfu_builder *s, struct mfu_node *n)
{
    n->out = rotate(s, n, mfu_node_input(s, n, 0), false);
}

static void backward(struct mfu_builder *s, struct mfu_node *n)
{
    mfu_grad_add(s, n, 0, rotate(s, n, n->gradient, true));
}

const struct mfu_primitive mfu_primitive_rotary = {
    .name = "rotary",
    .summary = "rotary position embedding of queries or keys",
    .attributes = {[SHARE] = {"share", "1", NULL, "of each head that is rotated"},
                   [UPCAST] = {"fp32", "as_given", types,
                               "whether in fp32, pair by pair, half by half, or as complex numbers"}},
    .inputs = {1, 1},
    .traits = MFU_ELEMENTWISE,
    .forward = forward,
    .backward = backward,
};
