/*
 * plan.c - the whole answer on one screen.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/conventions.h"
#include "plan/kernels.h"
#include "report/report.h"
#include "report/text/text.h"
#include "scenario/adapter.h"
#include "scenario/setting.h"
#include "scenario/trainer.h"
#include "base/short.h"

#define INDENT 7

/* ---- what is planned ---------------------------------------------------- */

/* "gpt2 with n_layer 6, n_embd 384": the name alone would mislead. */
static void model_name(char *text, size_t size, const struct mfu_config *c)
{
    size_t n = (size_t)snprintf(text, size, "%s", c->model->slug);
    double file[MFU_MAX_DIMS];
    int given = 0;

    mfu_model_dim_values(c->model, file);
    for (int i = 0; i < c->model->n_dims && n < size; i++)
        if (c->dim_origin[i] == MFU_ORIGIN_USER && c->dim[i] != file[i]) {
            if (given == 4) {
                snprintf(text + n, size - n, ", %s", "more");
                return;
            }
            n += (size_t)snprintf(text + n, size - n, "%s %s %s", given ? "," : " with", c->model->dims[i].name,
                                  Q(c->dim[i], MFU_COUNT));
            given++;
        }
}

/* Where the GPUs are, and how they share the work. */
static void layout(struct mfu_flow *f, const struct mfu_config *c)
{
    static const enum mfu_setting_id axes[] = {MFU_S_TP, MFU_S_CP, MFU_S_EP, MFU_S_ETP, MFU_S_PP, MFU_S_VPP, MFU_S_DP};

    if (c->cluster)
        mfu_flow_piece(f, MFU_PLAIN, "%s", c->cluster->name);
    if (c->setting[MFU_S_NODES] > 1)
        mfu_flow_piece(f, MFU_PLAIN, "%.0f nodes", c->setting[MFU_S_NODES]);
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        if (c->setting[axes[i]] > 1)
            mfu_flow_piece(f, MFU_PLAIN, "%s %.0f", mfu_settings[axes[i]].key, c->setting[axes[i]]);
    if (c->setting[MFU_S_PP] > 1)
        mfu_flow_piece(f, MFU_PLAIN, "%s", c->pipeline.schedule->name);
    if (c->setting[MFU_S_SP] > 0)
        mfu_flow_piece(f, MFU_PLAIN, "sp");
    if (c->setting[MFU_S_ZERO] > 0)
        mfu_flow_piece(f, MFU_PLAIN, "zero %.0f", c->setting[MFU_S_ZERO]);
    if (c->setting[MFU_S_ZERO] > 0 && mfu_config_dp_shard(c) < c->setting[MFU_S_DP])
        mfu_flow_piece(f, MFU_PLAIN, "dp_shard %.0f", mfu_config_dp_shard(c));
}

