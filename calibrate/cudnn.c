/*
 * cudnn.c - cuDNN's backend API: descriptors with attributes, some of which are
 * other descriptors.
 *
 * A graph takes this way: a descriptor for each tensor, one or two for each
 * step, one for all steps together; a heuristic names engines for it, best
 * first; the first that can be finalized is the plan.  A set of pointers and a
 * plan are what is executed.
 */
#include "cudnn.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_VERSION 90600 /* earlier ones want dq zeroed before they add to it */
#define LEAST_VERSION_TEXT "9.6"
#define MOST_DESCRIPTORS 192
#define MOST_ENGINES 8
#define ALIGNMENT 16 /* of tensors in memory, bytes */

/* From cudnn_graph.h of cuDNN 9: numbers and functions are part of its binary
 * interface and have stayed the same since 9.0, most since 8.0. */
enum descriptor {
    POINTWISE = 0,
    ENGINE_CONFIG = 3,
    HEURISTIC = 4,
    EXECUTION_PLAN = 5,
    POINTWISE_STEP = 13,
    OPERATION_GRAPH = 15,
    VARIANT_PACK = 16,
    TENSOR = 17,
    MATMUL = 18,
    MATMUL_STEP = 19,
    REDUCTION = 21,
    REDUCTION_STEP = 22,
    RESHAPE_STEP = 31,
    DEVICE = 38 /* since 9.8 */
};

enum attribute {
    POINTWISE_MODE = 0,
    POINTWISE_COMPUTE = 1,
    POINTWISE_AXIS = 9,
    HEURISTIC_MODE = 200,
    HEURISTIC_GRAPH = 201,
    HEURISTIC_RESULTS = 202,
    HEURISTIC_DEVICE = 204,
    PLAN_ENGINE_CONFIG = 401,
    PLAN_WORKSPACE = 402,
    POINTWISE_STEP_OPERATION = 750,
    POINTWISE_STEP_X = 751,
    POINTWISE_STEP_B = 752,
    POINTWISE_STEP_Y = 753,
    POINTWISE_STEP_WHERE = 758,
    GRAPH_HANDLE = 800,
    GRAPH_STEPS = 801,
    TENSOR_ALIGNMENT = 900,
    TENSOR_TYPE = 901,
    TENSOR_SIZES = 902,
    TENSOR_STRIDES = 903,
    TENSOR_NUMBER = 906,
    TENSOR_IS_VIRTUAL = 907,
    TENSOR_IS_BY_VALUE = 908,
    PACK_NUMBERS = 1000,
    PACK_POINTERS = 1001,
    PACK_WORKSPACE = 1003,
    MATMUL_COMPUTE = 1500,
    MATMUL_STEP_A = 1520,
    MATMUL_STEP_B = 1521,
    MATMUL_STEP_C = 1522,
    MATMUL_STEP_OPERATION = 1523,
    REDUCTION_OPERATOR = 1600,
    REDUCTION_COMPUTE = 1601,
    REDUCTION_STEP_X = 1610,
    REDUCTION_STEP_Y = 1611,
    REDUCTION_STEP_OPERATION = 1612,
    RESHAPE_STEP_X = 2200,
    RESHAPE_STEP_Y = 2201,
    DEVICE_JSON = 2702
};

/* What an attribute is given as. */
enum value {
    HANDLE_VALUE = 0,
    TYPE_VALUE = 1,
    BOOLEAN_VALUE = 2,
    INT64_VALUE = 3,
    POINTER_VALUE = 6,
    HEURISTIC_VALUE = 8,
    POINTWISE_VALUE = 14,
    DESCRIPTOR_VALUE = 15,
    REDUCTION_VALUE = 18,
    CHAR_VALUE = 24
};

enum data_type { FLOAT_DATA = 0, INT32_DATA = 4, BF16_DATA = 9, BOOLEAN_DATA = 11 };
enum { HEURISTIC_A = 3 }; /* the usual one: fast, and good */

