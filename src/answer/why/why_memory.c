/*
 * why_memory.c - what fills the card, what grows with the batch, and why
 * nvidia-smi shows more than there are tensors.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/advise/advise.h"
#include "answer/search/solve.h"
#include "answer/why/why.h"
#include "base/error.h"
#include "base/translation.h"
#include "scenario/adapter.h"
#include "scenario/setting.h"
#include "base/short.h"

/* What one more sequence takes at the peak: from the tensors of this and of
 * twice the micro-batch (the ends of blocks follow no rule). */
static int growth_of(const struct mfu_plan *p, struct mfu_peak_memory *each, struct mfu_error *err)
{
    struct mfu_plan other = {0};
    struct mfu_scenario s = p->scenario;
    double batch = p->config.batch;
    int status = mfu_plan_make(&other, &s, err);

    if (status == 0)
        *each = other.memory.peak;
    s.setting[MFU_S_BATCH] *= 2;
    s.setting_given[MFU_S_BATCH] = true;
    if (status == 0 && (status = mfu_plan_make(&other, &s, err)) == 0) {
        each->bytes = (other.memory.peak.bytes - each->bytes) / batch;
        for (int i = 0; i < MFU_PART_COUNT; i++)
            each->parts[i] = (other.memory.peak.parts[i] - each->parts[i]) / batch;
    }
    mfu_plan_release(&other);
    return status;
}

static void add_parts(const struct mfu_plan *p, const struct mfu_peak_memory *growth, struct mfu_why *w)
{
    const struct mfu_memory_answer *m = &p->memory;
    double others = p->config.setting[MFU_S_VRAM_RESERVED], cached = m->reserved_bytes - m->peak.bytes;
    double used = m->smi_bytes + others, batch = p->config.batch;

    for (int i = 0; i < MFU_PART_COUNT; i++) {
        double each = growth->parts[i];
        char text[80];

        if (m->peak.parts[i] < 0.5)
            continue;
        if (fabs(each) * batch > 0.01 * m->peak.parts[i])
            snprintf(text, sizeof text, mfu_translate("grows: %s per sequence"), Q(each, MFU_BYTES));
        else
            snprintf(text, sizeof text, mfu_translate("static, %.2g bytes per parameter"),
                     m->peak.parts[i] / p->program.params);
        mfu_why_add(w, mfu_part_names[i], m->peak.parts[i] / used, m->peak.parts[i], false, text, "memory");
    }
    mfu_why_add(w, "cached", cached / used, cached, false, "kept by the allocator", "memory");
    mfu_why_add(w, "context", m->context_bytes / used, m->context_bytes, false, "static: CUDA, kernels, libraries",
                "memory");
    if (m->paged_bytes > m->evicted_bytes)
        mfu_why_add(w, "paged optimizer", (m->paged_bytes - m->evicted_bytes) / used, m->paged_bytes - m->evicted_bytes,
                    false, "outside PyTorch, moves to the host when the GPU is full", "memory");
    if (others > 0)
        mfu_why_add(w, "other processes", others / used, others, false, "desktop (vram_reserved)",
                    "show vram_reserved");
}

static void tell_states(const struct mfu_plan *p, const struct mfu_peak_memory *growth, struct mfu_why *w)
{
    const struct mfu_memory_answer *m = &p->memory;
    double states =
        m->peak.parts[MFU_PART_WEIGHTS] + m->peak.parts[MFU_PART_GRADIENTS] + m->peak.parts[MFU_PART_OPTIMIZER];
    double each = growth->bytes, grows = each * p->config.batch;

    mfu_why_say(w,
                "Weights, gradients and optimizer of %s parameters take %s, %.1f bytes each: %.0f %% of what "
                "nvidia-smi shows, %s. They are there whatever the batch.",
                Q(p->program.params, MFU_PARAMS), Q(states, MFU_BYTES), states / p->program.params,
                100 * states / m->smi_bytes, Q(m->smi_bytes, MFU_BYTES));
    mfu_why_say(w,
                "Each sequence of %s tokens adds %s at the peak (%s): activations %s, logits and loss %s. Batch %.0f "
                "makes %s of the %s that are allocated.",
                Q(p->config.seq, MFU_TOKENS), Q(each, MFU_BYTES), m->peak_at,
                Q(growth->parts[MFU_PART_ACTIVATIONS], MFU_BYTES), Q(growth->parts[MFU_PART_LOGITS_LOSS], MFU_BYTES),
                p->config.setting[MFU_S_BATCH], Q(grows, MFU_BYTES), Q(m->peak.bytes, MFU_BYTES));
}

static void tell_adapters(const struct mfu_plan *p, struct mfu_why *w)
{
    const struct mfu_method_row *method = &mfu_methods[(int)p->config.setting[MFU_S_ADAPTER]];
    const struct mfu_peak_memory *peak = &p->memory.peak;

    if (method->says)
        mfu_why_say(
            w, "%s trains %s. %s of %s parameters train, %s; their gradients and optimizer states take %s at the peak.",
            method->name, mfu_translate(method->says), Q(p->program.trainable_params, MFU_PARAMS),
            Q(p->program.params, MFU_PARAMS), P(p->program.trainable_params / p->program.params),
            Q(peak->parts[MFU_PART_GRADIENTS] + peak->parts[MFU_PART_OPTIMIZER], MFU_BYTES));
}

