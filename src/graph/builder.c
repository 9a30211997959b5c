/*
 * builder.c - from a model's sections to a program: traces each kind of layer
 * once, forward and backward, and lets the primitives append their kernels.
 *
 * A repeated section is traced at most three times: its first, a middle and
 * its last layer, since the neighbours of the first and last differ.  The
 * middle one stands for all the others (`repeat` of its segment).
 */
#include "graph/builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/preallocated.h"
#include "graph/builder_private.h"
#include "graph/optimizer.h"
#include "scenario/setting.h"

/* ---- tracing ------------------------------------------------------------ */

/* One traced stretch: a section, or one of the up to three layers of it. */
struct layer_instance {
    const struct mfu_model_section *section;
    int first_node, n_nodes;
    int input; /* node that it reads, or MFU_TOKENS_IN */
    double repeat;
    int first_kept; /* of its results in mfu_builder.kept */
};
/* More layers than that are counted even when unrolling (chosen: time and room
 * grow with them). */
#define MOST_UNROLLED 1000

void mfu_segment_open(struct mfu_builder *s, const char *section, enum mfu_phase phase, double repeat)
{
    struct mfu_program *p = s->program;

    s->section = section;
    s->phase = phase;
    if (!ROOM(s, p->segments, p->n_segments, p->cap_segments))
        return;
    p->segments[p->n_segments++] =
        (struct mfu_segment){.section = section, .phase = phase, .first = p->n_launches, .repeat = repeat};
}

void mfu_segment_close(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;

    if (!s->failed)
        p->segments[p->n_segments - 1].count = p->n_launches - p->segments[p->n_segments - 1].first;
    s->node = -1;
}

#define WAITING (-2) /* in `at`: a node that its first reader makes */

/* Whether a compiler would delay an op until somebody reads it: one that
 * only changes elements, and whose reader does not come next.  (The SiLU of a
 * SwiGLU, written before the second projection, then meets its product.) */
static bool waits(const struct mfu_builder *s, const struct mfu_model_section *sec, int op)
{
    const struct mfu_model *m = s->config->model;

    if (!s->runtime->fuse || s->left_out[op] || m->ops[op].n_in != 1 || m->ops[op].primitive->params)
        return false;
    for (int i = op + 1; i < sec->first + sec->count; i++)
        for (int k = 0; k < m->ops[i].n_in; k++)
            if (m->ops[i].in[k] == op)
                return i > op + 1;
    return false;
}

static void add_node(struct mfu_builder *s, const struct layer_instance *st, int *at, int op);

/* The node that makes input `k` of an op. */
static int maker(struct mfu_builder *s, const struct layer_instance *st, int *at, const struct mfu_model_op *source,
                 int k)
{
    int op;

    if (k >= source->n_in)
        return MFU_TOKENS_IN;
    if ((op = source->in[k]) == MFU_SECTION_INPUT)
        return st->input;
    if (at[op] == WAITING)
        add_node(s, st, at, op);
    return at[op];
}

static void add_node(struct mfu_builder *s, const struct layer_instance *st, int *at, int op)
{
    const struct mfu_model_op *source = &s->config->model->ops[op];
    struct mfu_node *n;
    int in[MFU_INPUTS];

    for (int k = 0; k < MFU_INPUTS; k++)
        in[k] = maker(s, st, at, source, k);
    if (s->left_out[op]) {
        at[op] = in[0];
        return;
    }
    if (!ROOM(s, s->nodes, s->n_nodes, s->cap_nodes))
        return;
    n = &s->nodes[s->n_nodes];
    *n = (struct mfu_node){.op = &s->operations[op],
                           .source = source,
                           .section = st->section->name,
                           .out = MFU_NO_VIEW,
                           .gradient = MFU_NO_VIEW,
                           .parameter = {-1, -1}};
    memcpy(n->in, in, sizeof in);
    if (n->op->primitive->params) {
        struct mfu_weights w = n->op->primitive->params(n->op);
        bool borrowed = mfu_shares_weight(s, op) && at[source->shares] >= 0;

        for (int which = 0; which < 2; which++) {
            if (!ROOM(s, s->parameters, s->n_parameters, s->cap_parameters))
                return;
            n->parameter[which] = s->n_parameters;
            s->parameters[s->n_parameters++] = (struct mfu_parameter){
                .elements = which ? w.bias : w.weight, .cast = MFU_NO_VIEW, .gradient = MFU_NO_VIEW, .users = 1};
        }
        if (borrowed) {
            s->parameters[n->parameter[0]].borrowed = true;
            n->parameter[0] = s->nodes[at[source->shares]].parameter[0];
            s->parameters[n->parameter[0]].users++;
        }
    }
    at[op] = s->n_nodes++;
}

