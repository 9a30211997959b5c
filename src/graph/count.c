/*
 * count.c - the operations of a model for one scenario: their attributes and
 * widths, and how many parameters they have.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/builder_private.h"
#include "graph/stage.h"

/* ---- operations and parameters of a scenario ---------------------------- */

/* Works out attributes and widths of all model ops, once per scenario. */
int mfu_evaluate_operations(struct mfu_builder *s, struct mfu_error *err)
{
    const struct mfu_model *m = s->config->model;

    for (int section = 0; section < m->n_sections; section++) {
        const struct mfu_model_section *sec = &m->sections[section];

        for (int i = sec->first; i < sec->first + sec->count; i++) {
            const struct mfu_model_op *source = &m->ops[i];
            struct mfu_operation *op = &s->operations[i];

            op->primitive = source->primitive;
            op->name = source->name;
            s->left_out[i] = source->when && !(mfu_expression_eval(source->when, s->config->dim) > 0);
            for (int a = 0; a < MFU_ATTRIBUTES && source->primitive->attributes[a].name; a++) {
                op->attribute[a] = mfu_expression_eval(source->attribute[a], s->config->dim);
                if (!isfinite(op->attribute[a]) || op->attribute[a] < 0 || op->attribute[a] > 1e15)
                    return mfu_fail(err, MFU_EINPUT, "%s: %s of %s.%s is %g", m->slug,
                                    source->primitive->attributes[a].name, sec->name, source->name, op->attribute[a]);
            }
            for (int k = 0; k < source->n_in; k++) {
                int from = source->in[k];

                if (from == MFU_SECTION_INPUT) /* what the section before left */
                    from = section > 0 ? m->sections[section - 1].first + m->sections[section - 1].count - 1 : -1;
                op->in_width[k] = from >= 0 ? s->operations[from].out_width : 0;
            }
            op->out_width = s->left_out[i] ? op->in_width[0] : op->primitive->shape(op);
            if (!s->left_out[i] && mfu_is(op, MFU_ENDS_IN_LOSS)) {
                s->logits_section = sec->name;
                s->logits_width = op->in_width[0];
            }
        }
    }
    return 0;
}

double mfu_repeats(const struct mfu_builder *s, const struct mfu_model_section *sec)
{
    return sec->repeat ? mfu_expression_eval(sec->repeat, s->config->dim) : 1;
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

/* Parameters of an operation that are its own. */
static double own_params(const struct mfu_builder *s, int i)
{
    struct mfu_weights w = s->operations[i].primitive->params(&s->operations[i]);

    return mfu_shares_weight(s, i) && shares_here(s, i) ? w.bias : w.weight + w.bias;
}

static bool of_experts(const struct mfu_operation *op)
{
    for (int a = 0; a < MFU_ATTRIBUTES; a++)
        if (op->primitive->split_experts & 1u << a && op->attribute[a] > 0)
            return true;
    return false;
}

void mfu_count_rank(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    const struct mfu_model *m = s->config->model;

    p->rank_params = p->expert_params = p->block_params = p->blocks = 0;
    p->layers = mfu_cut_layers(s);
    s->unit_section = NULL;
    for (int section = 0; section < m->n_sections; section++) {
        const struct mfu_model_section *sec = &m->sections[section];
        double times = mfu_stage_repeats(s, section), params = 0, experts = 0;

        for (int i = sec->first; i < sec->first + sec->count; i++)
            if (!s->left_out[i] && s->operations[i].primitive->params) {
                params += own_params(s, i);
                experts += of_experts(&s->operations[i]) ? own_params(s, i) : 0;
            }
        p->rank_params += times * params;
        p->expert_params += times * experts;
        if (times > p->blocks && times > 1) {
            p->blocks = times;
            s->unit_section = sec->name;
            p->block_params = params;
        }
    }
}

void mfu_count_parameters(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    const struct mfu_model *m = s->config->model;

    p->params = p->active_params = p->non_embedding_params = p->position_params = p->linear_params = 0;
    p->weight_tensors = 0;
    for (int section = 0; section < m->n_sections; section++) {
        const struct mfu_model_section *sec = &m->sections[section];
        double times = mfu_repeats(s, sec);

        for (int i = sec->first; i < sec->first + sec->count; i++) {
            const struct mfu_operation *op = &s->operations[i];
            struct mfu_weights w;
            double active, all;

            if (s->left_out[i] || !op->primitive->params)
                continue;
            w = op->primitive->params(op);
            active = w.active;
            all = w.weight + w.bias;
            if (mfu_is(op, MFU_MULTIPLIES))
                p->linear_params += times * (active - w.bias);
            if (mfu_shares_weight(s, i))
                all = active = w.bias; /* the weight is another op's */
            p->weight_tensors += times * ((w.weight > 0 && !mfu_shares_weight(s, i)) + (w.bias > 0));
            p->params += times * all;
            p->active_params += times * active;
            if (!mfu_is(op, MFU_LOOKS_UP))
                p->non_embedding_params += times * all;
            else if (op->primitive->has_position && op->primitive->has_position(op))
                p->position_params += times * all;
        }
    }
    p->trainable_params = p->params;
}
