/*
 * measured_programs.c - what programs do that no column of a table of runs says, and the software that columns name.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernel/attention_kind.h"
#include "read/runs/measured_reading.h"
#include "read/runs/measured_run.h"
#include "scenario/key_names.h"
#include "scenario/setting.h"

/* Software that `method` names behind the method ("qlora+unsloth"), and `compile` beside others, as settings.
 *
 * Cut cross-entropy never holds the logits; head and loss in so many pieces are as small beside all else.  It is
 * unsloth's default (unsloth_zoo 2025.8.8, compiler.py: UNSLOTH_ENABLE_CCE; from PyTorch 2.8 on its own loss in pieces,
 * unsloth_zoo 002a0c99, loss_utils.py). */
#define CUT_CROSS_ENTROPY "64"
static const struct {
    const char *word;
    const char *key, *value;
} software[] = {
    {"unsloth", "kernel_package", "unsloth"},
    {"unsloth", "lora_kernels", "unsloth"},
    {"unsloth", "loss_chunks", CUT_CROSS_ENTROPY},
    {"cce", "loss_chunks", CUT_CROSS_ENTROPY},
    {"fa2", "attention", "flash2"},
    {"hf", "runtime", "eager"},
    {"hf", "upcast_logits", "1"}, /* transformers' loss_utils.py */
    {"reduce-overhead", "runtime", "compile"},
    {"reduce-overhead", "cuda_graphs", "on"}, /* torch/_inductor/__init__.py: list_mode_options */
    {"cuda-graphs", "cuda_graphs", "on"},
    /* one module for a layer: bias, GELU, dropout, residual, norm and softmax in kernels of its own (edaa7221,
     * csrc/transformer/ds_transformer_cuda.cpp) */
    {"deepspeed transformer kernel", "runtime", "fused"}};

const char *mfu_row_method(const struct mfu_row *r)
{
    static const char *const names[] = {"qlora", "lora"};

    for (size_t i = 0; i < sizeof names / sizeof *names && mfu_cell_empty(r, "method"); i++)
        if (mfu_says(mfu_row_cell(r, "model"), names[i]))
            return names[i];
    return r->method;
}

/* Liger's loss, on where its other kernels are (transformers/monkey_patch.py: fused_linear_cross_entropy=True). */
static bool set_liger_loss(struct mfu_row *r)
{
    struct mfu_config config;
    double rows, words;
    mfu_scenario_resolve(&r->run->scenario, &config, NULL);
    rows = config.setting[MFU_S_BATCH] * mfu_config_dim(&config, "seq");
    words = mfu_config_dim(&config, "vocab_size");
    if (!(rows >= 1) || !(words >= 1) || !(mfu_config_dim(&config, "n_embd") >= 1))
        return true;
    return mfu_row_take(r, "loss_chunks=%.0f for liger",
                        mfu_liger_loss_chunks(rows, mfu_config_dim(&config, "n_embd"), words));
}

/* Sets what one word of the software says, by the table above, else by the names of runtimes, packages and trainers, whose
 * runtime it then is; -1: the row is skipped, 0: nothing is called so. */
static int set_software_word(struct mfu_row *r, const char *word)
{
    static const enum mfu_setting_id kinds[] = {MFU_S_RUNTIME, MFU_S_PACKAGE, MFU_S_TRAINER};
    int known = 0;

    for (size_t i = 0; i < sizeof software / sizeof *software; i++) {
        if (!mfu_same_letters(software[i].word, word)
            || mfu_scenario_key(&r->run->scenario, software[i].key, NULL).kind == MFU_KEY_NONE)
            continue;
        known = 1;
        if (!mfu_row_take(r, "%s=%s for %s", software[i].key, software[i].value, word))
            return -1;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !known; i++) {
        const char *key = mfu_settings[kinds[i]].key, *name;
        int choice = mfu_setting_choice(kinds[i], word, NULL);

        if (choice < 0)
            continue;
        known = 1;
        if (kinds[i] == MFU_S_TRAINER) { /* itself is set where the program is */
            key = mfu_settings[MFU_S_RUNTIME].key;
            choice = mfu_trainers[choice].runtime;
        }
        name = mfu_settings[kinds[i] == MFU_S_TRAINER ? MFU_S_RUNTIME : kinds[i]].choices[choice];
        if (!mfu_row_take(r, "%s=%s for %s", key, name, word)
            || (kinds[i] == MFU_S_PACKAGE && mfu_packages[choice].loss_in_pieces && !set_liger_loss(r)))
            return -1;
    }
    return known;
}

