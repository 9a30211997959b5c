/*
 * step.c - from a model's sections to a program: traces each kind of layer
 * once, forward and backward, and lets the primitives append their kernels.
 *
 * A repeated section is traced at most three times: its first, a middle and
 * its last layer, since the neighbours of the first and last differ.  The
 * middle one stands for all the others (`repeat` of its segment).
 */
#include "graph/step.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/arena_layout.h"
#include "graph/optimizer.h"

/* ---- lists that grow ---------------------------------------------------- */

/* Makes room for one more; the list keeps its memory between programs. */
static bool room(void **list, int n, int *cap, size_t size)
{
    int want = *cap ? 2 * *cap : 256;
    void *more;

    if (n < *cap)
        return true;
    if (!(more = realloc(*list, (size_t)want * size)))
        return false;
    *list = more;
    *cap = want;
    return true;
}
#define ROOM(s, list, n, cap) \
    (room((void **)&(list), (n), &(cap), sizeof *(list)) || ((s)->failed = true, false))

/* ---- views -------------------------------------------------------------- */

static int new_view(struct mfu_step *s, int tensor, double rows, double columns, enum mfu_type type)
{
    struct mfu_program *p = s->program;

    if (!ROOM(s, p->views, p->n_views, p->cap_views))
        return 0;
    p->views[p->n_views] = (struct mfu_view){
        .tensor = tensor, .type = type, .rows = rows, .columns = columns, .producer = -1};
    return p->n_views++;
}

int mfu_new(struct mfu_step *s, double rows, double columns, enum mfu_type type, enum mfu_part part)
{
    struct mfu_program *p = s->program;

    if (!ROOM(s, p->tensors, p->n_tensors, p->cap_tensors))
        return 0;
    p->tensors[p->n_tensors] = (struct mfu_tensor){
        .bytes = ceil(rows * columns * mfu_type_bytes[type] / 512) * 512,
        .born = p->n_launches, .last = p->n_launches, .part = part};
    return new_view(s, p->n_tensors++, rows, columns, type);
}

int mfu_part_of(struct mfu_step *s, int view, double rows, double columns)
{
    struct mfu_view v = s->program->views[view];
    int part = new_view(s, v.tensor, rows, columns, v.type);

    s->program->views[part].producer = v.producer;
    return part;
}

enum mfu_type mfu_type_of(const struct mfu_step *s, int view)
{
    return s->program->views[view].type;
}

double mfu_rows(const struct mfu_step *s, int view)
{
    return s->program->views[view].rows;
}

double mfu_columns(const struct mfu_step *s, int view)
{
    return s->program->views[view].columns;
}

static struct mfu_tensor *tensor_of(struct mfu_step *s, int view)
{
    return &s->program->tensors[s->program->views[view].tensor];
}

void mfu_hold(struct mfu_step *s, int view)
{
    struct mfu_tensor *t;

    if (view == MFU_NO_VIEW)
        return;
    t = tensor_of(s, view);
    if (t->last < s->program->n_launches - 1)
        t->last = s->program->n_launches - 1;
}

void mfu_keep(struct mfu_step *s, int view)
{
    tensor_of(s, view)->last = MFU_FOREVER;
}

static double view_bytes(const struct mfu_step *s, int view)
{
    const struct mfu_view *v = &s->program->views[view];

    return v->rows * v->columns * mfu_type_bytes[v->type];
}

/* ---- launches ----------------------------------------------------------- */

static struct mfu_launch *append(struct mfu_step *s, const char *suffix, int n_in, const int *in,
                                 int n_out, const int *out)
{
    struct mfu_program *p = s->program;
    struct mfu_launch *l;

    if (!ROOM(s, p->launches, p->n_launches, p->cap_launches))
        return NULL;
    l = &p->launches[p->n_launches];
    memset(l, 0, sizeof *l);
    l->section = s->section;
    l->op = s->node >= 0 ? s->nodes[s->node].op->name : "";
    l->suffix = suffix;
    l->phase = s->phase;
    l->recomputed = s->recomputing;
    for (int i = 0; i < n_in && l->n_in < MFU_LAUNCH_IN; i++)
        if (in[i] != MFU_NO_VIEW) {
            struct mfu_tensor *t = tensor_of(s, in[i]);

            l->in[l->n_in++] = in[i];
            if (t->last < p->n_launches)
                t->last = p->n_launches;
        }
    for (int i = 0; i < n_out && l->n_out < MFU_LAUNCH_OUT; i++)
        if (out[i] != MFU_NO_VIEW) {
            struct mfu_tensor *t = tensor_of(s, out[i]);

            l->out[l->n_out++] = out[i];
            p->views[out[i]].producer = p->n_launches;
            if (t->last < p->n_launches)
                t->last = p->n_launches;
        }
    p->n_launches++;
    return l;
}

