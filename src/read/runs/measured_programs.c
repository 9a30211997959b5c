/*
 * measured_programs.c - what programs do that no column of a table of runs says, and the software that columns name.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "kernel/attention_kind.h"
#include "read/runs/measured_reading.h"
#include "read/runs/measured_run.h"
#include "scenario/key_names.h"
#include "scenario/setting.h"

/* Software that `method` names behind the method ("qlora+unsloth"), and `compile` beside others, as settings.
 *
 * Cut cross-entropy is unsloth's default (unsloth_zoo 2025.8.8, compiler.py: UNSLOTH_ENABLE_CCE; from PyTorch 2.8 on its own loss in pieces,
 * unsloth_zoo 002a0c99, loss_utils.py). */
static const struct {
    const char *word;
    const char *key, *value;
} software[] = {
    {"unsloth", "kernel_package", "unsloth"},
    {"unsloth", "lora_kernels", "unsloth"},
    {"unsloth", "loss_chunks", MFU_CUT_CROSS_ENTROPY},
    {"cce", "loss_chunks", MFU_CUT_CROSS_ENTROPY},
    {"fa2", "attention", "flash2"},
    {"reduce-overhead", "runtime", "compile"},
    {"reduce-overhead", "cuda_graphs", "on"}, /* torch/_inductor/__init__.py: list_mode_options */
    {"cuda-graphs", "cuda_graphs", "on"},
    /* one module for a layer: bias, GELU, dropout, residual, norm and softmax in kernels of its own (edaa7221,
     * csrc/transformer/ds_transformer_cuda.cpp) */
    {"deepspeed transformer kernel", "runtime", "fused"}};

