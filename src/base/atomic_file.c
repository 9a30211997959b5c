/*
 * atomic_file.c - files that appear when they are complete.
 */
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static int refuse(const struct mfu_atomic_file *f, int why, struct mfu_error *err)
{
    return mfu_fail(err, MFU_EIO, "'%.400s' cannot be written: %s", f->path, strerror(why));
}

/* mkstemp's files are private; this one gets what a new file would. */
static void open_to_others(int fd, const char *old)
{
    struct stat info;
    mode_t mask;

    if (stat(old, &info) == 0) {
        if (fchmod(fd, info.st_mode & 0777) < 0)
            return; /* it stays private */
        return;
    }
    mask = umask(0);
    umask(mask);
    if (fchmod(fd, 0666 & ~mask) < 0)
        return;
}

/* Names the target and the file beside it; returns a descriptor of the latter
 * (or of the target, if that is no regular file), or -1. */
static int place(struct mfu_atomic_file *f, const char *path, struct mfu_error *err)
{
    struct stat info;
    bool there = stat(path, &info) == 0;
    int fd;

    memset(f, 0, sizeof *f);
    if (!*path)
        return mfu_fail(err, MFU_EINPUT, "the name of the file is empty");
    if (strlen(path) >= sizeof f->path)
        return mfu_fail(err, MFU_EINPUT, "the path is longer than %d bytes", PATH_MAX - 1);
    snprintf(f->path, sizeof f->path, "%s", path);
    if (there && S_ISDIR(info.st_mode))
        return refuse(f, EISDIR, err);
    if (!there || !realpath(path, f->real))
        snprintf(f->real, sizeof f->real, "%s", path);
    if (there && !S_ISREG(info.st_mode)) {
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
        return fd >= 0 ? fd : refuse(f, errno, err);
    }
    if (there && access(f->real, W_OK) < 0) /* a read-only file is meant to stay */
        return refuse(f, errno, err);
    snprintf(f->half, sizeof f->half, "%s.XXXXXX", f->real);
    if ((fd = mkostemp(f->half, O_CLOEXEC)) < 0)
        return refuse(f, errno, err);
    open_to_others(fd, f->real);
    return fd;
}

int mfu_atomic_file_open(struct mfu_atomic_file *f, const char *path, struct mfu_error *err)
{
    int fd = place(f, path, err);

    if (fd < 0)
        return -1;
    if ((f->out = fdopen(fd, "w")))
        return 0;
    refuse(f, errno, err);
    close(fd);
    mfu_atomic_file_drop(f);
    return -1;
}

int mfu_atomic_file_place(struct mfu_atomic_file *f, const char *path, struct mfu_error *err)
{
    int fd = place(f, path, err);

    if (fd < 0)
        return -1;
    close(fd);
    return 0;
}

void mfu_atomic_file_drop(struct mfu_atomic_file *f)
{
    if (f->out)
        fclose(f->out);
    if (f->half[0])
        unlink(f->half);
    f->out = NULL;
    f->half[0] = '\0';
}

int mfu_atomic_file_close(struct mfu_atomic_file *f, struct mfu_error *err)
{
    int failed = 0;

    if (f->out) {
        errno = 0;
        failed = fflush(f->out) != 0 || ferror(f->out) ? (errno ? errno : EIO) : 0;
        if (fclose(f->out) != 0 && !failed)
            failed = errno;
        f->out = NULL;
    }
    if (!failed && f->half[0] && rename(f->half, f->real) < 0)
        failed = errno;
    if (!failed)
        return 0;
    mfu_atomic_file_drop(f);
    return refuse(f, failed, err);
}
