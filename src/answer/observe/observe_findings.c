/*
 * observe_findings.c - what a measured run says when its figures are put
 * together.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plan/conventions.h"
#include "answer/observe/observe.h"
#include "answer/observe/observe_reading.h"
#include "scenario/setting.h"
#include "base/short.h"

struct mfu_finding *mfu_observe_find(struct mfu_observation *o, const char *code, const char *format, ...)
{
    struct mfu_finding *f = &o->findings[o->n_findings];
    va_list args;

    if (o->n_findings < MFU_FINDINGS - 1)
        o->n_findings++;
    *f = (struct mfu_finding){.code = code,
                              .peak_flops = NAN,
                              .mfu = NAN,
                              .implied_params = NAN,
                              .stated_params = NAN,
                              .implied_n_embd = NAN};
    va_start(args, format);
    vsnprintf(f->message, sizeof f->message, format, args);
    va_end(args);
    return f;
}

static double percent(double share)
{
    return 100 * share;
}

/* ---- MFU ------------------------------------------------------------------ */

static void convention(struct mfu_observation *o)
{
    const struct mfu_plan *p = &o->plan;
    const struct mfu_gpu *g = p->config.gpu;
    double logged = o->figure[MFU_FIGURE_MFU], own = p->mfu.peak_flops, full = p->mfu.model_flops / p->step.tokens;
    double faster, converted = logged * o->peak_flops / own * full / o->counted;
    double mfu = o->implied.contradicts ? converted : o->mfu;
    bool a100 = fabs(o->peak_flops / 312e12 - 1)<1e-3, other_peak = fabs(o->peak_flops / own - 1)> 0.01;
    double clock_hz = g->tensor_hz > 0 ? g->tensor_hz : g->boost_hz;
    char boosted[120] = "", counts[160] = "", contrary[80] = "";
    struct mfu_finding *f;

    if (isnan(logged) || !(o->peak_flops > 0) || !o->convention || (!other_peak && fabs(o->mfu / logged - 1) < 0.03))
        return;
    faster = g->max_observed_hz / clock_hz;
    if (faster > 1.02)
        snprintf(boosted, sizeof boosted, "; the card may run at %s: then the peak is %s and the MFU %.1f %%",
                 Q(g->max_observed_hz, MFU_HERTZ), Q(own * faster, MFU_FLOP_PER_S), percent(mfu / faster));
    if (o->implied.contradicts)
        snprintf(contrary, sizeof contrary, "; by step time and configuration it would be %.1f %%", percent(o->mfu));
    if (fabs(full / o->counted - 1) > 0.03)
        snprintf(counts, sizeof counts, "; it counts %s per token where full attention is %s", Q(o->counted, MFU_FLOP),
                 Q(full, MFU_FLOP));
    f = mfu_observe_find(
        o, "mfu-convention", "%s %.4g %% %s %s%s%s; of the %s's own %s (dense %s, rated clock) it is %.1f %%%s%s",
        o->format ? "the log's" : "the", percent(logged), o->convention_assumed ? "are assumed to be of" : "are of",
        Q(o->peak_flops, MFU_FLOP_PER_S),
        !other_peak ? ", this card's"
            : a100  ? ", an A100's peak"
                    : "",
        counts, g->name, Q(own, MFU_FLOP_PER_S), mfu_peak_names[p->mfu.peak], percent(mfu), boosted, contrary);
    f->peak_flops = o->peak_flops;
    f->mfu = o->mfu;
}

/* ---- size ----------------------------------------------------------------- */

/* What alone would make time, MFU and size agree; "" nothing that is known. */
static const char *explanation(const struct mfu_observation *o, char *to, size_t size)
{
    double gpus = round(1 / o->implied.factor), own = o->plan.mfu.peak_flops;

    *to = '\0';
    if (gpus >= 2 && gpus <= 4096 && fabs(o->implied.factor * gpus - 1) <= fmin(0.02, 0.1 / gpus))
        snprintf(to, size, "; %.0f GPUs would explain it", gpus * o->gpus);
    else if (fabs(own / o->peak_flops - 1) > 0.01 && fabs(o->implied.factor * own / o->peak_flops - 1) <= 0.02)
        snprintf(to, size, "; this card's own peak, %s, would explain it", Q(own, MFU_FLOP_PER_S));
    return to;
}

