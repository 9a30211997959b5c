/*
 * graph.c - from a model's sections to a program: traces each kind of layer
 * once, forward and backward, and lets the primitives append their kernels;
 * then fuses, shards, and appends the optimizer.
 */
#include "graph/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/builder_private.h"
#include "graph/copies.h"
#include "graph/layers.h"
#include "graph/numerics.h"
#include "graph/offload.h"
#include "graph/optimizer.h"
#include "graph/preallocated.h"
#include "graph/recompute.h"
#include "graph/repeat.h"
#include "graph/resident.h"
#include "graph/shard.h"
#include "graph/split.h"
#include "graph/stage.h"
#include "scenario/setting.h"

/* The segment just opened runs a layer of a repeated section. */
static void mark_layer(struct mfu_builder *s, const struct mfu_layer *l)
{
    if (!s->failed)
        s->program->segments[s->program->n_segments - 1].layer = l->section->repeat != NULL;
}

/* Python keeps the argument of a module alive until the module returns. */
static void hold_arguments(struct mfu_builder *s, const struct mfu_layer *st, int node)
{
    const char *module = s->nodes[node].source->module;
    int end = st->first_node + st->n_nodes;

    if (!s->runtime->scopes || !module)
        return;
    if (node + 1 < end && s->nodes[node + 1].source->module == module)
        return;
    for (int i = node; i >= st->first_node && s->nodes[i].source->module == module; i--)
        for (int k = 0; k < s->nodes[i].source->n_in; k++)
            if (s->nodes[i].in[k] >= 0 && s->nodes[s->nodes[i].in[k]].source->module != module)
                mfu_tensor_extend(s, s->nodes[s->nodes[i].in[k]].out);
}

/* norm(a + b): the summands have names (transformers 5.23, models/bert/modeling_bert.py: BertOutput), and the sum none, unless
 * another operation reads it. */
static void hold_summands(struct mfu_builder *s, const struct mfu_layer *st, int node)
{
    const struct mfu_node *n = &s->nodes[node], *sum = n->in[0] >= st->first_node ? &s->nodes[n->in[0]] : NULL;

    if (!s->runtime->scopes || !sum || sum->op->primitive != &mfu_primitive_add || !mfu_is(n->op, MFU_BY_ROW))
        return;
    for (int i = n->in[0] + 1; i < st->first_node + st->n_nodes; i++)
        for (int k = 0; k < MFU_INPUTS; k++)
            if (i != node && s->nodes[i].in[k] == n->in[0])
                return;
    for (int k = 0; k < 2; k++)
        if (sum->in[k] >= 0)
            mfu_tensor_extend(s, s->nodes[sum->in[k]].out);
}

/* Whether a package has written the layer, in a model that is eager PyTorch's. */
static bool is_their_layer(const struct mfu_builder *s, const struct mfu_layer *st)
{
    return s->runtime->layers_only && st->section->repeat;
}

static void run_forward(struct mfu_builder *s, const struct mfu_layer *st)
{
    const struct mfu_numerics own = s->numerics;
    double apart = mfu_apart(s->config, st->section);

    s->apart = apart > 0;
    if (s->apart)
        s->numerics = mfu_numerics_apart(s->config, apart > 1);
    s->numerics.widens &= !is_their_layer(s, st);
    for (int i = st->first_node; i < st->first_node + st->n_nodes && !s->failed; i++) {
        struct mfu_node *n = &s->nodes[i];

        s->node = i;
        n->n_saved = 0;
        if (s->recomputing && i > s->last_saver)
            break;
        if (s->referring && mfu_is_adapter(s, n)) { /* switched off */
            n->out = s->nodes[n->in[n->in[1] == MFU_TOKENS_IN ? 0 : 1]].out;
            continue;
        }
        if (n->replaced && !s->referring)
            continue;
        mfu_split_before_forward(s, n);
        n->op->primitive->forward(s, n);
        mfu_split_after_forward(s, n);
        hold_arguments(s, st, i);
        hold_summands(s, st, i);
    }
    /* Whoever calls a layer, or a frozen model's block, names its argument until it returns. */
    if ((s->apart || st->section->repeat) && st->input >= 0 && s->runtime->scopes && !s->failed)
        mfu_tensor_extend(s, s->nodes[st->input].out);
    s->apart = false;
    s->numerics = own;
}

/* What the model returns beside its loss. */
static int returned(const struct mfu_builder *s)
{
    return s->returned != MFU_NO_VIEW ? s->returned : s->fp32_outputs;
}

/* Whether the next operation takes over the variable: x = act(x), logits = logits + bias. */
static bool rebound(const struct mfu_builder *s, int node, int end)
{
    const struct mfu_node *next = &s->nodes[node + 1];

    return node + 1 < end && next->in[0] == node
        && (mfu_is(next->op, MFU_CHEAP)
            || (mfu_is(next->op, MFU_ENDS_IN_LOSS) && returned(s) != MFU_NO_VIEW
                && mfu_view_type(s, returned(s)) != mfu_view_type(s, s->nodes[node].out)));
}

