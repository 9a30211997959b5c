/*
 * read_recording.c - recorded events into the kernels and gaps of their last step.
 */
#include "answer/trace/read_recording.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer/trace/events.h"
#include "base/error.h"
#include "base/printable.h"
#include "base/input_file.h"
#include "graph/program.h"

/* A synchronising call that ended no longer ago than this before a gap has made it (chosen: a few launches). */
#define AFTER_SYNC 50e-6

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct mfu_event *x = a, *y = b;

    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin) : (y->end > x->end) - (y->end < x->end);
}

static double correlation(const struct mfu_event *e)
{
    return e->correlation;
}

static double external(const struct mfu_event *e)
{
    return e->external;
}

#define COMPARE(name, key)                                                                                             \
    static int name(const void *a, const void *b)                                                                      \
    {                                                                                                                  \
        double x = key(*(struct mfu_event *const *)a), y = key(*(struct mfu_event *const *)b);                         \
                                                                                                                       \
        return (x > y) - (x < y);                                                                                      \
    }
COMPARE(compare_external, external)
COMPARE(compare_correlation, correlation)

/* Pointers to the events that have a key, sorted by it; how many in `n`.  NULL: out of memory. */
static struct mfu_event **index_of(struct mfu_events *e, double (*key)(const struct mfu_event *),
                                   int (*compare)(const void *, const void *), size_t *n)
{
    struct mfu_event **list = malloc((e->n + 1) * sizeof *list);

    *n = 0;
    for (size_t i = 0; list && i < e->n; i++)
        if (isfinite(key(&e->list[i])))
            list[(*n)++] = &e->list[i];
    if (list)
        qsort(list, *n, sizeof *list, compare);
    return list;
}

