/*
 * align_kernels.c - two sequences of kernels, the longest common one by scores.
 */
#include "answer/validate/align_kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/csv.h"
#include "base/error.h"
#include "base/list.h"
#include "plan/plan.h"
#include "read/runs/measured_run.h"

/* The rest is chosen. */
#define MOST_CELLS 4e8 /* of one comparison: a byte each */
#define SAME_SIZE 0.01
#define OTHERWISE 1.25 /* times as long, or as short */

/* ---- pairs ----------------------------------------------------------------- */

static bool same_size(const struct mfu_align_item *a, const struct mfu_align_item *b)
{
    for (int i = 0; i < 4; i++)
        if (!(fabs(a->size[i] - b->size[i]) <= SAME_SIZE * a->size[i]))
            return false;
    return true;
}

/* "aten::_log_softmax_backward_data" has "log_softmax", and so "log_softmax_grad". */
static bool has_name(const char *theirs, const char *ours)
{
    const char *gradient = strstr(ours, "_grad");
    size_t n = gradient ? (size_t)(gradient - ours) : strlen(ours);

    for (; n > 0 && *theirs; theirs++)
        if (strncmp(theirs, ours, n) == 0)
            return true;
    return false;
}

/* How well they go together; 0: not at all.  Kernels that stream go by many names, so
 * that those of one size may be each other; one name decides between several. */
static float score(const struct mfu_align_item *a, const struct mfu_align_item *b)
{
    bool same = a->kind == b->kind, sized = same_size(a, b);
    bool streams = !mfu_kind_is_product((enum mfu_kind)a->kind);
    float named = has_name(b->name, a->name) ? 0.5F : 0;

    if (b->phase >= 0 && a->phase != b->phase)
        return 0;
    if (!same)
        return streams && sized && !mfu_kind_is_product((enum mfu_kind)b->kind) ? 1 + named : 0;
    return named + (sized ? 4 : streams ? 0.5F : 1);
}

int mfu_align_items(const struct mfu_align_item *a, size_t n_a, const struct mfu_align_item *b, size_t n_b,
                    int *partner)
{
    enum { PAIR, SKIP_A, SKIP_B };
    size_t wide = n_b + 1;
    unsigned char *way = (double)(n_a + 1) * (double)wide < MOST_CELLS ? malloc((n_a + 1) * wide) : NULL;
    float *last = calloc(wide, sizeof *last), *now = calloc(wide, sizeof *now);
    int status = way && last && now ? 0 : -1;

    for (size_t i = 1; status == 0 && i <= n_a; i++) {
        float *swap = last;

        for (size_t k = 1; k <= n_b; k++) {
            float s = score(&a[i - 1], &b[k - 1]), pair = s > 0 ? last[k - 1] + s : -1;

            now[k] = fmaxf(pair, fmaxf(last[k], now[k - 1]));
            way[i * wide + k] = now[k] == pair ? PAIR : now[k] == last[k] ? SKIP_A : SKIP_B;
        }
        last = now;
        now = swap;
    }
    for (size_t i = 0; i < n_a; i++)
        partner[i] = -1;
    for (size_t i = n_a, k = n_b; status == 0 && i > 0 && k > 0;) {
        unsigned char w = way[i * wide + k];

        if (w == PAIR)
            partner[i - 1] = (int)k - 1;
        i -= w != SKIP_B;
        k -= w != SKIP_A;
    }
    free(way);
    free(last);
    free(now);
    return status;
}

/* ---- items ----------------------------------------------------------------- */

struct items {
    struct mfu_align_item *list;
    size_t n, cap;
};

/* The rows of one run while they grow. */
struct rows {
    struct mfu_aligned *list;
    size_t n, cap;
};

static int row_of(struct rows *rows, const char *run, const char *name, const char *phase, enum mfu_kind kind)
{
    for (size_t i = 0; i < rows->n; i++)
        if (strcmp(rows->list[i].phase, phase) == 0 && rows->list[i].kind == mfu_kind_names[kind]
            && strcmp(rows->list[i].name, name) == 0)
            return (int)i;
    if (!MFU_ROOM(rows->list, rows->n + 1, rows->cap))
        return -1;
    rows->list[rows->n] = (struct mfu_aligned){.phase = phase, .kind = mfu_kind_names[kind]};
    snprintf(rows->list[rows->n].run, sizeof rows->list->run, "%s", run);
    snprintf(rows->list[rows->n].name, sizeof rows->list->name, "%s", name);
    return (int)rows->n++;
}

