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

static bool recognise(const char *path, const char *text)
{
    (void)path;
    return strstr(text, "\"peft_type\"") != NULL;
}

static const char names[] = "names and files", learnt[] = "concerns what is learnt, not how fast";
static const char targets[] = "which modules";
static const char parts[] = "adapters of other ranks or in some layers only";

// clang-format off
static const struct mfu_import_row rows[] = {
    {"peft_type", "adapter",
     "OFT=oft BOFT=boft HRA=hra FOURIERFT=fourierft WAVEFT=waveft RANDLORA=randlora ROAD=road VBLORA=vblora C3A=c3a "
     "SHIRA=shira DELORA=delora HIRA=hira GRALORA=gralora PVERA=pvera BEFT=beft DEFT=deft GLORA=glora PEANUT=peanut TINYLORA=tinylora UNILORA=unilora LORA=lora ADALORA=adalora VERA=vera MISS=miss BONE=miss LOHA=loha LOKR=lokr IA3=ia3 LN_TUNING=ln-tuning "
     "PROMPT_TUNING=prompt-tuning P_TUNING=p-tuning PREFIX_TUNING=prefix-tuning",
     NULL, true},
    {"r", "lora", NULL, NULL, false}, {"init_r", "lora", NULL, NULL, false},
    {"oft_block_size", "lora", NULL, NULL, false}, {"boft_block_size", "lora", NULL, NULL, false},
    {"boft_block_num", "adapter_blocks", NULL, NULL, false}, {"block_size", "lora", NULL, NULL, false},
    {"n_frequency", "lora", NULL, NULL, false}, {"n_frequency_pattern*", NULL, "=- null=-", parts, true},
    {"block_size_pattern*", NULL, "=- null=-", parts, true},
    {"num_virtual_tokens", "lora", NULL, NULL, false}, {"decompose_factor", "lokr_factor", NULL, NULL, false},
    {"lora_dropout", "lora_dropout", NULL, NULL, false}, {"vera_dropout", "lora_dropout", NULL, NULL, false},
    {"miss_dropout", "lora_dropout", NULL, NULL, false}, {"vblora_dropout", "lora_dropout", NULL, NULL, false},
    {"randlora_dropout", "lora_dropout", NULL, NULL, false}, {"hira_dropout", "lora_dropout", NULL, NULL, false},
    {"gralora_dropout", "lora_dropout", NULL, NULL, false}, {"pvera_dropout", "lora_dropout", NULL, NULL, false},
    {"deft_dropout", "lora_dropout", NULL, NULL, false}, {"tinylora_dropout", "lora_dropout", NULL, NULL, false},
    {"unilora_dropout", "lora_dropout", NULL, NULL, false}, {"save_indices", NULL, NULL, names, false},
    {"decomposition_method", NULL, "relu=-", "another decomposition", true}, {"para", NULL, "false=-", "another form of the method", true},
    {"config_A_B", NULL, "lora=-", "another form of the method", true}, {"config_C", NULL, NULL, "of products with a bias", false},
    {"config_D_E", NULL, NULL, "of products with a bias", false}, {"depth", NULL, "0=-", "more matrices", true}, {"act_fn", NULL, NULL, learnt, false},
    {"u", NULL, "64=-", "other weights", true}, {"weight_tying", NULL, "0.0=- 0=-", "weights of several products", true},
    {"theta_d_length", NULL, "256=-", "another vector", true}, {"proj_seed", NULL, NULL, learnt, false}, {"projection_seed", NULL, NULL, learnt, false},
    {"boft_dropout", NULL, "0.0=- 0=-", "dropped blocks", true},
    {"boft_n_butterfly_factor", NULL, "1=-", "several factors", true}, {"apply_GS", NULL, "false=-", "orthogonal vectors", true},
    {"coft", NULL, "false=-", "a constraint", true}, {"block_share", NULL, "false=-", "blocks that share weights", true},
    {"use_cayley_neumann", NULL, "true=-", "a system that is solved", true},
    {"num_cayley_neumann_terms", NULL, "5=-", "another number of terms", true}, {"eps", NULL, NULL, learnt, false},
    {"use_idwt", NULL, "true=-", "a spectrum without its transform", true},
    {"wavelet_family", NULL, "db1=-", "another wavelet", true},
    {"proportional_parameters", NULL, "false=-", parts, true}, {"random_*", NULL, NULL, learnt, false},
    {"scaling", NULL, NULL, learnt, false}, {"variant", NULL, "road_1=-", "another form of the method", true},
    {"group_size", NULL, "64=-", "groups of other sizes", true}, {"num_vectors", NULL, "256=-", "another bank", true},
    {"vector_length", NULL, "256=-", "another bank", true}, {"topk", NULL, "2=-", "another bank", true},
    {"save_only_topk_weights", NULL, NULL, names, false},
    {"hybrid_r", NULL, "0=-", "a pair beside the blocks", true}, {"gralora_k", NULL, "2=-", "another number of blocks", true},
    {"sparse", NULL, NULL, learnt, false}, {"very_sparse", NULL, NULL, learnt, false},
    {"randlora_alpha", NULL, NULL, learnt, false}, {"mask_type", NULL, NULL, learnt, false},
    {"delora_lambda", NULL, NULL, learnt, false}, {"sample_at_inference", NULL, NULL, learnt, false},
    {"generator_seed", NULL, "null=-", "numbers that the CPU draws", true},
    {"feedforward_modules*", NULL, "null=-", "inputs that are scaled", true},
    {"decompose_both", NULL, "false=-", parts, true}, {"use_effective_conv2d", NULL, "false=-", parts, true},
    {"init_weights", NULL, "true=- false=- zero=- lycoris=- gaussian=- xavier_uniform=- kaiming_uniform=- null=-", "another form of the method", true},
    {"init_*", NULL, NULL, learnt, false},
    {"rank_dropout", NULL, "0.0=- 0=-", "dropped ranks", true}, {"module_dropout", NULL, "0.0=- 0=-", "dropped modules", true},
    {"encoder_reparameterization_type", NULL, "MLP=-", "an LSTM", true},
    {"encoder_hidden_size", "prompt_encoder", NULL, NULL, false},
    {"prefix_projection", NULL, "true=- false=-", "another encoder", true},
    {"encoder_dropout", NULL, NULL, learnt, false}, {"encoder_num_layers", NULL, NULL, learnt, false},
    {"prompt_tuning_init*", NULL, NULL, learnt, false}, {"tokenizer_*", NULL, NULL, names, false},
    {"token_dim", NULL, NULL, names, false}, {"num_transformer_submodules", NULL, "1=- null=-", parts, true},
    {"num_attention_heads", NULL, NULL, names, false}, {"num_layers", NULL, NULL, names, false},
    {"projection_prng_key", NULL, NULL, learnt, false}, {"save_projection", NULL, NULL, learnt, false},
    {"d_initial", NULL, NULL, learnt, false}, {"mini_r", NULL, NULL, learnt, false},
    {"alpha", NULL, NULL, learnt, false},
    {"rank_dropout_scale", NULL, NULL, learnt, false}, {"target_r", NULL, NULL, learnt, false},
    {"tinit", NULL, NULL, learnt, false}, {"tfinal", NULL, NULL, learnt, false}, {"deltaT", NULL, NULL, learnt, false},
    {"beta*", NULL, NULL, learnt, false}, {"orth_reg_weight", NULL, NULL, learnt, false},
    {"total_step", NULL, NULL, learnt, false},
    {"use_dora", "dora", "true=on false=off", NULL, false},
    {"base_model_name_or_path", NULL, NULL, "no model of this name is known: choose one", true},
    {"target_modules*", NULL, NULL, targets, true},
    {"modules_to_save*", NULL, "=- null=-", targets, true},
    {"bias", "trainable", "none=- all=biases lora_only=adapted-biases", NULL, false},
    {"rank_pattern.*", NULL, NULL, parts, true}, {"layers_to_transform*", NULL, "=- null=-", parts, true},
    {"layer_replication*", NULL, "=- null=-", parts, true}, {"target_parameters*", NULL, "=- null=-", parts, true},
    {"trainable_token_indices*", NULL, "=- null=-", parts, true}, {"exclude_modules*", NULL, "=- null=-", parts, true},
    {"use_qalora", NULL, "false=-", "another product", true},
    {"lora_bias", NULL, "false=-", "biases of adapters", true},
    {"auto_mapping*", NULL, NULL, names, false}, {"revision", NULL, NULL, names, false},
    {"peft_version", NULL, NULL, names, false}, {"task_type", NULL, NULL, names, false},
    {"inference_mode", NULL, NULL, names, false}, {"parent_library", NULL, NULL, names, false},
    {"lora_alpha", NULL, NULL, learnt, false},
    {"use_rslora", NULL, NULL, learnt, false},
    {"fan_in_fan_out", NULL, NULL, names, false}, {"megatron_*", NULL, NULL, names, false},
    {"alpha_pattern*", NULL, NULL, learnt, false}, {"loftq_config*", NULL, NULL, learnt, false},
    {"eva_config*", NULL, NULL, learnt, false}, {"corda_config*", NULL, NULL, learnt, false},
    {"rank_pattern", NULL, NULL, parts, false}, {"layers_pattern*", NULL, NULL, parts, false},
    {"qalora_group_size", NULL, NULL, learnt, false}, {"arrow_config*", NULL, NULL, learnt, false},
    {"ensure_weight_tying", NULL, "false=-", parts, true}, {"runtime_config*", NULL, NULL, names, false},
    {NULL, NULL, NULL, NULL, false},
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
    .recognise = recognise,
    .take_apart = mfu_import_tree,
    .rows = rows,
    .finish = finish,
};
