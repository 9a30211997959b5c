/*
 * sample.c - what mfuplan-calibrate writes, as kernels of the cost model.
 *
 * GEMMs that run longer meet the power limit: clocks fall with
 * t/(t + gemm.settling),
 * about the form fitted to published sweeps (docs/cost-model.md);
 * sustained ones have settled.  The kernels of mfuplan-calibrate stand for those of
 * Triton and C programs that do the same, which run somewhat faster or slower: their
 * classes carry a systematic error, which PyTorch's own and cuBLAS's hardly do.
 */
#include "cost/sample.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cost/collective.h"
#include "descriptor/yaml.h"
#include "scenario/scenario.h"
#include "cost/law.h"

/* ---- one entry ----------------------------------------------------------- */

enum number {
    SECONDS,
    SPREAD,
    M,
    N,
    K,
    BATCH,
    ACCUMULATE,
    OUT_BYTES,
    SUSTAINED,
    WARM,
    BYTES,
    FUSED,
    ROWS,
    COLUMNS,
    READ_BYTES,
    WRITE_BYTES,
    REREAD_BYTES,
    HALF_SHARE,
    LAUNCHES,
    HEADS,
    KV_HEADS,
    SEQ,
    HEAD_DIM,
    CAUSAL,
    GPUS,
    NODES,
    NUMBERS
};
static const struct {
    const char *key;
    enum mfu_dim dim;
    double least, most;
} numbers[NUMBERS] = {
    [SECONDS] = {"seconds", MFU_SECONDS, 1e-9, 1e4},
    [SPREAD] = {"spread", MFU_RATIO, 0, 10},
    [M] = {"m", MFU_COUNT, 1, 1e9},
    [N] = {"n", MFU_COUNT, 1, 1e9},
    [K] = {"k", MFU_COUNT, 1, 1e9},
    [BATCH] = {"batch", MFU_COUNT, 1, 1e9},
    [ACCUMULATE] = {"accumulate", MFU_COUNT, 0, 1},
    [OUT_BYTES] = {"out_bytes", MFU_BYTES, 0.5, 16},
    [SUSTAINED] = {"sustained", MFU_COUNT, 0, 1},
    [WARM] = {"warm", MFU_COUNT, 0, 1},
    [BYTES] = {"bytes", MFU_BYTES, 1, 1e13},
    [FUSED] = {"fused", MFU_COUNT, 0, 1},
    [ROWS] = {"rows", MFU_COUNT, 1, 1e12},
    [COLUMNS] = {"columns", MFU_COUNT, 1, 1e12},
    [READ_BYTES] = {"read_bytes", MFU_BYTES, 0, 1e13},
    [WRITE_BYTES] = {"write_bytes", MFU_BYTES, 0, 1e13},
    [REREAD_BYTES] = {"reread_bytes", MFU_BYTES, 0, 1e13},
    [HALF_SHARE] = {"half_share", MFU_RATIO, 0, 1},
    [LAUNCHES] = {"launches", MFU_COUNT, 1, 1e6},
    [HEADS] = {"heads", MFU_COUNT, 1, 1e6},
    [KV_HEADS] = {"kv_heads", MFU_COUNT, 1, 1e6},
    [SEQ] = {"seq", MFU_COUNT, 1, 1e9},
    [HEAD_DIM] = {"head_dim", MFU_COUNT, 1, 4096},
    [CAUSAL] = {"causal", MFU_COUNT, 0, 1},
    [GPUS] = {"gpus", MFU_COUNT, 1, 1e6},
    [NODES] = {"nodes", MFU_COUNT, 1, 1e6},
};

struct entry {
    char probe[48], kind[48], pass[48], dtype[48], by[48]; /* by: "torch", or "": our own */
    double x[NUMBERS];                                     /* NAN: not given */
};

static int read_text(struct mfu_yaml *yaml, struct mfu_yaml_node *from, const char *key, char *text, size_t size,
                     struct mfu_error *err)
{
    struct mfu_yaml_node *node = mfu_node_find(from, key);
    const char *said = node ? mfu_node_text(node) : "";

    if (!said || strlen(said) >= size)
        return mfu_node_fail(yaml, node, err, "%s: expected a text of at most %zu characters", key, size - 1);
    snprintf(text, size, "%s", said);
    return 0;
}