/* Makes the nodes of one stretch; `at` maps model ops to nodes. */
static void add_nodes(struct mfu_builder *s, struct layer_instance *st, int *at)
{
    const struct mfu_model_section *sec = st->section;

    st->first_node = s->n_nodes;
    for (int i = sec->first; i < sec->first + sec->count; i++)
        at[i] = WAITING;
    for (int i = sec->first; i < sec->first + sec->count && !s->failed; i++)
        if (at[i] == WAITING && !waits(s, sec, i))
            add_node(s, st, at, i);
    st->n_nodes = s->n_nodes - st->first_node;
}

/* The stretches of the whole model, in order of execution. */
static int lay_out(struct mfu_builder *s, bool unrolled, struct mfu_error *err)
{
    const struct mfu_model *m = s->config->model;
    int at[MFU_MAX_OPS], n = 0, before = MFU_TOKENS_IN;

    for (int i = 0; i < m->n_sections; i++) {
        const struct mfu_model_section *sec = &m->sections[i];
        double times = mfu_repeats(s, sec);
        int traced = times < 3 ? (int)times : unrolled ? (int)fmin(times, MOST_UNROLLED) : 3;

        if (!(times >= 1) || times != floor(times))
            return mfu_fail(err, MFU_EINPUT, "%s: section %s repeats %g times", m->slug, sec->name, times);
        for (int k = 0; k < traced; k++) {
            struct layer_instance *st;

            if (!ROOM(s, s->stretches, n, s->cap_stretches))
                return n;
            st = &s->stretches[n++];

            *st = (struct layer_instance){
                .section = sec, .input = before, .repeat = traced > 2 && k == traced - 2 ? times - traced + 1 : 1};
            add_nodes(s, st, at);
            before = at[sec->first + sec->count - 1];
        }
    }
    return n;
}

/* Python keeps the argument of a module alive until the module returns. */
static void hold_arguments(struct mfu_builder *s, const struct layer_instance *st, int node)
{
    const char *module = s->nodes[node].source->module;
    int end = st->first_node + st->n_nodes;

    if (!s->runtime->scopes || !module)
        return;
    if (node + 1 < end && s->nodes[node + 1].source->module && strcmp(s->nodes[node + 1].source->module, module) == 0)
        return;
    for (int i = node;
         i >= st->first_node && s->nodes[i].source->module && strcmp(s->nodes[i].source->module, module) == 0; i--)
        for (int k = 0; k < s->nodes[i].source->n_in; k++)
            if (s->nodes[i].in[k] >= 0) {
                const char *from = s->nodes[s->nodes[i].in[k]].source->module;

                if (!from || strcmp(from, module) != 0)
                    mfu_tensor_extend(s, s->nodes[s->nodes[i].in[k]].out);
            }
}

static void run_forward(struct mfu_builder *s, const struct layer_instance *st)
{
    for (int i = st->first_node; i < st->first_node + st->n_nodes && !s->failed; i++) {
        s->node = i;
        s->nodes[i].n_saved = 0;
        if (s->recomputing && i > s->last_saver)
            break;
        s->nodes[i].op->primitive->forward(s, i);
        hold_arguments(s, st, i);
    }
}

/* Whether the next operation takes over the variable: x = act(x). */
static bool rebound(const struct mfu_builder *s, int node, int end)
{
    return node + 1 < end && s->nodes[node + 1].in[0] == node
        && strcmp(s->nodes[node + 1].op->primitive->name, "activation") == 0;
}

/* Local variables of the model's own forward(): embeddings, head. */
static void hold_locals(struct mfu_builder *s, const struct layer_instance *stretches, int n)
{
    for (int k = 0; k < n && s->runtime->scopes; k++)
        for (int i = stretches[k].first_node; i < stretches[k].first_node + stretches[k].n_nodes; i++)
            if (!stretches[k].section->repeat && !rebound(s, i, stretches[k].first_node + stretches[k].n_nodes)
                && (k == n - 1 || strcmp(s->nodes[i].op->primitive->name, "embedding") == 0))
                mfu_tensor_extend(s, s->nodes[i].out);
}

