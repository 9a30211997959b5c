/*
 * resolve.c - what follows from all that was set: every value, and where it came from.
 *
 * Dims first, then where the run is spread (resolve_parallel.c), then what trains and how (resolve_training.c), then
 * what goes through it.  All is worked out before anything is refused, so that a screen can show what can be known.
 */
#include "scenario/resolve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/expression.h"

void mfu_derive(struct mfu_config *c, enum mfu_setting_id id, double value)
{
    if (c->setting_origin[id] != MFU_ORIGIN_USER) {
        c->setting[id] = value;
        c->setting_origin[id] = MFU_ORIGIN_DERIVED;
    }
}

static void resolve_dims(const struct mfu_scenario *s, struct mfu_config *c)
{
    const struct mfu_model *m = s->model;
    bool scalar = mfu_objectives[(int)c->setting[MFU_S_OBJECTIVE]].scalar;

    for (int k = 0; k < m->n_dims; k++) {
        int i = m->dim_order[k];

        if (s->dim_given[i]) {
            c->dim[i] = s->dim[i];
            c->dim_origin[i] = MFU_ORIGIN_USER;
            continue;
        }
        c->dim[i] =
            scalar && strcmp(m->dims[i].name, "n_labels") == 0 ? 1 : mfu_expression_eval(m->dims[i].value, c->dim);
        c->dim_origin[i] =
            mfu_expression_constant(m->dims[i].value, &(double){0}) ? MFU_ORIGIN_MODEL : MFU_ORIGIN_DERIVED;
    }
}

/* The whole numbers next to `n` that are multiples of `of`. */
static int not_divisible(const char *what, double n, const char *by, double of, struct mfu_error *err)
{
    double low = floor(n / of) * of;
    char hint[64];

    snprintf(hint, sizeof hint, "%.0f", low >= of ? low : low + of);
    return mfu_fail_suggest(err, hint, "%s: %.0f is not divisible by %s (%.0f); %.0f and %.0f are", what, n, by, of,
                            low >= of ? low : low + of, low >= of ? low + of : low + 2 * of);
}

/* The whole numbers on either side of `n` that divide `whole`. */
static int not_divisor(const char *what, double n, const char *of, double whole, struct mfu_error *err)
{
    double low = floor(n), high = ceil(n);
    char hint[64];

    while (low > 1 && fmod(whole, low) != 0)
        low--;
    while (high < whole && fmod(whole, high) != 0)
        high++;
    snprintf(hint, sizeof hint, "%.0f", high - n <= n - low ? high : low);
    return mfu_fail_suggest(err, hint, "%s: %.0f does not divide %s (%.0f); %.0f and %.0f do", what, n, of, whole, low,
                            high);
}

static bool is_given(const struct mfu_scenario *s, const char *dim)
{
    int i = mfu_model_dim_find(s->model, dim, NULL);

    return i >= 0 && s->dim_given[i];
}

bool mfu_config_guesses_seq(const struct mfu_config *c)
{
    return c->model->longest_seq > 0 && !is_given(c->scenario, "seq");
}

bool mfu_config_packs_across(const struct mfu_config *c)
{
    const struct mfu_attention_row *row = &mfu_attentions[c->attention];

    return c->setting[MFU_S_PACKING] > 0 && c->documents.mean > 0 && mfu_model_has_attention(c->model) && !row->packs
        && !(row->packs_by_te && mfu_config_transformer_engine(c));
}

/* The nearest size in place of one that is given with which dim i may be as it follows (-1: with which `whole` is a whole
 * number), as " (set image 944)"; "": none. */
static const char *other_size(const struct mfu_scenario *s, const struct mfu_config *c, int i,
                              const struct mfu_expression *whole, char text[80])
{
    enum { FURTHEST = 64 }; /* chosen: patches are no larger */
    const struct mfu_model *m = s->model;
    const struct mfu_dim_row *known = i >= 0 ? mfu_dim_row(m->dims[i].name) : NULL;
    double at[MFU_MAX_DIMS], value;

    text[0] = '\0';
    for (int step = 2; step < 2 * FURTHEST && !text[0]; step++)
        for (int k = 0; k < m->n_dims && !text[0]; k++) {
            if (k == i || !s->dim_given[k])
                continue;
            memcpy(at, c->dim, sizeof at);
            at[k] += step % 2 ? step / 2 : -step / 2;
            for (int n = 0; n < m->n_dims; n++)
                if (!s->dim_given[m->dim_order[n]])
                    at[m->dim_order[n]] = mfu_expression_eval(m->dims[m->dim_order[n]].value, at);
            value = known ? at[i] : mfu_expression_eval(whole, at);
            if (at[k] >= 1 && value == floor(value) && (!known || (value >= known->least && value <= known->most)))
                snprintf(text, 80, " (set %.40s %.0f)", m->dims[k].name, at[k]);
        }
    return text;
}

