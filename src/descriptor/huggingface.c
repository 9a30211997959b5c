/*
 * huggingface.c - reading a config.json as a model.
 *
 * Which of its keys mean which of our dims is no business of the program: the
 * model file of the architecture says so in its table `huggingface:`.
 */
#include "descriptor/model.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "descriptor/folder.h"
#include "descriptor/model_builder.h"
#include "descriptor/packed.h"
#include "descriptor/yaml.h"

#define MOST_TYPES 400   /* that one message can choose from */
#define PEEK (64 * 1024) /* a model file has 5 KB */

/* A config.json while it is being read. */
struct reader {
    struct mfu_yaml *config;
    const char *type;                      /* its model_type, */
    struct mfu_yaml_node *of;              /* and where it says so; the root: nowhere */
    struct mfu_yaml *yaml;                 /* the model file that describes the type, */
    struct mfu_yaml *chain[MFU_CHAIN_MAX]; /* and those that it extends in turn: their tables hold, too */
    int n_chain;
    const char *text_key;                /* "text_config": where the config of a part is that has a type of its own; */
    int text_from;                       /* the tables from this one on are that type's; n_chain: there is none */
    struct mfu_yaml_node *text_defaults; /* what the class of the whole assumes of that type */
    struct mfu_error *err;
};

/* Finding the model file ------------------------------------------------- */

/* The model types that were found on the way. */
struct known {
    struct mfu_arena arena;
    const char *types[MOST_TYPES];
    size_t n;
    char others[300]; /* files of this type, and where config.json is another model than theirs */
};

/* Whether a file may have a table of its own, without parsing it. */
static bool has_table(const char *path)
{
    static const char key[] = "\nhuggingface:";
    char *text = mfu_packed_at(path) ? NULL : malloc(PEEK);
    bool result = mfu_packed_at(path) != NULL;

    if (text) {
        mfu_folder_peek(path, text, PEEK);
        result = strncmp(text, key + 1, sizeof key - 2) == 0 || strstr(text, key) != NULL;
    }
    free(text);
    return result;
}

static struct mfu_yaml_node *at_key(const struct reader *, int i, const char *key);

/* What each key of a table is.  Dims are checked where the model is known. */
int mfu_huggingface_check(struct mfu_yaml *yaml, struct mfu_yaml_node *table, struct mfu_error *err)
{
    static const struct {
        const char *key;
        enum { TEXT, TEXTS, OF_TEXTS, OF_MAPPINGS } is;
        const char *example;
    } keys[] = {
        {"text", TEXT, "a key such as text_config"},
        {"ignored", TEXTS, "keys such as [rope_scaling]"},
        {"where", OF_TEXTS, "a mapping such as {use_x: null, layer_types: [any, full]}"},
        {"usual", OF_TEXTS, "a mapping such as {act_fn: [silu, swish]}"},
        {"words", OF_TEXTS, "a mapping such as {gelu_new: gelu_tanh}"},
        {"towers", OF_TEXTS, "a mapping such as {pixtral: pixtral-12b}"},
        {"architectures", OF_MAPPINGS, "a mapping such as {LlamaForTokenClassification: {tied: 0}}"},
        {"text_defaults", OF_MAPPINGS, "a mapping such as {llama: {tied: 0}}"},
    };

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        struct mfu_yaml_node *node = mfu_node_find(table, keys[k].key), *each;
        bool whole = keys[k].is == TEXTS || (keys[k].is == TEXT && node && mfu_node_type(node) == MFU_SCALAR);
        int is = 0;

        if (!node || (whole && mfu_node_type(node) == MFU_SEQUENCE && mfu_node_count(node) == 0))
            continue;
        if (whole)
            is = mfu_node_check_texts(yaml, node, keys[k].example, err);
        else if (keys[k].is == TEXT || mfu_node_type(node) != MFU_MAPPING) {
            mfu_fail(err, MFU_EINPUT, "expected %s", keys[k].example);
            is = mfu_node_error(yaml, node, err);
        }
        for (size_t i = 0; !whole && is == 0 && (each = mfu_node_value(node, i)); i++)
            if (keys[k].is == OF_MAPPINGS && mfu_node_type(each) != MFU_MAPPING) {
                mfu_fail(err, MFU_EINPUT, "expected %s", keys[k].example);
                is = mfu_node_error(yaml, each, err);
            } else if (keys[k].is == OF_TEXTS && !mfu_node_absent(each))
                is = mfu_node_check_texts(yaml, each, keys[k].example, err);
        if (is < 0)
            return mfu_within(err, "huggingface: %s", keys[k].key);
    }
    return 0;
}

/* Whether a value of config.json is what a table asks for: null: that, or nothing; `any`: what is not; a list: each in turn. */
static bool is_as(const struct reader *r, struct mfu_yaml_node *is, struct mfu_yaml *yaml, struct mfu_yaml_node *wanted)
{
    const char *word = mfu_node_text(wanted), *text = is ? mfu_node_text(is) : NULL;
    struct mfu_yaml_node *each;

    if (mfu_node_absent(wanted))
        return !is || mfu_node_absent(is);
    if (word)
        return is && !mfu_node_absent(is) && (strcmp(word, "any") == 0 || (text && strcmp(text, word) == 0));
    if (!is || mfu_node_type(is) != MFU_SEQUENCE || mfu_node_count(is) != mfu_node_count(wanted))
        return false;
    for (size_t i = 0; (each = mfu_node_item(wanted, i)); i++)
        if (!is_as(r, mfu_node_item(is, i), yaml, each))
            return false;
    return true;
}

