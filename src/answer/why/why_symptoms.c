/*
 * why_symptoms.c - symptoms that a step shows in its numbers: one row each, a
 * condition and a sentence.
 *
 * The rows are the symptoms that people describe (claims C); the limits say
 * when a symptom is worth a line and are no model constants.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "answer/why/why.h"
#include "plan/exchanges.h"
#include "base/translation.h"
#include "scenario/setting.h"
#include "base/short.h"

/* What makes a symptom worth a sentence is chosen, here and where shares are
 * compared below. */
#define BUSY 0.9         /* utilisation that people call high */
#define LOW_TENSOR 0.5   /* tensor activity that they call low */
#define SMALL_EXPERT 512 /* tokens per expert: below, its products are small */
#define NEARLY_FULL 0.92 /* of the card: the next thing may not fit */

struct evidence {
    const struct mfu_plan *p;
    const struct mfu_simulation *sim;
    const struct mfu_breakdown *s;
    const struct mfu_metrics *m;
    struct mfu_symptom *found;
};

__attribute__((format(printf, 3, 4))) static bool found(const struct evidence *e, double share, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(e->found->text, sizeof e->found->text, mfu_translate(format), arguments);
    va_end(arguments);
    e->found->share = share;
    return true;
}

static double group(const struct evidence *e, enum mfu_breakdown_group g)
{
    return e->s->group_s[g] / e->s->step_s;
}

static double part(const struct evidence *e, enum mfu_breakdown_part i)
{
    return e->s->part_s[i] / e->s->step_s;
}

/* Time in kernels that wait for DRAM. */
static double waiting(const struct evidence *e)
{
    return group(e, MFU_G_MEMORY) + group(e, MFU_G_LOSS) + group(e, MFU_G_OPTIMIZER) + part(e, MFU_P_A_SCORES);
}

static bool memory_bound(const struct evidence *e)
{
    if (!(e->m->gpu_utilization > BUSY && e->m->tensor_active < LOW_TENSOR && waiting(e) > 0.3))
        return false;
    return found(e, waiting(e),
                 "%.0f %% busy, tensor pipe %.0f %%, DRAM %.0f %%: kernels that move data take %.0f %% of "
                 "the step. Fuse them: compile, flash attention, fused norm, loss and optimizer.",
                 100 * e->m->gpu_utilization, 100 * e->m->tensor_active, 100 * e->m->dram_active, 100 * waiting(e));
}

static bool many_small_kernels(const struct evidence *e)
{
    const struct mfu_program *g = mfu_simulation_program(e->sim);
    double products = 0, all = 0, others_s = e->s->kernels_s - e->s->products_s;

    for (int k = 0; k < g->n_segments; k++) {
        const struct mfu_segment *seg = &g->segments[k];

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            const struct mfu_launch *l = mfu_launch_in(g, seg, i);
            double n = mfu_segment_times(g, seg) * l->work->kernel.launches;

            if (l->communicates)
                continue;
            all += n;
            products += mfu_is_product(l) ? n : 0;
        }
    }
    if (!(e->m->gpu_utilization > BUSY && others_s > 0.3 * e->s->step_s && products < 0.4 * all))
        return false;
    return found(e, others_s / e->s->step_s,
                 "%.0f of %.0f kernels are no matrix products and take %.0f %% of the step, "
                 "%s each on average. Fewer and larger ones: compile, fused optimizer, fused norm.",
                 all - products, all, 100 * others_s / e->s->step_s, Q(others_s / (all - products), MFU_SECONDS));
}

/* The fastest 16-bit or TF32 peak that the card has beside fp32. */
static bool no_tensor_cores(const struct evidence *e)
{
    const struct mfu_gpu *g = e->p->config.gpu;
    double faster =
        fmax(fmax(g->peak_flops[MFU_PEAK_BF16], g->peak_flops[MFU_PEAK_FP16]), g->peak_flops[MFU_PEAK_TF32]);
    double share = e->s->products_s / e->s->step_s;

    if (mfu_precisions[e->p->config.precision].math != MFU_PEAK_FP32 || !(faster > 0) || share < 0.2)
        return false;
    return found(e, share,
                 "Matrix products take %.0f %% of the step and none runs on tensor cores: fp32 peaks at %s, TF32 at "
                 "%s, 16 bit at %s. Autocast or TF32 is off, or bypassed.",
                 100 * share, Q(g->peak_flops[MFU_PEAK_FP32], MFU_FLOP_PER_S),
                 Q(g->peak_flops[MFU_PEAK_TF32], MFU_FLOP_PER_S),
                 Q(fmax(g->peak_flops[MFU_PEAK_BF16], g->peak_flops[MFU_PEAK_FP16]), MFU_FLOP_PER_S));
}

