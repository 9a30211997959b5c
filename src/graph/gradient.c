/*
 * gradient.c - what flows back: gradients of nodes and of parameters.
 */
#include <math.h>

#include "graph/builder_private.h"
#include "graph/optimizer.h"
#include "scenario/adapter.h"
#include "scenario/setting.h"

/* ---- nodes -------------------------------------------------------------- */

int mfu_node_input(struct mfu_builder *s, const struct mfu_node *n, int i)
{
    const struct mfu_node *from = n->in[i] == MFU_TOKENS_IN ? NULL : &s->nodes[n->in[i]];

    if (!from)
        return MFU_NO_VIEW;
    return from->gathered != MFU_NO_VIEW && mfu_enters_split(s, n, i) ? from->gathered : from->out;
}

int mfu_node_save(struct mfu_node *n, int view)
{
    if (n->n_saved < MFU_SAVED)
        n->saved[n->n_saved++] = view;
    else
        n->spills = true;
    return view;
}

void mfu_node_saves(struct mfu_node *n, int count, const int *views)
{
    for (int i = 0; i < count; i++)
        mfu_node_save(n, views[i]);
}

bool mfu_wants_gradient(const struct mfu_builder *s, const struct mfu_node *n, int i)
{
    return n->in[i] != MFU_TOKENS_IN && s->nodes[n->in[i]].requires_gradient;
}

bool mfu_trains(const struct mfu_builder *s, const struct mfu_node *n, int which)
{
    return n->parameter[which] >= 0 && s->parameters[n->parameter[which]].trains;
}

/* Whether a view shows less than its tensor was made with, whose bytes are whole blocks. */
static bool is_part(struct mfu_builder *s, int view)
{
    return mfu_compare(s, mfu_view_bytes(s, view), mfu_view_bytes(s, mfu_tensor_of(s, view)->view)) < 0;
}

int mfu_grad_sum(struct mfu_builder *s, int gradient, int view)
{
    int sum;

    if (gradient == MFU_NO_VIEW)
        return view;
    /* Autograd adds to what is there, unless that is a look at a part of something (can_accumulate_inplace()). */
    sum = is_part(s, gradient) ? mfu_tensor_new(s, mfu_view_rows(s, view), mfu_view_columns(s, view),
                                                mfu_view_type(s, view), mfu_tensor_of(s, view)->part)
                               : mfu_view_slice(s, gradient, mfu_view_rows(s, view), mfu_view_columns(s, view));
    MFU_EMIT(s, MFU_VIEWS(gradient, view), MFU_VIEWS(sum), .suffix = "add", .kind = MFU_POINTWISE, .fusion = MFU_MAP,
             .flops = mfu_view_elements(s, view));
    return sum;
}

void mfu_grad_add(struct mfu_builder *s, struct mfu_node *n, int i, int view)
{
    struct mfu_node *target;
    bool partial = mfu_enters_split(s, n, i);

    if (!mfu_wants_gradient(s, n, i))
        return;
    target = &s->nodes[n->in[i]];
    if (partial) {
        target->summed_beside = mfu_trains(s, n, 0);
    } else if (mfu_compare(s, mfu_view_rows(s, view), mfu_view_rows(s, target->out)) > 0) { /* it was broadcast */
        int reduced = mfu_tensor_new(s, mfu_view_rows(s, target->out), mfu_view_columns(s, view),
                                     mfu_view_type(s, view), MFU_PART_ACTIVATIONS);

        MFU_EMIT(s, MFU_VIEWS(view), MFU_VIEWS(reduced), .suffix = "sum", .kind = MFU_REDUCTION,
                 .traffic = MFU_C_DRAM_REDUCTION, .fusion = MFU_COLUMN, .flops = mfu_view_elements(s, view));
        view = reduced;
    }
    view = mfu_emit_cast(s, view, mfu_view_type(s, target->out));
    if (partial)
        target->partial = mfu_grad_sum(s, target->partial, view);
    else
        target->gradient = mfu_grad_sum(s, target->gradient, view);
}

bool mfu_makes_logits(const struct mfu_builder *s, const struct mfu_node *n)
{
    return n->section == s->logits_section && n->op->out_width == s->logits_width;
}

bool mfu_tokens_first(const struct mfu_builder *s)
{
    return mfu_config_plain_core(s->config) && s->config->batch > 1;
}

