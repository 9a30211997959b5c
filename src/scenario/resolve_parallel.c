/*
 * resolve_parallel.c - where the run is spread: ranks of each axis, the trainer that shards and overlaps, the
 * pipeline's cut, what the host keeps.
 */
#include "scenario/resolve.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "descriptor/primitive.h"

bool mfu_offloads(const struct mfu_config *c)
{
    return c->setting[MFU_S_OFFLOAD_OPTIMIZER] > 0 || c->setting[MFU_S_OFFLOAD_PARAMS] > 0
        || c->setting[MFU_S_OFFLOAD_ACTIVATIONS] > 0;
}

/* DeepSpeed's engine; with Megatron's layers it is another, which adds up in fp32. */
static bool is_engine(const struct mfu_config *c)
{
    return mfu_trainers[c->trainer].half_shards && !mfu_trainers[c->trainer].adds_up_wide;
}

static bool on_drive(const struct mfu_config *c)
{
    return c->setting[MFU_S_NVME_OPTIMIZER] > 0 || c->setting[MFU_S_NVME_PARAMS] > 0;
}

/* Weights that are offloaded, or that somebody says how long they stay gathered, are sharded as FSDP and ZeRO 3 do, and
 * updated where they are. */
static void derive_offload(struct mfu_config *c)
{
    if (c->setting_origin[MFU_S_RESHARD] == MFU_ORIGIN_USER)
        mfu_derive(c, MFU_S_ZERO, 3);
    if (on_drive(c))
        mfu_derive(c, MFU_S_ZERO, 3);
    if (c->setting[MFU_S_NVME_PARAMS] > 0)
        mfu_derive(c, MFU_S_OFFLOAD_PARAMS, 1);
    if (c->setting[MFU_S_NVME_OPTIMIZER] > 0)
        mfu_derive(c, MFU_S_OFFLOAD_OPTIMIZER, 1);
    if (c->setting[MFU_S_OFFLOAD_PARAMS] > 0) {
        mfu_derive(c, MFU_S_OFFLOAD_OPTIMIZER, 1);
        mfu_derive(c, MFU_S_ZERO, 3);
    } else if (c->setting[MFU_S_OFFLOAD_OPTIMIZER] > 0 && c->setting[MFU_S_GPUS] > 1) {
        mfu_derive(c, MFU_S_ZERO, 2);
    }
}

static int check_offload(const struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_optimizer_row *o = &mfu_optimizers[c->optimizer];
    bool weights = c->setting[MFU_S_OFFLOAD_PARAMS] > 0, optimizer = c->setting[MFU_S_OFFLOAD_OPTIMIZER] > 0;

    if (c->setting[MFU_S_NVME_OPTIMIZER] > 0 && !optimizer)
        return mfu_fail(err, MFU_EINPUT, "nvme_optimizer: what is on drives is offloaded (set offload_optimizer on)");
    if (c->setting[MFU_S_NVME_PARAMS] > 0 && !weights)
        return mfu_fail(err, MFU_EINPUT, "nvme_params: what is on drives is offloaded (set offload_params on)");
    if (o->paged_bytes > 0 && c->setting[MFU_S_PP] > 1)
        return mfu_fail(err, MFU_EINPUT, "optimizer: the pages of %s in a pipeline are not modelled", o->name);
    if (!mfu_offloads(c))
        return 0;
    if (mfu_runtimes[c->runtime].c_program)
        return mfu_fail(err, MFU_EINPUT, "offload_%s: not possible with runtime %s: it keeps all on the GPU",
                        weights         ? "params"
                            : optimizer ? "optimizer"
                                        : "activations",
                        mfu_runtimes[c->runtime].name);
    if (on_drive(c) && !is_engine(c))
        return mfu_fail(err, MFU_EINPUT, "nvme_%s: only DeepSpeed's drives are modelled (trainer deepspeed)",
                        c->setting[MFU_S_NVME_PARAMS] > 0 ? "params" : "optimizer");
    if (on_drive(c) && c->setting[MFU_S_ZERO] < 3)
        return mfu_fail(err, MFU_EINPUT, "nvme_%s: DeepSpeed swaps shards of zero 3 only",
                        c->setting[MFU_S_NVME_PARAMS] > 0 ? "params" : "optimizer");
    if (o->gpu_only && optimizer)
        return mfu_fail_suggest(err, mfu_optimizers[MFU_ADAMW].name, "offload_optimizer: %s runs on GPUs only",
                                o->name);
    if (weights && c->setting[MFU_S_ZERO] < 3)
        return mfu_fail(err, MFU_EINPUT, "offload_params: weights come block by block with zero 3 (FSDP) only");
    if (optimizer && c->setting[MFU_S_DP] * c->setting[MFU_S_CP] > 1 && c->setting[MFU_S_ZERO] < 1)
        return mfu_fail(err, MFU_EINPUT,
                        "offload_optimizer: every rank's CPU would update all weights: shard them (set zero 2)");
    if ((weights || c->setting[MFU_S_OFFLOAD_ACTIVATIONS] > 0) && c->setting[MFU_S_PP] > 1)
        return mfu_fail(err, MFU_EINPUT, "offload_%s: in a pipeline this is not modelled",
                        weights ? "params" : "activations");
    return 0;
}

double mfu_config_unit_gpus(const struct mfu_config *c)
{
    struct mfu_cluster k;

    mfu_cluster_with(c->cluster, c->gpu, &k);
    if (c->setting_origin[MFU_S_NODES] != MFU_ORIGIN_USER)
        return k.domain_gpus;
    return fmin(k.domain_gpus, c->ranks / c->setting[MFU_S_NODES] * (k.domain_gpus / k.node_gpus));
}

/* The fewest nodes over which GPUs spread evenly. */
static double even_nodes(double gpus, double node_gpus)
{
    double nodes = ceil(gpus / node_gpus);

    while (fmod(gpus, nodes) != 0)
        nodes++;
    return nodes;
}

