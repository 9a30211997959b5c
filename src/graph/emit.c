/*
 * emit.c - views and launches: what a primitive's description is made of.
 */
#include <math.h>
#include <stdlib.h>
#include <stddef.h>
#include <string.h>

#include "base/hash.h"
#include "graph/builder_private.h"
#include "graph/copies.h"
#include "scenario/setting.h"

/* ---- launches between others ---------------------------------------------- */

bool mfu_rewrite_begin(struct mfu_builder *s)
{
    s->n_put = s->n_read = s->n_written = 0;
    return ROOM_FOR(s, s->moved, s->program->n_launches, s->cap_moved);
}

static struct mfu_launch *write(struct mfu_builder *s, const struct mfu_launch *l)
{
    if (!ROOM(s, s->merged, s->n_written, s->cap_merged))
        return NULL;
    return memcpy(&s->merged[s->n_written++], l, sizeof *l); /* with what is between its parts: it is compared */
}

struct mfu_launch *mfu_rewrite_put(struct mfu_builder *s, int *n, const struct mfu_launch *l)
{
    (*n)++;
    if (s->program->fold)
        return write(s, l);
    if (!ROOM(s, s->put, s->n_put, s->cap_put))
        return NULL;
    s->put[s->n_put] = (struct mfu_put){.before = s->n_read, .launch = *l};
    return &s->put[s->n_put++].launch;
}

struct mfu_launch *mfu_rewrite_move(struct mfu_builder *s, int *n, const struct mfu_segment *seg, int launch)
{
    s->n_read = launch + 1;
    s->moved[launch] = (*n)++;
    return s->program->fold ? write(s, mfu_launch_in(s->program, seg, launch)) : &s->program->launches[launch];
}

#define LOOKED_AT 8 /* copies before one, among which there may be one like it: gradients fill a bucket in one of few */

void mfu_rewrite_segment(struct mfu_builder *s, struct mfu_segment *seg, int first, int n)
{
    int count = n - first, at = s->n_written - count;

    seg->first = first;
    seg->count = count;
    if (!s->program->fold || s->failed)
        return;
    for (const struct mfu_segment *other = seg - 1;
         seg->copy > 0 && other >= seg - (seg->copy < LOOKED_AT ? seg->copy : LOOKED_AT); other--)
        if (other->count == count
            && memcmp(&s->merged[other->first + other->shift], &s->merged[at], (size_t)count * sizeof *s->merged)
                == 0) {
            s->n_written = at;
            at = other->first + other->shift;
            break;
        }
    seg->shift = at - first;
}

/* From behind, so that each old launch moves once. */
static bool spread(struct mfu_builder *s, int n)
{
    struct mfu_program *p = s->program;
    int end = p->n_launches;

    if (!ROOM_FOR(s, p->launches, n, p->cap_launches))
        return false;
    for (int i = s->n_put - 1; i >= 0; i--) {
        const struct mfu_put *put = &s->put[i];

        memmove(&p->launches[put->before + i + 1], &p->launches[put->before],
                (size_t)(end - put->before) * sizeof *p->launches);
        p->launches[put->before + i] = put->launch;
        end = put->before;
    }
    return true;
}

void mfu_rewrite_end(struct mfu_builder *s, int n, int n_tensors, int n_launches)
{
    struct mfu_program *p = s->program;

    if (p->fold) {
        free(p->launches); /* the allocator that is replayed has their room now */
        p->launches = s->merged, p->cap_launches = s->cap_merged;
        s->merged = NULL, s->cap_merged = 0;
        mfu_fold_moves(p, s->moved);
        s->moved = NULL, s->cap_moved = 0;
        p->n_launches = n;
        return;
    }
    if (!spread(s, n))
        return;
    for (int t = 0; t < n_tensors; t++) { /* of what was there before */
        struct mfu_tensor *tensor = &p->tensors[t];

        if (tensor->born >= 0 && tensor->born < n_launches)
            tensor->born = s->moved[tensor->born];
        if (tensor->last >= 0 && tensor->last < n_launches)
            tensor->last = s->moved[tensor->last];
    }
    p->n_launches = n;
}