/* Whether checkpoint names single operations of a layer here. */
static bool recomputes_operations(const struct mfu_builder *s)
{
    return s->runtime->recompute_ops
        || (s->runtime->recompute_attention && mfu_checkpoints[s->config->checkpoint].keeps_products);
}

/* Whether backward runs a stretch again as a whole, but for what was kept. */
static bool recomputed(const struct mfu_builder *s, const struct layer_instance *st)
{
    return st->section->repeat && mfu_checkpoints[s->config->checkpoint].recomputes && !recomputes_operations(s);
}

/* llm.c's -r 1 (selective) computes the activation again, -r 2 (full) the norms
 * as well; Megatron's selective recomputation is that of attention. */
static bool recomputed_alone(const struct mfu_builder *s, const struct layer_instance *st, const struct mfu_node *n)
{
    const char *what = n->op->primitive->name;

    if (!st->section->repeat || n->again || !mfu_checkpoints[s->config->checkpoint].recomputes
        || !recomputes_operations(s))
        return false;
    if (s->runtime->recompute_attention)
        return strcmp(what, "attention") == 0;
    return strcmp(what, "activation") == 0 || strcmp(what, "multiply") == 0
        || (strcmp(what, "norm") == 0 && mfu_checkpoints[s->config->checkpoint].recomputes_all);
}

/* In llm.c by a kernel of its own; whoever saved the old result reads the new one. */
static void compute_again(struct mfu_builder *s, const struct layer_instance *st, int node)
{
    struct mfu_node *n = &s->nodes[node];
    int old = n->out, first = s->program->n_launches;

    n->again = true;
    for (int k = 0; k < n->source->n_in; k++)
        if (n->in[k] >= st->first_node && recomputed_alone(s, st, &s->nodes[n->in[k]]))
            compute_again(s, st, n->in[k]);
    s->node = node;
    s->recomputing = true;
    n->n_saved = 0;
    n->op->primitive->forward(s, node);
    s->recomputing = false;
    for (int i = first; i < s->program->n_launches && s->runtime->recompute_ops; i++)
        s->program->launches[i].fusion = MFU_ALONE;
    for (int i = st->first_node; i < st->first_node + st->n_nodes; i++)
        for (int k = 0; k < s->nodes[i].n_saved; k++)
            if (s->nodes[i].saved[k] == old)
                s->nodes[i].saved[k] = n->out;
}

/* What backward of a node reads and forward has not kept: of llm.c its inputs; of
 * attention what is within, since the next operation keeps the result. */
static void compute_missing(struct mfu_builder *s, const struct layer_instance *st, int node)
{
    const struct mfu_node *n = &s->nodes[node];

    if (!recomputes_operations(s))
        return;
    if (s->runtime->recompute_attention && recomputed_alone(s, st, n))
        compute_again(s, st, node);
    for (int i = st->first_node; i < node && s->runtime->recompute_ops; i++)
        for (int k = 0; k < n->n_saved; k++)
            if (n->saved[k] == s->nodes[i].out && recomputed_alone(s, st, &s->nodes[i]))
                compute_again(s, st, i);
}

static void forget_casts(struct mfu_builder *s)
{
    for (int i = 0; i < s->n_parameters; i++)
        s->parameters[i].cast = MFU_NO_VIEW;
}

/* torch's checkpoint stops recomputing at the last tensor that was saved. */
static int last_saver(const struct mfu_builder *s, const struct layer_instance *st)
{
    int last = st->first_node + st->n_nodes - 1;

    if (s->runtime->half_weights)
        return last; /* Megatron runs the whole layer again */
    while (last > st->first_node && s->nodes[last].n_saved == 0)
        last--;
    return last;
}

/* An empty launch, so that what it names lives until here. */
static void end_of_scope(struct mfu_builder *s, const struct layer_instance *st)
{
    for (int i = st->first_node; i < st->first_node + st->n_nodes; i++) {
        int casts[2], n = 0;

        for (int w = 0; w < 2; w++)
            if (s->nodes[i].parameter[w] >= 0 && s->parameters[s->nodes[i].parameter[w]].cast != MFU_NO_VIEW)
                casts[n++] = s->parameters[s->nodes[i].parameter[w]].cast;
        s->node = i;
        if (n)
            mfu_emit_kernel(s, &(struct mfu_kernel){.kind = MFU_CAST}, "scope", 0, n, casts, 0, NULL);
    }
}

