/* test_import.c - every entry of another program's file has a fate. */
#include "catalog.h"

#include <stdlib.h>
#include <string.h>

#include "answer/observe/observe.h"
#include "base/suggest.h"
#include "read/config/import.h"
#include "base/error.h"
#include "descriptor/module_kinds.h"
#include "scratch.h"
#include "scenario/adapter.h"
#include "scenario/setting.h"

#define DATA MFUPLAN_SOURCE_DIR "/tests/data/import/"

static struct mfu_import *import;
static struct mfu_scenario start, next;
static struct mfu_config config;

static int set_up(void **state)
{
    if (open_catalog(state) < 0)
        return -1;
    start = mfu_scenario_start(mfu_catalog_model(catalog, "gpt2", NULL), mfu_catalog_gpu(catalog, "h100-sxm", NULL));
    return 0;
}

/* What was read last stays until then. */
static void let_go(void)
{
    if (import)
        mfu_import_release(import);
    free(import);
    import = NULL;
}

static int tear_down(void **state)
{
    let_go();
    return close_catalog(state);
}

/* `observe --config` takes from the same file what `import` does: every setting, every dimension, the same
 * model and GPU, and the same things left out. */
static void observe_agrees(const char *path)
{
    struct mfu_observe_request request = {.config = path, .figures = "step_ms 1000"};
    struct mfu_error err = {0};
    struct mfu_observation *o = mfu_observe(catalog, &start, &request, &err);
    const struct mfu_scenario *s;

    if (!o)
        fail_msg("%s: %s", path, err.text);
    s = &o->plan.scenario;
    if (s->model != next.model || s->gpu != next.gpu)
        fail_msg("%s: observe has %s on %s, import %s on %s", path, s->model->slug, s->gpu->slug, next.model->slug,
                 next.gpu->slug);
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        if (s->setting_given[i] != next.setting_given[i] || (next.setting_given[i] && s->setting[i] != next.setting[i]))
            fail_msg("%s: %s: observe has %g, import %g", path, mfu_settings[i].key, s->setting[i], next.setting[i]);
    for (int i = 0; i < next.model->n_dims; i++)
        if (s->dim_given[i] != next.dim_given[i] || (next.dim_given[i] && s->dim[i] != next.dim[i]))
            fail_msg("%s: %s: observe has %g, import %g", path, next.model->dims[i].name, s->dim[i], next.dim[i]);
    assert_string_equal(s->not_modelled, next.not_modelled);
    mfu_observation_free(o);
}

static void read_file(const char *path, const char *format)
{
    struct mfu_error err = {0};

    let_go();
    import = calloc(1, sizeof *import);
    assert_non_null(import);
    import->catalog = catalog;
    import->start = &start;
    next = start;
    if (mfu_import_read(import, path, NULL, &err) < 0)
        fail_msg("%s: %s", path, err.text);
    assert_string_equal(import->format->name, format);
    assert_int_equal(mfu_import_apply(import, &next, &err), 0);
    assert_int_equal(mfu_scenario_resolve(&next, &config, &err), 0);
    observe_agrees(path);
}

static enum mfu_fate fate(const char *name)
{
    struct mfu_entry *e = mfu_import_find(import, name);

    if (!e)
        fail_msg("no entry is called %s", name);
    return e->fate;
}

static const char *note(const char *name)
{
    struct mfu_entry *e = mfu_import_find(import, name);

    if (!e)
        fail_msg("no entry is called %s", name);
    return e->note;
}

/* What a file of this name and text sets where `gpus` were set before; 0: not. */
static void read_as(const char *name, const char *text, const char *format, const char *gpus)
{
    struct mfu_scenario before = start;
    SCRATCH s = scratch_new();

    if (gpus)
        assert_int_equal(mfu_scenario_set(&start, "gpus", gpus, NULL), 0);
    read_file(scratch_file(&s, name, text), format);
    start = before;
}

static double setting(enum mfu_setting_id id)
{
    return config.setting[id];
}

static void nanogpt_is_understood(void **state)
{
    (void)state;
    read_file(DATA "nanogpt-train2.py", "nanogpt");
    assert_string_equal(next.model->slug, "gpt2");
    assert_near(config.batch, 16, 0);
    assert_near(config.accum, 32, 0); /* 4 * 8, and a comment behind it */
    assert_near(mfu_config_dim(&config, "n_embd"), 384, 0);
    assert_int_equal(config.runtime, MFU_COMPILE);
    assert_int_equal(fate("out_dir"), MFU_IGNORED);
    assert_int_equal(fate("wandb_log"), MFU_IGNORED);
    assert_int_equal(fate("n_layer"), MFU_ASSUMED);
    assert_int_equal(fate("my_own_switch"), MFU_UNMODELLED);
    assert_int_equal(mfu_import_find(import, "n_embd")->line, 8);
}

static void llmc_is_understood(void **state)
{
    (void)state;
    read_file(DATA "llmc.sh", "llmc");
    assert_near(config.batch, 64, 0);
    assert_near(config.seq, 1024, 0);
    assert_near(config.accum, 1, 0); /* 524288 / (64 * 1024 * 8) */
    assert_near(setting(MFU_S_GPUS), 8, 0);
    assert_int_equal(config.runtime, MFU_LLMC);
    assert_near(mfu_config_dim(&config, "n_layer"), 12, 0);
    assert_int_equal(fate("-i"), MFU_IGNORED);
}

static void torchtitan_is_understood(void **state)
{
    (void)state;
    read_file(DATA "torchtitan.toml", "torchtitan");
    assert_string_equal(next.model->slug, "llama-3-8b");
    assert_near(config.seq, 8192, 0);
    assert_int_equal(config.runtime, MFU_COMPILE);
    assert_int_equal(config.checkpoint, MFU_SELECTIVE);
    assert_near(setting(MFU_S_ZERO), 3, 0); /* over how many GPUs the file does not say */
    assert_non_null(strstr(note("parallelism.data_parallel_shard_degree"), "set gpus"));
    assert_null(mfu_import_find(import, "compile.enable")); /* training.compile is its older name */
    assert_int_equal(fate("job.dump_folder"), MFU_IGNORED);
}

static void training_arguments_are_understood(void **state)
{
    (void)state;
    read_file(DATA "training_args.json", "huggingface");
    assert_string_equal(next.model->slug, "llama-3-8b");
    assert_near(config.batch, 4, 0);
    assert_near(config.accum, 8, 0);
    assert_int_equal(config.precision, MFU_BF16);
    assert_int_equal(config.checkpoint, MFU_FULL);
    assert_int_equal(fate("fp16"), MFU_IGNORED);
    assert_int_equal(fate("fsdp"), MFU_UNDERSTOOD);
    assert_near(setting(MFU_S_ZERO), 3, 0);
    assert_int_equal(fate("something_new"), MFU_UNMODELLED);
    read_file(DATA "training_args.yaml", "huggingface");
    assert_int_equal(config.precision, MFU_TF32);
    assert_int_equal(config.optimizer, MFU_ADAMW_FOREACH);
}

static void trainers_of_diffusion_are_understood(void **state)
{
    (void)state;
    read_file(DATA "diffusers-flux-lora.sh", "diffusion");
    assert_string_equal(next.model->slug, "flux-dev");
    assert_near(config.batch * config.accum, 8, 0);
    assert_near(config.seq, 1024, 0); /* 512 x 512 */
    assert_near(mfu_config_dim(&config, "autoencoder"), 1, 0);
    assert_int_equal(config.optimizer, MFU_ADAM8BIT);
    assert_int_equal(config.checkpoint, MFU_FULL);
    assert_near(setting(MFU_S_LORA), 16, 0);
    assert_string_equal(next.not_modelled, "");
    read_file(DATA "sd-scripts-sd3.toml", "diffusion");
    assert_string_equal(next.model->slug, "sd3.5-large");
    assert_near(mfu_config_dim(&config, "width"), 1216, 0);
    assert_near(config.seq, 76 * 52, 0);
    assert_near(mfu_config_dim(&config, "autoencoder"), 0, 0);
    assert_int_equal(fate("dataset.enable_bucket"), MFU_IGNORED);
    assert_int_equal(fate("training.cache_text_encoder_outputs"), MFU_UNDERSTOOD);
    assert_near(mfu_config_dim(&config, "text_encoders"), 0, 0);
    assert_non_null(strstr(next.not_modelled, "lora_targets"));
}

/* A file of datasets says what it says, and takes back nothing of the trainer's. */
static void datasets_leave_the_trainer_alone(void **state)
{
    (void)state;
    read_as("ds.toml",
            "[general]\nenable_bucket = true\n[[datasets]]\nresolution = [832, 1216]\nbatch_size = 4\n"
            "[[datasets.subsets]]\nimage_dir = \"a\"\n",
            "diffusion", NULL);
    assert_near(config.batch, 4, 0);
    assert_int_equal(fate("datasets.batch_size"), MFU_UNDERSTOOD);
    assert_int_equal(fate("gradient_checkpointing"), MFU_IGNORED);
    assert_false(next.setting_given[MFU_S_CHECKPOINT] || next.setting_given[MFU_S_ACCUM]);
}

