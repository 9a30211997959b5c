/*
 * copies.c - layers that are copied instead of traced.
 *
 * A program is three lists (launches, views, tensors) whose items name items of the others by number.  Each segment owns
 * a stretch of each list.  To copy a layer, the stretches of its segments are repeated, and numbers are worked out
 * anew: what the layer says of itself and of those next to it, each copy says of its own neighbours; all else is moved.
 * Whether that is so is seen from the next layer, which was traced, too.
 */
#include "graph/copies.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "graph/builder_private.h"

enum list { LAUNCHES, VIEWS, TENSORS, LISTS };

#define MOST_SEGMENTS                                                                                                  \
    18 /* of one layer: forward, casts dropped, the same of a reference, backward, gradients, optimizer; what comes back */

/* The stretches of a segment of the traced program, or those of what comes back to it from the host, behind all these. */
struct stretch {
    int layer, turn;                /* the layer's segments are counted from 0 */
    int copies;                     /* of the segment, beside itself */
    bool backwards;                 /* the layers after it come before it */
    int first[LISTS], count[LISTS]; /* as traced */
    int to[LISTS];                  /* where it, or the first of its copies in the list, begins */
};

struct mfu_fold {
    struct mfu_builder *s;
    struct mfu_program *p;
    struct stretch *stretches;
    int n_stretches;              /* of the segments first */
    int reach;                    /* the builder's, which may be gone when the fold is read; */
    int *layer_copies;            /* its layers' */
    int *segment;                 /* by layer and turn */
    unsigned short *owner[LISTS]; /* the stretch of each item */
    int n_copied[LISTS];          /* items with all copies */
    int n_more;                   /* tensors behind them */
    int *moved;                   /* where launches are now; NULL: where they were */
    bool unlike;
};

/* Not the number of an item: of none, of the weights. */
static bool names_none(int item)
{
    return item < 0 || item == MFU_FOREVER;
}

/* An item of copy `which` of a stretch. */
struct place {
    const struct stretch *in;
    int which, offset;
};

/* Where an item is that copy `copy` of `from` names as `item`: in the layer that is as far from that copy, counted with
 * all copies; else where it was traced, of copies in the nearest. */
static struct place placed(const struct mfu_fold *x, enum list list, int item, const struct stretch *from, int copy)
{
    const struct stretch *in = &x->stretches[x->owner[list][item]];
    struct place at = {in, 0, item - in->first[list]};
    int distance = in->layer - from->layer, on = distance > 0 ? 1 : -1, layer = from->layer;

    if (abs(distance) > x->reach) {
        at.which = in->copies && distance < 0 ? in->copies : 0;
        return at;
    }
    for (at.which = copy; distance != 0; distance -= on) {
        const int copies = x->layer_copies[layer];

        at.which += on;
        if (at.which < 0 || at.which > copies) {
            layer += on;
            at.which = on > 0 ? 0 : x->layer_copies[layer];
        }
    }
    if (layer != in->layer)
        at.in = &x->stretches[x->segment[layer * MOST_SEGMENTS + in->turn]];
    return at;
}

/* Its number in the program with copies. */
static int number_of(struct place at, enum list list)
{
    const struct stretch *in = at.in;

    return in->to[list] + (in->backwards ? in->copies - at.which : at.which) * in->count[list] + at.offset;
}

/* Mostly of the same layer. */
static inline int renumbered(const struct mfu_fold *x, enum list list, int item, const struct stretch *from, int copy)
{
    const struct stretch *in;

    if (names_none(item))
        return item;
    in = &x->stretches[x->owner[list][item]];
    return number_of(in->layer == from->layer ? (struct place){in, copy, item - in->first[list]}
                                              : placed(x, list, item, from, copy),
                     list);
}

/* Whether others than layers of its kind name an item of a layer that is copied. */
static bool reaches_in(const struct mfu_fold *x, enum list list, int item, const struct stretch *from)
{
    const struct stretch *in;
    int distance;

    if (names_none(item))
        return false;
    in = &x->stretches[x->owner[list][item]];
    distance = in->layer - from->layer;
    return in->copies
        && (distance > mfu_copied_layer(x->s) || distance < mfu_copied_layer(x->s) + 1 - mfu_traced_layers(x->s));
}

