/*
 * repeat.c - a pass through a layer as the same pass through its neighbour was traced.
 *
 * A pass names launches, views and tensors of its own; in backward those of its forward pass; and two views that others have
 * made: what the layer reads, and the gradient of its result.  Each has its counterpart in the neighbour.  Where a pass names
 * anything else, or its surroundings could have decided something, it is traced.
 */
#include "graph/repeat.h"

#include <string.h>

#include "graph/builder_private.h"
#include "graph/optimizer.h"
#include "scenario/setting.h"

enum list { LAUNCHES, VIEWS, TENSORS };

/* A number that a pass may not name. */
#define NONE (-5)

/* Items of a list that a pass names, and their counterparts: those of a pass are as much further on; two others. */
struct items {
    int first, count, by;
    int forward_first, forward_count, forward_by;
    int input, input_to, gradient, gradient_to; /* or NONE, which is no item */
};

/* From the numbers of one layer's pass to those of its neighbour's. */
struct neighbours {
    struct mfu_builder *s;
    struct mfu_program *p;
    const struct mfu_layer *from, *to;
    const struct mfu_layer_pass *now, *forward; /* of `from`; forward: NULL in it */
    struct items of[3];
    int input, input_to;       /* views */
    int gradient, gradient_to; /* or MFU_NO_VIEW */
    bool foreign;              /* something else was named */
};

static inline bool within(int item, int first, int count)
{
    return (unsigned)(item - first) < (unsigned)count;
}

static int tensor_at(const struct neighbours *x, int view)
{
    return view == MFU_NO_VIEW ? NONE : x->p->views[view].tensor;
}

static int producer_at(const struct neighbours *x, int view)
{
    return view == MFU_NO_VIEW ? NONE : x->p->views[view].producer;
}

/* The counterpart of an item. */
static inline int counterpart(struct neighbours *x, enum list list, int item)
{
    const struct items *of = &x->of[list];

    if (within(item, of->first, of->count))
        return item + of->by;
    if (within(item, of->forward_first, of->forward_count))
        return item + of->forward_by;
    if (item == of->input)
        return of->input_to;
    if (item == of->gradient)
        return of->gradient_to;
    x->foreign = true;
    return item;
}

static int view_to(struct neighbours *x, int view)
{
    return view == MFU_NO_VIEW ? view : counterpart(x, VIEWS, view);
}

/* ---- are they alike? -------------------------------------------------------- */

static bool same_input(const struct mfu_layer *a, const struct mfu_layer *b, int in, int of)
{
    bool own = in >= a->first_node, own_of = of >= b->first_node;

    if (in < 0 || of < 0)
        return in == of;
    return own || own_of ? own && own_of && in - a->first_node == of - b->first_node : in == a->input && of == b->input;
}

static bool same_parameter(const struct mfu_builder *s, const struct mfu_layer *a, const struct mfu_layer *b, int own,
                           int of)
{
    const struct mfu_parameter *p = &s->parameters[own], *q = &s->parameters[of];

    if (own < 0 || of < 0)
        return own == of;
    return own >= a->first_parameter && of >= b->first_parameter && own - a->first_parameter == of - b->first_parameter
        && p->users == q->users && p->elements == q->elements && p->type == q->type && p->packed == q->packed
        && p->trains == q->trains;
}

static bool same_node(const struct mfu_builder *s, const struct mfu_layer *a, const struct mfu_layer *b, int i)
{
    const struct mfu_node *n = &s->nodes[a->first_node + i], *m = &s->nodes[b->first_node + i];

    if (n->op != m->op || n->recomputed != m->recomputed || n->requires_gradient != m->requires_gradient
        || n->replaced != m->replaced)
        return false;
    for (int k = 0; k < MFU_INPUTS; k++)
        if (!same_input(a, b, n->in[k], m->in[k]))
            return false;
    for (int w = 0; w < 2; w++)
        if (!same_parameter(s, a, b, n->parameter[w], m->parameter[w]))
            return false;
    return true;
}

static bool same_layer(const struct mfu_builder *s, const struct mfu_layer *a, const struct mfu_layer *b)
{
    const struct mfu_node *in, *of;

    if (a->section != b->section || a->n_nodes != b->n_nodes || a->frozen != b->frozen || a->again != b->again
        || a->input < 0 || b->input < 0)
        return false;
    in = &s->nodes[a->input];
    of = &s->nodes[b->input];
    if (in->requires_gradient != of->requires_gradient || in->recomputed != of->recomputed
        || mfu_is(in->op, MFU_GATES) != mfu_is(of->op, MFU_GATES))
        return false;
    for (int i = 0; i < a->n_nodes; i++)
        if (!same_node(s, a, b, i))
            return false;
    return true;
}

