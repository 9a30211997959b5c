/*
 * exchange.c - data parallelism, ZeRO and FSDP as collectives.
 *
 * PyTorch's DDP sums gradients in buckets while the last backward pass runs.
 * ZeRO 1 scatters the sums then and gathers the new weights behind the
 * optimizer; ZeRO 2, whose ranks keep their shard of the gradients only,
 * scatters in every micro-step.  FSDP gathers each block's weights before its
 * forward and its backward, one block ahead, and scatters its gradients after.
 */
#include "plan/exchange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cost/collective.h"
#include "scenario/setting.h"

/* Share of a backward pass under which sums of gradients can hide: the first
 * come after the head, the last with the embedding (chosen; the simulation
 * follows every piece instead). */
#define HIDDEN 0.8

/* torch DDP starts early with a bucket of this size. */
#define FIRST_BUCKET_BYTES 0x1p20

#define MASTER_BYTES 4 /* of one element of FSDP's shards */

static struct mfu_link link_of(const struct mfu_plan *p)
{
    return mfu_link_of(&p->machine, p->config.gpu, p->config.ranks);
}

/* ---- copies that FSDP makes ---------------------------------------------- */

/* Seconds of the compute stream for one unit of `params` parameters. */
static double copies_s(const struct mfu_plan *p, double bytes)
{
    return bytes / (p->machine.c[MFU_C_DRAM_POINTWISE] * p->machine.bandwidth_bytes_s);
}

/* Before a gather: each rank casts its shard. */
static double gather_copies_s(const struct mfu_plan *p, double params)
{
    double weight = p->program.weight_bytes;

    return copies_s(p, weight < MASTER_BYTES ? params * (MASTER_BYTES + weight) / p->config.ranks : 0);
}

/* Around a scatter: gradients are joined in one flat tensor, cast to the type of
 * the sum and divided by the number of ranks (each in place of nothing: read and
 * written), then the shard is added to what earlier micro-steps left.  Source:
 * PyTorch, torch/distributed/fsdp/_runtime_utils.py (_reduce_grad,
 * _div_if_needed). */
static double scatter_copies_s(const struct mfu_plan *p, double params)
{
    double weight = p->program.weight_bytes, sum = p->program.gradient_bytes;
    double flat = 2 * weight + (sum > weight ? weight + sum : 0) + 2 * sum;

    return copies_s(p, params * (flat + 3 * MASTER_BYTES / p->config.ranks));
}

/* ---- at once: what does not hide ----------------------------------------- */

/* The pass that an exchange runs beside. */
struct pass {
    double gpu_s, span_s; /* its kernels; until the host has issued them, if that is later */
    double copies_s;      /* kernels for the exchange itself */
    double hides;         /* share of the pass that there is something to exchange in */
};

/* How much longer the pass is.  Where kernels or the host are the longer part,
 * the first or last piece has nothing to run beside, and what runs beside kernels
 * slows them down; where the link is, it sets the pace. */
static double exposed(struct mfu_plan *p, double total_s, double piece_s, const struct pass *x)
{
    double slowed_s = p->machine.c[MFU_C_LINK_CONTENTION] * fmin(total_s, x->hides * x->span_s);
    double kernels_s = fmax(x->gpu_s + x->copies_s + slowed_s, x->span_s) + piece_s;

    p->step.communication_s += total_s;
    return fmax(kernels_s, (1 - x->hides) * x->span_s + total_s) - x->span_s;
}

/* The root, all that is in no block, stays gathered through the micro-step; its
 * gather and its scatter have nothing to run beside. */
static double exposed_by_full_sharding(struct mfu_plan *p, const struct mfu_link *link, const double span_s[])
{
    const struct mfu_program *g = &p->program;
    double ranks = p->config.ranks, root = g->params - g->blocks * g->block_params;
    double ends_s =
        mfu_gather_s(link, ranks, g->weight_bytes * root) + mfu_gather_s(link, ranks, g->gradient_bytes * root);
    double block_s = 2 * mfu_gather_s(link, ranks, g->weight_bytes * g->block_params)
        + mfu_gather_s(link, ranks, g->gradient_bytes * g->block_params);
    struct pass both = {.gpu_s = (p->step.forward_s + p->step.backward_s) / g->accum,
                        .span_s = (span_s[MFU_FORWARD] + span_s[MFU_BACKWARD]) / g->accum,
                        .copies_s = 2 * gather_copies_s(p, g->params) + scatter_copies_s(p, g->params),
                        .hides = 1};
    double micro_step_s = exposed(p, g->blocks * block_s + ends_s, ends_s, &both);

    p->step.communication_s *= g->accum;
    return g->accum * micro_step_s;
}

