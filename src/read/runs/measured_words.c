/*
 * measured_words.c - what a cell means that is no name of ours, but has one among its words; and what is said in prose.
 *
 * The table of words translates what other people's mean in tables of runs alone; what runtimes, optimizers ... are called
 * elsewhere stands in their rows.  A word without an exact counterpart is mapped to the nearest one and the row says so.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "read/runs/measured_reading.h"
#include "read/runs/measured_run.h"
#include "scenario/adapter.h"
#include "scenario/key_names.h"
#include "scenario/setting.h"

#define MOST_WORDS 12
#define MOST_SAID 160

/* Where a word stands by itself, or NULL. */
static const char *word_at(const char *text, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = strcasestr(text, word); p; p = strcasestr(p + 1, word))
        if ((p == text || !isalpha((unsigned char)p[-1])) && !isalpha((unsigned char)p[n]))
            return p;
    return NULL;
}

/* The words of a text, apart by blanks and marks; dashes, dots and underscores are inside of them. */
static int split(const char *text, char words[MOST_WORDS][32])
{
    int count = 0;

    while (count < MOST_WORDS && *(text += strspn(text, " +,;/()[]{}=:&|\t"))) {
        size_t n = strcspn(text, " +,;/()[]{}=:&|\t");

        snprintf(words[count++], sizeof words[0], "%.*s", (int)n, text);
        text += n;
    }
    return count;
}

/* A text as far as nothing in it is denied: "zero3 (no offload)" is "zero3 (". */
static const char *said(char to[MOST_SAID], const char *text)
{
    static const char *const denials[] = {"no", "not", "without", "never"};

    snprintf(to, MOST_SAID, "%s", text);
    for (size_t i = 0; i < sizeof denials / sizeof *denials; i++) {
        const char *at = word_at(to, denials[i]);

        if (at)
            to[at - to] = '\0';
    }
    return to;
}

/* Leaves out what its value denies: "fsdp: no, zero1" is ", zero1". */
static void leave_denied(char *text)
{
    static const char *const denials[] = {"no", "off", "false", "none", "disabled"};

    for (char *p = strpbrk(text, ":="); p; p = strpbrk(p + 1, ":=")) {
        char *value = p + 1 + strspn(p + 1, " "), *word = p;
        size_t n = strcspn(value, " ,;)");

        while (word > text && !strchr(",;(", word[-1]))
            word--;
        for (size_t i = 0; i < sizeof denials / sizeof *denials; i++)
            if (strlen(denials[i]) == n && strncasecmp(value, denials[i], n) == 0)
                memset(word, ' ', (size_t)(value + n - word));
    }
}

/* The same as far as nothing else is denied. */
static const char *affirmed(char to[MOST_SAID], const char *text)
{
    char given[MOST_SAID];

    snprintf(given, sizeof given, "%s", text);
    leave_denied(given);
    return said(to, given);
}

int mfu_row_choice_in(enum mfu_setting_id id, const char *text)
{
    char words[MOST_WORDS][32], run[MOST_WORDS * 33], own[MOST_SAID];
    int count = split(said(own, text), words), choice;

    for (int length = count; length > 0; length--)
        for (int first = 0; first + length <= count; first++) {
            run[0] = '\0';
            for (int i = first; i < first + length; i++) {
                size_t n = strlen(run);

                snprintf(run + n, sizeof run - n, "%s%s", i > first ? "-" : "", words[i]);
            }
            if ((choice = mfu_setting_choice(id, run, NULL)) >= 0)
                return choice;
        }
    return -1;
}

bool mfu_has_word(const char *text, const char *word)
{
    return word_at(text, word) != NULL;
}

bool mfu_says_word(const char *text, const char *word)
{
    char own[MOST_SAID];

    return mfu_has_word(affirmed(own, text), word);
}

static bool has_any(const char *text, const char *const *words)
{
    while (*words && !mfu_has_word(text, *words))
        words++;
    return *words != NULL;
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
    static const char *const copies[] = {"hsdp", "hybrid", "hybrid_shard", NULL};
    static const char *const gradients[] = {"shard_grad_op", "grad_op", NULL};
    static const char *const whole[] = {"fsdp",   "fsdp1", "fsdp2", "full_shard", "full shard", "sharded data parallel",
                                        "gemini", NULL};
    static const char *const states[] = {"distributed optimizer", "dist opt", "dist-opt", "dist_opt", "distopt",
                                         "distributed-optimizer", "zero",     NULL};
    static const char *const data[] = {"ddp", "data parallel", "dp", NULL};
    char own[MOST_SAID];
    const char *all = text;
    int stage = stage_in(text = affirmed(own, text));

    if (stage >= 0)
        return numbered[stage];
    if (text[strspn(text, " -_,;:(")] == '\0') /* "fsdp: no", "without FSDP" */
        return has_any(all, whole) || has_any(all, states) ? "none" : NULL;
    return has_any(text, copies)   ? "hsdp"
        : has_any(text, gradients) ? "shard_grad_op"
        : has_any(text, whole)     ? "fsdp-full"
        : has_any(text, states)    ? "zero1"
        : has_any(text, data)      ? "ddp"
                                   : NULL;
}