static bool same_view(const struct mfu_program *p, int a, int b)
{
    const struct mfu_view *v = &p->views[a], *w = &p->views[b];
    const struct mfu_tensor *t = &p->tensors[v->tensor], *u = &p->tensors[w->tensor];

    return v->type == w->type && v->rows == w->rows && v->columns == w->columns && v->slot == w->slot
        && (v->producer < 0) == (w->producer < 0) && t->bytes == u->bytes && t->part == u->part;
}

/* Whether what comes in was cast just now: a compiler would not do so again (same_cast() in emit.c). */
static bool was_cast(const struct neighbours *x)
{
    const struct mfu_program *p = x->p;

    for (int i = p->n_launches - 1; i >= 0 && i >= p->n_launches - MFU_SEEN_CASTS; i--)
        if (p->launches[i].cast && (p->launches[i].in[0] == x->input_to || p->launches[i].in[0] == x->gradient_to))
            return true;
    return false;
}

/* ---- around a pass ----------------------------------------------------------- */

static void counts(const struct mfu_builder *s, int n[3])
{
    n[LAUNCHES] = s->program->n_launches;
    n[VIEWS] = s->program->n_views;
    n[TENSORS] = s->program->n_tensors;
}

/* Only the layer's result has a gradient, and what it reads has none. */
static bool awaits_gradient(const struct mfu_builder *s, const struct mfu_layer *l)
{
    int last = l->first_node + l->n_nodes - 1;

    for (int i = l->first_node; i <= last; i++)
        if (s->nodes[i].partial != MFU_NO_VIEW || (s->nodes[i].gradient != MFU_NO_VIEW) != (i == last))
            return false;
    return s->nodes[l->input].gradient == MFU_NO_VIEW && s->nodes[l->input].partial == MFU_NO_VIEW;
}

static const struct mfu_work *work_before(const struct mfu_builder *s, int launch)
{
    return launch > 0 ? s->program->launches[launch - 1].work : NULL;
}

void mfu_repeat_begin(struct mfu_builder *s, int k, enum mfu_phase phase)
{
    struct mfu_layer *l = &s->layers[k];
    struct mfu_layer_pass *a = &l->pass[phase];
    const double *setting = s->config->setting;

    counts(s, a->first);
    s->extends_early = false;
    a->work = work_before(s, a->first[LAUNCHES]);
    a->loaded_bytes = s->loaded_bytes;
    a->n_deferred = s->n_deferred;
    a->n_kept = s->n_kept;
    a->closed = l->input >= 0 && l->n_nodes > 0 && setting[MFU_S_TP] <= 1 && setting[MFU_S_CP] <= 1 && !s->failed;
    if (phase == MFU_BACKWARD) {
        a->closed = a->closed && l->pass[MFU_FORWARD].closed && awaits_gradient(s, l) && !s->selective
            && !mfu_optimizer_in_backward(s);
        a->gradient = a->closed ? s->nodes[l->first_node + l->n_nodes - 1].gradient : MFU_NO_VIEW;
    } else {
        a->gradient = MFU_NO_VIEW;
    }
    a->input = l->input >= 0 ? s->nodes[l->input].out : MFU_NO_VIEW;
}

void mfu_repeat_end(struct mfu_builder *s, int k, enum mfu_phase phase)
{
    struct mfu_layer_pass *a = &s->layers[k].pass[phase];

    counts(s, a->end);
    a->closed = a->closed && !s->failed && a->work == work_before(s, a->first[LAUNCHES]) && !s->extends_early
        && a->loaded_bytes == s->loaded_bytes && a->n_kept == s->n_kept;
}

/* ---- the pass ----------------------------------------------------------------- */

static bool repeat_launches(struct neighbours *x)
{
    struct mfu_program *p = x->p;
    int n = x->now->end[LAUNCHES] - x->now->first[LAUNCHES];

    if (!ROOM_FOR(x->s, p->launches, p->n_launches + n, p->cap_launches))
        return false;
    for (int i = 0; i < n; i++) {
        const struct mfu_launch *l = &p->launches[x->now->first[LAUNCHES] + i];
        struct mfu_launch *to = &p->launches[p->n_launches + i];
        int *ends = mfu_ends_new(x->s, l->n_in + l->n_out);

        if (!ends)
            return false;
        *to = *l;
        to->in = ends;
        to->out = ends + l->n_in;
        for (int k = 0; k < l->n_in; k++)
            to->in[k] = view_to(x, l->in[k]);
        for (int k = 0; k < l->n_out; k++)
            to->out[k] = view_to(x, l->out[k]);
    }
    return !x->foreign;
}

