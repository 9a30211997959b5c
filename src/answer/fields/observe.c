/*
 * observe.c - fields of a measured run beside its prediction.
 */
#include <math.h>
#include <string.h>

#include "answer/fields/fields.h"
#include "answer/observe/observe.h"

// clang-format off

struct dropped {
    const char *reason;
    double count;
};
#define DROPPED(X) \
    X(TEXT,   reason, 0,         d->reason, "warm-up, evaluation or checkpoint ...") \
    X(NUMBER, count,  MFU_COUNT, d->count,  "lines")
MFU_PART_RECORD(dropped, const struct dropped *d, DROPPED)

static void make_dropped(const struct mfu_observation *r, struct mfu_value *v)
{
    struct dropped *list = mfu_value_own(v, (size_t)r->n_dropped, sizeof *list);

    for (int i = 0; list && i < r->n_dropped; i++)
        list[i] = (struct dropped){r->dropped[i].reason, (double)r->dropped[i].count};
}

static const char *configured(const void *object, size_t i, struct mfu_value *v)
{
    const struct mfu_observation *r = object;
    const struct mfu_understood *u;

    if (i < 2) {
        mfu_value_text(v, i ? r->plan.scenario.model->slug : r->plan.scenario.gpu->slug);
        return i ? "model" : "gpu";
    }
    if ((i -= 2) >= (size_t)r->n_understood)
        return NULL;
    u = &r->understood[i];
    if (u->word[0])
        mfu_value_text(v, u->word);
    else
        mfu_value_number(v, u->value);
    return u->key;
}

static const char *origin(const void *object, size_t i, struct mfu_value *v)
{
    const struct mfu_observation *r = object;

    if (i >= (size_t)r->n_understood)
        return NULL;
    mfu_value_text(v, r->understood[i].origin);
    return r->understood[i].key;
}

#define FIGURE(id) r->figure[MFU_FIGURE_##id]
#define MEASURED(X) \
    X(NUMBER,       step_time_s,            MFU_SECONDS,    FIGURE(TIME),          "median of a step") \
    X(NUMBER,       tokens_per_s,           MFU_COUNT,      FIGURE(TOKENS_PER_S),  "median") \
    X(NUMBER,       mfu_logged,             MFU_RATIO,      FIGURE(MFU),           "as the log prints it") \
    X(MAYBE_NUMBER, flops_per_s,            MFU_FLOP_PER_S, FIGURE(FLOPS),         "as the log prints it") \
    X(MAYBE_NUMBER, loss,                   MFU_COUNT,      FIGURE(LOSS),          "median") \
    X(NUMBER,       memory_allocated_bytes, MFU_BYTES,      FIGURE(ALLOCATED),     "peak") \
    X(MAYBE_NUMBER, memory_reserved_bytes,  MFU_BYTES,      FIGURE(RESERVED),      "peak") \
    X(MAYBE_NUMBER, smi_used_bytes,         MFU_BYTES,      FIGURE(SMI_USED),      "as nvidia-smi shows it") \
    X(MAYBE_NUMBER, gpu_utilization,        MFU_RATIO,      FIGURE(UTILIZATION),   "nvidia-smi") \
    X(MAYBE_NUMBER, sm_active,              MFU_RATIO,      FIGURE(SM_ACTIVE),     "DCGM SM_ACTIVE") \
    X(MAYBE_NUMBER, tensor_active,          MFU_RATIO,      FIGURE(TENSOR_ACTIVE), "DCGM PIPE_TENSOR_ACTIVE") \
    X(MAYBE_NUMBER, dram_active,            MFU_RATIO,      FIGURE(DRAM_ACTIVE),   "DCGM DRAM_ACTIVE") \
    X(MAYBE_NUMBER, power_w,                MFU_WATTS,      FIGURE(POWER),         "board power") \
    X(MAYBE_NUMBER, communication_s,        MFU_SECONDS,    FIGURE(COMMUNICATION), "waiting for other GPUs") \
    X(MAYBE_NUMBER, loader_s,               MFU_SECONDS,    FIGURE(LOADER),        "waiting for the data loader") \
    X(NUMBER,       step_time_spread,       MFU_RATIO,      r->spread,             "of the step time, robust") \
    X(MAYBE_NUMBER, step_time_drift,        MFU_RATIO,      r->drift,              "of the step time, from the first quarter of the run to the last") \
    X(NUMBER,       tokens_per_step,        MFU_TOKENS,     r->tokens_per_step,    "of the configuration") \
    X(NUMBER,       mfu,                    MFU_RATIO,      r->mfu,                "by the time, against this GPU's own peak") \
    X(MAYBE_NUMBER, params_stated,          MFU_PARAMS,     r->params,             "as the log states them") \
    X(MAYBE_TEXT,   mfu_convention,         0,              r->convention,         "of the logged MFU") \
    X(MAYBE_SCALAR, mfu_convention_assumed, 0, r->convention ? mfu_value_flag(v, r->convention_assumed) : (void)0, "whether nobody says which") \
    X(MAYBE_SCALAR, mfu_peak_flops,         0, r->convention ? mfu_value_number(v, r->peak_flops) : (void)0, "that the logged MFU is divided by")
