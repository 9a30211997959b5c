/*
 * split.c - the usual way to split a model, from what its operations are.
 *
 * The first product after a replicated tensor is split by columns if its result
 * reaches another product, or the loss, through operations that work on each
 * column (or head) by itself; the product that is reached is split by rows, and its
 * result is a partial sum.  An embedding is split by rows of its table, the head
 * by its classes.  Norms and residuals stay whole, or, with sequence parallelism,
 * hold a part of the tokens each.  (Shoeybi 2019, Korthikanti 2022.)
 *
 * Where a partial sum meets a whole tensor stands an all-reduce, or, with sequence
 * parallelism, a reduce-scatter, and an all-gather before the next product.  The
 * gradient goes the opposite way.  All of them stand in the compute stream; what a
 * trainer runs beside a product is in the way as far as it takes longer.
 *
 * Experts are split over ranks of their own (etp).  Rows that arrive for them are gathered over those and stay so for
 * backward; nothing runs beside (Megatron-LM d98e8a64, core/transformer/moe/token_dispatcher.py).
 */
#include "graph/split.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/extreme.h"
#include "graph/adapter_steps.h"
#include "graph/builder_private.h"
#include "graph/frozen.h"
#include "scenario/setting.h"

/* Of a loss over a split vocabulary: maximum, predicted logit, sum (Megatron-LM,
 * tensor_parallel/cross_entropy.py). */
#define LOSS_SUMS 3

static double ranks_of(const struct mfu_builder *s, enum mfu_mesh_axis axis)
{
    return s->program->mesh.ranks[axis];
}

static enum mfu_split how(const struct mfu_builder *s, const struct mfu_node *n)
{
    return mfu_node_split(s, n);
}

/* The axis whose ranks split an operation. */
static enum mfu_mesh_axis axis_of(const struct mfu_builder *s, const struct mfu_node *n)
{
    return mfu_is_routed(s, n) ? MFU_AXIS_ETP : MFU_AXIS_TP;
}

/* Whether ranks of the axis hold a part of the tokens each; those without tensor parallelism have their own. */
static bool sequence_parallel(const struct mfu_builder *s, enum mfu_mesh_axis axis)
{
    return ranks_of(s, axis) > 1 && (s->config->setting[MFU_S_SP] > 0 || ranks_of(s, MFU_AXIS_TP) <= 1);
}

/* ---- layouts of operations ------------------------------------------------ */

/* A norm over all of a row, not over each head. */
static bool of_whole_rows(const struct mfu_operation *op)
{
    for (int a = 0; a < MFU_ATTRIBUTES; a++)
        if (op->primitive->split_columns & 1u << a && op->attribute[a] > 1)
            return false;
    return mfu_is(op, MFU_BY_ROW);
}

/* The scan that gives it, but for what is done row by row; -1: none. */
static int scan_before(const struct mfu_builder *s, const struct mfu_model_section *sec, int op)
{
    while (op >= sec->first && !mfu_is(&s->operations[op], MFU_PASSES_STATES)) {
        if (!s->left_out[op] && !mfu_is(&s->operations[op], MFU_ELEMENTWISE | MFU_BY_ROW))
            return -1;
        op = s->config->model->ops[op].in[s->left_out[op] ? s->passes[op] : 0];
    }
    return op >= sec->first && !s->left_out[op] ? op : -1;
}

/* Whether each rank has whole heads of a scan and whole groups of them, as Megatron's Mamba mixer (Megatron-LM d98e8a64,
 * core/ssm/mamba_mixer.py: nheads % tp_size, ngroups % tp_size), whose norm is of a group; else it computes all of it. */
static bool splits_scan(const struct mfu_builder *s, const struct mfu_operation *op)
{
    return s->runtime->whole_scans && mfu_is(op, MFU_PASSES_STATES)
        && mfu_columns_divide(op->primitive, op->attribute, ranks_of(s, MFU_AXIS_TP));
}

/* Whether a product is of windows of rows in which columns do not meet, in front of a scan. */
static bool is_depthwise(const struct mfu_builder *s, const struct mfu_operation *op)
{
    bool all =
        mfu_is(op, MFU_READS_BESIDE) && op->primitive->split_columns && mfu_config_has(s->config, MFU_PASSES_STATES);

    for (int a = 0; a < MFU_ATTRIBUTES; a++)
        all &= !(op->primitive->split_columns & 1u << a) || op->attribute[a] == op->out_width;
    return all && op->in_width[0] == op->out_width;
}

enum reach { UNREAD, STAYS_WHOLE, REACHES_PRODUCT };

/* Whether all that read an operation's result in its section take it by columns, until a product or the loss.  What a norm of
 * whole rows hands to a product stays whole (multi-head latent attention: Megatron-LM d98e8a64,
 * core/transformer/multi_latent_attention.py, of which each rank has all of the products down).  What is left out and read by
 * nobody (the other half of experts without a gate) says nothing. */
