/*
 * recompute.c - what checkpointing runs again in backward: a layer as a whole,
 * or single operations of it.
 */
#include "graph/recompute.h"

#include <stdlib.h>
#include <string.h>

#include "graph/builder_private.h"
#include "graph/split.h"
#include "scenario/setting.h"

/* Whether checkpoint names single operations of a layer here. */
static bool recomputes_operations(const struct mfu_builder *s)
{
    const struct mfu_checkpoint_row *row = &mfu_checkpoints[s->config->checkpoint];

    return s->runtime->recompute_ops || (s->runtime->recompute_attention && row->keeps_products && !row->by_budget);
}

/* Whether backward runs a stretch again as a whole, but for what was kept. */
bool mfu_layer_recomputed(const struct mfu_builder *s, const struct mfu_layer *st)
{
    return st->section->repeat && st->again && mfu_checkpoints[s->config->checkpoint].recomputes
        && !recomputes_operations(s);
}

bool mfu_layer_runs_anew(const struct mfu_builder *s, const struct mfu_layer *st)
{
    return st->again && mfu_checkpoints[s->config->checkpoint].recomputes_all;
}

/* The modules that a layer computes again, a bit each: llm.c's -r 1 (selective) the activation, -r 2 (full) the norms
 * as well; Megatron's those that are named. */
static unsigned modules_again(const struct mfu_builder *s)
{
    const struct mfu_checkpoint_row *row = &mfu_checkpoints[s->config->checkpoint];

    if (!row->recomputes || !recomputes_operations(s))
        return 0;
    if (s->runtime->recompute_attention)
        return (unsigned)s->config->setting[MFU_S_RECOMPUTE_MODULES];
    return MFU_RECOMPUTED_BIT(AGAIN_ACTIVATION) | (row->recomputes_all ? MFU_RECOMPUTED_BIT(AGAIN_NORMS) : 0);
}

/* What Megatron's modules are in a layer, by what operations do. */
struct parts {
    int begin, end;        /* the layer's nodes */
    const char *attention; /* the module that mixes tokens, the last one */
    int core;              /* its kernel; -1: none */
    int route, combine;    /* -1: no experts */
    int first, last;       /* products behind all mixers: the MLP, or experts that all tokens visit */
};

/* In place of a module: the model's own function drops the result. */
#define AGAIN_BY_MODEL (-1)

static bool reads(const struct mfu_builder *s, int node, int input)
{
    for (int k = 0; k < MFU_INPUTS; k++)
        if (s->nodes[node].in[k] == input)
            return true;
    return false;
}

/* Whether of a module that mixes tokens: attention, a scan. */
static bool is_of_mixer(const struct mfu_builder *s, const struct parts *p, int node)
{
    for (int i = p->begin; i < p->end; i++)
        if (mfu_is(s->nodes[i].op, MFU_MIXES_ROWS | MFU_PASSES_STATES)
            && s->nodes[i].source->module == s->nodes[node].source->module)
            return true;
    return false;
}

static struct parts parts_of(const struct mfu_builder *s, const struct mfu_layer *st)
{
    struct parts p = {st->first_node, st->first_node + st->n_nodes, NULL, -1, -1, -1, -1, -1};

    for (int i = p.begin; i < p.end; i++) {
        const struct mfu_operation *op = s->nodes[i].op;

        p.core = mfu_is(op, MFU_MIXES_ROWS) ? i : p.core;
        p.route = mfu_is(op, MFU_ROUTES) ? i : p.route;
        p.combine = mfu_is(op, MFU_COMBINES) ? i : p.combine;
    }
    p.attention = p.core >= 0 ? s->nodes[p.core].source->module : NULL;
    for (int i = p.begin; i < p.end; i++)
        if (is_of_mixer(s, &p, i))
            p.first = -1;
        else if (mfu_is(s->nodes[i].op, MFU_MULTIPLIES)
                 && (p.route < 0 || s->nodes[i].source->module != s->nodes[p.route].source->module)) {
            p.first = p.first < 0 ? i : p.first;
            p.last = i;
        }
    return p;
}

