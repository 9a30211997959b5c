/*
 * input_file.h - files that are opened to be read.
 *
 * A name with control characters is refused: it could not be shown as it is.
 * It may be that of a FIFO that nobody writes to, of a terminal, a device
 * or a folder: reading those blocks or never ends.  They are refused.  The pipe
 * of a shell, <(command) or /dev/stdin, is a file to its user and is read.
 */
#ifndef MFU_INPUT_FILE_H
#define MFU_INPUT_FILE_H

#include <stdio.h>

struct mfu_error;

/* NULL with a reason in `err` ("cannot be read: ..."), without the file's name. */
FILE *mfu_input_open(const char *path, struct mfu_error *err);

/* The same as a descriptor; -1. */
int mfu_input_descriptor(const char *path, struct mfu_error *err);

/* Fails with errno; of a file that is not there the nearest name in its folder is suggested.  Returns -1. */
int mfu_input_fail(const char *path, struct mfu_error *err);

#endif
