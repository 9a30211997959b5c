/*
 * layers.c - the layers that are traced, and the operations in them as nodes.
 *
 * A repeated section is traced at most three times: its first, a middle and
 * its last layer, since the neighbours of the first and last differ.  The
 * middle one stands for all the others (`repeat` of its segment).  Where layers
 * hand on something else than the first one receives, or copies of their tensors
 * reach into neighbours, those of the middle one have to be middle ones, too: five.
 */
#include "graph/layers.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/builder_private.h"
#include "graph/frozen.h"
#include "graph/stage.h"
#include "scenario/setting.h"

/* More layers than that are counted even when unrolling (chosen: time and room
 * grow with them). */
#define MOST_UNROLLED 1000

#define WAITING (-2)   /* in `at`: a node that its first reader makes */
#define ELSEWHERE (-3) /* of another stage */

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

const struct mfu_node mfu_unused_node = {.in = {MFU_TOKENS_IN, MFU_TOKENS_IN, MFU_TOKENS_IN, MFU_TOKENS_IN},
                                         .out = MFU_NO_VIEW,
                                         .gradient = MFU_NO_VIEW,
                                         .shard = MFU_NO_VIEW,
                                         .gathered = MFU_NO_VIEW,
                                         .partial = MFU_NO_VIEW,
                                         .gathered_again = MFU_NO_VIEW,
                                         .parameter = {-1, -1}};

static void add_node(struct mfu_builder *s, const struct mfu_layer *st, int *at, int op);

/* The node that makes input `k` of op `reader`; ELSEWHERE: another stage's, which one that is left out only passes on. */
static int maker(struct mfu_builder *s, const struct mfu_layer *st, int *at, int reader, int k)
{
    const struct mfu_model_op *source = &s->config->model->ops[reader];
    int op;

    if (k >= source->n_in)
        return MFU_TOKENS_IN;
    if ((op = source->in[k]) == MFU_SECTION_INPUT)
        return st->input;
    if (at[op] == WAITING)
        add_node(s, st, at, op);
    if (at[op] == ELSEWHERE && !s->left_out[reader]) {
        s->out_of_reach = &s->config->model->ops[op];
        return MFU_TOKENS_IN;
    }
    return at[op];
}

static void add_parameter(struct mfu_builder *s, struct mfu_node *n, int which, double elements, struct mfu_held held)
{
    if (!ROOM(s, s->parameters, s->n_parameters, s->cap_parameters))
        return;
    n->parameter[which] = s->n_parameters;
    s->parameters[s->n_parameters++] = (struct mfu_parameter){.elements = elements,
                                                              .cast = MFU_NO_VIEW,
                                                              .gradient = MFU_NO_VIEW,
                                                              .users = 1,
                                                              .type = held.type,
                                                              .packed = held.packed,
                                                              .packed_bytes = held.packed_bytes,
                                                              .trains = held.trains};
}

/* Weight and bias of an operation; as the node of the same place has them in the layer before, which is alike: NULL: none. */
static void add_parameters(struct mfu_builder *s, const struct mfu_layer *st, struct mfu_node *n, int op,
                           const struct mfu_node *before)
{
    struct mfu_weights w;

    if (before && before->op == n->op && !mfu_shares_weight(s, op)) {
        for (int which = 0; which < 2; which++) {
            const struct mfu_parameter like = s->parameters[before->parameter[which]];

            add_parameter(s, n, which, like.elements,
                          (struct mfu_held){like.type, like.packed, like.packed_bytes, like.trains});
        }
        return;
    }
    w = n->op->primitive->params(n->op);
    for (int which = 0; which < 2; which++)
        add_parameter(s, n, which, which ? w.bias : w.weight, mfu_held(s, op, which, st->frozen));
}

/* Whether its result needs a gradient: checkpointing asks for that of the embeddings
 * (transformers' enable_input_require_grads), not of tables that are no weights. */
