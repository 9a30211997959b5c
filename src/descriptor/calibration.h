/*
 * calibration.h - coefficients that were measured on the user's machine.
 *
 * A file NAME.yaml of a folder that the program names (repl/environment.h);
 * NULL instead of a folder: there are none, and none can be written.
 *
 *     gpu: rtx4070
 *     date: 2026-11-20
 *     software: CUDA 13.0, cuBLAS 13.0.2, driver 580.1
 *     cpu: AMD EPYC 7763              # of the machine, whose host times are in it
 *     from: probe, runs               # kinds of measurements
 *     samples: 412
 *     mape: 3.1%
 *     mape_held_out: 3.4%
 *     coefficients:
 *       gemm.efficiency: {value: 0.91, sigma: 0.4%, source: 240 GEMMs}
 *     base:                           # the earlier one that it started from, of other kinds
 *       {date: 2026-11-19, from: probe, samples: 400, coefficients: {...}}
 *
 * The catalog reads those of a GPU over its own file.  A file that is broken
 * is left out, and the catalog can say so.
 */
#ifndef MFU_CALIBRATION_H
#define MFU_CALIBRATION_H

#include <stdbool.h>

#include "descriptor/coefficient.h"
#include "descriptor/folder.h"

struct mfu_arena;
struct mfu_error;

/* What a calibration started from: one of other kinds of measurements. */
struct mfu_calibration_base {
    char date[24], from[16]; /* from "": it started from the GPU's own file */
    double samples;
    struct mfu_coefficients coefficients;
};

struct mfu_calibration {
    char name[80]; /* the file's */
    char gpu[48];  /* slug */
    char date[24], software[160], cpu[80], from[16];
    double samples, mape, mape_held_out;  /* NAN: not stated */
    struct mfu_coefficients coefficients; /* those that were fitted */
    struct mfu_calibration_base base;
};

/* The calibration in force of a GPU; date "": none. */
struct mfu_calibrated_when {
    char date[24], software[160], cpu[80]; /* of the newest */
};

/* The names of all files, sorted; they live in `arena`.  The folder need not exist. */
int mfu_calibration_names(const char *folder, struct mfu_arena *, const char *const **names, size_t *n,
                          struct mfu_error *err);

int mfu_calibration_read(const char *folder, const char *name, struct mfu_calibration *, struct mfu_error *err);

/* Writes NAME.yaml, replacing an older one as a whole; makes the folder. */
int mfu_calibration_write(const char *folder, const struct mfu_calibration *, struct mfu_error *err);

/* Removes NAME.yaml; fails with the nearest name if there is none. */
int mfu_calibration_forget(const char *folder, const char *name, struct mfu_error *err);

/* Values of `from` replace those of `to`. */
void mfu_calibration_put_over(const struct mfu_coefficients *from, struct mfu_coefficients *to);

/* Puts the coefficients of every calibration of this GPU over `c`, the oldest
 * first.  Returns how many were applied; `err` is of the last that is broken. */
int mfu_calibration_apply(const char *folder, const char *gpu, struct mfu_coefficients *c,
                          struct mfu_calibrated_when *last, struct mfu_error *err);

#endif
