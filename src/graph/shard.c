/*
 * shard.c - data parallelism, ZeRO and FSDP: layouts of the parameters, and one
 * pass over the program that puts a collective wherever two layouts do not meet.
 *
 * A gradient is a partial sum of its rank; its state is replicated (all-reduce)
 * or sharded (reduce-scatter).  A weight that is sharded is gathered before it is
 * used: after the optimizer where every rank holds all of it, block by block, one
 * block ahead, where it does not (FSDP).
 *
 * The pass writes the launches anew, in order.  A collective stands where the
 * host issues it: it needs what stands before it.  What needs it says how many
 * collectives, issued since, may still be under way; so that a layer that stands
 * for several waits for its own weights in each of them.
 */
#include "graph/shard.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/builder_private.h"
#include "graph/copies.h"
#include "graph/frozen.h"
#include "graph/optimizer.h"
#include "graph/stage.h"
#include "scenario/setting.h"

/* Until when weights stay gathered that come block by block. */
enum kept { FOR_A_PASS, FOR_BOTH_PASSES, FOR_ALL_MICRO_STEPS };

/* What trainers do, by ZeRO stage. */
static const struct rule {
    enum mfu_state sharded;          /* this and what follows it; COUNT: none */
    enum mfu_collective_kind reduce; /* of gradients */
    enum mfu_occurrence when;
    bool by_block; /* weights are gathered and gradients scattered block by block */
    enum kept kept;
} rules[] = {
    {MFU_STATE_COUNT, MFU_ALL_REDUCE, MFU_LAST_MICRO_STEP, false, FOR_A_PASS},         /* DDP, with no_sync */
    {MFU_STATE_OPTIMIZER, MFU_REDUCE_SCATTER, MFU_LAST_MICRO_STEP, false, FOR_A_PASS}, /* ZeRO 1 */
    {MFU_STATE_GRADIENT, MFU_REDUCE_SCATTER, MFU_EVERY_MICRO_STEP, false, FOR_A_PASS}, /* ZeRO 2 */
    {MFU_STATE_WEIGHT, MFU_REDUCE_SCATTER, MFU_EVERY_MICRO_STEP, true, FOR_A_PASS},    /* ZeRO 3, FSDP */
};

/* FSDP with SHARD_GRAD_OP, or without reshard_after_forward. */
static const struct rule kept_for_backward = {MFU_STATE_WEIGHT, MFU_REDUCE_SCATTER, MFU_EVERY_MICRO_STEP, true,
                                              FOR_BOTH_PASSES};

/* FSDP beside a pipeline: weights are gathered in the first microbatch's forward pass and stay, gradients are added up
 * whole in the type of their sum, and a stage's are summed behind its last backward pass, one block after the other with
 * nothing beside them (PyTorch 01386103, torch/distributed/pipelining/stage.py: backward_maybe_with_nosync,
 * _post_backward; 002a76fb, fsdp/_fully_shard/_fsdp_param_group.py: post_backward; torchtitan b5bcd76c,
 * distributed/fsdp.py: get_fsdp_reshard_after_forward_policy). */
static const struct rule pipelined = {MFU_STATE_WEIGHT, MFU_REDUCE_SCATTER, MFU_LAST_MICRO_STEP, true,
                                      FOR_ALL_MICRO_STEPS};

/* torch DDP starts early with a small bucket. */
#define FIRST_BUCKET_BYTES 0x1p20

/* Of sub-groups that come from the drives one by one; where there are more, each stands for several (chosen: what is not
 * hidden is the first and the last of them). */
#define MOST_GROUPS 64

/* DeepSpeed writes no piece of a gradient below this (edaa7221, swap_tensor/utils.py: MIN_AIO_BYTES). */
#define LEAST_SWAPPED_BYTES 0x1p20

#define SHARD_BYTES 4 /* of one element of FSDP's shards: masters */

/* Weights whose gradients the same ranks sum: experts have ranks of their own, and buckets (Megatron-LM d98e8a64,
 * core/distributed/distributed_data_parallel.py: expert_parallel_buffers; torchtitan b5bcd76c, distributed/fsdp.py:
 * efsdp). */
struct pool {
    double ranks;         /* that share one copy of what is sharded, or hold the same where nothing is */
    unsigned axes, whole; /* of the mesh: those ranks'; with all copies of them */
    double share;         /* of the optimizer's states that one rank holds */
    double params, trained;
    double root_params, root_trained; /* of these, in no unit */
    double waiting, bucket;           /* gradient bytes for the next bucket, of this size */
    double counted, counted_squares;  /* of a layer that stands for several */
};

#define POOLS 2 /* all but experts; experts */

struct sharder {
    struct mfu_builder *s;
    struct mfu_program *p;
    const struct rule *rule;
    struct pool pool[POOLS];
    bool spread;   /* the ranks of one of them are several */
    bool by_block; /* weights come block by block: from other ranks, or from the host; */
    bool kept;     /* and stay, while gradients wait */
    int n;         /* launches written so far */
    const struct mfu_segment *seg;
    int issued;            /* collectives */
    int wanted;            /* one of them that the next kernel waits for, or -1 */
    int ahead;             /* the gather of the next block */
    enum mfu_stream after; /* what is issued next waits for it; COMPUTE: for nothing more, */
    int behind;            /* but for so many of the latest there */
    /* Tensors, or -1: weights in no block, of this block, of the next; gradients
     * of this block, and of the one before, which are on their way. */
    int root, block, next, gradients, leaving;
    double left_bytes; /* of the latter */
    int added;         /* whole gradients, added up until they are summed; -1: none */
    int *stay, n_stay; /* blocks whose weights wait for backward, the latest last */
};

static double ranks_along(const struct mfu_builder *s, unsigned axes)
{
    return mfu_mesh_group(&s->program->mesh, axes, 1).ranks;
}

/* Copies of what is sharded (HSDP). */
static double copies(const struct mfu_builder *s)
{
    return s->program->mesh.ranks[MFU_AXIS_REPLICA];
}

