/*
 * occupancy.c - the occupancy calculation of cuda_occupancy.h (CUDA toolkit) and
 * the definitions of DCGM's and Kineto's readings.
 */
#include "cost/occupancy.h"

#include <math.h>

#include "cost/law.h"
#include "descriptor/gpu.h"

#define KIB 1024.          /* bytes */
#define PARTITIONS 4.      /* of an SM, each with its own registers (cuda_occupancy.h) */
#define REGISTER_UNIT 256. /* registers are given to warps in these (cuda_occupancy.h) */

/* ---- how many fit -------------------------------------------------------- */

struct limits {
    double capability, warps, blocks, shared_bytes;
};

/* CUDA programming guide, "Technical Specifications per Compute Capability".
 * The last row that is not above the card's is its own. */
static const struct limits of_capability[] = {
    {6.0, 64, 32, 64 * KIB},   {6.1, 64, 32, 96 * KIB},   {7.0, 64, 32, 96 * KIB},  {7.5, 32, 16, 64 * KIB},
    {8.0, 64, 32, 164 * KIB},  {8.6, 48, 16, 100 * KIB},  {8.9, 48, 24, 100 * KIB}, {9.0, 64, 32, 228 * KIB},
    {10.0, 64, 32, 228 * KIB}, {12.0, 48, 24, 100 * KIB},
};
#define REGISTERS_BYTES (256 * KIB) /* of an SM, in all of them */

static double known(double x, double otherwise)
{
    return x > 0 ? x : otherwise;
}

/* Threads that run as one: a warp of 32, a wavefront of 32 or 64. */
static double wave_of(const struct mfu_gpu *g)
{
    return known(g->max_threads / g->max_warps, 32);
}

static struct limits limits_of(const struct mfu_gpu *g)
{
    struct limits l = {g->compute_capability, NAN, NAN, NAN};

    for (size_t i = 0; i < sizeof of_capability / sizeof of_capability[0]; i++)
        if (g->compute_capability >= of_capability[i].capability)
            l = of_capability[i];
    l.warps = known(g->max_warps, g->max_threads > 0 ? g->max_threads / wave_of(g) : l.warps);
    l.blocks = known(g->max_blocks, l.blocks);
    l.shared_bytes = known(g->shared_bytes, l.shared_bytes);
    return l;
}

static double round_up(double x, double unit)
{
    return ceil(x / unit) * unit;
}

static void least(struct mfu_occupancy *o, double blocks, const char *limit)
{
    if (!o->limit || blocks < o->resident) {
        o->resident = blocks;
        o->limit = limit;
    }
}

void mfu_occupancy(const struct mfu_gpu *g, const struct mfu_grid *grid, struct mfu_occupancy *o)
{
    struct limits l = limits_of(g);
    double registers = known(g->registers_bytes, REGISTERS_BYTES) / 4, wave = wave_of(g);
    bool ampere = g->compute_capability >= 8.0; /* the driver keeps 1 KiB per block */
    double shared = round_up(grid->shared_bytes + (ampere ? 1 * KIB : 0), ampere ? 128 : 256);

    *o = (struct mfu_occupancy){
        .warps = ceil(grid->threads / wave), .most_warps = l.warps, .by_registers = INFINITY, .by_shared = INFINITY};
    o->by_warps = floor(l.warps / o->warps);
    o->by_blocks = l.blocks;
    if (grid->registers > 0) {
        double of_warp = round_up(grid->registers * wave, REGISTER_UNIT);
        double warps = floor(registers / PARTITIONS / of_warp) * PARTITIONS;

        o->by_registers = floor(warps / round_up(o->warps, PARTITIONS));
    }
    if (shared > 0)
        o->by_shared = floor(l.shared_bytes / shared);
    least(o, o->by_warps, "warps");
    least(o, o->by_registers, "registers");
    least(o, o->by_shared, "shared memory");
    least(o, o->by_blocks, "blocks");
    if (isnan(l.warps) || isnan(l.blocks) || isnan(l.shared_bytes))
        o->resident = NAN;
    o->theoretical = o->resident * o->warps / l.warps;
}

struct mfu_waves mfu_waves(double blocks, double sms, double resident)
{
    double slots = sms * resident, full, tail;

