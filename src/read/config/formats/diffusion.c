/*
 * diffusion.c - trainers of diffusion transformers: diffusers' scripts (examples/dreambooth of 2025), sd-scripts (48d368fa:
 * command line, its TOML, a file of datasets), SimpleTuner's config.json.  Their words are alike, and one table reads them:
 * options lose their dashes, entries of TOML their sections, and a flag is true.
 *
 * A step has the frozen autoencoder and the encoders of prompts in it unless their results are cached.  SimpleTuner caches both;
 * diffusers encodes a prompt that all images share once; sd-scripts caches what it is told to.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/config/import.h"

static bool has(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strstr(text, *words))
            return true;
    return false;
}

static const char *const kohya[] = {"network_module", "cache_text_encoder_outputs",
                                    "bucket_reso",    "[datasets",
                                    "flux_train",     "sd3_train",
                                    "sdxl_train",     NULL},
                         *const tuner[] = {"data_backend_config", "\"model_family\"", "--model_family", NULL},
                         *const others[] = {"train_dreambooth", "cache_latents", "train_text_to_image", NULL};

static bool recognise(const char *path, const char *text)
{
    (void)path;
    return has(text, kohya) || has(text, tuner) || has(text, others);
}

static const char of_kohya[] = "sd-scripts configuration", of_tuner[] = "SimpleTuner configuration";

/* What scripts of diffusers (58eb52c080) do that no option says; the first whose name the text has. */
static const struct script {
    const char *name, *title;
    bool adapters; /* of rank 4 unless --rank says so */
    bool caches;   /* computes latents and prompts before */
    bool encodes;  /* prompts in each step */
} scripts[] = {
    {"train_text_to_image_lora_sdxl", "train_text_to_image_lora_sdxl.py of diffusers", true, false, true},
    {"train_text_to_image_sdxl", "train_text_to_image_sdxl.py of diffusers", false, true, false},
    {"train_text_to_image_lora", "train_text_to_image_lora.py of diffusers", true, false, true},
    {"train_text_to_image", "train_text_to_image.py of diffusers", false, false, true},
    {"train_dreambooth_lora", "train_dreambooth_lora*.py of diffusers", true, false, false},
    {"", "script of diffusers", false, false, false},
};
static const char files[] = "files and logging", training[] = "concerns what is learnt, not how fast";
static const char loading[] = "the loader: set dataloader_ms", evaluation[] = "evaluation is not part of a step";
static const char buckets[] = "sizes of about this area: the command buckets adds them up";
static const char prompts[] = "prompts are not cached: their encoders run in the step";
static const char encoder[] = "an encoder of prompts trains, which is not modelled";
static const char targets[] = "which modules: set lora_targets", resolution[] = "pixels of an image";

static const char said_by[] = "the script says it";

#define CLIP 77.0 /* tokens of a prompt */
#define FLAG(ours) "true=" ours " false=-"
#define CACHED "true=0 false=1"

