/*
 * matrix_updates.c - optimizers whose update of a matrix is more than a pass over its elements: products, and states of
 * other sizes.  A way is a row: what is kept of an m x n matrix, m <= n, and what is launched for it.
 */
#include "graph/matrix_updates.h"

#include <math.h>
#include <string.h>

#include "graph/builder.h"
#include "graph/builder_private.h"
#include "graph/layers.h"
#include "scenario/setting.h"

struct matrix {
    double m, n, count, rank; /* of a projection */
    double gradient, moment;  /* bytes of an element */
};

/* In 16 bits where the products are, which not every GPU has. */
static enum mfu_peak half_math(const struct mfu_builder *s)
{
    return s->numerics.math == MFU_PEAK_TF32 ? MFU_PEAK_BF16 : s->numerics.math;
}

/* PyTorch multiplies fp32 outside of autocast in fp32, unless it is told otherwise. */
static enum mfu_peak own_math(const struct mfu_builder *s, const struct matrix *a)
{
    return a->gradient == 2 ? half_math(s) : s->numerics.math == MFU_PEAK_TF32 ? MFU_PEAK_TF32 : MFU_PEAK_FP32;
}

static void product(struct mfu_builder *s, const char *name, enum mfu_peak math, double m, double n, double k,
                    double count, double bytes, double temporary_bytes)
{
    struct mfu_kernel g = mfu_kernel_gemm(math, m, n, k, count, bytes, bytes, false);

    g.launches = count;
    mfu_emit_kernel(s, &g, name, temporary_bytes, 0, 0, 0, 0);
    if (!s->failed)
        mfu_latest_launch(s)->updates = true;
}

/* `reads` and `writes` of `elements`, in `launches` for each matrix. */
static void stream(struct mfu_builder *s, const struct matrix *a, const char *name, double elements, double reads,
                   double writes, double launches, double temporary_bytes)
{
    double n = elements * a->count;
    struct mfu_kernel k = mfu_kernel_stream(MFU_OPTIMIZER_STEP, MFU_C_DRAM_OPTIMIZER, 1, n, reads * n,
                                            reads * n * a->gradient, writes * n * a->gradient);

    k.launches = launches * a->count;
    mfu_emit_kernel(s, &k, name, temporary_bytes, 0, 0, 0, 0);
}

/* ---- Muon ---------------------------------------------------------------- */

/* Newton-Schulz steps X <- aX + (bA + cAA) X with A = X X^T: 4 m^2 n + 2 m^3 FLOP each (Jordan 2024; torch/optim/_muon.py). */
#define NEWTON_SCHULZ_STEPS 5

static double orthogonal_states(const struct matrix *a)
{
    return a->moment * a->m * a->n;
}

static void orthogonal(struct mfu_builder *s, const struct matrix *a)
{
    double count = NEWTON_SCHULZ_STEPS * a->count,
           temporary_bytes = a->gradient * a->m * a->n + 4 * (a->m * a->n + a->m * a->m);

    product(s, "newton_schulz_gram", half_math(s), a->m, a->m, a->n, count, 2, temporary_bytes);
    product(s, "newton_schulz_square", half_math(s), a->m, a->m, a->m, count, 2, temporary_bytes);
    product(s, "newton_schulz_apply", half_math(s), a->m, a->n, a->m, count, 2, temporary_bytes);
}

/* ---- GaLore, APOLLO ------------------------------------------------------ */

/* Every 200 steps from the first on the projection is made anew, of GaLore by a singular value decomposition in fp32: that
 * is no part of the step, but its results are the highest level of one.  What is taken of them is a view of all, unless
 * a cast to 16 bits copies it (galore_projector.py: get_orthogonal_matrix()). */
static double low_rank_moments(const struct matrix *a)
{
    return 2 * a->moment * a->rank * a->n;
}

static double projected_states(const struct matrix *a)
{
    return a->gradient * a->m * (a->gradient == 4 ? a->m : a->rank) + low_rank_moments(a);
}

static double scaled_states(const struct matrix *a)
{
    return a->gradient * a->m * a->rank + low_rank_moments(a);
}

