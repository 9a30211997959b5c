/*
 * key_names.c - one table of names: who is called so, and who is nearest.
 */
#include "scenario/key_names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/once.h"
#include "base/suggest.h"
#include "descriptor/coefficient.h"
#include "descriptor/model.h"
#include "scenario/setting.h"

// clang-format off
static const struct mfu_dim_row dims[] = {
    {"n_layer",    "num_layers num_hidden_layers n_layers", "transformer blocks", 1, 10000, true},
    {"n_head",     "num_attention_heads num_heads n_heads", "query heads of an attention", 1, 65536, true},
    {"n_kv_head",  "num_key_value_heads num_query_groups n_kv_heads", "key/value heads of an attention", 1, 65536, true},
    {"head_dim",   "kv_channels", "width of one head", 1, 65536, true},
    {"n_embd",     "hidden_size d_model", "width of the residual stream", 1, 1e7, true},
    {"d_ff",       "intermediate_size ffn_hidden_size", "width of the MLP (of one expert)", 1, 1e8, true},
    {"vocab_size", "vocab", "entries of the vocabulary", 1, 1e9, true},
    {"seq",        "block_size seq_len ctx seq_length sequence_length max_seq_len max_seq_length context_length max_length",
                   "tokens per sequence", 1, 1e9, true},
    {"n_experts",  "num_experts num_local_experts", "experts of an MoE layer", 0, 1e6, true},
    {"top_k",      "num_experts_per_tok moe_router_topk", "experts that one token visits", 1, 1e6, true},
    {"dropout",    "", "probability with which activations are dropped", 0, 0.99, false},
    {"bias",       "", "whether linears and norms carry a bias", 0, 1, true},
    {"tied",       "tie_word_embeddings", "whether the head shares the embedding's weight", 0, 1, true},
    {"keep_logits", "", "whether the logits live until the end of backward, as where a model returns them", 0, 1, true},
    {"upcast_logits", "", "whether the loss copies the logits to fp32 first", 0, 1, true},
    {"image",      "image_size", "pixels along the edge of an image", 1, 65536, true},
    {"height",     "", "pixels from the top of an image or a video to its end", 1, 65536, true},
    {"width",      "", "pixels across an image or a video", 1, 65536, true},
    {"patch",      "patch_size", "pixels along the edge of a patch, one token", 1, 65536, true},
    {"channels",   "num_channels", "channels of an image", 1, 65536, true},
    {"channels_last", "", "whether an image's channels lie beside each other in memory", 0, 1, true},
    {"autoencoder", "vae encode_latents", "whether the frozen autoencoder runs in the step; 0: its latents are cached", 0, 1, true},
    {"autoencoder_fp32", "no_half_vae", "whether the frozen autoencoder is held in fp32", 0, 1, true},
    {"text_encoders", "encode_prompts", "whether the frozen encoders of prompts run in the step; 0: what they give is cached", 0, 1, true},
    {"completion", "max_completion_length", "last tokens of a sequence that the head reads, its answer; 0: all", 0, 1e9, true},
    {"n_classes",  "num_labels", "classes that the head tells apart", 1, 1e9, true},
    {"window",     "sliding_window", "tokens that a query sees; 0: all", 0, 1e9, true},
    {"n_mtp",      "mtp_num_layers", "modules of a layer that predict one more token (multi-token prediction)", 0, 1, true},
};

/* Dimensions of single models, which have no bounds and no other names. */
static const struct {
    const char *name, *meaning;
} of_models[] = {
    {"activation",   "number of the activation's formula: gelu, gelu_tanh, silu, relu, tanh, -, gelu_new ..."},
    {"added_mask",   "whether the mask is added to the scores; 0: it is filled in"},
    {"attn_dropout", "dropout of the probabilities of attention"},
    {"classes",      "outputs of the head for classification, where the model has one"},
    {"embd_dropout", "dropout of the embeddings"},
    {"fp32_outputs", "whether 16-bit outputs leave autocast as fp32 (accelerate)"},
    {"glu",          "whether a gate multiplies the MLP's activation"},
    {"mlp_bias",     "whether the MLP's linears carry a bias"},
    {"mlp_dropout",  "dropout of the MLP's output"},
    {"n_labels",     "outputs of a head for classification in place of the language model's; 0: none"},
    {"n_positions",  "rows of the table of positions"},
    {"norm_kind",    "number of the norm's kind: LayerNorm, RMSNorm, RMSNorm in fp32, LayerNorm in fp32, by hand ..."},
    {"out_bias",     "whether attention's output carries a bias"},
    {"pre_norm",     "whether norms stand before attention and MLP; 0: behind them"},
    {"qkv_bias",     "whether queries, keys and values carry a bias"},
};

