/*
 * measured_words.c - what a cell means that is no name of ours, but has one among its words; and what is said in prose.
 *
 * The table of words translates what other people's mean in tables of runs alone; what runtimes, optimizers ... are called
 * elsewhere stands in their rows.  A word without an exact counterpart is mapped to the nearest one and the row says so.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "read/runs/measured_reading.h"
#include "read/runs/measured_run.h"
#include "scenario/adapter.h"
#include "scenario/choices.h"
#include "scenario/key_names.h"
#include "scenario/setting.h"

const char *mfu_choice_at(enum mfu_setting_id id, int first, const char *at, int *choice)
{
    const char *const *choices = mfu_settings[id].choices, *longest = NULL;

    for (int i = first; choices[i]; i++) {
        struct mfu_other_names others = mfu_choice_other_names(choices, i);
        const char *lists[] = {choices[i], others.aliases, others.stands_for};

        for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
            for (const char *name = lists[k]; name && *name; name += strcspn(name, " "), name += *name == ' ') {
                char word[48];
                const char *end;

                if (tolower((unsigned char)*name) != tolower((unsigned char)*at))
                    continue;
                snprintf(word, sizeof word, "%.*s", (int)strcspn(name, " "), name);
                if ((end = mfu_behind(at, word)) && !mfu_in_word(*end) && (!longest || end > longest)) {
                    longest = end;
                    *choice = i;
                }
            }
    }
    return longest;
}

/* Whether a name may begin here: behind a blank, or a module that has it ("torch.bfloat16", "bnb.optim.AdamW8bit"). */
static bool begins_name(const char *text, const char *at)
{
    return at == text || at[-1] == ' ' || (at[-1] == '.' && at > text + 1 && isalpha((unsigned char)at[-2]));
}

int mfu_row_choice_in(enum mfu_setting_id id, const char *text)
{
    char own[MFU_MOST_SAID];
    int choice;

    mfu_affirmed(own, text);
    for (char *p = own; (p = strpbrk(p, "+,;/()[]{}=:&|\t\"'"));) /* dashes, dots and underscores are inside of words */
        *p = ' ';
    for (const char *p = own, *end; *p; p++)
        if (begins_name(own, p) && (end = mfu_choice_at(id, 0, p, &choice))
            && (*end == ' ' || *end == '\0'
                || (*end == '.' && isdigit((unsigned char)end[1])))) /* "flash-attn 2.5.8" */
            return choice;
    return -1;
}

/* The digit behind "zero" or "stage", perhaps after marks: "deepspeed_stage_3_offload", "ZeRO-2 (P_os+g)"; -1: none. */
static int stage_in(const char *text)
{
    static const char *const before[] = {"stage", "zero", "z"};

    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        for (const char *p = strcasestr(text, before[i]); p; p = strcasestr(p + 1, before[i])) {
            const char *digit = p + strlen(before[i]);

            digit += strspn(digit, " -_=:");
            if ((p == text || !isalpha((unsigned char)p[-1])) && *digit >= '0' && *digit <= '3'
                && !isalnum((unsigned char)digit[1]))
                return *digit - '0';
        }
    return -1;
}

const char *mfu_sharding_in(const char *text)
{
    static const char *const numbered[] = {"none", "zero1", "zero2", "zero3"};
    static const char whole[] = "fsdp|full shard|fully sharded|fully shard|sharded data parallel|gemini",
                      states[] = "distributed optimizer|dist opt|zero";
    char own[MFU_MOST_SAID];
    const char *all = text;
    int stage = stage_in(text = mfu_affirmed(own, text));

    /* ZeRO++ is stage 3 with other messages (DeepSpeed 0.14, docs/_tutorials/zeropp.md), ZeRO-Infinity with offload of what does not fit. */
    if (stage >= 0 || strcasestr(text, "zero++") || mfu_has_word(text, "zero infinity"))
        return numbered[stage >= 0 ? stage : 3];
    if (text[strspn(text, " -_,;:()")] == '\0') /* "fsdp: no", "without FSDP" */
        return mfu_has_word(all, whole) || mfu_has_word(all, states) ? "none" : NULL;
    return mfu_has_word(text, "hsdp|hybrid|hybrid shard|mics")                                      ? "hsdp"
        : mfu_has_word(text, "shard grad op|grad op") || mfu_says_not(all, "reshard after forward") ? "shard_grad_op"
        : mfu_has_word(text, whole)                                                                 ? "fsdp-full"
        : mfu_has_word(text, states)                                                                ? "zero1"
        : mfu_has_word(text, "ddp|data parallel|dp")                                                ? "ddp"
                                                                                                    : NULL;
}