static int add_item(struct items *items, struct mfu_align_item item)
{
    if (item.row < 0 || !MFU_ROOM(items->list, items->n + 1, items->cap))
        return -1;
    items->list[items->n++] = item;
    return 0;
}

static void sort_3(double *x)
{
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2 - i; k++)
            if (x[k] > x[k + 1]) {
                double swap = x[k];

                x[k] = x[k + 1];
                x[k + 1] = swap;
            }
}

/* Of m, n, k and batch of a kernel. */
static void set_size(struct mfu_align_item *item, enum mfu_kind kind, const double size[4])
{
    item->size[0] = size[0] * size[1];
    if (mfu_kind_is_gemm(kind)) {
        memcpy(item->size, size, sizeof item->size);
        sort_3(item->size);
    }
}

/* The launches of one step, one by one. */
static int our_items(const struct mfu_plan *p, const char *run, struct rows *rows, struct items *items)
{
    for (int s = 0; s < p->program.n_segments; s++) {
        const struct mfu_segment *seg = &p->program.segments[s];
        double times = round(mfu_plan_times(p, seg));

        for (double t = 0; t < times; t++)
            for (int i = seg->first; i < seg->first + seg->count; i++) {
                const struct mfu_launch *l = &p->program.launches[i];
                const struct mfu_kernel *k = &l->work->kernel;
                enum mfu_phase phase =
                    l->communicates ? MFU_COMMUNICATION : l->phase; /* as a recording says: by time */
                char name[sizeof rows->list->name];
                const char *dot = strrchr(l->op, '.');
                struct mfu_align_item item = {.kind = (int)k->kind,
                                              .name = l->suffix[0] ? l->suffix
                                                  : dot            ? dot + 1
                                                                   : l->op,
                                              .phase = (int)phase,
                                              .count = k->launches,
                                              .time = p->pricing.prices[i].time_s};

                if (!(k->launches > 0))
                    continue;
                if (phase == MFU_OPTIMIZER_PHASE) /* on both sides: it goes by many kernels */
                    item.kind = MFU_OPTIMIZER_STEP;
                set_size(&item, k->kind, (double[]){k->m, k->n, k->k, k->batch});
                mfu_launch_name(l, name, sizeof name);
                item.row = row_of(rows, run, name + (name[0] == '.'), mfu_phase_names[phase], k->kind);
                if (add_item(items, item) < 0)
                    return -1;
            }
    }
    return 0;
}

/* What PyTorch's operations and Inductor's kernels are, by the first word that their
 * name has; what has none is pointwise. */
static const struct {
    const char *word;
    enum mfu_kind kind;
    bool copies; /* a cast where the type changes */
} words[] = {
    {"attention", MFU_FUSED_ATTENTION, false},
    {"layer_norm", MFU_NORM, false},
    {"rms_norm", MFU_NORM, false},
    {"log_softmax", MFU_LOSS, false},
    {"softmax", MFU_REDUCTION, false},
    {"nll_loss", MFU_LOSS, false},
    {"cross_entropy", MFU_LOSS, false},
    {"embedding", MFU_EMBEDDING, false},
    {"index_select", MFU_EMBEDDING, false},
    {"adam", MFU_OPTIMIZER_STEP, false},
    {"sgd", MFU_OPTIMIZER_STEP, false},
    {"_foreach_", MFU_OPTIMIZER_STEP, false},
    {"nccl", MFU_COLLECTIVE, false},
    {"convolution", MFU_GEMM, false},
    {"mm", MFU_GEMM, false},
    {"_copy", MFU_COPY, true},
    {"copy_", MFU_COPY, true},
    {"aten::cat", MFU_COPY, true},
    {"aten::sum", MFU_REDUCTION, false},
    {"vector_norm", MFU_REDUCTION, false},
};

/* "float;c10::BFloat16": the result and its source have two types. */
static bool changes_type(const char *dtypes)
{
    size_t n = strcspn(dtypes, ";");

    return dtypes[n] && (strncmp(dtypes, dtypes + n + 1, n) != 0 || dtypes[n + 1 + n] != '\0');
}

/* Of Inductor and NCCL the kernel's name says more than the call's. */
static enum mfu_kind kind_of(const char *op, const char *kernel, const char *dtypes)
{
    bool says_more = strncmp(kernel, "triton", 6) == 0 || strncmp(kernel, "nccl", 4) == 0;
    const char *name = says_more || !op[0] ? kernel : op;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(name, words[i].word))
            return words[i].copies && changes_type(dtypes) ? MFU_CAST : words[i].kind;
    return MFU_POINTWISE;
}

