/*
 * scenario.c - setting keys, and working out what follows from them.
 */
#include "scenario/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/expression.h"
#include "base/suggest.h"
#include "descriptor/module_kinds.h"
#include "descriptor/primitive.h"
#include "scenario/adapter.h"
#include "scenario/setting.h"

_Static_assert(MFU_SETTING_COUNT <= MFU_MAX_SETTINGS, "more settings than a scenario has room for");

const char *const mfu_origin_names[] = {"default", "model", "gpu", "derived", "user"};

const char *mfu_dim_meaning(const char *name)
{
    const struct mfu_dim_row *row = mfu_dim_row(name);

    return row ? row->meaning : NULL;
}

struct mfu_range mfu_scenario_range(const struct mfu_scenario *s, struct mfu_key key)
{
    const struct mfu_setting *row = key.kind == MFU_KEY_SETTING ? &mfu_settings[key.id] : NULL;
    const struct mfu_dim_row *m = key.kind == MFU_KEY_DIM ? mfu_dim_row(s->model->dims[key.id].name) : NULL;

    if (key.kind == MFU_KEY_COEFFICIENT)
        return (struct mfu_range){mfu_coefficient_rows[key.id].least, mfu_coefficient_rows[key.id].most, false};
    if (row && row->choices) { /* as many as there are */
        int n = 0;

        while (row->choices[n])
            n++;
        return (struct mfu_range){0, n - 1, true};
    }
    if (row)
        return (struct mfu_range){row->least, row->most, row->dim == MFU_COUNT && !row->fractional};
    return m ? (struct mfu_range){m->least, m->most, m->whole} : (struct mfu_range){0, 1e12, false};
}

struct mfu_key mfu_scenario_key(const struct mfu_scenario *s, const char *name, struct mfu_error *err)
{
    return mfu_key_find(s->model, name, err);
}

struct mfu_scenario mfu_scenario_start(const struct mfu_model *model, const struct mfu_gpu *gpu)
{
    struct mfu_scenario s = {.gpu = gpu, .model = model};

    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        s.setting[i] = mfu_settings[i].initial;
    return s;
}

void mfu_scenario_model(struct mfu_scenario *s, const struct mfu_model *model)
{
    s->model = model;
    memset(s->dim, 0, sizeof s->dim);
    memset(s->dim_given, 0, sizeof s->dim_given);
}

/* The values that an expression on the right of `set` may use. */
struct names {
    const struct mfu_scenario *scenario;
    const struct mfu_config *config;
    double values[64];
    int n;
};

double mfu_scenario_value(const struct mfu_scenario *s, struct mfu_key key)
{
    switch (key.kind) {
    case MFU_KEY_DIM: return s->dim[key.id];
    case MFU_KEY_SETTING: return s->setting[key.id];
    case MFU_KEY_COEFFICIENT: return s->coefficient[key.id];
    case MFU_KEY_NONE: break;
    }
    return NAN;
}

double mfu_config_value(const struct mfu_config *c, struct mfu_key key)
{
    switch (key.kind) {
    case MFU_KEY_DIM: return c->dim[key.id];
    case MFU_KEY_SETTING: return c->setting[key.id];
    case MFU_KEY_COEFFICIENT: return mfu_config_coefficient(c, (enum mfu_coefficient)key.id);
    case MFU_KEY_NONE: break;
    }
    return NAN;
}

static int resolve_name(void *context, const char *name, struct mfu_error *err)
{
    struct names *names = context;
    struct mfu_key key = mfu_scenario_key(names->scenario, name, err);

    if (key.kind == MFU_KEY_NONE)
        return -1;
    if (names->n == (int)(sizeof names->values / sizeof names->values[0]))
        return mfu_fail(err, MFU_EINPUT, "more than %d names in one expression", names->n);
    names->values[names->n] = mfu_config_value(names->config, key);
    return names->n++;
}

static int choice_of(enum mfu_setting_id id, const char *text, double *value, struct mfu_error *err)
{
    const struct mfu_setting *row = &mfu_settings[id];
    size_t n = mfu_names_count(row->choices);
    char list[256];

    *value = mfu_setting_choice(id, text, NULL);
    if (*value >= 0)
        return 0;
    mfu_fail(err, MFU_EINPUT, "%s: '%.40s': expected %s", row->key, text,
             mfu_names_list(list, sizeof list, row->choices, n));
    return mfu_error_nearest(err, text, row->choices, n);
}

/* A set of kinds of weights, by their names. */
static int modules_of(const char *key, const char *text, double *value, struct mfu_error *err)
{
    const char *words[48], *best;
    char unknown[48];
    unsigned set;
    size_t n = 0;

    if (mfu_modules_parse(text, &set, unknown, sizeof unknown) == 0) {
        *value = set;
        return 0;
    }
    while (n < sizeof words / sizeof words[0] && (words[n] = mfu_modules_word(n)))
        n++;
    mfu_fail(err, MFU_EINPUT, "%s: '%s': expected kinds of weights: all-linear, attention, mlp, norms, ...", key,
             unknown);
    if (mfu_suggest(unknown, words, n, &best, 1))
        mfu_error_suggest(err, best);
    return -1;
}

/* A number with a unit, or else an expression over the current values. */
static int number_of(const struct mfu_scenario *s, const char *key, const char *text, enum mfu_dim dim, double *value,
                     struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    struct mfu_config config;
    struct names names = {.scenario = s, .config = &config};
    struct mfu_expression *e;
    int status = -1;

    if (mfu_quantity_parse(text, dim, value, err) == 0)
        return 0;
    mfu_scenario_resolve(s, &config, NULL); /* what can be known, is */
    e = mfu_expression_compile(&arena, text, dim, resolve_name, &names, err);
    if (e) {
        *value = mfu_expression_eval(e, names.values);
        status = 0;
        if (!isfinite(*value))
            status = mfu_fail(err, MFU_EINPUT, "'%.60s' has no finite value", text);
    } else if (strpbrk(text, "+-*/()<>") == NULL) {
        struct mfu_error plain;

        mfu_quantity_parse(text, dim, value, &plain); /* say what was expected */
        if (err && !err->suggestion[0])
            mfu_fail(err, MFU_EINPUT, "%s", plain.text);
    }
    mfu_arena_free(&arena);
    return status < 0 ? mfu_within(err, "%s", key) : 0;
}

static int check_range(const char *key, double value, double least, double most, bool whole, enum mfu_dim dim,
                       struct mfu_error *err)
{
    char lo[MFU_QUANTITY_MAX], hi[MFU_QUANTITY_MAX], is[MFU_QUANTITY_MAX];

    if (!(value >= least && value <= most))
        return mfu_fail(err, MFU_EINPUT, "%s: %s is outside %s..%s", key, mfu_quantity_format(is, value, dim),
                        mfu_quantity_format(lo, least, dim), mfu_quantity_format(hi, most, dim));
    if (whole && value != floor(value))
        return mfu_fail(err, MFU_EINPUT, "%s: %g is not a whole number", key, value);
    return 0;
}

static enum mfu_dim dim_of_dim(const char *name)
{
    return strcmp(name, "seq") == 0 ? MFU_TOKENS : MFU_COUNT;
}

