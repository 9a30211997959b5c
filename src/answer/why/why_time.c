/*
 * why_time.c - the step: from 100 % of the peak down to the MFU.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/advise/advise.h"
#include "plan/conventions.h"
#include "plan/exchanges.h"
#include "answer/why/why.h"
#include "base/error.h"
#include "base/translation.h"
#include "base/short.h"

/* Parts below this share of the step are not worth a line; nor a sentence (chosen). */
#define SHOWN 0.0005
#define TOLD 0.01

/* ---- parts --------------------------------------------------------------- */

/* Groups in the order of the split, each with its own parts below it. */
static void add_parts(const struct mfu_breakdown *s, struct mfu_why *w)
{
    for (int g = 0; g < MFU_G_COUNT; g++) {
        const struct mfu_breakdown_group_row *row = &mfu_breakdown_groups[g];
        int n = 0;

        for (int i = 0; i < MFU_BREAKDOWN_COUNT; i++)
            n += (int)mfu_breakdown_rows[i].group == g && s->part_s[i] != 0;
        if (n == 0 && g != MFU_G_MFU)
            continue;
        mfu_why_add(w, row->name, s->group_s[g] / s->step_s, s->group_s[g], false, row->says, row->command);
        for (int i = 0; n > 1 && i < MFU_BREAKDOWN_COUNT; i++)
            if ((int)mfu_breakdown_rows[i].group == g && s->part_s[i] != 0)
                mfu_why_add(w, mfu_breakdown_rows[i].name, s->part_s[i] / s->step_s, s->part_s[i], true,
                            mfu_breakdown_rows[i].says, "");
    }
}

/* ---- sentences ----------------------------------------------------------- */

/* The next largest part of a group, or -1. */
static int next_part(const struct mfu_breakdown *s, int group, const bool *done)
{
    int best = -1;

    for (int i = 0; i < MFU_BREAKDOWN_COUNT; i++)
        if ((int)mfu_breakdown_rows[i].group == group && !done[i]
            && (best < 0 || fabs(s->part_s[i]) > fabs(s->part_s[best])))
            best = i;
    return best;
}

/* "gemm inefficiency 4.2 %: waves 2.1 % (most in h.attn.proj: ...), ..." */
static void tell_group(const struct mfu_plan *p, const struct mfu_breakdown *s, int group, struct mfu_why *w)
{
    const struct mfu_breakdown_group_row *row = &mfu_breakdown_groups[group];
    bool done[MFU_BREAKDOWN_COUNT] = {false};
    char line[MFU_WHY_LINE] = "";
    size_t used = 0;

    for (int n = 0, i; n < 3 && (i = next_part(s, group, done)) >= 0; n++) {
        const struct mfu_culprit *c = &s->culprits[i];
        char what[320];

        done[i] = true;
        if (fabs(s->part_s[i]) < 0.4 * TOLD * s->step_s)
            break;
        mfu_why_culprit(p, (enum mfu_breakdown_part)i, c, what, sizeof what);
        if (s->part_s[i] == s->group_s[group]) /* the whole group */
            used += (size_t)snprintf(line + used, sizeof line - used, "%s",
                                     c->name[0] ? "" : mfu_translate(mfu_breakdown_rows[i].says));
        else
            used += (size_t)snprintf(line + used, sizeof line - used, "%s%s %s%s", n ? "; " : "",
                                     mfu_translate(mfu_breakdown_rows[i].name), P(s->part_s[i] / s->step_s),
                                     what[0] ? ", " : "");
        if (what[0] && used < sizeof line)
            used += (size_t)snprintf(line + used, sizeof line - used, mfu_translate("most in %s (%s)"), c->name, what);
        if (used >= sizeof line)
            break;
    }
    mfu_why_say(w, "%s, %s: %s.", mfu_translate(row->name), P(s->group_s[group] / s->step_s), line);
}

static void tell_groups(const struct mfu_plan *p, const struct mfu_breakdown *s, struct mfu_why *w)
{
    bool done[MFU_G_COUNT] = {[MFU_G_MFU] = true, [MFU_G_MASK] = true};

    for (int n = 0; n < MFU_G_COUNT; n++) {
        int best = -1;

        for (int g = 0; g < MFU_G_COUNT; g++) {
            double most = 0; /* a group whose parts cancel is told, too */

            for (int i = 0; i < MFU_BREAKDOWN_COUNT; i++)
                most = (int)mfu_breakdown_rows[i].group == g ? fmax(most, fabs(s->part_s[i])) : most;
            if (!done[g] && most >= TOLD * s->step_s && (best < 0 || s->group_s[g] > s->group_s[best]))
                best = g;
        }
        if (best < 0)
            break;
        done[best] = true;
        tell_group(p, s, best, w);
    }
}