static enum reach reach(const struct mfu_builder *s, const struct mfu_model_section *sec, int op, bool normed)
{
    const struct mfu_model *m = s->config->model;
    enum reach reached = op == sec->first + sec->count - 1 ? STAYS_WHOLE : UNREAD;

    for (int i = op + 1; i < sec->first + sec->count; i++)
        for (int k = 0; k < m->ops[i].n_in; k++) {
            const struct mfu_operation *reader = &s->operations[i];
            enum reach there;
            bool whole;
            int scan;

            if (m->ops[i].in[k] != op || (s->left_out[i] && s->passes[i] != k))
                continue;
            scan = s->left_out[i] || m->ops[i].n_in != 2 ? -1 : scan_before(s, sec, m->ops[i].in[!k]);
            if (scan >= 0 && !splits_scan(s, &s->operations[scan])) /* its gate */
                return STAYS_WHOLE;
            whole = s->left_out[i] || is_depthwise(s, reader)
                || (mfu_is(reader, MFU_ELEMENTWISE) && (m->ops[i].n_in == 1 || mfu_is(reader, MFU_CHEAP)))
                || (mfu_is(reader, MFU_BY_ROW) && reader->primitive->split_columns)
                || mfu_is(reader, MFU_TAKES_COLUMNS); /* q, k and v of one product; parts of heads joined */
            there = whole
                ? reach(s, sec, i,
                        normed
                            || (!s->left_out[i] && of_whole_rows(reader) && scan_before(s, sec, m->ops[i].in[0]) < 0))
                : mfu_is(reader, MFU_MIXES_ROWS) || splits_scan(s, reader)
                    || (mfu_is(reader, MFU_MULTIPLIES) && !mfu_is(reader, MFU_READS_BESIDE)
                        && reader->primitive->split_columns && !normed)
                    || mfu_is(reader, MFU_ENDS_IN_LOSS)
                ? REACHES_PRODUCT
                : STAYS_WHOLE;
            if (there == STAYS_WHOLE || (there == UNREAD && !s->left_out[i]))
                return STAYS_WHOLE;
            reached = there == UNREAD ? reached : there;
        }
    return reached;
}

static bool is_split(enum mfu_split how)
{
    return how == MFU_SPLIT_COLUMNS || how == MFU_SPLIT_WITHIN;
}

bool mfu_enters_split(const struct mfu_builder *s, const struct mfu_node *n, int i)
{
    return n->in[i] != MFU_TOKENS_IN && is_split(how(s, n)) && !is_split(how(s, &s->nodes[n->in[i]]));
}

static enum mfu_split choose(const struct mfu_builder *s, const struct mfu_model_section *sec, int i, bool split_input)
{
    const struct mfu_operation *op = &s->operations[i];

    if (mfu_is(op, MFU_ROUTES) || ranks_of(s, s->routed[i] ? MFU_AXIS_ETP : MFU_AXIS_TP) <= 1)
        return MFU_SPLIT_NONE;
    if (mfu_is(op, MFU_LOOKS_UP))
        return op->primitive->split_rows && !op->primitive->has_position(op) ? MFU_SPLIT_ROWS : MFU_SPLIT_NONE;
    if (split_input)
        return mfu_is(op, MFU_MULTIPLIES) && !is_depthwise(s, op) ? MFU_SPLIT_ROWS : MFU_SPLIT_WITHIN;
    if (mfu_is(op, MFU_MULTIPLIES) && !mfu_is(op, MFU_READS_BESIDE) && op->primitive->split_columns
        && reach(s, sec, i, false) == REACHES_PRODUCT)
        return MFU_SPLIT_COLUMNS;
    return MFU_SPLIT_NONE;
}

/* One rank's part of every attribute in the mask; at least one of each. */
static void divide(struct mfu_operation *op, unsigned mask, double ranks)
{
    for (int a = 0; a < MFU_ATTRIBUTES; a++)
        if (mask & 1u << a && op->attribute[a] > 0)
            op->attribute[a] = ceil(op->attribute[a] / ranks);
}

/* Of what an operation gives, the columns that a rank needs where more ranks than heads of keys share these; 0: it gives no
 * queries, keys or values. */
static double shared_width(const struct mfu_builder *s, const struct mfu_model_section *sec, int op)
{
    const struct mfu_model *m = s->config->model;
    double ranks = ranks_of(s, MFU_AXIS_TP), heads = mfu_config_dim(s->config, "n_kv_head"), parts = 0;

    for (int i = op + 1; i < sec->first + sec->count; i++)
        for (int k = 0; k < m->ops[i].n_in; k++) {
            const struct mfu_operation *reader = &s->operations[i];
            double keys, width;

            if (m->ops[i].in[k] != op || (s->left_out[i] && s->passes[i] != k))
                continue;
            if (!s->left_out[i] && mfu_is(reader, MFU_MIXES_ROWS)) {
                if (!reader->primitive->key_elements)
                    return 0;
                width = s->operations[op].out_width;
                keys = m->ops[i].n_in < 3 ? reader->primitive->key_elements(reader) : k > 0 ? width : 0;
                return (width - keys) / ranks + keys / heads;
            }
            if (!s->left_out[i] && !mfu_is(reader, MFU_TAKES_COLUMNS)
                && reader->out_width != s->operations[op].out_width)
                return 0;
            parts += shared_width(s, sec, i);
        }
    return parts;
}