/* Whether a product of attention, before its kernel, is made from the node. */
static bool leads_to_product(const struct mfu_builder *s, const struct parts *p, int node)
{
    for (int i = node + 1; i < p->core; i++)
        if (reads(s, i, node)
            && ((mfu_is(s->nodes[i].op, MFU_MULTIPLIES) && s->nodes[i].source->module == p->attention)
                || leads_to_product(s, p, i)))
            return true;
    return false;
}

/* Whether experts that a router chooses, or what all tokens visit: the MLP and shared experts. */
static bool is_routed(const struct mfu_builder *s, const struct parts *p, int node)
{
    return p->route >= 0 && node >= p->route && node <= p->combine
        && s->nodes[node].source->module == s->nodes[p->route].source->module;
}

static bool is_for_all(const struct mfu_builder *s, const struct parts *p, int node)
{
    return p->first >= 0 && node >= p->first && node <= p->last && !is_routed(s, p, node);
}

/* Not where the layer makes scores of its own for it, which would be kept in place of what is computed again. */
static bool is_core(const struct mfu_builder *s, const struct parts *p, int node)
{
    const struct mfu_node *n = &s->nodes[node];

    return mfu_is(n->op, MFU_MIXES_ROWS) && !(n->source->n_in == 4 && n->in[3] >= p->begin && n->in[3] < p->end);
}

/* Whether a node is of a Mamba mixer, whose layer recomputes no norm (ssm/mamba_layer.py knows no recompute_modules). */
static bool is_of_scan(const struct mfu_builder *s, const struct parts *p, int node)
{
    for (int i = p->begin; i < p->end; i++)
        if (s->nodes[i].op->primitive == &mfu_primitive_scan
            && s->nodes[i].source->module == s->nodes[node].source->module)
            return true;
    return false;
}

/* The norms before attention and MLP.  TransformerEngine's layers make them part of the product behind it, unless
 * experts or narrow products read them (gpt_layer_specs.py: get_gpt_layer_with_transformer_engine_submodules). */
static bool is_layer_norm(const struct mfu_builder *s, const struct parts *p, int node)
{
    bool product = false, alone = !mfu_config_transformer_engine(s->config);

    if (!mfu_is(s->nodes[node].op, MFU_BY_ROW))
        return false;
    if (s->runtime->recompute_ops)
        return true;
    for (int i = node + 1; i < p->end; i++)
        if (reads(s, i, node) && mfu_is(s->nodes[i].op, MFU_MULTIPLIES) && !is_of_scan(s, p, i)) {
            product = true;
            alone |= i == p->route || leads_to_product(s, p, i);
        }
    return product && alone && !is_of_mixer(s, p, node);
}

static bool is_activation(const struct mfu_builder *s, const struct parts *p, int node)
{
    return mfu_is(s->nodes[node].op, MFU_CHEAP) && (s->runtime->recompute_ops || is_routed(s, p, node));
}

/* Latent attention: keys come from a narrow product by a second one.  What follows the narrow ones, but for their
 * norms (multi_latent_attention.py: qkv_up_proj_and_rope_apply). */
static bool is_up_projection(const struct mfu_builder *s, const struct parts *p, int node)
{
    bool latent = false;

    for (int i = p->begin; i < p->core && !latent; i++)
        latent = mfu_is(s->nodes[i].op, MFU_MULTIPLIES) && s->nodes[i].source->module == p->attention
            && leads_to_product(s, p, i);
    return latent && node < p->core && s->nodes[node].source->module == p->attention
        && !mfu_is(s->nodes[node].op, MFU_BY_ROW) && !leads_to_product(s, p, node);
}

static bool is_mlp(const struct mfu_builder *s, const struct parts *p, int node)
{
    return p->route < 0 && is_for_all(s, p, node);
}

static bool is_shared_expert(const struct mfu_builder *s, const struct parts *p, int node)
{
    return p->route >= 0 && is_for_all(s, p, node);
}

static bool is_expert(const struct mfu_builder *s, const struct parts *p, int node)
{
    return p->route >= 0 && (is_routed(s, p, node) || is_for_all(s, p, node));
}

static bool (*const is_of[])(const struct mfu_builder *, const struct parts *, int node) = {
    [MFU_AGAIN_CORE_ATTN] = is_core,
    [MFU_AGAIN_NORMS] = is_layer_norm,
    [MFU_AGAIN_ACTIVATION] = is_activation,
    [MFU_AGAIN_UP_PROJECTION] = is_up_projection,
    [MFU_AGAIN_MLP] = is_mlp,
    [MFU_AGAIN_SHARED_EXPERTS] = is_shared_expert,
    [MFU_AGAIN_EXPERTS] = is_expert,
};

