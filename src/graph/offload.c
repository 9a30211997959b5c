/*
 * offload.c - activations that wait for backward in the host's memory: what a layer
 * saves is copied there when its first reader has run, and comes back one use ahead.
 *
 * Source: torchtune, training/_activation_offloading.py @05cda5e (OffloadActivations,
 * which TRL and axolotl have, too): tensors of 1024 bytes and more, pinned; a tensor stays
 * on the GPU until the STASH-th after it is copied, and compute waits for its copy then;
 * what is still there when backward begins does not come back; a copy back is issued
 * when the backward that needed the one before runs.
 *
 * A layer that stands for several has neighbours like itself (layers.c): what it finds on its way from the one
 * before it leaves to the next.  So a stash reaches into the next layer and no further.
 */
#include "graph/offload.h"

#include <stdlib.h>
#include <string.h>

#include "graph/builder_private.h"
#include "graph/layers.h"
#include "scenario/setting.h"

#define STASH 5          /* max_fwd_stash_size */
#define LEAST_BYTES 1024 /* min_offload_size */

/* Which of the copies in a stream, as traced; the layer whose it is; how many were left out before it, of layers that
 * will be copied. */
struct turn {
    int number, layer, left_out;
};

/* A tensor on its way. */
struct trip {
    int tensor, back;  /* as forward made it; as it comes back, -1: it stays */
    int segment;       /* of forward */
    int packed, freed; /* launches after which it is copied, and forgotten */
    int used, fetched; /* that needs it again; after which it is fetched, or before the first of `fetched_in` */
    int fetched_in;    /* segment of backward, -1: after a launch */
    struct turn sent, came;
};

/* Where items are in a list, by a number that they have in common: chains in the order of the list. */
struct chains {
    int *first, *next; /* the first of a number; the one behind an item; -1: none */
};

/* By what trips are looked up; all by a launch but the last, which is by a segment. */
enum moment { PACKED, FREED, FETCHED, USED, FETCHED_IN, MOMENTS };

struct offloader {
    struct mfu_builder *s;
    struct mfu_program *p;
    struct trip *trips;
    struct chains reads; /* of launches: what they read, by tensor */
    int *reader;         /* the launch of a read */
    struct chains at[MOMENTS];
    int *trip; /* of a tensor, -1: it stays */
    int n, n_written;
    struct turn sent, came;    /* the next ones */
    const struct trip *wanted; /* the next kernel waits until it is copied to the host; NULL */
};

/* Chains of `n_items` by numbers below `n_numbers`, empty; false: out of memory. */
static bool start_chains(struct offloader *x, struct chains *c, int n_numbers, int n_items)
{
    c->first = malloc(((size_t)n_numbers + (size_t)n_items + 1) * sizeof *c->first);
    x->s->failed |= !c->first;
    if (!c->first)
        return false;
    c->next = c->first + n_numbers;
    for (int i = 0; i < n_numbers; i++)
        c->first[i] = -1;
    return true;
}

/* In front of the items that there are. */
static void add_to_chain(struct chains *c, int number, int item)
{
    c->next[item] = c->first[number];
    c->first[number] = item;
}

/* ---- what travels --------------------------------------------------------- */

static int segment_of(const struct mfu_program *p, int launch)
{
    int from = 0, end = p->n_segments - 1; /* the first that ends behind it */

    while (from < end) {
        int k = (from + end) / 2;

        if (launch >= p->segments[k].first + p->segments[k].count)
            from = k + 1;
        else
            end = k;
    }
    return from;
}

/* What a copy moves: the elements, not the block that holds them. */
static double content_bytes(const struct mfu_program *p, int tensor)
{
    const struct mfu_view *v = &p->views[p->tensors[tensor].view];

    return v->rows * v->columns * mfu_type_bytes[v->type];
}

/* What reads a tensor, launch by launch; false: out of memory. */
static bool find_readers(struct offloader *x)
{
    const struct mfu_program *p = x->p;
    int n = 0;

    for (int i = 0; i < p->n_launches; i++)
        n += p->launches[i].n_in;
    x->reader = malloc(((size_t)n + 1) * sizeof *x->reader);
    x->s->failed |= !x->reader;
    if (x->s->failed || !start_chains(x, &x->reads, p->n_tensors, n))
        return false;
    for (int i = p->n_launches - 1; i >= 0; i--)
        for (int k = p->launches[i].n_in - 1; k >= 0; k--) {
            x->reader[--n] = i;
            add_to_chain(&x->reads, p->views[p->launches[i].in[k]].tensor, n);
        }
    return true;
}

