/*
 * lifetime.c - walks through the program with the levels of memory.
 */
#include "graph/lifetime.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static double constant(const struct mfu_program *p)
{
    double bytes = 0;

    for (int i = 0; i < MFU_PART_COUNT; i++)
        bytes += p->constant_bytes[i];
    for (int t = 0; t < p->n_tensors; t++)
        if (p->tensors[t].born == MFU_NEVER)
            bytes += p->tensors[t].bytes;
    return bytes;
}

/* How often launch `at` has happened before (for deaths) or by (for births)
 * the moment; `inclusive` counts the moment's own launch. */
static double times(const struct mfu_program *p, const int *segment_of, int at, const struct mfu_peak_memory *m,
                    bool inclusive)
{
    int segment;

    if (at < 0)
        return 1;
    if (at >= p->n_launches)
        return 0;
    segment = segment_of[at];
    if (segment < m->segment)
        return p->segments[segment].repeat;
    if (segment > m->segment)
        return 0;
    return m->repetition + (inclusive ? at <= m->launch : at < m->launch);
}

static void number_segments(const struct mfu_program *p, int *segment_of)
{
    for (int k = 0; k < p->n_segments; k++)
        for (int i = 0; i < p->segments[k].count; i++)
            segment_of[p->segments[k].first + i] = k;
}

static double copies(const struct mfu_program *p, const int *segment_of, int tensor, const struct mfu_peak_memory *m)
{
    const struct mfu_tensor *t = &p->tensors[tensor];

    return times(p, segment_of, t->born, m, true)
        - (t->last == MFU_FOREVER ? 0 : times(p, segment_of, t->last, m, false));
}

/* What a launch of forward finds missing of what is constant: the next batch, but the last one, behind which it is loaded. */
static double not_loaded(const struct mfu_program *p, int segment, int launch)
{
    bool last = segment + 1 == p->n_segments || p->segments[segment + 1].phase != MFU_FORWARD;

    return p->segments[segment].phase != MFU_FORWARD
            || (last && launch == p->segments[segment].first + p->segments[segment].count - 1)
        ? 0
        : p->next_batch_bytes;
}

int mfu_lifetime_peak(const struct mfu_program *p, bool of_passes, struct mfu_peak_memory *m)
{
    int n = p->n_launches, *segment_of;
    double *up = malloc(((size_t)n + 1) * (2 * sizeof *up + sizeof *segment_of)), *down;
    double level = constant(p);

    *m = (struct mfu_peak_memory){.segment = 0, .launch = -1};
    if (!up)
        return -1;
    down = up + n;
    segment_of = (int *)(down + n);
    memset(up, 0, (size_t)(2 * n) * sizeof *up);
    m->bytes = level - (p->n_segments > 0 && p->segments[0].phase == MFU_FORWARD ? p->next_batch_bytes : 0);
    for (int t = 0; t < p->n_tensors; t++) {
        const struct mfu_tensor *x = &p->tensors[t];

        if (x->born >= 0 && x->born < n)
            up[x->born] += x->bytes;
        if (x->last >= 0 && x->last < n && x->born < n)
            down[x->last] += x->bytes;
    }
    number_segments(p, segment_of);
    for (int k = 0; k < p->n_segments; k++) {
        const struct mfu_segment *seg = &p->segments[k];
        double start = level, highest = -1;
        int where = -1;

        for (int i = seg->first; i < seg->first + seg->count; i++) {
            double there = level + up[i] - not_loaded(p, k, i) + p->launches[i].work->temporary_bytes;

            level += up[i];
            if (there > highest) {
                highest = there;
                where = i;
            }
            level -= down[i];
        }
        if (where >= 0) {
            double growth = level - start, last = (seg->repeat - 1) * fmax(growth, 0);

            if (highest + last > m->bytes && !(of_passes && seg->phase == MFU_OPTIMIZER_PHASE)) {
                m->bytes = highest + last;
                m->segment = k;
                m->launch = where;
                m->repetition = growth > 0 ? seg->repeat - 1 : 0;
            }
            if (seg->phase == MFU_FORWARD)
                m->forward_peak_bytes = fmax(m->forward_peak_bytes, highest + last);
            if (seg->phase == MFU_OPTIMIZER_PHASE)
                m->optimizer_peak_bytes = fmax(m->optimizer_peak_bytes, highest + last);
            level = start + seg->repeat * growth;
        }
        if (seg->phase == MFU_BACKWARD)
            m->end_bytes = level;
    }
    for (int i = 0; i < MFU_PART_COUNT; i++)
        m->parts[i] = p->constant_bytes[i];
    if (p->n_segments > 0)
        m->parts[MFU_PART_ACTIVATIONS] -= not_loaded(p, m->segment, m->launch);
    for (int t = 0; t < p->n_tensors; t++)
        if (p->tensors[t].born != MFU_FOREVER)
            m->parts[p->tensors[t].part] += copies(p, segment_of, t, m) * p->tensors[t].bytes;
    if (m->launch >= 0)
        m->parts[MFU_PART_WORKSPACE] += p->launches[m->launch].work->temporary_bytes;
    free(up);
    return 0;
}