int mfu_scenario_set(struct mfu_scenario *s, const char *name, const char *text, struct mfu_error *err)
{
    struct mfu_key key = mfu_key_find_set(s->model, name, text, err);
    char ours[MFU_KEY_NAME];
    double value;

    if (key.kind != MFU_KEY_NONE && !(text = mfu_key_value(name, text, ours, err)))
        return -1;
    switch (key.kind) {
    case MFU_KEY_NONE: return -1;
    case MFU_KEY_SETTING: {
        const struct mfu_setting *row = &mfu_settings[key.id];
        enum mfu_dim dim = row->dim;

        if (row->choices ? choice_of((enum mfu_setting_id)key.id, text, &value, err) < 0 : 0)
            return -1;
        if (row->modules && modules_of(row->key, text, &value, err) < 0)
            return -1;
        if (!row->choices && !row->modules) {
            if (row->unit != MFU_COUNT && mfu_quantity_parse(text, row->unit, &value, NULL) == 0)
                dim = row->unit; /* 320W */
            else if (number_of(s, row->key, text, dim, &value, err) < 0)
                return -1;
        }
        if (check_range(row->key, value, row->least, row->most, mfu_scenario_range(s, key).whole, dim, err) < 0)
            return -1;
        if (value > 0 && value < row->least_but_0)
            return mfu_fail(err, MFU_EINPUT, "%s: %g is less than %g; 0 leaves it to the GPU", row->key, value,
                            row->least_but_0);
        s->setting[key.id] = value;
        s->setting_given[key.id] = true;
        return 0;
    }
    case MFU_KEY_DIM: {
        const char *dim = s->model->dims[key.id].name;
        struct mfu_range range = mfu_scenario_range(s, key);

        if (mfu_same_name(text, "on") || mfu_same_name(text, "true"))
            text = "1";
        if (mfu_same_name(text, "off") || mfu_same_name(text, "false"))
            text = "0";
        if (number_of(s, dim, text, dim_of_dim(dim), &value, err) < 0)
            return -1;
        if (check_range(dim, value, range.least, range.most, range.whole, MFU_COUNT, err) < 0)
            return -1;
        s->dim[key.id] = value;
        s->dim_given[key.id] = true;
        return 0;
    }
    case MFU_KEY_COEFFICIENT: {
        const struct mfu_coefficient_row *row = &mfu_coefficient_rows[key.id];

        if (number_of(s, row->name, text, row->dim, &value, err) < 0)
            return -1;
        if (check_range(row->name, value, row->least, row->most, false, row->dim, err) < 0)
            return -1;
        s->coefficient[key.id] = mfu_coefficient_value(row, value);
        s->coefficient_given[key.id] = true;
        return 0;
    }
    }
    return -1;
}

const char *mfu_scenario_unpredicted(const struct mfu_scenario *s)
{
    return s->model && s->model->n_not_modelled ? s->model->not_modelled[0] : s->not_modelled;
}

int mfu_scenario_unset(struct mfu_scenario *s, const char *name, struct mfu_error *err)
{
    struct mfu_key key = mfu_scenario_key(s, name, err);

    switch (key.kind) {
    case MFU_KEY_NONE: return -1;
    case MFU_KEY_SETTING:
        s->setting[key.id] = mfu_settings[key.id].initial;
        s->setting_given[key.id] = false;
        break;
    case MFU_KEY_DIM: s->dim_given[key.id] = false; break;
    case MFU_KEY_COEFFICIENT: s->coefficient_given[key.id] = false; break;
    }
    return 0;
}

void mfu_scenario_keep_loader(struct mfu_scenario *s, double batch)
{
    double *loader_ms = &s->setting[MFU_S_DATALOADER_MS];

    *loader_ms = fmin(*loader_ms * s->setting[MFU_S_BATCH] / batch, mfu_settings[MFU_S_DATALOADER_MS].most);
}

double mfu_config_coefficient(const struct mfu_config *c, enum mfu_coefficient id)
{
    if (c->scenario && c->scenario->coefficient_given[id])
        return c->scenario->coefficient[id];
    return c->gpu ? c->gpu->coefficients.value[id] : NAN;
}

double mfu_config_dim(const struct mfu_config *c, const char *name)
{
    int i = c->model ? mfu_model_dim_find(c->model, name, NULL) : -1;

    return i < 0 ? NAN : c->dim[i];
}

/* ---- resolving ---------------------------------------------------------- */

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
    mfu_fail(err, MFU_EINPUT, "%s: %.0f is not divisible by %s (%.0f); %.0f and %.0f are", what, n, by, of,
             low >= of ? low : low + of, low >= of ? low + of : low + 2 * of);
    return mfu_error_suggest(err, hint);
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
    mfu_fail(err, MFU_EINPUT, "%s: %.0f does not divide %s (%.0f); %.0f and %.0f do", what, n, of, whole, low, high);
    return mfu_error_suggest(err, hint);
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
        && !(row->packs_by_te && mfu_trainers[c->trainer].transformer_engine);
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

        if (!isfinite(value))
            return mfu_fail(err, MFU_EINPUT, "%s: '%s' has no finite value", m->dims[i].name, m->dims[i].text);
        if (!known)
            continue;
        if (known->whole && value != floor(value))
            return mfu_fail(err, MFU_EINPUT, "%s: '%s' gives %g, not a whole number", m->dims[i].name, m->dims[i].text,
                            value);
        if (value < known->least || value > known->most)
            return mfu_fail(err, MFU_EINPUT, "%s: %g is outside %g..%g", m->dims[i].name, value, known->least,
                            known->most);
    }
    return 0;
}

static bool has_peak(const struct mfu_gpu *g, enum mfu_peak p)
{
    return g->peak_flops[p] > 0; /* false for unknown, too */
}

static enum mfu_precision default_precision(const struct mfu_gpu *g)
{
    enum mfu_precision best = MFU_FP32;

    for (int i = 0; i < MFU_PRECISION_COUNT; i++)
        if (mfu_precisions[i].preference > mfu_precisions[best].preference
            && (!g || has_peak(g, mfu_precisions[i].linear_math)))
            best = (enum mfu_precision)i;
    return best;
}

/* What is not known of a card (NAN), it does not have. */
static bool reads_scales(const struct mfu_gpu *g, const struct mfu_precision_row *row)
{
    return row->least_capability == 0 || g->compute_capability >= row->least_capability
        || (row->isa && strcmp(g->isa, row->isa) == 0);
}

static int check_precision(const struct mfu_gpu *g, enum mfu_precision p, struct mfu_error *err)
{
    bool units =
        has_peak(g, mfu_precisions[p].linear_math) && has_peak(g, mfu_precisions[p].math); /* linears, attention */

    if (units && !reads_scales(g, &mfu_precisions[p])) {
        mfu_fail(err, MFU_EINPUT,
                 "precision: the tensor cores of %s read no scales of %s: that needs compute capability %.1f or %s, it "
                 "has %s",
                 g->name, mfu_precisions[p].name, mfu_precisions[p].least_capability, mfu_precisions[p].isa,
                 mfu_gpu_generation((char[32]){0}, g));
        return mfu_error_suggest(err, mfu_precisions[p].instead);
    }
    if (units)
        return 0;
    mfu_fail(err, MFU_EINPUT, "precision: %s has no %s tensor cores (%s, %s)", g->name, mfu_precisions[p].name,
             g->architecture, mfu_gpu_generation((char[32]){0}, g));
    return mfu_error_suggest(err, mfu_precisions[p].instead);
}

