/*
 * validate_rollout.c - rates of decoding and prefill that somebody measured, against rollouts.
 */
#include "answer/validate/validate_rollout.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "answer/validate/validate.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/suggest.h"
#include "descriptor/catalog.h"
#include "plan/rollout.h"
#include "read/runs/measured_reading.h"
#include "read/runs/measured_run.h"

/* What tables call what holds weights, keys and values. */
static const struct {
    const char *theirs;
    enum mfu_held ours;
} words[] = {{"fp16", MFU_HELD_BF16}, {"auto", MFU_HELD_BF16},      {"", MFU_HELD_BF16},          {"fp8", MFU_HELD_FP8},
             {"bf16", MFU_HELD_BF16}, {"gptq-int8", MFU_HELD_INT8}, {"int8", MFU_HELD_INT8},      {"awq", MFU_HELD_INT4},
             {"int4", MFU_HELD_INT4}, {"gptq-int4", MFU_HELD_INT4}, {"mxfp4", MFU_HELD_FP4},      {"fp4", MFU_HELD_FP4},
             {"nvfp4", MFU_HELD_FP4}};

bool mfu_is_rollout_row(const struct mfu_csv *csv, size_t row)
{
    return *mfu_csv_get(csv, row, "isl") && *mfu_csv_get(csv, row, "osl");
}

static bool choose_held(struct mfu_row *r, const char *column, double *held)
{
    const char *text = mfu_row_cell(r, column);

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (mfu_same_letters(words[i].theirs, text)) {
            *held = words[i].ours;
            return true;
        }
    return mfu_row_skip(r, "%s '%.20s' is not known", column, text);
}

/* "LLaMA v3.1 8B" is "LLaMA 3.1 8B" elsewhere. */
static void without_v(const char *name, char *out, size_t size)
{
    size_t n = 0;

    for (size_t i = 0; name[i] && n + 1 < size; i++)
        if (!((name[i] == 'v' || name[i] == 'V') && i > 0 && name[i - 1] == ' ' && isdigit((unsigned char)name[i + 1])))
            out[n++] = name[i];
    out[n] = '\0';
}

static bool choose(struct mfu_row *r, struct mfu_rollout_options *o)
{
    struct mfu_scenario *s = &r->run->scenario;
    struct mfu_error err = {0};
    char name[96], tp[24];
    const char *engine = mfu_row_cell(r, "engine");
    double batch = mfu_cell_number(r, "batch");

    without_v(mfu_row_cell(r, "model"), name, sizeof name);
    *s = mfu_scenario_start(mfu_catalog_hub_model(r->catalog, name, &err), NULL);
    if (!s->model)
        return mfu_row_skip(r, "model '%.60s' is not known", name);
    if (!(s->gpu = mfu_catalog_gpu(r->catalog, mfu_row_cell(r, "gpu"), &err)))
        return mfu_row_skip(r, "%.160s", err.text);
    if (mfu_cell_number(r, "pp") > 1)
        return mfu_row_skip(r, "a rollout over a pipeline (pp) is not modelled");
    snprintf(tp, sizeof tp, "%.0f", fmax(1, mfu_cell_number(r, "tp")));
    if (mfu_scenario_set(s, "gpus", tp, &err) < 0 || mfu_scenario_set(s, "tp", tp, &err) < 0)
        return mfu_row_skip(r, "%.160s", err.text);
    o->prompt = mfu_cell_number(r, "isl");
    o->answer = mfu_cell_number(r, "osl");
    o->sequences = batch >= 1 ? batch : 0;
    o->most = fmax(o->most, o->sequences);
    if (mfu_same_letters(engine, "transformers"))
        o->sender = MFU_SENDER_GENERATE;
    else if (!*engine)
        mfu_row_assume(r, "engine=one with CUDA graphs");
    if (!(batch >= 1))
        mfu_row_assume(r, "batch=as many sequences as fit");
    return choose_held(r, "weight_dtype", &o->weights) && choose_held(r, "kv_dtype", &o->kv);
}

void mfu_validate_rollout(struct mfu_catalog *catalog, const struct mfu_csv *csv, size_t row, struct mfu_plan *scratch,
                          struct mfu_validated *v)
{
    struct mfu_measured_run run = {.ran = -1};
    struct mfu_row r = {catalog, csv, row, &run};
    struct mfu_rollout_options o = mfu_rollout_defaults();
    double rate = mfu_cell_number(&r, "out_tok_s"), first_s = mfu_cell_number(&r, "ttft_ms") * 1e-3, scale;
    struct mfu_error err = {0};
    struct mfu_rollout out;

    snprintf(v->sharding, sizeof v->sharding, "%.23s", mfu_row_cell(&r, "weight_dtype"));
    snprintf(v->spread, sizeof v->spread, "%s", mfu_cell_number(&r, "tp") > 1 ? "one node" : "one GPU");
    v->ran = -1;
    if (choose(&r, &o) && isnan(rate) && isnan(first_s))
        mfu_row_skip(&r, "neither out_tok_s nor ttft_ms is stated");
    if (!run.skipped[0] && mfu_rollout(&run.scenario, &o, scratch, &out, &err) < 0)
        mfu_row_skip(&r, "%.190s", err.text);
    snprintf(v->assumed, sizeof v->assumed, "%s", run.assumed);
    snprintf(v->skipped, sizeof v->skipped, "%s", run.skipped);
    if (v->skipped[0])
        return;
    snprintf(v->gpu, sizeof v->gpu, "%s", run.scenario.gpu->slug);
    snprintf(v->runtime, sizeof v->runtime, "%s", mfu_sender_names[(int)o.sender]);
    v->measured_step_s = isnan(rate) ? first_s : 1 / rate;
    v->predicted_step_s = isnan(rate) ? out.prefill_s : 1 / out.tokens_per_s;
    scale = v->predicted_step_s / out.seconds;
    v->low_s = scale * out.low_s;
    v->high_s = scale * out.high_s;
    v->error = v->predicted_step_s / v->measured_step_s - 1;
    v->model_flops = scratch->mfu.model_flops;
    v->peak_flops = scratch->mfu.peak_flops;
    v->fits = out.fits;
}
