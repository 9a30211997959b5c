/*
 * model_read.c - an architecture as data.
 *
 * A file and what it extends are read first (the chain); then dims are gathered
 * from the far end of the chain to the near one, compiled and put in order; the
 * nearest graph is turned into ops last, because its expressions are over dims.
 */
#include "descriptor/model.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "descriptor/model_builder.h"
#include "descriptor/folder.h"
#include "descriptor/yaml.h"

int mfu_build_no_memory(struct mfu_model_builder *b)
{
    return mfu_fail(b->err, MFU_ENOMEM, "out of memory");
}

/* Names ------------------------------------------------------------------ */

/* Letters, digits and _, beginning with a letter; what `more` allows, too. */
bool mfu_build_is_name(const char *text, const char *more)
{
    if (!isalpha((unsigned char)*text) || strlen(text) >= MFU_NAME_MAX)
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && *text != '_' && !strchr(more, *text))
            return false;
    return true;
}

static int any_slot(void *context, const char *name, struct mfu_error *err)
{
    (void)context, (void)name, (void)err;
    return 0;
}

/* Whether an expression reads `name` as a name: not `and`, say. */
static bool is_operand(const char *name)
{
    struct mfu_arena arena = {0};
    struct mfu_error err = {0};
    struct mfu_expression *e = mfu_expression_compile(&arena, name, MFU_COUNT, any_slot, NULL, &err);
    bool result = e ? mfu_expression_slots(e, NULL, 0) == 1 : err.code == MFU_ENOMEM; /* no fault of the name */

    mfu_arena_free(&arena);
    return result;
}

static int look_up_dim(const struct mfu_model *m, const char *name)
{
    for (int i = 0; i < m->n_dims; i++)
        if (m->dims[i].name[0] == name[0] && strcmp(m->dims[i].name, name) == 0)
            return i;
    return -1;
}

int mfu_model_dim_find(const struct mfu_model *m, const char *name, struct mfu_error *err)
{
    int i = look_up_dim(m, name);
    const char *names[MFU_MAX_DIMS];

    if (i >= 0 || !err)
        return i;
    for (int k = 0; k < m->n_dims; k++)
        names[k] = m->dims[k].name;
    return mfu_fail_nearest(err, name, names, (size_t)m->n_dims, "no dim is called '%.80s'", name);
}

bool mfu_model_writes(const struct mfu_model *m)
{
    bool passes = false;
    int first = 0; /* of the model itself: those apart stand before it */
    double values[MFU_MAX_DIMS];

    mfu_model_dim_values(m, values);
    for (int i = 0; i < m->n_sections && m->sections[i].apart; i++)
        first = m->sections[i].first + m->sections[i].count;
    for (int i = first; i < m->n_ops; i++) {
        const struct mfu_primitive *p = m->ops[i].primitive;
        double causal = 1;

        for (int k = 0; p->attributes[k].name; k++)
            if (strcmp(p->attributes[k].name, "causal") == 0 && m->ops[i].attribute[k])
                causal = mfu_expression_eval(m->ops[i].attribute[k], values);
        if (p->traits & MFU_ENDS_IN_LOSS && p->inputs[0] > 1)
            return false;
        passes |= p->traits & MFU_PASSES_STATES || (p->traits & MFU_MIXES_ROWS && causal > 0);
    }
    return passes;
}

const char *mfu_model_samples(const struct mfu_model *m)
{
    const char *samples = look_up_dim(m, "frames") >= 0 ? "videos" : look_up_dim(m, "image") >= 0 ? "images" : NULL;

    return samples && !mfu_model_writes(m) ? samples : NULL;
}

bool mfu_model_has_attention(const struct mfu_model *m)
{
    for (int i = 0; i < m->n_ops; i++)
        if (m->ops[i].primitive->traits & MFU_MIXES_ROWS)
            return true;
    return false;
}

int mfu_model_dim_resolve(void *model, const char *name, struct mfu_error *err)
{
    int i = mfu_model_dim_find(model, name, err);

    if (i >= 0)
        ((struct mfu_model *)model)->read_dims |= (mfu_dim_set)1 << i;
    return i;
}

/* Expressions ------------------------------------------------------------ */

