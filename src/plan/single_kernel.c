/*
 * single_kernel.c - one kernel by itself.
 *
 * FLOP and bytes are those of the step's kernels (graph/primitives); everything
 * is read from DRAM, as in a benchmark that changes its buffers.  GEMMs that run
 * longer meet the power limit: their clocks fall with t/(t + gemm.settling), the form
 * fitted to published sweeps (docs/cost-model.md).
 */
#include "plan/single_kernel.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cost/law.h"
#include "scenario/setting.h"

static const char *const dtypes[] = {"fp32", "tf32", "fp16", "bf16", "fp8", NULL};
static const enum mfu_peak peaks[] = {MFU_PEAK_FP32, MFU_PEAK_TF32, MFU_PEAK_FP16, MFU_PEAK_BF16, MFU_PEAK_FP8};
static const double element_bytes[] = {4, 4, 2, 2, 1};
static const char *const passes[] = {"forward", "backward", NULL};

#define COLLECTIVE(op, name, says)                                                                                     \
    [MFU_STUDY_COLLECTIVE + (op)-MFU_ALL_REDUCE] = {name, "BYTES", 1, {"BYTES"}, {MFU_BYTES}, says}

const struct mfu_study_row mfu_studies[MFU_STUDY_COUNT] = {
    [MFU_STUDY_GEMM] =
        {"gemm", "M N K", 3, {"M", "N", "K"}, {MFU_TOKENS, MFU_TOKENS, MFU_TOKENS}, "C[M,N] = A[M,K] B[K,N]"},
    [MFU_STUDY_SOFTMAX] =
        {"softmax", "ROWS COLS", 2, {"ROWS", "COLS"}, {MFU_TOKENS, MFU_TOKENS}, "softmax of every row"},
    [MFU_STUDY_NORM] = {"norm", "ROWS COLS", 2, {"ROWS", "COLS"}, {MFU_TOKENS, MFU_TOKENS}, "LayerNorm of every row"},
    [MFU_STUDY_ATTENTION] = {"attention",
                             "BATCH HEADS SEQ HEAD_DIM",
                             4,
                             {"BATCH", "HEADS", "SEQ", "HEAD_DIM"},
                             {MFU_COUNT, MFU_COUNT, MFU_TOKENS, MFU_COUNT},
                             "softmax(Q K^T) V; kind math: kernel by kernel"},
    [MFU_STUDY_COPY] = {"copy", "BYTES", 1, {"BYTES"}, {MFU_BYTES}, "a copy within the card"},
    [MFU_STUDY_BLOCKS] = {"blocks",
                          "N time T",
                          2,
                          {"N", "T"},
                          {MFU_COUNT, MFU_SECONDS},
                          "N thread blocks, a whole SM each, that only stay"},
    COLLECTIVE(MFU_ALL_REDUCE, "all_reduce", "sums of all ranks, to all"),
    COLLECTIVE(MFU_ALL_GATHER, "all_gather", "the parts of all ranks, to all"),
    COLLECTIVE(MFU_REDUCE_SCATTER, "reduce_scatter", "sums of all ranks, a part to each"),
    COLLECTIVE(MFU_ALL_TO_ALL, "all_to_all", "a part from each rank to each"),
    COLLECTIVE(MFU_BROADCAST, "broadcast", "from one rank to all"),
    COLLECTIVE(MFU_SEND, "send_recv", "from each rank to the next"),
};

