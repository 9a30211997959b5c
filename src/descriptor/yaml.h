/*
 * yaml.h - reading what people write by hand: YAML and JSON, with places.
 *
 * A thin layer over libfyaml that keeps it quiet, bounded and precise: input
 * of at most 1 MiB, nested at most 32 deep, at most 20 000 nodes, without
 * anchors, aliases and tags (no descriptor needs them, and an alias bomb is
 * one), without a second document; every refusal carries file, line and
 * column.  A key that is given twice is refused.  JSON is YAML's subset, so a
 * config.json is read by the same functions.
 *
 *     struct mfu_yaml *yaml = mfu_yaml_read("gpus/rtx4070.yaml", &err);
 *     struct mfu_yaml_node *sms = mfu_node_find(mfu_yaml_root(yaml), "sms");
 *     double n;
 *
 *     if (sms && mfu_node_quantity(yaml, sms, MFU_COUNT, &n, &err) < 0)
 *         ...                          // gpus/rtx4070.yaml:9:6: ...
 *     mfu_yaml_free(yaml);             // and every node and text with it
 */
#ifndef MFU_YAML_H
#define MFU_YAML_H

#include <stddef.h>
#include "base/quantity.h"

struct mfu_error;
struct mfu_yaml;      /* a document; owns its nodes and texts */
struct mfu_yaml_node; /* a place in it, lent by the document */

/* NULL with `err` (missing file, directory, binary, too large, not YAML...). */
struct mfu_yaml *mfu_yaml_read(const char *path, struct mfu_error *err);
struct mfu_yaml *mfu_yaml_parse(const char *name, const char *text, size_t length, struct mfu_error *err);
void mfu_yaml_free(struct mfu_yaml *);

struct mfu_yaml_node *mfu_yaml_root(const struct mfu_yaml *);

/* The path or name it was read under. */
const char *mfu_yaml_name(const struct mfu_yaml *);

/* What a node is. */
enum mfu_node_type { MFU_SCALAR, MFU_SEQUENCE, MFU_MAPPING };
enum mfu_node_type mfu_node_type(struct mfu_yaml_node *);

/* Members, in the order of the file. The pointer is NULL past the end. */
size_t mfu_node_count(struct mfu_yaml_node *);
struct mfu_yaml_node *mfu_node_item(struct mfu_yaml_node *sequence, size_t i);
struct mfu_yaml_node *mfu_node_value(struct mfu_yaml_node *mapping, size_t i);
const char *mfu_node_key(struct mfu_yaml_node *mapping, size_t i);

/* The value of `key` in a mapping, or NULL. */
struct mfu_yaml_node *mfu_node_find(struct mfu_yaml_node *mapping, const char *key);

/* The text of a scalar; lives as long as the document. NULL if not a scalar. */
const char *mfu_node_text(struct mfu_yaml_node *);

/* Whether nothing is said: `key:`, `key: null` or `key: ~`. */
int mfu_node_absent(struct mfu_yaml_node *);

/* 1 for `true`, 0 for `false` (not in quotes), -1 for anything else. */
int mfu_node_bool(struct mfu_yaml_node *);

/* Whether it is a scalar that stands there as it is, in no kind of quotes. */
int mfu_node_plain(struct mfu_yaml_node *);

/* One text or a list of texts: the i-th (a text is a list of one), or NULL past
 * the end.  _check_texts refuses anything else, naming `what` was expected. */
struct mfu_yaml_node *mfu_node_each(struct mfu_yaml_node *, size_t i);
int mfu_node_check_texts(struct mfu_yaml *, struct mfu_yaml_node *, const char *what, struct mfu_error *err);

/* Puts "FILE:LINE:COLUMN" of this node (or of the i-th key of a mapping) into
 * `err`, unless a line is known already.  A column that is known without a
 * line is one within the text of the node. Returns -1. */
int mfu_node_error(struct mfu_yaml *, struct mfu_yaml_node *, struct mfu_error *err);
int mfu_key_error(struct mfu_yaml *, struct mfu_yaml_node *mapping, size_t i, struct mfu_error *err);
/* What is wrong there, as mfu_fail() takes it.  -1. */
#define mfu_node_fail(yaml, node, err, ...) (mfu_fail(err, MFU_EINPUT, __VA_ARGS__), mfu_node_error(yaml, node, err))

/* Refuses the i-th key of a mapping: "unknown WHAT 'KEY'", with the nearest of
 * the `n` names that it could have been. Returns -1. */
int mfu_key_unknown(struct mfu_yaml *, struct mfu_yaml_node *mapping, size_t i, const char *what,
                    const char *const *names, size_t n, struct mfu_error *err);

/* A scalar as a quantity; the error names the place and what was expected. */
int mfu_node_quantity(struct mfu_yaml *, struct mfu_yaml_node *, enum mfu_dim, double *value, struct mfu_error *err);

/* One key of a mapping that fills a field of a struct. */
struct mfu_field {
    const char *key; /* "boost", or NULL at the end of the table */
    enum mfu_field_type { MFU_FIELD_QUANTITY, MFU_FIELD_TEXT } type;
    enum mfu_dim dim; /* of a quantity */
    size_t offset;    /* of a double, or of a char[size] */
    size_t size;      /* of the char array */
    int required;
    double least, most; /* allowed range of a quantity; both 0: > 0 */
};

/* Fills `into` from a mapping.  Keys that are neither in `fields` nor in the
 * NULL-terminated `others` are refused with the nearest known key; a missing
 * required one is refused by name.  Quantities that are absent are left as
 * they are (set them to NAN before: unknown). */
int mfu_node_fields(struct mfu_yaml *, struct mfu_yaml_node *mapping, const struct mfu_field *fields,
                    const char *const *others, void *into, struct mfu_error *err);

#endif
