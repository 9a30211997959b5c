/*
 * measured_dims.c - the dimensions of a row's model: columns, notes, what is usual, and what a program makes of them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "read/runs/measured_run.h"
#include "read/runs/measured_reading.h"
#include "descriptor/model.h"

// clang-format off
static const struct { const char *column, *dim; } dims[] = {
    {"n_layer", "n_layer"}, {"n_embd", "n_embd"}, {"n_head", "n_head"}, {"n_kv_head", "n_kv_head"},
    {"head_dim", "head_dim"}, {"d_ff", "d_ff"}, {"vocab", "vocab_size"}, {"seq_len", "seq"},
    {"dropout", "dropout"}, {"bias", "bias"}, {"tied", "tied"}, {"n_experts", "n_experts"}, {"experts_active", "top_k"},
    {"img_size", "image"}, {"patch", "patch"}};
// clang-format on

/* Whether a trainer's model runs in a loop of one's own, without its options: of Megatron-core TransformerConfig's defaults
 * (Megatron-LM d98e8a64, core/transformer/transformer_config.py: hidden_dropout, attention_dropout). */
#define CORE_DROPOUT 0.1

static bool in_own_loop(const struct mfu_row *r)
{
    int runtime = mfu_row_choice_in(MFU_S_RUNTIME, mfu_row_stack(r));

    return runtime >= 0 && mfu_runtimes[runtime].layers_only;
}

/* What stands for an empty cell, where it is not the model's own. */
static bool leave_dim(struct mfu_row *r, const char *dim)
{
    if (strcmp(dim, "dropout") == 0) {
        int trainer = mfu_row_stated_trainer(r);

        if (trainer >= 0)
            return mfu_row_take(r, "dropout=%g", in_own_loop(r) ? CORE_DROPOUT : mfu_trainers[trainer].usual_dropout);
    }
    if (strcmp(dim, "head_dim") != 0 && strcmp(dim, "n_kv_head") != 0) /* these follow */
        mfu_row_assume(r, "%s: the model's", dim);
    return true;
}

static double noted(const struct mfu_row *r, const char *column)
{
    return mfu_number_said(mfu_row_cell(r, "notes"), column);
}

bool mfu_is_one_of(const char *text, const char *const *words)
{
    while (*words && strcasecmp(*words, text) != 0)
        words++;
    return *words != NULL;
}

/* What a model with experts calls a column's quantity: an MLP's width is that of a routed expert, a head's
 * that of its part that is not rotated where keys come from a narrow product. */
static const char *dim_of(const struct mfu_model *m, const char *dim)
{
    static const char *const routed[][2] = {{"d_ff", "expert_ff"}, {"head_dim", "nope_dim"}};
    int experts = mfu_model_dim_find(m, "n_experts", NULL);
    double values[MFU_MAX_DIMS];

    mfu_model_dim_values(m, values);
    for (size_t i = 0; i < sizeof routed / sizeof *routed && experts >= 0 && values[experts] > 0; i++)
        if (strcmp(routed[i][0], dim) == 0 && mfu_model_dim_find(m, routed[i][1], NULL) >= 0)
            return routed[i][1];
    return dim;
}

/* More tensor ranks than heads of keys, in a program that splits none: each rank has a copy of its own (BigCode's
 * Megatron-LM 40ac1b0a, megatron/model/transformer.py: attention_head_type multiquery keeps one whole). */
static bool copy_kv_heads(struct mfu_row *r)
{
    const double *set = r->run->scenario.setting;
    double heads = mfu_cell_number(r, "n_kv_head"), tp = set[MFU_S_TP];
    if (!(heads >= 1) || !(tp > heads) || fmod(tp, heads) != 0
        || mfu_trainers[(int)set[MFU_S_TRAINER]].shares_keys_since > 0)
        return true;
    return mfu_row_take(r, "n_kv_head=%.0f: each tensor rank has a copy", tp);
}

/* Heads that share keys and values as in the model, or, where that does not divide, none that do. */
static bool leave_kv_heads(struct mfu_row *r)
{
    struct mfu_config config;
    double n_head, n_kv;

    if (!mfu_cell_empty(r, "n_kv_head") || noted(r, "n_kv_head") > 0)
        return true;
    mfu_scenario_resolve(&r->run->scenario, &config, NULL);
    n_head = mfu_config_dim(&config, "n_head");
    n_kv = mfu_config_dim(&config, "n_kv_head");
    if (!(n_kv > 0)
        || (n_kv == floor(n_kv) && fmod(n_head, n_kv) == 0
            && (mfu_cell_empty(r, "n_head") || !(fmod(n_kv, fmax(1, mfu_cell_number(r, "tp"))) > 0))))
        return true;
    return mfu_row_take(r, "n_kv_head=%.0f: the model's %g do not divide them, or not by tp", n_head, n_kv);
}

/* The cell of a dimension; the length of text sequences may stand as their tokens. */
static const char *dim_cell(const struct mfu_row *r, const char *column)
{
    bool text = strcmp(column, "seq_len") == 0 && mfu_model_dim_find(r->run->scenario.model, "vocab_size", NULL) >= 0;

    return text && mfu_cell_empty(r, column) && mfu_cell_number(r, "tokens") > 0 ? mfu_row_cell(r, "tokens")
                                                                                 : mfu_row_cell(r, column);
}