double mfu_logits_chunks(const struct mfu_builder *s, const struct mfu_node *n)
{
    bool loss = mfu_is(n->op, MFU_ENDS_IN_LOSS);

    return loss || mfu_makes_logits(s, n) ? s->config->setting[MFU_S_LOSS_CHUNKS] : 1;
}

void mfu_keep_logits(struct mfu_builder *s, int logits)
{
    if (s->runtime->half_weights || s->config->setting[MFU_S_LOSS_CHUNKS] > 1)
        return; /* these trainers return the loss only */
    if (s->fp32_outputs == MFU_NO_VIEW)
        mfu_tensor_retain(s, logits);
    s->old_logits =
        mfu_tensor_new(s, mfu_view_rows(s, logits), mfu_view_columns(s, logits),
                       s->fp32_outputs == MFU_NO_VIEW ? mfu_view_type(s, logits) : MFU_F32, MFU_PART_LOGITS_LOSS);
    mfu_tensor_of(s, s->old_logits)->born = MFU_NEVER;
}

void mfu_return_outputs(struct mfu_builder *s)
{
    int copy;

    if (s->fp32_outputs != MFU_NO_VIEW) {
        copy = mfu_emit_cast(s, s->fp32_outputs, MFU_F32);
        if (s->old_logits != MFU_NO_VIEW)
            mfu_tensor_retain(s, copy);
    }
    if (s->old_logits != MFU_NO_VIEW)
        mfu_tensor_of(s, s->old_logits)->last = s->program->n_launches - 1;
}

int mfu_kept_result(struct mfu_builder *s)
{
    if (!s->selective || !s->recomputing || s->next_kept >= s->n_kept)
        return MFU_NO_VIEW;
    return s->kept[s->next_kept++].view;
}

void mfu_offer_result(struct mfu_builder *s, int view, bool matmul)
{
    bool keep = !matmul || s->n_gemms++ % 2 == 0 || mfu_checkpoints[s->config->checkpoint].by_budget;

    if (s->selective && !s->recomputing && ROOM(s, s->kept, s->n_kept, s->cap_kept)) {
        s->kept[s->n_kept].node = s->node;
        s->kept[s->n_kept++].view = keep ? view : MFU_NO_VIEW;
    }
}

bool mfu_last_recomputed(const struct mfu_builder *s, const struct mfu_node *n)
{
    /* Megatron runs the whole layer again; so does a function that drops what this reads: it keeps all when it is done. */
    return s->recomputing && n - s->nodes == s->last_saver && !s->runtime->half_weights
        && (n->in[0] < 0 || s->nodes[n->in[0]].recomputed >= 0);
}

/* ---- parameters --------------------------------------------------------- */

/* Eight weights of four bits in an int32, taken apart: shifted, made bytes, masked, less their zeros, and scaled (AutoGPTQ
 * 0.4, qlinear_cuda_old.py).  What is broadcast (the packed word, the zeros, the scales) has no wide loads.  Four more
 * kernels do the same with the zeros, one for each group of 128. */
static int unpack(struct mfu_builder *s, const struct mfu_parameter *p)
{
    static const struct {
        const char *name;
        enum mfu_type type; /* of the result */
        enum mfu_coefficient traffic;
        double launches;
    } passes[] = {{"unpack_shift", MFU_F32, MFU_C_DRAM_IRREGULAR, 2},
                  {"unpack_narrow", MFU_U8, MFU_C_DRAM_POINTWISE, 2},
                  {"unpack_mask", MFU_U8, MFU_C_DRAM_POINTWISE, 2},
                  {"unpack_zero", MFU_U8, MFU_C_DRAM_IRREGULAR, 2},
                  {"unpack_scale", MFU_F16, MFU_C_DRAM_IRREGULAR, 1}};
    int in = MFU_NO_VIEW, out;

    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++, in = out) {
        bool last = i + 1 == sizeof passes / sizeof *passes;

        out = mfu_tensor_new(s, 1, p->elements, last ? s->numerics.compute : passes[i].type, MFU_PART_WEIGHT_CASTS);
        MFU_EMIT(s, MFU_LIST(i > 0, &in), MFU_VIEWS(out), .suffix = passes[i].name, .kind = MFU_CAST,
                 .traffic = passes[i].traffic, .extra_read_bytes = i == 0 ? p->elements * p->packed_bytes : 0,
                 .flops = i == 1 ? 0 : p->elements, .launches = passes[i].launches);
    }
    return out;
}

