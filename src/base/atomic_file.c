/*
 * atomic_file.c - files that appear when they are complete.
 */
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/printable.h"

#define ATTEMPTS 100 /* at an unused name */

static int refuse(const struct mfu_atomic_file *f, int why, struct mfu_error *err)
{
    return mfu_fail(err, MFU_EIO, "'%.400s' cannot be written: %s", f->path, strerror(why));
}

/* Names the target; whether there is something there already in *there. */
static int name_target(struct mfu_atomic_file *f, const char *path, struct stat *info, bool *there,
                       struct mfu_error *err)
{
    char safe[sizeof f->path];

    memset(f, 0, sizeof *f);
    if (!*path)
        return mfu_fail(err, MFU_EINPUT, "the name of the file is empty");
    if (strlen(path) >= sizeof f->path)
        return mfu_fail(err, MFU_EINPUT, "the path is longer than %d bytes", PATH_MAX - 1);
    if (mfu_has_control(path))
        return mfu_fail(err, MFU_EINPUT, "'%.400s' cannot be written: its name holds a control character",
                        mfu_printable(safe, sizeof safe, path));
    snprintf(f->path, sizeof f->path, "%s", path);
    *there = stat(path, info) == 0;
    if (*there && S_ISDIR(info->st_mode))
        return refuse(f, EISDIR, err);
    if (!*there || !realpath(path, f->real))
        snprintf(f->real, sizeof f->real, "%s", path);
    f->direct = *there && !S_ISREG(info->st_mode);
    if (*there && !f->direct && access(f->real, W_OK) < 0) /* a read-only file is meant to stay */
        return refuse(f, errno, err);
    return 0;
}

/* Another name for `half` at every call. */
static void name_half(struct mfu_atomic_file *f)
{
    uint32_t random = 0;

    if (getrandom(&random, sizeof random, 0) < 0)
        random = (uint32_t)getpid();
    snprintf(f->half, sizeof f->half, "%s.%06x", f->real, (unsigned)(random & 0xFFFFFF));
}

/* The folder that the target stands in. */
static void folder_of(const struct mfu_atomic_file *f, char folder[PATH_MAX])
{
    const char *slash = strrchr(f->real, '/');

    snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash - f->real) + 1 : 1, slash ? f->real : ".");
}

/* A new file beside the target, without a name where the file system can do
 * that. */
static int open_half(struct mfu_atomic_file *f)
{
    char folder[PATH_MAX];
    int fd;

    folder_of(f, folder);
    fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
    for (int i = 0; i < ATTEMPTS && (i == 0 || errno == EEXIST); i++) {
        name_half(f);
        if ((fd = open(f->half, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) >= 0) {
            f->named = true;
            return fd;
        }
    }
    return -1;
}

int mfu_atomic_file_open(struct mfu_atomic_file *f, const char *path, struct mfu_error *err)
{
    struct stat old;
    bool there;
    int fd;

    if (name_target(f, path, &old, &there, err) < 0)
        return -1;
    fd = f->direct ? open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : open_half(f);
    if (fd < 0)
        return refuse(f, errno, err);
    if (f->direct)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK); /* only opening must not wait for a reader */
    else if (there && fchmod(fd, old.st_mode & 0777) < 0)
        there = false; /* it has the mode of a new file */
    if ((f->out = fdopen(fd, "w")))
        return 0;
    refuse(f, errno, err);
    close(fd);
    mfu_atomic_file_drop(f);
    return -1;
}

void mfu_atomic_file_drop(struct mfu_atomic_file *f)
{
    if (f->out)
        fclose(f->out);
    if (f->named)
        unlink(f->half);
    f->out = NULL;
    f->named = false;
}

/* Gives the new file the name `half`, if it has none. */
static int name_it(struct mfu_atomic_file *f)
{
    char source[32];

    if (f->named)
        return 0;
    snprintf(source, sizeof source, "/proc/self/fd/%d", fileno(f->out));
    for (int i = 0; i < ATTEMPTS && (i == 0 || errno == EEXIST); i++) {
        name_half(f);
        if (linkat(AT_FDCWD, source, AT_FDCWD, f->half, AT_SYMLINK_FOLLOW) == 0) {
            f->named = true;
            return 0;
        }
    }
    return -1;
}

/* The new name is on the disk, too.  Where folders cannot be synchronised, it
 * will be when the system likes. */
static void sync_folder(const struct mfu_atomic_file *f)
{
    char folder[PATH_MAX];
    int fd;

    folder_of(f, folder);
    if ((fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return;
    fsync(fd);
    close(fd);
}

/* 0, or why it failed. */
static int finish(struct mfu_atomic_file *f)
{
    errno = 0;
    if (fflush(f->out) != 0 || ferror(f->out))
        return errno ? errno : EIO;
    if (!f->direct && (fsync(fileno(f->out)) < 0 || name_it(f) < 0))
        return errno;
    if (fclose(f->out) != 0) {
        f->out = NULL;
        return errno;
    }
    f->out = NULL;
    if (f->direct)
        return 0;
    if (rename(f->half, f->real) < 0)
        return errno;
    f->named = false;
    sync_folder(f);
    return 0;
}

int mfu_atomic_file_close(struct mfu_atomic_file *f, struct mfu_error *err)
{
    int failed = finish(f);

    if (!failed)
        return 0;
    mfu_atomic_file_drop(f);
    return refuse(f, failed, err);
}