/* Several machines need a network that the cluster's file describes. */
static int check_node(const struct mfu_config *c, struct mfu_error *err)
{
    struct mfu_cluster k;

    if (c->setting[MFU_S_GPUS] <= 1)
        return 0;
    mfu_cluster_with(c->cluster, c->gpu, &k);
    if (c->setting_origin[MFU_S_NODES] == MFU_ORIGIN_USER
        && (fmod(c->ranks, c->setting[MFU_S_NODES]) != 0 || c->ranks > c->setting[MFU_S_NODES] * k.node_gpus))
        return mfu_fail(err, MFU_EINPUT, "nodes: %.0f GPUs do not spread evenly over %.0f nodes of %.0f; %.0f would do",
                        c->ranks, c->setting[MFU_S_NODES], k.node_gpus, even_nodes(c->ranks, k.node_gpus));
    if (mfu_config_unit_gpus(c) < c->ranks && !k.networked)
        return mfu_fail(err, MFU_EINPUT,
                        "gpus: %.0f do not fit one node, which holds %.0f; choose the cluster that joins several "
                        "(cluster NAME)",
                        c->setting[MFU_S_GPUS], k.domain_gpus);
    return 0;
}

/* The numbers up to `most` that divide `what`, as text: "1, 2, 4, 8". */
static const char *divisors(double what, double least, double most, char *buf, size_t size)
{
    size_t n = 0;

    buf[0] = '\0';
    for (double d = least; d <= most && n + 16 < size; d++)
        if (fmod(what, d) == 0)
            n += (size_t)snprintf(buf + n, size - n, "%s%.0f", n ? ", " : "", d);
    return buf;
}

/* What is split over a group has to come in equal parts. */
static int check_divides(const struct mfu_config *c, const char *dim, enum mfu_setting_id by, struct mfu_error *err)
{
    double n = mfu_config_dim(c, dim), ranks = c->setting[by];
    char which[160];

    if (!(n >= 1) || fmod(n, ranks) == 0)
        return 0;
    return mfu_fail(err, MFU_EINPUT, "%s: %s %.0f does not divide by %s %.0f; %s do", mfu_settings[by].key, dim, n,
                    mfu_settings[by].key, ranks, divisors(n, 1, fmin(n, 64), which, sizeof which));
}

/* With which trainers, or from which year on with this one, ranks share heads of keys. */
static const char *who_shares(double since, char text[160])
{
    size_t n = 0;

    if (since > 0)
        snprintf(text, 160, " (ranks share heads from software %.0f on)", since);
    for (int i = 0; i < MFU_TRAINER_COUNT && !(since > 0); i++)
        if (mfu_trainers[i].shares_keys_since > 0 && n < 120)
            n += (size_t)snprintf(text + n, 160 - n, "%s%s", n ? ", " : " (ranks share heads with trainer ",
                                  mfu_trainers[i].name);
    if (n)
        snprintf(text + n, 160 - n, ")");
    return text;
}

/* Whether each rank holds whole heads of keys, or shares one with its neighbours. */
static int check_keys(const struct mfu_config *c, struct mfu_error *err)
{
    double keys = mfu_config_dim(c, "n_kv_head"), tp = c->setting[MFU_S_TP], year = c->setting[MFU_S_SOFTWARE];
    double since = mfu_trainers[c->trainer].shares_keys_since;
    char which[160], others[160];

    if (!(keys >= 1) || fmod(keys, tp) == 0)
        return 0;
    if (fmod(tp, keys) != 0 || !(since > 0) || (year > 0 && year < since))
        return mfu_fail(err, MFU_EINPUT, "tp: n_kv_head %.0f does not divide by tp %.0f; %s do%s", keys, tp,
                        divisors(keys, 1, fmin(keys, 64), which, sizeof which),
                        fmod(tp, keys) == 0 ? who_shares(since, others) : "");
    if (c->setting[MFU_S_LORA] > 0)
        return mfu_fail(err, MFU_EINPUT,
                        "tp: adapters beside heads of keys that %.0f ranks share are not modelled; up to tp %.0f they "
                        "are",
                        tp / keys, keys);
    return 0;
}

static int check_tensor_parallel(const struct mfu_config *c, struct mfu_error *err)
{
    static const char *const dims[] = {"n_head", "d_ff"};

    if (c->setting[MFU_S_TP] > 1 && mfu_runtimes[c->runtime].c_program)
        return mfu_fail(err, MFU_EINPUT, "tp: not possible with runtime %s: it splits no layers",
                        mfu_runtimes[c->runtime].name);
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        if (check_divides(c, dims[i], MFU_S_TP, err) < 0)
            return -1;
    if (check_keys(c, err) < 0)
        return -1;
    if (c->setting[MFU_S_SP] > 0 && fmod(c->tokens, c->setting[MFU_S_TP]) != 0)
        return mfu_fail(err, MFU_EINPUT, "sp: %.0f tokens do not divide by tp %.0f (sp off splits none)", c->tokens,
                        c->setting[MFU_S_TP]);
    return 0;
}

double mfu_config_key_copies(const struct mfu_config *c)
{
    double keys = fmax(mfu_config_dim(c, "n_kv_head") / c->setting[MFU_S_TP], 1), ranks = c->setting[MFU_S_CP_HEADS];

    return mfu_trainers[c->trainer].repeats_keys && ranks > keys && fmod(ranks, keys) == 0 ? ranks / keys : 1;
}

/* Each tensor rank exchanges whole heads of its own (context_parallel.py: num_heads % cp_size == 0). */
static int check_heads(const struct mfu_config *c, const char *dim, double copies, struct mfu_error *err)
{
    double heads = mfu_config_dim(c, dim) / c->setting[MFU_S_TP], ranks = c->setting[MFU_S_CP_HEADS];
    char which[256];

    if (!(heads >= 1) || !(ranks > 1) || fmod(heads * copies, ranks) == 0)
        return 0;
    return mfu_fail(
        err, MFU_EINPUT,
        "cp_comm_type: %s exchanges heads over %.0f ranks, and %s %.0f over tp %.0f does not divide by it; %s do",
        mfu_context_names[(int)c->setting[MFU_S_CONTEXT]], ranks, dim, heads * c->setting[MFU_S_TP],
        c->setting[MFU_S_TP], divisors(heads, 1, heads, which, sizeof which));
}