/* ---- segments ---------------------------------------------------------- */

void mfu_segment_open(struct mfu_builder *s, const char *section, enum mfu_phase phase, double repeat)
{
    struct mfu_program *p = s->program;

    s->section = section;
    s->phase = phase;
    if (!ROOM(s, p->segments, p->n_segments, p->cap_segments))
        return;
    p->segments[p->n_segments++] = (struct mfu_segment){.section = section,
                                                        .phase = phase,
                                                        .first = p->n_launches,
                                                        .repeat = repeat,
                                                        .of = s->layer,
                                                        .first_view = p->n_views,
                                                        .first_tensor = p->n_tensors};
}

void mfu_segment_close(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;

    if (!s->failed)
        p->segments[p->n_segments - 1].count = p->n_launches - p->segments[p->n_segments - 1].first;
    s->node = -1;
}

/* ---- views -------------------------------------------------------------- */

int mfu_view_as(struct mfu_builder *s, int tensor, double rows, double columns, enum mfu_type type)
{
    struct mfu_program *p = s->program;

    if (!ROOM(s, p->views, p->n_views, p->cap_views))
        return 0;
    p->views[p->n_views] =
        (struct mfu_view){.tensor = tensor, .type = type, .rows = rows, .columns = columns, .producer = -1};
    return p->n_views++;
}

int mfu_tensor_new(struct mfu_builder *s, double rows, double columns, enum mfu_type type, enum mfu_part part)
{
    struct mfu_program *p = s->program;

    if (!ROOM(s, p->tensors, p->n_tensors, p->cap_tensors))
        return 0;
    p->tensors[p->n_tensors] = (struct mfu_tensor){.bytes = mfu_block_bytes(rows * columns * mfu_type_bytes[type]),
                                                   .born = p->n_launches,
                                                   .last = p->n_launches,
                                                   .part = part,
                                                   .view = p->n_views};
    return mfu_view_as(s, p->n_tensors++, rows, columns, type);
}

int mfu_view_slice(struct mfu_builder *s, int view, double rows, double columns)
{
    struct mfu_view v = s->program->views[view];
    int part = mfu_view_as(s, v.tensor, rows, columns, v.type);

    s->program->views[part].producer = v.producer;
    s->program->views[part].slot = v.slot;
    return part;
}

void mfu_tensor_extend(struct mfu_builder *s, int view)
{
    struct mfu_tensor *t;

    if (view == MFU_NO_VIEW)
        return;
    t = mfu_tensor_of(s, view);
    s->extends_early |= s->program->segments[s->program->n_segments - 1].first == s->program->n_launches;
    if (t->last < s->program->n_launches - 1)
        t->last = s->program->n_launches - 1;
}

int mfu_tensor_loaded(struct mfu_builder *s, double rows, double columns, bool resized)
{
    int view = mfu_tensor_new(s, rows, columns, s->numerics.weight, MFU_PART_ACTIVATIONS);

    if (resized) {
        MFU_EMIT(s, MFU_LIST(s->n_loaded, s->loaded), MFU_VIEWS(view), .suffix = "resize", .kind = MFU_COPY,
                 .traffic = MFU_C_DRAM_IRREGULAR);
        return view;
    }
    s->loaded_bytes += rows * columns * mfu_type_bytes[s->numerics.weight]; /* the next micro-batch */
    if (s->n_loaded < MFU_INPUTS)
        s->loaded[s->n_loaded++] = view;
    return view;
}

void mfu_tensor_retain(struct mfu_builder *s, int view)
{
    mfu_tensor_of(s, view)->last = MFU_FOREVER;
}

/* ---- launches ----------------------------------------------------------- */

#define ENDS 1024 /* that are asked for at once */