void mfu_emit(struct mfu_step *s, const struct mfu_emission *e, int n_in, const int *in, int n_out,
              const int *out)
{
    struct mfu_launch *l = append(s, e->suffix, n_in, in, n_out, out);
    double read = e->extra_read_bytes, write = 0, rows = 0, columns = 0, times = 1;

    if (!l)
        return;
    for (int i = 0; i < l->n_in; i++)
        read += view_bytes(s, l->in[i]);
    for (int i = 0; i < l->n_out; i++)
        write += view_bytes(s, l->out[i]);
    if (l->n_out || l->n_in) {
        int shape = l->n_in && (e->fusion == MFU_COLUMN || !l->n_out) ? l->in[0] : l->out[0];

        rows = mfu_rows(s, shape);
        columns = mfu_columns(s, shape);
    }
    if (s->node >= 0 && s->phase != MFU_OPTIMIZER_PHASE && strcmp(l->op, "") != 0)
        times = strcmp(s->nodes[s->node].op->primitive->name, "linear") ? mfu_chunks(s, &s->nodes[s->node]) : 1;
    l->kernel = mfu_kernel_stream(e->kind, e->traffic, rows, columns, times * e->flops, times * read,
                                  times * write);
    l->kernel.launches = times * (e->launches > 0 ? e->launches : 1);
    l->kernel.cold = e->fusion == MFU_PARAMETER || e->kind == MFU_EMBEDDING;
    l->fusion = e->fusion;
    l->random = e->random;
    l->cast = e->cast;
    l->extra_read_bytes = e->extra_read_bytes;
    l->temporary_bytes = e->temporary_bytes;
}

void mfu_emit_kernel(struct mfu_step *s, const struct mfu_kernel *k, const char *suffix,
                     double temporary_bytes, int n_in, const int *in, int n_out, const int *out)
{
    struct mfu_launch *l = append(s, suffix, n_in, in, n_out, out);

    if (!l)
        return;
    l->kernel = *k;
    l->fusion = MFU_ALONE;
    l->temporary_bytes = temporary_bytes;
}

static enum mfu_part part_like(struct mfu_step *s, int view)
{
    return tensor_of(s, view)->part;
}

static int map(struct mfu_step *s, const char *suffix, enum mfu_type type, double flops_per_element,
               int a, int b, int c, enum mfu_coefficient traffic)
{
    double rows = mfu_rows(s, a), columns = mfu_columns(s, a);
    int in[] = {a, b, c}, out = mfu_new(s, rows, columns, type, part_like(s, a));

    mfu_emit(s, &(struct mfu_emission){
                 .suffix = suffix, .kind = MFU_POINTWISE, .traffic = traffic,
                 .fusion = MFU_MAP, .flops = flops_per_element * rows * columns},
             3, in, 1, &out);
    return out;
}

int mfu_map(struct mfu_step *s, const char *suffix, enum mfu_type type, double flops_per_element,
            int a, int b, int c)
{
    return map(s, suffix, type, flops_per_element, a, b, c, MFU_C_DRAM_POINTWISE);
}

int mfu_map_broadcast(struct mfu_step *s, const char *suffix, enum mfu_type type,
                      double flops_per_element, int a, int b)
{
    return map(s, suffix, type, flops_per_element, a, b, MFU_NO_VIEW, MFU_C_DRAM_IRREGULAR);
}

/* An equal cast made a few launches ago in this phase, for runtimes that see
 * that it is the same. */
static int same_cast(struct mfu_step *s, int view, enum mfu_type type)
{
    struct mfu_program *p = s->program;
    int from = p->n_launches > 16 ? p->n_launches - 16 : 0;

    for (int i = p->n_launches - 1; s->runtime->one_cast && i >= from; i--) {
        const struct mfu_launch *l = &p->launches[i];

        if (l->cast && l->phase == s->phase && l->in[0] == view && p->views[l->out[0]].type == type)
            return l->out[0];
    }
    return MFU_NO_VIEW;
}

static int cast_as(struct mfu_step *s, int view, enum mfu_type type, enum mfu_part part,
                   enum mfu_fusion fusion)
{
    int out = same_cast(s, view, type);

    if (out != MFU_NO_VIEW)
        return out;
    out = mfu_new(s, mfu_rows(s, view), mfu_columns(s, view), type, part);
    mfu_emit(s, &(struct mfu_emission){
                 .suffix = "cast", .kind = MFU_CAST, .traffic = MFU_C_DRAM_IRREGULAR,
                 .fusion = fusion, .cast = true},
             1, &view, 1, &out);
    return out;
}

int mfu_cast(struct mfu_step *s, int view, enum mfu_type type)
{
    if (mfu_type_of(s, view) == type)
        return view;
    return cast_as(s, view, type, part_like(s, view), MFU_MAP);
}

int mfu_lower(struct mfu_step *s, int view)
{
    return mfu_cast(s, view, s->numerics.compute);
}

void mfu_align(struct mfu_step *s, struct mfu_kernel *gemm)
{
    if (gemm->aligned || !s->runtime->pads_matmuls)
        return;
    gemm->aligned = true;               /* one more copy of the smaller operands */
    gemm->read_bytes += 2 * fmin(gemm->read_bytes, gemm->write_bytes);
    gemm->launches += 1;
}

