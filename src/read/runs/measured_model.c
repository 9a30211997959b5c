/*
 * measured_model.c - which model a row of a table of runs means, by its family, its name and its width.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "descriptor/catalog.h"
#include "descriptor/model.h"
#include "read/runs/measured_reading.h"
#include "read/runs/measured_run.h"
#include "scenario/scenario.h"

// clang-format off
/* Graphs of families that no model of the catalog is called by, or of which one model stands for all. */
static const struct family {
    const char *theirs, *ours; /* ours NULL: cannot be modelled */
    const char *note;          /* what is assumed, or why it cannot */
} families[] = {
    {"gpt2", "gpt2", NULL}, {"nanogpt", "gpt2", "graph of gpt2 for nanogpt"}, {"gpt3", "gpt3-175b", NULL}, {"gpt-mcore", "gpt2", "graph of gpt2 for gpt-mcore"},
    {"mpt", "mpt-125m", NULL}, {"llama", "llama-2-7b", NULL}, {"mistral", "llama-2-7b", NULL},
    {"qwen2.5", "qwen2.5-7b", NULL}, {"qwen1.5", "qwen2.5-7b", "graph of qwen2.5 for qwen1.5"}, {"qwen2", "qwen2.5-7b", NULL},
    {"qwen3", "qwen3-8b", NULL}, {"qwen", "qwen-7b", NULL}, {"gemma", "gemma-2b", NULL}, {"gemma2", "gemma-2-2b", NULL},
    {"bert", "bert-base", NULL}, {"vit", "vit-b-16", NULL}, {"densenet", "densenet-121", NULL}, {"resnet", "resnet-50", NULL}, {"resnext", "resnet-50", NULL}, {"regnetx", "regnety-040", NULL}, {"regnety", "regnety-040", NULL}, {"wide_resnet", "resnet-50", NULL}, {"convnext", "convnext-tiny", NULL}, {"deit", "vit-b-16", "graph of vit for deit"}, {"mixtral", "mixtral-8x7b", NULL},
    {"moe-mcore", "mixtral-8x7b", "graph of mixtral for moe-mcore"}, {"qwen3-moe", "qwen3-30b-a3b", NULL}, {"gpt-oss", "gpt-oss-20b", NULL},
    {"dit", "dit-xl-2", NULL}, {"sit", "dit-xl-2", NULL}, {"deepseek-v2", "deepseek-v2", NULL}, {"deepseek-v3", "deepseek-v3", NULL},
    {"nemotron-h-moe", "nemotron-3-nano-30b-a3b", NULL},
    {"transformer-xl", "transfo-xl-wt103", NULL}, {"encoder-decoder", "transformer-big", NULL}, {"encdec", "transformer-big", NULL}, {"seq2seq", "transformer-big", NULL}, {"ssd", "ssd300", NULL},
    {"gpt", "gpt2", "graph of gpt2 for gpt"}, {"mingpt", "gpt2", "graph of gpt2 for mingpt"}, {"neox", "pythia-160m", "graph of pythia-160m for neox"},
    {NULL, NULL, NULL}};
// clang-format on

/* The letters and digits of a text, small. */
static void letters(char *to, size_t size, const char *text)
{
    size_t n = 0;

    for (; *text && n + 1 < size; text++)
        if (isalnum((unsigned char)*text))
            to[n++] = (char)tolower((unsigned char)*text);
    to[n] = '\0';
}

/* Where a file's name goes on behind the family with a part of its own: "phi3" of phi-3-mini, "glm4" of glm-4-9b, not
 * of glm-4.5, and "mini" of no ministral-8b. */
static const char *begins_with(const char *name, const char *family)
{
    for (; *family; family++)
        if (isalnum((unsigned char)*family)) {
            while (*name == '-' || *name == '_' || *name == '.')
                name++;
            if (tolower((unsigned char)*name++) != tolower((unsigned char)*family))
                return NULL;
        }
    return *name == '\0' || *name == '-' || *name == '_' ? name : NULL;
}

/* Whether this model is of the family that its name begins with: not of a later generation, which has a graph of its own
 * ("exaone" and exaone4), and with a size behind it, unless the graph is called so ("flan-t5" of t5). */
