/*
 * observe_findings.c - what a measured run says when its figures are put
 * together.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "answer/conventions.h"
#include "answer/observe.h"

#define Q(value, dim) mfu_quantity_format((char[MFU_QUANTITY_MAX]){0}, value, dim)
#define CONTRADICTS   0.04 /* relative difference of sizes that rounding does not explain (chosen) */

static struct mfu_finding *find(struct mfu_observation *o, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static struct mfu_finding *find(struct mfu_observation *o, const char *code, const char *format, ...)
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
    double logged = o->figure[MFU_FIGURE_MFU], own = p->mfu.peak_flops, faster;
    bool a100 = fabs(o->peak_flops / 312e12 - 1)<1e-3, other_peak = fabs(o->peak_flops / own - 1)> 0.01;
    double clock_hz = g->tensor_hz > 0 ? g->tensor_hz : g->boost_hz;
    char boosted[120] = "", counts[160] = "";
    struct mfu_finding *f;

    if (isnan(logged) || !(o->peak_flops > 0) || !o->convention
        || (!other_peak && fabs(o->mfu / logged - 1) < 0.03))
        return;
    faster = g->max_observed_hz / clock_hz;
    if (faster > 1.02)
        snprintf(boosted, sizeof boosted, "; the card may run at %s: then the peak is %s and the MFU %.1f %%",
                 Q(g->max_observed_hz, MFU_HERTZ), Q(own * faster, MFU_FLOP_PER_S), percent(o->mfu / faster));
    if (fabs(o->mfu * own / (logged * o->peak_flops) - 1) > 0.03)
        snprintf(counts, sizeof counts, "; it counts %s per token where full attention is %s",
                 Q(mfu_convention_flops_per_token(p, o->convention), MFU_FLOP),
                 Q(p->mfu.model_flops / p->step.tokens, MFU_FLOP));
    f = find(o, "mfu-convention",
             "%s %.4g %% %s %s%s%s; of the %s's own %s (dense %s, rated clock) it is %.1f %%%s",
             o->format ? "the log's" : "the", percent(logged),
             o->convention_assumed ? "are assumed to be of" : "are of", Q(o->peak_flops, MFU_FLOP_PER_S),
             !other_peak ? ", this card's"
                 : a100  ? ", an A100's peak"
                         : "",
             counts, g->name, Q(own, MFU_FLOP_PER_S), mfu_peak_names[p->mfu.peak], percent(o->mfu), boosted);
    f->peak_flops = o->peak_flops;
    f->mfu = o->mfu;
}

/* ---- size ----------------------------------------------------------------- */

/* How much of the attention 12 L d T a convention counts; NAN: it does not
 * count parameters. */
static double attention_counted(const char *name)
{
    static const struct {
        const char *name;
        double share;
    } rows[] = {{"nanogpt", 1}, {"palm", 1}, {"torchtitan", 1}, {"llm.c", 0.5}, {"6n", 0}};

    for (size_t i = 0; name && i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].share;
    return NAN;
}

/* N that time and MFU imply, as the convention counts it. */
struct size {
    double params;                   /* with the width of the configuration */
    double free_params, free_n_embd; /* with the width that fits, too */
    double configured;
    double tokens_factor; /* by which tokens per step differ, if the size is right */
};

static struct size implied(const struct mfu_observation *o, double gpus)
{
    const struct mfu_plan *p = &o->plan;
    const struct mfu_config *c = &p->config;
    double flops = o->figure[MFU_FIGURE_MFU] * o->peak_flops * gpus / o->figure[MFU_FIGURE_TOKENS_PER_S];
    double share = attention_counted(o->convention);
    double attention =
        share * (mfu_convention_flops_per_token(p, "palm") - mfu_convention_flops_per_token(p, "6n"));
    double d = mfu_config_dim(c, "n_embd"), vocab = mfu_config_dim(c, "vocab_size");
    struct size s = {.configured = (mfu_convention_flops_per_token(p, o->convention) - attention) / 6,
                     .params = (flops - attention) / 6,
                     .free_params = NAN,
                     .free_n_embd = NAN,
                     .tokens_factor = flops / mfu_convention_flops_per_token(p, o->convention)};
    double linear, square, x;

    /* N(d) = square d^2 + linear d: layers, and tables of the vocabulary. */
    if (!(d > 0) || !(vocab > 0))
        return s;
    linear = vocab * (mfu_config_dim(c, "tied") > 0 || strcmp(o->convention, "torchtitan") == 0 ? 1 : 2);
    square = (s.configured - linear * d) / (d * d);
    if (!(square > 0))
        return s;
    x = 6 * linear + attention / d; /* 6 square d^2 + x d = flops */
    s.free_n_embd = (sqrt(x * x + 24 * square * flops) - x) / (12 * square);
    s.free_params = square * s.free_n_embd * s.free_n_embd + linear * s.free_n_embd;
    return s;
}

static const struct mfu_understood *understood(const struct mfu_observation *o, const char *key)
{
    for (int i = 0; i < o->n_understood; i++)
        if (strcmp(o->understood[i].key, key) == 0)
            return &o->understood[i];
    return NULL;
}