/* The first key of which config.json says something else than `where` of the table asks, or NULL.  A key that is not there says
 * what is usual. */
static const char *differs(const struct reader *r, struct mfu_yaml *yaml, struct mfu_yaml_node *table)
{
    struct mfu_yaml_node *where = mfu_node_find(table, "where"), *usual = mfu_node_find(table, "usual"), *wanted;

    for (size_t i = 0; where && (wanted = mfu_node_value(where, i)); i++) {
        const char *key = mfu_node_key(where, i);
        struct mfu_yaml_node *is = at_key(r, 0, key);

        if (!is_as(r, is, yaml, wanted) && (is || !usual || !mfu_node_find(usual, key)))
            return key;
    }
    return NULL;
}

/* Whether this model file describes the type: 1 or 0, or -1 with an error; notes the types that it describes. */
static int knows(struct reader *r, struct mfu_yaml *yaml, struct known *known)
{
    struct mfu_yaml_node *table = mfu_node_find(mfu_yaml_root(yaml), "huggingface");
    struct mfu_yaml_node *types = table ? mfu_node_find(table, "model_type") : NULL;
    struct mfu_yaml_node *each;
    char slug[48];

    for (size_t i = 0; types && (each = mfu_node_each(types, i)); i++) {
        const char *type = mfu_node_text(each), *key;

        if (type && r->type && strcmp(type, r->type) == 0) {
            size_t n = strlen(known->others);

            if (mfu_huggingface_check(yaml, table, r->err) < 0)
                return -1;
            if (!(key = differs(r, yaml, table)))
                return 1;
            mfu_folder_slug(slug, sizeof slug, mfu_yaml_name(yaml));
            snprintf(known->others + n, sizeof known->others - n, "%s%s has another %s", n ? ", " : "", slug, key);
        }
        if (type && known->n < MOST_TYPES)
            known->types[known->n] = mfu_arena_copy(&known->arena, type, strlen(type));
        if (type && known->n < MOST_TYPES && known->types[known->n])
            known->n++;
    }
    return 0;
}

static int fail_type(struct reader *r, const struct known *known)
{
    struct mfu_yaml_node *node = at_key(r, 0, "text_config.model_type");
    const char *text = node ? mfu_node_text(node) : NULL;
    size_t i = 0;

    if (known->others[0])
        return mfu_node_fail(r->config, r->of, r->err, "no model file describes such a '%.80s': %s", r->type,
                             known->others);
    while (text && i < known->n && strcmp(known->types[i], text) != 0)
        i++;
    if (text && i < known->n)
        mfu_fail_suggest(r->err, text,
                         "no model file knows the model_type '%.80s'; its text_config alone, in a file by itself, is a "
                         "'%.80s', which is known",
                         r->type, text);
    else
        mfu_fail_nearest(r->err, r->type, known->types, known->n,
                         "no model file knows the model_type '%.80s', only %zu others", r->type, known->n);
    return mfu_node_error(r->config, r->of, r->err);
}

/* Opens the first model file of the folder that describes the type. */
static int find_model(struct reader *r, const char *folder)
{
    struct known known = {.n = 0};
    const char *const *names;
    size_t n;
    int result = mfu_folder_names(&known.arena, folder, &names, &n, r->err);

    for (size_t i = 0; result == 0 && i < n && !r->yaml; i++) {
        char path[MFU_PATH_MAX];
        struct mfu_yaml *yaml;

        result = mfu_folder_path(path, folder, names[i], ".yaml", r->err);
        if (result < 0 || !has_table(path))
            continue;
        yaml = mfu_yaml_read(path, r->err);
        result = yaml ? knows(r, yaml, &known) : -1;
        if (result > 0)
            r->yaml = yaml;
        else
            mfu_yaml_free(yaml);
        result = result < 0 ? -1 : 0;
    }
    if (result == 0 && !r->yaml)
        result = fail_type(r, &known);
    mfu_arena_free(&known.arena);
    return result;
}

/* The tables ------------------------------------------------------------- */

/* Where a type has towers of several kinds, the table names the file of each that is not the file's own: {pixtral: pixtral-12b}. */
static int find_tower(struct reader *r, const char *folder)
{
    struct mfu_yaml_node *table = mfu_node_find(mfu_yaml_root(r->yaml), "huggingface");
    struct mfu_yaml_node *towers = mfu_node_find(table, "towers"), *file = NULL;
    struct mfu_yaml_node *vision = towers ? mfu_node_find(mfu_yaml_root(r->config), "vision_config") : NULL;
    struct mfu_yaml_node *type =
        vision && mfu_node_type(vision) == MFU_MAPPING ? mfu_node_find(vision, "model_type") : NULL;
    const char *text = type ? mfu_node_text(type) : NULL;
    struct mfu_yaml *other;
    char path[MFU_PATH_MAX];

    if (!text || !(file = mfu_node_find(towers, text)))
        return 0;
    if (mfu_folder_path(path, folder, mfu_node_text(file), ".yaml", r->err) < 0
        || !(other = mfu_yaml_read(path, r->err)))
        return -1;
    mfu_yaml_free(r->yaml);
    r->yaml = other;
    return 0;
}

