/*
 * folder.c - a thing is a file: names of descriptors and where they stand.
 */
#include "descriptor/folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "descriptor/packed.h"

#define MOST_FILES 4096 /* of one folder; more are not looked at */

int mfu_folder_path(char path[MFU_PATH_MAX], const char *folder, const char *name, const char *suffix,
                    struct mfu_error *err)
{
    size_t n = strlen(folder);
    const char *slash = n > 0 && folder[n - 1] == '/' ? "" : "/";
    int length = snprintf(path, MFU_PATH_MAX, "%s%s%s%s", folder, slash, name, suffix);

    if (length < 0 || length >= MFU_PATH_MAX)
        return mfu_fail(err, MFU_EINPUT, "the path of '%.80s' is longer than %d bytes", name, MFU_PATH_MAX - 1);
    return 0;
}

int mfu_folder_of(char folder[MFU_PATH_MAX], const char *path, struct mfu_error *err)
{
    const char *slash = strrchr(path, '/');
    size_t n = !slash ? 1 : slash == path ? 1 : (size_t)(slash - path);

    if (n >= MFU_PATH_MAX)
        return mfu_fail(err, MFU_EINPUT, "the path '%.80s...' is longer than %d bytes", path, MFU_PATH_MAX - 1);
    memcpy(folder, slash ? path : ".", n);
    folder[n] = '\0';
    return 0;
}

/* Where the suffix of a descriptor begins, or NULL if it has none. */
static const char *suffix_of(const char *name)
{
    static const char *const known[] = {".yaml", ".yml", ".json", NULL};
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && known[i]; i++)
        if (strcmp(dot, known[i]) == 0)
            return dot;
    return NULL;
}

void mfu_folder_slug(char *slug, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = suffix_of(name);
    char bare[MFU_PATH_MAX];

    snprintf(bare, sizeof bare, "%.*s", (int)(dot ? dot - name : (long)strlen(name)), name);
    mfu_printable(slug, size, bare); /* a file's name may hold anything but '/' */
}

int mfu_folder_name_ok(const char *name)
{
    if (*name == '\0' || *name == '.' || strlen(name) > 80)
        return 0;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("-_.", *name))
            return 0;
    return 1;
}

static int ascending(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The length of the name if it is a descriptor's, else 0. */
static size_t name_length(const char *file)
{
    static const char measured[] = ".measured";
    const char *dot = suffix_of(file);
    size_t n = dot && strcmp(dot, ".yaml") == 0 ? (size_t)(dot - file) : 0;

    if (file[0] == '.')
        return 0;
    if (n >= sizeof measured - 1 && memcmp(dot - (sizeof measured - 1), measured, sizeof measured - 1) == 0)
        return 0;
    return n;
}

bool mfu_folder_has(const char *path)
{
    return mfu_packed_inside(path) ? mfu_packed_at(path) != NULL : access(path, F_OK) == 0;
}

bool mfu_folder_holds(const char *folder, const char *name)
{
    char path[MFU_PATH_MAX];

    return mfu_folder_name_ok(name) && mfu_folder_path(path, folder, name, ".yaml", NULL) == 0
        && name_length(strrchr(path, '/') + 1) > 0 && mfu_folder_has(path);
}

/* Notes the names of the folder `inside` what is compiled in; false: out of memory. */
static bool packed_names(struct mfu_arena *arena, const char *inside, const char **found, size_t *n)
{
    size_t length = strlen(inside);

    for (size_t i = 0; i < mfu_packed_count && *n < MOST_FILES; i++) {
        const char *path = mfu_packed[i].path, *name = path + length + 1;

        if (strncmp(path, inside, length) != 0 || path[length] != '/' || strchr(name, '/'))
            continue;
        if (!(found[*n] = mfu_arena_copy(arena, name, name_length(name))))
            return false;
        ++*n;
    }
    return true;
}

int mfu_folder_names(struct mfu_arena *arena, const char *folder, const char *const **names, size_t *n,
                     struct mfu_error *err)
{
    const char *found[MOST_FILES], **kept, *inside = mfu_packed_inside(folder);
    struct dirent *entry = NULL;
    bool failed = false;
    DIR *dir = inside ? NULL : opendir(folder);

    *names = NULL;
    *n = 0;
    if (inside)
        failed = !packed_names(arena, inside, found, n);
    else if (!dir && errno == ENOENT)
        return 0;
    else if (!dir)
        return mfu_fail(err, MFU_EIO, "%.200s cannot be read: %s", folder, strerror(errno));
    while (dir && *n < MOST_FILES && (entry = readdir(dir))) {
        size_t length = name_length(entry->d_name);

        if (length == 0)
            continue;
        found[*n] = mfu_arena_copy(arena, entry->d_name, length);
        if (!found[*n])
            break;
        ++*n;
    }
    if (entry && *n < MOST_FILES)
        failed = true;
    if (dir)
        closedir(dir);
    kept = failed ? NULL : mfu_arena_alloc(arena, *n + 1, sizeof *kept);
    if (!kept) {
        *n = 0;
        return mfu_fail(err, MFU_ENOMEM, "out of memory");
    }
    memcpy(kept, found, *n * sizeof *kept);
    qsort(kept, *n, sizeof *kept, ascending);
    *names = kept;
    return 0;
}

void mfu_folder_peek(const char *path, char *text, size_t size)
{
    const struct mfu_packed *packed = mfu_packed_at(path);
    int fd = packed ? -1 : mfu_input_descriptor(path, NULL);
    size_t used = packed ? (size_t)snprintf(text, size, "%s", mfu_packed_head(packed)) : 0;
    ssize_t n = 0;

    if (fd >= 0 && (n = read(fd, text, size - 1)) > 0)
        used = (size_t)n;
    if (!packed)
        text[used] = '\0';
    if (fd >= 0)
        close(fd);
}

int mfu_folder_unknown(const char *folder, const char *what, const char *name, struct mfu_error *err)
{
    struct mfu_arena arena = {0};
    const char *const *names;
    size_t n;

    if (mfu_folder_names(&arena, folder, &names, &n, err) == 0) {
        mfu_fail(err, MFU_EINPUT, "no %s is called '%.80s' in %.160s", what, name, folder);
        mfu_error_nearest(err, name, names, n);
    }
    mfu_arena_free(&arena);
    return -1;
}