/* Words of a name of software with blanks or dashes ("HF Trainer", "Megatron-Core v0.7", "Skywork-Megatron"), where one of
 * them is known; as set_software_word(). */
static int set_software_parts(struct mfu_row *r, const char *words)
{
    int known = 0;
    char word[48];

    for (size_t n; *(words += strspn(words, " ")); words += n) {
        int one;

        n = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        if ((one = set_software_word(r, word)) == 0 && strchr(word, '-')) {
            for (char *p = word; (p = strchr(p, '-'));)
                *p = ' ';
            one = set_software_parts(r, word);
        }
        if (one < 0)
            return -1;
        known |= one;
    }
    return known;
}

/* Words of the software, apart by what joins them; false: the row is skipped, since one is of another framework, or is
 * not known and no program. */
bool mfu_row_set_software_words(struct mfu_row *r, const char *column, const char *words)
{
    bool program = strcmp(column, "compile") == 0;
    char word[48];

    if (program && mfu_other_stack_in(words))
        return mfu_row_skip(r, "'%s' of %s '%s' is not modelled", mfu_other_stack_in(words), column,
                            mfu_row_cell(r, column));
    for (size_t n; *(words += strspn(words, " +,;/()")); words += n) {
        size_t length = n = strcspn(words, "+,;/()");
        int known;

        while (words[length - 1] == ' ')
            length--;
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if ((known = set_software_word(r, word)) == 0)
            known = set_software_parts(r, word);
        if (known < 0)
            return false;
        if (known)
            continue;
        if (!program)
            return mfu_row_skip(r, "'%s' of %s '%s' is not modelled", word, column, mfu_row_cell(r, column));
        r->run->other_program = true;
        mfu_row_assume(r, "%s is not known: planned as PyTorch", word);
    }
    return true;
}

/* The words behind the method. */
bool mfu_row_set_beside_method(struct mfu_row *r)
{
    const char *text = mfu_row_cell(r, "method");

    return mfu_row_set_software_words(r, "method", r->software)
        && mfu_row_set_software_words(r, "method", text + strcspn(text, "+"));
}