/* The shapes of inputs, "8x64;64x64": of a product, those of its last two; else the
 * elements of the largest. */
static void read_size(struct mfu_align_item *item, const char *shapes)
{
    double a[3] = {1, 1, 1}, b[3] = {1, 1, 1};

    for (const char *at = shapes; *at;) {
        double x[3] = {1, 1, 1}, elements = 1, d;
        int n = 0;
        char *end;

        for (; (d = strtod(at, &end)), end != at; at = end + (*end == 'x'), n++) {
            x[0] = n > 1 ? x[0] * x[1] : x[0];
            x[1] = x[2];
            x[2] = d;
            elements *= d;
        }
        if (n > 1) {
            memcpy(a, b, sizeof a);
            memcpy(b, x, sizeof b);
        }
        if (!mfu_kind_is_product((enum mfu_kind)item->kind))
            item->size[0] = fmax(item->size[0], elements);
        at += strcspn(at, ";");
        at += *at == ';';
    }
    if (mfu_kind_is_gemm((enum mfu_kind)item->kind)) {
        memcpy(item->size, (double[]){a[1], a[2], b[2], b[0]}, sizeof item->size);
        sort_3(item->size);
    }
}

/* The calls of operations; kernels of one call are one item. */
static int their_items(const struct mfu_seen_kernel *seen, size_t n, const char *run, struct rows *rows,
                       struct items *items)
{
    double last = -1;

    for (size_t i = 0; i < n; i++) {
        const struct mfu_seen_kernel *s = &seen[i];
        struct mfu_align_item item = {
            .phase = s->phase, .count = 1, .name = s->op[0] ? s->op : s->kernel, .time = s->time_s};

        if (items->n > 0 && s->call >= 0 && s->call == last) {
            items->list[items->n - 1].time += item.time;
            items->list[items->n - 1].count++;
            continue;
        }
        last = s->call;
        item.kind = item.phase == MFU_OPTIMIZER_PHASE ? (int)MFU_OPTIMIZER_STEP
            : s->kind >= 0                            ? s->kind
                                                      : (int)kind_of(s->op, s->kernel, s->dtypes);
        if (s->kind >= 0) {
            set_size(&item, (enum mfu_kind)s->kind, s->size);
            item.count = s->count;
        } else
            read_size(&item, s->shapes);
        item.row =
            row_of(rows, run, item.name, item.phase < 0 ? "" : mfu_phase_names[item.phase], (enum mfu_kind)item.kind);
        if (add_item(items, item) < 0)
            return -1;
    }
    return 0;
}

/* The kernels of a table; how many in `n`.  NULL: out of memory. */
static struct mfu_seen_kernel *of_table(const struct mfu_csv *csv, size_t *n)
{
    struct mfu_seen_kernel *list = calloc(csv->n_rows + 1, sizeof *list);

    *n = 0;
    for (size_t i = 0; list && i < csv->n_rows; i++) {
        const char *call = mfu_csv_get(csv, i, "op_seq"), *phase = mfu_csv_get(csv, i, "phase");
        struct mfu_seen_kernel *s = &list[*n];

        *s = (struct mfu_seen_kernel){.op = mfu_csv_get(csv, i, "op"),
                                      .shapes = mfu_csv_get(csv, i, "shapes"),
                                      .dtypes = mfu_csv_get(csv, i, "dtypes"),
                                      .kernel = mfu_csv_get(csv, i, "kernel"),
                                      .kind = -1,
                                      .call = call[0] ? atof(call) : -1,
                                      .phase = -1,
                                      .time_s = 1e-6 * atof(mfu_csv_get(csv, i, "us"))};
        for (int p = 0; p < MFU_PHASE_COUNT; p++)
            if (strcmp(phase, mfu_phase_names[p]) == 0)
                s->phase = p;
        *n += isfinite(s->time_s) && s->time_s >= 0;
    }
    return list;
}

/* ---- one run ---------------------------------------------------------------- */

static const char *status_of(const struct mfu_aligned *row)
{
    double ratio = row->measured_s / row->predicted_s;

    return row->count == 0         ? "extra"
        : row->measured_count == 0 ? "missing"
        : ratio > OTHERWISE        ? "slow"
        : ratio < 1 / OTHERWISE    ? "fast"
                                   : "as predicted";
}