int mfu_matmul(struct mfu_step *s, const char *suffix, enum mfu_peak math, double m, double n,
               double k, double batch, int a, int b, int out)
{
    struct mfu_kernel gemm = mfu_kernel_gemm(math, m, n, k, batch,
                                             mfu_type_bytes[mfu_type_of(s, a)],
                                             mfu_type_bytes[mfu_type_of(s, out)], false);
    int in[] = {a, b};

    if (math == MFU_PEAK_FP8)
        gemm.read_bytes /= 2;
    mfu_align(s, &gemm);
    mfu_emit_kernel(s, &gemm, suffix, 0, 2, in, 1, &out);
    return out;
}

/* ---- nodes -------------------------------------------------------------- */

struct mfu_step_node *mfu_node_at(struct mfu_step *s, int index)
{
    return &s->nodes[index];
}

int mfu_input(struct mfu_step *s, const struct mfu_step_node *n, int i)
{
    return n->in[i] == MFU_TOKENS_IN ? MFU_NO_VIEW : s->nodes[n->in[i]].out;
}

int mfu_save(struct mfu_step *s, struct mfu_step_node *n, int view)
{
    (void)s;
    if (n->n_saved < MFU_SAVED)
        n->saved[n->n_saved++] = view;
    return view;
}

void mfu_give(struct mfu_step *s, struct mfu_step_node *n, int i, int view)
{
    struct mfu_step_node *target;
    int sum;

    if (n->in[i] == MFU_TOKENS_IN)
        return;
    target = &s->nodes[n->in[i]];
    if (mfu_rows(s, view) > mfu_rows(s, target->out)) {        /* it was broadcast */
        int reduced = mfu_new(s, mfu_rows(s, target->out), mfu_columns(s, view),
                              mfu_type_of(s, view), MFU_PART_ACTIVATIONS);

        mfu_emit(s, &(struct mfu_emission){
                     .suffix = "sum", .kind = MFU_REDUCTION, .traffic = MFU_C_DRAM_REDUCTION,
                     .fusion = MFU_COLUMN, .flops = mfu_rows(s, view) * mfu_columns(s, view)},
                 1, &view, 1, &reduced);
        view = reduced;
    }
    view = mfu_cast(s, view, mfu_type_of(s, target->out));
    if (target->gradient == MFU_NO_VIEW) {
        target->gradient = view;
        return;
    }
    sum = mfu_part_of(s, target->gradient, mfu_rows(s, view), mfu_columns(s, view));
    mfu_emit(s, &(struct mfu_emission){
                 .suffix = "add", .kind = MFU_POINTWISE, .traffic = MFU_C_DRAM_POINTWISE,
                 .fusion = MFU_MAP, .flops = mfu_rows(s, view) * mfu_columns(s, view)},
             2, (int[]){target->gradient, view}, 1, &sum);
    target->gradient = sum;
}

bool mfu_makes_logits(const struct mfu_step *s, const struct mfu_step_node *n)
{
    return n->section == s->logits_section && n->op->out_width == s->logits_width;
}

double mfu_chunks(const struct mfu_step *s, const struct mfu_step_node *n)
{
    bool loss = strcmp(n->op->primitive->name, "loss") == 0;

    return loss || mfu_makes_logits(s, n) ? s->config->setting[MFU_S_LOSS_CHUNKS] : 1;
}

void mfu_keep_logits(struct mfu_step *s, int logits)
{
    if (s->runtime->half_weights || s->config->setting[MFU_S_LOSS_CHUNKS] > 1)
        return;                         /* these trainers return the loss only */
    mfu_keep(s, logits);
    s->old_logits = mfu_new(s, mfu_rows(s, logits), mfu_columns(s, logits), mfu_type_of(s, logits),
                            MFU_PART_LOGITS_LOSS);
    tensor_of(s, s->old_logits)->born = MFU_NEVER;
}

int mfu_kept(struct mfu_step *s)
{
    if (!s->selective || !s->recomputing || s->next_kept >= s->n_kept)
        return MFU_NO_VIEW;
    return s->kept[s->next_kept++];
}

void mfu_offer_result(struct mfu_step *s, int view, bool matmul)
{
    bool keep = !matmul || s->n_gemms++ % 2 == 0;

    if (s->selective && !s->recomputing && ROOM(s, s->kept, s->n_kept, s->cap_kept))
        s->kept[s->n_kept++] = keep ? view : MFU_NO_VIEW;
}

bool mfu_last_recomputed(const struct mfu_step *s, int index)
{
    /* Megatron runs the whole layer again. */
    return s->recomputing && index == s->last_saver && !s->runtime->half_weights;
}

/* ---- parameters --------------------------------------------------------- */

int mfu_weight(struct mfu_step *s, struct mfu_step_node *n, int which)
{
    struct mfu_parameter *p;
    int weight;

    if (n->parameter[which] < 0 || !s->numerics.autocast)
        return MFU_NO_VIEW;             /* used where it lies, already counted */
    p = &s->parameters[n->parameter[which]];
    if (p->cast != MFU_NO_VIEW)
        return p->cast;
    weight = new_view(s, 0, 1, p->elements, s->numerics.weight);       /* tensor 0: all weights */
    return p->cast = cast_as(s, weight, s->numerics.compute, MFU_PART_WEIGHT_CASTS, MFU_PARAMETER);
}

