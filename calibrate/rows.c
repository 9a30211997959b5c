/*
 * rows.c - points of such a table, and the buffers they need.
 */
#include "rows.h"

#include <stdlib.h>

#define MOST_SETS 16

struct rotation {
    const struct mfu_rows_case *c;
    struct mfu_rows set[MOST_SETS];
};

// clang-format off
static const struct mfu_rows_size usual[] = {
    {8192,   768, true},  {32768,  768, false}, {8192,  1600, false},
    {8192,  2048, false}, {8192,  4096, true},  {16384, 4096, false},
    {2048,  8192, false}, {8192,  8192, false}, {2048,  3072, false},
};
// clang-format on

static const struct mfu_rows_size *sizes_of(const struct mfu_rows_table *t, size_t *n)
{
    *n = t->sizes ? t->n_sizes : sizeof usual / sizeof usual[0];
    return t->sizes ? t->sizes : usual;
}

size_t mfu_rows_points(const struct mfu_bench *b, const struct mfu_rows_table *t)
{
    size_t n;
    size_t points = 0;
    const struct mfu_rows_size *size = sizes_of(t, &n);

    for (size_t i = 0; i < n; i++)
        if (size[i].quick || !b->quick)
            points += t->n_cases;
    return points;
}

static int make_targets(struct mfu_bench *b, struct mfu_rows *r)
{
    int *host = malloc((size_t)r->rows * sizeof *host);
    int status = -1;

    if (!host)
        return mfu_bench_fail(b, "out of memory");
    for (int i = 0; i < r->rows; i++)
        host[i] = (int)((long long)i * 7919 % r->columns);
    r->target = mfu_bench_room(b, (double)r->rows * sizeof *host);
    if (r->target)
        status = mfu_bench_upload(b, r->target, host, (size_t)r->rows * sizeof *host);
    free(host);
    return status;
}

/* A zeroed vector of floats. */
static float *vector(struct mfu_bench *b, double n)
{
    float *v = mfu_bench_room(b, n * sizeof *v);

    return v && mfu_bench_zero(b, v, (size_t)n * sizeof *v) == 0 ? v : NULL;
}

int mfu_rows_room(struct mfu_bench *b, struct mfu_rows *r, int rows, int columns, const int size[MFU_ROWS_ARRAYS])
{
    *r = (struct mfu_rows){.rows = rows, .columns = columns};
    for (int i = 0; i < MFU_ROWS_ARRAYS; i++)
        if (size[i] && !(r->array[i] = mfu_bench_room(b, (double)rows * columns * size[i])))
            return -1;
    for (int i = 0; i < MFU_ROWS_VECTORS; i++)
        if (!(r->row[i] = vector(b, rows)) || !(r->column[i] = vector(b, columns)))
            return -1;
    r->partial = vector(b, 2.0 * MFU_ROWS_PARTIALS * columns);
    return r->partial ? make_targets(b, r) : -1;
}

/* Random contents: arrays of 2 bytes are bf16, of 4 fp32. */
static int fill(struct mfu_bench *b, const struct mfu_rows *r, const int size[MFU_ROWS_ARRAYS])
{
    const double n = (double)r->rows * r->columns;

    for (int i = 0; i < MFU_ROWS_ARRAYS; i++)
        if (size[i] && mfu_bench_normal(b, r->array[i], n, size[i] == 4 ? MFU_FP32 : MFU_BF16, 1, (unsigned)i + 1) < 0)
            return -1;
    for (int i = 0; i < MFU_ROWS_VECTORS; i++)
        if (mfu_bench_normal(b, r->column[i], r->columns, MFU_FP32, 1, 20 + (unsigned)i) < 0
            || mfu_bench_normal(b, r->row[i], r->rows, MFU_FP32, 1, 30 + (unsigned)i) < 0)
            return -1;
    return 0;
}

static int launch(struct mfu_bench *b, void *arg, int set)
{
    const struct rotation *r = arg;

    return r->c->launch(b, &r->set[set]);
}

int mfu_rows_run(struct mfu_bench *b, const struct mfu_rows_table *t, size_t point)
{
    size_t n, s = 0;
    const struct mfu_rows_size *size = sizes_of(t, &n);
    const struct mfu_rows_case *c = &t->cases[point % t->n_cases];
    struct rotation r = {.c = c};
    struct mfu_work work = {.launch = launch, .arg = &r};
    struct mfu_timing timing;
    double bytes = 0;
    double elements;

    for (size_t left = point / t->n_cases;; s++)
        if ((size[s].quick || !b->quick) && left-- == 0)
            break;
    elements = (double)size[s].rows * size[s].columns;
    for (int i = 0; i < MFU_ROWS_ARRAYS; i++)
        bytes += elements * c->size[i];
    work.sets = mfu_bench_sets(b, bytes);
    if (work.sets > MOST_SETS)
        work.sets = MOST_SETS;
    for (int i = 0; i < work.sets; i++) {
        if (mfu_rows_room(b, &r.set[i], size[s].rows, size[s].columns, c->size) < 0) {
            if (i == 0)
                return MFU_SKIPPED;
            work.sets = i;
            break;
        }
        if (fill(b, &r.set[i], c->size) < 0)
            return -1;
    }
    if (mfu_bench_measure(b, &work, &timing) < 0)
        return -1;
    return mfu_bench_record(b, &timing,
                            "probe: %s, kind: %s, pass: %s, fused: 1, rows: %d, columns: %d, dtype: bf16, "
                            "read_bytes: %.0f, write_bytes: %.0f, launches: %d",
                            t->probe, c->kind, c->pass, size[s].rows, size[s].columns, elements * c->read,
                            elements * c->written, c->launches);
}
