/*
 * scale.c - sizes as functions of the micro-batch.
 */
#include "graph/scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "graph/graph.h"

/* A size at its place in the program at hand, or a noted difference. */
struct mfu_line {
    double *at; /* NULL: the fact of this number */
    int fact;
    bool keeps_sign; /* a difference: as it is now */
    double base, slope;
    double most; /* up to which sums are exact */
};

/* What of a launch follows the batch; the rest of it is in same_launch(). */
#define AT(member) offsetof(struct mfu_launch, member)
static const size_t sizes[] = {
    AT(kernel.m),          AT(kernel.n),          AT(kernel.k),           AT(kernel.batch),        AT(kernel.pairs),
    AT(kernel.flops),      AT(kernel.read_bytes), AT(kernel.write_bytes), AT(kernel.reread_bytes), AT(kernel.launches),
    AT(gradient_elements), AT(accumulated_bytes), AT(extra_read_bytes),   AT(temporary_bytes),     AT(half_bytes),
    AT(half_of_bytes),     AT(whole.flops),       AT(whole.read_bytes),   AT(whole.write_bytes),   AT(whole.launches),
    AT(collective.bytes),
};
#define N_SIZES ((int)(sizeof sizes / sizeof sizes[0]))

/* The doubles at the end of a program. */
#define FACTS(p) (&(p)->constant_bytes[0])
#define N_FACTS                                                                                                        \
    ((int)((offsetof(struct mfu_program, tokens) - offsetof(struct mfu_program, constant_bytes)) / sizeof(double)) + 1)

static double *size_of(struct mfu_launch *l, int i)
{
    return (double *)((char *)l + sizes[i]);
}

static bool same_kernel(const struct mfu_kernel *a, const struct mfu_kernel *b)
{
    return a->kind == b->kind && a->math == b->math && a->traffic == b->traffic && a->attention == b->attention
        && a->backward == b->backward && a->causal == b->causal && a->cold == b->cold && a->aligned == b->aligned;
}

static bool same_launch(const struct mfu_launch *a, const struct mfu_launch *b)
{
    return same_kernel(&a->kernel, &b->kernel) && a->section == b->section && a->op == b->op && a->suffix == b->suffix
        && a->phase == b->phase && a->fusion == b->fusion && a->random == b->random && a->cast == b->cast
        && a->recomputed == b->recomputed && a->n_in == b->n_in && a->n_out == b->n_out
        && a->communicates == b->communicates && a->stream == b->stream && a->wait_stream == b->wait_stream
        && a->wait_behind == b->wait_behind && a->when == b->when && a->collective.axes == b->collective.axes
        && a->collective.kind == b->collective.kind && a->beside == b->beside && a->beside_share == b->beside_share
        && memcmp(a->in, b->in, (size_t)a->n_in * sizeof *a->in) == 0
        && memcmp(a->out, b->out, (size_t)a->n_out * sizeof *a->out) == 0;
}
_Static_assert(sizeof(void *) != 8 || (sizeof(struct mfu_launch) == 400 && sizeof(struct mfu_kernel) == 112),
               "a new field is a size, or belongs in same_launch()");

static bool same_form(const struct mfu_program *a, const struct mfu_program *b)
{
    bool same = a->n_launches == b->n_launches && a->n_tensors == b->n_tensors && a->n_views == b->n_views
        && a->n_segments == b->n_segments && a->n_weights == b->n_weights && a->n_compared == b->n_compared;

    for (int i = 0; same && i < a->n_launches; i++)
        same = same_launch(&a->launches[i], &b->launches[i]);
    for (int i = 0; same && i < a->n_tensors; i++)
        same = a->tensors[i].born == b->tensors[i].born && a->tensors[i].last == b->tensors[i].last
            && a->tensors[i].part == b->tensors[i].part && a->tensors[i].view == b->tensors[i].view;
    for (int i = 0; same && i < a->n_views; i++)
        same = a->views[i].tensor == b->views[i].tensor && a->views[i].type == b->views[i].type;
    for (int i = 0; same && i < a->n_segments; i++)
        same = a->segments[i].section == b->segments[i].section && a->segments[i].phase == b->segments[i].phase
            && a->segments[i].first == b->segments[i].first && a->segments[i].count == b->segments[i].count
            && a->segments[i].repeat == b->segments[i].repeat && a->segments[i].layer == b->segments[i].layer;
    for (int i = 0; same && i < a->n_weights; i++)
        same = a->weights[i].elements == b->weights[i].elements;
    for (int i = 0; same && i < a->n_compared; i++)
        same = (a->compared[i] > 0) == (b->compared[i] > 0) && (a->compared[i] < 0) == (b->compared[i] < 0);
    return same;
}

static double elements(const struct mfu_program *p, int tensor)
{
    const struct mfu_view *v = &p->views[p->tensors[tensor].view];

    return v->rows * v->columns;
}

static double tensor_bytes(const struct mfu_program *p, int tensor)
{
    return mfu_block_bytes(elements(p, tensor) * mfu_type_bytes[p->views[p->tensors[tensor].view].type]);
}

static bool is_whole(double x)
{
    return x == floor(x);
}

/* A size that is a whole multiple of this keeps all its digits up to WHOLE times as much. */
#define PART 0x1p-10
#define WHOLE 0x1p53

/* The line through a size before and now; false if it cannot be one. */
static bool add_line(struct mfu_scale *s, struct mfu_line line, double now, double before)
{
    if (now == before)
        return true;
    line.slope = (now - before) / (s->batch - s->batch_before);
    line.base = now - line.slope * s->batch;
    line.most = is_whole(line.slope) && is_whole(line.base) ? WHOLE : WHOLE * PART;
    if (!is_whole(line.slope / PART) || !is_whole(line.base / PART) || !(fmax(fabs(now), fabs(before)) < line.most)
        || line.base + line.slope * s->batch_before != before || !MFU_ROOM(s->lines, s->n_lines + 1, s->cap_lines))
        return false;
    s->lines[s->n_lines++] = line;
    return true;
}