static void trace_backward(struct mfu_builder *s, struct layer_instance *st)
{
    mfu_segment_open(s, st->section->name, MFU_BACKWARD, st->repeat);
    s->selective = mfu_checkpoints[s->config->checkpoint].keeps_products && recomputed(s, st);
    if (recomputed(s, st)) {
        s->last_saver = last_saver(s, st);
        s->recomputing = true;
        s->next_kept = st->first_kept;
        for (int i = st->first_node; i < st->first_node + st->n_nodes; i++)
            for (int w = 0; w < 2; w++)
                if (s->nodes[i].parameter[w] >= 0)
                    s->parameters[s->nodes[i].parameter[w]].cast = MFU_NO_VIEW;
        run_forward(s, st);
        s->recomputing = false;
    }
    for (int i = st->first_node + st->n_nodes - 1; i >= st->first_node && !s->failed; i--) {
        struct mfu_node *n = &s->nodes[i];

        if (n->gradient == MFU_NO_VIEW && strcmp(n->op->primitive->name, "loss") != 0)
            continue;
        compute_missing(s, st, i);
        s->node = i;
        n->op->primitive->backward(s, i);
    }
    mfu_segment_close(s);
}

/* Compiled backward graphs return their gradients together; only then does
 * autograd add them to .grad. */
static void trace_deferred(struct mfu_builder *s, const struct layer_instance *stretches, int n)
{
    for (int k = n - 1; k >= 0; k--) {
        const struct layer_instance *st = &stretches[k];

        mfu_segment_open(s, st->section->name, MFU_BACKWARD, st->repeat);
        for (int i = 0; i < s->n_deferred; i++)
            if (s->deferred[i].node >= st->first_node && s->deferred[i].node < st->first_node + st->n_nodes) {
                s->node = s->deferred[i].node;
                mfu_accumulate(s, s->deferred[i].view);
            }
        mfu_segment_close(s);
    }
}

/* ---- constant memory ---------------------------------------------------- */

/* DeepSpeed's reduce_bucket_size, in elements; two buffers with overlap_comm
 * (runtime/zero/config.py). */
#define ENGINE_BUCKET 5e8

bool mfu_fully_sharded(const struct mfu_config *c)
{
    return c->ranks > 1 && c->setting[MFU_S_ZERO] == 3;
}

bool mfu_gradients_sharded(const struct mfu_config *c)
{
    return c->ranks > 1 && c->setting[MFU_S_ZERO] >= 2;
}

bool mfu_half_engine(const struct mfu_config *c)
{
    return c->setting[MFU_S_HALF_WEIGHTS] > 0 && !mfu_precisions[c->precision].no_half_weights
        && !mfu_runtimes[c->runtime].c_program;
}

/* Buffers for what passes between ranks (or is gathered for itself by one). */
static double communication_bytes(const struct mfu_builder *s)
{
    const struct mfu_program *p = s->program;
    const struct mfu_config *c = s->config;
    double weight = mfu_type_bytes[s->numerics.weight], gradient = mfu_type_bytes[s->numerics.gradient];
    double stage = c->setting[MFU_S_ZERO];

    if (mfu_fully_sharded(c)) /* FSDP: the outer unit, two blocks of weights, two of gradients */
        return weight * (p->params - p->block_params * p->blocks + 2 * p->block_params)
            + 2 * gradient * p->block_params;
    if (stage < 2 && c->ranks > 1)
        return s->runtime->half_weights ? 0 : gradient * p->params;
    if (stage < 2 || !mfu_half_engine(c))
        return c->ranks > 1 ? 2 * gradient * fmin(p->params, ENGINE_BUCKET) : 0;
    return (stage == 3 ? 2 : 1) * 2 * fmin(p->params, ENGINE_BUCKET);
}

