/*
 * adapter_tape.c - the operations of adapters, recorded: forward appends kernels, backward walks the record.
 */
#include "graph/adapter_tape.h"

#include <math.h>

#include "scenario/setting.h"

enum { MOST = 48 }; /* values, steps */
enum kind { CAST, PRODUCT, TIMES, PLUS, SCALE, MAP, KEEP, DROP, CALL };
enum { NOT_A_WEIGHT = -1, SHARED = 2 };

struct value {
    double rows, columns;
    enum mfu_type type;
    int view;         /* MFU_NO_VIEW: a weight where it lies, or there is no program */
    int parameter;    /* 0, 1, SHARED, or NOT_A_WEIGHT */
    int given;        /* input of the node whose result it is, or -1 */
    int first_reader; /* step, or -1 */
    int gradient;
    bool trains;
};
struct step {
    enum kind kind;
    const char *suffix;
    int in[2], out;
    int saved[2];
    double batch, m, n, k, launches;
    const struct mfu_tape_function *call;
};
struct mfu_tape {
    struct mfu_builder *s; /* NULL: counting */
    struct mfu_node *n;
    const struct mfu_operation *op;
    struct mfu_tape_weights weights;
    bool replays;           /* nothing is emitted */
    int n_saves, last_save; /* so far; after so many recomputation ends (-1: it does not) */
    struct value value[MOST];
    struct step step[MOST];
    int n_values, n_steps;
};

double mfu_tape_in(const struct mfu_tape *t)
{
    return t->op->in_width[MFU_ADAPTER_INPUT];
}

double mfu_tape_width(const struct mfu_tape *t)
{
    return t->op->attribute[MFU_ADAPTER_WIDTH];
}

double mfu_tape_size(const struct mfu_tape *t)
{
    return t->op->attribute[MFU_ADAPTER_SIZE];
}

int mfu_tape_method(const struct mfu_tape *t)
{
    return t->op->attribute[MFU_ADAPTER_MORE];
}

double mfu_tape_setting(const struct mfu_tape *t)
{
    return t->op->attribute[MFU_ADAPTER_INNER];
}

double mfu_tape_block(const struct mfu_tape *t)
{
    double blocks = mfu_tape_setting(t);

    return blocks > 0 ? mfu_tape_in(t) / blocks : mfu_tape_size(t);
}

double mfu_tape_rows(const struct mfu_tape *t)
{
    return t->s ? mfu_view_rows(t->s, mfu_node_input(t->s, t->n, MFU_ADAPTER_INPUT)) : 1;
}

void mfu_tape_divides(struct mfu_tape *t, double a, double b)
{
    t->weights.uneven |= !(b >= 1) || fmod(a, b) != 0;
}

void mfu_tape_holds(struct mfu_tape *t, double all, double some)
{
    t->weights.uneven |= some > all;
}

/* Whether kernels are appended here. */
static bool emits(const struct mfu_tape *t)
{
    return t->s && !t->replays && !(t->last_save >= 0 && t->n_saves >= t->last_save);
}

static int add_value(struct mfu_tape *t, struct value v)
{
    v.first_reader = -1;
    v.gradient = MFU_NO_VIEW;
    if (t->n_values == MOST) {
        if (t->s)
            t->s->failed = true;
        return MOST - 1;
    }
    t->value[t->n_values] = v;
    return t->n_values++;
}

static int given(struct mfu_tape *t, int input)
{
    int view = t->s ? mfu_node_input(t->s, t->n, input) : MFU_NO_VIEW;

    return add_value(t,
                     (struct value){.rows = t->s ? mfu_view_rows(t->s, view) : 1,
                                    .columns = t->op->in_width[input],
                                    .type = t->s ? mfu_view_type(t->s, view) : MFU_F32,
                                    .view = view,
                                    .parameter = NOT_A_WEIGHT,
                                    .given = input,
                                    .trains = t->s && mfu_wants_gradient(t->s, t->n, input)});
}

int mfu_tape_input(struct mfu_tape *t)
{
    return given(t, MFU_ADAPTER_INPUT);
}

int mfu_tape_base(struct mfu_tape *t)
{
    return given(t, MFU_ADAPTER_BASE);
}

static int weight(struct mfu_tape *t, int parameter, double rows, double columns, enum mfu_type type, bool trains)
{
    return add_value(t,
                     (struct value){.rows = rows,
                                    .columns = columns,
                                    .type = type,
                                    .view = MFU_NO_VIEW,
                                    .parameter = parameter,
                                    .given = -1,
                                    .trains = trains});
}