/* What no step's time or memory depends on. */
static const char no_matter[] = "lr learning_rate min_lr max_lr weight_decay warmup warmup_steps warmup_iters warmup_ratio "
                                "lr_scheduler lr_scheduler_type lr_decay_iters decay_lr seed";

/* What other programs switch by a name of its own: their values, and ours.  Behind
 * a name with `any` the key's own values do, too.  "off=-": not what `on` says. */
static const struct synonym {
    const char *name, *key, *values;
    bool any;
    const char *keys; /* where the value says so, another key: "params=offload_params"; NULL: never */
    const char *also; /* what the name says beside it, see mfu_key_also(); NULL: nothing */
} synonyms[] = {
    {"fsdp", "zero", "on=3 full_shard=3 shard_grad_op=off no_shard=0 off=0", false, "shard_grad_op=reshard_after_forward", "trainer-deepspeed"},
    {"sharding", "zero", "none=0 off=0 ddp=0 dp=0 no_shard=0 zero1=1 zero_stage_1=1 distributed_optimizer=1 dist_opt=1 fsdp:optim=1 optim=1 "
     "zero2=2 zero_stage_2=2 shard_grad_op=off fsdp_shard_grad_op=off fsdp:optim_grads=2 optim_grads=2 zero_offload=2 zero3=3 zero_stage_3=3 fsdp=3 fsdp1=3 "
     "fsdp2=3 fsdp_full=3 full_shard=3 fully_shard=3 fsdp:optim_grads_params=3 optim_grads_params=3", false, "shard_grad_op=reshard_after_forward fsdp_shard_grad_op=reshard_after_forward", NULL},
    {"deepspeed", "zero", "zero1=1 zero2=2 zero3=3", true, NULL, "trainer=deepspeed"},
    {"ddp", "zero", "on=0", false, NULL, "trainer-deepspeed"},
    {"account_for_embedding_in_pipeline_split", "first_stage_less", "on=1 off=0", false, NULL, NULL},
    {"account_for_loss_in_pipeline_split", "last_stage_less", "on=1 off=0", false, NULL, NULL},
    {"qlora", "base_precision", "on=nf4 off=-", false, NULL, NULL},
    {"load_in_4bit", "base_precision", "on=nf4 off=-", false, NULL, NULL},
    {"load_in_8bit", "base_precision", "on=int8 off=-", false, NULL, NULL},
    {"double_quant", "base_precision", "on=nf4-double off=nf4", false, NULL, NULL},
    {"bnb_4bit_use_double_quant", "base_precision", "on=nf4-double off=nf4", false, NULL, NULL},
    {"lora_bias", "trainable", "none=none all=biases lora_only=adapted-biases", false, NULL, NULL},
    {"recipe", "precision", "delayed=fp8 hybrid=fp8 tensorwise=fp8-current current=fp8-current blockwise=fp8-block block=fp8-block mxfp8=mxfp8 nvfp4=nvfp4 mxfp4=mxfp4", false, NULL, NULL},
    {"fp8_recipe", "precision", "delayed=fp8 tensorwise=fp8-current blockwise=fp8-block mxfp8=mxfp8", false, NULL, NULL},
    {"compile", "runtime", "on=compile off=eager", false, NULL, NULL},
    {"torch_compile", "runtime", "on=compile off=eager", false, NULL, NULL},
    {"memory_format", "channels_last", "channels_last=1 nhwc=1 contiguous=0 contiguous_format=0 nchw=0", false, NULL, NULL},
    {"cached_latents", "autoencoder", "on=0 off=1", false, NULL, NULL},
    {"cache_latents", "autoencoder", "on=0 off=1", false, NULL, NULL},
    {"cache_text_encoder_outputs", "text_encoders", "on=0 off=1", false, NULL, NULL},
    {"vae_dtype", "autoencoder_fp32", "fp32=1 float32=1 bf16=0 bfloat16=0 fp16=0 default=0", false, NULL, NULL},
    {"flash", "attention", "on=flash off=math", false, NULL, NULL},
    {"flash_attention", "attention", "on=flash off=math", false, NULL, NULL},
    {"use_flash_attn", "attention", "on=flash off=math", false, NULL, NULL},
    {"attn_implementation", "attention", "eager=math sdpa=flash flash_attention_2=flash flash_attention_3=flash3", true, NULL, NULL},
    {"sdpa", "attention", "on=flash off=math", true, NULL, NULL},
    {"torch_dtype", "precision", "float32=fp32 fp32=fp32 bfloat16=bf16-pure bf16=bf16-pure", false, NULL, NULL},
    {"ac", "checkpoint", "on=full off=none", true, NULL, NULL},
    {"gradient_checkpointing", "checkpoint", "on=full off=none", true, NULL, NULL},
    {"activation_checkpointing", "checkpoint", "on=full off=none", true, NULL, NULL},
    {"recompute_granularity", "checkpoint", "", true, NULL, NULL},
    {"grad_reduce_in_bf16", "grad_reduce", "on=bf16 off=as-added", false, NULL, NULL},
    {"grad_reduce_in_fp32", "grad_reduce", "on=fp32 off=bf16", false, NULL, NULL},
    {"mixed_precision", "precision", "off=fp32", true, NULL, NULL},
    {"bf16", "precision", "on=bf16 off=fp32", false, NULL, NULL},
    {"fp16", "precision", "on=fp16 off=fp32", false, NULL, NULL},
    {"tf32", "precision", "on=tf32 off=fp32", false, NULL, NULL},
    {"fp8", "precision", "on=fp8 off=bf16", false, NULL, NULL},
    {"use_ema", "ema", "on=loop off=off", false, NULL, "ema+"},
    {"foreach_ema", "ema", "on=foreach", false, NULL, NULL},
    {"model_ema", "ema", "on=lerp off=off", false, NULL, NULL},
    {"stochastic_rounding", "precision", "on=bf16-sr off=bf16-pure", false, NULL, NULL},
    {"optim", "optimizer", "adamw_torch=adamw-foreach", true, NULL, NULL},
    {"offload", "offload_optimizer", "optimizer=on params=on activations=on optimizer-nvme=on params-nvme=on none=off", false,
     "params=offload_params activations=offload_activations optimizer-nvme=nvme_optimizer params-nvme=nvme_params", NULL},
    {"offload_optimizer_device", "offload_optimizer", "cpu=on nvme=on on=on none=off off=off", false, "nvme=nvme_optimizer", "nvme_optimizer-on"},
    {"offload_param_device", "offload_params", "cpu=on nvme=on on=on none=off off=off", false, "nvme=nvme_params", "nvme_params-on"},
    {"use_tp_pp_dp_mapping", "rank_order", "on=tp-cp-ep-pp-dp off=tp-cp-ep-dp-pp", false, NULL, NULL},
};
// clang-format on

