/*
 * breakdown.c - walks every kernel from the peak to what it takes.
 */
#include "answer/why/breakdown.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/exchanges.h"

const struct mfu_breakdown_group_row mfu_breakdown_groups[MFU_G_COUNT] = {
    [MFU_G_MFU] = {"mfu", "model FLOP at the peak", "mfu"},
    [MFU_G_MASK] = {"masked attention", "counted, not computed", "mfu"},
    [MFU_G_GEMM] = {"gemm inefficiency", "products below the peak", "kernels"},
    [MFU_G_ATTENTION] = {"attention inefficiency", "attention below the peak", "kernels"},
    [MFU_G_MEMORY] = {"memory-bound kernels", "wait for DRAM", "roofline"},
    [MFU_G_LOSS] = {"loss", "wait for DRAM", "kernels"},
    [MFU_G_OPTIMIZER] = {"optimizer", "once per step", "step"},
    [MFU_G_RECOMPUTE] = {"recompute", "activations not kept", "memory"},
    [MFU_G_GAPS] = {"launch gaps", "between two kernels", "step"},
    [MFU_G_HOST] = {"host", "the CPU is late", "trace"},
    [MFU_G_INPUT] = {"input", "the loader is late", "step"},
    [MFU_G_COMMUNICATION] = {"communication", "between GPUs, and with the host", "trace"},
    [MFU_G_PIPELINE] = {"pipeline", "its stages fill and drain", "plan"},
};

const struct mfu_breakdown_row mfu_breakdown_rows[MFU_BREAKDOWN_COUNT] = {
#define X(id, of, text, meaning) [MFU_P_##id] = {MFU_G_##of, text, meaning},
    MFU_BREAKDOWN_PARTS(X)
#undef X
};

/* ---- products ------------------------------------------------------------ */

/* Walks along `n` times, each with one more cause: the differences are the
 * causes' shares. */
static void add_walk(double part_s[], const double *times, const enum mfu_breakdown_part *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        part_s[parts[i]] += times[i + 1] - times[i];
}

/* From the peak of the plan's precision to the price without its overhead. */
static void walk_gemm(const struct mfu_machine *machine, double peak_flops, const struct mfu_kernel *kernel,
                      const struct mfu_price *price, double part_s[])
{
    static const enum mfu_breakdown_part parts[] = {MFU_P_PRECISION, MFU_P_CLOCK,    MFU_P_EDGES,
                                                    MFU_P_TILES,     MFU_P_RAMP,     MFU_P_WAVES,
                                                    MFU_P_ALIGNMENT, MFU_P_THROTTLE, MFU_P_ROOF};
    struct mfu_machine m = *machine;
    struct mfu_kernel k = *kernel;
    double t[10];

    t[0] = k.flops / peak_flops;
    t[1] = k.flops / m.peak_flops[k.math];
    t[2] = k.flops / m.gemm_flops[k.math];
    k.aligned = true;
    m.sms = 1; /* one after the other: no round is left half empty */
    m.c[MFU_C_GEMM_K0] = m.c[MFU_C_GEMM_I0] = 0;
    t[3] = mfu_gemm_tiling(&m, &k).compute_s;
    m.c[MFU_C_GEMM_I0] = machine->c[MFU_C_GEMM_I0];
    t[4] = mfu_gemm_tiling(&m, &k).compute_s;
    m.c[MFU_C_GEMM_K0] = machine->c[MFU_C_GEMM_K0];
    t[5] = mfu_gemm_tiling(&m, &k).compute_s;
    m.sms = machine->sms;
    t[6] = mfu_gemm_tiling(&m, &k).compute_s;
    t[7] = mfu_gemm_tiling(machine, kernel).compute_s;
    t[8] = price->compute_s;
    t[9] = price->time_s - price->overhead_s;
    add_walk(part_s, t, parts, sizeof parts / sizeof parts[0]);
}

static double attention_s(const struct mfu_machine *m, const struct mfu_kernel *k)
{
    struct mfu_price scratch = {0};

    return mfu_attention_seconds(m, k, &scratch);
}

/* From what it computes at the peak on. */
static void walk_attention(const struct mfu_machine *machine, double peak_flops, const struct mfu_kernel *kernel,
                           const struct mfu_price *price, double part_s[])
{
    static const enum mfu_breakdown_part parts[] = {MFU_P_A_PRECISION, MFU_P_A_RATE,  MFU_P_A_HEAD,
                                                    MFU_P_A_LENGTH,    MFU_P_A_WAVES, MFU_P_A_ROOF};
    struct mfu_machine m = *machine;
    struct mfu_kernel k = *kernel;
    double t[7];

    t[0] = k.flops / peak_flops;
    t[1] = k.flops / m.peak_flops[k.math];
    m.sms = 1;
    m.c[mfu_attentions[k.attention].half] = 0;
    k.k = mfu_attention_padded_head(k.k);
    t[2] = attention_s(&m, &k);
    k.k = kernel->k;
    t[3] = attention_s(&m, &k);
    memcpy(m.c, machine->c, sizeof m.c);
    t[4] = attention_s(&m, &k);
    t[5] = price->compute_s;
    t[6] = price->time_s - price->overhead_s;
    add_walk(part_s, t, parts, sizeof parts / sizeof parts[0]);
}