/* AdamW in the small space: both moments twice, sqrt, add eps, quotient. */
static void project(struct mfu_builder *s, const struct matrix *a, double temporary_bytes)
{
    double small = a->rank * a->n;

    product(s, "project", own_math(s, a), a->rank, a->n, a->m, a->count, a->gradient, temporary_bytes);
    stream(s, a, "low_rank_moments", small, 12, 7, 7, 3 * a->gradient * small);
}

static void projected(struct mfu_builder *s, const struct matrix *a)
{
    double all = a->m * a->n, cast = a->gradient == 4 ? 0 : 4 * all;

    project(s, a, cast + 4 * (2 * all + a->m * a->m));
    product(s, "project_back", own_math(s, a), a->m, a->n, a->rank, a->count, a->gradient,
            a->gradient * (2 * all + 2 * a->rank * a->n));
}

static void scaled(struct mfu_builder *s, const struct matrix *a)
{
    project(s, a, a->gradient * a->rank * a->n);
}

/* ---- SOAP ---------------------------------------------------------------- */

/* Of a side that is longer nothing is kept (max_precondition_dim).  Every tenth step the bases are made anew, which is
 * no part of the step. */
#define LONGEST_SIDE 10000

static double side(double n)
{
    return n <= LONGEST_SIDE ? n : 0;
}

static double eigenbasis_states(const struct matrix *a)
{
    double m = side(a->m), n = side(a->n);

    return 2 * a->moment * a->m * a->n + 2 * a->gradient * (m * m + n * n);
}

/* The gradient and its mean to the basis, the update back; both products of the gradient with itself to their means. */
static void eigenbasis(struct mfu_builder *s, const struct matrix *a)
{
    double sides[] = {side(a->m), side(a->n)}, all = a->m * a->n;

    for (int i = 0; i < 2; i++) {
        double d = sides[i], other = all / fmax(d, 1);

        if (d == 0)
            continue;
        product(s, "turn", own_math(s, a), d, other, d, 3 * a->count, a->gradient, 6 * a->gradient * all);
        product(s, "outer_product", own_math(s, a), d, d, other, a->count, a->gradient, a->gradient * (all + d * d));
        stream(s, a, "outer_mean", d * d, 2, 1, 1, a->gradient * d * d);
    }
}

/* ---- Shampoo ------------------------------------------------------------- */

/* Matrices are cut into blocks of at most this many rows and columns (max_preconditioner_dim); of each both sums of products
 * and their inverse roots are kept, in fp32.  Roots are made anew every precondition_frequency steps, which is no part of
 * the step. */
#define BLOCK 1024

/* Blocks along a side, and the sum of their squares: the last one has what is left. */
static double blocks(double side)
{
    return ceil(side / BLOCK);
}

static double squares(double side)
{
    double left = side - floor(side / BLOCK) * BLOCK;

    return (side - left) * BLOCK + left * left;
}

static double roots_states(const struct matrix *a)
{
    return 2 * a->moment * a->m * a->n + 2 * 4 * (squares(a->m) * blocks(a->n) + blocks(a->m) * squares(a->n));
}

/* The mean block, and how many there are. */
static struct matrix block_of(const struct matrix *a)
{
    struct matrix b = *a;

    b.m = ceil(a->m / blocks(a->m));
    b.n = ceil(a->n / blocks(a->n));
    b.count = a->count * blocks(a->m) * blocks(a->n);
    return b;
}

static void roots(struct mfu_builder *s, const struct matrix *a)
{
    struct matrix b = block_of(a);
    double all = a->m * a->n, sides[] = {b.m, b.n};

    for (int i = 0; i < 2; i++) {
        double d = sides[i], other = sides[1 - i];

        product(s, "outer_product", own_math(s, a), d, d, other, b.count, a->gradient, a->gradient * (all + d * d));
        stream(s, &b, "outer_sum", d * d, 2, 1, 1, a->gradient * d * d);
        product(s, "turn", own_math(s, a), d, other, d, b.count, a->gradient, 3 * a->gradient * all);
    }
}

/* ---- Kron ---------------------------------------------------------------- */