static struct mfu_attention_needs attention_needs(const struct mfu_config *c)
{
    return (struct mfu_attention_needs){
        .half = mfu_precisions[c->precision].half,
        .head_dim = mfu_config_dim(c, "head_dim"),
        .capability = c->gpu ? c->gpu->compute_capability : 8.0,
        .software = c->gpu ? mfu_maker(c->gpu->vendor)->software : MFU_CUDA,
        .softcap = mfu_config_dim(c, "attn_softcap") > 0,
        .parts_only = mfu_config_dim(c, "math_attention") > 0,
        .grouped = mfu_config_dim(c, "n_kv_head") < mfu_config_dim(c, "n_head"),
        .te = mfu_trainers[c->trainer].transformer_engine && c->setting_origin[MFU_S_TRAINER] == MFU_ORIGIN_USER,
        .c_program = mfu_runtimes[c->runtime].c_program,
    };
}

static int check_attention(struct mfu_config *c, struct mfu_error *err)
{
    struct mfu_attention_needs needs = attention_needs(c);
    const char *why = mfu_attention_refusal(c->attention, &needs);

    if (!why)
        return 0;
    mfu_fail(err, MFU_EINPUT, "attention: %s is not possible here: %s", mfu_attention_names[c->attention], why);
    return mfu_error_suggest(err, mfu_attention_names[mfu_attention_default(&needs)]);
}

static void derive(struct mfu_config *c, enum mfu_setting_id id, double value)
{
    if (c->setting_origin[id] != MFU_ORIGIN_USER) {
        c->setting[id] = value;
        c->setting_origin[id] = MFU_ORIGIN_DERIVED;
    }
}

/* What a runtime cannot do whatever it costs: planned all the same, it would be
 * advice that cannot be followed.  Source: PyTorch's Inductor (Triton's least
 * compute capability), llm.c's train_gpt2.cu. */
static int check_runtime(const struct mfu_config *c, struct mfu_error *err)
{
    static const struct {
        enum mfu_setting_id id;
        double most;
        const char *why, *instead;
    } llmc[] = {
        {MFU_S_CUDA_GRAPHS, 0, "llm.c launches its kernels one by one", "off"},
        {MFU_S_LOSS_CHUNKS, 1, "llm.c computes the loss in one piece, in place", "1"},
        {MFU_S_EXPANDABLE_SEGMENTS, 0, "llm.c has no caching allocator", "off"},
        {MFU_S_ZERO, 1, "llm.c shards the optimizer only", "1"},
        {MFU_S_HALF_WEIGHTS, 0, "llm.c's weights have 16 bits anyway", "off"},
        {MFU_S_DP_SHARD, 0, "llm.c has one copy of its optimizer", "0"},
        {MFU_S_PACKING, 0, "llm.c's attention knows no documents", "off"},
        {MFU_S_OBJECTIVE, MFU_NEXT_TOKEN, "llm.c learns the next token", "next-token"},
    };
    const struct mfu_runtime *r = &mfu_runtimes[c->runtime];
    const struct mfu_maker *maker = mfu_maker(c->gpu->vendor);

    if (r->lacks & MFU_ON(maker->software)) {
        mfu_fail(err, MFU_EINPUT, "runtime: %s does not run on cards of %s", r->name, maker->vendor);
        return mfu_error_suggest(err, "eager");
    }
    if (mfu_optimizers[c->optimizer].lacks & MFU_ON(maker->software)) {
        mfu_fail(err, MFU_EINPUT, "optimizer: %s does not run on cards of %s", mfu_optimizers[c->optimizer].name,
                 maker->vendor);
        return mfu_error_suggest(err, "adamw");
    }
    if (c->gpu->compute_capability < r->least_capability) {
        mfu_fail(err, MFU_EINPUT, "runtime: %s is not possible on %s: %s, it has %.1f", r->name, c->gpu->name,
                 r->lacking, c->gpu->compute_capability);
        return mfu_error_suggest(err, "eager");
    }
    if (r->recompute_ops && mfu_checkpoints[c->checkpoint].by_budget) {
        mfu_fail(err, MFU_EINPUT, "checkpoint: not possible with runtime %s: it recomputes single operations", r->name);
        return mfu_error_suggest(err, mfu_checkpoint_names[MFU_SELECTIVE]);
    }
    if (!r->c_program)
        return 0;
    for (size_t i = 0; i < sizeof llmc / sizeof llmc[0]; i++)
        if (c->setting[llmc[i].id] > llmc[i].most) {
            mfu_fail(err, MFU_EINPUT, "%s: not possible with runtime %s: %s", mfu_settings[llmc[i].id].key, r->name,
                     llmc[i].why);
            return mfu_error_suggest(err, llmc[i].instead);
        }
    if (mfu_optimizers[c->optimizer].in_c_programs)
        return 0;
    mfu_fail(err, MFU_EINPUT, "optimizer: not possible with runtime %s: llm.c has AdamW only", r->name);
    return mfu_error_suggest(err, "adamw");
}

/* 16-bit weights with fp32 masters are a way to compute in fp16 or bf16. */
static int check_half_weights(const struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_precision_row *row = &mfu_precisions[c->precision];

    if (c->setting[MFU_S_HALF_WEIGHTS] == 0 || !row->no_half_weights)
        return 0;
    mfu_fail(err, MFU_EINPUT, "half_weights: not possible with precision %s: %s", row->name, row->no_half_weights);
    return mfu_error_suggest(err, "off");
}

/* ZeRO is modelled as DeepSpeed, Megatron and FSDP's mixed precision have it:
 * what is sharded are fp32 masters, and 16-bit weights and gradients compute. */
static bool sharding_halves(const struct mfu_config *c)
{
    return c->setting[MFU_S_ZERO] > 0 && (c->setting[MFU_S_LORA] == 0 || mfu_trainers[c->trainer].half_shards)
        && !mfu_precisions[c->precision].no_half_weights && !mfu_runtimes[c->runtime].c_program;
}

/* Adapters leave the model's weights frozen, in 16 bits where products have them, and
 * have the type that their code gives them. */
static void derive_training(struct mfu_config *c)
{
    const struct mfu_adapter_row *code;
    const struct mfu_method_row *method;

    if (c->setting[MFU_S_OPTIMIZER_IN_BACKWARD] > 0)
        derive(c, MFU_S_GRAD_CLIP, 0);
    if (c->setting[MFU_S_ADAPTER] > 0)
        derive(c, MFU_S_LORA, mfu_methods[(int)c->setting[MFU_S_ADAPTER]].size);
    if (c->setting[MFU_S_LORA] == 0)
        return;
    if (c->setting[MFU_S_ADAPTER] == 0)
        derive(c, MFU_S_ADAPTER, MFU_METHOD_LORA);
    method = &mfu_methods[(int)c->setting[MFU_S_ADAPTER]];
    derive(c, MFU_S_REFERENCE, MFU_REFERENCE_BASE);
    derive(c, MFU_S_TRAINABLE, 0);
    if (method->trains_norms)
        c->setting[MFU_S_TRAINABLE] = (double)((unsigned)c->setting[MFU_S_TRAINABLE] | MFU_MODULE_BIT(NORMS));
    if (mfu_runtimes[c->runtime].whole_norms) /* hand-fused kernels */
        derive(c, MFU_S_LORA_KERNELS, MFU_ADAPTER_FUSED);
    code = &mfu_adapters[(int)c->setting[MFU_S_LORA_KERNELS]];
    derive(c, MFU_S_LORA_DTYPE, (code->half_adapters || sharding_halves(c)) && mfu_precisions[c->precision].half);
    if (mfu_precisions[c->precision].half)
        derive(c, MFU_S_BASE, MFU_BASE_16BIT);
    derive(c, MFU_S_FP32_REST, code->casts && mfu_bases[(int)c->setting[MFU_S_BASE]].kbit);
}

