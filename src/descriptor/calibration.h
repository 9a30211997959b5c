/*
 * calibration.h - coefficients that were measured on the user's machine.
 *
 * A file NAME.yaml of a folder that the program names (repl/environment.h);
 * NULL instead of a folder: there are none, and none can be written.
 *
 *     gpu: rtx4070
 *     date: 2026-11-20
 *     software: CUDA 13.0, cuBLAS 13.0.2, driver 580.1
 *     host: node07                    # where it was measured, as far as that is known
 *     cpu: AMD EPYC 7763
 *     driver: 580.1
 *     device: 1f0a5c7e33b2d901        # hash of the card's number
 *     from: probe, runs               # kinds of measurements
 *     samples: 412
 *     mape: 3.1%
 *     mape_held_out: 3.4%
 *     coefficients:
 *       gemm.efficiency: {value: 0.91, sigma: 0.4%, source: 240 GEMMs}
 *       gemm.k0: {value: 120, sigma: 8%, source: 240 GEMMs}
 *     correlations:                   # of their errors, each pair once
 *       gemm.k0: {gemm.efficiency: 0.4}
 *     base:                           # the earlier one that it started from, of other kinds
 *       {date: 2026-11-19, from: probe, samples: 400, coefficients: {...}}
 *
 * The catalog reads those of this machine and card over the GPU's own file, the oldest first;
 * where there is none, the newest of the nearest machine, and says in what that differs.  A file
 * that is broken is left out, and the catalog can say so.
 */
#ifndef MFU_CALIBRATION_H
#define MFU_CALIBRATION_H

#include <stdbool.h>

#include "descriptor/coefficient.h"
#include "descriptor/folder.h"

struct mfu_arena;
struct mfu_error;

/* Where something was measured; "": not known. */
struct mfu_calibration_key {
    char host[64], cpu[80], driver[32];
    char device[17 * 16]; /* 16 digits each, with blanks between: all cards of a machine */
};

/* In what two machines differ, as far as it is known of both; those that have a card in common are one. */
enum { MFU_OTHER_DRIVER = 1, MFU_OTHER_CPU = 2, MFU_OTHER_CARD = 4, MFU_OTHER_HOST = 8 };
unsigned mfu_calibration_differs(const struct mfu_calibration_key *, const struct mfu_calibration_key *);

/* "another host, another driver"; "" for 0.  Returns `buf`. */
const char *mfu_calibration_difference(unsigned differs, char buf[64]);

/* What a calibration started from: one of other kinds of measurements. */
struct mfu_calibration_base {
    char date[24], from[16]; /* from "": it started from the GPU's own file */
    double samples;
    struct mfu_coefficients coefficients;
};

struct mfu_calibration {
    char name[80]; /* the file's */
    char gpu[48];  /* slug */
    char date[24], software[160], from[16];
    struct mfu_calibration_key key;
    bool in_force;                        /* of those that are listed */
    double samples, mape, mape_held_out;  /* NAN: not stated */
    struct mfu_coefficients coefficients; /* those that were fitted */
    struct mfu_calibration_base base;
};

/* The calibration in force of a GPU, the newest of several; date "": none. */
struct mfu_calibrated_when {
    char name[80], date[24], software[160];
    struct mfu_calibration_key key;
    unsigned differs; /* from the machine that it is used on */
};

/* Days since a date such as 2026-11-20; NAN where it is none. */
double mfu_calibration_age_days(const char *date);

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

/* Which calibrations are in force: of a GPU, on a machine, or the one that is named (NULL: none is). */
struct mfu_calibration_choice {
    const char *folder, *gpu, *named;
    const struct mfu_calibration_key *here;
};

/* Puts the coefficients of every calibration in force over `c`, the oldest
 * first.  Returns how many were applied; `err` is of the last that is broken. */
int mfu_calibration_apply(const struct mfu_calibration_choice *, struct mfu_coefficients *c,
                          struct mfu_calibrated_when *last, struct mfu_error *err);

/* Reads the newest that is in force; false: there is none. */
bool mfu_calibration_find(const struct mfu_calibration_choice *, struct mfu_calibration *);

#endif
