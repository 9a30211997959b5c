/*
 * frozen.c - which weights train, and how the others are held: by what they are for
 * (descriptor/module_kinds.h) and by the row of the base (scenario/adapter.h).
 */
#include "graph/frozen.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/module_kinds.h"
#include "graph/adapter_tape.h"
#include "graph/builder_private.h"
#include "graph/stage.h"
#include "scenario/adapter.h"
#include "scenario/optimizer.h"
#include "scenario/setting.h"

static unsigned set_of(const struct mfu_builder *s, enum mfu_setting_id id)
{
    return (unsigned)s->config->setting[id];
}

static const struct mfu_model_section *section_of(const struct mfu_builder *s, int op)
{
    return &s->config->model->sections[s->section_of[op]];
}

/* Layers before those of the section that is cut, by which people number them; NAN: others stand between or behind. */
static double first_of_cut(const struct mfu_builder *s)
{
    const struct mfu_model *m = s->config->model;
    double others = mfu_config_dim(s->config, "n_layer") - mfu_cut_layers(s), before = 0;

    for (int i = 0; strcmp(m->sections[i].name, mfu_cut_name(s->config)) != 0; i++)
        before += m->sections[i].repeat ? mfu_repeats(s->config, &m->sections[i]) : 0;
    return others == 0 || others == before ? others : NAN;
}

struct mfu_frozen_layers mfu_frozen_layers(const struct mfu_builder *s, const char *section, bool of_rank)
{
    const struct mfu_config *c = s->config;
    double train = c->setting[MFU_S_TRAINABLE_LAYERS], from = c->setting[MFU_S_TRAINABLE_FROM], all = mfu_cut_layers(s);
    struct mfu_frozen_layers f = {0};

    if (train == 0 || all <= 1 || strcmp(section, mfu_cut_name(c)) != 0)
        return f;
    f.before = from < 0 ? fmax(all - train, 0) : from - first_of_cut(s);
    f.behind = fmax(all - f.before - train, 0);
    f.all = f.before + f.behind;
    if (!of_rank || s->stages <= 1)
        return f;
    f.behind = mfu_rank_layers_below(c, all, s->stage, all) - mfu_rank_layers_below(c, all, s->stage, all - f.behind);
    f.before = mfu_rank_layers_below(c, all, s->stage, f.before);
    f.all = f.before + f.behind;
    return f;
}

static int check_layers(const struct mfu_builder *s, struct mfu_error *err)
{
    const struct mfu_model *m = s->config->model;
    const double *set = s->config->setting;
    double from = set[MFU_S_TRAINABLE_FROM], first = first_of_cut(s), last = first + mfu_cut_layers(s) - 1;

    for (int i = 0; i < m->n_sections && set[MFU_S_TRAINABLE_LAYERS] > 0; i++)
        if (m->sections[i].shares)
            return mfu_fail(err, MFU_EINPUT, "trainable_layers: layers of %s have one set of weights", m->slug);
    if (from < 0 || (from >= first && from + set[MFU_S_TRAINABLE_LAYERS] - 1 <= last))
        return 0;
    return isnan(first) ? mfu_fail(err, MFU_EINPUT,
                                   "trainable_from: numbers of layers of %s, which has several kinds of "
                                   "them, are not modelled (set trainable_from -1)",
                                   m->slug)
                        : mfu_fail(err, MFU_EINPUT,
                                   "trainable_from: layers %g to %g of %s, which can train as a few, "
                                   "are %g to %g",
                                   from, from + set[MFU_S_TRAINABLE_LAYERS] - 1, m->slug, first, last);
}

/* What is around layers of which only the last train does so where it is named; a tower's biases are its own. */
static bool trains(const struct mfu_builder *s, int op, int which, bool frozen)
{
    const struct mfu_config *c = s->config;
    unsigned bits = 1u << c->model->ops[op].module_kind;

    if (which && !(bits & (MFU_MODULE_BIT(VISION) | MFU_MODULE_BIT(PROJECTOR))))
        bits |= MFU_MODULE_BIT(BIASES);
    if (which && mfu_adapted(s, op, frozen))
        bits |= MFU_MODULE_BIT(ADAPTED_BIASES);
    if (frozen
        || (c->setting[MFU_S_TRAINABLE_LAYERS] > 0 && c->setting_origin[MFU_S_TRAINABLE] != MFU_ORIGIN_USER
            && !section_of(s, op)->repeat))
        return false;
    return (set_of(s, MFU_S_TRAINABLE) & bits) != 0;
}

