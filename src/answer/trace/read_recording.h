/*
 * read_recording.h - from a profiler's file to a recorded step.
 */
#ifndef MFU_READ_RECORDING_H
#define MFU_READ_RECORDING_H

#include "answer/trace/recording.h"

struct mfu_error;

/* A trace of PyTorch's profiler, or an export of Nsight Systems to SQLite; the file says which.  -1 with `err`: no such
 * file, no JSON (with the line), nothing of a step in it.  Release it in any case. */
int mfu_recording_read(const char *path, struct mfu_recording *, struct mfu_error *err);
void mfu_recording_release(struct mfu_recording *);

#endif
