/*
 * claim_names.c - the cards and models that a claim names, and what the catalog knows of them.
 *
 * Names are taken out of the text first, so that no digit of "RTX 4090" is a figure.  Their peaks,
 * sizes and FLOP come last, when it is known what the claim says of them itself.
 */
#include "answer/audit/reading.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/catalog.h"
#include "descriptor/gpu.h"
#include "plan/conventions.h"
#include "scenario/scenario.h"

/* ---- names ------------------------------------------------------------------- */

/* "2x3090" */
static bool is_times(const char *p)
{
    return mfu_digit(*p) && p[-1] == 'x' && mfu_digit(p[-2]);
}

/* Up to four words that the catalog knows; the text then says `as`. */
static bool find_name(struct mfu_reading *r, char **from, const char *as,
                      bool (*take)(struct mfu_reading *, const char *))
{
    for (char *p = *from; *p; p++) {
        char name[64];

        if (!mfu_claim_letter(*p)
            || (p > r->t.text && ((mfu_claim_letter(p[-1]) && !is_times(p)) || p[-1] == '.' || p[-1] == '-')))
            continue;
        for (int words = 4; words > 0; words--) {
            char *end = p;
            size_t n;

            for (int w = 0; w < words && *end; w++)
                end += (w > 0 && *end == ' '), end += strspn(end, "abcdefghijklmnopqrstuvwxyz0123456789._-");
            n = (size_t)(end - p);
            while (n > 0 && !mfu_claim_letter(p[n - 1]))
                n--;
            if (n < 2 || n >= sizeof name || (mfu_claim_letter(p[n]) && mfu_claim_letter(p[n - 1])))
                continue;
            snprintf(name, sizeof name, "%.*s", (int)n, p);
            if (r->t.to[p + n - 1 - r->t.text] - r->t.from[p - r->t.text] != (int)n) /* 1,650 */
                continue;
            if (!strpbrk(name, "0123456789") || strstr(name, ".yaml") || strstr(name, ".yml") || strstr(name, ".json"))
                continue;
            if (!take(r, name) && (name[n - 1] != 's' || (name[n - 1] = '\0', !take(r, name)))) {
                char *tail = words == 1 ? strrchr(name, '-') : NULL; /* H100-hours */

                if (!tail || strspn(tail + 1, "abcdefghijklmnopqrstuvwxyz") < strlen(tail + 1)
                    || !(*tail = '\0', take(r, name)))
                    continue;
                n = (size_t)(tail - name);
            }
            *from = mfu_claim_text_replace(&r->t, p, n, is_times(p) ? " gpu" : as);
            return true;
        }
    }
    return false;
}

/* A bare number is a card only where nothing else can be meant. */
static bool take_gpu(struct mfu_reading *r, const char *name)
{
    const struct mfu_gpu *gpu;
    bool second;

    if (strspn(name, "0123456789") == strlen(name) && strlen(name) != 4)
        return false;
    if (strncmp(name, "a ", 2) == 0) /* "a 30 minute run" */
        return false;
    if (!mfu_alpha(name[0]) && strspn(name, "0123456789") < strlen(name) && !strpbrk(name, " "))
        return false; /* 125m, 7b */
    if (!(gpu = mfu_catalog_gpu(r->catalog, name, NULL))) {
        char with_b[80]; /* A100-40G */

        snprintf(with_b, sizeof with_b, "%sb", name);
        if (name[strlen(name) - 1] != 'g' || !(gpu = mfu_catalog_gpu(r->catalog, with_b, NULL)))
            return false;
    }
    second = r->gpu[0] && r->gpu[0] != gpu;
    r->gpu[second] = gpu;
    snprintf(r->called[second], sizeof r->called[second], "%s", name);
    return true;
}

static bool take_model(struct mfu_reading *r, const char *name)
{
    const struct mfu_model *m;

    if (!mfu_alpha(name[0]) || !(m = mfu_catalog_model(r->catalog, name, NULL)))
        return false;
    r->model = r->model ? r->model : m;
    return true;
}

void mfu_claim_find_names(struct mfu_reading *r)
{
    char *p = r->t.text, *than;

    while (find_name(r, &p, "model", take_model))
        ;
    p = r->t.text;
    while (find_name(r, &p, "gpu", take_gpu))
        ;
    while ((p = strstr(r->t.text, "gpu gpu"))) /* H100 GPUs */
        mfu_claim_text_replace(&r->t, p, 4, "");
    than = mfu_claim_says(&r->t, "than");
    if (r->gpu[1] && than && strstr(than, "gpu")) { /* faster on B than on A */
        const struct mfu_gpu *after = r->gpu[0];

        r->gpu[0] = r->gpu[1];
        r->gpu[1] = after;
    }
}