/* "tensor parallelism (8 ranks) crosses nodes, over the network: 41 %" */
static void tell_exchanges(const struct mfu_plan *p, struct mfu_why *w)
{
    struct mfu_exchange list[MFU_MOST_EXCHANGES];
    char line[MFU_WHY_LINE] = "";
    size_t used = 0;

    for (int i = 0, n = mfu_exchanges(p, list); i < n && used < sizeof line; i++)
        if (list[i].exposed_s > 0.4 * TOLD * p->step.time_s && list[i].ranks > 1)
            used += (size_t)snprintf(
                line + used, sizeof line - used,
                mfu_translate(list[i].nodes > 1 ? "%s%s (%g ranks) crosses nodes, over %s: %s"
                                                : "%s%s (%g ranks) stays in the node, over %s: %s"),
                used ? "; " : "", list[i].group, list[i].ranks, list[i].level, P(list[i].exposed_s / p->step.time_s));
    if (used)
        mfu_why_say(w, "Between GPUs, unhidden: %s.", line);
}

/* What waits for the host, and what it would take to hide it. */
static void tell_offload(const struct mfu_plan *p, struct mfu_why *w)
{
    struct mfu_exchange list[MFU_MOST_EXCHANGES];

    for (int i = 0, n = mfu_exchanges(p, list); i < n; i++)
        if (list[i].drive_bytes > 0)
            mfu_why_say(w, "NVMe: %s a step are read and written in %s, of which %s are unhidden.",
                        Q(list[i].drive_bytes, MFU_BYTES), Q(list[i].time_s, MFU_SECONDS),
                        Q(list[i].exposed_s, MFU_SECONDS));
        else if (list[i].off_gpu)
            mfu_why_say(w,
                        "Offload: %s a step over %s, %s in all with the CPU's work, of which %s are unhidden; in "
                        "return %s are in the host's memory.",
                        Q(list[i].fabric_bytes, MFU_BYTES), list[i].level, Q(list[i].time_s, MFU_SECONDS),
                        Q(list[i].exposed_s, MFU_SECONDS), Q(p->memory.host_bytes, MFU_BYTES));
}

static void tell_paging(const struct mfu_plan *p, struct mfu_why *w)
{
    const struct mfu_memory_answer *m = &p->memory;

    if (m->paged_bytes > 0 && m->evicted_bytes == 0)
        mfu_why_say(w,
                    "Paged: %s of optimizer states would move to the host if the GPU were full; it is not, and they "
                    "cost nothing.",
                    Q(m->paged_bytes, MFU_BYTES));
    if (m->evicted_bytes > 0)
        mfu_why_say(w,
                    "Paged: %s of %s of optimizer states find no room on the GPU. Each step all of them come and go by "
                    "pages, %s.",
                    Q(m->evicted_bytes, MFU_BYTES), Q(m->paged_bytes, MFU_BYTES), Q(p->paging_s, MFU_SECONDS));
}

static void tell_stages(const struct mfu_plan *p, struct mfu_why *w)
{
    const struct mfu_stage *s = p->stages ? &p->stages[p->shown_stage] : NULL;
    double most_s = 0;

    if (!s || p->n_stages == 0)
        return;
    for (int i = 0; i < p->n_stages; i++)
        most_s = fmax(most_s, p->stages[i].imbalance_s);
    mfu_why_say(w,
                "Stage %d of %d computes longest; it waits %s for the others and %s for its own messages. The stage "
                "that computes least waits %s for that alone.",
                p->shown_stage + 1, p->n_stages, P(s->idle_s / p->step.time_s), P(s->waits_s / p->step.time_s),
                P(most_s / p->step.time_s));
}

/* What other programs print for it, and whether that misleads. */
static void tell_convention(const struct mfu_plan *p, struct mfu_why *w)
{
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    size_t n = mfu_conventions(p, all);

    for (size_t i = 0; i < n && !mfu_model_samples(p->config.model); i++)
        if (strcmp(all[i].name, "nanogpt") == 0 && fabs(all[i].mfu / p->mfu.mfu - 1) > 0.1)
            mfu_why_say(w,
                        "A nanoGPT log would say %s for the same run: it divides by the %s of an A100, %.2g times "
                        "this card's peak.",
                        P(all[i].mfu), Q(all[i].peak_flops, MFU_FLOP_PER_S), all[i].peak_flops / p->mfu.peak_flops);
}

static void tell_mask(const struct mfu_breakdown *s, struct mfu_why *w)
{
    if (s->group_s[MFU_G_MASK] < -TOLD * s->step_s)
        mfu_why_say(w,
                    "MFU counts attention in full; the mask saves %s of it, so "
                    "that share is taken off again. Counting what is computed, the MFU would be %s.",
                    Q(-s->group_s[MFU_G_MASK], MFU_SECONDS),
                    P((s->part_s[MFU_P_PEAK] + s->part_s[MFU_P_MASK]) / s->step_s));
}