/* In torch's pipelines whole gradients wait for the last microbatch. */
static const struct rule *rule_of(const struct mfu_builder *s)
{
    double zero = s->config->setting[MFU_S_ZERO];
    bool once = mfu_config_sums_once(s->config);

    if (zero >= 3 && s->config->setting[MFU_S_RESHARD] == 0)
        return once ? &pipelined : &kept_for_backward;
    return &rules[once && zero == 2 ? 1 : (int)zero];
}

struct mfu_mesh mfu_mesh_of(const struct mfu_config *c)
{
    const double *set = c->setting;
    struct mfu_mesh mesh = mfu_mesh_start();

    double shard = set[MFU_S_ZERO] > 0 ? mfu_config_dp_shard(c) : set[MFU_S_DP];

    if (set[MFU_S_RANK_ORDER] > 0) { /* the pipeline before the replicas of it */
        static const unsigned char order[2][MFU_MESH_AXES] = {
            {MFU_AXIS_TP, MFU_AXIS_CP_HEADS, MFU_AXIS_CP, MFU_AXIS_PP, MFU_AXIS_DP, MFU_AXIS_REPLICA},
            {MFU_AXIS_ETP, MFU_AXIS_EP, MFU_AXIS_PP, MFU_AXIS_EDP, MFU_AXIS_REPLICA, MFU_AXIS_COUNT}};

        memcpy(mesh.order, order, sizeof order);
    }
    mesh.ranks[MFU_AXIS_TP] = set[MFU_S_TP];
    mesh.ranks[MFU_AXIS_CP_HEADS] = set[MFU_S_CP_HEADS];
    mesh.ranks[MFU_AXIS_CP] = set[MFU_S_CP] / set[MFU_S_CP_HEADS];
    mesh.ranks[MFU_AXIS_DP] = shard;
    mesh.ranks[MFU_AXIS_ETP] = set[MFU_S_ETP];
    mesh.ranks[MFU_AXIS_EP] = set[MFU_S_EP];
    mesh.ranks[MFU_AXIS_EDP] = mfu_config_expert_copies(c) * shard / set[MFU_S_DP];
    mesh.ranks[MFU_AXIS_REPLICA] = set[MFU_S_DP] / shard;
    mesh.ranks[MFU_AXIS_PP] = set[MFU_S_PP];
    return mesh;
}

void mfu_shard_parameters(struct mfu_builder *s)
{
    s->program->mesh = mfu_mesh_of(s->config);
    for (int i = 0; i < MFU_STATE_COUNT; i++) {
        s->state[i] = (struct mfu_layout){{MFU_REPLICATED}, {MFU_DIM_NONE}};
        if (i >= (int)rule_of(s)->sharded) {
            for (int axis = 0; axis < MFU_AXIS_COUNT; axis++)
                if (MFU_AXES_SHARD & MFU_AXIS_BIT(axis)) {
                    s->state[i].placement[axis] = MFU_SHARDED;
                    s->state[i].dim[axis] = MFU_DIM_ELEMENT;
                }
        }
    }
}

double mfu_state_share(const struct mfu_builder *s, enum mfu_state state)
{
    return mfu_layout_share(&s->state[state], &s->program->mesh);
}

/* The same of the experts', of which there are fewer copies. */
static double expert_share(const struct mfu_builder *s, enum mfu_state state)
{
    return s->state[state].placement[MFU_AXIS_DP] == MFU_SHARDED ? 1 / s->program->mesh.ranks[MFU_AXIS_EDP] : 1;
}

double mfu_state_params(const struct mfu_builder *s, enum mfu_state state)
{
    const struct mfu_program *p = s->program;
    bool weights = state == MFU_STATE_WEIGHT;
    double params = weights ? p->rank_params : p->rank_trained,
           experts = weights ? p->expert_params : p->expert_trained;

    return mfu_state_share(s, state) * (params - experts) + expert_share(s, state) * experts;
}

double mfu_state_bytes(const struct mfu_builder *s, enum mfu_state state)
{
    const struct mfu_program *p = s->program;

    return mfu_state_share(s, state) * (p->rank_bytes - p->expert_bytes) + expert_share(s, state) * p->expert_bytes;
}

double mfu_trained_bytes(const struct mfu_builder *s, enum mfu_type type)
{
    return s->frozen_parts && !(s->numerics.masters && type == MFU_F32) ? s->trained_bytes : mfu_type_bytes[type];
}

bool mfu_weights_sent_as_held(const struct mfu_builder *s)
{
    return s->numerics.product != s->numerics.weight && s->numerics.product != MFU_F8_BOTH;
}

double mfu_weight_bytes(const struct mfu_builder *s)
{
    return mfu_weights_sent_as_held(s) ? s->trained_bytes : mfu_trained_bytes(s, s->numerics.weight);
}

bool mfu_fully_sharded(const struct mfu_builder *s)
{
    return mfu_state_share(s, MFU_STATE_WEIGHT) < 1;
}

bool mfu_gradients_wait_whole(const struct mfu_builder *s)
{
    return rule_of(s)->kept == FOR_ALL_MICRO_STEPS && (mfu_fully_sharded(s) || expert_share(s, MFU_STATE_WEIGHT) < 1);
}

static bool offloads(const struct mfu_builder *s, enum mfu_setting_id id)
{
    return s->config->setting[id] > 0;
}

bool mfu_shards_are_masters(const struct mfu_builder *s)
{
    bool hosted = offloads(s, MFU_S_OFFLOAD_PARAMS);

    return s->numerics.masters && (mfu_fully_sharded(s) || hosted)
        && !((hosted || offloads(s, MFU_S_OFFLOAD_OPTIMIZER) || s->frozen_parts)
             && mfu_trainers[s->config->trainer].half_shards);
}

bool mfu_gradients_offloaded(const struct mfu_builder *s)
{
    return offloads(s, MFU_S_OFFLOAD_OPTIMIZER) && !s->runtime->gemm_accumulates
        && (s->config->setting[MFU_S_ACCUM] == 1 || rule_of(s)->when == MFU_EVERY_MICRO_STEP);
}

bool mfu_gradients_leave(const struct mfu_builder *s)
{
    return mfu_state_share(s, MFU_STATE_GRADIENT) < 1 || mfu_gradients_offloaded(s);
}