/* A size that step time and MFU contradict: the configuration's, or one that is
 * only stated. */
static void size(struct mfu_observation *o)
{
    const struct mfu_implied *s = &o->implied;
    bool open = !mfu_observe_understood(o, "n_embd") && !o->plan.scenario.model_given && s->free_params > 0;
    double wanted = s->contradicts && open ? s->free_params : s->params, stated = o->params;
    bool derived =
        mfu_observe_understood(o, "n_embd") && strcmp(mfu_observe_understood(o, "n_embd")->origin, "derived") == 0;
    char size_text[80], why[120];
    struct mfu_finding *f;

    if (!mfu_observe_tokens_known(o) || isnan(s->factor))
        return;
    if (fabs(stated - wanted) <= o->params_digit / 2)
        stated = wanted; /* as far as it was written down */
    if (!s->contradicts && !(fabs(stated / wanted - 1) > s->rounding))
        return;
    if (wanted > 0)
        snprintf(size_text, sizeof size_text, "%s parameters%s", Q(wanted, MFU_PARAMS),
                 s->contradicts || derived ? "" : " (which the configuration has)");
    else
        snprintf(size_text, sizeof size_text, "%s per token", Q(s->factor * o->counted, MFU_FLOP));
    f = mfu_observe_find(
        o, "size-contradiction",
        "%s a step and an MFU of %.4g %% imply %s, not the %s %s: the size, the MFU's peak (%s here), the "
        "batch or the number of GPUs is another%s",
        Q(o->figure[MFU_FIGURE_TIME], MFU_SECONDS), percent(o->figure[MFU_FIGURE_MFU]), size_text,
        wanted > 0 ? Q(isnan(o->params) ? s->configured : o->params, MFU_PARAMS) : Q(o->counted, MFU_FLOP),
        wanted > 0 && !isnan(o->params) ? "stated" : "configured", Q(o->peak_flops, MFU_FLOP_PER_S),
        s->contradicts ? explanation(o, why, sizeof why) : "");
    f->implied_params = wanted > 0 ? wanted : (double)NAN;
    f->stated_params = isnan(o->params) ? s->configured : o->params;
    f->implied_n_embd = s->free_n_embd;
}

/* Blocks that are planned as others, or windows that are planned as full
 * attention, count differently. */
static void counted(struct mfu_observation *o)
{
    double planned = o->convention ? mfu_convention_flops_per_token(&o->plan, o->convention) : (double)NAN;

    if (fabs(o->counted / planned - 1) > 0.03)
        mfu_observe_note(o,
                         "the log counts %s per token, what is planned needs %s: attention in windows or layers "
                         "that are planned as others",
                         Q(o->counted, MFU_FLOP), Q(planned, MFU_FLOP));
}

/* ---- time ----------------------------------------------------------------- */

static void time(struct mfu_observation *o)
{
    const struct mfu_step_answer *s = &o->plan.step;
    double measured = o->figure[MFU_FIGURE_TIME];
    bool slower = measured > s->high_s;
    char how[48];

    if (o->mfu > 1.05)
        mfu_observe_note(o, "%.0f %% of the peak of the %s cannot be: %s", percent(o->mfu), o->plan.config.gpu->name,
                         o->implied.contradicts ? "the run was on another GPU, on more of them, or smaller"
                                                : "the run was on another GPU (name it: gpu NAME)");
    if (!o->predicted || isnan(measured) || (measured >= s->low_s && measured <= s->high_s))
        return;
    if (slower && measured > 2 * s->time_s)
        snprintf(how, sizeof how, "%.3g times as long", measured / s->time_s);
    else
        snprintf(how, sizeof how, "%.0f %% %s", fabs(percent(measured / s->time_s - 1)), slower ? "slower" : "faster");
    mfu_observe_find(o, slower ? "slower-than-predicted" : "faster-than-predicted",
                     "a step takes %s, predicted %s (90 %%: %s to %s): %s", Q(measured, MFU_SECONDS),
                     Q(s->time_s, MFU_SECONDS), Q(s->low_s, MFU_SECONDS), Q(s->high_s, MFU_SECONDS), how);
    mfu_observe_gap(o);
}