/* The dim of that name, or the one that this section reads in its place. */
int mfu_build_resolve(void *builder, const char *name, struct mfu_error *err)
{
    struct mfu_model_builder *b = builder;
    struct mfu_yaml_node *other = b->with ? mfu_node_find(b->with, name) : NULL;
    const char *text = other ? mfu_node_text(other) : name;

    return mfu_model_dim_resolve(b->model, text ? text : name, err);
}

struct mfu_expression *mfu_build_expression(struct mfu_model_builder *b, const char *text, enum mfu_dim dim)
{
    bool digit = text[0] >= '0' && text[0] <= '9' && !text[1] && dim == MFU_COUNT;
    struct mfu_expression *e = digit ? b->digits[text[0] - '0'] : NULL;

    if (!e)
        e = mfu_expression_compile(&b->model->arena, text, dim, mfu_build_resolve, b, b->err);
    if (digit)
        b->digits[text[0] - '0'] = e;
    return e;
}

struct mfu_expression *mfu_build_compile(struct mfu_model_builder *b, struct mfu_yaml *yaml, struct mfu_yaml_node *node,
                                         enum mfu_dim dim)
{
    const char *text = mfu_node_text(node);
    struct mfu_expression *e;

    if (!text || mfu_node_absent(node)) {
        mfu_fail(b->err, MFU_EINPUT,
                 "expected a number, true, false or an "
                 "expression such as 4*n_embd");
        mfu_node_error(yaml, node, b->err);
        return NULL;
    }
    if (mfu_node_bool(node) >= 0)
        text = mfu_node_bool(node) ? "1" : "0";
    e = mfu_build_expression(b, text, dim);
    if (!e)
        mfu_node_error(yaml, node, b->err);
    return e;
}

/* The chain of files ----------------------------------------------------- */

static const struct mfu_field head_fields[] = {
#define AT(field) .offset = offsetof(struct mfu_model_head, field)
#define TEXT(field) .type = MFU_FIELD_TEXT, AT(field), .size = sizeof((struct mfu_model_head *)NULL)->field
    {"name", TEXT(name), .required = 1},
    {"family", TEXT(family)},
    {"source", TEXT(source)},
    {"note", TEXT(note)},
    {"extends", TEXT(extends)},
    {"published_params", .dim = MFU_PARAMS, AT(published_params), .least = 1, .most = 1e15},
    {"released", .dim = MFU_COUNT, AT(released), .least = 1990, .most = 2100},
    {.key = NULL},
#undef TEXT
#undef AT
};

/* The row of the table: its name and parameters are the model's, the rest are dims.  A row that names another is that one. */
static int read_variant(struct mfu_model_builder *b, struct mfu_model_file *f)
{
    struct mfu_yaml_node *table = mfu_node_find(mfu_yaml_root(f->yaml), "variants"), *params;
    double count = NAN;

    b->row = table ? mfu_node_find(table, b->variant) : NULL;
    if (b->row && mfu_node_text(b->row))
        b->row = mfu_node_find(table, mfu_node_text(b->row));
    if (!b->row || mfu_node_type(b->row) != MFU_MAPPING)
        return mfu_node_fail(f->yaml, b->row ? b->row : mfu_yaml_root(f->yaml), b->err,
                             "variants: expected rows such as %.40s: {params: 25557032, n_layer: 12}", b->variant);
    params = mfu_node_find(b->row, "params");
    if (params && mfu_node_text(params))
        count = strtod(mfu_node_text(params), NULL);
    snprintf(f->head.name, sizeof f->head.name, "%s", b->variant);
    f->head.published_params = count;
    return 0;
}

static int read_head(struct mfu_model_builder *b, struct mfu_model_file *f)
{
    static const char *const others[] = {"aliases",  "dims",        "graph",    "before", "tower",
                                         "inserted", "huggingface", "variants", "whole",  NULL};
    struct mfu_yaml_node *root = mfu_yaml_root(f->yaml), *node;

    f->head = (struct mfu_model_head){.published_params = NAN, .released = NAN};
    if (mfu_node_fields(f->yaml, root, head_fields, others, &f->head, b->err) < 0)
        return -1;
    if (b->extends && f == b->chain)
        snprintf(f->head.extends, sizeof f->head.extends, "%s", b->extends);
    if (fmod(f->head.published_params, 1) > 0) { /* not for NAN */
        return mfu_node_fail(f->yaml, mfu_node_find(root, "published_params"), b->err,
                             "published_params: expected a whole number");
    }
    f->towers = mfu_node_find(root, "tower");
    f->towers_file = f->yaml;
    if (f->towers && mfu_node_check_texts(f->yaml, f->towers, "names of files", b->err) < 0)
        return mfu_within(b->err, "tower");
    node = mfu_node_find(root, "aliases");
    if (node && mfu_node_check_texts(f->yaml, node, "names such as [a, b]", b->err) < 0)
        return mfu_within(b->err, "aliases");
    return b->variant && f == b->chain ? read_variant(b, f) : 0;
}

