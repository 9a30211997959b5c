/*
 * blas.h - matrix products through cuBLAS and cuBLASLt, loaded at run time.
 *
 * The program links neither library: where one is missing it still starts and
 * says so.  Matrices are row-major as in PyTorch; the result is m x n and the
 * inner dimension k.
 */
#ifndef MFU_BLAS_H
#define MFU_BLAS_H

#include "bench.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Named as cuBLAS sees them (column-major): */
enum mfu_layout {
    MFU_TN, /* forward  Y[m,n]  = X[m,k] W[n,k]^T */
    MFU_NN, /* dgrad    dX[m,n] = dY[m,k] W[k,n] */
    MFU_NT  /* wgrad    dW[m,n] = dY[k,m]^T X[k,n] */
};

extern const char *const mfu_layout_names[];

struct mfu_gemm {
    int m, n, k;
    enum mfu_layout layout;
    enum mfu_dtype dtype; /* of a and b; sums are fp32 */
    bool fp32_result;     /* c is fp32 instead of dtype (bf16 for fp8) */
    bool accumulate;      /* c += instead of c = */
    float scale;
    const void *a, *b; /* a: X or dY; b: W or X */
    void *c;
};

/* NULL and a sentence in `why` where a library or a function is missing. */
struct mfu_blas *mfu_blas_open(cudaStream_t, char *why, size_t size);
void mfu_blas_close(struct mfu_blas *);

/* "13.0.2" */
const char *mfu_blas_version(const struct mfu_blas *);

/* Launches the product on the bench's stream: 0, or -1 and b->error. */
int mfu_blas_gemm(struct mfu_bench *, const struct mfu_gemm *);

#ifdef __cplusplus
}
#endif
#endif