/* `.grad += new`, in place; in the first of the micro-steps it is a move. */
static void accumulate(struct mfu_step *s, int view)
{
    double accum = s->config->accum;
    double bytes = mfu_columns(s, view) * mfu_rows(s, view) * mfu_type_bytes[s->numerics.gradient];
    double share = s->runtime->gemm_accumulates ? 1 : (accum - 1) / accum;
    struct mfu_launch *l;

    mfu_emit(s, &(struct mfu_emission){
                 .suffix = "accumulate", .kind = MFU_POINTWISE, .traffic = MFU_C_DRAM_POINTWISE,
                 .fusion = MFU_PARAMETER, .flops = bytes / mfu_type_bytes[s->numerics.gradient]},
             1, &view, 0, NULL);
    if (s->failed)
        return;
    l = &s->program->launches[s->program->n_launches - 1];
    l->kernel.read_bytes = share * (l->kernel.read_bytes + bytes);
    l->kernel.write_bytes = share * bytes;
    l->kernel.flops *= share;
    l->kernel.launches *= share;
}

/* The gradient of a parameter is complete with the launch before. */
static void complete(struct mfu_step *s, const struct mfu_parameter *p)
{
    if (!s->failed && s->program->n_launches > 0)
        s->program->launches[s->program->n_launches - 1].gradient_elements += p->elements;
}

void mfu_gradient_in_place(struct mfu_step *s, struct mfu_step_node *n)
{
    struct mfu_parameter *p = &s->parameters[n->parameter[0]];

    if (++p->given == p->users)
        complete(s, p);
}

void mfu_give_parameter(struct mfu_step *s, struct mfu_step_node *n, int which, int view)
{
    struct mfu_parameter *p = &s->parameters[n->parameter[which]];

    view = mfu_type_of(s, view) == s->numerics.gradient ? view
        : cast_as(s, view, s->numerics.gradient, MFU_PART_GRADIENTS, MFU_PARAMETER);
    tensor_of(s, view)->part = MFU_PART_GRADIENTS;
    p->given++;
    if (p->given < p->users && !s->runtime->gemm_accumulates) {
        p->gradient = view;             /* waits for the other user's */
        mfu_keep(s, view);
        return;
    }
    if (p->gradient != MFU_NO_VIEW) {
        int sum = mfu_part_of(s, p->gradient, mfu_rows(s, view), mfu_columns(s, view));

        tensor_of(s, p->gradient)->last = 0;
        mfu_emit(s, &(struct mfu_emission){
                     .suffix = "add", .kind = MFU_POINTWISE, .traffic = MFU_C_DRAM_POINTWISE,
                     .fusion = MFU_PARAMETER, .flops = p->elements},
                 2, (int[]){p->gradient, view}, 1, &sum);
        view = sum;
    }
    if (p->given == p->users)
        complete(s, p);
    if (s->config->accum == 1 && !s->runtime->gemm_accumulates) {
        mfu_keep(s, view);              /* becomes .grad */
    } else if (s->runtime->gradients_at_end) {
        if (ROOM(s, s->deferred, s->n_deferred, s->cap_deferred)) {
            s->deferred[s->n_deferred].node = s->node;
            s->deferred[s->n_deferred++].view = view;
        }
    } else {
        accumulate(s, view);
    }
}

/* ---- operations and parameters of a scenario ---------------------------- */

/* Works out attributes and widths of all model ops, once per scenario. */
static int evaluate_operations(struct mfu_step *s, struct mfu_error *err)
{
    const struct mfu_model *m = s->config->model;

    for (int section = 0; section < m->n_sections; section++) {
        const struct mfu_model_section *sec = &m->sections[section];

        for (int i = sec->first; i < sec->first + sec->count; i++) {
            const struct mfu_model_op *source = &m->ops[i];
            struct mfu_operation *op = &s->operations[i];

            op->primitive = source->primitive;
            op->name = source->name;
            s->left_out[i] = source->when && !(mfu_expression_eval(source->when, s->config->dim) > 0);
            for (int a = 0; a < MFU_ATTRIBUTES && source->primitive->attributes[a].name; a++) {
                op->attribute[a] = mfu_expression_eval(source->attribute[a], s->config->dim);
                if (!isfinite(op->attribute[a]) || op->attribute[a] < 0 || op->attribute[a] > 1e15)
                    return mfu_fail(err, MFU_EINPUT, "%s: %s of %s.%s is %g", m->slug,
                                    source->primitive->attributes[a].name, sec->name, source->name,
                                    op->attribute[a]);
            }
            for (int k = 0; k < source->n_in; k++) {
                int from = source->in[k];

                if (from == MFU_SECTION_INPUT)          /* what the section before left */
                    from = section > 0 ? m->sections[section - 1].first + m->sections[section - 1].count - 1 : -1;
                op->in_width[k] = from >= 0 ? s->operations[from].out_width : 0;
            }
            op->out_width = s->left_out[i] ? op->in_width[0] : op->primitive->shape(op);
            if (!s->left_out[i] && strcmp(op->primitive->name, "loss") == 0) {
                s->logits_section = sec->name;
                s->logits_width = op->in_width[0];
            }
        }
    }
    return 0;
}