/* Whether "every" stands before something else than layers or blocks: "every second layer". */
static bool every_of_a_part(const char *text)
{
    static const char *const units[] = {"layer", "layers", "block", "blocks"};
    const char *every = word_at(text, "every");

    if (!every)
        return false;
    every += strlen("every");
    every += strspn(every, " -_");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strncasecmp(every, units[i], strlen(units[i])) == 0 && !isalnum((unsigned char)every[strlen(units[i])]))
            return false;
    return true;
}

const char *mfu_checkpoint_in(const char *text)
{
    static const char *const nothing[] = {"none", "off", "disabled", "false", NULL};
    static const char *const some[] = {"of",        "other",       "half",   "first",  "last",
                                       "some",      "except",      "second", "fourth", "third",
                                       "alternate", "alternating", "odd",    "even",   NULL};
    static const char *const part[] = {"selective", "sac", "partial", NULL};
    static const char *const all[] = {"full", "all",  "layer",   "layers", "block",   "blocks", "on",
                                      "yes",  "true", "enabled", "enable", "uniform", NULL};
    static const char *const again[] = {"recompute",
                                        "recomputation",
                                        "recomputing",
                                        "checkpointing",
                                        "checkpoint",
                                        "ckpt",
                                        "rematerialization",
                                        "remat",
                                        "gc",
                                        "ac",
                                        "unsloth",
                                        NULL};

    char own[MOST_SAID];

    said(own, text);
    if (own[strspn(own, " -_,;:(")] == '\0') /* "no", "without recomputation" */
        return has_any(text, again) || !strpbrk(text, " _-") ? "none" : NULL;
    if (has_any(own, nothing))
        return "none";
    if (has_any(own, some) || every_of_a_part(own)
        || (strpbrk(own, "0123456789") && (strcasestr(own, "layer") || mfu_has_word(own, "every"))))
        return NULL; /* of the layers a part */
    return has_any(own, part) ? "selective" : has_any(own, all) || has_any(own, again) ? "full" : NULL;
}