/* Local variables of the model's own forward(): embeddings, head. */
static void hold_locals(struct mfu_builder *s, const struct mfu_layer *layers, int n)
{
    bool pairs = mfu_objectives[(int)s->config->setting[MFU_S_OBJECTIVE]].log_probabilities; /* the trainer's loss */

    for (int k = 0; k < n && s->runtime->scopes; k++)
        for (int i = layers[k].first_node; i < layers[k].first_node + layers[k].n_nodes; i++)
            if (!layers[k].section->repeat && !layers[k].section->module
                && !(pairs && mfu_makes_logits(s, &s->nodes[i]))
                && !rebound(s, i, layers[k].first_node + layers[k].n_nodes)
                && (k == n - 1 || mfu_is(s->nodes[i].op, MFU_LOOKS_UP)))
                mfu_tensor_extend(s, s->nodes[i].out);
    if (s->runtime->scopes)
        mfu_tensor_extend(s, returned(s));
}

/* What its modules have returned: embeddings, until all layers have run; a stage's last layer is one of several that are
 * alike, behind one that may stand for several. */
static void hold_results(struct mfu_builder *s, const struct mfu_layer *layers, int n)
{
    for (int k = 0; k < n && s->runtime->scopes; k++)
        if (layers[k].section->module)
            mfu_tensor_extend(s, s->nodes[layers[k].first_node + layers[k].n_nodes - 1].out);
}

static void forget_casts(struct mfu_builder *s)
{
    for (int i = 0; i < s->n_parameters; i++)
        s->parameters[i].cast = MFU_NO_VIEW;
}

/* The batch is named until the trainer's loop has the next one, which it loads then. */
static void hold_loaded(struct mfu_builder *s, const struct mfu_layer *last)
{
    if (s->n_loaded == 0 || s->runtime->c_program || s->failed)
        return;
    mfu_segment_open(s, last->section->name, MFU_FORWARD, 1);
    s->node = last->first_node + last->n_nodes - 1;
    mfu_emit_kernel(s, &(struct mfu_kernel){.kind = MFU_CAST}, "scope", 0, s->n_loaded, s->loaded, 0, NULL);
    mfu_segment_close(s);
}

/* An empty launch, so that what it names lives until here: autocast's copies of weights that backward does not read again, as
 * it computes them anew, or as nothing before them trains.  Experts' weights are cast by their own code, which caches none
 * (transformers 5.23, integrations/moe.py: _grouped_linear). */
static void end_of_scope(struct mfu_builder *s, const struct mfu_layer *st)
{
    bool anew = mfu_layer_runs_anew(s, st) || s->referring;

    for (int i = st->first_node; i < st->first_node + st->n_nodes; i++) {
        int casts[2], n = 0;

        for (int w = 0;
             w < 2 && !(mfu_experts_of(s->nodes[i].op) > 0) && (anew || !mfu_wants_gradient(s, &s->nodes[i], 0)); w++)
            if (s->nodes[i].parameter[w] >= 0 && s->parameters[s->nodes[i].parameter[w]].cast != MFU_NO_VIEW)
                casts[n++] = s->parameters[s->nodes[i].parameter[w]].cast;
        s->node = i;
        if (n)
            mfu_emit_kernel(s, &(struct mfu_kernel){.kind = MFU_CAST}, "scope", 0, n, casts, 0, NULL);
    }
}

/* The last layer of those whose result goes to the next stage. */
static const struct mfu_layer *last_sent(const struct mfu_builder *s, const struct mfu_layer *layers, int n)
{
    const struct mfu_layer *last = &layers[n - 1];

    while (last > layers && mfu_is_behind_cut(s, last->section))
        last--;
    return last;
}

/* What the stage after receives: the result of the last of the layers that are cut. */
static double sent_bytes(const struct mfu_builder *s, const struct mfu_layer *layers, int n)
{
    const struct mfu_layer *last;
    int view;

    if (s->failed || s->stages <= 1)
        return 0;
    last = last_sent(s, layers, n);
    view = s->nodes[last->first_node + last->n_nodes - 1].out;
    return mfu_view_bytes(s, view);
}

static void run_backward(struct mfu_builder *s, struct mfu_layer *st, bool last)
{
    bool widens = s->numerics.widens;

    if (mfu_layer_recomputed(s, st) && s->nodes[st->first_node + st->n_nodes - 1].requires_gradient) {
        s->last_saver = mfu_last_saver(s, st);
        s->recomputing = true;
        s->next_kept = st->first_kept;
        mfu_forget_casts(s, st->first_node, st->n_nodes);
        run_forward(s, st);
        s->recomputing = false;
    }
    s->last_saver = -1; /* what is computed again from here on is so as a whole */
    s->numerics.widens &= !is_their_layer(s, st);
    for (int i = st->first_node; i < st->first_node + st->n_nodes; i++)
        s->nodes[i].gathered = MFU_NO_VIEW; /* that of forward is gone */
    if (last && !mfu_stage_is_last(s))
        mfu_stage_receive_gradient(s, st->first_node + st->n_nodes - 1);
    for (int i = st->first_node + st->n_nodes - 1; i >= st->first_node && !s->failed; i--) {
        struct mfu_node *n = &s->nodes[i];

        if (n->gradient == MFU_NO_VIEW && n->partial == MFU_NO_VIEW && !mfu_is(n->op, MFU_ENDS_IN_LOSS))
            continue;
        mfu_compute_missing(s, st, i);
        s->node = i;
        n->backward = s->program->n_launches;
        mfu_split_before_backward(s, n);
        if (n->op->primitive->backward)
            n->op->primitive->backward(s, n);
        mfu_split_after_backward(s, n);
    }
    s->numerics.widens = widens;
    mfu_update_deferred(s);
}

