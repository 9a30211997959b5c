/*
 * model_graph.c - the graph of a model file as sections and ops.
 *
 * A section is read in two passes: first what each op is and what it is called,
 * then what it reads, so that a reference to a later op can be told from one to
 * none at all.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "descriptor/module_kinds.h"
#include "descriptor/model_builder.h"
#include "descriptor/yaml.h"

#define MOST_PRIMITIVES 64 /* that one message can choose from */

/* Ops: attributes -------------------------------------------------------- */

/* Keys that every op may have. */
static const char *const op_keys[] = {"op", "name", "in", "when", "again", "shares", "next"};
#define OP_KEYS (sizeof op_keys / sizeof op_keys[0])

static const struct mfu_primitive *find_primitive(struct mfu_model_builder *b, struct mfu_yaml_node *node)
{
    const char *name = mfu_node_text(node);
    const char *names[MOST_PRIMITIVES];
    size_t n = 0;

    for (size_t i = 0; name && i < mfu_primitive_count; i++)
        if (strcmp(mfu_primitives[i]->name, name) == 0)
            return mfu_primitives[i];
    for (; n < mfu_primitive_count && n < MOST_PRIMITIVES; n++)
        names[n] = mfu_primitives[n]->name;
    mfu_fail(b->err, MFU_EINPUT, "no primitive is called '%.80s'", name ? name : "");
    if (name)
        mfu_error_nearest(b->err, name, names, n);
    mfu_node_error(b->yaml, node, b->err);
    return NULL;
}

/* Refuses keys that this primitive does not have. */
static int check_op_keys(struct mfu_model_builder *b, struct mfu_yaml_node *node, const struct mfu_primitive *primitive)
{
    const char *names[OP_KEYS + MFU_ATTRIBUTES];
    size_t n = 0;

    for (const struct mfu_attribute *a = primitive->attributes; a->name; a++)
        names[n++] = a->name;
    for (size_t k = 0; k < OP_KEYS; k++)
        names[n++] = op_keys[k];
    for (size_t i = 0; i < mfu_node_count(node); i++) {
        const char *key = mfu_node_key(node, i);
        size_t k = 0;

        while (k < n && strcmp(names[k], key) != 0)
            k++;
        if (k == n)
            return mfu_key_unknown(b->yaml, node, i, "attribute", names, n, b->err);
    }
    return 0;
}

/* The number of the choice, or -1. */
static int find_choice(const struct mfu_attribute *a, const char *text)
{
    for (int i = 0; a->choices && a->choices[i]; i++)
        if (strcmp(a->choices[i], text) == 0)
            return i;
    return -1;
}

static struct mfu_expression *constant(struct mfu_model_builder *b, int value)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    return mfu_build_expression(b, text, MFU_COUNT);
}

static int fail_choice(struct mfu_model_builder *b, const struct mfu_attribute *a, const char *text)
{
    size_t n = mfu_names_count(a->choices);
    char list[300];

    return mfu_fail_nearest(b->err, text, a->choices, n, "'%.80s' is none of %s", text,
                            mfu_names_list(list, sizeof list, a->choices, n));
}

/* What is written: a choice, or an expression that yields its number. */
static struct mfu_expression *read_choice(struct mfu_model_builder *b, const struct mfu_attribute *a,
                                          struct mfu_yaml_node *node)
{
    const char *text = mfu_node_text(node);
    struct mfu_expression *e = NULL;
    int choice = text ? find_choice(a, text) : -1;
    double value;

    if (choice >= 0)
        return constant(b, choice);
    if (text && mfu_node_bool(node) < 0)
        e = mfu_expression_compile(&b->model->arena, text, MFU_COUNT, mfu_build_resolve, b, NULL);
    if (e && !mfu_expression_constant(e, &value))
        return e;
    fail_choice(b, a, text ? text : "");
    mfu_node_error(b->yaml, node, b->err);
    return NULL;
}