/* Allocated, reserved, in use: who holds what. */
static void tell_levels(const struct mfu_plan *p, const struct mfu_simulation *sim, struct mfu_why *w)
{
    const struct mfu_memory_answer *m = &p->memory;
    const struct mfu_replay *r = &sim->replay;
    double others = p->config.setting[MFU_S_VRAM_RESERVED], wanted = 0.9 * m->capacity_bytes - m->smi_bytes - others;
    double between = (double)r->steady.allocated_bytes;

    mfu_why_say(
        w,
        "Tensors take %s at the peak; PyTorch has reserved %s, and nvidia-smi shows %s with the context: %.0f %% "
        "of the %s that the card offers%s.",
        Q(m->peak.bytes, MFU_BYTES), Q(m->reserved_bytes, MFU_BYTES), Q(m->smi_bytes, MFU_BYTES),
        100 * m->smi_bytes / m->capacity_bytes, Q(m->capacity_bytes, MFU_BYTES),
        others > 0 ? mfu_translate("; the rest is other processes") : "");
    if (r->steps > 0 && !r->out_of_memory && p->n_stages == 0) /* a pipeline's blocks are not replayed */
        mfu_why_say(w,
                    "Between two steps only %s are allocated: empty_cache() would then give back %s, and the next step "
                    "would ask for it again. That memory looks used and is only cached.",
                    Q(between, MFU_BYTES), Q(m->reserved_bytes - between, MFU_BYTES));
    if (wanted > 0)
        mfu_why_say(w, "To reach 90 %%, other processes would have to use %s%s.", Q(wanted + others, MFU_BYTES),
                    others > 0 ? mfu_translate(" in all") : "");
}

/* What expandable segments would change. */
static int tell_segments(const struct mfu_plan *p, struct mfu_why *w, struct mfu_error *err)
{
    struct mfu_plan other = {0};
    struct mfu_simulation sim = {0};
    struct mfu_scenario s = p->scenario;
    struct mfu_config config;
    struct mfu_outcome o;
    int status;

    if (p->config.setting[MFU_S_EXPANDABLE_SEGMENTS] > 0 || !p->memory.fits || p->n_stages > 0)
        return 0;
    s.setting[MFU_S_EXPANDABLE_SEGMENTS] = 1;
    s.setting_given[MFU_S_EXPANDABLE_SEGMENTS] = true;
    if (mfu_scenario_resolve(&s, &config, NULL) < 0)
        return 0; /* a runtime without such an allocator */
    status = mfu_outcome_of(&s, &other, &sim, &o, err);
    if (status == 0)
        mfu_why_say(w, "Expandable segments would make it %s instead of %s: fragments are %s here.",
                    Q(o.memory_bytes, MFU_BYTES), Q(p->memory.smi_bytes, MFU_BYTES),
                    o.memory_bytes < 0.99 * p->memory.smi_bytes ? mfu_translate("worth avoiding")
                                                                : mfu_translate("not the problem"));
    mfu_simulation_release(&sim);
    mfu_plan_release(&other);
    return status;
}

/* The largest micro-batch that fits, where memory is what limits it. */
static int tell_room(const struct mfu_plan *p, struct mfu_why *w, struct mfu_error *err)
{
    struct mfu_plan other = {0};
    struct mfu_simulation sim = {0};
    struct mfu_solution x = {0};
    struct mfu_key key = {MFU_KEY_SETTING, MFU_S_BATCH};
    bool asked = !*mfu_plan_unpredicted(p);
    double room = p->memory.capacity_bytes - p->config.setting[MFU_S_VRAM_RESERVED];
    int status = asked ? mfu_solve(&p->scenario, key, 1, true, NULL, &other, &sim, &x, NULL) : -1;

    (void)err;
    if (status == 0 && strcmp(x.limited_by, "memory") == 0)
        mfu_why_say(w,
                    "The largest micro-batch that fits is %.0f, with %s in use; `solve batch` finds it again, `advise` "
                    "says what else makes room.",
                    x.value, Q(fmin(other.memory.smi_bytes, room), MFU_BYTES)); /* what is cached is given back */
    else if (status < 0 && asked && !p->memory.fits)
        mfu_why_say(w, "Not even one sequence fits; `advise` says what makes room.");
    mfu_simulation_release(&sim);
    mfu_plan_release(&other);
    return 0;
}

int mfu_why_vram(struct mfu_plan *p, struct mfu_simulation *sim, struct mfu_why *w, struct mfu_error *err)
{
    struct mfu_peak_memory growth = {0};
    struct mfu_breakdown s;
    struct mfu_metrics m;
    int status;

    if (growth_of(p, &growth, err) < 0 || mfu_breakdown_make(p, sim, false, &s, err) < 0)
        return -1;
    w->whole = "memory in use";
    w->dim = MFU_BYTES;
    add_parts(p, &growth, w);
    tell_states(p, &growth, w);
    tell_adapters(p, w);
    tell_levels(p, sim, w);
    status = tell_segments(p, w, err) < 0 || tell_room(p, w, err) < 0 ? -1 : 0;
    mfu_metrics_of_plan(p, &m);
    mfu_why_symptoms(p, sim, &s, &m, w);
    for (int i = w->n_symptoms - 1; i >= 0; i--) /* the rest is about time */
        if (strcmp(w->symptoms[i].code, "memory-pressure") != 0)
            memmove(&w->symptoms[i], &w->symptoms[i + 1], (size_t)(--w->n_symptoms - i) * sizeof w->symptoms[0]);
    return status;
}
