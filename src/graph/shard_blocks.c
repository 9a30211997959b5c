/*
 * shard_blocks.c - FSDP and ZeRO 3: weights are gathered and gradients scattered block by block, one block ahead, or, beside
 * a pipeline, stay gathered while gradients wait.
 */
#include "graph/recompute.h"
#include "graph/sharder.h"
#include "scenario/setting.h"

static enum mfu_occurrence gathers_when(const struct mfu_sharder *x)
{
    return x->kept ? MFU_FIRST_MICRO_STEP : MFU_EVERY_MICRO_STEP;
}

/* Each rank has its shard sent from the host, where it is there, and casts it before a gather. */
static int gather(struct mfu_sharder *x, const struct mfu_pool *pool, double params)
{
    bool hosted = x->s->config->setting[MFU_S_OFFLOAD_PARAMS] > 0;
    double weight = x->p->weight_bytes, shard = weight;
    int issued = -1;

    if (weight < MFU_SHARD_BYTES && !x->s->frozen_parts && (!hosted || mfu_shards_are_masters(x->s)))
        shard = MFU_SHARD_BYTES;
    if (x->p->drive_bytes[MFU_PART_WEIGHTS] > 0) {
        mfu_sharder_issue_in(x, MFU_STREAM_DRIVE, MFU_FROM_DRIVE, params * shard / pool->ranks * mfu_driven_share(x->s),
                             1, MFU_EVERY_MICRO_STEP);
        x->after = MFU_STREAM_DRIVE;
    }
    if (hosted) /* alone they take the place of what is gathered */
        issued = mfu_sharder_issue_in(x, pool->ranks > 1 ? MFU_STREAM_FROM_HOST : MFU_STREAM_COMMUNICATION,
                                      MFU_FROM_HOST, params * shard / pool->ranks, 1, MFU_EVERY_MICRO_STEP);
    if (shard > weight)
        mfu_sharder_copy(x, "cast_shard", params * shard / pool->ranks, params * weight / pool->ranks, 1,
                         gathers_when(x));
    x->after = hosted && pool->ranks > 1 ? MFU_STREAM_FROM_HOST : MFU_STREAM_COMPUTE;
    return pool->ranks > 1 ? mfu_sharder_issue(x, pool->axes, MFU_STREAM_COMMUNICATION, MFU_ALL_GATHER, params * weight,
                                               1, gathers_when(x))
                           : issued;
}

/* What a pool has of a unit's parameters. */
double mfu_pool_params(const struct mfu_sharder *x, const struct mfu_pool *pool, const struct mfu_unit *u)
{
    bool apart = x->pool[1].ranks > 0;

    return pool != x->pool ? u->experts : u->params - (apart ? u->experts : 0);
}

double mfu_pool_trained(const struct mfu_sharder *x, const struct mfu_pool *pool, const struct mfu_unit *u)
{
    bool apart = x->pool[1].ranks > 0;

    return pool != x->pool ? u->expert_trained : u->trained - (apart ? u->expert_trained : 0);
}

