/*
 * reference.h - what the kernels should compute, on the CPU and plainly.
 *
 * Matrices are row-major fp32; sums are double.  `--self-test` holds these
 * functions against finite differences and known values, the probes hold their
 * kernels against these functions.
 */
#ifndef MFU_REFERENCE_H
#define MFU_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MFU_NORM_EPSILON 1e-5f

/* GELU in its tanh form, of x + bias (one bias per column). */
void mfu_ref_bias_gelu(const float *x, const float *bias, float *y, size_t rows, size_t columns);
/* dx, which is also the gradient of x + bias. */
void mfu_ref_bias_gelu_back(const float *x, const float *bias, const float *dy, float *dx, size_t rows, size_t columns);

/* LayerNorm, or RMSNorm where `centred` is false; beta may be NULL. */
void mfu_ref_norm(bool centred, const float *x, const float *gamma, const float *beta, float *y, size_t rows,
                  size_t columns);
/* dbeta may be NULL. */
void mfu_ref_norm_back(bool centred, const float *x, const float *gamma, const float *dy, float *dx, float *dgamma,
                       float *dbeta, size_t rows, size_t columns);

void mfu_ref_softmax(const float *x, float *y, size_t rows, size_t columns);
void mfu_ref_softmax_back(const float *y, const float *dy, float *dx, size_t rows, size_t columns);

/* loss[row] = logsumexp(x) - x[target]; dx = (softmax(x) - onehot) * scale. */
void mfu_ref_cross_entropy(const float *x, const int *target, float *loss, float *dx, float scale, size_t rows,
                           size_t columns);

double mfu_ref_sum_of_squares(const float *x, size_t n);

/* layout: 0 TN, 1 NN, 2 NT as in blas.h. */
void mfu_ref_gemm(int layout, const float *a, const float *b, float *c, int m, int n, int k, bool accumulate);

/* Nearest, ties to even. */
float mfu_ref_round_bf16(float);
unsigned short mfu_ref_to_bf16(float);
float mfu_ref_from_bf16(unsigned short);

#ifdef __cplusplus
}
#endif
#endif