/* What programs do that no other column says, by the program that the source or the notes name. */
static const struct {
    const char *program;
    const char *key, *value; /* where the model has such a key */
    const char *attention;   /* of that program's own code, which has this attention; NULL: any */
    const char *method;      /* a part of what its column says; NULL: any */
    bool several;            /* of several GPUs alone */
    const char *family;      /* of these models alone, apart by blanks; NULL: any */
} programs[] = {
    /* Qwen's finetune.py, of 2023: the model's code is its own; LoraArguments; peft 0.5, whose adapters have fp32 beside
     * whatever weights.  Quantised bases train in DeepSpeed, without autocast (finetune_qlora_single_gpu.sh,
     * ds_config_zero2.json: buckets of 2e8 elements). */
    {"QwenLM", "software", "2023", NULL, NULL, false, NULL},
    {"QwenLM", "loop", "transformers", NULL, NULL, false, NULL},
    {"QwenLM", "checkpoint", "full", NULL, NULL, false, NULL}, /* its scripts: --gradient_checkpointing True */
    {"QwenLM", "trainer", "deepspeed", NULL, "lora", true, NULL},
    {"QwenLM", "zero", "2", NULL, "lora", true, NULL},
    {"QwenLM", "precision", "bf16", NULL, "lora", false, NULL},
    {"QwenLM", "lora_dtype", "fp32", NULL, "lora", false, NULL},
    {"QwenLM", "kernel_package", "flash-attn", NULL, "lora", false, NULL},
    {"QwenLM", "lora_dropout", "0.05", NULL, "lora", false, NULL},
    {"QwenLM", "trainer", "deepspeed", NULL, "full", false, NULL}, /* finetune_ds.sh, ds_config_zero3.json */
    {"QwenLM", "zero", "3", NULL, "full", false, NULL},
    {"QwenLM", "upcast_logits", "0", NULL, "full", false, NULL},
    {"QwenLM", "kernel_package", "flash-attn", NULL, "full", false, NULL},
    {"QwenLM", "trainer", "deepspeed", NULL, "qlora", false, NULL},
    {"QwenLM", "zero", "2", NULL, "qlora", false, NULL},
    {"QwenLM", "precision", "fp16", NULL, "qlora", false, NULL},
    {"QwenLM", "optimizer", "adamw", NULL, "qlora", false, NULL},
    {"QwenLM", "upcast_logits", "0", NULL, "qlora", false, NULL},
    {"QwenLM", "memory.engine_bucket", "2e8", NULL, "lora", false, NULL},
    /* swift 1.5: weights in 16 bits, whatever trains, in transformers' Trainer with autocast, whose outputs become fp32
     * (de234ce1, swift/llm/utils/argument.py: select_dtype). */
    {"ms-swift", "precision", "bf16-pure", NULL, "full", false, NULL},
    {"ms-swift", "precision", "bf16", NULL, "lora", false, NULL},
    {"ms-swift", "fp32_outputs", "1", NULL, NULL, false, NULL},
    /* 1.5.0, llm/utils/argument.py (of models that can); 4.6.0, trainers/arguments.py: gradient_checkpointing = True */
    {"ms-swift", "checkpoint", "full", NULL, NULL, false, NULL},
    /* modules/peft/lora.py: parameters in the model's type, dropout only where it is not 0. */
    {"torchtune", "lora_kernels", "plain", NULL, "lora", false, NULL},
    /* recipes/configs (0.6.1): enable_activation_checkpointing in 105 of 139, not in LoRA of small models over several GPUs. */
    {"torchtune", "checkpoint", "full", NULL, NULL, false, NULL},
    {"after_pp_fix=False", "trainer", "nanotron-2024", NULL, NULL, false, NULL},
    {"nanotron", "trainer", "nanotron", NULL, NULL, false, NULL},
    {"torchtitan", "trainer", "torchtitan", NULL, NULL, false, NULL},
    /* f411b3d3, train_gpt.py; before nanoGPT, whose name is a part of its. */
    {"modded-nanogpt", "runtime", "compile", NULL, NULL, false, NULL},
    {"nanoGPT", "zero_grad", "free", NULL, NULL, false, NULL}, /* train.py: set_to_none=True */
    /* timm's benchmark.py (0dbd9352, 2022-07): between two steps nothing is read, logged or loaded. */
    {"benchmark.py", "step.constant", "0", NULL, NULL, false, NULL},
    {"benchmark.py", "model.unseen", "0", NULL, NULL, false, NULL},
    /* Workers for a GPU where no option says: timm's train.py (1.0), open_clip's params.py (89fb801), main.py of DeiT (7e160fe)
     * and main_pretrain.py of MAE (efb2a80). */
    {"timm", "dataloader_workers", "4", NULL, NULL, false, NULL},
    {"open_clip", "dataloader_workers", "4", NULL, NULL, false, NULL},
    {"openclip", "dataloader_workers", "4", NULL, NULL, false, NULL},
    {"deit", "dataloader_workers", "10", NULL, NULL, false, NULL},
    {"mae", "dataloader_workers", "10", NULL, NULL, false, NULL},
    /* examples of diffusers (58eb52c080): images are encoded in each step, but by train_text_to_image_sdxl.py before all; prompts
     * are, too, where images have captions (train_text_to_image*.py) and in train_dreambooth.py; adapters of U-Nets sit on
     * to_q, to_k, to_v and to_out.0; the encoder stays in fp32 for SDXL and Stable Diffusion 3. */
    {"diffusers", "autoencoder", "1", NULL, NULL, false, "stable-diffusion sd3 flux"},
    {"diffusers", "autoencoder", "1", NULL, "lora", false, "sdxl"},
    {"diffusers", "autoencoder_fp32", "1", NULL, NULL, false, "sdxl sd3"},
    {"diffusers", "text_encoders", "1", NULL, NULL, false, "stable-diffusion"},
    {"diffusers", "text_encoders", "1", NULL, "lora", false, "sdxl"},
    {"diffusers", "lora_targets", "q,k,v,o", NULL, "lora", false, "stable-diffusion sdxl"},
    /* ConvNets/configs.yml: workers of DGX A100 (8 of DGX-1), data_backend pytorch. */
    {"DeepLearningExamples", "dataloader_workers", "10", NULL, NULL, false, "resnet efficientnet"},
    /* PyTorch's fully_shard over transformers' classes (NeMo Automodel, components/distributed/fsdp2.py). */
    {"Automodel", "trainer", "torchtitan", NULL, NULL, false, NULL},
    {"Automodel", "lora_targets", "all-linear", NULL, "lora", false, NULL},
    /* Megatron-Bridge 067f987d, perf_recipes/llama: linear_qkv, as NeMo's recipes in their performance mode. */
    {"Megatron-Bridge", "trainer", "megatron-bridge", NULL, NULL, false, NULL},
    {"Megatron-Bridge", "lora_targets", "q,k,v", NULL, "lora", false, NULL},
    {"NeMo", "trainer", "megatron-bridge", NULL, NULL, false, NULL},
    {"NeMo", "lora_targets", "q,k,v", NULL, "lora", false, NULL},
    /* training/configs/experiment/: fused_mlp, fused_bias_fc, fused_dropout_add_ln, and its own cross-entropy. */
    {"flash-attention training", "runtime", "fused", "flash1", NULL, false, NULL},
    /* calc_loss_batch() returns the loss alone; ch04/01_main-chapter-code/gpt.py, until PyTorch's classes replace it. */
    {"LLMs-from-scratch", "keep_logits", "0", NULL, NULL, false, NULL},
    {"LLMs-from-scratch", "norm_kind", "4", "math", NULL, false, NULL},
    {"LLMs-from-scratch", "activation", "6", "math", NULL, false, NULL},
    {"LLM-from-scratch", "keep_logits", "0", NULL, NULL, false, NULL},
    {"LLM-from-scratch", "norm_kind", "4", "math", NULL, false, NULL},
    {"LLM-from-scratch", "activation", "6", "math", NULL, false, NULL},
    /* Its data are Megatron-DeepSpeed's (vTrain b8fd2b9, data/README.md). */
    {"vTrain", "trainer", "megatron-deepspeed", NULL, NULL, false, NULL},
    /* transformers' GPT2Config (configuration_gpt2.py: gelu_new, resid_pdrop, embd_pdrop and attn_pdrop), where the model itself is
     * called by its name; the files of GPT-2 and GPT-3 are nanoGPT's and Megatron's. */
    {"huggingface", "activation", "6", NULL, NULL, false, "gpt2 gpt3"},
    {"huggingface", "dropout", "0.1", NULL, NULL, false, "gpt2 gpt3"},
    {"huggingface", "keep_logits", "0", NULL, NULL, false, "gpt2 gpt3"},
    /* litgpt 26857050, 0.5.13: litgpt/finetune, FSDPStrategy(activation_checkpointing_policy={Block}), in lora.py
     * parallelize_fn(activation_checkpointing=True), whatever holds the base; bf16-true if the GPU has it. */
    {"litgpt", "checkpoint", "none", NULL, NULL, false, NULL},
    {"litgpt", "checkpoint", "full", NULL, NULL, true, NULL},
    {"litgpt", "precision", "bf16-pure", NULL, NULL, false, NULL},
    {"litgpt", "upcast_logits", "0", NULL, NULL, false, NULL},
    /* Recomputation that a program or nearly all of its recipes turn on: axolotl 067b021c, examples (203 of 212, flash
     * attention in 190); LLaMA-Factory ff6d4d12, hparams/model_args.py: disable_gradient_checkpointing False; alignment-handbook
     * 925acdf, recipes (all); FastChat 0e6d3e4b, README.md; qlora 7f4e95a, qlora.py; alpaca-lora 8bb8579, finetune.py
     * (prepare_model_for_int8_training); LongLoRA d4eb344, fine-tune.py; xtuner b934f462;
     * LMFlow f3597dba, scripts; llama-recipes 37c8f72, configs/fsdp.py; metaseq f7ffa5f, the 175B's baselines; TRL 0.22,
     * trainer/sft_config.py and others (before, its scripts' --gradient_checkpointing); unsloth 2026.10.9, models/loader.py
     * (use_gradient_checkpointing = "unsloth", which moves what is kept to the host). */
    {"axolotl", "checkpoint", "full", NULL, NULL, false, NULL},
    {"axolotl", "attention", "flash2", NULL, NULL, false, NULL},
    {"LLaMA-Factory", "checkpoint", "full", NULL, NULL, false, NULL},
    {"trl", "checkpoint", "full", NULL, NULL, false, NULL},
    {"unsloth", "checkpoint", "full", NULL, NULL, false, NULL},
    {"alignment-handbook", "checkpoint", "full", NULL, NULL, false, NULL},
    {"alignment-handbook", "attention", "flash2", NULL, NULL, false, NULL},
    {"FastChat", "checkpoint", "full", NULL, NULL, false, NULL},
    {"artidoro", "checkpoint", "full", NULL, NULL, false, NULL},
    {"artidoro", "optimizer", "paged-adamw", NULL, NULL, false, NULL},
    {"alpaca-lora", "checkpoint", "full", NULL, NULL, false, NULL},
    {"LongLoRA", "checkpoint", "full", NULL, NULL, false, NULL},
    {"LongLoRA", "trainer", "deepspeed", NULL, NULL, true, NULL}, /* README.md: ds_configs/stage2.json */
    {"LongLoRA", "zero", "2", NULL, NULL, true, NULL},
    {"xtuner", "checkpoint", "full", NULL, NULL, false, NULL},
    {"LMFlow", "checkpoint", "full", NULL, NULL, false, NULL},
    {"llama-recipes", "checkpoint", "full", NULL, NULL, true, NULL},
    {"metaseq", "checkpoint", "full", NULL, NULL, false, NULL},
    /* jzhang38/TinyLlama bf12224, lit_gpt: flash-attn's attention, RMSNorm, rotary and cross-entropy; FSDP without recomputation. */
    {"jzhang38", "kernel_package", "flash-attn", NULL, NULL, false, NULL},
    {"jzhang38", "cross_entropy_fusion", "flash-attn", NULL, NULL, false, NULL},
    {"jzhang38", "attention", "flash2", NULL, NULL, false, NULL},
    /* InternEvo c628a8c, configs/7B_sft.py: flash-attn's kernels, ZeRO 1 over all ranks. */
    {"InternEvo", "runtime", "fused", NULL, NULL, false, NULL},
    {"InternEvo", "zero", "1", NULL, NULL, true, NULL},
    {"InternEvo", "attention", "flash2", NULL, NULL, false, NULL},
    /* lingua 437d680, apps: compile true; nanochat 92d63d4, scripts/base_train.py. */
    {"facebookresearch/lingua", "runtime", "compile", NULL, NULL, false, NULL},
    {"nanochat", "runtime", "compile", NULL, NULL, false, NULL},
    {"nanochat", "optimizer", "muon", NULL, NULL, false, NULL},
};