static double repeats(const struct mfu_step *s, const struct mfu_model_section *sec)
{
    return sec->repeat ? mfu_expression_eval(sec->repeat, s->config->dim) : 1;
}

/* Whether the op uses the weight of another one. */
static bool shared(const struct mfu_step *s, int op)
{
    const struct mfu_model_op *source = &s->config->model->ops[op];

    if (source->shares < 0)
        return false;
    for (int a = 0; a < MFU_ATTRIBUTES && source->primitive->attributes[a].name; a++)
        if (strcmp(source->primitive->attributes[a].name, "tied") == 0)
            return s->operations[op].attribute[a] > 0;
    return true;
}

static void count_parameters(struct mfu_step *s)
{
    struct mfu_program *p = s->program;
    const struct mfu_model *m = s->config->model;

    p->params = p->active_params = p->non_embedding_params = p->position_params = p->linear_params = 0;
    for (int section = 0; section < m->n_sections; section++) {
        const struct mfu_model_section *sec = &m->sections[section];
        double times = repeats(s, sec);

        for (int i = sec->first; i < sec->first + sec->count; i++) {
            const struct mfu_operation *op = &s->operations[i];
            struct mfu_weights w;
            double active, all;

            if (s->left_out[i] || !op->primitive->params)
                continue;
            w = op->primitive->params(op);
            active = w.active;
            all = w.weight + w.bias;
            if (strcmp(op->primitive->name, "linear") == 0 || strcmp(op->primitive->name, "route") == 0)
                p->linear_params += times * (active - w.bias);
            if (shared(s, i))
                all = active = w.bias;          /* the weight is another op's */
            p->params += times * all;
            p->active_params += times * active;
            if (strcmp(op->primitive->name, "embedding") != 0)
                p->non_embedding_params += times * all;
            else if (op->attribute[2] == 1)     /* index: position */
                p->position_params += times * all;
        }
    }
    p->trainable_params = p->params;
}

/* ---- tracing ------------------------------------------------------------ */

/* One traced stretch: a section, or one of the up to three layers of it. */
struct stretch {
    const struct mfu_model_section *section;
    int first_node, n_nodes;
    int input;                  /* node that it reads, or MFU_TOKENS_IN */
    double repeat;
    int first_kept;             /* of its results in mfu_step.kept */
};
/* More layers than that are counted even when unrolling. */
#define MOST_UNROLLED 1000

static void open_segment(struct mfu_step *s, const char *section, enum mfu_phase phase, double repeat)
{
    struct mfu_program *p = s->program;

    s->section = section;
    s->phase = phase;
    if (!ROOM(s, p->segments, p->n_segments, p->cap_segments))
        return;
    p->segments[p->n_segments++] = (struct mfu_segment){
        .section = section, .phase = phase, .first = p->n_launches, .repeat = repeat};
}

static void close_segment(struct mfu_step *s)
{
    struct mfu_program *p = s->program;

    if (!s->failed)
        p->segments[p->n_segments - 1].count = p->n_launches - p->segments[p->n_segments - 1].first;
    s->node = -1;
}

/* Makes the nodes of one stretch; `at` maps model ops to nodes. */
static void add_nodes(struct mfu_step *s, struct stretch *st, int *at)
{
    const struct mfu_model *m = s->config->model;

    st->first_node = s->n_nodes;
    for (int i = st->section->first; i < st->section->first + st->section->count; i++) {
        const struct mfu_model_op *source = &m->ops[i];
        struct mfu_step_node *n;

        if (s->left_out[i]) {
            at[i] = source->n_in == 0 ? MFU_TOKENS_IN
                : source->in[0] == MFU_SECTION_INPUT ? st->input : at[source->in[0]];
            continue;
        }
        if (!ROOM(s, s->nodes, s->n_nodes, s->cap_nodes))
            return;
        n = &s->nodes[s->n_nodes];
        *n = (struct mfu_step_node){.op = &s->operations[i], .source = source, .section = st->section->name,
                               .out = MFU_NO_VIEW, .gradient = MFU_NO_VIEW, .parameter = {-1, -1}};
        for (int k = 0; k < MFU_INPUTS; k++)
            n->in[k] = k >= source->n_in ? MFU_TOKENS_IN
                : source->in[k] == MFU_SECTION_INPUT ? st->input : at[source->in[k]];
        if (n->op->primitive->params) {
            struct mfu_weights w = n->op->primitive->params(n->op);
            bool borrowed = shared(s, i) && at[source->shares] >= 0;

            for (int which = 0; which < 2; which++) {
                if (!ROOM(s, s->parameters, s->n_parameters, s->cap_parameters))
                    return;
                n->parameter[which] = s->n_parameters;
                s->parameters[s->n_parameters++] = (struct mfu_parameter){
                    .elements = which ? w.bias : w.weight, .cast = MFU_NO_VIEW,
                    .gradient = MFU_NO_VIEW, .users = 1};
            }
            if (borrowed) {
                s->parameters[n->parameter[0]].borrowed = true;
                n->parameter[0] = s->nodes[at[source->shares]].parameter[0];
                s->parameters[n->parameter[0]].users++;
            }
        }
        at[i] = s->n_nodes++;
    }
    st->n_nodes = s->n_nodes - st->first_node;
}