#define N_DIMS (sizeof dims / sizeof dims[0])
#define N_SYNONYMS (sizeof synonyms / sizeof synonyms[0])

/* ---- finding ------------------------------------------------------------- */

enum sort { SORT_SETTING, SORT_DIM, SORT_SYNONYM, SORTS };

#define SPELLINGS 2048 /* places, a third of them taken: put_all() sees that half are free */

/* All names, each where its letters say: without case and what joins words. */
static struct spelling {
    const char *word; /* not ended by '\0'; NULL: a free place */
    size_t n;
    int row[SORTS]; /* of its table; -1: none */
} spellings[SPELLINGS];

static bool joins(char c)
{
    return c == '-' || c == '_' || c == ' ' || c == '\t';
}

static bool same_letters(const char *a, const char *a_end, const char *b, const char *b_end)
{
    for (;; a++, b++) {
        while (a < a_end && joins(*a))
            a++;
        while (b < b_end && joins(*b))
            b++;
        if (a == a_end || b == b_end)
            return a == a_end && b == b_end;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
    }
}

/* The place of a word, or the free one where it would be. */
static struct spelling *place_of(const char *word, size_t n)
{
    uint32_t hash = MFU_HASH;
    struct spelling *s;

    for (size_t i = 0; i < n; i++)
        if (!joins(word[i]))
            hash = mfu_hash_byte(hash, (char)tolower((unsigned char)word[i]));
    for (s = &spellings[hash % SPELLINGS]; s->word && !same_letters(s->word, s->word + s->n, word, word + n);)
        s = s + 1 < spellings + SPELLINGS ? s + 1 : spellings;
    return s;
}