static bool repeat_views(struct neighbours *x)
{
    struct mfu_program *p = x->p;
    int n = x->now->end[VIEWS] - x->now->first[VIEWS];

    if (!ROOM_FOR(x->s, p->views, p->n_views + n, p->cap_views))
        return false;
    for (int i = 0; i < n; i++) {
        struct mfu_view *to = &p->views[p->n_views + i];

        *to = p->views[x->now->first[VIEWS] + i];
        to->tensor = to->tensor == 0 ? to->tensor : counterpart(x, TENSORS, to->tensor);
        to->producer = to->producer < 0 ? to->producer : counterpart(x, LAUNCHES, to->producer);
    }
    return !x->foreign;
}

/* The launch up to which a tensor lives, where the pass says so. */
static int last_to(const struct neighbours *x, int last)
{
    const struct items *of = &x->of[LAUNCHES];

    return last != MFU_FOREVER && within(last, of->first, of->count) ? last + of->by : last;
}

static bool repeat_tensors(struct neighbours *x)
{
    struct mfu_program *p = x->p;
    int n = x->now->end[TENSORS] - x->now->first[TENSORS];

    if (!ROOM_FOR(x->s, p->tensors, p->n_tensors + n, p->cap_tensors))
        return false;
    for (int i = 0; i < n; i++) {
        struct mfu_tensor *to = &p->tensors[p->n_tensors + i];

        *to = p->tensors[x->now->first[TENSORS] + i];
        to->born += to->born == MFU_NEVER ? 0 : x->of[LAUNCHES].by;
        to->last = last_to(x, to->last);
        to->view += x->of[VIEWS].by;
    }
    return true;
}

/* What the pass does to a tensor that was there before it. */
static void touch(const struct neighbours *x, int from, int to)
{
    const struct mfu_tensor *t = &x->p->tensors[from];
    struct mfu_tensor *u = &x->p->tensors[to];

    if (t->last == MFU_FOREVER || within(t->last, x->of[LAUNCHES].first, x->of[LAUNCHES].count))
        u->last = last_to(x, t->last);
    u->part = t->part;
}

static void touch_others(struct neighbours *x)
{
    struct mfu_program *p = x->p;
    const struct items *launches = &x->of[LAUNCHES], *views = &x->of[VIEWS], *tensors = &x->of[TENSORS];

    /* What `from` reads is the result of `to` in backward: asked before it is changed. */
    touch(x, tensor_at(x, x->input), tensor_at(x, x->input_to));
    if (x->gradient != MFU_NO_VIEW)
        touch(x, tensor_at(x, x->gradient), tensor_at(x, x->gradient_to));
    for (int t = tensors->forward_first; t < tensors->forward_first + tensors->forward_count; t++)
        touch(x, t, t + tensors->forward_by);
    for (int v = views->forward_first; v < views->forward_first + views->forward_count; v++)
        if (within(p->views[v].producer, launches->first, launches->count)) {
            p->views[v + views->forward_by].producer = p->views[v].producer + launches->by;
            p->views[v + views->forward_by].slot = p->views[v].slot;
        }
}

static void repeat_node(struct neighbours *x, const struct mfu_node *from, struct mfu_node *to)
{
    to->out = view_to(x, from->out);
    to->n_saved = from->n_saved;
    for (int k = 0; k < from->n_saved; k++)
        to->saved[k] = view_to(x, from->saved[k]);
    to->again = from->again;
    to->gradient = view_to(x, from->gradient);
    to->shard = view_to(x, from->shard);
    to->gathered = from->gathered;
}

static void repeat_parameter(struct neighbours *x, const struct mfu_parameter *from, struct mfu_parameter *to)
{
    to->given = from->given;
    to->cast = view_to(x, from->cast);
    to->gradient = view_to(x, from->gradient);
    if (from->cast != MFU_NO_VIEW && x->s->numerics.quantises)
        for (int k = 0; k < 2; k++)
            to->quantised[k] = view_to(x, from->quantised[k]);
}

