/*
 * cudnn_attention.c - cuDNN's fused attention, causal and full, forward and
 * backward, with cuDNN loaded at run time.
 *
 * A point is a shape with both passes: the backward pass needs what the forward
 * pass leaves.  Both are those of training: forward also writes the sums of
 * each row, backward computes the gradients of q, k and v.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "attention.h"
#include "attention_graph.h"
#include "bench.h"
#include "check.h"
#include "cudnn.h"
#include "reference.h"

#define TENSORS MFU_ATTENTION_TENSORS

struct work {
    struct mfu_cudnn *cudnn;
    struct mfu_cudnn_plan *forward, *backward;
    struct mfu_graph forward_graph, backward_graph;
    void *array[MFU_CUDNN_SETS][TENSORS];
    int sets;
};

static const char *skip(const struct mfu_bench *b)
{
    static char why[120];
    struct mfu_cudnn *cudnn;

    if (b->gpu.major < 8)
        return "needs compute capability 8.0 for bf16";
    cudnn = mfu_cudnn_open(why, sizeof why);
    if (!cudnn)
        return why;
    mfu_cudnn_close(cudnn);
    return NULL;
}

static void close_work(struct work *w)
{
    mfu_cudnn_forget(w->forward);
    mfu_cudnn_forget(w->backward);
    mfu_cudnn_close(w->cudnn);
}

/* The forward plan; the backward plan is made after it was measured. */
static int open_work(struct mfu_bench *b, struct work *w, const struct mfu_attention_shape *s)
{
    float unseen;

    w->cudnn = mfu_cudnn_open(b->error, sizeof b->error);
    if (!w->cudnn)
        return -1;
    /* Which of the two cuDNN recognises as a mask changed with 9.10. */
    unseen = mfu_cudnn_version(w->cudnn) < 91000 ? -FLT_MAX : -INFINITY;
    mfu_attention_forward(&w->forward_graph, s, unseen);
    mfu_attention_backward(&w->backward_graph, s, unseen);
    if (mfu_cudnn_start(w->cudnn, b->stream) < 0)
        return mfu_bench_fail(b, "%s", mfu_cudnn_error(w->cudnn));
    return 0;
}

/* A plan for the graph, bound to all sets; NULL and b->error if there is none. */
static struct mfu_cudnn_plan *plan(struct mfu_bench *b, struct work *w, const struct mfu_graph *g)
{
    struct mfu_cudnn_plan *p = mfu_cudnn_plan(w->cudnn, g);
    void *workspace;

    if (!p) {
        mfu_bench_fail(b, "%s", mfu_cudnn_error(w->cudnn));
        return NULL;
    }
    workspace = mfu_bench_room(b, (double)mfu_cudnn_workspace(p));
    for (int i = 0; i < w->sets && workspace; i++)
        if (mfu_cudnn_bind(p, w->array[i], workspace) < 0) {
            mfu_bench_fail(b, "%s", mfu_cudnn_error(w->cudnn));
            workspace = NULL;
        }
    if (workspace)
        return p;
    mfu_cudnn_forget(p);
    return NULL;
}

static int launch(struct mfu_bench *b, struct work *w, struct mfu_cudnn_plan *p, int set)
{
    return mfu_cudnn_launch(p, set) < 0 ? mfu_bench_fail(b, "%s", mfu_cudnn_error(w->cudnn)) : 0;
}

static int forward(struct mfu_bench *b, void *arg, int set)
{
    struct work *w = arg;

    return launch(b, w, w->forward, set);
}

static int backward(struct mfu_bench *b, void *arg, int set)
{
    struct work *w = arg;

    return launch(b, w, w->backward, set);
}

/* Bytes of the first `n` tensors. */
static double bytes_of(const struct mfu_graph *g, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += (double)mfu_graph_bytes(&g->tensor[i]);
    return sum;
}

/* As many sets as keep the forward pass, which touches fewer tensors, out of
 * the cache, if all tensors of so many fit. */