static bool any_reaches_in(const struct mfu_fold *x, const struct stretch *a)
{
    const struct mfu_program *p = x->p;
    bool any = false;

    for (int i = a->first[LAUNCHES]; i < a->first[LAUNCHES] + a->count[LAUNCHES]; i++) {
        for (int k = 0; k < p->launches[i].n_in; k++)
            any |= reaches_in(x, VIEWS, p->launches[i].in[k], a);
        for (int k = 0; k < p->launches[i].n_out; k++)
            any |= reaches_in(x, VIEWS, p->launches[i].out[k], a);
    }
    for (int i = a->first[VIEWS]; i < a->first[VIEWS] + a->count[VIEWS]; i++)
        any |= reaches_in(x, TENSORS, p->views[i].tensor, a);
    for (int i = a->first[TENSORS]; i < a->first[TENSORS] + a->count[TENSORS]; i++)
        any |= reaches_in(x, LAUNCHES, p->tensors[i].born, a) || reaches_in(x, LAUNCHES, p->tensors[i].last, a)
            || reaches_in(x, VIEWS, p->tensors[i].view, a);
    return any;
}

/* ---- are two layers alike? ------------------------------------------------ */

/* Whether a layer names an item as the next one does: one of another part of the model, or its own neighbour. */
static bool same_item(const struct mfu_fold *x, enum list list, int layer, int item, int of_next)
{
    const struct stretch *in, *in_next;
    bool near;

    if (names_none(item) || names_none(of_next))
        return item == of_next;
    in = &x->stretches[x->owner[list][item]];
    in_next = &x->stretches[x->owner[list][of_next]];
    near = abs(in->layer - layer) <= x->reach;
    if (item == of_next)
        return !near;
    return near && in_next->layer == in->layer + 1 && in_next->turn == in->turn
        && item - in->first[list] == of_next - in_next->first[list];
}

static bool same_items(const struct mfu_fold *x, enum list list, int layer, int n, const int *items, const int *of_next)
{
    for (int k = 0; k < n; k++)
        if (!same_item(x, list, layer, items[k], of_next[k]))
            return false;
    return true;
}

static bool same_launch(const struct mfu_fold *x, int layer, const struct mfu_launch *l, const struct mfu_launch *next)
{
    struct mfu_launch other = *next;

    other.in = l->in;
    other.out = l->out;
    return memcmp(l, &other, sizeof other) == 0 && same_items(x, VIEWS, layer, l->n_in, l->in, next->in)
        && same_items(x, VIEWS, layer, l->n_out, l->out, next->out);
}

static bool same_view(const struct mfu_fold *x, int layer, const struct mfu_view *v, const struct mfu_view *next)
{
    return v->type == next->type && v->rows == next->rows && v->columns == next->columns && v->slot == next->slot
        && same_item(x, TENSORS, layer, v->tensor, next->tensor);
}

static bool same_tensor(const struct mfu_fold *x, int layer, const struct mfu_tensor *t, const struct mfu_tensor *next)
{
    return t->bytes == next->bytes && t->part == next->part && same_item(x, LAUNCHES, layer, t->born, next->born)
        && same_item(x, LAUNCHES, layer, t->last, next->last) && same_item(x, VIEWS, layer, t->view, next->view);
}

static bool same_stretch(const struct mfu_fold *x, const struct stretch *a, const struct stretch *next)
{
    const struct mfu_program *p = x->p;

    if (memcmp(a->count, next->count, sizeof a->count) != 0)
        return false;
    for (int i = 0; i < a->count[LAUNCHES]; i++)
        if (!same_launch(x, a->layer, &p->launches[a->first[LAUNCHES] + i], &p->launches[next->first[LAUNCHES] + i]))
            return false;
    for (int i = 0; i < a->count[VIEWS]; i++)
        if (!same_view(x, a->layer, &p->views[a->first[VIEWS] + i], &p->views[next->first[VIEWS] + i]))
            return false;
    for (int i = 0; i < a->count[TENSORS]; i++)
        if (!same_tensor(x, a->layer, &p->tensors[a->first[TENSORS] + i], &p->tensors[next->first[TENSORS] + i]))
            return false;
    return true;
}

/* Whether all that a copy of a layer may name has the same stretches as itself. */
static bool same_turns(const struct mfu_fold *x, int layer)
{
    for (int turn = 0; turn < MOST_SEGMENTS; turn++)
        for (int k = layer - x->reach; k <= layer + 1 + x->reach; k++) {
            int own = x->segment[layer * MOST_SEGMENTS + turn], other = x->segment[k * MOST_SEGMENTS + turn];

            if (own < 0 ? other >= 0
                        : other < 0
                        || memcmp(x->stretches[own].count, x->stretches[other].count, sizeof x->stretches[own].count)
                            != 0)
                return false;
        }
    return true;
}

