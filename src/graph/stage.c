/*
 * stage.c - a rank's share of the layers.
 */
#include "graph/stage.h"

#include <math.h>

#include "graph/builder_private.h"
#include "scenario/setting.h"

/* The section that is cut: the longest of those that n_layer counts, however deep a tower in front of them is. */
static int cut_section(const struct mfu_config *c)
{
    const struct mfu_model *m = c->model;
    double most = 1;
    int cut = 0;

    for (int i = 0; i < m->n_sections; i++) {
        double times = mfu_repeats(c, &m->sections[i]);

        if (times > 1
            && (m->sections[i].of_n_layer > m->sections[cut].of_n_layer
                || (m->sections[i].of_n_layer == m->sections[cut].of_n_layer && times > most))) {
            most = times;
            cut = i;
        }
    }
    return cut;
}

/* Layers of other kinds before the cut section, which count among the first stage's (dense layers before those with
 * experts: Megatron-LM d98e8a64, transformer_block.py: get_num_layers_to_build counts all alike; a tower's are none of
 * n_layer); no more than leave each stage its part. */
static double layers_before(const struct mfu_config *c, double layers, double stages, double less)
{
    int cut = cut_section(c);
    double sum = 0;

    for (int i = 0; i < cut; i++)
        sum += c->model->sections[i].repeat ? mfu_repeats(c, &c->model->sections[i]) : 0;
    sum = fmin(sum, fmax(mfu_config_dim(c, "n_layer") - layers, 0));
    return stages > 1 ? fmax(fmin(sum, floor(layers / (stages - 1)) - less), 0) : 0;
}

/* Parts of equal cost: layers and the head in their order, a stage ends behind what
 * exceeds its part; the embedding costs nothing.  Where that leaves nothing for the last
 * ones, they have a layer each, and the head stays in the last.  Source: nanotron, models/base.py
 * (build_model), models/llama.py (get_block_compute_costs). */
static double costly_layers(const struct mfu_config *c, double layers, int stages, int stage)
{
    double width = mfu_config_dim(c, "n_embd"), layer = 4 * width * width + 3 * width * mfu_config_dim(c, "d_ff");
    double all = layers * layer + width * mfu_config_dim(c, "vocab_size"), own = 0;
    int at = 0;

    for (double i = 1; i <= layers; i++) {
        own += at == stage;
        at += at < stages - 1 && (i * layer > all * (at + 1) / stages || layers - i <= stages - 2 - at);
    }
    return own;
}

/* Equal parts, but for what the ends have less; what is left over goes to the first
 * stages, since the last has the head. */
double mfu_stage_layers(const struct mfu_config *c, double layers, int stage)
{
    double first = c->setting[MFU_S_FIRST_STAGE_LESS], last = c->setting[MFU_S_LAST_STAGE_LESS];
    double stages = mfu_pipeline_stages(&c->pipeline), parts, least;

    if (mfu_trainers[c->trainer].balances_cost && first == 0 && last == 0 && layers >= stages - 1)
        return costly_layers(c, layers, (int)stages, stage);
    first += layers_before(c, layers, stages, first);
    parts = layers + first + last;
    least = floor(parts / stages);
    return least + (stage < parts - stages * least) - (stage == 0 ? first : 0) - (stage == stages - 1 ? last : 0);
}

bool mfu_layers_suffice(const struct mfu_config *c, double layers)
{
    double counted = layers + c->setting[MFU_S_FIRST_STAGE_LESS] + c->setting[MFU_S_LAST_STAGE_LESS];

    return c->setting[MFU_S_PP] <= 1 || counted >= mfu_pipeline_stages(&c->pipeline);
}

bool mfu_rank_holds(const struct mfu_config *c, int rank, int stage)
{
    for (int chunk = 0; chunk < mfu_pipeline_chunks(&c->pipeline); chunk++)
        if (mfu_pipeline_stage(&c->pipeline, rank, chunk) == stage)
            return true;
    return false;
}

bool mfu_stage_is_last(const struct mfu_builder *s)
{
    return s->stages <= 1 || mfu_rank_holds(s->config, s->stage, mfu_pipeline_stages(&s->config->pipeline) - 1);
}

double mfu_rank_layers(const struct mfu_config *c, double layers, int rank)
{
    double sum = 0;

    for (int chunk = 0; chunk < mfu_pipeline_chunks(&c->pipeline); chunk++)
        sum += mfu_stage_layers(c, layers, mfu_pipeline_stage(&c->pipeline, rank, chunk));
    return sum;
}