int *mfu_ends_new(struct mfu_builder *s, int n)
{
    if (n > s->n_ends || !s->ends) {
        s->n_ends = n > ENDS ? n : ENDS;
        s->ends = mfu_arena_alloc(&s->program->room, (size_t)s->n_ends, sizeof *s->ends);
        if (!s->ends) {
            s->n_ends = 0;
            s->failed = true;
            return NULL;
        }
    }
    s->n_ends -= n;
    s->ends += n;
    return s->ends - n;
}

const struct mfu_work *mfu_work_of(struct mfu_builder *s, const struct mfu_work *w)
{
    static const struct mfu_work none;
    struct mfu_program *p = s->program;
    const struct mfu_kernel *k = &w->kernel;
    uint64_t sum = mfu_hash_bits(k->read_bytes) * 3 + mfu_hash_bits(k->write_bytes) * 5 + mfu_hash_bits(k->n) * 7
        + mfu_hash_bits(k->flops) * 9 + mfu_hash_bits(w->gradient_elements) + k->kind;
    int *newest = &s->newest_work[mfu_hash_fold(sum, MFU_WORK_BITS)];
    struct mfu_work *made;

    for (int i = *newest; i > 0; i = p->works[i - 1]->older)
        if (memcmp(p->works[i - 1], w, offsetof(struct mfu_work, number)) == 0)
            return p->works[i - 1];
    made = mfu_arena_alloc(&p->room, 1, sizeof *made);
    if (!made || !ROOM(s, p->works, p->n_works, p->cap_works)) {
        s->failed = true;
        return &none;
    }
    *made = *w;
    made->number = p->n_works;
    made->older = *newest;
    p->works[p->n_works++] = made;
    *newest = p->n_works;
    return made;
}

struct mfu_launch *mfu_latest_launch(struct mfu_builder *s)
{
    return &s->program->launches[s->program->n_launches - 1];
}

/* Whether each tensor rank computes all of it; an adapter is as its product. */
static bool same_at_ranks(const struct mfu_builder *s, const struct mfu_node *n)
{
    ptrdiff_t i = n->op == &s->received ? 0 : (n->op - s->operations) % MFU_MAX_OPS;

    return s->config->setting[MFU_S_TP] > 1 && s->config->setting[MFU_S_SP] == 0 && n->op != &s->received
        && (mfu_is(n->op, MFU_ROUTES) || !s->routed[i]) && s->split[i] == MFU_SPLIT_NONE;
}

static struct mfu_launch *append(struct mfu_builder *s, const char *suffix, int n_in, const int *in, int n_out,
                                 const int *out)
{
    struct mfu_program *p = s->program;
    struct mfu_launch *l;

    int *ends = mfu_ends_new(s, n_in + n_out);

    if (!ends || !ROOM(s, p->launches, p->n_launches, p->cap_launches))
        return NULL;
    l = &p->launches[p->n_launches];
    memset(l, 0, sizeof *l);
    l->in = ends;
    l->out = ends + n_in;
    l->section = s->section;
    l->op = s->node >= 0 ? s->nodes[s->node].op->name : "";
    l->routed = s->node >= 0 && mfu_is_routed(s, &s->nodes[s->node]);
    l->same = s->node >= 0 && same_at_ranks(s, &s->nodes[s->node]);
    l->suffix = suffix;
    l->phase = s->phase;
    l->recomputed = s->recomputing;
    l->in_layer = s->program->n_segments > 0 && s->program->segments[s->program->n_segments - 1].layer;
    l->reference = s->referring;
    l->apart = s->apart;
    l->wait_behind = -1;
    for (int i = 0; i < n_in && l->n_in < MFU_LAUNCH_IN; i++)
        if (in[i] != MFU_NO_VIEW) {
            struct mfu_tensor *t = mfu_tensor_of(s, in[i]);

            l->in[l->n_in++] = in[i];
            if (t->last < p->n_launches)
                t->last = p->n_launches;
        }
    for (int i = 0; i < n_out && l->n_out < MFU_LAUNCH_OUT; i++)
        if (out[i] != MFU_NO_VIEW) {
            struct mfu_tensor *t = mfu_tensor_of(s, out[i]);
            int slot = l->n_out;

            for (int k = 0; k < l->n_out && slot == l->n_out; k++) /* the first of that tensor */
                if (mfu_tensor_of(s, l->out[k]) == t)
                    slot = k;
            l->out[l->n_out++] = out[i];
            p->views[out[i]].producer = p->n_launches;
            p->views[out[i]].slot = slot;
            if (t->last < p->n_launches)
                t->last = p->n_launches;
        }
    p->n_launches++;
    return l;
}