const struct mfu_reference_row *mfu_config_reference(const struct mfu_config *c)
{
    const struct mfu_reference_row *row = &mfu_references[(int)c->setting[MFU_S_REFERENCE]];

    return mfu_objectives[(int)c->setting[MFU_S_OBJECTIVE]].refers && row->pass ? row : NULL;
}

/* Documents of the sequences; what one fills by itself has no padding. */
static void derive_documents(struct mfu_config *c)
{
    struct mfu_documents *d = &c->documents;

    *d = (struct mfu_documents){c->setting[MFU_S_DOC_LEN], c->setting[MFU_S_DOC_SIGMA], 1};
    if (d->mean > 0 && c->seq >= 1)
        d->fill = mfu_documents_fill(d, c->seq, c->setting[MFU_S_PACKING] > 0);
}

bool mfu_config_pads_to_longest(const struct mfu_config *c)
{
    return c->setting[MFU_S_PADDING] > 0 && c->setting[MFU_S_PACKING] == 0 && c->documents.mean > 0;
}

double mfu_config_document_tokens(const struct mfu_config *c)
{
    return c->documents.mean > 0 ? mfu_documents_mean(&c->documents, c->seq, NULL, NULL) / c->documents.fill : c->seq;
}

/* The loader's time for a micro-batch, from that of a sample: its workers share the CPU's part, the GPUs of a machine
 * its storage. */
static void derive_loader(struct mfu_config *c)
{
    double samples = c->tokens * c->setting[MFU_S_CP] / mfu_config_document_tokens(c);
    double cpu_s = c->setting[MFU_S_SAMPLE_MS] * 1e-3 / c->setting[MFU_S_LOADER_WORKERS],
           rate = c->setting[MFU_S_STORAGE_RATE];
    double read_s = rate > 0 ? c->setting[MFU_S_SAMPLE_BYTES] * c->ranks / c->setting[MFU_S_NODES] / rate : 0;

    if (fmax(cpu_s, read_s) > 0)
        derive(c, MFU_S_DATALOADER_MS, 1e3 * samples * fmax(cpu_s, read_s));
}

bool mfu_offloads(const struct mfu_config *c)
{
    return c->setting[MFU_S_OFFLOAD_OPTIMIZER] > 0 || c->setting[MFU_S_OFFLOAD_PARAMS] > 0
        || c->setting[MFU_S_OFFLOAD_ACTIVATIONS] > 0;
}

/* Weights that are offloaded are sharded as FSDP and ZeRO 3 do, and updated where they are. */
static void derive_offload(struct mfu_config *c)
{
    if (c->setting[MFU_S_OFFLOAD_PARAMS] > 0) {
        derive(c, MFU_S_OFFLOAD_OPTIMIZER, 1);
        derive(c, MFU_S_ZERO, 3);
    } else if (c->setting[MFU_S_OFFLOAD_OPTIMIZER] > 0 && c->setting[MFU_S_GPUS] > 1) {
        derive(c, MFU_S_ZERO, 2);
    }
}

static int check_offload(const struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_optimizer_row *o = &mfu_optimizers[c->optimizer];
    bool weights = c->setting[MFU_S_OFFLOAD_PARAMS] > 0, optimizer = c->setting[MFU_S_OFFLOAD_OPTIMIZER] > 0;

    if (o->paged_bytes > 0 && c->setting[MFU_S_PP] > 1)
        return mfu_fail(err, MFU_EINPUT, "optimizer: the pages of %s in a pipeline are not modelled", o->name);
    if (!mfu_offloads(c))
        return 0;
    if (mfu_runtimes[c->runtime].c_program)
        return mfu_fail(err, MFU_EINPUT, "offload_%s: not possible with runtime %s: it keeps all on the GPU",
                        weights         ? "params"
                            : optimizer ? "optimizer"
                                        : "activations",
                        mfu_runtimes[c->runtime].name);
    if (o->gpu_only && optimizer) {
        mfu_fail(err, MFU_EINPUT, "offload_optimizer: %s runs on GPUs only", o->name);
        return mfu_error_suggest(err, mfu_optimizers[MFU_ADAMW].name);
    }
    if (weights && c->setting[MFU_S_ZERO] < 3)
        return mfu_fail(err, MFU_EINPUT, "offload_params: weights come block by block with zero 3 (FSDP) only");
    if (optimizer && c->setting[MFU_S_DP] * c->setting[MFU_S_CP] > 1 && c->setting[MFU_S_ZERO] < 1)
        return mfu_fail(err, MFU_EINPUT,
                        "offload_optimizer: every rank's CPU would update all weights: shard them (set zero 2)");
    if ((weights || c->setting[MFU_S_OFFLOAD_ACTIVATIONS] > 0) && c->setting[MFU_S_PP] > 1)
        return mfu_fail(err, MFU_EINPUT, "offload_%s: in a pipeline this is not modelled",
                        weights ? "params" : "activations");
    return 0;
}

/* What needs all gradients at once, or gradients that stay, has none. */
static int check_optimizer(const struct mfu_config *c, struct mfu_error *err)
{
    const char *key = mfu_settings[MFU_S_OPTIMIZER_IN_BACKWARD].key;
    const struct mfu_runtime *r = &mfu_runtimes[c->runtime];

    if (c->setting[MFU_S_OPTIMIZER_IN_BACKWARD] == 0)
        return 0;
    if (r->gemm_accumulates) {
        mfu_fail(err, MFU_EINPUT, "%s: not possible with runtime %s: its products add to gradients that stay", key,
                 r->name);
        return mfu_error_suggest(err, mfu_runtime_names[MFU_EAGER]);
    }
    if (c->accum > 1)
        return mfu_fail(err, MFU_EINPUT, "%s: gradients of %.0f microbatches cannot be summed: set accum 1", key,
                        c->accum);
    if (c->setting[MFU_S_GRAD_CLIP] > 0)
        return mfu_fail(err, MFU_EINPUT, "%s: clipping needs all gradients: set grad_clip 0", key);
    if (mfu_precisions[c->precision].scaler)
        return mfu_fail(err, MFU_EINPUT, "%s: loss scaling looks at all gradients first: set precision bf16", key);
    if (c->setting[MFU_S_CUDA_GRAPHS] > 0)
        return mfu_fail(err, MFU_EINPUT,
                        "%s: its hooks are Python, which CUDA graphs do not replay: set cuda_graphs off", key);
    if (mfu_trainers[c->trainer].adds_up_wide)
        return mfu_fail(err, MFU_EINPUT, "%s: not possible with trainer %s: it sums gradients in buffers that stay",
                        key, mfu_trainer_names[c->trainer]);
    if (mfu_optimizers[c->optimizer].newton_schulz_steps > 0 || c->setting[MFU_S_OFFLOAD_OPTIMIZER] > 0
        || c->setting[MFU_S_HALF_WEIGHTS] > 0 || c->setting[MFU_S_GPUS] > 1)
        return mfu_fail(err, MFU_EINPUT, "%s: with %s it is not modelled", key,
                        c->setting[MFU_S_GPUS] > 1                    ? "several GPUs"
                            : c->setting[MFU_S_HALF_WEIGHTS] > 0      ? "half_weights"
                            : c->setting[MFU_S_OFFLOAD_OPTIMIZER] > 0 ? "offload_optimizer"
                                                                      : mfu_optimizers[c->optimizer].name);
    return 0;
}