/* clang-format off: a table */
#define FUNCTIONS(X)                                                                                                   \
    X(get_version, cudnnGetVersion, size_t, (void))                                                                    \
    X(create, cudnnCreate, int, (void **))                                                                             \
    X(destroy, cudnnDestroy, int, (void *))                                                                            \
    X(set_stream, cudnnSetStream, int, (void *, cudaStream_t))                                                         \
    X(last_error, cudnnGetLastErrorString, void, (char *, size_t))                                                     \
    X(status_name, cudnnGetErrorString, const char *, (int))                                                           \
    X(make_descriptor, cudnnBackendCreateDescriptor, int, (int, void **))                                              \
    X(destroy_descriptor, cudnnBackendDestroyDescriptor, int, (void *))                                                \
    X(finalize, cudnnBackendFinalize, int, (void *))                                                                   \
    X(set_attribute, cudnnBackendSetAttribute, int, (void *, int, int, int64_t, const void *))                         \
    X(get_attribute, cudnnBackendGetAttribute, int, (void *, int, int, int64_t, int64_t *, void *))                    \
    X(execute, cudnnBackendExecute, int, (void *, void *, void *))
/* clang-format on */

#define MEMBER(member, function, result, arguments) result(*member) arguments;

struct mfu_cudnn {
    void *library;
    void *handle; /* NULL before a start, and for a GPU elsewhere */
    cudaStream_t stream;
    void *device; /* the descriptor of a GPU elsewhere */
    int version;
    char error[400];
    struct {
        FUNCTIONS(MEMBER)
    } f;
};

struct mfu_cudnn_plan {
    struct mfu_cudnn *cudnn;
    struct mfu_graph graph;       /* its constants are read at each launch */
    void *made[MOST_DESCRIPTORS]; /* to be destroyed with the plan, last first */
    int n_made;
    bool failed; /* cudnn->error says how; the rest is not tried */
    void *plan;
    size_t workspace;
    void *set[MFU_CUDNN_SETS];
    int sets;
};

/* How cuDNN calls an operation of the graph. */
// clang-format off
static const struct {
    enum descriptor step;
    int mode;
    enum data_type compute;
    int axis;                   /* of an index, or 0 */
} operations[MFU_GRAPH_OPERATIONS] = {
    [MFU_GRAPH_MATMUL]   = {MATMUL_STEP,    0,   FLOAT_DATA,   0},
    [MFU_GRAPH_VIEW]     = {RESHAPE_STEP,   0,   FLOAT_DATA,   0},
    [MFU_GRAPH_SUM]      = {REDUCTION_STEP, 0,   FLOAT_DATA,   0},
    [MFU_GRAPH_MAX]      = {REDUCTION_STEP, 3,   FLOAT_DATA,   0},
    [MFU_GRAPH_ADD]      = {POINTWISE_STEP, 0,   FLOAT_DATA,   0},
    [MFU_GRAPH_SUBTRACT] = {POINTWISE_STEP, 9,   FLOAT_DATA,   0},
    [MFU_GRAPH_MULTIPLY] = {POINTWISE_STEP, 1,   FLOAT_DATA,   0},
    [MFU_GRAPH_DIVIDE]   = {POINTWISE_STEP, 6,   FLOAT_DATA,   0},
    [MFU_GRAPH_EXP]      = {POINTWISE_STEP, 13,  FLOAT_DATA,   0},
    [MFU_GRAPH_LOG]      = {POINTWISE_STEP, 15,  FLOAT_DATA,   0},
    [MFU_GRAPH_COPY]     = {POINTWISE_STEP, 21,  FLOAT_DATA,   0},
    [MFU_GRAPH_AT_LEAST] = {POINTWISE_STEP, 303, BOOLEAN_DATA, 0},
    [MFU_GRAPH_ROW]      = {POINTWISE_STEP, 501, FLOAT_DATA,   2},
    [MFU_GRAPH_COLUMN]   = {POINTWISE_STEP, 501, FLOAT_DATA,   3},
    [MFU_GRAPH_SELECT]   = {POINTWISE_STEP, 601, FLOAT_DATA,   0},
};
// clang-format on

static const enum data_type types[] = {
    [MFU_GRAPH_FP32] = FLOAT_DATA,
    [MFU_GRAPH_BF16] = BF16_DATA,
    [MFU_GRAPH_INT32] = INT32_DATA,
    [MFU_GRAPH_BOOLEAN] = BOOLEAN_DATA,
};