static double exposed_by_sharding(struct mfu_plan *p, const struct mfu_link *link, double buckets, double bucket_bytes,
                                  const struct pass *backward)
{
    double times = p->config.setting[MFU_S_ZERO] >= 2 ? p->program.accum : 1;
    double scatter_s = mfu_gather_s(link, p->config.ranks, bucket_bytes);
    double gather_s = mfu_gather_s(link, p->config.ranks, p->program.constant_bytes[MFU_PART_WEIGHTS]);
    double exposed_s = times * exposed(p, buckets * scatter_s, scatter_s, backward) + gather_s;

    p->step.communication_s = times * p->step.communication_s + gather_s;
    return exposed_s;
}

/* The bucket of a typical byte: a tensor that is larger fills one by itself. */
static double bucket_bytes_of(const struct mfu_plan *p)
{
    const struct mfu_program *g = &p->program;
    double elements = 0, squares = 0;

    for (int i = 0; i < g->n_weights; i++) {
        elements += g->weights[i];
        squares += g->weights[i] * g->weights[i];
    }
    return fmin(fmax(MFU_BUCKET_BYTES, elements > 0 ? squares / elements * g->gradient_bytes : 0),
                g->params * g->gradient_bytes);
}

double mfu_exchange_exposed_s(struct mfu_plan *p, const double span_s[MFU_PHASE_COUNT])
{
    struct mfu_link link = link_of(p);
    double bucket = bucket_bytes_of(p), buckets = p->program.gradient_bytes * p->program.params / bucket;
    struct pass backward = {.gpu_s = p->step.backward_s / p->program.accum,
                            .span_s = span_s[MFU_BACKWARD] / p->program.accum,
                            .hides = HIDDEN};
    double sum_s;

    p->step.communication_s = 0;
    if (p->config.ranks <= 1)
        return 0;
    if (p->config.setting[MFU_S_ZERO] == 3)
        return exposed_by_full_sharding(p, &link, span_s);
    if (p->config.setting[MFU_S_ZERO] > 0)
        return exposed_by_sharding(p, &link, buckets, bucket, &backward);
    sum_s = mfu_all_reduce_s(&link, p->config.ranks, bucket);
    return exposed(p, buckets * sum_s, sum_s, &backward);
}

/* ---- piece by piece ------------------------------------------------------ */

static int add(struct mfu_exchange *x, struct mfu_collective c)
{
    if (x->n == x->cap) {
        size_t cap = x->cap ? 2 * x->cap : 256;
        struct mfu_collective *more = realloc(x->collectives, cap * sizeof *more);

        if (!more)
            return -1;
        x->collectives = more;
        x->cap = cap;
    }
    x->collectives[x->n++] = c;
    return 0;
}

/* Gradients in buckets as they become ready, the first one small. */
static int list_buckets(const struct mfu_plan *plan, const struct mfu_program *p, const struct mfu_link *link,
                        struct mfu_exchange *x)
{
    double stage = plan->config.setting[MFU_S_ZERO], waiting = 0, cap = FIRST_BUCKET_BYTES;
    int last = -1;

    for (int i = 0; i < p->n_launches; i++)
        if (p->launches[i].gradient_elements > 0)
            last = i;
    for (int i = 0; i <= last; i++) {
        struct mfu_collective c = {.name = stage > 0 ? "reduce_scatter" : "all_reduce",
                                   .after_launch = i,
                                   .before_launch = -1,
                                   .when = stage >= 2 ? MFU_EVERY_MICRO_STEP : MFU_LAST_MICRO_STEP};

        waiting += p->launches[i].gradient_elements * p->gradient_bytes;
        if (waiting <= 0 || (waiting < cap && i < last))
            continue;
        c.bytes = waiting;
        c.seconds = stage > 0 ? mfu_gather_s(link, plan->config.ranks, waiting)
                              : mfu_all_reduce_s(link, plan->config.ranks, waiting);
        if (add(x, c) < 0)
            return -1;
        waiting = 0;
        cap = MFU_BUCKET_BYTES;
    }
    return 0;
}

static int list_new_weights(const struct mfu_plan *plan, const struct mfu_program *p, const struct mfu_link *link,
                            struct mfu_exchange *x)
{
    double bytes = p->constant_bytes[MFU_PART_WEIGHTS];

    return add(x,
               (struct mfu_collective){.name = "all_gather",
                                       .bytes = bytes,
                                       .after_launch = p->n_launches - 1,
                                       .before_launch = -1,
                                       .when = MFU_AFTER_OPTIMIZER,
                                       .seconds = mfu_gather_s(link, plan->config.ranks, bytes)});
}