static bool is_of(const struct mfu_model *m, const char *family, const char *rest)
{
    char word[64], theirs[64];

    letters(word, sizeof word, family);
    letters(theirs, sizeof theirs, m->family);
    if (strcmp(word, theirs) == 0)
        return true;
    return strncmp(theirs, word, strlen(word)) != 0
        && (isdigit((unsigned char)rest[*rest != '\0']) || strstr(word, theirs));
}

/* The i-th model of the catalog that is called so; "": it is called something else; NULL: no more. */
static const char *called(const struct mfu_row *r, const char *family, size_t i)
{
    size_t n;
    const char *const *names = mfu_catalog_models(r->catalog, &n), *name;

    name = i < n ? names[i] : mfu_catalog_variant(r->catalog, i - n);
    return name && !begins_with(name, family) ? "" : name;
}

static double width_of(const struct mfu_model *m)
{
    double values[MFU_MAX_DIMS];
    int dim = mfu_model_dim_find(m, "n_embd", NULL);

    mfu_model_dim_values(m, values);
    return dim < 0 ? NAN : values[dim];
}

/* The catalog's models that are called like the family, where they are of one: the one whose width is nearest.  Two
 * families of that name are none, unless one is the word itself ("olmo" beside olmo2). */
static const struct mfu_model *named_like(const struct mfu_row *r, const char *family)
{
    const struct mfu_model *best = NULL;
    double width = mfu_cell_number(r, "n_embd"), nearest = INFINITY;
    bool exact = false;
    const char *name;

    for (size_t i = 0; (name = called(r, family, i)); i++) {
        const struct mfu_model *m = *name ? mfu_catalog_model(r->catalog, name, NULL) : NULL;
        bool same = m && mfu_same_letters(m->family, family);
        double far = m ? fabs(log(width_of(m) / width)) : NAN;

        if (!m || (exact && !same) || !is_of(m, family, begins_with(name, family)))
            continue;
        if (best && exact == same && strcmp(best->family, m->family) != 0)
            return NULL;
        if (!best || exact != same || far < nearest) {
            best = m;
            nearest = isnan(far) ? INFINITY : far;
        }
        exact = same;
    }
    return best;
}

/* Whether a name says of itself that it is a decoder: the word alone, or how the name ends ("StarLM"). */
static bool says_decoder(const char *name)
{
    static const char *const words[] = {"decoder", "dense", "causal", "gpt", "lm", "moe"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);

        for (const char *p = strcasestr(name, words[i]); p; p = strcasestr(p + 1, words[i]))
            if (!isalnum((unsigned char)p[n]) && (p == name || !isalnum((unsigned char)p[-1]) || p[n] == '\0'))
                return true;
    }
    return false;
}

/* A vocabulary that is not stated may be several times as large as that of the graph: of the products of a token it may be
 * this share (chosen). */
#define MOST_OF_WORDS 0.15

/* The share of the products of a token that are the head's, where the row states no vocabulary; else 0. */
static double share_of_words(const struct mfu_row *r, const struct mfu_model *m)
{
    double values[MFU_MAX_DIMS], head, active = mfu_cell_number(r, "experts_active"),
                                       layers = mfu_cell_number(r, "n_layer") * mfu_cell_number(r, "n_embd");
    int dim = mfu_model_dim_find(m, "vocab_size", NULL);

    if (!mfu_cell_empty(r, "vocab") || strcasestr(mfu_row_cell(r, "notes"), "vocab") || dim < 0)
        return 0;
    mfu_model_dim_values(m, values);
    head = values[dim];
    return head / (head + layers * (4 + 8 * (active > 0 ? active : 1)));
}

/* A decoder that nothing here is called by, whose shape is stated: with Llama's blocks, where its MLP is gated or not four
 * times as wide as it is, else with GPT-2's.  What does not say that it is one is none, nor what sees images. */
