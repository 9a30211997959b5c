/*
 * fuse.c - what a compiler makes of the list of eager kernels.
 *
 * Two decisions, in the spirit of torch.compile's min-cut partitioner and
 * Inductor's scheduler:
 *
 *  1. What backward needs of forward is saved, unless it can be computed again
 *     by cheap kernels from what is saved anyway.  Results of library calls
 *     are never computed again; a cast is never saved when its narrower source
 *     can be; random numbers and small reductions are saved.
 *  2. Neighbouring pointwise and row kernels over the same rows become one
 *     kernel, which reads what comes from outside and writes only what somebody
 *     outside needs.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/builder_private.h"

/* What becomes of one output of a launch. */
enum fate { UNUSED, INSIDE, WRITTEN, AGAIN };

#define MAX_MEMBERS 64 /* launches that become one, at most: Inductor's max_fusion_size */
#define MAX_SOURCES MFU_LAUNCH_IN

struct group {
    int members[MAX_MEMBERS], n;
    double rows;
    int segment;
};

struct fusion {
    struct mfu_builder *s;
    struct mfu_program *p;
    unsigned char (*fate)[MFU_LAUNCH_OUT]; /* of every launch's outputs; beyond those nothing is written */
    /* Who reads an output: a chain of (launch, input) in the order of launches,
     * packed into one number; -1 ends it. */
    int (*first_reader)[MFU_LAUNCH_OUT], (*next_reader)[MFU_LAUNCH_IN];
    int *group_of; /* group number of a launch, -1: none yet */
    int segment;   /* of the launch at hand */
    struct group open;
    unsigned fusible;                         /* bits of enum mfu_fusion */
    int *writer;                              /* of every tensor: the last of the group that is put together */
    bool too_many;                            /* sources, of the kernel being put together */
    int in[MAX_SOURCES], out[MFU_LAUNCH_OUT]; /* of it */
    int n_groups, n_merged;
    int *segment_first, *segment_count;
};

static bool fusible(const struct fusion *f, const struct mfu_launch *l)
{
    return f->fusible >> l->fusion & 1;
}

static double bytes_of(const struct fusion *f, int view)
{
    const struct mfu_view *v = &f->p->views[view];

    return v->rows * v->columns * mfu_type_bytes[v->type];
}

static int slot_of(const struct fusion *f, int view)
{
    return f->p->views[view].slot;
}

/* The next launch that reads an output, or -1; `at` walks along the chain. */
static int next_reader(const struct fusion *f, int *at)
{
    int reader = *at;

    if (reader < 0)
        return -1;
    *at = f->next_reader[reader / MFU_LAUNCH_IN][reader % MFU_LAUNCH_IN];
    return reader / MFU_LAUNCH_IN;
}

/* ---- 1. what is saved, what is computed again --------------------------- */

static void decide_saving(struct fusion *f, int launch, int slot);

/* Whether backward has a value without saving it for this: what forward only used
 * inside a kernel can be computed again if what that reads is there. */
static bool available_in_backward(struct fusion *f, int view)
{
    int producer = f->p->views[view].producer, slot;

    if (producer < 0 || f->p->launches[producer].phase == MFU_BACKWARD)
        return true;
    slot = slot_of(f, view);
    if (f->fate[producer][slot] == INSIDE && fusible(f, &f->p->launches[producer]))
        decide_saving(f, producer, slot);
    return f->fate[producer][slot] >= WRITTEN;
}

/* Who reads what; and marks first what cannot be avoided: results of library calls that backward
 * reads, and what library calls in backward read. */