static double width_of_input(const struct mfu_builder *s, int section, int i, int k)
{
    const struct mfu_model *m = s->config->model;
    int from = m->ops[i].in[k];

    if (from == MFU_SECTION_INPUT)
        from = section > 0 ? m->sections[section - 1].first + m->sections[section - 1].count - 1 : -1;
    return from >= 0 ? s->operations[from].out_width : 0;
}

/* An adapter beside a product that is split.  By columns: both of its own are, too, and what the first gives is gathered.
 * By rows: the first is, too; the second by what the first gives, whose sum is spread over the ranks, and its own partial
 * sum is one with the base's (NeMo Automodel 36044ad3, components/distributed/parallel_styles.py); or by columns, and
 * gathered (Megatron-Bridge 067d987d, peft/utils.py: ParallelLinearAdapter). */
static void split_adapter(struct mfu_builder *s, int i, double ranks)
{
    struct mfu_operation *op = &s->operations[i], *a = &s->operations[MFU_MAX_OPS + i];
    bool columns = s->split[i] == MFU_SPLIT_COLUMNS, gathers = mfu_trainers[s->config->trainer].gathers_adapters;

    a->in_width[MFU_ADAPTER_INPUT] = op->in_width[0];
    a->in_width[MFU_ADAPTER_BASE] = a->out_width = op->out_width;
    a->attribute[MFU_ADAPTER_WIDTH] = ceil(op->out_width / (!columns && gathers ? ranks : 1));
    if (columns)
        a->attribute[MFU_ADAPTER_SIZE] = ceil(a->attribute[MFU_ADAPTER_SIZE] / ranks);
    else if (!gathers)
        a->attribute[MFU_ADAPTER_INNER] = ceil(a->attribute[MFU_ADAPTER_INNER] / ranks);
    if (!columns && gathers)
        s->split[MFU_MAX_OPS + i] = MFU_SPLIT_NONE;
    else if (!columns)
        s->split[i] = MFU_SPLIT_WITHIN; /* its partial sum goes on to the adapter's */
}

/* Weights of which each tensor rank has a copy saw a part of the heads there, or, with sequence parallelism, of the tokens;
 * not so positions, which are looked up before tokens are shared out.  Source: Megatron-LM d98e8a64: norms and routers of
 * `sequence_parallel`, biases of row-parallel products (core/tensor_parallel/layers.py), q_layernorm and k_layernorm
 * even without it (core/distributed/finalize_model_grads.py); transformers 5.23 models/qwen3 (replicated_with_grad_allreduce). */
static void find_summed(struct mfu_builder *s, int i, const struct mfu_weights *whole)
{
    const struct mfu_operation *op = &s->operations[i];
    struct mfu_weights part = op->primitive->params(op);
    bool sees_part = s->split[i] == MFU_SPLIT_WITHIN
        || (s->config->setting[MFU_S_SP] > 0 && !mfu_is(op, MFU_LOOKS_UP) && mfu_experts_of(op) == 0);

    s->summed[i][0] = sees_part && part.weight == whole->weight;
    s->summed[i][1] = sees_part && part.bias == whole->bias;
}

/* A norm over all heads of queries or keys has a part of its rows at each rank.  transformers 5.23 gathers them and computes
 * attention whole at each rank (models/olmo2: colwise_gather_output); Megatron's has the width of a head. */
static int refuse_part(const struct mfu_builder *s, int i, struct mfu_error *err)
{
    return mfu_fail(
        err, MFU_EINPUT,
        "tp: %s of %s spans all heads, of which each of %.0f ranks would have a part: transformers gathers them "
        "and computes attention whole at each rank, Megatron has no such norm; neither is modelled (set tp 1: "
        "dp, FSDP, cp and pp take it)",
        s->operations[i].name, s->config->model->name, ranks_of(s, MFU_AXIS_TP));
}

/* Heads of an attention that differ from the model's others: each rank holds whole ones, or ranks share one as they share those. */
static int check_heads(const struct mfu_builder *s, int i, double ranks, struct mfu_error *err)
{
    const struct mfu_operation *op = &s->operations[i];
    bool shared = ranks > mfu_config_dim(s->config, "n_kv_head");

    for (int a = 0; a < MFU_ATTRIBUTES && mfu_is(op, MFU_MIXES_ROWS); a++)
        if (op->primitive->split_columns & 1u << a && op->attribute[a] > 0 && fmod(op->attribute[a], ranks) != 0
            && !(shared && fmod(ranks, op->attribute[a]) == 0))
            return mfu_fail(err, MFU_EINPUT, "tp: the %.0f %s of %s of %s do not divide by tp %.0f", op->attribute[a],
                            op->primitive->attributes[a].name, op->name, s->config->model->name, ranks);
    return 0;
}