/* ---- stretches ------------------------------------------------------------ */

/* Where one begins: `k` of all, the end of the lists behind the last. */
static void begin_stretch(const struct mfu_fold *x, int k, int first[LISTS])
{
    const struct mfu_program *p = x->p;
    const struct mfu_segment *seg = &p->segments[k % p->n_segments];
    int all[LISTS] = {p->n_launches, p->n_views, p->n_tensors}, none[LISTS] = {0},
        in[LISTS] = {seg->first, seg->first_view, seg->first_tensor},
        back[LISTS] = {p->n_launches, seg->back_view, seg->back_tensor};

    memcpy(first, k == x->n_stretches ? all : k == 0 ? none : k < p->n_segments ? in : back, sizeof all);
}

static void find_stretches(struct mfu_fold *x, int n_layers)
{
    struct mfu_program *p = x->p;

    for (int i = 0; i < n_layers * MOST_SEGMENTS; i++)
        x->segment[i] = -1;
    for (int k = 0; k < x->n_stretches; k++) {
        int layer = p->segments[k % p->n_segments].of;
        struct stretch *a = &x->stretches[k];

        *a = (struct stretch){.layer = layer, .copies = x->layer_copies[layer]};
        begin_stretch(x, k, a->first);
        begin_stretch(x, k + 1, a->count);
        for (enum list list = 0; list < LISTS; list++)
            a->count[list] -= a->first[list];
        while (a->turn < MOST_SEGMENTS - 1 && x->segment[a->layer * MOST_SEGMENTS + a->turn] >= 0)
            a->turn++;
        x->unlike |= x->segment[a->layer * MOST_SEGMENTS + a->turn] >= 0;
        x->segment[a->layer * MOST_SEGMENTS + a->turn] = k;
        for (enum list list = 0; list < LISTS; list++)
            for (int i = 0; i < a->count[list]; i++)
                x->owner[list][a->first[list] + i] = (unsigned short)k;
    }
}

/* Where the stretches begin with all copies in between; whether what is copied is like the next layer. */
static void lay_out(struct mfu_fold *x)
{
    for (int k = 0; k < x->n_stretches && !x->unlike; k++) {
        struct stretch *a = &x->stretches[k];

        if (a->copies) {
            int next = x->segment[(a->layer + 1) * MOST_SEGMENTS + a->turn];

            a->backwards = next < k;
            x->unlike |= a->turn == 0 && !same_turns(x, a->layer);
            /* Two segments of each layer, one layer after the other, are no two runs of copies. */
            x->unlike |= k + 1 < x->n_stretches && x->stretches[k + 1].layer == a->layer;
            x->unlike |= next < 0 || !same_stretch(x, a, &x->stretches[next]);
        }
        for (enum list list = 0; list < LISTS; list++) {
            a->to[list] = x->n_copied[list];
            x->n_copied[list] += (1 + a->copies) * a->count[list];
        }
    }
    for (int k = 0; k < x->n_stretches && !x->unlike; k++)
        x->unlike = any_reaches_in(x, &x->stretches[k]);
}

/* ---- copies --------------------------------------------------------------- */

static void copy_launch(struct mfu_fold *x, int to, const struct mfu_launch *old, const struct stretch *from, int copy)
{
    struct mfu_launch *l = &x->p->launches[to];
    int *ends = mfu_ends_new(x->s, old->n_in + old->n_out), *out = ends ? ends + old->n_in : NULL;

    if (!ends)
        return;
    for (int k = 0; k < old->n_in; k++)
        ends[k] = renumbered(x, VIEWS, old->in[k], from, copy);
    for (int k = 0; k < old->n_out; k++)
        out[k] = renumbered(x, VIEWS, old->out[k], from, copy);
    *l = *old;
    l->in = ends;
    l->out = out;
}

static void copy_view(struct mfu_fold *x, int to, const struct mfu_view *old, const struct stretch *from, int copy)
{
    struct mfu_view v = *old;

    v.tensor = renumbered(x, TENSORS, v.tensor, from, copy);
    x->p->views[to] = v;
}