int mfu_tape_weight(struct mfu_tape *t, int parameter, double rows, double columns)
{
    t->weights.weight[parameter] += rows * columns;
    return weight(t, parameter, rows, columns, t->s ? mfu_adapter_type(t->s) : MFU_F32, true);
}

int mfu_tape_shared(struct mfu_tape *t, bool trains, double rows, double columns)
{
    *(trains ? &t->weights.shared_trains : &t->weights.shared) += rows * columns;
    return weight(t, SHARED, rows, columns, t->s ? mfu_adapter_type(t->s) : MFU_F32, trains);
}

int mfu_tape_kept(struct mfu_tape *t, double rows, double columns)
{
    t->weights.kept += rows * columns;
    return weight(t, SHARED, rows, columns, t->s ? mfu_adapter_type(t->s) : MFU_F32, false);
}

int mfu_tape_fixed(struct mfu_tape *t, double rows, double columns)
{
    t->weights.fixed += rows * columns;
    return weight(t, SHARED, rows, columns, MFU_F32, false);
}

int mfu_tape_frozen(struct mfu_tape *t)
{
    enum mfu_type type = t->s ? t->s->parameters[t->s->nodes[t->n->in[MFU_ADAPTER_BASE]].parameter[0]].type : MFU_F32;

    return weight(t, SHARED, mfu_tape_width(t), mfu_tape_in(t), type, false);
}

/* ---- forward ---- */

static struct step *add_step(struct mfu_tape *t, enum kind kind, int a, int b, struct value out)
{
    struct step *p;

    if (t->n_steps == MOST) {
        if (t->s)
            t->s->failed = true;
        t->n_steps--;
    }
    p = &t->step[t->n_steps];
    out.parameter = NOT_A_WEIGHT;
    out.given = -1;
    out.view = MFU_NO_VIEW;
    out.trains = t->value[a].trains || (b >= 0 && t->value[b].trains);
    *p = (struct step){.kind = kind, .in = {a, b}, .saved = {MFU_NO_VIEW, MFU_NO_VIEW}, .launches = 1};
    for (int i = 0; i < 2; i++)
        if (p->in[i] >= 0 && t->value[p->in[i]].first_reader < 0)
            t->value[p->in[i]].first_reader = t->n_steps;
    p->out = add_value(t, out);
    t->n_steps++;
    return p;
}

/* What backward reads, if it is wanted. */
static int save(struct mfu_tape *t, bool wanted, int view)
{
    if (!wanted || !t->s)
        return MFU_NO_VIEW;
    if (t->replays)
        return t->last_save < 0 ? t->n->saved[t->n_saves++] : (t->n_saves++, MFU_NO_VIEW);
    t->n_saves++;
    return mfu_node_save(t->n, view);
}

static enum mfu_type wider(enum mfu_type a, enum mfu_type b)
{
    return mfu_type_bytes[a] >= mfu_type_bytes[b] ? a : b;
}

/* The view of a value; tensor 0 has all weights. */
static int lies(struct mfu_tape *t, int a)
{
    const struct value *v = &t->value[a];

    return v->view == MFU_NO_VIEW ? mfu_view_as(t->s, 0, v->rows, v->columns, v->type) : v->view;
}

int mfu_tape_cast(struct mfu_tape *t, int a, enum mfu_type type)
{
    struct value v = t->value[a];
    struct step *p;

    if (v.type == type)
        return a;
    v.type = type;
    p = add_step(t, CAST, a, -1, v);
    if (emits(t))
        t->value[p->out].view = mfu_emit_cast(t->s, lies(t, a), type);
    return p->out;
}

int mfu_tape_as_adapter(struct mfu_tape *t, int a)
{
    return t->s ? mfu_tape_cast(t, a, mfu_adapter_type(t->s)) : a;
}

int mfu_tape_operand(struct mfu_tape *t, int a)
{
    return t->s && t->s->numerics.autocast ? mfu_tape_cast(t, a, t->s->numerics.compute) : a;
}

int mfu_tape_like(struct mfu_tape *t, int a, int b)
{
    return mfu_tape_cast(t, a, t->value[b].type);
}