/* The first launch from `from` on that reads a tensor, `end` if none before does. */
static int first_reader(const struct offloader *x, int tensor, int from, int end)
{
    int r = x->reads.first[tensor];

    while (r >= 0 && x->reader[r] < from)
        r = x->reads.next[r];
    return r >= 0 && x->reader[r] < end ? x->reader[r] : end;
}

/* The last one before `end`, -1: none. */
static int last_reader(const struct offloader *x, int tensor, int end)
{
    int last = -1;

    for (int r = x->reads.first[tensor]; r >= 0 && x->reader[r] < end; r = x->reads.next[r])
        last = x->reader[r];
    return last;
}

/* The launch after which a tensor is copied: its first reader in the same layer, which saves it, or who made it.
 * What a layer reads of no other layer, the embeddings, is copied there. */
static int packed_after(const struct offloader *x, int tensor, int forward_end)
{
    const struct mfu_program *p = x->p;
    int born = p->tensors[tensor].born, reader = first_reader(x, tensor, born + 1, forward_end);

    return reader < forward_end
            && (segment_of(p, reader) == segment_of(p, born) || !p->segments[segment_of(p, born)].layer)
        ? reader
        : born;
}

/* Trips by the launch after which they begin. */
static void insert(struct offloader *x, struct trip t)
{
    int i = x->n++;

    for (; i > 0 && x->trips[i - 1].packed > t.packed; i--)
        x->trips[i] = x->trips[i - 1];
    x->trips[i] = t;
}

static int find_trips(struct offloader *x, int forward_end, int backward_end)
{
    struct mfu_program *p = x->p;

    for (int t = 1; t < p->n_tensors; t++) {
        const struct mfu_tensor *it = &p->tensors[t];
        int used, packed;

        if (it->part != MFU_PART_ACTIVATIONS || it->born < 0 || it->born >= forward_end || it->last < forward_end
            || it->last >= backward_end || mfu_compare(x->s, content_bytes(p, t), LEAST_BYTES) < 0)
            continue;
        packed = packed_after(x, t, forward_end);
        if (!p->segments[segment_of(p, packed)].layer)
            continue;
        used = first_reader(x, t, forward_end, backward_end);
        if (used < backward_end)
            insert(x,
                   (struct trip){.tensor = t,
                                 .back = -1,
                                 .segment = segment_of(p, packed),
                                 .packed = packed,
                                 .freed = -1,
                                 .used = used,
                                 .fetched_in = -1});
    }
    return x->n;
}

/* The next layer of the same pass, -1: none. */
static int next_layer(const struct mfu_program *p, int k)
{
    k++;
    return k < p->n_segments && p->segments[k].layer && p->segments[k].phase == p->segments[k - 1].phase ? k : -1;
}

static bool follows_layer(const struct mfu_program *p, int k)
{
    return k > 0 && p->segments[k - 1].layer && next_layer(p, k - 1) == k;
}

/* The number-th trip of a segment, or its last, behind trip `from` of an earlier one; -1: it has none. */
static int trip_of(const struct offloader *x, int segment, int number, int from)
{
    int at = -1;

    for (int i = from; i < x->n && number >= 0 && x->trips[i].segment <= segment; i++)
        if (x->trips[i].segment == segment) {
            at = i;
            number--;
        }
    return at;
}

/* Where each is forgotten: when the STASH-th behind it is copied, in its layer or the next. */
static void find_ends(struct offloader *x, int forward_end)
{
    for (int i = 0; i < x->n; i++) {
        struct trip *t = &x->trips[i];
        int behind = 0, next = next_layer(x->p, t->segment), end = -1;

        while (i + behind + 1 < x->n && behind < STASH && x->trips[i + behind + 1].segment == t->segment)
            behind++;
        if (behind == STASH || !x->p->segments[segment_of(x->p, x->p->tensors[t->tensor].born)].layer)
            end = i + behind; /* what comes before all layers ends in the first: others have nothing like it */
        else if (next >= 0)
            end = trip_of(x, next, STASH - behind - 1, i);
        if (end < 0)
            continue;
        t->freed = x->trips[end].packed;
        if (last_reader(x, t->tensor, forward_end) > t->freed) /* forward needs it for longer */
            t->freed = last_reader(x, t->tensor, forward_end);
    }
}

/* ---- the way back ---------------------------------------------------------- */

static int by_use(const void *a, const void *b)
{
    const struct trip *x = a, *y = b;

    return x->used - y->used;
}