/* What runs in the step unless it is cached is never passed over. */
static void uncached_encoders_are_never_silent(void **state)
{
    static const struct {
        const char *lines, *left;
        double autoencoder, text_encoders;
    } all[] = {
        {"network_module = \"networks.lora_sd3\"\n", "network_train_unet_only", 1, 1},
        {"network_module = \"networks.lora_sd3\"\ncache_text_encoder_outputs = false\ncache_latents = true\n",
         "network_train_unet_only", 0, 1},
        {"cache_text_encoder_outputs = true\ncache_latents_to_disk = true\n", NULL, 0, 0},
        {"cache_text_encoder_outputs_to_disk = true\n", NULL, 1, 0},
        {"cache_latents = true\ncaption_column = \"text\"\n", NULL, 0, 1},
        {"cache_latents = false\ntrain_text_encoder = true\n", "train_text_encoder", 1, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[400];

        snprintf(text, sizeof text, "pretrained_model_name_or_path = \"stabilityai/stable-diffusion-3-medium\"\n%s",
                 all[i].lines);
        read_as("a.toml", text, "diffusion", NULL);
        assert_near(mfu_config_dim(&config, "autoencoder"), all[i].autoencoder, 0);
        assert_near(mfu_config_dim(&config, "text_encoders"), all[i].text_encoders, 0);
        if (all[i].left)
            assert_non_null(strstr(next.not_modelled, all[i].left));
        else
            assert_string_equal(next.not_modelled, "");
    }
}

/* The commands of diffusers' examples/text_to_image/README.md and README_sdxl.md, and of sd-scripts' networks, shortened:
 * what a script does that no option says, and what stays open. */
static void scripts_of_unets_say_what_they_do(void **state)
{
    static const struct {
        const char *path, *text, *model, *left;
        double lora, targets, half, autoencoder, fp32, text_encoders;
    } all[] = {
#define V1 "--pretrained_model_name_or_path=stable-diffusion-v1-5/stable-diffusion-v1-5 --resolution=512 "
#define XL "--pretrained_model_name_or_path=stabilityai/stable-diffusion-xl-base-1.0 --resolution=1024 "
#define QKVO (MFU_MODULE_BIT(QUERY) | MFU_MODULE_BIT(KEY) | MFU_MODULE_BIT(VALUE) | MFU_MODULE_BIT(OUT))
        {"a.sh", "accelerate launch --mixed_precision=fp16 train_text_to_image.py " V1 "--use_ema --snr_gamma=5\n",
         "stable-diffusion-1.5", NULL, 0, 0, 0, 1, 0, 1},
        {"a.sh", "accelerate launch --mixed_precision=fp16 train_text_to_image_lora.py " V1 "--noise_offset=0.1\n",
         "stable-diffusion-1.5", NULL, 4, QKVO, 0, 1, 0, 1},
        {"a.sh", "accelerate launch --mixed_precision=bf16 train_text_to_image_lora.py " V1 "--rank=16\n",
         "stable-diffusion-1.5", NULL, 16, QKVO, 1, 1, 0, 1},
        {"a.sh", "accelerate launch train_text_to_image_sdxl.py " XL "--mixed_precision=fp16 --use_8bit_adam\n",
         "stable-diffusion-xl", NULL, 0, 0, 0, 0, 0, 0},
        {"a.sh", "accelerate launch train_text_to_image_lora_sdxl.py " XL "--mixed_precision=fp16\n",
         "stable-diffusion-xl", NULL, 4, QKVO, 0, 1, 1, 1},
        {"a.sh",
         "accelerate launch train_text_to_image_lora_sdxl.py " XL
         "--mixed_precision=fp16 --pretrained_vae_model_name_or_path=madebyollin/sdxl-vae-fp16-fix\n",
         "stable-diffusion-xl", NULL, 4, QKVO, 0, 1, 0, 1},
        {"a.toml",
         "pretrained_model_name_or_path = \"stabilityai/stable-diffusion-xl-base-1.0\"\ncache_latents = true\n"
         "cache_text_encoder_outputs = true\nnetwork_train_unet_only = true\nnetwork_module = \"networks.lora\"\n"
         "network_dim = 32\nmin_snr_gamma = 5\nclip_skip = 1\n",
         "stable-diffusion-xl", "lora_targets", 32, 0, 0, 0, 0, 0},
        {"a.toml",
         "pretrained_model_name_or_path = \"stable-diffusion-v1-5/stable-diffusion-v1-5\"\nclip_skip = 2\n"
         "network_module = \"networks.lora\"\nnetwork_dim = 8\n",
         "stable-diffusion-1.5", "clip_skip", 8, 0, 0, 1, 0, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        read_as(all[i].path, all[i].text, "diffusion", NULL);
        assert_string_equal(next.model->slug, all[i].model);
        assert_near(setting(MFU_S_LORA), all[i].lora, 0);
        if (all[i].targets > 0)
            assert_near(setting(MFU_S_LORA_TARGETS), all[i].targets, 0);
        assert_near(setting(MFU_S_LORA_DTYPE), all[i].half, 0);
        assert_near(mfu_config_dim(&config, "autoencoder"), all[i].autoencoder, 0);
        assert_near(mfu_config_dim(&config, "autoencoder_fp32"), all[i].fp32, 0);
        assert_near(mfu_config_dim(&config, "text_encoders"), all[i].text_encoders, 0);
        if (all[i].left)
            assert_non_null(strstr(next.not_modelled, all[i].left));
        else
            assert_string_equal(next.not_modelled, "");
    }
}

static void deepspeed_is_understood(void **state)
{
    (void)state;
    read_file(DATA "deepspeed.json", "deepspeed");
    assert_near(config.batch, 4, 0);
    assert_near(config.accum, 2, 0);
    assert_near(setting(MFU_S_GPUS), 8, 0); /* 64 / (4 * 2) */
    assert_int_equal(config.precision, MFU_BF16);
    assert_near(setting(MFU_S_OFFLOAD_OPTIMIZER), 1, 0);
    assert_int_equal(fate("scheduler.params.warmup_num_steps"), MFU_IGNORED);
}

static void megatron_is_understood(void **state)
{
    (void)state;
    read_file(DATA "megatron.sh", "megatron");
    assert_string_equal(next.model->slug, "llama-2-7b");
    assert_near(mfu_config_dim(&config, "n_layer"), 24, 0);
    assert_near(setting(MFU_S_GPUS), 8, 0); /* a variable of the script */
    assert_near(config.accum, 8, 0);        /* 256 / (4 * 8) */
    assert_int_equal(config.checkpoint, MFU_SELECTIVE);
    assert_int_equal(fate("--frobnicate"), MFU_UNMODELLED);
    assert_string_equal(mfu_import_find(import, "--disable-bias-linear")->value, "");
}

/* ---- llm.c --------------------------------------------------------------- */

/* The defaults of train_gpt2.cu: -r 1 recomputes GELU, without -d no accumulation. */
static void llmc_recomputes_what_r_says(void **state)
{
    static const struct {
        const char *option;
        enum mfu_checkpoint level;
    } rows[] = {{"", MFU_SELECTIVE}, {"-r 0", MFU_NONE}, {"-r 1", MFU_SELECTIVE}, {"-r 2", MFU_FULL}};
    char text[100];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, "./train_gpt2cu -e d48 -b 16 -t 1024 %s\n", rows[i].option);
        read_as("a.sh", text, "llmc", NULL);
        assert_int_equal(config.checkpoint, rows[i].level);
        assert_near(config.accum, 1, 0);
        assert_near(mfu_config_dim(&config, "n_embd"), 1600, 0);
    }
}

static void llmc_knows_shapes_by_name(void **state)
{
    static const struct {
        const char *name;
        double layers, width;
    } rows[] = {{"gpt2_1558M_bf16.bin", 48, 1600},
                {"gpt2_124M_bf16.bin", 12, 768},
                {"gpt2:d36", 36, 1280},
                {"gpt3:c2048", 24, 2048},
                {"dir/gpt2_d24.bin", 24, 1024}};
    char text[100];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, "./train_gpt2cu -e %s\n", rows[i].name);
        read_as("a.sh", text, "llmc", NULL);
        assert_near(mfu_config_dim(&config, "n_layer"), rows[i].layers, 0);
        assert_near(mfu_config_dim(&config, "n_embd"), rows[i].width, 0);
    }
    read_as("a.sh", "./train_gpt2cu -e my_own.bin\n", "llmc", NULL);
    assert_int_equal(fate("-e"), MFU_UNMODELLED);
}

/* Weights without _bf16 in their name are fp32's; make says the rest. */
static void llmc_is_as_it_was_built(void **state)
{
    (void)state;
    read_as("a.sh", "make train_gpt2cu USE_CUDNN=1\n./train_gpt2cu -e gpt2_124M.bin -w 1 -ge 0\n", "llmc", NULL);
    assert_int_equal(config.precision, MFU_TF32);
    assert_int_equal(fate("-w"), MFU_IGNORED);
    assert_int_equal(fate("-ge"), MFU_IGNORED);
    read_as("a.sh", "make train_gpt2cu USE_CUDNN=0\n./train_gpt2cu -e d12 -w 0\n", "llmc", NULL);
    assert_int_equal(config.precision, MFU_BF16);
    assert_int_equal(config.attention, MFU_MATH);
    assert_int_equal(fate("-w"), MFU_UNMODELLED);
}

/* A script around it: other commands' options are not the program's. */
static void llmc_is_found_in_a_script(void **state)
{
    (void)state;
    read_as("run.sh",
            "binary=\"/home/me/llm.c/train_gpt2cu\"\nout=${OUT:-log}\nscp -r $binary host:$binary\nrm -f x -b 7\n"
            "mpirun -np 16 --host a:8,b:8 \\\n    $binary \\\n    -b 32 -t 1024 -o $out \\\n    -d 2097152 -r 0 -z 1 "
            "-e d12\n",
            "llmc", NULL);
    assert_near(config.batch, 32, 0);
    assert_near(config.accum, 4, 0); /* 2097152 / (32 * 1024 * 16) */
    assert_null(mfu_import_find(import, "-f"));
    assert_string_equal(mfu_import_find(import, "-o")->value, "log");
    assert_string_equal(mfu_import_find(import, "nodes")->value, "2");
    read_as("run.sh", "srun bash -c \"./train_gpt2cu -b 8 -t 512 -e d24\"\n", "llmc", NULL);
    assert_near(config.batch, 8, 0);
    assert_near(mfu_config_dim(&config, "n_layer"), 24, 0);
}

/* ---- Megatron-LM --------------------------------------------------------- */

#define MEGATRON                                                                                                       \
    "pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 "                   \
    "--micro-batch-size 2 --global-batch-size 64 --bf16 "

/* arguments.py: biases on, embeddings tied, no grouped queries, an MLP of 2/3 * 4h
 * in multiples of 64, a vocabulary padded to 128 per tensor-parallel rank. */
static void megatron_has_its_own_defaults(void **state)
{
    (void)state;
    read_as("a.sh", MEGATRON "--swiglu --normalization RMSNorm --tokenizer-type Llama2Tokenizer", "megatron", "8");
    assert_string_equal(next.model->slug, "llama-2-7b");
    assert_near(config.accum, 4, 0); /* 64 / (2 * 8 GPUs of the scenario) */
    assert_near(mfu_config_dim(&config, "d_ff"), 5440, 0);
    assert_near(mfu_config_dim(&config, "bias"), 1, 0);
    assert_near(mfu_config_dim(&config, "tied"), 1, 0);
    assert_near(mfu_config_dim(&config, "n_kv_head"), 16, 0);
    assert_near(mfu_config_dim(&config, "vocab_size"), 32000, 0);
    assert_int_equal(fate("bias"), MFU_ASSUMED);
    assert_int_equal(fate("d_ff"), MFU_ASSUMED);
    assert_int_equal(fate("--hidden-dropout"), MFU_UNMODELLED); /* 0.1, and Llama's graph has none */
    read_as("a.sh", MEGATRON "--vocab-file v.json --merge-file m.txt", "megatron", NULL);
    assert_string_equal(next.model->slug, "gpt2");
    assert_near(mfu_config_dim(&config, "dropout"), 0.1, 0);
    assert_near(mfu_config_dim(&config, "vocab_size"), 50304, 0);
    assert_near(mfu_config_dim(&config, "d_ff"), 8192, 0);
    assert_near(config.accum, 32, 0);
}

static void megatron_experts_have_all_heads(void **state)
{
    (void)state;
    read_as("a.sh", MEGATRON "--swiglu --normalization RMSNorm --num-experts 8 --moe-ffn-hidden-size 1408", "megatron",
            NULL);
    assert_string_equal(next.model->slug, "mixtral-8x7b");
    assert_near(mfu_config_dim(&config, "n_kv_head"), 16, 0);
    assert_near(mfu_config_dim(&config, "d_ff"), 1408, 0);
    assert_near(mfu_config_dim(&config, "top_k"), 2, 0);
    read_as("a.sh",
            MEGATRON
            "--swiglu --normalization RMSNorm --num-experts 8 --tensor-model-parallel-size 2 --sequence-parallel "
            "--pipeline-model-parallel-size 2 --overlap-p2p-communication --expert-model-parallel-size 8 "
            "--expert-tensor-parallel-size 1",
            "megatron", "16");
    assert_near(setting(MFU_S_EP), 8, 0);
    assert_near(setting(MFU_S_ETP), 1, 0);
    assert_near(setting(MFU_S_OVERLAP_P2P), 0, 0); /* 1F1B's messages, whatever is asked */
    read_as("a.sh", MEGATRON "--swiglu --group-query-attention --num-query-groups 4", "megatron", NULL);
    assert_near(mfu_config_dim(&config, "n_kv_head"), 4, 0);
}

/* Of method block, the first layers of each stage. */
static void megatron_recomputes_some_layers(void **state)
{
    (void)state;
    read_as("a.sh", MEGATRON "--recompute-granularity full --recompute-method block --recompute-num-layers 3",
            "megatron", NULL);
    assert_int_equal(config.checkpoint, MFU_FULL);
    assert_near(setting(MFU_S_CHECKPOINT_LAYERS), 3, 0);
    read_as("a.sh", MEGATRON "--recompute-granularity full --recompute-method block --recompute-num-layers 0",
            "megatron", NULL);
    assert_int_equal(config.checkpoint, MFU_NONE);
    read_as("a.sh", MEGATRON "--recompute-granularity full --recompute-method uniform --recompute-num-layers 3",
            "megatron", NULL);
    assert_near(setting(MFU_S_CHECKPOINT_LAYERS), 0, 0);
    assert_int_equal(fate("--recompute-num-layers"), MFU_UNMODELLED);
}

