/*
 * calibrate.h - coefficients of a GPU from what was measured on it.
 *
 * Two kinds of measurements: samples of single kernels (mfuplan-calibrate's
 * YAML), which can fix every coefficient that they touch, and whole training
 * runs (the CSV of `validate`), which fix the few that matter: the efficiency
 * of GEMMs and of the attention in use, the traffic of everything else as one
 * scale, the host, the links, the constant of a step.  Two or three measured
 * steps of any configuration improve the prediction of all others.
 *
 * What this GPU is calibrated with already, from the other kind, is where the fit
 * starts: its values and errors are the priors.  One of the same kind is replaced.
 */
#ifndef MFU_CALIBRATE_H
#define MFU_CALIBRATE_H

#include "answer/fit/calibrated.h"

struct mfu_catalog;
struct mfu_csv;
struct mfu_error;
struct mfu_gpu;
struct mfu_measured_run;

struct mfu_calibrate_input {
    struct mfu_catalog *catalog;
    const struct mfu_gpu *gpu;           /* the current one: whose runs are taken */
    const struct mfu_scenario *scenario; /* fills what a log does not state; NULL: no logs */
    const char *const *paths;            /* .yaml and .csv files, training logs, folders of ground-truth */
    int n_paths;
    int (*interrupted)(void *); /* NULL, or called between measurements: not 0 ends the fit */
    void *context;
};

/* Reads the files and fits; nothing is written.  Free the result. */
struct mfu_calibrated *mfu_calibrate(const struct mfu_calibrate_input *, struct mfu_error *err);
void mfu_calibrated_free(struct mfu_calibrated *);

/* The same from runs that are known already: for tests of how well it works. */
struct mfu_calibrated *mfu_calibrate_runs(struct mfu_catalog *, const struct mfu_gpu *,
                                          const struct mfu_measured_run *runs, size_t n, struct mfu_error *err);

/* The only row of a fit where all runs wait for their loader: nothing is known of the GPU.  Else NULL. */
const struct mfu_fit_row *mfu_calibrated_loader(const struct mfu_calibrated *);

/* "probe", "runs", both or "default": where a row of the fit has its value from. */
const char *mfu_calibrated_source(const struct mfu_calibrated *, const struct mfu_fit_row *);

#endif