bool mfu_products_add(const struct mfu_builder *s)
{
    double year = s->config->setting[MFU_S_SOFTWARE], before = mfu_trainers[s->config->trainer].adds_apart_before;

    return s->runtime->gemm_accumulates && !(before == INFINITY || (year > 0 && year < before));
}

bool mfu_gradients_kept(const struct mfu_builder *s)
{
    return s->runtime->gemm_accumulates
        || (mfu_trainers[s->config->trainer].adds_up_wide && s->numerics.gradient == MFU_F32 && !mfu_gradients_leave(s))
        || (s->config->setting[MFU_S_ZERO_GRAD] == MFU_ZERO_GRAD_FILL && !mfu_gradients_leave(s)
            && !mfu_optimizer_in_backward(s));
}

double mfu_host_gradient_bytes(const struct mfu_builder *s)
{
    return s->numerics.masters ? 4 : mfu_trained_bytes(s, s->numerics.gradient);
}

/* Whole sub-groups stay in the host's memory, each a little more than its nominal size (DeepSpeed edaa7221,
 * zero/stage3.py: _create_fp16_partitions_with_defragmentation). */
double mfu_driven_share(const struct mfu_builder *s)
{
    const double *set = s->config->setting;
    double params = mfu_state_params(s, MFU_STATE_WEIGHT), group = set[MFU_S_SUB_GROUP_SIZE],
           most = set[MFU_S_MAX_IN_CPU];
    double kept = most >= params ? params : fmin(params, group * fmax(ceil(most / group) - 1, 0));

    return set[MFU_S_NVME_PARAMS] > 0 && params > 0 ? 1 - kept / params : 0;
}

/* An operation has two tensors that train at most. */
double mfu_swapped_gradients(const struct mfu_builder *s)
{
    const struct mfu_model *m = s->config->model;
    double least = LEAST_SWAPPED_BYTES / (mfu_state_share(s, MFU_STATE_OPTIMIZER) * mfu_host_gradient_bytes(s)),
           swapped = 0;

    for (const struct mfu_model_section *sec = m->sections; sec < m->sections + m->n_sections; sec++) {
        double times = mfu_stage_repeats(s, (int)(sec - m->sections)) - mfu_frozen_layers(s, sec->name, true).all;

        for (int i = sec->first; i < sec->first + sec->count; i++)
            if (!s->left_out[i] && s->operations[i].primitive->params) {
                struct mfu_op_size z = mfu_op_size(s, i, mfu_shares_weight(s, i), false);
                double other = z.trained - z.largest_trained;

                swapped += times * ((z.largest_trained >= least) * z.largest_trained + (other >= least) * other);
            }
    }
    return fmin(swapped / fmax(s->program->rank_trained, 1), 1);
}

/* ---- writing ------------------------------------------------------------- */

static void put(struct sharder *x, struct mfu_launch *l, const struct mfu_work *w)
{
    l->work = mfu_work_of(x->s, w);
    mfu_rewrite_put(x->s, &x->n, l);
}

static struct mfu_launch blank(const struct sharder *x, const char *suffix)
{
    struct mfu_launch l;

    memset(&l, 0, sizeof l); /* it is compared as a whole */
    l.section = x->seg->section;
    l.op = "";
    l.suffix = suffix;
    l.phase = x->seg->phase;
    l.fusion = MFU_ALONE;
    l.communicates = true;
    l.wait_behind = -1;
    return l;
}

/* `calls` collectives of `bytes` each over axes of the mesh, beside compute or in its way; returns the number
 * of the (last) one. */
static int issue_over(struct sharder *x, unsigned axes, enum mfu_stream stream, enum mfu_collective_kind op,
                      double bytes, double calls, enum mfu_occurrence when)
{
    struct mfu_launch l = blank(x, mfu_collective_names[op]);
    struct mfu_work w = {.collective = {.kind = op, .axes = axes, .bytes = bytes}};

    w.kernel =
        mfu_kernel_stream(op < MFU_TO_HOST ? MFU_COLLECTIVE : MFU_OFFLOAD, MFU_C_DRAM_POINTWISE, 1, bytes, 0, bytes, 0);
    l.stream = stream;
    if (x->after != MFU_STREAM_COMPUTE) {
        l.wait_stream = x->after;
        l.wait_behind = x->behind;
        x->after = MFU_STREAM_COMPUTE;
        x->behind = 0;
    }
    w.kernel.read_bytes *= calls;
    w.kernel.launches = calls;
    if (when != MFU_EVERY_MICRO_STEP)
        mfu_work_once(&w, when, x->p->accum);
    put(x, &l, &w);
    return stream == MFU_STREAM_COMMUNICATION ? x->issued++ : -1;
}

/* A copy between GPU and host, an update there, or a copy between that and its drives. */
static int issue_in(struct sharder *x, enum mfu_stream stream, enum mfu_collective_kind op, double bytes, double calls,
                    enum mfu_occurrence when)
{
    return issue_over(x, stream == MFU_STREAM_DRIVE ? MFU_AXES_DRIVE : MFU_AXES_HOST, stream, op, bytes, calls, when);
}

/* `calls` copies of so many bytes each. */
static void copy(struct sharder *x, const char *suffix, double read_bytes, double write_bytes, double calls,
                 enum mfu_occurrence when)
{
    struct mfu_launch l = blank(x, suffix);
    struct mfu_work w = {.kernel = mfu_kernel_stream(MFU_COPY, MFU_C_DRAM_POINTWISE, 1, calls * write_bytes, 0,
                                                     calls * read_bytes, calls * write_bytes)};

    w.kernel.launches = calls;
    w.kernel.cold = true;
    if (when != MFU_EVERY_MICRO_STEP)
        mfu_work_once(&w, when, x->p->accum);
    put(x, &l, &w);
}

/* A buffer from the next launch on; its end follows. */
static int buffer_of(struct sharder *x, enum mfu_part part, double bytes)
{
    struct mfu_builder *s = x->s;
    int tensor, view;

    if (x->p->fold) {
        tensor = mfu_fold_tensor(s, bytes, part);
    } else {
        view = mfu_tensor_new(s, 1, bytes, MFU_U8, part);
        tensor = x->p->views[view].tensor;
    }
    if (s->failed)
        return -1;
    x->p->tensors[tensor].born = x->p->tensors[tensor].last = x->n;
    return tensor;
}