/* Whether the source, the notes or what it is written in name the program. */
static bool names_in_prose(const struct mfu_row *r, const char *program)
{
    return mfu_says(mfu_row_cell(r, "source"), program) || mfu_says(mfu_row_cell(r, "notes"), program)
        || mfu_says(mfu_row_cell(r, "framework"), program);
}

/* Whether the row's program trains transformers' models in its Trainer: by the column of the software, or by its source. */
static bool trains_transformers(const struct mfu_row *r)
{
    static const char *const of_column[] = {"hf", "huggingface", "transformers",
                                            "accelerate"}; /* in words: of models, too */
    static const char *const of_any[] = {"hf trainer",
                                         "hf transformers",
                                         "hugging face",
                                         "huggingface transformers",
                                         "transformers trainer",
                                         "trl",
                                         "axolotl",
                                         "lmflow",
                                         "llama-factory",
                                         "alignment-handbook",
                                         "fastchat",
                                         "alpaca-lora",
                                         "artidoro",
                                         "longlora",
                                         "stanford_alpaca"};
    const char *text = mfu_row_cell(r, "compile");

    for (size_t i = 0; i < sizeof of_column / sizeof *of_column; i++)
        if (mfu_says_word(text, of_column[i]))
            return true;
    for (size_t i = 0; i < sizeof of_any / sizeof *of_any; i++)
        if (mfu_says_word(text, of_any[i])
            || ((mfu_cell_empty(r, "compile") || mfu_cell_is(r, "compile", "eager")) && names_in_prose(r, of_any[i])))
            return true;
    return false;
}

