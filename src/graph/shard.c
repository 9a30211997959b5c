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

#include "descriptor/maker.h"
#include "graph/copies.h"
#include "graph/frozen.h"
#include "graph/optimizer.h"
#include "graph/sharder.h"
#include "graph/stage.h"
#include "scenario/setting.h"

/* What trainers do, by ZeRO stage. */
static const struct mfu_shard_rule rules[] = {
    {MFU_STATE_COUNT, MFU_ALL_REDUCE, MFU_LAST_MICRO_STEP, false, MFU_FOR_A_PASS},         /* DDP, with no_sync */
    {MFU_STATE_OPTIMIZER, MFU_REDUCE_SCATTER, MFU_LAST_MICRO_STEP, false, MFU_FOR_A_PASS}, /* ZeRO 1 */
    {MFU_STATE_GRADIENT, MFU_REDUCE_SCATTER, MFU_EVERY_MICRO_STEP, false, MFU_FOR_A_PASS}, /* ZeRO 2 */
    {MFU_STATE_WEIGHT, MFU_REDUCE_SCATTER, MFU_EVERY_MICRO_STEP, true, MFU_FOR_A_PASS},    /* ZeRO 3, FSDP */
};

/* FSDP with SHARD_GRAD_OP, or without reshard_after_forward. */
static const struct mfu_shard_rule kept_for_backward = {MFU_STATE_WEIGHT, MFU_REDUCE_SCATTER, MFU_EVERY_MICRO_STEP,
                                                        true, MFU_FOR_BOTH_PASSES};

/* DeepSpeed's ZeRO 3 without its own linear layers: autograd's references to the weights that were gathered for the
 * forward pass keep them, which it does not know, and gathers them again (edaa7221, zero/linear.py; before 617061d6 of
 * 2026 zero.Init alone replaced torch's, partition_parameters.py).  Of layers that run again in backward nothing is
 * referred to. */
static const struct mfu_shard_rule referred_to = {MFU_STATE_WEIGHT, MFU_REDUCE_SCATTER, MFU_EVERY_MICRO_STEP, true,
                                                  MFU_REFERRED_TO};

/* FSDP beside a pipeline: weights are gathered in the first microbatch's forward pass and stay, gradients are added up
 * whole in the type of their sum, and a stage's are summed behind its last backward pass, one block after the other with
 * nothing beside them (PyTorch 01386103, torch/distributed/pipelining/stage.py: backward_maybe_with_nosync,
 * _post_backward; 002a76fb, fsdp/_fully_shard/_fsdp_param_group.py: post_backward; torchtitan b5bcd76c,
 * distributed/fsdp.py: get_fsdp_reshard_after_forward_policy). */
static const struct mfu_shard_rule pipelined = {MFU_STATE_WEIGHT, MFU_REDUCE_SCATTER, MFU_LAST_MICRO_STEP, true,
                                                MFU_FOR_ALL_MICRO_STEPS};

/* torch DDP starts early with a small bucket. */
#define FIRST_BUCKET_BYTES 0x1p20

/* Of sub-groups that come from the drives one by one; where there are more, each stands for several (chosen: what is not
 * hidden is the first and the last of them). */
#define MOST_GROUPS 64

/* DeepSpeed writes no piece of a gradient below this (edaa7221, swap_tensor/utils.py: MIN_AIO_BYTES). */
#define LEAST_SWAPPED_BYTES 0x1p20

/* Copies of what is sharded (HSDP). */
double mfu_shard_copies(const struct mfu_builder *s)
{
    return s->program->mesh.ranks[MFU_AXIS_REPLICA];
}