int mfu_option_in(const char *text)
{
    size_t n = strcspn(text, "=: ");

    return n > 0 && text[n] ? mfu_switch_in(text + n + strspn(text + n, "=: ")) : -1;
}

/* What usual words for recomputation say, in words of ours; NULL: nothing that is known. */
static const char *checkpoint_in(const char *text)
{
    static const char again[] =
        "recompute|recomputation|recomputing|checkpointing|checkpoint|ckpt|rematerialization|remat|gc|ac|unsloth";
    char own[MFU_MOST_SAID];

    mfu_affirmed(own, text);
    if (mfu_has_word(text, "use reentrant") && !mfu_has_word(own, "none|off|disabled")) /* an option of what is on */
        return "full";
    if (own[strspn(own, " -_,;:()")] == '\0') /* "no", "without recomputation" */
        return mfu_has_word(text, again) || !strpbrk(text, " _-") ? "none" : NULL;
    if (mfu_has_word(own, "none|off|disabled|false")
        || mfu_has_word(own,
                        "minimal|everything saveable|dots saveable|checkpoint dots|dots with no batch dims saveable"))
        return "none"; /* XLA keeps products, and computes the rest again anyway */
    if (mfu_has_word(own, "uniform|nothing saveable"))
        return "full";
    if (mfu_has_word(own, "of|other|half|first|last|some|except|second|fourth|third|alternate|alternating|odd|even")
        || (mfu_has_word(own, "every")
            && !mfu_has_word(own, "every layer|every transformer layer|every block|every transformer block"))
        || (strpbrk(own, "0123456789") && (strcasestr(own, "layer") || mfu_has_word(own, "every"))))
        return NULL; /* of the layers a part */
    return mfu_has_word(own, "selective|sac|partial|per-op|core attn|core attention|attention only|selfattn")
        ? "selective"
        : mfu_has_word(own, "full|all|layer|layers|block|blocks|on|yes|true|enabled|enable") || mfu_has_word(own, again)
            || mfu_option_in(own) == 1
        ? "full"
        : NULL;
}

const char *mfu_other_stack_in(const char *text)
{
    static const char *const others[] = {"tensorflow", "tf",        "keras", "mxnet",   "paddle",   "paddlepaddle",
                                         "paddlenlp",  "mindspore", "mlx",   "oneflow", "tinygrad", NULL};

    for (const char *const *w = others; *w; w++)
        if (mfu_has_word(text, *w) && (strcmp(*w, "tf") != 0 || !mfu_has_word(text, "tf32")))
            return *w;
    return NULL;
}