static void tell_again(const struct mfu_plan *p, const struct mfu_breakdown *s, struct mfu_why *w)
{
    if (s->again_peak_s > 0.001 * s->step_s)
        mfu_why_say(w,
                    "Checkpointing computes products again: HFU is %s, MFU %s. Only the time of the step says "
                    "whether that was worth it; recomputing took %s of it.",
                    P(p->mfu.hfu), P(p->mfu.mfu), P(s->group_s[MFU_G_RECOMPUTE] / s->step_s));
}

/* ---- the ceiling --------------------------------------------------------- */

/* Changes of a combination, for people: "batch 16, attention flash". */
static void name_changes(const struct mfu_advice *a, const struct mfu_combination *c, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < c->n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "", a->levers[c->levers[i]].change);
}

/* Numbers may be compared only if it is said what else changes. */
static const char *also_changes(const struct mfu_combination *c)
{
    return c->changes_mathematics && !c->keeps_tokens_per_step ? mfu_translate("other numerics, other tokens per step")
        : c->changes_mathematics                               ? mfu_translate("other numerics")
        : !c->keeps_tokens_per_step                            ? mfu_translate("other tokens per step")
                                                               : mfu_translate("same numerics, same tokens per step");
}

static int add_ceiling(struct mfu_plan *p, struct mfu_simulation *sim, struct mfu_why *w, struct mfu_error *err)
{
    struct mfu_advice a;
    const struct mfu_combination *c = &a.highest;

    if (mfu_advise(&p->scenario, p, sim, &a, err) < 0)
        return -1;
    w->ceiling = a.ceiling;
    if (!isnan(a.ceiling)) {
        name_changes(&a, c, w->ceiling_change, sizeof w->ceiling_change);
        w->ceiling_mathematics = c->changes_mathematics;
        w->ceiling_tokens = !c->keeps_tokens_per_step;
    }
    if (isnan(a.ceiling))
        mfu_why_say(w, "Ceiling: none, nothing on offer makes this fit on the card; see `advise`.");
    else if (a.base.fits && !(a.ceiling > 1.01 * a.base.mfu))
        mfu_why_say(w,
                    "Ceiling: %s MFU; no lever on offer lifts it by 1 %% here. More would take other kernels, another "
                    "model or another card.",
                    P(a.ceiling));
    else
        mfu_why_say(w, "Ceiling: %s MFU with %s (%s), %.2f times as fast; see `advise`.", P(a.ceiling),
                    w->ceiling_change, also_changes(c), c->speedup);
    mfu_advice_free(&a);
    return 0;
}

/* ---- topics -------------------------------------------------------------- */

static void headline_mfu(const struct mfu_plan *p, const struct mfu_breakdown *s, struct mfu_why *w)
{
    mfu_why_say(w,
                "A step takes %s. At the dense %s peak of this card, %s, its %s of model FLOP would take %s: that "
                "is the MFU, %s. The other %s:",
                Q(s->step_s, MFU_SECONDS), mfu_peak_names[p->mfu.peak], Q(p->mfu.peak_flops, MFU_FLOP_PER_S),
                Q(p->mfu.model_flops / p->config.ranks, MFU_FLOP), Q(s->part_s[MFU_P_PEAK], MFU_SECONDS), P(p->mfu.mfu),
                P(1 - p->mfu.mfu));
}

static int walk(struct mfu_plan *p, struct mfu_simulation *sim, struct mfu_breakdown *s, struct mfu_metrics *m,
                struct mfu_why *w, struct mfu_error *err)
{
    if (mfu_breakdown_make(p, sim, true, s, err) < 0)
        return -1;
    mfu_metrics_of_plan(p, m);
    w->whole = "step";
    add_parts(s, w);
    return 0;
}

int mfu_why_mfu(struct mfu_plan *p, struct mfu_simulation *sim, struct mfu_why *w, struct mfu_error *err)
{
    struct mfu_breakdown s;
    struct mfu_metrics m;

    if (walk(p, sim, &s, &m, w, err) < 0)
        return -1;
    headline_mfu(p, &s, w);
    tell_groups(p, &s, w);
    tell_exchanges(p, w);
    tell_offload(p, w);
    tell_paging(p, w);
    tell_stages(p, w);
    tell_mask(&s, w);
    tell_again(p, &s, w);
    tell_convention(p, w);
    mfu_why_symptoms(p, sim, &s, &m, w);
    return add_ceiling(p, sim, w, err);
}

