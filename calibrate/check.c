/*
 * check.c - random inputs, and the comparison.
 */
#include "check.h"

#include <math.h>
#include <stdlib.h>

#include "random.h"
#include "reference.h"

float *mfu_check_normal(size_t n, float scale, unsigned seed)
{
    float *x = malloc(n * sizeof *x);

    if (x)
        for (size_t i = 0; i < n; i++)
            x[i] = mfu_ref_round_bf16(scale * mfu_random_normal(i, seed));
    return x;
}

void *mfu_check_put(struct mfu_bench *b, const float *x, size_t n, enum mfu_dtype dtype)
{
    void *to = mfu_bench_room(b, (double)(n * mfu_dtype_size(dtype)));
    unsigned short *small;
    int status;

    if (!to || !x)
        return NULL;
    if (dtype == MFU_FP32)
        return mfu_bench_upload(b, to, x, n * sizeof *x) < 0 ? NULL : to;
    small = malloc(n * sizeof *small);
    if (!small) {
        mfu_bench_fail(b, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        small[i] = mfu_ref_to_bf16(x[i]);
    status = mfu_bench_upload(b, to, small, n * sizeof *small);
    free(small);
    return status < 0 ? NULL : to;
}

/* Index of the worst difference over what is allowed; n if all are fine. */
static size_t worst(const float *got, const float *expected, size_t n, double tolerance)
{
    double rms = sqrt(mfu_ref_sum_of_squares(expected, n) / (double)n);
    double most = 1;
    size_t at = n;

    for (size_t i = 0; i < n; i++) {
        double off = fabs((double)got[i] - expected[i]) / (tolerance * (rms + fabs((double)expected[i])) + 1e-30);

        if (!(off <= most)) { /* also when not a number */
            at = i;
            if (isnan(off))
                break;
            most = off;
        }
    }
    return at;
}

int mfu_check_same(struct mfu_bench *b, const char *what, const void *device, enum mfu_dtype dtype,
                   const float *expected, size_t n, double tolerance)
{
    float *got = malloc(n * sizeof *got);
    unsigned short *small = malloc(n * sizeof *small);
    size_t at = n;
    int status = -1;

    if (!got || !small) {
        mfu_bench_fail(b, "out of memory");
        goto done;
    }
    if (mfu_bench_download(b, dtype == MFU_FP32 ? (void *)got : (void *)small, device, n * mfu_dtype_size(dtype)) < 0)
        goto done;
    for (size_t i = 0; dtype != MFU_FP32 && i < n; i++)
        got[i] = mfu_ref_from_bf16(small[i]);
    at = worst(got, expected, n, tolerance);
    status = 0;
    if (at < n)
        status = mfu_bench_fail(b, "%s computes %g instead of %g at %zu of %zu", what, got[at], expected[at], at, n);
done:
    free(got);
    free(small);
    return status;
}