/* Whether tensor ranks may each have a part of the rows: trainers split tokens, not pictures, and no kernel fetches the
 * rows around a part, or the states before it. */
static bool splits_rows(const struct mfu_config *c)
{
    return c->model && !mfu_config_has(c, MFU_READS_BESIDE) && !mfu_config_has(c, MFU_PASSES_STATES)
        && !mfu_model_samples(c->model);
}

/* Whether tensor ranks have whole heads and groups of all that passes states on, in front of which rows are gathered. */
static bool splits_scans(const struct mfu_config *c)
{
    bool all = mfu_runtimes[c->runtime].whole_scans && mfu_config_has(c, MFU_PASSES_STATES);
    double attribute[MFU_ATTRIBUTES] = {0};

    for (int i = 0; i < c->model->n_ops && all; i++) {
        const struct mfu_model_op *op = &c->model->ops[i];

        if (!(op->primitive->traits & MFU_PASSES_STATES))
            continue;
        for (int a = 0; a < MFU_ATTRIBUTES && op->primitive->attributes[a].name; a++)
            attribute[a] = mfu_expression_eval(op->attribute[a], c->dim);
        all = mfu_columns_divide(op->primitive, attribute, c->setting[MFU_S_TP]);
    }
    return all;
}

/* Parts of a sequence, with cp or sp. */
static int check_parts(const struct mfu_config *c, struct mfu_error *err)
{
    const char *samples;
    bool cp = c->setting[MFU_S_CP] > 1, sp = c->setting[MFU_S_SP] > 0 && c->setting[MFU_S_TP] > 1, beside, gathers;

    if (!c->model || !(cp || sp))
        return 0;
    samples = mfu_model_samples(c->model);
    beside = mfu_config_has(c, MFU_READS_BESIDE);
    gathers = !(beside || mfu_config_has(c, MFU_PASSES_STATES)) || splits_scans(c);
    if ((cp && beside) || (sp && !gathers))
        return mfu_fail(err, MFU_EINPUT,
                        "%s: %s reads what stands beside each row or before it (convolutions, recurrences, the batch "
                        "before), and other ranks have some of it: not modelled (set %s)",
                        cp && beside ? "cp" : "sp", c->model->name, cp && beside ? "cp 1" : "sp off");
    if (sp && !cp && samples)
        return mfu_fail(err, MFU_EINPUT,
                        "sp: only rows of tokens are split over tensor ranks, not those of %s (set sp off)", samples);
    return 0;
}

/* Whether the model's code multiplies the parts of attention itself, whatever kernels there are (DeBERTa, MPNet). */
static bool multiplies_parts(const struct mfu_config *c)
{
    for (int i = 0; c->model && i < c->model->n_ops; i++) {
        const struct mfu_model_op *op = &c->model->ops[i];

        for (int a = 0; a < MFU_ATTRIBUTES && op->primitive->attributes[a].name; a++)
            if (strcmp(op->primitive->attributes[a].name, "parts") == 0 && op->attribute[a]
                && mfu_expression_eval(op->attribute[a], c->dim) > 0)
                return true;
    }
    return false;
}

/* A rank with a part of each sequence has no sample to compare. */
static int check_context_parallel(const struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_context_row *row = &mfu_contexts[(int)c->setting[MFU_S_CONTEXT]];
    double heads = c->setting[MFU_S_CP_HEADS], window = mfu_config_dim(c, "window");

    if (check_parts(c, err) < 0)
        return -1;
    if (c->setting[MFU_S_CP] > 1 && c->model && mfu_config_has(c, MFU_COMPARES))
        return mfu_fail(
            err, MFU_EINPUT,
            "cp: not possible with %s: its loss compares whole samples with each other; dp %.0f splits them",
            c->model->name, c->setting[MFU_S_CP] * c->setting[MFU_S_DP]);
    if (heads != (row->keys ? 1 : c->setting[MFU_S_CP]) && !(row->heads && row->keys && c->setting[MFU_S_CP] > 1))
        return mfu_fail(err, MFU_EINPUT,
                        "cp_heads: %.0f of %.0f ranks, and cp_comm_type %s: only a2a+p2p splits a context group (unset "
                        "cp_heads)",
                        heads, c->setting[MFU_S_CP], row->name);
    if (c->setting[MFU_S_CP] > 1 && multiplies_parts(c))
        return mfu_fail(
            err, MFU_EINPUT,
            "cp: %s multiplies the parts of attention itself, and keys of other ranks are met by fused kernels "
            "only (set cp 1)",
            c->model->name);
    if (c->setting[MFU_S_CP] > heads && mfu_model_has_attention(c->model) && !mfu_attentions[c->attention].fused)
        return mfu_fail(err, MFU_EINPUT,
                        "cp: keys of other ranks are met by fused kernels only, not by attention %s (cp_comm_type a2a "
                        "exchanges heads)",
                        mfu_attention_names[c->attention]);
    if (c->setting[MFU_S_CP] > 1 && fmod(c->setting[MFU_S_CP], heads) != 0)
        return mfu_fail(err, MFU_EINPUT, "cp_heads: %.0f does not divide cp %.0f", heads, c->setting[MFU_S_CP]);
    if (c->setting[MFU_S_CP] > 1 && window > 0 && window < c->seq && !row->windows)
        return mfu_fail(
            err, MFU_EINPUT,
            "cp_comm_type: %s has no sliding windows, and this model's see %.0f of %.0f tokens; all_gather and "
            "a2a have them",
            row->name, window, c->seq);
    return check_heads(c, "n_kv_head", mfu_config_key_copies(c), err) < 0 || check_heads(c, "n_head", 1, err) < 0
        ? -1
        : check_divides(c, "seq", MFU_S_CP, err);
}