/* The path of the file `name` that `f` extends. */
static int find_parent(struct mfu_model_builder *b, const struct mfu_model_file *f, const char *name,
                       const char *folder, char path[MFU_PATH_MAX])
{
    char beside[MFU_PATH_MAX], tower[64];

    if (!mfu_folder_name_ok(name))
        return mfu_fail(b->err, MFU_EINPUT, "'%s' cannot be the name of a model file", name);
    if (mfu_folder_of(beside, mfu_yaml_name(f->yaml), b->err) < 0)
        return -1;
    if (!folder)
        folder = beside;
    if (mfu_folder_path(path, folder, name, ".yaml", b->err) < 0)
        return -1;
    if (mfu_folder_has(path))
        return 0;
    if (mfu_folder_path(path, beside, name, ".yaml", b->err) < 0)
        return -1;
    if (mfu_folder_has(path))
        return 0;
    snprintf(tower, sizeof tower, "towers/%s", name);
    if (mfu_folder_path(path, folder, tower, ".yaml", b->err) < 0)
        return -1;
    if (mfu_folder_has(path))
        return 0;
    return mfu_folder_unknown(folder, "model", name, b->err);
}

/* Reads what the last file of the chain extends, which the last of its towers does in its place; 0 when it extends nothing,
 * 1 when the chain has grown. */
static int read_parent(struct mfu_model_builder *b, const char *folder)
{
    struct mfu_model_file *f = &b->chain[b->n_files - 1], *parent = f + 1;
    struct mfu_yaml_node *tower = f->towers ? mfu_node_each(f->towers, f->n_towers) : NULL;
    struct mfu_yaml_node *node = tower ? tower : mfu_node_find(mfu_yaml_root(f->yaml), "extends");
    const char *key = tower ? "tower" : "extends", *name = tower ? mfu_node_text(tower) : f->head.extends;
    char path[MFU_PATH_MAX];
    int found;

    if (!name[0])
        return 0;
    found = find_parent(b, f, name, folder, path);
    for (int i = 0; found == 0 && i < b->n_files; i++)
        if (strcmp(mfu_yaml_name(b->chain[i].yaml), path) == 0)
            found = mfu_fail(b->err, MFU_EINPUT, "'%s' extends itself", name);
    if (found == 0 && b->n_files == MFU_CHAIN_MAX)
        found = mfu_fail(b->err, MFU_EINPUT, "'%s' ends a chain of more than %d files", name, MFU_CHAIN_MAX - 1);
    if (found < 0) {
        mfu_within(b->err, "%s", key);
        return mfu_node_error(tower ? f->towers_file : f->yaml, node ? node : mfu_yaml_root(f->yaml), b->err);
    }
    parent->yaml = mfu_yaml_read(path, b->err);
    if (!parent->yaml)
        return -1;
    b->n_files++;
    if (read_head(b, parent) < 0)
        return -1;
    if (tower) {
        memcpy(parent->head.extends, f->head.extends, sizeof parent->head.extends);
        parent->towers = f->towers;
        parent->towers_file = f->towers_file;
        parent->n_towers = f->n_towers + 1;
    }
    return 1;
}

static int read_chain(struct mfu_model_builder *b, const char *folder)
{
    struct mfu_model *m = b->model;
    const struct mfu_model_head *own = &b->chain[0].head;
    int more;

    if (read_head(b, &b->chain[0]) < 0)
        return -1;
    do
        more = read_parent(b, folder);
    while (more > 0);
    if (more < 0)
        return -1;
    memcpy(m->name, own->name, sizeof m->name);
    memcpy(m->source, own->source, sizeof m->source);
    memcpy(m->note, own->note, sizeof m->note);
    m->published_params = own->published_params;
    m->released = own->released;
    for (int i = 0; i < b->n_files && !m->family[0]; i++)
        memcpy(m->family, b->chain[i].head.family, sizeof m->family);
    return 0;
}