/* ---- what a card brings --------------------------------------------------------- */

/* "A100" has 40 or 80 GB. */
static void widen_capacity(struct mfu_reading *r, const char *called, struct mfu_interval *in)
{
    size_t n, length = strlen(called);
    const char *const *names = mfu_catalog_gpus(r->catalog, &n);

    for (size_t i = 0; i < n; i++) {
        const struct mfu_gpu *g = strncmp(names[i], called, length) == 0 && names[i][length] == '-'
            ? mfu_catalog_gpu(r->catalog, names[i], NULL)
            : NULL;

        if (g && g->size_bytes > 0) {
            in->low = fmin(in->low, fmin(g->capacity_bytes, g->size_bytes));
            in->high = fmax(in->high, g->size_bytes * 1.0738);
        }
    }
}

/* What generates: every token of a sequence comes after the one before it. */
static const char *const decoding[] = {"decode",     "decoding",  "decodes",    "single stream",
                                       "generation", "generates", "speculation"};

static void add_gpu(struct mfu_reading *r, const struct mfu_gpu *gpu, enum mfu_claim_state state)
{
    enum mfu_peak peak = gpu->peak_flops[r->peak] > 0 || r->peak != MFU_PEAK_BF16 ? r->peak : MFU_PEAK_FP16;
    double flops = gpu->peak_flops[peak] * (r->sparse ? 2 : 1);

    if (flops > 0)
        mfu_claim_add(r->audit, MFU_Q_PEAK, state, flops * 0.9995, flops * 1.0005, "catalog", "%s, %s%s", gpu->slug,
                      mfu_peak_names[peak], r->sparse ? " sparse" : "");
    if (gpu->size_bytes > 0 && state == MFU_BEFORE) { /* sold in GB, built in GiB */
        struct mfu_interval in = {fmin(gpu->capacity_bytes, gpu->size_bytes), gpu->size_bytes * 1.0738};

        widen_capacity(r, r->called[0], &in);
        mfu_claim_add(r->audit, MFU_Q_CAPACITY, state, in.low, in.high, "catalog", "%s", gpu->slug);
    }
    if (gpu->bandwidth_bytes_s > 0
        && (mfu_claim_has(r->audit, MFU_Q_BANDWIDTH) || strstr(r->t.text, "bandwidth") || strstr(r->t.text, "ridge")
            || strstr(r->t.text, "/byte") || mfu_claim_has(r->audit, MFU_Q_STREAMED)
            || mfu_claim_has(r->audit, MFU_Q_DECODED)))
        mfu_claim_add(r->audit, MFU_Q_BANDWIDTH, state, gpu->bandwidth_bytes_s * 0.98, gpu->bandwidth_bytes_s * 1.02,
                      "catalog", "%s", gpu->slug);
    if (gpu->power_w > 0 && state == MFU_BEFORE)
        mfu_claim_add(r->audit, MFU_Q_TDP, state, gpu->power_w, gpu->power_w * 1.05, "catalog", "%s", gpu->slug);
    if (gpu->nvlink_bytes_s > 0 && state == MFU_BEFORE) /* one direction, or both */
        mfu_claim_add(r->audit, MFU_Q_NVLINK, state, gpu->nvlink_bytes_s * 0.49, gpu->nvlink_bytes_s * 1.02, "catalog",
                      "%s", gpu->slug);
    if (gpu->sms > 0 && state == MFU_BEFORE)
        mfu_claim_add(r->audit, MFU_Q_SMS, state, gpu->sms, gpu->sms, "catalog", "%s", gpu->slug);
}