const char *mfu_row_method(const struct mfu_row *r)
{
    const char *model = mfu_row_cell(r, "model");

    if (!mfu_cell_empty(r, "method"))
        return r->method;
    return mfu_says(model, "qlora") ? "qlora" : mfu_says(model, "lora") ? "lora" : r->method;
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
    if (!known && strcasestr(word, "compile")) { /* "--torchcompile", "compile_model=True", "compile: false" */
        known = 1;
        if (!mfu_row_take(r, "runtime=%s for %s", mfu_says_together(word, "compile", "") ? "compile" : "eager", word))
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

    while (mfu_next_word(&words, word, sizeof word)) {
        int one = set_software_word(r, word);

        if (one == 0 && strchr(word, '-')) {
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

/* Whether a program of the table is called so. */
static bool in_table(const char *word);

/* Words of the software, apart by what joins them; false: the row is skipped, since one is of another framework, or is
 * not known and no program. */
bool mfu_row_set_software_words(struct mfu_row *r, const char *column, const char *words)
{
    static const char *const prose[] = {"framework", "source", "notes"}; /* whose words an unknown one may be */
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
        if (known || (program && in_table(word)))
            continue;
        if (!program)
            return mfu_row_skip(r, "'%s' of %s '%s' is not modelled", word, column, mfu_row_cell(r, column));
        for (size_t i = 0; i < sizeof prose / sizeof *prose; i++)
            if (mfu_other_stack_in(mfu_row_cell(r, prose[i])))
                return mfu_row_skip(r, "'%s' of %s is not modelled", mfu_other_stack_in(mfu_row_cell(r, prose[i])),
                                    prose[i]);
        r->run->other_program = true;
        mfu_row_assume(r, "%s is not known: planned as PyTorch", word);
    }
    return true;
}

/* The words behind the method. */
bool mfu_row_set_beside_method(struct mfu_row *r)
{
    const char *text = mfu_row_cell(r, "method");

    if (mfu_says(mfu_row_cell(r, "notes"), "liger|liger kernel|liger kernels")
        && !mfu_row_set_software_words(r, "notes", "liger"))
        return false;
    return mfu_row_set_software_words(r, "method", r->software)
        && mfu_row_set_software_words(r, "method", text + strcspn(text, "+"));
}

/* Of what a program does: whatever a column says. */
#define WHATEVER 2

/* What programs do that no other column says, by the program that the source or the notes name. */
static const struct {
    const char *program;
    const char *key, *value; /* where the model has such a key */
    const char *attention;   /* of that program's own code, which has this attention; NULL: any */
    const char *method;      /* a part of what its column says; NULL: any */
    int when;                /* 0, true: of several GPUs alone, or WHATEVER */
    const char *family;      /* of these models alone, apart by blanks; NULL: any */
} programs[] = {
    /* Qwen's finetune.py, of 2023: the model's code is its own; LoraArguments; peft 0.5, whose adapters have fp32 beside
     * whatever weights.  Quantised bases train in DeepSpeed, without autocast (finetune_qlora_single_gpu.sh,
     * ds_config_zero2.json: buckets of 2e8 elements). */
    {"QwenLM/Qwen", "software", "2023", NULL, NULL, false, NULL},
    {"QwenLM/Qwen", "loop", "transformers", NULL, NULL, false, NULL},
    {"QwenLM/Qwen", "checkpoint", "full", NULL, NULL, false, NULL}, /* its scripts: --gradient_checkpointing True */
    {"QwenLM/Qwen", "trainer", "deepspeed", NULL, "lora", true, NULL},
    {"QwenLM/Qwen", "zero", "2", NULL, "lora", true, NULL},
    {"QwenLM/Qwen", "precision", "bf16", NULL, "lora", false, NULL},
    {"QwenLM/Qwen", "lora_dtype", "fp32", NULL, "lora", false, NULL},
    {"QwenLM/Qwen", "kernel_package", "flash-attn", NULL, "lora", false, NULL},
    {"QwenLM/Qwen", "lora_dropout", "0.05", NULL, "lora", false, NULL},
    {"QwenLM/Qwen", "trainer", "deepspeed", NULL, "full", false, NULL}, /* finetune_ds.sh, ds_config_zero3.json */
    {"QwenLM/Qwen", "zero", "3", NULL, "full", false, NULL},
    {"QwenLM/Qwen", "upcast_logits", "0", NULL, "full", false, NULL},
    {"QwenLM/Qwen", "kernel_package", "flash-attn", NULL, "full", false, NULL},
    {"QwenLM/Qwen", "trainer", "deepspeed", NULL, "qlora", false, NULL},
    {"QwenLM/Qwen", "zero", "2", NULL, "qlora", false, NULL},
    {"QwenLM/Qwen", "precision", "fp16", NULL, "qlora", false, NULL},
    {"QwenLM/Qwen", "optimizer", "adamw", NULL, "qlora", false, NULL},
    {"QwenLM/Qwen", "upcast_logits", "0", NULL, "qlora", false, NULL},
    {"QwenLM/Qwen", "memory.engine_bucket", "2e8", NULL, "lora", false, NULL},
    /* swift 1.5: weights in 16 bits, whatever trains, in transformers' Trainer with autocast, whose outputs become fp32
     * (de234ce1, swift/llm/utils/argument.py: select_dtype). */
    {"ms-swift", "precision", "bf16-pure", NULL, "full", false, NULL},
    {"ms-swift", "precision", "bf16", NULL, "lora", false, NULL},
    {"ms-swift", "fp32_outputs", "1", NULL, NULL, false, NULL},
    {"ms-swift", "too_long", "drop", NULL, NULL, false, NULL}, /* argument.py: truncation_strategy 'delete' */
    /* 1.5.0, llm/utils/argument.py (of models that can); 4.6.0, trainers/arguments.py: gradient_checkpointing = True */
    {"ms-swift", "checkpoint", "full", NULL, NULL, false, NULL},
    /* modules/peft/lora.py: parameters in the model's type, dropout only where it is not 0. */
    {"torchtune", "lora_kernels", "plain", NULL, "lora", false, NULL},
    /* recipes/configs (0.6.1): enable_activation_checkpointing in 105 of 139, not in LoRA of small models over several GPUs. */
    {"torchtune", "checkpoint", "full", NULL, NULL, false, NULL},
    /* training/precision.py: `dtype: bf16` is the type of the parameters, and nothing is cast. */
    {"torchtune", "precision", "bf16-pure", NULL, NULL, false, NULL},
    /* MaxText's configs of GPUs (e591f30c, configs/gpu/models), and what TransformerEngine has for JAX. */
    {"maxtext|xla-te", "attention", "cudnn", NULL, NULL, false, NULL},
    {"after_pp_fix=False", "trainer", "nanotron-2024", NULL, NULL, false, NULL},
    {"nanoGPT", "zero_grad", "free", NULL, NULL, false, NULL}, /* train.py: set_to_none=True */
    /* timm's benchmark.py (0dbd9352, 2022-07): between two steps nothing is read, logged or loaded. */
    {"benchmark.py", "step.constant", "0", NULL, NULL, false, NULL},
    {"benchmark.py", "model.unseen", "0", NULL, NULL, false, NULL},
    /* Workers for a GPU where no option says: timm's train.py (1.0), open_clip's params.py (89fb801), main.py of DeiT (7e160fe)
     * and main_pretrain.py of MAE (efb2a80). */
    {"timm|open_clip", "dataloader_workers", "4", NULL, NULL, false, NULL},
    {"deit|mae", "dataloader_workers", "10", NULL, NULL, false, NULL},
    /* examples of diffusers (58eb52c080): images are encoded in each step, but by train_text_to_image_sdxl.py before all; prompts
     * are, too, where images have captions (train_text_to_image*.py) and in train_dreambooth.py; adapters of U-Nets sit on
     * to_q, to_k, to_v and to_out.0; the encoder stays in fp32 for SDXL and Stable Diffusion 3. */
    {"diffusers", "autoencoder", "1", NULL, NULL, false, "stable-diffusion sd3 flux uvit"},
    {"diffusers", "autoencoder", "1", NULL, "lora", false, "sdxl"},
    {"diffusers", "autoencoder_fp32", "1", NULL, NULL, false, "sdxl sd3 uvit"},
    {"diffusers", "text_encoders", "1", NULL, NULL, false, "stable-diffusion uvit"},
    {"diffusers", "text_encoders", "1", NULL, "lora", false, "sdxl"},
    {"diffusers", "lora_targets", "q,k,v,o", NULL, "lora", false, "stable-diffusion sdxl"},
    /* Its U-ViT's _set_gradient_checkpointing() passes (until 0.32; since, its forward fails where it is asked for);
     * examples/amused/train_amused.py leaves the base in fp32. */
    {"diffusers", "checkpoint", "none", NULL, NULL, WHATEVER, "uvit"},
    {"diffusers", "base_precision", "fp32", NULL, "lora", false, "uvit"},
    {"diffusers", "lora_targets", "q,k,v", NULL, "lora", false, "uvit"},
    /* ConvNets/configs.yml: workers of DGX A100 (8 of DGX-1), data_backend pytorch. */
    {"DeepLearningExamples", "dataloader_workers", "10", NULL, NULL, false, "resnet efficientnet"},
    {"Automodel", "lora_targets", "all-linear", NULL, "lora", false, NULL},
    /* Around Megatron-Core, whatever the column calls that; Megatron-Bridge 067f987d, perf_recipes/llama: linear_qkv, as NeMo's
     * recipes in their performance mode. */
    {"Megatron-Bridge|NeMo", "trainer", "megatron-bridge", NULL, NULL, false, NULL},
    {"Megatron-Bridge|NeMo", "lora_targets", "q,k,v", NULL, "lora", false, NULL},
    /* training/configs/experiment/: fused_mlp, fused_bias_fc, fused_dropout_add_ln, and its own cross-entropy. */
    {"flash-attention training", "runtime", "fused", "flash1", NULL, false, NULL},
    /* calc_loss_batch() returns the loss alone; ch04/01_main-chapter-code/gpt.py, until PyTorch's classes replace it. */
    {"LLMs-from-scratch|LLM-from-scratch", "keep_logits", "0", NULL, NULL, false, NULL},
    {"LLMs-from-scratch|LLM-from-scratch", "norm_kind", "4", "math", NULL, false, NULL},
    {"LLMs-from-scratch|LLM-from-scratch", "activation", "6", "math", NULL, false, NULL},
    /* vTrain b8fd2b9, data/README.md: its data are Megatron-DeepSpeed's. */
    {"bigscience|vTrain", "trainer", "megatron-deepspeed", NULL, NULL, false, NULL},
    /* transformers' GPT2Config (configuration_gpt2.py: gelu_new, resid_pdrop, embd_pdrop and attn_pdrop), where the model itself is
     * called by its name; the files of GPT-2 and GPT-3 are nanoGPT's and Megatron's. */
    {"huggingface", "activation", "6", NULL, NULL, false, "gpt2 gpt3"},
    {"huggingface", "dropout", "0.1", NULL, NULL, false, "gpt2 gpt3"},
    {"huggingface", "keep_logits", "0", NULL, NULL, false, "gpt2 gpt3"},
    /* litgpt 26857050, 0.5.13: litgpt/finetune, FSDPStrategy(activation_checkpointing_policy={Block}), in lora.py
     * parallelize_fn(activation_checkpointing=True), whatever holds the base (pretrain/ has none); bf16-true if the GPU has it. */
    {"lit gpt", "checkpoint", "none", NULL, NULL, false, NULL},
    {"lit gpt", "checkpoint", "full", NULL, "lora", true, NULL},
    {"lit gpt", "checkpoint", "full", NULL, "full", true, NULL},
    {"lit gpt", "precision", "bf16-pure", NULL, NULL, false, NULL},
    {"lit gpt", "upcast_logits", "0", NULL, NULL, false, NULL},
    {"lit llama", "checkpoint", "full", NULL, NULL, true, NULL}, /* 1444d24, pretrain/redpajama.py */
    {"lit llama", "upcast_logits", "0", NULL, NULL, false, NULL},
    /* Recomputation that a program or nearly all of its recipes turn on: axolotl 067b021c, examples (203 of 212, flash
     * attention in 190); LLaMA-Factory ff6d4d12, hparams/model_args.py: disable_gradient_checkpointing False; alignment-handbook
     * 925acdf, recipes (all); FastChat 0e6d3e4b, README.md; qlora 7f4e95a, qlora.py; alpaca-lora 8bb8579, finetune.py
     * (prepare_model_for_int8_training); LongLoRA d4eb344, fine-tune.py; xtuner b934f462;
     * LMFlow f3597dba, scripts; llama-recipes 37c8f72, configs/fsdp.py; metaseq f7ffa5f, the 175B's baselines; TRL 0.22,
     * trainer/sft_config.py and others (before, its scripts' --gradient_checkpointing); unsloth 2026.10.9, models/loader.py
     * (use_gradient_checkpointing = "unsloth", which moves what is kept to the host). */
    {"axolotl|LLaMA-Factory|trl|unsloth|alignment-handbook|FastChat|artidoro/"
     "qlora|alpaca-lora|LongLoRA|xtuner|LMFlow|metaseq",
     "checkpoint", "full", NULL, NULL, false, NULL},
    {"axolotl|alignment-handbook", "attention", "flash2", NULL, NULL, false, NULL},
    {"artidoro/qlora", "optimizer", "paged-adamw", NULL, NULL, false, NULL},
    {"LongLoRA", "trainer", "deepspeed", NULL, NULL, true, NULL}, /* README.md: ds_configs/stage2.json */
    {"LongLoRA", "zero", "2", NULL, NULL, true, NULL},
    {"llama-recipes", "checkpoint", "full", NULL, NULL, true, NULL},
    /* jzhang38/TinyLlama bf12224, lit_gpt: flash-attn's attention, RMSNorm, rotary and cross-entropy; FSDP without recomputation. */
    {"jzhang38/TinyLlama", "kernel_package", "flash-attn", NULL, NULL, false, NULL},
    {"jzhang38/TinyLlama", "cross_entropy_fusion", "flash-attn", NULL, NULL, false, NULL},
    {"jzhang38/TinyLlama", "attention", "flash2", NULL, NULL, false, NULL},
    /* InternEvo c628a8c, configs/7B_sft.py: flash-attn's kernels, ZeRO 1 over all ranks. */
    {"InternEvo", "runtime", "fused", NULL, NULL, false, NULL},
    {"InternEvo", "zero", "1", NULL, NULL, true, NULL},
    {"InternEvo", "attention", "flash2", NULL, NULL, false, NULL},
    /* Levanter 02be56f6, models/llama.py and gpt2.py: gradient_checkpointing True; EasyLM 134105f, models/llama: remat_block
     * nothing_saveable. */
    {"Levanter|EasyLM", "checkpoint", "full", NULL, NULL, false, NULL},
    /* PyTorch's own kernels where no option says otherwise. */
    {"llm-foundry|composer|xtuner|verl|openrlhf|mmdetection|mmdet|mmengine|detectron2|ultralytics|kohya|sd-scripts|ai-"
     "toolkit|onetrainer|simpletuner|"
     "fairscale|mingpt|fabric|olmo|lmflow|fastchat|metaseq",
     "runtime", "eager", NULL, NULL, false, NULL},
    /* picotron 59714b1, train.py and model.py: weights in bf16, flash-attn's kernels, no recomputation and no clipping. */
    {"picotron", "precision", "bf16-pure", NULL, NULL, false, NULL},
    {"picotron", "runtime", "eager", NULL, NULL, false, NULL},
    {"picotron", "kernel_package", "flash-attn", NULL, NULL, false, NULL},
    {"picotron", "attention", "flash2", NULL, NULL, false, NULL},
    {"picotron", "checkpoint", "none", NULL, NULL, false, NULL},
    {"picotron", "grad_clip", "0", NULL, NULL, false, NULL},
    /* state-spaces/mamba: its layers' scans are single kernels (mamba_ssm/ops). */
    {"state-spaces/mamba|mamba-ssm", "kernel_package", "fla", NULL, NULL, false, NULL},
    /* OpenRLHF 006cd708, cli/train_sft.py: DeepSpeed, zero_stage 2. */
    {"OpenRLHF", "trainer", "deepspeed", NULL, NULL, true, NULL},
    {"OpenRLHF", "zero", "2", NULL, NULL, true, NULL},
    /* lingua 437d680, apps: compile true; nanochat 92d63d4, scripts/base_train.py; modded-nanogpt f411b3d3, train_gpt.py; nanoGPT,
     * train.py: compile = True; fms-fsdp 00f20d5, fms_fsdp/config/training.py: use_torch_compile. */
    {"facebookresearch/lingua|meta lingua|nanochat|modded-nanogpt|nanoGPT|fms-fsdp", "runtime", "compile", NULL, NULL,
     false, NULL},
    {"nanochat", "optimizer", "muon", NULL, NULL, false, NULL},
};

static bool in_table(const char *word)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (mfu_has_word(word, programs[i].program))
            return true;
    return false;
}

/* Whether a program's name at `at`, which ends before `end`, is no part of another's: of an owner of repositories ("NVIDIA-NeMo/"),
 * of a model ("Mistral-NeMo", "GPT-NeoX-20B"), or of what is only like it. */
static bool is_whole_name(const char *text, const char *at, const char *end)
{
    if (mfu_behind(end, " style| like| automodel| rl| aligner| curator| gym"))
        return false;
    return (*end != '/' || (at > text && at[-1] == '/')) && (at == text || at[-1] != '-')
        && !(*end == '-' && isdigit((unsigned char)end[1]));
}

/* Where a text names a program, up to *end; NULL: it does not.  Whether one of the cells does that are prose. */
static const char *program_in(const char *text, const char *program, const char **end)
{
    const char *at;

    for (const char *from = text; (at = mfu_place_said(text, from, program, end)) && !is_whole_name(text, at, *end);)
        from = *end;
    return at;
}

static int trainer_in(const char *text, bool part);

/* The title of the row's source, which may be of other programs' runs, too: "" where the framework's column names a program that is
 * more than what others are built on. */
static const char *title(const struct mfu_row *r)
{
    static const char libraries[] = "deepspeed|transformers|hf|hugging face|accelerate|trl|peft|lightning";
    const char *framework = mfu_row_cell(r, "framework"), *end;
    bool named = *framework && trainer_in(framework, true) >= 0;

    for (size_t i = 0; i < sizeof programs / sizeof *programs && *framework && !named; i++)
        named = program_in(framework, programs[i].program, &end) != NULL;
    return named && !mfu_says_word(framework, libraries) ? "" : mfu_row_cell(r, "source");
}

/* What a column says of programs. */
static const char *says_of_program(const struct mfu_row *r, const char *column)
{
    return strcmp(column, "source") == 0 ? title(r) : mfu_row_cell(r, column);
}

static bool names_in_prose(const struct mfu_row *r, const char *program)
{
    const char *end;

    return program_in(title(r), program, &end) || program_in(mfu_row_cell(r, "notes"), program, &end)
        || program_in(mfu_row_cell(r, "framework"), program, &end);
}

/* Whether the row's program trains transformers' models in its Trainer: by the columns of the software and behind the method, or by
 * its source. */
static bool trains_transformers(const struct mfu_row *r)
{
    static const char of_column[] = "hf|hugging face|transformers|accelerate"; /* in words: of models, too */
    static const char of_any[] =
        "hf trainer|hf transformers|hugging face|transformers trainer|trl|axolotl|lmflow|llama-factory|"
        "alignment-handbook|fastchat|alpaca-lora|artidoro/qlora|longlora|stanford_alpaca|sfttrainer|dpotrainer|"
        "seq2seqtrainer|run_clm.py|run_mlm.py|run_glue.py|run_qa.py|run_summarization.py|run_translation."
        "py";
    const char *text = mfu_row_cell(r, "compile"), *method = mfu_row_cell(r, "method");

    return mfu_says_word(text, of_column) || mfu_says_word(r->software, of_column)
        || mfu_says_word(method + strcspn(method, "+"), of_column) || mfu_says_word(text, of_any)
        || ((mfu_cell_empty(r, "compile") || mfu_cell_is(r, "compile", "eager")) && names_in_prose(r, of_any));
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
    static const char *const stages[] = {"zero2", "zero3", NULL};
    const char *known = mfu_sharding_in(mfu_row_cell(r, "sharding"));

    return (mfu_cell_is(r, "compile", "eager")
            || (mfu_cell_empty(r, "compile")
                && r->run->scenario.setting[MFU_S_TRAINER] == mfu_settings[MFU_S_TRAINER].initial
                && !r->run->other_compiler))
        && ((known && mfu_is_one_of(known, stages)) || strstr(mfu_row_cell(r, "optimizer"), "DeepSpeed"));
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

/* What runs the model, by the column of the software; where that is empty, by the framework's, if it says more than PyTorch. */
const char *mfu_row_stack(const struct mfu_row *r)
{
    static const enum mfu_setting_id kinds[] = {MFU_S_RUNTIME, MFU_S_PACKAGE};
    const char *text = mfu_row_cell(r, "compile"), *framework = mfu_row_cell(r, "framework");

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && *text == '\0'; i++)
        if (mfu_row_choice_in(kinds[i], framework) >= 0)
            return framework;
    return text;
}

/* Whether the stack says another runtime than the trainer's, which brings layers of its own; Megatron-core's are
 * TransformerEngine's. */
static bool runs_other_layers(const struct mfu_row *r, int trainer)
{
    int runtime = mfu_setting_choice(MFU_S_RUNTIME, mfu_row_stack(r), NULL), own = mfu_trainers[trainer].runtime;

    return runtime >= 0 && runtime != own && mfu_runtimes[own].whole_norms
        && !(mfu_runtimes[runtime].layers_only && mfu_trainers[trainer].transformer_engine);
}

/* The first trainer with more than a loop of its own that a text affirms, perhaps as a part of a name ("Skywork-Megatron"); -1: none. */
static int trainer_in(const char *text, bool part)
{
    int trainer;

    for (const char *p = text; *p;) {
        const char *end =
            p == text || !mfu_in_word(p[-1]) ? mfu_choice_at(MFU_S_TRAINER, MFU_TRAINER_FSDP + 1, p, &trainer) : NULL;

        if (end && (part || is_whole_name(text, p, end)) && mfu_stance(text, p, end) == MFU_AFFIRMED)
            return trainer;
        p = end ? end : p + 1;
    }
    return -1;
}

/* The trainer that the row names, where it is more than a loop around DDP: in the column of the software, or, where that names
 * none, of the framework, the source, the notes, or behind the model's name; -1. */
int mfu_row_stated_trainer(const struct mfu_row *r)
{
    static const char *const columns[] = {"framework", "source", "notes"};
    const char *behind = strchr(mfu_row_cell(r, "model"), '(');
    int trainer = mfu_row_choice_in(MFU_S_TRAINER, mfu_row_cell(r, "compile"));

    if (trainer >= 0)
        return trainer == MFU_TRAINER_DDP ? -1 : trainer;
    trainer = trainer_in(mfu_row_cell(r, "compile"), true);
    for (size_t i = 0; i < sizeof columns / sizeof *columns && trainer < 0; i++)
        trainer = trainer_in(says_of_program(r, columns[i]), false);
    if (trainer < 0 && behind)
        trainer = trainer_in(behind, false);
    return trainer >= 0 && runs_other_layers(r, trainer) ? -1 : trainer;
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

bool mfu_row_on_xla(const struct mfu_row *r)
{
    static const char of_xla[] = "xla|jax|pjit|flax|maxtext|levanter|t5x|gspmd|alpa|pax|paxml|easylm";
    const char *framework = mfu_row_cell(r, "framework"), *end;

    if (!mfu_cell_empty(r, "compile") && !mfu_cell_is(r, "compile", "jit")) /* JAX's, or TorchScript */
        return mfu_says_word(mfu_row_cell(r, "compile"), of_xla);
    return names_program(framework) && !program_in(framework, of_xla, &end) /* whatever its source's title has */
        ? program_in(mfu_row_cell(r, "notes"), of_xla, &end) != NULL
        : names_in_prose(r, of_xla);
}

/* Whether layers are split over tensor ranks, or into stages beside expert parallelism, which is no PyTorch loop's, and nothing
 * says whose: most such programs are built on Megatron, or like it; with FSDP, on PyTorch's own as torchtitan is. */
static bool splits_layers(const struct mfu_row *r)
{
    const char *sharding = mfu_sharding_in(mfu_row_cell(r, "sharding"));

    if (!(mfu_cell_number(r, "tp") > 1) && !(mfu_cell_number(r, "ep") > 1))
        return false;
    if (r->run->other_compiler)
        return true;
    if (names_program(mfu_row_stack(r)) || mfu_row_stated_trainer(r) >= 0
        || (!mfu_cell_empty(r, "compile") && sharding && strcmp(sharding, "zero1") != 0
            && strcmp(sharding, "ddp") != 0))
        return false; /* or an unknown one with FSDP, say */
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (names_in_prose(r, programs[i].program))
            return false;
    return true;
}

bool mfu_row_possible(const struct mfu_row *r, const char *key, const char *value)
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
    if (!mfu_row_possible(r, "sp", "on")) {
        mfu_row_assume(r, "sp=off: not modelled of %s", r->run->scenario.model->slug);
        return true;
    }
    return mfu_row_take(r, "sp=on, usual for %s", mfu_trainer_names[(int)set[MFU_S_TRAINER]]);
}

/* Where a program may be named, of which the first decides what two programs do differently. */
static const char *const naming[] = {"compile", "method", "framework", "source", "notes", "model"};

/* Whether the cell names a program of the table's row, and which: the model's name only where that row is of some models, and of what
 * no cell states. */
static bool is_named(const struct mfu_row *r, size_t i, const char *column, char name[48])
{
    const char *program = programs[i].program, *families = programs[i].family, *at = says_of_program(r, column),
               *end = NULL;

    if (families
        && (!mfu_has_word(families, r->run->scenario.model->family)
            || (programs[i].when != WHATEVER && !mfu_cell_empty(r, programs[i].key))))
        return false;
    if (strcmp(column, "compile") != 0 && strcmp(column, "method") != 0)
        at = strcmp(column, "model") != 0 || families ? program_in(at, program, &end) : NULL;
    else if (!mfu_says_word(at, program))
        at = NULL;
    while (at && !(end = mfu_behind(at, program)))
        at++;
    snprintf(name, 48, "%.*s", at ? (int)(end - at) : 0, at ? at : "");
    return at;
}

bool mfu_row_says_bf16_alone(const struct mfu_row *r)
{
    return mfu_cell_is(r, "precision", "bf16") || mfu_cell_is(r, "precision", "bfloat16");
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

    if (strcmp(programs[i].key, "precision") == 0 && mfu_row_says_bf16_alone(r))
        return false; /* which says nothing of the weights */
    if (strcmp(programs[i].key, "runtime") == 0 && mfu_says_word(mfu_row_cell(r, "compile"), programs[i].program))
        return false; /* nor the program's own name of its kernels */
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        if (strcmp(columns[k].key, programs[i].key) == 0)
            return (columns[k].always || (!programs[i].attention && !programs[i].method))
                && (columns[k].none ? *mfu_row_cell(r, columns[k].column) != '\0'
                                    : !mfu_cell_empty(r, columns[k].column));
    return false;
}

#define FIRST_COMPILE 2023 /* PyTorch 2.0 */

/* Whether the row of the table holds for this run, of whose program it is. */
static bool does(const struct mfu_row *r, size_t i, bool late)
{
    return !(strcmp(programs[i].value, "compile") == 0 && mfu_row_is_before(r, FIRST_COMPILE))
        && (late || !runs_other_layers(r, mfu_setting_choice(MFU_S_TRAINER, programs[i].value, NULL)))
        && (!late || programs[i].method || mfu_cell_is(r, "compile", "eager") || mfu_cell_empty(r, "compile")
            || mfu_says_word(mfu_row_cell(r, "compile"), programs[i].program))
        && (!programs[i].method || strcasestr(mfu_row_method(r), programs[i].method))
        && (programs[i].when == WHATEVER
            || ((!programs[i].when || r->run->scenario.setting[MFU_S_GPUS] > 1) && !is_stated(r, i)))
        && (!programs[i].attention || mfu_cell_is(r, "attention", programs[i].attention))
        && mfu_scenario_key(&r->run->scenario, programs[i].key, NULL).kind != MFU_KEY_NONE
        && (!late || mfu_row_possible(r, programs[i].key, programs[i].value));
}

/* Whether another program, which is named before, says the same key. */
static bool does_another(const bool *applied, size_t i)
{
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++)
        if (applied[k] && strcmp(programs[k].key, programs[i].key) == 0
            && strcmp(programs[k].program, programs[i].program) != 0)
            return true;
    return applied[i];
}

/* The program in the column of the software, or in words: the trainer first, what else it does once the columns are
 * read. */
bool mfu_row_set_program(struct mfu_row *r, bool late)
{
    int trainer = mfu_row_stated_trainer(r);
    bool applied[sizeof programs / sizeof *programs] = {false};

    if (!late && trainer >= 0
        && (mfu_cell_empty(r, "compile") || mfu_row_choice_in(MFU_S_TRAINER, mfu_row_cell(r, "compile")) < 0
                ? !mfu_row_take(r, "trainer=%s, by what is said", mfu_trainer_names[trainer])
                : !mfu_row_set(r, "trainer", mfu_trainer_names[trainer])))
        return false;
    if (!late && splits_layers(r)) {
        static const char *const weights[] = {"fsdp-full", "shard_grad_op", "hsdp", "zero3", NULL};
        const char *text = mfu_row_cell(r, "sharding"), *known = mfu_sharding_in(text);
        bool whole = mfu_says_word(text, "fsdp") || (known && mfu_is_one_of(known, weights)) || r->run->other_compiler;
        enum mfu_trainer_kind like = whole ? MFU_TRAINER_TORCHTITAN : MFU_TRAINER_MEGATRON_TE;

        if (!mfu_row_take(r, "trainer=%s: layers are split over GPUs and stages, and no program is stated",
                          mfu_trainer_names[like]))
            return false;
    }
    if (!late && runs_deepspeed(r) && !mfu_row_set(r, "trainer", mfu_trainer_names[MFU_TRAINER_DEEPSPEED]))
        return false;
    for (size_t k = 0; k < sizeof naming / sizeof *naming; k++)
        for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
            char name[48];

            if ((strcmp(programs[i].key, "trainer") != 0) != late || !is_named(r, i, naming[k], name)
                || !does(r, i, late) || does_another(applied, i))
                continue;
            applied[i] = true;
            if (!mfu_row_take(r, "%s=%s, as %s does", programs[i].key, programs[i].value, name))
                return false;
        }
    return true;
}