/* Dims ------------------------------------------------------------------- */

/* Where the name of `dims[i]` is written, in the words of its file. */
static int dim_error(struct mfu_model_builder *b, int i)
{
    mfu_within(b->err, "%s", b->model->dims[i].name);
    return mfu_node_error(b->dims[i].yaml, b->dims[i].node, b->err);
}

/* One file's dims over those of the files that it extends. */
static int gather_dims(struct mfu_model_builder *b, struct mfu_yaml *yaml, struct mfu_yaml_node *mapping, bool extends)
{
    struct mfu_model *m = b->model;

    if (!mapping)
        return 0;
    if (mfu_node_type(mapping) != MFU_MAPPING)
        return mfu_node_fail(yaml, mapping, b->err,
                             "dims: expected names and values such as "
                             "n_layer: 12");
    for (size_t i = 0; i < mfu_node_count(mapping); i++) {
        const char *name = mfu_node_key(mapping, i);
        int d = look_up_dim(m, name);

        if (mapping == b->row && strcmp(name, "params") == 0)
            continue;
        if (d < 0 && (!mfu_build_is_name(name, "") || !is_operand(name))) {
            mfu_fail(b->err, MFU_EINPUT,
                     "'%.80s' cannot be the name of a dim: "
                     "letters, digits and _, no word of expressions",
                     name);
            return mfu_key_error(yaml, mapping, i, b->err);
        }
        if (d < 0 && m->n_dims == MFU_MAX_DIMS) {
            mfu_fail(b->err, MFU_EINPUT, "more than %d dims", MFU_MAX_DIMS);
            return mfu_key_error(yaml, mapping, i, b->err);
        }
        if (d < 0) {
            d = m->n_dims++;
            m->dims[d].name = mfu_arena_copy(&m->arena, name, strlen(name));
            if (!m->dims[d].name)
                return mfu_build_no_memory(b);
            b->dims[d].added = extends;
        }
        b->dims[d].yaml = yaml;
        b->dims[d].node = mfu_node_value(mapping, i);
    }
    return 0;
}

enum mfu_dim mfu_model_dim_kind(const char *name)
{
    return strstr(name, "seq") || strstr(name, "window") ? MFU_TOKENS : MFU_COUNT;
}

static int compile_dims(struct mfu_model_builder *b)
{
    struct mfu_model *m = b->model;

    for (int i = 0; i < m->n_dims; i++) {
        struct mfu_model_dim *dim = &m->dims[i];
        const char *text;

        dim->value = mfu_build_compile(b, b->dims[i].yaml, b->dims[i].node, mfu_model_dim_kind(dim->name));
        if (!dim->value)
            return dim_error(b, i);
        text = mfu_node_text(b->dims[i].node);
        dim->text = mfu_arena_copy(&m->arena, text, strlen(text));
        if (!dim->text)
            return mfu_build_no_memory(b);
    }
    return 0;
}

_Static_assert(MFU_MAX_DIMS <= 8 * sizeof(mfu_dim_set), "a set of dims fits into its bits");

static mfu_dim_set needs(const struct mfu_expression *e)
{
    int slots[MFU_MAX_DIMS];
    size_t n = e ? mfu_expression_slots(e, slots, MFU_MAX_DIMS) : 0;
    mfu_dim_set set = 0;

    for (size_t i = 0; i < n; i++)
        set |= (mfu_dim_set)1 << slots[i];
    return set;
}

static int first_of(mfu_dim_set set)
{
    int i = 0;

    while (!(set >> i & 1))
        i++;
    return i;
}

/* Fails with "d_ff -> n_embd -> d_ff".  Every dim of `left` needs one of them,
 * so that going from each to one that it needs ends in a circle. */
static int fail_circle(const struct mfu_model *m, const mfu_dim_set *need, mfu_dim_set left, mfu_dim_set *circle,
                       struct mfu_error *err)
{
    char text[300] = "";
    size_t used = 0;
    int i = first_of(left), first;

    for (int k = 0; k < m->n_dims; k++)
        i = first_of(need[i] & left);
    *circle = 0;
    first = i;
    do {
        *circle |= (mfu_dim_set)1 << i;
        if (used < sizeof text - 2 * MFU_NAME_MAX)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s -> ", m->dims[i].name);
        i = first_of(need[i] & left);
    } while (i != first);
    snprintf(text + used, sizeof text - used, "%s", used < sizeof text - 2 * MFU_NAME_MAX ? m->dims[i].name : "...");
    return mfu_fail(err, MFU_EINPUT, "depends on itself: %s", text);
}

