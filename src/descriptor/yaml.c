/*
 * yaml.c - reading what people write by hand: YAML and JSON, with places.
 *
 * What is asked of nodes; yaml_read.c makes them.
 */
#include "descriptor/yaml.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "descriptor/yaml_tree.h"

#define MOST_KEYS 64 /* that one message can choose from */

const char *mfu_yaml_name(const struct mfu_yaml *yaml)
{
    return yaml->name;
}

struct mfu_yaml_node *mfu_yaml_root(const struct mfu_yaml *yaml)
{
    return yaml->root;
}

/* Nodes ------------------------------------------------------------------ */

enum mfu_node_type mfu_node_type(struct mfu_yaml_node *node)
{
    return node->type;
}

size_t mfu_node_count(struct mfu_yaml_node *node)
{
    return node->count;
}

struct mfu_yaml_node *mfu_node_item(struct mfu_yaml_node *sequence, size_t i)
{
    return i < sequence->count ? sequence->members[i] : NULL;
}

struct mfu_yaml_node *mfu_node_value(struct mfu_yaml_node *mapping, size_t i)
{
    return mapping->type == MFU_MAPPING ? mfu_node_item(mapping, i) : NULL;
}

const char *mfu_node_key(struct mfu_yaml_node *mapping, size_t i)
{
    return i < mapping->count ? mapping->members[i]->key : NULL;
}

struct mfu_yaml_node *mfu_node_find(struct mfu_yaml_node *mapping, const char *key)
{
    if (mapping->type != MFU_MAPPING)
        return NULL;
    for (size_t i = 0; i < mapping->count; i++)
        if (strcmp(mapping->members[i]->key, key) == 0)
            return mapping->members[i];
    return NULL;
}

const char *mfu_node_text(struct mfu_yaml_node *node)
{
    return node->text;
}

int mfu_node_plain(struct mfu_yaml_node *node)
{
    return node->type == MFU_SCALAR && node->style == MFU_PLAIN;
}

int mfu_node_absent(struct mfu_yaml_node *node)
{
    return mfu_node_plain(node)
        && (strcmp(node->text, "") == 0 || strcmp(node->text, "null") == 0 || strcmp(node->text, "~") == 0);
}

int mfu_node_bool(struct mfu_yaml_node *node)
{
    if (!mfu_node_plain(node))
        return -1;
    return strcmp(node->text, "true") == 0 ? 1 : strcmp(node->text, "false") == 0 ? 0 : -1;
}

struct mfu_yaml_node *mfu_node_each(struct mfu_yaml_node *node, size_t i)
{
    if (node->type == MFU_SCALAR)
        return i == 0 ? node : NULL;
    return node->type == MFU_SEQUENCE ? mfu_node_item(node, i) : NULL;
}

int mfu_node_check_texts(struct mfu_yaml *yaml, struct mfu_yaml_node *node, const char *what, struct mfu_error *err)
{
    struct mfu_yaml_node *each;

    if (node->type != MFU_MAPPING && mfu_node_each(node, 0)) {
        for (size_t i = 0; (each = mfu_node_each(node, i)); i++)
            if (each->type != MFU_SCALAR || mfu_node_absent(each)) {
                node = each;
                break;
            }
        if (!each)
            return 0;
    }
    return mfu_node_fail(yaml, node, err, "expected %s", what);
}

int mfu_node_error(struct mfu_yaml *yaml, struct mfu_yaml_node *node, struct mfu_error *err)
{
    bool block = node->type == MFU_SCALAR && node->style == MFU_BLOCK;

    /* A column within the text is one within the line only when the text
     * stands in the line; its column is that after the quote, if any. */
    if (err && err->line == 0 && (block || node->type != MFU_SCALAR))
        err->column = 0;
    if (block && node->key)
        return mfu_error_at(err, yaml->name, node->key_line, node->key_column);
    return mfu_error_at(err, yaml->name, node->line, node->column);
}

int mfu_key_error(struct mfu_yaml *yaml, struct mfu_yaml_node *mapping, size_t i, struct mfu_error *err)
{
    if (i >= mapping->count)
        return mfu_node_error(yaml, mapping, err);
    return mfu_error_at(err, yaml->name, mapping->members[i]->key_line, mapping->members[i]->key_column);
}

int mfu_node_quantity(struct mfu_yaml *yaml, struct mfu_yaml_node *node, enum mfu_dim dim, double *value,
                      struct mfu_error *err)
{
    if (node->type != MFU_SCALAR || mfu_node_absent(node))
        return mfu_node_fail(yaml, node, err, "expected %s, not %s", mfu_dim_help(dim),
                             node->type == MFU_SCALAR         ? "nothing"
                                 : node->type == MFU_SEQUENCE ? "a list"
                                                              : "a mapping");
    if (mfu_quantity_parse(node->text, dim, value, err) < 0)
        return mfu_node_error(yaml, node, err);
    return 0;
}