static const struct mfu_model *decoder_of_shape(struct mfu_row *r, const char *family)
{
    static const char *const others[] = {"rwkv",    "retnet", "hyena", "xlstm",   "lstm", "rnn",  "griffin", "conv",
                                         "encoder", "encdec", "t5",    "seq2seq", "unet", "uvit", "mamba"};
    const char *mlp = mfu_row_cell(r, "mlp"), *name = mfu_row_cell(r, "model"), *slug, *other;
    const struct mfu_model *m;
    double wide = mfu_cell_number(r, "d_ff") / mfu_cell_number(r, "n_embd");

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasestr(family, others[i]) || strcasestr(name, others[i]))
            return NULL;
    if (!says_decoder(family) && !says_decoder(name) && !*mlp && !*mfu_row_cell(r, "pos"))
        return NULL;
    if (!(mfu_cell_number(r, "n_layer") > 0) || !(mfu_cell_number(r, "n_head") > 0)
        || !(mfu_cell_number(r, "n_embd") > 0) || !(mfu_cell_number(r, "seq_len") > 0)
        || !mfu_cell_empty(r, "img_size"))
        return NULL;
    for (size_t i = 0; (other = called(r, family, i)); i++)
        if (*other && strcmp(other, "decoder") != 0)
            return NULL; /* of several families that are known, one */
    slug = *mlp ? (mfu_is_gated(mlp) ? "llama-2-7b" : "gpt2") : isnan(wide) || wide == 4 ? "gpt2" : "llama-2-7b";
    if (isnan(wide) && strcmp(slug, "gpt2") != 0) {
        mfu_row_skip(r, "family '%s' is not known, nor the width of its gated MLP (d_ff)", family);
        return NULL;
    }
    if (!(m = mfu_catalog_model(r->catalog, slug, NULL)))
        return NULL;
    if (share_of_words(r, m) > MOST_OF_WORDS && !strcasestr(name, "gpt") && !strcasestr(family, "gpt")) {
        mfu_row_skip(r,
                     "family '%s' is not known, nor its vocabulary (vocab), of which much is made in so small a model",
                     family);
        return NULL;
    }
    mfu_row_assume(r, "graph of %s for %s: nothing more is known of it than its shape", slug, family);
    r->run->shape_alone = true;
    return m;
}

/* A text without the first of these ends that it has; whether it had one. */
static bool without(char *to, size_t size, const char *text, const char *const *ends)
{
    size_t n = (size_t)snprintf(to, size, "%s", text);

    for (; *ends && n < size; ends++) {
        size_t m = strlen(*ends);

        if (n > m && strcasecmp(to + n - m, *ends) == 0) {
            to[n - m] = '\0';
            return true;
        }
    }
    return false;
}

/* How the base is held, which is the column `quant`'s: "llama-3-8b-bnb-4bit"; and what says that a family is not quite
 * another. */
static const char *const held[] = {"-unsloth-bnb-4bit", "-bnb-4bit", "-bnb-8bit", "-4bit",
                                   "-gptq-int4",        "-gptq",     "-awq",      NULL};
static const char *const alike[] = {"-like", " like", "-style", " style", "-type", " type", "-based", " based", NULL};

/* The graph of the stated family; NULL and, unless the model's name is known, the reason. */
static const struct mfu_model *graph_of_family(struct mfu_row *r, const char *family, bool named)
{
    const struct mfu_model *model = NULL;
    char like[64];

    if (without(like, sizeof like, family, alike)) {
        mfu_row_assume(r, "family=%s for %s", like, family);
        r->run->shape_alone = true;
        family = like;
    }
    for (const struct family *w = families; w->theirs && !model; w++)
        if (mfu_same_letters(w->theirs, family)) {
            if (!w->ours) {
                mfu_row_skip(r, "%s", w->note);
                return NULL;
            }
            if (w->note)
                mfu_row_assume(r, "%s", w->note);
            model = mfu_catalog_model(r->catalog, w->ours, NULL);
        }
    if (!model && strcasecmp(family, "decoder") != 0
        && ((model = mfu_catalog_model(r->catalog, family, NULL)) || (model = named_like(r, family))))
        mfu_row_assume(r, "graph of %s for %s", model->name, family);
    if (!model && !named && !(model = decoder_of_shape(r, family)))
        mfu_row_skip(r, "family '%s' is not modelled", family);
    return model;
}

/* "owner/model" of a hub without the owner; "" for what is a file. */
static const char *catalog_name(const char *name)
{
    const char *slash = name[strcspn(name, "/ (")] == '/' ? strchr(name, '/') : NULL;

    if (mfu_names_file(name))
        return "";
    if (!slash)
        return name;
    return slash == name || strchr("./~", *name) || strchr(slash + 1, '/') ? "" : slash + 1;
}

/* "109B", "109B-A17B", "350M": parameters; NAN: it says none. */
static double size_of(const char *word)
{
    double size;
    char unit;

    return sscanf(word, "%lf%c", &size, &unit) == 2 && strchr("BbMm", unit)
            && !isalnum((unsigned char)word[strspn(word, "0123456789.") + 1])
        ? size * (toupper((unsigned char)unit) == 'B' ? 1e9 : 1e6)
        : NAN;
}