/* What the primitive assumes when nothing is written. */
static struct mfu_expression *read_initial(struct mfu_model_builder *b, const struct mfu_attribute *a,
                                           struct mfu_yaml_node *op)
{
    int choice = find_choice(a, a->initial);
    struct mfu_expression *e;

    if (choice >= 0)
        return constant(b, choice);
    e = mfu_build_expression(b, a->initial, MFU_COUNT);
    if (!e) {
        if (b->err)
            b->err->column = 0; /* of a text that is not in the file */
        mfu_within(b->err, "it is not given, and is otherwise '%s'", a->initial);
        mfu_node_error(b->yaml, op, b->err);
    }
    return e;
}

static int read_attribute(struct mfu_model_builder *b, const struct mfu_attribute *a, struct mfu_yaml_node *op,
                          struct mfu_expression **into)
{
    struct mfu_yaml_node *node = mfu_node_find(op, a->name);

    if (!node && !a->initial)
        return mfu_node_fail(b->yaml, op, b->err, "'%s' is missing (%s)", a->name, a->help);
    *into = !node    ? read_initial(b, a, op)
        : a->choices ? read_choice(b, a, node)
                     : mfu_build_compile(b, b->yaml, node, MFU_COUNT);
    return *into ? 0 : mfu_within(b->err, "%s", a->name);
}

/* Ops: names and inputs -------------------------------------------------- */

/* The op of that name in a section, among the first `end` ops, or -1. */
static int find_in(const struct mfu_model *m, const struct mfu_model_section *s, const char *name, int end)
{
    for (int i = s->first; i < s->first + s->count && i < end; i++)
        if (m->ops[i].name && strcmp(m->ops[i].name, name) == 0)
            return i;
    return -1;
}

/* Whether ops behind a section can read that op of it: what a repeated section hands on, its last layer's, and all of one that
 * is not repeated or keeps nothing for backward. */
static bool is_seen(const struct mfu_model_section *s, int op)
{
    return !s->repeat || s->apart || op == s->first + s->count - 1;
}

/* Fails because nothing that op `op` can see is called `name`. */
static int fail_reference(struct mfu_model_builder *b, int op, const char *name)
{
    struct mfu_model *m = b->model;
    const struct mfu_model_section *now = &m->sections[m->n_sections - 1];
    const char *names[MFU_MAX_OPS + 1];
    size_t n = 0;

    for (int i = m->n_sections - 1; i >= 0; i--) {
        const struct mfu_model_section *s = &m->sections[i];
        int found = find_in(m, s, name, MFU_MAX_OPS);

        if (found >= op)
            return mfu_fail(b->err, MFU_EINPUT,
                            found == op ? "'%.80s' is this operation itself"
                                        : "'%.80s' comes later; only what is above can be "
                                          "read",
                            name);
        if (found >= 0 && s != now && !is_seen(s, found))
            return mfu_fail(b->err, MFU_EINPUT,
                            "'%.80s' is in '%s', which is repeated; what comes "
                            "out of that is 'input' of the section after it",
                            name, s->name);
        for (int k = s->first; k < op && k < s->first + s->count; k++)
            if (s == now || is_seen(s, k))
                names[n++] = m->ops[k].name;
    }
    names[n++] = "input";
    return mfu_fail_nearest(b->err, name, names, n, "no operation above is called '%.80s'", name);
}

/* The op that `name` means for op `op`: of its own section, else the nearest
 * earlier one that can be seen. -1 with `err` when there is none. */
static int find_op(struct mfu_model_builder *b, int op, const char *name)
{
    struct mfu_model *m = b->model;

    for (int i = m->n_sections - 1; i >= 0; i--) {
        const struct mfu_model_section *s = &m->sections[i];
        int found = find_in(m, s, name, op);

        if (found >= 0 && (i == m->n_sections - 1 || is_seen(s, found)))
            return found;
        if (found >= 0 && m->ops[found].next >= 0)
            return m->ops[found].next;
    }
    return fail_reference(b, op, name);
}