/* The stretches of the whole model, in order of execution. */
static int lay_out(struct mfu_step *s, bool unrolled, struct mfu_error *err)
{
    const struct mfu_model *m = s->config->model;
    int at[MFU_MAX_OPS], n = 0, before = MFU_TOKENS_IN;

    for (int i = 0; i < m->n_sections; i++) {
        const struct mfu_model_section *sec = &m->sections[i];
        double times = repeats(s, sec);
        int traced = times < 3 ? (int)times : unrolled ? (int)fmin(times, MOST_UNROLLED) : 3;

        if (!(times >= 1) || times != floor(times))
            return mfu_fail(err, MFU_EINPUT, "%s: section %s repeats %g times", m->slug, sec->name, times);
        for (int k = 0; k < traced; k++) {
            struct stretch *st;

            if (!ROOM(s, s->stretches, n, s->cap_stretches))
                return n;
            st = &s->stretches[n++];

            *st = (struct stretch){.section = sec, .input = before,
                                   .repeat = traced > 2 && k == traced - 2 ? times - traced + 1 : 1};
            add_nodes(s, st, at);
            before = at[sec->first + sec->count - 1];
        }
    }
    return n;
}

/* Python keeps the argument of a module alive until the module returns. */
static void hold_arguments(struct mfu_step *s, const struct stretch *st, int node)
{
    const char *module = s->nodes[node].source->module;
    int end = st->first_node + st->n_nodes;

    if (!s->runtime->scopes || !module)
        return;
    if (node + 1 < end && s->nodes[node + 1].source->module
        && strcmp(s->nodes[node + 1].source->module, module) == 0)
        return;
    for (int i = node; i >= st->first_node && s->nodes[i].source->module
             && strcmp(s->nodes[i].source->module, module) == 0; i--)
        for (int k = 0; k < s->nodes[i].source->n_in; k++)
            if (s->nodes[i].in[k] >= 0) {
                const char *from = s->nodes[s->nodes[i].in[k]].source->module;

                if (!from || strcmp(from, module) != 0)
                    mfu_hold(s, s->nodes[s->nodes[i].in[k]].out);
            }
}

static void run_forward(struct mfu_step *s, const struct stretch *st)
{
    for (int i = st->first_node; i < st->first_node + st->n_nodes && !s->failed; i++) {
        s->node = i;
        s->nodes[i].n_saved = 0;
        if (s->recomputing && i > s->last_saver)
            break;
        s->nodes[i].op->primitive->forward(s, i);
        hold_arguments(s, st, i);
    }
}

/* Local variables of the model's own forward(): embeddings, head. */
static void hold_locals(struct mfu_step *s, const struct stretch *stretches, int n)
{
    for (int k = 0; k < n && s->runtime->scopes; k++)
        for (int i = stretches[k].first_node; i < stretches[k].first_node + stretches[k].n_nodes; i++)
            if (!stretches[k].section->repeat
                && (k == n - 1 || strcmp(s->nodes[i].op->primitive->name, "embedding") == 0))
                mfu_hold(s, s->nodes[i].out);
}

static bool recomputed(const struct mfu_step *s, const struct stretch *st)
{
    return st->section->repeat && s->config->checkpoint != MFU_NONE;
}

static void forget_casts(struct mfu_step *s)
{
    for (int i = 0; i < s->n_parameters; i++)
        s->parameters[i].cast = MFU_NO_VIEW;
}

/* torch's checkpoint stops recomputing at the last tensor that was saved. */
static int last_saver(const struct mfu_step *s, const struct stretch *st)
{
    int last = st->first_node + st->n_nodes - 1;

    if (s->runtime->half_weights)
        return last;                    /* Megatron runs the whole layer again */
    while (last > st->first_node && s->nodes[last].n_saved == 0)
        last--;
    return last;
}

/* An empty launch, so that what it names lives until here. */
static void end_of_scope(struct mfu_step *s, const struct stretch *st)
{
    for (int i = st->first_node; i < st->first_node + st->n_nodes; i++) {
        int casts[2], n = 0;

        for (int w = 0; w < 2; w++)
            if (s->nodes[i].parameter[w] >= 0 && s->parameters[s->nodes[i].parameter[w]].cast != MFU_NO_VIEW)
                casts[n++] = s->parameters[s->nodes[i].parameter[w]].cast;
        s->node = i;
        if (n)
            mfu_emit_kernel(s, &(struct mfu_kernel){.kind = MFU_CAST}, "scope", 0, n, casts, 0, NULL);
    }
}