/* Where the table says so, a part of config.json has a type of its own, whose model file is then what the
 * first one extends. */
static int find_text(struct reader *r, const char *folder)
{
    struct mfu_yaml *whole = r->yaml;
    struct mfu_yaml_node *table = mfu_node_find(mfu_yaml_root(whole), "huggingface"), *key, *within, *type, *defaults;
    const char *outer = r->type;

    if (!(key = mfu_node_find(table, "text")))
        return 0;
    r->text_key = mfu_node_text(key);
    within = mfu_node_find(mfu_yaml_root(r->config), r->text_key);
    type = within && mfu_node_type(within) == MFU_MAPPING ? mfu_node_find(within, "model_type") : NULL;
    if (!type || !(r->type = mfu_node_text(type)))
        return mfu_node_fail(r->config, within ? within : mfu_yaml_root(r->config), r->err, "'%s' has no model_type",
                             r->text_key);
    r->chain[r->n_chain++] = whole;
    if ((key = mfu_node_find(mfu_yaml_root(whole), "tower"))) {
        char path[MFU_PATH_MAX];

        if (mfu_folder_path(path, folder, mfu_node_text(key), ".yaml", r->err) < 0
            || !(r->chain[r->n_chain] = mfu_yaml_read(path, r->err)))
            return -1;
        r->n_chain++;
    }
    r->yaml = NULL;
    r->text_from = r->n_chain;
    defaults = mfu_node_find(table, "text_defaults");
    r->text_defaults = defaults ? mfu_node_find(defaults, r->type) : NULL;
    if (find_model(r, folder) < 0)
        return -1;
    r->type = outer;
    return 0;
}

/* Reads what the file extends, whose tables hold where its own says nothing. */
static int read_chain(struct reader *r, const char *folder)
{
    struct mfu_yaml_node *extends;
    char path[MFU_PATH_MAX];

    r->chain[r->n_chain++] = r->yaml;
    while ((extends = mfu_node_find(mfu_yaml_root(r->chain[r->n_chain - 1]), "extends"))
           && r->n_chain < MFU_CHAIN_MAX) {
        if (mfu_folder_path(path, folder, mfu_node_text(extends), ".yaml", r->err) < 0
            || !(r->chain[r->n_chain] = mfu_yaml_read(path, r->err)))
            return -1;
        r->n_chain++;
    }
    for (int i = 0; i < r->n_chain; i++) {
        struct mfu_yaml_node *table = mfu_node_find(mfu_yaml_root(r->chain[i]), "huggingface");

        if (table && mfu_huggingface_check(r->chain[i], table, r->err) < 0)
            return -1;
    }
    return 0;
}

/* A part of the i-th table, or NULL. */
static struct mfu_yaml_node *part(const struct reader *r, int i, const char *name)
{
    struct mfu_yaml_node *table = mfu_node_find(mfu_yaml_root(r->chain[i]), "huggingface");

    return table ? mfu_node_find(table, name) : NULL;
}

/* What the nearest table says of `key` in one of its parts, or NULL; `i` becomes the table's number. */
static struct mfu_yaml_node *entry(const struct reader *r, const char *name, const char *key, int *i)
{
    for (*i = 0; *i < r->n_chain; ++*i) {
        struct mfu_yaml_node *all = part(r, *i, name), *found = all ? mfu_node_find(all, key) : NULL;

        if (found)
            return found;
    }
    return NULL;
}

/* Filling the dims ------------------------------------------------------- */

/* Replaces the value of a dim by what `text` says. */
static int set_dim(struct reader *r, struct mfu_model *m, int dim, const char *text)
{
    char *copy = mfu_arena_copy(&m->arena, text, strlen(text));

    if (!copy)
        return mfu_fail(r->err, MFU_ENOMEM, "out of memory");
    m->dims[dim].text = copy;
    m->dims[dim].value = mfu_expression_compile(&m->arena, copy, mfu_model_dim_kind(m->dims[dim].name),
                                                mfu_model_dim_resolve, m, r->err);
    return m->dims[dim].value ? 0 : -1;
}

/* Whether all of the text is a number as JSON has them. */
static bool is_number(const char *text)
{
    const char *digits = text && *text == '-' ? text + 1 : text;
    char *end;

    if (!text || !isdigit((unsigned char)*digits) || strpbrk(text, "xX"))
        return false;
    strtod(text, &end);
    return *end == '\0';
}

