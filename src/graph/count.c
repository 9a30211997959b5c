/*
 * count.c - the operations of a model for one scenario: their attributes and
 * widths, and how many parameters they have.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/module_kinds.h"
#include "graph/builder_private.h"
#include "graph/frozen.h"
#include "graph/layers.h"
#include "graph/stage.h"
#include "scenario/setting.h"

/* ---- operations and parameters of a scenario ---------------------------- */

static size_t count_choices(const char *const *choices)
{
    size_t n = 0;

    while (choices && choices[n])
        n++;
    return n;
}

int mfu_fail_images(const struct mfu_config *c, double tokens, struct mfu_error *err)
{
    double image = mfu_config_dim(c, "image"), patch = mfu_config_dim(c, "patch"), merge = mfu_config_dim(c, "merge");
    double unit = patch * (merge > 1 ? merge : 1);

    if (tokens > c->seq)
        return mfu_fail(err, MFU_EINPUT,
                        "seq: the images of a sequence are %.0f tokens, and it has %.0f (set seq %.0f)", tokens, c->seq,
                        tokens + 1);
    if (!(image > 0 && unit > 0))
        return mfu_fail(err, MFU_EINPUT, "%s: the images of a sequence are %g tokens", c->model->slug, tokens);
    return mfu_fail(err, MFU_EINPUT, "image: images of %.0f pixels are %g tokens, in whole patches (set image %.0f)",
                    image, tokens, fmax(round(image / unit), 1) * unit);
}

/* The dim that an expression reads first, of those that were set where any was; the model where it reads none. */
static const char *read_by(const struct mfu_config *c, const struct mfu_expression *e)
{
    int dims[MFU_MAX_DIMS], best = -1;
    size_t n = mfu_expression_slots(e, dims, MFU_MAX_DIMS);

    for (size_t i = 0; i < n && i < MFU_MAX_DIMS; i++)
        if (best < 0 || (c->scenario->dim_given[dims[i]] && !c->scenario->dim_given[best]))
            best = dims[i];
    return best < 0 ? c->model->slug : c->model->dims[best].name;
}

static int check_attribute(const struct mfu_config *c, const struct mfu_model_section *section,
                           const struct mfu_model_op *op, int a, double value, bool runs, struct mfu_error *err)
{
    const struct mfu_model *m = c->model;
    const struct mfu_attribute *attribute = &op->primitive->attributes[a];
    size_t n = count_choices(attribute->choices);
    double given, least;

    if (!isfinite(value) || value < 0 || value > 1e15)
        return mfu_fail(err, MFU_EINPUT, "%s: %s of %s.%s is %g", m->slug, attribute->name, section->name, op->name,
                        value);
    least = attribute->some && !mfu_expression_constant(op->attribute[a], &given) ? 1 : attribute->least;
    if (runs && value < least && attribute->some && mfu_config_dim(c, "image") > 0 && mfu_config_dim(c, "patch") > 0)
        return mfu_fail_images(c, value, err);
    if (runs && value < least)
        return mfu_fail(err, MFU_EINPUT, "%s: %s of %s.%s is %g: expected %g or more", read_by(c, op->attribute[a]),
                        attribute->name, section->name, op->name, value, least);
    if (n > 0 && !(value == floor(value) && value < (double)n)) /* the index of one of them */
        return mfu_fail(err, MFU_EINPUT, "%s: %s of %s.%s is %g: expected a whole number from 0 (%s) to %zu (%s)",
                        m->slug, attribute->name, section->name, op->name, value, attribute->choices[0], n - 1,
                        attribute->choices[n - 1]);
    return 0;
}