static int buffer(struct sharder *x, double bytes)
{
    return buffer_of(x, MFU_PART_COMMUNICATION, bytes);
}

/* It was last needed by the launch written last. */
static void release(struct sharder *x, int tensor)
{
    if (tensor >= 0)
        x->p->tensors[tensor].last = x->n - 1 > x->p->tensors[tensor].born ? x->n - 1 : x->p->tensors[tensor].born;
}

/* What was gathered is copied out weight by weight for each rank, whose parts were joined before: three copies, of
 * which the last has a launch a piece (it has q, k, v and gate, up in one weight each, a model here may not; two views
 * of a piece take the host about as long).  Source: nanotron 2411b022, distributed.py (all_gather_coalesced), optim/zero.py
 * (_all_gather_params).  The joined parts of this rank, of all, and torch's buffer for a list of outputs are there
 * together; of these one is where the 16-bit gradients were, which went when they were added up. */
static void copy_out(struct sharder *x, const struct pool *pool, double bytes)
{
    struct mfu_launch l = blank(x, "copy_out");
    struct mfu_work w = {.kernel = mfu_kernel_stream(MFU_COPY, MFU_C_DRAM_POINTWISE, 1, bytes, 0, 3 * bytes, 3 * bytes),
                         .temporary_bytes = (1 + 1 / pool->ranks) * bytes};

    w.kernel.launches = fmax(1, x->p->trained_tensors * pool->trained / x->p->rank_trained) * pool->ranks;
    w.kernel.cold = true;
    l.communicates = false;
    l.wait_stream = MFU_STREAM_COMMUNICATION;
    l.wait_behind = 0;
    put(x, &l, &w);
}

/* New weights of all ranks. */
static void gather_new(struct sharder *x, enum mfu_occurrence when)
{
    for (const struct pool *pool = x->pool; pool < x->pool + POOLS; pool++) {
        double bytes = pool->trained * mfu_weight_bytes(x->s);

        if (pool->ranks <= 1)
            continue;
        issue_over(x, pool->axes, MFU_STREAM_COMMUNICATION, MFU_ALL_GATHER, bytes, 1, when);
        if (mfu_trainers[x->s->config->trainer].gathers_pieces)
            copy_out(x, pool, bytes);
    }
}

/* ---- buckets ------------------------------------------------------------- */

static enum mfu_collective_kind reduction(const struct sharder *x)
{
    return mfu_trainers[x->s->config->trainer].reduces_whole ? MFU_ALL_REDUCE : x->rule->reduce;
}

/* Gradients are summed beside backward, in buckets, or all of them behind it. */
static bool in_buckets(const struct sharder *x)
{
    return x->s->config->setting[MFU_S_OVERLAP_GRAD_REDUCE] > 0 || x->rule->when == MFU_EVERY_MICRO_STEP;
}

/* `calls` gradients of `elements` of this rank go to the host.  DeepSpeed lets the GPU add what the micro-steps before
 * left there, and sends the sum in fp32 in the last. */
static void send_gradients(struct sharder *x, const struct pool *pool, double elements, double calls,
                           enum mfu_occurrence when)
{
    const struct mfu_builder *s = x->s;
    double half = mfu_type_bytes[s->numerics.gradient];

    if (!offloads(s, MFU_S_OFFLOAD_OPTIMIZER))
        return;
    if (pool->ranks > 1)
        x->after = MFU_STREAM_COMMUNICATION;
    if (x->seg->phase != MFU_OPTIMIZER_PHASE && when == MFU_EVERY_MICRO_STEP
        && mfu_trainers[s->config->trainer].half_shards) {
        when = MFU_LAST_MICRO_STEP;
        if (s->config->accum > 1) {
            issue_in(x, MFU_STREAM_FROM_HOST, MFU_FROM_HOST, elements * half, calls, MFU_EVERY_MICRO_STEP);
            x->after = MFU_STREAM_FROM_HOST; /* which waited for the sum */
            issue_in(x, MFU_STREAM_TO_HOST, MFU_TO_HOST, elements * half, calls, MFU_EVERY_MICRO_STEP);
        }
    }
    issue_in(x, MFU_STREAM_TO_HOST, MFU_TO_HOST, elements * mfu_host_gradient_bytes(s), calls, when);
    if (s->program->drive_bytes[MFU_PART_GRADIENTS] > 0) {
        x->after = MFU_STREAM_TO_HOST;
        issue_in(x, MFU_STREAM_DRIVE, MFU_TO_DRIVE,
                 elements / mfu_state_params(s, MFU_STATE_OPTIMIZER) * s->program->drive_bytes[MFU_PART_GRADIENTS],
                 calls, when);
    }
}

/* `calls` sums over the ranks of so many bytes, and what follows them: each copy sums its shard with the others'
 * (Megatron, core/distributed/param_and_grad_buffer.py with num_distributed_optimizer_instances). */
static void reduce(struct sharder *x, const struct pool *pool, double bytes, double calls, enum mfu_occurrence when)
{
    bool beside = x->s->config->setting[MFU_S_OVERLAP_GRAD_REDUCE] > 0, whole = reduction(x) == MFU_ALL_REDUCE;
    enum mfu_stream stream = beside ? MFU_STREAM_COMMUNICATION : MFU_STREAM_COMPUTE;

    if (pool->ranks > 1 || (whole && copies(x->s) > 1))
        issue_over(x, whole ? pool->whole : pool->axes, stream, reduction(x), bytes, calls, when);
    if (copies(x->s) > 1 && !whole)
        issue_over(x, MFU_AXIS_BIT(MFU_AXIS_REPLICA), stream, MFU_ALL_REDUCE, bytes / pool->ranks, calls, when);
    send_gradients(x, pool, bytes / x->p->gradient_bytes * pool->share, calls, when);
}