/* "--fp8-format hybrid" in quotes; fp8 wins over --bf16, wherever it stands. */
static void megatron_lists_may_be_quoted(void **state)
{
    (void)state;
    read_as("a.sh",
            "mkdir -p ${OUT:-\"out dir\"}\nFP8=(\n \"--fp8-format hybrid\"\n \"--split '99,1,0'\"\n)\n" MEGATRON
            "--attention-backend auto --recompute-method uniform --recompute-num-layers 1 --no-load-optim",
            "megatron", NULL);
    assert_int_equal(config.precision, MFU_FP8);
    assert_int_equal(fate("--bf16"), MFU_IGNORED);
    assert_int_equal(fate("-p"), MFU_IGNORED);
    assert_int_equal(fate("--split"), MFU_IGNORED);
    assert_int_equal(fate("--attention-backend"), MFU_IGNORED);
    assert_int_equal(fate("--recompute-method"), MFU_IGNORED);
    assert_int_equal(fate("--no-load-optim"), MFU_IGNORED);
}

/* Weights in fp8 where Megatron has them so, and mfuplan too. */
static void megatron_holds_weights_in_fp8(void **state)
{
    static const struct {
        const char *options;
        enum mfu_fate fate;
    } rows[] = {{"--fp8-format hybrid --use-distributed-optimizer", MFU_UNDERSTOOD},
                {"--fp8-format e4m3 --fp8-recipe blockwise --use-distributed-optimizer", MFU_UNDERSTOOD},
                {"--fp8-format e4m3 --fp8-recipe mxfp8 --use-distributed-optimizer", MFU_UNMODELLED},
                {"--fp8-format hybrid --use-torch-fsdp2", MFU_IGNORED},
                {"--use-distributed-optimizer", MFU_IGNORED}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024];

        snprintf(text, sizeof text, MEGATRON "--fp8-param-gather %s", rows[i].options);
        read_as("a.sh", text, "megatron", NULL);
        assert_int_equal(fate("--fp8-param-gather"), rows[i].fate);
        assert_near(setting(MFU_S_FP8_WEIGHTS), rows[i].fate == MFU_UNDERSTOOD, 0);
    }
}

/* --recompute-modules takes words up to the next option, and counts with granularity selective alone. */
static void megatron_names_modules_to_recompute(void **state)
{
    char text[MFU_QUANTITY_MAX];

    (void)state;
    read_as("a.sh",
            MEGATRON "--recompute-granularity selective --recompute-modules layernorm mlp --num-experts 8 "
                     "--attention-backend auto",
            "megatron", NULL);
    assert_string_equal(mfu_setting_format(text, MFU_S_RECOMPUTE_MODULES, setting(MFU_S_RECOMPUTE_MODULES)),
                        "layernorm,mlp");
    assert_int_equal(config.checkpoint, MFU_SELECTIVE);
    read_as("a.sh", MEGATRON "--recompute-granularity full --recompute-modules mlp", "megatron", NULL);
    assert_int_equal(config.checkpoint, MFU_FULL);
    assert_int_equal(fate("--recompute-modules"), MFU_IGNORED);
}

/* The flag is granularity selective by itself, and adds a module to those that are named. */
static void megatron_recomputes_experts(void **state)
{
    static const struct {
        const char *options, *modules;
    } rows[] = {
        {"--moe-layer-recompute", "core_attn,moe"},
        {"--moe-layer-recompute --recompute-granularity selective", "core_attn,moe"},
        {"--moe-layer-recompute --recompute-activations --recompute-modules layernorm", "layernorm,moe"},
        {"--moe-router-dtype fp32 --recompute-granularity selective", "core_attn"},
    };
    char text[MFU_QUANTITY_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[1024];

        snprintf(line, sizeof line, "%s --num-experts 8 --swiglu %s\n", MEGATRON, rows[i].options);
        read_as("a.sh", line, "megatron", NULL);
        assert_string_equal(mfu_setting_format(text, MFU_S_RECOMPUTE_MODULES, setting(MFU_S_RECOMPUTE_MODULES)),
                            rows[i].modules);
        assert_int_equal(config.checkpoint, MFU_SELECTIVE);
    }
}

/* Lists of bash on one line lose no option, and what follows an option's words is not one of them. */
static void megatron_arguments_may_be_an_array(void **state)
{
    static const char *const rest[] = {
        "PAR=(--context-parallel-size 8 --clip-grad 0.5)\npython pretrain_gpt.py ",
        "PAR=( --context-parallel-size 8 )\nPAR+=(--clip-grad 0.5)\npython pretrain_gpt.py ",
        "PAR=(\n  --context-parallel-size 8\n  --clip-grad 0.5\n)\npython pretrain_gpt.py ",
    };
    static const char *const ends[] = {"${PAR[@]}",   "\"${PAR[@]}\"",  "$@",   "&& echo done",
                                       "; echo done", "2>&1 | tee log", "> log"};

    (void)state;
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
            char text[2048];

            snprintf(text, sizeof text,
                     "%s" MEGATRON "--recompute-activations %s\n" MEGATRON
                     "--recompute-granularity selective --recompute-modules core_attn mlp %s\n" MEGATRON
                     "--cp-comm-type a2a %s\n",
                     rest[i], ends[k], ends[k], ends[k]);
            read_as("a.sh", text, "megatron", "8");
            assert_near(setting(MFU_S_CP), 8, 0);
            assert_near(setting(MFU_S_GRAD_CLIP), 0.5, 0);
            assert_near(setting(MFU_S_CONTEXT), MFU_CONTEXT_A2A, 0);
            assert_string_equal(mfu_import_find(import, "--recompute-modules")->value, "core_attn,mlp");
            assert_string_equal(mfu_import_find(import, "--recompute-activations")->value, "");
        }
}

/* The first of the hierarchical sizes is that of the groups that exchange heads. */
static void megatron_says_how_context_is_exchanged(void **state)
{
    (void)state;
    read_as("a.sh",
            MEGATRON "--context-parallel-size 8 --cp-comm-type a2a+p2p --hierarchical-context-parallel-sizes 2 4",
            "megatron", "8");
    assert_near(setting(MFU_S_CONTEXT), MFU_CONTEXT_A2A_P2P, 0);
    assert_near(setting(MFU_S_CP_HEADS), 2, 0);
}

/* As the scripts of 2023 had it. */
static void megatron_arguments_may_be_a_variable(void **state)
{
    (void)state;
    read_as("a.sh",
            "N=4\nDISTRIBUTED_ARGS=\"\n    --nproc_per_node $N \\\n    --nnodes 1\n\"\nGPT_ARGS=\"\n    --num-layers "
            "24 \\\n"
            "    --hidden-size 1024 \\\n    --num-attention-heads 16 \\\n    --seq-length 512 \\\n    "
            "--micro-batch-size 8 \\\n"
            "    --global-batch-size 64 \\\n    --fp16\n\"\ntorchrun $DISTRIBUTED_ARGS pretrain_gpt.py $GPT_ARGS "
            "--clip-grad 0.5\n",
            "megatron", NULL);
    assert_near(mfu_config_dim(&config, "n_layer"), 24, 0);
    assert_near(setting(MFU_S_GPUS), 4, 0);
    assert_near(config.accum, 2, 0);
    assert_near(setting(MFU_S_GRAD_CLIP), 0.5, 0);
    assert_int_equal(config.precision, MFU_FP16);
    assert_int_equal(mfu_import_find(import, "--num-layers")->line, 7);
}

/* ---- torchtitan ---------------------------------------------------------- */

static void torchtitan_shards_over_the_scenarios_gpus(void **state)
{
    static const char job[] =
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\nconverters = "
        "[\"float8\"]\n[training]\nlocal_batch_size = 1\n"
        "global_batch_size = 32\nseq_len = 8192\n[parallelism]\ndata_parallel_shard_degree = -1\n[compile]\nenable = "
        "true\n"
        "[activation_checkpoint]\nmode = \"none\"\n[quantize.linear.float8]\nfilter_fqns = [\"output\"]\n";

    (void)state;
    read_as("a.toml", job, "torchtitan", "8");
    assert_near(setting(MFU_S_ZERO), 3, 0);
    assert_near(setting(MFU_S_GPUS), 8, 0);
    assert_near(config.accum, 4, 0);
    assert_int_equal(config.precision, MFU_FP8_CURRENT);
    assert_int_equal(config.runtime, MFU_COMPILE);
    assert_int_equal(config.checkpoint, MFU_NONE);
    assert_int_equal(config.optimizer, MFU_ADAMW);
    assert_near(setting(MFU_S_GRAD_REDUCE), MFU_REDUCE_FP32, 0); /* torchtitan's default */
    assert_near(setting(MFU_S_EXPANDABLE_SEGMENTS), 1, 0);       /* of run_train.sh */
    read_as("a.toml", "[model]\nname = \"llama3\"\n[training]\nmixed_precision_reduce = \"bfloat16\"\n[parallelism]\n",
            "torchtitan", NULL);
    assert_near(setting(MFU_S_GRAD_REDUCE), MFU_REDUCE_BF16, 0);
    read_as("a.toml",
            "[model]\nname = \"llama3\"\n[training]\n[parallelism]\ndata_parallel_replicate_degree = 4\n"
            "data_parallel_shard_degree = 1\n",
            "torchtitan", NULL);
    assert_near(setting(MFU_S_ZERO), 0, 0); /* DDP over four */
    assert_near(setting(MFU_S_GPUS), 4, 0);
}

/* A step has the tokens that the file says, whatever of its ranks is not modelled. */
static void the_global_batch_is_that_of_the_file(void **state)
{
    static const struct {
        const char *name, *format, *text;
    } rows[] = {
        {"a.toml", "torchtitan", "data_parallel_shard_degree = -1\ntensor_parallel_degree = 2\n"},
        {"a.toml", "torchtitan", "data_parallel_shard_degree = 4\ntensor_parallel_degree = 2\n"},
        {"a.toml", "torchtitan", "data_parallel_shard_degree = 2\npipeline_parallel_degree = 2\n"},
        {"a.toml", "torchtitan", "data_parallel_shard_degree = 16\n"},
        {"a.toml", "torchtitan", "data_parallel_shard_degree = -1\n"},
        {"a.sh", "megatron", "--tensor-model-parallel-size 2"},
        {"a.sh", "megatron", "--nproc_per_node 8 --nnodes 4 --pipeline-model-parallel-size 2"},
        {"a.sh", "megatron", "--nproc_per_node 8"},
    };
    char text[600];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].format, "megatron") == 0)
            snprintf(text, sizeof text, MEGATRON "%s\n", rows[i].text);
        else
            snprintf(text, sizeof text,
                     "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\n"
                     "global_batch_size = 64\n[parallelism]\n%s",
                     rows[i].text);
        read_as(rows[i].name, text, rows[i].format, "8");
        if (config.batch * config.accum * config.replicas != 64)
            fail_msg("%s: %g x %g x %g", rows[i].text, config.batch, config.accum, config.replicas);
    }
}

