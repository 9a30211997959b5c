/*
 * single_kernel.h - one kernel by itself on a GPU, run again and again: its time,
 * its place below the roofs, and what the meters read meanwhile.
 *
 * No model is needed; of the scenario only the GPU, coefficients, precision,
 * clock and power limit count.
 */
#ifndef MFU_SINGLE_KERNEL_H
#define MFU_SINGLE_KERNEL_H

#include "plan/kernels.h"
#include "plan/metrics.h"

struct mfu_error;

enum mfu_study {
    MFU_STUDY_GEMM,
    MFU_STUDY_SOFTMAX,
    MFU_STUDY_NORM,
    MFU_STUDY_ATTENTION,
    MFU_STUDY_COPY,
    MFU_STUDY_BLOCKS,
    MFU_STUDY_COLLECTIVE, /* MFU_ALL_REDUCE and those after it */
    MFU_STUDY_COUNT = MFU_STUDY_COLLECTIVE + MFU_COLLECTIVE_COUNT - MFU_ALL_REDUCE
};
#define MFU_STUDY_SIZES 4 /* of one kernel, at most */

/* What can be studied: `kernel NAME SIZE ... [KEY VALUE ...]`. */
struct mfu_study_row {
    const char *name;  /* "gemm" */
    const char *usage; /* "M N K" */
    int n_sizes;
    const char *size[MFU_STUDY_SIZES]; /* "M" ... */
    enum mfu_dim dim[MFU_STUDY_SIZES];
    const char *says; /* for help: "C[M,N] = A[M,K] B[K,N]" */
};
extern const struct mfu_study_row mfu_studies[MFU_STUDY_COUNT];

enum mfu_study_key_id {
    MFU_SK_DTYPE,
    MFU_SK_PASS,
    MFU_SK_BATCH,
    MFU_SK_CAUSAL,
    MFU_SK_KV_HEADS,
    MFU_SK_WINDOW,
    MFU_SK_KIND,
    MFU_SK_THREADS,
    MFU_SK_REGISTERS,
    MFU_SK_SHARED,
    MFU_SK_RESIDENT,
    MFU_SK_GPUS,
    MFU_SK_NODES,
    MFU_SK_COUNT
};
struct mfu_study_key {
    const char *key;
    unsigned of; /* studies that have it: bits 1 << enum mfu_study */
    enum mfu_dim dim;
    double least, most;
    const char *const *choices; /* NULL-terminated; NULL if it is a number */
};
extern const struct mfu_study_key mfu_study_keys[MFU_SK_COUNT];

struct mfu_study_request {
    enum mfu_study study;
    double size[MFU_STUDY_SIZES];
    bool given[MFU_SK_COUNT];
    double value[MFU_SK_COUNT]; /* of what is given; choices by number */
};

struct mfu_single_kernel {
    enum mfu_study study;
    const struct mfu_gpu *gpu;
    struct mfu_machine machine;
    char title[160]; /* "gemm 8192 x 2304 x 768, bf16" */
    enum mfu_peak dtype;
    int kernels; /* that it consists of: backward passes and unfused attention have several */
    struct mfu_kernel_row row;
    struct mfu_metrics metrics;
    double compute_s, memory_s, overhead_s;
    const struct mfu_cluster *cluster; /* of a collective; NULL: one machine as the GPU says */
    struct mfu_collective_price price; /* of a collective */
    double nodes;
};

/* Refuses what the GPU cannot do, and sizes that make no kernel. */
int mfu_single_kernel(const struct mfu_scenario *, const struct mfu_study_request *, struct mfu_single_kernel *,
                      struct mfu_error *err);

#endif
