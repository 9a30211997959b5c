/*
 * emulate_cudnn.c - cudnn.h on the CPU: computes a graph step by step, so that
 * the checks of probes hold what the graph says against the references.
 *
 * Every tensor is an array of floats in the order of its strides, rounded to its
 * type.
 */
#include "cudnn.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

enum { MOST_TENSORS = sizeof((struct mfu_graph *)NULL)->tensor / sizeof(struct mfu_graph_tensor) };

/* A graph that contradicts itself ends the test. */
static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "a graph is wrong: %s\n", what);
    abort();
}

struct mfu_cudnn {
    char error[80];
};

struct mfu_cudnn_plan {
    struct mfu_graph graph;
    void *data[MFU_CUDNN_SETS][MOST_TENSORS];
    int sets;
    float *value[MOST_TENSORS];
};

struct mfu_cudnn *mfu_cudnn_open(char *why, size_t size)
{
    struct mfu_cudnn *c = calloc(1, sizeof *c);

    if (!c)
        snprintf(why, size, "out of memory");
    return c;
}

void mfu_cudnn_close(struct mfu_cudnn *c)
{
    free(c);
}

int mfu_cudnn_version(const struct mfu_cudnn *c)
{
    (void)c;
    return 91900;
}

int mfu_cudnn_start(struct mfu_cudnn *c, cudaStream_t stream)
{
    (void)c;
    (void)stream;
    return 0;
}

const char *mfu_cudnn_error(const struct mfu_cudnn *c)
{
    return c->error;
}

struct mfu_cudnn_plan *mfu_cudnn_plan(struct mfu_cudnn *c, const struct mfu_graph *g)
{
    struct mfu_cudnn_plan *p = calloc(1, sizeof *p);

    (void)c;
    if (!p)
        abort();
    p->graph = *g;
    for (int i = 0; i < g->tensors; i++) {
        p->value[i] = calloc((size_t)mfu_graph_elements(&g->tensor[i]), sizeof(float));
        if (!p->value[i])
            abort();
    }
    return p;
}

void mfu_cudnn_forget(struct mfu_cudnn_plan *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->graph.tensors; i++)
        free(p->value[i]);
    free(p);
}

size_t mfu_cudnn_workspace(const struct mfu_cudnn_plan *p)
{
    (void)p;
    return 0;
}

int mfu_cudnn_bind(struct mfu_cudnn_plan *p, void *const *data, void *workspace)
{
    (void)workspace;
    must(p->sets < MFU_CUDNN_SETS, "too many sets");
    for (int i = 0; i < p->graph.tensors; i++)
        if (p->graph.tensor[i].place == MFU_GRAPH_MEMORY)
            p->data[p->sets][i] = data[i];
    return p->sets++;
}

/* Reads a tensor from memory, or the number that a constant is. */
static void load(const struct mfu_graph_tensor *t, const void *from, float *to)
{
    const int64_t n = mfu_graph_elements(t);

    for (int64_t i = 0; i < n; i++)
        to[i] = t->place == MFU_GRAPH_CONSTANT ? t->value
            : t->type == MFU_GRAPH_BF16        ? mfu_ref_from_bf16(((const unsigned short *)from)[i])
                                               : ((const float *)from)[i];
}

/* Rounds what a step computed to the tensor's type; writes it to memory. */
static void store(const struct mfu_graph_tensor *t, float *value, void *to)
{
    const int64_t n = mfu_graph_elements(t);

    for (int64_t i = 0; i < n; i++) {
        if (t->type == MFU_GRAPH_BF16)
            value[i] = mfu_ref_round_bf16(value[i]);
        if (t->place != MFU_GRAPH_MEMORY)
            continue;
        if (t->type == MFU_GRAPH_BF16)
            ((unsigned short *)to)[i] = mfu_ref_to_bf16(value[i]);
        else
            ((float *)to)[i] = value[i];
    }
}

/* Where the element of `t` lies that belongs to element `at` of a tensor of
 * `size`: one that is smaller is shared by groups. */
static int64_t offset(const struct mfu_graph_tensor *t, const int64_t *at, const int64_t *size)
{
    int64_t sum = 0;

    for (int i = 0; i < 4; i++) {
        must(size[i] % t->size[i] == 0, "sizes of a step do not divide");
        sum += at[i] * t->size[i] / size[i] * t->stride[i];
    }
    return sum;
}