/* The quantised weight as the product reads it. */
static int dequantise(struct mfu_builder *s, const struct mfu_parameter *p)
{
    const struct mfu_base_row *base = p->packed;
    int out;

    if (base->unpacks)
        return unpack(s, p);
    out = mfu_tensor_new(s, 1, p->elements, s->numerics.compute, MFU_PART_WEIGHT_CASTS);

    MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(out), .suffix = "dequantise", .kind = MFU_CAST,
             .traffic = MFU_C_DRAM_DEQUANTISE, .extra_read_bytes = p->elements * p->packed_bytes,
             .launches = base->kernels);
    return out;
}

int mfu_node_weight(struct mfu_builder *s, struct mfu_node *n, int which)
{
    struct mfu_parameter *p = n->parameter[which] < 0 ? NULL : &s->parameters[n->parameter[which]];
    int weight, cast;

    if (p && p->packed)
        return dequantise(s, p);
    if (!p || !s->numerics.autocast || p->type == s->numerics.compute)
        return MFU_NO_VIEW; /* used where it lies, already counted */
    if (p->cast != MFU_NO_VIEW)
        return p->cast;
    weight = mfu_view_as(s, 0, 1, p->elements, p->type); /* tensor 0: all weights */
    cast = mfu_emit_cast_as(s, weight, s->numerics.compute, MFU_PART_WEIGHT_CASTS, MFU_PARAMETER);
    if (p->trains) /* autocast's cache is for leaves that need gradients */
        p->cast = cast;
    return cast;
}

int mfu_emit_table(struct mfu_builder *s, struct mfu_node *n, double rows, double columns)
{
    const struct mfu_parameter *p = &s->parameters[n->parameter[0]];
    int table = mfu_tensor_new(s, rows, columns, p->type, MFU_PART_ACTIVATIONS);

    MFU_EMIT(s, MFU_NO_VIEWS, MFU_VIEWS(table), .suffix = "index_copy", .kind = MFU_COPY,
             .extra_read_bytes = p->elements * mfu_type_bytes[p->type], .launches = 2);
    return table;
}

void mfu_emit_table_gradient(struct mfu_builder *s, struct mfu_node *n, double trained, int table)
{
    enum mfu_type type = s->parameters[n->parameter[0]].type;
    double columns = s->parameters[n->parameter[1]].elements / trained;

    table = mfu_emit_cast(s, table, type);
    mfu_param_grad_add(s, n, 1, mfu_emit_laid(s, "index_select", 1, trained, columns, 1, &table));
}

int mfu_node_weight_again(struct mfu_builder *s, struct mfu_node *n, int saved)
{
    const struct mfu_base_row *base = n->parameter[0] < 0 ? NULL : s->parameters[n->parameter[0]].packed;

    return base && !base->unpacks ? mfu_node_weight(s, n, 0) : saved;
}

void mfu_program_accumulate(struct mfu_program *p, double accum)
{
    p->accum = accum;
    for (int i = 0; i < p->n_works; i++)
        mfu_work_accumulate(p->works[i], accum);
}

/* Parameters of which `view` is the gradient: one tensor may be that of a weight and its bias, and has a column for each
 * head where heads share them. */
static double covered(const struct mfu_builder *s, const struct mfu_node *n, int view)
{
    double elements = 0;

    for (size_t i = 0; i < sizeof n->parameter / sizeof n->parameter[0]; i++)
        elements += n->parameter[i] < 0 ? 0 : s->parameters[n->parameter[i]].elements;
    return fmin(elements, mfu_view_elements(s, view));
}

void mfu_update_deferred(struct mfu_builder *s)
{
    for (int i = 0; i < s->n_deferred && mfu_optimizer_in_backward(s); i++) {
        s->node = s->deferred[i].node;
        mfu_optimizer_emit_one(s, covered(s, &s->nodes[s->node], s->deferred[i].view), s->deferred[i].view);
    }
    if (mfu_optimizer_in_backward(s))
        s->n_deferred = 0;
}

/* Whether 16-bit gradients are added as they are to fp32 sums, which add_() does. */
static bool adds_as_they_are(const struct mfu_builder *s, enum mfu_type sum)
{
    return sum == MFU_F32 && s->numerics.weight != MFU_F32 && mfu_gradients_kept(s) && !mfu_gradients_leave(s)
        && !mfu_trainers[s->config->trainer].casts_sums;
}