/* Degrees below [training], batch_size, foreach unless fused is asked for. */
static void torchtitan_of_2024_is_understood(void **state)
{
    (void)state;
    read_as("a.toml",
            "[job]\n[model]\nname = \"llama2\"\nflavor = \"7B\"\nnorm_type = \"rmsnorm\"\n[optimizer]\nname = "
            "\"AdamW\"\n[training]\nbatch_size = 2\n"
            "seq_len = 4096\ndata_parallel_shard_degree = -1\ntensor_parallel_degree = 1\ncompile = "
            "true\n[experimental]\n"
            "pipeline_parallel_degree = 1\n[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = '2'\n"
            "[float8]\nenable_float8_linear = false\nenable_fsdp_float8_all_gather = true\n",
            "torchtitan", "8");
    assert_near(config.batch, 2, 0);
    assert_near(setting(MFU_S_ZERO), 3, 0);
    assert_int_equal(config.optimizer, MFU_ADAMW_FOREACH);
    assert_int_equal(config.precision, MFU_BF16);
    assert_int_equal(fate("model.norm_type"), MFU_IGNORED);
    assert_int_equal(fate("experimental.pipeline_parallel_degree"), MFU_UNDERSTOOD);
    assert_int_equal(config.checkpoint, MFU_FULL);
    assert_near(setting(MFU_S_CHECKPOINT_LAYERS), 16, 0);
    assert_int_equal(fate("float8.enable_fsdp_float8_all_gather"), MFU_IGNORED);
    assert_null(mfu_import_find(import, "training.local_batch_size"));
}

/* ---- DeepSpeed ----------------------------------------------------------- */

/* DeepSpeed works out which of the three is missing from the number of ranks. */
static void deepspeed_completes_the_batch(void **state)
{
    (void)state;
    read_as("a.json",
            "{\"train_batch_size\": 64, \"train_micro_batch_size_per_gpu\": 2, \"fp16\": {\"enabled\": "
            "true}, "
            "\"zero_optimization\": {\"stage\": 0, \"offload_optimizer\": {\"device\": \"none\"}, "
            "\"reduce_bucket_size\": 2e8}}",
            "deepspeed", "8");
    assert_near(config.accum, 4, 0);
    assert_near(setting(MFU_S_GPUS), 8, 0);
    assert_near(setting(MFU_S_HALF_WEIGHTS), 1, 0);
    assert_near(setting(MFU_S_GRAD_CLIP), 0, 0); /* DeepSpeed's default */
    assert_near(setting(MFU_S_OFFLOAD_OPTIMIZER), 0, 0);
    assert_near(next.coefficient[MFU_C_ENGINE_BUCKET], 2e8, 0);
    read_as("a.json",
            "{\"train_batch_size\": 64, \"gradient_accumulation_steps\": 4, \"zero_optimization\": "
            "{\"stage\": 1}}",
            "deepspeed", "4");
    assert_near(setting(MFU_S_OVERLAP_GRAD_REDUCE), 0, 0); /* its default below stage 3 */
    assert_near(config.batch, 4, 0);
    assert_int_equal(config.precision, MFU_FP32); /* neither bf16 nor fp16 */
    read_as("a.json",
            "{\"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": \"auto\", "
            "\"gradient_accumulation_steps\": \"auto\", "
            "\"bf16\": {\"enabled\": \"auto\"}, \"zero_optimization\": {\"stage\": 3, \"reduce_bucket_size\": "
            "\"auto\"}}",
            "deepspeed", "4");
    assert_near(setting(MFU_S_ZERO), 3, 0);
    assert_near(setting(MFU_S_GPUS), 4, 0);
    assert_int_equal(fate("train_batch_size"), MFU_IGNORED);
    assert_int_equal(config.precision, MFU_BF16);
}

/* Megatron's precision-aware optimizer: types of moments; masters are the bits that bf16 weights lack. */
static void megatron_states_have_types(void **state)
{
    (void)state;
    read_as("m.sh",
            "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 "
            "--max-position-embeddings 1024 --micro-batch-size 1 --bf16 --transformer-impl transformer_engine "
            "--use-distributed-optimizer --use-precision-aware-optimizer --main-grads-dtype bf16 --exp-avg-dtype fp8 "
            "--exp-avg-sq-dtype bf16\n",
            "megatron", "8");
    assert_near(setting(MFU_S_EXP_AVG), MFU_STATE_FP8, 0);
    assert_near(setting(MFU_S_EXP_AVG_SQ), MFU_STATE_BF16, 0);
    assert_near(setting(MFU_S_MAIN_PARAMS), MFU_MASTER_REMAINDERS, 0);
    assert_near(setting(MFU_S_GRAD_REDUCE), MFU_REDUCE_BF16, 0);
    assert_int_equal(fate("--use-precision-aware-optimizer"), MFU_IGNORED);
}

/* ZeRO-Infinity's drives, their buffers and what overlaps. */
static void deepspeed_swaps_to_drives(void **state)
{
    (void)state;
    read_as(
        "a.json",
        "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 3, "
        "\"sub_group_size\": 1e8, \"memory_efficient_linear\": false, \"offload_optimizer\": {\"device\": \"nvme\", "
        "\"nvme_path\": \"/nvme\", "
        "\"buffer_count\": 6, \"pipeline_read\": true, \"pipeline_write\": true}, \"offload_param\": {\"device\": "
        "\"nvme\", \"buffer_size\": 6e8, \"max_in_cpu\": 0}}}",
        "deepspeed", "4");
    assert_near(setting(MFU_S_NVME_OPTIMIZER), 1, 0);
    assert_near(setting(MFU_S_NVME_PARAMS), 1, 0);
    assert_near(setting(MFU_S_OFFLOAD_PARAMS), 1, 0);
    assert_near(setting(MFU_S_NVME_BUFFERS), 6, 0);
    assert_near(setting(MFU_S_NVME_PARAM_BUFFER), 6e8, 0);
    assert_near(setting(MFU_S_MAX_IN_CPU), 0, 0);
    assert_near(setting(MFU_S_SUB_GROUP_SIZE), 1e8, 0);
    assert_near(setting(MFU_S_EFFICIENT_LINEAR), 0, 0);
    assert_near(setting(MFU_S_NVME_PIPELINE), MFU_NVME_READS_AHEAD + MFU_NVME_WRITES_BEHIND, 0);
    assert_int_equal(fate("zero_optimization.offload_optimizer.device"), MFU_UNDERSTOOD);
    assert_int_equal(fate("zero_optimization.offload_param.device"), MFU_UNDERSTOOD);
}

/* ---- Hugging Face -------------------------------------------------------- */

static void models_of_the_hub_are_known(void **state)
{
    static const char *const rows[][2] = {{"meta-llama/Llama-2-7b-hf", "llama-2-7b"},
                                          {"meta-llama/Llama-2-13b-chat-hf", "llama-2-13b"},
                                          {"meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"},
                                          {"meta-llama/Llama-3.1-8B", "llama-3-8b"},
                                          {"mistralai/Mistral-7B-v0.1", "mistral-7b"},
                                          {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral-8x7b"},
                                          {"TinyLlama/TinyLlama-1.1B-Chat-v1.0", "tinyllama-1.1b"},
                                          {"bert-base-uncased", "bert-base"},
                                          {"google/gemma-2b-it", "gemma-2b"},
                                          {"Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"},
                                          {"openai-community/gpt2", "gpt2"}};
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        snprintf(text, sizeof text, "{\"per_device_train_batch_size\": 1, \"model_name_or_path\": \"%s\"}", rows[i][0]);
        read_as("a.json", text, "huggingface", NULL);
        assert_string_equal(next.model->slug, rows[i][1]);
        assert_int_equal(fate("model_name_or_path"), MFU_UNDERSTOOD);
    }
    read_as("a.json", "{\"per_device_train_batch_size\": 1, \"model_name_or_path\": \"mistralai/Mistral-7B-v0.9\"}",
            "huggingface", NULL);
    assert_int_equal(fate("model_name_or_path"), MFU_UNMODELLED); /* it may have another vocabulary */
    assert_int_equal(fate("model"), MFU_UNMODELLED);              /* and so GPT-2 is planned */
}

/* The checkpoint has biases, dropout and 50257 tokens, unlike nanoGPT's model. */
static void gpt2_of_the_hub_is_the_checkpoint(void **state)
{
    (void)state;
    read_as("a.json",
            "{\"per_device_train_batch_size\": 1, \"model_name_or_path\": \"gpt2-xl\", \"optim\": "
            "\"sgd\"}",
            "huggingface", NULL);
    assert_near(mfu_config_dim(&config, "bias"), 1, 0);
    assert_near(mfu_config_dim(&config, "vocab_size"), 50257, 0);
    assert_int_equal(config.optimizer, MFU_SGD); /* torch.optim.SGD without momentum */
}

/* What is null, false or empty has no influence. */
static void what_is_off_is_ignored(void **state)
{
    (void)state;
    read_as("a.json",
            "{\"per_gpu_train_batch_size\": null, \"bf16\": true, \"fsdp\": \"\", \"fsdp_config\": {\"xla\": false}, "
            "\"deepspeed\": null, "
            "\"use_liger_kernel\": false, \"group_by_length\": false, \"gradient_checkpointing\": null}",
            "huggingface", NULL);
    assert_near(config.batch, 8, 0); /* the Trainer's default, since null is not one */
    assert_int_equal(fate("per_gpu_train_batch_size"), MFU_IGNORED);
    assert_int_equal(fate("fsdp"), MFU_IGNORED);
    assert_int_equal(fate("fsdp_config.xla"), MFU_IGNORED);
    assert_int_equal(fate("deepspeed"), MFU_IGNORED);
    assert_int_equal(fate("use_liger_kernel"), MFU_IGNORED);
    assert_int_equal(fate("group_by_length"), MFU_IGNORED);
    assert_int_equal(config.checkpoint, MFU_NONE);
    assert_int_equal(fate("seq"), MFU_UNMODELLED);
}

/* Whatever program a file is of: rank, targets, base and checkpointing as its own code would have them. */
static void adapters_are_understood(void **state)
{
    static const struct {
        const char *file, *text, *format;
        double rank;
        const char *targets, *base, *precision, *dtype;
    } all[] = {
        {"a.yml",
         "base_model: NousResearch/Llama-3.2-1B\nadapter: qlora\nload_in_4bit: true\nlora_r: 32\nlora_dropout: 0.05\n"
         "lora_target_modules:\n  - q_proj\n  - v_proj\nsequence_len: 2048\nmicro_batch_size: 2\nbf16: auto\n"
         "gradient_checkpointing: true\n",
         "huggingface", 32, "q,v", "nf4-double", "bf16", "fp32"},
        {"b.yaml",
         "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nfinetuning_type: lora\nlora_target: all\nquantization_bit: 8\n"
         "cutoff_len: 1024\nper_device_train_batch_size: 1\nbf16: true\n",
         "huggingface", 8, "all-linear", "int8", "bf16", "fp32"},
        {"adapter_config.json",
         "{\"peft_type\": \"LORA\", \"r\": 64, \"target_modules\": \"all-linear\", \"lora_dropout\": 0.1, "
         "\"base_model_name_or_path\": \"meta-llama/Llama-2-7b-hf\"}",
         "peft", 64, "all-linear", "bf16", "bf16", "fp32"},
        {"t.yaml",
         "model:\n  _component_: torchtune.models.llama3_1.qlora_llama3_1_8b\n  lora_attn_modules: [q_proj, v_proj]\n"
         "  apply_lora_to_mlp: True\n  lora_rank: 8\ntokenizer:\n  max_seq_len: 2048\ndtype: bf16\n",
         "torchtune", 8, "mlp,q,v", "torchao-nf4", "bf16-pure", "16bit"},
    };
    char buf[MFU_QUANTITY_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        read_as(all[i].file, all[i].text, all[i].format, NULL);
        assert_near(setting(MFU_S_LORA), all[i].rank, 0);
        assert_string_equal(mfu_setting_word(buf, MFU_S_LORA_TARGETS, setting(MFU_S_LORA_TARGETS)), all[i].targets);
        assert_string_equal(mfu_setting_word(buf, MFU_S_BASE, setting(MFU_S_BASE)), all[i].base);
        assert_string_equal(mfu_setting_word(buf, MFU_S_PRECISION, setting(MFU_S_PRECISION)), all[i].precision);
        assert_string_equal(mfu_setting_word(buf, MFU_S_LORA_DTYPE, setting(MFU_S_LORA_DTYPE)), all[i].dtype);
        assert_near(setting(MFU_S_TRAINABLE), 0, 0);
    }
}

