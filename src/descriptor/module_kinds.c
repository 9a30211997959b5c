/*
 * module_kinds.c - sets of weights by what they are for.
 */
#include "descriptor/module_kinds.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "descriptor/model.h"

static const struct row {
    const char *name, *aliases, *operations;
} rows[] = {
#define X(id, name, aliases, operations) [MFU_MODULE_##id] = {name, aliases, operations},
    MFU_MODULE_KINDS(X)
#undef X
};

#define B(id) MFU_MODULE_BIT(id)
static const struct group {
    const char *name, *aliases;
    unsigned set;
} groups[] = {
    {"all", "true on", MFU_MODULES_ALL},
    {"none", "", 0}, /* and what else says so: */
    {"all-but-vision", "", MFU_MODULES_ALL & ~B(VISION)},
    {"all-linear", "linear lora_target_linear", MFU_MODULE_ALL_LINEAR},
    {"attention", "attn self_attn",
     B(QUERY) | B(KEY) | B(VALUE) | B(QKV) | B(OUT) | B(ADD_QUERY) | B(ADD_KEY) | B(ADD_VALUE) | B(ADD_OUT)},
    {"biases", "bias", B(BIASES) | B(ADAPTED_BIASES)},
    {"mlp", "ffn feed_forward", B(GATE) | B(UP) | B(GATE_UP) | B(DOWN) | B(CONTEXT_UP) | B(CONTEXT_DOWN)},
};
#define NOTHING "none false off"
#define N_GROUPS (sizeof groups / sizeof groups[0])

/* Whether `text` of n characters is one of the blank-separated words. */
static bool among(const char *words, const char *text, size_t n)
{
    char one[40];

    snprintf(one, sizeof one, "%.*s", (int)n, text);
    return mfu_is_among(words, one);
}

/* Whether a name ends with one of the words, where a part of it begins. */
static bool ends(const char *words, const char *name)
{
    size_t all = strlen(name);
    char word[40];

    while (mfu_next_word(&words, word, sizeof word)) {
        size_t n = strlen(word);

        if (n <= all && strcmp(name + all - n, word) == 0 && (n == all || strchr("._", name[all - n - 1])))
            return true;
    }
    return false;
}

enum mfu_module_kind mfu_module_kind(const struct mfu_model_op *op)
{
    unsigned traits = op->primitive->traits;

    for (int i = MFU_MODULE_VISION; op->primitive->params && i <= MFU_MODULE_PROJECTOR; i++)
        if (strncmp(op->name, rows[i].name, strlen(rows[i].name)) == 0 && op->name[strlen(rows[i].name)] == '.')
            return (enum mfu_module_kind)i;
    if (traits & MFU_LOOKS_UP)
        return MFU_MODULE_EMBEDDINGS;
    if (traits & MFU_BY_ROW)
        return MFU_MODULE_NORMS;
    for (int i = 0; op->primitive->params && i < MFU_MODULE_COUNT; i++)
        if (ends(rows[i].operations, op->name))
            return (enum mfu_module_kind)i;
    return MFU_MODULE_OTHERS;
}

/* The kinds that one word names. */
static unsigned kinds_called(const char *word, size_t n)
{
    unsigned set = 0;

    for (int i = 0; i < MFU_MODULE_COUNT; i++)
        if (among(rows[i].name, word, n) || among(rows[i].aliases, word, n))
            set |= 1u << i;
    return set;
}

/* What one word of n characters says; 0: nothing.  "mlp.c_proj" is that c_proj which the MLP has, "*norm*" and
 * "model.layers.*.mlp.*" are read, too; a layer's number says nothing that a kind could. */
static unsigned set_of_word(const char *word, size_t n)
{
    const char *point = memchr(word, '.', n);
    unsigned set = kinds_called(word, n);

    if (point && !set)
        return set_of_word(word, (size_t)(point - word)) & set_of_word(point + 1, n - (size_t)(point + 1 - word));
    if (among("* model layers language_model transformer h weight", word, n))
        return MFU_MODULES_ALL;
    for (; n > 1 && *word == '*'; n--)
        word++;
    while (n > 1 && word[n - 1] == '*')
        n--;
    for (size_t i = 0; i < N_GROUPS; i++)
        if (among(groups[i].name, word, n) || among(groups[i].aliases, word, n))
            set |= groups[i].set;
    return set | kinds_called(word, n);
}

int mfu_modules_parse(const char *text, unsigned *set, char *unknown, size_t size)
{
    *set = 0;
    for (const char *p = text + strspn(text, ",+|[]'\" "); *p; p += strspn(p, ",+|[]'\" ")) {
        size_t n = strcspn(p, ",+|[]'\" ");
        unsigned said = set_of_word(p, n);

        if (said == 0 && !among(NOTHING, p, n)) {
            snprintf(unknown, size, "%.*s", (int)n, p);
            return -1;
        }
        *set |= said;
        p += n;
    }
    return 0;
}

const char *mfu_modules_format(char *buf, size_t size, unsigned set)
{
    unsigned left = set;
    size_t n = 0;

    buf[0] = '\0';
    if (set == 0)
        snprintf(buf, size, "none");
    for (size_t i = 0; i < N_GROUPS; i++)
        if (groups[i].set && (left & groups[i].set) == groups[i].set && n < size) {
            n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? "," : "", groups[i].name);
            left &= ~groups[i].set;
        }
    for (int i = 0; i < MFU_MODULE_COUNT; i++)
        if (left & 1u << i && n < size)
            n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? "," : "", rows[i].name);
    return buf;
}

const char *mfu_modules_word(size_t i)
{
    return i < N_GROUPS ? groups[i].name : i - N_GROUPS < MFU_MODULE_COUNT ? rows[i - N_GROUPS].name : NULL;
}