static void mark_needs(struct fusion *f)
{
    const struct mfu_program *p = f->p;
    const struct mfu_launch *launches = p->launches;
    const struct mfu_view *views = p->views;
    const struct mfu_tensor *tensors = p->tensors;

    for (int i = p->n_launches - 1; i >= 0; i--) {
        const struct mfu_launch *l = &launches[i];
        const int *in = l->in, *out = l->out, n_in = l->n_in,
                  n_out = l->n_out; /* bytes that are written may be these */
        bool own = fusible(f, l), column = l->fusion == MFU_COLUMN;

        for (int k = 0; k < n_in; k++) {
            const struct mfu_view *v = &views[in[k]];
            int producer = v->producer, slot = v->slot;
            const struct mfu_launch *from;

            if (producer < 0)
                continue;
            from = &launches[producer];
            f->next_reader[i][k] = f->first_reader[producer][slot];
            f->first_reader[producer][slot] = i * MFU_LAUNCH_IN + k;
            if (!own || !fusible(f, from))
                f->fate[producer][slot] = from->cast && column && f->fate[producer][slot] < WRITTEN ? INSIDE : WRITTEN;
            else if (f->fate[producer][slot] == UNUSED)
                f->fate[producer][slot] = INSIDE;
        }
        for (int k = 0; k < n_out; k++)
            if (tensors[views[out[k]].tensor].last == MFU_FOREVER)
                f->fate[i][k] = WRITTEN;
    }
    /* What the graph returns is never computed again (torch 2.15 _functorch/partitioners.py: its reader,
     * the output, cannot be fused): a softcap's logits are saved beside those of the product. */
    if (f->s->returned != MFU_NO_VIEW && f->p->views[f->s->returned].producer >= 0)
        f->fate[f->p->views[f->s->returned].producer][slot_of(f, f->s->returned)] = WRITTEN;
}

/* Then, in the order of forward, save or recompute the rest. */
static void decide_saving(struct fusion *f, int launch, int slot)
{
    const struct mfu_launch *l = &f->p->launches[launch];
    int out = l->out[slot];
    bool again = !l->random && f->s->runtime->recompute;
    double in_bytes = 0;

    if (f->fate[launch][slot] >= WRITTEN)
        return;
    for (int k = 0; k < l->n_in; k++) {
        again = again && available_in_backward(f, l->in[k]);
        in_bytes += bytes_of(f, l->in[k]);
    }
    if (l->n_in > 0 && mfu_compare(f->s, 4 * bytes_of(f, out), in_bytes) <= 0)
        again = false; /* a mean, an rstd: cheap to keep */
    if (!again && l->cast && f->s->runtime->recompute
        && mfu_compare(f->s, bytes_of(f, l->in[0]), bytes_of(f, out)) <= 0) {
        int producer = f->p->views[l->in[0]].producer;

        if (producer >= 0)
            f->fate[producer][slot_of(f, l->in[0])] = WRITTEN;
        again = true;
    }
    f->fate[launch][slot] = again ? AGAIN : WRITTEN;
}

static void decide(struct fusion *f)
{
    for (int i = 0; i < f->p->n_launches; i++) {
        const struct mfu_launch *l = &f->p->launches[i];

        if (l->phase != MFU_FORWARD || !fusible(f, l))
            continue;
        for (int k = 0; k < l->n_out; k++) {
            int at = f->first_reader[i][k];

            for (int reader; (reader = next_reader(f, &at)) >= 0;)
                if (f->p->launches[reader].phase == MFU_BACKWARD) {
                    decide_saving(f, i, k);
                    break;
                }
        }
    }
}

/* ---- 2. groups ---------------------------------------------------------- */

/* Adds a view to the sources that a kernel reads, or, if it was never written,
 * what it is computed from. */
static void add_source(struct fusion *f, int view, int group, int *sources, int *n, int depth)
{
    int producer = f->p->views[view].producer;

    if (producer >= 0 && depth < 24) {
        const struct mfu_launch *l = &f->p->launches[producer];

        if (group >= 0 && f->group_of[producer] == group)
            return; /* made in this kernel */
        if (fusible(f, l) && f->fate[producer][slot_of(f, view)] != WRITTEN) {
            for (int k = 0; k < l->n_in; k++)
                add_source(f, l->in[k], group, sources, n, depth + 1);
            return;
        }
    }
    for (int k = 0; k < *n; k++)
        if (sources[k] == view)
            return;
    if (*n < MAX_SOURCES)
        sources[(*n)++] = view;
    else
        f->too_many = true;
}