/* Answers are texts, a scalar needs its head; and what no pass of a reference model is traced through. */
static int check_objective(const struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_objective_row *objective = &mfu_objectives[(int)c->setting[MFU_S_OBJECTIVE]];
    const struct mfu_reference_row *row = mfu_config_reference(c);

    if ((objective->log_probabilities && !mfu_model_writes(c->model))
        || (objective->scalar && mfu_model_samples(c->model))) {
        mfu_fail(err, MFU_EINPUT, "objective: %s compares texts, which %s does not write", objective->name,
                 c->model->name);
        return mfu_error_suggest(err, mfu_objective_names[MFU_NEXT_TOKEN]);
    }
    if (objective->scalar && (mfu_model_dim_find(c->model, "n_labels", NULL) < 0 || mfu_config_dim(c, "n_labels") != 1))
        return mfu_fail(err, MFU_EINPUT, "objective: %s needs a head of one output (n_labels 1), which %s has not",
                        objective->name, c->model->name);
    if (objective->log_probabilities
        && (mfu_trainers[c->trainer].whole_norms || mfu_runtimes[c->runtime].whole_norms)) { /* and whole losses */
        bool trainer = mfu_trainers[c->trainer].whole_norms;

        return mfu_fail(err, MFU_EINPUT, "objective: %s with %s %s, whose loss is a cross-entropy, is not modelled",
                        objective->name, trainer ? "trainer" : "runtime",
                        trainer ? mfu_trainers[c->trainer].name : mfu_runtimes[c->runtime].name);
    }
    if (objective->log_probabilities && c->setting[MFU_S_LOSS_FUSION] != MFU_LOSS_UNFUSED) {
        mfu_fail(err, MFU_EINPUT,
                 "cross_entropy_fusion: %s is a cross-entropy, objective %s compares log-probabilities "
                 "(set cross_entropy_fusion off)",
                 mfu_loss_fusion_names[(int)c->setting[MFU_S_LOSS_FUSION]], objective->name);
        return mfu_error_suggest(err, mfu_loss_fusion_names[MFU_LOSS_UNFUSED]);
    }
    if (!row)
        return 0;
    if (!row->weights && c->setting[MFU_S_LORA] == 0) {
        mfu_fail(err, MFU_EINPUT,
                 "reference: %s: the model's weights train: without adapters (set lora 16) none are left", row->name);
        return mfu_error_suggest(err, mfu_reference_names[MFU_REFERENCE_MODEL]);
    }
    if (!objective->apart
        && (c->setting[MFU_S_PP] > 1 || c->setting[MFU_S_OFFLOAD_PARAMS] > 0
            || c->setting[MFU_S_OFFLOAD_ACTIVATIONS] > 0))
        return mfu_fail(err, MFU_EINPUT,
                        "reference: the pass of a reference model is not modelled with %s; reference cached is",
                        c->setting[MFU_S_PP] > 1 ? "pp" : "this offload");
    return 0;
}

/* A runtime with such kernels of its own runs none of a package's; a compiler does not look into a gate of one. */
static int check_package(const struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_package *package = &mfu_packages[(int)c->setting[MFU_S_PACKAGE]];
    const struct mfu_runtime *runtime = &mfu_runtimes[c->runtime];

    if (package->whole_norms && runtime->whole_norms)
        return mfu_fail(err, MFU_EINPUT, "kernel_package: %s: runtime %s has kernels of its own", package->name,
                        runtime->name);
    if (package->whole_gates && runtime->fuse)
        return mfu_fail(err, MFU_EINPUT, "kernel_package: %s with runtime %s is not modelled", package->name,
                        runtime->name);
    return 0;
}

/* What the graph of adapters and frozen weights does not hold. */
static int check_training(const struct mfu_config *c, struct mfu_error *err)
{
    static const enum mfu_setting_id whole[] = {MFU_S_TP, MFU_S_PP, MFU_S_CP, MFU_S_EP};
    static const struct {
        enum mfu_setting_id setting;
        unsigned of;
    } of_methods[] = {{MFU_S_LORA_TARGETS, MFU_TAKES_TARGETS},
                      {MFU_S_LORA_DROPOUT, MFU_TAKES_DROPOUT},
                      {MFU_S_DORA, MFU_TAKES_DORA},
                      {MFU_S_LOKR_FACTOR, MFU_TAKES_FACTOR},
                      {MFU_S_PROMPT_ENCODER, MFU_TAKES_ENCODER},
                      {MFU_S_IA3_INPUTS, MFU_TAKES_INPUTS},
                      {MFU_S_TRAINABLE_LAYERS, MFU_TAKES_LAYERS}};
    const struct mfu_base_row *base = &mfu_bases[(int)c->setting[MFU_S_BASE]];
    const struct mfu_method_row *method = &mfu_methods[(int)c->setting[MFU_S_ADAPTER]];
    bool adapters = c->setting[MFU_S_LORA] > 0;
    bool part = adapters || c->setting[MFU_S_TRAINABLE] != MFU_MODULES_ALL || c->setting[MFU_S_TRAINABLE_LAYERS] > 0;

    if (c->setting[MFU_S_DORA] > 0 && !adapters)
        return mfu_fail(err, MFU_EINPUT, "dora: not possible without adapters (set lora 16)");
    for (size_t i = 0; i < sizeof of_methods / sizeof of_methods[0] && adapters; i++)
        if (c->setting_origin[of_methods[i].setting] == MFU_ORIGIN_USER && !(method->takes & of_methods[i].of)
            && c->setting[of_methods[i].setting] != mfu_settings[of_methods[i].setting].initial)
            return mfu_fail(err, MFU_EINPUT, "%s: adapter %s has no such setting (unset %s)",
                            mfu_settings[of_methods[i].setting].key, method->name,
                            mfu_settings[of_methods[i].setting].key);
    if (adapters && method->takes & MFU_TAKES_INPUTS && c->setting_origin[MFU_S_IA3_INPUTS] == MFU_ORIGIN_USER
        && (unsigned)c->setting[MFU_S_IA3_INPUTS] & ~(unsigned)c->setting[MFU_S_LORA_TARGETS])
        return mfu_fail(err, MFU_EINPUT, "ia3_inputs: peft refuses inputs that lora_targets does not name");
    if (c->setting[MFU_S_ADAPTER] > 0 && !adapters)
        return mfu_fail(err, MFU_EINPUT, "lora: 0, with adapter %s: all weights would train (unset adapter)",
                        method->name);
    if (adapters && !(c->setting[MFU_S_ADAPTER] > 0))
        return mfu_fail(err, MFU_EINPUT, "adapter: none, with lora %g: what trains?", c->setting[MFU_S_LORA]);
    if (adapters && c->setting[MFU_S_ADAPTER] != MFU_METHOD_LORA) {
        if (c->setting[MFU_S_LORA_KERNELS] != MFU_ADAPTER_PEFT)
            return mfu_fail(err, MFU_EINPUT, "lora_kernels: only peft's code of %s is modelled", method->name);
        if (method->unsized && c->setting[MFU_S_LORA] != method->size)
            return mfu_fail(err, MFU_EINPUT, "lora: %s has no rank (unset lora)", method->name);
        if (base->quantised)
            return mfu_fail(err, MFU_EINPUT, "base_precision: %s beside quantised weights is not modelled",
                            method->name);
        if (mfu_method_precedes(method) && c->setting[MFU_S_PACKING] > 0 && c->documents.mean > 0)
            return mfu_fail(err, MFU_EINPUT, "packing: learned tokens before several documents are not modelled");
        if (method->place == MFU_ADAPTS_KEYS && mfu_checkpoints[c->checkpoint].recomputes)
            return mfu_fail(err, MFU_EINPUT, "checkpoint: peft refuses it with %s (set checkpoint none)", method->name);
    }
    if (base->quantised && !adapters)
        return mfu_fail(err, MFU_EINPUT, "base_precision: %s weights cannot train: they need adapters (set lora 16)",
                        base->name);
    if (base->half && !mfu_precisions[c->precision].half)
        return mfu_fail(err, MFU_EINPUT, "base_precision: %s weights with precision %s are not modelled", base->name,
                        mfu_precisions[c->precision].name);
    if (!part)
        return 0;
    if (c->setting[MFU_S_TRAINABLE] == 0 && !adapters)
        return mfu_fail(err, MFU_EINPUT, "trainable: nothing trains (set lora 16, or name weights that train)");
    if (mfu_runtimes[c->runtime].c_program)
        return mfu_fail(err, MFU_EINPUT, "%s: not possible with runtime %s: all its weights train",
                        adapters ? "lora" : "trainable", mfu_runtimes[c->runtime].name);
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (c->setting[whole[i]] > 1)
            return mfu_fail(err, MFU_EINPUT, "%s: frozen weights and adapters split by %s are not modelled",
                            mfu_settings[whole[i]].key, mfu_settings[whole[i]].key);
    if (c->setting[MFU_S_HALF_WEIGHTS] > 0 && !mfu_trainers[c->trainer].half_shards)
        return mfu_fail(err, MFU_EINPUT,
                        "half_weights: only DeepSpeed's masters of adapters and of what trains beside "
                        "frozen weights are modelled (trainer deepspeed)");
    if (mfu_precisions[c->precision].linear_math != mfu_precisions[c->precision].math)
        return mfu_fail(err, MFU_EINPUT, "precision: frozen weights and adapters in %s are not modelled",
                        mfu_precisions[c->precision].name);
    return 0;
}