#define OF(study) (1u << MFU_STUDY_##study)
#define COLLECTIVES (~0u << MFU_STUDY_COLLECTIVE)
#define LARGEST 0x1p40 /* of a size; more is a slip of the finger */
// clang-format off
const struct mfu_study_key mfu_study_keys[MFU_SK_COUNT] = {
    [MFU_SK_DTYPE] = {"dtype", ~(OF(BLOCKS) | COLLECTIVES), MFU_COUNT, 0, 0, dtypes},
    [MFU_SK_PASS] = {"pass", OF(GEMM) | OF(SOFTMAX) | OF(NORM) | OF(ATTENTION), MFU_COUNT, 0, 0, passes},
    [MFU_SK_BATCH] = {"batch", OF(GEMM), MFU_COUNT, 1, 1e9, NULL},
    [MFU_SK_CAUSAL] = {"causal", OF(ATTENTION), MFU_COUNT, 0, 0, NULL},
    [MFU_SK_KV_HEADS] = {"kv_heads", OF(ATTENTION), MFU_COUNT, 1, 1e6, NULL},
    [MFU_SK_WINDOW] = {"window", OF(ATTENTION), MFU_TOKENS, 0, LARGEST, NULL},
    [MFU_SK_KIND] = {"kind", OF(ATTENTION), MFU_COUNT, 0, 0, mfu_attention_names},
    [MFU_SK_THREADS] = {"threads", OF(BLOCKS), MFU_COUNT, 1, 1024, NULL},
    [MFU_SK_REGISTERS] = {"registers", OF(BLOCKS), MFU_COUNT, 1, 255, NULL},
    [MFU_SK_SHARED] = {"shared", OF(BLOCKS), MFU_BYTES, 0, 1e6, NULL},
    [MFU_SK_RESIDENT] = {"resident", OF(BLOCKS), MFU_COUNT, 1, 64, NULL},
    [MFU_SK_GPUS] = {"gpus", COLLECTIVES, MFU_COUNT, 2, 1e6, NULL},
    [MFU_SK_NODES] = {"nodes", COLLECTIVES, MFU_COUNT, 1, 1e6, NULL},
};
// clang-format on

/* ---- the kernels --------------------------------------------------------- */

#define MOST_KERNELS 8 /* of one study */

struct study {
    const struct mfu_study_request *r;
    const struct mfu_gpu *gpu;
    int dtype;
    bool backward;
    double model_flops; /* needed: nothing recomputed */
    enum mfu_attention_kind attention;
    struct mfu_kernel kernel[MOST_KERNELS];
    int n;
};

static double option(const struct mfu_study_request *r, enum mfu_study_key_id id, double otherwise)
{
    return r->given[id] ? r->value[id] : otherwise;
}

static bool has(const struct mfu_gpu *g, int dtype)
{
    return g->peak_flops[peaks[dtype]] > 0; /* false for unknown, too */
}

static int default_dtype(const struct mfu_scenario *s)
{
    if (s->setting_given[MFU_S_PRECISION])
        for (int i = 0; dtypes[i]; i++)
            if (peaks[i] == mfu_precisions[(int)s->setting[MFU_S_PRECISION]].linear_math)
                return i;
    return has(s->gpu, 3) ? 3 : has(s->gpu, 2) ? 2 : 0;
}

static int check_dtype(const struct study *s, struct mfu_error *err)
{
    if (has(s->gpu, s->dtype))
        return 0;
    return mfu_fail_suggest(err,
                            has(s->gpu, 3)       ? "bf16"
                                : has(s->gpu, 2) ? "fp16"
                                                 : "fp32",
                            "dtype: %s has no %s tensor cores (%s, %s)", s->gpu->name, dtypes[s->dtype],
                            s->gpu->architecture, mfu_gpu_generation((char[32]){0}, s->gpu));
}

/* Backward: the gradients of A and of B, two products of the same FLOP. */
static void gemm(struct study *s)
{
    double m = s->r->size[0], n = s->r->size[1], k = s->r->size[2], batch = option(s->r, MFU_SK_BATCH, 1);
    double in = element_bytes[s->dtype], out = fmax(2, in);
    enum mfu_peak math = peaks[s->dtype];

    s->n = s->backward ? 2 : 1;
    s->kernel[0] = s->backward ? mfu_kernel_gemm(math, m, k, n, batch, in, out, false)
                               : mfu_kernel_gemm(math, m, n, k, batch, in, out, false);
    s->kernel[1] = mfu_kernel_gemm(math, k, n, m, batch, in, out, false);
    s->model_flops = 2 * batch * m * n * k * s->n;
}

