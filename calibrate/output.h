/*
 * output.h - the samples as YAML: who measured what, and one line per sample.
 *
 * The file is complete and valid whenever it exists: it is written beside its
 * name and renamed.
 */
#ifndef MFU_OUTPUT_H
#define MFU_OUTPUT_H

#include <stdio.h>

#include "bench.h"

/* 0, or -1 and b->error. */
int mfu_output_write(struct mfu_bench *, const char *path);

/* Takes up what the file has of this GPU: the samples of probes that were measured whole.  0 without a file, too; -1 and
 * b->error where it is not one, or of another GPU. */
int mfu_output_resume(struct mfu_bench *, const char *path);

/* Notes that all points of this probe are among the samples; whether they are. */
void mfu_output_complete(struct mfu_bench *, const char *probe);
bool mfu_output_has(const struct mfu_bench *, const char *probe);

/* The same into a stream; the date is `now`. */
void mfu_output_print(const struct mfu_bench *, FILE *, const char *date);

/* Sixteen hexadecimal digits that tell one GPU from another without naming it
 * (FNV-1a of its UUID). */
void mfu_output_hash(const void *bytes, size_t n, char hash[17]);

#endif
