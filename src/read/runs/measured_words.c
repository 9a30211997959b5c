/*
 * measured_words.c - what a cell means that is no name of ours, but has one among its words.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "read/runs/measured_reading.h"
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
    static const char *const denials[] = {"no", "not", "without"};

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
    int stage = stage_in(text = affirmed(own, text));

    if (stage >= 0)
        return numbered[stage];
    return has_any(text, copies)   ? "hsdp"
        : has_any(text, gradients) ? "shard_grad_op"
        : has_any(text, whole)     ? "fsdp-full"
        : has_any(text, states)    ? "zero1"
        : has_any(text, data)      ? "ddp"
                                   : NULL;
}

const char *mfu_checkpoint_in(const char *text)
{
    static const char *const nothing[] = {"none", "off", "disabled", "false", NULL};
    static const char *const some[] = {"of", "other", "every", "half", "first", "last", "some", "except", NULL};
    static const char *const part[] = {"selective", "sac", "partial", NULL};
    static const char *const all[] = {"full", "all",  "layer",   "layers", "block",   "on",
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
    if (has_any(own, some) || (strpbrk(own, "0123456789") && strcasestr(own, "layer"))) /* of the layers a part */
        return NULL;
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
