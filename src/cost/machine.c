/*
 * machine.c - a GPU with the rates that it sustains in this scenario.
 */
#include <math.h>

#include "cost/cost.h"
#include "scenario/scenario.h"
#include "scenario/setting.h"

/* Compute-bound speed of a board that its limit does not hold back falls with
 * about the 0.4th power of a lower limit (measured on RTX 5090 and 4090). */
#define UNLIMITED_EXPONENT 0.4

/* The clock of a board whose limit decides: power grows with f^1.7 near the
 * lowest voltage (GEMM tables of cards of one chip: .585 GH100, .64 AD10x). */
#define LIMITED_EXPONENT 0.6

/* The first year of libraries whose eager kernels load twice as many elements at once. */
#define WIDE_LOADS 2025

/* Where no device log shows the highest clock of a card: that of the known ones
 * is 1 to 1.30 of the boost clock (RTX 5090). */
#define HIGHEST_OVER_BOOST 1.3

/* How far a host time says nothing but that of its own kind, and how far a rating is from the speed of Python's
 * interpreter: as two ratings are from each other. */
#define LEAST_OWN 0.1
#define MARK_SIGMA 0.09

static double positive(double x, double otherwise)
{
    return x > 0 ? x : otherwise;
}

/* Clocks relative to that of the printed peaks. */
struct clocks {
    double pipe;    /* share of the tensor pipe that a large GEMM fills */
    double running; /* the clock while power allows it */
    double limit;   /* that power allows */
};

static struct clocks clocks_of(const struct mfu_machine *m, const struct mfu_gpu *g, double limit_w)
{
    double rated = positive(g->tensor_hz, positive(g->boost_hz, 0));
    struct clocks k = {m->c[MFU_C_GEMM_EFFICIENCY], 1, INFINITY};

    if (rated > 0 && m->c[MFU_C_GEMM_CLOCK] > 0)
        k.running = m->c[MFU_C_GEMM_CLOCK] / rated;
    if (rated > 0 && m->c[MFU_C_GEMM_POWER_CLOCK] > 0 && limit_w > 0 && g->sms > 0)
        k.limit = m->c[MFU_C_GEMM_POWER_CLOCK] * pow(limit_w / g->sms, LIMITED_EXPONENT) / rated;
    return k;
}

/* The SM clock that no card of this kind exceeds. */
static double highest_clock(const struct mfu_gpu *g)
{
    return positive(g->max_observed_hz, HIGHEST_OVER_BOOST * g->boost_hz);
}

/* What one thread of the host takes, and no wait for something else; and the rating of the processor that its default is
 * of: a usual one, but for trainers whose runs were on one kind of machine (DGX H100: 8480C; p5: EPYC 7R13, as a 7763). */
#define DGX_H100 3118
#define P5 2576
static const struct thread {
    enum mfu_coefficient id;
    double mark;
} threads[] = {{MFU_C_DISPATCH_EAGER, MFU_PROCESSOR_USUAL},
               {MFU_C_DISPATCH_BARE, MFU_PROCESSOR_USUAL},
               {MFU_C_DISPATCH_BACKWARD, MFU_PROCESSOR_USUAL},
               {MFU_C_DISPATCH_COMPILE, MFU_PROCESSOR_USUAL},
               {MFU_C_DISPATCH_C, MFU_PROCESSOR_USUAL},
               {MFU_C_DISPATCH_ZERO, MFU_PROCESSOR_USUAL},
               {MFU_C_HOST_JPEG, MFU_PROCESSOR_USUAL},
               {MFU_C_HOST_MEGATRON, MFU_PROCESSOR_USUAL},
               {MFU_C_HOST_TE, DGX_H100},
               {MFU_C_HOST_EXPERTS, DGX_H100},
               {MFU_C_HOST_PRODUCT, DGX_H100},
               {MFU_C_HOST_NANOTRON, P5},
               {MFU_C_HOST_SOFTMAX, MFU_PROCESSOR_USUAL},
               {MFU_C_HOST_MICRO, MFU_PROCESSOR_USUAL},
               {MFU_C_HOST_LOOP, MFU_PROCESSOR_USUAL},
               {MFU_C_HOST_ENGINE, MFU_PROCESSOR_USUAL},
               {MFU_C_HOST_GENERATE, MFU_PROCESSOR_USUAL}};

/* How much longer the scenario's processor takes than that which a host time is of; where it was measured and says of
 * which, the calibration's.  Where no processor is known, what is usual beside the card. */
static double pace(const struct mfu_config *c, const struct thread *t)
{
    const struct mfu_gpu *g = c->gpu;
    bool measured = g->coefficients.origin[t->id] == MFU_FROM_CALIBRATION;
    double mark = c->setting[MFU_S_CPU_MARK],
           its = measured && mark > 0 ? mfu_processor_marks[mfu_processor_find(g->calibrated.key.cpu)] : 0;

    if (c->scenario && c->scenario->coefficient_given[t->id] == MFU_GIVEN_BY_USER)
        return 1; /* of the host that runs it */
    if (mark > 0)
        return positive(its, t->mark) / mark;
    /* Of runs alone, which say of no processor, the fit had the usual one, too. */
    return measured && g->calibrated.key.cpu[0] ? 1 : mfu_config_coefficient(c, MFU_C_HOST_THREAD);
}

