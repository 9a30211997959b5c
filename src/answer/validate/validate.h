/*
 * validate.h - predictions against other people's measurements.
 *
 * One row of the table is one real run.  What a row leaves empty takes the
 * defaults, and the row's answer lists them; what cannot be expressed is
 * skipped with the reason, never in silence.
 */
#ifndef MFU_VALIDATE_H
#define MFU_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>

#include "read/runs/measured_run.h"

struct mfu_catalog;
struct mfu_error;

struct mfu_validated {
    char id[64], source[80], gpu[48], runtime[16], sharding[24];
    char spread[16];                                         /* "one GPU", "one node", "several nodes" */
    double measured_step_s, predicted_step_s, low_s, high_s; /* NAN: none */
    double error;                                            /* predicted / measured - 1 */
    double measured_allocated_bytes, predicted_allocated_bytes;
    double measured_reserved_bytes, predicted_reserved_bytes;
    double reserved_low_bytes, reserved_high_bytes;
    double fits_probability;
    double model_flops, peak_flops;     /* for the constant-MFU baseline */
    int ran;                            /* 1: it ran, 0: out of memory, -1: not stated */
    int fits;                           /* predicted, */
    bool fits_known;                    /* unless the card is not stated, or the program's memory not modelled */
    double measured_seq, predicted_seq; /* tokens of the longest sequence that fits; NAN: the row states none */
    bool read;                          /* its scenario is whole, whether or not it can be planned and compared */
    bool trains_other;                  /* skipped: the row states another number of weights that train */
    char assumed[MFU_ASSUMED_TEXT];     /* separated by "; " */
    char skipped[200];                  /* the reason, or "" */
};

#define MFU_SEQ_NEAR 0.15 /* a longest sequence is predicted well within this, relative (chosen) */

struct mfu_errors_summary {
    size_t n;
    double mape, median, bias, p90; /* relative */
    char worst_id[64];
    double coverage90; /* of the intervals; NAN without */
};

/* The rows of one GPU, runtime or sharding. */
struct mfu_validation_group {
    const char *by;
    char value[80];
    struct mfu_errors_summary step, allocated, reserved;
};

struct mfu_validation {
    struct mfu_validated *rows;
    size_t n_rows, n_skipped;
    size_t n_assumed; /* planned, though the row leaves something open */
    struct mfu_errors_summary step, allocated, reserved;
    struct mfu_errors_summary seq;      /* longest sequences that fit */
    struct mfu_errors_summary baseline; /* one MFU per GPU, leave-one-out */
    struct mfu_validation_group *groups;
    size_t n_groups;
    size_t n_calibrated;     /* predicted with a calibration of this user: maybe fitted to */
    char calibrated_gpu[48]; /* the last such GPU */
    size_t ran, ran_called_fit, oom, oom_called_oom;
    size_t seq_near; /* longest sequences within MFU_SEQ_NEAR */
};

/* Reads and predicts the whole table.  Free with mfu_validation_free. */
struct mfu_validation *mfu_validate(struct mfu_catalog *, const char *path, struct mfu_error *err);
void mfu_validation_free(struct mfu_validation *);

/* Plans one row as mfu_validate() does; `run` has its scenario then, whose cluster may be run->machine.  What keeps it from
 * being planned or compared is v->skipped.  -1 where the table cannot be read, no row has this id (with the nearest) or several have, or the row
 * says no whole scenario (with the reason and the line). */
int mfu_validate_row(struct mfu_catalog *, const char *path, const char *id, struct mfu_measured_run *run,
                     struct mfu_validated *v, struct mfu_error *err);

/* The table of published runs, in the catalog's folder. */
#define MFU_PUBLISHED "examples/measured/published.csv"
#define MFU_PUBLISHED_WORD "published" /* instead of its path */

#endif