/* "linear reads 1 input, not 2". */
static int fail_inputs(struct mfu_model_builder *b, const struct mfu_primitive *p, int n)
{
    char range[32];

    if (p->inputs[0] == p->inputs[1])
        snprintf(range, sizeof range, "%d", p->inputs[1]);
    else
        snprintf(range, sizeof range, "%d to %d", p->inputs[0], p->inputs[1]);
    return mfu_fail(b->err, MFU_EINPUT, "reads %s input%s, not %d", range, p->inputs[1] == 1 ? "" : "s", n);
}

/* `in: [input, mlp.proj]`. */
static int read_inputs(struct mfu_model_builder *b, struct mfu_yaml_node *in, int op)
{
    struct mfu_model_op *o = &b->model->ops[op];
    struct mfu_yaml_node *each;

    if (mfu_node_type(in) == MFU_SEQUENCE && mfu_node_count(in) == 0)
        return 0; /* what the loader brings */
    if (mfu_node_check_texts(b->yaml, in,
                             "names of operations such as "
                             "[input, mlp.proj]",
                             b->err)
        < 0)
        return mfu_within(b->err, "in");
    for (size_t i = 0; (each = mfu_node_each(in, i)); i++) {
        const char *name = mfu_node_text(each);
        int found = MFU_SECTION_INPUT;

        if (i == MFU_INPUTS || (int)i == o->primitive->inputs[1]) {
            size_t n = mfu_node_count(in);

            fail_inputs(b, o->primitive, n > 0 ? (int)n : 1);
            return mfu_node_error(b->yaml, each, b->err);
        }
        if (strcmp(name, "input") != 0) {
            found = strcmp(name, "kept") == 0 && b->n_kept > 0 ? b->kept[--b->n_kept] : find_op(b, op, name);
            if (found < 0) {
                mfu_within(b->err, "in");
                return mfu_node_error(b->yaml, each, b->err);
            }
        } else if (b->model->n_sections == 1)
            return mfu_node_fail(b->yaml, each, b->err,
                                 "in: the first section is given "
                                 "nothing");
        o->in[o->n_in++] = found;
    }
    return 0;
}

/* The one before it, unless others are named. */
static int connect(struct mfu_model_builder *b, struct mfu_yaml_node *node, int op)
{
    struct mfu_model *m = b->model;
    struct mfu_model_op *o = &m->ops[op];
    const struct mfu_primitive *p = o->primitive;
    struct mfu_yaml_node *in = mfu_node_find(node, "in");
    bool first = op == m->sections[m->n_sections - 1].first;

    if (in && read_inputs(b, in, op) < 0)
        return -1;
    if (!in && p->inputs[1] >= 1 && !(first && m->n_sections == 1))
        o->in[o->n_in++] = first ? MFU_SECTION_INPUT : op - 1;
    if (o->n_in >= p->inputs[0])
        return 0;
    if (in)
        fail_inputs(b, p, o->n_in);
    else if (first && m->n_sections == 1)
        mfu_fail(b->err, MFU_EINPUT,
                 "there is nothing before it to read; a "
                 "model begins with something like an embedding");
    else
        mfu_fail(b->err, MFU_EINPUT, "reads %d inputs; name them, as in in: [input, mlp.proj]", p->inputs[0]);
    return mfu_node_error(b->yaml, in ? in : node, b->err);
}