static void trace_backward(struct mfu_step *s, struct stretch *st)
{
    open_segment(s, st->section->name, MFU_BACKWARD, st->repeat);
    s->selective = s->config->checkpoint == MFU_SELECTIVE;
    if (recomputed(s, st)) {
        s->last_saver = last_saver(s, st);
        s->recomputing = true;
        s->next_kept = st->first_kept;
        for (int i = st->first_node; i < st->first_node + st->n_nodes; i++)
            for (int w = 0; w < 2; w++)
                if (s->nodes[i].parameter[w] >= 0)
                    s->parameters[s->nodes[i].parameter[w]].cast = MFU_NO_VIEW;
        run_forward(s, st);
        s->recomputing = false;
    }
    for (int i = st->first_node + st->n_nodes - 1; i >= st->first_node && !s->failed; i--) {
        struct mfu_step_node *n = &s->nodes[i];

        s->node = i;
        if (n->gradient != MFU_NO_VIEW || strcmp(n->op->primitive->name, "loss") == 0)
            n->op->primitive->backward(s, i);
    }
    close_segment(s);
}

/* Compiled backward graphs return their gradients together; only then does
 * autograd add them to .grad. */
static void trace_deferred(struct mfu_step *s, const struct stretch *stretches, int n)
{
    for (int k = n - 1; k >= 0; k--) {
        const struct stretch *st = &stretches[k];

        open_segment(s, st->section->name, MFU_BACKWARD, st->repeat);
        for (int i = 0; i < s->n_deferred; i++)
            if (s->deferred[i].node >= st->first_node && s->deferred[i].node < st->first_node + st->n_nodes) {
                s->node = s->deferred[i].node;
                accumulate(s, s->deferred[i].view);
            }
        close_segment(s);
    }
}

/* ---- constant memory ---------------------------------------------------- */

/* DeepSpeed's reduce_bucket_size, in elements; two buffers with overlap_comm
 * (runtime/zero/config.py). */
#define ENGINE_BUCKET 5e8

bool mfu_half_engine(const struct mfu_config *c)
{
    return (c->setting[MFU_S_HALF_WEIGHTS] > 0 || c->setting[MFU_S_ZERO] > 0) && (c->precision == MFU_FP16 || c->precision == MFU_BF16)
        && c->runtime != MFU_LLMC;
}

static void constant_memory(struct mfu_step *s)
{
    struct mfu_program *p = s->program;
    const struct mfu_config *c = s->config;
    double weight = mfu_type_bytes[s->numerics.weight], gradient = mfu_type_bytes[s->numerics.gradient];
    bool gradients_stay = c->accum > 1 || s->runtime->gemm_accumulates;
    /* Token indices and targets, int64, of this micro-batch and the next. */
    double inputs = 2 * 2 * mfu_type_bytes[MFU_I64] * c->tokens;
    double workspace = mfu_config_coefficient(c, MFU_C_CUBLAS_WORKSPACE);

    memset(p->constant_bytes, 0, sizeof p->constant_bytes);
    p->constant_bytes[MFU_PART_WEIGHTS] = weight * p->params;
    p->constant_bytes[MFU_PART_GRADIENTS] = gradients_stay ? gradient * p->params : 0;
    p->constant_bytes[MFU_PART_OPTIMIZER] = mfu_optimizer_state_bytes(c, p)
        + (s->numerics.weight == MFU_F16 && c->precision != MFU_BF16_PURE ? 4 * p->params : 0);     /* masters */
    p->gradient_bytes = gradient;
    p->constant_bytes[MFU_PART_COMMUNICATION] = c->ranks > 1 && !s->runtime->half_weights ? gradient * p->params : c->setting[MFU_S_ZERO] < 2 || !mfu_half_engine(c)
        ? 0 : (c->setting[MFU_S_ZERO] == 3 ? 2 : 1) * 2 * fmin(p->params, ENGINE_BUCKET);
    p->constant_bytes[MFU_PART_ACTIVATIONS] = inputs;
    /* Handles belong to threads: forward's and the autograd engine's. */
    p->constant_bytes[MFU_PART_WORKSPACE] = s->runtime->half_weights ? workspace : 2 * workspace;
}

static struct mfu_numerics choose_numerics(const struct mfu_config *c, const struct mfu_runtime *r)
{
    static const enum mfu_peak math[MFU_PRECISION_COUNT] = {
        [MFU_FP32] = MFU_PEAK_FP32, [MFU_TF32] = MFU_PEAK_TF32, [MFU_FP16] = MFU_PEAK_FP16,
        [MFU_BF16] = MFU_PEAK_BF16, [MFU_BF16_PURE] = MFU_PEAK_BF16, [MFU_FP8] = MFU_PEAK_BF16};
    bool full = c->precision == MFU_FP32 || c->precision == MFU_TF32;
    bool pure = c->precision == MFU_BF16_PURE;
    bool half = pure || r->half_weights || mfu_half_engine(c);
    enum mfu_type weight = full || !half ? MFU_F32 : MFU_F16;