/* Of layers, and what else is an nn.Linear: not the head, nor experts, whose weights stand in one tensor. */
static bool is_linear(const struct mfu_builder *s, int op)
{
    int kind = s->config->model->ops[op].module_kind;

    return (1u << kind & MFU_MODULE_ALL_LINEAR) != 0
        || (kind == MFU_MODULE_OTHERS && mfu_is(&s->operations[op], MFU_ADAPTABLE));
}

/* The type of a weight by what reads it: a product whose operands are quantised has one of its own. */
static enum mfu_type type_of(const struct mfu_builder *s, int op, int which)
{
    struct mfu_node n;

    if (s->numerics.product == s->numerics.weight || which != 0 || !mfu_is(&s->operations[op], MFU_ADAPTABLE))
        return s->numerics.weight;
    n = (struct mfu_node){.op = &s->operations[op], .section = section_of(s, op)->name};
    return mfu_makes_logits(s, &n) ? s->numerics.weight : s->numerics.product;
}

/* Looks up tokens, not positions. */
static bool is_table_of_tokens(const struct mfu_builder *s, int i)
{
    const struct mfu_operation *op = &s->operations[i];

    return mfu_is(op, MFU_LOOKS_UP) && s->config->model->ops[i].n_in == 0
        && !(op->primitive->has_position && op->primitive->has_position(op));
}

struct mfu_held mfu_held(const struct mfu_builder *s, int op, int which, bool frozen)
{
    const struct mfu_base_row *base = &mfu_bases[(int)s->config->setting[MFU_S_BASE]];
    struct mfu_held h = {.type = type_of(s, op, which), .trains = trains(s, op, which, frozen)};
    struct mfu_weights w = s->operations[op].primitive->params(&s->operations[op]);
    double apart = mfu_apart(s->config, section_of(s, op));
    double block = s->config->setting[MFU_S_QUANT_BLOCK];
    bool linear = is_linear(s, op) || s->config->model->ops[op].module_kind == MFU_MODULE_EXPERTS;

    if (apart > 0)
        return (struct mfu_held){.type = mfu_numerics_apart(s->config, apart > 1).weight};
    h.trains &= !w.fixed;
    if (which == 1 && mfu_trained_rows(&s->operations[op]) > 0)
        return (struct mfu_held){.type = mfu_adapter_type(s), .trains = !frozen};
    if (base->quantised && !h.trains && which == 0 && linear)
        h.packed = base, h.packed_bytes = base->code + base->scale / (block > 0 ? block : base->block);
    else if (s->config->setting[MFU_S_FP32_REST] > 0)
        h.type = MFU_F32;
    return h;
}

static const struct mfu_method_row *method_of(const struct mfu_builder *s)
{
    return &mfu_methods[(int)s->config->setting[MFU_S_ADAPTER]];
}

bool mfu_adapts_keys(const struct mfu_builder *s)
{
    return method_of(s)->place == MFU_ADAPTS_KEYS;
}

/* The kinds of an operation: words that are looked up for tokens, or products. */
static bool takes_adapter(const struct mfu_builder *s, int i)
{
    const struct mfu_operation *op = &s->operations[i];
    unsigned targets;

    if (mfu_apart(s->config, section_of(s, i)) > 0)
        return false;
    switch (method_of(s)->place) {
    case MFU_ADAPTS_TOKENS:
    case MFU_ADAPTS_KEYS: return is_table_of_tokens(s, i);
    case MFU_ADAPTS_RESULT:
    case MFU_ADAPTS_SCALE:
    case MFU_ADAPTS_INPUT:
    case MFU_ADAPTS_WEIGHT:
        targets = set_of(s, MFU_S_LORA_TARGETS);
        return mfu_is(op, MFU_ADAPTABLE)
            && ((targets & 1u << s->config->model->ops[i].module_kind) != 0
                || ((targets & MFU_MODULE_ALL_LINEAR) == MFU_MODULE_ALL_LINEAR && is_linear(s, i)));
    default: return false;
    }
}

bool mfu_adapted(const struct mfu_builder *s, int op, bool frozen)
{
    return s->config->setting[MFU_S_LORA] > 0 && (!frozen || mfu_method_precedes(method_of(s))) && !s->left_out[op]
        && takes_adapter(s, op);
}