void mfu_claim_add_gpus(struct mfu_reading *r)
{
    const struct mfu_claim *batch = mfu_claim_told(r->audit, MFU_Q_BATCH);
    bool computes = mfu_claim_told(r->audit, MFU_Q_ACHIEVED) || mfu_claim_told(r->audit, MFU_Q_MFU);

    for (size_t i = 0; i < sizeof decoding / sizeof decoding[0] && !mfu_claim_has(r->audit, MFU_Q_DECODED); i++)
        if (mfu_claim_says(&r->t, decoding[i])
            || ((!r->training || (batch && batch->value == 1)) && mfu_claim_told(r->audit, MFU_Q_BANDWIDTH)
                && mfu_claim_told(r->audit, MFU_Q_TOKENS_PER_S))) {
            const struct mfu_claim *c = mfu_claim_told(r->audit, MFU_Q_KV_SEQUENCES);
            double n = (c = c ? c : batch) ? c->value : 1;

            mfu_claim_add(r->audit, MFU_Q_DECODED, MFU_BEFORE, n, n, "stated", "%s", decoding[i]);
            mfu_claim_add(r->audit, MFU_Q_PASSES, MFU_BEFORE, 1, 1, "stated", "%s", decoding[i]);
        }
    for (int i = 0; i < 2; i++)
        if (r->gpu[i])
            add_gpu(r, r->gpu[i], i == 0 ? MFU_BEFORE : MFU_AFTER);
    if (r->gpu[0] && computes && r->peak != MFU_PEAK_BF16 && !(r->gpu[0]->peak_flops[r->peak] > 0))
        mfu_claim_add(r->audit, MFU_Q_PEAK, MFU_BEFORE, 0, 0, "catalog", "no %s on %s", mfu_peak_names[r->peak],
                      r->gpu[0]->slug);
}

void mfu_claim_drop_peaks(struct mfu_reading *r)
{
    int achieved = 0, used = 0;

    for (int i = 0; i < r->audit->n_claims; i++) {
        achieved += r->audit->claims[i].kind == MFU_Q_ACHIEVED;
        used += r->audit->claims[i].kind == MFU_Q_MFU;
    }
    for (int i = 0; i < r->audit->n_claims && achieved < 2 && (used > 0) == (r->gpu[0] != NULL); i++) {
        struct mfu_claim *c = &r->audit->claims[i];
        int n = 0;

        for (int k = 0; k < c->n_readings; k++)
            if (c->readings[k].kind != MFU_Q_PEAK)
                c->readings[n++] = c->readings[k];
        c->n_readings = n;
    }
}

/* ---- what a model brings -------------------------------------------------------- */

/* Plans the model, with the sequence that was stated. */
static bool plan_model(const struct mfu_reading *r, const struct mfu_model *model, const struct mfu_scenario *start,
                       struct mfu_plan *p, struct mfu_error *err)
{
    struct mfu_scenario s = mfu_scenario_start(model, start->gpu);
    const struct mfu_claim *seq = mfu_claim_told(r->audit, MFU_Q_SEQ);

    if (seq)
        mfu_scenario_set_number(&s, "seq", round(seq->value), err);
    return mfu_plan_make(p, &s, err) == 0;
}

static bool has_size(const struct mfu_plan *p, const struct mfu_claim *params)
{
    return p->program.params >= 0.97 * params->in.low && p->program.params <= 1.03 * params->in.high;
}

/* "GPT-2 1.5B" is not gpt2 but gpt2-xl: of the sizes of one name that which is stated. */
static const struct mfu_model *find_size(const struct mfu_reading *r, const struct mfu_scenario *start,
                                         const struct mfu_claim *params, struct mfu_error *err)
{
    size_t n, length = strlen(r->model->slug);
    const char *const *names = mfu_catalog_models(r->catalog, &n);
    struct mfu_plan *p = calloc(1, sizeof *p);
    const struct mfu_model *found = NULL;

    if (!p)
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (size_t i = 0; p && !found && i < n; i++) {
        const struct mfu_model *m = strncmp(names[i], r->model->slug, length) == 0 && names[i][length] == '-'
            ? mfu_catalog_model(r->catalog, names[i], NULL)
            : NULL;

        if (m && plan_model(r, m, start, p, err)) {
            found = has_size(p, params) ? m : NULL;
            mfu_plan_release(p);
        }
    }
    free(p);
    return found;
}

/* "gemma-2b" has 2.5B: what its name says, if that is near. */
static double nominal_size(const char *slug, double params)
{
    for (const char *p = slug; *p; p++) {
        char *end;
        double size = mfu_digit(*p) ? strtod(p, &end) : 0;

        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): strtod() sets it */
        if (size > 0 && (*end == 'b' || *end == 'm') && !isalnum((unsigned char)end[1])) {
            size *= *end == 'b' ? 1e9 : 1e6;
            return size > 0.75 * params && size < 1.25 * params ? size : params;
        }
    }
    return params;
}

// clang-format off
static const struct { const char *name; int kind; } dims[] = {
    {"n_layer", MFU_Q_N_LAYER}, {"n_embd", MFU_Q_N_EMBD}, {"n_head", MFU_Q_HEADS}, {"n_kv_head", MFU_Q_KV_HEADS},
    {"head_dim", MFU_Q_HEAD_DIM}, {"vocab_size", MFU_Q_VOCAB}};
// clang-format on