/* The tokens of a picture are no choice. */
static int check_picture(const struct mfu_scenario *s, const struct mfu_config *c, struct mfu_error *err)
{
    int seq = is_given(s, "seq") ? mfu_model_dim_find(s->model, "seq", NULL) : -1;
    const struct mfu_model_dim *dim = seq >= 0 ? &s->model->dims[seq] : NULL;
    const char *samples = dim ? mfu_model_samples(s->model) : NULL;
    double tokens = samples ? mfu_expression_eval(dim->value, c->dim) : NAN;

    if (!samples || tokens == s->dim[seq])
        return 0;
    return mfu_fail(err, MFU_EINPUT, "seq: %g: of each of its %s %s makes %g (%s)", s->dim[seq], samples,
                    s->model->slug, tokens, dim->text);
}

/* Nobody decodes photographs for a model that reads none. */
static int check_loader(const struct mfu_config *c, struct mfu_error *err)
{
    if ((int)c->setting[MFU_S_DATALOADER] != MFU_LOADER_JPEG || !c->model || mfu_model_samples(c->model))
        return 0;
    return mfu_fail(err, MFU_EINPUT, "dataloader: jpeg is of photographs, and %s reads none (set dataloader nothing)",
                    c->model->name);
}

static int check_dims(const struct mfu_scenario *s, struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_model *m = s->model;
    double n_embd = mfu_config_dim(c, "n_embd"), n_head = mfu_config_dim(c, "n_head");
    double n_kv = mfu_config_dim(c, "n_kv_head"), head_dim = mfu_config_dim(c, "head_dim");
    double n_experts = mfu_config_dim(c, "n_experts"), top_k = mfu_config_dim(c, "top_k");

    if (n_embd > 0 && n_head > 0 && isfinite(head_dim) && head_dim != floor(head_dim)) /* NAN: the model has none */
        return is_given(s, "n_head") && !is_given(s, "n_embd") ? not_divisor("n_head", n_head, "n_embd", n_embd, err)
                                                               : not_divisible("n_embd", n_embd, "n_head", n_head, err);
    if (n_head > 0 && n_kv > 0 && (n_kv != floor(n_kv) || fmod(n_head, n_kv) != 0))
        return mfu_fail(err, MFU_EINPUT, "n_kv_head: %g does not divide n_head (%.0f)", n_kv, n_head);
    if (n_experts > 0 && top_k > n_experts)
        return mfu_fail(err, MFU_EINPUT, "top_k: %.0f is more than n_experts (%.0f)", top_k, n_experts);
    for (int i = 0; i < m->n_dims; i++) {
        const struct mfu_dim_row *known = mfu_dim_row(m->dims[i].name);
        double value = c->dim[i];
        char hint[80];

        if (!isfinite(value))
            return mfu_fail(err, MFU_EINPUT, "%s: '%s' has no finite value", m->dims[i].name, m->dims[i].text);
        if (!known)
            continue;
        if (known->whole && value != floor(value))
            return mfu_fail(err, MFU_EINPUT, "%s: '%s' gives %g, not a whole number%s", m->dims[i].name,
                            m->dims[i].text, value, other_size(s, c, i, NULL, hint));
        if (value < known->least || value > known->most)
            return mfu_fail(err, MFU_EINPUT, "%s: %g is outside %g..%g%s", m->dims[i].name, value, known->least,
                            known->most, other_size(s, c, i, NULL, hint));
    }
    for (int i = 0; i < m->n_whole; i++) {
        double value = mfu_expression_eval(m->whole[i].value, c->dim);
        char hint[80];

        if (value != floor(value))
            return mfu_fail(err, MFU_EINPUT, "%s: %s is %g, not a whole number%s", m->slug, m->whole[i].text, value,
                            other_size(s, c, -1, m->whole[i].value, hint));
    }
    return 0;
}

/* Documents of the sequences; what one fills by itself has no padding. */
static void derive_documents(struct mfu_config *c)
{
    struct mfu_documents *d = &c->documents;

    *d = (struct mfu_documents){c->setting[MFU_S_DOC_LEN], c->setting[MFU_S_DOC_SIGMA], 1, c->setting[MFU_S_TOO_LONG]};
    if (d->mean > 0 && c->seq >= 1)
        d->fill = mfu_documents_fill(d, c->seq, c->setting[MFU_S_PACKING] > 0);
}

bool mfu_config_pads_to_longest(const struct mfu_config *c)
{
    return c->setting[MFU_S_PADDING] > 0 && c->setting[MFU_S_PACKING] == 0 && c->documents.mean > 0;
}