static void find_whether_it_trains(const struct mfu_builder *s, const struct mfu_model_section *section,
                                   struct mfu_node *n)
{
    bool asked = mfu_checkpoints[s->config->checkpoint].recomputes && mfu_is(n->op, MFU_LOOKS_UP)
        && mfu_apart(s->config, section) == 0;

    n->requires_gradient = mfu_is(n->op, MFU_ENDS_IN_LOSS);
    for (int which = 0; which < 2; which++)
        if ((asked || mfu_trains(s, n, which)) && n->parameter[which] >= 0
            && s->parameters[n->parameter[which]].elements > 0)
            n->requires_gradient = true;
    for (int k = 0; k < MFU_INPUTS; k++)
        if (mfu_wants_gradient(s, n, k))
            n->requires_gradient = true;
}

/* Takes weight `which` of `owner` instead of its own, whose place stays empty. */
static void borrow(struct mfu_builder *s, struct mfu_node *n, int which, const struct mfu_node *owner)
{
    s->parameters[n->parameter[which]].borrowed = true;
    n->parameter[which] = owner->parameter[which];
    s->parameters[n->parameter[which]].users++;
}

/* The adapter of an operation's node, behind it; or in front of it, reading what it would read.  `lender`: that of the
 * module whose weights it uses, NULL: it has its own. */
static int add_adapter(struct mfu_builder *s, int op, int input, int base, const struct mfu_node *lender)
{
    struct mfu_weights w;
    struct mfu_node *n;

    if (!ROOM(s, s->nodes, s->n_nodes, s->cap_nodes))
        return base;
    n = &s->nodes[s->n_nodes];
    *n = s->nodes[base];
    n->op = &s->operations[MFU_MAX_OPS + op];
    for (int k = 0; k < MFU_INPUTS; k++)
        n->in[k] = MFU_TOKENS_IN;
    n->in[0] = n->op->primitive->inputs[0] > 1 ? input : base;
    n->in[1] = n->op->primitive->inputs[0] > 1 ? base : MFU_TOKENS_IN;
    if (mfu_adapter_in_front(s, op)) {
        n->in[0] = input;
        n->in[1] = MFU_TOKENS_IN;
    }
    s->nodes[base].replaced = mfu_adapter_replaces(s);
    w = n->op->primitive->params(n->op);
    for (int which = 0; which < 2 && !s->failed; which++) {
        add_parameter(s, n, which, which ? w.bias : w.weight,
                      (struct mfu_held){.type = mfu_adapter_type(s), .trains = true});
        if (lender && !s->failed)
            borrow(s, n, which, lender);
    }
    n->requires_gradient = true;
    if (mfu_adapter_in_front(s, op)) { /* they change places */
        struct mfu_node adapter = *n;

        *n = s->nodes[base];
        n->in[0] = base;
        n->requires_gradient = true;
        s->nodes[base] = adapter;
    }
    return s->n_nodes++;
}

/* The node of an op, or its adapter's, in the first layer of a section, whose weights all have; -1: this is the first. */
static int first_of(const struct mfu_builder *s, const struct mfu_layer *st, int op)
{
    const struct mfu_layer *l = s->layers;
    int node;

    while (l->section != st->section)
        l++;
    for (node = l->first_node + l->n_nodes - 1; l != st && s->nodes[node].source != &s->config->model->ops[op];)
        node--;
    return l == st ? -1 : node;
}

