/*
 * scale.c - sizes as functions of batch, sequence or data-parallel ranks.
 */
#include "graph/scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "graph/graph.h"

/* Where a size is: a list, or the program itself. */
enum place { COMPARED, WORKS, VIEWS, WEIGHTS, FACTS, PLACES };

/* A size in any program of the form: base + x (slope + x curve). */
struct mfu_line {
    enum place place;
    int work; /* of works: which */
    size_t offset;
    double base, slope, curve;
    double most; /* up to which that is exact */
};

struct places {
    struct mfu_work **works;
    char *at[PLACES];
};

static struct places places_of(struct mfu_program *p)
{
    return (struct places){p->works,
                           {[COMPARED] = (char *)p->compared,
                            [VIEWS] = (char *)p->views,
                            [WEIGHTS] = (char *)p->weights,
                            [FACTS] = (char *)p}};
}

static double *size_at(const struct places *p, const struct mfu_line *l)
{
    return (double *)((l->place == WORKS ? (char *)p->works[l->work] : p->at[l->place]) + l->offset);
}

/* What of a work varies; the rest of it is in same_work(). */
#define AT(member) offsetof(struct mfu_work, member)
static const size_t sizes[] = {
    AT(kernel.m),          AT(kernel.n),          AT(kernel.k),           AT(kernel.batch),        AT(kernel.pairs),
    AT(kernel.flops),      AT(kernel.read_bytes), AT(kernel.write_bytes), AT(kernel.reread_bytes), AT(kernel.launches),
    AT(gradient_elements), AT(accumulated_bytes), AT(extra_read_bytes),   AT(temporary_bytes),     AT(half_bytes),
    AT(half_of_bytes),     AT(whole.flops),       AT(whole.read_bytes),   AT(whole.write_bytes),   AT(whole.launches),
    AT(collective.bytes),  AT(gradient_experts),
};
#define N_SIZES ((int)(sizeof sizes / sizeof sizes[0]))

#define ONE_OF_KERNEL(member) (size == AT(kernel.member))

/* Whether a size follows from others: from the number of micro-steps, or from that of elements. */
static bool follows(const struct mfu_work *w, size_t size)
{
    bool shared = w->accumulated_bytes > 0 || w->when != MFU_EVERY_MICRO_STEP;

    return (shared && (ONE_OF_KERNEL(flops) || ONE_OF_KERNEL(read_bytes) || ONE_OF_KERNEL(write_bytes)))
        || ((shared || w->passes > 0) && ONE_OF_KERNEL(launches));
}

/* The doubles at the end of a program. */
#define FACTS_AT offsetof(struct mfu_program, constant_bytes)
#define FACTS_END (offsetof(struct mfu_program, tokens) + sizeof(double))

static double size_of(const struct mfu_work *w, int i)
{
    return *(const double *)((const char *)w + sizes[i]);
}

static bool same_kernel(const struct mfu_kernel *a, const struct mfu_kernel *b)
{
    return a->kind == b->kind && a->math == b->math && a->traffic == b->traffic && a->attention == b->attention
        && a->backward == b->backward && a->causal == b->causal && a->cold == b->cold && a->aligned == b->aligned
        && a->accumulates == b->accumulates && a->window == b->window;
}