static void softmax(struct study *s)
{
    double rows = s->r->size[0], columns = s->r->size[1], bytes = rows * columns * element_bytes[s->dtype];

    s->kernel[0] = mfu_kernel_stream(MFU_REDUCTION, MFU_C_DRAM_SOFTMAX, rows, columns, 5 * rows * columns,
                                     (s->backward ? 2 : 1) * bytes, bytes);
    s->n = 1;
}

/* LayerNorm, with the column sums for gamma and beta in backward. */
static void norm(struct study *s)
{
    double rows = s->r->size[0], columns = s->r->size[1], elements = rows * columns;
    double bytes = elements * element_bytes[s->dtype], statistics = 8 * rows, weights = 8 * columns;

    s->kernel[0] = s->backward ? mfu_kernel_stream(MFU_NORM, MFU_C_DRAM_NORM_BACKWARD, rows, columns, 14 * elements,
                                                   2 * bytes + statistics, bytes)
                               : mfu_kernel_stream(MFU_NORM, MFU_C_DRAM_NORM, rows, columns, 8 * elements,
                                                   bytes + weights, bytes + statistics);
    s->kernel[1] = mfu_kernel_stream(MFU_REDUCTION, MFU_C_DRAM_REDUCTION, rows, columns, 4 * elements,
                                     2 * bytes + statistics, weights);
    s->kernel[1].launches = 2;
    s->n = s->backward ? 2 : 1;
}

static struct mfu_attention_needs needs_of(const struct study *s)
{
    return (struct mfu_attention_needs){
        .half = element_bytes[s->dtype] <= 2,
        .head_dim = s->r->size[3],
        .capability = s->gpu->compute_capability,
        .software = mfu_maker(s->gpu->vendor)->software,
    };
}

static void then(struct study *s, struct mfu_kernel k)
{
    s->kernel[s->n++] = k;
}

/* A product per head, rows of the scores in C or in A: C[m,n] = A[m,k] B[k,n]. */
static void then_product(struct study *s, const struct mfu_attention *a, double n, double k)
{
    then(s,
         mfu_kernel_gemm(a->math, a->seq, n, k, a->sequences * a->heads, a->element_bytes, fmax(2, a->element_bytes),
                         false));
}

/* A pass over the scores, which reads `reads` of them for one that it writes. */
static void then_pass(struct study *s, const struct mfu_attention *a, enum mfu_kind kind, enum mfu_coefficient traffic,
                      double flops_each, double reads)
{
    double rows = a->sequences * a->heads * a->seq, scores = rows * a->seq, bytes = scores * fmax(2, a->element_bytes);

    then(s, mfu_kernel_stream(kind, traffic, rows, a->seq, flops_each * scores, reads * bytes, bytes));
}

/* Every score of every pair passes through memory, masked or not: scores, scale,
 * mask, softmax, values; K and V lie there for every query head. */
static void unfused(struct study *s, const struct mfu_attention *a)
{
    bool mask = a->causal || a->window > 0;

    if (!s->backward) {
        then_product(s, a, a->seq, a->head_dim);
        then_pass(s, a, MFU_POINTWISE, MFU_C_DRAM_POINTWISE, 1, 1);
        if (mask)
            then_pass(s, a, MFU_POINTWISE, MFU_C_DRAM_POINTWISE, 1, 1);
        then_pass(s, a, MFU_REDUCTION, MFU_C_DRAM_SOFTMAX, 5, 1);
        then_product(s, a, a->head_dim, a->seq);
        return;
    }
    then_product(s, a, a->head_dim, a->seq); /* dV */
    then_product(s, a, a->seq, a->head_dim); /* d probabilities */
    then_pass(s, a, MFU_REDUCTION, MFU_C_DRAM_SOFTMAX, 5, 2);
    if (mask)
        then_pass(s, a, MFU_POINTWISE, MFU_C_DRAM_POINTWISE, 1, 1);
    then_pass(s, a, MFU_POINTWISE, MFU_C_DRAM_POINTWISE, 1, 1);
    then_product(s, a, a->head_dim, a->seq); /* dQ */
    then_product(s, a, a->head_dim, a->seq); /* dK */
}