static void headline(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    const struct mfu_config *c = &p->config;
    const char *times = mfu_text_times(t);
    struct mfu_flow f = mfu_flow_start(out, t, "", 0);
    double gpus = c->setting[MFU_S_GPUS], blocks = c->setting[MFU_S_ADAPTER_BLOCKS];
    char name[160], ranks[32] = "";

    f.between = t->utf8 ? " \u00b7 " : " - ";
    model_name(name, sizeof name, c);
    mfu_flow_piece(&f, MFU_STRONG, "%s", name);
    if (p->program.trainable_params < p->program.params)
        mfu_flow_piece(&f, MFU_PLAIN, "%s of %s parameters train", Q(p->program.trainable_params, MFU_PARAMS),
                       Q(p->program.params, MFU_PARAMS));
    else
        mfu_flow_piece(&f, MFU_PLAIN, "%s parameters", Q(p->program.params, MFU_PARAMS));
    if (gpus > 1)
        mfu_flow_piece(&f, MFU_STRONG, "%.0f %s %s, %.0f GB", gpus, times, c->gpu->name, c->gpu->size_bytes / 1e9);
    else
        mfu_flow_piece(&f, MFU_STRONG, "%s, %.0f GB", c->gpu->name, c->gpu->size_bytes / 1e9);
    mfu_flow_break(&f);
    if (gpus > 1) {
        layout(&f, c);
        mfu_flow_break(&f);
    }
    if (c->setting[MFU_S_LORA] > 0)
        mfu_flow_piece(&f, MFU_PLAIN,
                       mfu_methods[(int)c->setting[MFU_S_ADAPTER]].unsized ? "%s"
                           : blocks > 0                                    ? "%s of %.0f blocks"
                                                                           : "%s %.0f",
                       c->setting[MFU_S_DORA] > 0 ? mfu_settings[MFU_S_DORA].key
                                                  : mfu_method_names[(int)c->setting[MFU_S_ADAPTER]],
                       blocks > 0 ? blocks : c->setting[MFU_S_LORA]);
    if (mfu_bases[(int)c->setting[MFU_S_BASE]].quantised)
        mfu_flow_piece(&f, MFU_PLAIN, "weights %s", mfu_bases[(int)c->setting[MFU_S_BASE]].name);
    mfu_flow_piece(&f, MFU_PLAIN, "%s", mfu_precision_names[c->precision]);
    mfu_flow_piece(&f, MFU_PLAIN, "%s", mfu_runtime_names[c->runtime]);
    if (c->setting[MFU_S_GPUS] > 1)
        mfu_flow_piece(&f, MFU_PLAIN, "%s", mfu_trainers[c->trainer].name);
    if (mfu_model_has_attention(c->model))
        mfu_flow_piece(&f, MFU_PLAIN, "%s attention", mfu_attention_names[c->attention]);
    if ((int)c->optimizer != (int)mfu_settings[MFU_S_OPTIMIZER].initial)
        mfu_flow_piece(&f, MFU_PLAIN, "%s", mfu_optimizer_names[c->optimizer]);
    if (c->setting[MFU_S_EMA] > 0)
        mfu_flow_piece(&f, MFU_PLAIN, "ema");
    if (mfu_checkpoints[c->checkpoint].recomputes)
        mfu_flow_piece(&f, MFU_PLAIN, mfu_checkpoints[c->checkpoint].by_budget ? "checkpoint %s %g" : "checkpoint %s",
                       mfu_checkpoint_names[c->checkpoint], c->setting[MFU_S_CHECKPOINT_BUDGET]);
    if (mfu_checkpoints[c->checkpoint].recomputes && c->setting[MFU_S_CHECKPOINT_LAYERS] > 0)
        mfu_flow_piece(&f, MFU_PLAIN, "checkpoint_layers %.0f", c->setting[MFU_S_CHECKPOINT_LAYERS]);
    if (c->setting[MFU_S_CUDA_GRAPHS] > 0)
        mfu_flow_piece(&f, MFU_PLAIN, "cuda_graphs");
    if (c->setting[MFU_S_LOSS_CHUNKS] > 1)
        mfu_flow_piece(&f, MFU_PLAIN, "loss_chunks %.0f", c->setting[MFU_S_LOSS_CHUNKS]);
    if (c->setting[MFU_S_DP] > 1)
        snprintf(ranks, sizeof ranks, " %s dp %.0f", times, c->setting[MFU_S_DP]);
    if (mfu_model_samples(c->model))
        mfu_flow_piece(&f, MFU_PLAIN, "%s %s %s%s = %s %s/step", Q(c->batch, MFU_COUNT), times, Q(c->accum, MFU_COUNT),
                       ranks, Q(p->step.tokens / c->seq, MFU_COUNT), mfu_model_samples(c->model));
    else
        mfu_flow_piece(&f, MFU_PLAIN, "%s %s %s %s %s%s = %s tokens/step", Q(c->batch, MFU_COUNT), times,
                       Q(c->seq, MFU_COUNT), times, Q(c->accum, MFU_COUNT), ranks, Q(p->step.tokens, MFU_TOKENS));
    mfu_flow_end(&f);
}

/* ---- memory ------------------------------------------------------------- */

/* What the bar shows: the parts, then what is not PyTorch's tensors. */
enum { CACHED = MFU_PART_COUNT, PAGED, CONTEXT, OTHERS, SLICES };
static const char *const slice_names[SLICES] = {
    "weights",   "gradients",     "optimizer", "ema",    "casts",           "activations", "logits+loss",
    "workspace", "communication", "other",     "cached", "paged optimizer", "context",     "other processes"};