static int split_operation(struct mfu_builder *s, int section, int i, struct mfu_error *err)
{
    const struct mfu_model_section *sec = &s->config->model->sections[section];
    const struct mfu_model_op *source = &s->config->model->ops[i];
    struct mfu_operation *op = &s->operations[i];
    struct mfu_weights whole = op->primitive->params ? op->primitive->params(op) : (struct mfu_weights){0};
    bool split_input = false;
    double ranks, shared = 0, all = op->out_width;

    s->routed[i] = !s->left_out[i] && mfu_is(op, MFU_ROUTES);
    for (int k = 0; k < source->n_in; k++)
        if ((!s->left_out[i] || s->passes[i] == k) && source->in[k] >= sec->first) {
            split_input |= is_split(s->split[MFU_MAX_OPS + source->in[k]]);
            s->routed[i] |= s->routed[source->in[k]] && (s->left_out[i] || !mfu_is(op, MFU_COMBINES));
        }
    ranks = ranks_of(s, s->routed[i] ? MFU_AXIS_ETP : MFU_AXIS_TP);
    s->split[i] = s->left_out[i] ? (split_input ? MFU_SPLIT_WITHIN : MFU_SPLIT_NONE) : choose(s, sec, i, split_input);
    if (s->split[i] == MFU_SPLIT_NONE && !s->left_out[i] && mfu_is(op, MFU_READS_BESIDE | MFU_PASSES_STATES)
        && s->config->setting[MFU_S_SP] > 0 && ranks_of(s, MFU_AXIS_TP) > 1)
        return mfu_fail(err, MFU_EINPUT,
                        "sp: %s of %s reads rows beside each row or before it, of which other ranks have some: "
                        "Megatron gathers them "
                        "where %.0f ranks divide the heads and groups of a scan (set sp off)",
                        op->name, s->config->model->name, ranks_of(s, MFU_AXIS_TP));
    s->program->repeats_scans |= !s->left_out[i] && mfu_is(op, MFU_PASSES_STATES) && !is_split(s->split[i]);
    if (s->split[i] == MFU_SPLIT_WITHIN && !s->left_out[i] && of_whole_rows(op) && shared_width(s, sec, i) > 0)
        return refuse_part(s, i, err);
    if (is_split(s->split[i]) && !s->left_out[i] && check_heads(s, i, ranks, err) < 0)
        return -1;
    if (is_split(s->split[i]) && !s->left_out[i] && ranks > mfu_config_dim(s->config, "n_kv_head"))
        shared = shared_width(s, sec, i);
    s->shares[i] = shared > 0 && mfu_is(op, MFU_MULTIPLIES);
    if (is_split(s->split[i]))
        divide(op, op->primitive->split_columns, shared > 0 && mfu_is(op, MFU_TAKES_COLUMNS) ? all / shared : ranks);
    if (s->split[i] == MFU_SPLIT_ROWS)
        divide(op, op->primitive->split_rows, ranks);
    divide(op, op->primitive->split_experts, ranks_of(s, MFU_AXIS_EP));
    for (int k = 0; k < source->n_in; k++)
        op->in_width[k] = width_of_input(s, section, i, k);
    op->out_width = s->left_out[i] ? op->in_width[s->passes[i]] : s->shares[i] ? shared : mfu_operation_width(op);
    if (!s->left_out[i] && mfu_is(op, MFU_ENDS_IN_LOSS))
        s->logits_width = op->in_width[0];
    s->split[MFU_MAX_OPS + i] = s->split[i];
    if (op->primitive->params)
        find_summed(s, i, &whole);
    if (s->split[i] != MFU_SPLIT_NONE && mfu_adapted(s, i, false))
        split_adapter(s, i, ranks);
    return 0;
}

int mfu_split_operations(struct mfu_builder *s, struct mfu_error *err)
{
    const struct mfu_model *m = s->config->model;
    size_t n = (size_t)m->n_ops;

    memset(s->split, 0, n * sizeof s->split[0]);
    memset(s->split + MFU_MAX_OPS, 0, n * sizeof s->split[0]);
    memset(s->routed, 0, n * sizeof s->routed[0]);
    memset(s->summed, 0, n * sizeof s->summed[0]);
    memset(s->shares, 0, n * sizeof s->shares[0]);
    s->program->repeats_scans = false;
    if (ranks_of(s, MFU_AXIS_TP) <= 1 && ranks_of(s, MFU_AXIS_EP) <= 1 && ranks_of(s, MFU_AXIS_ETP) <= 1)
        return 0;
    for (int section = 0; section < m->n_sections; section++)
        for (int i = m->sections[section].first; i < m->sections[section].first + m->sections[section].count; i++)
            if (split_operation(s, section, i, err) < 0)
                return -1;
    return 0;
}

/* ---- collectives ---------------------------------------------------------- */

/* In place. */
static int over_ranks(struct mfu_builder *s, enum mfu_collective_kind op, enum mfu_mesh_axis axis, int view)
{
    int out = mfu_view_slice(s, view, mfu_view_rows(s, view), mfu_view_columns(s, view));

    mfu_emit_collective(s, op, MFU_AXIS_BIT(axis), mfu_view_bytes(s, view), 1, view, out);
    return out;
}