/* What transformers' models and their Trainer do where the graph has another program's: logits in fp32 (loss_utils.py),
 * once more where autocast ends (accelerate, which the Trainer has since 4.30), every token in every expert of Llama 4
 * (modeling_llama4.py), and GPT-2's GELU by parts and its dropout (configuration_gpt2.py; transformers 4.57). */
#define FIRST_FUSED_GPT2 2024 /* transformers 4.42: before, a fused attention is another's code */
#define FIRST_ACCELERATE 2024

bool mfu_row_set_transformers(struct mfu_row *r)
{
    static const struct {
        const char *key, *value;
        bool gpt2; /* of this family alone */
        int since; /* a year of the software, where it is stated */
    } differ[] = {{"upcast_logits", "1", false, 0},
                  {"fp32_outputs", "1", false, FIRST_ACCELERATE},
                  {"dense_experts", "1", false, 0},
                  {"activation", "6", true, 0},
                  {"dropout", "0.1", true, 0}};
    const double *set = r->run->scenario.setting;
    bool fused = !mfu_cell_empty(r, "attention") && !mfu_attentions[(int)set[MFU_S_ATTENTION]].any_scores,
         gpt2 = strcmp(r->run->scenario.model->family, "gpt2") == 0;

    if (!trains_transformers(r))
        return true;
    if (!mfu_says_word(mfu_row_cell(r, "compile"), "accelerate") /* has no loop */
        && !mfu_row_take(r, "loop=transformers, its Trainer"))
        return false;
    if (gpt2 && fused && mfu_row_is_before(r, FIRST_FUSED_GPT2))
        return true;
    for (size_t i = 0; i < sizeof differ / sizeof *differ; i++) {
        if ((differ[i].gpt2 && !gpt2) || !mfu_cell_empty(r, differ[i].key) || mfu_row_is_before(r, differ[i].since)
            || mfu_scenario_key(&r->run->scenario, differ[i].key, NULL).kind == MFU_KEY_NONE)
            continue;
        if (!mfu_row_take(r, "%s=%s, as transformers does", differ[i].key, differ[i].value))
            return false;
    }
    return true;
}