static void find_returns(struct offloader *x)
{
    const struct mfu_program *p = x->p;
    int before = -1; /* the trip whose use comes before */

    qsort(x->trips, (size_t)x->n, sizeof *x->trips, by_use);
    for (int i = 0; i < x->n; i++) {
        struct trip *t = &x->trips[i];
        int k, earlier;

        if (t->freed < 0)
            continue;
        k = segment_of(p, t->used);
        earlier = before >= 0 ? segment_of(p, x->trips[before].used) : -1;
        if (before >= 0 && x->trips[before].used == t->used) { /* one launch reads both */
            t->fetched = x->trips[before].fetched;
            t->fetched_in = x->trips[before].fetched_in;
        } else if (earlier == k || (earlier == k - 1 && follows_layer(p, k)))
            t->fetched = x->trips[before].used;
        else
            t->fetched_in = follows_layer(p, k) ? k - 1 : k;
        before = i;
    }
}

/* What happens to trips after a launch, and before a segment; false: out of memory. */
static bool find_moments(struct offloader *x)
{
    for (enum moment m = 0; m < MOMENTS; m++)
        if (!start_chains(x, &x->at[m], m == FETCHED_IN ? x->p->n_segments : x->p->n_launches, x->n))
            return false;
    if (!(x->trip = malloc((size_t)x->p->n_tensors * sizeof *x->trip)))
        return !(x->s->failed = true);
    for (int t = 0; t < x->p->n_tensors; t++)
        x->trip[t] = -1;
    for (int i = x->n - 1; i >= 0; i--) {
        const struct trip *t = &x->trips[i];

        add_to_chain(&x->at[PACKED], t->packed, i);
        if (t->freed < 0)
            continue;
        x->trip[t->tensor] = i;
        add_to_chain(&x->at[FREED], t->freed, i);
        add_to_chain(&x->at[USED], t->used, i);
        if (t->fetched_in >= 0)
            add_to_chain(&x->at[FETCHED_IN], t->fetched_in, i);
        else
            add_to_chain(&x->at[FETCHED], t->fetched, i);
    }
    return true;
}

/* ---- writing ---------------------------------------------------------------- */

static void copy(struct offloader *x, const struct mfu_segment *seg, const struct mfu_launch *of,
                 enum mfu_collective_kind way, double bytes)
{
    struct mfu_launch l = {.section = seg->section,
                           .op = of->op,
                           .suffix = mfu_collective_names[way],
                           .phase = seg->phase,
                           .fusion = MFU_ALONE,
                           .communicates = true,
                           .wait_behind = -1,
                           .stream = way == MFU_TO_HOST ? MFU_STREAM_TO_HOST : MFU_STREAM_FROM_HOST};

    l.work = mfu_work_of(
        x->s,
        &(struct mfu_work){.kernel = mfu_kernel_stream(MFU_OFFLOAD, MFU_C_DRAM_POINTWISE, 1, bytes, 0, bytes, 0),
                           .collective = {.kind = way, .axes = MFU_AXES_HOST, .bytes = bytes}});
    mfu_rewrite_put(x->s, &x->n_written, &l);
}

static const struct mfu_launch *maker_of(const struct offloader *x, const struct trip *t)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a moment is one of a trip */
    return &x->p->launches[x->p->tensors[t->tensor].born];
}

/* The tensor comes back as another one, which backward reads instead. */
static void fetch(struct offloader *x, const struct mfu_segment *seg, struct trip *t)
{
    const struct mfu_view v = x->p->views[x->p->tensors[t->tensor].view];
    const struct mfu_launch *maker = maker_of(x, t);
    int view = mfu_tensor_new(x->s, v.rows, v.columns, v.type, MFU_PART_ACTIVATIONS);

    if (x->s->failed)
        return;
    t->back = x->p->views[view].tensor;
    x->p->tensors[t->back].born = x->n_written;
    copy(x, seg, maker, MFU_FROM_HOST, content_bytes(x->p, t->tensor));
    t->came = x->came;
    x->came.number++;
}

/* How many copies of a stream are behind one.  Near it, each layer finds what the layer before it does. */
static int behind(const struct offloader *x, const struct turn *next, const struct turn *one)
{
    bool near = abs(next->layer - one->layer) <= x->s->reach + 1;

    return next->number - 1 - one->number + (near ? 0 : next->left_out - one->left_out);
}

/* Backward reads what came back. */
static void read_copies(struct offloader *x, struct mfu_launch *l, int at)
{
    int *in = mfu_ends_new(x->s, l->n_in);

    if (!in)
        return;
    l->in = memcpy(in, l->in, l->n_in * sizeof *in); /* its own, no longer those that it is a copy of */
    for (int k = 0; k < l->n_in; k++) {
        struct mfu_view v = x->p->views[l->in[k]];

        if (x->trip[v.tensor] >= 0)
            l->in[k] = mfu_view_as(x->s, x->trips[x->trip[v.tensor]].back, v.rows, v.columns, v.type);
    }
    for (int i = x->at[USED].first[at]; i >= 0; i = x->at[USED].next[i]) {
        l->wait_stream = MFU_STREAM_FROM_HOST;
        l->wait_behind = behind(x, &x->came, &x->trips[i].came);
    }
}