static int read_shares(struct mfu_model_builder *b, struct mfu_yaml_node *node, int op)
{
    struct mfu_model_op *ops = b->model->ops;
    struct mfu_yaml_node *shares = mfu_node_find(node, "shares");
    const char *name = shares ? mfu_node_text(shares) : NULL;
    int target;

    ops[op].shares = -1;
    if (!shares)
        return 0;
    target = find_op(b, op, name ? name : "");
    if (target >= 0) {
        const struct mfu_primitive *from = ops[target].primitive;
        const struct mfu_primitive *to = ops[op].primitive;

        if (!from->params || !to->params)
            target = mfu_fail(b->err, MFU_EINPUT, "%s has no weight that could be shared",
                              from->params ? to->name : from->name);
    }
    if (target < 0) {
        mfu_within(b->err, "shares");
        return mfu_node_error(b->yaml, shares, b->err);
    }
    ops[op].shares = ops[target].shares >= 0 ? ops[target].shares : target;
    return 0;
}

/* `next`: an op of the same section, for the layer after. */
static int read_next(struct mfu_model_builder *b, struct mfu_yaml_node *node, int op)
{
    struct mfu_model *m = b->model;
    const struct mfu_model_section *s = &m->sections[m->n_sections - 1];
    struct mfu_yaml_node *next = mfu_node_find(node, "next");
    const char *name = next ? mfu_node_text(next) : NULL;
    bool carries = m->ops[op].primitive->traits & MFU_CHOOSES && m->ops[op].primitive->inputs[1] == 1;

    m->ops[op].next = name ? find_in(m, s, name, MFU_MAX_OPS) : -1;
    if (carries ? m->ops[op].next >= 0 && m->ops[op].next != op : !next)
        return 0;
    return mfu_node_fail(b->yaml, next ? next : node, b->err, "next: %s",
                         carries ? "a carry names an operation of its section, which the layer after reads"
                                 : "only a carry hands something to the layer after");
}

/* Names that are not given: "add", "add2", "add3" ... */
static int make_name(struct mfu_model_builder *b, int op)
{
    struct mfu_model *m = b->model;
    const struct mfu_model_section *s = &m->sections[m->n_sections - 1];
    const char *kind = m->ops[op].primitive->name;
    char name[MFU_NAME_MAX + 12];

    snprintf(name, sizeof name, "%.*s", MFU_NAME_MAX - 1, kind);
    for (int i = 2; find_in(m, s, name, MFU_MAX_OPS) >= 0; i++)
        snprintf(name, sizeof name, "%.*s%d", MFU_NAME_MAX - 1, kind, i);
    m->ops[op].name = mfu_arena_copy(&m->arena, name, strlen(name));
    return m->ops[op].name ? 0 : mfu_build_no_memory(b);
}

/* The module that an operation's name begins with, of which there is one string. */
static const char *module_of(struct mfu_model *m, const char *name, size_t length, int op)
{
    for (int i = op - 1; i >= 0; i--) {
        const char *module = m->ops[i].module;

        if (module && strncmp(module, name, length) == 0 && module[length] == '\0')
            return module;
    }
    return mfu_arena_copy(&m->arena, name, length);
}

/* The name that is given, if one is. */
static int read_name(struct mfu_model_builder *b, struct mfu_yaml_node *node, int op)
{
    struct mfu_model *m = b->model;
    struct mfu_model_op *o = &m->ops[op];
    const struct mfu_model_section *s = &m->sections[m->n_sections - 1];
    struct mfu_yaml_node *given = mfu_node_find(node, "name");
    const char *name = given ? mfu_node_text(given) : NULL, *dot;

    if (!given)
        return 0;
    if (!name || !mfu_build_is_name(name, ".-") || strcmp(name, "input") == 0 || strcmp(name, "kept") == 0)
        mfu_fail(b->err, MFU_EINPUT, "'%.80s' cannot be the name of an operation", name ? name : "");
    else if (find_in(m, s, name, MFU_MAX_OPS) >= 0)
        mfu_fail(b->err, MFU_EINPUT,
                 "'%s' is already the name of another "
                 "operation of this section",
                 name);
    else {
        dot = strchr(name, '.');
        o->name = mfu_arena_copy(&m->arena, name, strlen(name));
        o->module = dot ? module_of(m, name, (size_t)(dot - name), op) : NULL;
        return o->name && (o->module || !dot) ? 0 : mfu_build_no_memory(b);
    }
    return mfu_node_error(b->yaml, given, b->err);
}