/* Words separated by blanks; the first row that has one keeps it. */
static void put_words(const char *words, enum sort sort, int row)
{
    static int n_taken;

    for (size_t n; (n = strcspn(words, " ")) > 0; words += n + strspn(words + n, " ")) {
        struct spelling *s = place_of(words, n);

        if (!s->word) {
            *s = (struct spelling){words, n, {-1, -1, -1}};
            if (++n_taken > SPELLINGS / 2) {
                fputs("mfuplan: key_names.c: SPELLINGS has no room for so many names\n", stderr);
                abort(); /* in a full table no search would end */
            }
        }
        if (s->row[sort] < 0)
            s->row[sort] = row;
    }
}

static void put_all(void)
{
    for (int of = 0; of < 2; of++) { /* a name of its own wins over any alias */
        for (int i = 0; i < MFU_SETTING_COUNT; i++)
            put_words(of ? mfu_settings[i].aliases : mfu_settings[i].key, SORT_SETTING, i);
        for (int i = 0; i < (int)N_DIMS; i++)
            put_words(of ? dims[i].aliases : dims[i].name, SORT_DIM, i);
    }
    for (int i = 0; i < (int)N_SYNONYMS; i++)
        put_words(synonyms[i].name, SORT_SYNONYM, i);
}

static int find(const char *name, enum sort sort)
{
    const struct spelling *s;

    MFU_ONCE(put_all);
    s = place_of(name, strlen(name));
    return s->word ? s->row[sort] : -1;
}

static int find_setting(const char *name)
{
    return find(name, SORT_SETTING);
}

const struct mfu_dim_row *mfu_dim_row(const char *name)
{
    for (size_t i = 0; i < N_DIMS; i++)
        if (dims[i].name[0] == name[0] && strcmp(dims[i].name, name) == 0)
            return &dims[i];
    return NULL;
}

const char *mfu_dim_of_models(const char *name)
{
    for (size_t i = 0; i < sizeof of_models / sizeof of_models[0]; i++)
        if (mfu_same_name(of_models[i].name, name))
            return of_models[i].meaning;
    return NULL;
}

/* The row of a dim by any of its names. */
static const struct mfu_dim_row *dim_called(const char *name)
{
    int i = find(name, SORT_DIM);

    return i < 0 ? NULL : &dims[i];
}

static int dim_of_model(const struct mfu_model *model, const char *name)
{
    for (int i = 0; i < model->n_dims; i++)
        if (strcmp(model->dims[i].name, name) == 0)
            return i;
    for (int i = 0; i < model->n_dims; i++)
        if (mfu_same_name(model->dims[i].name, name))
            return i;
    return -1;
}

static int find_dim(const struct mfu_model *model, const char *name)
{
    const struct mfu_dim_row *row;
    int i = model ? dim_of_model(model, name) : -1;

    if (i < 0 && model && (row = dim_called(name)))
        i = dim_of_model(model, row->name);
    return i;
}

static const struct synonym *find_synonym(const char *name)
{
    int i = find(name, SORT_SYNONYM);

    return i < 0 ? NULL : &synonyms[i];
}

static bool matters_not(const char *name)
{
    char word[MFU_KEY_NAME];

    for (const char *at = no_matter; mfu_next_word(&at, word, sizeof word);)
        if (mfu_same_name(word, name))
            return true;
    return false;
}

struct mfu_key mfu_key_find(const struct mfu_model *model, const char *name, struct mfu_error *err)
{
    struct mfu_key key = {MFU_KEY_NONE, -1};
    const struct synonym *other;
    const char *meaning;

    if ((key.id = find_setting(name)) >= 0)
        key.kind = MFU_KEY_SETTING;
    else if ((key.id = find_dim(model, name)) >= 0)
        key.kind = MFU_KEY_DIM;
    else if ((key.id = mfu_coefficient_find(name, NULL)) >= 0)
        key.kind = MFU_KEY_COEFFICIENT;
    else if (err && (meaning = dim_called(name) ? dim_called(name)->meaning : mfu_dim_of_models(name))) {
        if (model)
            mfu_fail(err, MFU_EINPUT, "%s: the model %s has no such dimension (%s)", name, model->slug, meaning);
        else
            mfu_fail(err, MFU_EINPUT, "%s: choose a model first (model gpt2, for instance)", name);
    } else if (err && (other = find_synonym(name))) {
        mfu_fail(err, MFU_EINPUT, "'%.60s' is a way to set %s%s%.60s%s%.*s", name, other->key,
                 *other->values ? ": set " : "", *other->values ? name : "", *other->values ? " " : "",
                 (int)strcspn(other->values, "="), other->values);
        mfu_error_suggest(err, other->key);
    } else if (err && matters_not(name)) {
        mfu_fail(err, MFU_EINPUT, "'%.60s' changes neither time nor memory of a step: it is no setting", name);
    } else if (err) {
        mfu_fail(err, MFU_EINPUT, "no setting is called '%.60s'", name);
        mfu_key_suggest(model, name, NULL, 0, err);
    }
    return key;
}