int mfu_why_slow(struct mfu_plan *p, struct mfu_simulation *sim, struct mfu_why *w, struct mfu_error *err)
{
    struct mfu_breakdown s;
    struct mfu_metrics m;
    const struct mfu_step_answer *a = &p->step;
    double optimizer_s;

    if (walk(p, sim, &s, &m, w, err) < 0)
        return -1;
    optimizer_s = a->optimizer_s;
    mfu_why_say(w,
                p->config.accum > 1
                    ? "A step takes %s: %.0f micro-steps of %s with %s tokens each, then the optimizer, %s (%s). "
                      "Kernels run for %s of it, %.0f of them."
                    : "A step takes %s: %.0f micro-step of %s with %s tokens, then the optimizer, %s (%s). Kernels run "
                      "for %s of it, %.0f of them.",
                Q(a->time_s, MFU_SECONDS), p->config.accum, Q((a->time_s - optimizer_s) / p->config.accum, MFU_SECONDS),
                Q(p->config.tokens, MFU_TOKENS), Q(optimizer_s, MFU_SECONDS), P(optimizer_s / a->time_s),
                P(s.kernels_s / a->time_s), a->kernels);
    mfu_why_say(w, "Each token costs %s of model FLOP; with %s tokens/s that is %s.",
                Q(p->mfu.model_flops / a->tokens, MFU_FLOP), Q(a->tokens_per_s, MFU_COUNT),
                Q(p->mfu.achieved_flops, MFU_FLOP_PER_S));
    mfu_why_say(w, "Backward takes %.2f times forward: twice the products, and what does not scale with them.",
                a->backward_s / a->forward_s);
    if (p->config.accum > 1)
        mfu_why_say(w,
                    "Accumulation shares the optimizer among %.0f micro-steps: without it the optimizer would take %s "
                    "of each step. What the host does between steps is shared, too.",
                    p->config.accum, P(optimizer_s / ((a->time_s - optimizer_s) / p->config.accum + optimizer_s)));
    tell_groups(p, &s, w);
    tell_exchanges(p, w);
    tell_offload(p, w);
    tell_paging(p, w);
    tell_stages(p, w);
    mfu_why_symptoms(p, sim, &s, &m, w);
    return 0;
}

int mfu_why_utilisation(struct mfu_plan *p, struct mfu_simulation *sim, struct mfu_why *w, struct mfu_error *err)
{
    struct mfu_breakdown s;
    struct mfu_metrics m;

    if (mfu_breakdown_make(p, sim, true, &s, err) < 0)
        return -1;
    mfu_metrics_of_plan(p, &m);
    w->whole = "time";
    mfu_why_add(w, "no kernel", 1 - m.gpu_utilization, (1 - m.gpu_utilization) * s.step_s, false,
                "all that utilisation sees", "step");
    mfu_why_add(w, "SMs without work", m.gpu_utilization - m.sm_active, (m.gpu_utilization - m.sm_active) * s.step_s,
                false, "a kernel runs elsewhere", "metrics");
    mfu_why_add(w, "tensor cores idle", m.sm_active - m.tensor_active, (m.sm_active - m.tensor_active) * s.step_s,
                false, "SMs do other things", "kernels");
    mfu_why_add(w, "tensor pipe not MFU", m.tensor_active - m.mfu, (m.tensor_active - m.mfu) * s.step_s, false,
                m.tensor_active >= m.mfu ? "padding, recomputing" : "correction: causal mask, clock above rated",
                "why mfu");
    mfu_why_add(w, "mfu", m.mfu, m.mfu * s.step_s, false, "model FLOP at the rated peak", "mfu");
    mfu_why_say(w,
                "nvidia-smi would say %s: that is the time with any kernel running. SMs hold work for %s, the tensor "
                "pipe runs for %s, and the model needs %s of the rated peak.",
                P(m.gpu_utilization), P(m.sm_active), P(m.tensor_active), P(m.mfu));
    mfu_why_say(w,
                "Kernels on tensor cores take %s of the busy time; DRAM is busy for %s on average, and the others "
                "wait for it.",
                P(m.tensor_kernels), P(m.dram_active));
    if (m.tensor_active < m.mfu)
        mfu_why_say(w,
                    "The tensor pipe reads less than the MFU: it counts no masked pairs (%s of the step at peak), and "
                    "at the clock the card runs at, which may be above the rated one.",
                    P(fabs(s.group_s[MFU_G_MASK]) / s.step_s));
    if (m.board_w > 0)
        mfu_why_say(w, "Power would read about %s of %s: between idling and tensor work.", Q(m.power_w, MFU_WATTS),
                    Q(m.board_w, MFU_WATTS));
    mfu_why_symptoms(p, sim, &s, &m, w);
    return 0;
}
