/*
 * input_file.c - files that are opened to be read.
 */
#include "base/input_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/printable.h"
#include "base/suggest.h"

/* Names of descriptors that this process was started with. */
static bool is_inherited(const char *path)
{
    return strcmp(path, "/dev/stdin") == 0 || strncmp(path, "/dev/fd/", 8) == 0
        || strncmp(path, "/proc/self/fd/", 14) == 0;
}

/* The nearest of the names in the folder of `path`, with that folder. */
static void suggest_file(const char *path, struct mfu_error *err)
{
    const char *slash = strrchr(path, '/'), *names[2] = {NULL}, *best;
    size_t n = slash ? (size_t)(slash + 1 - path) : 0;
    char *folder = n > 0 ? strndup(path, n) : strdup("."), *found;
    DIR *dir = folder ? opendir(folder) : NULL;

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        names[1] = entry->d_name;
        if (entry->d_name[0] != '.'
            && mfu_suggest(path + n, names + !names[0], 1 + (size_t)(names[0] != NULL), &best, 1)
            && best == entry->d_name && (found = strdup(best))) {
            free((char *)names[0]);
            names[0] = found;
        }
    }
    if (names[0] && n + strlen(names[0]) < sizeof err->suggestion) {
        char whole[sizeof err->suggestion];

        snprintf(whole, sizeof whole, "%.*s%s", (int)n, path, names[0]);
        mfu_error_suggest(err, whole);
    }
    if (dir)
        closedir(dir);
    free((char *)names[0]);
    free(folder);
}

int mfu_input_fail(const char *path, struct mfu_error *err)
{
    bool missing = errno == ENOENT;

    mfu_fail(err, MFU_EIO, "cannot be read: %s", strerror(errno));
    if (missing && err)
        suggest_file(path, err);
    return -1;
}

int mfu_input_descriptor(const char *path, struct mfu_error *err)
{
    struct stat info;
    int fd;

    if (mfu_has_control(path))
        return mfu_fail(err, MFU_EINPUT, "cannot be read: its name holds a control character");
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (is_inherited(path) ? 0 : O_NONBLOCK));
    if (fd < 0)
        return mfu_input_fail(path, err);
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