/* Whether eager PyTorch runs the kernel beside compiled layers, or what surrounds a package's kernels (torchtitan 9dec370a of December 2024,
 * parallelisms/parallelize_llama.py: apply_compile; train.py: "compiling loss function causes CUDA errors, turning off
 * for now", until bbb1b616 of April 2025). */
static bool stays_eager(const struct mfu_builder *s, const struct mfu_launch *l, enum mfu_fusion fusion)
{
    bool loss = s->node >= 0 && mfu_is(s->nodes[s->node].op, MFU_ENDS_IN_LOSS);

    return s->eager_outside && (!l->in_layer || (fusion == MFU_MAP && mfu_config_plain_core(s->config)))
        && l->phase != MFU_OPTIMIZER_PHASE && (!loss || s->eager_loss);
}

/* Adds the bytes of some views to `all`, and to `half` those that are moved in half as wide loads as fp32 would be. */
static void add_bytes(const struct mfu_builder *s, bool narrow, int n, const int *views, double *all, double *half)
{
    for (int i = 0; i < n; i++) {
        const struct mfu_view *v = &s->program->views[views[i]];
        double one = mfu_type_bytes[v->type], bytes = v->rows * v->columns * one;

        *all += bytes;
        *half += one == 2 && narrow ? bytes : 0;
    }
}

void mfu_emit(struct mfu_builder *s, const struct mfu_emission *e, int n_in, const int *in, int n_out, const int *out)
{
    struct mfu_launch *l = append(s, e->suffix ? e->suffix : "", n_in, in, n_out, out);
    struct mfu_work w;
    double read = e->extra_read_bytes, write = 0, half = 0, rows = 0, columns = 0, times = 1;
    int shape = MFU_NO_VIEW;
    bool eager;

    if (!l)
        return;
    eager = stays_eager(s, l, e->fusion);
    add_bytes(s, eager || s->runtime->narrow_loads, l->n_in, l->in, &read, &half);
    add_bytes(s, eager || s->runtime->narrow_loads, l->n_out, l->out, &write, &half);
    if (l->n_in)
        shape = l->in[0];
    if (l->n_out && !(l->n_in && e->fusion == MFU_COLUMN))
        shape = l->out[0];
    if (shape != MFU_NO_VIEW) {
        /* A row that is reduced to a number is as long as it is read. */
        if (e->fusion == MFU_ROW && l->n_in
            && mfu_compare(s, mfu_view_columns(s, l->in[0]), mfu_view_columns(s, shape)) > 0)
            shape = l->in[0];
        rows = mfu_view_rows(s, shape);
        columns = mfu_view_columns(s, shape);
    }
    if (s->node >= 0 && s->phase != MFU_OPTIMIZER_PHASE && l->op[0])
        times = mfu_is(s->nodes[s->node].op, MFU_MULTIPLIES) ? 1 : mfu_logits_chunks(s, &s->nodes[s->node]);
    memset(&w, 0, sizeof w); /* it is compared as a whole */
    mfu_kernel_set_stream(&w.kernel, e->kind, e->traffic ? e->traffic : MFU_C_DRAM_POINTWISE, rows, columns,
                          times * e->flops, times * read, times * write);
    w.kernel.half_share = half > 0 ? half / (read + write) : 0;
    w.half_bytes = half;
    w.half_of_bytes = read + write;
    w.kernel.reread_bytes = times * e->reread_bytes;
    w.kernel.launches = times * (e->launches > 0 ? e->launches : 1);
    w.kernel.cold = e->fusion == MFU_PARAMETER || mfu_kinds[e->kind].cold;
    w.extra_read_bytes = e->extra_read_bytes;
    w.temporary_bytes = e->temporary_bytes;
    l->work = mfu_work_of(s, &w);
    l->fusion = s->apart || (e->fusion != MFU_PARAMETER && eager) ? MFU_ALONE : e->fusion;
    l->random = e->random;
    l->cast = e->cast;
}