/* In torch's pipelines whole gradients wait for the last microbatch. */
static const struct mfu_shard_rule *rule_of(const struct mfu_builder *s)
{
    double zero = s->config->setting[MFU_S_ZERO];
    bool once = mfu_config_sums_once(s->config);

    if (zero >= 3 && s->config->setting[MFU_S_RESHARD] == 0)
        return once ? &pipelined : &kept_for_backward;
    if (zero >= 3 && s->config->setting[MFU_S_EFFICIENT_LINEAR] == 0)
        return &referred_to;
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
    return rule_of(s)->kept == MFU_FOR_ALL_MICRO_STEPS
        && (mfu_fully_sharded(s) || expert_share(s, MFU_STATE_WEIGHT) < 1);
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

/* On ROCm none do: AMD's scripts turn it off (ROCm/Megatron-LM 02b8aa76, examples/llama/train_llama3.sh:
 * --no-gradient-accumulation-fusion; Primus fcbfe2bd, examples/megatron/configs). */
bool mfu_products_add(const struct mfu_builder *s)
{
    double year = s->config->setting[MFU_S_SOFTWARE], before = mfu_trainers[s->config->trainer].adds_apart_before;

    return s->runtime->gemm_accumulates && !(before == INFINITY || (year > 0 && year < before))
        && mfu_maker(s->config->gpu->vendor)->software != MFU_ROCM;
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
        double times = mfu_weight_sets(sec, mfu_stage_repeats(s, (int)(sec - m->sections)))
            - mfu_frozen_layers(s, sec->name, true).all;

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

static void put(struct mfu_sharder *x, struct mfu_launch *l, const struct mfu_work *w)
{
    l->work = mfu_work_of(x->s, w);
    mfu_rewrite_put(x->s, &x->n, l);
}

static struct mfu_launch blank(const struct mfu_sharder *x, const char *suffix)
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
int mfu_sharder_issue(struct mfu_sharder *x, unsigned axes, enum mfu_stream stream, enum mfu_collective_kind op,
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
int mfu_sharder_issue_in(struct mfu_sharder *x, enum mfu_stream stream, enum mfu_collective_kind op, double bytes,
                         double calls, enum mfu_occurrence when)
{
    return mfu_sharder_issue(x, stream == MFU_STREAM_DRIVE ? MFU_AXES_DRIVE : MFU_AXES_HOST, stream, op, bytes, calls,
                             when);
}

/* `calls` copies of so many bytes each. */
void mfu_sharder_copy(struct mfu_sharder *x, const char *suffix, double read_bytes, double write_bytes, double calls,
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
int mfu_sharder_buffer(struct mfu_sharder *x, enum mfu_part part, double bytes)
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

/* It was last needed by the launch written last. */
void mfu_sharder_release(struct mfu_sharder *x, int tensor)
{
    if (tensor >= 0)
        x->p->tensors[tensor].last = x->n - 1 > x->p->tensors[tensor].born ? x->n - 1 : x->p->tensors[tensor].born;
}

/* What was gathered is copied out weight by weight for each rank, whose parts were joined before: three copies, of
 * which the last has a launch a piece (it has q, k, v and gate, up in one weight each, a model here may not; two views
 * of a piece take the host about as long).  Source: nanotron 2411b022, distributed.py (all_gather_coalesced), optim/zero.py
 * (_all_gather_params).  The joined parts of this rank, of all, and torch's buffer for a list of outputs are there
 * together; of these one is where the 16-bit gradients were, which went when they were added up. */
static void copy_out(struct mfu_sharder *x, const struct mfu_pool *pool, double bytes)
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
static void gather_new(struct mfu_sharder *x, enum mfu_occurrence when)
{
    for (const struct mfu_pool *pool = x->pool; pool < x->pool + MFU_POOLS; pool++) {
        double bytes = pool->trained * mfu_weight_bytes(x->s);

        if (pool->ranks <= 1)
            continue;
        mfu_sharder_issue(x, pool->axes, MFU_STREAM_COMMUNICATION, MFU_ALL_GATHER, bytes, 1, when);
        if (mfu_trainers[x->s->config->trainer].gathers_pieces)
            copy_out(x, pool, bytes);
    }
}

/* ---- buckets ------------------------------------------------------------- */

static enum mfu_collective_kind reduction(const struct mfu_sharder *x)
{
    return mfu_trainers[x->s->config->trainer].reduces_whole ? MFU_ALL_REDUCE : x->rule->reduce;
}

/* Gradients are summed beside backward, in buckets, or all of them behind it. */
static bool in_buckets(const struct mfu_sharder *x)
{
    return x->s->config->setting[MFU_S_OVERLAP_GRAD_REDUCE] > 0 || x->rule->when == MFU_EVERY_MICRO_STEP;
}

/* `calls` gradients of `elements` of this rank go to the host.  DeepSpeed lets the GPU add what the micro-steps before
 * left there, and sends the sum in fp32 in the last. */
void mfu_sharder_send(struct mfu_sharder *x, const struct mfu_pool *pool, double elements, double calls,
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
            mfu_sharder_issue_in(x, MFU_STREAM_FROM_HOST, MFU_FROM_HOST, elements * half, calls, MFU_EVERY_MICRO_STEP);
            x->after = MFU_STREAM_FROM_HOST; /* which waited for the sum */
            mfu_sharder_issue_in(x, MFU_STREAM_TO_HOST, MFU_TO_HOST, elements * half, calls, MFU_EVERY_MICRO_STEP);
        }
    }
    mfu_sharder_issue_in(x, MFU_STREAM_TO_HOST, MFU_TO_HOST, elements * mfu_host_gradient_bytes(s), calls, when);
    if (s->program->drive_bytes[MFU_PART_GRADIENTS] > 0) {
        x->after = MFU_STREAM_TO_HOST;
        mfu_sharder_issue_in(x, MFU_STREAM_DRIVE, MFU_TO_DRIVE,
                             elements / mfu_state_params(s, MFU_STATE_OPTIMIZER)
                                 * s->program->drive_bytes[MFU_PART_GRADIENTS],
                             calls, when);
    }
}

/* `calls` sums over the ranks of so many bytes, and what follows them: each copy sums its shard with the others'
 * (Megatron, core/distributed/param_and_grad_buffer.py with num_distributed_optimizer_instances). */
static void reduce(struct mfu_sharder *x, const struct mfu_pool *pool, double bytes, double calls,
                   enum mfu_occurrence when)
{
    bool beside = x->s->config->setting[MFU_S_OVERLAP_GRAD_REDUCE] > 0, whole = reduction(x) == MFU_ALL_REDUCE;
    enum mfu_stream stream = beside ? MFU_STREAM_COMMUNICATION : MFU_STREAM_COMPUTE;

    if (pool->ranks > 1 || (whole && mfu_shard_copies(x->s) > 1))
        mfu_sharder_issue(x, whole ? pool->whole : pool->axes, stream, reduction(x), bytes, calls, when);
    if (mfu_shard_copies(x->s) > 1 && !whole)
        mfu_sharder_issue(x, MFU_AXIS_BIT(MFU_AXIS_REPLICA), stream, MFU_ALL_REDUCE, bytes / pool->ranks, calls, when);
    mfu_sharder_send(x, pool, bytes / x->p->gradient_bytes * pool->share, calls, when);
}

static void flush(struct mfu_sharder *x, struct mfu_pool *pool)
{
    if (pool->waiting > 0)
        reduce(x, pool, pool->waiting, 1, x->rule->when);
    pool->waiting = 0;
    pool->bucket = x->s->config->setting[MFU_S_GRAD_BUCKET];
}

/* Gradients leave in buckets as they become complete; those of layers that are
 * counted in as many typical ones as they fill. */
static void bucket(struct mfu_sharder *x, struct mfu_pool *pool, double elements, bool last)
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
static void bucket_all(struct mfu_sharder *x, const struct mfu_launch *l, bool last)
{
    double experts = x->pool[1].ranks > 0 ? l->work->gradient_experts : 0, rest = l->work->gradient_elements - experts;

    if (rest > 0 || last)
        bucket(x, &x->pool[0], rest, last);
    if (experts > 0 || (last && x->pool[1].ranks > 0))
        bucket(x, &x->pool[1], experts, last);
}

static void bucket_counted(struct mfu_sharder *x)
{
    for (struct mfu_pool *pool = x->pool; pool < x->pool + MFU_POOLS; pool++) {
        double typical;

        if (pool->counted <= 0)
            continue;
        /* That of a typical byte: a tensor that is larger fills one by itself. */
        typical = fmax(x->s->config->setting[MFU_S_GRAD_BUCKET], pool->counted_squares / pool->counted);
        reduce(x, pool, typical, pool->counted / typical, x->rule->when);
        pool->counted = pool->counted_squares = 0;
    }
}

/* ---- the pass ------------------------------------------------------------ */

/* Buffers that are there all the time: DDP's buckets, an engine's, two where sums run beside backward (DeepSpeed edaa7221,
 * stage_1_and_2.py: setup_buckets). */
static double standing_bytes(struct mfu_sharder *x)
{
    struct mfu_builder *s = x->s;
    const struct mfu_program *p = s->program;
    const struct mfu_shard_rule *rule = rule_of(s);
    double gradient = mfu_trained_bytes(s, s->numerics.gradient), largest = 0;
    double bucket = mfu_config_coefficient(s->config, MFU_C_ENGINE_BUCKET);
    bool several = x->spread || mfu_shard_copies(s) > 1, engine = mfu_half_engine(s->config);
    bool whole = engine && mfu_trainers[s->config->trainer].half_shards; /* however little trains */
    double buffer = !whole && mfu_compare(s, p->rank_trained, bucket) < 0 ? p->rank_trained : bucket;
    bool offloaded = offloads(s, MFU_S_OFFLOAD_OPTIMIZER);
    bool doubled = rule->by_block || s->config->setting[MFU_S_OVERLAP_GRAD_REDUCE] > 0;

    if (rule->by_block && (several || offloads(s, MFU_S_OFFLOAD_PARAMS)))
        return whole ? mfu_type_bytes[s->numerics.weight] * bucket : 0; /* stage3.py: contiguous_gradients */
    if (rule->when == MFU_LAST_MICRO_STEP && !offloaded)
        return several && !s->runtime->half_weights && !mfu_trainers[s->config->trainer].adds_up_wide
            ? gradient * (p->rank_trained + p->unreached_params) /* of all that ask for gradients (reducer.cpp) */
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
static void move(struct mfu_sharder *x, int last)
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
static bool gathers_after(const struct mfu_sharder *x)
{
    return !x->by_block && x->spread && x->rule->sharded != MFU_STATE_COUNT;
}

static bool gathers_beside(const struct mfu_sharder *x)
{
    return gathers_after(x) && x->s->config->setting[MFU_S_OVERLAP_PARAM_GATHER] > 0;
}

/* The CPU updates one of n parts; its new weights go back, or stay and are fetched as they are used. */
static void update_part(struct mfu_sharder *x, double n)
{
    const struct mfu_builder *s = x->s;
    double sent = mfu_state_params(s, MFU_STATE_OPTIMIZER) * mfu_weight_bytes(s) / n;

    mfu_sharder_issue_in(x, MFU_STREAM_TO_HOST, MFU_HOST_UPDATE, mfu_host_update_bytes(s) / n, 1, MFU_EVERY_MICRO_STEP);
    x->after = MFU_STREAM_TO_HOST;
    if (x->p->drive_bytes[MFU_PART_WEIGHTS] > 0)
        mfu_sharder_issue_in(x, MFU_STREAM_DRIVE, MFU_TO_DRIVE, sent * mfu_driven_share(s), 1, MFU_EVERY_MICRO_STEP);
    if (offloads(s, MFU_S_OFFLOAD_PARAMS))
        return;
    mfu_sharder_issue_in(x, MFU_STREAM_FROM_HOST, MFU_FROM_HOST, sent, 1, MFU_EVERY_MICRO_STEP);
    x->after = MFU_STREAM_FROM_HOST;
}

/* States, masters and gradients of a sub-group are read, updated, and all but the gradients written.  Reading ahead, the
 * next is read meanwhile; writing behind, nobody waits for the last (DeepSpeed edaa7221, swap_tensor/
 * pipelined_optimizer_swapper.py, zero/stage3.py: step). */
static void update_from_drive(struct mfu_sharder *x)
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
            mfu_sharder_issue_in(x, MFU_STREAM_DRIVE, MFU_FROM_DRIVE, read / n, 1, MFU_EVERY_MICRO_STEP);
        x->after = MFU_STREAM_DRIVE;
        x->behind = next + (ahead && behind && state > 0 && i > 0);
        update_part(x, n);
        if (state > 0) /* SGD without momentum has none */
            mfu_sharder_issue_in(x, MFU_STREAM_DRIVE, MFU_TO_DRIVE, state / n, 1, MFU_EVERY_MICRO_STEP);
    }
}

static void update_on_host(struct mfu_sharder *x)
{
    if (offloads(x->s, MFU_S_NVME_OPTIMIZER))
        update_from_drive(x);
    else if (offloads(x->s, MFU_S_OFFLOAD_OPTIMIZER))
        update_part(x, 1);
}

/* Whether the last segment of forward. */
static bool ends_forward(const struct mfu_sharder *x, int k)
{
    const struct mfu_segment *seg = &x->p->segments[k];

    return seg->phase == MFU_FORWARD && (k + 1 == x->p->n_segments || seg[1].phase != MFU_FORWARD);
}

static void write_segment(struct mfu_sharder *x, int k, int last)
{
    struct mfu_segment *seg = &x->p->segments[k];
    int first = x->n;

    x->seg = seg;
    if (x->by_block && seg->phase != MFU_OPTIMIZER_PHASE)
        mfu_blocks_begin(x, k);
    if (k == 0 && gathers_beside(x))
        gather_new(x, MFU_FIRST_MICRO_STEP);
    if (k > 0 && gathers_beside(x) && x->rule->when == MFU_LAST_MICRO_STEP && ends_forward(x, k))
        x->wanted = x->issued - 1; /* the last weights; in other micro-steps they are there */
    if (seg->phase == MFU_OPTIMIZER_PHASE && mfu_begins_pass(x, k)) {
        if (x->kept)
            mfu_blocks_sum(x);
        for (int i = 0; i < MFU_POOLS && !x->by_block && !in_buckets(x); i++)
            if (x->pool[i].ranks > 0)
                reduce(x, &x->pool[i], x->pool[i].trained * x->p->gradient_bytes, 1, MFU_EVERY_MICRO_STEP);
        x->wanted = x->issued - 1; /* all sums */
    }
    move(x, last);
    bucket_counted(x);
    if (x->by_block && seg->phase != MFU_OPTIMIZER_PHASE)
        mfu_blocks_end(x, k);
    if (k == x->p->n_segments - 1)
        update_on_host(x);
    if (k == x->p->n_segments - 1 && gathers_after(x) && !gathers_beside(x))
        gather_new(x, MFU_EVERY_MICRO_STEP);
    if (x->kept && k == x->p->n_segments - 1)
        mfu_blocks_forget(x);
    mfu_rewrite_segment(x->s, seg, first, x->n);
}

/* Experts that are spread like everything else are of the first pool. */
static void fill_pools(struct mfu_sharder *x)
{
    const struct mfu_program *p = x->p;
    const struct mfu_mesh *mesh = &p->mesh;
    bool several = mfu_shard_copies(x->s) > 1;
    bool apart =
        p->expert_params > 0 && (mesh->ranks[MFU_AXIS_EP] > 1 || mesh->ranks[MFU_AXIS_ETP] != mesh->ranks[MFU_AXIS_TP]);

    x->pool[0] = (struct mfu_pool){.whole = MFU_AXES_DATA,
                                   .axes = several ? MFU_AXES_SHARD : MFU_AXES_DATA,
                                   .share = mfu_state_share(x->s, MFU_STATE_OPTIMIZER),
                                   .params = p->rank_params - (apart ? p->expert_params : 0),
                                   .trained = p->rank_trained - (apart ? p->expert_trained : 0)};
    if (apart)
        x->pool[1] = (struct mfu_pool){.whole = MFU_AXES_EXPERT_DATA,
                                       .axes = several ? MFU_AXIS_BIT(MFU_AXIS_EDP) : MFU_AXES_EXPERT_DATA,
                                       .share = expert_share(x->s, MFU_STATE_OPTIMIZER),
                                       .params = p->expert_params,
                                       .trained = p->expert_trained};
    for (int i = 0; i < (apart ? MFU_POOLS : 1); i++) {
        x->pool[i].ranks = mfu_mesh_group(&x->s->program->mesh, x->pool[i].axes, 1).ranks;
        x->pool[i].bucket = FIRST_BUCKET_BYTES;
        x->spread |= x->pool[i].ranks > 1;
    }
    for (struct mfu_pool *pool = x->pool; pool < x->pool + MFU_POOLS && pool->ranks > 0; pool++) {
        pool->root_params = pool->params;
        pool->root_trained = pool->trained;
        for (int i = 0; i < x->s->config->model->n_sections; i++) {
            pool->root_params -= x->s->unit[i].layers * mfu_pool_params(x, pool, &x->s->unit[i]);
            pool->root_trained -= x->s->unit[i].layers * mfu_pool_trained(x, pool, &x->s->unit[i]);
        }
        pool->root_params = fmax(pool->root_params, 0);
        pool->root_trained = fmax(pool->root_trained, 0);
    }
}

int mfu_shard_program(struct mfu_builder *s)
{
    struct mfu_program *p = s->program;
    struct mfu_sharder x = {.s = s,
                            .p = p,
                            .rule = rule_of(s),
                            .wanted = -1,
                            .ahead = -1,
                            .root = -1,
                            .block = -1,
                            .next = -1,
                            .gradients = -1,
                            .leaving = -1,
                            .referred = -1,
                            .added = -1};
    int n_tensors = p->n_tensors, n_launches = p->n_launches, last = last_gradient(p);

    fill_pools(&x);
    p->constant_bytes[MFU_PART_COMMUNICATION] = standing_bytes(&x);
    x.by_block = x.rule->by_block && (x.spread || offloads(s, MFU_S_OFFLOAD_PARAMS));
    x.kept = x.by_block && x.rule->kept == MFU_FOR_ALL_MICRO_STEPS;
    if (!x.spread && !mfu_offloads(s->config))
        return 0;
    if (x.by_block && (x.rule->kept == MFU_FOR_BOTH_PASSES || x.rule->kept == MFU_REFERRED_TO)
        && !(x.stay = malloc((size_t)p->n_segments * sizeof *x.stay)))
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