/* Who gathers, sums or holds what all layers use: pipelines' stages and blocks of FSDP have weights of their own. */
static int check_shared_layers(const struct mfu_config *c, struct mfu_error *err)
{
    const struct mfu_model *m = c->model;

    for (int i = 0; i < m->n_sections; i++)
        if (m->sections[i].shares && (c->setting[MFU_S_PP] > 1 || c->setting[MFU_S_ZERO] > 1))
            return mfu_fail(
                err, MFU_EINPUT, "%s: the layers of %s have one set of weights; this is not modelled (set %s 1)",
                c->setting[MFU_S_PP] > 1 ? "pp" : "zero", m->slug, c->setting[MFU_S_PP] > 1 ? "pp" : "zero");
    return 0;
}

/* What splits layers or shards states has a process for each GPU.  Those of one process stand in one machine. */
static int check_one_process(const struct mfu_config *c, struct mfu_error *err)
{
    static const enum mfu_setting_id splits[] = {MFU_S_TP, MFU_S_CP, MFU_S_EP, MFU_S_ZERO};
    const char *name = c->pipeline.schedule->name;
    double pp = c->setting[MFU_S_PP], node = c->ranks / c->setting[MFU_S_NODES];
    char which[160];

    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++)
        if (c->setting[splits[i]] > (splits[i] == MFU_S_ZERO ? 0 : 1))
            return mfu_fail(err, MFU_EINPUT,
                            "%s: %.0f wants a process for each GPU, and with schedule %s one computes on all %.0f of a "
                            "pipeline (set %s %d, or schedule 1f1b)",
                            mfu_settings[splits[i]].key, c->setting[splits[i]], name, pp, mfu_settings[splits[i]].key,
                            splits[i] != MFU_S_ZERO);
    if (c->setting[MFU_S_NODES] > 1 && fmod(node, pp) != 0)
        return mfu_fail(err, MFU_EINPUT,
                        "pp: with schedule %s one process computes on all %.0f GPUs of a pipeline, which do not divide "
                        "the %.0f of a node; %s do (or set schedule 1f1b)",
                        name, pp, node, divisors(node, 1, node, which, sizeof which));
    if (c->setting[MFU_S_NODES] > 1 && c->setting[MFU_S_RANK_ORDER] == 0 && c->setting[MFU_S_DP] > 1)
        return mfu_fail(err, MFU_EINPUT,
                        "rank_order: with schedule %s the GPUs of a pipeline stand in one node (unset rank_order)",
                        name);
    return 0;
}

static int check_pipeline(const struct mfu_config *c, struct mfu_error *err)
{
    double pp = c->setting[MFU_S_PP], vpp = c->setting[MFU_S_VPP], layers = mfu_config_dim(c, "n_layer");
    double first = c->setting[MFU_S_FIRST_STAGE_LESS], last = c->setting[MFU_S_LAST_STAGE_LESS];

    if (pp > 1 && mfu_runtimes[c->runtime].c_program)
        return mfu_fail(err, MFU_EINPUT, "pp: not possible with runtime %s: it has no pipeline",
                        mfu_runtimes[c->runtime].name);
    if (vpp > 1 && pp <= 1)
        return mfu_fail(err, MFU_EINPUT, "vpp: %.0f: virtual stages need a pipeline (pp 2 or more)", vpp);
    if (pp <= 1)
        return 0;
    if (c->setting_origin[MFU_S_OVERLAP_P2P] == MFU_ORIGIN_USER && c->setting[MFU_S_OVERLAP_P2P] > 0
        && !c->pipeline.schedule->sends_beside)
        return mfu_fail(
            err, MFU_EINPUT,
            "overlap_p2p: with schedule %s a stage waits for its messages (set overlap_p2p off, or schedule "
            "interleaved)",
            c->pipeline.schedule->name);
    if (pp * vpp > layers + first + last)
        return mfu_fail(err, MFU_EINPUT, "pp: %.0f layers do not fill %.0f stages; pp %.0f vpp 1 would do", layers,
                        pp * vpp, fmin(pp, layers + first + last));
    if (floor((layers + first + last) / (pp * vpp)) < fmax(first, last))
        return mfu_fail(err, MFU_EINPUT, "%s_stage_less: the %.0f layers of a stage are fewer than %.0f",
                        first > last ? "first" : "last", floor((layers + first + last) / (pp * vpp)),
                        fmax(first, last));
    if (c->pipeline.schedule->one_process && check_one_process(c, err) < 0)
        return -1;
    return mfu_pipeline_check(&c->pipeline, err);
}

/* The first forward and the last backward have nothing beside them. */
double mfu_config_merged(const struct mfu_config *c)
{
    const struct mfu_pipeline_layout *l = &c->pipeline;

    if (c->setting[MFU_S_OVERLAP_MOE] == 0 || !(c->setting[MFU_S_EP] > 1))
        return 0;
    if (l->pp <= 1)
        return 1 - 1 / c->setting[MFU_S_ACCUM];
    return l->schedule->merged ? l->schedule->merged(l) : 0;
}

/* Of an expert that all tokens visit, over the mean. */
static double most_load(const struct mfu_config *c)
{
    return mfu_config_dim(c, "n_experts") / mfu_config_dim(c, "top_k");
}

/* Experts are independent of each other: the fullest of a rank's n is not that of all (1 + deviation / sqrt(n)). */
static void derive_expert_waits(struct mfu_config *c)
{
    double capacity = c->setting[MFU_S_CAPACITY], ep = c->setting[MFU_S_EP];
    double load = fmin(c->setting[MFU_S_EXPERT_LOAD], most_load(c));
    bool pads = c->setting[MFU_S_PAD_EXPERTS] > 0;

    if (capacity > 0) /* what has no place is dropped */
        load = pads ? 1 : fmax(fmin(load, capacity), 1);
    c->pipeline.ahead = c->setting[MFU_S_OVERLAP_MOE] > 0 && ep > 1;
    c->experts = (struct mfu_expert_waits){
        .merged = mfu_config_merged(c),
        .load = ep > 1 ? 1 + (load - 1) / sqrt(fmax(mfu_config_dim(c, "n_experts") / ep, 1)) : 1,
        .fill = capacity > 0 && (pads || capacity < 1) ? capacity : 1,
    };
}

