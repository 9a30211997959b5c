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

#define KOHYA "network_module|cache_text_encoder_outputs|bucket_reso|[datasets|flux_train|sd3_train|sdxl_train"
#define TUNER "data_backend_config|\"model_family\"|--model_family"
#define OTHERS "train_dreambooth|cache_latents|train_text_to_image"

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
    {"pretrained_model_name_or_path", .note = "no model of this name is known: choose one", .unmodelled = true},
    {"train_batch_size batch_size", .key = "batch"},
    {"gradient_accumulation_steps", .key = "accum"},
    {"gradient_checkpointing", .key = "checkpoint", .values = "true=full false=none"},
    {"mixed_precision", .key = "precision", .values = "no=fp32 bf16=bf16 fp16=fp16"},
    {"full_bf16", .key = "precision", .values = FLAG("bf16-pure"), .note = "off"},
    {"resolution_type", .values = "pixel=- pixel_area=-", .note = resolution, .unmodelled = true},
    {"resolution*", .note = resolution, .unmodelled = true},
    {"width", .key = "width"},
    {"height", .key = "height"},
    {"enable_bucket max_bucket_reso min_bucket_reso bucket_* aspect_*", .note = buckets},
    {"cache_latents", .key = "autoencoder", .values = CACHED},
    {"cache_latents_to_disk", .key = "autoencoder", .values = "true=0 false=-", .note = "off"},
    {"no_half_vae", .key = "autoencoder_fp32", .values = "true=1 false=0"},
    {"vae_cache_ondemand", .key = "autoencoder", .values = "true=1 false=0"},
    {"cache_dir*", .note = MFU_NOTE_FILES},
    {"vae_*", .note = "latents are cached before"},
    {"vae pretrained_vae_model_name_or_path ae clip_l clip_g t5xxl output_* save_* log* report_to checkpoint* "
     "push_to_hub tracker_* metadata_*", .note = MFU_NOTE_FILES},
    {"cache_text_encoder_outputs_to_disk", .key = "text_encoders", .values = "true=0 false=-", .note = "off"},
    {"cache_text_encoder_outputs", .key = "text_encoders", .values = CACHED},
    {"train_text_encoder", .note = encoder, .unmodelled = true},
    {"caption_column", .note = prompts},
    {"text_encoder_* network_alpha lora_alpha optimizer_args* learning_rate unet_lr lr_* max_train_* num_train_epochs "
     "seed guidance_scale timestep_sampling discrete_flow_shift model_prediction_type snr_gamma min_snr_gamma "
     "noise_offset prediction_type proportion_empty_prompts weighting_scheme adam_*", .note = MFU_NOTE_TRAINING},
    {"max_sequence_length t5xxl_max_token_length", .key = "text"},
    {"network_module", .values = "networks.lora=- networks.lora_flux=- networks.lora_sd3=-",
     .note = "adapters of another kind", .unmodelled = true},
    {"network_dim rank lora_rank", .key = "lora"},
    {"network_train_unet_only", .values = "true=-", .note = encoder, .unmodelled = true},
    {"network_dropout lora_dropout", .key = "lora_dropout"},
    {"network_args* lora_layers", .note = targets, .unmodelled = true},
    {"lora_type", .values = "standard=-", .note = "adapters of another kind", .unmodelled = true},
    {"model_type", .values = "lora=- full=-", .note = "adapters of another kind", .unmodelled = true},
    {"model_family model_flavour", .note = "the model's name says it"},
    {"base_model_precision", .key = "base_precision", .values = "no_change=- bf16=bf16 nf4-bnb=nf4",
     .note = "as it is"},
    {"optimizer_type", .key = "optimizer",
     .values = "AdamW=adamw-foreach AdamW8bit=adam8bit PagedAdamW=paged-adamw PagedAdamW8bit=paged-adam8bit "
     "Adafactor=adafactor Lion=lion"},
    {"optimizer", .key = "optimizer", .values = "AdamW=adamw-foreach bnb-adamw8bit=adam8bit adafactor=adafactor"},
    {"use_8bit_adam", .key = "optimizer", .values = FLAG("adam8bit"), .note = "off"},
    {"max_grad_norm", .key = "grad_clip"},
    {"sdpa", .key = "attention", .values = FLAG("flash"), .note = "off"},
    {"xformers enable_xformers_memory_efficient_attention", .key = "attention", .values = FLAG("memeff"),
     .note = "off"},
    {"attention_mechanism", .key = "attention", .values = "diffusers=flash"},
    {"num_processes", .key = "gpus"},
    {"num_machines", .key = "nodes"},
    {"use_ema", .key = "ema", .values = FLAG("loop"), .note = "off"},
    {"torch_compile", .key = "runtime", .values = "true=compile false=eager"},
    {"dataset_config", .note = "import that file, too", .unmodelled = true},
    {"data_backend_config dataset_* instance_* train_data_dir image_* num_repeats repeats caption_* keep_tokens "
     "shuffle_caption center_crop random_flip flip_aug dataloader_* max_data_loader_n_workers "
     "persistent_data_loader_workers num_cpu_threads_per_process", .note = MFU_NOTE_LOADING},
    {"clip_skip", .values = "1=-", .note = "the encoder's last layers are left out", .unmodelled = true},
    {"highvram", .note = "moves things sooner"},
    {"validation_* num_validation_* sample_*", .note = MFU_NOTE_EVALUATION},
    {"dynamo_backend", .values = "no=-", .note = "details of the compiler", .unmodelled = true},
    {.names = NULL},
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

    m->title = mfu_import_marked(text, KOHYA) ? of_kohya : mfu_import_marked(text, TUNER) ? of_tuner : NULL;
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
    .marks = KOHYA "|" TUNER "|" OTHERS,
    .take_apart = take_apart,
    .rows = rows,
    .defaults = defaults,
    .finish = finish,
};