static bool small_products(const struct evidence *e)
{
    static const enum mfu_breakdown_part parts[] = {MFU_P_EDGES, MFU_P_TILES, MFU_P_RAMP, MFU_P_WAVES, MFU_P_ALIGNMENT};
    double lost = 0, products = e->s->products_s / e->s->step_s;
    int worst = 0;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        lost += part(e, parts[i]);
        worst = part(e, parts[i]) > part(e, parts[worst]) ? (int)i : worst;
    }
    if (!(lost > 0.25 * products && lost > 0.05))
        return false;
    return found(e, lost,
                 "Products are too small or of odd shape: %.0f %% of their time is lost to %s and the like, most in "
                 "%s. Larger micro-batch, sizes padded to multiples of 64.",
                 100 * lost / products, mfu_translate(mfu_breakdown_rows[parts[worst]].name),
                 e->s->culprits[parts[worst]].name);
}

/* Dispatching only: what the host does once per step is no launch, and fewer
 * kernels do not shorten it. */
static bool launch_bound(const struct evidence *e)
{
    double share = part(e, MFU_P_DISPATCH);

    if (share < 0.05)
        return false;
    return found(e, share,
                 "The GPU waits for the CPU %.0f %% of the time: %.0f kernels take %s to launch and %s to run, %s "
                 "each. Compile, CUDA graphs, larger micro-batch.",
                 100 * share, e->p->step.kernels, Q(e->p->step.host_s, MFU_SECONDS), Q(e->s->kernels_s, MFU_SECONDS),
                 Q(e->s->kernels_s / e->p->step.kernels, MFU_SECONDS));
}

/* Which of the things beside forward and its two backward products dominates. */
static bool beyond_forward(const struct evidence *e)
{
    static const enum mfu_breakdown_group groups[] = {MFU_G_OPTIMIZER, MFU_G_RECOMPUTE, MFU_G_COMMUNICATION,
                                                      MFU_G_INPUT};
    const struct mfu_step_answer *a = &e->p->step;
    double backward = fmax(0, a->backward_s - e->s->group_s[MFU_G_RECOMPUTE] - 2 * a->forward_s) / a->time_s;
    const char *name = "backward beyond twice forward";
    double most = backward;

    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (group(e, groups[i]) > most) {
            most = group(e, groups[i]);
            name = mfu_breakdown_groups[groups[i]].name;
        }
    if (part(e, MFU_P_STEP) > most) {
        most = part(e, MFU_P_STEP);
        name = mfu_breakdown_rows[MFU_P_STEP].name;
    }
    if (most < 0.1)
        return false;
    return found(e, most,
                 "Forward is not the problem: it takes %.0f %% of the step. Beside it and its backward, %s dominates "
                 "with %.0f %%.",
                 100 * a->forward_s / a->time_s, mfu_translate(name), 100 * most);
}

static bool small_experts(const struct evidence *e)
{
    double experts = mfu_config_dim(&e->p->config, "n_experts"), top_k = mfu_config_dim(&e->p->config, "top_k");
    double each = e->p->config.tokens * top_k / experts;

    if (!(experts > 1) || !(each < SMALL_EXPERT || e->m->tensor_active < LOW_TENSOR))
        return false;
    return found(e, 1 - e->m->tensor_active,
                 "%.0f experts get %.0f tokens each of a micro-batch (%.0f for each token); the "
                 "tensor pipe works %.0f %% of the time. Larger micro-batch, grouped products.",
                 experts, each, top_k, 100 * e->m->tensor_active);
}

static bool communication_bound(const struct evidence *e)
{
    double share = group(e, MFU_G_COMMUNICATION);
    const struct mfu_config *c = &e->p->config;
    const struct mfu_program *program = &e->p->program;
    double experts = program->gradient_bytes * program->expert_trained, copies = mfu_config_expert_copies(c);
    double bytes = program->gradient_bytes * program->rank_trained - experts;
    struct mfu_exchange list[MFU_MOST_EXCHANGES];
    char of_experts[160] = "", sums[400] = "", slowed[160] = "";

    if (share < 0.05 || mfu_exchanges(e->p, list) == 0)
        return false;
    if (list[0].ranks <= 1)
        return found(e, share,
                     "Copies to and from the host and its optimizer take %.0f %% of the step that nothing hides, over "
                     "%s. More tokens per step, or less offloaded.",
                     100 * share, list[0].level);
    if (experts > 0 && copies > 1 && c->replicas > 1)
        snprintf(of_experts, sizeof of_experts, mfu_translate(" (%.0f of experts %s)"), copies, Q(experts, MFU_BYTES));
    if (c->replicas > 1 || (experts > 0 && copies > 1))
        snprintf(sums, sizeof sums, mfu_translate(" %.0f replicas sum %s of gradients%s%s, %s."),
                 c->replicas > 1 ? c->replicas : copies, Q(c->replicas > 1 ? bytes : experts, MFU_BYTES), of_experts,
                 c->setting[MFU_S_ZERO] > 0 ? mfu_translate(" and gather weights") : "",
                 mfu_config_sums_once(c) ? mfu_translate("less often with more accumulation")
                                         : mfu_translate("in every micro-step"));
    if (e->s->part_s[MFU_P_CONTENTION] > 0)
        snprintf(slowed, sizeof slowed, mfu_translate(", %s more in kernels that it slows down"),
                 Q(e->s->part_s[MFU_P_CONTENTION], MFU_SECONDS));
    return found(
        e, share,
        "Communication takes %.0f %% of the step, most of it %s, %.0f GPUs over %s; %s are unhidden%s.%s Other "
        "sharding, a faster link.",
        100 * share, list[0].group, list[0].ranks, list[0].level, Q(e->s->part_s[MFU_P_EXPOSED], MFU_SECONDS), slowed,
        sums);
}

