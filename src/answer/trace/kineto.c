/*
 * kineto.c - events of a trace into the kernels and gaps of its last step.
 */
#include "answer/trace/kineto.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/input_file.h"
#include "base/list.h"
#include "graph/program.h"

/* A synchronising call that ended no longer ago than this before a gap has made it (chosen: a few launches). */
#define AFTER_SYNC 50e-6

struct event {
    const char *name, *cat;
    double begin, end; /* seconds */
    double thread;
    json_t *args;
    bool calls; /* another operation, inside of it */
};

struct events {
    struct event *list;
    size_t n, cap;
};

#define LISTS 6
#define TIMED 3 /* of them, the first: where no step is marked, it lasts from their first event to their last */
struct trace {
    union {
        struct {
            struct events kernels, ops, launches, waits, steps, autograd;
        };
        struct events lists[LISTS];
    };
    double begin, end;       /* of the step, on the host */
    double backward, behind; /* where backward begins in it and ends; not in order: nowhere */
    struct event **by_id, **by_correlation;
};
_Static_assert(sizeof((struct trace *)NULL)->lists == offsetof(struct trace, autograd) + sizeof(struct events),
               "lists");

/* ---- reading ------------------------------------------------------------------- */

static double number_of(const json_t *o, const char *name)
{
    const json_t *x = json_object_get(o, name);

    return json_is_number(x) ? json_number_value(x) : (double)NAN;
}

static const char *text_of(const json_t *o, const char *name)
{
    const char *s = json_string_value(json_object_get(o, name));

    return s ? s : "";
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static int keep(struct events *e, struct event x)
{
    if (!MFU_ROOM(e->list, e->n + 1, e->cap))
        return -1;
    e->list[e->n++] = x;
    return 0;
}

/* Which list takes an event: by its category, and by how its name begins ("": any). */
static const struct {
    const char *cat, *name;
    size_t list;
} rows[] = {
#define TO(list) offsetof(struct trace, list)
    {"kernel", "", TO(kernels)},
    {"gpu_memcpy", "", TO(kernels)},
    {"gpu_memset", "", TO(kernels)},
    {"cpu_op", "autograd::engine::evaluate_function", TO(autograd)},
    {"cpu_op", "enumerate(DataLoader)", TO(waits)},
    {"cpu_op", "", TO(ops)},
    {"user_annotation", "ProfilerStep#", TO(steps)},
    {"user_annotation", "enumerate(DataLoader)", TO(waits)},
    {"cuda_runtime", "cudaStreamSynchronize", TO(waits)},
    {"cuda_runtime", "cudaDeviceSynchronize", TO(waits)},
    {"cuda_runtime", "cudaEventSynchronize", TO(waits)},
    {"cuda_runtime", "", TO(launches)},
    {"cuda_driver", "", TO(launches)},
};

static int sort_event(struct trace *t, const json_t *o)
{
    const char *cat = text_of(o, "cat"), *name = text_of(o, "name");
    double begin = 1e-6 * number_of(o, "ts"), takes = 1e-6 * number_of(o, "dur");

    if (strcmp(text_of(o, "ph"), "X") != 0 || !isfinite(begin) || !(takes >= 0) || !isfinite(takes))
        return 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(cat, rows[i].cat) == 0 && starts(name, rows[i].name))
            return keep((struct events *)((char *)t + rows[i].list),
                        (struct event){name, cat, begin, begin + takes, number_of(o, "tid"), json_object_get(o, "args"),
                                       false});
    return 0;
}

static int by_begin(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin) : (y->end > x->end) - (y->end < x->end);
}

static double correlation(const struct event *e)
{
    return number_of(e->args, "correlation");
}

static double external(const struct event *e)
{
    return number_of(e->args, "External id");
}

#define COMPARE(name, key)                                                                                             \
    static int name(const void *a, const void *b)                                                                      \
    {                                                                                                                  \
        double x = key(*(struct event *const *)a), y = key(*(struct event *const *)b);                                 \
                                                                                                                       \
        return (x > y) - (x < y);                                                                                      \
    }
COMPARE(compare_external, external)
COMPARE(compare_correlation, correlation)

/* Pointers to the events that have a key, sorted by it; how many in `n`.  NULL: out of memory. */
static struct event **index_of(struct events *e, double (*key)(const struct event *),
                               int (*compare)(const void *, const void *), size_t *n)
{
    struct event **list = malloc((e->n + 1) * sizeof *list);

    *n = 0;
    for (size_t i = 0; list && i < e->n; i++)
        if (isfinite(key(&e->list[i])))
            list[(*n)++] = &e->list[i];
    if (list)
        qsort(list, *n, sizeof *list, compare);
    return list;
}