/* Fields ----------------------------------------------------------------- */

static const struct mfu_field *find_field(const struct mfu_field *fields, const char *key)
{
    for (; fields->key; fields++)
        if (strcmp(fields->key, key) == 0)
            return fields;
    return NULL;
}

static int check_range(const struct mfu_field *f, const char *text, double value, struct mfu_error *err)
{
    char least[MFU_QUANTITY_MAX], most[MFU_QUANTITY_MAX];

    if (f->least == 0 && f->most == 0)
        return value > 0 ? 0 : mfu_fail(err, MFU_EINPUT, "'%.80s' is not above zero", text);
    if (value >= f->least && value <= f->most)
        return 0;
    return mfu_fail(err, MFU_EINPUT, "'%.80s' is outside %s..%s", text, mfu_quantity_format(least, f->least, f->dim),
                    mfu_quantity_format(most, f->most, f->dim));
}

static int fill_quantity(struct mfu_yaml *yaml, const struct mfu_field *f, struct mfu_yaml_node *node, void *into,
                         struct mfu_error *err)
{
    double value;

    if (mfu_node_quantity(yaml, node, f->dim, &value, err) < 0)
        return -1;
    if (check_range(f, node->text, value, err) < 0)
        return mfu_node_error(yaml, node, err);
    memcpy((char *)into + f->offset, &value, sizeof value);
    return 0;
}

static int fill_text(struct mfu_yaml *yaml, const struct mfu_field *f, struct mfu_yaml_node *node, void *into,
                     struct mfu_error *err)
{
    size_t length = node->type == MFU_SCALAR ? strlen(node->text) : 0;

    if (node->type != MFU_SCALAR || mfu_node_absent(node))
        return mfu_node_fail(yaml, node, err, "expected a text");
    while (length > 0 && node->text[length - 1] == '\n')
        length--; /* what a block scalar ends with */
    if (memchr(node->text, '\n', length))
        return mfu_node_fail(yaml, node, err, "expected a text of one line");
    if (length >= f->size)
        return mfu_node_fail(yaml, node, err, "a text of %zu bytes, where %zu fit", length, f->size - 1);
    memcpy((char *)into + f->offset, node->text, length);
    ((char *)into)[f->offset + length] = '\0';
    return 0;
}

int mfu_key_unknown(struct mfu_yaml *yaml, struct mfu_yaml_node *mapping, size_t i, const char *what,
                    const char *const *names, size_t n, struct mfu_error *err)
{
    const char *key = mapping->members[i]->key;

    mfu_fail(err, MFU_EINPUT, "unknown %s '%.80s'", what, key);
    mfu_error_nearest(err, key, names, n);
    return mfu_key_error(yaml, mapping, i, err);
}

static int refuse_key(struct mfu_yaml *yaml, struct mfu_yaml_node *mapping, size_t i, const struct mfu_field *fields,
                      const char *const *others, struct mfu_error *err)
{
    const char *names[MOST_KEYS];
    size_t n = 0;

    for (; fields->key && n < MOST_KEYS; fields++)
        names[n++] = fields->key;
    for (; others && *others && n < MOST_KEYS; others++)
        names[n++] = *others;
    return mfu_key_unknown(yaml, mapping, i, "key", names, n, err);
}

static bool is_in(const char *const *names, const char *name)
{
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

int mfu_node_fields(struct mfu_yaml *yaml, struct mfu_yaml_node *mapping, const struct mfu_field *fields,
                    const char *const *others, void *into, struct mfu_error *err)
{
    if (mapping->type != MFU_MAPPING)
        return mfu_node_fail(yaml, mapping, err, "expected a mapping of keys to values");
    for (size_t i = 0; i < mapping->count; i++) {
        struct mfu_yaml_node *node = mapping->members[i];
        const struct mfu_field *f = find_field(fields, node->key);

        if (!f && is_in(others, node->key))
            continue;
        if (!f)
            return refuse_key(yaml, mapping, i, fields, others, err);
        if ((f->type == MFU_FIELD_TEXT ? fill_text(yaml, f, node, into, err) : fill_quantity(yaml, f, node, into, err))
            < 0)
            return mfu_within(err, "%s", f->key);
    }
    for (const struct mfu_field *f = fields; f->key; f++)
        if (f->required && !mfu_node_find(mapping, f->key))
            return mfu_node_fail(yaml, mapping, err, "'%s' is missing", f->key);
    return 0;
}