static bool input_bound(const struct evidence *e)
{
    double share = group(e, MFU_G_INPUT), loader_s = mfu_plan_micro_loader_s(e->p);
    double hidden_s = (e->s->step_s - e->s->group_s[MFU_G_INPUT]) / e->p->config.accum;

    if (share < 0.02)
        return false;
    return found(e, share,
                 "The GPU waits for data %.0f %% of the step: the loader takes %s per micro-batch, of which %s could "
                 "be hidden behind the GPU's work. More workers, prefetch, pinned memory.",
                 100 * share, Q(loader_s, MFU_SECONDS), Q(hidden_s, MFU_SECONDS));
}

static bool padding(const struct evidence *e)
{
    const struct mfu_config *c = &e->p->config;
    double share = 1 - c->documents.fill;

    if (share < 0.05)
        return false;
    return found(e, share, "%.0f %% of the tokens are padding: documents of %s tokens in sequences of %s. %s",
                 100 * share, Q(mfu_documents_mean(&c->documents, c->seq, NULL, NULL), MFU_COUNT), Q(c->seq, MFU_COUNT),
                 mfu_translate(c->setting[MFU_S_PACKING] > 0
                                   ? "They do not fit together well: longer sequences."
                                   : "Pack several into one, or pad to the longest of each micro-batch."));
}

static bool memory_pressure(const struct evidence *e)
{
    const struct mfu_memory_answer *m = &e->p->memory;
    const struct mfu_allocator_stats *a = &e->sim->replay.steady;
    int most = 0;

    if (m->fits && m->fill < NEARLY_FULL && a->retries == 0)
        return false;
    for (int i = 1; i < MFU_PART_COUNT; i++)
        if (m->peak.parts[i] > m->peak.parts[most])
            most = i;
    if (!m->fits)
        return found(e, 1, "It does not fit: %s wanted, %s there; the peak is in %s, most of it %s, %s. See `advise`.",
                     Q(m->smi_bytes, MFU_BYTES), Q(m->capacity_bytes, MFU_BYTES), m->peak_at, mfu_part_names[most],
                     Q(m->peak.parts[most], MFU_BYTES));
    return found(e, fmin(1, m->fill),
                 "Memory is %.0f %% full, with %ld allocator retries: the peak is in %s, most of it %s, %s. See "
                 "`advise`.",
                 100 * m->fill, a->retries, m->peak_at, mfu_part_names[most], Q(m->peak.parts[most], MFU_BYTES));
}

// clang-format off
static const struct { const char *code, *claim; bool (*test)(const struct evidence *); } known[] = {
    {"memory-bound", "C1", memory_bound},
    {"many-small-kernels", "C2", many_small_kernels},
    {"no-tensor-cores", "C3", no_tensor_cores},
    {"small-products", "C4", small_products},
    {"launch-bound", "C5", launch_bound},
    {"beyond-forward", "C6", beyond_forward},
    {"small-experts", "C7", small_experts},
    {"communication-bound", "C8", communication_bound},
    {"input-bound", "C9", input_bound},
    {"memory-pressure", "C10", memory_pressure},
    {"padding", "E1", padding},
};
// clang-format on

const char *mfu_symptom_code(size_t i)
{
    return i < sizeof known / sizeof known[0] ? known[i].code : NULL;
}

void mfu_why_symptoms(const struct mfu_plan *p, const struct mfu_simulation *sim, const struct mfu_breakdown *s,
                      const struct mfu_metrics *m, struct mfu_why *w)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0] && w->n_symptoms < MFU_SYMPTOMS; i++) {
        struct mfu_symptom f = {.code = known[i].code, .claim = known[i].claim};
        int k = w->n_symptoms;

        if (!known[i].test(&(struct evidence){p, sim, s, m, &f}))
            continue;
        for (; k > 0 && w->symptoms[k - 1].share < f.share; k--)
            w->symptoms[k] = w->symptoms[k - 1];
        w->symptoms[k] = f;
        w->n_symptoms++;
    }
}