int mfu_alive_larger(const void *a, const void *b)
{
    const struct mfu_alive *x = a, *y = b;
    double d = fabs(y->bytes * y->copies) - fabs(x->bytes * x->copies);

    return d > 0 ? 1 : d < 0 ? -1 : 0;
}

int mfu_lifetime_alive(const struct mfu_program *p, const struct mfu_peak_memory *m, struct mfu_alive *alive,
                       size_t max)
{
    int *segment_of = calloc((size_t)p->n_launches + 1, sizeof *segment_of);
    struct mfu_alive *all = calloc((size_t)p->n_tensors + 1, sizeof *all);
    bool failed = !segment_of || !all;
    size_t n = 0;

    if (!failed) {
        number_segments(p, segment_of);
        for (int t = 1; t < p->n_tensors; t++) {
            const struct mfu_tensor *x = &p->tensors[t];
            const struct mfu_launch *maker = x->born >= 0 && x->born < p->n_launches ? &p->launches[x->born] : NULL;
            double c = x->born == MFU_FOREVER ? 0 : copies(p, segment_of, t, m);

            if (c == 0 || x->bytes < 1)
                continue;
            all[n++] = (struct mfu_alive){.name_section = maker ? maker->section : "",
                                          .name_op = maker ? maker->op : "logits of the step before",
                                          .name_suffix = maker ? maker->suffix : "",
                                          .phase = maker ? maker->phase : MFU_FORWARD,
                                          .part = x->part,
                                          .bytes = x->bytes,
                                          .copies = c};
        }
        qsort(all, n, sizeof *all, mfu_alive_larger);
        if (n > max)
            n = max;
        memcpy(alive, all, n * sizeof *all);
    }
    free(all);
    free(segment_of);
    return failed ? -1 : (int)n;
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

static const struct mfu_segment *segment_of(const struct mfu_program *p, int launch)
{
    const struct mfu_segment *seg = p->segments;

    while (launch >= seg->first + seg->count)
        seg++;
    return seg;
}

struct mfu_saved mfu_saved_by_place(const struct mfu_program *p)
{
    struct mfu_saved all = {.layers = 2 * mfu_type_bytes[MFU_I64] * p->tokens}; /* indices and targets */
    const struct mfu_segment *layer = NULL;                                     /* the first */
    int end = 0;

    for (int i = 0; i < p->n_segments; i++)
        if (p->segments[i].phase == MFU_FORWARD) {
            end = p->segments[i].first + p->segments[i].count;
            layer = !layer && p->segments[i].layer ? &p->segments[i] : layer;
        }
    /* What one layer makes and the next one lets go of, as often as either happens. */
    for (int t = 1; t < p->n_tensors; t++) {
        const struct mfu_tensor *x = &p->tensors[t];
        const struct mfu_segment *made;

        if (x->part == MFU_PART_COMMUNICATION || x->born < 0 || x->born >= end
            || p->launches[x->born].work->when == MFU_FIRST_MICRO_STEP /* serves them all */
            || (x->part == MFU_PART_WEIGHT_CASTS && x->last < end)     /* made in a layer, let go of behind all */
            || (x->last == MFU_FOREVER && !read_later(p, t, end)))
            continue;
        made = segment_of(p, x->born);
        *(made->layer                 ? &all.layers
              : layer && made > layer ? &all.behind
                                      : &all.before) +=
            x->bytes * (made->repeat - (x->last < end ? segment_of(p, x->last)->repeat : 0));
    }
    return all;
}

double mfu_saved_bytes(const struct mfu_program *p)
{
    struct mfu_saved all = mfu_saved_by_place(p);

    return all.layers + all.before + all.behind;
}