/* What an operation saves is there until its backward pass, whose launches read it or name it (mfu_tensor_extend()); compiled,
 * until any operation's, since what several quantise alike is quantised once. */
static void check_saved(struct mfu_builder *s, int first_backward)
{
    const struct mfu_program *p = s->program;

    for (const struct mfu_node *n = s->nodes; n < s->nodes + s->n_nodes && !s->failed; n++) {
        if (n->spills)
            s->program->lost = n->source->name;
        for (int k = 0; n->backward && k < n->n_saved; k++)
            if (n->saved[k] != MFU_NO_VIEW && p->views[n->saved[k]].tensor != 0
                && p->tensors[p->views[n->saved[k]].tensor].last
                    < (s->runtime->one_cast ? first_backward : n->backward))
                s->program->lost = n->source->name;
    }
}

static void trace_backward(struct mfu_builder *s, struct mfu_layer *st, bool last)
{
    int k = (int)(st - s->layers);

    s->layer = k;
    mfu_segment_open(s, st->section->name, MFU_BACKWARD, st->repeat);
    mark_layer(s, st);
    s->selective = mfu_checkpoints[s->config->checkpoint].keeps_products && mfu_layer_recomputed(s, st);
    mfu_repeat_begin(s, k, MFU_BACKWARD);
    if (!mfu_repeat_pass(s, k, MFU_BACKWARD))
        run_backward(s, st, last);
    mfu_repeat_end(s, k, MFU_BACKWARD);
    mfu_segment_close(s);
}

/* Autocast's copies of weights live until the model has returned. */
static void free_casts(struct mfu_builder *s, const struct mfu_layer *layers, int n)
{
    for (int k = 0; k < n; k++) {
        s->layer = k;
        mfu_segment_open(s, layers[k].section->name, MFU_FORWARD, layers[k].repeat);
        end_of_scope(s, &layers[k]);
        mfu_segment_close(s);
    }
}

/* The model's code keeps keys and values with the learned ones before them until its outputs are dropped. */
static void drop_cache(struct mfu_builder *s, const struct mfu_layer *layers, int n)
{
    for (int k = 0; k < n; k++)
        for (int i = layers[k].first_node; i < layers[k].first_node + layers[k].n_nodes && !s->failed; i++) {
            if (!mfu_has_prefix(s, &s->nodes[i]))
                continue;
            s->layer = k;
            mfu_segment_open(s, layers[k].section->name, MFU_FORWARD, layers[k].repeat);
            s->node = i;
            mfu_emit_kernel(s, &(struct mfu_kernel){.kind = MFU_CAST}, "scope", 0, 2, s->nodes[i].saved + MFU_PREFIXED,
                            0, NULL);
            mfu_segment_close(s);
        }
}

/* Autograd comes to what was made before all layers when it is through with them: so long their gradients wait, each with
 * those of the learned rows in it, which one tensor then collects. */
static void collect_prefix(struct mfu_builder *s, const struct mfu_layer *layers, int n)
{
    struct mfu_node *prefix = &s->nodes[s->prefix];
    double rows = mfu_view_rows(s, prefix->out), columns = mfu_view_columns(s, prefix->out);

    for (int k = n - 1; k >= 0; k--)
        for (int i = layers[k].first_node; i < layers[k].first_node + layers[k].n_nodes && !s->failed; i++) {
            const struct mfu_node *reader = &s->nodes[i];
            int out;

            if (!mfu_has_prefix(s, reader))
                continue;
            s->layer = k;
            mfu_segment_open(s, layers[k].section->name, MFU_BACKWARD, layers[k].repeat);
            s->node = i;
            if (prefix->gradient == MFU_NO_VIEW)
                prefix->gradient =
                    mfu_tensor_new(s, rows, columns, mfu_view_type(s, prefix->out), MFU_PART_ACTIVATIONS);
            out = mfu_view_slice(s, prefix->gradient, rows, reader->op->primitive->key_elements(reader->op));
            MFU_EMIT(s, MFU_LIST(2, reader->saved + MFU_PREFIXED), MFU_VIEWS(out), .suffix = "prefix_grad",
                     .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR, .launches = 2);
            mfu_segment_close(s);
        }
}

static void run_again(struct mfu_builder *s, const struct mfu_layer *layer)
{
    mfu_segment_open(s, layer->section->name, MFU_FORWARD, layer->repeat);
    run_forward(s, layer);
    mfu_segment_close(s);
}