/* Words of a column (or of a kind of its rows) that stand for ours ("" leaves the default), apart by '|'. */
// clang-format off
static const struct word {
    const char *column, *theirs, *ours;
    const char *note; /* what is assumed; the cell follows where it ends with "for"; NULL: nothing is */
} words_of[] = {
    {"compile", "", "eager", "runtime=eager"},
    {"compile", "yes|true|on|1|compiled|compile=true|fullgraph|fullgraph=true|regional|per-layer|per-block|max-autotune-no-cudagraphs", "compile", "runtime=compile for"},
    {"compile", "no|none|false|0|off|disabled|not compiled|uncompiled|n/a|aot-eager", "eager", "runtime=eager for"},
    {"compile", "jit|torchscript|torch.jit|jit.script", "compile", "runtime=compile for jit (TorchScript, whose fuser merges pointwise kernels and norms)"},
    /* Of programs whose TorchScript is functions that the graph has as one operation. */
    {"compile of functions", "", "eager", "runtime=eager"},
    {"compile of functions", "jit", "eager", "runtime=eager for jit (TorchScript of single functions)"},
    {"precision", "fp16|float16", "fp16", "precision=fp16, mixed, for"},
    {"precision", "bf16|bfloat16", "bf16", "precision=bf16, mixed, for"},
    {"precision", "mixed|mixed-precision|half-precision", "fp16", "precision=fp16, mixed, for"},
    {"precision", "fp16-amp-o2|amp-o2|apex-o2|apex-amp-o2|fp16-o2|o2", "fp16", "half_weights=on for"},
    {"precision", "no|single|32|32-true", "fp32", "precision=fp32 for"}, /* accelerate 1.0, utils/dataclasses.py: PrecisionType.NO; Lightning's */
    {"precision", "", "", "precision"},
    {"attention", "sdpa|torch-sdpa|pytorch-sdpa|scaled-dot-product-attention|f.scaled-dot-product-attention", "", "attention: PyTorch's choice for"},
    {"attention", "mha|gqa|mqa|mla|causal|sliding-window|swa|full-attention|global|local", "", "attention: a kind of layer, of any kernel, for"},
    {"attention", "fused-softmax|unfused-attention", "math", "attention=math for"},
    {"attention", "te|cudnn-flash-te|cudnn-flash-jax", "cudnn", "attention=cudnn for"}, /* MaxText 315ebb59, layers/attentions.py */
    {"attention", "ring|ring-attention|ring-flash|ring-flash-attention|ulysses", "", "attention: what is usual within"},
    {"attention", "te-flash", "", "attention: TransformerEngine's choice for"},
    {"attention", "auto|default|automatic|diffusers", "", "attention: the program's choice for"},
    {"attention", "", "", "attention"},
    {"optimizer", "|distributed-optimizer", "", "optimizer"},
    /* OLMo-core's leaves out bad steps, Composer's decouples the decay; torchdistx' goes over tensors one by one (llama-recipes) */
    {"optimizer", "skip-step-adamw|stable-adamw|optimi-adamw", "adamw", "optimizer=adamw for"},
    {"optimizer", "anyprecision-adamw", "adamw-loop", "optimizer=adamw-loop for"},
    {"optimizer", "decoupled-sgdw|sgdw", "sgd", "optimizer=sgd for"},
    {"optimizer", "optimi-lion|skip-step-lion", "lion", "optimizer=lion for"},
    {"optimizer", "8-bit-lion|bnb-lion-8bit|bnb-8bit-lion", "lion8bit", "optimizer=lion8bit for"},
    {"optimizer", "8bit|bnb-8bit|bitsandbytes-8bit|bitsandbytes", "adamw8bit", "optimizer=adamw8bit for"},
    {"act_ckpt", "", "none", "checkpoint=none"},
    {"method", "|full|full-finetuning|full-tuning|full-finetune|full-fine-tuning|full-parameter|full-sft|fft|sft|pretraining|none|pretrain|continued-pretraining|full-ft|full-finetune-single-device|full-finetune-distributed|finetune|fine-tune|finetuning|fine-tuning|instruction-tuning", "", NULL},
    {"method", "lora-dora|dora", "dora", NULL},
    {"lora_targets", "", "all-linear", "lora_targets=all-linear"},
    {"lora_targets", "all|linear", "all-linear", "lora_targets=all-linear for"},
    {"lora_targets", "lora target linear: true|lora target linear=true", "all-linear", NULL}, /* axolotl */
    {"lora_targets", "all linear|all linear layers|all linear (*_proj)", "all-linear", NULL},
    {"lora_targets", "qkvo|q,k,v,o|attention", "attention", NULL},
    {"lora_targets", "c_attn,c_proj,w1,w2", "all-linear", NULL}, /* Qwen: w1, w2 are gate and up, c_proj what follows both */
    {"lora_targets", "default (attention qkv)", "qkv,q,k,v", NULL},
    {"lora_targets", "self_attn", "attention", NULL},
    {"quant", "4bit|bnb 4bit|qlora", "nf4", "base_precision=nf4 for"},
    {"quant", "8bit|bnb 8bit|bitsandbytes 8bit|bitsandbytes int8", "int8", "base_precision=int8 for"},
    {"quant", "|none|no|false|off", "", NULL},
};
// clang-format on