/* The next launch of the new list, to begin with like one of the old; NULL when out of memory.
 * put() leaves it there. */
static struct mfu_launch *next_like(struct fusion *f, int index)
{
    struct mfu_builder *s = f->s;

    if (!ROOM(s, s->merged, f->n_merged, s->cap_merged))
        return NULL;
    s->merged[f->n_merged] = f->p->launches[index];
    return &s->merged[f->n_merged];
}

static void put(struct fusion *f, int segment)
{
    if (f->segment_count[segment]++ == 0)
        f->segment_first[segment] = f->n_merged;
    f->n_merged++;
}

/* A launch that stays by itself: its inputs may have to be computed inside it. */
static void put_alone(struct fusion *f, int index)
{
    struct mfu_launch *l = next_like(f, index);
    struct mfu_work w;
    int sources[MAX_SOURCES], n = 0;
    bool changes;

    if (!l)
        return;
    changes = l->fusion == MFU_COLUMN || l->work->kernel.traffic == MFU_C_DRAM_IRREGULAR
        || l->work->kernel.traffic == MFU_C_DRAM_DROPOUT;
    if (!changes) {
        put(f, f->segment);
        return;
    }
    w = *l->work;
    if (w.kernel.traffic == MFU_C_DRAM_IRREGULAR || w.kernel.traffic == MFU_C_DRAM_DROPOUT)
        w.kernel.traffic = MFU_C_DRAM_FUSED; /* compiled for just this layout */
    if (l->fusion == MFU_COLUMN) {
        double was = 0, is = 0;

        f->too_many = false;
        for (int k = 0; k < l->n_in; k++) {
            was += bytes_of(f, l->in[k]);
            add_source(f, l->in[k], -1, sources, &n, 0);
        }
        for (int k = 0; k < n && !f->too_many; k++)
            is += bytes_of(f, sources[k]);
        if (!f->too_many && (l->in = mfu_ends_new(f->s, n))) {
            memcpy(l->in, sources, (size_t)n * sizeof *sources);
            l->n_in = (unsigned char)n;
            w.kernel.read_bytes += is - was;
        }
    }
    l->work = mfu_work_of(f->s, &w);
    put(f, f->segment);
}

/* Whether anybody outside the group (or later, in backward) reads it. */
static bool read_outside(const struct fusion *f, int launch, int slot, int group)
{
    int at = f->first_reader[launch][slot];

    for (int reader; (reader = next_reader(f, &at)) >= 0;) {
        const struct mfu_launch *r = &f->p->launches[reader];

        if (f->group_of[reader] == group)
            continue;
        if (f->fate[launch][slot] == AGAIN && r->phase != f->p->launches[launch].phase)
            continue; /* computed again there */
        if (f->fate[launch][slot] != WRITTEN && r->fusion == MFU_COLUMN)
            continue; /* computed again there, too */
        return true;
    }
    return false;
}

/* In-place sums: only the last view of a tensor is written. */
static void find_writers(struct fusion *f, const int *members, int n)
{
    for (int i = 0; i < n; i++) {
        const struct mfu_launch *l = &f->p->launches[members[i]];

        for (int k = 0; k < l->n_out; k++)
            f->writer[f->p->views[l->out[k]].tensor] = members[i];
    }
}

/* What a group of launches reads and writes as one kernel; false if that is more
 * than a launch can name. */