/* Ours of "theirs=ours ..."; NULL if there is none.  Points into `values`, where a
 * blank or the end follows it. */
static const char *translate_word(const char *values, const char *theirs)
{
    char word[MFU_KEY_NAME];

    for (const char *at = values, *begin = at; mfu_next_word(&at, word, sizeof word); begin = at) {
        char *equals = strchr(word, '=');

        if (!equals)
            return NULL;
        *equals = '\0';
        if (mfu_same_name(word, theirs))
            return begin + (equals + 1 - word);
    }
    return NULL;
}

/* The same; "true" and its like are "on", "no" and its like "off", where they mean nothing of their own. */
static const char *translate(const char *values, const char *theirs)
{
    int on = mfu_switch_in(theirs);
    const char *ours = translate_word(values, theirs);

    return ours || on < 0 ? ours : translate_word(values, mfu_switch_names[on]);
}

struct mfu_key mfu_key_find_set(const struct mfu_model *model, const char *name, const char *value,
                                struct mfu_error *err)
{
    struct mfu_key key = mfu_key_find(model, name, NULL);
    const struct synonym *other = key.kind == MFU_KEY_NONE ? find_synonym(name) : NULL;

    const char *by_value = other && other->keys && value ? translate(other->keys, value) : NULL;
    char word[MFU_KEY_NAME];

    if (by_value && mfu_next_word(&by_value, word, sizeof word))
        return mfu_key_find(model, word, err);
    return key.kind != MFU_KEY_NONE ? key : mfu_key_find(model, other ? other->key : name, err);
}

#define MOST_VALUES 64 /* of one name */

/* Says what such a name may be set to, and which of it is nearest. */
static void fail_value(const struct synonym *other, const char *value, struct mfu_error *err)
{
    char list[MFU_ERROR_TEXT - 100], words[MOST_VALUES][MFU_KEY_NAME];
    const char *names[MOST_VALUES];
    size_t n = 0;

    for (const char *at = other->values; n < MOST_VALUES && mfu_next_word(&at, words[n], sizeof words[n]); n++) {
        words[n][strcspn(words[n], "=")] = '\0';
        names[n] = words[n];
    }
    mfu_fail_nearest(err, value, names, n, "%s: '%.40s': expected %s", other->name, value,
                     mfu_names_list(list, sizeof list, names, n));
}

const char *mfu_key_value(const char *name, const char *value, char ours[MFU_KEY_NAME], struct mfu_error *err)
{
    const struct synonym *other = find_setting(name) < 0 ? find_synonym(name) : NULL;
    const char *word = other ? translate(other->values, value) : NULL;

    if (!other || (!word && other->any))
        return value;
    if (word && mfu_next_word(&word, ours, MFU_KEY_NAME))
        return ours;
    fail_value(other, value, err);
    return NULL;
}

bool mfu_key_denies(const char *name, const char *value, char ours[MFU_KEY_NAME])
{
    const struct synonym *other = find_setting(name) < 0 ? find_synonym(name) : NULL;
    const char *word = other ? translate(other->values, value) : NULL;

    return word && *word == '-' && mfu_key_value(name, mfu_switch_names[1], ours, NULL);
}

/* The i-th of the keys that values of another program's name set: its own first. */
static bool nth_key(const struct synonym *other, size_t i, char key[MFU_KEY_NAME])
{
    const char *keys = other->keys;
    bool found = true;

    snprintf(key, MFU_KEY_NAME, "%s", other->key);
    for (; found && i > 0; i--)
        if ((found = mfu_next_word(&keys, key, MFU_KEY_NAME)))
            memmove(key, key + strcspn(key, "=") + 1, strlen(key + strcspn(key, "=")));
    return found;
}

/* The name of another program whose values set several keys, all of them together, or one of them; NULL: it is none. */
static const struct synonym *of_several(const char *name, bool together)
{
    const struct synonym *other = find_setting(name) < 0 ? find_synonym(name) : NULL;
    const char *none = other && other->keys ? translate(other->values, "none") : NULL;
    bool switches = none && strncmp(none, "off", 3) == 0; /* all of them are switches */

    return other && other->keys && switches == together ? other : NULL;
}