bool mfu_adapter_in_front(const struct mfu_builder *s, int op)
{
    return method_of(s)->place == MFU_ADAPTS_INPUT
        || (method_of(s)->place == MFU_ADAPTS_SCALE
            && (set_of(s, MFU_S_IA3_INPUTS) & 1u << s->config->model->ops[op].module_kind) != 0);
}

bool mfu_adapter_replaces(const struct mfu_builder *s)
{
    return method_of(s)->place == MFU_ADAPTS_WEIGHT;
}

/* Elements of keys and values per token in each of `layers` layers; NAN where these differ, or keys are not before those of
 * the whole sequence: behind an encoder, of a latent, in a layer without attention. */
static double keys_of_layers(const struct mfu_builder *s, double *layers)
{
    const struct mfu_model *m = s->config->model;
    double elements = 0;

    *layers = 0;

    for (int i = 0; i < m->n_sections; i++)
        for (int k = m->sections[i].first; k < m->sections[i].first + m->sections[i].count; k++) {
            const struct mfu_operation *op = &s->operations[k];
            double own = s->left_out[k] || !op->primitive->key_elements ? 0 : op->primitive->key_elements(op);
            bool takes;

            if (own == 0)
                continue;
            takes = m->ops[k].n_in <= MFU_PREFIX && op->primitive->takes_prefix(op);
            elements = takes && (elements == 0 || elements == own) ? own : NAN;
            *layers += mfu_stage_repeats(s, i);
        }
    return *layers == mfu_config_dim(s->config, "n_layer") ? elements : NAN;
}

/* The adapter of an operation, by the method. */
static struct mfu_operation adapter(const struct mfu_builder *s, int i)
{
    const struct mfu_method_row *method = method_of(s);
    const struct mfu_operation *op = &s->operations[i];
    const double *set = s->config->setting;
    bool front = mfu_adapter_in_front(s, i);
    struct mfu_operation a = {.primitive = method->form == MFU_FORM_STEPS ? &mfu_primitive_adapter_method
                                                                          : &mfu_primitive_adapter,
                              .name = op->name,
                              .attribute = {set[MFU_S_LORA], op->out_width, set[MFU_S_DORA], set[MFU_S_LORA]},
                              .in_width = {op->in_width[0], op->out_width},
                              .out_width = op->out_width};

    if (method->form == MFU_FORM_STEPS) {
        a.attribute[MFU_ADAPTER_WIDTH] = a.out_width = front ? op->in_width[0] : op->out_width;
        a.attribute[MFU_ADAPTER_MORE] = set[MFU_S_ADAPTER];
        a.attribute[MFU_ADAPTER_INNER] = method->takes & MFU_TAKES_FACTOR ? set[MFU_S_LOKR_FACTOR]
            : method->takes & MFU_TAKES_INPUTS                            ? front
                                                                          : set[MFU_S_ADAPTER_BLOCKS];
        return a;
    }
    if (mfu_method_precedes(method)) {
        bool keys = mfu_adapts_keys(s);
        double layers = 0, elements = keys ? keys_of_layers(s, &layers) : 0;

        a.primitive = &mfu_primitive_adapter_tokens;
        a.in_width[0] = op->out_width;
        a.attribute[MFU_ADAPTER_WIDTH] = elements;
        a.attribute[MFU_ADAPTER_MORE] = set[MFU_S_PROMPT_ENCODER] > 0 ? set[MFU_S_PROMPT_ENCODER]
            : method->encoder                                         ? op->out_width
                                                                      : 0;
        a.attribute[MFU_ADAPTER_MORE + 1] = layers;
        if (keys) /* an MLP makes them of as much as one layer's keys; or they are learned themselves */
            a.in_width[0] = a.attribute[MFU_ADAPTER_MORE] > 0 ? elements / 2 : layers * elements;
    }
    return a;
}

/* A sequence and what is learned before it have a row each in a learned table of positions.  A table that the model makes as
 * long as its sequences was trained with as many rows as its own have. */