/* The number of a choice that dims make in this model's operations ("gelu_new"), or -1. */
static int find_word(const struct mfu_model *m, const char *word)
{
    double value;

    for (int i = 0; i < m->n_ops; i++)
        for (int a = 0; m->ops[i].primitive->attributes[a].name; a++) {
            const char *const *choices = m->ops[i].primitive->attributes[a].choices;

            for (int k = 0; choices && choices[k]; k++)
                if (strcmp(choices[k], word) == 0 && !mfu_expression_constant(m->ops[i].attribute[a], &value))
                    return k;
        }
    return -1;
}

/* A word of theirs: the table may say what we call it, or what it is worked out from ("auto"). */
static int take_word(struct reader *r, struct mfu_model *m, int dim, struct mfu_yaml_node *node)
{
    const char *text = mfu_node_text(node);
    int i, choice;
    struct mfu_yaml_node *ours = text ? entry(r, "words", text, &i) : NULL;
    const char *word = ours ? mfu_node_text(ours) : text;
    char number[16];

    if (word && is_number(word))
        return set_dim(r, m, dim, word);
    choice = word ? find_word(m, word) : -1;
    if (choice < 0 && ours && word && strpbrk(word, "(*/+"))
        return set_dim(r, m, dim, word);
    if (choice < 0)
        return mfu_node_fail(r->config, node, r->err, "'%.80s' is not known for %s", text ? text : "",
                             m->dims[dim].name);
    snprintf(number, sizeof number, "%d", choice);
    return set_dim(r, m, dim, number);
}

/* Whether a table says what words mean. */
static bool has_words(const struct reader *r)
{
    for (int i = 0; i < r->n_chain; i++)
        if (part(r, i, "words"))
            return true;
    return false;
}

/* Of a list that says the same of each layer, its first entry; otherwise the node itself. */
static struct mfu_yaml_node *of_all(struct mfu_yaml_node *node)
{
    struct mfu_yaml_node *first = mfu_node_each(node, 0), *each;
    const char *text = first ? mfu_node_text(first) : NULL, *other;

    for (size_t i = 1; text && (each = mfu_node_each(node, i)); i++)
        if (!(other = mfu_node_text(each)) || strcmp(text, other) != 0)
            return node;
    return text ? first : node;
}

/* What config.json says about one dim; a boolean counts as 1 or 0. */
static int take(struct reader *r, struct mfu_model *m, int dim, struct mfu_yaml_node *node)
{
    const char *text = mfu_node_text(node);
    int yes = mfu_node_bool(node), i;
    double value;
    struct mfu_yaml_node *null;

    if (yes >= 0)
        return set_dim(r, m, dim, yes ? "1" : "0");
    if (text && isalpha((unsigned char)*text) && has_words(r))
        return take_word(r, m, dim, node);
    if (!mfu_node_plain(node) || !is_number(text))
        mfu_fail(r->err, MFU_EINPUT, "expected a number, true, false or null");
    else if (mfu_quantity_parse(text, MFU_COUNT, &value, r->err) == 0) {
        if (value >= 0)
            return set_dim(r, m, dim, text);
        if (value == -1 && (null = entry(r, "nulls", m->dims[dim].name, &i)))
            return set_dim(r, m, dim, mfu_node_text(null));
        mfu_fail(r->err, MFU_EINPUT, "'%.80s' is below zero", text);
    }
    return mfu_node_error(r->config, node, r->err);
}

/* Where the keys of the i-th table are. */
static struct mfu_yaml_node *root_of(const struct reader *r, int i)
{
    struct mfu_yaml_node *root = mfu_yaml_root(r->config);

    return r->text_key && i >= r->text_from ? mfu_node_find(root, r->text_key) : root;
}

/* The node of a key, of one within ("text_config.hidden_size"), or of an entry of a list ("depths.0"). */
static struct mfu_yaml_node *at_key(const struct reader *r, int i, const char *key)
{
    struct mfu_yaml_node *found = root_of(r, i);
    size_t n;
    char name[80];

    for (; found; key += n + 1) {
        n = strcspn(key, ".");
        snprintf(name, sizeof name, "%.*s", (int)n, key);
        found = mfu_node_type(found) == MFU_MAPPING ? mfu_node_find(found, name)
                                                    : mfu_node_each(found, strtoul(name, NULL, 10));
        if (!key[n])
            break;
    }
    return found;
}

/* The first of their keys that is there and not null, or NULL. */
static struct mfu_yaml_node *look_up(struct reader *r, int i, struct mfu_yaml_node *theirs, const char **key)
{
    struct mfu_yaml_node *each, *found;

    for (size_t k = 0; (each = mfu_node_each(theirs, k)); k++) {
        *key = mfu_node_text(each);
        found = at_key(r, i, *key);
        if (found && !mfu_node_absent(found))
            return found;
    }
    return NULL;
}

/* Whether one of their keys is there, and null, and a table says what that means. */
static struct mfu_yaml_node *means_null(struct reader *r, int i, struct mfu_yaml_node *theirs, const char *name,
                                        int *of)
{
    struct mfu_yaml_node *each;

    for (size_t k = 0; (each = mfu_node_each(theirs, k)); k++)
        if (at_key(r, i, mfu_node_text(each)))
            return entry(r, "nulls", name, of);
    return NULL;
}