const char *mfu_other_stack_in(const char *text)
{
    static const char *const others[] = {
        "xla",   "jax",   "flax",   "maxtext",      "levanter",  "t5x",       "gspmd", "alpa",    "tensorflow", "tf",
        "keras", "mxnet", "paddle", "paddlepaddle", "paddlenlp", "mindspore", "mlx",   "oneflow", "tinygrad",   NULL};

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
    {"compile", "yes|true|on|1", "compile", "runtime=compile for"},
    {"compile", "no|none|false|0", "eager", "runtime=eager for"},
    {"compile", "jit", "compile", "runtime=compile for jit (TorchScript, whose fuser merges pointwise kernels and norms)"},
    /* Of programs whose TorchScript is functions that the graph has as one operation. */
    {"compile of functions", "", "eager", "runtime=eager"},
    {"compile of functions", "jit", "eager", "runtime=eager for jit (TorchScript of single functions)"},
    {"precision", "fp16|float16", "fp16", "precision=fp16, mixed, for"},
    {"precision", "bf16|bfloat16", "bf16", "precision=bf16, mixed, for"},
    {"precision", "mixed|mixed-precision|half-precision", "fp16", "precision=fp16, mixed, for"},
    {"precision", "fp16-amp-o2", "fp16", "half_weights=on for"},
    {"precision", "", "", "precision"},
    {"attention", "sdpa", "", "attention: PyTorch's choice for"},
    {"attention", "te", "cudnn", "attention=cudnn for"},
    {"attention", "ring|ring-attention|ring-flash|ring-flash-attention|ulysses", "", "attention: what is usual within"},
    {"attention", "te-flash", "", "attention: TransformerEngine's choice for"},
    {"attention", "", "", "attention"},
    {"optimizer", "", "", "optimizer"},
    {"act_ckpt", "", "none", "checkpoint=none"},
    {"method", "|full|full-finetuning|full-tuning|full-finetune|full-fine-tuning|full-parameter|full-sft|fft|sft|pretraining|none", "", NULL},
    {"method", "lora-dora|dora", "dora", NULL},
    {"lora_targets", "", "all-linear", "lora_targets=all-linear"},
    {"lora_targets", "all|linear", "all-linear", "lora_targets=all-linear for"},
    {"lora_targets", "all linear|all linear layers|all linear (*_proj)", "all-linear", NULL},
    {"lora_targets", "qkvo|q,k,v,o|attention", "attention", NULL},
    {"lora_targets", "c_attn,c_proj,w1,w2", "all-linear", NULL}, /* Qwen: w1, w2 are gate and up, c_proj what follows both */
    {"lora_targets", "default (attention qkv)", "qkv,q,k,v", NULL},
    {"lora_targets", "self_attn", "attention", NULL},
    {"quant", "4bit|bnb 4bit", "nf4", "base_precision=nf4 for"},
    {"quant", "8bit", "int8", "base_precision=int8 for"},
    {"quant", "|none", "", NULL},
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
    static const char *const nested[] = {"double", "dq", "nested", NULL};
    int base = mfu_row_choice_of_all(MFU_S_BASE, text, NULL);
    char own[MOST_SAID];

    if (base < 0)
        base = mfu_row_choice_in(MFU_S_BASE, text);
    if (base >= 0 && mfu_bases[base].kbit && mfu_bases[base].four_bit && has_any(affirmed(own, text), nested))
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
        const char *word = id == MFU_S_CHECKPOINT ? mfu_checkpoint_in(text) : NULL;

        choice = word ? mfu_setting_choice(id, word, NULL) : id == MFU_S_CHECKPOINT ? -1 : mfu_row_choice_in(id, text);
        if (choice < 0)
            return mfu_row_skip(r, "%s '%s' is not known", column, text);
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
    {"lora", NULL, NULL, "adapters (LoRA)", MFU_UNLESS_ADAPTER}, {"qlora", NULL, NULL, "adapters (QLoRA)", MFU_UNLESS_ADAPTER},
    {"dora", NULL, NULL, "adapters (DoRA)", MFU_UNLESS_ADAPTER}, {"adapter", NULL, NULL, "adapters", MFU_UNLESS_ADAPTER}, {"adapters", NULL, NULL, "adapters", MFU_UNLESS_ADAPTER},
    {"peft", NULL, NULL, "adapters", MFU_UNLESS_ADAPTER}, {"prefix tuning", NULL, NULL, "adapters", MFU_UNLESS_ADAPTER},
    {"prompt tuning", NULL, NULL, "adapters", MFU_UNLESS_ADAPTER}, {"frozen", NULL, NULL, "frozen weights", MFU_UNLESS_ADAPTER},
    {"MTP", "n_mtp", "1", "prediction of further tokens (MTP)", MFU_ALWAYS}, {"mtp_num_layers", "n_mtp", "1", "prediction of further tokens (MTP)", MFU_ALWAYS},
    {"device_map model split", "pp", "gpus", NULL, MFU_ALWAYS}, {"device_map model split", "schedule", "sequential", NULL, MFU_ALWAYS},
    {"offload", NULL, NULL, NULL, MFU_UNLESS_OFFLOAD}, {"offloading", NULL, NULL, NULL, MFU_UNLESS_OFFLOAD}, {"offloaded", NULL, NULL, NULL, MFU_UNLESS_OFFLOAD},
    {"optimizer in backward", "optimizer_in_backward", "on", NULL, MFU_ALWAYS}, {"optimizer_in_bwd", "optimizer_in_backward", "on", NULL, MFU_ALWAYS},
    {"lomo", "optimizer_in_backward", "on", NULL, MFU_ALWAYS},
    {"multi-crop", NULL, NULL, "views and a teacher beside the model", MFU_ALWAYS},
    {"momentum encoder", NULL, NULL, "views and a teacher beside the model", MFU_ALWAYS}, {"distillation", NULL, NULL, "a teacher beside the model", MFU_ALWAYS},
    {"controlnet", NULL, NULL, "a copy of the encoder that trains beside a frozen U-Net", MFU_ALWAYS},
    {"textual inversion", NULL, NULL, "a word that trains in front of frozen weights", MFU_ALWAYS},
    {"pagedadamw", "optimizer", "paged-adamw", NULL, MFU_ALWAYS}, {"paged_adamw", "optimizer", "paged-adamw", NULL, MFU_ALWAYS},
    {"keeps logits", "keep_logits", "1", NULL, MFU_ALWAYS}, {"logits kept", "keep_logits", "1", NULL, MFU_ALWAYS},
    {"cuda_graph=full_iteration", "cuda_graphs", "on", NULL, MFU_ALWAYS},
    {"cuda_graph=transformer_engine/attn", "cuda_graphs", "on", NULL, MFU_ALWAYS},
    {"cuda_graph=transformer_engine/attn", "cuda_graph_scope", "attention", NULL, MFU_ALWAYS}, {"uses tf32", "precision", "tf32", NULL, MFU_ALWAYS}, {"fused ops", "runtime", "fused", NULL, MFU_ALWAYS},
    {"force-balanced", "expert_load", "1", NULL, MFU_ALWAYS}, {"tokendrop", "capacity_factor", "1", NULL, MFU_ALWAYS}, {"tokendrop", "pad_experts", "on", NULL, MFU_ALWAYS},
    /* DualPipe is DeepSeek's, with its own kernels of dispatch, in fp8 where products are (arXiv 2412.19437, 3.2.2 and 3.3.3) */
    {"dualpipe", "schedule", "dualpipe", NULL, MFU_ALWAYS}, {"dualpipe", "moe_dispatcher", "flex", NULL, MFU_ALWAYS},
    {"deepep", "moe_dispatcher", "flex", NULL, MFU_ALWAYS}, {"hybridep", "moe_dispatcher", "flex", NULL, MFU_ALWAYS},
    {"moe_a2a_overlap", "overlap_moe", "on", NULL, MFU_ALWAYS},
    {"fused ce", "cross_entropy_fusion", "native", NULL, MFU_ALWAYS},
    {"grads reduced in bf16", "grad_reduce", "bf16", NULL, MFU_ALWAYS}, {"grad-reduce bf16", "grad_reduce", "bf16", NULL, MFU_ALWAYS},
    {"no fp32 master", "base_precision", "bf16", NULL, MFU_ALWAYS}, {"without fp32 masters", "base_precision", "bf16", NULL, MFU_ALWAYS},
    {"padded to max length", "padding_mask", "on", NULL, MFU_ALWAYS}, {"padded to max_length", "padding_mask", "on", NULL, MFU_ALWAYS},
};
// clang-format on
const size_t mfu_said_count = sizeof mfu_said / sizeof *mfu_said;