void mfu_mark_recomputed(struct mfu_builder *s, const struct mfu_layer *st)
{
    unsigned wanted = st->section->repeat ? modules_again(s) : 0;
    struct parts p;

    for (int i = st->first_node; i < st->first_node + st->n_nodes && !s->failed; i++)
        if (s->nodes[i].source->again && mfu_expression_eval(s->nodes[i].source->again, s->config->dim) > 0)
            s->nodes[i].recomputed = AGAIN_BY_MODEL;
    if (!wanted || s->failed)
        return;
    p = parts_of(s, st);
    for (int i = p.begin; i < p.end; i++)
        for (int m = 0; m < MFU_RECOMPUTED_MODULE_COUNT; m++)
            if (wanted >> m & 1 && is_of[m](s, &p, i))
                s->nodes[i].recomputed = 1 + m; /* of a module within another: with that one */
}

static bool runs_whole(const struct mfu_node *n)
{
    return n->recomputed > 0 && mfu_recomputed_modules[n->recomputed - 1].whole;
}

bool mfu_result_dropped(const struct mfu_builder *s, int node)
{
    return node >= 0 && s->nodes[node].recomputed && !runs_whole(&s->nodes[node]);
}

void mfu_forget_casts(struct mfu_builder *s, int first, int n)
{
    for (int i = first; i < first + n; i++)
        for (int w = 0; w < 2; w++)
            if (s->nodes[i].parameter[w] >= 0)
                s->parameters[s->nodes[i].parameter[w]].cast = MFU_NO_VIEW;
}

/* In llm.c by a kernel of its own; operations that saved the old result read the new one. */
static void compute_again(struct mfu_builder *s, const struct mfu_layer *st, int node)
{
    struct mfu_node *n = &s->nodes[node];
    int old = n->out, first = s->program->n_launches;

    n->again = true;
    mfu_forget_casts(s, node, 1);
    for (int k = 0; k < n->source->n_in; k++)
        if (n->in[k] >= st->first_node && s->nodes[n->in[k]].recomputed && !s->nodes[n->in[k]].again)
            compute_again(s, st, n->in[k]);
    s->node = node;
    s->recomputing = true;
    n->n_saved = 0;
    mfu_split_before_forward(s, n);
    n->op->primitive->forward(s, n);
    mfu_split_after_forward(s, n);
    s->recomputing = false;
    for (int i = first; i < s->program->n_launches && s->runtime->recompute_ops; i++)
        s->program->launches[i].fusion = MFU_ALONE;
    for (int i = st->first_node; i < st->first_node + st->n_nodes; i++)
        for (int k = 0; k < s->nodes[i].n_saved; k++)
            if (s->nodes[i].saved[k] == old)
                s->nodes[i].saved[k] = n->out;
    n->shard = n->shard == old ? n->out : n->shard;
}

/* What backward of a node reads and forward has not kept: its module as a whole (each attention is one), or results that
 * were dropped. */
void mfu_compute_missing(struct mfu_builder *s, const struct mfu_layer *st, int node)
{
    const struct mfu_node *n = &s->nodes[node];

    for (int i = st->first_node; runs_whole(n) && i < st->first_node + st->n_nodes; i++)
        if (s->nodes[i].recomputed == n->recomputed && !s->nodes[i].again
            && (i == node || !mfu_is(n->op, MFU_MIXES_ROWS)))
            compute_again(s, st, i);
    for (int i = st->first_node; i < node; i++)
        for (int k = 0; k < n->n_saved; k++)
            if (n->saved[k] == s->nodes[i].out && mfu_result_dropped(s, i) && !s->nodes[i].again)
                compute_again(s, st, i);
}

/* torch's checkpoint stops recomputing at the last tensor that was saved. */
int mfu_last_saver(const struct mfu_builder *s, const struct mfu_layer *st)
{
    int last = st->first_node + st->n_nodes - 1;

    if (s->runtime->half_weights)
        return last; /* Megatron runs the whole layer again */
    while (last > st->first_node && s->nodes[last].n_saved == 0)
        last--;
    return last;
}