static int read_number(struct mfu_yaml *yaml, struct mfu_yaml_node *from, const char *key, enum mfu_dim dim,
                       double least, double most, double *x, struct mfu_error *err)
{
    struct mfu_yaml_node *node = mfu_node_find(from, key);

    if (!node || mfu_node_absent(node))
        return 0;
    if (mfu_node_quantity(yaml, node, dim, x, err) < 0)
        return mfu_within(err, "%s", key);
    if (*x >= least && *x <= most)
        return 0;
    return mfu_node_fail(yaml, node, err, "%s: %g is outside %g..%g", key, *x, least, most);
}

static int read_entry(struct mfu_yaml *yaml, struct mfu_yaml_node *node, struct entry *e, struct mfu_error *err)
{
    memset(e, 0, sizeof *e);
    if (mfu_node_type(node) != MFU_MAPPING)
        return mfu_node_fail(yaml, node, err,
                             "expected a sample such as {probe: stream, kind: copy, bytes: 2e9, seconds: 1e-3}");
    if (read_text(yaml, node, "probe", e->probe, sizeof e->probe, err) < 0
        || read_text(yaml, node, "kind", e->kind, sizeof e->kind, err) < 0
        || read_text(yaml, node, "pass", e->pass, sizeof e->pass, err) < 0
        || read_text(yaml, node, "dtype", e->dtype, sizeof e->dtype, err) < 0
        || read_text(yaml, node, "by", e->by, sizeof e->by, err) < 0)
        return -1;
    for (int i = 0; i < NUMBERS; i++) {
        e->x[i] = NAN;
        if (read_number(yaml, node, numbers[i].key, numbers[i].dim, numbers[i].least, numbers[i].most, &e->x[i], err)
            < 0)
            return -1;
    }
    if (!isnan(e->x[SECONDS]))
        return 0;
    return mfu_node_fail(yaml, node, err, "'seconds' is missing");
}

/* ---- entries as samples -------------------------------------------------- */

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static double or_else(double x, double otherwise)
{
    return isnan(x) ? otherwise : x;
}

/* The class of that name; a new one if there is room, else the last.  What the
 * callers expect of spread and systematic error (fit.h) are estimates. */
static int class_of(struct mfu_samples *s, const char *name, double spread, double systematic)
{
    int i = 0;
    char *copy;

    while (i < s->n_classes && !is(s->classes[i].name, name))
        i++;
    if (i < s->n_classes)
        return i;
    copy = s->n_classes < MFU_FIT_CLASSES ? mfu_arena_copy(&s->arena, name, strlen(name)) : NULL;
    if (!copy)
        return s->n_classes - 1;
    s->classes[s->n_classes] = (struct mfu_fit_class){copy, spread, systematic, 0};
    return s->n_classes++;
}

static const struct {
    const char *name;
    enum mfu_peak math;
    double in_bytes, out_bytes;
} dtypes[] = {{"bf16", MFU_PEAK_BF16, 2, 2},
              {"fp16", MFU_PEAK_FP16, 2, 2},
              {"tf32", MFU_PEAK_TF32, 4, 4},
              {"fp32", MFU_PEAK_FP32, 4, 4},
              {"fp8", MFU_PEAK_FP8, 1, 2}};

static int dtype_of(const char *name)
{
    for (int i = 0; i < (int)(sizeof dtypes / sizeof dtypes[0]); i++)
        if (is(dtypes[i].name, name))
            return i;
    return -1;
}

static bool take_gemm(struct mfu_samples *s, const struct entry *e, struct mfu_sample *to)
{
    int d = dtype_of(e->dtype);
    char name[48];

    if (d < 0 || !(e->x[M] > 0 && e->x[N] > 0 && e->x[K] > 0))
        return false;
    to->kernel = mfu_kernel_gemm(dtypes[d].math, e->x[M], e->x[N], e->x[K], or_else(e->x[BATCH], 1), dtypes[d].in_bytes,
                                 or_else(e->x[OUT_BYTES], dtypes[d].out_bytes), e->x[ACCUMULATE] > 0);
    snprintf(name, sizeof name, "gemm %.16s%s", e->dtype, to->kernel.aligned ? "" : " unaligned");
    to->kind = class_of(s, name, 0.05, 0.01);
    return true;
}