/* The row of the table for what a cell says; NULL: none. */
static const struct word *word_for(const char *column, const char *text)
{
    for (const struct word *w = words_of; w < words_of + sizeof words_of / sizeof *words_of; w++) {
        const char *end, *one = w->theirs;
        char alternative[64];

        if (strcmp(w->column, column) != 0)
            continue;
        do {
            end = one + strcspn(one, "|");
            snprintf(alternative, sizeof alternative, "%.*s", (int)(end - one), one);
            if (mfu_same_letters(alternative, text))
                return w;
            one = end + 1;
        } while (*end);
    }
    return NULL;
}

static void note(struct mfu_row *r, const struct word *w, const char *text)
{
    const char *last = w->note ? strrchr(w->note, ' ') : NULL;

    if (w->note && *text == '\0' && *w->ours == '\0')
        mfu_row_assume(r, "%s: default", w->note);
    else if (last && strcmp(last, " for") == 0)
        mfu_row_assume(r, "%s %s", w->note, text);
    else if (w->note)
        mfu_row_assume(r, "%s", w->note);
}

const char *mfu_row_word(struct mfu_row *r, const char *column, const char *text)
{
    const struct word *w = word_for(column, text);

    if (w)
        note(r, w, text);
    return w ? w->ours : NULL;
}

const char *mfu_base_in(const char *text)
{
    int base = mfu_row_choice_of_all(MFU_S_BASE, text, NULL);
    char own[MFU_MOST_SAID];

    if (base < 0)
        base = mfu_row_choice_in(MFU_S_BASE, text);
    if (base >= 0 && mfu_bases[base].kbit && mfu_bases[base].four_bit
        && mfu_has_word(mfu_affirmed(own, text), "double|dq|nested"))
        base = MFU_BASE_NF4_DOUBLE;
    return base < 0 ? NULL : mfu_base_names[base];
}

bool mfu_row_has_word(const char *column, const char *text)
{
    return word_for(column, text) != NULL;
}

int mfu_row_choice_of_all(enum mfu_setting_id id, const char *text, bool *stands_for)
{
    char all[48];
    size_t n = 0;

    for (; *text && n + 1 < sizeof all; text++)
        if (!strchr("()", *text))
            all[n++] = *text;
    all[n] = '\0';
    return mfu_setting_choice(id, all, stands_for);
}

/* The choice in parentheses, where it is of the kind before them: "FP8 (MXFP8)"; -1. */
static int inner_choice(enum mfu_setting_id id, const char *text, const char *outside)
{
    char inside[32], kind[32];
    size_t n = 0;

    if (sscanf(text, "%*[^(](%31[^)]", inside) != 1)
        return -1;
    for (; *outside && n + 1 < sizeof kind; outside++)
        if (*outside != ' ')
            kind[n++] = *outside;
    kind[n] = '\0';
    return n && strcasestr(inside, kind) ? mfu_setting_choice(id, inside, NULL) : -1;
}

/* Skips the row: the cell means none of the names that the key has, of which one may be near. */
static bool is_unknown(struct mfu_row *r, const char *column, enum mfu_setting_id id, const char *text)
{
    const char *const *names = mfu_settings[id].choices, *near;
    size_t n = mfu_names_count(names);
    char expected[120];

    if (mfu_suggest(text, names, n, &near, 1) > 0)
        return mfu_row_skip(r, "%s '%.40s' is not known: did you mean %s?", column, text, near);
    return mfu_row_skip(r, "%s '%.40s' is not known: expected %s", column, text,
                        mfu_names_list(expected, sizeof expected, names, n));
}