void mfu_emit_kernel(struct mfu_builder *s, const struct mfu_kernel *k, const char *suffix, double temporary_bytes,
                     int n_in, const int *in, int n_out, const int *out)
{
    struct mfu_launch *l = append(s, suffix, n_in, in, n_out, out);

    if (!l)
        return;
    l->work = mfu_work_of(s, &(struct mfu_work){.kernel = *k, .temporary_bytes = temporary_bytes});
    l->fusion = MFU_ALONE;
}

double mfu_routed_rows(const struct mfu_builder *s, double top_k)
{
    return top_k * s->config->experts.fill;
}

#define ROUNDING 1e-12

double mfu_strided_rows(const struct mfu_builder *s, double rows, double stride, bool whole)
{
    double each = rows / s->config->batch, edge = sqrt(each), step = sqrt(stride);

    if (edge == floor(edge) && step == floor(step))
        return s->config->batch * pow(whole ? floor(edge / step) : ceil(edge / step), 2);
    /* a stride that is a ratio of maps gives the other one but for rounding */
    return each == floor(each) ? s->config->batch * ceil(each / stride * (1 - ROUNDING)) : ceil(rows / stride);
}

void mfu_emit_collective(struct mfu_builder *s, enum mfu_collective_kind op, unsigned axes, double bytes, double calls,
                         int in, int out)
{
    struct mfu_launch *l = append(s, mfu_collective_names[op], 1, &in, 1, &out);
    struct mfu_work w = {.collective = {.axes = axes, .kind = op, .bytes = bytes}};

    if (!l)
        return;
    w.kernel = mfu_kernel_stream(MFU_COLLECTIVE, MFU_C_DRAM_POINTWISE, 1, bytes, 0, calls * bytes, 0);
    w.kernel.launches = calls;
    l->work = mfu_work_of(s, &w);
    l->fusion = MFU_ALONE;
    l->communicates = true;
}

static enum mfu_part part_like(struct mfu_builder *s, int view)
{
    return mfu_tensor_of(s, view)->part;
}

static int map(struct mfu_builder *s, const char *suffix, enum mfu_type type, double flops_per_element, int a, int b,
               int c, enum mfu_coefficient traffic)
{
    double rows = mfu_view_rows(s, a), columns = mfu_view_columns(s, a);
    int in[] = {a, b, c}, out = mfu_tensor_new(s, rows, columns, type, part_like(s, a));

    MFU_EMIT(s, MFU_LIST(3, in), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_POINTWISE, .traffic = traffic,
             .fusion = MFU_MAP, .flops = flops_per_element * rows * columns);
    return out;
}

int mfu_emit_pointwise(struct mfu_builder *s, const char *suffix, enum mfu_type type, double flops_per_element, int a,
                       int b, int c)
{
    return map(s, suffix, type, flops_per_element, a, b, c, MFU_C_DRAM_POINTWISE);
}

int mfu_emit_map(struct mfu_builder *s, const char *suffix, double flops_per_element, int a, int b)
{
    bool wide = mfu_view_type(s, a) == MFU_F32 || (b != MFU_NO_VIEW && mfu_view_type(s, b) == MFU_F32);

    return mfu_emit_pointwise(s, suffix, wide ? MFU_F32 : mfu_view_type(s, a), flops_per_element, a, b, MFU_NO_VIEW);
}