/* ---- a budget --------------------------------------------------------------- */

/* A set of choices that no other one beats: with fewer bytes none has its value. */
struct choice {
    double bytes, value;
    uint64_t members;
};

/* Sets that are looked at, at most; layers have a few sizes, and so a few dozen. */
#define MOST_SETS 512

static int by_bytes(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;

    return x->bytes != y->bytes ? (x->bytes > y->bytes) - (x->bytes < y->bytes)
                                : (x->value < y->value) - (x->value > y->value);
}

/* Sets are extended choice by choice, and those that are beaten dropped (Nemhauser and Ullmann). */
uint64_t mfu_keep_most_value(const double *bytes, const double *value, int n, double room)
{
    struct choice sets[2 * MOST_SETS] = {{0}};
    int n_sets = 1;

    for (int i = 0; i < n && i < MFU_MOST_CHOICES; i++) {
        int all = n_sets, best = 0;

        for (int k = 0; k < n_sets; k++)
            if (value[i] > 0 && sets[k].bytes + bytes[i] <= room)
                sets[all++] = (struct choice){sets[k].bytes + bytes[i], sets[k].value + value[i],
                                              sets[k].members | (uint64_t)1 << i};
        qsort(sets, (size_t)all, sizeof *sets, by_bytes);
        for (int k = 1; k < all; k++)
            if (sets[k].value > sets[best].value)
                sets[++best] = sets[k];
        n_sets = best + 1;
        while (n_sets > MOST_SETS) { /* every second, the best among them */
            for (int k = 0; 2 * k < n_sets; k++)
                sets[(n_sets - 1) / 2 - k] = sets[n_sets - 1 - 2 * k];
            n_sets = (n_sets + 1) / 2;
        }
    }
    return sets[n_sets - 1].members;
}

/* What a layer keeps without checkpointing, beside its input. */
static double saved_bytes(const struct mfu_builder *s, const struct mfu_layer *st)
{
    const struct mfu_program *p = s->program;
    int first = p->segments[p->n_segments - 1].first;
    double bytes = 0;

    for (int t = 1; t < p->n_tensors; t++) {
        bool saved = false;

        if (p->tensors[t].born < first || p->tensors[t].part != MFU_PART_ACTIVATIONS)
            continue;

        for (int i = st->first_node; i < st->first_node + st->n_nodes && !saved; i++)
            for (int k = 0; k < s->nodes[i].n_saved; k++)
                saved |= s->nodes[i].saved[k] != MFU_NO_VIEW && p->views[s->nodes[i].saved[k]].tensor == t;
        bytes += saved ? p->tensors[t].bytes : 0;
    }
    return bytes;
}

void mfu_choose_kept(struct mfu_builder *s, const struct mfu_layer *st)
{
    const struct mfu_program *p = s->program;
    double bytes[MFU_MOST_CHOICES], value[MFU_MOST_CHOICES], room;
    int last = mfu_last_saver(s, st), n = 0, before = -1;
    uint64_t members;

    if (!s->selective || !mfu_checkpoints[s->config->checkpoint].by_budget || s->failed)
        return;
    room = s->config->setting[MFU_S_CHECKPOINT_BUDGET] * saved_bytes(s, st);
    for (int i = st->first_kept; i < s->n_kept; i++) {
        const struct mfu_view *v = &p->views[s->kept[i].view];
        const struct mfu_kernel *k = &p->launches[v->producer].work->kernel;

        if (v->producer != before) { /* attention has two results */
            if (n == MFU_MOST_CHOICES)
                break;
            before = v->producer;
            bytes[n] = 0;
            value[n++] = s->kept[i].node < last || s->runtime->half_weights ? mfu_kernel_counted_flops(k) : 0;
        }
        if (n > 0)
            bytes[n - 1] += p->tensors[v->tensor].bytes;
    }
    members = mfu_keep_most_value(bytes, value, n, room);
    n = 0;
    before = -1;
    for (int i = st->first_kept; i < s->n_kept; i++) {
        int producer = p->views[s->kept[i].view].producer;

        n += n == 0 || producer != before;
        before = producer;
        if (n > MFU_MOST_CHOICES || !(members >> (n - 1) & 1))
            s->kept[i].view = MFU_NO_VIEW;
    }
}