/* Whether a call went well; if not, error says which and what cuDNN knows. */
static bool good(struct mfu_cudnn *c, int status, const char *doing)
{
    char more[256] = "";

    if (status == 0)
        return true;
    c->f.last_error(more, sizeof more);
    more[strcspn(more, "\r\n")] = '\0';
    snprintf(c->error, sizeof c->error, "cuDNN %d.%d.%d, %s: %s%s%s", c->version / 10000, c->version / 100 % 100,
             c->version % 100, doing, c->f.status_name(status), *more ? ": " : "", more);
    return false;
}

/* Looks up all functions; returns the name of one that is missing, or NULL. */
static const char *find_functions(struct mfu_cudnn *c)
{
    const char *missing = NULL;

#define FIND(member, function, result, arguments)                                                                      \
    *(void **)&c->f.member = dlsym(c->library, #function);                                                             \
    if (!c->f.member)                                                                                                  \
        missing = #function;
    FUNCTIONS(FIND)
    return missing;
}

struct mfu_cudnn *mfu_cudnn_open(char *why, size_t size)
{
    const char *missing;
    struct mfu_cudnn *c = calloc(1, sizeof *c);

    if (!c) {
        snprintf(why, size, "out of memory");
        return NULL;
    }
    /* It brings further libraries and is not made to be unloaded. */
    c->library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_NODELETE);
    if (!c->library) {
        snprintf(why, size, "libcudnn.so.9 was not found");
        goto failed;
    }
    missing = find_functions(c);
    if (missing) {
        snprintf(why, size, "libcudnn.so.9 has no %s", missing);
        goto failed;
    }
    c->version = (int)c->f.get_version();
    if (c->version < LEAST_VERSION) {
        snprintf(why, size, "libcudnn.so.9 is %d.%d, older than " LEAST_VERSION_TEXT, c->version / 10000,
                 c->version / 100 % 100);
        goto failed;
    }
    return c;
failed:
    mfu_cudnn_close(c);
    return NULL;
}

static void stop(struct mfu_cudnn *c)
{
    if (c->handle)
        c->f.destroy(c->handle);
    if (c->device)
        c->f.destroy_descriptor(c->device);
    c->handle = c->device = NULL;
}

void mfu_cudnn_close(struct mfu_cudnn *c)
{
    if (!c)
        return;
    stop(c);
    if (c->library)
        dlclose(c->library);
    free(c);
}

int mfu_cudnn_version(const struct mfu_cudnn *c)
{
    return c->version;
}

const char *mfu_cudnn_error(const struct mfu_cudnn *c)
{
    return c->error;
}

int mfu_cudnn_start(struct mfu_cudnn *c, cudaStream_t stream)
{
    void *handle = NULL;

    stop(c);
    if (!good(c, c->f.create(&handle), "starting on this GPU"))
        return -1;
    c->handle = handle;
    c->stream = stream;
    return good(c, c->f.set_stream(handle, stream), "setting the stream") ? 0 : -1;
}

int mfu_cudnn_start_for(struct mfu_cudnn *c, const char *gpu)
{
    stop(c);
    if (!good(c, c->f.make_descriptor(DEVICE, &c->device), "describing a GPU"))
        return -1;
    return good(c, c->f.set_attribute(c->device, DEVICE_JSON, CHAR_VALUE, (int64_t)strlen(gpu), gpu),
                "reading a GPU's properties")
            && good(c, c->f.finalize(c->device), "taking a GPU's properties")
        ? 0
        : -1;
}

/* A new descriptor that belongs to the plan; NULL once something failed. */
static void *make(struct mfu_cudnn_plan *p, enum descriptor kind, const char *doing)
{
    struct mfu_cudnn *c = p->cudnn;
    void *d = NULL;

    if (p->failed)
        return NULL;
    if (p->n_made == MOST_DESCRIPTORS) {
        snprintf(c->error, sizeof c->error, "too many of cuDNN's descriptors in one graph");
        p->failed = true;
    } else if (!good(c, c->f.make_descriptor(kind, &d), doing)) {
        p->failed = true;
    } else {
        p->made[p->n_made++] = d;
    }
    return p->failed ? NULL : d;
}