/* Kernels that stream, and what they stand for. */
static const struct stream {
    const char *probe, *pass, *of; /* of: how its kind begins */
    enum mfu_kind kind;
    enum mfu_coefficient plain;
    double flops; /* per element */
} streams[] = {{"norm", "backward", "", MFU_NORM, MFU_C_DRAM_NORM_BACKWARD, 14},
               {"norm", "", "", MFU_NORM, MFU_C_DRAM_NORM, 8},
               {"softmax", "", "", MFU_REDUCTION, MFU_C_DRAM_SOFTMAX, 5},
               {"cross_entropy", "", "", MFU_LOSS, MFU_C_DRAM_POINTWISE, 5},
               {"gelu", "", "", MFU_POINTWISE, MFU_C_DRAM_POINTWISE, 10},
               {"pointwise", "", "", MFU_POINTWISE, MFU_C_DRAM_POINTWISE, 1},
               {"irregular", "", "cast", MFU_CAST, MFU_C_DRAM_POINTWISE, 0},
               {"irregular", "", "transpose", MFU_COPY, MFU_C_DRAM_IRREGULAR, 0},
               {"irregular", "", "", MFU_POINTWISE, MFU_C_DRAM_IRREGULAR, 1},
               {"dropout", "", "", MFU_POINTWISE, MFU_C_DRAM_DROPOUT, 3},
               {"reduction", "", "", MFU_REDUCTION, MFU_C_DRAM_REDUCTION, 1},
               {"compiled", "backward", "", MFU_NORM, MFU_C_DRAM_FUSED_NORM_BACKWARD, 14},
               {"compiled", "", "", MFU_POINTWISE, MFU_C_DRAM_FUSED, 10},
               {"adamw", "", "", MFU_OPTIMIZER_STEP, MFU_C_DRAM_OPTIMIZER, 12},
               {"embedding", "", "", MFU_EMBEDDING, MFU_C_DRAM_EMBEDDING, 0}};

/* Relative, that all samples of a class share: of kernels that stand for others, of the
 * kernels that will run (estimated). */
#define STANDS_FOR_OTHERS 0.15
#define IS_THE_SAME 0.02

static bool take_stream(struct mfu_samples *s, const struct entry *e, struct mfu_sample *to)
{
    double rows = or_else(e->x[ROWS], 1), columns = or_else(e->x[COLUMNS], 1);
    const struct stream *row = NULL;
    enum mfu_coefficient traffic;
    bool fused = e->x[FUSED] > 0, torch = is(e->by, "torch");
    char name[96];

    for (size_t i = 0; i < sizeof streams / sizeof streams[0] && !row; i++)
        if (is(streams[i].probe, e->probe) && (!streams[i].pass[0] || is(streams[i].pass, e->pass))
            && strncmp(streams[i].of, e->kind, strlen(streams[i].of)) == 0)
            row = &streams[i];
    if (!row || !(or_else(e->x[READ_BYTES], 0) + or_else(e->x[WRITE_BYTES], 0) > 0))
        return false;
    /* Fused optimizers and losses of one pass are what PyTorch has, too. */
    traffic = fused && mfu_kinds[row->kind].group != MFU_GROUP_UPDATES ? mfu_fused_traffic(row->plain) : row->plain;
    to->kernel = mfu_kernel_stream(row->kind, traffic, rows, columns, row->flops * rows * columns,
                                   or_else(e->x[READ_BYTES], 0), or_else(e->x[WRITE_BYTES], 0));
    to->kernel.launches = or_else(e->x[LAUNCHES], 1);
    to->kernel.half_share = or_else(e->x[HALF_SHARE], 0);
    to->kernel.reread_bytes = or_else(e->x[REREAD_BYTES], 0);
    snprintf(name, sizeof name, "%s%.20s%s%.20s%s%.16s%s", torch ? "torch " : "", e->probe, torch ? " " : "",
             torch ? e->kind : "", e->pass[0] ? " " : "", e->pass, fused ? " fused" : "");
    to->kind = class_of(s, name, 0.08, torch ? IS_THE_SAME : STANDS_FOR_OTHERS);
    return true;
}

static bool take_copy(struct mfu_samples *s, const struct entry *e, struct mfu_sample *to)
{
    double read = is(e->kind, "triad") ? 2. / 3 : 0.5;

    if (!(e->x[BYTES] > 0))
        return false;
    to->kernel = mfu_kernel_stream(MFU_COPY, MFU_C_DRAM_POINTWISE, 1, e->x[BYTES], 0, read * e->x[BYTES],
                                   (1 - read) * e->x[BYTES]);
    to->kind = class_of(s, "stream", 0.05, 0.03);
    return true;
}

/* Systematic errors of the law: that of math attention, several kernels with a
 * law of their own each, is coarse (estimated). */