double mfu_chunk_layers(const struct mfu_config *c)
{
    const struct mfu_model *m = c->model;
    double cut = mfu_repeats(c, &m->sections[cut_section(c)]), most = 0, others = 0;

    for (int i = 0; i < m->n_sections; i++)
        others += m->sections[i].repeat && i != cut_section(c) ? mfu_repeats(c, &m->sections[i]) : 0;
    for (int rank = 0; rank < c->pipeline.pp; rank++)
        most = fmax(most, mfu_rank_layers(c, cut, rank));
    return m->sections[cut_section(c)].repeat ? ceil((most + others) / mfu_pipeline_chunks(&c->pipeline)) : 0;
}

double mfu_checkpointed_layers(const struct mfu_config *c)
{
    double some = c->setting[MFU_S_CHECKPOINT_LAYERS] * mfu_pipeline_chunks(&c->pipeline);

    return some > 0 && mfu_checkpoints[c->checkpoint].recomputes ? some : INFINITY;
}

double mfu_rank_layers_below(const struct mfu_config *c, double layers, int rank, double n)
{
    double sum = 0, before = 0;

    for (int stage = 0; stage < mfu_pipeline_stages(&c->pipeline); stage++) {
        double own = mfu_stage_layers(c, layers, stage);

        if (mfu_rank_holds(c, rank, stage))
            sum += fmin(fmax(n - before, 0), own);
        before += own;
    }
    return sum;
}

const char *mfu_cut_name(const struct mfu_config *c)
{
    return c->model->sections[cut_section(c)].name;
}

bool mfu_is_behind_cut(const struct mfu_builder *s, const struct mfu_model_section *section)
{
    return section > &s->config->model->sections[cut_section(s->config)];
}

const char *mfu_read_behind_cut(const struct mfu_builder *s)
{
    const struct mfu_model *m = s->config->model;
    int cut = cut_section(s->config), first = m->sections[cut].first;

    for (const struct mfu_model_section *sec = &m->sections[cut + 1]; sec < m->sections + m->n_sections; sec++)
        for (int i = sec->first; i < sec->first + sec->count && mfu_repeats(s->config, sec) > 1 && sec->repeat; i++)
            for (int k = 0; k < m->ops[i].n_in && !s->left_out[i]; k++)
                if (m->ops[i].in[k] >= first && m->ops[i].in[k] < sec->first)
                    return m->ops[m->ops[i].in[k]].name;
    return NULL;
}

double mfu_cut_layers(const struct mfu_builder *s)
{
    return mfu_repeats(s->config, &s->config->model->sections[cut_section(s->config)]);
}

double mfu_stage_repeats(const struct mfu_builder *s, int section)
{
    double times = mfu_repeats(s->config, &s->config->model->sections[section]);
    int cut;

    if (s->stages <= 1)
        return times;
    cut = cut_section(s->config);
    if (section < cut)
        return mfu_rank_holds(s->config, s->stage, 0) ? times : 0;
    if (section > cut)
        return mfu_stage_is_last(s) ? times : 0;
    return mfu_rank_layers(s->config, times, s->stage);
}

/* ---- what comes from the neighbours -------------------------------------- */

double mfu_stage_rows(const struct mfu_builder *s)
{
    return s->config->tokens / (s->config->setting[MFU_S_SP] > 0 ? s->config->setting[MFU_S_TP] : 1);
}

static void receive(struct mfu_builder *s, struct mfu_node *n)
{
    n->out = mfu_tensor_new(s, mfu_stage_rows(s), n->op->out_width, s->numerics.residual, MFU_PART_ACTIVATIONS);
}

static const struct mfu_primitive receives = {.name = "receive", .forward = receive};
static const struct mfu_model_op receiving = {.primitive = &receives, .name = "receive", .shares = -1};

int mfu_stage_receive(struct mfu_builder *s, int section)
{
    const struct mfu_model_section *sec = &s->config->model->sections[section];
    const struct mfu_model_section *before = sec - (section > cut_section(s->config));
    struct mfu_node *n;

    if (!ROOM(s, s->nodes, s->n_nodes, s->cap_nodes))
        return MFU_TOKENS_IN;
    s->received = (struct mfu_operation){.primitive = &receives,
                                         .name = "receive",
                                         .out_width = s->operations[before->first + before->count - 1].out_width};
    n = &s->nodes[s->n_nodes];
    *n = mfu_unused_node;
    n->op = &s->received;
    n->source = &receiving;
    n->section = sec->name;
    n->requires_gradient = true; /* whatever trains before it */
    return s->n_nodes++;
}

void mfu_stage_receive_gradient(struct mfu_builder *s, int node)
{
    struct mfu_node *n = &s->nodes[node];

    if (n->gradient == MFU_NO_VIEW)
        n->gradient = mfu_tensor_like(s, n->out);
}