/* Of so many places, those where any of `visits` is. */
static double places(double of, double visits)
{
    return of > 1 ? of * (1 - pow(1 - 1 / of, visits)) : of;
}

/* Of the model's router, by its name; `otherwise` where it has none. */
static double of_router(const struct mfu_builder *s, const char *attribute, double otherwise)
{
    const struct mfu_model *m = s->config->model;

    for (int i = 0; i < m->n_ops; i++)
        for (int a = 0; !s->left_out[i] && mfu_is(&s->operations[i], MFU_ROUTES) && a < MFU_ATTRIBUTES; a++)
            if (m->ops[i].primitive->attributes[a].name && !strcmp(m->ops[i].primitive->attributes[a].name, attribute))
                return s->operations[i].attribute[a];
    return otherwise;
}

/* Of the copies of a token for each of its experts, those that leave: one for each of the units, ranks or nodes, where any
 * of them is.  Experts are chosen evenly; where the router first chooses groups of them (DeepSeek-V3, node-limited
 * routing; Megatron-LM d98e8a64, moe_utils.py: group_limited_topk), of those in its groups. */
static double copies_share(const struct mfu_builder *s)
{
    struct mfu_group g = mfu_mesh_group(&s->program->mesh, MFU_AXIS_BIT(MFU_AXIS_EP), mfu_config_unit_gpus(s->config));
    double units = g.units > 1 ? g.units : g.ranks, visits = of_router(s, "top_k", 1);
    double groups = of_router(s, "groups", 1), chosen = of_router(s, "top_groups", 1);

    if (s->config->setting[MFU_S_DISPATCHER] < MFU_DISPATCH_FLEX || !(visits > 1))
        return 1;
    if (groups > 1 && chosen < groups)
        units = units >= groups ? chosen * units / groups : places(units, chosen);
    return places(units, visits) / visits;
}

/* A copy of rows in another order. */
static int laid_out(struct mfu_builder *s, const char *suffix, int view)
{
    int out = mfu_tensor_like(s, view);

    MFU_EMIT(s, MFU_VIEWS(view), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_COPY, .traffic = MFU_C_DRAM_EMBEDDING,
             .launches = 2);
    return out;
}

/* Rows that came rank by rank are laid out expert by expert, or back, where a rank has several (Megatron-LM d98e8a64,
 * token_dispatcher.py: sort_chunks_by_idxs; torchtitan b5bcd76c, models/moe/utils.py: _permute, _unpermute), and where
 * products take quantised operands, whether rows came from others or not, once more with as many rows for each expert as
 * these want (moe/experts.py: quantization_padding; TransformerEngine d0067d0, module/fp8_padding.py).  DeepEP and HybridEP,
 * which need several ranks, do both at once, where rows arrive (moe_utils.py: skip_routed_expert_padding). */
static int regrouped(struct mfu_builder *s, int view, bool there)
{
    double ranks = ranks_of(s, MFU_AXIS_EP);
    bool several = ranks > 1 && of_router(s, "experts", 1) > ranks;
    bool pads =
        s->numerics.quantises && mfu_config_experts_apart(s->config) && s->config->setting[MFU_S_PAD_EXPERTS] == 0;

    if (ranks > 1 && s->config->setting[MFU_S_DISPATCHER] >= MFU_DISPATCH_FLEX)
        return view;
    if (pads && !there)
        view = laid_out(s, "unpad", view);
    if (several)
        view = laid_out(s, "regroup", view);
    return pads && there ? laid_out(s, "pad", view) : view;
}

/* Rows to their experts, or back; the way there in fp8 with a factor for each 128 where that is wished. */
static int to_experts(struct mfu_builder *s, int view, bool there)
{
    double bytes = copies_share(s) * mfu_view_bytes(s, view);
    int in = there ? view : regrouped(s, view, false), out;

    if (ranks_of(s, MFU_AXIS_EP) <= 1)
        return there ? regrouped(s, in, true) : in;
    out = mfu_view_slice(s, in, mfu_view_rows(s, in), mfu_view_columns(s, in));
    if (there && s->config->setting[MFU_S_FP8_DISPATCH] > 0)
        bytes *= mfu_least(1, mfu_type_bytes[MFU_F8_BLOCK] / mfu_type_bytes[mfu_view_type(s, view)]);
    mfu_emit_collective(s, MFU_ALL_TO_ALL, MFU_AXIS_BIT(MFU_AXIS_EP), bytes, 1, in, out);
    return there ? regrouped(s, out, true) : out;
}