/* transformers' group_by_length sorts 50 batches at a time (trainer_pt_utils.py: get_length_grouped_indices), peft's comparison
 * of methods 20 (5d602fdb, method_comparison/MetaMathQA/utils.py: BucketIterator): in one of those all are nearly as long. */
double mfu_config_padded_together(const struct mfu_config *c)
{
    return c->setting[MFU_S_PADDING] == MFU_PADDING_ALIKE ? 1 : c->batch;
}

double mfu_config_document_tokens(const struct mfu_config *c)
{
    return c->documents.mean > 0 ? mfu_documents_mean(&c->documents, c->seq, NULL, NULL) / c->documents.fill : c->seq;
}

/* The loader's time for a micro-batch, from that of a sample: its workers share the CPU's part, the GPUs of a machine
 * its storage. */
static void derive_loader(struct mfu_config *c)
{
    double samples = c->tokens * c->setting[MFU_S_CP] / mfu_config_document_tokens(c), cpu_s;
    double rate = c->setting[MFU_S_STORAGE_RATE];
    double read_s = rate > 0 ? c->setting[MFU_S_SAMPLE_BYTES] * c->ranks / c->setting[MFU_S_NODES] / rate : 0;

    if ((int)c->setting[MFU_S_DATALOADER] == MFU_LOADER_JPEG)
        mfu_derive(c, MFU_S_LOADER_WORKERS, MFU_USUAL_WORKERS);
    cpu_s = c->setting[MFU_S_SAMPLE_MS] * 1e-3 / c->setting[MFU_S_LOADER_WORKERS];
    if (fmax(cpu_s, read_s) > 0)
        mfu_derive(c, MFU_S_DATALOADER_MS, 1e3 * samples * fmax(cpu_s, read_s));
}

/* The processor that is named, or that of the machine that is. */
static void derive_processor(struct mfu_config *c)
{
    int named = c->scenario->cluster && c->scenario->cluster == c->cluster ? mfu_processor_find(c->cluster->host)
                                                                           : MFU_CPU_UNKNOWN;

    if (named != MFU_CPU_UNKNOWN)
        mfu_derive(c, MFU_S_CPU, named);
    if (c->setting[MFU_S_CPU] != MFU_CPU_UNKNOWN)
        mfu_derive(c, MFU_S_CPU_MARK, mfu_processor_marks[(int)c->setting[MFU_S_CPU]]);
}

const struct mfu_cluster *mfu_scenario_cluster(const struct mfu_scenario *s)
{
    if (!s->gpu || (s->cluster && mfu_cluster_has(s->cluster, s->gpu)))
        return s->cluster;
    return s->gpu->usual;
}

#define FEWEST_KEPT 1e-6 /* share of documents, below which none is left (chosen) */

int mfu_scenario_resolve(const struct mfu_scenario *s, struct mfu_config *c, struct mfu_error *err)
{
    c->gpu = s->gpu;
    c->cluster = mfu_scenario_cluster(s);
    c->model = s->model;
    c->scenario = s;
    memcpy(c->setting, s->setting, sizeof c->setting);
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        c->setting_origin[i] = s->setting_given[i] ? MFU_ORIGIN_USER : MFU_ORIGIN_DEFAULT;
    if (s->model)
        resolve_dims(s, c);

    mfu_derive_parallel(c);
    mfu_derive_training(c);
    c->batch = c->setting[MFU_S_BATCH] * mfu_objectives[(int)c->setting[MFU_S_OBJECTIVE]].sequences;
    c->accum = c->setting[MFU_S_ACCUM];
    c->seq = mfu_config_dim(c, "seq");
    c->tokens = c->batch * c->seq / c->setting[MFU_S_CP];
    c->replicas = c->setting[MFU_S_DP] * c->setting[MFU_S_CP];
    derive_documents(c);
    derive_loader(c);
    derive_processor(c);

    if (!s->model)
        return mfu_fail(err, MFU_EINPUT, "no model is chosen (model gpt2, for instance)");
    if (!s->gpu)
        return mfu_fail(err, MFU_EINPUT, "no GPU is chosen (gpu rtx4070, for instance)");
    if (check_dims(s, c, err) < 0 || check_picture(s, c, err) < 0 || check_loader(c, err) < 0
        || mfu_check_training(c, err) < 0 || mfu_check_parallel(c, err) < 0)
        return -1;
    if (mfu_documents_kept(&c->documents, c->seq) < FEWEST_KEPT)
        return mfu_fail(err, MFU_EINPUT, "too_long: no document of doc_len %g is as short as seq %g: all are dropped",
                        c->documents.mean, c->seq);
    if (c->tokens > 1e12)
        return mfu_fail(err, MFU_EINPUT, "batch: %g sequences of %g tokens are more than 1e12 tokens", c->batch,
                        c->seq);
    return 0;
}