/* The narrowest of several that a text has: products in fp8 stand beside what is bf16 in "bf16 + fp8". */
static int narrowest_in(const char *text, int choice)
{
    for (int i = 0; i < MFU_PRECISION_COUNT && !(choice >= 0 && mfu_precisions[choice].kernels > 0); i++)
        if (mfu_precisions[i].kernels > 0 && mfu_says_word(text, mfu_precision_names[i]))
            return i;
    return choice;
}

bool mfu_row_translate(struct mfu_row *r, const char *column, enum mfu_setting_id id, const char *words)
{
    const char *text = mfu_row_cell(r, column), *key = mfu_settings[id].key, *own = mfu_row_word(r, words, text);
    char outside[48];
    bool stands_for;
    int choice = mfu_row_choice_of_all(id, text, &stands_for);

    if (own)
        return *own == '\0' || mfu_row_set(r, key, own);
    snprintf(outside, sizeof outside, "%.*s", (int)strcspn(text, "("), text); /* "full (uniform)" */
    if (choice < 0)
        choice = inner_choice(id, text, outside);
    if (choice < 0 && (choice = mfu_setting_choice(id, outside, &stands_for)) < 0) {
        const char *word = id == MFU_S_CHECKPOINT ? checkpoint_in(text) : NULL;

        choice = word ? mfu_setting_choice(id, word, NULL) : id == MFU_S_CHECKPOINT ? -1 : mfu_row_choice_in(id, text);
        if (id == MFU_S_PRECISION)
            choice = choice < 0 && mfu_says_word(text, "o2") ? MFU_FP16 : narrowest_in(text, choice);
        if (choice < 0 && mfu_cell_empty(r, column))
            return true;
        if (choice < 0)
            return is_unknown(r, column, id, text);
        stands_for = true;
    }
    if (stands_for || strlen(outside) < strlen(text))
        mfu_row_assume(r, "%s=%s for %s", key, mfu_settings[id].choices[choice], text);
    return mfu_row_set(r, key, mfu_settings[id].choices[choice]);
}

/* ---- prose --------------------------------------------------------------- */