static int attention(struct study *s, struct mfu_error *err)
{
    const struct mfu_study_request *r = s->r;
    struct mfu_attention_needs needs = needs_of(s);
    struct mfu_attention a = {.math = peaks[s->dtype],
                              .sequences = r->size[0],
                              .heads = r->size[1],
                              .seq = r->size[2],
                              .head_dim = r->size[3],
                              .kv_heads = option(r, MFU_SK_KV_HEADS, r->size[1]),
                              .window = option(r, MFU_SK_WINDOW, 0),
                              .causal = option(r, MFU_SK_CAUSAL, 1) > 0,
                              .element_bytes = element_bytes[s->dtype],
                              .kind = mfu_attention_default(&needs)};
    const char *why;

    if (r->given[MFU_SK_KIND])
        a.kind = (enum mfu_attention_kind)r->value[MFU_SK_KIND];
    if ((why = mfu_attention_refusal(a.kind, &needs)) != NULL)
        return mfu_fail_suggest(err, mfu_attention_names[mfu_attention_default(&needs)],
                                "kind: %s is not possible here: %s", mfu_attention_names[a.kind], why);
    s->attention = a.kind;
    if (fmod(a.heads, a.kv_heads) != 0)
        return mfu_fail(err, MFU_EINPUT, "kv_heads: %.0f does not divide HEADS (%.0f)", a.kv_heads, a.heads);
    if (!mfu_attentions[a.kind].fused)
        unfused(s, &a);
    else {
        s->kernel[0] = mfu_kernel_attention(&a, s->backward);
        s->n = 1;
    }
    s->model_flops = (s->backward ? 8 : 4) * a.sequences * a.heads * a.head_dim * mfu_attention_pairs(&a);
    return 0;
}

static void copy(struct study *s)
{
    double bytes = s->r->size[0];

    s->kernel[0] =
        mfu_kernel_stream(MFU_COPY, MFU_C_DRAM_POINTWISE, 1, ceil(bytes / element_bytes[s->dtype]), 0, bytes, bytes);
    s->n = 1;
}

/* ---- its row and its readings -------------------------------------------- */

/* "gemm 8192 x 2304 x 768", with what differs from the usual. */
static void name(const struct study *s, struct mfu_single_kernel *out)
{
    const struct mfu_study_request *r = s->r;
    const double *z = r->size;
    char text[96];

    switch (r->study) {
    case MFU_STUDY_GEMM:
        if (option(r, MFU_SK_BATCH, 1) > 1)
            snprintf(text, sizeof text, "%.0f x %.0f x %.0f, %.0f times", z[0], z[1], z[2], r->value[MFU_SK_BATCH]);
        else
            snprintf(text, sizeof text, "%.0f x %.0f x %.0f", z[0], z[1], z[2]);
        break;
    case MFU_STUDY_ATTENTION:
        snprintf(text, sizeof text, "%.0f x %.0f heads, %.0f tokens, head size %.0f, %s%s", z[0], z[1], z[2], z[3],
                 mfu_attention_names[s->attention], option(r, MFU_SK_CAUSAL, 1) > 0 ? ", causal" : "");
        break;
    case MFU_STUDY_COPY: snprintf(text, sizeof text, "%.0f bytes", z[0]); break;
    default: snprintf(text, sizeof text, "%.0f x %.0f", z[0], z[1]);
    }
    snprintf(out->title, sizeof out->title, "%s %s, %s%s", mfu_studies[r->study].name, text, dtypes[s->dtype],
             s->backward ? ", backward" : "");
    snprintf(out->row.name, sizeof out->row.name, "%s%s", mfu_studies[r->study].name, s->backward ? ".grad" : "");
}