/* To a part of the rows, or columns, or from a part to all. */
static int over_parts(struct mfu_builder *s, enum mfu_collective_kind op, enum mfu_mesh_axis axis, int view,
                      bool columns)
{
    double ranks = ranks_of(s, axis), size[] = {mfu_view_rows(s, view), mfu_view_columns(s, view)};
    int out;

    size[columns] = op == MFU_ALL_GATHER ? size[columns] * ranks
        : columns                        ? ceil(size[columns] / ranks)
                                         : size[columns] / ranks;
    out = mfu_tensor_new(s, size[0], size[1], mfu_view_type(s, view), MFU_PART_ACTIVATIONS);
    mfu_emit_collective(s, op, MFU_AXIS_BIT(axis), mfu_view_bytes(s, op == MFU_ALL_GATHER ? out : view), 1, view, out);
    return out;
}

static int over_rows(struct mfu_builder *s, enum mfu_collective_kind op, enum mfu_mesh_axis axis, int view)
{
    return over_parts(s, op, axis, view, false);
}

/* So much of the collective just emitted runs beside the next product (1), or the latest (-1). */
static void run_beside(struct mfu_builder *s, int product, double share)
{
    struct mfu_launch *l = mfu_latest_launch(s);
    struct mfu_work w = *l->work;

    w.beside_share = share;
    l->beside = (signed char)product;
    l->work = mfu_work_of(s, &w);
}

/* The collective just emitted runs beside the next or the latest product where the
 * trainer does so: that of a product's backward as a whole, others in pieces, the first
 * of which nothing hides. */
static void beside(struct mfu_builder *s, int product, enum mfu_tp_overlap least)
{
    if (s->failed || s->config->setting[MFU_S_TP_OVERLAP] < least
        || mfu_latest_launch(s)->work->collective.axes != MFU_AXIS_BIT(MFU_AXIS_TP))
        return;
    run_beside(s, product, least == MFU_TP_GRADIENTS ? 1 : 1 - 1 / ranks_of(s, MFU_AXIS_TP));
}

/* Where ranks share heads of keys, products are split as ever, and gathered; each rank takes its heads.  The gradient of what
 * others took is added up (Megatron-LM d98e8a64, core/transformer/attention.py: get_query_key_value_tensors;
 * tensor_parallel/mappings.py: parts of rows are joined, and taken apart, by a copy beside the message). */
static bool shares_heads(const struct mfu_builder *s, const struct mfu_node *n)
{
    return n->op >= s->operations && n->op < s->operations + MFU_MAX_OPS && s->shares[n->op - s->operations];
}

static int own_heads(struct mfu_builder *s, const struct mfu_node *n, bool backward, int view)
{
    double ranks = ranks_of(s, MFU_AXIS_TP), whole = mfu_operation_width(n->op) * ranks;
    int all = backward ? MFU_NO_VIEW : over_parts(s, MFU_ALL_GATHER, MFU_AXIS_TP, view, true), to;

    to = mfu_tensor_new(s, mfu_view_rows(s, view), backward ? whole : n->op->out_width, mfu_view_type(s, view),
                        MFU_PART_ACTIVATIONS);
    MFU_EMIT(s, MFU_LIST(1, backward ? &view : &all), MFU_VIEWS(to), .suffix = "heads", .kind = MFU_COPY,
             .traffic = MFU_C_DRAM_IRREGULAR, .launches = 2,
             .extra_read_bytes = 2 * mfu_view_rows(s, view) * whole * mfu_type_bytes[mfu_view_type(s, view)],
             .temporary_bytes = mfu_view_rows(s, view) * whole * mfu_type_bytes[mfu_view_type(s, view)]);
    return backward ? over_parts(s, MFU_REDUCE_SCATTER, MFU_AXIS_TP, to, true) : to;
}

/* A partial sum becomes a whole tensor, or this rank's tokens of it. */
static int sum(struct mfu_builder *s, enum mfu_mesh_axis axis, int view)
{
    return sequence_parallel(s, axis) ? over_rows(s, MFU_REDUCE_SCATTER, axis, view)
                                      : over_ranks(s, MFU_ALL_REDUCE, axis, view);
}

/* `elements` per token of this rank, all of which but one part in so many leaves for the ranks of an axis. */
static void exchange(struct mfu_builder *s, enum mfu_collective_kind op, enum mfu_mesh_axis axis, double elements,
                     int out)
{
    double ranks = ranks_of(s, axis);

    if (ranks > 1)
        mfu_emit_collective(s, op, MFU_AXIS_BIT(axis),
                            elements * s->config->tokens * mfu_type_bytes[s->numerics.compute]
                                * (op == MFU_ALL_TO_ALL ? 1 : ranks),
                            1, MFU_NO_VIEW, out);
}

static double of_queries(const struct mfu_node *n)
{
    return n->source->n_in > 1 ? n->op->in_width[0] : n->op->in_width[0] - n->op->primitive->key_elements(n->op);
}

/* In front of attention: heads of q, k, v, or of the gradient of what it gives; then keys and values of all ranks.  A ring
 * passes them on while attention works on those at hand (TransformerEngine d0067d0 keeps the buffers of all its steps), and
 * in backward their gradients with them (two buffers of both); where they are gathered, so are the gradients' sums, which
 * wait until attention is done. */
