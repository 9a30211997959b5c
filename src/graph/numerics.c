/*
 * numerics.c - the recipes, a row for each way to keep weights.
 *
 * Sources: torch.autocast (16-bit linears, fp32 weights, norms and losses),
 * apex O2, DeepSpeed and Megatron (16-bit weights, fp32 masters),
 * TransformerEngine on Hopper (fp8 linears; what backward multiplies is kept
 * quantised).
 */
#include "graph/numerics.h"

#include "scenario/scenario.h"
#include "scenario/adapter.h"
#include "scenario/setting.h"

/* Where weights are kept, and in which type things are computed. */
enum form { FULL, AUTOCAST, HALVES, PURE, FORMS };

/* Gradients are as the weights, unless the runtime adds them up in fp32; fp16 ones, which are scaled, stay so (Megatron's
 * arguments.py asks for fp32 with bf16 only; DeepSpeed has another optimizer for each). */
// clang-format off
static const struct mfu_numerics recipes[FORMS] = {
    [FULL]     = {.weight = MFU_F32, .compute = MFU_F32, .gradient = MFU_F32, .residual = MFU_F32, .master = MFU_F32, .moment = MFU_F32, .activation = MFU_F32},
    [AUTOCAST] = {.weight = MFU_F32, .compute = MFU_F16, .gradient = MFU_F32, .residual = MFU_F32, .master = MFU_F32, .moment = MFU_F32, .activation = MFU_F16, .autocast = true},
    [HALVES]   = {.weight = MFU_F16, .compute = MFU_F16, .gradient = MFU_F16, .residual = MFU_F16, .master = MFU_F32, .moment = MFU_F32, .activation = MFU_F16, .masters = true},
    [PURE]     = {.weight = MFU_F16, .compute = MFU_F16, .gradient = MFU_F16, .residual = MFU_F16, .master = MFU_F16, .moment = MFU_F16, .activation = MFU_F16},
};
// clang-format on

static const enum mfu_type operands[MFU_OPERAND_COUNT] = {[MFU_OPERAND_F8] = MFU_F8,
                                                          [MFU_OPERAND_F8_BLOCK] = MFU_F8_BLOCK,
                                                          [MFU_OPERAND_F4_16] = MFU_F4_16,
                                                          [MFU_OPERAND_F4_32] = MFU_F4_32};

/* Tensor cores read fp8 operands of one scale in either order (TransformerEngine d0067d0d, pytorch/utils.py:
 * is_non_tn_fp8_gemm_supported()). */
static bool reads_both_orders(double capability)
{
    return (capability >= 10 && capability < 12) || capability >= 13;
}

bool mfu_half_engine(const struct mfu_config *c)
{
    return c->setting[MFU_S_HALF_WEIGHTS] > 0 && !mfu_precisions[c->precision].no_half_weights
        && !mfu_runtimes[c->runtime].c_program;
}

struct mfu_numerics mfu_numerics_choose(const struct mfu_config *c, const struct mfu_runtime *r)
{
    const struct mfu_precision_row *row = &mfu_precisions[c->precision];
    bool autocast = row->half && !row->pure && !r->half_weights && !mfu_half_engine(c);
    enum form form = !row->half ? FULL : row->pure || mfu_config_loads_halves(c) ? PURE : autocast ? AUTOCAST : HALVES;
    struct mfu_numerics n = recipes[form];
    bool wide;

    if (mfu_bases[(int)c->setting[MFU_S_BASE]].half) { /* loaded in 16 bits, whatever autocast does */
        n.weight = MFU_F16;
        n.residual = c->setting[MFU_S_FP32_REST] > 0 ? MFU_F32 : MFU_F16;
    }
    n.math = row->math;
    n.linear_math = row->linear_math;
    n.widens = autocast;
    if (r->layers_only) /* which cast what they are given */
        n.residual = n.compute;
    wide = r->gradient == MFU_GRADIENT_FP32 && c->setting[MFU_S_GRAD_REDUCE] != MFU_REDUCE_BF16;
    if ((wide || mfu_trainers[c->trainer].adds_up_wide) && form != PURE && !row->scaler)
        n.gradient = MFU_F32;
    if (n.masters && c->setting[MFU_S_MAIN_PARAMS] != MFU_MASTER_FP32)
        n.master = MFU_F16;
    n.quantises = row->operand != MFU_OPERAND_AS_COMPUTED;
    n.operand = n.quantises ? operands[row->operand] : n.compute;
    n.product = c->setting[MFU_S_FP8_WEIGHTS] == 0 ? n.weight
        : row->gathers == MFU_GATHERS_QUANTISED    ? n.operand
                                                   : MFU_F8_BOTH;
    n.transposes = row->both_ways || !reads_both_orders(c->gpu->compute_capability);
    if (n.quantises && !r->keeps_wide)
        n.activation = n.operand;
    return n;
}

struct mfu_numerics mfu_numerics_apart(const struct mfu_config *c, bool fp32)
{
    const struct mfu_precision_row *row = &mfu_precisions[c->precision];
    bool half = row->half && !fp32, tf32 = row->half && c->gpu->peak_flops[MFU_PEAK_TF32] > 0;
    struct mfu_numerics n = recipes[half ? PURE : FULL];

    n.math = !half && row->half ? (tf32 ? MFU_PEAK_TF32 : MFU_PEAK_FP32) : row->math;
    n.linear_math = !half && row->half ? MFU_PEAK_FP32 : row->math;
    n.operand = n.compute;
    n.product = n.weight;
    return n;
}