static double board_w(const struct mfu_scenario *s)
{
    double limit_w = s->setting_given[MFU_S_POWER_W] ? s->setting[MFU_S_POWER_W] : 0;

    return limit_w > 0 ? limit_w : s->gpu->power_w;
}

/* Adds one kernel to the row; the readings are averaged over time. */
static void add(const struct study *s, const struct mfu_kernel *k, struct mfu_single_kernel *out)
{
    struct mfu_kernel_row *row = &out->row;
    struct mfu_price price;
    struct mfu_reading reading;

    mfu_price_kernel(&out->machine, k, 0, 0, &price);
    if (mfu_law_of(k)->throttles)
        mfu_price_throttle(&out->machine, k, price.compute_s / (price.compute_s + out->machine.c[MFU_C_GEMM_SETTLING]),
                           &price);
    mfu_read_kernel(s->gpu, &out->machine, k, &price, &reading);
    mfu_metrics_add(&out->metrics, &reading, price.time_s, out->machine.c[MFU_C_DRAM_ATTAIN]);
    out->compute_s += price.compute_s;
    out->memory_s += price.memory_s;
    out->overhead_s += price.overhead_s;
    if (row->count <= 0 || price.time_s > row->price.time_s) { /* the longest speaks for all */
        price.blocks = reading.grid.blocks;
        price.waves = reading.waves;
        row->kernel = *k;
        row->price = price;
        row->reading = reading;
    }
    row->count += k->launches;
    row->flops += k->flops;
    row->bytes += k->read_bytes + k->write_bytes;
    row->time_s += price.time_s;
}

static void finish(const struct study *s, double power_w, struct mfu_single_kernel *out)
{
    struct mfu_kernel_row *row = &out->row;
    double peak = s->gpu->peak_flops[peaks[s->dtype]], most_bytes = 0;
    bool product = mfu_kind_is_product(row->kind);

    mfu_metrics_settle(&out->metrics, row->time_s, power_w);
    row->share = 1;
    row->intensity = row->bytes > 0 ? row->flops / row->bytes : 0;
    row->flops_per_s = row->flops / row->time_s;
    row->bytes_per_s = row->bytes / row->time_s;
    row->sm_active = out->metrics.sm_active;
    row->occupancy = out->metrics.sm_occupancy;
    row->tensor_active = out->metrics.tensor_active;
    row->dram_active = out->metrics.dram_active;
    out->metrics.mfu = product ? s->model_flops / row->time_s / peak : 0;
    out->metrics.hfu = product ? row->flops / row->time_s / peak : 0;
    for (int i = 0; i < s->n; i++)
        most_bytes = fmax(most_bytes, s->kernel[i].read_bytes + s->kernel[i].write_bytes);
    out->metrics.memory_used_fill = (most_bytes + out->machine.c[MFU_C_CONTEXT_BYTES]) / mfu_capacity(s->gpu, NULL);
}