/* What other columns and the notes say of a run in words. */
// clang-format off
const struct mfu_said mfu_said[] = {
    {"lora", NULL, NULL, "adapters (LoRA)", MFU_UNLESS_ADAPTER}, {"qlora", NULL, NULL, "adapters (QLoRA)", MFU_UNLESS_ADAPTER}, {"dora", NULL, NULL, "adapters (DoRA)", MFU_UNLESS_ADAPTER},
    {"adapter|adapters|peft|prefix tuning|prompt tuning", NULL, NULL, "adapters", MFU_UNLESS_ADAPTER},
    {"frozen", NULL, NULL, "frozen weights", MFU_UNLESS_ADAPTER},
    {"MTP|mtp_num_layers", "n_mtp", NULL, "prediction of further tokens (MTP)", MFU_ALWAYS},
    {"device_map model split", "pp", "gpus", NULL, MFU_ALWAYS}, {"device_map model split", "schedule", "sequential", NULL, MFU_ALWAYS},
    {"offload|offloading|offloaded", NULL, NULL, NULL, MFU_UNLESS_OFFLOAD},
    {"optimizer in backward|optimizer_in_bwd|lomo|adalomo|fused backward pass|fused back pass|per layer weight updates|layerwise updates", "optimizer_in_backward", "on", NULL, MFU_ALWAYS},
    {"multi-crop|momentum encoder", NULL, NULL, "views and a teacher beside the model", MFU_ALWAYS}, {"distillation", NULL, NULL, "a teacher beside the model", MFU_ALWAYS},
    {"reference model|dpo|dpo training|dpotrainer|kto|ktotrainer|grpo|grpotrainer|ppo|ppotrainer|rloo|rlootrainer", NULL, NULL, "a reference model beside the model", MFU_ALWAYS},
    {"orpo|orpotrainer|simpo|cpotrainer", "objective", "orpo", NULL, MFU_ALWAYS}, {"rewardtrainer|reward modeling|reward modelling", "objective", "reward", NULL, MFU_ALWAYS},
    {"liger rms norm|liger rmsnorm|liger glu activation|liger swiglu|liger rope", "kernel_package", "liger", NULL, MFU_ALWAYS},
    {"cut cross entropy", "loss_chunks", MFU_CUT_CROSS_ENTROPY, NULL, MFU_ALWAYS},
    {"controlnet", NULL, NULL, "a copy of the encoder that trains beside a frozen U-Net", MFU_ALWAYS},
    {"textual inversion", NULL, NULL, "a word that trains in front of frozen weights", MFU_ALWAYS},
    {"paged adamw", "optimizer", "paged-adamw", NULL, MFU_ALWAYS},
    {"paged adamw 8bit|paged adamw 8 bit|paged adamw (8 bit|8 bit paged adamw", "optimizer", "paged-adam8bit", NULL, MFU_ALWAYS},
    {"keeps logits|logits kept", "keep_logits", "1", NULL, MFU_ALWAYS},
    {"cuda_graph=full_iteration|cuda_graph=transformer_engine/attn", "cuda_graphs", "on", NULL, MFU_ALWAYS},
    {"cuda_graph=transformer_engine/attn", "cuda_graph_scope", "attention", NULL, MFU_ALWAYS}, {"uses tf32", "precision", "tf32", NULL, MFU_ALWAYS}, {"fused ops", "runtime", "fused", NULL, MFU_ALWAYS},
    {"force-balanced", "expert_load", "1", NULL, MFU_ALWAYS}, {"tokendrop", "capacity_factor", "1", NULL, MFU_ALWAYS}, {"tokendrop", "pad_experts", "on", NULL, MFU_ALWAYS},
    /* DualPipe is DeepSeek's, with its own kernels of dispatch, in fp8 where products are (arXiv 2412.19437, 3.2.2 and 3.3.3) */
    {"dualpipe", "schedule", "dualpipe", NULL, MFU_ALWAYS}, {"dualpipe|deepep|hybridep", "moe_dispatcher", "flex", NULL, MFU_ALWAYS},
    {"moe_a2a_overlap", "overlap_moe", "on", NULL, MFU_ALWAYS},
    {"fused ce", "cross_entropy_fusion", "native", NULL, MFU_ALWAYS},
    {"grads reduced in bf16|grad-reduce bf16", "grad_reduce", "bf16", NULL, MFU_ALWAYS},
    {"no fp32 master|without fp32 masters", "base_precision", "bf16", NULL, MFU_ALWAYS},
    {"padded to max length", "padding_mask", "on", NULL, MFU_ALWAYS},
};
// clang-format on
const size_t mfu_said_count = sizeof mfu_said / sizeof *mfu_said;

/* What is said to overlap with what is computed: "overlapped grad-reduce/param-gather", "--tp-comm-overlap". */
static const struct mfu_said overlapped[] = {
    {"grad-reduce", "overlap_grad_reduce", "on", NULL, MFU_ALWAYS},
    {"param-gather", "overlap_param_gather", "on", NULL, MFU_ALWAYS},
    {"tp-comm", "tp_overlap", "products", NULL, MFU_ALWAYS},
};

/* Columns whose words can name a property. */
static const char *const prose[] = {"model", "family", "method", "optimizer", "precision", "sharding", "task", "notes"};

const char *mfu_where_said(const struct mfu_row *r, const char *phrase)
{
    for (size_t i = 0; i < sizeof prose / sizeof *prose; i++)
        if (mfu_says(mfu_row_cell(r, prose[i]), phrase))
            return prose[i];
    return NULL;
}

