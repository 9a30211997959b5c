/*
 * align_kernels.h - the launches of a plan beside the kernels that a profiler saw.
 *
 * A folder of calibrate/ground-truth has the runs of a machine (runs.csv) and the
 * kernels of a step of each (kernels/ID.csv).  Both sides are sequences; they are
 * aligned so that as many as can be are pairs of one kind and shape in one order.
 * What is left over is missing, if only we have it, or extra.
 */
#ifndef MFU_ALIGN_KERNELS_H
#define MFU_ALIGN_KERNELS_H

#include <stddef.h>

struct mfu_catalog;
struct mfu_error;

/* Equal launches of a run: of one name, phase and kind. */
struct mfu_aligned {
    char run[64], name[96]; /* ours; of what is extra, the operation's */
    const char *phase, *kind;
    const char *status;           /* "as predicted", "slow", "fast", "missing", "extra" */
    double count, measured_count; /* CUDA kernels in a step */
    double predicted_s, measured_s;
    double share;         /* of the measured kernels' time */
    double recoverable_s; /* of a step, if what is slow took what is predicted, and what is extra were not there */
};

struct mfu_aligned_run {
    char run[64];
    double predicted_s, measured_s;           /* of all kernels */
    double matched;                           /* share of the measured time that has a launch of ours */
    double products_s, other_shape_s;         /* measured of paired products, and of those of other shapes than ours */
    double predicted_step_s, measured_step_s; /* NAN: none */
    char skipped[200];                        /* why it was not compared, or "" */
};

struct mfu_alignment {
    struct mfu_aligned *kernels; /* of each run, the largest difference first */
    struct mfu_aligned *kinds;   /* one row per kind of each run, and status "" */
    struct mfu_aligned_run *runs;
    size_t n_kernels, n_kinds, n_runs;
};

/* A kernel that a profiler saw.  Texts are lent; "" where nothing is known. */
struct mfu_seen_kernel {
    const char *op;     /* "aten::mm" */
    const char *shapes; /* of its inputs: "8x64;64x64" */
    const char *dtypes; /* "float;c10::BFloat16" */
    const char *kernel; /* of the GPU */
    double call;        /* kernels in a row with the same are of one call of an operation; -1: not known */
    int phase;          /* enum mfu_phase; -1: not known */
    double time_s;
    int kind;              /* enum mfu_kind; -1: what its names say */
    double size[4], count; /* where the kind is known: m, n, k, batch; CUDA kernels */
};

/* A launch that is one side of a pair, or stays alone. */
struct mfu_align_item {
    int kind, phase;    /* phase -1: not known, fits all */
    double size[4];     /* of a product m, n, k, the smallest first, and how many; else elements */
    double count, time; /* CUDA kernels; seconds */
    const char *name;   /* of the operation */
    int row;
};

/* The partner of each of `a` in `b`, or -1.  Pairs keep the order of both and have the
 * largest sum of scores.  0, or -1: out of memory, or too many to be compared. */
int mfu_align_items(const struct mfu_align_item *a, size_t n_a, const struct mfu_align_item *b, size_t n_b,
                    int *partner);

/* Reads and compares every run of the folder.  Free the result. */
struct mfu_alignment *mfu_align_kernels(struct mfu_catalog *, const char *folder, struct mfu_error *err);

/* The same for one run of this plan, whose accum is 1. */
struct mfu_plan;
struct mfu_alignment *mfu_align_seen(const struct mfu_plan *, const char *run, const struct mfu_seen_kernel *, size_t n,
                                     struct mfu_error *err);
void mfu_alignment_free(struct mfu_alignment *);

#endif