/* ---- any kernel ---------------------------------------------------------- */

/* The primitive that the launch belongs to; "" if it is no op of the model. */
static const char *primitive_of(const struct mfu_plan *p, const struct mfu_launch *l)
{
    const struct mfu_model *m = p->config.model;

    for (int s = 0; s < m->n_sections; s++) {
        const struct mfu_model_section *sec = &m->sections[s];

        for (int i = sec->first; strcmp(sec->name, l->section) == 0 && i < sec->first + sec->count; i++)
            if (m->ops[i].name == l->op || strcmp(m->ops[i].name, l->op) == 0)
                return m->ops[i].primitive->name;
    }
    return "";
}

/* Where the time of a kernel that streams goes. */
static const enum mfu_breakdown_part part_of[MFU_KIND_COUNT] = {
#define X(argument, id, ...) [MFU_##id] = MFU_P_##id,
    MFU_STREAM_KINDS(X, )
#undef X
};

/* FLOP of a fused attention over all pairs of tokens, as MFU counts them. */
static double all_pairs(const struct mfu_kernel *k)
{
    return (k->backward ? 8 : 4) * k->batch * k->n * k->k * k->pairs;
}

static void add_attention(const struct mfu_plan *p, const struct mfu_kernel *k, const struct mfu_price *price,
                          double part_s[])
{
    /* Backward has four products, and a fifth for the scores again. */
    double needed = k->backward ? 0.8 * k->flops : k->flops, peak = p->mfu.peak_flops;

    part_s[MFU_P_PEAK] += all_pairs(k) / peak;
    part_s[MFU_P_MASK] += (needed - all_pairs(k)) / peak;
    part_s[MFU_P_SCORES] += (k->flops - needed) / peak;
    walk_attention(&p->machine, peak, k, price, part_s);
}

void mfu_breakdown_launch(const struct mfu_plan *p, const struct mfu_launch *l, const struct mfu_price *price,
                          double part_s[MFU_BREAKDOWN_COUNT])
{
    const struct mfu_kernel *k = &l->work->kernel;
    double busy_s = price->time_s - price->overhead_s;
    bool attention;

    if (!(k->launches > 0)) /* only the end of a scope */
        return;
    part_s[MFU_P_GAPS] += price->overhead_s;
    attention = l->phase != MFU_OPTIMIZER_PHASE && strcmp(primitive_of(p, l), "attention") == 0;
    if (l->recomputed)
        part_s[mfu_is_product(l) ? MFU_P_PRODUCTS_AGAIN : MFU_P_OTHERS_AGAIN] += busy_s;
    else if (mfu_kind_is_attention(k->kind))
        add_attention(p, k, price, part_s);
    else if (mfu_kind_is_gemm(k->kind) && attention) {
        part_s[MFU_P_PEAK] += k->flops / p->mfu.peak_flops;
        part_s[MFU_P_A_PRODUCTS] += busy_s - k->flops / p->mfu.peak_flops;
    } else if (mfu_kind_is_gemm(k->kind)) {
        part_s[MFU_P_PEAK] += mfu_kernel_counted_flops(k) / p->mfu.peak_flops;
        part_s[MFU_P_WINOGRAD] += (k->flops - mfu_kernel_counted_flops(k)) / p->mfu.peak_flops;
        if (price->waves > 0)
            walk_gemm(&p->machine, p->mfu.peak_flops, k, price, part_s);
        else { /* depthwise windows and single columns, which fill no tile */
            part_s[MFU_P_UNTILED] += price->compute_s - k->flops / p->mfu.peak_flops;
            part_s[MFU_P_ROOF] += busy_s - price->compute_s;
        }
    } else if (l->phase == MFU_OPTIMIZER_PHASE)
        part_s[mfu_kinds[k->kind].group == MFU_GROUP_UPDATES ? part_of[k->kind] : MFU_P_CLIPPING] += busy_s;
    else if (attention && !mfu_attentions[p->config.attention].fused)
        part_s[MFU_P_A_SCORES] += busy_s;
    else
        part_s[part_of[k->kind]] += busy_s;
}

/* ---- who adds the most --------------------------------------------------- */

struct suspect {
    const struct mfu_launch *launch;
    const struct mfu_price *price;
    double part_s[MFU_BREAKDOWN_COUNT];
};

struct suspects {
    struct suspect *list;
    int n;
};

static bool same(const struct mfu_launch *a, const struct mfu_launch *b)
{
    return a->phase == b->phase && a->work->kernel.kind == b->work->kernel.kind
        && (a->op == b->op || strcmp(a->op, b->op) == 0)
        && (a->suffix == b->suffix || strcmp(a->suffix, b->suffix) == 0)
        && (a->section == b->section || strcmp(a->section, b->section) == 0);
}