/* Whether the model's name or the task says a word. */
static bool task_says(const struct mfu_row *r, const char *word)
{
    return strcasestr(mfu_row_cell(r, "model"), word) || strcasestr(mfu_row_cell(r, "task"), word);
}

/* What an encoder learns: masked tokens beside the next sentence, of which the head sees no others (NVIDIA
 * DeepLearningExamples, BERT/modeling.py: sequence_output_is_dense), masked tokens alone (transformers' BertForMaskedLM:
 * its head sees all), or classes. */
#define MASKED_SHARE 0.15 /* Devlin et al. 2018, 3.1 */
#define UNBINNED 128      /* tokens; longer ones are sorted by length (BERT/scripts/run_pretraining.sh: bin_size_64) */

static bool set_encoder_task(struct mfu_row *r)
{
    const char *model = mfu_row_cell(r, "model");
    char masked[32];

    if (strcmp(r->run->scenario.model->family, "bert") != 0 || *model == '\0')
        return true;
    if (task_says(r, "pre-training") || task_says(r, "pretraining")) {
        if (mfu_says(mfu_row_cell(r, "source"), "DeepLearningExamples")
            && strtod(dim_cell(r, "seq_len"), NULL) > UNBINNED)
            return mfu_row_skip(r, "sequences of many lengths in bins of 64 tokens: the mean is not stated");
        snprintf(masked, sizeof masked, "%.0f", MASKED_SHARE * strtod(dim_cell(r, "seq_len"), NULL));
        return mfu_row_take(r, "mlm=1, n_labels=2, masked=%s: masked tokens and the next sentence", masked)
            && mfu_row_set(r, "n_labels", "2") && mfu_row_set(r, "pooler", "1") && mfu_row_set(r, "masked", masked);
    }
    if (task_says(r, "masked") || task_says(r, "mlm")
        || mfu_says(mfu_row_cell(r, "notes"), "mlm|masked language modeling|masked lm"))
        return mfu_row_take(r, "mlm=1: masked tokens");
    return mfu_row_take(r, "n_labels=2: fine-tuning head");
}

/* The first layers that have no experts, of those that the model has. */
static bool set_dense(struct mfu_row *r, double dense)
{
    struct mfu_config config;

    mfu_scenario_resolve(&r->run->scenario, &config, NULL);
    if (dense == floor(dense) && dense <= mfu_config_dim(&config, "n_layer"))
        return mfu_row_take(r, "n_dense=%.0f, by the notes", dense);
    mfu_row_assume(r, "n_dense: the model's, not %g of the notes: it has %g layers", dense,
                   mfu_config_dim(&config, "n_layer"));
    return true;
}

bool mfu_row_set_dims(struct mfu_row *r)
{
    const struct mfu_model *m = r->run->scenario.model;
    double dense = mfu_number_before(mfu_row_cell(r, "notes"), "layers dense|dense layer|dense layers");

    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++) {
        const char *text = dim_cell(r, dims[i].column), *dim = dim_of(m, dims[i].dim);

        if (mfu_model_dim_find(m, dim, NULL) < 0)
            continue;
        if (mfu_cell_empty(r, dims[i].column) && noted(r, dims[i].column) > 0) {
            if (!mfu_row_take(r, "%s=%.0f, by the notes", dim, noted(r, dims[i].column)))
                return false;
            continue;
        }
        if (mfu_cell_empty(r, dims[i].column) && text == mfu_row_cell(r, dims[i].column)) {
            if (!leave_dim(r, dim))
                return false;
            continue;
        }
        if (strcmp(dim, "head_dim") == 0) /* follows, or is the model's own */
            if (mfu_cell_number(r, "n_embd") / mfu_cell_number(r, "n_head") == mfu_cell_number(r, "head_dim"))
                continue;
        if (!mfu_row_set(r, dim, mfu_switch_in(text) < 0 ? text : mfu_switch_in(text) ? "1" : "0"))
            return false;
    }
    if (!leave_kv_heads(r))
        return false;
    if (dense >= 0 && mfu_model_dim_find(m, "n_dense", NULL) >= 0 && !set_dense(r, dense))
        return false;
    return set_encoder_task(r);
}

/* Megatron's tokenizers (_vocab_size_with_padding): a row states the tokenizer's size or, as "250k", about that. */
static bool pad_vocabulary(struct mfu_row *r)
{
    const double *setting = r->run->scenario.setting;
    double divisor =
               in_own_loop(r) ? 0 : mfu_trainers[(int)setting[MFU_S_TRAINER]].pads_vocab * fmax(setting[MFU_S_TP], 1),
           padded;
    int vocab = mfu_model_dim_find(r->run->scenario.model, "vocab_size", NULL);
    if (!(divisor > 0) || vocab < 0 || !(r->run->scenario.dim[vocab] > 0))
        return true;
    padded = ceil(r->run->scenario.dim[vocab] / divisor) * divisor;
    if (padded == r->run->scenario.dim[vocab])
        return true;
    return mfu_row_take(r, "vocab_size=%.0f, padded as %s does", padded,
                        mfu_trainer_names[(int)setting[MFU_S_TRAINER]]);
}

bool mfu_row_split_dims(struct mfu_row *r)
{
    return pad_vocabulary(r) && copy_kv_heads(r);
}