/* Nodes, parameters, and gradients that wait; false: out of memory. */
static bool repeat_state(struct neighbours *x)
{
    struct mfu_builder *s = x->s;
    int n = s->n_deferred - x->now->n_deferred, on = x->to->first_node - x->from->first_node, end = 0;

    for (int i = 0; i < x->from->n_nodes; i++) {
        const struct mfu_node *node = &s->nodes[x->from->first_node + i];

        repeat_node(x, node, &s->nodes[x->to->first_node + i]);
        for (int w = 0; w < 2; w++)
            if (node->parameter[w] >= end) {
                end = node->parameter[w] + 1;
                repeat_parameter(
                    x, &s->parameters[node->parameter[w]],
                    &s->parameters[node->parameter[w] - x->from->first_parameter + x->to->first_parameter]);
            }
    }
    if (!ROOM_FOR(s, s->deferred, s->n_deferred + n, s->cap_deferred))
        return false;
    for (int i = 0; i < n; i++) {
        s->deferred[s->n_deferred].node = s->deferred[x->now->n_deferred + i].node + on;
        s->deferred[s->n_deferred++].view = view_to(x, s->deferred[x->now->n_deferred + i].view);
    }
    return true;
}

/* What the pass may name, and where it is in the neighbour. */
static void find_items(struct neighbours *x)
{
    int at[3];

    counts(x->s, at);
    for (int i = 0; i < 3; i++) {
        struct items *of = &x->of[i];

        *of = (struct items){
            .first = x->now->first[i], .count = x->now->end[i] - x->now->first[i], .by = at[i] - x->now->first[i]};
        if (x->forward) {
            of->forward_first = x->forward->first[i];
            of->forward_count = x->forward->end[i] - x->forward->first[i];
            of->forward_by = x->to->pass[MFU_FORWARD].first[i] - x->forward->first[i];
        }
    }
    x->of[LAUNCHES].input = producer_at(x, x->input), x->of[LAUNCHES].input_to = producer_at(x, x->input_to);
    x->of[LAUNCHES].gradient = producer_at(x, x->gradient),
    x->of[LAUNCHES].gradient_to = producer_at(x, x->gradient_to);
    x->of[VIEWS].input = x->input, x->of[VIEWS].input_to = x->input_to;
    x->of[VIEWS].gradient = x->gradient, x->of[VIEWS].gradient_to = x->gradient_to;
    x->of[TENSORS].input = tensor_at(x, x->input), x->of[TENSORS].input_to = tensor_at(x, x->input_to);
    x->of[TENSORS].gradient = tensor_at(x, x->gradient), x->of[TENSORS].gradient_to = tensor_at(x, x->gradient_to);
}

bool mfu_repeat_pass(struct mfu_builder *s, int k, enum mfu_phase phase)
{
    struct mfu_program *p = s->program;
    bool back = phase == MFU_BACKWARD;
    int other = back ? k + 1 : k - 1, n = s->n_layers, given;
    struct mfu_layer *to = &s->layers[k];
    struct neighbours x = {.s = s, .p = p, .to = to};

    if (other < 0 || other >= n || s->failed)
        return false;
    x.from = &s->layers[other];
    x.now = &x.from->pass[phase];
    x.forward = back ? &x.from->pass[MFU_FORWARD] : NULL;
    x.input = x.now->input, x.input_to = to->pass[phase].input;
    x.gradient = x.now->gradient, x.gradient_to = to->pass[phase].gradient;
    if (!x.now->closed || !to->pass[phase].closed || x.input >= x.now->first[VIEWS])
        return false;
    if (!back)
        to->alike = same_layer(s, to, x.from);
    if (!(back ? x.from : to)->alike || !same_view(p, x.input, x.input_to)
        || (back && !same_view(p, x.gradient, x.gradient_to))
        || (back && tensor_at(&x, x.input) == tensor_at(&x, x.gradient)) || (s->runtime->one_cast && was_cast(&x)))
        return false;
    find_items(&x);
    given = back ? s->nodes[x.from->input].gradient : MFU_NO_VIEW;
    given = view_to(&x, given);
    if (x.foreign || !repeat_views(&x) || !repeat_launches(&x) || !repeat_tensors(&x))
        return false;
    p->n_launches += x.now->end[LAUNCHES] - x.now->first[LAUNCHES];
    p->n_views += x.now->end[VIEWS] - x.now->first[VIEWS];
    p->n_tensors += x.now->end[TENSORS] - x.now->first[TENSORS];
    touch_others(&x);
    if (!repeat_state(&x))
        return false;
    if (back)
        s->nodes[to->input].gradient = given;
    return true;
}