/* Ops and sections ------------------------------------------------------- */

/* What an op is and what it is called, before anything refers to it. */
static int begin_op(struct mfu_model_builder *b, struct mfu_yaml_node *node, int op)
{
    struct mfu_yaml_node *kind = mfu_node_find(node, "op");

    if (!kind)
        return mfu_node_fail(b->yaml, node, b->err,
                             "expected an operation such as "
                             "{op: linear, name: mlp.fc, width: d_ff}");
    b->model->ops[op].primitive = find_primitive(b, kind);
    if (!b->model->ops[op].primitive)
        return -1;
    return read_name(b, node, op);
}

static int read_condition(struct mfu_model_builder *b, struct mfu_yaml_node *node, const char *key,
                          struct mfu_expression **out)
{
    struct mfu_yaml_node *value = mfu_node_find(node, key);

    if (!value)
        return 0;
    *out = mfu_build_compile(b, b->yaml, value, MFU_COUNT);
    return *out ? 0 : mfu_within(b->err, "%s", key);
}

static int finish_op(struct mfu_model_builder *b, struct mfu_yaml_node *node, int op)
{
    struct mfu_model_op *o = &b->model->ops[op];
    const struct mfu_attribute *attributes = o->primitive->attributes;

    if (check_op_keys(b, node, o->primitive) < 0 || connect(b, node, op) < 0 || read_shares(b, node, op) < 0
        || read_next(b, node, op) < 0 || read_condition(b, node, "when", &o->when) < 0
        || read_condition(b, node, "again", &o->again) < 0)
        return -1;
    for (int i = 0; i < MFU_ATTRIBUTES && attributes[i].name; i++)
        if (read_attribute(b, &attributes[i], node, &o->attribute[i]) < 0)
            return -1;
    return 0;
}

static int read_ops(struct mfu_model_builder *b, struct mfu_yaml_node *list)
{
    struct mfu_model *m = b->model;
    struct mfu_model_section *s = &m->sections[m->n_sections - 1];
    size_t n = mfu_node_count(list);

    if (mfu_node_type(list) != MFU_SEQUENCE || n == 0)
        return mfu_node_fail(b->yaml, list, b->err, "ops: expected a list of operations");
    if (n > (size_t)(MFU_MAX_OPS - m->n_ops))
        return mfu_node_fail(b->yaml, list, b->err, "more than %d operations", MFU_MAX_OPS);
    s->first = m->n_ops;
    s->count = (int)n;
    m->n_ops += (int)n;
    for (size_t i = 0; i < n; i++)
        if (begin_op(b, mfu_node_item(list, i), s->first + (int)i) < 0)
            return -1;
    for (int i = s->first; i < m->n_ops; i++)
        if (!m->ops[i].name && make_name(b, i) < 0)
            return -1;
    for (size_t i = 0; i < n; i++) {
        const struct mfu_model_op *o = &m->ops[s->first + (int)i];

        if (finish_op(b, mfu_node_item(list, i), s->first + (int)i) < 0)
            return mfu_within(b->err, "%s '%s'", o->primitive->name, o->name);
    }
    return 0;
}

/* The operations of a section: its own, or those of the one that it is like, in this list or in the graph of a file of the chain
 * behind this one, which becomes the builder's. */
static struct mfu_yaml_node *find_ops(struct mfu_model_builder *b, struct mfu_yaml_node *graph,
                                      struct mfu_yaml_node *section)
{
    struct mfu_yaml_node *like = mfu_node_find(section, "like"), *other, *name, *ops = NULL;
    const char *wanted = like ? mfu_node_text(like) : NULL, *text;
    struct mfu_yaml *own = b->yaml;