static const char *width_origin(const struct mfu_observation *o)
{
    const struct mfu_understood *u = understood(o, "n_embd");

    return u ? u->origin : "";
}

/* Whether somebody, and not only a program's defaults, says what a step is. */
static bool tokens_known(const struct mfu_observation *o)
{
    static const struct {
        const char *key;
        int id;
    } rows[] = {{"accum", MFU_S_ACCUM}, {"batch", MFU_S_BATCH}};
    const struct mfu_understood *u[2];
    bool known[2];

    for (int i = 0; i < 2; i++) {
        u[i] = understood(o, rows[i].key);
        known[i] = u[i] ? !o->format || u[i]->origin != o->format->title
                        : o->plan.scenario.setting_given[rows[i].id];
    }
    return known[0] || (known[1] && !u[0]);
}

bool mfu_observe_width_open(const struct mfu_observation *o)
{
    return tokens_known(o) && !understood(o, "n_embd") && !o->plan.scenario.model_given
        && !isnan(mfu_config_dim(&o->plan.config, "n_embd"));
}

double mfu_observe_width(const struct mfu_observation *o)
{
    struct size s;

    if (!mfu_observe_width_open(o) || isnan(o->figure[MFU_FIGURE_MFU])
        || !(o->figure[MFU_FIGURE_TOKENS_PER_S] > 0) || isnan(attention_counted(o->convention)))
        return NAN;
    s = implied(o, fmax(o->plan.scenario.setting[MFU_S_GPUS], 1));
    return fabs(s.params / s.configured - 1) > CONTRADICTS ? s.free_n_embd : (double)NAN;
}

static void size(const struct mfu_log *log, struct mfu_observation *o)
{
    double gpus = fmax(o->plan.scenario.setting[MFU_S_GPUS], 1),
           digit = log->mfu_digit / o->figure[MFU_FIGURE_MFU] / 2;
    struct size s;
    const struct mfu_plan *p = &o->plan;
    double wanted, rounding, stated_off, configured_off, beside, stated = o->params;
    struct mfu_finding *f;

    if (isnan(o->figure[MFU_FIGURE_MFU]) || !(o->figure[MFU_FIGURE_TOKENS_PER_S] > 0)
        || isnan(attention_counted(o->convention)))
        return;
    s = implied(o, gpus);
    if (!tokens_known(o)) { /* two unknowns: size and tokens */
        double tokens = o->tokens_per_step * s.tokens_factor;

        if (fabs(s.tokens_factor - 1) > CONTRADICTS)
            mfu_observe_note(o,
                             "nobody states batch and accum: step time and MFU imply %.4g tokens per step "
                             "for this model, %.0f are assumed",
                             tokens, o->tokens_per_step);
        return;
    }
    configured_off = s.configured / s.params - 1;
    /* What the convention leaves out (an embedding) is part of a stated size. */
    beside = strcmp(o->convention, "torchtitan") == 0 ? p->program.params - s.configured : 0;
    /* A width that nobody stated is free to be what fits. */
    wanted = mfu_observe_width_open(o) && fabs(configured_off) > CONTRADICTS && s.free_params > 0
        ? s.free_params
        : s.params;
    if (!(wanted > 0))
        return;
    wanted += beside;
    s.configured += beside;
    rounding = fmin(0.2, (isfinite(digit) ? digit : 0) * 1.5) + CONTRADICTS;
    if (fabs(stated - wanted) <= log->params_digit / 2)
        stated = wanted; /* as far as it was written down */
    stated_off = stated / wanted - 1;
    configured_off = s.configured / wanted - 1;
    if (isnan(o->params) ? !(fabs(configured_off) > rounding) || !understood(o, "n_embd")
                         : !(fabs(stated_off) > rounding))
        return;
    f = find(o, "size-contradiction",
             "%s a step and an MFU of %.4g %% imply %s parameters%s, not the %s %s: the size, the MFU's peak "
             "(%s here) or the batch is another",
             Q(o->figure[MFU_FIGURE_TIME], MFU_SECONDS), percent(o->figure[MFU_FIGURE_MFU]),
             Q(wanted, MFU_PARAMS),
             fabs(configured_off) <= rounding && !isnan(o->params) && strcmp(width_origin(o), "derived")
                 ? " (which the configuration has)"
                 : "",
             Q(isnan(o->params) ? s.configured : o->params, MFU_PARAMS),
             isnan(o->params) ? "configured" : "stated", Q(o->peak_flops, MFU_FLOP_PER_S));
    f->implied_params = wanted;
    f->stated_params = isnan(o->params) ? s.configured : o->params;
    f->implied_n_embd = s.free_n_embd;
}

/* A stated size that is not the configuration's, where no MFU can tell. */
static void stated_size(struct mfu_observation *o)
{
    double total = o->plan.program.params;

    for (int i = 0; i < o->n_findings; i++)
        if (strcmp(o->findings[i].code, "size-contradiction") == 0)
            return;
    if (fabs(o->params / total - 1) > 0.05
        && fabs(o->params / (total - o->plan.program.position_params) - 1) > 0.05)
        mfu_observe_note(o, "%s parameters are stated, the configuration has %s: is a dimension missing?",
                         Q(o->params, MFU_PARAMS), Q(total, MFU_PARAMS));
}