/* A factor as it is multiplied: in 16 bits under autocast, whose cache has the weights that train. */
static int operand(struct mfu_tape *t, int a)
{
    const struct value *v = &t->value[a];
    enum mfu_type compute = t->s->numerics.compute;

    if (!t->s->numerics.autocast || v->type == compute)
        return v->view;
    if (v->parameter >= 0 && v->parameter < SHARED)
        return mfu_node_weight(t->s, t->n, v->parameter);
    return mfu_emit_cast(t->s, lies(t, a), compute);
}

enum mfu_type mfu_tape_product_type(const struct mfu_tape *t)
{
    if (!t->s)
        return MFU_F32;
    return t->s->numerics.autocast ? t->s->numerics.compute : mfu_adapter_type(t->s);
}

static enum mfu_type product_type(const struct mfu_tape *t, int a, int b)
{
    if (t->s && t->s->numerics.autocast)
        return t->s->numerics.compute;
    return wider(t->value[a].type, t->value[b].type);
}

static enum mfu_peak math_of(const struct mfu_tape *t, enum mfu_type type)
{
    return type == MFU_F32 ? MFU_PEAK_FP32 : t->s->numerics.math;
}

/* [m, k] [k, n]; a view that there is not is of weights. */
static int multiply(struct mfu_tape *t, const char *suffix, enum mfu_type type, double m, double n, double k,
                    double batch, int a, int b)
{
    int out = mfu_tensor_new(t->s, batch * m, n, type, MFU_PART_ACTIVATIONS);

    if (a == MFU_NO_VIEW)
        a = mfu_view_as(t->s, 0, batch * m, k, type);
    return mfu_emit_matmul(t->s, suffix, math_of(t, type), m, n, k, batch, a, b, out);
}

int mfu_tape_product(struct mfu_tape *t, int a, int b, double batch, double m, double n, double k)
{
    enum mfu_type type = product_type(t, a, b);
    struct step *p = add_step(t, PRODUCT, a, b, (struct value){.rows = batch * m, .columns = n, .type = type});
    int x = MFU_NO_VIEW, y = MFU_NO_VIEW;

    p->batch = batch, p->m = m, p->n = n, p->k = k;
    if (emits(t)) {
        x = operand(t, a);
        y = operand(t, b);
    }
    p->saved[0] = save(t, t->value[b].trains, x);
    p->saved[1] = save(t, t->value[a].trains, y);
    if (emits(t))
        t->value[p->out].view = multiply(t, "adapter", type, m, n, k, batch, x, y);
    return p->out;
}

int mfu_tape_linear(struct mfu_tape *t, int a, int w, double width, double depth)
{
    return mfu_tape_product(t, a, w, 1, t->value[a].rows * t->value[a].columns / depth, width, depth);
}

/* A kernel that reads the values that are no weights; another shape of what it makes.  A compiler fuses it with others only
 * if it goes element by element. */
static int pass(struct mfu_tape *t, const char *suffix, double rows, double columns, enum mfu_type type,
                enum mfu_fusion fusion, double launches, int a, int b)
{
    int out = mfu_tensor_new(t->s, rows, columns, type, MFU_PART_ACTIVATIONS);

    MFU_EMIT(t->s, MFU_VIEWS(a, b), MFU_VIEWS(out), .suffix = suffix, .kind = MFU_POINTWISE,
             .traffic = b == MFU_NO_VIEW ? MFU_C_DRAM_IRREGULAR : MFU_C_DRAM_POINTWISE, .fusion = fusion,
             .launches = launches, .flops = rows * columns);
    return out;
}

int mfu_tape_pass(struct mfu_tape *t, const char *suffix, double rows, double columns, double launches, int a, int b)
{
    return pass(t, suffix, rows, columns, MFU_F32, MFU_ALONE, launches, a, b);
}

int mfu_tape_small(struct mfu_tape *t, enum mfu_tape_math math, double batch, double m, double n, double k, int a,
                   int b, int out)
{
    bool complex = math == MFU_TAPE_COMPLEX, halves = math == MFU_TAPE_AUTOCAST && t->s->numerics.autocast;
    enum mfu_type type = halves ? t->s->numerics.compute : MFU_F32;
    double bytes = mfu_type_bytes[type] * (complex ? 2 : 1);
    struct mfu_kernel gemm =
        mfu_kernel_gemm(halves ? t->s->numerics.math : MFU_PEAK_FP32, m, n, k, batch, bytes, bytes, false);

    if (out == MFU_NO_VIEW)
        out = mfu_tensor_new(t->s, batch * m, complex ? 2 * n : n, type, MFU_PART_ACTIVATIONS);
    mfu_gemm_align(t->s, &gemm);
    mfu_emit_kernel(t->s, &gemm, "adapter", 0, 2, (int[]){a, b}, 1, &out);
    return out;
}