    if (!wanted)
        return mfu_node_find(section, "ops");
    for (int f = -1; f < b->n_files && !ops; f++) {
        if (f >= 0) {
            b->yaml = b->chain[f].yaml;
            graph = mfu_node_find(mfu_yaml_root(b->yaml), "graph");
        }
        for (size_t i = 0; graph && !ops && (other = mfu_node_item(graph, i)); i++)
            if ((name = mfu_node_find(other, "name")) && (text = mfu_node_text(name)) && strcmp(text, wanted) == 0)
                ops = mfu_node_find(other, "ops");
    }
    b->yaml = ops ? b->yaml : own;
    return ops;
}

/* OURS: THE OTHER, both of them dims. */
static int check_with(struct mfu_model_builder *b)
{
    struct mfu_yaml_node *node;

    if (b->with && mfu_node_type(b->with) != MFU_MAPPING)
        return mfu_node_fail(b->with_file, b->with, b->err, "with: expected dims, such as {window: no_window}");
    for (size_t i = 0; b->with && (node = mfu_node_value(b->with, i)); i++) {
        const char *text = mfu_node_text(node);

        if (mfu_model_dim_find(b->model, mfu_node_key(b->with, i), b->err) < 0
            || mfu_model_dim_find(b->model, text ? text : "", b->err) < 0) {
            mfu_within(b->err, "with");
            return mfu_node_error(b->with_file, node, b->err);
        }
    }
    return 0;
}

/* What a section says as 1 or 0, which it need not (0); returns its place, that of the section without it, NULL: neither. */
static struct mfu_yaml_node *read_switch(struct mfu_model_builder *b, struct mfu_yaml_node *section, const char *key,
                                         bool *is)
{
    struct mfu_yaml_node *node = mfu_node_find(section, key);
    const char *text = node && mfu_node_plain(node) ? mfu_node_text(node) : NULL;

    *is = text && strcmp(text, "1") == 0;
    if (!node || *is || (text && strcmp(text, "0") == 0))
        return node ? node : section;
    mfu_fail(b->err, MFU_EINPUT, "%s: expected 1 or 0", key);
    mfu_node_error(b->yaml, node, b->err);
    return NULL;
}

static int read_section(struct mfu_model_builder *b, struct mfu_yaml_node *graph, struct mfu_yaml_node *node)
{
    static const char *const others[] = {"repeat", "apart", "ops", "like", "with", "keep", "shares", "module", NULL};
    struct mfu_model *m = b->model;
    struct mfu_model_section *s = &m->sections[m->n_sections];
    char name[MFU_NAME_MAX];
    const struct mfu_field fields[] = {
        {"name", MFU_FIELD_TEXT, .size = sizeof name, .required = 1},
        {.key = NULL},
    };
    struct mfu_yaml_node *repeat, *apart, *ops, *keep, *module;
    bool keeps;
    struct mfu_yaml *own = b->yaml;

    if (mfu_node_fields(b->yaml, node, fields, others, name, b->err) < 0)
        return -1;
    for (int i = 0; i < m->n_sections; i++)
        if (strcmp(m->sections[i].name, name) == 0)
            return mfu_node_fail(b->yaml, mfu_node_find(node, "name"), b->err, "a second section is called '%s'", name);
    if (!mfu_build_is_name(name, ".-"))
        return mfu_node_fail(b->yaml, mfu_node_find(node, "name"), b->err, "'%s' cannot be the name of a section",
                             name);
    if (!(keep = read_switch(b, node, "keep", &keeps)) || !read_switch(b, node, "shares", &s->shares)
        || !(module = read_switch(b, node, "module", &s->module)))
        return -1;
    repeat = mfu_node_find(node, "repeat");
    if (repeat && s->module)
        return mfu_node_fail(b->yaml, module, b->err,
                             "module: this section repeats, and each of its layers is a module as it is");
    apart = mfu_node_find(node, "apart");
    s->name = mfu_arena_copy(&m->arena, name, strlen(name));
    if (!s->name)
        return mfu_build_no_memory(b);
    if (repeat && !(s->repeat = mfu_build_compile(b, b->yaml, repeat, MFU_COUNT)))
        return mfu_within(b->err, "repeat");
    if (apart && !(s->apart = mfu_build_compile(b, b->yaml, apart, MFU_COUNT)))
        return mfu_within(b->err, "apart");
    if (!(ops = find_ops(b, graph, node)))
        return mfu_node_fail(b->yaml, node, b->err, "'ops' is missing, or 'like' names no section with ops");
    m->n_sections++;
    b->with = mfu_node_find(node, "with");
    b->with_file = own;
    repeat = check_with(b) < 0 || read_ops(b, ops) < 0 ? NULL : ops;
    b->with = NULL;
    b->yaml = own;
    if (!repeat || !keeps)
        return repeat ? 0 : -1;
    b->kept_at[b->n_kept] = (struct mfu_model_place){own, keep};
    b->kept[b->n_kept++] = s->first + s->count - 1;
    return 0;
}