static int slices(const struct mfu_plan *p, double *bytes)
{
    const struct mfu_memory_answer *m = &p->memory;

    for (int i = 0; i < MFU_PART_COUNT; i++)
        bytes[i] = m->peak.parts[i];
    bytes[CACHED] = fmax(0, m->reserved_bytes - m->peak.bytes);
    bytes[PAGED] = m->paged_bytes - m->evicted_bytes;
    bytes[CONTEXT] = m->context_bytes;
    bytes[OTHERS] = p->config.setting[MFU_S_VRAM_RESERVED];
    return SLICES;
}

static void verdict(struct mfu_flow *f, const struct mfu_plan *p)
{
    const struct mfu_memory_answer *m = &p->memory;

    if (isnan(mfu_plan_fits(p)))
        mfu_flow_piece(f, MFU_WARN, "whether it fits is unknown");
    else if (!m->fits && !m->fragmented)
        mfu_flow_piece(f, MFU_BAD, "does not fit: %s too much", Q(m->missing_bytes, MFU_BYTES));
    else if (!m->fits)
        mfu_flow_piece(f, MFU_BAD, "does not fit: fragmented");
    else if (m->fill > 1 || m->returned_bytes > 0)
        mfu_flow_piece(f, MFU_WARN, "fits only when cached memory is given back");
    else
        mfu_flow_piece(f, m->fill > 0.95 ? MFU_WARN : MFU_GOOD, m->fill > 0.95 ? "fits, just" : "fits");
    if (m->fits_probability > 0.02 && m->fits_probability < 0.98)
        mfu_flow_piece(f, MFU_WARN, "(%s in %s of what is possible)", m->fits ? "it does" : "it would",
                       P(m->fits_probability));
}

static void memory(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    const struct mfu_memory_answer *m = &p->memory;
    double bytes[SLICES], used = m->fill * m->capacity_bytes, whole = fmax(used, m->capacity_bytes);
    int n = slices(p, bytes), cells = mfu_text_columns(t) - INDENT;
    struct mfu_flow f = mfu_flow_start(out, t, "VRAM", INDENT);
    int shown = 0;

    mfu_flow_piece(&f, MFU_STRONG, "%s of %s", Q(used, MFU_BYTES), Q(m->capacity_bytes, MFU_BYTES));
    mfu_flow_piece(&f, MFU_PLAIN, "%s", P(m->fill));
    verdict(&f, p);
    mfu_flow_break(&f);
    if (cells >= 50) {
        /* The i-th that is shown has the i-th mark. */
        double big[SLICES];

        for (int i = 0; i < n; i++)
            if (bytes[i] >= 0x1p20)
                big[shown++] = bytes[i];
        mfu_text_stack(out, t, big, shown, whole, m->capacity_bytes, cells);
        f.empty = false;
        mfu_flow_break(&f);
    }
    shown = 0;
    for (int i = 0; i < n; i++)
        if (bytes[i] >= 0x1p20) {
            if (cells >= 50)
                mfu_flow_marked(&f, shown++, "%s %s", slice_names[i], Q(bytes[i], MFU_BYTES));
            else
                mfu_flow_piece(&f, MFU_PLAIN, "%s %s", slice_names[i], Q(bytes[i], MFU_BYTES));
        }
    mfu_flow_break(&f);
    mfu_flow_piece(&f, MFU_PLAIN, m->peak.launch < 0 ? "allocated %s %s" : "allocated %s at the peak, %s",
                   Q(m->peak.bytes, MFU_BYTES), m->peak_at);
    mfu_flow_piece(&f, MFU_PLAIN, "reserved %s", Q(m->reserved_bytes, MFU_BYTES));
    mfu_flow_piece(&f, MFU_PLAIN, "nvidia-smi %s", Q(m->smi_bytes, MFU_BYTES));
    if (m->host_node_bytes > m->host_capacity_bytes)
        mfu_flow_piece(&f, MFU_BAD, "host: %s of %s, does not fit", Q(m->host_node_bytes, MFU_BYTES),
                       Q(m->host_capacity_bytes, MFU_BYTES));
    else if (m->host_bytes > 0)
        mfu_flow_piece(&f, MFU_PLAIN, "host %s", Q(m->host_node_bytes, MFU_BYTES));
    if (p->n_stages > 0)
        mfu_flow_piece(&f, MFU_PLAIN, "of stage %d of %d, which holds the most", p->worst_stage + 1, p->n_stages);
    mfu_flow_end(&f);
}