/* A list of tokens is counted, under the name of their table or none; null says that none train. */
static void tokens_that_train_are_counted(void **state)
{
    static const struct {
        const char *list;
        double tokens;
    } all[] = {{"[5, 9, 11]", 3}, {"{\"embed_tokens\": [5, 9]}", 2}, {"null", 0}};
    char text[300];

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(text, sizeof text,
                 "{\"peft_type\": \"LORA\", \"r\": 8, \"target_modules\": [\"q_proj\"], "
                 "\"trainable_token_indices\": %s, \"base_model_name_or_path\": \"meta-llama/Llama-2-7b-hf\"}",
                 all[i].list);
        read_as("adapter_config.json", text, "peft", NULL);
        assert_near(setting(MFU_S_TRAINABLE_TOKENS), all[i].tokens, 0);
    }
}

/* Words of the two programs around TrainingArguments, under their own names; what one entry decides, others of its kind do
 * not repeat. */
static void files_of_programs_around_the_trainer_are_theirs(void **state)
{
    static const char factory[] =
        "model_name_or_path: Qwen/Qwen2.5-7B-Instruct\nstage: sft\nfinetuning_type: full\ncutoff_len: 4096\n"
        "per_device_train_batch_size: 2\nbf16: true\nenable_liger_kernel: true\nuse_muon: true\nuse_galore: false\n"
        "galore_rank: 16\nuse_badam: false\nflash_attn: fa2\nenable_thinking: true\nuse_swanlab: false\n";
    static const char axolotl[] =
        "base_model: NousResearch/Llama-3.2-1B\nadapter: lora\nlora_r: 32\nlora_target_linear: true\n"
        "peft_autocast_adapter_dtype: false\nsequence_len: 2048\nmicro_batch_size: 2\nbf16: auto\n"
        "optimizer: paged_adamw_8bit\neager_attention: true\nchunked_cross_entropy: true\nlisa_n_layers:\n"
        "use_wandb: true\nfp8: true\n";

    (void)state;
    read_as("qwen.yaml", factory, "huggingface", NULL);
    assert_string_equal(import->title, "LLaMA-Factory configuration");
    assert_near(setting(MFU_S_OPTIMIZER), MFU_MUON, 0);
    assert_near(setting(MFU_S_PACKAGE), MFU_PACKAGE_LIGER, 0);
    assert_near(setting(MFU_S_LOSS_CHUNKS), 32, 0); /* 8192 rows, 152064 words of 3584: 256 at once */
    for (int k = 0; k < import->n; k++)
        assert_int_not_equal(import->entries[k].fate, MFU_UNMODELLED);
    read_as("llama.yml", axolotl, "huggingface", NULL);
    assert_string_equal(import->title, "axolotl configuration");
    assert_near(setting(MFU_S_EXPANDABLE_SEGMENTS), 1, 0); /* the program sets it, the file does not */
    assert_near(setting(MFU_S_OPTIMIZER), MFU_PAGED_ADAM8BIT, 0);
    assert_near(setting(MFU_S_LORA_DTYPE), 1, 0);
    assert_near(setting(MFU_S_LOSS_CHUNKS), 8, 0);
    assert_near(setting(MFU_S_ATTENTION), MFU_MATH, 0);
    assert_int_equal(fate("fp8"), MFU_UNMODELLED);
    assert_int_equal(fate("use_wandb"), MFU_IGNORED);
}

/* Numbers of layers, of which one alone is no count, and biases of what has adapters. */
static void layers_of_peft_have_numbers(void **state)
{
    static const char *const numbers[] = {"[2, 3, 4]", "[5]", "5"};

    (void)state;
    for (int i = 0; i < 3; i++) {
        char text[200];

        snprintf(text, sizeof text,
                 "{\"peft_type\": \"LORA\", \"r\": 8, \"target_modules\": [\"c_attn\"], \"layers_to_transform\": %s, "
                 "\"bias\": \"lora_only\"}",
                 numbers[i]);
        read_as("adapter_config.json", text, "peft", NULL);
        assert_near(setting(MFU_S_TRAINABLE_FROM), i ? 5 : 2, 0);
        assert_near(setting(MFU_S_TRAINABLE_LAYERS), i ? 1 : 3, 0);
        assert_near(setting(MFU_S_TRAINABLE), MFU_MODULE_BIT(ADAPTED_BIASES), 0);
    }
}

/* peft's other methods, as its save_pretrained() writes them (0.21.2); another one stays unmodelled. */
static void methods_of_peft_are_understood(void **state)
{
    static const struct {
        const char *keys;
        enum mfu_adapter_method method;
        double size;
    } all[] = {
        {"\"peft_type\": \"VERA\", \"r\": 128, \"target_modules\": [\"q_proj\", \"v_proj\"]", MFU_METHOD_VERA, 128},
        {"\"peft_type\": \"IA3\", \"target_modules\": [\"k_proj\", \"down_proj\"], \"feedforward_modules\": "
         "[\"down_proj\"]",
         MFU_METHOD_IA3, 1},
        {"\"peft_type\": \"LOKR\", \"r\": 16, \"decompose_factor\": -1, \"target_modules\": \"all-linear\"",
         MFU_METHOD_LOKR, 16},
        {"\"peft_type\": \"LOKR\", \"r\": 16, \"decompose_factor\": 8, \"target_modules\": \"all-linear\"",
         MFU_METHOD_LOKR, 16},
        {"\"peft_type\": \"OFT\", \"r\": 0, \"oft_block_size\": 64, \"target_modules\": [\"q_proj\"]", MFU_METHOD_OFT,
         64},
        {"\"peft_type\": \"OFT\", \"r\": 16, \"oft_block_size\": 0, \"target_modules\": [\"q_proj\"]", MFU_METHOD_OFT,
         32},
        {"\"peft_type\": \"BOFT\", \"boft_block_size\": 8, \"target_modules\": [\"q_proj\"]", MFU_METHOD_BOFT, 8},
        {"\"peft_type\": \"FOURIERFT\", \"n_frequency\": 500, \"target_modules\": [\"q_proj\"]", MFU_METHOD_FOURIERFT,
         500},
        {"\"peft_type\": \"C3A\", \"block_size\": 128, \"target_modules\": [\"q_proj\"]", MFU_METHOD_C3A, 128},
        {"\"peft_type\": \"VBLORA\", \"r\": 8, \"target_modules\": [\"q_proj\"]", MFU_METHOD_VBLORA, 8},
        {"\"peft_type\": \"LN_TUNING\", \"target_modules\": null", MFU_METHOD_LN_TUNING, 1},
        {"\"peft_type\": \"PROMPT_TUNING\", \"num_virtual_tokens\": 40", MFU_METHOD_PROMPT, 40},
        {"\"peft_type\": \"P_TUNING\", \"num_virtual_tokens\": 20, \"encoder_hidden_size\": null", MFU_METHOD_P_TUNING,
         20},
        {"\"peft_type\": \"PREFIX_TUNING\", \"num_virtual_tokens\": 30, \"prefix_projection\": true, "
         "\"encoder_hidden_size\": 512",
         MFU_METHOD_PREFIX, 30},
        {"\"peft_type\": \"ADALORA\", \"r\": 8, \"init_r\": 12, \"target_modules\": [\"q_proj\"]", MFU_METHOD_ADALORA,
         12},
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(text, sizeof text, "{\"base_model_name_or_path\": \"meta-llama/Llama-2-7b-hf\", %s}", all[i].keys);
        read_as("adapter_config.json", text, "peft", NULL);
        assert_near(setting(MFU_S_ADAPTER), all[i].method, 0);
        assert_near(setting(MFU_S_LORA), all[i].size, 0);
        for (int k = 0; k < import->n; k++)
            assert_int_not_equal(import->entries[k].fate, MFU_UNMODELLED);
    }
    read_as("adapter_config.json",
            "{\"base_model_name_or_path\": \"gpt2\", \"peft_type\": \"IA3\", \"target_modules\": [\"c_attn\", "
            "\"mlp.c_proj\"], "
            "\"feedforward_modules\": [\"mlp.c_proj\"]}",
            "peft", NULL);
    assert_near(setting(MFU_S_IA3_INPUTS), MFU_MODULE_BIT(DOWN), 0);
    assert_near(setting(MFU_S_LORA_TARGETS), MFU_MODULE_BIT(QKV) | MFU_MODULE_BIT(DOWN), 0);
    read_as("adapter_config.json",
            "{\"base_model_name_or_path\": \"meta-llama/Llama-2-7b-hf\", \"peft_type\": \"PREFIX_TUNING\", "
            "\"num_virtual_tokens\": 30, \"prefix_projection\": true, \"encoder_hidden_size\": 512}",
            "peft", NULL);
    assert_near(setting(MFU_S_PROMPT_ENCODER), 512, 0);
    read_as("adapter_config.json",
            "{\"base_model_name_or_path\": \"meta-llama/Llama-2-7b-hf\", \"peft_type\": \"FROD\"}", "peft", NULL);
    assert_int_equal(fate("peft_type"), MFU_UNMODELLED);
}

static bool covers(const char *pattern, const char *name)
{
    size_t n = strlen(pattern);

    return pattern[n - 1] == '*' ? strncmp(pattern, name, n - 1) == 0 : strcmp(pattern, name) == 0;
}

/* The first row that fits a name counts: none stands behind one that fits all its names, and only a last "*" has a meaning. */
static void every_row_of_a_format_is_read(void **state)
{
    (void)state;
    for (size_t f = 0; f < mfu_import_format_count; f++) {
        const struct mfu_import_row *rows = mfu_import_formats[f]->rows;

        for (int i = 0; rows && rows[i].names; i++) {
            char name[96], before[96];

            for (const char *at = rows[i].names, *here = at; mfu_next_word(&at, name, sizeof name); here = at) {
                const char *star = strchr(name, '*');

                if (star && star[1])
                    fail_msg("%s: %s", mfu_import_formats[f]->name, name);
                for (int k = 0; k <= i; k++)
                    for (const char *p = rows[k].names; p != here && mfu_next_word(&p, before, sizeof before);)
                        if (covers(before, name))
                            fail_msg("%s: %s never counts behind %s", mfu_import_formats[f]->name, name, before);
            }
        }
    }
}

/* Forms of a method that are not modelled are said to be so, and files that peft refuses. */
static void other_forms_of_a_method_are_not_modelled(void **state)
{
    static const struct {
        const char *keys, *which;
    } all[] = {
        {"\"peft_type\": \"MISS\", \"r\": 64, \"init_weights\": \"bat\"", "init_weights"},
        {"\"peft_type\": \"OFT\", \"r\": 8, \"oft_block_size\": 32", "oft_block_size"},
        {"\"peft_type\": \"BOFT\", \"boft_block_num\": 8, \"boft_block_size\": 4", "boft_block_size"},
        {"\"peft_type\": \"C3A\", \"block_size_pattern\": {\"q_proj\": 64}", "block_size_pattern.q_proj"},
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        snprintf(text, sizeof text, "{\"base_model_name_or_path\": \"meta-llama/Llama-2-7b-hf\", %s}", all[i].keys);
        read_as("adapter_config.json", text, "peft", NULL);
        assert_int_equal(fate(all[i].which), MFU_UNMODELLED);
    }
}

