/*
 * input_file.c - files that are opened to be read.
 */
#include "base/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/printable.h"

/* Names of descriptors that this process was started with. */
static bool is_inherited(const char *path)
{
    return strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0
        || strncmp(path, "/proc/self/fd/", 14) == 0;
}

int mfu_input_descriptor(const char *path, struct mfu_error *err)
{
    struct stat info;
    int fd;

    if (mfu_has_control(path))
        return mfu_fail(err, MFU_EINPUT, "cannot be read: its name holds a control character");
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (is_inherited(path) ? 0 : O_NONBLOCK));
    if (fd < 0)
        return mfu_fail(err, MFU_EIO, "cannot be read: %s", strerror(errno));
    if (fstat(fd, &info) < 0)
        mfu_fail(err, MFU_EIO, "cannot be read: %s", strerror(errno));
    else if (S_ISREG(info.st_mode) || (is_inherited(path) && !S_ISDIR(info.st_mode)))
        return fd;
    else if (S_ISDIR(info.st_mode))
        mfu_fail(err, MFU_EIO, "cannot be read: this is a folder, not a file");
    else
        mfu_fail(err, MFU_EIO, "cannot be read: not a regular file");
    close(fd);
    return -1;
}

FILE *mfu_input_open(const char *path, struct mfu_error *err)
{
    int fd = mfu_input_descriptor(path, err);
    FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;

    if (fd >= 0 && !in) {
        close(fd);
        mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    return in;
}