static void set(struct mfu_cudnn_plan *p, void *d, enum attribute name, enum value type, int64_t n, const void *values)
{
    char doing[48];

    if (p->failed)
        return;
    snprintf(doing, sizeof doing, "setting attribute %d", (int)name);
    p->failed = !good(p->cudnn, p->cudnn->f.set_attribute(d, (int)name, (int)type, n, values), doing);
}

static void set_enum(struct mfu_cudnn_plan *p, void *d, enum attribute name, enum value type, int value)
{
    set(p, d, name, type, 1, &value);
}

static void set_descriptor(struct mfu_cudnn_plan *p, void *d, enum attribute name, void *other)
{
    set(p, d, name, DESCRIPTOR_VALUE, 1, &other);
}

static void finish(struct mfu_cudnn_plan *p, void *d, const char *doing)
{
    if (!p->failed)
        p->failed = !good(p->cudnn, p->cudnn->f.finalize(d), doing);
}

static void *make_tensor(struct mfu_cudnn_plan *p, int number)
{
    const struct mfu_graph_tensor *t = &p->graph.tensor[number];
    const bool is_virtual = t->place == MFU_GRAPH_INSIDE;
    const bool by_value = t->place == MFU_GRAPH_CONSTANT;
    const int64_t alignment = ALIGNMENT;
    const int64_t unique = number;
    char doing[48];
    void *d;

    snprintf(doing, sizeof doing, "describing tensor %d", number);
    d = make(p, TENSOR, doing);
    set_enum(p, d, TENSOR_TYPE, TYPE_VALUE, (int)types[t->type]);
    set(p, d, TENSOR_SIZES, INT64_VALUE, 4, t->size);
    set(p, d, TENSOR_STRIDES, INT64_VALUE, 4, t->stride);
    set(p, d, TENSOR_NUMBER, INT64_VALUE, 1, &unique);
    set(p, d, TENSOR_ALIGNMENT, INT64_VALUE, 1, &alignment);
    set(p, d, TENSOR_IS_VIRTUAL, BOOLEAN_VALUE, 1, &is_virtual);
    set(p, d, TENSOR_IS_BY_VALUE, BOOLEAN_VALUE, 1, &by_value);
    finish(p, d, doing);
    return d;
}

static void *make_matmul(struct mfu_cudnn_plan *p, const struct mfu_graph_step *s, void *const *tensor,
                         const char *doing)
{
    void *operation = make(p, MATMUL, doing);
    void *d;

    set_enum(p, operation, MATMUL_COMPUTE, TYPE_VALUE, FLOAT_DATA);
    finish(p, operation, doing);
    d = make(p, MATMUL_STEP, doing);
    set_descriptor(p, d, MATMUL_STEP_OPERATION, operation);
    set_descriptor(p, d, MATMUL_STEP_A, tensor[s->x]);
    set_descriptor(p, d, MATMUL_STEP_B, tensor[s->b]);
    set_descriptor(p, d, MATMUL_STEP_C, tensor[s->y]);
    return d;
}

static void *make_reduction(struct mfu_cudnn_plan *p, const struct mfu_graph_step *s, void *const *tensor,
                            const char *doing)
{
    void *operation = make(p, REDUCTION, doing);
    void *d;

    set_enum(p, operation, REDUCTION_OPERATOR, REDUCTION_VALUE, operations[s->operation].mode);
    set_enum(p, operation, REDUCTION_COMPUTE, TYPE_VALUE, FLOAT_DATA);
    finish(p, operation, doing);
    d = make(p, REDUCTION_STEP, doing);
    set_descriptor(p, d, REDUCTION_STEP_OPERATION, operation);
    set_descriptor(p, d, REDUCTION_STEP_X, tensor[s->x]);
    set_descriptor(p, d, REDUCTION_STEP_Y, tensor[s->y]);
    return d;
}