/* The sections of a list, numbers `from` to `to` - 1. */
static int read_sections(struct mfu_model_builder *b, struct mfu_yaml_node *graph, size_t from, size_t to)
{
    struct mfu_yaml_node *node;

    for (size_t i = from; i < to && (node = mfu_node_item(graph, i)); i++) {
        if (b->model->n_sections == MFU_MAX_SECTIONS)
            return mfu_node_fail(b->yaml, node, b->err, "more than %d sections", MFU_MAX_SECTIONS);
        if (read_section(b, graph, node) < 0)
            return -1;
    }
    return 0;
}

/* The nearest list of sections of that name from file `i` of the chain on, if there is one (else NULL), whose file becomes the
 * builder's; returns that file's number, or -1. */
static int find_list(struct mfu_model_builder *b, int i, const char *name, struct mfu_yaml_node **list)
{
    for (*list = NULL; i < b->n_files && !*list; i += !*list) {
        b->yaml = b->chain[i].yaml;
        *list = mfu_node_find(mfu_yaml_root(b->yaml), name);
    }
    if (!*list || (mfu_node_type(*list) == MFU_SEQUENCE && mfu_node_count(*list) > 0))
        return i;
    return mfu_node_fail(b->yaml, *list, b->err, "%s: expected a list of sections", name);
}

int mfu_build_graph(struct mfu_model_builder *b)
{
    struct mfu_yaml_node *before, *inserted, *graph;

    if (find_list(b, 0, "graph", &graph) < 0)
        return -1;
    if (!graph)
        return mfu_node_fail(b->yaml, mfu_yaml_root(b->yaml), b->err, "'graph' is missing, and so is 'extends'");
    for (int i = 0; i < b->n_files; i++)
        if ((i = find_list(b, i, "before", &before)) < 0 || (before && read_sections(b, before, 0, SIZE_MAX) < 0))
            return -1;
    if (find_list(b, 0, "graph", &graph) < 0 || read_sections(b, graph, 0, 1) < 0
        || find_list(b, 0, "inserted", &inserted) < 0 || (inserted && read_sections(b, inserted, 0, SIZE_MAX) < 0)
        || find_list(b, 0, "graph", &graph) < 0 || read_sections(b, graph, 1, SIZE_MAX) < 0)
        return -1;
    if (b->n_kept > 0)
        return mfu_node_fail(b->kept_at[b->n_kept - 1].yaml, b->kept_at[b->n_kept - 1].node, b->err,
                             "keep: no operation behind it takes this as 'kept'");
    for (int i = 0; i < b->model->n_ops; i++)
        b->model->ops[i].module_kind = mfu_module_kind(&b->model->ops[i]);
    return 0;
}