/* Whether a model has about as many parameters as a word behind its name says; NAN: none does. */
#define SIZE_SAID 0.1 /* "109B" of 108.6 (chosen) */

/* Whether a word is a size by itself: GPT-3 XL is not the largest. */
static bool says_size(const char *word)
{
    static const char *const sizes[] = {"small", "medium", "large", "xl", "xxl", "huge", "tiny", "mini", NULL};

    return mfu_is_one_of(word, sizes);
}

/* Whether a word says how many tokens a model reads: "4k". */
static bool says_length(const char *word)
{
    size_t digits = strspn(word, "0123456789");

    return digits > 0 && mfu_is_one_of(word + digits, (const char *const[]){"k", NULL});
}

/* The catalog's model that the first words of a name are: "Moonlight-16B (27 layers)", "Llama 3.1 8B Instruct", "Phi-3-mini 4k".
 * No other word with a digit is left out: that may be a size, as "XL" is. */
static const struct mfu_model *named_model(const struct mfu_row *r, const char *name)
{
    char text[120];
    int n = snprintf(text, sizeof text, "%.*s", (int)strcspn(name, "("), name);
    double size = NAN; /* that the words left out say */

    while (n > 0 && n < (int)sizeof text) {
        const struct mfu_model *m;
        bool digit = false;

        while (n > 0 && !mfu_in_word(text[n - 1]))
            n--;
        text[n] = '\0';
        if (n == 0
            || ((m = mfu_catalog_hub_model(r->catalog, text, NULL))
                && (isnan(size) || fabs(m->published_params / size - 1) < SIZE_SAID)))
            return n == 0 ? NULL : m;
        while (n > 0 && (mfu_in_word(text[n - 1]) || text[n - 1] == '.' || text[n - 1] == '-')) {
            n--;
            digit |= isdigit((unsigned char)text[n]) != 0;
        }
        if ((digit && !says_length(text + n) && isnan(size = size_of(text + n))) || says_size(text + n))
            return NULL;
    }
    return NULL;
}

/* A letter, a digit, or the point of a decimal number. */
static bool is_spelled(const char *text, const char *at)
{
    return isalnum((unsigned char)*at)
        || (*at == '.' && at > text && isdigit((unsigned char)at[-1]) && isdigit((unsigned char)at[1]));
}

/* As mfu_same_letters(), but for decimal points: 13b is not 1.3b. */
static bool same_spelling(const char *a, const char *b)
{
    for (const char *x = a, *y = b;; x++, y++) {
        while (*x && !is_spelled(a, x))
            x++;
        while (*y && !is_spelled(b, y))
            y++;
        if (tolower((unsigned char)*x) != tolower((unsigned char)*y))
            return false;
        if (*x == '\0')
            return true;
    }
}

#define ALIKE 0.01 /* relative, of parameters: versions of one model, whose vocabularies differ (chosen) */

/* Whether two models are versions of one. */
static bool is_alike(const struct mfu_model *a, const struct mfu_model *b)
{
    return a && b && strcmp(a->family, b->family) == 0
        && !mfu_figures_differ(a->published_params, b->published_params, ALIKE);
}

/* The catalog's model whose letters and digits these are, its decimal points too where several are: "llama31_405b". */
static const struct mfu_model *spelled_model(struct mfu_row *r, const char *name)
{
    size_t n, like = 0;
    const char *const *names = mfu_catalog_models(r->catalog, &n), *other, *found = NULL;

    if (!*name)
        return NULL;
    for (size_t i = 0; (other = i < n ? names[i] : mfu_catalog_variant(r->catalog, i - n)); i++) {
        if (!mfu_same_letters(other, name))
            continue;
        if (same_spelling(other, name)) {
            found = other;
            like = 1;
            break;
        }
        like +=
            !found || !is_alike(mfu_catalog_model(r->catalog, found, NULL), mfu_catalog_model(r->catalog, other, NULL));
        found = other;
    }
    if (like != 1)
        return NULL;
    mfu_row_assume(r, "model=%s for %s", found, name);
    return mfu_catalog_model(r->catalog, found, NULL);
}