/* Works out attributes and widths of all model ops, once per scenario. */
int mfu_evaluate_operations(struct mfu_builder *s, struct mfu_error *err)
{
    const struct mfu_model *m = s->config->model;

    for (int section = 0; section < m->n_sections; section++) {
        const struct mfu_model_section *sec = &m->sections[section];
        bool runs = !sec->repeat || mfu_expression_eval(sec->repeat, s->config->dim) > 0;

        for (int i = sec->first; i < sec->first + sec->count; i++) {
            const struct mfu_model_op *source = &m->ops[i];
            struct mfu_operation *op = &s->operations[i];

            *op = (struct mfu_operation){.primitive = source->primitive, .name = source->name};
            s->section_of[i] = (unsigned char)section;
            s->left_out[i] = !runs || (source->when && !(mfu_expression_eval(source->when, s->config->dim) > 0));
            for (int a = 0; a < MFU_ATTRIBUTES && source->primitive->attributes[a].name; a++) {
                op->attribute[a] = mfu_expression_eval(source->attribute[a], s->config->dim);
                if (check_attribute(s->config, sec, source, a, op->attribute[a], !s->left_out[i], err) < 0)
                    return -1;
            }
            s->passes[i] = 0;
            if (mfu_is(op, MFU_CHOOSES)) {
                s->left_out[i] = true;
                s->passes[i] =
                    (unsigned char)fmin(source->primitive->attributes[0].name ? op->attribute[0] : 0, source->n_in - 1);
            }
            for (int k = 0; k < source->n_in; k++) {
                int from = source->in[k];

                if (from == MFU_SECTION_INPUT) /* what the section before left */
                    from = section > 0 ? m->sections[section - 1].first + m->sections[section - 1].count - 1 : -1;
                op->in_width[k] = from >= 0 ? s->operations[from].out_width : 0;
            }
            op->out_width = s->left_out[i] ? op->in_width[s->passes[i]] : mfu_operation_width(op);
            if (!s->left_out[i] && mfu_is(op, MFU_ENDS_IN_LOSS)) {
                s->logits_section = sec->name;
                s->logits_width = op->in_width[0];
            }
        }
    }
    return mfu_evaluate_adapters(s, err);
}

double mfu_repeats(const struct mfu_config *c, const struct mfu_model_section *sec)
{
    return sec->repeat ? mfu_expression_eval(sec->repeat, c->dim) : 1;
}

double mfu_apart(const struct mfu_config *c, const struct mfu_model_section *sec)
{
    return sec->apart ? mfu_expression_eval(sec->apart, c->dim) : 0;
}

double mfu_weight_sets(const struct mfu_model_section *sec, double layers)
{
    return sec->shares ? fmin(layers, 1) : layers;
}

/* Whether the op uses the weight of another one. */
bool mfu_shares_weight(const struct mfu_builder *s, int op)
{
    const struct mfu_model_op *source = &s->config->model->ops[op];

    if (source->shares < 0)
        return false;
    for (int a = 0; a < MFU_ATTRIBUTES && source->primitive->attributes[a].name; a++)
        if (strcmp(source->primitive->attributes[a].name, "tied") == 0)
            return s->operations[op].attribute[a] > 0;
    return true;
}

/* Whether the operation whose weight this one uses is in the same pipeline stage. */
static bool shares_here(const struct mfu_builder *s, int i)
{
    const struct mfu_model *m = s->config->model;
    int owner = m->ops[i].shares;

    for (int k = 0; k < m->n_sections; k++)
        if (owner >= m->sections[k].first && owner < m->sections[k].first + m->sections[k].count)
            return mfu_stage_repeats(s, k) > 0;
    return false;
}

double mfu_trained_rows(const struct mfu_operation *op)
{
    const struct mfu_attribute *a = op->primitive->attributes;

    for (int i = 0; i < MFU_ATTRIBUTES && a[i].name; i++)
        if (strcmp(a[i].name, MFU_TRAINED_ROWS) == 0)
            return op->attribute[i];
    return 0;
}

double mfu_experts_of(const struct mfu_operation *op)
{
    for (int a = 0; a < MFU_ATTRIBUTES; a++)
        if (op->primitive->split_experts & 1u << a && op->attribute[a] > 0)
            return op->attribute[a];
    return 0;
}

/* Whether a layer's code calls the operation as a module: what mixes tokens, and products but those of experts and their router; q, k and v are one module,
 * gate and up another (Megatron-LM d98e8a64, transformer/attention.py: linear_qkv, mlp.py: linear_fc1). */
static bool is_module(const struct mfu_builder *s, int i)
{
    const unsigned beside = MFU_MODULE_BIT(KEY) | MFU_MODULE_BIT(VALUE) | MFU_MODULE_BIT(GATE);
    const struct mfu_operation *op = &s->operations[i];

    return !s->left_out[i]
        && (mfu_is(op, MFU_MIXES_ROWS | MFU_PASSES_STATES)
            || (mfu_is(op, MFU_MULTIPLIES) && !mfu_is(op, MFU_ROUTES) && !(mfu_experts_of(op) > 0)
                && !(beside & 1u << s->config->model->ops[i].module_kind)));
}