#define FUSED_SYSTEMATIC 0.02
#define MATH_SYSTEMATIC 0.3

static bool take_attention(struct mfu_samples *s, const struct entry *e, struct mfu_sample *to)
{
    int d = dtype_of(e->dtype);
    struct mfu_attention a;
    char name[64];
    int i = 0;

    while (i < MFU_ATTENTION_COUNT && !is(mfu_attentions[i].name, e->kind))
        i++;
    if (d < 0 || i == MFU_ATTENTION_COUNT || !(e->x[SEQ] > 0 && e->x[HEADS] > 0 && e->x[HEAD_DIM] > 0))
        return false;
    a = (struct mfu_attention){.kind = (enum mfu_attention_kind)i,
                               .math = dtypes[d].math,
                               .sequences = or_else(e->x[BATCH], 1),
                               .seq = e->x[SEQ],
                               .heads = e->x[HEADS],
                               .kv_heads = or_else(e->x[KV_HEADS], e->x[HEADS]),
                               .head_dim = e->x[HEAD_DIM],
                               .causal = e->x[CAUSAL] > 0,
                               .element_bytes = dtypes[d].in_bytes};
    to->kernel = mfu_kernel_attention(&a, is(e->pass, "backward"));
    if (!mfu_attentions[i].fused)
        to->form = MFU_SAMPLE_MATH_ATTENTION;
    snprintf(name, sizeof name, "attention %.16s%s%.16s", e->kind, e->pass[0] ? " " : "", e->pass);
    to->kind = class_of(s, name, 0.08, mfu_attentions[i].fused ? FUSED_SYSTEMATIC : MATH_SYSTEMATIC);
    return true;
}

/* What one kernel costs the host, or a graph between two. */
static const struct {
    const char *kind;
    enum mfu_coefficient coefficient;
} dispatches[] = {{"host", MFU_C_DISPATCH_C},
                  {"eager", MFU_C_DISPATCH_EAGER},
                  {"backward", MFU_C_DISPATCH_BACKWARD},
                  {"compile", MFU_C_DISPATCH_COMPILE},
                  {"graph", MFU_C_DISPATCH_GRAPH}};

static bool take_launch(struct mfu_samples *s, const struct entry *e, struct mfu_sample *to)
{
    char name[64];

    to->form = MFU_SAMPLE_STREAM_LAUNCH;
    for (size_t i = 0; i < sizeof dispatches / sizeof dispatches[0]; i++)
        if (is(e->kind, dispatches[i].kind)) {
            to->form = MFU_SAMPLE_DISPATCH;
            to->dispatch = dispatches[i].coefficient;
        }
    if (to->form == MFU_SAMPLE_STREAM_LAUNCH && !is(e->kind, "stream"))
        return false;
    snprintf(name, sizeof name, "launch %.32s", e->kind);
    to->kind = class_of(s, name, 0.1, 0.1);
    return true;
}

/* The links of one node; there is no law of a network yet. */
static bool take_collective(struct mfu_samples *s, const struct entry *e, struct mfu_sample *to)
{
    if (!(e->x[GPUS] > 1 && e->x[BYTES] > 0) || e->x[NODES] > 1)
        return false;
    to->form = is(e->probe, "all_reduce") ? MFU_SAMPLE_ALL_REDUCE : MFU_SAMPLE_GATHER;
    to->gpus = e->x[GPUS];
    to->bytes = e->x[BYTES];
    to->kind = class_of(s, e->probe, 0.1, 0.02);
    return true;
}

/* Reads an entry of any probe into `to`; false: no such probe, or values are missing. */
static bool take(struct mfu_samples *s, const struct entry *e, struct mfu_sample *to)
{
    *to = (struct mfu_sample){.seconds = e->x[SECONDS],
                              .spread = or_else(e->x[SPREAD], 0),
                              .sustained = e->x[SUSTAINED] > 0,
                              .warm = e->x[WARM] > 0};
    if (is(e->probe, "gemm"))
        return take_gemm(s, e, to);
    if (is(e->probe, "stream"))
        return take_copy(s, e, to);
    if (is(e->probe, "attention"))
        return take_attention(s, e, to);
    if (is(e->probe, "launch"))
        return take_launch(s, e, to);
    if (is(e->probe, "all_reduce") || is(e->probe, "all_gather") || is(e->probe, "reduce_scatter"))
        return take_collective(s, e, to);
    return take_stream(s, e, to);
}

