/*
 * sample.h - timings of single kernels: what mfuplan-calibrate and torch_kernels.py write.
 *
 * A sample says what was run and how long one run took; the cost model
 * predicts the same, so that a fit can compare the two (fit.h).
 */
#ifndef MFU_SAMPLE_H
#define MFU_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "cost/cost.h"
#include "cost/fit.h"
#include "descriptor/calibration.h"

struct mfu_error;
struct mfu_gpu;

enum mfu_sample_form {
    MFU_SAMPLE_KERNEL,         /* one of kernel/kernel.h */
    MFU_SAMPLE_MATH_ATTENTION, /* products and softmax on their own */
    MFU_SAMPLE_STREAM_LAUNCH,
    MFU_SAMPLE_DISPATCH, /* the host's time per kernel, or a CUDA graph's */
    MFU_SAMPLE_ALL_REDUCE,
    MFU_SAMPLE_GATHER, /* all-gather or reduce-scatter */
};

struct mfu_sample {
    enum mfu_sample_form form;
    struct mfu_kernel kernel;
    enum mfu_coefficient dispatch;
    double gpus, bytes;     /* of a collective */
    double seconds, spread; /* relative; 0: not known */
    bool sustained;         /* measured after power and clocks had settled */
    bool warm;              /* on one buffer again and again: L2 may hold it */
    int kind;               /* its class */
};

struct mfu_samples {
    char gpu[80];                                 /* as the file names it */
    double compute_capability, sms, memory_bytes; /* NAN: not stated */
    char cuda[24], cublas[24], torch[40], date[24];
    struct mfu_calibration_key key; /* where; "": not stated */
    struct mfu_sample *rows;
    size_t n, n_unknown; /* n_unknown: of what the cost model has no law for */
    char unknown[96];    /* the last of those */
    struct mfu_fit_class classes[MFU_FIT_CLASSES];
    int n_classes;
    struct mfu_arena arena;
};

/* Reads a file of mfuplan-calibrate or torch_kernels.py (YAML).  Free what was read. */
int mfu_samples_read(const char *path, struct mfu_samples *, struct mfu_error *err);

void mfu_samples_free(struct mfu_samples *);

/* The GPU with these coefficients instead of its own. */
void mfu_machine_of(const struct mfu_gpu *, const double value[MFU_COEFFICIENT_COUNT], struct mfu_machine *);

/* The seconds that the cost model predicts; NAN where the GPU lacks what the
 * sample was measured with. */
double mfu_sample_seconds(const struct mfu_machine *, const struct mfu_sample *);

#endif