double mfu_host_own_sigma(double all)
{
    return sqrt(fmax(all * all - MFU_HOST_SIGMA * MFU_HOST_SIGMA, LEAST_OWN * LEAST_OWN));
}

double mfu_host_sigma(const struct mfu_config *c, enum mfu_coefficient id)
{
    double all = c->gpu->coefficients.sigma[id];

    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        if (threads[i].id == id && c->setting[MFU_S_CPU_MARK] > 0
            && c->gpu->coefficients.origin[id] < MFU_FROM_CALIBRATION)
            all = fmin(all, hypot(mfu_host_own_sigma(all), MARK_SIGMA));
    return all;
}

void mfu_machine_make(const struct mfu_config *c, struct mfu_machine *m)
{
    const struct mfu_gpu *g = c->gpu;
    double clock_hz = c->setting[MFU_S_CLOCK_MHZ] * 1e6, power_w = c->setting[MFU_S_POWER_W];
    double rated_hz = positive(g->tensor_hz, g->boost_hz), year = c->setting[MFU_S_SOFTWARE], share, scale = 1;
    struct clocks k;

    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        m->c[i] = mfu_config_coefficient(c, (enum mfu_coefficient)i);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
        m->c[threads[i].id] *= pace(c, &threads[i]);
    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        m->peak_flops[i] = g->peak_flops[i];
    m->bandwidth_bytes_s = g->bandwidth_bytes_s;
    mfu_topology_make(c->cluster, g, m->c, g->coefficients.sigma, &m->topology);
    m->topology.unit_gpus = mfu_config_unit_gpus(c);
    if (!m->topology.coherent) /* the processes of a machine share its memory */
        m->topology.host_memory /= c->ranks / c->setting[MFU_S_NODES];
    m->topology.nvme_read /= c->ranks / c->setting[MFU_S_NODES];
    m->topology.nvme_write /= c->ranks / c->setting[MFU_S_NODES];
    m->topology.pinned = fmin(m->topology.pinned, m->topology.host_memory);
    m->l2_bytes = positive(g->l2_bytes, 0);
    m->l2_bytes_s = m->bandwidth_bytes_s * m->c[MFU_C_L2_SPEED];
    m->sms = g->sms;
    m->sm_clock_hz = m->sms * positive(clock_hz, positive(m->c[MFU_C_GEMM_CLOCK], positive(g->boost_hz, 0)));
    m->element_clock_hz = mfu_runtimes[c->runtime].narrow_loads ? m->sm_clock_hz : 0;
    m->loads = year > 0 && year < WIDE_LOADS ? 1 : 2;

    k = clocks_of(m, g, power_w > 0 ? power_w : g->power_w);
    m->attention_flops = m->c[MFU_C_GEMM_CLOCK] > 0 ? fmin(k.running, k.limit) : 1;
    if (clock_hz > 0 && rated_hz > 0) {
        scale = m->attention_flops = clock_hz / rated_hz;
        share = fmin(k.pipe, MFU_PIPE_CEILING);
    } else {
        share = k.pipe * fmin(k.running, k.limit);
        if (power_w > 0 && power_w < g->power_w) {
            double at_home = k.pipe * fmin(k.running, clocks_of(m, g, g->power_w).limit);

            scale = isinf(k.limit) ? pow(power_w / g->power_w, UNLIMITED_EXPONENT) : 1;
            m->attention_flops *= scale * share / at_home;
        }
    }
    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        m->gemm_flops[i] = m->peak_flops[i] * share * scale;
    if (year > 0 && year <= m->c[MFU_C_GEMM_SOFTWARE_UNTIL]) {
        m->gemm_flops[MFU_PEAK_FP16] /= m->c[MFU_C_GEMM_SOFTWARE];
        m->gemm_flops[MFU_PEAK_BF16] /= m->c[MFU_C_GEMM_SOFTWARE];
    }
    m->gemm_flops[MFU_PEAK_FP32] = m->peak_flops[MFU_PEAK_FP32] * m->c[MFU_C_GEMM_FP32] * scale;
    m->gemm_flops[MFU_PEAK_TF32] *= m->c[MFU_C_GEMM_TF32];
    m->gemm_flops[MFU_PEAK_FP8] *= m->c[MFU_C_GEMM_FP8];
    m->gemm_flops[MFU_PEAK_INT8] *= m->c[MFU_C_GEMM_FP8];
    m->gemm_flops[MFU_PEAK_NVFP4] *= m->c[MFU_C_GEMM_FP4];
    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        m->roof_flops[i] = m->peak_flops[i] * fmax(scale, highest_clock(g) / positive(g->tensor_hz, g->boost_hz));
    m->throttle = m->c[MFU_C_GEMM_THROTTLE];
    for (int i = 0; i < MFU_PEAK_COUNT; i++)
        m->sustained_flops[i] = m->gemm_flops[i] / (i == MFU_PEAK_FP32 ? 1 : 1 + m->throttle);
}

double mfu_dram_bytes_s(const struct mfu_machine *m, enum mfu_coefficient of_class)
{
    return m->c[of_class] * m->bandwidth_bytes_s * (of_class == MFU_C_GEMM_BANDWIDTH ? 1 : m->c[MFU_C_DRAM_ATTAIN]);
}