/* A dim that config.json does not give, and for which the tables assume
 * nothing, is as the model file has it when that is worked out from other dims,
 * or a yes or no, or when a table says that no key gives it.  A size would be that of another model. */
static int check_absent(struct reader *r, const struct mfu_model *m, int dim, struct mfu_yaml_node *theirs)
{
    struct mfu_yaml_node *each = mfu_node_each(theirs, 0);
    double value;

    if (!each || !mfu_expression_constant(m->dims[dim].value, &value) || value <= 1)
        return 0;
    return mfu_fail_at(r->err, mfu_yaml_name(r->config), 0, 0,
                       "'%.80s' is missing, and nothing is assumed for it in %.120s", mfu_node_text(each),
                       mfu_yaml_name(r->yaml));
}

/* Fills dims from a mapping of the i-th file: {tied: 0}. */
static int assume(struct reader *r, struct mfu_model *m, int i, struct mfu_yaml_node *values)
{
    struct mfu_yaml_node *node;

    for (size_t k = 0; values && (node = mfu_node_value(values, k)); k++) {
        const char *text = mfu_node_text(node);
        int yes = mfu_node_bool(node);

        int dim = mfu_model_dim_find(m, mfu_node_key(values, k), r->err);

        if (yes >= 0)
            text = yes ? "1" : "0";
        if (dim < 0 || set_dim(r, m, dim, text ? text : "") < 0)
            return mfu_node_error(r->chain[i], node, r->err);
    }
    return 0;
}

/* What the classes do that model files describe. */
static const char *const usual_tasks[] = {"ForCausalLM", "ForMaskedLM", "ForConditionalGeneration",
                                          "ForImageClassification"};

/* Notes what config.json says and is not modelled. */
static int leave_out(struct reader *r, struct mfu_model *m, const char *key, const char *value)
{
    char text[300], clean[300];

    if (m->n_not_modelled == MFU_MAX_NOT_MODELLED)
        return 0;
    snprintf(text, sizeof text, "config.json's %.160s%s%.80s", key, value ? ": " : "", value ? value : "");
    mfu_printable(clean, sizeof clean, text);
    if (!(m->not_modelled[m->n_not_modelled] = mfu_arena_copy(&m->arena, clean, strlen(clean))))
        return mfu_fail(r->err, MFU_ENOMEM, "out of memory");
    m->n_not_modelled++;
    return 0;
}

/* What the class that is trained has beside the body: `architectures` names it. */
static int assume_architecture(struct reader *r, struct mfu_model *m)
{
    struct mfu_yaml_node *theirs = mfu_node_find(mfu_yaml_root(r->config), "architectures"), *each, *known;
    const char *name = NULL, *task;
    int i;

    for (size_t k = 0; theirs && (each = mfu_node_each(theirs, k)); k++)
        if ((name = mfu_node_text(each)) && (known = entry(r, "architectures", name, &i)))
            return assume(r, m, i, known);
    /* A head that no table names is another than the one that the file has. */
    if (name && !mfu_model_writes(m) && (strstr(name, "ForCausalLM") || strstr(name, "LMHead")))
        return leave_out(r, m, "architectures", name);
    task = name ? strstr(name, "For") : NULL;
    for (size_t k = 0; task && k < sizeof usual_tasks / sizeof *usual_tasks; k++)
        if (strcmp(task, usual_tasks[k]) == 0)
            task = NULL;
    return task ? leave_out(r, m, "architectures", name) : 0;
}

/* Whether `counted` names the word, or `any`. */
static bool names(struct mfu_yaml_node *counted, const char *word)
{
    struct mfu_yaml_node *each;

    for (size_t w = 1; word && (each = mfu_node_each(counted, w)); w++)
        if (strcmp(mfu_node_text(each), word) == 0 || strcmp(mfu_node_text(each), "any") == 0)
            return true;
    return false;
}

/* The entries of a mapping or list, or the letters of a text; where the table names words behind the key, those that say one. */
static size_t entries(struct mfu_yaml_node *node, struct mfu_yaml_node *counted)
{
    const char *letters = mfu_node_text(node);
    struct mfu_yaml_node *each;
    size_t n = 0;

    if (!mfu_node_each(counted, 1))
        return mfu_node_count(node);
    for (; letters && *letters; letters++)
        n += names(counted, (char[]){*letters, '\0'});
    for (size_t k = 0; (each = mfu_node_item(node, k)); k++)
        n += names(counted, mfu_node_text(each));
    return n;
}

/* Dims that are numbers of entries: of labels (a key), of layers of one kind ([key, words that they say]; the first of
 * several keys that is there). */
static int count_entries(struct reader *r, struct mfu_model *m, int i)
{
    struct mfu_yaml_node *counts = part(r, i, "counts"), *node, *found;
    const char *key;
    char number[24];

    for (size_t k = 0; counts && (node = mfu_node_value(counts, k)); k++) {
        found = look_up(r, i, node, &key);
        if (!found
            || (mfu_node_type(found) == MFU_SCALAR && (!mfu_node_each(node, 1) || is_number(mfu_node_text(found)))))
            continue;
        snprintf(number, sizeof number, "%zu", entries(found, node));
        if (set_dim(r, m, mfu_model_dim_find(m, mfu_node_key(counts, k), NULL), number) < 0)
            return mfu_node_error(r->config, found, r->err);
    }
    return 0;
}