/* The reference model reads what the policy has read: the same operations, of which nothing is saved. */
static void trace_reference(struct mfu_builder *s, const struct mfu_layer *layers, int n)
{
    struct mfu_node *nodes = malloc((size_t)s->n_nodes * sizeof *nodes);
    struct mfu_parameter *parameters = malloc((size_t)s->n_parameters * sizeof *parameters);
    struct mfu_layer loss = layers[n - 1];

    s->failed |= !nodes || !parameters;
    if (nodes && parameters && !s->failed) {
        memcpy(nodes, s->nodes, (size_t)s->n_nodes * sizeof *nodes);
        memcpy(parameters, s->parameters, (size_t)s->n_parameters * sizeof *parameters);
        forget_casts(s);
        s->referring = true;
        s->selective = false;
        loss.n_nodes = 1;
        loss.first_node += layers[n - 1].n_nodes - 1;
        for (int k = 0; k < n && !s->failed; k++) {
            struct mfu_layer layer = layers[k];

            layer.n_nodes -= k == n - 1;
            s->layer = k;
            run_again(s, &layer);
        }
        if (s->runtime->scopes && s->numerics.autocast && !s->failed)
            free_casts(s, layers, n);
        run_again(s, &loss);                          /* on what the model has returned */
        if (s->returned != MFU_NO_VIEW && !s->failed) /* the policy's outputs are there until the loss is */
            mfu_tensor_extend(s, s->returned);
        s->referring = false;
        memcpy(s->nodes, nodes, (size_t)s->n_nodes * sizeof *nodes);
        memcpy(s->parameters, parameters, (size_t)s->n_parameters * sizeof *parameters);
    }
    free(nodes);
    free(parameters);
}

/* Compiled backward graphs return their gradients together; only then does
 * autograd add them to .grad. */
static void trace_deferred(struct mfu_builder *s, const struct mfu_layer *layers, int n)
{
    for (int k = n - 1; k >= 0; k--) {
        const struct mfu_layer *st = &layers[k];

        s->layer = k;
        mfu_segment_open(s, st->section->name, MFU_BACKWARD, st->repeat);
        for (int i = 0; i < s->n_deferred; i++)
            if (s->deferred[i].node >= st->first_node && s->deferred[i].node < st->first_node + st->n_nodes) {
                s->node = s->deferred[i].node;
                mfu_accumulate(s, s->deferred[i].view);
            }
        mfu_segment_close(s);
    }
}

static enum mfu_size_variable variable_of(const struct mfu_model *m, struct mfu_key key)
{
    if (key.kind == MFU_KEY_DIM)
        return m->decide_dims >> key.id & 1 ? MFU_SIZES_BY_NONE : MFU_SIZES_BY_SEQ;
    if (key.kind != MFU_KEY_SETTING)
        return MFU_SIZES_BY_NONE;
    return key.id == MFU_S_BATCH                     ? MFU_SIZES_BY_BATCH
        : key.id == MFU_S_GPUS || key.id == MFU_S_DP ? MFU_SIZES_BY_DP
                                                     : MFU_SIZES_BY_NONE;
}

bool mfu_graph_scales_by(const struct mfu_model *m, struct mfu_key key)
{
    return variable_of(m, key) != MFU_SIZES_BY_NONE;
}

bool mfu_graph_grows_with_batch(const struct mfu_config *c)
{
    static const enum mfu_setting_id others[] = {MFU_S_TP, MFU_S_PP, MFU_S_CP, MFU_S_EP, MFU_S_ETP};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (c->setting[others[i]] > 1)
            return false;
    return !mfu_checkpoints[c->checkpoint].by_budget;
}

static const enum mfu_coefficient read_by_graphs[] = {MFU_C_CUBLAS_WORKSPACE, MFU_C_ENGINE_BUCKET};

/* What differs of all that a graph is made from: bits of enum mfu_size_variable, of
 * MFU_SIZES_BY_NONE where that makes other operations. */
static unsigned differences(const struct mfu_config *a, const struct mfu_config *b)
{
    const unsigned other = 1u << MFU_SIZES_BY_NONE;
    unsigned what = 0;

    if (a->model != b->model || a->gpu != b->gpu || (a->accum > 1) != (b->accum > 1))
        return other;
    if ((mfu_config_expert_copies(a) > 1) != (mfu_config_expert_copies(b) > 1)) /* whether their gradients are summed */
        return other;
    if (a->setting[MFU_S_EP] > 1 && mfu_config_unit_gpus(a) != mfu_config_unit_gpus(b)) /* how far tokens go */
        return other;
    if (mfu_checkpointed_layers(a) != mfu_checkpointed_layers(b))
        return other;
    for (size_t i = 0; i < sizeof read_by_graphs / sizeof *read_by_graphs; i++)
        if (mfu_config_coefficient(a, read_by_graphs[i]) != mfu_config_coefficient(b, read_by_graphs[i]))
            return other;
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        if (a->setting[i] != b->setting[i] && !mfu_settings[i].keeps_graph)
            what |= 1u << variable_of(a->model, (struct mfu_key){MFU_KEY_SETTING, i});
    for (int i = 0; i < a->model->n_dims; i++)
        if (a->dim[i] != b->dim[i])
            what |= 1u << variable_of(a->model, (struct mfu_key){MFU_KEY_DIM, i});
    return what;
}