    if (!(blocks > 0) || !(slots > 0))
        return (struct mfu_waves){0};
    full = floor(blocks / slots);
    tail = blocks - full * slots;
    return (struct mfu_waves){
        .waves = blocks / slots,
        .rounds = full + (tail > 0),
        .sm_active = (full + fmin(tail, sms) / sms) / (full + (tail > 0)),
        .efficiency = blocks / ((full + (tail > 0)) * slots),
    };
}

/* ---- what counters read -------------------------------------------------- */

/* Traffic that L2 does not keep, from the time that the memory takes: the rest
 * of the bytes comes at L2's speed. */
static double dram_bytes(const struct mfu_machine *m, const struct mfu_kernel *k, const struct mfu_price *p)
{
    double bytes = k->read_bytes + k->write_bytes;
    double dram = 1 / mfu_dram_bytes_s(m, k->traffic), saved = dram - 1 / m->l2_bytes_s;

    if (!(p->memory_s > 0) || !(saved > 0) || !isfinite(saved))
        return bytes;
    return fmax(0, bytes - fmax(0, bytes * dram - p->memory_s) / saved);
}

/* The dense peak at the clock that the kernel runs at: above the rated one where
 * the card does so, below it when power limits it. */
static double running_peak(const struct mfu_machine *m, const struct mfu_kernel *k, const struct mfu_price *p,
                           const struct mfu_tiling *t)
{
    double peak = m->peak_flops[k->math];
    double clock = fmax(known(m->attention_flops, 1), m->gemm_flops[k->math] / (MFU_PIPE_CEILING * peak));
    double slower = t->tile_m > 0 && t->compute_s > 0 ? fmax(1, p->compute_s / t->compute_s) : 1;

    return peak * clock / slower;
}

/* The SMs that hold blocks, when `resident` of them fit.  Blocks of products
 * share the pipes of their SM: two of them take twice as long as one, and the
 * rounds are those of one block per SM. */
static void fill_sms(struct mfu_reading *r, double resident, double sms, bool product)
{
    double fit = resident >= 1 ? resident : 1, warps = r->limit.warps;
    struct mfu_waves slots = mfu_waves(r->grid.blocks, sms, fit);
    struct mfu_waves w = product ? mfu_waves(r->grid.blocks, sms, 1) : slots;

    r->waves = w.waves;
    r->rounds = w.rounds;
    r->sm_active = w.sm_active;
    r->sm_occupancy = slots.efficiency * fit * warps / r->limit.most_warps;
    r->sm_efficiency = fmin(1, r->grid.blocks / sms);
    r->achieved_occupancy = fmin(fit, r->grid.blocks / sms) * warps / r->limit.most_warps;
}

void mfu_read_kernel(const struct mfu_gpu *g, const struct mfu_machine *m, const struct mfu_kernel *k,
                     const struct mfu_price *p, struct mfu_reading *r)
{
    const struct mfu_law_row *law = mfu_law_of(k);
    double running = p->time_s > 0 ? fmax(0, p->time_s - p->overhead_s) / p->time_s : 0;

    *r = (struct mfu_reading){.tensor = law->tensor && k->math != MFU_PEAK_FP32 && g->tensor_cores != 0};
    r->grid = law->grid(g, m, k, &r->tiling);
    if (p->blocks > 0 && law->tells_blocks)
        r->grid.blocks = p->blocks;
    mfu_occupancy(g, &r->grid, &r->limit);
    fill_sms(r, r->limit.resident, m->sms, mfu_kind_is_product(k->kind));
    r->sm_active *= running; /* between two kernels SMs are empty */
    r->sm_occupancy *= running;
    r->dram_bytes = dram_bytes(m, k, p);
    if (!(p->time_s > 0))
        return;
    r->dram_active = fmin(1, r->dram_bytes / p->time_s / m->bandwidth_bytes_s);
    if (r->tensor && m->peak_flops[k->math] > 0)
        r->tensor_active = fmin(1, r->grid.padded_flops / p->time_s / running_peak(m, k, p, &r->tiling));
}

void mfu_read_blocks(const struct mfu_gpu *g, const struct mfu_grid *grid, double resident, double sms,
                     struct mfu_reading *r)
{
    *r = (struct mfu_reading){.grid = *grid};
    mfu_occupancy(g, grid, &r->limit);
    fill_sms(r, resident > 0 ? resident : r->limit.resident, sms, false);
}
