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
#include "scenario/setting.h"

#define STASH 5          /* max_fwd_stash_size */
#define LEAST_BYTES 1024 /* min_offload_size */

/* A tensor on its way. */
struct trip {
    int tensor, back;     /* as forward made it; as it comes back, -1: it stays */
    int segment;          /* of forward */
    int packed, freed;    /* launches after which it is copied, and forgotten */
    int used, fetched;    /* that needs it again; after which it is fetched, or before the first of `fetched_in` */
    int fetched_in;       /* segment of backward, -1: after a launch */
    int sent_as, came_as; /* number of its copy in its stream */
};

struct offloader {
    struct mfu_builder *s;
    struct mfu_program *p;
    struct trip *trips;
    int n, n_written;
    int sent, came; /* copies so far */
    int wanted;     /* a copy to the host that the next kernel waits for, -1 */
};

/* ---- what travels --------------------------------------------------------- */

static int segment_of(const struct mfu_program *p, int launch)
{
    int k = 0;

    while (k < p->n_segments - 1 && launch >= p->segments[k].first + p->segments[k].count)
        k++;
    return k;
}

/* What a copy moves: the elements, not the block that holds them. */
static double content_bytes(const struct mfu_program *p, int tensor)
{
    const struct mfu_view *v = &p->views[p->tensors[tensor].view];

    return v->rows * v->columns * mfu_type_bytes[v->type];
}

static bool reads(const struct mfu_program *p, int launch, int tensor)
{
    for (int i = 0; i < p->launches[launch].n_in; i++)
        if (p->views[p->launches[launch].in[i]].tensor == tensor)
            return true;
    return false;
}

static int first_reader(const struct mfu_program *p, int tensor, int from, int end)
{
    while (from < end && !reads(p, from, tensor))
        from++;
    return from;
}

/* The launch after which a tensor is copied: its first reader in the same layer, which saves it, or who made it.
 * What a layer reads of no other layer, the embeddings, is copied there. */
static int packed_after(const struct mfu_program *p, int tensor, int forward_end)
{
    int born = p->tensors[tensor].born, reader = first_reader(p, tensor, born + 1, forward_end);

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
        packed = packed_after(p, t, forward_end);
        if (!p->segments[segment_of(p, packed)].layer)
            continue;
        used = first_reader(p, t, forward_end, backward_end);
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

/* The number-th trip of a segment, or its last; -1: it has none. */
static int trip_of(const struct offloader *x, int segment, int number)
{
    int at = -1;

    for (int i = 0; i < x->n && number >= 0; i++)
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
            end = trip_of(x, next, STASH - behind - 1);
        if (end < 0)
            continue;
        t->freed = x->trips[end].packed;
        for (int k = t->freed + 1; k < forward_end; k++) /* forward needs it for longer */
            if (reads(x->p, k, t->tensor))
                t->freed = k;
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
                           .stream = way == MFU_TO_HOST ? MFU_STREAM_TO_HOST : MFU_STREAM_FROM_HOST,
                           .collective = {.kind = way, .axes = MFU_AXES_HOST, .bytes = bytes}};

    l.kernel = mfu_kernel_stream(MFU_OFFLOAD, MFU_C_DRAM_POINTWISE, 1, bytes, 0, bytes, 0);
    mfu_rewrite_put(x->s, &x->n_written, &l);
}

static const struct mfu_launch *maker_of(const struct offloader *x, const struct trip *t)
{
    return &x->p->launches[x->s->moved[x->p->tensors[t->tensor].born]];
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
    t->came_as = x->came++;
}

/* Backward reads what came back. */
static void read_copies(struct offloader *x, struct mfu_launch *l, int at)
{
    int *in = mfu_ends_new(x->s, l->n_in);

    if (!in)
        return;
    l->in = memcpy(in, l->in, l->n_in * sizeof *in); /* its own, no longer those that it is a copy of */
    for (int i = 0; i < x->n; i++) {
        const struct trip *t = &x->trips[i];

        if (t->freed < 0)
            continue;
        for (int k = 0; k < l->n_in; k++) {
            struct mfu_view v = x->p->views[l->in[k]];

            if (v.tensor == t->tensor)
                l->in[k] = mfu_view_as(x->s, t->back, v.rows, v.columns, v.type);
        }
        if (t->used == at) {
            l->wait_stream = MFU_STREAM_FROM_HOST;
            l->wait_behind = x->came - 1 - t->came_as;
        }
    }
}

static void write_launch(struct offloader *x, const struct mfu_segment *seg, int at, bool backward)
{
    struct mfu_launch *l = mfu_rewrite_move(x->s, &x->n_written, at);

    if (backward)
        read_copies(x, l, at);
    else if (x->wanted >= 0 && l->kernel.launches > 0) {
        l->wait_stream = MFU_STREAM_TO_HOST;
        l->wait_behind = x->sent - 1 - x->wanted;
        x->wanted = -1;
    }
    for (int i = 0; i < x->n && !x->s->failed; i++) {
        struct trip *t = &x->trips[i];

        if (t->packed == at) {
            double bytes = content_bytes(x->p, t->tensor);

            copy(x, seg, maker_of(x, t), MFU_TO_HOST, bytes);
            t->sent_as = x->sent++;
            x->p->host_bytes[MFU_PART_ACTIVATIONS] += seg->repeat * bytes;
        }
        if (t->freed == at && t->sent_as > x->wanted)
            x->wanted = t->sent_as;
        if (backward && t->freed >= 0 && t->fetched_in < 0 && t->fetched == at)
            fetch(x, seg, t);
    }
}

static void write(struct offloader *x)
{
    struct mfu_program *p = x->p;

    for (int k = 0; k < p->n_segments && !x->s->failed; k++) {
        struct mfu_segment *seg = &p->segments[k];
        const struct mfu_segment was = *seg;

        seg->first = x->n_written;
        for (int i = 0; i < x->n && was.phase == MFU_BACKWARD; i++)
            if (x->trips[i].freed >= 0 && x->trips[i].fetched_in == k)
                fetch(x, &was, &x->trips[i]);
        for (int i = was.first; i < was.first + was.count && !x->s->failed; i++)
            write_launch(x, &was, i, was.phase == MFU_BACKWARD);
        seg->count = x->n_written - seg->first;
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
    struct offloader x = {.s = s, .p = p, .wanted = -1};

    if (s->config->setting[MFU_S_OFFLOAD_ACTIVATIONS] == 0)
        return 0;
    x.trips = calloc((size_t)n_tensors + 1, sizeof *x.trips);
    s->failed |= !x.trips;
    if (!s->failed && find_trips(&x, forward_end, end_of(p, MFU_BACKWARD)) > 0) {
        find_ends(&x, forward_end);
        find_returns(&x);
        s->failed |= !mfu_rewrite_begin(s);
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
    free(x.trips);
    return s->failed ? -1 : 0;
}