static struct suspect *suspect_of(struct suspects *all, const struct mfu_launch *l, const struct mfu_price *price)
{
    for (int i = 0; i < all->n; i++)
        if (same(all->list[i].launch, l))
            return &all->list[i];
    all->list[all->n] = (struct suspect){.launch = l, .price = price};
    return &all->list[all->n++];
}

static void accuse(const struct suspects *all, struct mfu_breakdown *split)
{
    for (int part = 0; part < MFU_BREAKDOWN_COUNT; part++) {
        struct mfu_culprit *c = &split->culprits[part];

        for (int i = 0; i < all->n; i++) {
            char name[sizeof c->name];

            if (fabs(all->list[i].part_s[part]) <= fabs(c->seconds))
                continue;
            mfu_launch_name(all->list[i].launch, name, sizeof name);
            snprintf(c->name, sizeof c->name, "%s", name + (name[0] == '.'));
            c->kernel = all->list[i].launch->work->kernel;
            c->price = *all->list[i].price;
            c->seconds = all->list[i].part_s[part];
        }
    }
}

/* ---- the step ------------------------------------------------------------ */

/* What no kernel fills: what is known by name, and the rest, which is the wait for
 * other stages, the slowdown beside collectives, or the host between kernels of one
 * launch. */
static void add_idle(const struct mfu_plan *p, const struct mfu_timeline *t, struct mfu_breakdown *s)
{
    double step_s = fmin(p->machine.c[MFU_C_STEP_CONSTANT], t->host_bound_s), rest_s, offload_s = 0;
    struct mfu_exchange list[MFU_MOST_EXCHANGES];

    s->part_s[MFU_P_LOADER] = t->loader_wait_s;
    s->part_s[MFU_P_PAGING] = p->paging_s;
    for (int i = 0, n = mfu_exchanges(p, list); i < n; i++)
        offload_s += list[i].off_gpu ? list[i].exposed_s : 0;
    s->part_s[MFU_P_OFFLOAD] = offload_s;
    s->part_s[MFU_P_EXPOSED] = p->step.communication_exposed_s - p->step.contention_s - offload_s;
    s->part_s[MFU_P_STEP] = step_s;
    s->part_s[MFU_P_DISPATCH] = t->host_bound_s - step_s - p->paging_s - p->ranks_s;
    rest_s = s->step_s;
    for (int i = 0; i < MFU_BREAKDOWN_COUNT; i++)
        rest_s -= s->part_s[i];
    s->part_s[p->n_stages > 0 ? MFU_P_BUBBLE : p->config.ranks > 1 ? MFU_P_CONTENTION : MFU_P_DISPATCH] += rest_s;
}

static void add_up(const struct mfu_plan *p, const struct mfu_timeline *t, struct mfu_breakdown *s)
{
    double peak_s = p->mfu.model_flops / p->config.ranks / p->mfu.peak_flops;

    s->step_s = p->step.time_s;
    s->part_s[MFU_P_UNCOUNTED] += s->part_s[MFU_P_PEAK] - peak_s;
    s->part_s[MFU_P_PEAK] = peak_s;
    s->again_peak_s =
        (p->mfu.hardware_flops - p->mfu.model_flops) / p->config.ranks / p->mfu.peak_flops - s->part_s[MFU_P_WINOGRAD];
    add_idle(p, t, s);
    for (int i = 0; i < MFU_BREAKDOWN_COUNT; i++)
        s->group_s[mfu_breakdown_rows[i].group] += s->part_s[i];
}

int mfu_breakdown_make(const struct mfu_plan *p, const struct mfu_simulation *sim, bool culprits,
                       struct mfu_breakdown *split, struct mfu_error *err)
{
    const struct mfu_program *g = mfu_simulation_program(sim);
    struct suspects all = {0};

    *split = (struct mfu_breakdown){0};
    if (culprits && !(all.list = malloc((size_t)(g->n_launches + 1) * sizeof *all.list)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];
        double times = mfu_segment_times(g, seg);

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            const struct mfu_launch *l = mfu_launch_in(g, seg, i);
            const struct mfu_price *price = mfu_price_at(&sim->pricing, i);
            double one[MFU_BREAKDOWN_COUNT] = {0};
            struct suspect *who = culprits && l->work->kernel.launches > 0 ? suspect_of(&all, l, price) : NULL;

            if (l->communicates) /* what is exposed of it, add_idle() knows */
                continue;
            mfu_breakdown_launch(p, l, price, one);
            split->kernels_s += times * (l->work->kernel.launches > 0 ? price->time_s : 0);
            split->products_s += mfu_is_product(l) ? times * price->time_s : 0;
            for (int part = 0; part < MFU_BREAKDOWN_COUNT; part++) {
                split->part_s[part] += times * one[part];
                if (who)
                    who->part_s[part] += times * one[part];
            }
        }
    }
    if (culprits)
        accuse(&all, split);
    add_up(p, &sim->timeline, split);
    free(all.list);
    return 0;
}