static void meet_context(struct mfu_builder *s, struct mfu_node *n, bool backward)
{
    const struct mfu_context_row *row = &mfu_contexts[(int)s->config->setting[MFU_S_CONTEXT]];
    double keys = n->op->primitive->key_elements(n->op), ring = ranks_of(s, MFU_AXIS_CP);

    exchange(s, MFU_ALL_TO_ALL, MFU_AXIS_CP_HEADS,
             backward ? n->op->out_width : of_queries(n) + mfu_config_key_copies(s->config) * keys, MFU_NO_VIEW);
    if (ring <= 1)
        return;
    n->keys = mfu_tensor_new(s,
                             s->config->tokens
                                 * (!backward       ? ring
                                        : row->ring ? 4
                                                    : 2 * ring),
                             keys, s->numerics.compute, MFU_PART_ACTIVATIONS);
    exchange(s, MFU_ALL_GATHER, MFU_AXIS_CP, (backward && row->ring ? 2 : 1) * keys, n->keys);
    if (row->ring && !s->failed)
        run_beside(s, 1, 1);
}

static void leave_context(struct mfu_builder *s, struct mfu_node *n, bool backward)
{
    const struct mfu_context_row *row = &mfu_contexts[(int)s->config->setting[MFU_S_CONTEXT]];
    double keys = n->op->primitive->key_elements(n->op);

    if (ranks_of(s, MFU_AXIS_CP) > 1)
        mfu_tensor_extend(s, n->keys);
    if (backward && !row->ring)
        exchange(s, MFU_REDUCE_SCATTER, MFU_AXIS_CP, keys, MFU_NO_VIEW);
    exchange(s, MFU_ALL_TO_ALL, MFU_AXIS_CP_HEADS,
             backward ? of_queries(n) + mfu_config_key_copies(s->config) * keys : n->op->out_width, MFU_NO_VIEW);
}

/* A view as other ranks get it: as it is multiplied, unless adapters read it, too (TransformerEngine d0067d0,
 * module/layernorm_linear.py: return_layernorm_output_gathered). */
static int as_sent(struct mfu_builder *s, const struct mfu_node *n, int view)
{
    int copies[2];

    if (!mfu_quantises(s, n) || s->numerics.activation != s->numerics.operand || s->config->setting[MFU_S_LORA] > 0
        || mfu_view_type(s, view) == s->numerics.operand)
        return view;
    mfu_emit_quantise(s, "quantise", mfu_autocast(s, view), mfu_trains(s, n, 0), copies);
    return copies[0];
}

/* With sequence parallelism a product that enters a split reads the tokens of all
 * ranks: gathered once for all that read them, and as they are multiplied (TransformerEngine
 * v2.8 module/layernorm_linear.py: each rank quantises its own and keeps that for backward). */
static void enter(struct mfu_builder *s, const struct mfu_node *n)
{
    enum mfu_mesh_axis axis = axis_of(s, n);

    for (int k = 0; k < n->source->n_in && sequence_parallel(s, axis); k++) {
        struct mfu_node *from = mfu_enters_split(s, n, k) ? &s->nodes[n->in[k]] : NULL;

        if (!from || from->gathered != MFU_NO_VIEW)
            continue;
        from->shard = axis == MFU_AXIS_TP ? as_sent(s, n, from->out) : from->out;
        from->gathered = over_rows(s, MFU_ALL_GATHER, axis, from->shard);
        if (mfu_result_dropped(s, n->in[k])) /* what is made anew is quantised anew (save_original_input) */
            from->shard = from->out;
        if (mfu_is(n->op, MFU_MULTIPLIES))
            beside(s, 1, MFU_TP_PRODUCTS);
    }
}

/* Whether an adapter's second product is split by columns beside a base that is split by rows. */
static bool gathers(const struct mfu_node *adapter)
{
    return adapter->op->attribute[MFU_ADAPTER_WIDTH] < adapter->op->in_width[MFU_ADAPTER_BASE];
}

int mfu_split_narrow(struct mfu_builder *s, const struct mfu_node *n, int h, bool backward)
{
    if (gathers(n))
        return over_ranks(s, MFU_ALL_REDUCE, MFU_AXIS_TP, h);
    if (how(s, n) == MFU_SPLIT_NONE)
        return h;
    return over_parts(s, (how(s, n) == MFU_SPLIT_COLUMNS) != backward ? MFU_ALL_GATHER : MFU_REDUCE_SCATTER,
                      MFU_AXIS_TP, h, true);
}

/* With sequence parallelism each rank has some of the base's rows. */
int mfu_split_adapted(struct mfu_builder *s, const struct mfu_node *n, int y)
{
    if (!gathers(n))
        return y;
    y = over_parts(s, MFU_ALL_GATHER, MFU_AXIS_TP, y, true);
    return mfu_view_slice(s, y, mfu_view_rows(s, s->nodes[n->in[MFU_ADAPTER_BASE]].out), mfu_view_columns(s, y));
}