/* ZeRO 2 and 3 by these names, and this word, are DeepSpeed's. */
static bool runs_deepspeed(const struct mfu_row *r)
{
    return mfu_cell_is(r, "compile", "eager")
        && (mfu_cell_is(r, "sharding", "zero2") || mfu_cell_is(r, "sharding", "zero3")
            || strstr(mfu_row_cell(r, "optimizer"), "DeepSpeed"));
}

/* DeepSpeed casts all that trains to 16 bits, beside fp32 masters (edaa7221, runtime/engine.py).  torchao's scaling is
 * dynamic, if not told otherwise (36027d8, float8/config.py: CastConfig). */
bool mfu_row_set_engine(struct mfu_row *r)
{
    const double *set_to = r->run->scenario.setting;

    const char *fp8 = mfu_trainers[(int)set_to[MFU_S_TRAINER]].fp8;

    if (fp8 && mfu_precisions[(int)set_to[MFU_S_PRECISION]].delayed)
        mfu_row_assume(r, "precision=%s: torchao's scales are of the tensor at hand", fp8);
    if ((int)set_to[MFU_S_TRAINER] != MFU_TRAINER_DEEPSPEED)
        return true;
    if (mfu_precisions[(int)set_to[MFU_S_PRECISION]].pure && !mfu_row_set(r, "precision", "bf16"))
        return false;
    return !(set_to[MFU_S_LORA] > 0) || mfu_row_set(r, "lora_dtype", "16bit");
}