/* What is said to overlap with what is computed: "overlapped grad-reduce/param-gather", "--tp-comm-overlap". */
static const struct mfu_said overlapped[] = {
    {"grad-reduce", "overlap_grad_reduce", "on", NULL, MFU_ALWAYS},
    {"param-gather", "overlap_param_gather", "on", NULL, MFU_ALWAYS},
    {"tp-comm", "tp_overlap", "products", NULL, MFU_ALWAYS},
};

/* Whether a word from `at` to `end` is one of a list. */
static bool word_among(const char *const *words, const char *at, const char *end)
{
    while (*words && (strlen(*words) != (size_t)(end - at) || strncasecmp(at, *words, (size_t)(end - at)) != 0))
        words++;
    return *words != NULL;
}

bool mfu_denied(const char *text, const char *at)
{
    static const char *const denials[] = {"no", "not", "without", "non", "never", "cannot", NULL};
    static const char *const others[] = {"than", "vs", "versus", "unlike", NULL}; /* with which this one is compared */
    static const char *const compared[] = {"compared", NULL};                     /* to, with, against */
    static const char *const between[] = {"a", "an", "the", "on", "in", "into", NULL}; /* which do not count */

    for (int words = 0; words < 3 && at > text;) {
        const char *end = at;

        while (end > text && !mfu_in_word(end[-1])) {
            if (strchr(".;:,(", end[-1]))
                return false;
            end--;
        }
        for (at = end; at > text && mfu_in_word(at[-1]);)
            at--;
        if (word_among(denials, at, end) || (words == 0 && word_among(others, at, end))
            || (words == 1 && word_among(compared, at, end))
            || (end - at == 1 && at - text > 1 && strncasecmp(at - 2, "n't", 3) == 0))
            return true;
        words += !word_among(between, at, end);
    }
    return false;
}

/* Whether the value behind a phrase turns it off or leaves it open: "=0", ": off", " (disabled)", " off", " is off",
 * " loss is off". */