/* Of a longer side there is a diagonal (max_size_triangular). */
#define LONGEST_TRIANGLE 8192

static double triangle(double d)
{
    return d <= LONGEST_TRIANGLE ? d : 0;
}

static double triangles_states(const struct matrix *a)
{
    double m = triangle(a->m), n = triangle(a->n);

    return a->moment * a->m * a->n + 4 * (m * m + n * n);
}

/* The factors and their transposes, in fp32.  They learn in ever fewer steps (of 33 one, at last), which is no part of the
 * step, but has its highest level: noise, both turned, and two terms of each factor. */
static void triangles(struct mfu_builder *s, const struct matrix *a)
{
    double sides[] = {triangle(a->m), triangle(a->n)}, all = a->m * a->n,
           level = 4 * (5 * all + 2 * (sides[0] * sides[0] + sides[1] * sides[1]));
    struct matrix wide = *a;

    wide.gradient = 4;
    for (int i = 0; i < 2; i++)
        if (sides[i] > 0)
            product(s, "turn", own_math(s, &wide), sides[i], all / sides[i], sides[i], 2 * a->count, 4, level);
}

/* ---- Dion ---------------------------------------------------------------- */

/* P = M Q is made orthogonal by a sketch of 1.25 as many rows, its QR, a Cholesky factor and two triangular systems, in fp32;
 * then R = M' P, M loses its part of P R', and the weights get P Q' with R's columns at length 1. */
#define OVERSAMPLE 1.25

static double power_states(const struct matrix *a)
{
    return a->moment * (a->m * a->n + a->m * a->rank);
}

static void power(struct mfu_builder *s, const struct matrix *a)
{
    double m = a->m, n = a->n, r = a->rank, level = 4 * (2 * n * r + m * r + 2 * r * r);
    struct matrix wide = *a;
    enum mfu_peak fp32;

    wide.gradient = 4;
    fp32 = own_math(s, &wide);
    product(s, "power_left", own_math(s, a), n, r, m, a->count, a->gradient, level);
    product(s, "sketch", own_math(s, a), OVERSAMPLE * r, r, n, a->count, a->gradient, level);
    product(s, "qr", fp32, OVERSAMPLE * r, r, r, a->count, 4, level);
    product(s, "solve", fp32, n, r, r, a->count, 4, level); /* two triangles */
    product(s, "gram", fp32, r, r, n, a->count, 4, level);
    product(s, "power_right", own_math(s, a), m, r, n, a->count, a->gradient, level);
    product(s, "error_feedback", own_math(s, a), m, n, r, a->count, a->gradient, level + a->gradient * m * n);
    product(s, "update", own_math(s, a), m, n, r, a->count, a->gradient, level + a->gradient * m * n);
}

static const struct way {
    double (*states)(const struct matrix *); /* bytes */
    void (*emit)(struct mfu_builder *, const struct matrix *);
} ways[] = {
    [MFU_ORTHOGONAL] = {orthogonal_states, orthogonal},
    [MFU_PROJECTED] = {projected_states, projected},
    [MFU_SCALED] = {scaled_states, scaled},
    [MFU_EIGENBASIS] = {eigenbasis_states, eigenbasis},
    [MFU_ROOTS] = {roots_states, roots},
    [MFU_TRIANGLES] = {triangles_states, triangles},
    [MFU_POWER] = {power_states, power},
};

/* ---- which matrices ------------------------------------------------------ */

/* Whether a layer's launch is the gradient of a matrix that layers have; of those that share it, the first has it.
 * Experts are one product in a batch. */
static bool is_of_layers(const struct mfu_builder *s, int k, const struct mfu_launch *l)
{
    const struct mfu_model_section *section = s->layers[k].section;
    bool lent = section->shares && k > 0 && s->layers[k - 1].section == section;

    return l->phase == MFU_BACKWARD && mfu_kind_is_gemm(l->work->kernel.kind) && strstr(l->suffix, "wgrad")
        && section->repeat && !lent;
}