/* The length of the word that a name goes on with, behind what parts words; the point of a decimal number is a part of it. */
static size_t next_word(const char **name)
{
    size_t n = 0;

    *name += strspn(*name, " -_./");
    while ((*name)[n] && (!strchr(" -_./", (*name)[n]) || ((*name)[n] == '.' && is_spelled(*name, *name + n))))
        n++;
    return n;
}

/* Of a longer name that has the words of another in this order, and begins with the same: how much it says beside them, two for a
 * word and one for a version ("3.1", "1124"); -1: it has them not. */
static int words_beside(const char *longer, const char *name)
{
    size_t n, m, words = 0;
    int beside = 0;
    bool of_any = false; /* "GPT" is said of any decoder: one of 120B is not gpt-oss-120b */

    for (; (n = next_word(&name)) > 0; name += n, words++) {
        for (; (m = next_word(&longer)) > 0 && (m != n || strncasecmp(longer, name, n) != 0); longer += m)
            beside += 2 - (strspn(longer, "0123456789.") == m);
        if (m == 0 || (words < 2 && beside > 0 && (words == 0 || of_any)))
            return -1;
        of_any = n == 3 && strncasecmp(name, "gpt", n) == 0;
        longer += m;
    }
    for (; (m = next_word(&longer)) > 0; longer += m)
        beside += 2 - (strspn(longer, "0123456789.") == m);
    return words > 1 ? beside : -1;
}

/* Whether the sizes that the row states are the model's own. */
static bool has_sizes(const struct mfu_row *r, const struct mfu_model *m)
{
    static const char *const sizes[] = {"n_layer", "n_embd", "n_head", "n_experts"};
    double values[MFU_MAX_DIMS];

    mfu_model_dim_values(m, values);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int dim = mfu_model_dim_find(m, sizes[i], NULL);
        double stated = mfu_cell_number(r, sizes[i]);

        if (!isnan(stated) && stated != (dim < 0 ? NAN : values[dim]))
            return false;
    }
    return true;
}

#define OTHER_SIZES 100 /* more than the words of a name say */

/* The catalog's model, or those alike, whose longer names have these words: of the sizes that the row states, then the one that
 * says least beside them: "electra-large" of electra-large-discriminator, "Granite 8B" of granite-3.1-8b, not of granite-8b-code. */
static const struct mfu_model *longer_model(struct mfu_row *r, const char *name)
{
    size_t n;
    const char *const *names = mfu_catalog_models(r->catalog, &n), *other, *found = NULL;
    const struct mfu_model *m = NULL;
    bool of_one = true;
    int least = 0;

    for (size_t i = 0; (other = i < n ? names[i] : mfu_catalog_variant(r->catalog, i - n)); i++) {
        int beside = words_beside(other, name);
        const struct mfu_model *like = beside >= 0 ? mfu_catalog_model(r->catalog, other, NULL) : NULL;

        if (!like || (beside += has_sizes(r, like) ? 0 : OTHER_SIZES, m && beside > least))
            continue;
        of_one = !m || beside < least || (of_one && is_alike(m, like));
        if (!m || beside < least) {
            m = like;
            found = other;
            least = beside;
        }
    }
    if (!m || !of_one)
        return NULL;
    mfu_row_assume(r, "model=%s for %s", found, name);
    return m;
}

/* By the name; by its letters; by its words; by the family and a size alone ("13B" of llama2). */
static const struct mfu_model *model_called(struct mfu_row *r, const char *name, const char *family)
{
    const struct mfu_model *m;
    char text[120], sized[160];

    without(text, sizeof text, name, held);
    if ((m = named_model(r, text)) || (m = spelled_model(r, text)) || (m = longer_model(r, text)))
        return m;
    if (!*family || !isdigit((unsigned char)*name))
        return NULL;
    snprintf(sized, sizeof sized, "%s-%s", family, text);
    return named_model(r, sized);
}

/* What a name is of by its parentheses, "robin-7b (LLaMA)" or "vicuna (LLaMA-13B)", or by its path, "llama3_1/8B_lora" of torchtune's
 * recipes; NULL: neither. */
