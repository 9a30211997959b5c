/*
 * run_calibrate.h - running mfuplan-calibrate, which measures the GPU that is here.
 */
#ifndef MFU_PROBE_H
#define MFU_PROBE_H

#include <stddef.h>

struct mfu_error;
struct mfu_program;

/* Finds the program ($MFUPLAN_CALIBRATE, beside mfuplan, in libexec, in the
 * build tree, in $PATH), runs it with its progress on standard error, and puts
 * the path of its samples into `path`.  Ctrl-C ends the measuring; what was
 * measured by then counts.  `quick`: the short form; `device`: CUDA's number of the GPU, NULL: 0; `program`: whose
 * matrix products are measured beside the general ones, or NULL. */
int mfu_probe_run(const char *calibrations, char *path, size_t size, int quick, const char *device,
                  const struct mfu_program *program, struct mfu_error *err);

#endif