static struct mfu_event *find(struct mfu_event *const *list, size_t n, double key,
                              double (*of)(const struct mfu_event *))
{
    size_t low = 0;

    for (size_t high = n; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (of(list[middle]) < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && of(list[low]) == key ? list[low] : NULL;
}

/* ---- operations -------------------------------------------------------------------- */

/* Operations of PyTorch that work on no element: nothing is launched for them. */
static const char *const idle[] = {"as_strided",   "empty",
                                   "empty_like",   "empty_strided",
                                   "view",         "_unsafe_view",
                                   "resize_",      "detach",
                                   "alias",        "_reshape_alias",
                                   "expand",       "t",
                                   "transpose",    "unsqueeze",
                                   "slice",        "select",
                                   "permute",      "split",
                                   "reshape",      "is_nonzero",
                                   "item",         "_local_scalar_dense",
                                   "set_",         "lift_fresh",
                                   "result_type",  "to",
                                   "resolve_conj", "resolve_neg",
                                   "narrow"};

static bool works(const char *op)
{
    if (!starts(op, "aten::"))
        return false;
    for (size_t i = 0; i < sizeof idle / sizeof idle[0]; i++)
        if (strcmp(op + strlen("aten::"), idle[i]) == 0)
            return false;
    return true;
}

/* Of a CPU: the operations that call no other that works. */
static int take_leaves(struct mfu_trace_events *t)
{
    struct mfu_event **open = malloc((t->ops.n + 1) * sizeof *open);
    size_t depth = 0;
    int status = open ? 0 : -1;

    for (size_t i = 0; status == 0 && i < t->ops.n; i++) {
        struct mfu_event *e = &t->ops.list[i];

        if (!works(e->name))
            continue;
        while (depth > 0 && (open[depth - 1]->end < e->end || open[depth - 1]->thread != e->thread))
            depth--;
        if (depth > 0)
            open[depth - 1]->calls = true;
        open[depth++] = e;
    }
    for (size_t i = 0; status == 0 && i < t->ops.n; i++)
        if (works(t->ops.list[i].name) && !t->ops.list[i].calls)
            status = mfu_event_keep(&t->kernels, t->ops.list[i]);
    free(open);
    return status;
}

/* NULL without memory. */
static const char *keep_text(struct mfu_arena *arena, const char *text)
{
    char *copy = mfu_arena_alloc(arena, strlen(text) + 1, 1);

    return copy ? mfu_printable_in_place(strcpy(copy, text)) : NULL;
}

/* NULL without memory; "2x64x64;64", of a list of lists; "float;c10::BFloat16", of a list of texts. */
static const char *join(struct mfu_arena *arena, const json_t *list)
{
    char text[512] = "";
    size_t n = 0, i;
    const json_t *x;

    json_array_foreach(list, i, x)
    {
        const char *between = n > 0 ? ";" : "";

        if (json_is_string(x) && strcmp(json_string_value(x), "Scalar") != 0 && json_string_value(x)[0] >= 'a'
            && n < sizeof text)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", between, json_string_value(x));
        for (size_t k = 0; json_is_array(x) && k < json_array_size(x) && n < sizeof text; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%.0f", k > 0 ? "x" : between,
                                  json_number_value(json_array_get(x, k)));
    }
    return keep_text(arena, text);
}

/* Backward is where autograd's engine runs. */
static void find_backward(struct mfu_trace_events *t)
{
    t->backward = INFINITY;
    t->behind = -INFINITY;
    for (size_t i = 0; i < t->autograd.n; i++)
        if (t->autograd.list[i].begin >= t->begin && t->autograd.list[i].end <= t->end) {
            t->backward = fmin(t->backward, t->autograd.list[i].begin);
            t->behind = fmax(t->behind, t->autograd.list[i].end);
        }
}

/* What comes after backward belongs to the optimizer. */
static int phase_of(const struct mfu_trace_events *t, double at)
{
    if (!(t->backward < t->behind))
        return -1;
    return at < t->backward ? MFU_FORWARD : at <= t->behind ? MFU_BACKWARD : MFU_OPTIMIZER_PHASE;
}

/* ---- the step ---------------------------------------------------------------------------- */

static const char *own_text(const struct mfu_event *e, const char *key)
{
    const char *text = json_string_value(json_object_get(e->own, key));

    return text ? text : "";
}

static bool is_collective(const struct mfu_event *e)
{
    return starts(e->name, "nccl") || strcmp(own_text(e, "kind"), mfu_kind_names[MFU_COLLECTIVE]) == 0;
}

static int number_among(const char *const *names, int n, const char *name)
{
    int i = 0;

    while (i < n && strcmp(names[i], name) != 0)
        i++;
    return i < n ? i : -1;
}

/* A kernel of a trace that mfuplan wrote says what it is. */
static int see_own(struct mfu_recording *k, struct mfu_seen_kernel *s, const struct mfu_event *e)
{
    static const char *const sizes[] = {"m", "n", "k", "batch"};
    const json_t *kernels = json_object_get(e->own, "CUDA kernels");

    s->op = keep_text(&k->arena, e->name);
    s->kind = number_among(mfu_kind_names, MFU_KIND_COUNT, own_text(e, "kind"));
    s->phase =
        is_collective(e) ? MFU_COMMUNICATION : number_among(mfu_phase_names, MFU_PHASE_COUNT, own_text(e, "phase"));
    s->count = kernels ? json_number_value(kernels) : 1;
    for (int i = 0; i < 4; i++)
        s->size[i] = fmax(i > 1, json_number_value(json_object_get(e->own, sizes[i])));
    return s->op ? 0 : -1;
}

static int see_kernel(const struct mfu_trace_events *t, struct mfu_recording *k, const struct mfu_event *e,
                      const struct mfu_event *op)
{
    struct mfu_seen_kernel *s = &k->kernels[k->n++];

    *s = (struct mfu_seen_kernel){
        .op = "", .shapes = "", .dtypes = "", .kernel = "", .call = -1, .phase = -1, .kind = -1};
    s->time_s = e->end - e->begin;
    if (e->own)
        return see_own(k, s, e);
    if (op != e)
        s->kernel = keep_text(&k->arena, e->name);
    if (!op)
        return s->kernel ? 0 : -1;
    s->op = keep_text(&k->arena, op->name);
    s->call = external(op);
    s->shapes = op->sizes ? op->sizes : join(&k->arena, op->shapes);
    s->dtypes = join(&k->arena, op->types);
    s->phase = is_collective(e) ? -1 : phase_of(t, op->begin);
    return s->kernel && s->op && s->shapes && s->dtypes ? 0 : -1;
}

static double overlap(double a, double b, double c, double d)
{
    return fmax(0, fmin(b, d) - fmax(a, c));
}

/* A gap before kernel `e`, by its causes. */
static void explain(const struct mfu_trace_events *t, struct mfu_recording *k, double begin, const struct mfu_event *e,
                    const struct mfu_event *launch)
{
    double late = launch ? fmin(e->begin, fmax(begin, launch->begin)) : begin, loader = 0, host;
    enum mfu_gap_cause cause = MFU_GAP_HOST;

    for (size_t i = 0; i < t->waits.n && t->waits.list[i].begin < e->begin; i++) {
        const struct mfu_event *w = &t->waits.list[i];

        if (starts(w->name, "enumerate"))
            loader += overlap(begin, late, w->begin, w->end);
        else if (w->end > begin - AFTER_SYNC && w->end <= e->begin)
            cause = MFU_GAP_SYNC;
    }
    loader = fmin(loader, late - begin);
    host = late - begin - loader;
    k->gap_s[MFU_GAP_LOADER] += loader;
    k->gap_n[MFU_GAP_LOADER] += loader > 0;
    k->gap_s[cause] += host;
    k->gap_n[cause] += host > 0;
    k->gap_s[MFU_GAP_LAUNCH] += e->begin - late;
    k->gap_n[MFU_GAP_LAUNCH] += e->begin > late;
}

/* Walks along the GPU: what runs, what runs alone, what lies between. */
static void find_gaps(const struct mfu_trace_events *t, struct mfu_recording *k, const struct mfu_event *const *in_step,
                      size_t n, double begin, size_t n_launches)
{
    double end = begin, computing = begin, talking = begin; /* until when */

    for (size_t i = 0; i < n; i++) {
        const struct mfu_event *e = in_step[i];

        if (e->begin > end)
            explain(t, k, end, e, find(t->by_correlation, n_launches, correlation(e), correlation));
        k->busy_s += fmax(0, e->end - fmax(end, e->begin));
        end = fmax(end, e->end);
    }
    if (t->steps.n > 0 && t->end > end + 1e-9) { /* the host ends the step after the GPU has */
        struct mfu_event next = {.begin = t->end};

        explain(t, k, end, &next, &next);
        end = t->end;
    }
    for (size_t i = 0, from = 0; i < n; i++) { /* collectives, less what computes beside them */
        const struct mfu_event *e = in_step[i];
        double alone;

        if (!is_collective(e))
            continue;
        alone = e->end - fmax(e->begin, talking);
        talking = fmax(talking, e->end);
        computing = e->begin;
        while (from < i && in_step[from]->end <= e->begin) /* beside none that is to come, either */
            from++;
        for (size_t j = from; j < n && in_step[j]->begin < e->end; j++)
            if (!is_collective(in_step[j]) && in_step[j]->end > computing) {
                alone -= overlap(fmax(computing, in_step[j]->begin), in_step[j]->end, e->begin, e->end);
                computing = fmax(computing, in_step[j]->end);
            }
        k->gap_s[MFU_GAP_EXPOSED] += fmax(0, alone);
        k->gap_n[MFU_GAP_EXPOSED] += alone > 0;
    }
    k->step_s = end - begin;
}

static int take_step(struct mfu_trace_events *t, struct mfu_recording *k)
{
    const struct mfu_event **in_step = malloc((t->kernels.n + 1) * sizeof *in_step);
    size_t n = 0, n_ids, n_launches;
    double begin = t->begin;

    t->by_id = index_of(&t->ops, external, compare_external, &n_ids);
    t->by_correlation = index_of(&t->launches, correlation, compare_correlation, &n_launches);
    k->kernels = calloc(t->kernels.n + 1, sizeof *k->kernels);
    if (!in_step || !t->by_id || !t->by_correlation || !k->kernels) {
        free(in_step);
        return -1;
    }
    find_backward(t);
    for (size_t i = 0; i < t->kernels.n; i++) {
        const struct mfu_event *e = &t->kernels.list[i],
                               *launch =
                                   k->on_cpu ? NULL : find(t->by_correlation, n_launches, correlation(e), correlation);
        double id = launch && !isfinite(e->external) ? launch->external : e->external;
        const struct mfu_event *op = k->on_cpu ? e : find(t->by_id, n_ids, id, external);
        double at = launch ? launch->begin : op ? op->begin : e->begin;

        if (at < t->begin)
            begin = fmax(begin, e->end);
        if (at < t->begin || at > t->end)
            continue;
        in_step[n++] = e;
        if (see_kernel(t, k, e, op) < 0) {
            free(in_step);
            return -1;
        }
    }
    if (!k->on_cpu)
        find_gaps(t, k, in_step, n, begin, n_launches);
    else
        k->step_s = t->end - t->begin;
    free(in_step);
    return 0;
}

/* The last step that is marked, else all of it. */
static int make_step(struct mfu_trace_events *t, struct mfu_recording *k)
{
    for (struct mfu_events *e = t->lists; e < t->lists + MFU_EVENT_LISTS; e++)
        if (e->n > 0)
            qsort(e->list, e->n, sizeof *e->list, by_begin);
    k->on_cpu = t->kernels.n == 0;
    if (k->on_cpu && take_leaves(t) < 0)
        return -1;
    k->steps = (long)t->steps.n;
    t->begin = INFINITY;
    t->end = -INFINITY;
    if (t->steps.n > 0) {
        t->begin = t->steps.list[t->steps.n - 1].begin;
        t->end = t->steps.list[t->steps.n - 1].end;
    }
    for (const struct mfu_events *e = t->lists; t->steps.n == 0 && e < t->lists + MFU_TIMED_LISTS; e++)
        for (size_t n = 0; n < e->n; n++) {
            t->begin = fmin(t->begin, e->list[n].begin);
            t->end = fmax(t->end, e->list[n].end);
        }
    return t->kernels.n > 0 ? take_step(t, k) : 0;
}

/* The first bytes of every database of SQLite's. */
static bool is_database(FILE *in)
{
    char begin[16];
    bool is = fread(begin, 1, sizeof begin, in) == sizeof begin && memcmp(begin, "SQLite format 3", 16) == 0;

    rewind(in);
    return is;
}

int mfu_recording_read(const char *path, struct mfu_recording *k, struct mfu_error *err)
{
    FILE *in = mfu_input_open(path, err);
    struct mfu_trace_events t = {0};
    int status;

    *k = (struct mfu_recording){0};
    if (!in)
        return mfu_within(err, "%.200s", path);
    status = is_database(in) ? mfu_nsys_read(path, &t, k, err) : mfu_kineto_read(in, path, &t, k, err);
    fclose(in);
    if (status == 0 && make_step(&t, k) < 0)
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    else if (status == 0 && k->n == 0)
        status = mfu_fail(err, MFU_EINPUT, "no kernel and no operation of a whole step is in it");
    if (status < 0 && !*err->file)
        mfu_error_at(err, path, 0, 0);
    json_decref(t.document);
    for (struct mfu_events *e = t.lists; e < t.lists + MFU_EVENT_LISTS; e++)
        free(e->list);
    free(t.by_id);
    free(t.by_correlation);
    return status;
}

void mfu_recording_release(struct mfu_recording *k)
{
    mfu_arena_free(&k->arena);
    free(k->kernels);
    *k = (struct mfu_recording){0};
}
