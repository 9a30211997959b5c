/*
 * numerics.c - the recipes, a row for each precision.
 *
 * Sources: torch.autocast (16-bit linears, fp32 weights, norms and losses),
 * apex O2, DeepSpeed and Megatron (16-bit weights, fp32 masters),
 * TransformerEngine on Hopper (fp8 linears; what backward multiplies is kept
 * quantised).
 */
#include "graph/numerics.h"

#include "graph/runtime.h"
#include "scenario/scenario.h"

/* With weights in 32 bits, and in 16 bits.  Gradients are as the weights,
 * unless the runtime adds them up in fp32 or the row says otherwise. */
static const struct recipe {
    struct mfu_numerics wide, halves;
    bool own_gradient; /* the row's type of gradients holds in any runtime */
} recipes[MFU_PRECISION_COUNT] = {
#define FULL(peak)                                                                                                     \
    {                                                                                                                  \
        .weight = MFU_F32, .compute = MFU_F32, .gradient = MFU_F32, .residual = MFU_F32, .master = MFU_F32,            \
        .moment = MFU_F32, .activation = MFU_F32, .math = peak, .linear_math = peak                                    \
    }
#define AUTOCAST(peak, linears, kept)                                                                                  \
    {                                                                                                                  \
        .weight = MFU_F32, .compute = MFU_F16, .gradient = MFU_F32, .residual = MFU_F32, .master = MFU_F32,            \
        .moment = MFU_F32, .activation = kept, .autocast = true, .math = peak, .linear_math = linears                  \
    }
#define HALVES(peak, linears, kept)                                                                                    \
    {                                                                                                                  \
        .weight = MFU_F16, .compute = MFU_F16, .gradient = MFU_F16, .residual = MFU_F16, .master = MFU_F32,            \
        .moment = MFU_F32, .activation = kept, .masters = true, .math = peak, .linear_math = linears                   \
    }
#define PURE(peak)                                                                                                     \
    {                                                                                                                  \
        .weight = MFU_F16, .compute = MFU_F16, .gradient = MFU_F16, .residual = MFU_F16, .master = MFU_F16,            \
        .moment = MFU_F16, .activation = MFU_F16, .math = peak, .linear_math = peak                                    \
    }
    [MFU_FP32] = {FULL(MFU_PEAK_FP32), FULL(MFU_PEAK_FP32), .own_gradient = true},
    [MFU_TF32] = {FULL(MFU_PEAK_TF32), FULL(MFU_PEAK_TF32), .own_gradient = true},
    [MFU_FP16] = {AUTOCAST(MFU_PEAK_FP16, MFU_PEAK_FP16, MFU_F16), HALVES(MFU_PEAK_FP16, MFU_PEAK_FP16, MFU_F16)},
    [MFU_BF16] = {AUTOCAST(MFU_PEAK_BF16, MFU_PEAK_BF16, MFU_F16), HALVES(MFU_PEAK_BF16, MFU_PEAK_BF16, MFU_F16)},
    [MFU_BF16_PURE] = {PURE(MFU_PEAK_BF16), PURE(MFU_PEAK_BF16), .own_gradient = true},
    [MFU_FP8] = {AUTOCAST(MFU_PEAK_BF16, MFU_PEAK_FP8, MFU_F8), HALVES(MFU_PEAK_BF16, MFU_PEAK_FP8, MFU_F8)},
};

bool mfu_half_engine(const struct mfu_config *c)
{
    return c->setting[MFU_S_HALF_WEIGHTS] > 0 && (c->precision == MFU_FP16 || c->precision == MFU_BF16)
        && c->runtime != MFU_LLMC;
}

struct mfu_numerics mfu_numerics_choose(const struct mfu_config *c, const struct mfu_runtime *r)
{
    const struct recipe *row = &recipes[c->precision];
    struct mfu_numerics n = r->half_weights || mfu_half_engine(c) ? row->halves : row->wide;

    if (r->gradient == MFU_GRADIENT_FP32 && !row->own_gradient)
        n.gradient = MFU_F32;
    if (r->keeps_wide)
        n.activation = n.compute;
    return n;
}