// clang-format off
static const struct mfu_import_row rows[] = {
    {"pretrained_model_name_or_path", NULL, NULL, "no model of this name is known: choose one", true},
    {"train_batch_size", "batch", NULL, NULL, false}, {"batch_size", "batch", NULL, NULL, false},
    {"gradient_accumulation_steps", "accum", NULL, NULL, false},
    {"gradient_checkpointing", "checkpoint", "true=full false=none", NULL, false},
    {"mixed_precision", "precision", "no=fp32 bf16=bf16 fp16=fp16", NULL, false},
    {"full_bf16", "precision", FLAG("bf16-pure"), "off", false},
    {"resolution_type", NULL, "pixel=- pixel_area=-", resolution, true}, {"resolution*", NULL, NULL, resolution, true}, {"width", "width", NULL, NULL, false}, {"height", "height", NULL, NULL, false},
    {"enable_bucket", NULL, NULL, buckets, false}, {"max_bucket_reso", NULL, NULL, buckets, false},
    {"min_bucket_reso", NULL, NULL, buckets, false}, {"bucket_*", NULL, NULL, buckets, false},
    {"aspect_*", NULL, NULL, buckets, false},
    {"cache_latents", "autoencoder", CACHED, NULL, false}, {"cache_latents_to_disk", "autoencoder", "true=0 false=-", "off", false},
    {"no_half_vae", "autoencoder_fp32", "true=1 false=0", NULL, false},
    {"vae_cache_ondemand", "autoencoder", "true=1 false=0", NULL, false}, {"cache_dir*", NULL, NULL, files, false},
    {"vae_*", NULL, NULL, "latents are cached before", false}, {"vae", NULL, NULL, files, false}, {"pretrained_vae_model_name_or_path", NULL, NULL, files, false}, {"ae", NULL, NULL, files, false},
    {"cache_text_encoder_outputs_to_disk", "text_encoders", "true=0 false=-", "off", false}, {"cache_text_encoder_outputs", "text_encoders", CACHED, NULL, false}, {"train_text_encoder", NULL, NULL, encoder, true},
    {"caption_column", NULL, NULL, prompts, false}, {"text_encoder_*", NULL, NULL, training, false},
    {"clip_l", NULL, NULL, files, false}, {"clip_g", NULL, NULL, files, false}, {"t5xxl", NULL, NULL, files, false},
    {"max_sequence_length", "text", NULL, NULL, false}, {"t5xxl_max_token_length", "text", NULL, NULL, false},
    {"network_module", NULL, "networks.lora=- networks.lora_flux=- networks.lora_sd3=-", "adapters of another kind", true},
    {"network_dim", "lora", NULL, NULL, false}, {"rank", "lora", NULL, NULL, false}, {"lora_rank", "lora", NULL, NULL, false},
    {"network_alpha", NULL, NULL, training, false}, {"lora_alpha", NULL, NULL, training, false},
    {"network_train_unet_only", NULL, "true=-", encoder, true},
    {"network_dropout", "lora_dropout", NULL, NULL, false}, {"lora_dropout", "lora_dropout", NULL, NULL, false},
    {"network_args*", NULL, NULL, targets, true}, {"lora_layers", NULL, NULL, targets, true}, {"lora_type", NULL, "standard=-", "adapters of another kind", true},
    {"model_type", NULL, "lora=- full=-", "adapters of another kind", true}, {"model_family", NULL, NULL, "the model's name says it", false},
    {"model_flavour", NULL, NULL, "the model's name says it", false},
    {"base_model_precision", "base_precision", "no_change=- bf16=bf16 nf4-bnb=nf4", "as it is", false},
    {"optimizer_type", "optimizer", "AdamW=adamw-foreach AdamW8bit=adam8bit PagedAdamW=paged-adamw PagedAdamW8bit=paged-adam8bit "
     "Adafactor=adafactor Lion=lion", NULL, false},
    {"optimizer", "optimizer", "AdamW=adamw-foreach bnb-adamw8bit=adam8bit adafactor=adafactor", NULL, false},
    {"use_8bit_adam", "optimizer", FLAG("adam8bit"), "off", false}, {"optimizer_args*", NULL, NULL, training, false},
    {"max_grad_norm", "grad_clip", NULL, NULL, false},
    {"sdpa", "attention", FLAG("flash"), "off", false}, {"xformers", "attention", FLAG("memeff"), "off", false},
    {"enable_xformers_memory_efficient_attention", "attention", FLAG("memeff"), "off", false},
    {"attention_mechanism", "attention", "diffusers=flash", NULL, false},
    {"num_processes", "gpus", NULL, NULL, false}, {"num_machines", "nodes", NULL, NULL, false},
    {"use_ema", "ema", FLAG("loop"), "off", false}, {"torch_compile", "runtime", "true=compile false=eager", NULL, false},
    {"dataset_config", NULL, NULL, "import that file, too", true}, {"data_backend_config", NULL, NULL, loading, false},
    {"dataset_*", NULL, NULL, loading, false}, {"instance_*", NULL, NULL, loading, false}, {"train_data_dir", NULL, NULL, loading, false},
    {"image_*", NULL, NULL, loading, false}, {"num_repeats", NULL, NULL, loading, false}, {"repeats", NULL, NULL, loading, false},
    {"caption_*", NULL, NULL, loading, false}, {"keep_tokens", NULL, NULL, loading, false}, {"shuffle_caption", NULL, NULL, loading, false},
    {"center_crop", NULL, NULL, loading, false}, {"random_flip", NULL, NULL, loading, false}, {"flip_aug", NULL, NULL, loading, false},
    {"dataloader_*", NULL, NULL, loading, false}, {"max_data_loader_n_workers", NULL, NULL, loading, false},
    {"persistent_data_loader_workers", NULL, NULL, loading, false}, {"num_cpu_threads_per_process", NULL, NULL, loading, false},
    {"learning_rate", NULL, NULL, training, false}, {"unet_lr", NULL, NULL, training, false}, {"lr_*", NULL, NULL, training, false},
    {"max_train_*", NULL, NULL, training, false}, {"num_train_epochs", NULL, NULL, training, false}, {"seed", NULL, NULL, training, false},
    {"guidance_scale", NULL, NULL, training, false}, {"timestep_sampling", NULL, NULL, training, false},
    {"discrete_flow_shift", NULL, NULL, training, false}, {"model_prediction_type", NULL, NULL, training, false},
    {"snr_gamma", NULL, NULL, training, false}, {"min_snr_gamma", NULL, NULL, training, false}, {"noise_offset", NULL, NULL, training, false},
    {"prediction_type", NULL, NULL, training, false}, {"proportion_empty_prompts", NULL, NULL, training, false},
    {"clip_skip", NULL, "1=-", "the encoder's last layers are left out", true},
    {"weighting_scheme", NULL, NULL, training, false}, {"adam_*", NULL, NULL, training, false}, {"highvram", NULL, NULL, "moves things sooner", false},
    {"validation_*", NULL, NULL, evaluation, false}, {"num_validation_*", NULL, NULL, evaluation, false}, {"sample_*", NULL, NULL, evaluation, false},
    {"output_*", NULL, NULL, files, false}, {"save_*", NULL, NULL, files, false}, {"log*", NULL, NULL, files, false},
    {"report_to", NULL, NULL, files, false}, {"checkpoint*", NULL, NULL, files, false}, {"push_to_hub", NULL, NULL, files, false},
    {"tracker_*", NULL, NULL, files, false}, {"metadata_*", NULL, NULL, files, false}, {"dynamo_backend", NULL, "no=-", "details of the compiler", true},
    {NULL, NULL, NULL, NULL, false},
};
static const char *const defaults[] = {"train_batch_size batch_size", "1", "gradient_accumulation_steps", "1", "max_grad_norm", "1.0",
                                       "gradient_checkpointing", "false", NULL};