bool mfu_row_denies(const struct mfu_row *r, const char *phrase)
{
    bool denied = false;

    for (size_t i = 0; i < sizeof prose / sizeof *prose; i++)
        denied |= mfu_says_not(mfu_row_cell(r, prose[i]), phrase);
    return denied && !mfu_where_said(r, phrase);
}

bool mfu_row_says_together(const struct mfu_row *r, const char *one, const char *other)
{
    for (size_t i = 0; i < sizeof prose / sizeof *prose; i++)
        if (mfu_says_together(mfu_row_cell(r, prose[i]), one, other))
            return true;
    return false;
}

/* What phrases say of a column, the first that is affirmed; where one is denied and none affirmed, that. */
// clang-format off
static const struct fill { const char *column, *phrase, *text, *denied; } fills[] = {
    {"act_ckpt", "selective recomputation|selective recompute|selective activation recomputation|selective checkpointing|selective activation checkpointing|selective AC|AC selective|AC: selective|AC=selective|activation checkpointing: selective|activation checkpointing=selective|recompute granularity selective|recompute granularity=selective|SAC", "selective", NULL},
    {"act_ckpt", "gradient checkpointing|activation checkpointing|activation recomputation|activation recompute|full recomputation|full recompute|full checkpointing|full AC|AC full|AC: full|AC=full|recompute granularity full|recompute granularity=full|recompute method uniform|recompute method=uniform|checkpoint activations|remat policy full|remat policy=full|remat policy: full", "full", "none"},
    {"attention", "flash attention 3|flash attention v3|flash attn 3|FA3", "flash3", NULL},
    {"attention", "flash attention 2|flash attention v2|flash attn 2|FA2", "flash2", NULL},
    {"attention", "flex attention", "flex", NULL},
    {"attention", "eager attention|attn implementation eager|attn implementation=eager|attn implementation: eager|naive attention|vanilla attention", "math", NULL},
    {"attention", "xformers|memory efficient attention", "xformers", NULL},
    {"attention", "sdpa|scaled dot product attention", "sdpa", NULL}, {"attention", "flash attention|flash attn", "flash", "math"}, {"attention", "fused attention", NULL, "math"},
    {"sharding", "zero 3|zero stage 3", "zero3", NULL}, {"sharding", "zero 2|zero stage 2", "zero2", NULL}, {"sharding", "zero 1|zero stage 1", "zero1", NULL},
    {"sharding", "distributed optimizer|distributed fused adam|distributedfusedadam", "zero1", NULL}, {"sharding", "hsdp", "hsdp", NULL}, {"sharding", "fsdp|fsdp2|fully sharded data parallel", "fsdp-full", NULL}, {"sharding", "ddp|distributed data parallel", "ddp", NULL},
    {"precision", "pure bf16|bf16 pure|full bf16", "bf16-pure", NULL}, {"precision", "trained in fp8|fp8 training|fp8 mixed precision", "fp8", NULL},
    {"precision", "trained in bf16|bf16 training|bf16 mixed precision|bf16 autocast|bf16 amp", "bf16", NULL},
    {"precision", "trained in fp16|fp16 training|fp16 mixed precision|fp16 amp|half precision training", "fp16", NULL}, {"precision", "trained in tf32|tf32 training", "tf32", NULL},
    {"act_ckpt", "remat policy=save qkv proj|remat policy=save out proj|remat policy: save qkv proj|remat policy: save out proj", "full", NULL},
    {"act_ckpt", "remat policy minimal|remat policy=minimal|remat policy: minimal|remat policy=minimal flash|remat policy: minimal flash|remat policy=minimal with context", "minimal", NULL},
    {"quant", "load in 4bit|4 bit base|nf4 base|bitsandbytes 4bit|4 bit quantized base", "nf4", NULL}, {"quant", "load in 8bit|int8 base|8 bit base|bitsandbytes 8bit|int8 quanto", "int8", NULL},
    {"optimizer", "8-bit adam|8-bit adamw|adam 8-bit|adamw 8-bit", "adamw8bit", NULL}, {"optimizer", "adafactor", "adafactor", NULL},
    {"optimizer", "8-bit galore", "galore8bit", NULL}, {"optimizer", "galore", "galore", NULL},
    {"optimizer", "muon", "muon", NULL}, {"optimizer", "adamw|adam", "adamw", NULL}, {"optimizer", "sgd", "sgd", NULL},
    {"compile", "torch.compile|torch compile", "torch.compile", "eager"}};