/* What backward makes again is not merged with a forward (Megatron-LM d98e8a64, transformer_config.py). */
static bool recomputes_experts(const struct mfu_config *c)
{
    const struct mfu_checkpoint_row *row = &mfu_checkpoints[(int)c->setting[MFU_S_CHECKPOINT]];

    return row->recomputes_all || row->by_budget
        || (row->recomputes && (unsigned)c->setting[MFU_S_RECOMPUTE_MODULES] & MFU_RECOMPUTED_BIT(AGAIN_EXPERTS));
}

/* Schedule and chunks follow from each other.  Where the layers do not divide, but
 * do with embedding and head as a layer each, these count so. */
static void derive_pipeline(struct mfu_config *c)
{
    double pp = c->setting[MFU_S_PP], layers = mfu_config_dim(c, "n_layer");
    const struct mfu_schedule *schedule;

    if (pp > 1) {
        if (c->setting_origin[MFU_S_SCHEDULE] == MFU_ORIGIN_USER)
            mfu_derive(c, MFU_S_VPP, mfu_schedules[(int)c->setting[MFU_S_SCHEDULE]]->least_vpp);
        mfu_derive(c, MFU_S_SCHEDULE, mfu_schedule_usual((int)c->setting[MFU_S_VPP]));
        if ((mfu_trainers[c->trainer].counts_ends || fmod(layers, pp * c->setting[MFU_S_VPP]) != 0)
            && fmod(layers + 2, pp * c->setting[MFU_S_VPP]) == 0) {
            mfu_derive(c, MFU_S_FIRST_STAGE_LESS, 1);
            mfu_derive(c, MFU_S_LAST_STAGE_LESS, 1);
        }
    }
    schedule = mfu_schedules[(int)c->setting[MFU_S_SCHEDULE]];
    if (pp > 1 && schedule->one_process)
        mfu_derive(c, MFU_S_RANK_ORDER, 1);
    if (pp > 1)
        mfu_derive(
            c, MFU_S_OVERLAP_P2P,
            schedule->sends_beside
                && !(c->setting[MFU_S_SOFTWARE] > 0 && c->setting[MFU_S_SOFTWARE] < schedule->sends_beside_since));
    c->pipeline = (struct mfu_pipeline_layout){.schedule = schedule,
                                               .pp = (int)pp,
                                               .vpp = (int)c->setting[MFU_S_VPP],
                                               .microbatches = (int)c->setting[MFU_S_ACCUM]};
    if (pp > 1 && c->setting[MFU_S_EP] > 1)
        mfu_derive(c, MFU_S_OVERLAP_MOE, schedule->merges && !recomputes_experts(c));
    derive_expert_waits(c);
}

static int check_expert_waits(const struct mfu_config *c, struct mfu_error *err)
{
    if (c->setting_origin[MFU_S_EXPERT_LOAD] == MFU_ORIGIN_USER && c->setting[MFU_S_EXPERT_LOAD] > most_load(c))
        return mfu_fail(err, MFU_EINPUT,
                        "expert_load: %g: where tokens visit %g of %g experts, one has %g times the mean "
                        "at most",
                        c->setting[MFU_S_EXPERT_LOAD], mfu_config_dim(c, "top_k"), mfu_config_dim(c, "n_experts"),
                        most_load(c));
    if (c->setting[MFU_S_OVERLAP_MOE] == 0 || c->setting[MFU_S_EP] <= 1)
        return 0;
    if (c->pipeline.pp > 1 && !c->pipeline.schedule->merged)
        return mfu_fail(
            err, MFU_EINPUT,
            "overlap_moe: schedule %s runs no forward beside a backward (set overlap_moe off, or schedule interleaved)",
            c->pipeline.schedule->name);
    if (recomputes_experts(c))
        return mfu_fail(
            err, MFU_EINPUT,
            "overlap_moe: experts that are computed again are not merged with a forward (set overlap_moe off, "
            "or checkpoint selective with recompute_modules that leave out moe)");
    return 0;
}

static int check_experts(const struct mfu_config *c, struct mfu_error *err)
{
    double ep = c->setting[MFU_S_EP], etp = c->setting[MFU_S_ETP], tp = c->setting[MFU_S_TP];
    double experts = mfu_config_dim(c, "n_experts"), stage = tp * c->setting[MFU_S_CP] * c->setting[MFU_S_DP];
    double most = floor(fmin(stage / etp, experts));
    char which[160];

    if (c->setting[MFU_S_PAD_EXPERTS] > 0 && c->setting[MFU_S_CAPACITY] == 0)
        return mfu_fail(err, MFU_EINPUT, "pad_experts: to which capacity? (set capacity_factor 1, for instance)");
    if (ep <= 1 && etp <= 1 && !(experts > 1 && tp > 1))
        return 0;
    if (!(experts > 1))
        return mfu_fail(err, MFU_EINPUT, "%s: %.0f: the model has no experts",
                        mfu_settings[ep > 1 ? MFU_S_EP : MFU_S_ETP].key, ep > 1 ? ep : etp);
    if ((etp != tp || ep > 1) && tp > 1 && c->setting[MFU_S_SP] == 0) { /* Megatron-LM d98e8a64, moe/moe_layer.py */
        snprintf(which, sizeof which, ep > 1 ? "ep 1" : "etp %.0f", tp);
        return mfu_fail(err, MFU_EINPUT,
                        "%s: %.0f beside tp %.0f: tensor ranks would send the same tokens to the experts (set sp on, "
                        "or %s)",
                        mfu_settings[ep > 1 ? MFU_S_EP : MFU_S_ETP].key, ep > 1 ? ep : etp, tp, which);
    }
    if (fmod(stage, etp) != 0)
        return mfu_fail(err, MFU_EINPUT, "etp: %.0f does not divide the %.0f GPUs of a pipeline stage; %s do", etp,
                        stage, divisors(stage, 1, fmin(stage, 64), which, sizeof which));
    if (fmod(stage, ep * etp) != 0) {
        while (most > 1 && (fmod(stage, most * etp) != 0 || fmod(experts, most) != 0))
            most--;
        return mfu_fail(
            err, MFU_EINPUT,
            "ep: %.0f x etp %.0f do not divide the %.0f GPUs of a pipeline stage (tp x cp x dp), which share "
            "the experts; ep %s do%s%s",
            ep, etp, stage, divisors(most, 1, fmin(most, 64), which, sizeof which), most > 1 ? "" : "es",
            etp > 1 && fmod(stage, ep) == 0 ? ", or etp 1" : "");
    }
    if (c->setting[MFU_S_RANK_ORDER] > 0 && c->setting[MFU_S_PP] > 1 && ep * etp != tp * c->setting[MFU_S_CP])
        return mfu_fail(
            err, MFU_EINPUT,
            "rank_order: with pp before dp Megatron wants as many copies of experts as of all else: ep x etp "
            "%.0f, not %.0f (tp x cp)",
            tp * c->setting[MFU_S_CP], ep * etp);
    if (check_expert_waits(c, err) < 0)
        return -1;
    return check_divides(c, "d_ff", MFU_S_ETP, err) < 0 ? -1 : check_divides(c, "n_experts", MFU_S_EP, err);
}