int mfu_emit_broadcast(struct mfu_builder *s, const char *suffix, enum mfu_type type, double flops_per_element, int a,
                       int b)
{
    return map(s, suffix, type, flops_per_element, a, b, MFU_NO_VIEW, MFU_C_DRAM_IRREGULAR);
}

int mfu_emit_dropout(struct mfu_builder *s, const char *suffix, int view, int *mask)
{
    double rows = mfu_view_rows(s, view), columns = mfu_view_columns(s, view);
    int out[] = {mfu_tensor_new(s, rows, columns, mfu_view_type(s, view), MFU_PART_ACTIVATIONS),
                 mfu_tensor_new(s, rows, columns, MFU_U8, MFU_PART_ACTIVATIONS)};

    *mask = out[1];
    MFU_EMIT(s, MFU_VIEWS(view), MFU_LIST(2, out), .suffix = suffix, .kind = MFU_POINTWISE,
             .traffic = MFU_C_DRAM_DROPOUT, .fusion = MFU_MAP, .random = true, .flops = 3 * rows * columns);
    return out[0];
}

int mfu_emit_columns_sum(struct mfu_builder *s, const char *suffix, int view, double elements, enum mfu_type type)
{
    int out = mfu_tensor_new(s, 1, elements, type, MFU_PART_GRADIENTS);

    MFU_EMIT(s, MFU_VIEWS(view), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_REDUCTION,
             .traffic = MFU_C_DRAM_REDUCTION, .fusion = MFU_COLUMN, .flops = mfu_view_elements(s, view));
    return out;
}

/* An equal cast made a few launches ago in this phase, for runtimes that see
 * that it is the same; NULL: none. */
static const struct mfu_launch *same_cast(const struct mfu_builder *s, int view, enum mfu_type type)
{
    const struct mfu_program *p = s->program;
    int from = p->n_launches > MFU_SEEN_CASTS ? p->n_launches - MFU_SEEN_CASTS : 0;

    for (int i = p->n_launches - 1; s->runtime->one_cast && i >= from; i--) {
        const struct mfu_launch *l = &p->launches[i];

        if (l->cast && l->phase == s->phase && l->in[0] == view && p->views[l->out[0]].type == type)
            return l;
    }
    return NULL;
}

void mfu_emit_copy(struct mfu_builder *s, const char *suffix, double launches, int n_in, const int *in, int out)
{
    MFU_EMIT(s, MFU_LIST(n_in, in), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_COPY, .traffic = MFU_C_DRAM_IRREGULAR,
             .fusion = MFU_MAP, .launches = launches);
}

int mfu_emit_laid(struct mfu_builder *s, const char *suffix, double launches, double rows, double columns, int n_in,
                  const int *in)
{
    int out = mfu_tensor_new(s, rows, columns, mfu_view_type(s, in[0]), MFU_PART_ACTIVATIONS);

    mfu_emit_copy(s, suffix, launches, n_in, in, out);
    return out;
}

int mfu_emit_rows(struct mfu_builder *s, const char *suffix, double rows, int a, int b)
{
    int in[] = {a, b};

    return mfu_emit_laid(s, suffix, 1, rows, mfu_view_columns(s, a), b == MFU_NO_VIEW ? 1 : 2, in);
}

int mfu_emit_gather(struct mfu_builder *s, double rows, double width, enum mfu_type type)
{
    int out = mfu_tensor_new(s, rows, width, type, MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(out), .kind = MFU_EMBEDDING, .traffic = MFU_C_DRAM_EMBEDDING, .fusion = MFU_MAP,
             .random = true, /* never gathered again */ .extra_read_bytes =
                                 rows * (width * mfu_type_bytes[s->numerics.weight] + mfu_type_bytes[MFU_I64]));
    return out;
}