static bool ends_of(struct fusion *f, const int *members, int n, int id, struct mfu_launch *merged)
{
    int n_sources = 0;

    find_writers(f, members, n);
    f->too_many = false;
    merged->in = f->in;
    merged->out = f->out;
    merged->n_out = 0;
    for (int i = 0; i < n; i++) {
        const struct mfu_launch *l = &f->p->launches[members[i]];

        for (int k = 0; k < l->n_in; k++)
            add_source(f, l->in[k], id, merged->in, &n_sources, 0);
        for (int k = 0; k < l->n_out; k++) {
            if (f->writer[f->p->views[l->out[k]].tensor] != members[i]
                || !(f->fate[members[i]][k] == WRITTEN || read_outside(f, members[i], k, id)))
                continue;
            if (merged->n_out == MFU_LAUNCH_OUT)
                return false;
            merged->out[merged->n_out++] = l->out[k];
        }
    }
    merged->n_in = (unsigned char)n_sources;
    if (f->too_many && n == 1) { /* it reads its inputs as they are */
        merged->n_in = f->p->launches[members[0]].n_in;
        merged->in = f->p->launches[members[0]].in;
        return true;
    }
    return !f->too_many;
}

/* The launch of a group whose kind and shape the kernel has: the one that works on
 * the longest rows (the softmax of a loss, not the sum of its results), or without rows
 * the one that computes most. */
static const struct mfu_launch *main_of(const struct fusion *f, const int *members, int n)
{
    const struct mfu_launch *main = &f->p->launches[members[0]];

    for (int i = 1; i < n; i++) {
        const struct mfu_launch *l = &f->p->launches[members[i]];

        if (l->fusion == MFU_ROW
                ? main->fusion != MFU_ROW || mfu_compare(f->s, l->work->kernel.n, main->work->kernel.n) >= 0
                : main->fusion != MFU_ROW && mfu_compare(f->s, l->work->kernel.flops, main->work->kernel.flops) >= 0)
            main = l;
    }
    return main;
}

/* Adds up what the members compute and read beside their inputs. */
static void add_members(const struct fusion *f, const int *members, int n, int id, struct mfu_work *merged)
{
    struct mfu_kernel *k = &merged->kernel;

    for (int i = 0; i < n; i++) {
        const struct mfu_launch *l = &f->p->launches[members[i]];
        const struct mfu_work *w = l->work;
        int producer = l->n_in > 0 ? f->p->views[l->in[0]].producer : -1;

        if (producer < 0 || f->group_of[producer] != id) {
            k->read_bytes += w->extra_read_bytes;
            k->reread_bytes += w->kernel.reread_bytes / 2; /* maximum and sum in one pass */
        }
        k->flops += w->kernel.flops;
        merged->gradient_elements += w->gradient_elements;
        merged->gradient_experts += w->gradient_experts;
    }
}

/* What was put together stays with the launch. */
static bool keep_ends(struct fusion *f, struct mfu_launch *merged)
{
    int *ends = mfu_ends_new(f->s, merged->n_in + merged->n_out);

    if (!ends)
        return false;
    merged->in = memcpy(ends, merged->in, merged->n_in * sizeof *ends);
    merged->out = memcpy(ends + merged->n_in, merged->out, merged->n_out * sizeof *ends);
    return true;
}

static void mark_written(struct fusion *f, const struct mfu_launch *merged)
{
    for (int k = 0; k < merged->n_out; k++)
        f->fate[f->p->views[merged->out[k]].producer][slot_of(f, merged->out[k])] = WRITTEN;
}

/* Makes one kernel of the members, or two of a half each where they have more
 * ends than one can name. */