static void flush(struct sharder *x, struct pool *pool)
{
    if (pool->waiting > 0)
        reduce(x, pool, pool->waiting, 1, x->rule->when);
    pool->waiting = 0;
    pool->bucket = x->s->config->setting[MFU_S_GRAD_BUCKET];
}

/* Gradients leave in buckets as they become complete; those of layers that are
 * counted in as many typical ones as they fill. */
static void bucket(struct sharder *x, struct pool *pool, double elements, bool last)
{
    double bytes = elements * x->p->gradient_bytes;

    if (x->seg->repeat > 1) {
        pool->counted += bytes;
        pool->counted_squares += bytes * bytes;
    } else {
        pool->waiting += bytes;
    }
    if (mfu_compare(x->s, pool->waiting, pool->bucket) >= 0 || last)
        flush(x, pool);
}

/* Those that are complete with a launch. */
static void bucket_all(struct sharder *x, const struct mfu_launch *l, bool last)
{
    double experts = x->pool[1].ranks > 0 ? l->work->gradient_experts : 0, rest = l->work->gradient_elements - experts;

    if (rest > 0 || last)
        bucket(x, &x->pool[0], rest, last);
    if (experts > 0 || (last && x->pool[1].ranks > 0))
        bucket(x, &x->pool[1], experts, last);
}

static void bucket_counted(struct sharder *x)
{
    for (struct pool *pool = x->pool; pool < x->pool + POOLS; pool++) {
        double typical;

        if (pool->counted <= 0)
            continue;
        /* That of a typical byte: a tensor that is larger fills one by itself. */
        typical = fmax(x->s->config->setting[MFU_S_GRAD_BUCKET], pool->counted_squares / pool->counted);
        reduce(x, pool, typical, pool->counted / typical, x->rule->when);
        pool->counted = pool->counted_squares = 0;
    }
}

/* ---- blocks -------------------------------------------------------------- */

static enum mfu_occurrence gathers_when(const struct sharder *x)
{
    return x->kept ? MFU_FIRST_MICRO_STEP : MFU_EVERY_MICRO_STEP;
}

/* Each rank has its shard sent from the host, where it is there, and casts it before a gather. */
static int gather(struct sharder *x, const struct pool *pool, double params)
{
    bool hosted = offloads(x->s, MFU_S_OFFLOAD_PARAMS);
    double weight = x->p->weight_bytes, shard = weight;
    int issued = -1;

    if (weight < SHARD_BYTES && !x->s->frozen_parts && (!hosted || mfu_shards_are_masters(x->s)))
        shard = SHARD_BYTES;
    if (x->p->drive_bytes[MFU_PART_WEIGHTS] > 0) {
        issue_in(x, MFU_STREAM_DRIVE, MFU_FROM_DRIVE, params * shard / pool->ranks * mfu_driven_share(x->s), 1,
                 MFU_EVERY_MICRO_STEP);
        x->after = MFU_STREAM_DRIVE;
    }
    if (hosted) /* alone they take the place of what is gathered */
        issued = issue_in(x, pool->ranks > 1 ? MFU_STREAM_FROM_HOST : MFU_STREAM_COMMUNICATION, MFU_FROM_HOST,
                          params * shard / pool->ranks, 1, MFU_EVERY_MICRO_STEP);
    if (shard > weight)
        copy(x, "cast_shard", params * shard / pool->ranks, params * weight / pool->ranks, 1, gathers_when(x));
    x->after = hosted && pool->ranks > 1 ? MFU_STREAM_FROM_HOST : MFU_STREAM_COMPUTE;
    return pool->ranks > 1
        ? issue_over(x, pool->axes, MFU_STREAM_COMMUNICATION, MFU_ALL_GATHER, params * weight, 1, gathers_when(x))
        : issued;
}

/* What a pool has of a unit's parameters. */
static double params_of(const struct sharder *x, const struct pool *pool, const struct mfu_unit *u)
{
    bool apart = x->pool[1].ranks > 0;

    return pool != x->pool ? u->experts : u->params - (apart ? u->experts : 0);
}

static double trained_of(const struct sharder *x, const struct pool *pool, const struct mfu_unit *u)
{
    bool apart = x->pool[1].ranks > 0;

    return pool != x->pool ? u->expert_trained : u->trained - (apart ? u->expert_trained : 0);
}

/* A unit, or what is in none (NULL), of both pools; the number of the latest. */
static int gather_both(struct sharder *x, const struct mfu_unit *unit)
{
    int issued = -1, latest;

    for (const struct pool *pool = x->pool; pool < x->pool + POOLS; pool++) {
        double params = unit ? params_of(x, pool, unit) : pool->root_params;

        if (pool->ranks <= 0 || (pool != x->pool && !(params > 0)))
            continue;
        latest = gather(x, pool, params);
        issued = latest >= 0 ? latest : issued;
    }
    return issued;
}

/* Around a scatter: gradients are joined in one flat tensor, cast to the type of
 * the sum and divided by the number of ranks (each in place of nothing: read and
 * written), then the shard is added to what earlier micro-steps left.  Source:
 * PyTorch, torch/distributed/fsdp/_runtime_utils.py (_reduce_grad,
 * _div_if_needed).  Copies sum their shards in every micro-step, too (hybrid sharding there, foreach_reduce in
 * fsdp/_fully_shard/_fsdp_collectives.py). */
static void scatter(struct sharder *x, const struct pool *pool, double params, double calls)
{
    double sum = x->p->gradient_bytes, weight = x->kept ? sum : x->p->weight_bytes;
    double wider = sum > weight ? 1 : 0, shard = SHARD_BYTES / pool->ranks;
    enum mfu_stream stream = x->kept ? MFU_STREAM_COMPUTE : MFU_STREAM_COMMUNICATION; /* nothing is beside it */

    if (pool->ranks > 1) {
        copy(x, "flatten", params * (weight + wider * weight + sum + 2 * shard),
             params * (weight + wider * sum + sum + shard), calls, MFU_EVERY_MICRO_STEP);
        issue_over(x, pool->axes, stream, MFU_REDUCE_SCATTER, params * sum, calls, MFU_EVERY_MICRO_STEP);
    }
    if (copies(x->s) > 1)
        issue_over(x, MFU_AXIS_BIT(MFU_AXIS_REPLICA), stream, MFU_ALL_REDUCE, params * sum / pool->ranks, calls,
                   MFU_EVERY_MICRO_STEP);
    send_gradients(x, pool, params / pool->ranks, calls, MFU_EVERY_MICRO_STEP);
}