/* The trainer that the column of the software names, where it is more than a loop around DDP, also as a part of a name
 * ("Skywork-Megatron"); -1. */
int mfu_row_stated_trainer(const struct mfu_row *r)
{
    const char *text = mfu_row_cell(r, "compile");
    int trainer = mfu_row_choice_in(MFU_S_TRAINER, text);
    char parts[128];

    if (trainer < 0) {
        snprintf(parts, sizeof parts, "%s", text);
        for (char *p = parts; (p = strchr(p, '-'));)
            *p = ' ';
        trainer = mfu_row_choice_in(MFU_S_TRAINER, parts);
    }
    return trainer == MFU_TRAINER_DDP ? -1 : trainer;
}

/* Whether the column of the software says anything that is known. */
static bool names_program(const char *text)
{
    static const enum mfu_setting_id kinds[] = {MFU_S_TRAINER, MFU_S_RUNTIME, MFU_S_PACKAGE};
    bool known = mfu_row_has_word("compile", text) && *text;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !known; i++)
        known = mfu_row_choice_in(kinds[i], text) >= 0;
    return known || mfu_other_stack_in(text);
}

/* Whether layers are split over tensor ranks, or into stages beside expert parallelism, which is no PyTorch loop's, and nothing
 * says whose: most such programs are built on Megatron, or like it; with FSDP, on PyTorch's own as torchtitan is. */
static bool splits_layers(const struct mfu_row *r)
{
    const char *sharding = mfu_sharding_in(mfu_row_cell(r, "sharding"));

    if ((!(mfu_cell_number(r, "tp") > 1) && !(mfu_cell_number(r, "ep") > 1 && mfu_cell_number(r, "pp") > 1))
        || names_program(mfu_row_cell(r, "compile"))
        || (!mfu_cell_empty(r, "compile") && sharding && strcmp(sharding, "zero1") != 0
            && strcmp(sharding, "ddp") != 0))
        return false; /* or an unknown one with FSDP, say */
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (names_in_prose(r, programs[i].program))
            return false;
    return true;
}

/* Whether the card and the model can have what a program usually does: a V100 has no flash attention, whoever trains; where
 * the run cannot be anyway, that is for other reasons. */
static bool is_possible(const struct mfu_row *r, const char *key, const char *value)
{
    struct mfu_scenario with = r->run->scenario;
    struct mfu_config config;
    struct mfu_error err = {0};

    return mfu_scenario_set(&with, key, value, &err) < 0 || mfu_scenario_resolve(&with, &config, &err) == 0
        || mfu_scenario_resolve(&r->run->scenario, &config, &err) < 0;
}

/* Sequence parallelism beside tensor parallelism, where nothing is said: Megatron's recipes have it since Korthikanti et
 * al. 2022. */
#define SEQUENCE_PARALLEL_SINCE 2023

bool mfu_row_set_usual_sp(struct mfu_row *r)
{
    const double *set = r->run->scenario.setting;

    if (!(set[MFU_S_TP] > 1) || !mfu_cell_empty(r, "sp") || !mfu_trainers[(int)set[MFU_S_TRAINER]].transformer_engine
        || mfu_row_is_before(r, SEQUENCE_PARALLEL_SINCE))
        return true;
    if (!is_possible(r, "sp", "on")) {
        mfu_row_assume(r, "sp=off: not modelled of %s", r->run->scenario.model->slug);
        return true;
    }
    return mfu_row_take(r, "sp=on, usual for %s", mfu_trainer_names[(int)set[MFU_S_TRAINER]]);
}

/* Whether the row names the program of the table's row; by the model's name only where that row is of some models, and of
 * what no cell states. */
