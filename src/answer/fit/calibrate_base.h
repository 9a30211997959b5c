/*
 * calibrate_base.h - the calibration that another one starts from.
 */
#ifndef MFU_CALIBRATE_BASE_H
#define MFU_CALIBRATE_BASE_H

struct mfu_calibrated;
struct mfu_catalog;
struct mfu_coefficients;

/* Chooses the base among what is stored for the GPU and the machine of `file.key` (none: this one), and puts it
 * over `prior`; gives the file its name. */
void mfu_calibrate_start(struct mfu_calibrated *, struct mfu_catalog *, struct mfu_coefficients *prior);

/* Writes into the file what it is from, and what its base knows and it does not. */
void mfu_calibrate_keep_base(struct mfu_calibrated *);

#endif