int mfu_model_order_dims(struct mfu_model *m, mfu_dim_set *circle, struct mfu_error *err)
{
    mfu_dim_set need[MFU_MAX_DIMS], left = 0;

    for (int i = 0; i < m->n_dims; i++) {
        need[i] = needs(m->dims[i].value);
        left |= (mfu_dim_set)1 << i;
    }
    for (int n = 0; n < m->n_dims; n++) {
        int next = 0;

        while (next < m->n_dims && (!(left >> next & 1) || need[next] & left))
            next++;
        if (next == m->n_dims)
            return fail_circle(m, need, left, circle, err);
        m->dim_order[n] = (short)next;
        left &= ~((mfu_dim_set)1 << next);
    }
    return 0;
}

/* The dims that an expression reads, and those that they read. */
static mfu_dim_set follows_from(const struct mfu_model *m, const struct mfu_expression *e)
{
    mfu_dim_set all = needs(e);

    for (int n = m->n_dims - 1; n >= 0; n--) /* each before the ones that it depends on */
        if (all >> m->dim_order[n] & 1)
            all |= needs(m->dims[m->dim_order[n]].value);
    return all;
}

void mfu_model_find_deciding(struct mfu_model *m)
{
    int layers = mfu_model_dim_find(m, "n_layer", NULL), seq = mfu_model_dim_find(m, "seq", NULL);

    m->decide_dims = 0;
    for (int i = 0; i < m->n_sections; i++) {
        m->decide_dims |= needs(m->sections[i].repeat);
        m->sections[i].of_n_layer = layers >= 0 && follows_from(m, m->sections[i].repeat) >> layers & 1;
    }
    for (int i = 0; i < m->n_ops; i++) {
        if (m->ops[i].primitive->traits & MFU_PASSES_STATES && seq >= 0)
            m->decide_dims |= (mfu_dim_set)1 << seq; /* the last stretch is filled up */
        m->decide_dims |= needs(m->ops[i].when) | needs(m->ops[i].again);
        for (int a = 0; a < MFU_ATTRIBUTES && m->ops[i].primitive->attributes[a].name; a++)
            if (!(m->ops[i].primitive->traits & MFU_LOOKS_UP) || !mfu_expression_is_smooth(m->ops[i].attribute[a]))
                m->decide_dims |= needs(m->ops[i].attribute[a]);
    }
    for (int n = m->n_dims - 1; n >= 0; n--) { /* each before the ones that it depends on */
        const int i = m->dim_order[n];

        if (m->decide_dims >> i & 1 || !mfu_expression_is_smooth(m->dims[i].value))
            m->decide_dims |= needs(m->dims[i].value);
    }
}

void mfu_model_dim_values(const struct mfu_model *m, double *values)
{
    for (int n = 0; n < m->n_dims; n++) {
        int i = m->dim_order[n];

        values[i] = mfu_expression_eval(m->dims[i].value, values);
    }
}

/* As the file stands, every dim must have a value. */
static int check_dims(struct mfu_model_builder *b)
{
    struct mfu_model *m = b->model;
    double values[MFU_MAX_DIMS] = {0};

    mfu_model_dim_values(m, values);
    for (int n = 0; n < m->n_dims; n++) {
        int i = m->dim_order[n];

        if (isfinite(values[i]))
            continue;
        mfu_fail(b->err, MFU_EINPUT, "'%.80s' is not a number", m->dims[i].text);
        return dim_error(b, i);
    }
    return 0;
}

/* Of the dims of a circle, the one that the nearest file gives: the others were
 * there before and did no harm. */
static int nearest_of(const struct mfu_model_builder *b, mfu_dim_set circle)
{
    for (int f = 0; f < b->n_files; f++)
        for (int i = 0; i < b->model->n_dims; i++)
            if (circle >> i & 1 && b->dims[i].yaml == b->chain[f].yaml)
                return i;
    return first_of(circle);
}