static void put_merged(struct fusion *f, const int *members, int n)
{
    const struct mfu_launch *main = main_of(f, members, n);
    struct mfu_launch *merged = next_like(f, members[n - 1]);
    struct mfu_work w;
    struct mfu_kernel *kernel = &w.kernel;
    int id = f->n_groups;

    if (!merged)
        return;
    for (int i = 0; i < n; i++)
        f->group_of[members[i]] = id;
    if (!ends_of(f, members, n, id, merged) && n > 1) {
        for (int i = n / 2; i < n; i++)
            f->group_of[members[i]] = -1;
        put_merged(f, members, n / 2);
        put_merged(f, members + n / 2, n - n / 2);
        return;
    }
    f->n_groups++;
    mark_written(f, merged);
    if (merged->n_out == 0 || !keep_ends(f, merged))
        return;
    w = *merged->work;
    kernel->flops = kernel->reread_bytes = w.gradient_elements = w.gradient_experts = 0;
    kernel->launches = 1;
    w.temporary_bytes = kernel->read_bytes = kernel->write_bytes = 0;
    add_members(f, members, n, id, &w);
    for (int k = 0; k < merged->n_in; k++)
        kernel->read_bytes += bytes_of(f, merged->in[k]);
    for (int k = 0; k < merged->n_out; k++)
        kernel->write_bytes += bytes_of(f, merged->out[k]);
    merged->op = main->op;
    merged->section = main->section;
    merged->suffix = n > 1 ? (main->phase == MFU_BACKWARD ? "fused_grad" : "fused") : main->suffix;
    merged->fusion = main->fusion;
    merged->cast = n == 1 && main->cast;
    kernel->kind = main->work->kernel.kind;
    kernel->m = f->open.rows;
    kernel->n = main->work->kernel.n;
    kernel->traffic = main->work->kernel.traffic;
    if (kernel->traffic != MFU_C_DRAM_EMBEDDING || n > 1)
        kernel->traffic = mfu_fused_traffic(kernel->traffic);
    merged->work = mfu_work_of(f->s, &w);
    put(f, f->open.segment);
}

static void close_group(struct fusion *f)
{
    struct group *g = &f->open;

    if (g->n > 0)
        put_merged(f, g->members, g->n);
    g->n = 0;
}

/* The most rows that a launch reads or writes, as if each was compared by mfu_compare(). */
static double most_rows(const struct fusion *f, const struct mfu_launch *l)
{
    struct mfu_program *p = f->p;
    int first = l->n_in > 0, n = l->n_in + l->n_out;
    double rows = l->n_in ? p->views[l->in[0]].rows : 0, *note = NULL;

    if (f->s->counted && ROOM_FOR(f->s, p->compared, p->n_compared + n, p->cap_compared)) {
        note = &p->compared[p->n_compared];
        p->n_compared += n - first;
    }
    for (int k = first; k < n; k++) {
        double other = p->views[k < l->n_in ? l->in[k] : l->out[k - l->n_in]].rows;

        if (note)
            *note++ = rows - other;
        rows = rows > other ? rows : other;
    }
    return rows;
}

static void join(struct fusion *f, int index)
{
    struct group *g = &f->open;
    const struct mfu_launch *l = &f->p->launches[index];
    double rows = most_rows(f, l);

    if (g->n > 0
        && (mfu_compare(f->s, g->rows, rows) != 0 || g->n == MAX_MEMBERS
            || f->p->launches[g->members[0]].phase != l->phase))
        close_group(f);
    if (g->n == 0)
        g->rows = rows;
    g->members[g->n++] = index;
    g->segment = f->segment;
    f->group_of[index] = f->n_groups;
}

static bool reads_open_group(const struct fusion *f, const struct mfu_launch *l)
{
    for (int k = 0; k < l->n_in; k++) {
        int producer = f->p->views[l->in[k]].producer;

        if (producer >= 0 && f->open.n > 0 && f->group_of[producer] == f->n_groups)
            return true;
    }
    return false;
}