static bool same_tensors(const int *a, const int *b, int n)
{
    return n == 0 || memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static bool same_work(const struct mfu_work *a, const struct mfu_work *b)
{
    return same_kernel(&a->kernel, &b->kernel) && a->when == b->when && a->collective.axes == b->collective.axes
        && a->collective.kind == b->collective.kind && a->beside_share == b->beside_share && a->passes == b->passes;
}

static bool same_launch(const struct mfu_launch *a, const struct mfu_launch *b)
{
    return same_work(a->work, b->work) && a->section == b->section && a->op == b->op && a->suffix == b->suffix
        && a->phase == b->phase && a->fusion == b->fusion && a->random == b->random && a->cast == b->cast
        && a->recomputed == b->recomputed && a->reference == b->reference && a->n_in == b->n_in && a->n_out == b->n_out
        && a->communicates == b->communicates && a->stream == b->stream && a->wait_stream == b->wait_stream
        && a->wait_behind == b->wait_behind && a->beside == b->beside && same_tensors(a->in, b->in, a->n_in)
        && same_tensors(a->out, b->out, a->n_out);
}
_Static_assert(sizeof(void *) != 8 || (sizeof(struct mfu_launch) == 64 && sizeof(struct mfu_work) == 240),
               "a new field is a size, or belongs in same_launch() or same_work()");

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
        same = a->weights[i].trains == b->weights[i].trains && a->weights[i].reached == b->weights[i].reached;
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

/* A size that is a whole multiple of this keeps all its digits up to WHOLE times as much, also of
 * the terms that it is made of; a sum over 2^16 ranks, with as many digits fewer. */
#define PART 0x1p-10
#define WHOLE 0x1p52
#define RANKS 0x1p16

/* Up to which size the line is exact; 0: nowhere. */
static double exact_up_to(const struct mfu_scale *s, const struct mfu_line *l)
{
    double unit = is_whole(l->base) && is_whole(l->slope) && is_whole(l->curve) ? 1 : PART;

    if (s->by == MFU_SIZES_BY_DP && l->base == 0 && l->curve == 0)
        return INFINITY; /* a share 1 / 2^n */
    if (!is_whole(l->base / PART) || !is_whole(l->slope / PART) || !is_whole(l->curve / PART))
        return 0;
    return WHOLE * unit / (s->by == MFU_SIZES_BY_DP ? RANKS : 1);
}

static double value(const struct mfu_line *l, double x)
{
    return l->base + x * (l->slope + x * l->curve);
}

/* Whether launches share works in the one as in the other: where two happen to do the same work at one x, the program
 * says nothing of others. */
static bool same_works(const struct mfu_program *a, const struct mfu_program *b)
{
    bool same = a->n_works == b->n_works;

    for (int i = 0; same && i < a->n_launches; i++)
        same = a->launches[i].work->number == b->launches[i].work->number;
    return same;
}

/* The line through a size before and now; false if it cannot be one. */
static bool add_line(struct mfu_scale *s, enum place place, int work, size_t offset, double now, double before)
{
    struct mfu_line l = {.place = place, .work = work, .offset = offset};

    if (now == before)
        return true;
    l.slope = (now - before) / (s->known[1] - s->known[0]);
    l.base = now - l.slope * s->known[1];
    l.most = exact_up_to(s, &l);
    if (!(fmax(fmax(fabs(now), fabs(before)), isinf(l.most) ? 0 : fabs(l.base)) < l.most)
        || value(&l, s->known[0]) != before || value(&l, s->known[1]) != now
        || !MFU_ROOM(s->lines, s->n_lines + 1, s->cap_lines))
        return false;
    s->lines[s->n_lines++] = l;
    return true;
}

/* The parabola through a third, too. */
static bool bend(struct mfu_scale *s, struct mfu_line *l, double x, double now)
{
    double curve = (now - value(l, x)) / ((x - s->known[0]) * (x - s->known[1]));

    if (curve == 0)
        return true;
    l->base += curve * s->known[0] * s->known[1];
    l->slope -= curve * (s->known[0] + s->known[1]);
    l->curve = curve;
    l->most = exact_up_to(s, l);
    return fabs(now) < l->most && fabs(l->base) < l->most && value(l, x) == now;
}

static bool add_lines(struct mfu_scale *s, struct mfu_program *now)
{
    struct mfu_program *before = &s->before;
    bool ok = same_form(now, before) && same_works(now, before);

    s->n_lines = s->n_rounded = 0;
    for (int i = 0; ok && i < now->n_compared; i++) /* first: nothing is changed if one does not hold */
        ok = add_line(s, COMPARED, 0, (size_t)i * sizeof *now->compared, now->compared[i], before->compared[i]);
    for (int i = 0; ok && i < now->n_works; i++)
        for (int k = 0; ok && k < N_SIZES; k++)
            if (!follows(now->works[i], sizes[k]))
                ok = add_line(s, WORKS, i, sizes[k], size_of(now->works[i], k), size_of(before->works[i], k));
    for (int i = 0; ok && i < now->n_views; i++) {
        size_t at = (size_t)i * sizeof *now->views;

        ok = add_line(s, VIEWS, 0, at + offsetof(struct mfu_view, rows), now->views[i].rows, before->views[i].rows)
            && add_line(s, VIEWS, 0, at + offsetof(struct mfu_view, columns), now->views[i].columns,
                        before->views[i].columns);
    }
    for (int i = 0; ok && i < now->n_weights; i++) {
        const struct mfu_weight_tensor *x = &now->weights[i], *y = &before->weights[i];
        size_t at = (size_t)i * sizeof *x;

        ok = add_line(s, WEIGHTS, 0, at + offsetof(struct mfu_weight_tensor, elements), x->elements, y->elements)
            && add_line(s, WEIGHTS, 0, at + offsetof(struct mfu_weight_tensor, bytes), x->bytes, y->bytes);
    }
    for (size_t at = FACTS_AT; ok && at < FACTS_END; at += sizeof(double))
        ok = add_line(s, FACTS, 0, at, *(double *)((char *)now + at), *(double *)((char *)before + at));
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

/* Both are of one x: whether they are the same to the last bit. */
static bool same_sizes(struct mfu_program *a, struct mfu_program *b)
{
    bool same = same_form(a, b) && memcmp((char *)a + FACTS_AT, (char *)b + FACTS_AT, FACTS_END - FACTS_AT) == 0
        && memcmp(&a->mesh, &b->mesh, sizeof a->mesh) == 0;

    for (int i = 0; same && i < a->n_launches; i++) {
        const struct mfu_work *x = a->launches[i].work, *y = b->launches[i].work;

        for (int k = 0; same && k < N_SIZES; k++)
            same = size_of(x, k) == size_of(y, k);
        same = same && x->kernel.half_share == y->kernel.half_share;
    }
    for (int i = 0; same && i < a->n_views; i++)
        same = a->views[i].rows == b->views[i].rows && a->views[i].columns == b->views[i].columns;
    for (int i = 0; same && i < a->n_tensors; i++)
        same = a->tensors[i].bytes == b->tensors[i].bytes;
    for (int i = 0; same && i < a->n_weights; i++)
        same = a->weights[i].elements == b->weights[i].elements && a->weights[i].bytes == b->weights[i].bytes;
    for (int i = 0; same && i < a->n_compared; i++)
        same = a->compared[i] == b->compared[i];
    return same;
}

static int sign(double x)
{
    return (x > 0) - (x < 0);
}

/* The program at another x.  False where a line ends or a difference changes its
 * sign; differences come first. */
static bool follow(struct mfu_scale *s, struct mfu_program *p, double x)
{
    struct places places = places_of(p);
    const struct mfu_line *l = s->lines, *end = l + s->n_lines;

    for (; l < end && l->place == COMPARED; l++) {
        double size = value(l, x), *at = size_at(&places, l);

        if (!(fabs(size) < l->most) || sign(size) != sign(*at))
            return false;
        *at = size;
    }
    for (; l < end; l++) {
        double size = value(l, x);

        if (!(fabs(size) < l->most))
            return false;
        *size_at(&places, l) = size;
    }
    for (int i = 0; i < p->n_works; i++) {
        struct mfu_work *w = p->works[i];

        if (w->half_bytes > 0)
            w->kernel.half_share = w->half_bytes / w->half_of_bytes;
        if (w->passes > 0)
            mfu_work_passes(w);
    }
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

void mfu_scale_start(struct mfu_scale *s)
{
    s->by = MFU_SIZES_BY_NONE;
}

bool mfu_scale_to(struct mfu_scale *s, struct mfu_program *p, const struct mfu_size_change *change)
{
    if (s->by != change->by) {
        s->by = change->by;
        s->x = change->from;
        s->state = MFU_SCALE_TRACED;
    }
    if (s->state == MFU_SCALE_FAILS)
        return false;
    if (s->state == MFU_SCALE_HOLDS) {
        if (s->away)
            swap(s, p);
        s->away = !follow(s, p, change->to);
        if (!s->away)
            return true;
    }
    swap(s, p);
    return false;
}

/* A program of an x from which something was learned says nothing new. */
static bool is_known(const struct mfu_scale *s, double x)
{
    bool known = false;

    for (int i = 0; i < (s->state == MFU_SCALE_BENDS ? 3 : 2); i++)
        known |= s->state != MFU_SCALE_TRACED && s->known[i] == x;
    return known;
}

/* What the lines led to is what was traced, or some are bent now. */
static bool check(struct mfu_scale *s, struct mfu_program *p, double x)
{
    struct places led = places_of(&s->before), traced = places_of(p);

    mfu_program_accumulate(&s->before, p->accum);
    s->before.mesh = p->mesh;
    if (same_sizes(&s->before, p)) {
        if (!same_works(&s->before, p))
            swap(s, p);
        s->state = MFU_SCALE_HOLDS;
        s->away = false;
        return true;
    }
    if (!same_works(&s->before, p))
        return false;
    for (int i = 0; s->state == MFU_SCALE_PREDICTS && i < s->n_lines; i++)
        if (*size_at(&led, &s->lines[i]) != *size_at(&traced, &s->lines[i])
            && !bend(s, &s->lines[i], x, *size_at(&traced, &s->lines[i])))
            return false;
    s->known[2] = x;
    return s->state++ == MFU_SCALE_PREDICTS;
}

void mfu_scale_learn(struct mfu_scale *s, struct mfu_program *p, const struct mfu_size_change *change)
{
    double before = s->x;

    s->x = change->to;
    if (s->state == MFU_SCALE_FAILS || s->state == MFU_SCALE_HOLDS || is_known(s, s->x))
        return;
    mfu_program_accumulate(&s->before, p->accum);
    if (s->state == MFU_SCALE_TRACED) {
        s->known[0] = before;
        s->known[1] = s->x;
        s->state = add_lines(s, p) ? MFU_SCALE_PREDICTS : MFU_SCALE_TRACED;
    } else if (!follow(s, &s->before, s->x)) {
        s->state = MFU_SCALE_TRACED;
    } else if (!check(s, p, s->x)) {
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