static bool is_named(const struct mfu_row *r, size_t i)
{
    const char *program = programs[i].program, *families = programs[i].family;

    if (families && (!mfu_has_word(families, r->run->scenario.model->family) || !mfu_cell_empty(r, programs[i].key)))
        return false;
    return names_in_prose(r, program) || mfu_says_word(mfu_row_cell(r, "compile"), program)
        || mfu_says_word(mfu_row_cell(r, "method"), program)
        || (families && mfu_says(mfu_row_cell(r, "model"), program));
}

/* Whether a column of its own states what the table's row is about, which then counts: always of what shards and what is computed
 * again, of the rest where the row has no condition. */
static bool is_stated(const struct mfu_row *r, size_t i)
{
    static const struct {
        const char *key, *column;
        bool always, none; /* whatever the row's condition; "none" is a statement, too */
    } columns[] = {{"checkpoint", "act_ckpt", true, true},        {"zero", "sharding", true, false},
                   {"autoencoder", "cached_latents", true, true}, {"autoencoder_fp32", "cached_latents", true, true},
                   {"lora_targets", "lora_targets", true, false}, {"attention", "attention", false, false},
                   {"runtime", "compile", false, false},          {"precision", "precision", false, false},
                   {"optimizer", "optimizer", false, false}};

    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        if (strcmp(columns[k].key, programs[i].key) == 0)
            return (columns[k].always || (!programs[i].attention && !programs[i].method))
                && (columns[k].none ? *mfu_row_cell(r, columns[k].column) != '\0'
                                    : !mfu_cell_empty(r, columns[k].column));
    return false;
}

/* Whether the column of the software says another runtime than the trainer's, which brings layers of its own. */
static bool runs_other_layers(const struct mfu_row *r, const char *trainer)
{
    int runtime = mfu_setting_choice(MFU_S_RUNTIME, mfu_row_cell(r, "compile"), NULL),
        own = mfu_trainers[mfu_setting_choice(MFU_S_TRAINER, trainer, NULL)].runtime;

    return runtime >= 0 && runtime != own && mfu_runtimes[own].whole_norms;
}

/* The program in the column of the software, or in words: the trainer first, what else it does once the columns are
 * read. */
bool mfu_row_set_program(struct mfu_row *r, bool late)
{
    int trainer = mfu_row_stated_trainer(r);
    const char *named = ""; /* the first that says anything */

    if (!late && trainer >= 0 && !mfu_row_set(r, "trainer", mfu_trainer_names[trainer]))
        return false;
    if (!late && splits_layers(r)) {
        enum mfu_trainer_kind like =
            mfu_says_word(mfu_row_cell(r, "sharding"), "fsdp") ? MFU_TRAINER_TORCHTITAN : MFU_TRAINER_MEGATRON_TE;

        if (!mfu_row_take(r, "trainer=%s: layers are split over GPUs and stages, and no program is stated",
                          mfu_trainer_names[like]))
            return false;
    }
    if (!late && runs_deepspeed(r) && !mfu_row_set(r, "trainer", mfu_trainer_names[MFU_TRAINER_DEEPSPEED]))
        return false;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (*named && strcmp(programs[i].program, named) != 0)
            return true;
        if ((strcmp(programs[i].key, "trainer") != 0) == late && is_named(r, i)
            && (late || !runs_other_layers(r, programs[i].value))
            && (!late || programs[i].method || mfu_cell_is(r, "compile", "eager") || mfu_cell_empty(r, "compile")
                || mfu_says_word(mfu_row_cell(r, "compile"), programs[i].program))
            && (!programs[i].method || strcasestr(mfu_row_method(r), programs[i].method))
            && (!programs[i].several || r->run->scenario.setting[MFU_S_GPUS] > 1) && !is_stated(r, i)
            && (!programs[i].attention || mfu_cell_is(r, "attention", programs[i].attention))
            && mfu_scenario_key(&r->run->scenario, programs[i].key, NULL).kind != MFU_KEY_NONE
            && (!late || is_possible(r, programs[i].key, programs[i].value))) {
            if (!mfu_row_take(r, "%s=%s, as %s does", programs[i].key, programs[i].value, programs[i].program))
                return false;
            named = programs[i].program;
        }
    }
    return true;
}