void mfu_emit_scatter(struct mfu_builder *s, double indices, int gradient, int table)
{
    MFU_EMIT(s, MFU_VIEWS(gradient), MFU_VIEWS(table), .suffix = "grad", .kind = MFU_EMBEDDING,
             .traffic = MFU_C_DRAM_EMBEDDING, .temporary_bytes = 4 * mfu_type_bytes[MFU_I64] * indices, .launches = 6,
             .flops = mfu_view_elements(s, gradient));
}

int mfu_emit_cast_as(struct mfu_builder *s, int view, enum mfu_type type, enum mfu_part part, enum mfu_fusion fusion)
{
    const struct mfu_launch *same = same_cast(s, view, type);
    int out;

    if (same)
        return same->out[0];
    out = mfu_tensor_new(s, mfu_view_rows(s, view), mfu_view_columns(s, view), type, part);
    MFU_EMIT(s, MFU_VIEWS(view), MFU_VIEWS(out), .suffix = "cast", .kind = MFU_CAST, .fusion = fusion, .cast = true);
    return out;
}

int mfu_emit_cast(struct mfu_builder *s, int view, enum mfu_type type)
{
    if (mfu_view_type(s, view) == type)
        return view;
    return mfu_emit_cast_as(s, view, type, part_like(s, view), MFU_MAP);
}

static void quantise(struct mfu_builder *s, const char *suffix, int view, enum mfu_part part, enum mfu_fusion fusion,
                     bool both, int copies[2])
{
    const struct mfu_precision_row *row = &mfu_precisions[s->config->precision];
    double rows = mfu_view_rows(s, view), columns = mfu_view_columns(s, view);
    const struct mfu_launch *same = same_cast(s, view, s->numerics.operand);
    double experts = s->node >= 0 && mfu_config_experts_apart(s->config) ? mfu_experts_of(s->nodes[s->node].op) : 0;
    int n = s->numerics.transposes && both ? 2 : 1;

    if (same && same->n_out >= n) { /* of the projections that read one input */
        copies[0] = same->out[0];
        copies[1] = same->out[n - 1];
        return;
    }
    copies[1] = copies[0] = mfu_tensor_new(s, rows, columns, s->numerics.operand, part);
    if (n > 1)
        copies[1] = mfu_tensor_new(s, rows, columns, s->numerics.operand, part);
    MFU_EMIT(s, MFU_VIEWS(view), MFU_LIST(n, copies), .suffix = suffix, .kind = MFU_CAST, .fusion = fusion,
             .flops = (1 + row->scans) * rows * columns, .extra_read_bytes = row->scans * mfu_view_bytes(s, view),
             .launches = row->kernels * fmax(1, experts),
             /* (TransformerEngine d0067d0, csrc/extensions/cast.cpp: multi_tensor_quantize_impl) */ .cast = true);
}

bool mfu_quantises(const struct mfu_builder *s, const struct mfu_node *n)
{
    return s->numerics.quantises && !mfu_makes_logits(s, n);
}

void mfu_emit_quantise(struct mfu_builder *s, const char *suffix, int view, bool both, int copies[2])
{
    quantise(s, suffix, view, MFU_PART_OTHER, MFU_ALONE, both, copies);
}

/* Of a weight that lies quantised only the copy by columns is made (TransformerEngine d0067d0d,
 * pytorch/tensor/utils.py, post_all_gather_processing). */
static void transpose(struct mfu_builder *s, int weight, int copies[2])
{
    copies[0] = MFU_NO_VIEW;
    copies[1] = mfu_tensor_new(s, 1, mfu_view_columns(s, weight), s->numerics.operand, MFU_PART_WEIGHT_CASTS);
    MFU_EMIT(s, MFU_VIEWS(weight), MFU_VIEWS(copies[1]), .suffix = "transpose_weight", .kind = MFU_COPY,
             .fusion = MFU_PARAMETER);
}

/* What is emitted last serves all micro-steps. */
static void emitted_once(struct mfu_builder *s)
{
    struct mfu_launch *l;
    struct mfu_work w;

    if (!s->runtime->keeps_quantised || s->failed)
        return;
    l = mfu_latest_launch(s);
    w = *l->work;
    mfu_work_once(&w, MFU_FIRST_MICRO_STEP, s->config->accum);
    l->work = mfu_work_of(s, &w);
}