static int read_dims(struct mfu_model_builder *b)
{
    mfu_dim_set circle;

    for (int i = b->n_files - 1; i >= 0; i--)
        if (gather_dims(b, b->chain[i].yaml, mfu_node_find(mfu_yaml_root(b->chain[i].yaml), "dims"),
                        b->chain[i].head.extends[0])
            < 0)
            return -1;
    if (gather_dims(b, b->chain[0].yaml, b->row, true) < 0)
        return -1;
    if (b->model->n_dims == 0)
        return mfu_node_fail(b->chain[0].yaml, mfu_yaml_root(b->chain[0].yaml), b->err, "'dims' is missing");
    if (compile_dims(b) < 0)
        return -1;
    if (mfu_model_order_dims(b->model, &circle, b->err) < 0)
        return dim_error(b, nearest_of(b, circle));
    return check_dims(b);
}

/* A dim that a file adds to those that it extends is one that something reads: else its
 * name is a slip, and the size that was meant has not changed. */
static int check_added(struct mfu_model_builder *b)
{
    const char *names[MFU_MAX_DIMS], *best;
    size_t n = 0;

    for (int i = 0; i < b->model->n_dims; i++)
        if (!b->dims[i].added)
            names[n++] = b->model->dims[i].name;
    for (int i = 0; i < b->model->n_dims; i++) {
        if (!b->dims[i].added || b->model->read_dims >> i & 1)
            continue;
        mfu_fail(b->err, MFU_EINPUT, "nothing reads the dim '%.60s'", b->model->dims[i].name);
        if (mfu_suggest(b->model->dims[i].name, names, n, &best, 1))
            mfu_error_suggest(b->err, best);
        return mfu_node_error(b->dims[i].yaml, b->dims[i].node, b->err);
    }
    return 0;
}

/* The nearest file's list of what must be a whole number. */
static int read_whole(struct mfu_model_builder *b)
{
    struct mfu_model *m = b->model;
    struct mfu_yaml_node *list = NULL, *each;
    struct mfu_yaml *yaml = NULL;

    for (int i = 0; i < b->n_files && !list; i++) {
        yaml = b->chain[i].yaml;
        list = mfu_node_find(mfu_yaml_root(yaml), "whole");
    }
    if (!list)
        return 0;
    if (mfu_node_check_texts(yaml, list, "expressions such as [height / 64]", b->err) < 0)
        return mfu_within(b->err, "whole");
    for (size_t i = 0; (each = mfu_node_each(list, i)); i++) {
        struct mfu_model_whole *whole = &m->whole[m->n_whole];
        const char *text = mfu_node_text(each);

        if (m->n_whole == MFU_MAX_WHOLE)
            return mfu_node_fail(yaml, each, b->err, "whole: more than %d expressions", MFU_MAX_WHOLE);
        if (!(whole->value = mfu_build_compile(b, yaml, each, MFU_COUNT)))
            return mfu_within(b->err, "whole");
        if (!(whole->text = mfu_arena_copy(&m->arena, text, strlen(text))))
            return mfu_build_no_memory(b);
        m->n_whole++;
    }
    return 0;
}

/* The table for config.json ---------------------------------------------- */

/* OURS: THEIRS or OURS: [THEIRS, ...], where each of ours is a dim. */
static int check_mapping(struct mfu_model_builder *b, struct mfu_yaml *yaml, struct mfu_yaml_node *mapping, bool values)
{
    static const char one_or_more[] = "a key of config.json, or several";
    const char *names[MFU_MAX_DIMS];

    if (mfu_node_type(mapping) != MFU_MAPPING)
        return mfu_node_fail(yaml, mapping, b->err, "expected a mapping such as %s",
                             values ? "tied: 0" : "n_layer: num_hidden_layers");
    for (int i = 0; i < b->model->n_dims; i++)
        names[i] = b->model->dims[i].name;
    for (size_t i = 0; i < mfu_node_count(mapping); i++) {
        const char *name = mfu_node_key(mapping, i);
        struct mfu_yaml_node *node = mfu_node_value(mapping, i);

        if (look_up_dim(b->model, name) < 0)
            return mfu_key_unknown(yaml, mapping, i, "dim", names, (size_t)b->model->n_dims, b->err);
        if (values ? !mfu_build_compile(b, yaml, node, mfu_model_dim_kind(name))
                   : (mfu_node_type(node) != MFU_SEQUENCE || mfu_node_count(node) > 0)
                    && mfu_node_check_texts(yaml, node, one_or_more, b->err) < 0)
            return mfu_within(b->err, "%s", name);
    }
    return 0;
}