double mfu_config_dp_shard(const struct mfu_config *c)
{
    return c->setting[MFU_S_DP_SHARD] > 0 ? c->setting[MFU_S_DP_SHARD] : c->setting[MFU_S_DP];
}

bool mfu_config_sums_once(const struct mfu_config *c)
{
    return c->setting[MFU_S_ZERO] < 2 || (mfu_trainers[c->trainer].torch_fsdp && c->setting[MFU_S_PP] > 1);
}

bool mfu_config_gathers_once(const struct mfu_config *c)
{
    return mfu_config_sums_once(c) && c->setting[MFU_S_ZERO] >= 3;
}

/* Until PyTorch 2.9 a stage sends its last gradient when it has summed those of its weights (pipelining/stage.py:
 * run_post_backward; later perform_reduce_grad, behind the messages). */
#define SUMS_LAST_SINCE 2026

bool mfu_config_sums_first(const struct mfu_config *c)
{
    double year = c->setting[MFU_S_SOFTWARE];

    return mfu_config_gathers_once(c) && year > 0 && year < SUMS_LAST_SINCE;
}

/* FSDP2's gathers wait for the compute stream, and so for the first input (fsdp/_fully_shard/_fsdp_state.py:
 * _root_pre_forward), but for those that newer schedules of several stages order (schedules.py: UNSHARD). */
bool mfu_config_gathers_ahead(const struct mfu_config *c)
{
    return mfu_config_gathers_once(c) && !mfu_config_sums_first(c) && c->setting[MFU_S_VPP] > 1;
}

double mfu_config_expert_copies(const struct mfu_config *c)
{
    return c->setting[MFU_S_TP] * c->setting[MFU_S_CP] * c->setting[MFU_S_DP]
        / (c->setting[MFU_S_ETP] * c->setting[MFU_S_EP]);
}

/* Copies of what is sharded are equal, and something is sharded. */
static int check_copies(const struct mfu_config *c, struct mfu_error *err)
{
    double shard = mfu_config_dp_shard(c), dp = c->setting[MFU_S_DP];
    double experts = c->setting[MFU_S_EP] * c->setting[MFU_S_ETP],
           all = shard * c->setting[MFU_S_TP] * c->setting[MFU_S_CP];
    char which[160];

    if (shard == dp)
        return 0;
    if (c->setting[MFU_S_ZERO] == 0)
        return mfu_fail(err, MFU_EINPUT,
                        "dp_shard: with zero 0 every rank holds all: set zero 1, 2 or 3 first, or dp_shard 0");
    if (fmod(dp, shard) != 0)
        return mfu_fail(err, MFU_EINPUT, "dp_shard: %.0f does not divide dp %.0f; %s do; 0 is all", shard, dp,
                        divisors(dp, c->setting[MFU_S_CP] > 1 ? 1 : 2, fmin(dp, 64), which, sizeof which));
    if (fmod(all, experts) != 0)
        return mfu_fail(err, MFU_EINPUT,
                        "dp_shard: ep x etp %.0f do not divide the %.0f GPUs of a copy (tp x cp x dp_shard)", experts,
                        all);
    if (shard * c->setting[MFU_S_CP] == 1)
        return mfu_fail(err, MFU_EINPUT, "dp_shard: over 1 GPU nothing is sharded: set dp_shard 0 and zero 0");
    return 0;
}

/* GPUs in all, and the ranks of each axis: what is not said follows. */
static void derive_mesh(struct mfu_config *c)
{
    double model = c->setting[MFU_S_TP] * c->setting[MFU_S_PP] * c->setting[MFU_S_CP];

    if (c->setting_origin[MFU_S_GPUS] == MFU_ORIGIN_USER)
        mfu_derive(c, MFU_S_DP, fmax(1, floor(c->setting[MFU_S_GPUS] / model)));
    else if (c->setting_origin[MFU_S_DP] == MFU_ORIGIN_USER || model > 1)
        mfu_derive(c, MFU_S_GPUS, c->setting[MFU_S_DP] * model);
    if (c->gpu) {
        struct mfu_cluster k;

        mfu_cluster_with(c->cluster, c->gpu, &k);
        mfu_derive(c, MFU_S_NODES, ceil(c->setting[MFU_S_GPUS] / k.node_gpus));
    }
    c->ranks = c->setting[MFU_S_GPUS];
}

static enum mfu_trainer_kind usual_trainer(const struct mfu_config *c)
{
    const struct mfu_runtime *r = &mfu_runtimes[(int)c->setting[MFU_S_RUNTIME]];

    if (r->c_program)
        return MFU_TRAINER_LLM_C;
    if (on_drive(c))
        return MFU_TRAINER_DEEPSPEED;
    if (r->half_weights && c->setting[MFU_S_GPUS] > 1)
        return MFU_TRAINER_MEGATRON_TE;
    return c->setting[MFU_S_ZERO] >= 3 ? MFU_TRAINER_FSDP : MFU_TRAINER_DDP;
}