static int check_positions(const struct mfu_builder *s, struct mfu_error *err)
{
    const struct mfu_config *c = s->config;
    const struct mfu_model *m = c->model;
    int rows = mfu_model_dim_find(m, "n_positions", NULL), seq = mfu_model_dim_find(m, "seq", NULL);
    double values[MFU_MAX_DIMS], most;
    bool learned = false;

    for (int i = 0; i < m->n_ops; i++) {
        const struct mfu_operation *op = &s->operations[i];

        learned |= !s->left_out[i] && mfu_is(op, MFU_LOOKS_UP) && op->primitive->has_position
            && op->primitive->has_position(op) && !op->primitive->params(op).fixed;
    }
    if (!learned || seq < 0)
        return 0;
    mfu_model_dim_values(m, values);
    most = rows >= 0 && c->dim_origin[rows] == MFU_ORIGIN_USER ? c->dim[rows] : values[seq];
    if (c->seq + c->setting[MFU_S_LORA] <= most)
        return 0;
    return mfu_fail(
        err, MFU_EINPUT,
        "adapter: %s: %.0f learned before %.0f tokens are more than the %.0f positions of %s (set seq %.0f)",
        method_of(s)->name, c->setting[MFU_S_LORA], c->seq, most, m->slug, fmax(most - c->setting[MFU_S_LORA], 1));
}

static void set_trained_rows(struct mfu_operation *op, double rows)
{
    const struct mfu_attribute *a = op->primitive->attributes;

    for (int i = 0; i < MFU_ATTRIBUTES && a[i].name; i++)
        if (strcmp(a[i].name, MFU_TRAINED_ROWS) == 0)
            op->attribute[i] = rows;
}

/* Rows of the table of tokens train, here and where a product has the same weight. */
static int find_trained_rows(struct mfu_builder *s, struct mfu_error *err)
{
    const struct mfu_model *m = s->config->model;
    double rows = s->config->setting[MFU_S_TRAINABLE_TOKENS];
    int table = -1, n = 0;

    for (int i = 0; i < m->n_ops && rows > 0; i++)
        if (!s->left_out[i] && is_table_of_tokens(s, i) && mfu_apart(s->config, section_of(s, i)) == 0)
            table = i, n++;
    if (rows == 0)
        return 0;
    if (n != 1)
        return mfu_fail(err, MFU_EINPUT, "trainable_tokens: %s has %d tables of tokens: one is modelled", m->slug, n);
    if (rows > s->operations[table].attribute[0])
        return mfu_fail(err, MFU_EINPUT, "trainable_tokens: %.0f are more than the %.0f of %s", rows,
                        s->operations[table].attribute[0], m->slug);
    if (set_of(s, MFU_S_TRAINABLE) & MFU_MODULE_BIT(EMBEDDINGS))
        return mfu_fail(err, MFU_EINPUT, "trainable_tokens: all tokens train (set trainable_tokens 0)");
    set_trained_rows(&s->operations[table], rows);
    for (int i = 0; i < m->n_ops; i++)
        if (m->ops[i].shares == table && !s->left_out[i] && mfu_shares_weight(s, i))
            set_trained_rows(&s->operations[i], rows);
    return 0;
}