struct mfu_builder *mfu_tape_builder(struct mfu_tape *t)
{
    return t->s;
}

static int combine(struct mfu_tape *t, enum kind kind, const char *suffix, int a, int b, bool spreads)
{
    struct value v = t->value[a];
    struct step *p;

    if (spreads)
        v.rows *= t->value[b].rows, v.columns *= t->value[b].columns;
    v.type = wider(v.type, t->value[b].type);
    p = add_step(t, kind, a, b, v);
    if (kind == TIMES) {
        p->saved[0] = save(t, t->value[b].trains, t->value[a].view);
        p->saved[1] = save(t, t->value[a].trains, t->value[b].view);
    }
    if (emits(t))
        t->value[p->out].view =
            pass(t, suffix, v.rows, v.columns, v.type, MFU_MAP, 1, t->value[a].view, t->value[b].view);
    return p->out;
}

int mfu_tape_times(struct mfu_tape *t, int a, int b)
{
    return combine(t, TIMES, "adapter_times", a, b, false);
}

int mfu_tape_kron(struct mfu_tape *t, int a, int b)
{
    return combine(t, TIMES, "adapter_kron", a, b, true);
}

int mfu_tape_plus(struct mfu_tape *t, int a, int b)
{
    return combine(t, PLUS, "adapter_add", a, b, false);
}

int mfu_tape_add_in_place(struct mfu_tape *t, int a, int b)
{
    struct value v = t->value[a];
    struct step *p = add_step(t, PLUS, a, b, v);

    if (emits(t)) {
        t->value[p->out].view = mfu_view_slice(t->s, v.view, v.rows, v.columns);
        MFU_EMIT(t->s, MFU_VIEWS(v.view, t->value[b].view), MFU_VIEWS(t->value[p->out].view), .suffix = "adapter_add",
                 .kind = MFU_POINTWISE, .fusion = MFU_MAP, .flops = v.rows * v.columns);
    }
    return p->out;
}

int mfu_tape_scale(struct mfu_tape *t, int a, bool by_tensor)
{
    struct value v = t->value[a];
    struct step *p;

    if (by_tensor && t->s)
        v.type = wider(v.type, mfu_adapter_type(t->s));
    p = add_step(t, SCALE, a, -1, v);
    p->saved[0] = by_tensor ? save(t, v.trains, MFU_NO_VIEW) : MFU_NO_VIEW;
    if (emits(t))
        t->value[p->out].view = mfu_adapter_pass(t->s, "adapter_scale", v.type, v.view, MFU_NO_VIEW);
    return p->out;
}

int mfu_tape_map(struct mfu_tape *t, const char *suffix, int a, double rows, double columns, double launches,
                 double saves)
{
    struct step *p =
        add_step(t, MAP, a, -1, (struct value){.rows = rows, .columns = columns, .type = t->value[a].type});
    int kept = MFU_NO_VIEW;

    p->suffix = suffix;
    p->launches = launches;
    if (emits(t))
        t->value[p->out].view =
            pass(t, suffix, rows, columns, t->value[a].type, MFU_ALONE, launches, t->value[a].view, MFU_NO_VIEW);
    if (saves > 0 && emits(t))
        kept = mfu_tensor_new(t->s, 1, saves, MFU_F32, MFU_PART_ACTIVATIONS);
    if (kept != MFU_NO_VIEW)
        MFU_EMIT(t->s, MFU_NO_VIEWS, MFU_VIEWS(kept), .suffix = "adapter_index", .kind = MFU_POINTWISE);
    if (saves > 0)
        p->saved[0] = save(t, t->value[a].trains, kept);
    return p->out;
}

int mfu_tape_drop(struct mfu_tape *t, int a)
{
    struct step *p;
    int mask = MFU_NO_VIEW, dropped = MFU_NO_VIEW;

    if (!t->s || t->s->config->setting[MFU_S_LORA_DROPOUT] == 0)
        return a;
    p = add_step(t, DROP, a, -1, t->value[a]);
    if (emits(t))
        dropped = mfu_emit_dropout(t->s, "lora_dropout", t->value[a].view, &mask);
    t->value[p->out].view = dropped;
    p->saved[0] = save(t, t->value[a].trains, mask);
    return p->out;
}