// clang-format on

static int take_apart(struct mfu_import *m, const char *path, const char *text, struct mfu_error *err)
{
    size_t n = strlen(path);
    bool toml = n > 5 && strcmp(path + n - 5, ".toml") == 0, tree = text[strspn(text, " \t\r\n")] == '{';
    int status = toml ? mfu_import_assignments(m, path, text, err)
        : tree        ? mfu_import_tree(m, path, text, err)
                      : mfu_import_arguments(m, path, text, err);

    m->title = has(text, kohya) ? of_kohya : has(text, tuner) ? of_tuner : NULL;
    for (const struct script *s = scripts; !m->title; s++)
        m->title = strstr(text, s->name) ? s->title : NULL;
    for (int i = 0; i < m->n && status == 0; i++) {
        struct mfu_entry *e = &m->entries[i];
        const char *dot = toml ? strrchr(e->name, '.') : NULL;

        e->said = e->name + strspn(e->name, "[");
        e->value = !toml && !tree && !*e->value && *e->name == '-' ? "true" : e->value;
        e->name = dot ? dot + 1 : e->name + strspn(e->name, "-");
        if (*e->said == '$')
            e->name = e->said;
    }
    return status;
}

/* 1024, "832,1216" or [832, 1216]: width and height, in all three programs. */
static void find_size(struct mfu_import *m)
{
    struct mfu_entry *e = mfu_import_find(m, "resolution");
    double width, height;
    int n = e ? sscanf(e->value + strspn(e->value, "["), "%lf , %lf", &width, &height) : 0;

    if (n == 1)
        mfu_import_set(m, e, "image", "", "%.10g", width);
    else if (n == 2) {
        mfu_import_set(m, e, "width", "width, height", "%.10g", width);
        mfu_import_assume_number(m, "height", height, "resolution says it");
    }
}

/* The script of diffusers; NULL: another program. */
static const struct script *script_of(const struct mfu_import *m)
{
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (m->title == scripts[i].title)
            return &scripts[i];
    return NULL;
}