/* ---- the file ------------------------------------------------------------ */

static int read_head(struct mfu_yaml *yaml, struct mfu_yaml_node *root, struct mfu_samples *s, struct mfu_error *err)
{
    struct mfu_yaml_node *gpu = mfu_node_find(root, "gpu"), *format = mfu_node_find(root, "mfuplan_samples");
    double version = NAN;

    s->compute_capability = s->sms = s->memory_bytes = NAN;
    if (!format || mfu_node_quantity(yaml, format, MFU_COUNT, &version, err) < 0 || version != 1)
        return mfu_node_fail(yaml, format ? format : root, err, "this is no file of samples (mfuplan_samples: 1)");
    if (!gpu || mfu_node_type(gpu) != MFU_MAPPING)
        return mfu_node_fail(yaml, gpu ? gpu : root, err, "'gpu' is missing: which one the samples are of");
    if (read_text(yaml, gpu, "name", s->gpu, sizeof s->gpu, err) < 0
        || read_text(yaml, gpu, "uuid_hash", s->key.device, sizeof s->key.device, err) < 0
        || read_number(yaml, gpu, "compute_capability", MFU_COUNT, 1, 100, &s->compute_capability, err) < 0
        || read_number(yaml, gpu, "sms", MFU_COUNT, 1, 1e5, &s->sms, err) < 0
        || read_number(yaml, gpu, "memory_bytes", MFU_BYTES, 1, 1e15, &s->memory_bytes, err) < 0)
        return mfu_within(err, "gpu");
    if (read_text(yaml, root, "driver", s->key.driver, sizeof s->key.driver, err) < 0
        || read_text(yaml, root, "cuda", s->cuda, sizeof s->cuda, err) < 0
        || read_text(yaml, root, "cublas", s->cublas, sizeof s->cublas, err) < 0
        || read_text(yaml, root, "torch", s->torch, sizeof s->torch, err) < 0
        || read_text(yaml, root, "cpu", s->key.cpu, sizeof s->key.cpu, err) < 0
        || read_text(yaml, root, "host", s->key.host, sizeof s->key.host, err) < 0)
        return -1;
    return read_text(yaml, root, "date", s->date, sizeof s->date, err);
}

static int make_room(struct mfu_samples *s, size_t n, struct mfu_error *err)
{
    s->rows = mfu_arena_alloc(&s->arena, n + 1, sizeof *s->rows);
    return s->rows ? 0 : mfu_fail(err, MFU_ENOMEM, "out of memory");
}

static void leave_out(struct mfu_samples *s, const struct entry *e)
{
    s->n_unknown++;
    if (e->x[NODES] > 1)
        snprintf(s->unknown, sizeof s->unknown, "no law of a network: '%.24s' over %.0f nodes", e->probe, e->x[NODES]);
    else
        snprintf(s->unknown, sizeof s->unknown, "no law for '%.32s%s%.32s'", e->probe, e->kind[0] ? " " : "", e->kind);
}

static int read_rows(struct mfu_yaml *yaml, struct mfu_samples *s, struct mfu_error *err)
{
    struct mfu_yaml_node *root = mfu_yaml_root(yaml), *list = mfu_node_find(root, "samples"), *node;

    if (!list || mfu_node_type(list) != MFU_SEQUENCE)
        return mfu_node_fail(yaml, list ? list : root, err, "'samples' is missing: a list of what was measured");
    if (make_room(s, mfu_node_count(list), err) < 0)
        return -1;
    for (size_t i = 0; (node = mfu_node_item(list, i)); i++) {
        struct entry e;

        if (read_entry(yaml, node, &e, err) < 0)
            return -1;
        if (take(s, &e, &s->rows[s->n]) && s->rows[s->n].kind >= 0)
            s->n++;
        else
            leave_out(s, &e);
    }
    return 0;
}

int mfu_samples_read(const char *path, struct mfu_samples *s, struct mfu_error *err)
{
    struct mfu_yaml *yaml = mfu_yaml_read(path, err);
    int status = -1;

    *s = (struct mfu_samples){.n = 0};
    if (!yaml)
        return -1;
    if (mfu_node_type(mfu_yaml_root(yaml)) != MFU_MAPPING) {
        mfu_fail(err, MFU_EINPUT, "this is no file of samples (mfuplan_samples: 1)");
        mfu_node_error(yaml, mfu_yaml_root(yaml), err);
    } else if (read_head(yaml, mfu_yaml_root(yaml), s, err) == 0)
        status = read_rows(yaml, s, err);
    mfu_yaml_free(yaml);
    if (status < 0)
        mfu_samples_free(s);
    return status;
}