/* A unit, or what is in none (NULL), of both pools; the number of the latest. */
static int gather_both(struct mfu_sharder *x, const struct mfu_unit *unit)
{
    int issued = -1, latest;

    for (const struct mfu_pool *pool = x->pool; pool < x->pool + MFU_POOLS; pool++) {
        double params = unit ? mfu_pool_params(x, pool, unit) : pool->root_params;

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
static void scatter(struct mfu_sharder *x, const struct mfu_pool *pool, double params, double calls)
{
    double sum = x->p->gradient_bytes, weight = x->kept ? sum : x->p->weight_bytes;
    double wider = sum > weight ? 1 : 0, shard = MFU_SHARD_BYTES / pool->ranks;
    enum mfu_stream stream = x->kept ? MFU_STREAM_COMPUTE : MFU_STREAM_COMMUNICATION; /* nothing is beside it */

    if (pool->ranks > 1) {
        mfu_sharder_copy(x, "flatten", params * (weight + wider * weight + sum + 2 * shard),
                         params * (weight + wider * sum + sum + shard), calls, MFU_EVERY_MICRO_STEP);
        mfu_sharder_issue(x, pool->axes, stream, MFU_REDUCE_SCATTER, params * sum, calls, MFU_EVERY_MICRO_STEP);
    }
    if (mfu_shard_copies(x->s) > 1)
        mfu_sharder_issue(x, MFU_AXIS_BIT(MFU_AXIS_REPLICA), stream, MFU_ALL_REDUCE, params * sum / pool->ranks, calls,
                          MFU_EVERY_MICRO_STEP);
    mfu_sharder_send(x, pool, params / pool->ranks, calls, MFU_EVERY_MICRO_STEP);
}

/* Of `calls` units like this one, or of what is in none. */
static void scatter_both(struct mfu_sharder *x, const struct mfu_unit *unit, double calls)
{
    for (const struct mfu_pool *pool = x->pool; pool < x->pool + MFU_POOLS; pool++) {
        double params = unit ? mfu_pool_trained(x, pool, unit) : pool->root_trained;

        if (pool->ranks > 0 && (pool == x->pool || params > 0))
            scatter(x, pool, params, calls);
    }
}

/* The unit whose layer a segment is, or NULL. */
static const struct mfu_unit *unit_of(const struct mfu_sharder *x, int k)
{
    const struct mfu_segment *seg = &x->p->segments[k];
    const struct mfu_model *m = x->s->config->model;

    for (int i = 0; i < m->n_sections && seg->layer; i++)
        if (m->sections[i].name == seg->section)
            return x->s->unit[i].layers > 0 ? &x->s->unit[i] : NULL;
    return NULL;
}

/* The block that the pass enters next, at segment k or after; -1: none. */
static int next_block(const struct mfu_sharder *x, int k, enum mfu_phase phase)
{
    for (; k < x->p->n_segments && x->p->segments[k].phase == phase; k++)
        if (unit_of(x, k))
            return k;
    return -1;
}

bool mfu_begins_pass(const struct mfu_sharder *x, int k)
{
    return k == 0 || x->p->segments[k - 1].phase != x->p->segments[k].phase;
}

/* Whether a block's weights of the forward pass are there until its backward pass. */
static bool stays(const struct mfu_sharder *x)
{
    return x->stay && (x->rule->kept != MFU_REFERRED_TO || !mfu_layer_runs_anew(x->s, &x->s->layers[x->seg->of]));
}

static void gather_ahead(struct mfu_sharder *x, int k)
{
    const struct mfu_unit *unit = unit_of(x, k);

    x->next = mfu_sharder_buffer(x, MFU_PART_COMMUNICATION, x->p->weight_bytes * unit->params);
    x->ahead = gather_both(x, unit);
}

/* As a segment begins, the root is gathered with the micro-step, the first block
 * with each pass, and in every block the next one. */
static void begin_block(struct mfu_sharder *x, int k)
{
    const struct mfu_unit *unit = unit_of(x, k);
    enum mfu_phase phase = x->seg->phase;
    bool stay = x->stay && phase == MFU_BACKWARD && x->rule->kept != MFU_REFERRED_TO; /* all is there */
    int before = x->next, next;

    if (k == 0) {
        x->root = mfu_sharder_buffer(x, MFU_PART_COMMUNICATION,
                                     x->p->weight_bytes * (x->pool[0].root_params + x->pool[1].root_params));
        x->wanted = gather_both(x, NULL);
    }
    if (!stay && mfu_begins_pass(x, k) && (next = next_block(x, k, phase)) >= 0) {
        gather_ahead(x, next);
        before = x->next;
    }
    if (!unit)
        return;
    if (stay) {
        x->block = x->n_stay > 0 ? x->stay[--x->n_stay] : -1;
    } else {
        x->block = mfu_sharder_buffer(x, MFU_PART_COMMUNICATION, x->p->weight_bytes * unit->params);
        mfu_sharder_release(x, before);
        x->next = -1;
        x->wanted = x->ahead;
    }
    if (phase == MFU_BACKWARD) {
        if (x->rule->kept == MFU_REFERRED_TO && stays(x) && x->n_stay > 0)
            x->referred = x->stay[--x->n_stay];
        if (x->gradients >= 0)
            x->leaving = mfu_sharder_buffer(x, MFU_PART_COMMUNICATION, x->left_bytes);
        x->left_bytes = x->p->gradient_bytes * unit->trained;
        x->gradients = mfu_sharder_buffer(x, MFU_PART_COMMUNICATION, x->left_bytes);
    }
    next = x->seg->repeat > 1 ? k : next_block(x, k + 1, phase);
    if (next >= 0 && !stay)
        gather_ahead(x, next);
}

/* As it ends, a block's gradients are scattered, and behind the pass the root's. */
static void end_block(struct mfu_sharder *x, int k)
{
    const struct mfu_program *p = x->p;
    const struct mfu_unit *unit = unit_of(x, k);

    if (unit) {
        if (x->seg->phase == MFU_BACKWARD)
            scatter_both(x, unit, 1);
        else if (stays(x))
            x->stay[x->n_stay++] = x->block;
        mfu_sharder_release(x, x->block);
        mfu_sharder_release(x, x->gradients);
        mfu_sharder_release(x, x->leaving);
        mfu_sharder_release(x, x->referred);
        x->leaving = x->referred = -1;
    }
    if (x->seg->phase == MFU_BACKWARD && (k + 1 == p->n_segments || p->segments[k + 1].phase != MFU_BACKWARD)) {
        scatter_both(x, NULL, 1);
        mfu_sharder_release(x, x->root);
    }
}

/* The same where weights stay and gradients wait.  All are there as the step begins, but gradients of a single
 * microbatch, which come with its backward pass; a block's .grad is apart until the block is done. */
static void begin_kept(struct mfu_sharder *x, int k)
{
    const struct mfu_unit *unit = unit_of(x, k);
    bool backward = x->seg->phase == MFU_BACKWARD;
    int next = -1;

    if (x->added < 0 && (backward || x->p->accum > 1))
        x->added = mfu_sharder_buffer(x, MFU_PART_GRADIENTS, x->p->gradient_bytes * x->p->rank_trained);
    if (backward) {
        x->gradients = unit ? mfu_sharder_buffer(x, MFU_PART_GRADIENTS, x->p->weight_bytes * unit->trained) : -1;
        return;
    }
    if (k == 0) {
        x->root = mfu_sharder_buffer(x, MFU_PART_COMMUNICATION, x->p->weight_bytes * x->p->rank_params);
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

void mfu_blocks_forget(struct mfu_sharder *x)
{
    mfu_sharder_release(x, x->gradients);
    x->gradients = -1;
}

/* The optimizer's phase begins with the sums, of which shards are left. */
void mfu_blocks_sum(struct mfu_sharder *x)
{
    const struct mfu_builder *s = x->s;

    x->gradients = mfu_sharder_buffer(x, MFU_PART_GRADIENTS, MFU_SHARD_BYTES * mfu_state_params(s, MFU_STATE_GRADIENT));
    for (int i = 0; i < s->config->model->n_sections; i++)
        if (s->unit[i].layers > 0)
            scatter_both(x, &s->unit[i], s->unit[i].layers);
    scatter_both(x, NULL, 1);
    mfu_sharder_release(x, x->root);
    mfu_sharder_release(x, x->added);
}

void mfu_blocks_begin(struct mfu_sharder *x, int segment)
{
    x->kept ? begin_kept(x, segment) : begin_block(x, segment);
}

void mfu_blocks_end(struct mfu_sharder *x, int segment)
{
    x->kept ? mfu_blocks_forget(x) : end_block(x, segment);
}