/* Births and deaths follow the new list. */
static void new_lifetimes(struct fusion *f)
{
    struct mfu_program *p = f->p;
    int forward_end = 0;

    for (int t = 0; t < p->n_tensors; t++)
        if (p->tensors[t].born != MFU_NEVER) {
            p->tensors[t].born = MFU_FOREVER;
            if (p->tensors[t].last != MFU_FOREVER)
                p->tensors[t].last = -1;
        }
    for (int i = 0; i < p->n_launches; i++) {
        const struct mfu_launch *l = &p->launches[i];

        if (l->phase == MFU_FORWARD)
            forward_end = i;
        for (int k = 0; k < l->n_out; k++) {
            struct mfu_tensor *t = &p->tensors[p->views[l->out[k]].tensor];

            if (t->born == MFU_FOREVER)
                t->born = i;
            if (t->last < i)
                t->last = i;
        }
        for (int k = 0; k < l->n_in; k++) {
            struct mfu_tensor *t = &p->tensors[p->views[l->in[k]].tensor];

            if (t->born == MFU_FOREVER && p->views[l->in[k]].producer < 0)
                t->born = i; /* an input of the model: no launch writes it */
            if (t->last < i)
                t->last = i;
        }
    }
    if (f->s->old_logits != MFU_NO_VIEW)
        p->tensors[p->views[f->s->old_logits].tensor].last = forward_end;
}

/* No launch has readers, or is in a group. */
static void know_nothing(struct fusion *f)
{
    for (int i = 0; i < f->p->n_launches; i++) {
        f->group_of[i] = -1;
        memset(f->first_reader[i], -1, sizeof f->first_reader[i]);
        memset(f->fate[i], UNUSED, sizeof f->fate[i]);
    }
}

/* Behind the last launch of the segment at hand; launches behind all segments are in the last. */
static int segment_end(const struct fusion *f)
{
    const struct mfu_segment *seg = &f->p->segments[f->segment];

    return f->segment + 1 < f->p->n_segments ? seg->first + seg->count : f->p->n_launches;
}

int mfu_fuse(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    size_t n = (size_t)p->n_launches;
    struct fusion f = {.s = s, .p = p, .fusible = 1u << MFU_MAP | (s->runtime->fuse_rows ? 1u << MFU_ROW : 0)};
    struct mfu_launch *old;
    int cap;
    size_t segments = 2 * (size_t)p->n_segments * sizeof *f.segment_first,
           tensors = (size_t)p->n_tensors * sizeof *f.writer;
    size_t per_launch = sizeof *f.fate + sizeof *f.group_of + sizeof *f.first_reader + sizeof *f.next_reader;
    void *scratch = malloc(n * per_launch + segments + tensors + 1);

    if (!scratch || s->failed) {
        free(scratch);
        return -1;
    }
    f.segment_first = memset(scratch, 0, segments);
    f.segment_count = f.segment_first + p->n_segments;
    f.writer = f.segment_count + p->n_segments;
    f.group_of = f.writer + p->n_tensors;
    f.first_reader = (void *)(f.group_of + n);
    f.next_reader = (void *)(f.first_reader + n);
    f.fate = (void *)(f.next_reader + n);
    know_nothing(&f);
    mark_needs(&f);
    decide(&f);
    for (int i = 0, end = segment_end(&f); i < p->n_launches; i++) {
        const struct mfu_launch *l = &p->launches[i];

        while (i >= end) {
            f.segment++;
            end = segment_end(&f);
        }
        if (fusible(&f, l)) {
            join(&f, i);
            continue;
        }
        if (l->fusion == MFU_ALONE || l->fusion == MFU_ROW || (f.open.n > 0 && f.open.segment != f.segment)
            || (l->fusion == MFU_PARAMETER && reads_open_group(&f, l)))
            close_group(&f);
        put_alone(&f, i);
    }
    close_group(&f);
    if (s->failed) {
        free(scratch);
        return -1;
    }

    old = p->launches, cap = p->cap_launches; /* swap the lists */
    p->launches = s->merged, p->cap_launches = s->cap_merged, p->n_launches = f.n_merged;
    s->merged = old, s->cap_merged = cap;
    for (int k = 0, at = 0; k < p->n_segments; k++) {
        p->segments[k].first = f.segment_count[k] ? f.segment_first[k] : at;
        p->segments[k].count = f.segment_count[k];
        at = p->segments[k].first + p->segments[k].count;
    }
    new_lifetimes(&f);
    free(scratch);
    return 0;
}