/* One dim by the nearest table that names it. */
static int fill_dim(struct reader *r, struct mfu_model *m, int i, const char *name, struct mfu_yaml_node *theirs)
{
    const char *key = NULL;
    int dim = mfu_model_dim_find(m, name, NULL), of;
    struct mfu_yaml_node *found = look_up(r, i, theirs, &key);
    struct mfu_yaml_node *null = found ? NULL : means_null(r, i, theirs, name, &of);

    if (null && set_dim(r, m, dim, mfu_node_text(null)) < 0)
        return mfu_node_error(r->chain[of], null, r->err);
    if (found && take(r, m, dim, of_all(found)) < 0)
        return mfu_within(r->err, "%s", key);
    if (r->text_defaults && mfu_node_find(r->text_defaults, name))
        return 0;
    return found || null || entry(r, "defaults", name, &of) ? 0 : check_absent(r, m, dim, theirs);
}

/* What config.json says wins over what its class assumes, and that over what
 * the model file says of another model; a file's table wins over that of the file that it extends. */
static int fill(struct reader *r, struct mfu_model *m)
{
    struct mfu_yaml_node *dims, *node;
    int of;

    for (int i = r->n_chain - 1; i >= 0; i--)
        if (assume(r, m, i, part(r, i, "defaults")) < 0)
            return -1;
    if (assume(r, m, 0, r->text_defaults) < 0)
        return -1;
    if (assume_architecture(r, m) < 0)
        return -1;
    for (int i = r->n_chain - 1; i >= 0; i--)
        if (count_entries(r, m, i) < 0)
            return -1;
    for (int i = 0; i < r->n_chain; i++)
        for (size_t k = 0; (dims = part(r, i, "dims")) && (node = mfu_node_value(dims, k)); k++) {
            const char *name = mfu_node_key(dims, k);

            if (entry(r, "dims", name, &of) == node && fill_dim(r, m, i, name, node) < 0)
                return -1;
        }
    return 0;
}

/* What no table reads ---------------------------------------------------- */

/* Keys without a part in memory or time, whatever they say. */
static const char *const without_effect[] = {"model_type",
                                             "_class_name",
                                             "_diffusers_version",
                                             "architectures",
                                             "_name_or_path",
                                             "name_or_path",
                                             "transformers_version",
                                             "torch_dtype",
                                             "dtype",
                                             "auto_map",
                                             "initializer_range",
                                             "initializer_factor",
                                             "init_std",
                                             "use_cache",
                                             "output_past",
                                             "cache_implementation",
                                             "id2label",
                                             "label2id",
                                             "num_labels",
                                             "problem_type",
                                             "task_specific_params",
                                             "tokenizer_class",
                                             "prefix",
                                             "output_attentions",
                                             "output_hidden_states",
                                             "return_dict",
                                             "use_return_dict",
                                             "is_decoder",
                                             "is_encoder_decoder",
                                             "gradient_checkpointing",
                                             "rope_theta",
                                             "rope_scaling",
                                             "rope_parameters",
                                             "rope_local_base_freq",
                                             "rotary_emb_base",
                                             "rotary_base",
                                             "rope_interleaved",
                                             "rope_interleave",
                                             "max_position_embeddings",
                                             "max_window_layers",
                                             "position_embedding_type",
                                             "original_max_position_embeddings",
                                             "attention_multiplier",
                                             "query_pre_attn_scalar",
                                             "pretraining_tp",
                                             "attn_implementation",
                                             "_attn_implementation",
                                             "feature_extractor_type",
                                             "router_aux_loss_coef",
                                             "output_router_logits",
                                             "router_jitter_noise",
                                             "aux_loss_alpha",
                                             "norm_topk_prob",
                                             "routed_scaling_factor",
                                             "scoring_func",
                                             "topk_method",
                                             "topk_group",
                                             "n_group",
                                             "seq_aux",
                                             "ep_size",
                                             "bad_words_ids",
                                             "model_max_length",
                                             "unk_index",
                                             "use_bfloat16",
                                             "use_flash_attn",
                                             "bf16",
                                             "fp16",
                                             "fp32",
                                             "n_ctx",
                                             "summary_type",
                                             "summary_use_proj",
                                             "summary_activation",
                                             "summary_first_dropout",
                                             "summary_proj_to_labels",
                                             "reorder_and_upcast_attn",
                                             "scale_attn_by_inverse_layer_idx",
                                             "scale_attn_weights",
                                             "logits_to_keep",
                                             "max_length", /* how generation begins, which old files repeat */
                                             "temperature",
                                             "top_k",
                                             "num_beams",
                                             "num_beam_groups",
                                             "num_return_sequences",
                                             "num_logits_to_keep"};
/* The ends of such keys. */
static const char *const kinds_without_effect[] = {"_token_id", "_token_index", "_eps", "_epsilon", "_token_ids"};