/* The section whose layers are FSDP's units: the one that comes most often. */
static const char *unit_section(const struct mfu_program *p)
{
    const char *most = "";
    double most_times = 1;

    for (int i = 0; i < p->n_segments; i++) {
        double times = 0;

        for (int k = i; k < p->n_segments && p->segments[i].phase == MFU_FORWARD; k++)
            if (p->segments[k].phase == MFU_FORWARD && strcmp(p->segments[k].section, p->segments[i].section) == 0)
                times += p->segments[k].repeat;
        if (times > most_times) {
            most = p->segments[i].section;
            most_times = times;
        }
    }
    return most;
}

struct units {
    const struct mfu_plan *plan;
    const struct mfu_link *link;
    struct mfu_exchange *x;
    double root_params; /* of all that is in no block */
};

static int gather_unit(const struct units *u, double params, int after, int before)
{
    double bytes = params * u->plan->program.weight_bytes;

    return add(u->x,
               (struct mfu_collective){.name = "all_gather",
                                       .bytes = bytes,
                                       .seconds = mfu_gather_s(u->link, u->plan->config.ranks, bytes),
                                       .copies_s = gather_copies_s(u->plan, params),
                                       .after_launch = after,
                                       .before_launch = before,
                                       .when = MFU_EVERY_MICRO_STEP});
}

static int scatter_unit(const struct units *u, double params, int after)
{
    double bytes = params * u->plan->program.gradient_bytes;

    return add(u->x,
               (struct mfu_collective){.name = "reduce_scatter",
                                       .bytes = bytes,
                                       .seconds = mfu_gather_s(u->link, u->plan->config.ranks, bytes),
                                       .copies_s = scatter_copies_s(u->plan, params),
                                       .after_launch = after,
                                       .before_launch = -1,
                                       .when = MFU_EVERY_MICRO_STEP});
}

/* The blocks of one pass, which begins after the launch `before`: a gather is
 * issued when the block before it begins, which is when the one before that has
 * ended; a scatter behind its block. */
static int list_pass(const struct units *u, const struct mfu_program *p, enum mfu_phase phase, const char *section,
                     int before)
{
    double params = u->plan->program.block_params;
    int ended = before, ended_before = before;

    for (int k = 0; k < p->n_segments; k++) {
        const struct mfu_segment *seg = &p->segments[k];
        int last = seg->first + seg->count - 1;

        if (seg->phase != phase || seg->count == 0)
            continue;
        if (strcmp(seg->section, section) != 0) {
            ended = last;
            continue;
        }
        if (gather_unit(u, params, ended_before, seg->first) < 0
            || (phase == MFU_BACKWARD && scatter_unit(u, params, last) < 0))
            return -1;
        ended_before = ended;
        ended = last;
    }
    return 0;
}

static int in_order_of_issue(const void *a, const void *b)
{
    const struct mfu_collective *x = a, *y = b;
    int order = (x->after_launch > y->after_launch) - (x->after_launch < y->after_launch);

    /* A gather is wanted soonest; the order is total for the sort's sake. */
    if (order == 0)
        order = (y->before_launch >= 0) - (x->before_launch >= 0);
    return order ? order : (x->before_launch > y->before_launch) - (x->before_launch < y->before_launch);
}

static int list_units(const struct mfu_plan *plan, const struct mfu_program *p, const struct mfu_link *link,
                      struct mfu_exchange *x)
{
    struct units u = {plan, link, x, plan->program.params - plan->program.blocks * plan->program.block_params};
    const char *section = unit_section(p);
    int last[MFU_PHASE_COUNT] = {0};

    for (int k = 0; k < p->n_segments; k++)
        last[p->segments[k].phase] = p->segments[k].first + p->segments[k].count - 1;
    if (gather_unit(&u, u.root_params, -1, 0) < 0 || list_pass(&u, p, MFU_FORWARD, section, -1) < 0
        || list_pass(&u, p, MFU_BACKWARD, section, last[MFU_FORWARD]) < 0
        || scatter_unit(&u, u.root_params, last[MFU_BACKWARD]) < 0)
        return -1;
    qsort(x->collectives, x->n, sizeof *x->collectives, in_order_of_issue);
    return 0;
}

int mfu_exchange_list(const struct mfu_plan *plan, const struct mfu_program *unrolled, struct mfu_exchange *x)
{
    struct mfu_link link = link_of(plan);
    double stage = plan->config.setting[MFU_S_ZERO];

    x->n = 0;
    if (plan->config.ranks <= 1)
        return 0;
    if (stage == 3)
        return list_units(plan, unrolled, &link, x);
    if (list_buckets(plan, unrolled, &link, x) < 0)
        return -1;
    return stage > 0 ? list_new_weights(plan, unrolled, &link, x) : 0;
}

void mfu_exchange_release(struct mfu_exchange *x)
{
    free(x->collectives);
    memset(x, 0, sizeof *x);
}