static bool add_size(struct mfu_scale *s, double *now, double before)
{
    return add_line(s, (struct mfu_line){.at = now}, *now, before);
}

static bool add_lines(struct mfu_scale *s, struct mfu_program *now)
{
    struct mfu_program *before = &s->before;
    bool ok = same_form(now, before);

    s->n_lines = s->n_rounded = 0;
    for (int i = 0; ok && i < now->n_compared; i++) /* first: nothing is changed if one does not hold */
        ok = add_line(s, (struct mfu_line){.at = &now->compared[i], .keeps_sign = true}, now->compared[i],
                      before->compared[i]);
    for (int i = 0; ok && i < now->n_launches; i++)
        for (int k = 0; ok && k < N_SIZES; k++)
            ok = add_size(s, size_of(&now->launches[i], k), *size_of(&before->launches[i], k));
    for (int i = 0; ok && i < now->n_views; i++)
        ok = add_size(s, &now->views[i].rows, before->views[i].rows)
            && add_size(s, &now->views[i].columns, before->views[i].columns);
    for (int i = 0; ok && i < N_FACTS; i++)
        ok = add_line(s, (struct mfu_line){.fact = i}, FACTS(now)[i], FACTS(before)[i]);
    for (int i = 0; ok && i < now->n_tensors; i++) {
        bool rounds = now->tensors[i].bytes == tensor_bytes(now, i);

        if (rounds && elements(now, i) != elements(before, i)) {
            if ((ok = MFU_ROOM(s->rounded, s->n_rounded + 1, s->cap_rounded)))
                s->rounded[s->n_rounded++] = i;
        } else {
            ok = now->tensors[i].bytes == before->tensors[i].bytes;
        }
    }
    return ok;
}

/* Both are of one batch: whether they are the same to the last bit. */
static bool same_sizes(struct mfu_program *a, struct mfu_program *b)
{
    bool same = same_form(a, b) && memcmp(FACTS(a), FACTS(b), N_FACTS * sizeof(double)) == 0;

    for (int i = 0; same && i < a->n_launches; i++) {
        for (int k = 0; same && k < N_SIZES; k++)
            same = *size_of(&a->launches[i], k) == *size_of(&b->launches[i], k);
        same = same && a->launches[i].kernel.half_share == b->launches[i].kernel.half_share;
    }
    for (int i = 0; same && i < a->n_views; i++)
        same = a->views[i].rows == b->views[i].rows && a->views[i].columns == b->views[i].columns;
    for (int i = 0; same && i < a->n_tensors; i++)
        same = a->tensors[i].bytes == b->tensors[i].bytes;
    return same;
}

/* The program of another batch.  False where a line ends or a difference changes its
 * sign; differences come first. */
static bool follow(struct mfu_scale *s, struct mfu_program *p, double batch)
{
    for (int i = 0; i < s->n_lines; i++) {
        const struct mfu_line *l = &s->lines[i];
        double size = l->base + l->slope * batch, *at = l->at ? l->at : FACTS(p) + l->fact;

        if (!(fabs(size) < l->most) || (l->keeps_sign && ((size > 0) != (*at > 0) || (size < 0) != (*at < 0))))
            return false;
        *at = size;
    }
    for (int i = 0; i < p->n_launches; i++)
        if (p->launches[i].half_bytes > 0)
            p->launches[i].kernel.half_share = p->launches[i].half_bytes / p->launches[i].half_of_bytes;
    for (int i = 0; i < s->n_rounded; i++)
        p->tensors[s->rounded[i]].bytes = tensor_bytes(p, s->rounded[i]);
    return true;
}

static void swap(struct mfu_scale *s, struct mfu_program *p)
{
    struct mfu_program kept = *p;

    *p = s->before;
    s->before = kept;
}

void mfu_scale_start(struct mfu_scale *s, double batch)
{
    s->batch = batch;
    s->state = MFU_SCALE_TRACED;
}

bool mfu_scale_to(struct mfu_scale *s, struct mfu_program *p, double batch)
{
    if (s->state == MFU_SCALE_FAILS)
        return false;
    if (s->state == MFU_SCALE_HOLDS) {
        if (s->away)
            swap(s, p);
        s->away = !follow(s, p, batch);
        if (!s->away)
            return true;
    }
    s->batch_before = s->batch;
    swap(s, p);
    return false;
}

void mfu_scale_learn(struct mfu_scale *s, struct mfu_program *p, double batch)
{
    if (s->state == MFU_SCALE_FAILS || s->state == MFU_SCALE_HOLDS)
        return;
    s->batch = batch;
    mfu_program_accumulate(&s->before, p->accum);
    if (s->state == MFU_SCALE_TRACED) {
        s->state = add_lines(s, p) ? MFU_SCALE_PREDICTS : MFU_SCALE_TRACED;
    } else if (!follow(s, &s->before, batch)) {
        s->state = MFU_SCALE_TRACED;
    } else if (same_sizes(&s->before, p)) {
        s->state = MFU_SCALE_HOLDS;
        s->away = false;
        swap(s, p); /* that the lines lead to */
    } else {
        s->state = MFU_SCALE_FAILS;
    }
}

void mfu_scale_release(struct mfu_scale *s)
{
    mfu_program_free(&s->before);
    free(s->lines);
    free(s->rounded);
    memset(s, 0, sizeof *s);
}