static bool has_effect(const char *key)
{
    size_t length = strlen(key);

    for (size_t i = 0; i < sizeof without_effect / sizeof *without_effect; i++)
        if (strcmp(key, without_effect[i]) == 0)
            return false;
    for (size_t i = 0; i < sizeof kinds_without_effect / sizeof *kinds_without_effect; i++) {
        size_t n = strlen(kinds_without_effect[i]);

        if (length > n && strcmp(key + length - n, kinds_without_effect[i]) == 0)
            return false;
    }
    return true;
}

/* Whether a text of a table is that key, or with `within` one inside it ("depths.0" of "depths"). */
static bool is_of(const char *text, const char *key, bool within)
{
    size_t n = strlen(key);

    return text && strncmp(text, key, n) == 0 && (text[n] == '\0' || (within && text[n] == '.'));
}

/* What a key is called within the part that has a type of its own: "" of the part itself; NULL: it is not there. */
static const char *within_text(const struct reader *r, const char *key)
{
    size_t n = r->text_key ? strlen(r->text_key) : 0;

    if (n == 0 || strncmp(key, r->text_key, n) != 0 || (key[n] && key[n] != '.'))
        return NULL;
    return key + n + (key[n] == '.');
}

/* Whether any table reads the key, or something within it, or says that it has no effect. */
static bool is_read(const struct reader *r, const char *key, bool within)
{
    static const char *const parts[] = {"dims", "counts"};
    struct mfu_yaml_node *all, *node, *each;

    for (int i = 0; i < r->n_chain; i++) {
        if (i == r->text_from && (key = within_text(r, key)) && !*key)
            return within;
        if (!key)
            return false;
        for (size_t p = 0; p < 2; p++)
            for (size_t k = 0; (all = part(r, i, parts[p])) && (node = mfu_node_value(all, k)); k++)
                for (size_t e = 0; (each = mfu_node_each(node, e)); e++)
                    if (is_of(mfu_node_text(each), key, within))
                        return true;
        for (size_t e = 0; (all = part(r, i, "ignored")) && (each = mfu_node_each(all, e)); e++)
            if (is_of(mfu_node_text(each), key, false))
                return true;
    }
    return false;
}

/* Whether a key says nothing: null, no, 0, one (a factor), empty. */
static bool says_nothing(struct mfu_yaml_node *node)
{
    const char *text = mfu_node_type(node) == MFU_SCALAR ? mfu_node_text(node) : NULL;
    char *end;

    if (mfu_node_absent(node) || mfu_node_bool(node) == 0)
        return true;
    if (mfu_node_type(node) != MFU_SCALAR)
        return mfu_node_count(node) == 0;
    return !text || !*text
        || (is_number(text) && (strtod(text, &end) == 0 || (strtod(text, &end) == 1 && strchr(text, '.'))));
}

/* Whether a key has a value, or a list of such, with which the model file was written; `says`: whether a table names any. */
static bool is_usual(const struct reader *r, const char *key, struct mfu_yaml_node *node, bool *says)
{
    int i;
    const char *inner = within_text(r, key);
    struct mfu_yaml_node *usual = entry(r, "usual", inner ? inner : key, &i), *each, *word;
    size_t n = 0;

    *says = usual != NULL;
    for (; usual && (each = mfu_node_each(node, n)); n++) {
        const char *theirs = mfu_node_text(each);
        bool found = false;

        for (size_t k = 0; theirs && !found && (word = mfu_node_each(usual, k)); k++)
            found = strcmp(mfu_node_text(word), theirs) == 0;
        if (!found)
            return false;
    }
    return n > 0;
}

/* Whether a key says how the published files store weights that no training computes with: loading widens them. */
static bool says_storage(const char *key, struct mfu_yaml_node *node)
{
    static const char *const stored[] = {"fp8", "mxfp4", NULL};
    struct mfu_yaml_node *method = strcmp(key, "quantization_config") == 0 && mfu_node_type(node) == MFU_MAPPING
        ? mfu_node_find(node, "quant_method")
        : NULL;
    const char *text = method ? mfu_node_text(method) : NULL;

    for (size_t i = 0; text && stored[i]; i++)
        if (strcmp(stored[i], text) == 0)
            return true;
    return false;
}

/* Notes what config.json says and nobody reads: it may change the model.  `prefix` is where `within` stands. */
static int note_unread(struct reader *r, struct mfu_model *m, struct mfu_yaml_node *within, const char *prefix)
{
    struct mfu_yaml_node *node;

    for (size_t i = 0; (node = mfu_node_value(within, i)) && m->n_not_modelled < MFU_MAX_NOT_MODELLED; i++) {
        const char *name = mfu_node_key(within, i), *value = mfu_node_text(node);
        bool mapping = mfu_node_type(node) == MFU_MAPPING, says;
        char key[200];

        snprintf(key, sizeof key, "%.99s%.100s", prefix, name);
        if (is_usual(r, key, node, &says) || (!says && !has_effect(name)) || is_read(r, key, !mapping)
            || says_nothing(node) || says_storage(key, node))
            continue;
        if (mapping && is_read(r, key, true)) {
            char deeper[sizeof key + 1];

            snprintf(deeper, sizeof deeper, "%s.", key);
            if (note_unread(r, m, node, deeper) < 0)
                return -1;
            continue;
        }
        if (leave_out(r, m, key, value) < 0)
            return -1;
    }
    return 0;
}