/* Both copies of a weight that lies in no others, from the 16 bits that were gathered into the buffer of the gradients
 * (Megatron-LM d98e8a64, core/optimizer/distrib_optimizer.py: reuse_grad_buf_for_mxfp8_param_ag); what is written is counted
 * as read. */
static void fill_both(struct mfu_builder *s, struct mfu_parameter *p)
{
    if (p->cast != MFU_NO_VIEW)
        return;
    p->cast = mfu_view_as(s, 0, 1, p->elements, s->numerics.weight); /* tensor 0: all weights */
    MFU_EMIT(s, MFU_VIEWS(p->cast), MFU_NO_VIEWS, .suffix = "quantise_weight", .kind = MFU_CAST,
             .fusion = MFU_PARAMETER, .flops = p->elements, .extra_read_bytes = p->elements * mfu_type_bytes[p->type],
             .launches = mfu_precisions[s->config->precision].kernels, .cast = true);
    emitted_once(s);
}

void mfu_node_weight_quantised(struct mfu_builder *s, struct mfu_node *n, int copies[2])
{
    struct mfu_parameter *p = &s->parameters[n->parameter[0]];
    bool held = p->type == s->numerics.operand;
    int weight;

    if (p->type == MFU_F8_BOTH)
        fill_both(s, p);
    if (p->type == MFU_F8_BOTH || (held && !s->numerics.transposes)) {
        copies[0] = copies[1] = MFU_NO_VIEW; /* used where it lies */
        return;
    }
    if (p->cast == MFU_NO_VIEW) {
        weight = mfu_view_as(s, 0, 1, p->elements, p->type); /* tensor 0: all weights */
        if (held)
            transpose(s, weight, p->quantised);
        else
            quantise(s, "quantise_weight", weight, MFU_PART_WEIGHT_CASTS, MFU_PARAMETER, true, p->quantised);
        p->cast = p->quantised[1];
        emitted_once(s);
    }
    copies[0] = p->quantised[0];
    copies[1] = p->quantised[1];
}

int mfu_autocast(struct mfu_builder *s, int view)
{
    return mfu_emit_cast(s, view, s->numerics.compute);
}

void mfu_gemm_align(struct mfu_builder *s, struct mfu_kernel *gemm)
{
    if (gemm->aligned || !s->runtime->pads_matmuls)
        return;
    gemm->aligned = true; /* one more copy of the smaller operands */
    gemm->read_bytes +=
        2 * (mfu_compare(s, gemm->read_bytes, gemm->write_bytes) < 0 ? gemm->read_bytes : gemm->write_bytes);
    gemm->launches += 1;
}

static int product(struct mfu_builder *s, const char *suffix, struct mfu_kernel gemm, int a, int b, int out)
{
    int in[] = {a, b};

    mfu_gemm_align(s, &gemm);
    mfu_emit_kernel(s, &gemm, suffix, 0, 2, in, 1, &out);
    return out;
}

int mfu_emit_matmul(struct mfu_builder *s, const char *suffix, enum mfu_peak math, double m, double n, double k,
                    double batch, int a, int b, int out)
{
    return product(s, suffix,
                   mfu_kernel_gemm(math, m, n, k, batch, mfu_type_bytes[mfu_view_type(s, a)],
                                   mfu_type_bytes[mfu_view_type(s, out)], false),
                   a, b, out);
}

int mfu_emit_weight_gradient(struct mfu_builder *s, const char *suffix, enum mfu_peak math, double m, double n,
                             double k, double batch, int a, int b, int out)
{
    return product(s, suffix,
                   mfu_kernel_weight_gradient(math, m, n, k, batch, mfu_type_bytes[mfu_view_type(s, a)],
                                              mfu_type_bytes[mfu_view_type(s, out)], false),
                   a, b, out);
}