/* The same of a program's launches: of operations that share a matrix the first has it, whose gradient is the last. */
static bool is_counted(const struct mfu_builder *s, int k, const struct mfu_launch *l)
{
    const struct mfu_model_section *section = s->layers[k].section;

    if (!is_of_layers(s, k, l))
        return false;
    for (int i = section->first; i < section->first + section->count; i++)
        if (strcmp(s->config->model->ops[i].name, l->op) == 0 && mfu_shares_weight(s, i))
            return false;
    return true;
}

double mfu_element_state_bytes(const struct mfu_builder *s, enum mfu_optimizer_kind kind)
{
    const struct mfu_optimizer_row *r = &mfu_optimizers[kind];

    return r->state_bytes > 0 ? r->state_bytes : mfu_trained_bytes(s, s->numerics.moment);
}

static struct matrix matrix_of(const struct mfu_builder *s, double rows, double columns, double count)
{
    const struct mfu_config *c = s->config;
    double rank = c->setting[MFU_S_OPTIMIZER_RANK], m = fmin(rows, columns);

    return (struct matrix){m,
                           fmax(rows, columns),
                           count,
                           fmin(rank > 0 ? rank : mfu_optimizers[c->optimizer].rank, m),
                           mfu_trained_bytes(s, s->numerics.gradient),
                           mfu_element_state_bytes(s, c->optimizer)};
}

static const struct way *way_of(const struct mfu_builder *s)
{
    return &ways[mfu_optimizers[s->config->optimizer].matrices];
}

double mfu_matrix_params(const struct mfu_builder *s, double *state_bytes)
{
    const struct mfu_program *p = s->program;
    double params = 0;

    *state_bytes = 0;
    for (int i = 0; i < p->n_segments; i++)
        for (int k = p->segments[i].first; k < p->segments[i].first + p->segments[i].count; k++) {
            const struct mfu_kernel *g = &p->launches[k].work->kernel;
            double copies = (1 + s->layers[p->segments[i].of].copies) * p->segments[i].repeat * g->batch;
            struct matrix a = matrix_of(s, g->m, g->n, 1);

            if (!is_counted(s, p->segments[i].of, &p->launches[k]))
                continue;
            params += copies * g->m * g->n;
            *state_bytes += copies * way_of(s)->states(&a);
        }
    return params;
}

/* The matrices of a layer stand in a segment that is repeated as the layer is: thread blocks of different layers never
 * run together. */
void mfu_matrices_emit(struct mfu_builder *s)
{
    const struct mfu_program *p = s->program;
    int n_segments = p->n_segments, layer = s->layer;

    mfu_segment_close(s);
    for (int i = 0; i < n_segments && !s->failed; i++) {
        const struct mfu_segment seg = p->segments[i];

        if (seg.phase != MFU_BACKWARD || seg.repeat < 1)
            continue;
        s->layer = seg.of; /* it is copied as that is */
        mfu_segment_open(s, "", MFU_OPTIMIZER_PHASE, seg.repeat);
        for (int k = seg.first; k < seg.first + seg.count && !s->failed; k++) {
            const struct mfu_kernel g = p->launches[k].work->kernel;
            struct matrix a = matrix_of(s, g.m, g.n, g.batch);

            if (is_counted(s, seg.of, &p->launches[k]))
                way_of(s)->emit(s, &a);
        }
        mfu_segment_close(s);
    }
    s->layer = layer;
    mfu_segment_open(s, "", MFU_OPTIMIZER_PHASE, 1);
}

bool mfu_matrix_emit_one(struct mfu_builder *s, int view)
{
    const struct mfu_program *p = s->program;
    const struct mfu_launch *latest = &p->launches[mfu_tensor_of(s, view)->born];
    double elements = mfu_view_elements(s, view);

    /* Its product, or a cast or sums behind it. */
    for (const struct mfu_launch *l = latest; l >= p->launches && l->op == latest->op; l--) {
        const struct mfu_kernel g = l->work->kernel;
        struct matrix a;

        if (!is_of_layers(s, s->layer, l) || g.m * g.n * g.batch > elements)
            continue;
        a = matrix_of(s, g.m, g.n, g.batch);
        way_of(s)->emit(s, &a);
        return true;
    }
    return false;
}