/* Of `calls` units like this one, or of what is in none. */
static void scatter_both(struct sharder *x, const struct mfu_unit *unit, double calls)
{
    for (const struct pool *pool = x->pool; pool < x->pool + POOLS; pool++) {
        double params = unit ? trained_of(x, pool, unit) : pool->root_trained;

        if (pool->ranks > 0 && (pool == x->pool || params > 0))
            scatter(x, pool, params, calls);
    }
}

/* The unit whose layer a segment is, or NULL. */
static const struct mfu_unit *unit_of(const struct sharder *x, int k)
{
    const struct mfu_segment *seg = &x->p->segments[k];
    const struct mfu_model *m = x->s->config->model;

    for (int i = 0; i < m->n_sections && seg->layer; i++)
        if (m->sections[i].name == seg->section)
            return x->s->unit[i].layers > 0 ? &x->s->unit[i] : NULL;
    return NULL;
}

/* The block that the pass enters next, at segment k or after; -1: none. */
static int next_block(const struct sharder *x, int k, enum mfu_phase phase)
{
    for (; k < x->p->n_segments && x->p->segments[k].phase == phase; k++)
        if (unit_of(x, k))
            return k;
    return -1;
}

static bool begins_pass(const struct sharder *x, int k)
{
    return k == 0 || x->p->segments[k - 1].phase != x->p->segments[k].phase;
}

static void gather_ahead(struct sharder *x, int k)
{
    const struct mfu_unit *unit = unit_of(x, k);

    x->next = buffer(x, x->p->weight_bytes * unit->params);
    x->ahead = gather_both(x, unit);
}

/* As a segment begins, the root is gathered with the micro-step, the first block
 * with each pass, and in every block the next one. */
static void begin_segment(struct sharder *x, int k)
{
    const struct mfu_unit *unit = unit_of(x, k);
    enum mfu_phase phase = x->seg->phase;
    bool stay = x->stay && phase == MFU_BACKWARD; /* all is there */
    int before = x->next, next;

    if (k == 0) {
        x->root = buffer(x, x->p->weight_bytes * (x->pool[0].root_params + x->pool[1].root_params));
        x->wanted = gather_both(x, NULL);
    }
    if (!stay && begins_pass(x, k) && (next = next_block(x, k, phase)) >= 0) {
        gather_ahead(x, next);
        before = x->next;
    }
    if (!unit)
        return;
    if (stay) {
        x->block = x->n_stay > 0 ? x->stay[--x->n_stay] : -1;
    } else {
        x->block = buffer(x, x->p->weight_bytes * unit->params);
        release(x, before);
        x->next = -1;
        x->wanted = x->ahead;
    }
    if (phase == MFU_BACKWARD) {
        if (x->gradients >= 0)
            x->leaving = buffer(x, x->left_bytes);
        x->left_bytes = x->p->gradient_bytes * unit->trained;
        x->gradients = buffer(x, x->left_bytes);
    }
    next = x->seg->repeat > 1 ? k : next_block(x, k + 1, phase);
    if (next >= 0 && !stay)
        gather_ahead(x, next);
}

/* As it ends, a block's gradients are scattered, and behind the pass the root's. */
static void end_segment(struct sharder *x, int k)
{
    const struct mfu_program *p = x->p;
    const struct mfu_unit *unit = unit_of(x, k);

    if (unit) {
        if (x->seg->phase == MFU_BACKWARD)
            scatter_both(x, unit, 1);
        else if (x->stay)
            x->stay[x->n_stay++] = x->block;
        release(x, x->block);
        release(x, x->gradients);
        release(x, x->leaving);
        x->leaving = -1;
    }
    if (x->seg->phase == MFU_BACKWARD && (k + 1 == p->n_segments || p->segments[k + 1].phase != MFU_BACKWARD)) {
        scatter_both(x, NULL, 1);
        release(x, x->root);
    }
}

/* The same where weights stay and gradients wait.  All are there as the step begins, but gradients of a single
 * microbatch, which come with its backward pass; a block's .grad is apart until the block is done. */
static void begin_kept(struct sharder *x, int k)
{
    const struct mfu_unit *unit = unit_of(x, k);
    bool backward = x->seg->phase == MFU_BACKWARD;
    int next = -1;

    if (x->added < 0 && (backward || x->p->accum > 1))
        x->added = buffer_of(x, MFU_PART_GRADIENTS, x->p->gradient_bytes * x->p->rank_trained);
    if (backward) {
        x->gradients = unit ? buffer_of(x, MFU_PART_GRADIENTS, x->p->weight_bytes * unit->trained) : -1;
        return;
    }
    if (k == 0) {
        x->root = buffer(x, x->p->weight_bytes * x->p->rank_params);
        x->wanted = gather_both(x, NULL);
        next = next_block(x, 0, MFU_FORWARD);
        x->ahead = next >= 0 ? gather_both(x, unit_of(x, next)) : -1;
    }
    if (!unit)
        return;
    x->wanted = x->ahead;
    next = x->seg->repeat > 1 ? k : next_block(x, k + 1, MFU_FORWARD);
    x->ahead = next >= 0 ? gather_both(x, unit_of(x, next)) : -1;
}

static void end_kept(struct sharder *x)
{
    release(x, x->gradients);
    x->gradients = -1;
}

/* The optimizer's phase begins with the sums, of which shards are left. */
static void sum_kept(struct sharder *x)
{
    const struct mfu_builder *s = x->s;

    x->gradients = buffer_of(x, MFU_PART_GRADIENTS, SHARD_BYTES * mfu_state_params(s, MFU_STATE_GRADIENT));
    for (int i = 0; i < s->config->model->n_sections; i++)
        if (s->unit[i].layers > 0)
            scatter_both(x, &s->unit[i], s->unit[i].layers);
    scatter_both(x, NULL, 1);
    release(x, x->root);
    release(x, x->added);
}