static bool turned_off(const char *at)
{
    static const char *const values[] = {"off", "disabled", "none", "unknown", "not used", "not enabled", NULL};
    static const char *const verbs[] = {" is ", " are ", " was ", " were "};
    const char *value = at + strspn(at, " ");
    char mark = *value && strchr(":=(", *value) ? *value : '\0', word[16];

    value += mark != '\0';
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs && !mark; i++) {
        const char *verb = strcasestr(at, verbs[i]);

        if (verb && strcspn(at, ".;:,()") > (size_t)(verb - at)
            && (verb == at || strcspn(at + 1, " ") + 1 == (size_t)(verb - at))) /* behind one more word at most */
            value = verb + strlen(verbs[i]);
    }
    value += strspn(value, " ");
    snprintf(word, sizeof word, "%.*s", (int)strcspn(value, mark == '=' ? " .;:,()" : ".;:,()"), value);
    for (size_t n = strlen(word); n > 0 && word[n - 1] == ' ';)
        word[--n] = '\0';
    return word_among(values, word, word + strlen(word)) || (mark && mfu_switch_in(word) == 0);
}

/* Whether what follows says that it is not known: "(act_ckpt/offload left empty)". */
static bool left_open(const char *at)
{
    static const char *const open[] = {"left empty", "not stated", "unknown"};
    size_t n = strcspn(at, ".;:,()");

    for (size_t i = 0; i < sizeof open / sizeof *open; i++) {
        const char *p = strcasestr(at, open[i]);

        if (p && p < at + n)
            return true;
    }
    return false;
}

bool mfu_says(const char *text, const char *phrase)
{
    size_t n = strlen(phrase);

    for (const char *p = strcasestr(text, phrase); p; p = strcasestr(p + 1, phrase))
        if ((p == text || !mfu_in_word(p[-1])) && !mfu_in_word(p[n]) && !mfu_denied(text, p) && !left_open(p + n)
            && !turned_off(p + n))
            return true;
    return false;
}

bool mfu_says_beginning(const char *text, const char *begin)
{
    for (const char *p = strcasestr(text, begin); p; p = strcasestr(p + 1, begin)) {
        const char *end = p + strlen(begin);

        while (mfu_in_word(*end))
            end++;
        if ((p == text || !mfu_in_word(p[-1])) && !mfu_denied(text, p) && !turned_off(end))
            return true;
    }
    return false;
}

/* Columns whose words can name a property. */
static const char *const prose[] = {"model", "family", "method", "optimizer", "precision", "sharding", "task", "notes"};

void mfu_join_words(char *text)
{
    for (; *text; text++)
        if (strchr("_ ", *text))
            *text = '-';
}

bool mfu_says_together(const char *text, const char *one, const char *other)
{
    static const char *const denials[] = {"no", "not", "non", "without", "off", "false", "disabled", "unknown"};

    for (size_t n; *text; text += n + strspn(text + n, ".;:,()=")) {
        char part[MOST_SAID];
        bool denies;

        n = strcspn(text, ".;:,()=");
        denies = strchr(":(=", text[n]) && turned_off(text + n);
        snprintf(part, sizeof part, "%.*s", (int)n, text);
        mfu_join_words(part);
        for (size_t i = 0; i < sizeof denials / sizeof *denials; i++)
            denies |= mfu_has_word(part, denials[i]);
        if (!denies && strcasestr(part, one) && strcasestr(part, other))
            return true;
    }
    return false;
}

const char *mfu_where_said(const struct mfu_row *r, const char *phrase)
{
    for (size_t i = 0; i < sizeof prose / sizeof *prose; i++)
        if (mfu_says(mfu_row_cell(r, prose[i]), phrase))
            return prose[i];
    return NULL;
}

static bool set_overlaps(struct mfu_row *r)
{
    for (size_t i = 0; i < sizeof overlapped / sizeof *overlapped; i++)
        if (mfu_says_together(mfu_row_cell(r, "notes"), "overlap", overlapped[i].phrase)
            && !mfu_row_take(r, "%s=%s, by the notes", overlapped[i].key, overlapped[i].value))
            return false;
    return true;
}

bool mfu_row_set_said(struct mfu_row *r)
{
    for (size_t i = 0; i < mfu_said_count; i++) {
        const char *column = mfu_said[i].key ? mfu_where_said(r, mfu_said[i].phrase) : NULL;

        if (!column)
            continue;
        if (mfu_scenario_key(&r->run->scenario, mfu_said[i].key, NULL).kind == MFU_KEY_NONE) {
            if (mfu_said[i].what)
                return mfu_row_skip(r, "%s: not modelled of %s (%s)", mfu_said[i].what, r->run->scenario.model->slug,
                                    column);
            continue;
        }
        if (!mfu_row_take(r, "%s=%s, by the %s", mfu_said[i].key, mfu_said[i].value, column))
            return false;
    }
    return set_overlaps(r);
}
