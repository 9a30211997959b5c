/*
 * calibrated.h - the outcome of a calibration.
 */
#ifndef MFU_CALIBRATED_H
#define MFU_CALIBRATED_H

#include "cost/fit.h"
#include "descriptor/calibration.h"

struct mfu_gpu;

struct mfu_calibrated {
    const struct mfu_gpu *gpu; /* what the coefficients are of */
    struct mfu_fit fit;
    struct mfu_calibration file;          /* ready to be written; its base is what the fit started from */
    char replaces[16], replaces_date[24]; /* kinds of an earlier calibration that is given up; "": none */
    size_t n_samples, n_runs;
    size_t n_left_out; /* rows of other GPUs, unknown probes, what cannot be planned */
    char why[200];     /* the last of them */
    void *own;         /* what the fit's names live in */
};

#endif