double mfu_graph_accum(const struct mfu_config *c)
{
    if (c->setting[MFU_S_PP] <= 1)
        return c->accum;
    /* What runs in both directions shares the microbatches. */
    return fmax(1, c->accum * c->pipeline.vpp / mfu_pipeline_chunks(&c->pipeline));
}

bool mfu_graph_same(const struct mfu_config *a, const struct mfu_config *b)
{
    return differences(a, b) == 0;
}

/* Kernels of attention round the tokens of a rank up to so many, which no line follows. */
#define SEQ_STEP 128

static double size_variable(const struct mfu_config *c, enum mfu_size_variable by)
{
    double step = SEQ_STEP * c->setting[MFU_S_CP] * c->setting[MFU_S_TP];
    int exponent;

    if (by == MFU_SIZES_BY_DP) /* that a share of it is exact, and there is one copy */
        return c->setting[MFU_S_DP] > 1 && c->setting[MFU_S_DP_SHARD] == 0
                && frexp(c->setting[MFU_S_DP], &exponent) == 0.5
            ? 1 / c->setting[MFU_S_DP]
            : 0;
    return by == MFU_SIZES_BY_BATCH ? c->batch : fmod(c->seq, step) == 0 ? c->seq : 0;
}

struct mfu_size_change mfu_graph_change(const struct mfu_config *from, const struct mfu_config *to)
{
    unsigned what = differences(from, to);
    enum mfu_size_variable by = what == 1u << MFU_SIZES_BY_BATCH ? MFU_SIZES_BY_BATCH
        : what == 1u << MFU_SIZES_BY_SEQ                         ? MFU_SIZES_BY_SEQ
        : what == 1u << MFU_SIZES_BY_DP                          ? MFU_SIZES_BY_DP
                                                                 : MFU_SIZES_BY_NONE;
    struct mfu_size_change change = {.by = by};

    if (by == MFU_SIZES_BY_NONE)
        return change; /* the model of `from` may be gone */
    change.from = size_variable(from, by);
    change.to = size_variable(to, by);
    if (!(change.from > 0 && change.to > 0 && change.from != change.to)
        || mfu_checkpoints[to->checkpoint].by_budget /* another size, other choices */
        || (by == MFU_SIZES_BY_SEQ && to->setting[MFU_S_PACKING] > 0 && to->documents.mean > 0)
        || mfu_config_fused_softmax(from) != mfu_config_fused_softmax(to))
        change.by = MFU_SIZES_BY_NONE;
    return change;
}

/* Every GPU has a frozen model apart as a whole, which no layout of the other splits. */
static int check_apart(const struct mfu_config *c, struct mfu_error *err)
{
    static const enum mfu_setting_id splits[] = {MFU_S_TP, MFU_S_PP, MFU_S_CP};
    int id = c->setting[MFU_S_OFFLOAD_PARAMS] > 0 ? MFU_S_OFFLOAD_PARAMS
        : c->setting[MFU_S_ZERO] >= 3             ? MFU_S_ZERO
                                                  : -1;

    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        if (c->setting[splits[i]] > 1)
            id = (int)splits[i];
    if (id < 0)
        return 0;
    return mfu_fail(err, MFU_EINPUT,
                    "%s: beside a frozen model that runs in the step it is not modelled: cache what that gives (set "
                    "autoencoder 0, text_encoders 0)",
                    mfu_settings[id].key);
}

/* The builder, with every operation as one rank of stage `stage` has it; NULL with `err`. */
static struct mfu_builder *begin(const struct mfu_config *c, int stage, bool counted, struct mfu_program *p,
                                 struct mfu_error *err)
{
    const struct mfu_package *package = &mfu_packages[(int)c->setting[MFU_S_PACKAGE]];
    struct mfu_builder *s = p->workbench;

    if (!s) {
        if (!(s = p->workbench = malloc(sizeof *s))) {
            mfu_fail(err, MFU_ENOMEM, "out of memory");
            return NULL;
        }
        memset(s, 0, offsetof(struct mfu_builder, operations));
    }
    s->n_nodes = s->n_parameters = s->n_deferred = 0;
    s->n_kept = 0;
    s->recomputing = s->referring = s->apart = s->failed = false;
    s->node = -1;
    s->old_logits = s->returned = s->fp32_outputs = MFU_NO_VIEW;
    s->loaded_bytes = 0;
    s->n_loaded = 0;
    s->image_tokens = -1;
    s->logits_section = NULL;
    s->logits_width = -1;
    mfu_fold_free(p);
    s->program = p;
    s->config = c;
    s->counted = counted;
    s->stage = stage;
    s->stages = (int)c->setting[MFU_S_PP];
    s->runtime = &mfu_runtimes[c->runtime];
    s->eager_outside = s->runtime->layers_only || (mfu_trainers[c->trainer].compiles_layers && s->runtime->recompute);
    s->eager_loss = s->runtime->layers_only
        || (c->setting[MFU_S_SOFTWARE] > 0
            && c->setting[MFU_S_SOFTWARE] < mfu_trainers[c->trainer].compiles_loss_since);
    if (mfu_config_has(c, MFU_HAND_FUSED))
        package = &mfu_packages[MFU_PACKAGE_FLA];
    s->whole_softmax = s->runtime->whole_norms || mfu_trainers[c->trainer].whole_norms;
    s->whole_norms = (s->whole_softmax && !mfu_trainers[c->trainer].plain_norms) || package->whole_norms;
    s->whole_scans = s->runtime->whole_scans || package->whole_scans;
    s->whole_gates = package->whole_gates && !s->runtime->fuse;
    s->numerics = mfu_numerics_choose(c, s->runtime);
    mfu_shard_parameters(s);
    mfu_arena_reset(&p->room);
    s->n_ends = 0;
    memset(s->newest_work, 0, sizeof s->newest_work);
    p->n_launches = p->n_works = p->n_tensors = p->n_views = p->n_segments = p->n_compared = 0;
    p->lost = NULL;
    p->accum = mfu_graph_accum(c);
    p->tokens = c->tokens;
    mfu_tensor_new(s, 0, 0, MFU_F32, MFU_PART_WEIGHTS); /* tensor 0: the weights */
    if (s->failed)
        return s;
    p->tensors[0] = (struct mfu_tensor){.born = MFU_NEVER, .last = MFU_FOREVER, .part = MFU_PART_WEIGHTS};