/* What peft's files leave out or leave empty means what peft makes of it. */
static void gaps_of_peft_are_filled_as_peft_fills_them(void **state)
{
    static const char base[] = "\"base_model_name_or_path\": \"meta-llama/Llama-3.1-8B\"";
    char text[400];

    (void)state;
    for (int i = 0; i < 2; i++) { /* utils/other.py: as wide as a layer's keys */
        snprintf(text, sizeof text, "{%s, \"peft_type\": \"PREFIX_TUNING\", \"num_virtual_tokens\": 30, %s %s}", base,
                 "\"prefix_projection\": true", i ? ", \"encoder_hidden_size\": null" : "");
        read_as("adapter_config.json", text, "peft", NULL);
        assert_near(setting(MFU_S_PROMPT_ENCODER), 1024, 0);
    }
    snprintf(text, sizeof text, "{%s, \"peft_type\": \"IA3\", \"target_modules\": [\"k_proj\"], %s}", base,
             "\"feedforward_modules\": []");
    read_as("adapter_config.json", text, "peft", NULL);
    assert_near(setting(MFU_S_IA3_INPUTS), 0, 0);
    assert_int_equal(fate("feedforward_modules"), MFU_UNDERSTOOD);
    snprintf(text, sizeof text, "{%s, \"peft_type\": \"MULTITASK_PROMPT_TUNING\", \"num_virtual_tokens\": 20}", base);
    read_as("adapter_config.json", text, "peft", NULL);
    assert_int_equal(fate("peft_type"), MFU_UNMODELLED);
    assert_near(setting(MFU_S_LORA), 0, 0);
}

/* Imports another file into what the ones before made of the scenario. */
static void read_next(const char *name, const char *text, const char *format)
{
    struct mfu_scenario before = start;

    start = next;
    read_as(name, text, format, NULL);
    start = before;
}

/* What a file leaves out stays left out when another one is imported; what answers it is a file that it names, a key that is
 * set, a model that is chosen. */
static void what_is_open_stays_open_until_it_is_answered(void **state)
{
    static const char sharding[] = "{\"zero_optimization\": {\"stage\": 2}, \"bf16\": {\"enabled\": true}}";

    (void)state;
    read_as("args.yaml",
            "per_device_train_batch_size: 4\nbf16: true\nflex_attention: true\ndeepspeed: configs/zero2.json\n"
            "model_name_or_path: nobody/knows-it\n",
            "huggingface", NULL);
    assert_string_equal(
        mfu_scenario_unpredicted(&next),
        "flex_attention true, deepspeed configs/zero2.json, model nobody/knows-it, seq (not said), model gpt2");
    read_next("zero2.json", sharding, "deepspeed");
    assert_non_null(strstr(mfu_scenario_unpredicted(&next), "flex_attention true"));
    assert_null(strstr(mfu_scenario_unpredicted(&next), "zero2"));
    assert_int_equal(mfu_scenario_set(&next, "seq", "512", NULL), 0);
    assert_null(strstr(mfu_scenario_unpredicted(&next), "seq"));
    mfu_scenario_model(&next, mfu_catalog_model(catalog, "llama-3.2-1b", NULL));
    assert_string_equal(mfu_scenario_unpredicted(&next), "flex_attention true");
}

/* What answers a value that nothing here is like is the key; what a file said is gone when it says it no more; and it is one
 * which of two files was imported first. */
static void what_was_open_is_answered(void **state)
{
    static const char sharding[] = "{\"zero_optimization\": {\"stage\": 2}, \"bf16\": {\"enabled\": true}}";
    static const char args[] = "per_device_train_batch_size: 4\nbf16: true\ndeepspeed: configs/zero2.json\n"
                               "model_name_or_path: gpt2\nmax_seq_length: 512\n";
    char text[512];

    (void)state;
    snprintf(text, sizeof text, "%sattn_implementation: sageattn\nflex_attention: true\n", args);
    read_as("args.yaml", text, "huggingface", NULL);
    assert_non_null(strstr(mfu_scenario_unpredicted(&next), "attention sageattn"));
    assert_int_equal(mfu_scenario_set(&next, "attention", "flash", NULL), 0);
    assert_string_equal(mfu_scenario_unpredicted(&next), "deepspeed configs/zero2.json, flex_attention true");
    read_next("zero2.json", sharding, "deepspeed");
    assert_string_equal(mfu_scenario_unpredicted(&next), "flex_attention true");
    read_next("args.yaml", args, "huggingface");
    assert_string_equal(mfu_scenario_unpredicted(&next), "");
    read_as("zero2.json", sharding, "deepspeed", NULL);
    read_next("args.yaml", args, "huggingface");
    assert_string_equal(mfu_scenario_unpredicted(&next), "");
    assert_near(setting(MFU_S_ZERO), 2, 0);
    read_next("other.yaml", text, "huggingface");
    read_next("args.yaml", args, "huggingface"); /* what another file says stays */
    assert_string_equal(mfu_scenario_unpredicted(&next), "attention sageattn, flex_attention true");
}

/* However much is left out, something of it stays. */
static void what_there_is_no_room_for_is_more(void **state)
{
    struct mfu_scenario s = start;
    char name[32];

    (void)state;
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "switch_%d", i % 20);
        mfu_scenario_leave_out(&s, "a.sh", name, "on");
    }
    assert_non_null(strstr(s.not_modelled, ", and more"));
    assert_int_equal(mfu_scenario_set(&s, "batch", "2", NULL), 0);
    mfu_scenario_answer_file(&s, "on");
    assert_string_equal(mfu_scenario_unpredicted(&s), "and more");
}

/* Keys that change what is computed or kept, beside others that do not. */
static void what_changes_memory_is_planned_or_open(void **state)
{
    static const struct {
        const char *keys;
        const char *open; /* NULL: all of it is planned */
        enum mfu_setting_id setting;
        double value;
    } of[] = {
        {"label_smoothing_factor: 0.1", "label_smoothing_factor", MFU_S_BATCH, 4},
        {"label_smoothing_factor: 0.0", NULL, MFU_S_BATCH, 4},
        {"fp16_backend: apex", "fp16_backend", MFU_S_BATCH, 4},
        {"fsdp: full_shard\nfsdp_config:\n  fsdp_activation_checkpointing: true", NULL, MFU_S_CHECKPOINT, MFU_FULL},
        {"fsdp: full_shard\nfsdp_config:\n  reshard_after_forward: false", NULL, MFU_S_RESHARD, 0},
        {"fsdp: full_shard\nfsdp_config:\n  limit_all_gathers: false", "fsdp_config.limit_all_gathers", MFU_S_ZERO, 3},
        {"deepspeed:", NULL, MFU_S_TRAINER, MFU_TRAINER_DDP},
        {"image_size: 512", "image_size", MFU_S_BATCH, 4},
        {"loss_type: chunked_nll", "loss_type", MFU_S_LOSS_CHUNKS, 1},
        {"loss_type: sigmoid\nbeta: 0.1", "objective", MFU_S_BATCH, 4},
        {"center_rewards_coefficient: 0.01", NULL, MFU_S_OBJECTIVE, MFU_REWARD},
        {"desirable_weight: 1.0", "desirable_weight", MFU_S_BATCH, 4},
        {"num_generations: 4\nuse_vllm: true\nvllm_mode: server", NULL, MFU_S_VRAM_RESERVED, 0},
        {"num_generations: 4\nuse_vllm: true\nvllm_enable_sleep_mode: true", NULL, MFU_S_VRAM_RESERVED, 0},
        {"rl: dpo\ndpo_use_weighting: true", "dpo_use_weighting", MFU_S_OBJECTIVE, MFU_DPO},
        {"torch_compile: auto", NULL, MFU_S_RUNTIME, MFU_COMPILE},
        {"model_init_kwargs:\n  attn_implementation: eager", NULL, MFU_S_ATTENTION, MFU_MATH},
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        snprintf(text, sizeof text,
                 "model_name_or_path: meta-llama/Llama-3.2-1B\nper_device_train_batch_size: 4\nmax_length: 512\nbf16: "
                 "true\n%s\n",
                 of[i].keys);
        read_as("args.yaml", text, "huggingface", "2");
        if (of[i].open ? !strstr(next.not_modelled, of[i].open) : next.not_modelled[0] != '\0')
            fail_msg("%s: open is '%s'", of[i].keys, next.not_modelled);
        if (setting(of[i].setting) != of[i].value)
            fail_msg("%s: %s is %g", of[i].keys, mfu_settings[of[i].setting].key, setting(of[i].setting));
    }
    read_as("args.yaml",
            "model_name_or_path: meta-llama/Llama-3.2-1B\nper_device_train_batch_size: 4\nmax_completion_length: 64\n"
            "max_prompt_length: 64\nbf16: true\nuse_vllm: true\nvllm_gpu_memory_utilization: 0.5\n",
            "huggingface", NULL);
    assert_near(setting(MFU_S_VRAM_RESERVED), start.gpu->capacity_bytes / 2, 1);
}

/* An image encoder trains, or has adapters, as the program has it. */
static void image_encoders_are_frozen_as_the_program_does(void **state)
{
    static const unsigned tower = MFU_MODULE_BIT(VISION) | MFU_MODULE_BIT(PROJECTOR);
    static const struct {
        const char *keys;
        enum mfu_setting_id setting;
        unsigned of_tower;
    } of[] = {
        {"finetuning_type: full", MFU_S_TRAINABLE, 0},
        {"finetuning_type: full\nfreeze_vision_tower: false", MFU_S_TRAINABLE, MFU_MODULE_BIT(VISION)},
        {"finetuning_type: lora\nlora_target: all", MFU_S_LORA_TARGETS, 0},
        {"finetuning_type: lora\nlora_target: all\nfreeze_multi_modal_projector: false", MFU_S_LORA_TARGETS,
         MFU_MODULE_BIT(PROJECTOR)},
        {"use_peft: true\nlora_target_modules: all-linear", MFU_S_LORA_TARGETS, tower},
        {"optim: adamw_torch", MFU_S_TRAINABLE, tower},
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        snprintf(
            text, sizeof text,
            "model_name_or_path: Qwen/Qwen2-VL-7B-Instruct\nper_device_train_batch_size: 1\ncutoff_len: 2048\nbf16: "
            "true\n%s\n",
            of[i].keys);
        read_as("args.yaml", text, "huggingface", NULL);
        assert_int_equal((unsigned)setting(of[i].setting) & tower, of[i].of_tower);
        assert_string_equal(next.not_modelled, "");
    }
    read_as("adapter_config.json",
            "{\"base_model_name_or_path\": \"llava-hf/llava-1.5-7b-hf\", \"peft_type\": \"LORA\", \"r\": 8, "
            "\"target_modules\": [\"q_proj\"]}",
            "peft", NULL);
    assert_string_equal(next.not_modelled, "lora_targets (not said)"); /* CLIP's layers have q_proj, too */
}

/* How many pieces the loss has: the same in whatever order the keys stand. */
static void pieces_of_the_loss_are_decided_once(void **state)
{
    static const struct {
        const char *keys;
        double chunks;
    } of[] = {
        {"chunked_cross_entropy: false\nchunked_cross_entropy_num_chunks: 16\n", 1},
        {"chunked_cross_entropy_num_chunks: 16\nchunked_cross_entropy: true\n", 16},
        {"chunked_cross_entropy: true\nchunked_cross_entropy_num_chunks: 16\n", 16},
        {"chunked_cross_entropy: true\n", 8},
        {"chunked_cross_entropy: true\nuse_liger_kernel: true\n", 8},
        {"enable_liger_kernel: true\nfinetuning_type: lora\nstage: dpo\n", 1},
        {"enable_liger_kernel: true\nfinetuning_type: lora\nstage: rm\n", 1},
        {"enable_liger_kernel: true\nfinetuning_type: full\nstage: sft\n", 32},
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        snprintf(text, sizeof text, "%sbase_model: meta-llama/Llama-3.2-1B\nmicro_batch_size: 1\nsequence_len: 2048\n",
                 of[i].keys);
        read_as("run.yaml", text, "huggingface", NULL);
        assert_near(setting(MFU_S_LOSS_CHUNKS), of[i].chunks, 0);
    }
}