bool mfu_config_fused_softmax(const struct mfu_config *c)
{
    double heads;

    if (mfu_attentions[c->attention].fused || isnan(heads = mfu_config_dim(c, "n_head") / c->setting[MFU_S_TP]))
        return true;
    return mfu_precisions[c->precision].half && c->seq <= 4096 && fmod(c->seq, 4) == 0
        && fmod(heads * c->batch, 4) == 0;
}

double mfu_config_unit_gpus(const struct mfu_config *c)
{
    struct mfu_cluster k;

    mfu_cluster_with(c->cluster, c->gpu, &k);
    if (c->setting_origin[MFU_S_NODES] != MFU_ORIGIN_USER)
        return k.domain_gpus;
    return fmin(k.domain_gpus, c->ranks / c->setting[MFU_S_NODES] * (k.domain_gpus / k.node_gpus));
}

/* The fewest nodes over which GPUs spread evenly. */
static double even_nodes(double gpus, double node_gpus)
{
    double nodes = ceil(gpus / node_gpus);

    while (fmod(gpus, nodes) != 0)
        nodes++;
    return nodes;
}

/* Several machines need a network that the cluster's file describes. */
static int check_node(const struct mfu_config *c, struct mfu_error *err)
{
    struct mfu_cluster k;

    if (c->setting[MFU_S_GPUS] <= 1)
        return 0;
    mfu_cluster_with(c->cluster, c->gpu, &k);
    if (c->setting_origin[MFU_S_NODES] == MFU_ORIGIN_USER
        && (fmod(c->ranks, c->setting[MFU_S_NODES]) != 0 || c->ranks > c->setting[MFU_S_NODES] * k.node_gpus))
        return mfu_fail(err, MFU_EINPUT, "nodes: %.0f GPUs do not spread evenly over %.0f nodes of %.0f; %.0f would do",
                        c->ranks, c->setting[MFU_S_NODES], k.node_gpus, even_nodes(c->ranks, k.node_gpus));
    if (mfu_config_unit_gpus(c) < c->ranks && !k.networked)
        return mfu_fail(err, MFU_EINPUT,
                        "gpus: %.0f do not fit one node, which holds %.0f; choose the cluster that joins several "
                        "(cluster NAME)",
                        c->setting[MFU_S_GPUS], k.domain_gpus);
    return 0;
}

/* The numbers up to `most` that divide `what`, as text: "1, 2, 4, 8". */
static const char *divisors(double what, double least, double most, char *buf, size_t size)
{
    size_t n = 0;

    buf[0] = '\0';
    for (double d = least; d <= most && n + 16 < size; d++)
        if (fmod(what, d) == 0)
            n += (size_t)snprintf(buf + n, size - n, "%s%.0f", n ? ", " : "", d);
    return buf;
}

/* What is split over a group has to come in equal parts. */
static int check_divides(const struct mfu_config *c, const char *dim, enum mfu_setting_id by, struct mfu_error *err)
{
    double n = mfu_config_dim(c, dim), ranks = c->setting[by];
    char which[160];

    if (!(n >= 1) || fmod(n, ranks) == 0)
        return 0;
    return mfu_fail(err, MFU_EINPUT, "%s: %s %.0f does not divide by %s %.0f; %s do", mfu_settings[by].key, dim, n,
                    mfu_settings[by].key, ranks, divisors(n, 1, fmin(n, 64), which, sizeof which));
}

static int check_tensor_parallel(const struct mfu_config *c, struct mfu_error *err)
{
    static const char *const dims[] = {"n_head", "n_kv_head", "d_ff"};

    if (c->setting[MFU_S_TP] > 1 && mfu_runtimes[c->runtime].c_program)
        return mfu_fail(err, MFU_EINPUT, "tp: not possible with runtime %s: it splits no layers",
                        mfu_runtimes[c->runtime].name);
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        if (check_divides(c, dims[i], MFU_S_TP, err) < 0)
            return -1;
    if (c->setting[MFU_S_SP] > 0 && fmod(c->tokens, c->setting[MFU_S_TP]) != 0)
        return mfu_fail(err, MFU_EINPUT, "sp: %.0f tokens do not divide by tp %.0f", c->tokens, c->setting[MFU_S_TP]);
    return 0;
}

/* A rank with a part of each sequence has no sample to compare. */
static int check_context_parallel(const struct mfu_config *c, struct mfu_error *err)
{
    for (int i = 0; c->setting[MFU_S_CP] > 1 && c->model && i < c->model->n_ops; i++)
        if (c->model->ops[i].primitive->traits & MFU_COMPARES)
            return mfu_fail(
                err, MFU_EINPUT,
                "cp: not possible with %s: its loss compares whole samples with each other; dp %.0f splits them",
                c->model->name, c->setting[MFU_S_CP] * c->setting[MFU_S_DP]);
    return check_divides(c, "seq", MFU_S_CP, err);
}