static const struct mfu_model *model_aside(struct mfu_row *r, const char *name)
{
    const char *slash = strchr(name, '/');
    char inside[60] = "", text[120];
    const struct mfu_model *m;

    if (sscanf(name, "%*[^(](%59[^)])", inside) == 1) {
        if ((m = named_model(r, inside)) || (m = spelled_model(r, inside)))
            return m;
        for (const char *word = name; *word && *word != '(';
             word += strcspn(word, " -_("), word += strchr(" -_", *word) && *word)
            if (!isnan(size_of(word))) {
                snprintf(text, sizeof text, "%s-%.*s", inside, (int)(strspn(word, "0123456789.") + 1), word);
                return named_model(r, text);
            }
    }
    if (!slash || isnan(size_of(slash + 1)))
        return NULL;
    snprintf(text, sizeof text, "%.*s-%.*s", (int)(slash - name), name, (int)strcspn(slash + 1, "_ "), slash + 1);
    return spelled_model(r, text);
}

/* Vision transformers by the size in their names (Dosovitskiy et al. 2020, table 1; Touvron et al. 2021 for the two
 * smallest; Peebles and Xie 2022, table 1). */
static const struct {
    const char *size, *n_layer, *n_embd, *n_head;
} image_sizes[] = {{"tiny", "12", "192", "3"},    {"small", "12", "384", "6"},  {"base", "12", "768", "12"},
                   {"large", "24", "1024", "16"}, {"huge", "32", "1280", "16"}, {"Ti", "12", "192", "3"},
                   {"H", "32", "1280", "16"},     {"S", "12", "384", "6"},      {"B", "12", "768", "12"},
                   {"L", "24", "1024", "16"},     {"XL", "28", "1152", "16"}};

/* The family that a name such as "ViT-L/16" or "deit_small" begins with; NULL: none. */
static const char *short_family(const char *name)
{
    static const char *const begin[] = {"ViT", "DeiT", "DiT", "SiT"};

    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) {
        size_t n = strlen(begin[i]), m;

        if (strncasecmp(name, begin[i], n) != 0 || (name[n] != '-' && name[n] != '_'))
            continue;
        m = strcspn(name + n + 1, "-_/ ");
        for (size_t k = 0; k < sizeof image_sizes / sizeof *image_sizes; k++)
            if (strlen(image_sizes[k].size) == m
                && (m > 2 ? strncasecmp : strncmp)(name + n + 1, image_sizes[k].size, m) == 0)
                return begin[i];
    }
    return NULL;
}

/* "ViT-L/16", "ViT-B-32", "DeiT-S", "DiT-XL/2"; how many parts were read. */
static int short_name(const char *name, char size[16], char patch[8], int *end)
{
    int parts, more;

    if (!short_family(name))
        return 0;
    parts = sscanf(name, "%*[A-Za-z]%*1[-_]%15[A-Za-z]%n%*1[-/_]%7[0-9]%n", size, end, patch, end);
    if (parts == 1 && sscanf(name + *end, "%*1[-_]patch%7[0-9]%n", patch, &more) == 1) {
        *end += more;
        parts = 2;
    }
    return parts > 0 ? parts : 0;
}

/* Sets what a name such as vit_small_patch32_384 or DiT-XL/2 256 says, and nothing else does; false: it is no such name. */
static bool set_named_size(struct mfu_row *r, const char *name)
{
    char size[16], patch[8], image[8];
    bool latents = strncasecmp(name + 1, "iT-", 3) == 0
        && !strchr("Vv", *name); /* of images of 256 pixels (Peebles and Xie 2022) */
    bool image_open = mfu_cell_empty(r, "img_size"), patch_open = mfu_cell_empty(r, "patch");
    int end = 0, parts = 0;

    snprintf(image, sizeof image, "%s", image_open ? (latents ? "256" : "224") : mfu_row_cell(r, "img_size"));
    snprintf(patch, sizeof patch, "%s", patch_open ? (latents ? "2" : "16") : mfu_row_cell(r, "patch"));
    if (sscanf(name, "%*[A-Za-z]%*1[-_]%15[a-z]%*1[-_]patch%7[0-9]%*1[-_]%7[0-9]%n", size, patch, image, &end) == 3
        || sscanf(name, "%*1[DS]iT-%15[A-Z]/%7[0-9] %7[0-9]%n", size, patch, image, &end) == 3)
        image_open = patch_open = false;
    else if (!(parts = short_name(name, size, patch, &end)))
        return false;
    if (name[end])
        return false;
    if (image_open)
        mfu_row_assume(r, "image=%s, usual for %s", image, name);
    if (patch_open && parts < 2)
        mfu_row_assume(r, "patch=%s, usual for %s", patch, name);
    for (size_t i = 0; i < sizeof image_sizes / sizeof *image_sizes; i++)
        if ((strlen(size) > 2 ? strcasecmp : strcmp)(size, image_sizes[i].size) == 0)
            return mfu_row_set(r, "n_layer", image_sizes[i].n_layer) && mfu_row_set(r, "n_embd", image_sizes[i].n_embd)
                && mfu_row_set(r, "n_head", image_sizes[i].n_head) && mfu_row_set(r, "patch", patch)
                && mfu_row_set(r, "image", image);
    return false;
}

