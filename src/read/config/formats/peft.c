/*
 * peft.c - adapter_config.json of peft (0.21.2): which adapters a model has.  Everything else
 * of the run is in other files.
 */
#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "read/config/import.h"
#include "scenario/adapter.h"

static const char names[] = "names and files";
static const char targets[] = "which modules";
static const char parts[] = "adapters of other ranks or in some layers only";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"peft_type", .key = "adapter",
     .values = "OFT=oft BOFT=boft HRA=hra FOURIERFT=fourierft WAVEFT=waveft RANDLORA=randlora ROAD=road VBLORA=vblora "
     "C3A=c3a SHIRA=shira DELORA=delora HIRA=hira GRALORA=gralora PVERA=pvera BEFT=beft DEFT=deft GLORA=glora "
     "PEANUT=peanut TINYLORA=tinylora UNILORA=unilora LORA=lora ADALORA=adalora VERA=vera MISS=miss BONE=miss "
     "LOHA=loha LOKR=lokr IA3=ia3 LN_TUNING=ln-tuning PROMPT_TUNING=prompt-tuning P_TUNING=p-tuning "
     "PREFIX_TUNING=prefix-tuning", .unmodelled = true},
    {"r init_r oft_block_size boft_block_size block_size n_frequency num_virtual_tokens", .key = "lora"},
    {"boft_block_num", .key = "adapter_blocks"},
    {"n_frequency_pattern* block_size_pattern* layers_to_transform* layer_replication* target_parameters* "
     "exclude_modules*", .values = "=- null=-", .note = parts, .unmodelled = true},
    {"decompose_factor", .key = "lokr_factor"},
    {"lora_dropout vera_dropout miss_dropout vblora_dropout randlora_dropout hira_dropout gralora_dropout "
     "pvera_dropout deft_dropout tinylora_dropout unilora_dropout", .key = "lora_dropout"},
    {"save_indices save_only_topk_weights tokenizer_* token_dim num_attention_heads num_layers auto_mapping* revision "
     "peft_version task_type inference_mode parent_library fan_in_fan_out megatron_* runtime_config*", .note = names},
    {"decomposition_method", .values = "relu=-", .note = "another decomposition", .unmodelled = true},
    {"para", .values = "false=-", .note = "another form of the method", .unmodelled = true},
    {"config_A_B", .values = "lora=-", .note = "another form of the method", .unmodelled = true},
    {"config_C config_D_E", .note = "of products with a bias"},
    {"depth", .values = "0=-", .note = "more matrices", .unmodelled = true},
    {"act_fn proj_seed projection_seed eps random_* scaling sparse very_sparse randlora_alpha mask_type delora_lambda "
     "sample_at_inference", .note = MFU_NOTE_TRAINING},
    {"u", .values = "64=-", .note = "other weights", .unmodelled = true},
    {"weight_tying", .values = "0.0=- 0=-", .note = "weights of several products", .unmodelled = true},
    {"theta_d_length", .values = "256=-", .note = "another vector", .unmodelled = true},
    {"boft_dropout", .values = "0.0=- 0=-", .note = "dropped blocks", .unmodelled = true},
    {"boft_n_butterfly_factor", .values = "1=-", .note = "several factors", .unmodelled = true},
    {"apply_GS", .values = "false=-", .note = "orthogonal vectors", .unmodelled = true},
    {"coft", .values = "false=-", .note = "a constraint", .unmodelled = true},
    {"block_share", .values = "false=-", .note = "blocks that share weights", .unmodelled = true},
    {"use_cayley_neumann", .values = "true=-", .note = "a system that is solved", .unmodelled = true},
    {"num_cayley_neumann_terms", .values = "5=-", .note = "another number of terms", .unmodelled = true},
    {"use_idwt", .values = "true=-", .note = "a spectrum without its transform", .unmodelled = true},
    {"wavelet_family", .values = "db1=-", .note = "another wavelet", .unmodelled = true},
    {"proportional_parameters decompose_both use_effective_conv2d ensure_weight_tying", .values = "false=-",
     .note = parts, .unmodelled = true},
    {"variant", .values = "road_1=-", .note = "another form of the method", .unmodelled = true},
    {"group_size", .values = "64=-", .note = "groups of other sizes", .unmodelled = true},
    {"num_vectors vector_length", .values = "256=-", .note = "another bank", .unmodelled = true},
    {"topk", .values = "2=-", .note = "another bank", .unmodelled = true},
    {"hybrid_r", .values = "0=-", .note = "a pair beside the blocks", .unmodelled = true},
    {"gralora_k", .values = "2=-", .note = "another number of blocks", .unmodelled = true},
    {"generator_seed", .values = "null=-", .note = "numbers that the CPU draws", .unmodelled = true},
    {"feedforward_modules*", .values = "null=-", .note = "inputs that are scaled", .unmodelled = true},
    {"init_weights", .values = "true=- false=- zero=- lycoris=- gaussian=- xavier_uniform=- kaiming_uniform=- null=-",
     .note = "another form of the method", .unmodelled = true},
    {"init_* encoder_dropout encoder_num_layers prompt_tuning_init* projection_prng_key save_projection d_initial "
     "mini_r alpha rank_dropout_scale target_r tinit tfinal deltaT beta* orth_reg_weight total_step lora_alpha "
     "use_rslora alpha_pattern* loftq_config* eva_config* corda_config* qalora_group_size arrow_config*",
     .note = MFU_NOTE_TRAINING},
    {"rank_dropout", .values = "0.0=- 0=-", .note = "dropped ranks", .unmodelled = true},
    {"module_dropout", .values = "0.0=- 0=-", .note = "dropped modules", .unmodelled = true},
    {"encoder_reparameterization_type", .values = "MLP=-", .note = "an LSTM", .unmodelled = true},
    {"encoder_hidden_size", .key = "prompt_encoder"},
    {"prefix_projection", .values = "true=- false=-", .note = "another encoder", .unmodelled = true},
    {"num_transformer_submodules", .values = "1=- null=-", .note = parts, .unmodelled = true},
    {"use_dora", .key = "dora", .values = "true=on false=off"},
    {"base_model_name_or_path", .note = "no model of this name is known: choose one", .unmodelled = true},
    {"target_modules*", .note = targets, .unmodelled = true},
    {"modules_to_save*", .values = "=- null=-", .note = targets, .unmodelled = true},
    {"trainable_token_indices*", .values = "null=-", .note = "tokens that train", .unmodelled = true},
    {"bias", .key = "trainable", .values = "none=- all=biases lora_only=adapted-biases"},
    {"rank_pattern.*", .note = parts, .unmodelled = true},
    {"use_qalora", .values = "false=-", .note = "another product", .unmodelled = true},
    {"lora_bias", .values = "false=-", .note = "biases of adapters", .unmodelled = true},
    {"rank_pattern layers_pattern*", .note = parts},
    {.names = NULL},
};
// clang-format on