static struct event *find(struct event *const *list, size_t n, double key, double (*of)(const struct event *))
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
static int take_leaves(struct trace *t)
{
    struct event **open = malloc((t->ops.n + 1) * sizeof *open);
    size_t depth = 0;
    int status = open ? 0 : -1;

    for (size_t i = 0; status == 0 && i < t->ops.n; i++) {
        struct event *e = &t->ops.list[i];

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
            status = keep(&t->kernels, t->ops.list[i]);
    free(open);
    return status;
}

static const char *keep_text(struct mfu_arena *arena, const char *text)
{
    char *copy = mfu_arena_alloc(arena, strlen(text) + 1, 1);

    return copy ? strcpy(copy, text) : "";
}

/* "2x64x64;64", of a list of lists; "float;c10::BFloat16", of a list of texts. */
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
static void find_backward(struct trace *t)
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
static int phase_of(const struct trace *t, double at)
{
    if (!(t->backward < t->behind))
        return -1;
    return at < t->backward ? MFU_FORWARD : at <= t->behind ? MFU_BACKWARD : MFU_OPTIMIZER_PHASE;
}

/* ---- the step ---------------------------------------------------------------------------- */

static bool is_collective(const struct event *e)
{
    return starts(e->name, "nccl");
}

static void see_kernel(const struct trace *t, struct mfu_kineto *k, const struct event *e, const struct event *op)
{
    struct mfu_seen_kernel *s = &k->kernels[k->n++];

    *s = (struct mfu_seen_kernel){.op = "", .shapes = "", .dtypes = "", .kernel = "", .call = -1, .phase = -1};
    s->time_s = e->end - e->begin;
    if (op != e)
        s->kernel = keep_text(&k->arena, e->name);
    if (!op)
        return;
    s->op = keep_text(&k->arena, op->name);
    s->call = external(op);
    s->shapes = join(&k->arena, json_object_get(op->args, "Input Dims"));
    s->dtypes = join(&k->arena, json_object_get(op->args, "Input type"));
    s->phase = is_collective(e) ? -1 : phase_of(t, op->begin);
}

static double overlap(double a, double b, double c, double d)
{
    return fmax(0, fmin(b, d) - fmax(a, c));
}

/* A gap before kernel `e`, by its causes. */
static void explain(const struct trace *t, struct mfu_kineto *k, double begin, const struct event *e,
                    const struct event *launch)
{
    double late = launch ? fmin(e->begin, fmax(begin, launch->begin)) : begin, loader = 0, host;
    enum mfu_gap_cause cause = MFU_GAP_HOST;

    for (size_t i = 0; i < t->waits.n && t->waits.list[i].begin < e->begin; i++) {
        const struct event *w = &t->waits.list[i];

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
static void find_gaps(const struct trace *t, struct mfu_kineto *k, const struct event *const *in_step, size_t n,
                      double begin, size_t n_launches)
{
    double end = begin, computing = begin, talking = begin; /* until when */

    for (size_t i = 0; i < n; i++) {
        const struct event *e = in_step[i];

        if (e->begin > end)
            explain(t, k, end, e, find(t->by_correlation, n_launches, correlation(e), correlation));
        k->busy_s += fmax(0, e->end - fmax(end, e->begin));
        end = fmax(end, e->end);
    }
    for (size_t i = 0, from = 0; i < n; i++) { /* collectives, less what computes beside them */
        const struct event *e = in_step[i];
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

static int take_step(struct trace *t, struct mfu_kineto *k)
{
    const struct event **in_step = malloc((t->kernels.n + 1) * sizeof *in_step);
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
        const struct event *e = &t->kernels.list[i],
                           *launch =
                               k->on_cpu ? NULL : find(t->by_correlation, n_launches, correlation(e), correlation);
        const struct event *op = k->on_cpu ? e : find(t->by_id, n_ids, external(e), external);
        double at = launch ? launch->begin : op ? op->begin : e->begin;

        if (at < t->begin)
            begin = fmax(begin, e->end);
        if (at < t->begin || at > t->end)
            continue;
        in_step[n++] = e;
        see_kernel(t, k, e, op);
    }
    if (!k->on_cpu)
        find_gaps(t, k, in_step, n, begin, n_launches);
    else
        k->step_s = t->end - t->begin;
    free(in_step);
    return 0;
}

/* The last step that is marked, else all of it. */
static int read_events(const json_t *events, struct trace *t, struct mfu_kineto *k)
{
    const json_t *o;
    size_t i;

    json_array_foreach(events, i, o) if (sort_event(t, o) < 0) return -1;
    for (struct events *e = t->lists; e < t->lists + LISTS; e++)
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
    for (const struct events *e = t->lists; t->steps.n == 0 && e < t->lists + TIMED; e++)
        for (size_t n = 0; n < e->n; n++) {
            t->begin = fmin(t->begin, e->list[n].begin);
            t->end = fmax(t->end, e->list[n].end);
        }
    return t->kernels.n > 0 ? take_step(t, k) : 0;
}

int mfu_kineto_read(const char *path, struct mfu_kineto *k, struct mfu_error *err)
{
    FILE *in = mfu_input_open(path, err);
    struct trace t = {0};
    json_error_t problem;
    json_t *root, *events;
    int status = 0;

    *k = (struct mfu_kineto){0};
    if (!in)
        return mfu_within(err, "%.200s", path);
    root = json_loadf(in, 0, &problem);
    fclose(in);
    if (!root) {
        mfu_fail(err, MFU_EINPUT, "no JSON: %.160s", problem.text);
        return mfu_error_at(err, path, problem.line, problem.column);
    }
    events = json_is_array(root) ? root : json_object_get(root, "traceEvents");
    snprintf(k->device, sizeof k->device, "%s",
             text_of(json_array_get(json_object_get(root, "deviceProperties"), 0), "name"));
    if (!json_is_array(events))
        status = mfu_fail(err, MFU_EINPUT, "expected a trace of torch.profiler: an object with traceEvents");
    else if (read_events(events, &t, k) < 0)
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    else if (k->n == 0)
        status = mfu_fail(err, MFU_EINPUT, "no kernel and no operation of a whole step is in it");
    if (status < 0)
        mfu_error_at(err, path, 0, 0);
    json_decref(root);
    for (struct events *e = t.lists; e < t.lists + LISTS; e++)
        free(e->list);
    free(t.by_id);
    free(t.by_correlation);
    return status;
}

void mfu_kineto_release(struct mfu_kineto *k)
{
    mfu_arena_free(&k->arena);
    free(k->kernels);
    *k = (struct mfu_kineto){0};
}