/* Whether no step uses its weights: they get no gradients, and optimizers leave them out. */
static bool is_idle(const struct mfu_operation *op)
{
    struct mfu_weights w = op->primitive->params(op);

    return w.weight + w.bias > 0 && w.active == 0;
}

void mfu_count_rank(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    const struct mfu_model *m = s->config->model;
    double trained_bytes = 0, shared;

    p->unreached_params = 0;
    p->rank_params = p->rank_trained = p->rank_bytes = p->expert_params = p->expert_trained = p->expert_bytes = 0;
    p->expert_layers = p->layer_modules = 0;
    p->blocks = p->unit_params = p->trained_tensors = p->largest_trained = p->large_trained = p->summed_trained = 0;
    p->layers = mfu_cut_layers(s);
    for (int section = 0; section < m->n_sections; section++) {
        const struct mfu_model_section *sec = &m->sections[section];
        double layers = mfu_stage_repeats(s, section), all = mfu_weight_sets(sec, layers),
               still = mfu_frozen_layers(s, sec->name, true).all;
        struct mfu_unit *unit = &s->unit[section];

        *unit = (struct mfu_unit){.layers = sec->repeat && !sec->shares ? layers : 0};
        p->blocks += sec->repeat ? layers : 0;
        for (int i = sec->first; i < sec->first + sec->count; i++)
            p->layer_modules += sec->repeat && is_module(s, i) ? layers : 0;

        for (int i = sec->first; i < sec->first + sec->count; i++)
            for (int frozen = 0; frozen <= (still > 0 ? 1 : 0) && !s->left_out[i] && s->operations[i].primitive->params;
                 frozen++) {
                struct mfu_op_size z = mfu_op_size(s, i, mfu_shares_weight(s, i) && shares_here(s, i), frozen > 0);
                double times = frozen ? still : all - still;
                bool experts = mfu_experts_of(&s->operations[i]) > 0;

                if (z.trained > 0 && is_idle(&s->operations[i])) {
                    p->unreached_params += times * z.trained;
                    z.trained = z.trained_bytes = z.trained_tensors = z.largest_trained = z.large_trained = z.summed =
                        0;
                }
                p->rank_params += times * z.params;
                p->rank_trained += times * z.trained;
                p->rank_bytes += times * z.bytes;
                p->expert_layers += mfu_is(&s->operations[i], MFU_ROUTES) ? times : 0;
                p->expert_params += experts ? times * z.params : 0;
                p->expert_trained += experts ? times * z.trained : 0;
                p->expert_bytes += experts ? times * z.bytes : 0;
                p->trained_tensors += times * z.trained_tensors;
                p->summed_trained += times * z.summed;
                if (times > 0 && mfu_compare(s, z.largest_trained, p->largest_trained) > 0)
                    p->largest_trained = z.largest_trained;
                p->large_trained += times * z.large_trained;
                trained_bytes += times * z.trained_bytes;
                if (unit->layers > 0 && !frozen) {
                    unit->params += z.params;
                    p->unit_params += unit->layers * z.params;
                    unit->trained += z.trained;
                    unit->experts += experts ? z.params : 0;
                    unit->expert_trained += experts ? z.trained : 0;
                }
            }
    }
    shared = s->shared_trained * mfu_type_bytes[mfu_adapter_type(s)];
    p->rank_params += s->shared_trained;
    p->rank_trained += s->shared_trained;
    p->rank_bytes += shared;
    p->trained_tensors += s->shared_trained > 0;
    trained_bytes += shared;
    s->trained_bytes = p->rank_trained > 0 ? trained_bytes / p->rank_trained : 0;
}

/* Whether backward has made one of its weights' gradients: a weight and its bias may have one tensor. */
static bool has_gradient(const struct mfu_builder *s, const struct mfu_node *n)
{
    for (int which = 0; which < 2; which++)
        if (n->parameter[which] >= 0 && s->parameters[n->parameter[which]].given > 0)
            return true;
    return false;
}