static void write_launch(struct offloader *x, const struct mfu_segment *seg, int at, bool backward)
{
    struct mfu_launch *l = mfu_rewrite_move(x->s, &x->n_written, seg, at);

    if (backward)
        read_copies(x, l, at);
    else if (x->wanted && l->work->kernel.launches > 0) {
        l->wait_stream = MFU_STREAM_TO_HOST;
        l->wait_behind = behind(x, &x->sent, &x->wanted->sent);
        x->wanted = NULL;
    }
    for (int i = x->at[PACKED].first[at]; i >= 0 && !x->s->failed; i = x->at[PACKED].next[i]) {
        struct trip *t = &x->trips[i];
        double bytes = content_bytes(x->p, t->tensor);

        copy(x, seg, maker_of(x, t), MFU_TO_HOST, bytes);
        t->sent = x->sent;
        x->sent.number++;
        x->p->host_bytes[MFU_PART_ACTIVATIONS] += seg->repeat * (1 + x->s->layers[seg->of].copies) * bytes;
    }
    for (int i = x->at[FREED].first[at]; i >= 0; i = x->at[FREED].next[i])
        if (!x->wanted || x->trips[i].sent.number > x->wanted->sent.number)
            x->wanted = &x->trips[i];
    for (int i = x->at[FETCHED].first[at]; i >= 0 && !x->s->failed; i = x->at[FETCHED].next[i])
        fetch(x, seg, &x->trips[i]);
}

static void write(struct offloader *x)
{
    struct mfu_program *p = x->p;

    for (int k = 0; k < p->n_segments && !x->s->failed; k++) {
        struct mfu_segment *seg = &p->segments[k];
        const struct mfu_segment was = *seg;
        int first = x->n_written, sent = x->sent.number, came = x->came.number, copies = x->s->layers[seg->of].copies;

        x->sent.layer = x->came.layer = seg->of;
        seg->back_view = p->n_views, seg->back_tensor = p->n_tensors;
        for (int i = x->at[FETCHED_IN].first[k]; i >= 0; i = x->at[FETCHED_IN].next[i])
            fetch(x, &was, &x->trips[i]);
        for (int i = was.first; i < was.first + was.count && !x->s->failed; i++)
            write_launch(x, &was, i, was.phase == MFU_BACKWARD);
        mfu_rewrite_segment(x->s, seg, first, x->n_written);
        x->sent.left_out += copies * (x->sent.number - sent);
        x->came.left_out += copies * (x->came.number - came);
    }
}

static int end_of(const struct mfu_program *p, enum mfu_phase phase)
{
    int end = 0;

    for (int k = 0; k < p->n_segments; k++)
        if (p->segments[k].phase == phase)
            end = p->segments[k].first + p->segments[k].count;
    return end;
}

int mfu_offload_activations(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    int forward_end = end_of(p, MFU_FORWARD), n_tensors = p->n_tensors, n_launches = p->n_launches;
    struct offloader x = {.s = s, .p = p};

    if (s->config->setting[MFU_S_OFFLOAD_ACTIVATIONS] == 0)
        return 0;
    x.trips = calloc((size_t)n_tensors + 1, sizeof *x.trips);
    s->failed |= !x.trips;
    if (!s->failed && find_readers(&x) && find_trips(&x, forward_end, end_of(p, MFU_BACKWARD)) > 0) {
        find_ends(&x, forward_end);
        find_returns(&x);
        if (find_moments(&x) && mfu_rewrite_begin(s))
            write(&x);
    }
    if (!s->failed && x.n > 0) {
        for (int i = 0; i < x.n; i++)
            if (x.trips[i].freed >= 0) {
                p->tensors[x.trips[i].back].last = s->moved[p->tensors[x.trips[i].tensor].last];
                p->tensors[x.trips[i].tensor].last = x.trips[i].freed;
            }
        mfu_rewrite_end(s, x.n_written, n_tensors, n_launches);
        p->pinned_bytes += p->host_bytes[MFU_PART_ACTIVATIONS];
    }
    for (enum moment m = 0; m < MOMENTS; m++)
        free(x.at[m].first);
    free(x.reads.first);
    free(x.reader);
    free(x.trip);
    free(x.trips);
    return s->failed ? -1 : 0;
}
