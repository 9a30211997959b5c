/*
 * reference.c - the plainest code that computes it.
 */
#include "reference.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define SQRT_2_OVER_PI 0.7978845608028654
#define GELU_CUBIC 0.044715

void mfu_ref_bias_gelu(const float *x, const float *bias, float *y, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows * columns; i++) {
        double u = (double)x[i] + (double)bias[i % columns];

        y[i] = (float)(0.5 * u * (1 + tanh(SQRT_2_OVER_PI * (u + GELU_CUBIC * u * u * u))));
    }
}

void mfu_ref_bias_gelu_back(const float *x, const float *bias, const float *dy, float *dx, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows * columns; i++) {
        double u = (double)x[i] + (double)bias[i % columns];
        double t = tanh(SQRT_2_OVER_PI * (u + GELU_CUBIC * u * u * u));
        double slope = SQRT_2_OVER_PI * (1 + 3 * GELU_CUBIC * u * u);

        dx[i] = (float)(dy[i] * (0.5 * (1 + t) + 0.5 * u * (1 - t * t) * slope));
    }
}

/* Mean (0 if not centred) and 1 / deviation of a row. */
static void moments(bool centred, const float *x, size_t columns, double *mean, double *scale)
{
    double sum = 0;
    double square = 0;

    for (size_t i = 0; i < columns; i++)
        sum += x[i];
    *mean = centred ? sum / (double)columns : 0;
    for (size_t i = 0; i < columns; i++)
        square += (x[i] - *mean) * (x[i] - *mean);
    *scale = 1 / sqrt(square / (double)columns + (double)MFU_NORM_EPSILON);
}

void mfu_ref_norm(bool centred, const float *x, const float *gamma, const float *beta, float *y, size_t rows,
                  size_t columns)
{
    for (size_t row = 0; row < rows; row++, x += columns, y += columns) {
        double mean, scale;

        moments(centred, x, columns, &mean, &scale);
        for (size_t i = 0; i < columns; i++)
            y[i] = (float)((x[i] - mean) * scale * gamma[i] + (beta ? beta[i] : 0));
    }
}

void mfu_ref_norm_back(bool centred, const float *x, const float *gamma, const float *dy, float *dx, float *dgamma,
                       float *dbeta, size_t rows, size_t columns)
{
    for (size_t i = 0; i < columns; i++) {
        dgamma[i] = 0;
        if (dbeta)
            dbeta[i] = 0;
    }
    for (size_t row = 0; row < rows; row++, x += columns, dy += columns, dx += columns) {
        double mean, scale;
        double sum = 0;     /* of dy gamma */
        double product = 0; /* of dy gamma x^ */

        moments(centred, x, columns, &mean, &scale);
        for (size_t i = 0; i < columns; i++) {
            double hat = (x[i] - mean) * scale;

            sum += (double)dy[i] * gamma[i];
            product += (double)dy[i] * gamma[i] * hat;
            dgamma[i] += (float)(dy[i] * hat);
            if (dbeta)
                dbeta[i] += dy[i];
        }
        sum = centred ? sum / (double)columns : 0;
        product /= (double)columns;
        for (size_t i = 0; i < columns; i++)
            dx[i] = (float)(scale * ((double)dy[i] * gamma[i] - sum - (x[i] - mean) * scale * product));
    }
}

double mfu_ref_sum_of_squares(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    return sum;
}

/* log of the sum of exponentials of n > 0 values */
static double log_sum_exp(const float *x, size_t n)
{
    double most = x[0];
    double sum = 0;

    for (size_t i = 1; i < n; i++)
        most = fmax(most, x[i]);
    for (size_t i = 0; i < n; i++)
        sum += exp(x[i] - most);
    return most + log(sum);
}

void mfu_ref_softmax(const float *x, float *y, size_t rows, size_t columns)
{
    for (size_t row = 0; row < rows; row++, x += columns, y += columns) {
        double total = log_sum_exp(x, columns);

        for (size_t i = 0; i < columns; i++)
            y[i] = (float)exp(x[i] - total);
    }
}

void mfu_ref_softmax_back(const float *y, const float *dy, float *dx, size_t rows, size_t columns)
{
    for (size_t row = 0; row < rows; row++, y += columns, dy += columns, dx += columns) {
        double dot = 0;

        for (size_t i = 0; i < columns; i++)
            dot += (double)y[i] * dy[i];
        for (size_t i = 0; i < columns; i++)
            dx[i] = (float)(y[i] * (dy[i] - dot));
    }
}

void mfu_ref_cross_entropy(const float *x, const int *target, float *loss, float *dx, float scale, size_t rows,
                           size_t columns)
{
    for (size_t row = 0; row < rows; row++, x += columns, dx += columns) {
        double total = log_sum_exp(x, columns);

        loss[row] = (float)(total - x[target[row]]);
        for (size_t i = 0; i < columns; i++)
            dx[i] = (float)((exp(x[i] - total) - ((int)i == target[row])) * scale);
    }
}

void mfu_ref_gemm(int layout, const float *a, const float *b, float *c, int m, int n, int k, bool accumulate)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = accumulate ? c[i * n + j] : 0;

            for (int l = 0; l < k; l++)
                sum += (double)(layout == 2 ? a[l * m + i] : a[i * k + l])
                    * (double)(layout == 0 ? b[j * k + l] : b[l * n + j]);
            c[i * n + j] = (float)sum;
        }
}

unsigned short mfu_ref_to_bf16(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fff; /* not a number */
    bits += 0x7fff + (bits >> 16 & 1);
    return (unsigned short)(bits >> 16);
}

float mfu_ref_from_bf16(unsigned short x)
{
    uint32_t bits = (uint32_t)x << 16;
    float y;

    memcpy(&y, &bits, sizeof y);
    return y;
}

float mfu_ref_round_bf16(float x)
{
    return mfu_ref_from_bf16(mfu_ref_to_bf16(x));
}