static void constant_memory(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    const struct mfu_config *c = s->config;
    double weight = mfu_type_bytes[s->numerics.weight], gradient = mfu_type_bytes[s->numerics.gradient];
    bool gradients_stay = c->accum > 1 || s->runtime->gemm_accumulates || mfu_gradients_sharded(c);
    /* Token indices and targets, int64, of this micro-batch and the next. */
    double inputs = 2 * 2 * mfu_type_bytes[MFU_I64] * c->tokens + s->loaded_bytes;
    double workspace = mfu_config_coefficient(c, MFU_C_CUBLAS_WORKSPACE);
    bool masters = s->numerics.weight == MFU_F16 && !mfu_precisions[c->precision].pure;

    memset(p->constant_bytes, 0, sizeof p->constant_bytes);
    if (masters && mfu_fully_sharded(c)) { /* the shards of the weights are the masters */
        weight = gradient = 4;
        masters = false;
    }
    p->constant_bytes[MFU_PART_WEIGHTS] = mfu_config_share(c, 3) * weight * p->params;
    p->constant_bytes[MFU_PART_GRADIENTS] = gradients_stay ? mfu_config_share(c, 2) * gradient * p->params : 0;
    p->constant_bytes[MFU_PART_OPTIMIZER] =
        mfu_config_share(c, 1) * (mfu_optimizer_state_bytes(c, p) + (masters ? 4 * p->params : 0));
    p->gradient_bytes = mfu_type_bytes[s->numerics.gradient];
    p->weight_bytes = mfu_type_bytes[s->numerics.weight];
    p->constant_bytes[MFU_PART_COMMUNICATION] = communication_bytes(s);
    p->constant_bytes[MFU_PART_ACTIVATIONS] = inputs;
    /* Handles belong to threads: forward's and the autograd engine's. */
    p->constant_bytes[MFU_PART_WORKSPACE] = s->runtime->half_weights ? workspace : 2 * workspace;
}

static struct mfu_numerics choose_numerics(const struct mfu_config *c, const struct mfu_runtime *r)
{
    const struct mfu_precision_row *row = &mfu_precisions[c->precision];
    bool full = !row->half, pure = row->pure;
    bool half = pure || r->half_weights || mfu_half_engine(c);
    enum mfu_type weight = full || !half ? MFU_F32 : MFU_F16;

    return (struct mfu_numerics){
        .weight = weight,
        .compute = full ? MFU_F32 : MFU_F16,
        .gradient = r->gradient == MFU_GRADIENT_FP32 && !pure ? MFU_F32 : weight,
        .residual = weight,
        .autocast = !full && weight == MFU_F32,
        .math = row->math,
        .linear_math = row->linear_math,
    };
}

/* Whether a launch from `first` on reads the tensor. */
static bool read_later(const struct mfu_program *p, int tensor, int first)
{
    for (int i = first; i < p->n_launches; i++)
        for (int k = 0; k < p->launches[i].n_in; k++)
            if (p->views[p->launches[i].in[k]].tensor == tensor)
                return true;
    return false;
}

/* What forward leaves for backward: born in forward, needed later. */
static double saved_for_backward(const struct mfu_program *p)
{
    double bytes = 2 * mfu_type_bytes[MFU_I64] * p->tokens; /* indices and targets */
    int end = 0;

    for (int i = 0; i < p->n_segments; i++)
        if (p->segments[i].phase == MFU_FORWARD)
            end = p->segments[i].first + p->segments[i].count;
    for (int i = 0; i < p->n_segments && p->segments[i].phase == MFU_FORWARD; i++) {
        const struct mfu_segment *seg = &p->segments[i];
        double own = 0;

        for (int t = 1; t < p->n_tensors; t++)
            if (p->tensors[t].born >= seg->first && p->tensors[t].born < seg->first + seg->count
                && p->tensors[t].last >= end && (p->tensors[t].last != MFU_FOREVER || read_later(p, t, end)))
                own += p->tensors[t].bytes;
        bytes += seg->repeat * own;
    }
    return bytes;
}

/* The weights one by one, as a framework allocates them. */
static void list_weights(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;

    p->n_weights = 0;
    for (int i = 0; i < s->n_parameters; i++)
        if (s->parameters[i].elements > 0 && !s->parameters[i].borrowed
            && ROOM(s, p->weights, p->n_weights, p->cap_weights))
            p->weights[p->n_weights++] = s->parameters[i].elements;
}