static void copy_tensor(struct mfu_fold *x, int to, const struct mfu_tensor *old, const struct stretch *from, int copy)
{
    struct mfu_tensor t = *old;

    t.born = renumbered(x, LAUNCHES, t.born, from, copy);
    t.last = renumbered(x, LAUNCHES, t.last, from, copy);
    t.view = renumbered(x, VIEWS, t.view, from, copy);
    x->p->tensors[to] = t;
}

/* A number before these two of a row at equal distances. */
static int next_in_row(int last, int but_one)
{
    return last + (last - but_one);
}

/* The same from the two copies behind: between the first and the last, each copy differs from the next as that one does
 * from the one after it. */
static void copy_behind(struct mfu_fold *x, const struct stretch *a, const int to[LISTS])
{
    struct mfu_program *p = x->p;

    for (int i = to[LAUNCHES], n = a->count[LAUNCHES]; i < to[LAUNCHES] + n; i++) {
        const struct mfu_launch *l = &p->launches[i + n], *m = &p->launches[i + 2 * n];
        int *ends = mfu_ends_new(x->s, l->n_in + l->n_out), *out = ends ? ends + l->n_in : NULL;

        if (!ends)
            return;
        for (int k = 0; k < l->n_in; k++)
            ends[k] = next_in_row(l->in[k], m->in[k]);
        for (int k = 0; k < l->n_out; k++)
            out[k] = next_in_row(l->out[k], m->out[k]);
        p->launches[i] = *l;
        p->launches[i].in = ends;
        p->launches[i].out = out;
    }
    for (int i = to[VIEWS], n = a->count[VIEWS]; i < to[VIEWS] + n; i++) {
        p->views[i] = p->views[i + n];
        p->views[i].tensor = next_in_row(p->views[i + n].tensor, p->views[i + 2 * n].tensor);
    }
    for (int i = to[TENSORS], n = a->count[TENSORS]; i < to[TENSORS] + n; i++) {
        const struct mfu_tensor *t = &p->tensors[i + n], *u = &p->tensors[i + 2 * n];

        p->tensors[i] = *t;
        p->tensors[i].born = next_in_row(t->born, u->born);
        p->tensors[i].last = next_in_row(t->last, u->last);
        p->tensors[i].view = next_in_row(t->view, u->view);
    }
}

/* From the last to the first, so that nothing is written over before it is read. */
static void copy_stretch(struct mfu_fold *x, const struct stretch *a)
{
    struct mfu_program *p = x->p;

    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): every segment has its stretch */
    for (int n = a->copies; n >= 0; n--) {
        int copy = a->backwards ? a->copies - n : n, to[LISTS];

        for (enum list list = 0; list < LISTS; list++)
            to[list] = a->to[list] + n * a->count[list];
        if (n >= x->reach && n < a->copies - x->reach - 1) {
            copy_behind(x, a, to);
            continue;
        }
        for (int i = a->count[LAUNCHES] - 1; i >= 0; i--)
            copy_launch(x, to[LAUNCHES] + i, &p->launches[a->first[LAUNCHES] + i], a, copy);
        for (int i = a->count[VIEWS] - 1; i >= 0; i--)
            copy_view(x, to[VIEWS] + i, &p->views[a->first[VIEWS] + i], a, copy);
        for (int i = a->count[TENSORS] - 1; i >= 0; i--)
            copy_tensor(x, to[TENSORS] + i, &p->tensors[a->first[TENSORS] + i], a, copy);
    }
}

static bool make_room(struct mfu_fold *x, int n_segments)
{
    struct mfu_program *p = x->p;

    return ROOM_FOR(x->s, p->launches, x->n_copied[LAUNCHES], p->cap_launches)
        && ROOM_FOR(x->s, p->views, x->n_copied[VIEWS], p->cap_views)
        && ROOM_FOR(x->s, p->tensors, x->n_copied[TENSORS], p->cap_tensors)
        && ROOM_FOR(x->s, p->segments, n_segments, p->cap_segments);
}