/* Goes on to the next element; false after the last. */
static bool next(int64_t *at, const int64_t *size)
{
    for (int i = 3; i >= 0; i--) {
        if (++at[i] < size[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static void matmul(const struct mfu_graph_tensor *x, const float *x_value, const struct mfu_graph_tensor *b,
                   const float *b_value, const struct mfu_graph_tensor *y, float *y_value)
{
    int64_t at[4] = {0};

    must(x->size[2] == y->size[2] && x->size[3] == b->size[2] && b->size[3] == y->size[3],
         "matrices do not fit each other");
    do {
        /* The first of the row of x and of the column of b. */
        const int64_t row[4] = {at[0], at[1], at[2], 0};
        const int64_t column[4] = {at[0], at[1], 0, at[3]};
        const int64_t x_size[4] = {y->size[0], y->size[1], y->size[2], x->size[3]};
        const int64_t b_size[4] = {y->size[0], y->size[1], b->size[2], y->size[3]};
        const float *from = x_value + offset(x, row, x_size);
        const float *with = b_value + offset(b, column, b_size);
        double sum = 0;

        for (int64_t k = 0; k < x->size[3]; k++)
            sum += (double)from[k * x->stride[3]] * (double)with[k * b->stride[2]];
        y_value[offset(y, at, y->size)] = (float)sum;
    } while (next(at, y->size));
}

static void reduce(enum mfu_graph_operation operation, const struct mfu_graph_tensor *x, const float *x_value,
                   const struct mfu_graph_tensor *y, float *y_value)
{
    const int64_t n = mfu_graph_elements(y);
    int64_t at[4] = {0};

    for (int64_t i = 0; i < n; i++)
        y_value[i] = operation == MFU_GRAPH_SUM ? 0 : -INFINITY;
    do {
        const float value = x_value[offset(x, at, x->size)];
        float *to = &y_value[offset(y, at, x->size)];

        *to = operation == MFU_GRAPH_SUM ? *to + value : fmaxf(*to, value);
    } while (next(at, x->size));
}

static float element(enum mfu_graph_operation operation, float x, float b, bool where, const int64_t *at)
{
    switch (operation) {
    case MFU_GRAPH_ADD: return x + b;
    case MFU_GRAPH_SUBTRACT: return x - b;
    case MFU_GRAPH_MULTIPLY: return x * b;
    case MFU_GRAPH_DIVIDE: return x / b;
    case MFU_GRAPH_EXP: return expf(x);
    case MFU_GRAPH_LOG: return logf(x);
    case MFU_GRAPH_COPY: return x;
    case MFU_GRAPH_AT_LEAST: return x >= b;
    case MFU_GRAPH_ROW: return (float)at[2];
    case MFU_GRAPH_COLUMN: return (float)at[3];
    case MFU_GRAPH_SELECT: return where ? x : b;
    default: abort();
    }
}

static void elements(const struct mfu_cudnn_plan *p, const struct mfu_graph_step *s)
{
    const struct mfu_graph_tensor *t = p->graph.tensor;
    const int64_t *size = t[s->y].size;
    int64_t at[4] = {0};

    do {
        const float x = p->value[s->x][offset(&t[s->x], at, size)];
        const float b = s->b == MFU_GRAPH_NONE ? 0 : p->value[s->b][offset(&t[s->b], at, size)];
        const bool where = s->where != MFU_GRAPH_NONE && p->value[s->where][offset(&t[s->where], at, size)] != 0;

        p->value[s->y][offset(&t[s->y], at, size)] = element(s->operation, x, b, where, at);
    } while (next(at, size));
}

static void compute(struct mfu_cudnn_plan *p, const struct mfu_graph_step *s)
{
    const struct mfu_graph_tensor *x = &p->graph.tensor[s->x];
    const struct mfu_graph_tensor *y = &p->graph.tensor[s->y];

    switch (s->operation) {
    case MFU_GRAPH_MATMUL: matmul(x, p->value[s->x], &p->graph.tensor[s->b], p->value[s->b], y, p->value[s->y]); break;
    case MFU_GRAPH_SUM:
    case MFU_GRAPH_MAX: reduce(s->operation, x, p->value[s->x], y, p->value[s->y]); break;
    case MFU_GRAPH_VIEW:
        must(mfu_graph_elements(x) == mfu_graph_elements(y), "a view has another size");
        memcpy(p->value[s->y], p->value[s->x], (size_t)mfu_graph_elements(y) * sizeof(float));
        break;
    default: elements(p, s);
    }
}

int mfu_cudnn_launch(struct mfu_cudnn_plan *p, int set)
{
    const struct mfu_graph *g = &p->graph;

    for (int i = 0; i < g->tensors; i++)
        if (g->tensor[i].place != MFU_GRAPH_INSIDE)
            load(&g->tensor[i], p->data[set][i], p->value[i]);
    for (int i = 0; i < g->steps; i++) {
        compute(p, &g->step[i]);
        store(&g->tensor[g->step[i].y], p->value[g->step[i].y], p->data[set][g->step[i].y]);
    }
    return 0;
}