int mfu_claim_add_model(struct mfu_reading *r, const struct mfu_scenario *start, struct mfu_error *error)
{
    struct mfu_plan *p = calloc(1, sizeof *p);
    struct mfu_convention list[MFU_CONVENTIONS_MAX];
    const struct mfu_claim *params = mfu_claim_told(r->audit, MFU_Q_PARAMS);
    const struct mfu_model *size = NULL;
    struct mfu_error err = {0};
    double low = INFINITY, high = 0, called;
    bool shaped = mfu_claim_has(r->audit, MFU_Q_KV) || mfu_claim_has(r->audit, MFU_Q_KV_TOKEN)
        || mfu_claim_has(r->audit, MFU_Q_EMBEDDING); /* what needs more of the model than its size */
    bool planned = p && plan_model(r, r->model, start, p, &err);

    if (planned && params && !has_size(p, params) && (size = find_size(r, start, params, &err))) {
        mfu_plan_release(p);
        r->model = size;
        planned = plan_model(r, size, start, p, &err);
    }
    if (planned && params && params->in.high < 0.5 * p->program.params && params->at > 0
        && mfu_claim_stands(mfu_claim_subject(&r->t, r->t.text + params->at), "training")) /* an adapter is trained */
        r->audit->claims[params - r->audit->claims].kind = MFU_Q_TRAINABLE;
    if (planned && (params = mfu_claim_told(r->audit, MFU_Q_PARAMS)) && p->program.params > 0.94 * params->value
        && p->program.params < 1.06 * params->value) { /* "Phi-2 2.7B" has 2.78 */
        struct mfu_claim *nominal = &r->audit->claims[params - r->audit->claims];

        nominal->in.low = fmin(nominal->in.low, p->program.params * 0.995);
        nominal->in.high = fmax(nominal->in.high, p->program.params * 1.005);
    }
    if (!p)
        mfu_fail(&err, MFU_ENOMEM, "out of memory");
    else if (planned) {
        size_t n = mfu_conventions(p, list);
        for (size_t i = 0; i < n; i++)
            if (strcmp(list[i].name, "hfu") != 0) {
                low = fmin(low, list[i].flops_per_token);
                high = fmax(high, list[i].flops_per_token);
            }
        called = fmin(nominal_size(r->model->slug, p->program.params), p->program.params);
        mfu_claim_add(r->audit, MFU_Q_PARAMS, MFU_BEFORE, fmin(called, p->program.params * 0.995),
                      fmax(nominal_size(r->model->slug, p->program.params), p->program.params * 1.005), "catalog", "%s",
                      r->model->slug);
        if (!mfu_model_samples(r->model))
            mfu_claim_add(r->audit, MFU_Q_ACTIVE, MFU_BEFORE,
                          fmin(fmin(called, low / 6), p->program.active_params * 0.995),
                          p->program.active_params * 1.005, "catalog", "%s, by any convention", r->model->slug);
        if (high > 0 && !mfu_model_samples(r->model) && !mfu_claim_has(r->audit, MFU_Q_PASSES))
            mfu_claim_add(r->audit, MFU_Q_FLOP_PER_TOKEN, MFU_BEFORE, low, high, "catalog", "%s, by any convention",
                          r->model->slug);
        if (mfu_model_samples(r->model)) /* of what has no tokens they are what is computed */
            for (size_t i = 0; i < n; i++)
                if (strcmp(list[i].name, "hfu") == 0)
                    mfu_claim_add(r->audit, MFU_Q_FLOP_PER_SAMPLE, MFU_BEFORE,
                                  0.9 * list[i].flops_per_token * p->config.seq,
                                  1.1 * list[i].flops_per_token * p->config.seq, "catalog", "%s", r->model->slug);
        for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
            double value = mfu_config_dim(&p->config, dims[i].name);

            if (value > 0 && shaped && !mfu_claim_told(r->audit, dims[i].kind))
                mfu_claim_add(r->audit, dims[i].kind, MFU_BEFORE, value, value, "catalog", "%s, %s", r->model->slug,
                              dims[i].name);
        }
        if (!mfu_claim_told(r->audit, MFU_Q_SEQ))
            mfu_claim_add(r->audit, MFU_Q_SEQ, MFU_BEFORE, p->config.seq,
                          mfu_model_samples(r->model) ? 1e8 : p->config.seq, "assumed", "%s's own", r->model->slug);
        mfu_plan_release(p);
    }
    free(p);
    return err.code == MFU_ENOMEM ? mfu_fail(error, MFU_ENOMEM, "out of memory") : 0;
}
