/* published_timings.h - published kernel timings (CSV), treated as if a probe had written them: GEMMs (m n k),
 * collectives (op n_gpus bytes) and kernels that stream (bytes).  The header says which kind of table it is. */
#ifndef MFU_TEST_PUBLISHED_TIMINGS_H
#define MFU_TEST_PUBLISHED_TIMINGS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/error.h"
#include "cost/sample.h"

static double number(const struct mfu_csv *csv, size_t row, const char *column)
{
    const char *text = mfu_csv_get(csv, row, column);
    char *end;
    double x = strtod(text, &end);

    return end == text ? NAN : x;
}

static int class_of(struct mfu_samples *s, const char *name, double spread)
{
    int i = 0;
    char *copy;

    while (i < s->n_classes && strcmp(s->classes[i].name, name) != 0)
        i++;
    if (i < s->n_classes)
        return i;
    copy = s->n_classes < MFU_FIT_CLASSES ? mfu_arena_copy(&s->arena, name, strlen(name)) : NULL;
    if (!copy)
        return -1;
    s->classes[s->n_classes] = (struct mfu_fit_class){copy, spread, 0, 0};
    return s->n_classes++;
}

/* The words of the tables for what bounds an operation. */
static const struct {
    const char *begins;
    enum mfu_kind kind;
    enum mfu_coefficient traffic;
} operations[] = {{"layernorm", MFU_NORM, MFU_C_DRAM_NORM},      {"rmsnorm", MFU_NORM, MFU_C_DRAM_NORM},
                  {"rope", MFU_POINTWISE, MFU_C_DRAM_IRREGULAR}, {"silu_and_mul", MFU_POINTWISE, MFU_C_DRAM_IRREGULAR},
                  {"add", MFU_POINTWISE, MFU_C_DRAM_POINTWISE},  {"mul", MFU_POINTWISE, MFU_C_DRAM_POINTWISE},
                  {"gelu", MFU_POINTWISE, MFU_C_DRAM_POINTWISE}, {"relu", MFU_POINTWISE, MFU_C_DRAM_POINTWISE},
                  {"tanh", MFU_POINTWISE, MFU_C_DRAM_POINTWISE}, {"static_fp8_quant", MFU_CAST, MFU_C_DRAM_POINTWISE}};

static bool read_gemm(const struct mfu_csv *csv, size_t row, struct mfu_samples *s, struct mfu_sample *to)
{
    double m = number(csv, row, "m"), n = number(csv, row, "n"), k = number(csv, row, "k");
    double us = number(csv, row, "time_us");

    if (!(m > 0 && n > 0 && k > 0 && us > 0))
        return false;
    to->kernel = mfu_kernel_gemm(MFU_PEAK_BF16, m, n, k, 1, 2, 2, false);
    to->seconds = us * 1e-6;
    to->kind = class_of(s, "gemm bf16", 0.05);
    return true;
}

static bool read_collective(const struct mfu_csv *csv, size_t row, struct mfu_samples *s, struct mfu_sample *to)
{
    char name[48];

    if (strcmp(mfu_csv_get(csv, row, "op"), "all_reduce") != 0 || number(csv, row, "n_nodes") != 1)
        return false;
    to->form = MFU_SAMPLE_ALL_REDUCE;
    to->gpus = number(csv, row, "n_gpus");
    to->bytes = number(csv, row, "bytes");
    to->seconds = number(csv, row, "latency_us") * 1e-6;
    snprintf(name, sizeof name, "all_reduce %.24s", mfu_csv_get(csv, row, "software"));
    to->kind = class_of(s, name, 0.1);
    return true;
}

/* `bytes` are read and written in equal parts. */
static bool read_stream(const struct mfu_csv *csv, size_t row, struct mfu_samples *s, struct mfu_sample *to)
{
    const char *op = mfu_csv_get(csv, row, "op"), *pass = mfu_csv_get(csv, row, "pass");
    double bytes = number(csv, row, "bytes"), rows = number(csv, row, "rows"), columns = number(csv, row, "cols");
    enum mfu_kind kind = MFU_REDUCTION;
    enum mfu_coefficient traffic = MFU_C_DRAM_SOFTMAX;
    char name[48];

    if (*op) {
        size_t i = 0;

        while (i < sizeof operations / sizeof operations[0]
               && strncmp(op, operations[i].begins, strlen(operations[i].begins)) != 0)
            i++;
        if (i == sizeof operations / sizeof operations[0])
            return false;
        kind = operations[i].kind;
        traffic = operations[i].traffic;
    } else
        op = "softmax";
    if (strncmp(pass, "f", 1) != 0 || strcmp(pass, "full") == 0 || !(bytes > 0))
        return false;
    if (!(rows > 0 && columns > 0))
        rows = 1, columns = bytes;
    to->kernel = mfu_kernel_stream(kind, traffic, rows, columns, 0, bytes / 2, bytes / 2);
    to->seconds = number(csv, row, "latency_us") * 1e-6;
    to->warm = true;
    snprintf(name, sizeof name, "%.20s %.20s", op, mfu_csv_get(csv, row, "source"));
    to->kind = class_of(s, name, 0.08);
    return true;
}

/* Only rows of this GPU's slug ("": of any). */
static int read_published_timings(const char *path, const char *gpu, struct mfu_samples *s, struct mfu_error *err)
{
    struct mfu_csv csv;
    bool gemm = false, collective = false;

    *s = (struct mfu_samples){.compute_capability = NAN, .sms = NAN, .memory_bytes = NAN};
    if (mfu_csv_read(path, &s->arena, &csv, err) < 0) {
        mfu_samples_free(s);
        return -1;
    }
    for (size_t i = 0; i < csv.n_columns; i++) {
        gemm |= strcmp(csv.header[i], "time_us") == 0;
        collective |= strcmp(csv.header[i], "busbw_gbps") == 0;
    }
    s->rows = mfu_arena_alloc(&s->arena, csv.n_rows + 1, sizeof *s->rows);
    if (!s->rows) {
        mfu_samples_free(s);
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    snprintf(s->gpu, sizeof s->gpu, "%s", gpu);
    for (size_t i = 0; i < csv.n_rows; i++) {
        struct mfu_sample row = {.form = MFU_SAMPLE_KERNEL};

        if (*gpu && strcmp(mfu_csv_get(&csv, i, "gpu"), gpu) != 0)
            continue;
        if ((gemm             ? read_gemm
                 : collective ? read_collective
                              : read_stream)(&csv, i, s, &row)
            && row.seconds > 0 && row.kind >= 0)
            s->rows[s->n++] = row;
        else
            s->n_unknown++;
    }
    return 0;
}

#endif