/* The batch, where it is not stated, estimated from the step time. */
static void unstated_batch(struct mfu_observation *o)
{
    const struct mfu_config *c = &o->plan.config;

    if (!o->batch_open || !(o->figure[MFU_FIGURE_TIME] > 0))
        return;
    mfu_observe_gap_of_batch(o);
    mfu_observe_find(o, "batch-unstated",
                     "a step of %.0f tokens takes %s; with batch %g, accum %g it would be %s: state batch, and it is "
                     "predicted",
                     o->tokens_per_step, Q(o->figure[MFU_FIGURE_TIME], MFU_SECONDS), c->setting[MFU_S_BATCH], c->accum,
                     Q(o->plan.step.time_s, MFU_SECONDS));
}

static void bounds(struct mfu_observation *o)
{
    const struct mfu_plan *p = &o->plan;
    double time_s = o->figure[MFU_FIGURE_TIME], loader = mfu_observe_trusted(o, MFU_FIGURE_LOADER);
    double wait = loader / time_s, busy = mfu_observe_trusted(o, MFU_FIGURE_UTILIZATION),
           comm = mfu_observe_trusted(o, MFU_FIGURE_COMMUNICATION) / time_s;

    if (o->stalled > 0)
        mfu_observe_find(
            o, "input-bound",
            "%.0f %% of the steps are slow, again and again, and the log does not say why: %s of a mean step "
            "go there; the loader falls behind (more workers, prefetching), or something evaluates or saves",
            percent(o->stalls), Q(o->stalled * time_s, MFU_SECONDS));
    if (wait >= 0.05)
        mfu_observe_find(
            o, "input-bound",
            "the step waits %s for the loader, %.0f %% of it: without that %s; more workers, prefetching or "
            "pinned memory hide it",
            Q(loader, MFU_SECONDS), percent(wait), Q(time_s - loader, MFU_SECONDS));
    else if (o->predicted && p->limit == MFU_LIMIT_INPUT)
        mfu_observe_find(o, "input-bound",
                         "%s, %g ms per micro-step, is longer than the GPU's work: the loader sets the step time",
                         mfu_plan_states_loader(p) ? mfu_settings[MFU_S_DATALOADER_MS].key
                                                   : mfu_coefficient_rows[MFU_C_HOST_LOADER].name,
                         1e3 * mfu_plan_micro_loader_s(p));
    if (o->predicted && p->limit == MFU_LIMIT_LAUNCH)
        mfu_observe_find(o, "launch-bound",
                         "predicted: the CPU takes %s to launch %s kernels that run for %s; compile, CUDA graphs or a "
                         "larger batch release it",
                         Q(p->step.host_s, MFU_SECONDS), Q(round(p->step.kernels), MFU_COUNT),
                         Q(p->step.busy_s, MFU_SECONDS));
    else if (busy < 0.9 && !(wait >= 0.05) && !(comm >= 0.1))
        mfu_observe_find(
            o, "launch-bound",
            "the GPU runs no kernel for %.0f %% of the time, and neither loader nor network is said to hold "
            "it up: the CPU launches too slowly or waits (.item(), prints); a profile shows which",
            percent(1 - busy));
}

/* ---- memory --------------------------------------------------------------- */