static int check_pipeline(const struct mfu_config *c, struct mfu_error *err)
{
    double pp = c->setting[MFU_S_PP], vpp = c->setting[MFU_S_VPP], layers = mfu_config_dim(c, "n_layer");
    double first = c->setting[MFU_S_FIRST_STAGE_LESS], last = c->setting[MFU_S_LAST_STAGE_LESS];

    if (pp > 1 && mfu_runtimes[c->runtime].c_program)
        return mfu_fail(err, MFU_EINPUT, "pp: not possible with runtime %s: it has no pipeline",
                        mfu_runtimes[c->runtime].name);
    if (vpp > 1 && pp <= 1)
        return mfu_fail(err, MFU_EINPUT, "vpp: %.0f: virtual stages need a pipeline (pp 2 or more)", vpp);
    if (pp <= 1)
        return 0;
    if (pp * vpp > layers + first + last)
        return mfu_fail(err, MFU_EINPUT, "pp: %.0f layers do not fill %.0f stages; pp %.0f vpp 1 would do", layers,
                        pp * vpp, fmin(pp, layers + first + last));
    if (floor((layers + first + last) / (pp * vpp)) < fmax(first, last))
        return mfu_fail(err, MFU_EINPUT, "%s_stage_less: the %.0f layers of a stage are fewer than %.0f",
                        first > last ? "first" : "last", floor((layers + first + last) / (pp * vpp)),
                        fmax(first, last));
    return mfu_pipeline_check(&c->pipeline, err);
}

/* Schedule and chunks follow from each other.  Where the layers do not divide, but
 * do with embedding and head as a layer each, these count so. */
static void derive_pipeline(struct mfu_config *c)
{
    double pp = c->setting[MFU_S_PP], layers = mfu_config_dim(c, "n_layer");
    const struct mfu_schedule *schedule;

    if (pp > 1) {
        if (c->setting_origin[MFU_S_SCHEDULE] == MFU_ORIGIN_USER)
            derive(c, MFU_S_VPP, mfu_schedules[(int)c->setting[MFU_S_SCHEDULE]]->least_vpp);
        derive(c, MFU_S_SCHEDULE, mfu_schedule_usual((int)c->setting[MFU_S_VPP]));
        if ((mfu_trainers[c->trainer].counts_ends || fmod(layers, pp * c->setting[MFU_S_VPP]) != 0)
            && fmod(layers + 2, pp * c->setting[MFU_S_VPP]) == 0) {
            derive(c, MFU_S_FIRST_STAGE_LESS, 1);
            derive(c, MFU_S_LAST_STAGE_LESS, 1);
        }
    }
    schedule = mfu_schedules[(int)c->setting[MFU_S_SCHEDULE]];
    c->pipeline = (struct mfu_pipeline_layout){.schedule = schedule,
                                               .pp = (int)pp,
                                               .vpp = (int)c->setting[MFU_S_VPP],
                                               .microbatches = (int)c->setting[MFU_S_ACCUM]};
}

static int check_experts(const struct mfu_config *c, struct mfu_error *err)
{
    double ep = c->setting[MFU_S_EP], dp = c->setting[MFU_S_DP], experts = mfu_config_dim(c, "n_experts");
    double both = floor(fmin(dp, experts));
    char which[160];

    if (ep <= 1)
        return 0;
    if (!(experts > 1))
        return mfu_fail(err, MFU_EINPUT, "ep: %.0f: the model has no experts", ep);
    if (fmod(dp, ep) != 0) {
        while (both > 1 && (fmod(dp, both) != 0 || fmod(experts, both) != 0))
            both--;
        return mfu_fail(err, MFU_EINPUT, "ep: %.0f does not divide dp %.0f, whose ranks share the experts; %s do%s", ep,
                        dp, divisors(both, 1, fmin(both, 64), which, sizeof which), both > 1 ? "" : "es");
    }
    return check_divides(c, "n_experts", MFU_S_EP, err);
}

double mfu_config_dp_shard(const struct mfu_config *c)
{
    return c->setting[MFU_S_DP_SHARD] > 0 ? c->setting[MFU_S_DP_SHARD] : c->setting[MFU_S_DP];
}

/* Copies of what is sharded are equal, and something is sharded. */
static int check_copies(const struct mfu_config *c, struct mfu_error *err)
{
    double shard = mfu_config_dp_shard(c), dp = c->setting[MFU_S_DP], ep = c->setting[MFU_S_EP];
    char which[160];

    if (shard == dp)
        return 0;
    if (c->setting[MFU_S_ZERO] == 0)
        return mfu_fail(err, MFU_EINPUT,
                        "dp_shard: with zero 0 every rank holds all: set zero 1, 2 or 3 first, or dp_shard 0");
    if (fmod(dp, shard) != 0)
        return mfu_fail(err, MFU_EINPUT, "dp_shard: %.0f does not divide dp %.0f; %s do; 0 is all", shard, dp,
                        divisors(dp, c->setting[MFU_S_CP] > 1 ? 1 : 2, fmin(dp, 64), which, sizeof which));
    if (fmod(shard, ep) != 0)
        return mfu_fail(err, MFU_EINPUT, "dp_shard: ep %.0f does not divide %.0f, whose ranks share the experts", ep,
                        shard);
    if (shard * c->setting[MFU_S_CP] == 1)
        return mfu_fail(err, MFU_EINPUT, "dp_shard: over 1 GPU nothing is sharded: set dp_shard 0 and zero 0");
    return 0;
}

/* GPUs in all, and the ranks of each axis: what is not said follows. */
static void derive_mesh(struct mfu_config *c)
{
    double model = c->setting[MFU_S_TP] * c->setting[MFU_S_PP] * c->setting[MFU_S_CP];

    if (c->setting_origin[MFU_S_GPUS] == MFU_ORIGIN_USER)
        derive(c, MFU_S_DP, fmax(1, floor(c->setting[MFU_S_GPUS] / model)));
    else if (c->setting_origin[MFU_S_DP] == MFU_ORIGIN_USER || model > 1)
        derive(c, MFU_S_GPUS, c->setting[MFU_S_DP] * model);
    if (c->gpu) {
        struct mfu_cluster k;

        mfu_cluster_with(c->cluster, c->gpu, &k);
        derive(c, MFU_S_NODES, ceil(c->setting[MFU_S_GPUS] / k.node_gpus));
    }
}

static enum mfu_trainer_kind usual_trainer(const struct mfu_config *c)
{
    const struct mfu_runtime *r = &mfu_runtimes[(int)c->setting[MFU_S_RUNTIME]];

    if (r->c_program)
        return MFU_TRAINER_LLM_C;
    if (r->half_weights && c->setting[MFU_S_GPUS] > 1)
        return MFU_TRAINER_MEGATRON_TE;
    return c->setting[MFU_S_ZERO] >= 3 ? MFU_TRAINER_FSDP : MFU_TRAINER_DDP;
}

/* The trainer that is usual for a runtime and its sharding, and the runtime that is
 * usual for a trainer; what it overlaps. */