/* All dims must still have values, and not wait for each other. */
static int check(struct reader *r, struct mfu_model *m)
{
    double values[MFU_MAX_DIMS];
    mfu_dim_set circle;

    if (mfu_model_order_dims(m, &circle, r->err) < 0) {
        mfu_within(r->err, "dims");
        return mfu_error_at(r->err, mfu_yaml_name(r->yaml), 0, 0);
    }
    mfu_model_find_deciding(m);
    mfu_model_dim_values(m, values);
    for (int i = 0; i < m->n_dims; i++)
        if (!isfinite(values[i]))
            return mfu_fail_at(r->err, mfu_yaml_name(r->config), 0, 0,
                               "%s, which is %s, is not a number with these values", m->dims[i].name, m->dims[i].text);
    return 0;
}

/* The model ------------------------------------------------------------- */

/* "llama-7b/config.json" is "llama-7b"; a bare config.json is its type. */
static void name_slug(struct mfu_model *m, const char *path, const char *type)
{
    char folder[MFU_PATH_MAX];

    mfu_folder_slug(m->slug, sizeof m->slug, path);
    if (strcmp(m->slug, "config") != 0)
        return;
    if (mfu_folder_of(folder, path, NULL) == 0 && isalnum((unsigned char)folder[strlen(folder) - 1]))
        mfu_folder_slug(m->slug, sizeof m->slug, folder);
    else
        snprintf(m->slug, sizeof m->slug, "%s", type);
}

/* What the file of another model says about itself does not hold here. */
static void name_model(struct reader *r, struct mfu_model *m, const char *path)
{
    struct mfu_yaml_node *root = mfu_yaml_root(r->config);
    struct mfu_yaml_node *node = mfu_node_find(root, "_name_or_path");
    const char *name = node && !mfu_node_absent(node) ? mfu_node_text(node) : NULL;
    char known_by[sizeof m->slug];

    memcpy(known_by, m->slug, sizeof known_by);
    name_slug(m, path, r->type);
    mfu_printable(m->name, sizeof m->name, name && *name ? name : m->slug);
    snprintf(m->path, sizeof m->path, "%s", path);
    snprintf(m->source, sizeof m->source, "config.json, model_type %.40s, read as %s", r->type, known_by);
    m->note[0] = '\0';
    m->published_params = m->released = NAN;
}

/* Reads what the config says it is. */
static int read_type(struct reader *r)
{
    struct mfu_yaml_node *root = mfu_yaml_root(r->config);
    struct mfu_yaml_node *type = mfu_node_find(root, "model_type");

    if (!type) /* diffusers names the class of the one part of its pipeline */
        type = mfu_node_find(root, "_class_name");
    r->of = type ? type : root;
    r->type = type ? mfu_node_text(type) : NULL;
    if (r->type && r->type[0])
        return 0;
    return mfu_node_fail(r->config, r->of, r->err,
                         "'model_type' is missing; is this the "
                         "config.json of a Hugging Face model?");
}

/* The longest sequence that a model takes is not the one that it is trained on: beyond
 * this, `seq` is a guess that the plan speaks of.  Chosen. */
#define USUAL_SEQ "8192"

static int shorten_seq(struct reader *r, struct mfu_model *m)
{
    int seq = mfu_model_dim_find(m, "seq", NULL);
    double value;

    if (seq < 0 || !mfu_expression_constant(m->dims[seq].value, &value) || value <= strtod(USUAL_SEQ, NULL))
        return 0;
    m->longest_seq = value;
    return set_dim(r, m, seq, USUAL_SEQ);
}

struct mfu_model *mfu_model_from_config(const char *path, const char *folder, struct mfu_error *err)
{
    struct reader r = {.config = mfu_yaml_read(path, err), .text_from = MFU_CHAIN_MAX, .err = err};
    struct mfu_model *m = NULL;
    char extends[48];

    if (r.config && read_type(&r) == 0 && find_model(&r, folder) == 0 && find_tower(&r, folder) == 0
        && find_text(&r, folder) == 0 && read_chain(&r, folder) == 0) {
        if (r.text_key)
            mfu_folder_slug(extends, sizeof extends, mfu_yaml_name(r.yaml));
        m = mfu_model_parse_as(r.chain[0], r.text_key ? extends : NULL, NULL, folder, err);
    }
    if (m
        && (fill(&r, m) < 0 || note_unread(&r, m, mfu_yaml_root(r.config), "") < 0 || shorten_seq(&r, m) < 0
            || check(&r, m) < 0)) {
        mfu_model_free(m);
        m = NULL;
    }
    if (m)
        name_model(&r, m, path);
    for (int i = 0; i < r.n_chain; i++)
        if (r.chain[i] != r.yaml)
            mfu_yaml_free(r.chain[i]);
    mfu_yaml_free(r.yaml);
    mfu_yaml_free(r.config);
    return m;
}