/* The method that the file names; NULL: one that is not known here. */
static const struct mfu_method_row *method_of(const struct mfu_entry *type)
{
    for (int i = 0; type && type->set && i < MFU_METHOD_COUNT; i++)
        if (strcmp(mfu_methods[i].name, type->set) == 0)
            return &mfu_methods[i];
    return NULL;
}

/* Ranks and virtual tokens: of a known method one of them is its size. */
static void find_size(struct mfu_import *m, const struct mfu_method_row *method)
{
    static const char *const sizes[] = {
        "r", "init_r", "num_virtual_tokens", "oft_block_size", "boft_block_size", "block_size", "n_frequency"};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct mfu_entry *e = mfu_import_find(m, sizes[i]);

        if (!e || !e->set)
            continue;
        if (!method)
            mfu_import_leave(e, MFU_IGNORED, "of a method that is not known here");
        else if (i == 2 && !mfu_method_precedes(method))
            mfu_import_leave(e, MFU_IGNORED, "of learned tokens, which this method does not have");
        else if (method->takes & MFU_TAKES_BLOCKS && strcmp(e->value, "0") == 0)
            mfu_import_leave(e, MFU_IGNORED, "blocks are said otherwise");
        else if (i >= 3 && method->takes & MFU_TAKES_BLOCKS
                 && mfu_import_number(m, i == 3 ? "r" : "boft_block_num") > 0)
            mfu_import_leave(e, MFU_UNMODELLED, "beside a number of blocks, which peft refuses");
        else if (i == 0 && method->takes & MFU_TAKES_BLOCKS) /* how many blocks there are */
            mfu_import_set(m, e, "adapter_blocks", "blocks of an input row", "%s", e->value);
        else if (i == 0 && method == &mfu_methods[MFU_METHOD_ADALORA] && mfu_import_find(m, "init_r"))
            mfu_import_leave(e, MFU_IGNORED, "see init_r");
    }
}