int mfu_split_adapted_gradient(struct mfu_builder *s, const struct mfu_node *n, int g)
{
    if (!gathers(n))
        return g;
    if (sequence_parallel(s, MFU_AXIS_TP))
        g = over_rows(s, MFU_ALL_GATHER, MFU_AXIS_TP, g);
    return mfu_view_slice(s, g, mfu_view_rows(s, g), n->op->attribute[MFU_ADAPTER_WIDTH]);
}

void mfu_split_before_forward(struct mfu_builder *s, struct mfu_node *n)
{
    n->gathered = MFU_NO_VIEW;
    enter(s, n);
    if (mfu_is(n->op, MFU_MIXES_ROWS))
        meet_context(s, n, false);
    if (mfu_is(n->op, MFU_COMBINES))
        s->nodes[n->in[0]].out = to_experts(s, s->nodes[n->in[0]].out, false);
}

/* What backward needs of gathered tokens is gathered again; a frozen product needs nothing of them. */
static void keep_part(struct mfu_builder *s, struct mfu_node *n)
{
    const struct mfu_node *from = n->in[0] == MFU_TOKENS_IN ? NULL : &s->nodes[n->in[0]];

    bool whole = mfu_trainers[s->config->trainer].saves_gathered || axis_of(s, n) == MFU_AXIS_ETP
        || !mfu_trains(s, n, 0) || mfu_is_adapter(s, n); /* (Megatron-Bridge 067d987d, peft/utils.py: linear_in) */

    for (int k = 0; from && k < n->n_saved && !whole; k++)
        if (from->gathered != MFU_NO_VIEW && n->saved[k] == from->gathered)
            n->saved[k] = from->shard;
}

void mfu_split_after_forward(struct mfu_builder *s, struct mfu_node *n)
{
    keep_part(s, n);
    if (mfu_is(n->op, MFU_MIXES_ROWS))
        leave_context(s, n, false);
    if (n->out == MFU_NO_VIEW || (s->recomputing && mfu_last_recomputed(s, n)))
        return;
    if (shares_heads(s, n))
        n->out = own_heads(s, n, false, n->out);
    if (how(s, n) == MFU_SPLIT_ROWS) {
        n->out = sum(s, axis_of(s, n), n->out);
        if (mfu_is(n->op, MFU_MULTIPLIES) && sequence_parallel(s, axis_of(s, n)))
            beside(s, -1, MFU_TP_PRODUCTS);
    }
    if (how(s, n) == MFU_SPLIT_WITHIN && mfu_is(n->op, MFU_ENDS_IN_LOSS))
        mfu_emit_collective(s, MFU_ALL_REDUCE, MFU_AXIS_BIT(MFU_AXIS_TP), mfu_type_bytes[MFU_F32] * s->config->tokens,
                            LOSS_SUMS, MFU_NO_VIEW, MFU_NO_VIEW);
    if (mfu_is(n->op, MFU_ROUTES))
        n->out = to_experts(s, n->out, true);
}

void mfu_split_before_backward(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_node *from = n->in[0] == MFU_TOKENS_IN ? NULL : &s->nodes[n->in[0]];

    if (shares_heads(s, n) && n->gradient != MFU_NO_VIEW)
        n->gradient = own_heads(s, n, true, n->gradient);
    if (n->partial != MFU_NO_VIEW) {
        n->partial = sum(s, axis_of(s, n), n->partial);
        if (n->summed_beside)
            beside(s, -1, MFU_TP_GRADIENTS);
        n->gradient = mfu_grad_sum(s, n->gradient, n->partial);
    }
    if (how(s, n) == MFU_SPLIT_ROWS && sequence_parallel(s, axis_of(s, n)) && n->gradient != MFU_NO_VIEW) {
        n->gradient = over_rows(s, MFU_ALL_GATHER, axis_of(s, n), n->gradient);
        if (mfu_is(n->op, MFU_MULTIPLIES))
            beside(s, 1, MFU_TP_PRODUCTS);
    }
    if (mfu_is(n->op, MFU_ROUTES))
        n->gradient = to_experts(s, n->gradient, false);
    if (mfu_is(n->op, MFU_MIXES_ROWS))
        meet_context(s, n, true);
    if (!from || how(s, n) != MFU_SPLIT_COLUMNS || !sequence_parallel(s, axis_of(s, n)) || !mfu_trains(s, n, 0))
        return;
    for (int k = 0; k < n->n_saved; k++)
        if (n->saved[k] == from->shard) {
            if (from->gathered_again == MFU_NO_VIEW) {
                from->gathered_again = over_rows(s, MFU_ALL_GATHER, axis_of(s, n), as_sent(s, n, from->shard));
                beside(s, 1, MFU_TP_GRADIENTS);
            }
            n->saved[k] = from->gathered_again;
        }
}

void mfu_split_after_backward(struct mfu_builder *s, struct mfu_node *n)
{
    if (mfu_is(n->op, MFU_MIXES_ROWS))
        leave_context(s, n, true);
    if (mfu_is(n->op, MFU_COMBINES) && n->in[0] >= 0)
        s->nodes[n->in[0]].gradient = to_experts(s, s->nodes[n->in[0]].gradient, true);
}