static int study_blocks(const struct study *s, double power_w, struct mfu_single_kernel *out, struct mfu_error *err)
{
    const struct mfu_study_request *r = s->r;
    struct mfu_grid grid = mfu_grid_plain(r->size[0], option(r, MFU_SK_THREADS, 128));
    struct mfu_kernel_row *row = &out->row;
    struct mfu_occupancy fit;
    bool counted = r->given[MFU_SK_REGISTERS] || r->given[MFU_SK_SHARED];
    double resident;

    grid.registers = option(r, MFU_SK_REGISTERS, 0);
    grid.shared_bytes = option(r, MFU_SK_SHARED, 0);
    mfu_occupancy(s->gpu, &grid, &fit);
    if (fit.resident < 1)
        return mfu_fail(err, MFU_EINPUT, "a block of this size does not fit on an SM of %s: %s", s->gpu->name,
                        fit.limit);
    resident = option(r, MFU_SK_RESIDENT, counted ? fit.resident : 1);
    if (resident > fit.resident)
        return mfu_fail(err, MFU_EINPUT, "resident: an SM of %s holds %.0f such blocks (%s)", s->gpu->name,
                        fit.resident, fit.limit);
    mfu_read_blocks(s->gpu, &grid, resident, out->machine.sms, &row->reading);
    *row = (struct mfu_kernel_row){
        .kind = MFU_POINTWISE,
        .reading = row->reading,
        .count = 1,
        .share = 1,
        .time_s = r->size[1],
        .price = {
            .time_s = r->size[1], .bound = MFU_BOUND_LATENCY, .blocks = grid.blocks, .waves = row->reading.waves}};
    row->reading.limit.resident = resident;
    row->reading.limit.theoretical = resident * fit.warps / fit.most_warps;
    mfu_metrics_add(&out->metrics, &row->reading, row->time_s, 1);
    mfu_metrics_settle(&out->metrics, row->time_s, power_w);
    row->sm_active = out->metrics.sm_active;
    row->occupancy = out->metrics.sm_occupancy;
    out->metrics.memory_used_fill = out->machine.c[MFU_C_CONTEXT_BYTES] / mfu_capacity(s->gpu, NULL);
    snprintf(out->title, sizeof out->title, "%.0f block%s of %.0f threads", grid.blocks, grid.blocks > 1 ? "s" : "",
             grid.threads);
    snprintf(row->name, sizeof row->name, "blocks");
    return 0;
}

/* The part of a config that a machine is made of. */
static void make_machine(const struct mfu_scenario *s, struct mfu_machine *m)
{
    struct mfu_config config = {.gpu = s->gpu, .cluster = mfu_scenario_cluster(s), .scenario = s};

    for (int i = 0; i < MFU_SETTING_COUNT; i++)
        config.setting[i] = s->setting_given[i] ? s->setting[i] : mfu_settings[i].initial;
    mfu_machine_make(&config, m);
}

/* ---- collectives --------------------------------------------------------- */

/* GPUs in all and the machines that hold them: what is not said follows from the
 * other, from the scenario, or is one full machine. */
static int place(const struct mfu_scenario *s, const struct mfu_study_request *r, const struct mfu_cluster *k,
                 double *gpus, double *nodes, struct mfu_error *err)
{
    double said = s->setting_given[MFU_S_GPUS] ? s->setting[MFU_S_GPUS] : 1;

    *nodes = option(r, MFU_SK_NODES, 1);
    *gpus = option(r, MFU_SK_GPUS, r->given[MFU_SK_NODES] ? *nodes * k->node_gpus : said > 1 ? said : k->node_gpus);
    if (!r->given[MFU_SK_NODES])
        *nodes = ceil(*gpus / k->node_gpus);
    if (*gpus < 2)
        return mfu_fail(err, MFU_EINPUT, "gpus: a collective needs at least two");
    if (fmod(*gpus, *nodes) != 0 || *gpus / *nodes > k->node_gpus)
        return mfu_fail(err, MFU_EINPUT, "gpus: %.0f do not spread evenly over %.0f nodes of %.0f GPUs", *gpus, *nodes,
                        k->node_gpus);
    return 0;
}

static int study_collective(const struct mfu_scenario *s, const struct mfu_study_request *r, double power_w,
                            struct mfu_single_kernel *out, struct mfu_error *err)
{
    enum mfu_collective_kind op = (enum mfu_collective_kind)(r->study - MFU_STUDY_COLLECTIVE + MFU_ALL_REDUCE);
    struct mfu_kernel_row *row = &out->row;
    double bytes = r->size[0], gpus, size;
    struct mfu_reading reading;
    struct mfu_cluster k;
    char text[MFU_QUANTITY_MAX];

