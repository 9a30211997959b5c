/*
 * measured_run.h - one row of a table of measured runs, as a scenario.
 */
#ifndef MFU_MEASURED_RUN_H
#define MFU_MEASURED_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/csv.h"
#include "scenario/scenario.h"

struct mfu_catalog;

struct mfu_measured_run {
    struct mfu_scenario scenario;
    double step_s;              /* NAN: not stated and does not follow */
    double mfu, mfu_peak_flops; /* NAN: not stated */
    char mfu_convention[64];
    double allocated_bytes, reserved_bytes;
    bool reserved_is_smi;       /* the figure is nvidia-smi's */
    int ran;                    /* 1, 0 (out of memory), -1: not stated */
    char assumed[640];          /* what was filled in or mapped */
    char skipped[200];          /* why it cannot be modelled, or "" */
};

/* Reads row `row`.  Never fails: what cannot be expressed is in `skipped`. */
void mfu_measured_run(struct mfu_catalog *, const struct mfu_csv *, size_t row, struct mfu_measured_run *);

#endif