    return (struct mfu_numerics){
        .weight = weight,
        .compute = full ? MFU_F32 : MFU_F16,
        .gradient = r->gradient == MFU_GRADIENT_FP32 && !pure ? MFU_F32 : weight,
        .residual = weight,
        .autocast = !full && weight == MFU_F32,
        .math = math[c->precision],
        .linear_math = c->precision == MFU_FP8 ? MFU_PEAK_FP8 : math[c->precision],
    };
}

/* What forward leaves for backward: born in forward, needed later. */
static double saved_for_backward(const struct mfu_program *p)
{
    double bytes = 2 * mfu_type_bytes[MFU_I64] * p->tokens;    /* indices and targets */
    int end = 0;

    for (int i = 0; i < p->n_segments; i++)
        if (p->segments[i].phase == MFU_FORWARD)
            end = p->segments[i].first + p->segments[i].count;
    for (int i = 0; i < p->n_segments && p->segments[i].phase == MFU_FORWARD; i++) {
        const struct mfu_segment *seg = &p->segments[i];
        double own = 0;

        for (int t = 1; t < p->n_tensors; t++)
            if (p->tensors[t].born >= seg->first && p->tensors[t].born < seg->first + seg->count
                && p->tensors[t].last >= end && p->tensors[t].last != MFU_FOREVER)
                own += p->tensors[t].bytes;
        bytes += seg->repeat * own;
    }
    return bytes;
}

/* The weights one by one, as a framework allocates them. */
static void list_weights(struct mfu_step *s)
{
    struct mfu_program *p = s->program;

    p->n_weights = 0;
    for (int i = 0; i < s->n_parameters; i++)
        if (s->parameters[i].elements > 0 && !s->parameters[i].borrowed
            && ROOM(s, p->weights, p->n_weights, p->cap_weights))
            p->weights[p->n_weights++] = s->parameters[i].elements;
}

int mfu_step_build(const struct mfu_config *c, bool unrolled, struct mfu_program *p, struct mfu_error *err)
{
    struct stretch *stretches;
    struct mfu_step *s = p->workbench;
    int n, status = -1;

    if (!s && !(s = p->workbench = calloc(1, sizeof *s)))
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    s->n_nodes = s->n_parameters = s->n_deferred = 0;
    s->n_kept = 0;
    s->recomputing = s->failed = false;
    s->node = -1;
    s->old_logits = MFU_NO_VIEW;
    s->logits_section = NULL;
    s->logits_width = -1;
    s->program = p;
    s->config = c;
    s->runtime = &mfu_runtimes[c->runtime];
    s->numerics = choose_numerics(c, s->runtime);
    p->n_launches = p->n_tensors = p->n_views = p->n_segments = 0;
    p->accum = c->accum;
    p->tokens = c->tokens;
    mfu_new(s, 0, 0, MFU_F32, MFU_PART_WEIGHTS);        /* tensor 0: the weights */
    if (s->failed)
        goto done;
    p->tensors[0] = (struct mfu_tensor){.born = MFU_NEVER, .last = MFU_FOREVER, .part = MFU_PART_WEIGHTS};

    if (evaluate_operations(s, err) < 0)
        goto done;
    count_parameters(s);
    if ((n = lay_out(s, unrolled, err)) < 0)
        goto done;
    stretches = s->stretches;
    for (int k = 0; k < n; k++) {
        open_segment(s, stretches[k].section->name, MFU_FORWARD, stretches[k].repeat);
        stretches[k].first_kept = s->n_kept;
        s->n_gemms = 0;
        s->selective = c->checkpoint == MFU_SELECTIVE && recomputed(s, &stretches[k]);
        run_forward(s, &stretches[k]);
        if (k == n - 1) {
            hold_locals(s, stretches, n);
            mfu_hold(s, s->old_logits);
        }
        close_segment(s);
    }
    if (s->runtime->scopes && s->numerics.autocast && c->checkpoint == MFU_FULL)
        for (int k = 0; k < n; k++) {   /* autocast's cache ends with forward */
            open_segment(s, stretches[k].section->name, MFU_FORWARD, stretches[k].repeat);
            end_of_scope(s, &stretches[k]);
            close_segment(s);
        }
    for (int k = n - 1; k >= 0; k--)
        trace_backward(s, &stretches[k]);
    list_weights(s);
    if (s->n_deferred)
        trace_deferred(s, stretches, n);
    forget_casts(s);
    if (s->runtime->fuse && mfu_fuse(s) < 0)
        s->failed = true;
    p->saved_bytes = saved_for_backward(p);
    open_segment(s, "", MFU_OPTIMIZER_PHASE, 1);
    mfu_optimizer_emit(s);
    close_segment(s);
    constant_memory(s);
    if (s->runtime->one_arena && !s->failed)
        mfu_arena_layout(s);
    status = 0;
done:
    if (s->failed)
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    return status;
}

void mfu_program_free(struct mfu_program *p)
{
    struct mfu_step *s = p->workbench;

    if (s) {
        free(s->nodes);
        free(s->parameters);
        free(s->stretches);
        free(s->kept);
        free(s->deferred);
        free(s->merged);
    }
    free(s);
    free(p->weights);
    free(p->launches);
    free(p->tensors);
    free(p->views);
    free(p->segments);
    memset(p, 0, sizeof *p);
}
