/*
 * gemm - C[m,n] = A[m,k] B[k,n], `batch` times.
 *
 *     flops = 2 m n k      read = (m k + k n) w      write = m n w
 *
 * Traffic counts each operand once, the least that can cross the memory bus.
 * Tensor cores want rows that are multiples of 16 bytes (NVIDIA DU-09799,
 * "Matrix Multiplication Background"): m is a number of rows and is free, n and
 * k are row lengths of C, A and B.  A gradient of weights has A stored as [k,m]:
 * there k, the tokens, is a number of rows, and m is a row length.
 */

#include "kernel/kernel.h"

/* The largest power of two up to x > 0. */
static double power_of_two(double x)
{
    double power = 8;

    while (power > x)
        power /= 2;
    return power;
}

/* Tensor cores want rows of 16 bytes of every contiguous dimension of A, B and C. */
static bool rows_of_16_bytes(double n, double element_bytes)
{
    double sixteens = n * power_of_two(element_bytes) / 16; /* scales are beside the elements */

    return sixteens < 0x1p53 && sixteens == (double)(long long)sixteens;
}

struct mfu_kernel mfu_kernel_gemm(enum mfu_peak math, double m, double n, double k, double batch, double in_bytes,
                                  double out_bytes, bool accumulate)
{
    double mn = m * n * batch;

    return (struct mfu_kernel){
        .kind = MFU_GEMM,
        .math = math,
        .traffic = MFU_C_GEMM_BANDWIDTH,
        .m = m,
        .n = n,
        .k = k,
        .batch = batch,
        .aligned = rows_of_16_bytes(n, in_bytes) && rows_of_16_bytes(k, in_bytes),
        .accumulates = accumulate,
        .flops = 2 * mn * k,
        .read_bytes = batch * (m * k + k * n) * in_bytes + (accumulate ? mn * out_bytes : 0),
        .write_bytes = mn * out_bytes,
        .launches = 1,
    };
}

struct mfu_kernel mfu_kernel_weight_gradient(enum mfu_peak math, double m, double n, double k, double batch,
                                             double in_bytes, double out_bytes, bool accumulate)
{
    struct mfu_kernel g = mfu_kernel_gemm(math, m, n, k, batch, in_bytes, out_bytes, accumulate);

    g.aligned = rows_of_16_bytes(m, in_bytes) && rows_of_16_bytes(n, in_bytes);
    return g;
}