static void *make_pointwise(struct mfu_cudnn_plan *p, const struct mfu_graph_step *s, void *const *tensor,
                            const char *doing)
{
    const int64_t axis = operations[s->operation].axis;
    void *operation = make(p, POINTWISE, doing);
    void *d;

    set_enum(p, operation, POINTWISE_MODE, POINTWISE_VALUE, operations[s->operation].mode);
    set_enum(p, operation, POINTWISE_COMPUTE, TYPE_VALUE, (int)operations[s->operation].compute);
    if (axis)
        set(p, operation, POINTWISE_AXIS, INT64_VALUE, 1, &axis);
    finish(p, operation, doing);
    d = make(p, POINTWISE_STEP, doing);
    set_descriptor(p, d, POINTWISE_STEP_OPERATION, operation);
    set_descriptor(p, d, POINTWISE_STEP_X, tensor[s->x]);
    if (s->b != MFU_GRAPH_NONE)
        set_descriptor(p, d, POINTWISE_STEP_B, tensor[s->b]);
    if (s->where != MFU_GRAPH_NONE)
        set_descriptor(p, d, POINTWISE_STEP_WHERE, tensor[s->where]);
    set_descriptor(p, d, POINTWISE_STEP_Y, tensor[s->y]);
    return d;
}

static void *make_step(struct mfu_cudnn_plan *p, int number, void *const *tensor)
{
    const struct mfu_graph_step *s = &p->graph.step[number];
    char doing[48];
    void *d;

    snprintf(doing, sizeof doing, "describing step %d", number);
    switch (operations[s->operation].step) {
    case MATMUL_STEP: d = make_matmul(p, s, tensor, doing); break;
    case REDUCTION_STEP: d = make_reduction(p, s, tensor, doing); break;
    case RESHAPE_STEP:
        d = make(p, RESHAPE_STEP, doing);
        set_descriptor(p, d, RESHAPE_STEP_X, tensor[s->x]);
        set_descriptor(p, d, RESHAPE_STEP_Y, tensor[s->y]);
        break;
    default: d = make_pointwise(p, s, tensor, doing);
    }
    finish(p, d, doing);
    return d;
}

static void *make_graph(struct mfu_cudnn_plan *p)
{
    const struct mfu_graph *g = &p->graph;
    void *tensor[sizeof g->tensor / sizeof g->tensor[0]];
    void *step[sizeof g->step / sizeof g->step[0]];
    void *d;

    for (int i = 0; i < g->tensors; i++)
        tensor[i] = make_tensor(p, i);
    for (int i = 0; i < g->steps; i++)
        step[i] = make_step(p, i, tensor);
    d = make(p, OPERATION_GRAPH, "composing the graph");
    set(p, d, GRAPH_STEPS, DESCRIPTOR_VALUE, g->steps, step);
    if (p->cudnn->handle)
        set(p, d, GRAPH_HANDLE, HANDLE_VALUE, 1, &p->cudnn->handle);
    finish(p, d, "composing the graph");
    return d;
}

/* Engines that could run the graph, best first: how many. */
static int find_engines(struct mfu_cudnn_plan *p, void *graph, void **engine)
{
    struct mfu_cudnn *c = p->cudnn;
    void *d = make(p, HEURISTIC, "choosing kernels");
    int64_t n = 0;

    set_descriptor(p, d, HEURISTIC_GRAPH, graph);
    set_enum(p, d, HEURISTIC_MODE, HEURISTIC_VALUE, HEURISTIC_A);
    if (c->device)
        set_descriptor(p, d, HEURISTIC_DEVICE, c->device);
    finish(p, d, "choosing kernels");
    for (int i = 0; i < MOST_ENGINES; i++)
        engine[i] = make(p, ENGINE_CONFIG, "choosing kernels");
    if (p->failed
        || !good(c, c->f.get_attribute(d, HEURISTIC_RESULTS, DESCRIPTOR_VALUE, MOST_ENGINES, &n, engine),
                 "choosing kernels"))
        return 0;
    if (n == 0)
        snprintf(c->error, sizeof c->error, "cuDNN %d.%d.%d has no kernel for this graph on this GPU",
                 c->version / 10000, c->version / 100 % 100, c->version % 100);
    return (int)(n < MOST_ENGINES ? n : MOST_ENGINES);
}