// clang-format on

/* Whether what is free in a row affirms, or denies, the phrases; a source's title may be of other runs, too. */
static bool prose_takes(const struct mfu_row *r, const struct fill *f, bool (*takes)(const char *, const char *))
{
    return takes(mfu_row_cell(r, "notes"), f->phrase) || takes(mfu_row_cell(r, "model"), f->phrase)
        || (strcmp(f->column, "sharding") == 0 && takes(mfu_row_cell(r, "optimizer"), f->phrase));
}

/* "nf4", "4bit": no precision of products, but how frozen weights are held, alone or beside one ("bf16 (nf4 base)"). */
static void take_base(struct mfu_row *r)
{
    const char *text = mfu_row_cell(r, "precision"), *base = mfu_base_in(text),
               *whole = mfu_row_word(r, "method", mfu_row_method(r));
    bool adapters = !whole || *whole, /* products of adapters are in 16 bits */
        beside = (mfu_row_has_word("precision", text) || mfu_row_choice_in(MFU_S_PRECISION, text) >= 0)
        && !(adapters && base && strcmp(base, "int8") == 0);

    if (beside ? !mfu_says_word(text, "nf4|4 bit base|qlora") : !base)
        return;
    if (!adapters)
        mfu_row_skip(r, "precision '%.40s' is that of frozen weights: the column method does not state adapters", text);
    if (!*mfu_row_cell(r, "quant"))
        mfu_row_fill_cell(r, "quant", beside ? "nf4" : text);
    if (!beside)
        mfu_row_fill_cell(r, "precision", "");
}

void mfu_row_fill(struct mfu_row *r)
{
    mfu_row_take_degrees(r);
    take_base(r);
    for (int denied = 0; denied < 2; denied++)
        for (size_t i = 0; i < sizeof fills / sizeof *fills; i++) {
            const char *text = denied ? fills[i].denied : fills[i].text;

            if (!text || *mfu_row_cell(r, fills[i].column)
                || !prose_takes(r, &fills[i], denied ? mfu_says_not : mfu_says))
                continue;
            mfu_row_fill_cell(r, fills[i].column, text);
            mfu_row_assume(r, "%s=%s, by what is said", fills[i].column, text);
        }
}

static bool set_overlaps(struct mfu_row *r)
{
    for (size_t i = 0; i < sizeof overlapped / sizeof *overlapped; i++)
        if (mfu_row_says_together(r, "overlap", overlapped[i].phrase)
            && !mfu_row_take(r, "%s=%s, by what is said", overlapped[i].key, overlapped[i].value))
            return false;
    return true;
}

bool mfu_row_set_said(struct mfu_row *r)
{
    for (size_t i = 0; i < mfu_said_count; i++) {
        const char *column = mfu_said[i].key ? mfu_where_said(r, mfu_said[i].phrase) : NULL;
        char count[24];

        if (!column)
            continue;
        if (mfu_scenario_key(&r->run->scenario, mfu_said[i].key, NULL).kind == MFU_KEY_NONE) {
            if (mfu_said[i].what)
                return mfu_row_skip(r, "%s: not modelled of %s (%s)", mfu_said[i].what, r->run->scenario.model->slug,
                                    column);
            continue;
        }
        snprintf(count, sizeof count, "%.0f", mfu_count_said(mfu_row_cell(r, column), mfu_said[i].phrase));
        if (!mfu_row_take(r, "%s=%s, by the %s", mfu_said[i].key, mfu_said[i].value ? mfu_said[i].value : count,
                          column))
            return false;
    }
    return set_overlaps(r);
}
