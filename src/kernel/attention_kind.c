/*
 * attention_kind.c - the table of attention kinds, and which of them can do what.
 */
#include "kernel/attention_kind.h"

#include <math.h>

const struct mfu_attention_row mfu_attentions[MFU_ATTENTION_COUNT] = {
#define OF_ANY(argument, id, label, text, ...) .name = label, .title = text, __VA_ARGS__
#define MATH_ROW(...) [MFU_MATH] = {OF_ANY(__VA_ARGS__)},
#define X(argument, id, ...)                                                                                           \
    [MFU_##id] = {.fused = true,                                                                                       \
                  .d64 = MFU_C_##id##_D64,                                                                             \
                  .d128 = MFU_C_##id##_D128,                                                                           \
                  .half = MFU_C_##id##_HALF,                                                                           \
                  .backward = MFU_C_##id##_BACKWARD,                                                                   \
                  OF_ANY(argument, id, __VA_ARGS__)},
    MFU_UNFUSED_ATTENTION_KINDS(MATH_ROW, ) MFU_FUSED_ATTENTION_KINDS(X, )
#undef X
};

const char *const mfu_attention_names[MFU_ATTENTION_COUNT + 1] = {
#define X(argument, id, label, ...) [MFU_##id] = label,
    MFU_ATTENTION_KINDS(X, )
#undef X
};

double mfu_attention_padded_head(double d)
{
    return d <= 128 ? ceil(d / 32) * 32 : d <= 256 ? ceil(d / 64) * 64 : ceil(d / 128) * 128;
}

const char *mfu_attention_refusal(enum mfu_attention_kind kind, const struct mfu_attention_needs *n)
{
    const struct mfu_attention_row *row = &mfu_attentions[kind];

    if (isnan(n->head_dim))
        return NULL;
    if (n->softcap && !row->any_scores)
        return "this model caps its attention scores, which only math attention does";
    if (n->parts_only && !row->any_scores)
        return "this model's code computes attention by its parts (set math_attention 0 where it does not)";
    if (n->c_program && !row->in_c_programs)
        return "llm.c has its own kernels (math) or cuDNN's";
    if (!n->half && !row->any_precision)
        return "fused attention needs a 16-bit precision (memeff runs in fp32)";
    if (row->most_head_dim > 0 && n->head_dim > row->most_head_dim)
        return "fused attention needs head_dim <= 256";
    if (row->fused && !((MFU_ON(MFU_CUDA) | row->also_on) & MFU_ON(n->software)))
        return "PyTorch has no such kernel for this maker's cards";
    if (n->capability < row->least_capability || (row->below_capability > 0 && n->capability >= row->below_capability))
        return row->lacking;
    return NULL;
}

enum mfu_attention_kind mfu_attention_default(const struct mfu_attention_needs *n)
{
    enum mfu_attention_kind best = MFU_MATH;

    /* SDPA's kernel for fp32 knows no grouped heads: it then computes the parts. */
    if (!n->half && n->grouped)
        return MFU_MATH;
    for (int i = 0; i < MFU_ATTENTION_COUNT; i++) {
        double from = mfu_attentions[i].te_capability;

        if (n->te && from > 0 && n->capability >= from && !mfu_attention_refusal((enum mfu_attention_kind)i, n))
            return (enum mfu_attention_kind)i;
    }
    for (int i = 0; i < MFU_ATTENTION_COUNT; i++)
        if (mfu_attentions[i].preference > mfu_attentions[best].preference
            && !mfu_attention_refusal((enum mfu_attention_kind)i, n))
            best = (enum mfu_attention_kind)i;
    return best;
}