/* The GPUs of a context group that exchange heads: all, none, or as many as are in a node. */
static void derive_cp_heads(struct mfu_config *c)
{
    const struct mfu_context_row *row = &mfu_contexts[(int)c->setting[MFU_S_CONTEXT]];
    double cp = c->setting[MFU_S_CP], heads = row->keys ? 1 : cp;

    if (c->setting_origin[MFU_S_CP_HEADS] == MFU_ORIGIN_USER && c->setting[MFU_S_CP_HEADS] > 0)
        return; /* where it is none, check_context_parallel() says so */
    while (row->heads && row->keys && 2 * heads * c->setting[MFU_S_TP] <= mfu_config_unit_gpus(c)
           && fmod(cp, 2 * heads) == 0 && 2 * heads < cp)
        heads *= 2;
    c->setting[MFU_S_CP_HEADS] = heads;
}

/* As Megatron does: of experts that are split at all, as all else; but see whole_experts.  Beside tensor parallelism
 * experts elsewhere want sequence parallelism (d98e8a64, core/model_parallel_config.py). */
static void derive_experts(struct mfu_config *c)
{
    bool whole;

    if (c->setting[MFU_S_EP] > 1 && c->setting[MFU_S_TP] > 1 && mfu_config_dim(c, "n_experts") > 1)
        mfu_derive(c, MFU_S_SP, 1);
    whole = mfu_trainers[c->trainer].whole_experts && c->setting[MFU_S_EP] > 1
        && (c->setting[MFU_S_SP] > 0 || c->setting[MFU_S_TP] <= 1);

    if (mfu_config_dim(c, "n_experts") > 1)
        mfu_derive(c, MFU_S_ETP, whole ? 1 : c->setting[MFU_S_TP]);
}

#define CHASSIS_GPUS 8

/* The dispatcher of the trainer's recipes.  Capacities want an all-to-all there (Megatron-Bridge 067d987d,
 * training/utils/moe_token_drop.py), and some models have one on machines whose fabric ends at the chassis. */
static enum mfu_dispatcher recipe_dispatcher(const struct mfu_config *c, const struct mfu_trainer *t)
{
    const char *slug = c->model ? c->model->slug : "", *in = t->exchanged ? strstr(t->exchanged, slug) : NULL;
    bool listed = in && *slug && (in == t->exchanged || in[-1] == ' ') && strchr(" ", in[strlen(slug)]);

    return c->setting[MFU_S_CAPACITY] > 0 || (listed && mfu_config_unit_gpus(c) <= CHASSIS_GPUS)
        ? MFU_DISPATCH_ALL_TO_ALL
        : t->dispatcher;
}

/* Whether zero_grad() leaves gradients where they are, full of zeros. */
static bool fills_gradients(const struct mfu_config *c, const struct mfu_trainer *t)
{
    double year = c->setting[MFU_S_SOFTWARE];

    return t->plain_zero && mfu_runtimes[(int)c->setting[MFU_S_RUNTIME]].torch_default_optimizer
        && !mfu_optimizers[(int)c->setting[MFU_S_OPTIMIZER]].apex && c->setting[MFU_S_OPTIMIZER_IN_BACKWARD] == 0
        && year > 0 && year < MFU_ZERO_GRAD_FREES_SINCE;
}

static bool must_overlap(const struct mfu_config *c)
{
    return mfu_trainers[c->trainer].fsdp_overlaps && c->setting[MFU_S_ZERO] >= 2;
}

/* Of an element of a gradient that Megatron sums where it adds it up (training/arguments.py:
 * accumulate_allreduce_grads_in_fp32 with bf16). */
static double summed_bytes(const struct mfu_config *c)
{
    const struct mfu_precision_row *p = &mfu_precisions[(int)c->setting[MFU_S_PRECISION]];

    return p->pure || p->scaler || c->setting[MFU_S_GRAD_REDUCE] == MFU_REDUCE_BF16 ? 2 : 4;
}

/* The trainer that is usual for a runtime and its sharding, and the runtime that is
 * usual for a trainer; what it overlaps. */
static void derive_trainer(struct mfu_config *c)
{
    const struct mfu_runtime *runtime;
    const struct mfu_trainer *t;

    if (c->setting_origin[MFU_S_TRAINER] == MFU_ORIGIN_USER)
        mfu_derive(c, MFU_S_RUNTIME, mfu_trainers[(int)c->setting[MFU_S_TRAINER]].runtime);
    else
        mfu_derive(c, MFU_S_TRAINER, usual_trainer(c));
    c->trainer = (enum mfu_trainer_kind)c->setting[MFU_S_TRAINER];
    t = &mfu_trainers[c->trainer];
    mfu_derive(c, MFU_S_OVERLAP_GRAD_REDUCE,
               (t->overlaps_reduce && !(t->sums_behind_zero && c->setting[MFU_S_ZERO] > 0)) || must_overlap(c));
    mfu_derive(c, MFU_S_OVERLAP_PARAM_GATHER, t->overlaps_gather);
    mfu_derive(c, MFU_S_RESHARD, !mfu_config_gathers_once(c));
    if (t->sums_wide && c->setting[MFU_S_ZERO] >= 2)
        mfu_derive(c, MFU_S_GRAD_REDUCE, MFU_REDUCE_FP32);
    mfu_derive(c, MFU_S_TP_OVERLAP,
               c->setting[MFU_S_SOFTWARE] > 0 && c->setting[MFU_S_SOFTWARE] < t->tp_overlap_since ? MFU_TP_IN_THE_WAY
                                                                                                  : t->tp_overlap);
    mfu_derive(c, MFU_S_SP, t->splits_rows && c->setting[MFU_S_TP] > 1 && splits_rows(c));
    mfu_derive(c, MFU_S_DISPATCHER, recipe_dispatcher(c, t));
    mfu_derive(c, MFU_S_ZERO_GRAD, fills_gradients(c, t) ? MFU_ZERO_GRAD_FILL : MFU_ZERO_GRAD_FREE);
    derive_experts(c);
    if (c->setting[MFU_S_CP] > 1)
        mfu_derive(c, MFU_S_CONTEXT, t->context);
    derive_cp_heads(c);
    /* Where no trainer is named, what fuses so much takes flash-attn's kernels, or has a loss of its own. */
    runtime = &mfu_runtimes[(int)c->setting[MFU_S_RUNTIME]];
    mfu_derive(c, MFU_S_LOSS_FUSION,
               runtime->fused_loss || runtime->layers_only                                          ? MFU_LOSS_UNFUSED
                   : c->setting_origin[MFU_S_TRAINER] == MFU_ORIGIN_DERIVED && runtime->whole_norms ? MFU_LOSS_FLASH
                                                                                                    : t->loss_fusion);
    if (t->bucket_bytes > 0)
        mfu_derive(c, MFU_S_GRAD_BUCKET, t->bucket_bytes);
    if (t->bucket_elements > 0)
        mfu_derive(c, MFU_S_GRAD_BUCKET,
                   fmax(t->bucket_elements, t->bucket_elements_rank * c->setting[MFU_S_DP] * c->setting[MFU_S_CP])
                       * summed_bytes(c));
}