/* The MLP that makes learned tokens or keys.  Where prefix_projection gives it no width, peft (utils/other.py) takes that of
 * a layer's keys. */
static void find_encoder(struct mfu_import *m, const struct mfu_method_row *method)
{
    struct mfu_entry *width = mfu_import_find(m, "encoder_hidden_size"),
                     *projection = mfu_import_find(m, "prefix_projection");
    bool projects = projection && strcasecmp(projection->value, "true") == 0;
    double keys = mfu_import_dim(m, "n_kv_head") * mfu_import_dim(m, "head_dim");

    if (width && !projects && !(method && method->encoder))
        mfu_import_leave(width, MFU_IGNORED, "nothing makes what is learned");
    if (!projects || !method || method->place != MFU_ADAPTS_KEYS || (width && width->set))
        return;
    if (isnan(keys))
        mfu_import_lack(m, "prompt_encoder", "", "the MLP is as wide as a layer's keys: set prompt_encoder");
    else
        mfu_import_assume_number(m, "prompt_encoder", keys, "the MLP is as wide as a layer's keys");
}

/* Numbers of layers; one alone is no count of them. */
static void find_layers(struct mfu_import *m)
{
    static const char note[] = "numbers of layers that have adapters";
    struct mfu_entry *e = mfu_import_find(m, "layers_to_transform[0]");

    e = e ? e : mfu_import_find(m, "layers_to_transform");
    if (e && isdigit((unsigned char)*e->value) && !mfu_import_find(m, "layers_to_transform[1]"))
        mfu_import_set(m, e, "trainable_layers", note, "%s..%s", e->value, e->value);
    else
        mfu_import_list(m, "layers_to_transform", "trainable_layers", note);
}

/* Places of the one table of tokens whose entries train: a list of them, which may stand under the table's name. */
static void find_tokens(struct mfu_import *m)
{
    static const char *const lists[] = {"trainable_token_indices", "trainable_token_indices.embed_tokens",
                                        "trainable_token_indices.wte", "trainable_token_indices.embed_in"};
    struct mfu_entry *first = NULL, *e;
    char name[80];
    int n = 0;

    for (size_t i = 0; i < sizeof lists / sizeof *lists && n == 0; i++)
        for (; snprintf(name, sizeof name, "%s[%d]", lists[i], n), (e = mfu_import_find(m, name)); n++)
            if (first)
                mfu_import_leave(e, MFU_IGNORED, "counted with the first");
            else
                first = e;
    if (first)
        mfu_import_set(m, first, "trainable_tokens", "tokens that train", "%d", n);
}

static void finish(struct mfu_import *m)
{
    struct mfu_entry *base = mfu_import_find(m, "base_model_name_or_path"), *inputs, *bias = mfu_import_find(m, "bias"),
                     *type = mfu_import_find(m, "peft_type");
    const struct mfu_method_row *method = method_of(type);

    if (type && strcmp(type->value, "null") == 0)
        mfu_import_leave(type, MFU_UNMODELLED, "no method is named");
    if (base)
        mfu_import_model(m, base);
    find_size(m, method);
    if (mfu_import_number(m, "decompose_factor") == -1)
        mfu_import_leave(mfu_import_find(m, "decompose_factor"), MFU_IGNORED, "near the square root");
    find_encoder(m, method);
    mfu_import_list(m, "target_modules", "lora_targets", "linears that have adapters");
    find_layers(m);
    find_tokens(m);
    mfu_import_adapt_tower(m, true, true);
    inputs = mfu_import_find(m, "feedforward_modules");
    if (inputs && strcmp(inputs->value, "[]") == 0)
        mfu_import_set(m, inputs, "ia3_inputs", "no input is scaled", "none");
    else
        mfu_import_list(m, "feedforward_modules", "ia3_inputs", "inputs that are scaled");
    if (mfu_import_list(m, "modules_to_save", "trainable", "train beside the adapters, as copies") && bias && bias->set)
        mfu_import_leave(bias, MFU_UNMODELLED, "beside modules_to_save");
    mfu_import_assume(m, "lora_kernels", "peft", "");
}

const struct mfu_import_format mfu_import_format_peft = {
    .name = "peft",
    .title = "peft adapter configuration",
    .marks = "\"peft_type\"",
    .take_apart = mfu_import_tree,
    .rows = rows,
    .finish = finish,
};