/* recipes/configs/llama3_2/3B_full_single_device.yaml (03a19788): what makes it small is read. */
static void torchtune_on_one_card_is_understood(void **state)
{
    (void)state;
    read_as("t.yaml",
            "model:\n  _component_: torchtune.models.llama3_2.llama3_2_3b\ntokenizer:\n  max_seq_len: 2048\n"
            "batch_size: 4\noptimizer:\n  _component_: bitsandbytes.optim.PagedAdamW8bit\n"
            "loss:\n  _component_: torchtune.modules.loss.CEWithChunkedOutputLoss\n"
            "gradient_accumulation_steps: 1\noptimizer_in_bwd: True\ncompile: False\n"
            "enable_activation_checkpointing: True\ndtype: bf16\n",
            "torchtune", NULL);
    assert_near(setting(MFU_S_OPTIMIZER_IN_BACKWARD), 1, 0);
    assert_near(setting(MFU_S_GRAD_CLIP), 0, 0);
    assert_near(setting(MFU_S_LOSS_CHUNKS), 8, 0);
    assert_int_equal(config.optimizer, MFU_PAGED_ADAM8BIT);
    assert_int_equal(config.checkpoint, MFU_FULL);
}

static void axolotl_and_llama_factory_are_understood(void **state)
{
    (void)state;
    read_as("a.yml",
            "base_model: NousResearch/Llama-3.2-1B\nadapter:\nload_in_8bit: false\nsequence_len: "
            "2048\nsample_packing: true\n"
            "gradient_accumulation_steps: 2\nmicro_batch_size: 4\noptimizer: adamw_8bit\nbf16: auto\ntf32: false\n"
            "gradient_checkpointing: true\nflash_attention: true\nfsdp:\n  - full_shard\n  - auto_wrap\n",
            "huggingface", "8");
    assert_string_equal(next.model->slug, "llama-3.2-1b");
    assert_near(config.batch, 4, 0);
    assert_near(config.seq, 2048, 0);
    assert_int_equal(config.optimizer, MFU_ADAM8BIT);
    assert_int_equal(config.precision, MFU_BF16_PURE);
    assert_int_equal(config.checkpoint, MFU_FULL);
    assert_near(setting(MFU_S_ZERO), 3, 0);
    assert_int_equal(fate("adapter"), MFU_IGNORED);
    assert_int_equal(fate("load_in_8bit"), MFU_IGNORED);
    assert_near(setting(MFU_S_PACKING), 1, 0);
    read_as("b.yml", /* its block alone turns FSDP on; names stay those of the file */
            "base_model: NousResearch/Llama-3.2-1B\nsequence_len: 2048\nmicro_batch_size: 4\nbf16: auto\n"
            "fsdp_config:\n  fsdp_sharding_strategy: SHARD_GRAD_OP\n  fsdp_offload_params: true\n",
            "huggingface", "8");
    assert_near(setting(MFU_S_ZERO), 3, 0);
    assert_near(setting(MFU_S_OFFLOAD_PARAMS), 1, 0);
    assert_int_equal(fate("fsdp_config.fsdp_sharding_strategy"), MFU_IGNORED);
    assert_int_equal(fate("fsdp_config.fsdp_offload_params"), MFU_UNDERSTOOD);
    read_as("a.yaml",
            "### model\nmodel_name_or_path: Qwen/Qwen2.5-1.5B\nfinetuning_type: full\ncutoff_len: 1024\n"
            "per_device_train_batch_size: 1\nbf16: true\nflash_attn: fa2\n",
            "huggingface", NULL);
    assert_int_equal(config.checkpoint, MFU_FULL); /* LLaMA-Factory's default */
    assert_near(setting(MFU_S_OBJECTIVE), MFU_NEXT_TOKEN, 0);
    assert_int_equal(config.attention, MFU_FLASH);
    assert_int_equal(fate("finetuning_type"), MFU_IGNORED);
}

/* peft's prepare_model_for_kbit_training makes the rest fp32; no program that reads a file leaves it so. */
static void the_rest_of_a_quantised_base_stays_as_the_program_has_it(void **state)
{
    static const struct {
        const char *text;
        double adapters_half;
    } of[] = {
        {"base_model: NousResearch/Meta-Llama-3-8B\nadapter: qlora\nload_in_4bit: true\nlora_r: 32\n"
         "micro_batch_size: 2\nbf16: auto\n",
         0},
        {"model_name_or_path: Qwen/Qwen2.5-1.5B\nfinetuning_type: lora\nquantization_bit: 4\nlora_rank: 8\n"
         "per_device_train_batch_size: 1\nbf16: true\n",
         0},
        {"model_name_or_path: Qwen/Qwen2.5-1.5B\nuse_peft: true\nload_in_4bit: true\n"
         "per_device_train_batch_size: 1\nbf16: true\n",
         1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        read_as("a.yml", of[i].text, "huggingface", NULL);
        assert_near(setting(MFU_S_FP32_REST), 0, 0);
        assert_near(setting(MFU_S_LORA_DTYPE), of[i].adapters_half, 0);
    }
}

/* A file says whose loop runs: what it overlaps and how long its host takes come with it. */
static void the_loop_is_that_of_the_file(void **state)
{
    static const struct {
        const char *file, *text, *format;
        enum mfu_trainer_kind trainer;
    } of[] = {
        {"a.sh", MEGATRON, "megatron", MFU_TRAINER_MEGATRON_TE},
        {"a.sh", MEGATRON " --transformer-impl local", "megatron", MFU_TRAINER_MEGATRON},
        {"a.json", "{\"train_micro_batch_size_per_gpu\": 2, \"bf16\": {\"enabled\": true}}", "deepspeed",
         MFU_TRAINER_DEEPSPEED},
        {"a.json", "{\"per_device_train_batch_size\": 1, \"deepspeed\": \"ds.json\"}", "huggingface",
         MFU_TRAINER_DEEPSPEED},
        {"a.json", "{\"per_device_train_batch_size\": 1}", "huggingface", MFU_TRAINER_DDP},
    };

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        read_as(of[i].file, of[i].text, of[i].format, "8");
        assert_int_equal(config.trainer, of[i].trainer);
    }
}

static void preferences_are_understood(void **state)
{
    (void)state;
    read_as("a.yml",
            "base_model: NousResearch/Llama-3.2-1B\nrl: dpo\nsequence_len: 2048\nmicro_batch_size: 2\nbf16: true\n",
            "huggingface", NULL);
    assert_near(setting(MFU_S_OBJECTIVE), MFU_DPO, 0);
    assert_near(config.batch, 4, 0); /* chosen and rejected */
    assert_true(mfu_config_reference(&config)->weights);
    read_as("a.yaml",
            "model_name_or_path: Qwen/Qwen2.5-1.5B\nstage: dpo\npref_loss: simpo\nfinetuning_type: lora\n"
            "cutoff_len: 1024\nper_device_train_batch_size: 1\nbf16: true\nneat_packing: false\n",
            "huggingface", NULL);
    assert_near(setting(MFU_S_OBJECTIVE), MFU_ORPO, 0);
    assert_null(mfu_config_reference(&config));
    read_as("a.yaml", /* in another order */
            "model_name_or_path: Qwen/Qwen2.5-1.5B\npref_loss: orpo\nstage: dpo\nfinetuning_type: lora\npacking: true\n"
            "cutoff_len: 1024\nper_device_train_batch_size: 1\nbf16: true\nneat_packing: false\n",
            "huggingface", NULL);
    assert_near(setting(MFU_S_OBJECTIVE), MFU_ORPO, 0);
    assert_near(setting(MFU_S_PACKING), 0, 0); /* under a mask of ones */
    read_as("a.yml", "base_model: NousResearch/Llama-3.2-1B\nrl: kto\nsequence_len: 2048\nmicro_batch_size: 2\n",
            "huggingface", NULL);
    assert_int_equal(fate("rl"), MFU_UNMODELLED);
    read_as("a.yml",
            "base_model: NousResearch/Llama-3.2-1B\nrl: grpo\nsequence_len: 2048\nmicro_batch_size: 2\nbf16: true\n"
            "trl:\n  num_generations: 8\n  max_completion_length: 1024\n  beta: 0.01\n  use_vllm: true\n",
            "huggingface", NULL);
    assert_near(setting(MFU_S_OBJECTIVE), MFU_GRPO, 0);
    assert_near(mfu_config_dim(&config, "completion"), 1024, 0);
    assert_true(mfu_config_reference(&config)->weights);
    read_as("a.json",
            "{\"model_name_or_path\": \"Qwen/Qwen2.5-1.5B\", \"per_device_train_batch_size\": 4, \"bf16\": true, "
            "\"max_prompt_length\": 256, \"max_completion_length\": 768, \"num_generations\": 8}",
            "huggingface", NULL);
    assert_near(setting(MFU_S_OBJECTIVE), MFU_GRPO, 0);
    assert_near(config.seq, 1024, 0);
    assert_null(mfu_config_reference(&config)); /* beta is 0 by default */
}

/* LLaMA-Factory packs with neat_packing, or where flash_attention_2 reads the positions of a batch of one. */
static void packing_without_a_mask_crosses_documents(void **state)
{
    static const struct {
        const char *says;
        double packing;
    } of[] = {{"packing: true\nper_device_train_batch_size: 1\n", 0},
              {"packing: true\nneat_packing: true\nper_device_train_batch_size: 1\n", 1},
              {"packing: true\nflash_attn: fa2\nper_device_train_batch_size: 1\n", 1},
              {"packing: true\nflash_attn: fa2\nper_device_train_batch_size: 2\n", 0}};
    char text[400];

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        snprintf(text, sizeof text,
                 "model_name_or_path: Qwen/Qwen2.5-1.5B\nstage: sft\nfinetuning_type: lora\ncutoff_len: 1024\n"
                 "bf16: true\n%s",
                 of[i].says);
        read_as("a.yaml", text, "huggingface", NULL);
        assert_near(setting(MFU_S_PACKING), of[i].packing, 0);
    }
}