/* Megatron d98e8a64, training/arguments.py and core/fp8_utils.py; its FSDP gathers them as they lie
 * (core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py: fp8_get_raw_data). */
static int check_fp8_weights(const struct mfu_config *c, struct mfu_error *err)
{
    const char *key = mfu_settings[MFU_S_FP8_WEIGHTS].key;

    if (c->setting[MFU_S_FP8_WEIGHTS] == 0)
        return 0;
    if (!mfu_precisions[c->precision].gathers)
        return mfu_fail(err, MFU_EINPUT, "%s: with precision %s %s (set precision fp8)", key,
                        mfu_precisions[c->precision].name,
                        mfu_precisions[c->precision].operand == MFU_OPERAND_AS_COMPUTED ? "no weight has 8 bits"
                                                                                        : "this is not modelled");
    if (!mfu_trainers[c->trainer].transformer_engine || !mfu_runtimes[c->runtime].half_weights)
        return mfu_fail(err, MFU_EINPUT, "%s: %s has no such switch, Megatron has (set trainer megatron-te)", key,
                        mfu_trainers[c->trainer].name);
    if (c->setting[MFU_S_ZERO] < 1)
        return mfu_fail(err, MFU_EINPUT, "%s: Megatron has it with its distributed optimizer only (set zero 1)", key);
    return 0;
}

/* FSDP's weights stay gathered for a pass, or in a pipeline for all of them. */
static int check_reshard(const struct mfu_config *c, struct mfu_error *err)
{
    const char *key = mfu_settings[MFU_S_RESHARD].key;
    bool off = c->setting[MFU_S_RESHARD] == 0;

    if (c->setting[MFU_S_ZERO] < 3) /* every rank holds all weights anyway */
        return 0;
    if (c->setting[MFU_S_EFFICIENT_LINEAR] == 0 && !is_engine(c))
        return mfu_fail(err, MFU_EINPUT,
                        "%s: only DeepSpeed's ZeRO 3 has linear layers of its own (set trainer deepspeed)",
                        mfu_settings[MFU_S_EFFICIENT_LINEAR].key);
    if (off && !mfu_trainers[c->trainer].torch_fsdp)
        return mfu_fail(err, MFU_EINPUT, "%s: %s has no such switch, PyTorch's FSDP has (set trainer fsdp)", key,
                        mfu_trainers[c->trainer].name);
    if (!off && mfu_config_gathers_once(c))
        return mfu_fail(err, MFU_EINPUT,
                        "%s: weights that are gathered for each microbatch of a pipeline are not "
                        "modelled (set %s off)",
                        key, key);
    return 0;
}

int mfu_check_parallel(const struct mfu_config *c, struct mfu_error *err)
{
    double model = c->setting[MFU_S_TP] * c->setting[MFU_S_PP] * c->setting[MFU_S_CP], gpus = c->setting[MFU_S_GPUS];

    if (check_fp8_weights(c, err) < 0)
        return -1;
    if (c->setting[MFU_S_DP] * model != gpus) {
        if (model == 1)
            return mfu_fail(err, MFU_EINPUT, "dp: %.0f ranks do not fill %.0f GPUs; dp %.0f or gpus %.0f would do",
                            c->setting[MFU_S_DP], gpus, gpus, c->setting[MFU_S_DP]);
        return mfu_fail(err, MFU_EINPUT,
                        "gpus: %.0f do not divide into groups of %.0f (tp %.0f x cp %.0f x pp %.0f) "
                        "for dp %.0f; %.0f do",
                        gpus, model, c->setting[MFU_S_TP], c->setting[MFU_S_CP], c->setting[MFU_S_PP],
                        c->setting[MFU_S_DP], c->setting[MFU_S_DP] * model);
    }
    if (c->setting[MFU_S_PP] > 1 && c->setting[MFU_S_ZERO] >= 2 && mfu_trainers[c->trainer].pipes_whole)
        return mfu_fail(err, MFU_EINPUT, "zero: in a pipeline %s shards neither gradients nor weights; zero 0 and 1 do",
                        mfu_trainers[c->trainer].name);
    if (must_overlap(c) && c->setting[MFU_S_OVERLAP_GRAD_REDUCE] == 0)
        return mfu_fail(err, MFU_EINPUT,
                        "overlap_grad_reduce: where gradients are sharded %s sums them beside backward (set "
                        "overlap_grad_reduce on, or zero 1)",
                        mfu_trainers[c->trainer].name);
    if (check_reshard(c, err) < 0)
        return -1;
    if (c->setting[MFU_S_NODES] > gpus)
        return mfu_fail(err, MFU_EINPUT, "nodes: %.0f hold more than %.0f GPUs", c->setting[MFU_S_NODES], gpus);
    if (check_offload(c, err) < 0 || check_shared_layers(c, err) < 0 || check_pipeline(c, err) < 0
        || check_tensor_parallel(c, err) < 0 || check_context_parallel(c, err) < 0 || check_experts(c, err) < 0
        || check_copies(c, err) < 0)
        return -1;
    return check_node(c, err);
}

void mfu_derive_parallel(struct mfu_config *c)
{
    derive_mesh(c);
    derive_offload(c);
    derive_trainer(c);
    derive_pipeline(c);
}