bool mfu_graph_same(const struct mfu_config *a, const struct mfu_config *b)
{
    if (a->model != b->model || a->gpu != b->gpu || (a->accum > 1) != (b->accum > 1)
        || mfu_config_coefficient(a, MFU_C_CUBLAS_WORKSPACE) != mfu_config_coefficient(b, MFU_C_CUBLAS_WORKSPACE))
        return false;
    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        if (a->setting[i] != b->setting[i] && !mfu_settings[i].keeps_graph)
            return false;
    return memcmp(a->dim, b->dim, (size_t)a->model->n_dims * sizeof *a->dim) == 0;
}

int mfu_graph_build(const struct mfu_config *c, bool unrolled, struct mfu_program *p, struct mfu_error *err)
{
    struct layer_instance *stretches;
    struct mfu_builder *s = p->workbench;
    int n, status = -1;

    if (!s && !(s = p->workbench = calloc(1, sizeof *s)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    s->n_nodes = s->n_parameters = s->n_deferred = 0;
    s->n_kept = 0;
    s->recomputing = s->failed = false;
    s->node = -1;
    s->old_logits = s->fp32_outputs = MFU_NO_VIEW;
    s->loaded_bytes = 0;
    s->logits_section = NULL;
    s->logits_width = -1;
    s->program = p;
    s->config = c;
    s->runtime = &mfu_runtimes[c->runtime];
    s->numerics = choose_numerics(c, s->runtime);
    p->n_launches = p->n_tensors = p->n_views = p->n_segments = 0;
    p->accum = c->accum;
    p->tokens = c->tokens;
    mfu_tensor_new(s, 0, 0, MFU_F32, MFU_PART_WEIGHTS); /* tensor 0: the weights */
    if (s->failed)
        goto done;
    p->tensors[0] = (struct mfu_tensor){.born = MFU_NEVER, .last = MFU_FOREVER, .part = MFU_PART_WEIGHTS};

    if (mfu_evaluate_operations(s, err) < 0)
        goto done;
    mfu_count_parameters(s);
    if ((n = lay_out(s, unrolled, err)) < 0)
        goto done;
    stretches = s->stretches;
    for (int k = 0; k < n; k++) {
        mfu_segment_open(s, stretches[k].section->name, MFU_FORWARD, stretches[k].repeat);
        stretches[k].first_kept = s->n_kept;
        s->n_gemms = 0;
        s->selective = mfu_checkpoints[c->checkpoint].keeps_products && recomputed(s, &stretches[k]);
        run_forward(s, &stretches[k]);
        if (k == n - 1)
            hold_locals(s, stretches, n);
        mfu_segment_close(s);
    }
    if (s->runtime->scopes && s->numerics.autocast && mfu_checkpoints[c->checkpoint].recomputes_all)
        for (int k = 0; k < n; k++) { /* autocast's cache ends with forward */
            mfu_segment_open(s, stretches[k].section->name, MFU_FORWARD, stretches[k].repeat);
            end_of_scope(s, &stretches[k]);
            mfu_segment_close(s);
        }
    if (s->fp32_outputs != MFU_NO_VIEW) { /* after autocast's end */
        mfu_segment_open(s, s->stretches[n - 1].section->name, MFU_FORWARD, 1);
        s->node = s->n_nodes - 1;
        mfu_return_outputs(s);
        mfu_segment_close(s);
    } else {
        mfu_return_outputs(s);
    }
    for (int k = n - 1; k >= 0; k--)
        trace_backward(s, &stretches[k]);
    list_weights(s);
    if (s->n_deferred)
        trace_deferred(s, stretches, n);
    forget_casts(s);
    if (s->runtime->fuse && mfu_fuse(s) < 0)
        s->failed = true;
    p->saved_bytes = saved_for_backward(p);
    mfu_segment_open(s, "", MFU_OPTIMIZER_PHASE, 1);
    mfu_optimizer_emit(s);
    mfu_segment_close(s);
    constant_memory(s);
    if (s->runtime->one_arena && !s->failed)
        mfu_preallocate(s);
    status = 0;
done:
    if (s->failed)
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    return status;
}

void mfu_program_free(struct mfu_program *p)
{
    struct mfu_builder *s = p->workbench;

    if (s) {
        free(s->nodes);
        free(s->parameters);
        free(s->stretches);
        free(s->kept);
        free(s->deferred);
        free(s->merged);
    }
    free(s);
    free(p->weights);
    free(p->launches);
    free(p->tensors);
    free(p->views);
    free(p->segments);
    memset(p, 0, sizeof *p);
}