static int check_huggingface(struct mfu_model_builder *b)
{
    static const struct mfu_field none[] = {{.key = NULL}};
    static const char *const keys[] = {"model_type", "dims",  "defaults", "architectures", "counts", "nulls", "words",
                                       "ignored",    "usual", "text",     "text_defaults", "towers", "where", NULL};
    struct mfu_yaml *yaml = b->chain[0].yaml;
    struct mfu_yaml_node *node = mfu_node_find(mfu_yaml_root(yaml), "huggingface");
    struct mfu_yaml_node *type, *dims, *defaults, *architectures, *each;

    if (!node)
        return 0;
    if (mfu_node_fields(yaml, node, none, keys, NULL, b->err) < 0)
        return mfu_within(b->err, "huggingface");
    if (mfu_huggingface_check(yaml, node, b->err) < 0)
        return -1;
    type = mfu_node_find(node, "model_type");
    dims = mfu_node_find(node, "dims");
    defaults = mfu_node_find(node, "defaults");
    if (!type || (!dims && b->n_files == 1))
        return mfu_node_fail(yaml, node, b->err, "huggingface: '%s' is missing", type ? "dims" : "model_type");
    if (mfu_node_check_texts(yaml, type, "names such as [llama]", b->err) < 0)
        return mfu_within(b->err, "huggingface: model_type");
    if (dims && check_mapping(b, yaml, dims, false) < 0)
        return mfu_within(b->err, "huggingface: dims");
    if (defaults && check_mapping(b, yaml, defaults, true) < 0)
        return mfu_within(b->err, "huggingface: defaults");
    if ((each = mfu_node_find(node, "nulls")) && check_mapping(b, yaml, each, true) < 0)
        return mfu_within(b->err, "huggingface: nulls");
    if ((each = mfu_node_find(node, "counts")) && check_mapping(b, yaml, each, false) < 0)
        return mfu_within(b->err, "huggingface: counts");
    architectures = mfu_node_find(node, "architectures");
    for (size_t i = 0; architectures && (each = mfu_node_value(architectures, i)); i++)
        if (check_mapping(b, yaml, each, true) < 0)
            return mfu_within(b->err, "huggingface: architectures: %s", mfu_node_key(architectures, i));
    return 0;
}

/* Models ----------------------------------------------------------------- */

struct mfu_model *mfu_model_parse_as(struct mfu_yaml *yaml, const char *extends, const char *variant,
                                     const char *folder, struct mfu_error *err)
{
    struct mfu_model *m = calloc(1, sizeof *m);
    struct mfu_model_builder b = {
        .model = m,
        .chain = {{.yaml = yaml}},
        .n_files = 1,
        .extends = extends,
        .variant = variant,
        .err = err,
    };

    if (!m) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        return NULL;
    }
    mfu_folder_slug(m->slug, sizeof m->slug, variant ? variant : mfu_yaml_name(yaml));
    snprintf(m->path, sizeof m->path, "%s", mfu_yaml_name(yaml));
    if (read_chain(&b, folder) < 0 || read_dims(&b) < 0 || read_whole(&b) < 0 || mfu_build_graph(&b) < 0
        || check_added(&b) < 0 || check_huggingface(&b) < 0) {
        mfu_model_free(m);
        m = NULL;
    }
    if (m)
        mfu_model_find_deciding(m);
    for (int i = 1; i < b.n_files; i++)
        mfu_yaml_free(b.chain[i].yaml);
    return m;
}

struct mfu_model *mfu_model_parse(struct mfu_yaml *yaml, const char *folder, struct mfu_error *err)
{
    return mfu_model_parse_as(yaml, NULL, NULL, folder, err);
}

struct mfu_model *mfu_model_read_variant(const char *path, const char *variant, const char *folder,
                                         struct mfu_error *err)
{
    struct mfu_yaml *yaml = mfu_yaml_read(path, err);
    struct mfu_model *m = yaml ? mfu_model_parse_as(yaml, NULL, variant, folder, err) : NULL;

    mfu_yaml_free(yaml);
    return m;
}

struct mfu_model *mfu_model_read(const char *path, const char *folder, struct mfu_error *err)
{
    return mfu_model_read_variant(path, NULL, folder, err);
}

void mfu_model_free(struct mfu_model *m)
{
    if (!m)
        return;
    mfu_arena_free(&m->arena);
    free(m);
}