    if (mfu_evaluate_operations(s, err) < 0)
        return NULL;
    mfu_count_parameters(s);
    if (p->params > 0 && p->trainable_params == 0) { /* a head that is tied to the embeddings, say */
        mfu_fail(err, MFU_EINPUT,
                 "trainable: the model has no such weights: nothing trains (set lora 16, or name others)");
        return NULL;
    }
    if (p->apart_params > 0 && check_apart(c, err) < 0)
        return NULL;
    if (mfu_split_operations(s, err) < 0)
        return NULL;
    mfu_count_rank(s);
    s->frozen_parts = p->rank_trained + p->unreached_params < p->rank_params;
    if (p->rank_params > 0 && p->rank_trained == 0) {
        mfu_fail(err, MFU_EINPUT, "pp: a stage where nothing trains (number %d) is not modelled", s->stage + 1);
        return NULL;
    }
    return s;
}

int mfu_graph_count(const struct mfu_config *c, struct mfu_program *p, struct mfu_error *err)
{
    struct mfu_builder *s = begin(c, 0, true, p, err);

    return !s ? -1 : s->failed ? mfu_fail(err, MFU_ENOMEM, "out of memory") : 0;
}

double mfu_graph_state_bytes(const struct mfu_config *c, struct mfu_program *p)
{
    if (mfu_graph_count(c, p, NULL) < 0)
        return 0;
    mfu_resident_memory(p->workbench);
    return p->constant_bytes[MFU_PART_WEIGHTS] + p->constant_bytes[MFU_PART_GRADIENTS] + p->constant_bytes[MFU_PART_EMA]
        + (mfu_optimizers[c->optimizer].matrices ? 0 : p->constant_bytes[MFU_PART_OPTIMIZER]);
}

/* Whether autocast's cache ends with forward. */
static bool ends_autocast(const struct mfu_builder *s)
{
    return s->runtime->scopes && s->numerics.autocast;
}

/* Whether it does so before the trainer computes the loss, from log-probabilities. */
static bool loss_is_apart(const struct mfu_builder *s)
{
    return ends_autocast(s) && mfu_objectives[(int)s->config->setting[MFU_S_OBJECTIVE]].log_probabilities;
}

/* Characters of what sections of one module begin with ("up1.2.blocks", "up1.2.out"); 0: the section is none's. */
static size_t module_of(const struct mfu_layer *l)
{
    size_t n = strcspn(l->section->name, ".");

    return l->section->name[n] && !l->section->apart ? n + 1 : 0;
}

static bool same_module(const struct mfu_layer *a, const struct mfu_layer *b)
{
    size_t n = module_of(a);

    return n > 0 && strncmp(a->section->name, b->section->name, n) == 0;
}

/* Whoever calls the module of which layer `last` is the last names what it gives it until it returns: what came before, and
 * what was kept for it, which alone is named until the next module is called, or the model returns (`behind`). */
static void hold_given(struct mfu_builder *s, const struct mfu_layer *layers, int last, bool behind)
{
    int first = last, end = layers[last].first_node + layers[last].n_nodes;

    if (!s->runtime->scopes || !module_of(&layers[last]))
        return;
    while (first > 0 && same_module(&layers[first - 1], &layers[last]))
        first--;
    for (int i = layers[first].first_node; i < end; i++)
        for (int k = 0; k < MFU_INPUTS; k++)
            if (s->nodes[i].in[k] >= 0 && s->nodes[i].in[k] < layers[first].first_node
                && !(behind && s->nodes[i].in[k] == layers[first].input))
                mfu_tensor_extend(s, s->nodes[s->nodes[i].in[k]].out);
}