int mfu_evaluate_adapters(struct mfu_builder *s, struct mfu_error *err)
{
    const struct mfu_model *m = s->config->model;
    struct mfu_operation last = {0};
    char targets[MFU_QUANTITY_MAX];
    double in = 0, width = 0, layers = 0;
    int n = 0;

    s->shared_adapters = s->shared_trained = 0;
    if (check_layers(s, err) < 0 || find_trained_rows(s, err) < 0)
        return -1;
    if (s->config->setting[MFU_S_LORA] == 0 || method_of(s)->place == MFU_ADAPTS_NOTHING)
        return 0;
    if (!mfu_method_precedes(method_of(s))
        && set_of(s, MFU_S_LORA_TARGETS) & (MFU_MODULE_BIT(EXPERTS) | MFU_MODULE_BIT(HEAD)))
        return mfu_fail(err, MFU_EINPUT, "lora_targets: adapters of experts and of the head are not modelled");
    for (int i = 0; i < m->n_ops; i++)
        if (mfu_adapted(s, i, false)) {
            s->operations[MFU_MAX_OPS + i] = adapter(s, i);
            if (method_of(s)->form == MFU_FORM_STEPS) {
                struct mfu_tape_weights w = mfu_adapter_method_weights(&s->operations[MFU_MAX_OPS + i]);

                if (w.uneven)
                    return mfu_fail(
                        err, MFU_EINPUT,
                        "adapter: %s does not suit %s of %s: its size is more than %.0f inputs and %.0f outputs have, "
                        "or its blocks do not divide them",
                        method_of(s)->name, m->ops[i].name, m->slug, s->operations[i].in_width[0],
                        s->operations[i].out_width);
                last = s->operations[MFU_MAX_OPS + i];
            }
            in = fmax(in, s->operations[i].in_width[0]);
            width = fmax(width, s->operations[i].out_width);
            n++;
        }
    if (method_of(s)->form == MFU_FORM_STEPS && n > 0) { /* matrices of all are as large as the largest product */
        struct mfu_tape_weights w;

        last.in_width[0] = in;
        last.attribute[MFU_ADAPTER_WIDTH] = last.out_width = width;
        w = mfu_adapter_method_weights(&last);
        s->shared_adapters = w.shared * mfu_type_bytes[mfu_adapter_type(s)];
        s->shared_trained = w.shared_trains;
    }
    if (mfu_adapts_keys(s) && (isnan(keys_of_layers(s, &layers)) || !mfu_model_writes(m)))
        return mfu_fail(
            err, MFU_EINPUT,
            "adapter: %s of %s, whose layers or whose keys and values differ, or which writes no text, is not modelled",
            method_of(s)->name, m->slug);
    if (mfu_method_precedes(method_of(s)) && n != 1)
        return mfu_fail(err, MFU_EINPUT, "adapter: %s of %s, which has %d embeddings of tokens, is not modelled",
                        method_of(s)->name, m->slug, n);
    if (mfu_method_precedes(method_of(s)))
        return check_positions(s, err);
    if (n > 0)
        return 0;
    return mfu_fail(err, MFU_EINPUT, "lora_targets: %s has no linear of the kinds %s", m->slug,
                    mfu_modules_format(targets, sizeof targets, set_of(s, MFU_S_LORA_TARGETS)));
}

/* Adds one tensor. */
static void hold(struct mfu_op_size *z, double elements, double bytes, bool trained)
{
    z->params += elements;
    z->bytes += elements * bytes;
    z->tensors += elements > 0;
    if (!trained)
        return;
    z->trained += elements;
    z->trained_bytes += elements * bytes;
    z->trained_tensors += elements > 0;
    z->largest_trained = z->largest_trained > elements ? z->largest_trained : elements;
    z->large_trained += elements >= MFU_PAGED_ELEMENTS ? elements : 0;
}

struct mfu_op_size mfu_op_size(const struct mfu_builder *s, int op, bool shares, bool frozen)
{
    struct mfu_weights w = s->operations[op].primitive->params(&s->operations[op]);
    struct mfu_op_size z = {0};

    for (int which = 0; which < 2; which++) {
        struct mfu_held h = mfu_held(s, op, which, frozen);
        double elements = which ? w.bias : shares ? 0 : w.weight;

        hold(&z, elements, h.packed ? h.packed_bytes : mfu_type_bytes[h.type], h.trains);
        /* peft's modules_to_save trains a copy and keeps what it copied; biases train where they are. */
        z.summed += h.trains && s->summed[op][which] ? elements : 0;
        if (h.trains && s->config->setting[MFU_S_LORA] > 0
            && set_of(s, MFU_S_TRAINABLE) & 1u << s->config->model->ops[op].module_kind)
            hold(&z, elements, mfu_type_bytes[h.type], false);
        if (which == 1 && mfu_trained_rows(&s->operations[op]) > 0)
            z.bytes += elements * mfu_type_bytes[h.type]; /* as they were */
    }
    if (mfu_adapted(s, op, frozen) && !(shares && mfu_adapted(s, s->config->model->ops[op].shares, frozen))) {
        const struct mfu_operation *a = &s->operations[MFU_MAX_OPS + op];
        double bytes = mfu_type_bytes[mfu_adapter_type(s)];

        w = a->primitive->params(a);
        hold(&z, w.weight, bytes, true);
        hold(&z, w.bias, bytes, true);
        z.summed += s->split[op] == MFU_SPLIT_NONE && s->summed[op][0] ? w.weight + w.bias : 0;
        if (method_of(s)->form == MFU_FORM_STEPS) {
            struct mfu_tape_weights more = mfu_adapter_method_weights(a);

            hold(&z, more.kept, bytes, false);
            z.bytes += 4 * more.fixed;
        }
        z.tensors += 1, z.trained_tensors += 1; /* A and B stand in one place */
    }
    return z;
}