/* ---- the pass ------------------------------------------------------------ */

/* Buffers that are there all the time: DDP's buckets, an engine's, two where sums run beside backward (DeepSpeed edaa7221,
 * stage_1_and_2.py: setup_buckets). */
static double standing_bytes(struct sharder *x)
{
    struct mfu_builder *s = x->s;
    const struct mfu_program *p = s->program;
    const struct rule *rule = rule_of(s);
    double gradient = mfu_trained_bytes(s, s->numerics.gradient), largest = 0;
    double bucket = mfu_config_coefficient(s->config, MFU_C_ENGINE_BUCKET);
    bool several = x->spread || copies(s) > 1, engine = mfu_half_engine(s->config);
    bool whole = engine && mfu_trainers[s->config->trainer].half_shards; /* however little trains */
    double buffer = !whole && mfu_compare(s, p->rank_trained, bucket) < 0 ? p->rank_trained : bucket;
    bool offloaded = offloads(s, MFU_S_OFFLOAD_OPTIMIZER);
    bool doubled = rule->by_block || s->config->setting[MFU_S_OVERLAP_GRAD_REDUCE] > 0;

    if (rule->by_block && (several || offloads(s, MFU_S_OFFLOAD_PARAMS)))
        return whole ? mfu_type_bytes[s->numerics.weight] * bucket : 0; /* stage3.py: contiguous_gradients */
    if (rule->when == MFU_LAST_MICRO_STEP && !offloaded)
        return several && !s->runtime->half_weights && !mfu_trainers[s->config->trainer].adds_up_wide
            ? gradient * p->rank_trained
            : 0;
    if (!engine)
        return several ? 2 * gradient * buffer : 0;     /* two with overlap_comm */
    for (int i = 0; i < p->n_weights && offloaded; i++) /* where sums of micro-steps pass through */
        largest = fmax(largest, p->weights[i].elements);
    return mfu_type_bytes[s->numerics.weight] * ((doubled ? 2 : 1) * buffer + largest);
}

static int last_gradient(const struct mfu_program *p)
{
    for (int k = p->n_segments - 1; k >= 0; k--)
        for (int i = p->segments[k].first + p->segments[k].count - 1; i >= p->segments[k].first; i--)
            if (mfu_launch_in(p, &p->segments[k], i)->work->gradient_elements > 0)
                return i;
    return -1;
}

/* The launches of a segment, each to its new place. */
static void move(struct sharder *x, int last)
{
    for (int i = x->seg->first; i < x->seg->first + x->seg->count; i++) {
        struct mfu_launch *l = mfu_rewrite_move(x->s, &x->n, x->seg, i);

        if (!l)
            return;
        if (x->wanted >= 0 && l->work->kernel.launches > 0 && l->wait_behind < 0) {
            l->wait_stream = MFU_STREAM_COMMUNICATION;
            l->wait_behind = x->issued - 1 - x->wanted;
            x->wanted = -1;
        }
        if (!x->by_block && in_buckets(x) && l->work->gradient_elements > 0)
            bucket_all(x, l, i == last);
    }
}

/* The new weights, where no rank has all of them and forward does not gather its own. */
static bool gathers_after(const struct sharder *x)
{
    return !x->by_block && x->spread && x->rule->sharded != MFU_STATE_COUNT;
}

static bool gathers_beside(const struct sharder *x)
{
    return gathers_after(x) && x->s->config->setting[MFU_S_OVERLAP_PARAM_GATHER] > 0;
}

/* The CPU updates one of n parts; its new weights go back, or stay and are fetched as they are used. */
static void update_part(struct sharder *x, double n)
{
    const struct mfu_builder *s = x->s;
    double sent = mfu_state_params(s, MFU_STATE_OPTIMIZER) * mfu_weight_bytes(s) / n;

    issue_in(x, MFU_STREAM_TO_HOST, MFU_HOST_UPDATE, mfu_host_update_bytes(s) / n, 1, MFU_EVERY_MICRO_STEP);
    x->after = MFU_STREAM_TO_HOST;
    if (x->p->drive_bytes[MFU_PART_WEIGHTS] > 0)
        issue_in(x, MFU_STREAM_DRIVE, MFU_TO_DRIVE, sent * mfu_driven_share(s), 1, MFU_EVERY_MICRO_STEP);
    if (offloads(s, MFU_S_OFFLOAD_PARAMS))
        return;
    issue_in(x, MFU_STREAM_FROM_HOST, MFU_FROM_HOST, sent, 1, MFU_EVERY_MICRO_STEP);
    x->after = MFU_STREAM_FROM_HOST;
}

/* States, masters and gradients of a sub-group are read, updated, and all but the gradients written.  Reading ahead, the
 * next is read meanwhile; writing behind, nobody waits for the last (DeepSpeed edaa7221, swap_tensor/
 * pipelined_optimizer_swapper.py, zero/stage3.py: step). */
static void update_from_drive(struct sharder *x)
{
    const double *set = x->s->config->setting, *on = x->p->drive_bytes;
    unsigned pipeline = (unsigned)set[MFU_S_NVME_PIPELINE];
    bool ahead = pipeline & MFU_NVME_READS_AHEAD, behind = pipeline & MFU_NVME_WRITES_BEHIND;
    double n = pipeline > 0 ? ceil(mfu_state_params(x->s, MFU_STATE_OPTIMIZER) / set[MFU_S_SUB_GROUP_SIZE]) : 1;
    double state = on[MFU_PART_OPTIMIZER], read = state + on[MFU_PART_GRADIENTS];

    n = read > 0 ? fmin(fmax(n, 1), MOST_GROUPS) : 1;
    for (int i = 0; i < n; i++) {
        bool next = ahead && i + 1 < n;

        x->after = MFU_STREAM_COMPUTE;
        for (int k = !ahead || i == 0 ? 0 : 1; k <= next && read > 0; k++)
            issue_in(x, MFU_STREAM_DRIVE, MFU_FROM_DRIVE, read / n, 1, MFU_EVERY_MICRO_STEP);
        x->after = MFU_STREAM_DRIVE;
        x->behind = next + (ahead && behind && state > 0 && i > 0);
        update_part(x, n);
        if (state > 0) /* SGD without momentum has none */
            issue_in(x, MFU_STREAM_DRIVE, MFU_TO_DRIVE, state / n, 1, MFU_EVERY_MICRO_STEP);
    }
}