/* All segments; with `folded`, those of copies share the launches. */
static void copy_all(struct mfu_fold *x, bool folded)
{
    struct mfu_program *p = x->p;
    int n = 0;

    for (int k = 0; k < p->n_segments; k++)
        n += 1 + x->stretches[k].copies;
    if (folded ? !ROOM_FOR(x->s, p->segments, n, p->cap_segments) : !make_room(x, n))
        return;
    for (int k = p->n_segments - 1, at = n; k >= 0; k--) {
        const struct stretch *a = &x->stretches[k];
        struct mfu_segment seg = p->segments[k];

        if (!folded)
            copy_stretch(x, a);
        seg.stretch = k;
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): every segment has its stretch */
        for (int c = a->copies; c >= 0; c--) {
            seg.first = a->to[LAUNCHES] + c * a->count[LAUNCHES];
            seg.copy = folded ? c : 0;
            seg.shift = folded ? a->first[LAUNCHES] - seg.first : 0;
            p->segments[--at] = seg;
        }
    }
    p->n_segments = n;
    p->n_launches = x->n_copied[LAUNCHES];
    p->n_views = x->n_copied[VIEWS];
    p->n_tensors = x->n_copied[TENSORS];
}

static void fold_free(struct mfu_fold *x)
{
    if (x) {
        free(x->stretches);
        free(x->segment);
        free(x->owner[LAUNCHES]);
        free(x->moved);
    }
    free(x);
}

static bool copy_layers(struct mfu_builder *s, int n, bool folded)
{
    struct mfu_program *p = s->program;
    struct mfu_fold *x = calloc(1, sizeof *x);
    size_t items = (size_t)p->n_launches + (size_t)p->n_views + (size_t)p->n_tensors;
    bool alike;

    if (x) {
        x->s = s;
        x->p = p;
        x->reach = s->reach;
        x->n_stretches = p->n_segments * (p->segments[0].back_tensor > 0 ? 2 : 1);
        x->stretches = malloc((size_t)x->n_stretches * sizeof *x->stretches);
        x->segment = malloc((size_t)n * (MOST_SEGMENTS + 1) * sizeof *x->segment);
        x->owner[LAUNCHES] = malloc(items * sizeof *x->owner[LAUNCHES]);
    }
    if (!x || !x->stretches || !x->segment || !x->owner[LAUNCHES]) {
        s->failed = true;
        fold_free(x);
        return false;
    }
    x->layer_copies = x->segment + n * MOST_SEGMENTS;
    for (int k = 0; k < n; k++)
        x->layer_copies[k] = s->layers[k].copies;
    x->owner[VIEWS] = x->owner[LAUNCHES] + p->n_launches;
    x->owner[TENSORS] = x->owner[VIEWS] + p->n_views;
    x->unlike = x->n_stretches > USHRT_MAX; /* more than any model has */
    find_stretches(x, n);
    lay_out(x);
    if (!x->unlike)
        copy_all(x, folded);
    alike = !s->failed && !x->unlike;
    if (alike && folded)
        p->fold = x;
    else
        fold_free(x);
    return alike;
}

bool mfu_copy_layers(struct mfu_builder *s, int n)
{
    if (!copy_layers(s, n, false))
        return false;
    for (int k = 0; k < n; k++)
        s->layers[k].copies = 0; /* they are there */
    return true;
}

/* ---- without making them --------------------------------------------------- */

bool mfu_fold_layers(struct mfu_builder *s, int n)
{
    return copy_layers(s, n, true);
}

void mfu_fold_free(struct mfu_program *p)
{
    fold_free(p->fold);
    p->fold = NULL;
}

int mfu_fold_tensors(const struct mfu_program *p)
{
    const struct stretch *last = &p->fold->stretches[p->fold->n_stretches - 1];

    return last->first[TENSORS] + last->count[TENSORS] + p->fold->n_more;
}

int mfu_fold_tensor(struct mfu_builder *s, double bytes, enum mfu_part part)
{
    struct mfu_program *p = s->program;
    int at = mfu_fold_tensors(p);

    if (!ROOM(s, p->tensors, at, p->cap_tensors))
        return -1;
    p->tensors[at] = (struct mfu_tensor){.bytes = mfu_block_bytes(bytes), .part = part};
    p->fold->n_more++;
    p->n_tensors++;
    return at;
}

void mfu_fold_moves(struct mfu_program *p, int *moved)
{
    p->fold->moved = moved;
}

static int moved_to(const struct mfu_fold *x, int launch)
{
    return x->moved && !names_none(launch) ? x->moved[launch] : launch;
}

void mfu_unfolding_release(struct mfu_unfolding *u)
{
    free(u->now);
    free(u->step);
    *u = (struct mfu_unfolding){0};
}

/* The next of numbers that follow each other at equal distances: `exactly` is what it is, where that is worked out. */
static void next_number(struct mfu_unfolding *u, int i, int exactly)
{
    u->step[i] = exactly - u->now[i];
    u->now[i] = exactly;
}