/* ---- time, use ---------------------------------------------------------- */

static void step(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    const struct mfu_step_answer *s = &p->step;
    const struct {
        const char *name;
        double s;
    } parts[] = {{"forward", s->forward_s},     {"backward", s->backward_s},
                 {"optimizer", s->optimizer_s}, {"communication", s->communication_exposed_s},
                 {"paging", p->paging_s},       {"idle", s->idle_s}};
    const char *samples = mfu_model_samples(p->config.model);
    double rate = samples ? s->samples_per_s : s->tokens_per_s;
    struct mfu_flow f = mfu_flow_start(out, t, "step", INDENT);

    mfu_flow_piece(&f, MFU_STRONG, "%s", Q(s->time_s, MFU_SECONDS));
    if (isfinite(s->low_s))
        mfu_flow_piece(&f, MFU_PLAIN, "90 %%: %s to %s", Q(s->low_s, MFU_SECONDS), Q(s->high_s, MFU_SECONDS));
    mfu_flow_piece(&f, MFU_PLAIN, "%s %s/s", Q(rate, MFU_COUNT), samples ? samples : "tokens");
    if (p->config.setting[MFU_S_GPUS] > 1)
        mfu_flow_piece(&f, MFU_PLAIN, "%s per GPU", Q(rate / p->config.setting[MFU_S_GPUS], MFU_COUNT));
    if (p->config.documents.fill < 1)
        mfu_flow_piece(&f, MFU_PLAIN, "%s of them padding: %s/s count", P(1 - p->config.documents.fill),
                       Q(s->useful_tokens / s->time_s, MFU_COUNT));
    mfu_flow_break(&f);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].s / s->time_s >= 0.0005)
            mfu_flow_piece(&f, MFU_PLAIN, "%s %s", parts[i].name, P(parts[i].s / s->time_s));
    mfu_flow_end(&f);
}

static void use(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    const struct mfu_mfu_answer *a = &p->mfu;
    struct mfu_convention all[MFU_CONVENTIONS_MAX];
    struct mfu_flow f = mfu_flow_start(out, t, "MFU", INDENT);
    size_t n = mfu_conventions(p, all);

    mfu_flow_words(&f, MFU_STRONG, "%s", P(a->mfu));
    mfu_flow_words(&f, MFU_PLAIN, "of this card's own peak, %s (%s, dense)", Q(a->peak_flops, MFU_FLOP_PER_S),
                   mfu_peak_names[a->peak]);
    for (size_t i = 0; i < n; i++)
        if (all[i].printed) {
            mfu_flow_break(&f);
            mfu_flow_words(&f, MFU_STRONG, "%s", P(all[i].mfu));
            mfu_flow_words(&f, MFU_PLAIN, "as nanoGPT prints it: it always divides by %s, an A100's peak",
                           Q(all[i].peak_flops, MFU_FLOP_PER_S));
        }
    mfu_flow_end(&f);
}

/* ---- what bounds it ----------------------------------------------------- */

/* Share of the step in matmuls that compute, and the largest other thing. */
static bool look(const struct mfu_plan *p, double *matmul, struct mfu_kernel_row *next)
{
    double share[MFU_KIND_COUNT][MFU_BOUND_LINK + 1] = {{0}};

    *matmul = 0;
    *next = (struct mfu_kernel_row){0};
    for (int k = 0; k < p->program.n_segments; k++) {
        const struct mfu_segment *seg = &p->program.segments[k];

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            enum mfu_kind kind = p->program.launches[i].work->kernel.kind;
            enum mfu_bound b = p->pricing.prices[i].bound;
            double more = mfu_plan_times(p, seg) * p->pricing.prices[i].time_s / p->step.time_s;

            if (mfu_kind_is_product(kind) && b == MFU_BOUND_COMPUTE)
                *matmul += more;
            else if ((share[kind][b] += more) > next->share)
                *next = (struct mfu_kernel_row){.kind = kind, .price.bound = b, .share = share[kind][b]};
        }
    }
    return p->program.n_segments > 0;
}