static void add_node(struct mfu_builder *s, const struct mfu_layer *st, int *at, int op)
{
    const struct mfu_model_op *source = &s->config->model->ops[op];
    struct mfu_node *n;
    int in[MFU_INPUTS], owner = -1;

    for (int k = 0; k < MFU_INPUTS; k++)
        in[k] = maker(s, st, at, op, k);
    if (s->left_out[op]) {
        if (at[op] == WAITING)
            at[op] = in[s->passes[op]];
        return;
    }
    if (!ROOM(s, s->nodes, s->n_nodes, s->cap_nodes))
        return;
    n = &s->nodes[s->n_nodes];
    *n = mfu_unused_node;
    n->op = &s->operations[op];
    n->source = source;
    n->section = st->section->name;
    memcpy(n->in, in, sizeof in);
    if (n->op->primitive->key_elements && source->n_in <= MFU_PREFIX)
        n->in[MFU_PREFIX] = s->prefix;
    if (n->op->primitive->params) {
        int before = st->node_before + s->n_nodes - st->first_node;

        add_parameters(s, st, n, op, st->node_before >= 0 && before < st->first_node ? &s->nodes[before] : NULL);
        if (s->failed)
            return;
        if (st->section->shares)
            owner = first_of(s, st, op);
        else if (mfu_shares_weight(s, op))
            owner = at[source->shares];
        for (int which = 0; owner >= 0 && which < (st->section->shares || mfu_trained_rows(n->op) > 0 ? 2 : 1); which++)
            borrow(s, n, which, &s->nodes[owner - mfu_is_adapter(s, &s->nodes[owner])]);
    }
    find_whether_it_trains(s, st->section, n);
    at[op] = s->n_nodes++;
    if (mfu_adapted(s, op, st->frozen)) {
        bool lent =
            owner >= 0 && !mfu_adapts_keys(s) && (st->section->shares || mfu_adapted(s, source->shares, st->frozen));
        int adapter =
            add_adapter(s, op, in[0], at[op], lent ? &s->nodes[owner - !mfu_is_adapter(s, &s->nodes[owner])] : NULL);

        *(mfu_adapts_keys(s) ? &s->prefix : &at[op]) = adapter;
    }
}

/* Makes the nodes of one stretch; `at` maps model ops to nodes. */
static void add_nodes(struct mfu_builder *s, struct mfu_layer *st, int *at)
{
    const struct mfu_model_section *sec = st->section;
    int carried[MFU_MAX_OPS]; /* of the section's */

    st->first_node = s->n_nodes;
    for (int i = sec->first; i < sec->first + sec->count; i++) {
        int next = s->config->model->ops[i].next;

        carried[i - sec->first] = next >= 0 && at[next] >= 0 ? at[next] : WAITING;
    }
    memcpy(at + sec->first, carried, (size_t)sec->count * sizeof *at);
    for (int i = sec->first; i < sec->first + sec->count && !s->failed; i++)
        if (at[i] == WAITING && !waits(s, sec, i))
            add_node(s, st, at, i);
    st->n_nodes = s->n_nodes - st->first_node;
}

/* Layers that are alike: whether none of their weights trains, and whether `checkpoint` is of them. */
struct alike {
    double times;
    bool frozen, again;
};

/* The layers from the `done`-th of a section: up to those that train, or behind these, or that are not checkpointed. */
static struct alike next_alike(double done, double times, const struct mfu_frozen_layers *frozen, double checkpointed)
{
    double bounds[] = {frozen->before, times - frozen->behind, checkpointed, times}, end = times;

    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (bounds[i] > done)
            end = fmin(end, bounds[i]);
    return (struct alike){end - done, done < frozen->before || done >= times - frozen->behind, done < checkpointed};
}

/* Behind the n layers that there are; returns how many then. */
static int add_layers(struct mfu_builder *s, int n, const struct mfu_model_section *sec, struct alike run,
                      enum mfu_unrolling unrolling, int *at, int *before)
{
    double times = run.times;
    int beside = s->uneven ? 2 : 1, ends = 2 * beside + 1, some = mfu_traced_layers(s);
    bool copied =
        (unrolling == MFU_LAYERS_COPIED || unrolling == MFU_LAYERS_FOLDED) && times > some && times <= MOST_UNROLLED;
    int traced = (int)fmin(times, copied ? some : unrolling != MFU_LAYERS_COUNTED ? MOST_UNROLLED : ends);