MFU_PART_RECORD(measured, const struct mfu_observation *r, MEASURED)

#define COMPARED(X) \
    X(TEXT,   figure,    0,         c->name,      "what is compared") \
    X(NUMBER, measured,  MFU_COUNT, c->measured,  "in base units") \
    X(NUMBER, predicted, MFU_COUNT, c->predicted, "in base units") \
    X(NUMBER, low,       MFU_COUNT, c->low,       "lower end of the 90 % interval") \
    X(NUMBER, high,      MFU_COUNT, c->high,      "upper end of the 90 % interval")
MFU_PART_RECORD(compared, const struct mfu_compared *c, COMPARED)

#define CANDIDATE(X) \
    X(TEXT,   change,       0,           c->change,      "what could be different") \
    X(NUMBER, step_time_s,  MFU_SECONDS, c->step_time_s, "predicted with it") \
    X(NUMBER, share_of_gap, MFU_RATIO,   c->share,       "of what is between measurement and prediction") \
    X(TEXT,   confirm,      0,           c->confirm,     "what would show it")
MFU_PART_RECORD(candidate, const struct mfu_candidate *c, CANDIDATE)

struct found {
    const struct mfu_finding *of;
    const struct mfu_observation *in;
};

static void put_peak(const struct mfu_finding *f, double number, struct mfu_value *v)
{
    if (!isnan(f->peak_flops))
        mfu_value_number(v, number);
}

static void put_size(const struct mfu_finding *f, double number, struct mfu_value *v)
{
    if (!isnan(f->implied_params))
        mfu_value_number(v, number);
}

static void make_candidates(const struct found *f, struct mfu_value *v)
{
    v->object = strstr(f->of->code, "-than-predicted") || strcmp(f->of->code, "batch-unstated") == 0 ? f->in->candidates : NULL;
    v->n = v->object ? (size_t)f->in->n_candidates : 0;
    v->stride = sizeof f->in->candidates[0];
}

#define FOUND(X) \
    X(TEXT,         code,           0, f->of->code,                               "mfu-convention, size-contradiction, slower-than-predicted ...") \
    X(TEXT,         message,        0, f->of->message,                            "what the figures show") \
    X(MAYBE_SCALAR, peak_flops,     0, put_peak(f->of, f->of->peak_flops, v),     "that the log divides by") \
    X(MAYBE_SCALAR, mfu,            0, put_peak(f->of, f->of->mfu, v),            "against this GPU's own peak") \
    X(MAYBE_SCALAR, implied_params, 0, put_size(f->of, f->of->implied_params, v), "parameters that time and MFU imply") \
    X(MAYBE_SCALAR, stated_params,  0, put_size(f->of, f->of->stated_params, v),  "parameters of the configuration") \
    X(MAYBE_SCALAR, implied_n_embd, 0, put_size(f->of, f->of->implied_n_embd, v), "width that they imply") \
    X(MAYBE_MADE_LIST, candidates, &candidate, make_candidates(f, v),             "what could explain the gap")
MFU_PART_RECORD(finding, const struct found *f, FOUND)

static void make_findings(const struct mfu_observation *r, struct mfu_value *v)
{
    struct found *list = mfu_value_own(v, (size_t)r->n_findings, sizeof *list);

    for (int i = 0; list && i < r->n_findings; i++)
        list[i] = (struct found){&r->findings[i], r};
}

#define OBSERVE(X) \
    X(TEXT,       source,        0,         r->source,             "nanogpt-log ..., figures") \
    X(NUMBER,     lines_used,    MFU_COUNT, (double)r->lines_used, "lines of the steady state") \
    X(NUMBER,     first_line,    MFU_COUNT, r->first_line,         "of them") \
    X(NUMBER,     last_line,     MFU_COUNT, r->last_line,          "of them") \
    X(MADE_LIST,  lines_dropped, &dropped,  make_dropped(r, v),    "lines that are not steady state") \
    X(MAP,        configuration, 0, (v->object = r, v->entry = configured), "settings as they were understood") \
    X(MAP,        origins,       0, (v->object = r, v->entry = origin),     "who says so: log, config, command, derived") \
    X(OBJECT,     measured,      &measured, r,                     "medians of the steady state") \
    X(OBJECT,     predicted,     &mfu_record_plan_inside, r->predicted ? &r->plan : NULL, "the plan of that configuration; null: none") \
    X(MAYBE_TEXT, not_predicted_because, 0, r->predicted ? NULL : r->why_not, "why there is none") \
    X(LIST,       compared,      &compared, (r->compared, r->n_compared), "each figure beside its prediction") \
    X(MADE_LIST,  findings,      &finding,  make_findings(r, v),   "what the figures show") \
    X(LIST,       notes,         &mfu_record_words, (r->notes, r->n_notes), "what was assumed, and what to know")
MFU_FIELDS(observe, const struct mfu_observation *r, OBSERVE)
const struct mfu_record mfu_record_observe = MFU_RECORD(observe, .command = "observe", .rows = "compared");
// clang-format on