static void memory(struct mfu_observation *o)
{
    const struct mfu_plan *p = &o->plan;
    const struct mfu_memory_answer *m = &p->memory;
    double allocated = o->figure[MFU_FIGURE_ALLOCATED], reserved = o->figure[MFU_FIGURE_RESERVED];
    double used = isnan(o->figure[MFU_FIGURE_SMI_USED]) ? reserved + m->context_bytes : o->figure[MFU_FIGURE_SMI_USED];
    bool fragmented = reserved > 1.3 * allocated && reserved - allocated > 0x1p30;

    if (used >= 0.92 * m->capacity_bytes)
        mfu_observe_find(o, "memory-pressure",
                         "%s of %s in use (%.0f %%)%s: the allocator may free and retry, which costs time; see "
                         "cudaMalloc retries in torch.cuda.memory_stats()",
                         Q(used, MFU_BYTES), Q(m->capacity_bytes, MFU_BYTES), percent(used / m->capacity_bytes),
                         isnan(o->figure[MFU_FIGURE_SMI_USED]) ? ", context included" : "");
    else if (fragmented)
        mfu_observe_find(o, "memory-pressure",
                         "%s reserved for %s allocated: %s are cached or fragmented; expandable_segments or an earlier "
                         "empty_cache() give them back",
                         Q(reserved, MFU_BYTES), Q(allocated, MFU_BYTES), Q(reserved - allocated, MFU_BYTES));
    else if (o->predicted && isnan(used) && !m->fits && o->format && o->format->approximated)
        mfu_observe_note(o, "predicted to need %s of %s, and it ran: %s's blocks hold less than those planned",
                         Q(m->smi_bytes, MFU_BYTES), Q(m->capacity_bytes, MFU_BYTES), o->format->title);
    else if (o->predicted && isnan(used) && !m->fits)
        mfu_observe_find(
            o, "memory-pressure",
            "predicted to run out of memory (%s allocated at the peak, %s of context, fragments beside, of "
            "%s): it ran, so a setting is another",
            Q(m->peak.bytes, MFU_BYTES), Q(m->context_bytes, MFU_BYTES), Q(m->capacity_bytes, MFU_BYTES));
    else if (o->predicted && isnan(used) && m->fill >= 0.95)
        mfu_observe_find(o, "memory-pressure", "predicted: %s of %s in use (%.0f %%); the allocator may free and retry",
                         Q(m->smi_bytes, MFU_BYTES), Q(m->capacity_bytes, MFU_BYTES), percent(m->fill));
}

/* Twice or half the bytes are those of another configuration, whatever the time says.
 * The bound is chosen: three times what `memory` is wrong by (docs/accuracy.md). */
#define OTHER_MEMORY 1.3

static void memory_contradicts(struct mfu_observation *o)
{
    const struct mfu_memory_answer *m = &o->plan.memory;
    const struct {
        const char *name;
        double measured, predicted;
    } figures[] = {{"reserved", o->figure[MFU_FIGURE_RESERVED], m->reserved_bytes},
                   {"allocated", o->figure[MFU_FIGURE_ALLOCATED], m->peak.bytes},
                   {"in use by nvidia-smi", o->figure[MFU_FIGURE_SMI_USED], m->smi_bytes}};
    char other[96];

    if (!o->predicted || (o->format && o->format->approximated))
        return;
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        double ratio = figures[i].measured / figures[i].predicted;

        if (!(ratio > OTHER_MEMORY || ratio < 1 / OTHER_MEMORY))
            continue;
        mfu_observe_memory_gap(o, figures[i].measured, figures[i].predicted, other, sizeof other);
        mfu_observe_find(o, "memory-contradiction", "%s %s, predicted %s%s: a setting is another%s%s",
                         Q(figures[i].measured, MFU_BYTES), figures[i].name, Q(figures[i].predicted, MFU_BYTES),
                         m->fits ? "" : ", which does not fit", *other ? "; the nearest: " : "", other);
        return;
    }
}

void mfu_observe_explain(struct mfu_observation *o)
{
    convention(o);
    size(o);
    counted(o);
    mfu_observe_contradictions(o);
    time(o);
    unstated_batch(o);
    bounds(o);
    if (!o->contradicted[MFU_FIGURE_ALLOCATED] && !o->contradicted[MFU_FIGURE_RESERVED]
        && !o->contradicted[MFU_FIGURE_SMI_USED]) {
        memory(o);
        memory_contradicts(o);
    }
    mfu_observe_meters(o);
}