int mfu_tape_fill(struct mfu_tape *t, const char *suffix, double rows, double columns, enum mfu_type type)
{
    int v = weight(t, NOT_A_WEIGHT, rows, columns, type, false), *view = &t->value[v].view;

    if (!emits(t))
        return v;
    *view = mfu_tensor_new(t->s, rows, columns, type, MFU_PART_ACTIVATIONS);
    MFU_EMIT(t->s, MFU_NO_VIEWS, MFU_LIST(1, view), .suffix = suffix, .kind = MFU_POINTWISE);
    return v;
}

int mfu_tape_call(struct mfu_tape *t, const struct mfu_tape_function *f, int a, int b, double rows, double columns)
{
    enum mfu_type type = f->autocast ? mfu_tape_product_type(t) : MFU_F32;
    struct step *p = add_step(t, CALL, a, b, (struct value){.rows = rows, .columns = columns, .type = type});
    bool kept = t->value[p->out].trains;
    int in[] = {t->value[a].view, t->value[b].view}, keeps[] = {MFU_NO_VIEW, MFU_NO_VIEW};

    p->call = f;
    for (int i = 0; i < 2 && f->autocast && emits(t); i++)
        in[i] = i == 1 && a == b ? in[0] : operand(t, p->in[i]);
    if (emits(t))
        t->value[p->out].view = f->forward(t, in, keeps);
    for (int i = 0; i < 2; i++)
        p->saved[i] = save(t, kept, keeps[i]);
    return p->out;
}

int mfu_tape_added(struct mfu_tape *t, int base, int y)
{
    return mfu_tape_like(t, mfu_tape_plus(t, base, y), base);
}

int mfu_tape_beside(struct mfu_tape *t, int w)
{
    int base = mfu_tape_base(t), x = mfu_tape_like(t, mfu_tape_input(t), w), y;

    y = mfu_tape_linear(t, x, w, mfu_tape_width(t), mfu_tape_in(t));
    mfu_tape_hold(t, w);
    y = mfu_tape_added(t, base, y);
    mfu_tape_hold(t, x);
    return y;
}

int mfu_tape_keep(struct mfu_tape *t, int a)
{
    struct step *p = add_step(t, KEEP, a, -1, t->value[a]);

    t->value[p->out].view = t->value[a].view;
    p->saved[0] = save(t, t->value[a].trains, t->value[a].view);
    return p->out;
}

void mfu_tape_hold(struct mfu_tape *t, int a)
{
    if (emits(t) && t->value[a].view != MFU_NO_VIEW)
        mfu_tensor_extend(t->s, t->value[a].view);
}

/* ---- backward ---- */

static double elements(const struct value *v)
{
    return v->rows * v->columns;
}

/* Adds to the gradient of a value, in its type. */
static void give(struct mfu_tape *t, int which, int view)
{
    struct value *v = &t->value[which];

    if (!v->trains || view == MFU_NO_VIEW)
        return;
    if (v->given >= 0) {
        mfu_grad_add(t->s, t->n, v->given, view);
        return;
    }
    if (mfu_view_elements(t->s, view) > elements(v)) /* it was spread */
        view = mfu_emit_columns_sum(t->s, "adapter_sum", view, elements(v), v->type);
    v->gradient = mfu_grad_sum(t->s, v->gradient, mfu_emit_cast(t->s, view, v->type));
}

static void product_gradients(struct mfu_tape *t, const struct step *p, int g)
{
    const struct value *a = &t->value[p->in[0]], *b = &t->value[p->in[1]];
    enum mfu_type type = product_type(t, p->in[0], p->in[1]);
    int da = MFU_NO_VIEW, db = MFU_NO_VIEW;

    g = mfu_emit_cast(t->s, g, type);
    if (b->trains) {
        int x = p->saved[0] == MFU_NO_VIEW ? mfu_view_as(t->s, 0, p->batch * p->m, p->k, type) : p->saved[0];

        db = mfu_tensor_new(t->s, p->batch * p->k, p->n, type, MFU_PART_ACTIVATIONS);
        mfu_emit_weight_gradient(t->s, "adapter_wgrad", math_of(t, type), p->k, p->n, p->m, p->batch, x, g, db);
    }
    if (a->trains) {
        da = multiply(t, "adapter_dgrad", type, p->m, p->k, p->n, p->batch, g, p->saved[1]);
        if (b->trains)
            mfu_tensor_extend(t->s, db);
    }
    give(t, p->in[1], db == MFU_NO_VIEW ? db : mfu_view_slice(t->s, db, b->rows, b->columns));
    give(t, p->in[0], da == MFU_NO_VIEW ? da : mfu_view_slice(t->s, da, a->rows, a->columns));
}