void mfu_samples_free(struct mfu_samples *s)
{
    mfu_arena_free(&s->arena);
    *s = (struct mfu_samples){.n = 0};
}

/* ---- predictions --------------------------------------------------------- */

void mfu_machine_of(const struct mfu_gpu *gpu, const double value[MFU_COEFFICIENT_COUNT], struct mfu_machine *m)
{
    struct mfu_scenario s = mfu_scenario_start(NULL, gpu);
    struct mfu_config c = {.gpu = gpu, .cluster = gpu->usual, .scenario = &s};

    for (int i = 0; i < MFU_COEFFICIENT_COUNT; i++) {
        s.coefficient[i] = value[i];
        s.coefficient_given[i] = MFU_GIVEN_BY_FIT;
    }
    mfu_machine_make(&c, m);
    m->element_clock_hz = 0; /* the probes' kernels load wide */
}

/* What L2 still holds of a working set that is gone through again and again: all of it
 * while it is small, next to nothing when it is twice the reach.  A step would be the
 * same but for where it lies, which no derivative would find (the power is chosen). */
static double hits(const struct mfu_machine *m, double bytes)
{
    double reach = mfu_l2_reach(m);

    return reach > 0 ? 1 / (1 + pow(bytes / reach, 8)) : 0;
}

static double kernel_seconds(const struct mfu_machine *m, const struct mfu_kernel *k, bool sustained, bool warm)
{
    struct mfu_price p;
    double hit = warm ? hits(m, k->read_bytes + k->write_bytes) : 0;

    mfu_price_kernel(m, k, hit * k->read_bytes, hit * k->write_bytes, &p);
    if (mfu_law_of(k)->throttles)
        mfu_price_throttle(m, k, sustained ? 1 : p.compute_s / (p.compute_s + m->c[MFU_C_GEMM_SETTLING]), &p);
    return p.time_s;
}

/* Two products and a softmax over all pairs; twice that backward. */
static double math_attention(const struct mfu_machine *m, const struct mfu_kernel *k, bool sustained)
{
    double pairs = k->batch * k->n * k->m * k->m, e = k->math == MFU_PEAK_FP32 || k->math == MFU_PEAK_TF32 ? 4 : 2;
    struct mfu_kernel scores = mfu_kernel_gemm(k->math, k->m, k->m, k->k, k->batch * k->n, e, e, false);
    struct mfu_kernel values = mfu_kernel_gemm(k->math, k->m, k->k, k->m, k->batch * k->n, e, e, false);
    struct mfu_kernel softmax = mfu_kernel_stream(MFU_REDUCTION, MFU_C_DRAM_SOFTMAX, k->batch * k->n * k->m, k->m,
                                                  5 * pairs, e * pairs * (k->backward ? 2 : 1), e * pairs);
    double products = kernel_seconds(m, &scores, sustained, false) + kernel_seconds(m, &values, sustained, false);

    return (k->backward ? 2 : 1) * products + kernel_seconds(m, &softmax, sustained, false);
}

double mfu_sample_seconds(const struct mfu_machine *m, const struct mfu_sample *s)
{
    struct mfu_group group = mfu_group_of(s->gpus, m->topology.unit_gpus);

    switch (s->form) {
    case MFU_SAMPLE_KERNEL:
        if (!(m->peak_flops[s->kernel.math] > 0))
            return NAN;
        return kernel_seconds(m, &s->kernel, s->sustained, s->warm);
    case MFU_SAMPLE_MATH_ATTENTION:
        if (!(m->peak_flops[s->kernel.math] > 0))
            return NAN;
        return math_attention(m, &s->kernel, s->sustained);
    case MFU_SAMPLE_STREAM_LAUNCH: /* whichever of the two is slower */
        return fmax(m->c[MFU_C_KERNEL_OVERHEAD], m->c[MFU_C_DISPATCH_C]);
    case MFU_SAMPLE_DISPATCH: return m->c[s->dispatch];
    case MFU_SAMPLE_ALL_REDUCE: return mfu_collective_s(m, &group, MFU_ALL_REDUCE, s->bytes);
    case MFU_SAMPLE_GATHER: return mfu_collective_s(m, &group, MFU_ALL_GATHER, s->bytes);
    }
    return NAN;
}