/* Forward of all layers; how many are traced, -1 with `err`, or without where memory ran out. */
static int trace_forward(struct mfu_builder *s, enum mfu_unrolling unrolling, struct mfu_error *err)
{
    struct mfu_layer *layers;
    int n = s->failed ? -1 : mfu_layers_make(s, unrolling, err);

    layers = s->layers;
    s->n_layers = n;
    for (int k = 0; k < n && !s->failed; k++)
        mfu_mark_recomputed(s, &layers[k]);
    for (int k = 0; k < n && !s->failed; k++) {
        s->layer = k;
        if (k > 0 && !same_module(&layers[k - 1], &layers[k]))
            hold_given(s, layers, k - 1, false);
        if (k == n - 1 && !layers[k].section->repeat)
            hold_results(s, layers, k);
        mfu_segment_open(s, layers[k].section->name, MFU_FORWARD, layers[k].repeat);
        mark_layer(s, &layers[k]);
        if (k == 0 && layers[k].first_node > 0) /* what the stage before sent */
            s->nodes[0].op->primitive->forward(s, &s->nodes[0]);
        layers[k].first_kept = s->n_kept;
        s->n_gemms = 0;
        s->selective = mfu_checkpoints[s->config->checkpoint].keeps_products && mfu_layer_recomputed(s, &layers[k]);
        mfu_repeat_begin(s, k, MFU_FORWARD);
        if (k == n - 1 && loss_is_apart(s)) {
            struct mfu_layer model = layers[k], loss = model;

            loss.first_node += --model.n_nodes;
            loss.n_nodes = 1;
            run_forward(s, &model);
            mfu_segment_close(s);
            free_casts(s, layers, n);
            mfu_segment_open(s, loss.section->name, MFU_FORWARD, loss.repeat);
            run_forward(s, &loss);
        } else if (s->selective || !mfu_repeat_pass(s, k, MFU_FORWARD)) {
            run_forward(s, &layers[k]);
        }
        mfu_repeat_end(s, k, MFU_FORWARD);
        mfu_choose_kept(s, &layers[k]);
        if (k == n - 1)
            hold_locals(s, layers, n);
        if (k == n - 1 && layers[k].section->repeat)
            hold_results(s, layers, k);
        if (k == n - 1 && k > 0)
            hold_given(s, layers, k - 1, true);
        mfu_segment_close(s);
    }
    return n;
}

/* Whether a layer that stands for several receives another type than it hands on. */
static bool hands_on_another_type(const struct mfu_builder *s, int n)
{
    for (int k = 1; k < n && !s->failed; k++) {
        const struct mfu_layer *l = &s->layers[k - 1];

        if (s->layers[k].repeat > 1 && l->input >= 0
            && mfu_view_type(s, s->nodes[l->input].out) != mfu_view_type(s, s->nodes[s->layers[k].input].out))
            return true;
    }
    return false;
}

/* Whether what comes behind the copies can leave them folded: launches may be put between theirs, but who reads what
 * stays. */
static bool stays_folded(const struct mfu_config *c)
{
    return !mfu_runtimes[c->runtime].preallocates;
}

/* Convolutions and pools of a picture that is too small leave nothing of it. */
static int check_pictures(const struct mfu_builder *s, struct mfu_error *err)
{
    for (int i = 0; i < s->n_nodes; i++)
        if (s->nodes[i].out != MFU_NO_VIEW && mfu_view_rows(s, s->nodes[i].out) == 0)
            return mfu_fail(err, MFU_EINPUT,
                            "image: of one of %.0f pixels nothing is left at %s of %s (set image %.0f)",
                            mfu_config_dim(s->config, "image"), s->nodes[i].op->name, s->config->model->name,
                            2 * mfu_config_dim(s->config, "image"));
    return 0;
}

/* Stages get as many rows as there are tokens (stage.c), and embeddings alone have not parted them yet; of pictures whose
 * positions become fewer the stage before has others. */
static int check_sent(const struct mfu_builder *s, const struct mfu_layer *layers, int n, struct mfu_error *err)
{
    const struct mfu_layer *last = last_sent(s, layers, n);
    double rows = mfu_view_rows(s, s->nodes[last->first_node + last->n_nodes - 1].out);

    if (s->stages <= 1 || rows == mfu_stage_rows(s) || rows == s->config->tokens)
        return 0;
    return mfu_fail(err, MFU_EINPUT,
                    "pp: stages of %s hand on %.0f rows, not one for each of %.0f tokens: no pipeline that sends them "
                    "is modelled (set pp 1)",
                    s->config->model->name, rows, s->config->tokens);
}

static void forget_nodes(struct mfu_builder *s)
{
    free(s->nodes);
    s->nodes = NULL;
    s->n_nodes = s->cap_nodes = 0;
    free(s->parameters);
    s->parameters = NULL;
    s->n_parameters = s->cap_parameters = 0;
}

/* Those of a pass are in the list of launches. */
static void forget_put(struct mfu_builder *s)
{
    free(s->put);
    s->put = NULL;
    s->n_put = s->cap_put = 0;
}

/* 0; -1 with `err`; UNLIKE: layers that were to be copied name what is further away than `reach`, or differ. */
#define UNLIKE 1

static int build(const struct mfu_config *c, int stage, enum mfu_unrolling unrolling, int reach, int edge,
                 struct mfu_program *p, struct mfu_error *err)
{
    struct mfu_layer *layers;
    bool counted = unrolling == MFU_LAYERS_COUNTED;
    struct mfu_builder *s = begin(c, stage, counted, p, err);
    bool folded = unrolling == MFU_LAYERS_FOLDED && stays_folded(c);
    int n, first_backward, status = -1;