static void step_on(struct mfu_unfolding *u, int n)
{
    for (int i = 0; i < n; i++)
        u->now[i] += u->step[i];
}

/* Copies near the first and the last have other neighbours; between these, numbers grow evenly from each to the next,
 * those of what the neighbours name, too. */
static bool is_even(const struct mfu_fold *x, int copies, int n)
{
    int edge = 2 * x->reach + 1;

    return n > edge && n < copies - edge;
}

/* The tensor of a view that copy `copy` of `from` names. */
static int tensor_of(const struct mfu_program *p, int view, const struct stretch *from, int copy)
{
    const struct mfu_fold *x = p->fold;
    struct place at = {&x->stretches[x->owner[VIEWS][view]], copy, 0};

    if (at.in->layer != from->layer) {
        at = placed(x, VIEWS, view, from, copy);
        view = at.in->first[VIEWS] + at.offset;
    }
    return renumbered(x, TENSORS, p->views[view].tensor, at.in, at.which);
}

bool mfu_unfolds_alike(const struct mfu_segment *seg)
{
    return seg->copy > 0 && seg->count == seg[-1].count && seg->first + seg->shift == seg[-1].first + seg[-1].shift;
}

bool mfu_unfolds_evenly(const struct mfu_program *p, const struct mfu_segment *seg)
{
    return mfu_unfolds_alike(seg) && is_even(p->fold, p->fold->stretches[seg->stretch].copies, seg->copy);
}

const int *mfu_unfold_ends(const struct mfu_program *p, const struct mfu_segment *seg, struct mfu_unfolding *u)
{
    const struct stretch *a = &p->fold->stretches[seg->stretch];
    const struct mfu_launch *l = &p->launches[seg->first + seg->shift];
    int n = 0, copy = a->backwards ? a->copies - seg->copy : seg->copy;

    for (int i = 0; i < seg->count; i++)
        n += l[i].n_in + l[i].n_out;
    if (!MFU_ROOM(u->now, n + 1, u->cap_now) || !MFU_ROOM(u->step, n + 1, u->cap_step))
        return NULL;
    if (is_even(p->fold, a->copies, seg->copy)) {
        step_on(u, n);
        return u->now;
    }
    if (seg->copy == 0)
        memset(u->now, 0, (size_t)n * sizeof *u->now);
    for (int i = 0, at = 0; i < seg->count; i++) {
        for (int k = 0; k < l[i].n_in; k++)
            next_number(u, at++, tensor_of(p, l[i].in[k], a, copy));
        for (int k = 0; k < l[i].n_out; k++)
            next_number(u, at++, tensor_of(p, l[i].out[k], a, copy));
    }
    return u->now;
}

int mfu_unfold_lives(const struct mfu_program *p, mfu_life_fn *fn, void *context)
{
    const struct mfu_fold *x = p->fold;
    struct mfu_unfolding u = {0};
    int tensor = p->n_tensors;

    for (int t = mfu_fold_tensors(p) - 1, i = 0; i < x->n_more; i++, t--)
        fn(context, --tensor, t, p->tensors[t].born, p->tensors[t].last);
    for (int k = x->n_stretches - 1; k >= 0; k--) {
        const struct stretch *a = &x->stretches[k];
        int n = a->count[TENSORS];

        if (!MFU_ROOM(u.now, 2 * n + 1, u.cap_now) || !MFU_ROOM(u.step, 2 * n + 1, u.cap_step))
            break;
        memset(u.now, 0, (size_t)(2 * n) * sizeof *u.now);
        for (int c = a->copies; c >= 0; c--) {
            const struct mfu_tensor *t = &p->tensors[a->first[TENSORS]];
            int copy = a->backwards ? a->copies - c : c;

            if (is_even(x, a->copies, c))
                step_on(&u, 2 * n);
            for (int i = 0; i < n && !is_even(x, a->copies, c); i++) {
                next_number(&u, 2 * i, renumbered(x, LAUNCHES, t[i].born, a, copy));
                next_number(&u, 2 * i + 1, renumbered(x, LAUNCHES, t[i].last, a, copy));
            }
            for (int i = n - 1; i >= 0; i--)
                fn(context, --tensor, a->first[TENSORS] + i, moved_to(x, u.now[2 * i]), moved_to(x, u.now[2 * i + 1]));
        }
    }
    mfu_unfolding_release(&u);
    return tensor == 0 ? 0 : -1;
}