    out->cluster = mfu_scenario_cluster(s);
    mfu_cluster_with(out->cluster, s->gpu, &k);
    if (place(s, r, &k, &gpus, &out->nodes, err) < 0)
        return -1;
    row->group = mfu_group_on(gpus, out->nodes, k.node_gpus, k.domain_gpus);
    out->price = mfu_collective_price(&out->machine, &row->group, op, bytes);
    if (!(out->price.time_s > 0))
        return mfu_fail(err, MFU_EINPUT,
                        "nodes: the network between machines of %s is not known; choose a cluster (cluster NAME)",
                        s->gpu->slug);
    size = bytes * mfu_bus_factor(op, gpus);
    row->kind = MFU_COLLECTIVE;
    row->phase = MFU_COMMUNICATION;
    row->count = row->share = 1;
    row->bytes = bytes;
    row->time_s = row->price.time_s = out->price.time_s;
    row->price.bound = out->price.wire_s < out->price.latency_s ? MFU_BOUND_LATENCY : MFU_BOUND_LINK;
    row->bytes_per_s = bytes / row->time_s;
    row->collective = (struct mfu_collective){.kind = op, .axes = MFU_AXES_DATA, .bytes = bytes};
    row->ranks = gpus;
    row->algorithm = out->price.algorithm;
    row->protocol = out->price.protocol;
    row->kernel = mfu_kernel_stream(MFU_COLLECTIVE, MFU_C_DRAM_POINTWISE, 1, size, 0, size, size);
    out->memory_s = out->price.wire_s;
    out->overhead_s = out->price.latency_s;
    mfu_read_kernel(s->gpu, &out->machine, &row->kernel, &row->price, &reading);
    row->reading = reading;
    mfu_metrics_add(&out->metrics, &reading, row->time_s, out->machine.c[MFU_C_DRAM_POINTWISE]);
    mfu_metrics_settle(&out->metrics, row->time_s, power_w);
    row->sm_active = out->metrics.sm_active;
    row->occupancy = out->metrics.sm_occupancy;
    row->dram_active = out->metrics.dram_active;
    snprintf(row->name, sizeof row->name, "%s", mfu_studies[r->study].name);
    snprintf(out->title, sizeof out->title, "%s of %s, %.0f GPUs on %.0f node%s", row->name,
             mfu_quantity_format(text, bytes, MFU_BYTES), gpus, out->nodes, out->nodes > 1 ? "s" : "");
    return 0;
}

int mfu_single_kernel(const struct mfu_scenario *scenario, const struct mfu_study_request *r,
                      struct mfu_single_kernel *out, struct mfu_error *err)
{
    struct study s = {.r = r, .gpu = scenario->gpu, .backward = option(r, MFU_SK_PASS, 0) > 0};
    double power_w = board_w(scenario);

    *out = (struct mfu_single_kernel){.study = r->study, .gpu = scenario->gpu};
    s.dtype = r->given[MFU_SK_DTYPE] ? (int)r->value[MFU_SK_DTYPE] : default_dtype(scenario);
    out->dtype = peaks[s.dtype];
    make_machine(scenario, &out->machine);
    if (r->study == MFU_STUDY_BLOCKS)
        return study_blocks(&s, power_w, out, err);
    if (r->study >= MFU_STUDY_COLLECTIVE)
        return study_collective(scenario, r, power_w, out, err);
    if ((r->study == MFU_STUDY_GEMM || r->study == MFU_STUDY_ATTENTION) && check_dtype(&s, err) < 0)
        return -1;
    if (r->study == MFU_STUDY_ATTENTION && attention(&s, err) < 0)
        return -1;
    if (r->study == MFU_STUDY_GEMM)
        gemm(&s);
    else if (r->study == MFU_STUDY_SOFTMAX)
        softmax(&s);
    else if (r->study == MFU_STUDY_NORM)
        norm(&s);
    else if (r->study == MFU_STUDY_COPY)
        copy(&s);
    out->kernels = s.n;
    out->row.kind = s.kernel[0].kind;
    out->row.phase = s.backward ? MFU_BACKWARD : MFU_FORWARD;
    name(&s, out);
    for (int i = 0; i < s.n; i++)
        add(&s, &s.kernel[i], out);
    finish(&s, power_w, out);
    return 0;
}