/* `.grad += new`, in place; in the first of the micro-steps it is a move, unless zeros wait there or a cast makes it. */
void mfu_accumulate(struct mfu_builder *s, int view)
{
    double elements = mfu_view_columns(s, view) * mfu_view_rows(s, view);
    double own = mfu_type_bytes[mfu_view_type(s, view)];
    double sum = mfu_gradients_wait_whole(s)        ? fmax(mfu_summed_bytes(s), own)
        : adds_as_they_are(s, s->numerics.gradient) ? mfu_type_bytes[s->numerics.gradient]
                                                    : own;
    double bytes = elements * sum;
    struct mfu_launch *l;
    struct mfu_work w;

    MFU_EMIT(s, MFU_VIEWS(view), MFU_NO_VIEWS, .suffix = "accumulate", .kind = MFU_POINTWISE, .fusion = MFU_PARAMETER,
             .flops = elements);
    if (s->failed)
        return;
    l = mfu_latest_launch(s);
    w = *l->work;
    w.kernel.read_bytes += bytes;
    w.kernel.write_bytes = bytes;
    if (!mfu_gradients_kept(s) && sum == own) {
        w.accumulated_bytes = bytes;
        mfu_work_accumulate(&w, s->config->accum);
    }
    l->work = mfu_work_of(s, &w);
}

/* The gradient of a parameter is complete with the launch before. */
static void complete(struct mfu_builder *s, const struct mfu_node *n, const struct mfu_parameter *p)
{
    struct mfu_launch *l;
    struct mfu_work w;

    if (s->failed || s->program->n_launches == 0)
        return;
    l = mfu_latest_launch(s);
    w = *l->work;
    w.gradient_elements += p->elements;
    w.gradient_experts += mfu_experts_of(n->op) > 0 ? p->elements : 0;
    l->work = mfu_work_of(s, &w);
}

void mfu_gradient_in_place(struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_parameter *p = &s->parameters[n->parameter[0]];

    if (++p->given == p->users)
        complete(s, n, p);
}

void mfu_param_grad_add(struct mfu_builder *s, struct mfu_node *n, int which, int view)
{
    struct mfu_parameter *p = &s->parameters[n->parameter[which]];

    enum mfu_type type =
        p->type == s->numerics.weight || p->type == s->numerics.product ? s->numerics.gradient : p->type;

    if (mfu_view_type(s, view) != type && !adds_as_they_are(s, type))
        view = mfu_emit_cast_as(s, view, type, MFU_PART_GRADIENTS, MFU_PARAMETER);
    mfu_tensor_of(s, view)->part = MFU_PART_GRADIENTS;
    p->given++;
    if (p->gradient != MFU_NO_VIEW) {
        /* Eager autograd adds in place, but not into a view, such as the transposed
         * product of a linear; autocast's cast has made that a tensor of its own. */
        int born = mfu_tensor_of(s, p->gradient)->born;
        bool in_place = s->numerics.autocast || s->runtime->fuse
            || (born >= 0 && !mfu_kind_is_gemm(s->program->launches[born].work->kernel.kind));
        int sum = in_place
            ? mfu_view_slice(s, p->gradient, mfu_view_rows(s, view), mfu_view_columns(s, view))
            : mfu_tensor_new(s, mfu_view_rows(s, view), mfu_view_columns(s, view), type, MFU_PART_GRADIENTS);

        mfu_tensor_of(s, p->gradient)->last = 0;
        MFU_EMIT(s, MFU_VIEWS(p->gradient, view), MFU_VIEWS(sum), .suffix = "add", .kind = MFU_POINTWISE,
                 .fusion = MFU_PARAMETER, .flops = p->elements);
        view = sum;
    }
    if (p->given < p->users && !mfu_products_add(s)) {
        p->gradient = view; /* waits for the other users' */
        mfu_tensor_retain(s, view);
        return;
    }
    if (p->given == p->users)
        complete(s, n, p);
    if (mfu_optimizer_in_backward(s) && !s->runtime->gradients_at_end) {
        mfu_optimizer_emit_one(s, covered(s, n, view), view);
    } else if (s->config->accum == 1 && !mfu_gradients_kept(s) && !mfu_gradients_leave(s)
               && !mfu_optimizer_in_backward(s)) {
        mfu_tensor_retain(s, view); /* becomes .grad */
    } else if (s->runtime->gradients_at_end && !mfu_gradients_leave(s)) {
        if (ROOM(s, s->deferred, s->n_deferred, s->cap_deferred)) {
            s->deferred[s->n_deferred].node = s->node;
            s->deferred[s->n_deferred++].view = view;
        }
    } else {
        mfu_accumulate(s, view);
    }
}