/* The parameters that the row states, or its model's name; NAN: neither does. */
static double stated_params(const struct mfu_row *r)
{
    double params = 1e6 * mfu_cell_number(r, "params_m");

    for (const char *word = mfu_row_cell(r, "model"); !(params > 0) && *word;
         word += strcspn(word, " -_"), word += *word != 0)
        params = size_of(word);
    return params;
}

/* The layers that GPT's blocks usually have at a size, and the width that follows (Brown et al. 2020, table 2.1; Narayanan et
 * al. 2021, table 1): 12 n_layer n_embd^2 of the layers and a row for each word; false: the model has other layers. */
static bool set_usual_shape(struct mfu_row *r, double params)
{
    static const struct {
        double layers, width;
    } usual[] = {{12, 768},  {24, 1024},  {24, 2048},  {32, 2560},  {32, 4096},   {40, 5120},
                 {48, 8192}, {60, 10240}, {96, 12288}, {96, 16384}, {105, 20480}, {128, 25600}};
    const struct mfu_model *m = r->run->scenario.model;
    int mlp = mfu_model_dim_find(m, "d_ff", NULL), vocab = mfu_model_dim_find(m, "vocab_size", NULL);
    double values[MFU_MAX_DIMS], nearest = INFINITY, layers = 0, width, heads;

    if (!mfu_model_writes(m) || mlp < 0 || vocab < 0 || strcmp(m->dims[mlp].text, "4 * n_embd") != 0 || !(params > 0)
        || mfu_cell_number(r, "n_experts") > 1)
        return false;
    mfu_model_dim_values(m, values);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        double has = usual[i].width * (12 * usual[i].layers * usual[i].width + values[vocab]);

        if (fabs(log(has / params)) < nearest) {
            nearest = fabs(log(has / params));
            layers = usual[i].layers;
        }
    }
    width = (sqrt(values[vocab] * values[vocab] + 48 * layers * params) - values[vocab]) / (24 * layers);
    heads =
        width > 1536 ? fmax(2, round(width / 128 / 8)) * 8 : fmax(1, round(width / 64)); /* as many GPUs share them */
    width = fmax(1, round(width / heads / 8)) * heads * 8;
    return mfu_row_set_number(r, "n_layer", layers) && mfu_row_set_number(r, "n_head", heads)
        && mfu_row_take(r, "n_embd=%.0f, %.0f layers: usual for %.3g parameters", width, layers, params);
}

/* Whether the family is no more than how the model's name begins: "resnetv" of resnetv2_50, "deit" of deit3_base. */
static bool begins_in(const char *name, const char *family)
{
    size_t n = strlen(family);

    return n > 0 && strncasecmp(name, family, n) == 0 && (isdigit((unsigned char)name[n]) || strchr(name, '_'));
}

/* The letters that a name begins with, behind a size: "GPT" of "175B GPT"; false: it has none. */
static bool first_letters(char letters[32], const char *name)
{
    const char *word = strpbrk(name, " +-");

    if (sscanf(name, "%31[A-Za-z]", letters) == 1)
        return true;
    return word && isdigit((unsigned char)*name) && sscanf(word + 1, "%31[A-Za-z]", letters) == 1;
}

/* Experts beside a family that has none: Mixtral's, whose layers are Llama's, or those of GPT, whose MLPs have no gate; NULL:
 * they are of other layers, or `named`, a model of its own, has none. */