/* Makes the first of the engines that works the plan. */
static bool compile(struct mfu_cudnn_plan *p, void *const *engine, int n)
{
    struct mfu_cudnn *c = p->cudnn;
    int64_t workspace = 0;
    int64_t count = 0;

    for (int i = 0; i < n && !p->plan && !p->failed; i++) {
        void *d = make(p, EXECUTION_PLAN, "compiling kernels");

        set_descriptor(p, d, PLAN_ENGINE_CONFIG, engine[i]);
        if (!p->failed && good(c, c->f.finalize(d), "compiling kernels"))
            p->plan = d;
    }
    if (!p->plan
        || !good(c, c->f.get_attribute(p->plan, PLAN_WORKSPACE, INT64_VALUE, 1, &count, &workspace),
                 "asking for the workspace"))
        return false;
    p->workspace = (size_t)workspace;
    return true;
}

/* A plan without anything; NULL when out of memory. */
static struct mfu_cudnn_plan *start_plan(struct mfu_cudnn *c, const struct mfu_graph *g)
{
    struct mfu_cudnn_plan *p = calloc(1, sizeof *p);

    if (!p) {
        snprintf(c->error, sizeof c->error, "out of memory");
        return NULL;
    }
    p->cudnn = c;
    p->graph = *g;
    return p;
}

int mfu_cudnn_accepts(struct mfu_cudnn *c, const struct mfu_graph *g)
{
    struct mfu_cudnn_plan *p = start_plan(c, g);
    bool accepted;

    if (!p)
        return -1;
    make_graph(p);
    accepted = !p->failed;
    mfu_cudnn_forget(p);
    return accepted ? 0 : -1;
}

struct mfu_cudnn_plan *mfu_cudnn_plan(struct mfu_cudnn *c, const struct mfu_graph *g)
{
    void *engine[MOST_ENGINES];
    struct mfu_cudnn_plan *p = start_plan(c, g);

    if (!p)
        return NULL;
    if (compile(p, engine, find_engines(p, make_graph(p), engine)))
        return p;
    mfu_cudnn_forget(p);
    return NULL;
}

void mfu_cudnn_forget(struct mfu_cudnn_plan *p)
{
    if (!p)
        return;
    if (p->sets > 0)
        cudaStreamSynchronize(p->cudnn->stream); /* its kernels go with it */
    while (p->n_made > 0)
        p->cudnn->f.destroy_descriptor(p->made[--p->n_made]);
    free(p);
}

size_t mfu_cudnn_workspace(const struct mfu_cudnn_plan *p)
{
    return p->workspace;
}

int mfu_cudnn_bind(struct mfu_cudnn_plan *p, void *const *data, void *workspace)
{
    enum { MOST = sizeof p->graph.tensor / sizeof p->graph.tensor[0] };
    int64_t number[MOST];
    void *pointer[MOST];
    void *d;
    int n = 0;

    if (p->sets == MFU_CUDNN_SETS) {
        snprintf(p->cudnn->error, sizeof p->cudnn->error, "too many sets of buffers for one plan");
        return -1;
    }
    for (int i = 0; i < p->graph.tensors; i++) {
        struct mfu_graph_tensor *t = &p->graph.tensor[i];

        if (t->place == MFU_GRAPH_INSIDE)
            continue;
        number[n] = i;
        pointer[n++] = t->place == MFU_GRAPH_CONSTANT ? &t->value : data[i];
    }
    d = make(p, VARIANT_PACK, "binding buffers");
    set(p, d, PACK_NUMBERS, INT64_VALUE, n, number);
    set(p, d, PACK_POINTERS, POINTER_VALUE, n, pointer);
    set(p, d, PACK_WORKSPACE, POINTER_VALUE, 1, &workspace);
    finish(p, d, "binding buffers");
    if (p->failed)
        return -1;
    p->set[p->sets] = d;
    return p->sets++;
}

int mfu_cudnn_launch(struct mfu_cudnn_plan *p, int number)
{
    struct mfu_cudnn *c = p->cudnn;

    return good(c, c->f.execute(c->handle, p->plan, p->set[number]), "launching") ? 0 : -1;
}
