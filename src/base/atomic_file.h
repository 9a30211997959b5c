/*
 * atomic_file.h - files that appear when they are complete.
 *
 * What is written goes to a new file in the same folder and takes the place of
 * the old one at the end, once it is on the disk; if anything fails the old one
 * stays as it was.  Until the end the new file has no name (O_TMPFILE), so that
 * a program that is killed leaves nothing behind.  A target that is no regular
 * file (a pipe, /dev/stdout) is written to directly.
 *
 *     struct mfu_atomic_file f;
 *     if (mfu_atomic_file_open(&f, path, err) < 0)
 *         return -1;
 *     fprintf(f.out, ...);
 *     return mfu_atomic_file_close(&f, err);
 */
#ifndef MFU_ATOMIC_FILE_H
#define MFU_ATOMIC_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct mfu_error;

struct mfu_atomic_file {
    FILE *out;
    char path[PATH_MAX];     /* as the user named it */
    char real[PATH_MAX];     /* links followed */
    char half[PATH_MAX + 8]; /* the name of the new file before it takes that of the old one */
    bool direct, named;      /* the target itself is written to; the new file has the name `half` */
};

/* Opens `out`, whose descriptor another program may be given to write to.  Refuses
 * folders that do not exist or cannot be written to, and names with control
 * characters. */
int mfu_atomic_file_open(struct mfu_atomic_file *, const char *path, struct mfu_error *err);

/* Finishes; -1 with `err` when something could not be written. */
int mfu_atomic_file_close(struct mfu_atomic_file *, struct mfu_error *err);

/* Gives up: the old file stays. */
void mfu_atomic_file_drop(struct mfu_atomic_file *);

#endif