static const struct mfu_model *with_experts(struct mfu_row *r, const struct mfu_model *m, bool named)
{
    double stated = mfu_cell_number(r, "n_experts"), values[MFU_MAX_DIMS];
    int dim = mfu_model_dim_find(m, "n_experts", NULL);
    const char *mlp = mfu_row_cell(r, "mlp"), *slug;
    const struct mfu_model *graph;
    struct mfu_error err = {0};
    bool of_gpt = strcmp(m->family, "gpt2") == 0 || strcmp(m->family, "gpt3") == 0,
         of_llama = strcmp(m->family, "llama") == 0;

    if (dim >= 0 && !named && *mlp && !mfu_is_gated(mlp) && strcmp(m->family, "mixtral") == 0)
        of_llama = true;
    else if (dim >= 0) {
        mfu_model_dim_values(m, values);
        if (named && stated != values[dim] && !isnan(stated))
            mfu_row_assume(r, "n_experts=%g, not the %g of %s", stated, values[dim], m->slug);
        return m;
    }
    if (!(stated > 1))
        return m;
    if (named || !(of_gpt || of_llama)) {
        mfu_row_skip(r, "n_experts %g: %s has no experts", stated, m->slug);
        return NULL;
    }
    slug = (*mlp ? mfu_is_gated(mlp) : of_llama) ? "mixtral-8x7b" : "gpt-moe";
    mfu_row_assume(r, "graph of %s: %s has no such experts", slug, m->slug);
    if (!(graph = mfu_catalog_model(r->catalog, slug, &err)))
        mfu_row_skip(r, "%s", err.text);
    return graph;
}

/* Of a family whose sizes are stated, the model that the name says, if these are its own; NULL. */
static const struct mfu_model *of_these_sizes(struct mfu_row *r, const struct mfu_model *family)
{
    const struct mfu_model *m = named_model(r, catalog_name(mfu_row_cell(r, "model")));

    return m && family && strcmp(m->family, family->family) == 0 && has_sizes(r, m) ? m : NULL;
}

bool mfu_row_choose_model(struct mfu_row *r)
{
    const char *family = mfu_row_cell(r, "family"), *name = mfu_row_cell(r, "model");
    const struct mfu_model *model = NULL, *named = NULL;
    const char *known = *family || named_model(r, catalog_name(name)) ? NULL : short_family(name);
    bool sized = !mfu_cell_empty(r, "n_layer") && !mfu_cell_empty(r, "n_embd");
    char first[32], text[120];

    if (strchr(family, '/') || mfu_names_file(family))
        return mfu_row_skip(r, "family '%.60s': one family is expected", family);
    if (known)
        family = known;
    else if (!*family && (sized || stated_params(r) > 0) && !named_model(r, catalog_name(name))
             && first_letters(first, name) && (sized || mfu_same_letters(first, "gpt")))
        family = first; /* "GPT-39B", of which the shape is stated, or usual */
    if (*name && *catalog_name(name) && (!*family || !sized) && !known)
        named = model_called(r, catalog_name(name), family);
    if (!named && *name && !*family && *catalog_name(name) && !sized && !known)
        named = model_aside(r, name);
    if (named && mfu_cell_empty(r, "quant") && strcasecmp(r->method, "qlora") != 0
        && without(text, sizeof text, name, held))
        return mfu_row_skip(r, "how the base is held is not stated (quant), but for the model's name");
    if (named && (mfu_same_letters(named->family, family) || begins_in(name, family)))
        model = named;
    else if (*family && !(model = graph_of_family(r, family, named != NULL)) && !named)
        return false;
    if (named && !model && *family)
        mfu_row_assume(r, "family '%s' is not used: graph of %s", family, named->name);
    if (named && model && strcmp(named->family, model->family) != 0)
        named = NULL;
    if (!named && model && !sized && mfu_model_dim_find(model, "image", NULL) >= 0) {
        mfu_scenario_model(&r->run->scenario, model);
        if (set_named_size(r, name))
            return true;
    }
    if (!model && !named)
        return mfu_row_skip(r, "neither a family nor a model that is known is stated");
    if (!sized && !named) {
        mfu_scenario_model(&r->run->scenario, model);
        if (!set_usual_shape(r, stated_params(r)))
            return mfu_row_skip(r, "the model's size is not stated");
        return true;
    }
    if (!model && !*family)
        mfu_row_assume(r, "family=%s", named->family);
    if (!named && model && (named = of_these_sizes(r, model)))
        model = named;
    if (!(model = with_experts(r, named ? named : model, named != NULL)))
        return false;
    r->model_named = named != NULL;
    mfu_scenario_model(&r->run->scenario, model);
    if (mfu_cell_number(r, "cached_latents") != 0)
        return true;
    if (mfu_model_dim_find(model, "autoencoder", NULL) < 0)
        return mfu_row_skip(r, "its autoencoder in the step is not modelled (cached_latents)");
    return mfu_row_set(r, "autoencoder", "1");
}
