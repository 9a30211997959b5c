/*
 * measured_rollout.c - rates of decoding and prefill that somebody measured.
 */
#include "read/runs/measured_rollout.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "descriptor/catalog.h"
#include "read/runs/measured_reading.h"

/* What tables call what holds weights, keys and values. */
static const struct {
    const char *theirs;
    enum mfu_held ours;
} words[] = {{"fp16", MFU_HELD_BF16}, {"auto", MFU_HELD_BF16},      {"", MFU_HELD_BF16},     {"fp8", MFU_HELD_FP8},
             {"bf16", MFU_HELD_BF16}, {"gptq-int8", MFU_HELD_INT8}, {"int8", MFU_HELD_INT8}, {"awq", MFU_HELD_INT4},
             {"int4", MFU_HELD_INT4}, {"gptq-int4", MFU_HELD_INT4}, {"mxfp4", MFU_HELD_FP4}, {"fp4", MFU_HELD_FP4},
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
    char name[96];
    const char *engine = mfu_row_cell(r, "engine");
    double batch = mfu_cell_number(r, "batch"), isl = mfu_cell_number(r, "isl"), osl = mfu_cell_number(r, "osl"),
           tp = fmax(1, mfu_cell_number(r, "tp"));

    without_v(mfu_row_cell(r, "model"), name, sizeof name);
    *s = mfu_scenario_start(mfu_catalog_hub_model(r->catalog, name, &err), NULL);
    if (!s->model)
        return mfu_row_skip(r, "model '%.60s' is not known", name);
    if (!(s->gpu = mfu_catalog_gpu(r->catalog, mfu_row_cell(r, "gpu"), &err)))
        return mfu_row_skip(r, "%.160s", err.text);
    if (mfu_cell_number(r, "pp") > 1)
        return mfu_row_skip(r, "a rollout over a pipeline (pp) is not modelled");
    if (mfu_scenario_set_number(s, "gpus", tp, &err) < 0 || mfu_scenario_set_number(s, "tp", tp, &err) < 0)
        return mfu_row_skip(r, "%.160s", err.text);
    if (!(isl >= 1 && osl >= 1))
        return mfu_row_skip(r, "isl and osl: expected numbers of tokens");
    o->prompt = isl;
    o->answer = osl;
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

void mfu_measured_rollout(struct mfu_catalog *catalog, const struct mfu_csv *csv, size_t row,
                          struct mfu_measured_run *run, struct mfu_rollout_options *o, bool *first)
{
    struct mfu_row r = {.catalog = catalog, .csv = csv, .row = row, .run = run};
    double rate = mfu_cell_number(&r, "out_tok_s");

    *run = (struct mfu_measured_run){.ran = -1, .step_s = 1 / rate};
    *o = mfu_rollout_defaults();
    *first = isnan(rate);
    if (*first)
        run->step_s = mfu_cell_number(&r, "ttft_ms") * 1e-3;
    if (!(run->step_s > 0))
        mfu_row_skip(&r, "neither out_tok_s nor ttft_ms is stated");
    else
        choose(&r, o);
}