static void bound(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    struct mfu_flow f = mfu_flow_start(out, t, "bound", INDENT);
    struct mfu_kernel_row next;
    double matmul;
    bool known = look(p, &matmul, &next);

    mfu_flow_words(&f, MFU_STRONG, "%s:", mfu_limit_names[p->limit]);
    if (p->limit == MFU_LIMIT_LAUNCH)
        mfu_flow_words(&f, MFU_PLAIN, "the CPU takes %s to launch %s kernels that run for %s%s",
                       Q(p->step.host_s, MFU_SECONDS), Q(round(p->step.kernels), MFU_COUNT),
                       Q(p->step.busy_s, MFU_SECONDS), known ? ";" : "");
    if (p->limit == MFU_LIMIT_LATENCY)
        mfu_flow_words(&f, MFU_PLAIN, "%s of the step in kernels too small to fill the GPU, %s beside kernels%s",
                       P(p->sums.latency_s / p->step.time_s), P(mfu_plan_fixed_s(p) / p->step.time_s),
                       known ? ";" : "");
    if (p->limit == MFU_LIMIT_INPUT)
        mfu_flow_words(&f, MFU_PLAIN, "the loader takes %s per micro-batch, %s per step%s",
                       Q(mfu_plan_micro_loader_s(p), MFU_SECONDS), Q(mfu_plan_loader_s(p), MFU_SECONDS),
                       known ? ";" : "");
    if (known && next.share > matmul)
        mfu_flow_words(&f, MFU_PLAIN, "%s, %s-bound, %s of the step; matrix products and attention at full rate: %s",
                       mfu_kinds[next.kind].plural, mfu_bound_names[next.price.bound], P(next.share), P(matmul));
    else if (known)
        mfu_flow_words(&f, MFU_PLAIN,
                       "%s of the step in matrix products and attention at full rate; next: %s, %s-bound, %s",
                       P(matmul), mfu_kinds[next.kind].plural, mfu_bound_names[next.price.bound], P(next.share));
    mfu_flow_end(&f);
}

/* Which measurements the plan rests on, how old they are, and whether they are of this machine. */
static void note_calibration(FILE *out, const struct mfu_term *t, const struct mfu_calibrated_when *c)
{
    struct mfu_flow f;
    double days = mfu_calibration_age_days(c->date);

    if (!c->date[0])
        return;
    f = mfu_flow_start(out, t, "note", INDENT);
    mfu_flow_words(&f, MFU_PLAIN, "calibrated on %s", c->date);
    if (days > 0)
        mfu_flow_words(&f, MFU_PLAIN, "(%.0f day%s ago)", days, days > 1 ? "s" : "");
    mfu_flow_words(&f, MFU_PLAIN, "by measurements of this user%s%s;", c->key.cpu[0] ? ", beside " : "", c->key.cpu);
    if (c->differs)
        mfu_flow_words(&f, MFU_WARN, "they are of %s than this machine (%s: %s, driver %s);",
                       mfu_calibration_difference(c->differs, (char[64]){0}), c->name,
                       c->key.host[0] ? c->key.host : "host unknown", c->key.driver[0] ? c->key.driver : "unknown");
    mfu_flow_words(&f, MFU_PLAIN, "--no-calibration leaves them out");
    mfu_flow_end(&f);
}