/* Adapters of the scripts for U-Nets: cast_training_params() makes them fp32 beside fp16 alone. */
static void adapt_unet(struct mfu_import *m)
{
    const struct mfu_entry *precision = mfu_import_find(m, "mixed_precision");

    mfu_import_assume(m, "lora_targets", "q,k,v,o", said_by);
    if (precision && strcmp(precision->value, "bf16") == 0)
        mfu_import_assume(m, "lora_dtype", "16bit", said_by);
}

static void finish(struct mfu_import *m)
{
    const struct script *script = script_of(m);
    struct mfu_entry *model = mfu_import_find(m, "pretrained_model_name_or_path"),
                     *disk = mfu_import_find(m, "cache_text_encoder_outputs_to_disk"),
                     *layers = mfu_import_find(m, "lora_layers"), *captions = mfu_import_find(m, "caption_column"),
                     *tokens = mfu_import_find(m, "max_sequence_length");
    bool of_sd3, of_unet, of_xl;

    find_size(m);
    for (int i = 0; i < m->n && !model; i++) /* a file of datasets: defaults are those of the other file */
        if (m->entries[i].fate == MFU_ASSUMED && strcmp(m->entries[i].name, "height") != 0)
            mfu_import_leave(&m->entries[i], MFU_IGNORED, "another file says it");
    if (!model)
        return;
    mfu_import_model(m, model);
    of_sd3 = !isnan(mfu_import_dim(m, "n_dual"));
    of_unet = !isnan(mfu_import_dim(m, "h4"));
    of_xl = !isnan(mfu_import_dim(m, "depth3"));
    if (script && script->caches) {
        mfu_import_assume(m, "autoencoder", "0", said_by);
        mfu_import_assume(m, "text_encoders", "0", said_by);
    } else if (m->title != of_tuner && !mfu_import_find(m, "cache_latents")
               && !mfu_import_find(m, "cache_latents_to_disk"))
        mfu_import_assume(m, "autoencoder", "1", "latents are not cached");
    if (script && of_sd3) { /* train_dreambooth_lora_sd3.py */
        mfu_import_assume(m, "autoencoder_fp32", "1", "the scripts of Stable Diffusion 3 hold it so");
        if (!tokens)
            mfu_import_assume_number(m, "text", CLIP + 77, "CLIP's tokens, and as many of T5");
    }
    if (script && of_xl && !script->caches && !mfu_import_find(m, "pretrained_vae_model_name_or_path"))
        mfu_import_assume(m, "autoencoder_fp32", "1", "the scripts of Stable Diffusion XL hold it so");
    if (script && (script->encodes || (of_unet && !of_xl))) /* train_dreambooth.py, too */
        mfu_import_assume(m, "text_encoders", "1", prompts);
    else if (script && of_xl && !script->caches && !captions)
        mfu_import_lack(m, "text_encoders", "", "some scripts encode prompts before: set text_encoders");
    if (script && script->adapters && !mfu_import_find(m, "rank"))
        mfu_import_assume(m, "lora", "4", said_by);
    if (m->title == of_kohya && mfu_import_find(m, "network_module") && !mfu_import_find(m, "network_train_unet_only"))
        mfu_import_lack(m, "network_train_unet_only", "false", encoder);
    tokens = tokens ? tokens : mfu_import_find(m, "t5xxl_max_token_length");
    if (of_sd3 && tokens && isfinite(mfu_import_number(m, tokens->name)))
        mfu_import_set(m, tokens, "text", "behind CLIP's", "%.10g", CLIP + mfu_import_number(m, tokens->name));
    if (m->title == of_kohya && !disk && !mfu_import_find(m, "cache_text_encoder_outputs"))
        mfu_import_assume(m, "text_encoders", "1", prompts);
    if (captions && script && !script->caches)
        mfu_import_set(m, captions, "text_encoders", prompts, "1");
    if (layers)
        mfu_import_set(m, layers, "lora_targets", "", "%s", layers->value);
    else if (script && script->adapters && (of_unet || of_xl))
        adapt_unet(m);
    else if (isfinite(mfu_import_set_number(m, "lora")) && !mfu_import_find(m, "network_args"))
        mfu_import_lack(m, "lora_targets", "", targets);
}

const struct mfu_import_format mfu_import_format_diffusion = {
    .name = "diffusion",
    .title = "trainer of diffusion transformers",
    .recognise = recognise,
    .take_apart = take_apart,
    .rows = rows,
    .defaults = defaults,
    .finish = finish,
};