static void derive_trainer(struct mfu_config *c)
{
    const struct mfu_runtime *runtime;
    const struct mfu_trainer *t;

    if (c->setting_origin[MFU_S_TRAINER] == MFU_ORIGIN_USER)
        derive(c, MFU_S_RUNTIME, mfu_trainers[(int)c->setting[MFU_S_TRAINER]].runtime);
    else
        derive(c, MFU_S_TRAINER, usual_trainer(c));
    c->trainer = (enum mfu_trainer_kind)c->setting[MFU_S_TRAINER];
    t = &mfu_trainers[c->trainer];
    derive(c, MFU_S_OVERLAP_GRAD_REDUCE, t->overlaps_reduce && !(t->sums_behind_zero && c->setting[MFU_S_ZERO] > 0));
    derive(c, MFU_S_OVERLAP_PARAM_GATHER, t->overlaps_gather);
    derive(c, MFU_S_TP_OVERLAP,
           c->setting[MFU_S_SOFTWARE] > 0 && c->setting[MFU_S_SOFTWARE] < t->tp_overlap_since ? MFU_TP_IN_THE_WAY
                                                                                              : t->tp_overlap);
    derive(c, MFU_S_DISPATCHER, t->dispatcher);
    /* Where no trainer is named, what fuses so much takes flash-attn's kernels, or has a loss of its own. */
    runtime = &mfu_runtimes[(int)c->setting[MFU_S_RUNTIME]];
    derive(c, MFU_S_LOSS_FUSION,
           runtime->fused_loss                                                                  ? MFU_LOSS_UNFUSED
               : c->setting_origin[MFU_S_TRAINER] == MFU_ORIGIN_DERIVED && runtime->whole_norms ? MFU_LOSS_FLASH
                                                                                                : t->loss_fusion);
    if (t->bucket_bytes > 0)
        derive(c, MFU_S_GRAD_BUCKET, t->bucket_bytes);
}

static int check_parallel(const struct mfu_config *c, struct mfu_error *err)
{
    double model = c->setting[MFU_S_TP] * c->setting[MFU_S_PP] * c->setting[MFU_S_CP], gpus = c->setting[MFU_S_GPUS];

    if (c->setting[MFU_S_DP] * model != gpus) {
        if (model == 1)
            return mfu_fail(err, MFU_EINPUT, "dp: %.0f ranks do not fill %.0f GPUs; dp %.0f or gpus %.0f would do",
                            c->setting[MFU_S_DP], gpus, gpus, c->setting[MFU_S_DP]);
        return mfu_fail(err, MFU_EINPUT,
                        "gpus: %.0f do not divide into groups of %.0f (tp %.0f x cp %.0f x pp %.0f) "
                        "for dp %.0f; %.0f do",
                        gpus, model, c->setting[MFU_S_TP], c->setting[MFU_S_CP], c->setting[MFU_S_PP],
                        c->setting[MFU_S_DP], c->setting[MFU_S_DP] * model);
    }
    if (c->setting[MFU_S_PP] > 1 && c->setting[MFU_S_ZERO] >= 2 && mfu_trainers[c->trainer].pipes_whole)
        return mfu_fail(err, MFU_EINPUT, "zero: in a pipeline %s shards neither gradients nor weights; zero 0 and 1 do",
                        mfu_trainers[c->trainer].name);
    if (c->setting[MFU_S_NODES] > gpus)
        return mfu_fail(err, MFU_EINPUT, "nodes: %.0f hold more than %.0f GPUs", c->setting[MFU_S_NODES], gpus);
    if (check_pipeline(c, err) < 0 || check_tensor_parallel(c, err) < 0 || check_context_parallel(c, err) < 0
        || check_experts(c, err) < 0 || check_copies(c, err) < 0)
        return -1;
    return check_node(c, err);
}

const struct mfu_cluster *mfu_scenario_cluster(const struct mfu_scenario *s)
{
    if (!s->gpu || (s->cluster && mfu_cluster_has(s->cluster, s->gpu)))
        return s->cluster;
    return s->gpu->usual;
}

int mfu_scenario_resolve(const struct mfu_scenario *s, struct mfu_config *c, struct mfu_error *err)
{
    struct mfu_attention_needs needs;

    c->gpu = s->gpu;
    c->cluster = mfu_scenario_cluster(s);
    c->model = s->model;
    c->scenario = s;
    memcpy(c->setting, s->setting, sizeof c->setting);
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        c->setting_origin[i] = s->setting_given[i] ? MFU_ORIGIN_USER : MFU_ORIGIN_DEFAULT;
    if (s->model)
        resolve_dims(s, c);

    if (s->gpu && c->setting_origin[MFU_S_PRECISION] != MFU_ORIGIN_USER) {
        c->setting[MFU_S_PRECISION] = default_precision(s->gpu);
        c->setting_origin[MFU_S_PRECISION] = MFU_ORIGIN_GPU;
    }
    derive_mesh(c);
    derive_offload(c);
    derive_trainer(c);
    derive_pipeline(c);
    c->precision = (enum mfu_precision)c->setting[MFU_S_PRECISION];
    c->runtime = (enum mfu_runtime_kind)c->setting[MFU_S_RUNTIME];
    needs = attention_needs(c);
    derive(c, MFU_S_ATTENTION, mfu_attention_default(&needs));
    c->attention = (enum mfu_attention_kind)c->setting[MFU_S_ATTENTION];
    if (s->setting_given[MFU_S_CHECKPOINT_BUDGET])
        derive(c, MFU_S_CHECKPOINT, MFU_BUDGET);
    c->checkpoint = (enum mfu_checkpoint)c->setting[MFU_S_CHECKPOINT];
    c->optimizer = (enum mfu_optimizer_kind)c->setting[MFU_S_OPTIMIZER];
    derive_training(c);
    if (sharding_halves(c) || (mfu_trainers[c->trainer].half_weights && !mfu_precisions[c->precision].no_half_weights))
        derive(c, MFU_S_HALF_WEIGHTS, 1);
    c->batch = c->setting[MFU_S_BATCH] * mfu_objectives[(int)c->setting[MFU_S_OBJECTIVE]].sequences;
    c->accum = c->setting[MFU_S_ACCUM];
    c->seq = mfu_config_dim(c, "seq");
    c->tokens = c->batch * c->seq / c->setting[MFU_S_CP];
    c->ranks = c->setting[MFU_S_GPUS];
    c->replicas = c->setting[MFU_S_DP] * c->setting[MFU_S_CP];
    derive_documents(c);
    derive_loader(c);

    if (!s->model)
        return mfu_fail(err, MFU_EINPUT, "no model is chosen (model gpt2, for instance)");
    if (!s->gpu)
        return mfu_fail(err, MFU_EINPUT, "no GPU is chosen (gpu rtx4070, for instance)");
    if (check_dims(s, c, err) < 0 || check_precision(s->gpu, c->precision, err) < 0 || check_runtime(c, err) < 0
        || check_half_weights(c, err) < 0 || check_training(c, err) < 0 || check_package(c, err) < 0
        || check_objective(c, err) < 0 || check_offload(c, err) < 0 || check_optimizer(c, err) < 0
        || check_attention(c, err) < 0 || check_parallel(c, err) < 0)
        return -1;
    if (c->tokens > 1e12)
        return mfu_fail(err, MFU_EINPUT, "batch: %g sequences of %g tokens are more than 1e12 tokens", c->batch,
                        c->seq);
    return 0;
}