/* Copies of what is sharded: torchtitan names both sizes, FSDP shards over the GPUs of a node. */
static void copies_of_shards_are_understood(void **state)
{
    static const struct {
        const char *file, *text, *format;
    } of[] = {
        {"a.toml",
         "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\nseq_len = 8192\n"
         "[parallelism]\ndata_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 8\n",
         "torchtitan"},
        {"a.json", "{\"per_device_train_batch_size\": 1, \"fsdp\": \"hybrid_shard auto_wrap\"}", "huggingface"},
        {"a.yaml",
         "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: "
         "HYBRID_SHARD\nnum_machines: 2\nnum_processes: 16\nmixed_precision: bf16\n",
         "accelerate"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        read_as(of[i].file, of[i].text, of[i].format, "16");
        assert_near(setting(MFU_S_ZERO), 3, 0);
        assert_near(setting(MFU_S_DP), 16, 0);
        assert_near(setting(MFU_S_DP_SHARD), 8, 0);
    }
    read_as(of[1].file, of[1].text, of[1].format, "12"); /* a node and a half */
    assert_near(setting(MFU_S_DP_SHARD), 0, 0);
    assert_int_equal(fate("dp_shard"), MFU_UNMODELLED);
}

static void accelerate_is_understood(void **state)
{
    (void)state;
    read_as("a.yaml",
            "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: "
            "SHARD_GRAD_OP\n"
            "  fsdp_offload_params: false\n  fsdp_activation_checkpointing: true\nmixed_precision: "
            "bf16\nnum_machines: 1\n"
            "num_processes: 4\nuse_cpu: false\n",
            "accelerate", NULL);
    assert_near(setting(MFU_S_GPUS), 4, 0);
    assert_near(setting(MFU_S_ZERO), 3, 0);
    assert_near(setting(MFU_S_RESHARD), 0, 0);
    assert_int_equal(config.checkpoint, MFU_FULL);
    assert_int_equal(config.precision, MFU_BF16);
    read_as("a.yaml",
            "distributed_type: MULTI_GPU\nfsdp_config:\n  fsdp_sharding_strategy: "
            "FULL_SHARD\nmixed_precision: 'no'\n"
            "num_processes: 2\n",
            "accelerate", NULL);
    assert_near(setting(MFU_S_ZERO), 0, 0);
    assert_int_equal(config.precision, MFU_FP32);
    assert_int_equal(fate("fsdp_config.fsdp_sharding_strategy"), MFU_IGNORED);
}

/* What the session had set is not what a file describes that says otherwise, were it only by its own default. */
static void a_file_takes_back_what_was_set_before(void **state)
{
    static const struct {
        const char *key, *value, *format, *name, *text;
    } of[] = {
        {"reshard_after_forward", "off", "huggingface", "a.yaml", "per_device_train_batch_size: 4\nfsdp: full_shard\n"},
        {"reshard_after_forward", "off", "huggingface", "a.yaml",
         "per_device_train_batch_size: 4\nfsdp: full_shard\nfsdp_config:\n  reshard_after_forward: true\n"},
        {"reshard_after_forward", "off", "accelerate", "a.yaml",
         "distributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\nnum_processes: 8\n"},
        {"reshard_after_forward", "off", "torchtitan", "a.toml",
         "[training]\nlocal_batch_size = 2\n[parallelism]\nfsdp_reshard_after_forward = \"default\"\n"},
        {"reshard_after_forward", "off", "torchtune", "a.yaml",
         "model:\n  _component_: torchtune.models.llama3.llama3_8b\nbatch_size: 2\nfsdp_reshard_after_forward: true\n"},
        {"memory_efficient_linear", "off", "huggingface", "a.yaml",
         "per_device_train_batch_size: 4\nfsdp: full_shard\n"},
        {"memory_efficient_linear", "off", "deepspeed", "a.json",
         "{\"train_micro_batch_size_per_gpu\": 1, \"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": "
         "3}}"},
        {"trainer", "deepspeed", "huggingface", "a.yaml", "per_device_train_batch_size: 4\nfsdp: full_shard\n"},
        {"objective", "dpo", "huggingface", "a.yaml", "per_device_train_batch_size: 4\nstage: sft\n"},
        {"exp_avg_dtype", "bf16", "megatron", "a.sh", MEGATRON "--exp-avg-dtype fp32\n"},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(of); i++) {
        struct mfu_scenario before = start;
        struct mfu_config alone;

        read_as(of[i].name, of[i].text, of[i].format, "8");
        alone = config;
        assert_int_equal(mfu_scenario_set(&start, of[i].key, of[i].value, NULL), 0);
        read_as(of[i].name, of[i].text, of[i].format, "8");
        start = before;
        for (int k = 0; k < MFU_SETTING_COUNT; k++)
            if (config.setting[k] != alone.setting[k])
                fail_msg("%s after set %s %s: %s", of[i].text, of[i].key, of[i].value, mfu_settings[k].key);
    }
}

/* ---- nanoGPT ------------------------------------------------------------- */

static void nanogpt_takes_the_data_sets_vocabulary(void **state)
{
    (void)state;
    read_as("a.py",
            "dataset = 'shakespeare_char'\nbatch_size = 64\nblock_size = 256\ngradient_accumulation_steps = "
            "6\n",
            "nanogpt", "4");
    assert_near(mfu_config_dim(&config, "vocab_size"), 65, 0);
    assert_int_equal(fate("gradient_accumulation_steps"), MFU_UNMODELLED); /* 6 is no multiple of 4 */
    read_as("a.py", "batch_size = 12\ngradient_accumulation_steps = 5 * 8\n", "nanogpt", "8");
    assert_near(config.accum, 5, 0);
}

/* ---- all ----------------------------------------------------------------- */

/* What the scenario refuses is named, and the rest is set. */
static void a_contradiction_is_left_out_and_named(void **state)
{
    SCRATCH s = scratch_new();

    (void)state;
    read_file(scratch_file(&s, "a.py", "batch_size = 4\nn_embd = 768\nn_head = 7\ndropout = 7\n"), "nanogpt");
    assert_near(config.batch, 4, 0);
    assert_int_equal(fate("dropout"), MFU_UNMODELLED);
    assert_true(*mfu_import_find(import, "dropout")->note != '\0');
}

static void shapes_that_need_each_other_are_set_together(void **state)
{
    SCRATCH s = scratch_new();

    (void)state;
    read_file(scratch_file(&s, "a.py", "n_head = 25\nn_embd = 1600\nn_layer = 48\nbatch_size = 1\n"), "nanogpt");
    assert_near(mfu_config_dim(&config, "n_head"), 25, 0);
    assert_near(mfu_config_dim(&config, "n_embd"), 1600, 0);
    assert_int_equal(fate("n_head"), MFU_UNDERSTOOD);
    read_file(scratch_file(&s, "b.py", "init_from = 'gpt2-xl'\nbatch_size = 1\n"), "nanogpt");
    assert_string_equal(next.model->slug, "gpt2-xl");
    assert_int_equal(fate("n_layer"), MFU_IGNORED);
}

/* Quotes, documentation, lists over lines, the last of a name. */
static void assignments_are_taken_apart(void **state)
{
    SCRATCH s = scratch_new();

    (void)state;
    read_file(scratch_file(&s, "a.py",
                           "\"\"\"batch_size = 1\nbatch_size = 2\n\"\"\"\n"
                           "batch_size=3\nbatch_size = 5 # '\n"
                           "wandb_project = 'a # b' # c\nlist = [1,\n  2]\nimport time\nblock_size = 512"),
              "nanogpt");
    assert_near(config.batch, 5, 0);
    assert_near(config.seq, 512, 0);
    assert_string_equal(mfu_import_find(import, "wandb_project")->value, "a # b");
    assert_string_equal(mfu_import_find(import, "list")->value, "[1,\n  2]");
    assert_int_equal(fate("import time"), MFU_UNMODELLED);
    assert_int_equal(mfu_import_find(import, "block_size")->line, 10);
}

static void refusals_say_why(void **state)
{
    struct mfu_error err = {0};
    SCRATCH s = scratch_new();

    (void)state;
    let_go();
    import = calloc(1, sizeof *import);
    assert_non_null(import);
    import->catalog = catalog;
    import->start = &start;
    assert_int_equal(mfu_import_read(import, "/nonexistent", NULL, &err), -1);
    assert_true(err.code == MFU_EIO && strstr(err.text, "No such file"));
    assert_int_equal(mfu_import_read(import, scratch_file(&s, "a.txt", "nothing\n"), NULL, &err), -1);
    assert_true(strstr(err.text, "no known program") != NULL);
    assert_int_equal(
        mfu_import_read(import, scratch_file(&s, "config.json", "{\"model_type\": \"llama\"}\n"), NULL, &err), -1);
    assert_true(strstr(err.text, "`model FILE` takes it") != NULL);
    assert_int_equal(mfu_import_read(import, scratch_file(&s, "b.txt", "x\n"), "nanogtp", &err), -1);
    assert_string_equal(err.suggestion, "nanogpt");
    assert_int_equal(mfu_import_read(import, scratch_file(&s, "c.json", "{\"zero_optimization\": [1,}"), NULL, &err),
                     -1);
    assert_true(err.line == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nanogpt_is_understood),
        cmocka_unit_test(llmc_is_understood),
        cmocka_unit_test(torchtitan_is_understood),
        cmocka_unit_test(training_arguments_are_understood),
        cmocka_unit_test(trainers_of_diffusion_are_understood),
        cmocka_unit_test(datasets_leave_the_trainer_alone),
        cmocka_unit_test(uncached_encoders_are_never_silent),
        cmocka_unit_test(scripts_of_unets_say_what_they_do),
        cmocka_unit_test(deepspeed_is_understood),
        cmocka_unit_test(megatron_is_understood),
        cmocka_unit_test(llmc_recomputes_what_r_says),
        cmocka_unit_test(llmc_knows_shapes_by_name),
        cmocka_unit_test(llmc_is_as_it_was_built),
        cmocka_unit_test(llmc_is_found_in_a_script),
        cmocka_unit_test(megatron_has_its_own_defaults),
        cmocka_unit_test(megatron_experts_have_all_heads),
        cmocka_unit_test(megatron_recomputes_some_layers),
        cmocka_unit_test(megatron_lists_may_be_quoted),
        cmocka_unit_test(megatron_holds_weights_in_fp8),
        cmocka_unit_test(megatron_names_modules_to_recompute),
        cmocka_unit_test(megatron_recomputes_experts),
        cmocka_unit_test(megatron_arguments_may_be_an_array),
        cmocka_unit_test(megatron_says_how_context_is_exchanged),
        cmocka_unit_test(megatron_arguments_may_be_a_variable),
        cmocka_unit_test(torchtitan_shards_over_the_scenarios_gpus),
        cmocka_unit_test(the_global_batch_is_that_of_the_file),
        cmocka_unit_test(torchtitan_of_2024_is_understood),
        cmocka_unit_test(deepspeed_completes_the_batch),
        cmocka_unit_test(deepspeed_swaps_to_drives),
        cmocka_unit_test(megatron_states_have_types),
        cmocka_unit_test(models_of_the_hub_are_known),
        cmocka_unit_test(gpt2_of_the_hub_is_the_checkpoint),
        cmocka_unit_test(what_is_off_is_ignored),
        cmocka_unit_test(adapters_are_understood),
        cmocka_unit_test(tokens_that_train_are_counted),
        cmocka_unit_test(files_of_programs_around_the_trainer_are_theirs),
        cmocka_unit_test(methods_of_peft_are_understood),
        cmocka_unit_test(layers_of_peft_have_numbers),
        cmocka_unit_test(every_row_of_a_format_is_read),
        cmocka_unit_test(other_forms_of_a_method_are_not_modelled),
        cmocka_unit_test(gaps_of_peft_are_filled_as_peft_fills_them),
        cmocka_unit_test(pieces_of_the_loss_are_decided_once),
        cmocka_unit_test(what_was_open_is_answered),
        cmocka_unit_test(what_is_open_stays_open_until_it_is_answered),
        cmocka_unit_test(what_there_is_no_room_for_is_more),
        cmocka_unit_test(what_changes_memory_is_planned_or_open),
        cmocka_unit_test(image_encoders_are_frozen_as_the_program_does),
        cmocka_unit_test(torchtune_on_one_card_is_understood),
        cmocka_unit_test(axolotl_and_llama_factory_are_understood),
        cmocka_unit_test(the_rest_of_a_quantised_base_stays_as_the_program_has_it),
        cmocka_unit_test(the_loop_is_that_of_the_file),
        cmocka_unit_test(preferences_are_understood),
        cmocka_unit_test(packing_without_a_mask_crosses_documents),
        cmocka_unit_test(copies_of_shards_are_understood),
        cmocka_unit_test(accelerate_is_understood),
        cmocka_unit_test(a_file_takes_back_what_was_set_before),
        cmocka_unit_test(nanogpt_takes_the_data_sets_vocabulary),
        cmocka_unit_test(a_contradiction_is_left_out_and_named),
        cmocka_unit_test(shapes_that_need_each_other_are_set_together),
        cmocka_unit_test(assignments_are_taken_apart),
        cmocka_unit_test(refusals_say_why),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