    for (int k = 0; k < traced; k++) {
        struct mfu_layer *st;

        if (!ROOM(s, s->layers, n, s->cap_layers))
            return n;
        st = &s->layers[n++]; /* those before it of this run are alike */
        *st =
            (struct mfu_layer){.section = sec,
                               .input = *before,
                               .repeat = !copied && traced >= ends && k == traced - 1 - beside ? times - traced + 1 : 1,
                               .copies = copied && k == mfu_copied_layer(s) ? (int)times - traced : 0,
                               .first_parameter = s->n_parameters,
                               .node_before = k > 0 ? st[-1].first_node : -1,
                               .frozen = run.frozen,
                               .again = run.again};
        s->copies |= copied;
        add_nodes(s, st, at);
        *before = at[sec->first + sec->count - 1];
    }
    return n;
}

/* The layers of the whole model, in order of execution. */
int mfu_layers_make(struct mfu_builder *s, enum mfu_unrolling unrolling, struct mfu_error *err)
{
    const struct mfu_model *m = s->config->model;
    int at[MFU_MAX_OPS], n = 0, before = MFU_TOKENS_IN;
    double checkpointed = mfu_checkpointed_layers(s->config); /* still */

    for (int i = 0; i < m->n_ops; i++)
        at[i] = ELSEWHERE;
    s->out_of_reach = NULL;
    s->copies = false;
    s->prefix = MFU_TOKENS_IN;
    if (!mfu_layers_suffice(s->config, mfu_cut_layers(s)))
        return mfu_fail(err, MFU_EINPUT,
                        "pp: %s: a pipeline cuts one run of layers that are alike, and its longest has %.0f: too few "
                        "for %.0f stages",
                        m->slug, mfu_cut_layers(s), (double)mfu_pipeline_stages(&s->config->pipeline));
    if (s->stages > 1 && mfu_read_behind_cut(s))
        return mfu_fail(err, MFU_EINPUT,
                        "pp: %s: layers behind those of %s all read %s: no pipeline of an encoder and a decoder is "
                        "modelled (set pp 1)",
                        m->slug, mfu_cut_name(s->config), mfu_read_behind_cut(s));
    for (int i = 0; i < m->n_sections; i++) {
        const struct mfu_model_section *sec = &m->sections[i];
        double times = mfu_stage_repeats(s, i);
        struct mfu_frozen_layers frozen = mfu_frozen_layers(s, sec->name, true);

        if (times == 0) { /* another stage's, or this size has none */
            for (int k = sec->first; k < sec->first + sec->count; k++)
                if (m->ops[k].next >= 0 && m->ops[k].in[0] >= 0)
                    at[m->ops[k].next] = at[m->ops[k].in[0]];
            continue;
        }
        if (!(times >= 1) || times != floor(times))
            return mfu_fail(err, MFU_EINPUT, "%s: section %s repeats %g times", m->slug, sec->name, times);
        if (n == 0 && i > 0 && !mfu_rank_holds(s->config, s->stage, 0))
            before = mfu_stage_receive(s, i);
        for (double done = 0; done < times;) {
            struct alike run = next_alike(done, times, &frozen, checkpointed);

            n = add_layers(s, n, sec, run, unrolling, at, &before);
            done += run.times;
        }
        checkpointed -= sec->repeat ? times : 0;
    }
    if (n == 0)
        return mfu_fail(err, MFU_EINPUT, "pp: %s: no layer is left for stage %d of %g", m->slug, s->stage + 1,
                        s->config->setting[MFU_S_PP]);
    if (s->out_of_reach)
        return mfu_fail(err, MFU_EINPUT,
                        "pp: %s: layers of every stage read %s of the first, and no pipeline that sends it is modelled",
                        m->slug, s->out_of_reach->name);
    return n;
}