static void times_gradients(struct mfu_tape *t, const struct step *p, int g)
{
    const struct value *out = &t->value[p->out];
    int part[2] = {MFU_NO_VIEW, MFU_NO_VIEW};

    for (int i = 1; i >= 0; i--)
        if (t->value[p->in[i]].trains)
            part[i] = pass(t, "adapter_times_grad", out->rows, out->columns, out->type, MFU_MAP, 1, g, p->saved[1 - i]);
    give(t, p->in[1], part[1]);
    give(t, p->in[0], part[0]);
}

static void walk(struct mfu_tape *t, int i)
{
    struct step *p = &t->step[i];
    const struct value *a = &t->value[p->in[0]];
    int g = t->value[p->out].gradient;

    if (g == MFU_NO_VIEW)
        return;
    switch (p->kind) {
    case PRODUCT: product_gradients(t, p, g); break;
    case TIMES: times_gradients(t, p, g); break;
    case PLUS:
        give(t, p->in[0], g);
        give(t, p->in[1], g);
        break;
    case SCALE:
        give(t, p->in[0], mfu_adapter_pass(t->s, "adapter_scale_grad", t->value[p->out].type, g, MFU_NO_VIEW));
        break;
    case MAP:
        if (a->trains)
            give(t, p->in[0], pass(t, p->suffix, a->rows, a->columns, a->type, MFU_ALONE, p->launches, g, p->saved[0]));
        break;
    case DROP:
        if (a->trains)
            give(t, p->in[0], mfu_emit_pointwise(t->s, "lora_dropout_grad", a->type, 2, g, p->saved[0], MFU_NO_VIEW));
        break;
    case KEEP:
        if (p->saved[0] != MFU_NO_VIEW)
            mfu_tensor_extend(t->s, p->saved[0]);
        give(t, p->in[0], g);
        break;
    case CAST: give(t, p->in[0], g); break;
    case CALL: {
        int d[] = {MFU_NO_VIEW, MFU_NO_VIEW};

        p->call->backward(t, g, p->saved, d);
        give(t, p->in[0], d[0]);
        give(t, p->in[1], d[1]);
        break;
    }
    }
    for (int k = 0; k < 2; k++) {
        struct value *v = p->in[k] >= 0 ? &t->value[p->in[k]] : NULL;

        if (v && v->gradient != MFU_NO_VIEW && v->first_reader == i && v->parameter >= 0 && v->parameter < SHARED) {
            int view = v->gradient;

            v->gradient = MFU_NO_VIEW;
            mfu_param_grad_add(t->s, t->n, v->parameter, view);
        }
    }
}

/* ---- the primitive's ---- */

struct mfu_tape_weights mfu_tape_count(mfu_adapter_method_fn *method, const struct mfu_operation *op)
{
    struct mfu_tape t = {.op = op, .last_save = -1};

    method(&t);
    return t.weights;
}

void mfu_tape_forward(mfu_adapter_method_fn *method, struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_tape t = {.s = s, .n = n, .op = n->op, .last_save = -1};
    int out;

    if (mfu_last_recomputed(s, n)) { /* how often it saves */
        t.replays = true;
        t.last_save = 0;
        method(&t);
        t = (struct mfu_tape){.s = s, .n = n, .op = n->op, .last_save = t.n_saves};
    }
    out = method(&t);
    if (emits(&t))
        n->out = t.value[out].view;
}

void mfu_tape_backward(mfu_adapter_method_fn *method, struct mfu_builder *s, struct mfu_node *n)
{
    struct mfu_tape t = {.s = s, .n = n, .op = n->op, .last_save = -1, .replays = true};
    int out = method(&t);

    t.value[out].gradient = n->gradient;
    for (int i = t.n_steps - 1; i >= 0; i--)
        walk(&t, i);
}

enum mfu_type mfu_tape_type(const struct mfu_tape *t, int a)
{
    return t->value[a].type;
}