static void notes(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    const struct mfu_scenario *s = &p->scenario;
    struct mfu_flow f;
    double highest_hz = fmax(p->config.gpu->boost_hz, p->config.gpu->max_observed_hz);
    char above[320];

    mfu_above_one(p, above, sizeof above);
    if (mfu_plan_left_out(p, 0)) {
        f = mfu_flow_start(out, t, "note", INDENT);
        mfu_flow_words(&f, MFU_PLAIN, "not modelled:");
        for (size_t i = 0; mfu_plan_left_out(p, i); i++)
            mfu_flow_words(&f, MFU_PLAIN, "%s%s", mfu_plan_left_out(p, i), mfu_plan_left_out(p, i + 1) ? ";" : "");
        mfu_flow_end(&f);
    }
    if (!s->gpu_given || !s->model_given || p->memory.capacity_assumed || !p->memory.fits) {
        f = mfu_flow_start(out, t, "note", INDENT);
        if (!s->gpu_given)
            mfu_flow_piece(&f, MFU_WARN, "no GPU chosen (gpu NAME): %s", p->config.gpu->slug);
        if (!s->model_given)
            mfu_flow_piece(&f, MFU_WARN, "no model chosen (model NAME): %s", p->config.model->slug);
        if (p->memory.capacity_assumed)
            mfu_flow_piece(&f, MFU_WARN, "capacity estimated: no report of this card is known");
        if (!p->memory.fits)
            mfu_flow_piece(&f, MFU_WARN, "times are those of a card that it would fit on");
        mfu_flow_end(&f);
    }
    if (mfu_config_guesses_seq(&p->config))
        mfu_paragraph(out, t, "note", INDENT, MFU_WARN,
                      "config.json does not say how long the training's sequences are, only that %s are the "
                      "most: seq %s is assumed (set seq N)",
                      Q(p->config.model->longest_seq, MFU_TOKENS), Q(p->config.seq, MFU_TOKENS));
    if (mfu_config_packs_across(&p->config))
        mfu_paragraph(
            out, t, "note", INDENT, MFU_WARN,
            "packing: %s attention knows no documents, so that each token attends to those before its own, too",
            mfu_attention_names[p->config.attention]);
    if (p->config.setting_origin[MFU_S_RECOMPUTE_MODULES] == MFU_ORIGIN_USER
        && (!mfu_checkpoints[p->config.checkpoint].keeps_products || mfu_checkpoints[p->config.checkpoint].by_budget))
        mfu_paragraph(out, t, "note", INDENT, MFU_WARN,
                      "recompute_modules is not read: checkpoint %s %s (checkpoint selective reads it)",
                      mfu_checkpoint_names[p->config.checkpoint],
                      mfu_checkpoints[p->config.checkpoint].by_budget        ? "chooses by bytes what to keep"
                          : mfu_checkpoints[p->config.checkpoint].recomputes ? "computes all again"
                                                                             : "computes nothing again");
    note_calibration(out, t, &p->config.gpu->calibrated);
    if (*above)
        mfu_paragraph(out, t, "note", INDENT, MFU_WARN, "%s", above);
    if (p->config.setting[MFU_S_CLOCK_MHZ] * 1e6 > 1.1 * highest_hz)
        mfu_paragraph(out, t, "note", INDENT, MFU_WARN, "clock_mhz is above what this card is known to reach, %s",
                      Q(highest_hz, MFU_HERTZ));
    f = mfu_flow_start(out, t, "next", INDENT);
    mfu_flow_piece(&f, MFU_FAINT, "memory: what takes the space");
    mfu_flow_piece(&f, MFU_FAINT, "kernels, step, roofline: the time");
    mfu_flow_piece(&f, MFU_FAINT, "mfu: other conventions");
    mfu_flow_piece(&f, MFU_FAINT, "why: where the rest goes");
    if (p->config.setting[MFU_S_GPUS] > 1 && !p->memory.fits)
        mfu_flow_piece(&f, MFU_FAINT, "search layout maximize tokens_per_s: how to spread it");
    mfu_flow_piece(&f, MFU_FAINT, "advise: what to change");
    mfu_flow_end(&f);
}

void mfu_text_plan(FILE *out, const struct mfu_term *t, const struct mfu_plan *p)
{
    headline(out, t, p);
    fputc('\n', out);
    memory(out, t, p);
    step(out, t, p);
    use(out, t, p);
    bound(out, t, p);
    notes(out, t, p);
}
