/*
 * machine.c - a GPU with the rates that it sustains in this scenario.
 */
#include <math.h>

#include "cost/cost.h"
#include "scenario/scenario.h"
#include "scenario/setting.h"

/* Compute-bound speed falls with about the 0.4th power of the power limit
 * (dynamic power grows with f^2.5; measured on RTX 5090 and 4090). */
#define POWER_EXPONENT 0.4

/* Where no device log shows the highest clock of a card: that of the known ones
 * is 1 to 1.30 of the boost clock (RTX 5090). */
#define HIGHEST_OVER_BOOST 1.3

static double positive(double x, double otherwise)
{
    return x > 0 ? x : otherwise;
}

/* The SM clock that no card of this kind exceeds. */
static double highest_clock(const struct mfu_gpu *g)
{
    return positive(g->max_observed_hz, HIGHEST_OVER_BOOST * g->boost_hz);
}

void mfu_machine_make(const struct mfu_config *c, struct mfu_machine *m)
{
    const struct mfu_gpu *g = c->gpu;
    double clock_hz = c->setting[MFU_S_CLOCK_MHZ] * 1e6, power_w = c->setting[MFU_S_POWER_W];
    double limit_w = power_w > 0 ? power_w : g->power_w;
    double efficiency, scale = 1, cap;

    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        m->c[i] = mfu_config_coefficient(c, (enum mfu_coefficient)i);
    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        m->peak_flops[i] = g->peak_flops[i];
    m->bandwidth_bytes_s = g->bandwidth_bytes_s;
    mfu_topology_make(c->cluster, g, m->c, g->coefficients.sigma, &m->topology);
    m->l2_bytes = positive(g->l2_bytes, 0);
    m->l2_bytes_s = m->bandwidth_bytes_s * m->c[MFU_C_L2_SPEED];
    m->sms = g->sms;

    efficiency = m->c[MFU_C_GEMM_EFFICIENCY];
    if (clock_hz > 0 && g->boost_hz > 0) {
        scale = clock_hz / g->boost_hz;
        efficiency = fmin(efficiency, MFU_PIPE_CEILING);
    } else if (power_w > 0 && power_w < g->power_w) {
        scale = pow(power_w / g->power_w, POWER_EXPONENT);
    }
    m->attention_flops = scale;
    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        m->gemm_flops[i] = m->peak_flops[i] * efficiency * scale;
    m->gemm_flops[MFU_PEAK_FP32] = m->peak_flops[MFU_PEAK_FP32] * m->c[MFU_C_GEMM_FP32] * scale;
    m->gemm_flops[MFU_PEAK_TF32] *= m->c[MFU_C_GEMM_TF32];
    m->gemm_flops[MFU_PEAK_FP8] *= m->c[MFU_C_GEMM_FP8];
    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        m->roof_flops[i] = m->peak_flops[i] * fmax(scale, highest_clock(g) / positive(g->tensor_hz, g->boost_hz));
    m->throttle = m->c[MFU_C_GEMM_THROTTLE];
    cap = m->c[MFU_C_GEMM_POWER] * limit_w; /* NAN where unknown */
    if (cap > 0 && m->gemm_flops[MFU_PEAK_FP16] / cap - 1 > m->throttle)
        m->throttle = m->gemm_flops[MFU_PEAK_FP16] / cap - 1;
    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        m->sustained_flops[i] = m->gemm_flops[i] / (1 + m->throttle);
}