static int by_difference(const void *a, const void *b)
{
    const struct mfu_aligned *x = a, *y = b;
    double dx = fabs(x->predicted_s - x->measured_s), dy = fabs(y->predicted_s - y->measured_s);

    return (dx < dy) - (dx > dy);
}

static void add_to(struct mfu_aligned *row, const struct mfu_aligned *from)
{
    row->count += from->count;
    row->measured_count += from->measured_count;
    row->predicted_s += from->predicted_s;
    row->measured_s += from->measured_s;
    row->share += from->share;
    row->recoverable_s += from->recoverable_s;
}

/* Appends `rows` to the answer, and what they come to by kind. */
static int keep(struct mfu_alignment *to, const struct rows *rows, struct mfu_aligned_run *run)
{
    struct rows kinds = {0};
    size_t cap = to->n_kernels, cap_kinds = to->n_kinds;
    int status = 0;

    for (size_t i = 0; i < rows->n; i++)
        run->measured_s += rows->list[i].measured_s;
    for (size_t i = 0; i < rows->n; i++) {
        struct mfu_aligned *row = &rows->list[i];
        int k = 0;

        run->predicted_s += row->predicted_s;
        row->status = status_of(row);
        if (row->count == 0 || row->measured_s > OTHERWISE * row->predicted_s)
            row->recoverable_s = fmax(0, row->measured_s - row->predicted_s);
        row->share = run->measured_s > 0 ? row->measured_s / run->measured_s : 0;
        run->matched += row->count > 0 ? row->share : 0;
        while (k < MFU_KIND_COUNT && row->kind != mfu_kind_names[k])
            k++;
        if ((k = row_of(&kinds, row->run, row->kind, "", (enum mfu_kind)k)) < 0) {
            status = -1;
            break;
        }
        add_to(&kinds.list[k], row);
        kinds.list[k].status = "";
    }
    if (status == 0 && rows->n > 0) {
        qsort(rows->list, rows->n, sizeof *rows->list, by_difference);
        qsort(kinds.list, kinds.n, sizeof *kinds.list, by_difference);
        if (MFU_ROOM(to->kernels, to->n_kernels + rows->n, cap)
            && MFU_ROOM(to->kinds, to->n_kinds + kinds.n, cap_kinds)) {
            memcpy(to->kernels + to->n_kernels, rows->list, rows->n * sizeof *rows->list);
            memcpy(to->kinds + to->n_kinds, kinds.list, kinds.n * sizeof *kinds.list);
            to->n_kernels += rows->n;
            to->n_kinds += kinds.n;
        } else
            status = -1;
    }
    free(kinds.list);
    return status;
}

/* Pairs the two lists, sums up their rows, and drops rows of theirs that were all paired. */
static int pair(struct items *ours, struct items *theirs, struct rows *rows, struct mfu_aligned_run *run)
{
    int *partner = malloc((ours->n + 1) * sizeof *partner);
    size_t kept = 0;

    if (!partner || mfu_align_items(ours->list, ours->n, theirs->list, theirs->n, partner) < 0) {
        free(partner);
        return -1;
    }
    for (size_t i = 0; i < ours->n; i++) {
        const struct mfu_align_item *a = &ours->list[i];
        struct mfu_aligned *row = &rows->list[a->row];

        /* NOLINTBEGIN(clang-analyzer-core.NullDereference): every item has a row, every partner is an item */
        row->count += a->count;
        row->predicted_s += a->time;
        if (partner[i] >= 0) {
            struct mfu_align_item *b = &theirs->list[partner[i]];

            b->row = a->row;
            if (mfu_kind_is_gemm((enum mfu_kind)b->kind) && b->size[0] > 0) {
                run->products_s += b->time;
                run->other_shape_s += same_size(a, b) ? 0 : b->time;
            }
        }
        /* NOLINTEND(clang-analyzer-core.NullDereference) */
    }
    for (size_t i = 0; i < theirs->n; i++) {
        rows->list[theirs->list[i].row].measured_count += theirs->list[i].count;
        rows->list[theirs->list[i].row].measured_s += theirs->list[i].time;
    }
    for (size_t i = 0; i < rows->n; i++)
        if (rows->list[i].count > 0 || rows->list[i].measured_count > 0)
            rows->list[kept++] = rows->list[i];
    rows->n = kept;
    free(partner);
    return 0;
}