/* ---- time ----------------------------------------------------------------- */

static void time(struct mfu_observation *o)
{
    const struct mfu_step_answer *s = &o->plan.step;
    double measured = o->figure[MFU_FIGURE_TIME];
    bool slower = measured > s->high_s;

    if (!o->predicted || isnan(measured) || (measured >= s->low_s && measured <= s->high_s))
        return;
    if (o->mfu > 1.05)
        mfu_observe_note(
            o, "%.0f %% of the peak of the %s cannot be: the run was on another GPU (name it: gpu NAME)",
            percent(o->mfu), o->plan.config.gpu->name);
    find(o, slower ? "slower-than-predicted" : "faster-than-predicted",
         "a step takes %s, predicted %s (90 %%: %s to %s): %.0f %% %s", Q(measured, MFU_SECONDS),
         Q(s->time_s, MFU_SECONDS), Q(s->low_s, MFU_SECONDS), Q(s->high_s, MFU_SECONDS),
         fabs(percent(measured / s->time_s - 1)), slower ? "slower" : "faster");
    mfu_observe_gap(o);
}

static void bounds(struct mfu_observation *o)
{
    const struct mfu_plan *p = &o->plan;
    double time_s = o->figure[MFU_FIGURE_TIME], loader = o->figure[MFU_FIGURE_LOADER];
    double wait = loader / time_s, busy = o->figure[MFU_FIGURE_UTILIZATION],
           comm = o->figure[MFU_FIGURE_COMMUNICATION] / time_s;

    if (o->stalled > 0)
        find(
            o, "input-bound",
            "%.0f %% of the steps are slow, again and again, and the log does not say why: %s of a mean step "
            "go there; the loader falls behind (more workers, prefetching), or something evaluates or saves",
            percent(o->stalls), Q(o->stalled * time_s, MFU_SECONDS));
    if (wait >= 0.05)
        find(o, "input-bound",
             "the step waits %s for the loader, %.0f %% of it: without that %s; more workers, prefetching or "
             "pinned memory hide it",
             Q(loader, MFU_SECONDS), percent(wait), Q(time_s - loader, MFU_SECONDS));
    else if (o->predicted && p->limit == MFU_LIMIT_INPUT)
        find(o, "input-bound",
             "dataloader_ms %g per micro-step is longer than the GPU's work: the loader sets the step time",
             p->config.setting[MFU_S_DATALOADER_MS]);
    if (o->predicted && p->limit == MFU_LIMIT_LAUNCH)
        find(o, "launch-bound",
             "predicted: the CPU takes %s to launch %s kernels that run for %s; compile, CUDA graphs or a "
             "larger batch release it",
             Q(p->step.host_s, MFU_SECONDS), Q(round(p->step.kernels), MFU_COUNT),
             Q(p->step.busy_s, MFU_SECONDS));
    else if (busy < 0.9 && !(wait >= 0.05) && !(comm >= 0.1))
        find(o, "launch-bound",
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
    double used =
        isnan(o->figure[MFU_FIGURE_SMI_USED]) ? reserved + m->context_bytes : o->figure[MFU_FIGURE_SMI_USED];
    bool fragmented = reserved > 1.3 * allocated && reserved - allocated > 0x1p30;

    if (used >= 0.92 * m->capacity_bytes)
        find(o, "memory-pressure",
             "%s of %s in use (%.0f %%)%s: the allocator may free and retry, which costs time; see "
             "cudaMalloc retries in torch.cuda.memory_stats()",
             Q(used, MFU_BYTES), Q(m->capacity_bytes, MFU_BYTES), percent(used / m->capacity_bytes),
             isnan(o->figure[MFU_FIGURE_SMI_USED]) ? ", context included" : "");
    else if (fragmented)
        find(o, "memory-pressure",
             "%s reserved for %s allocated: %s are cached or fragmented; expandable_segments or an earlier "
             "empty_cache() give them back",
             Q(reserved, MFU_BYTES), Q(allocated, MFU_BYTES), Q(reserved - allocated, MFU_BYTES));
    else if (o->predicted && isnan(used) && !m->fits)
        find(o, "memory-pressure",
             "predicted to run out of memory (%s allocated at the peak, %s of context, fragments beside, of "
             "%s): it ran, so a setting is another",
             Q(m->peak.bytes, MFU_BYTES), Q(m->context_bytes, MFU_BYTES), Q(m->capacity_bytes, MFU_BYTES));
    else if (o->predicted && isnan(used) && m->fill >= 0.95)
        find(o, "memory-pressure", "predicted: %s of %s in use (%.0f %%); the allocator may free and retry",
             Q(m->smi_bytes, MFU_BYTES), Q(m->capacity_bytes, MFU_BYTES), percent(m->fill));
}

void mfu_observe_explain(const struct mfu_log *log, struct mfu_observation *o)
{
    convention(o);
    size(log, o);
    stated_size(o);
    time(o);
    bounds(o);
    memory(o);
}