/* PyTorch's optimizers pass over a parameter whose .grad is None, and make no states for it (torch 2.15, optim/adam.py:
 * _init_group), which FSDP leaves so (distributed/fsdp/_fully_shard/_fsdp_param_group.py: _get_unsharded_grad_to_reduce), and DDP
 * where no rank has one (csrc/distributed/c10d/reducer.cpp: finalize_bucket_dense).  Who sums gradients in a buffer, or shards
 * states alone, has zeros there, and updates all. */
void mfu_count_reached(struct mfu_builder *s, int n_layers)
{
    struct mfu_program *p = s->program;

    if (s->runtime->gemm_accumulates || s->runtime->half_weights || mfu_half_engine(s->config)
        || (s->config->setting[MFU_S_ZERO] > 0 && !mfu_fully_sharded(s)))
        return;
    for (int k = 0; k < n_layers; k++)
        for (int i = s->layers[k].first_node; i < s->layers[k].first_node + s->layers[k].n_nodes; i++)
            for (int which = 0; which < 2 && !has_gradient(s, &s->nodes[i]); which++) {
                double times = s->layers[k].repeat + s->layers[k].copies, elements;
                struct mfu_parameter *w =
                    s->nodes[i].parameter[which] >= 0 ? &s->parameters[s->nodes[i].parameter[which]] : NULL;

                if (!w || !w->trains || w->elements == 0 || w->unreached)
                    continue;
                w->unreached = true;         /* others that share it count it once */
                if (is_idle(s->nodes[i].op)) /* counted as such */
                    continue;
                elements = times * w->elements;
                p->unreached_params += elements;
                p->rank_trained -= elements;
                p->expert_trained -= mfu_experts_of(s->nodes[i].op) > 0 ? elements : 0;
                p->large_trained -= w->elements >= MFU_PAGED_ELEMENTS ? elements : 0;
                p->trained_tensors -= times;
            }
}

void mfu_count_parameters(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    const struct mfu_model *m = s->config->model;

    p->params = p->active_params = p->non_embedding_params = p->position_params = p->linear_params = 0;
    p->table_params = p->apart_params = 0;
    p->weight_tensors = p->trainable_params = 0;
    for (int section = 0; section < m->n_sections; section++) {
        const struct mfu_model_section *sec = &m->sections[section];
        double layers = mfu_repeats(s->config, sec), times = mfu_weight_sets(sec, layers);
        double still = mfu_frozen_layers(s, sec->name, false).all;
        bool apart = mfu_apart(s->config, sec) > 0;

        for (int i = sec->first; i < sec->first + sec->count; i++) {
            const struct mfu_operation *op = &s->operations[i];
            struct mfu_op_size z, frozen;
            struct mfu_weights w;
            double active, all;

            if (s->left_out[i] || !op->primitive->params)
                continue;
            w = op->primitive->params(op);
            if (apart) {
                z = mfu_op_size(s, i, false, false);
                p->params += times * z.params;
                p->apart_params += times * z.params;
                p->weight_tensors += times * z.tensors;
                continue;
            }
            active = w.active;
            all = w.weight + w.bias;
            if (mfu_is(op, MFU_MULTIPLIES))
                p->linear_params += layers * (active - w.bias);
            if (mfu_shares_weight(s, i))
                all = active = w.bias; /* the weight is another op's */
            z = mfu_op_size(s, i, mfu_shares_weight(s, i), false);
            frozen = still > 0 ? mfu_op_size(s, i, mfu_shares_weight(s, i), true) : (struct mfu_op_size){0};
            p->weight_tensors += (times - still) * z.tensors + still * frozen.tensors;
            p->trainable_params += (times - still) * z.trained + still * frozen.trained;
            p->params += (times - still) * z.params + still * frozen.params;
            p->active_params += times * active;
            if (!mfu_is(op, MFU_LOOKS_UP)) {
                p->non_embedding_params += times * all;
                continue;
            }
            p->table_params += times * all;
            if (op->primitive->has_position && op->primitive->has_position(op))
                p->position_params += times * all;
        }
    }
    p->params += s->shared_trained;
    p->trainable_params += s->shared_trained;
    p->weight_tensors += s->shared_trained > 0;
}