/* Appends one run. */
static int align(struct mfu_alignment *to, const struct mfu_plan *plan, struct mfu_aligned_run *run,
                 const struct mfu_seen_kernel *seen, size_t n, struct mfu_error *err)
{
    struct rows rows = {0};
    struct items ours = {0}, theirs = {0};
    int status = 0;

    run->predicted_step_s = plan->step.time_s;
    if (our_items(plan, run->run, &rows, &ours) < 0 || their_items(seen, n, run->run, &rows, &theirs) < 0
        || pair(&ours, &theirs, &rows, run) < 0 || keep(to, &rows, run) < 0)
        status = mfu_fail(err, MFU_ENOMEM, "%.64s: out of memory, or too many kernels", run->run);
    free(rows.list);
    free(ours.list);
    free(theirs.list);
    return status;
}

/* -1 with `err` when out of memory; what cannot be compared says why in the run. */
static int compare(struct mfu_alignment *to, struct mfu_catalog *catalog, const struct mfu_csv *table, size_t i,
                   const char *folder, struct mfu_error *err)
{
    struct mfu_aligned_run *run = &to->runs[to->n_runs++];
    struct mfu_measured_run measured;
    struct mfu_seen_kernel *seen = NULL;
    struct mfu_plan plan = {0};
    struct mfu_arena arena = {0};
    struct mfu_error problem = {0};
    struct mfu_csv csv;
    char path[4096];
    size_t n;
    int status = 0;

    snprintf(run->run, sizeof run->run, "%s", mfu_csv_get(table, i, "id"));
    run->predicted_step_s = run->measured_step_s = NAN;
    mfu_measured_run(catalog, table, i, &measured);
    snprintf(path, sizeof path, "%.3900s/kernels/%s.csv", folder, run->run);
    if (measured.skipped[0])
        snprintf(run->skipped, sizeof run->skipped, "%s", measured.skipped);
    else if (strchr(run->run, '/') || mfu_csv_read(path, &arena, &csv, &problem) < 0
             || mfu_plan_make(&plan, &measured.scenario, &problem) < 0)
        snprintf(run->skipped, sizeof run->skipped, "%.190s", problem.text);
    else if (plan.config.accum > 1 || plan.config.ranks > 1)
        snprintf(run->skipped, sizeof run->skipped, "kernels are compared of one micro-step on one GPU");
    else if (!(seen = of_table(&csv, &n)))
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    else {
        run->measured_step_s = measured.step_s;
        status = align(to, &plan, run, seen, n, err);
    }
    free(seen);
    mfu_plan_release(&plan);
    mfu_arena_free(&arena);
    return status;
}

struct mfu_alignment *mfu_align_seen(const struct mfu_plan *plan, const char *run, const struct mfu_seen_kernel *seen,
                                     size_t n, struct mfu_error *err)
{
    struct mfu_alignment *a = calloc(1, sizeof *a);

    if (!a || !(a->runs = calloc(1, sizeof *a->runs))) {
        mfu_fail(err, MFU_ENOMEM, "out of memory");
        mfu_alignment_free(a);
        return NULL;
    }
    a->n_runs = 1;
    a->runs[0].measured_step_s = NAN;
    snprintf(a->runs[0].run, sizeof a->runs[0].run, "%s", run);
    if (align(a, plan, &a->runs[0], seen, n, err) == 0)
        return a;
    mfu_alignment_free(a);
    return NULL;
}

struct mfu_alignment *mfu_align_kernels(struct mfu_catalog *catalog, const char *folder, struct mfu_error *err)
{
    struct mfu_alignment *a = calloc(1, sizeof *a);
    struct mfu_arena arena = {0};
    struct mfu_csv table;
    char path[4096];
    int status = a ? 0 : mfu_fail(err, MFU_ENOMEM, "out of memory");

    snprintf(path, sizeof path, "%.4000s/runs.csv", folder);
    if (status == 0)
        status = mfu_csv_read(path, &arena, &table, err) < 0 ? -1 : mfu_measured_columns(&table, path, err);
    if (status == 0 && !(a->runs = calloc(table.n_rows + 1, sizeof *a->runs)))
        status = mfu_fail(err, MFU_ENOMEM, "out of memory");
    for (size_t i = 0; status == 0 && i < table.n_rows; i++)
        status = compare(a, catalog, &table, i, folder, err);
    mfu_arena_free(&arena);
    if (status == 0)
        return a;
    mfu_alignment_free(a);
    return NULL;
}

void mfu_alignment_free(struct mfu_alignment *a)
{
    if (!a)
        return;
    free(a->kernels);
    free(a->kinds);
    free(a->runs);
    free(a);
}