static int sets_for(const struct mfu_bench *b, const struct mfu_graph *g)
{
    const double all = bytes_of(g, TENSORS) + 256 * TENSORS;
    const double left = (double)(b->room_size - b->room_used);
    int sets = mfu_bench_sets(b, bytes_of(g, MFU_ATTENTION_FORWARD_TENSORS));

    while (sets > 1 && (sets > MFU_CUDNN_SETS || sets * all > left))
        sets--;
    return sets;
}

static int make_room(struct mfu_bench *b, struct work *w)
{
    const struct mfu_graph *g = &w->backward_graph;

    w->sets = sets_for(b, g);
    for (int i = 0; i < w->sets; i++)
        for (int j = 0; j < TENSORS; j++) {
            const struct mfu_graph_tensor *t = &g->tensor[j];

            w->array[i][j] = mfu_bench_room(b, (double)mfu_graph_bytes(t));
            if (!w->array[i][j])
                return MFU_SKIPPED;
            if (t->type == MFU_GRAPH_BF16
                && mfu_bench_normal(b, w->array[i][j], (double)mfu_graph_elements(t), MFU_BF16, 1,
                                    (unsigned)(i * TENSORS + j + 1))
                    < 0)
                return -1;
        }
    return 0;
}

static int measure(struct mfu_bench *b, struct work *w, const struct mfu_attention_shape *s,
                   int (*pass)(struct mfu_bench *, void *, int), const char *name)
{
    const struct mfu_work work = {.launch = pass, .arg = w, .sets = w->sets};
    struct mfu_timing timing;

    if (mfu_bench_measure(b, &work, &timing) < 0)
        return -1;
    return mfu_attention_record(b, &timing, s, "cudnn", name);
}

static size_t points(const struct mfu_bench *b)
{
    return mfu_attention_shapes(b);
}

static int run(struct mfu_bench *b, size_t point)
{
    const struct mfu_attention_shape *s = mfu_attention_at(b, point);
    struct work w = {0};
    int status = open_work(b, &w, s);

    if (status == 0)
        status = make_room(b, &w);
    if (status != 0)
        goto done;
    status = -1;
    w.forward = plan(b, &w, &w.forward_graph);
    if (!w.forward)
        goto done;
    for (int i = 0; i < w.sets; i++) /* what the backward pass of each set reads */
        if (forward(b, &w, i) < 0)
            goto done;
    if (measure(b, &w, s, forward, "forward") < 0)
        goto done;
    w.backward = plan(b, &w, &w.backward_graph);
    if (w.backward)
        status = measure(b, &w, s, backward, "backward");
done:
    close_work(&w);
    return status;
}

/* What the kernels should compute. */
struct expected {
    float *q, *k, *v, *o, *d_o, *dq, *dk, *dv;
    float *one_dk, *one_dv; /* of one query head; those of a group add up */
};

static void reference(const struct mfu_attention_shape *s, const struct expected *e)
{
    const size_t head = (size_t)s->seq * (size_t)s->dim;
    const int group = s->heads / s->kv_heads;

    for (int i = 0; i < s->batch * s->heads; i++) {
        const size_t at = (size_t)i * head;
        const size_t kv = (size_t)(i / group) * head;

        mfu_ref_attention(e->q + at, e->k + kv, e->v + kv, e->o + at, (size_t)s->seq, (size_t)s->dim, s->causal);
        mfu_ref_attention_back(e->q + at, e->k + kv, e->v + kv, e->d_o + at, e->dq + at, e->one_dk, e->one_dv,
                               (size_t)s->seq, (size_t)s->dim, s->causal);
        for (size_t j = 0; j < head; j++) {
            e->dk[kv + j] = e->one_dk[j] + (i % group ? e->dk[kv + j] : 0);
            e->dv[kv + j] = e->one_dv[j] + (i % group ? e->dv[kv + j] : 0);
        }
    }
}

