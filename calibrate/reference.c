/*
 * reference.c - the plainest code that computes it.
 */
#include "reference.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
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

void mfu_ref_rotary(const float *x, const float *cos, const float *sin, float *y, size_t tokens, size_t heads,
                    size_t dim)
{
    size_t half = dim / 2;

    for (size_t t = 0; t < tokens; t++)
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < half; i++) {
                size_t at = (t * heads + h) * dim + i;
                double c = cos[t * half + i];
                double s = sin[t * half + i];
                double left = x[at];
                double right = x[at + half];

                y[at] = (float)(left * c - right * s);
                y[at + half] = (float)(right * c + left * s);
            }
}

void mfu_ref_adamw(const struct mfu_adamw *a, float *p, const float *g, float *m, float *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double mean = (double)a->beta1 * m[i] + (1 - (double)a->beta1) * g[i];
        double square = (double)a->beta2 * v[i] + (1 - (double)a->beta2) * g[i] * g[i];
        double step = mean / a->correction1 / (sqrt(square / a->correction2) + a->epsilon);

        m[i] = (float)mean;
        v[i] = (float)square;
        p[i] = (float)(p[i] * (1 - (double)a->rate * a->decay) - a->rate * step);
    }
}

double mfu_ref_sum_of_squares(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    return sum;
}

/* Probabilities of query i over the keys it sees; returns how many. */
static size_t attend(const float *q, const float *k, size_t i, size_t seq, size_t dim, bool causal, float *p)
{
    size_t seen = causal ? i + 1 : seq;

    for (size_t j = 0; j < seen; j++) {
        double dot = 0;

        for (size_t d = 0; d < dim; d++)
            dot += (double)q[i * dim + d] * k[j * dim + d];
        p[j] = (float)(dot / sqrt((double)dim));
    }
    mfu_ref_softmax(p, p, 1, seen);
    return seen;
}

void mfu_ref_attention(const float *q, const float *k, const float *v, float *o, size_t seq, size_t dim, bool causal)
{
    float *p = malloc(seq * sizeof *p);

    if (!p)
        abort();
    for (size_t i = 0; i < seq; i++) {
        size_t seen = attend(q, k, i, seq, dim, causal, p);

        for (size_t d = 0; d < dim; d++) {
            double sum = 0;

            for (size_t j = 0; j < seen; j++)
                sum += (double)p[j] * v[j * dim + d];
            o[i * dim + d] = (float)sum;
        }
    }
    free(p);
}

void mfu_ref_attention_back(const float *q, const float *k, const float *v, const float *d_o, float *dq, float *dk,
                            float *dv, size_t seq, size_t dim, bool causal)
{
    float *p = malloc(3 * seq * sizeof *p);
    float *dp = p + seq;
    float *ds = p + 2 * seq;

    if (!p)
        abort();
    memset(dq, 0, seq * dim * sizeof *dq);
    memset(dk, 0, seq * dim * sizeof *dk);
    memset(dv, 0, seq * dim * sizeof *dv);
    for (size_t i = 0; i < seq; i++) {
        size_t seen = attend(q, k, i, seq, dim, causal, p);

        for (size_t j = 0; j < seen; j++) {
            double dot = 0;

            for (size_t d = 0; d < dim; d++) {
                dot += (double)d_o[i * dim + d] * v[j * dim + d];
                dv[j * dim + d] += p[j] * d_o[i * dim + d];
            }
            dp[j] = (float)dot;
        }
        mfu_ref_softmax_back(p, dp, ds, 1, seen);
        for (size_t j = 0; j < seen; j++)
            for (size_t d = 0; d < dim; d++) {
                double scaled = ds[j] / sqrt((double)dim);

                dq[i * dim + d] += (float)(scaled * k[j * dim + d]);
                dk[j * dim + d] += (float)(scaled * q[i * dim + d]);
            }
    }
    free(p);
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