bool mfu_key_part(const char *name, size_t i, char key[MFU_KEY_NAME])
{
    const struct synonym *other = of_several(name, true);

    return other && nth_key(other, i, key);
}

bool mfu_key_instead(const char *name, size_t i, char key[MFU_KEY_NAME])
{
    const struct synonym *other = of_several(name, false);

    return other && nth_key(other, i, key);
}

bool mfu_key_said_by(const char *word, char pair[2 * MFU_KEY_NAME])
{
    const struct synonym *other = find_synonym(word);
    const char *const *of = NULL;
    int n = 0;

    if (other && *other->values)
        return snprintf(pair, 2 * (size_t)MFU_KEY_NAME, "%s %.*s", other->name, (int)strcspn(other->values, "="),
                        other->values)
            > 0;
    for (int k = 0; k < MFU_SETTING_COUNT; k++) {
        const char *const *choices = mfu_settings[k].choices;

        if (!choices || choices == mfu_switch_names || mfu_setting_choice((enum mfu_setting_id)k, word, NULL) < 0)
            continue;
        n += of != choices;
        if (n == 1 && of != choices)
            snprintf(pair, 2 * (size_t)MFU_KEY_NAME, "%s %s", mfu_settings[k].key,
                     choices[mfu_setting_choice((enum mfu_setting_id)k, word, NULL)]);
        of = choices;
    }
    return n == 1;
}

const char *mfu_key_also(const char *name)
{
    const struct synonym *other = find_setting(name) < 0 ? find_synonym(name) : NULL;

    return other ? other->also : NULL;
}

/* ---- all of them --------------------------------------------------------- */

bool mfu_key_known(const char *name)
{
    return find_setting(name) >= 0 || dim_called(name) || mfu_coefficient_find(name, NULL) >= 0;
}

static void spell(const char *name, const char *aliases, void (*each)(void *, const char *), void *what)
{
    char word[MFU_KEY_NAME];

    each(what, name);
    while (mfu_next_word(&aliases, word, sizeof word))
        each(what, word);
}

void mfu_key_spellings(void (*each)(void *, const char *), void *what)
{
    for (int k = 0; k < MFU_SETTING_COUNT; k++)
        spell(mfu_settings[k].key, mfu_settings[k].aliases, each, what);
    for (size_t k = 0; k < N_DIMS; k++)
        spell(dims[k].name, dims[k].aliases, each, what);
}

#define MOST_NAMES 512
#define MOST_LETTERS 8192

/* Names of one sort; aliases are copied out of their lists. */
struct candidates {
    const char *names[MOST_NAMES];
    size_t n, used;
    char letters[MOST_LETTERS];
};

static void may_be(struct candidates *c, const char *name)
{
    if (name && c->n < MOST_NAMES)
        c->names[c->n++] = name;
}

static void may_be_alias(struct candidates *c, const char *aliases)
{
    char word[MFU_KEY_NAME];

    while (mfu_next_word(&aliases, word, sizeof word) && c->used + sizeof word <= sizeof c->letters) {
        may_be(c, strcpy(c->letters + c->used, word));
        c->used += strlen(word) + 1;
    }
}

void mfu_key_suggest(const struct mfu_model *model, const char *typed, const char *const *others, size_t n,
                     struct mfu_error *err)
{
    struct candidates own = {.n = 0}, elsewhere = {.n = 0};
    const char *best;

    if (!err)
        return;
    for (size_t i = 0; i < n; i++)
        may_be(&own, others[i]);
    for (int i = 0; i < MFU_SETTING_COUNT; i++) {
        may_be(&own, mfu_settings[i].key);
        may_be_alias(&elsewhere, mfu_settings[i].aliases);
    }
    for (int i = 0; model && i < model->n_dims; i++) {
        const struct mfu_dim_row *row = mfu_dim_row(model->dims[i].name);

        may_be(&own, model->dims[i].name);
        may_be_alias(&elsewhere, row ? row->aliases : "");
    }
    may_be(&own, "gpu");
    may_be(&own, "model");
    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++)
        may_be(&own, mfu_coefficient_rows[i].name);
    for (size_t i = 0; i < N_SYNONYMS; i++)
        may_be(&elsewhere, synonyms[i].name);
    if (mfu_suggest(typed, own.names, own.n, &best, 1) || mfu_suggest(typed, elsewhere.names, elsewhere.n, &best, 1))
        mfu_error_suggest(err, best);
}