static int compare(struct mfu_bench *b, struct work *w, const struct mfu_attention_shape *s, const struct expected *e)
{
    const size_t n = (size_t)mfu_graph_elements(&w->backward_graph.tensor[MFU_ATTENTION_Q]);
    const size_t n_kv = (size_t)mfu_graph_elements(&w->backward_graph.tensor[MFU_ATTENTION_K]);
    const struct {
        const char *name;
        int tensor;
        const float *expected;
        size_t n;
        double tolerance; /* of 8 bits, as for attention in separate kernels */
    } all[] = {
        {"o", MFU_ATTENTION_O, e->o, n, 4},
        {"dv", MFU_ATTENTION_DV, e->dv, n_kv, 6},
        {"dq", MFU_ATTENTION_DQ, e->dq, n, 6},
        {"dk", MFU_ATTENTION_DK, e->dk, n_kv, 6},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char what[80];

        snprintf(what, sizeof what, "cuDNN's attention (%d x %d, %d of %d heads%s): %s", s->seq, s->dim, s->kv_heads,
                 s->heads, s->causal ? ", causal" : "", all[i].name);
        if (mfu_check_same(b, what, w->array[0][all[i].tensor], MFU_BF16, all[i].expected, all[i].n,
                           all[i].tolerance * MFU_BF16_TOLERANCE)
            < 0)
            return -1;
    }
    return 0;
}

/* Runs both passes on the inputs of `e`, in buffers that hold other numbers. */
static int run_once(struct mfu_bench *b, struct work *w, const struct expected *e)
{
    const struct mfu_graph *g = &w->backward_graph;
    const struct {
        int tensor;
        const float *from;
    } inputs[] = {
        {MFU_ATTENTION_Q, e->q},
        {MFU_ATTENTION_K, e->k},
        {MFU_ATTENTION_V, e->v},
        {MFU_ATTENTION_D_O, e->d_o},
    };

    if (make_room(b, w) != 0)
        return -1;
    w->sets = 1;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        const size_t n = (size_t)mfu_graph_elements(&g->tensor[inputs[i].tensor]);
        void *copy = mfu_check_put(b, inputs[i].from, n, MFU_BF16);

        if (!copy)
            return -1;
        w->array[0][inputs[i].tensor] = copy;
    }
    w->forward = plan(b, w, &w->forward_graph);
    if (!w->forward || forward(b, w, 0) < 0)
        return -1;
    w->backward = plan(b, w, &w->backward_graph);
    return w->backward ? backward(b, w, 0) : -1;
}

static int check_shape(struct mfu_bench *b, const struct mfu_attention_shape *s)
{
    const size_t n = (size_t)s->batch * (size_t)s->heads * (size_t)s->seq * (size_t)s->dim;
    struct expected e;
    float **all[] = {&e.q, &e.k, &e.v, &e.o, &e.d_o, &e.dq, &e.dk, &e.dv, &e.one_dk, &e.one_dv};
    struct work w = {0};
    unsigned seed = 1;
    int status = open_work(b, &w, s);

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        *all[i] = mfu_check_normal(n, 1, seed++);
        if (!*all[i])
            status = mfu_bench_fail(b, "out of memory");
    }
    if (status == 0) {
        reference(s, &e);
        status = run_once(b, &w, &e);
    }
    if (status == 0)
        status = compare(b, &w, s, &e);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(*all[i]);
    close_work(&w);
    return status;
}

static int check(struct mfu_bench *b)
{
    static const struct mfu_attention_shape small[] = {
        {1, 2, 2, 128, 64, true, false},
        {1, 2, 2, 64, 128, false, false},
        {2, 4, 2, 64, 64, true, false},
        {1, 4, 1, 384, 128, true, false}, /* several blocks of queries and keys */
    };

    for (size_t i = 0; i < sizeof small / sizeof small[0]; i++) {
        mfu_bench_clear(b);
        if (check_shape(b, &small[i]) < 0)
            return -1;
    }
    return 0;
}

MFU_PROBE(cudnn_attention) = {
    .name = "cudnn_attention",
    .summary = "cuDNN's fused attention, forward and backward",
    .skip = skip,
    .points = points,
    .check = check,
    .run = run,
};