    if (!s)
        return -1;
    s->reach = reach;
    s->edge = edge;
    s->uneven = c->setting[MFU_S_OFFLOAD_ACTIVATIONS] > 0;
    if ((n = trace_forward(s, unrolling, err)) < 0)
        goto done;
    if (!s->uneven && counted && hands_on_another_type(s, n)) {
        begin(c, stage, counted, p, err);
        s->uneven = true;
        n = trace_forward(s, unrolling, err);
    }
    layers = s->layers;
    if (s->failed) /* its nodes are not all there */
        goto done;
    if (s->image_tokens >= 0)
        return mfu_fail_images(c, s->image_tokens, err);
    if (check_sent(s, layers, n, err) < 0 || check_pictures(s, err) < 0)
        return -1;
    if (ends_autocast(s) && !loss_is_apart(s))
        free_casts(s, layers, n);         /* autocast's cache ends with forward */
    if (s->fp32_outputs != MFU_NO_VIEW) { /* after autocast's end */
        mfu_segment_open(s, layers[n - 1].section->name, MFU_FORWARD, 1);
        s->node = s->n_nodes - 1;
        mfu_return_outputs(s);
        mfu_segment_close(s);
    } else {
        mfu_return_outputs(s);
    }
    if (s->runtime->scopes && s->prefix != MFU_TOKENS_IN)
        drop_cache(s, layers, n);
    hold_loaded(s, &layers[n - 1]);
    p->boundary_bytes = sent_bytes(s, layers, n);
    if (mfu_config_reference(c) && !mfu_objectives[(int)c->setting[MFU_S_OBJECTIVE]].apart)
        trace_reference(s, layers, n);
    first_backward = p->n_launches;
    for (int k = n - 1; k >= 0 && !s->failed; k--) {
        if (s->prefix >= layers[k].first_node && s->prefix < layers[k].first_node + layers[k].n_nodes)
            collect_prefix(s, layers, n);
        trace_backward(s, &layers[k], k == n - 1);
    }
    check_saved(s, first_backward);
    mfu_count_reached(s, n);
    mfu_list_weights(s, n);
    if (s->n_deferred)
        trace_deferred(s, layers, n);
    forget_casts(s);
    if (s->runtime->fuse && mfu_fuse(s) < 0)
        s->failed = true;
    if (s->copies && !folded && !s->failed && !mfu_copy_layers(s, n) && !s->failed)
        return UNLIKE;
    mfu_segment_open(s, "", MFU_OPTIMIZER_PHASE, 1);
    mfu_optimizer_emit(s);
    mfu_segment_close(s);
    mfu_resident_memory(s);
    if (s->runtime->preallocates && !s->failed)
        mfu_preallocate(s);
    if (p->once) /* who puts launches between others asks for layers only */
        forget_nodes(s);
    if (!s->failed && mfu_offload_activations(s) < 0)
        s->failed = true;
    if (p->once && !s->failed)
        forget_put(s);
    if (s->copies && folded && !s->failed && !mfu_fold_layers(s, n) && !s->failed)
        return UNLIKE;
    if (!s->failed && mfu_shard_program(s) < 0)
        s->failed = true;
    status = 0;
done:
    if (s->failed)
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    return status;
}

/* Gives back what only building needs; whoever builds there again gets it anew. */
static void free_workbench(struct mfu_program *p)
{
    struct mfu_builder *s = p->workbench;

    if (s) {
        forget_nodes(s);
        free(s->layers);
        forget_put(s);
        free(s->moved);
        free(s->kept);
        free(s->deferred);
        free(s->merged);
    }
    free(s);
    p->workbench = NULL;
}

int mfu_graph_build_stage(const struct mfu_config *c, int stage, enum mfu_unrolling unrolling, struct mfu_program *p,
                          struct mfu_error *err)
{
    /* A compiler leaves the sum of a layer to the next, which has read the sum before: two layers.  Of what is
     * checkpointed and offloaded the second and the last but one differ, too. */
    static const struct {
        int reach, edge;
    } tries[] = {{1, 1}, {2, 1}, {2, 2}};
    int status = UNLIKE;

    for (size_t i = 0; i < sizeof tries / sizeof *tries && status == UNLIKE; i++)
        status = build(c, stage, unrolling, tries[i].reach, tries[i].edge, p, err);
    if (status == UNLIKE)
        status = build(c, stage, MFU_LAYERS_TRACED, 0, 0, p, err);
    if (p->once)
        free_workbench(p);
    return status;
}

int mfu_graph_build(const struct mfu_config *c, enum mfu_unrolling unrolling, struct mfu_program *p,
                    struct mfu_error *err)
{
    return mfu_graph_build_stage(c, 0, unrolling, p, err);
}

void mfu_program_free(struct mfu_program *p)
{
    free_workbench(p);
    mfu_fold_free(p);
    free(p->weights);
    free(p->compared);
    mfu_arena_free(&p->room);
    free(p->launches);
    free(p->works);
    free(p->tensors);
    free(p->views);
    free(p->segments);
    memset(p, 0, sizeof *p);
}
