/*
 * rows.h - probes of kernels that work on a matrix of rows, memory-bound.
 *
 * Such a probe is a table of cases: what is launched, which arrays it needs,
 * and how many bytes it reads and writes for each element.  Points are all
 * cases at all sizes.  These are fused kernels, as C programs have them;
 * PyTorch's own are timed by torch_kernels.py.
 */
#ifndef MFU_ROWS_H
#define MFU_ROWS_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MFU_ROWS_ARRAYS = 8, MFU_ROWS_VECTORS = 4 };

/* The buffers of one launch. */
struct mfu_rows {
    int rows, columns;
    void *array[MFU_ROWS_ARRAYS];    /* rows x columns of bf16, or fp32 */
    float *row[MFU_ROWS_VECTORS];    /* a number per row */
    float *column[MFU_ROWS_VECTORS]; /* a number per column */
    float *partial;                  /* 2 x MFU_ROWS_PARTIALS x columns, for column sums */
    int *target;                     /* an index below columns for each row */
};

#define MFU_ROWS_PARTIALS 256

struct mfu_rows_case {
    const char *kind, *pass;
    int (*launch)(struct mfu_bench *, const struct mfu_rows *);
    int size[MFU_ROWS_ARRAYS]; /* bytes of an element of each array, 0: unused */
    double read, written;      /* bytes for each element */
    int launches;              /* kernels */
};

struct mfu_rows_size {
    int rows, columns;
    bool quick; /* measured with --quick too */
};

struct mfu_rows_table {
    const char *probe;
    const struct mfu_rows_case *cases;
    size_t n_cases;
    const struct mfu_rows_size *sizes; /* NULL: the usual ones */
    size_t n_sizes;
};

size_t mfu_rows_points(const struct mfu_bench *, const struct mfu_rows_table *);
int mfu_rows_run(struct mfu_bench *, const struct mfu_rows_table *, size_t point);

/* Room for a launch with arrays of these sizes; vectors are zeroed, targets
 * spread over the columns.  0 or -1. */
int mfu_rows_room(struct mfu_bench *, struct mfu_rows *, int rows, int columns, const int size[MFU_ROWS_ARRAYS]);

#ifdef __cplusplus
}
#endif
#endif