static void update_on_host(struct sharder *x)
{
    if (offloads(x->s, MFU_S_NVME_OPTIMIZER))
        update_from_drive(x);
    else if (offloads(x->s, MFU_S_OFFLOAD_OPTIMIZER))
        update_part(x, 1);
}

/* Whether the last segment of forward. */
static bool ends_forward(const struct sharder *x, int k)
{
    const struct mfu_segment *seg = &x->p->segments[k];

    return seg->phase == MFU_FORWARD && (k + 1 == x->p->n_segments || seg[1].phase != MFU_FORWARD);
}

static void write_segment(struct sharder *x, int k, int last)
{
    struct mfu_segment *seg = &x->p->segments[k];
    int first = x->n;

    x->seg = seg;
    if (x->by_block && seg->phase != MFU_OPTIMIZER_PHASE)
        x->kept ? begin_kept(x, k) : begin_segment(x, k);
    if (k == 0 && gathers_beside(x))
        gather_new(x, MFU_FIRST_MICRO_STEP);
    if (k > 0 && gathers_beside(x) && x->rule->when == MFU_LAST_MICRO_STEP && ends_forward(x, k))
        x->wanted = x->issued - 1; /* the last weights; in other micro-steps they are there */
    if (seg->phase == MFU_OPTIMIZER_PHASE && begins_pass(x, k)) {
        if (x->kept)
            sum_kept(x);
        for (int i = 0; i < POOLS && !x->by_block && !in_buckets(x); i++)
            if (x->pool[i].ranks > 0)
                reduce(x, &x->pool[i], x->pool[i].trained * x->p->gradient_bytes, 1, MFU_EVERY_MICRO_STEP);
        x->wanted = x->issued - 1; /* all sums */
    }
    move(x, last);
    bucket_counted(x);
    if (x->by_block && seg->phase != MFU_OPTIMIZER_PHASE)
        x->kept ? end_kept(x) : end_segment(x, k);
    if (k == x->p->n_segments - 1)
        update_on_host(x);
    if (k == x->p->n_segments - 1 && gathers_after(x) && !gathers_beside(x))
        gather_new(x, MFU_EVERY_MICRO_STEP);
    if (x->kept && k == x->p->n_segments - 1)
        end_kept(x);
    mfu_rewrite_segment(x->s, seg, first, x->n);
}

/* Experts that are spread like everything else are of the first pool. */
static void fill_pools(struct sharder *x)
{
    const struct mfu_program *p = x->p;
    const struct mfu_mesh *mesh = &p->mesh;
    bool several = copies(x->s) > 1;
    bool apart =
        p->expert_params > 0 && (mesh->ranks[MFU_AXIS_EP] > 1 || mesh->ranks[MFU_AXIS_ETP] != mesh->ranks[MFU_AXIS_TP]);

    x->pool[0] = (struct pool){.whole = MFU_AXES_DATA,
                               .axes = several ? MFU_AXES_SHARD : MFU_AXES_DATA,
                               .share = mfu_state_share(x->s, MFU_STATE_OPTIMIZER),
                               .params = p->rank_params - (apart ? p->expert_params : 0),
                               .trained = p->rank_trained - (apart ? p->expert_trained : 0)};
    if (apart)
        x->pool[1] = (struct pool){.whole = MFU_AXES_EXPERT_DATA,
                                   .axes = several ? MFU_AXIS_BIT(MFU_AXIS_EDP) : MFU_AXES_EXPERT_DATA,
                                   .share = expert_share(x->s, MFU_STATE_OPTIMIZER),
                                   .params = p->expert_params,
                                   .trained = p->expert_trained};
    for (int i = 0; i < (apart ? POOLS : 1); i++) {
        x->pool[i].ranks = ranks_along(x->s, x->pool[i].axes);
        x->pool[i].bucket = FIRST_BUCKET_BYTES;
        x->spread |= x->pool[i].ranks > 1;
    }
    for (struct pool *pool = x->pool; pool < x->pool + POOLS && pool->ranks > 0; pool++) {
        pool->root_params = pool->params;
        pool->root_trained = pool->trained;
        for (int i = 0; i < x->s->config->model->n_sections; i++) {
            pool->root_params -= x->s->unit[i].layers * params_of(x, pool, &x->s->unit[i]);
            pool->root_trained -= x->s->unit[i].layers * trained_of(x, pool, &x->s->unit[i]);
        }
        pool->root_params = fmax(pool->root_params, 0);
        pool->root_trained = fmax(pool->root_trained, 0);
    }
}

int mfu_shard_program(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    struct sharder x = {.s = s,
                        .p = p,
                        .rule = rule_of(s),
                        .wanted = -1,
                        .ahead = -1,
                        .root = -1,
                        .block = -1,
                        .next = -1,
                        .gradients = -1,
                        .leaving = -1,
                        .added = -1};
    int n_tensors = p->n_tensors, n_launches = p->n_launches, last = last_gradient(p);

    fill_pools(&x);
    p->constant_bytes[MFU_PART_COMMUNICATION] = standing_bytes(&x);
    x.by_block = x.rule->by_block && (x.spread || offloads(s, MFU_S_OFFLOAD_PARAMS));
    x.kept = x.by_block && x.rule->kept == FOR_ALL_MICRO_STEPS;
    if (!x.spread && !mfu_offloads(s->config))
        return 0;
    if (x.by_block && x.rule->kept == FOR_BOTH_PASSES && !(x.stay = malloc((size_t)p->n_segments * sizeof *x.stay)))
        return -1;
    if (!mfu_rewrite_begin(s)) {
        free(x.stay);
        return -1;
    }
    for (int k = 0; k < p->n_segments && !s->failed; k++)
        write_segment(&x, k, last);
    free(x.stay);
    if (s->failed)
        return -1;
    mfu_rewrite_end(s, x.n, n_tensors, n_launches);
    return s->failed ? -1 : 0;
}
